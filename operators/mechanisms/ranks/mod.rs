//! Statistics without a sensitivity: one person can move them as far as they go. What one person moves little is the
//! *rank* of a possible answer, the number of people above it. So an answer is chosen by its rank, from a [`Grid`] that
//! is public.

mod choose;
mod grid;
mod inverse;
mod largest;
mod laws;
mod losses;
mod monotone;
mod quantile;
mod quantiles;
mod search;
mod share;
mod split;
#[cfg(test)]
mod tests;
mod ties;
mod tops;
mod values;

pub use grid::Grid;
pub use inverse::Inverted;
pub use largest::{Largest, PerPerson};
pub use laws::{BinarySearch, Exponential, PermuteAndFlip};
pub use monotone::{Altogether, Maximum, Monotone, loss_moves_by_one};
pub use quantile::Quantile;
pub use quantiles::{Quantiles, Ranked};
pub use search::Searched;
pub use tops::{Left, Tops};
pub use values::Values;
