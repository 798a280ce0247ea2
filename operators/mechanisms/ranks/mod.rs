//! Statistics without a sensitivity: one person can move them as far as they go. What one person moves little is the
//! *rank* of a possible answer, the number of people above it. So an answer is chosen by its rank, from a [`Grid`] that
//! is public.

mod choose;
mod grid;
mod inverse;
mod largest;
mod laws;
#[allow(dead_code)]
mod losses;
mod monotone;
mod quantile;
mod search;
mod share;
#[allow(dead_code)]
mod split;
#[cfg(test)]
mod tests;
mod ties;
mod tops;

pub use grid::Grid;
pub use inverse::Inverted;
pub use largest::{Largest, PerPerson};
pub use laws::{BinarySearch, Exponential};
pub use monotone::{Altogether, Maximum, Monotone, loss_moves_by_one};
pub use quantile::Quantile;
pub use search::Searched;
pub use tops::{Left, Tops};
