//! Marginals: tables of counts over combinations of public categories, of one count of the same people or records.
//!
//! Tables that share attributes hold much of the same: each is made of *residuals*, of which that of a set of attributes is what
//! no table of fewer of them says. Each residual is measured once, with noise of its own, and each table is put together from the
//! residuals of its attributes. So tables agree in all of their sums, and together they err as little as any Gaussian noise
//! can, where a person has one combination ([`shape::marginals`](crate::accounting::shape::Marginals) has the parts of the price, and the bounds).
//!
//! # In whole numbers
//!
//! With `n_i` categories of attribute `i`, and `m_A` for the counts of the table of the attributes `A`,
//!
//! ```text
//! c_A = product over A of (n_i I - 1 1^T), times m_A        whole numbers: the residual, times all n_i of A
//! y_A = c_A + z,   z independent on every cell, of variance S_A
//! ```
//!
//! One record moves `c_A` by a vector of which the squared length is exactly the product of `n_i (n_i - 1)` over `A`: along
//! attribute `i` one entry moves by `n_i - 1`, and `n_i - 1` others by 1. So it costs `prod n_i (n_i - 1) / 2 S_A`, and all of them
//! are one vector, whose costs add up. A person with `m` records of one combination moves each `c_A` by `m` times as much; several
//! different combinations move it by less than as many times, since few of their cells are the same ([`combinations`]).
//!
//! The rest needs no proof of privacy: `y_A` is projected to the space of residuals again, which takes the part of the noise
//! away that is outside of it, and divided by all `n_i`; a table is the sum over all `A` of its attributes, each spread evenly over
//! the attributes that `A` does not have.

mod combinations;
mod prepared;
mod residuals;
mod tables;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;

use super::answer::DecimalPoint;
use super::bound::{ContributionBound, Sensitivity};
use super::keys::{Key, Keys};
use super::mechanism::Sealed;
use super::spend::Cut;
use super::statistic::{Cell, Cells, KeyedStatistic, Statistic};
use crate::canonical::Digest;
use crate::invalid::{Invalid, InvalidKind};

pub use prepared::NoisyMarginals;
pub use tables::{Attribute, MarginalCell, MarginalTables};

/// The counts of several tables of the same people or records, by keys that have a text for each attribute.
///
/// ```
/// use discreet::mechanisms::{Attribute, Bound, Gaussian, MarginalCounts, MarginalTables, Mechanism};
///
/// let country = Attribute::new("country", ["DE", "FR", "other"])?;
/// let device = Attribute::new("device", ["phone", "desk"])?;
/// let tables = MarginalTables::new([country, device], &[&["country", "device"], &["country"]])?;
/// let counts = MarginalCounts::<Vec<String>>::records(Bound::keys(1).checked()?, tables)?;
/// let marginals = Gaussian::rho(0.1).prepare(&counts)?;
/// println!("cells of each table err by {:?}", marginals.deviations());
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct MarginalCounts<K> {
    tables: MarginalTables,
    limits: ContributionBound,
    counts_people: bool,
    moved: Sensitivity,
    key: PhantomData<fn() -> K>,
}

impl<K: Key> MarginalCounts<K> {
    /// Counts records: of one person at most [`per_key`](super::Bound::per_key) in each of [`keys`](super::Bound::keys) combinations
    /// of categories of all attributes. A key of a tally is such a combination, and any other key counts nowhere.
    ///
    /// # Errors
    /// Names `weight` where people count in part, and `bound` where a person moves a number by more than 2^40.
    pub fn records(limits: ContributionBound, tables: MarginalTables) -> Result<MarginalCounts<K>, Invalid> {
        MarginalCounts::new(limits, tables, false)
    }

    /// Counts people: each once in each of [`keys`](super::Bound::keys) combinations of all attributes, so that somebody of several
    /// combinations counts several times in a table of fewer attributes.
    ///
    /// # Errors
    /// As [`records`](MarginalCounts::records).
    pub fn people(limits: ContributionBound, tables: MarginalTables) -> Result<MarginalCounts<K>, Invalid> {
        MarginalCounts::new(limits, tables, true)
    }

    fn new(
        limits: ContributionBound,
        tables: MarginalTables,
        counts_people: bool,
    ) -> Result<MarginalCounts<K>, Invalid> {
        if limits.weight().is_some() {
            let remedy = "no weight: a person counts in a number of combinations";
            return Err(Invalid::new("weight", InvalidKind::Mixed, remedy));
        }
        let each = if counts_people { 1 } else { limits.per_key() };
        let moved = Sensitivity::each(&limits, each.into())?;
        Ok(MarginalCounts { tables, limits, counts_people, moved, key: PhantomData })
    }

    /// The tables.
    pub fn tables(&self) -> &MarginalTables {
        &self.tables
    }

    /// Returns the statistic as it was stated. What is released is named by the tables, and any key may come.
    fn stated<'s>(&'s self, no_keys: &'s Keys<K>, also: Digest) -> KeyedStatistic<'s, K> {
        KeyedStatistic {
            measure: self.noun(),
            range: None,
            limits: &self.limits,
            keys: no_keys,
            point: DecimalPoint::WHOLE,
            counts_people: false,
            cut: self.cut(),
            families: None,
            also: Some(also),
        }
    }

    /// Returns the noun of the counts.
    fn noun(&self) -> &'static str {
        if self.counts_people { "people" } else { "records" }
    }

    /// Returns the count of a cell.
    fn number(&self, cell: &Cell) -> i128 {
        if self.counts_people { cell.people.into() } else { cell.records.into() }
    }

    /// Returns the additional cost of a part of a person: others of its records may take the place of those that are gone.
    pub(crate) fn cut(&self) -> Cut {
        Cut::two_steps(&self.limits)
    }

    /// No list: a combination of no category is left out of the tables, and not of the tally.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        None
    }

    /// Returns the contribution of one person to a combination.
    pub(crate) fn contribution(&self, records: u64, _: i128) -> Cell {
        match records {
            0 => Cell::default(),
            records => Cell { people: 1, records: records.min(self.limits.per_key()), sum: 0 },
        }
    }

    /// Returns false: nobody counts in part.
    pub(crate) fn weighs(&self) -> bool {
        false
    }

    /// Weighs no share.
    pub(crate) fn weigh(&self, _shares: &mut [Cell]) {}
}

impl<K> Sealed for MarginalCounts<K> {}

impl<K: Key> Statistic for MarginalCounts<K> {
    type Tally = Cells<K>;

    /// Of the counts of all combinations.
    fn sensitivity(&self) -> Sensitivity {
        self.moved
    }
}
