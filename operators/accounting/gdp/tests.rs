use super::*;
use crate::accounting::pld::{Bundle, Pair};
use crate::accounting::{Adjacency, DiscreteGaussianCost, PrivacyFilter, ReleaseCost};

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

/// The largest delta at `epsilon` that an analyst attains who chooses each of the mu that are left by the loss
/// so far, and when to spend `failing` on an answer that tells all with this probability: exact but for the
/// grid of losses, by dynamic programming from the end.
///
/// A state is what is left of `whole^2`, in `steps` equal parts, with the loss, and with or without what may
/// fail; an action spends some of the parts at once. The grid takes losses to the nearest of its points.
fn adaptive(epsilon: f64, (whole, failing): (f64, f64), steps: usize) -> f64 {
    let grid = 0.02 * whole;
    // A whole number of steps, so that a loss of 0 is a point of the grid.
    let reach = ((12.0 * whole + whole * whole + epsilon) / grid).ceil() * grid;
    let count = (2.0 * reach / grid) as usize + 1;
    let stopped: Vec<f64> =
        (0..count).map(|place| (-libm::expm1(epsilon + reach - place as f64 * grid)).max(0.0)).collect();
    let fails = |kept: &[f64]| kept.iter().map(|chance| failing + (1.0 - failing) * chance).collect();
    let mut values: Vec<[Vec<f64>; 2]> = vec![[stopped.clone(), fails(&stopped)]];
    for left in 1..=steps {
        let mut best = [stopped.clone(), stopped.clone()];
        for spent in 1..=left {
            let squared = whole * whole * spent as f64 / steps as f64;
            let mu = squared.sqrt();
            // With the unit the loss is normal with mean mu^2 / 2 and variance mu^2.
            let width = (8.0 * mu / grid) as i64 + 1;
            let at = |bound: f64| tail((bound * grid - squared / 2.0) / mu);
            let chances: Vec<f64> =
                (-width..=width).map(|step| at(step as f64 - 0.5) - at(step as f64 + 0.5)).collect();
            for (best, next) in best.iter_mut().zip(&values[left - spent]) {
                for (place, best) in best.iter_mut().enumerate() {
                    let to = |index: usize| (place as i64 + index as i64 - width).clamp(0, count as i64 - 1);
                    let chances = chances.iter().enumerate();
                    let sum: f64 = chances.map(|(index, chance)| chance * next[to(index) as usize]).sum();
                    *best = best.max(sum);
                }
            }
        }
        let [without, with] = best;
        let at_once: Vec<f64> = fails(&without);
        let with = with.iter().zip(&at_once).map(|(a, b)| a.max(*b)).collect();
        values.push([without, with]);
    }
    values[steps][1][(reach / grid).round() as usize]
}

// Whatever is chosen by the answers, delta is that of one Gaussian and what may fail: here of every analyst who
// spends mu in up to 6 parts, each as large as the loss suggests, and fails when it suggests it, at delta = 1e-6,
// which no sampling would see.
#[test]
fn no_order_of_spending_beats_the_limits() {
    let epsilon = 1.0;
    for (delta, failing) in [(1e-6, 0.0), (7e-7, 3e-7)] {
        let mu = mu_within(epsilon, delta).unwrap();
        let once = adaptive(epsilon, (mu, failing), 1);
        let many = adaptive(epsilon, (mu, failing), 6);
        // The grid itself is worth a percent of delta.
        assert!((once / 1e-6 - 1.0).abs() < 0.01, "{once:e}");
        assert!(many < once * 1.01 && many >= once * 0.999, "{many:e} {once:e}");
    }
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

/// `P[round(N(0, sigma^2)) = z]` times 2^60, for `z` from -reach to reach.
fn rounded_weights(sigma: f64, reach: i64) -> Vec<u64> {
    let at = |z: i64| tail((z as f64 - 0.5) / sigma);
    let weight = |z: i64| ((at(z.abs()) - at(z.abs() + 1)) * (1u64 << 60) as f64).round() as u64;
    (-reach..=reach).map(weight).collect()
}

// The law that is drawn, as a table, composed exactly: never above one Gaussian of the sum of squares. Of the
// discrete Gaussian that is false, so its price is no price of mu.
#[test]
fn rounded_noise_costs_no_more_than_its_mu_and_discrete_noise_does() {
    for (sigma, shift, count, epsilon) in
        [(0.5, 1, 1, 4.0), (0.7, 1, 3, 2.0), (1.0, 1, 10, 6.0), (2.0, 3, 4, 5.0), (10.0, 1, 50, 1.0)]
    {
        let pair = Pair::table(&rounded_weights(sigma, (9.0 * sigma) as i64 + 4), shift).unwrap();
        let exact = Bundle::new(Adjacency::PERSON).add(&pair, count).unwrap().delta(epsilon).unwrap();
        let mu = shift as f64 / sigma * (count as f64).sqrt();
        let price = GaussianCost::new(1.0, mu).unwrap().delta(epsilon);
        assert!(exact <= price * (1.0 + 1e-5), "{sigma}: {exact:e} {price:e}");
        assert!(sigma < 2.0 || exact > 0.8 * price, "{sigma}: {exact:e} {price:e}");
    }
    let above = (1..400).map(|step| f64::from(step) / 50.0).filter(|epsilon| {
        let discrete = DiscreteGaussianCost::new(0.5, 1).unwrap().delta(*epsilon);
        discrete > 1.05 * GaussianCost::new(0.5, 1.0).unwrap().delta(*epsilon)
    });
    assert!(above.count() > 20);
}

// What several keys of a person cost in epsilon, their parts cost in squares of mu: the square is convex in epsilon, so a
// part of an epsilon never costs more than that part of the square.
#[test]
fn a_part_of_an_epsilon_costs_no_more_than_its_part() {
    let squared = |epsilon: f64| mu_of_pure(epsilon).unwrap().powi(2);
    for step in 1..590 {
        let epsilon = 0.001 * 1.022f64.powi(step);
        for part in [0.01, 0.2, 0.5, 0.9] {
            assert!(squared(part * epsilon) <= part * squared(epsilon), "{epsilon} {part}");
        }
        let bend = squared(1.1 * epsilon) + squared(0.9 * epsilon) - 2.0 * squared(epsilon);
        assert!(bend > 0.0, "{epsilon}: {bend}");
    }
}
