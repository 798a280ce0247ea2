//! The log of the command on standard error: its settings, and the messages of the command itself.
//!
//! Messages and events of the library take one way, `tracing`, to one subscriber ([`lines`]). The level is that of the
//! options `-v` and `-q`, else of the variable `DISCREET_LOG`, else of the job file; the form is that of `--log`, else of
//! the job file.

mod lines;
mod settings;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use discreet::event;
use discreet::job::config::LogSpec;
use serde_json::{Map, Value};
use tracing::Level;

pub(super) use settings::{LogArgs, is_json};

/// The name of messages to the person who called the command, which have no prefix.
const NOTE: &str = "note";
/// The name of warnings of the command.
const WARNING: &str = "warning";
/// The name of the reason for which the command ends.
const ERROR: &str = "error";

/// True if each line of text begins with its time.
static IS_STAMPED: AtomicBool = AtomicBool::new(false);

/// Begins each line of text with its time from now on, unless a person reads it as it comes, or the journal of
/// systemd, which has a time for each line.
pub(super) fn stamp() {
    let is_stamped = !io::stderr().is_terminal() && env::var_os("JOURNAL_STREAM").is_none();
    IS_STAMPED.store(is_stamped, Ordering::Relaxed);
}

/// Writes events to standard error from now on, those for the operator as well: that is who reads it.
pub(super) fn install() {
    // It is called once; a second subscriber would change nothing.
    let _ = tracing::subscriber::set_global_default(lines::LineSubscriber::default());
    event::show_operator(true);
}

/// Takes the settings of a job file from now on, where no option and no variable says otherwise.
pub(super) fn set(spec: LogSpec) {
    settings::set(spec);
    // What a subscriber wants is asked once for each event.
    tracing::callsite::rebuild_interest_cache();
}

/// Logs a message for the person who called the command, without a prefix.
pub(super) fn note(message: &str) {
    tracing::event!(name: NOTE, target: event::OPERATOR, Level::INFO, "{message}");
}

/// Logs a warning of the command; the run goes on.
pub(super) fn warn(message: &str) {
    tracing::event!(name: WARNING, target: event::OPERATOR, Level::WARN, "{message}");
}

/// Logs a warning that may depend on single records.
pub(super) fn warn_operator(message: &str) {
    let prefix = if is_json() { "" } else { "warning: " };
    tracing::event!(name: "input warning", target: event::OPERATOR, Level::WARN, "{prefix}{message}");
}

/// Logs the reason for which the command ends.
pub(super) fn error(message: &str) {
    tracing::event!(name: ERROR, target: event::OPERATOR, Level::ERROR, "{message}");
}

/// Logs a message that may depend on single records.
pub(super) fn operator(message: &str) {
    tracing::event!(name: "notice", target: event::OPERATOR, Level::INFO, "{message}");
}

/// Answers a question of the operator, whatever the level.
pub(super) fn answer(message: &str) {
    let line = match is_json() {
        true => lines::json(&Level::INFO, (event::OPERATOR, Some("answer")), message, Map::new()),
        false => format!("operator only: {message}\n"),
    };
    write(line);
}

/// Writes a page for the operator, where messages of its level are written: as it is, or as the message of one line of JSON.
pub(super) fn page(name: &str, page: &str) {
    if !tracing::enabled!(target: event::OPERATOR, Level::INFO) {
        return;
    }
    let text = match is_json() {
        true => lines::json(&Level::INFO, (event::OPERATOR, Some(name)), page, Map::new()),
        false => page.to_owned(),
    };
    // A closed standard error does not stop the run.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes the outcome of a run, whatever the level: a sentence, or one line of JSON, which has no time before it.
/// In a log of JSON it has the fields of every line.
pub(super) fn outcome(sentence: &str, fields: Map<String, Value>, in_json: bool) -> io::Result<()> {
    let line = match (is_json(), in_json) {
        (true, _) => lines::json(&Level::INFO, (event::PUBLIC, Some("outcome")), sentence, fields),
        (false, true) => format!("{}\n", Value::Object(fields)),
        (false, false) => stamped(format!("{sentence}\n")),
    };
    io::stderr().write_all(line.as_bytes())
}

/// Adds the time to each line of a text, where lines of text have it.
fn stamped(text: String) -> String {
    if is_json() || !IS_STAMPED.load(Ordering::Relaxed) {
        return text;
    }
    let now = format!("{:.0}", jiff::Timestamp::now());
    text.split_inclusive('\n').map(|line| format!("{now} {line}")).collect()
}

/// Writes a line at once, so that lines of several threads do not mix. A closed standard error does not stop
/// the run.
fn write(line: String) {
    let _ = io::stderr().write_all(stamped(line).as_bytes());
}
