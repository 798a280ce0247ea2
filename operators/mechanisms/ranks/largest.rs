//! Monotone functions of unbounded values: what each person has may be any number.

use std::any::TypeId;
use std::sync::Arc;

use super::grid::Grid;
use super::tops::{RankedTops, RemainingPeople, Tops};
use crate::canonical::Canonical;
use crate::invalid::Invalid;
use crate::mechanisms::answer::{DecimalPoint, Estimate, Noised, Ranks};
use crate::mechanisms::bound::{ContributionBound, Sensitivity};
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::spend::Cut;
use crate::mechanisms::statistic::{Cells, KeyedStatistic, Statistic};

/// The value of a person in a key, made of all of the person's records there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PerPerson {
    /// The greatest of their values.
    Greatest,
    /// The least of their values.
    Least,
    /// The sum of their values.
    Sum,
    /// The number of records.
    Records,
}

impl PerPerson {
    /// Returns the value of one record that came this number of times.
    pub fn of(self, value: i64, copies: i128) -> i128 {
        match self {
            PerPerson::Greatest | PerPerson::Least => value.into(),
            PerPerson::Sum => copies.saturating_mul(value.into()),
            PerPerson::Records => copies,
        }
    }

    /// Combines the values of two records, or of two parts of them: the same in every order and division.
    pub fn together(self, one: i128, other: i128) -> i128 {
        match self {
            PerPerson::Greatest => one.max(other),
            PerPerson::Least => one.min(other),
            // 2^64 values of 64 bits fit 128; a sum that wraps would still be the same in every order.
            PerPerson::Sum | PerPerson::Records => one.wrapping_add(other),
        }
    }

    /// Returns the value for which one person counts.
    pub(crate) fn clamped(value: i128) -> i64 {
        // Between two numbers of 64 bits it is one.
        value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            PerPerson::Greatest => "greatest",
            PerPerson::Least => "least",
            PerPerson::Sum => "sum",
            PerPerson::Records => "records",
        }
    }
}

/// A monotone function of what people have, one number a key: the largest, or one of your own.
///
/// Neither a person's values nor the answer are bounded. The answer is one of a public grid, and is found by
/// how many people must leave for the function to fall to it.
#[derive(Clone, Debug)]
pub struct Largest<K, F> {
    function: F,
    each: PerPerson,
    grid: Grid,
    limits: ContributionBound,
    keys: Keys<K>,
    sensitivity: Sensitivity,
    point: DecimalPoint,
}

impl<K: Key, F: Monotone> Largest<K, F> {
    /// The function, of what each person has, released as a point of the grid. Of the limits only the number
    /// of keys matters: a person is one value a key, however many records they left.
    ///
    /// One person moves the loss of `keys` keys by 1 each, at every point of the grid.
    ///
    /// # Errors
    /// Never, for limits that were checked.
    pub fn new(
        function: F,
        each: PerPerson,
        grid: Grid,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<Largest<K, F>, Invalid> {
        let sensitivity = Sensitivity::each(&limits, 1)?;
        let grid = if F::REVERSED { grid.reversed() } else { grid };
        Ok(Largest { function, each, grid, limits, keys, sensitivity, point: DecimalPoint::WHOLE })
    }

    /// Sets the decimal point of the answer. Values and the grid are in the steps that it leaves.
    #[must_use]
    pub fn with_point(self, point: DecimalPoint) -> Largest<K, F> {
        Largest { point, ..self }
    }

    /// Returns the value of each person.
    pub fn each(&self) -> PerPerson {
        self.each
    }

    /// Returns the tally of a key that one person alone has, with this value.
    pub fn of_one(&self, value: i128) -> Tops {
        let mut tops = Tops::default();
        tops.add(self.contribution(value), usize::MAX);
        tops
    }

    /// Returns the value for which one person counts, in reverse order if the function asks for that.
    pub(crate) fn contribution(&self, value: i128) -> i64 {
        let value = if F::REVERSED { !value } else { value };
        // Between two numbers of 64 bits it is one.
        value.clamp(F::LEAST.into(), i64::MAX.into()) as i64
    }

    /// The only keys that it is released for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    pub(super) fn function(&self) -> &F {
        &self.function
    }

    /// Returns the grid in the order in which it is searched.
    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// `how` names the way in which it is found.
    pub(super) fn stated(&self, how: &str) -> KeyedStatistic<'_, K> {
        let form = Canonical::new("discreet largest 1").text(how).text(&self.function.name());
        KeyedStatistic {
            measure: "largest",
            range: None,
            limits: &self.limits,
            keys: &self.keys,
            point: self.point,
            counts_people: false,
            cut: Cut::two_steps(&self.limits),
            families: None,
            also: Some(self.grid.canonical(form.text(self.each.name())).finish()),
        }
    }
}

impl<K, F> Sealed for Largest<K, F> {}

impl<K: Key, F: Monotone> Statistic for Largest<K, F> {
    type Tally = Cells<K, Tops>;

    /// Of the losses at any one point of the grid, over all keys.
    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

// Functions that more people never make smaller, and how many people must leave for one to fall.

/// A function of what people have, that never falls when somebody comes, or has more.
///
/// That is the whole of the contract, and privacy rests on it. How far one person moves the function itself
/// does not matter: it may be without end. A function of your own is therefore monotone by your word, and its
/// lines say so (`"assumes"`). It sees what records come to, and must have no side effects. What is released
/// is found by the function's *loss*: how many people must leave so that it falls to a given value, or below.
/// Whoever comes or leaves changes that by one at most. [`loss_moves_by_one`] looks for a counterexample.
///
/// ```
/// use discreet::mechanisms::{RemainingPeople, Monotone, loss_moves_by_one};
///
/// /// What the third of all people has: that many have at least so much.
/// #[derive(Clone)]
/// struct Third;
///
/// impl Monotone for Third {
///     const LOOKS_AT: usize = 3;
///
///     fn name(&self) -> String {
///         "what the third has".to_owned()
///     }
///
///     fn value(&self, people: &RemainingPeople<'_>) -> i128 {
///         people.largest.get(2).map_or(i128::MIN, |third| (*third).into())
///     }
/// }
///
/// assert!(loss_moves_by_one(&Third, &[5, 9, 7, 7, 1], &[0, 7, 8, 20]));
/// ```
///
/// # Why the loss moves by one
///
/// Of all ways in which `j` people may leave, none makes a monotone function fall farther than that the `j`
/// largest do: those who are left have, one by one, no more than those who would be left otherwise. So the
/// loss is the least `j` for which the value without the `j` largest is `y` or below. Let somebody come.
/// Without the `j + 1` largest of the larger company, everybody has at most what they have without the `j`
/// largest of the smaller one, so the loss grows by one at most. Without the `j` largest of the larger
/// company, everybody who is left in the smaller one has somebody in the larger who has as much, so it does
/// not fall. The least of two such losses, or of one and a number, moves no farther.
pub trait Monotone: Clone + Send + Sync + 'static {
    /// At how many of the largest people it looks. It sees those, how many people there are, and what they
    /// have together.
    const LOOKS_AT: usize;

    /// The value for which a person counts who has less than this.
    const LEAST: i64 = i64::MIN;

    /// True if it is a function of values in reverse order, and so finds a smallest one: it is given
    /// `-1 - value` for each value, which unlike `-value` is never out of range, and its answer is turned
    /// back.
    const REVERSED: bool = false;

    /// Returns the name of the function. It is part of a release's identity: another function has another
    /// name.
    fn name(&self) -> String;

    /// The function, of these people: of nobody, its least value.
    fn value(&self, people: &RemainingPeople<'_>) -> i128;
}

/// The largest that anybody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maximum;

impl Monotone for Maximum {
    const LOOKS_AT: usize = 1;

    fn name(&self) -> String {
        "largest".to_owned()
    }

    fn value(&self, people: &RemainingPeople<'_>) -> i128 {
        people.largest.first().map_or(i128::MIN, |largest| (*largest).into())
    }
}

/// The smallest that anybody has: the [`Maximum`] in reverse order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minimum;

impl Monotone for Minimum {
    const LOOKS_AT: usize = Maximum::LOOKS_AT;
    const REVERSED: bool = true;

    fn name(&self) -> String {
        "smallest".to_owned()
    }

    fn value(&self, people: &RemainingPeople<'_>) -> i128 {
        Maximum.value(people)
    }
}

/// The sum over all people, where nobody has less than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Altogether;

impl Monotone for Altogether {
    const LOOKS_AT: usize = 0;
    const LEAST: i64 = 0;

    fn name(&self) -> String {
        "altogether".to_owned()
    }

    fn value(&self, people: &RemainingPeople<'_>) -> i128 {
        people.total
    }
}

impl RankedTops {
    /// Returns the number of people who must leave so that a function falls to `y` or below; `most` if it
    /// takes as many, or more, or if it never does.
    ///
    /// What is known must reach [`Monotone::LOOKS_AT`] beyond `most`.
    pub(super) fn loss<F: Monotone>(&self, function: &F, y: i64, most: u64) -> u64 {
        let above = |leaving| function.value(&self.without(leaving, F::LOOKS_AT)) > i128::from(y);
        // The value never grows when one more leaves.
        let (mut least, mut enough) = (0, most);
        while least < enough {
            let middle = least + (enough - least) / 2;
            if above(middle) { least = middle + 1 } else { enough = middle }
        }
        enough
    }
}

/// Returns true if leaving out any one of these people moves the loss of a function by more than one, or the
/// wrong way, at any of these values: a test for functions of your own, to be called with many random people.
pub fn loss_moves_by_one<F: Monotone>(function: &F, people: &[i64], values: &[i64]) -> bool {
    let most = people.len() as u64 + 1;
    let ranked = |people: &mut dyn Iterator<Item = i64>| {
        let mut tops = Tops::default();
        people.for_each(|value| tops.add(value.max(F::LEAST), most as usize + F::LOOKS_AT));
        tops.ranked()
    };
    // By its definition: a search would take for granted what is asked here.
    let least = |ranked: &RankedTops, y: i64| {
        let fallen = |leaving: &u64| function.value(&ranked.without(*leaving, F::LOOKS_AT)) <= i128::from(y);
        (0..most).find(fallen).unwrap_or(most)
    };
    let all = ranked(&mut people.iter().copied());
    (0..people.len()).all(|left_out| {
        let others = people.iter().enumerate().filter(|(at, _)| *at != left_out);
        let fewer = ranked(&mut others.map(|(_, value)| *value));
        values.iter().all(|&y| {
            let (more, less) = (least(&all, y), least(&fewer, y));
            more == less || more == less + 1
        })
    })
}

// Where in a grid a largest value is looked for, however it is found: below the largest, by a few people.

/// A monotone function, and the people it is allowed to be too small by.
#[derive(Clone, Debug)]
pub(super) struct Aim<F> {
    pub(super) function: F,
    pub(super) grid: Grid,
    /// So many people are aimed at, and twice as many may be above what is found.
    pub(super) tau: u64,
    /// From where on losses are all the same: above `2 tau`.
    pub(super) most: u64,
}

impl<F: Monotone> Aim<F> {
    /// `beyond` is how far above `2 tau` losses are still distinguished: at least 1, or what is far above
    /// would pass for less.
    pub(super) fn new<K: Key>(largest: &Largest<K, F>, tau: u64, beyond: f64) -> Aim<F> {
        let most = 2 * tau + beyond.ceil().max(1.0) as u64;
        Aim { function: largest.function().clone(), grid: largest.grid().clone(), tau, most }
    }

    /// Returns the number of people who must leave for the function to fall to a point between the ends.
    pub(super) fn loss(&self, ranked: &RankedTops, index: u64) -> u64 {
        ranked.loss(&self.function, self.grid.at(index).unwrap_or(i64::MAX), self.most)
    }

    /// An answer of the grid, and what is known of where the function is: above the point before, and nothing
    /// of how far.
    pub(super) fn estimate(&self, index: u64) -> Estimate<i128> {
        let at = |index: u64| self.grid.at(index).map(i128::from);
        let (least, last) = (at(1).unwrap_or(i128::MIN), at(self.grid.top()).unwrap_or(i128::MAX));
        let low = index.checked_sub(1).and_then(at).map_or(least, |below| below + 1);
        let found = Estimate::between(low, at(index).unwrap_or(last), last).open_above();
        if F::REVERSED { found.reversed() } else { found }
    }

    /// Returns the description of the noise, of this kind, with the guarantee of its rank.
    pub(super) fn noised(&self, kind: &'static str, scale: f64, comparisons: Option<u32>) -> Noised {
        let (tau, first) = (self.tau, self.estimate(1).value);
        let (ranks, number) = match F::REVERSED {
            false => (Ranks::Below { comparisons, tau, least: first }, "largest"),
            true => (Ranks::Above { comparisons, tau, most: first }, "smallest"),
        };
        Noised { ranks: Some(ranks), assumes: assumed::<F>(), ..Noised::of(number, kind, scale) }
    }

    /// By how many people it may be too small.
    pub(super) fn reach(&self) -> f64 {
        2.0 * self.tau as f64
    }

    /// Returns the number of the largest people that must be known.
    pub(super) fn people(&self) -> Option<usize> {
        usize::try_from(self.most).ok().map(|most| most.saturating_add(F::LOOKS_AT))
    }
}

/// Returns the assumption under which a user's function is released: that it is [`Monotone`] is proved for
/// the library's own functions alone.
fn assumed<F: Monotone>() -> Option<&'static str> {
    let own = [TypeId::of::<Maximum>(), TypeId::of::<Minimum>(), TypeId::of::<Altogether>()];
    (!own.contains(&TypeId::of::<F>())).then_some("monotone by its author's word")
}
