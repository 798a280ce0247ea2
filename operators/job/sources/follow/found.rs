//! The search for the file that holds the content of a position.
//!
//! Content decides: the first bytes, the ones before the position, and those before the place up to which the
//! former run had read. Where several files have them, as logs do that begin with the same lines, the number
//! of the file in its file system and the time of its last change may say which one it was. Where they do not,
//! none is taken, and the open windows are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{Content, is_torn, prefix};
use super::file::{FileId, FoundFile};
use super::position::{FileNode, FilePosition, ReachedMark, changed};
use crate::canonical::Digest;
use crate::dataflow::SourceError;
use crate::job::rotation::RotationName;
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::dealer::Progress;
use crate::job::sources::reader::unreadable;

/// A file that holds the content of a position.
pub(super) struct Found {
    pub(super) file: FoundFile,
    pub(super) content: Content,
    pub(super) facts: Metadata,
    /// The bytes behind the position, if it is packed and may hold more.
    pub(super) rest: Option<Box<dyn io::Read + Send>>,
}

/// Returns the file, if it holds the content of this position.
pub(super) fn found(
    position: &FilePosition,
    path: &Path,
    progress: &Arc<Progress>,
) -> io::Result<Option<Found>> {
    let facts = fs::metadata(path)?;
    if !facts.is_file() {
        return Ok(None);
    }
    let FilePosition { offset, head, tail, .. } = position;
    let limit = Content::LIMITS;
    let lengths = [head.0, tail.0].map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    let [head_length, tail_length] = lengths;
    if head_length > limit.0 || tail_length > limit.1 || tail.0 > *offset || head.0 > *offset {
        return Ok(None);
    }
    let mut file = FoundFile::new(path, &facts);
    if Packing::of(path) == Packing::Plain {
        if !file.open()? || facts.len() < *offset {
            return Ok(None);
        }
        let plain = File::open(path)?;
        let (mut first, mut last) = (vec![0; head_length], vec![0; tail_length]);
        plain.read_exact_at(&mut first, 0)?;
        plain.read_exact_at(&mut last, offset - tail.0)?;
        if Digest::of(&first) != head.1 || Digest::of(&last) != tail.1 {
            return Ok(None);
        }
        let content = Content::known(first, last, *offset);
        return Ok(Some(Found { file, content, facts, rest: None }));
    }
    let mut unpacked = bytes::of_file(path, progress)?;
    let first = prefix(&mut unpacked, head_length)?;
    if Digest::of(&first) != head.1 {
        return Ok(None);
    }
    // It was read to its end and is as it was.
    if position.packed == Some((facts.len(), changed(&facts))) {
        let content = Content::known(first, Vec::new(), *offset);
        return Ok(Some(Found { file, content, facts, rest: None }));
    }
    // Where the two overlap, the last bytes begin among the first ones.
    let start = offset - tail.0;
    let between = start.saturating_sub(head.0);
    let passed = io::copy(&mut io::Read::take(&mut unpacked, between), &mut io::sink())?;
    let overlap = usize::try_from(start).ok().and_then(|start| first.get(start..)).unwrap_or_default();
    let mut last = overlap.to_vec();
    last.extend(prefix(&mut unpacked, tail_length.saturating_sub(overlap.len()))?);
    if passed < between || Digest::of(&last) != tail.1 {
        return Ok(None);
    }
    let content = Content::known(first, last, *offset);
    Ok(Some(Found { file, content, facts, rest: Some(unpacked) }))
}

/// A file that may be the one of a position.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) id: FileId,
    /// True if it is the very file in which the position was.
    is_same: bool,
    changed: u64,
    /// True if it holds all that was read of it.
    pub(super) is_whole: bool,
}

impl Candidate {
    /// The plain file in which a position was, where its number and its time of birth tell it from any other.
    pub(super) fn by_node(position: &FilePosition, base: &Path) -> Option<Candidate> {
        let mut paths = vec![position.path.clone(), base.to_owned()];
        paths.extend(siblings_of(base));
        let found = paths.into_iter().filter(|path| Packing::of(path) == Packing::Plain).find_map(|path| {
            let facts = fs::metadata(&path).ok()?;
            let is_same = position.node.is_sure() && FileNode::of(&facts) == position.node;
            is_same.then_some((path, facts))
        });
        let (path, facts) = found?;
        let (id, changed) = (FileId::of(&facts), changed(&facts));
        Some(Candidate { path, id, is_same: true, changed, is_whole: true })
    }
}

/// A position, with the path that its log had before it was rotated, and the files that may be its own.
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) position: FilePosition,
    pub(super) base: PathBuf,
    pub(super) reached: Option<ReachedMark>,
    candidates: Vec<Candidate>,
}

/// The outcome of a search.
#[derive(Debug)]
pub(super) enum Search {
    Found(Candidate),
    /// No file holds the content.
    Gone,
    /// Several files may be the one, or another one may begin alike.
    Doubt(PathBuf),
}

impl Wanted {
    /// Looks for the content of a position among the files that may have it.
    pub(super) fn new(
        (name, position): (String, FilePosition),
        base: PathBuf,
        reached: Option<ReachedMark>,
        (all, seen): (&[(String, FilePosition)], Option<u64>),
        there: &[PathBuf],
        progress: &Arc<Progress>,
    ) -> Result<Wanted, SourceError> {
        let mut wanted = Wanted { name, position, base, reached, candidates: Vec::new() };
        let own = wanted.candidate(&wanted.position.path.clone(), progress)?;
        if let (Some(own), Some(seen)) = (&own, seen)
            && let Some(copy) = wanted.copy_of_cut(own, seen, all, progress)?
        {
            wanted.candidates.push(copy);
            return Ok(wanted);
        }
        if let Some(own) = own.filter(|own| own.is_same && own.is_whole && wanted.position.is_strong()) {
            wanted.candidates.push(own);
            return Ok(wanted);
        }
        // Where it was last, it may have been packed; from where it was first, it may have been rotated on.
        let Wanted { position, base, .. } = &wanted;
        let siblings = [siblings_of(&position.path), siblings_of(base)].concat();
        let is_rotated = |path: &PathBuf| {
            RotationName::of(base, path).is_some() || RotationName::of(&position.path, path).is_some()
        };
        let (rotated, others): (Vec<PathBuf>, Vec<PathBuf>) = siblings.into_iter().partition(is_rotated);
        let near = [vec![position.path.clone(), base.clone()], rotated].concat();
        let far = [there.to_vec(), others].concat();
        let mut seen = BTreeSet::new();
        for paths in [near, far] {
            // Another log may begin alike; it counts only where its own does not.
            if !wanted.candidates.is_empty() {
                break;
            }
            for path in paths {
                if seen.insert(path.clone())
                    && let Some(candidate) = wanted.candidate(&path, progress)?
                    && wanted.candidates.iter().all(|known| known.id != candidate.id)
                {
                    wanted.candidates.push(candidate);
                }
            }
        }
        Ok(wanted)
    }

    /// Returns the copy of a log that was cut since the former run looked, and that begins anew with the lines before the
    /// position: what follows them differs.
    fn copy_of_cut(
        &self,
        own: &Candidate,
        seen: u64,
        all: &[(String, FilePosition)],
        progress: &Arc<Progress>,
    ) -> Result<Option<Candidate>, SourceError> {
        // A log that has not changed since was not cut.
        if own.path != self.base || !own.is_same || own.changed <= seen {
            return Ok(None);
        }
        let copies = siblings_of(&self.base).into_iter().filter_map(|path| {
            let place = RotationName::of(&self.base, &path)?.place();
            let is_new = FileNode::of(&fs::metadata(&path).ok()?).born() >= seen;
            is_new.then_some((place, path))
        });
        let mut copies: Vec<_> = copies.collect();
        copies.sort();
        for (_, path) in copies {
            // More was read of another log that is packed there now.
            let is_of = |(name, other): &(String, FilePosition)| {
                *name != self.name
                    && other.offset > self.position.offset
                    && found(other, &path, progress).is_ok_and(|found| found.is_some())
            };
            if let Some(copy) = self.candidate(&path, progress)?
                && copy.is_whole
                && copy.id != own.id
                && Content::begins(&path, &own.path).is_ok_and(|begins| !begins)
                && !all.iter().any(is_of)
            {
                return Ok(Some(copy));
            }
        }
        Ok(None)
    }

    fn candidate(&self, path: &Path, progress: &Arc<Progress>) -> Result<Option<Candidate>, SourceError> {
        let looked = || -> io::Result<Option<Candidate>> {
            let Some(found) = found(&self.position, path, progress)? else { return Ok(None) };
            let is_whole = match &self.reached {
                Some(mark) if mark.offset > self.position.offset => Content::has_reached(path, mark)?,
                _ => true,
            };
            let is_same = FileNode::of(&found.facts) == self.position.node;
            let (id, changed) = (found.file.id, changed(&found.facts));
            Ok(Some(Candidate { path: path.to_owned(), id, is_same, changed, is_whole }))
        };
        match looked() {
            Ok(candidate) => Ok(candidate),
            // It was renamed or removed, is shorter, or is no packed file yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_torn(&error) => Ok(None),
            Err(error) => Err(unreadable(&path.display().to_string(), &error)),
        }
    }

    /// Chooses among the files that no other position has.
    fn choose(&self, taken: &BTreeSet<FileId>, seen: Option<u64>) -> Search {
        let mut left: Vec<Candidate> =
            self.candidates.iter().filter(|candidate| !taken.contains(&candidate.id)).cloned().collect();
        if left.iter().any(|candidate| candidate.is_whole) {
            left.retain(|candidate| candidate.is_whole);
        }
        // The plain file of a pair that is being packed.
        let paths: BTreeSet<PathBuf> = left.iter().map(|candidate| candidate.path.clone()).collect();
        left.retain(|candidate| {
            Packing::of(&candidate.path) == Packing::Plain
                || !paths.contains(&candidate.path.with_extension(""))
        });
        // What has not changed since the former run looked was not made of this file afterwards.
        if let Some(seen) = seen.filter(|_| left.iter().any(|candidate| candidate.is_same)) {
            left.retain(|candidate| candidate.is_same || candidate.changed >= seen);
        }
        let is_sure = self.position.node.is_sure()
            || left.iter().all(|candidate| Packing::of(&candidate.path) == Packing::Plain);
        let renamed = left.iter().find(|candidate| candidate.is_same && candidate.path != self.position.path);
        if let Some(renamed) = renamed.filter(|_| is_sure) {
            return Search::Found(renamed.clone());
        }
        match &left[..] {
            [] => Search::Gone,
            [only] if self.may_be_another(only) => Search::Doubt(only.path.clone()),
            [only] => Search::Found(only.clone()),
            [first, ..] => match self.copied(&left) {
                Some(whole) => Search::Found(whole),
                None => Search::Doubt(first.path.clone()),
            },
        }
    }

    /// Returns true if a file at the path of the position may be a new one that begins with the same lines.
    fn may_be_another(&self, candidate: &Candidate) -> bool {
        !candidate.is_same
            && candidate.path == self.position.path
            && Packing::of(&candidate.path) == Packing::Plain
            && !self.position.is_strong()
    }

    /// Returns the file that begins with all of the others, if they are its copies.
    fn copied(&self, left: &[Candidate]) -> Option<Candidate> {
        let holds_all = |whole: &&Candidate| {
            let mut others = left.iter().filter(|other| other.id != whole.id);
            others.all(|other| Content::begins(&other.path, &whole.path).unwrap_or(false))
        };
        let own = left.iter().find(|candidate| candidate.path == self.position.path);
        match own {
            // A longer copy of it: it was cut, and begins with the same lines again, or else lost its end.
            Some(own) => Some(own).filter(holds_all).cloned(),
            None => left.iter().find(holds_all).cloned(),
        }
    }
}

/// Gives each position its file: first those that have no choice. The order of what is `wanted` decides among equals.
pub(super) fn assign(wanted: &[Wanted], seen: Option<u64>) -> BTreeMap<String, Search> {
    let (mut all, mut taken) = (BTreeMap::new(), BTreeSet::new());
    let mut take = |wanted: &Wanted, taken: &mut BTreeSet<FileId>| {
        let search = match wanted.choose(taken, seen) {
            // Nothing is expected of it.
            Search::Doubt(_) if wanted.position.is_done || wanted.position.is_settled => Search::Gone,
            search => search,
        };
        if let Search::Found(candidate) = &search {
            taken.insert(candidate.id);
        }
        all.insert(wanted.name.clone(), search);
    };
    let mut left: Vec<&Wanted> = wanted.iter().collect();
    while !left.is_empty() {
        let is_forced = |wanted: &&Wanted| {
            wanted.candidates.iter().filter(|candidate| !taken.contains(&candidate.id)).count() <= 1
        };
        let next = left.iter().position(is_forced).unwrap_or(0);
        take(left.remove(next), &mut taken);
    }
    all
}
