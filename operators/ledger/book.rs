//! An open ledger over either database: its creation, its opening, its key, and reads.

use std::fs;
use std::path::Path;

use super::anchor::{Anchor, Published};
use super::charge::last_repair;
use super::checkpoint::{self, CheckpointKey};
use super::error::{LedgerError, LedgerErrorKind};
use super::key::LedgerKey;
use super::name::Name;
use super::proof::unsound;
use super::records::{digest, find, head, number, read_row, rows};
use super::rows::{ReleaseId, Row};
use super::states::{self, State};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::verify::Chain;
use super::{anchor, place};
use crate::canonical::Digest;
use crate::time::Time;

/// The version of the table format. A ledger of another version is refused.
const FORMAT: i64 = 14;

/// An open ledger.
///
/// Opening recomputes the chain and every account from the rows, from the first row or from the newest
/// checkpoint on, and refuses a ledger that does not add up. Opening never creates a ledger: a mistyped path
/// must not yield a fresh budget.
#[derive(Debug)]
pub struct Ledger {
    pub(super) store: Box<dyn Store>,
    pub(super) name: Digest,
    /// All that is proven, as of the last verification or checkpoint.
    pub(super) proof: Chain,
    /// True if this process has verified the rows from the first one on.
    pub(super) whole: bool,
    /// The key of checkpoints, once the ledger is known to be bound to the key that it is derived from.
    pub(super) key: Option<CheckpointKey>,
    /// The last row of the stored checkpoint, if it is one that this process relied on or has made.
    pub(super) stored: Option<i64>,
}

const HELD_KEY: &str = "SELECT mac FROM key_check";

/// Returns true if the ledger holds this check value and false if it holds none; an error if it holds that of
/// another key.
fn same_key(held: Option<Digest>, own: Digest) -> Result<bool, LedgerError> {
    match held {
        None => Ok(false),
        Some(held) if held == own => Ok(true),
        Some(_) => Err(LedgerError::refused(
            "key: it is the key of another ledger, or one that `ledger rekey` has replaced; give the one that this ledger is bound \
             to, or, where a `ledger rekey` was cut off, run it again",
        )),
    }
}

/// The remedy for a file without a ledger.
const NO_LEDGER: &str =
    "bring back the newest copy with its -wal, or remove the file if no ledger was ever made here";

/// Gives an empty ledger its name, from which its chain begins.
fn named(store: &mut dyn Store) -> Result<(), LedgerError> {
    let mut name = [0; 32];
    getrandom::fill(&mut name).map_err(|error| LedgerError::refused(format!("no randomness: {error}")))?;
    let mut transaction = Transaction::begin(store)?;
    let tables = transaction.store();
    tables.execute(
        "INSERT INTO meta VALUES (1, ?1, ?2)",
        &[SqlValue::Number(FORMAT), SqlValue::Bytes(&name)],
    )?;
    tables.execute("INSERT INTO head VALUES (1, 0, ?1)", &[SqlValue::Bytes(&name)])?;
    transaction.commit()?;
    Ok(())
}

impl Ledger {
    /// Creates an empty ledger: in a new file, with its key beside it, or at an address of
    /// [Postgres](super#on-a-server), without a key.
    ///
    /// # Errors
    ///
    /// If a ledger or a key exists already, or neither can be created there.
    pub fn create(place: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        if !place::is_address(place) {
            if fs::exists(place).unwrap_or(true) {
                return Err(LedgerError::refused(format!(
                    "ledger {}: there is a file already",
                    place.display()
                )));
            }
            // The key comes first, so that a ledger without a key never exists.
            let key = LedgerKey::create(LedgerKey::beside(place))?;
            let mut ledger = Ledger::create_alone(place)?;
            ledger.bind(&key)?;
            return Ok(ledger);
        }
        Ledger::create_alone(place)
    }

    /// Creates an empty ledger whose key is kept elsewhere or exists already: [`bind`](Ledger::bind) it, or
    /// the first gate binds it.
    ///
    /// # Errors
    ///
    /// If a ledger exists already, or cannot be created there.
    pub fn create_alone(place: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        let mut store = place::create(place)?;
        if let Err(trouble) = named(&mut *store) {
            drop(store);
            place::discard(place);
            return Err(trouble);
        }
        Ledger::trusted(store, place, None)
    }

    /// Opens a ledger, by its path or its address, after verifying all of it.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] where no file or schema of a ledger exists, or the ledger has another
    /// format; [`LedgerErrorKind::Doubt`] for a ledger that is torn or edited, and for a file that holds no
    /// ledger.
    pub fn open(place: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        Ledger::trusted(place::open(place)?, place, None)
    }

    /// Opens a ledger as [`open`](Ledger::open) does, after verifying the rows since its newest checkpoint if
    /// that was made with this key, and all of it otherwise. A small ledger is always verified whole.
    ///
    /// What lies before the checkpoint is [verified](Ledger::is_whole) by a gate while it runs, or by
    /// [`verify`](Ledger::verify).
    ///
    /// # Errors
    ///
    /// As [`open`](Ledger::open). Another key than the ledger's is no error here.
    pub fn open_with_key(place: impl AsRef<Path>, key: &LedgerKey) -> Result<Ledger, LedgerError> {
        let place = place.as_ref();
        Ledger::trusted(place::open(place)?, place, Some((key, checkpoint::SMALL)))
    }

    /// Opens a ledger as [`open_with_key`](Ledger::open_with_key) does, whatever its size.
    #[cfg(test)]
    pub(crate) fn open_from_checkpoint(place: &Path, key: &LedgerKey) -> Result<Ledger, LedgerError> {
        Ledger::trusted(place::open(place)?, place, Some((key, 0)))
    }

    /// Binds the ledger to its key, once: any other key is refused from then on, before anything is sealed
    /// under it. The ledger stores a hash of its own name under a key derived for that use alone.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] if the ledger is bound to another key.
    pub fn bind(&mut self, key: &LedgerKey) -> Result<(), LedgerError> {
        if self.is_bound(key)? {
            self.key = Some(CheckpointKey::of(key));
            return Ok(());
        }
        let own = key.check_value(&self.name);
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        let bind = "INSERT INTO key_check VALUES (1, ?1, 1) ON CONFLICT DO NOTHING";
        tables.execute(bind, &[SqlValue::Bytes(own.bytes())])?;
        let held = first(tables, HELD_KEY, &[], |row| digest(row, 0))?;
        transaction.commit()?;
        same_key(held, own)?;
        self.key = Some(CheckpointKey::of(key));
        Ok(())
    }

    /// Returns true if the ledger is bound to this key, and false if it is bound to none yet. Changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] if the ledger is bound to another key.
    pub fn is_bound(&mut self, key: &LedgerKey) -> Result<bool, LedgerError> {
        let own = key.check_value(&self.name);
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        same_key(first(snapshot.store(), HELD_KEY, &[], |row| digest(row, 0))?, own)
    }

    fn trusted(
        mut store: Box<dyn Store>,
        place: &Path,
        key: Option<(&LedgerKey, i64)>,
    ) -> Result<Ledger, LedgerError> {
        let read = |row: &dyn SqlRow| Ok((number(row, 0)?, digest(row, 1)?));
        let meta = first(&mut *store, "SELECT format, ledger FROM meta", &[], read);
        let (format, name) = match meta {
            Ok(Some(meta)) => meta,
            Ok(None) => {
                let what = format!("ledger {}: it holds no ledger; {NO_LEDGER}", place.display());
                return Err(LedgerError::doubt(what));
            }
            // The database has no such table, or one with other columns.
            Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => {
                return Err(LedgerError::doubt(format!(
                    "ledger {}: it holds no ledger ({trouble}); {NO_LEDGER}",
                    place.display()
                )));
            }
            Err(trouble) => return Err(trouble.about("ledger", place)),
        };
        if format != FORMAT {
            let message = format!(
                "ledger {}: its format is {format}, and this version of discreet reads {FORMAT}; use the version that made \
                 it, whose `discreet ledger export` copies it, or create another ledger, with a new budget",
                place.display()
            );
            return Err(LedgerError::refused(message));
        }
        let mut ledger =
            Ledger { store, name, proof: Chain::of(name), whole: false, key: None, stored: None };
        // An error of a checkpoint is decided by verifying everything.
        let mut extends_checkpoint = false;
        if let Some((key, small)) = key
            && ledger.is_bound(key).unwrap_or(false)
        {
            ledger.key = Some(CheckpointKey::of(key));
            extends_checkpoint = ledger.extends_checkpoint(small).unwrap_or(false);
        }
        if !extends_checkpoint {
            ledger.verify().map_err(|trouble| unsound(trouble, place))?;
        }
        let (row, whole) = (ledger.proof.sequence, ledger.whole);
        to_operator!(DEBUG, "ledger opened", row, whole, "a ledger was opened");
        Ok(ledger)
    }

    pub(super) fn store(&mut self) -> &mut dyn Store {
        &mut *self.store
    }

    /// The name of the ledger: 32 random bytes, which no other ledger has.
    pub fn name(&self) -> &Digest {
        &self.name
    }

    /// A warning about the place of the ledger, if there is cause for one.
    pub fn warning(&self) -> Option<String> {
        self.store.warning()
    }

    /// Returns true if the ledger is on a server: then a connection may fail while the ledger is sound.
    pub fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    /// The sequence number of the last row, and the hash of the chain up to it. A repair can leave a gap in
    /// the numbers; after one the number of rows may be lower.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn head(&mut self) -> Result<(i64, Digest), LedgerError> {
        head(&mut *self.store)
    }

    /// The number of rows of the chain: releases, accounts, amendments and repairs.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn row_count(&mut self) -> Result<u64, LedgerError> {
        let count =
            "SELECT (SELECT count(*) FROM release WHERE sequence > ?1) + (SELECT count(*) FROM account)
                     + (SELECT count(*) FROM amendment) + (SELECT count(*) FROM repair)
                     + (SELECT count(*) FROM archive) + (SELECT count(*) FROM rekey)";
        let proven = [SqlValue::Number(self.proof.sequence)];
        let count = first(&mut *self.store, count, &proven, |row| number(row, 0))?.unwrap_or(0);
        Ok((self.proof.releases + count).unsigned_abs())
    }

    /// All that is proven, as of the last verification or checkpoint.
    pub(super) fn proof(&self) -> &Chain {
        &self.proof
    }

    /// The floor of the last repair, `None` without a repair: no noise is drawn any more for a window that
    /// starts before it and has no row.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn floor(&mut self) -> Result<Option<Time>, LedgerError> {
        Ok(last_repair(&mut *self.store)?.map(|(_, floor)| floor))
    }

    /// Checks that the ledger holds the row of an anchor, as an older copy of the ledger would not.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the anchor records a row that this ledger does not hold and that no
    /// repair gave up.
    pub fn holds(&mut self, anchor: &Anchor) -> Result<(), LedgerError> {
        anchor::held(&mut *self.store, &self.name, anchor)
    }

    /// Checks that the ledger holds a row that a file of releases records.
    pub(crate) fn holds_published(&mut self, published: &Published) -> Result<(), LedgerError> {
        anchor::published(&mut *self.store, &self.name, published)
    }

    /// The row of this release, if the ledger has one.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn look_up(&mut self, release: &ReleaseId) -> Result<Option<Row>, LedgerError> {
        find(Transaction::snapshot(&mut *self.store)?.store(), release)
    }

    /// The rows of these releases in one state of the ledger, in their order.
    pub(crate) fn look_up_each<'a>(
        &mut self,
        releases: impl Iterator<Item = &'a ReleaseId>,
    ) -> Result<Vec<Option<Row>>, LedgerError> {
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        releases.map(|release| find(snapshot.store(), release)).collect()
    }

    /// The newest state of a statistic's mechanism, if it keeps one: a full copy, and the changes since, in
    /// their order. All versions of a job share one state: a new version reads the state of the old one, and
    /// decides which parts of it still hold.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn states(&mut self, job: &Name, name: &Name) -> Result<Vec<State>, LedgerError> {
        states::states(&mut *self.store, job, name)
    }

    /// The number of times that the state of a statistic has changed, and the digest of the newest
    /// [row](Ledger::states).
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn newest_state(&mut self, job: &Name, name: &Name) -> Result<Option<(i64, Digest)>, LedgerError> {
        states::newest(&mut *self.store, job, name)
    }

    /// The notes beside the [state](Ledger::states) of a statistic, each with its place, in the order of
    /// places.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn notes(&mut self, job: &Name, name: &Name) -> Result<Vec<(i64, Vec<u8>)>, LedgerError> {
        states::notes(&mut *self.store, job, name)
    }

    /// The rows of a job that are not marked as delivered, oldest first.
    ///
    /// # Errors
    ///
    /// If the rows cannot be read.
    pub fn undelivered(&mut self, job: &Name) -> Result<Vec<Row>, LedgerError> {
        let values = [SqlValue::Text(job.as_str())];
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        all(snapshot.store(), rows!("WHERE job = ?1 AND delivered = 0 ORDER BY sequence"), &values, read_row)
    }

    /// All rows of a job, oldest first.
    ///
    /// # Errors
    ///
    /// If the rows cannot be read.
    pub fn rows_of(&mut self, job: &Name) -> Result<Vec<Row>, LedgerError> {
        let values = [SqlValue::Text(job.as_str())];
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        all(snapshot.store(), rows!("WHERE job = ?1 ORDER BY sequence"), &values, read_row)
    }

    /// Calls `take` with each row of any job at a position after this one, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub(crate) fn rows_after(&mut self, position: i64, mut take: impl FnMut(Row)) -> Result<(), LedgerError> {
        let after = [SqlValue::Number(position)];
        self.store.read(rows!("WHERE sequence > ?1 ORDER BY sequence"), &after, &mut |columns| {
            take(read_row(columns)?);
            Ok(())
        })
    }

    /// The rows of a release in a version whose windows end after a time, in the order of their ends: at most this number.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub(crate) fn rows_ending_after(
        &mut self,
        (job, name, version): (&Name, &Name, &Digest),
        after: Time,
        most: i64,
    ) -> Result<Vec<Row>, LedgerError> {
        let values = [
            SqlValue::Text(job.as_str()),
            SqlValue::Text(name.as_str()),
            SqlValue::Bytes(version.bytes()),
            SqlValue::Number(after),
            SqlValue::Number(most),
        ];
        let later = rows!(
            "WHERE job = ?1 AND name = ?2 AND version = ?3 AND part IS NULL AND window_end > ?4
             ORDER BY window_end LIMIT ?5"
        );
        all(&mut *self.store, later, &values, read_row)
    }

    /// The rows of a job at positions after this one that are marked as delivered, oldest first, up to a number
    /// of them.
    #[cfg(feature = "cli")]
    pub(crate) fn delivered_after(
        &mut self,
        job: &Name,
        after: i64,
        most: i64,
    ) -> Result<Vec<Row>, LedgerError> {
        let values = [SqlValue::Text(job.as_str()), SqlValue::Number(after), SqlValue::Number(most)];
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        let delivered =
            rows!("WHERE job = ?1 AND delivered = 1 AND sequence > ?2 ORDER BY sequence LIMIT ?3");
        all(snapshot.store(), delivered, &values, read_row)
    }

    /// Copies one committed state of the ledger to a new file.
    ///
    /// # Errors
    ///
    /// If the file exists already, or cannot be written.
    pub fn export(&mut self, to: impl AsRef<Path>) -> Result<(), LedgerError> {
        self.store.export(to.as_ref())
    }
}
