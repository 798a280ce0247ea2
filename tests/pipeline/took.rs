//! The time that the gate works for each window, among many that are complete at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use discreet::dataflow::{All, Config, execute};
use discreet::gate::Gate;
use discreet::mechanisms::{Bound, Laplace};

use crate::scene::{JOB, Scratch, Visit, pure, span};

const WINDOWS: i64 = 1_500;

// Refutes a time that has the wait behind other windows in it: then a backlog looks like a slow ledger.
#[test]
fn the_windows_of_a_backlog_take_the_time_of_the_gate_and_no_more() {
    let scratch = Scratch::new("took", &pure());
    let gate = Gate::open(scratch.ledger(), JOB).unwrap();
    let (count, sum) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Duration::ZERO)));
    let (heard, summed) = (Arc::clone(&count), Arc::clone(&sum));
    let since = Instant::now();
    let finished = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        let (heard, summed) = (Arc::clone(&heard), Arc::clone(&summed));
        worker.dataflow(|scope| {
            let visits: Vec<Visit> = (0..WINDOWS).map(|window| (1, 0, 0, 10 * window, 0)).collect();
            let counts = feeds
                .stream(scope, All::of(visits))
                .protect(|visit| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, 10 * WINDOWS)
                .bound(Bound::keys(1))
                .count()
                .release(&gate, "visits", Laplace::epsilon(0.1));
            counts.deliver(move |release| {
                heard.fetch_add(1, Ordering::Relaxed);
                *summed.lock().unwrap() += release.took().unwrap();
                Ok(())
            });
        });
        Ok(())
    });
    let all = since.elapsed();
    assert_eq!(finished.unwrap().released(), WINDOWS as u64);
    let (count, sum) = (count.load(Ordering::Relaxed), *sum.lock().unwrap());
    assert_eq!(count, WINDOWS as u64);
    assert!(Duration::ZERO < sum && sum <= all, "{sum:?} of {all:?}");
}
