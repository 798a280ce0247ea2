//! The same result for every order, batch, duplicate and number of workers.

use super::*;

// Each person's records go to the worker of the person, as they do in a dataflow.
#[test]
fn any_number_of_workers_finds_the_same() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let (selector, cap) = (selector(&mut random), caps(&mut random));
        let mut records = records(&mut random, |person| format!("p{person}"), |key| key);
        let mut results = Vec::new();
        for workers in [1, 2, 3, 4, 8] {
            random.shuffle(&mut records);
            let mut tables: Vec<_> =
                (0..workers).map(|_| PersonTable::new(selector.clone(), cap, Count)).collect();
            for record in &records {
                let worker = selector.route(&record.person) % workers;
                tables[worker as usize].add(record.person.clone(), &record.key, ());
            }
            let mut totals: BTreeMap<u32, Partial> = BTreeMap::new();
            for (key, partial) in tables.iter_mut().flat_map(|table| table.totals(|_| true)) {
                totals.entry(key).or_default().add(partial);
            }
            results.push(totals);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}");
    }
}

// Refutes first come, first kept: which of 12 keys survive must not depend on which came first.
#[test]
fn who_came_first_is_kept_no_more_than_others() {
    let selector = ContributionSelector::new([3; 32]);
    let new = || PersonTable::new(selector.clone(), Cap::new(4, 1).unwrap(), Count);
    for person in 0..50u64 {
        let (mut forwards, mut backwards) = (new(), new());
        for key in 0..12u32 {
            forwards.add(person, &key, ());
            backwards.add(person, &(11 - key), ());
        }
        let kept = forwards.totals(|_| true);
        assert_eq!(kept.len(), 4);
        assert!(kept == backwards.totals(|_| true));
    }
}

// Refutes a table that keeps something of the window before.
#[test]
fn a_table_that_is_used_again_is_as_good_as_new() {
    let mut random = Random::new(8);
    let cap = Cap::new(2, 3).unwrap();
    let mut used = PersonTable::new(ContributionSelector::new([9; 32]), cap, Count);
    for window in 0..60 {
        let selector = ContributionSelector::new([9; 32]).within(window);
        let records = records(&mut random, |person| person, |key| format!("{window}/{key}"));
        used.clear();
        used.choose_by(selector.clone());
        let mut new = PersonTable::new(selector, cap, Count);
        for record in &records {
            used.add(record.person, &record.key, ());
            new.add(record.person, &record.key, ());
        }
        // Some windows are given up unread.
        if window % 3 > 0 {
            assert!(used.totals(|_| true) == new.totals(|_| true), "window {window}");
        }
    }
}

#[test]
#[should_panic(expected = "keeps its chooser")]
fn a_table_in_use_keeps_its_chooser() {
    let mut table = PersonTable::new(ContributionSelector::new([1; 32]), Cap::new(1, 1).unwrap(), Count);
    table.add(1u64, &1u32, ());
    table.choose_by(ContributionSelector::new([2; 32]));
}

#[test]
fn nothing_is_printed() {
    let mut table = PersonTable::new(ContributionSelector::new([1; 32]), Cap::new(1, 1).unwrap(), Count);
    table.add(1u64, &1u32, ());
    assert_eq!(format!("{table:?}"), "<private>");
    assert_eq!(format!("{:?}", ContributionSelector::new([1; 32])), "<secret>");
    let sum = Sum::clipped(0, 9).unwrap();
    let selector = ContributionSelector::new([1; 32]);
    assert_eq!(format!("{:?}", sum.hold(&selector, 5)), "<private>");
    assert_eq!(format!("{:?}", Identified::new(Count).hold(&selector, (5u64, ()))), "<private>");
    assert_eq!(format!("{:?}", Net::new(Count).hold(&selector, (5u64, (), 1))), "<private>");
    assert_eq!(format!("{:?}", PersonSum { records: 1, sum: 5 }), "<private>");
    assert_eq!(format!("{:?}", table.totals(|_| true)), "[(1, <private>)]");
}
