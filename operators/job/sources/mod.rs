//! Sources: everything between the outside and the records of a dataflow.
//!
//! *bytes → unpacked → cut into chunks of whole lines → dealt to workers → read there, line by line →
//! records.*
//!
//! One thread of a process reads ([`reader`] to an end, [`follow`] without one) and never looks into a line;
//! the workers read lines while they pull. Chunks go round in channels that hold few of them, so a slow
//! worker makes the reading wait, and buffers are reused. The end of a chunk depends on the text alone
//! ([`cutter`]): several processes read the same files, each keeps its own workers' chunks, and together they
//! have every line once. That the files are the same is not taken for granted ([`accord`]).
//!
//! **A line is read whole or not at all.** A line that cannot be read is left out and counted, and past the
//! limit of such lines the source is refused: by then its format is in doubt. Everything that is read is
//! exact: numbers and times never pass through a float ([`number`], [`times`]), and the bytes of an id are
//! the person ([`identity`]).
//!
//! **Completeness comes from the end, the clock or the order that the job file promises**, and never from a
//! record. A replay ends with its last line. A live source reads the clock, then everything that is present,
//! through every rotation of its files ([`follow`]), and then declares that this time has passed. The lines of a sorted replay show how far it is, so that
//! windows behind them are added up and their people forgotten, and it fails at a line that is earlier; the
//! sums are released at its end, once the whole input has proved to be in order.
//!
//! Errors contain nothing of a line: they name places, and fields that the job file names.

mod accord;
pub(super) mod bytes;
#[cfg(feature = "arrow")]
mod columnar;
mod cutter;
mod dealer;
mod follow;
mod identity;
mod input;
mod line_reader;
mod lines;
mod listing;
mod maker;
mod milestones;
mod number;
mod part;
mod pattern;
mod reader;
mod receiver;
mod spool;
mod survey;
mod synthetic;
#[cfg(test)]
mod tests;
mod times;
mod wanted;

pub(crate) use dealer::Brake;
pub use dealer::{Progress, RecordCounts};
pub(crate) use identity::{Id, PersonIdentity};
pub(crate) use input::{ClusterCrew, Crew, InputPace, SourceInput, open};
pub(in crate::job) use lines::split_fields;
pub(in crate::job) use listing::{listed_files, try_files};
pub(crate) use maker::{MISSING, SourceRecord};
pub(in crate::job) use number::is_number;
pub(crate) use number::{exact_steps, steps};
pub(crate) use part::SourcePart;
pub use receiver::ReceiverSigns;
pub(in crate::job) use receiver::access_token;
pub use survey::{Survey, Warn};
pub(crate) use survey::{SurveyedCondition, SurveyedKind, Use};
pub(in crate::job) use synthetic::SplitMix;
pub use synthetic::{SyntheticLog, SyntheticRow};
pub(in crate::job) use times::{USUAL_FORMATS, exchanged, is_time_of};
pub(in crate::job) use wanted::fields_read;
pub(crate) use wanted::{FieldRequirements, KeyField, NumberField};
