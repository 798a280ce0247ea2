#![allow(clippy::unwrap_used)]

use super::*;

fn outer(dimension: usize) -> Vec<Range> {
    vec![Range::new(-1_000_000, 1_000_000).unwrap(); dimension]
}

fn frame(centre: &[f64], scales: &[f64]) -> Frame {
    Frame { centre: centre.to_vec(), factor: Lower::diagonal(scales) }
}

/// Returns the released numbers of a window with records of this mean and covariance, without noise, in the
/// units of the frame.
fn seen(records: f64, mean: &[f64], covariance: &[f64]) -> ReleasedWindow {
    let mut squares = covariance.to_vec();
    for (row, a) in mean.iter().enumerate() {
        (0..=row).for_each(|column| squares[place(row, column)] += a * mean[column]);
    }
    ReleasedWindow {
        records,
        sums: mean.iter().map(|mean| mean * records).collect(),
        squares: squares.iter().map(|square| square * records).collect(),
    }
}

const NONE: NoiseDeviations = NoiseDeviations { records: 0.0, sums: 0.0, squares: 0.0 };
const LONGEST: f64 = 6.0;

fn covariance(frame: &Frame, a: usize, b: usize) -> f64 {
    frame.factor.row(a).iter().zip(frame.factor.row(b)).map(|(a, b)| a * b).sum()
}

// Without noise the frame goes 15/16 of the way: the covariance is then L (I + 15 C) L^T / 16, plus part of a
// step. Refutes a product on the wrong side, and a mean that stays in the covariance.
#[test]
fn it_goes_to_what_was_seen() {
    let before = frame(&[100.0, -50.0], &[10.0, 1000.0]);
    let next = follow(&before, &seen(1e12, &[0.5, -2.0], &[2.0, 0.6, 0.5]), &NONE, LONGEST, &outer(2));
    assert!((next.centre[0] - 105.0).abs() < 1e-3 && (next.centre[1] + 2050.0).abs() < 1e-3);
    let part = |seen: f64, one: f64| (one + 15.0 * seen) / 16.0;
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-3, "{found} {truth}");
    near(covariance(&next, 0, 0), 100.0 * part(2.0, 1.0));
    near(covariance(&next, 1, 0), 1e4 * part(0.6, 0.0));
    near(covariance(&next, 1, 1), 1e6 * part(0.5, 1.0));
    // A frame that fits stays.
    let again = follow(&before, &seen(1e12, &[0.0; 2], &[1.0, 0.0, 1.0]), &NONE, LONGEST, &outer(2));
    near(covariance(&again, 0, 0), 100.0);
    near(covariance(&again, 1, 1), 1e6);
}

// Refutes a frame that is moved by noise: the fewer records, the smaller the move.
#[test]
fn nobody_moves_nothing_and_few_move_little() {
    let before = frame(&[100.0], &[10.0]);
    let doubt = NoiseDeviations { records: 10.0, sums: 50.0, squares: 500.0 };
    for records in [-30.0, 0.0, 0.9] {
        assert_eq!(follow(&before, &seen(records, &[1.0], &[1.0]), &doubt, LONGEST, &outer(1)), before);
    }
    // Twenty records, with sums that are noise alone.
    let noised = ReleasedWindow { records: 20.0, sums: vec![60.0], squares: vec![700.0] };
    let next = follow(&before, &noised, &doubt, LONGEST, &outer(1));
    assert!((next.centre[0] - 100.0).abs() < 5.0, "{next:?}");
    let scale = next.factor.lengths()[0];
    assert!((9.0..15.0).contains(&scale), "{scale}");
    // With enough records, little of the sums is noise.
    let next = follow(&before, &seen(1e5, &[3.0], &[4.0]), &doubt, LONGEST, &outer(1));
    assert!((next.centre[0] - 130.0).abs() < 0.1);
    assert!((next.factor.lengths()[0] - 20.0).abs() < 1.0);
}

// Refutes a direction that noise has made too narrow, or negative, which is no covariance.
#[test]
fn no_direction_narrows_by_more_than_four_or_below_the_noise() {
    let before = frame(&[0.0; 2], &[1000.0; 2]);
    for covariance in [[0.0, 0.0, 0.0], [-3.0, 0.0, -3.0], [1.0, -1.0, 1.0], [1.0, 40.0, 1.0]] {
        let next = follow(&before, &seen(1e9, &[0.0; 2], &covariance), &NONE, 1e9, &outer(2));
        let least = least_direction(&next) / 1000.0;
        assert!(least > 0.2499, "{covariance:?} {least}");
    }
    // mu is slightly above 1, so half of the old covariance stays.
    let doubt = NoiseDeviations { records: 0.0, sums: 0.0, squares: 500.0 / 2f64.sqrt() };
    let next = follow(&before, &seen(1000.0, &[0.0; 2], &[0.0; 3]), &doubt, LONGEST, &outer(2));
    assert!((0.70..0.75).contains(&(least_direction(&next) / 1000.0)), "{next:?}");
}

/// Returns the least deviation of any direction.
fn least_direction(frame: &Frame) -> f64 {
    let (a, b, c) = (covariance(frame, 0, 0), covariance(frame, 1, 0), covariance(frame, 1, 1));
    ((a + c) / 2.0 - ((a - c).powi(2) / 4.0 + b * b).sqrt()).sqrt()
}

// Refutes a frame that shrinks around records that are far away and close to each other: it would never reach
// them.
#[test]
fn where_most_are_clipped_it_grows() {
    let before = frame(&[0.0; 2], &[1.0; 2]);
    // All records at the largest length, in one direction.
    let next = follow(&before, &seen(1e9, &[LONGEST, 0.0], &[1e-3, 0.0, 1e-3]), &NONE, LONGEST, &outer(2));
    assert!((next.centre[0] - LONGEST).abs() < 1e-3);
    assert!(next.factor.lengths()[0] > 1.9 * LONGEST, "{next:?}");
    // All records at the largest length, in every direction.
    let wide = LONGEST * LONGEST / 2.0;
    let next = follow(&before, &seen(1e9, &[0.0; 2], &[wide, 0.0, wide]), &NONE, LONGEST, &outer(2));
    assert!(least_direction(&next) > 1.3 * LONGEST, "{next:?}");
    // A frame that is off by three deviations does not grow.
    let next = follow(&before, &seen(1e9, &[3.0, 0.0], &[1.0, 0.0, 1.0]), &NONE, LONGEST, &outer(2));
    assert!((next.factor.lengths()[0] - 1.0).abs() < 0.1, "{next:?}");
}

// Refutes a frame that leaves the outer ranges, is narrower than a quarter of a step, or is no frame.
#[test]
fn it_stays_in_bounds_for_ever() {
    let outer = vec![Range::new(0, 10).unwrap(), Range::new(i64::MIN, i64::MAX).unwrap()];
    let mut wide = frame(&[5.0, 0.0], &[1.0, 1.0]);
    for _ in 0..100 {
        wide = follow(&wide, &seen(1e9, &[5.0, 5.0], &[1.0, 0.0, 1.0]), &NONE, LONGEST, &outer);
        assert!(wide.centre[0] <= 10.0 && wide.centre[1] <= i64::MAX as f64);
        let lengths = wide.factor.lengths();
        assert!(lengths[0] <= 10.0 + 1e-9 && lengths[1] <= u64::MAX as f64 * (1.0 + 1e-9));
    }
    let mut narrow = frame(&[5.0, 0.0], &[10.0, 1e12]);
    for _ in 0..100 {
        narrow = follow(&narrow, &seen(1e9, &[0.0; 2], &[0.0; 3]), &NONE, LONGEST, &outer);
    }
    assert!(narrow.factor.lengths().iter().all(|scale| (0.24..0.27).contains(scale)), "{narrow:?}");
    for odd in [1e300, -1e300, f64::MAX] {
        let odd = ReleasedWindow { records: 1.0, sums: vec![odd; 2], squares: vec![odd; 3] };
        let next = follow(&narrow, &odd, &NONE, LONGEST, &outer);
        assert!(next.centre.iter().chain(next.factor.entries()).all(|number| number.is_finite()));
    }
}

// Refutes a factor on the wrong side, a mean that stays in, a product that is counted once where two entries have it, and a
// covariance of shortened records.
#[test]
fn the_covariance_is_that_of_the_records() {
    let mut factor = Lower::diagonal(&[10.0, 1000.0]);
    factor = factor.product(&Lower::factor(&[1.0, 0.5, 1.25], 2, 0.0).unwrap());
    let frame = Frame { centre: vec![3.0, -8.0], factor };
    let spread = [2.0, 0.6, 0.5];
    let window = seen(1e6, &[0.5, -2.0], &spread);
    let doubt = NoiseDeviations { squares: 1e3, ..NONE };
    let covariances = window.covariances(&frame, &doubt, true);
    let entry = |row: usize, at: usize| frame.factor.row(row).get(at).copied().unwrap_or(0.0);
    for (i, row) in covariances.iter().enumerate() {
        for (j, found) in row.iter().enumerate() {
            let mut value = 0.0;
            for a in 0..2 {
                for b in 0..2 {
                    value += entry(i, a) * spread[place(a.max(b), a.min(b))] * entry(j, b);
                }
            }
            assert!((found.value() - value).abs() < 1e-6 * value.abs(), "{i} {j}: {found:?} {value}");
            // The noise of each product by itself, moved through the same map.
            let of_noise = |product: usize| {
                let mut squares = window.squares.clone();
                squares[product] += 1e3;
                let noisy = ReleasedWindow { squares, ..window.clone() };
                noisy.covariances(&frame, &doubt, true)[i][j].value() - found.value()
            };
            let scale = (0..3).map(|product| of_noise(product).powi(2)).sum::<f64>().sqrt();
            assert!((found.scale() / scale - 1.0).abs() < 1e-6, "{i} {j}: {found:?} {scale}");
        }
    }
    assert_eq!(window.covariances(&frame, &doubt, false), [[], []]);
    assert_eq!(seen(0.5, &[0.0; 2], &spread).covariances(&frame, &doubt, true), [[], []]);
}
