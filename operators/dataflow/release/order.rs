//! The order in which windows of several statistics are handed in, where it matters.
//!
//! A promise about any span of time counts a window with those that end before it. So what ends earlier must be charged
//! earlier: a statistic that runs ahead would leave no room for windows of another that fit beside it. Those that keep this order
//! wait for each other, by the ends of their windows and nothing else: a window is handed in once every window that ends
//! before it has its outcome.

use std::cell::RefCell;
use std::rc::Rc;

use crate::dataflow::engine::Activator;
use crate::time::Time;

/// Where each of them stands: the end of its first window without an outcome, until it has no more.
#[derive(Default)]
pub(crate) struct Order {
    ends: RefCell<Vec<Option<Time>>>,
    wakers: RefCell<Vec<Activator>>,
}

/// One statistic's place.
pub(super) struct Place {
    order: Rc<Order>,
    number: usize,
}

impl Place {
    /// The next place, before any window. Whoever has it is woken when others have moved on.
    pub(super) fn new(order: Rc<Order>, waker: Activator) -> Place {
        order.ends.borrow_mut().push(Some(Time::MIN));
        order.wakers.borrow_mut().push(waker);
        let number = order.ends.borrow().len() - 1;
        Place { order, number }
    }

    /// Says where this one stands now.
    pub(super) fn stands_at(&self, end: Option<Time>) {
        let mut ends = self.order.ends.borrow_mut();
        let Some(stands) = ends.get_mut(self.number).filter(|stands| **stands != end) else { return };
        *stands = end;
        self.order.wakers.borrow().iter().for_each(Activator::activate);
    }

    /// Whether nothing that ends before a moment is without its outcome.
    pub(super) fn is_clear_before(&self, end: Time) -> bool {
        self.order.ends.borrow().iter().flatten().all(|stands| *stands >= end)
    }
}
