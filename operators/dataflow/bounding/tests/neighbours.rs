//! One person more or less: the closed vectors are compared, exactly, in every norm at once.

use super::*;

/// The difference of two vectors.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Change {
    l0: i128,
    linf: i128,
    l1: i128,
    l2_squared: i128,
}

impl Change {
    fn between<K: Ord>(with: &BTreeMap<K, i128>, without: &BTreeMap<K, i128>) -> Change {
        let keys: std::collections::BTreeSet<&K> = with.keys().chain(without.keys()).collect();
        let value = |vector: &BTreeMap<K, i128>, key: &K| vector.get(key).copied().unwrap_or(0);
        keys.into_iter().map(|key| (value(with, key) - value(without, key)).abs()).fold(
            Change::default(),
            |change, by| Change {
                l0: change.l0 + i128::from(by != 0),
                linf: change.linf.max(by),
                l1: change.l1 + by,
                l2_squared: change.l2_squared + by * by,
            },
        )
    }

    fn exceeds(&self, most: &Change) -> bool {
        self.l0 > most.l0 || self.linf > most.linf || self.l1 > most.l1 || self.l2_squared > most.l2_squared
    }
}

/// Closes random records with and without one person, and compares with what the theorem allows. Some case
/// must reach it.
fn replay<R: Rule>(
    cases: u64,
    most: Change,
    (keys, per_key): (u64, u64),
    rule: R,
    value: impl Fn(&ContributionSelector, &Record<u64, u32>) -> R::Value,
    add: impl Fn(&mut i128, R::Share) + Copy,
) {
    let cap = Cap::new(keys, per_key).unwrap();
    let mut reached = false;
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let selector = selector(&mut random);
        let mut records = records(&mut random, |person| person, |key| key);
        for record in &mut records {
            record.change = random.pick(&[1, 1, 1, 2, -1, i64::MIN]);
        }
        let removed = random.below(4) as u64;
        let given = |records: &[Record<u64, u32>], without: Option<u64>| {
            let left = records.iter().filter(|record| Some(record.person) != without);
            left.map(|record| (record.person, record.key, value(&selector, record))).collect::<Vec<_>>()
        };
        let new = || PersonTable::new(selector.clone(), cap, rule.clone());
        let with = tallied(&mut random, new, given(&records, None), add);
        let without = tallied(&mut random, new, given(&records, Some(removed)), add);
        let change = Change::between(&with.into_iter().collect(), &without.into_iter().collect());
        assert!(!change.exceeds(&most), "seed {seed}: {change:?} exceeds {most:?}");
        reached |= change == most;
    }
    assert!(reached, "no case reached {most:?}");
}

// In each: L0 = keys, Linf = what one key may change, L1 and L2 squared accordingly.

#[test]
fn one_person_moves_counts_by_keys_times_per_key() {
    let most = Change { l0: 3, linf: 2, l1: 6, l2_squared: 12 };
    replay(1500, most, (3, 2), Count, |_, _| (), |total, records| *total += i128::from(records));
    let most = Change { l0: 1, linf: 1, l1: 1, l2_squared: 1 };
    replay(300, most, (1, 1), Count, |_, _| (), |total, records| *total += i128::from(records));
}

#[test]
fn one_person_moves_people_by_keys() {
    let most = Change { l0: 3, linf: 1, l1: 3, l2_squared: 3 };
    replay(800, most, (3, 5), Count, |_, _| (), |total, _| *total += 1);
}

#[test]
fn one_person_moves_sums_by_the_farther_end_of_the_range() {
    let sum = Sum::clipped(-30, 50).unwrap();
    let most = Change { l0: 2, linf: 50, l1: 100, l2_squared: 5000 };
    replay(1500, most, (2, 3), sum, |_, record| record.value, |total, share| *total += i128::from(share.sum));
    let sum = Sum::clipped(-30, -10).unwrap();
    let most = Change { l0: 2, linf: 30, l1: 60, l2_squared: 1800 };
    replay(1500, most, (2, 3), sum, |_, record| record.value, |total, share| *total += i128::from(share.sum));
    let whole = Sum::clipped(i64::MIN, i64::MAX).unwrap();
    let (end, square) = (1i128 << 63, 1i128 << 126);
    let most = Change { l0: 1, linf: end, l1: end, l2_squared: square };
    replay(
        1500,
        most,
        (1, 1),
        whole,
        |_, record| record.value,
        |total, share| *total += i128::from(share.sum),
    );
}

#[test]
fn one_person_moves_kept_values_by_keys_times_per_key_of_them() {
    let most = Change { l0: 2, linf: 3 * 40, l1: 2 * 3 * 40, l2_squared: 2 * 120 * 120 };
    let value = |selector: &ContributionSelector, record: &Record<u64, u32>| {
        (selector.record(&record.id), record.value)
    };
    let add = |total: &mut i128, values: Few<i64>| {
        *total += values.iter().map(|&value| i128::from(value.clamp(-40, 40))).sum::<i128>();
    };
    replay(4000, most, (2, 3), KeptRecords::new(Values::<i64>::new()), value, add);
}

#[test]
fn duplicates_and_what_is_taken_back_move_no_more() {
    let most = Change { l0: 3, linf: 2, l1: 6, l2_squared: 12 };
    let count = |total: &mut i128, records: u32| *total += i128::from(records);
    replay(1500, most, (3, 2), Identified::new(Count), |_, record| (record.id % 40, ()), count);
    replay(1500, most, (3, 2), Net::new(Count), |_, record| (record.id % 40, (), record.change), count);
    let sum = Sum::clipped(-30, 50).unwrap();
    let most = Change { l0: 2, linf: 50, l1: 100, l2_squared: 5000 };
    let summed = |total: &mut i128, share: PersonSum| *total += i128::from(share.sum);
    replay(1500, most, (2, 3), Identified::new(sum), |_, record| (record.id % 40, record.value), summed);
    let value =
        |_: &ContributionSelector, record: &Record<u64, u32>| (record.id % 40, record.value, record.change);
    replay(1500, most, (2, 3), Net::new(sum), value, summed);
}

// Refutes a bound a person and window where one for all windows was asked for, and one window too many.
#[test]
fn one_person_moves_all_windows_together_by_as_many_as_were_promised() {
    let (windows, keys, per_key) = (3, 2, 2);
    let most = Change { l0: 6, linf: 2, l1: 12, l2_squared: 24 };
    let cap = Cap::new(keys, per_key).unwrap();
    let mut reached = false;
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let selector = selector(&mut random);
        let removed = random.below(3) as u64;
        let mut used = [WindowAdmission::new(windows).unwrap(), WindowAdmission::new(windows).unwrap()];
        let mut vectors = [BTreeMap::new(), BTreeMap::new()];
        for window in 0..8 {
            let records = records(&mut random, |person| person, |key| key);
            for (side, (used, vector)) in used.iter_mut().zip(&mut vectors).enumerate() {
                let mut table = PersonTable::new(selector.within(window), cap, Count);
                for record in records.iter().filter(|record| side == 0 || record.person != removed) {
                    table.add(record.person, &record.key, ());
                }
                for (key, partial) in table.totals(|person| used.admit(person)) {
                    vector.insert((window, key), i128::from(partial.records));
                }
            }
        }
        let [with, without] = &vectors;
        let change = Change::between(with, without);
        assert!(!change.exceeds(&most), "seed {seed}: {change:?}");
        reached |= change == most;
    }
    assert!(reached);
}
