//! The first frame of a key: found in its records, by two quantiles of each coordinate.

use std::sync::Arc;

use super::found::FoundMean;
use super::frame::Frame;
use super::rows::VectorRows;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::bound::Range;
use crate::mechanisms::keys::Key;
use crate::mechanisms::ranks::{Quantile, QuantileBounds};
use crate::mechanisms::spend::Spend;
use crate::noise::NoiseSource;

/// How bounds are found.
///
/// The quantiles are those of 0.01 and 0.99, if so many people are expected that more records lie beyond either than its rank
/// may be off by. If not, nothing would keep a choice from the empty ends of the outer range: then they are those beyond which so
/// many lie, up to the quartiles.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    bounds: Vec<QuantileBounds>,
    outer: Arc<[Range]>,
    /// How many standard deviations of normal data lie from the middle to either quantile.
    deviations: f64,
    /// With fewer noised records than this, what was found says little.
    pub(super) enough: u64,
}

/// The farthest quantiles, and the nearest, in thousandths.
const FARTHEST: u64 = 10;
const NEAREST: u64 = 250;

/// How often a rank is off by no more than is planned for.
const SURE: f64 = 0.99;

impl Finding {
    /// For so much a key.
    ///
    /// # Errors
    /// Names `bound` where a person moves ranks too far, `epsilon` where too little is left for a choice, and `people` where
    /// so few are expected that even the quartiles may be anywhere in the outer range.
    pub(super) fn new<K: Key>(mean: &FoundMean<K>, spend: Spend) -> Result<Finding, Invalid> {
        let each = spend.part_of(mean.dimension() as u64);
        let by = |thousandths: u64| {
            let quantiles = [Quantile::of(thousandths, 1000)?, Quantile::of(1000 - thousandths, 1000)?];
            let bounds = mean.outer().iter().map(|range| {
                QuantileBounds::new(quantiles, (range.low(), range.high()), mean.limits().per_key(), each)
            });
            let bounds = bounds.collect::<Result<Vec<QuantileBounds>, Invalid>>()?;
            let errors = bounds.iter().map(|bounds| bounds.rank_error(SURE));
            let error = errors.collect::<Result<Vec<u64>, Invalid>>()?.into_iter().max().unwrap_or(0);
            Ok::<_, Invalid>((bounds, error))
        };
        // The rank of one that is nearer is off by less.
        let (_, error) = by(FARTHEST)?;
        let thousandths = error.saturating_mul(1000).div_ceil(mean.stated_people()).clamp(FARTHEST, NEAREST);
        let (bounds, error) = by(thousandths)?;
        let enough = error.saturating_mul(1000).div_ceil(thousandths);
        if mean.stated_people() < enough {
            // No nearer quantile is left: fewer records lie beyond these than their ranks may be off by.
            let remedy =
                format!("at least {enough} records of a key in a window, a larger rho, or fewer numbers");
            return Err(Invalid::new("people", InvalidKind::TooSmall, remedy));
        }
        Ok(Finding {
            bounds,
            outer: Arc::clone(mean.outer()),
            deviations: deviations(thousandths as f64 / 1000.0),
            enough,
        })
    }

    /// Finds the frame of a key: two choices for each coordinate.
    pub(super) fn frame(&self, rows: &VectorRows, noise: &mut NoiseSource) -> Frame {
        let bounds = self.bounds.iter().enumerate();
        let found = bounds.map(|(place, bounds)| bounds.draw(&rows.column(self.bounds.len(), place), noise));
        Frame::between(&found.collect::<Vec<_>>(), self.deviations, &self.outer)
    }
}

/// How many standard deviations below the middle a normal law has so much of itself: by halving.
fn deviations(below: f64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let is_more = libm::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) / 2.0 > below;
        (low, high) = if is_more { (middle, high) } else { (low, middle) };
    }
    low
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::accounting::BudgetUnits;
    use crate::mechanisms::vectors::clip::Ranges;
    use crate::mechanisms::{Bound, Keys};

    #[test]
    fn deviations_are_those_of_the_normal_law() {
        for (below, truth) in [(0.25, 0.674_489_750_2), (0.01, 2.326_347_874), (0.1, 1.281_551_565_5)] {
            assert!((deviations(below) - truth).abs() < 1e-9);
        }
    }

    // With 200 people at this price the quartiles were anywhere: means erred by 19,000 deviations, and each window was paid for.
    #[test]
    fn fewer_people_than_their_quartiles_need_are_refused() {
        let outer = Ranges::new([(-1_000_000_000, 1_000_000_000)]).unwrap();
        let spend = Spend::Rho(BudgetUnits::at_most_float("rho", 0.025).unwrap());
        let asked = |people: u64| {
            let mean = FoundMean::new(&outer, Bound::keys(1).checked().unwrap(), Keys::whole()).unwrap();
            Finding::new(&mean.people(people), spend)
        };
        let refused = asked(200).unwrap_err();
        assert_eq!((refused.field(), refused.kind()), ("people", InvalidKind::TooSmall));
        let enough: u64 = refused.remedy().split(' ').nth(2).unwrap().parse().unwrap();
        assert!((200..600).contains(&enough), "{enough}");
        assert_eq!(asked(enough - 1).unwrap_err().field(), "people");
        assert!(asked(enough).unwrap().enough <= enough);
    }

    // Refutes quantiles beyond which fewer records lie than their rank may be off by: with 508 people those of 0.01 would be
    // anywhere.
    #[test]
    fn few_people_are_found_by_their_quartiles_and_many_by_their_ends() {
        let outer = Ranges::new([(-1_000_000_000, 1_000_000_000)]).unwrap();
        let spend = Spend::Rho(BudgetUnits::at_most_float("rho", 0.025).unwrap());
        for (people, least, most) in [(508, 0.67, 0.68), (3000, 0.7, 2.0), (1_000_000, 2.32, 2.33)] {
            let mean = FoundMean::new(&outer, Bound::keys(1).checked().unwrap(), Keys::whole()).unwrap();
            let finding = Finding::new(&mean.people(people), spend).unwrap();
            assert!((least..most).contains(&finding.deviations), "{people}: {}", finding.deviations);
            let mut rows = VectorRows::of(1);
            let count = people.min(20_000).max(finding.enough);
            (0..count).for_each(|at| rows.add(&[5_000_000 + (1_000_000 * at / count) as i64]));
            for seed in 0..20 {
                let frame = finding.frame(&rows, &mut NoiseSource::seeded(seed));
                assert!((frame.centre[0] - 5_500_000.0).abs() < 500_000.0, "{people}: {frame:?}");
                assert!((100_000.0..2_000_000.0).contains(&frame.factor.lengths()[0]), "{people}: {frame:?}");
            }
        }
    }
}
