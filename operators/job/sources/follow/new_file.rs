//! New files of a path: what each of them is to the files that were read.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use super::SETTLED;
use super::content::Comparison;
use super::file::{FileId, FollowedFile, FoundFile};
use super::files::{FollowedPath, GENERATION, base_of, name_within};
use crate::job::rotation::{RotationName, is_rotated, siblings_of};
use crate::job::sources::bytes::Packing;

/// A file without a known identity.
pub(super) enum NewFile {
    /// It holds what was not read yet.
    Other,
    /// It holds what was read, and nothing else counts.
    Copy,
    /// It goes on behind what was read of this file.
    Continuation(String),
    /// What this file has must be read first.
    AfterReading(String),
    /// It may be a copy in the making.
    Undecided,
}

impl FollowedPath<'_> {
    /// Compares a new file with those that were read.
    pub(super) fn compare(&mut self, found: &FoundFile) -> io::Result<NewFile> {
        let (path, id, length) = (&found.path, found.id, found.length);
        let is_settled = {
            let (known, since) = self.undecided.entry(id).or_insert((length, Instant::now()));
            if *known != length {
                (*known, *since) = (length, Instant::now());
            }
            found.is_finished || since.elapsed() > self.format.sizes.patience / SETTLED
        };
        // A file that had another rotated name at the last look, as `a.log.1` before it is `a.log.2.gz`.
        let logs = self.logs_of(path);
        let is_of_one_log =
            |file: &FollowedFile| logs.iter().any(|log| RotationName::of(log, &file.path).is_some());
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        for (name, file) in self.known.iter().chain(done) {
            let has_its_name = file.path == *path;
            let is_sibling = is_rotated(&file.path, path)
                || is_rotated(Path::new(base_of(name)), path)
                || is_of_one_log(file);
            if !has_its_name && !is_sibling {
                continue;
            }
            if !file.has_lines {
                if is_sibling && file.has_more()? {
                    return Ok(NewFile::AfterReading(name.clone()));
                }
                continue;
            }
            // To unpack it again with each block that is added would take all of the time.
            if is_sibling && Packing::of(path) != Packing::Plain && !is_settled {
                return Ok(NewFile::Undecided);
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
                Comparison::Continues(rest) => {
                    if !file.ends_before(rest)? {
                        return Ok(NewFile::Copy);
                    }
                }
                // It may be in the making. If it is none, it will be longer, and another one.
                Comparison::Shorter if is_sibling && !is_settled => return Ok(NewFile::Undecided),
                // First bytes may be those of many files: all of it must be there.
                Comparison::Shorter if is_sibling => {
                    if file.begins_with(path)? {
                        return Ok(NewFile::Copy);
                    }
                }
                // A new log of the same name begins like the old one for as long as it is short.
                Comparison::Shorter | Comparison::Other => {}
            }
        }
        Ok(NewFile::Other)
    }

    /// Returns true if a file whose name another one has now is still there, under another name.
    fn is_elsewhere(&self, name: &str, file: &FollowedFile) -> io::Result<bool> {
        if let Some(is_linked) = file.is_linked()? {
            return Ok(is_linked);
        }
        let paths = siblings_of(&self.base(name, &file.path));
        Ok(paths.iter().any(|path| fs::metadata(path).is_ok_and(|facts| FileId::of(&facts) == file.id)))
    }

    /// Adds a file, unless it holds what was read already.
    pub(super) fn add(&mut self, mut found: FoundFile, decided: NewFile) -> io::Result<()> {
        if matches!(decided, NewFile::Undecided | NewFile::AfterReading(_)) || !found.open()? {
            return Ok(());
        }
        self.undecided.remove(&found.id);
        match decided {
            NewFile::Undecided | NewFile::AfterReading(_) => {}
            NewFile::Copy => _ = self.copies.insert(found.id, found.length),
            NewFile::Continuation(name) => {
                // One that was away for long is done, and goes on.
                if let Some(at) = self.done.iter().position(|done| done.name == name) {
                    let back = self.done.remove(at);
                    self.known.extend(back.map(|done| (done.name, done.file)));
                }
                if let Some(file) = self.known.get_mut(&name) {
                    file.move_to(found);
                }
            }
            NewFile::Other => _ = self.begin(&name_within(self.path, &found.path), found),
        }
        Ok(())
    }

    /// Begins a file from its start; returns its name.
    pub(super) fn begin(&mut self, base: &str, found: FoundFile) -> String {
        let generation = self.generations.entry(base.to_owned()).or_default();
        let name = if *generation == 0 { base.to_owned() } else { format!("{base}{GENERATION}{generation}") };
        *generation += 1;
        let mut file = FollowedFile::new(found, &name, self.format, self.is_shared);
        file.is_log = file.path == self.base(&name, &file.path);
        self.known.insert(name.clone(), file);
        name
    }
}
