//! A repair loses releases, never budget: after a repair of any damage, the ledger counts no less than was
//! spent, and releases no new value for a window that was released.

use std::fs;

use super::*;
use crate::noise::NoiseSource;

const NOW: i64 = 200;

fn journal(path: &std::path::Path, ledger: &Ledger, rows: &[Row]) -> Vec<AnchorEntry> {
    let mut journal = Journal::open(path, ledger.name()).unwrap();
    journal.begin().unwrap();
    journal.record(rows.iter()).unwrap();
    Journal::read(path).unwrap()
}

fn loss<'a>(anchors: &'a [AnchorEntry]) -> AcceptedLoss<'a> {
    AcceptedLoss {
        reason: "the disk was lost, and this copy is what there is",
        now: NOW,
        anchors,
        published: &[],
    }
}

/// Twelve windows of ten, under a budget that they use up.
fn history(scratch: &Scratch, promise: Promise) -> Vec<Row> {
    let mut ledger = ledger(scratch, promise, 100);
    let claim = ledger.claim(&name("web")).unwrap();
    let mut batch: Vec<Sealing> =
        (0..12).map(|k| sealing("web", (10 * k, 10 * k + 10), 3, &format!("line {k}"))).collect();
    batch[4] = once("web", (40, 50), (40, 140), 5);
    let note = Some(Note { place: 0, since: 0, held: b"what is noted".to_vec() });
    batch[4].state = Some(State { version: 1, former: None, held: b"what a mechanism keeps".to_vec(), note });
    ledger.seal(&claim, &batch).unwrap()
}

/// The amount that counts against each of thirty windows.
fn spending(ledger: &mut Ledger) -> Vec<PrivacyCost> {
    let windows = (0..30).map(|k| Interval::new(10 * k - 50, 10 * k - 40).unwrap());
    windows.map(|window| ledger.spent(&name("visits"), window).unwrap().0).collect()
}

fn no_less(before: &[PrivacyCost], after: &[PrivacyCost]) -> bool {
    before.iter().zip(after).all(|(before, after)| before.within(after))
}

/// The entry of a row in a file of releases.
fn published(row: &Row) -> Published {
    Published {
        ledger: None,
        row: Some((row.sequence(), *row.chain())),
        release: row.release().name.clone(),
        window: row.release().window,
        id: Some(row.release().id()),
    }
}

/// A ledger that was put back to one window after these others were released from it, and the amounts that
/// counted before.
fn put_back(
    scratch: &Scratch,
    promise: Promise,
    first: Sealing,
    lost: &[Sealing],
) -> (Vec<Row>, Vec<PrivacyCost>) {
    let mut ledger = ledger(scratch, promise, 100);
    let claim = ledger.claim(&name("web")).unwrap();
    ledger.seal(&claim, &[first]).unwrap();
    let older = scratch.directory().join("older");
    ledger.export(&older).unwrap();
    let lost = ledger.seal(&claim, lost).unwrap();
    let before = spending(&mut ledger);
    drop((ledger, claim));
    fs::copy(older, scratch.ledger()).unwrap();
    (lost, before)
}

fn repaired(scratch: &Scratch, published: &[Published]) -> (Repaired, Ledger) {
    let repaired = Ledger::repair(scratch.ledger(), &AcceptedLoss { published, ..loss(&[]) }).unwrap();
    (repaired, Ledger::open(scratch.ledger()).unwrap())
}

// Refutes a repair that ignores a file of releases as a witness, or charges less than was released.
#[test]
fn a_file_of_releases_shows_what_an_older_copy_lacks() {
    for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(20)] {
        let scratch = ScratchPlace::File.scratch();
        let lost: Vec<Sealing> = (1..4).map(|k| sealing("web", (10 * k, 10 * k + 10), 3, "lost")).collect();
        let (rows, before) = put_back(&scratch, promise, sealing("web", (0, 10), 3, "kept"), &lost);
        let published: Vec<Published> = rows.iter().map(published).collect();
        let (done, mut ledger) = repaired(&scratch, &published);
        assert_eq!((done.sound, done.charges, done.floor), (2, 3, NOW));
        assert_eq!(spending(&mut ledger), before, "{promise:?}");
        let own = *ledger.name();
        for row in &published {
            ledger.holds(&row.anchor(own).unwrap()).unwrap();
        }
        let again = AcceptedLoss { published: &published, ..loss(&[]) };
        let refused = Ledger::repair(scratch.ledger(), &again).unwrap_err();
        assert!(refused.to_string().contains("nothing is in doubt"), "{refused}");
    }
}

/// The entry of a window in a file of releases, of which the closing line is torn.
fn torn(release: &ReleaseId) -> Published {
    let (name, window) = (release.name.clone(), release.window);
    Published { ledger: None, row: None, release: name, window, id: Some(release.id()) }
}

// Refutes a charge for a torn window beside the one for its row in the anchor, which is one release.
#[test]
fn a_torn_window_that_the_anchor_has_is_charged_once() {
    let scratch = ScratchPlace::File.scratch();
    let lost = [sealing("web", (10, 20), 3, "lost")];
    let (rows, before) = put_back(&scratch, Promise::Lifetime, sealing("web", (0, 10), 3, "kept"), &lost);
    let noted = {
        let ledger = Ledger::open(scratch.ledger()).unwrap();
        journal(&scratch.directory().join("anchor"), &ledger, &rows)
    };
    let published = [torn(rows[0].release())];
    let accepted = AcceptedLoss { published: &published, ..loss(&noted) };
    let done = Ledger::repair(scratch.ledger(), &accepted).unwrap();
    assert_eq!(done.charges, 1);
    assert_eq!(spending(&mut Ledger::open(scratch.ledger()).unwrap()), before);
}

// Refutes a torn window that passes although the ledger lacks its row, and one that a repair did not give up:
// a repair gives up the windows that start before its floor.
#[test]
fn a_torn_window_needs_its_row_or_a_repair_after_its_start() {
    let scratch = ScratchPlace::File.scratch();
    let lost = [sealing("web", (10, 20), 3, "lost")];
    let (rows, _) = put_back(&scratch, Promise::Lifetime, sealing("web", (0, 10), 3, "kept"), &lost);
    let at = |start: i64| torn(&sealing("web", (start, start + 10), 3, "").release);
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    ledger.holds_published(&at(0)).unwrap();
    let refused = ledger.holds_published(&at(10)).unwrap_err();
    assert!(refused.to_string().contains("this ledger has no row of it"), "{refused}");
    drop(ledger);

    let (done, mut ledger) = repaired(&scratch, &[published(&rows[0])]);
    assert_eq!(done.floor, NOW);
    ledger.holds_published(&at(10)).unwrap();
    ledger.holds_published(&at(NOW - 1)).unwrap();
    assert!(ledger.holds_published(&at(NOW)).is_err(), "no repair gave it up");
}

// Refutes a cost that is guessed from another version, or from a window that paid for others.
#[test]
fn a_window_whose_price_nobody_knows_takes_what_is_left() {
    for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(20)] {
        let dearer = {
            let mut dearer = sealing("web", (10, 20), 9, "of another version");
            dearer.release.version = Digest::of(b"version 2");
            dearer
        };
        for (first, lost) in [
            (sealing("web", (0, 10), 3, "kept"), dearer),
            (once("web", (0, 10), (0, 10), 3), once("web", (10, 20), (10, 30), 9)),
        ] {
            let scratch = ScratchPlace::File.scratch();
            let (rows, before) = put_back(&scratch, promise, first, &[lost]);
            let (_, mut ledger) = repaired(&scratch, &[published(&rows[0])]);
            assert!(no_less(&before, &spending(&mut ledger)), "{promise:?}");
            let claim = ledger.claim(&name("web")).unwrap();
            let later = sealing("web", (NOW + 10, NOW + 20), 1, "later");
            assert_eq!(
                ledger.seal(&claim, &[later]).unwrap()[0].status(),
                ReleaseStatus::Refused,
                "{promise:?}"
            );
        }
    }
    // A life that was paid for before the copy is not paid for again.
    let scratch = ScratchPlace::File.scratch();
    let (first, lost) = (once("web", (0, 10), (0, 100), 3), once("web", (10, 20), (0, 100), 3));
    let (rows, before) = put_back(&scratch, Promise::Lifetime, first, &[lost]);
    let (done, mut ledger) = repaired(&scratch, &[published(&rows[0])]);
    assert_eq!((done.charges, spending(&mut ledger)), (0, before));
}

#[test]
fn an_older_copy_is_charged_for_what_the_anchor_knows_and_draws_no_old_window() {
    for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(20)] {
        let scratch = ScratchPlace::File.scratch();
        let mut ledger = ledger(&scratch, promise, 100);
        let claim = ledger.claim(&name("web")).unwrap();
        ledger.seal(&claim, &[sealing("web", (0, 10), 3, "kept")]).unwrap();
        let older = scratch.directory().join("older");
        ledger.export(&older).unwrap();
        let lost: Vec<Row> = (1..4)
            .map(|k| {
                ledger.seal(&claim, &[sealing("web", (10 * k, 10 * k + 10), 3, "lost")]).unwrap().remove(0)
            })
            .collect();
        let entries = journal(&scratch.directory().join("anchor"), &ledger, &lost);
        let before = spending(&mut ledger);
        drop((ledger, claim));
        fs::copy(&older, scratch.ledger()).unwrap();

        let repaired = Ledger::repair(scratch.ledger(), &loss(&entries)).unwrap();
        assert_eq!((repaired.sound, repaired.charges, repaired.floor), (2, 3, NOW));
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        assert_eq!(spending(&mut ledger), before, "{promise:?}");
        entries.iter().for_each(|entry| ledger.holds(&entry.anchor).unwrap());
        let unknown = Anchor { chain: Digest::of(b"another"), ..entries[0].anchor };
        assert!(ledger.holds(&unknown).is_err());
        // The forecast has no window that is lost.
        let account = ledger.accounts().unwrap()[0].name().clone();
        let next = ledger.forecast(&account).unwrap().paces()[0].next.start();
        assert!((NOW..NOW + 10).contains(&next), "{next}");

        let claim = ledger.claim(&name("web")).unwrap();
        let mut status = |window| {
            let row = ledger.seal(&claim, &[sealing("web", window, 3, "drawn again")]).unwrap().remove(0);
            (row.status(), row.line().to_owned(), row.cost().cloned())
        };
        assert_eq!(status((0, 10)), (ReleaseStatus::Sealed, "kept".to_owned(), Some(rho(3))));
        for window in [(10, 20), (30, 40), (50, 60), (NOW - 1, NOW + 9)] {
            let (status, line, cost) = status(window);
            assert_eq!((status, cost), (ReleaseStatus::Lost, None));
            assert!(line.contains("\"lost\":true,\"why\":\"starts before a repair"), "{line}");
            assert!(line.ends_with("released for it earlier holds\"}"), "{line}");
        }
        assert_eq!(status((NOW, NOW + 10)).0, ReleaseStatus::Sealed);
        // A second repair is refused: nothing is in doubt.
        drop((ledger, claim));
        let error = Ledger::repair(scratch.ledger(), &loss(&entries)).unwrap_err();
        assert_eq!(error.kind(), LedgerErrorKind::Refused, "{error}");
    }
}

#[test]
fn what_was_paid_once_is_paid_again_when_what_it_bought_is_gone() {
    let scratch = ScratchPlace::File.scratch();
    history(&scratch, Promise::Lifetime);
    shell(&scratch, "UPDATE release SET line = 'another' WHERE sequence = 9");
    Ledger::repair(scratch.ledger(), &AcceptedLoss { now: 120, ..loss(&[]) }).unwrap();
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert!(ledger.states(&name("web"), &name("by_path")).unwrap().is_empty());
    assert!(ledger.notes(&name("web"), &name("by_path")).unwrap().is_empty());
    let claim = ledger.claim(&name("web")).unwrap();
    let row = &ledger.seal(&claim, &[once("web", (120, 130), (40, 140), 5)]).unwrap()[0];
    assert_eq!((row.status(), row.cost()), (ReleaseStatus::Sealed, Some(&rho(5))));
}

fn shell(scratch: &Scratch, edit: &str) {
    let shell = rusqlite::Connection::open(scratch.ledger()).unwrap();
    let triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'";
    let triggers: Vec<String> = shell
        .prepare(triggers)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    triggers.iter().for_each(|trigger| shell.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap());
    shell.execute_batch(&format!("PRAGMA foreign_keys = OFF; {edit}")).unwrap();
}

#[test]
fn an_edited_ledger_keeps_what_is_proven_and_loses_no_budget() {
    let edits = [
        ("UPDATE release SET line = 'another' WHERE sequence = 7", 6),
        ("UPDATE release SET cost = NULL WHERE sequence = 7", 6),
        ("DELETE FROM release WHERE sequence = 7", 6),
        ("DELETE FROM release WHERE sequence = 13", 12),
        ("UPDATE balance SET spent = (SELECT cap FROM account)", 13),
        ("DELETE FROM balance", 13),
        ("DELETE FROM state", 13),
        ("UPDATE head SET sequence = 40", 13),
    ];
    for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(20)] {
        for (edit, sound) in edits {
            let scratch = ScratchPlace::File.scratch();
            let rows = history(&scratch, promise);
            let before = spending(&mut Ledger::open(scratch.ledger()).unwrap());
            shell(&scratch, edit);
            assert_eq!(Ledger::open(scratch.ledger()).unwrap_err().kind(), LedgerErrorKind::Doubt, "{edit}");
            let repaired = Ledger::repair(scratch.ledger(), &loss(&[])).unwrap();
            assert_eq!(repaired.sound, sound, "{edit}");
            assert!(repaired.torn.unwrap().exists());
            let mut ledger = Ledger::open(scratch.ledger()).unwrap();
            assert!(no_less(&before, &spending(&mut ledger)), "{promise:?}: {edit}: budget was lost");
            for row in &rows {
                let kept = ledger.look_up(row.release()).unwrap();
                assert_eq!(kept.as_ref(), Some(row).filter(|row| row.sequence() <= sound), "{edit}");
            }
            let other = LedgerKey::create(scratch.directory().join("other.key")).unwrap();
            assert_eq!(ledger.bind(&other).unwrap_err().kind(), LedgerErrorKind::Refused, "{edit}");
            let claim = ledger.claim(&name("web")).unwrap();
            let row = &ledger.seal(&claim, &[sealing("web", (60, 70), 3, "drawn again")]).unwrap()[0];
            assert_ne!(row.line(), "drawn again", "{edit}");
        }
    }
}

#[test]
fn a_account_that_cannot_be_proven_is_not_guessed() {
    let scratch = ScratchPlace::File.scratch();
    history(&scratch, Promise::Lifetime);
    shell(&scratch, "UPDATE account SET cap = (SELECT spent FROM balance)");
    let torn = fs::read(scratch.ledger()).unwrap();
    let error = Ledger::repair(scratch.ledger(), &loss(&[])).unwrap_err();
    assert_eq!(error.kind(), LedgerErrorKind::Doubt);
    assert!(error.to_string().contains("bring back a copy"), "{error}");
    assert_eq!(fs::read(scratch.ledger()).unwrap(), torn, "a repair that failed changed something");
}

#[test]
fn a_repair_needs_a_reason_and_a_doubt_and_nobody_running() {
    let scratch = ScratchPlace::File.scratch();
    history(&scratch, Promise::Lifetime);
    let refused =
        |reason| Ledger::repair(scratch.ledger(), &AcceptedLoss { reason, ..loss(&[]) }).unwrap_err();
    assert!(refused(" ").to_string().contains("reason"));
    assert!(refused("because").to_string().contains("nothing is in doubt"));
    let running = Ledger::open(scratch.ledger()).unwrap().claim(&name("web")).unwrap();
    shell(&scratch, "DELETE FROM balance");
    assert_eq!(refused("because").kind(), LedgerErrorKind::Fenced);
    drop(running);
    Ledger::repair(scratch.ledger(), &loss(&[])).unwrap();
}

/// Repairs this file, if it is in doubt; returns true if that was possible. Refutes a repair after which a
/// window costs less than before or is drawn again, and one that leaves something other than a sound ledger
/// or the unchanged file.
fn mended(torn: &[u8], rows: &[Row], before: &[PrivacyCost], what: &str) -> Option<bool> {
    let scratch = ScratchPlace::File.scratch();
    fs::write(scratch.ledger(), torn).unwrap();
    if Ledger::open(scratch.ledger()).is_ok() {
        return None;
    }
    if let Err(trouble) = Ledger::repair(scratch.ledger(), &loss(&[])) {
        assert!(trouble.to_string().contains("bring back a copy"), "{what}: {trouble}");
        assert!(fs::read(scratch.ledger()).unwrap() == torn, "{what}: it was changed");
        return Some(false);
    }
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert!(no_less(before, &spending(&mut ledger)), "{what}: budget was lost");
    let claim = ledger.claim(&name("web")).unwrap();
    let again: Vec<Sealing> = rows
        .iter()
        .map(|row| Sealing { release: row.release().clone(), ..sealing("web", (0, 1), 3, "drawn again") })
        .collect();
    let again = ledger.seal(&claim, &again).unwrap();
    assert!(again.iter().all(|row| row.line() != "drawn again"), "{what}");
    Some(true)
}

/// A sound ledger, with its rows and their costs.
fn sound() -> (Vec<u8>, Vec<Row>, Vec<PrivacyCost>) {
    let scratch = ScratchPlace::File.scratch();
    let rows = history(&scratch, Promise::Any(30));
    let before = spending(&mut Ledger::open(scratch.ledger()).unwrap());
    (fs::read(scratch.ledger()).unwrap(), rows, before)
}

// Refutes a header with an unknown number in it that is taken for a refusal by a sound file.
#[test]
fn an_unknown_format_of_the_file_is_damage() {
    let (mut torn, rows, before) = sound();
    // The last byte of the number of the schema's format, of which 4 is the greatest.
    torn[47] = 20;
    assert_eq!(mended(&torn, &rows, &before, "the format"), Some(false));
}

/// Flips random bits: a repair succeeds, or refuses.
#[test]
fn no_flipped_byte_makes_a_repair_give_budget_back() {
    let (sound, rows, before) = sound();
    let mut noise = NoiseSource::seeded(1);
    let (mut repaired, mut refused) = (0, 0);
    for round in 0..size(1_000, 20_000) {
        let mut bytes = sound.clone();
        let place = noise.below(bytes.len() as u64) as usize;
        bytes[place] ^= 1 << noise.below(8);
        match mended(&bytes, &rows, &before, &format!("round {round}: byte {place}")) {
            Some(true) => repaired += 1,
            Some(false) => refused += 1,
            None => {}
        }
    }
    assert!(repaired > 20, "{repaired} repaired, {refused} refused");
}

/// Sets the number of a row to that of another. Refutes a repair that takes a row as proven by its number.
#[test]
fn a_row_under_the_number_of_another_is_not_proven_by_it() {
    let (sound, rows, before) = sound();
    let mut repaired = 0;
    for place in 0..sound.len() {
        // Changes a number of the second half into one of the first.
        if !(rows.len() as u8 / 2..rows.len() as u8).contains(&sound[place]) {
            continue;
        }
        let mut bytes = sound.clone();
        bytes[place] = 1;
        if in_order(&bytes) == Some(false) {
            assert_eq!(mended(&bytes, &rows, &before, "out of order"), Some(true), "byte {place}");
            repaired += 1;
        }
    }
    assert!(repaired > 0, "no row was found");
}

/// Returns true if the rows of this file are in order; `None` if they cannot be read.
fn in_order(file: &[u8]) -> Option<bool> {
    let scratch = ScratchPlace::File.scratch();
    fs::write(scratch.ledger(), file).unwrap();
    let tables = rusqlite::Connection::open(scratch.ledger()).ok()?;
    let mut read = tables.prepare("SELECT sequence FROM release ORDER BY sequence").ok()?;
    let rows: Result<Vec<i64>, _> = read.query_map([], |row| row.get(0)).ok()?.collect();
    rows.ok().map(|rows| rows.is_sorted())
}
