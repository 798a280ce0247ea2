//! The parts of a plan for each release: the fields of its JSON.

use serde::Serialize;

/// A privacy cost or an amount of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedCost {
    /// The amount in zCDP, if the budget is in zCDP.
    pub rho: Option<f64>,
    /// The amount as an epsilon at the plan's delta.
    pub epsilon: Option<f64>,
    /// The part of delta that partition selection charges.
    pub delta: f64,
}

/// The plan of one release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Planned {
    /// The name of the release.
    pub name: String,
    /// The statistic, in words.
    pub statistic: String,
    /// The windows.
    pub windows: PlannedWindows,
    /// The running total over windows, if the release has one.
    pub running: Option<PlannedRunning>,
    /// The contribution bound, in words.
    pub bound: String,
    /// The keys of the release.
    pub keys: PlannedKeys,
    /// The sensitivity of each number: the distance by which one protected unit moves it.
    pub moves: Vec<Moves>,
    /// The noise of each number.
    pub noise: Vec<PlannedNoise>,
    /// The number of people in a cell with which nine tenths of all errors are below a tenth, if each person
    /// has one record, and half of the most that counts. Below a tenth of that number a cell is mostly noise.
    pub people_for_a_tenth: u64,
    /// The privacy cost of a window, or of all windows if they are added up.
    pub cost: PlannedCost,
    /// The cost of a window of which a span of time holds a part, if it is more.
    pub partial: Option<PlannedCost>,
    /// The number of windows that one account holds together, including those that are cut.
    pub paid_together: u64,
    /// The privacy cost of these windows.
    pub paid: PlannedCost,
    /// The deviation of the noise over the least that is known to suffice.
    pub near: Option<NoiseOptimality>,
    /// The memory held for people and keys.
    pub memory: PlannedMemory,
}

/// The windows of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedWindows {
    /// The step between the starts of windows, as in the file.
    pub every: String,
    /// The length of a window, if windows overlap.
    pub over: Option<String>,
    /// The start of the first window.
    pub from: Option<String>,
    /// The end of the last window, if there is a last one.
    pub until: Option<String>,
    /// The number of windows, if there is a last one.
    pub count: Option<u64>,
}

/// A running total over windows, paid for once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedRunning {
    /// The windows of each total, as a released line states them: `so far`, or `last 7`.
    pub total: String,
    /// The number of totals for which the noise is made; `None` if there is no last one.
    pub horizon: Option<u64>,
    /// The strategy that correlates the noise of totals.
    pub strategy: &'static str,
    /// True if the strategy is the default for a job file that names none.
    pub best: bool,
    /// The largest standard deviation of a total, in units of the file.
    pub deviation: f64,
    /// The ratio of that deviation to the least of any linear strategy with Gaussian noise at the same price.
    pub ratio: f64,
    /// The number of values that a key keeps from window to window.
    pub numbers: u64,
    /// The standard deviation of a total at the same price if each window had independent noise.
    pub fresh: f64,
}

/// The keys of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum PlannedKeys {
    /// No keys: one cell.
    None,
    /// Public keys, the same in every window.
    Public {
        /// The number of keys.
        count: u64,
    },
    /// Partition selection: the keys that enough people have.
    Discovered {
        /// The least noised number of people at which a key is released.
        threshold: i64,
    },
}

/// The sensitivity of a number to one protected unit, over all cells, in units of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moves {
    /// The name of the number.
    pub number: &'static str,
    /// The number of cells that change.
    pub l0: f64,
    /// The largest change of one cell.
    pub linf: f64,
    /// The sum of the changes of all cells.
    pub l1: f64,
    /// The root of the sum of squared changes.
    pub l2: f64,
}

/// The noise of a number, in units of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedNoise {
    /// The name of the number.
    pub number: &'static str,
    /// The noise distribution.
    pub kind: &'static str,
    /// The scale: sigma, or b.
    pub scale: f64,
    /// The half-width of the interval that contains nine of ten errors; of a mean's two numbers, nineteen of
    /// twenty. In people, if a rank is promised.
    pub interval: f64,
    /// The fraction of the quantile, if the number is one.
    pub q: Option<f64>,
    /// The number of comparisons in the search for an answer.
    pub comparisons: Option<u32>,
    /// The tau of the promise about ranks: ninety-nine of a hundred answers have at most twice this number of
    /// people above them.
    pub tau: Option<u64>,
    /// The rank error: ninety-nine of a hundred answers are off by at most this number of ranks, which are
    /// people if each has one value.
    pub rank_error: Option<u64>,
}

/// The optimality of noise, relative to the best that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NoiseOptimality {
    /// The standard deviation of the noise over that of the best.
    pub ratio: f64,
    /// The bound that the ratio refers to.
    pub of: &'static str,
}

/// The memory held, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedMemory {
    /// The memory for a person with the most keys that are kept, in an open window; if windows are added up,
    /// for a person without any key.
    pub a_person: u64,
    /// The memory for a key, if only its largest people are kept.
    pub a_key: Option<u64>,
    /// The number of windows that are open at once while a live run is up to date; `None` if all of them are.
    pub windows_open: Option<u64>,
    /// The memory for each key of a person in an open window, if the number of these keys is not bounded.
    pub a_key_of_a_person: Option<u64>,
    /// The memory for a person that is held for ever, if windows are counted or added up.
    pub for_ever: Option<u64>,
}
