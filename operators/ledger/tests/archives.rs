//! An archive takes rows out of a ledger, and changes no decision about a window from its floor on.

use std::path::PathBuf;

use super::*;
use crate::ledger::{Archive, ArchiveOrder, Archived};

everywhere! {
    what_is_archived_is_verified_without_the_ledger_and_the_ledger_without_it
    charges_after_an_archive_are_those_without
    archives_form_a_chain
    what_is_still_needed_stays
    a_window_in_an_archive_is_neither_drawn_nor_written_again
    nothing_is_charged_for_a_time_before_the_floor
    an_archive_is_refused_where_something_would_be_lost
    an_edit_around_an_archive_is_found
    an_archive_that_was_not_recorded_is_written_again
    a_ledger_with_archives_is_copied_and_repaired
}

fn key(scratch: &Scratch) -> LedgerKey {
    LedgerKey::open(scratch.key()).unwrap()
}

fn window(k: i64) -> Sealing {
    sealing("web", (10 * k, 10 * k + 10), 3, &format!("line {k}"))
}

fn seal(ledger: &mut Ledger, claim: &Claim, batch: &[Sealing]) -> Vec<Row> {
    let rows = ledger.seal(claim, batch).unwrap();
    ledger.mark(&rows).unwrap();
    rows
}

/// A ledger with this number of delivered windows of ten.
fn history(scratch: &Scratch, promise: Promise, cap: u128, windows: i64) -> Ledger {
    let mut ledger = ledger(scratch, promise, cap);
    ledger.bind(&key(scratch)).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    seal(&mut ledger, &claim, &(0..windows).map(window).collect::<Vec<_>>());
    ledger
}

fn archive_as(
    scratch: &Scratch,
    file: &str,
    before: i64,
    change: impl Fn(&mut ArchiveOrder<'_>),
) -> Result<Archived, LedgerError> {
    let (to, key) = (scratch.directory().join(file), key(scratch));
    let mut order = ArchiveOrder { to: &to, before, now: 1 << 40, key: &key, retired: &[], shrinks: true };
    change(&mut order);
    Ledger::archive(scratch.ledger(), &order)
}

fn archive(scratch: &Scratch, file: &str, before: i64) -> Archived {
    archive_as(scratch, file, before, |_| ()).unwrap()
}

fn path(scratch: &Scratch, file: &str) -> PathBuf {
    scratch.directory().join(file)
}

fn count(ledger: &mut Ledger) -> usize {
    ledger.rows_of(&name("web")).unwrap().len()
}

fn what_is_archived_is_verified_without_the_ledger_and_the_ledger_without_it(at: ScratchPlace) {
    for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(30)] {
        let scratch = at.scratch();
        let mut whole = history(&scratch, promise, 1 << 40, 40);
        let (rows, spent, head) = (whole.row_count().unwrap(), spent(&mut whole), whole.head().unwrap());
        let releases = whole.releases(&name("visits")).unwrap();
        drop(whole);
        let archived = archive(&scratch, "one", 200);
        assert_eq!((archived.removed, archived.until), (20, 41), "{promise:?}");
        let found = Archive::verify_with_key(&path(&scratch, "one"), &key(&scratch)).unwrap();
        assert_eq!((found.rows, found.until, found.chain), (41, head.0, head.1));
        assert_eq!((found.from, found.former, found.hash), (0, Digest::NONE, archived.file));
        let other = LedgerKey::create(path(&scratch, "other.key")).unwrap();
        assert!(Archive::verify_with_key(&path(&scratch, "one"), &other).is_err());
        let mut lines = Vec::new();
        Archive::releases(&path(&scratch, "one"), &mut |row| {
            lines.push(row.line().to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(lines, (0..40).map(|k| format!("line {k}")).collect::<Vec<_>>());

        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        assert_eq!(count(&mut ledger), 20);
        assert_eq!(ledger.row_count().unwrap(), rows + 1, "the archive is a row, and all others are counted");
        assert_eq!(ledger.releases(&name("visits")).unwrap(), releases);
        if promise == Promise::Lifetime {
            assert_eq!(super::spent(&mut ledger), spent);
        }
        assert_eq!(ledger.archived().unwrap(), Some((41, 200)));
        assert_eq!(ledger.verify_archives(&[path(&scratch, "one")]).unwrap(), 41);
        assert!(ledger.verify_archives(&[]).is_err());
        assert!(Ledger::verify_beside(&scratch.ledger(), &mut || true).unwrap());
        // The checkpoint that archiving leaves opens it, too.
        drop(ledger);
        assert!(!Ledger::open_from_checkpoint(&scratch.ledger(), &key(&scratch)).unwrap().is_whole());
    }
}

// Refutes a budget that an archive gives back, or takes away.
fn charges_after_an_archive_are_those_without(at: ScratchPlace) {
    let tries = size(at.tries(24), at.tries(400));
    for seed in 0..tries as u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut any = |below: i64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as i64 % below
        };
        let promise =
            [Promise::Lifetime, Promise::Any(37), Promise::Each(30), Promise::Any(5)][any(4) as usize];
        let (plain, archived) = (at.scratch(), at.scratch());
        let cap = if promise == Promise::Lifetime { 400 } else { 20 };
        let mut ledgers = [&plain, &archived].map(|scratch| {
            let mut ledger = ledger(scratch, promise, cap);
            ledger.bind(&key(scratch)).unwrap();
            ledger
        });
        let mut batch = |from: i64, count: i64| -> Vec<Sealing> {
            let release = |k: i64| {
                let start = from + any(120);
                let mut next = sealing("web", (start, start + 1 + any(40)), 1 + any(9) as u128, "line");
                next.release.name = name(&format!("release_{from}_{k}"));
                next
            };
            (0..count).map(release).collect()
        };
        let (before, after) = (batch(0, 40), batch(90, 40));
        let floor = 90;
        let statuses = ledgers.each_mut().map(|ledger| {
            let claim = ledger.claim(&name("web")).unwrap();
            seal(ledger, &claim, &before).iter().map(Row::status).collect::<Vec<_>>()
        });
        assert_eq!(statuses[0], statuses[1]);
        let [mut plain_ledger, to_archive] = ledgers;
        drop(to_archive);
        let settled = before.iter().map(|sealing| sealing.release.window.end()).max().unwrap();
        assert!(settled > floor);
        archive(&archived, "one", floor);
        let mut archived_ledger = Ledger::open(archived.ledger()).unwrap();
        for ledger in [&mut plain_ledger, &mut archived_ledger] {
            ledger.verify().unwrap();
        }
        let [one, other] = [&mut plain_ledger, &mut archived_ledger].map(|ledger| {
            let claim = ledger.claim(&name("web")).unwrap();
            let rows = seal(ledger, &claim, &after);
            rows.iter().map(|row| (row.status(), row.line().to_owned())).collect::<Vec<_>>()
        });
        assert_eq!(one, other, "seed {seed}, {promise:?}");
        for start in 90..260 {
            let window = Interval::new(start, start + 7).unwrap();
            let [one, other] = [&mut plain_ledger, &mut archived_ledger]
                .map(|ledger| ledger.spent(&name("visits"), window).unwrap());
            assert_eq!(one, other, "seed {seed}, {promise:?}, {start}");
        }
        archived_ledger.verify().unwrap();
    }
}

fn archives_form_a_chain(at: ScratchPlace) {
    for promise in [Promise::Lifetime, Promise::Any(30), Promise::Each(30)] {
        let scratch = at.scratch();
        drop(history(&scratch, promise, 1 << 40, 20));
        let first = archive(&scratch, "one", 100);
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        ledger.amend(&name("visits"), &rho((1 << 40) + 1), "an operator", "more room").unwrap();
        let claim = ledger.claim(&name("web")).unwrap();
        seal(&mut ledger, &claim, &(20..40).map(window).collect::<Vec<_>>());
        drop((ledger, claim));
        let second = archive(&scratch, "two", 300);
        assert_eq!(second.removed, 20, "those that the first had carried, and new ones");
        let found = Archive::verify(&path(&scratch, "two")).unwrap();
        assert_eq!((found.from, found.former), (first.until, first.file));
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        let both = [path(&scratch, "one"), path(&scratch, "two")];
        assert_eq!(ledger.verify_archives(&both).unwrap(), 21 + 1 + 1 + 20);
        assert!(ledger.verify_archives(&[both[1].clone(), both[0].clone()]).is_err());
        assert_eq!(count(&mut ledger), 10);
        ledger.verify().unwrap();
    }
}

fn what_is_still_needed_stays(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 1 << 40);
    ledger.bind(&key(&scratch)).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let life = |until| Some(Charge::Once { cost: cost(3), life: Interval::new(0, until).unwrap() });
    let named = |of: &str, sealing: Sealing| Sealing {
        release: ReleaseId { name: name(of), ..sealing.release },
        ..sealing
    };
    let kept = State { version: 1, former: None, held: b"what a mechanism keeps".to_vec(), note: None };
    let total = Sealing { charge: life(1_000), state: Some(kept), ..named("total", window(0)) };
    let part = Sealing {
        release: ReleaseId { part: Some(Digest::of(b"a question")), ..window(1).release },
        ..window(1)
    };
    seal(&mut ledger, &claim, &[total.clone(), part.clone(), window(2), window(3)]);
    // Its line may not have left.
    ledger.seal(&claim, &[window(4)]).unwrap();
    seal(&mut ledger, &claim, &[window(5), window(6)]);
    drop((ledger, claim));
    assert_eq!(archive(&scratch, "one", 60).removed, 3, "windows 2, 3 and 5");
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert_eq!(ledger.undelivered(&name("web")).unwrap().len(), 1);
    assert!(ledger.look_up(&part.release).unwrap().is_some());
    assert!(!ledger.states(&name("web"), &name("total")).unwrap().is_empty());
    let claim = ledger.claim(&name("web")).unwrap();
    let next = Sealing { charge: life(1_000), ..named("total", window(7)) };
    let row = &seal(&mut ledger, &claim, &[next])[0];
    assert_eq!((row.status(), row.cost()), (ReleaseStatus::Sealed, None), "the life was paid for twice");
    ledger.verify().unwrap();
}

fn a_window_in_an_archive_is_neither_drawn_nor_written_again(at: ScratchPlace) {
    let scratch = at.scratch();
    drop(history(&scratch, Promise::Lifetime, 1 << 40, 10));
    archive(&scratch, "one", 50);
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let head = ledger.head().unwrap();
    let other_version = |sealing: Sealing| Sealing {
        release: ReleaseId { version: Digest::of(b"version 2"), ..sealing.release },
        ..sealing
    };
    let skipped = Sealing { status: ReleaseStatus::Skipped, charge: None, ..window(3) };
    for again in [window(4), skipped, other_version(window(4))] {
        let refused = ledger.seal(&claim, &[again]).unwrap_err();
        assert_eq!(refused.kind(), LedgerErrorKind::Refused);
        assert!(refused.to_string().contains("archive"), "{refused}");
    }
    assert_eq!(ledger.head().unwrap(), head);
    // The next window is what it was.
    let row = &seal(&mut ledger, &claim, &[other_version(window(5))])[0];
    assert_eq!(row.status(), ReleaseStatus::Sealed);
    // Rows in an archive were published, and the ledger is not behind them.
    let found = Archive::verify(&path(&scratch, "one")).unwrap();
    let anchor = |sequence, chain| Anchor { ledger: found.ledger, sequence, chain };
    ledger.holds(&anchor(3, Digest::of(b"whatever"))).unwrap();
    assert!(ledger.holds(&anchor(9, Digest::of(b"another history"))).is_err(), "row 9 is still here");
}

fn nothing_is_charged_for_a_time_before_the_floor(at: ScratchPlace) {
    for (promise, status) in [
        (Promise::Lifetime, ReleaseStatus::Sealed),
        (Promise::Any(30), ReleaseStatus::Lost),
        (Promise::Each(30), ReleaseStatus::Lost),
    ] {
        let scratch = at.scratch();
        drop(history(&scratch, promise, 1 << 40, 10));
        archive(&scratch, "one", 55);
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        let claim = ledger.claim(&name("web")).unwrap();
        let late = sealing("web", (54, 57), 3, "late");
        let row = &seal(&mut ledger, &claim, &[late])[0];
        assert_eq!(
            (row.status(), row.cost().is_some()),
            (status, status == ReleaseStatus::Sealed),
            "{promise:?}"
        );
        let row = &seal(&mut ledger, &claim, &[sealing("web", (55, 58), 3, "in time")])[0];
        assert_eq!(row.status(), ReleaseStatus::Sealed);
        ledger.verify().unwrap();
    }
}

fn an_archive_is_refused_where_something_would_be_lost(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = history(&scratch, Promise::Lifetime, 1 << 40, 10);
    let refused = |before, change: &dyn Fn(&mut ArchiveOrder<'_>)| {
        let refused = archive_as(&scratch, "one", before, change).unwrap_err();
        assert!(!path(&scratch, "one").exists() && !path(&scratch, "one.new").exists());
        (refused.kind(), refused.to_string())
    };
    let claim = ledger.claim(&name("web")).unwrap();
    assert_eq!(refused(50, &|_| ()).0, LedgerErrorKind::Fenced, "a job runs");
    // On a server the right is the connection's.
    drop((claim, ledger));
    assert!(refused(200, &|_| ()).1.contains("--retired web"));
    assert!(refused(50, &|order| order.now = 49).1.contains("to come"));
    assert!(refused(0, &|_| ()).1.contains("nothing was archived"));
    let other = LedgerKey::create(path(&scratch, "other.key")).unwrap();
    let to = path(&scratch, "one");
    let order = ArchiveOrder { to: &to, before: 50, now: 60, key: &other, retired: &[], shrinks: false };
    assert!(Ledger::archive(scratch.ledger(), &order).unwrap_err().to_string().contains("key"));
    scratch.edit("UPDATE release SET line = 'other' WHERE sequence = 3", false).unwrap();
    assert_eq!(refused(50, &|_| ()).0, LedgerErrorKind::Doubt);
    // Rows that no archive holds cannot be removed, even with a shell.
    let scratch = at.scratch();
    drop(history(&scratch, Promise::Lifetime, 1 << 40, 10));
    assert!(scratch.edit("DELETE FROM release WHERE sequence = 3", true).is_err());
    archive(&scratch, "one", 50);
    assert!(scratch.edit("UPDATE archive SET until = until + 9", true).is_err());
    assert!(scratch.edit("DELETE FROM archive", true).is_err());
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    seal(&mut ledger, &claim, &[window(10)]);
    assert!(scratch.edit("DELETE FROM release WHERE sequence = 13", true).is_err());
}

fn an_edit_around_an_archive_is_found(at: ScratchPlace) {
    for edit in [
        "UPDATE archive SET content = zeroblob(32)",
        "UPDATE archive SET file = zeroblob(32)",
        "UPDATE archive SET floor = floor - 10",
        "UPDATE archive SET state = zeroblob(32)",
        "UPDATE archive SET carried = zeroblob(32)",
        "DELETE FROM archive",
        "DELETE FROM release WHERE sequence = 9",
        "UPDATE release SET line = 'other' WHERE sequence = 9",
        "UPDATE balance SET spent = (SELECT cap FROM account), partial = (SELECT cap FROM account)",
        "DELETE FROM settled",
    ] {
        let scratch = at.scratch();
        drop(history(&scratch, Promise::Any(30), 1 << 40, 12));
        archive(&scratch, "one", 50);
        scratch.edit(edit, false).unwrap();
        let found = Ledger::open(scratch.ledger()).unwrap_err();
        assert_eq!(found.kind(), LedgerErrorKind::Doubt, "{edit}");
    }
    // Of the archive itself, each byte counts.
    let scratch = at.scratch();
    drop(history(&scratch, Promise::Any(30), 1 << 40, 12));
    archive(&scratch, "one", 50);
    let bytes = std::fs::read(path(&scratch, "one")).unwrap();
    let whole = Archive::verify(&path(&scratch, "one")).unwrap();
    let step = size(7, 1);
    for at in (0..bytes.len()).step_by(step) {
        let mut edited = bytes.clone();
        edited[at] ^= 0x10;
        std::fs::write(path(&scratch, "edited"), &edited).unwrap();
        // A packed stream has bits without a meaning: then the content is the same, and the file has another hash.
        if let Ok(found) = Archive::verify(&path(&scratch, "edited")) {
            assert_ne!(found.hash, whole.hash, "byte {at} was changed unnoticed");
            assert_eq!(Archive { hash: whole.hash, ..found }, whole, "byte {at}");
        }
    }
    for edited in [&bytes[..bytes.len() - 1], &[&bytes[..], b"more"].concat(), &bytes[..100], b""] {
        std::fs::write(path(&scratch, "edited"), edited).unwrap();
        assert!(Archive::verify(&path(&scratch, "edited")).is_err());
    }
}

fn an_archive_that_was_not_recorded_is_written_again(at: ScratchPlace) {
    let scratch = at.scratch();
    drop(history(&scratch, Promise::Lifetime, 1 << 40, 10));
    let copy = path(&scratch, "copy");
    Ledger::open(scratch.ledger()).unwrap().export(&copy).unwrap();
    archive(&scratch, "one", 50);
    // What a crash before the commit leaves: the archive, and every row in the ledger.
    std::fs::rename(path(&scratch, "one"), path(&scratch, "left")).unwrap();
    let key = key(&scratch);
    let to = path(&scratch, "left");
    let order = ArchiveOrder { to: &to, before: 50, now: 1 << 40, key: &key, retired: &[], shrinks: false };
    let archived = Ledger::archive(&copy, &order).unwrap();
    assert_eq!(archived.removed, 5);
    // What a crash after the commit leaves is complete.
    assert_eq!(Ledger::archive(&copy, &order).unwrap(), Archived { removed: 0, ..archived });
    // A later floor needs a file of its own: nothing is archived, and nobody is led to think so.
    let later = ArchiveOrder { before: 60, ..order };
    assert!(Ledger::archive(&copy, &later).unwrap_err().to_string().contains("already; give the path"));
    // Neither an earlier archive nor any other file is written over.
    let mut ledger = Ledger::open(&copy).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    seal(&mut ledger, &claim, &[window(10)]);
    drop((ledger, claim));
    let second = path(&scratch, "second");
    Ledger::archive(&copy, &ArchiveOrder { to: &second, before: 70, ..order.clone() }).unwrap();
    let over = ArchiveOrder { before: 80, ..order.clone() };
    assert!(Ledger::archive(&copy, &over).unwrap_err().to_string().contains("earlier archive"));
    std::fs::write(path(&scratch, "notes"), "my notes").unwrap();
    let notes = path(&scratch, "notes");
    assert!(Ledger::archive(&copy, &ArchiveOrder { to: &notes, ..over }).is_err());
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "my notes");
}

fn a_ledger_with_archives_is_copied_and_repaired(at: ScratchPlace) {
    let scratch = at.scratch();
    drop(history(&scratch, Promise::Any(30), 1 << 40, 20));
    archive(&scratch, "one", 100);
    let copy = path(&scratch, "copy");
    Ledger::open(scratch.ledger()).unwrap().export(&copy).unwrap();
    let mut copied = Ledger::open(&copy).unwrap();
    assert_eq!(copied.verify_archives(&[path(&scratch, "one")]).unwrap(), 21);
    let claim = copied.claim(&name("web")).unwrap();
    let rows = seal(&mut copied, &claim, &(20..24).map(window).collect::<Vec<_>>());
    drop((copied, claim));
    // A torn file keeps its archives, and all rows that are proven.
    let shell = rusqlite::Connection::open(&copy).unwrap();
    shell
        .execute_batch("DROP TRIGGER release_stays; UPDATE release SET line = 'other' WHERE sequence = 25")
        .unwrap();
    drop(shell);
    assert!(Ledger::open(&copy).is_err());
    let loss = AcceptedLoss { reason: "a test", now: 500, anchors: &[], published: &[] };
    let repaired = Ledger::repair(&copy, &loss).unwrap();
    assert_eq!(repaired.sound, 24);
    let mut ledger = Ledger::open(&copy).unwrap();
    assert_eq!(ledger.verify_archives(&[path(&scratch, "one")]).unwrap(), 21);
    assert!(ledger.look_up(&window(19).release).unwrap().is_some(), "a carried row");
    assert_eq!(ledger.look_up(&window(20).release).unwrap().unwrap().chain(), rows[0].chain());
    assert_eq!(ledger.archived().unwrap(), Some((21, 100)));
}
