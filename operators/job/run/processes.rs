//! The processes of a job that has several: their addresses, and the facts that they must agree on before
//! they begin.

use std::net::{IpAddr, SocketAddr};

use super::*;
use crate::dataflow::announce_end;
use crate::ledger::{Digest, LedgerKey};

/// The processes of a job that has several.
#[derive(Clone, Debug)]
pub struct Processes {
    /// The index of this process.
    pub process: usize,
    /// The address of each, `host:port`, in one order for all.
    pub addresses: Vec<String>,
    /// True where records may cross a network in the clear.
    pub insecure: bool,
}

impl Processes {
    /// Notifies the other processes that this one has failed before it could join them, so that they need not
    /// wait for it. A job that fails after its file was read does so by itself.
    pub fn announce_end(&self) {
        announce_end(&self.addresses, self.process);
    }
}

/// A function that is called with a message for the operator.
pub type OperatorNotice = Arc<dyn Fn(&str) + Send + Sync>;

impl Job {
    /// The processes and threads that share the work of a run.
    pub(super) fn crew(&self, workers: usize, processes: Option<&Processes>) -> Result<Crew, RunError> {
        let crew = Crew {
            process: processes.map_or(0, |processes| processes.process),
            processes: processes.map_or(1, |processes| processes.addresses.len()),
            threads: workers,
        };
        if let Some(Processes { addresses, insecure: false, .. }) = processes {
            addresses.iter().try_for_each(|address| private(address))?;
        }
        if crew.processes > 1 && self.source.records.is_stdin() {
            let message = "source.path: found \"-\" for several processes; give a file that all of them can read: of \
                           standard inputs nobody can say that they are the same";
            return Err(RunError::configuration(message));
        }
        Ok(crew)
    }

    /// The crew of this job, with the links between its processes.
    pub(super) fn crewed(
        &self,
        workers: usize,
        processes: Option<&Processes>,
        ((offers, asks), key): ((&[ReleasePlan], &[AskPlan]), &LedgerKey),
        (kind, notice): (&str, Option<OperatorNotice>),
    ) -> Result<Config, RunError> {
        let spill = self.spill_space(workers, notice.clone())?;
        let Some(Processes { process, addresses, .. }) = processes else {
            return Ok(Config::threads(workers)?.spilling(spill));
        };
        // The key decides which worker bounds which person: with two keys, a person would be bounded twice.
        // The same files may lie elsewhere on another machine.
        let source = &self.source;
        let records = match &source.records {
            RecordFormat::Synthetic(synthetic) => format!("{synthetic:?}"),
            lines => lines.word().to_owned(),
        };
        let read = (records, &source.time, source.zone.name(), source.order, source.late, &source.id);
        let agreed =
            (kind, key.fingerprint(), &self.name, self.version, self.account(), &self.privacy.privacy_unit);
        let bundles: Vec<_> = asks.iter().map(|ask| (&ask.name, ask.version, ask.terms.digest())).collect();
        let agreement = Digest::of(format!("{agreed:?} {read:?} {offers:?} {bundles:?}").as_bytes());
        let config = Config::cluster(workers, *process, addresses.clone())?.agreeing_on(agreement);
        let config = config.spilling(spill);
        Ok(match notice {
            Some(notice) => config.noting(move |text| notice(text)),
            None => config,
        })
    }
}

/// Passes a result on, and notifies the other processes of a run that fails before it could join them.
pub(super) fn announced<T>(
    processes: Option<&Processes>,
    prepared: Result<T, RunError>,
) -> Result<T, RunError> {
    if let (Some(processes), Err(_)) = (processes, &prepared) {
        processes.announce_end();
    }
    prepared
}

/// Refuses an address at which others could listen: the data between processes is private, and in the clear.
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
