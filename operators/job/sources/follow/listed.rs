//! Files that were listed and are not read yet. Before the first of them is read, all of them are reported with their first
//! bytes: a run may end within its first look, and a restart must find each of them, or notice that it is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::content::Content;
use super::file::FileId;
use super::files::{FollowedPath, name_within, present};
use super::found::found;
use super::position::{FileNode, FilePosition, changed, listed_entry, nanoseconds, read_listed};
use crate::dataflow::SourceError;
use crate::gate::Positions;
use crate::job::rotation::{RotationName, rotated_logs};
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::Packing;
use crate::job::sources::dealer::Progress;
use crate::job::sources::milestones::ChangedPositions;

/// A file that holds what a listed one began with.
struct HoldingFile {
    /// True if no other file is like it.
    is_sure: bool,
    is_packed: bool,
    path: PathBuf,
    id: FileId,
}

impl FollowedPath<'_> {
    /// Notes the files of a listing that have bytes of which no line was read, and forgets those that have left. Returns true
    /// if there is a new one.
    pub(super) fn note_listed(&mut self, there: &[(PathBuf, Metadata)]) -> bool {
        let mut is_new = false;
        let nodes: BTreeSet<FileNode> = there.iter().map(|(_, facts)| FileNode::of(facts)).collect();
        let known: BTreeMap<FileId, u64> = self
            .known
            .values()
            .map(|file| (file.id, if file.has_lines { u64::MAX } else { file.content.length() }))
            .collect();
        let is_known = |node| known.keys().any(|id| id.node() == node);
        self.listed.retain(|node, _| nodes.contains(node) || is_known(*node));
        for (path, facts) in there {
            let (id, node) = (FileId::of(facts), FileNode::of(facts));
            let has_more = facts.len() > known.get(&id).copied().unwrap_or(0);
            if has_more && !self.copies.contains_key(&id) && !self.listed.contains_key(&node) {
                let start = self.start(path, facts);
                is_new |= start.is_some();
                self.listed.extend(start.map(|start| (node, start)));
            }
        }
        if is_new && self.reached.is_empty() {
            let latest = there.iter().map(|(_, facts)| changed(facts)).max().unwrap_or(0);
            self.first_seen = Some(latest.min(nanoseconds(SystemTime::now())));
        }
        is_new
    }

    /// The position at the start of a file, with its first and last bytes; `None` if it has no record, or cannot be read now.
    fn start(&self, path: &Path, facts: &Metadata) -> Option<FilePosition> {
        let (id, comment) = (FileId::of(facts), self.format.comment());
        let content = Content::up_to(facts.len(), path, comment).ok()?;
        let is_it = id.is_at(path);
        let is_empty = self.has_no_record(&content);
        let position = content.position(0, path.to_owned(), id.node());
        let start = FilePosition { is_from_start: true, is_done: false, is_settled: false, ..position };
        (is_it && !is_empty).then_some(start)
    }

    /// The files that were listed since the last call, and those that have a position by now or are copies.
    pub(super) fn listed_changes(&mut self) -> ChangedPositions {
        // At nearly every look.
        if self.listed.is_empty() && self.reported_listed.is_empty() {
            return ChangedPositions::new();
        }
        let has_position = |(name, _): &(&String, &_)| self.sure.get(*name) == Some(&true);
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        let read = self.known.iter().chain(done).filter(has_position).map(|(_, file)| file.id);
        let over: BTreeSet<FileNode> = read.chain(self.copies.keys().copied()).map(FileId::node).collect();
        self.listed.retain(|node, _| !over.contains(node));
        let gone = self.reported_listed.iter().filter(|node| !self.listed.contains_key(node));
        let mut changed: ChangedPositions = gone.map(|node| listed_entry(*node, None)).collect();
        let new = self.listed.iter().filter(|(node, _)| !self.reported_listed.contains(node));
        changed.extend(new.map(|(node, position)| listed_entry(*node, Some(position))));
        self.reported_listed = self.listed.keys().copied().collect();
        changed
    }

    /// Takes up the files that the parts of a former run had listed; returns their number.
    pub(super) fn resume_listed(&mut self, former: &[Positions]) -> usize {
        let listed = former.iter().flat_map(BTreeMap::values).filter_map(|bytes| read_listed(bytes));
        self.listed = listed.map(|position| (position.node, position)).collect();
        for position in self.listed.values() {
            // A log may be away: its rotated files are known by it.
            self.generations.entry(name_within(self.path, &position.path)).or_default();
        }
        self.listed.len()
    }

    /// Finds the files that the former run had listed, and returns those that neither the path names nor a position has,
    /// by their logs, the oldest first. Where one is gone, there is an input gap.
    pub(super) fn find_listed(
        &mut self,
        is_shared: bool,
        progress: &Arc<Progress>,
    ) -> Result<BTreeMap<PathBuf, Vec<(PathBuf, FileId)>>, SourceError> {
        let there = present(self.path)?;
        let nodes = there.iter().filter_map(|path| Some((FileNode::of(&fs::metadata(path).ok()?), path)));
        let nodes: BTreeMap<FileNode, &PathBuf> = nodes.collect();
        // Files may begin with the same lines: each holds what one of them had.
        let own = self.listed.keys().copied().chain(self.reported.values().map(|position| position.node));
        let (own, mut taken): (BTreeSet<FileNode>, BTreeSet<FileId>) = (own.collect(), BTreeSet::new());
        let mut of_log: BTreeMap<PathBuf, Vec<(PathBuf, FileId)>> = BTreeMap::new();
        for (node, position) in self.listed.clone() {
            // A few bytes tell it from others only where rotation gave the name; several processes see several files.
            let is_told = is_shared || position.is_strong();
            let holds = |path: PathBuf| -> Option<HoldingFile> {
                // One that cannot be read is in the making, or has another name.
                let file = found(&position, &path, progress).ok()??.file;
                let is_same = node.is_sure() && file.node == node;
                let is_packed = Packing::of(&path) != Packing::Plain;
                let is_its_own = is_packed && path.with_extension("") == position.path
                    || is_shared && path == position.path;
                let is_other = own.contains(&file.node) || self.has(file.id) || taken.contains(&file.id);
                let is_alike = is_told || RotationName::of(&position.path, &path).is_some();
                let is_it = is_same || is_alike && (is_its_own || !is_other);
                is_it.then_some(HoldingFile { is_sure: is_same || is_told, is_packed, path, id: file.id })
            };
            // It is sought where it was, then by its number, and then in all others.
            let near = [Some(&position.path), nodes.get(&node).copied()].into_iter().flatten().cloned();
            let logs = rotated_logs(&position.path).chain([position.path.clone()]);
            let beside = logs.flat_map(|log| siblings_of(&log));
            let is_read = |file: &HoldingFile| there.contains(&file.path) || self.has(file.id);
            let mut files: Vec<HoldingFile> = Vec::new();
            for file in near.chain(there.iter().cloned()).chain(beside).filter_map(holds) {
                if files.iter().all(|known| known.id != file.id) {
                    files.push(file);
                }
                if files.last().is_some_and(|last| last.is_sure && is_read(last)) {
                    break;
                }
            }
            let found = match &files[..] {
                [only] => Some(only),
                all => {
                    all.iter().filter(|file| file.is_sure).min_by_key(|file| (!is_read(file), file.is_packed))
                }
            };
            let Some(HoldingFile { path, id, .. }) = found else {
                let place = position.path.display();
                self.gap(&format!(
                    "{place}: the last run has listed it, and no file holds what it began with; it was removed, cut or \
                     changed before a reading of it was recorded"
                ));
                continue;
            };
            taken.insert(*id);
            if found.is_some_and(is_read) {
                continue;
            }
            let (path, id) = (path.clone(), *id);
            let log = self.base(&name_within(self.path, &position.path), &position.path);
            let files = of_log.entry(log).or_default();
            if !files.contains(&(path.clone(), id)) {
                files.push((path, id));
            }
        }
        for (log, files) in &mut of_log {
            files.sort_by_cached_key(|(path, _)| RotationName::of(log, path).map(|name| name.place()));
        }
        Ok(of_log)
    }
}
