//! An upper bound on the privacy cost of answers with noise from a table: the proof that a table is private
//! enough.
//!
//! An answer with noise `x` has the privacy loss `ln(w(x) / w(x - s))` against the neighbouring dataset,
//! whose true answer is `s` steps larger. This loss falls with `x`, because the table is log-concave, and it
//! is infinite for the `s` lowest answers, which are impossible under the neighbour.
//!
//! # The largest step dominates
//!
//! A query moves the true answer by any number of steps, up or down, that is at most the shift. The table has
//! weights `w`, all above 0 from `-R` to `R` and 0 elsewhere, with `w(x - 1) w(x + 1) <= w(x)^2` and
//! `w(-x) = w(x)`, as [`BoundedNoiseTable::of`] makes them. Let `P` be its law, `F(m)` the probability of at
//! most `m`, and `P_s` the law moved up by `s >= 0`.
//!
//! 1. *Losses fall.* From `1 - R` to `R` the ratio `w(x) / w(x - 1)` does not rise, and the loss of a step of
//!    `s` is the sum of the logarithms of `s` such ratios. So it does not rise where both weights are above
//!    0; below these places it is infinite, and above them minus infinity. (There are none if `s > 2 R`.)
//! 2. *Half-lines.* For a number `c > 0` the set `A` with the largest `P(A) - c P_s(A)` is that of the losses
//!    above `ln c`: by step 1 all `x <= m` for some `m`, or nothing, or everything. So the largest value is
//!    that of `F(m) - c F(m - s)` over all `m`, its limits 0 and `1 - c` included.
//! 3. *It does not fall as s grows*, since for each `m` the term `F(m - s)` does not rise.
//! 4. *Up and down, there and back.* The map of `x` to `s - x` exchanges `P` and `P_s`, for the table is
//!    symmetric: so `P_s` against `P` has the same largest value. A step down is a step up with the two
//!    exchanged.
//!
//! So at every `c`, that is at every epsilon, no answer costs more than the pair of the table and its copy
//! moved by the shift: the pair *dominates* it, for any query and any earlier answers, and `count` adaptive
//! answers cost at most the same as `count` independent uses of the pair (Zhu, Dong and Wang 2022). Without
//! log-concavity step 1 fails, and a smaller step may cost more: a test has such a table.
//!
//! # Why the number is never too low
//!
//! * **Dots.** The answers are cut into runs of adjacent ones, whose losses differ little. Both weights of a
//!   run, its own and the neighbour's, are exact integer sums. They are moved to the two ends of the run's
//!   losses, so that both sums are unchanged: splitting them again at random restores the original, so
//!   nothing can cost more than the dots do. The choice of the cuts affects tightness, not validity.
//! * **The edge.** Answers that are impossible under the neighbour have infinite loss; their mass is an exact
//!   sum of integers. The largest finite losses, with at most 5e-4 of delta in all answers together, are
//!   charged as infinite too.
//! * **Floats.** Losses are rounded up, by more than the error of a logarithm of `libm` (`pld::log_ratio`).
//!   The share of a run that is moved up is the quotient of two differences; the upper one is of exact
//!   integers, or is charged 16 units of each of its terms, and the low end's own rounding. Masses are
//!   rounded up by 8 units each. So a float never makes a mass or a loss smaller; a million answers of masses
//!   10^-15 too large cost 10^-9 of delta.
//! * **Composition** is the contour of [`pld`](crate::accounting::pld), which charges its own errors.
//! * **One answer** needs no dots: delta is the sum of the excess over `e^epsilon` times the neighbour, of
//!   exact integers.

use super::shape::NoiseShape;
use crate::accounting::pld::{DiscreteLoss, Precision, log_ratio};
use crate::invalid::{Invalid, InvalidKind};

/// Half a unit in the last place of 1.
const ULP: f64 = f64::EPSILON / 2.0;

/// The share of delta for the largest finite losses of all answers together, which are charged as infinite.
const CUT: f64 = 5e-4;

/// The distance of adjacent dots, in standard deviations of the loss: the variance grows by a sixth of its
/// square. Where `PART` of the loss itself is more, that: an eighth where the loss is far below zero, which
/// weighs little.
const STEP: f64 = 0.015;
const PART: (f64, f64) = (1.0 / 64.0, 1.0 / 8.0);

const CARE: Precision = Precision { excess: 3e-3, terms: (2048.0, 65_536.0) };

/// A table and its copy, moved by the shift.
#[derive(Debug)]
pub(super) struct Certificate<'a> {
    half: &'a [u64],
    reach: i64,
    shift: i64,
    /// The sum of the weights of noise 1 to each index.
    sums: Vec<u128>,
    total: u128,
}

impl Certificate<'_> {
    pub(super) fn new(table: &BoundedNoiseTable, shift: u64) -> Certificate<'_> {
        let half = table.weights();
        let mut sum = 0;
        let sums: Vec<u128> = std::iter::once(0)
            .chain(half.iter().skip(1).map(|&weight| {
                sum += u128::from(weight);
                sum
            }))
            .collect();
        let total = u128::from(half.first().copied().unwrap_or(0)) + 2 * sum;
        // A shift beyond the table costs the same as any other such shift.
        let (reach, shift) = (table.reach() as i64, shift.min(1 << 40) as i64);
        Certificate { half, reach, shift, sums, total }
    }

    /// An upper bound on delta at `epsilon` of this number of adaptive answers. `target` is the delta at
    /// which the bound should be tight.
    pub(super) fn delta(&self, queries: u64, epsilon: f64, target: f64) -> f64 {
        if self.shift > 2 * self.reach {
            return 1.0;
        }
        if queries == 1 {
            return self.of_one(epsilon);
        }
        self.listed(CUT * target / queries as f64).delta(queries, epsilon, CARE)
    }

    /// The weight of all noise up to and including `x`.
    fn up_to(&self, x: i64) -> u128 {
        let side = self.sums.last().copied().unwrap_or(0);
        let sum = |j: i64| self.sums.get(j as usize).copied().unwrap_or(side);
        if x >= 0 { self.total - side + sum(x) } else { side - sum(-x - 1) }
    }

    /// The weight of noise from `from` to below `to`.
    fn between(&self, from: i64, to: i64) -> u128 {
        self.up_to(to - 1) - self.up_to(from - 1)
    }

    fn weight(&self, x: i64) -> u64 {
        self.half.get(x.unsigned_abs() as usize).copied().unwrap_or(0)
    }

    /// The loss at `x`, where it is finite; rounded up.
    fn loss(&self, x: i64) -> f64 {
        log_ratio(self.weight(x), self.weight(x - self.shift))
    }

    fn share(&self, weight: u128) -> f64 {
        weight as f64 / self.total as f64 * (1.0 + 8.0 * ULP)
    }

    /// The first `x` in `from..=to` for which `is` holds; `to + 1` if it holds for none. It must hold from
    /// some point on.
    fn first(from: i64, to: i64, is: impl Fn(i64) -> bool) -> i64 {
        // Doubling steps, since most results are near.
        let (mut low, mut step) = (from, 1);
        while low + step <= to && !is(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(to + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if is(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Delta of one answer: the sum of the excess over `e^epsilon` times the neighbour, over the answers with
    /// a loss above epsilon, and the mass of those that are impossible under the neighbour.
    fn of_one(&self, epsilon: f64) -> f64 {
        let least = self.shift - self.reach;
        let end = Self::first(least, self.reach, |x| self.loss(x) <= epsilon);
        let (infinite, finite) = (self.up_to(least - 1) as f64, self.between(least, end) as f64);
        let neighbour = self.between(least - self.shift, end - self.shift) as f64 * libm::exp(epsilon);
        // An answer whose loss was rounded up to above epsilon subtracts a little: at most the size of that
        // rounding.
        let error = ULP * (16.0 + 16.0 * epsilon) * (finite + neighbour)
            + if epsilon > 0.25 { 600.0 * ULP * finite } else { 0.0 };
        let above = ((finite - neighbour).max(0.0) + error + infinite) * (1.0 + 8.0 * ULP);
        (above / self.total as f64 * (1.0 + 8.0 * ULP)).min(1.0)
    }

    /// Returns the losses as dots; the largest, up to a mass of `cut`, as infinite.
    pub(super) fn listed(&self, cut: f64) -> DiscreteLoss {
        let least = self.shift - self.reach;
        let most = cut * self.total as f64;
        let top =
            Self::first(least, self.reach, |x| self.between(least, x + 1) as f64 > most).min(self.reach);
        let dots: Vec<(i64, f64)> = self.cuts(top).into_iter().map(|x| (x, self.loss(x))).collect();
        let mut masses = vec![0.0; dots.len()];
        for (n, run) in dots.windows(2).enumerate() {
            let [(from, high), (to, low)] = [run[0], run[1]];
            let own = self.between(from, to);
            let (up, down) = if to == from + 1 {
                (own as f64, 0.0)
            } else {
                split(own, self.between(from - self.shift, to - self.shift), high, low)
            };
            masses[n] += up;
            masses[n + 1] += down;
        }
        if let Some(last) = masses.last_mut() {
            *last += self.weight(self.reach) as f64;
        }
        // Two sums for each dot; one product and one quotient.
        let up = (1.0 + 16.0 * ULP) / self.total as f64;
        let pairs = dots.iter().zip(&masses).map(|(&(_, loss), &mass)| (loss, mass * up));
        DiscreteLoss::new(pairs.filter(|pair| pair.1 > 0.0), self.share(self.up_to(top - 1)))
    }

    /// Returns the first answer of each run: from `top` to the last answer.
    fn cuts(&self, top: i64) -> Vec<i64> {
        let spread = self.spread(top);
        let mut cuts = vec![top];
        let mut at = top;
        while at < self.reach {
            let loss = self.loss(at);
            let part = if loss > -4.0 * spread { PART.0 } else { PART.1 };
            let step = (part * loss.abs()).max(STEP * spread);
            let next = Self::first(at + 1, self.reach, |x| self.loss(x) <= loss - step).min(self.reach);
            // A run ends before a jump of the loss, so that it does not extend across it.
            if next > at + 1 && self.loss(next - 1) > self.loss(next) + step {
                cuts.push(next - 1);
            }
            cuts.push(next);
            at = next;
        }
        cuts
    }

    /// The approximate standard deviation of the loss.
    fn spread(&self, top: i64) -> f64 {
        let stride = ((self.reach - top) / 512).max(1);
        let (mut mass, mut squares) = (0.0, 0.0);
        let mut x = top;
        while x <= self.reach {
            let (weight, loss) = (self.weight(x) as f64, self.loss(x));
            mass += weight;
            squares += weight * loss * loss;
            x += stride;
        }
        (squares / mass).sqrt().max(1e-12)
    }
}

/// Splits a run, with its own weight and the neighbour's, between the losses `high` and `low`, so that both
/// weights are unchanged: `up + down = own`, `up e^-high + down e^-low = other`. The part that is moved up is
/// rounded up.
fn split(own: u128, other: u128, high: f64, low: f64) -> (f64, f64) {
    let (mass, neighbour) = (own as f64, other as f64);
    let ratio = libm::exp(-low);
    let (difference, terms) = if low.abs() < 0.5 {
        // Sums below 2^84.
        let exact = (own as i128 - other as i128) as f64;
        let rest = libm::expm1(-low) * mass;
        (exact + rest, exact.abs() + rest.abs())
    } else {
        (ratio * mass - neighbour, ratio * mass + neighbour)
    };
    let rounded = ratio * mass * (32.0 * low.abs() + if low.abs() > 0.25 { 600.0 } else { 0.0 });
    let error = ULP * (16.0 * terms + rounded);
    let width = -libm::expm1(low - high) * ratio;
    let up = ((difference + error) / width * (1.0 + 32.0 * ULP)).clamp(0.0, mass);
    // With a width of 0, or below by rounding, the quotient may be NaN: then all of the mass goes up.
    let up = if up.is_nan() || width <= 0.0 { mass } else { up };
    (up, (mass - up) * (1.0 + 4.0 * ULP))
}

// The integers that bounded noise is drawn from, and certified by.

/// The weights of noise 0, 1, 2, ... steps, and of -1, -2, ...: never rising, log-concave and above 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundedNoiseTable {
    half: Vec<u64>,
}

/// The weight of 0.
const TOP: u64 = 1 << 62;

/// The largest number of weights of one side: 16 MiB.
pub(super) const LENGTH: u64 = 1 << 21;

impl BoundedNoiseTable {
    /// Makes the table of the density at `j / scale` for all integers `j` below `scale`, in units of 2^-62 of
    /// the largest, rounded down; the first weight that rounds to 0 ends it.
    ///
    /// # Errors
    /// Names `queries` where the table would be longer than 2^21.
    pub(super) fn new(shape: &NoiseShape, scale: u64) -> Result<BoundedNoiseTable, Invalid> {
        if scale > LENGTH {
            let remedy =
                "fewer answers, or a larger epsilon or delta: the noise would reach beyond 2^21 steps";
            return Err(Invalid::new("queries", InvalidKind::TooLarge, remedy));
        }
        let weigh = |j: u64| (libm::exp(-shape.fall(j as f64 / scale as f64)) * TOP as f64) as u64;
        Ok(BoundedNoiseTable::of((0..scale.max(1)).map(weigh)))
    }

    /// Lowers weights until each is at most the square of the one before over that before it, in exact
    /// integers; the weights of 1 and -1 are no larger than that of 0. So ratios of adjacent weights fall
    /// from one end of the table to the other, and with them the ratio of the table to itself moved by any
    /// shift.
    pub(super) fn of(weights: impl Iterator<Item = u64>) -> BoundedNoiseTable {
        let mut half: Vec<u64> = Vec::with_capacity(weights.size_hint().0);
        let (mut before, mut last) = (u64::MAX, u64::MAX);
        for weight in weights {
            let weight = match half.len() {
                0 => weight,
                // For -1, 0 and 1: the weight of 1 is at most that of 0, since it is also that of -1.
                1 => weight.min(last),
                _ => lowered(before, last, weight),
            };
            if weight == 0 {
                break;
            }
            half.push(weight);
            (before, last) = (last, weight);
        }
        half.shrink_to_fit();
        BoundedNoiseTable { half }
    }

    /// Takes weights unchanged, log-concave or not: to show why they must be.
    #[cfg(test)]
    pub(super) fn raw(half: Vec<u64>) -> BoundedNoiseTable {
        BoundedNoiseTable { half }
    }

    pub(super) fn weights(&self) -> &[u64] {
        &self.half
    }

    pub(super) fn into_weights(self) -> Vec<u64> {
        self.half
    }

    /// The largest noise.
    pub(super) fn reach(&self) -> u64 {
        self.half.len() as u64 - 1
    }

    /// The standard deviation, in steps.
    pub(super) fn deviation(&self) -> f64 {
        let (mut total, mut squares) = (0.0, 0.0);
        for (j, weight) in self.half.iter().enumerate().skip(1) {
            total += *weight as f64;
            squares += *weight as f64 * (j as f64) * (j as f64);
        }
        (2.0 * squares / (2.0 * total + self.half.first().map_or(0.0, |&weight| weight as f64))).sqrt()
    }
}

/// The least of `weight` and `last^2 / before`. The division, which is slow, runs only where it is needed.
fn lowered(before: u64, last: u64, weight: u64) -> u64 {
    let square = u128::from(last) * u128::from(last);
    if u128::from(weight) * u128::from(before) <= square {
        return weight;
    }
    // Below weight, since weight times before is above the square.
    u64::try_from(square / u128::from(before)).unwrap_or(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::dice::Dice;
    use crate::accounting::resonance::{Fixed256, PLACES};

    /// `e^-loss`.
    fn falls(loss: f64) -> Fixed256 {
        let size = Fixed256::of(loss.abs()).exp_minus();
        if loss < 0.0 { Fixed256::whole(1).over(&size) } else { size }
    }

    // Refutes a share that is moved up without the error of its difference: it is
    // `(own e^-low - other) / (e^-low - e^-high)`, and often far smaller than both terms. Compares with
    // fixed-point numbers of 256 places.
    #[test]
    fn what_is_moved_up_is_never_less_than_its_share() {
        let mut dice = Dice(20_261_124);
        for case in 0..4_000 {
            let low = dice.between(-2.0, 2.0);
            let high = low + dice.between(-20.0, 0.0).exp2();
            let own = dice.between(40.0, 80.0).exp2() as u128;
            let part = dice.between(-50.0, 0.0).exp2();
            let other = (own as f64 * (part * (-high).exp() + (1.0 - part) * (-low).exp())) as u128;
            let (up, _) = split(own, other, high, low);
            let (at_low, at_high) = (falls(low).0, falls(high).0);
            let difference = &at_low * (own as i128) - (Fixed256::whole(other as i128)).0;
            // All of a run goes up where its neighbour has less mass than the higher loss implies.
            let all = &at_low - &at_high;
            let wanted = difference.min(&all * (own as i128));
            assert!(
                Fixed256::of(up).0 * &all >= wanted << PLACES,
                "case {case}: {up:e} of {own}, {other} at {high}, {low}"
            );
        }
    }
}
