//! The write path: each release leaves once, and is charged before it leaves.
//!
//! This page argues why it can be trusted.
//!
//! # The path
//!
//! ```text
//! boot     check the library, its settings, the file, every link of the chain, every account; take the fence
//! look up  a row under this release's name: its line is the answer, for any request;
//!          without one, but with one of a later window in this version, the window is skipped
//! draw     once, from a fresh seed; no later step may fail because of the drawn values
//! seal     one transaction: { the fence is mine; the name is free; the promise's account still fits;
//!          write line, charge and the mechanism's state, or a refusal that costs nothing }
//! read     the row, back from the ledger
//! note     it in the anchor, if there is one
//! deliver  these bytes, and no others
//! mark     the delivery (or before it, if nothing may be delivered twice)
//! ```
//!
//! # Argument
//!
//! Assume that a commit which was reported survives (D1), that transactions which write are one after another
//! (D2), that a name has one row (D3), that only what was read from a row is delivered (D4), and that nothing
//! which depends on the draw is seen before its row is committed: no log, no retry, no error (D5).
//!
//! * **One release, one value.** A visible line was read from a row (D4), which never changes and is the only
//!   one of its name (D3). Nobody saw a draw that was not sealed (D5), so it is no output of any mechanism.
//! * **Nothing is released for free.** A row and its charge are one commit, and no statement lowers an
//!   account; so at every moment the accounts cover all visible lines. A refusal and a skipped window add no
//!   visible value.
//! * **The cap holds for any number of pipelines.** The account is read and written under one lock (D2).
//! * **The distribution of released lines is the mechanism's.** Budgets, fences and crashes decide whether a
//!   draw is sealed, and no drawn value does (D5). So the sequence of sealed lines is an adaptive composition
//!   of mechanisms at costs that were public beforehand, for which the [filters](crate::accounting) hold.
//! * **A commit of unknown outcome.** If it is unknown whether a commit took place, the fence is locked,
//!   which waits for the transaction if it still runs, and the row is read by name. If there is none, the
//!   *same* line is sealed again. To draw again would be to choose among draws.
//! * **A zombie** finds the fence taken and writes nothing. Even without the fence it would find the row and
//!   adopt it.
//! * **The state of a mechanism** (the noise of a running total, keys that are public already) changes in the
//!   transaction that seals its release, or not at all, and from the version that the draw has read, or not
//!   at all. So no part of it is drawn twice. Without its key the job stops: it does not go on with fresh
//!   noise.
//! * **An older copy** of the ledger breaks D1, and no ledger can notice that by itself. A witness elsewhere
//!   can show it: an anchor, or a file of releases. A gate that finds itself behind does not open; `discreet
//!   ledger repair` charges the releases that the anchor or the file shows, and gives up every window that
//!   may have been released.
//!
//! The argument is checked: [`Core`] holds every decision and is explored over all orders of two processes,
//! up to three crashes, and lost answers, hundreds of thousands of states in an ordinary test run and
//! millions in `bash .ci/run --full`; each of eleven shortcuts that look harmless is found to break it.
//!
//! # Use
//!
//! A [`Gate`] opens a ledger for one job and runs the path on a thread of its own; each statistic has a
//! [`GateHandle`], which opens once the ledger agrees to its parameters and the statistic's state could be
//! read. A release operator with a complete window submits a [`ReleaseRequest`], the tally together with its
//! mechanism, and goes on; rows come back once they are durable. In a dataflow the stage `release` does all
//! of this: the example `said_once` is killed in the middle of it, and started again.
//!
//! # Who computes a charge
//!
//! A gate sees neither statistics nor noise. A [`ReleaseRequest`] states its own charge, and its [`Sealable`]
//! draws its own noise: the code that makes the request is responsible for both. The stage `release` makes it
//! of a sealed [`Mechanism`](crate::mechanisms::Mechanism), which no other crate can implement, and computes
//! both. No other crate can make a request, apart from a hidden constructor that is named for tests of this
//! library. A row that another program seals in a ledger without a gate
//! ([`Ledger::seal`](crate::ledger::Ledger::seal)) has its author's proof alone; nothing in the ledger can
//! tell.
//!
//! # Answers to queries
//!
//! A release may be one of several answers over a window ([`Release::part`]). A repeated query, by any
//! analyst and at any time, is a look-up: it gets the existing line and costs nothing, even if the bundle of
//! answers or the budget is used up since. The bundle is paid for by its first answer, and the number of used
//! answers is its mechanism's state, so that an answer is sealed with the count that includes it. A request
//! is answered once its row is released; another for the same row is answered anew only after the first was
//! [delivered](GateHandle::delivered).
//!
//! # Versions of a job
//!
//! A job is its name and the number of its [version](Opening::version). The ledger keeps the parameters with
//! which a version first opened a statistic, and the same version with others is refused: under their old
//! names its windows would get the old text back, under new ones they would be paid for again, and a mistyped
//! parameter should do neither. A new version may have any parameters. Both are part of the names of its
//! releases ([`Digest::of_version`]). A refusal names the fields that changed, as far as the
//! [terms](crate::ledger::VersionTerms) name them; `docs/VERSIONS.md` lists what a job file binds.
//! Independently of that, windows of one version are drawn in the order of their ends: one without a row, at
//! or before the end of another that was sealed, refused or lost, is skipped.
//!
//! A new version spends from the same budgets, and finds the state of the old one's mechanisms: state belongs
//! to a statistic, by job and name. The mechanism decides which part of it still holds, when it reads the
//! state before a draw, and the release operator [when it opens](GateHandle::take_memory). A running total or
//! a bundle that the old version paid for is paid anew. A version that comes back after another has sealed
//! state in its place is refused; and a reservation pays only while the newest state is its own version's.
//!
//! # Possible losses
//!
//! Releases, and budget: a line that could not be sealed is charged and never released. Never privacy.
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
