//! Sources: everything between the outside and the records of a dataflow.
//!
//! *bytes → unpacked → cut into chunks of whole lines → dealt to workers → read there, line by line → records.*
//!
//! One thread of a process reads ([`reader`] to an end, [`follow`] without one) and never looks into a line; the
//! workers read lines while they pull. Chunks go round in channels that hold few of them, so whoever is slow makes the
//! reading wait, and their memory comes back. Where a chunk ends depends on the text alone ([`cutter`]): several
//! processes read the same files, each keeps its own workers' chunks, and together they have every line once. That the
//! files are the same is not taken for granted ([`accord`]).
//!
//! **A line is read whole or not at all.** One that cannot be read is left out and counted, and past its limit the
//! source is refused: by then nobody knows what it is. Everything that is read is exact: numbers and times never pass
//! through a float ([`number`], [`times`]), and the bytes of an id are the person ([`identity`]).
//!
//! **Complete is said by the end, by the clock or by the order that the job file promises**, and never by a record. A
//! replay ends with its last line. A live source reads the clock, then everything that is there, and then says that
//! this time has passed. The lines of a sorted replay say how far it is, so that windows behind them are added up and
//! their people forgotten, and it fails at a line that is earlier; what is added up is released at its end, once the whole
//! input has proved to be in order.
//!
//! Nothing of a line is in an error: they name places, and fields that the job file names.

mod accord;
mod bytes;
mod cutter;
mod dealer;
mod follow;
mod identity;
mod input;
mod lines;
mod maker;
mod number;
mod part;
mod reader;
mod survey;
mod synthetic;
#[cfg(test)]
mod tests;
mod times;
mod wanted;

pub(crate) use dealer::Brake;
pub use dealer::Progress;
pub(crate) use identity::{Id, PersonIdentity};
pub(crate) use input::{Crew, Crewed, InputPace, SourceInput, open};
pub(crate) use maker::{MISSING, SourceRecord};
pub(crate) use number::steps;
pub(crate) use part::SourcePart;
pub use survey::{Survey, Warn};
pub(crate) use survey::{SurveyedKind, Use};
pub use synthetic::{MadeRow, MadeUp};
pub(crate) use wanted::{Group, NumberField, Wanted};
