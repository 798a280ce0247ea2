//! The stages that add up windows: so far, or the last ones.

use std::sync::Arc;

use super::aggregation::{Aggregation, GroupingKey, KeyedAggregation, LifetimeBound, SummedMeasure};
use super::tallied::Tallied;
use super::unit::ProtectedUnit;
use crate::accounting::running::Strategy;
use crate::dataflow::bounding::{Cap, RemainingContribution};
use crate::dataflow::windows::Schedule;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::{Cell, Cells, ContributionBound, RunningTotal, Tally, Total, TotalSpan};

/// Totals over windows, by key.
pub type Accumulated<K, M> = KeyedAggregation<RunningTotal<K>, M>;

/// A total whose windows are added up, released at every window and paid for once.
///
/// What is bounded is what a person brings to *all* windows together, for a person is in every total from
/// then on: `keys` keys in all, and in each `per_key` records, or a sum no farther from zero than its range,
/// or the person once. Which records those are is a matter of the windows' order, and inside a window of the
/// keyed hash that decides everywhere.
impl<'scope, D, U: ProtectedUnit<D>, T, K: GroupingKey, M: SummedMeasure + 'static, G, V>
    Tallied<'scope, D, U, T, KeyedAggregation<Total<K>, M>, G, V>
{
    /// At every window the total of all windows so far, up to the last that there is.
    ///
    /// All of them together cost what the mechanism says; the noise of a total grows with the logarithm of
    /// their number. People are released as those who have come at least once; with [keys to
    /// discover](crate::mechanisms::Keys::discover), a key is released once enough people have come to it in
    /// some span of windows, and then with all that was before.
    ///
    /// The run is refused where no last window is known ([`running_for`](Self::running_for)), where windows
    /// overlap, and where a person's [windows](crate::mechanisms::Bound::windows) are bounded beside all of
    /// them.
    ///
    /// ```no_run
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: discreet::dataflow::Fed<'_, (u64, i64)>, gate: &Gate) {
    /// visits
    ///     .protect(|visit| visit.0)
    ///     .tumbling(hours(1), |visit| visit.1)
    ///     .between("2026-01-01", "2027-01-01")
    ///     .bound(Bound::keys(1).per_key(100))
    ///     .count()
    ///     .running()
    ///     .release(gate, "visits_so_far", Gaussian::rho(0.1));
    /// # }
    /// ```
    pub fn running(self) -> Tallied<'scope, D, U, T, Accumulated<K, M>, G, V> {
        let remedy =
            "the time of the last window, or running_for with the number of windows: noise is made for it";
        let last = self.last_window(remedy);
        self.over(last.map(|windows| TotalSpan::SoFar { windows }))
    }

    /// As [`running`](Self::running), for this number of windows. Later ones are skipped, and a row
    /// of each says so.
    pub fn running_for(self, windows: u64) -> Tallied<'scope, D, U, T, Accumulated<K, M>, G, V> {
        self.over(Ok(TotalSpan::SoFar { windows }))
    }

    /// At every window the total of this number of windows, itself included; at first there are fewer. The stream
    /// need not end.
    ///
    /// The price is for what one person brings to all windows together, however many there are, for as long
    /// as the stream runs. What is no sum over windows cannot be released in this way, such as the number of people: who
    /// comes twice is one person. For these there is [`people_of_last`](Self::people_of_last).
    pub fn over_last(self, windows: u64) -> Tallied<'scope, D, U, T, Accumulated<K, M>, G, V> {
        self.over(Ok(TotalSpan::Last { windows }))
    }

    /// At every window the number of distinct people of the last `windows`, this one included, up to the last that there
    /// is.
    ///
    /// Beside `keys` keys in all windows together, a person is bounded by `entries`: the number of times that the person
    /// enters a key, by a record after as many windows without one. Who has left a key after the last entry does not count
    /// there again. All numbers together cost what the mechanism says, and their noise grows with the root of
    /// `2 keys entries`. How long a person stays is not bounded, and costs nothing.
    ///
    /// The run is refused where no last window is known, where windows overlap, and for anything but people.
    ///
    /// ```no_run
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: discreet::dataflow::Fed<'_, (u64, i64)>, gate: &Gate) {
    /// visits
    ///     .protect(|visit| visit.0)
    ///     .tumbling(days(1), |visit| visit.1)
    ///     .between("2026-01-01", "2027-01-01")
    ///     .bound(Bound::keys(1))
    ///     .people()
    ///     .people_of_last(7, 4)
    ///     .release(gate, "weekly_visitors", Gaussian::rho(0.1));
    /// # }
    /// ```
    pub fn people_of_last(
        self,
        last: u64,
        entries: u64,
    ) -> Tallied<'scope, D, U, T, Accumulated<K, M>, G, V> {
        let windows =
            self.last_window("the time of the last window: noise is made for the number of windows");
        self.over(windows.map(|windows| TotalSpan::People { windows, last, entries }))
    }

    pub(super) fn last_window(&self, remedy: &'static str) -> Result<u64, Invalid> {
        match &self.bounded.windows.schedule {
            Some(schedule) if schedule.is_bounded() => Ok(schedule.count()),
            _ => Err(Invalid::new("until", InvalidKind::Missing, remedy)),
        }
    }

    pub(super) fn over(
        self,
        span: Result<TotalSpan, Invalid>,
    ) -> Tallied<'scope, D, U, T, Accumulated<K, M>, G, V> {
        let overlaps = self.bounded.windows.schedule.as_ref().is_some_and(Schedule::overlaps);
        self.asked(|KeyedAggregation { statistic, measure }| {
            if overlaps {
                let remedy = "windows side by side, and over_last or people_of_last for totals of several";
                return Err(Invalid::new("windows", InvalidKind::Mixed, remedy));
            }
            Ok(KeyedAggregation { statistic: RunningTotal::new(statistic, span?)?, measure })
        })
    }
}

impl<'scope, D, U: ProtectedUnit<D>, T, K: GroupingKey, M: SummedMeasure + 'static, G, V>
    Tallied<'scope, D, U, T, Accumulated<K, M>, G, V>
{
    /// Noised by this strategy, and not by the best: to compare, or because a tree is simpler to audit.
    #[must_use]
    pub fn by(self, strategy: Strategy) -> Self {
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation { statistic: statistic.by(strategy), measure })
        })
    }
}

impl<K: GroupingKey, M: SummedMeasure + 'static> Aggregation for Accumulated<K, M> {
    type Key = K;
    type Measure = M;
    type Statistic = RunningTotal<K>;
    type Total = Cell;

    #[inline]
    fn measure(&self) -> &M {
        &self.measure
    }

    fn statistic(&self) -> &RunningTotal<K> {
        &self.statistic
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.statistic.total().listed()
    }

    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        cap(limits)
    }

    /// Of who is in one window alone.
    #[inline]
    fn add(&self, total: &mut Cell, share: M::Share) {
        self.add_left(total, share, RemainingContribution { amount: self.statistic.each(), first: true });
    }

    fn over_life(&self) -> Option<LifetimeBound> {
        Some(match self.statistic.span() {
            TotalSpan::People { last, entries, .. } => LifetimeBound::Entries { entries, last },
            TotalSpan::SoFar { .. } | TotalSpan::Last { .. } => LifetimeBound::Total(self.statistic.each()),
        })
    }

    fn add_left(&self, total: &mut Cell, share: M::Share, left: RemainingContribution) -> u64 {
        let (records, sum) = M::both(share);
        let (cell, used) = self.statistic.contribution(records.into(), sum, left.amount, left.first);
        total.add(&cell);
        used
    }

    fn level(&self, people: u64, new: u64) -> Cell {
        self.statistic.level(people, new)
    }

    fn join(&self, ours: &mut Cell, theirs: &Cell) {
        ours.add(theirs);
    }

    fn part(key: K, total: Cell) -> <Cells<K> as Tally>::Part {
        (key, total)
    }
}

/// So many keys of a person are held in an open window. Who brings more may lose one that counted before;
/// nobody else does.
const HELD: u64 = 4096;

/// Returns the most records of a person that are kept in an open window: of more keys than count, for a person's own may be any
/// of them. The remaining contribution chooses among them when the window closes.
pub(super) fn cap(limits: &ContributionBound) -> Result<Cap, Invalid> {
    Cap::new(limits.keys().max(HELD), limits.per_key())
}
