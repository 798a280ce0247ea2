//! Reports with noise from the people themselves (local differential privacy): each person sends integers,
//! and the collector needs no trust.

use super::whitened::Whitened;
use crate::accounting::shape::{DataDomain, Shape};
use crate::accounting::{self, BudgetUnits, Relation};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::gaussian_holds;
use crate::noise::{self, NoiseDistribution, NoiseSource};

/// The noise that each person adds to the own vector, and the estimate of the mean from all reports.
///
/// A report is the person's whitened record, with integer Gaussian noise on each of its numbers. It is
/// rho-zCDP for that one person, for any exchange of the vector ([`Relation::Replace`]); no other report
/// enters into it, so that anybody may be the collector. In return each report has the noise that a trusted
/// collector would add to the sum of all: with `n` people the error of the mean is larger by the root of `n`.
///
/// ```
/// use discreet::accounting::Relation;
/// use discreet::accounting::shape::{DataDomain, Norm, Shape};
/// use discreet::mechanisms::LocalReport;
/// use discreet::noise::NoiseSource;
///
/// let domain = DataDomain::reaching(&[1.0, 20.0])?;
/// let shape = Shape::of(&domain, Relation::Replace, Norm::EUCLIDEAN)?;
/// let report = LocalReport::of(&domain, &shape, 0.5)?;
///
/// let mut reports = report.collected();
/// for person in 0..1000 {
///     let sent = report.of_record(&[0.5, -10.0], &mut NoiseSource::from_os()?);
///     reports.add(&sent)?;
/// }
/// let mean = reports.mean()?;
/// assert!((mean.values()[0] - 0.5).abs() < 6.0 * mean.deviations()[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LocalReport {
    whitened: Whitened,
    price: accounting::DiscreteGaussianCost,
    law: noise::DiscreteGaussian,
}

/// The sum of reports.
#[derive(Clone, Debug)]
pub struct Reports {
    report: LocalReport,
    sum: Vec<i128>,
    people: u64,
}

/// The mean of the reported vectors, in the coordinates of the domain.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedMean {
    values: Vec<f64>,
    deviations: Vec<f64>,
    people: u64,
}

/// The bits of a step: a step is `2^-24` of the length of the shape, so that each report is rounded by less
/// than one step, and its noise is at least `2^19` steps.
const BITS: u32 = 24;

impl LocalReport {
    /// Prepares reports of vectors of this domain, with noise of this shape, each for `rho`.
    ///
    /// # Errors
    /// Names `relation` if the shape is for people who come or go, since a person who reports is known to be
    /// there; `shape` if [`Whitened::of`] refuses it; and `rho` unless above 0 and at most 500, or if it is
    /// so small that the noise would pass 2^40.
    pub fn of(domain: &DataDomain, shape: &Shape, rho: f64) -> Result<LocalReport, Invalid> {
        if shape.relation() != Relation::Replace {
            let remedy = "a shape for one in place of another: who reports is known to be there";
            return Err(Invalid::new("relation", InvalidKind::Mixed, remedy));
        }
        let whitened = Whitened::of(domain, shape, BITS)?;
        let length = whitened.l2_squared();
        let root = length.isqrt();
        let up = root + u128::from(root * root < length);
        let up = u64::try_from(up)
            .map_err(|_| Invalid::new("shape", InvalidKind::TooLarge, "the domain's own"))?;
        let price = accounting::DiscreteGaussianCost::for_rho(rho, up)?;
        let law = noise::DiscreteGaussian::with_sigma(price.sigma())?;
        if !gaussian_holds(BudgetUnits::at_most_float("rho", rho)?, length, law.variance()) {
            let remedy = "a larger number: no noise of 12 digits was found to keep within it";
            return Err(Invalid::new("rho", InvalidKind::TooSmall, remedy));
        }
        Ok(LocalReport { whitened, price, law })
    }

    /// Returns the report of one person. A vector outside of the domain is moved into it, as by
    /// [`Whitened::record`].
    pub fn of_record(&self, vector: &[f64], noise: &mut NoiseSource) -> Vec<i64> {
        let mut sent = vec![0; self.whitened.width()];
        self.law.fill(noise, &mut sent);
        let record = self.whitened.record(vector);
        // Noise is below 2^46 but for a chance of 2^-5000: nothing saturates, and saturation would reveal no
        // more.
        sent.iter_mut().zip(record).for_each(|(sent, entry)| *sent = sent.saturating_add(entry));
        sent
    }

    /// The square of the largest length by which an exchange of vectors moves a report.
    pub fn l2_squared(&self) -> u128 {
        self.whitened.l2_squared()
    }

    /// The parameter of the noise on each number: its standard deviation.
    pub fn sigma(&self) -> f64 {
        self.price.sigma()
    }

    /// The number of numbers in a report.
    pub fn width(&self) -> usize {
        self.whitened.width()
    }

    /// Returns an empty collection of reports.
    pub fn collected(&self) -> Reports {
        Reports { report: self.clone(), sum: vec![0; self.width()], people: 0 }
    }
}

impl Reports {
    /// Adds one person's report.
    ///
    /// # Errors
    /// Names `report` unless it has as many numbers as every report of this shape; nothing is added then.
    pub fn add(&mut self, sent: &[i64]) -> Result<(), Invalid> {
        if sent.len() != self.sum.len() {
            let remedy = format!("{} numbers, as every report of this shape has", self.sum.len());
            return Err(Invalid::new("report", InvalidKind::Malformed, remedy));
        }
        // 2^63 reports of 2^63 fit.
        self.sum.iter_mut().zip(sent).for_each(|(sum, &entry)| *sum += i128::from(entry));
        self.people += 1;
        Ok(())
    }

    /// The number of people who have reported.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// Estimates the mean of the vectors. The estimate is unbiased for vectors in the domain, but for a
    /// rounding of less than `2^-24` of the shape's length along each of its directions.
    ///
    /// # Errors
    /// Names `reports` if there are none.
    pub fn mean(&self) -> Result<ReportedMean, Invalid> {
        if self.people == 0 {
            return Err(Invalid::new("reports", InvalidKind::Empty, "at least one"));
        }
        let LocalReport { whitened, price, .. } = &self.report;
        let people = self.people as f64;
        let mut values = whitened.unwhitened(&self.sum, self.people);
        values.iter_mut().for_each(|value| *value /= people);
        let along = whitened.deviations(price.deviation());
        let deviations = along.into_iter().map(|deviation| deviation / people.sqrt()).collect();
        Ok(ReportedMean { values, deviations, people: self.people })
    }
}

impl ReportedMean {
    /// The mean along each coordinate.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The standard deviation of the noise in the mean, along each coordinate. The spread of the people's own
    /// vectors is not part of it.
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// The number of people in the mean.
    pub fn people(&self) -> u64 {
        self.people
    }
}

#[cfg(test)]
mod tests;
