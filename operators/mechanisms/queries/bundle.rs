//! A bundle of answers with bounded noise, paid for as a whole.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::answers::{BundleShare, UsedAnswers};
use super::certain::{Certain, Estimated};
use super::line::{Answered, BundleNoise};
use super::query::MatchedTotals;
use super::query::{Answers, ReadyAnswers};
use super::query::{Asks, Query};
use super::schema::Schema;
use crate::accounting::bounded::{BoundedNoiseGoal, BoundedNoiseRequest, GridResolution, NoiseShape};
use crate::accounting::{Adjacency, Interval, PrivacyCost, Relation, ReleaseCost, bounded};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{ContributionBound, DecimalPoint, Drawn, Range};
use crate::noise::{BoundedDistribution, NoiseDistribution, NoiseSource};

/// The largest noise in steps: this number of weights takes 8 MB.
const REACH: u64 = 1 << 20;

/// A bundle of answers to adaptive queries: each query may be chosen after the answers before it are known,
/// and no answer errs by more than a stated bound.
///
/// A count takes one answer; a mean takes two, its sum and its number of records. All answers together cost
/// (epsilon, delta), once, however many are used; unused answers are not refunded. Each has noise of the same
/// distribution, which is [calibrated](bounded::CalibratedBoundedNoise::calibrate) so that all of them
/// together stay within (epsilon, delta) when an adversary chooses the queries.
///
/// ```
/// use discreet::mechanisms::queries::{Answers, Field, ReadyAnswers, Schema};
/// use discreet::mechanisms::{Bound, BoundedNoise};
///
/// let schema = Schema::new([Field::number("age")])?;
/// let limits = Bound::keys(1).checked()?;
/// let bundle = BoundedNoise::bundle(100).epsilon(1.0, 1e-6).share("ann", 60).share("bob", 40);
/// let prepared = bundle.prepare(&limits, &schema)?;
/// println!("{} for all of them, and no answer is off by more than {}", prepared.cost(), prepared.bound());
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct BoundedNoise {
    answers: u64,
    spend: Option<(f64, f64)>,
    goal: BoundedNoiseGoal,
    shape: Option<NoiseShape>,
    shares: Vec<(String, u64)>,
}

impl BoundedNoise {
    /// Creates a bundle of this number of answers.
    pub fn bundle(answers: u64) -> BoundedNoise {
        BoundedNoise { answers, spend: None, goal: BoundedNoiseGoal::Bound, shape: None, shares: Vec::new() }
    }

    /// Sets the cost of all answers together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64, delta: f64) -> BoundedNoise {
        BoundedNoise { spend: Some((epsilon, delta)), ..self }
    }

    /// Sets the goal of the noise: the bound, by default.
    #[must_use]
    pub fn goal(self, goal: BoundedNoiseGoal) -> BoundedNoise {
        BoundedNoise { goal, ..self }
    }

    /// Sets the shape of the noise: by default, the best known one for the goal.
    #[must_use]
    pub fn shape(self, shape: NoiseShape) -> BoundedNoise {
        BoundedNoise { shape: Some(shape), ..self }
    }

    /// Reserves a number of the answers for this analyst. Once one analyst has a share, an analyst without
    /// one gets no answers; without any shares, the answers go to the analysts who ask first.
    #[must_use]
    pub fn share(mut self, analyst: impl Into<String>, answers: u64) -> BoundedNoise {
        self.shares.push((analyst.into(), answers));
        self
    }

    /// Returns the hash of the parameters. Its form is a format: a change to it needs another number, and
    /// renames every answer.
    fn parameters(
        &self,
        amount: &PrivacyCost,
        limits: &ContributionBound,
        schema: &Schema,
        shares: &Shares,
        (law, steps): (&bounded::CalibratedBoundedNoise, Steps),
    ) -> Digest {
        let weights: Vec<u8> = law.weights().iter().flat_map(|weight| weight.to_be_bytes()).collect();
        let form = Canonical::new("discreet bundle 1").bytes(&self.answers.to_be_bytes());
        let form = match amount {
            PrivacyCost::Approximate { epsilon, delta } => {
                form.bytes(&epsilon.to_bits().to_be_bytes()).bytes(&delta.to_bits().to_be_bytes())
            }
            other => form.text(&other.to_string()),
        };
        let form = form
            .text(&law.shape().to_string())
            .digest(&Digest::of(&weights))
            .bytes(&steps.count().to_be_bytes())
            .text(&limits.unit().to_string())
            .bytes(&limits.keys().to_be_bytes())
            .bytes(&limits.per_key().to_be_bytes())
            .bytes(&limits.windows().unwrap_or_default().to_be_bytes())
            .digest(&schema.digest());
        match shares {
            Shares::Anybody(_) => form.text("anybody").finish(),
            Shares::Named(named) => {
                let form = form.text("named").bytes(&(named.len() as u64).to_be_bytes());
                let each = |form: Canonical, (analyst, answers): (&String, &u64)| {
                    form.text(analyst).bytes(&answers.to_be_bytes())
                };
                named.iter().fold(form, each).finish()
            }
        }
    }
}

/// Names `answers` in an error of the calibration that names `queries`, each of which takes one answer.
fn answers(refused: Invalid) -> Invalid {
    match refused.field() {
        "queries" => Invalid::new("answers", refused.kind(), refused.remedy().to_owned()),
        _ => refused,
    }
}

fn crowded() -> Invalid {
    let remedy = "fewer records a person, fewer answers, or more epsilon: the noise would reach too far";
    Invalid::new("bound", InvalidKind::TooLarge, remedy)
}

impl Sealed for BoundedNoise {}

impl Answers for BoundedNoise {
    type Prepared = ReadyBundle;

    /// Prepares the bundle for people within this contribution bound.
    ///
    /// # Errors
    /// Names `answers`, `epsilon`, `delta` or `share`; or `bound` if a person has more records than the noise
    /// can be calibrated for.
    fn prepare(&self, limits: &ContributionBound, schema: &Schema) -> Result<ReadyBundle, Invalid> {
        let Some((epsilon, delta)) = self.spend else {
            return Err(Invalid::new(
                "epsilon",
                InvalidKind::Missing,
                "epsilon and delta of all answers together",
            ));
        };
        let shares = Shares::new(self.answers, &self.shares)?;
        let asked =
            BoundedNoiseRequest::new(self.answers, epsilon, delta).map_err(answers)?.goal(self.goal)?;
        let asked = self.shape.map_or(asked, |shape| asked.shape(shape));
        let records = limits.keys().saturating_mul(limits.per_key());
        let fine = GridResolution::new(records, REACH).map_err(|_| crowded())?;
        // The only part of the request that can be refused here is the number of answers.
        let law =
            bounded::CalibratedBoundedNoise::calibrate(&asked, &fine).map_err(|refused| {
                match refused.field() {
                    "queries" => crowded(),
                    _ => refused,
                }
            })?;
        let noise = Arc::new(BoundedDistribution::new(law.weights().to_vec()).map_err(|_| crowded())?);
        let amount = PrivacyCost::approximate(epsilon, delta)?;
        let certain = Certain {
            steps: Steps::new(law.shift() / records),
            reach: noise.bound(),
            deviation: law.deviation(),
        };
        let shape = law.shape().to_string();
        let neighbours = Adjacency { unit: limits.unit(), relation: Relation::AddRemove };
        Ok(ReadyBundle {
            parameters: self.parameters(&amount, limits, schema, &shares, (&law, certain.steps)),
            cost: ReleaseCost::new(neighbours, amount),
            points: schema.fields().iter().map(|field| field.point()).collect(),
            law: Arc::new(BundleNoise { shape, certain }),
            noise,
            shares,
            prepared_for: (*limits, schema.digest()),
        })
    }
}

/// A prepared bundle of answers.
///
/// It is private under the addition or removal of one unit, at [`cost`](ReadyAnswers::cost) for all of its
/// answers together, provided that each paid bundle has an opening of its own, and that queries are drawn one
/// after another, each with the state that the one before it returned.
#[derive(Clone)]
pub struct ReadyBundle {
    noise: Arc<BoundedDistribution>,
    law: Arc<BundleNoise>,
    shares: Shares,
    points: Arc<[DecimalPoint]>,
    cost: ReleaseCost,
    parameters: Digest,
    /// The bound and the schema that it was prepared for.
    prepared_for: (ContributionBound, Digest),
}

/// Omits the table of weights, which is long and is determined by the shape and the reach.
impl fmt::Debug for ReadyBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ReadyBundle");
        shown.field("law", &self.law).field("shares", &self.shares).field("cost", &self.cost);
        shown.finish_non_exhaustive()
    }
}

impl Sealed for ReadyBundle {}

/// A bundle that was prepared before: its noise is not calibrated again.
impl Answers for ReadyBundle {
    type Prepared = ReadyBundle;

    /// Returns the bundle.
    ///
    /// # Errors
    /// Names `bound` or `fields` if it was prepared for another contribution bound or schema.
    fn prepare(&self, limits: &ContributionBound, schema: &Schema) -> Result<ReadyBundle, Invalid> {
        let refuse = |field| Err(Invalid::new(field, InvalidKind::Mixed, "those that it was prepared for"));
        match &self.prepared_for {
            (own, _) if own != limits => refuse("bound"),
            (_, own) if *own != schema.digest() => refuse("fields"),
            _ => Ok(self.clone()),
        }
    }
}

impl ReadyAnswers for ReadyBundle {
    type Answer = Answered;

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    /// Returns a hash of the number of answers and their shares, the cost, the contribution bound, the
    /// schema, and the noise distribution to its last weight.
    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn steps(&self) -> Steps {
        self.law.certain.steps
    }

    /// Returns true if the analyst has a share, or if the bundle has no shares.
    fn serves(&self, analyst: &str) -> bool {
        self.shares.of(analyst, Digest::NONE).is_some()
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        UsedAnswers::from_bytes(state).map(|_| ())
    }

    /// Refuses if the analyst has no share or too few answers left, if the state cannot be read, or if it has
    /// no room for another opening.
    fn draw(
        &self,
        asked: &Query,
        found: MatchedTotals,
        version: Interval,
        opened: Digest,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answered> {
        let answered = |estimate, used, left| Answered {
            question: asked.clone(),
            version,
            estimate,
            point: self.point(asked),
            law: Arc::clone(&self.law),
            used,
            left,
        };
        let share = self.shares.of(asked.analyst(), opened);
        let used = state.map_or(Some(UsedAnswers::none()), |bytes| UsedAnswers::from_bytes(bytes).ok());
        let before = share.as_ref().zip(used.as_ref()).and_then(|(share, used)| used.of(share));
        let (Some(share), Some(used), Some(before)) = (share, used, before) else {
            return Drawn { answer: answered(None, 0, 0), state: state.map(<[u8]>::to_vec), step: None };
        };
        let left = share.answers.saturating_sub(before);
        let Some(after) = used.after(&share, asked.takes()) else {
            return Drawn {
                answer: answered(None, before, left),
                state: state.map(<[u8]>::to_vec),
                step: None,
            };
        };
        let (estimate, takes) = (self.noised(asked, found, noise), asked.takes());
        let answer = answered(Some(estimate), before + takes, left.saturating_sub(takes));
        Drawn { answer, state: Some(after.to_bytes()), step: None }
    }
}

impl ReadyBundle {
    /// Returns the largest error of the value of a count, in records.
    pub fn bound(&self) -> f64 {
        let bound = self.law.certain.bound();
        bound.1.float(bound.0 as f64)
    }

    /// Returns the standard deviation of the noise of a count, in records.
    pub fn deviation(&self) -> f64 {
        self.law.certain.deviation / self.law.certain.steps.count() as f64
    }

    /// Adds the noise. That of the sum is drawn before that of the count.
    fn noised(&self, asked: &Query, found: MatchedTotals, noise: &mut NoiseSource) -> Estimated {
        let certain = &self.law.certain;
        let mut noised = |exact: i128| exact.saturating_add(self.noise.draw(noise).into());
        // The product is at most 2^64 times 2^62.
        let records = i128::from(found.matched) * i128::from(certain.steps.count());
        match asked.asks() {
            Asks::Count => certain.count(noised(records)),
            Asks::Mean { range, .. } => {
                let sum = noised(found.terms);
                certain.mean(sum, noised(records), range, self.point(asked))
            }
        }
    }

    fn point(&self, asked: &Query) -> DecimalPoint {
        match asked.asks() {
            Asks::Count => DecimalPoint::WHOLE,
            Asks::Mean { field, .. } => self.points.get(*field).copied().unwrap_or(DecimalPoint::WHOLE),
        }
    }
}

// The shares of analysts in a bundle.

/// The largest number of analysts with a share.
const ANALYSTS: usize = 4_096;

/// The division of the answers among analysts.
#[derive(Clone, Debug)]
pub(super) enum Shares {
    /// This number of answers, for the analysts who ask first.
    Anybody(u64),
    Named(BTreeMap<String, u64>),
}

impl Shares {
    pub(super) fn new(answers: u64, stated: &[(String, u64)]) -> Result<Shares, Invalid> {
        let refuse = |kind, remedy| Err(Invalid::new("share", kind, remedy));
        if stated.len() > ANALYSTS {
            return refuse(InvalidKind::TooLarge, "at most 4,096 analysts");
        }
        let (mut named, mut all) = (BTreeMap::new(), 0u64);
        for (analyst, share) in stated {
            if *share == 0 {
                return refuse(InvalidKind::Zero, "at least one answer to each analyst");
            }
            if named.insert(analyst.clone(), *share).is_some() {
                return refuse(InvalidKind::Mixed, "one share to each analyst");
            }
            all = all.saturating_add(*share);
        }
        if all > answers {
            return refuse(InvalidKind::TooLarge, "shares that together are no more than the answers");
        }
        Ok(if named.is_empty() { Shares::Anybody(answers) } else { Shares::Named(named) })
    }

    pub(super) fn of(&self, analyst: &str, opened: Digest) -> Option<BundleShare> {
        match self {
            Shares::Anybody(answers) => Some(BundleShare { opened, place: 0, shares: 1, answers: *answers }),
            Shares::Named(named) => {
                let answers = *named.get(analyst)?;
                let place = named.keys().position(|name| name == analyst)?;
                Some(BundleShare { opened, place, shares: named.len(), answers })
            }
        }
    }
}

// The resolution of answers: the number of steps in one unit.

/// The number of steps in one unit. A record that a count includes contributes one unit; to the sum of a mean
/// it contributes between -1 and 1 units.
///
/// ```
/// use discreet::mechanisms::{Range, queries::Steps};
///
/// let (steps, range) = (Steps::new(1000), Range::new(0, 100)?);
/// assert_eq!([0, 25, 50, 75, 100].map(|value| steps.term(&range, value)), [-1000, -500, 0, 500, 1000]);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Steps(u64);

impl Steps {
    /// Creates a resolution of this number of steps, clamped to the range from 1 to 2^62.
    pub const fn new(steps: u64) -> Steps {
        Steps(match steps {
            0 => 1,
            1..=Self::MOST => steps,
            _ => Self::MOST,
        })
    }

    /// The largest number of steps: terms fit in 64 bits, and 2^64 of them add up in 128.
    const MOST: u64 = 1 << 62;

    /// Returns the number of steps.
    pub fn count(&self) -> u64 {
        self.0
    }

    /// Returns the contribution of a value to the sum of a mean: its distance from the middle of the range,
    /// after clipping, where half the width is one unit. Values at the same distance on either side
    /// contribute opposite terms.
    ///
    /// If the width of the range is at most the number of steps, the term is exact, and the unit is the
    /// largest multiple of the width that fits: see [`Steps::unit`]. Otherwise the term is rounded to the
    /// nearest step, halves away from zero.
    pub fn term(&self, range: &Range, value: i64) -> i64 {
        let (twice, width) = (range.term(value), range.width());
        if !self.rounds(range) {
            return within(twice * i128::from(self.0 / width));
        }
        let size = twice.unsigned_abs();
        // Division of 64-bit numbers is several times faster.
        let short = || {
            (u64::try_from(size).ok()?.checked_mul(2 * self.0)?.checked_add(width)).zip(width.checked_mul(2))
        };
        let size = match short() {
            Some((product, divisor)) => (product / divisor).into(),
            // The product is at most 2^64 times 2^62, and twice that.
            None => (2 * size * u128::from(self.0) + u128::from(width)) / (2 * u128::from(width)),
        };
        let size = within(size.cast_signed());
        if twice < 0 { -size } else { size }
    }

    /// Returns the number of steps of a value at the end of the range: all of them, or, where terms are
    /// exact, the largest multiple of the width that is not above them.
    pub fn unit(&self, range: &Range) -> u64 {
        if self.rounds(range) { self.0 } else { self.0 - self.0 % range.width() }
    }

    /// Returns the mean of values from the totals of their terms, in steps of the field; `None` of no value. It is for
    /// demonstrations: where terms are rounded, so is the mean.
    #[cfg(feature = "cli")]
    pub(crate) fn mean(&self, range: &Range, found: MatchedTotals) -> Option<f64> {
        let middle = (range.low() as f64 + range.high() as f64) / 2.0;
        let each = range.width() as f64 / 2.0 / self.unit(range) as f64;
        (found.matched > 0).then(|| middle + found.terms as f64 * each / found.matched as f64)
    }

    /// Returns true if terms are rounded, each by at most half a step.
    pub fn rounds(&self, range: &Range) -> bool {
        range.width() > self.0
    }
}

/// Narrows a term, which is within the number of steps and so fits.
fn within(term: i128) -> i64 {
    i64::try_from(term).unwrap_or(if term < 0 { i64::MIN } else { i64::MAX })
}

impl From<u64> for Steps {
    fn from(steps: u64) -> Steps {
        Steps::new(steps)
    }
}

impl From<Steps> for u64 {
    fn from(steps: Steps) -> u64 {
        steps.0
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod steps_tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges() -> impl Strategy<Value = Range> {
        let end = || prop_oneof![-200..200_i64, any::<i64>(), -(1_i64 << 40)..1 << 40];
        (end(), end()).prop_map(|(one, other)| {
            Range::new(one.min(other), one.max(other).max(one.min(other) + 1)).unwrap()
        })
    }

    proptest! {
        // Refutes a term beyond its bound, one that is not odd in the distance from the middle, and a
        // rounding by more than half a step: against the definition, in big integers.
        #[test]
        fn terms_are_odd_bounded_and_off_by_half_a_step_at_most(
            steps in prop_oneof![1..300_u64, 1..=1_u64 << 20, 1..=1_u64 << 62],
            range in ranges(),
            values in prop::collection::vec(prop_oneof![any::<i64>(), -300..300_i64], 1..20),
        ) {
            use dashu_int::IBig;
            let (count, steps, width) = (IBig::from(steps), Steps::new(steps), IBig::from(range.width()));
            for value in values.into_iter().chain([range.low(), range.high(), i64::MIN, i64::MAX]) {
                let term = steps.term(&range, value);
                let twice = IBig::from(range.term(value));
                prop_assert!(term.unsigned_abs() <= steps.unit(&range) && steps.unit(&range) <= steps.count());
                if steps.rounds(&range) {
                    let off: IBig = (IBig::from(term) * &width - &twice * &count) * 2;
                    prop_assert!(off <= width && -off.clone() <= width);
                    // Halves are rounded away from zero.
                    prop_assert!(off != width || twice > IBig::from(0));
                    prop_assert!(-&off != width || twice < IBig::from(0));
                } else {
                    prop_assert_eq!(IBig::from(term) * &width, twice * IBig::from(steps.unit(&range)));
                }
                let mirrored = i128::from(range.low()) + i128::from(range.high()) - i128::from(value);
                if let Ok(mirrored) = i64::try_from(mirrored) {
                    prop_assert_eq!(steps.term(&range, mirrored), -term);
                }
            }
            prop_assert_eq!(steps.term(&range, range.high()).unsigned_abs(), steps.unit(&range));
        }
    }

    #[test]
    fn a_number_of_steps_is_one_that_can_be_added_up() {
        assert_eq!(
            [0, 1, 1 << 62, u64::MAX].map(|steps| Steps::new(steps).count()),
            [1, 1, 1 << 62, 1 << 62]
        );
    }
}
