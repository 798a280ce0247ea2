//! One run of a work, and its time.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use discreet::dataflow::{Config, Fed, execute};
use discreet::gate::Gate;

use super::events::{Event, Events, WINDOWS};

/// A work on the events.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) build: fn(Fed<'_, Event>, &Gate),
    /// True where every window is released.
    pub(crate) releases: bool,
}

/// The time of one process, in nanoseconds, from the moment its workers began to build until everything was
/// released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// The CPU time of all threads, the gate's among them.
    pub(crate) cpu: u64,
    /// The wall-clock time.
    pub(crate) wall: u64,
}

impl Spent {
    /// The largest time, as the start of a minimum: other load on the machine only adds to a time.
    pub(crate) const MOST: Spent = Spent { cpu: u64::MAX, wall: u64::MAX };

    /// The smaller of each time.
    pub(crate) fn best(self, other: Spent) -> Spent {
        Spent { cpu: self.cpu.min(other.cpu), wall: self.wall.min(other.wall) }
    }
}

/// Runs the work once. Processes without worker 0 release nothing.
pub(crate) fn run(
    config: Config,
    events: &Events,
    work: Workload,
    gate: &Arc<Gate>,
) -> Result<Spent, Box<dyn Error>> {
    let holds_the_gate = !gate.is_elsewhere();
    let started = Arc::new(OnceLock::new());
    let (starting, events, gate) = (Arc::clone(&started), events.clone(), Arc::clone(gate));
    let finished = execute(config, move |worker, feeds| {
        starting.get_or_init(|| (cpu(), Instant::now()));
        let part = events.part(worker.index(), worker.peers());
        worker.dataflow(|scope| {
            let events = feeds.stream(scope, part);
            (work.build)(events, &gate);
        });
        Ok(())
    })?;
    let (cpu_before, start) = started.get().copied().unwrap_or_else(|| (cpu(), Instant::now()));
    let spent = Spent { cpu: cpu() - cpu_before, wall: start.elapsed().as_nanos() as u64 };
    let expected = if holds_the_gate && work.releases { WINDOWS as u64 } else { 0 };
    assert_eq!(finished.released(), expected, "every window was meant to be released, and paid for");
    Ok(spent)
}

/// The nanoseconds that all threads of this process have run, ended ones included.
fn cpu() -> u64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}
