//! Shapes in closed form, and the search beside them.

use super::{cloud, length, near, norms, sides};
use crate::accounting::Relation::{AddRemove, Replace};
use crate::accounting::shape::{DataDomain, Matrix, Norm, Shape, corners};

#[test]
fn a_box_has_the_sum_of_its_sides_and_the_search_finds_it() {
    let reaches = [1.0, 2.0, 3.0];
    let closed = Shape::of(&DataDomain::reaching(&reaches).unwrap(), AddRemove, Norm::EUCLIDEAN).unwrap();
    near(closed.gamma(), 6.0, 1e-12);
    near(closed.covariance()[[2, 2]], 18.0, 1e-12);
    let closed = Shape::of(&DataDomain::reaching(&reaches).unwrap(), AddRemove, Norm::LARGEST).unwrap();
    near(closed.gamma(), 14f64.sqrt(), 1e-12);
    let corners = DataDomain::points(sides(&reaches)).unwrap();
    for norm in norms() {
        for relation in [AddRemove, Replace] {
            let closed = Shape::of(&DataDomain::reaching(&reaches).unwrap(), relation, norm).unwrap();
            let found = Shape::of(&corners, relation, norm).unwrap();
            assert!(found.gap() <= 1e-4, "{norm} {relation:?} {}", found.gap());
            near(found.gamma(), closed.gamma(), 1e-4);
            assert!(found.lower() <= closed.gamma() * (1.0 + 1e-9));
        }
    }
}

#[test]
fn ellipsoids_are_found_by_the_search_too() {
    // Close points of an ellipse.
    let turn = |at: usize| std::f64::consts::PI * at as f64 / 400.0;
    let ellipse = [vec![3.0, 0.0], vec![1.0, 0.5]];
    let of = |angle: f64| ellipse.iter().map(|row| row[0] * angle.cos() + row[1] * angle.sin()).collect();
    let points: Vec<Vec<f64>> = (0..400).map(|at| of(turn(at))).collect();
    for norm in norms() {
        let closed = Shape::of(&DataDomain::ellipsoid(&ellipse).unwrap(), AddRemove, norm).unwrap();
        near(closed.gamma().powi(2), norm.of_variances(&[9.0, 1.25]), 1e-12);
        let found = Shape::of(&DataDomain::points(&points).unwrap(), AddRemove, norm).unwrap();
        near(found.gamma(), closed.gamma(), 1e-4);
        near(found.covariance()[[0, 1]], 3.0, 1e-2);
    }
}

// By hand: `r^2 d^(1 - 2/q)` in every direction from q = 2 on, where the corners are the farthest, and `r^2`
// below, where the unit vectors are. Refutes an exponent that is wrong on either side of 2.
#[test]
fn balls_are_round_and_as_large_as_their_farthest_vectors_need() {
    let units: Vec<Vec<f64>> =
        (0..4).map(|at| (0..4).map(|on| if on == at { 2.0 } else { 0.0 }).collect()).collect();
    let corners = |power: f64| sides(&[2.0 * 4f64.powf(-1.0 / power); 4]);
    for (power, farthest, size) in [
        (1.0, units.clone(), 2.0),
        (1.5, units.clone(), 2.0),
        (2.0, units, 2.0),
        (3.0, corners(3.0), 2.0 * 4f64.powf(1.0 / 6.0)),
        (4.0, corners(4.0), 2.0 * 2f64.sqrt()),
        (f64::INFINITY, corners(f64::INFINITY), 4.0),
    ] {
        for norm in norms() {
            for relation in [AddRemove, Replace] {
                let closed = Shape::of(&DataDomain::ball(power, 2.0, 4).unwrap(), relation, norm).unwrap();
                near(closed.gamma(), size * norm.of_ones(4), 1e-12);
                near(closed.covariance()[[2, 2]], size * size, 1e-12);
                assert!(closed.gap() == 0.0 && closed.covariance()[[2, 1]] == 0.0);
            }
            let found = Shape::of(&DataDomain::points(&farthest).unwrap(), AddRemove, norm).unwrap();
            near(found.gamma(), size * norm.of_ones(4), 1e-4);
        }
    }
}

// Refutes a certificate that does not close where a list is long beside its coordinates.
#[test]
fn two_hundred_points_in_8_coordinates_are_found_to_the_gap() {
    let domain = DataDomain::points(cloud(200, 8, 7)).unwrap();
    for norm in norms() {
        for relation in [AddRemove, Replace] {
            let shape = Shape::of(&domain, relation, norm).unwrap();
            assert!(shape.gap() <= 1e-4, "{norm} {relation:?} {}", shape.gap());
            assert!(shape.lower() <= shape.gamma());
        }
    }
}

// Known: one coordinate for each set of bits, all of the same variance. The search finds the same.
#[test]
fn marginals_have_the_known_value() {
    for (bits, ways, relation, gamma) in [
        (6, 1, AddRemove, 6.0),
        (6, 2, AddRemove, 15.0),
        (5, 3, AddRemove, 10.0),
        (6, 1, Replace, 6.0),
        // Two records of 4 bits differ in at most 4 of 6 pairs of bits: half their difference is 2 long, not
        // the root of 6.
        (4, 2, Replace, 2.0 * 6f64.sqrt()),
        (6, 2, Replace, 135f64.sqrt()),
    ] {
        let domain = DataDomain::marginals(bits, ways).unwrap();
        let points: Vec<Vec<f64>> = domain.listed().unwrap().each_row().map(<[f64]>::to_vec).collect();
        let closed = Shape::of(&domain, relation, Norm::EUCLIDEAN).unwrap();
        near(closed.gamma(), gamma, 1e-12);
        let found = Shape::of(&DataDomain::points(&points).unwrap(), relation, Norm::EUCLIDEAN).unwrap();
        near(found.gamma(), gamma, 1e-4);
        assert!(points.iter().all(|point| relation == Replace || length(&closed, point) <= 1.0 + 1e-12));
    }
}

#[test]
fn zonotopes_are_within_pi_over_2_and_held() {
    // Few generators: a box, exactly.
    let sides = [vec![1.0, 0.0, 0.0], vec![0.0, 2.0, 0.0], vec![0.0, 0.0, 3.0]];
    let box_like = Shape::of(&DataDomain::zonotope(&sides).unwrap(), Replace, Norm::EUCLIDEAN).unwrap();
    near(box_like.gamma(), 6.0, 1e-4);
    let generators = cloud(14, 3, 5);
    let domain = DataDomain::zonotope(&generators).unwrap();
    for norm in norms() {
        let shape = Shape::of(&domain, AddRemove, norm).unwrap();
        assert!(shape.gap() <= std::f64::consts::FRAC_PI_2 - 1.0 + 1e-6, "{}", shape.gap());
        let all = corners(&Matrix::of(&generators));
        assert!(all.each_row().all(|corner| length(&shape, corner) <= 1.0 + 1e-12), "{norm}");
        let exact = Shape::of(
            &DataDomain::points(all.each_row().map(<[f64]>::to_vec).collect::<Vec<_>>()).unwrap(),
            AddRemove,
            norm,
        )
        .unwrap();
        assert!(
            shape.lower() <= exact.gamma() * (1.0 + 1e-9) && exact.lower() <= shape.gamma() * (1.0 + 1e-9)
        );
    }
}

// The body of differences of a triangle is a hexagon: 1.2247 of its radius, where the triangle itself needs
// 1.4142.
#[test]
fn half_the_differences_of_a_triangle_need_less_than_the_triangle() {
    let side = 3f64.sqrt() / 2.0;
    let triangle = [vec![1.0, 0.0], vec![-0.5, side], vec![-0.5, -side]];
    let domain = DataDomain::points(&triangle).unwrap();
    near(Shape::of(&domain, Replace, Norm::EUCLIDEAN).unwrap().gamma(), 1.5f64.sqrt(), 1e-4);
    near(Shape::of(&domain, AddRemove, Norm::EUCLIDEAN).unwrap().gamma(), 2f64.sqrt(), 1e-4);
}
