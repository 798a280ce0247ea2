//! A number of adaptive queries on one data set for which all answers hold for the population that the data
//! came from.
//!
//! Privacy keeps the answers from fitting the sample. The transfer theorem (Jung, Ligett, Neel, Roth,
//! Sharifi-Malvajerdi and Shenfeld 2020): answers to questions "what share of people ..?" that are together
//! (epsilon, delta)-private for one person replaced, and all within `a` of the *sample* except with
//! probability `b`, are for every `c, d > 0` all within `a + (e^epsilon - 1) + c + 2d` of the *population*
//! except with probability `b / c + delta / d`. (If `b` is 0, so may `c` be.)
//!
//! It is assumed that the people of the sample were drawn independently of each other from that population,
//! and that the analyst knows nothing of the sample but the answers: each question may depend on former
//! answers, and on what has nothing to do with the sample. The theorem is about no other figures of the same
//! sample, and about no other population.
//!
//! Proof. Given all answers, think of the sample as drawn anew from what they leave possible: answers and
//! sample have the same joint law as before. If an answer is more than `a + c` off the mean of its question
//! over those samples, a sample is more than `a` off it with probability `c` at least, since questions lie in
//! 0..1: such answers come with probability at most `b / c`. Let `B` be the event that some question's mean
//! over those samples is above its population value by more than `e^epsilon - 1 + 2d`, and take that question
//! for each sequence of answers in `B`. The mean over the samples is one over the people of the sample, and
//! exchanging one of these for a stranger changes probabilities by the factor `e^epsilon` and by `delta`. So
//! the excess summed over `B` is at most `(e^epsilon - 1) P(B) + delta`, hence `P(B) <= delta / 2d`; as much
//! below, for the question with 1 and 0 exchanged.

use super::bounded::{BoundedNoiseRequest, CalibratedBoundedNoise, GridResolution};
use super::convert;
use super::gaussian::GaussianCost;
use super::number::{self, MARGIN};
use crate::invalid::{Invalid, InvalidKind};

/// The accuracy that all answers together must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    people: f64,
    error: f64,
    failure: f64,
}

/// A number of questions whose answers keep a [`Goal`], and how to answer them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferPlan {
    /// The number of queries.
    pub questions: u64,
    /// The privacy of all answers together, one person replaced.
    pub epsilon: f64,
    /// Its delta.
    pub delta: f64,
    /// The largest distance, in people, of an answer from the sample's true count.
    pub sample_error: f64,
    /// The probability with which any answer may be farther.
    pub sample_failure: f64,
}

/// The transfer theorem: error and failure probability on the population, rounded up. `sample` holds those on
/// the sample, `privacy` is epsilon and delta, and `c, d` are free.
pub fn population(sample: (f64, f64), privacy: (f64, f64), c: f64, d: f64) -> (f64, f64) {
    let error = sample.0 + privacy.0.exp_m1() + c + 2.0 * d;
    // Noise that never fails needs no c.
    let sampled = if sample.1 == 0.0 { 0.0 } else { sample.1 / c };
    (error * (1.0 + MARGIN), ((sampled + privacy.1 / d) * (1.0 + MARGIN)).min(1.0))
}

impl Goal {
    /// Every answer within `error` of the population's share, except with probability `failure`, from the
    /// data of `people` people.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn new(people: u64, error: f64, failure: f64) -> Result<Goal, Invalid> {
        Ok(Goal {
            people: number::shift("people", people)?,
            error: number::between("error", error, 1e-9, 1.0, "a share, such as 0.05")?,
            failure: number::between(
                "failure",
                failure,
                1e-200,
                0.5,
                "a probability up to 0.5, such as 0.05",
            )?,
        })
    }

    /// The largest number of questions that was found for a kind of noise: every plan of the search keeps
    /// the goal, and a larger one may exist. `answers(epsilon, delta, failure, reach)` says how many answers
    /// within `reach` people of the sample's counts, all of them except with probability `failure`, the noise
    /// can give privately (one person replaced, counts of sensitivity 1). `never_fails` where it keeps its
    /// reach for certain.
    ///
    /// # Errors
    /// Names `people` where no plan of even one question was found.
    pub fn plan(
        &self,
        never_fails: bool,
        answers: impl Fn(f64, f64, f64, f64) -> Option<f64>,
    ) -> Result<TransferPlan, Invalid> {
        // Shares of the error that go to e^epsilon - 1, c and 2d, and the share of the failure that goes to
        // delta.
        let plan = |[privacy, c, d, share]: [f64; 4]| {
            let (c, share) = if never_fails { (0.0, 1.0) } else { (c, share) };
            let reach = self.error * (1.0 - privacy - c - d) * self.people * (1.0 - MARGIN);
            if reach <= 0.0 || share > 1.0 {
                return None;
            }
            let (c, d) = (self.error * c, self.error * d / 2.0);
            let epsilon = (self.error * privacy).ln_1p();
            let delta = self.failure * share * d * (1.0 - 4.0 * MARGIN);
            let failure = self.failure * (1.0 - share) * c * (1.0 - 4.0 * MARGIN);
            let most = answers(epsilon, delta, failure, reach)?.floor();
            let plan = TransferPlan {
                questions: most as u64,
                epsilon,
                delta,
                sample_error: reach,
                sample_failure: failure,
            };
            (most >= 1.0).then_some((most, plan))
        };
        // Pattern search: every point it visits is a valid plan, so that it can be late but not wrong.
        let mut place = [0.4, 0.05, 0.05, 0.5];
        let mut best = plan(place);
        let mut factor = 2.0f64;
        while factor > 1.000_1 {
            let mut moved = false;
            for axis in 0..4 {
                for step in [factor, 1.0 / factor] {
                    let mut next = place;
                    next[axis] *= step;
                    let found = plan(next);
                    if found.map_or(0.0, |found| found.0) > best.map_or(0.0, |best| best.0) {
                        (place, best, moved) = (next, found, true);
                    }
                }
            }
            if !moved {
                factor = factor.sqrt();
            }
        }
        best.map(|(_, plan)| plan).ok_or_else(few)
    }

    /// The largest number of questions that was found for discrete Gaussian noise, and its sigma.
    ///
    /// # Errors
    /// Names `people` where no plan of even one question was found.
    pub fn plan_gaussian(&self) -> Result<(TransferPlan, f64), Invalid> {
        let plan = self.plan(false, gaussian_answers)?;
        let rho = convert::rho_within(plan.epsilon, plan.delta, f64::INFINITY)?;
        let sigma = (plan.questions as f64 / (2.0 * rho)).sqrt() * (1.0 + MARGIN);
        Ok((plan, sigma))
    }

    /// The largest number of questions that was found for bounded noise, and the noise, certified for them.
    /// Its answers never err by more than their bound, so the whole failure may go to privacy.
    ///
    /// The plan is made as if the bound were a number of Gaussian deviations, which the certificate states.
    ///
    /// # Errors
    /// Names `people` where no plan of even one question was found.
    pub fn plan_bounded(&self) -> Result<(TransferPlan, CalibratedBoundedNoise), Invalid> {
        let mut deviations = 3.5;
        let mut best: Option<(TransferPlan, CalibratedBoundedNoise)> = None;
        for _ in 0..PLANS {
            let plan = self.plan(true, |epsilon, delta, _, reach| {
                let sigma = GaussianCost::calibrate(epsilon, delta, 1.0).ok()?;
                Some((reach / (deviations * sigma)).powi(2).min(MOST))
            })?;
            let (kept, noise) = certified(plan)?;
            let sigma = GaussianCost::calibrate(kept.epsilon, kept.delta, 1.0)?;
            deviations = noise.bound() / (sigma * (kept.questions as f64).sqrt());
            if best.as_ref().is_none_or(|(best, _)| kept.questions > best.questions) {
                best = Some((kept, noise));
            }
        }
        best.ok_or_else(few)
    }

    /// Returns a number of queries that can be answered without privacy, each on a part of the data that no
    /// other query sees: the figure to compare with. Hoeffding's inequality for each, and a union, prove it;
    /// an exact binomial tail would prove a few more.
    pub fn fresh(&self) -> u64 {
        let answered = |questions: f64| {
            let part = (self.people / questions).floor();
            2.0 * questions * (-2.0 * part * self.error * self.error).exp() <= self.failure
        };
        let (mut low, mut high) = (0.0, self.people);
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if answered(middle) { low = middle } else { high = middle }
        }
        low as u64
    }
}

/// The most questions that are planned with bounded noise, and how often the plan is made anew.
const MOST: f64 = 1e9;
const PLANS: u32 = 3;

fn few() -> Invalid {
    Invalid::new("people", InvalidKind::TooSmall, "more people, or a larger error or failure")
}

/// About the most questions that noise with a bound of the plan's error can answer at its price: the bound
/// grows like the root of them, or faster. What is returned is certified.
fn certified(plan: TransferPlan) -> Result<(TransferPlan, CalibratedBoundedNoise), Invalid> {
    let calibrate = |questions: u64| {
        CalibratedBoundedNoise::calibrate(
            &BoundedNoiseRequest::new(questions, plan.epsilon, plan.delta)?,
            &GridResolution::default(),
        )
    };
    let mut questions = plan.questions.max(1);
    let mut best: Option<(TransferPlan, CalibratedBoundedNoise)> = None;
    for _ in 0..12 {
        let noise = calibrate(questions)?;
        let room = plan.sample_error / noise.bound();
        if room >= 1.0 {
            best = Some((TransferPlan { questions, ..plan }, noise));
            if room < 1.000_5 {
                break;
            }
        } else if best.is_some() || questions == 1 {
            break;
        }
        // A hair less than the square says, so as to end below.
        let next = (questions as f64 * room * room * 0.999_8).floor() as u64;
        let next = if room < 1.0 { next.min(questions - 1).max(1) } else { next };
        if next == questions {
            break;
        }
        questions = next;
    }
    best.ok_or_else(few)
}

/// Returns a number of counts of sensitivity 1 that noise of `sigma = sqrt(questions / 2 rho)` answers within
/// `reach`: as many as keep `2 questions e^(-reach^2 / 2 sigma^2)`, an upper bound for this noise, within
/// `failure`.
fn gaussian_answers(epsilon: f64, delta: f64, failure: f64, reach: f64) -> Option<f64> {
    let rho = convert::rho_within(epsilon, delta, f64::INFINITY).ok()? * (1.0 - 4.0 * MARGIN);
    let failing = |questions: f64| (2.0 * questions).ln() - reach * reach * rho / questions;
    let goal = failure.ln();
    let (mut low, mut high) = (0.0, 1e15);
    while high - low > 0.5 {
        let middle = (low + high) / 2.0;
        if failing(middle) <= goal { low = middle } else { high = middle }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::DiscreteGaussianCost;

    // By hand: .01 + (e^.02 - 1) + .003 + 2 * .004 = .0412013; 1e-5/.003 + 1e-6/.004 = .00358333.
    #[test]
    fn the_theorem_is_its_formula() {
        let (error, failure) = population((0.01, 1e-5), (0.02, 1e-6), 0.003, 0.004);
        assert!((error - 0.041_201_34).abs() < 1e-7 && (failure - 0.003_583_33).abs() < 1e-7);
        // Bounded noise: c may go to zero.
        let (error, failure) = population((0.01, 0.0), (0.02, 1e-6), 0.0, 0.004);
        assert!((error - 0.038_201_34).abs() < 1e-7 && (failure - 0.00025).abs() < 1e-9);
    }

    // A plan keeps its goal when everything is worked out again from its numbers: some c, d satisfy the
    // theorem, the noise is private enough, and its exact tail is small enough.
    #[test]
    fn plans_keep_their_goal() {
        for (people, error, failure) in
            [(100_000, 0.1, 0.05), (1_000_000, 0.05, 0.05), (10_000_000, 0.02, 0.001)]
        {
            let goal = Goal::new(people, error, failure).unwrap();
            let (plan, sigma) = goal.plan_gaussian().unwrap();
            let rho = plan.questions as f64 / (2.0 * sigma * sigma);
            assert!(
                convert::epsilon_of_rho(rho, f64::INFINITY, plan.delta).unwrap()
                    <= plan.epsilon * (1.0 + 1e-9)
            );
            let noise = DiscreteGaussianCost::new(sigma, 1).unwrap();
            let confidence = 1.0 - plan.sample_failure / plan.questions as f64;
            assert!(noise.interval(confidence).unwrap() as f64 <= plan.sample_error);
            let sample = (plan.sample_error / people as f64, plan.sample_failure);
            // With what is left of the error, c against 2d.
            let left = error - sample.0 - plan.epsilon.exp_m1();
            let kept = (1..1000).any(|part| {
                let c = left * f64::from(part) / 1000.0;
                let (found, failing) = population(sample, (plan.epsilon, plan.delta), c, (left - c) / 2.0);
                found <= error * (1.0 + 1e-9) && failing <= failure * 1.001
            });
            assert!(kept, "{plan:?}");
            // With few people fresh data for each question is hard to beat: 219 against 209.
            assert_eq!(
                plan.questions > goal.fresh(),
                people > 100_000,
                "{} {}",
                plan.questions,
                goal.fresh()
            );
        }
    }

    // Refutes a plan that keeps its goal by the Gaussian's numbers, and one with a question too many.
    #[test]
    fn bounded_noise_answers_twice_as_many() {
        let sizes: &[u64] = if crate::noise::goodness::full() {
            &[10_000, 100_000, 1_000_000, 10_000_000]
        } else {
            &[300_000]
        };
        for &people in sizes {
            let goal = Goal::new(people, 0.1, 0.05).unwrap();
            let (plan, noise) = goal.plan_bounded().unwrap();
            let gaussian = goal.plan_gaussian().unwrap().0.questions;
            assert!(plan.questions >= 2 * gaussian, "{people}: {} for {gaussian}", plan.questions);
            assert!(noise.bound() <= plan.sample_error && noise.queries() == plan.questions);
            assert!(noise.epsilon() <= plan.epsilon && noise.delta() <= plan.delta);
            assert_eq!(plan.sample_failure, 0.0);
            let sample = (noise.bound() / people as f64, 0.0);
            let d = (0.1 - sample.0 - plan.epsilon.exp_m1()) / 2.0;
            let (error, failure) = population(sample, (noise.epsilon(), noise.delta()), 0.0, d);
            assert!(error <= 0.1 * (1.0 + 1e-9) && failure <= 0.05 * 1.001, "{people}: {error} {failure}");
        }
        assert_eq!(Goal::new(50, 0.1, 0.05).unwrap().plan_bounded().unwrap_err().field(), "people");
    }

    #[test]
    fn more_people_answer_more_and_too_few_none() {
        let questions =
            |people| Goal::new(people, 0.1, 0.05).unwrap().plan_gaussian().map(|(plan, _)| plan.questions);
        let (one, four) = (questions(200_000).unwrap(), questions(800_000).unwrap());
        // Questions grow as the square of the people, but for a logarithm.
        assert!(four > 12 * one && four <= 16 * one, "{one} {four}");
        assert_eq!(questions(50).unwrap_err().field(), "people");
        assert_eq!(Goal::new(100, 0.0, 0.1).unwrap_err().field(), "error");
        // A noise that never fails spends nothing on failing.
        let goal = Goal::new(200_000, 0.1, 0.05).unwrap();
        let kept = goal.plan(true, |epsilon, delta, failure, reach| {
            assert_eq!(failure, 0.0);
            gaussian_answers(epsilon, delta, 1e-4, reach)
        });
        assert!(kept.unwrap().questions > one);
    }
}
