use std::collections::BTreeMap;

use super::*;
use crate::accounting::Adjacency;
use crate::invalid::InvalidKind;
use crate::mechanisms::{Bound, Key};
use crate::noise::NoiseSource;

fn limits(keys: u64, per_key: u64) -> ContributionBound {
    Bound::keys(keys).per_key(per_key).checked().unwrap()
}

fn range(low: i64, high: i64) -> Range {
    Range::new(low, high).unwrap()
}

fn keys() -> Keys<u32> {
    Keys::public(0..8).unwrap()
}

fn norms(moved: &Sensitivity) -> (u128, u128, u128, u128) {
    (moved.l0(), moved.linf(), moved.l1(), moved.l2_squared())
}

// By hand: 3 keys of 10 records; 3 people; 3 sums of at most 7 either way; and in half units a mean over
// -3..=4, so that 4 (3 10^2 (3.5^2 + 1)) = 15900.
#[test]
fn sensitivities_are_those_of_the_theorems() {
    let limits = limits(3, 10);
    let of = |total: Result<Total<u32>, Invalid>| norms(&total.unwrap().sensitivity());
    assert_eq!(of(Total::count(limits, keys())), (3, 10, 30, 300));
    assert_eq!(of(Total::people(limits, keys())), (3, 1, 3, 3));
    assert_eq!(of(Total::sum(range(-7, 3), limits, keys())), (3, 7, 21, 147));
    assert_eq!(of(Total::sum(range(0, 100), limits, keys())), (3, 100, 300, 30_000));
    assert_eq!(of(Total::sum(range(5, 7), limits, keys())), (3, 7, 21, 147));
    let mean = Mean::new(range(-3, 4), limits, keys()).unwrap();
    assert_eq!(norms(&mean.sensitivity()), (6, 70, 270, 15_900));
    assert_eq!(norms(mean.sum_sensitivity()), (3, 70, 210, 14_700));
    assert_eq!(norms(mean.count_sensitivity()), (3, 10, 30, 300));
    assert_eq!(mean.sensitivity().neighbours(), Adjacency::PERSON);
}

#[test]
fn a_record_is_one_cell_by_one_or_by_the_range() {
    let record = ContributionBound::RECORD;
    assert_eq!(norms(&Total::count(record, keys()).unwrap().sensitivity()), (1, 1, 1, 1));
    let sum = Total::sum(range(-9, 2), record, keys()).unwrap();
    assert_eq!(norms(&sum.sensitivity()), (1, 9, 9, 81));
    assert_eq!(sum.sensitivity().neighbours().unit, PrivacyUnit::Record);
    let mean = Mean::new(range(0, 5), record, keys()).unwrap();
    assert_eq!(norms(&mean.sensitivity()), (2, 5, 7, 29));
}

// Refutes a line whose interval is said to hold the truth where a bound or a range cut it.
#[test]
fn only_what_no_bound_can_lower_is_unbounded() {
    let bounded = |total: Result<Total<u32>, Invalid>| total.unwrap().stated().is_bounded();
    let record = ContributionBound::RECORD;
    assert!(bounded(Total::count(limits(8, 10), keys())), "records beyond 10 a key");
    assert!(bounded(Total::people(limits(7, 1), keys())), "seven of eight keys");
    assert!(!bounded(Total::people(limits(8, 1), keys())), "all keys");
    assert!(bounded(Total::people(limits(8, 1), Keys::discover(1e-9))), "any number of keys");
    let twelve = Bound::keys(8).windows(12).checked().unwrap();
    assert!(bounded(Total::people(twelve, keys())), "twelve windows");
    assert!(!bounded(Total::count(record, keys())), "each record counts");
    assert!(!bounded(Total::count(record, Keys::discover(1e-9))), "each record counts");
    assert!(bounded(Total::sum(range(0, 5), record, keys())), "values beyond 5");
}

#[test]
fn a_sensitivity_beyond_128_bits_is_refused() {
    let everything = range(i64::MIN, i64::MAX);
    let all = limits(1 << 31, 1 << 31);
    let kind = |refused: Invalid| (refused.field().to_owned(), refused.kind());
    let overflow = ("bound".to_owned(), InvalidKind::Overflow);
    assert_eq!(kind(Total::sum(everything, all, keys()).unwrap_err()), overflow);
    assert_eq!(kind(Mean::new(everything, all, keys()).unwrap_err()), overflow);
    assert_eq!(Total::count(all, keys()).unwrap().sensitivity().l2_squared(), 1 << 93);
    // (2^63)^2 fits and (2^64 - 1)^2 fits once, but not beside the count.
    assert!(Total::sum(everything, limits(1, 1), keys()).is_ok());
}

#[test]
fn a_contribution_is_clipped_after_it_is_summed() {
    let count = Total::count(limits(3, 10), keys()).unwrap();
    assert_eq!(count.contribution(99, i128::MAX), Cell { people: 1, records: 10, sum: 0 });
    let sum = Total::sum(range(-7, 3), limits(3, 10), keys()).unwrap();
    assert_eq!(sum.contribution(4, i128::MAX).sum, 3);
    assert_eq!(sum.contribution(4, i128::MIN).sum, -7);
    // A person with a record whose values cancel is there; one without is not, wherever the range lies.
    assert_eq!(sum.contribution(2, 0), Cell { people: 1, records: 2, sum: 0 });
    let away = Total::sum(range(5, 7), limits(1, 1), keys()).unwrap();
    assert_eq!(away.contribution(0, 6), Cell::default());
    assert_eq!(away.contribution(1, 0).sum, 5);
    let mean = Mean::new(range(-3, 4), limits(3, 10), keys()).unwrap();
    assert_eq!((mean.term(-3), mean.term(4), mean.term(0), mean.term(i64::MIN)), (-7, 7, -1, -7));
    assert_eq!(mean.contribution(2, i128::MAX), Cell { people: 1, records: 2, sum: 14 });
    assert_eq!(mean.contribution(99, i128::MIN), Cell { people: 1, records: 10, sum: -70 });
    assert_eq!(mean.contribution(0, 5), Cell::default());
}

/// The values of each person's records, by key.
type People = Vec<BTreeMap<u32, Vec<i64>>>;

/// Some people, of whom the first `keys` keys and in each the first `per_key` records are kept; now and then
/// one does the most that a bound lets pass, in one direction.
fn crowd(limits: &ContributionBound, range: &Range, random: &mut NoiseSource) -> People {
    let one = |random: &mut NoiseSource| {
        let extreme = [None, Some(range.low()), Some(range.high()), Some(i64::MAX), Some(i64::MIN)];
        let extreme = extreme[random.below(5) as usize];
        let most = if extreme.is_some() { 8 } else { random.below(8) };
        let mut bag: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        let keys: Vec<u32> = (0..8).filter(|_| random.below(8) < most).take(limits.keys() as usize).collect();
        for key in keys {
            let records =
                if extreme.is_some() { limits.per_key() } else { 1 + random.below(limits.per_key()) };
            let value = |random: &mut NoiseSource| extreme.unwrap_or(random.below(40) as i64 - 20);
            bag.insert(key, (0..records).map(|_| value(random)).collect());
        }
        bag
    };
    (0..1 + random.below(6)).map(|_| one(random)).collect()
}

/// The exact vector of a statistic that lists its numbers a key, and its exact cells.
fn vector(
    people: &People,
    cell: impl Fn(&[i64]) -> Cell,
    numbers: impl Fn(&Cell) -> Vec<i128>,
    tally: &mut Cells<u32>,
) -> Vec<i128> {
    for person in people {
        person.iter().for_each(|(&key, values)| tally.absorb((key, cell(values))));
    }
    let map = std::mem::replace(tally, Cells::open()).into_map();
    (0..8).flat_map(|key| numbers(&map.get(&key).copied().unwrap_or_default())).collect()
}

/// One person more or less moves the vector by the declared sensitivity at most, in each norm, and some pair
/// by all of it.
fn replay(
    declared: Sensitivity,
    limits: &ContributionBound,
    range: &Range,
    cell: impl Fn(&[i64]) -> Cell,
    numbers: impl Fn(&Cell) -> Vec<i128>,
) {
    let mut random = NoiseSource::seeded(7);
    let mut reached = (0, 0, 0, 0);
    for _ in 0..3000 {
        let people = crowd(limits, range, &mut random);
        let mut without = people.clone();
        without.remove(random.below(people.len() as u64) as usize);
        let all = vector(&people, &cell, &numbers, &mut Cells::open());
        let less = vector(&without, &cell, &numbers, &mut Cells::open());
        let moved: Vec<u128> = all.iter().zip(&less).map(|(a, b)| a.abs_diff(*b)).collect();
        let l0 = moved.iter().filter(|&&step| step > 0).count() as u128;
        let linf = moved.iter().copied().max().unwrap();
        let l1: u128 = moved.iter().sum();
        let l2_squared: u128 = moved.iter().map(|step| step * step).sum();
        assert!(l0 <= declared.l0() && linf <= declared.linf(), "{l0} {linf} {declared:?}");
        assert!(l1 <= declared.l1() && l2_squared <= declared.l2_squared(), "{l1} {l2_squared} {declared:?}");
        reached = (l0.max(reached.0), linf.max(reached.1), l1.max(reached.2), l2_squared.max(reached.3));
    }
    assert_eq!(reached, norms(&declared), "the pairs are too tame, or the sensitivity is too large");
}

// Refutes half the sensitivity, L1 for L2, the lower bound alone, a clip before the sum, and a bound of one
// key less: all of them leave the declared norms or do not reach them.
#[test]
fn one_person_moves_the_vector_by_the_sensitivity_and_no_more() {
    fn total<K: Key>(total: &Total<K>, values: &[i64]) -> Cell {
        total.contribution(values.len() as u64, values.iter().map(|&value| i128::from(value)).sum())
    }
    for limits in [limits(1, 1), limits(3, 1), limits(1, 4), limits(3, 5), ContributionBound::RECORD] {
        for range in [range(-7, 3), range(0, 10), range(2, 5), range(-4, -1), range(-3, 4)] {
            for asked in [
                Total::count(limits, keys()).unwrap(),
                Total::people(limits, keys()).unwrap(),
                Total::sum(range, limits, keys()).unwrap(),
            ] {
                let numbers = |cell: &Cell| vec![asked.number(cell)];
                replay(asked.sensitivity(), &limits, &range, |values| total(&asked, values), numbers);
            }
            let mean = Mean::new(range, limits, keys()).unwrap();
            let cell = |values: &[i64]| {
                mean.contribution(values.len() as u64, values.iter().map(|&value| mean.term(value)).sum())
            };
            let numbers = |cell: &Cell| vec![2 * i128::from(cell.records), cell.sum];
            replay(mean.sensitivity(), &limits, &range, cell, numbers);
        }
    }
}
