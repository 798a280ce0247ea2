//! Rows of SQLite as what they mean, and back. A column that holds what is never written is an error, never a guess.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row as Record, params};

use super::canonical::Digest;
use super::name::Name;
use super::rows::{Amendment, Domain, Release, Row};
use super::rows::{decode, encode, fate_column, read_fate, read_promise, read_relation, read_unit};
use crate::accounting::{Amount, Interval, Neighbours};

pub(super) fn write(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO release VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14)",
    )?;
    statement.execute(params![
        &row.release.id().0[..],
        row.sequence,
        row.release.domain.as_str(),
        row.release.job.as_str(),
        &row.release.version.0[..],
        row.release.name.as_str(),
        row.release.window.start(),
        row.release.window.end(),
        row.generation,
        fate_column(row.fate),
        row.cost.as_ref().and_then(encode),
        row.prepaid.as_ref().map(|by| &by.0[..]),
        row.line,
        &row.chain.0[..],
    ])?;
    Ok(())
}

/// Everything of a row, in the order of [`read_row`].
pub(super) const ROWS: &str =
    "SELECT sequence, domain, job, version, name, window_start, window_end, generation,
    fate, cost, prepaid, line, delivered, chain, id FROM release";

pub(super) fn find(connection: &Connection, release: &Release) -> rusqlite::Result<Option<Row>> {
    let mut statement = connection.prepare_cached(&format!("{ROWS} WHERE window_start = ?1 AND id = ?2"))?;
    statement.query_row(params![release.window.start(), &release.id().0[..]], read_row).optional()
}

pub(super) fn read_row(row: &Record<'_>) -> rusqlite::Result<Row> {
    let window = Interval::new(row.get(5)?, row.get(6)?);
    let cost: Option<Vec<u8>> = row.get(9)?;
    Ok(Row {
        sequence: row.get(0)?,
        release: Release {
            domain: name(row, 1)?,
            job: name(row, 2)?,
            version: digest(row, 3)?,
            name: name(row, 4)?,
            window: window.map_err(|_| odd(6))?,
        },
        generation: row.get(7)?,
        fate: read_fate(&row.get::<_, String>(8)?).ok_or_else(|| odd(8))?,
        cost: cost.map(|bytes| decode(&bytes).ok_or_else(|| odd(9))).transpose()?,
        prepaid: if row.get_ref(10)? == ValueRef::Null { None } else { Some(digest(row, 10)?) },
        line: row.get(11)?,
        delivered: row.get::<_, i64>(12)? != 0,
        chain: digest(row, 13)?,
    })
}

/// A domain as it was stated, and the hash of its row.
pub(super) fn read_stated(row: &Record<'_>) -> rusqlite::Result<(i64, Domain, Digest)> {
    let unit = read_unit(&row.get::<_, String>(2)?).ok_or_else(|| odd(2))?;
    let relation = read_relation(&row.get::<_, String>(3)?).ok_or_else(|| odd(3))?;
    let span = u64::try_from(row.get::<_, i64>(5)?).map_err(|_| odd(5))?;
    let promise = read_promise(&row.get::<_, String>(4)?, span).ok_or_else(|| odd(4))?;
    let cap = decode(&row.get::<_, Vec<u8>>(6)?).ok_or_else(|| odd(6))?;
    let domain =
        Domain::new(name(row, 0)?, Neighbours { unit, relation }, promise, cap).map_err(|_| odd(4))?;
    Ok((row.get(1)?, domain, digest(row, 7)?))
}

pub(super) fn read_amendment(row: &Record<'_>) -> rusqlite::Result<(Amendment, Digest)> {
    let cap = decode(&row.get::<_, Vec<u8>>(2)?).ok_or_else(|| odd(2))?;
    let amendment =
        Amendment { sequence: row.get(0)?, domain: name(row, 1)?, cap, who: row.get(3)?, why: row.get(4)? };
    Ok((amendment, digest(row, 5)?))
}

pub(super) fn read_entry(row: &Record<'_>) -> rusqlite::Result<(i64, Amount)> {
    Ok((row.get(0)?, decode(&row.get::<_, Vec<u8>>(1)?).ok_or_else(|| odd(1))?))
}

pub(super) fn read_domain(connection: &Connection, name: &Name) -> rusqlite::Result<Option<Domain>> {
    let mut statement = connection.prepare_cached("SELECT * FROM domain WHERE name = ?1")?;
    let stated = statement.query_row([name.as_str()], read_stated).optional()?;
    Ok(stated.map(|(_, domain, _)| domain))
}

/// A domain with the cap of its last amendment.
pub(super) fn amended_domain(connection: &Connection, name: &Name) -> rusqlite::Result<Option<Domain>> {
    let Some(mut domain) = read_domain(connection, name)? else { return Ok(None) };
    let mut statement = connection
        .prepare_cached("SELECT * FROM amendment WHERE domain = ?1 ORDER BY sequence DESC LIMIT 1")?;
    if let Some((amendment, _)) = statement.query_row([name.as_str()], read_amendment).optional()? {
        domain.cap = amendment.cap;
    }
    Ok(Some(domain))
}

fn name(row: &Record<'_>, column: usize) -> rusqlite::Result<Name> {
    Name::new("name", &row.get::<_, String>(column)?).map_err(|_| odd(column))
}

pub(super) fn digest(row: &Record<'_>, column: usize) -> rusqlite::Result<Digest> {
    row.get::<_, [u8; 32]>(column).map(Digest)
}

/// A column that holds what this library never writes.
fn odd(column: usize) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnType(column, "no such thing is ever written".into(), Type::Null)
}
