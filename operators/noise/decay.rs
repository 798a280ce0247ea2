//! Integer weights of the exponential mechanism, which fall by half an epsilon a step.
//!
//! # The distribution is the integers
//!
//! A choice among answers by their loss is private when the weight of an answer changes by at most a factor
//! `e^half` as one person changes its loss by at most `step`: numerator and sum of all weights then change by
//! `e^(2 half)` together. The weights `2^86 e^(-rate loss)` would do it for `rate = half / step`, but are no
//! integers. Those here are
//!
//! ```text
//! W(d) = max(2^26, floor(2^86 p(d))),   (1 - 2^-59) t(d) <= p(d) <= t(d),   t(d) = e^(-rate d),   rate = (half - 2^-25) / step
//! ```
//!
//! and a draw is *exactly* from the distribution that they state. So nothing is approximate, if for every `d`
//! and every `s <= step`
//!
//! ```text
//! W(d) <= e^half W(d + s)   and   W(d + s) <= e^half W(d).
//! ```
//!
//! **Proof.** Where `W(d) = 2^26` the first is plain, for no weight is less. Elsewhere `W(d) <= 2^86 t(d)`.
//! If `2^86 t(d+s) < 2^26`, then `W(d+s) = 2^26` is more than that; if not, it is at least
//! `2^86 t(d+s) (1 - 2^-59) - 1 >= 2^86 t(d+s) (1 - 2^-59 - 2^-26)`. Either way
//!
//! ```text
//! ln(W(d) / W(d+s)) <= rate s - ln(1 - 2^-26 - 2^-59) < rate s + 2^-25 <= half.
//! ```
//!
//! The second follows alike, as `t(d+s) <= t(d)`: its logarithm is below `2^-25`.
//!
//! # Losses count from the least one
//!
//! Where all answers have losses beyond the floor, as where every second value of a median is the same, the best would
//! weigh as little as the worst. So an answer of loss `d` weighs `W(d - m)`, where `m` is the least loss. That is private
//! too, though a person moves `m` as well: by at most `s`, as every loss. The probabilities stay the same where all weights
//! are multiplied by `t(m)`, so `V(d) = t(m) W(d - m)` is compared with `V'(d') = t(m') W(d' - m')`. As above,
//! `V(d) <= max(2^26 t(m), 2^86 t(d))`, and `V'(d')` is at least `2^26 t(m')`, and at least
//! `2^86 t(d') (1 - 2^-59 - 2^-26)`: where that is more, `W(d' - m')` is above the floor. Since `t(m) <= e^(rate s) t(m')`
//! and `t(d) <= e^(rate s) t(d')`,
//!
//! ```text
//! ln(V(d) / V'(d')) <= rate s + 2^-25 <= half.
//! ```
//!
//! The lines above hold for every part of a step. So where a person's steps go to several choices side by side, each of them costs its
//! part, and `2^-25` more.
//!
//! The floor is as high as that because of its neighbours: from a floor of 1, the weights next to it would be
//! 2 and 3, and fall by `ln(3/2)` where half an epsilon was meant. It leaves losses that ought to weigh
//! nothing a weight of 2^-60 of the best. With 2^40 answers, these are chosen with a probability of 2^-20 in
//! all.
//!
//! # A table of any size in little memory
//!
//! The weights fall for `42 step / half` losses, which may be 2^70. So `p` is a product of one factor for
//! each eight bits of the loss, `e^(-rate 2^(8 level) digit)` to 64 bits. Each of at most eight factors is
//! cut off by less than 2^-63 of itself (the interval that it is known to lie in is 2^-120 wide), and so is
//! each of seven products: 2^-59 together.

use std::fmt;

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::enclosure::Enclosure;
use super::ratio::Fraction;
use super::ratio::Ratio;
use crate::invalid::{Invalid, InvalidKind};

/// The number of bits behind the point of the powers that the factors are cut from.
const BITS: usize = 192;

/// The bit length below which a power is as good as none: its weight is the least.
const GONE: usize = BITS - 61;

/// The number of bits of a loss that one factor covers.
const DIGIT: u32 = 8;

/// The number of bits that the largest weight has beyond a mantissa.
const MORE: u32 = Decay::MOST.ilog2() - 63;

/// The weights of losses, as defined at the head of the file.
#[derive(Clone)]
pub(crate) struct Decay {
    half: Ratio,
    step: u64,
    levels: Vec<Vec<Factor>>,
}

impl Decay {
    /// The weight of a loss of zero, the largest there is.
    pub(crate) const MOST: u128 = 1 << 86;

    /// The weight of losses that are far enough.
    pub(crate) const LEAST: u128 = 1 << 26;

    /// The binary exponent of the part of `half` that is set aside for all rounding: 2 to the power of minus
    /// this.
    pub(crate) const ASIDE: usize = 25;

    /// Makes weights that fall by at most `half` for a loss of `step`.
    ///
    /// # Errors
    /// Names `epsilon`, which is twice of `half`, unless `half` is from 2^-20 to 2^10; and `step` where it is
    /// zero.
    pub(crate) fn new(half: Ratio, step: u64) -> Result<Decay, Invalid> {
        let half = Ratio::within("epsilon", half, 20, 10).map_err(|refused| {
            Invalid::new("epsilon", refused.kind(), "from 2^-19 to 2^11 for each choice")
        })?;
        if step == 0 {
            return Err(Invalid::new("step", InvalidKind::Zero, "a number above 0"));
        }
        let denominator = UBig::from(half.denominator());
        let kept = (UBig::from(half.numerator()) << Decay::ASIDE) - &denominator;
        let rate = Fraction::Large(kept, (denominator << Decay::ASIDE) * UBig::from(step));
        Ok(Decay { half, step, levels: levels(&rate) })
    }

    /// The logarithm of the factor by which the weights fall at most for a loss of one step.
    pub(crate) fn half(&self) -> Ratio {
        self.half
    }

    /// The loss for which the weights fall by [`half`](Decay::half).
    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// Returns the weight of a loss, from [`LEAST`](Decay::LEAST) to [`MOST`](Decay::MOST).
    pub(crate) fn weight(&self, loss: u64) -> u128 {
        let mut left = loss;
        let mut product = Factor::ONE;
        for level in &self.levels {
            let digit = (left & ((1 << DIGIT) - 1)) as usize;
            match level.get(digit) {
                Some(_) if digit == 0 => {}
                Some(&factor) => product = product.times(factor),
                None => return Decay::LEAST,
            }
            left >>= DIGIT;
            if left == 0 {
                return product.scaled().max(Decay::LEAST);
            }
        }
        // The last level ended before its last digit, or the loss would have.
        Decay::LEAST
    }
}

/// Computes the factors of each digit, up to where they are as good as none.
fn levels(rate: &Fraction) -> Vec<Vec<Factor>> {
    let least = UBig::ONE << GONE;
    let mut levels = Vec::new();
    for level in 0..u64::BITS / DIGIT {
        let base = Enclosure::exp_minus(&rate.times(1 << (level * DIGIT), 1), BITS);
        let mut power = Enclosure::one(BITS);
        let mut factors = Vec::new();
        while factors.len() < 1 << DIGIT && *power.ends().0 >= least {
            factors.push(Factor::below(power.ends().0));
            power = power.times(&base);
        }
        let ended = factors.len() < 1 << DIGIT;
        levels.push(factors);
        if ended {
            break;
        }
    }
    levels
}

/// A number from above 0 to 1: `mantissa 2^(-63 - exponent)`, with the highest bit of the mantissa set.
#[derive(Clone, Copy)]
struct Factor {
    mantissa: u64,
    exponent: u32,
}

impl Factor {
    const ONE: Factor = Factor { mantissa: 1 << 63, exponent: 0 };

    /// Returns the first 64 bits of `number 2^-BITS`, which is from above 0 to 1.
    fn below(number: &UBig) -> Factor {
        let length = number.bit_len();
        let cut = number >> length.saturating_sub(64);
        let mantissa = u64::try_from(&cut).unwrap_or(u64::MAX) << 64usize.saturating_sub(length);
        Factor { mantissa, exponent: (BITS + 1 - length) as u32 }
    }

    fn times(self, other: Factor) -> Factor {
        let product = u128::from(self.mantissa) * u128::from(other.mantissa);
        let exponent = self.exponent + other.exponent;
        // Both numbers are at most 1: if the product has its highest bit, neither is 1, so the exponents are
        // above 0.
        match product >> 127 {
            0 => Factor { mantissa: (product >> 63) as u64, exponent },
            _ => Factor { mantissa: (product >> 64) as u64, exponent: exponent - 1 },
        }
    }

    /// Returns the floor of `2^86` times the number.
    fn scaled(self) -> u128 {
        (u128::from(self.mantissa) << MORE).checked_shr(self.exponent).unwrap_or(0)
    }
}

/// Prints the parameters, which are public.
impl fmt::Display for Decay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} a step of {}", self.half, self.step)
    }
}

impl fmt::Debug for Decay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decay({self})")
    }
}

#[cfg(test)]
mod tests;
