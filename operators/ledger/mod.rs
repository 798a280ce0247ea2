//! The ledger: the durable record of releases, their privacy costs, and the budgets that remain.
//!
//! A ledger holds budget *accounts*, each a cap with its promise, and *rows*, one for each release: the line
//! that may leave, its privacy cost, and its status. Line and charge are one commit. A row is written once: a
//! repeated request, from any process, returns the same bytes and charges nothing.
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
//!     account: visits.name().clone(),
//!     job,
//!     version: Digest::of(b"every parameter that privacy depends on"),
//!     name: Name::new("release", "by_path")?,
//!     window: Interval::new(0, 600_000_000)?,
//!     part: None,
//! };
//! let charge = Some(Charge::Cost(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.01)?)));
//! let sealing = Sealing { release, charge, status: ReleaseStatus::Sealed, line: "about 1234 people".into(), state: None };
//! let rows = ledger.seal(&claim, &[sealing.clone()])?;
//! assert_eq!(rows[0].line(), "about 1234 people");
//!
//! // Another draw for the same window is never released.
//! let again = ledger.seal(&claim, &[Sealing { line: "about 1229 people".into(), ..sealing }])?;
//! assert_eq!(again[0].line(), "about 1234 people");
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several answers over one window
//!
//! A release is a job's statistic over one window, in one version. Where a window has several answers, each
//! is a release of its own, distinguished from the others by its [`part`](ReleaseId::part): a hash of the
//! answer's name alone, and never of its value. All of them may be [paid for together](Charge::Once), by the
//! first one sealed. Every line that the ledger itself writes about such an answer contains its part.
//!
//! # Verification
//!
//! Rows are links of a hash chain, and accounts are sums of rows. Opening a ledger recomputes both: a row
//! that was edited, removed or moved, and an account that is not the sum of its rows, end in
//! [`LedgerErrorKind::Doubt`], before anything is released. A ledger of many rows is opened with its key from
//! the newest *checkpoint* on ([`Ledger::open_with_key`]), in a time that does not grow with the past; what
//! lies before is verified by the gate while it runs, and by [`Ledger::verify`]. The page of
//! `ledger/checkpoint.rs` argues what is noticed when. The one change that a ledger cannot detect by
//! itself is an older copy of itself put in its place; an [`Anchor`] outside of it can.
//!
//! The rows of windows that are long over may leave for an [`Archive`]: then a verification of the ledger begins
//! at the newest one, and each archive is verified by itself. The page of `ledger/archive.rs` argues why no
//! decision changes.
//!
//! Beside the chain the ledger keeps mutable records: fences, the state of mechanisms, the delivery of lines;
//! and the parameters with which each version of a job began ([`Ledger::agree`]), which are bookkeeping and
//! no link of the chain.
//!
//! # On a server
//!
//! With the feature `postgres`, a ledger may also be given by an address, so that jobs on several machines
//! share it: `postgres://user@host:port/database?ledger=name`. The host is `localhost`, a loopback IP
//! address, or a directory of Unix sockets (`postgres://user@/database?host=/run/postgresql&ledger=name`).
//! Each ledger has a schema of its own, with the ledger's name. Everything above holds there too.
//!
//! * **Key.** A ledger on a server has no key beside it: create one with [`LedgerKey::create`], and give its
//!   path when a gate is opened. The first key that is used is the ledger's from then on ([`Ledger::bind`]).
//! * **Password.** From `PGPASSWORD`, the file that `PGPASSFILE` names, or `~/.pgpass`; an address with one
//!   is refused.
//! * **Encryption.** There is no TLS here. A server on another machine is reached through a tunnel that ends
//!   on this one.
//! * **Server.** A primary of version 14 or later, on Linux, with `fsync` and `full_page_writes`; a single
//!   node, or one with its standby named in `synchronous_standby_names`: to fail over to an asynchronous one
//!   rolls the ledger back. Connect to the server itself: a pooler is refused, whether it hands out sessions
//!   by the transaction or not.
//! * **Failover.** A failover begins a new timeline, as does a restored backup, and commits that the old
//!   server alone had are lost. There the ledger is in doubt until it was compared with its anchors and the
//!   operator vouches for it, once, by `&timeline=N` in the address. On a server with another
//!   `system_identifier` it is a copy, and stays in doubt.
//! * **Secrets.** Lines reach the server before they are sealed. Its files, its write-ahead log, and its log
//!   where it contains statements with their values (`log_statement` and `log_min_duration_statement`, unless
//!   `log_parameter_max_length` is 0) must be accessible only to people who may see secrets.
//! * **Threads.** Use the ledger from an ordinary thread: inside an asynchronous runtime its driver panics.
//!
//! The role that creates a ledger owns it, and alone archives its rows and changes its key. A job needs no more rights than these, which let it neither raise
//! a cap nor state an account:
//!
//! ```sql
//! GRANT USAGE ON SCHEMA visits TO job;
//! GRANT SELECT ON ALL TABLES IN SCHEMA visits TO job;
//! GRANT INSERT ON visits.release, visits.balance, visits.settled, visits.state, visits.noted, visits.position, visits.fence, visits.agreed, visits.key_check, visits.checkpoint TO job;
//! GRANT UPDATE (sequence, chain) ON visits.head TO job;
//! GRANT UPDATE (generation) ON visits.fence TO job;
//! GRANT UPDATE (spent, partial) ON visits.balance TO job;
//! GRANT UPDATE (until) ON visits.settled TO job;
//! GRANT UPDATE (sequence, content, mac) ON visits.checkpoint TO job;
//! GRANT UPDATE (delivered) ON visits.release TO job;
//! GRANT UPDATE (held) ON visits.position TO job;
//! GRANT DELETE ON visits.state, visits.noted, visits.position TO job;
//! ```

mod account;
mod agreement;
mod anchor;
mod archive;
mod balances;
#[cfg(feature = "cli")]
mod beside;
mod book;
mod charge;
mod checkpoint;
#[cfg(feature = "postgres")]
mod copy;
mod due;
mod error;
#[cfg(not(feature = "failpoints"))]
pub(crate) mod failpoint;
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub mod failpoint;
mod forecast;
mod key;
mod key_change;
mod name;
pub(crate) mod place;
mod positions;
#[cfg(feature = "postgres")]
mod postgres;
mod proof;
mod published;
mod records;
mod repair;
pub(crate) mod rows;
#[cfg(test)]
pub(crate) mod scratch;
mod seal;
mod sqlite;
mod states;
mod store;
#[cfg(test)]
mod tests;
mod verify;

pub use crate::canonical::Digest;
pub use account::AccountSpec;
pub use agreement::{Agreement, VersionTerms};
#[cfg(test)]
pub(crate) use anchor::in_the_making;
pub use anchor::{Anchor, Published};
pub use anchor::{AnchorEntry, Journal};
pub(crate) use archive::may_hold;
pub use archive::{Archive, ArchiveOrder, Archived};
#[cfg(feature = "cli")]
pub(crate) use beside::MostPaid;
#[cfg(feature = "cli")]
pub use beside::RefusedWindows;
pub use book::Ledger;
pub use charge::Shortfall;
pub use error::{LedgerError, LedgerErrorKind};
pub(crate) use forecast::Pacing;
pub use forecast::{EndedRelease, Forecast, Outlook, Pace};
pub use key::LedgerKey;
pub(crate) use key::is_given_by_service;
pub(crate) use key_change::SealedPlace;
pub use name::Name;
pub use positions::PositionUpdate;
pub(crate) use records::status_word;
pub use repair::{AcceptedLoss, Repaired};
pub use rows::{Amendment, Charge, ReleaseId, ReleaseStatus, Repair, Row};
pub use seal::{Claim, Sealing};
pub use states::{Note, State};
