//! The state of a mechanism advances with its sealed releases, through restarts too, and one at a time.

use super::*;

everywhere! {
    a_state_is_sealed_as_changes_and_a_restart_reads_what_was_in_memory
    what_a_mechanism_keeps_is_sealed_with_its_release_and_survives_a_restart
    a_state_that_cannot_be_read_stops_the_gate_before_it_draws
}

/// A mechanism with a state: each line is the sum of its own number and of all that were sealed before.
struct Total(i64);

impl Sealable for Total {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, _: &mut NoiseSource) -> DrawResult {
        let before = state.map_or(0, |state| i64::from_be_bytes(state.try_into().unwrap()));
        let total = before + self.0;
        DrawResult {
            line: format!("{total}"),
            state: Some(total.to_be_bytes().to_vec()),
            step: None,
            note: None,
        }
    }
}

/// A mechanism with a large state, of which each window changes a little. Each line is the hash of the state.
struct Large(u8);

/// The state after a window: in front of it a few bytes, and others changed in the middle.
fn larger(state: Option<&[u8]>, number: u8) -> Vec<u8> {
    let first: Vec<u8> =
        (0..20_000u32).flat_map(|place| Digest::of(&place.to_le_bytes()).bytes()[0..2].to_vec()).collect();
    let mut state = state.map_or(first, <[u8]>::to_vec);
    state.splice(0..0, [number; 5]);
    state[20_000..20_100].fill(number);
    state
}

impl Sealable for Large {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, _: &mut NoiseSource) -> DrawResult {
        let state = larger(state, self.0);
        DrawResult { line: Digest::of(&state).to_string(), state: Some(state), step: None, note: None }
    }
}

// Refutes a restart that reads another state than the process had in memory, the state of a refused draw that
// is continued from, a full copy at every window or never, changes that pile up, and lengths that are of no
// public size.
fn a_state_is_sealed_as_changes_and_a_restart_reads_what_was_in_memory(at: ScratchPlace) {
    let scratch = scratch(at, 60);
    let (mut expected, mut wholes, mut most) = (None, 0, 0);
    for life in 0..12i64 {
        let (gate, handle) = open(&scratch);
        for window in 5 * life..5 * life + 5 {
            let number = window as u8;
            let charge = || request(window, &Arc::default());
            handle.submit(ReleaseRequest { sealable: Box::new(Large(number)), ..charge() }).unwrap();
            let state = larger(expected.as_deref(), number);
            let row = row(&handle);
            assert_eq!(row.line(), Digest::of(&state).to_string(), "window {window}");
            handle.delivered(&row);
            expected = Some(state);
        }
        drop((gate, handle));
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        let states = ledger.states(&name_of("web"), &name_of("by_path")).unwrap();
        assert_eq!(states.last().unwrap().version, 5 * life + 5);
        assert!(states[0].former.is_none() && states[1..].iter().all(|state| state.former.is_some()));
        let sizes: Vec<usize> = states.iter().map(|state| state.held.len() - 40).collect();
        assert!(sizes.iter().all(|size| change::padded(*size) == *size), "{sizes:?}");
        assert!(sizes[1..].iter().sum::<usize>() <= sizes[0] && sizes.len() <= change::MOST + 1, "{sizes:?}");
        assert!(sizes[1..].iter().all(|size| *size == change::LEAST), "{sizes:?}");
        wholes = wholes.max(states[0].version);
        most = most.max(states.len());
    }
    // The budget is used up: what is drawn then is not kept.
    let (gate, handle) = open(&scratch);
    for window in 60..62 {
        let sealable = Box::new(Large(window as u8));
        handle.submit(ReleaseRequest { sealable, ..request(window, &Arc::default()) }).unwrap();
        assert_eq!(row(&handle).status(), ReleaseStatus::Refused);
    }
    let more = PrivacyCost::zcdp(100.0 * COST).unwrap();
    let mut other = Ledger::open(scratch.ledger()).unwrap();
    other.amend(&name_of("visits"), &more, "an operator", "more windows").unwrap();
    handle.submit(ReleaseRequest { sealable: Box::new(Large(62)), ..request(62, &Arc::default()) }).unwrap();
    let state = larger(expected.as_deref(), 62);
    assert_eq!(row(&handle).line(), Digest::of(&state).to_string());
    drop((gate, handle));
    let (_gate, mut handle) = open(&scratch);
    assert_eq!(handle.take_memory().unwrap().state[..], state[..]);
    assert!(wholes > 20 && most > change::MOST / 2, "full copies up to {wholes}, {most} rows");
}

pub(super) fn total(window: i64, number: i64) -> ReleaseRequest {
    let draws = Arc::default();
    ReleaseRequest { sealable: Box::new(Total(number)), ..request(window, &draws) }
}

fn what_a_mechanism_keeps_is_sealed_with_its_release_and_survives_a_restart(at: ScratchPlace) {
    // The budget refuses the fourth: the state of a draw that is not sealed is not kept either.
    let scratch = scratch(at, 3);
    let (gate, handle) = open(&scratch);
    // All together: they still take turns.
    for (window, number) in [(0, 1), (1, 20), (1, 7), (0, 5)] {
        handle.submit(total(window, number)).unwrap();
    }
    assert_eq!([row(&handle).line(), row(&handle).line()], ["1", "21"]);
    drop((gate, handle));
    let (gate, handle) = open(&scratch);
    (0..2).for_each(|_| handle.delivered(&row(&handle)));
    handle.submit(total(2, 300)).unwrap();
    assert_eq!(row(&handle).line(), "321");
    handle.submit(total(3, 4_000)).unwrap();
    assert_eq!(row(&handle).status(), ReleaseStatus::Refused);
    drop((gate, handle));
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert_eq!(ledger.newest_state(&name_of("web"), &name_of("by_path")).unwrap().unwrap().0, 3);
}

/// Refutes rows in another order than that of their requests, if some wait for the state of others, some have
/// their rows already, and some are too late to be drawn.
#[test]
fn rows_are_written_and_delivered_in_the_order_of_requests() {
    let scratch = scratch(ScratchPlace::File, 100);
    let (gate, by_path) = open(&scratch);
    let by_hour = versions::handle(&gate, "by_hour", b"hours").unwrap();
    let other = |window| {
        let mut request = request(window, &Arc::default());
        request.release.name = name_of("by_hour");
        request
    };
    for window in 0..20 {
        by_path.submit(total(window, 1)).unwrap();
        by_hour.submit(other(window)).unwrap();
        if window % 3 == 0 {
            by_hour.skip(ReleaseId { name: name_of("by_hour"), ..release(window + 100) }, SkipReason::Late);
        }
        // At or before the settled frontier: it is skipped.
        by_path.submit(total(window - 40, 1)).unwrap();
    }
    drop(gate);
    let rows = |handle: &GateHandle| -> Vec<(u64, i64, Interval)> {
        std::iter::from_fn(|| match handle.hear()? {
            GateEvent::Row(row, budget_status) => {
                Some((budget_status.order, row.sequence(), row.release().window))
            }
            _ => None,
        })
        .collect()
    };
    let mut event = [rows(&by_path), rows(&by_hour)].concat();
    event.sort_by_key(|event| event.0);
    assert_eq!(event.len(), 67);
    assert!(event.iter().zip(0..).all(|(event, number)| event.0 == number), "{event:?}");
    assert!(event.windows(2).all(|pair| pair[0].1 < pair[1].1), "{event:?}");
    let windows: Vec<i64> = event.iter().map(|(_, _, window)| window.start()).collect();
    let of = |window: i64| {
        if window % 3 == 0 {
            vec![window, window, window + 100, window - 40]
        } else {
            vec![window, window, window - 40]
        }
    };
    assert_eq!(windows, (0..20).flat_map(of).collect::<Vec<i64>>());
}

/// Refutes rows of a statistic that was sealed before which overtake those of a new one.
#[test]
fn rows_that_are_there_wait_for_those_that_are_not() {
    let scratch = scratch(ScratchPlace::File, 100);
    let (gate, by_path) = open(&scratch);
    (0..9).for_each(|window| by_path.submit(request(window, &Arc::default())).unwrap());
    (0..9).for_each(|_| by_path.delivered(&row(&by_path)));
    drop((gate, by_path));
    let (gate, by_path) = open(&scratch);
    let by_hour = versions::handle(&gate, "by_hour", b"hours").unwrap();
    for window in 0..9 {
        let mut other = request(window, &Arc::default());
        other.release.name = name_of("by_hour");
        by_hour.submit(other).unwrap();
        by_path.submit(request(window, &Arc::default())).unwrap();
    }
    drop(gate);
    let event = |handle: &GateHandle| -> Vec<u64> {
        std::iter::from_fn(|| match handle.hear()? {
            GateEvent::Row(_, budget_status) => Some(budget_status.order),
            _ => None,
        })
        .collect()
    };
    let every_other = |first: u64| (0..9).map(|window| 2 * window + first).collect::<Vec<u64>>();
    assert_eq!([event(&by_hour), event(&by_path)], [every_other(0), every_other(1)]);
}

/// Refutes rows of a former process that are given handle by handle, or after a first call that found
/// nothing: an operator concludes from its first step that there are no others.
#[test]
fn rows_of_a_former_process_are_heard_at_once_and_in_their_order() {
    let scratch = scratch(ScratchPlace::File, 100);
    let desks = || {
        let (gate, by_path) = open(&scratch);
        let by_hour = versions::handle(&gate, "by_hour", b"hours").unwrap();
        (gate, [by_path, by_hour])
    };
    let (gate, [by_path, by_hour]) = desks();
    for window in 0..9 {
        let mut other = request(window, &Arc::default());
        other.release.name = name_of("by_hour");
        by_hour.submit(other).unwrap();
        by_path.submit(request(window, &Arc::default())).unwrap();
    }
    drop((gate, by_path, by_hour));
    for _ in 0..20 {
        let (_gate, desks) = desks();
        // The test does not wait here: the gate stays open, and would give the rest later.
        let [by_path, by_hour] = desks.each_ref().map(|handle| -> Vec<u64> {
            let heard = std::iter::from_fn(|| handle.hear());
            heard
                .map(|event| {
                    if let GateEvent::Row(_, budget_status) = event { budget_status.order } else { panic!() }
                })
                .collect()
        });
        let every_other = |first: u64| (0..9).map(|window| 2 * window + first).collect::<Vec<u64>>();
        assert_eq!([by_hour, by_path], [every_other(0), every_other(1)]);
    }
}

/// Refutes a request that waits for one without effect, and is never sealed, not even when the gate is
/// closed.
#[test]
fn a_request_behind_one_whose_row_is_leaving_already_takes_its_turn() {
    let scratch = scratch(ScratchPlace::File, 10);
    let (gate, handle) = open(&scratch);
    handle.submit(total(0, 1)).unwrap();
    row(&handle);
    drop((gate, handle));
    let opening = Opening::new(scratch.ledger(), "web").unwrap().delivery(Delivery::AtMostOnce);
    let (gate, handle) = at_a_desk(opening.open().unwrap());
    // Once it is given out, it is neither delivered yet nor requested again.
    let waiting = row(&handle);
    (0..3).for_each(|window| handle.submit(total(window, 20)).unwrap());
    drop(gate);
    assert_eq!([waiting.line(), row(&handle).line(), row(&handle).line()], ["1", "21", "41"]);
}

fn a_state_that_cannot_be_read_stops_the_gate_before_it_draws(at: ScratchPlace) {
    let scratch = scratch(at, 10);
    let (gate, handle) = open(&scratch);
    handle.submit(total(0, 1)).unwrap();
    row(&handle);
    drop((gate, handle));
    // The key of another ledger.
    let key = scratch.directory().join("other.key");
    crate::ledger::LedgerKey::create(&key).unwrap();
    // The key is refused by its name, unless the ledger's record of its own key was deleted.
    let refused = opening(&scratch).key(&key).open().unwrap_err();
    assert_eq!(refused.kind(), LedgerErrorKind::Refused, "{refused}");
    assert!(refused.to_string().contains("other.key: it is the key of another ledger"), "{refused}");
    scratch.edit("DELETE FROM key_check", false).unwrap();
    let open = || opening(&scratch).key(&key).open().unwrap();
    let gate = open();
    let trouble = gate.handle(&name_of("by_path"), &parameters(), || ()).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt);
    assert!(trouble.to_string().contains("by_path of job web"), "{trouble}");
    // The gate has halted, and reports it.
    let trouble = gate.handle(&name_of("other"), &parameters(), || ()).unwrap_err();
    assert!(trouble.to_string().contains("by_path of job web"), "{trouble}");
    drop(gate);
    // If requested without a handle of its own, the state is checked at the draw.
    let gate = open();
    let handle = gate.handle(&name_of("other"), &parameters(), || ()).unwrap();
    handle.submit(total(1, 1)).unwrap();
    assert!(matches!(handle.wait(), Some(GateEvent::Halted(HaltReason::Ledger))));
    drop(gate);
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(COST).unwrap());
}
