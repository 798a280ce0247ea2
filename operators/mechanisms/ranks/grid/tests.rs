#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// All answers.
fn answers(grid: &Grid) -> Vec<i64> {
    (1..=grid.top()).map(|index| grid.at(index).unwrap()).collect()
}

/// The least `m` with `m^16 >= 2^i`, by the definition.
fn ceiling_of_power(i: usize) -> UBig {
    let power = UBig::ONE << i;
    let (mut below, mut at) = (UBig::ZERO, UBig::ONE << (i / 16 + 1));
    while &below + UBig::ONE < at {
        let middle = (&below + &at) >> 1usize;
        if middle.pow(16) >= power { at = middle } else { below = middle }
    }
    at
}

// Refutes a root that is rounded, a power that is missing or there twice, and ends that are not those of
// `i64`.
#[test]
fn log_grids_are_the_sixteenth_powers_of_two() {
    let mut wanted: Vec<UBig> = (0..=1008).map(ceiling_of_power).collect();
    wanted.dedup();
    let last = wanted.pop().unwrap();
    assert_eq!(last, UBig::ONE << 63usize);
    let wanted: Vec<i64> = wanted.into_iter().map(|size| i64::try_from(size).unwrap()).collect();

    let zero = Grid::log_from_zero();
    let above: Vec<i64> = [&[0], &wanted[..], &[i64::MAX]].concat();
    assert_eq!(answers(&zero), above);

    let below: Vec<i64> = [i64::MIN].into_iter().chain(wanted.iter().rev().map(|&size| -size)).collect();
    let both = Grid::log();
    assert_eq!(answers(&both), [below, above].concat());
}

#[test]
fn log_grids_are_small_enough_for_ten_and_eleven_comparisons() {
    let zero = Grid::log_from_zero();
    assert_eq!((zero.points(), zero.comparisons()), (961, 10));
    let both = Grid::log();
    assert_eq!((both.points(), both.comparisons()), (1920, 11));
    assert_eq!(answers(&zero)[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

// Refutes a comparison too few: the published ceil(log2 |Y|) - 1 is 2 for six points, and a search among five
// spans needs 3.
#[test]
fn a_search_ends_within_the_comparisons_whichever_way_it_goes() {
    fn longest(span: u64) -> u32 {
        if span <= 1 { 0 } else { 1 + longest(span / 2).max(longest(span - span / 2)) }
    }
    for top in 2..2000 {
        let grid = Grid::linear(1, top, 1).unwrap();
        assert_eq!(grid.comparisons(), longest(grid.points() - 1), "{top}");
    }
    assert_eq!(Grid::linear(1, 5, 1).unwrap().comparisons(), 3);
    assert_eq!(Grid::linear(0, (1 << 40) - 1, 1).unwrap().comparisons(), 40);
}

proptest! {
    // Refutes an index that is off by one on either side of a point: against a list that is walked.
    #[test]
    fn a_ceiling_is_the_first_point_that_is_not_below(
        mut points in prop::collection::btree_set(-50i64..50, 2..20),
        ends in any::<(bool, bool)>(),
        value in prop_oneof![-60i64..60, Just(i64::MIN), Just(i64::MAX), any::<i64>()],
    ) {
        points.extend(ends.0.then_some(i64::MIN));
        points.extend(ends.1.then_some(i64::MAX));
        let points: Vec<i64> = points.into_iter().collect();
        let grid = Grid::list(points.clone()).unwrap();
        let walked = points.iter().take_while(|&&point| point < value).count() as u64 + 1;
        prop_assert_eq!(grid.ceiling(value), walked);
        prop_assert_eq!(grid.at(walked), points.get(walked as usize - 1).copied());
        prop_assert_eq!((grid.top(), grid.points()), (points.len() as u64, points.len() as u64 + 1));
        prop_assert_eq!(grid.at(grid.top() + 1), None);
    }

    // The same of a grid that holds no list.
    #[test]
    fn an_even_grid_is_the_list_that_it_stands_for(
        low in prop_oneof![-50i64..50, Just(i64::MIN), Just(i64::MAX - 40)],
        width in 1u64..40,
        step in 1u64..20,
        value in prop_oneof![-60i64..60, any::<i64>(), i64::MIN..i64::MIN + 50, i64::MAX - 50..=i64::MAX],
    ) {
        let high = low.saturating_add_unsigned(width);
        let points: Vec<i64> = (0..=width).step_by(step as usize).map(|above| low.saturating_add_unsigned(above)).collect();
        prop_assume!(points.len() > 1);
        let (even, list) = (Grid::linear(low, high, step).unwrap(), Grid::list(points.clone()).unwrap());
        prop_assert_eq!(answers(&even), points);
        prop_assert_eq!(even.ceiling(value), list.ceiling(value));
        prop_assert_eq!((even.at(0), even.at(even.points())), (None, None));
    }
}

#[test]
fn grids_reach_the_ends_of_all_numbers() {
    let wide = Grid::linear(i64::MIN, i64::MAX, 1 << 24).unwrap();
    assert_eq!(wide.top(), 1 << 40);
    assert_eq!((wide.at(1), wide.at(1 << 40)), (Some(i64::MIN), Some(i64::MAX - (1 << 24) + 1)));
    assert_eq!((wide.ceiling(i64::MIN), wide.ceiling(i64::MAX)), (1, (1 << 40) + 1));
    let two = Grid::linear(i64::MIN, i64::MAX, u64::MAX).unwrap();
    assert_eq!(answers(&two), [i64::MIN, i64::MAX]);
    assert_eq!((two.ceiling(i64::MIN + 1), two.ceiling(i64::MAX)), (2, 2));
    assert_eq!(two.comparisons(), 1);
    assert_eq!((two.at(u64::MAX), Grid::log().at(u64::MAX)), (None, None));
}

#[test]
fn a_grid_of_too_little_or_too_much_is_refused_by_name() {
    let refused = |grid: Result<Grid, Invalid>| {
        let refused = Grid::try_from(grid).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    assert_eq!(refused(Grid::linear(0, 5, 0)), ("step".into(), InvalidKind::Zero));
    assert_eq!(
        refused(Grid::linear(i64::MIN, i64::MAX, (1 << 24) - 1)),
        ("step".into(), InvalidKind::TooSmall)
    );
    for grid in
        [Grid::linear(0, 4, 5), Grid::linear(5, 4, 1), Grid::linear(i64::MAX, i64::MIN, 1), Grid::list([3])]
    {
        assert_eq!(refused(grid), ("grid".into(), InvalidKind::TooSmall));
    }
    assert_eq!(refused(Grid::list([1, 1])), ("grid".into(), InvalidKind::Mixed));
    assert_eq!(refused(Grid::list([2, 1])), ("grid".into(), InvalidKind::Mixed));
}

// Refutes a parameter that is left out of what a release is named by.
#[test]
fn other_grids_have_other_digests_and_are_described() {
    let grids = [
        (Grid::log(), "a log grid, 16 points a doubling, above and below zero"),
        (Grid::log_from_zero(), "a log grid from zero, 16 points a doubling"),
        (Grid::linear(0, 9, 2).unwrap(), "5 points from 0 to 8 in steps of 2"),
        (Grid::linear(1, 9, 2).unwrap(), "5 points from 1 to 9 in steps of 2"),
        (Grid::linear(0, 10, 2).unwrap(), "6 points from 0 to 10 in steps of 2"),
        (Grid::linear(0, 12, 3).unwrap(), "5 points from 0 to 12 in steps of 3"),
        (Grid::list([1, 2, 5]).unwrap(), "3 listed points from 1 to 5"),
        (Grid::list([1, 3, 5]).unwrap(), "3 listed points from 1 to 5"),
        (Grid::list([1, 2]).unwrap(), "2 listed points from 1 to 2"),
    ];
    let digest = |grid: &Grid| *grid.canonical(Canonical::new("test")).finish().bytes();
    let digests: std::collections::BTreeSet<_> = grids.iter().map(|(grid, _)| digest(grid)).collect();
    assert_eq!(digests.len(), grids.len());
    for (grid, words) in grids {
        assert_eq!(grid.to_string(), words);
        assert_eq!(digest(&grid), digest(&grid.clone()));
    }
}
