//! Job texts that tests share.

use crate::time::{at, in_utc};

/// Returns a job of this number of days from 2026-01-01 on, whose log has the fields `who` and `time`, with these releases.
pub(super) fn csv_job(name: &str, days: u32, budget: &str, releases: &str) -> String {
    let until = in_utc(at("2026-01-01").unwrap() + i64::from(days) * 86_400_000_000);
    format!(
        r#"
[job]
name = "{name}"
version = 1
from = 2026-01-01T00:00:00Z
until = {until}
[source]
type = "csv"
path = "log.csv"
time = {{ field = "time", format = "rfc3339" }}
[privacy]
person = {{ field = "who", missing = "drop" }}
promise = "lifetime"
budget = {{ {budget} }}
ledger = "{name}.ledger"
account = "{name}"
{releases}"#
    )
}
