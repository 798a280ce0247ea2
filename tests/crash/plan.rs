//! The releases of the subject, shared with the oracle, which expects them.

#![allow(dead_code, reason = "one half is for the subject, one for the oracle")]

use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use discreet::ledger::{Charge, Digest, Name, ReleaseId};

pub(crate) const JOB: &str = "web";
pub(crate) const ACCOUNT: &str = "visits";
/// Counts are charged window by window; the running total is charged once, and keeps state.
pub(crate) const STATISTICS: [&str; 2] = ["counts", "total"];
pub(crate) const WINDOWS: i64 = 10;
/// The cap is raised once, before this window.
pub(crate) const AMENDED: i64 = 6;
/// The caps in units: first for the total and three windows of counts, then for two more, so that windows are
/// refused before the amendment and after it.
pub(crate) const CAPS: [u64; 2] = [5, 7];
/// The number of windows that are on their way at once.
pub(crate) const PACE: i64 = 2;

/// A power of two, so that sums of costs are exact in any arithmetic.
pub(crate) fn units(count: u64) -> PrivacyCost {
    PrivacyCost::zcdp(count as f64 / 1024.0).unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

pub(crate) fn release(statistic: &str, window: i64) -> ReleaseId {
    ReleaseId {
        account: name(ACCOUNT),
        job: name(JOB),
        version: parameters(),
        name: name(statistic),
        window: Interval::new(window * 10, window * 10 + 10).unwrap(),
        part: None,
    }
}

pub(crate) fn parameters() -> Digest {
    Digest::of(b"version 1")
}

pub(crate) fn charge(statistic: &str) -> Charge {
    let cost = |count| ReleaseCost::new(Adjacency::PERSON, units(count));
    match statistic {
        "total" => Charge::Once { cost: cost(2), life: Interval::new(0, WINDOWS * 10).unwrap() },
        _ => Charge::Cost(cost(1)),
    }
}

/// Returns true for windows whose time passed before they were ready.
pub(crate) fn missed(statistic: &str, window: i64) -> bool {
    window == 3 || window == 8 && statistic == "counts"
}

/// The records of a window: the number that each of some people left.
pub(crate) fn source(window: i64) -> impl Iterator<Item = i64> {
    (0..window + 4).map(move |person| 1 + (person * 7 + window) % 5)
}

/// Every release that the configuration schedules.
pub(crate) fn schedule() -> impl Iterator<Item = ReleaseId> {
    (0..WINDOWS).flat_map(|window| STATISTICS.map(|statistic| release(statistic, window)))
}
