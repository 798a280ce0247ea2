//! Publish running statistics from a live stream with a privacy guarantee for every person in it, for as long
//! as the stream runs.
//!
//! Timely dataflow, differential dataflow, discreet dataflow: discreet, because it keeps the records of
//! people to itself; and discrete, because all of its noise is drawn from integers.
//!
//! A private job is one pipeline of stages: whom it protects, its windows, the contribution bound of one
//! person, the statistic, and the cost at which it is released.
//!
//! ```no_run
//! use std::io::{Write, stdout};
//!
//! use discreet::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let visits = vec![(7_u64, "/".to_owned(), at("2026-11-01T12:00:00Z")?)];
//! let gate = Gate::open("visits.ledger", "web")?;
//! let finished = discreet::execute(Config::threads(1)?, move |worker, feeds| {
//!     let visits = All::of(visits.clone());                              // who, what, when
//!     worker.dataflow(|scope| {
//!         feeds
//!             .stream(scope, visits)
//!             .protect(|(client, _, _)| *client)
//!             .tumbling(minutes(10), |(_, _, time)| *time)
//!             .between("2026-11-01", "2026-11-02")
//!             .bound(Bound::keys(3).per_key(10))
//!             .count_by(|(_, path, _)| path.clone(), Keys::discover(1e-9))
//!             .release(&gate, "visits_by_path", Gaussian::rho(0.0001))
//!             .deliver(|release| writeln!(stdout(), "{release}"));
//!     });
//!     Ok(())
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! The [`guide`] goes from a timely program to a private one in ten steps. [`dataflow`] explains the stages, [`prelude`] brings them into scope, and the budget is created once, by
//! [`Ledger::create`](ledger::Ledger::create).
//!
//! # The modules
//!
//! * [`noise`]: exact integer noise. Its first page gives the reasons for integers.
//! * [`accounting`]: the cost of a release, the composition of costs, and the noise that a budget asks for.
//! * [`mechanisms`]: exact integers of one window in, one noised answer out.
//! * [`ledger`]: the durable record of releases, where a release and its charge are one commit.
//! * [`gate`]: the write path, and the reasons to trust it.
//! * [`dataflow`]: the pipeline, the completeness of windows, and the end of a run; [`dataflow::bounding`]
//!   enforces the contribution bound of one person.
//! * [`audit`]: tests that refute a claim about the privacy of released numbers.
//! * [`fit`]: fitted values beside released ones, made of released and public numbers alone.
//! * [`event`]: events and spans for operators, by audience.
//! * `job`: job files, read exactly and refused at the line of a mistake; with the feature `cli`.
//!
//! Noise and accounting are independent of each other, so the way from one to the other is short and visible:
//!
//! ```
//! use discreet::accounting::{self, Budget};
//! use discreet::noise::{DiscreteLaplace, NoiseDistribution, NoiseSource};
//!
//! let visitors = 296;                                                    // one person moves this by at most 1
//! let price = accounting::DiscreteLaplaceCost::calibrate(&Budget::pure(0.5)?, 1)?;
//! let law = DiscreteLaplace::new(price.scale())?;
//! let published = visitors + law.draw(&mut NoiseSource::from_os()?);
//! println!("{published}, give or take {} nine times in ten", price.interval(0.9)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `cli` (default) builds the `discreet` command. The library alone needs none: `default-features = false`.
//! `postgres` keeps [ledgers on a server](ledger#on-a-server), beside those in files.

#[macro_use]
mod redacted;
#[macro_use]
pub mod event;

pub mod accounting;
#[cfg(feature = "cli")]
pub mod alert;
pub mod audit;
mod canonical;
pub mod dataflow;
mod decimal;
pub mod fit;
pub mod gate;
pub mod guide;
#[cfg(feature = "cli")]
mod http;
mod invalid;
#[cfg(feature = "cli")]
pub mod job;
pub mod ledger;
pub mod mechanisms;
pub mod noise;
#[cfg(feature = "cli")]
mod picture;
pub mod prelude;
#[cfg(all(test, feature = "postgres"))]
#[path = "../tests/kit/server.rs"]
mod server;
pub mod time;
#[cfg(feature = "cli")]
pub mod watch;
mod words;

pub use canonical::Digest;
pub use dataflow::execute;
pub use decimal::Decimal;
pub use invalid::{Invalid, InvalidKind};

/// The examples of the README, compiled and run like every other example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the reference of job files, compiled and run as well.
#[cfg(doctest)]
#[doc = include_str!("../docs/JOBS.md")]
struct Jobs;
