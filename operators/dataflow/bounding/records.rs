//! The three rules that hold records: those without an id, those with one, and those that may be taken back.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use super::identity::Identity;
use super::measure::Measure;
use super::rule::Cap;
use super::rule::{Keyed, Rule, keep, shorten};
use super::selector::ContributionSelector;

/// A record that is held: its place among the person's records of the key, what decides where places are
/// equal, and what it brought.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankedRecord<I, V> {
    rank: u64,
    identity: I,
    value: V,
}

redacted!([I, V] RankedRecord<I, V>);

/// Holds at most `per_key` records a key, the lowest by a keyed hash. Equal records are different records.
///
/// A record brings a hash of its identity ([`ContributionSelector::record`]) and its value. The hash decides
/// whether it is kept, so an identity that differs from record to record makes a fair choice; a record's own
/// value makes one of which all equal records are part, or none as long as others are lower.
#[derive(Clone, Copy, Debug)]
pub struct KeptRecords<M> {
    measure: M,
}

impl<M> KeptRecords<M> {
    /// This, of records without an id.
    pub const fn new(measure: M) -> KeptRecords<M> {
        KeptRecords { measure }
    }
}

impl<M: Measure> Rule for KeptRecords<M> {
    type Value = (u64, M::Value);
    type Held = RankedRecord<(), M::Value>;
    type Share = M::Share;

    fn hold(
        &self,
        selector: &ContributionSelector,
        choice: impl FnOnce() -> u64,
        (record, value): Self::Value,
    ) -> Self::Held {
        // Where two hashes are equal the lower value is kept, and equal values may stand for each other.
        RankedRecord { rank: selector.rank(choice(), record), identity: (), value }
    }

    fn settle(&self, cap: Cap, group: &mut [Keyed<Self::Held>]) -> usize {
        group.sort_unstable();
        shorten(group, cap.per_key())
    }

    fn share(&self, cap: Cap, run: &[Keyed<Self::Held>]) -> M::Share {
        self.measure.share(cap, run.iter().map(|keyed| (&keyed.held.value, 1)))
    }

    fn heap(&self, (_, value): &Self::Value) -> usize {
        value.heap()
    }

    fn held_heap(&self, held: &Self::Held) -> usize {
        held.value.heap()
    }
}

/// Holds records that have an id, of each person one an id: duplicates count once while the window is open.
///
/// An id is a person's own: another person's record with the same id is another record. Of records of one id
/// that are not equal the one with the least value counts; and where they are in different keys, the one
/// whose key is chosen first.
///
/// A count and values hold at most `per_key` ids a key, for those that were given up are above them for ever,
/// and so are their duplicates. A sum needs every id of a kept key until the window closes. What bounds that
/// is how far its source may run ahead: no id is ever forgotten to make room, for that would let one person
/// decide what counts of another.
#[derive(Debug)]
pub struct Identified<I, M> {
    measure: M,
    ids: PhantomData<fn() -> I>,
}

impl<I, M> Identified<I, M> {
    /// This, of records with an id.
    pub const fn new(measure: M) -> Identified<I, M> {
        Identified { measure, ids: PhantomData }
    }
}

impl<I, M: Clone> Clone for Identified<I, M> {
    fn clone(&self) -> Self {
        Identified::new(self.measure.clone())
    }
}

impl<I: Identity + Ord + Clone, M: Measure> Rule for Identified<I, M> {
    type Value = (I, M::Value);
    type Held = RankedRecord<I, M::Value>;
    type Share = M::Share;

    fn hold(
        &self,
        selector: &ContributionSelector,
        choice: impl FnOnce() -> u64,
        (identity, value): Self::Value,
    ) -> Self::Held {
        RankedRecord { rank: selector.rank(choice(), selector.record(&identity)), identity, value }
    }

    fn settle(&self, cap: Cap, group: &mut [Keyed<Self::Held>]) -> usize {
        group.sort_unstable();
        let mut last = 0;
        for at in 1..group.len() {
            let (before, next) = (&group[last], &group[at]);
            // The whole id: two that have one hash are two.
            if before.key != next.key || before.held.identity != next.held.identity {
                last += 1;
                group.swap(last, at);
            }
        }
        let left = group.len().min(last + 1);
        if M::CUTS { shorten(&mut group[..left], cap.per_key()) } else { left }
    }

    fn disentangle(&self, group: &mut [Keyed<Self::Held>], before: impl Fn(u32, u32) -> bool) -> usize {
        if group.chunk_by(|a, b| a.key == b.key).nth(1).is_none() {
            return group.len();
        }
        let mut ids: Vec<(&I, u32)> = group.iter().map(|keyed| (&keyed.held.identity, keyed.key)).collect();
        ids.sort_unstable_by(|(a, key_a), (b, key_b)| {
            a.cmp(b).then_with(|| before(*key_b, *key_a).cmp(&before(*key_a, *key_b)))
        });
        let second: BTreeSet<(I, u32)> = ids
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| (pair[1].0.clone(), pair[1].1))
            .collect();
        if second.is_empty() {
            return group.len();
        }
        keep(group, |keyed| !second.contains(&(keyed.held.identity.clone(), keyed.key)))
    }

    fn share(&self, cap: Cap, run: &[Keyed<Self::Held>]) -> M::Share {
        self.measure.share(cap, run.iter().map(|keyed| (&keyed.held.value, 1)))
    }

    fn heap(&self, (identity, value): &Self::Value) -> usize {
        identity.heap() + value.heap()
    }

    fn held_heap(&self, held: &Self::Held) -> usize {
        held.identity.heap() + held.value.heap()
    }
}

/// Holds records that may be taken back, as those of a differential collection: each brings its identity, its
/// value and by how much its multiplicity changes.
///
/// Multiplicities are added up for each person and record, and what is not above zero when the window closes
/// does not count; then the bound applies. So everything of a person is held until then: a key that is above
/// the lowest may still be needed when those below it are taken back.
#[derive(Debug)]
pub struct Net<I, M> {
    measure: M,
    records: PhantomData<fn() -> I>,
}

impl<I, M> Net<I, M> {
    /// This, of records that may be taken back.
    pub const fn new(measure: M) -> Net<I, M> {
        Net { measure, records: PhantomData }
    }
}

impl<I, M: Clone> Clone for Net<I, M> {
    fn clone(&self) -> Self {
        Net::new(self.measure.clone())
    }
}

/// A record with its multiplicity so far.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Netted<I, V> {
    record: RankedRecord<I, V>,
    // 2^64 changes of 64 bits fit.
    copies: i128,
}

redacted!([I, V] Netted<I, V>);

impl<I: Identity + Ord + Clone, M: Measure> Rule for Net<I, M> {
    type Value = (I, M::Value, i64);
    type Held = Netted<I, M::Value>;
    type Share = M::Share;
    const HOLDS_ALL: bool = true;

    fn hold(
        &self,
        selector: &ContributionSelector,
        choice: impl FnOnce() -> u64,
        (identity, value, change): Self::Value,
    ) -> Self::Held {
        let rank = selector.rank(choice(), selector.record(&identity));
        Netted { record: RankedRecord { rank, identity, value }, copies: change.into() }
    }

    fn settle(&self, _: Cap, group: &mut [Keyed<Self::Held>]) -> usize {
        group.sort_unstable();
        let mut last = 0;
        for at in 1..group.len() {
            let (before, next) = (&group[last], &group[at]);
            if before.key == next.key && before.held.record == next.held.record {
                group[last].held.copies += group[at].held.copies;
            } else {
                last += 1;
                group.swap(last, at);
            }
        }
        let left = group.len().min(last + 1);
        keep(&mut group[..left], |keyed| keyed.held.copies != 0)
    }

    fn cancel(&self, group: &mut [Keyed<Self::Held>]) -> usize {
        keep(group, |keyed| keyed.held.copies > 0)
    }

    fn share(&self, cap: Cap, run: &[Keyed<Self::Held>]) -> M::Share {
        self.measure.share(cap, run.iter().map(|keyed| (&keyed.held.record.value, keyed.held.copies)))
    }

    fn heap(&self, (identity, value, _): &Self::Value) -> usize {
        identity.heap() + value.heap()
    }

    fn held_heap(&self, held: &Self::Held) -> usize {
        held.record.identity.heap() + held.record.value.heap()
    }
}
