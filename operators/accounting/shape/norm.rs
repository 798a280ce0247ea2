//! The norm in which an error is measured.

use std::fmt;
use std::str::FromStr;

use crate::accounting::number;
use crate::invalid::Invalid;

/// The norm of a vector of errors: the p-th root of the sum of p-th powers, for p from 2 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    power: f64,
}

impl Norm {
    /// The root of the sum of squares.
    pub const EUCLIDEAN: Norm = Norm { power: 2.0 };
    /// The largest of all coordinates.
    pub const LARGEST: Norm = Norm { power: f64::INFINITY };

    /// The norm of this power; infinity is [`Norm::LARGEST`].
    ///
    /// # Errors
    /// Names `norm` if the power is below 2: no shape is known to be the best there.
    pub fn power(power: f64) -> Result<Norm, Invalid> {
        if power == f64::INFINITY {
            return Ok(Norm::LARGEST);
        }
        // Beyond it a power differs from the largest by less than one part in ten thousand for 10^6 coordinates.
        let remedy = "a number from 2 to 1e6, or inf for the largest coordinate";
        Ok(Norm { power: number::between("norm", power, 2.0, 1e6, remedy)? })
    }

    /// The norm of deviations, squared, from their squares.
    pub(crate) fn of_variances(self, variances: &[f64]) -> f64 {
        let most = variances.iter().copied().fold(0.0, f64::max);
        if self.power == f64::INFINITY || most <= 0.0 {
            return most;
        }
        let half = self.power / 2.0;
        let sum: f64 = variances.iter().map(|&variance| libm::pow(variance.max(0.0) / most, half)).sum();
        most * libm::pow(sum, 1.0 / half)
    }

    /// The norm of as many ones.
    pub(crate) fn of_ones(self, many: usize) -> f64 {
        self.of_variances(&vec![1.0; many]).sqrt()
    }

    /// Weights on which the weighted sum of variances is their norm: `w` proportional to `V^(p/2 - 1)`, with
    /// `sum w^(p / (p - 2)) = 1`. What is given are the products of the old weights and the variances, of which the fixed
    /// point is that same weight.
    pub(crate) fn weights(self, products: &[f64]) -> Vec<f64> {
        let most = products.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let power = 1.0 - 2.0 / self.power;
        // Too small a weight would make the matrix between weighted and plain coordinates singular.
        let raised: Vec<f64> =
            products.iter().map(|&product| libm::pow(product / most, power).max(1e-9)).collect();
        let length = self.dual(&raised);
        raised.into_iter().map(|weight| weight / length).collect()
    }

    /// The norm of weights, dual to that of variances.
    fn dual(self, weights: &[f64]) -> f64 {
        let power = 1.0 - 2.0 / self.power;
        let most = weights.iter().copied().fold(0.0, f64::max);
        if power < 1e-9 {
            return most;
        }
        let sum: f64 = weights.iter().map(|&weight| libm::pow(weight / most, 1.0 / power)).sum();
        // Never less than the truth, so that what is divided by it is no more than allowed.
        most * libm::pow(sum, power) * (1.0 + 1e-14)
    }

    /// The power, infinity for the largest coordinate.
    pub fn exponent(self) -> f64 {
        self.power
    }

    pub(crate) fn is_euclidean(self) -> bool {
        self.power == 2.0
    }

    /// Accepts the power of the norm whose ball is a domain: here any norm will do.
    pub(crate) fn ball(field: &'static str, power: f64) -> Result<f64, Invalid> {
        if power == f64::INFINITY {
            return Ok(power);
        }
        number::between(field, power, 1.0, 1e6, "a power from 1 to 1e6, or inf")
    }
}

impl FromStr for Norm {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Norm, Invalid> {
        match text {
            "inf" | "infinity" => Ok(Norm::LARGEST),
            _ => Norm::power(crate::Decimal::parse("norm", text)?.to_f64()),
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.power.is_infinite() { f.write_str("l_inf") } else { write!(f, "l_{}", self.power) }
    }
}
