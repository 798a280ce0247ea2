//! Amplification by shuffling: reports that are each weakly private become strongly private once nobody can
//! link them to people.
//!
//! `people` people each send one report of an `epsilon_0`-locally private randomiser; only the sorted
//! multiset of reports is seen. Somebody's own report hides among the reports of others that could as well be
//! theirs: the clones. The promise is for one person's data *replaced*
//! ([`Relation::Replace`](super::Relation::Replace)); for one person more or less, let the absent report from
//! a fixed input, so that the number of reports is public and never changes. `people` is the least number of
//! *honest* reports.
//!
//! The exact bound (Feldman, McMillan, Talwar 2021, with every sum computed): let `C ~ Bin(people - 1,
//! gamma)` be the clones, `A ~ Bin(C, 1/2)` those that look like the first input, and the person's own report
//! look like it with probability `a = e^epsilon_0 / (1 + e^epsilon_0)` or `1 - a`. Then delta is the hockey
//! stick between `A + Bern(a)` and `A + Bern(1 - a)`, `C` known. Any randomiser has `gamma = e^-epsilon_0`.
//! For randomised response among `k` choices a report is uniform with probability `k / (e^epsilon_0 + k -
//! 1)`, so `gamma = 2 / (e^epsilon_0 + k - 1)`, and the person's own is one of the two inputs with
//! probability `(e^epsilon_0 + 1) / (e^epsilon_0 + k - 1)`; where it is not, it reveals nothing. The same
//! `gamma` is often claimed for every randomiser; here only where it is proved.

use super::number;
use super::number::probability_up;
use crate::invalid::{Invalid, InvalidKind};

/// The most people over whom the exact sum is taken: a second or two of work.
const MOST: f64 = 1e7;

/// The largest epsilon of a report by itself that is accepted: it is the truth but for one in half a billion.
const LOCAL: f64 = 20.0;

/// The randomizer of a person's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Randomizer {
    /// Any locally private randomiser, the same for everybody in the batch.
    Any,
    /// The truth with probability `e^epsilon_0 / (e^epsilon_0 + choices - 1)`, else another choice.
    Response {
        /// The number of choices.
        choices: u32,
    },
}

/// A shuffled batch of reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shuffle {
    people: f64,
    local: f64,
    clones: f64,
    informative: f64,
}

impl Shuffle {
    /// Reports of `people` honest people, each `local`-private by itself.
    ///
    /// # Errors
    /// Names `people` outside 2..=2^40, `local-epsilon` outside 0..=20, and `choices` below 2.
    pub fn new(people: u64, local: f64, randomizer: Randomizer) -> Result<Shuffle, Invalid> {
        let people = number::shift("people", people)?;
        if people < 2.0 {
            return Err(Invalid::new("people", InvalidKind::TooSmall, "at least 2"));
        }
        let local = number::between(
            "local-epsilon",
            local,
            f64::MIN_POSITIVE,
            LOCAL,
            "a number above 0 and at most 20",
        )?;
        let (clones, informative) = match randomizer {
            Randomizer::Any => ((-local).exp(), 1.0),
            Randomizer::Response { choices: 0 | 1 } => {
                return Err(Invalid::new("choices", InvalidKind::TooSmall, "at least 2"));
            }
            Randomizer::Response { choices } => {
                let all = local.exp() + f64::from(choices) - 1.0;
                (2.0 / all, (local.exp() + 1.0) / all)
            }
        };
        Ok(Shuffle { people, local, clones, informative })
    }

    /// The largest local epsilon, rounded down, whose shuffled reports are (epsilon, delta)-private by either
    /// bound.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn calibrate(people: u64, epsilon: f64, delta: f64, randomizer: Randomizer) -> Result<f64, Invalid> {
        let epsilon = number::between("epsilon", epsilon, 1e-9, LOCAL, "a number from 1e-9 to 20")?;
        number::probability("delta", delta)?;
        Shuffle::new(people, epsilon, randomizer)?;
        let keeps = |local: f64| {
            Shuffle::new(people, local, randomizer).is_ok_and(|shuffle| {
                shuffle.delta(epsilon) <= delta
                    || shuffle.epsilon_closed(delta).is_ok_and(|closed| closed <= epsilon)
            })
        };
        // Shuffling never harms: the whole's own epsilon is safe.
        let (mut low, mut high) = (epsilon, LOCAL);
        while high - low > 1e-6 * low {
            let middle = (low + high) / 2.0;
            if keeps(middle) { low = middle } else { high = middle }
        }
        Ok(low)
    }

    /// The least delta at this epsilon that the clones prove, rounded up. Of more than ten million people
    /// only this number is counted on, which is a bound, too.
    pub fn delta(&self, epsilon: f64) -> f64 {
        self.delta_within(epsilon, 12.0)
    }

    /// The same, splitting the counts of clones within this number of standard deviations; the others count in full.
    fn delta_within(&self, epsilon: f64, deviations: f64) -> f64 {
        let epsilon = epsilon.max(0.0);
        if epsilon >= self.local {
            return 0.0;
        }
        let others = self.people.min(MOST) - 1.0;
        let mean = others * self.clones;
        let reach = deviations * (mean * (1.0 - self.clones)).sqrt() + 40.0;
        let (low, high) = ((mean - reach).floor().max(0.0), (mean + reach).ceil().min(others));
        let (mut delta, mut given_up) = (0.0, 0.0);
        if low > 0.0 {
            given_up += tail(others, low - 1.0, self.clones, -1.0);
        }
        if high < others {
            given_up += tail(others, high + 1.0, self.clones, 1.0);
        }
        let mut count = low;
        while count <= high {
            let mass = mass(others, count, self.clones);
            // Far in the tail the split need not be computed.
            if mass < 1e-3 * number::TINY.max(given_up) {
                given_up += mass
            } else {
                delta += mass * self.split(count, epsilon)
            }
            count += 1.0;
        }
        probability_up(self.informative * (delta + given_up) * (1.0 + 1e-10))
    }

    /// The least epsilon at `delta` that the clones prove, rounded up; never above the reports' own.
    ///
    /// # Errors
    /// Names `delta` when it is no probability.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        let delta = number::probability("delta", delta)?;
        // Counts of clones that together have a hundred-millionth of delta need not be split.
        let reach = (2.0 * (1e8 / delta).ln()).sqrt();
        let over = |epsilon: f64| (self.delta_within(epsilon, reach) / delta).ln();
        let (mut low, mut above) = (0.0, over(0.0));
        if above <= 0.0 {
            return Ok(0.0);
        }
        let (mut high, mut below) = (self.local, f64::NEG_INFINITY);
        // False position held near the middle (Oliveira, Takahashi 2020): a dozen steps, never many more than
        // halving needs. Only what was checked is returned: the upper end.
        let mut radius = self.local;
        while high - low > 1e-9 * self.local {
            let (width, middle) = (high - low, low + (high - low) / 2.0);
            radius /= 2.0;
            let chord = if below.is_finite() { low + width * above / (above - below) } else { middle };
            let nudge = (0.1 * width * width / self.local).min((middle - chord).abs());
            let nudged = chord + nudge.copysign(middle - chord);
            let leash = (2.0 * radius - width / 2.0).max(0.0);
            let place = nudged.clamp(middle - leash, middle + leash);
            let value = over(place);
            if value <= 0.0 { (high, below) = (place, value) } else { (low, above) = (place, value) }
        }
        Ok(high)
    }

    /// The published closed form for any randomiser, rounded up: `ln(1 + (e^l - 1) / (e^l + 1) (8 sqrt(e^l
    /// ln(4/delta) / n) + 8 e^l / n))` where `l`, the reports' own epsilon, is at most `ln(n / (16
    /// ln(4/delta)))`; else `l` itself.
    ///
    /// # Errors
    /// Names `delta` when it is no probability.
    pub fn epsilon_closed(&self, delta: f64) -> Result<f64, Invalid> {
        let delta = number::probability("delta", delta)?;
        let (people, power, log) = (self.people, self.local.exp(), (4.0 / delta).ln());
        if self.local > (people / (16.0 * log)).ln() {
            return Ok(self.local);
        }
        let spread = 8.0 * (power * log / people).sqrt() + 8.0 * power / people;
        let epsilon = ((self.local / 2.0).tanh() * spread).ln_1p();
        Ok((epsilon * (1.0 + number::MARGIN)).min(self.local))
    }

    /// The hockey stick, given the number of clones: the terms that are positive, from the first one up. With
    /// `b(k) = P[Bin(clones, 1/2) = k]`, seeing `k` has probability `a b(k-1) + (1-a) b(k)` on one side and
    /// `(1-a) b(k-1) + a b(k)` on the other; their ratio rises with `k`.
    fn split(&self, clones: f64, epsilon: f64) -> f64 {
        let (power, likely) = (epsilon.exp(), 1.0 / (1.0 + (-self.local).exp()));
        let unlikely = 1.0 / (1.0 + self.local.exp());
        // a - e^epsilon (1-a) and e^epsilon a - (1-a), the first without cancellation.
        let gain = -unlikely * (epsilon - self.local).exp_m1() * self.local.exp();
        let loss = power * likely - unlikely;
        // Positive where gain k > loss (clones - k + 1).
        let first = (loss * (clones + 1.0) / (gain + loss)).floor() + 1.0;
        let (mut k, mut sum) = (first.max(1.0), 0.0);
        let mut mass = mass(clones, k - 1.0, 0.5);
        while k <= clones + 1.0 {
            let odds = (clones - k + 1.0) / k;
            let term = mass * (gain - odds * loss).max(0.0);
            sum += term;
            mass *= odds;
            // Masses fall faster than by the ratio reached, odds, from here on.
            if odds < 1.0 && mass * gain <= sum * (1.0 - odds) * 1e-13 {
                return sum + mass * gain / (1.0 - odds);
            }
            k += 1.0;
        }
        sum
    }
}

/// An upper bound of the binomial tail from `k` outwards: its first mass, and a geometric sum with the ratio
/// there.
fn tail(n: f64, k: f64, p: f64, direction: f64) -> f64 {
    let odds = p / (1.0 - p);
    let ratio = if direction > 0.0 { (n - k) / (k + 1.0) * odds } else { k / (n - k + 1.0) / odds };
    mass(n, k, p) / (1.0 - ratio)
}

// The binomial law's point masses with nearly all their digits, at any size (C. Loader, 2000).
//
// `n! / (k! (n-k)!)` through logarithms of factorials loses a digit for each digit of `n`. Here the large
// parts cancel on paper: what is left is Stirling's error, below 1/12, and a deviance that is small where the
// mass is not.

/// `P[Bin(n, p) = k]` for `p` inside 0..1, within a relative 1e-11 for `n` up to 2^27 and `k` within 12
/// standard deviations of the mean: what the rounding of the mean itself leaves.
pub(crate) fn mass(n: f64, k: f64, p: f64) -> f64 {
    let rest = n - k;
    if k < 0.0 || rest < 0.0 {
        return 0.0;
    }
    if k == 0.0 {
        return (n * (-p).ln_1p()).exp();
    }
    if rest == 0.0 {
        return (n * p.ln()).exp();
    }
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(rest)
        - deviance(k, n * p)
        - deviance(rest, n * (1.0 - p));
    exponent.exp() * (n / (2.0 * std::f64::consts::PI * k * rest)).sqrt()
}

/// `ln n! - ln(sqrt(2 pi n) (n/e)^n)` for whole `n` of 1 and more.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial = (1..=n as u32).fold(1.0, |product, k| product * f64::from(k));
        return f64::ln(factorial) - (n + 0.5) * n.ln() + n - 0.918_938_533_204_672_7;
    }
    // The next term is 691/360360 n^-11, below 1e-16 from 16 on.
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / n
}

/// `x ln(x / mean) + mean - x`, without cancellation where `x` is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let gap = (x - mean) / (x + mean);
    if gap.abs() > 0.1 {
        return x * (x / mean).ln() + mean - x;
    }
    // ln(x / mean) = 2 (v + v^3/3 + v^5/5 + ...), v the gap.
    let square = gap * gap;
    let tail = (1..12).rev().fold(0.0, |sum, k| square * (sum + 1.0 / f64::from(2 * k + 1)));
    (x - mean) * gap + 2.0 * x * gap * tail
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod binomial_tests {
    use super::*;

    #[test]
    fn masses_are_those_of_pascals_triangle() {
        let mut row = vec![1.0f64];
        for n in 1..60u32 {
            row = (0..=n as usize)
                .map(|k| row.get(k).unwrap_or(&0.0) * 0.7 + k.checked_sub(1).map_or(0.0, |k| row[k] * 0.3))
                .collect();
            for (k, truth) in row.iter().enumerate() {
                let found = mass(f64::from(n), k as f64, 0.3);
                assert!((found / truth - 1.0).abs() < 1e-12, "{n} {k}: {found:e} {truth:e}");
            }
        }
    }

    // Values: 60-digit arithmetic.
    #[test]
    fn masses_keep_their_digits_at_any_size() {
        for (n, k, p, truth) in [
            (1000000.0, 500000.0, 0.5, 0.00079788436133175),
            (1000000.0, 503000.0, 0.5, 1.21506690371731e-11),
            (100000000.0, 36787944.0, 0.36787944117144233, 8.27289187172923e-5),
            (100000000.0, 36700000.0, 0.36787944117144233, 4.70909024938196e-77),
            (1000000000.0, 3.0, 1e-09, 0.0613132401645838),
            (1000.0, 100.0, 0.5, 5.95893598036265e-162),
        ] {
            assert!((mass(n, k, p) / truth - 1.0).abs() < 1e-11, "{n} {k} {p}: {:e}", mass(n, k, p));
        }
    }
}
