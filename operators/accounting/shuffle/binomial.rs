//! The binomial law: point masses with nearly all their digits, at any size (C. Loader, 2000), and bounds of its tails.
//!
//! `n! / (k! (n-k)!)` through logarithms of factorials loses a digit for each digit of `n`. Here the large
//! parts cancel on paper: what is left is Stirling's error, below 1/12, and a deviance that is small where the
//! mass is not.

/// The numbers within this many standard deviations of the mean, and 40 more: the law of a rare event is no bell.
pub(super) fn around(count: f64, probability: f64, deviations: f64) -> (f64, f64) {
    let mean = count * probability;
    let reach = deviations * (mean * (1.0 - probability)).sqrt() + 40.0;
    ((mean - reach).floor().max(0.0), (mean + reach).ceil().min(count))
}

/// `P[Bin(n, p) = k]` for `p` inside 0..1, within a relative 1e-11 for `n` up to 2^27 and `k` within 12
/// standard deviations of the mean: what the rounding of the mean itself leaves.
pub(super) fn mass(n: f64, k: f64, p: f64) -> f64 {
    let rest = n - k;
    if k < 0.0 || rest < 0.0 {
        return 0.0;
    }
    if k == 0.0 {
        return (n * (-p).ln_1p()).exp();
    }
    if rest == 0.0 {
        return (n * p.ln()).exp();
    }
    let exponent = stirling_error(n)
        - stirling_error(k)
        - stirling_error(rest)
        - deviance(k, n * p)
        - deviance(rest, n * (1.0 - p));
    exponent.exp() * (n / (2.0 * std::f64::consts::PI * k * rest)).sqrt()
}

/// `ln n! - ln(sqrt(2 pi n) (n/e)^n)` for whole `n` of 1 and more.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial = (1..=n as u32).fold(1.0, |product, k| product * f64::from(k));
        return f64::ln(factorial) - (n + 0.5) * n.ln() + n - 0.918_938_533_204_672_7;
    }
    // The next term is 691/360360 n^-11, below 1e-16 from 16 on.
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / n
}

/// `x ln(x / mean) + mean - x`, without cancellation where `x` is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    let gap = (x - mean) / (x + mean);
    if gap.abs() > 0.1 {
        return x * (x / mean).ln() + mean - x;
    }
    // ln(x / mean) = 2 (v + v^3/3 + v^5/5 + ...), v the gap.
    let square = gap * gap;
    let tail = (1..12).rev().fold(0.0, |sum, k| square * (sum + 1.0 / f64::from(2 * k + 1)));
    (x - mean) * gap + 2.0 * x * gap * tail
}

/// An upper bound of the binomial tail from `k` outwards: its first mass, and a geometric sum with the ratio
/// there.
pub(super) fn tail(n: f64, k: f64, p: f64, direction: f64) -> f64 {
    let odds = p / (1.0 - p);
    let ratio = if direction > 0.0 { (n - k) / (k + 1.0) * odds } else { k / (n - k + 1.0) / odds };
    mass(n, k, p) / (1.0 - ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_are_those_of_pascals_triangle() {
        let mut row = vec![1.0f64];
        for n in 1..60u32 {
            row = (0..=n as usize)
                .map(|k| row.get(k).unwrap_or(&0.0) * 0.7 + k.checked_sub(1).map_or(0.0, |k| row[k] * 0.3))
                .collect();
            for (k, truth) in row.iter().enumerate() {
                let found = mass(f64::from(n), k as f64, 0.3);
                assert!((found / truth - 1.0).abs() < 1e-12, "{n} {k}: {found:e} {truth:e}");
            }
        }
    }

    // Values: 60-digit arithmetic.
    #[test]
    fn masses_keep_their_digits_at_any_size() {
        for (n, k, p, truth) in [
            (1000000.0, 500000.0, 0.5, 0.00079788436133175),
            (1000000.0, 503000.0, 0.5, 1.21506690371731e-11),
            (100000000.0, 36787944.0, 0.36787944117144233, 8.27289187172923e-5),
            (100000000.0, 36700000.0, 0.36787944117144233, 4.70909024938196e-77),
            (1000000000.0, 3.0, 1e-09, 0.0613132401645838),
            (1000.0, 100.0, 0.5, 5.95893598036265e-162),
        ] {
            assert!((mass(n, k, p) / truth - 1.0).abs() < 1e-11, "{n} {k} {p}: {:e}", mass(n, k, p));
        }
    }
}
