//! Lines in, the same lines out, those of the chosen releases with a fitted value.
//!
//! Lines stay in their order. A filter adds to each line as it comes; keys are drawn together once their window is closed, until
//! when its lines wait; and a series is fitted as a whole once the input has ended, until when everything waits. All other lines
//! pass byte by byte.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::fmt;

use super::cells::{SeriesName, WindowId, measured, unfit};
use super::measured::{FitSummary, FitTally};
use super::{Measurement, RandomWalk, monotone, shrunk, smoothed};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::release_line::{CellLine, LineWindow, ReleaseLine, Says};

/// The fit of a release. The number is the standard deviation of its values from one window to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// Each value by those of its series up to it.
    Filter(f64),
    /// Each value by all of its series.
    Smooth(f64),
    /// Totals that never fall, by all of their series.
    Monotone,
    /// The keys of a window, by each other.
    Shrink,
}

impl Fit {
    /// The name of the fit, in a line and as an option.
    pub fn word(self) -> &'static str {
        match self {
            Fit::Filter(_) => "filter",
            Fit::Smooth(_) => "smooth",
            Fit::Monotone => "monotone",
            Fit::Shrink => "shrink",
        }
    }
}

/// The refusal of a release whose lines cannot be fitted as was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitRelease {
    option: &'static str,
    release: String,
    found: String,
    remedy: &'static str,
}

impl fmt::Display for UnfitRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnfitRelease { option, release, found, remedy } = self;
        write!(f, "{option}: {release}: found {found}; give {remedy}")
    }
}

impl Error for UnfitRelease {}

/// The most names of other releases that a refusal lists.
const LISTED: usize = 20;

/// Adds fitted values to lines.
///
/// ```
/// use discreet::fit::{Fit, Fitter};
///
/// let mut fitter = Fitter::new([("visits".to_owned(), Fit::Filter(10.0))])?;
/// let mut out = Vec::new();
/// for (hour, value) in [(10, 130), (11, 190)] {
///     let line = format!(
///         r#"{{"release":"visits","window":{{"start":"2026-01-01T{hour}:00:00Z","end":"2026-01-01T{}:00:00Z"}},"value":{value},"interval":[0,300],"confidence":0.9,"noise":{{"kind":"gaussian","scale":10.0}},"id":"5f","promise":"lifetime, a person, rho 0.01"}}"#,
///         hour + 1
///     );
///     fitter.take(format!("{line}\n").as_bytes(), &mut out)?;
/// }
/// let summaries = fitter.finish(&mut out)?;
/// let text = String::from_utf8(out)?;
/// assert!(text.lines().nth(1).is_some_and(|line| line.ends_with(r#","fitted":170,"fitted_by":"filter"}"#)));
/// assert_eq!(summaries[0].fitted, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fitter {
    releases: Vec<FittedRelease>,
    queue: LineQueue,
    /// Names of releases that are not fitted, some of them.
    others: BTreeSet<String>,
    /// True if the last line that was taken has no end yet: the next is a part of it.
    is_within: bool,
    /// The number of lines with a number of these and other such releases.
    other_lines: u64,
}

/// The lines that wait, or wait behind one that does.
#[derive(Debug, Default)]
struct LineQueue {
    lines: VecDeque<QueuedLine>,
    /// The number of lines that left before the first.
    left: u64,
}

#[derive(Debug)]
struct QueuedLine {
    text: Vec<u8>,
    waits: bool,
}

impl LineQueue {
    /// Adds a line that waits until it is settled, and returns its number.
    fn push(&mut self, text: &[u8]) -> u64 {
        self.lines.push_back(QueuedLine { text: text.to_owned(), waits: true });
        self.left + self.lines.len() as u64 - 1
    }

    /// Settles a line, with a fitted value or without.
    fn settle(&mut self, number: u64, fitted: Option<f64>, fit: Fit, tally: &mut FitTally) {
        let place = number.checked_sub(self.left).and_then(|place| usize::try_from(place).ok());
        let Some(line) = place.and_then(|place| self.lines.get_mut(place)) else { return };
        line.waits = false;
        if let Some(text) = fitted.and_then(|fitted| with_fitted(&line.text, fitted, fit, tally)) {
            line.text = text;
        }
    }

    /// Writes the lines that no longer wait, up to the first that does.
    fn leave(&mut self, out: &mut Vec<u8>) {
        while self.lines.front().is_some_and(|line| !line.waits) {
            out.extend(self.lines.pop_front().into_iter().flat_map(|line| line.text));
            self.left += 1;
        }
    }
}

/// The line with a fitted value at its end, with as many digits as its noise leaves a meaning.
fn with_fitted(line: &[u8], fitted: f64, fit: Fit, tally: &mut FitTally) -> Option<Vec<u8>> {
    let text = str::from_utf8(line).ok()?;
    let Says::Cell(cell) = ReleaseLine::read(text)?.says else { return None };
    // Minus zero becomes zero.
    let fitted = cell.beside(&(fitted + 0.0).to_string());
    let (open, end) = text.split_at(text.trim_end().strip_suffix('}')?.len());
    tally.add(&cell, &fitted);
    Some(format!("{open},\"fitted\":{fitted},\"fitted_by\":\"{}\"{end}", fit.word()).into_bytes())
}

/// A release that is fitted, as far as its lines have come.
#[derive(Debug)]
struct FittedRelease {
    name: String,
    fit: Fit,
    walk: Option<RandomWalk>,
    /// True once a line of it had a number: its kind is that of all.
    is_known: bool,
    series: BTreeMap<SeriesName, Series>,
    window: Option<(WindowId, BTreeMap<SeriesName, WaitingValue>)>,
    tally: FitTally,
}

/// The values of one key or field, in the order of their windows.
#[derive(Debug)]
struct Series {
    walk: Option<RandomWalk>,
    last: WindowId,
    measured: Measurement,
    /// The fitted value of the last window.
    fitted: f64,
    /// The values that wait for the end of the input, each with the number of windows since the last.
    waiting: Vec<(WaitingValue, f64)>,
}

/// A value, and the lines that have it: a line may be delivered again.
#[derive(Debug)]
struct WaitingValue {
    lines: Vec<u64>,
    measured: Measurement,
}

impl Fitter {
    /// A fitter of these releases.
    ///
    /// # Errors
    ///
    /// If a deviation is not above zero, or a release has two fits.
    pub fn new(fits: impl IntoIterator<Item = (String, Fit)>) -> Result<Fitter, Invalid> {
        let mut releases: Vec<FittedRelease> = Vec::new();
        for (name, fit) in fits {
            if releases.iter().any(|release| release.name == name) {
                return Err(Invalid::new(fit.word(), InvalidKind::Malformed, "one fit for each release"));
            }
            let walk = match fit {
                Fit::Filter(deviation) | Fit::Smooth(deviation) => {
                    let renamed = |refused: Invalid| {
                        Invalid::new(fit.word(), refused.kind(), refused.remedy().to_owned())
                    };
                    Some(RandomWalk::new(deviation).map_err(renamed)?)
                }
                Fit::Monotone | Fit::Shrink => None,
            };
            let (series, tally) = (BTreeMap::new(), FitTally::default());
            releases.push(FittedRelease { name, fit, walk, is_known: false, series, window: None, tally });
        }
        Ok(Fitter {
            releases,
            queue: LineQueue::default(),
            others: BTreeSet::new(),
            other_lines: 0,
            is_within: false,
        })
    }

    /// Says how many lines with a number are of releases that have no fit, and names some of these.
    pub fn others(&self) -> Option<String> {
        let names: Vec<&str> = self.others.iter().map(String::as_str).collect();
        let values = if self.other_lines == 1 { "value is" } else { "values are" };
        (self.other_lines > 0).then(|| {
            format!(
                "{} {values} of releases that no option names, and have no fitted one: {}",
                self.other_lines,
                names.join(", ")
            )
        })
    }

    /// Takes a line with its end, or a part of a long one, and adds to `out` all lines that no longer wait.
    ///
    /// # Errors
    ///
    /// If the first number of a release is of a kind that cannot be fitted as was asked.
    pub fn take(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), UnfitRelease> {
        let number = self.queue.push(line);
        // The text of a part says nothing.
        let is_part = std::mem::replace(&mut self.is_within, !line.ends_with(b"\n"));
        let read = str::from_utf8(line).ok().filter(|_| !is_part).and_then(ReleaseLine::read);
        let waits = match &read {
            Some(line) => match self.releases.iter_mut().find(|release| release.name == *line.release) {
                Some(release) => release.take(line, number, &mut self.queue)?,
                None => {
                    if self.others.len() < LISTED && !self.others.contains(&*line.release) {
                        self.others.insert(line.release.clone().into_owned());
                    }
                    self.other_lines +=
                        u64::from(matches!(&line.says, Says::Cell(cell) if cell.value.is_some()));
                    false
                }
            },
            None => false,
        };
        if !waits {
            self.queue.settle(number, None, Fit::Shrink, &mut FitTally::default());
        }
        self.queue.leave(out);
        Ok(())
    }

    /// Fits what waits for the end of the input, and adds all lines that are left to `out`.
    ///
    /// # Errors
    ///
    /// If a release has no line that was fitted.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<Vec<FitSummary>, UnfitRelease> {
        for release in &mut self.releases {
            // A window that was not closed may lack keys.
            release.leave_window(false, &mut self.queue);
            release.fit_series(&mut self.queue);
        }
        self.queue.leave(out);
        for release in &self.releases {
            if release.tally.fitted == 0 {
                return Err(release.unfitted(&self.others));
            }
        }
        Ok(self.releases.iter().map(|release| release.tally.summary(&release.name, release.fit)).collect())
    }
}

impl FittedRelease {
    /// Takes a line of the release, and returns true if it waits or has left its place already.
    fn take(
        &mut self,
        line: &ReleaseLine<'_>,
        number: u64,
        queue: &mut LineQueue,
    ) -> Result<bool, UnfitRelease> {
        match &line.says {
            Says::Cell(cell) => self.cell(line.window, cell, number, queue),
            Says::Closed { .. } => {
                let is_open = self.window.as_ref().is_some_and(|(open, _)| open.is_of(line.window));
                self.leave_window(is_open, queue);
                Ok(false)
            }
            Says::Answer(_) => {
                Err(self.refused("answers of queries", "a release of counts, people, sums or means"))
            }
            Says::Refused(_) | Says::Never(..) => Ok(false),
        }
    }

    fn cell(
        &mut self,
        window: LineWindow<'_>,
        cell: &CellLine<'_>,
        number: u64,
        queue: &mut LineQueue,
    ) -> Result<bool, UnfitRelease> {
        let is_unfit = unfit(self.fit, cell);
        if let Some((found, remedy)) = is_unfit.filter(|_| !self.is_known) {
            return Err(self.refused(found, remedy));
        }
        self.is_known |= is_unfit.is_none() && cell.value.is_some();
        self.tally.lines += u64::from(cell.value.is_some());
        let window = WindowId::of(window, &cell.id);
        if self.window.as_ref().is_some_and(|(open, _)| *open != window) {
            self.leave_window(false, queue);
        }
        let Some(measured) = measured(cell).filter(|_| is_unfit.is_none()) else {
            self.tally.unfitted.unmeasured += u64::from(cell.value.is_some());
            return Ok(false);
        };
        let name = SeriesName::of(cell);
        Ok(match self.fit {
            Fit::Shrink => {
                let (_, keys) = self.window.get_or_insert_with(|| (window, BTreeMap::new()));
                let waiting = || WaitingValue { lines: Vec::new(), measured };
                keys.entry(name).or_insert_with(waiting).lines.push(number);
                true
            }
            Fit::Filter(_) | Fit::Smooth(_) | Fit::Monotone => {
                self.next(name, window, measured, number, queue)
            }
        })
    }

    /// Adds a value to its series.
    fn next(
        &mut self,
        name: SeriesName,
        window: WindowId,
        measured: Measurement,
        number: u64,
        queue: &mut LineQueue,
    ) -> bool {
        let waits = !matches!(self.fit, Fit::Filter(_));
        let walk = self.walk;
        let mut is_new = false;
        let series = self.series.entry(name).or_insert_with(|| {
            is_new = true;
            let (last, fitted) = (window.clone(), measured.value);
            Series { walk, last, measured, fitted, waiting: Vec::new() }
        });
        let windows = window.behind(&series.last);
        if !is_new {
            // The same line again.
            if window == series.last {
                match series.waiting.last_mut() {
                    Some((value, _)) => value.lines.push(number),
                    None => queue.settle(number, Some(series.fitted), self.fit, &mut self.tally),
                }
                return true;
            }
            if window.start <= series.last.start {
                self.tally.unfitted.again += 1;
                return false;
            }
            if walk.is_some() {
                self.tally.moved(series.measured, measured, windows);
            }
        }
        (series.last, series.measured) = (window, measured);
        if waits {
            series.waiting.push((WaitingValue { lines: vec![number], measured }, windows));
        } else if let Some(walk) = &mut series.walk {
            series.fitted = walk.filtered(measured, windows);
            queue.settle(number, Some(series.fitted), self.fit, &mut self.tally);
        }
        true
    }

    /// Settles the lines of the window that waits, fitted if the window is whole.
    fn leave_window(&mut self, is_whole: bool, queue: &mut LineQueue) {
        let Some((_, keys)) = self.window.take() else { return };
        let mut levels: BTreeMap<(bool, Option<String>), Vec<WaitingValue>> = BTreeMap::new();
        for (name, value) in keys {
            levels.entry(name.level).or_default().push(value);
        }
        for values in levels.into_values() {
            let measured: Vec<Measurement> = values.iter().map(|value| value.measured).collect();
            let fitted = if is_whole { shrunk(&measured) } else { None };
            if fitted.is_none() {
                let lines: usize = values.iter().map(|value| value.lines.len()).sum();
                self.tally.unfitted.few_keys += lines as u64;
            }
            for (at, value) in values.iter().enumerate() {
                let fitted = fitted.as_ref().and_then(|fitted| fitted.get(at).copied());
                value.lines.iter().for_each(|line| queue.settle(*line, fitted, self.fit, &mut self.tally));
            }
        }
    }

    /// Fits each series that waits as a whole.
    fn fit_series(&mut self, queue: &mut LineQueue) {
        for series in std::mem::take(&mut self.series).into_values() {
            let measured: Vec<(Measurement, f64)> =
                series.waiting.iter().map(|(value, windows)| (value.measured, *windows)).collect();
            let fitted = match self.walk {
                Some(walk) => smoothed(walk, &measured),
                None => monotone(&measured.iter().map(|(total, _)| *total).collect::<Vec<_>>()),
            };
            for ((value, _), fitted) in series.waiting.iter().zip(fitted) {
                value
                    .lines
                    .iter()
                    .for_each(|line| queue.settle(*line, Some(fitted), self.fit, &mut self.tally));
            }
        }
    }

    fn refused(&self, found: impl Into<String>, remedy: &'static str) -> UnfitRelease {
        let (option, release) = (self.fit.word(), self.name.clone());
        UnfitRelease { option, release, found: found.into(), remedy }
    }

    /// The refusal of a release without a fitted value.
    fn unfitted(&self, others: &BTreeSet<String>) -> UnfitRelease {
        if self.tally.lines > 0 && self.fit == Fit::Shrink {
            let remedy = "a release with more keys, or --filter RELEASE=DEVIATION";
            return self.refused("no closed window of four keys or more", remedy);
        }
        if self.tally.lines > 0 {
            return self.refused("no value with a deviation of its noise", "a release whose lines have one");
        }
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let (found, remedy) = match &others[..] {
            [] => (
                "no released line in the input".to_owned(),
                "the lines of JSON that a run writes; a table (CSV) has none",
            ),
            others => (
                format!("no number of this release, but lines of {}", others.join(", ")),
                "a release of the input",
            ),
        };
        self.refused(found, remedy)
    }
}
