//! Archives: a proven prefix of a ledger, moved to a file that stands alone.
//!
//! # What leaves, and what stays
//!
//! An archive holds every row of the chain since the former archive. Once it is on the disk and was read back
//! and verified, one transaction records its hash in a row of the chain, and removes what nothing needs any
//! more. Everything before a *floor*, a time that the operator gives, is settled for good:
//!
//! * a release of a window that ends at or before the floor is removed, unless its line was not delivered, its
//!   reservation reaches beyond the floor, it is the newest of its version that kept a state or reserved a
//!   life, or it is one of several answers over its window. Rows that stay are *carried*: the archive's row
//!   has a hash of them;
//! * an entry of an account is removed if no charge for a time from the floor on reads it. What is spent for
//!   ever, under `lifetime`, stays; under `any` and `each` what a later window may share a span with.
//!
//! # Why nothing is released twice, and no budget comes back
//!
//! A window that ends at or before the floor and has no row is never drawn again, in any version: it may have
//! been released. Under `any` and `each` nothing is charged any more for a time that begins before the floor:
//! such a release is `lost`. All other charges read the entries that they would have read.
//!
//! # Verification
//!
//! The row of the archive has the hash of all that followed from the rows up to it: the chain's end, the
//! accounts, frontiers, states and reservations that remain. A verification begins with that, and the next
//! link of the chain covers it. The archive itself is verified from its file alone: it has what followed from
//! the archives before it, every row, and what follows at its end. The hash of the one is the beginning of the
//! other, and the row that records an archive is the first one in the next.

use std::path::{Path, PathBuf};

use super::account::AccountSpec;
use super::book::Ledger;
use super::checkpoint::{read_back, written};
use super::error::{LedgerError, LedgerErrorKind};
use super::key::LedgerKey;
use super::name::Name;
use super::records::{ID, advance, digest, head, name, number, read_entry, read_row, read_stated, rows};
use super::rows::{Charge, ReleaseId};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first, odd};
use super::verify::{Chain, reaches};
use super::{failpoint, place, repair};
use crate::accounting::{EntryKey, Interval, Promise};
use crate::canonical::{Canonical, Digest};
use crate::time::{Time, in_utc};

mod file;

pub use file::Archive;
use file::ArchiveWriter;

/// The row of the chain that records an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveRecord {
    pub(super) sequence: i64,
    /// The last row in the archive.
    pub(super) until: i64,
    pub(super) floor: Time,
    /// The hash of the file.
    pub(super) file: Digest,
    /// The hash of the former archive's file; [`Digest::NONE`] for the first one.
    pub(super) former: Digest,
    /// The hash of what follows from the rows up to the last one.
    pub(super) state: Digest,
    /// The hash of the rows that were carried.
    pub(super) carried: Digest,
}

impl ArchiveRecord {
    pub(super) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet archive 1")
            .digest(previous)
            .number(self.sequence)
            .number(self.until)
            .number(self.floor)
            .digest(&self.file)
            .digest(&self.former)
            .digest(&self.state)
            .digest(&self.carried)
            .finish()
    }

    fn write(&self, store: &mut dyn Store, content: &[u8], chain: &Digest) -> Result<(), LedgerError> {
        let values = [
            SqlValue::Number(self.sequence),
            SqlValue::Number(self.until),
            SqlValue::Number(self.floor),
            SqlValue::Bytes(self.file.bytes()),
            SqlValue::Bytes(self.former.bytes()),
            SqlValue::Bytes(self.state.bytes()),
            SqlValue::Bytes(self.carried.bytes()),
            SqlValue::Bytes(content),
            SqlValue::Bytes(chain.bytes()),
        ];
        store.execute("INSERT INTO archive VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", &values).map(drop)
    }
}

/// The newest archive of a ledger, with what follows from the rows up to its end.
pub(super) struct NewestArchive {
    pub(super) record: ArchiveRecord,
    content: Vec<u8>,
}

fn read_record(row: &dyn SqlRow) -> Result<(ArchiveRecord, Digest), LedgerError> {
    let record = ArchiveRecord {
        sequence: number(row, 0)?,
        until: number(row, 1)?,
        floor: number(row, 2)?,
        file: digest(row, 3)?,
        former: digest(row, 4)?,
        state: digest(row, 5)?,
        carried: digest(row, 6)?,
    };
    Ok((record, digest(row, 7)?))
}

/// All archives, each with the hash that its row holds.
pub(super) fn all_records(store: &mut dyn Store) -> Result<Vec<(ArchiveRecord, Digest)>, LedgerError> {
    let records =
        "SELECT sequence, until, floor, file, former, state, carried, chain FROM archive ORDER BY sequence";
    all(store, records, &[], read_record)
}

pub(super) fn newest(store: &mut dyn Store) -> Result<Option<NewestArchive>, LedgerError> {
    let newest = "SELECT sequence, until, floor, file, former, state, carried, chain, content FROM archive
                  ORDER BY sequence DESC LIMIT 1";
    first(store, newest, &[], |row| {
        let content = row.bytes(8)?.ok_or_else(|| odd(8))?;
        Ok(NewestArchive { record: read_record(row)?.0, content })
    })
}

/// Copies the records of archives up to a row unchanged: their hashes prove them.
pub(super) fn copy(from: &mut dyn Store, to: &mut dyn Store, sound: i64) -> Result<(), LedgerError> {
    let content = newest(from)?.filter(|newest| newest.record.sequence <= sound);
    for (record, chain) in all_records(from)? {
        let of_this = content.as_ref().filter(|newest| newest.record.sequence == record.sequence);
        if record.sequence <= sound {
            record.write(to, of_this.map_or(&[][..], |newest| &newest.content), &chain)?;
        }
    }
    Ok(())
}

/// The last archived row and the floor, of the newest archive.
pub(super) fn floor(store: &mut dyn Store) -> Result<Option<(i64, Time)>, LedgerError> {
    let newest = "SELECT until, floor FROM archive ORDER BY sequence DESC LIMIT 1";
    first(store, newest, &[], |row| Ok((number(row, 0)?, number(row, 1)?)))
}

/// The chain at the end of an archive, after comparing the rows that it carried.
pub(super) fn end_of(
    store: &mut dyn Store,
    ledger: Digest,
    NewestArchive { record, content }: &NewestArchive,
) -> Result<Chain, LedgerError> {
    let edited = || LedgerError::doubt("ledger: what it keeps of its newest archive was edited");
    let stated = all(store, "SELECT * FROM account", &[], read_stated)?;
    let stated: Vec<AccountSpec> = stated.into_iter().map(|(_, account, _)| account).collect();
    let chain = read_back(content, &stated).filter(|_| state_digest(content) == record.state);
    let chain = chain.filter(|chain| chain.ledger == ledger && chain.sequence == record.until);
    let chain = chain.ok_or_else(edited)?;
    if carried(store, record.until)? != record.carried {
        return Err(LedgerError::doubt(
            "ledger: a row from before its newest archive is missing or was edited",
        ));
    }
    Ok(chain)
}

/// A hash of the rows up to this one that the ledger still holds.
pub(super) fn carried(store: &mut dyn Store, until: i64) -> Result<Digest, LedgerError> {
    hash_of_rows(store, rows!("WHERE sequence <= ?1 ORDER BY sequence"), &[SqlValue::Number(until)])
}

fn state_digest(content: &[u8]) -> Digest {
    Canonical::new("discreet archived state 1").bytes(content).finish()
}

/// The error of a process that was verifying while rows were archived.
pub(super) fn meanwhile() -> LedgerError {
    LedgerError::new(LedgerErrorKind::Busy, "ledger: its rows were archived meanwhile; start again")
}

/// Compares what follows from the rows with the row of an archive that is next in the chain.
pub(super) fn passed(chain: &mut Chain, record: &ArchiveRecord) -> Result<(), LedgerError> {
    if record.until != chain.sequence || record.sequence != record.until + 1 {
        return Err(LedgerError::doubt(format!("ledger: row {} is missing or was edited", record.sequence)));
    }
    // The entries of a checkpoint are others than those of an archive.
    if !chain.due.floors.is_empty() {
        return Err(meanwhile());
    }
    restrict(chain, record.floor);
    if state_digest(&written(chain)) == record.state {
        return Ok(());
    }
    Err(LedgerError::doubt(format!(
        "ledger: what row {} says of the rows before it does not follow from them",
        record.sequence
    )))
}

// The entries of accounts that a charge from the floor on may read.

/// The least start of the entries of a reach that are kept; `None` for a promise that keeps all.
fn least(promise: Promise, reach: i64, floor: Time, newest_block: Option<i64>) -> Option<i64> {
    match promise {
        Promise::Lifetime | Promise::Windows(_) => None,
        // A window of this reach that shares a span with a later one ends within the span before the floor.
        Promise::Any(span) => {
            let least = i128::from(floor) - i128::from(span) - i128::from(reach);
            (reach < i64::MAX).then(|| i64::try_from(least).unwrap_or(i64::MIN))
        }
        // The sum that holds at the floor begins at the last block that is named by then.
        Promise::Each(_) => newest_block,
    }
}

fn block(promise: Promise, floor: Time) -> i64 {
    let Promise::Each(span) = promise else { return i64::MIN };
    let last = floor.min(i64::MAX - 1);
    Interval::new(last, last + 1).map_or(i64::MIN, |moment| moment.blocks(span).0)
}

/// Drops the entries that no charge from the floor on reads.
pub(super) fn restrict(chain: &mut Chain, floor: Time) {
    for account in chain.due.accounts.values_mut() {
        let promise = account.promise();
        if matches!(promise, Promise::Lifetime | Promise::Windows(_)) {
            continue;
        }
        let mut entries = account.entries();
        let newest = entries.range(..=EntryKey { reach: 0, start: block(promise, floor), end: i64::MAX });
        let newest = newest.map(|(place, _)| place.start).next_back();
        entries.retain(|place, _| {
            least(promise, place.reach, floor, newest).is_none_or(|least| place.start >= least)
        });
        *account = account.holding(entries);
    }
}

/// Removes the stored entries that no charge from the floor on reads.
fn remove_entries(store: &mut dyn Store, chain: &Chain, floor: Time) -> Result<(), LedgerError> {
    for (name, account) in &chain.due.accounts {
        let promise = account.promise();
        let values = [SqlValue::Text(name.as_str()), SqlValue::Number(block(promise, floor))];
        let newest = "SELECT max(place) FROM balance WHERE account = ?1 AND reach = 0 AND place <= ?2";
        let newest = first(store, newest, &values, |row| row.number(0))?.flatten();
        for reach in reaches(store, name)? {
            let Some(least) = least(promise, reach, floor, newest) else { continue };
            let values = [SqlValue::Text(name.as_str()), SqlValue::Number(reach), SqlValue::Number(least)];
            store.execute("DELETE FROM balance WHERE account = ?1 AND reach = ?2 AND place < ?3", &values)?;
        }
    }
    Ok(())
}

// The decisions that an archive changes.

/// Returns true if the row of a release without one may be in an archive: nothing is drawn or written for it.
pub(super) fn may_hold(floor: Option<(i64, Time)>, release: &ReleaseId) -> bool {
    release.part.is_none() && floor.is_some_and(|(_, floor)| release.window.end() <= floor)
}

/// Returns true if the entries that a charge for this time reads may be in an archive.
pub(super) fn bars(floor: Option<(i64, Time)>, promise: Promise, time: Interval) -> bool {
    let bounded = matches!(promise, Promise::Any(_) | Promise::Each(_));
    bounded && floor.is_some_and(|(_, floor)| time.start() < floor)
}

pub(super) fn barred(release: &ReleaseId) -> LedgerError {
    LedgerError::refused(format!(
        "release {}, window from {} to {}: it ends before the floor of the ledger's archives, and its row may be in one; \
         nothing is drawn for it any more",
        release.name,
        in_utc(release.window.start()),
        in_utc(release.window.end())
    ))
}

/// Returns true if sealing with this charge would spend for a time whose entries may be in an archive.
pub(super) fn bars_charge(
    store: &mut dyn Store,
    promise: Promise,
    release: &ReleaseId,
    charge: &Charge,
) -> Result<bool, LedgerError> {
    let time = match charge {
        Charge::Cost(_) => release.window,
        Charge::Once { life, .. } => *life,
    };
    Ok(bars(floor(store)?, promise, time))
}

// The rows that an archive removes.

/// The number of rows that one statement removes: a server ends statements that take long.
const GROUP: i64 = 50_000;

/// The condition on rows that are removed, with the floor as the third parameter.
macro_rules! removed {
    () => {
        "(window_end <= ?3 AND part IS NULL AND (delivered = 1 OR job = 'repair') AND (life_start IS NULL OR life_end <= ?3)
          AND sequence NOT IN (SELECT max(sequence) FROM release WHERE state IS NOT NULL GROUP BY job, name, version)
          AND sequence NOT IN
            (SELECT max(sequence) FROM release WHERE life_start IS NOT NULL GROUP BY job, name, version))"
    };
}

fn removable(store: &mut dyn Store, until: i64, floor: Time) -> Result<i64, LedgerError> {
    let values = [SqlValue::Number(i64::MIN), SqlValue::Number(until), SqlValue::Number(floor)];
    let count =
        concat!("SELECT count(*) FROM release WHERE sequence > ?1 AND sequence <= ?2 AND ", removed!());
    Ok(first(store, count, &values, |row| number(row, 0))?.unwrap_or(0))
}

fn remove_rows(store: &mut dyn Store, until: i64, floor: Time) -> Result<u64, LedgerError> {
    let oldest = first(store, "SELECT min(sequence) FROM release", &[], |row| row.number(0))?.flatten();
    let (mut from, mut removed) = (oldest.unwrap_or(until).saturating_sub(1), 0);
    while from < until {
        let to = from.saturating_add(GROUP).min(until);
        let values = [SqlValue::Number(from), SqlValue::Number(to), SqlValue::Number(floor)];
        let remove = concat!("DELETE FROM release WHERE sequence > ?1 AND sequence <= ?2 AND ", removed!());
        removed += store.execute(remove, &values)?;
        failpoint::reached("archive-removing", LedgerErrorKind::Unknown)?;
        from = to;
    }
    Ok(removed)
}

/// An order to archive.
#[derive(Clone, Debug)]
pub struct ArchiveOrder<'a> {
    /// The path of the archive.
    pub to: &'a Path,
    /// The floor: windows that end at or before it are archived, and never drawn again.
    pub before: Time,
    /// The present, which the floor must not be after.
    pub now: Time,
    /// The key of the ledger, under which the archive is authenticated.
    pub key: &'a LedgerKey,
    /// The jobs that will not settle their windows up to the floor.
    pub retired: &'a [Name],
    /// True if the file of the ledger is made smaller at the end, which takes as long as to copy what remains.
    pub shrinks: bool,
}

/// The outcome of an archiving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// The path of the archive.
    pub path: PathBuf,
    /// The hash of the archive.
    pub file: Digest,
    /// The last row in the archive.
    pub until: i64,
    /// The number of rows that the ledger does not hold any more; 0 if the archive had been recorded before.
    pub removed: u64,
}

impl Ledger {
    /// Moves the rows that nothing needs any more to an archive, a new file. A process that was killed at it
    /// has either left every row in the ledger, or a whole archive; the same order again goes on.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Fenced`] while a job runs, [`LedgerErrorKind::Doubt`] for a ledger that does not add
    /// up, [`LedgerErrorKind::Refused`] for a floor that some job has not passed, another key, or a path with
    /// another file.
    pub fn archive(place: impl AsRef<Path>, order: &ArchiveOrder<'_>) -> Result<Archived, LedgerError> {
        let place = place.as_ref();
        let about = |trouble: LedgerError| trouble.about("ledger", place);
        let mut ledger = Ledger::open(place)?;
        ledger.bind(order.key)?;
        let locks = ledger.exclude_jobs()?;
        let new = place::beside(order.to, ".new");
        let archived = match ledger.recorded(order)? {
            Some(archived) => archived,
            None => {
                ledger.is_archivable(order).map_err(about)?;
                let (archive, carrying) = ledger.write_archive(&new, order).inspect_err(|_| {
                    let _ = place::remove(&new);
                })?;
                // What cannot be read back is no archive.
                let read = Archive::verify_with_key(&new, order.key)?;
                if read != archive {
                    return Err(LedgerError::doubt(format!(
                        "archive {}: it does not read back as it was written; nothing was removed",
                        new.display()
                    )));
                }
                failpoint::reached("archive-written", LedgerErrorKind::Unknown)?;
                let refuse = |error: std::io::Error| file::trouble(order.to, &error.to_string());
                std::fs::rename(&new, order.to).and_then(|()| place::sync_name(order.to)).map_err(refuse)?;
                failpoint::reached("archive-renamed", LedgerErrorKind::Unknown)?;
                ledger.remove_archived(order, &archive, &carrying)?
            }
        };
        failpoint::reached("archive-removed", LedgerErrorKind::Unknown)?;
        ledger.verify()?;
        ledger.checkpoint()?;
        if order.shrinks {
            ledger.store().shrink()?;
        }
        drop(locks);
        Ok(archived)
    }

    /// Keeps every job that the ledger knows from running while the returned files are held.
    pub(super) fn exclude_jobs(&mut self) -> Result<Vec<std::fs::File>, LedgerError> {
        let store = self.store();
        let jobs = all(store, "SELECT job FROM fence ORDER BY job", &[], |row| name(row, 0))?;
        let mut locks = Vec::new();
        for job in jobs.iter().filter(|job| job.as_str() != repair::JOB) {
            locks.extend(store.exclude(job).map_err(|trouble| match trouble.kind() {
                LedgerErrorKind::Fenced => {
                    LedgerError::new(LedgerErrorKind::Fenced, format!("{trouble}; end it first"))
                }
                _ => trouble,
            })?);
        }
        Ok(locks)
    }

    /// The archive that is at the path, if it is the newest one that the ledger has recorded. An archive that
    /// was not recorded is written again.
    fn recorded(&mut self, order: &ArchiveOrder<'_>) -> Result<Option<Archived>, LedgerError> {
        if place::is_absent(order.to) {
            return Ok(None);
        }
        let former = all_records(self.store())?.into_iter().next_back().map(|(record, _)| record);
        let found = Archive::verify(order.to)?;
        if found.ledger != *self.name() {
            return Err(file::trouble(order.to, "it is of another ledger; give the path of a new file"));
        }
        if let Some(record) = former.as_ref().filter(|record| record.file == found.hash) {
            let (path, until) = (order.to.to_owned(), record.until);
            return Ok(Some(Archived { path, file: found.hash, until, removed: 0 }));
        }
        if found.former == former.map_or(Digest::NONE, |record| record.file) {
            return Ok(None);
        }
        Err(file::trouble(order.to, "there is an earlier archive already; give the path of a new file"))
    }

    fn is_archivable(&mut self, order: &ArchiveOrder<'_>) -> Result<(), LedgerError> {
        let before = in_utc(order.before);
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        if order.before > order.now {
            return Err(LedgerError::refused(format!(
                "before: found {before}, which is to come; give a past time"
            )));
        }
        if let Some((_, floor)) = floor(store)?.filter(|(_, floor)| *floor > order.before) {
            return Err(LedgerError::refused(format!(
                "before: found {before}, and the newest archive goes up to {}; give no earlier time",
                in_utc(floor)
            )));
        }
        let settled = "SELECT job, max(until) FROM settled GROUP BY job ORDER BY job";
        for (job, until) in all(store, settled, &[], |row| Ok((name(row, 0)?, number(row, 1)?)))? {
            if until < order.before && !order.retired.contains(&job) {
                return Err(LedgerError::refused(format!(
                    "before: found {before}, and job {job} has settled its windows up to {} alone: those from there to \
                     {before} would never be released; give an earlier time, or --retired {job}",
                    in_utc(until)
                )));
            }
        }
        let until = head(store)?.0;
        if removable(store, until, order.before)? == 0 {
            return Err(LedgerError::refused(format!(
                "before: found {before}, and no delivered window ends by then that is still in the ledger; nothing was archived"
            )));
        }
        Ok(())
    }

    /// Writes the archive while verifying the rows that go into it. Returns it, and what follows from them.
    fn write_archive(
        &mut self,
        to: &Path,
        order: &ArchiveOrder<'_>,
    ) -> Result<(Archive, Vec<u8>), LedgerError> {
        self.store().check()?;
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        let stated = all(store, "SELECT * FROM account", &[], read_stated)?;
        let former = newest(store)?;
        let mut chain = Chain::begin(store)?;
        let former = former.map_or(Digest::NONE, |newest| newest.record.file);
        let mut writer = ArchiveWriter::create(to, &chain, former, order.before, &stated)?;
        chain.extend_with(store, &mut |link| writer.link(&link))?;
        // All entries were compared, and dropped where they are old.
        let names: Vec<Name> = chain.due.accounts.keys().cloned().collect();
        for name in names {
            let entries =
                "SELECT reach, place, until, spent, partial FROM balance WHERE account = ?1 AND reach = ?2
                           AND place >= ?3";
            let Some(account) = chain.due.accounts.get(&name) else { continue };
            let promise = account.promise();
            let values = [SqlValue::Text(name.as_str()), SqlValue::Number(block(promise, order.before))];
            let block = "SELECT max(place) FROM balance WHERE account = ?1 AND reach = 0 AND place <= ?2";
            let block = first(store, block, &values, |row| row.number(0))?.flatten();
            let mut kept = Vec::new();
            for reach in reaches(store, &name)? {
                let least = least(promise, reach, order.before, block).unwrap_or(i64::MIN);
                let values =
                    [SqlValue::Text(name.as_str()), SqlValue::Number(reach), SqlValue::Number(least)];
                kept.extend(all(store, entries, &values, read_entry)?);
            }
            let account = account.holding(kept.into_iter().collect());
            chain.due.accounts.insert(name, account);
        }
        chain.due.floors.clear();
        chain.due.compared = Some(0);
        let content = written(&chain);
        let archive = writer.finish(&chain, &content, order.key)?;
        Ok((archive, content))
    }

    /// Records the archive, and removes what it holds and nothing needs, in one commit.
    fn remove_archived(
        &mut self,
        order: &ArchiveOrder<'_>,
        archive: &Archive,
        content: &[u8],
    ) -> Result<Archived, LedgerError> {
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        let (until, last) = head(tables)?;
        if (until, last) != (archive.until, archive.chain) {
            return Err(meanwhile());
        }
        let record = ArchiveRecord {
            sequence: until + 1,
            until,
            floor: order.before,
            file: archive.hash,
            former: archive.former,
            state: state_digest(content),
            // Before they are alone: rows can be removed once the archive is recorded.
            carried: to_be_carried(tables, until, order.before)?,
        };
        let chain = record.chained(&last);
        tables.execute("UPDATE archive SET content = ?1", &[SqlValue::Bytes(&[])])?;
        record.write(tables, content, &chain)?;
        let removed = remove_rows(tables, until, order.before)?;
        let ledger = super::verify::ledger_name(tables)?;
        if let Some(newest) = newest(tables)? {
            let end = end_of(tables, ledger, &newest)?;
            remove_entries(tables, &end, order.before)?;
        }
        tables.execute("UPDATE fence SET generation = generation + 1", &[])?;
        advance(tables, record.sequence, &chain)?;
        transaction.commit()?;
        Ok(Archived { path: order.to.to_owned(), file: archive.hash, until, removed })
    }

    /// The last row in the archives of this ledger and their floor, if it has archives: a window that ends at
    /// or before the floor and has no row here is never drawn any more.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn archived(&mut self) -> Result<Option<(i64, Time)>, LedgerError> {
        floor(self.store())
    }

    /// Verifies the archives of this ledger, all of them in their order: each by itself, and that its hash is
    /// the recorded one. Returns the number of their rows.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if one of them does not add up; [`LedgerErrorKind::Refused`] if they are not
    /// the archives of this ledger.
    pub fn verify_archives(&mut self, paths: &[PathBuf]) -> Result<u64, LedgerError> {
        let records = all_records(self.store())?;
        if records.len() != paths.len() {
            return Err(LedgerError::refused(format!(
                "archive: found {} of them, and the ledger has {}; give all of them, the oldest first",
                paths.len(),
                records.len()
            )));
        }
        let mut rows = 0;
        for (path, (record, _)) in paths.iter().zip(records) {
            let archive = Archive::verify(path)?;
            if archive.hash != record.file {
                return Err(file::trouble(
                    path,
                    &format!(
                        "its hash is {}, and the archive up to row {} of this ledger has {}; give the archives of this \
                         ledger, the oldest first",
                        archive.hash, record.until, record.file
                    ),
                ));
            }
            rows += archive.rows;
        }
        Ok(rows)
    }
}

/// A hash of the rows that will be carried, before the others are removed.
fn to_be_carried(store: &mut dyn Store, until: i64, floor: Time) -> Result<Digest, LedgerError> {
    let values = [SqlValue::Number(i64::MIN), SqlValue::Number(until), SqlValue::Number(floor)];
    let kept =
        rows!(concat!("WHERE sequence > ?1 AND sequence <= ?2 AND NOT ", removed!(), " ORDER BY sequence"));
    hash_of_rows(store, kept, &values)
}

fn hash_of_rows(
    store: &mut dyn Store,
    query: &'static str,
    values: &[SqlValue<'_>],
) -> Result<Digest, LedgerError> {
    let mut hash = Digest::NONE;
    store.read(query, values, &mut |columns| {
        let row = read_row(columns)?;
        if row.release.id() != digest(columns, ID)? {
            return Err(LedgerError::doubt(format!(
                "ledger: row {} is not under its own name",
                row.sequence
            )));
        }
        let next = Canonical::new("discreet carried rows 1").digest(&hash);
        hash = next.digest(&row.chained(&Digest::NONE)).digest(&row.chain).finish();
        Ok(())
    })?;
    Ok(hash)
}
