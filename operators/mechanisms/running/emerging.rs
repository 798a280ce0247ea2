//! Keys that are not public yet: what people have brought to them, and when they have enough people.
//!
//! A key is looked for in spans of `1, 2, 4, ..` ticks, each of which begins where the one before it ends (the nodes of a binary tree): when
//! a span ends, each key that somebody came to in it for the first time has the number of these people noised and compared
//! with a threshold, by a draw of its own. So one that emerges slowly is found by a long span, and one that emerges at once by a short
//! one.
//!
//! A person comes to a key for the first time once, and so is in one span of each length, for each of at most `keys`
//! keys. All noised numbers together are a histogram in which one person is in `keys` times the lengths of cells, by 1 each, and the
//! proof of a single window's [threshold](super::super::threshold) is that of all spans: whether a cell is looked at that
//! somebody has, depends on cells that were told before. Totals have noise of their own.

use std::collections::BTreeMap;

use super::bytes::UnreadBytes;
use crate::mechanisms::keys::Key;
use crate::mechanisms::known::LONGEST;
use crate::mechanisms::tally::Cell;
use crate::mechanisms::threshold::Threshold;
use crate::noise::NoiseSource;

/// What people brought to a key at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickContribution {
    pub(super) tick: u64,
    pub(super) people: u64,
    pub(super) value: i128,
}

/// All keys that somebody has and that are not public, with what was brought to them, the oldest first. Secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Emerging<K>(BTreeMap<K, Vec<TickContribution>>);

impl<K: Key> Emerging<K> {
    pub(super) fn new() -> Emerging<K> {
        Emerging(BTreeMap::new())
    }

    /// Takes in what a tick has brought to keys that are not public.
    pub(super) fn absorb(&mut self, tick: u64, cells: BTreeMap<K, Cell>, value: impl Fn(&Cell) -> i128) {
        for (key, cell) in cells {
            let (people, value) = (cell.people, value(&cell));
            if (people > 0 || value != 0) && key.to_bytes().len() <= LONGEST {
                self.0.entry(key).or_default().push(TickContribution { tick, people, value });
            }
        }
    }

    /// Keys that have enough people in a span that ends with this tick, with their noised numbers, and all that was brought
    /// to them; they are taken out.
    pub(super) fn found(
        &mut self,
        tick: u64,
        lengths: u32,
        threshold: &Threshold,
        noise: &mut NoiseSource,
    ) -> Vec<(i128, K, Vec<TickContribution>)> {
        let mut found = Vec::new();
        for length in 0..lengths.min(tick.trailing_zeros() + 1) {
            let since = tick - (1 << length);
            let people = |brought: &Vec<TickContribution>| -> u64 {
                let in_span = brought.iter().rev().take_while(|brought| brought.tick > since);
                in_span.map(|brought| brought.people).sum()
            };
            let cells = self.0.iter().map(|(key, brought)| (key, people(brought)));
            let cells: Vec<(&K, u64)> = cells.filter(|(_, people)| *people > 0).collect();
            let draws = threshold.noise().draws(cells.len(), noise);
            let noised = cells.iter().zip(draws).map(|((key, people), draw)| {
                let noised = i128::from(*people) + i128::from(draw);
                (noised, (*key).clone())
            });
            let passed: Vec<(i128, K)> = noised.filter(|(noised, _)| threshold.passes(*noised)).collect();
            for (noised, key) in passed {
                let brought = self.0.remove(&key).unwrap_or_default();
                found.push((noised, key, brought));
            }
        }
        found
    }

    /// Forgets what was brought before a tick.
    pub(super) fn forget(&mut self, before: u64) {
        self.0.retain(|_, brought| {
            brought.retain(|brought| brought.tick >= before);
            !brought.is_empty()
        });
    }

    /// Forgets everything: no further key will be public.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend((self.0.len() as u64).to_be_bytes());
        for (key, brought) in &self.0 {
            let key = key.to_bytes();
            // At most LONGEST bytes; and no more ticks than there are.
            bytes.extend((key.len() as u32).to_be_bytes());
            bytes.extend(&key);
            bytes.extend((brought.len() as u64).to_be_bytes());
            for TickContribution { tick, people, value } in brought {
                bytes.extend(tick.to_be_bytes());
                bytes.extend(people.to_be_bytes());
                bytes.extend(value.to_be_bytes());
            }
        }
    }

    /// What was written, of no more ticks than these.
    pub(super) fn read(left: &mut UnreadBytes<'_>, ticks: u64) -> Option<Emerging<K>> {
        let mut keys = BTreeMap::new();
        for _ in 0..left.count()? {
            let length = u32::from_be_bytes(left.array()?) as usize;
            let key = K::from_bytes(left.bytes(length)?)?;
            let mut brought: Vec<TickContribution> = Vec::new();
            for _ in 0..left.count()? {
                let tick = left.count()?;
                let (people, value) = (left.count()?, i128::from_be_bytes(left.array()?));
                if tick > ticks || brought.last().is_some_and(|last| last.tick >= tick) {
                    return None;
                }
                brought.push(TickContribution { tick, people, value });
            }
            if keys.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return None;
            }
            keys.insert(key, brought);
        }
        Some(Emerging(keys))
    }
}
