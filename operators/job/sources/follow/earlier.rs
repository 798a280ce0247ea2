//! Rotated files that lie beside a log at the first start of its run, and that its path does not name: nobody reads them, so
//! that the windows of their lines are an input gap.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::between::Likeness;
use super::files::{FollowedPath, present};
use super::position::changed;
use crate::dataflow::SourceError;
use crate::job::rotation::{RotationName, RotationPlace, siblings_of};
use crate::job::sources::reader::unreadable;
use crate::time::{LIMIT, Time};

impl FollowedPath<'_> {
    /// Notes the input gap of the files that were rotated before the first start, which is `now`.
    pub(super) fn note_earlier(&mut self, now: Time) -> Result<(), SourceError> {
        let mut logs: BTreeSet<PathBuf> = present(self.path)?.into_iter().collect();
        // One that has a name may be away.
        logs.extend(Some(self.path.to_owned()).filter(|path| !path.is_dir()));
        let mut latest: Option<(Time, PathBuf)> = None;
        for log in logs {
            for (path, facts) in self.unread(siblings_of(&log))? {
                // In microseconds, rounded up.
                let at = Time::try_from(changed(&facts).div_ceil(1_000)).unwrap_or(LIMIT).min(now);
                let is_rotated = RotationName::of(&log, &path)
                    .is_some_and(|name| !name.has_word && name.place() != RotationPlace::Unknown);
                if is_rotated && self.survey.begins_by(at) && !self.is_copy_of_log(&log, &path)? {
                    latest = latest.max(Some((at, path)));
                }
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
