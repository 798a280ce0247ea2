//! Bounds for many answers that are chosen one after the other, and means of vectors.
//!
//! A thousand counts, each of them chosen by those before: the figure is what none of them is off by more than. Here that is
//! certain. With Laplace or Gaussian noise it holds for 95 of 100 bundles, by the exact tail of a thousand independent draws.
//! Published for bounded noise is the calibration of Dagan and Kur 2022, computed as they state it by the library's own
//! `published_bound`.

use std::error::Error;

use discreet::accounting::bounded::{
    BoundedNoiseRequest, CalibratedBoundedNoise, GridResolution, NoiseShape, published_bound,
};
use discreet::accounting::shape::{DataDomain, MeanError, Norm, Shape};
use discreet::accounting::{Relation, gdp};

use super::peers::{analytic_gaussian, normal_tail, zcdp_rho};
use super::report::{Figure, Report, Row, digits};
use super::{DELTA, EPSILON};

const ANSWERS: u64 = 1_000;
const CONFIDENCE: f64 = 0.95;

pub(crate) fn measure(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let request = BoundedNoiseRequest::new(ANSWERS, EPSILON, DELTA)?;
    let ours = CalibratedBoundedNoise::calibrate(&request, &GridResolution::default())?;
    let published = published_bound(&NoiseShape::published(2)?, ANSWERS, EPSILON, DELTA)?;
    let root = (ANSWERS as f64).sqrt();
    let gaussian = largest(root / (2.0 * zcdp_rho(EPSILON, DELTA)).sqrt());
    let exact = largest(root * analytic_gaussian(EPSILON, DELTA));
    let scale = ANSWERS as f64 / EPSILON;
    let laplace = -scale * (1.0 - CONFIDENCE.powf(1.0 / ANSWERS as f64)).ln();
    let theirs = Figure::new(gaussian, "Gaussian, zCDP").or(Figure::new(laplace, "Laplace"));
    let how = format!("the least Gaussian noise; published bounded noise {}", digits(published));
    report.add(Row {
        name: "adaptive_answers",
        released: "1,000 counts, each chosen by the answers before, of 1 record a person".to_owned(),
        error: "none is off by more; of others, in 95%",
        ours: Figure::new(ours.bound(), "bounded noise, certain"),
        opendp: Some(theirs.clone()),
        tumult: Some(theirs),
        other: Some(Figure::new(exact, how)),
        least: None,
        more_is_better: false,
        short: Some("1,000 counts, asked one after the other: most that any is off, at 95%"),
    });

    // Three numbers of different ranges, whose noise follows the box.
    let domain = DataDomain::reaching(&[1.0, 2.0, 3.0])?;
    let shape = Shape::of(&domain, Relation::AddRemove, Norm::power(2.0)?)?;
    let people = 1_000;
    let rho = gdp::mu_within(EPSILON, DELTA)?.powi(2) / 2.0;
    let ours = MeanError::of(&shape, rho, people)?;
    let theirs = MeanError::of(&shape, zcdp_rho(EPSILON, DELTA), people)?;
    // Three sums, each with a third of rho.
    let apart = [1.0f64, 2.0, 3.0].map(|reach| reach.powi(2) * 3.0 / (2.0 * zcdp_rho(EPSILON, DELTA)));
    let apart = apart.iter().sum::<f64>().sqrt() / people as f64;
    report.add(Row {
        name: "mean_of_vectors",
        released: "the mean of 3 numbers of 1,000 people, in -1..1, -2..2 and -3..3, their number known"
            .to_owned(),
        error: "root of the mean square of the length",
        ours: Figure::new(ours.shaped(), "shaped, mu, by its formula"),
        opendp: Some(Figure::new(apart, "a sum each, Gaussian, zCDP")),
        tumult: Some(Figure::new(apart, "a sum each, Gaussian, zCDP")),
        other: Some(Figure::new(theirs.isotropic(), "one Gaussian for all directions, zCDP")),
        least: Some(Figure::new(ours.lower_bound(), "of unbiased means")),
        more_is_better: false,
        short: None,
    });
    Ok(())
}

/// Returns the distance within which the largest of all draws of a normal law is in 95 of 100 bundles.
fn largest(sigma: f64) -> f64 {
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        let kept = (ANSWERS as f64 * libm::log1p(-2.0 * normal_tail(middle))).exp();
        if kept >= CONFIDENCE { high = middle } else { low = middle }
    }
    high * sigma
}
