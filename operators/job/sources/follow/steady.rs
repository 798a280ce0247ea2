//! Decisions by the names of files, while a rotation changes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::file::FileId;
use super::files::{FollowedPath, present};
use crate::dataflow::SourceError;
use crate::job::siblings::siblings_of;
use crate::job::sources::reader::ReadStop;

/// The number of times, and the time between two, for which names are read again that a rotation changes.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// A log and its rotated files.
fn names_of(log: &Path) -> impl Iterator<Item = PathBuf> {
    siblings_of(log).into_iter().chain([log.to_owned()])
}

impl FollowedPath<'_> {
    /// Repeats what the names of all files decide until none of them has changed meanwhile: while a log is rotated, a file
    /// may be found under no name, or under another file's.
    pub(super) fn steadily<T>(
        &mut self,
        logs: &[PathBuf],
        attempt: impl FnMut(&mut Self) -> Result<T, ReadStop>,
    ) -> Result<T, ReadStop> {
        let paths = |files: &Self| {
            let beside = logs.iter().flat_map(|log| names_of(log));
            Ok(present(files.path)?.into_iter().chain(beside).collect())
        };
        self.until_steady(paths, attempt)
    }

    /// Repeats what the names of a log and its rotated files decide until none of them has changed meanwhile.
    pub(super) fn steadily_beside<T>(
        &mut self,
        log: &Path,
        attempt: impl FnMut(&mut Self) -> Result<T, ReadStop>,
    ) -> Result<T, ReadStop> {
        self.until_steady(|_| Ok(names_of(log).collect()), attempt)
    }

    fn until_steady<T>(
        &mut self,
        paths: impl Fn(&Self) -> Result<Vec<PathBuf>, SourceError>,
        mut attempt: impl FnMut(&mut Self) -> Result<T, ReadStop>,
    ) -> Result<T, ReadStop> {
        let named = |path: PathBuf| {
            // It may be gone already.
            let id = FileId::of(&fs::metadata(&path).ok()?);
            Some((path, id))
        };
        let names = |files: &Self| -> Result<BTreeMap<PathBuf, FileId>, SourceError> {
            Ok(paths(files)?.into_iter().filter_map(named).collect())
        };
        let mut left = ATTEMPTS;
        loop {
            let before = names(self)?;
            let outcome = attempt(self);
            left -= 1;
            if left == 0 || matches!(outcome, Err(ReadStop::Over)) || names(self)? == before {
                return outcome;
            }
            thread::sleep(PAUSE);
        }
    }
}
