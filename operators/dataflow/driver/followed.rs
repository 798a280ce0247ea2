//! A stream of events from outside of the dataflow, whose time is that up to which the inputs of its worker are complete.

use crossbeam_channel::Receiver;

use crate::dataflow::engine::{CapacityContainerBuilder, InputHandle, Scope, StreamVec};
use crate::time::Time;

/// A stream that follows the inputs: it holds nothing of theirs back, and ends with them.
pub(crate) trait Follower {
    /// Sends the events that have come, and advances to the time up to which the inputs are complete.
    fn turn(&mut self, complete: Time);
}

struct Followed<D: Clone + 'static> {
    input: InputHandle<Time, CapacityContainerBuilder<Vec<D>>>,
    events: Option<Receiver<D>>,
}

/// Returns the stream of these events, and its follower.
pub(super) fn follow<D: Clone + 'static>(
    scope: Scope<'_, Time>,
    events: Option<Receiver<D>>,
) -> (StreamVec<'_, Time, D>, Box<dyn Follower>) {
    let mut input = InputHandle::new();
    let stream = input.to_stream(scope);
    (stream, Box::new(Followed { input, events }))
}

impl<D: Clone + 'static> Follower for Followed<D> {
    fn turn(&mut self, complete: Time) {
        self.input.advance_to(complete.max(*self.input.time()));
        let mut events: Vec<D> = self.events.iter().flat_map(Receiver::try_iter).collect();
        if !events.is_empty() {
            self.input.send_batch(&mut events);
            // The time of the stream may stand still for long.
            self.input.flush();
        }
    }
}
