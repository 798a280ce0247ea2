//! A strategy, its noise and its charge.

use dashu_int::UBig;

use super::state::{Buffers, History, Nodes, TotalState, Work};
use super::{Untold, state};
use crate::accounting::running::strategies::Coefficients;
use crate::accounting::running::{Growth, REMEMBERED, Strategy, whole};
use crate::accounting::{BudgetUnits, DiscreteGaussianCost, running};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource, Ratio};

/// By how much one protected unit moves the exact numbers, over all ticks together.
///
/// It may come once or a hundred times: what it brings to a key at all ticks adds up, without signs, to at most `each`. That is
/// more than what is bounded a tick, and less noise than a bound for each tick would need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    each: u64,
    keys: u64,
}

impl Reach {
    /// At most `each` in all for a key, and at most so many keys.
    ///
    /// # Errors
    /// Names `each` unless it is from 1 to 2^40, and `keys` unless it is from 1 to 2^31.
    pub fn new(each: u64, keys: u64) -> Result<Reach, Invalid> {
        Ok(Reach {
            each: whole("each", each, 1 << 40, "a whole number from 1 to 2^40")?,
            keys: whole("keys", keys, 1 << 31, "a whole number from 1 to 2^31")?,
        })
    }
}

/// Totals of one key, so far or over the last ticks, ready to be told at every tick. Of many keys each has a [`TotalState`].
#[derive(Clone, Debug)]
pub struct PreparedRunning {
    pub(super) plan: MeasurementPlan,
    strategy: Strategy,
    /// The last tick there is.
    horizon: Option<u64>,
    law: DiscreteGaussian,
    charge: BudgetUnits,
    /// The standard deviation of a draw, in units of a total.
    draw: f64,
    growth: Growth,
    ratio: f64,
    memory: u64,
    parameters: Digest,
}

/// How exact numbers become measurements, and those totals.
#[derive(Clone, Debug)]
pub(super) enum MeasurementPlan {
    History(History),
    Buffers(Buffers),
    Nodes(Nodes),
}

impl MeasurementPlan {
    /// The square of the most that a key's measurements are moved by, in their units.
    pub(super) fn squared(&self, each: u64) -> UBig {
        match self {
            MeasurementPlan::History(history) => history.squared(each),
            MeasurementPlan::Buffers(buffers) => buffers.squared(each),
            MeasurementPlan::Nodes(nodes) => nodes.squared(each),
        }
    }

    /// Bits behind the point of a measurement.
    fn bits(&self) -> u32 {
        match self {
            MeasurementPlan::History(history) => history.bits(),
            MeasurementPlan::Buffers(buffers) => buffers.bits(),
            MeasurementPlan::Nodes(_) => 0,
        }
    }

    fn width(&self) -> u64 {
        match self {
            MeasurementPlan::History(history) => history.width(),
            MeasurementPlan::Buffers(_) | MeasurementPlan::Nodes(_) => 0,
        }
    }
}

impl PreparedRunning {
    /// Totals so far, at each of `horizon` ticks and not after.
    ///
    /// # Errors
    /// Names `horizon` unless it is from 1 to 2^32, and at most 4,096 for the square root; and `rho` where it is nothing, or so
    /// little that there is no such noise.
    pub fn so_far(
        strategy: Strategy,
        horizon: u64,
        reach: Reach,
        rho: BudgetUnits,
    ) -> Result<PreparedRunning, Invalid> {
        let ticks = running::horizon(horizon)?;
        let plan = match strategy {
            Strategy::SquareRoot => {
                let remedy = "at most 4,096 ticks, all of which it remembers, or the buffered strategy";
                let ticks = whole("horizon", ticks, REMEMBERED, remedy)?;
                MeasurementPlan::History(History::new(Coefficients::root(ticks), Work::SoFar))
            }
            Strategy::Buffered => MeasurementPlan::Buffers(Buffers::new(ticks, reach.each)),
            Strategy::Tree => MeasurementPlan::Nodes(Nodes::new(ticks)),
            Strategy::Fresh => MeasurementPlan::History(History::new(Coefficients::single(), Work::SoFar)),
        };
        let figures = running::so_far(ticks, 0.5)?;
        let growth = Growth::so_far(strategy, ticks);
        PreparedRunning::ready(plan, strategy, Some(ticks), (&figures, growth), reach, rho)
    }

    /// Totals over the last `width` ticks, at every tick without end; at first there are fewer ticks to add up.
    ///
    /// # Errors
    /// Names `width` unless it is from 1 to 16,384, `strategy` where it is for totals so far only, and `rho` where it is
    /// nothing, or so little that there is no such noise.
    pub fn over_last(
        strategy: Strategy,
        width: u64,
        reach: Reach,
        rho: BudgetUnits,
    ) -> Result<PreparedRunning, Invalid> {
        let width = running::width(width)?;
        let coefficients = match strategy {
            Strategy::SquareRoot => Coefficients::window(width),
            Strategy::Fresh => Coefficients::single(),
            Strategy::Buffered | Strategy::Tree => {
                let remedy = "square-root or fresh: the others are for totals so far";
                return Err(Invalid::new("strategy", InvalidKind::Mixed, remedy));
            }
        };
        let figures = running::over_last(width, 0.5)?;
        let plan = MeasurementPlan::History(History::new(coefficients, Work::Last(width)));
        let growth = Growth::over_last(strategy, width);
        PreparedRunning::ready(plan, strategy, None, (&figures, growth), reach, rho)
    }

    fn ready(
        plan: MeasurementPlan,
        strategy: Strategy,
        horizon: Option<u64>,
        (figures, growth): (&running::StrategyChoice, Option<Growth>),
        reach: Reach,
        rho: BudgetUnits,
    ) -> Result<PreparedRunning, Invalid> {
        let squared = plan.squared(reach.each) * UBig::from(reach.keys);
        let (variance, charge) = priced(&squared, rho)?;
        let law = DiscreteGaussian::new(Ratio::new(variance, 1 << PART)?).map_err(|_| too_little())?;
        let figures = figures.strategies().iter().find(|figures| figures.strategy() == strategy);
        let (Some(figures), Some(growth)) = (figures, growth) else {
            let remedy = "another: the noise of this one would not fade";
            return Err(Invalid::new("strategy", InvalidKind::Missing, remedy));
        };
        let draw = law.variance().to_f64().sqrt() / libm::exp2(f64::from(plan.bits()));
        let parameters = Canonical::new("discreet running 1")
            .text(strategy.name())
            .text(if horizon.is_some() { "so far" } else { "last" })
            .bytes(&horizon.unwrap_or_else(|| plan.width()).to_be_bytes())
            .bytes(&reach.each.to_be_bytes())
            .bytes(&reach.keys.to_be_bytes())
            .bytes(&variance.to_be_bytes())
            .finish();
        let (ratio, memory) = (figures.ratio(), figures.memory());
        Ok(PreparedRunning { plan, strategy, horizon, law, charge, draw, growth, ratio, memory, parameters })
    }

    /// What all totals of all keys cost together, for one unit more or less: of the integers in use, rounded up.
    pub fn charge(&self) -> BudgetUnits {
        self.charge
    }

    /// The largest standard deviation that a total has.
    pub fn deviation(&self) -> f64 {
        self.deviation_until(u64::MAX)
    }

    /// The largest that those up to this tick have: the first totals err by less than the last.
    pub fn deviation_until(&self, tick: u64) -> f64 {
        self.draw * self.growth.until(tick.min(self.horizon.unwrap_or(u64::MAX)))
    }

    /// [`deviation`](PreparedRunning::deviation) over the least that any linear strategy has.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// How many numbers a key keeps.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// By which strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The last tick that is told, where there is one.
    pub fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// A hash of all that totals depend on beside the data: other parameters, another release.
    pub fn parameters(&self) -> Digest {
        self.parameters
    }

    /// Before the first tick.
    pub fn begin(&self) -> TotalState {
        TotalState::new(&self.plan, self.parameters)
    }

    /// Where a key would be that had been there from the first tick on, with these exact numbers: one that is found late has noise
    /// of the same law as the others, drawn now.
    ///
    /// # Errors
    /// [`Untold::Ended`] for more ticks than the horizon has.
    pub fn caught_up(
        &self,
        exact: impl IntoIterator<Item = i64>,
        noise: &mut NoiseSource,
    ) -> Result<TotalState, Untold> {
        let mut state = self.begin();
        for exact in exact {
            self.tick(&mut state, exact, noise)?;
        }
        Ok(state)
    }

    /// A state that was [written](TotalState::to_bytes).
    ///
    /// # Errors
    /// Names `state` where it is that of other parameters, or is no state.
    pub fn resumed(&self, written: &[u8]) -> Result<TotalState, Invalid> {
        state::read(self, written)
    }

    /// The next total, of the ticks so far and this one: its noise is drawn here and never again.
    ///
    /// # Errors
    /// [`Untold::Ended`] after the last tick of the horizon, [`Untold::Foreign`] with another's state, which is then as it was.
    pub fn tick(&self, state: &mut TotalState, exact: i64, noise: &mut NoiseSource) -> Result<f64, Untold> {
        self.told(state, exact, |measured| {
            measured.iter_mut().for_each(|value| *value = value.saturating_add(self.law.draw(noise).into()));
        })
    }

    #[cfg(test)]
    pub(super) fn law(&self) -> &DiscreteGaussian {
        &self.law
    }

    /// A tick whose measurements are noised by `noised`: all that is told depends on the data through it alone.
    pub(super) fn told(
        &self,
        state: &mut TotalState,
        exact: i64,
        noised: impl FnOnce(&mut [i128]),
    ) -> Result<f64, Untold> {
        if state.parameters != self.parameters {
            return Err(Untold::Foreign);
        }
        if self.horizon.is_some_and(|horizon| state.ticks() >= horizon) {
            return Err(Untold::Ended);
        }
        let mut measured = state.measure(&self.plan, exact);
        noised(&mut measured);
        Ok(state.tell(&self.plan, &measured))
    }
}

/// Variances are multiples of 2^-16.
const PART: usize = 16;

/// The least variance at which measurements that are moved by this length cost no more, in units of 2^-16, and what they cost
/// then.
fn priced(squared: &UBig, rho: BudgetUnits) -> Result<(u128, BudgetUnits), Invalid> {
    running::price(rho)?;
    // rho = squared / (2 variance), in units of 2^-64.
    let scaled = squared << (63 + PART);
    let over = |part: &UBig, of: &UBig| (part + of - UBig::ONE) / of;
    // No less than the least that is drawn.
    let variance = over(&scaled, &UBig::from(rho.to_bits())).max(UBig::ONE << (PART - 10));
    let charge = over(&scaled, &variance);
    let variance = u128::try_from(variance).map_err(|_| too_little())?;
    let charge = u128::try_from(charge).map_err(|_| too_little())?;
    Ok((variance, BudgetUnits::from_bits(charge)))
}

fn too_little() -> Invalid {
    Invalid::new(
        "rho",
        InvalidKind::TooSmall,
        "more, or a smaller reach: noise is drawn up to a deviation of 2^52",
    )
}

// How far to either side of a total its interval reaches, tick by tick.

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
