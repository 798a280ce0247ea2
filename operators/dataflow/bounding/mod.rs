//! How much one person can matter, enforced.

mod cap;
mod chooser;
mod each;
mod gather;
mod identity;
mod index;
mod measure;
mod mixer;
mod names;
mod part;
mod partial;
mod pool;
mod records;
mod rule;
mod table;
#[cfg(test)]
mod tests;
mod totals;
mod used;

pub use cap::Cap;
pub use chooser::Chooser;
pub use each::Each;
pub use identity::{Identity, Sink};
pub use measure::{Measure, Values};
pub use mixer::Mixer;
pub use partial::{Additive, Partial};
pub use pool::Pool;
pub use records::{Identified, Kept, Net, Netted, Ranked};
pub use rule::{Keyed, Rule};
pub use table::Table;
pub use totals::{Count, Sum, Summed, Summing};
pub use used::Used;
