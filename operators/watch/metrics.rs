//! The text format of Prometheus, version 0.0.4: families with their help, their kind and their samples.

use std::fmt::Write as _;

/// The kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
}

/// Families as they are being written; each family is written before its samples.
#[derive(Debug, Default)]
pub(super) struct Metrics(String);

impl Metrics {
    /// The content type of the text.
    pub(super) const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family.
    pub(super) fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing into a text cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Adds a sample of the family that was begun last.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0 += name;
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let open = if at == 0 { "{" } else { "," };
            let _ = write!(self.0, "{open}{label}=\"{text}\"");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// Returns the text.
    pub(super) fn text(self) -> String {
        self.0
    }
}
