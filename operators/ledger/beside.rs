//! The charges of an account that are not of a job as it is: those of other jobs, and of former versions of its own
//! releases.

use std::collections::{BTreeMap, BTreeSet};

use super::account::AccountSpec;
use super::archive;
use super::book::Ledger;
use super::charge::unknown_account;
use super::due::Versioned;
use super::error::LedgerError;
use super::name::Name;
use super::records::{amended_account, read_row};
use super::rows::{ReleaseStatus, Row};
use super::store::{SqlValue, Transaction};
use crate::accounting::{Account, Interval, PrivacyCost, Promise};

/// The rows of an account beside those of some releases, and what these releases were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowsBeside {
    /// The account, with its cap as last amended.
    pub(crate) account: AccountSpec,
    /// The most that other releases have charged to any of the windows that were asked for; `None` where a part of
    /// their rows is in archives alone.
    pub(crate) paid: Option<MostPaid>,
    /// These other releases, each with its job and its version, in the order of the names of the jobs.
    pub(crate) payers: BTreeSet<Versioned>,
    /// The windows that the releases themselves were refused for budget.
    pub(crate) refused: Vec<RefusedWindows>,
}

/// The most that was charged to any of some windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MostPaid {
    pub(crate) paid: PrivacyCost,
    /// The first window with this charge; `None` where the currencies have theirs in different windows.
    pub(crate) window: Option<Interval>,
}

impl MostPaid {
    fn or(self, paid: PrivacyCost, window: Interval) -> Result<MostPaid, LedgerError> {
        let larger = self.paid.larger(&paid)?;
        Ok(if larger == self.paid {
            self
        } else {
            let window = (larger == paid).then_some(window);
            MostPaid { paid: larger, window }
        })
    }
}

/// The windows of one release that have a row, and were refused for budget.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedWindows {
    /// The name of the release.
    pub release: Name,
    /// The first of them.
    pub first: Interval,
    /// The number of them.
    pub windows: u64,
}

/// The rows of an account that charge something or were refused, as `rows!` has them, without their
/// lines, which may be long.
const CHARGED: &str =
    "SELECT sequence, account, job, version, name, window_start, window_end, generation, status, cost, life_start, life_end,
     prepaid, state, '' AS line, delivered, chain, part, id, partial FROM release
     WHERE account = ?1 AND (cost IS NOT NULL OR status = 'refused') ORDER BY sequence";

impl RefusedWindows {
    fn with(self, window: Interval) -> RefusedWindows {
        let first = if window.start() < self.first.start() { window } else { self.first };
        RefusedWindows { first, windows: self.windows + 1, ..self }
    }
}

impl Ledger {
    /// Returns what others than these releases have charged to an account, and the windows that these releases were
    /// refused. `windows` are those that the charges of others count against. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`](super::LedgerErrorKind::Refused) for an unknown account, and an error if the ledger
    /// cannot be read.
    pub(crate) fn rows_beside(
        &mut self,
        account: &Name,
        own: &BTreeSet<Versioned>,
        windows: impl IntoIterator<Item = Interval>,
    ) -> Result<RowsBeside, LedgerError> {
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        let account = amended_account(store, account)?.ok_or_else(|| unknown_account(account))?;
        let mut others = Account::new(account.promise, account.neighbours, account.cap.clone())?;
        let (mut payers, mut refused) = (BTreeSet::new(), BTreeMap::<Name, RefusedWindows>::new());
        let name = [SqlValue::Text(account.name.as_str())];
        let mut take = |row: Row| -> Result<(), LedgerError> {
            let release = &row.release;
            let versioned = (release.job.clone(), release.name.clone(), release.version);
            if !own.contains(&versioned) {
                if let Some(prices) = row.prices() {
                    others.add(row.charged(), &prices)?;
                    payers.insert(versioned);
                }
            } else if row.status == ReleaseStatus::Refused {
                let (release, first) = (release.name.clone(), release.window);
                let known = refused.remove(&release);
                let known = known.unwrap_or(RefusedWindows { release: release.clone(), first, windows: 0 });
                refused.insert(release, known.with(first));
            }
            Ok(())
        };
        store.read(CHARGED, &name, &mut |columns| take(read_row(columns)?))?;
        let is_for_ever = matches!(account.promise, Promise::Lifetime | Promise::Windows(_));
        let paid = match is_for_ever && archive::floor(store)?.is_some() {
            true => None,
            false => {
                let none = MostPaid { paid: others.nothing(), window: None };
                let mut windows = windows.into_iter();
                Some(windows.try_fold(none, |most, window| most.or(others.spent(window)?, window))?)
            }
        };
        Ok(RowsBeside { account, paid, payers, refused: refused.into_values().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::{ScratchPlace, everywhere};
    use super::super::{Charge, Digest, ReleaseId, Sealing};
    use super::*;
    use crate::accounting::{Adjacency, BudgetUnits, Omega, ReleaseCost};

    fn rho(units: u128) -> PrivacyCost {
        PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(units),
            delta: BudgetUnits::ZERO,
            omega: Omega::EVERY,
        }
    }

    fn name(name: &str) -> Name {
        Name::new("name", name).unwrap()
    }

    fn window(start: i64) -> Interval {
        Interval::new(start, start + 10).unwrap()
    }

    // Refutes charges of the job itself that count as those of others, those of others or of a former version that do
    // not, those of a time that no window of the job shares, and refusals of others.
    fn the_charges_of_others_are_counted_where_they_count(at: ScratchPlace) {
        // A span of 30 that cuts the first window at its price for a part, four times as much, has the second one whole.
        for (promise, expected) in [(Promise::Lifetime, 17), (Promise::Each(20), 12), (Promise::Any(30), 33)]
        {
            let scratch = at.scratch();
            let mut ledger = Ledger::create(scratch.ledger()).unwrap();
            let stated = AccountSpec::new(name("visits"), Adjacency::PERSON, promise, rho(80)).unwrap();
            ledger.register(&stated).unwrap();
            let mut seal = |job: &str, version: &[u8], start: i64, units: u128| {
                let claim = ledger.claim(&name(job)).unwrap();
                let release = ReleaseId {
                    account: name("visits"),
                    job: name(job),
                    version: Digest::of(version),
                    name: name("hours"),
                    window: window(start),
                    part: None,
                };
                let charge = Some(Charge::Cost(ReleaseCost::new(Adjacency::PERSON, rho(units))));
                let status = ReleaseStatus::Sealed;
                let sealing = Sealing { release, charge, status, line: "{}".to_owned(), state: None };
                ledger.seal(&claim, &[sealing]).unwrap();
            };
            seal("web", b"new", 0, 9);
            seal("web", b"old", 10, 5);
            seal("shop", b"new", 0, 7);
            seal("shop", b"new", 1_000, 5);
            seal("web", b"new", 20, 100);
            seal("web", b"new", 10, 100);
            seal("shop", b"new", 10, 100);
            let own = BTreeSet::from([(name("web"), name("hours"), Digest::of(b"new"))]);
            let found = ledger.rows_beside(&name("visits"), &own, [0, 10, 20].map(window)).unwrap();
            let most = MostPaid { paid: rho(expected), window: Some(window(0)) };
            assert_eq!(found.paid, Some(most), "{promise:?}");
            let payer = |job, version: &[u8]| (name(job), name("hours"), Digest::of(version));
            assert_eq!(found.payers, BTreeSet::from([payer("shop", b"new"), payer("web", b"old")]));
            let refused = RefusedWindows { release: name("hours"), first: window(10), windows: 2 };
            assert_eq!(found.refused, [refused], "{promise:?}");
        }
    }

    // Refutes a window that is called that of the most though another one has more, or though the currencies have theirs
    // in two.
    #[test]
    fn the_window_with_the_most_is_named() {
        let cost = |rho: u128, delta: u128| PrivacyCost::Zcdp {
            rho: BudgetUnits::from_bits(rho),
            delta: BudgetUnits::from_bits(delta),
            omega: Omega::EVERY,
        };
        let most = |paid: &[(u128, u128)]| {
            let none = MostPaid { paid: cost(0, 0), window: None };
            let windows = paid.iter().zip((0..).map(|number| window(10 * number)));
            let mut each = windows.map(|((rho, delta), window)| (cost(*rho, *delta), window));
            each.try_fold(none, |most, (paid, window)| most.or(paid, window)).unwrap()
        };
        assert_eq!(most(&[(0, 0), (0, 0)]), MostPaid { paid: cost(0, 0), window: None });
        assert_eq!(
            most(&[(1, 1), (3, 2), (3, 2), (2, 2)]),
            MostPaid { paid: cost(3, 2), window: Some(window(10)) }
        );
        assert_eq!(most(&[(3, 1), (1, 2)]), MostPaid { paid: cost(3, 2), window: None });
    }

    everywhere! { the_charges_of_others_are_counted_where_they_count }
}
