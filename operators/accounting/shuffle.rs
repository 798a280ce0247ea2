//! Amplification by shuffling: reports that are each weakly private become strongly private once nobody can
//! link them to people.
//!
//! `people` people each send one report of an `epsilon_0`-locally private randomizer; only the sorted
//! multiset of reports is seen. Somebody's own report hides among the reports of others that could as well be
//! theirs. The promise is for one person's data *replaced*
//! ([`Relation::Replace`](super::Relation::Replace)); for one person more or less, let the absent report from
//! a fixed input, so that the number of reports is public and never changes. `people` is the least number of
//! *honest* reports.
//!
//! Of **any** randomizer the clones hide a report (Feldman, McMillan, Talwar 2021, with every sum computed): let `C ~
//! Bin(people - 1, e^-epsilon_0)` be the clones, `A ~ Bin(C, 1/2)` those that look like the first input, and the person's own
//! report look like it with probability `a = e^epsilon_0 / (1 + e^epsilon_0)` or `1 - a`. Then delta is the hockey
//! stick between `A + Bern(a)` and `A + Bern(1 - a)`, `C` known.
//!
//! Of a randomizer whose law is known its [blanket](blanket) hides more: of randomised response among `k` choices `p = 1/k`, of
//! unary reports `p = 1 / (e^epsilon_0 + 1)`, and of Hadamard responses and of vectors of signs, in any dimension, `p = 1/2` as of two
//! choices. Beside the bound of responses stands the cost that they [really have](attained) in one case, which no analysis
//! can go below.

mod attained;
mod binomial;
mod blanket;

use super::number;
use super::number::probability_up;
use crate::invalid::{Invalid, InvalidKind};
use binomial::{around, mass, tail};
use blanket::Blanket;

/// The most people over whom the sum over clones is taken: a second or two of work.
const MOST: f64 = 1e7;

/// The most people over whom the sum over a blanket is taken: some seconds of work.
const MOST_OF_BLANKET: f64 = 2e6;

/// The largest epsilon of a report by itself that is accepted: it is the truth but for one in half a billion.
const LOCAL: f64 = 20.0;

/// The randomizer of a person's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Randomizer {
    /// Any locally private randomiser, the same for everybody in the batch.
    Any,
    /// The truth with probability `e^epsilon_0 / (e^epsilon_0 + choices - 1)`, else another choice. Hadamard responses and vectors
    /// of signs cost no more than two choices.
    Response {
        /// The number of choices.
        choices: u32,
    },
    /// A bit for each choice: the true one is 1 with probability 1/2, and each other one with `1 / (e^epsilon_0 + 1)`.
    Unary,
}

/// A shuffled batch of reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shuffle {
    people: f64,
    local: f64,
    randomizer: Randomizer,
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
        match randomizer {
            Randomizer::Response { choices: 0 | 1 } => {
                Err(Invalid::new("choices", InvalidKind::TooSmall, "at least 2"))
            }
            _ => Ok(Shuffle { people, local, randomizer }),
        }
    }

    /// The probability that a report is a clone.
    fn clones(&self) -> f64 {
        match self.randomizer {
            Randomizer::Response { choices: 2 } => 2.0 / (self.local.exp() + 1.0),
            _ => (-self.local).exp(),
        }
    }

    /// The blanket of the randomizer; `None` where its law is not known, and for two choices, whose blanket is the clones: their
    /// sum is the shorter one.
    fn blanket(&self) -> Option<Blanket> {
        let likeness = match self.randomizer {
            Randomizer::Any | Randomizer::Response { choices: 2 } => return None,
            Randomizer::Response { choices } => 1.0 / f64::from(choices),
            Randomizer::Unary => 1.0 / (self.local.exp() + 1.0),
        };
        Some(Blanket { local: self.local, likeness })
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

    /// The least delta at this epsilon that the exact sum proves, rounded up. Of more than ten million people, or two million
    /// by a blanket, only this number is counted on, which is a bound, too.
    pub fn delta(&self, epsilon: f64) -> f64 {
        self.delta_within(epsilon, 12.0)
    }

    /// The same, summed over the counts within this number of standard deviations; the others count in full.
    fn delta_within(&self, epsilon: f64, deviations: f64) -> f64 {
        let epsilon = epsilon.max(0.0);
        if epsilon >= self.local {
            return 0.0;
        }
        let delta = match self.blanket() {
            Some(blanket) => blanket.delta(self.people.min(MOST_OF_BLANKET), epsilon, deviations),
            None => self.by_clones(self.people.min(MOST), epsilon, deviations),
        };
        probability_up(delta * (1.0 + 1e-10))
    }

    fn by_clones(&self, people: f64, epsilon: f64, deviations: f64) -> f64 {
        let (others, clones) = (people - 1.0, self.clones());
        let (low, high) = around(others, clones, deviations);
        let (mut delta, mut given_up) = (0.0, 0.0);
        if low > 0.0 {
            given_up += tail(others, low - 1.0, clones, -1.0);
        }
        if high < others {
            given_up += tail(others, high + 1.0, clones, 1.0);
        }
        let mut count = low;
        while count <= high {
            let mass = mass(others, count, clones);
            // Far in the tail the split need not be computed.
            if mass < 1e-3 * number::TINY.max(given_up) {
                given_up += mass
            } else {
                delta += mass * self.split(count, epsilon)
            }
            count += 1.0;
        }
        delta + given_up
    }

    /// The least epsilon at `delta` that the exact sum proves, rounded up; never above the reports' own.
    ///
    /// # Errors
    /// Names `delta` when it is no probability.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        let delta = number::probability("delta", delta)?;
        // Counts that together have a hundred-millionth of delta need not be summed.
        let reach = (2.0 * (1e8 / delta).ln()).sqrt();
        Ok(self.least(|epsilon| (self.delta_within(epsilon, reach) / delta).ln()))
    }

    /// An epsilon at `delta` that no analysis of these reports can go below, rounded down; `None` where none is known.
    ///
    /// # Errors
    /// Names `delta` when it is no probability.
    pub fn epsilon_attained(&self, delta: f64) -> Result<Option<f64>, Invalid> {
        let delta = number::probability("delta", delta)?;
        let Randomizer::Response { choices } = self.randomizer else { return Ok(None) };
        let attained = |epsilon: f64| attained::delta((self.people, self.local), choices, epsilon);
        if attained(0.0).is_none() {
            return Ok(None);
        }
        let over = |epsilon: f64| (attained(epsilon).unwrap_or(0.0).max(number::TINY) / delta).ln();
        // The search ends within a part in a billion above the place where delta is attained.
        let place = self.least(over);
        Ok(Some((place - 2e-9 * self.local).max(0.0)))
    }

    /// The least epsilon at which a falling function is not positive, to a part in a billion of the local epsilon; what is
    /// returned was checked.
    fn least(&self, over: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut above) = (0.0, over(0.0));
        if above <= 0.0 {
            return 0.0;
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
        high
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

#[cfg(test)]
mod tests;
