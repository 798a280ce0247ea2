//! Each rule against the oracle, on random records in random orders, divisions and merges.

use super::*;
use crate::mechanisms::PerPerson;

type Oracle<P, K> = BTreeMap<P, BTreeMap<K, Vec<Record<P, K>>>>;

/// The oracle's totals, of what `share` makes of a person's kept records of a key.
fn expected<P, K: Ord + Clone, T: Default>(
    kept: &Oracle<P, K>,
    mut add: impl FnMut(&mut T, &[Record<P, K>]),
) -> Vec<(K, T)> {
    let mut totals: BTreeMap<K, T> = BTreeMap::new();
    for (key, records) in kept.values().flatten().filter(|(_, records)| !records.is_empty()) {
        add(totals.entry(key.clone()).or_default(), records);
    }
    totals.into_iter().collect()
}

#[track_caller]
fn counts_agree<P, K>(seed: u64, person: impl Fn(u64) -> P, key: impl Fn(u32) -> K)
where
    P: Identity + Ord + Clone,
    K: Identity + Ord + Clone + std::fmt::Debug,
{
    let mut random = Random::new(seed);
    let (selector, cap) = (selector(&mut random), caps(&mut random));
    let records = records(&mut random, person, key);
    let expected = expected(&kept(&selector, cap, &records), |total: &mut (u64, u64), records| {
        total.0 += 1;
        total.1 += (records.len() as u64).min(cap.per_key().into());
    });
    let given = records.iter().map(|record| (record.person.clone(), record.key.clone(), ())).collect();
    let new = || PersonTable::new(selector.clone(), cap, Count);
    let found = tallied(&mut random, new, given, |total: &mut (u64, u64), records| {
        total.0 += 1;
        total.1 += u64::from(records);
    });
    assert_eq!(found, expected, "seed {seed}");
}

#[test]
fn counts_are_those_of_the_oracle_whatever_persons_and_keys_are() {
    for seed in 0..400 {
        counts_agree(seed, |person| person, |key| key);
        counts_agree(seed, |person| format!("person {person}"), |key| format!("/{key}"));
        counts_agree(seed, |person| (person, 'x'), |key| [key as i16 - 3; 2]);
    }
}

// Refutes persons and keys that are distinguished by 64 bits of a hash, and keys of one hash that are kept by
// arrival.
#[test]
fn persons_and_keys_of_one_hash_are_distinct() {
    for seed in 0..400 {
        counts_agree(seed, |person| Twin(person as u32), |key| key);
        counts_agree(seed, |person| person, Twin);
        counts_agree(seed, |person| Twin(person as u32), Twin);
    }
}

// Refutes a sum that is clipped a record, or in each pane before they are merged, or that wraps.
#[test]
fn sums_are_clipped_once_in_the_end() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let (selector, cap) = (selector(&mut random), caps(&mut random));
        let (low, high) = random.pick(&[(0, 100), (-50, 50), (i64::MIN, i64::MAX), (5, 6), (-9, -2)]);
        let records = records(&mut random, |person| person, |key| key);
        let expected = expected(&kept(&selector, cap, &records), |total: &mut (u64, i128), records| {
            total.0 += (records.len() as u64).min(cap.per_key().into());
            let sum: i128 = records.iter().map(|record| i128::from(record.value)).sum();
            total.1 += sum.clamp(low.into(), high.into());
        });
        let given = records.iter().map(|record| (record.person, record.key, record.value)).collect();
        let new = || PersonTable::new(selector.clone(), cap, Sum::clipped(low, high).unwrap());
        let found = tallied(&mut random, new, given, |total: &mut (u64, i128), share| {
            total.0 += u64::from(share.records);
            total.1 += i128::from(share.sum);
        });
        assert_eq!(found, expected, "seed {seed}");
    }
}

// Refutes a record that is left out because there are many, and a number that depends on how it was put
// together.
#[test]
fn what_a_person_has_is_of_all_their_records() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let (selector, cap) = (selector(&mut random), caps(&mut random));
        let each = random.pick(&[PerPerson::Greatest, PerPerson::Least, PerPerson::Sum, PerPerson::Records]);
        let records = records(&mut random, |person| person, |key| key);
        let expected = expected(&kept(&selector, cap, &records), |total: &mut Vec<i128>, records| {
            let values = records.iter().map(|record| i128::from(record.value));
            total.push(match each {
                PerPerson::Greatest => values.max().unwrap(),
                PerPerson::Least => values.min().unwrap(),
                PerPerson::Sum => values.sum(),
                PerPerson::Records => records.len() as i128,
            });
            total.sort_unstable();
        });
        let given = records.iter().map(|record| (record.person, record.key, record.value)).collect();
        let new = || PersonTable::new(selector.clone(), cap, Own(each));
        let found = tallied(&mut random, new, given, |total: &mut Vec<i128>, own| {
            total.push(own);
            total.sort_unstable();
        });
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[test]
fn values_are_those_of_the_lowest_records() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let (selector, cap) = (selector(&mut random), caps(&mut random));
        let records = records(&mut random, |person| person, |key| key);
        let expected = expected(&kept(&selector, cap, &records), |total: &mut Vec<i64>, records| {
            total.extend(records.iter().take(cap.per_key() as usize).map(|record| record.value));
            total.sort_unstable();
        });
        let given = records
            .iter()
            .map(|record| (record.person, record.key, (selector.record(&record.id), record.value)))
            .collect();
        let new = || PersonTable::new(selector.clone(), cap, KeptRecords::new(Values::<i64>::new()));
        let found = tallied(&mut random, new, given, |total: &mut Vec<i64>, values| {
            total.extend(values);
            total.sort_unstable();
        });
        assert_eq!(found, expected, "seed {seed}");
    }
}

// Among the duplicates are some with another value, and some with another key. Refutes duplicates that count,
// an id that is one id for all persons, and a winner by arrival.
#[test]
fn duplicates_of_one_id_count_once() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let (selector, cap) = (selector(&mut random), caps(&mut random));
        let mut records = records(&mut random, |person| person, |key| key);
        let ids = 1 + random.below(200);
        for record in &mut records {
            record.id = random.below(ids) as u64;
        }
        for _ in 0..random.below(50) * records.len().min(1) {
            let mut again = records[random.below(records.len())].clone();
            let other = records[random.below(records.len())].clone();
            match random.below(3) {
                0 => again.value = other.value,
                1 => again.key = other.key,
                _ => {}
            }
            records.push(again);
        }
        let kept = once(&selector, kept(&selector, cap, &records), cap.per_key() as usize);
        let given: Vec<_> =
            records.iter().map(|record| (record.person, record.key, (record.id, record.value))).collect();

        let new = || PersonTable::new(selector.clone(), cap, Identified::new(Values::<i64>::new()));
        let found = tallied(&mut random, new, given.clone(), |total: &mut Vec<i64>, values| {
            total.extend(values);
            total.sort_unstable();
        });
        let values = expected(&kept, |total: &mut Vec<i64>, records| {
            total.extend(records.iter().map(|record| record.value));
            total.sort_unstable();
        });
        assert_eq!(found, values, "seed {seed}");

        let new = || PersonTable::new(selector.clone(), cap, Identified::new(Count));
        let unvalued = given.iter().map(|(person, key, (id, _))| (*person, *key, (*id, ()))).collect();
        let found = tallied(&mut random, new, unvalued, |total: &mut u64, count| *total += u64::from(count));
        assert_eq!(found, expected(&kept, |total: &mut u64, records| *total += records.len() as u64));

        let uncut = self::kept(&selector, cap, &records);
        let uncut = once(&selector, uncut, usize::MAX);
        let sum = Sum::clipped(-50, 900).unwrap();
        let new = || PersonTable::new(selector.clone(), cap, Identified::new(sum));
        let found =
            tallied(&mut random, new, given, |total: &mut i128, share| *total += i128::from(share.sum));
        let sums = expected(&uncut, |total: &mut i128, records| {
            *total += records.iter().map(|record| i128::from(record.value)).sum::<i128>().clamp(-50, 900);
        });
        assert_eq!(found, sums, "seed {seed}");
    }
}

/// One record an id: in each key the least value and the lowest ids, then the key that is chosen first.
fn once(selector: &ContributionSelector, mut kept: Oracle<u64, u32>, most: usize) -> Oracle<u64, u32> {
    for (person, keys) in &mut kept {
        let mut order: Vec<u32> = keys.keys().copied().collect();
        order.sort_by_key(|key| (selector.choice(selector.person(person), selector.key(key)), *key));
        for records in keys.values_mut() {
            records.dedup_by_key(|record| record.id);
            records.truncate(most);
        }
        let mut seen = std::collections::BTreeSet::new();
        for key in order {
            keys.entry(key).or_default().retain(|record| seen.insert(record.id));
        }
    }
    kept
}

// Refutes keys that are given up while records may still be taken back, and a net below zero that counts
// against others.
#[test]
fn what_was_taken_back_never_was() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let (selector, cap) = (selector(&mut random), caps(&mut random));
        let mut records = records(&mut random, |person| person, |key| key);
        for record in &mut records {
            record.id %= 1 + seed % 60;
            record.value = random.pick(&VALUES[..3]);
            record.change = random.pick(&[1, 1, -1, 2, -3, i64::MAX, i64::MIN]);
        }
        let mut net: BTreeMap<(u64, u32, u64, i64), i128> = BTreeMap::new();
        for Record { person, key, id, value, change } in &records {
            *net.entry((*person, *key, *id, *value)).or_default() += i128::from(*change);
        }
        let left: Vec<_> = net
            .iter()
            .filter(|(_, copies)| **copies > 0)
            .map(|((person, key, id, value), _)| Record {
                person: *person,
                key: *key,
                id: *id,
                value: *value,
                change: 0,
            })
            .collect();
        let kept = kept(&selector, cap, &left);
        let copies = |record: &Record<u64, u32>| net[&(record.person, record.key, record.id, record.value)];
        let most = i128::from(cap.per_key());
        let given: Vec<_> = records
            .iter()
            .map(|record| (record.person, record.key, (record.id, record.value, record.change)))
            .collect();

        let new = || PersonTable::new(selector.clone(), cap, Net::new(Values::<i64>::new()));
        let found = tallied(&mut random, new, given.clone(), |total: &mut Vec<i64>, values| {
            total.extend(values);
            total.sort_unstable();
        });
        let values = expected(&kept, |total: &mut Vec<i64>, records| {
            let mut room = most;
            for record in records {
                let taken = copies(record).min(room);
                room -= taken;
                total.extend((0..taken).map(|_| record.value));
            }
            total.sort_unstable();
        });
        assert_eq!(found, values, "seed {seed}");

        let sum = Sum::clipped(-50, 900).unwrap();
        let new = || PersonTable::new(selector.clone(), cap, Net::new(sum));
        let add = |total: &mut (i128, i128), share: PersonSum| {
            total.0 += i128::from(share.records);
            total.1 += i128::from(share.sum);
        };
        let found = tallied(&mut random, new, given, add);
        let sums = expected(&kept, |total: &mut (i128, i128), records| {
            total.0 += records.iter().map(copies).sum::<i128>().min(most);
            // The order is that of choice, so that what saturates is the same.
            let products = records.iter().map(|record| copies(record).saturating_mul(record.value.into()));
            total.1 += products.fold(0, i128::saturating_add).clamp(-50, 900);
        });
        assert_eq!(found, sums, "seed {seed}");
    }
}

#[test]
fn a_record_by_itself_moves_one_key_by_itself() {
    let mut random = Random::new(1);
    let records = records(&mut random, |person| person, |key| key);
    let selector = selector(&mut random);
    let new = |only: Option<&[u32]>| RecordTotals::new(selector.clone(), only.map(Into::into));
    let (mut each, mut pane, mut listed) = (new(None), new(None), new(Some(&[3, 5, 1_000_000])));
    let mut totals: BTreeMap<u32, i128> = BTreeMap::new();
    for _ in 0..2 {
        for (number, record) in records.iter().enumerate() {
            let pane = if number % 3 == 0 { &mut pane } else { &mut each };
            pane.add(&record.key, |total| *total += i128::from(record.value));
            listed.add(&record.key, |total| *total += i128::from(record.value));
            *totals.entry(record.key).or_default() += i128::from(record.value);
        }
        each.merge(&pane, |ours, theirs| *ours += theirs);
        pane.choose_by(selector.clone());
        assert_eq!(each.close(), totals.clone().into_iter().collect::<Vec<_>>());
        totals.retain(|key, _| [3, 5, 1_000_000].contains(key));
        let mut found: BTreeMap<u32, i128> = listed.close().into_iter().collect();
        found.retain(|key, _| totals.contains_key(key));
        assert_eq!(found, totals);
        totals.clear();
    }
}

// Refutes ids, or records, that are distinguished by a hash.
#[test]
fn records_of_one_hash_are_distinct() {
    let new_cap = || Cap::new(1, 10).unwrap();
    let mut once = PersonTable::new(ContributionSelector::new([1; 32]), new_cap(), Identified::new(Count));
    let mut net = PersonTable::new(ContributionSelector::new([1; 32]), new_cap(), Net::new(Count));
    for record in [1, 2, 3, 2, 1, 3, 3] {
        once.add(1u64, &(), (Twin(record), ()));
        net.add(1u64, &(), (Twin(record), (), if record == 3 { -1 } else { 1 }));
    }
    assert_eq!(once.close(|_| true, |total: &mut u32, records| *total += records), [((), 3)]);
    assert_eq!(net.close(|_| true, |total: &mut u32, records| *total += records), [((), 4)]);
}
