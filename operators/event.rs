//! Events for people who operate a program: spans and events of [`tracing`], whose target is their audience.
//!
//! The library installs no subscriber. One that a program installs sees two targets, which never mix:
//!
//! * [`PUBLIC`]: facts that everyone may know. They follow from the configuration, the clock and the lines that have
//!   left, and come when these leave. So they are the same, and in the same order for each release, for any two inputs
//!   that differ in one person. They may leave the machine.
//! * [`OPERATOR`]: facts about the process and its input: durations, instants of commits, numbers of records, gaps
//!   of the input. They may depend on single records. They are off until the program [turns them on](show_operator),
//!   and belong where the records themselves may be.
//!
//! No event of either target holds a value of a record, the id of a person, a key, a released value, a path, or the
//! text of an error.
//!
//! # Events
//!
//! | name | target, level | fields | comes when |
//! |---|---|---|---|
//! | `gate opened` | public, debug | `job`, `version`, `accounts`, `settled` | a gate has opened: the time up to which windows are settled is in UTC |
//! | `run begun` | public, debug | `workers`, `process`, `processes` | the dataflows of a process are about to be built |
//! | `window left` | public, debug | `release`, `window_end`, `status` | a sink has confirmed a window; `status` is `sealed`, `refused`, `skipped` or `lost` |
//! | `run ended` | public, debug | `released`, `unanswered`, `refused`, `skipped`, `lost`, `stopped` | a run has ended without an error; of the library's driver, as `run begun` and `run failed` are: an attached pipeline has its outcome from its [`Attachment`](crate::dataflow::Attachment) |
//! | `run failed` | operator, debug | `kind`, `exit_code` | a run has ended with an error, which the caller has |
//! | `process missing`, `processes connected`, `process silent` | operator, debug | `process`, `processes`, `silent_ms` | another process has not come yet; all have; one does not answer, or answers again |
//! | `input resumed` | operator, debug | `input`, `worker`, `partitions` | a source has received the positions that a former run has left |
//! | `input gap` | operator, debug | `input`, `worker`, `start`, `end` | a source has reported an interval in which it was not connected |
//! | `input ended` | operator, debug | `input`, `worker`, `records` | a source has ended |
//! | `ledger opened` | operator, debug | `row`, `whole` | a ledger was created, or opened and verified up to its newest row: `whole` if from its first row on |
//! | `ledger locked` | operator, debug | `job` | another process of the job runs, so that its ledger cannot be claimed |
//! | `checkpoint` | operator, debug | `row` | a checkpoint up to this row was stored |
//! | `ledger verified` | operator, debug | `sound` | the verification in the background has ended |
//! | `rows archived` | operator, debug | `rows` | rows were moved to an archive |
//! | `positions written` | operator, trace | `inputs` | the ledger holds new resume positions |
//! | `gate halted` | operator, debug | `reason` | a gate releases nothing any more |
//!
//! With the feature `cli`, the public [`Alert`](crate::alert::Alert)s and the first line of a live run are public
//! events too, and the other alerts, `file rotated` and `input read` (numbers of records, of lines that cannot be
//! read, of late records and of those too far ahead) are the operator's.
//!
//! # Spans
//!
//! All are the operator's, since their durations may depend on single records.
//!
//! | name | level | fields | lasts |
//! |---|---|---|---|
//! | `release` | debug | `release`, `account`, `version`, `window_start`, `window_end`, `status` | from the request for a window at the gate until its row is given out |
//! | `draw` | trace | `release`, `window_end` | for the draw of its noise, within `release` |
//! | `commit` | trace | `rows`, `accounts` | for a commit of the ledger; several windows may share it |
//!
//! # What they cost
//!
//! An event that nobody receives costs the load of a flag or of a level, and allocates nothing.
//!
//! ```
//! // A program that writes its log where the records may be:
//! discreet::event::show_operator(true);
//! # discreet::event::show_operator(false);
//! ```

use std::sync::atomic::{AtomicBool, Ordering};

/// The target of events that everyone may see.
pub const PUBLIC: &str = "discreet::public";

/// The target of events that may depend on single records: for the person who operates the program alone.
pub const OPERATOR: &str = "discreet::operator";

/// True if events for the operator are on.
static IS_OPERATOR_SHOWN: AtomicBool = AtomicBool::new(false);

/// Turns the events and spans of [`OPERATOR`] on or off for the process; they are off at its start.
pub fn show_operator(is_shown: bool) {
    IS_OPERATOR_SHOWN.store(is_shown, Ordering::Relaxed);
}

/// Returns true if events for the operator are on.
pub(crate) fn is_operator_shown() -> bool {
    IS_OPERATOR_SHOWN.load(Ordering::Relaxed)
}

/// Returns true if the operator asks for events in detail: they are on, and a subscriber receives them at the level
/// `debug`.
pub(crate) fn is_operator_detailed() -> bool {
    is_operator_shown() && tracing::enabled!(target: OPERATOR, tracing::Level::DEBUG)
}

/// Emits an event for everyone: `to_public!(DEBUG, "run ended", released, "a run has ended")`.
macro_rules! to_public {
    ($level:ident, $name:literal, $($rest:tt)+) => {
        tracing::event!(name: $name, target: $crate::event::PUBLIC, tracing::Level::$level, $($rest)+)
    };
}

/// Emits an event for the operator, if these are on.
macro_rules! to_operator {
    ($level:ident, $name:literal, $($rest:tt)+) => {
        if $crate::event::is_operator_shown() {
            tracing::event!(name: $name, target: $crate::event::OPERATOR, tracing::Level::$level, $($rest)+);
        }
    };
}

/// Creates a span for the operator; a disabled one if these are off.
macro_rules! operator_span {
    ($level:ident, $name:literal, parent: $parent:expr, $($fields:tt)+) => {
        if $crate::event::is_operator_shown() {
            tracing::span!(
                target: $crate::event::OPERATOR, parent: $parent, tracing::Level::$level, $name, $($fields)+
            )
        } else {
            tracing::Span::none()
        }
    };
    ($level:ident, $name:literal, $($fields:tt)+) => {
        if $crate::event::is_operator_shown() {
            tracing::span!(target: $crate::event::OPERATOR, tracing::Level::$level, $name, $($fields)+)
        } else {
            tracing::Span::none()
        }
    };
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    struct Listens;

    impl Subscriber for Listens {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    // Refutes an event whose fields are computed, which may allocate, though nobody receives it.
    #[test]
    fn fields_are_computed_for_a_receiver_alone() {
        let computed = Cell::new([0; 3]);
        let compute = |at: usize| {
            let mut counts = computed.get();
            counts[at] += 1;
            computed.set(counts);
            1
        };
        let emit = || {
            to_public!(DEBUG, "test", field = compute(0), "public");
            to_operator!(DEBUG, "test", field = compute(1), "operator");
            let span = operator_span!(DEBUG, "test", field = compute(2));
            span.is_disabled()
        };
        assert!(emit());
        assert_eq!(computed.get(), [0, 0, 0], "without a subscriber");
        tracing::subscriber::with_default(Listens, || {
            assert!(emit());
            assert_eq!(computed.get(), [1, 0, 0], "the operator's are off");
            show_operator(true);
            assert!(!emit() && is_operator_detailed());
            show_operator(false);
        });
        assert_eq!(computed.get(), [2, 1, 1]);
    }
}
