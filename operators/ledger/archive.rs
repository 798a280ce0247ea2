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

use super::book::Ledger;
use super::checkpoint::written;
use super::error::{LedgerError, LedgerErrorKind};
use super::key::LedgerKey;
use super::name::Name;
use super::records::{advance, head, name, number, read_entry, read_stated};
use super::store::{FileLock, SqlValue, Transaction, all};
use super::verify::Chain;
use super::{failpoint, place, repair};
use crate::canonical::Digest;
use crate::time::{Time, in_utc};

mod fields;
mod file;
mod floor;
mod record;

pub use file::Archive;
use file::ArchiveWriter;
pub(crate) use floor::may_hold;
pub(super) use floor::{barred, bars, bars_charge, floor};
use floor::{removable, remove_entries, remove_rows, to_be_carried};
use record::state_digest;
pub(super) use record::{ArchiveRecord, all_records, copy, end_of, meanwhile, newest, passed};

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

/// The locks of jobs that may not run while this is held; those on a server are of the connection.
pub(crate) struct ExcludedJobs(#[expect(dead_code, reason = "held, and never read")] Vec<FileLock>);

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
        to_operator!(DEBUG, "rows archived", rows = archived.removed, "rows were moved to an archive");
        Ok(archived)
    }

    /// Returns the refusal of a second run of a job, if the job is running.
    ///
    /// # Errors
    ///
    /// If the ledger cannot say so.
    #[cfg(feature = "cli")]
    pub(crate) fn running(&mut self, job: &Name) -> Result<Option<LedgerError>, LedgerError> {
        match self.store().exclude(job) {
            Ok(_) => Ok(None),
            Err(trouble) if trouble.kind() == LedgerErrorKind::Fenced => Ok(Some(trouble)),
            Err(trouble) => Err(trouble),
        }
    }

    /// Keeps every job that the ledger knows from running while the returned value is held.
    pub(crate) fn exclude_jobs(&mut self) -> Result<ExcludedJobs, LedgerError> {
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
        Ok(ExcludedJobs(locks))
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
            if record.floor != order.before {
                let why = format!(
                    "it is the archive of this ledger up to {} already; give the path of a new file",
                    in_utc(record.floor)
                );
                return Err(file::trouble(order.to, &why));
            }
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
            let mut kept = Vec::new();
            for (reach, least) in floor::least_stored(store, &name, account.promise(), order.before)? {
                let least = least.unwrap_or(i64::MIN);
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
