//! How long a budget lasts, if all goes on as it did.
//!
//! Each statistic is taken to go on at its newest price, window after window, at the step between its newest two. The
//! windows are charged in the order of their ends to a copy of the domain's own account, so that what is foretold is
//! decided by the code that will decide it. Where all charges count for ever, the windows are counted instead of
//! charged: a budget may hold millions.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::mem;

use super::account::AccountSpec;
use super::book::Ledger;
use super::charge::{fetch, last_repair, unknown_domain};
use super::error::LedgerError;
use super::name::Name;
use super::records::{amended_domain, read_entry, read_row, rows};
use super::repair;
use super::rows::{ReleaseId, Row};
use super::store::{SqlValue, Store, Transaction, all};
use crate::accounting::{Account, BudgetExceeded, Interval, Prices, PrivacyCost, Promise, ReleaseCost};
use crate::time::LIMIT;

/// How a statistic went on so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The job that releases it.
    pub job: Name,
    /// Its name.
    pub release: Name,
    /// The window that comes next.
    pub next: Interval,
    /// From the start of one window to that of the next.
    pub step: u64,
    /// What its newest window cost; `None` where its windows are prepaid.
    pub price: Option<PrivacyCost>,
    /// What it cost where a stretch of time cuts the window.
    pub partial: Option<PrivacyCost>,
}

impl Pace {
    /// Leaves out the windows that start before this.
    pub(super) fn start_from(&mut self, floor: i64) -> Result<(), LedgerError> {
        let behind = i128::from(floor) - i128::from(self.next.start());
        if behind > 0 {
            let shift = (behind + i128::from(self.step) - 1) / i128::from(self.step) * i128::from(self.step);
            let shifted = |time: i64| i64::try_from(i128::from(time) + shift).unwrap_or(i64::MAX);
            self.next = Interval::new(shifted(self.next.start()), shifted(self.next.end()))?;
        }
        Ok(())
    }
}

/// How long a domain lasts, at the pace of the releases so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    pub(super) paces: Vec<Pace>,
    pub(super) windows: u64,
    pub(super) last: Option<i64>,
    pub(super) outlook: Outlook,
}

/// What comes in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outlook {
    /// Nothing was charged so far, so there is no pace to go by.
    Unseen,
    /// Every window fits, for ever: what is spent comes back with time, or everything is paid.
    Endless,
    /// This window is the first that is refused.
    Refused {
        /// Whose it is: an index among the paces.
        pace: usize,
        /// The window.
        window: Interval,
    },
    /// Nothing is refused among so many windows; what comes after them was not looked at.
    Beyond,
}

impl Forecast {
    /// That of a budget which nothing has been charged to.
    pub(crate) fn unseen() -> Forecast {
        Forecast { paces: Vec::new(), windows: 0, last: None, outlook: Outlook::Unseen }
    }

    /// The statistics, by job and name, each with its pace.
    pub fn paces(&self) -> &[Pace] {
        &self.paces
    }

    /// How many more windows fit before the first that does not; of [`Outlook::Endless`], none are counted.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// When the last of them ends.
    pub fn last_closes(&self) -> Option<i64> {
        self.last
    }

    /// What comes in the end.
    pub fn outlook(&self) -> &Outlook {
        &self.outlook
    }
}

/// So many windows are charged at most.
pub(super) const LOOKED_AT: u64 = 200_000;

/// What becomes of a domain whose account stands like this.
pub(super) fn foretell(
    domain: &AccountSpec,
    account: Account,
    paces: Vec<Pace>,
    most: u64,
) -> Result<Forecast, LedgerError> {
    let blank = |paces, outlook| Forecast { paces, windows: 0, last: None, outlook };
    if paces.is_empty() {
        return Ok(Forecast::unseen());
    }
    if paces.iter().all(|pace| pace.price.is_none()) {
        return Ok(blank(paces, Outlook::Endless));
    }
    let (windows, last, outlook) = match domain.promise {
        Promise::Lifetime | Promise::Windows(_) => counted(domain, &account, &paces)?,
        Promise::Any(span) => {
            let entries = account.entries();
            let settled = entries.keys().map(|window| window.end).filter(|end| *end < LIMIT).max();
            charged(domain, account, &paces, settled, (span, 1), most)?
        }
        // What was charged before may lie in a block that is still to come.
        Promise::Each(span) => {
            let kept = account.entries();
            let start = |block: i64| i64::try_from(i128::from(block) * i128::from(span)).unwrap_or(i64::MAX);
            let settled = kept.keys().map(|block| start(block.start)).filter(|start| *start < LIMIT).max();
            charged(domain, account, &paces, settled, (span, span), most)?
        }
    };
    if outlook == Outlook::Endless {
        return Ok(blank(paces, outlook));
    }
    Ok(Forecast { paces, windows, last, outlook })
}

type ForecastEnd = (u64, Option<i64>, Outlook);

/// A window of a pace, as it comes.
fn window(pace: &Pace, index: u64) -> Option<Interval> {
    let shift = i128::from(pace.step) * i128::from(index);
    let shifted = |time: i64| i64::try_from(i128::from(time) + shift).ok();
    Interval::new(shifted(pace.next.start())?, shifted(pace.next.end())?).ok()
}

/// One account for all time: what fits is found by halving, for the sum up to a moment only grows with it.
fn counted(domain: &AccountSpec, account: &Account, paces: &[Pace]) -> Result<ForecastEnd, LedgerError> {
    let spent = account.spent(paces[0].next)?;
    let ended = |pace: &Pace, time: i64| {
        let passed = i128::from(time) - i128::from(pace.next.end());
        // Below 2^64 steps of at least 1.
        if passed < 0 { 0 } else { ((passed / i128::from(pace.step)) as u64).saturating_add(1) }
    };
    // What is spent once every window that ends by then is charged; `None` where it does not fit.
    let by = |time: i64| {
        let mut sum = spent.clone();
        for pace in paces {
            match (&pace.price, ended(pace, time)) {
                (None, _) | (_, 0) => {}
                (Some(price), count) => sum = sum.plus(&price.times(count).ok()?).ok()?,
            }
        }
        sum.within(&domain.cap).then_some(sum)
    };
    let first = paces.iter().map(|pace| pace.next.end()).min().unwrap_or(0).saturating_sub(1);
    let (mut fits, mut fails) = (first, i64::MAX);
    if by(fails).is_some() {
        return Ok((0, None, Outlook::Endless));
    }
    if by(first).is_none() {
        // More is spent than the cap holds: a repair has charged for what was lost.
        let soonest = paces.iter().enumerate().filter(|(_, pace)| pace.price.is_some());
        let soonest = soonest.min_by_key(|(_, pace)| pace.next.end());
        let refused = soonest.map(|(pace, next)| Outlook::Refused { pace, window: next.next });
        return Ok((0, None, refused.unwrap_or(Outlook::Endless)));
    }
    while i128::from(fails) - i128::from(fits) > 1 {
        let middle = fits.midpoint(fails);
        if by(middle).is_some() { fits = middle } else { fails = middle }
    }
    let charging = |pace: &&Pace| pace.price.is_some();
    let mut windows =
        paces.iter().filter(charging).map(|pace| ended(pace, fits)).fold(0, u64::saturating_add);
    let newest = |pace: &Pace| ended(pace, fits).checked_sub(1).and_then(|index| window(pace, index));
    let mut last = paces.iter().filter(charging).filter_map(newest).map(|window| window.end()).max();
    // Of those that end together, at the first moment that does not fit, the first ones may.
    let mut sum = by(fits).unwrap_or(spent);
    for (index, pace) in paces.iter().enumerate() {
        let (Some(price), Some(window)) = (&pace.price, window(pace, ended(pace, fits))) else { continue };
        if window.end() != fails {
            continue;
        }
        match sum.plus(price) {
            Ok(more) if more.within(&domain.cap) => {
                (sum, windows, last) = (more, windows.saturating_add(1), Some(window.end()));
            }
            _ => return Ok((windows, last, Outlook::Refused { pace: index, window })),
        }
    }
    // All of them together do not fit, so this is not reached.
    Ok((windows, last, Outlook::Beyond))
}

/// Accounts of spans: windows are charged one by one, until one is refused or everything repeats.
///
/// Once nothing that was charged before counts any more, what a window meets depends on where it stands in the common
/// cycle of all steps (and of the grid, where spans are aligned). So if one whole cycle fits, all fit.
fn charged(
    domain: &AccountSpec,
    mut account: Account,
    paces: &[Pace],
    settled: Option<i64>,
    (span, grid): (u64, u64),
    most: u64,
) -> Result<ForecastEnd, LedgerError> {
    let charging = || paces.iter().enumerate().filter(|(_, pace)| pace.price.is_some());
    let mut coming: BinaryHeap<Reverse<(i64, usize, u64)>> =
        charging().map(|(index, pace)| Reverse((pace.next.end(), index, 0))).collect();
    let cycle = charging().try_fold(u128::from(grid), |cycle, (_, pace)| common(cycle, pace.step.into()));
    let longest = charging().map(|(_, pace)| length(pace.next)).max().unwrap_or(0);
    let begun =
        charging().map(|(_, pace)| pace.next.end()).max().into_iter().chain(settled).max().unwrap_or(0);
    // A cycle too long to be looked at is no cycle.
    let repeats = cycle.and_then(|cycle| i128::try_from(cycle).ok()).and_then(|cycle| {
        let reach = 2 * i128::from(span) + 2 * longest;
        i128::from(begun).checked_add(reach)?.checked_add(cycle)
    });
    let (mut windows, mut last) = (0, None);
    while let Some(Reverse((end, index, count))) = coming.pop() {
        if repeats.is_some_and(|repeats| i128::from(end) > repeats) {
            return Ok((0, None, Outlook::Endless));
        }
        let pace = &paces[index];
        let (Some(window), Some(price)) = (window(pace, count), &pace.price) else { continue };
        let mut cost = ReleaseCost::new(domain.neighbours, price.clone());
        if let Some(partial) = &pace.partial {
            cost = cost.with_partial(partial.clone())?;
        }
        match account.charge(window, &cost) {
            Ok(()) => (windows, last) = (windows + 1, Some(end)),
            Err(BudgetExceeded::Budget { .. }) => {
                return Ok((windows, last, Outlook::Refused { pace: index, window }));
            }
            Err(BudgetExceeded::Uncountable(invalid)) => return Err(invalid.into()),
        }
        if windows == most {
            break;
        }
        // What would end after the end of time does not come.
        coming.extend(self::window(pace, count + 1).map(|next| Reverse((next.end(), index, count + 1))));
    }
    Ok((windows, last, Outlook::Beyond))
}

fn length(window: Interval) -> i128 {
    i128::from(window.end()) - i128::from(window.start())
}

/// The least common multiple.
fn common(one: u128, other: u128) -> Option<u128> {
    let (mut a, mut b) = (one, other);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (one / a).checked_mul(other)
}

// At which pace a ledger is being spent: read from its rows.

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
mod tests;

#[cfg(test)]
mod pace_tests {
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
