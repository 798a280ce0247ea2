//! A centre and the scales around it, by which records are measured: all of it is public.

use super::lower::Lower;
use crate::mechanisms::bound::Range;

/// Where records are measured from, and by what: a record is `centre + factor u`, and `u` has about the length of a vector of
/// normal numbers where the frame fits.
///
/// It is made of numbers that have had their noise. One that does not fit costs accuracy, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) centre: Vec<f64>,
    pub(super) factor: Lower,
}

/// How much of a step a frame measures by at least, in each direction, squared: a quarter. Of whole numbers that are all but
/// always the same it is wide enough.
pub(super) const LEAST_SQUARED: f64 = 1.0 / 16.0;

/// From the middle to either end of what is found, in standard deviations of normal data: it is half again as wide as what
/// lies between the quantiles of 0.01 and 0.99.
const TO_THE_END: f64 = 3.4895;

impl Frame {
    /// The frame of what was found of each coordinate, two noised quantiles, which are so many `deviations` of normal data from
    /// its middle. Of those of 0.01 and 0.99 it is widened by a quarter of what lies between them at either end, of others by as
    /// much as leads there; then it is cut to the outer range.
    pub(super) fn between(found: &[(i64, i64)], deviations: f64, outer: &[Range]) -> Frame {
        let more = (TO_THE_END / deviations - 1.0) / 2.0;
        let ranges = found.iter().zip(outer).map(|(&(low, high), outer)| {
            let (least, most) = (outer.low() as f64, outer.high() as f64);
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

    /// A record as the frame measures it, once it is clipped to the outer ranges. It takes the place of what is in `found`.
    pub(super) fn measure(&self, record: &[i64], outer: &[Range], found: &mut Vec<f64>) {
        found.clear();
        let clipped = record.iter().zip(outer).map(|(&value, range)| value.clamp(range.low(), range.high()));
        found.extend(clipped.zip(&self.centre).map(|(value, centre)| value as f64 - centre));
        self.factor.solve(found);
    }

    /// How far from the centre something is that the frame measures as `u`.
    pub(super) fn back(&self, u: &[f64]) -> Vec<f64> {
        self.factor.times(u)
    }

    /// As 64 bits for each number: the centre, then the factor row by row.
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        for number in self.centre.iter().chain(self.factor.entries()) {
            bytes.extend_from_slice(&number.to_bits().to_be_bytes());
        }
    }

    /// How many numbers [`Frame::put`] writes.
    pub(super) fn numbers(dimension: usize) -> usize {
        dimension + Lower::entries_of(dimension)
    }

    /// Reads what [`Frame::put`] wrote, if these numbers are a frame.
    pub(super) fn of(numbers: &[f64], dimension: usize) -> Option<Frame> {
        let (centre, entries) = numbers.split_at_checked(dimension)?;
        let factor = Lower::of(entries, dimension)?;
        centre.iter().all(|number| number.is_finite()).then(|| Frame { centre: centre.to_vec(), factor })
    }
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

    // By hand: between 400 and 600 lie 200, so it reaches from 350 to 650; of 0 to 10 a quarter is cut off above.
    #[test]
    fn what_is_found_is_widened_and_cut() {
        let frame = Frame::between(&[(400, 600), (0, 10), (7, 7)], FAR, &outer());
        assert_eq!(frame.centre, [500.0, 3.75, 7.0]);
        let scale = |half: f64| (half * half / TO_THE_END / TO_THE_END + 1.0 / 16.0).sqrt();
        let scales = [scale(150.0), scale(6.25), 0.25];
        assert_eq!(frame.factor, Lower::diagonal(&scales));
        // The quantiles of 400 and 600 are those of a normal law of this deviation.
        assert!((scale(150.0) / (100.0 / 2.3263) - 1.0).abs() < 1e-3);
        let quartiles = Frame::between(&[(450, 550), (0, 10), (7, 7)], 0.674_489_75, &outer());
        assert!((quartiles.factor.lengths()[0] / (50.0 / 0.674_489_75) - 1.0).abs() < 1e-3, "cut on no side");
        assert_eq!(quartiles.centre[1], 0.0, "cut on both");
        let wide = Frame::between(&[(0, 1000), (-10, 10), (i64::MIN, i64::MAX)], FAR, &outer());
        assert!(wide.centre.iter().chain(wide.factor.entries()).all(|number| number.is_finite()));
        let crossed = Frame::between(&[(600, 400), (0, 0), (0, 0)], FAR, &outer());
        assert!(crossed.factor.entries().all(|entry| *entry >= 0.0));
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
