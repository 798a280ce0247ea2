//! Does everything add up? From the rows alone: each link of the chain, and each account.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::canonical::Digest;
use super::name::Name;
use super::records::{ROWS, digest, read_amendment, read_entry, read_row, read_stated};
use super::rows::{Amendment, Domain, encode};
use super::schema::before_commit;
use super::sqlite::head;
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
    let statements = statements(connection)?;
    let mut accounts = BTreeMap::new();
    for (statement, _) in statements.values() {
        if let Statement::Domain(domain) = statement {
            let account = Account::new(domain.promise, domain.neighbours, domain.cap.clone())?;
            accounts.insert(domain.name.clone(), account);
        }
    }
    follow(connection, statements, &mut accounts)?;
    accounts_are_the_rows(connection, accounts)
}

/// A row that is about no release.
enum Statement {
    Domain(Domain),
    Amendment(Amendment),
}

/// Statements by their place among all rows, each with the hash that it holds. There are few.
type Statements = BTreeMap<i64, (Statement, Digest)>;

fn statements(connection: &Connection) -> Result<Statements, Trouble> {
    let mut statements = Statements::new();
    let mut twice = None;
    let mut keep = |sequence, statement, held| {
        if statements.insert(sequence, (statement, held)).is_some() {
            twice = Some(sequence);
        }
    };
    let mut domains = connection.prepare("SELECT * FROM domain").map_err(before_commit)?;
    for domain in domains.query_map([], read_stated).map_err(before_commit)? {
        let (sequence, domain, held) = domain.map_err(before_commit)?;
        keep(sequence, Statement::Domain(domain), held);
    }
    let mut amendments = connection.prepare("SELECT * FROM amendment").map_err(before_commit)?;
    for amendment in amendments.query_map([], read_amendment).map_err(before_commit)? {
        let (amendment, held) = amendment.map_err(before_commit)?;
        keep(amendment.sequence, Statement::Amendment(amendment), held);
    }
    match twice {
        None => Ok(statements),
        Some(sequence) => Err(Trouble::doubt(format!("ledger: there are two rows {sequence}"))),
    }
}

/// Reads all rows in their order, as a stream: a ledger may hold millions. Spends what they cost.
fn follow(
    connection: &Connection,
    statements: Statements,
    accounts: &mut BTreeMap<Name, Account>,
) -> Result<(), Trouble> {
    let mut chain = Chain { sequence: 0, last: Digest::NONE };
    let mut statements = statements.into_iter().peekable();
    let mut rows = connection.prepare(&format!("{ROWS} ORDER BY sequence")).map_err(before_commit)?;
    for row in rows.query_map([], |row| Ok((read_row(row)?, digest(row, 14)?))).map_err(before_commit)? {
        let (row, id) = row.map_err(before_commit)?;
        while let Some(statement) = statements.next_if(|(sequence, _)| *sequence < row.sequence) {
            chain.state(statement)?;
        }
        chain.link(row.sequence, row.chain, |previous| row.chained(previous))?;
        if row.release.id() != id {
            return Err(Trouble::doubt(format!("ledger: row {} is not under its own name", row.sequence)));
        }
        let account = accounts.get_mut(&row.release.domain);
        let account =
            account.ok_or_else(|| Trouble::doubt(format!("ledger: row {} has no domain", row.sequence)))?;
        if let Some(cost) = &row.cost {
            account.add(row.release.window, cost)?;
        }
    }
    for statement in statements {
        chain.state(statement)?;
    }
    let (sequence, last) = head(connection).map_err(before_commit)?;
    if (sequence, last) != (chain.sequence, chain.last) {
        let message =
            format!("ledger: it ends at row {}, and says that it ends at {sequence}", chain.sequence);
        return Err(Trouble::doubt(message));
    }
    Ok(())
}

/// How far the chain has been followed.
struct Chain {
    sequence: i64,
    last: Digest,
}

impl Chain {
    fn link(&mut self, sequence: i64, held: Digest, due: impl Fn(&Digest) -> Digest) -> Result<(), Trouble> {
        if sequence != self.sequence + 1 || due(&self.last) != held {
            return Err(Trouble::doubt(format!(
                "ledger: row {} is missing or was edited",
                self.sequence + 1
            )));
        }
        *self = Chain { sequence, last: held };
        Ok(())
    }

    fn state(&mut self, (sequence, (statement, held)): (i64, (Statement, Digest))) -> Result<(), Trouble> {
        self.link(sequence, held, |previous| match &statement {
            Statement::Domain(domain) => {
                domain.chained(previous, sequence, &encode(&domain.cap).unwrap_or_default())
            }
            Statement::Amendment(amendment) => amendment.chained(previous),
        })
    }
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
        let (due, nothing) = (account.entries(), account.nothing());
        let differs = |(place, spent): (&i64, &Amount)| entries.get(place).unwrap_or(&nothing) != spent;
        if due.iter().any(differs) || entries.keys().any(|place| !due.contains_key(place)) {
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
