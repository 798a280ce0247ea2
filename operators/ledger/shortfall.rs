//! Which releases would be refused for budget, were they asked for now.
//!
//! The charges are made to a copy of the domain's account, by the code that will make them, in the order in which they
//! are given; nothing is written, and no other process has to wait.

use std::collections::{BTreeMap, BTreeSet};

use super::book::Ledger;
use super::charge::{payer, unknown_domain};
use super::name::Name;
use super::records::{amended_domain, find, read_entry};
use super::rows::{Charge, ReleaseId};
use super::store::{SqlValue, Transaction, all};
use super::trouble::LedgerError;
use crate::accounting::{Account, BudgetExceeded, PrivacyCost};

/// The windows of one statistic that a domain's budget does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The first release that would be refused.
    pub first: ReleaseId,
    /// What is spent by then of the budget that this release needs.
    pub spent: PrivacyCost,
    /// The price of the release.
    pub asked: PrivacyCost,
    /// The cap.
    pub limit: PrivacyCost,
    /// The number of releases of the statistic that would be refused.
    pub refused: u64,
    /// The number of its releases that have no row yet.
    pub new: u64,
}

impl Ledger {
    /// Returns what would be refused of these releases of one domain, by statistic, were they sealed in this order.
    /// Releases that have a row cost nothing more. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`](super::LedgerErrorKind::Refused) for an unknown domain or a cost that it cannot count, and
    /// if the ledger cannot be read.
    pub fn shortfalls(
        &mut self,
        domain: &Name,
        asked: impl IntoIterator<Item = (ReleaseId, Charge)>,
    ) -> Result<Vec<Shortfall>, LedgerError> {
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        let domain = amended_domain(store, domain)?.ok_or_else(|| unknown_domain(domain))?;
        let name = [SqlValue::Text(domain.name.as_str())];
        let entries = "SELECT reach, place, until, spent, partial FROM account WHERE domain = ?1";
        let entries = all(store, entries, &name, read_entry)?.into_iter().collect();
        let mut account = Account::resume(domain.promise, domain.neighbours, domain.cap.clone(), entries)?;
        // The lives that releases before have paid for.
        let mut paid = BTreeSet::new();
        let mut new: BTreeMap<Name, u64> = BTreeMap::new();
        let mut found: Vec<Shortfall> = Vec::new();
        for (release, charge) in asked {
            if find(store, &release)?.is_some() {
                continue;
            }
            *new.entry(release.name.clone()).or_default() += 1;
            let mut time = release.window;
            if let Charge::Once { life, .. } = &charge {
                let key = (release.name.clone(), (life.start(), life.end()));
                if paid.contains(&key) || payer(store, &release, *life)?.is_some() {
                    continue;
                }
                time = *life;
                paid.insert(key);
            }
            match account.charge(time, charge.cost()) {
                Ok(()) => {}
                Err(BudgetExceeded::Uncountable(invalid)) => return Err(invalid.into()),
                Err(BudgetExceeded::Budget { spent, asked, limit }) => {
                    if let Charge::Once { life, .. } = &charge {
                        paid.remove(&(release.name.clone(), (life.start(), life.end())));
                    }
                    match found.iter_mut().find(|known| known.first.name == release.name) {
                        Some(known) => known.refused += 1,
                        None => {
                            let (spent, asked, limit) = (*spent, *asked, *limit);
                            found.push(Shortfall { first: release, spent, asked, limit, refused: 1, new: 0 });
                        }
                    }
                }
            }
        }
        for shortfall in &mut found {
            shortfall.new = new.get(&shortfall.first.name).copied().unwrap_or(0);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::{ScratchPlace, everywhere};
    use super::super::{AccountSpec, Digest, ReleaseStatus, Sealing};
    use super::*;
    use crate::accounting::{Adjacency, BudgetUnits, Interval, Omega, Promise, ReleaseCost};

    fn rho(units: u128) -> PrivacyCost {
        PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(units),
            delta: BudgetUnits::ZERO,
            omega: Omega::EVERY,
        }
    }

    fn release(name: &str, start: i64) -> ReleaseId {
        ReleaseId {
            domain: Name::new("domain", "visits").unwrap(),
            job: Name::new("job", "web").unwrap(),
            version: Digest::of(b"version 1"),
            name: Name::new("name", name).unwrap(),
            window: Interval::new(start, start + 10).unwrap(),
            part: None,
        }
    }

    fn each(units: u128) -> Charge {
        Charge::Cost(ReleaseCost::new(Adjacency::PERSON, rho(units)))
    }

    fn once(units: u128) -> Charge {
        Charge::Once {
            cost: ReleaseCost::new(Adjacency::PERSON, rho(units)),
            life: Interval::new(0, 100).unwrap(),
        }
    }

    // Refutes a look at the budget that differs from what sealing then does, in either direction, and one that writes.
    fn what_is_foretold_is_what_is_sealed(at: ScratchPlace) {
        for (promise, cap) in [(Promise::Lifetime, 100), (Promise::Any(30), 90), (Promise::Each(20), 70)] {
            let scratch = at.scratch();
            let mut ledger = Ledger::create(scratch.ledger()).unwrap();
            let domain = Name::new("domain", "visits").unwrap();
            let stated = AccountSpec::new(domain.clone(), Adjacency::PERSON, promise, rho(cap)).unwrap();
            ledger.register(&stated).unwrap();
            let claim = ledger.claim(&Name::new("job", "web").unwrap()).unwrap();
            let sealing = |release: ReleaseId, charge: Charge| Sealing {
                release,
                charge: Some(charge),
                fate: ReleaseStatus::Sealed,
                line: "{}".to_owned(),
                state: None,
            };
            let before = [sealing(release("hours", 0), each(10)), sealing(release("so_far", 0), once(5))];
            ledger.seal(&claim, &before).unwrap();
            let mut asked = Vec::new();
            for start in [0, 10, 20, 30, 40, 50] {
                asked.push((release("hours", start), each(10)));
                asked.push((release("so_far", start), once(5)));
                asked.push((release("later", start), once(11)));
                asked.push((release("quarters", start), each(9)));
            }
            let head = ledger.head().unwrap();
            let foretold = ledger.shortfalls(&domain, asked.clone()).unwrap();
            assert_eq!(ledger.head().unwrap(), head, "it wrote something");
            let batch: Vec<Sealing> =
                asked.into_iter().map(|(release, charge)| sealing(release, charge)).collect();
            let rows = ledger.seal(&claim, &batch).unwrap();
            for name in ["hours", "so_far", "later", "quarters"] {
                let refused: Vec<i64> = (rows.iter())
                    .filter(|row| row.release().name.as_str() == name && row.fate() == ReleaseStatus::Refused)
                    .map(|row| row.release().window.start())
                    .collect();
                let known = foretold.iter().find(|known| known.first.name.as_str() == name);
                assert_eq!(
                    known.map_or(0, |known| known.refused),
                    refused.len() as u64,
                    "{promise:?} {name}"
                );
                assert_eq!(known.map(|known| known.first.window.start()), refused.first().copied());
                let had_a_row = u64::from(["hours", "so_far"].contains(&name));
                assert!(known.is_none_or(|known| known.new == 6 - had_a_row && known.limit == rho(cap)));
            }
            assert!(!foretold.is_empty(), "{promise:?}");
        }
    }

    everywhere! { what_is_foretold_is_what_is_sealed }
}
