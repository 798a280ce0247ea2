//! The write path: how a release comes to be said once, and paid for before it is said.
//!
//! This page is for the reader who must decide whether to trust it.
//!
//! # The path
//!
//! ```text
//! boot     check the library, its settings, the file, every link of the chain, every account; take the fence
//! look up  is there a row under this release's name? then its line is the answer, whatever is asked now;
//!          if there is none, but one of a later window in this version, the window is skipped
//! draw     once, from a fresh seed; nothing that follows may fail because of what was drawn
//! seal     one transaction: { the fence is mine; the name is free; the promise's account still fits;
//!          write line, charge and what the mechanism keeps, or a refusal that costs nothing }
//! read     the row, back from the ledger
//! note     it in the anchor, where there is one
//! deliver  these bytes, and no others
//! mark     that they were delivered (or before it, where nothing may be delivered twice)
//! ```
//!
//! # Why it keeps its promises
//!
//! Assume that a commit which was reported survives (D1), that transactions which write are one after another
//! (D2), that a name has one row (D3), that only what was read from a row is delivered (D4), and that nothing
//! which depends on the draw is seen before its row is committed: no log, no retry, no error (D5).
//!
//! * **One release, one value.** What is visible was read from a row (D4), which never changes and is the
//!   only one of its name (D3). Draws that were not sealed were seen by nobody (D5), so they are no output of
//!   any mechanism.
//! * **Nothing is said for free.** A row and its charge are one commit, and no statement lowers an account;
//!   so at every moment the accounts cover what is visible. A refusal and a tombstone add nothing that is
//!   visible.
//! * **The cap holds for any number of pipelines.** The account is read and written under one lock (D2).
//! * **The law of what is said is the mechanism's.** Whether a draw is sealed depends on budgets, fences and
//!   crashes, and on nothing that was drawn (D5). So the sequence of sealed lines is an adaptive composition
//!   of mechanisms at prices that were public beforehand, which is what the [filters](crate::accounting) are
//!   about.
//! * **A lost answer.** When nobody knows whether a commit took place, the fence is locked, which waits for
//!   the transaction if it still runs, and the row is read by name. If there is none the *same* line is
//!   sealed again. To draw again would be to choose among draws.
//! * **A zombie** finds the fence taken and writes nothing. Even without the fence it would find the row and
//!   adopt it.
//! * **What a mechanism keeps** (the noise of a running total, keys that are public already) moves on in the
//!   transaction that seals the release it comes from, or not at all, and from the version that the draw has
//!   read, or not at all. So no part of it is drawn twice. Without its key the job stops: it does not go on
//!   with fresh noise.
//! * **An older copy** of the ledger breaks D1, and no ledger can see that by itself. What has been delivered
//!   elsewhere can show it: an anchor, or a file of releases. A gate that finds itself behind does not open;
//!   `discreet ledger repair` charges what the anchor or the file knows, and gives up every window that may
//!   have been told.
//!
//! The argument is checked: [`Core`] holds every decision and is explored over all orders of two processes,
//! up to three crashes, and lost answers, hundreds of thousands of states in an ordinary test run and
//! millions in `bash .ci/run --full`; eleven shortcuts that look harmless are each found to break it.
//!
//! # How to use it
//!
//! A [`Gate`] opens a ledger for one job and runs the path on a thread of its own; each statistic has a
//! [`GateHandle`] there, which opens once the ledger agrees to its parameters and what the statistic kept
//! could be read. Whoever has a complete window hands the desk a [`ReleaseRequest`], the secret sealed up
//! with its mechanism, and goes on; rows come back once they are durable. In a dataflow the word `release`
//! does all of this: the example `said_once` is killed in the middle of it, and started again.
//!
//! # Whose word a price is
//!
//! A gate sees neither statistics nor noise. A [`ReleaseRequest`] states its own charge, and its [`Sealable`]
//! draws its own noise: that the one pays for the other is known to the code that made the request. The word
//! `release` makes it of a sealed [`Mechanism`](crate::mechanisms::Mechanism), which no other crate can
//! implement, and computes both. No other crate can make a request, apart from a hidden constructor that is
//! named for tests of this library. A row that another program seals in a ledger without a gate
//! ([`Ledger::seal`](crate::ledger::Ledger::seal)) has its author's proof alone; nothing in the ledger can
//! tell.
//!
//! # Answers to questions
//!
//! A release may be one of several answers over a window ([`Release::part`]). A question that is asked again,
//! by whomever and after whatever, is a look-up: it gets the line that is there and costs nothing, also where
//! the bundle of answers or the budget is used up since. The bundle is paid for by its first answer, and how
//! many are used is what its mechanism keeps, so that an answer is sealed with the count that it makes true.
//! A request is answered once its row is told; another for the same row is told anew only after the first was
//! [delivered](GateHandle::delivered).
//!
//! # Versions of a job
//!
//! A job is its name and the number of its [version](Opening::version). With which parameters a version first
//! opened a desk is kept in the ledger, and the same version with others is refused: under their old names
//! its windows would get the old text back, under new ones they would be paid for again, and neither is what
//! a slip of the pen should do. A new version may have any parameters. Both are part of the names of its
//! releases ([`Digest::of_version`]). A refusal names the fields that changed, as far as the
//! [terms](crate::ledger::VersionTerms) name them; `docs/VERSIONS.md` lists what a job file binds.
//! Independently of that, windows of one version are drawn in the order of their ends: one without a row, at
//! or before the end of another that was sealed, refused or lost, is skipped.
//!
//! A new version spends from the same budgets, and finds what the old one's mechanisms kept: state is a
//! statistic's, by job and name. What of it still holds is decided by the mechanism, which sees the state
//! before it draws, and whoever opens a desk, [at once](GateHandle::take_memory). What was paid once was paid
//! by that version, and is paid anew. A version that comes back after another has sealed state in its place
//! is refused; and whatever opens a desk, a reservation pays only while the newest state is its own
//! version's.
//!
//! # What may be lost
//!
//! Releases, and budget: a line that could not be sealed is charged and never told. Never privacy.
//!
//! [`Digest::of_version`]: crate::ledger::Digest::of_version
//! [`Release::part`]: crate::ledger::ReleaseId::part

mod core;
mod handle;
#[cfg(test)]
mod model;
mod opening;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod thread;

pub use core::{CommitOutcome, Core, Delivery, Effect, Event, RowRecord, Uncertainty};
pub use handle::{Gate, GateHandle};
pub use opening::Opening;
#[cfg(feature = "cli")]
pub(crate) use opening::compare;
pub use request::HaltReason;
pub use request::{BudgetStatus, DrawResult, GateEvent, Noted, ReleaseRequest, Sealable};
pub use state::Memory;
