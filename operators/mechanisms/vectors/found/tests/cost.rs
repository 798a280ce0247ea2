//! The cost of a window, and the largest change by one person, in integers.

use dashu_int::UBig;

use super::*;
use crate::accounting::PrivacyCost;
use crate::mechanisms::additive::Family;
use crate::mechanisms::additive::UncheckedNoise;
use crate::mechanisms::spend::Spend;
use crate::mechanisms::vectors::followed::{ExactVector, exact};
use crate::mechanisms::vectors::found::{FoundMeanPrices, VectorSteps};
use crate::mechanisms::vectors::frame::Frame;
use crate::mechanisms::vectors::frame::to_bytes;
use crate::mechanisms::vectors::lower::Lower;

fn steps<K: Key>(mean: &FoundMean<K>, rho: f64) -> VectorSteps {
    let spend = Spend::of(&PrivacyCost::zcdp(rho).unwrap());
    FoundMeanPrices::new(&UncheckedNoise::new(Family::Gaussian, spend), mean).unwrap().steps
}

fn of(records: &[&[i64]], frame: &Frame, outer: &Ranges, steps: &VectorSteps) -> ExactVector {
    let mut rows = VectorRows::of(outer.each().len());
    records.iter().for_each(|record| rows.add(record));
    exact(&rows, frame, outer.each(), steps)
}

fn squares(sums: &[i128]) -> u128 {
    sums.iter().map(|sum| sum.unsigned_abs().pow(2)).sum()
}

/// Returns frames that fit, and frames that are far off, narrow, wide, or nearly singular.
fn frames() -> Vec<Frame> {
    let frame = |centre: [f64; 3], factor: [f64; 6]| Frame {
        centre: centre.to_vec(),
        factor: Lower::of(&factor, 3).unwrap(),
    };
    vec![
        frame([0.0; 3], [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        frame([1e18, -1e18, 0.5], [0.25, 0.0, 0.25, 0.0, 0.0, 0.25]),
        frame([7.5, -3.0, 1e6], [1e-3, 5e3, 1e-3, -1e9, 7e-4, 2.0]),
        frame([1e5, 1e5, 1e5], [1e5, 9e4, 1e4, 9e4, 1e4, 1e3]),
        frame([0.0; 3], [1e300, 1e300, 1e-300, -1e300, 1e300, 1e-300]),
        frame([0.0; 3], [1e19, 0.0, 1e19, 0.0, 0.0, 1e19]),
    ]
}

// Refutes a length that is not enforced, or only before rounding, or only for records within the outer
// ranges; and products that are longer than the square of their record.
#[test]
fn no_record_moves_the_sums_by_more_than_is_paid_for() {
    let outer = Ranges::new([(i64::MIN, i64::MAX), (-(1 << 40), 1 << 40), (0, 100)]).unwrap();
    let ends = [i64::MIN, -(1 << 40), -1_000_003, -1, 0, 3, 50, 1 << 20, i64::MAX];
    for steps in [steps(&whole(&outer), 0.1), VectorSteps { longest: 0.7, bits: 16, coarse: 5 }] {
        let (most, products) = (u128::from(steps.most()), u128::from(steps.most_products()));
        let (mut longest, mut most_products) = (0, 0);
        for frame in frames() {
            let mut sum = of(&[], &frame, &outer, &steps);
            let mut all: Vec<[i64; 3]> = Vec::new();
            for place in 0..ends.len().pow(3) {
                let record = [place, place / 9, place / 81].map(|digit| ends[digit % 9]);
                let alone = of(&[&record], &frame, &outer, &steps);
                assert_eq!(alone.records, 1);
                assert!(squares(&alone.sums) <= most * most, "{record:?} {frame:?}");
                assert!(squares(&alone.products) <= products * products, "{record:?} {frame:?}");
                longest = longest.max(squares(&alone.sums));
                most_products = most_products.max(squares(&alone.products));
                sum.records += 1;
                sum.sums.iter_mut().zip(&alone.sums).for_each(|(sum, one)| *sum += one);
                sum.products.iter_mut().zip(&alone.products).for_each(|(sum, one)| *sum += one);
                all.push(record);
            }
            // A record adds the same beside any others, so its contribution is the change by one person.
            let all: Vec<&[i64]> = all.iter().map(|record| &record[..]).collect();
            assert_eq!(of(&all, &frame, &outer, &steps), sum);
        }
        // The bound that is paid for is reached, up to rounding.
        assert!((longest as f64).sqrt() > most as f64 * 0.99999);
        assert!((most_products as f64).sqrt() > products as f64 * 0.9);
    }
}

// Refutes a bound on records that the caller would have to enforce, and a bound on people.
#[test]
fn a_person_adds_as_many_records_as_they_may() {
    let outer = cube(2, -100, 100);
    let mean = FoundMean::new(&outer, Bound::keys(3).per_key(2).checked().unwrap(), Keys::whole()).unwrap();
    let many = mean.of_one(&[[1, 2], [3, 4], [5, 6], [7, 8]]);
    assert_eq!((many.records(), many.sorted()), (2, vec![1, 2, 3, 4]));
    let ragged = mean.of_one(&[vec![1], vec![], vec![5, 6]]);
    assert_eq!((ragged.records(), ragged.odd(), ragged.sorted()), (2, 2, vec![]));
    assert_eq!(mean.of_one::<[i64; 2]>(&[]).records(), 0);
}

/// A fraction, as its numerator and its denominator.
type Fraction = (UBig, UBig);

fn plus(a: &Fraction, b: &Fraction) -> Fraction {
    (&a.0 * &b.1 + &b.0 * &a.1, &a.1 * &b.1)
}

fn read(text: &str) -> Fraction {
    let mut parts = text.split('/').map(|part| part.parse::<UBig>().unwrap());
    (parts.next().unwrap(), parts.next().unwrap_or(UBig::ONE))
}

/// Returns the cost of one person in one key, from the recorded draws: `half^2 / 2` for each quantile, and
/// `length^2 / (2 variance)` for each vector.
fn paid(requests: &[crate::noise::RecordedDraw], lengths: [u64; 3]) -> Fraction {
    let mut lengths = lengths.iter();
    let parts = requests.iter().map(|request| {
        let (a, b) = read(request.parameter.split(' ').next().unwrap());
        match request.law {
            "exponential" => (a.sqr(), b.sqr() * UBig::from(2u8)),
            "gaussian" => (UBig::from(*lengths.next().unwrap()).sqr() * b, a * UBig::from(2u8)),
            other => panic!("{other}"),
        }
    });
    parts.fold((UBig::ZERO, UBig::ONE), |sum, part| plus(&sum, &part))
}

// Refutes keys or records that are not paid for, a share that is spent twice, and one that is not spent: with
// and without state.
#[test]
fn every_window_costs_what_it_says_and_no_more() {
    for (keys, per_key, dimension, rho) in [(1, 1, 1, 0.1), (3, 2, 2, 0.1), (2, 50, 5, 0.5), (1, 1, 12, 0.01)]
    {
        let outer = cube(dimension, -1_000_000, 1_000_000);
        let limits = Bound::keys(keys).per_key(per_key).checked().unwrap();
        let mean = FoundMean::new(&outer, limits, Keys::public([7u32, 8, 9]).unwrap()).unwrap();
        // Enough people for the quartiles of the most costly case.
        let mean = mean.people(100_000);
        let prepared = Gaussian::rho(rho).prepare(&mean).unwrap();
        let PrivacyCost::Zcdp { rho: all, .. } = prepared.cost().amount() else { panic!() };
        let steps = steps(&mean, rho);
        let lengths = [1, steps.most(), steps.most_products()].map(|length| length * per_key);
        let frame = Frame::between(&vec![(-5, 5); dimension], 2.0, outer.each());
        let state = to_bytes(&[Some(frame), None, None]);
        let mut noise = NoiseSource::recording(1);
        prepared.draw(prepared.tally(), Some(&state), &mut noise);
        let (kept, fresh) = noise.requests().split_at(3);
        assert_eq!(fresh.len(), 2 * (3 + 2 * dimension));
        let counts: Vec<usize> = kept.iter().map(|request| request.count).collect();
        assert_eq!(counts, [1, dimension, dimension * (dimension + 1) / 2]);
        for requests in [kept, &fresh[..3 + 2 * dimension], &fresh[3 + 2 * dimension..]] {
            let (a, b) = paid(requests, lengths);
            let (spent, given) = ((a * UBig::from(keys)) << 64usize, UBig::from(all.to_bits()) * b);
            assert!(spent <= given, "{requests:?}");
            assert!(spent * UBig::from(1_000_000u32) >= given * UBig::from(999_999u32), "{requests:?}");
        }
    }
}

// Refutes draws that depend on the presence of a person.
#[test]
fn neighbours_ask_for_the_same_noise() {
    let mean = whole(&cube(3, -1000, 1000));
    let prepared = Gaussian::rho(1.0).prepare(&mean).unwrap();
    let frame = Frame::between(&[(-5, 5); 3], 2.0, mean.outer());
    for state in [None, Some(to_bytes(&[Some(frame)]))] {
        let asked = |records: &[Vec<i64>]| {
            let mut noise = NoiseSource::recording(3);
            let drawn = prepared.draw(window(&mean, records), state.as_deref(), &mut noise);
            assert_eq!(drawn.answer.cells().len(), 3);
            noise.requests().to_vec()
        };
        let nobody = asked(&[]);
        assert_eq!(nobody, asked(&[vec![1, 2, 3]]));
        assert_eq!(nobody, asked(&vec![vec![900, -900, 0]; 5000]));
        assert_eq!(nobody, asked(&[vec![1], vec![i64::MAX; 3], vec![i64::MIN; 3]]));
    }
}

/// Returns the sums without noise, step by step: with a dense inverse, and in floats until the end.
#[expect(clippy::needless_range_loop, reason = "as it is written on paper")]
fn oracle(
    records: &[Vec<i64>],
    frame: &Frame,
    outer: &Ranges,
    steps: &VectorSteps,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let size = outer.each().len();
    let mut inverse = vec![vec![0.0; size]; size];
    for column in 0..size {
        for row in column..size {
            let known: f64 = (column..row).map(|k| frame.factor.row(row)[k] * inverse[k][column]).sum();
            inverse[row][column] = (f64::from(u8::from(row == column)) - known) / frame.factor.row(row)[row];
        }
    }
    let (mut sums, mut products) = (vec![0.0; size], vec![vec![0.0; size]; size]);
    for record in records {
        let inside = |(place, range): (usize, &Range)| {
            (record[place].max(range.low()).min(range.high())) as f64 - frame.centre[place]
        };
        let y: Vec<f64> = outer.each().iter().enumerate().map(inside).collect();
        let u: Vec<f64> = inverse.iter().map(|row| row.iter().zip(&y).map(|(a, b)| a * b).sum()).collect();
        let length = u.iter().map(|u: &f64| u * u).sum::<f64>().sqrt();
        let short = (steps.longest / length).min(1.0);
        for a in 0..size {
            sums[a] += u[a] * short;
            (0..size).for_each(|b| products[a][b] += u[a] * short * u[b] * short);
        }
    }
    (sums, products)
}

// Refutes a transposed frame, a centre that is forgotten, a record that is not shortened toward the centre,
// products in another order, and a wrong estimate from them.
#[test]
fn without_noise_it_is_the_mean_of_what_was_shortened() {
    let outer = Ranges::new([(-1000, 1000), (0, 500), (-1_000_000, 70_000)]).unwrap();
    let mean = whole(&outer);
    let mut noise = NoiseSource::seeded(11);
    let (prepared, steps) = (Gaussian::rho(400.0).prepare(&mean).unwrap(), steps(&mean, 400.0));
    for spread in [1.0, 1.8, 40.0] {
        let factor = Lower::of(&[20.0, -15.0, 9.0, 300.0, -4000.0, 2500.0], 3).unwrap();
        let frame = Frame { centre: vec![-12.5, 200.0, 3e4], factor };
        let records: Vec<Vec<i64>> = (0..3000)
            .map(|_| {
                let u: Vec<f64> = (0..3).map(|_| spread * normal(&mut noise) + 0.5).collect();
                let off = frame.back(&u);
                (0..3).map(|place| (frame.centre[place] + off[place]) as i64).collect()
            })
            .collect();
        let (sums, products) = oracle(&records, &frame, &outer, &steps);
        let borrowed: Vec<&[i64]> = records.iter().map(|record| &record[..]).collect();
        let found = of(&borrowed, &frame, &outer, &steps);
        assert_eq!(found.records, 3000);
        let unit = libm::exp2(steps.bits.into());
        for (sum, truth) in found.sums.iter().zip(&sums) {
            assert!((*sum as f64 / unit - truth).abs() < 1e-4, "{sum} {truth}");
        }
        let lower = (0..3).flat_map(|a| (0..=a).map(move |b| (a, b)));
        for (sum, (a, b)) in found.products.iter().zip(lower) {
            let sum = *sum as f64 * libm::exp2(-2.0 * f64::from(steps.coarse));
            let rounding = 3000.0 * 2.0 * steps.longest * libm::exp2(-f64::from(steps.coarse));
            assert!((sum - products[a][b]).abs() < rounding, "{sum} {}", products[a][b]);
        }
        let state = to_bytes(&[Some(frame.clone())]);
        let drawn = prepared.draw(window(&mean, &records), Some(&state), &mut noise);
        let off = frame.back(&sums);
        for (place, (_, released)) in drawn.answer.cells().iter().enumerate() {
            let truth = frame.centre[place] + off[place] / 3000.0;
            let near = 1e-2 * frame.factor.lengths()[place];
            assert!((released.value() - truth).abs() < near, "{} {truth}", released.value());
            let range = &outer.each()[place];
            if spread > 2.0 {
                assert_eq!((released.low(), released.high), (range.low() as f64, range.high() as f64));
            } else {
                assert!(
                    released.low() <= truth
                        && truth <= released.high
                        && released.high - released.low() < 4.0 * near
                );
            }
        }
    }
}
