//! Who pays for a window: the promises that a ledger can make about time, and what must fit under the cap for each.
//!
//! A release reads the data of one window `[start, end)`. What it costs counts against that time, never against the
//! time at which it was released. What is paid once and lasts (a running total, a bundle of answers) has its whole life
//! as its window, [`Interval::since`] where it has no horizon. Nothing that was charged is ever given back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::{Bound, RangeInclusive};

use super::amount::Amount;
use super::cost::Cost;
use super::filter::{Filter, Refused};
use super::interval::Interval;
use super::neighbours::{Neighbours, Relation};
use crate::invalid::{Invalid, Kind};

/// What is promised, as long as no account refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    /// All that a person ever does.
    Lifetime,
    /// All that a person ever does, of which a release uses the first so many windows: see [`reservation`].
    Windows(u32),
    /// What a person does within any span of this length, wherever it starts.
    Any(u64),
    /// What a person does within one aligned span of this length.
    Each(u64),
}

impl Promise {
    /// The promise in one sentence, to be printed beside every output. `span` says a length of time in words.
    pub fn sentence<S: Display>(&self, neighbours: Neighbours, span: impl Fn(u64) -> S) -> String {
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

    /// The promise and what a release costs under it in a few words, as they stand in every line of output: `lifetime, a
    /// person, rho 0.01`. `span` says a length of time in words.
    pub fn briefly<S: Display>(&self, cost: &Cost, span: impl Fn(u64) -> S) -> String {
        let Neighbours { unit, relation } = cost.neighbours();
        let amount = cost.amount();
        let replaced = if relation == Relation::Replace { " replaced" } else { "" };
        let when = match self {
            Promise::Lifetime => "lifetime".to_owned(),
            Promise::Windows(most) => format!("lifetime in {most} windows"),
            Promise::Any(length) => format!("any {}", span(*length)),
            Promise::Each(length) => format!("each {}", span(*length)),
        };
        format!("{when}, a {unit}{replaced}, {amount}")
    }
}

/// One account: a promise, a cap and every charge so far.
#[derive(Clone, Debug)]
pub struct Account {
    promise: Promise,
    cap: Filter,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    /// All charges together.
    Total(Amount),
    /// At the end of each window that was charged: all charges of windows that end there or before.
    Ends(BTreeMap<i64, Amount>),
    /// From each block on, until the next one that is named: all charges of windows that overlap it.
    Blocks(BTreeMap<i64, Amount>),
}

impl Account {
    /// Nothing charged.
    ///
    /// # Errors
    /// Names `span` or `windows` when it is zero.
    pub fn new(promise: Promise, neighbours: Neighbours, cap: Amount) -> Result<Account, Invalid> {
        let (field, zero) = match promise {
            Promise::Any(span) | Promise::Each(span) => ("span", span == 0),
            Promise::Windows(most) => ("windows", most == 0),
            Promise::Lifetime => ("", false),
        };
        if zero {
            return Err(Invalid::new(field, Kind::Zero, "a whole number above 0"));
        }
        let cap = Filter::new(neighbours, cap);
        let kept = match promise {
            Promise::Lifetime | Promise::Windows(_) => Kept::Total(cap.spent().clone()),
            Promise::Any(_) => Kept::Ends(BTreeMap::new()),
            Promise::Each(_) => Kept::Blocks(BTreeMap::new()),
        };
        Ok(Account { promise, cap, kept })
    }

    /// The account that a ledger kept: `entries` are those that [`places`](Account::places) names, or all of them.
    ///
    /// # Errors
    /// As [`Account::new`].
    pub fn resume(
        promise: Promise,
        neighbours: Neighbours,
        cap: Amount,
        entries: BTreeMap<i64, Amount>,
    ) -> Result<Account, Invalid> {
        Ok(Account::new(promise, neighbours, cap)?.holding(entries))
    }

    /// What a ledger has to keep: amounts by place, where a place is 0, the end of a window, or a block.
    pub fn entries(&self) -> BTreeMap<i64, Amount> {
        match &self.kept {
            Kept::Total(total) => BTreeMap::from([(0, total.clone())]),
            Kept::Ends(entries) | Kept::Blocks(entries) => entries.clone(),
        }
    }

    /// Which entries a charge for `window` may read or change, so that a ledger need not fetch all: the last at or
    /// before each of two places, and all within a range.
    pub fn places(&self, window: Interval) -> ([i64; 2], RangeInclusive<i64>) {
        match self.promise {
            Promise::Lifetime | Promise::Windows(_) => ([0, 0], 0..=0),
            Promise::Any(span) => {
                let horizon = i128::from(window.start()) - i128::from(span);
                let horizon = i64::try_from(horizon).unwrap_or(i64::MIN);
                ([horizon, window.end()], window.end()..=i64::MAX)
            }
            Promise::Each(span) => {
                let (first, last) = window.blocks(span);
                ([first, last + 1], first..=last + 1)
            }
        }
    }

    /// Nothing, in the account's currency.
    pub(crate) fn nothing(&self) -> Amount {
        self.cap.spent().clone()
    }

    /// What is promised.
    pub fn promise(&self) -> Promise {
        self.promise
    }

    /// Charges a release that reads `window`, if it fits: under [`Promise::Lifetime`] beside everything; under
    /// [`Promise::Any`] beside all windows that end after this one's start less the span (so that the promise holds
    /// for spans that start between two whole times, too); under [`Promise::Each`]
    /// in every aligned span that the window overlaps. Under [`Promise::Windows`] charge [`reservation`], once.
    ///
    /// # Errors
    /// [`Refused`], with nothing changed.
    pub fn charge(&mut self, window: Interval, cost: &Cost) -> Result<(), Refused> {
        let asked = self.cap.asked(cost).map_err(Refused::Uncountable)?;
        let spent = self.spent(window).map_err(Refused::Uncountable)?;
        self.cap.having_spent(spent).after(cost)?;
        self.add(window, &asked).map_err(Refused::Uncountable)
    }

    /// What already counts against a release that reads `window`; under [`Promise::Each`] the most in any span it
    /// overlaps.
    ///
    /// # Errors
    /// [`Kind::Overflow`] where charges of 2^64 and more have come together.
    pub fn spent(&self, window: Interval) -> Result<Amount, Invalid> {
        let nothing = self.cap.spent();
        match (&self.kept, self.promise) {
            (Kept::Total(total), _) => Ok(total.clone()),
            (Kept::Ends(ends), Promise::Any(span)) => {
                let horizon = i64::try_from(i128::from(window.start()) - i128::from(span));
                let before = horizon.ok().and_then(|horizon| last_until(ends, horizon));
                let total = last_until(ends, i64::MAX).unwrap_or(nothing);
                before.map_or(Ok(total.clone()), |before| total.less(before))
            }
            (Kept::Blocks(blocks), Promise::Each(span)) => {
                let (first, last) = window.blocks(span);
                let entering = last_until(blocks, first).unwrap_or(nothing).clone();
                blocks.range(first..=last).try_fold(entering, |most, (_, spent)| most.larger(spent))
            }
            // The two were chosen together.
            (Kept::Ends(_) | Kept::Blocks(_), _) => Ok(nothing.clone()),
        }
    }

    /// Adds a charge, fitting or not. What changes is worked out first: an overflow changes nothing.
    pub(crate) fn add(&mut self, window: Interval, asked: &Amount) -> Result<(), Invalid> {
        let nothing = self.cap.spent();
        let at = |map: &BTreeMap<i64, Amount>, key| last_until(map, key).unwrap_or(nothing).clone();
        match (&mut self.kept, self.promise) {
            (Kept::Total(total), _) => *total = total.plus(asked)?,
            (Kept::Ends(ends), _) => {
                let own = (window.end(), at(ends, window.end()).plus(asked)?);
                let later = ends.range((Bound::Excluded(window.end()), Bound::Unbounded));
                let later: Vec<_> =
                    later.map(|(end, sum)| Ok((*end, sum.plus(asked)?))).collect::<Result<_, Invalid>>()?;
                ends.extend(later);
                ends.extend([own]);
            }
            (Kept::Blocks(blocks), Promise::Each(span)) => {
                let (first, last) = window.blocks(span);
                // The last block is below the end of time, so there is one after it.
                let edges = [(first, at(blocks, first).plus(asked)?), (last + 1, at(blocks, last + 1))];
                let inner = blocks.range((Bound::Excluded(first), Bound::Included(last)));
                let inner: Vec<_> = inner
                    .map(|(block, sum)| Ok((*block, sum.plus(asked)?)))
                    .collect::<Result<_, Invalid>>()?;
                blocks.extend(inner);
                blocks.extend(edges);
            }
            (Kept::Blocks(_), _) => {}
        }
        Ok(())
    }

    /// An account of the same promise that holds these entries.
    pub(crate) fn holding(&self, entries: BTreeMap<i64, Amount>) -> Account {
        let kept = match self.kept {
            Kept::Total(_) => Kept::Total(entries.into_values().last().unwrap_or_else(|| self.nothing())),
            Kept::Ends(_) => Kept::Ends(entries),
            Kept::Blocks(_) => Kept::Blocks(entries),
        };
        Account { kept, ..self.clone() }
    }

    /// What must be added to this account, and for which times, so that it counts no window for less than `held` does.
    ///
    /// # Errors
    ///
    /// If the two are of different currencies or promises.
    pub(crate) fn shortfall(&self, held: &Account) -> Result<Vec<(Interval, Amount)>, Invalid> {
        let nothing = self.cap.spent();
        let over = |held: &Amount, own: &Amount| held.larger(own)?.less(own);
        let at = |map: &BTreeMap<i64, Amount>, key| last_until(map, key).unwrap_or(nothing).clone();
        let mut missing = Vec::new();
        match (&self.kept, &held.kept, self.promise) {
            (Kept::Total(own), Kept::Total(held), _) => {
                missing.push((Interval::new(0, 1)?, over(held, own)?));
            }
            (Kept::Ends(own), Kept::Ends(held), _) => {
                // What was spent between one end and the next, each for itself: a later surplus makes up for nothing.
                let mut last = (nothing.clone(), nothing.clone());
                let ends: BTreeSet<i64> = own.keys().chain(held.keys()).copied().collect();
                for end in ends {
                    let now = (at(own, end), at(held, end));
                    let spent = (over(&now.0, &last.0)?, over(&now.1, &last.1)?);
                    missing.push((Interval::new(end - 1, end)?, over(&spent.1, &spent.0)?));
                    last = now;
                }
            }
            (Kept::Blocks(own), Kept::Blocks(held), Promise::Each(span)) => {
                let edges: BTreeSet<i64> = own.keys().chain(held.keys()).copied().collect();
                let edges: Vec<i64> = edges.into_iter().collect();
                for (index, &first) in edges.iter().enumerate() {
                    let next = edges.get(index + 1).copied();
                    let short = over(&at(held, first), &at(own, first))?;
                    let edge = |block: i64| (i128::from(block) * i128::from(span)).clamp(MIN, MAX) as i64;
                    let (start, end) = (edge(first), next.map_or(i64::MAX, edge));
                    missing.push((Interval::new(start, end)?, short));
                }
            }
            _ => return Err(Invalid::new("promise", Kind::Mixed, "two accounts of one domain")),
        }
        missing.retain(|(_, amount)| amount != nothing);
        Ok(missing)
    }
}

const MIN: i128 = i64::MIN as i128;
const MAX: i128 = i64::MAX as i128;

fn last_until(map: &BTreeMap<i64, Amount>, key: i64) -> Option<&Amount> {
    map.range(..=key).next_back().map(|(_, amount)| amount)
}

/// What a release reserves in its first seal under [`Promise::Windows`]: the `most` largest of its windows' costs,
/// part by part, for nobody can be in more. Its later windows are prepaid.
///
/// # Errors
/// [`Kind::Empty`] for no window or `most` of zero, [`Kind::Mixed`] for different neighbours or currencies,
/// [`Kind::Overflow`] from 2^64 on.
pub fn reservation(windows: &[Cost], most: u32) -> Result<Cost, Invalid> {
    let Some(first) = windows.first().filter(|_| most > 0) else {
        return Err(Invalid::new("windows", Kind::Empty, "at least one window"));
    };
    // The k-th entry is the k-th largest, part by part: each cost sinks to its place.
    let mut largest: Vec<Amount> = Vec::new();
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
    Ok(Cost::new(first.neighbours(), sum))
}

#[cfg(test)]
mod tests;
