//! New files of a path: what each of them is to the files that were read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::SETTLED;
use super::content::{Comparison, Content, prefix};
use super::file::{FileId, FollowedFile, FoundFile};
use super::files::{FollowedPath, GENERATION, base_of, name_within};
use crate::job::rotation::{RotationName, is_rotated};
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::Packing;
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::reader::{ReadStop, unreadable};

/// A file without a known identity.
pub(super) enum NewFile {
    /// It holds what was not read yet.
    Other,
    /// It holds what was read, and nothing else counts.
    Copy,
    /// It holds the beginning of what was read.
    Beginning,
    /// It goes on behind what was read of this file.
    Continuation(String),
    /// What this file has must be read first.
    AfterReading(String),
    /// It may be a copy in the making.
    Undecided,
}

impl FollowedPath<'_> {
    /// Adds new files, of each log the oldest first; one that comes after an undecided file of its log waits for that.
    pub(super) fn add_new(
        &mut self,
        new: Vec<FoundFile>,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        if new.is_empty() {
            return Ok(());
        }
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        let known: BTreeSet<PathBuf> =
            self.known.iter().chain(done).map(|(name, file)| self.base(name, &file.path)).collect();
        let place = |found: FoundFile| {
            let own = name_within(self.path, &found.path);
            let (log, age) = self.age(&own, &found.path);
            // Its rotated files are known by it while it is away.
            if log == found.path {
                self.generations.entry(own.clone()).or_default();
            }
            // An earlier file of the log may have had the rotated name before: a later one has the next number of the log.
            let name = if known.contains(&log) { name_within(self.path, &log) } else { own };
            (log, age, name, found)
        };
        let mut new: Vec<_> = new.into_iter().map(place).collect();
        new.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        self.read_known(&new.iter().map(|(log, ..)| log).collect(), dealer, progress)?;
        let without_lines = self.without_lines();
        let mut waited_for = None;
        for (log, _, name, found) in new {
            if waited_for.as_ref() == Some(&log) {
                self.is_calm(&found);
                continue;
            }
            let place = found.path.display().to_string();
            let mut decided = self.compare(&found);
            // Each file once, at most.
            for _ in 0..self.known.len() {
                let Ok(NewFile::AfterReading(name)) = &decided else { break };
                let name = name.clone();
                self.read_file(&name, u64::MAX, dealer, progress)?;
                decided = self.compare(&found);
            }
            // What a log without a line gets comes after it, unless it is a copy of that.
            let empty = self.empty_log(&log).filter(|_| found.path != log);
            if matches!(decided, Ok(NewFile::Undecided | NewFile::AfterReading(_))) {
                if found.path != log {
                    self.hold_back(&without_lines, Some(&log));
                }
                waited_for = Some(log);
                continue;
            }
            let empty = empty.filter(|_| matches!(decided, Ok(NewFile::Other)));
            let first = (found.path == log && !known.contains(&log)).then_some(found.changed);
            match decided.and_then(|decided| self.add(&name, found, decided)) {
                // It was renamed or removed since, and is undecided until the next look.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    waited_for = Some(log.clone());
                    self.unopened.extend(first.map(|changed| (log, changed)));
                }
                Err(error) => return Err(unreadable(&place, &error).into()),
                Ok(()) => _ = empty.map(|empty| self.begin_later(empty)),
            }
        }
        Ok(())
    }

    /// Returns true if a new file has not grown for some time; until it is added, it is undecided.
    fn is_calm(&mut self, found: &FoundFile) -> bool {
        let (known, since) = self.undecided.entry(found.id).or_insert((found.length, Instant::now()));
        if *known != found.length {
            (*known, *since) = (found.length, Instant::now());
        }
        since.elapsed() > self.format.sizes.patience / SETTLED
    }

    /// Compares a new file with those that were read.
    fn compare(&mut self, found: &FoundFile) -> io::Result<NewFile> {
        let (path, id) = (&found.path, found.id);
        let is_calm = self.is_calm(found);
        let is_settled = is_calm || found.is_finished;
        // A file that had another rotated name at the last look, as `a.log.1` before it is `a.log.2.gz`.
        let logs = self.logs_of(path);
        if !logs.is_empty() && is_settled && self.has_text_of_passed(path)? {
            return Ok(NewFile::Copy);
        }
        let is_of_one_log =
            |file: &FollowedFile| logs.iter().any(|log| RotationName::of(log, &file.path).is_some());
        let known = self.known.iter().map(|(name, file)| (name, file, false));
        let done = self.done.iter().map(|done| (&done.name, &done.file, true));
        // Read once: of a thousand rotated files, most begin otherwise. One in the making has no beginning yet.
        let is_whole = Packing::of(path) == Packing::Plain || is_settled;
        let beginning = is_whole.then(|| Content::beginning(path, self.format.comment()).ok()).flatten();
        let (mut doubt, mut is_like_gone) = (None, false);
        for (name, file, is_done) in known.chain(done) {
            let has_its_name = file.path == *path;
            let differs = || beginning.as_ref().is_some_and(|beginning| file.content.differs_from(beginning));
            if file.has_lines && !has_its_name && differs() {
                continue;
            }
            let is_sibling = is_rotated(&file.path, path)
                || is_rotated(Path::new(base_of(name)), path)
                || is_of_one_log(file);
            if !has_its_name && !is_sibling {
                continue;
            }
            // To unpack it again with each block that is added would take all of the time.
            if is_sibling && Packing::of(path) != Packing::Plain && !is_settled {
                return Ok(NewFile::Undecided);
            }
            if !file.has_lines {
                // What came to a log without a line came after another file, unless that is a copy of it.
                let is_log = file.is_log && self.empty_log(&file.path).as_ref() == Some(name);
                if is_sibling && file.has_more()? && (!is_log || self.is_beginning_of(&file.path, path)?) {
                    return Ok(NewFile::AfterReading(name.clone()));
                }
                continue;
            }
            match file.content.compare(path)? {
                // The next log may begin with what was read of the one before, as long as that is little.
                Comparison::Continues(_)
                    if has_its_name && file.id != id && self.is_elsewhere(name, file)? =>
                {
                    if file.has_more()? {
                        return Ok(NewFile::AfterReading(name.clone()));
                    }
                    if file.content.is_strong() {
                        return Ok(NewFile::Continuation(name.clone()));
                    }
                }
                Comparison::Continues(_) if has_its_name => return Ok(NewFile::Continuation(name.clone())),
                // What was read of it has gone on in another file, as where `rsync` follows a rotation of what it copies.
                Comparison::Continues(mut rest) if file.is_gone(is_done)? => {
                    // Through its handle to the end: its writer may not have opened the next one.
                    if !is_done && file.has_more()? {
                        return Ok(NewFile::AfterReading(name.clone()));
                    }
                    if prefix(&mut rest, 1)?.is_empty() || self.is_known_text(file, path)? {
                        return Ok(NewFile::Copy);
                    }
                    if file.content.is_strong() {
                        return Ok(NewFile::Continuation(name.clone()));
                    }
                    doubt = Some("it begins with the few lines of a file that is gone, and may be the same");
                }
                Comparison::Continues(rest) => {
                    if !file.ends_before(rest)? {
                        // The log may go on, and be cut.
                        return Ok(if file.is_log { NewFile::Beginning } else { NewFile::Copy });
                    }
                    // The one that it begins with may leave for it.
                    if file.content.is_strong() && !is_calm {
                        return Ok(NewFile::Undecided);
                    }
                }
                Comparison::Shorter | Comparison::Other
                    if has_its_name
                        && file.is_log
                        && file.id != id
                        && self.takes_over(name, file, path)? =>
                {
                    doubt = Some(
                        "it was written anew under its name, and lines that were read may be in it again",
                    );
                }
                // It may be in the making. If it is none, it will be longer, and another one.
                Comparison::Shorter if is_sibling && !is_settled => return Ok(NewFile::Undecided),
                // First bytes may be those of many files: all of it must be there.
                Comparison::Shorter if is_sibling => match file.begins_with(path)? {
                    Some(true) => return Ok(NewFile::Beginning),
                    Some(false) => {}
                    // Another one may tell.
                    None => is_like_gone = true,
                },
                // A new log of the same name begins like the old one for as long as it is short.
                Comparison::Shorter | Comparison::Other => {}
            }
        }
        // What comes to an empty file is compared when it comes.
        if is_like_gone && found.length == 0 {
            return Ok(NewFile::Copy);
        }
        let is_like = "it begins like a file that is gone, and may have lines that were read";
        let doubt = doubt.or(is_like_gone.then_some(is_like));
        self.lost.extend(doubt.map(|why| format!("{}: {why}", path.display())));
        Ok(NewFile::Other)
    }

    /// Returns true if a file that has the name of a log now takes over its text, and the one that was it is gone.
    fn takes_over(&self, name: &str, file: &FollowedFile, path: &Path) -> io::Result<bool> {
        Ok(Packing::of(path) == Packing::Plain
            && file.content.is_strong()
            && file.content.is_taken_over_by(&File::open(path)?)?
            && !self.is_elsewhere(name, file)?
            && self.packed_beside(file, &self.base(name, &file.path)).is_none())
    }

    /// The file beside a log that has the text which a file of it had; or the beginning of that, if it is packed: lines may
    /// have been written afterwards.
    pub(super) fn packed_beside(&self, file: &FollowedFile, log: &Path) -> Option<PathBuf> {
        let has_text = |path: &PathBuf| -> io::Result<bool> {
            Ok(match file.content.compare(path)? {
                Comparison::Continues(_) => true,
                // The next file of the log may have no more yet than the lines with which all of them begin.
                Comparison::Shorter => {
                    Packing::of(path) != Packing::Plain
                        && !self.has(FileId::of(&fs::metadata(path)?))
                        && Content::beginning(path, self.format.comment())?.is_strong()
                        && file.begins_with(path)? == Some(true)
                }
                Comparison::Other => false,
            })
        };
        // One that cannot be read is in the making, or has another name.
        siblings_of(log).into_iter().find(|path| has_text(path).unwrap_or(false))
    }

    /// Returns true if a file whose name another one has now is still there, under another name.
    fn is_elsewhere(&self, name: &str, file: &FollowedFile) -> io::Result<bool> {
        if let Some(is_linked) = file.is_linked()? {
            return Ok(is_linked);
        }
        let paths = siblings_of(&self.base(name, &file.path));
        Ok(paths.iter().any(|path| file.id.is_at(path)))
    }

    /// Adds a file, unless it holds what was read already.
    fn add(&mut self, name: &str, mut found: FoundFile, decided: NewFile) -> io::Result<()> {
        if !found.open()? {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.undecided.remove(&found.id);
        match decided {
            NewFile::Undecided | NewFile::AfterReading(_) => {}
            NewFile::Copy => _ = self.copies.insert(found.id, found.length),
            NewFile::Beginning => {
                self.pass_over(&found)?;
                self.copies.insert(found.id, found.length);
            }
            NewFile::Continuation(name) => {
                // One that was away for long is done, and goes on.
                self.follow_again(&name);
                if let Some(file) = self.known.get_mut(&name) {
                    file.move_to(found);
                    self.count_opened(1);
                }
            }
            NewFile::Other => _ = self.begin_untouched(name, found, self.listed_at),
        }
        Ok(())
    }

    /// The file that has the name of a log and no line.
    pub(super) fn empty_log(&self, log: &Path) -> Option<String> {
        let id = FileId::of(&fs::metadata(log).ok()?);
        let mut known = self.known.iter();
        known
            .find(|(_, file)| file.id == id && !file.has_lines && !file.is_packed())
            .map(|(name, _)| name.clone())
    }

    /// Begins a file without a line again, after those that have come since; returns its name.
    pub(super) fn begin_later(&mut self, name: String) -> String {
        let Some(mut file) = self.known.remove(&name) else { return name };
        self.begin_untouched(base_of(&name), file.give_up(), file.untouched_at)
    }

    /// Begins a file that was last found unchanged some time ago: it may be cut again before it is read.
    pub(super) fn begin_untouched(&mut self, base: &str, found: FoundFile, at: SystemTime) -> String {
        let name = self.begin(base, found);
        if let Some(file) = self.known.get_mut(&name) {
            file.untouched_at = at;
        }
        name
    }

    /// Begins a file from its start; returns its name.
    pub(super) fn begin(&mut self, base: &str, found: FoundFile) -> String {
        let generation = self.generations.entry(base.to_owned()).or_default();
        let name = if *generation == 0 { base.to_owned() } else { format!("{base}{GENERATION}{generation}") };
        *generation += 1;
        let mut file = FollowedFile::new(found, &name, self.format, self.is_shared);
        file.is_log = file.path == self.base(&name, &file.path);
        let is_open = file.is_open();
        self.known.insert(name.clone(), file);
        self.count_opened(usize::from(is_open));
        name
    }
}
