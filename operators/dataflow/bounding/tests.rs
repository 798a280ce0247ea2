//! What the tests share: random records, a slow oracle, and a table that is fed in some order, in some
//! division.

use std::collections::BTreeMap;

use super::*;

mod invariance;
mod memory;
mod neighbours;
mod oracle;
mod windows;

/// A random sequence, the same every time.
pub(in crate::dataflow) struct Random(u64);

impl Random {
    pub(in crate::dataflow) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(in crate::dataflow) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * limit as u128) >> 64) as usize
    }

    /// Lower ones more often.
    pub(in crate::dataflow) fn skewed(&mut self, limit: usize) -> usize {
        let limit = 1 + self.below(limit);
        self.below(limit)
    }

    pub(in crate::dataflow) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    pub(in crate::dataflow) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Values at which arithmetic may go wrong.
pub(in crate::dataflow) const VALUES: [i64; 8] = [i64::MIN, i64::MAX, -1, 0, 1, 7, -40, 1000];

#[derive(Clone, Debug)]
pub(super) struct Record<P, K> {
    pub(super) person: P,
    pub(super) key: K,
    pub(super) id: u64,
    pub(super) value: i64,
    pub(super) change: i64,
}

/// Some persons have a record or two, others hundreds.
pub(super) fn records<P, K>(
    random: &mut Random,
    person: impl Fn(u64) -> P,
    key: impl Fn(u32) -> K,
) -> Vec<Record<P, K>> {
    let (people, keys) = (1 + random.below(12), 1 + random.below(14));
    (0..random.below(400))
        .map(|offset| Record {
            person: person(random.skewed(people) as u64),
            key: key(random.skewed(keys) as u32),
            id: offset as u64,
            value: random.pick(&VALUES),
            change: 1,
        })
        .collect()
}

pub(super) fn caps(random: &mut Random) -> Cap {
    Cap::new(random.pick(&[1, 2, 3, 5, 20]), random.pick(&[1, 2, 7, 1000])).unwrap()
}

pub(super) fn selector(random: &mut Random) -> ContributionSelector {
    ContributionSelector::new([random.below(256) as u8; 32])
}

/// Gives shuffled records to as many tables as there happen to be, merges them in a random tree, and closes
/// the last.
pub(super) fn tallied<P, K, R, T>(
    random: &mut Random,
    new: impl Fn() -> PersonTable<P, K, R>,
    mut records: Vec<(P, K, R::Value)>,
    mut add: impl FnMut(&mut T, R::Share),
) -> Vec<(K, T)>
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
    R: Rule,
    T: Default,
{
    random.shuffle(&mut records);
    let mut tables: Vec<PersonTable<P, K, R>> = (0..1 + random.below(4)).map(|_| new()).collect();
    for (person, key, value) in records {
        let at = random.below(tables.len());
        tables[at].add(person, &key, value);
    }
    while tables.len() > 1 {
        let from = tables.swap_remove(random.below(tables.len()));
        let into = random.below(tables.len());
        tables[into].merge(&from);
    }
    tables[0].close(|_| true, &mut add)
}

/// Returns the records that count, by the definition: all records of a person, sorted in the order of
/// selection, and cut.
pub(super) fn kept<P: Identity + Ord + Clone, K: Identity + Ord + Clone>(
    selector: &ContributionSelector,
    cap: Cap,
    records: &[Record<P, K>],
) -> BTreeMap<P, BTreeMap<K, Vec<Record<P, K>>>> {
    let mut people: BTreeMap<P, BTreeMap<K, Vec<Record<P, K>>>> = BTreeMap::new();
    for record in records {
        let keys = people.entry(record.person.clone()).or_default();
        keys.entry(record.key.clone()).or_default().push(record.clone());
    }
    for (person, keys) in &mut people {
        let place = |key: &K| (selector.choice(selector.person(person), selector.key(key)), key.clone());
        let mut order: Vec<K> = keys.keys().cloned().collect();
        order.sort_by_key(&place);
        keys.retain(|key, _| order[..order.len().min(cap.keys() as usize)].contains(key));
        for (key, records) in keys {
            let choice = place(key).0;
            records.sort_by_key(|record| {
                (selector.rank(choice, selector.record(&record.id)), record.id, record.value)
            });
        }
    }
    people
}

/// A person, or a key, of which all have one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Twin(pub(super) u32);

impl Identity for Twin {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        self.0.write(sink);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        u32::read(bytes).map(Twin)
    }

    fn mix(&self, _: &StableHasher) -> u64 {
        7
    }
}
