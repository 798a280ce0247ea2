//! Rotations within a look: between the time for which it is complete, the listing of the files and their reading.
//!
//! A look may take long: a restart has many files to read, and a machine may stand still. What was there at its time, and is
//! read by the next look alone, makes it incomplete: no window may close by that time.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::TICK;
use super::file::FileId;
use super::files::{FollowedPath, is_named_by, present};
use super::position::{FileNode, changed, nanoseconds};
use crate::dataflow::SourceError;
use crate::job::siblings::siblings_of;
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::ReadStop;

/// A time less a step of the file system, in nanoseconds: what changed since has no earlier time.
pub(super) fn less_a_tick(time: SystemTime) -> u64 {
    nanoseconds(time.checked_sub(TICK).unwrap_or(time))
}

/// Returns true if names have come or gone beside a log since a time, as they do in each rotation, and hardly ever else.
pub(super) fn names_changed(log: &Path, since: u64) -> bool {
    names_changed_at(log).is_none_or(|at| at >= since)
}

/// The time at which a name has come or gone beside a log; `None` where nobody can tell.
fn names_changed_at(log: &Path) -> Option<u64> {
    let directory = log.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::metadata(directory.unwrap_or(Path::new("."))).ok().map(|facts| changed(&facts))
}

impl FollowedPath<'_> {
    /// Returns true unless the path has a file beside these that a rotation has renamed while names were read.
    pub(super) fn has_all(&self, listed: &BTreeSet<FileId>) -> Result<bool, SourceError> {
        let (files, is_whole) = self.by_file(&present(self.path)?)?;
        let since = less_a_tick(self.listed_at);
        let is_listed = |(path, facts): &(PathBuf, Metadata)| {
            let is_new = FileNode::of(facts).born() >= since;
            is_new || listed.contains(&FileId::of(facts)) || self.logs_of(path).is_empty()
        };
        Ok(is_whole && files.iter().all(is_listed))
    }

    /// Returns true for the name of a log, or one that a rotation has made of it.
    pub(super) fn is_of_rotation(&self, path: &Path) -> bool {
        !self.logs_of(path).is_empty() || !siblings_of(path).is_empty()
    }

    /// Reads what came to a log after it was listed and was cut from it before its first line is read, or was: nothing in the
    /// file tells of it. Returns false before the first line if the path names the copy, which the next look finds.
    pub(super) fn read_before_first(
        &mut self,
        name: &str,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        let Some(file) = self.file_mut(name).filter(|file| !file.is_packed()) else { return Ok(true) };
        let first_read = file.first_read.take();
        let Some(file) = self.file(name) else { return Ok(true) };
        // Until the file is read, and not afterwards: a copy that is begun then has what was read, and is compared with it
        // at the next look.
        let until = match first_read {
            Some(read_at) => read_at,
            None if !file.has_lines && file.has_more().unwrap_or(false) => SystemTime::now(),
            None => return Ok(true),
        };
        let log = self.base(name, &file.path);
        // What was renamed is read whole, through its handle.
        let is_log = file.id.is_at(&log);
        let since = less_a_tick(self.listed_at);
        let times = (since, nanoseconds(until));
        if !is_log || !self.may_be_beside(&log, times) {
            return Ok(true);
        }
        // One that the path names is found by the next look.
        self.is_complete = false;
        let named = siblings_of(&log).into_iter().filter(|path| is_named_by(self.path, path));
        let is_waited_for =
            first_read.is_none() && named.into_iter().any(|path| self.may_be_within(&path, times));
        let read = |files: &mut Self| files.read_changed_within(&log, times, (dealer, progress));
        let doubts = self.steadily_beside(&log, read)?;
        self.lost.extend(doubts);
        Ok(!is_waited_for)
    }

    /// Returns true if a rotated file of a log [is within](FollowedPath::is_within) these times, or may be: names have changed
    /// meanwhile. To decide on all of them takes much longer, and of a thousand logs none may have one.
    fn may_be_beside(&self, log: &Path, times: (u64, u64)) -> bool {
        let at = names_changed_at(log);
        if at.is_some_and(|at| at < times.0) {
            return false;
        }
        let is_steady = at.is_some_and(|at| at < less_a_tick(SystemTime::now()));
        let siblings = siblings_of(log);
        // Of a log that has none, none was renamed: other names come to its directory.
        let may_miss = !siblings.is_empty() && (!is_steady || names_changed_at(log) != at);
        may_miss || siblings.iter().any(|path| self.may_be_within(path, times))
    }

    /// Returns true for a file that no position has and that [is within](FollowedPath::is_within) these times, or has another
    /// name by now; not for a known copy.
    fn may_be_within(&self, path: &Path, times: (u64, u64)) -> bool {
        fs::metadata(path).map_or(true, |facts| {
            let id = FileId::of(&facts);
            self.is_within(path, &facts, times) && !self.has(id) && !self.copies.contains_key(&id)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::OpenOptions;
    use std::time::Duration;

    use super::super::between::tests::{follow, text};
    use super::super::file::{FollowedFile, FoundFile};
    use super::*;
    use crate::job::sources::tests::Place;

    fn cut(log: &Path) {
        OpenOptions::new().write(true).open(log).unwrap().set_len(0).unwrap();
    }

    // Refutes lines that come to a log, and are cut from it, between the listing of a look and its reading, and that nobody
    // reads: nothing in the file tells of them.
    #[test]
    fn what_is_cut_between_the_listing_and_the_reading_is_read() {
        let cases = [false, true].into_iter().flat_map(|is_new| {
            [(3, 2), (300, 300), (3, 0), (300, 0)].map(|(one, other)| (is_new, one, other))
        });
        for (is_new, one, other) in cases {
            let case = format!("new: {is_new}, {one} and {other} lines");
            let place = Place::new("within-cut");
            let [log, copy] = ["a.log", "a.log.1"].map(|name| place.path(name));
            let lines = follow(&log, |files, dealer, progress| {
                if !is_new {
                    place.write("a.log", "");
                    assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                    std::thread::sleep(TICK * 2);
                }
                place.append("a.log", text("zero", 0..if is_new { 5 } else { 0 }));
                assert!(files.list(Duration::ZERO, dealer, progress).is_ok());
                place.append("a.log", text("one", 0..one));
                fs::copy(&log, &copy).unwrap();
                cut(&log);
                place.append("a.log", text("two", 0..other));
                assert!(files.read_listed(dealer, progress).is_ok());
                for _ in 0..2 {
                    assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                    assert!(!files.take_gap(), "{case}");
                }
            });
            assert_eq!(lines, one + other + if is_new { 5 } else { 0 }, "{case}");
        }
    }

    // Refutes a look that is complete without what was in a log when it was listed: it was copied and cut since, and the copy is
    // found by the next look, as where a restart has read for long before its first look.
    #[test]
    fn a_look_within_which_a_log_is_cut_is_not_complete() {
        let cases = ["a.log", "a.log*"].into_iter().flat_map(|path| [0, 2, 300].map(|then| (path, then)));
        for (path, then) in cases {
            let case = format!("{path}, {then} lines afterwards");
            let place = Place::new("within-complete");
            let [log, copy] = ["a.log", "a.log.1"].map(|name| place.path(name));
            let lines = follow(&place.path(path), |files, dealer, progress| {
                place.write("a.log", text("one", 0..300));
                assert!(matches!(files.list(Duration::ZERO, dealer, progress), Ok(true)));
                fs::copy(&log, &copy).unwrap();
                cut(&log);
                place.append("a.log", text("two", 0..then));
                let is_complete = matches!(files.read_listed(dealer, progress), Ok(true));
                assert!(!is_complete || path == "a.log" && then > 0, "{case}");
                std::thread::sleep(TICK * 2);
                for is_last in [false, true] {
                    let complete = files.read(Duration::ZERO, dealer, progress);
                    assert!(matches!(complete, Ok(complete) if complete || !is_last), "{case}");
                    assert!(!files.take_gap(), "{case}");
                }
            });
            assert_eq!(lines, 300 + then, "{case}");
        }
    }

    // Refutes a look that is complete without a file that had its name when it was listed, and has another one when it is
    // opened: it is new, or was closed since there were many.
    #[test]
    fn a_look_within_which_a_file_is_renamed_is_not_complete() {
        for (is_new, is_gone) in [(true, false), (true, true), (false, false), (false, true)] {
            let case = format!("new: {is_new}, no file has the name: {is_gone}");
            let place = Place::new("within-renamed");
            let [log, rotated] = ["a.log", "a.log.1"].map(|name| place.path(name));
            let lines = follow(&place.path("a.log*"), |files, dealer, progress| {
                if !is_new {
                    place.write("a.log", text("one", 0..100));
                    assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                }
                place.append("a.log", text("one", if is_new { 0 } else { 100 }..200));
                let found = FoundFile::new(&log, &fs::metadata(&log).unwrap());
                files.is_complete = true;
                if !is_new {
                    assert!(matches!(files.list(Duration::ZERO, dealer, progress), Ok(true)));
                    files.known.values_mut().for_each(FollowedFile::close);
                }
                fs::rename(&log, &rotated).unwrap();
                if !is_gone {
                    place.write("a.log", "");
                }
                if is_new {
                    assert!(files.add_new(vec![found], dealer, progress).is_ok());
                }
                assert!(matches!(files.read_listed(dealer, progress), Ok(false)), "{case}");
                for is_last in [false, true] {
                    let complete = files.read(Duration::ZERO, dealer, progress);
                    assert!(matches!(complete, Ok(complete) if complete || !is_last), "{case}");
                }
            });
            assert_eq!(lines, 200, "{case}");
        }
    }

    // Refutes a watermark that stands still for as long as files come to a directory, each with its first lines.
    #[test]
    fn files_that_come_without_a_rotation_hold_no_look_up() {
        let place = Place::new("within-many");
        let lines = follow(&place.path("*.json"), |files, dealer, progress| {
            for number in 0..10 {
                place.write(&format!("{number}.json"), text("one", 0..3));
                assert!(matches!(files.read(Duration::ZERO, dealer, progress), Ok(true)), "{number}");
            }
        });
        assert_eq!(lines, 30);
    }

    // Refutes a look that is complete without a file that has another name than those which were read before it was renamed.
    #[test]
    fn a_look_within_which_all_files_are_renamed_has_not_all() {
        let place = Place::new("within-names");
        let [log, first, second] = ["a.log", "a.log.1", "a.log.2"].map(|name| place.path(name));
        follow(&place.path("a.log*"), |files, _, _| {
            place.write("a.log.1", text("one", 0..3));
            place.write("a.log", text("two", 0..3));
            std::thread::sleep(TICK * 2);
            files.listed_at = SystemTime::now();
            let names = [log.clone(), first.clone()];
            fs::rename(&first, &second).unwrap();
            fs::rename(&log, &first).unwrap();
            place.write("a.log", "");
            let (found, is_whole) = files.by_file(&names).unwrap();
            let ids: BTreeSet<FileId> = found.iter().map(|(_, facts)| FileId::of(facts)).collect();
            assert!(is_whole && ids.len() == 2, "the names are those of other files");
            assert_eq!(files.has_all(&ids), Ok(false));
            let all = names.iter().chain([&second]).map(|path| FileId::of(&fs::metadata(path).unwrap()));
            assert_eq!(files.has_all(&all.collect()), Ok(true));
        });
    }

    // Refutes a look that is complete without a file whose name is gone once the names were read.
    #[test]
    fn a_look_that_finds_no_file_by_a_name_is_not_complete() {
        let place = Place::new("within-gone");
        follow(&place.path("a.log*"), |files, _, _| {
            place.write("a.log.1", "");
            for (name, is_rotated) in [("a.log", true), ("a.json", false)] {
                let (found, is_whole) = files.by_file(&[place.path(name)]).unwrap();
                assert!(found.is_empty() && is_whole != is_rotated, "{name}");
            }
        });
    }

    // Refutes an input gap for a copy that is begun once the first lines were read, and whose log is cut at once.
    #[test]
    fn a_copy_of_what_was_read_first_is_no_doubt() {
        let place = Place::new("within-copy");
        let [log, copy] = ["a.log", "a.log.1"].map(|name| place.path(name));
        let lines = follow(&log, |files, dealer, progress| {
            place.write("a.log", text("one", 0..300));
            assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
            let first = SystemTime::now();
            std::thread::sleep(TICK * 2);
            place.append("a.log", text("one", 300..400));
            fs::copy(&log, &copy).unwrap();
            cut(&log);
            files.file_mut("").unwrap().first_read = Some(first);
            assert!(files.read_before_first("", dealer, progress).is_ok());
            place.append("a.log", text("two", 0..20));
            for _ in 0..2 {
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                assert!(!files.take_gap());
            }
        });
        assert_eq!(lines, 400 + 20);
    }

    // Refutes an input gap at each look for one copy that is in doubt, as long as its log has no line.
    #[test]
    fn a_copy_that_is_in_doubt_is_one_gap() {
        let place = Place::new("within-doubt");
        let [log, copy] = ["a.log", "a.log.1"].map(|name| place.path(name));
        follow(&log, |files, dealer, progress| {
            let mut look = |files: &mut FollowedPath<'_>| {
                std::thread::sleep(TICK * 2);
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                files.take_gap()
            };
            place.write("a.log", text("one", 0..2));
            assert!(!look(files));
            cut(&log);
            assert!(!look(files) && !look(files));
            place.append("a.log", text("one", 0..3));
            fs::copy(&log, &copy).unwrap();
            cut(&log);
            assert!(look(files));
            look(files);
            assert!(!look(files) && !look(files));
        });
    }
}
