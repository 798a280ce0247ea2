//! What somebody outside of the ledger has seen of it: the one thing that tells a ledger from an older copy of itself.

use super::charge::last_repair;
use super::name::Name;
use super::records::{digest, number, read_repair};
use super::store::{SqlValue, Store, all, first};
use super::trouble::LedgerError;
use crate::accounting::Interval;
use crate::canonical::Digest;
use crate::time::in_utc;

/// A row that was told: which ledger it was of, its place there, and the hash of it and of all before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The ledger's own name.
    pub ledger: Digest,
    /// The place of the row.
    pub sequence: i64,
    /// Its hash.
    pub chain: Digest,
}

/// A row that a file of releases tells of. Such a file says which window it is of, and not what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The place of the row in its ledger, and its hash; none where the line that closes the window is torn.
    pub row: Option<(i64, Digest)>,
    /// The statistic.
    pub release: Name,
    /// The window.
    pub window: Interval,
    /// The id of the release, where a line of the window says it.
    pub id: Option<Digest>,
    /// The name of its ledger, where the file says it.
    pub ledger: Option<Digest>,
}

/// Checks that the ledger has what a file of releases tells of, or had it and gave it up in a repair.
pub(super) fn published(
    store: &mut dyn Store,
    ledger: &Digest,
    published: &Published,
) -> Result<(), LedgerError> {
    if let Some(anchor) = published.anchor(*ledger) {
        return held(store, ledger, &anchor);
    }
    // No line of a window leaves before its row is sealed.
    let (start, end) = (published.window.start(), published.window.end());
    let values =
        [SqlValue::Number(start), SqlValue::bytes(published.id.as_ref().map(|id| id.bytes().as_slice()))];
    let sealed =
        first(store, "SELECT sequence FROM release WHERE window_start = ?1 AND id = ?2", &values, |row| {
            number(row, 0)
        })?;
    let is_lost = last_repair(store)?.is_some_and(|(_, floor)| start < floor);
    if sealed.is_some() || is_lost {
        return Ok(());
    }
    Err(LedgerError::doubt(format!(
        "ledger: values of release {}, window from {} to {}, were published, and this ledger has no row of it: it is an older \
         copy, or a copy that went on by itself; bring back the newest ledger",
        published.release,
        in_utc(start),
        in_utc(end)
    )))
}

/// Whether the ledger has the row, or had it and gave it up in a repair.
pub(super) fn held(store: &mut dyn Store, ledger: &Digest, anchor: &Anchor) -> Result<(), LedgerError> {
    if anchor.ledger != *ledger {
        return Err(LedgerError::refused(
            "anchor: it is of another ledger; give the one of this ledger, or the ledger that it is of",
        ));
    }
    let found = first(
        store,
        "SELECT chain FROM release WHERE sequence = ?1 UNION SELECT chain FROM domain WHERE sequence = ?1
         UNION SELECT chain FROM amendment WHERE sequence = ?1 UNION SELECT chain FROM repair WHERE sequence = ?1",
        &[SqlValue::Number(anchor.sequence)],
        |row| digest(row, 0),
    )?;
    if found == Some(anchor.chain) {
        return Ok(());
    }
    let repairs = all(store, "SELECT * FROM repair", &[], read_repair)?;
    if repairs.iter().any(|(repair, _)| repair.given_up.contains(&anchor.chain)) {
        return Ok(());
    }
    let head = first(store, "SELECT sequence FROM head", &[], |row| number(row, 0))?.unwrap_or(0);
    let published = anchor.sequence;
    let found = if published > head {
        format!("and this ledger ends with row {head}: it is an older copy, or the row is of another ledger")
    } else {
        format!(
            "and row {published} of this ledger is another: it is a copy that went on by itself, or another ledger"
        )
    };
    Err(LedgerError::doubt(format!(
        "ledger: row {published} was published, {found}; bring back the newest ledger"
    )))
}
