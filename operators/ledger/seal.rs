//! Writing to a ledger: a job's right to it, and the commit that writes releases with their charges.

use std::fs::File;

use super::archive::{self, barred};
use super::balances::Balances;
use super::book::Ledger;
use super::charge::{charged, fetch, keep, unknown_account};
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::positions::PositionUpdate;
use super::records::{advance, amended_account, find, head, number, write};
use super::rows::{Charge, ReleaseId, ReleaseStatus, Row, State};
use super::store::{SqlValue, Store, Transaction, first};
use super::{failpoint, repair};
use crate::accounting::{Interval, ReleaseCost};
use crate::canonical::Digest;

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

impl Ledger {
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
        let mut balances = Balances::default();
        for sealing in batch {
            if find(tables, &sealing.release)?.is_some() {
                continue;
            }
            if archive::may_hold(floor, &sealing.release) {
                return Err(barred(&sealing.release));
            }
            let mut row = charged(tables, &mut balances, claim, sealing)?;
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
        balances.write(tables)?;
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
