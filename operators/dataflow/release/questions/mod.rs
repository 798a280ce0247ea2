//! Questions that become rows: looked up, counted where they have none, and sealed.
//!
//! *questions → (worker 0) → gate: look up → known: release; unknown: every worker → what each has counted → (worker 0) →
//! gate: draw, seal, read back → release.* A question that was answered before costs a look-up and no counting.

mod clerk;
mod seal;
mod seek;

use std::cell::RefCell;
use std::rc::Rc;

pub use clerk::Unanswered;
pub(in crate::dataflow) use clerk::{Posed, QueryAnswering};
pub(in crate::dataflow) use seal::sealed;
pub(in crate::dataflow) use seek::sought;

use clerk::QuerySequencer;

/// What both operators of worker 0 know: the one that seeks, and the one that seals.
type AtDesk<A> = Rc<RefCell<QuerySequencer<A>>>;
