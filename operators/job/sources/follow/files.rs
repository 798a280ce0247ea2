//! The files of a path that is followed, through every rotation.
//!
//! * A file that is **renamed** is read on through its open handle, for as long as it grows and a while
//!   longer: its writer opens the new one later.
//! * A **new** file of the same name is read from its start. One that begins with all that was read is the
//!   same text in another file, as `rsync` writes it, and is read on.
//! * A file that was **cut** (copytruncate) is read from its start. What was written between the last look
//!   and the cut is read from the copy, which lies beside it. Lines that come between the copy and the cut are
//!   lost to every reader.
//! * A **copy** of what was read, packed or not, is passed over, by its content.
//! * A name that is **gone** is waited for: between the steps of a rotation there is no file, and while there
//!   is none the watermark stands still.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::done::DoneFile;
use super::file::{Caught, FileId, FollowedFile, FoundFile};
use super::open::most_open;
use super::passed::PassedCopy;
use super::position::{FileNode, FilePosition, FormerMarks};
use crate::dataflow::SourceError;
use crate::job::rotation::rotated_logs;
use crate::job::sources::accord::InputAgreement;
use crate::job::sources::dealer::{Dealer, DealerMessage, Progress};
use crate::job::sources::listing::{Listing, followed_files};
use crate::job::sources::milestones::Milestones;
use crate::job::sources::pattern::{FilePattern, is_absent};
use crate::job::sources::reader::{ReadStop, TextFormat, unreadable};
use crate::job::sources::survey::Survey;
use crate::time::Time;

/// The time after which a source without a file is reported.
pub(super) const MISSED: Duration = Duration::from_secs(10);

/// The number of chunks of one file after which its position is reported, so that a restart within a backlog reads
/// little of it again.
const REPORTED: u64 = 64;

/// The most reports of rotated files that were read to their ends, in one pass over all files: a report takes time for each
/// of them.
const REPORTS_IN_A_PASS: usize = 256;

/// What separates a name from the number of its generation; no path within another has it.
pub(super) const GENERATION: &str = "//";

/// The files of a path, with the position reached in each.
pub(in crate::job::sources) struct FollowedPath<'a> {
    pub(super) path: &'a Path,
    pub(super) format: &'a TextFormat,
    /// The files by the name that is the same for all processes.
    pub(super) known: BTreeMap<String, FollowedFile>,
    /// The files that are done.
    pub(super) done: VecDeque<DoneFile>,
    /// The most files that were followed at one time.
    pub(super) most_known: usize,
    /// The number of files that are held open.
    pub(super) most_open: usize,
    /// The number of files that were opened since some were closed.
    pub(super) opened: usize,
    /// The files that hold nothing but what was read, with their length at that time.
    pub(super) copies: BTreeMap<FileId, u64>,
    /// The copies that have the beginning of a log which is not read yet, with that log.
    pub(super) awaited: BTreeMap<FileId, PathBuf>,
    /// The copies that have the beginning of what was read.
    pub(super) passed: VecDeque<PassedCopy>,
    /// The copies of the former report.
    pub(super) reported_passed: BTreeMap<String, FilePosition>,
    /// The files that were listed and are not read yet, at their starts, and those that were reported.
    pub(super) listed: BTreeMap<FileNode, FilePosition>,
    pub(super) reported_listed: BTreeSet<FileNode>,
    /// The latest change of a listed file, until one is read; `None` once it was reported.
    pub(super) first_seen: Option<u64>,
    /// The files that may become copies, with their length and the time since which they have it.
    pub(super) undecided: BTreeMap<FileId, (u64, Instant)>,
    /// The number of files that each name has had.
    pub(super) generations: BTreeMap<String, u64>,
    /// The positions that were last reported.
    pub(super) reported: BTreeMap<String, FilePosition>,
    /// True once positions were reported by this run.
    pub(super) has_reported: bool,
    /// The names of files that were reported by themselves, so that a restart finds them; true for those that had lines
    /// then.
    pub(super) sure: BTreeMap<String, bool>,
    /// The names of the former run's positions that are given up, until that is reported.
    pub(super) given_up: Vec<String>,
    /// The number of files that were read to their ends since positions were reported.
    pub(super) unreported: usize,
    /// The lengths up to which files were last reported to have been read, and true where nothing more was expected.
    pub(super) reached: BTreeMap<String, (u64, bool)>,
    pub(super) accord: Option<InputAgreement>,
    /// True if several processes compare what they read.
    pub(super) is_shared: bool,
    pub(super) milestones: &'a Milestones,
    pub(super) survey: Arc<Survey>,
    /// The time of the look before this one, and how long ago it was.
    pub(super) looked_at: SystemTime,
    /// The time before the last look at the names.
    pub(super) listed_at: SystemTime,
    pub(super) unseen: Duration,
    /// True once the files were listed.
    has_listed: bool,
    /// False if this look has listed what it could not read: it was renamed or cut meanwhile, and the next one finds it.
    pub(super) is_complete: bool,
    /// The time of the first start, until its first look.
    pub(super) first_look: Option<(Time, Instant)>,
    /// The rotated files that were there then and that no path names, with their last changes and lengths.
    pub(super) earlier: BTreeMap<FileId, (u64, u64)>,
    /// The logs that were renamed before their first file was opened, with the last change of that.
    pub(super) unopened: BTreeMap<PathBuf, u64>,
    /// The reasons of input gaps that were found since the last look.
    pub(super) lost: Vec<String>,
    /// The input gaps that open windows may overlap, and the number of those that this run has reported.
    pub(super) gap_spans: Vec<(Time, Time)>,
    pub(super) reported_gaps: usize,
    /// The reasons of the input gaps that were found and are not reported yet.
    pub(super) gaps: BTreeSet<String>,
    /// True if a rotated file was in doubt since the last report of an input gap.
    pub(super) is_in_doubt: bool,
    /// What the former run knew, while the files of its positions are taken up.
    pub(super) former: Option<FormerMarks>,
    /// True once a file was left out that is packed in a way that is not read.
    leaves_out: bool,
    /// The time since which there is no file, and if that was reported.
    missed: Option<(Instant, bool)>,
    /// The links that lead nowhere, each with the time since which it does, and if that was reported.
    pub(super) dangling: BTreeMap<PathBuf, (Instant, bool)>,
}

impl<'a> FollowedPath<'a> {
    pub(in crate::job::sources) fn new(
        path: &'a Path,
        format: &'a TextFormat,
        accord: Option<InputAgreement>,
        milestones: &'a Milestones,
        survey: Arc<Survey>,
    ) -> FollowedPath<'a> {
        FollowedPath {
            path,
            format,
            known: BTreeMap::new(),
            done: VecDeque::new(),
            most_known: 0,
            most_open: most_open(),
            opened: 0,
            copies: BTreeMap::new(),
            awaited: BTreeMap::new(),
            passed: VecDeque::new(),
            reported_passed: BTreeMap::new(),
            listed: BTreeMap::new(),
            reported_listed: BTreeSet::new(),
            first_seen: None,
            undecided: BTreeMap::new(),
            generations: BTreeMap::new(),
            reported: BTreeMap::new(),
            has_reported: false,
            sure: BTreeMap::new(),
            given_up: Vec::new(),
            unreported: 0,
            reached: BTreeMap::new(),
            is_shared: accord.is_some(),
            accord,
            milestones,
            survey,
            looked_at: SystemTime::now(),
            listed_at: SystemTime::now(),
            unseen: Duration::ZERO,
            has_listed: false,
            is_complete: true,
            first_look: None,
            earlier: BTreeMap::new(),
            unopened: BTreeMap::new(),
            lost: Vec::new(),
            gap_spans: Vec::new(),
            reported_gaps: 0,
            gaps: BTreeSet::new(),
            is_in_doubt: false,
            former: None,
            leaves_out: false,
            missed: None,
            dangling: BTreeMap::new(),
        }
    }

    /// Reads what is present in all files, the last look at which was `unseen` ago. Returns false while a file is missing or
    /// incomplete.
    pub(super) fn read(
        &mut self,
        unseen: Duration,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        self.unseen = unseen;
        self.is_complete = true;
        let began = SystemTime::now();
        let is_there = self.list(unseen, dealer, progress)?;
        let complete = self.read_listed(dealer, progress)?;
        self.looked_at = began;
        Ok(is_there && complete)
    }

    /// Reads what is present in the files that were listed. Returns false while one is incomplete.
    pub(super) fn read_listed(
        &mut self,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        self.notice_cuts()?;
        let mut complete = self.undecided.is_empty();
        let names = self.reading_order();
        for name in &names {
            let length = |files: &Self| files.known.get(name).map_or(0, |file| file.content.length());
            let before = length(self);
            complete &= self.read_file(name, self.listed_end(name), dealer, progress)?;
            let is_rotated = self.known.get(name).is_some_and(|file| !file.is_log);
            if is_rotated && length(self) > before {
                self.report_read_file(dealer)?;
            }
        }
        self.notice_copies();
        Ok(complete && self.is_complete)
    }

    /// Reads a file as far as it goes, or up to a position, and reports positions on the way; with the first lines of a log,
    /// those that were cut from it before them. Returns false while it is incomplete.
    pub(super) fn read_file(
        &mut self,
        name: &str,
        until: u64,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        if !self.read_before_first(name, dealer, progress)? || !self.known.contains_key(name) {
            // It comes after what was cut from it, under another name.
            return Ok(false);
        }
        self.read_awaited(name, dealer, progress)?;
        let is_open = |files: &Self| files.known.get(name).is_some_and(FollowedFile::is_open);
        let was_open = is_open(self);
        let complete = self.read_on(name, until, dealer, progress)?;
        self.read_awaited(name, dealer, progress)?;
        self.read_before_first(name, dealer, progress)?;
        if !was_open && is_open(self) {
            self.count_opened(1);
        }
        // What it had when it was listed was cut from it.
        let is_shorter = |file: &FollowedFile| file.listed_length.min(until) > file.content.length();
        let is_cut =
            |file: &FollowedFile| !file.has_lines && !file.is_packed() && file.is_listed && is_shorter(file);
        Ok(complete && !self.known.get(name).is_some_and(is_cut))
    }

    /// Reads a file without regard to what was cut from it before its first line.
    pub(super) fn read_on(
        &mut self,
        name: &str,
        until: u64,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        let some = REPORTED * self.format.sizes.chunk as u64;
        loop {
            let Some(file) = self.known.get_mut(name) else { return Ok(true) };
            let step = file.content.length().saturating_add(some).min(until);
            match file.catch_up(step, dealer, progress)? {
                Caught::Up if step < until && file.content.length() >= step => {
                    self.report_positions(dealer)?;
                }
                Caught::Up => return Ok(true),
                Caught::Torn | Caught::Elsewhere => return Ok(false),
                Caught::Replaced if self.is_waited_for(name)? => return Ok(false),
                Caught::Replaced => {
                    self.renew(name, dealer, progress)?;
                    // Its new content is read in the next round.
                    return Ok(false);
                }
            }
        }
    }

    /// Reports the positions behind a rotated file that was read to its end: a run may end before the windows that are open
    /// now, and a file of which no window needs anything may be removed.
    pub(super) fn report_read_file(&mut self, dealer: &Dealer) -> Result<(), ReadStop> {
        self.unreported += 1;
        if self.unreported * REPORTS_IN_A_PASS < self.known.len() + self.done.len() {
            return Ok(());
        }
        self.unreported = 0;
        self.report_positions(dealer)
    }

    /// Reports the positions behind what was read.
    pub(super) fn report_positions(&mut self, dealer: &Dealer) -> Result<(), ReadStop> {
        if self.has_gap() {
            return Ok(());
        }
        self.report_origins(dealer)?;
        let positions = self.changed_positions();
        if !positions.is_empty() {
            let number = self.milestones.register(positions);
            dealer.broadcast(|| DealerMessage::Position(number))?;
        }
        Ok(())
    }

    /// Reports the positions that are sure before any line that follows; none beside an input gap that is still to be
    /// reported: a restart from there would not find it.
    pub(super) fn report_origins(&mut self, dealer: &Dealer) -> Result<(), ReadStop> {
        if self.has_gap() {
            return Ok(());
        }
        let mut origins = self.origins();
        origins.extend(self.reached());
        if !origins.is_empty() {
            let number = self.milestones.register(origins);
            dealer.broadcast(|| DealerMessage::Start(number))?;
        }
        Ok(())
    }

    /// Lists the files. Returns false if there is none.
    pub(super) fn list(
        &mut self,
        unseen: Duration,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        let names = looked(self.path)?;
        self.list_names(names, unseen, dealer, progress)
    }

    /// Lists the files of a path that had these names. Returns false if there is none.
    pub(super) fn list_names(
        &mut self,
        Listing { files: there, left_out, dangling }: Listing,
        unseen: Duration,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<bool, ReadStop> {
        if let Some(path) = left_out.first().filter(|_| !std::mem::replace(&mut self.leaves_out, true)) {
            self.survey.warn(&format!(
                "{}: it is packed in a way that is not read, and is left out, as others like it; pack rotated files with gzip, \
                 bzip2 or zstd: a restart finds what was read in them",
                path.display()
            ));
        }
        self.note_dangling(dangling);
        self.known.values_mut().for_each(|file| file.is_listed = false);
        let mut new = Vec::new();
        let mut ids = BTreeSet::new();
        let named: BTreeMap<FileId, String> =
            self.known.iter().map(|(name, file)| (file.id, name.clone())).collect();
        self.listed_at = SystemTime::now();
        let (files, is_whole) = self.by_file(&there)?;
        self.is_complete &= is_whole;
        if let Some(began) = self.first_look.take() {
            self.note_earlier(began, &files, dealer)?;
        }
        // What is new may be read below, and what comes after it may be gone before it is.
        if self.note_listed(&files) {
            self.report_origins(dealer)?;
        }
        for (path, facts) in files {
            let (path, id) = (path.as_path(), FileId::of(&facts));
            ids.insert(id);
            match named.get(&id).and_then(|name| self.known.get_mut(name)) {
                Some(file) => file.look(path, &facts, self.listed_at),
                None if self.copies.get(&id) == Some(&facts.len()) => {}
                None => new.push(FoundFile::new(path, &facts)),
            }
        }
        let is_first = !std::mem::replace(&mut self.has_listed, true);
        if (is_first || !new.is_empty()) && !self.has_all(&ids)? {
            self.is_complete = false;
            // They may come after the one that was missed, as well as those without a line.
            new.clear();
            self.hold_back(&self.without_lines(), None);
        }
        self.reopen_renamed(dealer)?;
        self.copies.retain(|id, _| ids.contains(id));
        self.undecided.retain(|id, _| ids.contains(id));
        // Before the new files: of a log they come first.
        self.read_missed(unseen, dealer, progress)?;
        self.add_new(new, dealer, progress)?;
        let over: Vec<String> =
            self.known.iter().filter(|(_, file)| file.is_over()).map(|(name, _)| name.clone()).collect();
        over.into_iter().for_each(|name| self.finish(&name));
        Ok(self.is_there(!there.is_empty()))
    }

    /// Returns each file once, whatever number of links it has: under the name that it had, or one that is no link; and false
    /// where a rotation has taken the name of one.
    pub(super) fn by_file(&self, paths: &[PathBuf]) -> Result<(Vec<(PathBuf, Metadata)>, bool), SourceError> {
        let held: BTreeSet<&PathBuf> = self.known.values().map(|file| &file.path).collect();
        let mut names: BTreeMap<FileId, (bool, bool, &PathBuf)> = BTreeMap::new();
        let (mut all, mut is_whole) = (Vec::new(), true);
        for path in paths {
            let facts = match fs::metadata(path) {
                Ok(facts) => facts,
                // It was renamed or removed since, or is a link that leads nowhere by now.
                Err(error) if is_absent(&error) => {
                    is_whole &= !self.is_of_rotation(path) && !path.is_symlink();
                    continue;
                }
                Err(error) => return Err(unreadable(&path.display().to_string(), &error)),
            };
            let name = (!held.contains(path), path.is_symlink(), path);
            let known = names.entry(FileId::of(&facts)).or_insert(name);
            *known = name.min(*known);
            all.push((path.clone(), facts));
        }
        all.retain(|(path, facts)| names.get(&FileId::of(facts)).is_some_and(|(.., name)| *name == path));
        Ok((all, is_whole))
    }

    /// Returns true if there is a file, and reports where there was none for some time.
    fn is_there(&mut self, is_there: bool) -> bool {
        // A directory without files has none yet; a file that has a name is expected to be there.
        if is_there || self.path.is_dir() {
            self.missed = None;
            return true;
        }
        let (since, is_reported) = self.missed.get_or_insert((Instant::now(), false));
        if since.elapsed() > MISSED && !*is_reported {
            *is_reported = true;
            self.survey.warn(&format!(
                "source.path: {}: no such file; windows stay open until there is one, from which all of them are then counted",
                self.path.display()
            ));
        }
        false
    }

    /// The logs of the path of which rotation gave this name: those that are there, and those that were, which may be
    /// gone for a moment.
    pub(super) fn logs_of(&self, path: &Path) -> Vec<PathBuf> {
        let was_there = |log: &PathBuf| self.generations.contains_key(&name_within(self.path, log));
        rotated_logs(path)
            .filter(|log| {
                is_named_by(self.path, log) && (log.is_file() || log == self.path || was_there(log))
            })
            .collect()
    }
}

/// Returns true if the path names this file, whether it is there or not.
pub(super) fn is_named_by(path: &Path, file: &Path) -> bool {
    if path == file || path.is_dir() {
        return path == file || file.parent() == Some(path);
    }
    FilePattern::of(path).is_ok_and(|pattern| pattern.matches(file))
}

/// The name of a file without its generation.
pub(super) fn base_of(name: &str) -> &str {
    name.rsplit_once(GENERATION).map_or(name, |(base, _)| base)
}

/// The number of the generation in a name.
pub(super) fn generation_of(name: &str) -> u64 {
    name.rsplit_once(GENERATION).and_then(|(_, generation)| generation.parse().ok()).unwrap_or(0)
}

/// The files of a path; none where it does not exist at the moment.
pub(super) fn present(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    looked(path).map(|listing| listing.files)
}

/// The [files of a path](followed_files).
fn looked(path: &Path) -> Result<Listing, SourceError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_pattern(path) => Ok(Default::default()),
        // Not asked again: it may be renamed by then.
        Ok(facts) if !facts.is_dir() => Ok(Listing { files: vec![path.to_owned()], ..Listing::default() }),
        _ => followed_files(path),
    }
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The name of a file by which all processes know it, wherever it lies for each: what follows the part of the
/// path that has no pattern in it.
pub(super) fn name_within(path: &Path, file: &Path) -> String {
    if path == file {
        return String::new();
    }
    let parts = |path| Path::components(path).filter(|part| *part != Component::CurDir);
    let is_fixed = |part: &Component<'_>| {
        path.is_dir() || !part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
    };
    let fixed = parts(path).take_while(is_fixed).count();
    parts(file).skip(fixed).collect::<PathBuf>().to_string_lossy().into_owned()
}
