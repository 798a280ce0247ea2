//! A bundle of answers, each with noise that never is beyond its bound, paid for as a whole.

use std::fmt;
use std::sync::Arc;

use super::answered::{Answered, BundleNoise};
use super::certain::{Certain, Estimated};
use super::found::MatchedTotals;
use super::question::{Asks, Query};
use super::schema::Schema;
use super::seam::{Answers, ReadyAnswers};
use super::shares::Shares;
use super::steps::Steps;
use super::used::UsedAnswers;
use crate::accounting::bounded::{self, BoundedNoiseGoal, BoundedNoiseRequest, Fineness, NoiseShape};
use crate::accounting::{Adjacency, Interval, PrivacyCost, Relation, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::{ContributionBound, DecimalPoint, Drawn};
use crate::noise::{BoundedDistribution, NoiseDistribution, NoiseSource};

/// The most steps that noise reaches: so many weights are 8 MB.
const REACH: u64 = 1 << 20;

/// Answers to questions that are chosen one after another, each when the answers before it are known, none of which errs
/// by more than a stated bound.
///
/// A count takes one answer, a mean two, its sum and its number of records. All answers together cost (epsilon, delta),
/// once, whatever is asked and however little; what is not asked is not refunded. Each has noise of the same law, which is
/// [calibrated](bounded::CalibratedBoundedNoise::calibrate) so that all of them, chosen by an adversary, keep that promise.
///
/// ```
/// use discreet::mechanisms::answers::{Answers, Field, ReadyAnswers, Schema};
/// use discreet::mechanisms::{Bound, BoundedNoise};
///
/// let schema = Schema::new([Field::number("age")])?;
/// let limits = Bound::keys(1).checked()?;
/// let bundle = BoundedNoise::bundle(100).epsilon(1.0, 1e-6).share("ann", 60).share("bob", 40);
/// let ready = bundle.ready(&limits, &schema)?;
/// println!("{} for all of them, and no answer is off by more than {}", ready.cost(), ready.bound());
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
    /// So many answers.
    pub fn bundle(answers: u64) -> BoundedNoise {
        BoundedNoise { answers, spend: None, goal: BoundedNoiseGoal::Bound, shape: None, shares: Vec::new() }
    }

    /// What all of them cost together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64, delta: f64) -> BoundedNoise {
        BoundedNoise { spend: Some((epsilon, delta)), ..self }
    }

    /// What the noise is to be best at: the bound, unless said.
    #[must_use]
    pub fn goal(self, goal: BoundedNoiseGoal) -> BoundedNoise {
        BoundedNoise { goal, ..self }
    }

    /// The shape of the noise: the best that is known for the goal, unless said.
    #[must_use]
    pub fn shape(self, shape: NoiseShape) -> BoundedNoise {
        BoundedNoise { shape: Some(shape), ..self }
    }

    /// So many of the answers are for this analyst. As soon as one has a share, whoever has none is not answered; while
    /// nobody has, whoever comes first is.
    #[must_use]
    pub fn share(mut self, analyst: impl Into<String>, answers: u64) -> BoundedNoise {
        self.shares.push((analyst.into(), answers));
        self
    }

    /// A format: whatever changes it needs another number, and gives every answer another name.
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

/// The calibration asks for queries, of which each takes one answer.
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
    type Ready = ReadyBundle;

    /// For people of whom so much is kept.
    ///
    /// # Errors
    /// Names `answers`, `epsilon`, `delta`, `share`, or `bound` where a person has more records than the noise can be
    /// calibrated for.
    fn ready(&self, limits: &ContributionBound, schema: &Schema) -> Result<ReadyBundle, Invalid> {
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
        let fine = Fineness::new(records, REACH).map_err(|_| crowded())?;
        // Of what was asked for, only its length is refused.
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
        })
    }
}

/// A bundle that is ready to answer.
///
/// Private for one unit more or less, at [`cost`](ReadyAnswers::cost) for all of its answers together, where each bundle
/// that was paid for has an opening of its own, and questions are drawn one after another, each given the state that the
/// one before it left.
#[derive(Clone)]
pub struct ReadyBundle {
    noise: Arc<BoundedDistribution>,
    law: Arc<BundleNoise>,
    shares: Shares,
    points: Arc<[DecimalPoint]>,
    cost: ReleaseCost,
    parameters: Digest,
}

/// A table of weights is long, and says nothing that its shape and reach do not.
impl fmt::Debug for ReadyBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ReadyBundle");
        shown.field("law", &self.law).field("shares", &self.shares).field("cost", &self.cost);
        shown.finish_non_exhaustive()
    }
}

impl Sealed for ReadyBundle {}

impl ReadyAnswers for ReadyBundle {
    type Answer = Answered;

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    /// How many answers there are and whose, what they cost, the law to its last weight, the bound, the schema.
    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn steps(&self) -> Steps {
        self.law.certain.steps
    }

    /// Whoever has a share, or everybody where nobody needs one.
    fn serves(&self, analyst: &str) -> bool {
        self.shares.of(analyst, Digest::NONE).is_some()
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        UsedAnswers::from_bytes(state).map(|_| ())
    }

    /// Refuses where the share is used up, and where the state cannot be read.
    fn draw(
        &self,
        asked: &Query,
        found: MatchedTotals,
        version: Interval,
        opened: Digest,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answered> {
        let answered = |told, used, left| Answered {
            question: asked.clone(),
            version,
            told,
            point: self.point(asked),
            law: Arc::clone(&self.law),
            used,
            left,
        };
        let share = self.shares.of(asked.analyst(), opened);
        let used = state.map_or(Some(UsedAnswers::none()), |bytes| UsedAnswers::from_bytes(bytes).ok());
        let before = share.as_ref().zip(used.as_ref()).and_then(|(share, used)| used.of(share));
        let (Some(share), Some(used), Some(before)) = (share, used, before) else {
            return Drawn { answer: answered(None, 0, 0), state: state.map(<[u8]>::to_vec) };
        };
        let left = share.answers.saturating_sub(before);
        let Some(after) = used.after(&share, asked.takes()) else {
            return Drawn { answer: answered(None, before, left), state: state.map(<[u8]>::to_vec) };
        };
        let (told, takes) = (self.noised(asked, found, noise), asked.takes());
        let answer = answered(Some(told), before + takes, left.saturating_sub(takes));
        Drawn { answer, state: Some(after.to_bytes()) }
    }
}

impl ReadyBundle {
    /// The most that the value of a count may be off, in records.
    pub fn bound(&self) -> f64 {
        let bound = self.law.certain.bound();
        bound.1.float(bound.0 as f64)
    }

    /// The sum's noise is asked for before the count's.
    fn noised(&self, asked: &Query, found: MatchedTotals, noise: &mut NoiseSource) -> Estimated {
        let certain = &self.law.certain;
        let mut noised = |exact: i128| exact.saturating_add(self.noise.draw(noise).into());
        // At most 2^64 times 2^62.
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

#[cfg(test)]
mod tests;
