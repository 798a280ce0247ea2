#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// The loss of each answer, written out.
fn spread(runs: &[EqualLossRun]) -> Vec<u64> {
    runs.iter().flat_map(|run| std::iter::repeat_n(run.loss, run.cells as usize)).collect()
}

/// By the definition, for one point.
fn slow(values: &[i64], point: i64, quantile: Quantile) -> u64 {
    let count = |holds: &dyn Fn(i64) -> bool| values.iter().filter(|&&value| holds(value)).count() as i128;
    let (below, at, above) = (count(&|v| v < point), count(&|v| v == point), count(&|v| v > point));
    let (a, q) = (i128::from(quantile.numerator()), i128::from(quantile.denominator()));
    let loss = 0.max((q - a) * below - a * (at + above)).max(a * above - (q - a) * (below + at));
    u64::try_from(loss).unwrap()
}

fn quantiles() -> impl Strategy<Value = Quantile> {
    prop_oneof![
        9 => (1u64..100, 2u64..100).prop_map(|(a, q)| Quantile::of(a.min(q - 1), q).unwrap()),
        1 => Just(Quantile::of(999_999, 1_000_000).unwrap()),
    ]
}

fn values() -> impl Strategy<Value = Vec<i64>> {
    let value = prop_oneof![8 => -12i64..12, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    prop::collection::vec(value, 0..25)
}

proptest! {
    // Refutes a value between points that counts at the lower one or at none, and one beyond the ends that counts nowhere.
    #[test]
    fn the_loss_of_every_point_is_that_of_the_definition(
        mut values in values(),
        points in prop::collection::btree_set(prop_oneof![8 => -9i64..9, 1 => Just(i64::MIN), 1 => Just(i64::MAX)], 2..9),
        low in -9i64..0, step in 1u64..5,
        quantile in quantiles(),
    ) {
        values.sort_unstable();
        for grid in [Grid::list(points.clone()).unwrap(), Grid::linear(low, 9, step).unwrap()] {
            let losses = spread(&by_value(&values, &grid, quantile));
            let points: Vec<i64> = (1..=grid.top()).map(|index| grid.at(index).unwrap()).collect();
            let at = |value: &i64| *points.iter().find(|point| *point >= value).unwrap_or(points.last().unwrap());
            let values: Vec<i64> = values.iter().map(at).collect();
            let wanted: Vec<u64> = points.iter().map(|point| slow(&values, *point, quantile)).collect();
            prop_assert_eq!(losses, wanted);
        }
    }

    // Refutes a place that counts as another, or as one of the whole grid.
    #[test]
    fn the_losses_of_places_are_those_of_values(
        mut places in prop::collection::vec(3u64..20, 0..12),
        quantile in quantiles(),
    ) {
        places.sort_unstable();
        let losses = spread(&by_place(&places, (3, 19), quantile));
        let values: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let wanted: Vec<u64> = (3..=19).map(|point| slow(&values, point, quantile)).collect();
        prop_assert_eq!(losses, wanted);
    }

    // Refutes a sensitivity that is too small: one value more, of either kind, moves no loss by more than is
    // said.
    #[test]
    fn one_value_moves_every_loss_by_at_most_the_reach(
        mut values in values(),
        more in prop_oneof![-12i64..12, any::<i64>()],
        quantile in quantiles(),
    ) {
        values.sort_unstable();
        let mut neighbours = values.clone();
        neighbours.insert(values.partition_point(|&value| value < more), more);
        let grid = Grid::linear(-9, 9, 2).unwrap();
        let [one, other] = [&values, &neighbours].map(|values| spread(&by_value(values, &grid, quantile)));
        prop_assert!(one.iter().zip(&other).all(|(a, b)| a.abs_diff(*b) <= quantile.reach()));

        let cells = |values: &[i64]| values.iter().map(|value| value.clamp(&-12, &12).abs_diff(-12)).collect::<Vec<u64>>();
        let [one, other] = [&values, &neighbours].map(|values| spread(&by_place(&cells(values), (0, 24), quantile)));
        prop_assert!(one.iter().zip(&other).all(|(a, b)| a.abs_diff(*b) <= quantile.reach()));
    }
}

// Refutes a rank that is counted from elsewhere: of the values themselves, the exact one is the least that is
// not off.
#[test]
fn the_exact_quantile_is_the_least_that_is_not_off() {
    let median = Quantile::of(1, 2).unwrap();
    for quantile in [median, Quantile::of(9, 10).unwrap(), Quantile::of(1, 1_000_000).unwrap()] {
        for values in [vec![5], vec![5, 7], vec![1, 2, 3], vec![1, 1, 1, 2], (0..100).collect()] {
            let least = values.iter().copied().find(|&value| off(&values, value, quantile) == 0);
            assert_eq!(exact(&values, quantile), least, "{quantile} of {values:?}");
        }
    }
    assert_eq!(exact(&[], median), None);
    // Half of five is two and a half: none below are as many too few, and three a half too many.
    let values = [1, 2, 3, 4, 5];
    assert_eq!([0, 1, 3, 4, 6].map(|answer| off(&values, answer, median)), [3, 2, 0, 1, 3]);
}

// Refutes a reach that is more than it need be: nine tenths are moved by 9, and not by 10.
#[test]
fn the_reach_is_reached() {
    let ninth = Quantile::of(9, 10).unwrap();
    let grid = Grid::linear(0, 1, 1).unwrap();
    assert_eq!(spread(&by_value(&[], &grid, ninth)), [0, 0]);
    assert_eq!(spread(&by_value(&[5], &grid, ninth)), [9, 0], "beyond the end it is at the end");
}

#[test]
fn runs_of_equal_loss_are_joined() {
    let median = Quantile::of(1, 2).unwrap();
    let grid = Grid::linear(0, (1 << 40) - 1, 1).unwrap();
    assert_eq!(by_value(&[], &grid, median), [EqualLossRun { cells: 1 << 40, loss: 0 }]);
    assert_eq!(by_value(&[-5, i64::MAX], &grid, median), [EqualLossRun { cells: 1 << 40, loss: 0 }]);
    assert_eq!(
        by_value(&[7], &grid, median),
        [
            EqualLossRun { cells: 7, loss: 1 },
            EqualLossRun { cells: 1, loss: 0 },
            EqualLossRun { cells: (1 << 40) - 8, loss: 1 }
        ]
    );
    assert_eq!(by_place(&[], (4, 4), median), [EqualLossRun { cells: 1, loss: 0 }]);
}

#[test]
fn a_distance_of_the_most_people_does_not_overflow() {
    let finest = Quantile::of(1, 1_000_000).unwrap();
    assert_eq!(distance(finest, 1 << 40, 0, 0), 999_999 << 40);
    assert_eq!(distance(finest, usize::MAX, 0, 0), u64::MAX);
}
