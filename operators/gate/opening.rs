//! The opening of a gate: every check that must pass before the first window is requested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, unbounded};

use super::core::{Core, Delivery, Uncertainty};
use super::handle::Gate;
use super::request::BudgetStatus;
use super::state::StateCipher;
use super::thread::{Driver, GateMessage};
use crate::accounting::PrivacyUnit;
use crate::ledger::place::is_address;
use crate::ledger::{
    AccountSpec, Anchor, Digest, Journal, Ledger, LedgerError, LedgerErrorKind, LedgerKey, Name, Published,
    failpoint,
};
use crate::time::{Time, in_utc};

/// A gate that is about to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
    ledger: PathBuf,
    job: Name,
    version: u32,
    delivery: Delivery,
    key: Option<PathBuf>,
    anchor: Option<PathBuf>,
    seen: Vec<Anchor>,
    /// The newest rows that files of releases record of this ledger: sequence number and chain hash.
    released: Vec<(i64, Digest)>,
    /// The window of a file whose closing line is torn.
    unclosed: Option<Published>,
    /// The files of releases from which the rows were read.
    files: Vec<PathBuf>,
    again: bool,
    person: Option<String>,
    releases: Option<BTreeMap<Name, Option<Time>>>,
}

impl Opening {
    /// Creates the opening of a ledger for a job, with the settings that most jobs want.
    ///
    /// # Errors
    ///
    /// If `job` is no name.
    pub fn new(ledger: impl AsRef<Path>, job: &str) -> Result<Opening, LedgerError> {
        Ok(Opening {
            ledger: ledger.as_ref().to_owned(),
            job: Name::new("job", job)?,
            version: 1,
            delivery: Delivery::AtLeastOnce,
            key: None,
            anchor: None,
            seen: Vec::new(),
            released: Vec::new(),
            unclosed: None,
            files: Vec::new(),
            again: false,
            person: None,
            releases: None,
        })
    }

    /// Sets the version of the job; 1 by default. Other parameters, or code that counts differently, are
    /// another version. A statistic may have [a version of its own](Gate::handle_in_version).
    #[must_use]
    pub fn version(mut self, version: u32) -> Opening {
        self.version = version;
        self
    }

    /// Sets the definition of one person, in the words that its account
    /// [states](crate::ledger::AccountSpec::with_person): a definition of other people is refused. Without
    /// it, nothing is compared.
    #[must_use]
    pub fn person(mut self, person: &str) -> Opening {
        self.person = Some(person.to_owned());
        self
    }

    /// Sets the moment at which the ledger records deliveries; [`Delivery::AtLeastOnce`] by default.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Opening {
        self.delivery = delivery;
        self
    }

    /// Sets the path of the key, if it is not beside the ledger. A ledger on a server has none beside it.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<Path>) -> Opening {
        self.key = Some(key.as_ref().to_owned());
        self
    }

    /// Sets the path of an anchor: a file that notes every row before its line leaves, best on another disk.
    /// A ledger that is restored from an older copy is behind it. The file is created if it does not exist.
    #[must_use]
    pub fn anchor(mut self, anchor: impl AsRef<Path>) -> Opening {
        self.anchor = Some(anchor.as_ref().to_owned());
        self
    }

    /// Adds a row that a witness has seen of this ledger, such as the newest row in a file of releases.
    #[must_use]
    pub fn seen(mut self, anchor: Anchor) -> Opening {
        self.seen.push(anchor);
        self
    }

    /// Adds the newest row in a file of releases that were delivered from this ledger: its sequence number,
    /// and the hash of it and of all before.
    #[must_use]
    pub fn released(mut self, sequence: i64, chain: Digest) -> Opening {
        self.released.push((sequence, chain));
        self
    }

    /// Adds the window at the end of a file of releases whose closing line is torn.
    #[must_use]
    pub fn unclosed(mut self, window: Published) -> Opening {
        self.unclosed = Some(window);
        self
    }

    /// Adds the file from which [`released`](Opening::released) was read; the error names it if the ledger is
    /// behind it.
    #[must_use]
    pub fn released_in(mut self, file: impl AsRef<Path>) -> Opening {
        self.files.push(file.as_ref().to_owned());
        self
    }

    /// Gives handles, as their first events, every row of their statistic and version, and not only those
    /// whose delivery is not confirmed: for a new sink.
    #[must_use]
    pub fn releasing_again(mut self) -> Opening {
        self.again = true;
        self
    }

    /// Sets all releases of the job, each with the end of its last window if it has one. Forecasts of its budget leave out
    /// any other release of the job, and windows after the last; without them, releases that have
    /// [ended](crate::ledger::Forecast::ended) by the rows of the ledger.
    #[must_use]
    pub fn releases(mut self, releases: BTreeMap<Name, Option<Time>>) -> Opening {
        self.releases = Some(releases);
        self
    }

    /// Verifies the ledger, compares it with every anchor, takes the job's fence, and starts the gate's
    /// thread. The first events of handles are the rows whose delivery is not confirmed.
    ///
    /// # Errors
    ///
    /// As [`Ledger::open`], [`Ledger::claim`] and [`LedgerKey::open`]; [`LedgerErrorKind::Doubt`] if the
    /// ledger is behind an anchor.
    pub fn open(self) -> Result<Gate, LedgerError> {
        // A ledger on a server has no key beside it, and a key that cannot be read is refused below.
        let key =
            self.key.clone().or_else(|| (!is_address(&self.ledger)).then(|| LedgerKey::beside(&self.ledger)));
        let ledger = match key.and_then(|key| LedgerKey::open(key).ok()) {
            Some(key) => Ledger::open_with_key(&self.ledger, &key)?,
            None => Ledger::open(&self.ledger)?,
        };
        self.over(ledger)
    }

    /// Opens the gate as [`open`](Opening::open) does, with the ledger of its path, which the caller has
    /// opened and read.
    ///
    /// # Errors
    ///
    /// As [`open`](Opening::open).
    pub(crate) fn over(mut self, mut ledger: Ledger) -> Result<Gate, LedgerError> {
        let key = match self.key {
            Some(key) => key,
            None if ledger.is_remote() => {
                let message =
                    "key: found nothing; give the path of one: a ledger on a server has none beside it";
                return Err(LedgerError::refused(message));
            }
            None => LedgerKey::beside(&self.ledger),
        };
        let path = key;
        let key = LedgerKey::open(&path)?;
        ledger.bind(&key).map_err(|trouble| trouble.about("key", &path))?;
        let claim = ledger.claim(&self.job)?;
        let name = *ledger.name();
        let mut journal = self.anchor.as_deref().map(|path| Journal::open(path, &name)).transpose()?;
        self.seen.extend(journal.as_ref().and_then(Journal::newest));
        self.seen.extend(self.released.iter().map(|&(sequence, chain)| Anchor {
            ledger: name,
            sequence,
            chain,
        }));
        let is_there = journal.as_ref().is_some_and(Journal::is_there);
        let anchor = self.anchor.iter().filter(|_| is_there);
        let files: Vec<&Path> = anchor.chain(&self.files).map(PathBuf::as_path).collect();
        let lacking = compare(&mut ledger, &self.ledger, (&self.seen, self.unclosed.as_ref()), &files).err();
        if lacking.as_ref().is_some_and(|trouble| trouble.kind() != LedgerErrorKind::Doubt) {
            return Err(lacking.unwrap_or_else(|| LedgerError::doubt("ledger: it cannot be read")));
        }
        // Nothing is written to an anchor that the ledger is behind, and none is made for a ledger in doubt.
        if let Some(journal) = journal.as_mut().filter(|_| lacking.is_none()) {
            journal.begin()?;
        }
        failpoint::reached("after-anchor", LedgerErrorKind::Unknown)?;
        ledger.checkpoint_at_end()?;
        let waiting = if self.again { ledger.rows_of(&self.job) } else { ledger.undelivered(&self.job) }?;
        let (mut pacing, settled) = (ledger.pacing()?, ledger.settled(&self.job)?);
        if let Some(releases) = self.releases {
            pacing.know(self.job.clone(), releases);
        }
        let archived = ledger.archived()?;
        let latest = settled.values().copied().max();
        let opened = ledger.opened(&self.job)?;
        let accounts = ledger.accounts()?;
        // What waits has not left yet: its status is published with its lines, and not before.
        let budgets =
            if waiting.is_empty() { ledger.budget_statuses(&pacing, &accounts)? } else { Vec::new() };
        let budgets = budgets.into_iter().map(|(row, (spent, cap), forecast)| BudgetStatus {
            account: row.release().account.clone(),
            job: row.release().job.clone(),
            window: row.release().window,
            spent,
            cap,
            forecast: Arc::new(forecast),
            order: 0,
            took: Duration::ZERO,
        });
        let budgets = budgets.collect();
        let uncertainty = if ledger.is_remote() { Uncertainty::Reread } else { Uncertainty::Halt };
        let cipher = StateCipher::new(&key, *ledger.name());
        let core = Core::new(self.delivery, uncertainty);
        let (messages, inbox) = unbounded();
        let whole = ledger.is_whole();
        let mut driver = Driver::new(ledger, claim, cipher, journal, core, (pacing, settled, archived));
        let (halted, written_since) = (driver.halted(), driver.written_since());
        let effects = driver.opened(waiting, lacking.is_some());
        if let Some(trouble) = lacking {
            return Err(trouble);
        }
        let thread = std::thread::Builder::new().name("gate".into());
        let thread = thread.spawn(move || driver.run(effects, &inbox));
        let thread = thread.map_err(|error| LedgerError::refused(format!("gate: no thread: {error}")))?;
        if !whole {
            verify_in_background(self.ledger.clone(), messages.clone())?;
        }
        to_public!(
            DEBUG,
            "gate opened",
            job = self.job.as_str(),
            version = self.version,
            accounts = accounts.len() as u64,
            settled = latest.map(in_utc),
            "a gate has opened"
        );
        let gate =
            Gate::new((self.job, self.version), key, (accounts, self.person), messages, (thread, halted));
        Ok(gate.resumed(latest, opened).observed(budgets, written_since))
    }
}

/// The pause before another attempt at a verification that could not be finished.
const AGAIN: Duration = Duration::from_secs(60);

/// Verifies the ledger from its first row on, on a thread of its own and over a connection of its own, and
/// sends the outcome to the gate. At most half of the time of one core is spent on it. It ends with the gate.
fn verify_in_background(ledger: PathBuf, gate: Sender<GateMessage>) -> Result<(), LedgerError> {
    let verify = move || {
        let mut since = Instant::now();
        // A gate that has ended receives nothing.
        let mut go_on = || {
            std::thread::sleep(since.elapsed());
            since = Instant::now();
            gate.send(GateMessage::Verifying).is_ok()
        };
        loop {
            let verified = match Ledger::verify_beside(&ledger, &mut go_on) {
                Ok(true) => Ok(()),
                Err(doubt) if doubt.kind() == LedgerErrorKind::Doubt => Err(doubt),
                // The connection failed, or too much was written meanwhile to tell.
                _ => {
                    std::thread::sleep(AGAIN);
                    if !go_on() {
                        return;
                    }
                    continue;
                }
            };
            let _ = gate.send(GateMessage::Verified(verified));
            return;
        }
    };
    let thread = std::thread::Builder::new().name("verify".into()).spawn(verify);
    thread.map(drop).map_err(|error| LedgerError::refused(format!("gate: no thread: {error}")))
}

/// Compares a ledger with the rows that files record of it.
///
/// # Errors
///
/// [`LedgerErrorKind::Doubt`] if it is behind one of them, with the command that accepts the loss.
pub(crate) fn compare(
    ledger: &mut Ledger,
    place: &Path,
    (seen, unclosed): (&[Anchor], Option<&Published>),
    files: &[&Path],
) -> Result<(), LedgerError> {
    let held = seen.iter().try_for_each(|anchor| ledger.holds(anchor));
    let held = held.and_then(|()| unclosed.map_or(Ok(()), |window| ledger.holds_published(window)));
    held.map_err(|trouble| behind(trouble, place, files))
}

/// Returns the refusal of a ledger that is behind, with the full command that accepts the loss and names
/// every file that shows it.
fn behind(trouble: LedgerError, ledger: &Path, files: &[&Path]) -> LedgerError {
    if trouble.kind() != LedgerErrorKind::Doubt || files.is_empty() {
        return trouble;
    }
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    let anchors: String = files.iter().map(|file| format!(" --anchor {}", quoted(file))).collect();
    LedgerError::doubt(format!(
        "{trouble}; or accept the loss: discreet ledger repair {} --accept-loss --reason 'why'{anchors}",
        quoted(ledger)
    ))
}

// Selection of the account that a release is charged to.

/// Finds the account of this name, or the only one that protects this unit; if the job defines one person, an
/// account of the same people.
pub(super) fn find<'a>(
    accounts: &'a [AccountSpec],
    named: Option<&Name>,
    unit: PrivacyUnit,
    person: Option<&str>,
) -> Result<&'a AccountSpec, LedgerError> {
    let found = of_unit(accounts, named, unit)?;
    let Some(person) = person.filter(|person| found.person() != Some(*person)) else { return Ok(found) };
    let stated = found.person().map_or("does not state who one person is".to_owned(), |known| {
        format!("is an account of other people: of the person {known}")
    });
    Err(LedgerError::refused(format!(
        "person: found {person}, and account {} {stated}; one cap would speak about different people: put back what it was; or \
         state another account, with `discreet ledger init` and an account of another name: a budget of its own, and who is in \
         both accounts spends both",
        found.name()
    )))
}

fn of_unit<'a>(
    accounts: &'a [AccountSpec],
    named: Option<&Name>,
    unit: PrivacyUnit,
) -> Result<&'a AccountSpec, LedgerError> {
    let protects = |account: &&AccountSpec| account.neighbours().unit == unit;
    let fitting: Vec<&AccountSpec> = accounts.iter().filter(protects).collect();
    let refuse = |found: &str| {
        let names: Vec<&str> = fitting.iter().map(|account| account.name().as_str()).collect();
        let remedy = match names.as_slice() {
            [] => format!("state one that protects a {unit} with `discreet ledger init`"),
            names => format!("give one that protects a {unit}: {}", names.join(", ")),
        };
        Err(LedgerError::refused(format!("account: {found}; {remedy}")))
    };
    let Some(name) = named else {
        return match fitting[..] {
            [only] => Ok(only),
            [] => refuse("the ledger has none for this"),
            _ => refuse("found nothing, and the ledger has several"),
        };
    };
    match accounts.iter().find(|account| account.name() == name) {
        Some(account) if protects(&account) => Ok(account),
        Some(account) => refuse(&format!("{name} protects a {}", account.neighbours().unit)),
        None => refuse(&format!("the ledger has none named {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{Adjacency, PrivacyCost, Promise};

    fn name(text: &str) -> Name {
        Name::new("account", text).unwrap()
    }

    fn account(text: &str, unit: PrivacyUnit) -> AccountSpec {
        let neighbours = Adjacency { unit, ..Adjacency::PERSON };
        AccountSpec::new(name(text), neighbours, Promise::Lifetime, PrivacyCost::zcdp(1.0).unwrap()).unwrap()
    }

    /// Refutes a guess: if more than one account could be meant, or none can, a budget would be spent that
    /// nobody named.
    #[test]
    fn only_what_is_named_or_alone_is_found() {
        let accounts = [
            account("visits", PrivacyUnit::Person),
            account("logs", PrivacyUnit::Record),
            account("taps", PrivacyUnit::Person),
        ];
        let found = |named: Option<&str>, unit| {
            let named = named.map(name);
            of_unit(&accounts, named.as_ref(), unit).map(|account| account.name().to_string())
        };
        assert_eq!(found(Some("taps"), PrivacyUnit::Person).unwrap(), "taps");
        assert_eq!(found(None, PrivacyUnit::Record).unwrap(), "logs");
        for (named, unit, says) in [
            (None, PrivacyUnit::Person, &["several", "visits, taps"][..]),
            (Some("visit"), PrivacyUnit::Person, &["none named visit", "visits, taps"]),
            (
                Some("logs"),
                PrivacyUnit::Person,
                &["logs protects a record", "protects a person: visits, taps"],
            ),
            (Some("visits"), PrivacyUnit::Record, &["visits protects a person", "protects a record: logs"]),
        ] {
            let trouble = found(named, unit).unwrap_err();
            assert_eq!(trouble.kind(), LedgerErrorKind::Refused);
            for word in says {
                assert!(trouble.to_string().contains(word), "{trouble}");
            }
        }
        let trouble = of_unit(&accounts[..1], None, PrivacyUnit::Record).unwrap_err();
        assert!(trouble.to_string().contains("ledger init"), "{trouble}");
    }

    // Refutes an account of other people, and one without a definition beside a job that has one; a job
    // without a definition is not compared.
    #[test]
    fn a_account_is_charged_for_the_people_that_it_states() {
        let stated = account("people", PrivacyUnit::Person).with_person("the client").unwrap();
        let accounts = [stated, account("anybody", PrivacyUnit::Person)];
        let found = |named: &str, person: Option<&str>| {
            find(&accounts, Some(&name(named)), PrivacyUnit::Person, person)
                .map_err(|trouble| trouble.to_string())
        };
        assert!(found("people", Some("the client")).is_ok() && found("people", None).is_ok());
        assert!(found("anybody", None).is_ok());
        for (named, person) in
            [("people", "the account"), ("people", "the Client"), ("anybody", "the client")]
        {
            let said = found(named, Some(person)).unwrap_err();
            assert!(
                said.contains(person) && said.contains(named) && said.contains("another account"),
                "{said}"
            );
        }
    }
}
