//! Logs that are cut (copytruncate): the copy of what was read has the lines that came between the last look and the cut.
//!
//! A log that begins anew with the lines with which it began before, such as a banner, looks like one that has grown. So
//! each copy that comes beside a log is compared with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::POLL_INTERVAL;
use super::content::{Comparison, Content, Positioned, prefix};
use super::file::{FileId, FollowedFile, FoundFile};
use super::files::{FollowedPath, base_of};
use super::missed::LONG;
use super::position::{FileNode, changed};
use super::resume::Reference;
use super::within::names_changed;
use crate::dataflow::SourceError;
use crate::job::rotation::RotationName;
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::Packing;
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::{ReadStop, unreadable};

/// The files beside a log that may be a copy of what was read.
struct Copies {
    /// Those that came since the last look, in the order of rotation.
    new: Vec<PathBuf>,
    /// Others that were written since, the newest first: the copy of a large file takes a while.
    old: Vec<PathBuf>,
}

impl FollowedPath<'_> {
    /// Finds the logs that were cut and written anew since the last look, though they begin with all that was read.
    pub(super) fn notice_cuts(&mut self) -> Result<(), ReadStop> {
        let is_due = |file: &FollowedFile| {
            file.is_listed && file.is_log && file.is_touched && file.has_lines && !file.is_packed()
        };
        let due: Vec<(String, PathBuf)> = self
            .known
            .iter()
            .filter(|(_, file)| is_due(file))
            .map(|(name, file)| (name.clone(), self.base(name, &file.path)))
            .collect();
        for (name, log) in due {
            if !names_changed(&log, self.last_look()) {
                continue;
            }
            let is_cut = self.steadily_beside(&log, |files| Ok(files.begins_anew(&name, &log)))?;
            if let Some(file) = self.known.get_mut(&name) {
                file.is_cut = is_cut;
            }
        }
        Ok(())
    }

    /// Returns true if a copy has come that goes on otherwise than the file itself behind what was read.
    fn begins_anew(&self, name: &str, log: &Path) -> bool {
        let Some(file) = self.known.get(name) else { return false };
        self.copies(log).new.into_iter().any(|copy| match file.content.compare(&copy) {
            // One that cannot be read is in the making, or has another name: the plain one lies beside it.
            Ok(Comparison::Continues(rest)) => {
                file.goes_on_with(rest).is_ok_and(|goes_on| goes_on == Some(false))
                    && self.is_known_text(file, &copy).is_ok_and(|is_known| !is_known)
            }
            _ => false,
        })
    }

    /// Returns true for a file that is [written again](FollowedFile::is_rewritten), and of which no copy lies beside it.
    pub(super) fn is_waited_for(&mut self, name: &str) -> Result<bool, SourceError> {
        let Some(file) = self.known.get_mut(name).filter(|file| !file.is_packed()) else { return Ok(false) };
        let place = file.path.display().to_string();
        let is_rewritten = file.is_rewritten().map_err(|error| unreadable(&place, &error))?;
        let Some(file) = self.known.get(name).filter(|_| is_rewritten) else { return Ok(false) };
        Ok(matches!(self.copy_of(file, &self.base(name, &file.path)).1, Comparison::Other))
    }

    /// Goes on with the new content of a file, from its start, after what its copy has of the old.
    pub(super) fn renew(
        &mut self,
        name: &str,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let Some(mut file) = self.known.remove(name) else { return Ok(()) };
        if file.is_packed() {
            // Nothing is cut that is packed: it is another file, which may hold what was read of its log.
            self.remember(name.to_owned(), file);
            return Ok(());
        }
        let log = self.base(name, &file.path);
        let (copy, comparison) = self.copy_of(&file, &log);
        let copy = copy.and_then(|path| Reference::of(name, &path));
        match comparison {
            Comparison::Continues(rest) => file.read_copy(rest, dealer)?,
            Comparison::Other if file.has_lines => {
                let place = file.path.display();
                let is_taken_over =
                    file.is_taken_over().map_err(|error| unreadable(&place.to_string(), &error))?;
                let why = match is_taken_over {
                    true => {
                        format!("{place}: it was written anew, and lines that were read may be in it again")
                    }
                    false => format!(
                        "{place}: it was cut, and no copy beside it has what came last; lines that were written within the \
                         last {} ms before that are lost",
                        self.unseen.max(POLL_INTERVAL).as_millis()
                    ),
                };
                match is_taken_over || self.unseen > LONG {
                    true => self.lost.push(why),
                    false => self.survey.warn(&why),
                }
            }
            // The file was read further than it was copied.
            Comparison::Shorter | Comparison::Other => {}
        }
        let (found, cut_by) = (file.give_up(), file.checked_at);
        let (base, is_listed) = (base_of(name).to_owned(), file.is_listed);
        self.remember(name.to_owned(), file);
        // It may have been cut several times.
        if let Some(copy) = copy {
            let read = |files: &mut Self| files.between(&log, Some(&copy), None, (dealer, progress));
            let doubts = self.steadily_beside(&log, read)?;
            self.lost.extend(doubts);
        }
        // It was renamed as well, and may have been packed and read under that name.
        if is_listed || !self.has_text_of(&found).map_err(|error| unreadable(&base, &error))? {
            self.begin_untouched(&base, found, cut_by);
        }
        Ok(())
    }

    /// Compares what was read of a file with the copies beside its log: with the first one that has all of it, or else with
    /// a plain one that has a part. The log may have been rotated since, and its copy with it.
    pub(super) fn copy_of(&self, file: &FollowedFile, log: &Path) -> (Option<PathBuf>, Comparison) {
        let (mut found, Copies { new, old }) = (Comparison::Other, self.copies(log));
        for path in new.into_iter().chain(old) {
            match file.content.compare(&path) {
                // An older one may begin alike.
                Ok(Comparison::Continues(rest)) if !self.is_known_text(file, &path).unwrap_or(false) => {
                    return (Some(path), Comparison::Continues(rest));
                }
                // A packed one may be in the making.
                Ok(Comparison::Shorter) if Packing::of(&path) == Packing::Plain => {
                    found = Comparison::Shorter
                }
                _ => {}
            }
        }
        (None, found)
    }

    /// The files beside a log that rotation has made of it, and that are followed as no file of their own.
    fn copies(&self, log: &Path) -> Copies {
        let since = self.last_look();
        let (mut new, mut old) = (Vec::new(), Vec::new());
        for path in siblings_of(log) {
            let (Some(name), Ok(facts)) = (RotationName::of(log, &path), fs::metadata(&path)) else {
                continue;
            };
            let (born, changed) = (FileNode::of(&facts).born(), changed(&facts));
            let copy = (name.place(), changed, path);
            match born >= since {
                _ if self.has(FileId::of(&facts)) => {}
                true => new.push(copy),
                // One that was begun before the last look was still written then; a packed one has the time of its text.
                false if born == 0 || changed >= since || Packing::of(&copy.2) != Packing::Plain => {
                    old.push(copy)
                }
                false => {}
            }
        }
        new.sort();
        old.sort_by(|one, other| other.cmp(one));
        let [new, old] = [new, old].map(|copies| copies.into_iter().map(|(.., path)| path).collect());
        Copies { new, old }
    }

    /// Returns true if a file holds just what was read of another one than this, or before this was cut.
    pub(super) fn is_known_text(&self, file: &FollowedFile, path: &Path) -> io::Result<bool> {
        let done = self.done.iter().map(|done| &done.file);
        // All that a log was before it was cut is of one file.
        let others =
            self.known.values().chain(done).filter(|other| other.has_lines && !std::ptr::eq(*other, file));
        for other in others.filter(|other| other.content.length() >= file.content.length()) {
            if let Comparison::Continues(mut rest) = other.content.compare(path)?
                && prefix(&mut rest, 1)?.is_empty()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if another file was read, or will be, that has all of the text of this one.
    fn has_text_of(&self, found: &FoundFile) -> io::Result<bool> {
        let Some(open) = found.opened() else { return Ok(false) };
        let length = open.metadata()?.len();
        let has_it = |path: &Path| -> io::Result<bool> {
            let mut text = Positioned::at(open, 0);
            Ok(Content::is_prefix(path, &mut text)? && prefix(&mut text, 1)?.is_empty())
        };
        let mut unread = self.known.values().filter(|file| file.is_packed() && !file.has_lines);
        // One that cannot be read is gone, or has another name.
        if length > 0 && unread.any(|file| has_it(&file.path).unwrap_or(false)) {
            return Ok(true);
        }
        let done = self.done.iter().map(|done| &done.file);
        for file in self.known.values().chain(done).filter(|file| file.has_lines && file.id != found.id) {
            if file.content.length() == length && file.content.is_of(open)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs::OpenOptions;
    use std::time::Duration;

    use super::super::between::tests::{follow, text};
    use super::*;
    use crate::job::sources::tests::{Place, packed};

    // Refutes lines that count by an open handle and in their packed copy, which was listed before the handle was read.
    #[test]
    fn what_is_about_to_be_read_in_a_packed_copy_is_not_read_through_a_handle() {
        let place = Place::new("cut-handle");
        let [log, copy, gz] = ["a.log", "a.log.2", "a.log.1.gz"].map(|name| place.path(name));
        let lines = follow(&log, |files, dealer, progress| {
            place.write("a.log", text("one", 0..300));
            assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
            fs::copy(&log, &copy).unwrap();
            OpenOptions::new().write(true).open(&log).unwrap().set_len(0).unwrap();
            place.append("a.log", text("two", 0..20));
            place.write("a.log.1.gz", packed(Packing::Gzip, text("two", 0..20).as_bytes()));
            fs::remove_file(&log).unwrap();
            files.known.values_mut().for_each(|file| file.is_listed = false);
            files.begin("", FoundFile::new(&gz, &fs::metadata(&gz).unwrap()));
            for _ in 0..2 {
                for name in files.reading_order() {
                    assert!(files.read_file(&name, u64::MAX, dealer, progress).is_ok());
                }
            }
        });
        assert_eq!(lines, 300 + 20);
    }
}
