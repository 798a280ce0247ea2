//! Tails of the laws that audits compare with, and limits of a probability from a count.
//!
//! A p-value is rounded up and a limit outward, so that rounding refutes nothing.

use libm::{erfc, exp, lgamma, log, log1p};

/// The part by which a tail is rounded up: above the error of the sums below, which is less than 1e-11 of them.
const UP: f64 = 1.0 + 1e-10;

/// The binomial law of the number of successes in `trials` with probability `chance`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binomial {
    trials: u64,
    chance: f64,
}

impl Binomial {
    pub(super) fn new(trials: u64, chance: f64) -> Binomial {
        Binomial { trials, chance: chance.clamp(0.0, 1.0) }
    }

    /// Returns the probability of `count` successes.
    ///
    /// By its distance from the mean (Loader 2000): factorials of a million would leave no digits.
    pub(super) fn at(&self, count: u64) -> f64 {
        let (n, k) = (self.trials as f64, count as f64);
        if count > self.trials {
            return 0.0;
        }
        if self.chance == 0.0 || self.chance == 1.0 {
            return f64::from(u8::from(k == n * self.chance));
        }
        if count == 0 {
            return exp(n * log1p(-self.chance));
        }
        if count == self.trials {
            return exp(n * log(self.chance));
        }
        let around = excess(k, n * self.chance) + excess(n - k, n * (1.0 - self.chance));
        let factorials = beyond_stirling(n) - beyond_stirling(k) - beyond_stirling(n - k);
        exp(factorials - around) * (n / (std::f64::consts::TAU * k * (n - k))).sqrt()
    }

    /// Returns the probability of `count` successes or more, rounded up.
    pub(super) fn at_least(&self, count: u64) -> f64 {
        if count == 0 {
            return 1.0;
        }
        // The tail without the mean is the smaller one, and its terms fall from the first.
        if count as f64 > self.trials as f64 * self.chance {
            return (self.sum_from(count) * UP).min(1.0);
        }
        let below = Binomial::new(self.trials, 1.0 - self.chance).sum_from(self.trials - count + 1);
        (1.0 - below / UP).clamp(0.0, 1.0)
    }

    /// Adds the probabilities of `count` and more, which is above the mean.
    fn sum_from(&self, count: u64) -> f64 {
        if count > self.trials {
            return 0.0;
        }
        let first = self.at(count);
        let odds = self.chance / (1.0 - self.chance);
        let (mut term, mut sum) = (1.0, 1.0);
        for k in count..self.trials {
            term *= (self.trials - k) as f64 / (k + 1) as f64 * odds;
            sum += term;
            if term < sum * 1e-18 {
                break;
            }
        }
        first * sum
    }

    /// Returns the least count that as many successes or more come to with probability `level` at most.
    pub(super) fn refuting_count(&self, level: f64) -> u64 {
        let (mut low, mut high) = (0, self.trials + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_least(middle) <= level { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// Returns `x ln(x / mean) + mean - x`, by its series where the two are near.
fn excess(x: f64, mean: f64) -> f64 {
    let apart = (x - mean) / (x + mean);
    if apart.abs() >= 0.1 {
        return x * log(x / mean) + mean - x;
    }
    // 2 x (a + a^3/3 + ..) - (x - mean), with a = apart.
    let square = apart * apart;
    let (mut power, mut sum) = (2.0 * x * apart, (x - mean) * apart);
    for odd in (3..200).step_by(2) {
        power *= square;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// Returns `ln n! - ln(sqrt(2 pi n) (n / e)^n)`.
fn beyond_stirling(n: f64) -> f64 {
    if n < 16.0 {
        return lgamma(n + 1.0) - (n + 0.5) * log(n) + n - log(std::f64::consts::TAU) / 2.0;
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / n
}

/// Returns the least probability that is not refuted by `hits` of `trials` (Clopper and Pearson 1934): below the truth
/// with probability `1 - level` at least.
pub(super) fn least_chance(hits: u64, trials: u64, level: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if Binomial::new(trials, middle).at_least(hits) <= level { low = middle } else { high = middle }
    }
    low
}

/// Returns the largest probability that is not refuted by `hits` of `trials`.
pub(super) fn largest_chance(hits: u64, trials: u64, level: f64) -> f64 {
    1.0 - least_chance(trials - hits.min(trials), trials, level)
}

/// Returns `P[N(0, 1) <= x]`.
pub(super) fn normal(x: f64) -> f64 {
    erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

/// Returns the quantile of the normal law, by Newton's method in the logarithm of its tail.
pub(super) fn normal_quantile(chance: f64) -> f64 {
    if chance <= 0.0 || chance >= 1.0 {
        return if chance <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if chance > 0.5 {
        return -normal_quantile(1.0 - chance);
    }
    // Abramowitz and Stegun (1964), 26.2.23: right to 4.5e-4, of which each step leaves the square.
    let t = (-2.0 * log(chance)).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = above / below - t;
    for _ in 0..3 {
        let tail = normal(x);
        let density = exp(-x * x / 2.0) / std::f64::consts::TAU.sqrt();
        x -= log(tail / chance) * tail / density;
    }
    x
}

/// Returns the probability that a sum of `freedom` squares of normal numbers, which need be no whole number, is at most
/// `sum`.
pub(super) fn sum_of_squares_at_most(sum: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, sum / 2.0);
    if x <= 0.0 {
        return 0.0;
    }
    // The density of a gamma law, times x: x^a e^-x / Gamma(a + 1) = the Poisson weight of a, by Loader's way.
    let weight = exp(-excess(a, x) - beyond_stirling(a)) / (std::f64::consts::TAU * a).sqrt();
    if x < a + 1.0 {
        let (mut term, mut total) = (1.0, 1.0);
        let mut next = a + 1.0;
        while term > total * 1e-17 {
            term *= x / next;
            total += term;
            next += 1.0;
        }
        return (weight * total).min(1.0);
    }
    // The tail beyond, by the continued fraction of Legendre (modified by Lentz).
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::MAX, 1.0 / b);
    let mut fraction = d;
    for step in 1..100_000 {
        let step = f64::from(step);
        let numerator = -step * (step - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (1.0 - weight * a * fraction).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, truth: f64, within: f64) {
        assert!((found / truth - 1.0).abs() <= within, "{found:e} is not {truth:e}");
    }

    // Refutes a lost term, a tail of the wrong side and a rounding down. Values: sums of rationals.
    #[test]
    fn binomial_tails_are_sums_of_their_terms() {
        for (trials, chance) in [(1, 0.5), (7, 0.3), (40, 0.9), (200, 0.01)] {
            let law = Binomial::new(trials, chance);
            let mut row = vec![1.0];
            for _ in 0..trials {
                let mut next = vec![0.0; row.len() + 1];
                for (k, at) in row.iter().enumerate() {
                    next[k] += at * (1.0 - chance);
                    next[k + 1] += at * chance;
                }
                row = next;
            }
            // Below are numbers with fewer digits.
            for k in (0..=trials).filter(|k| row[*k as usize] > 1e-300) {
                close(law.at(k), row[k as usize], 1e-11);
                let tail: f64 = row[k as usize..].iter().rev().sum();
                close(law.at_least(k), tail, 1e-9);
                assert!(law.at_least(k) >= tail * (1.0 - 1e-12), "{trials} {chance} {k}");
            }
            assert_eq!(law.at_least(trials + 1), 0.0);
        }
        assert_eq!(Binomial::new(5, 1.0).at_least(5), 1.0);
    }

    // Refutes a mean for a limit, and a limit that is never reached.
    #[test]
    fn limits_of_a_probability_are_those_of_clopper_and_pearson() {
        // (1 - level)-th roots, where all or none hit.
        close(least_chance(10, 10, 0.05), 0.05_f64.powf(0.1), 1e-8);
        close(largest_chance(0, 10, 0.05), 1.0 - 0.05_f64.powf(0.1), 1e-8);
        assert_eq!((least_chance(0, 10, 0.05), largest_chance(10, 10, 0.05)), (0.0, 1.0));
        let low = least_chance(7310, 10_000, 1e-4);
        close(Binomial::new(10_000, low).at_least(7310), 1e-4, 1e-6);
        assert!(low < 0.731 && low > 0.71);
    }

    // Refutes a quantile of the other tail, and one that is right to a thousandth only.
    #[test]
    fn quantiles_are_those_of_the_normal_law() {
        close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-13);
        close(normal_quantile(1e-4), -3.719_016_485_455_709, 1e-13);
        for chance in [1e-300, 1e-20, 0.01, 0.4, 0.6, 0.999] {
            close(normal(normal_quantile(chance)), chance, 1e-12);
        }
        assert!(normal_quantile(0.5).abs() < 1e-15);
    }

    // Refutes half of the degrees of freedom. Values: closed forms for two and four degrees, and the table for 10.
    #[test]
    fn sums_of_squares_have_the_law_of_chi_squared() {
        for x in [0.1, 1.0, 3.0, 20.0] {
            close(sum_of_squares_at_most(x, 2.0), -libm::expm1(-x / 2.0), 1e-10);
            close(sum_of_squares_at_most(x, 4.0), 1.0 - exp(-x / 2.0) * (1.0 + x / 2.0), 1e-9);
        }
        close(sum_of_squares_at_most(18.307_038_053_275_146, 10.0), 0.95, 1e-10);
        // By the normal law of the cube root (Wilson and Hilferty 1931), to a few parts in a thousand.
        for (sum, freedom) in [(9_500.0_f64, 10_000.0_f64), (995_000.0, 1e6), (10_300.0, 10_000.0)] {
            let spread = 2.0 / (9.0 * freedom);
            let rooted = ((sum / freedom).cbrt() - 1.0 + spread) / f64::sqrt(spread);
            close(sum_of_squares_at_most(sum, freedom), normal(rooted), 0.01);
        }
    }
}
