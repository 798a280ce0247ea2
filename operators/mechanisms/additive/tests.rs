use super::*;
use crate::mechanisms::{Bound, ContributionBound};
use crate::noise::goodness::Bins;

fn moved(keys: u64, most: u128) -> Sensitivity {
    Sensitivity::each(&Bound::keys(keys).checked().unwrap(), most).unwrap()
}

fn units(amount: &str) -> BudgetUnits {
    BudgetUnits::at_least("amount", &crate::Decimal::parse("amount", amount).unwrap()).unwrap()
}

fn rho(family: Family, amount: &str, moved: &Sensitivity) -> Additive {
    Additive::within(family, Spend::Rho(units(amount)), moved).unwrap()
}

#[track_caller]
fn scale_is(noise: &Additive, by_hand: f64) {
    let scale = noise.scale();
    assert!(scale >= by_hand * (1.0 - 1e-15) && scale <= by_hand * (1.0 + 1e-10), "{scale} for {by_hand}");
}

// Refutes a ratio of 1e63 to a bound that is next to nothing, as at a rho by which nothing is hidden.
#[test]
fn a_bound_that_is_far_below_the_noise_is_not_stated() {
    let keys = Keys::public([1u32]).unwrap();
    let over = |amount: &str| over_bound(1.0, &moved(1, 1), &keys, Spend::Rho(units(amount)));
    assert!(over("0.5").is_some_and(|over| over > 0.1 && over < 10.0));
    assert_eq!(over("500"), None);
    assert!(is_near(1e6) && !is_near(1.1e6) && !is_near(f64::NAN) && !is_near(f64::INFINITY));
}

// By hand, `L2 / sqrt(2 rho)`: sqrt 5, sqrt 50, sqrt 500; 10 sqrt 3 / sqrt .2 = sqrt 1500; and L1 / epsilon.
#[test]
fn scales_are_those_of_the_theorems() {
    scale_is(&rho(Family::Gaussian, "0.1", &moved(1, 1)), 5f64.sqrt());
    scale_is(&rho(Family::Gaussian, "0.1", &moved(10, 1)), 50f64.sqrt());
    scale_is(&rho(Family::Gaussian, "0.1", &moved(100, 1)), 500f64.sqrt());
    scale_is(&rho(Family::Gaussian, "0.1", &moved(3, 10)), 1500f64.sqrt());
    let pure = |amount: &str, moved: &Sensitivity| {
        Additive::within(Family::Laplace, Spend::Pure(units(amount)), moved).unwrap()
    };
    scale_is(&pure("0.5", &moved(3, 10)), 60.0);
    scale_is(&pure("1", &moved(1, 1)), 1.0);
    scale_is(&pure("0.001", &moved(1, 1)), 1000.0);
}

// With one cell by 1 discrete Laplace noise is randomised response: rho = e tanh(e/2), e = 1/b. Ten cells
// cost ten times one: for 10 cells at e = 0.1 together 10 * 0.1 * tanh(0.05) = .0499583749, not the .462 of
// epsilon 1.
#[test]
fn laplace_noise_in_zcdp_is_the_sum_of_its_cells() {
    let together = 0.049_958_374_957_88;
    let noise = rho(Family::Laplace, "0.04995837495788", &moved(10, 1));
    assert!((noise.scale() - 10.0).abs() < 1e-6, "{}", noise.scale());
    let least = |amount: f64| {
        let spend = Spend::Rho(BudgetUnits::at_most_float("rho", amount).unwrap());
        Additive::within(Family::Laplace, spend, &moved(10, 1)).unwrap().scale()
    };
    assert!(least(together * 0.999) > 10.0 && least(together * 1.001) < 10.0);
}

// For each scale found, every integer inequality that privacy rests on holds, and is broken by a scale of one
// part in a thousand million less.
#[test]
fn noise_costs_no_more_than_is_charged_and_hardly_less() {
    let less = |scale: f64| Ratio::try_from(scale * (1.0 - 1e-9)).unwrap();
    for keys in [1, 2, 3, 7, 10, 1000, 1 << 20] {
        for most in [1, 2, 5, 10, 1_000_003] {
            let moved = moved(keys, most);
            for amount in ["0.000001", "0.001", "0.01", "0.1", "0.7", "3"] {
                let budget = units(amount);
                if let Ok(noise) = Additive::within(Family::Gaussian, Spend::Rho(budget), &moved) {
                    let variance = |ratio: Ratio| ratio.squared().unwrap();
                    let l2 = moved.l2_squared();
                    let sigma = noise.scale();
                    assert!(gaussian_holds(budget, l2, variance(Ratio::try_from(sigma).unwrap())));
                    if sigma > 1.0 / 32.0 {
                        assert!(!gaussian_holds(budget, l2, variance(less(sigma))), "{keys} {most} {amount}");
                        assert!(!gaussian_holds(budget, l2 + l2.div_ceil(1000), variance(less(sigma))));
                    }
                }
                if let Ok(noise) = Additive::within(Family::Laplace, Spend::Pure(budget), &moved) {
                    let scale = noise.scale();
                    assert!(laplace_holds(budget, moved.l1(), Ratio::try_from(scale).unwrap()));
                    if scale > 1.0 / 500.0 * moved.l1() as f64 {
                        assert!(!laplace_holds(budget, moved.l1(), less(scale)), "{keys} {most} {amount}");
                    }
                }
            }
        }
    }
}

// By hand: sigma^2 = 5 costs exactly .1 for L2^2 = 1, and a unit less of budget does not pay for it.
#[test]
fn the_integer_proofs_are_exact() {
    let tenth = units("0.1");
    let five = Ratio::new(5, 1).unwrap();
    assert!(gaussian_holds(tenth, 1, five));
    assert!(!gaussian_holds(BudgetUnits::from_bits(tenth.to_bits() - 1), 1, five));
    assert!(!gaussian_holds(tenth, 2, five) && gaussian_holds(tenth, 2, Ratio::new(10, 1).unwrap()));
    let half = units("0.5");
    assert!(laplace_holds(half, 30, Ratio::new(60, 1).unwrap()));
    assert!(!laplace_holds(BudgetUnits::from_bits(half.to_bits() - 1), 30, Ratio::new(60, 1).unwrap()));
}

#[test]
fn what_cannot_be_had_is_named() {
    let refused = |family, spend, moved: &Sensitivity| {
        let refused = Additive::within(family, spend, moved).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let one = moved(1, 1);
    assert_eq!(
        refused(Family::Gaussian, Spend::Pure(units("1")), &one),
        ("delta".into(), InvalidKind::Missing)
    );
    assert_eq!(
        refused(Family::Gaussian, Spend::Rho(units("1")), &moved(1, (1 << 40) + 1)),
        ("sensitivity".into(), InvalidKind::TooLarge)
    );
    assert_eq!(
        refused(Family::Laplace, Spend::Pure(units("1")), &moved(2, 1 << 63)),
        ("sensitivity".into(), InvalidKind::TooLarge)
    );
    assert_eq!(
        refused(Family::Gaussian, Spend::Rho(units("1e-9")), &moved(1, 1 << 40)),
        ("rho".into(), InvalidKind::TooSmall)
    );
    assert_eq!(
        refused(Family::Gaussian, Spend::Rho(BudgetUnits::ZERO), &one),
        ("rho".into(), InvalidKind::Zero)
    );
    let record = Sensitivity::each(&ContributionBound::RECORD, 1).unwrap();
    assert!(Additive::within(Family::Gaussian, Spend::Rho(units("0.1")), &record).is_ok());
}

// 200,000 draws against the law with the scale computed by hand, alpha 1e-6. Scales of 0.95, 1/2 and 2 times
// it are refuted, and so is the variance for the scale.
#[test]
fn draws_follow_the_law_that_is_named() {
    const DRAWS: usize = 200_000;
    let gaussian = |sigma: f64| Bins::new(120, 60, |z| (-(z as f64 / sigma).powi(2) / 2.0).exp());
    let laplace = |scale: f64| Bins::new(400, 60, |z| (-(z.abs() as f64) / scale).exp());
    let sigma = 20f64.sqrt();
    let draws = rho(Family::Gaussian, "0.1", &moved(4, 1)).draws(DRAWS, &mut NoiseSource::seeded(11));
    gaussian(sigma).test(draws.iter().copied()).assert_fits();
    for wrong in [0.95, 0.5, 2.0, sigma] {
        gaussian(sigma * wrong).test(draws.iter().copied()).assert_refuted();
    }
    let noise = Additive::within(Family::Laplace, Spend::Pure(units("0.5")), &moved(3, 1)).unwrap();
    let draws = noise.draws(DRAWS, &mut NoiseSource::seeded(12));
    laplace(6.0).test(draws.iter().copied()).assert_fits();
    for wrong in [0.95, 0.5, 2.0] {
        laplace(6.0 * wrong).test(draws.iter().copied()).assert_refuted();
    }
}

// Refutes the discrete law where mu is paid, sigma in place of its square, and a sigma of another price.
#[test]
fn noise_that_is_paid_in_mu_is_rounded_and_of_the_same_sigma() {
    let moved = moved(4, 3);
    let spend = PrivacyCost::gaussian(0.5).and_then(|amount| Spend::of(&amount)).unwrap();
    let noise = Additive::within(Family::Gaussian, spend, &moved).unwrap();
    // D / mu = 6 / .5.
    scale_is(&noise, 12.0);
    let mut source = NoiseSource::recording(1);
    noise.draws(5, &mut source);
    let [drawn] = source.requests() else { panic!() };
    assert_eq!((drawn.law, drawn.count), ("rounded-gaussian", 5));
    let variance: Ratio = drawn.parameter.parse().unwrap();
    assert!((variance.to_f64() / 144.0 - 1.0).abs() < 1e-10 && variance.to_f64() >= 144.0);
    assert!((noise.deviation() - (144.0f64 + 1.0 / 12.0).sqrt()).abs() < 1e-9);
    // Q((30 - .5) / 12), and the least w with 2 Q((w + .5) / 12) <= .1.
    assert!((noise.tail(30) / 0.006_979_7 - 1.0).abs() < 1e-3, "{}", noise.tail(30));
    assert_eq!(noise.half_width(0.9).unwrap(), 20);
    // The same rho in zCDP draws the discrete law.
    let rho = Additive::within(Family::Gaussian, Spend::Rho(spend.units()), &moved).unwrap();
    let mut source = NoiseSource::recording(1);
    rho.draws(1, &mut source);
    assert_eq!(source.requests()[0].law, "gaussian");
}

// By hand: epsilon .5 is mu = .62389, and three cells of it mu = .62389 sqrt 3: so each cell of 10 needs b = 10 / .5.
// Refutes mu taken for epsilon, and cells that have all of it each.
#[test]
fn laplace_noise_that_is_paid_in_mu_has_the_epsilon_of_it() {
    let spend = |mu: f64| PrivacyCost::gaussian(mu).and_then(|amount| Spend::of(&amount)).unwrap();
    let (one, three) = (0.623_892_592_098_508_2, 0.623_892_592_098_508_2 * 3f64.sqrt());
    for (mu, keys) in [(one, 1), (three, 3)] {
        let noise = Additive::within(Family::Laplace, spend(mu), &moved(keys, 10)).unwrap();
        assert!((noise.scale() / 20.0 - 1.0).abs() < 1e-7, "{}", noise.scale());
        let cell = gdp::mu_of_pure(10.0 / noise.scale()).unwrap();
        assert!(cell * (keys as f64).sqrt() <= mu * (1.0 + 1e-12));
    }
}
