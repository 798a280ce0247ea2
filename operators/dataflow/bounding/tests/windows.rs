//! The counter of windows used.

use super::*;

// The oracle counts on its fingers: a person's first n windows with something kept, and no other.
#[test]
fn a_person_counts_in_the_first_windows_that_keep_something() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let selector = selector(&mut random);
        let limit = 1 + random.below(4);
        let mut used = WindowAdmission::new(limit as u64).unwrap();
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        for window in 0..12 {
            let records = records(&mut random, |person| person, |key| key);
            let mut table = PersonTable::new(selector.within(window), Cap::new(2, 1).unwrap(), Count);
            for record in &records {
                table.add(record.person, &record.key, ());
            }
            let mut asked = Vec::new();
            table.totals(|person| {
                let admitted = used.admit(person);
                asked.push((*person, admitted));
                admitted
            });
            asked.sort_unstable();
            let mut present: Vec<u64> = records.iter().map(|record| record.person).collect();
            present.sort_unstable();
            present.dedup();
            let expected: Vec<(u64, bool)> = present
                .into_iter()
                .map(|person| {
                    let count = seen.entry(person).or_default();
                    *count += 1;
                    (person, *count <= limit)
                })
                .collect();
            assert_eq!(asked, expected, "seed {seed}, window {window}");
            // It is sealed with the window, and read by whoever goes on.
            used = WindowAdmission::read(&used.write()).unwrap();
        }
    }
}

// A record that was taken back, or that another key has, is nothing kept.
#[test]
fn who_has_nothing_kept_uses_no_window() {
    let new = |rule| PersonTable::new(ContributionSelector::new([1; 32]), Cap::new(1, 1).unwrap(), rule);
    let mut table = new(Net::new(Count));
    table.add(1u64, &1u32, (5u64, (), 1));
    table.add(1, &1, (5, (), -1));
    table.add(2, &1, (5, (), -1));
    let totals = table.close(|_| panic!("nobody is left"), |_: &mut u64, _| {});
    assert!(totals.is_empty());
}

#[test]
fn workers_join_what_they_know() {
    let mut one = WindowAdmission::new(3).unwrap();
    let mut other = one.clone();
    for _ in 0..2 {
        assert!(one.admit(&1u64));
        assert!(one.admit(&2));
        assert!(other.admit(&2));
        assert!(other.admit(&3));
    }
    one.merge(other);
    assert!(!one.admit(&2), "two and two are more than three");
    assert!(one.admit(&1) && one.admit(&3));
    assert!(!one.admit(&1) && !one.admit(&3));
    one.keep(|person| *person == 2);
    assert!(one.admit(&1), "belongs to another now");
    assert!(!one.admit(&2));
}

// The bytes are sealed with windows, so the next version must read them.
#[test]
fn what_is_written_never_changes() {
    let mut used = WindowAdmission::new(300).unwrap();
    used.admit(&String::from("b"));
    used.admit(&String::from("a"));
    used.admit(&String::from("b"));
    let bytes = used.write();
    let text =
        b"\x01\x2c\x01\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0a\x01\0\0\0\x01\0\0\0\0\0\0\0b\x02\0\0\0";
    assert_eq!(bytes, text);
    assert!(WindowAdmission::read(&bytes).unwrap() == used);
    assert_eq!(bytes.len(), 13 + 2 * (9 + WindowAdmission::<String>::BYTES_A_PERSON));
}

#[test]
fn another_format_and_a_torn_state_are_refused_without_a_word_about_anybody() {
    let mut used = WindowAdmission::new(2).unwrap();
    used.admit(&String::from("ada"));
    used.admit(&String::from("bob"));
    let bytes = used.write();
    let refused = |bytes: &[u8]| WindowAdmission::<String>::read(bytes).unwrap_err().to_string();
    for cut in 0..bytes.len() {
        assert!(!refused(&bytes[..cut]).contains("ada"));
    }
    refused(&[&bytes[..], &[0]].concat());
    let broken = |at: usize, byte| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        bytes
    };
    refused(&broken(0, 2));
    refused(&broken(1, 0));
    // Nobody has used no window, nor more than there are; and each person is there once.
    let last = bytes.len() - 4;
    refused(&broken(last, 0));
    refused(&broken(last, 3));
    let ada = bytes[13..28].to_vec();
    refused(&[&bytes[..13], &ada[..], &ada[..]].concat());
    assert_eq!(format!("{used:?}"), "<private>");
    assert!(WindowAdmission::<u64>::new(0).is_err() && WindowAdmission::<u64>::new(1 << 32).is_err());
}
