//! The restart of a run: each file is gone on with where the former run was, and the files that came and were
//! rotated while nobody read are read in between.
//!
//! Everything that unsettled windows need lies behind the positions. So a rotated file may be read again: its
//! records are late. What must not happen is that a file with lines that nobody has read is passed over, or
//! that a copy of what is read counts as well. Where neither can be excluded, there is an input gap.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::{Comparison, Content, STRONG, prefix};
use super::file::{FileId, FollowedFile, FoundFile};
use super::files::{FollowedPath, base_of, generation_of, name_within, present};
use super::found::{Found, Search, Wanted, assign, found};
use super::names::{RotationName, logs_of, name_of, siblings_of};
use super::position::{FilePosition, ReachedMark, changed, read_seen};
use crate::dataflow::SourceError;
use crate::gate::Positions;
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::milestones::joined;
use crate::job::sources::reader::{ReadStop, ReaderText, TextFormat, unreadable};

/// A file of a log to which the former run had come.
struct Reference {
    generation: u64,
    path: PathBuf,
    changed: u64,
}

/// What is known of a log after the search.
#[derive(Default)]
struct FoundLog {
    /// The newest of its files that was found.
    newest: Option<Reference>,
    /// The number of its newest file, and true if that is where it was, without a rotation since.
    last: u64,
    is_current: bool,
    /// True if a file of it was not found, so that its open windows are skipped.
    has_gap: bool,
}

/// The likeness of a rotated file to those that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// It holds other lines.
    None,
    /// It holds what another one holds, and nothing else.
    Copy,
    /// It begins as another one does, and may be its copy.
    Doubt,
}

impl FollowedPath<'_> {
    /// Goes on where a former run was. Returns false if lines may be lost that no run has read.
    pub(super) fn resume(
        &mut self,
        former: &[Positions],
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        let mut positions = joined(former, FilePosition::read, FilePosition::resumed_at);
        let reached = joined(former, ReachedMark::read, |mark| mark.offset);
        let reached: BTreeMap<String, ReachedMark> = reached
            .into_iter()
            .filter_map(|(name, mark)| Some((ReachedMark::file_of(&name)?.to_owned(), mark)))
            .collect();
        let seen = joined(former, read_seen, |seen| *seen).into_iter().next().map(|(_, seen)| seen);
        let (mut is_whole, mut logs) = (true, BTreeMap::<PathBuf, FoundLog>::new());
        let known = positions.len() + reached.len() + usize::from(seen.is_some());
        if let [only] = former
            && only.len() > known
        {
            let why = "positions in the ledger are of another version of the program";
            self.gap(&mut is_whole, why);
        }
        self.reported = positions.iter().cloned().collect();
        // Files that still grow choose first, and of these the one of which most was read.
        positions.sort_by_key(|(_, position)| (position.is_done, std::cmp::Reverse(position.offset)));
        let there = present(self.path)?;
        let mut wanted = Vec::new();
        for (name, position) in positions {
            let generation = generation_of(&name) + 1;
            let known = self.generations.entry(base_of(&name).to_owned()).or_default();
            *known = generation.max(*known);
            let base = self.base(&name, &position.path);
            let log = logs.entry(base.clone()).or_default();
            log.last = log.last.max(generation);
            // Any other file may begin like one without a line.
            if position.has_lines {
                let mark = reached.get(&name).cloned();
                wanted.push(Wanted::new((name, position), base, mark, &there, progress)?);
            }
        }
        let mut searched = assign(&wanted, seen);
        for Wanted { name, position, base, .. } in wanted {
            let place = position.path.display();
            let found = match searched.remove(&name) {
                Some(Search::Found(candidate)) => {
                    if !candidate.is_whole {
                        self.gap(
                            &mut is_whole,
                            &format!("{place}: lines are gone that the last run has read"),
                        );
                    }
                    found(&position, &candidate.path, progress)
                        .map_err(|error| unreadable(&candidate.path.display().to_string(), &error))?
                }
                Some(Search::Doubt(other)) => {
                    let why = format!(
                        "{place}: several files may be the one that was read, or {} is a new one that begins with the \
                         same lines",
                        other.display()
                    );
                    self.gap(&mut is_whole, &why);
                    logs.entry(base).or_default().has_gap = true;
                    continue;
                }
                _ => None,
            };
            let Some(found) = found else {
                if !position.is_done && !position.is_settled {
                    let why = format!(
                        "{place}: no file holds what was read of it; it was removed, cut or changed before the place that \
                         was reached"
                    );
                    self.gap(&mut is_whole, &why);
                    logs.entry(base).or_default().has_gap = true;
                }
                continue;
            };
            let log = logs.entry(base.clone()).or_default();
            let generation = generation_of(&name) + 1;
            if log.newest.as_ref().is_none_or(|newest| newest.generation < generation) {
                let (path, changed) = (found.file.path.clone(), changed(&found.facts));
                log.is_current = path == base && generation == log.last;
                log.newest = Some(Reference { generation, path, changed });
            }
            self.go_on(name, &position, found, dealer, progress)?;
        }
        // What was read before is compared as a whole with what comes.
        let names: Vec<String> = self.known.keys().cloned().collect();
        for name in names {
            self.read_file(&name, u64::MAX, dealer, progress)?;
        }
        for (path, log) in &logs {
            if !log.is_current && !log.has_gap {
                self.between(path, log.newest.as_ref(), seen, &mut is_whole, (dealer, progress))?;
            }
        }
        if let Some(seen) = seen {
            self.departed(&logs.into_keys().collect(), seen, &mut is_whole, (dealer, progress))?;
        }
        Ok(is_whole)
    }

    /// Notes an input gap, with its reason for the operator.
    fn gap(&self, is_whole: &mut bool, why: &str) {
        *is_whole = false;
        self.survey.warn(&format!("{why}; windows that were open are skipped as an input gap"));
    }

    /// Returns the path that a file had before it was rotated, from its name and the path where it was last.
    fn base(&self, name: &str, path: &Path) -> PathBuf {
        match Path::new(base_of(name)).file_name() {
            Some(name) => path.with_file_name(name),
            None => self.path.to_owned(),
        }
    }

    fn has(&self, id: FileId) -> bool {
        self.known.values().chain(self.done.iter().map(|done| &done.file)).any(|file| file.id == id)
    }

    /// Takes up a file at its position.
    fn go_on(
        &mut self,
        name: String,
        position: &FilePosition,
        found: Found,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let Found { file, mut content, facts, mut rest } = found;
        let place = file.path.display().to_string();
        let is_packed = Packing::of(&file.path) != Packing::Plain;
        if position.is_from_start {
            content = Content::default();
            if is_packed {
                let lost = |error: io::Error| unreadable(&place, &error);
                rest = Some(bytes::of_file(&file.path, progress).map_err(lost)?);
            }
        }
        let grew = !is_packed && facts.len() > content.length();
        let text = resumed_text(&file.path, self.format, content.length())?;
        let mut followed = FollowedFile::new(file, &name, self.format, self.accord.is_some());
        let has_lines = position.has_lines && !position.is_from_start;
        followed.go_on(content, has_lines, text, (&facts, is_packed));
        if let Some(rest) = rest.filter(|_| !position.is_done) {
            followed.read_copy(rest, dealer)?;
        }
        if position.is_done && !grew || is_packed && !present(self.path)?.contains(&PathBuf::from(&place)) {
            followed.close();
            self.remember(name, followed);
        } else {
            followed.is_listed = false;
            self.known.insert(name, followed);
        }
        Ok(())
    }

    /// Reads the files that a rotation has put between the newest file that was found and the one that now has its
    /// name.
    fn between(
        &mut self,
        log: &Path,
        newest: Option<&Reference>,
        seen: Option<u64>,
        is_whole: &mut bool,
        reader: (&mut Dealer, &Arc<Progress>),
    ) -> Result<(), ReadStop> {
        let known = newest.and_then(|newest| RotationName::of(log, &newest.path));
        let since = newest.map(|newest| newest.changed).into_iter().chain(seen).min().unwrap_or(0);
        let mut later = Vec::new();
        for (path, facts) in self.unread(siblings_of(log))? {
            let Some(name) = RotationName::of(log, &path) else { continue };
            let order = known.as_ref().and_then(|known| known.order(&name));
            let is_like = known.as_ref().is_some_and(|known| known.is_like(&name));
            let changed = changed(&facts);
            let is_older = match (order, newest) {
                (Some(Ordering::Less), _) => false,
                // Some programs number files from the oldest one on: only both together are sure.
                (Some(_), Some(newest)) => changed < newest.changed,
                _ => changed < since,
            };
            let lost = |error: io::Error| unreadable(&path.display().to_string(), &error);
            if is_older {
                continue;
            }
            if order.is_none() && !is_like {
                if self.likeness(log, &path).map_err(lost)? == Likeness::Copy {
                    continue;
                }
                let why = format!(
                    "{}: whether it was rotated before or after what was read cannot be told from its name",
                    path.display()
                );
                self.gap(is_whole, &why);
                continue;
            }
            later.push((name, changed, path));
        }
        later.sort_by(|one, other| {
            one.0.order(&other.0).unwrap_or(one.1.cmp(&other.1)).then(one.2.cmp(&other.2))
        });
        let paths = later.into_iter().map(|(_, _, path)| path).collect();
        self.read_between(log, paths, is_whole, reader)
    }

    /// Reads the files that came and lost a name of the pattern while no run read, or before one had written a
    /// position.
    fn departed(
        &mut self,
        logs: &BTreeSet<PathBuf>,
        seen: u64,
        is_whole: &mut bool,
        (dealer, progress): (&mut Dealer, &Arc<Progress>),
    ) -> Result<(), ReadStop> {
        let Some(pattern) = self.path.to_str().filter(|_| !self.path.exists()) else { return Ok(()) };
        let Ok(pattern) = glob::Pattern::new(pattern) else { return Ok(()) };
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directories = directory.unwrap_or(Path::new(".")).to_string_lossy().into_owned();
        let mut of_log: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for directory in glob::glob(&directories).into_iter().flatten().flatten() {
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            let paths = entries.flatten().map(|entry| match self.path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => entry.path(),
                _ => PathBuf::from(entry.file_name()),
            });
            for (path, facts) in self.unread(paths.collect())? {
                if changed(&facts) < seen || pattern.matches_path(&path) {
                    continue;
                }
                let names = name_of(&path).map(|name| logs_of(&name).collect::<Vec<_>>());
                let log = names.into_iter().flatten().map(|name| path.with_file_name(name)).find(|log| {
                    pattern.matches_path(log) && RotationName::of(log, &path).is_some() && !logs.contains(log)
                });
                if let Some(log) = log {
                    of_log.entry(log).or_default().push(path);
                }
            }
        }
        for (log, mut paths) in of_log {
            let name = |path: &PathBuf| RotationName::of(&log, path);
            if let Some(other) = paths.iter().find(|path| name(path).is_some_and(|name| name.has_word)) {
                let why = format!("{}: it may hold lines that no run has read", other.display());
                self.gap(is_whole, &why);
                continue;
            }
            paths.sort_by(|one, other| {
                let order = name(one).zip(name(other)).and_then(|(one, other)| one.order(&other));
                order.unwrap_or(Ordering::Equal).then(one.cmp(other))
            });
            self.read_between(&log, paths, is_whole, (dealer, progress))?;
        }
        Ok(())
    }

    /// Returns the files of these that no position has and that the path does not name; not those that are the packed
    /// half of a pair.
    fn unread(&self, mut paths: Vec<PathBuf>) -> Result<Vec<(PathBuf, Metadata)>, SourceError> {
        let there: BTreeSet<PathBuf> = present(self.path)?.into_iter().collect();
        paths.sort();
        let all: BTreeSet<&PathBuf> = paths.iter().collect();
        let is_half = |path: &Path| {
            Packing::of(path) != Packing::Plain && {
                let plain = path.with_extension("");
                all.contains(&plain) || there.contains(&plain)
            }
        };
        let left = paths.iter().filter(|path| !there.contains(*path) && !is_half(path));
        let with_facts = left.filter_map(|path| {
            // It was renamed or removed since.
            let facts = fs::metadata(path).ok()?;
            let is_new = facts.is_file() && facts.len() > 0 && !self.has(FileId::of(&facts));
            is_new.then(|| (path.clone(), facts))
        });
        Ok(with_facts.collect())
    }

    /// Compares a file with those that were read, and with the one that has the name of the log.
    fn likeness(&self, log: &Path, path: &Path) -> io::Result<Likeness> {
        // Of a short one nobody can say.
        let is_long = || -> io::Result<bool> {
            let mut text = bytes::of_file(path, &Progress::of(None))?;
            Ok(io::copy(&mut io::Read::take(&mut text, STRONG), &mut io::sink())? == STRONG)
        };
        let mut found = Likeness::None;
        if log.exists() && Content::begins(path, log)? {
            found = if is_long()? { Likeness::Copy } else { Likeness::Doubt };
        }
        let done = self.done.iter().map(|done| &done.file);
        for file in self.known.values().chain(done).filter(|file| file.has_lines) {
            let is_sure = match file.content.compare(path)? {
                Comparison::Other => continue,
                Comparison::Continues(mut rest) => {
                    file.content.length() >= STRONG && prefix(&mut rest, 1)?.is_empty()
                }
                Comparison::Shorter => match Content::begins(path, &file.path) {
                    Ok(false) => continue,
                    Ok(true) => is_long()?,
                    // It is gone.
                    Err(_) => false,
                },
            };
            if is_sure {
                return Ok(Likeness::Copy);
            }
            found = Likeness::Doubt;
        }
        Ok(found)
    }

    /// Reads rotated files of a log to their ends, unless they are copies of what was read.
    fn read_between(
        &mut self,
        log: &Path,
        paths: Vec<PathBuf>,
        is_whole: &mut bool,
        (dealer, progress): (&mut Dealer, &Arc<Progress>),
    ) -> Result<(), ReadStop> {
        for path in paths {
            let lost = |error: io::Error| unreadable(&path.display().to_string(), &error);
            match self.likeness(log, &path).map_err(lost)? {
                Likeness::Copy => continue,
                Likeness::Doubt => {
                    let why = format!(
                        "{}: it begins with the same lines as another file, and may be its copy or hold lines that no \
                         run has read",
                        path.display()
                    );
                    self.gap(is_whole, &why);
                    continue;
                }
                Likeness::None => {}
            }
            let facts = fs::metadata(&path).map_err(lost)?;
            let mut file = FoundFile::new(&path, &facts);
            if !file.open().map_err(lost)? {
                self.gap(is_whole, &format!("{}: it was replaced while it was opened", path.display()));
                continue;
            }
            let name = self.begin(&name_within(self.path, log), file);
            let Some(followed) = self.known.get_mut(&name) else { continue };
            followed.is_listed = false;
            if Packing::of(&path) == Packing::Plain {
                self.read_file(&name, u64::MAX, dealer, progress)?;
            } else {
                followed.read_copy(bytes::of_file(&path, progress).map_err(lost)?, dealer)?;
                self.finish(&name);
            }
        }
        Ok(())
    }
}

/// The text of a file from an offset on, with the columns that its first line names.
fn resumed_text(path: &Path, format: &TextFormat, offset: u64) -> Result<ReaderText, SourceError> {
    if format.columns.is_none() || offset == 0 {
        return Ok(ReaderText::resumed(format, None, offset));
    }
    let place = path.display().to_string();
    let mut first = ReaderText::new(format);
    let mut file = bytes::of_file(path, &Progress::of(None)).map_err(|error| unreadable(&place, &error))?;
    loop {
        let read = first.cutter.fill(|room| crate::job::sources::reader::read_some(&mut file, room));
        let read = read.map_err(|error| unreadable(&place, &error))?;
        if first.begin(&place, read == 0)? || read == 0 {
            return Ok(ReaderText::resumed(format, first.columns, offset));
        }
    }
}
