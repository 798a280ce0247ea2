//! The guarantee of a release, computed a second time.

use super::super::plan::ThresholdTest;
use super::super::plan::{PlanSearch, shape_cost};
use super::*;
use crate::accounting::{PrivacyCost, convert};
use crate::invalid::InvalidKind;

#[test]
fn the_shape_costs_no_less_than_at_any_order() {
    let h = |x: f64, order: f64| order * x.ln_1p() - (order * x).ln_1p();
    for gamma in [1e-4, 1e-3, 0.01, 0.02] {
        for share in [0.05, 0.25, 0.5] {
            let cost = shape_cost(gamma, share);
            let e = gamma / (1.0 - gamma);
            for step in 1..1000 {
                let order = 1.0 + (share / gamma - 1.0) * f64::from(step) / 1000.0;
                let at = (h(-gamma, order) + h(e, order)) / (2.0 * order * (order - 1.0));
                assert!(at <= cost * (1.0 + 1e-6), "{gamma} {share} {order}: {at} {cost}");
            }
            assert!(cost < 4.0 * gamma * gamma, "{cost}");
        }
    }
}

/// Returns `gamma` and `c` for this number of people, straight from their formulas.
fn written(mean: &StableMean, people: u64) -> (f64, f64) {
    let (k, lambda, pairs) = (mean.k() as f64, mean.lambda() as f64, (people / 2) as f64);
    let gamma = 20.0 * lambda / (7.0 * pairs);
    let radius = lambda / (1.0 - gamma).powf(2.0 * k);
    let moved = (1.0 + 1.0 / (1.0 - gamma).sqrt()) * (2.0 * radius).sqrt() * 2.0 / (people as f64 - k);
    let [_, release, _] = mean.rhos();
    (gamma, moved / (2.0 * release * (1.0 - mean.share())).sqrt())
}

// Refutes a plan that forgets a part of the price, converts as if it held at every order, or computes gamma
// from people.
#[test]
fn a_plan_keeps_its_price_with_omega_and_delta() {
    for relation in [Relation::Replace, Relation::AddRemove] {
        for (dimension, epsilon, target) in [(1, 2.5, 1e-6), (5, 1.0, 1e-6), (2, 8.0, 1e-9)] {
            let least = StableMean::least_people(dimension, epsilon, target, relation).unwrap();
            let fewer = StableMean::new(least - 100, dimension, epsilon, target, relation).unwrap_err();
            assert_eq!((fewer.field(), fewer.kind()), ("people", InvalidKind::TooSmall));
            for people in [least, 4 * least] {
                let mean = StableMean::new(people, dimension, epsilon, target, relation).unwrap();
                let PrivacyCost::Zcdp { rho, delta, omega } = mean.cost().amount() else { panic!() };
                let (rho, spent, omega) = (rho.to_float_up(), delta.to_float_up(), omega.to_float());
                let (gamma, scale) = written(&mean, mean.fewest());
                assert!(omega <= mean.share() / gamma && mean.share() <= 0.5);
                let counting = mean.counting.as_ref();
                let parts =
                    mean.rhos().iter().sum::<f64>() + counting.map_or(0.0, |counting| counting.law.rho());
                assert!(rho >= parts && rho < parts * (1.0 + 1e-6));
                let test = mean.test.law.tail(mean.test.k as i64 / 2 - 1 - mean.test.tau);
                let count = counting.map_or(0.0, |counting| counting.law.tail(counting.shift));
                assert!(spent >= test + count && spent < target);
                let released = convert::epsilon_of_rho(rho, omega, target - spent).unwrap();
                assert!(released <= epsilon && released > epsilon * 0.999, "{released}");
                assert!(mean.cost().amount().epsilon(target).unwrap() <= epsilon);
                let pairs = mean.fewest() / 2;
                assert!(pairs >= 10 * mean.k() * mean.lambda() && mean.lambda() >= dimension);
                assert!((mean.scale(mean.fewest()) / scale - 1.0).abs() < 1e-4, "{scale}");
                assert!(mean.scale(mean.fewest()) >= scale);
                // With more people the cost is no higher.
                assert!(written(&mean, 2 * mean.fewest()).0 <= gamma);
            }
        }
    }
}

// Refutes a conversion at orders at which the guarantee does not hold. The shares of plans leave more orders
// than they need; with a smaller share they would not, and less could be spent.
#[test]
fn orders_end_at_omega() {
    let (epsilon, target) = (1.0, 1e-6);
    let asked = PlanSearch::new(2, epsilon, target, Relation::Replace).unwrap();
    let test = ThresholdTest::new(0.02, 5e-7).unwrap();
    let people = 20 * test.k * 60;
    let spent = 5e-7;
    let fixed = |share: f64| asked.fixed(&test, share, people).unwrap();
    let within = |share: f64| {
        let fixed = fixed(share);
        let gamma = 20.0 * fixed.levels.lambda as f64 / (7.0 * (people / 2) as f64);
        assert!(fixed.omega <= share / gamma && fixed.omega > share / gamma * 0.999);
        let whole = asked.whole(spent, fixed.omega).unwrap();
        assert!(convert::epsilon_of_rho(whole, fixed.omega, target - spent).unwrap() <= epsilon);
        (whole, fixed.omega)
    };
    let every = asked.whole(spent, f64::INFINITY).unwrap();
    assert!((within(0.5).0 / every - 1.0).abs() < 1e-6);
    let (whole, omega) = within(0.035);
    assert!(whole < 0.9 * every, "{whole} {every}");
    assert!(asked.whole(spent, fixed(0.02).omega).is_none(), "no order that is left is enough");
    // The mutant spends what omega forbids.
    assert!(convert::epsilon_of_rho(every, omega, target - spent).unwrap() > 1.05 * epsilon);
}

// Refutes a schedule whose steps are too short for one exchanged pair, at the fewest pairs possible.
#[test]
fn levels_and_radii_rise_by_as_much_as_one_exchange_moves() {
    for (k, lambda) in [(2, 1), (26, 40), (54, 85), (1000, 300)] {
        let levels = Levels { k, lambda };
        let pairs = 10 * u64::from(k) * lambda;
        for level in 0..levels.top() {
            // The condition is 1 / here - 1 / next >= 1 / pairs, over common denominators.
            let ((over, under), (next_over, next_under)) = (levels.allows(level), levels.allows(level + 1));
            assert!(
                (under * next_over - next_under * over) * u128::from(pairs) >= over * next_over,
                "{k} {level}"
            );
        }
        assert_eq!(levels.allows(0), (10 * u128::from(k) * u128::from(lambda), 10 * u128::from(k)));
        // The top allows a quarter more than level zero: with it gamma is 20 / 7 of lambda over m.
        let (over, under) = levels.allows(levels.top());
        assert_eq!(4 * over, 5 * u128::from(lambda) * under);
        let radii = levels.radii(pairs);
        let gamma = 20.0 * lambda as f64 / (7.0 * pairs as f64);
        let last = lambda as f64 * (1.0 - gamma).powi(-(levels.top() as i32));
        assert!(radii.last() >= last * (1.0 - 1e-12) && radii.last() <= last * (1.0 + 1e-6));
    }
}
