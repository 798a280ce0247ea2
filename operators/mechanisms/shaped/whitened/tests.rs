#![allow(clippy::unwrap_used)]

use super::*;
use crate::accounting::shape::Norm;
use crate::mechanisms::shaped::whitened::squares;
use crate::noise::{self, NoiseDistribution, NoiseSource, Ratio};

fn shaped(domain: &DataDomain, relation: Relation) -> (Shape, Whitened) {
    let shape = Shape::of(domain, relation, Norm::EUCLIDEAN).unwrap();
    let whitened = Whitened::of(domain, &shape, 24).unwrap();
    (shape, whitened)
}

fn triangle() -> Vec<Vec<f64>> {
    let side = 3f64.sqrt() / 2.0;
    vec![vec![1.0, 0.0], vec![-0.5, side], vec![-0.5, -side]]
}

/// Domains of three coordinates of every kind, each with vectors at its border.
fn domains() -> Vec<(DataDomain, Vec<Vec<f64>>)> {
    let points = vec![vec![5.0, 1.0, 0.5], vec![4.0, -2.0, 0.0], vec![6.0, 0.0, -1.0], vec![5.0, 0.5, 3.0]];
    let turned = [vec![2.0, 0.0, 0.0], vec![1.0, 1.0, 0.0], vec![0.0, -1.0, 0.5]];
    let corners = |reaches: [f64; 3]| {
        let sign = |signs: usize, at: usize| if signs >> at & 1 == 1 { -1.0 } else { 1.0 };
        (0..8)
            .map(|signs| (0..3).map(|at| sign(signs, at) * reaches[at]).collect())
            .collect::<Vec<Vec<f64>>>()
    };
    vec![
        (DataDomain::points(&points).unwrap(), points.clone()),
        (DataDomain::reaching(&[1.0, 2.0, 3.0]).unwrap(), corners([1.0, 2.0, 3.0])),
        (DataDomain::ellipsoid(&turned).unwrap(), vec![vec![2.0, 1.0, 0.0], vec![-2.0, -1.0, 0.0]]),
        (DataDomain::ball(4.0, 2.0, 3).unwrap(), corners([2.0 * 3f64.powf(-0.25); 3])),
        (DataDomain::zonotope(&turned).unwrap(), vec![vec![3.0, 0.0, -0.5], vec![-3.0, 0.0, 0.5]]),
        (DataDomain::marginals(3, 2).unwrap(), corners([1.0; 3])),
        (DataDomain::moments(&[vec![1.0, 2.0], vec![-3.0, 0.5], vec![0.0, 1.0]], 2).unwrap(), Vec::new()),
    ]
}

/// Vectors outside of the domain or without meaning, and the vectors `inside`.
fn adversaries(inside: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entries = [0.0, -0.0, 1.0, -2.5, 1e30, f64::MIN, 5e-324, f64::NAN, f64::NEG_INFINITY];
    let vector = |code: usize| [1, 9, 81].map(|place| entries[code / place % 9]).to_vec();
    let mut all: Vec<Vec<f64>> = (0..729).map(vector).collect();
    all.extend([vec![], vec![1.0], vec![1.0; 4]]);
    all.extend_from_slice(inside);
    all.extend(inside.iter().map(|vector| vector.iter().map(|entry| entry * (1.0 + 1e-15)).collect()));
    all
}

/// Returns the square of the largest length by which a pair, or a record alone, moves a sum.
fn worst(whitened: &Whitened, relation: Relation, records: &[Vec<f64>]) -> u128 {
    let found: Vec<Vec<i64>> = records.iter().map(|record| whitened.record(record)).collect();
    let apart = |left: &[i64], right: &[i64]| {
        left.iter().zip(right).map(|(a, b)| (i128::from(*a) - i128::from(*b)).pow(2) as u128).sum::<u128>()
    };
    let nothing = vec![0; whitened.width()];
    match relation {
        Relation::AddRemove => found.iter().map(|record| apart(record, &nothing)).max().unwrap(),
        Relation::Replace => {
            found.iter().flat_map(|left| found.iter().map(|right| apart(left, right))).max().unwrap()
        }
    }
}

// Refutes half the sensitivity, that of the other relation, and a record that is not brought inside.
#[test]
fn no_pair_of_records_is_farther_apart_than_is_enforced_and_some_are_as_far() {
    for (domain, inside) in domains() {
        for relation in [Relation::AddRemove, Relation::Replace] {
            for bits in [20, 24, 40] {
                let shape = Shape::of(&domain, relation, Norm::EUCLIDEAN).unwrap();
                let whitened = Whitened::of(&domain, &shape, bits).unwrap();
                let enforced = whitened.l2_squared();
                let all = worst(&whitened, relation, &adversaries(&inside));
                assert!(all <= enforced, "{domain:?} {relation:?} {bits}: {all} is more than {enforced}");
                if !inside.is_empty() {
                    let (own, step) = (worst(&whitened, relation, &inside), libm::exp2(-f64::from(bits)));
                    let part = own as f64 / enforced as f64;
                    assert!(part >= 1.0 - 1e-6 - 8.0 * step, "{domain:?} {relation:?} {bits}: {part}");
                }
                // With add/remove the sum is not shifted: the number of people is ignored.
                let sum = vec![1i128 << bits; whitened.width()];
                let released = |people| whitened.unwhitened(&sum, people);
                assert!(relation == Relation::Replace || released(0) == released(1_000));
            }
        }
    }
}

// Two integers whose squares add up to so little more than 4^40 that floats compute the length 1. Refutes a
// length that is trusted without a check of the integers.
#[test]
fn a_vector_too_long_by_less_than_a_float_is_shortened() {
    let (unit, mut tried) = (1u128 << 40, 0);
    for left in (1u128 << 39).. {
        let rest = unit * unit - left * left;
        let right = rest.isqrt() + 1;
        if right * right - rest >= 1 << 26 {
            continue;
        }
        let mut found = Vec::new();
        let vector = [left, right].map(|entry| entry as f64 / unit as f64);
        within(&vector, libm::exp2(40.0), 1 << 40, &mut found);
        assert!(squares(&found) <= unit * unit, "{left} and {right}");
        assert!(squares(&found) as f64 >= (unit * unit) as f64 * (1.0 - 1e-11));
        tried += 1;
        if tried == 5 {
            return;
        }
    }
}

// 100,000 sums of noise of variance `l2^2 / (2 rho)` on every integer, at rho = 1/8. Every entry of their
// covariance is within 4.75 of its standard errors of the shape's, times 1 / (2 rho) with add/remove, and
// times the square of the computed distance with replacement. Alpha is 2e-6 for each of 24 entries; an entry
// that is off by 3% is found with a chance of 0.97, half the sensitivity always.
#[test]
fn released_noise_has_the_covariance_of_the_shape() {
    const RELEASES: usize = 100_000;
    let skewed = [vec![2.0, 0.0, 0.0], vec![1.0, 1.0, 0.0], vec![0.0, -1.0, 0.5]];
    let points = [vec![5.0, 1.0, 0.5], vec![4.0, -2.0, 0.0], vec![6.0, 0.0, -1.0], vec![5.0, 0.5, 3.0]];
    let settings = [DataDomain::ellipsoid(&skewed).unwrap(), DataDomain::points(&points).unwrap()];
    let relations = [Relation::AddRemove, Relation::Replace];
    let settings = settings.iter().flat_map(|domain| relations.map(|relation| (domain, relation)));
    for (seed, (domain, relation)) in settings.enumerate() {
        let (shape, whitened) = shaped(domain, relation);
        let law = noise::DiscreteGaussian::new(Ratio::new(whitened.l2_squared() * 4, 1).unwrap()).unwrap();
        let mut source = NoiseSource::seeded(4_000 + seed as u64);
        let mut sums = [[0.0; 3]; 3];
        for _ in 0..RELEASES {
            let mut noise = vec![0; whitened.width()];
            law.fill(&mut source, &mut noise);
            let noised: Vec<i128> = noise.into_iter().map(i128::from).collect();
            let released = whitened.unwhitened(&noised, 0);
            for (row, sums) in sums.iter_mut().enumerate() {
                sums.iter_mut().enumerate().for_each(|(at, sum)| *sum += released[row] * released[at]);
            }
        }
        let moved = match (relation, domain.listed()) {
            (Relation::AddRemove, _) => 1.0,
            (Relation::Replace, None) => 4.0,
            (Relation::Replace, Some(_)) => whitened.l2_squared() as f64 / 2f64.powi(48),
        };
        assert!(relation == Relation::AddRemove || (3.999..4.001).contains(&moved), "{moved}");
        let truth = shape.covariance();
        let variance = |row: usize, at: usize| truth[[row, at]] * 4.0 * moved;
        for (row, sums) in sums.iter().enumerate() {
            for (at, sum) in sums.iter().enumerate() {
                let found = sum / RELEASES as f64;
                let spread = variance(row, row) * variance(at, at) + variance(row, at).powi(2);
                let off = (found - variance(row, at)) / (spread / RELEASES as f64).sqrt();
                assert!(off.abs() < 4.753, "{relation:?} {row} {at}: {off} standard errors");
            }
            let released = whitened.deviations(2.0 * (whitened.l2_squared() as f64).sqrt())[row];
            assert!((released * released / variance(row, row) - 1.0).abs() < 1e-9);
        }
    }
}

// Refutes a length that is enforced in floats, and a record that escapes it.
#[test]
fn no_record_is_longer_than_the_unit_whatever_it_is() {
    let domain = DataDomain::reaching(&[1.0, 2.0, 1e-30, 1e30]).unwrap();
    for relation in [Relation::AddRemove, Relation::Replace] {
        let (_, whitened) = shaped(&domain, relation);
        let unit = 1u128 << 48;
        assert_eq!(whitened.l2_squared(), if relation == Relation::Replace { 4 * unit } else { unit });
        let mut longest = 0;
        let entries = [0.0, 1.0, -2.0, 1e30, -1e-30, 1e-300, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY];
        for code in 0..10_000usize {
            let entry = |place: u32| entries[code / 10usize.pow(place) % 10];
            let vector: Vec<f64> = (0..4).map(entry).collect();
            let length = squares(&whitened.record(&vector));
            assert!(length <= unit, "{vector:?}");
            longest = longest.max(length);
        }
        assert!(longest as f64 > unit as f64 * 0.999_999);
        assert_eq!(whitened.record(&[1.0]), vec![0; 4]);
        assert_eq!(whitened.record(&[f64::NAN, 1.0, 0.0, 0.0]), vec![0; 4]);
    }
}

#[test]
fn a_list_knows_its_largest_distance_exactly() {
    let (_, whitened) = shaped(&DataDomain::points(triangle()).unwrap(), Relation::Replace);
    let records: Vec<Vec<i64>> = triangle().iter().map(|point| whitened.record(point)).collect();
    let mut most = 0;
    for left in &records {
        for right in &records {
            most = most.max(left.iter().zip(right).map(|(a, b)| i128::from(a - b).pow(2)).sum::<i128>());
        }
    }
    assert_eq!(whitened.l2_squared(), most as u128);
    assert!((whitened.l2_squared() as f64 / 2f64.powi(50) - 1.0).abs() < 1e-3, "not 2 units");
    // A vector near a point becomes that point, and one that is not finite becomes the first.
    assert_eq!(whitened.record(&[2.0, 0.1]), records[0]);
    assert_eq!(whitened.record(&[f64::NAN, 0.0]), records[0]);
    assert_eq!(whitened.record(&[-0.6, 0.9]), records[1]);
}

// Thirty lists of 12 points each, from a fixed seed, and all their pairs. Refutes a pair that is ruled out
// too early.
#[test]
fn no_pair_is_passed_over() {
    let mut source = NoiseSource::seeded(31);
    for list in 0..30 {
        let mut entry = |at: i32| source.below(1 << 20) as f64 * f64::from(1 + list % 3 * at);
        let points: Vec<Vec<f64>> = (0..12).map(|_| (0..3).map(&mut entry).collect()).collect();
        let (_, whitened) = shaped(&DataDomain::points(&points).unwrap(), Relation::Replace);
        assert_eq!(whitened.l2_squared(), worst(&whitened, Relation::Replace, &points), "list {list}");
    }
}

#[test]
fn what_is_whitened_comes_back() {
    let points = vec![vec![1.0, 10.0, 3.0], vec![-2.0, 5.0, 3.0], vec![0.5, -7.0, 3.0], vec![4.0, 1.0, 3.0]];
    let domain = DataDomain::points(&points).unwrap();
    for relation in [Relation::AddRemove, Relation::Replace] {
        let (shape, whitened) = shaped(&domain, relation);
        assert_eq!(whitened.width(), shape.rank());
        let mut sum = vec![0i128; whitened.width()];
        for point in &points {
            sum.iter_mut().zip(whitened.record(point)).for_each(|(sum, entry)| *sum += i128::from(entry));
        }
        let released = whitened.unwhitened(&sum, points.len() as u64);
        for (released, truth) in released.iter().zip([3.5, 9.0, 12.0]) {
            assert!((released - truth).abs() < 1e-4, "{relation:?}: {released} is not {truth}");
        }
    }
}

#[test]
fn another_domain_and_another_grid_are_refused() {
    let domain = DataDomain::points(triangle()).unwrap();
    let shape = Shape::of(&domain, Relation::Replace, Norm::EUCLIDEAN).unwrap();
    let field = |found: Result<Whitened, Invalid>| found.unwrap_err().field().to_owned();
    assert_eq!(field(Whitened::of(&domain, &shape, 19)), "bits");
    assert_eq!(field(Whitened::of(&domain, &shape, 41)), "bits");
    assert_eq!(field(Whitened::of(&DataDomain::reaching(&[1.0]).unwrap(), &shape, 24)), "shape");
    let larger: Vec<Vec<f64>> =
        triangle().iter().map(|point| point.iter().map(|entry| entry * 100.0).collect()).collect();
    assert_eq!(field(Whitened::of(&DataDomain::points(&larger).unwrap(), &shape, 24)), "shape");
}
