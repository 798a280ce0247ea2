#![allow(clippy::unwrap_used)]

use super::*;
use crate::accounting::shape::Norm;

fn shape(domain: &DataDomain, relation: Relation) -> Shape {
    Shape::of(domain, relation, Norm::EUCLIDEAN).unwrap()
}

fn report(domain: &DataDomain, rho: f64) -> LocalReport {
    LocalReport::of(domain, &shape(domain, Relation::Replace), rho).unwrap()
}

fn points() -> Vec<Vec<f64>> {
    vec![vec![5.0, 1.0], vec![4.0, -2.0], vec![6.0, 0.0], vec![5.0, 0.5]]
}

// By hand: two corners of a box are 2 units apart, of 2^24 steps each; at rho = 1/2 sigma is the length
// itself.
#[test]
fn the_noise_is_what_the_enforced_length_costs() {
    let domain = DataDomain::reaching(&[1.0, 20.0]).unwrap();
    assert_eq!(report(&domain, 0.5).l2_squared(), 1 << 50);
    assert_eq!(report(&domain, 0.5).sigma(), 2f64.powi(25));
    for domain in [domain, DataDomain::points(points()).unwrap(), DataDomain::ball(3.0, 1.0, 5).unwrap()] {
        for rho in [1e-6, 0.01, 0.1, 1.0, 7.3, 400.0] {
            let report = report(&domain, rho);
            let cost = report.l2_squared() as f64 / (2.0 * report.sigma().powi(2));
            assert!(cost <= rho * (1.0 + 1e-15) && cost >= rho * (1.0 - 1e-6), "{cost} is not {rho}");
            let exact = BudgetUnits::at_most_float("rho", rho).unwrap();
            assert!(gaussian_holds(exact, report.l2_squared(), report.law.variance()));
            assert!(!gaussian_holds(exact, report.l2_squared() * 4, report.law.variance()));
        }
    }
}

// Two people with the same noise: their reports differ by their records alone, and by at most the charged
// length.
#[test]
fn reports_of_two_neighbours_differ_by_what_is_enforced() {
    for domain in [DataDomain::reaching(&[1.0, 20.0]).unwrap(), DataDomain::points(points()).unwrap()] {
        let report = report(&domain, 0.1);
        let others = [[-1.0, 20.0], [1.0, -20.0], [f64::NAN, 0.0], [f64::MAX, 5e-324]].map(Vec::from);
        let vectors = [points(), others.to_vec()].concat();
        let mut most = 0;
        for left in &vectors {
            for right in &vectors {
                let sent = |vector: &[f64]| report.of_record(vector, &mut NoiseSource::seeded(5));
                let apart = sent(left).into_iter().zip(sent(right));
                most = most.max(apart.map(|(a, b)| i128::from(a - b).pow(2) as u128).sum());
            }
        }
        assert!(most <= report.l2_squared());
        assert!(most as f64 >= report.l2_squared() as f64 * (1.0 - 1e-6));
    }
}

// 40,000 reports from a fixed seed, of vectors that differ: along each coordinate the mean of the noise is
// within 4.75 of its deviations (alpha 2e-6 for each of 4), and the deviation of 400 means of 100 is the
// stated one, to 15% (4.2 of its own errors). Refutes a mean that forgets the centre of a list, and a
// deviation that is off by the root of 2.
#[test]
fn means_are_unbiased_and_err_as_they_say() {
    for (seed, domain) in [DataDomain::reaching(&[1.0, 20.0]).unwrap(), DataDomain::points(points()).unwrap()]
        .into_iter()
        .enumerate()
    {
        let report = report(&domain, 0.5);
        let mut source = NoiseSource::seeded(90 + seed as u64);
        let vectors =
            if seed == 0 { vec![vec![0.5, -10.0], vec![-1.0, 20.0], vec![0.25, 3.0]] } else { points() };
        let (mut all, mut squares, mut truth) = (report.collected(), [0.0; 2], [0.0; 2]);
        for _ in 0..400 {
            let (mut some, mut true_mean) = (report.collected(), [0.0; 2]);
            for person in 0..100 {
                let vector = &vectors[person % vectors.len()];
                let sent = report.of_record(vector, &mut source);
                some.add(&sent).unwrap();
                all.add(&sent).unwrap();
                (0..2).for_each(|at| true_mean[at] += vector[at] / 100.0);
            }
            let mean = some.mean().unwrap();
            for at in 0..2 {
                squares[at] += ((mean.values()[at] - true_mean[at]) / mean.deviations()[at]).powi(2) / 400.0;
                truth[at] += true_mean[at] / 400.0;
            }
        }
        let mean = all.mean().unwrap();
        assert_eq!((mean.people(), all.people()), (40_000, 40_000));
        for at in 0..2 {
            let off = (mean.values()[at] - truth[at]) / mean.deviations()[at];
            assert!(off.abs() < 4.753, "{off} deviations from the truth");
            assert!((squares[at].sqrt() - 1.0).abs() < 0.15, "{} of what was delivered", squares[at].sqrt());
        }
    }
}

// By hand: the box's factor is its reach times the root of (1 + 20); at rho = 1/2 the noise on a whitened
// number is 2.
#[test]
fn the_stated_deviation_is_that_of_the_shape() {
    let report = report(&DataDomain::reaching(&[1.0, 20.0]).unwrap(), 0.5);
    let mut reports = report.collected();
    (0..25).for_each(|_| reports.add(&[0, 0]).unwrap());
    let mean = reports.mean().unwrap();
    assert_eq!(mean.values(), [0.0, 0.0]);
    for (released, variance) in mean.deviations().iter().zip([21.0, 420.0f64]) {
        assert!((released / (2.0 * variance.sqrt() / 5.0) - 1.0).abs() < 1e-12, "{released}");
    }
}

#[test]
fn what_makes_no_report_is_refused_by_name() {
    let domain = DataDomain::reaching(&[1.0, 20.0]).unwrap();
    let shapes = shape(&domain, Relation::Replace);
    let refused = |found: Result<LocalReport, Invalid>| {
        let refused = found.unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let comes = shape(&domain, Relation::AddRemove);
    assert_eq!(refused(LocalReport::of(&domain, &comes, 1.0)), ("relation".to_owned(), InvalidKind::Mixed));
    assert_eq!(refused(LocalReport::of(&DataDomain::reaching(&[1.0]).unwrap(), &shapes, 1.0)).0, "shape");
    for (rho, kind) in [
        (0.0, InvalidKind::Zero),
        (-1.0, InvalidKind::Negative),
        (f64::NAN, InvalidKind::Nan),
        (f64::INFINITY, InvalidKind::Infinite),
        (501.0, InvalidKind::TooLarge),
    ] {
        assert_eq!(refused(LocalReport::of(&domain, &shapes, rho)), ("rho".to_owned(), kind));
    }
    assert_eq!(refused(LocalReport::of(&domain, &shapes, 1e-12)).0, "rho");
    let report = report(&domain, 1.0);
    let mut reports = report.collected();
    assert_eq!(reports.mean().unwrap_err().field(), "reports");
    assert_eq!(reports.add(&[1]).unwrap_err().field(), "report");
    assert_eq!(reports.add(&[]).unwrap_err().field(), "report");
    assert_eq!(reports.people(), 0);
    // The worst report that anybody can send is a number, and does not overflow the sum.
    (0..1_000).for_each(|_| reports.add(&[i64::MAX, i64::MIN]).unwrap());
    assert!(reports.mean().unwrap().values().iter().all(|value| value.is_finite()));
    assert_eq!(report.of_record(&[f64::NAN; 7], &mut NoiseSource::seeded(1)).len(), 2);
}
