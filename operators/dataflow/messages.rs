//! Messages of a few items: a message takes what its items take.
//!
//! Timely's own builder of messages takes 8 KB for each time, and the parts of each window have a time of
//! their own: of 86,400 windows that closed together, 700 MB waited.

use std::collections::VecDeque;

use super::engine::{ContainerBuilder, LengthPreservingContainerBuilder, PushInto, message_capacity};

/// A builder of messages whose memory grows with their items, up to the size that timely prefers.
pub(crate) struct SmallMessages<T> {
    current: Vec<T>,
    full: VecDeque<Vec<T>>,
    /// The last message that was taken.
    given: Vec<T>,
}

impl<T> Default for SmallMessages<T> {
    fn default() -> Self {
        SmallMessages { current: Vec::new(), full: VecDeque::new(), given: Vec::new() }
    }
}

impl<T> PushInto<T> for SmallMessages<T> {
    #[inline]
    fn push_into(&mut self, item: T) {
        self.current.push(item);
        if self.current.len() >= message_capacity::<T>() {
            self.full.push_back(std::mem::take(&mut self.current));
        }
    }
}

impl<T: 'static> ContainerBuilder for SmallMessages<T> {
    type Container = Vec<T>;

    fn extract(&mut self) -> Option<&mut Vec<T>> {
        self.given = self.full.pop_front()?;
        Some(&mut self.given)
    }

    fn finish(&mut self) -> Option<&mut Vec<T>> {
        if !self.current.is_empty() {
            self.current.shrink_to_fit();
            self.full.push_back(std::mem::take(&mut self.current));
        }
        self.extract()
    }

    fn relax(&mut self) {
        self.given = Vec::new();
    }
}

impl<T: 'static> LengthPreservingContainerBuilder for SmallMessages<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_hold_all_items_in_order_and_take_what_these_take() {
        let most = message_capacity::<u64>();
        for items in [0, 1, 5, most - 1, most, most + 1, 3 * most + 2] {
            let mut builder = SmallMessages::default();
            let mut sent: Vec<Vec<u64>> = Vec::new();
            for item in 0..items as u64 {
                builder.push_into(item);
                while let Some(message) = builder.extract() {
                    sent.push(std::mem::take(message));
                }
            }
            while let Some(message) = builder.finish() {
                sent.push(std::mem::take(message));
            }
            assert!(sent.iter().all(|message| (1..=most).contains(&message.len())), "{items}");
            let taken: usize = sent.iter().map(Vec::capacity).sum();
            assert!(taken < items + 4, "{items} {taken}");
            assert_eq!(sent.concat(), (0..items as u64).collect::<Vec<_>>());
        }
    }
}
