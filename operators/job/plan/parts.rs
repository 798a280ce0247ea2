//! The parts of a plan for each release: the fields of its JSON.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use super::accounting::ComparedNoise;
use super::expected::ExpectedError;
use crate::accounting::running::Strategy;
use crate::accounting::{GaussianCost, PrivacyCost};
use crate::dataflow::{Schedule, Weekday};
use crate::job::config::{CalendarUnit, Every, Job, Protected, ReleaseSpec};
use crate::job::release_plan::ReleasePlan;
pub use crate::job::statistics::NoiseOptimality;
use crate::job::statistics::{CellKey, KeyMemory, MarginalErrors, PreparedStatistic, StatisticSpec};
use crate::mechanisms::{Ranks, TotalSpan, TypicalRankError};
use crate::time::Time;

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
    /// The version of the release: its own, or the job's.
    pub version: u32,
    /// The statistic, in words.
    pub statistic: String,
    /// The windows.
    pub windows: PlannedWindows,
    /// The running total over windows, if the release has one.
    pub running: Option<PlannedRunning>,
    /// The alert, if the release is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert: Option<PlannedAlert>,
    /// The picks of the most frequent keys, if the release is of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<PlannedTop>,
    /// The tables of marginals, if the release is of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marginals: Option<PlannedMarginals>,
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
    /// What an error is stated beside, with its size in the unit of the release; nothing where it is the number itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_is_of: Option<String>,
    /// The expected error, where the size of the log was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedError>,
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
    /// The noise beside that in the other accounting, if the budget is an epsilon with a delta.
    pub accounting: Option<ComparedNoise>,
    /// The memory held for people and keys.
    pub memory: PlannedMemory,
    /// The other releases with which it shares one table of people.
    pub shares_people: OtherReleases,
    /// Those of them that count in the same keys of each person.
    pub shares_keys: OtherReleases,
}

/// The names of the other releases of a group. All releases of a group share one list, so that a job of many
/// releases does not hold each name once for each of them.
#[derive(Clone, Debug, Default)]
pub struct OtherReleases {
    group: Arc<[String]>,
    own: usize,
}

impl OtherReleases {
    /// The releases of a group beside the one at this index.
    pub(super) fn beside(own: usize, group: &Arc<[String]>) -> OtherReleases {
        OtherReleases { group: Arc::clone(group), own }
    }

    /// The names, in the order of the job file.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let others = self.group.iter().enumerate().filter(|(at, _)| *at != self.own);
        others.map(|(_, name)| name.as_str())
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.group.len() <= 1
    }
}

impl PartialEq for OtherReleases {
    fn eq(&self, other: &OtherReleases) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for OtherReleases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl fmt::Display for OtherReleases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.iter().enumerate() {
            write!(f, "{}{name}", if place > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
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
    /// True if some of the time from `job.from` until `job.until` is in none of them: a part of a window is not released.
    pub leaves_out: bool,
    /// The day of the week on which the first window begins in the zone of the source, where windows are weeks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weekday: Option<&'static str>,
}

impl PlannedWindows {
    /// Returns the day of the week on which windows of weeks begin.
    pub(super) fn weekday(every: Every) -> Option<&'static str> {
        match every {
            Every::Calendar(_, CalendarUnit::Week) => Some(Weekday::Thursday.name()),
            Every::Calendar(_, CalendarUnit::WeekFrom(day)) => Some(day.name()),
            _ => None,
        }
    }

    /// Returns true if windows from and until these moments leave out some of the time of a job.
    pub(super) fn leave_out(job: &Job, from: Option<Time>, until: Option<Time>) -> bool {
        let before = job.from.zip(from).is_some_and(|(job, first)| job < first);
        before || job.until.zip(until).is_some_and(|(job, last)| last < job)
    }
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
    /// The number of windows of a person from which on noise of their own would err by more at the same price; of people
    /// over the last windows alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_windows: Option<u64>,
}

/// An alert, paid for once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedAlert {
    /// The noun of the number: people, or records.
    pub count: &'static str,
    /// The number up to which it is silent.
    pub above: u64,
    /// The number from which on it fires.
    pub surely: u64,
    /// The alarms that the price pays for.
    pub alarms: u32,
    /// The number of windows behind an alarm in which its key is not asked for.
    pub pause: u64,
    /// The probability of any mistake in all of these windows, and for all keys.
    pub wrong: f64,
    /// The number of windows that it is stated for.
    pub windows: u64,
    /// The price of the number itself in each of these windows, with errors that would tell as much, over the price of the
    /// alert: for a person who is in all of them.
    pub instead_of_numbers: f64,
}

/// The most frequent keys of each window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedTop {
    /// The noun of the number that decides: people, or records.
    pub count: &'static str,
    /// The keys that are picked.
    pub k: u64,
    /// The keys that they are picked from.
    pub keys: u64,
    /// The distance by which the number of a pick may be below the largest that is left, in 99 of 100 windows for all picks.
    pub within: u64,
    /// The error of the numbers of all keys at the same price, in 99 of 100 windows for all of them, of units that are in one key.
    pub error_of_numbers: f64,
    /// The same of units that are in all keys; `None` where a unit is in one.
    pub error_of_numbers_in_all: Option<f64>,
}

impl PlannedTop {
    /// Returns true if the numbers order the keys as well, whatever keys a unit is in: two errors are no more than the distance.
    pub(super) fn is_for_numbers(&self) -> bool {
        2.0 * self.error_of_numbers_in_all.unwrap_or(self.error_of_numbers) <= self.within as f64
    }
}

/// Tables of counts that are released together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedMarginals {
    /// The tables.
    pub tables: u64,
    /// The root of the mean of the squared deviations of all cells.
    pub error: f64,
    /// The same where each table is released by itself, with its best part of the price.
    pub apart: f64,
    /// The least of any Gaussian noise, or less.
    pub least: f64,
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
        /// The least number of people with which a key is found in 50 of 100 windows; of a running total, of spans of windows,
        /// with the people who come to the key within one.
        found_in_50: i64,
        /// The same in 90 of 100.
        found_in_90: i64,
        /// The same in 99 of 100.
        found_in_99: i64,
        /// The least number of people of a key that is found, if one is stated.
        #[serde(skip_serializing_if = "Option::is_none")]
        least_people: Option<u64>,
        /// The percentage of a key's price in a window that finds it, if its numbers have no more than the rest until it is
        /// found.
        finding: Option<u8>,
    },
}

/// The sensitivity of a number to one protected unit, over all cells, in units of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moves {
    /// The name of the number.
    pub number: Cow<'static, str>,
    /// The number of cells that change.
    pub l0: f64,
    /// The largest change of one cell.
    pub linf: f64,
    /// The sum of the changes of all cells.
    pub l1: f64,
    /// The root of the sum of squared changes.
    pub l2: f64,
}

impl Planned {
    /// Returns the number of ranks that nine tenths of the answers are typically within, of the number that errs most.
    pub(super) fn typical_ranks(&self) -> Option<u64> {
        self.noise.iter().filter_map(|noise| noise.typical).map(|typical| typical.nine_tenths).max()
    }
}

/// The noise of a number, in units of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedNoise {
    /// The name of the number.
    pub number: Cow<'static, str>,
    /// The noise distribution.
    pub kind: &'static str,
    /// The scale: sigma, or b.
    pub scale: f64,
    /// The half-width of the interval that contains nine of ten errors; of a mean's two numbers, nineteen of
    /// twenty, and of a variance's three, twenty-nine of thirty. In people, if a rank is promised.
    pub interval: f64,
    /// The noise in the window in which a key is found, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundNoise>,
    /// The number of errors of which one is outside of the interval.
    #[serde(skip)]
    pub one_outside_of: u32,
    /// The guarantee about the answer's rank, if there is none about its value; it holds for ninety-nine of a
    /// hundred answers. As JSON: `q`, `comparisons`, `tau` and `rank_error`.
    #[serde(flatten, serialize_with = "rank_fields")]
    pub ranks: Option<Ranks>,
    /// The rank error to expect of a quantile of many values that differ and lie evenly among the answers. It is no promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical: Option<TypicalRankError>,
}

/// The noise of a number of a key in the window in which the key is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FoundNoise {
    /// The scale of the noise.
    pub scale: f64,
    /// The half-width of the interval; in people, if a rank is promised.
    pub interval: f64,
}

#[derive(Default, Serialize)]
struct RankFields {
    q: Option<f64>,
    comparisons: Option<u32>,
    tau: Option<u64>,
    rank_error: Option<u64>,
    within: Option<u64>,
}

fn rank_fields<S: Serializer>(ranks: &Option<Ranks>, serializer: S) -> Result<S::Ok, S::Error> {
    let none = RankFields::default();
    let fields = match *ranks {
        Some(Ranks::Below { comparisons, tau, .. } | Ranks::Above { comparisons, tau, .. }) => {
            RankFields { comparisons, tau: Some(tau), ..none }
        }
        Some(Ranks::Within { quantile, rank_error }) => {
            RankFields { q: Some(quantile.to_f64()), rank_error: Some(rank_error), ..none }
        }
        Some(Ranks::Behind { within }) => RankFields { within: Some(within), ..none },
        None => none,
    };
    fields.serialize(serializer)
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

// The memory held for each person and key, from the sizes in [`bounding`](crate::dataflow::bounding), which
// `tests` measures on a table.

/// The size of a person's identity, as the sources hold it.
pub(super) const PERSON: u64 = 32;
/// The size of the offset of a person's entries.
pub(super) const PLACE: u64 = 8;
/// The size of a key with a number of records.
const COUNTED: u64 = 8;
/// The size of a key with a sum of 128 bits.
const SUMMED: u64 = 48;
/// The size of a key with one value, and the hash that decides whether it is kept.
const KEPT: u64 = 32;
/// The size of a list of values, with its place in memory, beyond that of one value.
const VECTOR: u64 = 32;
/// The size of the record of a person who has contributed to keys that are added up: the person, and the
/// first key with its amount.
const BROUGHT: u64 = PERSON + size_of::<SmallVec<[(CellKey, u64); 1]>>() as u64;
/// The size of each key with its amount, if a person has several.
const BROUGHT_TO: u64 = size_of::<(CellKey, u64)>() as u64;
/// The size of the number of a person's entries beside the window in which the person was last seen.
const PRESENT: u64 = 8;
/// The size of a value among the largest of a key, of which up to twice as many are held as are needed.
const LISTED: u64 = 8;

pub(super) fn planned_memory(
    job: &Job,
    (offer, release): (&ReleasePlan, &ReleaseSpec),
    (schedule, largest): (&Schedule, Option<usize>),
) -> PlannedMemory {
    let person = matches!(job.privacy.privacy_unit, Protected::Person { .. });
    let most = offer.bound.checked().map_or(1, |limits| limits.keys());
    // The keys of a window that count depend on former windows: until the window closes, any of them may.
    let keys = if release.running.is_some() { 1 } else { most };
    let records = u64::from(release.bound.per_key.unwrap_or(1));
    let statistic = release.statistic.as_statistic();
    let kept = match statistic.memory() {
        KeyMemory::Pairs => KEPT + 8,
        KeyMemory::Vectors { fields } => KEPT + VECTOR + fields.saturating_mul(8),
        _ => KEPT,
    };
    let held = match (statistic.memory(), &job.source.id) {
        // A record that may be a duplicate is held until it is known not to be one.
        (_, Some(_)) => keys.saturating_mul(records).saturating_mul(kept + PERSON),
        (KeyMemory::Records | KeyMemory::Pairs | KeyMemory::Vectors { .. }, None) => {
            keys.saturating_mul(records).saturating_mul(kept)
        }
        (KeyMemory::Summed, None) => keys.saturating_mul(SUMMED),
        (KeyMemory::Counted, None) => keys.saturating_mul(COUNTED),
    };
    let runs = person && release.running.is_some();
    let by_key = statistic.is_keyed();
    let a_person = match person {
        true if runs && by_key => PERSON + PLACE,
        true => PERSON + PLACE + held,
        false => 0,
    };
    let for_ever = match runs {
        true => {
            let more = if release.is_of_present_people() { PRESENT } else { 0 };
            let keys = if most > 1 { most.saturating_mul(BROUGHT_TO + more) } else { 0 };
            Some(BROUGHT.saturating_add(keys + more) / 2 * 3)
        }
        false => release.bound.windows.map(|_| (PERSON + 4) * 3 / 2),
    };
    let a_key = largest.map(|people| (people as u64).saturating_mul(2 * LISTED));
    let a_key_of_a_person = (runs && by_key).then_some(held);
    PlannedMemory { a_person, a_key, windows_open: open(job, release, schedule), a_key_of_a_person, for_ever }
}

/// Returns the most windows that have begun and are not closed, if records arrive in real time.
fn open(job: &Job, release: &ReleaseSpec, schedule: &Schedule) -> Option<u64> {
    if release.every == Every::All {
        return Some(1);
    }
    let (first, second) = (schedule.window(0)?, schedule.window(1));
    let Some(second) = second else { return Some(1) };
    let late = job.source.late.map_or(0, |late| late.as_microseconds());
    let step = (second.start() - first.start()).max(1);
    // The windows that contain one moment, and those that ended and still take records.
    let open = (first.end() - first.start()).saturating_add(late).saturating_add(step - 1) / step;
    Some(open.unsigned_abs())
}

/// Returns the plan of an alert.
pub(super) fn planned_alert(settled: &PreparedStatistic, offer: &ReleasePlan) -> Option<PlannedAlert> {
    let StatisticSpec::Alert(alert) = &offer.statistic else { return None };
    let crossing = settled.noise.first()?.crossing()?;
    let windows = alert.planned(offer.windows())?;
    let numbers = offer.keys.listed().map_or(1, |keys| keys.len() as u64).saturating_mul(windows);
    // An error of half of the distance between the ends on both sides.
    let error = (crossing.surely() - crossing.above()) as f64 / 2.0;
    let step = settled.sensitivities.first()?.sensitivity.linf() as f64;
    let paid = |each: f64, all: f64| windows as f64 * each / all;
    let instead_of_numbers = match &offer.cost {
        PrivacyCost::Pure { epsilon } => {
            paid(step * libm::log(numbers as f64 / alert.wrong.to_f64()) / error, epsilon.to_float_up())
        }
        cost => {
            let (rho, _) = cost.rho_and_delta()?;
            let errors = GaussianCost::largest(1.0, numbers, 1.0 - alert.wrong.to_f64()).ok()?;
            paid((step * errors / error).powi(2) / 2.0, rho.to_float_up())
        }
    };
    let is_of_people = settled.sensitivities.first()?.number == "people";
    Some(PlannedAlert {
        count: if is_of_people { "people" } else { "records" },
        above: crossing.above(),
        surely: crossing.surely(),
        alarms: crossing.alarms(),
        pause: alert.pause,
        wrong: alert.wrong.to_f64(),
        windows,
        instead_of_numbers,
    })
}

/// Returns the plan of the most frequent keys, beside the errors of the numbers of all keys: for a unit in `n` of them each number has
/// its noise at an `n`-th of the price.
pub(super) fn planned_top(job: &Job, settled: &PreparedStatistic, offer: &ReleasePlan) -> Option<PlannedTop> {
    let StatisticSpec::Top(top) = &offer.statistic else { return None };
    let Ranks::Behind { within } = settled.noise.first()?.ranks()? else { return None };
    let keys = offer.keys.listed()?.len() as u64;
    let step = settled.sensitivities.first()?.sensitivity.linf() as f64;
    let (error, times) = match &offer.cost {
        PrivacyCost::Pure { epsilon } => {
            (step * libm::log(keys as f64 / MISSED) / epsilon.to_float_up(), keys as f64)
        }
        cost => {
            let (rho, _) = cost.rho_and_delta()?;
            let errors = GaussianCost::largest(1.0, keys, 1.0 - MISSED).ok()?;
            (step * errors / (2.0 * rho.to_float_up()).sqrt(), (keys as f64).sqrt())
        }
    };
    let by_record = job.privacy.privacy_unit == Protected::Record;
    Some(PlannedTop {
        count: top.count.noun(if by_record { "record" } else { "person" }),
        k: top.k,
        keys,
        within,
        error_of_numbers: error,
        error_of_numbers_in_all: (!by_record).then_some(error * times),
    })
}

/// The probability that a pick of a window is farther off than is stated, and that a number errs more.
const MISSED: f64 = 0.01;

/// Returns the plan of marginals.
pub(super) fn planned_marginals(
    settled: &PreparedStatistic,
    offer: &ReleasePlan,
) -> Option<PlannedMarginals> {
    let StatisticSpec::Marginals(marginals) = &offer.statistic else { return None };
    let MarginalErrors { error, apart, least } = marginals.beside_others(settled, &offer.cost)?;
    Some(PlannedMarginals { tables: settled.noise.len() as u64, error, apart, least })
}

// The plan of a running total: figures of the strategy that is drawn, beside those of the alternatives.

pub(super) fn planned_running(settled: &PreparedStatistic, offer: &ReleasePlan) -> Option<PlannedRunning> {
    let (running, noise) = (settled.running.as_ref()?, settled.noise.first()?);
    let (total, choice) = (offer.running?, offer.running?.span.strategies().ok()?);
    let of = |strategy| choice.strategies().iter().find(|figures| figures.strategy() == strategy);
    let fresh = of(Strategy::Fresh)?;
    let as_windows = match total.span {
        // Both are for the same number of keys, and for rho = 1/2 a number by itself has the variance 1 for each window
        // that is paid for.
        TotalSpan::People { entries, .. } => of(running.strategy())
            .map(|own| (2.0 * entries as f64 * own.max_deviation().powi(2)).floor() as u64),
        TotalSpan::SoFar { .. } | TotalSpan::Last { .. } => None,
    };
    Some(PlannedRunning {
        total: total.span.to_string(),
        horizon: running.horizon(),
        strategy: running.strategy().name(),
        best: total.strategy.is_none_or(|strategy| strategy == choice.best().strategy()),
        deviation: noise.scale(),
        ratio: running.ratio(),
        numbers: running.memory().saturating_mul(settled.noise.len() as u64),
        // Both ratios are relative to the same least deviation.
        fresh: noise.scale() * fresh.ratio() / running.ratio(),
        as_windows,
    })
}

#[cfg(test)]
mod tests;
