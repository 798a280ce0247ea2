//! The processes of a job that is more than one: who they are, and what they must agree on before they begin.

use std::net::{IpAddr, SocketAddr};

use super::*;
use crate::dataflow::announce_end;
use crate::ledger::{Digest, LedgerKey};

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

impl Processes {
    /// Tells the other processes that this one has failed before it could join them, so that they need not wait for it. A
    /// job that fails after its file was read says so by itself.
    pub fn announce_end(&self) {
        announce_end(&self.addresses, self.process);
    }
}

/// What is called with words for the operator.
pub type OperatorNotice = Arc<dyn Fn(&str) + Send + Sync>;

impl Job {
    /// Who shares the work of a run.
    pub(super) fn crew(&self, workers: usize, processes: Option<&Processes>) -> Result<Crew, RunError> {
        let crew = Crew {
            process: processes.map_or(0, |processes| processes.process),
            processes: processes.map_or(1, |processes| processes.addresses.len()),
            threads: workers,
        };
        if let Some(Processes { addresses, insecure: false, .. }) = processes {
            addresses.iter().try_for_each(|address| private(address))?;
        }
        if let RecordFormat::Csv(SourcePlace::Stdin)
        | RecordFormat::Jsonl(SourcePlace::Stdin)
        | RecordFormat::Combined(SourcePlace::Stdin) = &self.source.records
            && crew.processes > 1
        {
            let message = "source.path: found \"-\" for several processes; give a file that all of them can read: of \
                           standard inputs nobody can say that they are the same";
            return Err(RunError::configuration(message));
        }
        Ok(crew)
    }

    /// How a run of this job is shared.
    pub(super) fn crewed(
        &self,
        workers: usize,
        processes: Option<&Processes>,
        (offers, key): (&[ReleasePlan], &LedgerKey),
        (kind, notice): (&str, Option<OperatorNotice>),
    ) -> Result<Config, RunError> {
        let Some(Processes { process, addresses, .. }) = processes else {
            return Ok(Config::threads(workers)?);
        };
        // By the key it is decided which worker bounds whom: with two of them, a person would be bounded twice. The same files
        // may lie elsewhere on another machine.
        let source = &self.source;
        let records = match &source.records {
            RecordFormat::Csv(_) => "csv".to_owned(),
            RecordFormat::Jsonl(_) => "jsonl".to_owned(),
            RecordFormat::Combined(_) => "combined".to_owned(),
            RecordFormat::Synthetic(made_up) => format!("{made_up:?}"),
        };
        let read = (records, &source.time, source.zone.name(), source.order, source.late, &source.id);
        let agreed =
            (kind, key.fingerprint(), &self.name, self.version, self.account(), &self.privacy.privacy_unit);
        let agreement = Digest::of(format!("{agreed:?} {read:?} {offers:?}").as_bytes());
        let config = Config::cluster(workers, *process, addresses.clone())?.agreeing_on(agreement);
        Ok(match notice {
            Some(notice) => config.noting(move |text| notice(text)),
            None => config,
        })
    }
}

/// Tells the others of a run that fails before it could join them.
pub(super) fn announced<T>(
    processes: Option<&Processes>,
    prepared: Result<T, RunError>,
) -> Result<T, RunError> {
    if let (Some(processes), Err(_)) = (processes, &prepared) {
        processes.announce_end();
    }
    prepared
}

/// Refuses an address that somebody else could listen at: what passes between processes is private, and in the clear.
fn private(address: &str) -> Result<(), RunError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let loopback = match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        Err(_) => host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
    };
    if loopback {
        return Ok(());
    }
    Err(RunError::configuration(format!(
        "hosts: {address} is not of this machine, and records travel between processes in the clear; give addresses of \
         127.0.0.1, or say --insecure-cluster where nobody else can read or join the network"
    )))
}
