//! Means of vectors: of several numbers of each record at once, with one count for all of them.
//!
//! | known about the numbers | statistic | scale of the noise |
//! |---|---|---|
//! | a range for each | [`VectorMean::clipped`] | in each coordinate, proportional to its range |
//! | a set that contains all vectors | [`VectorMean::over`] | the shape of the set, with the least error in a norm |
//! | ranges, perhaps far too wide | [`FoundMean`] | the covariance that the window before released |
//! | a box, and a large number of people | [`StableVectors`], by [`Stable`] alone | the covariance of the records themselves: floating-point assumed |
//!
//! The numbers of a record are integers, in steps; [`Coordinate`](crate::mechanisms::Coordinate) gives the
//! position of their decimal points. A record with another number of coordinates counts as the middle, or, in
//! a stable mean, as nobody, so that its presence is as well hidden as that of any other. The caller converts
//! values that are not numbers: Rust's cast, `value as i64`, turns NaN into zero and infinity into the
//! farthest integer, and both are then clipped.
//!
//! An answer has an estimate for each coordinate, and a line. The noise of a sum states the ratio of its
//! error to the least one of any unbiased mean at this price
//! ([`Noised::over_bound`](crate::mechanisms::Noised::over_bound)). Clipped and shaped means are summed on
//! each worker; the others keep all records of a window until it closes.
//!
//! ```
//! use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Moments, Ranges, Prepared, Tally, VectorMean};
//! use discreet::noise::NoiseSource;
//!
//! let ranges = Ranges::new([(0, 3_600), (0, 10_000)])?;
//! let rides = VectorMean::clipped(&ranges, Bound::keys(1).checked()?, Keys::whole())?;
//! let gaussian = Gaussian::rho(0.1).prepare(&rides)?;
//!
//! let mut known = Moments::default();
//! (0..1_000).for_each(|person| rides.add(&mut known, &[[600 + person, 1_500]]));
//! let mut exact = gaussian.tally();
//! exact.absorb(((), known));
//! let drawn = gaussian.draw(exact, None, &mut NoiseSource::from_os()?);
//! assert_eq!(drawn.answer.cells().len(), 2);
//! assert!(gaussian.noise()[0].over_bound() < Some(1.3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod followed;
mod found;
mod frame;
mod lower;
mod mean;
mod noised;
mod rows;
mod stably;
#[cfg(test)]
mod tests;

pub use followed::FollowedMeans;
pub use found::FoundMean;
pub use mean::Ranges;
pub use mean::VectorMean;
pub use noised::NoisyVectors;
pub use noised::Vectors;
pub use rows::Moments;
pub use rows::VectorRows;
pub use stably::{Stable, StableMeans, StableVectors};
