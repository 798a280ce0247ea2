//! The measured work: two pipelines, and the ledgers that pay for them.

use std::error::Error;
use std::path::Path;

use discreet::accounting::{Adjacency, PrivacyCost, PrivacyUnit, Promise};
use discreet::dataflow::Fed;
use discreet::gate::Gate;
use discreet::ledger::{AccountSpec, Ledger, Name};
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::{Time, minutes};

use super::events::{Event, KEYS, SPAN, WINDOWS};
use super::run::Workload;

/// The count that protects every person (user-level).
pub(crate) const PERSON: Workload = Workload { build: person, releases: true };
/// The count that protects every record (event-level).
pub(crate) const RECORD: Workload = Workload { build: record, releases: true };

/// The job name of every ledger here.
pub(crate) const JOB: &str = "bench";

const END: Time = WINDOWS as Time * SPAN;

/// Creates a ledger that can pay for every window of either pipeline.
pub(crate) fn lay_down(ledger: &Path) -> Result<(), Box<dyn Error>> {
    let name = |name| Name::new("account", name);
    let record = Adjacency { unit: PrivacyUnit::Record, ..Adjacency::PERSON };
    let mut laid = Ledger::create(ledger)?;
    for (name, neighbours) in [(name("people")?, Adjacency::PERSON), (name("records")?, record)] {
        laid.register(&AccountSpec::new(name, neighbours, Promise::Lifetime, PrivacyCost::zcdp(1.0)?)?)?;
    }
    Ok(())
}

/// Counts at most four keys of a person, and two records in each.
fn person(events: Fed<'_, Event>, gate: &Gate) {
    events
        .protect(|event| event.person)
        .tumbling(minutes(10), |event| event.time)
        .between(0, END)
        .bound(Bound::keys(4).per_key(2))
        .count_by(|event| event.key, Keys::public(0..KEYS))
        .release(gate, "person", Gaussian::rho(0.01))
        .deliver(|_| Ok(()));
}

/// Counts every record by itself.
fn record(events: Fed<'_, Event>, gate: &Gate) {
    events
        .protect_each()
        .tumbling(minutes(10), |event| event.time)
        .between(0, END)
        .one_by_one()
        .count_by(|event| event.key, Keys::public(0..KEYS))
        .release(gate, "record", Gaussian::rho(0.01))
        .deliver(|_| Ok(()));
}
