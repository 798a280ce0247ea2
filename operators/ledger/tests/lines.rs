//! The sealed text: one line, several, or none. The ledger stores every byte of it, and where it ends.

use super::*;

everywhere! {
    a_text_of_several_lines_or_of_none_is_kept_to_the_byte
    a_text_that_was_sealed_is_closed_by_a_line_of_its_own
}

const TEXTS: [&str; 5] = ["", "one", "one\ntwo", "\n", "{\"key\":\"a\\nb\"}\n\nlast"];

/// Seals one text a window, and then one that does not fit the budget.
fn sealed(scratch: &Scratch) -> Vec<Row> {
    let mut ledger = ledger(scratch, Promise::Lifetime, TEXTS.len() as u128);
    let claim = ledger.claim(&name("web")).unwrap();
    let window = |index: usize| (10 * index as i64, 10 * index as i64 + 10);
    let batch = TEXTS.iter().chain(&["one too many"]).enumerate();
    let batch: Vec<_> = batch.map(|(index, text)| sealing("web", window(index), 1, text)).collect();
    ledger.seal(&claim, &batch).unwrap()
}

fn a_text_of_several_lines_or_of_none_is_kept_to_the_byte(at: ScratchPlace) {
    let scratch = at.scratch();
    let rows = sealed(&scratch);
    let copy = scratch.directory().join("copy.ledger");
    Ledger::open(scratch.ledger()).unwrap().export(&copy).unwrap();
    for place in [scratch.ledger(), copy] {
        let mut ledger = Ledger::open(place).unwrap();
        assert_eq!(ledger.undelivered(&name("web")).unwrap(), rows);
        assert!(rows.iter().zip(TEXTS).all(|(row, text)| row.line() == text));
    }
    // The anchor holds the place and the hash of a row, and no text.
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let anchor = scratch.directory().join("anchor");
    let mut journal = Journal::open(&anchor, ledger.name()).unwrap();
    journal.begin().unwrap();
    journal.record(rows.iter()).unwrap();
    let entries = Journal::read(&anchor).unwrap();
    assert_eq!(entries.len(), rows.len());
    entries.iter().for_each(|entry| ledger.holds(&entry.anchor).unwrap());
}

fn a_text_that_was_sealed_is_closed_by_a_line_of_its_own(at: ScratchPlace) {
    let scratch = at.scratch();
    let rows = sealed(&scratch);
    let closing: Vec<Option<String>> = rows.iter().map(Row::closing).collect();
    for (cells, (row, closing)) in [0, 1, 2, 2, 3].into_iter().zip(rows.iter().zip(&closing)) {
        let window = (row.release().window.start(), row.release().window.end());
        let expected = format!(
            "{{\"release\":\"by_path\",\"window\":{{\"start\":\"1970-01-01T00:00:00{}Z\",\"end\":\"1970-01-01T00:00:00.0000{}Z\"}},\
             \"closed\":true,\"cells\":{cells},\"seq\":{},\"chain\":\"{}\"}}",
            if window.0 == 0 { String::new() } else { format!(".0000{}", window.0 / 10) },
            window.1 / 10,
            row.sequence(),
            row.chain()
        );
        assert_eq!(closing.as_ref(), Some(&expected));
        // A closing line has no line feed, for any sealed text.
        assert!(!expected.contains('\n'));
    }
    let refused = rows.last().unwrap();
    assert_eq!((refused.status(), refused.closing()), (ReleaseStatus::Refused, None));
    let mut ledger = Ledger::open(scratch.ledger()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let skipped =
        Sealing { charge: None, status: ReleaseStatus::Skipped, ..sealing("web", (90, 100), 0, "skipped") };
    assert_eq!(ledger.seal(&claim, &[skipped]).unwrap()[0].closing(), None);
}
