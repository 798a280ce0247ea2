//! The stable mean of each key: all records of a window at once, and an answer or none.

use std::sync::Arc;

use super::mean::Ranges;
use super::rows::VectorRows;
use crate::accounting::{Adjacency, Relation, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answer::DecimalPoint;
use crate::mechanisms::answer::{Answer, Coordinate, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use crate::mechanisms::bound::ContributionBound;
use crate::mechanisms::bound::Sensitivity;
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Prepared};
use crate::mechanisms::stable::{ASSUMED, BoundingBox, Released, StableMean};
use crate::mechanisms::statistic::Cells;
use crate::mechanisms::statistic::Statistic;
use crate::noise::NoiseSource;

/// The mean of vectors whose scale nobody knows, one of each person, with noise of the shape of the data.
///
/// It needs no bounds but a box that holds every number that can come, and no units: see
/// [`stable`](crate::mechanisms::stable) for what it needs instead. It is released by [`Stable`], and by
/// nothing else.
#[derive(Clone, Debug)]
pub struct StableVectors<K> {
    sides: Ranges,
    extent: BoundingBox,
    limits: ContributionBound,
    listed: Arc<[K]>,
    coordinates: Arc<[Coordinate]>,
    sensitivity: Sensitivity,
}

impl<K: Key> StableVectors<K> {
    /// The mean over one record of each person, within this box.
    ///
    /// # Errors
    /// Names `keys` unless they are public, and a person is in one of them; `per_key` unless it is 1;
    /// `extent` where a side is farther from zero than 2^46. [`Stable`] refuses a box whose public grid is
    /// coarser than its noise.
    pub fn new(sides: Ranges, limits: ContributionBound, keys: Keys<K>) -> Result<StableVectors<K>, Invalid> {
        let Some(listed) = keys.listed() else {
            let remedy =
                "public keys: a stable mean is tested as a whole, and a key that must be found is not";
            return Err(Invalid::new("keys", InvalidKind::Mixed, remedy));
        };
        for (field, bound) in [("keys", limits.keys()), ("per_key", limits.per_key())] {
            if bound != 1 {
                return Err(Invalid::new(
                    field,
                    InvalidKind::TooLarge,
                    "1 to a stable mean: a person is one record",
                ));
            }
        }
        let extent =
            BoundingBox::new(sides.each().iter().map(|range| (range.low(), range.high())).collect())?;
        let coordinates = sides.each().iter().map(|_| Coordinate::unnamed()).collect();
        let sensitivity = Sensitivity::each(&limits, 1)?;
        Ok(StableVectors { sides, extent, limits, listed, coordinates, sensitivity })
    }

    /// Tells the coordinates by these names, each with its decimal point there.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn told_as(self, coordinates: Vec<Coordinate>) -> Result<StableVectors<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(StableVectors { coordinates, ..self })
    }

    /// Adds what one person left in a key: the first of these records. Who has none of this length does not
    /// count.
    #[inline]
    pub fn add<V: AsRef<[i64]>>(&self, known: &mut VectorRows, records: &[V]) {
        let dimension = self.coordinates.len();
        if let Some(record) = records.first().map(AsRef::as_ref).filter(|record| record.len() == dimension) {
            known.fit(dimension);
            known.person();
            known.add(record);
        }
    }

    /// The only keys that it is released for.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        Some(Arc::clone(&self.listed))
    }
}

impl<K> Sealed for StableVectors<K> {}

impl<K: Key> Statistic for StableVectors<K> {
    type Tally = Cells<K, VectorRows>;

    /// Of the number of people. What one of them moves a mean by is a matter of all others.
    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// The stable mean at a price: **floating-point assumed**.
///
/// Each coordinate says its noise, in standard deviations of the records, and the public grid on which it is
/// told, in its own units. Where the records have no covariance that all agree on, it tells nothing: ordinary
/// heavy tails (lognormal, Student's with 5 degrees of freedom, 1% of rare values, an axis that is constant)
/// fail the test, and are paid for.
///
/// ```
/// use discreet::mechanisms::{Bound, Keys, Mechanism, Ranges, Prepared, Stable, StableVectors};
///
/// let limits = Bound::keys(1).checked()?;
/// let sides = Ranges::new([(-1_000_000, 1_000_000), (0, 86_400)])?;
/// let vectors = StableVectors::new(sides, limits, Keys::whole())?;
/// let stable = Stable::epsilon(2.0, 1e-6).people(1_000_000).prepare(&vectors)?;
/// println!("{} a window", stable.cost());
/// // With too few, it is refused by public numbers.
/// let refused = Stable::epsilon(2.0, 1e-6).people(1_000).prepare(&vectors).unwrap_err();
/// assert_eq!(refused.field(), "people");
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stable {
    epsilon: f64,
    delta: f64,
    people: Option<u64>,
}

impl Stable {
    /// One window, alone, is (epsilon, delta)-private. It is charged as the truncated zCDP that proves it.
    pub fn epsilon(epsilon: f64, delta: f64) -> Stable {
        Stable { epsilon, delta, people: None }
    }

    /// Sets the number of people that a window is expected to have. Where there are fewer, the more of them
    /// are missing, the less likely it is to tell anything; where there are more, it errs by less.
    #[must_use]
    pub fn people(self, people: u64) -> Stable {
        Stable { people: Some(people), ..self }
    }
}

/// Stable means, ready to be drawn.
///
/// Every key asks for its draws in their order. How long a draw takes depends on the records; when it is
/// released must not, which is the affair of whoever publishes.
#[derive(Clone, Debug)]
pub struct StableMeans<K> {
    mean: StableMean,
    extent: BoundingBox,
    listed: Arc<[K]>,
    told: EstimateFormat,
    cost: ReleaseCost,
    parameters: Digest,
}

impl Sealed for Stable {}

impl<K: Key> Mechanism<StableVectors<K>> for Stable {
    type Prepared = StableMeans<K>;

    fn prepare(&self, vectors: &StableVectors<K>) -> Result<StableMeans<K>, Invalid> {
        let remedy = "how many people a window is expected to have";
        let people = self.people.ok_or_else(|| Invalid::new("people", InvalidKind::Missing, remedy))?;
        let dimension = vectors.coordinates.len() as u64;
        let mean = StableMean::new(people, dimension, self.epsilon, self.delta, Relation::AddRemove)?;
        let neighbours = Adjacency { unit: vectors.limits.unit(), relation: Relation::AddRemove };
        mean.fits(&vectors.extent)?;
        let kind = "gaussian of the shape of the data";
        let noise = Noised { assumes: Some(ASSUMED), ..Noised::of("mean", kind, mean.scale(mean.fewest())) };
        let grids = mean.grid(&vectors.extent).into_iter().zip(vectors.coordinates.iter());
        let noises = grids.map(|(step, told)| Noised { grid: Some(told.point.float(step)), ..noise });
        Ok(StableMeans {
            cost: ReleaseCost::new(neighbours, mean.cost().amount().clone()),
            told: EstimateFormat {
                noise: noises.collect(),
                point: DecimalPoint::WHOLE,
                // Where it lies is known to somebody who knows the covariance, and nobody does.
                confidence: 0.0,
                each: EstimatesPerKey::Coordinates(Arc::clone(&vectors.coordinates)),
                of: None,
            },
            parameters: self.parameters(people, vectors),
            extent: vectors.extent.clone(),
            listed: Arc::clone(&vectors.listed),
            mean,
        })
    }
}

impl Stable {
    fn parameters<K: Key>(&self, people: u64, vectors: &StableVectors<K>) -> Digest {
        let form = Canonical::new("discreet stable mean 1")
            .bytes(&self.epsilon.to_bits().to_be_bytes())
            .bytes(&self.delta.to_bits().to_be_bytes())
            .bytes(&people.to_be_bytes())
            .text(&vectors.limits.unit().to_string())
            .bytes(&vectors.limits.windows().unwrap_or(0).to_be_bytes())
            .number(vectors.coordinates.len() as i64);
        let sides = vectors.sides.each().iter();
        let form = sides.fold(form, |form, side| form.number(side.low()).number(side.high()));
        let form = vectors.coordinates.iter().fold(form, |form, coordinate| coordinate.canonical(form));
        vectors.listed.iter().fold(form, |form, key| form.bytes(&key.to_bytes())).finish()
    }
}

impl<K: Key> StableMeans<K> {
    /// Returns the plan: its price, its parts, and its needs.
    pub fn plan(&self) -> &StableMean {
        &self.mean
    }
}

impl<K> Sealed for StableMeans<K> {}

impl<K: Key> Prepared for StableMeans<K> {
    type Tally = Cells<K, VectorRows>;
    type Answer = Answer<K, f64>;

    fn tally(&self) -> Cells<K, VectorRows> {
        Cells::of(&self.listed)
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        false
    }

    fn accepts(&self, _: &[u8]) -> Result<(), Invalid> {
        Err(Invalid::new(
            "state",
            InvalidKind::Mixed,
            "none: a stable mean leaves nothing to the next window",
        ))
    }

    fn draw(
        &self,
        exact: Cells<K, VectorRows>,
        _: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<K, f64>> {
        let dimension = self.told.each();
        let each = |(key, rows): (K, VectorRows)| {
            // The order of rows is that of their coming, which is nobody's secret but no part of the answer
            // either.
            let released = self.mean.release(&rows.sorted(), &self.extent, noise);
            let told = match released {
                Ok(Released::Mean(mean)) => mean,
                // Where the number of people is secret nothing is refused: what is released of that is
                // nothing.
                Ok(Released::Failed) | Err(_) => vec![f64::NAN; dimension],
            };
            let estimate = |value| Estimate::between(f64::NAN, value, f64::NAN);
            told.into_iter().map(move |value| (key.clone(), estimate(value))).collect::<Vec<_>>()
        };
        let cells = exact.into_map().into_iter().flat_map(each).collect();
        Drawn { answer: Answer { cells, told: self.told.clone(), room: None }, state: None }
    }
}

#[cfg(test)]
mod tests;
