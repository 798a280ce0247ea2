//! A file that is followed: plain and growing, or packed and whole.

mod catch_up;

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::content::{Content, Positioned, prefix};
use super::passed::Trail;
use super::position::{FileNode, FilePosition};
use super::{SETTLED, TICK, position};
pub(super) use catch_up::Caught;
use catch_up::TORN;

use crate::job::sources::accord::FileReport;
use crate::job::sources::bytes::Packing;
use crate::job::sources::dealer::first_turn;
use crate::job::sources::reader::{Hash, ReaderText, TextFormat};

/// The identity of a file in its file system. A new file may have the number of one that was removed a moment ago, but
/// not its time of birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileId {
    device: u64,
    node: FileNode,
}

impl FileId {
    pub(super) fn of(facts: &Metadata) -> FileId {
        FileId { device: facts.dev(), node: FileNode::of(facts) }
    }

    pub(super) fn node(self) -> FileNode {
        self.node
    }

    /// Returns true if the file at a path is this one.
    pub(super) fn is_at(self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|facts| FileId::of(&facts) == self)
    }
}

/// A file that was found in a directory.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) id: FileId,
    pub(super) length: u64,
    pub(super) node: FileNode,
    /// The time of its last change, in nanoseconds.
    pub(super) changed: u64,
    /// True if it has the time of an earlier file, which programs that pack or copy files give it at their end.
    pub(super) is_finished: bool,
    /// The file, open, if it is plain: it may be renamed at once.
    open: Option<File>,
}

impl FoundFile {
    pub(super) fn new(path: &Path, facts: &Metadata) -> FoundFile {
        let (id, node) = (FileId::of(facts), FileNode::of(facts));
        let changed = position::changed(facts);
        let is_finished = changed < node.born();
        FoundFile { path: path.to_owned(), id, length: facts.len(), node, changed, is_finished, open: None }
    }

    /// The file, if it is open.
    pub(super) fn opened(&self) -> Option<&File> {
        self.open.as_ref()
    }

    /// Closes it; it is opened again by its path.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Opens it, unless it is packed; returns false if its name is another file's by now.
    pub(super) fn open(&mut self) -> io::Result<bool> {
        if Packing::of(&self.path) != Packing::Plain {
            return Ok(true);
        }
        let file = File::open(&self.path)?;
        let is_it = FileId::of(&file.metadata()?) == self.id;
        self.open = is_it.then_some(file);
        Ok(is_it)
    }
}

/// A file, with the position reached in it.
pub(super) struct FollowedFile {
    /// The path where it was last.
    pub(super) path: PathBuf,
    pub(super) id: FileId,
    node: FileNode,
    /// The length at which it was last compared with the other files, of which it may be a copy.
    pub(super) compared: u64,
    /// True if it has a name among the files of the source, and its length when it was listed.
    pub(super) is_listed: bool,
    pub(super) listed_length: u64,
    /// True for the file that had the name of its log at the last look, and for the last one of a log that was away then.
    pub(super) is_log: bool,
    /// True if the last look has found it changed since it was begun or read, and the time of the last one that found it unchanged,
    /// or read what was cut from it.
    pub(super) is_touched: bool,
    pub(super) untouched_at: SystemTime,
    /// The time before the last look at its content, which has found it cut or not.
    pub(super) checked_at: SystemTime,
    /// True if it was cut and written anew, though it begins with what was read.
    pub(super) is_cut: bool,
    /// The time since which it has another text than was read.
    pub(super) rewritten: Option<Instant>,
    /// True once an input gap was reported for what may follow its few lines in another file.
    pub(super) is_doubted: bool,
    /// True if it had no name in any directory when it was read.
    is_removed: bool,
    pub(super) content: Content,
    /// Places that the reading came to.
    pub(super) trail: Trail,
    /// True once a line was read.
    pub(super) has_lines: bool,
    /// The time at which its first line was read, until what was cut from it before that is looked for.
    pub(super) first_read: Option<SystemTime>,
    /// The turn of the worker that reads its first chunk.
    turn: u64,
    text: ReaderText,
    /// The hash of the bytes read, where several processes compare it.
    hash: Option<Hash>,
    packing: Packing,
    /// The open file, if it is plain.
    open: Option<File>,
    /// True if it has another name than those of the source, and is opened under it where it grows.
    is_set_aside: bool,
    /// True if it was set aside, and has no name any more.
    has_lost_name: bool,
    /// The time of its last change when it was read.
    written: Option<SystemTime>,
    /// The length of a packed file when it was read, and the time of that.
    packed: Option<(u64, Instant)>,
    /// The time of the last change of a packed file when it was read, in nanoseconds.
    packed_at: u64,
    is_torn: bool,
    /// The length that was last reported to the other processes.
    reported: Option<u64>,
    /// The time at which it was last found to have grown.
    pub(super) grown: Instant,
    /// The time for which a file without a name is read on if it does not grow, since its writer may not have
    /// opened the new one yet. A packed file may end too soon for a part of it.
    patience: Duration,
}

impl FollowedFile {
    /// `name` is the name by which all processes know it.
    pub(super) fn new(found: FoundFile, name: &str, format: &TextFormat, hashes: bool) -> Self {
        let FoundFile { path, id, node, open, length, .. } = found;
        FollowedFile {
            packing: Packing::of(&path),
            path,
            id,
            node,
            compared: 0,
            is_listed: true,
            listed_length: length,
            is_log: false,
            is_touched: false,
            untouched_at: SystemTime::now(),
            checked_at: SystemTime::now(),
            is_cut: false,
            rewritten: None,
            is_doubted: false,
            is_removed: false,
            content: Content::new(format.comment()),
            trail: Trail::default(),
            has_lines: false,
            first_read: None,
            turn: first_turn(name),
            text: ReaderText::new(format),
            hash: hashes.then(Hash::new),
            open,
            is_set_aside: false,
            has_lost_name: false,
            written: None,
            packed: None,
            packed_at: 0,
            is_torn: false,
            reported: None,
            grown: Instant::now(),
            patience: format.sizes.patience,
        }
    }

    /// Returns the position of a restart, before the first line that was not dealt; `None` in the middle of a
    /// line that is too long.
    pub(super) fn position(&self, is_done: bool) -> Option<FilePosition> {
        let ahead = self.text.cutter.pending()?;
        let is_whole = self.packed.filter(|_| !self.is_torn && ahead == 0);
        Some(FilePosition {
            has_lines: self.has_lines,
            is_done,
            is_settled: is_done,
            packed: is_whole.map(|(length, _)| (length, self.packed_at)),
            ..self.content.position(ahead, self.path.clone(), self.node)
        })
    }

    /// Returns true if nothing more is expected of it, so that it may be removed: it is packed and was read to its end, or
    /// is a rotated log that has not changed for long, or one whose writer has gone on to the next file, as `younger` says:
    /// the number of later files of the log that have lines.
    pub(super) fn is_settled(&self, younger: usize, is_rotated: impl FnOnce() -> bool) -> bool {
        let is_old = || {
            let changed = self.written.and_then(|written| written.elapsed().ok());
            self.grown.elapsed() > self.patience || changed.is_some_and(|changed| changed > self.patience)
        };
        match self.packing {
            Packing::Plain => younger >= 2 || self.is_removed && younger == 1 || is_old() && is_rotated(),
            _ => self.packed.is_some() && !self.is_torn,
        }
    }

    /// Goes on behind content that a former run has read.
    pub(super) fn go_on(
        &mut self,
        content: Content,
        has_lines: bool,
        text: ReaderText,
        (facts, is_packed): (&Metadata, bool),
    ) {
        // All processes go on at the same place.
        self.hash = self.hash.take().map(|_| Hash::resumed(content.length()));
        (self.content, self.has_lines, self.text) = (self.content.going_on(content), has_lines, text);
        self.trail = Trail::resumed();
        if is_packed {
            (self.packed, self.packed_at) = (Some((facts.len(), Instant::now())), position::changed(facts));
        }
    }

    /// Returns true if it is there and has fewer bytes behind what was read than a file has that begins like it, so that the
    /// other one is no copy of it. One that was cut has other content.
    pub(super) fn ends_before(&self, rest: impl Read) -> io::Result<bool> {
        let Some((file, length)) = self.now()? else { return Ok(false) };
        if self.packing != Packing::Plain || !self.content.is_of(&file)? {
            return Ok(false);
        }
        let left = length.saturating_sub(self.content.length());
        Ok(io::copy(&mut rest.take(left + 1), &mut io::sink())? > left)
    }

    /// Returns true if it has these bytes behind what was read, to their end; `None` if it is gone.
    pub(super) fn goes_on_with(&self, mut rest: impl Read) -> io::Result<Option<bool>> {
        let Some((file, _)) = self.now()? else { return Ok(None) };
        let mut own = Positioned::at(&file, self.content.length());
        loop {
            let part = prefix(&mut rest, 64 << 10)?;
            if part.is_empty() || prefix(&mut own, part.len())? != part {
                return Ok(Some(part.is_empty()));
            }
        }
    }

    /// Returns true if it has no name any more, or, where it is `done`, another text.
    pub(super) fn is_gone(&self, is_done: bool) -> io::Result<bool> {
        Ok(match self.now()? {
            None => true,
            Some(_) if self.is_packed() => false,
            Some((file, _)) => file.metadata()?.nlink() == 0 || is_done && !self.content.is_of(&file)?,
        })
    }

    /// Returns true if the file at its place [takes over](Content::is_taken_over_by) its text.
    pub(super) fn is_taken_over(&self) -> io::Result<bool> {
        let file = self.now()?.filter(|_| self.content.is_strong());
        file.map_or(Ok(false), |(file, _)| self.content.is_taken_over_by(&file))
    }

    /// Returns true if it was cut and is written again with the text that it had, as `cp` writes a longer copy of the log
    /// over it: it is waited for, for some time. A hole of null bytes tells no text from another.
    pub(super) fn is_rewritten(&mut self) -> io::Result<bool> {
        let Some((file, _)) = self.now()?.filter(|_| self.content.is_strong()) else { return Ok(false) };
        let since = self.rewritten.get_or_insert_with(Instant::now).elapsed();
        Ok(match self.content.begins_again(&file)? {
            None => false,
            Some(true) => since < self.patience / TORN,
            Some(false) => since < self.patience / SETTLED,
        })
    }

    /// Returns true if the open file has a name somewhere; `None` if it is not open, and was not set aside.
    pub(super) fn is_linked(&self) -> io::Result<Option<bool>> {
        if self.open.is_none() && self.has_lost_name {
            return Ok(Some(false));
        }
        let linked = self.open.as_ref().map(|file| Ok(file.metadata()?.nlink() > 0));
        linked.transpose()
    }

    /// Returns true if it begins with the whole text of another file. Where what it had is gone, the places that the reading
    /// came to decide, and it is `None` if they cannot.
    pub(super) fn begins_with(&self, other: &Path) -> io::Result<Option<bool>> {
        match self.now()? {
            Some(_) if self.packing != Packing::Plain => Content::begins(other, &self.path).map(Some),
            Some((file, _)) if self.content.is_of(&file)? => {
                Content::is_prefix(other, &mut Positioned::at(&file, 0)).map(Some)
            }
            _ => self.trail.leads_to(other, self.content.comment()),
        }
    }

    /// Returns true if it has bytes that were not read.
    pub(super) fn has_more(&self) -> io::Result<bool> {
        if self.is_packed() {
            return Ok(self.packed.is_none() || self.is_torn);
        }
        Ok(self.now()?.is_some_and(|(_, length)| length > self.content.length()))
    }

    /// Notes what a look at its name has found, which began at this time.
    pub(super) fn look(&mut self, path: &Path, facts: &Metadata, began: SystemTime) {
        (self.is_listed, self.listed_length) = (true, facts.len());
        (self.path, self.is_set_aside, self.has_lost_name) = (path.to_owned(), false, false);
        let changed = facts.modified().ok();
        let is_recent = changed >= self.untouched_at.checked_sub(TICK);
        self.is_touched = match self.written {
            // A log without a line may have been cut after it was listed and before it was read.
            Some(written) => changed != Some(written) || !self.has_lines && is_recent,
            // It was begun, and has not been read yet.
            None => is_recent,
        };
        if !self.is_touched {
            self.untouched_at = began;
        }
    }

    /// The file itself and its length; `None` if it is neither open nor where it was.
    fn now(&self) -> io::Result<Option<(File, u64)>> {
        let file = match &self.open {
            Some(file) => file.try_clone()?,
            None => match File::open(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                file => file?,
            },
        };
        let facts = file.metadata()?;
        Ok((FileId::of(&facts) == self.id).then_some((file, facts.len())))
    }

    /// Goes on in another file, which begins with the content of this one.
    pub(super) fn move_to(&mut self, found: FoundFile) {
        (self.path, self.id, self.open, self.packed) = (found.path, found.id, found.open, None);
        self.node = found.node;
        (self.is_listed, self.listed_length) = (true, found.length);
        (self.is_set_aside, self.has_lost_name) = (false, false);
        self.packing = Packing::of(&self.path);
    }

    /// Opens it again under a name that is none of the source's.
    pub(super) fn reopen(&mut self, found: FoundFile) {
        (self.path, self.open, self.grown) = (found.path, found.open, Instant::now());
        (self.is_set_aside, self.has_lost_name) = (false, false);
    }

    /// Closes it under a name that is none of the source's, to be opened there where it grows; `None` if it has no name.
    pub(super) fn set_aside(&mut self, path: Option<&PathBuf>) {
        self.has_lost_name = path.is_none() && (self.is_set_aside || self.has_lost_name);
        (self.open, self.is_set_aside) = (None, path.is_some());
        if let Some(path) = path {
            self.path.clone_from(path);
        }
    }

    /// Returns true if it was [set aside](FollowedFile::set_aside), and has the same name now.
    pub(super) fn is_aside(&self) -> bool {
        self.is_set_aside && self.id.is_at(&self.path)
    }

    /// Ends it, and returns the file itself, whose new content begins anew.
    pub(super) fn give_up(&mut self) -> FoundFile {
        let now = || self.now().ok().flatten().map_or(self.content.length(), |(_, length)| length);
        let length = if self.is_listed { self.listed_length } else { now() };
        let FollowedFile { id, node, .. } = *self;
        let (path, changed, open) = (self.path.clone(), self.changed(), self.open.take());
        FoundFile { path, id, length, node, changed, is_finished: true, open }
    }

    /// The time of its last change when it was read, in nanoseconds.
    pub(super) fn changed(&self) -> u64 {
        self.written.map_or(self.packed_at, position::nanoseconds)
    }

    pub(super) fn is_packed(&self) -> bool {
        self.packing != Packing::Plain
    }

    /// Returns true if it is held open.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Closes it; it is opened again where it grows.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Returns true if it has grown within the time for which a file without a name is read on.
    pub(super) fn is_recent(&self) -> bool {
        self.grown.elapsed() <= self.patience
    }

    /// Returns true if nothing more is expected of it.
    pub(super) fn is_over(&self) -> bool {
        // The last file of a log tells which ones come next.
        let is_closed = self.open.is_none() && !self.is_set_aside;
        !self.is_listed && (is_closed && !self.is_log || self.grown.elapsed() > self.patience)
    }

    /// Its position and its digest there, for the other processes; `None` while it is incomplete.
    pub(super) fn report(&self, name: &str) -> Option<FileReport> {
        let hash = self.hash.as_ref().filter(|_| !self.is_torn)?;
        Some(hash.read(name.to_owned(), self.packing != Packing::Plain))
    }

    /// The report, if it was not made before.
    pub(super) fn new_report(&mut self, name: &str) -> Option<FileReport> {
        let report = self.report(name)?;
        (self.reported.replace(report.length) != Some(report.length)).then_some(report)
    }
}
