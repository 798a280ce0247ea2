//! Forecasts of the time for which a budget lasts, if every statistic continues as it did.
//!
//! Each statistic is assumed to continue at its newest cost, window after window, at the step between its
//! newest two. The windows are charged in the order of their ends to a copy of the account, so that the
//! forecast is computed by the code that will make the charges. Where all charges count for ever, the windows
//! are counted instead of charged: a budget may hold millions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::account::AccountSpec;
use super::agreement::{WholeVersions, whole_versions};
use super::book::Ledger;
use super::charge::{fetch, last_repair, unknown_account};
use super::error::LedgerError;
use super::name::Name;
use super::records::{amended_account, read_entry, read_row, rows};
use super::rows::Row;
use super::store::{SqlValue, Store, Transaction, all};
use crate::accounting::{Account, BudgetExceeded, Interval, PrivacyCost, Promise, ReleaseCost};
use crate::time::{LIMIT, Time};

pub(crate) use pace::Pacing;

mod pace;

/// The pace of a statistic so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The job that publishes the statistic.
    pub job: Name,
    /// The name of the statistic.
    pub release: Name,
    /// The window that comes next.
    pub next: Interval,
    /// The time from the start of one window to the start of the next, in microseconds.
    pub step: u64,
    /// The cost of its newest window that was paid for; `None` if its windows are prepaid.
    pub price: Option<PrivacyCost>,
    /// The cost of that window where a boundary in time cuts it.
    pub partial: Option<PrivacyCost>,
    /// The end of the last window, if the job of the statistic has one and is known.
    pub until: Option<i64>,
}

impl Pace {
    /// The number of windows that are to come. Windows of a calendar are not equally long, so one that ends up to half a step
    /// after the last end is taken to be the last one.
    pub(super) fn windows(&self) -> u64 {
        let Some(until) = self.until else { return u64::MAX };
        let left = 2 * (i128::from(until) - i128::from(self.next.end())) + i128::from(self.step);
        // Below 2^65 halves of steps of at least 1.
        if left <= 0 {
            0
        } else {
            u64::try_from((left - 1) / (2 * i128::from(self.step)) + 1).unwrap_or(u64::MAX)
        }
    }

    /// Skips the windows that start before `floor`.
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

/// A statistic that a forecast leaves out, since its job goes on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedRelease {
    /// The job that published the statistic.
    pub job: Name,
    /// The name of the statistic.
    pub release: Name,
    /// The end of its newest window.
    pub last: i64,
    /// True if that was the last window that its job has.
    pub is_over: bool,
}

/// A forecast for one account, at the pace of the releases so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    pub(super) paces: Vec<Pace>,
    pub(super) ended: Vec<EndedRelease>,
    pub(super) windows: u64,
    pub(super) last: Option<i64>,
    pub(super) outlook: Outlook,
}

/// The end of a forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outlook {
    /// Nothing was charged so far, so there is no pace to extrapolate.
    Unseen,
    /// Every window fits, for ever: spent budget becomes available again with time, or all windows are paid
    /// for.
    Endless,
    /// Every window fits that is to come: all [of them](Forecast::windows) have been examined, to the last one of each
    /// statistic.
    Holds,
    /// One window is the first to be refused.
    Refused {
        /// The statistic of the window, as an index into the paces.
        pace: usize,
        /// The window.
        window: Interval,
    },
    /// No window is refused among the [number](Forecast::windows) examined; later ones were not examined.
    Beyond,
}

impl Forecast {
    /// The forecast for a budget without a charge.
    pub(crate) fn unseen() -> Forecast {
        Forecast { paces: Vec::new(), ended: Vec::new(), windows: 0, last: None, outlook: Outlook::Unseen }
    }

    /// The forecast of windows that fit for ever.
    #[cfg(test)]
    pub(crate) fn endless() -> Forecast {
        Forecast { outlook: Outlook::Endless, ..Forecast::unseen() }
    }

    /// The forecast that leaves these out. Where the last window of each was released, none is to come.
    fn leaving_out(self, ended: Vec<EndedRelease>) -> Forecast {
        let is_over = self.paces.is_empty() && ended.iter().any(|ended| ended.is_over);
        let outlook = if is_over { Outlook::Holds } else { self.outlook };
        Forecast { ended, outlook, ..self }
    }

    /// The statistics, by job and name, each with its pace.
    pub fn paces(&self) -> &[Pace] {
        &self.paces
    }

    /// The statistics that are left out, by job and name: they have ended.
    pub fn ended(&self) -> &[EndedRelease] {
        &self.ended
    }

    /// The number of further charged windows that fit before the first that does not, or in all; 0 for
    /// [`Outlook::Endless`], where none are counted.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The end of the last window that fits.
    pub fn last_closes(&self) -> Option<i64> {
        self.last
    }

    /// The start of the first window that will be refused, in microseconds since 1970; `None` if none of the windows examined
    /// will be.
    pub fn refuses_from(&self) -> Option<i64> {
        match &self.outlook {
            Outlook::Refused { window, .. } => Some(window.start()),
            _ => None,
        }
    }

    /// The end of a forecast.
    pub fn outlook(&self) -> &Outlook {
        &self.outlook
    }
}

/// The number of windows that a forecast charges at most.
pub(super) const LOOKED_AT: u64 = 200_000;

/// Forecasts an account from its present entries and the paces of its statistics.
pub(super) fn forecast(
    account: &AccountSpec,
    balance: Account,
    paces: Vec<Pace>,
    most: u64,
) -> Result<Forecast, LedgerError> {
    let blank = |paces, outlook| Forecast { paces, outlook, ..Forecast::unseen() };
    if paces.is_empty() {
        return Ok(Forecast::unseen());
    }
    if paces.iter().all(|pace| pace.price.is_none()) {
        return Ok(blank(paces, Outlook::Endless));
    }
    let (windows, last, outlook) = match account.promise {
        Promise::Lifetime | Promise::Windows(_) => counted(account, &balance, &paces)?,
        Promise::Any(span) => {
            let entries = balance.entries();
            let settled = entries.keys().map(|window| window.end).filter(|end| *end < LIMIT).max();
            charged(account, balance, &paces, settled, (span, 1), most)?
        }
        // An earlier charge may lie in a block that is still to come.
        Promise::Each(span) => {
            let kept = balance.entries();
            let start = |block: i64| i64::try_from(i128::from(block) * i128::from(span)).unwrap_or(i64::MAX);
            let settled = kept.keys().map(|block| start(block.start)).filter(|start| *start < LIMIT).max();
            charged(account, balance, &paces, settled, (span, span), most)?
        }
    };
    if outlook == Outlook::Endless {
        return Ok(blank(paces, outlook));
    }
    Ok(Forecast { paces, windows, last, outlook, ..Forecast::unseen() })
}

type ForecastEnd = (u64, Option<i64>, Outlook);

/// The window of a pace at an index, 0 for the next one; `None` beyond its last one, and the end of time.
fn window(pace: &Pace, index: u64) -> Option<Interval> {
    if index >= pace.windows() {
        return None;
    }
    let shift = i128::from(pace.step) * i128::from(index);
    let shifted = |time: i64| i64::try_from(i128::from(time) + shift).ok();
    Interval::new(shifted(pace.next.start())?, shifted(pace.next.end())?).ok()
}

/// Forecasts an account for all time, by bisection over the moments up to which windows fit: the sum only
/// grows with time.
fn counted(account: &AccountSpec, balance: &Account, paces: &[Pace]) -> Result<ForecastEnd, LedgerError> {
    let spent = balance.spent(paces[0].next)?;
    let ended = |pace: &Pace, time: i64| {
        let passed = i128::from(time) - i128::from(pace.next.end());
        // Below 2^64 steps of at least 1.
        let ended = if passed < 0 { 0 } else { ((passed / i128::from(pace.step)) as u64).saturating_add(1) };
        ended.min(pace.windows())
    };
    // The amount spent once every window that ends by `time` is charged; `None` if it does not fit.
    let by = |time: i64| {
        let mut sum = spent.clone();
        for pace in paces {
            match (&pace.price, ended(pace, time)) {
                (None, _) | (_, 0) => {}
                (Some(price), count) => sum = sum.plus(&price.times(count).ok()?).ok()?,
            }
        }
        sum.within(&account.cap).then_some(sum)
    };
    let first = paces.iter().map(|pace| pace.next.end()).min().unwrap_or(0).saturating_sub(1);
    let (mut fits, mut fails) = (first, i64::MAX);
    if by(fails).is_some() {
        return Ok(match paces.iter().any(|pace| pace.price.is_some() && pace.until.is_some()) {
            true => held(paces),
            false => (0, None, Outlook::Endless),
        });
    }
    if by(first).is_none() {
        // More is spent than the cap allows: a repair has charged for lost rows.
        let soonest = paces.iter().enumerate().filter(|(_, pace)| pace.price.is_some() && pace.windows() > 0);
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
    // Of the windows that end together at the first moment that does not fit, the first ones may fit.
    let mut sum = by(fits).unwrap_or(spent);
    for (index, pace) in paces.iter().enumerate() {
        let (Some(price), Some(window)) = (&pace.price, window(pace, ended(pace, fits))) else { continue };
        if window.end() != fails {
            continue;
        }
        match sum.plus(price) {
            Ok(more) if more.within(&account.cap) => {
                (sum, windows, last) = (more, windows.saturating_add(1), Some(window.end()));
            }
            _ => return Ok((windows, last, Outlook::Refused { pace: index, window })),
        }
    }
    // All of them together do not fit, so this is not reached.
    Ok((windows, last, Outlook::Beyond))
}

/// Forecasts an account with a promise about spans: windows are charged one by one, until one is refused or
/// all repeats.
///
/// Once no earlier charge counts any more, the balance that a window meets depends only on its position in
/// the common cycle of all steps (and of the grid, where spans are aligned). So if one whole cycle fits, all
/// fit.
fn charged(
    account: &AccountSpec,
    mut balance: Account,
    paces: &[Pace],
    settled: Option<i64>,
    (span, grid): (u64, u64),
    most: u64,
) -> Result<ForecastEnd, LedgerError> {
    let charging = || paces.iter().enumerate().filter(|(_, pace)| pace.price.is_some());
    let mut coming: BinaryHeap<Reverse<(i64, usize, u64)>> =
        charging().filter_map(|(index, pace)| Some(Reverse((window(pace, 0)?.end(), index, 0)))).collect();
    let cycle = charging().try_fold(u128::from(grid), |cycle, (_, pace)| common(cycle, pace.step.into()));
    let longest = charging().map(|(_, pace)| length(pace.next)).max().unwrap_or(0);
    let begun =
        charging().map(|(_, pace)| pace.next.end()).max().into_iter().chain(settled).max().unwrap_or(0);
    // A cycle too long to be examined counts as none.
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
        let mut cost = ReleaseCost::new(account.neighbours, price.clone());
        if let Some(partial) = &pace.partial {
            cost = cost.with_partial(partial.clone())?;
        }
        match balance.charge(window, &cost) {
            Ok(()) => (windows, last) = (windows + 1, Some(end)),
            Err(BudgetExceeded::Budget { .. }) => {
                return Ok((windows, last, Outlook::Refused { pace: index, window }));
            }
            Err(BudgetExceeded::Uncountable(invalid)) => return Err(invalid.into()),
        }
        if windows == most {
            break;
        }
        // A window that would end after the end of time does not occur.
        coming.extend(self::window(pace, count + 1).map(|next| Reverse((next.end(), index, count + 1))));
    }
    if coming.is_empty() && charging().all(|(_, pace)| pace.until.is_some()) {
        return Ok((windows, last, Outlook::Holds));
    }
    Ok((windows, last, Outlook::Beyond))
}

/// The end of a forecast in which all windows to come fit.
fn held(paces: &[Pace]) -> ForecastEnd {
    let charging = || paces.iter().filter(|pace| pace.price.is_some());
    let last = |pace: &Pace| window(pace, pace.windows().checked_sub(1)?).map(|window| window.end());
    (
        charging().map(Pace::windows).fold(0, u64::saturating_add),
        charging().filter_map(last).max(),
        Outlook::Holds,
    )
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

// The pace at which each statistic spends its budget, computed from the rows of a ledger.

/// A row, the amount that counts against its account and the cap, and the forecast.
pub(crate) type RowStatus = (Row, (PrivacyCost, PrivacyCost), Forecast);

/// The number of newest rows from which [`Ledger::pacing`] computes the pace of each statistic.
const NEWEST: i64 = 10_000;

impl Ledger {
    /// Forecasts the number of further windows that the budget of an account holds, and the end of the last
    /// one, if every statistic continues at its newest cost and pace. Changes nothing.
    ///
    /// A statistic without a row for three of its windows, while others of its job had some, has
    /// [ended](Forecast::ended).
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`](super::LedgerErrorKind::Refused) for an unknown account, and an error if
    /// the ledger cannot be read.
    pub fn forecast(&mut self, account: &Name) -> Result<Forecast, LedgerError> {
        self.forecast_by(account, Pacing::default())
    }

    /// Forecasts as [`forecast`](Ledger::forecast) does, where these are all releases of a job, each with the end of its last
    /// window if it has one: its others have ended, and no window after the last is forecast.
    ///
    /// # Errors
    ///
    /// As [`forecast`](Ledger::forecast).
    pub fn forecast_of(
        &mut self,
        account: &Name,
        job: &Name,
        releases: &BTreeMap<Name, Option<Time>>,
    ) -> Result<Forecast, LedgerError> {
        let mut pacing = Pacing::default();
        pacing.know(job.clone(), releases.clone());
        self.forecast_by(account, pacing)
    }

    fn forecast_by(&mut self, account: &Name, mut pacing: Pacing) -> Result<Forecast, LedgerError> {
        // Rows and account of one committed state.
        let mut snapshot = Transaction::snapshot(self.store())?;
        let store = snapshot.store();
        let account = amended_account(store, account)?.ok_or_else(|| unknown_account(account))?;
        let name = [SqlValue::Text(account.name.as_str())];
        pacing.know_whole(whole_versions(store)?);
        store.read(rows!("WHERE account = ?1 ORDER BY sequence"), &name, &mut |columns| {
            pacing.row(&read_row(columns)?);
            Ok(())
        })?;
        let (mut paces, ended) = pacing.of(&account)?;
        // A window that starts before the last repair is lost, and costs nothing.
        if let Some((_, floor)) = last_repair(store)? {
            paces.iter_mut().try_for_each(|pace| pace.start_from(floor))?;
        }
        let balance = match account.promise {
            Promise::Any(_) => coming(store, &account, &paces)?,
            _ => {
                let entries = "SELECT reach, place, until, spent, partial FROM balance WHERE account = ?1";
                let entries = all(store, entries, &name, read_entry)?.into_iter().collect();
                Account::resume(account.promise, account.neighbours, account.cap.clone(), entries)?
            }
        };
        Ok(forecast(&account, balance, paces, LOOKED_AT)?.leaving_out(ended))
    }

    /// The pace of each statistic, by the newest rows alone, for opening the ledger has read all of them once
    /// already.
    ///
    /// # Errors
    ///
    /// If the rows cannot be read.
    pub(crate) fn pacing(&mut self) -> Result<Pacing, LedgerError> {
        let (newest, mut pacing) = (self.head()?.0 - NEWEST, Pacing::default());
        pacing.know_whole(self.whole_versions()?);
        self.rows_after(newest, |row| pacing.row(&row))?;
        Ok(pacing)
    }

    /// Returns the versions of releases with one window of everything.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub(crate) fn whole_versions(&mut self) -> Result<WholeVersions, LedgerError> {
        whole_versions(self.store())
    }

    /// For each account with rows among the newest ones: the newest of them, the amount that counts against it
    /// and the cap, and the forecast.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub(crate) fn budget_statuses(
        &mut self,
        pacing: &Pacing,
        accounts: &[AccountSpec],
    ) -> Result<Vec<RowStatus>, LedgerError> {
        let since = self.head()?.0 - NEWEST;
        let mut statuses = Vec::new();
        for AccountSpec { name, .. } in accounts {
            let values = [SqlValue::Number(since), SqlValue::Text(name.as_str())];
            let mut newest = None;
            let newest_of = rows!("WHERE sequence > ?1 AND account = ?2 ORDER BY sequence DESC LIMIT 1");
            self.store().read(newest_of, &values, &mut |columns| {
                newest = Some(read_row(columns)?);
                Ok(())
            })?;
            let Some(row) = newest else { continue };
            let spent = self.spent(name, row.charged())?;
            let forecast = self.outlook(pacing, name, row.release.window)?;
            statuses.push((row, spent, forecast));
        }
        Ok(statuses)
    }

    /// Forecasts up to a thousand windows of an account as [`forecast`](Ledger::forecast) does, from these paces, where this
    /// window is its newest one.
    pub(crate) fn outlook(
        &mut self,
        pacing: &Pacing,
        name: &Name,
        newest: Interval,
    ) -> Result<Forecast, LedgerError> {
        let account = amended_account(self.store(), name)?.ok_or_else(|| unknown_account(name))?;
        let (paces, ended) = pacing.of(&account)?;
        let balance = match account.promise {
            Promise::Any(_) => coming(self.store(), &account, &paces)?,
            // The windows that follow depend on the same part of the account as the window's own charge.
            _ => fetch(self.store(), &account, newest)?,
        };
        Ok(forecast(&account, balance, paces, 1_000)?.leaving_out(ended))
    }
}

/// The part of an account that shares a stretch of time with windows to come.
fn coming(store: &mut dyn Store, account: &AccountSpec, paces: &[Pace]) -> Result<Account, LedgerError> {
    let first = paces.iter().map(|pace| pace.next.start()).min().unwrap_or(LIMIT);
    fetch(store, account, Interval::since(first)?)
}

#[cfg(test)]
mod tests;
