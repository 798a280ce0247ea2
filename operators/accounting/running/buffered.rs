//! A strategy whose coefficients are few geometric series, so that a key keeps a few sums and no history.
//!
//! ```text
//! c_0 = 1,   c_j = sum over i of weight_i decay_i^(j - 1)
//! ```
//!
//! With the right constants these are the coefficients of the square root, as far as the horizon goes
//! (buffered linear Toeplitz, arXiv 2404.16706 and 2408.08868). Constants are integer multiples of 2^-62, and
//! the charge is computed from exactly these: the error of a total depends on how good they are, the
//! guarantee does not.

use dashu_int::UBig;

/// The constant 1: coefficients are multiples of 2^-62.
pub(crate) const ONE: u64 = 1 << 62;

/// The number of fractional bits of the sums that a charge is computed from.
const FINE: usize = 256;

/// One geometric series: `1 - decay` and its weight, in units of 2^-62.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// The share that the series loses each tick: it lasts about 1 over this ticks.
    pub(crate) loss: u64,
    /// The weight of the series in a measurement.
    pub(crate) weight: u64,
}

impl Buffer {
    /// The share that remains after each tick, in units of 2^-62.
    pub(crate) fn decay(self) -> u64 {
        ONE - self.loss
    }
}

/// The square of the length of the first `ticks` coefficients, in units of 2^-256, rounded up.
pub(crate) fn squared(buffers: &[Buffer], ticks: u64) -> UBig {
    let one = UBig::ONE << FINE;
    let mut sum = one.clone();
    for left in buffers {
        for right in buffers {
            // In units of 2^-124: exact.
            let ratio = UBig::from(left.decay()) * UBig::from(right.decay());
            let missing = (UBig::ONE << 124) - &ratio;
            let weight = UBig::from(left.weight) * UBig::from(right.weight);
            let gone = &one - power_down(&(ratio << (FINE - 124)), ticks - 1);
            sum += up(&(weight * gone), &missing);
        }
    }
    sum
}

/// `base^exponent` in units of 2^-256, rounded down.
fn power_down(base: &UBig, mut exponent: u64) -> UBig {
    let (mut result, mut square) = (UBig::ONE << FINE, base.clone());
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = (result * &square) >> FINE;
        }
        square = (&square * &square) >> FINE;
        exponent >>= 1;
    }
    result
}

fn up(part: &UBig, of: &UBig) -> UBig {
    (part + of - UBig::ONE) / of
}

/// The sum of `weight / loss`, rounded up: the largest total of the buffers' rounding errors, each of one
/// unit a tick.
pub(crate) fn reach(buffers: &[Buffer]) -> u128 {
    buffers.iter().map(|buffer| u128::from(buffer.weight).div_ceil(u128::from(buffer.loss).max(1))).sum()
}

/// The number of fractional bits of a measurement of contributions of size 1, and of the buffers that it is
/// made of.
pub(crate) const BITS: u32 = 28;
pub(crate) const INNER: u32 = 48;

/// Returns true if the coefficients never rise: the first is 1, and the second is the sum of the weights of series
/// that decay.
pub(crate) fn falls(buffers: &[Buffer]) -> bool {
    let second: u128 = buffers.iter().map(|buffer| u128::from(buffer.weight)).sum();
    second <= u128::from(ONE) && buffers.iter().all(|buffer| buffer.loss <= ONE)
}

/// The square of the largest change of `ticks` measurements by contributions whose exact length is at most the root of
/// `times` that of one contribution of size 1, rounded up, in units of `2^-bits` a measurement.
///
/// Buffers and measurements are rounded down at each tick, in the same way for both of two neighbouring
/// datasets; so the difference between the two is that of exact numbers but for less than one unit at each
/// rounding. The error of a buffer decays, and is at most `1 / loss` units of the buffers; a measurement is
/// off by `weight` times that, by one unit for each product, and by one of its own. The length of `ticks`
/// numbers of at most `r` is at most `r` times the root of `ticks`.
pub(crate) fn moved_squared(buffers: &[Buffer], ticks: u64, times: u128, bits: u32) -> UBig {
    // Lengths are in units of 2^-32 of a measurement's unit.
    const PART: usize = 32;
    let exact = (squared(buffers, ticks) * UBig::from(times)) << (2 * (bits as usize + PART));
    let exact = root_up(&up(&exact, &(UBig::ONE << FINE)));
    let off = (reach(buffers) + buffers.len() as u128) << PART >> (INNER - bits);
    let rounding = (UBig::from(off + 1) + (UBig::ONE << PART)) * root_up(&UBig::from(ticks));
    up(&(exact + rounding).pow(2), &(UBig::ONE << (2 * PART)))
}

fn root_up(square: &UBig) -> UBig {
    let root = square.nth_root(2);
    if &root * &root < *square { root + UBig::ONE } else { root }
}

/// The change of the measurements by a contribution of size 1.
pub(super) fn sensitivity(buffers: &[Buffer], ticks: u64) -> f64 {
    libm::ldexp(moved_squared(buffers, ticks, 1, BITS).to_f64().value().sqrt(), -(BITS as i32))
}

/// The strategy in floats, from which its error is computed.
#[derive(Clone, Debug)]
pub(super) struct BufferedStrategy {
    /// The noise of a total has coefficients `beta_0 + sum of beta_k (1 - mu_k)^j`: the list of each `mu` and
    /// `beta`, with a first `mu` of 0.
    noise: Vec<(f64, f64)>,
}

impl BufferedStrategy {
    pub(super) fn of(buffers: &[Buffer]) -> Option<BufferedStrategy> {
        BufferedStrategy::new(floats(buffers))
    }

    /// Inverts the series. `None` where the inverse is no sum of decaying series: losses must be distinct and
    /// inside 0..1, weights positive, and the sum of weight over decay below 1.
    pub(super) fn new(mut terms: Vec<(f64, f64)>) -> Option<BufferedStrategy> {
        terms.sort_by(|a, b| b.0.total_cmp(&a.0));
        let inside = terms.iter().all(|(loss, weight)| *loss > 0.0 && *loss < 1.0 && *weight > 0.0);
        let apart = terms.windows(2).all(|pair| pair[0].0 > pair[1].0 * (1.0 + 1e-9));
        let score: f64 = terms.iter().map(|(loss, weight)| weight / (1.0 - loss)).sum();
        if !(inside && apart && score < 1.0) {
            return None;
        }
        // The zeros of 1 + sum of weight / (loss - mu): one below 1 above the largest loss, one between any
        // two.
        let value = |mu: f64| 1.0 + terms.iter().map(|(loss, weight)| weight / (loss - mu)).sum::<f64>();
        let mut zeros = Vec::with_capacity(terms.len());
        let mut above = 1.0;
        for (loss, _) in &terms {
            // The function rises from minus infinity just above the loss.
            let (mut low, mut high) = (*loss, above);
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                if middle <= low || middle >= high {
                    break;
                }
                if value(middle) < 0.0 { low = middle } else { high = middle }
            }
            zeros.push((low + high) / 2.0);
            above = *loss;
        }
        let ratio = |mu: f64, but: Option<usize>| {
            // The product, in an order that neither overflows nor underflows.
            let mut product = 1.0;
            for (at, ((loss, _), zero)) in terms.iter().zip(&zeros).enumerate() {
                product *= loss - mu;
                if but != Some(at) {
                    product /= zero - mu;
                }
            }
            product
        };
        let mut noise = vec![(0.0, ratio(0.0, None))];
        for (at, zero) in zeros.iter().enumerate() {
            noise.push((*zero, ratio(*zero, Some(at)) / -zero));
        }
        Some(BufferedStrategy { noise })
    }

    /// The variance of the last of `ticks` totals, for noise of variance 1.
    pub(super) fn variance(&self, ticks: f64) -> f64 {
        pairs(&self.noise, |loss| geometric(loss, ticks))
    }

    /// The mean variance of the first `ticks` totals.
    pub(super) fn mean_variance(&self, ticks: f64) -> f64 {
        pairs(&self.noise, |loss| summed(loss, ticks)) / ticks
    }
}

/// Returns `1 - decay` and the weight of each buffer.
pub(super) fn floats(buffers: &[Buffer]) -> Vec<(f64, f64)> {
    let unit = |value: u64| value as f64 / ONE as f64;
    buffers.iter().map(|buffer| (unit(buffer.loss), unit(buffer.weight))).collect()
}

/// The square of the length of the first `ticks` coefficients: part of the search's objective, and the
/// reference for charges.
#[cfg(test)]
pub(super) fn length_squared(terms: &[(f64, f64)], ticks: f64) -> f64 {
    1.0 + pairs(terms, |loss| geometric(loss, ticks - 1.0))
}

/// The sum over all pairs of their weights times `of` applied to the loss of their product.
fn pairs(terms: &[(f64, f64)], of: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (at, (loss, weight)) in terms.iter().enumerate() {
        sum += weight * weight * of(loss + loss - loss * loss);
        for (other, more) in &terms[..at] {
            sum += 2.0 * weight * more * of(loss + other - loss * other);
        }
    }
    sum
}

/// The sum of `(1 - loss)^j` over `j < ticks`.
fn geometric(loss: f64, ticks: f64) -> f64 {
    if loss == 0.0 { ticks } else { -libm::expm1(ticks * libm::log1p(-loss)) / loss }
}

/// The sum of `(ticks - j) (1 - loss)^j` over `j < ticks`.
fn summed(loss: f64, ticks: f64) -> f64 {
    if loss * ticks < 1e-5 {
        return ticks * (ticks + 1.0) / 2.0 * (1.0 - loss * (ticks - 1.0) / 3.0);
    }
    (ticks - (1.0 - loss) * geometric(loss, ticks)) / loss
}
