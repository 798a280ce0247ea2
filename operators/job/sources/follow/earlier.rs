//! Rotated files that lie beside a log at the first start of its run, and that its path does not name: nobody reads them, so
//! that the windows of their lines are an input gap.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::TICK;
use super::between::Likeness;
use super::file::FileId;
use super::files::FollowedPath;
use super::position::{changed, read_gap};
use crate::dataflow::SourceError;
use crate::gate::Positions;
use crate::job::rotation::{RotationName, RotationPlace, rotated_logs};
use crate::job::siblings::paths_beside;
use crate::job::sources::dealer::{Dealer, DealerMessage};
use crate::job::sources::reader::{ReadStop, unreadable};
use crate::time::{LIMIT, Time};

/// Returns true if no run has left a trace of a file: one that ended within its first look may have left a gap alone.
pub(super) fn is_first(former: &[Positions]) -> bool {
    former.iter().flat_map(BTreeMap::values).all(|bytes| read_gap(bytes).is_some())
}

impl FollowedPath<'_> {
    /// Notes the input gap of the files that were rotated before the first look, which has listed others and began at this
    /// time.
    pub(super) fn note_earlier(
        &mut self,
        (now, began): (Time, Instant),
        listed: &[(PathBuf, Metadata)],
        dealer: &Dealer,
    ) -> Result<(), ReadStop> {
        let mut logs: BTreeSet<PathBuf> = listed.iter().map(|(path, _)| path.clone()).collect();
        // One that has a name may be away.
        logs.extend(Some(self.path.to_owned()).filter(|path| !path.is_dir()));
        // One of them may be rotated by now.
        let ids: BTreeSet<FileId> = listed.iter().map(|(_, facts)| FileId::of(facts)).collect();
        let of_directories: BTreeMap<_, &PathBuf> = logs.iter().map(|log| (log.parent(), log)).collect();
        let beside = of_directories.into_values().flat_map(|log| paths_beside(log));
        let mut latest: Option<(Time, PathBuf)> = None;
        for (path, facts) in self.unread(beside.collect()) {
            let (id, change) = (FileId::of(&facts), changed(&facts));
            let mut of: Vec<PathBuf> = rotated_logs(&path).filter(|log| logs.contains(log)).collect();
            if of.is_empty() || ids.contains(&id) {
                continue;
            }
            self.earlier.insert(id, (change, facts.len()));
            of.retain(|log| is_in_order(log, &path));
            let passed = Time::try_from(began.elapsed().as_micros()).unwrap_or(LIMIT);
            // In microseconds, rounded up. A line may be a step of the file system later than the change that it is.
            let last = Duration::from_nanos(change) + TICK;
            let at = Time::try_from(last.as_nanos().div_ceil(1_000)).unwrap_or(LIMIT);
            let at = at.min(now.saturating_add(passed));
            if let Some(log) = of.first().filter(|_| self.survey.begins_by(at))
                && !self.is_copy_of_log(log, &path, id)?
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
            dealer.broadcast(|| DealerMessage::Gap(-LIMIT, at))?;
        }
        Ok(())
    }

    fn is_copy_of_log(&mut self, log: &Path, path: &Path, id: FileId) -> Result<bool, SourceError> {
        let likeness = self.likeness(log, path);
        let likeness = likeness.map_err(|error| unreadable(&path.display().to_string(), &error))?;
        if likeness == Likeness::CopyOfLog {
            self.awaited.insert(id, log.to_owned());
        }
        Ok(matches!(likeness, Likeness::Copy | Likeness::CopyOfLog | Likeness::Empty))
    }
}

/// Returns true if a rotation gives the name and states its order, and no person set the file aside.
fn is_in_order(log: &Path, path: &Path) -> bool {
    RotationName::of(log, path).is_some_and(|name| !name.has_word && name.place() != RotationPlace::Unknown)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::super::between::tests::{follow, text};
    use super::super::content::Content;
    use super::super::position::{FileNode, gap_entry, listed_entry};
    use super::*;
    use crate::job::sources::tests::Place;

    // Refutes an input gap for the log itself, which is rotated while the first look begins, and none for a file that is listed
    // nowhere; and one that is read though it was rotated a moment before the first look.
    #[test]
    fn what_was_rotated_before_the_listing_is_earlier() {
        let place = Place::new("earlier");
        let [log, rotated] = ["a.log", "a.log.1"].map(|name| place.path(name));
        let lines = follow(&log, |files, dealer, progress| {
            place.write("a.log", text("one", 0..3));
            let listed = [(log.clone(), fs::metadata(&log).unwrap())];
            fs::rename(&log, &rotated).unwrap();
            let began = (1_900_000_000_000_000, Instant::now());
            assert!(files.note_earlier(began, &listed, dealer).is_ok());
            assert_eq!(files.gap_spans, []);
            place.write("a.log", text("two", 0..2));
            files.first_look = Some(began);
            for _ in 0..2 {
                assert!(files.read(Duration::ZERO, dealer, progress).is_ok());
                // The last line of the rotated file may have come a step of the clock after its time.
                let last = changed(&fs::metadata(&rotated).unwrap()).div_ceil(1_000) as Time + 20_000;
                assert_eq!(files.gap_spans, [(-LIMIT, last)]);
            }
        });
        assert_eq!(lines, 2);
    }

    // Refutes a start that notes no earlier files, since a run before it has noted some and was ended at once.
    #[test]
    fn a_start_after_a_gap_alone_is_the_first() {
        assert!(is_first(&[]) && is_first(&[Positions::new()]));
        let gap = Positions::from([gap_entry((-LIMIT, 5))]);
        assert!(is_first(&[gap.clone(), Positions::new()]));
        let place = Place::new("earlier-first");
        place.write("a.log", text("one", 0..3));
        let facts = fs::metadata(place.path("a.log")).unwrap();
        let file = Content::up_to(facts.len(), &place.path("a.log"), None).unwrap();
        let start = file.position(0, place.path("a.log"), FileNode::of(&facts));
        let (name, start) = listed_entry(FileNode::of(&facts), Some(&start));
        assert!(!is_first(&[gap, Positions::from([(name, start.unwrap())])]));
    }
}
