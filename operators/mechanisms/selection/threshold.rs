//! The threshold of partition selection: the number of people that a key must seem to have before it is
//! released.
//!
//! # The rule
//!
//! `people + noise >= threshold`, asked only of keys that somebody has.
//!
//! With a least number of people `k` the rule is `people >= k` and `people + noise >= threshold + k - 1`, for the same
//! threshold: see below.
//!
//! # Why a lone person's key is safe
//!
//! A person who brings `j` keys which nobody else has gives one of them away with probability `1 - (1-p)^j`,
//! `p = P[1 + noise >= threshold]`. On the rest, where none of them is released, the outputs with and without
//! that person differ by a shift of at most `keys - j` cells by 1, which is what the noise is priced for. So
//! discovery costs `delta = 1 - (1-p)^keys` beside the noise, where `keys` is the contribution bound.
//!
//! The comparison is `>=`, in the draw and in `p`: the noise is an integer, and the single point at the
//! threshold can be as likely as all beyond it.
//!
//! # The lemma, and why this delta is the least
//!
//! A release is delta-approximately rho-zCDP (Bun and Steinke 2016, definition 8.1) if for all neighbours
//! there are events of probability `1 - delta` or more on either side, given which the outputs are within rho
//! at every order. With the person, the event is that none of the `j` keys that nobody else has is found;
//! without the person, it is everything. Each key has draws of its own, so this event leaves the draws of the
//! other keys as they are: given it, the outputs are those of a shift of at most `keys - j` cells. Under
//! epsilon with a delta the same two events prove it.
//!
//! No smaller delta will do for the same draws: a key that only one data set has is in no output of the other,
//! so the probability of finding any of them is itself a difference of two probabilities. It is the law of all keys
//! of a person jointly, by the exact tails of the noise; a bound that adds up single keys is above it. The lone keys
//! of a person cost delta and no rho, and the shared ones rho and no delta: for delta, `keys` lone ones are the
//! worst. An account charges both in full all the same. Which keys are lone may follow from what was released
//! before, and a cap on whichever of the two is used up first would be no filter.
//!
//! The number that is compared is of people, each of whom moves it by 1, whatever a person's records or values
//! come to: a sum that a person moves by `c` would have to be compared with `c` times as much.
//!
//! # From a number of people on
//!
//! Let a key be found only where `people >= k` as well. What was a lone key is one that `k` people have with the person and
//! `k - 1` without: without, it is never found, and with the person it is found with the probability
//! `P[k + noise >= threshold + k - 1]`, which is the same `p`. Keys of fewer people are found in neither of the two data sets, and of
//! more both ask the same question of the noise, shifted by 1. So everything above holds with these keys for the lone ones, at
//! the same delta. Without `k - 1` in the threshold it would not: a key would be found with a probability near 1 at `k` people,
//! and never at `k - 1`.
//!
//! The draw that finds a key must not be one that other numbers have a part in. Where it is all that a window
//! releases of the key, one draw finds and is released. Under a strategy of running totals, whose noise is
//! correlated over windows, the event would tilt the noise of all later totals: keys are found there by draws of
//! their own.

use crate::accounting::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::Additive;

/// The largest error of a probability computed in floats, taken twice: the tails are rounded up already.
const MARGIN: f64 = 1e-10;

/// The largest least number of people.
const MOST_PEOPLE: i64 = 1 << 31;

/// The chances that a key is found for which a plan states numbers of people.
#[cfg(feature = "cli")]
const FOUND_IN: [f64; 3] = [0.5, 0.9, 0.99];

/// The least threshold that gives one person's own keys away with probability `delta` at most; 1 or more.
#[derive(Clone, Debug)]
pub(in crate::mechanisms) struct Threshold {
    least: i64,
    /// The least number of people of a key that is found.
    people: i64,
    noise: Additive,
    /// `P[noise >= k]` for `k` from 1 on; empty where a single tail is cheap.
    tails: Vec<f64>,
}

impl Threshold {
    pub(in crate::mechanisms) fn new(
        noise: Additive,
        keys: u64,
        delta: BudgetUnits,
    ) -> Result<Threshold, Invalid> {
        let delta = delta.to_float_down();
        let holds = |least: i64| given_away(noise.tail(least - 1), keys) <= delta;
        let (mut low, mut high) = (0, 1);
        while !holds(high) {
            if high > 1 << 60 {
                return Err(Invalid::new(
                    "delta",
                    InvalidKind::TooSmall,
                    "a larger delta for keys to discover",
                ));
            }
            (low, high) = (high, 2 * high);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if holds(middle) { high = middle } else { low = middle }
        }
        let tails = tails(&noise);
        Ok(Threshold { least: high, people: 1, noise, tails })
    }

    /// The same, for keys that at least this number of people have.
    pub(in crate::mechanisms) fn at_least_people(self, people: u64) -> Result<Threshold, Invalid> {
        let remedy = "a number of people from 1 to 2^31";
        let kind = if people == 0 { InvalidKind::Zero } else { InvalidKind::TooLarge };
        match i64::try_from(people) {
            Ok(people @ 1..=MOST_PEOPLE) => {
                Ok(Threshold { least: self.least + (people - 1), people, ..self })
            }
            _ => Err(Invalid::new("people", kind, remedy)),
        }
    }

    /// The least number that is released.
    pub(in crate::mechanisms) fn least(&self) -> i64 {
        self.least
    }

    /// Returns true if a key is found of which this is the number of people, and their noised number.
    pub(in crate::mechanisms) fn passes(&self, people: u64, noised: i128) -> bool {
        i128::from(people) >= i128::from(self.people) && noised >= i128::from(self.least)
    }

    pub(in crate::mechanisms) fn noise(&self) -> &Additive {
        &self.noise
    }

    /// The least number of people of a key that is found, of which `noised` or more is not too surprising, *given that it
    /// passed*: `P[n + noise >= noised | passed] > outside`. The other end of an interval needs no condition:
    /// having passed only makes small numbers rarer.
    pub(in crate::mechanisms) fn at_least(&self, noised: i128, outside: f64) -> i128 {
        let surprising = |n: i128| {
            let (seen, passed) = (noised - n, i128::from(self.least) - n);
            self.beyond(seen) <= outside * self.beyond(passed)
        };
        // The ratio of the two grows with n, up to more than 1/2 at n = noised.
        let (mut low, mut high) = (i128::from(self.people) - 1, noised.max(self.people.into()));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if surprising(middle) { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the least numbers of people, 1 or more, with which a key is found in 50, in 90 and in 99 of 100 windows: by the
    /// exact tails, rounded so that a number may be one too large and never too small.
    #[cfg(feature = "cli")]
    pub(in crate::mechanisms) fn people_to_find(&self) -> [i64; 3] {
        FOUND_IN.map(|chance| {
            let found = |people: i64| self.beyond(i128::from(self.least) - i128::from(people)) >= chance;
            // With the threshold and 40 deviations more it is found always, as far as floats know.
            let most = self.least.saturating_add((60.0 * self.noise.deviation()) as i64 + 60);
            let (mut low, mut high) = (self.people - 1, most);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if found(middle) { high = middle } else { low = middle }
            }
            high
        })
    }

    /// `P[noise >= at]`.
    fn beyond(&self, at: i128) -> f64 {
        let at = at.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let above = |k: u64| self.tails.get(k as usize - 1).copied().unwrap_or(0.0);
        match at {
            _ if self.tails.is_empty() => self.noise.tail(at),
            1.. => above(at.unsigned_abs()),
            _ => 1.0 - above(at.unsigned_abs().saturating_add(1)),
        }
    }
}

/// `1 - (1-p)^keys`, rounded up.
fn given_away(p: f64, keys: u64) -> f64 {
    let all = -(keys as f64 * (-p).ln_1p()).exp_m1();
    (all * (1.0 + MARGIN)).min(1.0)
}

/// All tails of noise whose tail is a long sum. Up to 39 sigma; beyond, floats know nothing but 0.
fn tails(noise: &Additive) -> Vec<f64> {
    let sigma = noise.scale();
    // From 2^13 on a tail is a formula, as it always is for Laplace and for rounded noise; below, the table has
    // some 300,000 entries at most.
    if !noise.is_discrete_gaussian() || sigma >= 8192.0 {
        return Vec::new();
    }
    let reach = (39.0 * sigma) as usize + 1;
    let mut tails = vec![0.0; reach];
    let mut sum = 0.0;
    for k in (1..=reach).rev() {
        sum += (-(k as f64 / sigma).powi(2) / 2.0).exp();
        tails[k - 1] = sum;
    }
    let scale = noise.tail(1) / sum;
    tails.iter_mut().for_each(|tail| *tail *= scale);
    tails
}

#[cfg(test)]
mod tests;
