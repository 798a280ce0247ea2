//! Functions that more people never make smaller, and how many people must leave for one to fall.

use super::tops::{RankedTops, RemainingPeople};

/// A function of what people have, that never falls when somebody comes, or has more.
///
/// That is the whole of the contract, and privacy rests on it. How far one person moves the function itself does not
/// matter: it may be without end. A function of your own is therefore monotone by your word, and its lines say so
/// (`"assumes"`). It sees what records come to, and must have no side effects. What is released is found by the function's *loss*: how many people must leave so that
/// it falls to a given value, or below. Whoever comes or leaves changes that by one at most. [`loss_moves_by_one`] looks
/// for a counterexample.
///
/// ```
/// use discreet::mechanisms::{Left, Monotone, loss_moves_by_one};
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
///     fn value(&self, people: &Left<'_>) -> i128 {
///         people.largest.get(2).map_or(i128::MIN, |third| (*third).into())
///     }
/// }
///
/// assert!(loss_moves_by_one(&Third, &[5, 9, 7, 7, 1], &[0, 7, 8, 20]));
/// ```
///
/// # Why the loss moves by one
///
/// Of all ways in which `j` people may leave, none makes a monotone function fall farther than that the `j` largest do:
/// those who are left have, one by one, no more than those who would be left otherwise. So the loss is the least `j` for
/// which the value without the `j` largest is `y` or below. Let somebody come. Without the `j + 1` largest of the larger
/// company, everybody has at most what they have without the `j` largest of the smaller one, so the loss grows by one at
/// most. Without the `j` largest of the larger company, everybody who is left in the smaller one has somebody in the larger
/// who has as much, so it does not fall. The least of two such losses, or of one and a number, moves no farther.
pub trait Monotone: Clone + Send + Sync + 'static {
    /// At how many of the largest people it looks. It sees those, how many people there are, and what they have together.
    const LOOKS_AT: usize;

    /// What a person counts for who has less than this.
    const LEAST: i64 = i64::MIN;

    /// What it is called. It is part of a release's identity: another function has another name.
    fn name(&self) -> String;

    /// The function, of these people: of nobody, its least value.
    fn value(&self, people: &RemainingPeople<'_>) -> i128;
}

/// The largest that anybody has.
#[derive(Clone, Copy, Debug)]
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

/// What all people have together, where nobody has less than nothing.
#[derive(Clone, Copy, Debug)]
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
    /// How many people must leave so that a function falls to `y` or below; `most` if it takes as many, or more, or if it
    /// never does.
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

/// Whether leaving out any one of these people moves the loss of a function by more than one, or the wrong way, at any of
/// these values: a test for functions of your own, to be asked of many random people.
pub fn loss_moves_by_one<F: Monotone>(function: &F, people: &[i64], values: &[i64]) -> bool {
    let most = people.len() as u64 + 1;
    let ranked = |people: &mut dyn Iterator<Item = i64>| {
        let mut tops = super::Tops::default();
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
