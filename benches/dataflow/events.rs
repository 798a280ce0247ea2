//! The events of the benchmark: of 32 bytes, laid out before any clock starts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use discreet::dataflow::{BATCH, Pulled, Source, SourceError};
use discreet::time::Time;

/// The number of windows.
pub(crate) const WINDOWS: usize = 20;
/// The number of events in each of them.
pub(crate) const WINDOW: usize = 500_000;
/// From the start of one window to the start of the next: ten minutes.
pub(crate) const SPAN: Time = 600_000_000;
/// The number of keys; the share of the `n`th is as `1 / n`.
pub(crate) const KEYS: u32 = 1_000;
/// The number of steps in which a window's source declares it complete.
const EPOCHS: usize = 10;
const EPOCH: usize = WINDOW / EPOCHS;

/// An event: its person, key, time and value.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) person: u64,
    pub(crate) time: Time,
    /// Never read, but carried along, as most fields of real records are.
    pub(crate) value: f64,
    pub(crate) key: u32,
}

const _: () = assert!(size_of::<Event>() == 32);

/// All events of a run, in the order of their epochs.
#[derive(Clone)]
pub(crate) struct Events(Arc<[Event]>);

impl Events {
    /// The events of this many people a window, with independent ids of 64 bits.
    pub(crate) fn of(people: u64) -> Events {
        let mut random = Random(88_172_645_463_325_252);
        let total: f64 = (1..=KEYS).map(|rank| 1.0 / f64::from(rank)).sum();
        let mut below = 0.0;
        let limits: Vec<f64> = (1..=KEYS)
            .map(|rank| {
                below += 1.0 / f64::from(rank) / total;
                below
            })
            .collect();
        let mut event = |at: usize| {
            let share = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
            let epoch = (at / EPOCH) as Time * (SPAN / EPOCHS as Time);
            Event {
                person: (random.next() % people).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                time: epoch + (random.next() % (SPAN as u64 / EPOCHS as u64)) as Time,
                value: share,
                key: limits.partition_point(|&limit| limit < share) as u32,
            }
        };
        Events((0..WINDOWS * WINDOW).map(&mut event).collect())
    }

    /// The events of one window.
    pub(crate) fn first_window(&self) -> &[Event] {
        &self.0[..WINDOW]
    }

    /// The number of events.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The part of one of several workers: of each epoch an equal share.
    pub(crate) fn part(&self, worker: usize, workers: usize) -> Part {
        let share = EPOCH / workers;
        Part { events: Arc::clone(&self.0), offset: worker * share, share, epoch: 0, given: 0 }
    }
}

/// One worker's part, which copies a batch at a time.
pub(crate) struct Part {
    events: Arc<[Event]>,
    offset: usize,
    share: usize,
    epoch: usize,
    given: usize,
}

impl Source for Part {
    type Record = Event;

    fn pull(&mut self, batch: &mut Vec<Event>) -> Result<Pulled, SourceError> {
        if self.epoch == WINDOWS * EPOCHS {
            return Ok(Pulled::End);
        }
        let start = self.epoch * EPOCH + self.offset;
        let next = (self.given + BATCH).min(self.share);
        batch.extend_from_slice(&self.events[start + self.given..start + next]);
        self.given = next;
        if next < self.share {
            return Ok(Pulled::More);
        }
        (self.given, self.epoch) = (0, self.epoch + 1);
        Ok(Pulled::Complete(self.epoch as Time * (SPAN / EPOCHS as Time)))
    }
}

/// A random sequence, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
