//! The files that are held open: of very many, those that were not written for the longest time are closed, and opened
//! again where they grow, and where they have another name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};

use super::content::Comparison;
use super::file::{FileId, FollowedFile, FoundFile};
use super::files::FollowedPath;
use super::missed::LONG;
use crate::job::sources::dealer::Dealer;
use crate::job::sources::reader::ReadStop;

/// The most files that are held open. In tests few, so that some are closed.
const MOST: u64 = if cfg!(test) { 3 } else { 4_096 };

/// The number of files that a run opens beside those of its source: its ledger, output, pages and connections, and the
/// files that are compared with others.
const RESERVED: u64 = 48;

/// The number of files that are held open: at most half of those that the process may have. A quarter more may be open for
/// a moment, and another quarter that have lost their names.
pub(super) fn most_open() -> usize {
    most_of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), MOST)
}

fn most_of(allowed: u64, most: u64) -> usize {
    (allowed / 2).min(allowed.saturating_sub(RESERVED)).clamp(1, most) as usize
}

impl FollowedPath<'_> {
    /// The number of files beyond the most that may be open for a moment.
    fn most_beyond(&self) -> usize {
        (self.most_open / 4).max(3)
    }

    /// Counts files that were opened, and closes some where many were since that was done last.
    pub(super) fn count_opened(&mut self, number: usize) {
        self.opened += number;
        if self.opened > self.most_beyond() {
            self.close_some();
        }
    }

    /// Closes files that were not written for the longest time, where many are open.
    pub(super) fn close_some(&mut self) {
        self.opened = 0;
        let mut open: Vec<&mut FollowedFile> =
            self.known.values_mut().filter(|file| file.is_open()).collect();
        let (most, all) = (self.most_open, open.len());
        if all <= most {
            return;
        }
        open.retain(|file| file.is_listed);
        open.sort_by_key(|file| file.grown);
        let more = all - (most - most / 4);
        let closed = open.len().min(more);
        open.into_iter().take(closed).for_each(FollowedFile::close);
        // An open one tells whether it was removed, and has its last lines.
        if all - closed > most + self.most_beyond() {
            self.set_some_aside(more - closed);
        }
    }

    /// Closes some of the files that have another name than those of the source. Those without a name could not be opened
    /// again.
    fn set_some_aside(&mut self, number: usize) {
        let is_open = |file: &FollowedFile| !file.is_listed && file.is_open();
        let open: Vec<String> =
            self.known.iter().filter(|(_, file)| is_open(file)).map(|(name, _)| name.clone()).collect();
        let found = self.paths_beside(&open);
        let mut named: Vec<_> = self
            .known
            .values_mut()
            .filter(|file| is_open(file))
            .filter_map(|file| Some((found.get(&file.id)?, file)))
            .collect();
        named.sort_by_key(|(_, file)| file.grown);
        named.into_iter().take(number).for_each(|(path, file)| file.set_aside(Some(path)));
    }

    /// The files in the directories of these, with their paths.
    fn paths_beside(&self, names: &[String]) -> BTreeMap<FileId, PathBuf> {
        let paths = names.iter().filter_map(|name| self.known.get(name));
        let directories: BTreeSet<PathBuf> =
            paths.filter_map(|file| Some(file.path.parent()?.to_owned())).collect();
        let mut found: BTreeMap<FileId, PathBuf> = BTreeMap::new();
        for directory in directories {
            let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
            // What cannot be listed has no name that is known.
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            found.extend(entries.filter_map(|entry| {
                let path = entry.path();
                Some((FileId::of(&fs::metadata(&path).ok()?), path))
            }));
        }
        found
    }

    /// Opens the closed files that have lost their name among the files of the source, to be read to their ends: one that
    /// was renamed under its new name, and one that was packed at once in its copy.
    pub(super) fn reopen_renamed(&mut self, dealer: &mut Dealer) -> Result<(), ReadStop> {
        let is_closed =
            |file: &FollowedFile| !file.is_listed && !file.is_open() && !file.is_packed() && !file.is_aside();
        let closed: Vec<String> =
            self.known.iter().filter(|(_, file)| is_closed(file)).map(|(name, _)| name.clone()).collect();
        if closed.is_empty() {
            return Ok(());
        }
        let found = self.paths_beside(&closed);
        let open = self.known.values().filter(|file| file.is_open()).count();
        let mut room = self.most_open.saturating_sub(open);
        for name in closed {
            let Some(file) = self.known.get_mut(&name) else { continue };
            let path = found.get(&file.id);
            if room == 0 && path.is_some() {
                file.set_aside(path);
                continue;
            }
            let renamed = path.and_then(|path| {
                let mut renamed = FoundFile::new(path, &fs::metadata(path).ok()?);
                (renamed.id == file.id && renamed.open().ok()?).then_some(renamed)
            });
            if let Some(renamed) = renamed {
                file.reopen(renamed);
                room -= 1;
                continue;
            }
            file.set_aside(None);
            let Some(file) = self.known.get(&name) else { continue };
            let (place, is_log) = (file.path.display().to_string(), file.is_log);
            let copy = self.copy_of(file, &self.base(&name, &file.path)).1;
            match (copy, self.known.get_mut(&name)) {
                (Comparison::Continues(rest), Some(file)) => file.read_copy(rest, dealer)?,
                (_, Some(_)) if is_log && self.unseen > LONG => self.lost.push(format!(
                    "{place}: it was closed, since {} other files are open, and is gone; lines that were written to it within \
                     the last {} ms are lost",
                    self.most_open,
                    self.unseen.as_millis()
                )),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::super::between::tests::{follow, text};
    use super::*;
    use crate::job::sources::tests::Place;

    // Refutes a run that holds all files open which have lost their names at once, and one that closes them and does not
    // read what comes to them.
    #[test]
    fn of_many_renamed_files_few_are_held_open() {
        let place = Place::new("open-renamed");
        let lines = follow(&place.path("*.log"), |files, dealer, progress| {
            let most = files.most_open + 2 * files.most_beyond();
            let mut look = |files: &mut FollowedPath<'_>| {
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                let open = files.known.values().filter(|file| file.is_open()).count();
                assert!(open <= most, "{open} files are open");
                assert!(!files.take_gap());
            };
            for number in 0..40 {
                place.write(&format!("{number}.log"), text(&format!("of {number}"), 0..5));
            }
            look(files);
            for number in 0..40 {
                let log = place.path(&format!("{number}.log"));
                fs::rename(&log, log.with_extension("log.1")).unwrap();
                place.write(&format!("{number}.log"), text(&format!("next of {number}"), 0..3));
            }
            for lines in [5..6, 6..7] {
                look(files);
                for number in 0..40 {
                    place.append(&format!("{number}.log.1"), text(&format!("of {number}"), lines.clone()));
                }
                look(files);
            }
            // They have a second name.
            for number in 0..40 {
                let renamed = place.path(&format!("{number}.log.1"));
                fs::rename(&renamed, renamed.with_extension("2")).unwrap();
                place.append(&format!("{number}.log.2"), text(&format!("of {number}"), 7..8));
            }
            look(files);
            look(files);
        });
        assert_eq!(lines, 40 * (8 + 3));
    }

    #[test]
    fn a_small_limit_leaves_room_for_the_rest_of_the_process() {
        let beside = |allowed: u64| most_of(allowed, 4_096);
        assert_eq!([20, 48, 64, 128, 1_024, 1 << 20].map(beside), [1, 1, 16, 64, 512, 4_096]);
    }
}
