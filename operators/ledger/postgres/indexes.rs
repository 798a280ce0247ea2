//! Does each index hold what its table holds? An index that misses a row hides a sealed release, and its window would be
//! drawn again. So the keys are read through each index and past it. `amcheck` looks deeper, and only a superuser may
//! ask it.

use super::super::trouble::LedgerError;
use super::session::Session;

/// Every index whose gaps would change what a ledger decides, as the columns that only a scan of it gives in order.
/// A release that its index misses would be drawn again, an account would be lost, a fence would not stop a zombie, a
/// version would not be held to its word.
const INDEXES: [(&str, &str); 9] = [
    ("release", "window_start, id"),
    ("release", "sequence"),
    ("account", "domain, reach, place, until"),
    ("fence", "job"),
    ("state", "job, name"),
    ("domain", "name"),
    ("amendment", "sequence"),
    ("repair", "sequence"),
    ("agreed", "job, version, name"),
];

/// Compares them, inside a transaction that reads.
pub(super) fn compare(session: &mut Session) -> Result<(), LedgerError> {
    for (table, columns) in INDEXES {
        let (through, past) = (keys(session, true, table, columns)?, keys(session, false, table, columns)?);
        if through != past {
            return Err(LedgerError::doubt(format!(
                "ledger: the index of {table} ({columns}) does not hold what the table holds; `pg_amcheck` says more"
            )));
        }
    }
    Ok(())
}

/// How many keys there are, and the sum of their hashes.
fn keys(session: &mut Session, through: bool, table: &str, columns: &str) -> Result<String, LedgerError> {
    let (index, heap) = if through { ("on", "off") } else { ("off", "on") };
    // In order, and without sorting: the one way that is left open is the index of these very columns.
    let rows = session.rows(&format!(
        "SET LOCAL enable_indexscan = {index}; SET LOCAL enable_indexonlyscan = {index};
         SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = {heap}; SET LOCAL enable_sort = {heap};
         SELECT count(*) || ' ' || coalesce(sum(hashtextextended(key, 0)), 0) FROM
           (SELECT row({columns})::text AS key FROM {table} ORDER BY {columns}) AS keys"
    ))?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
}
