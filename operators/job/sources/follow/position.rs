//! The resume positions of followed files: for each, its place, the offset that was reached, and hashes of the
//! bytes by which its content is known again.
//!
//! A restart finds a file by its content, among the files of the path and the siblings that a rotation makes
//! of it, packed ones included. A file that is found nowhere is gone with what was not read of it: an input
//! gap.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::content::{Content, prefix};
use super::file::{FileId, FollowedFile, FoundFile, logs_of, name_of, siblings_of};
use super::files::{FollowedPath, base_of, present};
use crate::canonical::Digest;
use crate::dataflow::SourceError;
use crate::gate::Positions;
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::milestones::{ChangedPositions, joined};
use crate::job::sources::reader::{ReadStop, ReaderText, TextFormat, unreadable};

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
}

/// The first byte of what is written.
const FORMAT: u8 = 1;

impl FilePosition {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT, u8::from(self.has_lines)];
        let flags = [self.is_done, self.is_settled, self.is_from_start];
        bytes.push(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
        let (length, changed) = self.packed.unwrap_or_default();
        bytes.push(u8::from(self.packed.is_some()));
        for number in [self.offset, self.head.0, self.tail.0, length, changed] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.head.1.bytes());
        bytes.extend(self.tail.1.bytes());
        bytes.extend(self.path.as_os_str().as_bytes());
        bytes
    }

    /// The number of bytes that are not read again.
    fn resumed_at(&self) -> u64 {
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
        })
    }
}

/// The time of a file's last change, in nanoseconds.
pub(super) fn changed(facts: &Metadata) -> u64 {
    let since = facts.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

/// A file that holds the content of a position.
struct Found {
    file: FoundFile,
    content: Content,
    facts: Metadata,
    /// The bytes behind the position, if it is packed and may hold more.
    rest: Option<Box<dyn io::Read + Send>>,
}

/// Returns the file, if it holds the content of this position.
fn found(position: &FilePosition, path: &Path, progress: &Arc<Progress>) -> io::Result<Option<Found>> {
    let facts = fs::metadata(path)?;
    if !facts.is_file() {
        return Ok(None);
    }
    let FilePosition { offset, head, tail, .. } = position;
    let limit = Content::LIMITS;
    let lengths = [head.0, tail.0].map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    let [head_length, tail_length] = lengths;
    if head_length > limit.0 || tail_length > limit.1 || tail.0 > *offset || head.0 > *offset {
        return Ok(None);
    }
    let mut file = FoundFile::new(path, &facts);
    if Packing::of(path) == Packing::Plain {
        if !file.open()? || facts.len() < *offset {
            return Ok(None);
        }
        let plain = File::open(path)?;
        let (mut first, mut last) = (vec![0; head_length], vec![0; tail_length]);
        plain.read_exact_at(&mut first, 0)?;
        plain.read_exact_at(&mut last, offset - tail.0)?;
        if Digest::of(&first) != head.1 || Digest::of(&last) != tail.1 {
            return Ok(None);
        }
        let content = Content::known(first, last, *offset);
        return Ok(Some(Found { file, content, facts, rest: None }));
    }
    let mut unpacked = bytes::of_file(path, progress)?;
    let first = prefix(&mut unpacked, head_length)?;
    if Digest::of(&first) != head.1 {
        return Ok(None);
    }
    // It was read to its end and is as it was.
    if position.packed == Some((facts.len(), changed(&facts))) {
        let content = Content::known(first, Vec::new(), *offset);
        return Ok(Some(Found { file, content, facts, rest: None }));
    }
    // Where the two overlap, the last bytes begin among the first ones.
    let start = offset - tail.0;
    let between = start.saturating_sub(head.0);
    let passed = io::copy(&mut io::Read::take(&mut unpacked, between), &mut io::sink())?;
    let overlap = usize::try_from(start).ok().and_then(|start| first.get(start..)).unwrap_or_default();
    let mut last = overlap.to_vec();
    last.extend(prefix(&mut unpacked, tail_length.saturating_sub(overlap.len()))?);
    if passed < between || Digest::of(&last) != tail.1 {
        return Ok(None);
    }
    let content = Content::known(first, last, *offset);
    Ok(Some(Found { file, content, facts, rest: Some(unpacked) }))
}

impl FollowedPath<'_> {
    /// The positions that are sure without any line: those of the former run, and the starts of files that were new
    /// since the last call. With them a restart finds every file, or notices that it is gone.
    pub(super) fn origins(&mut self) -> ChangedPositions {
        let mut all = ChangedPositions::new();
        if !self.has_reported && self.sure.is_empty() {
            all.extend(self.reported.iter().map(|(name, position)| (name.clone(), Some(position.write()))));
            let found = self.reported.iter().filter(|(_, position)| position.has_lines);
            self.sure.extend(found.map(|(name, _)| name.clone()));
        }
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        for (name, file) in self.known.iter().chain(done) {
            if file.has_lines
                && !self.sure.contains(name)
                && let Some(position) = file.position(false)
            {
                let start = FilePosition { is_from_start: true, ..position };
                all.push((name.clone(), Some(start.write())));
                self.sure.insert(name.clone());
            }
        }
        all
    }

    /// The positions that have changed since the last call.
    pub(super) fn changed_positions(&mut self) -> ChangedPositions {
        let mut all: BTreeMap<String, FilePosition> = BTreeMap::new();
        for done in &self.done {
            all.extend(done.file.position(true).map(|position| (done.name.clone(), position)));
        }
        let names: BTreeSet<String> = self.known.values().filter_map(|file| name_of(&file.path)).collect();
        for (name, file) in &self.known {
            // In the middle of a line that is too long the former position holds.
            let position = file.position(false).or_else(|| self.reported.get(name).cloned());
            let is_settled = file.is_settled(|| {
                name_of(&file.path).is_some_and(|name| logs_of(&name).any(|log| names.contains(&log)))
            });
            all.extend(position.map(|position| (name.clone(), FilePosition { is_settled, ..position })));
        }
        let gone = self.reported.keys().filter(|name| !all.contains_key(*name));
        let mut changed: ChangedPositions = gone.map(|name| (name.clone(), None)).collect();
        // The first time, all of them.
        let of_former = !std::mem::replace(&mut self.has_reported, true);
        let is_new =
            |name: &String, position: &FilePosition| of_former || self.reported.get(name) != Some(position);
        let news = all.iter().filter(|(name, position)| is_new(name, position));
        changed.extend(news.map(|(name, position)| (name.clone(), Some(position.write()))));
        self.reported = all;
        changed
    }

    /// Goes on where a former run was. Returns false if the content of some position is found nowhere.
    pub(super) fn resume(
        &mut self,
        former: &[Positions],
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        let mut positions = joined(former, FilePosition::read, FilePosition::resumed_at);
        self.reported = positions.iter().cloned().collect();
        // Files that still grow choose first, and of these the one of which most was read.
        positions.sort_by_key(|(_, position)| (position.is_done, std::cmp::Reverse(position.offset)));
        let there = present(self.path)?;
        let (mut is_whole, mut rotated) = (true, BTreeMap::new());
        // By the path of a log: the last change of what was found of it, and those that had no line yet.
        let (mut newest, mut empty) = (BTreeMap::<PathBuf, u64>::new(), BTreeSet::new());
        for (name, position) in positions {
            let generation = super::files::generation_of(&name) + 1;
            let known = self.generations.entry(base_of(&name).to_owned()).or_default();
            *known = generation.max(*known);
            let base = self.base(&name, &position.path);
            // Any other file may begin like one without a line.
            if !position.has_lines {
                if !position.is_done {
                    empty.insert(base);
                }
                continue;
            }
            match self.find(&position, &base, &there, progress)? {
                Some(found) => {
                    let known = newest.entry(base.clone()).or_default();
                    *known = changed(&found.facts).max(*known);
                    if found.file.path != base && !position.is_done {
                        rotated.insert(base, changed(&found.facts));
                    }
                    self.go_on(name, &position, found, dealer, progress)?;
                }
                None => is_whole &= position.is_done || position.is_settled,
            }
        }
        for path in empty {
            // It may have got lines, and another name, while nobody read.
            match newest.get(&path) {
                Some(since) => _ = rotated.entry(path).or_insert(*since),
                None => is_whole &= siblings_of(&path).is_empty(),
            }
        }
        for (path, since) in rotated {
            self.between(&path, since, dealer, progress)?;
        }
        Ok(is_whole)
    }

    /// Returns the path that a file had before it was rotated, from its name and the path where it was last.
    fn base(&self, name: &str, path: &Path) -> PathBuf {
        match Path::new(base_of(name)).file_name() {
            Some(name) => path.with_file_name(name),
            None => self.path.to_owned(),
        }
    }

    /// Finds the content of a position, in a file that no other position has.
    fn find(
        &self,
        position: &FilePosition,
        base: &Path,
        there: &[PathBuf],
        progress: &Arc<Progress>,
    ) -> Result<Option<Found>, SourceError> {
        // Where it was last, it may have been packed; from where it was first, it may have been rotated on.
        let siblings = [siblings_of(&position.path), siblings_of(base)].concat();
        let own = [&*position.path, base].into_iter();
        let others = there.iter().chain(&siblings).map(PathBuf::as_path);
        for path in own.chain(others) {
            match found(position, path, progress) {
                Ok(Some(found)) if !self.has(found.file.id) => return Ok(Some(found)),
                Ok(_) => {}
                // It was renamed or removed, is shorter, or is no packed file yet.
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(unreadable(&path.display().to_string(), &error)),
            }
        }
        Ok(None)
    }

    fn has(&self, id: FileId) -> bool {
        self.known.values().chain(self.done.iter().map(|done| &done.file)).any(|file| file.id == id)
    }

    /// Takes up a file at its position.
    fn go_on(
        &mut self,
        name: String,
        position: &FilePosition,
        found: Found,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let Found { file, mut content, facts, mut rest } = found;
        let place = file.path.display().to_string();
        let is_packed = Packing::of(&file.path) != Packing::Plain;
        if position.is_from_start {
            content = Content::default();
            if is_packed {
                let lost = |error: io::Error| unreadable(&place, &error);
                rest = Some(bytes::of_file(&file.path, progress).map_err(lost)?);
            }
        }
        let grew = !is_packed && facts.len() > content.length();
        let text = resumed_text(&file.path, self.format, content.length())?;
        let mut followed = FollowedFile::new(file, &name, self.format, self.accord.is_some());
        let has_lines = position.has_lines && !position.is_from_start;
        followed.go_on(content, has_lines, text, (&facts, is_packed));
        if let Some(rest) = rest.filter(|_| !position.is_done) {
            followed.read_copy(rest, dealer)?;
        }
        if position.is_done && !grew || is_packed && !present(self.path)?.contains(&PathBuf::from(&place)) {
            followed.close();
            self.remember(name, followed);
        } else {
            followed.is_listed = false;
            self.known.insert(name, followed);
        }
        Ok(())
    }

    /// Reads the files that a rotation has put between a file that was found and the one that now has its name:
    /// siblings that changed later.
    fn between(
        &mut self,
        path: &Path,
        since: u64,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let mut later: Vec<(u64, PathBuf)> = Vec::new();
        let there = present(self.path)?;
        let siblings = siblings_of(path);
        for sibling in siblings.iter().filter(|sibling| !there.contains(sibling)) {
            let Ok(facts) = fs::metadata(sibling) else { continue };
            // The plain file of a pair that is being packed.
            let unpacked = sibling.with_extension("");
            let is_pair = Packing::of(sibling) != Packing::Plain && siblings.contains(&unpacked);
            if !is_pair && changed(&facts) >= since && !self.has(FileId::of(&facts)) && facts.len() > 0 {
                later.push((changed(&facts), sibling.clone()));
            }
        }
        later.sort();
        for (_, sibling) in later {
            let lost = |error: io::Error| unreadable(&sibling.display().to_string(), &error);
            let facts = fs::metadata(&sibling).map_err(lost)?;
            let mut file = FoundFile::new(&sibling, &facts);
            if !file.open().map_err(lost)? {
                continue;
            }
            let base = super::files::name_within(self.path, path);
            let name = self.begin(&base, file);
            let Some(followed) = self.known.get_mut(&name) else { continue };
            followed.is_listed = false;
            if Packing::of(&sibling) != Packing::Plain {
                followed.read_copy(bytes::of_file(&sibling, progress).map_err(lost)?, dealer)?;
                self.finish(&name);
            }
        }
        Ok(())
    }
}

fn is_passing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || super::content::is_torn(error)
}

/// The text of a file from an offset on, with the columns that its first line names.
fn resumed_text(path: &Path, format: &TextFormat, offset: u64) -> Result<ReaderText, SourceError> {
    if format.columns.is_none() || offset == 0 {
        return Ok(ReaderText::resumed(format, None, offset));
    }
    let place = path.display().to_string();
    let mut first = ReaderText::new(format);
    let mut file = bytes::of_file(path, &Progress::of(None)).map_err(|error| unreadable(&place, &error))?;
    loop {
        let read = first.cutter.fill(|room| crate::job::sources::reader::read_some(&mut file, room));
        let read = read.map_err(|error| unreadable(&place, &error))?;
        if first.begin(&place, read == 0)? || read == 0 {
            return Ok(ReaderText::resumed(format, first.columns, offset));
        }
    }
}
