//! Means of vectors: of several numbers of each record at once, with one count for all of them.
//!
//! | what is known of the numbers | statistic | what the noise looks like |
//! |---|---|---|
//! | a range of each | [`VectorMean::clipped`] | as wide in each coordinate as its range asks |
//! | a set in which all vectors lie | [`VectorMean::over`] | the shape of the set, the least in a norm |
//! | ranges that are far too wide | [`FoundMean`] | the covariance of the window before, which was released |
//! | a box, and that there are many people | [`StableVectors`], by [`Stable`] alone | the covariance of the very records: floating-point assumed |
//!
//! A record's numbers are whole, in steps; where their decimal points stand is said by
//! [`Coordinate`](crate::mechanisms::Coordinate). One that has another number of them counts as the middle,
//! or as nobody where the mean is stable, so that whether it came shows no more than any other. What is no
//! number must be made one before: the cast of Rust, `value as i64`, makes zero of NaN and the farthest
//! number of infinity, and both are then clipped.
//!
//! An answer has an estimate for each coordinate, and a line. The noise of its sum says by how much it is
//! above the least that an unbiased mean has at this price
//! ([`Noised::over_bound`](crate::mechanisms::Noised::over_bound)). Clipped and shaped means add up worker by
//! worker; the others keep all records of a window until it closes.
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
