//! A cell for each key, under additive noise: all that totals and means settle alike.

use super::additive::{Additive, Family};
use super::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use super::keys::Key;
use super::laws::UncheckedNoise;
use super::mechanism::{Drawn, Ready};
use super::parameters::parameters;
use super::point::DecimalPoint;
use super::selection::{SelectedRow, Selection, delta};
use super::sensitivity::Sensitivity;
use super::spend::Spend;
use super::statistic::KeyedStatistic;
use super::tally::{Cells, Summary};
use super::threshold::Threshold;
use crate::accounting::ReleaseCost;
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::sealed::Sealed;
use crate::noise::NoiseSource;

/// A number a key with additive noise, ready to be drawn: [`NoisyTotals`](super::NoisyTotals), or
/// [`NoisyMeans`](super::NoisyMeans).
///
/// Private for one unit more or less, at [`cost`](Ready::cost) a window. With public keys every window asks for as many
/// draws as there are keys, of each number. With keys to discover, what is asked for differs between neighbours in two
/// numbers of draws: that of the threshold, by the keys that only one of them has and that are not public; and, where the
/// value has a draw of its own, that of the values, which is the number of rows told and so part of the answer that is
/// paid for.
#[derive(Clone, Debug)]
pub struct Noisy<K, N> {
    selection: Selection<K>,
    numbers: N,
    told: EstimateFormat,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    reaches: Vec<f64>,
    cost: ReleaseCost,
    parameters: Digest,
}

/// What is told of numbers. It is apart from them because the type of an answer is public.
pub trait Tells: Send + Sync + 'static {
    /// What must be known of a key.
    type Cell: Summary;

    /// A whole number, or a mean.
    type Told: Send + 'static;
}

/// What a key is told by: a number, or two that make one.
pub(super) trait Numbers: Tells {
    /// The noise of each, in what it is told in.
    fn noise(&self, point: DecimalPoint) -> Vec<Noised>;

    /// How many estimates a key has.
    fn each(&self) -> EstimatesPerKey {
        EstimatesPerKey::One
    }

    /// How far to either side of each its interval reaches, in what it is told in.
    fn reaches(&self, point: DecimalPoint) -> Vec<f64>;

    /// The noise of the one that is the number of people, if one is.
    fn people(&self) -> Option<&Additive> {
        None
    }

    /// How many of the largest people it must know of, where that is all.
    fn largest(&self) -> Option<usize> {
        None
    }

    /// As many estimates a row as [`each`](Numbers::each) says.
    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, Self::Cell>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<Self::Told>>;
}

/// `numbers` is given what there is to spend on telling, and whether one draw both decides and tells.
pub(super) fn settled<K: Key, N: Numbers>(
    asked: &UncheckedNoise,
    stated: &KeyedStatistic<'_, K>,
    numbers: impl FnOnce(Spend, bool) -> Result<N, Invalid>,
) -> Result<Noisy<K, N>, Invalid> {
    let (spend, confidence) = (asked.spend()?, asked.confidence()?);
    let discovers = stated.keys.discovers();
    let shared = discovers && stated.counts_people;
    let (selecting, telling) =
        if discovers && !shared { spend.split(asked.selecting()?) } else { (spend, spend) };
    let numbers = numbers(telling, shared)?;
    let person = Sensitivity::each(stated.limits, 1)?;
    let selection = Selection::new(stated.keys, stated.limits.keys(), || {
        let people = numbers.people().filter(|_| shared).cloned();
        people.map_or_else(|| Additive::within(asked.family, selecting, &person), Ok)
    })?;
    let delta = delta(stated.keys)?;
    Ok(Noisy {
        selection,
        told: EstimateFormat {
            noise: numbers.noise(stated.point),
            point: stated.point,
            confidence,
            each: numbers.each(),
            of: None,
        },
        reaches: numbers.reaches(stated.point),
        numbers,
        cost: spend.cost_with(person.neighbours(), delta, (stated.cut, asked.family == Family::Gaussian))?,
        parameters: parameters(asked, spend, delta, stated),
    })
}

impl<K: Key, N> Noisy<K, N> {
    /// The noise of each number: a total's, or a mean's sum, in whole units, and then its count.
    pub fn noise(&self) -> &[Noised] {
        &self.told.noise
    }

    /// How far to either side of each number its interval reaches, in what it is told in: those of a mean hold together.
    #[cfg(feature = "cli")]
    pub(crate) fn reaches(&self) -> &[f64] {
        &self.reaches
    }

    /// The least noised number of people with which a key becomes public, where keys are discovered.
    pub fn threshold(&self) -> Option<i64> {
        self.selection.threshold().map(|threshold| threshold.least())
    }
}

impl<K, N> Sealed for Noisy<K, N> {}

impl<K: Key, N: Numbers> Ready for Noisy<K, N> {
    type Tally = Cells<K, N::Cell>;
    type Answer = Answer<K, N::Told>;

    fn tally(&self) -> Cells<K, N::Cell> {
        self.selection.tally()
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        self.selection.threshold().is_some()
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        self.selection.accepts(state)
    }

    fn largest(&self) -> Option<usize> {
        self.numbers.largest()
    }

    fn draw(
        &self,
        exact: Cells<K, N::Cell>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<K, N::Told>> {
        let mut rows = self.selection.rows(exact, state, noise);
        let estimates = self.numbers.estimates(&mut rows.rows, self.selection.threshold(), noise);
        rows.drawn(estimates, self.told.clone())
    }
}
