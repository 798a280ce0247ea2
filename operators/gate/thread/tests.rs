//! The real thread over a real ledger: what is told, what is charged, and what a restart says.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::accounting::{Amount, Cost, Interval, Neighbours, Promise};
use crate::noise::{DiscreteLaplace, Law};

/// A power of two, so that sums of costs are exact.
const COST: f64 = 1.0 / 1024.0;

struct Scratch(PathBuf);

impl Scratch {
    /// A directory with a ledger of one domain, for so many windows.
    fn new(windows: u32) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("discreet-gate-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let scratch = Scratch(std::env::temp_dir().join(name));
        fs::create_dir_all(&scratch.0).unwrap();
        let mut ledger = Ledger::create(scratch.ledger()).unwrap();
        let cap = Amount::zcdp(f64::from(windows) * COST).unwrap();
        let domain = Domain::new(name_of("visits"), Neighbours::PERSON, Promise::Lifetime, cap).unwrap();
        ledger.register(&domain).unwrap();
        scratch
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("test.ledger")
    }

    fn open(&self) -> (Gate, Receiver<Told>) {
        Gate::open(self.ledger(), &name_of("web"), Delivery::AtLeastOnce).unwrap()
    }

    fn spent(&self) -> Amount {
        let ledger = Ledger::open(self.ledger()).unwrap();
        ledger.spent(&name_of("visits"), Interval::new(0, 1).unwrap()).unwrap().0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name_of(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

fn release(window: i64) -> Release {
    Release {
        domain: name_of("visits"),
        job: name_of("web"),
        version: Digest::of(b"version 1"),
        name: name_of("by_path"),
        window: Interval::new(window, window + 1).unwrap(),
    }
}

/// A count of 1,000 with noise; `draws` tells how often it was noised.
fn request(window: i64, draws: &Arc<AtomicU32>) -> Request {
    let draws = Arc::clone(draws);
    let noised = move |noise: &mut Noise| {
        draws.fetch_add(1, Ordering::Relaxed);
        // So wide that no two draws of one test are alike.
        let law = DiscreteLaplace::new(2f64.powi(50)).unwrap();
        format!("{}", 1_000 + law.draw(noise))
    };
    let cost = Cost::new(Neighbours::PERSON, Amount::zcdp(COST).unwrap());
    Request { release: release(window), charge: Charge::Cost(cost), sealable: Box::new(noised) }
}

fn row(told: &Receiver<Told>) -> Row {
    match told.recv().unwrap() {
        Told::Row(row) => *row,
        Told::Halted(doubt) => panic!("halted: {doubt:?}"),
    }
}

#[test]
fn a_window_is_drawn_once_however_often_it_is_asked_for() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    gate.submit(request(0, &draws)).unwrap();
    let first = row(&told);
    gate.delivered(&first);
    drop((gate, told));

    let (gate, told) = scratch.open();
    gate.submit(request(0, &draws)).unwrap();
    let second = row(&told);
    assert_eq!((first.line(), first.sequence()), (second.line(), second.sequence()));
    assert_eq!(draws.load(Ordering::Relaxed), 1);
    drop((gate, told));
    assert_eq!(scratch.spent(), Amount::zcdp(COST).unwrap());
}

#[test]
fn what_was_not_delivered_is_told_again_after_a_restart_and_what_was_is_not() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    (0..3).for_each(|window| gate.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..3).map(|_| row(&told)).collect();
    gate.delivered(&rows[1]);
    drop((gate, told));

    let (gate, told) = scratch.open();
    let again = [row(&told), row(&told)];
    assert_eq!([again[0].line(), again[1].line()], [rows[0].line(), rows[2].line()]);
    drop(gate);
    assert!(told.recv().is_err(), "a third row was told");
    assert_eq!(draws.load(Ordering::Relaxed), 3);
}

#[test]
fn at_most_once_is_marked_before_it_is_told() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let open = || Gate::open(scratch.ledger(), &name_of("web"), Delivery::AtMostOnce).unwrap();
    let (gate, told) = open();
    gate.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&told).fate(), Fate::Sealed);
    drop((gate, told));
    // Whether it left is not known; it is not told again, even on request.
    let (gate, told) = open();
    gate.submit(request(0, &draws)).unwrap();
    drop(gate);
    assert!(told.recv().is_err());
}

#[test]
fn an_exhausted_budget_refuses_new_windows_and_still_answers_old_ones() {
    let scratch = Scratch::new(2);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    (0..3).for_each(|window| gate.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..3).map(|_| row(&told)).collect();
    assert_eq!(rows.iter().map(Row::fate).collect::<Vec<_>>(), [Fate::Sealed, Fate::Sealed, Fate::Refused]);
    assert!(rows[2].line().contains("\"refused\":\"budget\",\"domain\":\"visits\""), "{}", rows[2].line());
    rows.iter().for_each(|row| gate.delivered(row));
    drop((gate, told));
    let (gate, told) = scratch.open();
    gate.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&told).line(), rows[0].line());
}

#[test]
fn requests_that_wait_share_a_commit_and_keep_their_order() {
    let scratch = Scratch::new(1_000);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    (0..1_000).for_each(|window| gate.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..1_000).map(|_| row(&told)).collect();
    assert!(rows.iter().zip(0..).all(|(row, window)| row.release().window.start() == window));
    drop((gate, told));
    assert_eq!(scratch.spent(), Amount::zcdp(1_000.0 * COST).unwrap());
}

#[test]
fn a_missed_window_is_skipped_for_good_at_no_cost() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    gate.miss(release(0));
    let skipped = row(&told);
    assert_eq!(skipped.fate(), Fate::Skipped);
    assert!(skipped.line().ends_with("\"skipped\":true}"), "{}", skipped.line());
    gate.delivered(&skipped);
    gate.submit(request(0, &draws)).unwrap();
    // Asked for while it is on its way or after it, it stays skipped.
    drop(gate);
    assert!(told.iter().all(|told| matches!(told, Told::Row(row) if row.fate() == Fate::Skipped)));
    assert_eq!(draws.load(Ordering::Relaxed), 0);
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().releases(&name_of("visits")).unwrap().0, 0);
}

#[test]
fn a_window_that_is_missed_while_it_is_on_its_way_is_released() {
    let scratch = Scratch::new(1_000);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    // Both words about a window reach the thread together, while it is busy with the windows before.
    for window in 0..500 {
        gate.submit(request(window, &draws)).unwrap();
        gate.miss(release(window));
    }
    assert!((0..500).map(|_| row(&told)).all(|row| row.fate() == Fate::Sealed));
    drop(gate);
    assert_eq!(draws.load(Ordering::Relaxed), 500);
}

#[test]
fn a_zombie_draws_and_says_nothing() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let (zombie, heard) = scratch.open();
    fs::remove_file(scratch.0.join("test.ledger.web.lock")).unwrap();
    let (successor, told) = scratch.open();
    zombie.submit(request(0, &draws)).unwrap();
    assert!(matches!(heard.recv().unwrap(), Told::Halted(Doubt::Fenced)));
    assert!(heard.recv().is_err(), "a halted gate said more");
    successor.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&told).fate(), Fate::Sealed);
    drop((zombie, successor));
    assert_eq!(scratch.spent(), Amount::zcdp(COST).unwrap());
}

#[test]
fn what_can_never_be_counted_is_refused_before_it_is_drawn() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let (gate, _told) = scratch.open();
    let mut elsewhere = request(0, &draws);
    elsewhere.release.domain = name_of("visit");
    assert!(gate.submit(elsewhere).unwrap_err().to_string().contains("domain visit"));
    let records = Neighbours { unit: crate::accounting::Unit::Record, ..Neighbours::PERSON };
    let mut other = request(0, &draws);
    other.charge = Charge::Cost(Cost::new(records, Amount::zcdp(COST).unwrap()));
    assert!(gate.submit(other).unwrap_err().to_string().contains("unit"));
    drop(gate);
    assert_eq!(draws.load(Ordering::Relaxed), 0);
}

#[test]
fn a_panicking_mechanism_ends_the_gate_and_releases_nothing() {
    let scratch = Scratch::new(10);
    let draws = Arc::default();
    let (gate, told) = scratch.open();
    let panicking = Request {
        sealable: Box::new(|_: &mut Noise| -> String { panic!("a mechanism that panics, on purpose") }),
        ..request(0, &draws)
    };
    gate.submit(panicking).unwrap();
    assert!(told.recv().is_err());
    gate.submit(request(1, &draws)).unwrap();
    drop(gate);
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().head().unwrap().0, 1, "something was written");
}
