//! Running totals of keys, as a mechanism prepared for release.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::keys::KeyState;
use super::keys::TickContribution;
use super::prepared::IntervalWidths;
use super::prepared::PreparedRunning;
use super::state::TotalState;
use super::total::{RunningTotal, TotalSpan};
use crate::accounting::running::strategies;
use crate::accounting::{BudgetUnits, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::Gaussian;
use crate::mechanisms::additive::{Additive, Family};
use crate::mechanisms::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use crate::mechanisms::bound::Sensitivity;
use crate::mechanisms::keys::{Key, KeyChoice};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::mechanism::parameters;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Paid, Prepared};
use crate::mechanisms::selection::Threshold;
use crate::mechanisms::selection::delta;
use crate::mechanisms::spend::Cut;
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::MeasureKind;
use crate::mechanisms::statistic::{Cell, Cells};
use crate::noise::NoiseSource;

/// Totals that are released at every window and charged once, prepared for release. Only [`Gaussian`] noise
/// prepares them, since the charge of all windows together is computed from a Euclidean length.
///
/// Every window draws noise for each public key, and, for every span of ticks that ends there, for each other
/// key with people who came to it for the first time in that span.
#[derive(Clone, Debug)]
pub struct RunningTotals<K> {
    running: PreparedRunning,
    span: TotalSpan,
    measure: MeasureKind,
    pub(super) keys: TotalSource<K>,
    format: EstimateFormat,
    widths: IntervalWidths,
    cost: ReleaseCost,
    parameters: Digest,
}

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
        let (asked, stated) = (&self.0, statistic.stated());
        let Spend::Rho(rho) = asked.spend()? else {
            let remedy =
                "rho, or epsilon with a delta: totals that are released at every window have Gaussian noise";
            return Err(Invalid::new("delta", InvalidKind::Missing, remedy));
        };
        let (selecting, releasing) =
            match (stated.keys.discovers(), Spend::Rho(rho).split(asked.selecting()?)) {
                (true, (selecting, Spend::Rho(releasing))) => (Some(selecting), releasing),
                _ => (None, rho),
            };
        let running = statistic.engine(releasing)?;
        let person = Sensitivity::each(stated.limits, 1)?;
        let keys = match &stated.keys.0 {
            KeyChoice::Public(keys) => TotalSource::Listed(Arc::clone(keys)),
            KeyChoice::Discover { delta, at_most } => {
                let (TotalSpan::SoFar { windows } | TotalSpan::Last { windows }) = statistic.span();
                let lengths = strategies::levels(windows);
                let noise = Additive::within(
                    Family::Gaussian,
                    selecting.unwrap_or(Spend::Rho(BudgetUnits::ZERO)),
                    &person.times(lengths)?,
                )?;
                let cells = stated.limits.keys().saturating_mul(lengths.into());
                TotalSource::Discovered {
                    threshold: Threshold::new(noise, cells, delta.clone()?)?,
                    lengths,
                    at_most: *at_most,
                }
            }
        };
        let confidence = asked.confidence()?;
        let delta = delta(stated.keys)?;
        let noised = Noised {
            strategy: Some(running.strategy().name()),
            over_bound: Some(running.ratio()),
            ..Noised::of(statistic.measures(), Family::Gaussian.name(), running.deviation())
        };
        let form = Canonical::new("discreet running total 1").digest(&running.parameters());
        Ok(RunningTotals {
            span: statistic.span(),
            measure: statistic.total().measure(),
            keys,
            format: EstimateFormat {
                noise: vec![noised.with_point(stated.point)],
                point: stated.point,
                confidence,
                each: EstimatesPerKey::One,
                of: Some(statistic.span().to_string().into()),
                bounded: stated.is_bounded(),
            },
            widths: IntervalWidths::new(&running, confidence)?,
            cost: Spend::Rho(rho).cost_with(
                person.neighbours(),
                delta,
                (Cut::two_steps(stated.limits), true),
            )?,
            parameters: form.digest(&parameters(asked, Spend::Rho(rho), delta, &stated)).finish(),
            running,
        })
    }
}

impl<K: Key> RunningTotals<K> {
    /// The engine of each key's totals: its strategy, its deviation, and the quotient of that and the least
    /// one.
    pub fn running(&self) -> &PreparedRunning {
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

    /// The noise of a total.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }

    /// The largest half-width of the interval of a total, in the unit of its release.
    #[cfg(feature = "cli")]
    pub(crate) fn reaches(&self) -> [f64; 1] {
        [self.format.point.float(self.widths.largest())]
    }

    fn kept(&self, state: Option<&[u8]>) -> KeyState<K> {
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

    /// Returns the next total of a key, as an estimate; `None` after the last window.
    fn next(&self, state: &mut TotalState, exact: i128, noise: &mut NoiseSource) -> Option<Estimate<i128>> {
        self.next_with_input(state, exact, noise).map(|(estimate, _)| estimate)
    }

    /// Returns the next total of a key, and the numbers that it was computed from.
    fn next_with_input(
        &self,
        state: &mut TotalState,
        exact: i128,
        noise: &mut NoiseSource,
    ) -> Option<(Estimate<i128>, (i64, i128))> {
        let exact = narrow(exact);
        let (total, noised) = self.running.tick_with_measurement(state, exact, noise).ok()?;
        let width = self.widths.at(state.ticks());
        let (low, high) = (total - width, total + width);
        let estimate =
            Estimate::between(low.floor() as i128, total.round_ties_even() as i128, high.ceil() as i128);
        Some((estimate, (exact, noised)))
    }

    /// Returns the keys that become public in this window, up to the free room, with their first totals.
    fn emerged(
        &self,
        kept: &mut KeyState<K>,
        cells: BTreeMap<K, Cell>,
        (threshold, lengths): (&Threshold, u32),
        room: usize,
        noise: &mut NoiseSource,
    ) -> Vec<(K, Estimate<i128>)> {
        let tick = kept.ticks;
        kept.emerging.absorb(tick, cells, |cell| self.measure.value(cell));
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
            let (mut state, exact) = self.found(&brought, tick, noise);
            cells.extend(self.next(&mut state, exact, noise).map(|estimate| (key.clone(), estimate)));
            kept.keys.push((key, state));
        }
        kept.keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        cells
    }

    /// Returns the state of a newly public key before the present window, and its first exact number. For
    /// totals so far the number is the sum of all contributions to the key; for totals over the last windows,
    /// the earlier windows are replayed into the state one by one.
    fn found(&self, brought: &[TickContribution], tick: u64, noise: &mut NoiseSource) -> (TotalState, i128) {
        match self.span {
            TotalSpan::SoFar { .. } => (
                self.running.begin(),
                brought.iter().fold(0i128, |sum, brought| sum.saturating_add(brought.value)),
            ),
            TotalSpan::Last { .. } => {
                let at = |tick: u64| {
                    let place = brought.binary_search_by_key(&tick, |brought| brought.tick);
                    place.map_or(0, |place| brought[place].value)
                };
                let before = (self.first(tick)..tick).map(|tick| narrow(at(tick)));
                // Totals over the last windows never end.
                let state = self.running.caught_up(before, noise).unwrap_or_else(|_| self.running.begin());
                (state, at(tick))
            }
        }
    }

    /// Returns the first tick on which the total of this one, or a measurement for it, can depend.
    fn first(&self, tick: u64) -> u64 {
        match self.span {
            TotalSpan::SoFar { .. } => 1,
            TotalSpan::Last { windows } => tick.saturating_sub(2 * windows).max(1),
        }
    }
}

/// Clamps to the ends of the type, which increases no difference of two tallies.
fn narrow(exact: i128) -> i64 {
    exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl<K> Sealed for RunningTotals<K> {}

impl<K: Key> Prepared for RunningTotals<K> {
    type Tally = Cells<K>;
    type Answer = Answer<K, i128>;
    type Value = i128;

    fn tally(&self) -> Cells<K> {
        match &self.keys {
            TotalSource::Listed(keys) => Cells::of(keys),
            TotalSource::Discovered { .. } => Cells::open(),
        }
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn paid(&self) -> Paid {
        Paid::Once { windows: self.running.horizon() }
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        true
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        KeyState::read(&self.running, self.listed(), state).map(|_| ())
    }

    fn inherits(&self, state: &[u8]) -> Result<Option<Vec<u8>>, Invalid> {
        if self.listed().is_some() {
            return Ok(None);
        }
        let public = KeyState::inherited(state)?;
        Ok(Some(KeyState::<K>::new(&self.running, public).write(&self.running, false)))
    }

    fn covers(&self) -> u64 {
        match self.span {
            TotalSpan::SoFar { .. } => u64::MAX,
            TotalSpan::Last { windows } => windows,
        }
    }

    /// Advances the state past windows without a release. Totals so far leave them out; for totals over the
    /// last windows they count as empty, and noise is drawn for as many of them as matter.
    fn passed_by(&self, state: &[u8], windows: u64, noise: &mut NoiseSource) -> Vec<u8> {
        let TotalSpan::Last { windows: width } = self.span else { return state.to_vec() };
        let mut kept = self.kept(Some(state));
        for (_, state) in &mut kept.keys {
            (0..windows.min(2 * width)).for_each(|_| _ = self.next(state, 0, noise));
        }
        kept.ticks = kept.ticks.saturating_add(windows);
        kept.write(&self.running, self.listed().is_some())
    }

    fn draw(&self, exact: Cells<K>, state: Option<&[u8]>, noise: &mut NoiseSource) -> Drawn<Answer<K, i128>> {
        let mut kept = self.kept(state);
        kept.ticks = kept.ticks.saturating_add(1);
        let mut cells = exact.into_map();
        let mut released: Vec<(K, Estimate<i128>)> = Vec::with_capacity(kept.keys.len());
        let mut inputs = Vec::with_capacity(kept.keys.len());
        for (key, state) in &mut kept.keys {
            let exact = cells.remove(key).map_or(0, |cell| self.measure.value(&cell));
            let Some((estimate, input)) = self.next_with_input(state, exact, noise) else { continue };
            released.push((key.clone(), estimate));
            inputs.push(input);
        }
        // A key without a total has not advanced.
        let is_whole = inputs.len() == kept.keys.len();
        let place = state.and_then(KeyState::<K>::place_of_numbers);
        let step = place.filter(|_| is_whole).and_then(|place| self.running.step(place, inputs));
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
