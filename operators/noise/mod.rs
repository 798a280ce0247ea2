//! Exact integer noise. Integers in, integers out; no float on the way.
//!
//! # Noise in a minute
//!
//! A statistic becomes private when enough randomness is added to hide any one person in it. How much is
//! enough is a theorem about *one* noise distribution: Laplace's, or Gauss's. Computers that draw from these
//! distributions with floating-point numbers draw from something else: a float has gaps that depend on its
//! size, so `count + noise` can show which count it was (Mironov 2012), and so can the very addition, even of
//! perfect noise (Haney and others 2022). These are not academic worries; every large library of this field
//! has been broken by one of them.
//!
//! So here everything up to the released number is an integer:
//!
//! * A statistic is an integer, or is put on a power-of-two grid, a [`Lattice`], record by record.
//! * The noise has an integer distribution: [`DiscreteLaplace`] and [`DiscreteGaussian`], with the same
//!   privacy theorems as their continuous cousins; [`RoundedGaussian`], whose releases are those of the
//!   continuous Gaussian, rounded; [`Geometric`], [`Polynomial`], [`BoundedDistribution`] and
//!   any table of [`Weights`] for mechanisms built on them.
//! * A draw compares fair bits with integers and with exactly known bits of `exp`; it is *exactly* from its
//!   distribution, not up to 2^-53. Parameters are fractions, a [`Ratio`]; products that outgrow 128 bits go
//!   to big integers.
//! * Post-processing of the sum of statistic and noise may use floats freely: the sum is no longer secret.
//!
//! ```
//! use discreet::noise::{DiscreteLaplace, NoiseDistribution, NoiseSource};
//!
//! let people = 1_234;                                   // the secret
//! let distribution = DiscreteLaplace::new(2.0)?;       // epsilon = 1/2 for a count of people
//! let released = people + distribution.draw(&mut NoiseSource::from_os()?);
//! # let _ = released;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Exact does not mean slow: one draw takes little longer than the 64 random bits it consumes (see
//! `inversion.rs`), at any scale. `cargo bench --bench noise` prints it beside inexact noise on the same
//! generator and beside another library's exact noise.
//!
//! # Two Gaussians
//!
//! The [`DiscreteGaussian`] keeps the bound of zero-concentrated differential privacy that the continuous one
//! has. But it is not dominated by it, so theorems about the continuous one's trade-off curve do not hold for
//! it. A [`RoundedGaussian`] is the continuous noise `N`, rounded to the nearest integer. For an *integer*
//! `x` it is the same to round before or after the addition, `x + round(N) = round(x + N)`. So the release is
//! a function of what the continuous mechanism releases, and every theorem about that one holds: where one
//! person moves the integers by `d` in Euclidean length, it is Gaussian differentially private with
//! `mu = d / sigma`, and `mu^2 / 2`-zCDP, and releases compose by the sum of `mu^2`. The price is in small
//! scales: its variance is `sigma^2 + 1/12`.
//!
//! None of this is true of a statistic that is no integer: `1/2 + round(N)` is not a function of `1/2 + N`.
//!
//! # Randomness
//!
//! A [`NoiseSource`] is seeded once by the operating system, for one release, and erased afterwards. There is
//! no generator to share, to fork or to restore from a snapshot, and no seed to give: recording and fixed
//! sources exist in this library's own tests only.
//!
//! # When not to use this module
//!
//! It does no privacy accounting: the mechanisms above it decide, and charge for, the distribution and the
//! scale of the noise of each statistic. The time of a draw depends on its value by some nanoseconds;
//! releases are published on a schedule, not as soon as they are computed.

mod bounded;
mod coins;
mod decay;
mod enclosure;
mod gaussian;
mod inversion;
mod laplace;
mod lattice;
mod ratio;
mod rounded;
mod simulation;
mod source;

#[cfg(test)]
pub(crate) mod goodness;
#[cfg(test)]
mod laws;

pub use bounded::BoundedDistribution;
pub(crate) use coins::FairBits;
pub(crate) use decay::Decay;
#[cfg(test)]
pub(crate) use enclosure::Enclosure;
pub use enclosure::Polynomial;
pub use enclosure::Weights;
pub use gaussian::DiscreteGaussian;
pub use laplace::DiscreteLaplace;
pub use laplace::Geometric;
pub use lattice::Lattice;
pub(crate) use ratio::Fraction;
pub use ratio::Ratio;
pub use rounded::RoundedGaussian;
#[cfg(test)]
pub(crate) use source::RecordedDraw;
pub use source::{NoRandomness, NoiseSource};

/// A law that is drawn exactly from any fair bits.
trait ExactLaw {
    /// Makes one draw.
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64;
}

/// A noise distribution on the integers.
///
/// Draws cannot fail: invalid parameters have been refused when the distribution was made.
pub trait NoiseDistribution {
    /// Makes one draw.
    fn draw(&self, noise: &mut NoiseSource) -> i64;

    /// Overwrites `values` with one draw for each place, in order.
    fn fill(&self, noise: &mut NoiseSource, values: &mut [i64]) {
        values.iter_mut().for_each(|value| *value = self.draw(noise));
    }
}
