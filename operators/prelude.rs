//! The types and functions of a pipeline: `use discreet::prelude::*`.
//!
//! Each of them is documented at the module that defines it. [`execute`](crate::execute) is at the root of
//! the crate.

pub use crate::accounting::running::Strategy;
pub use crate::accounting::{Adjacency, Budget, Interval, PrivacyCost, Promise};
pub use crate::dataflow::{
    All, BudgetStream, Calendar, Config, Deliver, Drawing, External, FailureKind, Fed, Feeds, Finished,
    LeavingRelease, Pulled, Release, Releases, RunError, Schedule, Source, SourceError, Stop, StreamVec,
    Weekday, Worker, WorkerDeclaration,
};
pub use crate::gate::{AccountStatus, Gate, Opening};
pub use crate::invalid::Invalid;
pub use crate::ledger::{AccountSpec, Ledger, ReleaseStatus};
pub use crate::mechanisms::{
    Altogether, BinarySearch, Bound, BoundedNoise, Edges, Exponential, Gaussian, Grid, Keys, Laplace,
    Maximum, Minimum, PerPerson, PermuteAndFlip, Quantile, Range, Stable,
};
pub use crate::time::{Span, Time, at, days, hours, minutes, seconds};
