//! The released lines in the form that a page needs: the windows of each release, and the numbers of each key
//! over them.
//!
//! The numbers are floats, since they become places on a picture. They are all released, or of a
//! demonstration.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::alerts::ReportedAlert;
use super::answers::ReportedAnswers;
use super::budget::{Errors, finite};
use super::top::ReportedTop;
use crate::accounting::{Interval, PrivacyCost};
use crate::ledger::{Forecast, Name};
use crate::mechanisms::release_line::{
    AnswerLine, CellLine, CellNoise, LineKey, LineWindow, RankInterval, ReleaseLine, Says, ShownNumbers,
};
use crate::picture::{counted, named};
use crate::time::at;

/// All releases and the spending of their budget so far.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) releases: Vec<ReleaseSeries>,
    pub(super) budget: BudgetHistory,
    /// The number of rows of each table, if the newest are kept, and not the first.
    pub(super) newest_rows: Option<usize>,
}

/// The spending of a budget, and its newest status.
#[derive(Debug, Default)]
pub(super) struct BudgetHistory {
    /// The window of each status and the spent part of the cap, in the order in which the windows left.
    pub(super) spent: Vec<(Interval, f64)>,
    /// The part that was spent before the first of them.
    pub(super) before: f64,
    pub(super) newest: Option<(Name, PrivacyCost, PrivacyCost)>,
    pub(super) forecast: Option<Arc<Forecast>>,
}

/// The windows of a release, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct ReleaseSeries {
    pub(super) name: String,
    pub(super) windows: Vec<ReportedWindow>,
    pub(super) tracks: Vec<Track>,
    /// Each distinct set of noise distributions, with its confidence and promise.
    pub(super) laws: Vec<NoiseNotes>,
    pub(super) rows: VecDeque<TableRow>,
    /// The number of rows, if the newest are kept, and not the first.
    pub(super) newest: Option<usize>,
    /// The number of lines beyond the rows of the table.
    pub(super) omitted: u64,
    pub(super) errors: Errors,
    /// The covariances of the newest window that has some.
    pub(super) covariances: NewestCovariances,
    /// The number of values without an interval or a bound on their rank.
    pub(super) unbounded: u64,
    /// The number of values that were released for too few people.
    pub(super) insufficient: u64,
    /// The windows that each number covers, such as "so far"; `None` if it covers its own window alone.
    pub(super) total: Option<String>,
    /// The lines of an alert, if the release is one.
    pub(super) alert: ReportedAlert,
    /// The picks of the most frequent keys, if the release is of them.
    pub(super) top: ReportedTop,
    /// The answers of queries, if the release is a bundle of them.
    pub(super) answers: ReportedAnswers,
    known: HashSet<[String; 2]>,
    places: HashMap<[Option<String>; 3], usize>,
}

/// A window, and its outcome.
#[derive(Clone, Debug)]
pub(super) struct ReportedWindow {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) outcome: WindowOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WindowOutcome {
    Released,
    /// The window was refused for budget; with the reason.
    Refused(String),
    /// The window was skipped; true if a part of its input is missing, and otherwise its time had passed.
    Skipped(bool),
    Lost,
}

impl WindowOutcome {
    pub(super) fn word(&self) -> &'static str {
        match self {
            WindowOutcome::Released => "released",
            WindowOutcome::Refused(_) => "refused",
            WindowOutcome::Skipped(_) => "skipped",
            WindowOutcome::Lost => "lost",
        }
    }
}

/// The numbers of one key, or of one quantile or field of a key, in the order of its windows.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) key: Option<String>,
    /// True if the key is a parent of others, and its numbers are totals of theirs.
    pub(super) rollup: bool,
    pub(super) q: Option<String>,
    pub(super) of: Option<String>,
    /// True if keys of this kind have a natural order, as numbers and buckets do.
    pub(super) ordered: bool,
    /// True if its values are made of several noised numbers, as means, ratios and variances are: the largest ones are those of
    /// the fewest people, and of the most noise.
    pub(super) composed: bool,
    pub(super) points: Vec<ChartPoint>,
}

/// The tracks that share their pictures: the keys of a release, or their parents, whose numbers are larger by nature.
#[derive(Debug)]
pub(super) struct TrackLevel<'a> {
    /// True if the keys are parents of others.
    pub(super) rollup: bool,
    pub(super) tracks: Vec<&'a Track>,
    /// The name of the level; `None` where it is the only one.
    pub(super) name: Option<String>,
}

impl TrackLevel<'_> {
    /// The title of a picture of this level.
    pub(super) fn title(&self, release: &str) -> String {
        match &self.name {
            Some(name) => format!("{release}, {name}"),
            None => release.to_owned(),
        }
    }

    /// Returns true if its keys are chosen by their intervals, and not by their numbers.
    pub(super) fn by_interval(&self) -> bool {
        self.tracks.iter().any(|track| track.composed)
    }

    /// The noun for one key of the level that is not shown.
    pub(super) fn noun(&self) -> &'static str {
        if self.rollup { "total" } else { "key" }
    }
}

impl Track {
    /// The name of the track; `None` if the release has neither keys nor several numbers of a key.
    pub(super) fn name(&self) -> Option<String> {
        let key = self.key.as_ref().map(|key| named(Some(key)));
        let quantile = self.q.as_ref().map(|q| format!("q {q}"));
        let parts: Vec<String> = key.into_iter().chain(self.of.clone()).chain(quantile).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The covariances of a window.
#[derive(Debug, Default)]
pub(super) struct NewestCovariances {
    /// The start and the end of the window.
    pub(super) window: [Option<i64>; 2],
    pub(super) rows: Vec<CovarianceRow>,
}

/// The covariance of two fields of a key.
#[derive(Debug)]
pub(super) struct CovarianceRow {
    pub(super) key: Option<String>,
    pub(super) of: String,
    pub(super) with: String,
    pub(super) value: f64,
    /// The standard deviation of the noise in it.
    pub(super) scale: f64,
}

impl NewestCovariances {
    /// Adds those of a line, unless it is of an earlier window. Those of two fields are in the lines of both.
    fn take(&mut self, window: LineWindow<'_>, cell: &CellLine<'_>) {
        let Some(of) = cell.of.as_ref().filter(|_| !cell.covariance.is_empty()) else { return };
        let window = [window.start, window.end].map(|text| at(text?).ok());
        if window < self.window && !self.rows.is_empty() {
            return;
        }
        if window != self.window {
            *self = NewestCovariances { window, rows: Vec::new() };
        }
        let key = cell.key_text().map(Cow::into_owned);
        for covariance in &cell.covariance {
            let [of, with] = [of, &covariance.with].map(|field| field.text().to_owned());
            let [value, scale] =
                [covariance.value, covariance.scale].map(|number| finite(Some(number.get())));
            let (Some(value), Some(scale)) = (value, scale) else { continue };
            if self.between(key.as_deref(), &with, &of).is_none() {
                self.rows.push(CovarianceRow { key: key.clone(), of, with, value, scale });
            }
        }
    }

    fn between(&self, key: Option<&str>, of: &str, with: &str) -> Option<f64> {
        let is_asked = |row: &&CovarianceRow| row.key.as_deref() == key && row.of == of && row.with == with;
        self.rows.iter().find(is_asked).map(|row| row.value)
    }

    /// The correlation of the fields of a row; `None` of a field with itself, and where the noise leaves no number from -1 to 1.
    pub(super) fn correlation(&self, row: &CovarianceRow) -> Option<f64> {
        let own = |field: &str| self.between(row.key.as_deref(), field, field).filter(|own| *own > 0.0);
        let correlation = row.value / (own(&row.of)? * own(&row.with)?).sqrt();
        (row.of != row.with && correlation.abs() <= 1.0).then_some(correlation)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ChartPoint {
    /// The index of the window among those of the release.
    pub(super) window: usize,
    pub(super) value: f64,
    /// The interval; `None` if the line has none, or the value has a bound on its rank instead.
    pub(super) interval: Option<(f64, f64)>,
    pub(super) truth: Option<f64>,
    /// The fitted value, where one was added to the line.
    pub(super) fitted: Option<f64>,
}

impl ChartPoint {
    /// The length of its interval, twice that of its one side if it has one alone; infinity without an interval.
    pub(super) fn length(&self) -> f64 {
        let Some((low, high)) = self.interval else { return f64::INFINITY };
        (2.0 * (self.value - low).max(high - self.value)).max(high - low)
    }

    /// All numbers of the point that a picture shows.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> + Clone + use<> {
        let ends = self.interval.map(|(low, high)| [low, high]);
        [self.value].into_iter().chain(ends.into_iter().flatten()).chain(self.truth).chain(self.fitted)
    }
}

/// The noise distributions of a value, with its confidence and promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoiseNotes {
    /// The number, the kind and the scale of each.
    pub(super) noises: Vec<[String; 3]>,
    pub(super) q: Option<String>,
    pub(super) of: Option<String>,
    pub(super) ranked: Option<RankInterval>,
    pub(super) confidence: String,
    pub(super) promise: String,
}

/// The text for the open end of an interval.
const OPEN: &str = "open";

/// A row of the table, with the digits that mean something: the window, the key, field and quantile, the value and its interval, and in
/// a demonstration the tally, the exact value and the rank error in people.
pub(super) type TableRow = [String; 12];

/// The most rows of the table: browsers take long to lay out more, and nobody would read them.
const ROWS: usize = 1000;

impl Model {
    /// Adds a line; one that is not of a release is skipped.
    pub(super) fn take(&mut self, line: &str) {
        let Some(line) = ReleaseLine::read(line) else { return };
        let place = self.releases.iter().position(|series| *series.name == *line.release);
        let place = place.unwrap_or_else(|| {
            let (name, newest) = (line.release.clone().into_owned(), self.newest_rows);
            self.releases.push(ReleaseSeries { name, newest, ..ReleaseSeries::default() });
            self.releases.len() - 1
        });
        if let Some(series) = self.releases.get_mut(place) {
            series.take(&line);
        }
    }

    /// Begins with the status of a budget, of windows that are not shown.
    pub(super) fn begin(&mut self, budget_status: &crate::gate::BudgetStatus) {
        self.budget.before = budget_status.spent.part_of(&budget_status.cap).unwrap_or(0.0);
        self.outlook(budget_status);
    }

    /// Adds the status of a budget at a window.
    pub(super) fn spend(&mut self, budget_status: &crate::gate::BudgetStatus) {
        if let Some(part) = budget_status.spent.part_of(&budget_status.cap) {
            self.budget.spent.push((budget_status.window, part));
        }
        self.outlook(budget_status);
    }

    fn outlook(&mut self, budget_status: &crate::gate::BudgetStatus) {
        self.budget.newest =
            Some((budget_status.account.clone(), budget_status.spent.clone(), budget_status.cap.clone()));
        self.budget.forecast = Some(Arc::clone(&budget_status.forecast));
    }
}

impl ReleaseSeries {
    fn take(&mut self, line: &ReleaseLine<'_>) {
        // All answers of a bundle are of the window that it was paid for.
        if let Says::Answer(answer) = &line.says {
            return self.answer(answer);
        }
        // A window that was closed is released again, to a new output file.
        if self.known.contains(&ends(line.window)) {
            return;
        }
        let outcome = match &line.says {
            Says::Cell(cell) => return self.cell(line.window, cell),
            Says::Answer(_) => return,
            Says::Closed { .. } => WindowOutcome::Released,
            Says::Refused(why) => WindowOutcome::Refused(format!(
                "{} had spent {}, the window asked for {}, the limit is {}",
                why.account, why.spent, why.asked, why.limit
            )),
            Says::Never("lost", _) => WindowOutcome::Lost,
            Says::Never(_, why) => WindowOutcome::Skipped(why.as_deref() == Some("input gap")),
        };
        let place = self.window(line.window);
        if let Some(window) = self.windows.get_mut(place) {
            window.outcome = outcome;
        }
        self.known.insert(ends(line.window));
    }

    /// True if a line has a fitted value.
    pub(super) fn is_fitted(&self) -> bool {
        self.tracks.iter().flat_map(|track| &track.points).any(|point| point.fitted.is_some())
    }

    /// The tracks by the level of their keys, parents first. `names` are those of keys and of parents, if they are known.
    pub(super) fn levels(&self, names: Option<&[String; 2]>) -> Vec<TrackLevel<'_>> {
        let (parents, keys): (Vec<&Track>, Vec<&Track>) = self.tracks.iter().partition(|track| track.rollup);
        let is_rolled_up = !parents.is_empty();
        let levels = [(true, parents), (false, keys)].into_iter().filter(|(_, tracks)| !tracks.is_empty());
        let name = |rollup: bool| match (names, rollup) {
            (Some([_, parents]), true) => format!("by {parents} (totals)"),
            (Some([keys, _]), false) => format!("by {keys}"),
            (None, true) => "totals of the keys with one beginning".to_owned(),
            (None, false) => "the keys".to_owned(),
        };
        levels
            .map(|(rollup, tracks)| TrackLevel { rollup, tracks, name: is_rolled_up.then(|| name(rollup)) })
            .collect()
    }

    /// The index of the line's window; its cells come before the line that closes it.
    fn window(&mut self, window: LineWindow<'_>) -> usize {
        let [start, end] = [window.start, window.end].map(|text| at(text?).ok());
        match self.windows.last() {
            Some(last) if (last.start, last.end) == (start, end) => {}
            _ => self.windows.push(ReportedWindow { start, end, outcome: WindowOutcome::Released }),
        }
        self.windows.len() - 1
    }

    /// Adds the answer of a query, with its noise.
    fn answer(&mut self, answer: &AnswerLine<'_>) {
        if self.answers.take(answer, self.newest)
            && let Some(cell) = &answer.cell
        {
            self.law(cell, None);
        }
    }

    /// Adds the noise of a cell to the notes.
    fn law(&mut self, cell: &CellLine<'_>, of: Option<String>) {
        let laws = NoiseNotes {
            noises: cell.noise.iter().map(|law| noise(law, cell)).collect(),
            q: cell.q.map(str::to_owned),
            of,
            ranked: cell.ranked(),
            confidence: cell.confidence.to_owned(),
            promise: cell.promise.clone().into_owned(),
        };
        if !self.laws.contains(&laws) {
            self.laws.push(laws);
        }
    }

    /// Adds a row to the table, as far as it has room.
    fn row(&mut self, row: TableRow) {
        if self.newest.is_some_and(|most| self.rows.len() >= most) {
            self.rows.pop_front();
            self.omitted += 1;
        }
        if self.rows.len() < ROWS {
            self.rows.push_back(row);
        } else {
            self.omitted += 1;
        }
    }

    fn cell(&mut self, window: LineWindow<'_>, cell: &CellLine<'_>) {
        let place = self.window(window);
        if self.alert.take(window, cell) {
            return self.law(cell, None);
        }
        self.top.take(window, cell);
        let of = cell.of.as_ref().map(|of| of.text().to_owned());
        self.law(cell, of.clone());
        let key = cell.key_text().map(Cow::into_owned);
        let [q, off] = [cell.q, cell.off].map(|text| text.unwrap_or_default().to_owned());
        let ShownNumbers { value, low, high, tally, truth } = cell.shown();
        let [value, mut low, mut high, tally, truth] =
            [value, low, high, tally, truth].map(Option::unwrap_or_default);
        let sides = [
            (&mut high, matches!(cell.ranked(), Some(RankInterval::Largest(_)))),
            (&mut low, matches!(cell.ranked(), Some(RankInterval::Smallest(_)))),
        ];
        for (end, _) in sides.into_iter().filter(|(end, is_open)| *is_open && end.is_empty()) {
            end.push_str(OPEN);
        }
        let [start, end] = ends(window);
        let (name, field) = (key.clone().unwrap_or_default(), of.clone().unwrap_or_default());
        let fitted = cell.fitted.as_ref().map_or(String::new(), |(fitted, _)| (*fitted).to_owned());
        self.row([start, end, name, field, q, value, low, high, fitted, tally, truth, off]);
        self.errors.take(cell);
        self.covariances.take(window, cell);
        self.insufficient += u64::from(cell.insufficient);
        if self.total.as_deref() != cell.total.as_deref() {
            self.total = cell.total.as_deref().map(str::to_owned);
        }
        // A place is no number to draw.
        if self.top.is_some() {
            return;
        }
        let Some(value) = finite(cell.value) else { return };
        let is_bounded = cell.ranked().is_some() || cell.low.is_some() || cell.high.is_some();
        self.unbounded += u64::from(!is_bounded);
        let (low, high) = (finite(cell.low).unwrap_or(value), finite(cell.high).unwrap_or(value));
        let is_drawn = cell.ranked().is_none() && (cell.low.is_some() || cell.high.is_some());
        let interval = is_drawn.then_some((low, high));
        let fitted = finite(cell.fitted.as_ref().map(|(fitted, _)| *fitted));
        let point = ChartPoint { window: place, value, interval, truth: finite(cell.truth), fitted };
        let q = cell.q.map(str::to_owned);
        let track = *self.places.entry([key.clone(), of.clone(), q.clone()]).or_insert_with(|| {
            let ordered = match &cell.key {
                Some(LineKey::Number(_)) => true,
                Some(LineKey::Text(text)) => is_bucket(text),
                Some(LineKey::Texts { .. }) => false,
                None => q.is_some(),
            };
            // Parents have their own pictures, in which the text of a list would be read as part of the name.
            let name = match &cell.key {
                Some(parent @ LineKey::Texts { .. }) if cell.rollup => Some(parent.text().to_owned()),
                _ => key,
            };
            let (rollup, composed) = (cell.rollup, cell.noise.len() > 1);
            self.tracks.push(Track { key: name, rollup, q, of, ordered, composed, points: Vec::new() });
            self.tracks.len() - 1
        });
        if let Some(track) = self.tracks.get_mut(track) {
            track.points.push(point);
        }
    }
}

fn noise(law: &CellNoise<'_>, cell: &CellLine<'_>) -> [String; 3] {
    let number = match (&law.number, &cell.of, cell.q) {
        (Some(number), Some(of), _) if number != "records" => format!("{number} of {}", of.text()),
        (Some(number), ..) => number.clone().into_owned(),
        (None, _, Some(q)) => format!("q {q}"),
        (None, ..) => String::new(),
    };
    let kind = match (law.comparisons, &law.strategy) {
        (_, Some(strategy)) => format!("{}, {strategy}", law.kind),
        (Some(comparisons), None) => format!(
            "{}, {}",
            law.kind,
            counted(usize::try_from(comparisons).unwrap_or(usize::MAX), "comparison")
        ),
        (None, None) => law.kind.clone().into_owned(),
    };
    [number, kind, law.scale().to_owned()]
}

pub(super) fn ends(window: LineWindow<'_>) -> [String; 2] {
    [window.start, window.end].map(|text| text.unwrap_or_default().to_owned())
}

/// Returns true of a bucket: `[0, 10)`, `(-inf, 0)`, `[10, inf)`.
fn is_bucket(text: &str) -> bool {
    let inside = text.strip_prefix(['[', '(']).and_then(|text| text.strip_suffix(')'));
    let number = |text: &str| matches!(text, "inf" | "-inf") || text.parse::<i64>().is_ok();
    inside.and_then(|text| text.split_once(", ")).is_some_and(|(low, high)| number(low) && number(high))
}
