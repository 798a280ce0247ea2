use super::*;
use crate::mechanisms::additive::Family;
use crate::mechanisms::bound::Sensitivity;
use crate::mechanisms::spend::Spend;
use crate::mechanisms::{Bound, Gaussian, Keys, Mechanism, Total};

fn float(amount: f64) -> BudgetUnits {
    BudgetUnits::at_least_float("amount", amount).unwrap()
}

fn gaussian(rho: f64, keys: u64) -> Additive {
    let moved = Sensitivity::each(&Bound::keys(keys).checked().unwrap(), 1).unwrap();
    Additive::within(Family::Gaussian, Spend::Rho(float(rho)), &moved).unwrap()
}

fn laplace(epsilon: f64, keys: u64) -> Additive {
    let moved = Sensitivity::each(&Bound::keys(keys).checked().unwrap(), 1).unwrap();
    Additive::within(Family::Laplace, Spend::Pure(float(epsilon)), &moved).unwrap()
}

fn threshold(rho: f64, keys: u64, delta: f64) -> Threshold {
    Threshold::new(gaussian(rho, keys), keys, float(delta)).unwrap()
}

/// The law by its definition, on `-reach..=reach`.
fn law(noise: &Additive) -> (i64, Vec<f64>) {
    let scale = noise.scale();
    let weight = |z: i64| match noise.family() {
        Family::Gaussian => (-(z as f64 / scale).powi(2) / 2.0).exp(),
        Family::Laplace => (-(z.abs() as f64) / scale).exp(),
    };
    let reach = (60.0 * scale) as i64 + 60;
    let mass: f64 = (-reach..=reach).map(weight).sum();
    (reach, (-reach..=reach).map(|z| weight(z) / mass).collect())
}

/// `P[1 + noise >= threshold]` by its definition.
fn alone(noise: &Additive, threshold: i64) -> f64 {
    let (reach, law) = law(noise);
    (-reach..=reach).zip(law).filter(|(z, _)| 1 + z >= threshold).map(|(_, p)| p).rev_sum()
}

trait RevSum {
    fn rev_sum(self) -> f64;
}

impl<I: Iterator<Item = f64>> RevSum for I {
    /// From the small end of a falling tail.
    fn rev_sum(self) -> f64 {
        self.collect::<Vec<_>>().into_iter().rev().sum()
    }
}

// Hand-checked values; the continuous formula gives less, and up to three times the delta.
#[test]
fn thresholds_are_the_known_ones() {
    assert_eq!(threshold(0.1, 1, 1e-6).least(), 13);
    assert_eq!(threshold(0.1, 10, 1e-6).least(), 39);
    assert_eq!(threshold(0.1, 100, 1e-6).least(), 127);
    let thousandth = threshold(0.1, 1, 1e-3);
    let p = alone(thousandth.noise(), thousandth.least());
    assert!((p / 3.598e-4 - 1.0).abs() < 1e-3, "{p:e}");
    let asked = Gaussian::rho(0.1);
    let people = Total::people(Bound::keys(10).checked().unwrap(), Keys::<u32>::discover(1e-6)).unwrap();
    assert_eq!(asked.prepare(&people).unwrap().threshold(), Some(39));
}

// Refutes `>` for `>=` (one more than needed), a threshold of one less, and a delta a key instead of a
// person: by the sum over the law's definition.
#[test]
fn a_threshold_is_the_least_that_keeps_its_delta() {
    for keys in [1, 2, 10, 100] {
        for delta in [0.3, 1e-2, 1e-3, 1e-6, 1e-9, 1e-14] {
            let noises = [0.003, 0.1, 0.5, 4.0].map(|rho| gaussian(rho, keys));
            let pure = [0.1, 1.0, 3.0].map(|epsilon| laplace(epsilon, keys));
            for noise in noises.into_iter().chain(pure) {
                let found = Threshold::new(noise.clone(), keys, float(delta)).unwrap().least();
                // As positive terms: 1 - (1-p)^keys = p (1 + (1-p) + ...).
                let away = |threshold| {
                    let p: f64 = alone(&noise, threshold);
                    (0..keys as i32).map(|others| p * (1.0 - p).powi(others)).sum::<f64>()
                };
                assert!(away(found) <= delta, "{keys} {delta} {}", noise.scale());
                assert!(
                    found == 1 || away(found - 1) > delta * (1.0 - 1e-6),
                    "{keys} {delta} {}",
                    noise.scale()
                );
            }
        }
    }
}

#[test]
fn a_noised_number_at_the_threshold_passes_and_one_below_does_not() {
    let threshold = threshold(0.1, 1, 1e-6);
    assert!(threshold.passes(1, 13) && !threshold.passes(1, 12));
}

#[test]
fn a_threshold_out_of_reach_is_refused() {
    let refused = Threshold::new(laplace(1e-11, 1), 1, BudgetUnits::from_bits(1));
    assert!(refused.is_ok(), "2^40 times 45 is still a whole number of 64 bits");
    let refused = Threshold::new(laplace(1.0, 1), 1, BudgetUnits::from_bits(0)).unwrap_err();
    assert_eq!(refused.field(), "delta");
}

/// Returns the probability that the interval of a discovered key holds its true number, given that the key
/// was discovered.
fn coverage(threshold: &Threshold, people: i64, low: impl Fn(i128) -> i128, width: i64) -> f64 {
    let (reach, law) = law(threshold.noise());
    let (mut passed, mut held) = (0.0, 0.0);
    for (z, p) in (-reach..=reach).zip(law) {
        let noised = i128::from(people + z);
        if threshold.passes(people.unsigned_abs(), noised) {
            passed += p;
            if low(noised) <= people.into() && i128::from(people) <= noised + i128::from(width) {
                held += p;
            }
        }
    }
    held / passed
}

// Exact sums for every true number up to past the threshold. Refutes the interval that forgets the selection:
// for a key with one person it never holds the truth.
#[test]
fn intervals_of_discovered_keys_hold_the_truth_as_often_as_they_say() {
    let confidence = 0.9;
    let laplace = Threshold::new(laplace(0.5, 1), 1, float(1e-5)).unwrap();
    let from_20 = threshold(0.1, 1, 1e-6).at_least_people(20).unwrap();
    for threshold in
        [threshold(0.1, 1, 1e-6), threshold(0.1, 10, 1e-6), threshold(2.0, 1, 1e-3), laplace, from_20]
    {
        let width = threshold.noise().half_width(confidence).unwrap() as i64;
        let lows = |noised: i128| threshold.at_least(noised, (1.0 - confidence) / 2.0);
        for people in threshold.people..threshold.least() + 5 * width {
            // Past 1e-200 the sums above know nothing.
            if alone(threshold.noise(), threshold.least() + 1 - people) < 1e-200 {
                continue;
            }
            let held = coverage(&threshold, people, lows, width);
            assert!(held >= confidence - 1e-9, "{people}: {held}");
        }
        let forgetful = coverage(&threshold, threshold.people, |noised| noised - i128::from(width), width);
        assert!(forgetful < 1e-9, "{forgetful}");
    }
}

#[test]
fn an_interval_holds_its_own_value_and_is_the_usual_one_far_from_the_threshold() {
    for threshold in [threshold(0.1, 10, 1e-6), threshold(1e-9, 1, 1e-6), threshold(1e-5, 3, 1e-9)] {
        let width = threshold.noise().half_width(0.9).unwrap() as i128;
        let least = i128::from(threshold.least());
        let mut before = 0;
        for step in 0..200 {
            let noised = least + step * (width / 10 + 1);
            let low = threshold.at_least(noised, 0.05);
            assert!(1 <= low && low <= noised.max(1) && low >= before, "{noised}: {low}");
            before = low;
        }
        let far = least + 100 * width;
        let low = threshold.at_least(far, 0.05);
        assert!((far - width - low).abs() <= 1 + width / 1000, "{low} for {}", far - width);
        assert_eq!(threshold.at_least(least, 0.05), 1, "at the threshold itself nothing is known");
        // Numbers that no window holds do not harm it.
        assert!(threshold.at_least(i128::from(i64::MAX) * 4, 0.05) > i128::from(i64::MAX));
    }
}

// By the law's definition, one number of people after the other. Refutes a tail that begins one too far, and one of the
// wrong side.
#[cfg(feature = "cli")]
#[test]
fn the_people_that_find_a_key_are_those_of_the_exact_law() {
    let laplace = Threshold::new(laplace(0.5, 1), 1, float(1e-5)).unwrap();
    let large = threshold(1e-9, 1, 1e-6);
    let from_5 = threshold(20.0, 1, 1e-3).at_least_people(5).unwrap();
    for threshold in
        [threshold(0.1, 1, 1e-6), threshold(0.1, 10, 1e-6), threshold(20.0, 1, 1e-3), laplace, from_5]
    {
        let (reach, law) = law(threshold.noise());
        let found = |people: i64| -> f64 {
            let passed = (-reach..=reach)
                .zip(&law)
                .filter(|(z, _)| threshold.passes(people.unsigned_abs(), i128::from(people + z)));
            passed.map(|(_, p)| p).sum()
        };
        for (chance, people) in [0.5, 0.9, 0.99].into_iter().zip(threshold.people_to_find()) {
            let exact = (1..).find(|people| found(*people) >= chance).unwrap();
            assert_eq!(people, exact, "{chance}");
        }
    }
    // Of a wide normal law, in deviations.
    let [half, most, nearly] = large.people_to_find();
    let sigma = large.noise().scale();
    assert_eq!(half, large.least());
    assert!(((most - half) as f64 / sigma - 1.281_552).abs() < 1e-3);
    assert!(((nearly - half) as f64 / sigma - 2.326_348).abs() < 1e-3);
}

// Refutes a least number of people beside a threshold that is not raised, by which a key of exactly as many is found nearly always and
// one of fewer never; a key that fewer have; and other outputs of keys that more have. By sums over the law.
#[test]
fn a_key_that_a_person_brings_to_its_least_number_is_as_safe_as_a_lone_one() {
    for (noise, keys, delta) in
        [(gaussian(0.1, 10), 10, 1e-6), (laplace(0.5, 1), 1, 1e-5), (gaussian(2.0, 3), 3, 0.05)]
    {
        let any = Threshold::new(noise, keys, float(delta)).unwrap();
        let (reach, law) = law(any.noise());
        for least in [1_i64, 2, 20, 1_000] {
            let threshold = any.clone().at_least_people(least.unsigned_abs()).unwrap();
            let of = |threshold: &Threshold, people: i64| {
                let noised = (-reach..=reach).zip(law.iter().copied());
                let passed =
                    noised.filter(|(z, _)| threshold.passes(people.unsigned_abs(), (people + z).into()));
                passed.map(|(_, p)| p).rev_sum()
            };
            assert!((0..least).all(|people| of(&threshold, people) == 0.0), "fewer than {least}");
            let away = given_away(of(&threshold, least), keys);
            assert!(away <= delta * (1.0 + 2.0 * MARGIN), "{least}: {away}");
            assert_eq!(threshold.least(), any.least() + least - 1);
            // As far above the least number, the same law.
            for more in [1, 2, 7, any.least()] {
                assert_eq!(of(&threshold, least + more), of(&any, 1 + more));
            }
        }
    }
    let refused = |people| threshold(0.1, 1, 1e-6).at_least_people(people).unwrap_err().field().to_owned();
    assert_eq!([refused(0), refused(1 << 32)], ["people", "people"]);
}

// A person with lone keys and shared ones, by exact sums: given that no lone key is found, the outputs are within the rho
// of the shared keys at every order; and the chance of any is that of all of them jointly. Refutes a union bound, a delta of
// fewer keys, and a cost of lone keys.
#[test]
fn lone_keys_cost_delta_and_shared_keys_cost_rho() {
    for (rho, keys, delta) in [(0.5, 1u64, 1e-3), (0.5, 3, 1e-3), (2.0, 3, 0.05), (0.1, 4, 1e-6)] {
        let threshold = threshold(rho, keys, delta);
        let (reach, law) = law(threshold.noise());
        let p = alone(threshold.noise(), threshold.least());
        let of_person = |lone: i32| 1.0 - (1.0 - p).powi(lone);
        let worst = (0..=keys as i32).map(of_person).fold(0.0, f64::max);
        assert!((given_away(p, keys) / worst - 1.0).abs() < 1e-6 && worst <= delta, "{worst}");
        assert!(keys == 1 || given_away(p, keys) < keys as f64 * p, "a union bound is more");
        // The output of a key with others: nothing below the threshold, or the noised number.
        let output = |people: i64| {
            let mut outputs = vec![0.0; (2 * reach + people) as usize + 2];
            for (z, p) in (-reach..=reach).zip(&law) {
                let noised = people + z;
                let place = if noised >= threshold.least() { (noised + reach + 1) as usize } else { 0 };
                outputs[place] += p;
            }
            outputs
        };
        for people in [1, 2, threshold.least() - 1, threshold.least() + 3] {
            let (with, without) = (output(people + 1), output(people));
            for order in [1.5f64, 2.0, 5.0, 20.0] {
                let renyi = |of: &[f64], from: &[f64]| {
                    let terms = of.iter().zip(from).filter(|(of, from)| **of > 1e-290 && **from > 1e-290);
                    let logs = terms.map(|(of, from)| order * of.ln() + (1.0 - order) * from.ln());
                    let sum: f64 = logs.map(f64::exp).sum();
                    sum.ln() / (order - 1.0)
                };
                for divergence in [renyi(&with, &without), renyi(&without, &with)] {
                    assert!(divergence <= order * rho / keys as f64 * (1.0 + 1e-9), "{people} {order}");
                }
            }
        }
    }
}
