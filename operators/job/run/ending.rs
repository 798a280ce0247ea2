//! Where every window has an end, so has what a live run reads for them: after it, each process is done by itself, and no
//! process has to tell the others.

use crate::dataflow::{Pulled, Source, SourceError};
use crate::job::offer::ReleasePlan;
use crate::time::{Span, Time};

/// A source that ends once nothing can be in time for any window.
pub(super) struct Ending<S> {
    source: S,
    last: Option<Time>,
}

impl<S> Ending<S> {
    /// Where there is no last moment, what the source says is said.
    pub(super) fn after(last: Option<Time>, source: S) -> Ending<S> {
        Ending { source, last }
    }
}

impl<S: Source> Source for Ending<S> {
    type Record = S::Record;

    fn pull(&mut self, batch: &mut Vec<S::Record>) -> Result<Pulled, SourceError> {
        match self.source.pull(batch)? {
            Pulled::Complete(time) if self.last.is_some_and(|last| time >= last) => Ok(Pulled::End),
            other => Ok(other),
        }
    }
}

/// When the last window of all closes; never where some release has no last one.
pub(super) fn last_close(offers: &[ReleasePlan], late: Option<Span>) -> Option<Time> {
    let late = late.map_or(0, Span::as_microseconds);
    let mut last = None;
    for ReleasePlan { schedule, .. } in offers {
        let number = if schedule.is_bounded() { schedule.count().checked_sub(1)? } else { return None };
        last = last.max(Some(schedule.window(number)?.end().saturating_add(late)));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Says(Vec<Pulled>);

    impl Source for Says {
        type Record = ();

        fn pull(&mut self, _: &mut Vec<()>) -> Result<Pulled, SourceError> {
            Ok(self.0.remove(0))
        }
    }

    // Refutes an end that comes before the last window closes, and one that never comes.
    #[test]
    fn it_ends_when_the_last_window_closes() {
        let says = || Says(vec![Pulled::More, Pulled::Complete(9), Pulled::Idle, Pulled::Complete(10)]);
        let all = |last| {
            let mut source = Ending::after(last, says());
            [(); 4].map(|()| source.pull(&mut Vec::new()).ok())
        };
        let same = [Pulled::More, Pulled::Complete(9), Pulled::Idle].map(Some);
        let [first @ .., last] = all(Some(10));
        assert_eq!((first, last), (same, Some(Pulled::End)));
        let [first @ .., last] = all(None);
        assert_eq!((first, last), (same, Some(Pulled::Complete(10))));
    }
}
