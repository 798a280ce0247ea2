use super::*;

fn laplace(scale: f64, shift: u64) -> DiscreteLaplaceCost {
    DiscreteLaplaceCost::new(scale, shift).unwrap()
}

/// The law and its shifted copy, point by point.
fn points(scale: f64, shift: u64) -> Vec<(f64, f64)> {
    let reach = (60.0 * scale) as i64 + 2 * shift as i64 + 60;
    let weight = |z: i64| (-(z.abs() as f64) / scale).exp();
    let mass: f64 = (-reach..=reach).map(weight).sum();
    (-reach..=reach).map(|z| (weight(z) / mass, weight(z + shift as i64) / mass)).collect()
}

// Refutes a threshold off by one and a tail counted twice: the hockey stick by its definition.
#[test]
fn deltas_are_those_of_the_definition() {
    for scale in [0.1, 0.3, 1.0, 2.0, 7.5, 40.0] {
        for shift in [1, 2, 3, 4, 9] {
            for part in [0.0, 0.1, 0.4, 0.5, 0.77, 0.999] {
                let epsilon = part * shift as f64 / scale;
                if epsilon > 30.0 {
                    continue;
                }
                let truth: f64 =
                    points(scale, shift).iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum();
                let found = laplace(scale, shift).delta(epsilon);
                assert!(
                    (found - truth).abs() <= 1e-9 * truth + 1e-14,
                    "{scale} {shift} {epsilon}: {found:e} {truth:e}"
                );
            }
        }
    }
}

// By hand, s = 1: delta = (1 - e^(epsilon - 1/b)) / (1 + e^(-1/b)), and zero from 1/b on.
#[test]
fn one_step_is_randomised_response() {
    let found = laplace(1.0, 1).delta(0.5);
    let truth = (1.0 - (-0.5f64).exp()) / (1.0 + (-1.0f64).exp());
    assert!(found >= truth && found < truth * (1.0 + 1e-10));
    assert_eq!(laplace(1.0, 1).delta(1.0), 0.0);
    assert!(laplace(1.0, 1).delta(1.0f64.next_down()) > 0.0);
    // tanh(1/2) = 0.46211715726, the cost of a pure mechanism at epsilon = 1.
    assert!((laplace(1.0, 1).rho() - 0.46211715726).abs() < 1e-10);
    // A fine lattice: 1 - 1 + e^-1 = 0.36787944117.
    assert!((laplace(1e9, 1_000_000_000).rho() - 0.36787944117).abs() < 1e-10);
}

// Refutes the claim that the divergence bounds every order, by direct sums over orders from 1 to 300.
#[test]
fn no_order_costs_more_than_rho_and_the_first_costs_as_much() {
    for (scale, shift) in [(0.5, 1), (0.5, 2), (1.0, 3), (2.0, 7), (5.0, 2), (5.0, 40), (30.0, 11)] {
        let points = points(scale, shift);
        let rho = laplace(scale, shift).rho();
        let divergence: f64 = points.iter().filter(|(p, _)| *p > 0.0).map(|(p, q)| p * (p / q).ln()).sum();
        assert!(rho >= divergence && rho <= divergence * (1.0 + 1e-9), "{scale} {shift}: {rho} {divergence}");
        for order in [1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 50.0, 300.0] {
            let terms =
                points.iter().filter(|(p, _)| *p > 0.0).map(|(p, q)| p.ln() + (order - 1.0) * (p / q).ln());
            let top = terms.clone().fold(f64::MIN, f64::max);
            let renyi = (top + terms.map(|term| (term - top).exp()).sum::<f64>().ln()) / (order - 1.0);
            assert!(renyi <= rho * order * (1.0 + 1e-12), "{scale} {shift} order {order}: {renyi} {rho}");
        }
    }
}

#[test]
fn small_costs_keep_their_digits() {
    // epsilon = 1e-6 on a fine lattice: epsilon^2/2 - epsilon^3/6.
    let rho = laplace(1e12, 1_000_000).rho();
    assert!((rho / 4.999_998_333_333_75e-13 - 1.0).abs() < 1e-10, "{rho:e}");
    // s = 1, b = 1e6: epsilon tanh(epsilon / 2) = epsilon^2/2 (1 - epsilon^2/12).
    let rho = laplace(1e6, 1).rho();
    assert!((rho / 4.999_999_999_999_583e-13 - 1.0).abs() < 1e-10, "{rho:e}");
}

#[test]
fn calibration_meets_the_budget_and_no_less_noise_does() {
    assert_eq!(DiscreteLaplaceCost::for_epsilon(0.1, 1).unwrap().scale(), 10.0);
    assert_eq!(DiscreteLaplaceCost::for_epsilon(0.3, 1).unwrap().scale(), 3.33333333334);
    assert_eq!(DiscreteLaplaceCost::for_epsilon(500.0, 1 << 40).unwrap().scale(), 2199023255.56);
    for (epsilon, delta, shift) in [(1.0, 1e-6, 1), (0.1, 0.01, 3), (2.0, 0.3, 10), (1e-3, 1e-9, 7)] {
        let noise = DiscreteLaplaceCost::for_epsilon_delta(epsilon, delta, shift).unwrap();
        assert!(noise.delta(epsilon) <= delta);
        assert!(laplace(noise.scale() * (1.0 - 1e-9), shift).delta(epsilon) > delta);
        assert!(noise.epsilon(delta).unwrap() <= epsilon * (1.0 + 1e-9));
    }
    for (rho, shift) in [(0.1, 1), (1e-6, 3), (3.0, 20), (1e-15, 1)] {
        let noise = DiscreteLaplaceCost::for_rho(rho, shift).unwrap();
        assert!(noise.rho() <= rho);
        assert!(laplace(noise.scale() * (1.0 - 1e-9), shift).rho() > rho);
    }
    assert_eq!(DiscreteLaplaceCost::for_epsilon(1e-13, 1).unwrap_err().kind(), InvalidKind::TooSmall);
    assert_eq!(DiscreteLaplaceCost::for_epsilon(1.0, 0).unwrap_err().field(), "sensitivity");
}

#[test]
fn error_figures_are_those_of_the_integer_law() {
    for scale in [0.2, 0.8, 3.0, 25.0] {
        let noise = laplace(scale, 1);
        let reach = (60.0 * scale) as i64 + 60;
        let weight = |z: i64| (-(z.abs() as f64) / scale).exp();
        let mass: f64 = (-reach..=reach).map(weight).sum();
        let sum = |of: &dyn Fn(i64) -> f64| (-reach..=reach).map(|z| of(z) * weight(z) / mass).sum::<f64>();
        assert!((noise.deviation() / sum(&|z| (z * z) as f64).sqrt() - 1.0).abs() < 1e-10);
        assert!((noise.mean_error() / sum(&|z| z.abs() as f64) - 1.0).abs() < 1e-10);
        let inside = |w: i64| sum(&|z| if z.abs() <= w { 1.0 } else { 0.0 });
        let half = noise.interval(0.9).unwrap() as i64;
        assert!(inside(half) >= 0.9 && (half == 0 || inside(half - 1) < 0.9));
    }
}

// Refutes a tail off by one or short of the truth: the sum by its definition, on both sides of zero.
#[test]
fn tails_are_those_of_the_definition() {
    for scale in [0.1, 1.0, 2.0, 40.0] {
        let reach = (60.0 * scale) as i64 + 60;
        let weight = |z: i64| (-(z.abs() as f64) / scale).exp();
        let mass: f64 = (-reach..=reach).map(weight).sum();
        for at in [-9, -1, 0, 1, 2, 7, 50] {
            let truth = (at..=reach).map(weight).sum::<f64>() / mass;
            let found = laplace(scale, 1).tail(at);
            assert!((found - truth).abs() <= 1e-9 * truth + 1e-14, "{scale} {at}: {found:e} {truth:e}");
        }
    }
    assert_eq!(laplace(2.0, 1).tail(i64::MIN), 1.0);
}
