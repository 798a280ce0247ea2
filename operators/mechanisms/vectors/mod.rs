//! Means of vectors: of several numbers of each record at once, with one count for all of them.

mod clip;
mod finding;
mod follow;
mod followed;
mod found;
mod frame;
mod lower;
mod mean;
mod moments;
mod prices;
mod remembered;
mod rows;
mod stably;
#[cfg(test)]
mod tests;
mod told;
#[expect(clippy::module_inception, reason = "vectors is what they are")]
mod vectors;

pub use clip::Ranges;
pub use followed::FollowedMeans;
pub use found::FoundMean;
pub use mean::VectorMean;
pub use moments::Moments;
pub use rows::Rows;
pub use stably::{Stable, StableMeans, StableVectors};
pub use told::NoisyVectors;
pub use vectors::Vectors;
