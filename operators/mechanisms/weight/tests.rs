use proptest::prelude::*;

use super::*;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::mechanisms::{Bound, Cell, Gaussian, Keys, Mean, Mechanism, Range, Total};

fn limits(keys: u64, per_key: u64, weight: u64, norm: Norm) -> ContributionBound {
    Bound::keys(keys).per_key(per_key).weight(weight, norm).checked().unwrap()
}

/// The largest factor by which no length is above the most, one after the other.
fn slow(weight: u64, norm: Norm, whole: u128, shares: &[u128]) -> u64 {
    let length = |parts: u128| match norm {
        Norm::L1 => shares.iter().map(|share| share * parts).sum::<u128>(),
        Norm::L2 => shares.iter().map(|share| (share * parts).pow(2)).sum(),
    };
    let (full, weight) = (u128::from(FULL), u128::from(weight));
    let most = match norm {
        Norm::L1 => full * weight * whole,
        Norm::L2 => full * full * weight * whole * whole,
    };
    (0..=FULL).rev().find(|parts| length(u128::from(*parts)) <= most).unwrap()
}

proptest! {
    // Refutes a factor that is rounded up, one that is smaller than it need be, and one above 1.
    #[test]
    fn the_factor_is_the_largest_within_the_bound(
        shares in prop::collection::vec(0u128..50, 0..12),
        weight in 1u64..6,
        is_l1: bool,
    ) {
        let norm = if is_l1 { Norm::L1 } else { Norm::L2 };
        let found = Weight::new(weight, norm).factor(50, shares.iter().copied());
        prop_assert_eq!(found, Factor(slow(weight, norm, 50, &shares)));
    }

    // Refutes a vector of one person that is longer than the sensitivity in any of the four norms.
    #[test]
    fn a_person_moves_no_more_than_the_sensitivity(
        shares in prop::collection::vec((1u64..40, -3_000i128..3_000), 1..9),
        weight in 1u64..4,
        is_l1: bool,
        measure in 0u8..4,
    ) {
        let norm = if is_l1 { Norm::L1 } else { Norm::L2 };
        let (limits, range) = (limits(8, 20, weight, norm), Range::new(-700, 1_000).unwrap());
        let keys = || Keys::public(0..8u32).unwrap();
        let total = match measure {
            0 => Total::count(limits, keys()),
            1 => Total::people(limits, keys()),
            _ => Total::sum(range, limits, keys()),
        }
        .unwrap();
        let mean = Mean::new(range, limits, keys()).unwrap();
        let (numbers, moved) = if measure == 3 {
            let mut cells: Vec<Cell> = shares.iter().map(|(n, sum)| mean.contribution(*n, 100 * sum)).collect();
            mean.weigh(&mut cells);
            (cells.iter().map(|cell| cell.sum).collect::<Vec<i128>>(), *mean.sum_sensitivity())
        } else {
            let mut cells: Vec<Cell> = shares.iter().map(|(n, sum)| total.contribution(*n, *sum)).collect();
            total.weigh(&mut cells);
            (cells.iter().map(|cell| total.number(cell)).collect(), *total.key_sensitivity())
        };
        let sizes: Vec<u128> = numbers.iter().map(|number| number.unsigned_abs()).collect();
        prop_assert!(sizes.len() as u128 <= moved.l0());
        prop_assert!(sizes.iter().all(|size| *size <= moved.linf()));
        prop_assert!(sizes.iter().sum::<u128>() <= moved.l1());
        prop_assert!(sizes.iter().map(|size| size * size).sum::<u128>() <= moved.l2_squared());
    }
}

// Refutes a sensitivity that nobody comes to: more noise than is needed.
#[test]
fn somebody_comes_to_the_sensitivity() {
    for (norm, weight) in [(Norm::L1, 4), (Norm::L2, 4)] {
        let total = Total::count(limits(16, 3, weight, norm), Keys::public(0..16u32).unwrap()).unwrap();
        let moved = *total.key_sensitivity();
        let counted = |records: u64, keys: usize| {
            let mut cells = vec![total.contribution(records, 0); keys];
            total.weigh(&mut cells);
            cells.iter().map(|cell| total.number(cell).unsigned_abs()).collect::<Vec<u128>>()
        };
        // As many whole keys as the weight: in full.
        let whole = counted(3, 4);
        assert_eq!(whole, vec![3 * 10_000; 4]);
        assert_eq!(whole.iter().map(|size| size * size).sum::<u128>(), moved.l2_squared());
        assert_eq!(whole[0], moved.linf());
        // All keys alike: the longest in L1.
        let all = counted(3, 16);
        assert_eq!(all.iter().sum::<u128>(), moved.l1(), "{norm:?}");
        // L2: half of each of 16 is as long as 4; L1: a quarter.
        assert_eq!(all[0], 30_000 / if norm == Norm::L2 { 2 } else { 4 });
    }
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let refused = |limits: Result<ContributionBound, Invalid>, range: Range| {
        let total = limits.and_then(|limits| Total::sum(range, limits, Keys::public(0..9u32)?));
        let refused = total.unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let range = |high: i64| Range::new(0, high).unwrap();
    let bound = |keys: u64, per_key: u64, weight: u64| {
        Bound::keys(keys).per_key(per_key).weight(weight, Norm::L2).checked()
    };
    let too_large = ("weight".to_owned(), InvalidKind::TooLarge);
    assert_eq!(refused(bound(3, 1, 4), range(9)), too_large);
    assert_eq!(refused(bound(3, 1, 0), range(9)), ("weight".to_owned(), InvalidKind::Zero));
    assert_eq!(refused(bound(9, 1, 2), range((1 << 28) + 1)), too_large);
    assert_eq!(refused(bound(9, (1 << 18) + 1, 2), range(9)), too_large);
    // The largest that may be stated.
    let most = bound(1 << 31, 1 << 18, 1 << 31).unwrap();
    let total = Total::sum(range(1 << 28), most, Keys::public(0..9u32).unwrap()).unwrap();
    assert_eq!((total.units(), total.key_sensitivity().l2_squared()), (1, 1 << 87));
    let weight = Weight::new(1 << 31, Norm::L2);
    assert_eq!(weight.factor(1 << 28, std::iter::repeat_n(u128::MAX, 100)), Factor(FULL));
    let one = Weight::new(1, Norm::L2).factor(1 << 28, std::iter::repeat_n(1 << 28, 1 << 16));
    assert_eq!(one, Factor(FULL >> 8));
}

// Refutes units in which a share is more than noise has room for, and ones that are coarser than need be.
#[test]
fn a_share_has_the_most_units_that_fit() {
    for (most, found) in [
        (1, 10_000),
        (1_000, 10_000),
        (1_001, 1_000),
        (10_000, 1_000),
        (100_000, 100),
        (1_000_001, 1),
        (10_000_000, 1),
        (1 << 28, 1),
    ] {
        assert_eq!(units(most), found, "{most}");
    }
}

// Refutes a number that is rounded to one side, and an interval that loses a unit at an end.
#[test]
fn a_number_in_units_is_released_as_the_nearest_whole_one() {
    const UNITS: i128 = 1_000;
    let near = |low, value, high| {
        let whole = whole(Estimate::between(low, value, high), UNITS as u64);
        (whole.low, whole.value, whole.high)
    };
    assert_eq!(near(UNITS - 1, UNITS + UNITS / 2 - 1, 2 * UNITS + 1), (0, 1, 3));
    assert_eq!(near(-1, UNITS / 2, 1), (-1, 1, 1));
    assert_eq!(near(-UNITS - 1, -UNITS / 2 - 1, -UNITS + 1), (-2, -1, 0));
    assert_eq!(near(-2 * UNITS, 0, 2 * UNITS), (-2, 0, 2));
}

// Refutes a part that is priced as if the rest of a person counted as before: a record less in one key changes the factor of
// all others.
#[test]
fn a_part_of_a_person_is_a_replacement() {
    let range = |low, high| Range::new(low, high).unwrap();
    for (norm, is_gaussian) in [(Norm::L1, false), (Norm::L2, true)] {
        let limits = limits(9, 4, 2, norm);
        let keys = || Keys::public(0..9u32).unwrap();
        let rho =
            |bits| PrivacyCost::Gaussian { rho: BudgetUnits::from_bits(bits), delta: BudgetUnits::ZERO };
        let price = |total: Total<u32>| total.cut().price(&rho(100), is_gaussian).unwrap();
        let one_sign = [
            Total::count(limits, keys()),
            Total::people(limits, keys()),
            Total::sum(range(0, 5), limits, keys()),
            Total::sum(range(-5, 0), limits, keys()),
        ];
        for total in one_sign {
            assert_eq!(price(total.unwrap()), Some(rho(200)));
        }
        assert_eq!(price(Total::sum(range(-1, 5), limits, keys()).unwrap()), Some(rho(400)));
        let mean = Mean::new(range(0, 5), limits, keys()).unwrap();
        assert_eq!(mean.cut(None).price(&rho(100), is_gaussian).unwrap(), Some(rho(400)));
    }
}

proptest! {
    // Refutes a factor of the price that two weighed contributions of one person do not keep within.
    #[test]
    fn what_replaces_a_part_is_no_farther_than_its_price(
        shares in prop::collection::vec((0u64..9, 0u64..9), 2..9),
        weight in 1u64..3,
    ) {
        let total = Total::count(limits(8, 8, weight, Norm::L2), Keys::public(0..8u32).unwrap()).unwrap();
        let weighed = |of: fn(&(u64, u64)) -> u64| {
            let mut cells: Vec<Cell> = shares.iter().map(|shares| total.contribution(of(shares), 0)).collect();
            total.weigh(&mut cells);
            cells.iter().map(|cell| total.number(cell)).collect::<Vec<i128>>()
        };
        let (before, after) = (weighed(|(before, _)| *before), weighed(|(before, less)| (*before).min(*less)));
        let apart: u128 = before.iter().zip(&after).map(|(a, b)| a.abs_diff(*b).pow(2)).sum();
        prop_assert!(apart <= 2 * total.key_sensitivity().l2_squared());
    }
}

// Refutes a threshold of parts of people, and one whose noise is that of fewer keys than a person is found in.
#[test]
fn keys_are_found_by_people_in_full() {
    let keys = || Keys::<u32>::discover(1e-6);
    let weighed = limits(16, 1, 2, Norm::L2);
    // Of several records a key neither count is how many people there are.
    let whole = Bound::keys(16).per_key(2).checked().unwrap();
    let least = |total: Total<u32>| {
        let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
        assert!(prepared.noise_of_found().is_some(), "the number has a draw of its own");
        prepared.threshold().unwrap()
    };
    let of_whole = least(Total::count(whole, keys()).unwrap());
    assert_eq!(least(Total::people(weighed, keys()).unwrap()), of_whole);
    assert_eq!(least(Total::count(weighed, keys()).unwrap()), of_whole);
    let range = Range::new(0, 5).unwrap();
    let of_mean = |limits| {
        let mean = Mean::new(range, limits, keys()).unwrap();
        Gaussian::rho(0.1).prepare(&mean).unwrap().threshold().unwrap()
    };
    assert_eq!(of_mean(weighed), of_mean(whole));
}
