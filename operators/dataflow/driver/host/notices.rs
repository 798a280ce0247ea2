//! Notices between the workers of a hosted pipeline: each says once how it has ended, and all agree by that.
//!
//! A worker that fails drops its part of the pipeline's dataflows, and reports no progress in them any more; so those who
//! wait for them to end would wait for ever. A worker that has closed its inputs must not drop them, as another one waits for
//! its progress. So both is decided by all: the pipeline has ended once every worker has closed its inputs, and nobody
//! drops anything after that; and as soon as one worker has stopped or failed, all do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::dataflow::engine::{CapacityContainerBuilder, Engine, Exchange, InputHandle, Operator};

/// The end of one worker's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum End {
    /// Every window has its outcome, and the inputs are closed.
    Closed,
    Stopped,
    Failed,
}

/// The end that all workers agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    Closed,
    Stopped,
    /// The worker of this number has failed.
    Failed(usize),
}

/// The worker to whom it goes, the worker that says it, and the end of that one's part.
type Notice = (usize, usize, End);

pub(super) struct Notices {
    /// `None` once this worker has said how it ends.
    input: Option<InputHandle<u64, CapacityContainerBuilder<Vec<Notice>>>>,
    received: Rc<RefCell<BTreeMap<usize, End>>>,
    worker: usize,
    peers: usize,
}

impl Notices {
    /// Builds the dataflow that carries the notices; on every worker, at the same place among its dataflows.
    pub(super) fn new(worker: &mut Engine) -> Notices {
        let received: Rc<RefCell<BTreeMap<usize, End>>> = Rc::default();
        let receiving = Rc::clone(&received);
        let mut input = InputHandle::new();
        worker.dataflow::<u64, _, _>(|scope| {
            let to = Exchange::new(|(to, _, _): &Notice| *to as u64);
            input.to_stream(scope).sink(to, "Notices", move |(input, _)| {
                input.for_each(|_, batch| {
                    receiving.borrow_mut().extend(batch.drain(..).map(|(_, from, end)| (from, end)));
                });
            });
        });
        Notices { input: Some(input), received, worker: worker.index(), peers: worker.peers() }
    }

    /// Says to every worker how this one has ended, once.
    pub(super) fn say(&mut self, end: End) {
        let Some(mut input) = self.input.take() else { return };
        input.send_batch(&mut (0..self.peers).map(|to| (to, self.worker, end)).collect());
        // A new time makes the notices leave at once.
        input.advance_to(1);
    }

    /// Returns true if every worker has said how it ended.
    pub(super) fn are_all_here(&self) -> bool {
        self.received.borrow().len() == self.peers
    }

    /// Returns the end that all workers agree on, once it is known.
    pub(super) fn agreement(&self) -> Option<Agreement> {
        let received = self.received.borrow();
        let (worker, last) = received.iter().max_by_key(|(_, end)| **end)?;
        match last {
            End::Failed => Some(Agreement::Failed(*worker)),
            End::Stopped => Some(Agreement::Stopped),
            End::Closed => (received.len() == self.peers).then_some(Agreement::Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a pipeline that counts as ended before all of its workers have closed their inputs, and a failure that counts
    // for less than a stop.
    #[test]
    fn the_end_needs_every_worker_and_a_failure_only_one() {
        use End::{Closed, Failed, Stopped};
        for (ends, agreement) in [
            (&[][..], None),
            (&[(0, Closed)], None),
            (&[(1, Stopped)], Some(Agreement::Stopped)),
            (&[(0, Closed), (1, Stopped)], Some(Agreement::Stopped)),
            (&[(0, Failed), (1, Stopped)], Some(Agreement::Failed(0))),
            (&[(0, Closed), (1, Failed)], Some(Agreement::Failed(1))),
            (&[(0, Closed), (1, Closed)], Some(Agreement::Closed)),
        ] {
            let received = Rc::new(RefCell::new(ends.iter().copied().collect()));
            let notices = Notices { input: None, received, worker: 0, peers: 2 };
            assert_eq!(notices.agreement(), agreement, "{ends:?}");
        }
    }
}
