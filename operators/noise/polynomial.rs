//! Symmetric polynomial noise: noise that never exceeds a bound.

use super::NoiseDistribution;
use super::coins::Natural;
use super::source::NoiseSource;
use crate::invalid::{Invalid, InvalidKind};

/// The symmetric polynomial law: `P(j)` proportional to `(bound^2 - j^2)^exponent` for `-bound < j < bound`.
///
/// Its answers err by less than `bound` with certainty, which no unbounded law can say; the price is a chance that an
/// answer tells the neighbours apart, which has to be paid for in delta.
#[derive(Clone, Debug)]
pub struct Polynomial {
    bound: u64,
    exponent: u32,
}

impl Polynomial {
    /// The law of this bound and exponent.
    ///
    /// # Errors
    ///
    /// If the bound is zero or above 2^52, or the exponent is zero or above 1000 (a draw takes time like its root).
    pub fn new(bound: u64, exponent: u32) -> Result<Polynomial, Invalid> {
        let limits =
            [("bound", bound, 1 << 52, "1 to 2^52"), ("exponent", exponent.into(), 1000, "1 to 1000")];
        for (field, value, limit, remedy) in limits {
            let kind = match value {
                0 => InvalidKind::Zero,
                _ if value > limit => InvalidKind::TooLarge,
                _ => continue,
            };
            return Err(Invalid::new(field, kind, format!("an integer from {remedy}")));
        }
        Ok(Polynomial { bound, exponent })
    }

    /// Every draw is below this in magnitude.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// The power to which `bound^2 - j^2` is raised.
    pub fn exponent(&self) -> u32 {
        self.exponent
    }
}

impl NoiseDistribution for Polynomial {
    /// A uniform place is kept if `exponent` uniform numbers below `bound^2` all reach its square.
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("polynomial", &format_args!("{} {}", self.bound, self.exponent), 1);
        let square = u128::from(self.bound).pow(2);
        loop {
            let place = noise.below(2 * self.bound - 1) as i64 - (self.bound as i64 - 1);
            let least = u128::from(place.unsigned_abs()).pow(2);
            if (0..self.exponent).all(|_| square.draw_below(noise) >= least) {
                return place;
            }
        }
    }
}
