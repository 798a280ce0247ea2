//! Differential collections on the way between a feed and the sentence.

use differential_dataflow::{AsCollection, VecCollection};

use crate::dataflow::driver::Fed;
use crate::dataflow::engine::{Operator, Pipeline};
use crate::time::Time;

impl<'scope, D: 'static> Fed<'scope, (D, isize)> {
    /// What differential operators make of a stream of changes: records with by how much their multiplicity changes, each
    /// at the time that its source had declared when it gave it.
    ///
    /// The changes that come out can be [protected](Fed::protect_collection); they are not complete before what went in is.
    pub fn collection<R: 'static>(
        self,
        operators: impl FnOnce(VecCollection<'scope, Time, D>) -> VecCollection<'scope, Time, R>,
    ) -> Fed<'scope, (R, Time, isize)> {
        self.through(|changes| {
            let timed = changes.unary(Pipeline, "Times", |_, _| {
                move |input, output| {
                    input.for_each(|time, batch| {
                        let Some(at) = time.least().copied() else { return };
                        let changes = batch.drain(..).map(|(record, change)| (record, at, change));
                        output.session(&time).give_iterator(changes);
                    });
                }
            });
            operators(timed.as_collection()).inner
        })
    }
}
