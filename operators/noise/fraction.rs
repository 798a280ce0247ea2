//! Non-negative fractions inside the samplers: products of parameters that stay in 128 bits while they fit and go to
//! big integers when they do not. They never wrap, and which of the two is in use never changes a law.

use dashu_int::UBig;

/// A non-negative fraction.
#[derive(Clone, Debug)]
pub(crate) enum Fraction {
    Small(u128, u128),
    Large(UBig, UBig),
}

impl Fraction {
    pub(crate) const ZERO: Fraction = Fraction::Small(0, 1);

    /// The product of `numerators` over the product of `denominators`, of which none is zero.
    pub(crate) fn product(numerators: &[u128], denominators: &[u128]) -> Fraction {
        let small = |factors: &[u128]| factors.iter().try_fold(1u128, |product, &f| product.checked_mul(f));
        match (small(numerators), small(denominators)) {
            (Some(numerator), Some(denominator)) => Fraction::Small(numerator, denominator),
            _ => {
                let large = |factors: &[u128]| factors.iter().map(|&f| UBig::from(f)).product();
                Fraction::Large(large(numerators), large(denominators))
            }
        }
    }

    /// This fraction times `numerator / denominator`.
    pub(crate) fn times(&self, numerator: u128, denominator: u128) -> Fraction {
        match self {
            Fraction::Small(a, b) => Fraction::product(&[*a, numerator], &[*b, denominator]),
            Fraction::Large(a, b) => Fraction::Large(a * UBig::from(numerator), b * UBig::from(denominator)),
        }
    }

    /// Numerator and denominator.
    pub(crate) fn parts(&self) -> (UBig, UBig) {
        match self {
            Fraction::Small(a, b) => (UBig::from(*a), UBig::from(*b)),
            Fraction::Large(a, b) => (a.clone(), b.clone()),
        }
    }

    /// The least integer at or above this fraction.
    pub(crate) fn ceiling(&self) -> UBig {
        let (numerator, denominator) = self.parts();
        (numerator + &denominator - UBig::ONE) / denominator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_past_128_bits_do_not_wrap() {
        let half = Fraction::product(&[u128::MAX, u128::MAX], &[u128::MAX, u128::MAX, 2]);
        assert!(matches!(half, Fraction::Large(..)));
        let (numerator, denominator) = half.parts();
        assert_eq!(numerator * UBig::from(2u8), denominator);
    }

    #[test]
    fn ceilings_round_up() {
        assert_eq!(Fraction::product(&[7], &[2]).ceiling(), UBig::from(4u8));
        assert_eq!(Fraction::product(&[8], &[2]).ceiling(), UBig::from(4u8));
        assert_eq!(Fraction::ZERO.ceiling(), UBig::ZERO);
    }
}
