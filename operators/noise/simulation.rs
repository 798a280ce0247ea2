//! The traits of `rand`, for simulation: every law under any generator, and a [`NoiseSource`] as a generator.
//!
//! A draw under another generator is exactly from the same law as a release's, as far as that generator's bits are fair.
//! It cannot be released: what a gate seals is drawn from a [`NoiseSource`], by type.
//!
//! ```
//! use discreet::noise::{DiscreteLaplace, NoiseSource};
//! use rand::distr::Distribution;
//! use rand::seq::SliceRandom;
//!
//! let law = DiscreteLaplace::new(2.0)?;
//! let mut generator = NoiseSource::from_os()?;                  // or any other, with a seed
//! let noise: Vec<i64> = (&law).sample_iter(&mut generator).take(1_000).collect();
//! assert!(noise.iter().any(|&draw| draw != 0));
//!
//! let mut order: Vec<usize> = (0..100).collect();
//! order.shuffle(&mut generator);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A mechanism takes no other generator:
//!
//! ```compile_fail,E0308
//! use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Prepared, Total};
//!
//! fn released_from(generator: &mut impl rand::CryptoRng) -> Result<(), discreet::Invalid> {
//!     let people = Total::people(Bound::keys(1).checked()?, Keys::public([()])?)?;
//!     let prepared = Gaussian::rho(0.1).prepare(&people)?;
//!     prepared.draw(prepared.tally(), None, generator);
//!     Ok(())
//! }
//! ```

use std::convert::Infallible;

use rand::Rng;
use rand::distr::Distribution;
use rand::rand_core::{TryCryptoRng, TryRng};

use super::coins::FairBits;
use super::source::NoiseSource;
use super::{
    BoundedDistribution, DiscreteGaussian, DiscreteLaplace, ExactLaw, Geometric, Polynomial, RoundedGaussian,
    Weights,
};

/// The bits of a generator.
struct GeneratorBits<'a, R: ?Sized>(&'a mut R);

impl<R: Rng + ?Sized> FairBits for GeneratorBits<'_, R> {
    #[inline]
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}

macro_rules! simulated {
    ($($law:ty),*) => {$(
        impl Distribution<i64> for $law {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> i64 {
                self.draw_from(&mut GeneratorBits(generator))
            }
        }

        impl Distribution<i128> for $law {
            #[inline]
            fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> i128 {
                self.draw_from(&mut GeneratorBits(generator)).into()
            }
        }
    )*};
}

simulated!(BoundedDistribution, DiscreteGaussian, DiscreteLaplace, Geometric, Polynomial, RoundedGaussian);

impl Distribution<usize> for Weights {
    fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> usize {
        self.draw_from(&mut GeneratorBits(generator))
    }
}

/// Its ChaCha20 stream as a generator: what is drawn by others is never drawn again as noise.
impl TryRng for NoiseSource {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(size_of::<u64>()) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for NoiseSource {}

#[cfg(test)]
mod tests {
    use rand::CryptoRng;

    use super::*;
    use crate::noise::{NoiseDistribution, Ratio};

    fn is_for_secrets(_: &impl CryptoRng) {}

    // Refutes a generator's draw that is from another law, and one that takes other bits than a release's does: under one
    // stream both give the same numbers.
    #[test]
    fn a_generator_gives_the_draws_of_a_release() {
        fn assert_alike(law: &(impl NoiseDistribution + Distribution<i64> + Distribution<i128>)) {
            let (mut released, mut generated) = (NoiseSource::seeded(71), NoiseSource::seeded(71));
            is_for_secrets(&generated);
            for _ in 0..2_000 {
                let narrow: i64 = law.sample(&mut generated);
                let wide: i128 = law.sample(&mut generated);
                assert_eq!(law.draw(&mut released), narrow);
                assert_eq!(i128::from(law.draw(&mut released)), wide);
            }
        }
        assert_alike(&DiscreteLaplace::new(Ratio::new(7, 3).unwrap()).unwrap());
        assert_alike(&DiscreteGaussian::new(1e9).unwrap());
        assert_alike(&RoundedGaussian::new(0.3).unwrap());
        assert_alike(&Geometric::new(0.3).unwrap());
        assert_alike(&Polynomial::new(40, 12).unwrap());
        assert_alike(&BoundedDistribution::new(vec![5, 3, 1]).unwrap());
        let weights = Weights::new([0, 3, 0, 5]).unwrap();
        let (mut released, mut generated) = (NoiseSource::seeded(72), NoiseSource::seeded(72));
        let draws: Vec<usize> = (0..100).map(|_| weights.draw(&mut released)).collect();
        assert_eq!(draws, (&weights).sample_iter(&mut generated).take(100).collect::<Vec<usize>>());
    }

    // Refutes bytes that are left out or given twice.
    #[test]
    fn bytes_are_those_of_the_stream() {
        let bytes = |lengths: &[usize]| {
            let mut source = NoiseSource::seeded(73);
            let mut all = Vec::new();
            for &length in lengths {
                let mut bytes = vec![0; length];
                source.fill_bytes(&mut bytes);
                all.extend(bytes);
            }
            all
        };
        let whole = bytes(&[4_096]);
        assert_eq!(bytes(&[8, 16, 2_048, 2_024]), whole);
        assert_eq!(bytes(&[3, 8])[..3], whole[..3]);
        assert_eq!(bytes(&[3, 8])[3..], whole[8..16]);
        let mut words = NoiseSource::seeded(73);
        assert_eq!(words.next_u64().to_le_bytes(), whole[..8]);
        assert_eq!(words.next_u32().to_le_bytes(), whole[8..12]);
    }
}
