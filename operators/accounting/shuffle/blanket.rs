//! The blanket of a randomizer: the part of its law that is common to all inputs.
//!
//! A report is drawn, with probability `gamma`, from a law that no input has a part in. Let it be known who is not in this
//! blanket, and what these people reported: somebody's own report hides among the reports of the others who are in it. Each
//! report of the blanket looks like the one input (`b = 1`), like the other one (`b' = 1`), or like neither; with `E =
//! e^epsilon_0`, `G ~ Bern(gamma)` and `P(b = 1) = P(b' = 1) = p`,
//!
//! `delta(epsilon) = E[(sum over people of G (E^b - e^epsilon E^b'))_+] / people`, `gamma = 1 / (1 + (E - 1) p)`
//!
//! (Balle, Bell, Gascón, Nissim 2019, whose sum over the number of the others in the blanket is put into one over all people).
//! A report that can look like both inputs counts as one that looks like either: the terms `E (1 - e^epsilon)` and `1 -
//! e^epsilon` are spread to `E - e^epsilon` and `1 - e^epsilon E` with the same mean, which only raises the expectation of a
//! convex function. So `b` and `b'` exclude each other here, and one sum serves all randomizers.
//!
//! With `S` reports that look like one of the two, `A ~ Bin(S, 1/2)` of them like the first, and `C` like neither, the sum is
//! `g A - l (S - A) - d C` where `g = E - e^epsilon`, `l = e^epsilon E - 1` and `d = e^epsilon - 1`. That is `(g + l)(x - (S -
//! A))` with `x = (g S - d C) / (g + l)`, without a difference of large numbers where a report says nearly everything.

use super::binomial::{around, mass, tail};

/// The blanket of a randomizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Blanket {
    /// The local epsilon of a report.
    pub(super) local: f64,
    /// The probability that a report of the blanket looks like an input.
    pub(super) likeness: f64,
}

/// The number of buckets into which the numbers of reports like neither input are put: each counts with its least number, which
/// is an upper bound, for the expectation falls with it.
const BUCKETS: f64 = 1024.0;

/// The part of a standard deviation by which the law of these numbers may be taken too small, over a block of `S`.
const BLOCK: f64 = 0.01;

impl Blanket {
    /// Returns the probability that a report is of the blanket.
    pub(super) fn gamma(&self) -> f64 {
        1.0 / (1.0 + self.local.exp_m1() * self.likeness)
    }

    /// Returns the probability that a report is of the blanket and looks like one of the two inputs.
    fn like_one(&self) -> f64 {
        2.0 * self.gamma() * self.likeness
    }

    /// Returns the probability that a report looks like neither input, or is not of the blanket. It is computed by itself, for
    /// where a report says nearly nothing the other probability is 1 but for a rounding.
    fn unlike(&self) -> f64 {
        let spread = self.local.exp_m1() * self.likeness;
        (1.0 - 2.0 * self.likeness + spread) / (1.0 + spread)
    }

    /// Returns the probability that `like` of all reports look like one of the two inputs.
    fn mass_of_like(&self, people: f64, like: f64) -> f64 {
        match self.like_one() {
            like_one if like_one <= 0.5 => mass(people, like, like_one),
            _ => mass(people, people - like, self.unlike()),
        }
    }

    /// Returns delta at this epsilon for so large a number of people, but for rounding; `S` and `C` beyond this number of
    /// standard deviations count in full.
    pub(super) fn delta(&self, people: f64, epsilon: f64, deviations: f64) -> f64 {
        let like_one = self.like_one();
        let neither = self.gamma() * (1.0 - 2.0 * self.likeness).max(0.0) / self.unlike();
        let (low, high) = around(people, like_one, deviations);
        // Each of all reports adds E at most.
        let mut left = 0.0;
        if low > 0.0 {
            left += tail(people, low - 1.0, like_one, -1.0);
        }
        if high < people {
            left += tail(people, high + 1.0, like_one, 1.0);
        }
        let width = (BLOCK * ((people - low) * neither * (1.0 - neither)).sqrt()).floor().max(1.0);
        let (mut sum, mut first) = (0.0, low);
        while first <= high {
            let last = (first + width - 1.0).min(high);
            // Fewer are like neither where more are like one of the two, so the law of the last `S` bounds those of the block.
            let law = NeitherLaw::new(people - last, neither, deviations);
            let mut like = first;
            while like <= last {
                if like > 0.0 {
                    sum += self.mass_of_like(people, like) * self.given(like, epsilon, (&law, deviations));
                }
                like += 1.0;
            }
            first = last + 1.0;
        }
        sum / people + left * self.local.exp()
    }

    /// Returns the expectation, given that `like` reports look like one of the two inputs.
    fn given(&self, like: f64, epsilon: f64, (law, deviations): (&NeitherLaw, f64)) -> f64 {
        // The first without cancellation.
        let gain = -self.local.exp() * (epsilon - self.local).exp_m1();
        let both = gain + (epsilon + self.local).exp_m1();
        let sums = TailSums::new(like, deviations);
        let by_neither = |neither: f64| {
            let least = (gain * like - neither * epsilon.exp_m1()) / both;
            both * sums.positive_part(least)
        };
        let of_buckets = law.buckets.iter().map(|(neither, mass)| mass * by_neither(*neither));
        of_buckets.sum::<f64>() + law.left * like * gain
    }
}

/// The law of the number of reports like neither input, in buckets.
struct NeitherLaw {
    /// The least number of a bucket, and the mass of all of its numbers.
    buckets: Vec<(f64, f64)>,
    /// The mass of the numbers below.
    left: f64,
}

impl NeitherLaw {
    fn new(others: f64, neither: f64, deviations: f64) -> NeitherLaw {
        if neither <= 0.0 || others < 1.0 {
            return NeitherLaw { buckets: vec![(0.0, 1.0)], left: 0.0 };
        }
        let (low, high) = around(others, neither, deviations);
        let left = if low > 0.0 { tail(others, low - 1.0, neither, -1.0) } else { 0.0 };
        let width = ((high - low + 1.0) / BUCKETS).ceil();
        let odds = neither / (1.0 - neither);
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        let (mut number, mut of_one) = (low, mass(others, low, neither));
        // Far from the mean the first mass may be too small for a float: it is taken anew until it is not.
        while number <= high {
            let is_first = (number - low) % width == 0.0;
            if is_first || of_one < f64::MIN_POSITIVE {
                of_one = mass(others, number, neither);
            }
            match buckets.last_mut().filter(|_| !is_first) {
                Some((_, sum)) => *sum += of_one,
                None => buckets.push((number, of_one)),
            }
            of_one *= (others - number) / (number + 1.0) * odds;
            number += 1.0;
        }
        if let Some((_, last)) = buckets.last_mut().filter(|_| high < others) {
            *last += tail(others, high + 1.0, neither, 1.0);
        }
        NeitherLaw { buckets, left }
    }
}

/// The sums of `P[A = j]`, and of `(count - j) P[A = j]`, over all `j` from one on, for `A ~ Bin(count, 1/2)`.
struct TailSums {
    count: f64,
    middle: f64,
    /// From the middle on.
    sums: Vec<(f64, f64)>,
    /// A bound of the sum of `(j - last) P[A = j]` over the `j` above the last one.
    beyond: f64,
}

/// The part by which a threshold is put up, for what the rounding of the sums may lose.
const SLACK: f64 = 1e-12;

impl TailSums {
    fn new(count: f64, deviations: f64) -> TailSums {
        let middle = (count / 2.0).floor();
        let (_, last) = around(count, 0.5, deviations);
        let mut masses = Vec::new();
        let (mut j, mut of_one, mut ratio) = (middle, mass(count, middle, 0.5), 0.0);
        while j <= last {
            masses.push((count - j, of_one));
            ratio = (count - j) / (j + 1.0);
            of_one *= ratio;
            j += 1.0;
        }
        let highest = masses.last().map_or(0.0, |(_, mass)| *mass);
        // Masses fall faster than by this ratio from here on.
        let after = highest * ratio / (1.0 - ratio);
        let beyond = after / (1.0 - ratio);
        let (mut whole, mut moment) = (after, (count - last) * after - beyond);
        let add = |(others, mass): &(f64, f64)| {
            whole += mass;
            moment += others * mass;
            (whole, moment)
        };
        let mut sums: Vec<(f64, f64)> = masses.iter().rev().map(add).collect();
        sums.reverse();
        TailSums { count, middle, sums, beyond }
    }

    /// Returns the expectation of `(x - (count - A))_+`, for `x` of half the count at most.
    fn positive_part(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        let x = x * (1.0 + SLACK);
        // The most of the others at which it is positive.
        let others = x.ceil() - 1.0;
        match self.sums.get((self.count - others - self.middle).max(0.0) as usize) {
            Some((whole, moment)) => (x * whole - moment).max(0.0),
            None => self.beyond,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The sum by its definition: every number of reports of each kind.
    fn enumerated(people: usize, (local, likeness): (f64, f64), epsilon: f64) -> f64 {
        let blanket = Blanket { local, likeness };
        let (gamma, power, one) = (blanket.gamma(), local.exp(), epsilon.exp());
        let chances = [gamma * likeness, gamma * likeness, gamma * (1.0 - 2.0 * likeness), 1.0 - gamma];
        let values = [power - one, 1.0 - one * power, 1.0 - one];
        let factorial = |n: usize| (1..=n).fold(1.0, |product, k| product * k as f64);
        let mut sum = 0.0;
        for first in 0..=people {
            for second in 0..=people - first {
                for neither in 0..=people - first - second {
                    let counts = [first, second, neither, people - first - second - neither];
                    let ways = counts.iter().fold(factorial(people), |ways, count| ways / factorial(*count));
                    let chance = counts
                        .iter()
                        .zip(chances)
                        .fold(ways, |chance, (count, each)| chance * each.powi(*count as i32));
                    let value: f64 =
                        counts.iter().zip(values).map(|(count, value)| *count as f64 * value).sum();
                    sum += chance * value.max(0.0);
                }
            }
        }
        sum / people as f64
    }

    // Refutes a threshold off by one, a term of the wrong sign, and a law of the wrong parameter.
    #[test]
    fn small_batches_are_enumerated() {
        for people in [2, 3, 5, 12] {
            for local in [0.1, 1.0, 2.0, 4.0, 12.0, 19.0] {
                for likeness in [0.5, 1.0 / 3.0, 0.1, 1.0 / 128.0] {
                    for epsilon in [0.0, 0.2, 0.05 * local, 0.5 * local, 0.9 * local, local - 1e-6] {
                        let found = Blanket { local, likeness }.delta(people as f64, epsilon, 12.0);
                        let truth = enumerated(people, (local, likeness), epsilon);
                        let error = found - truth;
                        assert!(
                            error.abs() <= 1e-7 * truth + 1e-16,
                            "{people} {local} {likeness} {epsilon}: {found:e} {truth:e}"
                        );
                    }
                }
            }
        }
        // Values of an independent program.
        for (people, local, likeness, epsilon, delta) in [
            (2.0, 1.0, 0.5, 0.2, 0.29430429),
            (5.0, 2.0, 1.0 / 3.0, 0.5, 0.37569584),
            (10.0, 1.0, 0.1, 0.2, 0.022964999),
        ] {
            let found = Blanket { local, likeness }.delta(people, epsilon, 12.0);
            assert!((found / delta - 1.0).abs() < 3e-8, "{people}: {found}");
        }
    }

    // Refutes numbers that are left out and do not count in full, and buckets that count with more than their least number.
    #[test]
    fn what_is_not_summed_counts_in_full() {
        for (people, local, likeness, epsilon) in
            [(4_000.0, 1.0, 0.25, 0.05), (3_000.0, 3.0, 0.02, 0.3), (20_000.0, 2.0, 0.5, 0.05)]
        {
            let blanket = Blanket { local, likeness };
            let [few, usual, many] =
                [0.0, 6.0, 12.0].map(|deviations| blanket.delta(people, epsilon, deviations));
            assert!(few >= many && usual >= many * (1.0 - 1e-10), "{few:e} {usual:e} {many:e}");
            assert!(usual <= many * (1.0 + 1e-4) + 1e-8, "{usual:e} {many:e}");
            let (low, high) = around(people, blanket.like_one(), 0.0);
            let is_left = |like: &f64| *like < low || *like > high;
            let left = (0..=people as u64).map(|like| like as f64).filter(is_left);
            let left: f64 = left.map(|like| mass(people, like, blanket.like_one())).sum();
            assert!(few >= left * local.exp(), "{few:e} {left:e}");
        }
    }

    #[test]
    fn tail_sums_are_those_of_the_law() {
        for count in [1.0, 2.0, 7.0, 30.0, 1_001.0] {
            let sums = TailSums::new(count, 40.0);
            for x in [1e-9, 0.3, 1.0, 1.5, 0.2 * count, 0.4 * count, 0.5 * count] {
                let of = |j: u64| mass(count, j as f64, 0.5) * (x - (count - j as f64)).max(0.0);
                let truth: f64 = (0..=count as u64).map(of).sum();
                let found = sums.positive_part(x);
                let error = (found - truth).abs();
                assert!(error <= 1e-8 * truth + 1e-245, "{count} {x}: {found:e} {truth:e}");
            }
        }
    }
}
