//! The real thread over a real ledger: what is told, what is charged, and what a restart says.

mod again;
mod answers;
mod lines;
mod versions;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::*;
use crate::accounting::{Amount, Cost, Interval, Neighbours, Promise};
use crate::ledger::scratch::{At, Scratch, everywhere};
use crate::ledger::{
    Anchor, Charge, Digest, Domain, Fate, Journal, Ledger, Name, Release, Row, Trouble, TroubleKind,
};
use crate::noise::{DiscreteLaplace, Law, Noise};

/// A power of two, so that sums of costs are exact.
const COST: f64 = 1.0 / 1024.0;

/// A ledger of one domain, for so many windows.
fn scratch(at: At, windows: u32) -> Scratch {
    let scratch = at.scratch();
    let mut ledger = Ledger::create(scratch.ledger()).unwrap();
    let cap = Amount::zcdp(f64::from(windows) * COST).unwrap();
    let domain = Domain::new(name_of("visits"), Neighbours::PERSON, Promise::Lifetime, cap).unwrap();
    ledger.register(&domain).unwrap();
    scratch
}

fn opening(scratch: &Scratch) -> Opening {
    Opening::new(scratch.ledger(), "web").unwrap().key(scratch.key())
}

fn open(scratch: &Scratch) -> (Gate, Desk) {
    at_a_desk(opening(scratch).open().unwrap())
}

fn spent(scratch: &Scratch) -> Amount {
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    ledger.spent(&name_of("visits"), Interval::new(0, 1).unwrap()).unwrap().0
}

fn at_a_desk(gate: Gate) -> (Gate, Desk) {
    let desk = gate.desk(&name_of("by_path"), &parameters(), || ()).unwrap();
    (gate, desk)
}

fn parameters() -> Digest {
    Digest::of(b"version 1")
}

fn name_of(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

fn release(window: i64) -> Release {
    Release {
        domain: name_of("visits"),
        job: name_of("web"),
        version: parameters(),
        name: name_of("by_path"),
        window: Interval::new(window, window + 1).unwrap(),
        part: None,
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

fn row(desk: &Desk) -> Row {
    match desk.wait().unwrap() {
        Told::Row(row, _) => *row,
        other => panic!("{other:?}"),
    }
}

everywhere! {
    a_window_is_drawn_once_however_often_it_is_asked_for
    what_was_not_delivered_is_told_again_after_a_restart_and_what_was_is_not
    at_most_once_is_marked_before_it_is_told
    an_exhausted_budget_refuses_new_windows_and_still_answers_old_ones
    requests_that_wait_share_a_commit_and_keep_their_order
    a_missed_window_is_skipped_for_good_at_no_cost
    a_window_that_is_missed_while_it_is_on_its_way_is_released
    a_zombie_draws_and_says_nothing
    what_can_never_be_counted_is_refused_before_it_is_drawn
    a_panicking_mechanism_ends_the_gate_and_releases_nothing
    what_a_mechanism_keeps_is_sealed_with_its_release_and_survives_a_restart
    a_state_that_cannot_be_read_stops_the_gate_before_it_draws
    a_halted_gate_seals_nothing_that_comes_after
    what_is_told_says_how_the_budget_stands
}

fn a_window_is_drawn_once_however_often_it_is_asked_for(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    desk.submit(request(0, &draws)).unwrap();
    let first = row(&desk);
    desk.delivered(&first);
    drop((gate, desk));

    let (gate, desk) = open(&scratch);
    desk.submit(request(0, &draws)).unwrap();
    let second = row(&desk);
    assert_eq!((first.line(), first.sequence()), (second.line(), second.sequence()));
    assert_eq!(draws.load(Ordering::Relaxed), 1);
    drop((gate, desk));
    assert_eq!(spent(&scratch), Amount::zcdp(COST).unwrap());
}

fn what_was_not_delivered_is_told_again_after_a_restart_and_what_was_is_not(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    (0..3).for_each(|window| desk.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..3).map(|_| row(&desk)).collect();
    desk.delivered(&rows[1]);
    drop((gate, desk));

    let (gate, desk) = open(&scratch);
    let again = [row(&desk), row(&desk)];
    assert_eq!([again[0].line(), again[1].line()], [rows[0].line(), rows[2].line()]);
    drop(gate);
    assert!(desk.wait().is_none(), "a third row was told");
    assert_eq!(draws.load(Ordering::Relaxed), 3);
}

fn at_most_once_is_marked_before_it_is_told(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let opening = opening(&scratch).delivery(Delivery::AtMostOnce);
    let open = || at_a_desk(opening.clone().open().unwrap());
    let (gate, desk) = open();
    desk.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&desk).fate(), Fate::Sealed);
    drop((gate, desk));
    // Whether it left is not known; it is not told again, even on request.
    let (gate, desk) = open();
    desk.submit(request(0, &draws)).unwrap();
    // Whoever asks is told so.
    assert!(matches!(desk.wait(), Some(Told::Withheld(row)) if row.release() == &release(0)));
    drop(gate);
    assert!(desk.wait().is_none());
}

fn an_exhausted_budget_refuses_new_windows_and_still_answers_old_ones(at: At) {
    let scratch = scratch(at, 2);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    (0..3).for_each(|window| desk.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..3).map(|_| row(&desk)).collect();
    assert_eq!(rows.iter().map(Row::fate).collect::<Vec<_>>(), [Fate::Sealed, Fate::Sealed, Fate::Refused]);
    assert!(rows[2].line().contains("\"refused\":\"budget\",\"domain\":\"visits\""), "{}", rows[2].line());
    rows.iter().for_each(|row| desk.delivered(row));
    drop((gate, desk));
    let (_gate, desk) = open(&scratch);
    desk.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&desk).line(), rows[0].line());
}

fn requests_that_wait_share_a_commit_and_keep_their_order(at: At) {
    let scratch = scratch(at, 1_000);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    (0..1_000).for_each(|window| desk.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..1_000).map(|_| row(&desk)).collect();
    assert!(rows.iter().zip(0..).all(|(row, window)| row.release().window.start() == window));
    drop((gate, desk));
    assert_eq!(spent(&scratch), Amount::zcdp(1_000.0 * COST).unwrap());
}

fn a_missed_window_is_skipped_for_good_at_no_cost(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    desk.miss(release(0));
    let skipped = row(&desk);
    assert_eq!(skipped.fate(), Fate::Skipped);
    assert!(skipped.line().ends_with("\"skipped\":true}"), "{}", skipped.line());
    desk.delivered(&skipped);
    desk.submit(request(0, &draws)).unwrap();
    // Asked for while it is on its way or after it, it stays skipped.
    drop(gate);
    while let Some(told) = desk.wait() {
        assert!(matches!(told, Told::Row(row, _) if row.fate() == Fate::Skipped));
    }
    assert_eq!(draws.load(Ordering::Relaxed), 0);
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().releases(&name_of("visits")).unwrap().0, 0);
}

fn a_window_that_is_missed_while_it_is_on_its_way_is_released(at: At) {
    let scratch = scratch(at, 1_000);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    // Both words about a window reach the thread together, while it is busy with the windows before.
    for window in 0..500 {
        desk.submit(request(window, &draws)).unwrap();
        desk.miss(release(window));
    }
    assert!((0..500).map(|_| row(&desk)).all(|row| row.fate() == Fate::Sealed));
    drop(gate);
    assert_eq!(draws.load(Ordering::Relaxed), 500);
}

fn a_zombie_draws_and_says_nothing(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (zombie, old) = open(&scratch);
    scratch.unlock("web");
    let (successor, desk) = open(&scratch);
    old.submit(request(0, &draws)).unwrap();
    assert!(matches!(old.wait().unwrap(), Told::Halted(Doubt::Fenced)));
    assert!(old.wait().is_none(), "a halted gate said more");
    desk.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&desk).fate(), Fate::Sealed);
    drop((zombie, successor));
    assert_eq!(spent(&scratch), Amount::zcdp(COST).unwrap());
}

fn what_can_never_be_counted_is_refused_before_it_is_drawn(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    let mut elsewhere = request(0, &draws);
    elsewhere.release.domain = name_of("visit");
    assert!(desk.submit(elsewhere).unwrap_err().to_string().contains("domain visit"));
    let records = Neighbours { unit: crate::accounting::Unit::Record, ..Neighbours::PERSON };
    let mut other = request(0, &draws);
    other.charge = Charge::Cost(Cost::new(records, Amount::zcdp(COST).unwrap()));
    assert!(desk.submit(other).unwrap_err().to_string().contains("unit"));
    drop(gate);
    assert_eq!(draws.load(Ordering::Relaxed), 0);
}

fn a_panicking_mechanism_ends_the_gate_and_releases_nothing(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    let panicking = Request {
        sealable: Box::new(|_: &mut Noise| -> String { panic!("a mechanism that panics, on purpose") }),
        ..request(0, &draws)
    };
    desk.submit(panicking).unwrap();
    assert!(desk.wait().is_none());
    desk.submit(request(1, &draws)).unwrap();
    drop(gate);
    assert_eq!(Ledger::open(scratch.ledger()).unwrap().head().unwrap().0, 1, "something was written");
}

/// A mechanism that remembers: each line is the sum of its own number and of all that were sealed before.
struct Total(i64);

impl Sealable for Total {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, _: &mut Noise) -> Drawn {
        let before = state.map_or(0, |state| i64::from_be_bytes(state.try_into().unwrap()));
        let total = before + self.0;
        Drawn { line: format!("{total}"), state: Some(total.to_be_bytes().to_vec()) }
    }
}

fn total(window: i64, number: i64) -> Request {
    let draws = Arc::default();
    Request { sealable: Box::new(Total(number)), ..request(window, &draws) }
}

fn what_a_mechanism_keeps_is_sealed_with_its_release_and_survives_a_restart(at: At) {
    // The budget refuses the fourth: what is not sealed is not kept either.
    let scratch = scratch(at, 3);
    let (gate, desk) = open(&scratch);
    // All together: they still take turns.
    for (window, number) in [(0, 1), (1, 20), (1, 7), (0, 5)] {
        desk.submit(total(window, number)).unwrap();
    }
    assert_eq!([row(&desk).line(), row(&desk).line()], ["1", "21"]);
    drop((gate, desk));
    let (gate, desk) = open(&scratch);
    (0..2).for_each(|_| desk.delivered(&row(&desk)));
    desk.submit(total(2, 300)).unwrap();
    assert_eq!(row(&desk).line(), "321");
    desk.submit(total(3, 4_000)).unwrap();
    assert_eq!(row(&desk).fate(), Fate::Refused);
    drop((gate, desk));
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert_eq!(ledger.state(&name_of("web"), &name_of("by_path")).unwrap().unwrap().version, 3);
}

/// Refutes: a request waits for one that asks for nothing, and is never sealed, not even when the gate is closed.
#[test]
fn a_request_behind_one_whose_row_is_leaving_already_takes_its_turn() {
    let scratch = scratch(At::File, 10);
    let (gate, desk) = open(&scratch);
    desk.submit(total(0, 1)).unwrap();
    row(&desk);
    drop((gate, desk));
    let opening = Opening::new(scratch.ledger(), "web").unwrap().delivery(Delivery::AtMostOnce);
    let (gate, desk) = at_a_desk(opening.open().unwrap());
    // Once it is told, it is neither delivered yet nor wanted again.
    let waiting = row(&desk);
    (0..3).for_each(|window| desk.submit(total(window, 20)).unwrap());
    drop(gate);
    assert_eq!([waiting.line(), row(&desk).line(), row(&desk).line()], ["1", "21", "41"]);
}

fn a_state_that_cannot_be_read_stops_the_gate_before_it_draws(at: At) {
    let scratch = scratch(at, 10);
    let (gate, desk) = open(&scratch);
    desk.submit(total(0, 1)).unwrap();
    row(&desk);
    drop((gate, desk));
    // The key of another ledger.
    let key = scratch.directory().join("other.key");
    crate::ledger::Key::create(&key).unwrap();
    let open = || opening(&scratch).key(&key).open().unwrap();
    let gate = open();
    let trouble = gate.desk(&name_of("by_path"), &parameters(), || ()).unwrap_err();
    assert_eq!(trouble.kind(), TroubleKind::Doubt);
    assert!(trouble.to_string().contains("by_path of job web"), "{trouble}");
    // The gate has halted, and says so.
    let trouble = gate.desk(&name_of("other"), &parameters(), || ()).unwrap_err();
    assert_eq!(trouble.to_string(), Doubt::Ledger.to_string());
    drop(gate);
    // Asked for without a desk of its own, it is noticed at the draw.
    let gate = open();
    let desk = gate.desk(&name_of("other"), &parameters(), || ()).unwrap();
    desk.submit(total(1, 1)).unwrap();
    assert!(matches!(desk.wait(), Some(Told::Halted(Doubt::Ledger))));
    drop(gate);
    assert_eq!(spent(&scratch), Amount::zcdp(COST).unwrap());
}

#[test]
fn an_older_copy_of_the_ledger_is_noticed_and_nothing_is_released_from_it() {
    let scratch = scratch(At::File, 10);
    let draws = Arc::default();
    let anchor = scratch.directory().join("anchor");
    let open = || Opening::new(scratch.ledger(), "web").unwrap().anchor(&anchor).open();
    let (gate, desk) = at_a_desk(open().unwrap());
    desk.submit(request(0, &draws)).unwrap();
    let first = row(&desk);
    drop((gate, desk));
    let (older, ledger) = (scratch.directory().join("older"), scratch.ledger());
    fs::copy(&ledger, &older).unwrap();

    // A torn last line of the anchor was never told.
    let mut torn = fs::OpenOptions::new().append(true).open(&anchor).unwrap();
    std::io::Write::write_all(&mut torn, b"3 12345").unwrap();
    let (gate, desk) = at_a_desk(open().unwrap());
    desk.delivered(&row(&desk));
    desk.submit(request(1, &draws)).unwrap();
    let second = row(&desk);
    drop((gate, desk));
    let noted = Journal::read(&anchor).unwrap();
    let noted: Vec<_> = noted.iter().map(|entry| (entry.anchor.sequence, entry.cost.clone())).collect();
    assert_eq!(noted, [&first, &second].map(|row| (row.sequence(), row.cost().cloned())));

    fs::copy(&older, &ledger).unwrap();
    let trouble = open().unwrap_err();
    assert_eq!(trouble.kind(), TroubleKind::Doubt, "{trouble}");
    assert!(trouble.to_string().contains("older copy"), "{trouble}");
    // What a sink has seen tells as much as the file does; what it has seen of this copy tells nothing.
    let seen = |row: &Row| Anchor {
        ledger: *Ledger::open(&ledger).unwrap().name(),
        sequence: row.sequence(),
        chain: *row.chain(),
    };
    let opening = Opening::new(&ledger, "web").unwrap();
    assert!(opening.clone().seen(seen(&second)).open().is_err());
    drop(opening.clone().seen(seen(&first)).open().unwrap());
    let other = Anchor { chain: *second.chain(), ..seen(&first) };
    assert!(opening.clone().seen(other).open().is_err());
    assert!(opening.seen(Anchor { ledger: Digest::of(b"other"), ..seen(&first) }).open().is_err());
}

/// A process that was suspended and goes on after its successor is done must not take from the anchor what that one
/// wrote: a copy from before would pass for the newest.
#[test]
fn an_anchor_forgets_nothing_when_two_processes_write_it() {
    let scratch = scratch(At::File, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    (0..6).for_each(|window| desk.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..6).map(|_| row(&desk)).collect();
    drop((gate, desk));

    let (anchor, ledger) = (scratch.directory().join("anchor"), Digest::of(b"ledger"));
    let open = || Journal::open(&anchor, &ledger).unwrap();
    let (mut suspended, _) = open();
    suspended.note(rows[..2].iter()).unwrap();
    let (mut successor, newest) = open();
    assert_eq!(newest.unwrap().sequence, rows[1].sequence());
    successor.note(rows[2..].iter()).unwrap();
    suspended.note(rows[3..4].iter()).unwrap();
    assert_eq!(open().1.unwrap().sequence, rows[5].sequence());
    let noted = Journal::read(&anchor).unwrap();
    let noted: Vec<i64> = noted.iter().map(|entry| entry.anchor.sequence).collect();
    assert_eq!(noted, rows.iter().map(Row::sequence).collect::<Vec<_>>());

    // Told late, because its statistic had to wait.
    fs::remove_file(&anchor).unwrap();
    let (mut alone, _) = open();
    alone.note(rows[2..].iter()).unwrap();
    alone.note(rows[..3].iter()).unwrap();
    assert_eq!(Journal::read(&anchor).unwrap().len(), 6);
    assert_eq!(fs::read_to_string(&anchor).unwrap().lines().count(), 7, "a row was noted twice");
}

fn a_halted_gate_seals_nothing_that_comes_after(at: At) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let (gate, desk) = open(&scratch);
    gate.halt();
    desk.submit(request(0, &draws)).unwrap();
    assert!(matches!(desk.wait(), Some(Told::Halted(Doubt::Incomplete))));
    drop(gate);
    assert!(matches!(desk.hear(), Some(Told::Halted(Doubt::Ended))));
    assert_eq!(spent(&scratch), Amount::zcdp(COST).unwrap().nothing());
}

fn what_is_told_says_how_the_budget_stands(at: At) {
    let scratch = scratch(at, 2);
    let draws = Arc::default();
    let (_gate, desk) = open(&scratch);
    for (window, spent) in [(0, 1.0), (1, 2.0), (2, 2.0)] {
        desk.submit(request(window, &draws)).unwrap();
        let Some(Told::Row(row, standing)) = desk.wait() else { panic!() };
        assert_eq!(standing.window, row.release().window);
        assert_eq!(standing.spent, Amount::zcdp(spent * COST).unwrap());
        assert_eq!(standing.cap, Amount::zcdp(2.0 * COST).unwrap());
        // Windows of one microsecond, side by side: two fit.
        let left = 2 - spent as u64;
        assert_eq!(
            (standing.forecast.windows(), left > 0),
            (left, standing.forecast.last_closes().is_some())
        );
    }
}
