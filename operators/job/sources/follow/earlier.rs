//! Rotated files that lie beside a log at the first start of its run, and that its path does not name: nobody reads them, so
//! that the windows of their lines are an input gap.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::between::Likeness;
use super::files::{FollowedPath, present};
use super::position::changed;
use crate::dataflow::SourceError;
use crate::job::rotation::{RotationName, RotationPlace, paths_beside, rotated_logs};
use crate::job::sources::reader::unreadable;
use crate::time::{LIMIT, Time};

impl FollowedPath<'_> {
    /// Notes the input gap of the files that were rotated before the first start, which is `now`.
    pub(super) fn note_earlier(&mut self, now: Time) -> Result<(), SourceError> {
        let mut logs: BTreeSet<PathBuf> = present(self.path)?.into_iter().collect();
        // One that has a name may be away.
        logs.extend(Some(self.path.to_owned()).filter(|path| !path.is_dir()));
        let of_directories: BTreeMap<_, &PathBuf> = logs.iter().map(|log| (log.parent(), log)).collect();
        let beside = of_directories.into_values().flat_map(|log| paths_beside(log));
        let mut latest: Option<(Time, PathBuf)> = None;
        for (path, facts) in self.unread(beside.collect())? {
            // In microseconds, rounded up.
            let at = Time::try_from(changed(&facts).div_ceil(1_000)).unwrap_or(LIMIT).min(now);
            let log = rotated_logs(&path).find(|log| logs.contains(log) && is_in_order(log, &path));
            if let Some(log) = log.filter(|_| self.survey.begins_by(at))
                && !self.is_copy_of_log(&log, &path)?
            {
                latest = latest.max(Some((at, path)));
            }
        }
        if let Some((at, path)) = latest {
            self.survey.warn(&format!(
                "{}: it was rotated before the first start, and the path does not name it; the windows that begin before its \
                 last change are skipped as an input gap; to read it too, let the path be a pattern that has both",
                path.display()
            ));
            self.gap_spans.push((-LIMIT, at));
        }
        Ok(())
    }

    fn is_copy_of_log(&self, log: &Path, path: &Path) -> Result<bool, SourceError> {
        let likeness = self.likeness(log, path);
        let likeness = likeness.map_err(|error| unreadable(&path.display().to_string(), &error))?;
        Ok(matches!(likeness, Likeness::Copy | Likeness::Empty))
    }
}

/// Returns true if a rotation gives the name and states its order, and no person set the file aside.
fn is_in_order(log: &Path, path: &Path) -> bool {
    RotationName::of(log, path).is_some_and(|name| !name.has_word && name.place() != RotationPlace::Unknown)
}
