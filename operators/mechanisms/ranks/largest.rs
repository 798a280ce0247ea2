//! What is asked where one person could hold anything: a monotone function of what each person has.

use std::sync::Arc;

use super::grid::Grid;
use super::monotone::Monotone;
use super::tops::Tops;
use crate::canonical::Canonical;
use crate::invalid::Invalid;
use crate::mechanisms::bound::ContributionBound;
use crate::mechanisms::cut::Cut;
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::point::DecimalPoint;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::sensitivity::Sensitivity;
use crate::mechanisms::statistic::{KeyedStatistic, Statistic};
use crate::mechanisms::tally::Cells;

/// What a person has in a key, of all records that they left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PerPerson {
    /// The greatest of their values.
    Greatest,
    /// The sum of their values.
    Sum,
    /// How many there are.
    Records,
}

impl PerPerson {
    /// What one record brings, that came so many times.
    pub fn of(self, value: i64, copies: i128) -> i128 {
        match self {
            PerPerson::Greatest => value.into(),
            PerPerson::Sum => copies.saturating_mul(value.into()),
            PerPerson::Records => copies,
        }
    }

    /// What two records bring, or two parts of them: the same in every order and division.
    pub fn together(self, one: i128, other: i128) -> i128 {
        match self {
            PerPerson::Greatest => one.max(other),
            // 2^64 values of 64 bits fit 128; a sum that wraps would still be the same in every order.
            PerPerson::Sum | PerPerson::Records => one.wrapping_add(other),
        }
    }

    fn name(self) -> &'static str {
        match self {
            PerPerson::Greatest => "greatest",
            PerPerson::Sum => "sum",
            PerPerson::Records => "records",
        }
    }
}

/// A monotone function of what people have, one number a key: the largest, or one of your own.
///
/// Neither a person's values nor the answer are bounded. The answer is one of a public grid, and is found by how many people
/// must leave for the function to fall to it.
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
    /// The function, of what each person has, told as a point of the grid. Of the limits only the number of keys matters: a
    /// person is one value a key, however many records they left.
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
        Ok(Largest { function, each, grid, limits, keys, sensitivity, point: DecimalPoint::WHOLE })
    }

    /// Tells the answer with its decimal point there. Values and the grid are in the steps that it leaves.
    #[must_use]
    pub fn told_in(self, point: DecimalPoint) -> Largest<K, F> {
        Largest { point, ..self }
    }

    /// What a person's records are together.
    pub fn each(&self) -> PerPerson {
        self.each
    }

    /// What is known of a key that one person alone has, with this.
    pub fn of_one(&self, value: i128) -> Tops {
        let mut tops = Tops::default();
        tops.add(self.contribution(value), usize::MAX);
        tops
    }

    /// What one person counts for.
    pub(crate) fn contribution(&self, value: i128) -> i64 {
        // Between two numbers of 64 bits it is one.
        value.clamp(F::LEAST.into(), i64::MAX.into()) as i64
    }

    /// The only keys that it is told for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    pub(super) fn function(&self) -> &F {
        &self.function
    }

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
