//! The rank error to expect of a quantile, beside the one that is promised.
//!
//! A promise holds for all values that there may be. The worst are such that one answer alone is right, and all others
//! of a grid, a million of them, share the least loss that is too much: that takes the promise up by a logarithm of
//! their number. Real values are seldom so.
//!
//! **The stand-in.** All values differ, lie evenly among the answers, and are many more than the error. Then between each
//! two values there are equally many answers, so the number of values by which one is off has the weights of its loss
//! alone: it falls by `e` over a scale, on both sides of the quantile, and the grid and the number of values cancel out. It is
//! off by more than `L` with the chance `e^(-L / scale)` at most, rounded to whole numbers either way. Permute-and-flip draws
//! by the same weights where answers are many, and errs less where they are few. Of a cut between two others, the parts of
//! errors that it inherits (`split.rs`) have signs here, and may cancel out: the sum of independent errors of this law.
//!
//! **No promise.** Nothing keeps real values from being worse. Where hundreds are equal, one answer is right and those
//! between it and the next such value are all off by hundreds; where values crowd in a small part of the range, more answers
//! are far off than near. Errors are larger then: of the prices of a shop, nearly twice as large.

use serde::Serialize;

use super::errors::convolved;

/// The rank error that half and nine tenths of the answers are expected to be within, where values differ and lie evenly
/// among the answers. It is no promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TypicalRankError {
    /// The number of ranks that half of the answers are expected to be within.
    pub half: u64,
    /// The number of ranks that nine tenths of the answers are expected to be within.
    pub nine_tenths: u64,
}

/// The number of steps in a scale, for one error.
const FINE: f64 = 64.0;

/// The number of errors up to which a step is larger for each of them.
const MOST: usize = 8;

/// The number of scales beyond which an error is left out: one in twenty thousand is.
const SCALES: f64 = 10.0;

impl TypicalRankError {
    /// Of a sum of independent errors that fall by `e` over these numbers of ranks, on both sides.
    pub(super) fn of(scales: &[f64]) -> TypicalRankError {
        let scales: Vec<f64> = scales.iter().copied().filter(|scale| *scale > 0.0).collect();
        let within: Box<dyn Fn(f64) -> f64> = match &scales[..] {
            [] => Box::new(|_| 0.0),
            [scale] => Box::new(move |part| -scale * (1.0 - part).ln()),
            _ => Box::new(sum_within(&scales)),
        };
        let ranks = |part: f64| (within(part) * (1.0 - 1e-9)).ceil() as u64;
        TypicalRankError { half: ranks(0.5), nine_tenths: ranks(0.9) }
    }
}

/// Returns a function of the number of ranks that a sum of such errors is within as often as this.
fn sum_within(scales: &[f64]) -> impl Fn(f64) -> f64 + use<> {
    let step = scales.iter().copied().fold(0.0, f64::max) * scales.len().min(MOST) as f64 / FINE;
    let mut chances = vec![1.0];
    for scale in scales {
        // Of each number of steps, rounded to the nearest.
        let falls = |steps: f64| (-steps * step / scale).exp();
        let most = (SCALES * scale / step).ceil() as u64;
        let side = |steps: u64| (falls(steps as f64 - 0.5) - falls(steps as f64 + 0.5)) / 2.0;
        let upper: Vec<f64> = (1..=most).map(side).collect();
        let middle = [1.0 - falls(0.5)];
        let own: Vec<f64> = upper.iter().rev().chain(&middle).chain(&upper).copied().collect();
        chances = convolved(&chances, &own);
    }
    let middle = chances.len() / 2;
    let all: f64 = chances.iter().sum();
    move |part| {
        let (mut kept, mut from) = (0.0, 0.0);
        for (steps, chance) in chances.iter().skip(middle).enumerate() {
            // Both sides, of which the middle is on neither.
            let (own, to) = (chance * if steps == 0 { 1.0 } else { 2.0 }, steps as f64 + 0.5);
            if kept + own >= part * all {
                return step * (from + (to - from) * (part * all - kept) / own);
            }
            (kept, from) = (kept + own, to);
        }
        step * from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scales: &[f64]) -> (u64, u64) {
        let TypicalRankError { half, nine_tenths } = TypicalRankError::of(scales);
        (half, nine_tenths)
    }

    // By hand: ln 2 and ln 10 scales of one; of two that are alike, (1 + x / 2) e^-x is the chance beyond x scales, which is
    // .5 at 1.1462 and .1 at 3.2719.
    #[test]
    fn a_typical_error_is_that_of_a_sum_with_signs() {
        assert_eq!(of(&[]), (0, 0));
        assert_eq!(of(&[1000.0]), (694, 2303));
        assert_eq!(of(&[0.01]), (1, 1));
        let near = |(half, nine): (u64, u64), (x, y): (f64, f64)| {
            assert!(
                (half as f64 / x - 1.0).abs() < 0.01 && (nine as f64 / y - 1.0).abs() < 0.01,
                "{half} {nine}"
            );
        };
        near(of(&[1e6, 1e6]), (1.1462e6, 3.2719e6));
        // A small part hardly counts, and of many alike the sum is nearly normal, with a deviation of the root of 2 n.
        near(of(&[1e6, 1e3]), (0.6931e6, 2.3026e6));
        near(of(&[1e6; 50]), (0.67449 * 10e6, 1.64485 * 10e6));
        // No sum of errors with signs is as large as the sum of their sizes.
        let (half, nine) = of(&[100.0, 50.0, 25.0]);
        assert!(half < 70 + 35 + 18 && nine < 231 + 116 + 58 && half > 70 && nine > 231, "{half} {nine}");
    }
}
