//! The mean of vectors: the request, and the contribution of one person.

use std::sync::Arc;

use super::rows::{Moments, NARROW};
use crate::accounting::Relation;
use crate::accounting::shape::{DataDomain, Norm, Shape};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answer::{Coordinate, DecimalPoint};
use crate::mechanisms::bound::{ContributionBound, Range, Sensitivity};
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::shaped::Whitened;
use crate::mechanisms::spend::Cut;
use crate::mechanisms::statistic::{Cells, KeyedStatistic, Statistic};

/// The mean of the vectors of each key, each brought into a public bound first.
///
/// [`clipped`](VectorMean::clipped): each coordinate is clipped by itself and taken from the middle of its
/// range, as a [`Mean`](crate::mechanisms::Mean) takes its values. Its noise is as wide as its range asks: no
/// unit is weighed against another.
///
/// [`over`](VectorMean::over): the noise has the shape of a domain in which all vectors lie, and errs least
/// in a norm.
///
/// One count serves all coordinates.
#[derive(Clone, Debug)]
pub struct VectorMean<K> {
    form: MeanForm,
    limits: ContributionBound,
    keys: Keys<K>,
    coordinates: Arc<[Coordinate]>,
    joint: Sensitivity,
}

/// The form in which a record becomes integers.
#[derive(Clone, Debug)]
pub(super) enum MeanForm {
    Clipped(Arc<[Range]>),
    /// The same, where a sum of many terms needs no more than 64 bits.
    Narrow(Arc<[Range]>),
    Shaped(Arc<Shaped>),
}

/// Records as the shape of their domain measures them.
#[derive(Clone, Debug)]
pub(super) struct Shaped {
    pub(super) whitened: Whitened,
    pub(super) shape: Shape,
}

/// Whitened records have steps of `2^-30`.
pub(super) const BITS: u32 = 30;

impl<K: Key> VectorMean<K> {
    /// The mean over at most `per_key` records of each person in each key, each coordinate clipped to its
    /// range.
    ///
    /// # Errors
    /// Names `bound` where the sensitivity leaves 128 bits.
    pub fn clipped(
        ranges: &Ranges,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<VectorMean<K>, Invalid> {
        let records = u128::from(limits.per_key());
        let sum = |range: &Range| Sensitivity::each(&limits, records * u128::from(range.width()));
        // Beside sums in half units, counts are in half units.
        let counts = Sensitivity::each(&limits, 2 * records)?;
        let joint = ranges.each().iter().try_fold(counts, |joint, range| joint.beside(sum(range)?))?;
        let coordinates = ranges.each().iter().map(|_| Coordinate::unnamed()).collect();
        let narrow = ranges.each().iter().all(|range| range.is_within(NARROW));
        let form = if narrow { MeanForm::Narrow } else { MeanForm::Clipped }(ranges.each().into());
        Ok(VectorMean { form, limits, keys, coordinates, joint })
    }

    /// The mean over vectors of this domain, with noise of the shape that errs least in this norm. The domain
    /// is in the steps of the values. What lies outside of it is brought to its border, along a line to zero.
    ///
    /// # Errors
    /// Names `domain` where no shape is found for it, and `bound` where the sensitivity leaves 128 bits.
    pub fn over(
        domain: &DataDomain,
        norm: Norm,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<VectorMean<K>, Invalid> {
        let shape = Shape::of(domain, Relation::AddRemove, norm)?;
        let whitened = Whitened::of(domain, &shape, BITS)?;
        let records = u128::from(limits.per_key());
        // All whitened coordinates of a key together are one vector of this length.
        let joint =
            Sensitivity::each(&limits, records << BITS)?.beside(Sensitivity::each(&limits, records)?)?;
        let coordinates = (0..shape.dimension()).map(|_| Coordinate::unnamed()).collect();
        let form = MeanForm::Shaped(Arc::new(Shaped { whitened, shape }));
        Ok(VectorMean { form, limits, keys, coordinates, joint })
    }

    /// Tells the coordinates by these names, each with its decimal point there. Values and bounds are in the
    /// steps that it leaves.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn told_as(self, coordinates: Vec<Coordinate>) -> Result<VectorMean<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(VectorMean { coordinates, ..self })
    }

    /// Adds what one person left in a key: the first `per_key` of these records, each within its bound, so
    /// that the sensitivity holds whatever comes in. A record of another length counts as the middle of all
    /// ranges, or as zero. Somebody without a record adds nothing.
    #[inline]
    pub fn add<V: AsRef<[i64]>>(&self, known: &mut Moments, records: &[V]) {
        let records = self.limits.first(records);
        if records.is_empty() {
            return;
        }
        known.people = known.people.wrapping_add(1);
        known.records = known.records.wrapping_add(records.len() as u64);
        if known.sums.is_empty() {
            known.sums = vec![0; self.form.width()];
        }
        for record in records {
            let record = record.as_ref();
            if record.len() == self.coordinates.len() {
                self.form.add(known, record);
            }
        }
    }

    /// Returns the tally of a key that one person alone has, with these records.
    pub fn of_one<V: AsRef<[i64]>>(&self, records: &[V]) -> Moments {
        let mut known = Moments::default();
        self.add(&mut known, records);
        known
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.coordinates.len()
    }

    /// The only keys that it is released for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    pub(super) fn form(&self) -> &MeanForm {
        &self.form
    }

    pub(super) fn keys(&self) -> &Keys<K> {
        &self.keys
    }

    pub(super) fn limits(&self) -> &ContributionBound {
        &self.limits
    }

    pub(super) fn coordinates(&self) -> &Arc<[Coordinate]> {
        &self.coordinates
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        let form = self.form.canonical(Canonical::new("discreet vectors 1"));
        let form = self.coordinates.iter().fold(form, |form, coordinate| coordinate.canonical(form));
        KeyedStatistic {
            measure: "vector mean",
            range: None,
            limits: &self.limits,
            keys: &self.keys,
            point: DecimalPoint::WHOLE,
            counts_people: self.limits.per_key() == 1,
            cut: Cut::two_steps(&self.limits),
            also: Some(form.finish()),
        }
    }
}

impl MeanForm {
    /// Returns the number of integers of a record.
    fn width(&self) -> usize {
        match self {
            MeanForm::Clipped(ranges) | MeanForm::Narrow(ranges) => ranges.len(),
            MeanForm::Shaped(shaped) => shaped.whitened.width(),
        }
    }

    #[inline]
    fn add(&self, known: &mut Moments, record: &[i64]) {
        match self {
            MeanForm::Narrow(ranges) => {
                for ((sum, range), &value) in known.next_nearby().iter_mut().zip(ranges.iter()).zip(record) {
                    *sum += range.narrow_term(value);
                }
            }
            MeanForm::Clipped(ranges) => {
                for ((sum, range), &value) in known.sums.iter_mut().zip(ranges.iter()).zip(record) {
                    *sum = sum.wrapping_add(range.term(value));
                }
            }
            MeanForm::Shaped(shaped) => {
                let floats: Vec<f64> = record.iter().map(|&value| value as f64).collect();
                let whole = shaped.whitened.record(&floats);
                // None is beyond 2^30, whatever the record was.
                known.next_nearby().iter_mut().zip(whole).for_each(|(sum, entry)| *sum += entry);
            }
        }
    }

    fn canonical(&self, form: Canonical) -> Canonical {
        match self {
            MeanForm::Clipped(ranges) | MeanForm::Narrow(ranges) => ranges
                .iter()
                .fold(form.text("clipped"), |form, range| form.number(range.low()).number(range.high())),
            MeanForm::Shaped(shaped) => shaped.whitened.canonical(form.text("shaped")),
        }
    }
}

impl<K> Sealed for VectorMean<K> {}

impl<K: Key> Statistic for VectorMean<K> {
    type Tally = Cells<K, Moments>;

    /// All sums and the count jointly. Clipped, both are in half units; whitened, a sum is the length of the
    /// vector of its key.
    fn sensitivity(&self) -> Sensitivity {
        self.joint
    }
}

// Where each coordinate of a vector is clipped to.

/// The most coordinates that a vector has.
pub(super) const MOST: usize = 256;

/// A range for each coordinate of a vector: what it is clipped to.
///
/// It is made of a list of whatever makes a [`Range`]: `[(0, 100), (-5, 5)]`, `[0..=100]`, a vector of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// These, one a coordinate.
    ///
    /// # Errors
    /// Names `ranges` unless there are from 1 to 256, and the coordinate (from 0) whose range is none.
    pub fn new<R: TryInto<Range, Error: Into<Invalid>>>(
        ranges: impl IntoIterator<Item = R>,
    ) -> Result<Ranges, Invalid> {
        let read = |(place, range): (usize, R)| {
            range.try_into().map_err(|refused| {
                let refused: Invalid = refused.into();
                Invalid::new(format!("ranges[{place}]"), refused.kind(), refused.remedy().to_owned())
            })
        };
        let ranges = ranges.into_iter().enumerate().map(read).collect::<Result<Vec<Range>, _>>()?;
        let kind = match ranges.len() {
            0 => InvalidKind::Empty,
            1..=MOST => return Ok(Ranges(ranges)),
            _ => InvalidKind::TooLarge,
        };
        Err(Invalid::new("ranges", kind, "a range for each coordinate, from 1 to 256 of them"))
    }

    /// One a coordinate.
    pub fn each(&self) -> &[Range] {
        &self.0
    }
}

impl<R: TryInto<Range, Error: Into<Invalid>>, const N: usize> TryFrom<[R; N]> for Ranges {
    type Error = Invalid;

    fn try_from(ranges: [R; N]) -> Result<Ranges, Invalid> {
        Ranges::new(ranges)
    }
}

impl<R: TryInto<Range, Error: Into<Invalid>>> TryFrom<Vec<R>> for Ranges {
    type Error = Invalid;

    fn try_from(ranges: Vec<R>) -> Result<Ranges, Invalid> {
        Ranges::new(ranges)
    }
}
