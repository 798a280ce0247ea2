use super::*;
use crate::accounting::{Adjacency, PrivacyFilter, ReleaseCost};

fn decimal(text: &str) -> Decimal {
    Decimal::parse("budget", text).unwrap()
}

/// `P[N >= x]`.
fn tail(x: f64) -> f64 {
    libm::erfc(x / std::f64::consts::SQRT_2) / 2.0
}

/// `PhiInverse(1 - a)`, by bisection.
fn quantile(a: f64) -> f64 {
    let (mut low, mut high) = (-39.0, 39.0);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if tail(middle) > a { low = middle } else { high = middle }
    }
    low
}

// Truths: bisection of the formula in 70-digit arithmetic. Refutes one tail in place of both, a limit above
// the truth, and one that wastes more than a hundred millionth.
#[test]
fn the_largest_mu_is_that_of_the_curve_and_never_more() {
    for (epsilon, delta, truth) in [
        (0.01, 1e-15, 0.001467950493291046),
        (0.01, 1e-6, 0.0032642362400687975),
        (0.01, 1e-2, 0.036099932975146694),
        (0.1, 1e-9, 0.019916423412681444),
        (0.5, 1e-15, 0.06787417985152071),
        (0.5, 1e-6, 0.12410614903052812),
        (1.0, 1e-15, 0.13356467682802592),
        (1.0, 1e-9, 0.18197480729533225),
        (1.0, 1e-6, 0.2367043806634357),
        (1.0, 1e-2, 0.5325166485029508),
        (2.0, 1e-6, 0.4483347403951928),
        (5.0, 1e-9, 0.8252782965830532),
        (5.0, 1e-2, 1.7562982383795573),
        (20.0, 1e-15, 2.2527747627164234),
        (20.0, 1e-2, 4.530472873935069),
    ] {
        let found = mu_within(epsilon, delta).unwrap();
        assert!(found <= truth && found > truth * (1.0 - 1e-8), "{epsilon} {delta:e}: {found} {truth}");
    }
}

// Truths: as above. Refutes mu = epsilon, and a loss of digits for small epsilon or beyond half of it.
#[test]
fn the_price_of_pure_epsilon_is_that_of_randomised_response_and_never_less() {
    for (epsilon, truth) in [
        (1e-9, 1.2533141373155002e-09),
        (1e-3, 0.001253314114901875),
        (0.1, 0.1253090122116076),
        (0.5, 0.6238925920985082),
        (0.999, 1.2308437235826521),
        (1.0, 1.2320353853449009),
        (1.001, 1.2332269337947583),
        (2.0, 2.3579614856472495),
        (5.0, 4.9466784455956585),
        (20.0, 11.758418713653102),
        (100.0, 27.776952066007773),
        (500.0, 62.96859955125766),
    ] {
        let found = mu_of_pure(epsilon).unwrap();
        assert!(found >= truth && found < truth * (1.0 + 1e-9), "{epsilon}: {found} {truth}");
        let back = epsilon_within(found).unwrap();
        assert!(back <= epsilon * (1.0 + 1e-12) && back > epsilon * (1.0 - 1e-9), "{epsilon}: {back}");
        assert!(mu_of_pure(back).unwrap() <= found);
    }
    assert_eq!(mu_of_pure(501.0).unwrap_err().field(), "epsilon");
    assert_eq!(epsilon_within(0.0).unwrap_err().field(), "mu");
}

// The corner of every polygon, `q >= Phi(PhiInverse(p) - mu)`; in the middle with equality. Refutes the price
// of the whole range (which would waste half of it) and of less than half.
#[test]
fn a_choice_is_no_easier_to_tell_than_its_price() {
    let mut tightest = f64::INFINITY;
    for range in [1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0] {
        let mu = mu_of_bounded_range(range).unwrap();
        let k = libm::exp(-range);
        for step in 1..400 {
            let t = range * f64::from(step) / 400.0;
            let a = libm::expm1(t) / libm::expm1(range);
            let b = (libm::exp(-t) - k) / (1.0 - k);
            let distance = quantile(b) - quantile(1.0 - a);
            // The quantile's own error, where its argument is near 1/2 and the range small.
            assert!(distance <= mu * (1.0 + 1e-9) + 1e-14, "{range} {t}: {distance} {mu}");
            if step == 200 {
                tightest = tightest.min(distance / mu);
            }
        }
    }
    assert!(tightest > 1.0 - 1e-8, "{tightest}");
    assert_eq!(mu_of_bounded_range(1001.0).unwrap_err().field(), "range");
}

// 3e-7 of 1e-6 is for keys, and mu = .2326988581822125 for the rest.
#[test]
fn a_limit_is_read_exactly_and_rounded_down() {
    let limit = |epsilon, delta, keys| limit(&decimal(epsilon), &decimal(delta), keys);
    let Ok(PrivacyCost::Gaussian { rho, delta }) = limit("1", "1e-6", DeltaForKeys::Usual) else { panic!() };
    let truth = 0.2326988581822125f64.powi(2) / 2.0;
    assert!(rho.to_float_up() <= truth && rho.to_float_up() > truth * (1.0 - 1e-7));
    assert!((delta.to_float_up() / 3e-7 - 1.0).abs() < 1e-6 && delta.to_float_up() <= 3e-7);
    let stated = decimal("1e-7");
    let less = limit("1", "1e-6", DeltaForKeys::Stated(&stated)).unwrap();
    let none = limit("1", "1e-6", DeltaForKeys::None).unwrap();
    let rho_of = |cost: &PrivacyCost| cost.rho_and_delta().unwrap().0;
    assert!(rho < rho_of(&less) && rho_of(&less) < rho_of(&none));
    for limit in [&less, &none, &PrivacyCost::Gaussian { rho, delta }] {
        let epsilon = limit.epsilon(1e-6).unwrap();
        assert!(epsilon <= 1.0 && epsilon > 1.0 - 1e-6, "{epsilon}");
    }
    let all = decimal("1e-6");
    assert_eq!(limit("1", "1e-6", DeltaForKeys::Stated(&all)).unwrap_err().field(), "delta_for_keys");
    assert_eq!(limit("0", "1e-6", DeltaForKeys::None).unwrap_err().field(), "epsilon");
    assert_eq!(limit("1", "1", DeltaForKeys::None).unwrap_err().field(), "delta");
    assert_eq!(PrivacyCost::gaussian_limit(1.0, 1e-6, 1e-6).unwrap_err().field(), "delta_for_keys");
}

fn charged(cost: PrivacyCost) -> ReleaseCost {
    ReleaseCost::new(Adjacency::PERSON, cost)
}

// Refutes a sum of mu in place of its squares, one that forgets delta, and rho taken for a price.
#[test]
fn a_filter_of_mu_adds_squares_and_refuses_what_has_no_mu() {
    let limit = PrivacyCost::gaussian(0.5).unwrap().plus(&PrivacyCost::Gaussian {
        rho: BudgetUnits::from_bits(4096),
        delta: BudgetUnits::at_most_float("delta", 1e-7).unwrap(),
    });
    let mut filter = PrivacyFilter::new(Adjacency::PERSON, limit.unwrap());
    filter.charge(&charged(PrivacyCost::gaussian(0.3).unwrap())).unwrap();
    filter.charge(&charged(PrivacyCost::gaussian(0.4).unwrap())).unwrap();
    assert!(filter.charge(&charged(PrivacyCost::gaussian(0.001).unwrap())).is_err());
    let zcdp = filter.charge(&charged(PrivacyCost::zcdp(1e-9).unwrap()));
    assert!(zcdp.unwrap_err().to_string().starts_with("currency: "));

    let mut filter =
        PrivacyFilter::new(Adjacency::PERSON, PrivacyCost::gaussian_limit(1.0, 1e-6, 3e-7).unwrap());
    let keys = |delta: f64| PrivacyCost::Gaussian {
        rho: BudgetUnits::ZERO,
        delta: BudgetUnits::at_least_float("delta", delta).unwrap(),
    };
    filter.charge(&charged(keys(2e-7))).unwrap();
    assert!(filter.charge(&charged(keys(2e-7))).is_err());
    filter.charge(&charged(PrivacyCost::approximate(0.01, 0.5e-7).unwrap())).unwrap();
    filter.charge(&charged(PrivacyCost::pure(0.01).unwrap())).unwrap();
    let (rho, delta) = filter.spent().rho_and_delta().unwrap();
    let twice = mu_of_pure(0.01).unwrap().powi(2);
    assert!((rho.to_float_up() / twice - 1.0).abs() < 1e-9);
    assert!((delta.to_float_up() / 2.5e-7 - 1.0).abs() < 1e-9);
}

/// The largest hockey stick at `epsilon` that an analyst attains who chooses each of the mu that are left by
/// the loss so far: exact but for the grid of losses, by dynamic programming from the end.
///
/// A state is what is left of `mu^2`, in `steps` equal parts, and the loss; an action spends some of the parts
/// at once. The grid rounds losses to the nearest of its points.
fn adaptive(epsilon: f64, whole: f64, steps: usize, then: impl Fn(f64, f64) -> f64) -> f64 {
    let (reach, grid) = (12.0 * whole + whole * whole + epsilon, 0.02 * whole);
    let count = (2.0 * reach / grid) as usize + 1;
    let loss = |place: usize| place as f64 * grid - reach;
    let part = whole * whole / steps as f64;
    let mut value: Vec<Vec<f64>> = vec![(0..count).map(|place| then(loss(place), 0.0)).collect()];
    for left in 1..=steps {
        let mut best: Vec<f64> = (0..count).map(|place| then(loss(place), left as f64 * part)).collect();
        for spent in 1..=left {
            let squared = part * spent as f64;
            let mu = squared.sqrt();
            // Under P the loss is normal with mean mu^2 / 2 and variance mu^2.
            let width = (8.0 * mu / grid) as i64 + 1;
            let at = |bound: f64| tail((bound * grid - squared / 2.0) / mu);
            let chance: Vec<f64> =
                (-width..=width).map(|step| at(step as f64 - 0.5) - at(step as f64 + 0.5)).collect();
            let next = &value[left - spent];
            for (place, best) in best.iter_mut().enumerate() {
                let mut sum = 0.0;
                for (index, chance) in chance.iter().enumerate() {
                    let to = place as i64 + index as i64 - width;
                    sum += chance * next[to.clamp(0, count as i64 - 1) as usize];
                }
                *best = best.max(sum);
            }
        }
        value.push(best);
    }
    value[steps][(reach / grid).round() as usize]
}

// Whatever is chosen by the answers, the delta is that of one Gaussian: here every analyst who spends mu in up
// to 8 parts, each as large as the loss suggests, at delta = 1e-6, which no sampling would see.
#[test]
fn no_order_of_spending_mu_beats_one_gaussian() {
    let (epsilon, mu) = (1.0, 0.2367043806634357);
    let hockey_stick = |loss: f64, _left: f64| (-libm::expm1(epsilon - loss)).max(0.0);
    let once = adaptive(epsilon, mu, 1, hockey_stick);
    let many = adaptive(epsilon, mu, 8, hockey_stick);
    // The grid itself is worth 2% of delta.
    assert!((once / 1e-6 - 1.0).abs() < 0.02, "{once:e}");
    assert!(many < once * 1.02 && many >= once * 0.999, "{many:e} {once:e}");
}

// The mistake that the fixed limits exclude: mu = .196 first, then the rest of mu at the delta that is left, or
// all that is left of delta, whichever the loss suggests. It reaches 1.97 times the delta.
#[test]
fn a_limit_that_moves_with_delta_is_no_filter() {
    let (epsilon, delta, first) = (1.0, 1e-6, 0.196f64);
    let spent = GaussianCost::new(1.0, first).unwrap().delta(epsilon);
    let rest = (mu_within(epsilon, delta).unwrap().powi(2) - first * first).sqrt();
    let chance = |loss: f64| {
        let in_mu = tail((epsilon - loss) / rest - rest / 2.0)
            - libm::exp(epsilon - loss) * tail((epsilon - loss) / rest + rest / 2.0);
        let at_once = (-libm::expm1(epsilon - loss)).max(0.0);
        let in_delta = (delta - spent) + (1.0 - (delta - spent)) * at_once;
        in_mu.max(in_delta)
    };
    let steps = 40_000;
    let (mut reached, width) = (0.0, 20.0 * first / f64::from(steps));
    for step in 0..steps {
        let loss = first * first / 2.0 - 10.0 * first + width * (f64::from(step) + 0.5);
        let density = libm::exp(-((loss - first * first / 2.0) / first).powi(2) / 2.0)
            / (first * super::super::gaussian::TWO_PI_ROOT);
        reached += width * density * chance(loss);
    }
    assert!(reached > 1.9 * delta && reached < 2.0 * delta, "{reached:e}");
}
