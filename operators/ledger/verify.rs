//! Verification of a ledger from its rows alone: each link of the chain, each account, the settled frontiers,
//! and the state of each mechanism. From the beginning, or on from a [`Chain`] that was proven before.

use std::collections::BTreeMap;

use super::account::AccountSpec;
use super::archive::{self, ArchiveRecord};
use super::due::Due;
use super::error::{LedgerError, LedgerErrorKind};
use super::key_change::{self, KeyChange};
use super::name::Name;
use super::records::{
    ID, digest, encode, head, name, number, read_amendment, read_entry, read_repair, read_row, read_stated,
    rows,
};
use super::rows::{Amendment, Repair, Row};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first};
use super::{failpoint, states};
use crate::accounting::{Account, EntryKey, Prices, Promise};
use crate::canonical::{Canonical, Digest};

/// The number of rows that are read in one go, between two looks at what is finished; fewer in tests, which have
/// several chunks then.
const CHUNK: i64 = if cfg!(test) { 2_000 } else { 20_000 };

/// Recomputes the chain, the accounts, the frontiers and the hashes of states from all rows since the newest
/// archive, and compares them with the stored ones.
pub(super) fn verify(store: &mut dyn Store) -> Result<Chain, LedgerError> {
    store.check()?;
    let mut snapshot = Transaction::snapshot(store)?;
    let mut chain = Chain::begin(snapshot.store())?;
    chain.extend(snapshot.store())?;
    Ok(chain)
}

/// Verifies everything as [`verify`] does, in many short reads, while other connections write. `go_on` is
/// asked between them.
///
/// Returns false if `go_on` does, or if a window was charged meanwhile whose entry was compared already: then
/// nothing is known.
pub(super) fn verify_beside(
    store: &mut dyn Store,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<bool, LedgerError> {
    store.check()?;
    let mut snapshot = Transaction::snapshot(store)?;
    let mut chain = Chain::begin(snapshot.store())?;
    let (start, _) = head(snapshot.store())?;
    drop(snapshot);
    loop {
        if !go_on() {
            return Ok(false);
        }
        let mut snapshot = Transaction::snapshot(store)?;
        if chain.follow(snapshot.store(), start, CHUNK)? {
            break;
        }
        chain.settle(snapshot.store())?;
    }
    // What follows was written since, so an entry that was dropped as equal may have grown.
    chain.below = false;
    let mut snapshot = Transaction::snapshot(store)?;
    let compared = chain.extend(snapshot.store());
    if chain.below { Ok(false) } else { compared.map(|()| true) }
}

pub(super) fn ledger_name(store: &mut dyn Store) -> Result<Digest, LedgerError> {
    let ledger = first(store, "SELECT ledger FROM meta", &[], |row| digest(row, 0))?;
    ledger.ok_or_else(|| LedgerError::doubt("ledger: it has no name"))
}

/// A row of the chain that is no release.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Account(AccountSpec),
    Amendment(Amendment),
    Repair(Repair),
    Archive(ArchiveRecord),
    KeyChange(KeyChange),
}

/// A row of the chain, as a verification visits it.
pub(super) enum Link<'a> {
    Release(&'a Row),
    /// A statement with its sequence number and the hash that its row holds.
    Statement(i64, &'a Statement, &'a Digest),
}

/// Receives each row of the chain in order.
pub(super) type Visit<'a> = dyn FnMut(Link<'_>) -> Result<(), LedgerError> + 'a;

impl Statement {
    fn chained(&self, previous: &Digest, sequence: i64) -> Digest {
        match self {
            Statement::Account(account) => {
                account.chained(previous, sequence, &encode(&account.cap).unwrap_or_default())
            }
            Statement::Amendment(amendment) => amendment.chained(previous),
            Statement::Repair(repair) => repair.chained(previous),
            Statement::Archive(archive) => archive.chained(previous),
            Statement::KeyChange(change) => change.chained(previous),
        }
    }
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
    list.extend(
        archive::all_records(store)?
            .into_iter()
            .map(|(archive, held)| (archive.sequence, (Statement::Archive(archive), held))),
    );
    list.extend(
        key_change::all_changes(store)?
            .into_iter()
            .map(|(change, held)| (change.sequence, (Statement::KeyChange(change), held))),
    );
    let mut statements = Statements::new();
    for (sequence, statement) in list {
        if statements.insert(sequence, statement).is_some() {
            return Err(LedgerError::doubt(format!("ledger: there are two rows {sequence}")));
        }
    }
    Ok(statements)
}

/// The proven part of a chain: every row in it is as it was written.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) ledger: Digest,
    pub(super) sequence: i64,
    pub(super) last: Digest,
    /// The number of releases in the proven part: the first ones, in the order in which they are read.
    pub(super) releases: i64,
    /// A hash of all statements in the proven part, by which they are recognised when only later rows are
    /// read.
    pub(super) statements: Digest,
    pub(super) due: Due,
    /// True once a row charged an entry that is kept no more, so that the accounts cannot be compared.
    pub(super) below: bool,
}

impl Chain {
    /// A chain that begins with the name of its ledger, so that rows of another ledger are in doubt, such as
    /// those that the write-ahead log of another ledger beside the file brings in.
    pub(super) fn of(ledger: Digest) -> Chain {
        Chain {
            ledger,
            sequence: 0,
            last: ledger,
            releases: 0,
            statements: Digest::NONE,
            due: Due::nothing(),
            below: false,
        }
    }

    /// The chain at the end of the newest archive, or one without a row. Inside a transaction.
    pub(super) fn begin(store: &mut dyn Store) -> Result<Chain, LedgerError> {
        let ledger = ledger_name(store)?;
        match archive::newest(store)? {
            Some(newest) => archive::end_of(store, ledger, &newest),
            None => Ok(Chain::of(ledger)),
        }
    }

    /// Reads the rest of the ledger, and compares everything that is stored with it. Inside a transaction.
    pub(super) fn extend(&mut self, store: &mut dyn Store) -> Result<(), LedgerError> {
        self.extend_with(store, &mut |_| Ok(()))
    }

    /// Extends the chain as [`extend`](Chain::extend) does, and visits each row that it reads.
    pub(super) fn extend_with(
        &mut self,
        store: &mut dyn Store,
        visit: &mut Visit<'_>,
    ) -> Result<(), LedgerError> {
        self.is_in(store)?;
        while !self.follow_with(store, i64::MAX, CHUNK, visit)? {
            self.settle(store)?;
        }
        if head(store)? != (self.sequence, self.last) {
            return Err(LedgerError::doubt(format!(
                "ledger: it ends at row {}, and says otherwise",
                self.sequence
            )));
        }
        if self.below && self.due.compared.is_none() {
            return Err(LedgerError::new(
                LedgerErrorKind::Busy,
                "ledger: a window was charged that is older than its checkpoint holds",
            ));
        }
        // The last rows may have charged for windows whose entries differed until then.
        if self.due.compared.is_some_and(|compared| compared > 0) {
            self.settle(store)?;
        }
        self.accounts_are_the_rows(store)?;
        self.states_are_the_newest(store)?;
        self.frontiers_are_the_rows(store)
    }

    /// Checks that the ledger holds the last row of the proven part.
    fn is_in(&self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let held = "SELECT chain FROM release WHERE sequence = ?1 UNION SELECT chain FROM account WHERE sequence = ?1
             UNION SELECT chain FROM amendment WHERE sequence = ?1 UNION SELECT chain FROM repair WHERE sequence = ?1
             UNION SELECT chain FROM archive WHERE sequence = ?1 UNION SELECT chain FROM rekey WHERE sequence = ?1";
        let held = all(store, held, &[SqlValue::Number(self.sequence)], |row| digest(row, 0))?;
        if self.sequence == 0 || held == [self.last] {
            return Ok(());
        }
        match archive::newest(store)? {
            // The statement of the archive is the next row, and its hash covers this one.
            Some(newest) if newest.record.until == self.sequence => Ok(()),
            Some(newest) if newest.record.until > self.sequence => Err(archive::meanwhile()),
            _ => Err(LedgerError::doubt(format!("ledger: row {} is missing or was edited", self.sequence))),
        }
    }

    /// Reads rows in their order up to a sequence number, at most this many releases. Returns true once there
    /// are no more.
    pub(super) fn follow(
        &mut self,
        store: &mut dyn Store,
        until: i64,
        most: i64,
    ) -> Result<bool, LedgerError> {
        self.follow_with(store, until, most, &mut |_| Ok(()))
    }

    fn follow_with(
        &mut self,
        store: &mut dyn Store,
        until: i64,
        most: i64,
        visit: &mut Visit<'_>,
    ) -> Result<bool, LedgerError> {
        let statements = statements(store)?;
        // Of a chain without a row everything follows, also what is numbered as nothing is.
        let start = if self.sequence == 0 { i64::MIN } else { self.sequence + 1 };
        let known = statements.range(..start).fold(Digest::NONE, |known, (sequence, (statement, held))| {
            with_statement(&known, statement, *sequence, held)
        });
        if known != self.statements {
            return Err(LedgerError::doubt(
                "ledger: an account, an amendment or a repair is missing or was edited",
            ));
        }
        let mut statements =
            statements.into_iter().filter(|(sequence, _)| (start..=until).contains(sequence)).peekable();
        let mut read = 0;
        let values = [SqlValue::Number(start), SqlValue::Number(until), SqlValue::Number(most)];
        let next = rows!("WHERE sequence >= ?1 AND sequence <= ?2 ORDER BY sequence LIMIT ?3");
        store.read(next, &values, &mut |columns| {
            let row = read_row(columns)?;
            read += 1;
            failpoint::reached("mid-chain-verify", LedgerErrorKind::Unknown)?;
            while let Some((sequence, statement)) = statements.next_if(|(next, _)| *next < row.sequence) {
                visit(Link::Statement(sequence, &statement.0, &statement.1))?;
                self.state((sequence, statement))?;
            }
            if row.release.id() != digest(columns, ID)? {
                return Err(LedgerError::doubt(format!(
                    "ledger: row {} is not under its own name",
                    row.sequence
                )));
            }
            visit(Link::Release(&row))?;
            self.release(row)
        })?;
        if read == most {
            return Ok(false);
        }
        statements.try_for_each(|(sequence, statement)| {
            visit(Link::Statement(sequence, &statement.0, &statement.1))?;
            self.state((sequence, statement))
        })?;
        Ok(true)
    }

    /// Adds the next row, a release.
    pub(super) fn release(&mut self, row: Row) -> Result<(), LedgerError> {
        self.link(row.sequence, row.chain, |previous| row.chained(previous))?;
        self.releases += 1;
        self.below |= !self.due.after(row)?;
        Ok(())
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

    /// Adds the next row, a statement with the hash that its row holds.
    pub(super) fn state(
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
        if let Statement::Archive(record) = &statement {
            archive::passed(self, record)?;
        }
        if let Statement::KeyChange(change) = &statement {
            change.replace(&mut self.due.states)?;
        }
        self.link(sequence, held, |previous| statement.chained(previous, sequence))?;
        self.statements = with_statement(&self.statements, &statement, sequence, &held);
        if let Statement::Account(account) = statement {
            let balance = Account::new(account.promise, account.neighbours, account.cap)?;
            self.due.accounts.insert(account.name, balance);
        }
        Ok(())
    }
}

fn with_statement(known: &Digest, statement: &Statement, sequence: i64, held: &Digest) -> Digest {
    Canonical::new("discreet statements 1")
        .digest(known)
        .digest(&statement.chained(&Digest::NONE, sequence))
        .digest(held)
        .finish()
}

// The comparison of what is stored with what follows from the rows.

impl Chain {
    fn accounts_are_the_rows(&self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let mut kept = 0;
        for (account, balance) in &self.due.accounts {
            let differ =
                || LedgerError::doubt(format!("ledger: the account of {account} is not the sum of its rows"));
            let due = balance.entries();
            let nothing = Prices::same(balance.nothing());
            let mut found = 0;
            for reach in reaches(store, account)? {
                let floor = self.due.floors.get(&(account.clone(), reach)).copied().unwrap_or(i64::MIN);
                let values =
                    [SqlValue::Text(account.as_str()), SqlValue::Number(reach), SqlValue::Number(floor)];
                store.read(
                    "SELECT reach, place, until, spent, partial FROM balance
                     WHERE account = ?1 AND reach = ?2 AND place >= ?3",
                    &values,
                    &mut |row| {
                        let (place, spent) = read_entry(row)?;
                        found += 1;
                        if due.get(&place) == Some(&spent) { Ok(()) } else { Err(differ()) }
                    },
                )?;
            }
            // An account without a charge has no entry.
            let uncharged = found == 0 && due.values().all(|spent| *spent == nothing);
            if found != due.len() && !uncharged {
                return Err(differ());
            }
            kept += found as i64;
        }
        if let Some(compared) = self.due.compared {
            let held = first(store, "SELECT count(*) FROM balance", &[], |row| number(row, 0))?;
            if held != Some(kept + compared) {
                return Err(LedgerError::doubt("ledger: there is an account without an account"));
            }
        }
        let names = all(store, "SELECT name FROM account", &[], |row| name(row, 0))?;
        if names.len() != self.due.accounts.len() {
            return Err(LedgerError::doubt("ledger: there is an account that no row states"));
        }
        Ok(())
    }

    fn states_are_the_newest(&self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let odd = || LedgerError::doubt("ledger: what a mechanism kept is not what its newest row says");
        let rows = "SELECT job, name, version, former, held, digest FROM state ORDER BY job, name, version";
        let mut newest: BTreeMap<(Name, Name), (i64, Digest)> = BTreeMap::new();
        store.read(rows, &[], &mut |row| {
            let (statistic, state) = ((name(row, 0)?, name(row, 1)?), states::read(row, 2)?);
            let digest = state.digest();
            if digest != self::digest(row, 5)? {
                return Err(odd());
            }
            // A full copy comes first and a change after its predecessor.
            let former = newest.insert(statistic, (state.version, digest));
            let follows = former.map(|(version, digest)| (version.saturating_add(1), digest));
            if follows != state.former.map(|former| (state.version, former)) {
                return Err(odd());
            }
            Ok(())
        })?;
        let newest = newest.into_iter().map(|(statistic, (_, digest))| (statistic, digest));
        if newest.collect::<BTreeMap<_, _>>() == self.due.states { Ok(()) } else { Err(odd()) }
    }

    fn frontiers_are_the_rows(&self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let kept = |row: &dyn SqlRow| Ok(((name(row, 0)?, name(row, 1)?, digest(row, 2)?), number(row, 3)?));
        let kept = all(store, "SELECT job, name, version, until FROM settled", &[], kept)?;
        if kept.into_iter().collect::<BTreeMap<_, _>>() == self.due.settled {
            return Ok(());
        }
        Err(LedgerError::doubt("ledger: the time up to which windows are settled is not what its rows say"))
    }
}

/// The reaches of the entries of an account, each found by the index.
pub(super) fn reaches(store: &mut dyn Store, account: &Name) -> Result<Vec<i64>, LedgerError> {
    let reaches = "WITH RECURSIVE known (reach) AS (
           SELECT min(reach) FROM balance WHERE account = ?1
           UNION ALL SELECT (SELECT min(reach) FROM balance WHERE account = ?1 AND reach > known.reach)
             FROM known WHERE known.reach IS NOT NULL)
         SELECT reach FROM known WHERE reach IS NOT NULL";
    all(store, reaches, &[SqlValue::Text(account.as_str())], |row| number(row, 0))
}

// What is kept of accounts: the memory of the past is constant. A promise about any span has an entry for
// each window, and a charge reads those nearby alone. So entries that are older than all that the next
// windows will read are compared as soon as the rows have passed them, and dropped.

/// The number of newest entries of each reach that are kept at least.
const LIVE: usize = 1_024;

impl Chain {
    /// Compares the entries of windows that are older than the next charges will read, and drops those that
    /// are equal. One that differs stays: a later row may charge for it.
    pub(super) fn settle(&mut self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let names: Vec<Name> = self.due.accounts.keys().cloned().collect();
        for name in names {
            let Some(account) = self.due.accounts.get(&name) else { continue };
            // Sums of aligned spans depend on each other, and are few.
            let Promise::Any(span) = account.promise() else { continue };
            let mut entries = account.entries();
            for (reach, floor) in floors_of(&entries, span) {
                let old = EntryKey { reach, start: i64::MIN, end: i64::MIN };
                let until = EntryKey { reach, start: floor, end: i64::MIN };
                let Some(first) = entries.range(old..until).next().map(|(place, _)| place.start) else {
                    continue;
                };
                let values = [
                    SqlValue::Text(name.as_str()),
                    SqlValue::Number(reach),
                    SqlValue::Number(first),
                    SqlValue::Number(floor),
                ];
                let mut equal = Vec::new();
                store.read(
                    "SELECT reach, place, until, spent, partial FROM balance
                     WHERE account = ?1 AND reach = ?2 AND place >= ?3 AND place < ?4",
                    &values,
                    &mut |row| {
                        let (place, spent) = read_entry(row)?;
                        if entries.get(&place) == Some(&spent) {
                            equal.push(place);
                        }
                        Ok(())
                    },
                )?;
                equal.iter().for_each(|place| drop(entries.remove(place)));
                if let Some(compared) = &mut self.due.compared {
                    *compared += equal.len() as i64;
                }
                self.raise(&name, reach, floor);
            }
            let Some(account) = self.due.accounts.get_mut(&name) else { continue };
            *account = account.holding(entries);
        }
        Ok(())
    }

    /// Drops the entries that the next charges will not read: the rest is what a checkpoint holds. Only after
    /// all of them were compared.
    pub(super) fn prune(&mut self) {
        let names: Vec<Name> = self.due.accounts.keys().cloned().collect();
        for name in names {
            let Some(account) = self.due.accounts.get(&name) else { continue };
            let span = match account.promise() {
                Promise::Any(span) => span,
                Promise::Each(_) => 0,
                Promise::Lifetime | Promise::Windows(_) => continue,
            };
            let mut entries = account.entries();
            for (reach, floor) in floors_of(&entries, span) {
                self.raise(&name, reach, floor);
            }
            let floor = |reach| self.due.floors.get(&(name.clone(), reach)).copied().unwrap_or(i64::MIN);
            entries.retain(|place, _| place.start >= floor(place.reach));
            let Some(account) = self.due.accounts.get_mut(&name) else { continue };
            *account = account.holding(entries);
        }
        if !self.due.floors.is_empty() {
            self.due.compared = None;
        }
    }

    fn raise(&mut self, account: &Name, reach: i64, floor: i64) {
        let held = self.due.floors.entry((account.clone(), reach)).or_insert(floor);
        *held = floor.max(*held);
    }
}

/// The floor of each reach: the start of its newest entries, and far enough back for the next windows of this
/// span; none where all entries are that new.
fn floors_of(entries: &BTreeMap<EntryKey, Prices>, span: u64) -> Vec<(i64, i64)> {
    let mut starts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for place in entries.keys() {
        starts.entry(place.reach).or_default().push(place.start);
    }
    let floor = |(reach, starts): (i64, Vec<i64>)| {
        let newest = *starts.last()?;
        let oldest = *starts.get(starts.len().checked_sub(LIVE)?)?;
        let back = i128::from(newest) - 2 * (i128::from(span) + i128::from(reach));
        let floor = i128::from(oldest).min(back);
        let floor = i64::try_from(floor).ok()?;
        (starts[0] < floor).then_some((reach, floor))
    };
    starts.into_iter().filter_map(floor).collect()
}
