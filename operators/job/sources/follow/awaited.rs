//! Copies of a log that is not read yet: what they have is read in the log itself, or in them if it is cut before.

use std::path::Path;
use std::sync::Arc;

use super::content::Content;
use super::file::FileId;
use super::files::FollowedPath;
use crate::job::siblings::siblings_of;
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::ReadStop;

impl FollowedPath<'_> {
    /// Reads the copies of a log that was cut after they were passed over, and before the log was read or while it was: nothing
    /// in the log tells of what it had. Called before a file is read, and behind it.
    pub(super) fn read_awaited(
        &mut self,
        name: &str,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        if self.awaited.is_empty() {
            return Ok(());
        }
        let Some(file) = self.file(name) else { return Ok(()) };
        let (log, is_read) = (self.base(name, &file.path), file.has_lines);
        if !file.id.is_at(&log) {
            return Ok(());
        }
        let due = self.awaited.iter().filter(|(_, of)| **of == log);
        for id in due.map(|(id, _)| *id).collect::<Vec<FileId>>() {
            let path = siblings_of(&log).into_iter().find(|path| id.is_at(path));
            let is_in_log = |path: &Path| Content::begins(path, &log).unwrap_or(false);
            if path.as_deref().is_some_and(is_in_log) {
                if is_read {
                    self.awaited.remove(&id);
                }
                continue;
            }
            self.awaited.remove(&id);
            self.is_complete = false;
            let Some(path) = path else {
                self.lost.push(format!(
                    "{}: it was cut before it was read, and the copy beside it is gone; lines may be lost",
                    log.display()
                ));
                continue;
            };
            let mut doubts = Vec::new();
            if !self.has(id) {
                self.read_between(&log, vec![(path, id)], &mut doubts, (dealer, progress))?;
            }
            self.lost.extend(doubts);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::{self, OpenOptions};
    use std::time::{Duration, Instant};

    use super::super::TICK;
    use super::super::between::tests::{follow, text};
    use crate::job::sources::tests::Place;

    // Refutes lines that nobody reads, and ones that are read twice: a log was copied before it was listed, and is cut before
    // it is read, or is not.
    #[test]
    fn a_copy_of_a_log_that_is_cut_before_it_is_read_is_read() {
        for (is_cut, then) in [(true, 0), (true, 2), (true, 300), (false, 0), (false, 5)] {
            let case = format!("cut: {is_cut}, {then} lines afterwards");
            let place = Place::new("awaited");
            let [log, copy, former] = ["a.log", "a.log.1", "a.log.2"].map(|name| place.path(name));
            let lines = follow(&log, |files, dealer, progress| {
                place.write("a.log", text("one", 0..300));
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                fs::rename(&log, &former).unwrap();
                place.write("a.log", text("two", 0..300));
                fs::copy(&log, &copy).unwrap();
                std::thread::sleep(TICK * 3);
                assert!(files.list(Duration::ZERO, dealer, progress).is_ok());
                if is_cut {
                    OpenOptions::new().write(true).open(&log).unwrap().set_len(0).unwrap();
                }
                place.append("a.log", text("three", 0..then));
                let is_complete = matches!(files.read_listed(dealer, progress), Ok(true));
                assert!(!is_complete || !is_cut, "{case}");
                for _ in 0..2 {
                    assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                    assert!(!files.take_gap(), "{case}");
                }
                assert!(files.awaited.is_empty(), "{case}");
            });
            assert_eq!(lines, 600 + then, "{case}");
        }
    }

    // Refutes a first start that neither reads such a copy nor has an input gap: nothing was read before the log.
    #[test]
    fn a_copy_that_was_there_before_the_first_look_is_read() {
        let place = Place::new("awaited-first");
        let [log, copy] = ["a.log", "a.log.1"].map(|name| place.path(name));
        let lines = follow(&log, |files, dealer, progress| {
            place.write("a.log", text("one", 0..300));
            fs::copy(&log, &copy).unwrap();
            std::thread::sleep(TICK * 3);
            files.first_look = Some((1_900_000_000_000_000, Instant::now()));
            assert!(files.list(Duration::ZERO, dealer, progress).is_ok());
            OpenOptions::new().write(true).open(&log).unwrap().set_len(0).unwrap();
            place.append("a.log", text("two", 0..2));
            assert!(!matches!(files.read_listed(dealer, progress), Ok(true)));
            for _ in 0..2 {
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                assert!(!files.take_gap() && files.gap_spans.is_empty());
            }
        });
        assert_eq!(lines, 302);
    }
}
