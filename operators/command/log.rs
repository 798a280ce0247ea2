//! The log of the command: events (`tracing`) as lines on standard error, in words or in JSON.
//!
//! A subscriber of its own, since what is there (`tracing-subscriber`) brings a dozen crates for spans and filters
//! that nothing here has, and would not write the sentences that people and scripts read here.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use discreet::event;
use discreet::job::config::{LogFormat, LogLevel, LogSpec};
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// The target of messages of the command to the person who called it.
const COMMAND: &str = "discreet::command";

/// The least urgent level that is logged, as an index into [`LEVELS`].
static LEVEL: AtomicUsize = AtomicUsize::new(LogLevel::Info as usize);
/// True for lines of JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

const LEVELS: [Level; 4] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG];

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
    let _ = tracing::subscriber::set_global_default(LineSubscriber);
    event::show_operator(true);
}

/// Sets the form and the level of lines from now on.
pub(super) fn set(spec: LogSpec) {
    LEVEL.store(spec.level as usize, Ordering::Relaxed);
    IS_JSON.store(spec.format == LogFormat::Json, Ordering::Relaxed);
}

/// Returns true if lines are of JSON.
pub(super) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Logs a message for the person who called the command, without a prefix.
pub(super) fn note(message: &str) {
    tracing::info!(target: COMMAND, "{message}");
}

/// Logs a warning of the command; the run goes on.
pub(super) fn warn(message: &str) {
    tracing::warn!(target: COMMAND, "{message}");
}

/// Logs a warning that may depend on single records.
pub(super) fn warn_operator(message: &str) {
    let prefix = if is_json() { "" } else { "warning: " };
    tracing::warn!(target: event::OPERATOR, "{prefix}{message}");
}

/// Logs the reason for which the command ends.
pub(super) fn error(message: &str) {
    tracing::error!(target: COMMAND, "{message}");
}

/// Logs a message that may depend on single records.
pub(super) fn operator(message: &str) {
    tracing::info!(target: event::OPERATOR, "{message}");
}

/// Answers a question of the operator, whatever the level.
pub(super) fn answer(message: &str) {
    let line = match is_json() {
        true => {
            let time = jiff::Timestamp::now().to_string();
            json!({ "time": time, "level": "info", "audience": "operator", "message": message }).to_string()
        }
        false => format!("operator only: {message}"),
    };
    write(line + "\n");
}

/// Writes the outcome of a run, whatever the level: a sentence, or one line of JSON, which has no time before it.
pub(super) fn outcome(outcome: &str, in_json: bool) -> io::Result<()> {
    let line = format!("{outcome}\n");
    let line = if in_json { line } else { stamped(line) };
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

/// The subscriber. It keeps no spans: nothing here opens one.
struct LineSubscriber;

impl Subscriber for LineSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // The level may change later.
        if is_own(metadata) { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level = LEVELS.get(LEVEL.load(Ordering::Relaxed)).unwrap_or(&Level::INFO);
        metadata.is_event() && is_own(metadata) && metadata.level() <= level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line =
            if is_json() { json_line(event, &jiff::Timestamp::now().to_string()) } else { text_line(event) };
        write(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn is_own(metadata: &Metadata<'_>) -> bool {
    [event::PUBLIC, event::OPERATOR, COMMAND].contains(&metadata.target())
}

fn text_line(event: &Event<'_>) -> String {
    let mut fields = EventFields::default();
    event.record(&mut fields);
    let metadata = event.metadata();
    let prefix = match (metadata.target(), *metadata.level()) {
        (event::OPERATOR, _) => "operator only: ",
        (COMMAND, Level::ERROR) => "error: ",
        (COMMAND, Level::WARN) => "warning: ",
        _ => "",
    };
    let mut line = format!("{prefix}{}", fields.message);
    // What an alert says has its fields in its words.
    if *metadata.level() == Level::DEBUG {
        for (name, value) in &fields.others {
            line += &format!(" {name}={value}");
        }
    }
    line + "\n"
}

fn json_line(event: &Event<'_>, time: &str) -> String {
    let mut fields = EventFields::default();
    event.record(&mut fields);
    let metadata = event.metadata();
    // What is not known to be public is for the operator.
    let audience = if metadata.target() == event::PUBLIC { "public" } else { "operator" };
    let mut line = json!({
        "time": time,
        "level": metadata.level().as_str().to_ascii_lowercase(),
        "audience": audience,
        "message": fields.message,
    });
    if let Value::Object(line) = &mut line {
        line.append(&mut fields.others);
    }
    format!("{line}\n")
}

/// The message and the fields of an event.
#[derive(Default)]
struct EventFields {
    message: String,
    others: Map<String, Value>,
}

impl EventFields {
    fn put(&mut self, field: &Field, value: Value) {
        self.others.insert(field.name().to_owned(), value);
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            _ => self.put(field, format!("{value:?}").into()),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            _ => self.put(field, value.into()),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A subscriber that keeps both forms of each event.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<[String; 2]>>>);

    impl Subscriber for Kept {
        fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
            LineSubscriber.register_callsite(metadata)
        }

        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            LineSubscriber.enabled(metadata)
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.0.lock().unwrap().push([text_line(event), json_line(event, "now")]);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    // Refutes an event of the operator that passes for a public one, a level that filters nothing, and events of
    // other crates in the log.
    #[test]
    fn events_become_lines_of_their_audience_and_level() {
        let kept = Kept::default();
        tracing::subscriber::with_default(kept.clone(), || {
            operator("lag 1.0 s");
            warn("a \"field\"");
            error("it ends");
            note("note: wrote it");
            tracing::warn!(target: event::PUBLIC, alert = "budget", "alert: half of it");
            tracing::error!(target: "timely", "nothing of ours");
            tracing::debug!(target: event::PUBLIC, release = "visits", windows = 3_u64, "a window has left");
            set(LogSpec::default());
            LEVEL.store(LogLevel::Debug as usize, Ordering::Relaxed);
            tracing::debug!(target: event::PUBLIC, release = "visits", windows = 3_u64, "a window has left");
            LEVEL.store(LogLevel::Error as usize, Ordering::Relaxed);
            warn("not now");
            set(LogSpec::default());
        });
        let kept = kept.0.lock().unwrap();
        let (text, lines): (Vec<&str>, Vec<Value>) = kept
            .iter()
            .map(|[text, line]| (text.as_str(), serde_json::from_str::<Value>(line).unwrap()))
            .unzip();
        let expected = [
            "operator only: lag 1.0 s\n",
            "warning: a \"field\"\n",
            "error: it ends\n",
            "note: wrote it\n",
            "alert: half of it\n",
            "a window has left release=\"visits\" windows=3\n",
        ];
        assert_eq!(text, expected);
        let audiences: Vec<&str> = lines.iter().map(|line| line["audience"].as_str().unwrap()).collect();
        assert_eq!(audiences, ["operator", "operator", "operator", "operator", "public", "public"]);
        assert_eq!(
            lines[4],
            json!({ "time": "now", "level": "warn", "audience": "public", "message": "alert: half of it", "alert": "budget" })
        );
        assert_eq!((&lines[5]["windows"], &lines[5]["level"]), (&json!(3), &json!("debug")));
    }
}
