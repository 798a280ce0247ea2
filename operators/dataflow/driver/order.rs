//! The order in which the releases of one input hand their windows to the gate.
//!
//! Each release learns that a window is complete when its worker schedules it. Which of several releases learns it first depends
//! on threads and on how long their records took: without an order, the numbers of a ledger's rows would depend on data. So
//! windows are handed in by the time at which they close (their end and their lateness), and at one time by the names of the
//! releases: a release waits until each other one has handed in what comes before its own next window. All see the same
//! progress of the input, so each comes to its turn by that progress alone, and the first of them waits for none.
//!
//! A release that waits for the end of all inputs comes after all that do not: otherwise they would wait for the end, and the
//! end for them. Releases of different jobs, and of different inputs, have no order among them: an input that stands still
//! does not hold up another one.

use std::cell::RefCell;

use crate::ledger::Name;
use crate::time::Time;

/// The turns of the releases of one input.
#[derive(Default)]
pub(crate) struct SubmissionOrder(RefCell<Vec<OrderEntry>>);

struct OrderEntry {
    job: Name,
    name: Name,
    at_end: bool,
    /// The close of the next window that is handed in; `None` once all were.
    next: Option<Time>,
    waits: bool,
    wake: Box<dyn Fn()>,
}

impl OrderEntry {
    fn comes_before(&self, other: &OrderEntry) -> bool {
        let key = |entry: &OrderEntry| entry.next.map(|next| (entry.at_end, next, entry.name.clone()));
        match (key(self), key(other)) {
            (Some(own), Some(others)) => own < others,
            (own, _) => own.is_some(),
        }
    }
}

impl SubmissionOrder {
    /// Adds a release before anything is handed in, with the close of its first window. `wake` is called when it waited and its
    /// turn has come. Returns its place here.
    pub(crate) fn join(
        &self,
        (job, name): (Name, Name),
        at_end: bool,
        next: Option<Time>,
        wake: Box<dyn Fn()>,
    ) -> usize {
        let mut entries = self.0.borrow_mut();
        entries.push(OrderEntry { job, name, at_end, next, waits: false, wake });
        entries.len() - 1
    }

    /// Says whether a release may hand in its next window, which closes then. One that may not is woken when it may.
    pub(crate) fn is_turn(&self, place: usize, close: Time) -> bool {
        self.advance(place, Some(close));
        let mut entries = self.0.borrow_mut();
        let first = is_first(&entries, place);
        entries[place].waits = !first;
        first
    }

    /// Notes when the next window of a release closes, or that there is none, and wakes the release whose turn has come.
    pub(crate) fn advance(&self, place: usize, next: Option<Time>) {
        let mut entries = self.0.borrow_mut();
        if entries[place].next == next {
            return;
        }
        entries[place].next = next;
        for other in 0..entries.len() {
            if entries[other].waits && is_first(&entries, other) {
                entries[other].waits = false;
                (entries[other].wake)();
            }
        }
    }
}

fn is_first(entries: &[OrderEntry], place: usize) -> bool {
    let own = &entries[place];
    entries.iter().filter(|other| other.job == own.job).all(|other| !other.comes_before(own))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    // Refutes an order by who is ready first, a release that is not woken, and one that waits for what has ended, for another job, or
    // for the end of all inputs while that waits for it.
    #[test]
    fn windows_are_handed_in_by_close_and_name() {
        let order = SubmissionOrder::default();
        let name = |text: &str| Name::new("release", text).unwrap();
        let woken: [Rc<Cell<u32>>; 4] = Default::default();
        let join = |job: &str, text: &str, at_end, next, woken: &Rc<Cell<u32>>| {
            let woken = Rc::clone(woken);
            let wake = Box::new(move || woken.set(woken.get() + 1));
            order.join((name(job), name(text)), at_end, Some(next), wake)
        };
        let b = join("web", "b", false, 10, &woken[0]);
        let a = join("web", "a", false, 10, &woken[1]);
        let other = join("shop", "a", false, 30, &woken[2]);
        let last = join("web", "a_last", true, 5, &woken[3]);
        assert!(order.is_turn(other, 30), "of another job");
        assert!(!order.is_turn(b, 10) && !order.is_turn(last, 5));
        assert!(order.is_turn(a, 10));
        order.advance(a, Some(20));
        assert_eq!(woken[0].get(), 1);
        assert!(order.is_turn(b, 10));
        assert!(!order.is_turn(b, 20), "`a` closes a window at 20, too");
        assert!(order.is_turn(a, 20));
        order.advance(a, None);
        assert_eq!((woken[0].get(), woken[3].get()), (2, 0));
        assert!(order.is_turn(b, 20));
        order.advance(b, None);
        assert_eq!(woken[3].get(), 1);
        assert!(order.is_turn(last, 5));
    }
}
