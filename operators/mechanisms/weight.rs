//! Weighted contribution bounds: of a person with more than the bound all keys count, each in part.
//!
//! Under `keys = k` alone a person with more than `k` keys counts in `k` of them and is missing in the others.
//! Under a weight `w` the person counts in all, up to `keys`, and each share is multiplied by one factor, at
//! most 1, by which all of them together are no more than `w` whole shares. The noise is that of `keys = w`.
//!
//! # Proof of the bound
//!
//! Let `m` be the most that a person moves one key by, and `s` the shares of a person, each at most `m`, in at
//! most `keys` keys. Their factor is `a / 2^20`, where `a` is the largest whole number up to `2^20` with
//!
//! | norm | `a` |
//! |---|---|
//! | L1 | `a sum |s| <= 2^20 w m` |
//! | L2 | `a^2 sum s^2 <= 2^40 w m^2` |
//!
//! and `u a s / 2^20`, rounded towards zero, is added up, in units of `1 / u`: as many that the rounding is far below
//! any noise. So one person moves the numbers, in these units, by
//!
//! | norm | L0 | Linf | L1 | squared L2 |
//! |---|---|---|---|---|
//! | L1 | `keys` | `u m` | `u w m` | `u^2 w m^2`, for it is at most `L1 Linf` |
//! | L2 | `keys` | `u m` | `u c m` with `c = min(keys, ceil(sqrt(keys w)))` (Cauchy and Schwarz) | `u^2 w m^2` |
//!
//! The factor of a person depends on the records of no other person. It is found from whole numbers, by an integer
//! division or an integer root, both rounded down.
//!
//! Of a mean the factor is that of the records, `m` of them at most. A term is at most the width of the range, so the sum
//! of a person's terms in a key is at most that many times its records, and so is the length of all sums.
//!
//! Keys that are discovered are found by the number of people who have them, in full, which one person moves in
//! at most `keys` keys.

use super::answer::Estimate;
use super::bound::{ContributionBound, Range};
use crate::invalid::{Invalid, InvalidKind};

/// The factor of a person who counts in full.
const FULL: u64 = 1 << 20;

/// The most that one person may move a number by: products of its square, the squared factor and 2^31 shares fit 128 bits.
const MOST: u128 = 1 << 28;

/// The most records of a person in a key: those of 2^31 people, in units, fit 64 bits.
const MOST_RECORDS: u64 = 1 << 18;

/// The most units of a whole number, and of a share: rounding each to a unit is far below any noise.
const MOST_UNITS: (u64, u128) = (10_000, 10_000_000);

/// The norm of a person's shares over all keys that a weight bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Norm {
    /// The sum of all shares, which is the cost under Laplace noise.
    L1,
    /// The root of the sum of their squares, which is the cost under Gaussian noise.
    L2,
}

impl Norm {
    pub(super) fn name(self) -> &'static str {
        match self {
            Norm::L1 => "L1",
            Norm::L2 => "L2",
        }
    }
}

/// The weight of a contribution bound: the number of whole shares that a person comes to at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Weight {
    most: u64,
    norm: Norm,
}

impl Weight {
    /// At most `most` whole shares in this norm.
    pub(super) const fn new(most: u64, norm: Norm) -> Weight {
        Weight { most, norm }
    }

    /// Returns the number of whole shares.
    pub fn most(self) -> u64 {
        self.most
    }

    /// Returns the norm.
    pub fn norm(self) -> Norm {
        self.norm
    }

    /// Returns the factor of each of a person's shares, where `whole` is the most of one share.
    pub(super) fn factor(self, whole: u128, shares: impl Iterator<Item = u128>) -> Factor {
        let (whole, full) = (whole.min(MOST), u128::from(FULL));
        let sized = shares.map(|share| share.min(whole));
        let (most, length) = match self.norm {
            Norm::L1 => (u128::from(self.most) * whole, sized.sum::<u128>()),
            Norm::L2 => {
                (u128::from(self.most) * whole * whole, sized.map(|share| share * share).sum::<u128>())
            }
        };
        if length <= most {
            return Factor(FULL);
        }
        let factor = match self.norm {
            Norm::L1 => full * most / length,
            Norm::L2 => (full * full * most / length).isqrt(),
        };
        // Below the full one, because the shares are more than the most.
        Factor(factor as u64)
    }

    /// Returns the sum of a person's shares at most, in whole shares, where they are in at most `keys` keys.
    pub(super) fn sum_of_shares(self, keys: u64) -> u128 {
        match self.norm {
            Norm::L1 => self.most.into(),
            Norm::L2 => {
                let product = u128::from(keys) * u128::from(self.most);
                let root = product.isqrt();
                (root + u128::from(root * root < product)).min(keys.into())
            }
        }
    }
}

/// The factor of a person's shares, in parts of [`FULL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor(u64);

impl Factor {
    /// A share times the factor, in this number of units, rounded towards zero.
    pub(super) fn of(self, share: i128, units: u64) -> i128 {
        // At most 2^20 times 2^28, or a mean's 2^18 records of 2^64 steps, times 2^14.
        share * i128::from(self.0) * i128::from(units) / i128::from(FULL)
    }
}

/// Returns the number of units of a number that a person moves by `most`: a power of ten.
pub(super) fn units(most: u128) -> u64 {
    let (units, share) = MOST_UNITS;
    std::iter::successors(Some(units), |units| Some(units / 10))
        .find(|units| *units <= 1 || u128::from(*units) * most <= share)
        .unwrap_or(1)
}

/// Refuses shares that are too large to be weighed.
pub(super) fn fits(limits: &ContributionBound, most: u128) -> Result<(), Invalid> {
    if limits.weight().is_none() {
        return Ok(());
    }
    let refused = |remedy: &'static str| Err(Invalid::new("weight", InvalidKind::TooLarge, remedy));
    if limits.per_key() > MOST_RECORDS {
        return refused("per_key of at most 262,144 beside a weight");
    }
    if most > MOST {
        return refused("a range of at most 2^28 steps beside a weight: coarser steps, or a narrower range");
    }
    Ok(())
}

/// Returns true if all numbers of a range have one sign.
pub(super) fn has_one_sign(range: &Range) -> bool {
    range.low() >= 0 || range.high() <= 0
}

/// A noised number in units as a whole number: the nearest one, in an interval that holds all of theirs.
pub(super) fn whole(number: Estimate<i128>, units: u64) -> Estimate<i128> {
    let one = i128::from(units);
    let up = |number: i128| -(-number).div_euclid(one);
    let nearest = (number.value + one / 2).div_euclid(one);
    Estimate { value: nearest, low: number.low.div_euclid(one), high: up(number.high), open: number.open }
}

#[cfg(test)]
mod tests;
