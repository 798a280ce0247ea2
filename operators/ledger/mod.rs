//! The durable truth: what was released, what it cost, and what is left.
//!
//! A ledger holds *domains*, each a budget with its promise, and *rows*, one for each release: the line that may leave,
//! what it cost, and how it ended. Line and charge are one commit. A row is written once: asking again, from whichever
//! process, gives back the same bytes and charges nothing.
//!
//! ```
//! use discreet::accounting::{PrivacyCost, ReleaseCost, Interval, Adjacency};
//! use discreet::ledger::{Charge, Digest, AccountSpec, ReleaseStatus, Ledger, Name, ReleaseId, Sealing};
//!
//! # let directory = std::env::temp_dir().join(format!("discreet-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("visits.ledger");
//! let visits = AccountSpec::lifetime("visits", PrivacyCost::zcdp(0.1))?;
//! let mut ledger = Ledger::create(&path)?;
//! ledger.register(&visits)?;
//!
//! let job = Name::new("job", "web")?;
//! let claim = ledger.claim(&job)?;
//! let release = ReleaseId {
//!     domain: visits.name().clone(),
//!     job,
//!     version: Digest::of(b"every parameter that privacy depends on"),
//!     name: Name::new("release", "by_path")?,
//!     window: Interval::new(0, 600_000_000)?,
//!     part: None,
//! };
//! let charge = Some(Charge::Cost(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.01)?)));
//! let sealing = Sealing { release, charge, fate: ReleaseStatus::Sealed, line: "about 1234 people".into(), state: None };
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
//! # Several answers over one window
//!
//! A release is a job's statistic over one window, in one version. Where a window has several answers, each is a release of
//! its own, told from the others by its [`part`](ReleaseId::part): a hash of which answer it is, of its name alone and never
//! of what it says. All of them may be [paid for together](Charge::Once), by whichever is sealed first. Every line that
//! the ledger itself writes about such an answer says its part.
//!
//! # What it notices
//!
//! Rows are links of a hash chain, and accounts are sums of rows. Opening a ledger recomputes both: a row that was edited,
//! removed or moved, and an account that is not the sum of its rows, end in [`LedgerErrorKind::Doubt`], before anything is
//! released. The one thing that a ledger cannot notice by itself is an older copy of itself put in its place.
//!
//! Beside them it keeps what moves: fences, what mechanisms have kept, which lines were delivered; and with which parameters
//! each version of a job began ([`Ledger::agree`]), which is bookkeeping and stands in no chain.
//!
//! # On a server
//!
//! With the feature `postgres`, the place of a ledger may also be an address, so that jobs on several machines share it:
//! `postgres://user@host:port/database?ledger=name`. The host is `localhost`, a number of this machine, or a directory
//! of Unix sockets (`postgres://user@/database?host=/run/postgresql&ledger=name`). Each ledger has a schema of its own,
//! called by its name. Everything above means the same there.
//!
//! * **Key.** There is none beside it: make one with [`LedgerKey::create`], and say where it is when a gate is opened. The first
//!   key that is used is the ledger's from then on ([`Ledger::bind`]).
//! * **Password.** From `PGPASSWORD`, the file that `PGPASSFILE` names, or `~/.pgpass`; an address with one is refused.
//! * **Encryption.** There is no TLS here. A server on another machine is reached through a tunnel that ends on this one.
//! * **Server.** A primary of version 14 or later, on Linux, with `fsync` and `full_page_writes`; a single node, or one
//!   with its standby named in `synchronous_standby_names`: to fail over to an asynchronous one rolls the ledger back.
//!   Connect to the server itself: a pooler is refused, whether it hands out sessions by the transaction or not.
//! * **Failover.** It begins a new timeline, as does a restored backup, and what the old server committed alone is lost.
//!   A ledger is in doubt there until it was compared with its anchors and the operator vouches for it, once, by
//!   `&timeline=N` in the address. On a server with another `system_identifier` it is a copy, and stays in doubt.
//! * **Secrets.** Lines reach the server before they are sealed. Its files, its write-ahead log, and its log where it
//!   holds statements with their values (`log_statement` and `log_min_duration_statement`, unless
//!   `log_parameter_max_length` is 0) belong to those who may see secrets.
//! * **Threads.** Use it from an ordinary thread: inside an asynchronous runtime its driver panics.
//!
//! The role that makes a ledger owns it. A job needs no more than this, and can neither raise a cap nor state a domain:
//!
//! ```sql
//! GRANT USAGE ON SCHEMA visits TO job;
//! GRANT SELECT ON ALL TABLES IN SCHEMA visits TO job;
//! GRANT INSERT ON visits.release, visits.account, visits.state, visits.noted, visits.fence, visits.agreed, visits.key_check TO job;
//! GRANT UPDATE (sequence, chain) ON visits.head TO job;
//! GRANT UPDATE (generation) ON visits.fence TO job;
//! GRANT UPDATE (spent, partial) ON visits.account TO job;
//! GRANT UPDATE (version, held) ON visits.state TO job;
//! GRANT UPDATE (delivered) ON visits.release TO job;
//! GRANT DELETE ON visits.noted TO job;
//! ```

mod account;
mod agreement;
mod anchor;
mod book;
mod charge;
#[cfg(feature = "postgres")]
mod copy;
mod error;
#[cfg(not(feature = "failpoints"))]
pub(crate) mod failpoint;
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub mod failpoint;
mod forecast;
mod key;
mod name;
pub(crate) mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod records;
mod repair;
pub(crate) mod rows;
#[cfg(test)]
pub(crate) mod scratch;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;
mod verify;

pub use crate::canonical::Digest;
pub use account::AccountSpec;
pub use agreement::VersionTerms;
#[cfg(test)]
pub(crate) use anchor::in_the_making;
pub use anchor::{Anchor, Published};
pub use anchor::{AnchorEntry, Journal};
pub use book::Ledger;
pub use book::{Claim, Sealing};
pub use charge::Shortfall;
pub use error::{LedgerError, LedgerErrorKind};
pub(crate) use forecast::Pacing;
pub use forecast::{Forecast, Outlook, Pace};
pub use key::LedgerKey;
pub use name::Name;
pub use repair::{AcceptedLoss, Repaired};
pub use rows::{Amendment, Charge, ReleaseId, ReleaseStatus, Repair, Row};
pub use rows::{Note, State};
