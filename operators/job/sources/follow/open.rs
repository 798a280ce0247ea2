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

/// The number of files that are held open: at most half of those that the process may have.
pub(super) fn most_open() -> usize {
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    (allowed / 2).clamp(1, MOST) as usize
}

impl FollowedPath<'_> {
    /// Closes files that were not written for the longest time, where many are open.
    pub(super) fn close_some(&mut self) {
        let mut open: Vec<&mut FollowedFile> =
            self.known.values_mut().filter(|file| file.is_open()).collect();
        let most = self.most_open;
        if open.len() > most {
            // Those without a name could not be opened again.
            open.retain(|file| file.is_listed);
            open.sort_by_key(|file| file.grown);
            open.into_iter().take(most.div_ceil(2)).for_each(FollowedFile::close);
        }
    }

    /// Opens the closed files that have lost their name among the files of the source, to be read to their ends: one that
    /// was renamed under its new name, and one that was packed at once in its copy.
    pub(super) fn reopen_renamed(&mut self, dealer: &mut Dealer) -> Result<(), ReadStop> {
        let is_closed = |file: &FollowedFile| !file.is_listed && !file.is_open() && !file.is_packed();
        let closed: Vec<String> =
            self.known.iter().filter(|(_, file)| is_closed(file)).map(|(name, _)| name.clone()).collect();
        let paths = closed.iter().filter_map(|name| self.known.get(name));
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
        for name in closed {
            let Some(file) = self.known.get_mut(&name) else { continue };
            let renamed = found.get(&file.id).and_then(|path| {
                let mut renamed = FoundFile::new(path, &fs::metadata(path).ok()?);
                (renamed.id == file.id && renamed.open().ok()?).then_some(renamed)
            });
            if let Some(renamed) = renamed {
                file.reopen(renamed);
                continue;
            }
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
