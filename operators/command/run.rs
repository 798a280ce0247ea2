//! `discreet run` and `discreet replay`: a job over a live stream, or over an input that ends.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use discreet::dataflow::Stop;
use discreet::job::{ClockWord, Job, Live, OperatorNotice, Processes, Reopen, Replay, RunObserver, Vitals};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::observers::OutputArgs;
use super::service::ServiceManager;
use super::watching::RunWatch;
use super::{Done, INTERNAL_FAULT, Refusal, log, observers};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The job file
    config: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl RunArgs {
    pub(crate) fn run(self) -> Result<Done, Refusal> {
        log::stamp();
        let (job, processes) = self.cluster.with(|| Ok(Job::open(&self.config)?))?;
        log::set(job.log);
        observers::warn_of_undeclared(&job, &self.config);
        let OutputArgs { out, without_archived, report, workers, json } = self.output;
        let page =
            report.map(|path| observers::RunReport::new(path, &job, false, out.as_deref())).transpose()?;
        let page = page.map(|page| Arc::new(Mutex::new(page)));
        let mut live = Live::default();
        let manager = ServiceManager::find()?.map(Arc::new);
        let heard = RunSignals {
            vitals: live.vitals.clone(),
            reopen: live.reopen.clone(),
            clock_word: live.clock_word.clone(),
            manager: manager.clone(),
            config: self.config.clone(),
        };
        handle_signals(&live.stop, Some(heard))?;
        if let Some(manager) = manager.clone() {
            let (vitals, stop) = (live.vitals.clone(), live.stop.clone());
            let report = move || manager.report(&vitals, &stop);
            let spawned = std::thread::Builder::new().name("manager".into()).spawn(report);
            spawned.map_err(|error| Refusal::new(format!("a thread: {error}")))?;
        }
        let watch = RunWatch::start(&job, &live, processes.as_ref(), page.clone())?;
        live.workers = workers;
        live.processes = processes;
        live.out = out;
        live.without_archived = without_archived;
        live.onlooker = RunObserver {
            released: Some(watch.listener()),
            opened: Some(watch.opened_listener()),
            former: Some(watch.former_listener()),
            left_out: Some(watch.left_out_listener()),
            reading: None,
            warning: Some(Box::new(observers::warn_operator)),
            surveyed: None,
            ending: Some(Box::new(observers::end_at_once)),
            notice: Some(notice()),
        };
        let finished = job.run(live);
        if let Some(manager) = manager {
            manager.say("STOPPING=1");
        }
        // The report is written even if the run failed: it shows lines that have left. A start that was refused
        // leaves an older one as it is.
        let report = page.is_some().then(|| watch.report());
        let report = report.filter(|report| finished.is_ok() || !report.is_empty());
        // From here on, nothing else writes it.
        drop(watch);
        if let (Some(page), Some(report)) = (page, report) {
            let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
            page.show(report);
            page.write()?;
        }
        let finished = finished?;
        Ok(Done::Ran { finished, code: finished.exit_code(), json })
    }
}

// `discreet replay`: a bounded run of a job file.

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The job file
    config: PathBuf,
    /// Read this path instead of the source's own; `-` is standard input
    #[arg(long)]
    from: Option<PathBuf>,
    /// Charge a temporary ledger, and print exact values beside the noised ones; only for data that may be
    /// shown to anyone
    #[arg(long)]
    demo: bool,
    /// Also release windows that are not over by the clock of this machine, for good, from the records that are
    /// there
    #[arg(long, conflicts_with = "demo")]
    unfinished: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl ReplayArgs {
    pub(crate) fn run(self) -> Result<Done, Refusal> {
        let open = || {
            let mut job = Job::open(&self.config)?;
            if let Some(from) = &self.from {
                job.read_from(from)?;
            }
            Ok(job)
        };
        let (job, processes) = self.cluster.with(open)?;
        log::set(job.log);
        observers::warn_of_undeclared(&job, &self.config);
        if job.watch.listen.is_some() || !job.watch.exec.is_empty() {
            let note = "note: watch: it is for `discreet run`; a replay serves no pages and raises no alerts";
            log::note(note);
        }
        let OutputArgs { out, without_archived, report, workers, json } = self.output;
        let page = report
            .map(|path| observers::RunReport::new(path, &job, self.demo, out.as_deref()))
            .transpose()?;
        let page = page.map(|page| Arc::new(Mutex::new(page)));
        let stop = Stop::new();
        handle_signals(&stop, None)?;
        let mut replay = Replay::default();
        replay.workers = workers;
        replay.processes = processes;
        replay.demo = self.demo;
        replay.out = out;
        replay.without_archived = without_archived;
        replay.unfinished = self.unfinished;
        replay.stop = stop;
        replay.onlooker = RunObserver {
            released: page.clone().map(observers::report_listener),
            opened: page.clone().map(observers::opened_listener),
            former: page.clone().map(observers::former_listener),
            left_out: None,
            reading: observers::bar(),
            warning: Some(Box::new(observers::warn_operator)),
            surveyed: Some(Box::new(observers::show_survey)),
            ending: Some(Box::new(observers::end_at_once)),
            notice: Some(notice()),
        };
        let finished = job.replay(replay)?;
        if let Some(page) = page {
            page.lock().unwrap_or_else(PoisonError::into_inner).write()?;
        }
        // A stopped replay is incomplete: a script must not go on with its output.
        let code = if finished.is_stopped() { INTERNAL_FAULT } else { finished.exit_code() };
        Ok(Done::Ran { finished, code, json })
    }
}

// `-n`, `-p` and `--hosts`: the processes that share the work of a run.

/// The processes of a cluster.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// The number of processes that share the work
    #[arg(short = 'n', long, default_value_t = 1)]
    processes: usize,
    /// The index of this process, from 0; process 0 holds the ledger
    #[arg(short, long, default_value_t = 0)]
    process: usize,
    /// A file with the address of each process, host:port, one a line; needed for more than one process
    #[arg(long)]
    hosts: Option<PathBuf>,
    /// Let records pass between machines without encryption
    #[arg(long)]
    insecure_cluster: bool,
}

impl ClusterArgs {
    /// Returns the processes, and the job that `open` opens. If `open` fails, the other processes are
    /// notified, so that they do not wait for this one.
    pub(crate) fn with(
        &self,
        open: impl FnOnce() -> Result<Job, Refusal>,
    ) -> Result<(Job, Option<Processes>), Refusal> {
        let processes = self.addresses()?;
        let job = open();
        if let (Err(_), Some(processes)) = (&job, &processes) {
            processes.announce_end();
        }
        Ok((job?, processes))
    }

    fn addresses(&self) -> Result<Option<Processes>, Refusal> {
        if self.processes == 0 {
            return Err(Refusal::new("--processes: found 0; give 1 or more: this process is one of them"));
        }
        if self.process >= self.processes {
            let last = self.processes - 1;
            let remedy = if last == 0 {
                "leave it out, or give the number of processes with -n".to_owned()
            } else {
                format!("give a number from 0 to {last}: they are counted from 0")
            };
            let message =
                format!("--process: found {} of {} processes; {remedy}", self.process, self.processes);
            return Err(Refusal::new(message));
        }
        let addresses = match (&self.hosts, self.processes) {
            (None, 1) => return Ok(None),
            (None, _) => {
                let message =
                    "--hosts: found nothing; give a file with the address of each process, one a line";
                return Err(Refusal::new(message));
            }
            (Some(path), _) => hosts(path)?,
        };
        if addresses.len() != self.processes {
            return Err(Refusal::new(format!(
                "--hosts: found {} addresses for {} processes; give one for each",
                addresses.len(),
                self.processes
            )));
        }
        let (process, insecure) = (self.process, self.insecure_cluster);
        Ok(Some(Processes { process, addresses, insecure }))
    }
}

/// Reports a process that has not come or does not answer to the person who runs the job.
pub(crate) fn notice() -> OperatorNotice {
    Arc::new(log::operator)
}

fn hosts(path: &Path) -> Result<Vec<String>, Refusal> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Refusal::unreadable("--hosts", path, &error))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

// The signals of a running job: stop, reopen the output, report the vitals.

/// Makes a write past the limit on the size of files (`ulimit -f`) fail, where SIGXFSZ would end the process
/// without a message.
pub(crate) fn survive_file_limits() {
    // Without the handler, the process ends at that write.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The parts of a live run that signals reach.
pub(crate) struct RunSignals {
    vitals: Vitals,
    reopen: Reopen,
    clock_word: ClockWord,
    manager: Option<Arc<ServiceManager>>,
    config: PathBuf,
}

impl RunSignals {
    /// Reads `[log]` of the job file again. Nothing else of it is taken.
    fn read_log(&self) {
        match Job::open(&self.config) {
            Ok(job) => log::set(job.log),
            Err(_) => log::warn(
                "log: the job file has mistakes now, so the log stays as it is; `discreet check` names them",
            ),
        }
    }

    fn say(&self, message: &str) {
        if let Some(manager) = &self.manager {
            manager.say(message);
        }
    }
}

/// Stops a run on SIGTERM or SIGINT: nothing incomplete is sealed; on a second such signal the process ends
/// at once. SIGHUP stops no run, since a closed terminal does not concern it: a live run reopens its output
/// on SIGHUP, and reads `[log]` again. On SIGUSR1 it prints its vitals to standard error, and on SIGUSR2 it believes the clock.
pub(crate) fn handle_signals(stop: &Stop, live: Option<RunSignals>) -> Result<(), Refusal> {
    let refuse = |error: std::io::Error| Refusal::new(format!("signals: {error}"));
    let mut heard = vec![SIGTERM, SIGINT, SIGHUP];
    if live.is_some() {
        heard.extend([SIGUSR1, SIGUSR2]);
    }
    let mut signals = Signals::new(heard).map_err(refuse)?;
    let stop = stop.clone();
    let listen = move || {
        // Signals to this process alone count here: a process of a cluster can be stopped by another one,
        // too.
        let mut asked = false;
        for signal in signals.forever() {
            match (signal, &live) {
                (SIGUSR1, Some(live)) => log::answer(&live.vitals.to_string()),
                (SIGUSR2, Some(live)) => live.clock_word.say(),
                (SIGHUP, Some(live)) => {
                    live.say("RELOADING=1");
                    live.reopen.ask();
                    live.read_log();
                    live.say("READY=1");
                }
                (SIGHUP, None) => {}
                // A second signal asks for an end without delay.
                _ if asked => std::process::exit(128 + signal),
                _ => {
                    asked = true;
                    if let Some(live) = &live {
                        live.say("STOPPING=1");
                    }
                    stop.stop();
                }
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).map_err(refuse)?;
    Ok(())
}
