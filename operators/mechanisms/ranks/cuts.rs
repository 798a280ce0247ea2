//! A cut between two parts of a key's values, chosen by the number of values below it.
//!
//! # Every rank is a cut
//!
//! Splitting needs a cut that leaves half of the values below. Where a thousand people gave five stars there is none
//! between the points. So a cut is a point, and a number `j` of the values at it that go below: at a point with `m`
//! values there are `m + 1` cuts. Which of the equal values these are makes no difference to anything that follows.
//!
//! # What a cut weighs
//!
//! With `k` values of `n` below it, a cut for the quantile `a/q` has the loss `|q k - a n|`, and weighs
//!
//! ```text
//! w(p, j) = V(k) (M + m) / (M (m + 1)),
//! ```
//!
//! where `V` are the weights of the exponential mechanism (`noise/decay.rs`). With `1 / (m + 1)` alone, all cuts of a
//! point would weigh what a point without values does, and a cut among a million equal values a millionth of that: of
//! two points, a far one that nobody has would be chosen before the right cut of a near one. With 1 alone, one value
//! more would be one cut more. So a cut weighs a little, `1/M`, of the latter, and never less.
//!
//! # What it costs
//!
//! Let a value `x` come to a point with `m` values. Think of the `j` below as drawn among the `m`, each set of `j` as
//! likely: the cut is then a set `S` of values below, of the weight `w(p, j) / C(m, j)`. With `x` there are two such
//! sets for one of before, `S` and `S` with `x`; together they weigh
//!
//! ```text
//! 1 / C(m, j) * (M + m + 1) / (M (m + 2)) * ((m + 1 - j) V'(k) + (j + 1) V'(k + 1)) / (m + 1),
//! ```
//!
//! for `C(m + 1, j) = C(m, j) (m + 1) / (m + 1 - j)` and so on. The losses of both are within `max(a, q - a)` of that
//! of before, so `V'` is within `e^r` of `V`, either way, for the rate `r` of one value; what is left is
//! `(M + m + 1) / (M + m)`, from 1 to `1 + 1/M`. Of a cut at another point the loss alone moves. So the logarithms of
//! what one value changes lie between `-r` and `r + 1/M`: the range of a choice with `2 half = 2 r + 1/M`, and
//! [`CutChoice`] takes its thirty-second part for the second. A person of several values is several such steps. It is
//! of bounded range, and costs pure `2 half` and `(2 half)^2 / 8` of rho, as [`AnswerChoice`](super::choose::AnswerChoice) does.
//!
//! Given `S`, `x` is on one side of the cut. What follows is a mixture over both cases, each with one value more on one
//! side and none on the other; and a mixture is no farther from one distribution than the farthest of its parts is.
//!
//! # How far off
//!
//! Let `t = a n / q`. A cut is off by `|k - t|`. Every whole number from 0 to `n` is the `k` of some cut, which weighs at
//! least `V(k) / M`. Say that some cut is off by more than `L`, on one side of `t`; then all `L` ranks next to it on that
//! side are there, and at least `min(L, ceil(L min(a, q - a) / max(a, q - a)))` on the other. Of ranks paired from `t`
//! outwards, two at a distance of `i + d` and `i + 1 - d` weigh no less than two at `i + 1/2`, and one alone no less than
//! at `i + 1`: that is the least weight, `good`, of cuts that are off by `L` at most.
//!
//! The others weigh at most `bad`. Each point has one cut that is nearest to `t` among these (one point alone may have
//! two, on both sides), of weight `V` at most at the next loss above `q L`. All further ones lie within a stretch of
//! equal values and behind its nearest, so each rank from `L + 1` on either side has one at most, which weighs at
//! most `V(k) (M + 1) / 2M`. A weight at the floor is below 2^-60, and there are fewer than 2^32 values. Therefore
//!
//! ```text
//! P[off by more than L] <= bad / (bad + good)
//! ```
//!
//! whatever the data, and whatever was cut before. It counts points, and no ties.

use dashu_int::UBig;

use super::quantiles::Quantile;
use crate::noise::{Decay, FairBits, NoiseSource};

/// The number of values of a key for which errors are promised.
const MOST_VALUES: f64 = (1u64 << 32) as f64;

/// The choice of a cut.
#[derive(Clone, Debug)]
pub(super) struct CutChoice {
    /// The weights `V`.
    pub(super) decay: Decay,
    /// `M`: the number of equal values from which on their cuts weigh `1/M` each, and not less.
    pub(super) spread: u64,
}

/// A cut, as chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChosenCut {
    /// The point, counted from 0.
    pub(super) place: u64,
    /// The number of values below the cut.
    pub(super) below: usize,
}

impl CutChoice {
    /// The part of an epsilon that pays for cuts between equal values, as a fraction of this.
    pub(super) const TIES: u128 = 32;

    /// Chooses a cut among the points from `low` to `high`, both included, where these sorted places are.
    pub(super) fn choose(
        &self,
        places: &[u64],
        ends: (u64, u64),
        quantile: Quantile,
        noise: &mut NoiseSource,
    ) -> ChosenCut {
        noise.asked_for("cut", &self.decay, 1);
        WeighedCuts::of(self, places, ends, quantile).draw(noise)
    }

    /// The number of people of rank over which the chance of a cut falls by `e`.
    pub(super) fn scale(&self, quantile: Quantile) -> f64 {
        1.0 / (self.rate() * quantile.denominator() as f64)
    }

    /// The logarithm by which weights fall for a loss of 1.
    fn rate(&self) -> f64 {
        (self.decay.half().to_f64() - (-(Decay::ASIDE as f64)).exp2()) / self.decay.step() as f64
    }

    /// Bounds the probability that a cut is off by more than this number of values, by what the head of the file proves.
    /// Floats, rounded up.
    pub(super) fn exceeds(&self, points: u64, quantile: Quantile, values: u64) -> f64 {
        let (a, q) = (quantile.numerator(), quantile.denominator());
        let (rate, spread) = (self.rate(), self.spread as f64);
        let fall = rate * q as f64;
        // 1 + e^-fall + .. of this number of terms.
        let sum = |terms: u64| libm::expm1(-fall * terms as f64) / libm::expm1(-fall);
        let (least, most) = (u128::from(a.min(q - a)), u128::from(a.max(q - a)));
        let beside = u64::try_from((u128::from(values) * least).div_ceil(most)).unwrap_or(values).min(values);
        let pairs = 2.0 * libm::exp(-fall / 2.0) * sum(beside);
        let alone = libm::exp(-fall * (beside as f64 + 1.0)) * sum(values - beside);
        let good = (pairs + alone) / spread * (1.0 - 1e-6);
        let nearest = (points as f64 + 1.0) * libm::exp(-rate * (q as f64 * values as f64 + 1.0));
        let further = (1.0 + 1.0 / spread) * libm::exp(-fall * (values as f64 + 1.0)) / -libm::expm1(-fall);
        let floor = (points as f64 + 2.0 * MOST_VALUES) * FLOOR;
        let bad = (nearest + further + floor) * (1.0 + 1e-9);
        if good > 0.0 { bad / (bad + good) } else { 1.0 }
    }
}

/// The least weight beside that of no loss.
pub(super) const FLOOR: f64 = Decay::LEAST as f64 / Decay::MOST as f64;

/// The weights of all cuts, times `M`, in three parts: points that nobody has, `M V`; and of the others, `(M - 1) V / (m +
/// 1)` and `V`.
struct WeighedCuts {
    spread: u64,
    /// The first of all points.
    low: u64,
    /// `V` of each number of values below.
    ranks: Vec<u128>,
    occupied: Vec<OccupiedPoint>,
    /// `V` of all points that nobody has, together.
    empty: u128,
    /// `V` of all cuts of the others, together.
    all: u128,
}

/// A point that has values.
#[derive(Clone, Copy)]
struct OccupiedPoint {
    place: u64,
    below: usize,
    /// The greatest `V` of its cuts and those of all before, together.
    greatest_up_to: u128,
}

impl WeighedCuts {
    fn of(choice: &CutChoice, places: &[u64], (low, high): (u64, u64), quantile: Quantile) -> WeighedCuts {
        let loss = |below: usize| loss(quantile, below, places.len());
        let wanted =
            places.len() as u128 * u128::from(quantile.numerator()) / u128::from(quantile.denominator());
        // A quantile is below 1, so no more are wanted than there are.
        let nearest = usize::try_from(wanted).unwrap_or(places.len());
        let least = loss(nearest).min(loss(places.len().min(nearest + 1)));
        let ranks: Vec<u128> =
            (0..=places.len()).map(|below| choice.decay.weight(loss(below) - least)).collect();
        let (mut next, mut below, mut greatest_up_to) = (low, 0, 0);
        // Below 2^40 points of at most 2^86, and as many values.
        let (mut occupied, mut empty, mut all) = (Vec::new(), 0, 0);
        for equal in places.chunk_by(|one, other| one == other) {
            let Some(&place) = equal.first() else { continue };
            let own = &ranks[below..=below + equal.len()];
            greatest_up_to += own.iter().copied().max().unwrap_or(0);
            occupied.push(OccupiedPoint { place, below, greatest_up_to });
            empty += u128::from(place - next) * ranks[below];
            all += own.iter().sum::<u128>();
            (next, below) = (place + 1, below + equal.len());
        }
        empty += u128::from(high + 1 - next) * ranks[below];
        WeighedCuts { spread: choice.spread, low, ranks, occupied, empty, all }
    }

    /// A cut by its weight. Of the second part, a point is drawn by its greatest cut and one of its cuts uniformly, which is
    /// kept with the chance that it has beside the greatest; or all is drawn again.
    fn draw(&self, noise: &mut NoiseSource) -> ChosenCut {
        let (spread, rest) = (UBig::from(self.spread), UBig::from(self.spread - 1));
        let greatest = self.occupied.last().map_or(0, |last| last.greatest_up_to);
        let (empty, by_point) = (&spread * UBig::from(self.empty), &rest * UBig::from(greatest));
        let total = &empty + &by_point + UBig::from(self.all);
        let narrow = |number: UBig| u128::try_from(number).unwrap_or(u128::MAX);
        loop {
            let place = noise.below_any(&total);
            if place < empty {
                return self.empty_point(narrow(place / &spread));
            }
            let place = place - &empty;
            if place >= by_point {
                return self.occupied_point(narrow(place - &by_point));
            }
            let at = narrow(place / &rest);
            let index = self.occupied.partition_point(|point| point.greatest_up_to <= at);
            let point = self.occupied[index];
            let before = index.checked_sub(1).map_or(0, |before| self.occupied[before].greatest_up_to);
            let (greatest, values) = (point.greatest_up_to - before, self.end(index) - point.below);
            let below = point.below + noise.below(values as u64 + 1) as usize;
            if noise.below_wide(greatest) < self.ranks[below] {
                return ChosenCut { place: point.place, below };
            }
        }
    }

    /// The number of values up to an occupied point.
    fn end(&self, index: usize) -> usize {
        self.occupied.get(index + 1).map_or(self.ranks.len() - 1, |next| next.below)
    }

    /// The cut of a point that nobody has, at this place in their weights.
    fn empty_point(&self, mut at: u128) -> ChosenCut {
        let mut next = self.low;
        // Uniform below `points * weight`: the quotient is uniform among the points.
        let point = |next: u64, at: u128, below: usize| ChosenCut {
            place: next + (at / self.ranks[below]) as u64,
            below,
        };
        for &OccupiedPoint { place, below, .. } in &self.occupied {
            let weight = u128::from(place - next) * self.ranks[below];
            if at < weight {
                return point(next, at, below);
            }
            at -= weight;
            next = place + 1;
        }
        point(next, at, self.ranks.len() - 1)
    }

    /// The cut of another point, at this place in the weights of all of these.
    fn occupied_point(&self, mut at: u128) -> ChosenCut {
        let mut cut = ChosenCut { place: self.low, below: 0 };
        for (index, point) in self.occupied.iter().enumerate() {
            for below in point.below..=self.end(index) {
                cut = ChosenCut { place: point.place, below };
                let weight = self.ranks[below];
                if at < weight {
                    return cut;
                }
                at -= weight;
            }
        }
        // Not reached: it is a place in their sum.
        cut
    }
}

/// The loss of a cut with `below` of `values` values below. Ranks stay below 2^64, and are multiplied by at most 10^6.
fn loss(quantile: Quantile, below: usize, values: usize) -> u64 {
    let (a, q) = (u128::from(quantile.numerator()), u128::from(quantile.denominator()));
    let off = (q * below as u128).abs_diff(a * values as u128);
    u64::try_from(off).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
