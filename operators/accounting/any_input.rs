//! Property tests of every public function: any number is refused with the field's name, or answered with a
//! number that means something. Never a panic, a NaN, a probability outside 0..1 or a search without end.

use proptest::prelude::*;

use super::*;
use crate::{Decimal, Invalid};

/// Ordinary sizes, the edges of the ranges, and every bit pattern.
fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-40f64..40.0).prop_map(f64::exp2),
        1 => prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, 500.0, 0.5, 1.0f64.next_down(), 1e-300]),
        1 => any::<u64>().prop_map(f64::from_bits),
    ]
}

fn whole() -> impl Strategy<Value = u64> {
    prop_oneof![4 => (0u32..45).prop_map(|bits| 1 << bits), 1 => any::<u64>(), 1 => Just(0)]
}

fn epsilon(found: Result<f64, Invalid>) {
    if let Ok(epsilon) = found {
        assert!((0.0..=f64::INFINITY).contains(&epsilon), "{epsilon}");
    }
}

fn probability(delta: f64) {
    assert!((0.0..=1.0).contains(&delta), "{delta}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn laws_answer_or_refuse(a in float(), b in float(), c in float(), n in whole()) {
        if let Ok(noise) = DiscreteGaussianCost::new(a, n) {
            probability(noise.delta(b));
            epsilon(noise.epsilon(c));
            assert!(noise.rho() > 0.0 && noise.deviation() >= 0.0 && noise.mean_error() >= 0.0);
            let _ = noise.interval(c);
        }
        if let Ok(noise) = DiscreteLaplaceCost::new(a, n) {
            probability(noise.delta(b));
            epsilon(noise.epsilon(c));
            assert!(noise.rho() > 0.0 && noise.deviation() >= 0.0 && noise.mean_error() >= 0.0);
            let _ = noise.interval(c);
        }
        if let Ok(noise) = GaussianCost::new(a, b) {
            probability(noise.delta(c));
            epsilon(noise.epsilon(c));
        }
        if let Ok(noise) = RoundedGaussianCost::new(a, n) {
            probability(noise.delta(b));
            probability(noise.tail(n as i64));
            assert!(noise.deviation() > 0.0);
            let _ = noise.interval(c);
        }
        if let Ok(mu) = gdp::mu_of_pure(a) {
            assert!(mu > 0.0 && gdp::epsilon_within(mu).is_ok_and(|back| back <= a * (1.0 + 1e-9)) || a < 1e-29);
        }
        if let Ok(mu) = gdp::mu_within(a, b) {
            assert!(mu > 0.0 && GaussianCost::new(1.0, mu).unwrap().delta(a) <= b * (1.0 + 1e-9));
        }
        let _ = (gdp::mu_of_bounded_range(a), gdp::epsilon_within(b), PrivacyCost::gaussian_limit(a, b, c));
        if let Ok(budget) = Budget::approximate(a, b) {
            if let Ok(noise) = DiscreteGaussianCost::calibrate(&budget, n) {
                assert!(noise.delta(a) <= b);
            }
            if let Ok(noise) = DiscreteLaplaceCost::calibrate(&budget, n) {
                assert!(noise.delta(a) <= b);
            }
        }
        if let Ok(budget) = Budget::zcdp(a) {
            if let Ok(noise) = DiscreteGaussianCost::calibrate(&budget, n) {
                assert!(noise.rho() <= a);
            }
            if let Ok(noise) = DiscreteLaplaceCost::calibrate(&budget, n) {
                assert!(noise.rho() <= a);
            }
        }
    }

    #[test]
    fn shuffles_answer_or_refuse(people in 0u64..300, local in float(), a in float(), choices in 0u32..10) {
        let randomizer = match choices {
            0 => Randomizer::Any,
            9 => Randomizer::Unary,
            _ => Randomizer::Response { choices },
        };
        if let Ok(shuffle) = Shuffle::new(people, local, randomizer) {
            probability(shuffle.delta(a));
            epsilon(shuffle.epsilon_closed(a));
            if let Ok(epsilon) = shuffle.epsilon(a) {
                assert!((0.0..=local).contains(&epsilon));
                if let Ok(Some(attained)) = shuffle.epsilon_attained(a) {
                    assert!(attained <= epsilon);
                }
            }
        }
    }

    #[test]
    fn conversions_answer_or_refuse(a in float(), b in float(), c in float()) {
        epsilon(convert::epsilon_of_rho(a, b, c));
        let _ = convert::delta_of_rho(a, b, c).map(probability);
        if let Ok(rho) = convert::rho_within(a, b, f64::INFINITY) {
            assert!(convert::epsilon_of_rho(rho, f64::INFINITY, b).is_ok_and(|found| found <= a));
        }
        let _ = convert::advanced(&[(a.abs(), 1e-9), (0.1, 0.0)], b);
        for amount in [PrivacyCost::pure(a), PrivacyCost::approximate(a, b), PrivacyCost::zcdp(a), PrivacyCost::gaussian(a),
            PrivacyCost::renyi(|order| a * order)].into_iter().flatten() {
            epsilon(amount.epsilon(c));
            let _ = amount.to_string();
        }
        let _ = (BudgetUnits::at_least_float("a", a), BudgetUnits::at_most_float("a", a), Omega::below(a));
    }

    #[test]
    fn texts_are_read_or_refused(text in "[-+]?[0-9.]{0,8}([eE][-+]?[0-9]{0,6})?|\\PC{0,12}") {
        if let Ok(decimal) = Decimal::parse("text", &text) {
            let float = decimal.to_f64();
            assert_eq!(float, text.parse::<f64>().unwrap());
            if let (Ok(down), Ok(up)) = (BudgetUnits::at_most("text", &decimal), BudgetUnits::at_least("text", &decimal)) {
                assert!(down <= up && up.to_bits() - down.to_bits() <= 1);
            }
            if let Some(whole) = decimal.to_u64() {
                assert_eq!(whole as f64, float);
            }
        }
    }
}
