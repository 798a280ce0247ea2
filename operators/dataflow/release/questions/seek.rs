//! The operator that seeks: every question goes to worker 0, and from there to the gate, which knows whether it was
//! answered before. One that was not goes on to all workers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::clerk::{Posed, QueryAction, QueryAnswering, QuerySequencer, Unanswered};
use super::{AtDesk, seal};
use crate::dataflow::driver::Fed;
use crate::dataflow::engine::{
    Capability, CapacityContainerBuilder, Exchange, Operator, OperatorBuilder, OutputBuilder, Pipeline,
    StreamVec,
};
use crate::dataflow::release::LeavingRelease;
use crate::dataflow::release::desk::ReleaseBackend;
use crate::dataflow::release::operator::Waker;
use crate::ledger::Digest;
use crate::mechanisms::answers::Query;
use crate::time::Time;

/// What becomes of questions at first.
pub(in crate::dataflow) struct Sought<'scope, A> {
    /// Those that must be counted, each for every worker.
    pub(in crate::dataflow) posed: StreamVec<'scope, Time, (u64, Posed)>,
    /// Those that were answered before.
    pub(super) releases: StreamVec<'scope, Time, LeavingRelease>,
    /// Those that cannot be answered.
    pub(in crate::dataflow) unanswered: StreamVec<'scope, Time, Unanswered>,
    /// Of worker 0.
    pub(super) clerk: Option<AtDesk<A>>,
    /// Wakes the operator that seals.
    pub(super) seal: seal::Wakes,
}

/// The times of an answer: of the question on its way to the workers, and of its release.
struct HeldTimes {
    posed: Capability<Time>,
    release: Capability<Time>,
}

/// Seeks questions where their desk is, on worker 0.
pub(in crate::dataflow) fn sought<'scope, A: QueryAnswering>(
    questions: Fed<'scope, Query>,
    at_desk: Option<(A, Box<dyn ReleaseBackend>, Waker)>,
) -> Sought<'scope, A> {
    let Fed { stream, context } = questions;
    let scope = stream.scope();
    let workers = scope.peers();
    // What an input sends waits on this side of an exchange, for more to fill a message with, until its source declares
    // something. What an operator sends leaves at once, and whoever asks may wait for the answer before asking more.
    let stream = stream.unary(Pipeline, "Ask", |_, _| {
        move |input, output| {
            input.for_each(|time, batch| output.session(&time).give_container(batch));
        }
    });
    let mut builder = OperatorBuilder::new("Seek".to_owned(), scope);
    let mut input = builder.new_input(stream, Exchange::new(|_: &Query| 0));
    let (posed, posed_stream) = builder.new_output::<Vec<(u64, Posed)>>();
    let (releases, release_stream) = builder.new_output::<Vec<LeavingRelease>>();
    let (refused, refused_stream) = builder.new_output::<Vec<Unanswered>>();
    let mut posed = OutputBuilder::<_, CapacityContainerBuilder<Vec<(u64, Posed)>>>::from(posed);
    let mut releases = OutputBuilder::<_, CapacityContainerBuilder<Vec<LeavingRelease>>>::from(releases);
    let mut refused = OutputBuilder::<_, CapacityContainerBuilder<Vec<Unanswered>>>::from(refused);

    let address = builder.operator_info().address;
    let clerk = at_desk.map(|(answering, desk, waker)| {
        waker.wakes(scope.worker().sync_activator_for(address.to_vec()));
        Rc::new(RefCell::new(QuerySequencer::new(answering, desk, Arc::clone(&context.shared), workers)))
    });
    let (at_desk, seal) = (clerk.clone(), seal::Wakes::default());
    let wakes = seal.clone();
    builder.build(move |_| {
        let mut held: HashMap<Digest, HeldTimes> = HashMap::new();
        move |_| {
            let Some(clerk) = &at_desk else {
                // Nothing is sent to the other workers.
                return input.for_each(|_, _| {});
            };
            let mut clerk = clerk.borrow_mut();
            let (mut posed, mut releases) = (posed.activate(), releases.activate());
            let mut refused = refused.activate();
            input.for_each(|capability, batch| {
                let Some(given) = capability.least().copied() else { return };
                for question in batch.drain(..) {
                    match clerk.ask(question, given) {
                        Ok(Some((id, time))) => {
                            let (posed, release) =
                                (capability.delayed(&time, 0), capability.delayed(&time, 1));
                            held.insert(id, HeldTimes { posed, release });
                        }
                        Ok(None) => {}
                        Err(unanswered) => refused.session(&capability.delayed(&given, 2)).give(unanswered),
                    }
                }
            });
            clerk.hear();
            while let Some(word) = clerk.for_seeking() {
                match word {
                    QueryAction::Pose(question) => {
                        if let Some(HeldTimes { posed: capability, .. }) = held.remove(&Digest(question.id)) {
                            let everywhere = (0..workers as u64).map(|worker| (worker, question.clone()));
                            posed.session(&capability).give_iterator(everywhere);
                        }
                    }
                    QueryAction::Leave(outcome) => {
                        if let Some(HeldTimes { release, .. }) = held.remove(&outcome.0.release().id()) {
                            releases.session(&release).give(clerk.leaving(*outcome));
                        }
                    }
                    QueryAction::Drop(id) => drop(held.remove(&id)),
                }
            }
            if clerk.has_word_for_sealing() {
                wakes.wake();
            }
        }
    });
    Sought { posed: posed_stream, releases: release_stream, unanswered: refused_stream, clerk, seal }
}
