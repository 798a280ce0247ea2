#![allow(clippy::unwrap_used)]

use super::*;
use crate::accounting::shape::Norm;

fn shaped(domain: &Domain, relation: Relation) -> (Shape, Whitened) {
    let shape = Shape::of(domain, relation, Norm::EUCLIDEAN).unwrap();
    let whitened = Whitened::of(domain, &shape, 24).unwrap();
    (shape, whitened)
}

fn triangle() -> Vec<Vec<f64>> {
    let side = 3f64.sqrt() / 2.0;
    vec![vec![1.0, 0.0], vec![-0.5, side], vec![-0.5, -side]]
}

// Refutes a length that is enforced in floats, and a record that escapes it.
#[test]
fn no_record_is_longer_than_the_unit_whatever_it_is() {
    let domain = Domain::reaching(&[1.0, 2.0, 1e-30, 1e30]).unwrap();
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
    let (_, whitened) = shaped(&Domain::points(&triangle()).unwrap(), Relation::Replace);
    let records: Vec<Vec<i64>> = triangle().iter().map(|point| whitened.record(point)).collect();
    let mut most = 0;
    for left in &records {
        for right in &records {
            most = most.max(left.iter().zip(right).map(|(a, b)| i128::from(a - b).pow(2)).sum::<i128>());
        }
    }
    assert_eq!(whitened.l2_squared(), most as u128);
    assert!((whitened.l2_squared() as f64 / 2f64.powi(50) - 1.0).abs() < 1e-3, "not 2 units");
    // What is near a point is that point, what is nothing is the first.
    assert_eq!(whitened.record(&[2.0, 0.1]), records[0]);
    assert_eq!(whitened.record(&[f64::NAN, 0.0]), records[0]);
    assert_eq!(whitened.record(&[-0.6, 0.9]), records[1]);
}

#[test]
fn what_is_whitened_comes_back() {
    let points = vec![vec![1.0, 10.0, 3.0], vec![-2.0, 5.0, 3.0], vec![0.5, -7.0, 3.0], vec![4.0, 1.0, 3.0]];
    let domain = Domain::points(&points).unwrap();
    for relation in [Relation::AddRemove, Relation::Replace] {
        let (shape, whitened) = shaped(&domain, relation);
        assert_eq!(whitened.width(), shape.rank());
        let mut sum = vec![0i128; whitened.width()];
        for point in &points {
            sum.iter_mut().zip(whitened.record(point)).for_each(|(sum, entry)| *sum += i128::from(entry));
        }
        let told = whitened.unwhitened(&sum, points.len() as u64);
        for (told, truth) in told.iter().zip([3.5, 9.0, 12.0]) {
            assert!((told - truth).abs() < 1e-4, "{relation:?}: {told} is not {truth}");
        }
    }
}

#[test]
fn another_domain_and_another_grid_are_refused() {
    let domain = Domain::points(&triangle()).unwrap();
    let shape = Shape::of(&domain, Relation::Replace, Norm::EUCLIDEAN).unwrap();
    let field = |found: Result<Whitened, Invalid>| found.unwrap_err().field().to_owned();
    assert_eq!(field(Whitened::of(&domain, &shape, 19)), "bits");
    assert_eq!(field(Whitened::of(&domain, &shape, 41)), "bits");
    assert_eq!(field(Whitened::of(&Domain::reaching(&[1.0]).unwrap(), &shape, 24)), "shape");
    let larger: Vec<Vec<f64>> =
        triangle().iter().map(|point| point.iter().map(|entry| entry * 100.0).collect()).collect();
    assert_eq!(field(Whitened::of(&Domain::points(&larger).unwrap(), &shape, 24)), "shape");
}
