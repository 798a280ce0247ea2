//! Rotations between two looks at a log: of several, the path has no name of the files between.
//!
//! The looks are a tenth of a second apart, unless the process was stopped or the machine stood still. A file that was
//! the log at the last look and has another name now tells where the others begin; one that is gone tells nothing, and
//! after a long time without a look there is an input gap.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::content::{Comparison, prefix};
use super::file::{FileId, FollowedFile};
use super::files::{FollowedPath, is_named_by};
use super::position::FileNode;
use super::resume::Reference;
use super::within::less_a_tick;
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::Packing;
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::ReadStop;

/// The time without a look within which several rotations may have come, and the files of all but the last be gone.
pub(super) const LONG: Duration = Duration::from_secs(1);

/// A log whose file has another name, or none, since the last look.
struct RenamedLog {
    log: PathBuf,
    /// The file under its new name; `None` if it has none.
    renamed: Option<Reference>,
    /// True if the next file of the log is known.
    has_next: bool,
    /// True if nothing more was expected of the file.
    is_settled: bool,
}

impl FollowedPath<'_> {
    /// The time of the look before this one, less a step of the file system.
    pub(super) fn last_look(&self) -> u64 {
        less_a_tick(self.looked_at)
    }

    /// Reads the files that came and were rotated since the last look, which was `unseen` ago.
    pub(super) fn read_missed(
        &mut self,
        unseen: Duration,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        for why in std::mem::take(&mut self.lost) {
            self.gap(&why);
        }
        // With what the renamed files have themselves, the copies of that are known.
        let is_renamed = |file: &FollowedFile| {
            !file.is_listed && (file.is_open() || file.is_aside()) && (file.has_lines || !file.is_log)
        };
        if self.known.values().any(is_renamed) {
            for name in self.reading_order() {
                if self.known.get(&name).is_some_and(is_renamed) {
                    self.read_file(&name, u64::MAX, dealer, progress)?;
                }
            }
        }
        // No file of the log is known that tells where they begin.
        for (log, since) in std::mem::take(&mut self.unopened) {
            let read = |files: &mut Self| files.read_changed_since(&log, since, (dealer, progress));
            let doubts = self.steadily_beside(&log, read)?;
            doubts.iter().for_each(|why| self.gap(why));
        }
        for why in self.read_behind_empty(dealer, progress)? {
            self.gap(&why);
        }
        for why in self.read_gone(dealer)? {
            self.gap(&why);
        }
        for RenamedLog { log, renamed, has_next, is_settled } in self.renamed(unseen) {
            let Some(newest) = renamed else {
                if !has_next {
                    // What came after it is known by its time alone.
                    let since = self.last_look();
                    let read = |files: &mut Self| files.read_changed_since(&log, since, (dealer, progress));
                    let doubts = self.steadily_beside(&log, read)?;
                    doubts.iter().for_each(|why| self.gap(why));
                }
                if unseen > LONG && !is_settled {
                    let place = log.display();
                    let why = format!(
                        "{place}: nobody looked for {} s, and the file that it was is gone; others may have come and gone since",
                        unseen.as_secs()
                    );
                    self.gap(&why);
                }
                continue;
            };
            let read = |files: &mut Self| files.between(&log, Some(&newest), None, (dealer, progress));
            let doubts = self.steadily_beside(&log, read)?;
            doubts.iter().for_each(|why| self.gap(why));
        }
        Ok(())
    }

    /// Reads what came to a log without a line since it was last found so, and was rotated since: nothing in the file tells
    /// that it was cut, or which of the others came after it. Returns the doubts.
    fn read_behind_empty(
        &mut self,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<Vec<String>, ReadStop> {
        let is_due = |file: &FollowedFile| {
            file.is_log && !file.has_lines && !file.is_packed() && (!file.is_listed || file.is_touched)
        };
        let due = self.known.iter().filter(|(_, file)| is_due(file)).map(|(name, file)| {
            let log = self.base(name, &file.path);
            // Where the path names it, it is read in its turn.
            let is_rotated = !file.is_listed && self.empty_log(&log).as_ref() != Some(name);
            (name.clone(), log, is_rotated, file.untouched_at)
        });
        let due: Vec<(String, PathBuf, bool, SystemTime)> = due.collect();
        // What came to the files before it comes before its own lines, and had come when it was renamed.
        for name in if due.is_empty() { Vec::new() } else { self.reading_order() } {
            if due.iter().all(|(due, ..)| *due != name) {
                self.read_file(&name, self.listed_end(&name), dealer, progress)?;
            }
        }
        let mut doubts = Vec::new();
        for (name, log, is_rotated, since) in due {
            // Under a rotated name, it may come before others; with what it has itself, the copies of that are known.
            if is_rotated {
                self.read_file(&name, u64::MAX, dealer, progress)?;
            }
            let read =
                |files: &mut Self| files.read_changed_since(&log, less_a_tick(since), (dealer, progress));
            doubts.extend(self.steadily_beside(&log, read)?);
            if let Some(file) = self.known.get_mut(&name) {
                file.untouched_at = self.listed_at;
            }
        }
        Ok(doubts)
    }

    /// Reads what files beside the logs have of those that are gone and were not read to their ends, as where `rsync`
    /// follows a rotation of what it copies.
    /// Returns the doubts.
    fn read_gone(&mut self, dealer: &mut Dealer) -> Result<Vec<String>, ReadStop> {
        let since = self.last_look();
        let mut doubts = Vec::new();
        let is_due = |file: &FollowedFile, is_done: bool| {
            let is_new = if is_done { file.is_recent() } else { !file.is_listed };
            let is_read = is_new && file.has_lines && !file.is_packed() && !file.is_doubted;
            is_read && matches!(file.is_gone(is_done), Ok(true))
        };
        let known = self.known.iter().map(|(name, file)| (name, file, false));
        let done = self.done.iter().map(|done| (&done.name, &done.file, true));
        let due: Vec<(String, PathBuf)> = known
            .chain(done)
            .filter(|(_, file, is_done)| is_due(file, *is_done))
            .map(|(name, file, _)| (name.clone(), self.base(name, &file.path)))
            .collect();
        for (name, log) in due {
            for path in siblings_of(&log) {
                let Ok(facts) = fs::metadata(&path) else { continue };
                let is_packed = Packing::of(&path) != Packing::Plain;
                let Some(file) = self.file(&name) else { break };
                let may_have = match is_packed {
                    true => FileNode::of(&facts).born() >= since,
                    false => facts.len() > file.content.length(),
                };
                if !may_have || self.has(FileId::of(&facts)) || is_named_by(self.path, &path) {
                    continue;
                }
                // One that cannot be read is in the making, or has another name.
                if let Ok(Comparison::Continues(mut rest)) = file.content.compare(&path)
                    && let Ok(first) = prefix(&mut rest, 1)
                    && !first.is_empty()
                    && matches!(self.is_known_text(file, &path), Ok(false))
                {
                    let rest = io::Cursor::new(first).chain(rest);
                    let Some(file) = self.file_mut(&name) else { break };
                    // The few lines of a short file may be those with which another one begins.
                    if !file.content.is_strong() {
                        file.is_doubted = true;
                        doubts.push(format!(
                            "{}: it begins with the few lines of a file that is gone, and may be the same",
                            path.display()
                        ));
                        break;
                    }
                    let before = file.content.length();
                    file.read_copy(rest, dealer)?;
                    // The file itself has less than that.
                    if file.content.length() > before {
                        file.close();
                    }
                }
            }
        }
        Ok(doubts)
    }

    /// Returns the rotated path that a file of a log has by now: it may be packed, without the lines that came to it since.
    pub(super) fn rotated_path(&self, log: &Path, name: &str, id: FileId) -> Option<PathBuf> {
        let is_it = |path: &Path| id.is_at(path);
        if is_it(log) {
            return None;
        }
        let packed = || {
            let file = self.file(name)?;
            self.copy_of(file, log).0.or_else(|| self.packed_beside(file, log))
        };
        siblings_of(log).into_iter().find(|path| is_it(path)).or_else(packed)
    }

    /// Returns the logs whose file has another name, or none, since this was asked last.
    fn renamed(&mut self, unseen: Duration) -> Vec<RenamedLog> {
        let logs: Vec<(String, PathBuf)> =
            self.known.iter().map(|(name, file)| (name.clone(), self.base(name, &file.path))).collect();
        let is_at = |file: &FollowedFile, log: &PathBuf| file.is_listed && file.path == *log;
        let current =
            logs.iter().filter(|(name, log)| self.known.get(name).is_some_and(|file| is_at(file, log)));
        let current: BTreeSet<PathBuf> = current.map(|(_, log)| log.clone()).collect();
        let mut left = Vec::new();
        for (name, log) in logs {
            let Some(file) = self.known.get_mut(&name) else { continue };
            let is_log = is_at(file, &log);
            let was_log = std::mem::replace(&mut file.is_log, is_log);
            if was_log && !is_log {
                // Until the next file of the log is known: it may be renamed before it is opened.
                file.is_log = !current.contains(&log);
                if file.has_lines {
                    left.push((name, file.id, log));
                }
            }
        }
        let settled = if unseen > LONG { self.settled() } else { BTreeSet::new() };
        let mut renamed = Vec::new();
        for (name, id, log) in left {
            let found = self.rotated_path(&log, &name, id);
            // It is between two names of a rotation, where it has one.
            let is_removed =
                self.known.get(&name).is_some_and(|file| matches!(file.is_linked(), Ok(Some(false))));
            if found.is_none() && !log.exists() && !is_removed && unseen <= LONG {
                continue;
            }
            let reference = found.and_then(|path| Reference::of(&name, &path));
            let has_next = current.contains(&log);
            let is_settled = settled.contains(&name);
            to_operator!(DEBUG, "file rotated", has_next, "a file of the input has another name, or none");
            renamed.push(RenamedLog { log, renamed: reference, has_next, is_settled });
        }
        renamed
    }
}
