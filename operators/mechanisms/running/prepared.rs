//! A strategy with its noise and its charge.

use dashu_int::UBig;

use super::state::{Buffers, History, Nodes, TotalState, Workload};
use super::step::StateStep;
use super::{TickError, state};
use crate::accounting::running::strategies::Coefficients;
use crate::accounting::running::{REMEMBERED, Strategy, VarianceByTick, whole};
use crate::accounting::{BudgetUnits, DiscreteGaussianCost, running};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource, Ratio, RoundedGaussian};

/// The contribution bound of one privacy unit on the exact numbers, over all ticks together.
///
/// A person may come once or a hundred times: the contributions to a key at all ticks, without signs, add up
/// to at most `each`. This is stricter than a bound for each tick, and needs less noise than one.
///
/// A person who [enters and leaves](StreamContribution::entries) a number of people moves its changes by 1 and -1 in
/// turn. Of such contributions the charge is less than that of their sum without signs: `2 entries` times that of one
/// contribution, and not its square. For with measurements `C x`, where `C` has the columns `c_i`, the squared length
/// of the sum of `s_i c_i` is that of `<c_i, c_i>` and, for each `i`, twice `s_i` times the sum of `s_j <c_i, c_j>`
/// over `j > i`. Signs alternate, the products are not below zero, and they do not rise with `j`: so the second part
/// is not above zero. It is so for coefficients that never rise and are never below zero; and for a tree, each of whose
/// measurements is of consecutive ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamContribution {
    to_key: KeyContribution,
    keys: u64,
}

/// The contribution to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KeyContribution {
    /// This much in all, without signs.
    Total(u64),
    /// 1 and -1 in turn, each at most this number of times.
    Entries(u64),
}

impl StreamContribution {
    /// Creates a reach of at most `each` in all for a key, and at most this number of keys.
    ///
    /// # Errors
    /// Names `each` unless it is from 1 to 2^40, and `keys` unless it is from 1 to 2^31.
    pub fn new(each: u64, keys: u64) -> Result<StreamContribution, Invalid> {
        let each = whole("each", each, 1 << 40, "a whole number from 1 to 2^40")?;
        StreamContribution::of(KeyContribution::Total(each), keys)
    }

    /// Creates the reach of a person who enters at most this number of keys, each at most `entries` times, and leaves a
    /// key before entering it again: a tick is the change of the number of people.
    ///
    /// # Errors
    /// Names `entries` and `keys` unless each is from 1 to 2^31.
    pub fn entries(entries: u64, keys: u64) -> Result<StreamContribution, Invalid> {
        let entries = whole("entries", entries, 1 << 31, "a whole number from 1 to 2^31")?;
        StreamContribution::of(KeyContribution::Entries(entries), keys)
    }

    fn of(to_key: KeyContribution, keys: u64) -> Result<StreamContribution, Invalid> {
        let keys = whole("keys", keys, 1 << 31, "a whole number from 1 to 2^31")?;
        Ok(StreamContribution { to_key, keys })
    }

    /// The size of the largest contribution at a tick.
    fn each(self) -> u64 {
        match self.to_key {
            KeyContribution::Total(each) => each,
            KeyContribution::Entries(_) => 1,
        }
    }

    /// Returns the squared length of the contributions to a key, in those of one contribution of size 1.
    fn times(self) -> u128 {
        match self.to_key {
            KeyContribution::Total(each) => u128::from(each) * u128::from(each),
            KeyContribution::Entries(entries) => 2 * u128::from(entries),
        }
    }

    fn is_of_entries(self) -> bool {
        matches!(self.to_key, KeyContribution::Entries(_))
    }
}

/// Totals of one key, so far or over the last ticks, prepared for release at every tick. With many keys, each
/// key has a [`TotalState`].
#[derive(Clone, Debug)]
pub struct PreparedRunning {
    pub(super) plan: MeasurementPlan,
    strategy: Strategy,
    /// The last tick, for totals that end.
    horizon: Option<u64>,
    law: LatticeLaw,
    charge: BudgetUnits,
    /// The standard deviation of a draw, in units of a total.
    draw: f64,
    growth: VarianceByTick,
    ratio: f64,
    memory: u64,
    parameters: Digest,
    /// True if a tick is the change of a number that people enter and leave.
    is_of_entries: bool,
}

/// The computation of measurements from exact numbers, and of totals from measurements.
#[derive(Clone, Debug)]
pub(super) enum MeasurementPlan {
    History(History),
    Buffers(Buffers),
    Nodes(Nodes),
}

impl MeasurementPlan {
    /// Returns the square of the largest length by which one key's measurements move, in their units, for contributions
    /// of this squared length.
    pub(super) fn squared(&self, times: u128) -> UBig {
        match self {
            MeasurementPlan::History(history) => history.squared(times),
            MeasurementPlan::Buffers(buffers) => buffers.squared(times),
            MeasurementPlan::Nodes(nodes) => nodes.squared(times),
        }
    }

    /// Returns true if the product of two ticks' columns is never below zero, and does not rise with the distance of
    /// the ticks.
    pub(super) fn falls(&self) -> bool {
        match self {
            MeasurementPlan::History(history) => history.falls(),
            MeasurementPlan::Buffers(buffers) => buffers.falls(),
            // The product is the number of nodes that hold both.
            MeasurementPlan::Nodes(_) => true,
        }
    }

    /// The number of bits behind the point of a measurement.
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

/// The law of the noise on measurements.
#[derive(Clone, Debug)]
pub(super) enum LatticeLaw {
    Discrete(DiscreteGaussian),
    Rounded(RoundedGaussian),
}

impl LatticeLaw {
    pub(super) fn draw(&self, noise: &mut NoiseSource) -> i64 {
        match self {
            LatticeLaw::Discrete(law) => law.draw(noise),
            LatticeLaw::Rounded(law) => law.draw(noise),
        }
    }

    #[cfg(test)]
    pub(super) fn variance(&self) -> Ratio {
        match self {
            LatticeLaw::Discrete(law) => law.variance(),
            LatticeLaw::Rounded(law) => law.variance(),
        }
    }
}

impl PreparedRunning {
    /// Prepares totals so far, at each of `horizon` ticks and not after.
    ///
    /// # Errors
    /// Names `horizon` unless it is from 1 to 2^32, and at most 4,096 for the square root; `rho` unless it is
    /// above 0 and at most 500, or if no noise that can be drawn is that cheap; and `strategy` if its noise
    /// would not fade.
    pub fn so_far(
        strategy: Strategy,
        horizon: u64,
        reach: StreamContribution,
        rho: BudgetUnits,
    ) -> Result<PreparedRunning, Invalid> {
        let ticks = running::horizon(horizon)?;
        let plan = match strategy {
            Strategy::SquareRoot => {
                let remedy = "at most 4,096 ticks, all of which it remembers, or the buffered strategy";
                let ticks = whole("horizon", ticks, REMEMBERED, remedy)?;
                MeasurementPlan::History(History::new(Coefficients::root(ticks), Workload::SoFar))
            }
            Strategy::Buffered => MeasurementPlan::Buffers(Buffers::new(ticks, reach.each())),
            Strategy::Tree => MeasurementPlan::Nodes(Nodes::new(ticks)),
            Strategy::Fresh => {
                MeasurementPlan::History(History::new(Coefficients::single(), Workload::SoFar))
            }
        };
        let figures = running::so_far(ticks, 0.5)?;
        let growth = VarianceByTick::so_far(strategy, ticks);
        PreparedRunning::prepare(plan, strategy, Some(ticks), (&figures, growth), reach, rho)
    }

    /// Prepares totals over the last `width` ticks, at every tick without end. The first totals add up fewer
    /// ticks.
    ///
    /// # Errors
    /// Names `width` unless it is from 1 to 16,384; `strategy` if it is for totals so far only, or its noise
    /// would not fade; and `rho` unless it is above 0 and at most 500, or if no noise that can be drawn is
    /// that cheap.
    pub fn over_last(
        strategy: Strategy,
        width: u64,
        reach: StreamContribution,
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
        let plan = MeasurementPlan::History(History::new(coefficients, Workload::Last(width)));
        let growth = VarianceByTick::over_last(strategy, width);
        PreparedRunning::prepare(plan, strategy, None, (&figures, growth), reach, rho)
    }

    fn prepare(
        plan: MeasurementPlan,
        strategy: Strategy,
        horizon: Option<u64>,
        (figures, growth): (&running::StrategyChoice, Option<VarianceByTick>),
        reach: StreamContribution,
        rho: BudgetUnits,
    ) -> Result<PreparedRunning, Invalid> {
        if reach.is_of_entries() && !plan.falls() {
            let remedy =
                "another: its coefficients rise, and people who leave would move it farther than is charged";
            return Err(Invalid::new("strategy", InvalidKind::Mixed, remedy));
        }
        let squared = plan.squared(reach.times()) * UBig::from(reach.keys);
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
            .bytes(&reach.each().to_be_bytes())
            .bytes(&reach.keys.to_be_bytes())
            .bytes(&variance.to_be_bytes());
        let parameters = match reach.to_key {
            KeyContribution::Total(_) => parameters,
            KeyContribution::Entries(entries) => parameters.text("entries").bytes(&entries.to_be_bytes()),
        };
        let (ratio, memory, parameters) = (figures.ratio(), figures.memory(), parameters.finish());
        let is_of_entries = reach.is_of_entries();
        Ok(PreparedRunning {
            plan,
            strategy,
            horizon,
            law: LatticeLaw::Discrete(law),
            charge,
            draw,
            growth,
            ratio,
            memory,
            parameters,
            is_of_entries,
        })
    }

    /// The same with rounded noise in place of the discrete one, at the same rho, which is then half the square of
    /// mu: measurements are whole numbers, and each is noised once.
    ///
    /// # Errors
    /// Never, for the discrete law of this variance is a law.
    pub fn rounded(self) -> Result<PreparedRunning, Invalid> {
        let LatticeLaw::Discrete(law) = &self.law else { return Ok(self) };
        let law = RoundedGaussian::new(law.variance())?;
        let step = libm::exp2(f64::from(self.plan.bits()));
        let draw = (law.variance().to_f64() + 1.0 / 12.0).sqrt() / step;
        let parameters = Canonical::new("discreet running rounded 1").digest(&self.parameters).finish();
        Ok(PreparedRunning { law: LatticeLaw::Rounded(law), draw, parameters, ..self })
    }

    /// The rho of all totals of all keys together, for one privacy unit more or less: computed from the
    /// integers in use, and rounded up.
    pub fn charge(&self) -> BudgetUnits {
        self.charge
    }

    /// The largest standard deviation of a total.
    pub fn deviation(&self) -> f64 {
        self.deviation_until(u64::MAX)
    }

    /// The largest standard deviation of the totals up to this tick. The first totals err by less than the
    /// last.
    pub fn deviation_until(&self, tick: u64) -> f64 {
        self.draw * self.growth.until(tick.min(self.horizon.unwrap_or(u64::MAX)))
    }

    /// The quotient of [`deviation`](PreparedRunning::deviation) and the least one of any linear strategy; of people who
    /// [enter and leave](StreamContribution::entries) no least one is known, and it is that for one contribution.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// True if a tick is the change of a number that people enter and leave.
    pub(crate) fn is_of_entries(&self) -> bool {
        self.is_of_entries
    }

    /// The number of numbers in the state of a key.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The strategy of the measurements.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The last tick with a total, if the totals end.
    pub fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// A hash of everything that totals depend on except the data: other parameters make another release.
    pub fn parameters(&self) -> Digest {
        self.parameters
    }

    /// Returns the state before the first tick.
    pub fn begin(&self) -> TotalState {
        TotalState::new(&self.plan, self.parameters)
    }

    /// Returns the state of a key after these exact numbers, one for each tick from the first on. A key that
    /// is found late so has noise with the same distribution as the others, drawn now.
    ///
    /// # Errors
    /// [`TickError::Ended`] if there are more numbers than the horizon has ticks.
    pub fn caught_up(
        &self,
        exact: impl IntoIterator<Item = i64>,
        noise: &mut NoiseSource,
    ) -> Result<TotalState, TickError> {
        let mut state = self.begin();
        for exact in exact {
            self.tick(&mut state, exact, noise)?;
        }
        Ok(state)
    }

    /// Reads a state from its [bytes](TotalState::to_bytes).
    ///
    /// # Errors
    /// Names `state` if it has other parameters, or is no state.
    pub fn resumed(&self, written: &[u8]) -> Result<TotalState, Invalid> {
        state::read(self, written)
    }

    /// Returns the next total, of the ticks so far and this one. Its noise is drawn here, once.
    ///
    /// # Errors
    /// [`TickError::Ended`] after the last tick of the horizon, [`TickError::Foreign`] with a state of other
    /// parameters. The state is unchanged then.
    pub fn tick(
        &self,
        state: &mut TotalState,
        exact: i64,
        noise: &mut NoiseSource,
    ) -> Result<f64, TickError> {
        self.tick_with_measurement(state, exact, noise).map(|(total, _)| total)
    }

    /// Ticks as [`tick`](PreparedRunning::tick) does, and returns the first noised measurement beside the
    /// total.
    pub(super) fn tick_with_measurement(
        &self,
        state: &mut TotalState,
        exact: i64,
        noise: &mut NoiseSource,
    ) -> Result<(f64, i128), TickError> {
        let mut first = 0;
        let total = self.released(state, exact, |measured| {
            measured.iter_mut().for_each(|value| *value = value.saturating_add(self.law.draw(noise).into()));
            first = measured.first().copied().unwrap_or(0);
        })?;
        Ok((total, first))
    }

    /// Returns the step of a state whose keys begin at this place, if that is smaller than what it changes.
    pub(super) fn step(&self, place: usize, inputs: Vec<(i64, i128)>) -> Option<StateStep> {
        match &self.plan {
            // A step does not say the number that the next change is taken from.
            _ if self.is_of_entries => None,
            MeasurementPlan::Buffers(buffers) => Some(StateStep::new(place, buffers, inputs)),
            // Of a history and of a tree few numbers change, and the rest is the same bytes.
            MeasurementPlan::History(_) | MeasurementPlan::Nodes(_) => None,
        }
    }

    #[cfg(test)]
    pub(super) fn law(&self) -> &LatticeLaw {
        &self.law
    }

    /// Advances the state by a tick whose measurements are noised by `noised`: the total depends on the data
    /// of the tick through it alone.
    pub(super) fn released(
        &self,
        state: &mut TotalState,
        exact: i64,
        noised: impl FnOnce(&mut [i128]),
    ) -> Result<f64, TickError> {
        if state.parameters != self.parameters {
            return Err(TickError::Foreign);
        }
        if self.horizon.is_some_and(|horizon| state.ticks() >= horizon) {
            return Err(TickError::Ended);
        }
        let mut measured = state.measure(&self.plan, exact);
        noised(&mut measured);
        Ok(state.estimate(&self.plan, &measured))
    }
}

/// Variances are multiples of 2^-16.
const PART: usize = 16;

/// Returns the least variance, in units of 2^-16, at which measurements that move by this length cost at most
/// `rho`, with their cost at that variance.
fn priced(squared: &UBig, rho: BudgetUnits) -> Result<(u128, BudgetUnits), Invalid> {
    running::price(rho)?;
    // The relation is rho = squared / (2 variance), in units of 2^-64.
    let scaled = squared << (63 + PART);
    let over = |part: &UBig, of: &UBig| (part + of - UBig::ONE) / of;
    // The variance is at least the smallest one that is drawn.
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

// The half-widths of the intervals of totals, tick by tick.

/// The half-widths of the intervals for spans of ticks, each that of the span's last tick. A span is a single
/// tick up to the 31st, and after that at most a sixteenth of its first tick long: within it the deviation of
/// a total grows by 3% at most, and under a tree by what one node adds.
#[derive(Clone, Debug)]
pub(super) struct IntervalWidths(Vec<f64>);

const BITS: u32 = 4;

/// The number of spans up to the longest horizon, of 2^32 ticks; the deviation of a total grows no further.
const SPANS: usize = ((33 - BITS as usize) << BITS) + 1;

impl IntervalWidths {
    /// Computes the half-widths at this confidence.
    pub(super) fn new(running: &PreparedRunning, confidence: f64) -> Result<IntervalWidths, Invalid> {
        // The noise is nearly continuous, since a total adds up many draws.
        let large = (1u64 << 30) as f64;
        let deviations = DiscreteGaussianCost::new(large, 1)?.interval(confidence)? as f64 / large;
        // The quantile for integers, which draws are, plus 1, since a released total is rounded to an
        // integer.
        let width = |span| (deviations * running.deviation_until(last(span)) - 0.5).ceil() + 1.0;
        Ok(IntervalWidths((0..SPANS).map(width).collect()))
    }

    pub(super) fn at(&self, tick: u64) -> f64 {
        self.0.get(span(tick)).copied().unwrap_or(self.largest())
    }

    pub(super) fn largest(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::INFINITY)
    }
}

/// Returns the span of a tick: its leading digits, as in a float.
fn span(tick: u64) -> usize {
    let lower = tick.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
    ((lower as usize) << BITS) + (tick >> lower) as usize
}

/// Returns the last tick of a span.
fn last(span: usize) -> u64 {
    let lower = (span >> BITS).saturating_sub(1);
    (((span - (lower << BITS)) as u64 + 1) << lower) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    // The relation is rho = squared / (2 variance), in units of 2^-64 and of 2^-16.
    #[test]
    fn a_charge_is_the_least_that_is_not_below_the_cost() {
        for squared in [1u64, 3, 10, 4_095, 1_000_003].map(UBig::from) {
            for bits in [1u128 << 40, (1 << 60) / 7, 1 << 64, (500 << 64) - 1] {
                let (variance, charge) = priced(&squared, BudgetUnits::from_bits(bits)).unwrap();
                let (cost, variance) = (&squared << (63 + PART), UBig::from(variance));
                let charge = UBig::from(charge.to_bits());
                assert!(&charge * &variance >= cost, "{squared} at {bits}: rounded down");
                assert!((charge - UBig::ONE) * variance < cost, "{squared} at {bits}: more than the cost");
            }
        }
    }

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
