//! The two noised numbers that are compared before anything is told: the score of the records, and how many people there are.

use crate::accounting::DiscreteGaussianCost;
use crate::invalid::Invalid;

/// How likely data without any outlier may fail the test, and a count to come out too low.
const FALSE_ALARM: f64 = 1e-3;

/// The noised threshold of the scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThresholdTest {
    pub(super) law: DiscreteGaussianCost,
    /// A half score passes where it is no more than this with its noise.
    pub(super) tau: i64,
    pub(super) k: u64,
    pub(super) delta: f64,
}

/// The noised number of people.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoisedCount {
    pub(super) law: DiscreteGaussianCost,
    /// What is taken off, so that there are fewer than it says with probability `delta` at most.
    pub(super) shift: i64,
    pub(super) delta: f64,
}

impl ThresholdTest {
    /// `delta` is `P[noise <= tau - (k/2 - 1)]`, which is the tail at `k/2 - 1 - tau`.
    pub(super) fn new(rho: f64, delta: f64) -> Result<ThresholdTest, Invalid> {
        let law = DiscreteGaussianCost::for_rho(rho, 1)?;
        // It fails without need where the noise alone is above tau.
        let tau = reach(&law, FALSE_ALARM) - 1;
        let slack = reach(&law, delta);
        let k = 2 * (slack + tau + 1);
        Ok(ThresholdTest { law, tau, k: k.unsigned_abs(), delta: law.tail(slack) })
    }

    /// Whether a score passes with this noise. Scores move by 2 at most, and their halves, rounded up, by 1.
    pub(super) fn lets(&self, score: u32, noise: i64) -> bool {
        let half = u64::from(score).div_ceil(2);
        2 * half < self.k && i64::try_from(half).is_ok_and(|half| half.saturating_add(noise) <= self.tau)
    }
}

impl NoisedCount {
    /// Fewer people than there are, but for a chance of `chance`, and how many fewer is told by noise of this price.
    pub(super) fn new(rho: f64, chance: f64) -> Result<NoisedCount, Invalid> {
        let law = DiscreteGaussianCost::for_rho(rho, 1)?;
        let shift = reach(&law, chance);
        Ok(NoisedCount { law, shift, delta: law.tail(shift) })
    }

    /// How many are kept of so many; none where that is more than there are.
    ///
    /// With one person more, the same count comes of noise that is 1 less. Both keep as many then, unless the count is the
    /// larger number itself: one has as many and the other has not. That is noise at the shift, or above: `delta` is `P[noise >= shift]`.
    pub(super) fn keeps(&self, people: u64, noise: i64) -> Option<u64> {
        let kept = i64::try_from(people).ok()?.saturating_add(noise).saturating_sub(self.shift);
        u64::try_from(kept).ok().filter(|kept| *kept <= people)
    }

    /// How many may be missing: by its noise, and by what is taken off.
    pub(super) fn missing(&self) -> u64 {
        (self.shift + reach(&self.law, FALSE_ALARM) - 1).unsigned_abs()
    }
}

/// The least whole number whose tail is no more than this.
fn reach(law: &DiscreteGaussianCost, chance: f64) -> i64 {
    let (mut low, mut high) = (0, 1);
    while law.tail(high) > chance {
        (low, high) = (high, high.saturating_mul(2));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if law.tail(middle) > chance { low = middle } else { high = middle }
    }
    high
}
