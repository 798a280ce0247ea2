//! Means of vectors: of several numbers of each record at once, with one count for all of them.

mod clip;
mod mean;
mod moments;
#[cfg(test)]
mod tests;
mod told;

pub use clip::Ranges;
pub use mean::VectorMean;
pub use moments::Moments;
pub use told::NoisyVectors;
