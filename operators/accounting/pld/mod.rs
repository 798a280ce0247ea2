//! Privacy-loss distributions.

mod bundle;
mod complex;
mod composition;
mod exact;
mod gaussian;
mod integral;
mod law;
mod pair;
mod search;
mod zcdp;

pub use bundle::Bundle;
pub use pair::Pair;
