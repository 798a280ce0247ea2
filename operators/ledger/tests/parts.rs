//! Several answers over one window: separate releases, each under a name of its own, paid for together.

use super::*;

everywhere! {
    answers_over_one_window_are_releases_of_their_own
    whichever_answer_comes_first_pays_for_the_life
    lines_that_end_an_answer_say_which
    answers_are_exported_with_their_names
}

/// An answer over the window 0..10, one of those that 5 units pay for.
fn answer(part: &[u8], line: &str) -> Sealing {
    let mut sealing = once("web", (0, 10), (0, 100), 5);
    sealing.release.part = Some(Digest::of(part));
    Sealing { line: line.to_owned(), ..sealing }
}

/// Refutes answers that are confused with one another, and an answer that is drawn again after a restart.
fn answers_over_one_window_are_releases_of_their_own(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let (first, second) = (answer(b"first", "one"), answer(b"second", "two"));
    let whole = once("web", (0, 10), (0, 100), 5);
    let rows = ledger.seal(&claim, &[first.clone(), second.clone(), whole.clone()]).unwrap();
    assert_eq!(rows.iter().map(Row::line).collect::<Vec<_>>(), ["one", "two", "line"]);
    for (row, sealing) in rows.iter().zip([&first, &second, &whole]) {
        assert_eq!(row.release(), &sealing.release);
    }
    drop((ledger, claim));

    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    assert_eq!(ledger.rows_of(&name("web")).unwrap(), rows);
    let again = [answer(b"second", "drawn again"), answer(b"first", "drawn again")];
    let again = ledger.seal(&claim, &again).unwrap();
    assert_eq!(again.iter().map(Row::line).collect::<Vec<_>>(), ["two", "one"]);
    let recovered = ledger.recover(&claim, &[second.release, answer(b"third", "").release]).unwrap();
    assert_eq!(recovered.iter().flatten().map(Row::line).collect::<Vec<_>>(), ["two"]);
}

/// Refutes a second charge for a bundle, and a row that pays only for answers of its own name.
fn whichever_answer_comes_first_pays_for_the_life(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let batch = [answer(b"first", "one"), answer(b"second", "two")];
    let mut rows = ledger.seal(&claim, &batch).unwrap();
    drop((ledger, claim));
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let mut elsewhere = answer(b"first", "another window");
    elsewhere.release.window = Interval::new(50, 60).unwrap();
    rows.extend(ledger.seal(&claim, &[elsewhere]).unwrap());
    let payer = rows[0].release().id();
    assert_eq!(rows.iter().map(|row| row.cost().cloned()).collect::<Vec<_>>(), [Some(rho(5)), None, None]);
    assert_eq!(rows.iter().map(|row| row.prepaid).collect::<Vec<_>>(), [None, Some(payer), Some(payer)]);
    assert_eq!(spent(&mut ledger), rho(5));
    assert!(ledger.verify().is_ok());
}

/// Refutes closing lines of several answers that do not name their answer.
fn lines_that_end_an_answer_say_which(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 1);
    let claim = ledger.claim(&name("web")).unwrap();
    let mut affordable = answer(b"sealed", "line");
    affordable.charge = once("web", (0, 10), (0, 100), 1).charge;
    let skipped = Sealing { charge: None, status: ReleaseStatus::Skipped, ..answer(b"skipped", "") };
    let skipped = Sealing { line: skipped.release.tombstone(ReleaseStatus::Skipped), ..skipped };
    let mut refused = answer(b"refused", "line");
    refused.release.version = Digest::of(b"version 2");
    let rows = ledger.seal(&claim, &[affordable, skipped, refused]).unwrap();
    assert_eq!(
        rows.iter().map(Row::status).collect::<Vec<_>>(),
        [ReleaseStatus::Sealed, ReleaseStatus::Skipped, ReleaseStatus::Refused]
    );
    let window = "{\"release\":\"by_path\",\"window\":{\"start\":\"1970-01-01T00:00:00Z\",\"end\":\"1970-01-01T00:00:00.00001Z\"}";
    let starts = |part: &[u8], rest: &str| format!("{window},\"part\":\"{}\",{rest}", Digest::of(part));
    let closing = rows[0].closing().unwrap();
    assert!(closing.starts_with(&starts(b"sealed", "\"closed\":true,\"cells\":1,\"seq\":2,")), "{closing}");
    assert_eq!(rows[1].line(), starts(b"skipped", "\"skipped\":true}"));
    assert!(rows[2].line().starts_with(&starts(b"refused", "\"refused\":\"budget\",")), "{}", rows[2].line());
}

fn answers_are_exported_with_their_names(at: ScratchPlace) {
    let scratch = at.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let rows = ledger.seal(&claim, &[answer(b"first", "one"), sealing("web", (0, 10), 1, "line")]).unwrap();
    let copy = scratch.directory().join("copy.ledger");
    ledger.export(&copy).unwrap();
    assert_eq!(Ledger::open(&copy).unwrap().rows_of(&name("web")).unwrap(), rows);
}

/// Refutes a repair that forgets which answers were released.
#[test]
fn answers_keep_their_names_in_a_repair() {
    let scratch = ScratchPlace::File.scratch();
    let mut ledger = ledger(&scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    let published = [answer(b"first", "one"), answer(b"second", "two")];
    let rows = ledger.seal(&claim, &published).unwrap();
    drop((ledger, claim));
    scratch.edit("UPDATE head SET sequence = 7", false).unwrap();
    let loss = AcceptedLoss { reason: "the head was edited", now: 0, anchors: &[], published: &[] };
    assert!(Ledger::repair(scratch.ledger(), &loss).unwrap().torn.is_some());
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    assert_eq!(ledger.rows_of(&name("web")).unwrap(), rows);
    let claim = ledger.claim(&name("web")).unwrap();
    // A released answer is released again; one that was not is lost with the repair.
    let now = [answer(b"first", "again"), answer(b"third", "again")];
    let now = ledger.seal(&claim, &now).unwrap();
    assert_eq!((now[0].line(), now[1].status()), ("one", ReleaseStatus::Lost));
}

/// Refutes a change of the id of releases without parts, which were there before parts were.
#[test]
fn a_release_without_parts_keeps_its_name() {
    let mut release = sealing("web", (0, 10), 1, "").release;
    assert_eq!(release.id().to_string(), "15f1c091ccb43fc640d67c4bc935c8d280e2b1072d3f0c01546a9dbc76ae0ad6");
    release.part = Some(Digest::of(b"first"));
    assert_ne!(release.id(), sealing("web", (0, 10), 1, "").release.id());
}
