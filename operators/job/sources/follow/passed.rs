//! Copies that have the beginning of what was read, and are passed over: a log was copied, read further, and cut, or packed
//! while lines still came to it. They are remembered, since they will be renamed and packed, when nothing else has their
//! text.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use super::content::{Comparison, Content, prefix};
use super::file::{FileId, FoundFile};
use super::files::FollowedPath;
use super::found::found;
use super::position::{FileNode, FilePosition, ReachedMark};
use crate::job::rotation::{RotationName, rotated_logs};
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes;
use crate::job::sources::dealer::Progress;

/// The number of copies that are remembered.
const REMEMBERED: usize = 64;

/// The number of places of a file that are kept.
const PLACES: usize = 32;

/// A copy that was passed over.
pub(super) struct PassedCopy {
    path: PathBuf,
    id: FileId,
    node: FileNode,
    content: Content,
}

/// Places up to which a file was read, of which a copy has some: by them a copy is known when the file itself has another
/// text. The older they are, the fewer are kept.
#[derive(Default)]
pub(super) struct Trail {
    places: Vec<ReachedMark>,
    /// True if a former run came to the first of them.
    is_resumed: bool,
}

impl Trail {
    /// The places of a file that a former run has begun.
    pub(super) fn resumed() -> Trail {
        Trail { places: Vec::new(), is_resumed: true }
    }

    /// Notes the place that was reached.
    pub(super) fn note(&mut self, content: &Content) {
        if self.places.last().is_some_and(|last| last.offset == content.length()) {
            return;
        }
        self.places.push(content.reached(false));
        if self.places.len() > PLACES {
            self.thin_out();
        }
    }

    /// Drops the place, neither the first nor the last one, whose neighbours are nearest to each other for their age.
    fn thin_out(&mut self) {
        let Some(end) = self.places.last().map(|last| last.offset) else { return };
        let share = |(at, near): (usize, &[ReachedMark])| {
            let (before, after) = (near.first()?.offset, near.last()?.offset);
            Some((at + 1, u128::from(after - before), u128::from(end - before)))
        };
        let shares = self.places.windows(3).enumerate().filter_map(share);
        // Fractions, compared by their cross products.
        let nearest = shares.min_by(|(_, near, age), (_, other, of)| (near * of).cmp(&(other * age)));
        if let Some((at, ..)) = nearest {
            self.places.remove(at);
        }
    }

    /// Returns true if a file, of any packing, has the text before the last of the places that lie within it; `None` if none
    /// [is strong](Content::is_strong) behind the first one of a file, which may be the end of what all files of a log begin
    /// with.
    pub(super) fn leads_to(&self, path: &Path, comment: Option<u8>) -> io::Result<Option<bool>> {
        let (mut text, mut content) = (bytes::of_file(path, &Progress::of(None))?, Content::new(comment));
        let (mut is_like, mut equal) = (true, u32::from(self.is_resumed));
        for place in &self.places {
            if !content.add_until(place.offset, &mut text)? {
                break;
            }
            if content.is_strong() {
                is_like = content.reached(false).tail == place.tail;
                equal += u32::from(is_like);
            }
        }
        Ok(if is_like && equal < 2 { None } else { Some(is_like) })
    }
}

impl FollowedPath<'_> {
    /// Remembers a file that is passed over, as it is now.
    pub(super) fn pass_over(&mut self, found: &FoundFile) -> io::Result<()> {
        let content = Content::of_whole(&found.path, self.format.comment())?;
        self.passed.retain(|copy| copy.id != found.id);
        self.passed.push_back(PassedCopy {
            path: found.path.clone(),
            id: found.id,
            node: found.node,
            content,
        });
        if self.passed.len() > REMEMBERED {
            self.passed.pop_front();
        }
        Ok(())
    }

    /// Returns true if a file has the text of a copy that was passed over.
    pub(super) fn has_text_of_passed(&self, path: &Path) -> io::Result<bool> {
        for copy in &self.passed {
            // More may follow in one that is in the making.
            if let Comparison::Continues(mut rest) = copy.content.compare(path)?
                && prefix(&mut rest, 1).is_ok_and(|more| more.is_empty())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true for a copy that was passed over.
    pub(super) fn has_passed(&self, id: FileId) -> bool {
        self.passed.iter().any(|copy| copy.id == id)
    }

    /// The copies that were passed over, as positions.
    pub(super) fn passed_positions(&self) -> impl Iterator<Item = FilePosition> {
        self.passed
            .iter()
            .map(|PassedCopy { path, node, content, .. }| content.position(0, path.clone(), *node))
    }

    /// Remembers the copies that a former run has passed over, where they are by now.
    pub(super) fn resume_passed(&mut self, positions: Vec<FilePosition>) {
        for position in positions {
            let logs: Vec<PathBuf> = rotated_logs(&position.path).collect();
            let mut paths: VecDeque<PathBuf> = logs.iter().flat_map(|log| siblings_of(log)).collect();
            paths.retain(|path| logs.iter().any(|log| RotationName::of(log, path).is_some()));
            paths.push_front(position.path.clone());
            for path in paths {
                // One that cannot be read is in the making, or has another name.
                if let Ok(Some(copy)) = found(&position, &path, &Progress::of(None))
                    && let Ok(content) = Content::of_whole(&path, self.format.comment())
                    && content.length() == position.offset
                {
                    self.copies.insert(copy.file.id, copy.facts.len());
                    self.passed.push_back(PassedCopy {
                        path,
                        id: copy.file.id,
                        node: copy.file.node,
                        content,
                    });
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::job::sources::cutter::Sizes;
    use crate::job::sources::milestones::Milestones;
    use crate::job::sources::reader::TextFormat;
    use crate::job::sources::survey::Survey;
    use crate::job::sources::tests::Place;

    // Refutes places that are all kept, the newest of them that are not, and a file that is known by what it has before the
    // last place within it.
    #[test]
    fn a_copy_is_known_by_the_last_place_that_lies_within_it() {
        const STEP: usize = 1_000;
        let text: String = (0..20_000).map(|line| format!("a line of the log, {line}\n")).collect();
        let (mut trail, mut content) = (Trail::default(), Content::default());
        for part in text.as_bytes().chunks(STEP) {
            content.add(part);
            trail.note(&content);
            trail.note(&content);
            assert!(trail.places.len() <= PLACES);
        }
        let places: Vec<usize> = trail.places.iter().map(|place| place.offset as usize).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "each once: {places:?}");
        let is_near = |pair: &[usize]| pair[1] - pair[0] <= STEP.max((text.len() - pair[0]) / 3);
        assert!(places[0] == STEP && places.windows(2).all(is_near), "{places:?}");
        let place = Place::new("trail");
        let within = |trail: &Trail, text: &[u8]| {
            place.write("a.log.1", text);
            trail.leads_to(&place.path("a.log.1"), None).unwrap()
        };
        let leads_to = |text: &[u8]| within(&trail, text);
        for pair in places.windows(2).skip(2) {
            let mut copy = text.as_bytes()[..text.len().min(pair[1] + 7)].to_vec();
            assert_eq!(leads_to(&copy), Some(true), "{pair:?}");
            assert_eq!(leads_to(&copy[..pair[1] - 1]), Some(true), "{pair:?}");
            copy[pair[1] - 1] ^= 1;
            assert_eq!(leads_to(&copy), Some(false), "{pair:?}");
            assert_eq!(leads_to(&copy[..pair[1] - 1]), Some(true), "{pair:?}");
        }
        assert_eq!(leads_to(&text.as_bytes()[..places[1] + 7]), None, "one place may be the end of a banner");
        trail.is_resumed = true;
        assert_eq!(within(&trail, &text.as_bytes()[..places[1] + 7]), Some(true));
    }

    // Refutes copies that are all remembered, and a newer one that is forgotten.
    #[test]
    fn the_newest_copies_are_remembered() {
        let place = Place::new("passed");
        let milestones = Milestones::new(1, 1);
        let format = TextFormat { sizes: Sizes::USUAL, columns: None };
        let survey = Arc::new(Survey::for_run(Vec::new(), (None, None), None));
        let log = place.path("a.log");
        let mut files = FollowedPath::new(&log, &format, None, &milestones, survey);
        let mut ids = Vec::new();
        for number in 0..REMEMBERED + 2 {
            let name = format!("a.log.{number}");
            place.write(&name, format!("{number}"));
            let found = FoundFile::new(&place.path(&name), &fs::metadata(place.path(&name)).unwrap());
            files.pass_over(&found).unwrap();
            files.pass_over(&found).unwrap();
            ids.push(found.id);
        }
        assert_eq!(files.passed_positions().count(), REMEMBERED);
        let known: Vec<bool> = ids.iter().map(|id| files.has_passed(*id)).collect();
        assert!(!known[0] && !known[1] && known[2..].iter().all(|is_known| *is_known), "{known:?}");
        assert!(!files.has_text_of_passed(&place.path("a.log.0")).unwrap());
        assert!(files.has_text_of_passed(&place.path("a.log.2")).unwrap());
    }
}
