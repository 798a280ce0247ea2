//! An open ledger and its operations, over either database: creation, verification, claims, sealing and
//! reads.

use std::fs;
use std::fs::File;
use std::path::Path;

use super::anchor::{Anchor, Published};
use super::archive::{self, barred};
use super::charge::{charged, fetch, keep, last_repair, payer, unknown_account};
use super::checkpoint::{self, CheckpointKey};
use super::error::{LedgerError, LedgerErrorKind};
use super::key::LedgerKey;
use super::name::Name;
use super::positions::PositionUpdate;
use super::records::{advance, amended_account, digest, find, head, number, read_row, rows, write};
use super::rows::State;
use super::rows::{Charge, ReleaseId, ReleaseStatus, Row};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::verify::{Chain, verify, verify_beside};
use super::{anchor, failpoint, place, repair, rows};
use crate::accounting::{Interval, ReleaseCost};
use crate::canonical::Digest;
use crate::time::Time;

/// The version of the table format. A ledger of another version is refused.
const FORMAT: i64 = 13;

/// An open ledger.
///
/// Opening recomputes the chain and every account from the rows, from the first row or from the newest
/// checkpoint on, and refuses a ledger that does not add up. Opening never creates a ledger: a mistyped path
/// must not yield a fresh budget.
#[derive(Debug)]
pub struct Ledger {
    store: Box<dyn Store>,
    name: Digest,
    /// All that is proven, as of the last verification or checkpoint.
    proof: Chain,
    /// True if this process has verified the rows from the first one on.
    whole: bool,
    /// The key of checkpoints, once the ledger is known to be bound to the key that it is derived from.
    key: Option<CheckpointKey>,
    /// The last row of the stored checkpoint, if it is one that this process relied on or has made.
    stored: Option<i64>,
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
                return Err(LedgerError::doubt(format!("ledger {}: it holds no ledger", place.display())));
            }
            // The database has no such table, or one with other columns.
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
                "ledger {}: its format is {format}, and this version of discreet reads {FORMAT}; use the version that made \
                 it, whose `discreet ledger export` copies it, or create another ledger, with a new budget",
                place.display()
            );
            return Err(LedgerError::refused(message));
        }
        let mut ledger =
            Ledger { store, name, proof: Chain::of(name), whole: false, key: None, stored: None };
        // An error of a checkpoint is decided by verifying everything.
        if let Some((key, small)) = key
            && ledger.is_bound(key).unwrap_or(false)
        {
            ledger.key = Some(CheckpointKey::of(key));
            if ledger.extends_checkpoint(small).unwrap_or(false) {
                return Ok(ledger);
            }
        }
        ledger.verify().map_err(|trouble| unsound(trouble, place))?;
        Ok(ledger)
    }

    /// Verifies the rows since the stored checkpoint; returns false if there is none to begin from.
    fn extends_checkpoint(&mut self, small: i64) -> Result<bool, LedgerError> {
        let Some(key) = &self.key else { return Ok(false) };
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        let store = snapshot.store();
        if head(store)?.0 <= small {
            return Ok(false);
        }
        let Some(mut chain) = checkpoint::find(store, key, &self.name)? else { return Ok(false) };
        let stored = chain.sequence;
        chain.extend(store)?;
        chain.prune();
        (self.proof, self.stored) = (chain, Some(stored));
        Ok(true)
    }

    /// Returns true if this process has verified the ledger from its first row on, and false if it began at a
    /// checkpoint.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Records that another connection has verified the ledger from its first row on.
    pub(crate) fn was_verified(&mut self) {
        self.whole = true;
    }

    /// Stores a checkpoint of all that is verified, after verifying the rows since the last one. Does nothing
    /// without the key ([`bind`](Ledger::bind)), and nothing where no row is new.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the ledger does not add up any more; other kinds if the checkpoint was
    /// not stored.
    pub fn checkpoint(&mut self) -> Result<(), LedgerError> {
        if self.key.is_none() {
            return Ok(());
        }
        let mut chain = self.proof.clone();
        chain.extend(Transaction::snapshot(&mut *self.store)?.store())?;
        chain.prune();
        self.proof = chain;
        let Some(key) = self.key.as_ref().filter(|_| self.stored != Some(self.proof.sequence)) else {
            return Ok(());
        };
        failpoint::reached("before-checkpoint", LedgerErrorKind::Busy)?;
        checkpoint::store(&mut *self.store, key, &self.proof)?;
        failpoint::reached("after-checkpoint", LedgerErrorKind::Busy)?;
        self.stored = Some(self.proof.sequence);
        Ok(())
    }

    /// Stores a [checkpoint](Ledger::checkpoint) once there are enough rows since the last one that it costs
    /// next to nothing beside them. An error other than doubt is no reason to stop: the next one may succeed.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the ledger does not add up any more.
    pub(crate) fn checkpoint_after(&mut self, sequence: i64) -> Result<(), LedgerError> {
        let since = sequence - self.proof.sequence;
        if since < checkpoint::INTERVAL || since < 4 * self.proof.due.entries() as i64 {
            return Ok(());
        }
        self.checkpoint_at_end()
    }

    /// Stores a [checkpoint](Ledger::checkpoint) at the end of a process, or at its beginning.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the ledger does not add up any more.
    pub(crate) fn checkpoint_at_end(&mut self) -> Result<(), LedgerError> {
        match self.checkpoint() {
            Err(trouble) if trouble.kind() != LedgerErrorKind::Doubt => Ok(()),
            stored => stored,
        }
    }

    /// Verifies the ledger at a place from its first row on, over a connection of its own, beside the process
    /// that writes to it. Returns false if `go_on` does, or if too much was written meanwhile to tell.
    ///
    /// # Errors
    ///
    /// As [`verify`](Ledger::verify).
    pub(crate) fn verify_beside(place: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<bool, LedgerError> {
        let verified = verify_beside(&mut *place::open(place)?, go_on);
        verified.map_err(|trouble| unsound(trouble, place))
    }

    /// Verifies everything, if deciding these charges would take more than what is proven: entries of an
    /// account that are older than those of a checkpoint, or a reservation that it does not hold.
    fn prove_for(&mut self, batch: &[Sealing]) -> Result<(), LedgerError> {
        if self.whole {
            return Ok(());
        }
        let mut proven = true;
        for Sealing { release, charge, .. } in batch {
            let time = match charge {
                None => continue,
                Some(Charge::Cost(_)) => release.window,
                Some(Charge::Once { life, .. }) => {
                    let paid = payer(&mut *self.store, release, *life)?;
                    let Some((sequence, id)) = paid else {
                        proven &= self.proof.due.reads(&release.account, *life);
                        continue;
                    };
                    let payer =
                        (release.account.clone(), release.job.clone(), release.name.clone(), release.version);
                    let known = self.proof.due.reserved.get(&payer);
                    let known = known.is_some_and(|known| {
                        known.iter().any(|known| (known.id, known.sequence) == (id, sequence))
                    });
                    proven &= known || sequence > self.proof.sequence;
                    continue;
                }
            };
            proven &= self.proof.due.reads(&release.account, time);
        }
        if proven { Ok(()) } else { self.verify() }
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

    /// Recomputes the chain and every account from the rows, and compares them with the stored ones.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`], with a message that names the difference.
    pub fn verify(&mut self) -> Result<(), LedgerError> {
        let mut proof = verify(&mut *self.store)?;
        proof.prune();
        (self.proof, self.whole) = (proof, true);
        Ok(())
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

    /// Claims a job for this process by raising its fence: a process that claimed it before can seal nothing
    /// more.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Fenced`] if a process of this job is running, [`LedgerErrorKind::Refused`] for the
    /// name that repairs charge under.
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

    /// The row of this release, if the ledger has one.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn look_up(&mut self, release: &ReleaseId) -> Result<Option<Row>, LedgerError> {
        find(Transaction::snapshot(&mut *self.store)?.store(), release)
    }

    /// The newest state of a statistic's mechanism, if it keeps one. All versions of a job share one state: a
    /// new version reads the state of the old one, and decides which parts of it still hold.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn state(&mut self, job: &Name, name: &Name) -> Result<Option<State>, LedgerError> {
        rows::find(&mut *self.store, job, name)
    }

    /// The notes beside the [state](Ledger::state) of a statistic, each with its place, in the order of
    /// places.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn notes(&mut self, job: &Name, name: &Name) -> Result<Vec<(i64, Vec<u8>)>, LedgerError> {
        rows::notes(&mut *self.store, job, name)
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

    /// Writes a batch of releases in one durable commit, and returns their rows as they are then read, in the
    /// same order.
    ///
    /// A release that has a row keeps it, whatever the batch says. A release that does not fit the budget of
    /// its account is written as refused, at no cost. After an error no row is known to be written; after
    /// [`LedgerErrorKind::Unknown`] no row is known not to be.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Fenced`] if a later process has the claim, [`LedgerErrorKind::Refused`] for an
    /// unknown account or a cost that it cannot count, [`LedgerErrorKind::Busy`] if another writer did not
    /// end in time, and the other kinds as [`LedgerErrorKind`] defines them.
    pub fn seal(&mut self, claim: &Claim, batch: &[Sealing]) -> Result<Vec<Row>, LedgerError> {
        self.seal_with(claim, batch, &[])
    }

    /// Writes a batch of releases as [`seal`](Ledger::seal) does, and in the same commit the resume positions
    /// of the job's inputs.
    ///
    /// # Errors
    ///
    /// As [`seal`](Ledger::seal).
    pub fn seal_with(
        &mut self,
        claim: &Claim,
        batch: &[Sealing],
        positions: &[PositionUpdate],
    ) -> Result<Vec<Row>, LedgerError> {
        self.prove_for(batch)?;
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        failpoint::reached("after-begin", LedgerErrorKind::Busy)?;
        claim.still_stands(tables)?;
        failpoint::reached("after-fence-check", LedgerErrorKind::Unknown)?;
        let start = head(tables)?;
        let floor = archive::floor(tables)?;
        let (mut sequence, mut chain) = start;
        for sealing in batch {
            if find(tables, &sealing.release)?.is_some() {
                continue;
            }
            if archive::may_hold(floor, &sealing.release) {
                return Err(barred(&sealing.release));
            }
            let mut row = charged(tables, claim, sealing)?;
            sequence += 1;
            row.sequence = sequence;
            row.chain = row.chained(&chain);
            chain = row.chain;
            write(tables, &row)?;
            settle(tables, &row)?;
            failpoint::reached("after-insert", LedgerErrorKind::Unknown)?;
            if row.status != ReleaseStatus::Sealed {
                failpoint::reached("during-tombstone", LedgerErrorKind::Unknown)?;
            }
        }
        if (sequence, chain) != start {
            advance(tables, sequence, &chain)?;
        }
        positions.iter().try_for_each(|update| update.write(tables, &claim.job))?;
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

    /// Writes sealed and delivered rows in one transaction, charged whether they fit or not, and none of them
    /// looked up: the past of a large ledger, for benches of this library itself. All are of one account.
    #[doc(hidden)]
    pub fn lay_down_for_benches_of_the_library_itself(
        &mut self,
        claim: &Claim,
        rows: &[(ReleaseId, ReleaseCost, String)],
    ) -> Result<(), LedgerError> {
        let Some(((first, ..), (last, ..))) = rows.first().zip(rows.last()) else { return Ok(()) };
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        claim.still_stands(tables)?;
        let account =
            amended_account(tables, &first.account)?.ok_or_else(|| unknown_account(&first.account))?;
        let time = Interval::new(first.window.start(), last.window.end())?;
        let mut balance = fetch(tables, &account, time)?;
        let before = balance.entries();
        let (start, mut chain) = head(tables)?;
        let mut sequence = start;
        for (release, cost, line) in rows {
            let prices = balance.asked(release.window, cost)?;
            balance.add(release.window, &prices)?;
            sequence += 1;
            let mut row = Row {
                sequence,
                release: release.clone(),
                generation: claim.generation(),
                status: ReleaseStatus::Sealed,
                partial: (prices.partial != prices.whole).then_some(prices.partial),
                cost: Some(prices.whole),
                life: None,
                prepaid: None,
                state: None,
                line: line.clone(),
                delivered: true,
                chain: Digest::NONE,
            };
            row.chain = row.chained(&chain);
            chain = row.chain;
            write(tables, &row)?;
            settle(tables, &row)?;
        }
        keep(tables, &account.name, &before, &balance.entries())?;
        tables.execute("UPDATE release SET delivered = 1 WHERE sequence > ?1", &[SqlValue::Number(start)])?;
        advance(tables, sequence, &chain)?;
        transaction.commit()
    }

    /// Reads the rows of these releases over a new connection, after a commit whose outcome is unknown. The
    /// read waits until that commit has either taken place or been undone, so that the absence of a row is
    /// final too.
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

    /// Marks rows as delivered, for lines that have left or are about to; returns for each whether it was not
    /// marked before. It needs no claim: a mark never changes what is released or charged.
    ///
    /// # Errors
    ///
    /// If the rows cannot be written; then none is marked.
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

    /// Copies one committed state of the ledger to a new file.
    ///
    /// # Errors
    ///
    /// If the file exists already, or cannot be written.
    pub fn export(&mut self, to: impl AsRef<Path>) -> Result<(), LedgerError> {
        self.store.export(to.as_ref())
    }
}

/// Moves the settled frontier of a release up to the window of a row that settles it: one row each, whatever
/// the number of windows.
fn settle(store: &mut dyn Store, row: &Row) -> Result<(), LedgerError> {
    let ReleaseId { job, name, version, window, part, .. } = &row.release;
    if part.is_some() || row.status == ReleaseStatus::Skipped {
        return Ok(());
    }
    let values = [
        SqlValue::Text(job.as_str()),
        SqlValue::Text(name.as_str()),
        SqlValue::Bytes(version.bytes()),
        SqlValue::Number(window.end()),
    ];
    let raise = "INSERT INTO settled VALUES (?1, ?2, ?3, ?4) ON CONFLICT (job, name, version)
                 DO UPDATE SET until = excluded.until WHERE settled.until < excluded.until";
    store.execute(raise, &values).map(drop)
}

/// Adds the path and the remedy to an error of verification.
fn unsound(trouble: LedgerError, place: &Path) -> LedgerError {
    let trouble = trouble.about("ledger", place);
    if trouble.kind() != LedgerErrorKind::Doubt || trouble.to_string().contains("repair") {
        return trouble;
    }
    LedgerError::doubt(format!("{trouble}; bring back the newest copy, or see `discreet ledger repair`"))
}

// A job's right to write to a ledger, and the entry that it writes for each release.

/// A job's right to seal, until a later process claims the job.
#[derive(Debug)]
pub struct Claim {
    job: Name,
    generation: i64,
    /// Held for as long as the claim lives, so that a second process fails at once and not at its first seal.
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

    /// The fencing token: the number of claims of this job so far, this one included.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Checks that no later process has claimed the job. Inside a transaction the result holds until its end.
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

/// An entry to seal: one release with its charge, status, line and state.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The release.
    pub release: ReleaseId,
    /// The charge for the release. A skipped release costs nothing; every other release needs a charge.
    pub charge: Option<Charge>,
    /// The status to give the release if it fits the budget.
    pub status: ReleaseStatus,
    /// The line that may leave once the release is sealed.
    pub line: String,
    /// The state that the mechanism keeps for the next release, if it keeps any; written only if this release
    /// is sealed.
    pub state: Option<State>,
}
