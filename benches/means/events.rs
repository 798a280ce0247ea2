//! Records of several numbers, laid out before any clock starts.

use std::sync::Arc;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use discreet::dataflow::{BATCH, Pulled, Source, SourceError};
use discreet::time::Time;

/// From the start of one window to the start of the next: ten minutes.
pub(crate) const SPAN: Time = 600_000_000;
/// The number of steps in which a source declares a window complete.
const EPOCHS: usize = 10;
/// The range of the numbers: `0..RANGE`.
pub(crate) const RANGE: i64 = 10_000;

/// An event: person, time, and numbers.
#[derive(Clone, Copy)]
pub(crate) struct Event<const D: usize> {
    pub(crate) person: u64,
    pub(crate) time: Time,
    pub(crate) values: [i64; D],
}

/// The events of a window, repeated in every window.
#[derive(Clone)]
pub(crate) struct Events<const D: usize>(Arc<[Event<D>]>);

impl<const D: usize> Events<D> {
    /// One event of each person.
    pub(crate) fn of(people: usize) -> Events<D> {
        let mut random = 88_172_645_463_325_252u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let event = |at: usize| Event {
            person: (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            time: (at / people.div_ceil(EPOCHS)) as Time * (SPAN / EPOCHS as Time),
            values: std::array::from_fn(|_| (next() % RANGE as u64) as i64),
        };
        Events((0..people).map(event).collect())
    }

    pub(crate) fn each(&self) -> &[Event<D>] {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// One worker's part of this many windows.
    pub(crate) fn part(&self, worker: usize, workers: usize, windows: usize) -> Part<D> {
        let epoch = self.len().div_ceil(EPOCHS);
        Part { events: Arc::clone(&self.0), worker, workers, epoch, at: 0, given: 0, end: windows * EPOCHS }
    }
}

/// The events that one worker reads: of each epoch an equal share.
pub(crate) struct Part<const D: usize> {
    events: Arc<[Event<D>]>,
    worker: usize,
    workers: usize,
    epoch: usize,
    at: usize,
    given: usize,
    end: usize,
}

impl<const D: usize> Source for Part<D> {
    type Record = Event<D>;

    fn pull(&mut self, batch: &mut Vec<Event<D>>) -> Result<Pulled, SourceError> {
        if self.at == self.end {
            return Ok(Pulled::End);
        }
        let window = (self.at / EPOCHS) as Time * SPAN;
        let share = self.epoch / self.workers;
        let start = self.at % EPOCHS * self.epoch + self.worker * share;
        let next = (self.given + BATCH).min(share);
        let events = &self.events[start + self.given..start + next];
        batch.extend(events.iter().map(|event| Event { time: window + event.time, ..*event }));
        self.given = next;
        if next < share {
            return Ok(Pulled::More);
        }
        (self.given, self.at) = (0, self.at + 1);
        Ok(Pulled::Complete(self.at as Time * (SPAN / EPOCHS as Time)))
    }
}

impl<const D: usize> Serialize for Event<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = serializer.serialize_seq(Some(D + 2))?;
        numbers.serialize_element(&(self.person as i64))?;
        numbers.serialize_element(&self.time)?;
        self.values.iter().try_for_each(|value| numbers.serialize_element(value))?;
        numbers.end()
    }
}

impl<'de, const D: usize> Deserialize<'de> for Event<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> Result<Self, S::Error> {
        struct Numbers<const D: usize>;
        impl<'de, const D: usize> Visitor<'de> for Numbers<D> {
            type Value = Event<D>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{} numbers", D + 2)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Event<D>, A::Error> {
                let mut next = || numbers.next_element::<i64>()?.ok_or_else(|| Error::custom("too few"));
                let (person, time) = (next()? as u64, next()?);
                let mut values = [0; D];
                for value in &mut values {
                    *value = next()?;
                }
                Ok(Event { person, time, values })
            }
        }
        deserializer.deserialize_seq(Numbers)
    }
}
