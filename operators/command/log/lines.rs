//! The subscriber of the command: each event is a line, and so is each span, once it has ended.
//!
//! A subscriber of its own, since what is there (`tracing-subscriber`) brings a dozen crates, and would not write the
//! sentences that people and scripts read here.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use discreet::event;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use super::settings::{is_json, level_of};
use super::{ERROR, NOTE, WARNING, write};

/// The subscriber, with the spans that have not ended.
pub(super) struct LineSubscriber {
    /// Puts out the line of an event or of a span.
    put: fn(&Metadata<'_>, EventFields),
    open: Mutex<HashMap<u64, OpenSpan>>,
    created: AtomicU64,
}

/// A span that has not ended.
struct OpenSpan {
    metadata: &'static Metadata<'static>,
    fields: EventFields,
    since: Instant,
    handles: usize,
}

impl Default for LineSubscriber {
    fn default() -> LineSubscriber {
        let put = |metadata: &Metadata<'_>, fields| write(line(metadata, fields, is_json()));
        LineSubscriber { put, open: Mutex::default(), created: AtomicU64::new(0) }
    }
}

impl LineSubscriber {
    /// Locks the spans: every change is one call, so a panic elsewhere does no harm.
    fn open(&self) -> MutexGuard<'_, HashMap<u64, OpenSpan>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a handle of a span; returns the span with its duration if it was the last one.
    fn close(&self, id: &Id) -> Option<(OpenSpan, Duration)> {
        let mut open = self.open();
        let span = open.get_mut(&id.into_u64())?;
        span.handles -= 1;
        if span.handles > 0 {
            return None;
        }
        let span = open.remove(&id.into_u64())?;
        let took = span.since.elapsed();
        Some((span, took))
    }
}

impl Subscriber for LineSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Asked again whenever the levels change.
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        level_of(metadata.target()).is_some_and(|level| *metadata.level() <= level)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        [event::PUBLIC, event::OPERATOR].into_iter().filter_map(level_of).max().map(LevelFilter::from_level)
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.created.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = EventFields::default();
        attributes.record(&mut fields);
        let (metadata, since) = (attributes.metadata(), Instant::now());
        self.open().insert(id, OpenSpan { metadata, fields, since, handles: 1 });
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(span) = self.open().get_mut(&id.into_u64()) {
            values.record(&mut span.fields);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        (self.put)(event.metadata(), fields);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.open().get_mut(&id.into_u64()) {
            span.handles += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let Some((span, took)) = self.close(&id) else { return false };
        // The level may have changed meanwhile.
        if self.enabled(span.metadata) {
            (self.put)(span.metadata, span.fields.of_span(span.metadata, took));
        }
        true
    }
}

/// Returns the line of an event or of a span.
fn line(metadata: &Metadata<'_>, fields: EventFields, in_json: bool) -> String {
    if in_json { json_line(metadata, fields) } else { text_line(metadata, &fields) }
}

fn text_line(metadata: &Metadata<'_>, fields: &EventFields) -> String {
    let prefix = match (metadata.target(), metadata.name()) {
        (_, NOTE) => "",
        (_, WARNING) => "warning: ",
        (_, ERROR) => "error: ",
        (event::OPERATOR, _) => "operator only: ",
        _ => "",
    };
    let mut line = format!("{prefix}{}", fields.message);
    // What an alert says has its fields in its words.
    if *metadata.level() >= Level::DEBUG {
        for (name, value) in &fields.others {
            line += &format!(" {name}={value}");
        }
    }
    line + "\n"
}

fn json_line(metadata: &Metadata<'_>, fields: EventFields) -> String {
    // Without a name of its own an event has the place in the code, which changes with each version.
    let name = Some(metadata.name()).filter(|name| !name.starts_with("event "));
    json(metadata.level(), (metadata.target(), name), &fields.message, fields.others)
}

/// Returns a line of JSON, with the present time.
pub(super) fn json(
    level: &Level,
    (target, name): (&str, Option<&str>),
    message: &str,
    mut fields: Map<String, Value>,
) -> String {
    // What is not known to be public is for the operator.
    let audience = if target == event::PUBLIC { "public" } else { "operator" };
    let mut line = json!({
        "time": jiff::Timestamp::now().to_string(),
        "level": level.as_str().to_ascii_lowercase(),
        "target": target,
        "audience": audience,
        "message": message,
    });
    if let Value::Object(line) = &mut line {
        line.extend(name.map(|name| ("event".to_owned(), name.into())));
        line.append(&mut fields);
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

    /// Adds the duration of a span that has ended, and a message that has it.
    fn of_span(mut self, metadata: &Metadata<'_>, took: Duration) -> EventFields {
        let milliseconds = (took.as_secs_f64() * 1e6).round() / 1e3;
        self.message = format!("{} took {milliseconds} ms", metadata.name());
        self.others.insert("took_ms".to_owned(), milliseconds.into());
        self
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
    use std::cell::RefCell;

    use discreet::job::config::{LogLevel, LogSpec};

    use super::super::{error, note, operator, set, warn, warn_operator};
    use super::*;

    thread_local! {
        /// Both forms of each line of this thread.
        static KEPT: RefCell<Vec<[String; 2]>> = const { RefCell::new(Vec::new()) };
    }

    fn keep(metadata: &Metadata<'_>, fields: EventFields) {
        let text = text_line(metadata, &fields);
        KEPT.with_borrow_mut(|kept| kept.push([text, json_line(metadata, fields)]));
    }

    fn level(level: LogLevel) {
        let mut spec = LogSpec::default();
        spec.level = level;
        set(spec);
    }

    fn left() {
        tracing::event!(
            name: "window left",
            target: event::PUBLIC,
            Level::DEBUG,
            release = "visits",
            windows = 3_u64,
            "a window has left"
        );
    }

    fn release() {
        let status = tracing::field::Empty;
        let span =
            tracing::span!(target: event::OPERATOR, Level::DEBUG, "release", release = "visits", status);
        let other = span.clone();
        other.in_scope(|| span.record("status", "sealed"));
        drop(other);
        KEPT.with_borrow(|kept| assert!(!kept.iter().any(|[text, _]| text.contains("release took"))));
    }

    // Refutes an event of the operator that passes for a public one, a level that filters nothing, events of
    // other crates in the log, and a span that is a line before it has ended, or none.
    #[test]
    fn events_and_spans_become_lines_of_their_audience_and_level() {
        let subscriber = LineSubscriber { put: keep, ..LineSubscriber::default() };
        tracing::subscriber::with_default(subscriber, || {
            set(LogSpec::default());
            operator("lag 1.0 s");
            warn_operator("late lines");
            warn("a \"field\"");
            error("it ends");
            note("note: wrote it");
            tracing::warn!(target: event::PUBLIC, alert = "budget", "alert: half of it");
            tracing::error!(target: "timely", "nothing of ours");
            left();
            release();
            level(LogLevel::Debug);
            left();
            release();
            level(LogLevel::Error);
            warn("not now");
            set(LogSpec::default());
        });
        let kept = KEPT.take();
        let (text, lines): (Vec<&str>, Vec<Value>) = kept
            .iter()
            .map(|[text, line]| (text.as_str(), serde_json::from_str::<Value>(line).unwrap()))
            .unzip();
        let expected = [
            "operator only: lag 1.0 s\n",
            "operator only: warning: late lines\n",
            "warning: a \"field\"\n",
            "error: it ends\n",
            "note: wrote it\n",
            "alert: half of it\n",
            "a window has left release=\"visits\" windows=3\n",
        ];
        assert_eq!(text[..7], expected);
        assert!(text[7].starts_with("operator only: release took ") && text.len() == 8, "{text:?}");
        assert!(text[7].contains(" ms release=\"visits\" status=\"sealed\" took_ms="), "{}", text[7]);
        let audiences: Vec<&str> = lines.iter().map(|line| line["audience"].as_str().unwrap()).collect();
        assert_eq!(audiences[..5], ["operator"; 5]);
        assert_eq!(audiences[5..], ["public", "public", "operator"]);
        let mut alert = lines[5].clone();
        assert!(alert["time"].take().as_str().unwrap().ends_with('Z'));
        assert_eq!(
            alert,
            json!({
                "time": null, "level": "warn", "target": "discreet::public", "audience": "public",
                "message": "alert: half of it", "alert": "budget",
            })
        );
        let names: Vec<Option<&str>> = lines.iter().map(|line| line["event"].as_str()).collect();
        assert_eq!(names[..2], [Some("notice"), Some("input warning")]);
        assert_eq!(names[5..], [None, Some("window left"), Some("release")]);
        assert_eq!((&lines[6]["windows"], &lines[6]["level"]), (&json!(3), &json!("debug")));
        assert!(lines[7]["took_ms"].is_number());
    }
}
