//! What may be told of a window: every number here has had its noise.

use super::additive::Family;
use super::point::Point;

/// A noised number, and where the truth lies at the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate<T> {
    pub(super) value: T,
    pub(super) low: T,
    pub(super) high: T,
}

impl<T: Copy> Estimate<T> {
    /// The noised number, as it was drawn: it may be below zero where the truth cannot.
    pub fn value(&self) -> T {
        self.value
    }

    /// The least that the truth may be.
    pub fn low(&self) -> T {
        self.low
    }

    /// The most that the truth may be.
    pub fn high(&self) -> T {
        self.high
    }
}

/// The noise of one number of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noised {
    pub(super) number: &'static str,
    pub(super) family: Family,
    pub(super) scale: f64,
}

impl Noised {
    pub(super) fn told_in(self, point: Point) -> Noised {
        Noised { scale: point.float(self.scale), ..self }
    }

    /// Which number: `records`, `people` or `sum`.
    pub fn number(&self) -> &'static str {
        self.number
    }

    /// The law.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The law's scale, in units of the number.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

/// One window's answer: an estimate a key, in the order of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<K, T> {
    pub(super) cells: Vec<(K, Estimate<T>)>,
    pub(super) noise: Vec<Noised>,
    pub(super) point: Point,
    pub(super) confidence: f64,
    pub(super) room: Option<usize>,
}

impl<K, T> Answer<K, T> {
    /// The keys with their estimates.
    pub fn cells(&self) -> &[(K, Estimate<T>)] {
        &self.cells
    }

    /// The noise of each number that an estimate is made of: one for a total; the sum's, then the count's, for a mean.
    pub fn noise(&self) -> &[Noised] {
        &self.noise
    }

    /// Where the decimal point of the estimates stands when they are told.
    pub fn point(&self) -> Point {
        self.point
    }

    /// How likely it is, for each cell by itself, that the truth is in its interval.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// How many more keys may become public, where keys are discovered. At 0 no others ever will.
    pub fn room(&self) -> Option<usize> {
        self.room
    }
}
