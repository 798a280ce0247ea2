//! The shares of several releases: the mean of their errors is made as small as it can be.
//!
//! An error falls as a share grows, and ever more slowly, so the least mean is reached by giving the shares
//! away in small units, each to the release whose error it lowers most. Where an error falls faster for a
//! while, as where a key comes to be found, it is taken to fall evenly until there: otherwise a release would
//! never get the first of several units that help together. The largest error is no aim: a release that errs
//! much whatever it gets would take what helps others.

use super::SweptShare;
use super::sweep::ReleaseSweep;
use crate::decimal::Decimal;
use crate::job::config::BudgetShare;

/// The number of units that are given away, of shares that are a whole budget.
const UNITS: u64 = 100;

/// The number of shares at which an error is computed; between them it follows a power of the share.
const POINTS: u32 = 12;

/// The error from which on a release is mostly noise: with all shares it would still be, and it keeps its
/// own.
const NOISE: f64 = 0.5;

/// The number of hundredths of the budget from which on a unit is one of them.
const HUNDREDTHS: u64 = 20;

/// The parts of the budget of which smaller units are whole numbers.
const FINEST: u64 = 10_000;

/// Returns the shares with the least mean error, together no more than the present ones; `None` for a
/// release that keeps its own.
pub(super) fn least_mean_error(sweeps: &[Option<&ReleaseSweep<'_>>]) -> Vec<Option<BudgetShare>> {
    let whole = |sweeps: &[Option<&ReleaseSweep<'_>>]| {
        sweeps.iter().flatten().map(|sweep| sweep.share().parts()).sum::<u64>()
    };
    let all = whole(sweeps);
    let is_useful = |sweep: &&ReleaseSweep<'_>| {
        let most = of_parts(all);
        most.is_some_and(|most| sweep.curve(&[most]).first().is_some_and(|error| *error <= NOISE))
    };
    let pool: Vec<Option<&ReleaseSweep<'_>>> = sweeps.iter().map(|sweep| sweep.filter(&is_useful)).collect();
    let parts = whole(&pool);
    let hundredth = BudgetShare::WHOLE.parts() / UNITS;
    let finest = BudgetShare::WHOLE.parts() / FINEST;
    let unit = if parts >= HUNDREDTHS * hundredth { hundredth } else { parts / UNITS / finest * finest };
    let members = pool.iter().flatten().count() as u64;
    if unit == 0 || members < 2 || members * 2 > parts / unit {
        return vec![None; sweeps.len()];
    }
    let curves: Vec<Option<ErrorCurve>> =
        pool.iter().map(|sweep| sweep.map(|sweep| ErrorCurve::of(sweep, parts))).collect();
    let mut units: Vec<u64> = pool.iter().map(|sweep| u64::from(sweep.is_some())).collect();
    for _ in members..parts / unit {
        let gain = |at: usize| curves.get(at)?.as_ref().map(|curve| curve.gain(units[at] * unit, unit));
        let next = (0..units.len()).filter_map(|at| Some((at, gain(at)?)));
        let Some((at, _)) = next.max_by(|one, other| one.1.total_cmp(&other.1)) else { break };
        units[at] += 1;
    }
    let share =
        |(units, curve): (&u64, &Option<ErrorCurve>)| curve.as_ref().and_then(|_| of_parts(units * unit));
    units.iter().zip(&curves).map(share).collect()
}

/// The hundredths of the budget whose errors are shown.
const SHOWN: [u64; 9] = [1, 2, 5, 10, 20, 30, 50, 70, 100];

/// Returns the error of a release at some shares, the present and the chosen one among them.
pub(super) fn swept(sweep: &ReleaseSweep<'_>, chosen: BudgetShare) -> Vec<SweptShare> {
    let hundredth = BudgetShare::WHOLE.parts() / 100;
    let shown = SHOWN.into_iter().map(|hundredths| hundredths * hundredth);
    let mut parts: Vec<u64> = shown.chain([sweep.share().parts(), chosen.parts()]).collect();
    parts.sort_unstable();
    parts.dedup();
    // The noise of the others follows from that of the first one.
    let shares: Vec<BudgetShare> =
        [chosen].into_iter().chain(parts.into_iter().filter_map(of_parts)).collect();
    let errors = sweep.curve(&shares);
    let swept = shares.into_iter().zip(errors).map(|(share, error)| SweptShare { share, error });
    swept.skip(1).collect()
}

/// The error of a release by its share.
struct ErrorCurve {
    /// Shares, in parts, each with what of the error a share can remove, in ascending order; those between
    /// which the error falls ever more slowly.
    points: Vec<(f64, f64)>,
}

impl ErrorCurve {
    /// Computes the curve up to a share of this number of parts.
    fn of(sweep: &ReleaseSweep<'_>, most: u64) -> ErrorCurve {
        // The present share is the first, by which the noise of the others is known.
        let present = sweep.share().parts();
        let first = (most / UNITS).max(1) as f64;
        let step = (most as f64 / first).powf(1.0 / f64::from(POINTS - 1));
        let others = (0..POINTS).map(|point| (first * step.powi(point as i32)) as u64);
        let shares: Vec<BudgetShare> = [present].into_iter().chain(others).filter_map(of_parts).collect();
        let floor = of_parts(most).map_or(0.0, |most| sweep.floor(most));
        let errors = sweep.curve(&shares);
        let excess = |(share, error): (&BudgetShare, f64)| {
            (share.parts() as f64, (error - floor).max(f64::MIN_POSITIVE))
        };
        let mut points: Vec<(f64, f64)> = shares.iter().zip(errors).map(excess).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        ErrorCurve { points: lower_hull(points) }
    }

    /// Returns what a further number of parts lowers the error by.
    fn gain(&self, parts: u64, more: u64) -> f64 {
        self.excess(parts) - self.excess(parts + more)
    }

    /// Returns the part of the error that a share can remove, at a share of this number of parts.
    fn excess(&self, parts: u64) -> f64 {
        let parts = parts as f64;
        let after = self.points.partition_point(|(share, _)| *share < parts);
        match (after.checked_sub(1).and_then(|before| self.points.get(before)), self.points.get(after)) {
            (Some((low, of_low)), Some((high, of_high))) if high > low => {
                let part = (parts / low).ln() / (high / low).ln();
                of_low * (of_high / of_low).powf(part)
            }
            (_, Some((_, error))) | (Some((_, error)), None) => *error,
            (None, None) => 0.0,
        }
    }
}

/// Returns the points that no line between two others lies below, of points in ascending order.
fn lower_hull(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::with_capacity(points.len());
    for (x, y) in points {
        while let [.., (x1, y1), (x2, y2)] = hull[..] {
            if (y2 - y1) * (x - x1) < (y - y1) * (x2 - x1) {
                break;
            }
            hull.pop();
        }
        hull.push((x, y));
    }
    hull
}

/// Returns the share of this number of parts; `None` for none.
pub(super) fn of_parts(parts: u64) -> Option<BudgetShare> {
    BudgetShare::of(&Decimal::of(&parts.to_string(), -18)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a first unit that wins nothing by itself, and is given to nobody though several win much.
    #[test]
    fn an_error_that_falls_late_falls_evenly_until_then() {
        let points = vec![(1.0, 1.0), (2.0, 0.99), (4.0, 0.2), (8.0, 0.1)];
        assert_eq!(lower_hull(points), [(1.0, 1.0), (4.0, 0.2), (8.0, 0.1)]);
        let convex = vec![(1.0, 1.0), (2.0, 0.5), (4.0, 0.25)];
        assert_eq!(lower_hull(convex.clone()), convex);
        let curve = ErrorCurve { points: lower_hull(vec![(1.0, 1.0), (2.0, 0.99), (4.0, 0.2)]) };
        assert!(curve.gain(1, 1) > 0.3, "{}", curve.gain(1, 1));
    }
}
