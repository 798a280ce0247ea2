//! Frames: the public centres and scales by which records are measured.

use std::sync::Arc;

use super::found::FoundMean;
use super::lower::Lower;
use super::rows::VectorRows;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::bound::Range;
use crate::mechanisms::keys::Key;
use crate::mechanisms::ranks::{Quantile, QuantileBounds};
use crate::mechanisms::spend::Spend;
use crate::noise::NoiseSource;

/// The origin and the scale of records: a record is `centre + factor u`, and `u` has about the length of a
/// vector of normal numbers if the frame fits.
///
/// It is computed from noisy numbers. A frame that does not fit costs accuracy, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) centre: Vec<f64>,
    pub(super) factor: Lower,
}

/// The square of the least scale of a frame in each direction, which is a quarter of a step. It is wide
/// enough for integers that are nearly constant.
pub(super) const LEAST_SQUARED: f64 = 1.0 / 16.0;

/// The distance from the middle to either end of a found range, in standard deviations of normal data: 1.5
/// times that of the quantiles of 0.01 and 0.99.
const TO_THE_END: f64 = 3.4895;

/// The number of deviations from which on equal quantiles are of nearly constant values: beyond those of 0.055 and
/// 0.945, which are 1.6 from the middle, lies one value in nine.
const NEARLY_ALL: f64 = 1.6;

impl Frame {
    /// Returns the frame of two noisy quantiles of each coordinate, which are this number of `deviations` of
    /// normal data from its middle. The distance between the quantiles of 0.01 and 0.99 is widened by a
    /// quarter of itself at either end, that of others to the same number of deviations; then it is cut to
    /// the outer range. Equal quantiles that are less extreme say nothing of the scale of the others, as of values
    /// that are mostly zero: then the outer range is kept.
    pub(super) fn between(found: &[(i64, i64)], deviations: f64, outer: &[Range]) -> Frame {
        let more = (TO_THE_END / deviations - 1.0) / 2.0;
        let ranges = found.iter().zip(outer).map(|(&(low, high), outer)| {
            let (least, most) = (outer.low() as f64, outer.high() as f64);
            if high <= low && deviations < NEARLY_ALL {
                return (least, most);
            }
            let more = more * (high as f64 - low as f64).max(0.0);
            let low = (low as f64 - more).clamp(least, most);
            (low, (high as f64 + more).clamp(low, most))
        });
        let (centre, scales) = ranges
            .map(|(low, high)| {
                let scale = (high - low) / 2.0 / TO_THE_END;
                ((low + high) / 2.0, (scale * scale + LEAST_SQUARED).sqrt())
            })
            .unzip::<f64, f64, Vec<f64>, Vec<f64>>();
        Frame { centre, factor: Lower::diagonal(&scales) }
    }

    /// Measures a record in the frame, once it is clipped to the outer ranges, and writes the result over
    /// `found`.
    pub(super) fn measure(&self, record: &[i64], outer: &[Range], found: &mut Vec<f64>) {
        found.clear();
        let clipped = record.iter().zip(outer).map(|(&value, range)| value.clamp(range.low(), range.high()));
        found.extend(clipped.zip(&self.centre).map(|(value, centre)| value as f64 - centre));
        self.factor.solve(found);
    }

    /// Returns the vector from the centre that the frame measures as `u`.
    pub(super) fn back(&self, u: &[f64]) -> Vec<f64> {
        self.factor.times(u)
    }

    /// Writes the frame, in 64 bits for each number: the centre, then the factor row by row.
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        for number in self.centre.iter().chain(self.factor.entries()) {
            bytes.extend_from_slice(&number.to_bits().to_be_bytes());
        }
    }

    /// Returns the number of numbers that [`Frame::put`] writes.
    pub(super) fn numbers(dimension: usize) -> usize {
        dimension + Lower::entries_of(dimension)
    }

    /// Reads the numbers that [`Frame::put`] wrote; `None` if they are not a frame.
    pub(super) fn of(numbers: &[f64], dimension: usize) -> Option<Frame> {
        let (centre, entries) = numbers.split_at_checked(dimension)?;
        let factor = Lower::of(entries, dimension)?;
        centre.iter().all(|number| number.is_finite()).then(|| Frame { centre: centre.to_vec(), factor })
    }
}

// The first frame of a key, from two quantiles of each coordinate of its records.

/// The estimation of the first bounds of a key.
///
/// The quantiles are those of 0.01 and 0.99 if, with the expected number of people, more records lie beyond
/// either than the error of its rank. Otherwise nothing would keep the choice away from the empty ends of the
/// outer range, and the quantiles are less extreme ones, up to the quartiles, beyond which that many records
/// lie.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    bounds: Vec<QuantileBounds>,
    outer: Arc<[Range]>,
    /// The number of standard deviations of normal data from the middle to either quantile.
    deviations: f64,
    /// The noisy number of records below which the found bounds are unreliable.
    pub(super) enough: u64,
}

/// The most extreme and the least extreme quantile, in thousandths.
const FARTHEST: u64 = 10;
const NEAREST: u64 = 250;

/// The probability that the error of a rank is within the planned one.
const SURE: f64 = 0.99;

impl Finding {
    /// Plans the quantiles for this cost of a key.
    ///
    /// # Errors
    /// Names `bound` if a person moves ranks too far, `epsilon` if too little is left for a choice, and
    /// `people` if so few are expected that even the quartiles may be anywhere in the outer range.
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
        // A less extreme quantile has a smaller error of its rank.
        let (_, error) = by(FARTHEST)?;
        let thousandths = error.saturating_mul(1000).div_ceil(mean.stated_people()).clamp(FARTHEST, NEAREST);
        let (bounds, error) = by(thousandths)?;
        let enough = error.saturating_mul(1000).div_ceil(thousandths);
        if mean.stated_people() < enough {
            // No less extreme quantile is left: fewer records lie beyond the quartiles than the error of
            // their ranks.
            let remedy = format!(
                "at least {enough} records of a key in a window, a smaller bound of records of a person, a larger share, or fewer numbers"
            );
            return Err(Invalid::new("people", InvalidKind::TooSmall, remedy));
        }
        Ok(Finding {
            bounds,
            outer: Arc::clone(mean.outer()),
            deviations: deviations(thousandths as f64 / 1000.0),
            enough,
        })
    }

    /// Draws the frame of a key: two quantiles for each coordinate.
    pub(super) fn frame(&self, rows: &VectorRows, noise: &mut NoiseSource) -> Frame {
        let bounds = self.bounds.iter().enumerate();
        let found = bounds.map(|(place, bounds)| bounds.draw(&rows.column(self.bounds.len(), place), noise));
        Frame::between(&found.collect::<Vec<_>>(), self.deviations, &self.outer)
    }
}

/// Returns the number of standard deviations below the middle at which a normal distribution has this
/// probability below, by bisection.
fn deviations(below: f64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let is_more = libm::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) / 2.0 > below;
        (low, high) = if is_more { (middle, high) } else { (low, middle) };
    }
    low
}

// The state of found means between windows: the frame of each key that has one.

/// The version of the format, a byte that no other statistic uses. After it, for each key in order, a 0 if
/// the key has no frame, or a 1 and the numbers of its frame ([`Frame::put`]).
const VERSION: u8 = 3;

pub(super) fn to_bytes(frames: &[Option<Frame>]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for frame in frames {
        bytes.push(u8::from(frame.is_some()));
        if let Some(frame) = frame {
            frame.put(&mut bytes);
        }
    }
    bytes
}

/// Parses the bytes that [`to_bytes`] wrote, for this number of keys and coordinates.
pub(super) fn from_bytes(bytes: &[u8], keys: usize, dimension: usize) -> Result<Vec<Option<Frame>>, Invalid> {
    let Some((&VERSION, mut rest)) = bytes.split_first() else {
        return Err(Invalid::new(
            "state",
            InvalidKind::Malformed,
            "state that this version of the library wrote",
        ));
    };
    let malformed = || Invalid::new("state", InvalidKind::Malformed, "the state as it was sealed");
    let mut frames = Vec::new();
    for _ in 0..keys {
        let (&known, after) = rest.split_first().ok_or_else(malformed)?;
        rest = after;
        frames.push(match known {
            0 => None,
            1 => {
                let length = 8 * Frame::numbers(dimension);
                let (numbers, after) = rest.split_at_checked(length).ok_or_else(malformed)?;
                rest = after;
                let (numbers, _) = numbers.as_chunks::<8>();
                let numbers: Vec<f64> =
                    numbers.iter().map(|bits| f64::from_bits(u64::from_be_bytes(*bits))).collect();
                Some(Frame::of(&numbers, dimension).ok_or_else(malformed)?)
            }
            _ => return Err(malformed()),
        });
    }
    if rest.is_empty() { Ok(frames) } else { Err(malformed()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn outer() -> Vec<Range> {
        vec![
            Range::new(0, 1000).unwrap(),
            Range::new(-10, 10).unwrap(),
            Range::new(i64::MIN, i64::MAX).unwrap(),
        ]
    }

    /// The quantiles of 0.01 and 0.99.
    const FAR: f64 = TO_THE_END / 1.5;

    // By hand: 400 and 600 are 200 apart, so the range is from 350 to 650; that of 0 and 10 is cut by a
    // quarter of the distance at the upper end.
    #[test]
    fn what_is_found_is_widened_and_cut() {
        let frame = Frame::between(&[(400, 600), (0, 10), (7, 7)], FAR, &outer());
        assert_eq!(frame.centre, [500.0, 3.75, 7.0]);
        let scale = |half: f64| (half * half / TO_THE_END / TO_THE_END + 1.0 / 16.0).sqrt();
        let scales = [scale(150.0), scale(6.25), 0.25];
        assert_eq!(frame.factor, Lower::diagonal(&scales));
        // 400 and 600 are the quantiles of a normal distribution of this deviation.
        assert!((scale(150.0) / (100.0 / 2.3263) - 1.0).abs() < 1e-3);
        let quartiles = Frame::between(&[(450, 550), (0, 10), (7, 8)], 0.674_489_75, &outer());
        assert!((quartiles.factor.lengths()[0] / (50.0 / 0.674_489_75) - 1.0).abs() < 1e-3, "cut on no side");
        assert_eq!(quartiles.centre[1], 0.0, "cut on both");
        let wide = Frame::between(&[(0, 1000), (-10, 10), (i64::MIN, i64::MAX)], FAR, &outer());
        assert!(wide.centre.iter().chain(wide.factor.entries()).all(|number| number.is_finite()));
        let crossed = Frame::between(&[(600, 400), (0, 0), (0, 0)], FAR, &outer());
        assert!(crossed.factor.entries().all(|entry| *entry >= 0.0));
        // Equal quartiles are of any values beyond them: the outer range is kept.
        let none = Frame::between(&[(600, 400), (0, 0), (7, 8)], 0.674_489_75, &outer());
        assert_eq!(none.centre, [500.0, 0.0, 7.5]);
        let lengths = none.factor.lengths();
        let near = |length: f64, half: f64| (length / scale(half) - 1.0).abs() < 1e-9;
        assert!(near(lengths[0], 500.0) && near(lengths[1], 10.0) && lengths[2] < 2.0, "{lengths:?}");
    }

    #[test]
    fn a_record_is_clipped_and_measured_and_comes_back() {
        let factor = Lower::of(&[2.0, 1.0, 4.0, -1.0, 0.5, 8.0], 3).unwrap();
        let frame = Frame { centre: vec![100.0, 0.5, -3.0], factor };
        let mut found = vec![1.0; 9];
        for (record, clipped) in
            [([120, 3, 77], [120.0, 3.0, 77.0]), ([-5, 99, i64::MAX], [0.0, 10.0, i64::MAX as f64])]
        {
            frame.measure(&record, &outer(), &mut found);
            let back = frame.back(&found);
            for (place, truth) in clipped.iter().enumerate() {
                assert!((frame.centre[place] + back[place] - truth).abs() <= 1e-12 * (1.0 + truth.abs()));
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_not_read() {
        let frame = Frame::between(&[(400, 600), (0, 10), (7, 7)], FAR, &outer());
        let mut bytes = Vec::new();
        frame.put(&mut bytes);
        let (pairs, []) = bytes.as_chunks::<8>() else { panic!() };
        let mut numbers: Vec<f64> =
            pairs.iter().map(|bits| f64::from_bits(u64::from_be_bytes(*bits))).collect();
        assert_eq!(numbers.len(), Frame::numbers(3));
        assert_eq!(Frame::of(&numbers, 3), Some(frame));
        assert_eq!(Frame::of(&numbers, 2), None);
        assert_eq!(Frame::of(&numbers[..8], 3), None);
        for (place, odd) in [(0, f64::NAN), (3, 0.0), (3, -1.0), (4, f64::INFINITY), (8, f64::NAN)] {
            let kept = std::mem::replace(&mut numbers[place], odd);
            assert_eq!(Frame::of(&numbers, 3), None, "{odd} at {place}");
            numbers[place] = kept;
        }
    }
}

#[cfg(test)]
mod finding_tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::accounting::BudgetUnits;
    use crate::mechanisms::vectors::mean::Ranges;
    use crate::mechanisms::{Bound, Keys};

    #[test]
    fn deviations_are_those_of_the_normal_law() {
        for (below, truth) in [(0.25, 0.674_489_750_2), (0.01, 2.326_347_874), (0.1, 1.281_551_565_5)] {
            assert!((deviations(below) - truth).abs() < 1e-9);
        }
    }

    // With 200 people at this price the quartiles were anywhere: means were off by 19,000 deviations, and
    // each window was paid for.
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

    // Refutes quantiles beyond which fewer records lie than the error of their rank: with 508 people those of
    // 0.01 would be anywhere.
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
