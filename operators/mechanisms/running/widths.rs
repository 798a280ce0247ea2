//! How far to either side of a total its interval reaches, tick by tick.

use super::ready::PreparedRunning;
use crate::accounting::DiscreteGaussianCost;
use crate::invalid::Invalid;

/// The widths of spans of ticks, each that of its last tick. A span is a tick up to the 31st, and then a sixteenth of what it begins
/// with or less: what a total errs by grows by 3% there at most, and under a tree by what one node adds.
#[derive(Clone, Debug)]
pub(super) struct Widths(Vec<f64>);

const BITS: u32 = 4;

/// Up to the longest horizon, of 2^32 ticks; no total errs by more after that.
const SPANS: usize = ((33 - BITS as usize) << BITS) + 1;

impl Widths {
    /// At this confidence.
    pub(super) fn new(running: &PreparedRunning, confidence: f64) -> Result<Widths, Invalid> {
        // Of noise that is as good as continuous: a total has many draws.
        let large = (1u64 << 30) as f64;
        let deviations = DiscreteGaussianCost::new(large, 1)?.interval(confidence)? as f64 / large;
        // As whole numbers have it, which draws are; and one more, for what is told is rounded to one.
        let width = |span| (deviations * running.deviation_until(last(span)) - 0.5).ceil() + 1.0;
        Ok(Widths((0..SPANS).map(width).collect()))
    }

    pub(super) fn at(&self, tick: u64) -> f64 {
        self.0.get(span(tick)).copied().unwrap_or(self.largest())
    }

    pub(super) fn largest(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::INFINITY)
    }
}

/// The span of a tick: its leading digits, as floats have them.
fn span(tick: u64) -> usize {
    let lower = tick.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    ((lower as usize) << BITS) + (tick >> lower) as usize
}

/// The last tick of a span.
fn last(span: usize) -> u64 {
    let lower = (span >> BITS).saturating_sub(1);
    (((span - (lower << BITS)) as u64 + 1) << lower) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a tick between two spans, or in two of them.
    #[test]
    fn every_tick_is_in_the_span_that_ends_at_it_or_after() {
        let first = |at: usize| if at == 0 { 0 } else { last(at - 1) + 1 };
        for at in 0..SPANS {
            assert!((first(at)..=last(at)).contains(&last(at)) && span(last(at)) == at, "{at}");
            assert_eq!(span(first(at)), at);
            assert!(16 * (last(at) - first(at)) < first(at).max(1), "{at}");
        }
        assert_eq!(span(1 << 32), SPANS - 1);
    }
}
