//! Notes beside a state: written with their release, or not at all.

use super::*;

everywhere! {
    a_state_follows_the_newest_and_a_full_copy_takes_the_place_of_all_before
    a_note_is_written_with_its_release_or_not_at_all
    notes_are_exported_in_their_places
}

fn kept(version: i64, place: i64, since: i64) -> Option<State> {
    let note = Note { place, since, held: format!("note {place}").into_bytes() };
    Some(State { version, former: None, held: b"what is kept".to_vec(), note: Some(note) })
}

fn places(ledger: &mut Ledger) -> Vec<i64> {
    let notes = ledger.notes(&name("web"), &name("by_path")).unwrap();
    assert!(notes.iter().all(|(place, held)| *held == format!("note {place}").into_bytes()));
    notes.into_iter().map(|(place, _)| place).collect()
}

/// Refutes a note of a refused release, a note that overwrites another, and one that stays after its state
/// was given up.
fn a_note_is_written_with_its_release_or_not_at_all(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 4);
    let claim = ledger.claim(&name("web")).unwrap();
    let mut seal = |window: i64, state| {
        let sealing = Sealing { state, ..sealing("web", (window, window + 10), 1, "line") };
        ledger.seal(&claim, &[sealing]).map(|rows| (rows[0].status(), places(&mut ledger)))
    };
    assert_eq!(seal(0, kept(1, 0, 0)).unwrap(), (ReleaseStatus::Sealed, vec![0]));
    assert_eq!(seal(10, kept(2, 1, 0)).unwrap(), (ReleaseStatus::Sealed, vec![0, 1]));
    assert_eq!(seal(20, kept(3, 2, 2)).unwrap(), (ReleaseStatus::Sealed, vec![2]));
    assert!(seal(30, kept(4, 2, 2)).is_err(), "a place was used twice");
    assert_eq!(seal(40, kept(4, 3, 2)).unwrap(), (ReleaseStatus::Sealed, vec![2, 3]));
    assert_eq!(
        seal(50, kept(5, 4, 2)).unwrap(),
        (ReleaseStatus::Refused, vec![2, 3]),
        "the budget was spent"
    );
    assert!(ledger.notes(&name("web"), &name("other")).unwrap().is_empty());
}

/// Refutes a change that follows another state than the newest, changes that outlive the full copy after
/// them, and a full copy that goes before it is replaced.
fn a_state_follows_the_newest_and_a_full_copy_takes_the_place_of_all_before(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 9);
    let claim = ledger.claim(&name("web")).unwrap();
    let state = |version, former: Option<&State>| {
        let former = former.map(State::digest);
        State { version, former, held: format!("state {version}").into_bytes(), note: None }
    };
    let (whole, other) = (state(1, None), state(1, Some(&state(7, None))));
    let change = state(2, Some(&whole));
    let (next, again) = (state(3, Some(&change)), state(3, None));
    let refused = |state: &State| (state.clone(), None);
    let steps = [
        refused(&other),
        refused(&state(2, None)),
        (whole.clone(), Some(vec![whole.clone()])),
        refused(&whole),
        refused(&state(3, Some(&whole))),
        refused(&state(2, Some(&state(1, Some(&whole))))),
        (change.clone(), Some(vec![whole.clone(), change.clone()])),
        refused(&state(3, Some(&whole))),
        (next.clone(), Some(vec![whole.clone(), change.clone(), next.clone()])),
        refused(&again),
        (state(4, None), Some(vec![state(4, None)])),
        (state(5, Some(&state(4, None))), Some(vec![state(4, None), state(5, Some(&state(4, None)))])),
    ];
    let mut kept = Vec::new();
    for (window, (state, expected)) in (0..).zip(steps) {
        let newest = state.clone();
        let sealing =
            Sealing { state: Some(state), ..sealing("web", (10 * window, 10 * window + 10), 1, "line") };
        assert_eq!(ledger.seal(&claim, &[sealing]).is_ok(), expected.is_some(), "step {window}");
        if let Some(expected) = expected {
            kept = expected;
            let found = ledger.newest_state(&name("web"), &name("by_path")).unwrap();
            assert_eq!(found, Some((newest.version, newest.digest())));
        }
        assert_eq!(ledger.states(&name("web"), &name("by_path")).unwrap(), kept);
        ledger.verify().unwrap();
    }
    let copy = scratch.directory().join("copy.ledger");
    ledger.export(&copy).unwrap();
    assert_eq!(Ledger::open(&copy).unwrap().states(&name("web"), &name("by_path")).unwrap(), kept);
}

/// Refutes a copy that lacks notes, and one that has them in other places.
fn notes_are_exported_in_their_places(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 9);
    let claim = ledger.claim(&name("web")).unwrap();
    for (window, place) in [(0, 5), (10, 6)] {
        let sealing = sealing("web", (window, window + 10), 1, "line");
        ledger.seal(&claim, &[Sealing { state: kept(place - 4, place, 5), ..sealing }]).unwrap();
    }
    let copy = scratch.directory().join("copy.ledger");
    ledger.export(&copy).unwrap();
    assert_eq!(places(&mut Ledger::open(&copy).unwrap()), [5, 6]);
}
