//! The stage of windows: spans, lateness and the time to give up.

use std::rc::Rc;
use std::sync::Arc;

use super::bounded::Bounded;
use super::protect::Private;
use super::protect::RecordIdentity;
use super::unit::{NamedRecords, People, Person, ProtectedUnit, Records};
use crate::dataflow::driver::Fed;
use crate::dataflow::engine::Travels;
use crate::dataflow::windows::{Clock, Schedule, Windows};
use crate::invalid::Invalid;
use crate::mechanisms::{Bound, ContributionBound};
use crate::time::{Span, Time};

/// A protected stream with its windows. Prints as `<private>`.
///
/// It claims nothing yet: a unit more or less changes any number of its records. Nothing here panics.
///
/// Nobody's share is bounded yet, so no statistic can be asked for:
///
/// ```compile_fail,E0599
/// # use discreet::dataflow::Fed;
/// # use discreet::time::minutes;
/// # fn pipeline(visits: Fed<'_, (u64, i64)>) {
/// visits.protect(|visit| visit.0).tumbling(minutes(10), |visit| visit.1).from(0).count();
/// # }
/// ```
pub struct Windowed<'scope, D, U: ProtectedUnit<D>, T> {
    pub(super) items: Fed<'scope, U::Item>,
    pub(super) unit: Rc<U>,
    pub(super) time: Rc<T>,
    pub(super) windows: Windows,
    pub(super) refused: Option<Invalid>,
}

redacted!([D, U: ProtectedUnit<D>, T] Windowed<'_, D, U, T>);

impl<'scope, D, U: ProtectedUnit<D>, T> Windowed<'scope, D, U, T> {
    pub(super) fn new(
        private: Private<'scope, D, U>,
        time: Rc<T>,
        schedule: Result<Schedule, Invalid>,
    ) -> Windowed<'scope, D, U, T> {
        let Private { items, unit } = private;
        let (schedule, refused) = match schedule {
            Ok(schedule) => (Some(schedule), None),
            Err(refused) => (None, Some(refused)),
        };
        let windows = Windows { schedule, late: None, skipping: None, at_end: false };
        Windowed { items, unit: Rc::new(unit), time, windows, refused }
    }

    /// Windows stay open for so long after their end. A record is late if its source had declared the end of
    /// its window, and this, complete before it gave the record; late records do not count, and how many
    /// there are is private.
    #[must_use]
    pub fn late(mut self, late: impl TryInto<Span, Error: Into<Invalid>>) -> Self {
        match late.try_into() {
            Ok(late) => self.windows.late = Some(late),
            Err(refused) => self.refuse(refused.into()),
        }
        self
    }

    /// Windows that are not complete when a public clock has passed their close by so long are skipped, at no
    /// cost, and never released late.
    #[must_use]
    pub fn skipping(
        mut self,
        clock: Arc<dyn Clock>,
        after: impl TryInto<Span, Error: Into<Invalid>>,
    ) -> Self {
        match after.try_into() {
            Ok(after) => self.windows.skipping = Some((clock, after)),
            Err(refused) => self.refuse(refused.into()),
        }
        self
    }

    /// Nothing is released before the input has ended, whatever is declared complete before: what came in
    /// order may turn out not to have. What is held of persons is given up as their windows are complete.
    #[cfg(feature = "cli")]
    pub(crate) fn at_the_end(mut self) -> Self {
        self.windows.at_end = true;
        self
    }

    fn refuse(&mut self, refused: Invalid) {
        self.refused.get_or_insert(refused);
    }

    pub(crate) fn within(mut self, limits: Result<ContributionBound, Invalid>) -> Bounded<'scope, D, U, T> {
        let limits = limits.unwrap_or_else(|refused| {
            self.refuse(refused);
            // Nothing is counted by it: the run is refused.
            ContributionBound::RECORD
        });
        Bounded::new(self, limits)
    }
}

/// An identity of records among those of their person.
pub trait OfPeople {}

impl OfPeople for super::protect::DistinctRecords {}
impl OfPeople for super::protect::Multiplicity {}
impl<I, G> OfPeople for super::protect::RecordId<I, G> {}

impl<'scope, D, P, F, N, T> Windowed<'scope, D, People<P, F, N>, T>
where
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D> + OfPeople,
{
    /// Sets the contribution bound of one person in a window: the last stage before a statistic, so that
    /// nothing is done to a record after its person was bounded.
    ///
    /// What is kept of a person is chosen by a keyed hash, and is the same for every order, batch, duplicate
    /// and number of workers.
    pub fn bound(self, bound: Bound) -> Bounded<'scope, D, People<P, F, N>, T> {
        self.within(bound.checked())
    }
}

impl<'scope, D: Travels + Clone, T: Fn(&D) -> Time + 'static> Windowed<'scope, D, Records, T> {
    /// Each record by itself is what is bounded: one record, in one key.
    pub fn one_by_one(self) -> Bounded<'scope, D, Records, T> {
        self.within(Ok(ContributionBound::RECORD))
    }
}

impl<'scope, D: Travels + Clone, I, G, T> Windowed<'scope, D, NamedRecords<I, G>, T>
where
    I: Person,
    G: Fn(&D) -> I + 'static,
{
    /// Each id by itself is what is bounded: one record, in one key.
    pub fn one_by_one(self) -> Bounded<'scope, D, NamedRecords<I, G>, T> {
        self.within(Ok(ContributionBound::RECORD_WITH_ID))
    }
}
