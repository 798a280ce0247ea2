//! The restart of a run: each file is gone on with where the former run was, and the files that came and were
//! rotated while nobody read are read in between.
//!
//! Everything that unsettled windows need lies behind the positions. So a rotated file may be read again: its
//! records are late. What must not happen is that a file with lines that nobody has read is passed over, or
//! that a copy of what is read counts as well. Where neither can be excluded, there is an input gap.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::content::Content;
use super::file::{FileId, FollowedFile};
use super::files::{FollowedPath, base_of, generation_of, present};
use super::found::{Candidate, Found, Search, Wanted, assign, found};
use super::order::FileAge;
use super::position::{
    FilePosition, FormerMarks, ReachedMark, changed, nanoseconds, read_gap, read_passed, read_seen,
};
use crate::dataflow::SourceError;
use crate::gate::Positions;
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::milestones::joined;
use crate::job::sources::reader::{ReadStop, ReaderText, TextFormat, read_some, unreadable};

/// A file of a log to which the reading had come. Rotation may go on: its path is asked for again each time.
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) id: FileId,
    pub(super) changed: u64,
}

impl Reference {
    /// The file at this path now, which has what was read of the file with this name.
    pub(super) fn of(name: &str, path: &Path) -> Option<Reference> {
        let facts = fs::metadata(path).ok()?;
        Some(Reference { name: name.to_owned(), id: FileId::of(&facts), changed: changed(&facts) })
    }
}

/// What is known of a log after the search.
struct FoundLog {
    /// The newest of its files that was found, with its number.
    newest: Option<(u64, Reference)>,
    /// The file where it was, if that had no lines.
    empty: Option<Reference>,
    /// The time at which its last file came, if that had no lines and has another name by now.
    renamed_empty: Option<u64>,
    /// The number of its newest file, and true if that is where it was, without a rotation since.
    last: u64,
    is_current: bool,
    /// The number of the first of its files that was read and has no position.
    missing: u64,
    /// True if a file of it was not found, so that its open windows are skipped.
    has_gap: bool,
}

impl Default for FoundLog {
    fn default() -> FoundLog {
        FoundLog {
            newest: None,
            empty: None,
            renamed_empty: None,
            last: 0,
            is_current: false,
            missing: u64::MAX,
            has_gap: false,
        }
    }
}

/// The outcome of the search for the file of a position, and the file if it was found.
struct SearchedFile {
    name: String,
    position: FilePosition,
    base: PathBuf,
    outcome: Search,
    found: Option<(Found, ReaderText)>,
}

impl FollowedPath<'_> {
    /// Goes on where a former run was.
    pub(super) fn resume(
        &mut self,
        former: &[Positions],
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let mut positions = joined(former, FilePosition::read, FilePosition::resumed_at);
        let reached = joined(former, ReachedMark::read, |mark| mark.offset);
        let reached: BTreeMap<String, ReachedMark> = reached
            .into_iter()
            .filter_map(|(name, mark)| Some((ReachedMark::file_of(&name)?.to_owned(), mark)))
            .collect();
        let seen = joined(former, read_seen, |seen| *seen).into_iter().next().map(|(_, seen)| seen);
        self.gap_spans = joined(former, read_gap, |_| 0).into_iter().map(|(_, span)| span).collect();
        self.gap_spans.sort_unstable();
        let passed = joined(former, read_passed, |position| position.offset);
        self.reported_passed = passed.iter().cloned().collect();
        self.resume_passed(passed.into_iter().map(|(_, position)| position).collect());
        let mut logs = BTreeMap::<PathBuf, FoundLog>::new();
        let listed = self.resume_listed(former);
        let of_gaps = self.gap_spans.len() + self.reported_passed.len() + usize::from(seen.is_some());
        let known = positions.len() + reached.len() + of_gaps + listed;
        if let [only] = former
            && only.len() > known
        {
            let why = "positions in the ledger are of another version of the program";
            self.gap(why);
        }
        self.reported = positions.iter().cloned().collect();
        self.former = Some(FormerMarks { reached: reached.clone(), seen });
        // Files that still grow choose first, and of these the one of which most was read.
        positions.sort_by_key(|(_, position)| (position.is_done, std::cmp::Reverse(position.offset)));
        for (name, position) in &positions {
            let generation = generation_of(name) + 1;
            let known = self.generations.entry(base_of(name).to_owned()).or_default();
            *known = generation.max(*known);
            let log = logs.entry(self.base(name, &position.path)).or_default();
            log.last = log.last.max(generation);
        }
        // A file that was read and has no position: the ones before it are the newest that can be relied on.
        for name in reached.keys().filter(|name| positions.iter().all(|(known, _)| known != *name)) {
            let of_log = positions.iter().find(|(known, _)| base_of(known) == base_of(name));
            if let Some((known, position)) = of_log {
                let log = logs.entry(self.base(known, &position.path)).or_default();
                log.missing = log.missing.min(generation_of(name) + 1);
            }
        }
        let bases: Vec<PathBuf> = logs.keys().cloned().collect();
        let mut searched =
            self.steadily(&bases, |files| files.searched(&positions, (&reached, seen), progress))?;
        // Of each log the oldest first.
        searched.sort_by_cached_key(|searched| self.age(&searched.name, &searched.position.path));
        // A file that was empty at its position, and was read since: its number is all that was known of it.
        for (name, position) in positions.iter().filter(|(_, position)| !position.has_lines) {
            let Some(mark) = reached.get(name) else { continue };
            if searched.iter().any(|searched| searched.name == *name) {
                continue;
            }
            let base = self.base(name, &position.path);
            let mut paths = siblings_of(&base).into_iter().chain([base.clone()]);
            // One that cannot be read now is not the one.
            let is_there = paths.any(|path| Content::has_reached(&path, mark).unwrap_or(false));
            let log = logs.entry(base).or_default();
            log.missing = log.missing.min(generation_of(name) + 1);
            if !is_there {
                let why = format!(
                    "{}: a later file of it is gone, with lines that were read",
                    position.path.display()
                );
                self.gap(&why);
                self.given_up.push(name.clone());
            }
        }
        for SearchedFile { name, position, base, outcome, found } in searched {
            let place = position.path.display();
            match outcome {
                Search::Found(candidate) if !candidate.is_whole => {
                    self.gap(&format!("{place}: lines are gone that the last run has read"));
                }
                Search::Doubt(other) => {
                    let why = format!(
                        "{place}: several files may be the one that was read, or {} is a new one that begins with the \
                         same lines",
                        other.display()
                    );
                    self.gap(&why);
                    self.given_up.push(name);
                    logs.entry(base).or_default().has_gap = true;
                    continue;
                }
                _ => {}
            }
            let Some(found) = found else {
                // Where windows need nothing of what was read, and nothing more was expected, nothing is lost.
                let is_over = reached.get(&name).is_some_and(|mark| {
                    mark.is_settled && !position.is_from_start && mark.offset == position.offset
                });
                if !position.is_done && !position.is_settled && !is_over {
                    let why = format!(
                        "a file that was {place} when it was last read: no file holds what was read of it; it was removed, \
                         cut or changed before the place that was reached"
                    );
                    self.gap(&why);
                    // The input gap is written at once, and what comes after it is not skipped at the next start.
                    self.given_up.push(name);
                    logs.entry(base).or_default().has_gap = true;
                }
                continue;
            };
            let log = logs.entry(base.clone()).or_default();
            let generation = generation_of(&name) + 1;
            let id = found.0.file.id;
            let is_base = found.0.file.path == base;
            if !position.has_lines && !is_base && generation == log.last {
                // The last file of the log is a new one: others may have come before it was renamed.
                log.renamed_empty = Some(position.node.born());
                self.given_up.push(name);
                continue;
            }
            if !position.has_lines && is_base {
                // What was written to it may have been cut off: nothing tells.
                log.empty = Some(Reference { name: name.clone(), id, changed: position.node.born() });
            } else if generation < log.missing
                && log.newest.as_ref().is_none_or(|(newest, _)| (*newest, false) < (generation, is_base))
            {
                log.is_current = is_base && generation == log.last && log.missing == u64::MAX;
                let changed = match position.has_lines || !position.node.is_sure() {
                    true => changed(&found.0.facts),
                    // It may have been cut before it was renamed: what came after it is later.
                    false => position.node.born(),
                };
                log.newest = Some((generation, Reference { name: name.clone(), id, changed }));
            }
            let start = found.0.content.length();
            self.go_on(name.clone(), &position, found, dealer)?;
            // What a log without a line has by now came after the files that are still to be found.
            if position.has_lines || !is_base {
                self.read_file(&name, u64::MAX, dealer, progress)?;
            }
            if self.file(&name).is_some_and(|file| file.content.length() > start) {
                self.report_read_file(dealer)?;
            }
        }
        self.order_done();
        let mut doubts = Vec::new();
        // Those of a log without a position come before what is between them and the log.
        let listed = self.find_listed(former.len() > 1, progress)?;
        let (listed, first): (BTreeMap<_, _>, BTreeMap<_, _>) =
            listed.into_iter().partition(|(log, _)| logs.contains_key(log));
        for (path, files) in first {
            let newest = files.last().and_then(|(path, _)| Reference::of("", path));
            self.read_between(&path, files, &mut doubts, (dealer, progress))?;
            logs.entry(path).or_default().newest = newest.map(|newest| (1, newest));
        }
        let recently = SystemTime::now().checked_sub(self.format.sizes.patience).map_or(0, nanoseconds);
        for (path, log) in logs.iter().filter(|(_, log)| !log.is_current) {
            let newest = log.newest.as_ref().map(|(_, newest)| newest).or(log.empty.as_ref());
            let renamed = log.renamed_empty.filter(|_| newest.is_none());
            let read = |files: &mut Self| match (log.has_gap, renamed) {
                // What they have by now is within the gap, but more may come to them.
                (true, _) => files.read_changed_since(path, recently, (dealer, progress)),
                (false, Some(since)) => files.read_changed_since(path, since, (dealer, progress)),
                (false, None) => files.between(path, newest, seen, (dealer, progress)),
            };
            doubts.extend(self.steadily_beside(path, read)?);
        }
        if let Some(seen) = seen {
            let logs = logs.into_keys().collect();
            doubts.extend(self.steadily(&bases, |files| files.departed(&logs, seen, (dealer, progress)))?);
        }
        for (path, mut files) in listed {
            files.retain(|(_, id)| !self.has(*id));
            self.read_between(&path, files, &mut doubts, (dealer, progress))?;
        }
        self.listed.clear();
        doubts.iter().for_each(|why| self.gap(why));
        self.former = None;
        for name in &self.given_up {
            self.reported.remove(name);
            self.sure.remove(name);
        }
        self.expect_next();
        Ok(())
    }

    /// Notes the last file of each log: the next one may be rotated before it is seen.
    fn expect_next(&mut self) {
        let done = self.done.iter().map(|done| (&done.name, &done.file));
        let of_log = |(name, file): (&String, &FollowedFile)| {
            let (log, age) = self.age(name, &file.path);
            (log, (age, name.clone()))
        };
        let mut files: Vec<(PathBuf, (FileAge, String))> =
            self.known.iter().chain(done).map(of_log).collect();
        files.sort();
        // Of each log the last one is left.
        let last: BTreeMap<PathBuf, (FileAge, String)> = files.into_iter().collect();
        for (age, name) in last.into_values() {
            if !age.was_log() || self.known.get(&name).is_some_and(|file| file.is_log) {
                continue;
            }
            self.follow_again(&name);
            if let Some(file) = self.known.get_mut(&name) {
                (file.is_log, file.is_listed) = (true, false);
            }
        }
    }

    /// Searches for the files of positions, and opens them.
    fn searched(
        &self,
        positions: &[(String, FilePosition)],
        (reached, seen): (&BTreeMap<String, ReachedMark>, Option<u64>),
        progress: &Arc<Progress>,
    ) -> Result<Vec<SearchedFile>, ReadStop> {
        let there = present(self.path)?;
        let mut wanted = Vec::new();
        let (with_lines, mut empty): (Vec<_>, Vec<_>) =
            positions.iter().partition(|(_, position)| position.has_lines);
        for (name, position) in with_lines {
            let base = self.base(name, &position.path);
            let mark = reached.get(name).cloned();
            let known = (name.clone(), position.clone());
            wanted.push(Wanted::new(known, base, mark, (positions, seen), &there, progress)?);
        }
        let mut outcomes = assign(&wanted, seen);
        let (mut searched, mut opened) = (Vec::new(), 0..self.most_open);
        let mut hold = |found: &mut Option<(Found, ReaderText)>| {
            if let Some((found, _)) = found.as_mut().filter(|_| opened.next().is_none()) {
                found.file.close();
            }
        };
        for Wanted { name, position, base, .. } in wanted {
            let outcome = outcomes.remove(&name).unwrap_or(Search::Gone);
            let mut found = match &outcome {
                Search::Found(candidate) => self.opened(&position, &candidate.path, progress)?,
                _ => None,
            };
            hold(&mut found);
            searched.push(SearchedFile { name, position, base, outcome, found });
        }
        // Any other file may begin like one without a line: the number of the file tells them apart.
        // A run that ended in the middle of its restart may have begun it again, under a later name.
        let ids = searched.iter().filter_map(|searched| Some(searched.found.as_ref()?.0.file.id));
        let mut taken: BTreeSet<FileId> = ids.collect();
        empty.sort_by_key(|(name, _)| std::cmp::Reverse(generation_of(name)));
        for (name, position) in empty {
            let base = self.base(name, &position.path);
            if let Some(candidate) = Candidate::by_node(position, &base)
                && taken.insert(candidate.id)
                && let mut found @ Some(_) = self.opened(position, &candidate.path, progress)?
            {
                hold(&mut found);
                let (name, position) = (name.clone(), position.clone());
                let outcome = Search::Found(candidate);
                searched.push(SearchedFile { name, position, base, outcome, found });
            }
        }
        Ok(searched)
    }

    /// Opens a file at its position.
    fn opened(
        &self,
        position: &FilePosition,
        path: &Path,
        progress: &Arc<Progress>,
    ) -> Result<Option<(Found, ReaderText)>, SourceError> {
        let lost = |error: io::Error| unreadable(&path.display().to_string(), &error);
        let Some(mut found) = found(position, path, progress).map_err(lost)? else { return Ok(None) };
        if position.is_from_start {
            found.content = Content::default();
            if Packing::of(path) != Packing::Plain {
                found.rest = Some(bytes::of_file(path, progress).map_err(lost)?);
            }
        }
        let text = resumed_text(path, self.format, found.content.length())?;
        Ok(Some((found, text)))
    }

    /// Returns true if there is an input gap that is still to be reported.
    pub(super) fn has_gap(&self) -> bool {
        let is_found = !self.gaps.is_empty() || !self.lost.is_empty();
        is_found || self.is_in_doubt
    }

    /// Returns true for the input gap that was found since the last call: the caller reports it now.
    pub(super) fn take_gap(&mut self) -> bool {
        self.is_in_doubt = false;
        !std::mem::take(&mut self.gaps).is_empty()
    }

    /// Notes an input gap, with its reason for the operator.
    pub(super) fn gap(&mut self, why: &str) {
        // Several files may have had one name when they were last read.
        if self.gaps.replace(why.to_owned()).is_some() {
            return;
        }
        self.survey.warn(&format!("{why}; windows that were open are skipped as an input gap"));
    }

    /// Returns the path that a file had before it was rotated, from its name and the path where it was last.
    pub(super) fn base(&self, name: &str, path: &Path) -> PathBuf {
        let Some(name) = Path::new(base_of(name)).file_name() else { return self.path.to_owned() };
        // A file that had been rotated when it was first seen has the name that it had then.
        let first = path.with_file_name(name);
        self.logs_of(&first).into_iter().next().unwrap_or(first)
    }

    /// Takes up a file at its position.
    fn go_on(
        &mut self,
        name: String,
        position: &FilePosition,
        (found, text): (Found, ReaderText),
        dealer: &mut Dealer,
    ) -> Result<(), ReadStop> {
        let Found { file, content, facts, rest } = found;
        let place = file.path.clone();
        let is_packed = Packing::of(&place) != Packing::Plain;
        let grew = !is_packed && facts.len() > content.length();
        let mut followed = FollowedFile::new(file, &name, self.format, self.is_shared);
        let has_lines = position.has_lines && !position.is_from_start;
        followed.go_on(content, has_lines, text, (&facts, is_packed));
        if let Some(rest) = rest.filter(|_| !position.is_done) {
            followed.read_copy(rest, dealer)?;
        }
        if position.is_done && !grew || is_packed && !present(self.path)?.contains(&place) {
            followed.close();
            self.remember(name, followed);
        } else {
            followed.is_listed = false;
            followed.is_log = place == self.base(&name, &place);
            self.known.insert(name, followed);
            self.count_opened(1);
        }
        Ok(())
    }
}

/// The text of a file from an offset on, with the columns that a line before it names. Where only comments lie before it, a
/// line behind it is still to name them.
fn resumed_text(path: &Path, format: &TextFormat, offset: u64) -> Result<ReaderText, SourceError> {
    let mut first = ReaderText::new(format);
    if !first.is_unnamed() || offset == 0 {
        return Ok(ReaderText::resumed(format, None, offset));
    }
    let place = path.display().to_string();
    let file = bytes::of_file(path, &Progress::of(None)).map_err(|error| unreadable(&place, &error))?;
    let mut file = file.take(offset);
    loop {
        let read = first.cutter.fill(|room| read_some(&mut file, room));
        let read = read.map_err(|error| unreadable(&place, &error))?;
        let ended = read == 0 && !first.cutter.is_empty();
        if first.begin(&place, ended)? || read == 0 {
            return Ok(ReaderText::resumed(format, first.columns, offset));
        }
    }
}
