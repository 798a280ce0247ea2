//! The names of an account's entries, as a ledger keeps them.

use std::collections::BTreeMap;

use crate::accounting::amount::PrivacyCost;
use crate::accounting::interval::Interval;
use crate::invalid::Invalid;

/// The name of an entry: a window, or where a sum of charges begins to hold.
///
/// Windows come in the order of their reach, a power of two that their length does not exceed, and then of
/// their start. So all windows that overlap a time are within a short range of each reach, however long the
/// account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryKey {
    /// 0 of a sum; of a window the least power of two that is no less than its length, or `i64::MAX`.
    pub(crate) reach: i64,
    /// The start of a window; 0 or a block of a sum.
    pub(crate) start: i64,
    /// The end of a window; 0 of a sum.
    pub(crate) end: i64,
}

impl EntryKey {
    /// Before every other.
    pub(crate) const FIRST: EntryKey = EntryKey { reach: i64::MIN, start: i64::MIN, end: i64::MIN };

    pub(crate) fn of_sum(place: i64) -> EntryKey {
        EntryKey { reach: 0, start: place, end: 0 }
    }

    pub(crate) fn of_window(window: Interval) -> EntryKey {
        let length = window.end().abs_diff(window.start());
        // Above 2^63 there is no power of two: nothing is longer than the time that 64 bits count, twice.
        let reach = length.checked_next_power_of_two().and_then(|reach| i64::try_from(reach).ok());
        EntryKey { reach: reach.unwrap_or(i64::MAX), start: window.start(), end: window.end() }
    }

    /// The window, where it is one.
    pub(crate) fn window(&self) -> Option<Interval> {
        Interval::new(self.start, self.end).ok().filter(|_| self.reach > 0)
    }

    /// The first and the last start of windows of a reach that overlap a time; others start between them too.
    pub(crate) fn starts(reach: i64, time: Interval) -> (i64, i64) {
        // A window that is longer than its reach says starts anywhere.
        let first = if reach == i64::MAX { i64::MIN } else { time.start().saturating_sub(reach) };
        (first, time.end() - 1)
    }

    pub(super) fn first_at(reach: i64, start: i64) -> EntryKey {
        EntryKey { reach, start, end: i64::MIN }
    }

    pub(super) fn last_at(reach: i64, start: i64) -> EntryKey {
        EntryKey { reach, start, end: i64::MAX }
    }
}

// What a release costs an account, by how much of its window a stretch of time holds.

/// Two amounts in the currency of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    /// The price in a span that holds all of the window.
    pub(crate) whole: PrivacyCost,
    /// The price in a span that cuts the window: never less.
    pub(crate) partial: PrivacyCost,
}

impl Prices {
    /// One amount either way.
    pub(crate) fn same(amount: PrivacyCost) -> Prices {
        Prices { whole: amount.clone(), partial: amount }
    }

    /// Both, each added to the like of `other`.
    pub(crate) fn plus(&self, other: &Prices) -> Result<Prices, Invalid> {
        Ok(Prices { whole: self.whole.plus(&other.whole)?, partial: self.partial.plus(&other.partial)? })
    }
}

// Windows with their prices, found by the stretches of time that overlap them: the account of any span.
//
// A stretch of length `D` is `[t, t + D)` for a whole number `t`: times are whole, so a stretch that starts
// between two of them holds the same records. It overlaps a window `[s, e)` for `s - D < t < e`, and holds
// all of it for `e - D <= t <= s`. So what a window costs a stretch is constant on at most three pieces of
// `t`, and the most that any stretch costs is found by one sweep over the ends of the pieces of the windows
// nearby.

/// Windows by the power of two that their length does not exceed, their start and their end: all that overlap
/// some time are within a short range of each power.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretches(pub(super) BTreeMap<EntryKey, Prices>);

/// The time within which another window shares a stretch of this length with `window`.
pub(super) fn nearby(span: u64, window: Interval) -> Interval {
    let more = i64::try_from(span - 1).unwrap_or(i64::MAX);
    let (start, end) = (window.start().saturating_sub(more), window.end().saturating_add(more));
    Interval::new(start, end).unwrap_or(window)
}

impl Stretches {
    /// Adds the prices of a window to those of the same window.
    pub(super) fn add(&mut self, window: Interval, prices: &Prices) -> Result<(), Invalid> {
        let place = EntryKey::of_window(window);
        let sum = match self.0.get(&place) {
            Some(held) => held.plus(prices)?,
            None => prices.clone(),
        };
        self.0.insert(place, sum);
        Ok(())
    }

    /// The windows that share a stretch of length `span` with `window`.
    fn sharing(&self, span: u64, window: Interval) -> Vec<(Interval, &Prices)> {
        let time = nearby(span, window);
        let mut sharing = Vec::new();
        let mut next = EntryKey::FIRST;
        while let Some((EntryKey { reach, .. }, _)) = self.0.range(next..).next() {
            let (first, last) = EntryKey::starts(*reach, time);
            let starting = self.0.range(EntryKey::first_at(*reach, first)..=EntryKey::last_at(*reach, last));
            let overlapping = starting.filter(|(place, _)| place.end > time.start());
            sharing.extend(overlapping.filter_map(|(place, prices)| Some((place.window()?, prices))));
            let Some(longer) = reach.checked_add(1) else { break };
            next = EntryKey::first_at(longer, i64::MIN);
        }
        sharing
    }

    /// Computes the cost of the spans of length `span` that overlap `window`, at each start `t` where it
    /// changes, in the order of `t`. `visit` is given `t` and the sum, and ends the sweep by an answer.
    fn sweep<T>(
        &self,
        (span, window): (u64, Interval),
        asked: Option<&Prices>,
        nothing: &PrivacyCost,
        mut visit: impl FnMut(i128, &PrivacyCost) -> Option<T>,
    ) -> Result<Option<T>, Invalid> {
        let own = asked.map(|asked| (window, asked));
        let (first, last) = overlapping(span, window);
        // Where pieces begin and end; at one place the ends come first, so that a sum is never above what is
        // there.
        let mut edges: Vec<(i128, bool, &PrivacyCost)> = Vec::new();
        for (other, prices) in self.sharing(span, window).into_iter().chain(own) {
            for (from, until, inside) in pieces(span, other) {
                let (from, until) = (from.max(first), until.min(last));
                if from < until {
                    let amount = if inside { &prices.whole } else { &prices.partial };
                    edges.extend([(from, true, amount), (until, false, amount)]);
                }
            }
        }
        edges.sort_unstable_by_key(|(place, begins, _)| (*place, *begins));
        let mut sum = nothing.clone();
        for (index, (place, begins, amount)) in edges.iter().enumerate() {
            sum = if *begins { sum.plus(amount)? } else { sum.less(amount)? };
            let complete = edges.get(index + 1).is_none_or(|(next, _, _)| next > place);
            if complete && let Some(found) = visit(*place, &sum) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The most, part by part, that a stretch costs which overlaps `window`.
    pub(super) fn most(
        &self,
        span: u64,
        window: Interval,
        nothing: &PrivacyCost,
    ) -> Result<PrivacyCost, Invalid> {
        let mut most = nothing.clone();
        let failed = self.sweep((span, window), None, nothing, |_, sum| match most.larger(sum) {
            Ok(larger) => {
                most = larger;
                None
            }
            Err(invalid) => Some(invalid),
        })?;
        failed.map_or(Ok(most), Err)
    }

    /// Returns the amount that a span holds already and the amount that it would hold more, for a span whose
    /// sum is above `cap`; `None` if every span that overlaps `window` has room for the prices.
    pub(super) fn refusal(
        &self,
        span: u64,
        window: Interval,
        asked: &Prices,
        cap: &PrivacyCost,
    ) -> Result<Option<(PrivacyCost, PrivacyCost)>, Invalid> {
        let nothing = cap.nothing();
        // No stretch costs more than all windows nearby, each cut.
        let above = self
            .sharing(span, window)
            .into_iter()
            .try_fold(asked.partial.clone(), |sum, (_, near)| sum.plus(&near.partial));
        if above.is_ok_and(|above| above.within(cap)) {
            return Ok(None);
        }
        let refused = self.sweep((span, window), Some(asked), &nothing, |place, sum| {
            if sum.within(cap) {
                return None;
            }
            let inside =
                pieces(span, window).any(|(from, until, inside)| inside && from <= place && place < until);
            let asked = if inside { &asked.whole } else { &asked.partial };
            Some(sum.less(asked).map(|spent| (spent, asked.clone())))
        });
        match refused {
            Ok(refused) => refused.transpose(),
            // A sum of 2^64 is above every cap.
            Err(_) => Ok(Some((self.most(span, window, &nothing).unwrap_or(nothing), asked.partial.clone()))),
        }
    }
}

/// The places `t` of the stretches that overlap a window: from the first up to, without, the last.
fn overlapping(span: u64, window: Interval) -> (i128, i128) {
    (i128::from(window.start()) - i128::from(span) + 1, window.end().into())
}

/// The pieces of places at which a stretch overlaps a window, each with whether it holds all of the window
/// there.
fn pieces(span: u64, window: Interval) -> impl Iterator<Item = (i128, i128, bool)> {
    let (first, last) = overlapping(span, window);
    let inside = (i128::from(window.end()) - i128::from(span), i128::from(window.start()) + 1);
    let pieces = if inside.0 < inside.1 {
        [(first, inside.0, false), (inside.0, inside.1, true), (inside.1, last, false)]
    } else {
        [(first, last, false), (0, 0, false), (0, 0, false)]
    };
    pieces.into_iter().filter(|(from, until, _)| from < until)
}
