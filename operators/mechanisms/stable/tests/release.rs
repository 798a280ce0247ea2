//! Releases, from records to an answer.

use super::super::ASSUMED;
use super::super::release::{Released, UnnoisedMean};
use super::*;
use crate::invalid::InvalidKind;

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let field = |people, dimension, epsilon, delta| {
        let refused = StableMean::new(people, dimension, epsilon, delta, Relation::Replace).unwrap_err();
        refused.field().to_owned()
    };
    assert_eq!(field(1_000_000, 0, 1.0, 1e-6), "dimension");
    assert_eq!(field(1_000_000, 65, 1.0, 1e-6), "dimension");
    assert_eq!(field(1_000_000, 2, f64::NAN, 1e-6), "epsilon");
    assert_eq!(field(1_000_000, 2, 1.0, 0.0), "delta");
    assert_eq!(field(0, 2, 1.0, 1e-6), "people");
    assert_eq!(field(100, 2, 1.0, 1e-6), "people");
    assert_eq!(field(1 << 25, 2, 1.0, 1e-6), "people");
    assert_eq!(BoundingBox::new(vec![]).unwrap_err().kind(), InvalidKind::Empty);
    assert_eq!(BoundingBox::new(vec![(3, 3)]).unwrap_err().kind(), InvalidKind::TooSmall);
    assert_eq!(BoundingBox::new(vec![(i64::MIN, i64::MAX)]).unwrap_err().kind(), InvalidKind::TooLarge);
    let (people, mean) = cheap(2);
    let refused = |records: &[i64], extent: &BoundingBox| {
        mean.release(records, extent, &mut NoiseSource::seeded(1)).unwrap_err().field().to_owned()
    };
    assert_eq!(refused(&vec![0; 2 * people as usize + 1], &extent(2)), "records");
    assert_eq!(refused(&vec![0; 2 * people as usize - 2], &extent(2)), "people");
    assert_eq!(refused(&[], &extent(2)), "people");
    assert_eq!(refused(&vec![0; 2 * people as usize], &extent(3)), "extent");
    assert_eq!(ASSUMED, "floating-point assumed");
}

// Refutes a mean that is drawn to zero, and noise that is not of the data's scale.
#[test]
fn a_mean_that_is_not_zero_is_recovered_on_axes_of_any_scale() {
    let (people, mean) = cheap(2);
    let (deviations, centre) = ([1e3, 1e9], [7_000_000, -123_456_789_012]);
    // The middle of the box is neither zero nor the middle of the records.
    let extent = BoundingBox::new(vec![(-1000, 1 << 30), (-(1 << 41), 1 << 37)]).unwrap();
    let records = gaussian(people as usize, &deviations, &centre, 3);
    let Released::Mean(released) = mean.release(&records, &extent, &mut NoiseSource::seeded(4)).unwrap()
    else {
        panic!("the test fails once in a thousand seeds");
    };
    for axis in 0..2 {
        let off = (released[axis] - centre[axis] as f64) / deviations[axis];
        let allowed = 6.0 * (mean.scale(people).powi(2) + 1.0 / people as f64).sqrt();
        // A wide box costs a narrow axis its digits, and `grid` says so beforehand.
        let step = mean.grid(&extent)[axis] / deviations[axis];
        assert!(off.abs() <= allowed + step, "{axis}: {off} of {allowed}");
    }
}

/// Draws a square matrix of small integers of full rank, far from orthogonal.
fn matrix(dimension: usize, noise: &mut NoiseSource) -> Vec<i64> {
    // A product of a lower and an upper triangular matrix has full rank; one axis is steep.
    let mut lower = vec![0i64; dimension * dimension];
    let mut upper = lower.clone();
    for row in 0..dimension {
        for column in 0..dimension {
            let entry = noise.below(5) as i64 - 2;
            let at = row * dimension + column;
            match row.cmp(&column) {
                std::cmp::Ordering::Greater => lower[at] = entry,
                std::cmp::Ordering::Less => upper[at] = entry,
                std::cmp::Ordering::Equal => (lower[at], upper[at]) = (1, if row == 0 { 40 } else { 1 }),
            }
        }
    }
    let entry = |at: usize| {
        (0..dimension)
            .map(|k| lower[at / dimension * dimension + k] * upper[k * dimension + at % dimension])
            .sum()
    };
    (0..dimension * dimension).map(entry).collect()
}

// Refutes any dependence on the choice of axes: a root of the covariance, a tie, a bound.
#[test]
fn the_same_seeds_map_with_the_records() {
    for (dimension, seed) in [(1, 1), (2, 2), (2, 3), (3, 4), (5, 5)] {
        let (people, mean) = cheap(dimension as u64);
        let deviations: Vec<f64> = (0..dimension).map(|axis| 1e4 * 5f64.powi(axis as i32)).collect();
        let records = gaussian(people as usize, &deviations, &vec![-17; dimension], 9 + seed);
        let map = matrix(dimension, &mut NoiseSource::seeded(seed));
        let moved = |x: &[i64], axis: usize| -> i64 {
            map[axis * dimension..(axis + 1) * dimension].iter().zip(x).map(|(a, x)| a * x).sum()
        };
        let away = |axis: usize| 1_000_000 * axis as i64 - 77;
        let mapped = records.chunks(dimension);
        let mapped: Vec<i64> =
            mapped.flat_map(|x| (0..dimension).map(move |axis| moved(x, axis) + away(axis))).collect();
        let released = |records: &[i64]| {
            let mut noise = NoiseSource::seeded(11);
            let passed = mean.passed(records, &extent(dimension), &mut noise).unwrap().unwrap();
            passed.noised(&mut noise).unwrap()
        };
        let (plain, after) = (released(&records), released(&mapped));
        for axis in 0..dimension {
            let row = &map[axis * dimension..(axis + 1) * dimension];
            let expected =
                row.iter().zip(&plain).map(|(&a, x)| a as f64 * x).sum::<f64>() + away(axis) as f64;
            // Relative to the records' own spread as well, since a mean may be near zero.
            let spread: f64 = row.iter().zip(&deviations).map(|(&a, s)| (a as f64 * s).abs()).sum();
            let off = (after[axis] - expected).abs() / (expected.abs() + spread);
            assert!(off < 1e-9, "{dimension}: {after:?} {expected}");
        }
    }
}

// Refutes noise of another covariance than stated: it is c^2 over 2 m k times the weighted sum of the pairs.
#[test]
fn the_noise_has_the_covariance_of_the_pairs() {
    let differences = vec![900, 20, -300, 500, 40, -700, 100, 100, 0, 650, -800, 0];
    let weights = vec![3u32, 4, 4, 1, 0, 2];
    let (k, pairs) = (4.0f64, 6.0f64);
    let passed = UnnoisedMean {
        mean: vec![5.0, -8.0],
        middle: vec![100.0, 0.0],
        pairs: Pairs { dimension: 2, differences: differences.clone() },
        weights: weights.clone(),
        scale: 0.7,
        spread: (2.0 * pairs * k).sqrt(),
    };
    let mut noise = NoiseSource::seeded(5);
    let draws = 2_000;
    let mut found = [0.0; 3];
    for _ in 0..draws {
        let released = passed.noised(&mut noise).unwrap();
        let (x, y) = (released[0] - 105.0, released[1] + 8.0);
        found
            .iter_mut()
            .zip([x * x, x * y, y * y])
            .for_each(|(sum, square)| *sum += square / f64::from(draws));
    }
    let mut promised = [0.0; 3];
    for (u, weight) in differences.chunks(2).zip(&weights) {
        let (x, y, weight) = (u[0] as f64, u[1] as f64, f64::from(*weight) / (2.0 * pairs * k) * 0.49);
        promised.iter_mut().zip([x * x, x * y, y * y]).for_each(|(sum, square)| *sum += square * weight);
    }
    let wide = (promised[0] * promised[2]).sqrt();
    for (found, promised) in found.iter().zip(promised) {
        // The bound is five deviations of a sum of squares: 4.5 sqrt(2 / draws).
        assert!((found - promised).abs() < 0.142 * wide, "{found} {promised}");
    }
}

// The same for a whole release, by the covariance that the records were drawn with.
#[test]
fn the_noise_is_as_wide_as_the_plan_says() {
    let (people, mean) = cheap(1);
    let records = gaussian(people as usize, &[1e5], &[40], 21);
    let mut noise = NoiseSource::seeded(5);
    let passed = mean.passed(&records, &extent(1), &mut noise).unwrap().unwrap();
    let draws = 400;
    let squares: f64 = (0..draws)
        .map(|_| (passed.noised(&mut noise).unwrap()[0] - passed.mean[0] - passed.middle[0]).powi(2))
        .sum();
    let ratio = (squares / f64::from(draws)).sqrt() / (mean.scale(people) * 1e5);
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn data_without_full_rank_fail_and_nothing_panics() {
    let (people, mean) = cheap(2);
    let count = people as usize;
    let line: Vec<i64> = gaussian(count, &[1e6], &[0], 2).iter().flat_map(|&x| [x, 3 * x + 1]).collect();
    let mut nearly = vec![0; 2 * count];
    nearly[0] = 5;
    nearly[3] = i64::MIN;
    let extremes: Vec<i64> = (0..2 * count).map(|i| if i % 3 == 0 { i64::MAX } else { i64::MIN }).collect();
    mean.release(&extremes, &extent(2), &mut NoiseSource::seeded(8)).unwrap();
    for records in [vec![0; 2 * count], vec![i64::MAX; 2 * count], line, nearly] {
        let released = mean.release(&records, &extent(2), &mut NoiseSource::seeded(8)).unwrap();
        assert_eq!(released, Released::Failed);
    }
}

// Refutes a number of people that the kind of failure reveals.
#[test]
fn too_few_of_an_unknown_number_fail_as_all_else_does() {
    let people = StableMean::least_people(1, 8.0, 1e-6, Relation::AddRemove).unwrap();
    let mean = StableMean::new(people, 1, 8.0, 1e-6, Relation::AddRemove).unwrap();
    let shift = mean.counting.unwrap().shift;
    assert_eq!(mean.keeps(people, shift), Some(people));
    assert_eq!(mean.keeps(people, shift + 1), None);
    assert_eq!(mean.keeps(mean.fewest() - 1, shift), None);
    let records = gaussian(people as usize, &[1e5], &[1 << 20], 6);
    let released = |records: &[i64]| mean.release(records, &extent(1), &mut NoiseSource::seeded(3)).unwrap();
    assert!(matches!(released(&records), Released::Mean(_)));
    assert_eq!(released(&records[..100]), Released::Failed);
    assert_eq!(released(&[]), Released::Failed);
    assert_eq!(released(&vec![3; people as usize]), Released::Failed);
}

// Refutes a choice by place: a person who comes first, or has small numbers, is in no more answers than
// others.
#[test]
fn who_is_kept_does_not_depend_on_values_or_on_places() {
    let people = StableMean::least_people(1, 8.0, 1e-6, Relation::AddRemove).unwrap() as usize;
    let mean = StableMean::new(people as u64, 1, 8.0, 1e-6, Relation::AddRemove).unwrap();
    // The order of places is that of values.
    let records: Vec<i64> = (0..people as i64).collect();
    let mut off = 0.0;
    for seed in 0..10 {
        let passed = mean.passed(&records, &extent(1), &mut NoiseSource::seeded(seed)).unwrap().unwrap();
        off += passed.mean[0] + passed.middle[0] - (people as f64 - 1.0) / 2.0;
    }
    // Half of the missing ones come from either end: if all came from one end, the mean would move by half
    // their number.
    let missing = (people as u64 - mean.fewest()) as f64;
    assert!((off / 10.0).abs() < 0.1 * missing, "{off} {missing}");
}

// Refutes a record that reaches further than the box.
#[test]
fn what_lies_outside_the_box_counts_as_at_its_side() {
    let (people, mean) = cheap(1);
    let inside = BoundingBox::new(vec![(-50_000, 200_000)]).unwrap();
    let mut records = gaussian(people as usize, &[1e5], &[0], 13);
    records[7] = i64::MAX;
    records[8] = i64::MIN;
    let clamped: Vec<i64> = records.iter().map(|&x| x.clamp(-50_000, 200_000)).collect();
    let released = |records: &[i64]| mean.release(records, &inside, &mut NoiseSource::seeded(2)).unwrap();
    assert!(matches!(released(&records), Released::Mean(_)));
    assert_eq!(released(&records), released(&clamped));
}
