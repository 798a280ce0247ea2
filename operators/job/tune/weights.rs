//! Advice on the weight of a contribution bound: whether people with more than it should count in part.

use serde::Serialize;

use super::sweep::ReleaseSweep;
use super::{ChosenBound, SMALLER};
use crate::job::config::BoundSpec;
use crate::job::plan::percent;

/// Advice to count people with more than a bound in part, which leaves less out at the noise of fewer keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WeightAdvice {
    /// The keys in which a person counts, wholly or in part.
    pub keys: u32,
    /// The weight with the least error.
    pub weight: u32,
    /// The error with both.
    pub error: f64,
    /// The part of the error that is there without noise.
    pub left_out: f64,
}

impl WeightAdvice {
    /// Returns the advice on a release with these numbers; `None` where no weight is better by a twentieth.
    pub(super) fn of(sweep: &ReleaseSweep<'_>, chosen: &ChosenBound) -> Option<WeightAdvice> {
        let best = sweep.best_weight(chosen.bound, chosen.share)?;
        let BoundSpec { keys, weight, .. } = best.bound;
        let advice = WeightAdvice {
            keys: keys?,
            weight: weight?,
            error: best.found.error,
            left_out: best.found.left_out,
        };
        (advice.error <= SMALLER * chosen.error.error).then_some(advice)
    }

    pub(super) fn sentence(&self) -> String {
        let WeightAdvice { keys, weight, error, left_out } = self;
        format!(
            "keys = {keys}, weight = {weight} errs by {}, {} of it without noise: people with more count in part",
            percent(*error),
            percent(*left_out)
        )
    }
}
