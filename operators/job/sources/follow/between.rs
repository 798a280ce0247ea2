//! The files that came and were rotated between two lives of a run, and copies among them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{Comparison, Content, is_torn, prefix};
use super::file::{FileId, FollowedFile, FoundFile};
use super::files::{FollowedPath, is_named_by, name_within};
use super::position::{FileNode, changed};
use super::resume::Reference;
use crate::job::rotation::{RotationName, logs_of, name_of};
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::pattern::{FilePattern, entries};
use crate::job::sources::reader::{ReadStop, unreadable};

/// The likeness of a rotated file to those that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// It holds other lines.
    None,
    /// It holds no line, and may get some.
    Empty,
    /// It holds what another one holds, and nothing else.
    Copy,
    /// It holds what the log itself begins with, and no file that was read.
    CopyOfLog,
    /// It begins as another one does, and may be its copy.
    Doubt,
}

/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// A rotated file: its name, the time of its last change, its path and its identity.
type RotatedFile = (RotationName, u64, PathBuf, FileId);

/// The files in the order in which they were rotated.
fn in_order(mut files: Vec<RotatedFile>) -> Vec<(PathBuf, FileId)> {
    files
        .sort_by(|one, other| one.0.order(&other.0).unwrap_or(one.1.cmp(&other.1)).then(one.2.cmp(&other.2)));
    files.into_iter().map(|(_, _, path, id)| (path, id)).collect()
}

/// Returns true for a packed file that ends too soon.
fn is_unfinished(path: &Path) -> bool {
    let unpacked = bytes::of_file(path, &Progress::of(None));
    unpacked.and_then(|mut file| io::copy(&mut file, &mut io::sink())).is_err_and(|error| is_torn(&error))
}

impl FollowedPath<'_> {
    /// Reads the files that a rotation has put between the newest file that was found and the one that now has its
    /// name. Returns the doubts.
    pub(super) fn between(
        &mut self,
        log: &Path,
        newest: Option<&Reference>,
        seen: Option<u64>,
        reader: (&mut Dealer, &Arc<Progress>),
    ) -> Result<Vec<String>, ReadStop> {
        let place = newest.and_then(|newest| self.rotated_path(log, &newest.name, newest.id));
        let known = place.as_ref().and_then(|place| RotationName::of(log, place));
        let since = newest.map(|newest| newest.changed).into_iter().chain(seen).min().unwrap_or(0);
        let (mut later, mut doubts) = (Vec::new(), Vec::new());
        for (path, facts) in self.unread(siblings_of(log)) {
            let Some(name) = RotationName::of(log, &path).filter(|_| place.as_ref() != Some(&path)) else {
                continue;
            };
            let order = known.as_ref().and_then(|known| known.order(&name));
            let is_like = known.as_ref().is_some_and(|known| known.is_like(&name));
            let changed = changed(&facts);
            let is_older = match (order, newest) {
                (Some(Ordering::Less), _) => false,
                // Some programs number files from the oldest one on: only both together are sure.
                (Some(_), Some(newest)) => changed < newest.changed,
                _ => changed < since,
            };
            let lost = |error: io::Error| unreadable(&path.display().to_string(), &error);
            if is_older {
                continue;
            }
            if order.is_none() && !is_like {
                match self.likeness(log, &path).map_err(lost)? {
                    Likeness::Copy | Likeness::Empty => continue,
                    Likeness::CopyOfLog => {
                        self.awaited.insert(FileId::of(&facts), log.to_owned());
                        continue;
                    }
                    Likeness::Doubt | Likeness::None => {}
                }
                doubts.push(format!(
                    "{}: whether it was rotated before or after what was read cannot be told from its name",
                    path.display()
                ));
                continue;
            }
            later.push((name, changed, path, FileId::of(&facts)));
        }
        self.read_between(log, in_order(later), &mut doubts, reader)?;
        Ok(doubts)
    }

    /// Reads the rotated files of a log that have changed since a time. Returns the doubts.
    pub(super) fn read_changed_since(
        &mut self,
        log: &Path,
        since: u64,
        reader: (&mut Dealer, &Arc<Progress>),
    ) -> Result<Vec<String>, ReadStop> {
        self.read_changed_within(log, (since, u64::MAX), reader)
    }

    /// Reads the rotated files of a log that have changed since a time and were begun before another. Returns the doubts.
    pub(super) fn read_changed_within(
        &mut self,
        log: &Path,
        (since, until): (u64, u64),
        reader: (&mut Dealer, &Arc<Progress>),
    ) -> Result<Vec<String>, ReadStop> {
        let within = |(path, facts): (PathBuf, Metadata)| {
            let name = RotationName::of(log, &path)?;
            self.is_within(&path, &facts, (since, until)).then(|| {
                let id = FileId::of(&facts);
                (name, changed(&facts), path, id)
            })
        };
        let files = self.unread(siblings_of(log)).into_iter().filter_map(within).collect();
        let mut doubts = Vec::new();
        self.read_between(log, in_order(files), &mut doubts, reader)?;
        Ok(doubts)
    }

    /// Returns true for a file that has changed since a time and was begun before another; not for one that was there before
    /// the first start, and has not changed.
    pub(super) fn is_within(&self, path: &Path, facts: &Metadata, (since, until): (u64, u64)) -> bool {
        let (at, born) = (changed(facts), FileNode::of(facts).born());
        // Some programs give a packed file the time of the plain one in whole seconds.
        let is_packed_now = || Packing::of(path) != Packing::Plain && born >= since && at + SECOND > since;
        let is_earlier = self.earlier.get(&FileId::of(facts)) == Some(&(at, facts.len()));
        born < until && (at >= since || is_packed_now()) && !is_earlier
    }

    /// Reads the files that came and lost a name of the pattern while no run read, or before one had written a
    /// position. Returns the doubts.
    pub(super) fn departed(
        &mut self,
        logs: &BTreeSet<PathBuf>,
        seen: u64,
        (dealer, progress): (&mut Dealer, &Arc<Progress>),
    ) -> Result<Vec<String>, ReadStop> {
        let mut doubts = Vec::new();
        let pattern = FilePattern::of(self.path).ok().filter(|_| !self.path.exists());
        let Some(pattern) = pattern else { return Ok(doubts) };
        let mut of_log: BTreeMap<PathBuf, Vec<(PathBuf, FileId)>> = BTreeMap::new();
        for directory in pattern.directories()?.found {
            let paths = entries(&directory)?.into_iter().map(|(name, _)| pattern.path(&directory, &name));
            for (path, facts) in self.unread(paths.collect()) {
                if changed(&facts) < seen || pattern.has_name(&path) {
                    continue;
                }
                let names = name_of(&path).map(|name| logs_of(&name).collect::<Vec<_>>());
                let log = names.into_iter().flatten().map(|name| path.with_file_name(name)).find(|log| {
                    pattern.has_name(log) && RotationName::of(log, &path).is_some() && !logs.contains(log)
                });
                if let Some(log) = log {
                    of_log.entry(log).or_default().push((path, FileId::of(&facts)));
                }
            }
        }
        for (log, mut files) in of_log {
            let name = |path: &PathBuf| RotationName::of(&log, path);
            if let Some((other, _)) =
                files.iter().find(|(path, _)| name(path).is_some_and(|name| name.has_word))
            {
                doubts.push(format!("{}: it may hold lines that no run has read", other.display()));
                continue;
            }
            files.sort_by(|(one, _), (other, _)| {
                let order = name(one).zip(name(other)).and_then(|(one, other)| one.order(&other));
                order.unwrap_or(Ordering::Equal).then(one.cmp(other))
            });
            self.read_between(&log, files, &mut doubts, (dealer, progress))?;
        }
        Ok(doubts)
    }

    /// Returns the files of these that no position has and that the path does not name; not those that are the packed
    /// half of a pair.
    pub(super) fn unread(&self, mut paths: Vec<PathBuf>) -> Vec<(PathBuf, Metadata)> {
        let is_named = |path: &Path| is_named_by(self.path, path);
        paths.sort();
        let all: BTreeSet<&PathBuf> = paths.iter().collect();
        let is_half = |path: &Path| {
            Packing::of(path) != Packing::Plain && {
                let plain = path.with_extension("");
                all.contains(&plain) || is_named(&plain) && plain.is_file()
            }
        };
        let left = paths.iter().filter(|path| !is_named(path) && !is_half(path));
        let with_facts = left.filter_map(|path| {
            // It was renamed or removed since.
            let facts = fs::metadata(path).ok()?;
            // An empty one may get lines if it came a moment ago.
            let may_have = facts.len() > 0
                || Packing::of(path) == Packing::Plain && FileNode::of(&facts).born() >= self.last_look();
            let id = FileId::of(&facts);
            let is_new = facts.is_file() && may_have && !self.has(id) && !self.has_passed(id);
            is_new.then(|| (path.clone(), facts))
        });
        with_facts.collect()
    }

    pub(super) fn has(&self, id: FileId) -> bool {
        self.known.values().chain(self.done.iter().map(|done| &done.file)).any(|file| file.id == id)
    }

    /// Returns true if the content of a file is empty, or comments and a header alone.
    pub(super) fn has_no_record(&self, content: &Content) -> bool {
        let is_without = |text| self.format.columns.as_ref().is_some_and(|columns| !columns.has_record(text));
        content.length() == 0 || content.whole().is_some_and(is_without)
    }

    /// Returns true if a log begins with all of a file, and thereby with a record.
    pub(super) fn is_beginning_of(&self, log: &Path, path: &Path) -> io::Result<bool> {
        let beginning = Content::beginning(path, self.format.comment())?;
        Ok(!self.has_no_record(&beginning) && Content::begins(path, log)?)
    }

    /// Returns the file of a log of which no line was read and that begins with all of another one, and thereby with a
    /// record.
    fn without_line_but_text_of(&self, log: &Path, path: &Path) -> Option<String> {
        let beginning = Content::beginning(path, self.format.comment()).ok()?;
        let is_of_log = |name: &str, file: &FollowedFile| {
            !file.has_lines && !file.is_packed() && self.base(name, &file.path) == *log
        };
        let mut known = self.known.iter().filter(|(name, file)| is_of_log(name, file));
        let has_record = !self.has_no_record(&beginning);
        known
            .find(|(_, file)| has_record && matches!(file.begins_with(path), Ok(Some(true))))
            .map(|(name, _)| name.clone())
    }

    /// Compares a file with those that were read, and with the one that has the name of the log.
    pub(super) fn likeness(&self, log: &Path, path: &Path) -> io::Result<Likeness> {
        let beginning = Content::beginning(path, self.format.comment())?;
        if self.has_no_record(&beginning) {
            return Ok(if Packing::of(path) == Packing::Plain { Likeness::Empty } else { Likeness::Copy });
        }
        if self.has_text_of_passed(path)? {
            return Ok(Likeness::Copy);
        }
        // Of a short one nobody can say.
        let is_long = beginning.is_strong();
        let mut found = Likeness::None;
        if log.exists() && Content::begins(path, log)? {
            found = if is_long { Likeness::CopyOfLog } else { Likeness::Doubt };
        }
        let done = self.done.iter().map(|done| &done.file);
        for file in self.known.values().chain(done).filter(|file| file.has_lines) {
            let is_sure = match file.content.compare(path)? {
                Comparison::Other => continue,
                // A log that grows may be like any other for a moment; of two whole files that are equal one counts.
                // It may have been rotated and packed since it was listed, with lines that will be read in it.
                Comparison::Continues(mut rest) => {
                    let first = prefix(&mut rest, 1)?;
                    (is_long || !file.is_log || !file.is_listed)
                        && (first.is_empty()
                            || file.goes_on_with(io::Cursor::new(first).chain(rest))? == Some(true))
                }
                Comparison::Shorter => {
                    let by_path =
                        |begins: Option<bool>| begins.map_or_else(|| Content::begins(path, &file.path), Ok);
                    match file.begins_with(path).and_then(by_path) {
                        Ok(false) => continue,
                        // Of one in the making there is more, which is not known yet.
                        Ok(true) => is_long || is_unfinished(path),
                        // It is gone.
                        Err(_) => false,
                    }
                }
            };
            if is_sure {
                return Ok(Likeness::Copy);
            }
            found = Likeness::Doubt;
        }
        Ok(found)
    }

    /// Reads rotated files of a log to their ends, unless they are copies of what was read. What a log without a line gets
    /// comes after them.
    pub(super) fn read_between(
        &mut self,
        log: &Path,
        files: Vec<(PathBuf, FileId)>,
        doubts: &mut Vec<String>,
        (dealer, progress): (&mut Dealer, &Arc<Progress>),
    ) -> Result<(), ReadStop> {
        // They may have got lines since they were read. A restart reads them in its own order.
        if !files.is_empty() && self.former.is_none() {
            self.read_known(&BTreeSet::from([&log.to_owned()]), dealer, progress)?;
        }
        let mut empty = self.empty_log(log);
        let mut is_later = false;
        for (path, id) in files {
            self.is_in_doubt |= !doubts.is_empty();
            // By what it has itself, a copy of that is known; so is one of a file that was renamed since it was listed.
            if let Some(name) = self.without_line_but_text_of(log, &path) {
                let is_log = empty.take_if(|empty| *empty == name).is_some();
                let name = if is_log && is_later { self.begin_later(name) } else { name };
                self.read_on(&name, u64::MAX, dealer, progress)?;
            }
            let lost = |error: io::Error| unreadable(&path.display().to_string(), &error);
            let likeness = self.likeness(log, &path).map_err(lost)?;
            let facts = fs::metadata(&path).map_err(lost)?;
            let mut file = FoundFile::new(&path, &facts);
            // Another file has the name now.
            if file.id != id || !file.open().map_err(lost)? {
                doubts.push(format!("{}: it was replaced while it was opened", path.display()));
                continue;
            }
            match likeness {
                Likeness::Copy => continue,
                Likeness::CopyOfLog => {
                    self.awaited.insert(id, log.to_owned());
                    continue;
                }
                Likeness::Doubt => {
                    doubts.push(format!(
                        "{}: it begins with the same lines as another file, and may be its copy or hold lines that no \
                         run has read",
                        path.display()
                    ));
                    continue;
                }
                Likeness::None | Likeness::Empty => {}
            }
            let name = self.begin(&name_within(self.path, log), file);
            is_later = true;
            let Some(followed) = self.known.get_mut(&name) else { continue };
            followed.is_listed = false;
            if Packing::of(&path) == Packing::Plain {
                self.read_file(&name, u64::MAX, dealer, progress)?;
            } else {
                followed.read_copy(bytes::of_file(&path, progress).map_err(lost)?, dealer)?;
                self.finish(&name);
            }
            if self.former.is_some() {
                self.report_read_file(dealer)?;
            }
        }
        self.is_in_doubt |= !doubts.is_empty();
        if let Some(name) = empty.filter(|_| is_later) {
            self.begin_later(name);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;
    use crate::job::sources::cutter::Sizes;
    use crate::job::sources::dealer::{DealerMessage, SourceFault};
    use crate::job::sources::milestones::Milestones;
    use crate::job::sources::reader::TextFormat;
    use crate::job::sources::survey::Survey;
    use crate::job::sources::tests::{Place, packed};

    /// Follows a log through some steps; returns the number of lines that were dealt.
    pub(in super::super) fn follow(
        log: &Path,
        steps: impl FnOnce(&mut FollowedPath<'_>, &mut Dealer, &Arc<Progress>),
    ) -> usize {
        follow_to(log, steps).lines().count()
    }

    /// The same; returns the lines in the order in which they were dealt.
    pub(in super::super) fn follow_to(
        log: &Path,
        steps: impl FnOnce(&mut FollowedPath<'_>, &mut Dealer, &Arc<Progress>),
    ) -> String {
        let (sender, messages) = crossbeam_channel::unbounded();
        let (fault, wanted) = (SourceFault::new("a.log".into(), (0, false), false), Arc::new(()));
        let mut dealer = Dealer::to_one(sender, fault, &wanted);
        let (progress, milestones) = (Progress::of(None), Milestones::new(1, 1));
        let format = TextFormat { sizes: Sizes::USUAL, columns: None };
        let survey = Arc::new(Survey::for_run(Vec::new(), (Some(0), None), None));
        steps(&mut FollowedPath::new(log, &format, None, &milestones, survey), &mut dealer, &progress);
        let text = messages.try_iter().map(|message| match message {
            DealerMessage::Chunk(chunk) => String::from_utf8(chunk.lines).unwrap(),
            _ => String::new(),
        });
        text.collect()
    }

    pub(in super::super) fn text(of: &str, lines: std::ops::Range<usize>) -> String {
        lines.map(|line| format!("{of} {line}\n")).collect()
    }

    // Refutes files that are passed over, since the one before them was found under a name that it has no more: the process
    // was stopped in between, and the log was rotated.
    #[test]
    fn files_that_follow_one_that_was_renamed_meanwhile_are_read() {
        for is_packed in [false, true] {
            let place = Place::new("between");
            let [log, first, second] = ["a.log", "a.log.1", "a.log.2"].map(|name| place.path(name));
            let lines = follow(&log, |files, dealer, progress| {
                place.write("a.log", text("one", 0..300));
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                fs::rename(&log, &first).unwrap();
                let newest = Reference::of("", &first).unwrap();
                // Two rotations.
                fs::rename(&first, &second).unwrap();
                place.write("a.log.1", text("two", 0..10));
                if is_packed {
                    place.write("a.log.2.gz", packed(Packing::Gzip, text("one", 0..300).as_bytes()));
                    fs::remove_file(&second).unwrap();
                }
                place.write("a.log", text("three", 0..10));
                let doubts = files.between(&log, Some(&newest), None, (dealer, progress));
                assert_eq!(doubts.ok(), Some(Vec::new()), "{is_packed}");
            });
            assert_eq!(lines, 310, "{is_packed}");
        }
    }

    // Refutes an input gap for a log that is rotated and packed after it was listed, with lines that are read afterwards.
    #[test]
    fn a_log_that_is_packed_meanwhile_is_no_doubt() {
        for read in [20, 300] {
            let place = Place::new("between-packed");
            let [log, first, second] = ["a.log", "a.log.1", "a.log.2"].map(|name| place.path(name));
            let lines = follow(&log, |files, dealer, progress| {
                place.write("a.log", text("one", 0..10));
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                fs::rename(&log, &first).unwrap();
                place.write("a.log", text("two", 0..read));
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                let newest = Reference::of("", &first).unwrap();
                place.append("a.log", text("two", read..400));
                fs::rename(&first, &second).unwrap();
                place.write("a.log.1.gz", packed(Packing::Gzip, text("two", 0..400).as_bytes()));
                fs::remove_file(&log).unwrap();
                let doubts = files.between(&log, Some(&newest), None, (dealer, progress));
                assert_eq!(doubts.ok(), Some(Vec::new()), "{read}");
                place.write("a.log", text("three", 0..5));
                for _ in 0..2 {
                    assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                    assert!(!files.take_gap());
                }
            });
            assert_eq!(lines, 10 + 400 + 5, "{read}");
        }
    }

    // Refutes lines that count through the handle of a file and in its packed copy: it had none when it was listed, and got
    // them before it was renamed and packed.
    #[test]
    fn a_log_that_gets_its_first_lines_and_is_packed_meanwhile_counts_once() {
        let place = Place::new("between-first-lines");
        let [log, older, first] = ["a.log", "a.log.2", "a.log.1"].map(|name| place.path(name));
        let lines = follow(&log, |files, dealer, progress| {
            place.write("a.log", text("one", 0..300));
            assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
            fs::rename(&log, &older).unwrap();
            place.write("a.log", "");
            assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
            let newest = Reference::of("", &older).unwrap();
            place.append("a.log", text("two", 0..300));
            fs::rename(&log, &first).unwrap();
            place.write("a.log.1.gz", packed(Packing::Gzip, text("two", 0..300).as_bytes()));
            fs::remove_file(&first).unwrap();
            place.write("a.log", text("three", 0..3));
            let doubts = files.between(&log, Some(&newest), None, (dealer, progress));
            assert_eq!(doubts.ok(), Some(Vec::new()));
            for _ in 0..2 {
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                assert!(!files.take_gap());
            }
        });
        assert_eq!(lines, 300 + 300 + 3);
    }
}
