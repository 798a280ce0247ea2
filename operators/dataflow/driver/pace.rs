//! Back-pressure: how far the other workers are behind with what this one has sent.
//!
//! Queues between workers have no bound of their own. So now and then each worker sends every worker a message, which is
//! sent back once it arrives. Messages arrive in order, and a worker that takes one takes what came before it in the same
//! step; so one that is behind answers late, and whoever feeds it waits. It works the same within and between processes.

use std::cell::RefCell;
use std::rc::Rc;

use crate::dataflow::engine::{CapacityContainerBuilder, Engine, Exchange, InputHandle, Operator, Pipeline};

/// Turns with something to send, between two messages.
const TURNS: u64 = 16;
/// Messages that a worker may leave unanswered: with batches of 1,024 records, about 82,000 of each source; and as many
/// again for each operator that has taken them in its last step and not passed them on.
const UNANSWERED: u64 = 5;

/// From whom, to whom.
type Ping = (usize, usize);

pub(crate) struct ReadPace {
    input: Option<InputHandle<u64, CapacityContainerBuilder<Vec<Ping>>>>,
    answered: Rc<RefCell<Vec<u64>>>,
    worker: usize,
    sent: u64,
    turns: u64,
}

impl ReadPace {
    /// Builds the dataflow that carries the messages; on every worker, after all others.
    pub(crate) fn new(worker: &mut Engine) -> ReadPace {
        let answered = Rc::new(RefCell::new(vec![0; worker.peers()]));
        let count = Rc::clone(&answered);
        let mut input = InputHandle::new();
        worker.dataflow::<u64, _, _>(|scope| {
            type Batches = CapacityContainerBuilder<Vec<Ping>>;
            input
                .to_stream(scope)
                .unary::<Batches, _, _, _>(Exchange::new(|(_, to): &Ping| *to as u64), "Ping", |_, _| {
                    move |input, output| {
                        input.for_each(|time, batch| output.session(&time).give_container(batch));
                    }
                })
                .unary::<Batches, _, _, _>(Exchange::new(|(from, _): &Ping| *from as u64), "Pong", |_, _| {
                    move |input, output| {
                        input.for_each(|time, batch| output.session(&time).give_container(batch));
                    }
                })
                .sink(Pipeline, "Answered", move |(input, _)| {
                    input.for_each(|_, batch| {
                        for (_, by) in batch.drain(..) {
                            count.borrow_mut()[by] += 1;
                        }
                    });
                });
        });
        ReadPace { input: Some(input), answered, worker: worker.index(), sent: 0, turns: 0 }
    }

    /// Whether some worker is so far behind that nothing more should be sent.
    pub(crate) fn is_behind(&self) -> bool {
        self.answered.borrow().iter().any(|answered| self.sent - answered >= UNANSWERED)
    }

    /// Takes note of a turn in which something was sent.
    pub(crate) fn turned(&mut self) {
        self.turns += 1;
        if self.turns.is_multiple_of(TURNS) {
            let Some(input) = &mut self.input else { return };
            let peers = self.answered.borrow().len();
            input.send_batch(&mut (0..peers).map(|to| (self.worker, to)).collect());
            self.sent += 1;
            // Another time, for what was sent to leave at once.
            input.advance_to(self.sent);
        }
    }

    /// Sends nothing more.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }
}
