//! An alert, prepared for release: its draws, its state and its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::margins::{Arming, Planned};
use super::{Crossing, ThresholdAlert};
use crate::accounting::running::whole;
use crate::accounting::{BudgetUnits, PrivacyCost, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::{Family, UncheckedNoise, rho_of};
use crate::mechanisms::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use crate::mechanisms::keys::Key;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Paid, Prepared, Sealed, parameters};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::{Cells, KeyedStatistic, MeasureKind};
use crate::noise::{NoiseDistribution, NoiseSource};

/// AboveThreshold: fires at a number that is above a threshold, at a price for each alarm that does not grow with the windows.
///
/// Private for one unit more or less. What is stated is the price of all alarms together. It is charged before the first window,
/// and nothing is refunded: that an alarm was not needed is known at the end alone.
#[derive(Clone, Debug)]
pub struct AboveThreshold(Result<Spend, Invalid>);

impl AboveThreshold {
    /// Alarms that cost `rho` (zCDP) together.
    pub fn rho(rho: f64) -> AboveThreshold {
        AboveThreshold(rho_of(rho))
    }

    /// Alarms that cost pure `epsilon` together.
    pub fn epsilon(epsilon: f64) -> AboveThreshold {
        AboveThreshold(PrivacyCost::pure(epsilon).and_then(|amount| Spend::of(&amount)))
    }

    /// Alarms that cost this amount together: pure epsilon, or rho in zCDP or in Gaussian differential privacy.
    pub fn cost(amount: &PrivacyCost) -> AboveThreshold {
        AboveThreshold(Spend::of(amount))
    }
}

/// The least probability of a mistake: the confidence of a smaller one is 1 in the digits of a line.
const LEAST_WRONG: f64 = 1e-9;

impl Sealed for AboveThreshold {}

/// One draw for each window and key until the last alarm, and one for each arming.
impl<K: Key> Mechanism<ThresholdAlert<K>> for AboveThreshold {
    type Prepared = PreparedAlert<K>;

    fn prepare(&self, alert: &ThresholdAlert<K>) -> Result<PreparedAlert<K>, Invalid> {
        let (spend, stated, alarms) = (self.0.clone()?, alert.total().stated(), alert.alarms);
        let keys = Arc::clone(alert.count.keys());
        whole("alarms", alarms.into(), Crossing::MOST_ALARMS.into(), "a whole number from 1 to 1000")?;
        let windows = whole("windows", alert.windows, Crossing::MOST, "a whole number from 1 to 2^40")?;
        let wrong = alert.wrong;
        if !(LEAST_WRONG..1.0).contains(&wrong) {
            let kind = if wrong.is_nan() { InvalidKind::Nan } else { InvalidKind::Malformed };
            return Err(Invalid::new("wrong", kind, "a number from 1e-9 on and below 1, such as 0.05"));
        }
        let draws = windows.saturating_mul(keys.len() as u64);
        let planned = Planned { step: alert.count.step(), draws: draws as f64, alarms, wrong };
        let arming = Arming::least(spend, planned)?;
        let threshold = alert.above + arming.below;
        let crossing = Crossing {
            above: alert.above,
            // The noise of a threshold is at most one less than what it stays below.
            surely: threshold + arming.beyond.saturating_sub(1),
            alarms,
            left: alarms,
        };
        let noise = Noised {
            crossing: Some(crossing),
            ..Noised::of(alert.total().measures(), "geometric", arming.number.scale().to_f64())
        };
        let also = Canonical::new("discreet alert 1")
            .bytes(&alert.above.to_be_bytes())
            .bytes(&threshold.to_be_bytes())
            .bytes(&alarms.to_be_bytes())
            .bytes(&wrong.to_bits().to_be_bytes())
            .bytes(&windows.to_be_bytes());
        let also = if alert.pause > 0 { also.text("pause").bytes(&alert.pause.to_be_bytes()) } else { also };
        let laws = [&arming.threshold, &arming.number].map(|law| law.scale());
        let also = laws.iter().fold(also, |also, scale| {
            also.bytes(&scale.numerator().to_be_bytes()).bytes(&scale.denominator().to_be_bytes())
        });
        // Of the form of all mechanisms, whose family here is that of the price alone.
        let asked = UncheckedNoise::new(Family::Laplace, Ok(spend));
        let stated = KeyedStatistic { also: Some(also.finish()), ..stated };
        let person = alert.count.of_one_key()?;
        Ok(PreparedAlert {
            measure: alert.total().measure(),
            threshold,
            pause: alert.pause,
            draws,
            format: EstimateFormat {
                noise: vec![noise],
                point: stated.point,
                confidence: 1.0 - wrong,
                each: EstimatesPerKey::One,
                of: None,
                bounded: stated.is_bounded(),
                found: None,
            },
            cost: spend.cost_with(person.neighbours(), BudgetUnits::ZERO, (alert.cut(), false))?,
            parameters: parameters(&asked, spend, BudgetUnits::ZERO, &stated),
            keys,
            arming,
            crossing,
        })
    }
}

/// An alert that is ready, window after window. A value is 1 where it fired, and 0 where it was silent.
#[derive(Clone, Debug)]
pub struct PreparedAlert<K> {
    keys: Arc<[K]>,
    measure: MeasureKind,
    pub(super) arming: Arming,
    pub(super) threshold: u64,
    pause: u64,
    /// The numbers that its mistakes are stated for.
    draws: u64,
    crossing: Crossing,
    format: EstimateFormat,
    cost: ReleaseCost,
    parameters: Digest,
}

impl<K: Key> PreparedAlert<K> {
    /// The band between silence and a sure alarm, and the alarms.
    pub fn crossing(&self) -> Crossing {
        self.crossing
    }

    /// Returns the scales of the noise of a threshold and of a number.
    pub fn scales(&self) -> [f64; 2] {
        [&self.arming.threshold, &self.arming.number].map(|law| law.scale().to_f64())
    }

    /// The noise of a number.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }

    /// Returns the noise of the threshold after this number of alarms: drawn anew, if one is left.
    fn armed(&self, fired: u32, noise: &mut NoiseSource) -> Option<i64> {
        (fired < self.crossing.alarms).then(|| self.arming.threshold.draw(noise))
    }
}

/// The alarms so far, the noise of the threshold, if it is armed, and the keys that are left out. Prints as `<private>`.
#[derive(Clone)]
pub(super) struct AlertState {
    fired: u32,
    /// The numbers that were asked about.
    asked: u64,
    level: Option<i64>,
    /// The number of windows that a key is left out of, by its place.
    pauses: BTreeMap<u32, u64>,
}

redacted!(AlertState);

/// The first byte of a state.
const FORMAT: u8 = 1;

/// The size of a pause in a state.
const PAUSE: usize = 12;

impl AlertState {
    /// No alarm is left.
    const ENDED: AlertState =
        AlertState { fired: u32::MAX, asked: u64::MAX, level: None, pauses: BTreeMap::new() };

    pub(super) fn read(bytes: &[u8]) -> Option<AlertState> {
        let (&[FORMAT, ref fired @ .., armed], rest) = bytes.split_first_chunk::<6>()? else { return None };
        let (asked, rest) = rest.split_first_chunk()?;
        let (level, rest) = match armed {
            0 => (None, rest),
            1 => {
                let (level, rest) = rest.split_first_chunk()?;
                (Some(i64::from_be_bytes(*level)), rest)
            }
            _ => return None,
        };
        let pauses = rest.chunks(PAUSE).map(|pause| {
            let (place, windows) = pause.split_first_chunk()?;
            Some((u32::from_be_bytes(*place), u64::from_be_bytes(windows.try_into().ok()?)))
        });
        Some(AlertState {
            fired: u32::from_be_bytes(*fired),
            asked: u64::from_be_bytes(*asked),
            level,
            pauses: pauses.collect::<Option<_>>()?,
        })
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        bytes.extend_from_slice(&self.fired.to_be_bytes());
        bytes.push(self.level.is_some().into());
        bytes.extend_from_slice(&self.asked.to_be_bytes());
        bytes.extend(self.level.into_iter().flat_map(i64::to_be_bytes));
        for (place, windows) in &self.pauses {
            bytes.extend_from_slice(&place.to_be_bytes());
            bytes.extend_from_slice(&windows.to_be_bytes());
        }
        bytes
    }

    /// Lets this number of windows pass.
    fn pass(&mut self, windows: u64) {
        self.pauses.retain(|_, left| {
            *left = left.saturating_sub(windows);
            *left > 0
        });
    }
}

impl<K> Sealed for PreparedAlert<K> {}

impl<K: Key> Prepared for PreparedAlert<K> {
    type Tally = Cells<K>;
    type Answer = Answer<K, i128>;
    type Value = i128;

    fn tally(&self) -> Cells<K> {
        Cells::of(&self.keys)
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn paid(&self) -> Paid {
        Paid::Once { windows: None }
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        true
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        let malformed = || {
            let remedy =
                "the state that this alert has written, or a new version, which is armed and pays anew";
            Invalid::new("state", InvalidKind::Malformed, remedy)
        };
        AlertState::read(state).map(|_| ()).ok_or_else(malformed)
    }

    /// Nothing: the noise of a threshold is paid for by one version.
    fn inherits(&self, state: &[u8]) -> Result<Option<Vec<u8>>, Invalid> {
        self.accepts(state).map(|()| None)
    }

    /// Pauses go on; nothing else depends on windows that were not asked about.
    fn passed_by(&self, state: &[u8], windows: u64, _: &mut NoiseSource) -> Vec<u8> {
        AlertState::read(state).map_or_else(
            || state.to_vec(),
            |mut state| {
                state.pass(windows);
                state.write()
            },
        )
    }

    fn draw(&self, exact: Cells<K>, state: Option<&[u8]>, noise: &mut NoiseSource) -> Drawn<Answer<K, i128>> {
        let mut state = match state {
            None => AlertState { fired: 0, asked: 0, level: self.armed(0, noise), pauses: BTreeMap::new() },
            // One that cannot be read was refused before.
            Some(bytes) => AlertState::read(bytes).unwrap_or(AlertState::ENDED),
        };
        let mut cells = Vec::with_capacity(self.keys.len());
        let mut paused = Vec::new();
        for (place, (key, cell)) in exact.iter().enumerate() {
            let Some(level) = state.level else { break };
            // There are no more keys than a list holds.
            let place = place as u32;
            if state.pauses.contains_key(&place) {
                continue;
            }
            let number = self.measure.value(cell, 1) + i128::from(self.arming.number.draw(noise));
            let fired = number >= i128::from(self.threshold) + i128::from(level);
            state.asked = state.asked.saturating_add(1);
            // Silence may be of a number above the threshold that is not surely above it; beyond the numbers that it is planned
            // for nothing is stated.
            let low = fired && state.asked <= self.draws;
            cells.push((key.clone(), Estimate::between(low.into(), fired.into(), 1)));
            if fired {
                state.fired += 1;
                state.level = self.armed(state.fired, noise);
                paused.extend((self.pause > 0).then_some((place, self.pause)));
            }
        }
        state.pass(1);
        state.pauses.extend(paused);
        let mut format = self.format.clone();
        for noise in &mut format.noise {
            let left = self.crossing.alarms.saturating_sub(state.fired);
            noise.crossing = Some(Crossing { left, ..self.crossing });
        }
        Drawn { answer: Answer { cells, format, room: None }, state: Some(state.write()), step: None }
    }
}
