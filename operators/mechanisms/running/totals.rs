//! Running totals of keys, as a mechanism prepared for release: of one number each, or of several that make one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::keys::KeyState;
use super::keys::TickContribution;
use super::prepared::IntervalWidths;
use super::prepared::PreparedRunning;
use super::state::TotalState;
use super::total::{RunningTotal, TotalSpan};
use crate::accounting::ReleaseCost;
use crate::accounting::running::strategies;
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::{Additive, Family, Gaussian, UncheckedNoise};
use crate::mechanisms::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use crate::mechanisms::bound::Sensitivity;
use crate::mechanisms::keys::{Key, KeyChoice};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::mechanism::parameters;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Paid, Prepared};
#[cfg(feature = "cli")]
use crate::mechanisms::noisy::KeyFinding;
use crate::mechanisms::noisy::NumberForm;
use crate::mechanisms::selection::Threshold;
use crate::mechanisms::selection::delta;
use crate::mechanisms::spend::Cut;
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::{Cell, Cells, KeyedStatistic, MeasureKind};
use crate::noise::NoiseSource;

/// Numbers that are released at every window and charged once, prepared for release. Only [`Gaussian`] noise
/// prepares them, since the charge of all windows together is computed from a Euclidean length.
///
/// A released number is made of the running totals of `N` whole numbers, each by the same strategy with noise of its own.
/// They share the price. Every window draws noise for each public key, and, for every span of ticks that ends there, for
/// each other key with people who came to it for the first time in that span.
#[derive(Clone, Debug)]
pub struct RunningNumbers<K, F, const N: usize> {
    running: [PreparedRunning; N],
    span: TotalSpan,
    form: F,
    pub(super) keys: TotalSource<K>,
    format: EstimateFormat,
    widths: [IntervalWidths; N],
    cost: ReleaseCost,
    parameters: Digest,
}

/// A form of released numbers that are made of `N` running totals.
pub trait RunningForm<const N: usize>: NumberForm {
    /// The exact numbers of a window.
    fn exact(&self, cell: &Self::Cell) -> [i128; N];

    /// Returns the released number, from totals that have had their noise.
    fn estimate(&self, totals: [Estimate<i128>; N]) -> Estimate<Self::Number>;
}

/// Totals that are released at every window and charged once.
pub type RunningTotals<K> = RunningNumbers<K, OneTotal, 1>;

/// One total: a whole number.
#[derive(Clone, Copy, Debug)]
pub struct OneTotal {
    measure: MeasureKind,
    /// True if the cell holds the number of people of several windows, and not what one window adds.
    is_of_people: bool,
}

impl NumberForm for OneTotal {
    type Cell = Cell;
    type Number = i128;
    type Value = i128;
}

impl RunningForm<1> for OneTotal {
    fn exact(&self, cell: &Cell) -> [i128; 1] {
        [if self.is_of_people { cell.sum } else { self.measure.value(cell, 1) }]
    }

    fn estimate(&self, [total]: [Estimate<i128>; 1]) -> Estimate<i128> {
        total
    }
}

/// The exact number of a window of each total, and its noised measurement.
type Inputs<const N: usize> = [(i64, i128); N];

#[derive(Clone, Debug)]
pub(super) enum TotalSource<K> {
    Listed(Arc<[K]>),
    Discovered { threshold: Threshold, lengths: u32, at_most: usize },
}

/// The whole cost is that of all windows. With discovered keys, [30 percent](Gaussian::selecting) of it is
/// for partition selection, even if the total is the number of people.
impl<K: Key> Mechanism<RunningTotal<K>> for Gaussian {
    type Prepared = RunningTotals<K>;

    fn prepare(&self, statistic: &RunningTotal<K>) -> Result<RunningTotals<K>, Invalid> {
        let stated = statistic.stated();
        let numbers = |spend: Spend| {
            let running = statistic.engine(spend)?;
            let noised = noised(statistic.measures(), &running).with_point(stated.point);
            Ok(([running], [noised]))
        };
        let is_of_people = matches!(statistic.span(), TotalSpan::People { .. });
        let form = OneTotal { measure: statistic.total().measure(), is_of_people };
        prepare(&self.0, (&stated, "discreet running total 1"), statistic.span(), form, numbers)
    }
}

/// Returns the noise of a total in steps.
pub(super) fn noised(number: &'static str, running: &PreparedRunning) -> Noised {
    Noised {
        strategy: Some(running.strategy().name()),
        // No least noise is known for people who enter and leave.
        over_bound: (!running.is_of_entries()).then(|| running.ratio()),
        ..Noised::of(number, Family::Gaussian.name(), running.deviation())
    }
}

/// Prepares running numbers. `numbers` makes the totals and their noise in released units, at what selecting keys leaves
/// of the price.
pub(super) fn prepare<K: Key, F: RunningForm<N>, const N: usize>(
    asked: &UncheckedNoise,
    (stated, name): (&KeyedStatistic<'_, K>, &'static str),
    span: TotalSpan,
    form: F,
    numbers: impl FnOnce(Spend) -> Result<([PreparedRunning; N], [Noised; N]), Invalid>,
) -> Result<RunningNumbers<K, F, N>, Invalid> {
    let spend = asked.spend()?;
    if matches!(spend, Spend::Pure(_)) {
        let remedy =
            "rho, or epsilon with a delta: totals that are released at every window have Gaussian noise";
        return Err(Invalid::new("delta", InvalidKind::Missing, remedy));
    }
    let (selecting, releasing) = match (stated.keys.discovers(), spend.split(asked.selecting()?)) {
        (true, parts) => parts,
        // Nothing is selected.
        (false, _) => (spend, spend),
    };
    let (running, noise) = numbers(releasing)?;
    let person = Sensitivity::each(stated.limits, 1)?;
    let keys = match &stated.keys.0 {
        KeyChoice::Public(keys) => TotalSource::Listed(Arc::clone(keys)),
        KeyChoice::Discover { people: 2.., .. } => {
            let remedy =
                "no least number of people: those of a running total come to a key over many windows";
            return Err(Invalid::new("people", InvalidKind::Mixed, remedy));
        }
        KeyChoice::Discover { delta, at_most, .. } => {
            // People come to a key for the first time once, however often they enter it.
            let (TotalSpan::SoFar { windows }
            | TotalSpan::Last { windows }
            | TotalSpan::People { windows, .. }) = span;
            let lengths = strategies::levels(windows);
            let noise = Additive::within(Family::Gaussian, selecting, &person.times(lengths)?)?;
            let cells = stated.limits.keys().saturating_mul(lengths.into());
            let threshold = Threshold::new(noise, cells, delta.clone()?)?;
            TotalSource::Discovered { threshold, lengths, at_most: *at_most }
        }
    };
    let confidence = asked.confidence()?;
    // Each total has an equal part of what may be outside.
    let each = ((N - 1) as f64 + confidence) / N as f64;
    let widths: Vec<IntervalWidths> =
        running.iter().map(|one| IntervalWidths::new(one, each)).collect::<Result<_, _>>()?;
    // There is one for each total.
    let Ok(widths) = widths.try_into() else {
        return Err(Invalid::new("running", InvalidKind::Mixed, "totals"));
    };
    let delta = delta(stated.keys)?;
    let hash = running.iter().fold(Canonical::new(name), |hash, one| hash.digest(&one.parameters()));
    let hash = match span {
        TotalSpan::People { last, .. } => hash.text("people of the last windows").bytes(&last.to_be_bytes()),
        TotalSpan::SoFar { .. } | TotalSpan::Last { .. } => hash,
    };
    Ok(RunningNumbers {
        span,
        form,
        keys,
        format: EstimateFormat {
            noise: noise.to_vec(),
            point: stated.point,
            confidence,
            each: EstimatesPerKey::One,
            of: Some(span.to_string().into()),
            // Who has left for the last time does not count again.
            bounded: stated.is_bounded() || matches!(span, TotalSpan::People { .. }),
            found: None,
        },
        widths,
        cost: spend.cost_with(person.neighbours(), delta, (Cut::two_steps(stated.limits), true))?,
        parameters: hash.digest(&parameters(asked, spend, delta, stated)).finish(),
        running,
    })
}

impl<K: Key> RunningTotals<K> {
    /// The engine of each key's totals: its strategy, its deviation, and the quotient of that and the least
    /// one.
    pub fn running(&self) -> &PreparedRunning {
        let [running] = &self.running;
        running
    }
}

impl<K, F, const N: usize> RunningNumbers<K, F, N> {
    /// The engine of each of a key's totals, in the order of their noises.
    pub fn engines(&self) -> &[PreparedRunning; N] {
        &self.running
    }

    /// The least noised number of people in a span of windows with which a key becomes public, if keys are
    /// discovered.
    pub fn threshold(&self) -> Option<i64> {
        match &self.keys {
            TotalSource::Listed(_) => None,
            TotalSource::Discovered { threshold, .. } => Some(threshold.least()),
        }
    }

    /// Returns the figures of keys that are to be discovered, by the people who come to them within a span of windows.
    #[cfg(feature = "cli")]
    pub(crate) fn finding(&self) -> Option<KeyFinding> {
        match &self.keys {
            TotalSource::Listed(_) => None,
            TotalSource::Discovered { threshold, .. } => {
                Some(KeyFinding { people: threshold.people_to_find(), apart: None })
            }
        }
    }

    /// The noise of each total.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }

    /// The largest half-width of the interval of each total, in the unit of its release.
    #[cfg(feature = "cli")]
    pub(crate) fn reaches(&self) -> [f64; N] {
        std::array::from_fn(|at| {
            let unit =
                self.format.noise.get(at).map_or(1.0, |noise| noise.scale / self.running[at].deviation());
            unit * self.widths[at].largest()
        })
    }
}

impl<K: Key, F: RunningForm<N>, const N: usize> RunningNumbers<K, F, N> {
    fn kept(&self, state: Option<&[u8]>) -> KeyState<K, N> {
        let listed = self.listed();
        // A state that cannot be read ended the job before its first draw (`accepts`).
        let read = state.and_then(|state| KeyState::read(&self.running, listed, state).ok());
        read.unwrap_or_else(|| KeyState::new(&self.running, listed.unwrap_or_default().to_vec()))
    }

    fn listed(&self) -> Option<&[K]> {
        match &self.keys {
            TotalSource::Listed(keys) => Some(keys),
            TotalSource::Discovered { .. } => None,
        }
    }

    /// Returns the next number of a key, as an estimate; `None` after the last window.
    fn next(
        &self,
        states: &mut [TotalState; N],
        exact: [i128; N],
        noise: &mut NoiseSource,
    ) -> Option<Estimate<F::Number>> {
        self.next_with_input(states, exact, noise).map(|(estimate, _)| estimate)
    }

    /// Returns the next number of a key, and the numbers that its totals were computed from.
    fn next_with_input(
        &self,
        states: &mut [TotalState; N],
        exact: [i128; N],
        noise: &mut NoiseSource,
    ) -> Option<(Estimate<F::Number>, Inputs<N>)> {
        let mut totals = [Estimate::between(0, 0, 0); N];
        let mut inputs = [(0, 0); N];
        for (at, state) in states.iter_mut().enumerate() {
            let number = narrow(exact[at]);
            let is_of_entries = self.running[at].is_of_entries();
            // The number of the window that was released before may be of any window: those between changed nothing.
            let exact = if is_of_entries { number.saturating_sub(state.level) } else { number };
            let (total, noised) = self.running[at].tick_with_measurement(state, exact, noise).ok()?;
            if is_of_entries {
                state.level = number;
            }
            let width = self.widths[at].at(state.ticks());
            let (low, high) = (total - width, total + width);
            totals[at] =
                Estimate::between(low.floor() as i128, total.round_ties_even() as i128, high.ceil() as i128);
            inputs[at] = (exact, noised);
        }
        Some((self.form.estimate(totals), inputs))
    }

    /// Returns the keys that become public in this window, up to the free room, with their first totals.
    fn emerged(
        &self,
        kept: &mut KeyState<K, N>,
        cells: BTreeMap<K, F::Cell>,
        (threshold, lengths): (&Threshold, u32),
        room: usize,
        noise: &mut NoiseSource,
    ) -> Vec<(K, Estimate<F::Number>)> {
        let tick = kept.ticks;
        // Of people who enter and leave, a key has the number of the present window, and no sum of former ones.
        let is_of_people = matches!(self.span, TotalSpan::People { .. });
        let mut levels = BTreeMap::new();
        if is_of_people {
            levels.extend(cells.iter().map(|(key, cell)| (key.clone(), self.form.exact(cell))));
        }
        kept.emerging.absorb(tick, cells, |cell| if is_of_people { [0; N] } else { self.form.exact(cell) });
        let mut found = kept.emerging.found(tick, lengths, threshold, noise);
        // The sort is stable: equal numbers stay in the order of spans, the shortest first, and then of keys.
        found.sort_by_key(|(noised, ..)| Reverse(*noised));
        if found.len() >= room {
            found.truncate(room);
            kept.emerging.clear();
        }
        if matches!(self.span, TotalSpan::Last { .. }) {
            kept.emerging.forget(self.first(tick + 1));
        }
        let mut cells = Vec::with_capacity(found.len());
        for (_, key, brought) in found {
            let (mut state, sums) = self.found(&brought, tick, noise);
            let exact = if is_of_people { levels.remove(&key).unwrap_or([0; N]) } else { sums };
            cells.extend(self.next(&mut state, exact, noise).map(|estimate| (key.clone(), estimate)));
            kept.keys.push((key, state));
        }
        kept.keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        cells
    }

    /// Returns the states of a newly public key before the present window, and its first exact numbers. For
    /// totals so far these are the sums of all contributions to the key; for totals over the last windows,
    /// the earlier windows are replayed into the states one by one.
    fn found(
        &self,
        brought: &[TickContribution<N>],
        tick: u64,
        noise: &mut NoiseSource,
    ) -> ([TotalState; N], [i128; N]) {
        match self.span {
            TotalSpan::SoFar { .. } | TotalSpan::People { .. } => (
                self.running.each_ref().map(PreparedRunning::begin),
                brought.iter().fold([0i128; N], |sums, brought| {
                    std::array::from_fn(|at| sums[at].saturating_add(brought.values[at]))
                }),
            ),
            TotalSpan::Last { .. } => {
                let at = |tick: u64| {
                    let place = brought.binary_search_by_key(&tick, |brought| brought.tick);
                    place.map_or([0; N], |place| brought[place].values)
                };
                let states = std::array::from_fn(|number| {
                    let running = &self.running[number];
                    let before = (self.first(tick)..tick).map(|tick| narrow(at(tick)[number]));
                    // Totals over the last windows never end.
                    running.caught_up(before, noise).unwrap_or_else(|_| running.begin())
                });
                (states, at(tick))
            }
        }
    }

    /// Returns the first tick on which the total of this one, or a measurement for it, can depend.
    fn first(&self, tick: u64) -> u64 {
        match self.span {
            TotalSpan::SoFar { .. } | TotalSpan::People { .. } => 1,
            TotalSpan::Last { windows } => tick.saturating_sub(2 * windows).max(1),
        }
    }
}

/// Clamps to the ends of the type, which increases no difference of two tallies.
fn narrow(exact: i128) -> i64 {
    exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl<K, F, const N: usize> Sealed for RunningNumbers<K, F, N> {}

impl<K: Key, F: RunningForm<N>, const N: usize> Prepared for RunningNumbers<K, F, N> {
    type Tally = Cells<K, F::Cell>;
    type Answer = Answer<K, F::Number>;
    type Value = F::Value;

    fn tally(&self) -> Cells<K, F::Cell> {
        match &self.keys {
            TotalSource::Listed(keys) => Cells::of(keys),
            TotalSource::Discovered { .. } => Cells::open(),
        }
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn paid(&self) -> Paid {
        let [first, ..] = &self.running[..] else { return Paid::Once { windows: None } };
        Paid::Once { windows: first.horizon() }
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        true
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        KeyState::<K, N>::read(&self.running, self.listed(), state).map(|_| ())
    }

    fn inherits(&self, state: &[u8]) -> Result<Option<Vec<u8>>, Invalid> {
        if self.listed().is_some() {
            return Ok(None);
        }
        let public = KeyState::<K, N>::inherited(state)?;
        Ok(Some(KeyState::<K, N>::new(&self.running, public).write(&self.running, false)))
    }

    fn covers(&self) -> u64 {
        match self.span {
            TotalSpan::SoFar { .. } => u64::MAX,
            TotalSpan::Last { windows } | TotalSpan::People { last: windows, .. } => windows,
        }
    }

    /// Advances the state past windows without a release. Totals so far leave them out; for totals over the
    /// last windows they count as empty, and noise is drawn for as many of them as matter.
    fn passed_by(&self, state: &[u8], windows: u64, noise: &mut NoiseSource) -> Vec<u8> {
        let TotalSpan::Last { windows: width } = self.span else { return state.to_vec() };
        let mut kept = self.kept(Some(state));
        for (_, states) in &mut kept.keys {
            (0..windows.min(2 * width)).for_each(|_| _ = self.next(states, [0; N], noise));
        }
        kept.ticks = kept.ticks.saturating_add(windows);
        kept.write(&self.running, self.listed().is_some())
    }

    fn draw(
        &self,
        exact: Cells<K, F::Cell>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<K, F::Number>> {
        let mut kept = self.kept(state);
        kept.ticks = kept.ticks.saturating_add(1);
        let mut cells = exact.into_map();
        let mut released: Vec<(K, Estimate<F::Number>)> = Vec::with_capacity(kept.keys.len());
        let mut inputs = Vec::with_capacity(kept.keys.len());
        for (key, states) in &mut kept.keys {
            let exact = cells.remove(key).map_or([0; N], |cell| self.form.exact(&cell));
            let Some((estimate, input)) = self.next_with_input(states, exact, noise) else { continue };
            released.push((key.clone(), estimate));
            inputs.push(input);
        }
        // A key without a total has not advanced.
        let is_whole = inputs.len() == kept.keys.len();
        let place = state.and_then(KeyState::<K, N>::place_of_numbers).filter(|_| is_whole);
        let step = place.and_then(|place| match &self.running[..] {
            [running] => running.step(place, inputs.into_iter().flatten().collect()),
            // A step is of one series of numbers: several are written whole.
            _ => None,
        });
        let room = match &self.keys {
            TotalSource::Listed(_) => None,
            TotalSource::Discovered { threshold, lengths, at_most } => {
                let room = at_most.saturating_sub(kept.keys.len());
                if room > 0 {
                    released.extend(self.emerged(&mut kept, cells, (threshold, *lengths), room, noise));
                    released.sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                Some(at_most.saturating_sub(kept.keys.len()))
            }
        };
        let state = kept.write(&self.running, self.listed().is_some());
        let answer = Answer { cells: released, format: self.format.clone(), room };
        Drawn { answer, state: Some(state), step }
    }
}
