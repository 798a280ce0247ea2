//! Streams that are carried from one dataflow of a worker into another one, whose timestamps have another type.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use super::shared::Context;
use crate::dataflow::engine::{
    CapacityContainerBuilder, InputHandle, Operator, Pipeline, Scope, StreamVec, Timestamp, TotalOrder,
};

/// A stream on its way from one dataflow into another one: [`Feeds::carry`](super::Feeds::carry).
///
/// The dataflow that it enters belongs to the pipeline: it ends with it.
pub struct Carried<T: Timestamp, D: Clone + 'static> {
    hold: Rc<RefCell<Hold<T, D>>>,
    context: Rc<Context>,
}

/// The part of the stream that has left the one dataflow, and not entered the other one.
struct Hold<T: Timestamp, D: Clone + 'static> {
    batches: VecDeque<(T, Vec<D>)>,
    /// The time before which nothing more comes; `None` at the end.
    frontier: Option<T>,
    /// The handle of the other dataflow, from the entrance until the end of the stream.
    input: Option<InputHandle<T, CapacityContainerBuilder<Vec<D>>>>,
    has_entered: bool,
    /// True if nobody will take it.
    is_dropped: bool,
}

impl<T: Timestamp, D: Clone + 'static> fmt::Debug for Carried<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carried(<private>)")
    }
}

impl<T: Timestamp + TotalOrder, D: Clone + 'static> Carried<T, D> {
    /// Returns the stream in another dataflow of this worker.
    pub fn enter(self, scope: Scope<'_, T>) -> StreamVec<'_, T, D> {
        self.context.holds(scope);
        let mut hold = self.hold.borrow_mut();
        let mut input = InputHandle::new();
        let stream = input.to_stream(scope);
        hold.input = Some(input);
        hold.has_entered = true;
        stream
    }
}

impl<T: Timestamp, D: Clone + 'static> Drop for Carried<T, D> {
    fn drop(&mut self) {
        let mut hold = self.hold.borrow_mut();
        hold.is_dropped = !hold.has_entered;
    }
}

/// A carried stream as the driver sees it.
pub(crate) trait Carrier {
    /// Sends on what has come.
    fn turn(&mut self);

    /// Returns true if it comes from a dataflow of the program, which the pipeline does not wait for.
    fn comes_from_the_program(&self) -> bool;
}

struct Way<T: Timestamp, D: Clone + 'static> {
    hold: Rc<RefCell<Hold<T, D>>>,
    context: Rc<Context>,
    /// The number of the dataflow that it comes from.
    from: Option<usize>,
}

/// Returns both ends of a way out of this stream's dataflow.
pub(super) fn carry<T: Timestamp + TotalOrder, R: Timestamp + TotalOrder, D: Clone + 'static>(
    stream: StreamVec<'_, T, D>,
    time: impl Fn(&T) -> R + 'static,
    context: Rc<Context>,
) -> (Carried<R, D>, Box<dyn Carrier>) {
    let from = stream.scope().addr().first().copied();
    let hold = Rc::new(RefCell::new(Hold {
        batches: VecDeque::new(),
        frontier: Some(R::minimum()),
        input: None,
        has_entered: false,
        is_dropped: false,
    }));
    let leaving = Rc::clone(&hold);
    stream.sink(Pipeline, "Carried", move |(input, frontier)| {
        let mut hold = leaving.borrow_mut();
        input.for_each(|capability, batch| {
            let batch = std::mem::take(batch);
            if let (Some(least), false) = (capability.least(), hold.is_dropped) {
                hold.batches.push_back((time(least), batch));
            }
        });
        hold.frontier = frontier.frontier().iter().min().map(&time);
    });
    let way = Way { hold: Rc::clone(&hold), context: Rc::clone(&context), from };
    (Carried { hold, context }, Box::new(way))
}

impl<T: Timestamp + TotalOrder, D: Clone + 'static> Carrier for Way<T, D> {
    fn turn(&mut self) {
        let mut hold = self.hold.borrow_mut();
        let Hold { batches, frontier, input, .. } = &mut *hold;
        let Some(entrance) = input else { return };
        for (time, mut batch) in batches.drain(..) {
            // Where `time` decreases, the batch comes at the time that has been reached.
            let time = time.max(entrance.time().clone());
            entrance.advance_to(time);
            entrance.send_batch(&mut batch);
        }
        match frontier {
            Some(frontier) => {
                let frontier = frontier.clone().max(entrance.time().clone());
                entrance.advance_to(frontier);
                // The time may stand still for long.
                entrance.flush();
            }
            None => *input = None,
        }
    }

    fn comes_from_the_program(&self) -> bool {
        !self.from.is_some_and(|from| self.context.dataflows().contains(&from))
    }
}
