//! Lower bounds on the privacy loss of one run, from guesses of which canaries were in the data.
//!
//! Each canary is in the data by an independent fair coin. Afterwards some coins are guessed from what was released: those
//! of the canaries with the highest scores as heads, those with the lowest as tails. The number of guesses is fixed before.
//! Nothing else is assumed of the mechanism, which may be of any kind and treat canaries together.

use super::tails::{Binomial, normal_quantile};
use super::trade_off::TradeOff;
use crate::accounting::GaussianCost;

/// The guesses of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    canaries: u64,
    guessed: u64,
    right: u64,
}

/// The largest epsilon and mu that are searched.
const LARGEST: f64 = 64.0;

impl Guesses {
    /// States a number of right guesses among a number of canaries.
    pub fn new(canaries: u64, guessed: u64, right: u64) -> Guesses {
        let guessed = guessed.min(canaries);
        Guesses { canaries, guessed, right: right.min(guessed) }
    }

    /// Guesses the coins of half of `guesses` canaries from either end of their scores, of which each comes with its coin.
    ///
    /// Equal scores are guessed in the order in which they are given, which must not depend on the coins.
    pub fn from_scores(scores: &[(f64, bool)], guesses: usize) -> Guesses {
        let mut order: Vec<&(f64, bool)> = scores.iter().collect();
        order.sort_by(|one, other| one.0.total_cmp(&other.0));
        let half = (guesses / 2).min(scores.len() / 2);
        let low = order.iter().take(half).filter(|(_, inside)| !inside).count();
        let high = order.iter().rev().take(half).filter(|(_, inside)| *inside).count();
        Guesses::new(scores.len() as u64, 2 * half as u64, (low + high) as u64)
    }

    /// The number of canaries.
    pub fn canaries(&self) -> u64 {
        self.canaries
    }

    /// The number of coins that were guessed.
    pub fn guessed(&self) -> u64 {
        self.guessed
    }

    /// The number of coins that were guessed right.
    pub fn right(&self) -> u64 {
        self.right
    }

    /// Returns the probability, rounded up, of as many right guesses or more of a mechanism that is
    /// (epsilon, delta)-private (Steinke, Nasr and Jagielski 2023, theorem 5.2).
    pub fn p_value(&self, epsilon: f64, delta: f64) -> f64 {
        let law = Binomial::new(self.guessed, 1.0 / (1.0 + libm::exp(-epsilon)));
        let beyond = law.at_least(self.right);
        if delta == 0.0 {
            return beyond;
        }
        // The largest mean of the probabilities of the counts just below.
        let (mut sum, mut largest) = (0.0, 0.0_f64);
        for fewer in 1..=self.right {
            sum += law.at(self.right - fewer);
            largest = largest.max(sum / fewer as f64);
        }
        (beyond + 2.0 * self.canaries as f64 * delta * largest * (1.0 + 1e-10)).min(1.0)
    }

    /// Returns the largest epsilon, rounded down, that is refuted at a level, with this delta; 0 if none is.
    pub fn least_epsilon(&self, delta: f64, level: f64) -> f64 {
        largest_refuted(|epsilon| self.p_value(epsilon, delta) <= level)
    }

    /// Returns true if these guesses refute, at a level, that the mechanism is no easier to tell than `law`
    /// (Mahloujifar, Melis and Chaudhuri 2024, algorithm 3).
    pub fn refute(&self, law: &TradeOff, level: f64) -> bool {
        let (all, guessed, right) = (self.canaries as f64, self.guessed as f64, self.right);
        if right == 0 {
            return false;
        }
        let most = guessed / all;
        let mut hits = level * right as f64 / all;
        let mut misses = level * (guessed - right as f64) / all;
        for fewer in (0..right).rev() {
            let next = misses.max(law.least_under_other(hits));
            // Nothing changes from here on.
            if next == misses {
                break;
            }
            hits += fewer as f64 / (guessed - fewer as f64) * (next - misses);
            misses = next;
            if hits + misses > most {
                return true;
            }
        }
        hits + misses > most
    }

    /// Returns the largest mu, rounded down, for which these guesses refute Gaussian differential privacy; 0 if there is
    /// none.
    pub fn least_mu(&self, level: f64) -> f64 {
        largest_refuted(|mu| self.refute(&TradeOff::Gaussian { mu }, level))
    }
}

/// Returns the largest number up to which all are refuted, rounded down.
fn largest_refuted(refuted: impl Fn(f64) -> bool) -> f64 {
    if !refuted(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, LARGEST);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if refuted(middle) { low = middle } else { high = middle }
    }
    low
}

/// Returns the epsilon of a mu at this delta; 0 for no mu.
pub fn epsilon_of_mu(mu: f64, delta: f64) -> f64 {
    let cost = GaussianCost::new(1.0, mu).and_then(|cost| cost.epsilon(delta));
    cost.unwrap_or(0.0)
}

/// Returns the number of canaries from which noise of `ratio` times its stated deviation is refuted with probability 9/10.
///
/// By the normal law of a sum of squares, whose deviation is `sqrt(2 / canaries)` of it.
pub fn canaries_for(ratio: f64, level: f64) -> u64 {
    let square = ratio * ratio;
    let apart = -normal_quantile(level) + -normal_quantile(0.1) * square;
    (2.0 * apart * apart / (1.0 - square).powi(2)).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a delta that is dropped, a tail that starts at the next count, and a mean over other counts. Values: the
    // formula in another language.
    #[test]
    fn p_values_and_lower_bounds_are_those_of_the_theorem() {
        for (guesses, epsilon, delta, p, lower) in [
            ((1000, 1000, 750), 1.0, 0.0, 0.093_514_492, 0.976_667),
            ((1000, 1000, 780), 1.0, 0.0, 2.144_891_8e-4, 1.138_226),
            ((1000, 100, 90), 1.0, 1e-5, 8.412_885_6e-4, 1.626_143),
            ((1000, 1000, 760), 1.0, 1e-5, 0.020_734_811, 1.028_744),
            ((1000, 100, 95), 1.0, 1e-5, 6.639_144_7e-4, 2.165_176),
            ((10_000, 1000, 1000), 4.0, 1e-6, 7.839_058_9e-4, 5.782_283),
            ((10_000, 100, 100), 2.0, 1e-6, 1.155_366_3e-3, 3.465_376),
            ((50, 50, 25), 0.0, 0.0, 0.556_137_59, 0.0),
        ] {
            let guesses = Guesses::new(guesses.0, guesses.1, guesses.2);
            let found = guesses.p_value(epsilon, delta);
            assert!((found / p - 1.0).abs() < 1e-6, "{guesses:?}: {found} {p}");
            let found = guesses.least_epsilon(delta, 0.05);
            assert!((found - lower).abs() < 2e-6, "{guesses:?}: {found} {lower}");
        }
    }

    // Refutes a step of the recursion that is left out, and a level that is not divided among the coins.
    #[test]
    fn lower_bounds_of_mu_are_those_of_the_recursion() {
        for (guesses, mu, epsilon) in [
            ((1000, 1000, 691), 0.339_404, 1.296_655),
            ((1000, 100, 95), 0.786_812, 3.323_300),
            ((10_000, 1000, 930), 0.787_196, 3.325_153),
            ((10_000, 10_000, 6915), 0.341_564, 1.305_763),
            ((10_000, 200, 197), 0.958_947, 4.170_102),
            ((100_000, 1000, 990), 1.093_646, 4.856_769),
        ] {
            let found = Guesses::new(guesses.0, guesses.1, guesses.2).least_mu(0.05);
            assert!((found - mu).abs() < 2e-6, "{guesses:?}: {found} {mu}");
            assert!((epsilon_of_mu(found, 1e-5) - epsilon).abs() < 1e-5, "{guesses:?}");
        }
    }

    // Refutes bounds that fall where more is guessed right, and a recursion that is weaker than the theorem.
    #[test]
    fn bounds_grow_with_right_guesses_and_the_level() {
        for (canaries, guessed) in [(500, 50), (1000, 1000)] {
            let mut former = (0.0, 0.0);
            for right in (guessed / 2..=guessed).step_by(7) {
                let guesses = Guesses::new(canaries, guessed, right);
                let found = (guesses.least_epsilon(1e-5, 0.01), guesses.least_mu(0.01));
                assert!(found.0 >= former.0 && found.1 >= former.1, "{guesses:?}");
                assert!(guesses.least_epsilon(1e-5, 0.05) >= found.0);
                assert!(Guesses::new(2 * canaries, guessed, right).least_epsilon(1e-5, 0.01) <= found.0);
                let pure = guesses.least_epsilon(0.0, 0.01);
                let law = |epsilon| TradeOff::Approximate { epsilon, delta: 0.0 };
                // Neither theorem is above the other for all guesses.
                assert!(pure < 0.05 || guesses.refute(&law(pure - 0.05), 0.01), "{guesses:?} {pure}");
                assert!(!guesses.refute(&law(pure + 0.05), 0.01), "{guesses:?} {pure}");
                former = found;
            }
        }
    }

    // Refutes guesses of one end alone, and the canaries in the middle.
    #[test]
    fn the_highest_scores_are_guessed_inside_and_the_lowest_outside() {
        let scores: Vec<(f64, bool)> = (0..10).map(|i| (f64::from(i), i >= 6 || i == 0)).collect();
        assert_eq!(Guesses::from_scores(&scores, 4), Guesses::new(10, 4, 3));
        assert_eq!(Guesses::from_scores(&scores, 7), Guesses::new(10, 6, 5));
        assert_eq!(Guesses::from_scores(&scores, 100), Guesses::new(10, 10, 8));
    }

    // Refutes a power that is not that of the test. Values: by the law of chi-squared.
    #[test]
    fn the_number_of_canaries_for_a_violation_is_that_of_the_test() {
        for (canaries, ratio) in [(1000.0, 0.8923), (10_000.0, 0.9651), (100_000.0, 0.9889)] {
            let found = canaries_for(ratio, 1e-4) as f64;
            assert!((found / canaries - 1.0).abs() < 0.1, "{ratio}: {found}");
        }
    }
}
