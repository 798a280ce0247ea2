//! Copies of a log under names of their own, which count as logs: a notice to the operator, who alone knows what
//! they are.

use super::content::Comparison;
use super::file::FollowedFile;
use super::files::FollowedPath;
use crate::job::rotation::RotationName;

impl FollowedPath<'_> {
    /// Warns of each file that begins with all lines of another one, once.
    pub(super) fn notice_copies(&mut self) {
        let due = |file: &FollowedFile| {
            let FollowedFile { content, compared, .. } = file;
            file.has_lines && *compared < content.strong_length() && content.length() > *compared
        };
        let names: Vec<String> =
            self.known.iter().filter(|(_, file)| due(file)).map(|(name, _)| name.clone()).collect();
        for name in names {
            let copied = self.known.get(&name).and_then(|file| {
                let other = self.known.iter().find(|(other, of)| **other != name && is_copy(file, of));
                other.map(|(_, of)| (file.path.clone(), of.path.clone()))
            });
            if let Some((path, of)) = &copied {
                self.survey.warn(&format!(
                    "{} and {} begin with the same lines; if one is a copy of the other, its lines count twice: give it a name \
                     that the path does not match",
                    path.display(),
                    of.display()
                ));
            }
            if let Some(file) = self.known.get_mut(&name) {
                file.compared = if copied.is_some() { u64::MAX } else { file.content.length() };
            }
        }
    }
}

/// Returns true if one of two files has all that was read of the other, and no rotation gives both names.
fn is_copy(one: &FollowedFile, other: &FollowedFile) -> bool {
    let (short, long) = match one.content.length() <= other.content.length() {
        true => (one, other),
        false => (other, one),
    };
    let is_rotated =
        |log: &FollowedFile, found: &FollowedFile| RotationName::of(&log.path, &found.path).is_some();
    short.has_lines
        && long.content.begins_like(&short.content)
        && !is_rotated(short, long)
        && !is_rotated(long, short)
        // A file that is gone was read by this name before.
        && matches!(short.content.compare(&long.path), Ok(Comparison::Continues(_)))
}
