//! Records in the coordinates in which their domain is round, as integers.

use super::ball::within;
use super::table::PointTable;
use crate::accounting::Relation;
use crate::accounting::shape::{DataDomain, Matrix, Shape, dot};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};

/// Makes integer vectors of records, of which one person moves the sum by a known length at most; and a vector of the
/// original coordinates of a sum to which noise was added.
///
/// Integer noise of variance `l2_squared / (2 rho)` on each coordinate of the sum makes it rho-zCDP. That rests on integers
/// alone: the length of each record is enforced after it is rounded, and where records are of a finite list, all their
/// distances have been computed exactly. A shape that does not fit costs accuracy, and nothing else.
///
/// Rounding is toward zero, in steps of `2^-bits`: of a sum of `n` records no whitened coordinate is off by more than `n`
/// steps.
#[derive(Clone, Debug)]
pub struct Whitened {
    factor: Matrix,
    inverse: Matrix,
    bits: u32,
    form: WhiteningForm,
}

#[derive(Clone, Debug)]
enum WhiteningForm {
    /// Every record is at most as long as the unit: it moves a sum by that where it comes or goes, by twice that where it
    /// replaces another.
    Ball { relation: Relation },
    /// A record is one of these, and moves a sum by the distance of two.
    Table(PointTable),
}

/// With fewer the rounding of many records shows; with more a sum of 2^60 of them would pass 128 bits when it is squared.
const BITS: std::ops::RangeInclusive<u32> = 20..=40;

impl Whitened {
    /// Whitens records of this domain by this shape, in steps of `2^-bits`.
    ///
    /// # Errors
    /// Names `bits` unless from 20 to 40, and `shape` if it is that of another domain.
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
        // What is symmetric is its own body of differences, and lies in the ball; a list need not.
        let form = match (relation, domain.listed()) {
            (Relation::Replace, Some(points)) => {
                WhiteningForm::Table(PointTable::of(points, inverse, bits, domain.is_alike())?)
            }
            _ => WhiteningForm::Ball { relation },
        };
        Ok(Whitened { factor: factor.clone(), inverse: inverse.clone(), bits, form })
    }

    /// How many integers a record has.
    pub fn width(&self) -> usize {
        self.inverse.rows()
    }

    /// The square of the length by which one person can move a sum of records.
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

    /// Everything that the integers of a record depend on, and what is made of their sum.
    pub(crate) fn canonical(&self, form: Canonical) -> Canonical {
        let form = form.number(self.bits.into());
        let form = match &self.form {
            WhiteningForm::Ball { relation: Relation::AddRemove } => form.text("ball"),
            WhiteningForm::Ball { relation: Relation::Replace } => form.text("ball of differences"),
            WhiteningForm::Table(table) => matrix(form.text("table"), table.points()),
        };
        matrix(matrix(form, &self.factor), &self.inverse)
    }

    /// The integers of a record. What lies outside of the ellipsoid is brought to its border along a line to zero, and where the
    /// domain is a list of which one replaces another, everything to the nearest point of it, by the measure of the shape. What
    /// is no vector of as many finite numbers, or overflows when it is whitened, becomes zero, or the first point of the list.
    pub fn record(&self, vector: &[f64]) -> Vec<i64> {
        let sound = vector.len() == self.inverse.columns() && vector.iter().all(|entry| entry.is_finite());
        match &self.form {
            WhiteningForm::Ball { .. } if !sound => vec![0; self.width()],
            WhiteningForm::Ball { .. } => self.ball(&whiten(&self.inverse, vector)),
            WhiteningForm::Table(table) => table.record(sound.then_some(vector), &self.inverse),
        }
    }

    /// The sum in its original coordinates, from that of the integers of so many people, to which noise was added. The
    /// number is needed where it is public, for one in place of another, and not looked at elsewhere.
    pub fn unwhitened(&self, noised: &[i128], people: u64) -> Vec<f64> {
        let step = libm::exp2(-f64::from(self.bits));
        let sum: Vec<f64> = noised.iter().map(|&entry| entry as f64 * step).collect();
        let mut whole: Vec<f64> = self.factor.each_row().map(|row| dot(row, &sum)).collect();
        if let WhiteningForm::Table(table) = &self.form {
            whole.iter_mut().zip(table.centre()).for_each(|(entry, centre)| *entry += centre * people as f64);
        }
        whole
    }

    /// The standard deviation along each original coordinate of a sum on whose numbers there is independent noise of
    /// this deviation each.
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

#[cfg(test)]
mod tests;
