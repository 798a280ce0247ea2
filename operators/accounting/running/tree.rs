//! The binary tree: a node for every span of `2^level` ticks, each with noise of its own, and totals from few of them.
//!
//! A node that is complete is estimated by itself and by its two children together (Honaker's refinement, from below): at level
//! `k`, leaves being 1, its variance is `1 / (2 (1 - 2^-k))` of that of one draw. A tick is in one node a level.

/// How many levels there are for so many ticks: one for each binary digit.
pub(crate) fn levels(ticks: u64) -> u32 {
    u64::BITS - ticks.leading_zeros()
}

/// The variance of the estimate of a node over `2^level` ticks; also the weight of the node's own measurement in it.
pub(crate) fn node(level: u32) -> f64 {
    let leaves = (1u64 << level) as f64;
    leaves / (2.0 * leaves - 1.0)
}

/// The variances of totals for draws of variance 1: the largest of so many, and the mean of all.
pub(super) fn variances(ticks: u64) -> (f64, f64) {
    let of = |tick: u64| -> f64 { (0..levels(ticks)).filter(|level| tick >> level & 1 == 1).map(node).sum() };
    // The largest is at the end, or where one digit of it is cleared and all that follow are set.
    let cleared = |level: u32| {
        (ticks >> level & 1 == 1).then(|| of((ticks >> level).wrapping_sub(1) << level | ((1 << level) - 1)))
    };
    let largest = (0..levels(ticks)).filter_map(cleared).fold(of(ticks), f64::max);
    let sum: f64 = (0..levels(ticks)).map(|level| node(level) * with_digit(ticks, level)).sum();
    (largest, sum / ticks as f64)
}

/// How many of the numbers up to `last` have this binary digit.
fn with_digit(last: u64, level: u32) -> f64 {
    let (all, span) = (u128::from(last) + 1, 1u128 << (level + 1));
    (all / span * (span / 2) + (all % span).saturating_sub(span / 2)) as f64
}
