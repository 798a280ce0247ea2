//! Records in the coordinates in which their domain is round, as integers.

use std::collections::BTreeMap;

use super::ball::{squares, within};
use crate::accounting::Relation;
use crate::accounting::shape::{Domain, Matrix, Shape, dot};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, Kind};

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
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// Every record is at most as long as the unit.
    Ball { relation: Relation },
    /// A record is one of these.
    Table(Table),
}

#[derive(Clone, Debug)]
struct Table {
    /// What is taken off every point before it is whitened, and given back as often as there are people.
    centre: Vec<f64>,
    points: Matrix,
    whitened: Vec<Vec<i64>>,
    places: BTreeMap<Vec<u64>, usize>,
    /// The square of the largest distance of two.
    apart: u128,
}

/// With fewer the rounding of many records shows; with more a sum of 2^60 of them would pass 128 bits when it is squared.
const BITS: std::ops::RangeInclusive<u32> = 20..=40;

/// How long a point of the table may be. Those of the shape's own domain are at most 2 from their centre.
const LONGEST: f64 = 16.0;

impl Whitened {
    /// Whitens records of this domain by this shape, in steps of `2^-bits`.
    ///
    /// # Errors
    /// Names `bits` unless from 20 to 40, and `shape` if it is that of another domain.
    pub fn of(domain: &Domain, shape: &Shape, bits: u32) -> Result<Whitened, Invalid> {
        if !BITS.contains(&bits) {
            let kind = if bits < *BITS.start() { Kind::TooSmall } else { Kind::TooLarge };
            return Err(Invalid::new("bits", kind, "a whole number from 20 to 40"));
        }
        if shape.dimension() != domain.dimension() {
            return Err(Invalid::new("shape", Kind::Mixed, "the shape of this very domain"));
        }
        let (factor, inverse) = shape.matrices();
        let relation = shape.relation();
        // What is symmetric is its own body of differences, and lies in the ball; a list need not.
        let form = match (relation, domain.listed()) {
            (Relation::Replace, Some(points)) => Form::Table(Table::of(points, inverse, bits)?),
            _ => Form::Ball { relation },
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
            Form::Ball { relation: Relation::AddRemove } => unit,
            Form::Ball { relation: Relation::Replace } => 4 * unit,
            Form::Table(table) => table.apart,
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
            Form::Ball { relation: Relation::AddRemove } => form.text("ball"),
            Form::Ball { relation: Relation::Replace } => form.text("ball of differences"),
            Form::Table(table) => matrix(form.text("table"), &table.points),
        };
        matrix(matrix(form, &self.factor), &self.inverse)
    }

    /// The integers of a record. What lies outside of the domain is brought to its border along a line to zero, or to the
    /// nearest point of a list; what is no vector of finite numbers becomes zero, or the first point.
    pub fn record(&self, vector: &[f64]) -> Vec<i64> {
        let sound = vector.len() == self.inverse.columns() && vector.iter().all(|entry| entry.is_finite());
        match &self.form {
            Form::Ball { .. } if !sound => vec![0; self.width()],
            Form::Ball { .. } => self.ball(&whiten(&self.inverse, vector)),
            Form::Table(table) => table.record(sound.then_some(vector), &self.inverse),
        }
    }

    /// The sum in its original coordinates, from that of the integers of so many people, to which noise was added. The
    /// number is needed where it is public, for one in place of another, and not looked at elsewhere.
    pub fn unwhitened(&self, noised: &[i128], people: u64) -> Vec<f64> {
        let step = libm::exp2(-f64::from(self.bits));
        let sum: Vec<f64> = noised.iter().map(|&entry| entry as f64 * step).collect();
        let mut whole: Vec<f64> = self.factor.each_row().map(|row| dot(row, &sum)).collect();
        if let Form::Table(table) = &self.form {
            whole.iter_mut().zip(&table.centre).for_each(|(entry, centre)| *entry += centre * people as f64);
        }
        whole
    }
}

fn matrix(form: Canonical, matrix: &Matrix) -> Canonical {
    let form = form.number(matrix.rows() as i64).number(matrix.columns() as i64);
    let entries = matrix.each_row().flatten();
    entries.fold(form, |form, entry| form.bytes(&entry.to_bits().to_be_bytes()))
}

impl Table {
    fn of(points: &Matrix, inverse: &Matrix, bits: u32) -> Result<Table, Invalid> {
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
        let other = || Invalid::new("shape", Kind::Mixed, "the shape of this very domain");
        let whitened = whitened.ok_or_else(other)?;
        let places = points.each_row().enumerate().map(|(at, point)| (name(point), at)).collect();
        let apart = apart(&whitened);
        Ok(Table { centre, points: points.clone(), whitened, places, apart })
    }

    fn record(&self, vector: Option<&[f64]>, inverse: &Matrix) -> Vec<i64> {
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

/// The bits of a point; those of zero are the same for both signs.
fn name(point: &[f64]) -> Vec<u64> {
    point.iter().map(|entry| (entry + 0.0).to_bits()).collect()
}

fn less(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(a, b)| a - b).collect()
}

fn whiten(inverse: &Matrix, vector: &[f64]) -> Vec<f64> {
    inverse.each_row().map(|row| dot(row, vector)).collect()
}

/// The square of the largest distance, exactly: floats only say which pairs need not be looked at.
fn apart(points: &[Vec<i64>]) -> u128 {
    let floats: Vec<Vec<f64>> =
        points.iter().map(|point| point.iter().map(|&entry| entry as f64).collect()).collect();
    let mut most = 0u128;
    for (left, first) in floats.iter().enumerate() {
        for (right, second) in floats.iter().enumerate().take(left) {
            let about: f64 = first.iter().zip(second).map(|(a, b)| (a - b) * (a - b)).sum();
            // Entries are below 2^53, so that a sum of 256 squares is right to 2^-44.
            if about * (1.0 + 1e-9) < most as f64 {
                continue;
            }
            let differences: Vec<i64> = points[left].iter().zip(&points[right]).map(|(a, b)| a - b).collect();
            most = most.max(squares(&differences));
        }
    }
    most
}

#[cfg(test)]
mod tests;
