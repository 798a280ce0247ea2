//! All that follows from the rows of a ledger: its accounts, frontiers, states and reservations.

use std::collections::BTreeMap;

use super::error::LedgerError;
use super::name::Name;
use super::repair;
use super::rows::{ReleaseStatus, Row};
use crate::accounting::{Account, EntryKey, Fetched, Interval, Promise};
use crate::canonical::Digest;
use crate::time::Time;

/// A reservation: a row that paid for a life of its statistic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) sequence: i64,
    pub(super) life: Interval,
    pub(super) id: Digest,
}

/// A statistic and its version, with the account that it charges.
pub(super) type Payer = (Name, Name, Name, Digest);

/// The number of reservations that are kept in mind of each payer: the newest ones.
const RESERVATIONS: usize = 16;

/// A release and its version: the job, the name of the statistic, and the hash of the version.
pub(super) type Versioned = (Name, Name, Digest);

/// The releases of an account that were sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) count: u64,
    /// The window that ends last.
    pub(super) newest: Interval,
}

/// Returns the window that ends last; of two that end together the longer one, whichever was sealed first.
pub(super) fn newer(one: Interval, other: Interval) -> Interval {
    let ends = |window: Interval| (window.end(), std::cmp::Reverse(window.start()));
    if ends(other) > ends(one) { other } else { one }
}

/// All that follows from the rows; of accounts, the entries that were not dropped.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) accounts: BTreeMap<Name, Account>,
    /// The least place of the entries that are kept here, by account and reach; all of them where none is
    /// given.
    pub(super) floors: BTreeMap<(Name, i64), i64>,
    /// The number of entries that were compared with the stored ones and dropped; `None` where entries were
    /// dropped that nobody counted.
    pub(super) compared: Option<i64>,
    /// The hash of the newest state of each statistic's mechanism, by job and name.
    pub(super) states: BTreeMap<(Name, Name), Digest>,
    pub(super) settled: BTreeMap<Versioned, Time>,
    pub(super) reserved: BTreeMap<Payer, Vec<Reservation>>,
    pub(super) sealed: BTreeMap<Name, Sealed>,
}

impl Due {
    /// All that follows from no row.
    pub(super) fn nothing() -> Due {
        Due {
            accounts: BTreeMap::new(),
            floors: BTreeMap::new(),
            compared: Some(0),
            states: BTreeMap::new(),
            settled: BTreeMap::new(),
            reserved: BTreeMap::new(),
            sealed: BTreeMap::new(),
        }
    }

    /// Adds a row. Returns false if its charge reaches entries that are kept no more.
    pub(super) fn after(&mut self, row: Row) -> Result<bool, LedgerError> {
        let account = &row.release.account;
        let balance = self.accounts.get_mut(account);
        let balance = balance
            .ok_or_else(|| LedgerError::doubt(format!("ledger: row {} has no account", row.sequence)))?;
        let mut above = true;
        if let Some(prices) = row.prices() {
            above = holds(&self.floors, account, balance.promise(), row.charged());
            balance.add(row.charged(), &prices)?;
        }
        let Row { release, status, life, state, sequence, .. } = row;
        if let Some(life) = life {
            let payer = (release.account.clone(), release.job.clone(), release.name.clone(), release.version);
            let reserved = self.reserved.entry(payer).or_default();
            reserved.push(Reservation { sequence, life, id: release.id() });
            if reserved.len() > RESERVATIONS {
                reserved.remove(0);
            }
        }
        if status == ReleaseStatus::Sealed {
            let sealed = self.sealed.entry(release.account.clone());
            let sealed = sealed.or_insert(Sealed { count: 0, newest: release.window });
            sealed.count += 1;
            sealed.newest = newer(sealed.newest, release.window);
        }
        let settles = release.part.is_none() && status != ReleaseStatus::Skipped;
        if settles && release.job.as_str() != repair::JOB {
            let key = (release.job.clone(), release.name.clone(), release.version);
            let settled = self.settled.entry(key).or_insert(release.window.end());
            *settled = release.window.end().max(*settled);
        }
        if let Some(state) = state {
            self.states.insert((release.job, release.name), state);
        }
        Ok(above)
    }

    /// Returns true if every entry that a charge for this time reads is among those that are kept here.
    pub(super) fn reads(&self, account: &Name, time: Interval) -> bool {
        let Some(balance) = self.accounts.get(account) else { return true };
        let of_account = self.floors.iter().filter(|((of, _), _)| of == account);
        match balance.fetched(time) {
            Fetched::Sums([first, _], _) => of_account.into_iter().all(|(_, floor)| first >= *floor),
            Fetched::Windows(time) => {
                of_account.into_iter().all(|((_, reach), floor)| EntryKey::starts(*reach, time).0 >= *floor)
            }
        }
    }

    /// The number of entries that are kept.
    pub(super) fn entries(&self) -> usize {
        self.accounts.values().map(|account| account.entries().len()).sum()
    }
}

/// Returns true if the entries that a charge for this time changes are at or above their floors.
fn holds(floors: &BTreeMap<(Name, i64), i64>, account: &Name, promise: Promise, time: Interval) -> bool {
    let place = match promise {
        Promise::Lifetime | Promise::Windows(_) => EntryKey::of_sum(0),
        Promise::Any(_) => EntryKey::of_window(time),
        Promise::Each(span) => EntryKey::of_sum(time.blocks(span).0),
    };
    floors.get(&(account.clone(), place.reach)).is_none_or(|floor| place.start >= *floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a newest window that depends on the order in which two that end together were sealed: what it counts differs.
    #[test]
    fn the_newest_window_does_not_depend_on_the_order() {
        let window = |start, end| Interval::new(start, end).unwrap();
        let (month, year, later) = (window(90, 100), window(0, 100), window(95, 101));
        for (one, other, newest) in [(month, year, year), (month, later, later), (year, later, later)] {
            assert_eq!((newer(one, other), newer(other, one)), (newest, newest));
        }
    }
}
