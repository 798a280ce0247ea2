//! The connection of a job to its ledger: one that states the same budget, with its key. A check and a run
//! inspect it by the same function, so that a job that passes one is not refused by the other.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use super::*;
use crate::dataflow::announce_end;
use crate::gate::compare;
use crate::job::config::shell_quoted;
use crate::job::sinks;
use crate::ledger::place::directory;
use crate::ledger::{
    AccountSpec, Anchor, Charge, Digest, Journal, Ledger, LedgerKey, ReleaseId as Released, Shortfall,
};
use crate::time::in_utc;
use crate::words::meant;

/// The number of windows of each release that are examined, where they go on without end.
const EXAMINED_WINDOWS: u64 = 10_000;

/// A rest that does not pay for one part in a thousand of a charge is reported as nothing.
const NEGLIGIBLE: u64 = 1_000;

/// The result of connecting a job that can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connected {
    /// The windows that would be refused for want of budget, by release.
    pub refused: Vec<Shortfall>,
    /// The key that the first start will bind the ledger to; `None` where the ledger is bound to it already.
    pub unbound: Option<PathBuf>,
    /// The moment of the last repair, where a window of the job starts before it.
    pub lost: Option<Time>,
}

impl Connected {
    /// The warnings for the operator: a ledger without its key yet, windows that would be refused, and the
    /// charge that would fit.
    pub fn warnings(&self) -> Vec<String> {
        let unbound = self.unbound.iter().map(|key| {
            format!(
                "privacy.key: the ledger is not bound to a key yet; the first start binds it to {}, and refuses every other \
                 key from then on",
                key.display()
            )
        });
        let lost = self.lost.iter().map(|floor| {
            format!(
                "a window that starts before the last `ledger repair`, before {}, and has no row in the ledger is lost: it is \
                 never drawn",
                in_utc(*floor)
            )
        });
        unbound.chain(lost).chain(self.refused.iter().map(warning)).collect()
    }
}

fn warning(shortfall: &Shortfall) -> String {
    let Shortfall { first, spent, asked, limit, refused, new, .. } = shortfall;
    let (start, end) = (in_utc(first.window.start()), in_utc(first.window.end()));
    let (account, name) = (&first.account, &first.name);
    let left = match limit.less(spent) {
        // A rest that is left by rounding pays for nothing.
        Ok(left) if left.times(NEGLIGIBLE).is_ok_and(|many| asked.within(&many)) => format!("{left} is left"),
        // A repair charges what was lost, fitting or not.
        _ => format!("the budget of {account} is spent"),
    };
    let fits = match new - refused {
        0 => format!("none of them fits: {left}"),
        fits => format!("{fits} of them fit, and then {left}"),
    };
    format!(
        "release {name}: {refused} of the {new} windows that it has not released would be refused, the first from {start} to \
         {end}: of {limit} in account {account} {spent} is spent by then, and the window asks for {asked}; {fits}. Leave the \
         release out, or raise the cap with `discreet ledger amend`, which weakens the promise to these people"
    )
}

impl Job {
    /// Examines the ledger and its key as a run does at its start, and the budget that is spent. Changes
    /// nothing, and reads no record.
    ///
    /// # Errors
    ///
    /// Any reason to refuse a run that writes to `out`: no ledger, one that is behind its anchor or that
    /// file, another key, an account that the ledger states otherwise, no directory for the anchor.
    pub fn connect(&self, out: Option<&Path>) -> Result<Connected, RunError> {
        let (mut ledger, out) = (self.ledger()?, publish::named(out));
        // In the order of a run.
        let published = out.map(|path| self.inspect_output(path, &ledger)).transpose()?.unwrap_or_default();
        let key = &self.privacy.key;
        let bound = ledger.is_bound(&LedgerKey::open(key)?).map_err(|trouble| trouble.about("key", key))?;
        self.compare_witnesses(&mut ledger, out, published)?;
        self.check_version_terms(&mut ledger)?;
        let offers = self.release_plans(self.horizon())?;
        let account = &self.privacy.account;
        let mut asked: Vec<(Released, Charge)> = Vec::new();
        for offer in &offers {
            let schedule = &offer.schedule;
            let (terms, charge) = self.terms_and_charge(offer)?;
            let version = Digest::of_version(self.numbered(), terms.digest());
            let most = if schedule.is_bounded() { schedule.count() } else { EXAMINED_WINDOWS };
            asked.extend(
                (0..most.min(EXAMINED_WINDOWS * 10)).map_while(|number| schedule.window(number)).map(
                    |window| {
                        let (account, job, name) = (account.clone(), self.name.clone(), offer.name.clone());
                        (Released { account, job, version, name, window, part: None }, charge.clone())
                    },
                ),
            );
        }
        // These windows are lost, and nothing is charged for them.
        let floor = ledger.floor()?.unwrap_or(Time::MIN);
        let lost = asked.iter().any(|(release, _)| release.window.start() < floor).then_some(floor);
        asked.retain(|(release, _)| release.window.start() >= floor);
        // In the order in which they would be released.
        asked.sort_by_key(|(release, _)| release.window.end());
        let unbound = (!bound).then(|| key.clone());
        Ok(Connected { refused: ledger.shortfalls(account, asked)?, unbound, lost })
    }

    /// Examines the output of a run.
    fn inspect_output(&self, out: &Path, ledger: &Ledger) -> Result<sinks::Witness, RunError> {
        self.keeps_apart("--out", out, None)?;
        sinks::witness_in(out, ledger.name()).map_err(of_out)
    }

    /// Compares the ledger with its anchor and with the newest row of an output, where they exist.
    fn compare_witnesses(
        &self,
        ledger: &mut Ledger,
        out: Option<&Path>,
        output: sinks::Witness,
    ) -> Result<(), RunError> {
        let anchor = self.privacy.anchor.as_deref();
        let journal = anchor.map(|path| Journal::open(path, ledger.name())).transpose()?;
        let newest =
            output.newest.map(|(sequence, chain)| Anchor { ledger: *ledger.name(), sequence, chain });
        let seen: Vec<Anchor> = journal.iter().filter_map(Journal::newest).chain(newest).collect();
        let is_there = journal.as_ref().is_some_and(Journal::is_there);
        let files: Vec<&Path> =
            anchor.filter(|_| is_there).into_iter().chain(out.filter(|_| !output.is_empty())).collect();
        Ok(compare(ledger, &self.privacy.ledger, (&seen, output.unclosed.as_ref()), &files)?)
    }

    /// Opens the ledger that the file names, and refuses one that is not this job's: of another budget,
    /// promise or unit, or without its key.
    pub(super) fn ledger(&self) -> Result<Ledger, RunError> {
        let (place, asked) = (&self.privacy.ledger, self.account());
        let (at, name) = (place.display(), asked.name());
        let is_local = !place.to_string_lossy().contains("://");
        let init = || {
            let ledger = shell_quoted(place);
            format!("discreet ledger init {ledger} --config {}", self.file.quoted())
        };
        if is_local && !place.exists() {
            return Err(RunError::configuration(format!(
                "privacy.ledger: there is no ledger {at}; make it: {}; or, where there was one, mount the volume it is on",
                init()
            )));
        }
        LedgerKey::open(&self.privacy.key)?;
        let mut ledger = Ledger::open(place)?;
        let stated = ledger.accounts()?;
        let Some(known) = stated.iter().find(|known| known.name() == name) else {
            let remedy = unstated(name.as_str(), &stated, &init());
            return Err(RunError::configuration(format!(
                "privacy.account: found no account {name} in ledger {at}{remedy}"
            )));
        };
        self.is_charged_to(known)?;
        // A cap that was raised since is the same budget: a job goes on with the settings that it began with.
        // So are the same settings of a job that charges a delta now and did not then, or the other way
        // round.
        let caps = ledger.caps(name)?;
        let words = [true, false].map(|charges| self.privacy.budget.cap(charges));
        if !words.into_iter().flatten().any(|cap| caps.contains(&cap)) {
            return Err(RunError::configuration(format!(
                "privacy.budget: found another budget for account {name} in ledger {at}, {} where {} is stated; give what was \
                 stated, also where the cap is to be raised: that is done by `discreet ledger amend`, and the file stays as it is",
                asked.cap(),
                known.cap()
            )));
        }
        let anchor = self.privacy.anchor.as_deref().map(directory);
        if let Some(directory) = anchor.filter(|directory| !directory.is_dir()) {
            let message = format!("privacy.anchor: there is no directory {}; make it", directory.display());
            return Err(RunError::configuration(message));
        }
        Ok(ledger)
    }
}

/// The remedy for an account that the ledger does not state: the names that it states come first, for a
/// second account doubles the budget that may be spent on the people who are in both.
fn unstated(name: &str, stated: &[AccountSpec], init: &str) -> String {
    let names: Vec<&str> = stated.iter().map(|account| account.name().as_str()).collect();
    if names.is_empty() {
        return format!("; state it: {init}");
    }
    let meant = meant(name, &names).map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default();
    format!(
        ", which states {}{meant}; give {} in privacy.account. Another account is for another group of people, with a budget of \
         its own, and who is in both groups spends both; state it for such a group alone: {init}",
        names.join(", "),
        if names.len() == 1 { "this name" } else { "one of these names" }
    )
}

// The processes of a job that has several: their addresses, and the facts that they must agree on before
// they begin.

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

    /// The crew of this job, with the links between its processes.
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
        // The key decides which worker bounds which person: with two keys, a person would be bounded twice.
        // The same files may lie elsewhere on another machine.
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
