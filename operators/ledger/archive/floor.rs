//! The floor of the archives: the rows and the entries that leave below it, and the decisions that it changes.

use crate::accounting::{EntryKey, Interval, Promise};
use crate::canonical::{Canonical, Digest};
use crate::ledger::error::{LedgerError, LedgerErrorKind};
use crate::ledger::failpoint;
use crate::ledger::name::Name;
use crate::ledger::records::{ID, digest, number, read_row, rows};
use crate::ledger::rows::{Charge, ReleaseId};
use crate::ledger::store::{SqlValue, Store, first};
use crate::ledger::verify::{Chain, reaches};
use crate::time::{Time, in_utc};

/// The last archived row and the floor, of the newest archive.
pub(in crate::ledger) fn floor(store: &mut dyn Store) -> Result<Option<(i64, Time)>, LedgerError> {
    let newest = "SELECT until, floor FROM archive ORDER BY sequence DESC LIMIT 1";
    first(store, newest, &[], |row| Ok((number(row, 0)?, number(row, 1)?)))
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

/// Drops the entries that no charge from the floor on reads, and returns the number of the others.
pub(in crate::ledger) fn restrict(chain: &mut Chain, floor: Time) -> usize {
    let mut kept = 0;
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
        kept += entries.len();
        *account = account.holding(entries);
    }
    kept
}

/// The least stored place of the entries of each reach that a charge from the floor on may read; `None` where it may
/// read all.
pub(super) fn least_stored(
    store: &mut dyn Store,
    name: &Name,
    promise: Promise,
    floor: Time,
) -> Result<Vec<(i64, Option<i64>)>, LedgerError> {
    let values = [SqlValue::Text(name.as_str()), SqlValue::Number(block(promise, floor))];
    let newest = "SELECT max(place) FROM balance WHERE account = ?1 AND reach = 0 AND place <= ?2";
    let newest = first(store, newest, &values, |row| row.number(0))?.flatten();
    let reaches = reaches(store, name)?.into_iter();
    Ok(reaches.map(|reach| (reach, least(promise, reach, floor, newest))).collect())
}

/// Removes the stored entries that no charge from the floor on reads.
pub(super) fn remove_entries(store: &mut dyn Store, chain: &Chain, floor: Time) -> Result<(), LedgerError> {
    for (name, account) in &chain.due.accounts {
        for (reach, least) in least_stored(store, name, account.promise(), floor)? {
            let Some(least) = least else { continue };
            let values = [SqlValue::Text(name.as_str()), SqlValue::Number(reach), SqlValue::Number(least)];
            store.execute("DELETE FROM balance WHERE account = ?1 AND reach = ?2 AND place < ?3", &values)?;
        }
    }
    Ok(())
}

// The decisions that an archive changes.

/// Returns true if the row of a release without one may be in an archive: nothing is drawn or written for it.
pub(crate) fn may_hold(floor: Option<(i64, Time)>, release: &ReleaseId) -> bool {
    release.part.is_none() && floor.is_some_and(|(_, floor)| release.window.end() <= floor)
}

/// Returns true if the entries that a charge for this time reads may be in an archive.
pub(in crate::ledger) fn bars(floor: Option<(i64, Time)>, promise: Promise, time: Interval) -> bool {
    let bounded = matches!(promise, Promise::Any(_) | Promise::Each(_));
    bounded && floor.is_some_and(|(_, floor)| time.start() < floor)
}

pub(in crate::ledger) fn barred(release: &ReleaseId) -> LedgerError {
    LedgerError::refused(format!(
        "release {}, window from {} to {}: it ends before the floor of the ledger's archives, and its row may be in one; \
         nothing is drawn for it any more",
        release.name,
        in_utc(release.window.start()),
        in_utc(release.window.end())
    ))
}

/// Returns true if sealing with this charge would spend for a time whose entries may be in an archive.
pub(in crate::ledger) fn bars_charge(
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

pub(super) fn removable(store: &mut dyn Store, until: i64, floor: Time) -> Result<i64, LedgerError> {
    let values = [SqlValue::Number(i64::MIN), SqlValue::Number(until), SqlValue::Number(floor)];
    let count =
        concat!("SELECT count(*) FROM release WHERE sequence > ?1 AND sequence <= ?2 AND ", removed!());
    Ok(first(store, count, &values, |row| number(row, 0))?.unwrap_or(0))
}

pub(super) fn remove_rows(store: &mut dyn Store, until: i64, floor: Time) -> Result<u64, LedgerError> {
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

/// A hash of the rows that will be carried, before the others are removed.
pub(super) fn to_be_carried(store: &mut dyn Store, until: i64, floor: Time) -> Result<Digest, LedgerError> {
    let values = [SqlValue::Number(i64::MIN), SqlValue::Number(until), SqlValue::Number(floor)];
    let kept =
        rows!(concat!("WHERE sequence > ?1 AND sequence <= ?2 AND NOT ", removed!(), " ORDER BY sequence"));
    hash_of_rows(store, kept, &values)
}

pub(super) fn hash_of_rows(
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
