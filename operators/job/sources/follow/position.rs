//! The resume positions of followed files: for each, its place, the offset behind which unsettled windows need
//! it, and hashes of the bytes by which its content is known again.
//!
//! Beside them stand two facts that hold at once, whatever windows are unsettled: how far each file was read,
//! so that a restart notices lines behind a position that are there no more, and the latest change of a file
//! that was seen, so that it notices files that came later.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::SystemTime;

use super::content::Content;
use super::done::DoneFile;
use super::file::FollowedFile;
use super::files::FollowedPath;
use super::order::FileAge;
use crate::canonical::Digest;
use crate::job::rotation::{RotationName, RotationPlace, rotated_logs};
use crate::job::sources::milestones::ChangedPositions;
use crate::time::Time;

/// The position in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePosition {
    pub(super) path: PathBuf,
    /// The number of bytes before the first line that was not read; of a packed file, unpacked.
    pub(super) offset: u64,
    /// True if all of it is to be read again: the bytes before the offset only tell it from other files.
    pub(super) is_from_start: bool,
    /// The length and hash of the first bytes, and of the last ones before the offset.
    pub(super) head: (u64, Digest),
    pub(super) tail: (u64, Digest),
    pub(super) has_lines: bool,
    /// True if it has no name any more.
    pub(super) is_done: bool,
    /// True if nothing more is expected of it: it may be removed without an input gap.
    pub(super) is_settled: bool,
    /// The length and the time of the last change of a packed file that was read to its end.
    pub(super) packed: Option<(u64, u64)>,
    pub(super) node: FileNode,
}

/// The number of a file in its file system, and the time at which it came, which tells it from one that had
/// the number before. The number of the device may change when the system starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileNode {
    number: u64,
    /// In nanoseconds; 0 where the file system does not say.
    born: u64,
}

impl FileNode {
    pub(super) fn of(facts: &Metadata) -> FileNode {
        FileNode { number: facts.ino(), born: facts.created().ok().map_or(0, nanoseconds) }
    }

    /// The time at which it came, in nanoseconds.
    pub(super) fn born(self) -> u64 {
        self.born
    }

    /// Returns true if no other file can have both numbers.
    pub(super) fn is_sure(self) -> bool {
        self.born > 0
    }
}

impl fmt::Display for FileNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileNode { number, born } = self;
        write!(formatter, "{number}/{born}")
    }
}

/// The place up to which a file was read, whatever windows need of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReachedMark {
    pub(super) offset: u64,
    /// The length and hash of the last bytes before it.
    pub(super) tail: (u64, Digest),
    /// True if nothing more is expected behind it.
    pub(super) is_settled: bool,
}

/// What the names of reached places begin with; no name of a file does.
const REACHED: &str = "///reached/";

/// The name of the latest change of a file that was seen.
const SEEN: &str = "///seen";

/// What the names of copies begin with that were passed over.
const PASSED: &str = "///passed/";

/// What the names of files begin with that were listed and not read yet.
const LISTED: &str = "///listed/";

/// What the names of input gaps begin with.
const GAP: &str = "///gap/";

/// The number of input gaps that are kept: later ones are those of windows that may still be open.
const GAPS: usize = 64;

/// The first byte of a position, of a reached place, of the latest change that was seen, of an input gap, of a copy that was
/// passed over, and of a file that was listed.
const FORMAT: u8 = 2;
const REACHED_FORMAT: u8 = 3;
const SEEN_FORMAT: u8 = 4;
const GAP_FORMAT: u8 = 5;
const PASSED_FORMAT: u8 = 6;
const LISTED_FORMAT: u8 = 7;

/// What the former run knew of its files, beside their positions.
pub(super) struct FormerMarks {
    /// The places up to which they were read.
    pub(super) reached: BTreeMap<String, ReachedMark>,
    /// The latest change that was seen.
    pub(super) seen: Option<u64>,
}

impl ReachedMark {
    fn write(&self) -> Vec<u8> {
        let numbers = [self.offset.to_le_bytes(), self.tail.0.to_le_bytes()].concat();
        [&[REACHED_FORMAT][..], &numbers, self.tail.1.bytes(), &[u8::from(self.is_settled)]].concat()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<ReachedMark> {
        let ([REACHED_FORMAT], rest) = bytes.split_first_chunk()? else { return None };
        let (offset, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (hash, flag) = rest.split_first_chunk()?;
        let tail = (u64::from_le_bytes(*length), Digest(*hash));
        // One of an earlier version has no flag.
        let is_settled = match flag {
            [] | [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(ReachedMark { offset: u64::from_le_bytes(*offset), tail, is_settled })
    }

    /// The name of the file, by the name of the place.
    pub(super) fn file_of(name: &str) -> Option<&str> {
        name.strip_prefix(REACHED)
    }
}

/// Reads an input gap.
pub(super) fn read_gap(bytes: &[u8]) -> Option<(Time, Time)> {
    let ([GAP_FORMAT], rest) = bytes.split_first_chunk()? else { return None };
    let (start, end) = rest.split_first_chunk()?;
    Some((Time::from_le_bytes(*start), Time::from_le_bytes(end.try_into().ok()?)))
}

pub(super) fn gap_entry((start, end): (Time, Time)) -> (String, Vec<u8>) {
    (format!("{GAP}{start}"), [&[GAP_FORMAT][..], &start.to_le_bytes(), &end.to_le_bytes()].concat())
}

/// Reads the position of a copy that was passed over.
pub(super) fn read_passed(bytes: &[u8]) -> Option<FilePosition> {
    FilePosition::read(bytes.strip_prefix(&[PASSED_FORMAT])?)
}

fn passed_entry(position: &FilePosition) -> Vec<u8> {
    [vec![PASSED_FORMAT], position.write()].concat()
}

/// Reads the start of a file that was listed and not read.
pub(super) fn read_listed(bytes: &[u8]) -> Option<FilePosition> {
    FilePosition::read(bytes.strip_prefix(&[LISTED_FORMAT])?)
}

pub(super) fn listed_entry(node: FileNode, start: Option<&FilePosition>) -> (String, Option<Vec<u8>>) {
    let bytes = start.map(|start| [vec![LISTED_FORMAT], start.write()].concat());
    (format!("{LISTED}{node}"), bytes)
}

/// Reads the latest change that was seen.
pub(super) fn read_seen(bytes: &[u8]) -> Option<u64> {
    let ([SEEN_FORMAT], rest) = bytes.split_first_chunk()? else { return None };
    Some(u64::from_le_bytes(rest.try_into().ok()?))
}

fn seen_entry(seen: u64) -> (String, Option<Vec<u8>>) {
    (SEEN.to_owned(), Some([&[SEEN_FORMAT][..], &seen.to_le_bytes()].concat()))
}

impl FilePosition {
    /// Returns true if first and last bytes tell its file from any other one: all first bytes that are compared lie before
    /// it, and as many others as may be compared.
    pub(super) fn is_strong(&self) -> bool {
        self.offset >= self.head.0 + Content::LIMITS.1 as u64
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT, u8::from(self.has_lines)];
        let flags = [self.is_done, self.is_settled, self.is_from_start];
        bytes.push(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
        let (length, changed) = self.packed.unwrap_or_default();
        bytes.push(u8::from(self.packed.is_some()));
        let FileNode { number, born } = self.node;
        for number in [self.offset, self.head.0, self.tail.0, length, changed, number, born] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.head.1.bytes());
        bytes.extend(self.tail.1.bytes());
        bytes.extend(self.path.as_os_str().as_bytes());
        bytes
    }

    /// The number of bytes that are not read again.
    pub(super) fn resumed_at(&self) -> u64 {
        if self.is_from_start { 0 } else { self.offset }
    }

    pub(super) fn read(bytes: &[u8]) -> Option<FilePosition> {
        let ([FORMAT, has_lines, flags, is_packed], mut rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let mut number = || -> Option<u64> {
            let (number, after) = rest.split_first_chunk()?;
            rest = after;
            Some(u64::from_le_bytes(*number))
        };
        let [offset, head, tail, length, changed] = [number()?, number()?, number()?, number()?, number()?];
        let node = FileNode { number: number()?, born: number()? };
        let (head_hash, rest) = rest.split_first_chunk()?;
        let (tail_hash, path) = rest.split_first_chunk()?;
        Some(FilePosition {
            path: PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())),
            offset,
            head: (head, Digest(*head_hash)),
            tail: (tail, Digest(*tail_hash)),
            has_lines: *has_lines == 1,
            is_done: flags & 1 == 1,
            is_settled: flags & 2 == 2,
            is_from_start: flags & 4 == 4,
            packed: (*is_packed == 1).then_some((length, changed)),
            node,
        })
    }
}

/// The time of a file's last change, in nanoseconds.
pub(super) fn changed(facts: &Metadata) -> u64 {
    facts.modified().ok().map_or(0, nanoseconds)
}

/// A time in nanoseconds since 1970.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok();
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

impl FollowedPath<'_> {
    /// The positions that are sure without any line: those of the former run, and the starts of files that were new
    /// since the last call. With them a restart finds every file, or notices that it is gone.
    pub(super) fn origins(&mut self) -> ChangedPositions {
        let mut all = ChangedPositions::new();
        if !self.has_reported && self.sure.is_empty() {
            all.extend(self.reported.iter().map(|(name, position)| (name.clone(), Some(position.write()))));
            let passed = self.reported_passed.iter();
            all.extend(passed.map(|(name, position)| (name.clone(), Some(passed_entry(position)))));
            self.sure.extend(self.reported.iter().map(|(name, position)| (name.clone(), position.has_lines)));
        }
        if self.former.is_none() {
            all.extend(self.given_up.drain(..).map(|name| (name, None)));
        }
        // Files without a line that are gone, or that have been [begun again](FollowedPath::begin_later).
        let done = |name: &String| self.done.iter().any(|done| done.name == *name);
        let is_there = |name: &String| self.known.contains_key(name) || done(name);
        let is_gone = |name: &String| self.former.is_none() && !is_there(name);
        let empty = self.sure.iter().filter(|(name, had_lines)| !**had_lines && is_gone(name));
        let empty: Vec<String> = empty.map(|(name, _)| name.clone()).collect();
        for name in empty {
            self.sure.remove(&name);
            all.push((name, None));
        }
        // The windows that overlap a gap may close in another life.
        let news = self.gap_spans.iter().skip(self.reported_gaps).map(|span| gap_entry(*span));
        all.extend(news.map(|(name, span)| (name, Some(span))));
        while self.gap_spans.len() > GAPS {
            let (name, _) = gap_entry(self.gap_spans.remove(0));
            all.push((name, None));
        }
        self.reported_gaps = self.gap_spans.len();
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        for (name, file) in self.known.iter().chain(done) {
            // One without a line as it is: what comes to its log while nobody reads came after it.
            let is_due = self.sure.get(name).is_none_or(|had_lines| file.has_lines && !had_lines);
            if is_due && let Some(position) = file.position(false) {
                let start = FilePosition { is_from_start: file.has_lines, ..position };
                all.push((name.clone(), Some(start.write())));
                self.sure.insert(name.clone(), file.has_lines);
            }
        }
        all.extend(self.listed_changes());
        all
    }

    /// The places up to which files were read, as far as they have changed since the last call, and with them the
    /// latest change that was seen. They hold at once.
    pub(super) fn reached(&mut self) -> ChangedPositions {
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        let settled = self.settled();
        let read = self.known.iter().chain(done).filter(|(_, file)| file.has_lines);
        let mut all: BTreeMap<String, (u64, bool)> = read
            .map(|(name, file)| (name.clone(), (file.content.length(), settled.contains(name))))
            .collect();
        let former = self.former.iter().flat_map(|former| &former.reached);
        let former: Vec<_> = former.filter(|(name, _)| !all.contains_key(*name)).collect();
        all.extend(former.iter().map(|(name, mark)| ((*name).clone(), (mark.offset, mark.is_settled))));
        let first_seen = self.first_seen.take();
        if all == self.reached {
            let first_seen = first_seen.filter(|_| all.is_empty());
            return first_seen.map(seen_entry).into_iter().collect();
        }
        let is_new = |name: &String| all.get(name).is_some_and(|now| self.reached.get(name) != Some(now));
        let gone = self.reached.keys().filter(|name| !all.contains_key(*name));
        let mut changed: ChangedPositions = gone.map(|name| (format!("{REACHED}{name}"), None)).collect();
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        for (name, file) in self.known.iter().chain(done) {
            if file.has_lines && is_new(name) {
                let mark = file.content.reached(settled.contains(name));
                changed.push((format!("{REACHED}{name}"), Some(mark.write())));
            }
        }
        let former = former.into_iter().filter(|(name, _)| is_new(name));
        changed.extend(former.map(|(name, mark)| (format!("{REACHED}{name}"), Some(mark.write()))));
        let seen = match &self.former {
            Some(former) => former.seen,
            // A file may bear a time to come.
            None => {
                let latest = self.known.values().map(FollowedFile::changed).max().unwrap_or(0);
                Some(latest.min(nanoseconds(SystemTime::now())))
            }
        };
        changed.extend(seen.map(seen_entry));
        self.reached = all;
        changed
    }

    /// The last place of each series of rotated names: of logs that are named by date there is none without a date.
    fn last_places(&self) -> BTreeMap<(PathBuf, String), RotationPlace> {
        let mut last = BTreeMap::new();
        for path in self.known.values().map(|file| &file.path) {
            for log in rotated_logs(path) {
                let Some(name) = RotationName::of(&log, path) else { continue };
                let known = last.entry((log, name.shape().to_owned())).or_insert_with(|| name.place());
                *known = name.place().max(known.clone());
            }
        }
        last
    }

    /// The names of the files of which nothing more is expected.
    pub(super) fn settled(&self) -> BTreeSet<String> {
        let paths: BTreeSet<&PathBuf> = self.known.values().map(|file| &file.path).collect();
        let last = LazyCell::new(|| self.last_places());
        // The files of each log that have lines.
        let mut ages: BTreeMap<PathBuf, Vec<FileAge>> = BTreeMap::new();
        let (mut of_known, mut settled) = (Vec::new(), BTreeSet::new());
        for (name, file) in self.known.iter().filter(|(_, file)| file.has_lines) {
            let (log, age) = self.age(name, &file.path);
            ages.entry(log.clone()).or_default().push(age.clone());
            of_known.push((name, file, log, age));
        }
        for DoneFile { name, file } in &self.done {
            if file.has_lines {
                let (log, age) = self.age(name, &file.path);
                ages.entry(log).or_default().push(age);
            }
            settled.insert(name.clone());
        }
        for (name, file, log, own) in of_known {
            let younger = ages.get(&log).into_iter().flatten().filter(|other| **other > own);
            let is_rotated = || {
                rotated_logs(&file.path).any(|log| {
                    paths.contains(&log)
                        || RotationName::of(&log, &file.path).is_some_and(|name| {
                            name.place() != RotationPlace::Unknown
                                && last.get(&(log, name.shape().to_owned())) > Some(&name.place())
                        })
                })
            };
            if file.is_settled(younger.count(), is_rotated) {
                settled.insert(name.clone());
            }
        }
        settled
    }

    /// The positions that have changed since the last call.
    pub(super) fn changed_positions(&mut self) -> ChangedPositions {
        let mut all: BTreeMap<String, FilePosition> = BTreeMap::new();
        for done in self.done.iter().filter(|done| done.file.has_lines) {
            all.extend(done.file.position(true).map(|position| (done.name.clone(), position)));
        }
        let settled = self.settled();
        // One without a line is reported by itself: here it would hold the start of the file back, for as long as windows
        // need what lies before this place in others.
        for (name, file) in self.known.iter().filter(|(_, file)| file.has_lines) {
            // In the middle of a line that is too long the former position holds.
            let position = file.position(false).or_else(|| self.reported.get(name).cloned());
            let is_settled = settled.contains(name);
            all.extend(position.map(|position| (name.clone(), FilePosition { is_settled, ..position })));
        }
        // One that is not taken up yet keeps its position, and so does one that is there without a line.
        for (name, position) in self.reported.iter().filter(|_| self.former.is_some()) {
            all.entry(name.clone()).or_insert_with(|| position.clone());
        }
        let is_empty = |name: &String| self.known.get(name).is_some_and(|file| !file.has_lines);
        let gone = self.reported.keys().filter(|name| !all.contains_key(*name) && !is_empty(name));
        let mut changed: ChangedPositions = gone.map(|name| (name.clone(), None)).collect();
        // Those of the former run are among the origins.
        self.has_reported = true;
        let news = |former: &BTreeMap<String, FilePosition>,
                    now: &BTreeMap<String, FilePosition>,
                    entry: fn(&FilePosition) -> Vec<u8>| {
            let news = now.iter().filter(|(name, position)| former.get(*name) != Some(*position));
            news.map(|(name, position)| (name.clone(), Some(entry(position)))).collect::<ChangedPositions>()
        };
        changed.extend(news(&self.reported, &all, FilePosition::write));
        self.reported = all;
        let passed = self.passed_positions().map(|position| (format!("{PASSED}{}", position.node), position));
        let passed: BTreeMap<String, FilePosition> = passed.collect();
        let gone = self.reported_passed.keys().filter(|name| !passed.contains_key(*name));
        changed.extend(gone.map(|name| (name.clone(), None)));
        changed.extend(news(&self.reported_passed, &passed, passed_entry));
        self.reported_passed = passed;
        changed
    }
}
