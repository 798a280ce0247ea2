//! A long-lived run: windows close by the clock.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::vitals::Vitals;
use super::*;
use crate::dataflow::{Clock, SystemClock};
use crate::ledger::{Digest, Key};

/// How a job is run for as long as its stream goes on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Live {
    /// How many threads of this process share the work.
    pub workers: usize,
    /// The other processes, where there are some.
    pub processes: Option<Processes>,
    /// The file that lines go to; standard output where there is none.
    pub out: Option<PathBuf>,
    /// What stops it.
    pub stop: Stop,
    /// Who looks on.
    pub onlooker: Onlooker,
    /// What an operator may see of it while it runs.
    pub vitals: Vitals,
}

impl Default for Live {
    fn default() -> Live {
        let (stop, onlooker, vitals) = (Stop::new(), Onlooker::default(), Vitals::new());
        Live { workers: 1, processes: None, out: None, stop, onlooker, vitals }
    }
}

/// The processes of a job that is more than one.
#[derive(Clone, Debug)]
pub struct Processes {
    /// Which of them this is.
    pub process: usize,
    /// Where each is reached, `host:port`, in one order for all.
    pub addresses: Vec<String>,
    /// Whether records may cross a network in the clear.
    pub insecure: bool,
}

impl Job {
    /// Runs the job until it is stopped, its source is gone, or its last window is told.
    ///
    /// Windows close by the clock: each is told at its end, its lateness and the slack after it, or at the next whole slack
    /// if it was not ready. A job that is started again reads its input anew; what was told stays as it was.
    ///
    /// # Errors
    ///
    /// As [`execute`], and where the job cannot run as it is configured.
    pub fn run(&self, live: Live) -> Result<Finished, Failure> {
        let Live { workers, processes, out, stop, onlooker, vitals } = live;
        let Onlooker { told, reading, ending } = onlooker;
        let horizon = self.horizon();
        if !self.is_timed() && horizon.until.is_none() {
            let message = "job.until: found nothing; give the time at which the one window of every = \"all\" ends: a live \
                           run has no other end, so it would never be told";
            return Err(Failure::configuration(message));
        }
        let offers = self.offers(horizon)?;
        if let Some(Processes { addresses, insecure: false, .. }) = &processes {
            addresses.iter().try_for_each(|address| private(address))?;
        }
        let crew = Crew {
            process: processes.as_ref().map_or(0, |processes| processes.process),
            processes: processes.as_ref().map_or(1, |processes| processes.addresses.len()),
            threads: workers,
        };
        // The first process holds the ledger and tells the lines; the others count.
        let first = crew.process == 0;
        let sink = if first { Some(sink(out.as_deref(), false)?) } else { None };
        let gate = match &sink {
            Some(sink) => self.open_gate(Some(sink))?,
            None => Gate::elsewhere(self.name.as_str(), &self.privacy.key)?.with_version(self.numbered()),
        };
        let config = self.crewed(workers, processes.as_ref(), &offers, gate.key())?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        vitals.begins(self.source.late, &offers);
        let told = watched(told, vitals.clone());
        let only_news = sink.as_ref().is_some_and(|sink| !sink.is_file());
        let when = When::OnTime { clock: Arc::clone(&clock), late: self.source.late, slack: self.slack };
        let outlet = Outlet { sink, only_news, when, told };
        let seen = vitals.clone();
        let reading: Box<dyn FnOnce(Arc<Progress>) + Send> = Box::new(move |progress| {
            seen.reads(Arc::clone(&progress));
            if let Some(reading) = reading {
                reading(progress);
            }
        });
        let way =
            Way { config, stop, pace: Pace::Follow(clock), crew, outlet, reading: Some(reading), ending };
        let run = Run { job: self, offers, horizon, gate, demo: None, at_end: false };
        run.go(way).map(|(finished, _, _)| finished)
    }

    fn crewed(
        &self,
        workers: usize,
        processes: Option<&Processes>,
        offers: &[Offer],
        key: &Key,
    ) -> Result<Config, Failure> {
        let Some(Processes { process, addresses, .. }) = processes else {
            return Ok(Config::threads(workers)?);
        };
        // By the key it is decided which worker bounds whom: with two of them, a person would be bounded twice. The same files
        // may lie elsewhere on another machine.
        let source = &self.source;
        let kind = match &source.records {
            Records::Csv(_) => "csv".to_owned(),
            Records::Jsonl(_) => "jsonl".to_owned(),
            Records::Combined(_) => "combined".to_owned(),
            Records::Synthetic(made_up) => format!("{made_up:?}"),
        };
        let read = (kind, &source.time, source.zone.name(), source.order, source.late, &source.id);
        let agreed = (key.fingerprint(), &self.name, self.version, self.domain(), &self.privacy.protected);
        let agreement = Digest::of(format!("{agreed:?} {read:?} {offers:?}").as_bytes());
        Ok(Config::cluster(workers, *process, addresses.clone())?.agreeing_on(agreement))
    }
}

/// Refuses an address that somebody else could listen at: what passes between processes is private, and in the clear.
fn private(address: &str) -> Result<(), Failure> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let loopback = match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        Err(_) => host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
    };
    if loopback {
        return Ok(());
    }
    Err(Failure::configuration(format!(
        "hosts: {address} is not of this machine, and records travel between processes in the clear; give addresses of \
         127.0.0.1, or say --insecure-cluster where nobody else can read or join the network"
    )))
}

/// Takes note of what was told.
fn watched(mut told: Option<Told>, vitals: Vitals) -> Box<dyn FnMut(&Release) + Send> {
    Box::new(move |release| {
        vitals.told(release.standing(), release.took());
        if let Some(told) = &mut told {
            told(&release.to_string(), release.standing());
        }
    })
}
