//! A demonstration: the truth beside the noise, charged to a ledger that is thrown away.
//!
//! Its key is made of the job file, so that the records kept of each person, and with them every tally, are
//! the same each time. It protects nobody: it is for data that may be shown, and every line of it says so.

use std::collections::BTreeMap;
use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::*;
use crate::accounting::Interval;
use crate::dataflow::{ExactCells, Pulled, RunError, Schedule, Source};
use crate::gate::{Gate, Opening};
use crate::job::Job;
use crate::job::config::{RecordFormat, SourcePlace};
use crate::job::release_plan::{CellKey, ReleasePlan, WindowQuery, schedule};
use crate::job::sources::{Crew, Group, SourcePart, steps};
use crate::ledger::{Digest, Ledger, LedgerKey};
use crate::mechanisms::{Cell, Key as _, Label, Quantile, Range, RankedValues, Summary, Tops, TotalSpan};
use crate::time::Time;
use crate::told;
use crate::told::{LineKey, ReleaseLine, Says};

/// The exact numbers of a demonstration, by release plan.
pub(crate) struct Demo {
    /// The key by which the kept records are selected.
    pub(crate) secret: [u8; 32],
    shown: Vec<Shown>,
}

impl Demo {
    pub(crate) fn new(offers: usize, gate: &Gate) -> Demo {
        let shown = (0..offers).map(|_| Shown::default()).collect();
        Demo { secret: *gate.key().derive(crate::dataflow::CHOICE), shown }
    }

    /// The collector of the exact cells of a release plan.
    pub(crate) fn shown(&self, offer: usize) -> Shown {
        self.shown.get(offer).cloned().unwrap_or_default()
    }

    /// The lines of a window as a demonstration writes them: each with its exact numbers, and all marked as a
    /// demonstration's.
    pub(crate) fn annotate(&self, offer: usize, of: &ReleasePlan, window: Interval, lines: &str) -> String {
        let told: Vec<String> = lines.lines().map(|line| self.line(offer, of, window, line)).collect();
        told.join("\n")
    }

    fn line(&self, offer: usize, of: &ReleasePlan, window: Interval, line: &str) -> String {
        let Some(open) = line.strip_suffix('}') else { return line.to_owned() };
        let exact = match (ReleaseLine::read(line).map(|line| line.says), self.shown.get(offer)) {
            (Some(Says::Cell(cell)), Some(shown)) => shown.of(of, window, &cell),
            _ => None,
        };
        format!("{open},\"demo\":true{}}}", exact.unwrap_or_default())
    }
}

/// A ledger that is removed when this is dropped.
pub(crate) struct TemporaryLedger(PathBuf);

impl TemporaryLedger {
    /// Makes a ledger with the job's account, in a directory of its own.
    pub(crate) fn make(job: &Job) -> Result<TemporaryLedger, RunError> {
        let seed = Digest::of(format!("{job:?}").as_bytes());
        let named = format!("discreet-demo-{}-{}", std::process::id(), &seed.to_string()[..8]);
        let made = TemporaryLedger(std::env::temp_dir().join(named));
        let refused = |error: std::io::Error| {
            RunError::configuration(format!(
                "demo: {}: {error}; set TMPDIR to a directory that can be written",
                made.0.display()
            ))
        };
        fs::DirBuilder::new().mode(0o700).create(&made.0).map_err(refused)?;
        let key = made.key();
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&key).map_err(refused)?;
        file.write_all(&blake3::derive_key("discreet-dataflow 2026-11 key of a demonstration", seed.bytes()))
            .map_err(refused)?;
        Ledger::create_alone(made.ledger())?.register(job.account())?;
        Ok(made)
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("demo.ledger")
    }

    fn key(&self) -> PathBuf {
        LedgerKey::beside(&self.ledger())
    }

    /// Opens a gate to it. Of several processes each has the same key, and the ledger of the first is the one
    /// that is charged.
    pub(crate) fn open(&self, job: &Job, crew: Crew) -> Result<Gate, RunError> {
        if crew.process > 0 {
            return Ok(Gate::elsewhere(job.name.as_str(), self.key())?.with_version(job.numbered()));
        }
        Ok(Opening::new(self.ledger(), job.name.as_str())?.version(job.numbered()).key(self.key()).open()?)
    }
}

impl Drop for TemporaryLedger {
    fn drop(&mut self) {
        // A ledger that cannot be removed lies in a directory for temporary files, and protects nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}

// The exact numbers that a demonstration shows beside a noised one: after contribution bounding, and before
// it; of windows that are added up, their sums; and of an answer that is found by its rank, the number of
// people by which it is off.

/// The exact numbers of one release. Unused parts stay empty.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    pub(crate) sums: Both<Cell>,
    pub(crate) tops: Both<Tops>,
    pub(crate) values: Both<RankedValues>,
    /// The sums over windows, where they are added up: made at their first use, after the run.
    added: Arc<OnceLock<[WindowSums; 2]>>,
}

/// One value after contribution bounding, and one before it.
#[derive(Clone)]
pub(crate) struct Both<C> {
    pub(crate) tally: ExactCells<CellKey, C>,
    pub(crate) truth: ExactCells<CellKey, C>,
}

impl<C: Summary + Clone> Default for Both<C> {
    fn default() -> Both<C> {
        Both { tally: ExactCells::new(), truth: ExactCells::new() }
    }
}

impl<C: Summary + Clone> Both<C> {
    fn cells(&self, window: Interval, key: &CellKey) -> [C; 2] {
        [self.tally.cell(window, key), self.truth.cell(window, key)]
    }
}

impl Shown {
    /// The fields that are appended to a line.
    pub(super) fn of(
        &self,
        offer: &ReleasePlan,
        window: Interval,
        told: &told::CellLine<'_>,
    ) -> Option<String> {
        let key = offer.released_key(told.key.as_ref())?;
        let value = || steps(told.value?.as_bytes(), offer.point().count());
        match &offer.query {
            WindowQuery::Max(_, grid, _) => {
                let value = value()?;
                let exact = self.tops.cells(window, &key).map(|tops| tops.shown_in_a_demo(grid, value));
                Some(ranked(offer, exact))
            }
            WindowQuery::Quantiles(..) => {
                let (quantile, value): (Quantile, i64) = (told.q?.parse().ok()?, value()?);
                let exact = self.values.cells(window, &key);
                Some(ranked(offer, exact.map(|values| values.shown_in_a_demo(quantile, value))))
            }
            _ => {
                let [tally, truth] = match offer.running {
                    None => self.sums.cells(window, &key).map(|cell| cell.shown_in_a_demo()),
                    Some(adding) => {
                        let Both { tally, truth } = &self.sums;
                        let added = self.added.get_or_init(|| [tally, truth].map(WindowSums::new));
                        added.each_ref().map(|sums| sums.over(adding.span, &offer.schedule, window, &key))
                    }
                };
                let (tally, truth) = (offer.number_after(tally), offer.number_before(truth));
                Some(format!(",\"tally\":{tally},\"truth\":{truth}"))
            }
        }
    }
}

/// The exact number of the cell after contribution bounding and of that before it, and the number of people
/// by which the answer is off: after bounding, for that is what is promised.
fn ranked(offer: &ReleasePlan, [(tally, off), (truth, _)]: [(Option<i64>, u64); 2]) -> String {
    let shown =
        |number: Option<i64>| number.map_or("null".to_owned(), |number| offer.point().shown(number.into()));
    format!(",\"tally\":{},\"truth\":{},\"off\":{off}", shown(tally), shown(truth))
}

impl ReleasePlan {
    /// The cell's key for the key of a released line.
    fn released_key(&self, told: Option<&LineKey<'_>>) -> Option<CellKey> {
        match (&self.query, told) {
            (_, None) => Some(CellKey::Whole),
            (WindowQuery::Histogram(_, _, keys), Some(told)) => {
                let buckets = keys.listed()?;
                let is_told =
                    |key: &&CellKey| matches!(key.label(), Label::Text(text) if *text == *told.text());
                buckets.iter().find(is_told).cloned()
            }
            (_, Some(told)) => Some(CellKey::Text(told.text().into())),
        }
    }

    /// The number of a bounded cell, in the form of a released one.
    fn number_after(&self, [people, records, sum]: [i128; 3]) -> String {
        let mean = |range: &Range| {
            let middle = (range.low() as f64 + range.high() as f64) / 2.0;
            middle + sum as f64 / 2.0 / records as f64
        };
        match &self.query {
            WindowQuery::People(_) => people.to_string(),
            WindowQuery::Sum(..) => self.point().shown(sum),
            WindowQuery::Mean(..) if records == 0 => "null".to_owned(),
            WindowQuery::Mean(range, _) => self.point().float(mean(range)).to_string(),
            _ => records.to_string(),
        }
    }

    /// The number of a cell before contribution bounding, whose sum is of the values themselves.
    fn number_before(&self, [people, records, sum]: [i128; 3]) -> String {
        match &self.query {
            WindowQuery::Mean(..) if records == 0 => "null".to_owned(),
            WindowQuery::Mean(..) => self.point().float(sum as f64 / records as f64).to_string(),
            _ => self.number_after([people, records, sum]),
        }
    }
}

// The exact numbers of windows, added up: the truth beside a running total.

/// People, records and sum of each key over all windows up to each end of a window that is not empty.
pub(super) struct WindowSums(BTreeMap<CellKey, Vec<(Time, [i128; 3])>>);

impl WindowSums {
    /// Adds up all cells that are known, so it is called once everything is.
    pub(super) fn new(exact: &ExactCells<CellKey, Cell>) -> WindowSums {
        let summed = |cells: Vec<(Time, Cell)>| {
            let mut sum = [0; 3];
            let add = |(end, cell): (Time, Cell)| {
                sum.iter_mut().zip(cell.shown_in_a_demo()).for_each(|(sum, own)| *sum += own);
                (end, sum)
            };
            cells.into_iter().map(add).collect()
        };
        WindowSums(exact.by_key().into_iter().map(|(key, cells)| (key, summed(cells))).collect())
    }

    /// The sums over the windows of the total that is released at this window.
    pub(super) fn over(
        &self,
        span: TotalSpan,
        schedule: &Schedule,
        window: Interval,
        key: &CellKey,
    ) -> [i128; 3] {
        let all = self.through(key, window.end());
        let before = match span {
            TotalSpan::SoFar { .. } => None,
            TotalSpan::Last { windows } => {
                let own = schedule.holding(window.start()).start;
                own.checked_sub(windows).and_then(|number| schedule.window(number))
            }
        };
        let left = before.map_or([0; 3], |before| self.through(key, before.end()));
        std::array::from_fn(|at| all[at] - left[at])
    }

    fn through(&self, key: &CellKey, end: Time) -> [i128; 3] {
        let ends = self.0.get(key).map_or(&[][..], |ends| ends);
        let known = ends.partition_point(|(time, _)| *time <= end);
        known.checked_sub(1).and_then(|last| ends.get(last)).map_or([0; 3], |(_, sum)| *sum)
    }
}

// The span of the data, from which the windows are inferred: for a demonstration alone, for the set of
// windows is public everywhere else.

/// The margin before and behind the data. No window is longer, so the first and the last record have theirs.
const ROOM: Time = 3_700 * 86_400_000_000;

/// The horizon, with its missing ends taken from the first and the last record.
pub(super) fn inferred(job: &Job, stated: Horizon) -> Result<Horizon, RunError> {
    if let RecordFormat::Csv(SourcePlace::Stdin)
    | RecordFormat::Jsonl(SourcePlace::Stdin)
    | RecordFormat::Combined(SourcePlace::Stdin) = &job.source.records
    {
        let message = "job.from, job.until: found nothing; give both: standard input is read once, so nobody can look \
                       which windows hold it";
        return Err(RunError::configuration(message));
    }
    let Some((first, last)) = ends(job)? else {
        let message =
            "the source holds no record with a time; give job.from and job.until, or another source";
        return Err(RunError::configuration(message));
    };
    let around = Horizon {
        from: Some(stated.from.unwrap_or(first.saturating_sub(ROOM))),
        until: Some(stated.until.unwrap_or(last.saturating_add(ROOM))),
    };
    let (mut from, mut until) = (stated.from, stated.until);
    for release in job.releases.iter().filter(|release| release.every != Every::All) {
        let windows = schedule(job, release, around, release.name.as_str())?;
        let holds_first = windows.window(windows.holding(first).start);
        let holds_last = windows.holding(last).end.checked_sub(1).and_then(|number| windows.window(number));
        if let Some(window) = holds_first.filter(|_| stated.from.is_none()) {
            from = Some(from.map_or(window.start(), |from| from.min(window.start())));
        }
        if let Some(window) = holds_last.filter(|_| stated.until.is_none()) {
            until = Some(until.map_or(window.end(), |until| until.max(window.end())));
        }
    }
    Ok(Horizon { from, until })
}

/// The times of the first and of the last record.
fn ends(job: &Job) -> Result<Option<(Time, Time)>, RunError> {
    let group = Group { key: None, value: None };
    let survey = Survey::none();
    let wanted = FieldRequirements { groups: vec![group], secret: [0; 32], time: true, span: None, survey };
    let crew = Crew { process: 0, processes: 1, threads: 1 };
    let input =
        sources::open(&job.source, &Protected::Record, wanted, InputPace::Bounded, crew, Brake::new())?;
    let mut part: SourcePart<(), ()> = input.part(0);
    let (mut batch, mut ends) = (Vec::new(), None::<(Time, Time)>);
    loop {
        let pulled = part.pull(&mut batch)?;
        for record in batch.drain(..) {
            let (first, last) = ends.unwrap_or((record.time, record.time));
            ends = Some((first.min(record.time), last.max(record.time)));
        }
        match pulled {
            Pulled::End => return Ok(ends),
            Pulled::Idle => std::thread::sleep(std::time::Duration::from_millis(1)),
            Pulled::More | Pulled::Complete(_) => {}
        }
    }
}
