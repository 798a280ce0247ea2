//! Rényi orders: the ones a curve is kept at, and the bound below which a cost speaks of all.

use super::units::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};

/// The orders at which Rényi curves are kept.
pub const ORDERS: [f64; 24] = [
    1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 48.0,
    64.0, 96.0, 128.0, 256.0, 512.0, 1024.0,
];

/// All Rényi orders above 1 and below this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Omega(BudgetUnits);

impl Omega {
    /// Every order.
    pub const EVERY: Omega = Omega(BudgetUnits::UNBOUNDED);

    /// The orders below `omega`, rounded down; infinity is every order.
    ///
    /// # Errors
    /// Names `omega` unless it is above 1.
    pub fn below(omega: f64) -> Result<Omega, Invalid> {
        if omega == f64::INFINITY {
            return Ok(Omega::EVERY);
        }
        if omega <= 1.0 {
            return Err(Invalid::new("omega", InvalidKind::TooSmall, "a number above 1"));
        }
        BudgetUnits::at_most_float("omega", omega).map(Omega)
    }

    /// The bound from its count of units, as a ledger stores it.
    pub(crate) const fn from_bits(bits: u128) -> Omega {
        Omega(BudgetUnits::from_bits(bits))
    }

    /// The count of units.
    pub(crate) const fn to_bits(self) -> u128 {
        self.0.to_bits()
    }

    /// The bound as a float, rounded down.
    pub fn to_float(self) -> f64 {
        if self == Omega::EVERY { f64::INFINITY } else { self.0.to_float_down() }
    }
}
