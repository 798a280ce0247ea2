//! The publication of releases: on a thread of its own, into a sink, at once or by a public clock.
//!
//! A replay releases a window as soon as it is ready. A live run releases a window at its end, its lateness
//! and the slack after it; a window that is not ready then waits for the next whole slack. So the time at
//! which a line comes out reveals nothing of its content.
//!
//! Lines of several releases come in the order in which the gate gave out their rows, whichever reaches this
//! thread first.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use glob::{MatchOptions, Pattern};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::processes::OperatorNotice;
use super::*;
use crate::dataflow::{Clock, LeavingRelease, RunError};
use crate::job::config::ReleaseSpec;
use crate::job::paths::same_file;
use crate::job::sinks::Sink;
use crate::ledger::place::{beside, directory};
use crate::mechanisms::release_line::{ReleaseLine, Says};
use crate::time::{Span, Time, at};

/// The time at which a release may leave.
pub(crate) enum PublicationSchedule {
    AtOnce,
    OnTime { clock: Arc<dyn Clock>, late: Option<Span>, slack: Span },
}

/// A switch by which a run goes on in the file that has the name of its output now, after the old one was
/// moved away.
#[derive(Clone, Debug, Default)]
pub struct Reopen(Arc<AtomicBool>);

impl Reopen {
    /// A switch that is off.
    pub fn new() -> Reopen {
        Reopen::default()
    }

    /// Requests it, once.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// The parts that are needed to go on in another file.
pub(crate) struct Rotation {
    pub(crate) reopen: Reopen,
    pub(crate) path: PathBuf,
    pub(crate) notice: Option<OperatorNotice>,
    /// True once the operator knows that the file has no name any more.
    pub(crate) is_reported: bool,
}

/// The destination of releases.
pub(crate) struct Outlet {
    pub(crate) sink: Option<Sink>,
    /// The rotation, where the sink may be given another file.
    pub(crate) rotation: Option<Rotation>,
    /// Called once where the file of the sink begins after a row that was delivered elsewhere.
    pub(crate) left_out: Option<OperatorNotice>,
    /// True where releases that were delivered before are left out: of a sink that cannot report its content.
    pub(crate) skip_delivered: bool,
    pub(crate) when: PublicationSchedule,
    /// Called with each answer that leaves at a later tick than the first one after its question.
    pub(crate) on_missed: Option<Box<dyn FnMut() + Send>>,
    /// Called with each release after the sink has it.
    pub(crate) on_delivered: Box<dyn FnMut(&LeavingRelease) + Send>,
}

/// The publishing thread.
pub(crate) struct Publisher {
    releases: Sender<LeavingRelease>,
    over: Sender<RunEnd>,
    thread: JoinHandle<Option<RunError>>,
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    /// The run is complete, and all its releases are on their way.
    Ended,
    /// Releases that are not due stay with the ledger, and the next process publishes them.
    Stopped,
}

/// The number of releases that are made durable together.
const GROUP: usize = 256;
/// The time for which a reading of a clock that may be set is trusted.
const GLANCE: Duration = Duration::from_millis(20);

impl Publisher {
    pub(crate) fn start(outlet: Outlet) -> Result<Publisher, RunError> {
        let (releases, inbox) = unbounded();
        let (over, ended) = unbounded();
        let thread = std::thread::Builder::new().name("publish".into());
        let thread = thread.spawn(move || ReleaseBuffer::new(outlet).serve(&inbox, &ended));
        let thread = thread.map_err(|error| RunError::configuration(format!("threads: {error}")))?;
        Ok(Publisher { releases, over, thread })
    }

    /// The channel into the thread.
    pub(crate) fn inlet(&self) -> Sender<LeavingRelease> {
        self.releases.clone()
    }

    /// Waits until every release has left that may; returns the error of the sink, if one kept a release
    /// back.
    pub(crate) fn end(self, stopped: bool) -> Option<RunError> {
        let _ = self.over.send(if stopped { RunEnd::Stopped } else { RunEnd::Ended });
        self.thread.join().ok().flatten()
    }
}

/// Releases that wait for their time.
struct ReleaseBuffer {
    outlet: Outlet,
    /// Releases that came before one which the gate gave out earlier, by their order.
    early: BTreeMap<u64, LeavingRelease>,
    /// The number of the release that is next.
    next: u64,
    /// The waiting releases in the order in which the gate gave them out, and so in order of their time.
    waiting: Vec<(Time, LeavingRelease)>,
    /// The error for which the sink took no more.
    refused: Option<RunError>,
    /// The time at which the run began.
    begun: Time,
}

impl ReleaseBuffer {
    fn new(outlet: Outlet) -> ReleaseBuffer {
        let begun = match &outlet.when {
            PublicationSchedule::AtOnce => Time::MIN,
            PublicationSchedule::OnTime { clock, .. } => clock.now(),
        };
        ReleaseBuffer { outlet, early: BTreeMap::new(), next: 0, waiting: Vec::new(), refused: None, begun }
    }

    fn serve(mut self, inbox: &Receiver<LeavingRelease>, ended: &Receiver<RunEnd>) -> Option<RunError> {
        let mut over = None;
        loop {
            match inbox.recv_timeout(if over.is_none() { self.poll_interval() } else { Duration::ZERO }) {
                Ok(release) => self.receive(release),
                // The other end is held by workers that may have been left as they were.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    over = over.or_else(|| ended.try_recv().ok());
                }
            }
            if over == Some(RunEnd::Ended) && inbox.is_empty() {
                // A release that has not come by now, after its worker has ended, never comes.
                std::mem::take(&mut self.early).into_values().for_each(|release| self.shelve(release));
            }
            inbox.try_iter().take(GROUP).for_each(|release| self.receive(release));
            self.outlet.reopen_if_asked();
            if !self.publish_due() {
                return self.refused.take();
            }
            match over {
                None => {}
                Some(RunEnd::Stopped) if inbox.is_empty() => return None,
                Some(RunEnd::Ended) if inbox.is_empty() && self.waiting.is_empty() => return None,
                Some(_) if inbox.is_empty() => std::thread::sleep(GLANCE),
                Some(_) => {}
            }
        }
    }

    fn receive(&mut self, release: LeavingRelease) {
        self.early.insert(release.order(), release);
        while let Some(release) = self.early.remove(&self.next) {
            self.next += 1;
            self.shelve(release);
        }
    }

    fn shelve(&mut self, release: LeavingRelease) {
        let due = match &self.outlet.when {
            PublicationSchedule::AtOnce => Time::MIN,
            PublicationSchedule::OnTime { clock, late, slack } => {
                let (late, slack) = (late.map_or(0, Span::as_microseconds), slack.as_microseconds());
                let now = clock.now();
                let is_answer = release.row().release().part.is_some();
                let asked = if is_answer { asked_about(release.line()) } else { None };
                let until = match asked {
                    // The window of an answer is all that was paid for.
                    Some((_, until)) => until,
                    None if is_answer => now,
                    None => release.window().end(),
                };
                let close = until.saturating_add(late);
                // At the first tick, an answer that was counted sooner would show how few records there were.
                let ready = asked.map_or(now, |(asked, _)| held_until(asked, now, slack));
                let due = tick(close, ready, slack);
                // A question of a time before the run was not asked then.
                if asked.is_some_and(|(asked, _)| asked >= self.begun && misses(close, asked, due, slack))
                    && let Some(on_missed) = &mut self.outlet.on_missed
                {
                    on_missed();
                }
                due
            }
        };
        // Never before a release that the gate gave out earlier.
        let due = self.waiting.last().map_or(due, |(last, _)| due.max(*last));
        self.waiting.push((due, release));
    }

    fn poll_interval(&self) -> Duration {
        if self.waiting.is_empty() { 5 * GLANCE } else { GLANCE }
    }

    /// Publishes the due releases; returns false once the sink has failed.
    fn publish_due(&mut self) -> bool {
        let now = match &self.outlet.when {
            PublicationSchedule::AtOnce => Time::MAX,
            PublicationSchedule::OnTime { clock, .. } => clock.now(),
        };
        let due = self.waiting.partition_point(|(due, _)| *due <= now);
        let leaving: Vec<LeavingRelease> = self.waiting.drain(..due).map(|(_, release)| release).collect();
        let Some(last) = leaving.last() else { return true };
        if last.is_run_over() {
            // A sink takes releases in order: the ones after a failure stay undelivered.
            return true;
        }
        match self.outlet.take(&leaving) {
            Ok(()) => {
                leaving.iter().for_each(LeavingRelease::delivered);
                leaving.iter().for_each(&mut self.outlet.on_delivered);
                true
            }
            Err(error) => {
                last.refused_by_sink(&error);
                self.refused = Some(RunError::sink(&error));
                false
            }
        }
    }
}

impl Outlet {
    /// An outlet without a sink, which releases leave at once.
    pub(crate) fn at_once(on_delivered: Box<dyn FnMut(&LeavingRelease) + Send>) -> Outlet {
        Outlet {
            sink: None,
            rotation: None,
            left_out: None,
            skip_delivered: false,
            when: PublicationSchedule::AtOnce,
            on_missed: None,
            on_delivered,
        }
    }

    fn reopen_if_asked(&mut self) {
        let (Some(sink), Some(Rotation { reopen, path, notice, is_reported })) =
            (&mut self.sink, &mut self.rotation)
        else {
            return;
        };
        if reopen.take()
            && let Err(trouble) = sink.reopen(path)
            && let Some(notice) = notice
        {
            notice(&format!("{trouble}; lines go on in the file that was open"));
        }
        if sink.is_removed()
            && !std::mem::replace(is_reported, true)
            && let Some(notice) = notice
        {
            notice(&format!(
                "--out: {} was removed while it is written to, and its lines with it; stop the run, and start it with the path \
                 of a new file, which receives them from the ledger",
                path.display()
            ));
        }
    }

    fn take(&mut self, releases: &[LeavingRelease]) -> io::Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        for release in releases {
            let is_known = self.skip_delivered && release.row().is_delivered();
            if !is_known && !release.is_repeated() {
                sink.put(release.row())?;
            }
        }
        sink.settle()?;
        if let Some(path) = sink.begins_late()
            && let Some(notice) = self.left_out.take()
        {
            notice(&format!(
                "{}: it begins after windows that were written to another file, and they are not written again; give the path \
                 of a new file for all windows",
                path.display()
            ));
        }
        Ok(())
    }
}

/// Returns the time of a question, and the end of the window that it is about.
fn asked_about(line: &str) -> Option<(Time, Time)> {
    match ReleaseLine::read(line)?.says {
        Says::Answer(answer) => at(&answer.at).ok().zip(at(answer.version.end?).ok()),
        _ => None,
    }
}

/// Returns the time before which an answer does not leave: a slack after its question. A time of a question that has not come says
/// nothing of when it was counted.
fn held_until(asked: Time, now: Time, slack: i64) -> Time {
    if asked > now { now } else { now.max(asked.saturating_add(slack)) }
}

/// Returns true if an answer leaves later than at the first tick that is a slack after its question.
fn misses(close: Time, asked: Time, due: Time, slack: i64) -> bool {
    due > tick(close, asked.saturating_add(slack), slack)
}

/// The first of the ticks of a window that is not past: one slack after it closes, or some whole slacks later.
fn tick(close: Time, now: Time, slack: i64) -> Time {
    let first = close.saturating_add(slack);
    let behind = now.saturating_sub(first).max(0);
    let slacks = behind / slack + i64::from(behind % slack > 0);
    first.saturating_add(slacks.saturating_mul(slack))
}

// The output of a run: a file that is none of the job's own, a pipe, or standard output.

/// The time between two looks for a reader of a pipe.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time after which the operator is notified that a pipe has no reader.
const NOTICE_AFTER: Duration = Duration::from_secs(1);

/// Opens the sink of a run: a file, or standard output.
pub(super) fn sink(job: &Job, out: Option<&Path>, demo: bool, wait: Wait<'_>) -> Result<Sink, RunError> {
    let Some(path) = named(out) else { return Sink::stdout(demo).map_err(|error| RunError::sink(&error)) };
    job.keeps_apart("--out", path, None)?;
    if !demo && is_pipe(path) {
        // An error of the ledger is reported before the wait for a reader.
        job.ledger()?;
    }
    // Open until the sink is: a pipe whose last writer has left is at its end.
    let _pipe = wait.for_a_reader(path)?;
    let mut sink = Sink::file(path, demo).map_err(of_out)?;
    if job.releases.iter().any(ReleaseSpec::has_rollup_or_covariance) {
        sink.widen();
    }
    if let (Some(path), Some(notice)) = (sink.lacks_columns(), wait.notice) {
        notice(&format!(
            "{}: it has the columns of a job without roll-ups and covariances, and keeps them, so theirs are not in it; give \
             the path of a new file for all columns",
            path.display()
        ));
    }
    Ok(sink)
}

/// Returns true for a named pipe.
pub(super) fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

/// The file of an output; `None` where it is standard output, by the name `-` too.
pub(super) fn named(out: Option<&Path>) -> Option<&Path> {
    out.filter(|path| *path != Path::new("-"))
}

/// A wait for the reader of a pipe: the switch that ends it, and the notice to the operator.
pub(super) struct Wait<'w> {
    pub(super) stop: &'w Stop,
    pub(super) notice: Option<&'w OperatorNotice>,
}

impl Wait<'_> {
    /// Opens a named pipe once it has a reader: opening it otherwise would wait for one, and notice no
    /// signal.
    fn for_a_reader(&self, path: &Path) -> Result<Option<File>, RunError> {
        if !is_pipe(path) {
            return Ok(None);
        }
        let at_once = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let (began, mut notified) = (Instant::now(), false);
        loop {
            match OpenOptions::new().write(true).custom_flags(at_once).open(path) {
                Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {}
                // The sink reports any other error.
                opened => return Ok(opened.ok()),
            }
            if self.stop.is_stopped() {
                let message =
                    format!("--out: {} is a pipe that nobody reads; start its reader", path.display());
                return Err(RunError::configuration(message));
            }
            if !notified && began.elapsed() > NOTICE_AFTER {
                notified = true;
                if let Some(notice) = self.notice {
                    notice(&format!(
                        "--out: {} is a pipe that nobody reads; it is waited for",
                        path.display()
                    ));
                }
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Job {
    /// Refuses a path that is one of the job's own files (its job file, source, ledger, key or anchor) or its
    /// output.
    ///
    /// # Errors
    ///
    /// Names the field whose file it is.
    pub fn keeps_apart(&self, option: &str, path: &Path, out: Option<&Path>) -> Result<(), RunError> {
        // A pipe or a device keeps nothing, and may be the source too.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok(());
        }
        let mut files = self.own_files(path).into_iter().chain(out.map(|out| ("--out", out.to_owned())));
        let own = files.find(|(_, own)| same_file(own, path)).map(|(field, _)| field);
        let Some(field) = own.or_else(|| self.reads(path).then_some("source.path")) else {
            return Ok(());
        };
        Err(RunError::configuration(format!(
            "{option}: {} is the file of {field}; give the path of another file",
            path.display()
        )))
    }

    /// Returns true if the source reads a file at this path: one of its directory, or one that its pattern matches.
    fn reads(&self, path: &Path) -> bool {
        let Some(SourcePlace::Files(source)) = self.source.records.place() else { return false };
        let (Ok(place), Some(name)) = (directory(path).canonicalize(), path.file_name()) else {
            return false;
        };
        if source.is_dir() {
            return source.canonicalize().is_ok_and(|source| source == place)
                && !name.as_encoded_bytes().starts_with(b".");
        }
        // The directories before the first mark of a pattern are those of a path.
        let is_mark = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let plain: PathBuf = source.components().take_while(|part| !is_mark(part)).collect();
        let rest: PathBuf = source.components().skip_while(|part| !is_mark(part)).collect();
        let plain = if plain.as_os_str().is_empty() { PathBuf::from(".") } else { plain };
        let Ok(plain) = plain.canonicalize() else { return false };
        let pattern = format!("{}/{}", Pattern::escape(&plain.to_string_lossy()), rest.to_string_lossy());
        let rules = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        !rest.as_os_str().is_empty()
            && Pattern::new(&pattern).is_ok_and(|pattern| pattern.matches_path_with(&place.join(name), rules))
    }

    /// The job's own files, with the fields that name them; of its locks, the one of this name.
    fn own_files(&self, name: &Path) -> Vec<(&'static str, PathBuf)> {
        let privacy = &self.privacy;
        let mut own = vec![("the job", self.file.path().to_owned()), ("privacy.key", privacy.key.clone())];
        if let Some(SourcePlace::Files(source)) = self.source.records.place() {
            own.push(("source.path", source.clone()));
        }
        let questions = self.asks.iter().filter_map(|ask| ask.questions.clone());
        own.extend(questions.map(|path| ("ask.questions", path)));
        own.extend(
            self.asks.iter().flat_map(|ask| ask.tokens.values().map(|path| ("ask.tokens", path.clone()))),
        );
        own.extend(privacy.anchor.iter().map(|anchor| ("privacy.anchor", anchor.clone())));
        if !privacy.ledger.to_string_lossy().contains("://") {
            // SQLite puts its files beside the one that a symbolic link leads to.
            let ledger = privacy.ledger.canonicalize().unwrap_or_else(|_| privacy.ledger.clone());
            let suffixes = ["", "-wal", "-shm", "-journal", ".repaired"];
            own.extend(suffixes.map(|suffix| ("privacy.ledger", beside(&ledger, suffix))));
            let lock = name.file_name().and_then(|name| name.to_str());
            let lock = lock.filter(|name| name.starts_with("ledger-") && name.ends_with(".lock"));
            own.extend(lock.map(|lock| ("privacy.ledger", directory(&ledger).join(lock))));
        }
        own
    }
}

/// Names the option in the refusal of an output.
pub(super) fn of_out(trouble: LedgerError) -> RunError {
    LedgerError::refused(format!("--out {trouble}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes an output that the source would read: by its directory, a pattern, or a pattern through directories.
    #[test]
    fn an_output_is_none_of_the_records() {
        let place = std::env::temp_dir().join(format!("discreet-publish-{}", std::process::id()));
        std::fs::create_dir_all(place.join("logs/deep")).unwrap();
        let text = std::fs::read_to_string("config/retail.toml").unwrap();
        let is_kept_apart = |source: &str, out: &str| {
            let text = text.replace("\"retail.csv.gz\"", &format!("{source:?}"));
            let job = Job::parse(place.join("job.toml"), &text).unwrap();
            match job.keeps_apart("--out", &place.join(out), None) {
                Ok(()) => true,
                Err(error) => {
                    assert!(error.to_string().contains("source.path"), "{error}");
                    false
                }
            }
        };
        for (source, out, is_apart) in [
            ("logs", "logs/out.jsonl", false),
            ("logs", "logs/.out.jsonl", true),
            ("logs", "out.jsonl", true),
            ("logs/*.csv", "logs/out.csv", false),
            ("logs/*.csv", "logs/deep/../out.csv", false),
            ("logs/*.csv", "logs/out.jsonl", true),
            ("logs/*.csv", "logs/deep/out.csv", true),
            ("logs/**/*.csv", "logs/deep/out.csv", false),
            ("log-*.csv", "log-out.csv", false),
            ("log-*.csv", "out.csv", true),
        ] {
            assert_eq!(is_kept_apart(source, out), is_apart, "{source} {out}");
        }
        std::fs::remove_dir_all(place).unwrap();
    }

    // Refutes a line that leaves when it is ready, which depends on the data.
    #[test]
    fn what_is_not_ready_waits_for_the_next_whole_slack() {
        for (now, due) in [(0, 110), (109, 110), (110, 110), (111, 120), (120, 120), (121, 130), (999, 1000)]
        {
            assert_eq!(tick(100, now, 10), due, "at {now}");
        }
        assert_eq!(tick(Time::MAX, 0, 10), Time::MAX);
    }

    // Refutes an answer that is counted although it leaves at the first tick, and one that is not although it leaves later.
    #[test]
    fn an_answer_after_the_first_tick_has_missed_it() {
        for (asked, due, missed) in
            [(100, 110, false), (100, 120, true), (101, 120, false), (101, 130, true), (9_999, 10_010, false)]
        {
            assert_eq!(misses(100, asked, due, 10), missed, "{asked} {due}");
        }
    }

    // Refutes an answer that leaves at an earlier tick because there was little to count, and one that is held for a time to come.
    #[test]
    fn an_answer_that_is_counted_at_once_leaves_when_a_slow_one_does() {
        let due = |asked: Time, now: Time| tick(100, held_until(asked, now, 10), 10);
        // Asked at 203: the first tick that is a slack later is 220, however soon it was counted.
        for (now, leaves) in [(203, 220), (209, 220), (211, 220), (220, 220), (221, 230)] {
            assert_eq!(due(203, now), leaves, "counted at {now}");
            assert_eq!(misses(100, 203, due(203, now), 10), leaves > 220);
        }
        assert_eq!(due(9_000, 203), 210);
        assert_eq!(due(50, 203), 210);
    }

    // Refutes an answer that waits for the time of its question, which an analyst states, and holds up what comes behind it.
    #[test]
    fn an_answer_has_its_ticks_from_the_end_of_its_window() {
        let line = |rest: &str| {
            format!(
                r#"{{"release":"study","window":{{"start":"1970-01-01T00:00:00Z","end":"1970-01-09T00:00:00Z"}},"part":"5f","question":"q","analyst":"ann","at":"9000-12-31T00:00:00Z","asked":"count where all","version":{{"start":"1970-01-01T00:00:00Z","end":"1970-01-01T00:00:09Z"}},{rest},"used":1,"left":2,"id":"7a","promise":"lifetime"}}"#
            )
        };
        let value = r#""value":1,"interval":[0,2],"confidence":1,"noise":{"kind":"bounded","shape":"laplace:1","bound":1,"scale":1}"#;
        for rest in [value, r#""refused":"bundle""#] {
            assert_eq!(
                asked_about(&line(rest)),
                Some((at("9000-12-31T00:00:00Z").unwrap(), 9_000_000)),
                "{rest}"
            );
        }
    }
}
