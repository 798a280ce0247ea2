//! Verification of a ledger from its rows alone: each link of the chain, each account, and the state of each
//! mechanism.

use std::collections::BTreeMap;

use super::account::AccountSpec;
use super::error::{LedgerError, LedgerErrorKind};
use super::name::Name;
use super::records::{
    ID, digest, encode, head, name, number, read_amendment, read_entry, read_repair, read_row, read_stated,
    rows,
};
use super::rows::{Amendment, Repair, Row};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::{failpoint, rows};
use crate::accounting::{Account, EntryKey, Prices};
use crate::canonical::Digest;

/// Recomputes the chain, the accounts and the hashes of states from the rows, and compares them with the
/// stored ones.
pub(super) fn verify(store: &mut dyn Store) -> Result<(), LedgerError> {
    store.check()?;
    let mut snapshot = Transaction::snapshot(store)?;
    let store = snapshot.store();
    let ledger = first(store, "SELECT ledger FROM meta", &[], |row| digest(row, 0))?;
    let ledger = ledger.ok_or_else(|| LedgerError::doubt("ledger: it has no name"))?;
    let mut chain = Chain::of(ledger);
    chain.follow(store)?;
    if head(store)? != (chain.sequence, chain.last) {
        return Err(LedgerError::doubt(format!(
            "ledger: it ends at row {}, and says otherwise",
            chain.sequence
        )));
    }
    accounts_are_the_rows(store, chain.due.accounts)?;
    states_are_the_newest(store, chain.due.states)
}

/// The accounts and states that follow from the rows.
#[derive(Default)]
pub(super) struct Due {
    pub(super) accounts: BTreeMap<Name, Account>,
    /// The hash of the newest state of each statistic's mechanism, by job and name.
    states: BTreeMap<(Name, Name), Digest>,
}

impl Due {
    fn after(&mut self, row: Row) -> Result<(), LedgerError> {
        let balance = self.accounts.get_mut(&row.release.account);
        let balance = balance
            .ok_or_else(|| LedgerError::doubt(format!("ledger: row {} has no account", row.sequence)))?;
        if let Some(prices) = row.prices() {
            balance.add(row.charged(), &prices)?;
        }
        if let Some(state) = row.state {
            self.states.insert((row.release.job, row.release.name), state);
        }
        Ok(())
    }
}

/// A row of the chain that is no release.
enum Statement {
    Account(AccountSpec),
    Amendment(Amendment),
    Repair(Repair),
}

/// Statements by sequence number, each with the hash that its row holds. They are few.
type Statements = BTreeMap<i64, (Statement, Digest)>;

fn statements(store: &mut dyn Store) -> Result<Statements, LedgerError> {
    let account = |row: &dyn SqlRow| {
        let (sequence, account, held) = read_stated(row)?;
        Ok((sequence, (Statement::Account(account), held)))
    };
    let amendment = |row: &dyn SqlRow| {
        let (amendment, held) = read_amendment(row)?;
        Ok((amendment.sequence, (Statement::Amendment(amendment), held)))
    };
    let repair = |row: &dyn SqlRow| {
        let (repair, held) = read_repair(row)?;
        Ok((repair.sequence, (Statement::Repair(repair), held)))
    };
    let mut list = all(store, "SELECT * FROM account", &[], account)?;
    list.extend(all(store, "SELECT * FROM amendment", &[], amendment)?);
    list.extend(all(store, "SELECT * FROM repair", &[], repair)?);
    let mut statements = Statements::new();
    for (sequence, statement) in list {
        if statements.insert(sequence, statement).is_some() {
            return Err(LedgerError::doubt(format!("ledger: there are two rows {sequence}")));
        }
    }
    Ok(statements)
}

/// The proven part of a chain: every row in it is as it was written.
pub(super) struct Chain {
    pub(super) sequence: i64,
    pub(super) last: Digest,
    /// The number of releases in the proven part: the first ones, in the order in which they are read.
    pub(super) releases: i64,
    pub(super) due: Due,
}

impl Chain {
    /// A chain that begins with the name of its ledger, so that rows of another ledger are in doubt, such as
    /// those that the write-ahead log of another ledger beside the file brings in.
    pub(super) fn of(ledger: Digest) -> Chain {
        Chain { sequence: 0, last: ledger, releases: 0, due: Due::default() }
    }

    /// Reads all rows in their order, as a stream: a ledger may hold millions.
    pub(super) fn follow(&mut self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let mut statements = statements(store)?.into_iter().peekable();
        store.read(rows!("ORDER BY sequence"), &[], &mut |columns| {
            let row = read_row(columns)?;
            failpoint::reached("mid-chain-verify", LedgerErrorKind::Unknown)?;
            while let Some(statement) = statements.next_if(|(sequence, _)| *sequence < row.sequence) {
                self.state(statement)?;
            }
            if row.release.id() != digest(columns, ID)? {
                return Err(LedgerError::doubt(format!(
                    "ledger: row {} is not under its own name",
                    row.sequence
                )));
            }
            self.link(row.sequence, row.chain, |previous| row.chained(previous))?;
            self.releases += 1;
            self.due.after(row)
        })?;
        statements.try_for_each(|statement| self.state(statement))
    }

    fn link(
        &mut self,
        sequence: i64,
        held: Digest,
        due: impl Fn(&Digest) -> Digest,
    ) -> Result<(), LedgerError> {
        if sequence != self.sequence + 1 || due(&self.last) != held {
            return Err(LedgerError::doubt(format!(
                "ledger: row {} is missing or was edited",
                self.sequence + 1
            )));
        }
        (self.sequence, self.last) = (sequence, held);
        Ok(())
    }

    fn state(
        &mut self,
        (sequence, (statement, held)): (i64, (Statement, Digest)),
    ) -> Result<(), LedgerError> {
        if let Statement::Repair(repair) = &statement {
            // The rows that it gives up are gone, so it follows after a gap. The state of mechanisms is lost
            // too.
            if repair.sound != self.sequence || repair.sequence <= repair.sound {
                return Err(LedgerError::doubt(format!("ledger: row {sequence} is missing or was edited")));
            }
            self.sequence = repair.sequence - 1;
            self.due.states.clear();
        }
        self.link(sequence, held, |previous| match &statement {
            Statement::Account(account) => {
                account.chained(previous, sequence, &encode(&account.cap).unwrap_or_default())
            }
            Statement::Amendment(amendment) => amendment.chained(previous),
            Statement::Repair(repair) => repair.chained(previous),
        })?;
        if let Statement::Account(account) = statement {
            let balance = Account::new(account.promise, account.neighbours, account.cap)?;
            self.due.accounts.insert(account.name, balance);
        }
        Ok(())
    }
}

fn accounts_are_the_rows(
    store: &mut dyn Store,
    accounts: BTreeMap<Name, Account>,
) -> Result<(), LedgerError> {
    let mut kept = 0;
    for (account, balance) in &accounts {
        let entries = "SELECT reach, place, until, spent, partial FROM balance WHERE account = ?1";
        let entries = all(store, entries, &[SqlValue::Text(account.as_str())], read_entry)?;
        let entries: BTreeMap<EntryKey, Prices> = entries.into_iter().collect();
        kept += entries.len();
        // An account without a charge may have no entry.
        let (due, nothing) = (balance.entries(), Prices::same(balance.nothing()));
        let differs = |(place, spent): (&EntryKey, &Prices)| entries.get(place).unwrap_or(&nothing) != spent;
        if due.iter().any(differs) || entries.keys().any(|place| !due.contains_key(place)) {
            return Err(LedgerError::doubt(format!(
                "ledger: the account of {account} is not the sum of its rows"
            )));
        }
    }
    let count = |row: &dyn SqlRow| number(row, 0);
    if first(store, "SELECT count(*) FROM balance", &[], count)? != Some(kept as i64) {
        return Err(LedgerError::doubt("ledger: there is an account without an account"));
    }
    Ok(())
}

fn states_are_the_newest(
    store: &mut dyn Store,
    due: BTreeMap<(Name, Name), Digest>,
) -> Result<(), LedgerError> {
    let kept = |row: &dyn SqlRow| Ok(((name(row, 0)?, name(row, 1)?), rows::read(row, 2)?.digest()));
    let kept = all(store, "SELECT job, name, version, held FROM state", &[], kept)?;
    if kept.into_iter().collect::<BTreeMap<_, _>>() == due {
        return Ok(());
    }
    Err(LedgerError::doubt("ledger: what a mechanism kept is not what its newest row says"))
}
