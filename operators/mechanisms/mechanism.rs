//! The interface between a mechanism, its statistic and a window.

use super::additive::{COUNTING, UncheckedNoise};
use super::answer::DecimalPoint;
use super::bound::{ContributionBound, Range};
use super::keys::{Key, KeyChoice, Keys};
use super::released::ReleasedValue;
use super::running::StateStep;
use super::spend::Spend;
use super::statistic::{KeyedStatistic, Statistic, Tally};
use crate::accounting::{BudgetUnits, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::Invalid;

/// A way to noise an `S`: what a release names.
///
/// The trait is sealed, and so is [`Prepared`]: a price that a ledger charges is computed by this library for
/// the noise that this library draws. A crate outside cannot state another:
///
/// ```compile_fail,E0277
/// use discreet::Invalid;
/// use discreet::mechanisms::{Gaussian, Mechanism, NoisyTotals, Total};
///
/// struct Cheap;
///
/// impl Mechanism<Total<u32>> for Cheap {
///     type Prepared = NoisyTotals<u32>;
///
///     fn prepare(&self, total: &Total<u32>) -> Result<NoisyTotals<u32>, Invalid> {
///         Gaussian::rho(1e-9).prepare(total)
///     }
/// }
/// ```
pub trait Mechanism<S: Statistic>: Sealed + Send + Sync + 'static {
    /// The same with every parameter settled.
    type Prepared: Prepared<Tally = S::Tally>;

    /// Settles every parameter: sensitivity, cost, scale, threshold. All that can be refused is refused here,
    /// before there is data; whatever comes back can be drawn from for ever.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    fn prepare(&self, statistic: &S) -> Result<Self::Prepared, Invalid>;
}

/// A mechanism that is ready for one statistic, window after window. Sealed: see [`Mechanism`].
///
/// ```compile_fail,E0277
/// use discreet::mechanisms::{Statistic, Sensitivity, Total};
///
/// struct Smaller(Total<u32>);
///
/// impl Statistic for Smaller {
///     type Tally = <Total<u32> as Statistic>::Tally;
///
///     fn sensitivity(&self) -> Sensitivity {
///         self.0.sensitivity()
///     }
/// }
/// ```
pub trait Prepared: Sealed + Send + Sync + 'static {
    /// The tally of a window that it needs.
    type Tally: Tally;

    /// The answer that it releases.
    type Answer: Send + 'static;

    /// The value that each key of a released answer has.
    type Value: ReleasedValue;

    /// An empty tally.
    fn tally(&self) -> Self::Tally;

    /// Returns the cost of each window, or of all of them together, by [`paid`](Prepared::paid). It sees no
    /// tally and no state: a price is public.
    fn cost(&self) -> &ReleaseCost;

    /// Returns the scope that the [`cost`](Prepared::cost) pays for.
    fn paid(&self) -> Paid {
        Paid::EachWindow
    }

    /// A hash of every parameter that an answer depends on: statistic, bound, keys, law, cost and whatever
    /// else was stated. It is part of the name of a release, so that other parameters are another release. No
    /// data is in it.
    fn parameters(&self) -> Digest;

    /// Returns true if it keeps state from one window to the next: windows are then drawn one after another.
    fn remembers(&self) -> bool;

    /// Checks that the state of a former window can be read: called once, before the first draw of a process.
    ///
    /// # Errors
    /// Names `state` where it was not written by this mechanism, or by a later version of it.
    fn accepts(&self, state: &[u8]) -> Result<(), Invalid>;

    /// Returns the part of the state of another version of a job that holds for this one, which pays anew:
    /// the public part.
    ///
    /// # Errors
    /// As [`accepts`](Prepared::accepts).
    fn inherits(&self, state: &[u8]) -> Result<Option<Vec<u8>>, Invalid> {
        self.accepts(state).map(|()| Some(state.to_vec()))
    }

    /// The state where this number of windows have passed since without a draw: they were skipped, or
    /// refused, or lost.
    fn passed_by(&self, state: &[u8], _windows: u64, _noise: &mut crate::noise::NoiseSource) -> Vec<u8> {
        state.to_vec()
    }

    /// Returns the number of the last windows that an answer covers, `u64::MAX` for all so far. An answer over several
    /// windows states those of them that were skipped.
    fn covers(&self) -> u64 {
        1
    }

    /// Returns the number of the largest people of a key that it needs, if it needs no others: fewer are then
    /// gathered. Without a number, what the statistic says of everybody.
    fn largest_needed(&self) -> Option<usize> {
        None
    }

    /// Draws. Total: there is no error, no second try, no panic, and the number of draws does not depend on
    /// their values but where the mechanism says so and has paid for it.
    ///
    /// `state` is what the window before left, and what is returned takes its place; none where nothing needs
    /// to last.
    fn draw(
        &self,
        exact: Self::Tally,
        state: Option<&[u8]>,
        noise: &mut crate::noise::NoiseSource,
    ) -> Drawn<Self::Answer>;
}

/// The scope that a cost pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paid {
    /// One window.
    EachWindow,
    /// All windows together, before the first: a stated number, or all there will be.
    Once {
        /// The number of windows after which it ends.
        windows: Option<u64>,
    },
}

/// The result of a draw: an answer to be released, and the state for the next window.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn<A> {
    /// The answer, which may be released.
    pub answer: A,
    /// The state that the next window is given; its first byte is the version of its format.
    pub state: Option<Vec<u8>>,
    /// The step from the former state to this one, or to one that is much like it, where that is smaller than
    /// what it changes.
    pub step: Option<StateStep>,
}

// The private supertrait of all traits whose implementations state a price or a sensitivity.
//
// A crate outside cannot name [`Sealed`], so it cannot implement [`Mechanism`](super::Mechanism),
// [`Prepared`](super::Prepared), [`Statistic`](super::Statistic), [`Tally`](super::Tally) or
// [`Answers`](super::queries::Answers). What a ledger charges is then what this library proves for the noise
// that it draws.

/// A type of this library.
pub trait Sealed {}

// Every parameter that an answer depends on, in one canonical form.
//
// It goes into the names of releases, so it is a format: whatever changes it needs another number, and gives
// every release another name. All that was stated counts, whether or not it matters beside the rest.
//
// What a key is made of is not in it, for no list is at hand where keys are discovered: a closure that gives
// other keys is other code, and needs another version of its job.

pub(super) fn parameters<K: Key>(
    asked: &UncheckedNoise,
    spend: Spend,
    delta: BudgetUnits,
    stated: &KeyedStatistic<'_, K>,
) -> Digest {
    let form = Canonical::new("discreet mechanism 1").text(stated.measure);
    let form = keys(limits(range(form, stated.range), stated.limits), stated.keys, delta);
    let (currency, amount) = match spend {
        Spend::Pure(epsilon) => ("epsilon", epsilon),
        Spend::Rho(rho) => ("rho", rho),
        Spend::Mu(rho) => ("mu^2 / 2", rho),
    };
    let form = form
        .text(asked.family.name())
        .text(currency)
        .bytes(&amount.to_bits().to_be_bytes())
        .bytes(&asked.confidence.to_bits().to_be_bytes())
        .number(asked.stated_selecting().into())
        .number(asked.counting.unwrap_or(COUNTING).into());
    // Numbers that are released as they are had this form before there was a choice.
    let form = match stated.point {
        DecimalPoint::WHOLE => form,
        point => form.text("point").number(point.count().into()),
    };
    // A level above has one form: the parents follow from the keys.
    let form = if stated.families.is_some() { form.text("rollup") } else { form };
    match &stated.also {
        None => form.finish(),
        Some(also) => form.text("also").digest(also).finish(),
    }
}

fn range(form: Canonical, range: Option<Range>) -> Canonical {
    match range {
        None => form.text("no range"),
        Some(range) => form.text("range").number(range.low()).number(range.high()),
    }
}

fn limits(form: Canonical, limits: &ContributionBound) -> Canonical {
    let form = form
        .text(&limits.unit().to_string())
        .bytes(&limits.keys().to_be_bytes())
        .bytes(&limits.per_key().to_be_bytes());
    let form = match limits.windows() {
        None => form.text("all windows"),
        Some(windows) => form.text("windows").bytes(&windows.to_be_bytes()),
    };
    match limits.weight() {
        None => form,
        Some(weight) => form.text("weight").text(weight.norm().name()).bytes(&weight.most().to_be_bytes()),
    }
}

fn keys<K: Key>(form: Canonical, keys: &Keys<K>, delta: BudgetUnits) -> Canonical {
    match &keys.0 {
        KeyChoice::Public(list) => {
            let form = form.text("public").bytes(&(list.len() as u64).to_be_bytes());
            list.iter().fold(form, |form, key| form.bytes(&key.to_bytes()))
        }
        KeyChoice::Discover { at_most, people, .. } => {
            let form = form.text("discover").bytes(&delta.to_bits().to_be_bytes());
            let form = form.bytes(&(*at_most as u64).to_be_bytes());
            // It is there where one is stated, so that versions from before it hold.
            if *people > 1 { form.text("from").bytes(&people.to_be_bytes()) } else { form }
        }
    }
}

#[cfg(test)]
mod tests;
