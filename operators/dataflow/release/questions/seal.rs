//! The operator that seals: what every worker has counted goes to worker 0, and with the last of it to the gate.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::clerk::{QueryAction, QueryAnswering};
use super::seek::Sought;
use crate::dataflow::driver::Context;
use crate::dataflow::engine::{
    Activator, Capability, CapacityContainerBuilder, Concat, Exchange, OperatorBuilder, OutputBuilder,
    Probing, StreamVec,
};
use crate::dataflow::release::LeavingRelease;
use crate::ledger::Digest;
use crate::mechanisms::answers::MatchedTotals;
use crate::time::Time;

/// Wakes the operator once it is there.
#[derive(Clone, Default)]
pub(super) struct Wakes(Rc<OnceCell<Activator>>);

impl Wakes {
    pub(super) fn wake(&self) {
        if let Some(activator) = self.0.get() {
            activator.activate();
        }
    }
}

/// Releases what was counted, and what was answered before.
pub(in crate::dataflow) fn sealed<'scope, A: QueryAnswering>(
    counted: StreamVec<'scope, Time, ([u8; 32], MatchedTotals)>,
    sought: Sought<'scope, A>,
    context: &Context,
) -> StreamVec<'scope, Time, LeavingRelease> {
    let Sought { releases: before, clerk, seal, .. } = sought;
    let scope = counted.scope();
    let mut builder = OperatorBuilder::new("Seal".to_owned(), scope);
    let mut input = builder.new_input(counted, Exchange::new(|_: &([u8; 32], MatchedTotals)| 0));
    let (releases, stream) = builder.new_output::<Vec<LeavingRelease>>();
    let mut releases = OutputBuilder::<_, CapacityContainerBuilder<Vec<LeavingRelease>>>::from(releases);
    let address = builder.operator_info().address;
    // It was made for this operator.
    let _ = seal.0.set(scope.activator_for(Rc::clone(&address)));

    builder.build(move |mut capabilities| {
        // For what a former process has sealed and not delivered: all of it is told when the desk is opened.
        let mut first = clerk.is_some().then(|| capabilities.pop()).flatten();
        drop(capabilities);
        let mut held: HashMap<Digest, Capability<Time>> = HashMap::new();
        move |_| {
            let Some(clerk) = &clerk else {
                return input.for_each(|_, _| {});
            };
            let mut clerk = clerk.borrow_mut();
            input.for_each(|capability, batch| {
                let Some(own) = capability.retain_least(0) else { return };
                for (id, found) in batch.drain(..) {
                    let id = Digest(id);
                    held.entry(id).or_insert_with(|| own.clone());
                    clerk.count(id, found);
                }
            });
            clerk.hear();
            let mut releases = releases.activate();
            while let Some(word) = clerk.for_sealing() {
                match word {
                    QueryAction::Leave(outcome) => {
                        let own = held.remove(&outcome.0.release().id());
                        if let Some(capability) = own.as_ref().or(first.as_ref()) {
                            releases.session(capability).give(clerk.leaving(*outcome));
                        }
                    }
                    QueryAction::Drop(id) => drop(held.remove(&id)),
                    QueryAction::Pose(_) => {}
                }
            }
            first = None;
        }
    });
    stream.concat(before).probe_with(&context.probe(false))
}
