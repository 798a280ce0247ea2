//! placeholder
mod calendar;
mod clock;
mod config;
mod connect;
mod deliver;
mod desk;
mod docket;
mod driver;
mod engine;
mod external;
mod failure;
mod faults;
mod feed;
mod pace;
mod release;
mod shared;
mod source;
mod statistic;

pub use calendar::Schedule;
pub use clock::{Clock, SystemClock};
pub use config::Config;
pub use deliver::Deliver;
pub use driver::execute;
pub use engine::{Scope, StreamVec, Travels, Worker};
pub use external::{External, Word};
pub use failure::{Failure, FailureKind, Finished};
pub use feed::{Fed, Feeds};
pub use release::{Outcomes, Plan, Release};
pub use shared::Stop;
pub use source::{All, BATCH, Gone, Pulled, Source};
pub use statistic::{Statistic, Title};

#[cfg(test)]
mod tests;
