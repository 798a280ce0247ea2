//! The table of one pane on one worker: the held records of every person, and the tallies made of them.

use std::sync::Arc;

use super::gather::Gather;
use super::identity::Identity;
use super::key_numbers::KeyNumbers;
use super::measure::{AdditiveRule, Partial};
use super::rule::Cap;
use super::rule::{Keyed, Rule};
use super::selector::ContributionSelector;

/// The records of the persons of one pane, or of one window, on one worker. Prints as `<private>`.
///
/// ```
/// use discreet::dataflow::bounding::{Cap, ContributionSelector, Count, PersonTable};
///
/// let mut table = PersonTable::new(ContributionSelector::new([7; 32]), Cap::new(1, 2)?, Count);
/// for (person, key) in [("ada", "/"), ("ada", "/"), ("ada", "/"), ("bob", "/")] {
///     table.add(person.to_owned(), &key.to_owned(), ());
/// }
/// let counts = table.close(|_| true, |total: &mut u64, records| *total += u64::from(records));
/// assert_eq!(counts, [("/".to_owned(), 3)]);
/// # Ok::<(), discreet::Invalid>(())
/// ```
pub struct PersonTable<P, K, R: Rule> {
    selector: ContributionSelector,
    cap: Cap,
    rule: R,
    names: KeyNumbers<K>,
    /// The number of named keys from which on those that nobody has any more are forgotten.
    names_limit: usize,
    /// One, or [`PARTS`] once there is more than little.
    parts: Vec<PanePart<P, R>>,
    /// The work space, once something was gathered.
    gather: Option<Box<Gather<P, R>>>,
}

/// Below this number of names nobody looks which of them are still needed. In tests few, so that it happens
/// there.
const NAMES: usize = if cfg!(test) { 12 } else { 1 << 16 };

impl<P, K, R> PersonTable<P, K, R>
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
    R: Rule,
{
    /// An empty table.
    pub fn new(selector: ContributionSelector, cap: Cap, rule: R) -> PersonTable<P, K, R> {
        PersonTable {
            cap,
            rule,
            names: KeyNumbers::new(&selector, None),
            selector,
            names_limit: NAMES,
            parts: vec![PanePart::new()],
            gather: None,
        }
    }

    /// Lets nothing in but these keys: what is listed is public, so a record of another key takes no place
    /// from its person's others.
    pub fn only(mut self, keys: Arc<[K]>) -> PersonTable<P, K, R> {
        self.names = KeyNumbers::new(&self.selector, Some(keys));
        self
    }

    /// Takes a record in.
    #[inline]
    pub fn add(&mut self, person: P, key: &K, value: R::Value) {
        let Some(key) = self.names.number(&self.selector, key) else { return };
        self.put(person, key, value);
        if self.names.len() >= self.names_limit {
            self.forget_names();
        }
    }

    /// Takes records in.
    pub fn extend<'a>(&mut self, records: impl IntoIterator<Item = (P, &'a K, R::Value)>)
    where
        K: 'a,
    {
        for (person, key, value) in records {
            self.add(person, key, value);
        }
    }

    #[inline]
    fn put(&mut self, person: P, key: u32, value: R::Value) {
        let hash = self.selector.person(&person);
        // The number of parts is a power of two.
        let last = self.parts.len() - 1;
        let at = part_of(hash) & last;
        let part = &mut self.parts[at];
        part.heap += person.heap() + self.rule.heap(&value);
        part.fresh.push(Fresh { person, slot: slot_of(hash), key, value });
        if last == 0 && part.fresh.len() >= LITTLE {
            self.divide();
        } else if part.is_full() {
            self.settle(at);
        }
    }

    /// Gives each person of the one part a part by its hash.
    #[cold]
    fn divide(&mut self) {
        let PersonTable { selector, rule, parts, .. } = self;
        let one = std::mem::replace(parts, std::iter::repeat_with(PanePart::new).take(PARTS).collect());
        let place = |person: &P| part_of(selector.person(person));
        for PanePart { fresh, brought, rows, held, .. } in one {
            for fresh in fresh {
                let part = &mut parts[place(&fresh.person)];
                part.heap += fresh.person.heap() + rule.heap(&fresh.value);
                part.fresh.push(fresh);
            }
            let mut start = 0;
            let rows = rows.into_iter().flat_map(|row| {
                let own = &held[start..row.end as usize];
                start = row.end as usize;
                own.iter().map(move |keyed| (row.person.clone(), row.slot, keyed.clone())).collect::<Vec<_>>()
            });
            for (person, slot, keyed) in brought.into_iter().chain(rows) {
                let part = &mut parts[place(&person)];
                part.heap += person.heap() + rule.held_heap(&keyed.held);
                part.brought.push((person, slot, keyed));
            }
        }
    }

    /// Takes in all that another table of the same window holds: another pane, or another worker's.
    ///
    /// Both must have been made with one chooser, cap, rule and list of keys. The other one stays as it is.
    pub fn merge(&mut self, other: &PersonTable<P, K, R>) {
        let little = |table: &Self| table.parts.len() == 1 && table.parts[0].things() < LITTLE;
        if self.parts.len() == 1 && !(little(self) && little(other)) {
            self.divide();
        }
        let last = self.parts.len() - 1;
        let place = |person: &P| part_of(self.selector.person(person)) & last;
        let mut numbers = vec![u32::MAX; other.names.len()];
        let mut number = |names: &mut KeyNumbers<K>, theirs: u32| {
            let ours = &mut numbers[theirs as usize];
            if *ours == u32::MAX {
                *ours = names.number(&self.selector, other.names.key(theirs)).unwrap_or(theirs);
            }
            *ours
        };
        for theirs in &other.parts {
            let held =
                theirs.rows().flat_map(|(row, held)| held.iter().map(|keyed| (&row.person, row.slot, keyed)));
            let brought = theirs.brought.iter().map(|(person, slot, keyed)| (person, *slot, keyed));
            for (person, slot, Keyed { key, held }) in held.chain(brought) {
                let key = number(&mut self.names, *key);
                let part = &mut self.parts[place(person)];
                part.heap += person.heap() + self.rule.held_heap(held);
                part.brought.push((person.clone(), slot, Keyed { key, held: held.clone() }));
            }
            for fresh in &theirs.fresh {
                let key = number(&mut self.names, fresh.key);
                let part = &mut self.parts[place(&fresh.person)];
                part.heap += fresh.person.heap() + self.rule.heap(&fresh.value);
                part.fresh.push(Fresh {
                    person: fresh.person.clone(),
                    value: fresh.value.clone(),
                    key,
                    ..*fresh
                });
            }
        }
        for at in 0..self.parts.len() {
            if self.parts[at].is_full() {
                self.settle(at);
            }
        }
        if self.names.len() >= self.names_limit {
            self.forget_names();
        }
    }

    /// Ends the window: cuts every person down to the cap, and adds what is left to the totals of its keys.
    ///
    /// `admit` is asked once for every person of whom something is left, in no particular order, and who is
    /// not admitted does not count. `add` is called once for each of an admitted person's keys, which are at
    /// most `keys`, with what counts there. The totals are in the order of the keys; a key of which nothing
    /// counts is not among them. The table is empty afterwards, and keeps its memory.
    pub fn close<T: Default>(
        &mut self,
        mut admit: impl FnMut(&P) -> bool,
        mut add: impl FnMut(&mut T, R::Share),
    ) -> Vec<(K, T)> {
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(self.names.len(), || None);
        let PersonTable { selector, cap, rule, names, parts, gather, .. } = self;
        let gather = gather.get_or_insert_default();
        for part in parts.iter_mut() {
            gather.close(part, selector, *cap, rule, names, |person, group| {
                if !admit(person) {
                    return;
                }
                for run in group.chunk_by(|a, b| a.key == b.key) {
                    let total = totals[run[0].key as usize].get_or_insert_default();
                    add(total, rule.share(*cap, run));
                }
            });
        }
        self.tallies(totals)
    }

    /// Ends the window as [`close`](PersonTable::close) does, with the keys of each person in the order in
    /// which they are chosen: for what counts only as far as former windows have left something. `add` is
    /// given what would count, and the total of its key, if that has one.
    pub fn close_in_order<T>(
        &mut self,
        mut add: impl FnMut(&P, &K, R::Share, &mut Option<T>),
    ) -> Vec<(K, T)> {
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(self.names.len(), || None);
        let PersonTable { selector, cap, rule, names, parts, gather, .. } = self;
        let gather = gather.get_or_insert_default();
        for part in parts.iter_mut() {
            gather.close(part, selector, *cap, rule, names, |person, group| {
                let place = selector.person(person);
                let mut runs: Vec<_> = group
                    .chunk_by(|a, b| a.key == b.key)
                    .map(|run| (selector.choice(place, names.hash(run[0].key)), run))
                    .collect();
                runs.sort_by(|(a, one), (b, other)| {
                    a.cmp(b).then_with(|| names.key(one[0].key).cmp(names.key(other[0].key)))
                });
                for (_, run) in runs {
                    let key = run[0].key;
                    add(person, names.key(key), rule.share(*cap, run), &mut totals[key as usize]);
                }
            });
        }
        self.tallies(totals)
    }

    /// Totals by their keys, in the order of the keys; what is held is given up.
    fn tallies<T>(&mut self, totals: Vec<Option<T>>) -> Vec<(K, T)> {
        let names = &self.names;
        let mut tallies: Vec<(K, T)> = totals
            .into_iter()
            .enumerate()
            .filter_map(|(number, total)| Some((names.key(number as u32).clone(), total?)))
            .collect();
        tallies.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.clear();
        tallies
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        match &mut self.parts[..] {
            // Of little the next window makes new.
            [one] => (*one, self.gather) = (PanePart::new(), None),
            parts => parts.iter_mut().for_each(PanePart::clear),
        }
        self.names.clear(&self.selector);
        self.names_limit = NAMES;
    }

    /// Chooses by another chooser from now on: a table that is used again, in another window.
    ///
    /// # Panics
    ///
    /// Unless it is empty: what it holds was chosen.
    pub fn choose_by(&mut self, selector: ContributionSelector) {
        assert!(self.parts.iter().all(PanePart::is_empty), "a table in use keeps its chooser");
        self.selector = selector;
        self.names.clear(&self.selector);
    }

    /// Returns the memory that it holds, in bytes: exact for its own allocations; the heap of persons and
    /// values is counted as they come in, and again when they are given up.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.parts.capacity() * size_of::<PanePart<P, R>>()
            + self.parts.iter().map(PanePart::bytes).sum::<usize>()
            + self.gather.as_ref().map_or(0, |gather| size_of::<Gather<P, R>>() + gather.bytes())
            + self.names.bytes()
    }

    fn settle(&mut self, at: usize) {
        let PersonTable { selector, cap, rule, names, parts, gather, .. } = self;
        gather.get_or_insert_default().settle(&mut parts[at], selector, *cap, rule, names);
    }

    /// Somebody's many keys were named; those that were given up since lose their names.
    #[cold]
    fn forget_names(&mut self) {
        for at in 0..self.parts.len() {
            self.settle(at);
        }
        if self.names.listed().is_some() {
            self.names_limit = usize::MAX;
            return;
        }
        let old = std::mem::replace(&mut self.names, KeyNumbers::new(&self.selector, None));
        let mut numbers = vec![u32::MAX; old.len()];
        for part in self.parts.iter_mut() {
            for keyed in &mut part.held {
                let ours = &mut numbers[keyed.key as usize];
                if *ours == u32::MAX {
                    *ours = self.names.number(&self.selector, old.key(keyed.key)).unwrap_or(keyed.key);
                }
                keyed.key = *ours;
            }
        }
        self.names_limit = NAMES.max(2 * self.names.len());
    }
}

impl<P, K, R> PersonTable<P, K, R>
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
    R: AdditiveRule,
{
    /// Ends the window as [`close`](PersonTable::close) does, with totals of people, records and sums.
    pub fn totals(&mut self, admit: impl FnMut(&P) -> bool) -> Vec<(K, Partial)> {
        self.close(admit, |total: &mut Partial, share| total.add(R::partial(share)))
    }
}

redacted!([P, K, R: Rule] PersonTable<P, K, R>);

// A part of a table: the persons whose hash begins alike.

/// The number of parts of a table. Appending to one of 32 places stays within the first-level cache and the
/// table of pages, and the part of a million persons still fits the second level while it is gathered: of 16,
/// 32, 64 and 128 this was the fastest at 10 thousand, 100 thousand and a million people.
pub(super) const PARTS: usize = 32;

/// The number of records up to which a table has one part: many windows of a few records each are open at a time.
/// In tests few, so that tables of either kind meet.
const LITTLE: usize = if cfg!(test) { 6 } else { 256 };

/// So many records of a part wait at least before they are gathered: 8 MB of a table with numbers for
/// persons. With half of it a window of 500 thousand records is gathered twice, which costs a fifth more. In
/// tests few, so that small inputs are gathered many times.
const WAITING: usize = if cfg!(test) { 8 } else { 16_384 };

/// Returns the part of a person: the highest five bits of the hash.
#[inline]
pub(super) fn part_of(hash: u64) -> usize {
    (hash >> 59) as usize
}

/// Returns the bits by which a person is found in a part: none of those that decide the part.
#[inline]
pub(super) fn slot_of(hash: u64) -> u32 {
    (hash >> 16) as u32
}

/// A record as it came.
pub(super) struct Fresh<P, V> {
    pub(super) person: P,
    pub(super) slot: u32,
    pub(super) key: u32,
    pub(super) value: V,
}

/// A person of whom something is held.
pub(super) struct PersonRow<P> {
    pub(super) person: P,
    pub(super) slot: u32,
    /// The end of the person's entries; they begin where those of the row before end.
    pub(super) end: u32,
}

pub(super) struct PanePart<P, R: Rule> {
    pub(super) fresh: Vec<Fresh<P, R::Value>>,
    /// The entries of another table: person, slot, entry.
    pub(super) brought: Vec<(P, u32, Keyed<R::Held>)>,
    pub(super) rows: Vec<PersonRow<P>>,
    pub(super) held: Vec<Keyed<R::Held>>,
    /// The heap of persons and values, beside their own size.
    pub(super) heap: usize,
}

impl<P, R: Rule> PanePart<P, R> {
    pub(super) fn new() -> PanePart<P, R> {
        PanePart { fresh: Vec::new(), brought: Vec::new(), rows: Vec::new(), held: Vec::new(), heap: 0 }
    }

    /// Has as much come as is held? Then gathering costs a constant a record, and memory is at most twice
    /// what is held.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.fresh.len() + self.brought.len() >= WAITING.max(self.held.len())
    }

    /// Each person with what is held.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&PersonRow<P>, &[Keyed<R::Held>])> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let held = &self.held[start..row.end as usize];
            start = row.end as usize;
            (row, held)
        })
    }

    /// The number of records and entries.
    pub(super) fn things(&self) -> usize {
        self.fresh.len() + self.brought.len() + self.held.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.brought.is_empty() && self.rows.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.fresh.clear();
        self.brought.clear();
        self.rows.clear();
        self.held.clear();
        self.heap = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.fresh.capacity() * size_of::<Fresh<P, R::Value>>()
            + self.brought.capacity() * size_of::<(P, u32, Keyed<R::Held>)>()
            + self.rows.capacity() * size_of::<PersonRow<P>>()
            + self.held.capacity() * size_of::<Keyed<R::Held>>()
            + self.heap
    }
}

// What a [`PersonTable`](super::PersonTable) would count of one person in the key that there is but one of,
// without a table: for operators that hold each person's records themselves.

/// Returns the held form of a record.
pub(in crate::dataflow) fn held<P: Identity, R: Rule>(
    rule: &R,
    selector: &ContributionSelector,
    person: &P,
    value: R::Value,
) -> R::Held {
    rule.hold(selector, || selector.choice(selector.person(person), selector.key(&())), value)
}

/// Returns the share of all held records of a person, in any order; nothing if nothing is left.
pub(in crate::dataflow) fn share<R: Rule>(
    rule: &R,
    cap: Cap,
    held: impl IntoIterator<Item = R::Held>,
) -> Option<R::Share> {
    let mut group: Vec<Keyed<R::Held>> = held.into_iter().map(|held| Keyed { key: 0, held }).collect();
    if group.is_empty() {
        return None;
    }
    let left = rule.settle(cap, &mut group);
    let left = rule.cancel(&mut group[..left]);
    (left > 0).then(|| rule.share(cap, &group[..left]))
}
