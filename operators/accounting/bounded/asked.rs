//! What is asked of bounded noise, and how fine it is to be.

use super::shape::NoiseShape;
use crate::accounting::number;
use crate::invalid::{Invalid, InvalidKind};

/// So many answers, adaptive and together (epsilon, delta)-private.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct BoundedNoiseRequest {
    pub(super) queries: u64,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) goal: BoundedNoiseGoal,
    pub(super) shape: Option<NoiseShape>,
}

/// What is to be as small as it can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoundedNoiseGoal {
    /// The bound, which no error exceeds.
    Bound,
    /// The root of the mean square of the error.
    Rms,
    /// Both: the bound to the power of this weight, times the root mean square to that of what is left to 1.
    Mixed(f64),
}

/// The most answers.
const MOST: u64 = 1 << 32;

impl BoundedNoiseRequest {
    /// Noise with the least bound, of whatever shape, for so many answers.
    ///
    /// # Errors
    /// Names `queries` unless it is from 1 to 2^32; `epsilon` unless above 0 and at most 500; `delta` unless from 1e-15
    /// to below 1.
    pub fn new(queries: u64, epsilon: f64, delta: f64) -> Result<BoundedNoiseRequest, Invalid> {
        let kind = match queries {
            0 => Some(InvalidKind::Zero),
            _ if queries > MOST => Some(InvalidKind::TooLarge),
            _ => None,
        };
        if let Some(kind) = kind {
            return Err(Invalid::new("queries", kind, "a whole number from 1 to 2^32"));
        }
        let remedy = "a number from 1e-15 to below 1, such as 1e-6";
        Ok(BoundedNoiseRequest {
            queries,
            epsilon: number::epsilon("epsilon", epsilon)?,
            delta: number::between("delta", delta, 1e-15, 1.0f64.next_down(), remedy)?,
            goal: BoundedNoiseGoal::Bound,
            shape: None,
        })
    }

    /// The same, for another goal.
    ///
    /// # Errors
    /// Names `goal` if a weight is not from 0 to 1.
    pub fn goal(mut self, goal: BoundedNoiseGoal) -> Result<BoundedNoiseRequest, Invalid> {
        if let BoundedNoiseGoal::Mixed(weight) = goal {
            let kind = match weight {
                _ if weight.is_nan() => Some(InvalidKind::Nan),
                _ if weight < 0.0 => Some(InvalidKind::Negative),
                _ if weight > 1.0 => Some(InvalidKind::TooLarge),
                _ => None,
            };
            if let Some(kind) = kind {
                return Err(Invalid::new("goal", kind, "bound, rms, or the weight of the bound from 0 to 1"));
            }
        }
        self.goal = goal;
        Ok(self)
    }

    /// The same, of this shape whatever the goal.
    pub fn shape(mut self, shape: NoiseShape) -> BoundedNoiseRequest {
        self.shape = Some(shape);
        self
    }
}

/// How fine the noise is: by how many steps an answer of one unit is moved.
///
/// The more steps, the nearer a bound is to what the shape's density could do: with one step a unit, one answer's bound is
/// 2% larger, with a reach of a thousand steps less than 0.1%.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fineness {
    pub(super) multiple: u64,
    pub(super) reach: u64,
}

impl Fineness {
    /// The shift is the largest multiple of `multiple` with which the noise reaches at most `reach` steps; where that is
    /// none, `multiple` itself. Where so fine a grid would make the bound larger, a coarser one is taken.
    ///
    /// # Errors
    /// Names `multiple` or `reach` when it is 0 or above 2^20.
    pub fn new(multiple: u64, reach: u64) -> Result<Fineness, Invalid> {
        for (field, value) in [("multiple", multiple), ("reach", reach)] {
            let kind = match value {
                0 => InvalidKind::Zero,
                _ if value > 1 << 20 => InvalidKind::TooLarge,
                _ => continue,
            };
            return Err(Invalid::new(field, kind, "a whole number from 1 to 2^20"));
        }
        Ok(Fineness { multiple, reach })
    }
}

/// Up to 16,384 steps: within 0.1% of the density.
impl Default for Fineness {
    fn default() -> Fineness {
        Fineness { multiple: 1, reach: 1 << 14 }
    }
}
