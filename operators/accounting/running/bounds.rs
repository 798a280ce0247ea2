//! What no strategy can err by less than.
//!
//! Of linear strategies with Gaussian noise, whatever they keep: for totals so far the nuclear norm of the triangle of ones over
//! the number of ticks, for totals over the last `W` ticks of an endless stream Lebesgue's constant of `W` ones. Both bound the
//! root of the mean of all variances, and so the largest.

use std::f64::consts::PI;

use super::toeplitz::EULER;

/// From here on the sum is an integral and its correction, to 1e-14.
const MANY: u64 = 1 << 16;

/// For totals so far: `1/T` times the sum over `j` of `1 / (2 sin((2j - 1) pi / (4T + 2)))`.
pub(super) fn least_error_so_far(ticks: u64) -> f64 {
    let n = ticks as f64;
    let step = PI / (4.0 * n + 2.0);
    if ticks <= MANY {
        return (1..=ticks).map(|j| 0.5 / libm::sin((2 * j - 1) as f64 * step)).sum::<f64>() / n;
    }
    // 1 / sin x is 1 / x, whose sum is one of harmonic numbers, and a smooth rest, by the midpoint rule.
    let harmonic = |n: f64| n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n);
    let poles = (harmonic(2.0 * n) - harmonic(n) / 2.0) / (2.0 * step);
    let end = 2.0 * n * step;
    let rest = (libm::tan(end / 2.0).ln() - end.ln() + 2f64.ln()) / (4.0 * step);
    // The derivative of the rest is 1/6 at 0, and -cos x / sin^2 x + 1 / x^2 at the end.
    let (sin, cos) = libm::sincos(end);
    let slope = -cos / (sin * sin) + 1.0 / (end * end) - 1.0 / 6.0;
    (poles + rest - step * slope / 24.0) / n
}

/// Gauss's nodes and weights for 8 points, of the positive half.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_27),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_2, 0.101_228_536_290_376_26),
];

/// Into how many parts each arc is divided on which the kernel has one sign.
const PARTS: u32 = 2;

/// For totals over the last `width` ticks: the mean of `|sin(W x) / sin x|` over a quarter turn.
pub(super) fn over(width: u64) -> f64 {
    let n = width as f64;
    let arc = PI / n / f64::from(PARTS);
    let kernel = |x: f64| (libm::sin(n * x) / libm::sin(x)).abs();
    // Between its zeros it is smooth; of an odd width the last arc is cut in half, at which a part ends.
    let half = arc / 2.0;
    let part = |at: u64| -> f64 {
        let middle = (at as f64 + 0.5) * arc;
        GAUSS
            .iter()
            .map(|(node, weight)| weight * (kernel(middle - node * half) + kernel(middle + node * half)))
            .sum::<f64>()
            * half
    };
    (0..width * u64::from(PARTS) / 2).map(part).sum::<f64>() / (PI / 2.0)
}
