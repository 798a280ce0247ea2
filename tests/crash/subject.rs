//! The program that the crash tests kill: a small pipeline over the real gate, from a source to a sink that
//! acknowledges; and the recorder behind that sink, a process that outlives it.
//!
//! `crash-subject recorder SOCKET`, and `crash-subject work DIRECTORY SOCKET least|most replay|resume`.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod mechanisms;
mod plan;
mod recorder;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use discreet::gate::{
    Delivery, Gate, GateEvent, GateHandle, HaltReason, Opening, ReleaseRequest, Sealable, SkipReason,
};
use discreet::ledger::failpoint::{hits, reached};
use discreet::ledger::{Ledger, LedgerError, LedgerErrorKind, ReleaseId};

use mechanisms::{Count, Draws, Running};
use recorder::Sink;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["recorder", socket] => recorder::serve(Path::new(socket)).map_err(Failure::from),
        ["work", directory, socket, delivery, start] => {
            work(Path::new(directory), Path::new(socket), delivery, start)
        }
        _ => Err("give recorder SOCKET, or work DIRECTORY SOCKET least|most replay|resume".into()),
    };
    match outcome {
        Ok(()) => {
            hits().iter().for_each(|(point, hits)| println!("hits {point} {hits}"));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(74)
        }
    }
}

/// One life of the pipeline.
fn work(directory: &Path, socket: &Path, delivery: &str, start: &str) -> Result<(), Failure> {
    let delivery = if delivery == "most" { Delivery::AtMostOnce } else { Delivery::AtLeastOnce };
    let ledger = directory.join("ledger");
    let sink = Sink::connect(socket, &directory.join("recorded"))?;
    let opening = Opening::new(&ledger, plan::JOB)?.delivery(delivery).anchor(directory.join("anchor"));
    let gate = opening.open()?;
    let mut driver = Driver::new(&gate, sink, ledger, Draws::open(&directory.join("draws"))?)?;
    match driver.windows(start == "resume") {
        Ok(()) => {
            // Dropping the gate waits for requested rows; with deliveries that are marked first, some may
            // still be released.
            drop(gate);
            driver.hear().map(drop)
        }
        Err(failure) => {
            gate.halt();
            Err(failure)
        }
    }
}

/// A stand-in for the dataflow: it completes windows, and hands releases to the sink.
struct Driver {
    desks: Vec<(&'static str, GateHandle)>,
    woken: Receiver<()>,
    sink: Sink,
    path: PathBuf,
    /// A reader's connection, to see which rows are marked, and the operator's, to raise the cap.
    ledger: Ledger,
    draws: Draws,
}

impl Driver {
    fn new(gate: &Gate, sink: Sink, path: PathBuf, draws: Draws) -> Result<Driver, Failure> {
        let (wake, woken) = channel();
        let handle = |statistic| {
            let wake = wake.clone();
            let woken = move || wake.send(()).unwrap_or_default();
            Ok((statistic, gate.handle(&plan::name(statistic), &plan::parameters(), woken)?))
        };
        let desks = plan::STATISTICS.into_iter().map(handle).collect::<Result<_, LedgerError>>()?;
        Ok(Driver { desks, woken, sink, ledger: Ledger::open(&path)?, path, draws })
    }

    fn windows(&mut self, resumes: bool) -> Result<(), Failure> {
        let mut pending = VecDeque::new();
        let start = if resumes { self.offset()? } else { 0 };
        for window in start..plan::WINDOWS {
            let sum = aggregate(window)?;
            // This point, those of the source and those of the sink are the driver's in a real dataflow.
            reached("complete-received", LedgerErrorKind::Unknown)?;
            if window == plan::AMENDED {
                self.amend()?;
            }
            for (statistic, handle) in &self.desks {
                let release = plan::release(statistic, window);
                pending.push_back(release.clone());
                if plan::missed(statistic, window) {
                    handle.skip(release, SkipReason::Late);
                    continue;
                }
                let (id, draws, charge) = (release.id(), self.draws.clone(), plan::charge(statistic));
                let sealable: Box<dyn Sealable> = match *statistic {
                    "total" => Box::new(Running { id, sum, draws }),
                    _ => Box::new(Count { id, sum, draws }),
                };
                handle.submit(ReleaseRequest::unproved_for_tests_of_the_library_itself(
                    release, charge, sealable,
                ))?;
            }
            if window % plan::PACE == plan::PACE - 1 {
                self.settle(&mut pending)?;
            }
        }
        self.settle(&mut pending)
    }

    /// The position at which a source resumes that is notified of delivered releases, and reads none of their
    /// input again.
    fn offset(&mut self) -> Result<i64, Failure> {
        for release in plan::schedule() {
            if !self.ledger.look_up(&release)?.is_some_and(|row| row.is_delivered()) {
                return Ok(release.window.start() / 10);
            }
        }
        Ok(plan::WINDOWS)
    }

    /// Delivers until the ledger holds that each of these was.
    fn settle(&mut self, pending: &mut VecDeque<ReleaseId>) -> Result<(), Failure> {
        while let Some(release) = pending.front() {
            let gone = self.hear()?;
            if self.ledger.look_up(release)?.is_some_and(|row| row.is_delivered()) {
                pending.pop_front();
            } else if gone {
                return Err("the gate is gone".into());
            } else {
                let _ = self.woken.recv_timeout(Duration::from_micros(200));
            }
        }
        Ok(())
    }

    /// Handles the gate's events; returns true once no more will come.
    fn hear(&mut self) -> Result<bool, Failure> {
        let mut gone = false;
        for (_, handle) in &self.desks {
            while let Some(printed) = handle.hear() {
                match printed {
                    GateEvent::Row(row, _) => {
                        self.sink.put(&row)?;
                        handle.delivered(&row);
                    }
                    // The ledger has it as delivered.
                    GateEvent::Withheld(_) | GateEvent::Absent(_) | GateEvent::Archived(_) => {}
                    GateEvent::Halted(HaltReason::Ended) => {
                        gone = true;
                        break;
                    }
                    GateEvent::Halted(doubt) => return Err(format!("halted: {doubt:?}").into()),
                }
            }
        }
        Ok(gone)
    }

    fn amend(&mut self) -> Result<(), Failure> {
        let account = plan::name(plan::ACCOUNT);
        let cap = plan::units(plan::CAPS[1]);
        match self.ledger.amend(&account, &cap, "the tests", "to try it") {
            Ok(()) => checkpoint(&self.path),
            // An earlier life has raised the cap.
            Err(trouble) if trouble.kind() == LedgerErrorKind::Refused => Ok(()),
            Err(trouble) => Err(trouble.into()),
        }
    }
}

fn aggregate(window: i64) -> Result<i64, LedgerError> {
    let mut sum = 0;
    for (index, count) in plan::source(window).enumerate() {
        if index == 0 {
            reached("first-record", LedgerErrorKind::Unknown)?;
        } else if index == 3 {
            reached("mid-window", LedgerErrorKind::Unknown)?;
        }
        sum += count;
    }
    Ok(sum)
}

/// Empties the write-ahead log during a read: SQLite then waits in the middle, after it has copied the pages
/// back and before it truncates the log; the failpoint is there.
fn checkpoint(path: &Path) -> Result<(), Failure> {
    let reader = rusqlite::Connection::open(path)?;
    reader.execute_batch("BEGIN")?;
    reader.query_row("SELECT count(*) FROM head", [], |row| row.get::<_, i64>(0))?;
    let mut writer = rusqlite::Connection::open(path)?;
    writer.busy_handler(Some(|_| {
        // The handler gives up the wait, with an injected error or without one.
        let _ = reached("wal-checkpoint", LedgerErrorKind::Unknown);
        false
    }))?;
    // An incomplete checkpoint is no error: it is repeated when the last connection is closed.
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
