//! The stable mean of each key: one draw over all records of a window, which releases a mean or nothing.

use std::sync::Arc;

use super::mean::Ranges;
use super::rows::VectorRows;
use crate::accounting::{Adjacency, PrivacyCost, Relation, ReleaseCost};
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

/// The mean of vectors of unknown scale, one of each person, with noise of the shape of the data.
///
/// It needs no units, and no bounds but a box that contains every possible number; its other conditions are
/// in [`stable`](crate::mechanisms::stable). It is released by [`Stable`] alone.
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
    /// Creates the mean over one record of each person, within this box.
    ///
    /// # Errors
    /// Names `keys` unless they are public and a person is in one of them; `per_key` unless it is 1; and
    /// `extent` if a side is farther from zero than 2^46. [`Stable`] refuses a box whose public grid is
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

    /// Sets the names of the coordinates in answers, each with its decimal point.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn with_coordinates(self, coordinates: Vec<Coordinate>) -> Result<StableVectors<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(StableVectors { coordinates, ..self })
    }

    /// Adds the contribution of one person to a key: the first of these records. A person whose first record
    /// has another length does not count.
    #[inline]
    pub fn add<V: AsRef<[i64]>>(&self, known: &mut VectorRows, records: &[V]) {
        let dimension = self.coordinates.len();
        if let Some(record) = records.first().map(AsRef::as_ref).filter(|record| record.len() == dimension) {
            known.fit(dimension);
            known.person();
            known.add(record);
        }
    }

    /// Returns the keys that the statistic is released for.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        Some(Arc::clone(&self.listed))
    }
}

impl<K> Sealed for StableVectors<K> {}

impl<K: Key> Statistic for StableVectors<K> {
    type Tally = Cells<K, VectorRows>;

    /// The sensitivity of the number of people. That of the mean depends on the records of all others.
    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// The mechanism of a stable mean: **floating-point assumed**.
///
/// Each coordinate states its noise, in standard deviations of the records, and the public grid on which it
/// is released, in its own units. If the records do not agree on a covariance, nothing is released: ordinary
/// heavy tails (lognormal, Student's with 5 degrees of freedom, 1% of rare values, a constant axis) fail the
/// test, and are paid for.
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
#[derive(Clone, Debug)]
pub struct Stable {
    price: StablePrice,
    people: Option<u64>,
}

/// The price of a window.
#[derive(Clone, Debug)]
enum StablePrice {
    Approximate { epsilon: f64, delta: f64 },
    Amount(PrivacyCost),
}

impl Stable {
    /// Creates the mechanism, with which one window alone is (epsilon, delta)-private. It is charged as the
    /// truncated zCDP that proves this.
    pub fn epsilon(epsilon: f64, delta: f64) -> Stable {
        Stable { price: StablePrice::Approximate { epsilon, delta }, people: None }
    }

    /// Creates the mechanism at this amount of truncated zCDP with a delta, which is charged for each window.
    pub fn cost(amount: &PrivacyCost) -> Stable {
        Stable { price: StablePrice::Amount(amount.clone()), people: None }
    }

    /// Sets the number of people that a window is expected to have. With fewer people a release is less
    /// likely, the more of them are missing; with more people the error is smaller.
    #[must_use]
    pub fn people(self, people: u64) -> Stable {
        Stable { people: Some(people), ..self }
    }
}

/// Stable means, prepared for draws.
///
/// Keys draw in their order. The duration of a draw depends on the records; the time of the release must not,
/// and the publisher is responsible for that.
#[derive(Clone, Debug)]
pub struct StableMeans<K> {
    mean: StableMean,
    extent: BoundingBox,
    listed: Arc<[K]>,
    format: EstimateFormat,
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
        let relation = Relation::AddRemove;
        let (mean, amount) = match &self.price {
            StablePrice::Approximate { epsilon, delta } => {
                let mean = StableMean::new(people, dimension, *epsilon, *delta, relation)?;
                let amount = mean.cost().amount().clone();
                (mean, amount)
            }
            // No more than the amount is needed, and all of it is charged.
            StablePrice::Amount(amount) => {
                (StableMean::within(people, dimension, amount, relation)?, amount.clone())
            }
        };
        let neighbours = Adjacency { unit: vectors.limits.unit(), relation };
        mean.fits(&vectors.extent)?;
        let kind = "gaussian of the shape of the data";
        let noise = Noised { assumes: Some(ASSUMED), ..Noised::of("mean", kind, mean.scale(mean.fewest())) };
        let grids = mean.grid(&vectors.extent).into_iter().zip(vectors.coordinates.iter());
        let noises = grids.map(|(step, released)| Noised { grid: Some(released.point.float(step)), ..noise });
        Ok(StableMeans {
            cost: ReleaseCost::new(neighbours, amount),
            format: EstimateFormat {
                noise: noises.collect(),
                point: DecimalPoint::WHOLE,
                // No interval is stated: it would depend on the covariance of the records, which is private.
                confidence: 0.0,
                each: EstimatesPerKey::Coordinates(Arc::clone(&vectors.coordinates)),
                of: None,
                bounded: false,
                found: None,
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
        let form = Canonical::new("discreet stable mean 1");
        let form = match &self.price {
            StablePrice::Approximate { epsilon, delta } => {
                form.bytes(&epsilon.to_bits().to_be_bytes()).bytes(&delta.to_bits().to_be_bytes())
            }
            StablePrice::Amount(PrivacyCost::Zcdp { rho, delta, omega }) => {
                let parts = [rho.to_bits(), delta.to_bits(), omega.to_bits()];
                parts.iter().fold(form.text("zcdp"), |form, part| form.bytes(&part.to_be_bytes()))
            }
            // It is refused.
            StablePrice::Amount(_) => form,
        };
        let form = form
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
    /// Returns the noise of each coordinate.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }

    /// Returns the plan, with its price, its parts and its conditions.
    pub fn plan(&self) -> &StableMean {
        &self.mean
    }
}

impl<K> Sealed for StableMeans<K> {}

impl<K: Key> Prepared for StableMeans<K> {
    type Tally = Cells<K, VectorRows>;
    type Answer = Answer<K, f64>;
    type Value = ndarray::Array1<f64>;

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
        let dimension = self.format.each();
        let each = |(key, rows): (K, VectorRows)| {
            // The order of rows is that of their arrival: it is not secret, but the answer must not depend on
            // it.
            let released = self.mean.release(&rows.sorted(), &self.extent, noise);
            let released = match released {
                Ok(Released::Mean(mean)) => mean,
                // The number of people is secret, so nothing may be refused: an error is released as no mean.
                Ok(Released::Failed) | Err(_) => vec![f64::NAN; dimension],
            };
            let estimate = |value| Estimate::between(f64::NAN, value, f64::NAN);
            released.into_iter().map(move |value| (key.clone(), estimate(value))).collect::<Vec<_>>()
        };
        let cells = exact.into_map().into_iter().flat_map(each).collect();
        Drawn { answer: Answer { cells, format: self.format.clone(), room: None }, state: None, step: None }
    }
}

#[cfg(feature = "cli")]
impl<K: Key> StableVectors<K> {
    /// Returns the mean of each coordinate within the box, in steps.
    pub(crate) fn shown_in_a_demo(&self, known: &VectorRows) -> Option<Vec<f64>> {
        known.shown_within(self.sides.each())
    }
}

/// The number of standard deviations within which nine tenths of a normal law are.
#[cfg(feature = "cli")]
const NINE_TENTHS: f64 = 1.644_854;

#[cfg(feature = "cli")]
impl<K> StableMeans<K> {
    /// Returns the half-width that holds nine tenths of the errors of a mean, in standard deviations of the records, with
    /// the fewest people of which one is released, and their number.
    pub(crate) fn in_deviations(&self) -> (f64, u64) {
        let fewest = self.mean.fewest();
        (NINE_TENTHS * self.mean.scale(fewest), fewest)
    }
}

#[cfg(test)]
mod tests;
