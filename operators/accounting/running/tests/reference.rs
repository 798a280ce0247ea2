//! Published and recomputed figures of continual counting, each by its own formulas where the strategy is not
//! one of this library.

use super::*;

/// A row: ticks; largest and mean variance at unit cost of the bound, the square root, the plain tree with
/// and without its root, trees of the best base without and with subtraction, and Honaker's with and without
/// its root.
type Row = (u64, f64, [[f64; 2]; 9]);

const TABLE: [Row; 3] = [
    (
        1024,
        2.909584,
        [
            [10.709611, 9.670793],
            [100.0, 50.019531],
            [110.0, 55.021484],
            [72.0, 37.031250],
            [72.0, 37.031250],
            [48.0, 26.609375],
            [48.0, 26.609375],
            [63.831450, 31.921099],
            [58.028591, 29.024071],
        ],
    ),
    (
        65536,
        4.232098,
        [
            [21.127300, 19.664292],
            [256.0, 128.000488],
            [272.0, 136.000519],
            [189.0, 94.617493],
            [189.0, 94.617493],
            [120.0, 71.448486],
            [120.0, 65.517120],
            [149.656779, 74.828519],
            [140.853439, 70.426964],
        ],
    ),
    (
        1048576,
        5.114611,
        [
            [30.019307, 28.275299],
            [400.0, 200.000038],
            [420.0, 210.000040],
            [296.0, 149.726799],
            [296.0, 149.726799],
            [176.0, 99.659119],
            [176.0, 99.659119],
            [226.870289, 113.435155],
            [216.066942, 108.033490],
        ],
    ),
];

/// The bases of the four rows of trees of another base than 2.
const BASES: [[u64; 4]; 3] = [[6, 6, 7, 7], [5, 5, 5, 11], [6, 6, 7, 7]];

#[test]
fn the_table_is_reproduced() {
    for ((ticks, least, rows), bases) in TABLE.into_iter().zip(BASES) {
        let choice = so_far(ticks, 0.5).unwrap();
        near(choice.lower_bound(), least, 2e-7);
        let ours = |strategy| {
            let figures = of(&choice, strategy);
            [figures.max_deviation().powi(2), figures.rms_deviation().powi(2)]
        };
        let found = [
            // The strategy that is drawn has coefficients rounded to 2^-20.
            ours(Strategy::SquareRoot),
            plain(ticks, false),
            plain(ticks, true),
            based(ticks, bases[0], false),
            based(ticks, bases[1], false),
            based(ticks, bases[2], true),
            based(ticks, bases[3], true),
            ours(Strategy::Tree),
            rootless(ticks),
        ];
        for (row, (found, stated)) in found.iter().zip(rows).enumerate() {
            near(found[0], stated[0], 1e-6);
            near(found[1], stated[1], 1e-6);
            assert!(row == 0 || found[0] > ours(Strategy::Buffered)[0], "{ticks} {row}");
        }
    }
    // Least squares over the whole tree, after the last tick: no estimate of its nodes has less error, and
    // correlated noise does.
    let [largest, mean] = least_squares(1024);
    near(largest, 19.698611, 1e-6);
    near(mean, 13.587766, 1e-6);
}

/// The tree without refinement: a prefix is a node for each digit. The root is charged or not; the last
/// prefix of a power of two is released as its two halves.
fn plain(ticks: u64, root: bool) -> [f64; 2] {
    let levels = f64::from(ticks.trailing_zeros() + u32::from(root));
    let nodes = |tick: u64| if tick == ticks { 2.0 } else { f64::from(tick.count_ones()) };
    summary(levels, (1..=ticks).map(nodes))
}

/// Honaker's tree without the root.
fn rootless(ticks: u64) -> [f64; 2] {
    let levels = ticks.trailing_zeros();
    let variance = |tick: u64| -> f64 {
        if tick == ticks {
            return 2.0 * strategies::node(levels - 1);
        }
        (0..levels).filter(|level| tick >> level & 1 == 1).map(strategies::node).sum()
    };
    summary(f64::from(levels), (1..=ticks).map(variance))
}

/// A tree of another base: the number of nodes of a prefix is the sum of its digits, which are balanced
/// around 0 where nodes may be subtracted.
fn based(ticks: u64, base: u64, subtracting: bool) -> [f64; 2] {
    let reach = |levels: u32| if subtracting { (base.pow(levels) - 1) / 2 } else { base.pow(levels) };
    let levels = (1..).find(|levels| reach(*levels) >= ticks).unwrap();
    let nodes = |mut tick: u64| {
        let mut sum = 0;
        while tick > 0 {
            let digit = tick % base;
            let negative = subtracting && digit > base / 2;
            sum += if negative { base - digit } else { digit };
            tick = tick / base + u64::from(negative);
        }
        sum as f64
    };
    summary(f64::from(levels), (1..=ticks).map(nodes))
}

/// Information of a prefix and the rest of the ticks under a node, by message passing from the leaf up.
fn least_squares(ticks: u64) -> [f64; 2] {
    let height = ticks.trailing_zeros();
    let precision = |level: u32| 1.0 / strategies::node(level);
    let variance = |tick: u64| -> f64 {
        if tick == ticks {
            return 1.0 / precision(height);
        }
        // The covariance of (prefix, rest) under the node above the two that meet at the tick.
        let met = tick.trailing_zeros();
        let mut covariance = [1.0 / precision(met), 0.0, 1.0 / precision(met)];
        for level in met + 1..=height {
            if level > met + 1 {
                // The other child is all before the tick or all after it.
                let other = 1.0 / precision(level - 1);
                covariance[if tick >> (level - 1) & 1 == 1 { 0 } else { 2 }] += other;
            }
            // The node is measured as their sum, with noise of variance 1.
            let [a, b, c] = covariance;
            let (left, right, all) = (a + b, b + c, a + 2.0 * b + c + 1.0);
            covariance = [a - left * left / all, b - left * right / all, c - right * right / all];
        }
        covariance[0]
    };
    summary(f64::from(height + 1), (1..=ticks).map(variance))
}

fn summary(cost: f64, variances: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut count, mut largest, mut sum) = (0.0, 0.0f64, 0.0);
    for variance in variances {
        (count, largest, sum) = (count + 1.0, largest.max(variance), sum + variance);
    }
    [cost * largest, cost * sum / count]
}
