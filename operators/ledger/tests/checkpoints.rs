//! A ledger that is opened from its checkpoint is in doubt where one that is verified whole is, or is verified
//! whole.

use super::*;
use crate::ledger::checkpoint;
use crate::ledger::verify::Chain;

everywhere! {
    rows_before_a_checkpoint_are_not_read_and_rows_after_it_are
    an_edit_before_the_checkpoint_is_found_by_the_verification_of_the_whole
    what_the_next_charges_read_is_compared_at_open
    a_checkpoint_of_another_key_or_ledger_or_that_was_edited_is_not_used
    a_charge_that_reads_older_entries_waits_for_a_verification_of_the_whole
    a_reservation_that_no_checkpoint_holds_is_not_believed
    the_past_takes_constant_memory
    a_verification_beside_a_writer_finds_what_was_edited
    counts_are_those_of_all_rows
}

fn key(scratch: &Scratch) -> LedgerKey {
    LedgerKey::open(scratch.key()).unwrap()
}

fn windows(range: std::ops::Range<i64>) -> Vec<Sealing> {
    range.map(|k| sealing("web", (10 * k, 10 * k + 10), 3, &format!("line {k}"))).collect()
}

/// A ledger with rows before a checkpoint and rows after it.
fn history(scratch: &Scratch, promise: Promise, before: i64, after: i64) {
    let mut ledger = ledger(scratch, promise, 1 << 40);
    ledger.bind(&key(scratch)).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let kept = State { version: 1, former: None, held: b"what a mechanism keeps".to_vec(), note: None };
    let stateful = ReleaseId { name: name("total"), ..windows(0..1)[0].release.clone() };
    ledger
        .seal(&claim, &[Sealing { release: stateful, state: Some(kept), ..windows(0..1)[0].clone() }])
        .unwrap();
    ledger.seal(&claim, &windows(0..before)).unwrap();
    ledger.amend(&name("visits"), &rho((1 << 40) + 1), "an operator", "more room").unwrap();
    ledger.checkpoint().unwrap();
    ledger.seal(&claim, &windows(before..before + after)).unwrap();
}

fn opened(scratch: &Scratch) -> Ledger {
    Ledger::open_from_checkpoint(&scratch.ledger(), &key(scratch)).unwrap()
}

fn promises() -> [Promise; 3] {
    [Promise::Lifetime, Promise::Any(30), Promise::Each(30)]
}

fn rows_before_a_checkpoint_are_not_read_and_rows_after_it_are(at: ScratchPlace) {
    for promise in promises() {
        let scratch = at.scratch();
        history(&scratch, promise, 9, 5);
        let from = opened(&scratch);
        assert!(!from.is_whole(), "it did not begin at the checkpoint");
        let whole = Ledger::open(scratch.ledger()).unwrap();
        assert!(whole.is_whole());
        let (from, whole) = (from.proof().clone(), whole.proof().clone());
        assert_eq!((from.sequence, from.last, from.releases), (whole.sequence, whole.last, whole.releases));
        assert_eq!(from.statements, whole.statements);
        assert_eq!(from.due.settled, whole.due.settled);
        assert_eq!(from.due.states, whole.due.states);
        assert_eq!(from.due.sealed, whole.due.sealed);
        for edit in [
            "UPDATE release SET line = 'other' WHERE sequence = 16",
            "DELETE FROM release WHERE sequence = 15",
        ] {
            let scratch = at.scratch();
            history(&scratch, promise, 9, 5);
            scratch.edit(edit, false).unwrap();
            let found = Ledger::open_from_checkpoint(&scratch.ledger(), &key(&scratch)).unwrap_err();
            assert_eq!(found.kind(), LedgerErrorKind::Doubt, "{edit}");
        }
    }
}

fn an_edit_before_the_checkpoint_is_found_by_the_verification_of_the_whole(at: ScratchPlace) {
    for edit in [
        "UPDATE release SET line = 'other' WHERE sequence = 5",
        "UPDATE release SET cost = NULL WHERE sequence = 5",
        "DELETE FROM release WHERE sequence = 5",
    ] {
        let scratch = at.scratch();
        history(&scratch, Promise::Any(30), 9, 5);
        scratch.edit(edit, false).unwrap();
        let mut ledger = opened(&scratch);
        let beside = Ledger::verify_beside(&scratch.ledger(), &mut || true).unwrap_err();
        assert_eq!(beside.kind(), LedgerErrorKind::Doubt, "{edit}");
        assert_eq!(ledger.verify().unwrap_err().kind(), LedgerErrorKind::Doubt, "{edit}");
        assert!(Ledger::open(scratch.ledger()).is_err(), "{edit}");
    }
}

fn what_the_next_charges_read_is_compared_at_open(at: ScratchPlace) {
    for promise in promises() {
        for edit in [
            "UPDATE balance SET spent = (SELECT cap FROM account), partial = (SELECT cap FROM account)",
            "DELETE FROM balance WHERE place = (SELECT max(place) FROM balance)",
            "INSERT INTO balance SELECT account, reach, -7, until, spent, partial FROM balance LIMIT 1",
            "UPDATE account SET cap = (SELECT cap FROM amendment)",
            "UPDATE amendment SET who = 'somebody else'",
            "DELETE FROM amendment",
            "UPDATE settled SET until = until - 10",
            "DELETE FROM settled",
            "UPDATE state SET held = zeroblob(22)",
            "DELETE FROM state",
            "UPDATE head SET chain = zeroblob(32)",
            "INSERT INTO repair VALUES (90, 89, 0, 'none', zeroblob(0), zeroblob(32))",
        ] {
            let scratch = at.scratch();
            history(&scratch, promise, 9, 5);
            scratch.edit(edit, false).unwrap();
            assert!(
                Ledger::open_from_checkpoint(&scratch.ledger(), &key(&scratch)).is_err(),
                "{promise:?}, {edit}: unnoticed"
            );
        }
    }
}

fn a_checkpoint_of_another_key_or_ledger_or_that_was_edited_is_not_used(at: ScratchPlace) {
    // The edit after the checkpoint would be in its content, so nothing but the content can be wrong.
    for edit in [
        "UPDATE checkpoint SET mac = zeroblob(32)",
        "UPDATE checkpoint SET sequence = sequence - 1",
        "UPDATE checkpoint SET content = zeroblob(32)",
        "DELETE FROM checkpoint",
        "UPDATE key_check SET mac = zeroblob(32)",
        "DELETE FROM key_check",
    ] {
        let scratch = at.scratch();
        history(&scratch, Promise::Any(30), 9, 5);
        scratch.edit(edit, false).unwrap();
        assert!(opened(&scratch).is_whole(), "{edit}");
    }
    let scratch = at.scratch();
    history(&scratch, Promise::Any(30), 9, 5);
    let other = LedgerKey::create(scratch.directory().join("other.key")).unwrap();
    assert!(Ledger::open_from_checkpoint(&scratch.ledger(), &other).unwrap().is_whole());
    // Every byte of the content is authenticated, and of another ledger nothing is believed.
    let mut ledger = opened(&scratch);
    let own = checkpoint::CheckpointKey::of(&key(&scratch));
    let foreign = Chain { ledger: Digest::of(b"another"), ..ledger.proof().clone() };
    checkpoint::store(ledger.store(), &own, &foreign).unwrap();
    assert!(opened(&scratch).is_whole(), "a checkpoint of another ledger was used");
    let lost = Chain { last: Digest::of(b"another"), ..ledger.proof().clone() };
    checkpoint::store(ledger.store(), &own, &lost).unwrap();
    assert!(opened(&scratch).is_whole(), "a checkpoint that the rows do not bear out was used");
}

// Refutes a budget that is decided by entries that nobody has compared.
fn a_charge_that_reads_older_entries_waits_for_a_verification_of_the_whole(at: ScratchPlace) {
    for promise in [Promise::Any(30), Promise::Each(30)] {
        let blocks = if promise == Promise::Any(30) { 1_300 } else { 3_400 };
        let scratch = at.scratch();
        history(&scratch, promise, blocks, 5);
        let mut ledger = opened(&scratch);
        assert!(!ledger.proof().due.floors.is_empty(), "everything is kept");
        let claim = ledger.claim(&name("web")).unwrap();
        ledger.seal(&claim, &windows(blocks + 5..blocks + 8)).unwrap();
        assert!(!ledger.is_whole(), "the next window read older entries");
        let other = Sealing { line: "late".into(), ..windows(3..4)[0].clone() };
        let release = ReleaseId { name: name("other"), ..other.release.clone() };
        ledger.seal(&claim, &[Sealing { release: release.clone(), ..other.clone() }]).unwrap();
        assert!(ledger.is_whole(), "an old entry was believed");
        // No checkpoint is made of it, and nothing is in doubt.
        assert_eq!(ledger.checkpoint().unwrap_err().kind(), LedgerErrorKind::Busy);
        // Such a charge after the checkpoint leads to a verification of the whole, and not to a doubt.
        drop((ledger, claim));
        let mut ledger = opened(&scratch);
        assert!(ledger.is_whole());
        ledger.checkpoint().unwrap();
        drop(ledger);

        // An edited old entry is found before it decides a charge.
        scratch
            .edit("UPDATE balance SET spent = (SELECT cap FROM account) WHERE place BETWEEN 2 AND 30", false)
            .unwrap();
        let mut ledger = opened(&scratch);
        assert!(!ledger.is_whole());
        let claim = ledger.claim(&name("web")).unwrap();
        let again = ReleaseId { name: name("another"), ..release };
        let found = ledger.seal(&claim, &[Sealing { release: again, ..other }]).unwrap_err();
        assert_eq!(found.kind(), LedgerErrorKind::Doubt);
    }
}

fn a_reservation_that_no_checkpoint_holds_is_not_believed(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 1 << 40);
    ledger.bind(&key(&scratch)).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let once = |job: i64| Sealing {
        charge: Some(Charge::Once { cost: cost(3), life: Interval::new(0, 1_000).unwrap() }),
        ..windows(job..job + 1)[0].clone()
    };
    ledger.seal(&claim, &[windows(50..51)[0].clone(), once(0)]).unwrap();
    ledger.checkpoint().unwrap();
    drop((ledger, claim));
    let mut ledger = opened(&scratch);
    let claim = ledger.claim(&name("web")).unwrap();
    let row = &ledger.seal(&claim, &[once(1)]).unwrap()[0];
    assert_eq!(
        (row.cost(), ledger.is_whole()),
        (None, false),
        "a reservation in the checkpoint was not believed"
    );
    drop((ledger, claim));

    let forged = "UPDATE release SET life_start = 0, life_end = 2000 WHERE sequence = 2";
    scratch.edit(forged, false).unwrap();
    let mut ledger = opened(&scratch);
    let claim = ledger.claim(&name("web")).unwrap();
    let asked = Sealing {
        charge: Some(Charge::Once { cost: cost(3), life: Interval::new(0, 2_000).unwrap() }),
        ..windows(2..3)[0].clone()
    };
    assert_eq!(ledger.seal(&claim, &[asked]).unwrap_err().kind(), LedgerErrorKind::Doubt);
}

fn the_past_takes_constant_memory(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Any(30), 1 << 40);
    ledger.bind(&key(&scratch)).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let mut kept = Vec::new();
    for part in 0..at.tries(8) as i64 {
        ledger.seal(&claim, &windows(1_000 * part..1_000 * (part + 1))).unwrap();
        // A statistic that comes late charges for windows that were compared already.
        let late = |sealing: &Sealing| {
            let release = ReleaseId { name: name("late"), ..sealing.release.clone() };
            Sealing { release, ..sealing.clone() }
        };
        let late: Vec<Sealing> = windows(600 * part..600 * (part + 1)).iter().map(late).collect();
        ledger.seal(&claim, &late).unwrap();
        ledger.verify().unwrap();
        assert!(Ledger::verify_beside(&scratch.ledger(), &mut || true).unwrap());
        kept.push(ledger.proof().due.entries());
    }
    assert!(kept.iter().all(|kept| *kept <= 1_100), "{kept:?}");
    // An entry among those that were dropped, and that no row charged.
    let forged =
        "INSERT INTO balance SELECT account, reach, 5, 15, spent, partial FROM balance WHERE place = 20";
    scratch.edit(forged, false).unwrap();
    assert_eq!(ledger.verify().unwrap_err().kind(), LedgerErrorKind::Doubt);
    assert!(Ledger::verify_beside(&scratch.ledger(), &mut || true).is_err());
}

// Refutes a doubt about a ledger that is written to while it is verified.
fn a_verification_beside_a_writer_finds_what_was_edited(at: ScratchPlace) {
    let scratch = at.scratch();
    history(&scratch, Promise::Any(30), 3_000, 5);
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let mut next = 3_005;
    let mut write = || {
        ledger.seal(&claim, &windows(next..next + 50)).unwrap();
        next += 50;
        true
    };
    assert!(Ledger::verify_beside(&scratch.ledger(), &mut write).unwrap());
    assert!(!Ledger::verify_beside(&scratch.ledger(), &mut || false).unwrap(), "it did not stop");
}

fn counts_are_those_of_all_rows(at: ScratchPlace) {
    let scratch = at.scratch();
    history(&scratch, Promise::Any(30), 9, 5);
    let (mut from, mut whole) = (opened(&scratch), Ledger::open(scratch.ledger()).unwrap());
    let counts =
        |ledger: &mut Ledger| (ledger.row_count().unwrap(), ledger.releases(&name("visits")).unwrap());
    assert_eq!(counts(&mut from), (17, (15, Interval::new(130, 140).unwrap())));
    assert_eq!(counts(&mut from), counts(&mut whole));
    let claim = from.claim(&name("web")).unwrap();
    from.seal(&claim, &windows(14..16)).unwrap();
    assert_eq!(counts(&mut whole), (19, (17, Interval::new(150, 160).unwrap())));
    assert_eq!(counts(&mut from), counts(&mut whole));
}
