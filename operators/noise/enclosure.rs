//! Interval arithmetic on numbers between 0 and a few thousand, each held between two integers of any
//! precision: it gives the tables `exp` to as many bits as a draw may need.
//!
//! Every operation rounds its lower end down and its upper end up, so the true value is always inside.
//! Floating-point `exp` would not do: its error is a statement about a library, and these bits decide
//! samples.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::coins::{FairBits, Natural};
use super::ratio::Fraction;
use super::source::NoiseSource;
use super::{ExactLaw, NoiseDistribution};
use crate::invalid::{Invalid, InvalidKind};

/// A real number in `[low, high] / 2^bits`.
#[derive(Clone, Debug)]
pub(crate) struct Enclosure {
    low: UBig,
    high: UBig,
    bits: usize,
}

impl Enclosure {
    pub(crate) fn zero(bits: usize) -> Enclosure {
        Enclosure { low: UBig::ZERO, high: UBig::ZERO, bits }
    }

    pub(crate) fn one(bits: usize) -> Enclosure {
        Enclosure { low: UBig::ONE << bits, high: UBig::ONE << bits, bits }
    }

    /// Encloses `exp(-exponent)`.
    ///
    /// The exponent is halved until it is at most 1/2, and the result squared as often.
    pub(crate) fn exp_minus(exponent: &Fraction, bits: usize) -> Enclosure {
        let (numerator, denominator) = exponent.parts();
        let halvings = (numerator.bit_len() + 2).saturating_sub(denominator.bit_len());
        // Each squaring at most doubles the width of the enclosure, which begins with fewer than 2^16 units.
        let working = bits + halvings + 32;
        let small = (numerator << (working - halvings)) / denominator;
        let mut result = Enclosure::exp_minus_small(&small, working);
        for _ in 0..halvings {
            result = result.times(&result);
        }
        Enclosure {
            low: result.low >> 32 >> halvings,
            high: (result.high >> 32 >> halvings) + UBig::ONE,
            bits,
        }
    }

    /// Encloses `exp(-x)` for an `x` of at most 1/2 that was rounded down to `small / 2^bits`: the
    /// alternating series.
    fn exp_minus_small(small: &UBig, bits: usize) -> Enclosure {
        let mut even = UBig::ZERO;
        let mut odd = UBig::ZERO;
        let mut term = UBig::ONE << bits;
        let mut count = 0usize;
        while term != UBig::ZERO {
            if count.is_multiple_of(2) {
                even += &term
            } else {
                odd += &term
            }
            count += 1;
            term = ((term * small) >> bits) / UBig::from(count);
        }
        // A term is at most two units too small, since its predecessor was; all omitted terms together are at
        // most four; rounding `x` down moved the sum by at most one.
        let error = UBig::from(2 * count + 8);
        let low = subtract(&even, &(&odd + &error));
        Enclosure { low, high: subtract(&(even + error), &odd), bits }
    }

    pub(crate) fn plus(&self, other: &Enclosure) -> Enclosure {
        Enclosure { low: &self.low + &other.low, high: &self.high + &other.high, bits: self.bits }
    }

    pub(crate) fn times(&self, other: &Enclosure) -> Enclosure {
        Enclosure {
            low: (&self.low * &other.low) >> self.bits,
            high: ((&self.high * &other.high) >> self.bits) + UBig::ONE,
            bits: self.bits,
        }
    }

    pub(crate) fn times_integer(&self, factor: u64) -> Enclosure {
        let factor = UBig::from(factor);
        Enclosure { low: &self.low * &factor, high: &self.high * factor, bits: self.bits }
    }

    /// Encloses `1 - self`, for a number of at most 1.
    pub(crate) fn complement(&self) -> Enclosure {
        let one = UBig::ONE << self.bits;
        Enclosure { low: subtract(&one, &self.high), high: subtract(&one, &self.low), bits: self.bits }
    }

    /// Encloses `self / other`; `None` where `other` may be zero at this precision.
    pub(crate) fn over(&self, other: &Enclosure) -> Option<Enclosure> {
        if other.low == UBig::ZERO {
            return None;
        }
        Some(Enclosure {
            low: (&self.low << self.bits) / &other.high,
            high: (&self.high << self.bits) / &other.low + UBig::ONE,
            bits: self.bits,
        })
    }

    /// The ends of the interval, in units of `2^-bits`.
    pub(crate) fn ends(&self) -> (&UBig, &UBig) {
        (&self.low, &self.high)
    }

    /// Returns the first `bits` bits behind the point of a number below 1, where both ends agree on them.
    pub(crate) fn leading_bits(&self, bits: usize) -> Option<UBig> {
        let drop = self.bits - bits;
        let leading = &self.low >> drop;
        (leading == &self.high >> drop && leading.bit_len() <= bits).then_some(leading)
    }
}

/// Returns `a - b`, or zero.
fn subtract(a: &UBig, b: &UBig) -> UBig {
    if a > b { a - b } else { UBig::ZERO }
}

// Draws from a finite table of integer weights: the distribution *is* the table, so nothing about it is
// approximate.

/// A finite distribution: index `i` has probability `weights[i] / total`.
///
/// ```
/// use discreet::noise::{NoiseSource, Weights};
///
/// let die = Weights::new([1, 1, 1, 1, 1, 5])?;
/// assert!(die.draw(&mut NoiseSource::from_os()?) < 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    /// The cumulative weights: of all indices up to each one.
    sums: Vec<u128>,
    total: u128,
}

impl Weights {
    /// Makes the distribution of these weights.
    ///
    /// # Errors
    ///
    /// If there is none, if all are zero, or if they add up to 2^128 or more.
    pub fn new(weights: impl IntoIterator<Item = u128>) -> Result<Weights, Invalid> {
        let mut total = 0u128;
        let mut sums = Vec::new();
        for weight in weights {
            total = total.checked_add(weight).ok_or_else(|| {
                Invalid::new("weights", InvalidKind::Overflow, "weights that add up to less than 2^128")
            })?;
            sums.push(total);
        }
        match (sums.is_empty(), total) {
            (true, _) => Err(Invalid::new("weights", InvalidKind::Empty, "at least one weight")),
            (_, 0) => Err(Invalid::new("weights", InvalidKind::Zero, "at least one weight above 0")),
            _ => Ok(Weights { sums, total }),
        }
    }

    /// Draws an index into the weights, never one whose weight is zero.
    pub fn draw(&self, noise: &mut NoiseSource) -> usize {
        noise.asked_for("weights", &self.sums.len(), 1);
        self.draw_from(noise)
    }

    pub(super) fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> usize {
        let place = self.total.draw_below(bits);
        self.sums.partition_point(|&sum| sum <= place)
    }
}

// Symmetric polynomial noise: noise that never exceeds a bound.

/// The symmetric polynomial distribution: `P(j)` proportional to `(bound^2 - j^2)^exponent` for
/// `-bound < j < bound`.
///
/// Its answers err by less than `bound` with certainty, which no unbounded distribution can promise. In
/// return there is a chance that an answer distinguishes the neighbouring inputs, which is charged in delta.
#[derive(Clone, Debug)]
pub struct Polynomial {
    bound: u64,
    exponent: u32,
}

impl Polynomial {
    /// Makes the distribution of this bound and exponent.
    ///
    /// # Errors
    ///
    /// If the bound is zero or above 2^52, or the exponent is zero or above 1000 (a draw takes time like its
    /// root).
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

    /// The bound: every draw is below it in magnitude.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// The power to which `bound^2 - j^2` is raised.
    pub fn exponent(&self) -> u32 {
        self.exponent
    }
}

impl NoiseDistribution for Polynomial {
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("polynomial", &format_args!("{} {}", self.bound, self.exponent), 1);
        self.draw_from(noise)
    }
}

impl ExactLaw for Polynomial {
    /// Draws a uniform place, and keeps it if `exponent` uniform numbers below `bound^2` all reach its
    /// square.
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64 {
        let square = u128::from(self.bound).pow(2);
        loop {
            let place = bits.below(2 * self.bound - 1) as i64 - (self.bound as i64 - 1);
            let least = u128::from(place.unsigned_abs()).pow(2);
            if (0..self.exponent).all(|_| square.draw_below(bits) >= least) {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits of `exp(-a/b)`, from the exact rational partial sums of `exp(a/b)`: a different series,
    /// without rounding.
    fn digits_of_exp_minus(a: u32, b: u32, digits: usize) -> String {
        let (mut numerator, mut denominator) = (UBig::ONE, UBig::ONE);
        let (mut power, mut factorial) = (UBig::ONE, UBig::ONE);
        for k in 1u32..400 {
            power *= UBig::from(a);
            factorial *= UBig::from(b) * UBig::from(k);
            // sum + power/factorial, over the common denominator `factorial`.
            numerator = numerator * UBig::from(b) * UBig::from(k) + &power;
            denominator = factorial.clone();
        }
        format!("{:0>digits$}", (UBig::from(10u8).pow(digits) * denominator / numerator).to_string())
    }

    fn digits_of(enclosure: &Enclosure, digits: usize) -> (String, String) {
        let show = |end: &UBig| {
            format!("{:0>digits$}", ((end * UBig::from(10u8).pow(digits)) >> enclosure.bits).to_string())
        };
        (show(&enclosure.low), show(&enclosure.high))
    }

    #[test]
    fn exp_agrees_with_another_series_to_ninety_digits() {
        for (a, b) in [(1, 1), (1, 3), (1, 1_000_000), (7, 2), (50, 1), (999, 1000)] {
            let exponent = Fraction::Small(u128::from(a), u128::from(b));
            let (low, high) = digits_of(&Enclosure::exp_minus(&exponent, 400), 90);
            assert_eq!(low, high, "exp(-{a}/{b}) is held to fewer than 90 digits");
            assert_eq!(low, digits_of_exp_minus(a, b, 90), "exp(-{a}/{b})");
        }
    }

    #[test]
    fn exp_of_one_is_the_published_number() {
        let (low, _) = digits_of(&Enclosure::exp_minus(&Fraction::Small(1, 1), 200), 40);
        assert_eq!(low, "3678794411714423215955237701614608674458");
    }

    #[test]
    fn the_series_holds_every_true_value_however_coarse() {
        // At 12 bits all errors are in plain sight, and a float has the truth to 40 bits more.
        for small in 0..1u32 << 11 {
            let held = Enclosure::exp_minus_small(&UBig::from(small), 12);
            let ends = [&held.low, &held.high].map(|end| f64::from(u32::try_from(end.clone()).unwrap()));
            // Any number that rounds down to `small`: its two extremes.
            for x in [f64::from(small), f64::from(small) + 1.0] {
                let truth = (-x / 4096.0).exp() * 4096.0;
                assert!(ends[0] <= truth && truth <= ends[1], "{truth} is not within {ends:?}");
            }
            assert!(ends[1] - ends[0] < 64.0);
        }
    }

    #[test]
    fn the_true_value_stays_inside_through_every_operation() {
        // (1 - e^-1) / (1 - e^-2) = 1 / (1 + e^-1), two ways.
        let exp = |n| Enclosure::exp_minus(&Fraction::Small(n, 1), 256);
        let left = exp(1).complement().over(&exp(1).times(&exp(1)).complement()).unwrap();
        let right = Enclosure::one(256).over(&Enclosure::one(256).plus(&exp(1))).unwrap();
        assert!(left.low <= right.high && right.low <= left.high);
        assert_eq!(left.leading_bits(240), right.leading_bits(240));
        assert!(left.leading_bits(240).is_some());
        assert!(Enclosure::one(64).over(&Enclosure::zero(64)).is_none());
    }
}
