//! Reports that people noise themselves: each sends integers, and whoever collects them needs no trust.

use super::whitened::Whitened;
use crate::accounting::shape::{DataDomain, Shape};
use crate::accounting::{self, BudgetUnits, Relation};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::gaussian_holds;
use crate::noise::{self, NoiseDistribution, NoiseSource};

/// How each person noises the own vector, and how the mean is found from what all have sent.
///
/// A report is the person's whitened record, with integer Gaussian noise on each number of it. It is rho-zCDP for that one
/// person, whatever the vector is and was exchanged for ([`Relation::Replace`]); no other report enters into it, so that the
/// collector may be anybody. For that each report has the noise that a trusted collector would add to the sum of all: with `n`
/// people the mean errs by the root of `n` more.
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

/// A mean of what was reported, in the coordinates of the domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    values: Vec<f64>,
    deviations: Vec<f64>,
    people: u64,
}

/// Steps of `2^-24` of the length of the shape: each report is rounded by less than one of them, its noise is at least `2^19`.
const BITS: u32 = 24;

impl LocalReport {
    /// Reports of vectors of this domain, with noise of this shape, each for `rho`.
    ///
    /// # Errors
    /// Names `relation` if the shape is for people who come or go: who reports is known to be there. Names `shape` if it is that
    /// of another domain, and `rho` unless above 0 and at most 500, or where it is so small that the noise would pass 2^40.
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

    /// What one person sends. A vector outside of the domain is taken for one inside, as [`Whitened::record`] says.
    pub fn of_record(&self, vector: &[f64], noise: &mut NoiseSource) -> Vec<i64> {
        let mut sent = vec![0; self.whitened.width()];
        self.law.fill(noise, &mut sent);
        let record = self.whitened.record(vector);
        // Noise is below 2^46 but for a chance of 2^-5000: nothing saturates, and if it did, that would tell no more.
        sent.iter_mut().zip(record).for_each(|(sent, entry)| *sent = sent.saturating_add(entry));
        sent
    }

    /// The square of the length by which an exchange of vectors moves a report, at most.
    pub fn l2_squared(&self) -> u128 {
        self.whitened.l2_squared()
    }

    /// The parameter of the noise on each number: its standard deviation.
    pub fn sigma(&self) -> f64 {
        self.price.sigma()
    }

    /// How many numbers a report has.
    pub fn width(&self) -> usize {
        self.whitened.width()
    }

    /// No reports yet.
    pub fn collected(&self) -> Reports {
        Reports { report: self.clone(), sum: vec![0; self.width()], people: 0 }
    }
}

impl Reports {
    /// Adds one person's report.
    ///
    /// # Errors
    /// Names `report` if it is not as wide as all are; nothing is added then.
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

    /// How many people have reported.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// The mean of the vectors: unbiased for those that lie in the domain, but for the rounding of less than `2^-24` of the
    /// shape's length along each of its directions.
    ///
    /// # Errors
    /// Names `reports` where there is none.
    pub fn mean(&self) -> Result<Reported, Invalid> {
        if self.people == 0 {
            return Err(Invalid::new("reports", InvalidKind::Empty, "at least one"));
        }
        let LocalReport { whitened, price, .. } = &self.report;
        let people = self.people as f64;
        let mut values = whitened.unwhitened(&self.sum, self.people);
        values.iter_mut().for_each(|value| *value /= people);
        let along = whitened.deviations(price.deviation());
        let deviations = along.into_iter().map(|deviation| deviation / people.sqrt()).collect();
        Ok(Reported { values, deviations, people: self.people })
    }
}

impl Reported {
    /// The mean along each coordinate.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The standard deviation of the noise in it, along each coordinate. What people's own vectors differ by is not in it.
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// Of how many people.
    pub fn people(&self) -> u64 {
        self.people
    }
}

#[cfg(test)]
mod tests;
