//! Statistics without a sensitivity: one person can move them as far as they go. What one person moves little is the
//! *rank* of a possible answer, the number of people above it. So an answer is chosen by its rank, from a [`Grid`] that
//! is public.

mod choose;
mod grid;
#[allow(dead_code)]
mod losses;
mod quantile;
#[allow(dead_code)]
mod share;
#[allow(dead_code)]
mod split;
#[cfg(test)]
mod tests;
mod ties;

pub use grid::Grid;
pub use quantile::Quantile;
