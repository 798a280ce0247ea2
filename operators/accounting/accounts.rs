//! Accounts over time: the promises that a ledger can make, and the charges that must fit under the cap for
//! each.
//!
//! A release reads the data of one window `[start, end)`. What it costs counts against that time, never
//! against the time at which it was released. What is paid once and lasts (a running total, a bundle of
//! answers) has its whole life as its window, [`Interval::since`] where it has no horizon. Nothing that was
//! charged is ever given back.
//!
//! A promise about spans of time is about what a person does within one. Where a window reaches beyond the
//! span, only a part of what the person has in the window is protected, and without that part the bound may
//! keep other records, keys and values: such a window is cut, and costs its [partial
//! price](ReleaseCost::partial).

mod entries;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::{Bound, RangeInclusive};

pub(crate) use entries::EntryKey;
pub(crate) use entries::Prices;
use entries::{Stretches, nearby};

use super::amount::PrivacyCost;
use super::cost::ReleaseCost;
use super::cost::{Adjacency, Relation};
use super::filter::{BudgetExceeded, PrivacyFilter};
use super::interval::Interval;
use crate::invalid::{Invalid, InvalidKind};

/// The promise of an account, which holds as long as the account refuses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    /// All that a person ever does.
    Lifetime,
    /// All that a person ever does, of which a release uses the first windows, up to this number: see
    /// [`reservation`].
    Windows(u32),
    /// Everything that a person does within any span of this length, wherever it starts.
    Any(u64),
    /// Everything that a person does within one aligned span of this length.
    Each(u64),
}

impl Promise {
    /// Returns true if the promise is about spans of time and a span can hold a part of this window.
    pub fn cuts(&self, window: Interval) -> bool {
        match self {
            Promise::Lifetime | Promise::Windows(_) => false,
            Promise::Any(_) => window.end() - 1 > window.start(),
            Promise::Each(span) => {
                let (first, last) = window.blocks(*span);
                first != last
            }
        }
    }

    /// The promise in one sentence, to be printed beside every output. `span` says a length of time in words.
    pub fn sentence<S: Display>(&self, neighbours: Adjacency, span: impl Fn(u64) -> S) -> String {
        let when = match self {
            Promise::Lifetime => "over all time; when the budget is spent, releases stop".to_owned(),
            Promise::Windows(most) => {
                format!("over all time; each release uses at most {most} of the windows that one is in")
            }
            Promise::Any(length) => {
                let span = span(*length);
                format!(
                    "within any span of {span}, wherever it starts; what lasts longer is hidden less, span by span"
                )
            }
            Promise::Each(length) => {
                let span = span(*length);
                format!("within each aligned span of {span}; what lasts longer is hidden less, span by span")
            }
        };
        format!("Hides {neighbours} {when}.")
    }

    /// The promise and what a release costs under it in a few words, as they stand in every line of output:
    /// `lifetime, a person, rho 0.01`. Where a span of time can cut a window, with the price of that: `any 30
    /// days, a person, rho 0.01, or rho 0.02 where a span cuts a window`. `span` says a length of time in
    /// words.
    pub fn briefly<S: Display>(&self, cost: &ReleaseCost, span: impl Fn(u64) -> S) -> String {
        let Adjacency { unit, relation } = cost.neighbours();
        let amount = cost.amount();
        let replaced = if relation == Relation::Replace { " replaced" } else { "" };
        let when = match self {
            Promise::Lifetime => "lifetime".to_owned(),
            Promise::Windows(most) => format!("lifetime in {most} windows"),
            Promise::Any(length) => format!("any {}", span(*length)),
            Promise::Each(length) => format!("each {}", span(*length)),
        };
        let cut = match (self, cost.partial()) {
            (Promise::Any(_) | Promise::Each(_), Ok(partial)) if partial != *amount => {
                format!(", or {partial} where a span cuts a window")
            }
            _ => String::new(),
        };
        format!("{when}, a {unit}{replaced}, {amount}{cut}")
    }
}

/// One account: a promise, a cap and every charge so far.
#[derive(Clone, Debug)]
pub struct Account {
    promise: Promise,
    cap: PrivacyFilter,
    kept: AccountEntries,
}

#[derive(Clone, Debug)]
enum AccountEntries {
    /// All charges together.
    Total(PrivacyCost),
    /// Each window that was charged, with its prices.
    Windows(Stretches),
    /// From each block on, until the next one that is named: all charges of windows that overlap it.
    Blocks(BTreeMap<i64, PrivacyCost>),
}

impl Account {
    /// Nothing charged.
    ///
    /// # Errors
    /// Names `span` or `windows` when it is zero.
    pub fn new(promise: Promise, neighbours: Adjacency, cap: PrivacyCost) -> Result<Account, Invalid> {
        let (field, zero) = match promise {
            Promise::Any(span) | Promise::Each(span) => ("span", span == 0),
            Promise::Windows(most) => ("windows", most == 0),
            Promise::Lifetime => ("", false),
        };
        if zero {
            return Err(Invalid::new(field, InvalidKind::Zero, "a whole number above 0"));
        }
        let cap = PrivacyFilter::new(neighbours, cap);
        let kept = match promise {
            Promise::Lifetime | Promise::Windows(_) => AccountEntries::Total(cap.spent().clone()),
            Promise::Any(_) => AccountEntries::Windows(Stretches::default()),
            Promise::Each(_) => AccountEntries::Blocks(BTreeMap::new()),
        };
        Ok(Account { promise, cap, kept })
    }

    /// The account that a ledger kept: `entries` are those that [`fetched`](Account::fetched) names, or all
    /// of them.
    ///
    /// # Errors
    /// As [`Account::new`].
    pub(crate) fn resume(
        promise: Promise,
        neighbours: Adjacency,
        cap: PrivacyCost,
        entries: BTreeMap<EntryKey, Prices>,
    ) -> Result<Account, Invalid> {
        Ok(Account::new(promise, neighbours, cap)?.holding(entries))
    }

    /// Returns the entries that a ledger has to keep.
    pub(crate) fn entries(&self) -> BTreeMap<EntryKey, Prices> {
        let sum =
            |(place, amount): (i64, &PrivacyCost)| (EntryKey::of_sum(place), Prices::same(amount.clone()));
        match &self.kept {
            AccountEntries::Total(total) => BTreeMap::from([sum((0, total))]),
            AccountEntries::Windows(windows) => windows.0.clone(),
            AccountEntries::Blocks(blocks) => {
                blocks.iter().map(|(block, amount)| sum((*block, amount))).collect()
            }
        }
    }

    /// Returns the entries that a charge for `window` may read or change, so that a ledger need not fetch
    /// all.
    pub(crate) fn fetched(&self, window: Interval) -> Fetched {
        match self.promise {
            Promise::Lifetime | Promise::Windows(_) => Fetched::Sums([0, 0], 0..=0),
            Promise::Any(span) => Fetched::Windows(nearby(span, window)),
            Promise::Each(span) => {
                let (first, last) = window.blocks(span);
                Fetched::Sums([first, last + 1], first..=last + 1)
            }
        }
    }

    /// Nothing, in the account's currency.
    pub(crate) fn nothing(&self) -> PrivacyCost {
        self.cap.spent().clone()
    }

    /// Returns the promise.
    pub fn promise(&self) -> Promise {
        self.promise
    }

    /// Charges a release that reads `window`, if it fits.
    ///
    /// Under [`Promise::Lifetime`] it is added to everything. Under [`Promise::Any`] it fits when for every
    /// stretch of the span's length that overlaps the window, what all windows cost that overlap the stretch
    /// is within the cap: a window inside of the stretch its whole price, one that the stretch cuts its
    /// [partial one](ReleaseCost::partial). Windows may be charged in any order. Under [`Promise::Each`] it
    /// is added in every aligned span that the window overlaps, at the partial price where there are several.
    /// Under [`Promise::Windows`] charge [`reservation`], once.
    ///
    /// # Errors
    /// [`BudgetExceeded`], with nothing changed.
    pub fn charge(&mut self, window: Interval, cost: &ReleaseCost) -> Result<(), BudgetExceeded> {
        let asked = self.asked(window, cost).map_err(BudgetExceeded::Uncountable)?;
        let limit = self.cap.limit();
        if let (AccountEntries::Windows(windows), Promise::Any(span)) = (&self.kept, self.promise) {
            let refusal =
                windows.refusal(span, window, &asked, limit).map_err(BudgetExceeded::Uncountable)?;
            if let Some((spent, asked)) = refusal {
                let (spent, asked, limit) = (Box::new(spent), Box::new(asked), Box::new(limit.clone()));
                return Err(BudgetExceeded::Budget { spent, asked, limit });
            }
        } else {
            let spent = self.spent(window).map_err(BudgetExceeded::Uncountable)?;
            let asked = ReleaseCost::new(cost.neighbours(), self.price(window, &asked).clone());
            self.cap.having_spent(spent).after(&asked)?;
        }
        self.add(window, &asked).map_err(BudgetExceeded::Uncountable)
    }

    /// Both prices of a cost in the currency of the cap.
    pub(crate) fn asked(&self, window: Interval, cost: &ReleaseCost) -> Result<Prices, Invalid> {
        let whole = self.cap.asked(cost)?;
        if !self.promise.cuts(window) {
            return Ok(Prices::same(whole));
        }
        let partial = self.cap.asked(&ReleaseCost::new(cost.neighbours(), cost.partial()?))?;
        Ok(Prices { partial: partial.larger(&whole)?, whole })
    }

    /// Returns the one of two prices that counts where all charges of a place are one sum.
    fn price<'a>(&self, window: Interval, prices: &'a Prices) -> &'a PrivacyCost {
        match self.promise {
            Promise::Each(_) if self.promise.cuts(window) => &prices.partial,
            _ => &prices.whole,
        }
    }

    /// Returns the amount that already counts against a release that reads `window`; under [`Promise::Any`]
    /// and [`Promise::Each`] the most in any span that the window overlaps.
    ///
    /// # Errors
    /// [`InvalidKind::Overflow`] where charges of 2^64 and more have come together.
    pub fn spent(&self, window: Interval) -> Result<PrivacyCost, Invalid> {
        let nothing = self.cap.spent();
        match (&self.kept, self.promise) {
            (AccountEntries::Total(total), _) => Ok(total.clone()),
            (AccountEntries::Windows(windows), Promise::Any(span)) => windows.most(span, window, nothing),
            (AccountEntries::Blocks(blocks), Promise::Each(span)) => {
                let (first, last) = window.blocks(span);
                let entering = last_until(blocks, first).unwrap_or(nothing).clone();
                blocks.range(first..=last).try_fold(entering, |most, (_, spent)| most.larger(spent))
            }
            // The two were chosen together.
            (AccountEntries::Windows(_) | AccountEntries::Blocks(_), _) => Ok(nothing.clone()),
        }
    }

    /// Adds a charge, fitting or not. What changes is worked out first: an overflow changes nothing.
    pub(crate) fn add(&mut self, window: Interval, prices: &Prices) -> Result<(), Invalid> {
        let nothing = self.cap.spent();
        let at = |map: &BTreeMap<i64, PrivacyCost>, key| last_until(map, key).unwrap_or(nothing).clone();
        let asked = self.price(window, prices).clone();
        match (&mut self.kept, self.promise) {
            (AccountEntries::Total(total), _) => *total = total.plus(&asked)?,
            (AccountEntries::Windows(windows), _) => windows.add(window, prices)?,
            (AccountEntries::Blocks(blocks), Promise::Each(span)) => {
                let (first, last) = window.blocks(span);
                // The last block is below the end of time, so there is one after it.
                let edges = [(first, at(blocks, first).plus(&asked)?), (last + 1, at(blocks, last + 1))];
                let inner = blocks.range((Bound::Excluded(first), Bound::Included(last)));
                let inner: Vec<_> = inner
                    .map(|(block, sum)| Ok((*block, sum.plus(&asked)?)))
                    .collect::<Result<_, Invalid>>()?;
                blocks.extend(inner);
                blocks.extend(edges);
            }
            (AccountEntries::Blocks(_), _) => {}
        }
        Ok(())
    }

    /// An account of the same promise that holds these entries.
    pub(crate) fn holding(&self, entries: BTreeMap<EntryKey, Prices>) -> Account {
        let mut sums = entries.iter().map(|(place, prices)| (place.start, prices.whole.clone()));
        let kept = match self.kept {
            AccountEntries::Total(_) => {
                AccountEntries::Total(sums.next_back().map_or_else(|| self.nothing(), |(_, total)| total))
            }
            AccountEntries::Blocks(_) => AccountEntries::Blocks(sums.collect()),
            AccountEntries::Windows(_) => AccountEntries::Windows(Stretches(entries)),
        };
        Account { kept, ..self.clone() }
    }

    /// Returns the amounts to be added to this account, and the times to add them at, so that it counts no
    /// window for less than `held` does.
    ///
    /// # Errors
    ///
    /// If the two are of different currencies or promises.
    pub(crate) fn shortfall(&self, held: &Account) -> Result<Vec<(Interval, Prices)>, Invalid> {
        let nothing = self.cap.spent();
        let over = |held: &PrivacyCost, own: &PrivacyCost| held.larger(own)?.less(own);
        let at = |map: &BTreeMap<i64, PrivacyCost>, key| last_until(map, key).unwrap_or(nothing).clone();
        let mut missing = Vec::new();
        match (&self.kept, &held.kept, self.promise) {
            (AccountEntries::Total(own), AccountEntries::Total(held), _) => {
                missing.push((Interval::new(0, 1)?, Prices::same(over(held, own)?)));
            }
            (AccountEntries::Windows(own), AccountEntries::Windows(held), _) => {
                let none = Prices::same(nothing.clone());
                for (place, held) in &held.0 {
                    let Some(window) = place.window() else { continue };
                    let own = own.0.get(place).unwrap_or(&none);
                    let (whole, partial) =
                        (over(&held.whole, &own.whole)?, over(&held.partial, &own.partial)?);
                    missing.push((window, Prices { whole, partial }));
                }
            }
            (AccountEntries::Blocks(own), AccountEntries::Blocks(held), Promise::Each(span)) => {
                let edges: BTreeSet<i64> = own.keys().chain(held.keys()).copied().collect();
                let edges: Vec<i64> = edges.into_iter().collect();
                for (index, &first) in edges.iter().enumerate() {
                    let next = edges.get(index + 1).copied();
                    let short = over(&at(held, first), &at(own, first))?;
                    let edge = |block: i64| (i128::from(block) * i128::from(span)).clamp(MIN, MAX) as i64;
                    let (start, end) = (edge(first), next.map_or(i64::MAX, edge));
                    missing.push((Interval::new(start, end)?, Prices::same(short)));
                }
            }
            _ => return Err(Invalid::new("promise", InvalidKind::Mixed, "entries of one account")),
        }
        missing.retain(|(_, prices)| prices.partial != *nothing || prices.whole != *nothing);
        Ok(missing)
    }
}

/// The entries of an account that a charge may read or change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// Sums: the last at or before each of two places, and all within a range.
    Sums([i64; 2], RangeInclusive<i64>),
    /// The windows that overlap a time.
    Windows(Interval),
}

const MIN: i128 = i64::MIN as i128;
const MAX: i128 = i64::MAX as i128;

fn last_until(map: &BTreeMap<i64, PrivacyCost>, key: i64) -> Option<&PrivacyCost> {
    map.range(..=key).next_back().map(|(_, amount)| amount)
}

/// The amount that a release reserves in its first seal under [`Promise::Windows`]: the sum of the `most`
/// largest of its windows' costs, part by part, for nobody can be in more windows. Its later windows are
/// prepaid.
///
/// # Errors
/// [`InvalidKind::Empty`] for no window or `most` of zero, [`InvalidKind::Mixed`] for different neighbours or
/// currencies, [`InvalidKind::Overflow`] from 2^64 on.
pub fn reservation(windows: &[ReleaseCost], most: u32) -> Result<ReleaseCost, Invalid> {
    let Some(first) = windows.first().filter(|_| most > 0) else {
        return Err(Invalid::new("windows", InvalidKind::Empty, "at least one window"));
    };
    // The k-th entry is the k-th largest, part by part: each cost sinks to its place.
    let mut largest: Vec<PrivacyCost> = Vec::new();
    for window in windows {
        first.neighbours().same(window.neighbours())?;
        let mut sinking = window.amount().clone();
        for place in &mut largest {
            let smaller = place.smaller(&sinking)?;
            *place = place.larger(&sinking)?;
            sinking = smaller;
        }
        if largest.len() < most as usize {
            largest.push(sinking);
        }
    }
    let sum = largest.iter().try_fold(first.amount().nothing(), |sum, amount| sum.plus(amount))?;
    Ok(ReleaseCost::new(first.neighbours(), sum))
}

#[cfg(test)]
mod tests;
