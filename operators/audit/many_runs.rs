//! Probabilities that many runs, or many people, are a sample of.

use super::tails::{Binomial, largest_chance, least_chance};

/// The limits of a probability, of which some of a number of independent trials were a sample (Clopper and Pearson 1934).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// A number that is below the probability, but for one sample in `1 / level`.
    pub least: f64,
    /// A number that is above it, but for as many.
    pub most: f64,
}

impl Chance {
    /// States the limits at a level each.
    pub fn of(hits: u64, trials: u64, level: f64) -> Chance {
        let hits = hits.min(trials);
        Chance { least: least_chance(hits, trials, level), most: largest_chance(hits, trials, level) }
    }

    /// Returns the least epsilon of two mechanisms on neighbouring data, of which an event has this chance under one and that
    /// under the other; 0 if none follows.
    pub fn least_epsilon(&self, other: &Chance, delta: f64) -> f64 {
        libm::log((self.least - delta).max(f64::MIN_POSITIVE) / other.most).max(0.0)
    }
}

/// Returns the least number of hits that refutes a probability of `chance` at most, at a level: as many or more come with
/// probability `level` at most.
pub fn refuting_count(trials: u64, chance: f64, level: f64) -> u64 {
    Binomial::new(trials, chance).refuting_count(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a quantile that is one off. Values: the law of the binomial in another language.
    #[test]
    fn counts_that_refute_a_delta_are_those_of_its_law() {
        for (delta, people, count) in [
            (1e-4, 100_000, 25),
            (1e-4, 1_000_000, 140),
            (1e-4, 10_000_000, 1121),
            (1e-5, 100_000, 7),
            (1e-5, 1_000_000, 25),
            (1e-6, 100_000, 4),
            (1e-6, 1_000_000, 7),
            (1e-7, 100_000, 2),
        ] {
            assert_eq!(refuting_count(people, delta, 1e-4), count, "{delta} {people}");
        }
    }

    // Refutes one limit for both, and a delta that is not taken off. Laplace noise of epsilon 1 and 1.05, one step apart, at
    // the expected counts of 100,000 runs: the smaller one is not refuted, the larger one is.
    #[test]
    fn many_runs_find_a_larger_epsilon() {
        for (epsilon, found) in [(1.0_f64, false), (1.05, true)] {
            let runs = 100_000.0;
            let above = 1.0 / (1.0 + (-epsilon).exp());
            let [with, without] = [above, 1.0 - above]
                .map(|chance| Chance::of((runs * chance).round() as u64, 100_000, 1e-4 / 4.0));
            let least = with.least_epsilon(&without, 0.0);
            assert_eq!(least > 1.0, found, "{least}");
            assert!(with.least_epsilon(&without, 0.01) < least && without.least_epsilon(&with, 0.0) == 0.0);
        }
    }
}
