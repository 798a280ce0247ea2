//! The order in which the files of a log are read: each after those that were written before it, and no further than makes
//! sure of that. What is in order of time is read in order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::FollowedFile;
use super::files::{FollowedPath, base_of, generation_of};
use crate::job::rotation::{RotationName, RotationPlace};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::ReadStop;

/// The place of a file among those of its log: those that had been rotated when the log was first seen, by their first names,
/// and then those that came later, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileAge(bool, Option<RotationPlace>, u64);

impl FileAge {
    /// Returns true for a file that has a number of its log.
    pub(super) fn was_log(&self) -> bool {
        self.0
    }
}

impl FollowedPath<'_> {
    /// Returns the names of the files in the order in which they are read: of each log the oldest first, for lines that are
    /// in order of time.
    pub(super) fn reading_order(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.known.iter().map(|(name, file)| (self.age(name, &file.path), name)).collect();
        names.sort();
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// The log of a file, and its place among the files of the log, the oldest first.
    pub(super) fn age(&self, name: &str, path: &Path) -> (PathBuf, FileAge) {
        let log = self.base(name, path);
        let first = Path::new(base_of(name)).file_name().map(|name| log.with_file_name(name));
        let rotated = first.filter(|first| *first != log).and_then(|first| RotationName::of(&log, &first));
        (log, FileAge(rotated.is_none(), rotated.map(|name| name.place()), generation_of(name)))
    }

    /// The position up to which a file is read in this look. A log is read to where it ended when it was listed: its rotated
    /// files are read to their ends, and a line that comes to it later may follow one that comes to them after their reading.
    pub(super) fn listed_end(&self, name: &str) -> u64 {
        let is_log = |file: &&FollowedFile| file.is_listed && file.path == self.base(name, &file.path);
        let log = self.known.get(name).filter(is_log);
        log.map_or(u64::MAX, |file| file.listed_length)
    }

    /// Forgets files of a log, or of all, that have no line yet: they are found again by the next look, and wait for one that
    /// comes before them.
    pub(super) fn hold_back(&mut self, names: &BTreeSet<String>, log: Option<&Path>) {
        let is_due = |files: &Self, name: &&String| {
            let file = files.known.get(*name).filter(|file| !file.has_lines);
            file.is_some_and(|file| log.is_none_or(|log| files.base(name, &file.path) == log))
        };
        let due: Vec<&String> = names.iter().filter(|name| is_due(self, name)).collect();
        due.into_iter().for_each(|name| _ = self.known.remove(name));
    }

    /// The listed files that have no line yet.
    pub(super) fn without_lines(&self) -> BTreeSet<String> {
        let files = self.known.iter().filter(|(_, file)| !file.has_lines && file.is_listed);
        files.map(|(name, _)| name.clone()).collect()
    }

    /// Reads the files of these logs that have lines, before any file that came after them.
    pub(super) fn read_known(
        &mut self,
        logs: &BTreeSet<&PathBuf>,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        self.notice_cuts()?;
        let mut due = Vec::new();
        for name in self.reading_order() {
            let Some(file) = self.known.get(&name).filter(|file| file.has_lines) else { continue };
            let log = self.base(&name, &file.path);
            if logs.contains(&log) {
                // One that was renamed since its listing is read to its end: the files to come may follow it. Those before it
                // are read afterwards: they have all that came before its last lines.
                let is_log = file.id.is_at(&log);
                let until = if is_log { self.listed_end(&name) } else { u64::MAX };
                due.push((name, until));
            }
        }
        for (name, until) in due {
            self.read_file(&name, until, dealer, progress)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::{self, OpenOptions};
    use std::time::Duration;

    use super::super::TICK;
    use super::super::between::tests::{follow, follow_to, text};
    use super::super::file::FoundFile;
    use super::*;
    use crate::job::sources::bytes::Packing;
    use crate::job::sources::listing::Listing;
    use crate::job::sources::tests::{Place, packed};

    // Refutes the first lines of a log that are read before the last ones of the file before it, which was read before they came:
    // all of them came after the listing.
    #[test]
    fn what_comes_to_a_log_after_its_listing_is_read_by_the_next_look() {
        for path in ["a.log", "a.log*"] {
            for first in [0, 3] {
                let place = Place::new("order-listed");
                let [log, rotated] = ["a.log", "a.log.1"].map(|name| place.path(name));
                let mut looks = Vec::new();
                let lines = follow(&place.path(path), |files, dealer, progress| {
                    place.write("a.log", text("one", 0..200));
                    assert!(matches!(files.read(Duration::ZERO, dealer, progress), Ok(true)));
                    fs::rename(&log, &rotated).unwrap();
                    place.write("a.log", text("two", 0..first));
                    assert!(matches!(files.list(Duration::ZERO, dealer, progress), Ok(true)));
                    place.append("a.log.1", text("one", 200..201));
                    place.append("a.log", text("two", first..10));
                    assert!(files.read_listed(dealer, progress).is_ok());
                    looks.push(read_of(files));
                    assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                    looks.push(read_of(files));
                });
                let [old, some, all] = [text("one", 0..201), text("two", 0..first), text("two", 0..10)];
                assert_eq!(looks, [old.len() + some.len(), old.len() + all.len()], "{path}, {first}");
                assert_eq!(lines, 211, "{path}, {first}");
            }
        }
    }

    /// The number of bytes that were read of the files.
    fn read_of(files: &FollowedPath<'_>) -> usize {
        files.known.values().map(|file| file.content.length() as usize).sum()
    }

    // Refutes a look that is complete without the lines of a log which it has begun anew, behind a file that came.
    #[test]
    fn a_log_that_is_begun_later_is_read_to_where_it_was_listed() {
        for path in ["a.log", "a.log*"] {
            let place = Place::new("order-later");
            let lines = follow(&place.path(path), |files, dealer, progress| {
                place.write("a.log", "");
                assert!(matches!(files.read(Duration::ZERO, dealer, progress), Ok(true)));
                place.write("a.log.1", text("one", 0..300));
                place.append("a.log", text("two", 0..300));
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
            });
            assert_eq!(lines, 600, "{path}");
        }
    }

    /// The lines of a log, in the order in which they were written.
    fn lines(of: std::ops::Range<usize>) -> String {
        text("line", of)
    }

    fn assert_read(dealt: &str, all: usize, case: &str) {
        let numbers = |text: &str| -> Vec<usize> {
            text.lines().map(|line| line.trim_start_matches("line ").parse().unwrap()).collect()
        };
        let wrong = numbers(dealt).into_iter().enumerate().find(|(at, number)| at != number);
        assert_eq!((wrong, dealt.lines().count()), (None, all), "{case}");
    }

    fn cut(log: &Path) {
        OpenOptions::new().write(true).open(log).unwrap().set_len(0).unwrap();
    }

    fn look(files: &mut FollowedPath<'_>, dealer: &mut Dealer, progress: &Arc<Progress>) {
        assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
    }

    /// Looks until a file that is empty or in the making is decided.
    fn look_for_a_second(files: &mut FollowedPath<'_>, dealer: &mut Dealer, progress: &Arc<Progress>) {
        for _ in 0..12 {
            look(files, dealer, progress);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    // Refutes the lines of new files that are read before the last ones of the file before them, which has another name by then,
    // or was copied and cut.
    #[test]
    fn new_files_are_read_after_the_rest_of_the_one_before_them() {
        for is_copied in [false, true] {
            let place = Place::new("order-new");
            let [log, third] = ["a.log", "a.log.3"].map(|name| place.path(name));
            let dealt = follow_to(&place.path("a.log*"), |files, dealer, progress| {
                place.write("a.log", lines(0..200));
                look(files, dealer, progress);
                place.append("a.log", lines(200..210));
                match is_copied {
                    true => {
                        fs::copy(&log, &third).unwrap();
                        cut(&log);
                    }
                    false => fs::rename(&log, &third).unwrap(),
                }
                place.write("a.log.2", lines(210..211));
                place.write("a.log.1", lines(211..216));
                place.append("a.log", lines(216..220));
                look(files, dealer, progress);
                look(files, dealer, progress);
            });
            assert_read(&dealt, 220, &format!("copied: {is_copied}"));
        }
    }

    // Refutes a log that is read before files that came before its lines, since one of them is empty, as a copy of an empty log.
    #[test]
    fn an_empty_copy_is_no_beginning_of_its_log() {
        for path in ["a.log", "a.log*"] {
            let place = Place::new("order-empty");
            let [log, third] = ["a.log", "a.log.3"].map(|name| place.path(name));
            let dealt = follow_to(&place.path(path), |files, dealer, progress| {
                place.write("a.log", lines(0..200));
                look(files, dealer, progress);
                fs::copy(&log, &third).unwrap();
                cut(&log);
                place.write("a.log.2", "");
                place.write("a.log.1", lines(200..201));
                place.append("a.log", lines(201..210));
                std::thread::sleep(TICK * 2);
                look_for_a_second(files, dealer, progress);
            });
            assert_read(&dealt, 210, path);
        }
    }

    // Refutes the lines of a rotated file that are read before the last ones of the file before it, which came since that was
    // read, or since it was listed as the log.
    #[test]
    fn what_is_read_between_comes_after_the_rest_of_the_file_before_it() {
        for is_listed in [false, true] {
            let place = Place::new("order-between");
            let [log, second] = ["a.log", "a.log.2"].map(|name| place.path(name));
            let dealt = follow_to(&log, |files, dealer, progress| {
                place.write("a.log", lines(0..200));
                look(files, dealer, progress);
                if is_listed {
                    place.append("a.log", lines(200..205));
                    assert!(files.list(Duration::ZERO, dealer, progress).is_ok());
                }
                place.append("a.log", lines(if is_listed { 205 } else { 200 }..210));
                fs::rename(&log, &second).unwrap();
                files.known.values_mut().for_each(|file| file.is_listed = is_listed);
                place.write("a.log.1", lines(210..215));
                assert!(files.read_changed_since(&log, 0, (dealer, progress)).is_ok());
            });
            assert_read(&dealt, 215, &format!("listed: {is_listed}"));
        }
    }

    // Refutes a file that is read before an earlier one of its log that was renamed while it was opened.
    #[test]
    fn a_file_waits_for_an_earlier_one_that_was_renamed_meanwhile() {
        let place = Place::new("order-renamed");
        let [log, first, second] = ["a.log", "a.log.1", "a.log.2"].map(|name| place.path(name));
        let dealt = follow_to(&place.path("a.log*"), |files, dealer, progress| {
            place.write("a.log.1", lines(0..5));
            place.write("a.log", lines(10..12));
            let found = [&first, &log].map(|path| FoundFile::new(path, &fs::metadata(path).unwrap()));
            fs::rename(&first, &second).unwrap();
            place.write("a.log.1", lines(5..10));
            std::thread::sleep(TICK * 2);
            files.listed_at = std::time::SystemTime::now();
            assert!(files.add_new(found.into(), dealer, progress).is_ok());
            assert!(files.read_listed(dealer, progress).is_ok());
            look(files, dealer, progress);
        });
        assert_read(&dealt, 12, "");
    }

    // Refutes a file that is read before an earlier one of its log, which has a name that came while names were read.
    #[test]
    fn a_file_waits_for_an_earlier_one_whose_name_was_missed() {
        let place = Place::new("order-missed");
        let [log, second] = ["a.log", "a.log.2"].map(|name| place.path(name));
        let dealt = follow_to(&place.path("a.log*"), |files, dealer, progress| {
            place.write("a.log", lines(0..200));
            look(files, dealer, progress);
            fs::rename(&log, &second).unwrap();
            place.write("a.log.1", lines(200..205));
            // Of a log that is older than the listing.
            std::thread::sleep(TICK * 2);
            place.write("a.log", lines(205..210));
            let names = Listing { files: vec![log.clone()], ..Listing::default() };
            assert!(files.list_names(names, Duration::ZERO, dealer, progress).is_ok());
            assert!(files.read_listed(dealer, progress).is_ok());
            look(files, dealer, progress);
        });
        assert_read(&dealt, 210, "");
    }

    // Refutes a rotated file that is read before an undecided one of its log: it was the log, had no line, and was renamed since.
    #[test]
    fn a_rotated_file_without_a_line_waits_for_an_undecided_one() {
        let place = Place::new("order-undecided");
        let [log, first, second] = ["a.log", "a.log.1", "a.log.2"].map(|name| place.path(name));
        let dealt = follow_to(&place.path("a.log*"), |files, dealer, progress| {
            place.write("a.log", lines(0..200));
            look(files, dealer, progress);
            fs::rename(&log, &first).unwrap();
            place.write("a.log", "");
            look(files, dealer, progress);
            // It begins as the first file does, and may be a copy in the making.
            fs::rename(&first, place.path("a.log.3")).unwrap();
            place.write("a.log.2", lines(0..100));
            place.append("a.log", lines(205..210));
            fs::rename(&log, &first).unwrap();
            place.write("a.log", lines(210..215));
            look(files, dealer, progress);
            fs::write(&second, lines(200..205)).unwrap();
            look_for_a_second(files, dealer, progress);
        });
        assert_read(&dealt, 215, "");
    }

    // Refutes a log that is read before its copies: it was copied and cut between its listing and its reading, and the path names
    // them.
    #[test]
    fn a_log_waits_for_its_copies_that_the_next_look_finds() {
        let place = Place::new("order-copies");
        let [log, copy] = ["a.log", "a.log.1"].map(|name| place.path(name));
        let dealt = follow_to(&place.path("a.log*"), |files, dealer, progress| {
            place.write("a.log", lines(0..5));
            assert!(files.list(Duration::ZERO, dealer, progress).is_ok());
            place.append("a.log", lines(5..10));
            fs::copy(&log, &copy).unwrap();
            cut(&log);
            place.append("a.log", lines(10..20));
            assert!(files.read_listed(dealer, progress).is_ok());
            std::thread::sleep(TICK * 2);
            look(files, dealer, progress);
            look(files, dealer, progress);
        });
        assert_read(&dealt, 20, "");
    }

    // Refutes rotated files that are read before an undecided one of their log while the log is away, of which no file was begun.
    #[test]
    fn files_wait_for_an_undecided_one_while_their_log_is_away() {
        let place = Place::new("order-away");
        let dealt = follow_to(&place.path("a.log*"), |files, dealer, progress| {
            let oldest = packed(Packing::Gzip, lines(0..5).as_bytes());
            place.write("a.log.2.gz", &oldest[..oldest.len() - 9]);
            place.write("a.log.1", lines(5..10));
            place.write("a.log", lines(10..15));
            look(files, dealer, progress);
            for (from, to) in [("a.log.2.gz", "a.log.3.gz"), ("a.log.1", "a.log.2"), ("a.log", "a.log.1")] {
                fs::rename(place.path(from), place.path(to)).unwrap();
            }
            look(files, dealer, progress);
            place.write("a.log", lines(15..20));
            place.write("a.log.3.gz", oldest);
            look_for_a_second(files, dealer, progress);
        });
        assert_read(&dealt, 20, "");
    }

    // Refutes the first files of a log that nobody reads: the first one was renamed before it was opened, and the second one since.
    #[test]
    fn a_log_that_is_renamed_before_it_is_opened_is_read() {
        for path in ["a.log", "a.log*"] {
            let place = Place::new("order-unopened");
            let [log, second] = ["a.log", "a.log.2"].map(|name| place.path(name));
            let dealt = follow_to(&place.path(path), |files, dealer, progress| {
                place.write("a.log", lines(0..5));
                let found = FoundFile::new(&log, &fs::metadata(&log).unwrap());
                fs::rename(&log, &second).unwrap();
                place.write("a.log.1", lines(5..10));
                assert!(files.add_new(vec![found], dealer, progress).is_ok());
                place.write("a.log", lines(10..12));
                std::thread::sleep(TICK * 2);
                look(files, dealer, progress);
                look(files, dealer, progress);
            });
            assert_read(&dealt, 12, path);
        }
    }
}
