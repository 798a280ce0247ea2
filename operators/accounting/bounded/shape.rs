//! The shapes of bounded noise: symmetric, log-concave densities on -1..1.
//!
//! They are log-concave because then a smaller change of the answer never costs more than a larger one, so
//! that the cost of one answer is that of one pair of distributions for any query. The best shape depends on
//! the number of answers: for one alone it is a truncated Laplace distribution, for thousands a power of
//! `1 - x^2`.

use std::fmt;
use std::str::FromStr;

use crate::invalid::{Invalid, InvalidKind};

/// The shape of bounded noise, by a name such as `polynomial:4`.
///
/// | name | density on -1..1, up to a factor |
/// |---|---|
/// | `polynomial:a` | `(1 - x^2)^a`, `a` a whole number from 1 to 1000 |
/// | `laplace:l` | `e^(-l abs(x))` |
/// | `blend:l,g,a` | `e^(-l abs(x)^g) (1 - x^2)^a`, `g` at least 1 |
/// | `published:p` | `e^(-(1 - x^2)^-p)`, `p` 1, 2 or 3 (Dagan and Kur 2022) |
/// | `published:exp` | `e^(-e^(1 / (1 - x^2)))` (the same) |
///
/// ```
/// use discreet::accounting::bounded::NoiseShape;
///
/// let shape: NoiseShape = "blend:10.3,2.57,1.17".parse()?;
/// assert_eq!(shape.to_string(), "blend:10.3,2.57,1.17");
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseShape(NoiseFamily);

#[derive(Clone, Copy, Debug, PartialEq)]
enum NoiseFamily {
    Polynomial(u32),
    Laplace(f64),
    Blend { rate: f64, power: f64, exponent: f64 },
    Published(u32),
    PublishedExp,
}

/// The largest rate, power or exponent.
const MOST: f64 = 1000.0;

const NAMES: &str = "polynomial:4, laplace:13.66, blend:10.3,2.57,1.17, published:1, published:2, published:3 or published:exp";

impl NoiseShape {
    /// The density `(1 - x^2)^exponent`.
    ///
    /// # Errors
    /// If the exponent is not from 1 to 1000.
    pub fn polynomial(exponent: u32) -> Result<NoiseShape, Invalid> {
        match exponent {
            1..=1000 => Ok(NoiseShape(NoiseFamily::Polynomial(exponent))),
            _ => Err(refused(if exponent == 0 { InvalidKind::Zero } else { InvalidKind::TooLarge })),
        }
    }

    /// The density `e^(-rate |x|)`.
    ///
    /// # Errors
    /// If the rate is not above 0 and at most 1000.
    pub fn laplace(rate: f64) -> Result<NoiseShape, Invalid> {
        Ok(NoiseShape(NoiseFamily::Laplace(within(rate, f64::MIN_POSITIVE)?)))
    }

    /// The density `e^(-rate |x|^power) (1 - x^2)^exponent`.
    ///
    /// # Errors
    /// If the power is below 1, another number below 0, or any above 1000.
    pub fn blend(rate: f64, power: f64, exponent: f64) -> Result<NoiseShape, Invalid> {
        let (rate, power, exponent) = (within(rate, 0.0)?, within(power, 1.0)?, within(exponent, 0.0)?);
        Ok(NoiseShape(NoiseFamily::Blend { rate, power, exponent }))
    }

    /// The density `e^(-(1 - x^2)^-power)`, as published.
    ///
    /// # Errors
    /// If the power is not 1, 2 or 3.
    pub fn published(power: u32) -> Result<NoiseShape, Invalid> {
        match power {
            1..=3 => Ok(NoiseShape(NoiseFamily::Published(power))),
            _ => Err(refused(if power == 0 { InvalidKind::Zero } else { InvalidKind::TooLarge })),
        }
    }

    /// The density `e^(-e^(1 / (1 - x^2)))`, as published.
    pub fn published_exp() -> NoiseShape {
        NoiseShape(NoiseFamily::PublishedExp)
    }

    /// True if the shape is one of those published.
    pub(super) fn is_published(&self) -> bool {
        matches!(self.0, NoiseFamily::Published(_) | NoiseFamily::PublishedExp)
    }

    /// The logarithm of the density at 0 over that at `x` (from 0 to 1). It rises with `x`, and is convex.
    ///
    /// It uses `libm` alone: a table must not depend on the machine that makes it.
    pub(super) fn fall(&self, x: f64) -> f64 {
        let inside = (1.0 - x) * (1.0 + x);
        let polynomial = |exponent: f64| {
            // Not 0 times infinity.
            if exponent == 0.0 { 0.0 } else { -exponent * libm::log(inside) }
        };
        match self.0 {
            NoiseFamily::Polynomial(exponent) => polynomial(f64::from(exponent)),
            NoiseFamily::Laplace(rate) => rate * x,
            NoiseFamily::Blend { rate, power, exponent } => rate * libm::pow(x, power) + polynomial(exponent),
            NoiseFamily::Published(power) => {
                // By products: every integer power is exact to a unit or two.
                let mut denominator = 1.0;
                (0..power).for_each(|_| denominator *= inside);
                1.0 / denominator - 1.0
            }
            NoiseFamily::PublishedExp => libm::exp(1.0 / inside) - libm::exp(1.0),
        }
    }
}

fn refused(kind: InvalidKind) -> Invalid {
    Invalid::new("shape", kind, NAMES)
}

fn within(value: f64, least: f64) -> Result<f64, Invalid> {
    match value {
        _ if value.is_nan() => Err(refused(InvalidKind::Nan)),
        _ if value < 0.0 => Err(refused(InvalidKind::Negative)),
        _ if value < least => {
            Err(refused(if value == 0.0 { InvalidKind::Zero } else { InvalidKind::TooSmall }))
        }
        _ if value > MOST => Err(refused(InvalidKind::TooLarge)),
        _ => Ok(value),
    }
}

impl fmt::Display for NoiseShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            NoiseFamily::Polynomial(exponent) => write!(f, "polynomial:{exponent}"),
            NoiseFamily::Laplace(rate) => write!(f, "laplace:{rate}"),
            NoiseFamily::Blend { rate, power, exponent } => write!(f, "blend:{rate},{power},{exponent}"),
            NoiseFamily::Published(power) => write!(f, "published:{power}"),
            NoiseFamily::PublishedExp => f.write_str("published:exp"),
        }
    }
}

impl FromStr for NoiseShape {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<NoiseShape, Invalid> {
        let malformed = || refused(InvalidKind::Malformed);
        let (family, parameters) = text.trim().split_once(':').ok_or_else(malformed)?;
        let whole = || parameters.parse::<u32>().map_err(|_| malformed());
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| malformed());
        match family {
            "polynomial" => NoiseShape::polynomial(whole()?),
            "laplace" => NoiseShape::laplace(number(parameters)?),
            "blend" => match parameters.split(',').collect::<Vec<_>>()[..] {
                [rate, power, exponent] => {
                    NoiseShape::blend(number(rate)?, number(power)?, number(exponent)?)
                }
                _ => Err(malformed()),
            },
            "published" if parameters == "exp" => Ok(NoiseShape::published_exp()),
            "published" => NoiseShape::published(whole()?),
            _ => Err(malformed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed() {
        for name in [
            "polynomial:4",
            "laplace:13.66",
            "blend:10.3,2.57,1.17",
            "blend:0,1,2.5",
            "published:1",
            "published:3",
            "published:exp",
        ] {
            let shape: NoiseShape = name.parse().unwrap();
            assert_eq!(shape.to_string(), name);
            assert_eq!(shape.fall(0.0), 0.0);
            assert!(shape.fall(0.5) > 0.0, "{name}");
        }
        let third = NoiseShape::laplace(1.0 / 3.0).unwrap();
        assert_eq!(third.to_string().parse(), Ok(third));
    }

    #[test]
    fn shapes_that_are_none_are_refused_by_name() {
        for (name, kind) in [
            ("polynomial", InvalidKind::Malformed),
            ("polynomial:0", InvalidKind::Zero),
            ("polynomial:1001", InvalidKind::TooLarge),
            ("polynomial:2.5", InvalidKind::Malformed),
            ("laplace:0", InvalidKind::Zero),
            ("laplace:-1", InvalidKind::Negative),
            ("laplace:nan", InvalidKind::Nan),
            ("laplace:inf", InvalidKind::TooLarge),
            ("blend:1,0.9,1", InvalidKind::TooSmall),
            ("blend:1,2", InvalidKind::Malformed),
            ("published:4", InvalidKind::TooLarge),
            ("gauss:1", InvalidKind::Malformed),
        ] {
            let error = name.parse::<NoiseShape>().unwrap_err();
            assert_eq!((error.field(), error.kind()), ("shape", kind), "{name}");
        }
    }

    // By hand: ln(4/3) at x = 1/2; 1/(3/4)^2 - 1; e^(4/3) - e.
    #[test]
    fn falls_are_those_of_the_formulas() {
        let near = |name: &str, x: f64, truth: f64| {
            let fall = name.parse::<NoiseShape>().unwrap().fall(x);
            assert!((fall - truth).abs() < 1e-14 * truth.max(1.0), "{name}: {fall}");
        };
        near("polynomial:3", 0.5, 3.0 * 0.287_682_072_451_780_9);
        near("blend:8,2,3", 0.5, 2.0 + 3.0 * 0.287_682_072_451_780_9);
        near("laplace:8", 0.25, 2.0);
        near("published:2", 0.5, 16.0 / 9.0 - 1.0);
        near("published:exp", 0.5, 3.793_667_894_683_177_5 - std::f64::consts::E);
    }
}
