//! The form and the levels of the log: of the options, of the environment, and of the job file, in this order.

use std::env;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{ArgAction, Args, ValueEnum};
use discreet::event;
use discreet::job::config::{LogFormat, LogLevel, LogSpec};
use tracing::Level;

use crate::command::Refusal;
use crate::command::values::choice;

/// The variable with the levels of the log.
const VARIABLE: &str = "DISCREET_LOG";

/// The levels, from the most urgent to the least.
const LEVELS: [(&str, LogLevel, Level); 5] = [
    ("error", LogLevel::Error, Level::ERROR),
    ("warn", LogLevel::Warn, Level::WARN),
    ("info", LogLevel::Info, Level::INFO),
    ("debug", LogLevel::Debug, Level::DEBUG),
    ("trace", LogLevel::Trace, Level::TRACE),
];

/// The log on standard error.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// Log more: each window that leaves, and what the process does; twice, its draws and commits too. Without -v and -q,
    /// the variable DISCREET_LOG has the level, or the job file
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Log less: alerts and warnings alone; twice, the reason for which the command ends
    #[arg(short, long, global = true, action = ArgAction::Count)]
    quiet: u8,
    /// Write the log as sentences, or as one object of JSON a line
    #[arg(long, global = true, value_name = "FORM", value_parser = choice::<LogForm>())]
    log: Option<LogForm>,
}

/// The form of the log, as the option names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogForm {
    Text,
    Json,
}

impl LogArgs {
    /// Takes the options and the variable, before the command runs.
    pub(crate) fn begin(self) -> Result<(), Refusal> {
        let form = self.log.map(|form| match form {
            LogForm::Text => LogFormat::Text,
            LogForm::Json => LogFormat::Json,
        });
        // The form first: it is that of a refusal, too.
        *lock() = Chosen { form, ..Chosen::default() };
        super::set(LogSpec::default());
        let variable = read_variable(env::var_os(VARIABLE).as_deref())?;
        *lock() = Chosen { form, levels: self.level().map_or(variable, |level| [Some(level); 2]) };
        super::set(LogSpec::default());
        Ok(())
    }

    /// Returns the level of `-v` and `-q`, each of which is a step from `info`; `None` without them.
    fn level(self) -> Option<LogLevel> {
        if (self.verbose, self.quiet) == (0, 0) {
            return None;
        }
        let most = LEVELS.len() - 1;
        let at = (LogLevel::Info as usize + usize::from(self.verbose)).saturating_sub(self.quiet.into());
        LEVELS.get(at.min(most)).map(|(_, level, _)| *level)
    }
}

/// The settings of the options and the variable.
#[derive(Clone, Copy, Default)]
struct Chosen {
    form: Option<LogFormat>,
    /// The level of public events, and of those for the operator.
    levels: [Option<LogLevel>; 2],
}

static CHOSEN: Mutex<Chosen> = Mutex::new(Chosen { form: None, levels: [None; 2] });

/// Locks the settings: plain values, which a panic elsewhere leaves as they are.
fn lock() -> std::sync::MutexGuard<'static, Chosen> {
    CHOSEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The least urgent levels that are logged of public events and of those for the operator, as indices into [`LEVELS`].
static LOGGED: [AtomicUsize; 2] = [const { AtomicUsize::new(LogLevel::Info as usize) }; 2];
/// True for lines of JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Sets the form and the levels to those of the options and the variable, and to these where they say nothing.
pub(super) fn set(spec: LogSpec) {
    let Chosen { form, levels } = *lock();
    for (logged, level) in LOGGED.iter().zip(levels) {
        logged.store(level.unwrap_or(spec.level) as usize, Ordering::Relaxed);
    }
    IS_JSON.store(form.unwrap_or(spec.format) == LogFormat::Json, Ordering::Relaxed);
}

/// Returns true if lines are of JSON.
pub(in crate::command) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Returns the least urgent level that is logged of a target; `None` for a target of others.
pub(super) fn level_of(target: &str) -> Option<Level> {
    let at = [event::PUBLIC, event::OPERATOR].iter().position(|own| *own == target)?;
    let level = LOGGED.get(at)?.load(Ordering::Relaxed);
    LEVELS.get(level).map(|(_, _, level)| *level)
}

/// Reads the variable: a level for both targets, or a list of targets with their levels.
fn read_variable(text: Option<&OsStr>) -> Result<[Option<LogLevel>; 2], Refusal> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok([None; 2]) };
    let refuse = || {
        let words = LEVELS.map(|(word, ..)| word).join(", ");
        Refusal::new(format!(
            "{VARIABLE}: found {text:?}; give one of {words}, or a list such as public=debug,operator=info"
        ))
    };
    let text = text.to_str().ok_or_else(refuse)?;
    let level = |word: &str| LEVELS.iter().find(|(known, ..)| *known == word).map(|(_, level, _)| *level);
    let mut levels = [None; 2];
    for part in text.split(',').map(str::trim) {
        let (at, word) = match part.split_once('=') {
            None => (0..2, part),
            Some(("public", word)) => (0..1, word),
            Some(("operator", word)) => (1..2, word),
            Some(_) => return Err(refuse()),
        };
        let level = level(word).ok_or_else(refuse)?;
        for of_target in levels.get_mut(at).into_iter().flatten() {
            // What is said twice has no one meaning.
            if of_target.replace(level).is_some() {
                return Err(refuse());
            }
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<[Option<LogLevel>; 2], String> {
        read_variable(Some(OsStr::new(text))).map_err(|refused| refused.to_string())
    }

    // Refutes a level of one target that is taken for that of the other, and an empty variable that is refused.
    #[test]
    fn the_variable_has_a_level_for_each_target() {
        assert_eq!(read_variable(None).unwrap(), [None; 2]);
        assert_eq!(read(""), Ok([None; 2]));
        for (word, level, _) in LEVELS {
            assert_eq!(read(word), Ok([Some(level); 2]));
        }
        assert_eq!(read("operator=warn"), Ok([None, Some(LogLevel::Warn)]));
        let both = [Some(LogLevel::Trace), Some(LogLevel::Error)];
        assert_eq!(read("operator=error, public=trace"), Ok(both));
    }

    // Refutes a level or a target that is not understood and passes for another, and a refusal without the remedy.
    #[test]
    fn what_the_variable_cannot_mean_is_refused_with_what_it_can() {
        for text in [
            "verbose",
            "DEBUG",
            "off",
            ",",
            "debug,",
            "public",
            "public=",
            "command=info",
            "debug,public=info",
            "public=info,public=info",
            "public==info",
            "discreet::public=info",
        ] {
            let refused = read(text).unwrap_err();
            assert!(
                refused.starts_with(&format!("DISCREET_LOG: found {text:?}; give one of error, ")),
                "{refused}"
            );
            assert!(refused.contains("trace") && refused.contains("public=debug,operator=info"), "{refused}");
        }
    }

    // Refutes options that go beyond the levels, and one that does not take the other back.
    #[test]
    fn each_option_is_one_step_from_info() {
        let level = |verbose, quiet| LogArgs { verbose, quiet, log: None }.level();
        assert_eq!(level(0, 0), None);
        let levels =
            [(0, 9), (0, 2), (0, 1), (1, 1), (1, 0), (2, 0), (255, 0), (255, 255)].map(|(v, q)| level(v, q));
        use LogLevel::{Debug, Error, Info, Trace, Warn};
        assert_eq!(levels, [Error, Error, Warn, Info, Debug, Trace, Trace, Info].map(Some));
    }
}
