//! Does everything add up? From the rows alone: each link of the chain, and each account.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::canonical::Digest;
use super::name::Name;
use super::rows::{Domain, Row, encode};
use super::schema::before_commit;
use super::sqlite::{ROWS, digest, read_amendment, read_entry, read_row, read_stated};
use super::trouble::Trouble;
use crate::accounting::{Account, Amount};

/// Recomputes everything that is not a row itself, and compares.
pub(super) fn verify(connection: &Connection) -> Result<(), Trouble> {
    // Not `quick_check`, which does not look into indexes: one flipped byte of the index of names hides a sealed
    // release, and its window would be drawn again.
    let sound: String =
        connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(before_commit)?;
    if sound != "ok" {
        return Err(Trouble::doubt(format!("ledger: the file is torn: {sound}")));
    }
    let mut links = BTreeMap::new();
    let accounts = follow(connection, &mut links)?;
    chain_is_whole(connection, &links)?;
    accounts_are_the_rows(connection, accounts)
}

/// A row's sequence, with the hash that it holds and the one that it should, given the hash before it.
type Links = BTreeMap<i64, (Digest, Box<dyn Fn(&Digest) -> Digest>)>;

/// Reads all rows: every link, and every account as the rows make it.
fn follow(connection: &Connection, links: &mut Links) -> Result<BTreeMap<Name, Account>, Trouble> {
    let mut accounts = BTreeMap::new();
    let mut statement = connection.prepare("SELECT * FROM domain").map_err(before_commit)?;
    let domains = statement.query_map([], read_stated).map_err(before_commit)?;
    for domain in domains {
        let (sequence, domain, held) = domain.map_err(before_commit)?;
        accounts.insert(domain.name.clone(), account_of(&domain)?);
        let cap = encode(&domain.cap).unwrap_or_default();
        link(links, sequence, held, move |previous| domain.chained(previous, sequence, &cap))?;
    }
    let mut statement = connection.prepare("SELECT * FROM amendment").map_err(before_commit)?;
    for amendment in statement.query_map([], read_amendment).map_err(before_commit)? {
        let (amendment, held) = amendment.map_err(before_commit)?;
        link(links, amendment.sequence, held, move |previous| amendment.chained(previous))?;
    }
    let mut statement = connection.prepare(&format!("{ROWS} ORDER BY sequence")).map_err(before_commit)?;
    let rows =
        statement.query_map([], |row| Ok((read_row(row)?, digest(row, 14)?))).map_err(before_commit)?;
    for row in rows {
        let (row, id) = row.map_err(before_commit)?;
        if row.release.id() != id {
            return Err(Trouble::doubt(format!("ledger: row {} is not under its own name", row.sequence)));
        }
        spend(&mut accounts, &row)?;
        let held = row.chain;
        link(links, row.sequence, held, move |previous| row.chained(previous))?;
    }
    Ok(accounts)
}

fn account_of(domain: &Domain) -> Result<Account, Trouble> {
    Ok(Account::new(domain.promise, domain.neighbours, domain.cap.clone())?)
}

fn link(
    links: &mut Links,
    sequence: i64,
    held: Digest,
    due: impl Fn(&Digest) -> Digest + 'static,
) -> Result<(), Trouble> {
    match links.insert(sequence, (held, Box::new(due))) {
        None => Ok(()),
        Some(_) => Err(Trouble::doubt(format!("ledger: there are two rows {sequence}"))),
    }
}

fn spend(accounts: &mut BTreeMap<Name, Account>, row: &Row) -> Result<(), Trouble> {
    let Some(cost) = &row.cost else { return Ok(()) };
    let account = accounts.get_mut(&row.release.domain);
    let account =
        account.ok_or_else(|| Trouble::doubt(format!("ledger: row {} has no domain", row.sequence)))?;
    Ok(account.add(row.release.window, cost)?)
}

fn chain_is_whole(connection: &Connection, links: &Links) -> Result<(), Trouble> {
    let mut previous = Digest::NONE;
    for (expected, (sequence, (held, due))) in (1..).zip(links) {
        if *sequence != expected || due(&previous) != *held {
            return Err(Trouble::doubt(format!("ledger: row {expected} is missing or was edited")));
        }
        previous = *held;
    }
    let (sequence, chain) = connection
        .query_row("SELECT sequence, chain FROM head", [], |row| Ok((row.get::<_, i64>(0)?, digest(row, 1)?)))
        .map_err(before_commit)?;
    if (sequence, chain) != (links.len() as i64, previous) {
        return Err(Trouble::doubt(format!(
            "ledger: it ends at row {}, and says that it ends at {sequence}",
            links.len()
        )));
    }
    Ok(())
}

fn accounts_are_the_rows(connection: &Connection, accounts: BTreeMap<Name, Account>) -> Result<(), Trouble> {
    let mut statement =
        connection.prepare("SELECT place, spent FROM account WHERE domain = ?1").map_err(before_commit)?;
    let mut kept = 0;
    for (domain, account) in &accounts {
        let entries: BTreeMap<i64, Amount> = statement
            .query_map([domain.as_str()], read_entry)
            .and_then(|entries| entries.collect())
            .map_err(before_commit)?;
        kept += entries.len();
        // An account that was never charged may have no entry.
        let due = account.entries();
        let nothing = account.spent_nothing();
        if due.iter().any(|(place, spent)| entries.get(place).unwrap_or(&nothing) != spent)
            || entries.keys().any(|place| !due.contains_key(place))
        {
            return Err(Trouble::doubt(format!(
                "ledger: the account of {domain} is not the sum of its rows"
            )));
        }
    }
    let all: i64 =
        connection.query_row("SELECT count(*) FROM account", [], |row| row.get(0)).map_err(before_commit)?;
    if all != kept as i64 {
        return Err(Trouble::doubt("ledger: there is an account without a domain"));
    }
    Ok(())
}
