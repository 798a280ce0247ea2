//! Rotations between two looks at a log: of several, the path has no name of the files between.
//!
//! The looks are a tenth of a second apart, unless the process was stopped or the machine stood still. A file that was
//! the log at the last look and has another name now tells where the others begin; one that is gone tells nothing, and
//! after a long time without a look there is an input gap.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::file::FileId;
use super::files::FollowedPath;
use super::names::siblings_of;
use super::position::changed;
use super::resume::Reference;
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::ReadStop;

/// The time without a look within which several rotations may have come, and the files of all but the last be gone.
const LONG: Duration = Duration::from_secs(1);

/// A log whose file has another name, or none, since the last look.
struct RenamedLog {
    log: PathBuf,
    /// The file under its new name; `None` if it has none.
    renamed: Option<Reference>,
}

impl FollowedPath<'_> {
    /// Reads the files that came and were rotated since the last look, which was `unseen` ago. Returns false if lines may
    /// be lost that nobody has read.
    pub(super) fn read_missed(
        &mut self,
        unseen: Duration,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        let mut is_whole = true;
        for RenamedLog { log, renamed } in self.renamed() {
            let Some(newest) = renamed else {
                if unseen > LONG {
                    let place = log.display();
                    let why = format!(
                        "{place}: nobody looked for {} s, and the file that it was is gone; others may have come and gone since",
                        unseen.as_secs()
                    );
                    self.gap(&mut is_whole, &why);
                }
                continue;
            };
            let read = |files: &mut Self| files.between(&log, Some(&newest), None, (dealer, progress));
            let doubts = self.steadily(std::slice::from_ref(&log), read)?;
            if unseen > LONG {
                doubts.iter().for_each(|why| self.gap(&mut is_whole, why));
            }
        }
        self.gaps.clear();
        Ok(is_whole)
    }

    /// Returns the logs whose file has another name, or none, since this was asked last.
    fn renamed(&mut self) -> Vec<RenamedLog> {
        let mut left = Vec::new();
        let at: Vec<(String, bool)> = self
            .known
            .iter()
            .map(|(name, file)| {
                let log = self.base(name, &file.path);
                let is_log = file.is_listed && file.path == log;
                if file.is_log && !is_log && file.has_lines {
                    left.push((name.clone(), file.id, log));
                }
                (name.clone(), is_log)
            })
            .collect();
        for (name, is_log) in at {
            if let Some(file) = self.known.get_mut(&name) {
                file.is_log = is_log;
            }
        }
        let mut renamed = Vec::new();
        for (name, id, log) in left {
            let is_it = |path: &PathBuf| fs::metadata(path).is_ok_and(|facts| FileId::of(&facts) == id);
            let found = siblings_of(&log).into_iter().find(is_it);
            if found.is_none() && !log.exists() {
                // It is between two names of a rotation.
                if let Some(file) = self.known.get_mut(&name) {
                    file.is_log = true;
                }
                continue;
            }
            let reference = found.and_then(|path| {
                let changed = changed(&fs::metadata(&path).ok()?);
                Some(Reference { generation: 0, path, changed })
            });
            renamed.push(RenamedLog { log, renamed: reference });
        }
        renamed
    }
}
