//! What a plan says of each release, by name: these are the fields of its JSON.

use serde::Serialize;

/// An amount of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedCost {
    /// In zCDP, where the budget is.
    pub rho: Option<f64>,
    /// As an epsilon at the plan's delta.
    pub epsilon: Option<f64>,
    /// Of the delta, what is charged for the discovery of keys.
    pub delta: f64,
}

/// One release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// What it tells, in words.
    pub statistic: String,
    /// Its windows.
    pub windows: PlannedWindows,
    /// How they are added up, where they are.
    pub running: Option<PlannedRunning>,
    /// Whose bound it is, in words.
    pub bound: String,
    /// For which keys it is told.
    pub keys: PlannedKeys,
    /// How far one protected unit moves each number.
    pub moves: Vec<Moves>,
    /// The noise of each number.
    pub noise: Vec<PlannedNoise>,
    /// With so many people in a cell nine tenths of all errors are below a tenth, if each brings one record, and half of the
    /// most that counts. Below a tenth of that number a cell is mostly noise.
    pub people_for_a_tenth: u64,
    /// What a window costs, or all of them where they are added up.
    pub cost: PlannedCost,
    /// What a window costs of which a span of time holds a part, where that is more.
    pub partial: Option<PlannedCost>,
    /// How many windows one account holds together, those that are cut among them.
    pub paid_together: u64,
    /// What these come to.
    pub paid: PlannedCost,
    /// How near the noise is to the least that is known to be enough.
    pub near: Option<NoiseOptimality>,
    /// What is held of people.
    pub memory: PlannedMemory,
}

/// Which windows a release has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedWindows {
    /// How often, as in the file.
    pub every: String,
    /// How long each is, where they overlap.
    pub over: Option<String>,
    /// When the first starts.
    pub from: Option<String>,
    /// When the last ends, where there is a last one.
    pub until: Option<String>,
    /// How many, where there is a last one.
    pub count: Option<u64>,
}

/// How windows are added up: their totals are paid for once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedRunning {
    /// Of which windows each total is, as its line says it: `so far`, or `last 7`.
    pub total: String,
    /// For how many totals the noise is made; `None` where there is no last one.
    pub horizon: Option<u64>,
    /// How the noise of totals hangs together.
    pub strategy: &'static str,
    /// Whether it is the one that is taken where the file names none.
    pub best: bool,
    /// The largest standard deviation of a total, in units of the file.
    pub deviation: f64,
    /// That over the least that any linear strategy with Gaussian noise has at the same price.
    pub ratio: f64,
    /// How many numbers a key keeps from window to window.
    pub numbers: u64,
    /// What totals err by at the same price where each window has noise of its own, as a standard deviation.
    pub fresh: f64,
}

/// For which keys a release is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum PlannedKeys {
    /// There are none: one cell.
    None,
    /// These and no others, in every window.
    Public {
        /// How many.
        count: u64,
    },
    /// Those that enough people have.
    Discovered {
        /// The least noised number of people.
        threshold: i64,
    },
}

/// How far one protected unit moves a number, over all cells, in units of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moves {
    /// Which number.
    pub number: &'static str,
    /// How many cells.
    pub l0: f64,
    /// Any one of them.
    pub linf: f64,
    /// All of them.
    pub l1: f64,
    /// The root of the sum of squares.
    pub l2: f64,
}

/// The noise of a number, in units of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedNoise {
    /// Which number.
    pub number: &'static str,
    /// The law.
    pub kind: &'static str,
    /// Sigma, or b.
    pub scale: f64,
    /// Nine of ten are within this; of a mean's two numbers, nineteen of twenty. In people, where a rank is promised.
    pub interval: f64,
    /// Which quantile, where it is of one.
    pub q: Option<f64>,
    /// In how many comparisons an answer is searched.
    pub comparisons: Option<u32>,
    /// Ninety-nine of a hundred answers have at most twice so many people above them.
    pub tau: Option<u64>,
    /// Ninety-nine of a hundred answers are off by so many ranks at most: people, where each has one value.
    pub rank_error: Option<u64>,
}

/// How near noise is to the best that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NoiseOptimality {
    /// The standard deviation of the noise over that of the best.
    pub ratio: f64,
    /// Which bound it is.
    pub of: &'static str,
}

/// What is held, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedMemory {
    /// Of a person who has as many keys as are kept, in an open window; where windows are added up, of a person without any.
    pub a_person: u64,
    /// Of a key, where only its largest people are known.
    pub a_key: Option<u64>,
    /// Windows that are open at once while a live run is up to date; `None` where all of them are.
    pub windows_open: Option<u64>,
    /// Of each key that a person has in an open window, where a person may have any number of them there.
    pub a_key_of_a_person: Option<u64>,
    /// Of a person for ever, where windows are counted or added up.
    pub for_ever: Option<u64>,
}
