//! The command line: one file for each subcommand. Each parses its arguments, calls the library, and prints
//! one page or one line of JSON.

mod alert;
mod alert_command;
mod asking;
mod audit;
mod calibrate;
mod check;
mod explain;
mod fit;
mod help;
mod init;
mod ledger;
mod log;
mod manual;
mod marginals;
mod means;
mod observers;
mod price;
mod ranks;
mod run;
mod running;
mod service;
mod shape;
mod stated_budget;
mod synth;
mod top;
mod tune;
mod values;
mod watching;

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use discreet::Invalid;
use discreet::dataflow::{Finished, RunError};
use discreet::job::{Mistake, Mistakes};
use discreet::ledger::{LedgerError, LedgerErrorKind};
use serde_json::{Map, Value};

/// The exit codes of every command, as in OPERATING.md.
const EXIT_CODES: &str = "\
Exit codes:
   0  done
   1  an audit has refuted a claim about privacy
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
#[command(name = "discreet", version, propagate_version = true, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    log: log::LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a job file for a log of a known kind, to begin with
    Init(init::InitArgs),
    /// Check a job file, and with --connect its ledger, key and source; nothing is spent
    Check(check::CheckArgs),
    /// List the fields of a job file, each with the values that it takes
    Fields(check::FieldsArgs),
    /// Print the releases of a job and their privacy cost, before there is data
    Plan(check::PlanArgs),
    /// Choose bounds and shares of a job by the shape of a log: made up or public, at no cost, or estimated
    ///
    /// For each release whose price is a share, tries each usual bound, and then gives the shares to the
    /// releases so that the mean of their errors is least. The error of a release is the mean over its
    /// cells, each weighed by its truth, of what is left out of the cell, counted in the log, and the noise that
    /// nine of ten draws stay within, beside its truth and at most all of it. The protected records are not read, but with --estimate: then a second job of one window reads
    /// them, and each of its releases is charged to the account of the job before it leaves. A release that has run
    /// needs a new version if a number of it is changed.
    Tune(tune::TuneArgs),
    /// Say in sentences what a released line promises, and how sure its interval is
    Explain(explain::ExplainArgs),
    /// Add fitted values to released lines: numbers with less error on the whole, made of the lines alone
    ///
    /// A fitted value stands beside the released one, as "fitted" and "fitted_by" at the end of a line, and costs nothing: it
    /// is made of released and public numbers alone. It has a bias and no interval. All other lines pass as they are, in
    /// their order. Without --smooth and --monotone, which wait for the end of the input, lines leave as they come, and those of
    /// --shrink with the end of their window. Begins anew with each call: give the former lines first to go on. Of lines of a
    /// demonstration, standard error has the measured error of both numbers.
    Fit(fit::FitArgs),
    /// Run a job file over an input that ends, or show on public data what the job would release
    Replay(run::ReplayArgs),
    /// Run a job file for as long as its stream goes on
    Run(run::RunArgs),
    /// Try to refute the privacy of a job, with made-up people in a copy of each of its releases; nothing is spent
    Audit(audit::AuditArgs),
    /// Ask a live run a question, with the token of an analyst
    Ask(asking::AskArgs),
    /// Compute the noise that a budget asks for, its privacy cost and its error
    Calibrate {
        #[command(subcommand)]
        mechanism: calibrate::Calibrate,
    },
    /// Compute the privacy cost of a list of mechanisms together
    Price(price::PriceArgs),
    /// Create, show, verify, copy, amend and repair a ledger
    Ledger {
        #[command(subcommand)]
        command: ledger::LedgerCommand,
    },
    /// Generate a realistic event log of any size, from a seed
    Synth(synth::SynthArgs),
    /// Print the completions of this command for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page of this command
    Man(manual::ManArgs),
    /// Print this message, the help of a command, or the reference of the job file
    Help(help::HelpArgs),
}

impl CommandLine {
    /// Parses the arguments, runs the command, and returns the exit code. A refused value has the message and
    /// the exit code of a refused parameter; another mistake of usage has those of clap.
    pub(crate) fn main() -> ExitCode {
        log::install();
        match CommandLine::try_parse() {
            Ok(CommandLine { log, command }) => match log.begin() {
                Ok(()) => command.run(),
                Err(refusal) => refusal.finish(),
            },
            Err(error) => match error.source().and_then(|source| source.downcast_ref::<Refusal>()) {
                Some(refusal) => refusal.finish(),
                None => finish_usage(&error),
            },
        }
    }
}

impl Command {
    /// Runs the command, prints its answer or its refusal, and returns the exit code.
    fn run(self) -> ExitCode {
        run::survive_file_limits();
        let answer = match self {
            Command::Init(init) => init.run().map(Done::Page),
            Command::Check(check) => check.run().map(Done::Page),
            Command::Fields(fields) => Ok(Done::Page(fields.run())),
            Command::Plan(plan) => plan.run().map(Done::Page),
            Command::Tune(tune) => tune.run().map(Done::Page),
            Command::Replay(replay) => replay.run(),
            Command::Run(run) => run.run(),
            Command::Ask(ask) => ask.run().map(Done::Page),
            Command::Audit(audit) => audit.run(),
            Command::Calibrate { mechanism } => mechanism.run().map(Done::Page),
            Command::Price(price) => price.run().map(Done::Page),
            Command::Ledger { command } => command.run().map(Done::Page),
            Command::Synth(synth) => synth.run().map(Done::Page),
            Command::Completions(completions) => Ok(Done::Page(completions.run())),
            Command::Fit(fit) => return fit.run(),
            Command::Explain(explain) => explain.run().map(Done::Page),
            Command::Man(man) => man.run().map(Done::Page),
            Command::Help(help) => return help.run(),
        };
        let (written, code) = match answer {
            Ok(Done::Page(page)) => return finish(print(&page), 0),
            Ok(Done::Verdict { page, code }) => return finish(print(&page), code),
            // Standard output is reserved for the lines of releases.
            Ok(Done::Ran { finished, code, json }) => {
                if let Some(warning) = lost_windows_warning(finished.lost()) {
                    observers::warn(&warning);
                }
                (log::outcome(&finished.to_string(), outcome_fields(&finished), json), code)
            }
            Err(refusal) => return refusal.finish(),
        };
        let is_lost = written.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
        ExitCode::from(if is_lost { CANNOT_WRITE } else { code })
    }
}

/// Prints what the parser of the command line says, and returns the exit code. Help and the version go to standard
/// output, as a page does.
fn finish_usage(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(WRONG_USAGE);
    let written = error.print().and_then(|()| io::stdout().flush());
    finish(if error.use_stderr() { Ok(()) } else { written }, code)
}

/// Writes a page to standard output.
fn print(page: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(page.as_bytes()).and_then(|()| output.flush())
}

/// Returns the exit code of a command whose page was written to standard output, or was not, which is said.
fn finish(written: io::Result<()>, code: u8) -> ExitCode {
    match written {
        // The reader of a pipe may have closed it, as in `discreet .. | head -1`.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let kind = error.kind();
            let message = format!(
                "standard output: it cannot be written ({kind}); give a file or a pipe that can be, or look at the disk and \
                 at the limit on the size of files (`ulimit -f`)"
            );
            Refusal::with(CANNOT_WRITE, message).finish()
        }
        _ => ExitCode::from(code),
    }
}

/// The outcome of a command that succeeded.
pub(crate) enum Done {
    /// The page that the command prints.
    Page(String),
    /// A page that the command prints, with its exit code.
    Verdict { page: String, code: u8 },
    /// A run of a job, whose lines have left.
    Ran { finished: Finished, code: u8, json: bool },
}

/// The outcome of a run, as the fields of a line of JSON.
fn outcome_fields(finished: &Finished) -> Map<String, Value> {
    let windows = [
        ("released", finished.released()),
        ("released_before", finished.released_before()),
        ("unanswered", finished.unanswered()),
        ("refused", finished.refused()),
        ("skipped", finished.skipped()),
        ("lost", finished.lost()),
    ];
    let windows = windows.map(|(outcome, windows)| (outcome.to_owned(), windows.into()));
    windows.into_iter().chain([("stopped".to_owned(), finished.is_stopped().into())]).collect()
}

/// The warning about lost windows, with the remedy.
fn lost_windows_warning(windows: u64) -> Option<String> {
    let windows = match windows {
        0 => return None,
        1 => "1 window was lost: it starts".to_owned(),
        windows => format!("{windows} windows were lost: they start"),
    };
    Some(format!(
        "{windows} before the last `ledger repair` and had no row in the ledger, or could not be sealed. No noise is drawn for such a \
         window again, in any version; a value that was released for it earlier stays valid. Run the job over windows that \
         start after the repair"
    ))
}

/// Exit code: a parameter, a job file or a ledger does not fit.
const BAD_CONFIGURATION: u8 = 78;

/// Exit code: a release was refused for budget.
const BUDGET_REFUSED: u8 = 75;

/// Exit code: a fault of the program, or a replay that was stopped before its end.
const INTERNAL_FAULT: u8 = 70;

/// Exit code: no such command or option.
const WRONG_USAGE: u8 = 2;

/// Exit code: an output cannot be written.
const CANNOT_WRITE: u8 = 74;

/// Exit code: the source is not there.
const SOURCE_IS_GONE: u8 = 69;

/// Exit code: the ledger is in doubt, or another process holds it.
const LEDGER_IN_DOUBT: u8 = 74;

/// A number of things, in words.
fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Describes the error of reading a file.
fn describe_io_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "found no such file".to_owned(),
        io::ErrorKind::IsADirectory => "found a directory".to_owned(),
        io::ErrorKind::InvalidData => "found bytes that are no UTF-8 text".to_owned(),
        kind => format!("found an error ({kind})"),
    }
}

/// The reason for which a command failed: a message with the field and the remedy, and the exit code.
#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    code: u8,
}

impl Refusal {
    /// Refuses a parameter or a file, with the exit code of a bad configuration.
    fn new(message: impl Into<String>) -> Refusal {
        Refusal::with(BAD_CONFIGURATION, message)
    }

    fn with(code: u8, message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code }
    }

    /// Prints the message, and returns the exit code.
    fn finish(&self) -> ExitCode {
        log::error(&self.to_string());
        ExitCode::from(self.code)
    }

    /// Refuses a file that cannot be read, and names the error.
    fn unreadable(field: &str, path: &Path, error: &io::Error) -> Refusal {
        let found = describe_io_error(error);
        Refusal::new(format!("{field}: {}: {found}; give a readable text file", path.display()))
    }

    /// Refuses a file that cannot be written, or not to its end.
    fn unwritable(field: &str, path: &Path, error: &io::Error) -> Refusal {
        let path = path.display();
        let message = format!(
            "{field}: {path}: it cannot be written ({}); give a file that can be, or look at the disk and at the limit on the \
             size of files (`ulimit -f`)",
            error.kind()
        );
        Refusal::with(CANNOT_WRITE, message)
    }

    /// Refuses a job whose file parses but whose promise cannot be kept.
    fn unfit(config: &Path, refused: &discreet::job::UnfitJob) -> Refusal {
        Refusal::new(format!("{}: {refused}", config.display()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Refusal {}

/// Joins all mistakes, each on a line of its own in the form of the first.
impl From<Mistakes> for Refusal {
    fn from(mistakes: Mistakes) -> Refusal {
        let messages: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
        Refusal::new(messages.join("\nerror: "))
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
