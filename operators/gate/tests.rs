//! The real thread over a real ledger: the rows, the charges, and the answers after a restart.

mod again;
mod anchors;
mod answers;
mod budgets;
mod checkpoint;
mod lines;
mod memory;
mod versions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::*;
use crate::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use crate::ledger::scratch::{Scratch, ScratchPlace, everywhere};
use crate::ledger::{
    AccountSpec, Anchor, Charge, Digest, Journal, Ledger, LedgerError, LedgerErrorKind, Name, ReleaseId,
    ReleaseStatus, Row,
};
use crate::noise::{DiscreteLaplace, NoiseDistribution, NoiseSource};

/// The cost of a release: a power of two, so that sums of costs are exact.
const COST: f64 = 1.0 / 1024.0;

/// Creates a ledger of one account, with a budget for this number of windows.
fn scratch(at: ScratchPlace, windows: u32) -> Scratch {
    let scratch = at.scratch();
    let mut ledger = Ledger::create(scratch.ledger()).unwrap();
    let cap = PrivacyCost::zcdp(f64::from(windows) * COST);
    ledger.register(&AccountSpec::lifetime("visits", cap).unwrap()).unwrap();
    scratch
}

fn opening(scratch: &Scratch) -> Opening {
    Opening::new(scratch.ledger(), "web").unwrap().key(scratch.key())
}

fn open(scratch: &Scratch) -> (Gate, GateHandle) {
    at_a_desk(opening(scratch).open().unwrap())
}

fn spent(scratch: &Scratch) -> PrivacyCost {
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    ledger.spent(&name_of("visits"), Interval::new(0, 1).unwrap()).unwrap().0
}

fn at_a_desk(gate: Gate) -> (Gate, GateHandle) {
    let handle = gate.handle(&name_of("by_path"), &parameters(), || ()).unwrap();
    (gate, handle)
}

fn parameters() -> Digest {
    Digest::of(b"version 1")
}

fn name_of(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

fn release(window: i64) -> ReleaseId {
    ReleaseId {
        account: name_of("visits"),
        job: name_of("web"),
        version: parameters(),
        name: name_of("by_path"),
        window: Interval::new(window, window + 1).unwrap(),
        part: None,
    }
}

/// A request for a count of 1,000 with noise; `draws` counts the draws.
fn request(window: i64, draws: &Arc<AtomicU32>) -> ReleaseRequest {
    let draws = Arc::clone(draws);
    let noised = move |noise: &mut NoiseSource| {
        draws.fetch_add(1, Ordering::Relaxed);
        // Wide enough that no two draws of one test are equal.
        let law = DiscreteLaplace::new(2f64.powi(50)).unwrap();
        format!("{}", 1_000 + law.draw(noise))
    };
    let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(COST).unwrap());
    ReleaseRequest { release: release(window), charge: Charge::Cost(cost), sealable: Box::new(noised) }
}

fn row(handle: &GateHandle) -> Row {
    match handle.wait().unwrap() {
        GateEvent::Row(row, _) => *row,
        other => panic!("{other:?}"),
    }
}

everywhere! {
    a_window_is_drawn_once_however_often_it_is_asked_for
    a_restart_delivers_again_what_was_not_delivered_and_nothing_else
    at_most_once_is_marked_before_it_is_delivered
    an_exhausted_budget_refuses_new_windows_and_still_answers_old_ones
    requests_that_wait_share_a_commit_and_keep_their_order
    a_missed_window_is_skipped_for_good_at_no_cost
    a_window_that_is_missed_while_it_is_on_its_way_is_released
    a_zombie_draws_and_says_nothing
    what_can_never_be_counted_is_refused_before_it_is_drawn
    a_panicking_mechanism_ends_the_gate_and_releases_nothing
    a_halted_gate_seals_nothing_that_comes_after
    the_budget_at_the_start_is_that_of_rows_that_have_left
    a_release_states_the_balance_of_its_account
    positions_are_reported_once_they_are_written
}

fn a_window_is_drawn_once_however_often_it_is_asked_for(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    handle.submit(request(0, &draws)).unwrap();
    let first = row(&handle);
    handle.delivered(&first);
    drop((gate, handle));

    let (gate, handle) = open(&scratch);
    handle.submit(request(0, &draws)).unwrap();
    let second = row(&handle);
    assert_eq!((first.line(), first.sequence()), (second.line(), second.sequence()));
    assert_eq!(draws.load(Ordering::Relaxed), 1);
    drop((gate, handle));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(COST).unwrap());
}

fn a_restart_delivers_again_what_was_not_delivered_and_nothing_else(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    (0..3).for_each(|window| handle.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..3).map(|_| row(&handle)).collect();
    handle.delivered(&rows[1]);
    drop((gate, handle));

    let (gate, handle) = open(&scratch);
    let again = [row(&handle), row(&handle)];
    assert_eq!([again[0].line(), again[1].line()], [rows[0].line(), rows[2].line()]);
    drop(gate);
    assert!(handle.wait().is_none(), "a third row was delivered");
    assert_eq!(draws.load(Ordering::Relaxed), 3);
}

fn at_most_once_is_marked_before_it_is_delivered(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let opening = opening(&scratch).delivery(Delivery::AtMostOnce);
    let open = || at_a_desk(opening.clone().open().unwrap());
    let (gate, handle) = open();
    handle.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&handle).status(), ReleaseStatus::Sealed);
    drop((gate, handle));
    // It is unknown if it left; it is not given out again, even on request.
    let (gate, handle) = open();
    handle.submit(request(0, &draws)).unwrap();
    // The requester is notified.
    assert!(matches!(handle.wait(), Some(GateEvent::Withheld(row)) if row.release() == &release(0)));
    drop(gate);
    assert!(handle.wait().is_none());
}

fn an_exhausted_budget_refuses_new_windows_and_still_answers_old_ones(at: ScratchPlace) {
    let scratch = scratch(at, 2);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    (0..3).for_each(|window| handle.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..3).map(|_| row(&handle)).collect();
    assert_eq!(
        rows.iter().map(Row::status).collect::<Vec<_>>(),
        [ReleaseStatus::Sealed, ReleaseStatus::Sealed, ReleaseStatus::Refused]
    );
    assert!(rows[2].line().contains("\"refused\":\"budget\",\"account\":\"visits\""), "{}", rows[2].line());
    rows.iter().for_each(|row| handle.delivered(row));
    drop((gate, handle));
    let (_gate, handle) = open(&scratch);
    handle.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&handle).line(), rows[0].line());
}

fn requests_that_wait_share_a_commit_and_keep_their_order(at: ScratchPlace) {
    let scratch = scratch(at, 1_000);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    (0..1_000).for_each(|window| handle.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..1_000).map(|_| row(&handle)).collect();
    assert!(rows.iter().zip(0..).all(|(row, window)| row.release().window.start() == window));
    drop((gate, handle));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(1_000.0 * COST).unwrap());
}

fn a_missed_window_is_skipped_for_good_at_no_cost(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    handle.skip(release(0), SkipReason::Late);
    let skipped = row(&handle);
    assert_eq!(skipped.status(), ReleaseStatus::Skipped);
    assert!(skipped.line().ends_with("\"skipped\":true,\"why\":\"late\"}"), "{}", skipped.line());
    handle.delivered(&skipped);
    handle.skip(release(1), SkipReason::InputGap);
    let gap = row(&handle);
    assert!(gap.line().ends_with("\"skipped\":true,\"why\":\"input gap\"}"), "{}", gap.line());
    assert_eq!((gap.status(), gap.cost()), (ReleaseStatus::Skipped, None));
    handle.delivered(&gap);
    handle.submit(request(0, &draws)).unwrap();
    // Requested while it is in progress or after it, it stays skipped.
    drop(gate);
    while let Some(event) = handle.wait() {
        assert!(matches!(event, GateEvent::Row(row, _) if row.status() == ReleaseStatus::Skipped));
    }
    assert_eq!(draws.load(Ordering::Relaxed), 0);
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().releases(&name_of("visits")).unwrap().0, 0);
}

fn a_window_that_is_missed_while_it_is_on_its_way_is_released(at: ScratchPlace) {
    let scratch = scratch(at, 1_000);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    // Both messages about a window reach the thread together, while it is busy with the windows before.
    for window in 0..500 {
        handle.submit(request(window, &draws)).unwrap();
        handle.skip(release(window), SkipReason::Late);
    }
    assert!((0..500).map(|_| row(&handle)).all(|row| row.status() == ReleaseStatus::Sealed));
    drop(gate);
    assert_eq!(draws.load(Ordering::Relaxed), 500);
}

fn a_zombie_draws_and_says_nothing(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (zombie, old) = open(&scratch);
    scratch.unlock("web");
    let (successor, handle) = open(&scratch);
    old.submit(request(0, &draws)).unwrap();
    assert!(matches!(old.wait().unwrap(), GateEvent::Halted(HaltReason::Fenced)));
    assert!(old.wait().is_none(), "a halted gate said more");
    handle.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&handle).status(), ReleaseStatus::Sealed);
    drop((zombie, successor));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(COST).unwrap());
}

fn what_can_never_be_counted_is_refused_before_it_is_drawn(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    let mut elsewhere = request(0, &draws);
    elsewhere.release.account = name_of("visit");
    assert!(handle.submit(elsewhere).unwrap_err().to_string().contains("account visit"));
    let records = Adjacency { unit: crate::accounting::PrivacyUnit::Record, ..Adjacency::PERSON };
    let mut other = request(0, &draws);
    other.charge = Charge::Cost(ReleaseCost::new(records, PrivacyCost::zcdp(COST).unwrap()));
    assert!(handle.submit(other).unwrap_err().to_string().contains("unit"));
    drop(gate);
    assert_eq!(draws.load(Ordering::Relaxed), 0);
}

fn a_panicking_mechanism_ends_the_gate_and_releases_nothing(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    let panicking = ReleaseRequest {
        sealable: Box::new(|_: &mut NoiseSource| -> String { panic!("a mechanism that panics, on purpose") }),
        ..request(0, &draws)
    };
    handle.submit(panicking).unwrap();
    assert!(handle.wait().is_none());
    handle.submit(request(1, &draws)).unwrap();
    drop(gate);
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().head().unwrap().0, 1, "something was written");
}

fn a_halted_gate_seals_nothing_that_comes_after(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    gate.halt();
    handle.submit(request(0, &draws)).unwrap();
    assert!(matches!(handle.wait(), Some(GateEvent::Halted(HaltReason::Incomplete))));
    drop(gate);
    assert!(matches!(handle.hear(), Some(GateEvent::Halted(HaltReason::Ended))));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(COST).unwrap().nothing());
}

// Refutes a source that lets go of what a restart still needs, and a run that is killed before its first row and
// leaves no positions.
fn positions_are_reported_once_they_are_written(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    let update = |at: u8, (replaces, is_urgent)| {
        let changed = vec![(0, "a.log".to_owned(), Some(vec![at]))];
        let reading = InputReading::default();
        let releases = BTreeSet::new();
        ResumeUpdate { input: 0, replaces, since: 5, reading, releases, parts: 1, changed, is_urgent }
    };
    let written = Arc::new(AtomicU32::new(0));
    let keep = |number, kind| {
        let written = Arc::clone(&written);
        handle.keep_positions(
            update(number, kind),
            Box::new(move || _ = written.fetch_add(1, Ordering::SeqCst)),
        );
    };
    let position =
        || handle.resume_positions(0).unwrap().and_then(|held| held.parts[0].get("a.log").cloned());
    assert_eq!(position(), None);
    keep(1, (true, false));
    assert_eq!(position(), Some(vec![1]), "the first are written at once");
    assert_eq!(written.load(Ordering::SeqCst), 1);
    keep(2, (false, false));
    assert_eq!(position(), Some(vec![1]));
    assert_eq!(written.load(Ordering::SeqCst), 1, "no row was written since");
    handle.submit(request(0, &draws)).unwrap();
    row(&handle);
    assert_eq!(written.load(Ordering::SeqCst), 2);
    assert_eq!(position(), Some(vec![2]));
    keep(3, (false, true));
    assert_eq!(position(), Some(vec![3]), "a new partition is written at once");
    keep(4, (false, false));
    drop((gate, handle));
    assert_eq!(written.load(Ordering::SeqCst), 3);
}

fn a_release_states_the_balance_of_its_account(at: ScratchPlace) {
    let scratch = scratch(at, 2);
    let draws = Arc::default();
    let (_gate, handle) = open(&scratch);
    for (window, spent) in [(0, 1.0), (1, 2.0), (2, 2.0)] {
        handle.submit(request(window, &draws)).unwrap();
        let Some(GateEvent::Row(row, budget_status)) = handle.wait() else { panic!() };
        assert_eq!(budget_status.window, row.release().window);
        assert_eq!(budget_status.spent, PrivacyCost::zcdp(spent * COST).unwrap());
        assert_eq!(budget_status.cap, PrivacyCost::zcdp(2.0 * COST).unwrap());
        // Windows of one microsecond, side by side: two fit.
        let left = 2 - spent as u64;
        assert_eq!(
            (budget_status.forecast.windows(), left > 0),
            (left, budget_status.forecast.last_closes().is_some())
        );
    }
}

// Refutes a budget that is unknown after a restart, and one that says what a row costs before its lines leave.
fn the_budget_at_the_start_is_that_of_rows_that_have_left(at: ScratchPlace) {
    let scratch = scratch(at, 3);
    let (draws, visits) = (Arc::default(), name_of("visits"));
    let (gate, handle) = open(&scratch);
    assert!(gate.budget_at_start(&visits).is_none(), "nothing was released");
    (0..2).for_each(|window| handle.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..2).map(|_| row(&handle)).collect();
    handle.delivered(&rows[0]);
    drop((gate, handle));
    let (gate, handle) = open(&scratch);
    assert!(gate.budget_at_start(&visits).is_none(), "a row waits");
    handle.delivered(&row(&handle));
    drop((gate, handle));
    let (gate, _handle) = open(&scratch);
    let status = gate.budget_at_start(&visits).unwrap();
    assert_eq!(status.spent, PrivacyCost::zcdp(2.0 * COST).unwrap());
    assert_eq!(status.cap, PrivacyCost::zcdp(3.0 * COST).unwrap());
    assert_eq!((status.window, status.forecast.windows()), (release(1).window, 1));
}
