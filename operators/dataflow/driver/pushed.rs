//! An input into which the program pushes its records.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::external::valid_gap;
use super::failure::RunError;
use super::feed::went_back;
use super::shared::ProcessShared;
use super::source::{BATCH, Pulled, Source, SourceError};
use crate::invalid::{Invalid, InvalidKind};
use crate::time::Time;

/// This worker's part of an input, whose records the program pushes as they come: [`Feeds::input`](super::Feeds::input).
///
/// Pushed records wait for the next turn of the driver, and longer while the dataflow is behind:
/// [`waiting`](PushedInput::waiting) says how much. What comes after the end of the pipeline is dropped.
///
/// Dropping it before [`finish`](PushedInput::finish) abandons the input: nothing is completed by that, and the run ends.
pub struct PushedInput<D> {
    queue: Rc<RefCell<Queue<D>>>,
    shared: Arc<ProcessShared>,
}

struct Queue<D> {
    pushed: VecDeque<Push<D>>,
    waiting: usize,
    declared: Time,
    is_finished: bool,
    /// True once the driver takes no more.
    is_closed: bool,
}

impl<D> Queue<D> {
    /// Adds what is no record, unless the driver takes no more.
    fn push(&mut self, push: Push<D>) {
        if !self.is_closed {
            self.pushed.push_back(push);
        }
    }
}

enum Push<D> {
    Records(Vec<D>),
    Complete(Time),
    Gap(Time, Time),
    End,
}

/// Returns an input, and the source that gives what is pushed into it.
pub(super) fn pushed<D>(shared: Arc<ProcessShared>) -> (PushedInput<D>, PushedSource<D>) {
    let queue = Rc::new(RefCell::new(Queue {
        pushed: VecDeque::new(),
        waiting: 0,
        declared: Time::MIN,
        is_finished: false,
        is_closed: false,
    }));
    (PushedInput { queue: Rc::clone(&queue), shared }, PushedSource { queue })
}

impl<D> fmt::Debug for PushedInput<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushedInput(<private>)")
    }
}

impl<D> PushedInput<D> {
    /// Pushes a record.
    pub fn send(&mut self, record: D) {
        self.send_all([record]);
    }

    /// Pushes records.
    pub fn send_all(&mut self, records: impl IntoIterator<Item = D>) {
        for record in records {
            // Borrowed for each, as the iterator may turn the driver.
            let mut queue = self.queue.borrow_mut();
            if queue.is_closed {
                return;
            }
            queue.waiting += 1;
            match queue.pushed.back_mut() {
                Some(Push::Records(batch)) if batch.len() < BATCH => batch.push(record),
                _ => queue.pushed.push_back(Push::Records(vec![record])),
            }
        }
    }

    /// Declares that every record which is in time for a window that closes at or before `time` was pushed. Repeating a
    /// declaration changes nothing.
    ///
    /// # Errors
    ///
    /// If more had been declared before; then the run ends, too.
    pub fn complete(&mut self, time: Time) -> Result<(), Invalid> {
        let mut queue = self.queue.borrow_mut();
        if time < queue.declared {
            self.shared.fail(went_back());
            let remedy = "a time that is not before what was declared";
            return Err(Invalid::new("complete", InvalidKind::TooSmall, remedy));
        }
        if time > queue.declared {
            queue.declared = time;
            queue.push(Push::Complete(time));
        }
        Ok(())
    }

    /// Declares an input gap: what came from `start` to `end` is missing, such as what came while the program was away.
    /// A window that overlaps it and is not complete yet is skipped, at no cost.
    ///
    /// # Errors
    ///
    /// Unless it ends after it starts.
    pub fn gap(&mut self, start: Time, end: Time) -> Result<(), Invalid> {
        valid_gap(start, end)?;
        self.queue.borrow_mut().push(Push::Gap(start, end));
        Ok(())
    }

    /// Returns the number of records that the dataflow has not taken yet.
    pub fn waiting(&self) -> usize {
        self.queue.borrow().waiting
    }

    /// Declares that these were all.
    pub fn finish(self) {
        let mut queue = self.queue.borrow_mut();
        queue.is_finished = true;
        queue.push(Push::End);
    }
}

impl<D> Drop for PushedInput<D> {
    fn drop(&mut self) {
        if !self.queue.borrow().is_finished && !self.shared.is_over() {
            self.shared.fail(RunError::abandoned("an input was left before it was finished"));
        }
    }
}

/// The source of what was pushed.
pub(super) struct PushedSource<D> {
    queue: Rc<RefCell<Queue<D>>>,
}

impl<D: 'static> PushedSource<D> {
    /// Returns a function that says if the program has finished its input.
    pub(super) fn finish_probe(&self) -> Box<dyn Fn() -> bool> {
        let queue = Rc::clone(&self.queue);
        Box::new(move || queue.borrow().is_finished)
    }
}

impl<D: Clone + 'static> Source for PushedSource<D> {
    type Record = D;

    fn pull(&mut self, batch: &mut Vec<D>) -> Result<Pulled, SourceError> {
        let mut queue = self.queue.borrow_mut();
        let mut moved = false;
        loop {
            match queue.pushed.pop_front() {
                Some(Push::Records(mut records)) if batch.len() < BATCH => {
                    queue.waiting -= records.len();
                    batch.append(&mut records);
                    moved = true;
                }
                Some(more @ Push::Records(_)) => {
                    queue.pushed.push_front(more);
                    return Ok(Pulled::More);
                }
                Some(Push::Complete(time)) => return Ok(Pulled::Complete(time)),
                Some(Push::Gap(start, end)) => return Ok(Pulled::Gap(start, end)),
                Some(Push::End) => return Ok(Pulled::End),
                None if moved => return Ok(Pulled::More),
                None => return Ok(Pulled::Idle),
            }
        }
    }
}

impl<D> Drop for PushedSource<D> {
    fn drop(&mut self) {
        let mut queue = self.queue.borrow_mut();
        queue.is_closed = true;
        queue.waiting = 0;
        // Records may hold what borrows the queue when it is dropped.
        let rest = std::mem::take(&mut queue.pushed);
        drop(queue);
        drop(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::driver::Stop;

    fn input() -> (PushedInput<u32>, PushedSource<u32>, Arc<ProcessShared>) {
        let shared = ProcessShared::new(Stop::new(), None, None);
        let (input, source) = pushed(Arc::clone(&shared));
        (input, source, shared)
    }

    fn pull(source: &mut PushedSource<u32>) -> (Vec<u32>, Pulled) {
        let mut batch = Vec::new();
        let pulled = source.pull(&mut batch).unwrap();
        (batch, pulled)
    }

    // Refutes declarations that overtake records, and records that are lost between batches.
    #[test]
    fn what_was_pushed_comes_in_its_order() {
        let (mut input, mut source, shared) = input();
        assert_eq!(pull(&mut source), (vec![], Pulled::Idle));
        input.send_all(0..BATCH as u32 + 3);
        input.complete(10).unwrap();
        input.complete(10).unwrap();
        input.send(7);
        input.gap(12, 14).unwrap();
        assert_eq!(input.waiting(), BATCH + 4);
        assert_eq!(pull(&mut source), ((0..BATCH as u32).collect(), Pulled::More));
        assert_eq!(pull(&mut source), ((BATCH as u32..BATCH as u32 + 3).collect(), Pulled::Complete(10)));
        assert_eq!(input.waiting(), 1);
        assert_eq!(pull(&mut source), (vec![7], Pulled::Gap(12, 14)));
        assert_eq!(pull(&mut source), (vec![], Pulled::Idle));
        input.send(8);
        assert_eq!(pull(&mut source), (vec![8], Pulled::More));
        input.finish();
        assert_eq!(pull(&mut source), (vec![], Pulled::End));
        assert!(!shared.has_failed());
    }

    #[test]
    fn a_declaration_that_goes_back_ends_the_run() {
        let (mut input, _source, shared) = input();
        input.complete(10).unwrap();
        assert_eq!(input.gap(3, 3).unwrap_err().field(), "gap");
        assert!(!shared.has_failed());
        assert_eq!(input.complete(9).unwrap_err().field(), "complete");
        assert!(shared.has_failed());
    }

    // Refutes an input that counts as finished because it was dropped, and one that grows when nobody reads it.
    #[test]
    fn an_input_that_is_dropped_is_abandoned_and_one_that_is_closed_keeps_nothing() {
        let (input, _source, shared) = input();
        drop(input);
        assert!(shared.has_failed());
        let (mut input, source, shared) = self::input();
        input.send(1);
        drop(source);
        input.send(2);
        input.complete(30).unwrap();
        input.gap(1, 2).unwrap();
        assert_eq!((input.waiting(), input.queue.borrow().pushed.len()), (0, 0));
        input.finish();
        assert!(!shared.has_failed());
    }
}
