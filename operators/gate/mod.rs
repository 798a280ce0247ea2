//! The write path: the way in which a release is published once, and paid for before it is published.
//!
//! This page is for the reader who must decide whether to trust it.
//!
//! # The path
//!
//! ```text
//! open     check the library, its settings, the file, every link of the chain and every account since the newest
//!          checkpoint, or all of them; take the fence. The links before it are checked while the gate runs
//! look up  is there a row under this release's name? then its line is the answer, whatever the request says;
//!          if there is none, but one of a later window in this version, the window is skipped
//! draw     once, from a fresh seed; nothing that follows may fail because of the drawn value
//! seal     one transaction: { the fence is this process's; the name is free; the account still has budget;
//!          write the line, the charge and the state of the mechanism, or a refusal that costs nothing }
//! read     the row, back from the ledger
//! anchor   the row is recorded in the anchor, if there is one
//! deliver  these bytes, and no others
//! mark     the row as delivered (before the delivery, where nothing may be delivered twice)
//! ```
//!
//! # Why it keeps its promises
//!
//! Assume that a commit which was reported survives (D1), that transactions which write are serialized (D2),
//! that a name has one row (D3), that only text that was read from a row is delivered (D4), and that nothing
//! which depends on the draw is visible before its row is committed: no log, no retry, no error (D5).
//!
//! * **One release, one value.** Every visible line was read from a row (D4), which never changes and is the
//!   only one of its name (D3). Draws that were not sealed were seen by nobody (D5), so they are no output of
//!   any mechanism.
//! * **No release without its charge.** A row and its charge are one commit, and no statement lowers an
//!   account; so at every moment the accounts cover everything that is visible. A refusal and a tombstone add
//!   nothing that is visible.
//! * **The cap holds for any number of pipelines.** The account is read and written under one lock (D2).
//! * **The distribution of released lines is the mechanism's.** Budgets, fences and crashes decide if a draw
//!   is sealed, and nothing that was drawn does (D5). So the sequence of sealed lines is an adaptive
//!   composition of mechanisms at costs that were public beforehand, which is the setting of the
//!   [filters](crate::accounting).
//! * **A lost answer.** If it is unknown whether a commit took place, the fence is locked, which waits for
//!   the transaction if it still runs, and the row is read by name. If there is none the *same* line is
//!   sealed again. To draw again would be to choose among draws.
//! * **A zombie process** finds the fence taken and writes nothing. Even without the fence it would find the
//!   row and adopt it.
//! * **The state of a mechanism** (the noise of a running total, keys that are public already) advances in
//!   the transaction that seals the release it comes from, or not at all, and from the version that the draw
//!   has read, or not at all. So no part of it is drawn twice. Without its key the job stops: it does not go
//!   on with fresh noise.
//! * **An older copy** of the ledger breaks D1, and no ledger can detect that from its own rows. Lines that
//!   were delivered elsewhere can show it: an anchor, or a file of releases. A gate that finds its ledger
//!   behind does not open; `discreet ledger repair` charges the releases that the anchor or the file records,
//!   and gives up every window that may have been released.
//!
//! The argument is checked: [`Core`] makes every decision and is explored over all orders of two processes,
//! up to three crashes, and lost answers, hundreds of thousands of states in an ordinary test run and
//! millions in `bash .ci/run --full`. Nine shortcuts that look harmless are each found to break it, and two
//! more break a second model, of versions and reservations.
//!
//! # How to use it
//!
//! A [`Gate`] opens a ledger for one job and runs the path on a thread of its own; each statistic has a
//! [`GateHandle`] there, which opens once the ledger agrees to the statistic's parameters and its state could
//! be read. The operator that has a complete window submits a [`ReleaseRequest`], the secret tally together
//! with its mechanism, and goes on; rows come back once they are durable. In a dataflow the stage `release`
//! does all of this: the example `said_once` is killed in the middle of it, and started again.
//!
//! # Who vouches for a cost
//!
//! A gate sees neither statistics nor noise. A [`ReleaseRequest`] states its own charge, and its [`Sealable`]
//! draws its own noise: that the one pays for the other is known to the code that made the request. The stage
//! `release` makes it of a sealed [`Mechanism`](crate::mechanisms::Mechanism), which no other crate can
//! implement, and computes both. No other crate can make a request, apart from a hidden constructor that is
//! named for tests of this library. A row that another program seals in a ledger without a gate
//! ([`Ledger::seal`](crate::ledger::Ledger::seal)) has its author's proof alone; nothing in the ledger can
//! tell.
//!
//! # Answers to queries
//!
//! A release may be one of several answers over a window ([`Release::part`]). A query that is repeated, by
//! anyone and at any later time, is a look-up: it gets the line that the ledger holds and costs nothing, even
//! if the bundle of answers or the budget has been used up since. The bundle is paid for by its first answer,
//! and the number of used answers is the state of its mechanism, so that an answer and the count that
//! includes it are one commit. A request is answered once its row is given out; another request for the same
//! row is answered anew only after the first was [delivered](GateHandle::delivered).
//!
//! # Versions of a job
//!
//! A job is its name and the number of its [version](Opening::version). With the first row of a statistic in a
//! version, or the first resume positions after it was opened, the ledger keeps its parameters, and the same
//! version with others is refused: under their old names its windows would get the old text back, under new ones
//! they would be paid for again, and a typing error should do neither. Until then nothing depends on them, and a run
//! that failed leaves them to be edited. A new version may have any parameters. Both are part of the names of its releases
//! ([`Digest::of_version`]). A refusal names the fields that changed, as far as the
//! [terms](crate::ledger::VersionTerms) name them; `docs/VERSIONS.md` lists the fields of a job file that a
//! version binds. Independently of that, windows of one version are drawn in the order of their ends: one
//! without a row, at or before the end of another that was sealed, refused or lost, is skipped.
//!
//! A new version spends from the same budgets, and finds the state of the old one's mechanisms: state belongs
//! to a statistic, by job and name. The mechanism decides how much of it still holds, and sees the state
//! before it draws; so does the code that opens a handle, [at once](GateHandle::take_memory). A cost that was
//! paid once was paid by that version, and is paid anew. A version that comes back after another has sealed
//! state in its place is refused; and whichever version opens a handle, a reservation pays only while the
//! newest state is its own version's.
//!
//! # Resume positions
//!
//! The places from which a restart reads are written, encrypted, in the transaction that seals windows, the first
//! ones of a run at once, and lag behind what is sealed: a position may be older than it could be, and is never newer. So whatever
//! becomes of a commit, a restart reads again all that an unsettled window may need. They charge nothing and
//! are no link of the chain.
//!
//! # What may be lost
//!
//! Releases, and budget: a line that could not be sealed is charged and never released. Never privacy.
//!
//! [`Digest::of_version`]: crate::ledger::Digest::of_version
//! [`Release::part`]: crate::ledger::ReleaseId::part

mod budgets;
pub(crate) mod change;
mod core;
mod handle;
mod listeners;
#[cfg(test)]
mod model;
mod opening;
mod positions;
mod rekey;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod thread;

pub use budgets::AccountStatus;
pub use core::{CommitOutcome, Core, Delivery, Effect, Event, RowRecord, Uncertainty};
pub(crate) use handle::PastRows;
pub use handle::{Gate, GateHandle};
pub use opening::Opening;
#[cfg(feature = "cli")]
pub(crate) use opening::compare;
#[cfg(feature = "cli")]
pub(crate) use positions::WrittenSince;
#[cfg(feature = "cli")]
pub(crate) use positions::resume_positions;
pub(crate) use positions::version_digest;
pub use positions::{InputReading, Positions, ResumePositions, ResumeUpdate};
pub use rekey::{Rekeyed, rekey};
pub use request::{BudgetStatus, DrawResult, GateEvent, Noted, ReleaseRequest, Sealable};
pub use request::{HaltReason, SkipReason};
pub use state::Memory;
