//! How what totals err by grows from tick to tick: one of few ticks has the noise of few.

use super::buffered::BufferedStrategy;
use super::toeplitz::{self, Coefficients};
use super::{Strategy, buffers, tree};

/// The variances of totals, tick by tick, for draws of variance 1.
#[derive(Clone, Debug)]
pub(crate) struct Growth(Variances);

#[derive(Clone, Debug)]
enum Variances {
    /// Of the first ticks; all later ones have that of the last.
    Listed(Vec<f64>),
    Buffered(BufferedStrategy),
    Tree,
    /// One draw for each tick, of at most so many.
    Ticks(u64),
}

impl Growth {
    /// Of totals so far. `None` where noise would not fade.
    pub(crate) fn so_far(strategy: Strategy, horizon: u64) -> Option<Growth> {
        let variances = match strategy {
            Strategy::SquareRoot => {
                let work = vec![1.0; horizon as usize];
                Variances::summed(&toeplitz::quotient(&work, &Coefficients::root(horizon).floats()))
            }
            Strategy::Buffered => Variances::Buffered(BufferedStrategy::of(buffers(horizon))?),
            Strategy::Tree => Variances::Tree,
            Strategy::Fresh => Variances::Ticks(horizon),
        };
        Some(Growth(variances))
    }

    /// Of totals over the last ticks. `None` where there is no such strategy, or noise would not fade.
    pub(crate) fn over_last(strategy: Strategy, width: u64) -> Option<Growth> {
        let variances = match strategy {
            Strategy::SquareRoot => Variances::summed(&Coefficients::window(width).noise_over(width)?),
            Strategy::Fresh => Variances::Ticks(width),
            Strategy::Buffered | Strategy::Tree => return None,
        };
        Some(Growth(variances))
    }

    /// The largest standard deviation of the totals up to this tick.
    pub(crate) fn until(&self, tick: u64) -> f64 {
        let variance = match &self.0 {
            Variances::Listed(variances) => {
                let at = usize::try_from(tick.saturating_sub(1)).unwrap_or(usize::MAX);
                variances.get(at).or(variances.last()).copied().unwrap_or(0.0)
            }
            Variances::Buffered(series) => series.variance(tick as f64),
            Variances::Tree => tree::variances(tick).0,
            Variances::Ticks(most) => tick.min(*most) as f64,
        };
        variance.sqrt()
    }
}

impl Variances {
    /// For as many ticks as add anything to speak of.
    fn summed(noise: &[f64]) -> Variances {
        let all: f64 = noise.iter().rev().map(|value| value * value).sum();
        let mut variances = Vec::new();
        let mut sum = 0.0;
        for value in noise {
            sum += value * value;
            if sum > all * (1.0 - 1e-12) {
                break;
            }
            variances.push(sum);
        }
        variances.push(all);
        Variances::Listed(variances)
    }
}
