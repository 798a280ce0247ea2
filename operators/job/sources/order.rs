//! Whether lines come by time, though many workers read them at once.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::time::Time;

/// The order of the chunks of a source. Each is compared with those before it as soon as these are known.
#[derive(Debug, Default)]
pub(super) struct Chunks(Mutex<KnownOrder>);

#[derive(Debug, Default)]
struct KnownOrder {
    /// The first chunk that is not done.
    next: u64,
    /// The latest time before it.
    latest: Option<Time>,
    /// That chunk and those after it, as far as they are known.
    later: BTreeMap<u64, OrderedChunk>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OrderedChunk {
    first: Option<Time>,
    last: Option<Time>,
    done: bool,
}

impl Chunks {
    /// The first time of a chunk. Whether everything that is known is in order.
    pub(super) fn begins(&self, chunk: u64, first: Time) -> bool {
        self.told(chunk, |chunk| chunk.first = Some(first))
    }

    /// The end of a chunk, whose own times are in order. Whether everything that is known is.
    pub(super) fn ends(&self, chunk: u64, last: Option<Time>) -> bool {
        self.told(chunk, |chunk| (chunk.last, chunk.done) = (last, true))
    }

    fn told(&self, chunk: u64, tell: impl FnOnce(&mut OrderedChunk)) -> bool {
        // Whoever panicked with the lock has ended the process.
        let Ok(mut known) = self.0.lock() else { return false };
        let KnownOrder { next, latest, later } = &mut *known;
        let told = later.entry(chunk).or_default();
        tell(told);
        // Whatever lies between, it comes after those that are done.
        if told.first.is_some_and(|first| latest.is_some_and(|latest| first < latest)) {
            return false;
        }
        while let Some(chunk) = later.get(next) {
            if chunk.first.is_some_and(|first| latest.is_some_and(|latest| first < latest)) {
                return false;
            }
            if !chunk.done {
                break;
            }
            *latest = chunk.last.or(*latest);
            later.remove(next);
            *next += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_compared_in_their_order_and_not_in_that_of_their_ends() {
        let chunks = Chunks::default();
        assert!(chunks.begins(2, 30) && chunks.ends(2, Some(40)));
        assert!(chunks.ends(1, None), "a chunk may have no times");
        assert!(chunks.begins(0, 10));
        assert!(chunks.ends(0, Some(30)), "equal times are in order");
        assert!(chunks.begins(3, 40));
        assert!(chunks.0.lock().unwrap().later.len() <= 1, "what is compared is forgotten");

        let chunks = Chunks::default();
        assert!(chunks.begins(1, 10) && chunks.ends(1, Some(20)) && chunks.begins(0, 5));
        assert!(!chunks.ends(0, Some(11)), "the second chunk began before the first had ended");

        let chunks = Chunks::default();
        assert!(chunks.ends(0, Some(11)) && !chunks.begins(2, 10), "whatever the chunk between them says");

        let chunks = Chunks::default();
        assert!(chunks.ends(0, Some(11)) && chunks.ends(1, None));
        assert!(!chunks.begins(2, 10), "it is known when a chunk begins");
    }
}
