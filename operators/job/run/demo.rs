//! A demonstration: the truth beside the noise, charged to a ledger that is thrown away.
//!
//! Its key is made of the job file, so that the records kept of each person, and with them every tally, are
//! the same each time. It protects nobody: it is for data that may be shown, and every line of it says so.

use std::collections::HashMap;
use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::PoisonError;

use super::*;
use crate::accounting::Interval;
use crate::dataflow::{ExactTotals, Pulled, RunError, Source};
use crate::gate::{Gate, Opening};
use crate::job::Job;
use crate::job::questions::AskPlan;
use crate::job::release_plan::{ReleasePlan, lengths, schedule};
use crate::job::sources::{Crew, SourcePart};
use crate::job::statistics::{ExactNumbers, ReleasedNumber, released_key};
use crate::ledger::{Digest, Ledger, LedgerKey, Name};
use crate::mechanisms::release_line::{LineKey, ReleaseLine, Says};
use crate::time::Time;

/// The exact numbers of a demonstration, by release plan.
pub(crate) struct Demo {
    /// The key by which the kept records are selected.
    pub(crate) secret: [u8; 32],
    exact: Vec<ExactNumbers>,
    /// The exact totals of answers, by bundle.
    totals: HashMap<Name, ExactTotals>,
}

impl Demo {
    pub(crate) fn new(offers: &[ReleasePlan], asks: &[AskPlan], gate: &Gate) -> Demo {
        let exact = offers.iter().map(|offer| ExactNumbers::of_fields(offer.values.len())).collect();
        let totals = asks.iter().map(|ask| (ask.name.clone(), ExactTotals::default())).collect();
        Demo { secret: *gate.key().derive_for_ids(crate::dataflow::CHOICE), exact, totals }
    }

    /// The collector of the exact totals of a bundle of answers.
    pub(crate) fn totals(&self, ask: &Name) -> ExactTotals {
        self.totals.get(ask).cloned().unwrap_or_default()
    }

    /// The lines of an answer as a demonstration writes them: with its exact number, and marked as a demonstration's.
    pub(crate) fn annotate_answer(&self, ask: &AskPlan, question: &Digest, lines: &str) -> String {
        let totals = self.totals(&ask.name);
        let found = totals.lock().unwrap_or_else(PoisonError::into_inner).get(question).cloned();
        let line = |line: &str| match (line.strip_suffix('}'), &found) {
            (Some(open), Some((query, found))) if line.contains("\"question\":") => {
                format!("{open},\"demo\":true,\"tally\":{}}}", ask.exact(query, *found))
            }
            (Some(open), _) => format!("{open},\"demo\":true}}"),
            (None, _) => line.to_owned(),
        };
        lines.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The collector of the exact cells of a release plan.
    pub(crate) fn exact(&self, offer: usize) -> ExactNumbers {
        self.exact.get(offer).cloned().unwrap_or_default()
    }

    /// The lines of a window as a demonstration writes them: each with its exact numbers, and all marked as a
    /// demonstration's.
    pub(crate) fn annotate(&self, offer: usize, of: &ReleasePlan, window: Interval, lines: &str) -> String {
        let printed: Vec<String> = lines.lines().map(|line| self.line(offer, of, window, line)).collect();
        printed.join("\n")
    }

    fn line(&self, offer: usize, of: &ReleasePlan, window: Interval, line: &str) -> String {
        let Some(open) = line.strip_suffix('}') else { return line.to_owned() };
        let exact = match (ReleaseLine::read(line).map(|line| line.says), self.exact.get(offer)) {
            (Some(Says::Cell(cell)), Some(exact)) => {
                released_key(&of.keys, cell.key.as_ref()).and_then(|key| {
                    let (value, q, point) = (cell.value, cell.q, of.point());
                    let (running, schedule) = (of.running, &of.schedule);
                    let field = cell.of.as_ref().map(LineKey::text);
                    let rollup = cell.rollup;
                    let limits = of.bound.checked().ok()?;
                    let released = ReleasedNumber {
                        window,
                        key,
                        rollup,
                        value,
                        q,
                        of: field,
                        point,
                        limits,
                        running,
                        schedule,
                    };
                    of.statistic.as_statistic().exact_fields(exact, &released)
                })
            }
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
        let seed = Digest::of(statements(job).as_bytes());
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

/// The statements of a job that a demonstration's noise depends on: `[watch]` is not among them.
fn statements(job: &Job) -> String {
    format!("{job:?}").replacen(&format!(", watch: {:?}", job.watch), "", 1)
}

impl Drop for TemporaryLedger {
    fn drop(&mut self) {
        // A ledger that cannot be removed lies in a directory for temporary files, and protects nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}

// The span of the data, from which the windows are inferred: for a demonstration alone, for the set of
// windows is public everywhere else.

/// The margin before and behind the data. No window is longer, so the first and the last record have theirs.
const ROOM: Time = 3_700 * 86_400_000_000;

/// The horizon, with its missing ends taken from the first and the last record.
pub(super) fn inferred(job: &Job, stated: Horizon) -> Result<Horizon, RunError> {
    if job.source.records.is_stdin() {
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
    let releases = job.releases.iter().map(|release| (&release.name, lengths(release)));
    let asks = job.asks.iter().map(|ask| (&ask.name, (ask.every, None)));
    for (name, lengths) in releases.chain(asks).filter(|(_, (every, _))| *every != Every::All) {
        let windows = schedule(job, lengths, around, name.as_str())?;
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
    let survey = Survey::none();
    let (keys, values, derived) = (Vec::new(), Vec::new(), job.derived.clone());
    let wanted = FieldRequirements { keys, values, derived, secret: [0; 32], time: true, span: None, survey };
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
            Pulled::More | Pulled::Complete(_) | Pulled::Gap(..) => {}
        }
    }
}
