//! Calibrations against the reference tables.

use super::*;
use crate::noise::goodness::full;

/// The rows of `bounded_noise_calibration.csv`: k, epsilon, delta, the published algorithm's bound, and the
/// bound of the best integer power by an uncertified composition.
const REFERENCE: [(u64, f64, f64, f64, f64); 28] = [
    (1, 1.0, 1e-6, 155.238, 37.1738),
    (10, 1.0, 1e-6, 195.542, 69.6059),
    (100, 1.0, 1e-6, 271.302, 166.922),
    (1_000, 1.0, 1e-6, 601.102, 470.127),
    (10_000, 1.0, 1e-6, 1842.91, 1405.22),
    (100_000, 1.0, 1e-6, 5810.82, 4341.41),
    (1_000_000, 1.0, 1e-6, 18370.1, 13703.9),
    (1, 0.5, 1e-6, 285.045, 67.7467),
    (10, 0.5, 1e-6, 361.423, 129.179),
    (100, 0.5, 1e-6, 509.051, 313.744),
    (1_000, 0.5, 1e-6, 1152.33, 892.812),
    (10_000, 0.5, 1e-6, 3541.08, 2649.65),
    (100_000, 0.5, 1e-6, 11167.6, 8270.49),
    (1_000_000, 0.5, 1e-6, 35305.5, 26127.7),
    (1, 0.1, 1e-10, 2949.41, 606.789),
    (10, 0.1, 1e-10, 3447.57, 1053.18),
    (100, 0.1, 1e-10, 4242.18, 2401.95),
    (1_000, 0.1, 1e-10, 7647.86, 6558.82),
    (10_000, 0.1, 1e-10, 22931.0, 19321.0),
    (100_000, 0.1, 1e-10, 72191.9, 59447.2),
    (1_000_000, 0.1, 1e-10, 228190.0, 187935.0),
    (1, 2.0, 1e-10, 182.252, 37.7148),
    (10, 2.0, 1e-10, 211.471, 63.6519),
    (100, 2.0, 1e-10, 254.504, 143.606),
    (1_000, 2.0, 1e-10, 429.767, 385.004),
    (10_000, 2.0, 1e-10, 1265.53, 1127.6),
    (100_000, 2.0, 1e-10, 3980.53, 3376.28),
    (1_000_000, 2.0, 1e-10, 12580.8, 10512.8),
];

// Refutes a bound more than 1% above the reference, above the published one, or, for few answers, not below
// the reference; a delta above the requested one; a table that does not match the bound.
#[test]
fn calibrations_reach_the_reference_table() {
    for (n, (queries, epsilon, delta, published, reference)) in REFERENCE.into_iter().enumerate() {
        if !full() && ![0, 1, 3, 6, 25].contains(&n) {
            continue;
        }
        let asked = BoundedNoiseRequest::new(queries, epsilon, delta).unwrap();
        let noise = CalibratedBoundedNoise::calibrate(&asked, &GridResolution::default()).unwrap();
        let bound = noise.bound();
        assert!(bound <= 1.01 * reference && bound < published, "{queries} {epsilon} {delta:e}: {bound}");
        assert!(queries >= 30 || bound < reference, "{queries} {epsilon} {delta:e}: {bound}");
        assert!(noise.delta() <= delta && noise.epsilon() == epsilon && noise.queries() == queries);
        assert_eq!(noise.weights().len() as u64, noise.reach() + 1);
        assert!(bound * noise.shift() as f64 >= noise.reach() as f64);
        // The table that is drawn from is the one that was certified.
        let table = BoundedNoiseTable::of(noise.weights().iter().copied());
        let again = Certificate::new(&table, noise.shift());
        assert_eq!(again.delta(queries, epsilon, delta), noise.delta());
        assert_eq!(again_drawn(&noise), noise.reach());
    }
    // One answer: 13.66, the closed form ln(1 + (e - 1) / 2e-6).
    let one = CalibratedBoundedNoise::calibrate(
        &BoundedNoiseRequest::new(1, 1.0, 1e-6).unwrap(),
        &GridResolution::default(),
    )
    .unwrap();
    assert!((one.bound() / 13.664 - 1.0).abs() < 0.002, "{}", one.bound());
}

fn again_drawn(noise: &CalibratedBoundedNoise) -> u64 {
    crate::noise::BoundedDistribution::new(noise.weights().to_vec()).unwrap().bound()
}

// Refutes a shift that is no multiple, a reach beyond the requested one where there is room, and a finer grid
// with a larger bound.
#[test]
fn a_grid_is_as_fine_as_asked() {
    let asked = BoundedNoiseRequest::new(1_000, 1.0, 1e-6).unwrap();
    let of = |multiple: u64, reach: u64| {
        CalibratedBoundedNoise::calibrate(&asked, &GridResolution::new(multiple, reach).unwrap()).unwrap()
    };
    let [coarse, fine] = [of(1, 1_000), of(7, 1 << 17)];
    assert!(coarse.shift() == 2 && coarse.reach() <= 1_000);
    assert!(fine.shift().is_multiple_of(7) && fine.reach() <= 1 << 17 && fine.reach() + 4_000 > 1 << 17);
    assert!(fine.bound() < 470.4 && coarse.bound() < fine.bound() * 1.002);
    // No room for one multiple: the multiple itself, for any reach.
    let wide = of(10, 1_000);
    assert!(wide.shift() == 10 && wide.reach() > 4_600);
    assert_eq!(fine.weights(), of(7, 1 << 17).weights());
    // Too fine a grid for a tail of 2^-35, in integers that are log-concave: a coarser one is as good as any.
    let thin = BoundedNoiseRequest::new(1, 2.0, 1e-10).unwrap();
    let thin = CalibratedBoundedNoise::calibrate(&thin, &GridResolution::new(3, 1 << 20).unwrap()).unwrap();
    assert!(
        thin.bound() < 12.15 && thin.shift().is_multiple_of(3) && thin.reach() > 10_000,
        "{}",
        thin.bound()
    );
    for (multiple, reach, field) in [(0, 1, "multiple"), (1, 0, "reach"), (1, 1 << 21, "reach")] {
        assert_eq!(GridResolution::new(multiple, reach).unwrap_err().field(), field);
    }
}

// Refutes a goal that is ignored, and a shape other than the requested one. The table has 82.36 for
// published:3.
#[test]
fn goals_and_shapes_are_kept() {
    let asked = BoundedNoiseRequest::new(30, 1.0, 1e-3).unwrap();
    let of = |asked: BoundedNoiseRequest| {
        CalibratedBoundedNoise::calibrate(&asked, &GridResolution::new(1, 4_000).unwrap()).unwrap()
    };
    let [bound, mixed, rms] = [BoundedNoiseGoal::Bound, BoundedNoiseGoal::Mixed(0.5), BoundedNoiseGoal::Rms]
        .map(|goal| of(asked.goal(goal).unwrap()));
    assert!(rms.unit_deviation() < 0.97 * bound.unit_deviation() && bound.bound() < 0.97 * rms.bound());
    assert!(mixed.unit_deviation() < 1.001 * bound.unit_deviation() && mixed.bound() < 1.001 * rms.bound());
    let shape: NoiseShape = "published:3".parse().unwrap();
    let published = of(BoundedNoiseRequest::new(1, 1.0, 1e-6).unwrap().shape(shape));
    assert_eq!(*published.shape(), shape);
    // The table ends where the density is below 2^-62 of its highest: the bound is that share of the width.
    let width = published.bound() / Sketch::new(shape).end;
    assert!((width / 82.3627 - 1.0).abs() < 0.01 && published.bound() < 70.0, "{width}");
    assert_eq!(asked.goal(BoundedNoiseGoal::Mixed(f64::NAN)).unwrap_err().field(), "goal");
    assert_eq!(BoundedNoiseRequest::new(0, 1.0, 1e-6).unwrap_err().field(), "queries");
    assert_eq!(BoundedNoiseRequest::new(1, 0.0, 1e-6).unwrap_err().field(), "epsilon");
    assert_eq!(BoundedNoiseRequest::new(1, 1.0, 1e-16).unwrap_err().field(), "delta");
}

// Refutes a range in which no noise is found, or a bound above the published one.
#[test]
fn every_corner_is_calibrated() {
    let ends = |few: &'static [f64], all: &'static [f64]| if full() { all } else { few };
    for &queries in ends(&[2.0, 1e6], &[1.0, 2.0, 3.0, 7.0, 29.0, 100.0, 500.0, 1e4, 1e6]) {
        for &epsilon in ends(&[0.1, 10.0], &[0.01, 0.1, 1.0, 10.0]) {
            for &delta in ends(&[1e-3], &[1e-10, 1e-7, 1e-3]) {
                let asked = BoundedNoiseRequest::new(queries as u64, epsilon, delta).unwrap();
                let noise = CalibratedBoundedNoise::calibrate(&asked, &GridResolution::default()).unwrap();
                let most =
                    published_bound(&NoiseShape::published(2).unwrap(), queries as u64, epsilon, delta)
                        .unwrap();
                assert!(noise.delta() <= delta && noise.bound() < most, "{queries} {epsilon} {delta}");
            }
        }
    }
}

/// The rows of `bounded_noise_families.csv`: k, epsilon, delta, shape, the bound that the published code
/// finds.
const FAMILIES: [(u64, f64, f64, &str, f64); 12] = [
    (1, 1.0, 1e-6, "published:1", 311.711),
    (1, 1.0, 1e-6, "published:2", 155.238),
    (1, 1.0, 1e-6, "published:3", 134.88),
    (1, 1.0, 1e-6, "published:exp", 169.585),
    (100, 1.0, 1e-6, "published:2", 271.302),
    (1_000, 1.0, 1e-6, "published:exp", 638.755),
    (1_000_000, 1.0, 1e-6, "published:1", 16758.1),
    (1_000_000, 1.0, 1e-6, "published:3", 20758.2),
    (10, 0.1, 1e-10, "published:1", 8769.02),
    (10, 0.1, 1e-10, "published:exp", 3750.14),
    (1_000, 0.1, 1e-10, "published:2", 7649.72),
    (100_000, 0.1, 1e-10, "published:3", 81577.2),
];

#[test]
fn the_published_bounds_are_found_again() {
    for (queries, epsilon, delta, name, truth) in FAMILIES {
        let found = published_bound(&name.parse().unwrap(), queries, epsilon, delta).unwrap();
        assert!((found / truth - 1.0).abs() < 0.01, "{name} {queries}: {found} for {truth}");
    }
    let refused = published_bound(&NoiseShape::polynomial(3).unwrap(), 1, 1.0, 1e-6).unwrap_err();
    assert_eq!(refused.field(), "shape");
}
