//! The reason for which a pipeline is not bounded as it declares.

use std::error::Error;
use std::fmt;

use discreet::accounting::Interval;
use discreet::dataflow::RunError;
use discreet::time::in_utc;

/// A difference between two replays of a pipeline that its declared bound does not allow, or the reason for which
/// there is nothing to compare.
///
/// It names exact numbers, keys and people of the test's own records: it is for tests alone.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unbounded {
    /// A replay ended with an error.
    Run(RunError),
    /// No unit moves anything, so the check could not fail: nothing is revealed, no window is complete, or no
    /// record counts.
    NothingCompared,
    /// A statistic protects persons, and single records were left out.
    OtherUnit {
        /// The name of the statistic.
        statistic: String,
    },
    /// The same input gives other tallies a second time.
    Unrepeatable(Difference),
    /// The same records give other tallies in another order, or on another number of workers.
    OrderDependent {
        /// The number of workers.
        workers: usize,
        /// The number of the order; 0 is that of the script.
        order: u64,
        /// The difference.
        difference: Difference,
    },
    /// A window exists, or is skipped, because of a unit.
    WindowDependsOnUnit {
        /// The unit that was left out.
        unit: Unit,
        /// The difference.
        difference: Difference,
    },
    /// A unit moves a tally by more than the pipeline declares to its gate.
    Moved {
        /// The unit that was left out.
        unit: Unit,
        /// The norm in which it moves too much.
        norm: ChangeNorm,
        /// The distance by which it moves the tally.
        moved: u128,
        /// The distance that the pipeline declares.
        bound: u128,
        /// The difference: of a window, or of all together.
        difference: Box<Difference>,
    },
    /// A person counts in more windows than the pipeline declares.
    InTooManyWindows {
        /// The unit that was left out.
        unit: Unit,
        /// The number of windows that it moves.
        windows: u64,
        /// The number of windows that the pipeline declares.
        bound: u64,
        /// The name of the statistic.
        statistic: String,
    },
}

/// A unit that was left out of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unit {
    /// Its index among the units of the check: the order of their first records, or of the list of persons.
    pub index: usize,
    /// The number of its records.
    pub records: usize,
    /// True if it is one record.
    pub is_a_record: bool,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unit { index, records, is_a_record } = self;
        match (is_a_record, records) {
            (true, _) => write!(f, "record {index}"),
            (false, 1) => write!(f, "person {index} (1 record)"),
            (false, records) => write!(f, "person {index} ({records} records)"),
        }
    }
}

/// Two tallies that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The name of the statistic.
    pub statistic: String,
    /// The window, or none for all windows together.
    pub window: Option<Interval>,
    /// The first cells that differ, in words.
    pub cells: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.statistic)?;
        match self.window {
            Some(window) => {
                write!(f, "window from {} until {}", moment(window.start()), moment(window.end()))?
            }
            None => f.write_str("all windows together")?,
        }
        write!(f, ": {}", self.cells)
    }
}

/// A time in UTC, and near 1970, where tests count in small numbers, its microseconds.
fn moment(time: i64) -> String {
    if time.unsigned_abs() < 1_000_000 { format!("{time} us") } else { in_utc(time) }
}

/// A norm of the change of a tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeNorm {
    /// The number of cells that change.
    L0,
    /// The largest change of a cell.
    Linf,
    /// The sum of all changes.
    L1,
    /// The sum of the squares of all changes.
    L2Squared,
    /// The number of keys whose number of people changes, by which keys are discovered.
    KeysOfPeople,
    /// The largest change of the number of people of a key, by which keys are discovered.
    PeopleOfAKey,
}

impl fmt::Display for ChangeNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChangeNorm::L0 => "L0, the number of cells that change",
            ChangeNorm::Linf => "Linf, the largest change of a cell",
            ChangeNorm::L1 => "L1, the sum of all changes",
            ChangeNorm::L2Squared => "L2 squared, the sum of the squares of all changes",
            ChangeNorm::KeysOfPeople => {
                "the number of keys whose people change, by which keys are discovered"
            }
            ChangeNorm::PeopleOfAKey => "the people of a key, by which keys are discovered",
        })
    }
}

impl fmt::Display for Unbounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unbounded::Run(error) => write!(f, "a replay ended: {error}"),
            Unbounded::NothingCompared => f.write_str(
                "nobody moves anything, so this check cannot fail: reveal a statistic, complete its windows in the \
                 script, and give it records in them",
            ),
            Unbounded::OtherUnit { statistic } => {
                write!(f, "{statistic} protects persons, and records were left out: leave out persons")
            }
            Unbounded::Unrepeatable(difference) => write!(
                f,
                "the same input gives other tallies a second time: the pipeline is random, or keeps state from one \
                 run to the next: {difference}"
            ),
            Unbounded::OrderDependent { workers, order, difference } => write!(
                f,
                "the same records give other tallies on {workers} workers in order {order}: the pipeline keeps state \
                 from one record to the next: {difference}"
            ),
            Unbounded::WindowDependsOnUnit { unit, difference } => {
                write!(f, "a window exists because of {unit}: {difference}")
            }
            Unbounded::Moved { unit, norm, moved, bound, difference } => {
                write!(f, "{unit} moves a tally by {moved} where the bound is {bound} ({norm}): {difference}")
            }
            Unbounded::InTooManyWindows { unit, windows, bound, statistic } => {
                write!(f, "{unit} moves {windows} windows of {statistic} where the bound is {bound}")
            }
        }
    }
}

impl Error for Unbounded {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Unbounded::Run(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RunError> for Unbounded {
    fn from(error: RunError) -> Unbounded {
        Unbounded::Run(error)
    }
}
