//! Writing to a ledger: a job's right to it, and the commit that writes releases with their charges.

use std::collections::{BTreeMap, BTreeSet};

use super::agreement::Agreement;
use super::archive::{self, barred};
use super::balances::Balances;
use super::book::Ledger;
use super::charge::{charged, fetch, keep, unknown_account};
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::positions::PositionUpdate;
use super::records::{advance, amended_account, find, head, number, write};
use super::rows::{Charge, ReleaseId, ReleaseStatus, Row};
use super::states::State;
use super::store::{FileLock, SqlValue, Store, Transaction, all, first};
use super::{failpoint, repair};
use crate::accounting::{Interval, ReleaseCost};
use crate::canonical::Digest;

/// A job's right to seal, until a later process claims the job.
#[derive(Debug)]
pub struct Claim {
    job: Name,
    generation: i64,
    /// Held for as long as the claim lives, so that a second process fails at once and not at its first seal.
    _lock: Option<FileLock>,
}

impl Claim {
    pub(super) fn new(job: Name, generation: i64, lock: Option<FileLock>) -> Claim {
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
        let lock = self.store.exclude(job).inspect_err(|trouble| {
            if trouble.kind() == LedgerErrorKind::Fenced {
                to_operator!(DEBUG, "ledger locked", job = job.as_str(), "another process of the job runs");
            }
        })?;
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
        self.seal_with(claim, batch, (&[], &[]))
    }

    /// Writes a batch of releases as [`seal`](Ledger::seal) does, and in the same commit the resume positions
    /// of the job's inputs and the terms of the versions that have been opened.
    ///
    /// # Errors
    ///
    /// As [`seal`](Ledger::seal).
    pub fn seal_with(
        &mut self,
        claim: &Claim,
        batch: &[Sealing],
        (positions, opened): (&[PositionUpdate], &[Agreement]),
    ) -> Result<Vec<Row>, LedgerError> {
        self.prove_for(batch)?;
        let mut transaction = Transaction::begin(&mut *self.store)?;
        let tables = transaction.store();
        failpoint::reached("after-begin", LedgerErrorKind::Busy)?;
        claim.still_stands(tables)?;
        failpoint::reached("after-fence-check", LedgerErrorKind::Unknown)?;
        opened.iter().try_for_each(|agreement| agreement.record(tables, &claim.job))?;
        let start = head(tables)?;
        let floor = archive::floor(tables)?;
        let (mut sequence, mut chain) = start;
        let mut balances = Balances::default();
        let mut settled = SettledRows::default();
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
            settled.add(&row);
            failpoint::reached("after-insert", LedgerErrorKind::Unknown)?;
            if row.status != ReleaseStatus::Sealed {
                failpoint::reached("during-tombstone", LedgerErrorKind::Unknown)?;
            }
        }
        balances.write(tables)?;
        settled.write(tables)?;
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
        let mut settled = SettledRows::default();
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
            settled.add(&row);
        }
        settled.write(tables)?;
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
        let mut news = BTreeSet::new();
        for run in rows.chunk_by(|row, next| row.sequence + 1 == next.sequence) {
            let [Some(first), Some(last)] = [run.first(), run.last()] else { continue };
            let mark = "UPDATE release SET delivered = 1 WHERE sequence BETWEEN ?1 AND ?2 AND delivered = 0
                        RETURNING sequence";
            let values = [SqlValue::Number(first.sequence), SqlValue::Number(last.sequence)];
            news.extend(all(transaction.store(), mark, &values, |row| number(row, 0))?);
        }
        transaction.commit()?;
        Ok(rows.iter().map(|row| news.remove(&row.sequence)).collect())
    }
}

/// The rows of a transaction that settle their windows: of each version of a release the latest window.
#[derive(Default)]
struct SettledRows(BTreeMap<(Name, Name, Digest), i64>);

impl SettledRows {
    fn add(&mut self, row: &Row) {
        let ReleaseId { job, name, version, window, part, .. } = &row.release;
        if part.is_some() || row.status == ReleaseStatus::Skipped {
            return;
        }
        let until = self.0.entry((job.clone(), name.clone(), *version)).or_insert(window.end());
        *until = window.end().max(*until);
    }

    /// Moves the settled frontiers up to these windows: one row each, whatever the number of windows.
    fn write(self, store: &mut dyn Store) -> Result<(), LedgerError> {
        for ((job, name, version), until) in self.0 {
            let values = [
                SqlValue::Text(job.as_str()),
                SqlValue::Text(name.as_str()),
                SqlValue::Bytes(version.bytes()),
                SqlValue::Number(until),
            ];
            let raise = "INSERT INTO settled VALUES (?1, ?2, ?3, ?4) ON CONFLICT (job, name, version)
                         DO UPDATE SET until = excluded.until WHERE settled.until < excluded.until";
            store.execute(raise, &values)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::AccountSpec;
    use super::super::scratch::{ScratchPlace, everywhere};
    use super::*;
    use crate::accounting::{Adjacency, PrivacyCost, Promise};

    fn sealing(start: i64) -> Sealing {
        let release = ReleaseId {
            account: Name::new("account", "visits").unwrap(),
            job: Name::new("job", "web").unwrap(),
            version: Digest::of(b"version 1"),
            name: Name::new("name", "hours").unwrap(),
            window: Interval::new(start, start + 10).unwrap(),
            part: None,
        };
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.01).unwrap());
        let (charge, status) = (Some(Charge::Cost(cost)), ReleaseStatus::Sealed);
        Sealing { release, charge, status, line: "{}".to_owned(), state: None }
    }

    // Refutes a mark of a row between two that are marked, a mark that counts twice, and a frontier at the window
    // that a commit has sealed last.
    fn rows_are_marked_and_settled_whatever_their_order(at: ScratchPlace) {
        let scratch = at.scratch();
        let mut ledger = Ledger::create(scratch.ledger()).unwrap();
        let account = Name::new("account", "visits").unwrap();
        let cap = PrivacyCost::zcdp(1.0).unwrap();
        ledger
            .register(&AccountSpec::new(account, Adjacency::PERSON, Promise::Lifetime, cap).unwrap())
            .unwrap();
        let claim = ledger.claim(&Name::new("job", "web").unwrap()).unwrap();
        let rows = ledger.seal(&claim, &[40, 20, 10, 30, 0].map(sealing)).unwrap();
        let chosen = [0, 2, 3].map(|at: usize| rows[at].clone());
        assert_eq!(ledger.mark(&chosen).unwrap(), [true, true, true]);
        let is_marked: Vec<bool> =
            rows.iter().map(|row| ledger.look_up(row.release()).unwrap().unwrap().is_delivered()).collect();
        assert_eq!(is_marked, [true, false, true, true, false]);
        assert_eq!(ledger.mark(&rows).unwrap(), [false, true, false, false, true]);
        assert_eq!(ledger.mark(&[rows[1].clone(), rows[1].clone()]).unwrap(), [false, false]);
        let job = Name::new("job", "web").unwrap();
        assert_eq!(ledger.settled(&job).unwrap().values().copied().collect::<Vec<_>>(), [50]);
    }

    everywhere! { rows_are_marked_and_settled_whatever_their_order }
}
