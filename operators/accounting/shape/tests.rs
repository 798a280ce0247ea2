#![allow(clippy::unwrap_used)]

use ndarray::{Array2, ArrayView1};

use super::*;
use crate::accounting::Relation::{AddRemove, Replace};

mod closed;
mod oracle;

/// Approximately normal numbers, from a fixed seed.
pub(crate) fn cloud(points: usize, dimension: usize, mut seed: u64) -> Vec<Vec<f64>> {
    let mut uniform = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (0..points).map(|_| (0..dimension).map(|at| normal() * (1.0 + at as f64)).collect()).collect()
}

fn norms() -> [Norm; 5] {
    [
        Norm::EUCLIDEAN,
        Norm::power(2.5).unwrap(),
        Norm::power(4.0).unwrap(),
        Norm::power(8.0).unwrap(),
        Norm::LARGEST,
    ]
}

fn near(found: f64, truth: f64, part: f64) {
    assert!((found / truth - 1.0).abs() <= part, "{found} is not {truth}");
}

fn sides(reaches: &[f64]) -> Vec<Vec<f64>> {
    let signs = 0..1usize << reaches.len();
    let sign = |signs: usize, at: usize| if signs >> at & 1 == 1 { -1.0 } else { 1.0 };
    signs
        .map(|signs| reaches.iter().enumerate().map(|(at, reach)| sign(signs, at) * reach).collect())
        .collect()
}

/// The length of a vector after the shape's whitening.
fn length(shape: &Shape, vector: &[f64]) -> f64 {
    let whitened = shape.inverse().dot(&ArrayView1::from(vector));
    whitened.iter().map(|entry| entry.powi(2)).sum::<f64>().sqrt()
}

// On the line and its square: lengths of tensors are powers of lengths.
#[test]
fn moments_are_tensors() {
    let points = [vec![1.0, 2.0], vec![-3.0, 0.5], vec![0.0, 1.0]];
    let tensors = DataDomain::moments(&points, 3).unwrap();
    assert_eq!(tensors.dimension(), 4);
    let listed = tensors.listed().unwrap();
    for (point, squared) in points.iter().zip(listed.row_squares()) {
        near(squared, (point[0] * point[0] + point[1] * point[1]).powi(3), 1e-12);
    }
}

// Refutes a certificate below the truth: every point, every corner and half of every difference is inside.
#[test]
fn everything_is_inside() {
    for (seed, (many, dimension)) in [(40, 3), (7, 5), (100, 6), (3, 8)].into_iter().enumerate() {
        let points = cloud(many, dimension, seed as u64 + 1);
        let domain = DataDomain::points(&points).unwrap();
        for norm in norms() {
            let shape = Shape::of(&domain, AddRemove, norm).unwrap();
            assert!(points.iter().all(|point| length(&shape, point) <= 1.0 + 1e-12), "{norm}");
            assert!(shape.gap() <= 1e-4, "{norm} {many} {dimension} {}", shape.gap());
            let shape = Shape::of(&domain, Replace, norm).unwrap();
            assert!(shape.gap() <= 1e-4, "{norm} {many} {dimension} {}", shape.gap());
            for left in &points {
                for right in &points {
                    let half: Vec<f64> = left.iter().zip(right).map(|(a, b)| (a - b) / 2.0).collect();
                    assert!(length(&shape, &half) <= 1.0 + 1e-12, "{norm}");
                }
            }
        }
    }
}

// Refutes a shift that is free under add/remove.
#[test]
fn who_comes_or_goes_is_not_moved_to_the_centre() {
    let far = cloud(30, 3, 9).into_iter().map(|point| point.iter().map(|entry| entry + 100.0).collect());
    let (far, close): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
        far.map(|point: Vec<f64>| (point.clone(), point.iter().map(|entry| entry - 100.0).collect())).unzip();
    let gamma = |points: &[Vec<f64>], relation| {
        Shape::of(&DataDomain::points(points).unwrap(), relation, Norm::EUCLIDEAN).unwrap().gamma()
    };
    near(gamma(&far, Replace), gamma(&close, Replace), 1e-4);
    assert!(gamma(&far, AddRemove) > 100.0 * 3f64.sqrt());
    assert!(gamma(&close, AddRemove) < 30.0);
}

#[test]
fn flat_domains_have_noise_only_where_they_reach() {
    let flat: Vec<Vec<f64>> = cloud(50, 3, 3)
        .into_iter()
        .map(|point| vec![point[0], point[1], point[0] - 2.0 * point[1], 0.0, 1e6 * point[0]])
        .collect();
    for relation in [AddRemove, Replace] {
        for norm in norms() {
            let shape = Shape::of(&DataDomain::points(&flat).unwrap(), relation, norm).unwrap();
            assert_eq!((shape.rank(), shape.dimension()), (2, 5));
            assert!(shape.gap() <= 1e-4, "{norm} {}", shape.gap());
            assert_eq!(shape.covariance()[[3, 3]], 0.0);
            if relation == AddRemove {
                assert!(flat.iter().all(|point| length(&shape, point) <= 1.0 + 1e-9));
            }
        }
    }
}

// Refutes a point that is left out though it alone bounds a small coordinate, and that comes back for ever.
#[test]
fn coordinates_of_very_different_units_are_found_to_the_gap() {
    for (seed, (many, dimension)) in [(7, 8), (19, 6), (18, 11), (24, 8), (68, 10)].into_iter().enumerate() {
        let mut points = cloud(many, dimension, 60 + seed as u64);
        for point in &mut points {
            point.iter_mut().enumerate().for_each(|(at, entry)| *entry *= 10f64.powi(at as i32 % 5));
        }
        let domain = DataDomain::points(&points).unwrap();
        for norm in norms() {
            for relation in [AddRemove, Replace] {
                let shape = Shape::of(&domain, relation, norm).unwrap();
                assert!(shape.gap() <= 1e-4, "{norm} {relation:?} {many} {dimension} {}", shape.gap());
            }
        }
    }
}

#[test]
fn one_coordinate_is_the_plain_gaussian() {
    let line = DataDomain::points(&[vec![-1.0], vec![3.0], vec![2.0]]).unwrap();
    for norm in norms() {
        let of = |relation| MeanError::of(&Shape::of(&line, relation, norm).unwrap(), 0.125, 10).unwrap();
        // A deviation of 2 sensitivities: 3 under add/remove, 4 under replace.
        near(of(AddRemove).shaped(), 0.6, 1e-8);
        near(of(Replace).shaped(), 0.8, 1e-8);
        near(of(Replace).isotropic(), 0.8, 1e-8);
    }
}

// By hand, for a coordinate of half width 1 and 10 people at rho = 0.1: noise of 2 / (10 root 0.2) under
// replace, the bound 2 / (10 root(e^0.2 - 1)); half of both under add/remove; in variance a ratio of
// (e^0.2 - 1) / 0.2.
#[test]
fn the_bound_is_that_of_hammersley_chapman_and_robbins() {
    let line = DataDomain::reaching(&[1.0]).unwrap();
    for (relation, moved) in [(AddRemove, 0.1), (Replace, 0.2)] {
        let shape = Shape::of(&line, relation, Norm::EUCLIDEAN).unwrap();
        let error = MeanError::of(&shape, 0.1, 10).unwrap();
        near(error.shaped(), moved / 0.447_213_595_5, 1e-9);
        near(error.lower_bound(), moved / 0.470_534_545_0, 1e-9);
        near(error.lower_bound_along(&line, &[-1.0]).unwrap(), moved / 0.470_534_545_0, 1e-9);
        near((error.shaped() / error.lower_bound()).powi(2), 1.107_013_790_8, 1e-9);
        // Where the divergence itself is beyond floats: the bound is e^-500 of the move.
        let error = MeanError::of(&shape, 500.0, 10).unwrap();
        near(error.lower_bound(), moved * 7.124_576_4e-218, 1e-6);
    }
    let of = |rho, people| {
        let shape = Shape::of(&line, Replace, Norm::EUCLIDEAN).unwrap();
        MeanError::of(&shape, rho, people).map_err(|refused| refused.field().to_owned())
    };
    assert_eq!(of(0.0, 1).unwrap_err(), "rho");
    assert_eq!(of(f64::NAN, 1).unwrap_err(), "rho");
    assert_eq!(of(1.0, 0).unwrap_err(), "people");
}

#[test]
fn nothing_errs_by_less_than_the_bound() {
    let domain = DataDomain::points(cloud(60, 4, 12)).unwrap();
    for relation in [AddRemove, Replace] {
        for norm in norms() {
            let shape = Shape::of(&domain, relation, norm).unwrap();
            for (rho, ratio) in [(1e-6, 1.0), (0.1, 1.107_013_8), (1.0, 3.194_528)] {
                let error = MeanError::of(&shape, rho, 1000).unwrap();
                let found = (error.shaped() / error.lower_bound()).powi(2);
                assert!((1.0..=1.0 + 1.1e-4).contains(&(found / ratio)), "{found} is not {ratio}");
                assert!(error.factor() < 1.0);
                // The bound holds along every coordinate too.
                for at in 0..4 {
                    let direction: Vec<f64> = (0..4).map(|on| f64::from(u8::from(on == at))).collect();
                    let least = error.lower_bound_along(&domain, &direction).unwrap();
                    let each = if relation == AddRemove { 1.0 } else { 2.0 } / 1000.0 / (2.0 * rho).sqrt();
                    assert!(least > 0.0 && least <= shape.covariance()[[at, at]].sqrt() * each);
                }
            }
        }
    }
}

#[test]
fn directions_move_as_far_as_the_domain_reaches() {
    let moves = |domain: DataDomain, direction: &[f64]| domain.moves(AddRemove, direction).unwrap();
    near(moves(DataDomain::reaching(&[1.0, 2.0]).unwrap(), &[3.0, -1.0]), 5.0, 1e-12);
    near(moves(DataDomain::zonotope(&[vec![1.0, 0.0], vec![0.0, 2.0]]).unwrap(), &[3.0, -1.0]), 5.0, 1e-12);
    near(moves(DataDomain::ball(2.0, 2.0, 2).unwrap(), &[3.0, 4.0]), 10.0, 1e-12);
    near(moves(DataDomain::ball(1.0, 2.0, 2).unwrap(), &[3.0, -4.0]), 8.0, 1e-12);
    near(moves(DataDomain::ball(f64::INFINITY, 2.0, 2).unwrap(), &[3.0, -4.0]), 14.0, 1e-12);
    near(moves(DataDomain::ellipsoid(&[vec![2.0, 0.0], vec![0.0, 1.0]]).unwrap(), &[3.0, 8.0]), 10.0, 1e-12);
    let points = DataDomain::points(&[vec![1.0, 1.0], vec![-3.0, 0.0]]).unwrap();
    near(points.moves(Replace, &[1.0, 0.0]).unwrap(), 4.0, 1e-12);
    near(points.moves(AddRemove, &[1.0, 0.0]).unwrap(), 3.0, 1e-12);
    assert_eq!(points.moves(Replace, &[1.0]).unwrap_err().field(), "direction");
}

#[test]
fn what_makes_no_domain_is_named() {
    let kind = |found: Result<DataDomain, Invalid>| {
        let refused = found.unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let points = |points: &[Vec<f64>]| kind(DataDomain::points(points));
    assert_eq!(points(&[]), ("points".to_owned(), InvalidKind::Empty));
    assert_eq!(points(&[vec![]]).1, InvalidKind::Empty);
    assert_eq!(points(&[vec![1.0], vec![1.0, 2.0]]).1, InvalidKind::Malformed);
    assert_eq!(points(&[vec![1.0], vec![f64::NAN]]).1, InvalidKind::Nan);
    assert_eq!(points(&[vec![1.0], vec![f64::NEG_INFINITY]]).1, InvalidKind::Infinite);
    assert_eq!(points(&[vec![1.0], vec![1e200]]).1, InvalidKind::TooLarge);
    assert_eq!(points(&[vec![1.0, 2.0], vec![1.0, 2.0]]).1, InvalidKind::TooSmall);
    assert_eq!(points(&[vec![0.5; 257], vec![1.0; 257]]).1, InvalidKind::TooLarge);
    let many: Vec<Vec<f64>> = (0..=1 << 16).map(|at| vec![f64::from(at)]).collect();
    let many = DataDomain::points(&many).unwrap();
    let paired = Shape::of(&many, Replace, Norm::EUCLIDEAN).unwrap_err();
    assert_eq!((paired.field(), paired.kind()), ("points", InvalidKind::TooLarge));
    near(Shape::of(&many, AddRemove, Norm::EUCLIDEAN).unwrap().gamma(), 65_536.0, 1e-8);
    assert_eq!(kind(DataDomain::reaching(&[1.0, -1.0])), ("box".to_owned(), InvalidKind::Negative));
    assert_eq!(kind(DataDomain::reaching(&[0.0, 0.0])).1, InvalidKind::Zero);
    assert_eq!(kind(DataDomain::ball(0.5, 1.0, 2)), ("power".to_owned(), InvalidKind::TooSmall));
    assert_eq!(kind(DataDomain::ball(2.0, f64::INFINITY, 2)), ("radius".to_owned(), InvalidKind::Infinite));
    assert_eq!(kind(DataDomain::ball(2.0, 1.0, 0)), ("dimension".to_owned(), InvalidKind::Zero));
    assert_eq!(kind(DataDomain::marginals(3, 4)), ("ways".to_owned(), InvalidKind::TooLarge));
    assert_eq!(Norm::power(1.5).unwrap_err().kind(), InvalidKind::TooSmall);
    assert_eq!("inf".parse::<Norm>().unwrap(), Norm::LARGEST);
}

// Refutes a search that never ends, and a shape of nothing.
#[test]
fn sizes_that_floats_cannot_hold_together_are_refused_or_held() {
    let points = [vec![1e-100, 1e100, 1.0], vec![1e-99, -1e100, 2.0], vec![-1e-100, 1e98, -1.0]];
    for relation in [AddRemove, Replace] {
        for norm in norms() {
            match Shape::of(&DataDomain::points(&points).unwrap(), relation, norm) {
                Ok(shape) => {
                    assert_eq!(shape.dimension(), 3);
                    let held = |point: &Vec<f64>| length(&shape, point) <= 1.0 + 1e-6;
                    assert!(relation == Replace || points.iter().all(held), "{norm}");
                }
                Err(refused) => assert_eq!(refused.field(), "domain"),
            }
        }
    }
}

proptest::proptest! {
    // Refutes an ellipsoid that is too small: no possible record lies outside.
    #[test]
    fn whatever_lies_in_a_domain_is_inside(
        reaches in proptest::collection::vec(0.01f64..100.0, 1..7),
        places in proptest::collection::vec(-1.0f64..1.0, 7),
        power in 1.0f64..6.0,
        norm in 2.0f64..9.0,
    ) {
        let norm = Norm::power(norm).unwrap();
        let shape = Shape::of(&DataDomain::reaching(&reaches).unwrap(), AddRemove, norm).unwrap();
        let inside: Vec<f64> = reaches.iter().zip(&places).map(|(reach, place)| reach * place).collect();
        let corner: Vec<f64> = reaches.iter().zip(&places).map(|(reach, place)| reach * place.signum()).collect();
        proptest::prop_assert!(length(&shape, &inside) <= 1.0 + 1e-12);
        proptest::prop_assert!(length(&shape, &corner) <= 1.0 + 1e-12);
        let size: f64 = inside.iter().map(|entry| entry.abs().powf(power)).sum::<f64>().powf(1.0 / power);
        let ball = Shape::of(&DataDomain::ball(power, size, inside.len()).unwrap(), Replace, norm).unwrap();
        proptest::prop_assert!(length(&ball, &inside) <= 1.0 + 1e-9);
    }
}

// Refutes rows that are read as columns, and an array whose memory is not in the order of its rows.
#[test]
fn arrays_and_lists_are_one_domain() {
    let lists = cloud(9, 3, 5);
    let array = Array2::from_shape_fn((9, 3), |(row, column)| lists[row][column]);
    let turned = array.t().to_owned();
    let gamma = |domain: Result<DataDomain, Invalid>| {
        Shape::of(&domain.unwrap(), AddRemove, Norm::EUCLIDEAN).unwrap().gamma().to_bits()
    };
    let of_lists = gamma(DataDomain::points(&lists));
    assert_eq!(gamma(DataDomain::points(&array)), of_lists);
    assert_eq!(gamma(DataDomain::points(array.view())), of_lists);
    assert_eq!(gamma(DataDomain::points(turned.t())), of_lists);
    let field = |refused: Result<DataDomain, Invalid>| refused.unwrap_err().to_string();
    let mut wrong = array;
    wrong[[4, 1]] = f64::NAN;
    assert!(field(DataDomain::points(&wrong)).ends_with("in row 5, column 2"));
    assert!(field(DataDomain::points(Array2::zeros((0, 3)))).starts_with("points: found an empty list"));
}
