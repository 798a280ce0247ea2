//! The command line: one file a subcommand. Each turns words into a call of the library and its answer into one page,
//! or one line of JSON.

mod calibrate;
mod check;
mod ledger;
mod means;
mod observers;
mod price;
mod ranks;
mod run;
mod running;
mod shape;
mod synth;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use discreet::dataflow::{Finished, RunError};
use discreet::job::{Mistake, Mistakes};
use discreet::ledger::{LedgerError, LedgerErrorKind};
use discreet::{Decimal, Invalid};
use serde_json::json;

/// How every command ends, as OPERATING.md has it.
const EXIT_CODES: &str = "\
Exit codes:
   0  done
   2  wrong usage: no such command or option
  65  the input was refused: too many lines that cannot be read, a line out of a declared order, no such column
  69  the source is gone, or never was there
  70  an internal fault, the memory limit, another process that has ended, or a replay that was stopped
  74  the ledger is in doubt, or another process has taken over; or an output cannot be written
  75  at least one window was refused for budget; its line says so
  78  a job file, a parameter or a ledger that does not fit

After 65, 69, 70 and 74 nothing incomplete was sealed, and the same command goes on where it was.
OPERATING.md, \"Exit codes\", has what to do about each.";

/// Private statistics from live streams.
#[derive(Debug, clap::Parser)]
#[command(name = "discreet", version, propagate_version = true, after_help = EXIT_CODES)]
pub(crate) enum Command {
    /// Look at a job file, and with --connect at what it needs; nothing is spent
    Check(check::Check),
    /// List the fields of a job file, each with the value that it takes
    Fields(check::FieldsOf),
    /// Say what a job will release and what it costs, before there is data
    Plan(check::PlanOf),
    /// Run a job file over an input that ends, or show on open data what it would do
    Replay(run::ReplayArgs),
    /// Run a job file for as long as its stream goes on
    Run(run::RunArgs),
    /// Say how much noise a budget asks for, what it costs and how large its error is
    Calibrate {
        #[command(subcommand)]
        mechanism: calibrate::Calibrate,
    },
    /// Say what a list of mechanisms costs together
    Price(price::PriceArgs),
    /// Look after a ledger: what is spent, what is left, whether it adds up
    Ledger {
        #[command(subcommand)]
        command: ledger::LedgerCommand,
    },
    /// Make up a realistic event log of any size, from a seed
    Synth(synth::Synth),
}

impl Command {
    /// Does what was asked, prints the answer or the refusal, and says how it went.
    pub(crate) fn run(self) -> ExitCode {
        run::survive_file_limits();
        let answer = match self {
            Command::Check(check) => check.run().map(Done::Said),
            Command::Fields(fields) => Ok(Done::Said(fields.run())),
            Command::Plan(plan) => plan.run().map(Done::Said),
            Command::Replay(replay) => replay.run(),
            Command::Run(run) => run.run(),
            Command::Calibrate { mechanism } => mechanism.run().map(Done::Said),
            Command::Price(price) => price.run().map(Done::Said),
            Command::Ledger { command } => command.run().map(Done::Said),
            Command::Synth(synth) => synth.run().map(Done::Said),
        };
        let (written, code) = match answer {
            Ok(Done::Said(page)) => (io::stdout().lock().write_all(page.as_bytes()), ExitCode::SUCCESS),
            // Standard output is for lines.
            Ok(Done::Ran { finished, code, json }) => {
                let said = if json { ended(&finished) } else { finished.to_string() };
                if let Some(warning) = lost(finished.lost()) {
                    observers::warn(&warning);
                }
                (writeln!(io::stderr(), "{said}"), ExitCode::from(code))
            }
            Err(refusal) => (writeln!(io::stderr(), "error: {refusal}"), ExitCode::from(refusal.code)),
        };
        match written {
            Ok(()) => code,
            // A reader that has seen enough, as in `discreet .. | head -1`.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
            Err(_) => ExitCode::from(CANNOT_WRITE),
        }
    }
}

/// What a command has done.
pub(crate) enum Done {
    /// Its answer is this page.
    Said(String),
    /// It ran a job, whose lines have left.
    Ran { finished: Finished, code: u8, json: bool },
}

/// How a run ended, as one line of JSON.
fn ended(finished: &Finished) -> String {
    json!({
        "released": finished.released(),
        "refused": finished.refused(),
        "skipped": finished.skipped(),
        "lost": finished.lost(),
        "stopped": finished.is_stopped(),
    })
    .to_string()
}

/// The warning about windows that were lost, with the remedy.
fn lost(windows: u64) -> Option<String> {
    let windows = match windows {
        0 => return None,
        1 => "1 window was lost: it starts".to_owned(),
        windows => format!("{windows} windows were lost: they start"),
    };
    Some(format!(
        "{windows} before the last `ledger repair` and had no row in the ledger, or could not be sealed. Such a window is \
         never drawn again, in any version; a value that was released for it earlier holds. Run the job over windows that \
         start after the repair"
    ))
}

/// A parameter or a file that makes no sense.
const BAD_CONFIGURATION: u8 = 78;

/// A fault of the program, or a replay that was stopped before its end.
const INTERNAL_FAULT: u8 = 70;

/// An output that cannot be written.
const CANNOT_WRITE: u8 = 74;

/// The source is not there.
const SOURCE_IS_GONE: u8 = 69;

/// The ledger is in doubt, or somebody else holds it.
const LEDGER_IN_DOUBT: u8 = 74;

/// Words for what was found in place of a file that can be read.
fn found_by(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "found no such file".to_owned(),
        io::ErrorKind::IsADirectory => "found a directory".to_owned(),
        io::ErrorKind::InvalidData => "found bytes that are no UTF-8 text".to_owned(),
        kind => format!("found an error ({kind})"),
    }
}

/// Why nothing was done: text that names the field and the remedy, and how the command ends.
#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    code: u8,
}

impl Refusal {
    /// A parameter or a file that makes no sense.
    fn new(message: impl Into<String>) -> Refusal {
        Refusal::with(BAD_CONFIGURATION, message)
    }

    fn with(code: u8, message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code }
    }

    /// A file that cannot be read: what was found in its place, in words.
    fn unreadable(field: &str, path: &Path, error: &io::Error) -> Refusal {
        let found = found_by(error);
        Refusal::new(format!("{field}: {}: {found}; give a readable text file", path.display()))
    }

    /// A file that cannot be written, or not to its end.
    fn unwritable(field: &str, path: &Path, error: &io::Error) -> Refusal {
        let path = path.display();
        let message = format!(
            "{field}: {path}: it cannot be written ({}); give a file that can be, or look at the disk and at the limit on the \
             size of files (`ulimit -f`)",
            error.kind()
        );
        Refusal::with(CANNOT_WRITE, message)
    }

    /// A job that reads well and cannot be kept.
    fn unfit(config: &Path, refused: &discreet::job::UnfitJob) -> Refusal {
        Refusal::new(format!("{}: {refused}", config.display()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Every mistake in a line of its own, as the first is.
impl From<Mistakes> for Refusal {
    fn from(mistakes: Mistakes) -> Refusal {
        let told: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
        Refusal::new(told.join("\nerror: "))
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Refusal {
        Refusal::new(invalid.to_string())
    }
}

impl From<RunError> for Refusal {
    fn from(failure: RunError) -> Refusal {
        Refusal { message: failure.to_string(), code: failure.exit_code() }
    }
}

impl From<LedgerError> for Refusal {
    fn from(trouble: LedgerError) -> Refusal {
        let code =
            if trouble.kind() == LedgerErrorKind::Refused { BAD_CONFIGURATION } else { LEDGER_IN_DOUBT };
        Refusal { message: trouble.to_string(), code }
    }
}

/// A number given on the command line; refused here if it is no plain decimal.
fn number(field: &'static str, text: &str) -> Result<f64, Refusal> {
    Ok(Decimal::parse(field, text)?.to_f64())
}

/// A whole number given on the command line.
fn whole(field: &'static str, text: &str) -> Result<u64, Refusal> {
    let whole = Decimal::parse(field, text)?.to_u64();
    whole.ok_or_else(|| {
        Refusal::new(format!("{field}: found a number that is not whole or too large; give a whole number"))
    })
}
