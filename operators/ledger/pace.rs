//! At which pace a ledger is being spent: read from its rows.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::mem;

use super::book::Ledger;
use super::charge::{fetch, last_repair, unknown_domain};
use super::domain::AccountSpec;
use super::forecast::{Forecast, LOOKED_AT, Pace, foretell};
use super::name::Name;
use super::records::{amended_domain, read_entry, read_row, rows};
use super::repair;
use super::rows::{ReleaseId, Row};
use super::store::{SqlValue, Store, Transaction, all};
use super::trouble::LedgerError;
use crate::accounting::{Account, Interval, Prices, Promise};
use crate::time::LIMIT;

/// The rows among which a statistic that goes on is found.
const NEWEST: i64 = 10_000;

impl Ledger {
    /// How many more windows a domain has room for, and when the last of them ends, if every statistic goes on at its
    /// newest price and pace. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`](super::LedgerErrorKind::Refused) for an unknown domain, and if the ledger cannot be read.
    pub fn forecast(&mut self, domain: &Name) -> Result<Forecast, LedgerError> {
        // Rows and account as one commit left them.
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        let domain = amended_domain(store, domain)?.ok_or_else(|| unknown_domain(domain))?;
        let name = [SqlValue::Text(domain.name.as_str())];
        let mut pacing = Pacing::default();
        store.read(rows!("WHERE domain = ?1 ORDER BY sequence"), &name, &mut |columns| {
            pacing.row(&read_row(columns)?);
            Ok(())
        })?;
        let mut paces = pacing.of(&domain);
        // A window that starts before the last repair is lost, and asks for nothing.
        if let Some((_, floor)) = last_repair(store)? {
            paces.iter_mut().try_for_each(|pace| pace.start_from(floor))?;
        }
        let account = match domain.promise {
            Promise::Any(_) => coming(store, &domain, &paces)?,
            _ => {
                let entries = "SELECT reach, place, until, spent, partial FROM account WHERE domain = ?1";
                let entries = all(store, entries, &name, read_entry)?.into_iter().collect();
                Account::resume(domain.promise, domain.neighbours, domain.cap.clone(), entries)?
            }
        };
        foretell(&domain, account, paces, LOOKED_AT)
    }

    /// At which pace each budget is being spent, by its newest rows: opening has read all of them once already.
    ///
    /// # Errors
    ///
    /// If the rows cannot be read.
    pub(crate) fn pacing(&mut self) -> Result<Pacing, LedgerError> {
        let newest = [SqlValue::Number(self.head()?.0 - NEWEST)];
        let mut pacing = Pacing::default();
        self.store().read(rows!("WHERE sequence > ?1 ORDER BY sequence"), &newest, &mut |columns| {
            pacing.row(&read_row(columns)?);
            Ok(())
        })?;
        Ok(pacing)
    }

    /// As [`forecast`](Ledger::forecast), a thousand windows ahead, from what is known at a row that was just written.
    pub(crate) fn outlook(&mut self, pacing: &Pacing, row: &Row) -> Result<Forecast, LedgerError> {
        let name = &row.release.domain;
        let domain = amended_domain(self.store(), name)?.ok_or_else(|| unknown_domain(name))?;
        let paces = pacing.of(&domain);
        let account = match domain.promise {
            Promise::Any(_) => coming(self.store(), &domain, &paces)?,
            // What comes after a window is decided by as much of the account as the window's own charge.
            _ => fetch(self.store(), &domain, row.release.window)?,
        };
        foretell(&domain, account, paces, 1_000)
    }
}

/// As much of an account as the windows to come can share a stretch with.
fn coming(store: &mut dyn Store, domain: &AccountSpec, paces: &[Pace]) -> Result<Account, LedgerError> {
    let first = paces.iter().map(|pace| pace.next.start()).min().unwrap_or(LIMIT);
    fetch(store, domain, Interval::since(first)?)
}

/// The newest rows of each statistic, by budget, job and name.
#[derive(Debug, Default)]
pub(crate) struct Pacing(BTreeMap<(Name, Name, Name), Seen>);

impl Pacing {
    /// One more row; rows come in the order in which they were written.
    pub(crate) fn row(&mut self, row: &Row) {
        let ReleaseId { domain, job, name, window, .. } = &row.release;
        // What a repair charged is no statistic.
        if job.as_str() != repair::JOB {
            let seen = self.0.entry((domain.clone(), job.clone(), name.clone())).or_default();
            seen.row(*window, row.prices(), row.prepaid.is_some());
        }
    }

    fn of(&self, domain: &AccountSpec) -> Vec<Pace> {
        let own = self.0.iter().filter(|((name, _, _), _)| *name == domain.name);
        own.filter_map(|((_, job, name), seen)| {
            seen.clone().pace((job.clone(), name.clone()), domain.promise)
        })
        .collect()
    }
}

/// The newest of a statistic's rows.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The newest window, whatever became of it.
    newest: Option<Interval>,
    /// The start of the one before it.
    before: Option<i64>,
    /// The newest window that was paid for, and how: by a charge of its own, or by an earlier one's.
    paid: Option<(Interval, Option<Prices>)>,
}

impl Seen {
    /// One more row; rows come in the order in which they were written.
    fn row(&mut self, window: Interval, prices: Option<Prices>, prepaid: bool) {
        // What lasts for ever has no next one.
        if window.end() > LIMIT {
            return;
        }
        let newest = self.newest.get_or_insert(window);
        match window.start().cmp(&newest.start()) {
            Ordering::Greater => self.before = Some(mem::replace(newest, window).start()),
            Ordering::Equal if window.end() > newest.end() => *newest = window,
            Ordering::Equal => {}
            Ordering::Less => self.before = self.before.max(Some(window.start())),
        }
        let newer = self.paid.as_ref().is_none_or(|(paid, _)| paid.start() <= window.start());
        if (prices.is_some() || prepaid) && newer {
            self.paid = Some((window, prices));
        }
    }

    /// `None` where nothing was paid yet.
    fn pace(self, (job, release): (Name, Name), promise: Promise) -> Option<Pace> {
        let (newest, (_, prices)) = (self.newest?, self.paid?);
        // A window without one before it is taken to be followed at once. Above zero either way.
        let step = match self.before {
            Some(before) => newest.start().abs_diff(before),
            None => newest.end().abs_diff(newest.start()),
        };
        let shifted = |time: i64| time.checked_add_unsigned(step);
        let next = Interval::new(shifted(newest.start())?, shifted(newest.end())?).ok()?;
        // A statistic that counts so many windows of a person has paid for all of them with its first.
        let prices = if let Promise::Windows(_) = promise { None } else { prices };
        let (price, partial) = prices.map(|prices| (prices.whole, prices.partial)).unzip();
        Some(Pace { job, release, next, step, price, partial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{BudgetUnits, PrivacyCost};

    fn amount(units: u128) -> PrivacyCost {
        PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(units) }
    }

    /// Start, end, units charged, prepaid.
    fn pace(
        rows: &[(i64, i64, u128, bool)],
        promise: Promise,
    ) -> Option<(i64, i64, u64, Option<PrivacyCost>)> {
        let mut seen = Seen::default();
        for (start, end, units, prepaid) in rows {
            let cost = (*units > 0).then(|| Prices::same(amount(*units)));
            seen.row(Interval::new(*start, *end).unwrap(), cost, *prepaid);
        }
        let name = |name| Name::new("name", name).unwrap();
        let pace = seen.pace((name("job"), name("release")), promise)?;
        Some((pace.next.start(), pace.next.end(), pace.step, pace.price))
    }

    #[test]
    fn the_pace_is_that_of_the_newest_two_windows() {
        let lifetime = |rows: &[_]| pace(rows, Promise::Lifetime);
        // One window is followed at once.
        assert_eq!(lifetime(&[(0, 10, 3, false)]), Some((10, 20, 10, Some(amount(3)))));
        let rows = [(0, 10, 3, false), (20, 30, 4, false), (25, 35, 5, false)];
        assert_eq!(lifetime(&rows), Some((30, 40, 5, Some(amount(5)))));
        // In whichever order they were written.
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(lifetime(&order.map(|at: usize| rows[at])), lifetime(&rows), "{order:?}");
        }
        // A window that was refused or skipped counts for the pace, and the one that was paid for the price.
        assert_eq!(lifetime(&[(0, 10, 3, false), (10, 20, 0, false)]), Some((20, 30, 10, Some(amount(3)))));
        // Of two versions of one window the later price.
        let rows = [(0, 10, 3, false), (0, 10, 4, false)];
        assert_eq!(lifetime(&rows), Some((10, 20, 10, Some(amount(4)))));
        // What was never paid has no price, and what lasts for ever has no next.
        assert_eq!(lifetime(&[(0, 10, 0, false)]), None);
        assert_eq!(lifetime(&[(0, i64::MAX, 3, false)]), None);
    }

    #[test]
    fn what_is_prepaid_costs_nothing_more() {
        let rows = [(0, 10, 3, false), (10, 20, 0, true)];
        assert_eq!(pace(&rows, Promise::Lifetime), Some((20, 30, 10, None)));
        assert_eq!(pace(&rows[..1], Promise::Windows(4)), Some((10, 20, 10, None)));
    }
}
