//! The measured work: pipelines about ranks, and the ledger that pays for them.

use std::error::Error;
use std::path::Path;

use discreet::accounting::Budget;
use discreet::dataflow::Fed;
use discreet::gate::Gate;
use discreet::ledger::{AccountSpec, Ledger};
use discreet::mechanisms::{BinarySearch, Bound, Exponential, Grid, Keys};
use discreet::time::{Time, minutes};

use super::events::{Event, KEYS, SPAN, WINDOWS};
use super::run::Workload;

/// The job name of every ledger here.
pub(crate) const JOB: &str = "bench";
/// The numbers of keys that count of a person, and of records in each of them for a quantile.
pub(crate) const BOUND: (u64, u64) = (4, 2);
/// The zCDP cost of a window.
pub(crate) const RHO: f64 = 0.1;

/// The search for the largest value, with every person protected.
pub(crate) const LARGEST: Workload = Workload { build: largest, releases: true };
/// The choice of a quantile, with every person protected.
pub(crate) const QUANTILE: Workload = Workload { build: quantile, releases: true };

const END: Time = WINDOWS as Time * SPAN;
/// One more than any value.
const ABOVE: i64 = 1 << 20;

/// Creates a ledger that can pay for every window of either pipeline.
pub(crate) fn lay_down(ledger: &Path) -> Result<(), Box<dyn Error>> {
    Ok(Ledger::create(ledger)?
        .register(&AccountSpec::lifetime("people", Budget::zcdp(2.0 * RHO * WINDOWS as f64))?)?)
}

/// A whole number of 20 bits.
pub(crate) fn value(event: &Event) -> i64 {
    (event.value * ABOVE as f64) as i64
}

fn largest(events: Fed<'_, Event>, gate: &Gate) {
    events
        .protect(|event| event.person)
        .tumbling(minutes(10), |event| event.time)
        .between(0, END)
        .bound(Bound::keys(BOUND.0))
        .max_by(|event| event.key, Keys::public(0..KEYS), value, Grid::log_from_zero())
        .release(gate, "largest", BinarySearch::rho(RHO))
        .deliver(|_| Ok(()));
}

fn quantile(events: Fed<'_, Event>, gate: &Gate) {
    events
        .protect(|event| event.person)
        .tumbling(minutes(10), |event| event.time)
        .between(0, END)
        .bound(Bound::keys(BOUND.0).per_key(BOUND.1))
        .quantile_by(|event| event.key, Keys::public(0..KEYS), value, [0.5], Grid::linear(0, ABOVE, 1))
        .release(gate, "median", Exponential::rho(RHO))
        .deliver(|_| Ok(()));
}
