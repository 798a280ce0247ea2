//! The watch over a live run: its server, its alerts and the command for them, its status line, and the
//! report that is rewritten while it runs.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use discreet::alert::{Alert, Alerts};
use discreet::dataflow::Stop;
use discreet::job::config::WatchSpec;
use discreet::job::{
    FormerListener, Job, Live, OpenedListener, Processes, ReleaseListener, VitalSigns, Vitals,
};
use discreet::watch::{
    LiveHeading, LiveRun, OperatorStatus, ReceivedBatches, Report, WatchServer, WatchSettings,
};

use super::alert_command::AlertCommand;
use super::observers::{RunReport, heading};
use super::service::WorkerTurns;
use super::{Refusal, asking, log};

/// The time between two looks at the run.
const GLANCE: Duration = Duration::from_millis(250);
/// The time between two status lines.
const STATUS: Duration = Duration::from_secs(60);
/// The time between two versions of the report.
const REWRITE: Duration = Duration::from_secs(5);
/// The time after which a source whose watermark stands still is reported.
const STALL: Duration = Duration::from_secs(60);
/// The time that is long for a ledger's window.
const SLOW: Duration = Duration::from_secs(1);
/// The time without a new record of a file after which it is named, if none of them was in a window.
const SETTLED: Duration = Duration::from_secs(2);
/// The most warnings of a run about files of which every record lies before the first window.
const NAMED: usize = 10;
/// The most files that one of them names.
const SHOWN: usize = 3;
/// The time without a late record after which the next one is reported again.
const IN_TIME: Duration = Duration::from_secs(3_600);

/// The watch over a run, until it is dropped.
pub(crate) struct RunWatch {
    live: LiveRun,
    vitals: Vitals,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    server: Option<WatchServer>,
}

impl RunWatch {
    /// Begins to watch a run, before it begins. A process without the ledger serves nothing.
    pub(crate) fn start(
        job: &Job,
        run: &Live,
        processes: Option<&Processes>,
        report: Option<Arc<Mutex<RunReport>>>,
    ) -> Result<RunWatch, Refusal> {
        let Live { vitals, stop, questions, .. } = run;
        let WatchSpec { listen, operator, budget, .. } = &job.watch;
        let alerts = Alerts::new();
        // A share is in units of 10^-18, and a threshold in 10^-4.
        let thresholds = budget.iter().map(|part| (part.parts() / 10u64.pow(14)) as u32).collect();
        let live = LiveHeading { heading: heading(job, false), version: job.version, thresholds };
        let live = LiveRun::new(live, alerts.clone());
        if let Some(command) = AlertCommand::of(job) {
            command.warning().iter().for_each(|warning| log::operator(warning));
            let commands = command.start()?;
            alerts.listen(move |alert| {
                if commands.try_send(alert.clone()).is_err() {
                    log::operator("watch.exec: 16 alerts wait for their command already; this one has none");
                }
            });
        }
        let (rate, turns) =
            (Arc::new(Mutex::new(RecordRate::default())), Arc::new(Mutex::new(WorkerTurns::new())));
        let first = processes.is_none_or(|processes| processes.process == 0);
        let server = match listen {
            Some(_) if !first => {
                log::operator("watch: this process serves nothing; process 0 does, which holds the ledger");
                None
            }
            Some(address) => {
                let settings =
                    WatchSettings { listen: *address, token: job.watch_token()?, operator: *operator };
                let (view, rate, stop, turns) =
                    (vitals.clone(), Arc::clone(&rate), stop.clone(), Arc::clone(&turns));
                let view = move || {
                    let rate = lock(&rate).by_second();
                    let alive = lock(&turns).are_alive(stop.turns(), Instant::now());
                    operator_status(&view.signs(), (rate, alive, stop.is_stopped()))
                };
                let asks = asking::settings(job, questions)?;
                let started = WatchServer::start(settings, live.clone(), Box::new(view), asks);
                let server = started.map_err(|error| match error.kind() {
                    ErrorKind::InvalidInput => Refusal::new(error.to_string()),
                    _ => {
                        let message = format!(
                            "watch.listen: {address} cannot be listened at ({error}); give an address of this machine with \
                             a free port"
                        );
                        // The address of a running job is in use by that job.
                        let running = job.running_already().filter(|_| error.kind() == ErrorKind::AddrInUse);
                        running.map_or_else(|| Refusal::new(message), Refusal::from)
                    }
                })?;
                log::operator(&format!("watch: http://{}/", server.address()));
                Some(server)
            }
            None => None,
        };
        let over = Arc::new(AtomicBool::new(false));
        let watcher = Watcher {
            live: live.clone(),
            vitals: vitals.clone(),
            alerts,
            report,
            over: Arc::clone(&over),
            rate,
            turns: (turns, stop.clone()),
            moved: (None, 0, Instant::now()),
            late: None,
            before: None,
            // Another process may read the records that lie in windows, and the segments of a spool are no files of the sender.
            files: (processes.is_none() && job.source.http.is_none()).then_some(0),
        };
        let thread = std::thread::Builder::new().name("watch".into()).spawn(move || watcher.watch());
        let thread = thread.map_err(|error| Refusal::new(format!("threads: {error}")))?;
        Ok(RunWatch { live, vitals: vitals.clone(), over, thread: Some(thread), server })
    }

    /// A listener that shows the lines that have left.
    pub(crate) fn listener(&self) -> ReleaseListener {
        let (live, vitals, mut begun) = (self.live.clone(), self.vitals.clone(), false);
        Box::new(move |lines, status| {
            // The first window may leave before the thread has looked at the ledger's budget.
            if !begun && let Some(before) = vitals.budget_at_start() {
                live.begin(&before);
            }
            begun = true;
            live.add(lines, status);
        })
    }

    /// A listener that shows the cap of the account.
    pub(crate) fn opened_listener(&self) -> OpenedListener {
        let live = self.live.clone();
        Box::new(move |account| live.state_cap(account.cap()))
    }

    /// A listener that says on the pages that older lines are not shown.
    pub(crate) fn left_out_listener(&self) -> Box<dyn FnOnce() + Send> {
        let live = self.live.clone();
        Box::new(move || live.leave_out())
    }

    /// The report of the run so far.
    pub(crate) fn report(&self) -> Report {
        // A short run may end before the thread has looked at the ledger's budget.
        if let Some(before) = self.vitals.budget_at_start() {
            self.live.begin(&before);
        }
        self.live.report()
    }

    /// A listener that shows the lines that left before the run.
    pub(crate) fn former_listener(&self) -> FormerListener {
        let live = self.live.clone();
        Box::new(move |lines| live.recall(lines))
    }
}

impl Drop for RunWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        drop(self.server.take());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The records of the last seconds.
#[derive(Debug, Default)]
struct RecordRate(VecDeque<(Instant, u64)>);

impl RecordRate {
    /// The time over which the rate is taken.
    const OVER: Duration = Duration::from_secs(10);

    /// Adds the number of records that were read by this time.
    fn add(&mut self, records: u64, now: Instant) {
        self.0.push_back((now, records));
        while self.0.get(1).is_some_and(|(second, _)| now.duration_since(*second) >= Self::OVER) {
            self.0.pop_front();
        }
    }

    /// Returns the records of a second; `None` before there is a second to count.
    fn by_second(&self) -> Option<f64> {
        let ((since, before), (now, records)) = (self.0.front()?, self.0.back()?);
        let seconds = now.duration_since(*since).as_secs_f64();
        (seconds >= 1.0).then(|| records.saturating_sub(*before) as f64 / seconds)
    }
}

/// The reason for which no window can leave at present.
fn waits(signs: &VitalSigns, is_stopped: bool) -> Option<&'static str> {
    if is_stopped {
        Some("the run drains")
    } else if !signs.begun {
        Some("the ledger is being opened")
    } else if signs.caught_up.is_none() {
        Some("the input that was there is still being read")
    } else if signs.clock_held {
        Some("the clock is in doubt")
    } else {
        None
    }
}

fn operator_status(
    signs: &VitalSigns,
    (rate, alive, is_stopped): (Option<f64>, bool, bool),
) -> OperatorStatus {
    OperatorStatus {
        alive,
        waits: waits(signs, is_stopped),
        records: signs.records.records,
        rate,
        late: signs.records.late,
        ahead: signs.records.ahead,
        before: signs.records.before,
        position_age: signs.position_age,
        rows: signs.rows,
        missed: signs.missed,
        lag: signs.lag,
        read: signs.read,
        bad: signs.bad,
        open: signs.open,
        ledger: signs.ledger.map(|took| took.as_secs_f64()),
        memory: memory_stats::memory_stats().map(|stats| stats.physical_mem as u64),
        received: signs.received.map(|received| ReceivedBatches {
            batches: received.batches,
            repeated: received.repeated,
            records: received.records,
            refused: received.refused,
            held: received.held,
        }),
    }
}

/// The thread that looks at the run.
struct Watcher {
    live: LiveRun,
    vitals: Vitals,
    alerts: Alerts,
    report: Option<Arc<Mutex<RunReport>>>,
    over: Arc<AtomicBool>,
    rate: Arc<Mutex<RecordRate>>,
    turns: (Arc<Mutex<WorkerTurns>>, Stop),
    /// The watermark, the bytes that were read, and the time since which the watermark stands.
    moved: (Option<i64>, u64, Instant),
    /// The number of late records, and the time of the look that found the last one. Those before the input was complete for the first
    /// time belong to windows that were closed before a restart.
    late: Option<(u64, Instant)>,
    /// The same of records before the first window: those that are there at the start of a run are no news.
    before: Option<(u64, Instant)>,
    /// The number of warnings about files, where files are named.
    files: Option<usize>,
}

impl Watcher {
    fn watch(mut self) {
        let (mut started, mut status, mut written) = (false, Instant::now(), (0, Instant::now()));
        while !self.over.load(Ordering::SeqCst) {
            std::thread::sleep(GLANCE);
            if !started && self.vitals.is_connected() {
                started = true;
                self.moved.2 = Instant::now();
                if let Some(status) = self.vitals.budget_at_start() {
                    self.live.begin(&status);
                }
            }
            if started {
                let (signs, now) = (self.vitals.signs(), Instant::now());
                lock(&self.rate).add(signs.records.records, now);
                lock(&self.turns.0).are_alive(self.turns.1.turns(), now);
                self.look(&signs, now);
                self.name_files(SETTLED);
            }
            if started && status.elapsed() >= STATUS {
                status = Instant::now();
                log::operator(&self.vitals.to_string());
            }
            let version = self.live.version();
            if let Some(report) = &self.report
                && version != written.0
                && written.1.elapsed() >= REWRITE
            {
                written = (version, Instant::now());
                let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                report.show(self.live.report());
                if let Err(refusal) = report.rewrite() {
                    log::operator(&format!("{refusal}"));
                }
            }
        }
        self.name_files(Duration::ZERO);
    }

    /// Raises and clears the alerts that follow from the state of the process.
    fn look(&mut self, signs: &VitalSigns, now: Instant) {
        let (watermark, read, since) = self.moved;
        if signs.caught_up != watermark {
            self.moved = (signs.caught_up, signs.read, now);
            self.alerts.clear(&Alert::SourceStalled);
            self.alerts.clear(&Alert::Behind);
        } else if now.duration_since(since) >= STALL {
            let reads = signs.read != read;
            self.alerts.raise(if reads { Alert::Behind } else { Alert::SourceStalled });
        }
        if signs.caught_up.is_some() {
            let late = signs.records.late;
            count(&self.alerts, &Alert::LateRecords, (late, now), &mut self.late);
            let before = signs.records.before;
            count(&self.alerts, &Alert::RecordsBeforeStart, (before, now), &mut self.before);
        }
        match signs.ledger {
            Some(took) if took > SLOW => self.alerts.raise(Alert::SlowLedger),
            _ => self.alerts.clear(&Alert::SlowLedger),
        }
        match signs.clock_held {
            true => self.alerts.raise(Alert::ClockHeld),
            false => self.alerts.clear(&Alert::ClockHeld),
        }
    }

    /// Names the files of which no record that was read lies in a window, since all lie before the first one.
    fn name_files(&mut self, settled: Duration) {
        let Some(named) = self.files.as_mut().filter(|named| **named <= NAMED) else { return };
        let files = self.vitals.take_files_before(settled);
        if files.is_empty() {
            return;
        }
        *named += 1;
        if *named > NAMED {
            log::warn_operator("there are more files before job.from, and they are not named");
        } else {
            log::warn_operator(&before_start(&files));
        }
    }
}

/// Says that files, of which there is one, have no record in a window.
fn before_start(files: &[Arc<str>]) -> String {
    let shown: Vec<&str> = files.iter().take(SHOWN).map(|file| &**file).collect();
    let (files, them) = match (files.len().saturating_sub(SHOWN), &shown[..]) {
        (0, [file]) => ((*file).to_owned(), "it"),
        (0, [others @ .., last]) => (format!("{} and {last}", others.join(", ")), "them"),
        (more, _) => (format!("{} and {more} more", shown.join(", ")), "them"),
    };
    format!(
        "{files}: all records that were read of {them} lie before job.from, where there is no window, and are in none"
    )
}

/// Raises an alert about records once there are more of them than at the last look, and clears it after an hour without.
fn count(alerts: &Alerts, alert: &Alert, (count, now): (u64, Instant), known: &mut Option<(u64, Instant)>) {
    let (known, since) = known.get_or_insert((count, now));
    if count > *known {
        (*known, *since) = (count, now);
        alerts.raise(alert.clone());
    } else if now.duration_since(*since) >= IN_TIME {
        alerts.clear(alert);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a job that reads a backlog and is said to have lost its source, and an alert at the first look.
    #[test]
    fn a_watermark_that_stands_for_a_minute_is_reported_once() {
        let (alerts, now) = (Alerts::new(), Instant::now());
        let live = LiveRun::new(LiveHeading::default(), alerts.clone());
        let over = Arc::new(AtomicBool::new(false));
        let (moved, rate) = ((None, 0, now), Arc::default());
        let turns = (Arc::new(Mutex::new(WorkerTurns::new())), Stop::new());
        let mut watcher = Watcher {
            live,
            vitals: Vitals::new(),
            alerts: alerts.clone(),
            report: None,
            over,
            moved,
            late: None,
            before: None,
            files: None,
            rate,
            turns,
        };
        let signs = |caught_up, read| {
            let mut signs = VitalSigns::default();
            (signs.caught_up, signs.read, signs.ledger) = (caught_up, read, Some(Duration::from_millis(3)));
            signs
        };
        let counts = || ["behind", "source_stalled", "slow_ledger"].map(|kind| alerts.count(kind));
        let held = |is_held| {
            let mut signs = VitalSigns::default();
            signs.clock_held = is_held;
            signs
        };
        for is_held in [false, true, true, false, true] {
            watcher.look(&held(is_held), now);
        }
        assert_eq!(alerts.count("clock_held"), 2, "once for each hold");
        let after = |seconds| now + Duration::from_secs(seconds);
        watcher.look(&signs(None, 100), after(59));
        assert_eq!(counts(), [0, 0, 0]);
        watcher.look(&signs(None, 100), after(60));
        watcher.look(&signs(None, 200), after(61));
        assert_eq!(counts(), [1, 0, 0], "a backlog");
        watcher.look(&signs(Some(1), 300), after(62));
        watcher.look(&signs(Some(1), 300), after(121));
        assert_eq!(counts(), [1, 0, 0]);
        watcher.look(&signs(Some(1), 300), after(122));
        watcher.look(&signs(Some(1), 300), after(200));
        assert_eq!(counts(), [1, 1, 0], "a source that is gone");
        let mut slow = signs(Some(2), 300);
        slow.ledger = Some(Duration::from_millis(1001));
        watcher.look(&slow, after(201));
        assert_eq!(counts(), [1, 1, 1]);
        // Those that a restart reads again are not late.
        let late = |caught_up, late| {
            let mut signs = signs(caught_up, 300);
            signs.records.late = late;
            signs
        };
        watcher.late = None;
        let hour = 3_600;
        for (look, count) in
            [(late(None, 10), 0), (late(Some(3), 20), 0), (late(Some(4), 21), 1), (late(Some(5), 22), 1)]
        {
            watcher.look(&look, after(202));
            assert_eq!(alerts.count("late_records"), count);
        }
        watcher.look(&late(Some(6), 22), after(201 + hour));
        watcher.look(&late(Some(7), 23), after(201 + hour));
        assert_eq!(alerts.count("late_records"), 1, "less than an hour without one");
        watcher.look(&late(Some(8), 23), after(201 + 2 * hour));
        watcher.look(&late(Some(9), 24), after(202 + 2 * hour));
        assert_eq!(alerts.count("late_records"), 2);
        let before = |before| {
            let mut signs = signs(Some(3), 300);
            signs.records.before = before;
            signs
        };
        watcher.before = None;
        for (look, count) in [(before(10), 0), (before(10), 0), (before(11), 1), (before(12), 1)] {
            watcher.look(&look, after(202));
            assert_eq!(alerts.count("records_before_start"), count);
        }
    }

    #[test]
    fn files_before_the_first_window_are_named_in_one_sentence() {
        let files = ["a", "b", "c", "d", "e"].map(Arc::from);
        for (count, words) in [
            (1, "a: all records that were read of it lie before job.from"),
            (2, "a and b: all records that were read of them lie"),
            (3, "a, b and c: all"),
            (5, "a, b, c and 2 more: all"),
        ] {
            assert!(before_start(&files[..count]).starts_with(words), "{words}");
        }
    }

    // Refutes a run that is ready before it can release, and one that stays ready while it cannot.
    #[test]
    fn a_run_is_ready_while_windows_can_leave() {
        let mut signs = VitalSigns::default();
        assert_eq!(waits(&signs, false), Some("the ledger is being opened"));
        signs.begun = true;
        assert_eq!(waits(&signs, false), Some("the input that was there is still being read"));
        signs.caught_up = Some(1);
        assert_eq!(waits(&signs, false), None);
        assert_eq!(waits(&signs, true), Some("the run drains"));
        signs.clock_held = true;
        assert_eq!(waits(&signs, false), Some("the clock is in doubt"));
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let (mut rate, now) = (RecordRate::default(), Instant::now());
        rate.add(1_000, now);
        assert_eq!(rate.by_second(), None);
        for second in 1..=20 {
            rate.add(1_000 + 50 * second.min(10), now + Duration::from_secs(second));
        }
        assert_eq!(rate.by_second(), Some(0.0), "nothing in the last ten");
        assert_eq!(rate.0.len(), 11);
        rate.add(1_750, now + Duration::from_secs(21));
        assert_eq!(rate.by_second(), Some(25.0));
    }
}
