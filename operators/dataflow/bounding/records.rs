//! The three rules that hold records: those without an id, those with one, and those that may be taken back.

use std::marker::PhantomData;

use super::identity::Identity;
use super::measure::Measure;
use super::rule::{Cap, Rule, keep};
use super::selector::ContributionSelector;
use super::spillable::Spillable;

/// A record that is held: the hash that decides its place among the person's records of a key, what decides where
/// places are equal, and what it brought.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldRecord<I, V> {
    hash: u64,
    identity: I,
    value: V,
}

redacted!([I, V] HeldRecord<I, V>);

impl<I: Identity, V: Identity> Spillable for HeldRecord<I, V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        let HeldRecord { hash, identity, value } = self;
        hash.write(bytes);
        identity.write(bytes);
        value.write(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<Self> {
        Some(HeldRecord { hash: u64::read(bytes)?, identity: I::read(bytes)?, value: V::read(bytes)? })
    }
}

impl<I: Ord + Clone, V: Ord + Clone> HeldRecord<I, V> {
    /// The order of selection; equal records may stand for each other.
    fn place(&self, rank: &impl Fn(u64) -> u64) -> (u64, &I, &V) {
        (rank(self.hash), &self.identity, &self.value)
    }

    /// Keeps the first `most` in the order of selection.
    fn shorten(run: &mut [Self], most: u32, rank: impl Fn(u64) -> u64) -> usize {
        let most = most as usize;
        // Who has no more than may count is not ranked.
        if run.len() > most {
            run.select_nth_unstable_by(most, |a, b| a.place(&rank).cmp(&b.place(&rank)));
        }
        run.len().min(most)
    }

    fn sort(run: &mut [Self], rank: impl Fn(u64) -> u64) {
        if run.len() > 1 {
            run.sort_unstable_by(|a, b| a.place(&rank).cmp(&b.place(&rank)));
        }
    }
}

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
    type Held = HeldRecord<(), M::Value>;
    type Share = M::Share;

    #[inline]
    fn hold(&self, _: &ContributionSelector, (hash, value): Self::Value) -> Self::Held {
        // Where two hashes are equal the lower value is kept.
        HeldRecord { hash, identity: (), value }
    }

    fn ranked(&self, held: Self::Held, rank: impl Fn(u64) -> u64) -> Self::Held {
        HeldRecord { hash: rank(held.hash), ..held }
    }

    #[inline]
    fn settle(&self, cap: Cap, run: &mut [Self::Held], rank: impl Fn(u64) -> u64) -> usize {
        HeldRecord::shorten(run, cap.per_key(), rank)
    }

    #[inline]
    fn share(&self, cap: Cap, run: &mut [Self::Held], rank: impl Fn(u64) -> u64) -> M::Share {
        if M::IS_ORDERED {
            HeldRecord::sort(run, rank);
        }
        self.measure.share(cap, run.iter().map(|held| (&held.value, 1)))
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
    type Held = HeldRecord<I, M::Value>;
    type Share = M::Share;
    const HAS_IDS: bool = true;

    fn hold(&self, selector: &ContributionSelector, (identity, value): Self::Value) -> Self::Held {
        HeldRecord { hash: selector.record(&identity), identity, value }
    }

    fn ranked(&self, held: Self::Held, rank: impl Fn(u64) -> u64) -> Self::Held {
        HeldRecord { hash: rank(held.hash), ..held }
    }

    fn settle(&self, cap: Cap, run: &mut [Self::Held], rank: impl Fn(u64) -> u64) -> usize {
        run.sort_unstable();
        let mut last = 0;
        for at in 1..run.len() {
            // The whole id: two that have one hash are two.
            if run[last].identity != run[at].identity {
                last += 1;
                run.swap(last, at);
            }
        }
        let left = run.len().min(last + 1);
        if M::CUTS { HeldRecord::shorten(&mut run[..left], cap.per_key(), rank) } else { left }
    }

    fn disentangle(&self, runs: &mut [(&mut [Self::Held], usize)]) {
        let ids = runs.iter().zip(0..).flat_map(|((run, left), order)| {
            run[..*left].iter().map(move |held| (held.identity.clone(), order))
        });
        let mut ids: Vec<(I, usize)> = ids.collect();
        ids.sort_unstable();
        // Of each id those that are not in the first run that has it.
        let mut later: Vec<(I, usize)> = Vec::new();
        for same in ids.chunk_by(|(a, _), (b, _)| a == b) {
            later.extend_from_slice(&same[1..]);
        }
        if later.is_empty() {
            return;
        }
        for (order, (run, left)) in runs.iter_mut().enumerate() {
            *left = keep(&mut run[..*left], |held| {
                later.binary_search_by(|(id, at)| (id, *at).cmp(&(&held.identity, order))).is_err()
            });
        }
    }

    fn share(&self, cap: Cap, run: &mut [Self::Held], rank: impl Fn(u64) -> u64) -> M::Share {
        if M::IS_ORDERED {
            HeldRecord::sort(run, rank);
        }
        self.measure.share(cap, run.iter().map(|held| (&held.value, 1)))
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
    record: HeldRecord<I, V>,
    // 2^64 changes of 64 bits fit.
    copies: i128,
}

redacted!([I, V] Netted<I, V>);

impl<I: Identity, V: Identity> Spillable for Netted<I, V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.record.store(bytes);
        self.copies.store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<Self> {
        Some(Netted { record: HeldRecord::restore(bytes)?, copies: i128::restore(bytes)? })
    }
}

impl<I: Identity + Ord + Clone, M: Measure> Rule for Net<I, M> {
    type Value = (I, M::Value, i64);
    type Held = Netted<I, M::Value>;
    type Share = M::Share;
    const HOLDS_ALL: bool = true;

    fn hold(&self, selector: &ContributionSelector, (identity, value, change): Self::Value) -> Self::Held {
        let record = HeldRecord { hash: selector.record(&identity), identity, value };
        Netted { record, copies: change.into() }
    }

    fn ranked(&self, held: Self::Held, rank: impl Fn(u64) -> u64) -> Self::Held {
        Netted { record: HeldRecord { hash: rank(held.record.hash), ..held.record }, ..held }
    }

    fn settle(&self, _: Cap, run: &mut [Self::Held], _: impl Fn(u64) -> u64) -> usize {
        run.sort_unstable();
        let mut last = 0;
        for at in 1..run.len() {
            if run[last].record == run[at].record {
                run[last].copies += run[at].copies;
            } else {
                last += 1;
                run.swap(last, at);
            }
        }
        let left = run.len().min(last + 1);
        keep(&mut run[..left], |netted| netted.copies != 0)
    }

    fn cancel(&self, run: &mut [Self::Held]) -> usize {
        keep(run, |netted| netted.copies > 0)
    }

    fn share(&self, cap: Cap, run: &mut [Self::Held], rank: impl Fn(u64) -> u64) -> M::Share {
        // A sum that saturates, and a record of which not all copies count, depend on the order.
        run.sort_unstable_by(|a, b| a.record.place(&rank).cmp(&b.record.place(&rank)));
        self.measure.share(cap, run.iter().map(|netted| (&netted.record.value, netted.copies)))
    }

    fn heap(&self, (identity, value, _): &Self::Value) -> usize {
        identity.heap() + value.heap()
    }

    fn held_heap(&self, held: &Self::Held) -> usize {
        held.record.identity.heap() + held.record.value.heap()
    }
}
