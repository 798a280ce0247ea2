//! A total that is released at every window, of all windows so far or of the last few.

use std::fmt;

use super::prepared::{PreparedRunning, StreamContribution};
use crate::accounting::running::{self, Strategy, StrategyChoice};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::bound::Sensitivity;
use crate::mechanisms::keys::Key;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::{Cell, Cells};
use crate::mechanisms::statistic::{KeyedStatistic, MeasureKind, Statistic, Total};

/// The windows that a total adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TotalSpan {
    /// All windows so far, up to a horizon.
    SoFar {
        /// The number of the last window.
        windows: u64,
    },
    /// The last windows of a stream that need not end.
    Last {
        /// The number of windows.
        windows: u64,
    },
    /// The last windows, for the number of people who are in one of them, up to a horizon.
    People {
        /// The number of the last window that is released.
        windows: u64,
        /// The number of windows in which a person is looked for.
        last: u64,
        /// The most times that a person enters a key: runs of windows in which the person counts.
        entries: u64,
    },
}

impl TotalSpan {
    /// Returns the strategies for this span; their ratios hold at any price.
    pub(crate) fn strategies(self) -> Result<StrategyChoice, Invalid> {
        match self {
            TotalSpan::SoFar { windows } | TotalSpan::People { windows, .. } => running::so_far(windows, 0.5),
            TotalSpan::Last { windows } => running::over_last(windows, 0.5),
        }
    }

    /// Prepares the totals of one key over this span; without a strategy, by the best one.
    pub(super) fn prepare(
        self,
        strategy: Option<Strategy>,
        reach: StreamContribution,
        spend: Spend,
    ) -> Result<PreparedRunning, Invalid> {
        let strategy = match strategy {
            Some(strategy) => strategy,
            None => self.strategies()?.best().strategy(),
        };
        let running = match self {
            TotalSpan::SoFar { windows } | TotalSpan::People { windows, .. } => {
                PreparedRunning::so_far(strategy, windows, reach, spend.units())
            }
            TotalSpan::Last { windows } => {
                PreparedRunning::over_last(strategy, windows, reach, spend.units())
            }
        }?;
        if matches!(spend, Spend::Mu(_)) { running.rounded() } else { Ok(running) }
    }

    pub(super) fn checked(self) -> Result<u64, Invalid> {
        match self {
            TotalSpan::SoFar { windows } => running::horizon(windows),
            TotalSpan::Last { windows } => running::width(windows),
            TotalSpan::People { windows, last, entries } => {
                running::width(last)?;
                StreamContribution::entries(entries, 1)?;
                running::horizon(windows)
            }
        }
    }
}

/// The form in released lines.
impl fmt::Display for TotalSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TotalSpan::SoFar { .. } => f.write_str("so far"),
            TotalSpan::Last { windows } | TotalSpan::People { last: windows, .. } => {
                write!(f, "last {windows}")
            }
        }
    }
}

/// A statistic that adds up records, people or a sum over all windows so far, or over the last ones. It is
/// released at every window, and charged once.
///
/// The contribution bound of a person holds for all windows *together*: at most `keys` keys, and in each at
/// most `per_key` records, once if people are counted, and for a sum no more in all, without signs, than the
/// farther end of the range. So the number of people is that of those who have come at least once.
#[derive(Clone, Debug)]
pub struct RunningTotal<K> {
    total: Total<K>,
    span: TotalSpan,
    strategy: Option<Strategy>,
}

impl<K: Key> RunningTotal<K> {
    /// Creates this total, over this span of windows.
    ///
    /// # Errors
    /// Names `windows` if a bound limits a person's windows, since the bound here covers all of them; `over`
    /// for people over the last windows; and `horizon` or `width` if there are no such totals.
    pub fn new(total: Total<K>, span: TotalSpan) -> Result<RunningTotal<K>, Invalid> {
        let stated = total.stated();
        if stated.limits.windows().is_some() {
            let remedy = "no number of windows: a person is bounded over all of them together";
            return Err(Invalid::new("windows", InvalidKind::Mixed, remedy));
        }
        if matches!(span, TotalSpan::Last { .. }) && total.measure() == MeasureKind::People {
            // A person who comes in two windows is one person of both: no sum over windows can account for
            // that.
            let remedy = "people so far, people with a bound of their entries, or records over the last windows: how many people \
                              came in several windows is no sum of what each window has";
            return Err(Invalid::new("over", InvalidKind::Mixed, remedy));
        }
        if matches!(span, TotalSpan::People { .. }) && total.measure() != MeasureKind::People {
            let remedy =
                "people, or totals over the last windows: what is no person does not enter and leave";
            return Err(Invalid::new("over", InvalidKind::Mixed, remedy));
        }
        super::not_rolled_up(stated.families.is_some())?;
        span.checked()?;
        Ok(RunningTotal { total, span, strategy: None })
    }

    /// Uses this strategy, and not the best one.
    #[must_use]
    pub fn by(self, strategy: Strategy) -> RunningTotal<K> {
        RunningTotal { strategy: Some(strategy), ..self }
    }

    /// The windows that it adds up.
    pub fn span(&self) -> TotalSpan {
        self.span
    }

    /// The statistic of each window that it adds up.
    pub fn total(&self) -> &Total<K> {
        &self.total
    }

    /// The largest contribution of one person to a key over all windows.
    pub fn each(&self) -> u64 {
        match self.total.measure() {
            MeasureKind::Records => self.total.stated().limits.per_key(),
            MeasureKind::People => 1,
            MeasureKind::Sum(range) => range.reach(),
        }
    }

    /// Returns the contribution of one person to a key in a window, from the number of `records` there and
    /// the `sum` of their values, up to the person's remaining share `left`; and the part of the share that
    /// it uses. A person is counted in the first window alone.
    pub fn contribution(&self, records: u64, sum: i128, left: u64, first: bool) -> (Cell, u64) {
        let mut cell = self.total.contribution(records, sum);
        let used = match self.total.measure() {
            MeasureKind::Records => {
                cell.records = cell.records.min(left);
                cell.records
            }
            MeasureKind::People => u64::from(first),
            MeasureKind::Sum(_) => {
                cell.sum = cell.sum.clamp(-i128::from(left), left.into());
                // At most `left`, which is 64 bits.
                cell.sum.unsigned_abs() as u64
            }
        };
        if !first {
            cell.people = 0;
        }
        (cell, used)
    }

    /// Returns the cell of a key in which this number of people are, of whom `first` never were before: of people over the
    /// last windows.
    pub(crate) fn level(&self, people: u64, first: u64) -> Cell {
        Cell { people: first, records: 0, sum: people.into() }
    }

    /// The number of a cell that is released, or whose changes are.
    pub(crate) fn value(&self, cell: &Cell) -> i128 {
        match self.span {
            TotalSpan::People { .. } => cell.sum,
            TotalSpan::SoFar { .. } | TotalSpan::Last { .. } => self.total.measure().value(cell, 1),
        }
    }

    /// Prepares the totals of one key at this price.
    pub(super) fn engine(&self, spend: Spend) -> Result<PreparedRunning, Invalid> {
        let keys = self.stated().limits.keys();
        let reach = match self.span {
            TotalSpan::People { entries, .. } => StreamContribution::entries(entries, keys)?,
            TotalSpan::SoFar { .. } | TotalSpan::Last { .. } => StreamContribution::new(self.each(), keys)?,
        };
        self.span.prepare(self.strategy, reach, spend)
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        self.total.stated()
    }

    pub(super) fn measures(&self) -> &'static str {
        self.total.measures()
    }
}

impl<K> Sealed for RunningTotal<K> {}

impl<K: Key> Statistic for RunningTotal<K> {
    type Tally = Cells<K>;

    /// The sensitivity of one total. All totals together move by more, and the charge is for that.
    fn sensitivity(&self) -> Sensitivity {
        self.total.sensitivity()
    }
}
