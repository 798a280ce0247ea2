//! Tests of released numbers against the law of noise that is stated for them.
//!
//! Sharper than guesses of coins, and they assume more: that the numbers have independent noise of a known law, as the
//! cells of a window have. A *residual* is a released number less what it would be without noise, in standard deviations
//! of the stated noise; a *score* is a number in the same unit that is expected to be larger by the same amount for each
//! canary that is in the data.

use super::tails::{normal, sum_of_squares_at_most};

/// The outcome of one test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawTest {
    /// The number that was measured: 1, or the stated shift, where all is as stated; a distance for a whole law.
    pub measured: f64,
    /// The value of the measured number at which the test refutes the claim.
    pub limit: f64,
    /// The probability, rounded up, of a number as far off or farther under the claim.
    pub p: f64,
}

impl LawTest {
    /// Returns true if the claim is refuted at a level.
    pub fn refutes(&self, level: f64) -> bool {
        self.p <= level
    }
}

/// Tests that the noise is not smaller than stated: by the sum of squares of independent residuals, of which each has
/// mean 0, variance 1 and this excess of its fourth moment over that of a normal law, 3.
///
/// The sum has the law of chi-squared for normal residuals; otherwise that of the same mean and variance, whose lower tail is
/// the larger one where the fourth moment is.
pub fn too_little_noise(residuals: &[f64], excess: f64, level: f64) -> LawTest {
    let count = residuals.len() as f64;
    let freedom = count * 2.0 / (2.0 + excess);
    let p = |square: f64| sum_of_squares_at_most(square * freedom, freedom);
    let square = residuals.iter().map(|residual| residual * residual).sum::<f64>() / count;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if p(middle) <= level { low = middle } else { high = middle }
    }
    LawTest { measured: square.sqrt(), limit: low.sqrt(), p: p(square) }
}

/// Tests that a canary moves its score by no more than `shift`: by the difference of the means of the scores of those
/// that are in the data and of those that are not. Each score comes with its coin.
pub fn too_much_shift(scores: &[(f64, bool)], shift: f64, level: f64) -> LawTest {
    let mean = |inside: bool| {
        let (mut sum, mut count) = (0.0, 0.0);
        for (score, _) in scores.iter().filter(|(_, coin)| *coin == inside) {
            (sum, count) = (sum + score, count + 1.0);
        }
        (sum / f64::max(count, 1.0), count)
    };
    let ((inside, ins), (outside, outs)) = (mean(true), mean(false));
    if ins == 0.0 || outs == 0.0 {
        return LawTest { measured: 0.0, limit: f64::INFINITY, p: 1.0 };
    }
    let deviation = f64::sqrt(1.0 / ins + 1.0 / outs);
    let measured = inside - outside;
    LawTest {
        measured,
        limit: shift - super::tails::normal_quantile(level) * deviation,
        p: normal((shift - measured) / deviation),
    }
}

/// Tests that integer residuals, in steps, have the law of which `up_to` is `P[Z <= at]`: by the largest distance from it,
/// whose tail is below `2 exp(-2 n d^2)` for any law (Massart 1990).
///
/// It finds any departure, such as noise that is too large or not symmetric, which is no loss of privacy by itself.
pub fn another_law(residuals: &mut [i64], up_to: impl Fn(i64) -> f64, level: f64) -> LawTest {
    residuals.sort_unstable();
    let count = residuals.len() as f64;
    let (mut distance, mut passed) = (0.0_f64, 0.0);
    for equal in residuals.chunk_by(|one, other| one == other) {
        let Some(at) = equal.first() else { continue };
        distance = distance.max((up_to(at - 1) - passed / count).abs());
        passed += equal.len() as f64;
        distance = distance.max((up_to(*at) - passed / count).abs());
    }
    let p = 2.0 * libm::exp(-2.0 * count * distance * distance);
    LawTest { measured: distance, limit: (libm::log(2.0 / level) / (2.0 * count)).sqrt(), p: p.min(1.0) }
}

/// Tests that two lists of residuals, of the same cells in two windows, have noise of their own: by their differences, which
/// vanish where noise is drawn once for both.
pub fn repeated_noise(one: &[f64], other: &[f64], excess: f64, level: f64) -> LawTest {
    let apart = |(one, other): (&f64, &f64)| (one - other) / std::f64::consts::SQRT_2;
    let apart: Vec<f64> = one.iter().zip(other).map(apart).collect();
    too_little_noise(&apart, excess / 2.0, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal numbers, as sums of dice.
    struct Dice(u64);

    impl Dice {
        fn part(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            super::super::tails::normal_quantile(self.part().max(1e-17))
        }

        fn coin(&mut self) -> bool {
            self.part() < 0.5
        }
    }

    fn normals(seed: u64, count: usize) -> Vec<f64> {
        let mut dice = Dice(seed);
        (0..count).map(|_| dice.normal()).collect()
    }

    // Refutes a variance where a deviation belongs, and a degree of freedom too few. Level 1e-4 a test; the noise that is
    // refuted in nine of ten runs is .9651 of what is stated at 10,000 residuals.
    #[test]
    fn noise_that_is_too_small_is_found_and_honest_noise_is_not() {
        let tests = |ratio: f64| {
            (0..40).filter(move |seed| {
                let residuals: Vec<f64> = normals(*seed, 10_000).iter().map(|z| z * ratio).collect();
                too_little_noise(&residuals, 0.0, 1e-4).refutes(1e-4)
            })
        };
        assert_eq!(tests(1.0).count(), 0);
        assert_eq!(tests(1.05).count(), 0);
        let found = tests(0.9651).count();
        assert!((30..=40).contains(&found), "{found}");
        assert_eq!(tests(0.94).count(), 40);
        let limit = too_little_noise(&normals(1, 10_000), 0.0, 1e-4).limit;
        assert!((limit - 0.974).abs() < 0.001, "{limit}");
    }

    // Refutes a lower tail for the noise of Laplace that is taken for a normal one. 2,000 runs of 400 residuals at level .01:
    // at most 39 are refuted with probability 1 - 1e-5.
    #[test]
    fn noise_of_heavy_tails_is_not_taken_for_too_little() {
        let refuted = (0..2000)
            .filter(|seed| {
                let mut dice = Dice(1000 + seed);
                let laplace = |dice: &mut Dice| {
                    let size = -libm::log(dice.part().max(1e-17)) / std::f64::consts::SQRT_2;
                    if dice.coin() { size } else { -size }
                };
                let residuals: Vec<f64> = (0..400).map(|_| laplace(&mut dice)).collect();
                too_little_noise(&residuals, 3.0, 0.01).refutes(0.01)
            })
            .count();
        assert!((1..=39).contains(&refuted), "{refuted}");
    }

    // Refutes a shift that is compared with the wrong side, and means of all scores together.
    #[test]
    fn a_canary_that_counts_twice_is_found() {
        let scores = |seed: u64, shift: f64| -> Vec<(f64, bool)> {
            let mut dice = Dice(seed);
            let mut score = || {
                let coin = dice.coin();
                (dice.normal() + if coin { shift } else { 0.0 }, coin)
            };
            (0..10_000).map(|_| score()).collect()
        };
        for seed in 0..20 {
            assert!(!too_much_shift(&scores(seed, 0.3), 0.3, 1e-4).refutes(1e-4));
            assert!(!too_much_shift(&scores(seed, 0.1), 0.3, 1e-4).refutes(1e-4));
            assert!(too_much_shift(&scores(seed, 0.6), 0.3, 1e-4).refutes(1e-4));
        }
        assert!(!too_much_shift(&[(5.0, true); 10], 0.3, 1e-4).refutes(1e-4));
    }

    // Refutes a distance at the points alone, and one that forgets equal residuals.
    #[test]
    fn another_law_of_noise_is_found() {
        let law = |at: i64| normal((at as f64 + 0.5) / 3.0);
        let drawn = |seed: u64, deviation: f64| -> Vec<i64> {
            normals(seed, 10_000).iter().map(|z| (z * deviation).round() as i64).collect()
        };
        for seed in 0..20 {
            assert!(!another_law(&mut drawn(seed, 3.0), law, 1e-4).refutes(1e-4));
            assert!(another_law(&mut drawn(seed, 2.6), law, 1e-4).refutes(1e-4));
            let mut one_sided = drawn(seed, 3.0).iter().map(|z| z.abs()).collect::<Vec<i64>>();
            assert!(another_law(&mut one_sided, law, 1e-4).refutes(1e-4));
        }
    }

    // Refutes a test that compares each window with its law alone.
    #[test]
    fn noise_that_is_drawn_once_for_two_windows_is_found() {
        let (one, other) = (normals(1, 1000), normals(2, 1000));
        assert!(!repeated_noise(&one, &other, 0.0, 1e-4).refutes(1e-4));
        assert!(repeated_noise(&one, &one, 0.0, 1e-4).refutes(1e-4));
        let half: Vec<f64> = one.iter().zip(&other).map(|(a, b)| (a + b) / 2_f64.sqrt()).collect();
        assert!(repeated_noise(&one, &half, 0.0, 1e-4).refutes(1e-4));
    }
}
