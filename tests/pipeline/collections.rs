//! The differential collections of released cells: what they hold is what the ledger holds, through a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use discreet::accounting::Interval;
use discreet::dataflow::{Config, Pulled, Releases, RunError, Source, SourceError, execute};
use discreet::gate::{Gate, Opening};
use discreet::mechanisms::{Bound, Gaussian, Keys};
use discreet::time::Time;

use crate::scene::{JOB, Row, Scratch, Visit, span, zcdp};

const WINDOWS: Time = 8;
const LATE: Time = 3;

/// Visits of some people, of other keys in each window, up to a window; then the source fails, or ends.
struct Visits {
    next: Time,
    last: Time,
    worker: usize,
}

impl Source for Visits {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        if self.next == WINDOWS {
            return Ok(Pulled::End);
        }
        if self.next == self.last {
            return Err(SourceError::lost("the visits"));
        }
        let (window, worker) = (self.next, self.worker as u64);
        let people = (0..60).filter(|person| person % 2 == worker % 2);
        batch.extend(
            people.map(|person| (person, (person as Time * window % 7) as u32, 0, 10 * window, person)),
        );
        self.next += 1;
        Ok(Pulled::Complete(10 * self.next + LATE))
    }
}

type Changes<D> = Arc<Mutex<Vec<(D, Time, isize)>>>;

#[derive(Clone, Default)]
struct Seen {
    latest: Changes<(u32, i128)>,
    history: Changes<(Interval, u32, i128)>,
}

/// Runs up to a window and returns what the collections were changed by.
fn run(scratch: &Scratch, workers: usize, last: Time, delivers: bool) -> (Result<(), RunError>, Seen) {
    let gate = Gate::open(scratch.ledger(), JOB).unwrap();
    let seen = Seen::default();
    let sees = seen.clone();
    let ended = execute(Config::threads(workers).unwrap(), move |worker, feeds| {
        let source = Visits { next: 0, last, worker: worker.index() };
        let Seen { latest, history } = sees.clone();
        worker.dataflow(|scope| {
            let releases: Releases<'_, u32, i128> = feeds
                .stream(scope, source)
                .protect(|visit| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, 10 * WINDOWS)
                .late(span(LATE))
                .bound(Bound::keys(1))
                .people_by(|visit| visit.1, Keys::discover(1e-3))
                .release(&gate, "people", Gaussian::rho(1.0));
            let all = releases.clone();
            all.latest().inspect(move |change| latest.lock().unwrap().push(*change));
            releases.clone().history().inspect(move |change| history.lock().unwrap().push(*change));
            if delivers {
                releases.deliver(|_| Ok(()));
            }
        });
        Ok(())
    });
    (ended.map(|_| ()), seen)
}

/// What a collection holds up to each close of a window.
fn held<D: Ord + Clone>(changes: &Changes<D>, window: Time) -> BTreeMap<D, isize> {
    let mut held = BTreeMap::new();
    for (datum, time, change) in changes.lock().unwrap().iter() {
        if *time <= 10 * (window + 1) + LATE {
            *held.entry(datum.clone()).or_default() += change;
        }
    }
    held.retain(|_, number| *number != 0);
    held
}

fn check(seen: &Seen, rows: &[Row], from: Time, what: &str) {
    let (mut newest, mut all) = (BTreeMap::new(), BTreeMap::new());
    for (window, row) in rows.iter().enumerate() {
        let window = window as Time;
        for (key, value) in row.values() {
            let (key, value) = (key as u32, i128::from(value));
            newest.insert(key, value);
            all.insert((Interval::new(row.window.0, row.window.1).unwrap(), key, value), 1);
        }
        let latest: BTreeMap<_, _> = newest.iter().map(|(key, value)| ((*key, *value), 1)).collect();
        // A restart does not know when former values were taken back.
        if window >= from {
            assert_eq!(held(&seen.latest, window), latest, "{what}: window {window}");
        }
        assert_eq!(held(&seen.history, window), all, "{what}: window {window}");
    }
    assert!(newest.len() > 2, "{what}: {newest:?}");
}

// Refutes values that a restart has not, has twice, or has at another time: of releases that were delivered, of some that were
// not, and of a ledger in which all windows are sealed.
#[test]
fn collections_hold_what_the_ledger_holds_through_a_restart() {
    for (workers, last, delivers) in
        [(1, 3, true), (2, 3, false), (3, 5, true), (2, 0, true), (2, WINDOWS, false), (1, WINDOWS, true)]
    {
        let what = format!("{workers} workers, up to {last}, delivered: {delivers}");
        let scratch = Scratch::new("collections", &zcdp());
        let (ended, seen) = run(&scratch, workers, last, delivers);
        assert_eq!(ended.is_ok(), last == WINDOWS, "{what}: {ended:?}");
        let before = scratch.rows();
        if ended.is_ok() {
            check(&seen, &before, 0, &what);
        }
        let (ended, seen) = run(&scratch, 3, WINDOWS, true);
        ended.unwrap();
        let rows = scratch.rows();
        assert_eq!((rows.len(), &rows[..before.len()]), (WINDOWS as usize, &before[..]), "{what}");
        check(&seen, &rows, before.len() as Time - 1, &what);
    }
}

// Refutes cells that are read as another version's, and a run over another version's that a collection ends.
#[test]
fn cells_of_an_earlier_version_are_of_other_types_and_in_no_collection() {
    let scratch = Scratch::new("other-types", &zcdp());
    run(&scratch, 1, WINDOWS, false).0.unwrap();
    let again = |as_cells: bool| {
        let gate = Opening::new(scratch.ledger(), JOB).unwrap().version(2).open().unwrap();
        let seen: Changes<(String, i128)> = Changes::default();
        let sees = Arc::clone(&seen);
        let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
            let sees = Arc::clone(&sees);
            let source = Visits { next: 0, last: WINDOWS, worker: 0 };
            worker.dataflow(|scope| {
                let releases = feeds
                    .stream(scope, source)
                    .protect(|visit| visit.0)
                    .tumbling(span(10), |visit| visit.3)
                    .between(0, 10 * WINDOWS)
                    .late(span(LATE))
                    .bound(Bound::keys(1))
                    .people_by(|visit| visit.1.to_string(), Keys::public(["1".to_owned()]))
                    .release(&gate, "people", Gaussian::rho(1.0));
                if as_cells {
                    releases.cells();
                } else {
                    releases.latest().inspect(move |change| sees.lock().unwrap().push(change.clone()));
                }
            });
            Ok(())
        });
        (ended.map(|_| ()), seen)
    };
    let refused = again(true).0.unwrap_err();
    assert!(refused.to_string().contains("cells of other types; an earlier version sealed it"), "{refused}");
    let (ended, seen) = again(false);
    ended.unwrap();
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|((key, _), ..)| key == "1"), "{seen:?}");
}
