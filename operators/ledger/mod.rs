//! The durable truth: what was released, what it cost, and what is left.
//!
//! A ledger holds *domains*, each a budget with its promise, and *rows*, one for each release: the line that may leave,
//! what it cost, and how it ended. Line and charge are one commit. A row is written once: asking again, from whichever
//! process, gives back the same bytes and charges nothing.
//!
//! ```
//! use discreet::accounting::{Amount, Cost, Interval, Neighbours, Promise};
//! use discreet::ledger::{Charge, Digest, Domain, Fate, Ledger, Name, Release, Sealing};
//!
//! # let directory = std::env::temp_dir().join(format!("discreet-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("visits.ledger");
//! let visits = Name::new("domain", "visits")?;
//! let mut ledger = Ledger::create(&path)?;
//! ledger.register(&Domain::new(visits.clone(), Neighbours::PERSON, Promise::Lifetime, Amount::zcdp(0.1)?)?)?;
//!
//! let job = Name::new("job", "web")?;
//! let claim = ledger.claim(&job)?;
//! let release = Release {
//!     domain: visits,
//!     job,
//!     version: Digest::of(b"every parameter that privacy depends on"),
//!     name: Name::new("release", "by_path")?,
//!     window: Interval::new(0, 600_000_000)?,
//! };
//! let charge = Some(Charge::Cost(Cost::new(Neighbours::PERSON, Amount::zcdp(0.01)?)));
//! let sealing = Sealing { release, charge, fate: Fate::Sealed, line: "about 1234 people".into(), state: None };
//! let rows = ledger.seal(&claim, &[sealing.clone()])?;
//! assert_eq!(rows[0].line(), "about 1234 people");
//!
//! // Another draw for the same window is never told.
//! let again = ledger.seal(&claim, &[Sealing { line: "about 1229 people".into(), ..sealing }])?;
//! assert_eq!(again[0].line(), "about 1234 people");
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it notices
//!
//! Rows are links of a hash chain, and accounts are sums of rows. Opening a ledger recomputes both: a row that was edited,
//! removed or moved, and an account that is not the sum of its rows, end in [`TroubleKind::Doubt`], before anything is
//! released. The one thing that a ledger cannot notice by itself is an older copy of itself put in its place.

mod anchor;
mod book;
mod canonical;
mod charge;
#[cfg(not(feature = "failpoints"))]
pub(crate) mod failpoint;
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub mod failpoint;
mod journal;
mod key;
mod lines;
mod name;
mod records;
mod rows;
mod sqlite;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod trouble;
mod verify;

pub use anchor::Anchor;
pub use book::{Claim, Ledger, Sealing};
pub use canonical::Digest;
pub use journal::{Entry, Journal};
pub use key::Key;
pub use name::Name;
pub use rows::{Amendment, Charge, Domain, Fate, Release, Repair, Row};
pub use state::State;
pub use trouble::{Trouble, TroubleKind};
