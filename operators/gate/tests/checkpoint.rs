//! A gate over a ledger that was opened from its checkpoint: the past is verified while it runs.

use super::*;
use crate::ledger::LedgerKey;

/// A ledger with some rows and a checkpoint, opened from it.
fn from_checkpoint(edit: Option<&str>) -> (Scratch, Ledger) {
    let scratch = scratch(ScratchPlace::File, 100);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    (0..5).for_each(|window| handle.submit(request(window, &draws)).unwrap());
    (0..5).for_each(|_| handle.delivered(&row(&handle)));
    drop((gate, handle));
    if let Some(edit) = edit {
        scratch.edit(edit, false).unwrap();
    }
    let key = LedgerKey::open(scratch.key()).unwrap();
    let ledger = Ledger::open_from_checkpoint(&scratch.ledger(), &key).unwrap();
    assert!(!ledger.is_whole(), "a gate that ended left no checkpoint");
    (scratch, ledger)
}

// Refutes a restart that believes the past for as long as it runs.
#[test]
fn a_row_that_was_edited_before_the_checkpoint_halts_the_gate_that_began_there() {
    let (scratch, ledger) = from_checkpoint(Some("UPDATE release SET line = 'other' WHERE sequence = 3"));
    let (_gate, handle) = at_a_desk(opening(&scratch).over(ledger).unwrap());
    let halted = loop {
        match handle.wait() {
            Some(GateEvent::Halted(reason)) => break reason,
            Some(_) => {}
            None => break HaltReason::Ended,
        }
    };
    assert_eq!(halted, HaltReason::Ledger);
    let why = handle.why(halted).to_string();
    assert!(why.contains("row 3 is missing or was edited") && why.contains("ledger repair"), "{why}");
    // And nothing more is released.
    handle.submit(request(9, &Arc::default())).unwrap();
    assert!(!matches!(handle.wait(), Some(GateEvent::Row(..))));
}

#[test]
fn a_gate_from_a_checkpoint_goes_on_where_the_last_one_ended() {
    let (scratch, ledger) = from_checkpoint(None);
    let (gate, handle) = at_a_desk(opening(&scratch).over(ledger).unwrap());
    let draws = Arc::default();
    // One that has its row, one that is passed, and the next.
    for window in [4, 5] {
        handle.submit(request(window, &draws)).unwrap();
        handle.delivered(&row(&handle));
    }
    assert_eq!(draws.load(Ordering::Relaxed), 1, "a window was drawn again");
    drop((gate, handle));
    assert_eq!(spent(&scratch), PrivacyCost::zcdp(6.0 * COST).unwrap());
}
