//! A handle opens with the state of its statistic, or returns the reason why not; and no call hangs.

use std::collections::BTreeSet;

use super::memory::total;
use super::*;
use crate::gate::positions::{InputReading, ResumeUpdate};

everywhere! {
    a_version_with_other_parameters_gets_no_desk_and_the_others_go_on
    a_version_is_bound_by_the_first_that_the_ledger_keeps_of_it
    a_statistic_with_a_version_of_its_own_leaves_the_others_alone
    a_desk_opens_with_what_was_kept_in_whichever_version
    a_new_sink_receives_every_row_of_its_version_and_draws_nothing
    a_window_before_what_is_settled_in_its_version_is_skipped
    what_was_skipped_settles_nothing_before_it
    a_zombie_gets_no_desk
    a_gate_that_has_ended_refuses_desks_and_says_why
}

pub(super) fn handle(gate: &Gate, name: &str, parameters: &[u8]) -> Result<GateHandle, LedgerError> {
    gate.handle(&name_of(name), &Digest::of(parameters), || ())
}

fn a_version_with_other_parameters_gets_no_desk_and_the_others_go_on(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let gate = opening(&scratch).open().unwrap();
    assert_eq!(gate.version(), 1);
    let by_path = handle(&gate, "by_path", b"first").unwrap();
    let trouble = handle(&gate, "by_path", b"second").unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Refused, "{trouble}");
    assert!(trouble.to_string().contains("job web has opened by_path in version 1"), "{trouble}");
    // The refusal affects neither the gate nor the first handle.
    by_path.submit(request(0, &draws)).unwrap();
    assert_eq!(row(&by_path).status(), ReleaseStatus::Sealed);
    drop((by_path, gate));

    let gate = opening(&scratch).version(2).open().unwrap();
    assert_eq!(gate.version(), 2);
    // Events of a statistic without a handle are not lost to the one that is refused.
    handle(&gate, "other", b"first").unwrap();
    assert!(handle(&gate, "other", b"second").is_err());
    let by_path = handle(&gate, "by_path", b"second").unwrap();
    assert_eq!(row(&by_path).release(), &release(0));
    drop((by_path, gate));
    assert!(handle(&opening(&scratch).open().unwrap(), "by_path", b"second").is_err());
}

/// Refutes a version that a run binds of which the ledger keeps nothing, and one that its first row, its first tombstone or
/// the first resume positions of its job leave unbound.
fn a_version_is_bound_by_the_first_that_the_ledger_keeps_of_it(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let update = || ResumeUpdate {
        input: 0,
        replaces: true,
        since: 0,
        reading: InputReading::default(),
        releases: BTreeSet::new(),
        parts: 1,
        changed: vec![(0, "a.log".to_owned(), Some(b"at 7".to_vec()))],
        is_urgent: true,
    };
    let keeps: [&dyn Fn(&GateHandle); 3] = [
        &|handle| {
            handle.submit(request(0, &Arc::default())).unwrap();
            let row = row(handle);
            assert_eq!(row.status(), ReleaseStatus::Sealed);
            handle.delivered(&row);
        },
        &|handle| {
            handle.skip(release(1), SkipReason::Late);
            let row = row(handle);
            assert_eq!(row.status(), ReleaseStatus::Skipped);
            handle.delivered(&row);
        },
        &|handle| {
            let (sender, written) = std::sync::mpsc::channel();
            handle.keep_positions(update(), Box::new(move || sender.send(()).unwrap()));
            written.recv().unwrap();
        },
    ];
    for (version, keep) in (1..).zip(keeps) {
        let open = |parameters: &[u8]| {
            let gate = opening(&scratch).version(version).open().unwrap();
            let handle = handle(&gate, "by_path", parameters);
            (gate, handle)
        };
        for parameters in [b"first", b"other"] {
            assert!(open(parameters).1.is_ok(), "version {version}");
        }
        let (gate, handle) = open(b"third");
        keep(&handle.unwrap());
        drop(gate);
        assert!(open(b"other").1.is_err(), "version {version}");
        assert!(open(b"third").1.is_ok(), "version {version}");
    }
}

/// Refutes a statistic that is compared with the terms of the job's version, or keeps its state there, while
/// it has a version of its own; and one whose new version touches another statistic.
fn a_statistic_with_a_version_of_its_own_leaves_the_others_alone(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let open = |gate: &Gate, version, name: &str, terms: &[u8]| {
        gate.handle_in_version(version, &name_of(name), &Digest::of(terms), || ())
    };
    // Both keep a total.
    let summed = |name: &str, window, version, number, terms: &[u8]| {
        let mut request = total(window, number);
        request.release.name = name_of(name);
        request.release.version = Digest::of_version(version, &Digest::of(terms));
        request
    };
    let gate = opening(&scratch).version(5).open().unwrap();
    for (name, number) in [("by_path", 1), ("by_hour", 10)] {
        let handle = open(&gate, 5, name, b"first").unwrap();
        handle.submit(summed(name, 0, 5, number, b"first")).unwrap();
        handle.delivered(&row(&handle));
    }
    assert!(open(&gate, 5, "by_path", b"second").is_err());
    drop(gate);

    let gate = opening(&scratch).version(5).open().unwrap();
    let mut changed = open(&gate, 6, "by_path", b"second").unwrap();
    assert!(changed.take_memory().unwrap().is_foreign, "another version has kept it");
    changed.submit(summed("by_path", 1, 6, 2, b"second")).unwrap();
    changed.delivered(&row(&changed));
    let mut other = handle(&gate, "by_hour", b"first").unwrap();
    assert!(!other.take_memory().unwrap().is_foreign, "its version is as it was");
    other.submit(summed("by_hour", 1, 5, 20, b"first")).unwrap();
    assert_eq!(row(&other).line(), "30");
    drop(gate);

    // A later version of the job, while the other states the one that it has.
    let gate = opening(&scratch).version(7).open().unwrap();
    assert!(!open(&gate, 5, "by_hour", b"first").unwrap().take_memory().unwrap().is_foreign);
    assert!(handle(&gate, "by_hour", b"third").is_ok(), "a version that it never had");
    // The former version of the changed one is gone with its state.
    let refused = open(&gate, 5, "by_path", b"first").unwrap_err().to_string();
    assert!(refused.contains("version 5 of by_path of job web was replaced by version 6"), "{refused}");
    assert!(refused.contains("`version = 7` in its [[release]] or [[ask]]"), "{refused}");
}

/// Returns the release of a window under the name that this version gives it.
fn versioned(window: i64, version: u32) -> ReleaseId {
    ReleaseId { version: Digest::of_version(version, &Digest::of(b"same")), ..release(window) }
}

fn a_new_sink_receives_every_row_of_its_version_and_draws_nothing(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let draws = Arc::default();
    let mut lines = Vec::new();
    for (version, windows) in [(1, 0..1), (2, 1..4)] {
        let gate = opening(&scratch).version(version).open().unwrap();
        let handle = handle(&gate, "by_path", b"same").unwrap();
        for window in windows {
            handle
                .submit(ReleaseRequest { release: versioned(window, version), ..request(window, &draws) })
                .unwrap();
            let row = row(&handle);
            lines.push(row.line().to_owned());
            // The delivery of the last one stays unconfirmed.
            if window < 3 {
                handle.delivered(&row);
            }
        }
    }
    let gate = opening(&scratch).version(2).releasing_again().open().unwrap();
    let again = handle(&gate, "by_path", b"same").unwrap();
    let event: Vec<String> = (1..4).map(|_| row(&again).line().to_owned()).collect();
    assert_eq!(event, lines[1..], "in the order in which they were sealed, without the version before");
    drop(gate);
    assert!(again.wait().is_none(), "more was delivered than there is");
    // Without `releasing_again`, only the row whose delivery is unconfirmed.
    let gate = opening(&scratch).version(2).open().unwrap();
    let handle = handle(&gate, "by_path", b"same").unwrap();
    assert_eq!(row(&handle).line(), lines[3]);
    drop(gate);
    assert!(handle.wait().is_none());
    assert_eq!(draws.load(Ordering::Relaxed), 4);
}

fn a_desk_opens_with_what_was_kept_in_whichever_version(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let (gate, mut first) = open(&scratch);
    assert!(first.take_memory().is_none(), "nothing was kept yet");
    for (window, number) in [(0, 1), (1, 20)] {
        first.submit(total(window, number)).unwrap();
        first.delivered(&row(&first));
    }
    // The state as it was when the handle was opened.
    assert!(first.take_memory().is_none());
    drop((gate, first));
    let gate = opening(&scratch).version(2).open().unwrap();
    let mut second = handle(&gate, "by_path", b"second").unwrap();
    assert!(!format!("{second:?}").contains("state"), "a secret is printed");
    assert_eq!(second.take_memory().unwrap().state[..], 21i64.to_be_bytes()[..]);
    assert!(second.take_memory().is_none(), "a secret was given twice");
    assert!(handle(&gate, "by_hour", b"second").unwrap().take_memory().is_none());
    second.submit(total(2, 300)).unwrap();
    assert_eq!(row(&second).line(), "321");
}

/// Refutes a draw for a window that no state was ever ahead of: one without a row, at or before one that has
/// its row.
fn a_window_before_what_is_settled_in_its_version_is_skipped(at: ScratchPlace) {
    let scratch = scratch(at, 3);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    let status = |handle: &GateHandle, request: ReleaseRequest| {
        let id = request.release.id();
        handle.submit(request).unwrap();
        let row = row(handle);
        assert_eq!(row.release().id(), id);
        handle.delivered(&row);
        (row.status(), row.cost().is_some())
    };
    assert_eq!(status(&handle, request(5, &draws)), (ReleaseStatus::Sealed, true));
    assert_eq!(status(&handle, request(3, &draws)), (ReleaseStatus::Skipped, false));
    // Another that ends with it is at the frontier, too.
    let mut longer = request(3, &draws);
    longer.release.window = Interval::new(2, 6).unwrap();
    assert_eq!(status(&handle, longer), (ReleaseStatus::Skipped, false));
    drop((gate, handle));

    let (gate, handle) = open(&scratch);
    assert_eq!(status(&handle, request(4, &draws)), (ReleaseStatus::Skipped, false), "after a restart");
    assert_eq!(status(&handle, request(5, &draws)), (ReleaseStatus::Sealed, true), "it has its row");
    assert_eq!(status(&handle, request(6, &draws)), (ReleaseStatus::Sealed, true));
    assert_eq!(draws.load(Ordering::Relaxed), 2);
    // A refusal settles the windows before it as well.
    let dear = |window| {
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(100.0).unwrap());
        ReleaseRequest { charge: Charge::Cost(cost), ..request(window, &draws) }
    };
    assert_eq!(status(&handle, dear(9)).0, ReleaseStatus::Refused);
    assert_eq!(status(&handle, request(8, &draws)).0, ReleaseStatus::Skipped);
    // Another version, another statistic and one of several answers have nothing settled.
    let other = ReleaseRequest { release: versioned(3, 2), ..request(3, &draws) };
    assert_eq!(status(&handle, other), (ReleaseStatus::Sealed, true));
    let mut part = request(3, &draws);
    part.release.part = Some(Digest::of(b"an answer"));
    assert_eq!(status(&handle, part).0, ReleaseStatus::Refused, "there is no budget left, and it was drawn");
    drop((gate, handle));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(3.0 * COST).unwrap());
}

/// Windows after the last one are skipped while those before it wait for their turn, and a process may end in
/// between.
fn what_was_skipped_settles_nothing_before_it(at: ScratchPlace) {
    let scratch = scratch(at, 3);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    handle.skip(release(7), SkipReason::Late);
    assert_eq!(row(&handle).status(), ReleaseStatus::Skipped);
    drop((gate, handle));
    let (_gate, handle) = open(&scratch);
    assert_eq!(row(&handle).status(), ReleaseStatus::Skipped, "it was not delivered");
    handle.submit(request(3, &draws)).unwrap();
    assert_eq!(row(&handle).status(), ReleaseStatus::Sealed);
}

fn a_zombie_gets_no_desk(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let zombie = opening(&scratch).open().unwrap();
    scratch.unlock("web");
    let successor = opening(&scratch).open().unwrap();
    for name in ["by_path", "by_hour"] {
        let trouble = handle(&zombie, name, b"the zombie's").unwrap_err();
        assert_eq!(trouble.kind(), LedgerErrorKind::Fenced, "{trouble}");
    }
    handle(&successor, "by_path", b"the successor's").unwrap();
}

fn a_gate_that_has_ended_refuses_desks_and_says_why(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let (gate, _desk) = open(&scratch);
    gate.halt();
    // While the thread ends, and after it.
    for _ in 0..100 {
        let trouble = handle(&gate, "by_hour", b"first").unwrap_err();
        assert_eq!(trouble.to_string(), HaltReason::Incomplete.to_string());
    }
    drop(gate);

    let (gate, by_path) = open(&scratch);
    let sealable =
        Box::new(|_: &mut NoiseSource| -> String { panic!("a mechanism that panics, on purpose") });
    by_path.submit(ReleaseRequest { sealable, ..request(0, &Arc::default()) }).unwrap();
    assert!(by_path.wait().is_none());
    for _ in 0..100 {
        let trouble = handle(&gate, "by_hour", b"first").unwrap_err();
        assert_eq!(trouble.to_string(), HaltReason::Ended.to_string());
    }
}

#[test]
fn a_desk_elsewhere_waits_for_nobody_and_hears_nothing() {
    let scratch = scratch(ScratchPlace::File, 10);
    let gate = Gate::elsewhere("web", scratch.key()).unwrap();
    assert_eq!((gate.version(), gate.is_elsewhere()), (1, true));
    let gate = gate.with_version(3);
    assert_eq!(gate.version(), 3);
    let mut handle = handle(&gate, "by_path", b"first").unwrap();
    assert!(handle.take_memory().is_none());
    assert!(handle.wait().is_none());
    assert!(gate.account(None, crate::accounting::PrivacyUnit::Person).is_err());
}

#[test]
fn a_gate_knows_the_budgets_of_its_ledger() {
    let scratch = scratch(ScratchPlace::File, 10);
    let gate = opening(&scratch).open().unwrap();
    let account = gate.account(None, crate::accounting::PrivacyUnit::Person).unwrap();
    assert_eq!(account.name(), &name_of("visits"));
    assert!(gate.account(Some(&name_of("visit")), crate::accounting::PrivacyUnit::Person).is_err());
}
