//! The mean of vectors with public bounds: the statistic, and the contribution of one person.

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

/// The mean of the vectors of each key, with each vector clipped to a public bound first.
///
/// [`clipped`](VectorMean::clipped): each coordinate is clipped on its own and measured from the middle of
/// its range, as in a [`Mean`](crate::mechanisms::Mean). The noise of a coordinate is proportional to its
/// range, so no unit is weighed against another.
///
/// [`over`](VectorMean::over): the noise has the shape of a domain that contains all vectors, and has the
/// least error in a norm.
///
/// All coordinates share one count.
#[derive(Clone, Debug)]
pub struct VectorMean<K> {
    form: MeanForm,
    limits: ContributionBound,
    keys: Keys<K>,
    coordinates: Arc<[Coordinate]>,
    joint: Sensitivity,
}

/// The conversion of a record to integers.
#[derive(Clone, Debug)]
pub(super) enum MeanForm {
    Clipped(Arc<[Range]>),
    /// The same as `Clipped`, with ranges so narrow that a sum of many terms fits in 64 bits.
    Narrow(Arc<[Range]>),
    Shaped(Arc<Shaped>),
}

/// The whitening of records by the shape of their domain.
#[derive(Clone, Debug)]
pub(super) struct Shaped {
    pub(super) whitened: Whitened,
    pub(super) shape: Shape,
}

/// The resolution of whitened records: steps of `2^-30`.
pub(super) const BITS: u32 = 30;

impl<K: Key> VectorMean<K> {
    /// Creates the mean over at most `per_key` records of each person in each key, with each coordinate
    /// clipped to its range.
    ///
    /// # Errors
    /// Names `bound` if the sensitivity exceeds 128 bits.
    pub fn clipped(
        ranges: &Ranges,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<VectorMean<K>, Invalid> {
        let records = u128::from(limits.per_key());
        let sum = |range: &Range| Sensitivity::each(&limits, records * u128::from(range.width()));
        // Sums are in half units, so counts are in half units too.
        let counts = Sensitivity::each(&limits, 2 * records)?;
        let joint = ranges.each().iter().try_fold(counts, |joint, range| joint.beside(sum(range)?))?;
        let coordinates = ranges.each().iter().map(|_| Coordinate::unnamed()).collect();
        let narrow = ranges.each().iter().all(|range| range.is_within(NARROW));
        let form = if narrow { MeanForm::Narrow } else { MeanForm::Clipped }(ranges.each().into());
        Ok(VectorMean { form, limits, keys, coordinates, joint })
    }

    /// Creates the mean over vectors of this domain, with noise of the shape that has the least error in this
    /// norm. The domain is in the steps of the values. A vector outside of it is moved to its border, along
    /// the line to zero.
    ///
    /// # Errors
    /// Names `domain` if no shape is found for it, and `bound` if the sensitivity exceeds 128 bits.
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

    /// Sets the names of the coordinates in answers, each with its decimal point. Values and bounds are in
    /// the steps of that decimal point.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn with_coordinates(self, coordinates: Vec<Coordinate>) -> Result<VectorMean<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(VectorMean { coordinates, ..self })
    }

    /// Adds the contribution of one person to a key: the first `per_key` of these records, each clipped to
    /// its bound, so that the sensitivity holds for any input. A record of another length counts as the
    /// middle of all ranges, or as zero in a domain. A person without a record adds nothing.
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

    /// Returns the tally of a key with one person, who has these records.
    pub fn of_one<V: AsRef<[i64]>>(&self, records: &[V]) -> Moments {
        let mut known = Moments::default();
        self.add(&mut known, records);
        known
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.coordinates.len()
    }

    /// Returns the keys that the statistic is released for, if they are public.
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
            families: None,
            also: Some(form.finish()),
        }
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl<K> VectorMean<K> {
    /// Returns the mean of each coordinate, as far as the bound of the values lets it be, in steps.
    pub(crate) fn shown_in_a_demo(&self, known: &Moments) -> Option<Vec<f64>> {
        let records = (known.records > 0).then_some(known.records as f64)?;
        Some(match &self.form {
            MeanForm::Clipped(ranges) | MeanForm::Narrow(ranges) => {
                let mean = |(at, range): (usize, &Range)| {
                    (range.low() as f64 + range.high() as f64 + known.sum(at) as f64 / records) / 2.0
                };
                ranges.iter().enumerate().map(mean).collect()
            }
            MeanForm::Shaped(shaped) => {
                let sums: Vec<i128> = (0..shaped.whitened.width()).map(|at| known.sum(at)).collect();
                let sums = shaped.whitened.unwhitened(&sums, 0);
                sums.into_iter().map(|sum| sum / records).collect()
            }
        })
    }
}

impl MeanForm {
    /// Returns the number of integers that a record becomes.
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
                // No entry is beyond 2^30, for any record.
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

    /// The joint sensitivity of all sums and the count. Clipped, all are in half units; whitened, the sums of
    /// a key count as the length of one vector.
    fn sensitivity(&self) -> Sensitivity {
        self.joint
    }
}

// The clipping ranges of the coordinates.

/// The largest number of coordinates.
pub(super) const MOST: usize = 256;

/// The range that each coordinate of a vector is clipped to.
///
/// It is made from a list of anything that converts to a [`Range`]: `[(0, 100), (-5, 5)]`, `[0..=100]`, or a
/// vector of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// Creates the list, with one range for each coordinate.
    ///
    /// # Errors
    /// Names `ranges` unless there are from 1 to 256, or the coordinate (from 0) whose range is not valid.
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

    /// Returns the ranges, one for each coordinate.
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
