//! The questions of a job: the bundle that answers them, with its price, and the files that they come from.
//!
//! ```text
//! [[ask]] ─▶ price ─▶ plan ──────────────┐
//! file of questions, HTTP ─input─▶ questions ─▶ the pipeline's `answer` ─▶ rows of the ledger ─▶ lines
//! ```
//!
//! A question is public, and so is everything that depends on questions alone. Nothing here sees a record but the function
//! that makes the [row](AskPlan::row) of one.

mod ask_plan;
mod asked_texts;
mod input;
mod price;
mod service;
mod unanswerable;

pub(crate) use ask_plan::{AskPlan, AskedField};
pub(crate) use input::QuestionInput;
pub(crate) use price::AskPrice;
pub use service::{AskOutcome, AskUnavailable, QuestionService};
pub(crate) use unanswerable::AnsweredQuestions;
