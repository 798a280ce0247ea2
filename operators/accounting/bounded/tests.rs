//! Certificates against exact integers and against a composition by another way, with the mutants that each must catch;
//! calibrations against the reference tables.

use super::*;
use crate::accounting::pld::Care;

/// A seeded generator (xorshift): the same tables on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

/// The weight of noise `x`.
fn weight(table: &Table, x: i64) -> u128 {
    table.weights().get(x.unsigned_abs() as usize).copied().unwrap_or(0).into()
}

/// Delta at `e^epsilon = top/bottom` of one answer for each shift, from all that the answers can be: a fraction of integers.
fn exact(table: &Table, shifts: &[i64], (top, bottom): (u128, u128)) -> (u128, u128) {
    let reach = table.reach() as i64;
    let mut outputs = vec![(1, 1)];
    let mut total = 1;
    for shift in shifts {
        let one: Vec<(u128, u128)> =
            (-reach..=reach).map(|x| (weight(table, x), weight(table, x - shift))).collect();
        total *= one.iter().map(|(own, _)| own).sum::<u128>();
        outputs = outputs
            .iter()
            .flat_map(|(p, q)| one.iter().map(move |(own, other)| (p * own, q * other)))
            .collect();
    }
    (outputs.iter().map(|(p, q)| (bottom * p).saturating_sub(top * q)).sum(), bottom * total)
}

/// Is a certificate one? In floats, a hair below: the fractions here have denominators below 2^64.
fn certifies(bound: f64, (top, bottom): (u128, u128)) -> bool {
    bound >= top as f64 / bottom as f64 * (1.0 - 1e-14)
}

/// What the certificate says with an edge that is not counted: the mutant.
fn without_edge(table: &Table, shift: u64, queries: u64, epsilon: f64) -> f64 {
    Certificate::new(table, shift).listed(0.0).without_infinite().delta(queries, epsilon, CARE)
}

const CARE: Care = Care { excess: 1e-3, terms: (2048.0, 65_536.0) };

/// A table of small weights: any, made log-concave.
fn any_table(dice: &mut Dice) -> Table {
    let length = 2 + dice.below(6);
    let mut last = 200 + dice.below(2000);
    Table::of((0..length).map(|_| {
        last = last.saturating_sub(dice.below(last / 2 + 2)).max(1);
        last
    }))
}

// Refutes a certificate that is below the exact delta of one, two or three answers (and one that is far above), and each of
// the mutants: the edge not counted, a shift one too small, an answer too few.
#[test]
fn certificates_are_above_exact_integers() {
    let mut dice = Dice(20_261_122);
    let mut caught = [0; 3];
    for case in 0..400 {
        let table = any_table(&mut dice);
        let shift = 1 + dice.below(3.min(table.reach()));
        let queries = 1 + dice.below(3);
        let bottom = 1 + dice.below(6);
        let top = bottom + dice.below(40);
        // Rounded down, so that the true delta at this float is no smaller than that of the fraction.
        let epsilon = (top as f64 / bottom as f64).ln().next_down().next_down().max(0.0);
        let truth = exact(&table, &vec![shift as i64; queries as usize], (top.into(), bottom.into()));
        let bound = |shift: u64, queries: u64| {
            Certificate::new(&table, shift).delta(queries, epsilon, truth.0 as f64 / truth.1 as f64)
        };
        let certified = bound(shift, queries);
        assert!(certifies(certified, truth), "case {case}: {certified:e} is below {truth:?} of {table:?}");
        let most = truth.0 as f64 / truth.1 as f64 * 1.02 + 1e-12;
        assert!(
            certified <= most,
            "case {case}: {certified:e} is far above {most:e}: {table:?} {shift} {queries}"
        );
        caught[0] += usize::from(!certifies(without_edge(&table, shift, queries, epsilon), truth));
        caught[1] += usize::from(shift > 1 && !certifies(bound(shift - 1, queries), truth));
        caught[2] += usize::from(queries > 1 && !certifies(bound(shift, queries - 1), truth));
    }
    // Nearly every table shows an edge, every second shift and answer.
    assert!(caught[0] > 300 && caught[1] > 80 && caught[2] > 150, "{caught:?}");
}

// Refutes "questions that move the answer by less, or to either side, may cost more": in exact integers, over all pairs of
// shifts; and shows that it is false of a table that is not log-concave.
#[test]
fn the_largest_shift_dominates_the_others() {
    let mut dice = Dice(7);
    for case in 0..60 {
        let table = any_table(&mut dice);
        let shift = table.reach().min(4) as i64;
        for odds in [(1, 1), (3, 2), (4, 1), (20, 1)] {
            let largest = exact(&table, &[shift, shift], odds).0;
            for (first, second) in (-shift..=shift).flat_map(|a| (-shift..=shift).map(move |b| (a, b))) {
                let found = exact(&table, &[first, second], odds).0;
                assert!(found <= largest, "case {case}: {first} {second} of {shift}, {odds:?}: {table:?}");
            }
        }
    }
    let comb = Table::raw(vec![50, 1, 40, 1, 30]);
    assert!(exact(&comb, &[1], (4, 1)).0 > exact(&comb, &[2], (4, 1)).0);
}

#[test]
fn tables_of_every_shape_are_falling_and_log_concave() {
    for name in [
        "polynomial:1",
        "polynomial:4",
        "polynomial:30",
        "laplace:13.66",
        "laplace:60",
        "blend:10.3,2.57,1.17",
        "blend:0,1,2.5",
        "published:1",
        "published:2",
        "published:3",
        "published:exp",
    ] {
        let shape: Shape = name.parse().unwrap();
        for scale in [1, 2, 17, 1000, 100_000] {
            let table = Table::new(&shape, scale).unwrap();
            let half = table.weights();
            assert_eq!(half[0], 1 << 62, "{name}");
            assert!(half.iter().all(|weight| *weight > 0) && half.is_sorted_by(|a, b| a >= b), "{name}");
            let concave = |triple: &[u64]| {
                let [before, here, after] = [triple[0], triple[1], triple[2]].map(u128::from);
                here * here >= before * after
            };
            assert!(half.windows(3).all(concave), "{name} {scale}");
            // Lowering weights leaves their sum as it is.
            let density: f64 = (0..scale).map(|j| (-shape.fall(j as f64 / scale as f64)).exp()).sum();
            let kept: f64 = half.iter().map(|weight| *weight as f64 / half[0] as f64).sum();
            assert!((kept / density - 1.0).abs() < 1e-9, "{name} {scale}: {kept} {density}");
        }
    }
    assert_eq!(Table::new(&Shape::published_exp(), (1 << 21) + 1).unwrap_err().field(), "queries");
}

/// Delta of so many uses by a discrete Fourier transform of rounded losses, with no tilt and nothing of the certificate's
/// but the table: losses rounded down, and what that took away in the mean given back to epsilon (or not).
fn transformed(table: &Table, shift: i64, queries: u64, epsilon: f64, given_back: bool) -> f64 {
    const SIZE: usize = 1 << 20;
    // Losses near the edge are several nats: they must not come around to the other side.
    const STEP: f64 = 2e-5;
    let reach = table.reach() as i64;
    let mut real = vec![0.0; SIZE];
    let (mut infinite, mut total, mut cut) = (0.0, 0.0, 0.0);
    for x in -reach..=reach {
        let (own, other) = (weight(table, x) as f64, weight(table, x - shift) as f64);
        total += own;
        if other == 0.0 {
            infinite += own;
            continue;
        }
        let loss = (own / other).ln() / STEP;
        cut += own * (loss - loss.floor()) * STEP;
        real[(loss.floor() as i64).rem_euclid(SIZE as i64) as usize] += own;
    }
    real.iter_mut().for_each(|mass| *mass /= total);
    let mut imaginary = vec![0.0; SIZE];
    fourier(&mut real, &mut imaginary, 1.0);
    for (re, im) in real.iter_mut().zip(&mut imaginary) {
        let (size, angle) = (re.hypot(*im).powf(queries as f64), im.atan2(*re) * queries as f64);
        (*re, *im) = (size * angle.cos(), size * angle.sin());
    }
    fourier(&mut real, &mut imaginary, -1.0);
    let epsilon = epsilon - if given_back { cut / total * queries as f64 } else { 0.0 };
    let above = real.iter().enumerate().map(|(n, mass)| {
        // The upper half of the places are losses below 0.
        let loss = if n < SIZE / 2 { n as f64 * STEP } else { -1.0 };
        mass / SIZE as f64 * (1.0 - (epsilon - loss).exp()).max(0.0)
    });
    1.0 - (1.0 - infinite / total).powf(queries as f64) + above.sum::<f64>()
}

/// The plain radix-2 transform.
fn fourier(real: &mut [f64], imaginary: &mut [f64], sign: f64) {
    let size = real.len();
    let bits = size.trailing_zeros();
    for n in 0..size {
        let other = n.reverse_bits() >> (usize::BITS - bits);
        if n < other {
            real.swap(n, other);
            imaginary.swap(n, other);
        }
    }
    let mut half = 1;
    while half < size {
        for k in 0..half {
            let (sin, cos) = (sign * std::f64::consts::PI * k as f64 / half as f64).sin_cos();
            for a in (k..size).step_by(2 * half) {
                let b = a + half;
                let (re, im) = (real[b] * cos - imaginary[b] * sin, real[b] * sin + imaginary[b] * cos);
                (real[b], imaginary[b]) = (real[a] - re, imaginary[a] - im);
                (real[a], imaginary[a]) = (real[a] + re, imaginary[a] + im);
            }
        }
        half *= 2;
    }
}

// Refutes a certificate of a thousand answers that is below another way to compose them or 0.5% above; and the mutants, of
// which an answer too few is 1.2% of delta.
#[test]
fn a_thousand_answers_agree_with_another_composition() {
    let (shift, epsilon) = (4, 1.0);
    let table = Table::new(&Shape::polynomial(4).unwrap(), 1_882).unwrap();
    let lower = transformed(&table, shift, 1000, epsilon, false);
    let near = transformed(&table, shift, 1000, epsilon, true);
    let agrees = |delta: f64| delta >= lower && delta >= near * 0.999 && delta <= near * 1.005;
    let bound =
        |shift: i64, queries: u64| Certificate::new(&table, shift as u64).delta(queries, epsilon, near);
    let certified = bound(shift, 1000);
    assert!(agrees(certified), "{certified:e} for {near:e}, above {lower:e}");
    for (mutant, delta) in [
        ("the shift one too small", bound(shift - 1, 1000)),
        ("a shift too large", bound(shift + 1, 1000)),
        ("an answer too few", bound(shift, 999)),
        ("ten answers too many", bound(shift, 1010)),
    ] {
        assert!(!agrees(delta), "{mutant}: {delta:e} for {near:e}");
    }
    // Where the edge is what costs, its being left out is seen too.
    let table = Table::new(&Shape::polynomial(2).unwrap(), 1_882).unwrap();
    let near = transformed(&table, shift, 1000, epsilon, true);
    let certified = Certificate::new(&table, shift as u64).delta(1000, epsilon, near);
    let mutant = without_edge(&table, shift as u64, 1000, epsilon);
    assert!(certified >= near * 0.999 && certified <= near * 1.01, "{certified:e} {near:e}");
    assert!(mutant < near * 0.999, "{mutant:e} {near:e}");
}

/// `bounded_noise_calibration.csv`: k, epsilon, delta, the published algorithm's bound, and the bound of the best integer
/// power by an uncertified composition.
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

fn full() -> bool {
    std::env::var_os("DISCREET_FULL").is_some()
}

// Refutes a bound more than 1% above the reference, above the published one, or, for few answers, not below the reference;
// a delta above what was asked; a table that is not what the bound says.
#[test]
fn calibrations_reach_the_reference_table() {
    for (n, (queries, epsilon, delta, published, reference)) in REFERENCE.into_iter().enumerate() {
        if !full() && ![0, 1, 3, 6, 25].contains(&n) {
            continue;
        }
        let asked = Asked::new(queries, epsilon, delta).unwrap();
        let noise = BoundedNoise::calibrate(&asked, &Fineness::default()).unwrap();
        let bound = noise.bound();
        assert!(bound <= 1.01 * reference && bound < published, "{queries} {epsilon} {delta:e}: {bound}");
        assert!(queries >= 30 || bound < reference, "{queries} {epsilon} {delta:e}: {bound}");
        assert!(noise.delta() <= delta && noise.epsilon() == epsilon && noise.queries() == queries);
        assert_eq!(noise.weights().len() as u64, noise.reach() + 1);
        assert!(bound * noise.shift() as f64 >= noise.reach() as f64);
        // What is drawn from is what was certified.
        let table = Table::of(noise.weights().iter().copied());
        let again = Certificate::new(&table, noise.shift());
        assert_eq!(again.delta(queries, epsilon, delta), noise.delta());
        assert_eq!(again_drawn(&noise), noise.reach());
    }
    // One answer: 13.66, the closed form ln(1 + (e - 1) / 2e-6).
    let one = BoundedNoise::calibrate(&Asked::new(1, 1.0, 1e-6).unwrap(), &Fineness::default()).unwrap();
    assert!((one.bound() / 13.664 - 1.0).abs() < 0.002, "{}", one.bound());
}

fn again_drawn(noise: &BoundedNoise) -> u64 {
    crate::noise::Bounded::new(noise.weights().to_vec()).unwrap().bound()
}

// Refutes a shift that is no multiple, a reach beyond what was asked where there is room, and a finer grid with a larger
// bound.
#[test]
fn a_grid_is_as_fine_as_asked() {
    let asked = Asked::new(1_000, 1.0, 1e-6).unwrap();
    let of = |multiple: u64, reach: u64| {
        BoundedNoise::calibrate(&asked, &Fineness::new(multiple, reach).unwrap()).unwrap()
    };
    let [coarse, fine] = [of(1, 1_000), of(7, 1 << 17)];
    assert!(coarse.shift() == 2 && coarse.reach() <= 1_000);
    assert!(fine.shift().is_multiple_of(7) && fine.reach() <= 1 << 17 && fine.reach() + 4_000 > 1 << 17);
    assert!(fine.bound() < 470.4 && coarse.bound() < fine.bound() * 1.002);
    // No room for one multiple: the multiple itself, whatever the reach.
    let wide = of(10, 1_000);
    assert!(wide.shift() == 10 && wide.reach() > 4_600);
    assert_eq!(fine.weights(), of(7, 1 << 17).weights());
    // Too fine a grid for a tail of 2^-35, in integers that are log-concave: a coarser one is as good as any.
    let thin = Asked::new(1, 2.0, 1e-10).unwrap();
    let thin = BoundedNoise::calibrate(&thin, &Fineness::new(3, 1 << 20).unwrap()).unwrap();
    assert!(
        thin.bound() < 12.15 && thin.shift().is_multiple_of(3) && thin.reach() > 10_000,
        "{}",
        thin.bound()
    );
    for (multiple, reach, field) in [(0, 1, "multiple"), (1, 0, "reach"), (1, 1 << 21, "reach")] {
        assert_eq!(Fineness::new(multiple, reach).unwrap_err().field(), field);
    }
}

// Refutes a goal that is not heeded, and a shape that is not the one asked for. The table has 82.36 for published:3.
#[test]
fn goals_and_shapes_are_kept() {
    let asked = Asked::new(30, 1.0, 1e-3).unwrap();
    let of = |asked: Asked| BoundedNoise::calibrate(&asked, &Fineness::new(1, 4_000).unwrap()).unwrap();
    let [bound, mixed, rms] =
        [Goal::Bound, Goal::Mixed(0.5), Goal::Rms].map(|goal| of(asked.goal(goal).unwrap()));
    assert!(rms.unit_deviation() < 0.97 * bound.unit_deviation() && bound.bound() < 0.97 * rms.bound());
    assert!(mixed.unit_deviation() < 1.001 * bound.unit_deviation() && mixed.bound() < 1.001 * rms.bound());
    let shape: Shape = "published:3".parse().unwrap();
    let published = of(Asked::new(1, 1.0, 1e-6).unwrap().shape(shape));
    assert_eq!(*published.shape(), shape);
    // The table ends where the density is below 2^-62 of its highest: the bound is that share of the width.
    let width = published.bound() / Sketch::new(shape).end;
    assert!((width / 82.3627 - 1.0).abs() < 0.01 && published.bound() < 70.0, "{width}");
    assert_eq!(asked.goal(Goal::Mixed(f64::NAN)).unwrap_err().field(), "goal");
    assert_eq!(Asked::new(0, 1.0, 1e-6).unwrap_err().field(), "queries");
    assert_eq!(Asked::new(1, 0.0, 1e-6).unwrap_err().field(), "epsilon");
    assert_eq!(Asked::new(1, 1.0, 1e-16).unwrap_err().field(), "delta");
}

// Refutes a range in which no noise is found, or a bound above the published one.
#[test]
fn every_corner_is_calibrated() {
    let ends = |few: &'static [f64], all: &'static [f64]| if full() { all } else { few };
    for &queries in ends(&[2.0, 1e6], &[1.0, 2.0, 3.0, 7.0, 29.0, 100.0, 500.0, 1e4, 1e6]) {
        for &epsilon in ends(&[0.1, 10.0], &[0.01, 0.1, 1.0, 10.0]) {
            for &delta in ends(&[1e-3], &[1e-10, 1e-7, 1e-3]) {
                let asked = Asked::new(queries as u64, epsilon, delta).unwrap();
                let noise = BoundedNoise::calibrate(&asked, &Fineness::default()).unwrap();
                let most =
                    published_bound(&Shape::published(2).unwrap(), queries as u64, epsilon, delta).unwrap();
                assert!(noise.delta() <= delta && noise.bound() < most, "{queries} {epsilon} {delta}");
            }
        }
    }
}

/// `bounded_noise_families.csv`: k, epsilon, delta, shape, the bound that the published code finds.
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
    let refused = published_bound(&Shape::polynomial(3).unwrap(), 1, 1.0, 1e-6).unwrap_err();
    assert_eq!(refused.field(), "shape");
}
