//! The most frequent keys, prepared for release: the weights of a round, and the picks of a window.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::TopKeys;
use crate::accounting::{BudgetUnits, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::UncheckedNoise;
use crate::mechanisms::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised, Ranks};
use crate::mechanisms::keys::Key;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Prepared, Sealed, parameters};
use crate::mechanisms::ranks::{AnswerChoice, ChoiceRule, EqualLossRun};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::{Cells, KeyedStatistic, MeasureKind};
use crate::mechanisms::{Exponential, PermuteAndFlip};
use crate::noise::{Decay, NoiseSource, Ratio};

/// One draw for each pick.
impl<K: Key> Mechanism<TopKeys<K>> for Exponential {
    type Prepared = PreparedTop<K>;

    fn prepare(&self, top: &TopKeys<K>) -> Result<PreparedTop<K>, Invalid> {
        PreparedTop::new(&self.0, ChoiceRule::Exponential, top)
    }
}

/// For each pick, coins until one shows `true`.
impl<K: Key> Mechanism<TopKeys<K>> for PermuteAndFlip {
    type Prepared = PreparedTop<K>;

    fn prepare(&self, top: &TopKeys<K>) -> Result<PreparedTop<K>, Invalid> {
        PreparedTop::new(&self.0, ChoiceRule::PermuteAndFlip, top)
    }
}

/// Returns the choice of a round of this range, in units of 2^-64, where one unit moves numbers up by at most `step`.
///
/// The ends of the interval that logarithms of weights move in are each `2^-ASIDE` farther out by rounding than 0 and the
/// rate, of which [`Decay::new`] sets one aside, and the other is here.
fn choice(rule: ChoiceRule, range: u128, step: u64) -> Result<AnswerChoice, Invalid> {
    match rule {
        ChoiceRule::Exponential => {
            let range = range.checked_sub(1 << (64 - Decay::ASIDE)).filter(|range| *range > 0);
            let small = || Invalid::new("epsilon", InvalidKind::TooSmall, "more budget, or fewer keys");
            let range = Ratio::new(range.ok_or_else(small)?, 1 << 64)?;
            Ok(AnswerChoice::Exponential(Decay::new(range, step).map_err(
                |refused| match refused.kind() {
                    InvalidKind::TooSmall => small(),
                    _ => refused,
                },
            )?))
        }
        ChoiceRule::PermuteAndFlip => {
            // At most 2^95.
            Ok(AnswerChoice::Flip(Ratio::new(range, u128::from(step) << 64)?))
        }
    }
}

/// The most frequent keys, ready to be drawn, window after window. A value is the place of a pick, from 1 on.
#[derive(Clone, Debug)]
pub struct PreparedTop<K> {
    keys: Arc<[K]>,
    measure: MeasureKind,
    picks: u64,
    pub(super) choice: AnswerChoice,
    within: u64,
    format: EstimateFormat,
    cost: ReleaseCost,
    parameters: Digest,
}

impl<K: Key> PreparedTop<K> {
    fn new(asked: &UncheckedNoise, rule: ChoiceRule, top: &TopKeys<K>) -> Result<PreparedTop<K>, Invalid> {
        let (spend, confidence) = (asked.spend()?, asked.confidence()?);
        let (stated, keys, picks) = (top.total().stated(), Arc::clone(top.count.keys()), top.picks);
        if rule == ChoiceRule::PermuteAndFlip {
            if !matches!(spend, Spend::Pure(_)) {
                return Err(Invalid::new("currency", InvalidKind::Mixed, "pure epsilon to permute-and-flip"));
            }
            if keys.len() as u64 > ChoiceRule::FLIPPED {
                return Err(Invalid::new(
                    "keys",
                    InvalidKind::TooLarge,
                    "at most 65,536 keys to permute-and-flip",
                ));
            }
        }
        let choice = choice(rule, spend.range_of_each(picks), top.count.step())?;
        // Each pick misses with an equal part of the probability.
        let missed = (1.0 - confidence) / picks as f64 * (1.0 - 1e-12);
        let within = match keys.len() {
            // Nothing else is left.
            1 => Some(0),
            many => choice.exceeded(many as u64, 0, missed),
        };
        let within = within.filter(|within| *within < LARGEST).ok_or_else(|| {
            let remedy = "more budget, fewer keys, or a smaller confidence: no two numbers below 2^40 could be distinguished";
            Invalid::new("epsilon", InvalidKind::TooSmall, remedy)
        })?;
        let also = Canonical::new("discreet top 1").text(rule.name()).bytes(&picks.to_be_bytes()).finish();
        let measures = top.total().measures();
        let noise = Noised {
            ranks: Some(Ranks::Behind { within }),
            ..Noised::of(measures, rule.name(), choice.scale())
        };
        Ok(PreparedTop {
            measure: top.total().measure(),
            picks,
            choice,
            within,
            format: EstimateFormat {
                noise: vec![noise],
                point: stated.point,
                confidence,
                each: EstimatesPerKey::One,
                of: None,
                bounded: stated.is_bounded(),
                found: None,
            },
            cost: spend.cost_with(
                top.count.of_one_key()?.neighbours(),
                BudgetUnits::ZERO,
                (top.cut(), false),
            )?,
            parameters: parameters(
                asked,
                spend,
                BudgetUnits::ZERO,
                &KeyedStatistic { also: Some(also), ..stated },
            ),
            keys,
        })
    }

    /// The distance by which the number of a pick may be below the largest that was left, with the stated probability of all
    /// picks of a window together.
    pub fn within(&self) -> u64 {
        self.within
    }

    /// The noise of a pick.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }
}

/// The largest number of people or records that is stated.
const LARGEST: u64 = 1 << 40;

/// The keys that are left, by the distance of their numbers from the largest of all: their places in the list.
struct KeysLeft(BTreeMap<u64, Vec<usize>>);

impl KeysLeft {
    fn of(numbers: &[i128]) -> KeysLeft {
        let largest = numbers.iter().copied().max().unwrap_or(0);
        let mut left = BTreeMap::<u64, Vec<usize>>::new();
        for (place, number) in numbers.iter().enumerate() {
            // Of counts of 64 bits.
            let distance = u64::try_from(largest - number).unwrap_or(u64::MAX);
            left.entry(distance).or_default().push(place);
        }
        KeysLeft(left)
    }

    /// Takes out a key by its place among those that are left, in the order of their distances.
    fn take(&mut self, mut place: u64) -> Option<usize> {
        let of_one_distance = self.0.iter_mut().find_map(|(distance, keys)| {
            let many = keys.len() as u64;
            if place < many {
                return Some((*distance, keys));
            }
            place -= many;
            None
        });
        let (distance, keys) = of_one_distance?;
        let key = keys.swap_remove(place as usize);
        if keys.is_empty() {
            self.0.remove(&distance);
        }
        Some(key)
    }

    fn runs(&self) -> Vec<EqualLossRun> {
        let run = |(loss, keys): (&u64, &Vec<usize>)| EqualLossRun { cells: keys.len() as u64, loss: *loss };
        self.0.iter().map(run).collect()
    }
}

impl<K> Sealed for PreparedTop<K> {}

impl<K: Key> Prepared for PreparedTop<K> {
    type Tally = Cells<K>;
    type Answer = Answer<K, i128>;
    type Value = i128;

    fn tally(&self) -> Cells<K> {
        Cells::of(&self.keys)
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        false
    }

    fn accepts(&self, _: &[u8]) -> Result<(), Invalid> {
        Ok(())
    }

    fn draw(&self, exact: Cells<K>, _: Option<&[u8]>, noise: &mut NoiseSource) -> Drawn<Answer<K, i128>> {
        let (keys, numbers): (Vec<&K>, Vec<i128>) =
            exact.iter().map(|(key, cell)| (key, self.measure.value(cell, 1))).unzip();
        let mut left = KeysLeft::of(&numbers);
        let mut cells = Vec::with_capacity(self.picks as usize);
        for place in 1..=i128::from(self.picks) {
            let pick = left.take(self.choice.choose(&left.runs(), noise));
            let key = pick.and_then(|pick| keys.get(pick));
            // Nothing bounds the place of its number but the list.
            let estimate = Estimate::between(1, place, keys.len() as i128);
            cells.extend(key.map(|key| ((*key).clone(), estimate)));
        }
        Drawn { answer: Answer { cells, format: self.format.clone(), room: None }, state: None, step: None }
    }
}
