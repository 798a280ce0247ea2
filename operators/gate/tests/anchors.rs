//! Rows that were published elsewhere reveal an older copy, whoever recorded them.

use std::fs;

use super::*;
use crate::ledger::in_the_making;

#[test]
fn an_older_copy_of_the_ledger_is_noticed_and_nothing_is_released_from_it() {
    let scratch = scratch(ScratchPlace::File, 10);
    let draws = Arc::default();
    let anchor = scratch.directory().join("anchor");
    let open = || Opening::new(scratch.ledger(), "web").unwrap().anchor(&anchor).open();
    let (gate, handle) = at_a_desk(open().unwrap());
    handle.submit(request(0, &draws)).unwrap();
    let first = row(&handle);
    drop((gate, handle));
    let (older, ledger) = (scratch.directory().join("older"), scratch.ledger());
    fs::copy(&ledger, &older).unwrap();

    // The row of a torn last line of the anchor never left.
    let mut torn = fs::OpenOptions::new().append(true).open(&anchor).unwrap();
    std::io::Write::write_all(&mut torn, b"3 12345").unwrap();
    let (gate, handle) = at_a_desk(open().unwrap());
    handle.delivered(&row(&handle));
    handle.submit(request(1, &draws)).unwrap();
    let second = row(&handle);
    drop((gate, handle));
    let noted = Journal::read(&anchor).unwrap();
    let noted: Vec<_> = noted.iter().map(|entry| (entry.anchor.sequence, entry.cost.clone())).collect();
    assert_eq!(noted, [&first, &second].map(|row| (row.sequence(), row.cost().cloned())));

    fs::copy(&older, &ledger).unwrap();
    let trouble = open().unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
    assert!(trouble.to_string().contains("older copy"), "{trouble}");
    // A row that a sink has seen shows it as well as the file does; one that it has seen of this copy shows
    // nothing.
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

/// A process that was suspended and continues after its successor has ended must not remove from the anchor
/// the rows that the successor wrote: a copy from before would pass for the newest.
#[test]
fn an_anchor_forgets_nothing_when_two_processes_write_it() {
    let scratch = scratch(ScratchPlace::File, 10);
    let draws = Arc::default();
    let (gate, handle) = open(&scratch);
    (0..6).for_each(|window| handle.submit(request(window, &draws)).unwrap());
    let rows: Vec<Row> = (0..6).map(|_| row(&handle)).collect();
    drop((gate, handle));

    let (anchor, ledger) = (scratch.directory().join("anchor"), Digest::of(b"ledger"));
    let open = || {
        let mut journal = Journal::open(&anchor, &ledger).unwrap();
        let newest = journal.newest();
        journal.begin().unwrap();
        (journal, newest)
    };
    let (mut suspended, _) = open();
    suspended.record(rows[..2].iter()).unwrap();
    let (mut successor, newest) = open();
    assert_eq!(newest.unwrap().sequence, rows[1].sequence());
    successor.record(rows[2..].iter()).unwrap();
    suspended.record(rows[3..4].iter()).unwrap();
    assert_eq!(open().1.unwrap().sequence, rows[5].sequence());
    let noted = Journal::read(&anchor).unwrap();
    let noted: Vec<i64> = noted.iter().map(|entry| entry.anchor.sequence).collect();
    assert_eq!(noted, rows.iter().map(Row::sequence).collect::<Vec<_>>());

    // A crash left the file that was to replace the anchor; it may have replaced it.
    fs::remove_file(&anchor).unwrap();
    let beside = in_the_making(&anchor, &ledger);
    fs::write(&beside, "discreet anch").unwrap();
    let tried = scratch.directory().join(format!(".discreet-check-{}", std::process::id()));
    fs::write(&tried, "").unwrap();
    let (mut made, _) = open();
    made.record(rows[..1].iter()).unwrap();
    assert!(!beside.exists() && !tried.exists());
    fs::hard_link(&anchor, &beside).unwrap();
    assert_eq!(open().1.unwrap().sequence, rows[0].sequence());
    assert!(!beside.exists());
    fs::remove_file(&anchor).unwrap();
    assert!(open().1.is_none());

    // Given out late, because its statistic had to wait.
    fs::remove_file(&anchor).unwrap();
    let (mut alone, _) = open();
    alone.record(rows[2..].iter()).unwrap();
    alone.record(rows[..3].iter()).unwrap();
    assert_eq!(Journal::read(&anchor).unwrap().len(), 6);
    assert_eq!(fs::read_to_string(&anchor).unwrap().lines().count(), 7, "a row was noted twice");
}
