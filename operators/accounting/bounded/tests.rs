//! Certificates against exact integers and against another composition, with the mutants that each test must
//! catch.

mod calibrations;

use dashu_int::IBig;

use super::*;
use crate::accounting::dice::Dice;
use crate::accounting::pld::Precision;
use crate::accounting::resonance::{Fixed256, PLACES};

/// The weight of noise `x`.
fn weight(table: &BoundedNoiseTable, x: i64) -> u128 {
    table.weights().get(x.unsigned_abs() as usize).copied().unwrap_or(0).into()
}

/// Delta at `e^epsilon = top/bottom` with one answer for each shift, over all possible answers: a fraction of
/// integers.
fn exact(table: &BoundedNoiseTable, shifts: &[i64], (top, bottom): (u128, u128)) -> (u128, u128) {
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

/// True if a bound is above the fraction, in floats and slightly below: the fractions here have denominators
/// below 2^64.
fn certifies(bound: f64, (top, bottom): (u128, u128)) -> bool {
    bound >= top as f64 / bottom as f64 * (1.0 - 1e-14)
}

/// The bound of a certificate without its edge: the mutant.
fn without_edge(table: &BoundedNoiseTable, shift: u64, queries: u64, epsilon: f64) -> f64 {
    Certificate::new(table, shift).listed(0.0).without_infinite().delta(queries, epsilon, CARE)
}

const CARE: Precision = Precision { excess: 1e-3, terms: (2048.0, 65_536.0) };

/// A table of small weights: any, made log-concave.
fn any_table(dice: &mut Dice) -> BoundedNoiseTable {
    let length = 2 + dice.below(6);
    let mut last = 200 + dice.below(2000);
    BoundedNoiseTable::of((0..length).map(|_| {
        last = last.saturating_sub(dice.below(last / 2 + 2)).max(1);
        last
    }))
}

// Refutes a certificate that is below the exact delta of one, two or three answers (and one that is far
// above), and each of the mutants: the edge not counted, a shift one too small, an answer too few.
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
    // The missing edge is caught in nearly every case, the other mutants in about half of those with a shift
    // or an answer to lose.
    assert!(caught[0] > 300 && caught[1] > 80 && caught[2] > 150, "{caught:?}");
}

// Refutes "queries that move the answer by less, or to either side, may cost more": in exact integers, over
// all pairs of shifts; and shows that it is true of a table that is not log-concave.
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
    let comb = BoundedNoiseTable::raw(vec![50, 1, 40, 1, 30]);
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
        let shape: NoiseShape = name.parse().unwrap();
        for scale in [1, 2, 17, 1000, 100_000] {
            let table = BoundedNoiseTable::new(&shape, scale).unwrap();
            let half = table.weights();
            assert_eq!(half[0], 1 << 62, "{name}");
            assert!(half.iter().all(|weight| *weight > 0) && half.is_sorted_by(|a, b| a >= b), "{name}");
            let concave = |triple: &[u64]| {
                let [before, here, after] = [triple[0], triple[1], triple[2]].map(u128::from);
                here * here >= before * after
            };
            assert!(half.windows(3).all(concave), "{name} {scale}");
            // Lowering weights leaves their sum almost unchanged.
            let density: f64 = (0..scale).map(|j| (-shape.fall(j as f64 / scale as f64)).exp()).sum();
            let kept: f64 = half.iter().map(|weight| *weight as f64 / half[0] as f64).sum();
            assert!((kept / density - 1.0).abs() < 1e-9, "{name} {scale}: {kept} {density}");
        }
    }
    assert_eq!(
        BoundedNoiseTable::new(&NoiseShape::published_exp(), (1 << 21) + 1).unwrap_err().field(),
        "queries"
    );
}

/// Delta of `queries` uses by a discrete Fourier transform of rounded losses, with no tilt and with nothing
/// of the certificate but the table: losses are rounded down, and the mean of the rounding is given back to
/// epsilon (or not).
fn transformed(table: &BoundedNoiseTable, shift: i64, queries: u64, epsilon: f64, given_back: bool) -> f64 {
    const SIZE: usize = 1 << 20;
    // Losses near the edge are several nats: they must not wrap around to the other side.
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

// Refutes a certificate of a thousand answers that is below another composition or 0.5% above it; and the
// mutants, of which an answer too few is 1.2% of delta.
#[test]
fn a_thousand_answers_agree_with_another_composition() {
    let (shift, epsilon) = (4, 1.0);
    let table = BoundedNoiseTable::new(&NoiseShape::polynomial(4).unwrap(), 1_882).unwrap();
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
    // Where the edge is the main cost, leaving it out is caught too.
    let table = BoundedNoiseTable::new(&NoiseShape::polynomial(2).unwrap(), 1_882).unwrap();
    let near = transformed(&table, shift, 1000, epsilon, true);
    let certified = Certificate::new(&table, shift as u64).delta(1000, epsilon, near);
    let mutant = without_edge(&table, shift as u64, 1000, epsilon);
    assert!(certified >= near * 0.999 && certified <= near * 1.01, "{certified:e} {near:e}");
    assert!(mutant < near * 0.999, "{mutant:e} {near:e}");
}

/// Delta of one or two answers at a float's own `e^epsilon`, as a fraction: over all answers, in integers.
/// `e^epsilon` is rounded down at 256 binary places, which can only make delta larger.
fn exactly(table: &BoundedNoiseTable, shift: u64, queries: u64, epsilon: f64) -> (IBig, IBig) {
    let (reach, shift) = (table.reach() as i64, shift as i64);
    let odds = Fixed256::whole(1).over(&Fixed256::of(epsilon).exp_minus()).0;
    let big = |x: i64| IBig::from(weight(table, x));
    let total = (-reach..=reach).fold(IBig::ZERO, |sum, x| sum + big(x));
    let exceeds = |own: IBig, other: IBig| (own << PLACES) - other * &odds;
    if queries == 1 {
        let each = (-reach..=reach).map(|x| exceeds(big(x), big(x - shift)));
        return (
            each.filter(|over| *over > IBig::ZERO).fold(IBig::ZERO, |sum, over| sum + over),
            total << PLACES,
        );
    }
    // Losses fall from one end to the other: the larger the first answer's loss, the smaller the second's may
    // be, and all sums run on.
    let (mut delta, mut last) = (IBig::ZERO, -reach - 1);
    let (mut own, mut other) = (IBig::ZERO, IBig::ZERO);
    for x in (-reach..=reach).rev() {
        let (p, q) = (big(x), big(x - shift));
        while last < reach && exceeds(&p * big(last + 1), &q * big(last + 1 - shift)) > IBig::ZERO {
            last += 1;
            own += big(last);
            other += big(last - shift);
        }
        delta += exceeds(p * &own, q * &other);
    }
    (delta, (&total * &total) << PLACES)
}

/// Two certificates that another program, which knew the shape and the bound but not the table, put 7.8e-8
/// and 0.24% above delta. Here the very weights are summed, in integers: both certificates hold, and none
/// would with a weight left out.
#[test]
fn certificates_of_one_and_two_answers_are_exact_sums() {
    for (queries, epsilon, delta) in [(1, 1.0, 1e-6), (2, 0.1, 1e-12)] {
        let noise = CalibratedBoundedNoise::calibrate(
            &BoundedNoiseRequest::new(queries, epsilon, delta).unwrap(),
            &GridResolution::default(),
        )
        .unwrap();
        let exact = |table: &BoundedNoiseTable| exactly(table, noise.shift(), queries, noise.epsilon());
        let (top, bottom) = exact(&noise.table);
        let at_most = |bound: f64| &top << PLACES <= &bottom * Fixed256::of(bound).0;
        assert!(
            at_most(noise.delta()) && noise.delta() <= delta,
            "{queries}: {:e} is below the sum",
            noise.delta()
        );
        assert!(!at_most(noise.delta() * 0.99), "{queries}: {:e} is far above the sum", noise.delta());
        // The sum itself would notice a weight that is left out.
        let (top, bottom) =
            exact(&BoundedNoiseTable::raw(noise.weights()[..noise.weights().len() - 1].to_vec()));
        assert!(
            top << PLACES > bottom * Fixed256::of(noise.delta()).0,
            "{queries}: a bound one step less is as good"
        );
    }
}

// Refutes a certificate of one answer without its own rounding error: epsilon is a few units of a float below
// a loss that half of all answers have, so that delta is a small difference of large sums.
#[test]
fn a_certificate_near_a_loss_covers_its_rounding() {
    let mut dice = Dice(20_261_123);
    let mut cancelled = 0;
    for case in 0..300 {
        let ratio = dice.between(0.2, 0.9);
        let weights = (0..60).map(|j| (2f64.powi(62) * ratio.powi(j)) as u64);
        let table = BoundedNoiseTable::of(weights.filter(|weight| *weight > 0));
        let mut epsilon = -ratio.ln();
        for _ in 0..dice.below(12) {
            epsilon = epsilon.next_down();
        }
        let certified = Certificate::new(&table, 1).delta(1, epsilon, 1e-15);
        let (top, bottom) = exactly(&table, 1, 1, epsilon);
        let above = |bound: f64| &top << PLACES <= &bottom * Fixed256::of(bound).0;
        assert!(above(certified), "case {case}: {certified:e} is below the sum for {ratio} at {epsilon}");
        cancelled += usize::from(above(1e-14));
    }
    assert!(cancelled > 100, "{cancelled}: too weak a test");
}
