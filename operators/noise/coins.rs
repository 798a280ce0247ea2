//! Uniform integers and coins: exact, from fair bits and integer comparisons alone.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::ratio::Fraction;
use super::ratio::Ratio;
use super::source::NoiseSource;
use crate::invalid::{Invalid, InvalidKind};

/// A stream of fair bits, and the exact draws that are made of them.
///
/// A [`NoiseSource`] is the one that releases take; a generator of `rand` is another, for simulation.
pub(crate) trait FairBits {
    /// Returns 64 fair bits.
    fn word(&mut self) -> u64;

    /// Draws a uniform integer in `0..bound`; 0 for a bound of 0.
    ///
    /// There is no modulo bias: the one incomplete stretch of the 64-bit range is drawn again (Lemire 2019,
    /// arXiv 1805.10941, which needs a division only where a redraw is possible).
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.word()) * u128::from(bound);
        if (product as u64) < bound {
            let incomplete = bound.wrapping_neg() % bound;
            while (product as u64) < incomplete {
                product = u128::from(self.word()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Draws a uniform integer in `0..bound`, of 128 bits, for a bound above 0.
    fn below_wide(&mut self, bound: u128) -> u128 {
        bound.draw_below(self)
    }

    /// Draws a uniform integer in `0..bound`, of any length, for a bound above 0.
    fn below_any(&mut self, bound: &UBig) -> UBig {
        bound.draw_below(self)
    }

    /// Draws `true` with probability `chance`, which is at most 1.
    fn flip(&mut self, chance: &Fraction) -> bool {
        match chance {
            Fraction::Small(a, b) => b.draw_below(self) < *a,
            Fraction::Large(a, b) => b.draw_below(self) < *a,
        }
    }

    /// Draws `true` with probability `exp(-exponent)`.
    fn flip_exp(&mut self, exponent: &Fraction) -> bool {
        match exponent {
            Fraction::Small(a, b) => exp_coin(self, a, b),
            Fraction::Large(a, b) => exp_coin(self, a, b),
        }
    }

    /// Draws the result of [`flip_exp`](FairBits::flip_exp) for an exponent of at most 1, given that its
    /// first trial came out `true`.
    fn flip_exp_after_first_trial(&mut self, exponent: &Fraction) -> bool {
        match exponent {
            Fraction::Small(a, b) => exp_trials(self, a, b, 2),
            Fraction::Large(a, b) => exp_trials(self, a, b, 2),
        }
    }

    /// Draws `m >= 0` with probability proportional to `exp(-rate * m)`, for a rate above 0.
    fn geometric(&mut self, rate: &Fraction) -> u64 {
        match rate {
            Fraction::Small(s, t) => geometric(self, s, t),
            Fraction::Large(s, t) => geometric(self, s, t),
        }
    }
}

impl NoiseSource {
    /// Draws a uniform integer in `0..bound`, without bias; 0 for a bound of 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        FairBits::below(self, bound)
    }

    /// Draws `true` with probability `probability`.
    ///
    /// # Errors
    ///
    /// If the probability is above 1.
    pub fn bernoulli(&mut self, probability: Ratio) -> Result<bool, Invalid> {
        if probability.numerator() > probability.denominator() {
            return Err(Invalid::new("probability", InvalidKind::TooLarge, "a number of at most 1"));
        }
        Ok(self.flip(&Fraction::Small(probability.numerator(), probability.denominator())))
    }

    /// Draws `true` with probability `exp(-exponent)`.
    pub fn bernoulli_exp(&mut self, exponent: Ratio) -> bool {
        self.flip_exp(&Fraction::Small(exponent.numerator(), exponent.denominator()))
    }
}

/// The integers behind the coins: of 128 bits, or of any length.
pub(crate) trait Natural: Clone + Ord + Into<UBig> {
    const ONE: Self;

    /// Draws a uniform integer in `0..self`.
    fn draw_below<B: FairBits + ?Sized>(&self, bits: &mut B) -> Self;

    /// Returns the quotient, capped at `u64::MAX`, and the remainder.
    fn divide(&self, by: &Self) -> (u64, Self);
}

impl Natural for u128 {
    const ONE: u128 = 1;

    fn draw_below<B: FairBits + ?Sized>(&self, bits: &mut B) -> u128 {
        if let Ok(bound) = u64::try_from(*self) {
            return u128::from(bits.below(bound));
        }
        let mask = u128::MAX >> (*self - 1).leading_zeros();
        loop {
            let candidate = (u128::from(bits.word()) << 64 | u128::from(bits.word())) & mask;
            if candidate < *self {
                return candidate;
            }
        }
    }

    fn divide(&self, by: &u128) -> (u64, u128) {
        (u64::try_from(self / by).unwrap_or(u64::MAX), self % by)
    }
}

impl Natural for UBig {
    const ONE: UBig = UBig::ONE;

    fn draw_below<B: FairBits + ?Sized>(&self, bits: &mut B) -> UBig {
        let length = (self - UBig::ONE).bit_len();
        loop {
            let words: Vec<u64> = (0..length.div_ceil(64)).map(|_| bits.word()).collect();
            let mut candidate =
                UBig::from_le_bytes(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
            candidate &= (UBig::ONE << length) - UBig::ONE;
            if candidate < *self {
                return candidate;
            }
        }
    }

    fn divide(&self, by: &UBig) -> (u64, UBig) {
        (u64::try_from(&(self / by)).unwrap_or(u64::MAX), self % by)
    }
}

/// Draws `true` with probability `exp(-a/b)`: one coin of `exp(-1)` for each whole unit, then one for the
/// rest.
fn exp_coin<N: Natural, B: FairBits + ?Sized>(bits: &mut B, a: &N, b: &N) -> bool {
    if a <= b {
        return exp_trials(bits, a, b, 1);
    }
    let (whole, rest) = a.divide(b);
    for _ in 0..whole {
        if !exp_trials(bits, &N::ONE, &N::ONE, 1) {
            return false;
        }
    }
    exp_trials(bits, &rest, b, 1)
}

/// Draws from von Neumann's coin, as in Canonne, Kamath and Steinke (2020): trial `k` succeeds with
/// probability `a / (b k)`; the first failure comes at an odd `k` with probability
/// `1 - x + x^2/2! - ... = exp(-x)`, for `x = a/b <= 1`.
///
/// A trial of probability `a/(b k)` is one of `a/b` and one of `1/k`, so no product is formed that could
/// overflow.
fn exp_trials<N: Natural, B: FairBits + ?Sized>(bits: &mut B, a: &N, b: &N, first: u64) -> bool {
    let mut k = first;
    while b.draw_below(bits) < *a && (k == 1 || bits.below(k) == 0) {
        k += 1;
    }
    k % 2 == 1
}

/// Draws from the geometric distribution of rate `s/t`: `u` has probability proportional to `exp(-u/t)` on
/// `0..t`, `v` to `exp(-v)`, so `u + t v` is geometric with rate `1/t`, and its quotient by `s` with rate
/// `s/t`.
fn geometric<N: Natural, B: FairBits + ?Sized>(bits: &mut B, s: &N, t: &N) -> u64 {
    let u = loop {
        let u = t.draw_below(bits);
        if exp_trials(bits, &u, t, 1) {
            break u;
        }
    };
    let mut v = 0u64;
    while exp_trials(bits, &N::ONE, &N::ONE, 1) {
        v += 1;
    }
    let sum: UBig = u.into() + t.clone().into() * UBig::from(v);
    // A quotient past 64 bits would need a rate below 2^-57, which no distribution here has.
    u64::try_from(&(sum / s.clone().into())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::goodness::{binomial_within, chi_squared};

    #[test]
    fn uniform_integers_have_no_modulo_bias() {
        // With 3 * 2^62 the remainder by 3 is uniform; scaling a word down without redrawing yields 0 half of
        // the time, and taking a word modulo the bound makes the lowest third twice as likely.
        let bound = 3 << 62;
        let mut noise = NoiseSource::seeded(11);
        let values: Vec<u64> = (0..100_000).map(|_| noise.below(bound)).collect();
        let count = |wanted: fn(&u64) -> bool| values.iter().filter(|value| wanted(value)).count();
        binomial_within(count(|value| value % 3 == 0), 100_000, 1.0 / 3.0);
        binomial_within(count(|&value| value < 1 << 62), 100_000, 1.0 / 3.0);
        // With 5 * 2^61 three words in eight are drawn again: redrawing half of them is not enough.
        let mut counts = [0; 5];
        (0..100_000).for_each(|_| counts[(noise.below(5 << 61) % 5) as usize] += 1);
        chi_squared(&counts, &[0.2; 5]).assert_fits();
    }

    #[test]
    fn a_uniform_integer_is_below_its_bound() {
        let bound = (1u128 << 64) + 1;
        assert_eq!(bound.draw_below(&mut NoiseSource::fixed([1, 1, 0, 5])), 5);
        assert_eq!(bound.draw_below(&mut NoiseSource::fixed([1, 0])), 1 << 64);
    }

    #[test]
    fn uniform_integers_of_every_width_fit_their_law() {
        let mut noise = NoiseSource::seeded(12);
        let mut counts = [[0u64; 7]; 3];
        let wide = 7u128 << 100;
        let wider = UBig::from(7u8) << 200;
        for _ in 0..70_000 {
            counts[0][noise.below(7) as usize] += 1;
            counts[1][(wide.draw_below(&mut noise) >> 100) as usize] += 1;
            counts[2][usize::try_from(wider.draw_below(&mut noise) >> 200).unwrap()] += 1;
        }
        for counts in counts {
            chi_squared(&counts, &[1.0 / 7.0; 7]).assert_fits();
        }
    }

    #[test]
    fn coins_show_their_probability() {
        let mut noise = NoiseSource::seeded(13);
        let draws = 200_000;
        for (numerator, denominator) in [(1, 1), (1, 3), (2, 7), (u128::MAX / 3, u128::MAX)] {
            let ratio = Ratio::new(numerator, denominator).unwrap();
            let heads = (0..draws).filter(|_| noise.bernoulli(ratio).unwrap()).count();
            binomial_within(heads, draws, ratio.to_f64());
        }
        assert_eq!(noise.bernoulli(Ratio::new(3, 2).unwrap()).unwrap_err().field(), "probability");
    }

    #[test]
    fn exponential_coins_show_their_probability_in_both_widths() {
        let mut noise = NoiseSource::seeded(14);
        let draws = 200_000;
        for (a, b) in [(1, 1000), (1, 2), (1, 1), (3, 2), (5, 1)] {
            let expected = (-(a as f64) / b as f64).exp();
            let heads = (0..draws).filter(|_| noise.bernoulli_exp(Ratio::new(a, b).unwrap())).count();
            binomial_within(heads, draws, expected);
            let large = Fraction::Large(UBig::from(a) << 200, UBig::from(b) << 200);
            let heads = (0..draws / 10).filter(|_| noise.flip_exp(&large)).count();
            binomial_within(heads, draws / 10, expected);
        }
    }

    #[test]
    fn geometric_draws_fit_their_law_in_both_widths() {
        let mut noise = NoiseSource::seeded(15);
        let rate = 0.4f64;
        let expected: Vec<f64> = (0..12)
            .map(|m| (-rate * f64::from(m)).exp() * -(-rate).exp_m1())
            .chain([(-rate * 12.0).exp()])
            .collect();
        let large = Fraction::Large(UBig::from(2u8) << 200, UBig::from(5u8) << 200);
        for (rate, draws) in [(Fraction::Small(2, 5), 200_000), (large, 20_000)] {
            let mut counts = [0; 13];
            for _ in 0..draws {
                counts[noise.geometric(&rate).min(12) as usize] += 1;
            }
            chi_squared(&counts, &expected).assert_fits();
        }
    }
}
