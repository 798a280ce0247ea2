//! How much one person can matter, enforced.

mod cap;
mod chooser;
mod gather;
mod identity;
mod index;
mod mixer;
mod names;
mod part;
mod rule;
mod table;
mod totals;

pub use cap::Cap;
pub use chooser::Chooser;
pub use identity::{Identity, Sink};
pub use mixer::Mixer;
pub use rule::{Keyed, Rule};
pub use table::Table;
pub use totals::{Count, Sum, Summed};
