//! A ledger that was torn, cut, edited or copied is detected before anything is released from it, or has the
//! same content.

use std::fs;
use std::path::Path;

use super::*;
use crate::noise::NoiseSource;

everywhere! {
    an_edited_row_is_noticed_before_anything_is_released
    a_ledger_of_another_format_is_refused_by_its_number
    the_triggers_refuse_what_the_path_never_does
    an_export_is_a_ledger_that_says_the_same
}

/// A closed ledger with some history, in one file.
fn history(scratch: &Scratch) -> Vec<Row> {
    let mut ledger = ledger(scratch, Promise::Any(30), 9);
    let claim = ledger.claim(&name("web")).unwrap();
    let batch: Vec<Sealing> =
        (0..12).map(|k| sealing("web", (10 * k, 10 * k + 10), 3, &format!("line {k}"))).collect();
    let kept = State { version: 1, former: None, held: b"what a mechanism keeps".to_vec(), note: None };
    let change = |former: &State| State {
        version: former.version + 1,
        former: Some(former.digest()),
        held: b"what has changed".to_vec(),
        note: None,
    };
    let changes = [change(&kept), change(&change(&kept))];
    let mut batch = batch;
    for (sealing, state) in batch.iter_mut().zip([&kept, &changes[0], &changes[1]]) {
        sealing.state = Some(state.clone());
    }
    let rows = ledger.seal(&claim, &batch).unwrap();
    ledger.agree(&claim, 1, &name("by_path"), &Digest::of(b"version 1")).unwrap();
    ledger.amend(&name("visits"), &rho(11), "an operator", "more room").unwrap();
    rows
}

/// The content of a ledger: rows, accounts, caps.
fn everything(path: &Path, rows: &[Row]) -> Result<String, LedgerError> {
    let mut ledger = Ledger::open(path)?;
    let read: Vec<_> = rows.iter().map(|row| ledger.look_up(row.release())).collect::<Result<_, _>>()?;
    let spent: Vec<_> = rows
        .iter()
        .map(|row| ledger.spent(&name("visits"), row.release().window))
        .collect::<Result<_, _>>()?;
    Ok(format!("{read:?} {spent:?} {:?} {:?}", ledger.accounts()?, ledger.head()?))
}

#[test]
fn a_flipped_byte_is_noticed_or_changes_nothing() {
    let scratch = ScratchPlace::File.scratch();
    let rows = history(&scratch);
    let truth = everything(&scratch.ledger(), &rows).unwrap();
    let sound = fs::read(scratch.ledger()).unwrap();
    let copy = scratch.directory().join("copy.ledger");
    let mut noise = NoiseSource::seeded(1);
    let (mut noticed, mut harmless) = (0, 0);
    for flip in 0..size(2_000, sound.len()) {
        let place =
            if crate::noise::goodness::full() { flip } else { noise.below(sound.len() as u64) as usize };
        let mut torn = sound.clone();
        torn[place] ^= 1 << noise.below(8);
        fs::write(&copy, &torn).unwrap();
        match everything(&copy, &rows) {
            Err(_) => noticed += 1,
            // The mark of a delivered line is outside of the promise, and is not compared.
            Ok(said) => {
                let plain = |text: &str| text.replace("delivered: true", "delivered: false");
                assert!(plain(&said) == plain(&truth), "byte {place} was flipped unnoticed");
                harmless += 1;
            }
        }
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(format!("{}{suffix}", copy.display()));
        }
    }
    assert!(noticed > 100, "{noticed} noticed, {harmless} harmless");
}

#[test]
fn a_truncated_ledger_is_noticed_at_every_length() {
    let scratch = ScratchPlace::File.scratch();
    let rows = history(&scratch);
    let sound = fs::read(scratch.ledger()).unwrap();
    let copy = scratch.directory().join("copy.ledger");
    for length in (0..sound.len()).step_by(size(509, 1)) {
        fs::write(&copy, &sound[..length]).unwrap();
        assert!(everything(&copy, &rows).is_err(), "cut to {length} bytes unnoticed");
    }
}

fn an_edited_row_is_noticed_before_anything_is_released(at: ScratchPlace) {
    let edits = [
        "UPDATE release SET line = 'line 7, corrected' WHERE sequence = 5",
        "UPDATE release SET status = 'sealed' WHERE status = 'refused'",
        "UPDATE release SET cost = NULL WHERE sequence = 3",
        "UPDATE release SET window_end = window_end + 1 WHERE sequence = 3",
        "UPDATE release SET part = randomblob(32) WHERE sequence = 3",
        "UPDATE release SET generation = 9 WHERE sequence = 3",
        "UPDATE release SET id = randomblob(32) WHERE sequence = 3",
        "DELETE FROM release WHERE sequence = 3",
        "DELETE FROM release WHERE sequence = (SELECT max(sequence) FROM release)",
        "UPDATE release SET sequence = 1000 WHERE sequence = 3",
        "UPDATE account SET cap = zeroblob(49)",
        "UPDATE account SET promise = 'lifetime', span = 0",
        "UPDATE account SET span = 1",
        "UPDATE amendment SET who = 'somebody else'",
        "DELETE FROM amendment",
        "DELETE FROM balance",
        "DELETE FROM balance WHERE place = 20",
        "INSERT INTO balance SELECT account, reach, 5, until, spent, partial FROM balance LIMIT 1",
        "UPDATE balance SET partial = (SELECT cap FROM account) WHERE place = 20",
        "UPDATE release SET partial = cost WHERE sequence = 3",
        "UPDATE balance SET spent = (SELECT cap FROM account)",
        "UPDATE head SET sequence = 1000",
        "UPDATE head SET chain = zeroblob(32)",
        "UPDATE meta SET format = 99",
        "UPDATE release SET life_start = window_start, life_end = window_end WHERE sequence = 3",
        "UPDATE release SET state = NULL WHERE state IS NOT NULL",
        "DELETE FROM state",
        "UPDATE state SET held = zeroblob(22)",
        "UPDATE state SET version = version + 5",
        "UPDATE state SET version = 7 WHERE version = 3",
        "UPDATE state SET held = zeroblob(22) WHERE version = 2",
        "UPDATE state SET digest = zeroblob(32) WHERE version = 1",
        "UPDATE state SET former = NULL WHERE version = 2",
        "UPDATE state SET former = digest WHERE version = 1",
        "DELETE FROM state WHERE version = 1",
        "DELETE FROM state WHERE version = 2",
        "DELETE FROM state WHERE version = 3",
        "INSERT INTO state SELECT job, name, 4, former, digest, held FROM state WHERE version = 3",
        "UPDATE settled SET until = until - 10",
        "UPDATE settled SET until = until + 10",
        "DELETE FROM settled",
        "INSERT INTO state VALUES ('web', 'other', 1, NULL, zeroblob(32), zeroblob(22))",
        "INSERT INTO repair VALUES (15, 14, 0, 'none', zeroblob(0), zeroblob(32))",
    ];
    for edit in edits {
        let scratch = at.scratch();
        history(&scratch);
        scratch.edit(edit, false).unwrap();
        assert!(Ledger::open(scratch.ledger()).is_err(), "{edit}: unnoticed");
    }
}

/// Refutes a hash of a state that does not cover the rows before it: here the first is another, and all that
/// can be computed without a key was made to agree.
#[test]
fn an_earlier_row_of_a_state_is_not_replaced_by_another() {
    let scratch = ScratchPlace::File.scratch();
    history(&scratch);
    let mut states = Ledger::open(scratch.ledger()).unwrap().states(&name("web"), &name("by_path")).unwrap();
    states[0].held = b"another".to_vec();
    let [whole, change] = [0, 1].map(|at: usize| {
        if at == 1 {
            states[1].former = Some(states[0].digest());
        }
        states[at].digest()
    });
    let edit = format!(
        "UPDATE state SET held = CAST('another' AS BLOB), digest = x'{whole}' WHERE version = 1;
         UPDATE state SET former = x'{whole}', digest = x'{change}' WHERE version = 2;
         UPDATE state SET former = x'{change}' WHERE version = 3"
    );
    scratch.edit(&edit, false).unwrap();
    states[2].former = Some(change);
    scratch
        .edit(&format!("UPDATE state SET digest = x'{}' WHERE version = 3", states[2].digest()), false)
        .unwrap();
    let doubt = Ledger::open(scratch.ledger()).unwrap_err();
    assert_eq!(doubt.kind(), LedgerErrorKind::Doubt, "{doubt}");
}

fn a_ledger_of_another_format_is_refused_by_its_number(at: ScratchPlace) {
    let scratch = at.scratch();
    history(&scratch);
    scratch.edit("UPDATE meta SET format = 99", false).unwrap();
    let refused = Ledger::open(scratch.ledger()).unwrap_err();
    assert_eq!(refused.kind(), LedgerErrorKind::Refused);
    let words = refused.to_string();
    assert!(words.contains("its format is 99") && words.contains("`discreet ledger export`"), "{words}");
}

fn the_triggers_refuse_what_the_path_never_does(at: ScratchPlace) {
    let scratch = at.scratch();
    history(&scratch);
    for edit in [
        "UPDATE release SET line = 'other'",
        "UPDATE release SET status = 'lost'",
        "DELETE FROM release",
        "UPDATE account SET cap = cap",
        "DELETE FROM account",
        "DELETE FROM amendment",
        "DELETE FROM balance",
        "UPDATE balance SET spent = zeroblob(49)",
        "UPDATE balance SET partial = zeroblob(49)",
        "UPDATE release SET partial = cost",
        "UPDATE fence SET generation = generation - 1",
        "UPDATE head SET sequence = sequence",
        "UPDATE state SET held = zeroblob(22)",
        "INSERT INTO state SELECT job, name, 0, former, digest, held FROM state WHERE version = 1",
        "UPDATE meta SET format = 99",
        "UPDATE agreed SET parameters = zeroblob(32)",
        "DELETE FROM agreed",
        "UPDATE settled SET until = until - 10",
        "DELETE FROM settled",
    ] {
        assert!(scratch.edit(edit, true).is_err(), "{edit}");
    }
}

fn an_export_is_a_ledger_that_says_the_same(at: ScratchPlace) {
    let scratch = at.scratch();
    let rows = history(&scratch);
    let copy = scratch.directory().join("copy.ledger");
    Ledger::open(scratch.ledger()).unwrap().export(&copy).unwrap();
    assert_eq!(everything(&copy, &rows).unwrap(), everything(&scratch.ledger(), &rows).unwrap());
    assert!(Ledger::open(scratch.ledger()).unwrap().export(&copy).is_err());
}
