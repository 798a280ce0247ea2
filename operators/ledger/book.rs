//! The ledger as it is used, whichever database keeps it: made, trusted, claimed, sealed and read.

use std::fs;
use std::fs::File;
use std::path::Path;

use super::anchor::{Anchor, Published};
use super::charge::{charged, last_repair};
use super::error::{LedgerError, LedgerErrorKind};
use super::key::LedgerKey;
use super::name::Name;
use super::records::{advance, digest, find, head, number, read_row, rows, write};
use super::rows::State;
use super::rows::{Charge, ReleaseId, ReleaseStatus, Row};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::{anchor, failpoint, place, repair, rows, verify};
use crate::canonical::Digest;
use crate::time::Time;

/// The version of the tables. Another one is refused.
const FORMAT: i64 = 9;

/// An open ledger.
///
/// Opening recomputes the chain and every account from the rows; a ledger that does not add up is not opened. It is
/// never made by opening: a mistyped path must not be a fresh budget.
#[derive(Debug)]
pub struct Ledger {
    store: Box<dyn Store>,
    name: Digest,
}

const HELD_KEY: &str = "SELECT mac FROM key_check";

/// Says whether a key is held, and refuses one that is not this one.
fn same_key(held: Option<Digest>, own: Digest) -> Result<bool, LedgerError> {
    match held {
        None => Ok(false),
        Some(held) if held == own => Ok(true),
        Some(_) => Err(LedgerError::refused(
            "key: it is the key of another ledger; give the one that this ledger was first used with",
        )),
    }
}

impl Ledger {
    /// Makes an empty ledger: in a new file, with its key beside it, or at an address of
    /// [Postgres](super#on-a-server), without one.
    ///
    /// # Errors
    ///
    /// If there is a ledger or a key already, or none can be made there.
    pub fn create(place: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        if !place::is_address(place) {
            if fs::exists(place).unwrap_or(true) {
                return Err(LedgerError::refused(format!(
                    "ledger {}: there is a file already",
                    place.display()
                )));
            }
            // First, so that there is never a ledger without one.
            let key = LedgerKey::create(LedgerKey::beside(place))?;
            let mut ledger = Ledger::create_alone(place)?;
            ledger.bind(&key)?;
            return Ok(ledger);
        }
        Ledger::create_alone(place)
    }

    /// Makes an empty ledger whose key is kept elsewhere, or is there already: [`bind`](Ledger::bind) it, or the first gate
    /// does.
    ///
    /// # Errors
    ///
    /// If there is a ledger already, or none can be made there.
    pub fn create_alone(place: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        let mut store = place::create(place)?;
        let mut name = [0; 32];
        getrandom::fill(&mut name)
            .map_err(|error| LedgerError::refused(format!("no randomness: {error}")))?;
        let mut transaction = Transaction::begin(&mut *store)?;
        let tables = transaction.store();
        tables.execute(
            "INSERT INTO meta VALUES (1, ?1, ?2)",
            &[SqlValue::Number(FORMAT), SqlValue::Bytes(&name)],
        )?;
        tables.execute("INSERT INTO head VALUES (1, 0, ?1)", &[SqlValue::Bytes(&name)])?;
        transaction.commit()?;
        Ledger::trusted(store, place)
    }

    /// Opens a ledger, by its path or its address, and trusts it only if everything in it adds up.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] for a path that holds no ledger or one of another format, [`LedgerErrorKind::Doubt`] for one
    /// that is torn or edited.
    pub fn open(place: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        Ledger::trusted(place::open(place)?, place)
    }

    /// Binds the ledger to its key, once: any other key is refused from then on, before anything is sealed under it. What is
    /// kept is a hash of the ledger's name under a key derived for that use alone.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] where the ledger is bound to another key.
    pub fn bind(&mut self, key: &LedgerKey) -> Result<(), LedgerError> {
        if self.is_bound(key)? {
            return Ok(());
        }
        let own = key.check_value(&self.name);
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        let bind = "INSERT INTO key_check VALUES (1, ?1) ON CONFLICT DO NOTHING";
        tables.execute(bind, &[SqlValue::Bytes(own.bytes())])?;
        let held = first(tables, HELD_KEY, &[], |row| digest(row, 0))?;
        transaction.commit()?;
        same_key(held, own).map(drop)
    }

    /// Says whether the ledger is bound to this key already; false where it is bound to none yet. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] where the ledger is bound to another key.
    pub fn is_bound(&mut self, key: &LedgerKey) -> Result<bool, LedgerError> {
        let own = key.check_value(&self.name);
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        same_key(first(snapshot.store(), HELD_KEY, &[], |row| digest(row, 0))?, own)
    }

    fn trusted(mut store: Box<dyn Store>, place: &Path) -> Result<Ledger, LedgerError> {
        let read = |row: &dyn SqlRow| Ok((number(row, 0)?, digest(row, 1)?));
        let meta = first(&mut *store, "SELECT format, ledger FROM meta", &[], read);
        let (format, name) = match meta {
            Ok(Some(meta)) => meta,
            Ok(None) => {
                return Err(LedgerError::doubt(format!("ledger {}: it holds no ledger", place.display())));
            }
            // There is no such table, or none with these columns.
            Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => {
                return Err(LedgerError::doubt(format!(
                    "ledger {}: it holds no ledger ({trouble})",
                    place.display()
                )));
            }
            Err(trouble) => return Err(trouble.about("ledger", place)),
        };
        if format != FORMAT {
            let message = format!(
                "ledger {}: its format is {format}, and this is for {FORMAT}; use the version of discreet that \
                     made it",
                place.display()
            );
            return Err(LedgerError::refused(message));
        }
        let mut ledger = Ledger { store, name };
        ledger.verify().map_err(|trouble| unsound(trouble, place))?;
        Ok(ledger)
    }

    pub(super) fn store(&mut self) -> &mut dyn Store {
        &mut *self.store
    }

    /// A random number that tells this ledger from every other.
    pub fn name(&self) -> &Digest {
        &self.name
    }

    /// A word of warning about where it lies, if there is one.
    pub fn warning(&self) -> Option<String> {
        self.store.warning()
    }

    /// Whether it is on a server: then a connection may die while the ledger is well.
    pub fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    /// How many rows there are, and the hash of all of them.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn head(&mut self) -> Result<(i64, Digest), LedgerError> {
        head(&mut *self.store)
    }

    /// The moment of the last repair: no window that starts before it is drawn any more. `None` where there was no repair.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn floor(&mut self) -> Result<Option<Time>, LedgerError> {
        Ok(last_repair(&mut *self.store)?.map(|(_, floor)| floor))
    }

    /// Recomputes the chain and every account from the rows, and compares.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`], saying what does not add up.
    pub fn verify(&mut self) -> Result<(), LedgerError> {
        verify::verify(&mut *self.store)
    }

    /// Compares the ledger with what was told elsewhere: an older copy of itself is behind it.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] where the anchor knows of a row that this ledger does not have, and that no repair gave up.
    pub fn holds(&mut self, anchor: &Anchor) -> Result<(), LedgerError> {
        anchor::held(&mut *self.store, &self.name, anchor)
    }

    /// Compares the ledger with what a file of releases tells of.
    pub(crate) fn holds_published(&mut self, published: &Published) -> Result<(), LedgerError> {
        anchor::published(&mut *self.store, &self.name, published)
    }

    /// Takes a job's fence: whoever held it before can seal no more.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Fenced`] where a process of this job is running.
    pub fn claim(&mut self, job: &Name) -> Result<Claim, LedgerError> {
        if job.as_str() == repair::JOB {
            return Err(LedgerError::refused(format!(
                "job {job}: the name of what repairs charge; take another"
            )));
        }
        let lock = self.store.exclude(job)?;
        failpoint::reached("boot-before-fence", LedgerErrorKind::Busy)?;
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let raise = "INSERT INTO fence VALUES (?1, 1)
                     ON CONFLICT (job) DO UPDATE SET generation = fence.generation + 1 RETURNING generation";
        let values = [SqlValue::Text(job.as_str())];
        let generation = first(transaction.store(), raise, &values, |row| number(row, 0))?;
        let generation = generation.ok_or_else(|| LedgerError::doubt("ledger: a fence has no generation"))?;
        transaction.commit()?;
        failpoint::reached("after-fence", LedgerErrorKind::Unknown)?;
        Ok(Claim::new(job.clone(), generation, lock))
    }

    /// The row of this release, if there is one.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn look_up(&mut self, release: &ReleaseId) -> Result<Option<Row>, LedgerError> {
        find(Transaction::snapshot(&mut *self.store)?.store(), release)
    }

    /// What the mechanism of a job's statistic has kept, if anything: one state for all versions of the job, so that a new
    /// one sees what the old one kept, and decides what of it still holds.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn state(&mut self, job: &Name, name: &Name) -> Result<Option<State>, LedgerError> {
        rows::find(&mut *self.store, job, name)
    }

    /// What was noted beside it, each with its place, in their order.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn notes(&mut self, job: &Name, name: &Name) -> Result<Vec<(i64, Vec<u8>)>, LedgerError> {
        rows::notes(&mut *self.store, job, name)
    }

    /// The rows of a job whose delivery is not known, oldest first.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn undelivered(&mut self, job: &Name) -> Result<Vec<Row>, LedgerError> {
        let values = [SqlValue::Text(job.as_str())];
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        all(snapshot.store(), rows!("WHERE job = ?1 AND delivered = 0 ORDER BY sequence"), &values, read_row)
    }

    /// All rows of a job, oldest first.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn rows_of(&mut self, job: &Name) -> Result<Vec<Row>, LedgerError> {
        let values = [SqlValue::Text(job.as_str())];
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        all(snapshot.store(), rows!("WHERE job = ?1 ORDER BY sequence"), &values, read_row)
    }

    /// Writes releases, together, in one durable commit; gives back the rows as they are then read, in the same order.
    ///
    /// A release that has a row keeps it, whatever is asked now. One that does not fit its domain's budget is written
    /// as refused, at no cost. After an error no row is known to be written; after [`LedgerErrorKind::Unknown`] none is
    /// known not to be.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Fenced`] where a later process has the claim, [`LedgerErrorKind::Refused`] for an unknown domain or a
    /// cost that it cannot count, [`LedgerErrorKind::Busy`] where another writer did not end, and what
    /// [`LedgerErrorKind`] says of the others.
    pub fn seal(&mut self, claim: &Claim, batch: &[Sealing]) -> Result<Vec<Row>, LedgerError> {
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        failpoint::reached("after-begin", LedgerErrorKind::Busy)?;
        claim.still_stands(tables)?;
        failpoint::reached("after-fence-check", LedgerErrorKind::Unknown)?;
        let start = head(tables)?;
        let (mut sequence, mut chain) = start;
        for sealing in batch {
            if find(tables, &sealing.release)?.is_some() {
                continue;
            }
            let mut row = charged(tables, claim, sealing)?;
            sequence += 1;
            row.sequence = sequence;
            row.chain = row.chained(&chain);
            chain = row.chain;
            write(tables, &row)?;
            failpoint::reached("after-insert", LedgerErrorKind::Unknown)?;
            if row.fate != ReleaseStatus::Sealed {
                failpoint::reached("during-tombstone", LedgerErrorKind::Unknown)?;
            }
        }
        if (sequence, chain) != start {
            advance(tables, sequence, &chain)?;
        }
        failpoint::reached("before-commit", LedgerErrorKind::Unknown)?;
        transaction.commit()?;
        failpoint::reached("after-commit-before-ack", LedgerErrorKind::Unknown)?;
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        batch
            .iter()
            .map(|sealing| {
                let row = find(snapshot.store(), &sealing.release)?;
                row.ok_or_else(|| LedgerError::doubt("a row that was committed cannot be read"))
            })
            .collect()
    }

    /// The rows of these releases, asked over a new connection after a commit whose end is not known. Waits until that
    /// commit has ended one way or the other, so that no row is a decision too.
    ///
    /// # Errors
    ///
    /// As [`seal`](Ledger::seal).
    pub fn recover(
        &mut self,
        claim: &Claim,
        releases: &[ReleaseId],
    ) -> Result<Vec<Option<Row>>, LedgerError> {
        self.store.reconnect()?;
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        claim.still_stands(tables)?;
        releases.iter().map(|release| find(tables, release)).collect()
    }

    /// Writes that the lines of these rows have left, or are about to; says for each whether that is news.
    ///
    /// # Errors
    ///
    /// As [`seal`](Ledger::seal).
    pub fn mark(&mut self, rows: &[Row]) -> Result<Vec<bool>, LedgerError> {
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let mut news = Vec::with_capacity(rows.len());
        for row in rows {
            let mark = "UPDATE release SET delivered = 1 WHERE sequence = ?1 AND delivered = 0";
            news.push(transaction.store().execute(mark, &[SqlValue::Number(row.sequence)])? == 1);
        }
        transaction.commit()?;
        Ok(news)
    }

    /// Copies the ledger, as one commit left it, to a new file.
    ///
    /// # Errors
    ///
    /// If there is a file already, or it cannot be written.
    pub fn export(&mut self, to: impl AsRef<Path>) -> Result<(), LedgerError> {
        self.store.export(to.as_ref())
    }
}

/// What does not add up, with the path and the remedy.
fn unsound(trouble: LedgerError, place: &Path) -> LedgerError {
    let trouble = trouble.about("ledger", place);
    if trouble.kind() != LedgerErrorKind::Doubt || trouble.to_string().contains("repair") {
        return trouble;
    }
    LedgerError::doubt(format!("{trouble}; bring back the newest copy, or see `discreet ledger repair`"))
}

// Who may write to a ledger, and what is written.

/// A job's right to seal, until a later process takes it over.
#[derive(Debug)]
pub struct Claim {
    job: Name,
    generation: i64,
    /// Held for as long as the claim lives, so that a second process fails at once instead of at its first seal.
    _lock: Option<File>,
}

impl Claim {
    pub(super) fn new(job: Name, generation: i64, lock: Option<File>) -> Claim {
        Claim { job, generation, _lock: lock }
    }

    /// The job.
    pub(crate) fn job(&self) -> &Name {
        &self.job
    }

    /// How many processes of this job have held the claim, this one included.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether nobody has taken over. Inside a transaction the answer lasts until its end.
    pub(super) fn still_stands(&self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let values = [SqlValue::Text(self.job.as_str())];
        let generation =
            first(store, "SELECT generation FROM fence WHERE job = ?1", &values, |row| number(row, 0))?;
        if generation == Some(self.generation) {
            return Ok(());
        }
        let message = format!("job {}: a later process has taken over", self.job);
        Err(LedgerError::new(LedgerErrorKind::Fenced, message))
    }
}

/// What is to be written about one release.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The release.
    pub release: ReleaseId,
    /// How it is paid for. What is skipped costs nothing; nothing else may.
    pub charge: Option<Charge>,
    /// What is to become of it, where it fits the budget.
    pub fate: ReleaseStatus,
    /// The line that may leave then.
    pub line: String,
    /// What its mechanism keeps for the next release, where it keeps anything; written only if this is sealed.
    pub state: Option<State>,
}
