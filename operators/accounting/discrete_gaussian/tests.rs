use dashu_int::UBig;

use super::super::dice::Dice;
use super::*;

#[track_caller]
fn close((sigma, shift): (f64, u64), epsilon: f64, truth: f64) {
    let found = DiscreteGaussianCost::new(sigma, shift).unwrap().delta(epsilon);
    assert!(found >= truth, "sigma {sigma}, s {shift}, epsilon {epsilon}: {found:e} is below {truth:e}");
    assert!(found <= truth * (1.0 + 1e-8), "sigma {sigma}, s {shift}: {found:e} is far above {truth:e}");
}

// Refutes a profile below the truth or loose, on both sides of the change from sums to integrals. Values: 60
// digits.
#[test]
fn deltas_are_exact_at_every_size_of_noise() {
    close((1.0, 1), 0.0, 0.398942278266862);
    close((1.0, 1), 1.0, 0.141351339405622);
    close((0.3, 1), 1.0, 0.985735707799952);
    close((0.05, 1), 3.0, 1.0);
    close((2.0, 3), 0.7, 0.39182284398938);
    close((10.0, 1), 0.5, 6.93437034751787e-09);
    close((10.0, 1), 3.5, 2.15061629321614e-270);
    close((10.0, 100), 40.0, 0.812786131821081);
    close((1000.0, 1), 0.004, 7.1595680223533e-09);
    close((1000.0, 300), 1.0, 5.48875173679239e-05);
    close((8200.0, 1), 0.0006, 9.98485493850268e-12);
    close((8200.0, 8200), 1.0, 0.126936737070315);
    close((1048576.0, 1), 3.814697265625e-06, 6.81426244823637e-12);
    close((1073741824.0, 1), 3.72529029846191e-09, 6.65454049195605e-15);
    close((1099511627776.0, 1), 3.63797880709171e-12, 6.49857468708311e-18);
    close((1099511627776.0, 1), 2.057951587446e-11, 4.66149682593175e-127);
    close((1099511627776.0, 1099511627776), 1.0, 0.126936737506644);
}

/// The hockey stick by its definition, with no threshold: sum of (P - e^epsilon Q)_+ over every integer that
/// counts.
fn by_definition(sigma: f64, shift: u64, epsilon: f64) -> f64 {
    let reach = (40.0 * sigma) as i64 + shift as i64 + 3;
    let weight = |y: i64| (-((y as f64) / sigma).powi(2) / 2.0).exp();
    let mass: f64 = (-reach..=reach).map(weight).sum();
    let gap = |y: i64| (weight(y) - epsilon.exp() * weight(y + shift as i64)).max(0.0);
    (-reach - shift as i64..=reach).map(gap).sum::<f64>() / mass
}

// Refutes a threshold off by one, sigma for sigma^2 and a shift on the wrong side.
#[test]
fn the_threshold_is_where_the_terms_turn_positive() {
    for sigma in [0.1, 0.25, 0.5, 0.77, 1.0, 1.9, 3.0, 7.3, 20.0, 51.0] {
        for shift in [1, 2, 3, 10, 47] {
            for epsilon in [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0] {
                let truth = by_definition(sigma, shift, epsilon);
                let found = DiscreteGaussianCost::new(sigma, shift).unwrap().delta(epsilon);
                let slack = 1e-10 * truth + 1e-13 * f64::exp(epsilon);
                assert!(
                    (found - truth).abs() <= slack.max(TINY),
                    "{sigma} {shift} {epsilon}: {found:e} {truth:e}"
                );
            }
        }
    }
}

#[test]
fn both_ways_of_summing_agree_where_they_meet() {
    for (shift, epsilon) in [(1u64, 1e-4), (1, 3e-4), (7, 2e-3), (8192, 2.0), (80_000, 60.0), (1, 0.0)] {
        let shift = shift as f64;
        let smooth = DiscreteGaussianCost { sigma: SMOOTH, shift }.delta(epsilon);
        let direct = DiscreteGaussianCost { sigma: SMOOTH.next_down(), shift }.delta(epsilon);
        assert!((smooth / direct - 1.0).abs() < 1e-9, "{smooth:e} {direct:e}");
    }
}

// Refutes a calibration that overspends (sigma too small) or wastes (more than 12 digits' worth).
#[test]
fn calibration_meets_the_budget_and_no_less_noise_does() {
    for (epsilon, delta, shift) in [
        (1.0, 1e-6, 1),
        (0.1, 1e-9, 3),
        (10.0, 1e-3, 1),
        (0.01, 1e-12, 1000),
        (1e-6, 1e-6, 40),
        (3.0, 0.4, 5),
    ] {
        let noise = DiscreteGaussianCost::for_epsilon_delta(epsilon, delta, shift).unwrap();
        assert!(noise.delta(epsilon) <= delta);
        let less = DiscreteGaussianCost::new(noise.sigma() * (1.0 - 1e-7), shift).unwrap();
        assert!(less.delta(epsilon) > delta, "{epsilon} {delta} {shift}: {}", noise.sigma());
    }
    // At this size the lattice is invisible: the analytic Gaussian's 42.2467 for sensitivity 10.
    let noise = DiscreteGaussianCost::for_epsilon_delta(1.0, 1e-6, 10).unwrap();
    assert!((noise.sigma() - 42.247).abs() < 0.01, "{}", noise.sigma());
}

// sigma = s / sqrt(2 rho), by hand: rho = 1/2 is sigma = s exactly; rho = 0.02 is 5 s; rho = 0.01 is
// 7.0710678118... s.
#[test]
fn zcdp_calibration_is_exact_where_decimals_are() {
    let sigma = |rho, shift| DiscreteGaussianCost::for_rho(rho, shift).unwrap().sigma();
    assert_eq!(sigma(0.5, 1), 1.0);
    assert_eq!(sigma(0.5f64.next_down(), 1), 1.00000000001);
    assert_eq!(sigma(0.125, 3), 6.0);
    assert_eq!(sigma(0.01, 1), 7.07106781187);
    assert_eq!(DiscreteGaussianCost::new(10.0, 1).unwrap().rho(), 0.005);
    for rho in [1e-20, 1e-9, 0.003, 0.1, 7.0, 450.0] {
        assert!(DiscreteGaussianCost::for_rho(rho, 1).unwrap().rho() <= rho);
    }
    assert!((sigma(0.02, 1) - 5.0).abs() < 1e-10);
    assert_eq!(DiscreteGaussianCost::for_rho(1e-30, 1).unwrap_err().kind(), InvalidKind::TooSmall);
}

// `2 rho sigma^2 >= s^2` in whole numbers, and not for the float below: the reference is exact.
#[test]
fn a_cost_is_the_least_float_that_is_not_below_it() {
    let parts = |x: f64| {
        let (bits, exponent) = (x.to_bits(), (x.to_bits() >> 52) as i64);
        (UBig::from((bits & ((1 << 52) - 1)) | 1 << 52), exponent - 1075)
    };
    let covers = |rho: f64, sigma: f64, s: u64| {
        let ((rho, a), (sigma, b)) = (parts(rho), parts(sigma));
        let (cost, wanted, power) = (rho * &sigma * &sigma, UBig::from(s) * UBig::from(s), 1 + a + 2 * b);
        let (up, down) = (power.max(0) as usize, (-power).max(0) as usize);
        (cost << up) >= (wanted << down)
    };
    let mut dice = Dice(7);
    for _ in 0..20_000 {
        let (sigma, s) = (dice.between(-5.0, 40.0).exp2(), dice.between(0.0, 40.0).exp2() as u64);
        let rho = DiscreteGaussianCost::new(sigma, s).unwrap().rho();
        assert!(covers(rho, sigma, s) && !covers(rho.next_down(), sigma, s), "{sigma} {s}: {rho}");
    }
    // What was within a budget said that it was beyond it.
    let rho = 13.05561976545086;
    assert!(DiscreteGaussianCost::for_rho(rho, 32768).unwrap().rho() <= rho);
}

#[test]
fn error_figures_are_those_of_the_integer_law() {
    for sigma in [0.3, 0.9, 2.5, 10.0] {
        let noise = DiscreteGaussianCost::new(sigma, 1).unwrap();
        let weight = |y: i64| (-((y as f64) / sigma).powi(2) / 2.0).exp();
        let all = || -500..=500i64;
        let mass: f64 = all().map(weight).sum();
        let variance: f64 = all().map(|y| (y * y) as f64 * weight(y) / mass).sum();
        let absolute: f64 = all().map(|y| y.abs() as f64 * weight(y) / mass).sum();
        assert!((noise.deviation() - variance.sqrt()).abs() < 1e-9);
        assert!((noise.mean_error() - absolute).abs() < 1e-9);
        let inside = |w: u64| all().filter(|y| y.unsigned_abs() <= w).map(weight).sum::<f64>() / mass;
        let half = noise.interval(0.9).unwrap();
        assert!(inside(half) >= 0.9 && (half == 0 || inside(half - 1) < 0.9));
    }
    // 1.6448536 sigma, and the mean absolute error sigma sqrt(2 / pi) = 0.7978845608 sigma.
    let large = DiscreteGaussianCost::new(1e9, 1).unwrap();
    assert!((large.interval(0.9).unwrap() as f64 - 1_644_853_626.95).abs() < 2.0);
    assert!((large.mean_error() / 797_884_560.8 - 1.0).abs() < 1e-9);
}

// Refutes a curve that rises where it must fall: in epsilon, in noise, and as the sensitivity shrinks.
#[test]
fn more_noise_and_less_sensitivity_never_cost_more() {
    let delta = |sigma, shift, epsilon| DiscreteGaussianCost::new(sigma, shift).unwrap().delta(epsilon);
    for step in 0..60 {
        let sigma = 0.6 * 1.4f64.powi(step);
        let shift = (sigma / 2.0) as u64 + 1;
        for epsilon in [0.0, 0.3, 1.0, 4.0] {
            assert!(delta(sigma, shift, epsilon * 1.1) <= delta(sigma, shift, epsilon));
            assert!(delta(sigma, shift + 1, epsilon) >= delta(sigma, shift, epsilon));
            if sigma > 2.0 {
                assert!(delta(sigma * 1.1, shift, epsilon) <= delta(sigma, shift, epsilon));
            }
        }
    }
}

// Refutes a tail off by one, or cut off below the truth: the sum by its definition, on both sides of zero.
#[test]
fn tails_are_those_of_the_definition() {
    for sigma in [0.3, 1.0, 2.236, 7.07, 100.0] {
        let law = DiscreteGaussianCost::new(sigma, 1).unwrap();
        let reach = (40.0 * sigma) as i64 + 40;
        let weight = |y: i64| (-((y as f64) / sigma).powi(2) / 2.0).exp();
        let mass: f64 = (-reach..=reach).rev().map(weight).sum();
        for at in [-20, -3, -1, 0, 1, 2, 5, 12, 30] {
            let truth = (at..=reach).rev().map(weight).sum::<f64>() / mass;
            let found = law.tail(at);
            assert!(
                found >= truth.min(1.0 - 1e-15) && found <= truth * (1.0 + 1e-9) + 1e-300,
                "{sigma} {at}: {found:e} {truth:e}"
            );
        }
    }
    assert_eq!(DiscreteGaussianCost::new(2.0, 1).unwrap().tail(i64::MAX), TINY);
    assert_eq!(DiscreteGaussianCost::new(2.0, 1).unwrap().tail(i64::MIN), 1.0);
}

// From sigma = 8192 on tails are integrals with a correction; just below they are sums.
#[test]
fn tails_do_not_jump_where_sums_become_integrals() {
    let (sums, integrals) =
        (DiscreteGaussianCost::new(8191.999999, 1).unwrap(), DiscreteGaussianCost::new(8192.0, 1).unwrap());
    for at in [1, 100, 8192, 40_000, 80_000] {
        let (a, b) = (sums.tail(at), integrals.tail(at));
        assert!((a / b - 1.0).abs() < 2e-8, "{at}: {a:e} {b:e}");
    }
}
