//! One noised whole number a key.

use super::additive::Additive;
use super::answer::{Answer, Noised};
use super::keys::Key;
use super::laws::Asked;
use super::mechanism::{Drawn, Ready};
use super::selection::{Column, Selection, delta};
use super::sensitivity::Sensitivity;
use super::statistic::{Statistic, Total};
use super::tally::Cells;
use crate::accounting::Cost;
use crate::invalid::Invalid;
use crate::noise::Noise;

/// Counts, people or sums with additive noise, ready to be drawn.
///
/// Private for one unit more or less, at [`cost`](Ready::cost) a window. With public keys every window asks for as many
/// draws as there are keys. With keys to discover, what is asked for differs between neighbours in two numbers of draws:
/// that of the threshold, by the keys that only one of them has and that are not public; and, where the value has a draw
/// of its own, that of the values, which is the number of rows told and so part of the answer that is paid for.
#[derive(Clone, Debug)]
pub struct NoisyTotals<K> {
    total: Total<K>,
    selection: Selection<K>,
    column: Column,
    confidence: f64,
    cost: Cost,
}

impl<K: Key> NoisyTotals<K> {
    pub(super) fn new(asked: &Asked, total: &Total<K>) -> Result<NoisyTotals<K>, Invalid> {
        let (spend, confidence, moved) = (asked.spend()?, asked.confidence()?, total.sensitivity());
        let discovers = total.keys.discovers();
        let shared = discovers && total.counts_people();
        let (selecting, telling) =
            if discovers && !shared { spend.split(asked.selecting()?) } else { (spend, spend) };
        let column = Column::new(Additive::within(asked.family, telling, &moved)?, shared, confidence)?;
        let limits = total.limits();
        let selection = Selection::new(&total.keys, limits.keys(), || {
            Additive::within(asked.family, selecting, &Sensitivity::each(limits, 1)?)
        })?;
        let cost = spend.cost(moved.neighbours(), delta(&total.keys)?);
        Ok(NoisyTotals { total: total.clone(), selection, column, confidence, cost })
    }

    /// The noise of each number.
    pub fn noise(&self) -> Vec<Noised> {
        vec![self.column.noised(self.total.measures())]
    }

    /// The least noised number of people with which a key becomes public, where keys are discovered.
    pub fn threshold(&self) -> Option<i64> {
        self.selection.threshold().map(|threshold| threshold.least())
    }
}

impl<K: Key> Ready for NoisyTotals<K> {
    type Tally = Cells<K>;
    type Answer = Answer<K, i128>;

    fn tally(&self) -> Cells<K> {
        self.selection.tally()
    }

    fn cost(&self) -> &Cost {
        &self.cost
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        self.selection.accepts(state)
    }

    fn draw(&self, exact: Cells<K>, state: Option<&[u8]>, noise: &mut Noise) -> Drawn<Answer<K, i128>> {
        let rows = self.selection.rows(exact, state, noise);
        let value = |cell: &_| self.total.value(cell);
        let estimates = self.column.estimates(&rows.rows, value, self.selection.threshold(), noise);
        rows.drawn(estimates, self.noise(), self.confidence)
    }
}
