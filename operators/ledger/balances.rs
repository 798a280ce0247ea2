//! The accounts that one transaction reads and charges: each is read once, whatever the number of releases, and
//! what was charged is written before the transaction ends.

use std::collections::BTreeMap;

use super::account::AccountSpec;
use super::charge::{fetch, keep, last_repair, unknown_account};
use super::error::LedgerError;
use super::name::Name;
use super::records::amended_account;
use super::store::Store;
use crate::accounting::{Account, EntryKey, Fetched, Interval, Prices};

/// The accounts of a transaction. Nothing else changes them while it lasts.
#[derive(Default)]
pub(super) struct Balances {
    stated: BTreeMap<Name, (AccountSpec, Account)>,
    /// The last repair, once it was read.
    repaired: Option<Option<(i64, i64)>>,
    open: Option<OpenBalance>,
}

/// The part of an account that was read last, and that charges may have changed.
struct OpenBalance {
    account: Name,
    fetched: Fetched,
    balance: Account,
    /// The entries that the ledger has.
    before: BTreeMap<EntryKey, Prices>,
}

impl Balances {
    /// The account of this name.
    ///
    /// # Errors
    ///
    /// [`Refused`](super::LedgerErrorKind::Refused) if there is none.
    pub(super) fn account(
        &mut self,
        store: &mut dyn Store,
        name: &Name,
    ) -> Result<&AccountSpec, LedgerError> {
        self.stated(store, name).map(|(account, _)| account)
    }

    fn stated(&mut self, store: &mut dyn Store, name: &Name) -> Result<&(AccountSpec, Account), LedgerError> {
        if !self.stated.contains_key(name) {
            let account = amended_account(store, name)?.ok_or_else(|| unknown_account(name))?;
            let empty = Account::new(account.promise, account.neighbours, account.cap.clone())?;
            self.stated.insert(name.clone(), (account, empty));
        }
        self.stated.get(name).ok_or_else(|| unknown_account(name))
    }

    /// The part of an account that a charge for this time can read or change.
    pub(super) fn of(
        &mut self,
        store: &mut dyn Store,
        name: &Name,
        time: Interval,
    ) -> Result<&mut Account, LedgerError> {
        let fetched = self.stated(store, name)?.1.fetched(time);
        let open = match self.open.take() {
            Some(open) if open.account == *name && open.fetched == fetched => open,
            other => {
                self.open = other;
                self.write(store)?;
                let (account, _) = self.stated.get(name).ok_or_else(|| unknown_account(name))?;
                let balance = fetch(store, account, time)?;
                OpenBalance { account: name.clone(), fetched, before: balance.entries(), balance }
            }
        };
        Ok(&mut self.open.insert(open).balance)
    }

    /// Writes what was charged.
    pub(super) fn write(&mut self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let Some(OpenBalance { account, balance, before, .. }) = self.open.take() else { return Ok(()) };
        keep(store, &account, &before, &balance.entries())
    }

    /// The sequence number of the last repair, and its floor.
    pub(super) fn last_repair(&mut self, store: &mut dyn Store) -> Result<Option<(i64, i64)>, LedgerError> {
        match self.repaired {
            Some(known) => Ok(known),
            None => Ok(*self.repaired.insert(last_repair(store)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::{Scratch, ScratchPlace};
    use super::super::{Charge, Digest, Ledger, ReleaseId, ReleaseStatus, Sealing};
    use super::*;
    use crate::accounting::{Adjacency, BudgetUnits, Omega, PrivacyCost, Promise, ReleaseCost};

    const ACCOUNTS: [&str; 2] = ["clients", "shops"];

    fn rho(units: u128) -> PrivacyCost {
        let rho = BudgetUnits::from_bits(units);
        PrivacyCost::Zcdp { rho, delta: BudgetUnits::ZERO, omega: Omega::EVERY }
    }

    fn account(name: &str) -> Name {
        Name::new("account", name).unwrap()
    }

    fn window(start: i64) -> Interval {
        Interval::new(start, start + 10).unwrap()
    }

    /// Windows of two accounts in turn, not in the order of time, at prices that do not all fit.
    fn batch() -> Vec<Sealing> {
        let sealing = |number: i64| Sealing {
            release: ReleaseId {
                account: account(ACCOUNTS[usize::from(number % 3 == 0)]),
                job: Name::new("job", "web").unwrap(),
                version: Digest::of(b"version 1"),
                name: Name::new("name", &format!("name{}", number % 4)).unwrap(),
                window: window(number * 7 % 12 * 10),
                part: Some(Digest::of(&number.to_be_bytes())),
            },
            charge: Some(Charge::Cost(ReleaseCost::new(Adjacency::PERSON, rho(number as u128 % 5 + 3)))),
            status: ReleaseStatus::Sealed,
            line: "{}".to_owned(),
            state: None,
        };
        (0..60).map(sealing).collect()
    }

    /// The outcomes and the amounts that are spent in the end, where `together` are sealed in one commit.
    fn sealed(scratch: &Scratch, promise: Promise, together: usize) -> (Vec<String>, Vec<String>) {
        let mut ledger = Ledger::create(scratch.ledger()).unwrap();
        for name in ACCOUNTS {
            let stated = AccountSpec::new(account(name), Adjacency::PERSON, promise, rho(25)).unwrap();
            ledger.register(&stated).unwrap();
        }
        let claim = ledger.claim(&Name::new("job", "web").unwrap()).unwrap();
        let mut rows = Vec::new();
        for part in batch().chunks(together) {
            rows.extend(ledger.seal(&claim, part).unwrap());
        }
        let rows = rows.iter().map(|row| format!("{:?} {:?} {}", row.status(), row.cost, row.line()));
        let places =
            ACCOUNTS.iter().flat_map(|name| (0..13).map(move |start| (account(name), window(start * 10))));
        let places: Vec<(Name, Interval)> = places.collect();
        let each = ledger.spent_each(places.iter().map(|(name, window)| (name, *window))).unwrap();
        let alone: Vec<_> =
            places.iter().map(|(name, window)| ledger.spent(name, *window).unwrap()).collect();
        assert_eq!(each, alone);
        (rows.collect(), each.iter().map(|spent| format!("{spent:?}")).collect())
    }

    // Refutes a release that is paid by another account or time, and a charge that is not written because
    // another one of the same commit comes after it.
    #[test]
    fn each_account_and_time_is_charged_for_itself() {
        for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(20)] {
            let [one, some, all] = [1, 7, 60].map(|together| {
                let scratch = ScratchPlace::File.scratch();
                sealed(&scratch, promise, together)
            });
            assert!(one.0.iter().any(|row| row.starts_with("Refused")), "{promise:?}");
            assert_eq!(one, some, "{promise:?}");
            assert_eq!(one, all, "{promise:?}");
        }
    }
}
