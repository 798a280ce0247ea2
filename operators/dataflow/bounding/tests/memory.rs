//! What is held is bounded by the cap and the people, not by what anybody sends.

use super::*;

fn held<R: Rule>(table: &PersonTable<u64, u64, R>) -> usize {
    table.bytes()
}

// Refutes a table that holds every record, every key, or the name of every key that anybody ever sent.
#[test]
fn one_person_with_a_million_records_takes_little() {
    let cap = Cap::new(4, 3).unwrap();
    let selector = ContributionSelector::new([5; 32]);
    let mut count = PersonTable::new(selector.clone(), cap, Count);
    let mut kept = PersonTable::new(selector.clone(), cap, KeptRecords::new(Values::<i64>::new()));
    let mut once = PersonTable::new(selector.clone(), cap, Identified::new(Count));
    for record in 0..1_000_000u64 {
        count.add(1, &record, ());
        kept.add(1, &(record % 7), (selector.record(&record), 1));
        once.add(1, &(record % 7), (record, ()));
    }
    for bytes in [held(&count), held(&kept), held(&once)] {
        assert!(bytes < 100_000, "{bytes}");
    }
    assert_eq!(count.totals(|_| true).len(), 4);
}

// Refutes bytes() that leaves out what persons and values hold themselves, or never gives it back.
#[test]
fn texts_and_vectors_are_counted_while_they_are_held() {
    let long = |person: u32| format!("{person:01000}");
    let mut table = PersonTable::new(
        ContributionSelector::new([5; 32]),
        Cap::new(1, 1).unwrap(),
        KeptRecords::new(Values::<Vec<i64>>::new()),
    );
    let empty = table.bytes();
    for person in 0..500 {
        table.add(long(person), &(), (1, vec![7; 100]));
    }
    let filled = table.bytes();
    assert!(filled - empty > 500 * 1800, "{filled}");
    for person in 0..500 {
        for _ in 0..50 {
            table.add(long(person), &(), (2, vec![8; 100]));
        }
    }
    let refilled = table.bytes();
    assert!(refilled < 3 * filled, "{refilled} after {filled}");
    table.clear();
    assert!(table.bytes() < refilled - 500 * 1800);
}

// Refutes a table without an end of the quadratic: one person with very many keys, all of them kept.
#[test]
fn a_person_may_have_very_many_keys() {
    let mut table =
        PersonTable::new(ContributionSelector::new([5; 32]), Cap::new(1 << 31, 1).unwrap(), Count);
    for key in 0..200_000u32 {
        table.add(1u64, &key, ());
    }
    assert_eq!(table.totals(|_| true).len(), 200_000);
}

// Refutes a table of a few records that has room for many, before its window or after it: many windows are open at a
// time.
#[test]
fn a_table_of_few_records_takes_little() {
    let mut table = PersonTable::new(ContributionSelector::new([5; 32]), Cap::new(1, 2).unwrap(), Count);
    for _ in 0..3 {
        for person in 0..5u64 {
            table.add(person, &0, ());
        }
        assert!(held(&table) < 1_200, "{}", held(&table));
        assert_eq!(table.totals(|_| true).len(), 1);
        assert!(held(&table) < 1_000, "{}", held(&table));
    }
}
