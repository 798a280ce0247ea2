//! `[log]`: the form and the extent of what the command says on standard error. It decides nothing of what is
//! released.

use super::ConfigNode;

/// The settings of the log of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogSpec {
    /// The form of its lines.
    pub format: LogFormat,
    /// The least urgent level that is logged.
    pub level: LogLevel,
}

/// The form of the lines of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// A sentence.
    #[default]
    Text,
    /// An object of JSON, with the time, the level, the target, the name and the fields of the event.
    Json,
}

impl LogFormat {
    /// Every format, by its word.
    pub(super) const ALL: [(&'static str, LogFormat); 2] =
        [("text", LogFormat::Text), ("json", LogFormat::Json)];
}

/// The level of a log, from the most urgent to the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// The reason for which a run ends.
    Error,
    /// Alerts and warnings, too.
    Warn,
    /// The start, the state each minute, and notices, too.
    #[default]
    Info,
    /// Each window that leaves, and what the process does, too.
    Debug,
    /// Each draw and each commit, too.
    Trace,
}

impl LogLevel {
    /// Every level, by its word.
    pub(super) const ALL: [(&'static str, LogLevel); 5] = [
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("trace", LogLevel::Trace),
    ];
}

pub(super) fn read_log(node: ConfigNode<'_>) -> Option<LogSpec> {
    let fields = node.fields(&[], &["format", "level"])?;
    let format = match fields.node("format") {
        Some(node) => node.one_of(&LogFormat::ALL)?,
        None => LogFormat::default(),
    };
    let level = match fields.node("level") {
        Some(node) => node.one_of(&LogLevel::ALL)?,
        None => LogLevel::default(),
    };
    Some(LogSpec { format, level })
}
