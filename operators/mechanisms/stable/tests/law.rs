//! The two noised numbers, against their guarantees.

use super::super::plan::{NoisedCount, ThresholdTest};
use crate::accounting::convert;

impl ThresholdTest {
    /// Returns the probability of PASS for a score, from a call for every noise.
    fn passes(&self, score: u32) -> f64 {
        let reach = 4 * self.k as i64;
        let most = (-reach..=reach).filter(|&noise| self.lets(score, noise)).max();
        most.map_or(0.0, |most| 1.0 - self.law.tail(most + 1))
    }
}

/// Returns the excess of an event's chance over `e^epsilon` times its chance under the neighbouring input.
fn excess(chance: f64, elsewhere: f64, epsilon: f64) -> f64 {
    chance - epsilon.exp() * elsewhere
}

/// Returns the largest violation of the guarantee by PASS or FAIL, over all scores within 2 and many
/// epsilons, given the probability that each score passes.
fn broken(test: &ThresholdTest, passes: impl Fn(u32) -> f64) -> f64 {
    let delta = test.law.tail(test.k as i64 / 2 - 1 - test.tau);
    let mut most = f64::NEG_INFINITY;
    let k = test.k as u32;
    for z in 0..=k {
        for other in z.saturating_sub(2)..=(z + 2).min(k) {
            let (here, there) = (passes(z), passes(other));
            for step in 0..40 {
                let epsilon = 0.05 * f64::from(step);
                let promised = delta + convert::delta_of_rho(test.law.rho(), f64::INFINITY, epsilon).unwrap();
                let pass = excess(here, there, epsilon) - promised;
                let fail = excess(1.0 - here, 1.0 - there, epsilon) - promised;
                most = most.max(pass).max(fail);
            }
        }
    }
    most
}

// Refutes a score that is compared whole, for it moves by 2, and one that passes at its cap.
#[test]
fn the_test_keeps_its_promise_for_all_scores_within_two() {
    for (rho, delta) in [(0.055, 5e-7), (0.122, 5e-7), (0.462, 5e-7), (2.0, 1e-3)] {
        let test = ThresholdTest::new(rho, delta).unwrap();
        let k = test.k as u32;
        let of: Vec<f64> = (0..=k).map(|score| test.passes(score)).collect();
        let at = |half: u32| of[(2 * half).min(k) as usize];
        assert!(of.iter().is_sorted_by(|one, next| one >= next) && of[k as usize] == 0.0);
        assert!(broken(&test, |z| of[z as usize]) <= 1e-12, "{test:?}");
        assert!(of[0] >= 0.999, "a score without outliers passes");
        // The mutants: one compares z itself; one lets the last step pass, and drops to zero at the cap.
        assert!(broken(&test, at) > 1e-3, "{test:?}");
        assert!(broken(&test, |z| if z == k { 0.0 } else { of[0] }) > 1e-3, "{test:?}");
    }
}

// Refutes the published curve: it drops from likely to impossible in one step of the score.
#[test]
fn the_public_curve_breaks_its_promise() {
    let (epsilon, delta) = (1.0f64 / 3.0, 1.67e-7f64);
    let fails = |z: f64| (delta * (epsilon * (z - 2.0) / 2.0).exp()).min(1.0);
    let worst = (2..200u32).map(|z| {
        let (near, far) = (1.0 - fails(f64::from(z)), 1.0 - fails(f64::from(z + 2)));
        excess(near, far, epsilon)
    });
    let worst = worst.fold(0.0, f64::max);
    assert!((worst - 0.238_099).abs() < 1e-6, "{worst}");
}

#[test]
fn levels_of_the_test_are_as_few_as_the_gaussian_threshold_allows() {
    for (rho, at_most) in [(0.055, 54), (0.122, 40), (0.462, 26)] {
        let k = ThresholdTest::new(rho, 5e-7).unwrap().k;
        assert!(k <= at_most && k >= at_most - 10 && k.is_multiple_of(2), "{k}");
    }
}

// Refutes `>` for `>=` in the failure of the count: at one more than the number of people, one neighbour runs
// and the other fails.
#[test]
fn one_person_more_moves_the_count_no_further_than_is_paid_for() {
    let counting = NoisedCount::new(0.05, 1e-4).unwrap();
    let people = 100_000;
    let alone: Vec<i64> = (-200..=200)
        .filter(|&noise| {
            // The neighbour keeps the same number with noise that is 1 less.
            let (fewer, more) = (counting.keeps(people, noise + 1), counting.keeps(people + 1, noise));
            assert!(fewer.is_none() || fewer == more);
            fewer != more
        })
        .collect();
    // From the shift upwards neither input has enough people, but for the larger one, once.
    assert_eq!(alone, [counting.shift]);
    assert!(counting.keeps(people + 1, counting.shift + 1).is_none());
    assert!(counting.delta >= counting.law.tail(counting.shift));
    assert!(counting.law.tail(counting.shift) > 1.2 * counting.law.tail(counting.shift + 1));
    assert_eq!(counting.keeps(3, -1_000), None);
    assert!(counting.law.tail(1 + counting.missing() as i64 - counting.shift) <= 1e-3);
}
