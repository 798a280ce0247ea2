//! The public families of metrics: windows that have left and the budget, and nothing of a value.

use super::{LiveHeading, LiveRun};
use crate::alert::{Alert, Audience};
use crate::watch::metrics::{MetricKind, Metrics};

impl LiveRun {
    /// Writes the public families.
    pub(in crate::watch) fn write_metrics(&self, metrics: &mut Metrics) {
        let state = self.state();
        let LiveHeading { heading, version, .. } = &self.0.heading;
        let (job, number) = (heading.job.as_str(), version.to_string());
        metrics.family("discreet_build_info", MetricKind::Gauge, "Public. The version of discreet.");
        metrics.sample("discreet_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        metrics.family(
            "discreet_job_info",
            MetricKind::Gauge,
            "Public. The job, its version and its account.",
        );
        let labels = [("job", job), ("version", &number), ("account", &heading.account)];
        metrics.sample("discreet_job_info", &labels, 1.0);
        let name = "discreet_windows_settled_total";
        metrics.family(
            name,
            MetricKind::Counter,
            "Public. Windows that have left since the start, by outcome.",
        );
        for ((release, outcome), count) in &state.settled {
            metrics.sample(name, &[("release", release), ("outcome", outcome)], *count as f64);
        }
        let name = "discreet_window_end_timestamp_seconds";
        metrics.family(name, MetricKind::Gauge, "Public. The end of the newest window that has left.");
        for (release, end) in &state.newest {
            metrics.sample(name, &[("release", release)], *end as f64 / 1e6);
        }
        let name = "discreet_budget_spent_ratio";
        metrics.family(
            name,
            MetricKind::Gauge,
            "Public. The spent part of the cap; the larger, of two parameters. Of a promise about spans of time, in that of the newest window.",
        );
        for (account, status) in &state.budget {
            if let Some(part) = status.spent.part_of(&status.cap) {
                metrics.sample(name, &[("account", account)], part);
            }
        }
        for (name, help, cap) in [
            ("discreet_budget_spent", "Public. The spent amount, by privacy parameter.", false),
            ("discreet_budget_cap", "Public. The cap of the account, by privacy parameter.", true),
        ] {
            metrics.family(name, MetricKind::Gauge, help);
            for (account, status) in &state.budget {
                for (parameter, amount) in (if cap { &status.cap } else { &status.spent }).parameters() {
                    metrics.sample(name, &[("account", account), ("parameter", parameter)], amount);
                }
            }
        }
        let name = "discreet_budget_forecast_end_timestamp_seconds";
        let help = "Public. The start of the first window that will be refused, if all releases go on; absent if none will.";
        metrics.family(name, MetricKind::Gauge, help);
        for (account, status) in &state.budget {
            if let Some(from) = status.forecast.refuses_from() {
                metrics.sample(name, &[("account", account)], from as f64 / 1e6);
            }
        }
        drop(state);
        self.write_alerts(metrics, "discreet_alerts_total", "Public", Audience::Public);
    }

    pub(in crate::watch) fn write_alerts(
        &self,
        metrics: &mut Metrics,
        name: &str,
        whose: &str,
        audience: Audience,
    ) {
        let help = format!("{whose}. Alerts that were raised since the start, by kind.");
        metrics.family(name, MetricKind::Counter, &help);
        for (kind, _) in Alert::KINDS.iter().filter(|(_, of)| *of == audience) {
            metrics.sample(name, &[("alert", kind)], self.0.alerts.count(kind) as f64);
        }
    }
}
