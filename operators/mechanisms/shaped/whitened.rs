//! Records in the coordinates in which their domain is round, as integers.

use std::collections::BTreeMap;

use crate::accounting::Relation;
use crate::accounting::shape::{DataDomain, Matrix, Shape, dot};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};

/// Turns records into integer vectors, of whose sum one person moves at most a known length; and turns a
/// noised sum back into a vector of the original coordinates.
///
/// Integer noise of variance `l2_squared / (2 rho)` on each coordinate of the sum makes it rho-zCDP. The
/// proof rests on integers alone: the length of each record is enforced after it is rounded, and for records
/// of a finite list all distances have been computed exactly. A shape that does not fit costs accuracy, and
/// nothing else.
///
/// Rounding is toward zero, in steps of `2^-bits`: in a sum of `n` records no whitened coordinate is off by
/// more than `n` steps.
#[derive(Clone, Debug)]
pub struct Whitened {
    factor: Matrix,
    inverse: Matrix,
    bits: u32,
    form: WhiteningForm,
}

#[derive(Clone, Debug)]
enum WhiteningForm {
    /// Every record is at most as long as the unit: a record that comes or goes moves a sum by at most the
    /// unit, and one that replaces another by at most twice that.
    Ball { relation: Relation },
    /// Every record is one of these points: a replacement moves a sum by the distance of two.
    Table(PointTable),
}

/// The range of `bits`. With fewer the rounding of many records shows; with more a sum of 2^60 of them would
/// pass 128 bits when it is squared.
const BITS: std::ops::RangeInclusive<u32> = 20..=40;

impl Whitened {
    /// Prepares the whitening of records of this domain by this shape, in steps of `2^-bits`.
    ///
    /// # Errors
    /// Names `bits` unless from 20 to 40, and `shape` if it is recognizably that of another domain: it has
    /// another dimension, or, for a list with replacement, it does not bring the points near their centre.
    /// Another shape that passes costs accuracy alone.
    pub fn of(domain: &DataDomain, shape: &Shape, bits: u32) -> Result<Whitened, Invalid> {
        if !BITS.contains(&bits) {
            let kind = if bits < *BITS.start() { InvalidKind::TooSmall } else { InvalidKind::TooLarge };
            return Err(Invalid::new("bits", kind, "a whole number from 20 to 40"));
        }
        if shape.dimension() != domain.dimension() {
            return Err(Invalid::new("shape", InvalidKind::Mixed, "the shape of this very domain"));
        }
        let (factor, inverse) = shape.matrices();
        let relation = shape.relation();
        // A symmetric domain is, up to scale, its own body of differences, and lies in the ball; a list need
        // not.
        let form = match (relation, domain.listed()) {
            (Relation::Replace, Some(points)) => {
                WhiteningForm::Table(PointTable::of(points, inverse, bits, domain.is_alike())?)
            }
            _ => WhiteningForm::Ball { relation },
        };
        Ok(Whitened { factor: factor.clone(), inverse: inverse.clone(), bits, form })
    }

    /// The number of integers in a record.
    pub fn width(&self) -> usize {
        self.inverse.rows()
    }

    /// The square of the largest length by which one person can move a sum of records.
    pub fn l2_squared(&self) -> u128 {
        let unit = 1u128 << (2 * self.bits);
        match &self.form {
            WhiteningForm::Ball { relation: Relation::AddRemove } => unit,
            WhiteningForm::Ball { relation: Relation::Replace } => 4 * unit,
            WhiteningForm::Table(table) => table.apart(),
        }
    }

    fn ball(&self, found: &[f64]) -> Vec<i64> {
        let mut whole = Vec::with_capacity(found.len());
        within(found, libm::exp2(self.bits.into()), 1 << self.bits, &mut whole);
        whole
    }

    /// Appends everything that the integers of a record, and the vector of their sum, depend on.
    pub(crate) fn canonical(&self, form: Canonical) -> Canonical {
        let form = form.number(self.bits.into());
        let form = match &self.form {
            WhiteningForm::Ball { relation: Relation::AddRemove } => form.text("ball"),
            WhiteningForm::Ball { relation: Relation::Replace } => form.text("ball of differences"),
            WhiteningForm::Table(table) => matrix(form.text("table"), table.points()),
        };
        matrix(matrix(form, &self.factor), &self.inverse)
    }

    /// Returns the integers of a record. A vector outside of the ellipsoid is moved to its border along a
    /// line to zero. For a list with replacement, every vector is moved to the nearest point of the list, by
    /// the measure of the shape. A vector of another dimension, one with an entry that is not finite, and one
    /// that overflows when it is whitened become zero, or the first point of the list.
    pub fn record(&self, vector: &[f64]) -> Vec<i64> {
        let sound = vector.len() == self.inverse.columns() && vector.iter().all(|entry| entry.is_finite());
        match &self.form {
            WhiteningForm::Ball { .. } if !sound => vec![0; self.width()],
            WhiteningForm::Ball { .. } => self.ball(&whiten(&self.inverse, vector)),
            WhiteningForm::Table(table) => table.record(sound.then_some(vector), &self.inverse),
        }
    }

    /// Returns a sum in its original coordinates, from the noised sum of the integers of this number of
    /// people. The number is used only if it is public, with replacement, and is ignored otherwise.
    pub fn unwhitened(&self, noised: &[i128], people: u64) -> Vec<f64> {
        let step = libm::exp2(-f64::from(self.bits));
        let sum: Vec<f64> = noised.iter().map(|&entry| entry as f64 * step).collect();
        let mut whole: Vec<f64> = self.factor.each_row().map(|row| dot(row, &sum)).collect();
        if let WhiteningForm::Table(table) = &self.form {
            whole.iter_mut().zip(table.centre()).for_each(|(entry, centre)| *entry += centre * people as f64);
        }
        whole
    }

    /// Returns the standard deviation along each original coordinate of a sum on whose numbers there is
    /// independent noise of this deviation each.
    pub fn deviations(&self, each: f64) -> Vec<f64> {
        let step = libm::exp2(-f64::from(self.bits));
        self.factor.row_squares().into_iter().map(|square| square.sqrt() * step * each).collect()
    }
}

pub(super) fn whiten(inverse: &Matrix, vector: &[f64]) -> Vec<f64> {
    inverse.each_row().map(|row| dot(row, vector)).collect()
}

fn matrix(form: Canonical, matrix: &Matrix) -> Canonical {
    let form = form.number(matrix.rows() as i64).number(matrix.columns() as i64);
    let entries = matrix.each_row().flatten();
    entries.fold(form, |form, entry| form.bytes(&entry.to_bits().to_be_bytes()))
}

// The whitened points of a list, one of which every record is.

/// Points with their integers, and the largest distance of two.
#[derive(Clone, Debug)]
pub(super) struct PointTable {
    /// The mean of the points: subtracted from every point before it is whitened, and added back once for
    /// each person.
    centre: Vec<f64>,
    points: Matrix,
    whitened: Vec<Vec<i64>>,
    places: BTreeMap<Vec<u64>, usize>,
    /// The square of the largest distance of two.
    apart: u128,
}

/// The largest whitened entry of a point. Points of the shape's own domain are at most 2 from their centre.
const LONGEST: f64 = 16.0;

impl PointTable {
    /// Whitens the points. If all points are `alike` (each of them sees the others at the same distances, in
    /// other directions), distances from the first are all distances.
    pub(super) fn of(
        points: &Matrix,
        inverse: &Matrix,
        bits: u32,
        alike: bool,
    ) -> Result<PointTable, Invalid> {
        let mut centre = vec![0.0; points.columns()];
        for point in points.each_row() {
            centre.iter_mut().zip(point).for_each(|(sum, entry)| *sum += entry / points.rows() as f64);
        }
        let step = libm::exp2(f64::from(bits));
        let whitened: Option<Vec<Vec<i64>>> = points
            .each_row()
            .map(|point| {
                let found = whiten(inverse, &less(point, &centre));
                let near = found.iter().all(|entry| entry.abs() <= LONGEST);
                near.then(|| found.into_iter().map(|entry| (entry * step) as i64).collect())
            })
            .collect();
        let other = || Invalid::new("shape", InvalidKind::Mixed, "the shape of this very domain");
        let whitened = whitened.ok_or_else(other)?;
        let apart = if alike {
            // Points that differ in signs alone stay alike, since no coordinate is mixed with another.
            if !(is_diagonal(inverse) && centre.iter().all(|&entry| entry == 0.0)) {
                return Err(other());
            }
            whitened.iter().map(|point| squares(&differences(point, &whitened[0]))).max().unwrap_or(0)
        } else {
            apart(&whitened)
        };
        let places = points.each_row().enumerate().map(|(at, point)| (name(point), at)).collect();
        Ok(PointTable { centre, points: points.clone(), whitened, places, apart })
    }

    pub(super) fn points(&self) -> &Matrix {
        &self.points
    }

    pub(super) fn centre(&self) -> &[f64] {
        &self.centre
    }

    pub(super) fn apart(&self) -> u128 {
        self.apart
    }

    /// Returns the integers of a point, of the nearest point, or of the first if there is no vector.
    pub(super) fn record(&self, vector: Option<&[f64]>, inverse: &Matrix) -> Vec<i64> {
        let at = vector.map_or(0, |vector| match self.places.get(&name(vector)) {
            Some(&at) => at,
            None => self.nearest(vector, inverse),
        });
        self.whitened.get(at).cloned().unwrap_or_default()
    }

    fn nearest(&self, vector: &[f64], inverse: &Matrix) -> usize {
        let mut best = (f64::INFINITY, 0);
        for (at, point) in self.points.each_row().enumerate() {
            let apart: f64 = whiten(inverse, &less(vector, point)).iter().map(|entry| entry * entry).sum();
            if apart < best.0 {
                best = (apart, at);
            }
        }
        best.1
    }
}

/// Returns the bits of a point; those of zero are the same for both signs.
fn name(point: &[f64]) -> Vec<u64> {
    point.iter().map(|entry| (entry + 0.0).to_bits()).collect()
}

fn less(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(a, b)| a - b).collect()
}

fn differences(left: &[i64], right: &[i64]) -> Vec<i64> {
    left.iter().zip(right).map(|(a, b)| a - b).collect()
}

fn is_diagonal(matrix: &Matrix) -> bool {
    let alone =
        |(at, row): (usize, &[f64])| row.iter().enumerate().all(|(on, &entry)| on == at || entry == 0.0);
    matrix.rows() == matrix.columns() && matrix.each_row().enumerate().all(alone)
}

/// Returns the square of the largest distance, exactly: floats only rule out pairs.
fn apart(points: &[Vec<i64>]) -> u128 {
    let mut sorted: Vec<(f64, &Vec<i64>, Vec<f64>)> = points
        .iter()
        .map(|point| {
            let floats: Vec<f64> = point.iter().map(|&entry| entry as f64).collect();
            (floats.iter().map(|entry| entry * entry).sum::<f64>().sqrt(), point, floats)
        })
        .collect();
    sorted.sort_by(|left, right| right.0.total_cmp(&left.0));
    let (mut most, mut nearly) = (0u128, 0.0);
    // Entries are below 2^53, so that a sum of 256 squares is right to 2^-44.
    let passed = |about: f64, nearly: f64| about * (1.0 + 1e-9) < nearly;
    for (at, (length, point, floats)) in sorted.iter().enumerate() {
        for (other_length, other, other_floats) in &sorted[at + 1..] {
            let together = length + other_length;
            if passed(together * together, nearly) {
                break;
            }
            let about: f64 = floats.iter().zip(other_floats).map(|(a, b)| (a - b) * (a - b)).sum();
            if !passed(about, nearly) {
                most = most.max(squares(&differences(point, other)));
                nearly = most as f64;
            }
        }
    }
    most
}

// Vectors of bounded length, as integers.

/// Writes the integers of a vector in steps of `1 / unit`, rounded toward zero, over the contents of `whole`.
/// If they would be longer than `longest`, the vector is shortened first, until the sum of their squares is
/// at most `longest^2`, in integers. A vector with an entry that is not finite becomes zero.
///
/// `longest` is at most 2^60.
pub(in crate::mechanisms) fn within(found: &[f64], unit: f64, longest: u64, whole: &mut Vec<i64>) {
    let finite = found.iter().all(|entry| entry.is_finite());
    let most = found.iter().fold(1.0f64, |most, entry| most.max(entry.abs()));
    // Relative to the largest entry, so that no square overflows a float.
    let beside = found.iter().map(|entry| (entry / most).powi(2)).sum::<f64>().sqrt();
    let (over, mut scale) = match most * beside * unit {
        _ if !finite => (1.0, 0.0),
        length if length <= longest as f64 => (1.0, unit),
        _ => (most, longest as f64 / beside),
    };
    let limit = u128::from(longest).pow(2);
    // One step of the scale is more than all rounding: the second try is short enough, unless the first was.
    for _ in 0..4 {
        whole.clear();
        whole.extend(found.iter().map(|&entry| (entry / over * scale) as i64));
        if squares(whole) <= limit {
            return;
        }
        scale *= 1.0 - libm::exp2(-45.0);
    }
    whole.iter_mut().for_each(|entry| *entry = 0);
}

/// Returns the sum of the squares; the largest number if the sum is beyond it.
pub(in crate::mechanisms) fn squares(whole: &[i64]) -> u128 {
    whole.iter().fold(0, |sum: u128, entry| sum.saturating_add(u128::from(entry.unsigned_abs()).pow(2)))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod ball_tests {
    use proptest::prelude::*;

    use super::*;

    fn ball(found: &[f64], unit: f64, longest: u64) -> Vec<i64> {
        let mut whole = vec![7; 3];
        within(found, unit, longest, &mut whole);
        assert_eq!(whole.len(), found.len());
        whole
    }

    #[test]
    fn what_fits_is_rounded_toward_zero_and_what_is_no_number_is_zero() {
        assert_eq!(ball(&[1.75, -0.75], 2.0, 100), [3, -1]);
        assert_eq!(ball(&[3.0, 4.0], 1.0, 5), [3, 4], "just as long as it may be");
        assert_eq!(ball(&[30.0, -40.0], 1.0, 5), [3, -4]);
        assert_eq!(ball(&[0.0; 4], 1.0, 5), [0; 4]);
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(ball(&[1.0, odd], 1.0, 5), [0, 0]);
        }
        assert_eq!(ball(&[f64::MAX, -f64::MAX], 1.0, 5), [3, -3], "its length is no number");
        assert_eq!(ball(&[f64::MAX / 4.0, 1.0], 1.0, 1 << 20), [1 << 20, 0]);
        assert_eq!(ball(&[f64::MIN_POSITIVE / 4.0], 1024.0, 5), [0]);
        assert_eq!(ball(&[1.0], 1.0, 0), [0]);
    }

    proptest! {
        // Refutes a length that is enforced before rounding, or in floats; and one that is enforced without
        // need.
        #[test]
        fn no_vector_is_longer_than_it_may_be(
            found in proptest::collection::vec(prop_oneof![-1e3f64..1e3, proptest::num::f64::ANY], 0..20),
            bits in 0i32..31,
            longest in prop_oneof![0u64..50, 0u64..1 << 37],
        ) {
            let unit = libm::exp2(bits.into());
            let whole = ball(&found, unit, longest);
            prop_assert!(squares(&whole) <= u128::from(longest).pow(2));
            let own: f64 = found.iter().map(|entry| (entry * unit).powi(2)).sum::<f64>().sqrt();
            if own < longest as f64 * (1.0 - 1e-9) {
                prop_assert_eq!(whole, found.iter().map(|entry| (entry * unit) as i64).collect::<Vec<_>>());
            } else if own.is_finite() && longest > 1000 {
                let lost = longest as f64 - (squares(&whole) as f64).sqrt();
                prop_assert!(lost <= (found.len() as f64).sqrt() + 1e-6 * longest as f64, "{}", lost);
            }
        }
    }
}
