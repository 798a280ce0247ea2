//! The keys that are kept of each person of a pane: one choice for every statistic by the same keys.

use std::cmp::Ordering;
use std::sync::Arc;

use super::identity::Identity;
use super::key_numbers::KeyNumbers;
use super::people::{Merged, People, Place};
use super::selector::ContributionSelector;
use super::spillable::{Spillable, restore_ends, restore_length, store_ends, store_number};

/// The keys of one pane by person: a bounded number of each once they are [gathered](KeptKeys::gather). A key of a
/// person is a *run*, in which all that is kept of the person in the key is found.
pub(in crate::dataflow) struct KeptKeys<K> {
    names: KeyNumbers<K>,
    /// The number of named keys from which on those that nobody has any more are forgotten.
    names_limit: usize,
    most: u32,
    /// True if no key is given up before the close.
    holds_all: bool,
    parts: Vec<KeyPart>,
}

#[derive(Default)]
struct KeyPart {
    /// The key of each record that waits; [`NONE`] where it has none here.
    waiting: Vec<u32>,
    /// The keys of the runs: those of each person, and then those that came from another pane.
    runs: Vec<u32>,
    /// The end of each row's runs; they begin where those of the row before end.
    ends: Vec<u32>,
    /// The waiting persons of the runs that came from another pane.
    brought: Vec<u32>,
}

/// No key, or no run.
pub(in crate::dataflow) const NONE: u32 = u32::MAX;

/// Below this number of names nobody looks which of them are still needed. In tests few, so that it happens there.
const NAMES: usize = if cfg!(test) { 12 } else { 1 << 16 };

/// The new places of a part's runs and records: for each former run, and then for each record that waited, its new run,
/// or [`NONE`].
#[derive(Default)]
pub(in crate::dataflow) struct Moves {
    pub(in crate::dataflow) targets: Vec<u32>,
    /// The number of former runs.
    pub(in crate::dataflow) former: usize,
    /// The number of runs from now on.
    pub(in crate::dataflow) runs: usize,
}

/// The new places of what came from one part of another pane.
pub(in crate::dataflow) struct MergedKeys {
    /// The part there.
    pub(in crate::dataflow) part: usize,
    /// The runs there that came, in order, each with its part here.
    pub(in crate::dataflow) runs: Vec<(u32, usize)>,
    /// The part of each waiting record that has a key.
    pub(in crate::dataflow) records: Vec<usize>,
}

/// The work space: nothing in it outlives a call but memory.
#[derive(Default)]
pub(in crate::dataflow) struct KeyWork {
    items: Vec<Item>,
    starts: Vec<u32>,
    keys: Vec<u32>,
    choices: Vec<(u64, u32)>,
    slots: Vec<u32>,
    pub(in crate::dataflow) moves: Moves,
}

/// A run or a record of a person.
#[derive(Clone, Copy, Default)]
struct Item {
    key: u32,
    source: u32,
}

impl<K: Identity + Ord + Clone> KeptKeys<K> {
    pub(in crate::dataflow) fn new(
        selector: &ContributionSelector,
        listed: Option<Arc<[K]>>,
        most: u32,
        holds_all: bool,
    ) -> KeptKeys<K> {
        let names = KeyNumbers::new(selector, listed);
        KeptKeys { names, names_limit: NAMES, most, holds_all, parts: vec![KeyPart::default()] }
    }

    /// The number of a key; none for one that is not listed, where keys are.
    #[inline]
    pub(in crate::dataflow) fn number(&mut self, selector: &ContributionSelector, key: &K) -> Option<u32> {
        self.names.number(selector, key)
    }

    pub(in crate::dataflow) fn names(&self) -> &KeyNumbers<K> {
        &self.names
    }

    /// Adds the key of the last record that waits in a part.
    #[inline]
    pub(in crate::dataflow) fn push(&mut self, part: usize, waiting: usize, key: u32) {
        let keys = &mut self.parts[part].waiting;
        if keys.len() + 1 < waiting {
            keys.resize(waiting - 1, NONE);
        }
        keys.push(key);
    }

    /// The number of runs in a part.
    pub(in crate::dataflow) fn held(&self, part: usize) -> usize {
        self.parts[part].runs.len()
    }

    /// The runs of a row in a part.
    #[inline]
    pub(in crate::dataflow) fn runs(&self, part: usize, row: usize) -> std::ops::Range<usize> {
        let ends = &self.parts[part].ends;
        let end = |row: usize| ends.get(row).map_or(0, |end| *end as usize);
        if row >= ends.len() {
            return 0..0;
        }
        row.checked_sub(1).map_or(0, end)..end(row)
    }

    /// The key of a row that has one, by a part of its hash: keys that differ there differ. [`NONE`] of a row with several.
    #[inline]
    pub(in crate::dataflow) fn only_key(&self, part: usize, row: usize) -> u32 {
        match self.keys(part).get(self.runs(part, row)) {
            Some([key]) => self.names.hash(*key) as u32,
            _ => NONE,
        }
    }

    /// The keys of all runs of a part.
    #[inline]
    pub(in crate::dataflow) fn keys(&self, part: usize) -> &[u32] {
        &self.parts[part].runs
    }

    /// Gives every run and every record of a part its run from now on, and cuts each person down to the keys that may
    /// still count; `moves` has what became of each.
    pub(in crate::dataflow) fn gather<P: Identity + Eq + Clone>(
        &mut self,
        people: &People<P>,
        part: usize,
        work: &mut KeyWork,
    ) {
        self.place(people, part, work);
        let rules = KeyOrder { selector: people.selector(), names: &self.names };
        let KeyPart { runs, ends, waiting, brought } = &mut self.parts[part];
        let KeyWork { items, starts, keys, choices, slots, moves } = work;
        moves.former = runs.len();
        moves.targets.clear();
        moves.targets.resize(items.len(), NONE);
        runs.clear();
        ends.clear();
        waiting.clear();
        brought.clear();
        let most = if self.holds_all { usize::MAX } else { self.most as usize };
        let mut start = 0;
        for (row, &end) in starts.iter().take(people.rows(part)).enumerate() {
            let group = &mut items[start as usize..end as usize];
            start = end;
            let first = runs.len();
            if let [Item { key, source }] = *group {
                runs.push(key);
                moves.targets[source as usize] = first as u32;
            } else {
                slots.clear();
                number_keys(group, keys, slots);
                if keys.len() <= most {
                    runs.extend_from_slice(keys);
                    for (item, slot) in group.iter().zip(slots.iter()) {
                        moves.targets[item.source as usize] = first as u32 + slot;
                    }
                } else {
                    rules.choose(people.person(part, row), keys, most, choices);
                    // The run of each key from now on.
                    let mut run_of = keys.drain(..).collect::<smallvec::SmallVec<[u32; 32]>>();
                    let chosen = &choices[..most];
                    runs.extend(chosen.iter().map(|&(_, at)| run_of[at as usize]));
                    run_of.fill(NONE);
                    for (run, &(_, at)) in chosen.iter().enumerate() {
                        run_of[at as usize] = (first + run) as u32;
                    }
                    for (item, &slot) in group.iter().zip(slots.iter()) {
                        moves.targets[item.source as usize] = run_of[slot as usize];
                    }
                }
            }
            ends.push(runs.len() as u32);
        }
        moves.runs = runs.len();
    }

    /// Sorts the runs and the records of a part by row: `starts` has where each row ends.
    fn place<P: Identity + Eq + Clone>(&self, people: &People<P>, part: usize, work: &mut KeyWork) {
        let KeyPart { waiting, runs, ends, brought } = &self.parts[part];
        let (rows, numbered) = (people.rows(part), people.numbered(part));
        let KeyWork { items, starts, .. } = work;
        starts.clear();
        starts.resize(rows + 1, 0);
        let mut before = 0;
        for (row, end) in ends.iter().enumerate() {
            starts[row + 1] = end - before;
            before = *end;
        }
        for at in brought {
            starts[numbered[*at as usize] as usize + 1] += 1;
        }
        for (key, row) in waiting.iter().zip(numbered) {
            starts[*row as usize + 1] += u32::from(*key != NONE);
        }
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        items.clear();
        items.resize(sum as usize, Item::default());
        // Each row's entry starts where it begins, and is where it ends when all items have their place.
        let mut put = |row: usize, item: Item| {
            let place = &mut starts[row];
            items[*place as usize] = item;
            *place += 1;
        };
        let mut run = 0;
        for (row, end) in ends.iter().enumerate() {
            for source in run..*end {
                put(row, Item { key: runs[source as usize], source });
            }
            run = *end;
        }
        let mut source = run;
        for at in brought {
            put(numbered[*at as usize] as usize, Item { key: runs[source as usize], source });
            source += 1;
        }
        for (&key, &row) in waiting.iter().zip(numbered) {
            if key != NONE {
                put(row as usize, Item { key, source });
                source += 1;
            }
        }
    }

    /// Takes in the keys of another pane, whose persons were [merged](People::merge).
    pub(in crate::dataflow) fn merge<P: Identity + Eq + Clone>(
        &mut self,
        people: &People<P>,
        other: &KeptKeys<K>,
        merged: &[Merged],
    ) -> Vec<MergedKeys> {
        let mut numbers = vec![NONE; other.names.len()];
        let names = &mut self.names;
        let mut number = |theirs: u32| {
            let ours = &mut numbers[theirs as usize];
            if *ours == NONE {
                *ours = names.number(people.selector(), other.names.key(theirs)).unwrap_or(theirs);
            }
            *ours
        };
        let mut went = Vec::with_capacity(merged.len());
        for Merged { part, rows, waiting } in merged {
            let theirs = &other.parts[*part];
            let of_rows = rows.iter().flat_map(|(row, place)| {
                other.runs(*part, *row as usize).map(move |run| (run as u32, *place))
            });
            let first = theirs.ends.last().copied().unwrap_or(0);
            let brought = (first..).zip(&theirs.brought).map(|(run, at)| (run, waiting[*at as usize]));
            let mut runs = Vec::with_capacity(rows.len().max(theirs.brought.len()));
            for (run, Place { part, waiting }) in of_rows.chain(brought) {
                let ours = &mut self.parts[part];
                ours.runs.push(number(theirs.runs[run as usize]));
                ours.brought.push(waiting);
                runs.push((run, part));
            }
            let mut records = Vec::with_capacity(theirs.waiting.len());
            let keyed = theirs.waiting.iter().zip(waiting).filter(|(key, _)| **key != NONE);
            for (key, Place { part, waiting }) in keyed {
                let ours = &mut self.parts[*part].waiting;
                ours.resize(*waiting as usize, NONE);
                ours.push(number(*key));
                records.push(*part);
            }
            went.push(MergedKeys { part: *part, runs, records });
        }
        went
    }

    /// Writes the names of the keys.
    pub(in crate::dataflow) fn write_names(&self, bytes: &mut Vec<u8>) {
        if self.names.listed().is_none() {
            store_number(self.names.len() as u128, bytes);
            (0..self.names.len()).for_each(|number| self.names.key(number as u32).write(bytes));
        }
    }

    /// Writes the keys of a part that was gathered.
    pub(in crate::dataflow) fn write(&self, part: usize, bytes: &mut Vec<u8>) {
        let KeyPart { runs, ends, .. } = &self.parts[part];
        store_ends(ends, bytes);
        runs.iter().for_each(|key| key.store(bytes));
    }

    /// Reads the names of the keys, with the numbers that they had; the keys are of nobody, in this number of parts.
    pub(in crate::dataflow) fn read_names(
        &mut self,
        selector: &ContributionSelector,
        parts: usize,
        bytes: &mut &[u8],
    ) -> Option<()> {
        self.clear(selector);
        self.parts = std::iter::repeat_with(KeyPart::default).take(parts).collect();
        if self.names.listed().is_none() {
            let length = restore_length(bytes)?;
            for number in 0..length {
                let named = self.names.number(selector, &K::read(bytes)?)?;
                if named as usize != number {
                    return None;
                }
            }
            self.names_limit = NAMES.max(2 * length);
        }
        Some(())
    }

    /// Reads the keys of this number of rows into an empty part.
    pub(in crate::dataflow) fn read(&mut self, part: usize, rows: usize, bytes: &mut &[u8]) -> Option<()> {
        let names = self.names.len() as u32;
        let KeyPart { runs, ends, .. } = self.parts.get_mut(part)?;
        *ends = restore_ends(bytes, rows)?;
        let length = ends.last().map_or(0, |end| *end as usize);
        if length > bytes.len() {
            return None;
        }
        runs.reserve_exact(length);
        for _ in 0..length {
            runs.push(u32::restore(bytes).filter(|key| *key < names)?);
        }
        Some(())
    }

    /// The same of nobody, in as many parts as there ever are.
    pub(in crate::dataflow) fn divided(&self, parts: usize) -> KeptKeys<K> {
        let parts = std::iter::repeat_with(KeyPart::default).take(parts).collect();
        KeptKeys { names: self.names.clone(), parts, ..*self }
    }

    /// Returns true if somebody's many keys were named, so that all should be gathered and those that were given up
    /// [forgotten](KeptKeys::forget_names).
    #[inline]
    pub(in crate::dataflow) fn has_many_names(&self) -> bool {
        self.names.len() >= self.names_limit
    }

    /// Forgets the names of keys that nobody has. All must have been gathered.
    #[cold]
    pub(in crate::dataflow) fn forget_names(&mut self, selector: &ContributionSelector) {
        if self.names.listed().is_some() {
            self.names_limit = usize::MAX;
            return;
        }
        let old = std::mem::replace(&mut self.names, KeyNumbers::new(selector, None));
        let mut numbers = vec![NONE; old.len()];
        for key in self.parts.iter_mut().flat_map(|part| &mut part.runs) {
            let ours = &mut numbers[*key as usize];
            if *ours == NONE {
                *ours = self.names.number(selector, old.key(*key)).unwrap_or(*key);
            }
            *key = *ours;
        }
        self.names_limit = NAMES.max(2 * self.names.len());
    }

    /// Leaves the first keys of a person in the order of choice, in that order; all of them, if `most` is as many.
    pub(in crate::dataflow) fn in_order<P: Identity, T>(
        &self,
        selector: &ContributionSelector,
        person: &P,
        things: &mut Vec<T>,
        key: impl Fn(&T) -> u32,
    ) {
        let rules = KeyOrder { selector, names: &self.names };
        let place = selector.person(person);
        things.sort_by(|a, b| rules.compare(rules.place(place, key(a)), rules.place(place, key(b))));
        things.truncate(self.most as usize);
    }

    pub(in crate::dataflow) fn most(&self) -> u32 {
        self.most
    }

    /// The choice of a key by a person, for the ranks of records in it.
    #[inline]
    pub(in crate::dataflow) fn choice(&self, selector: &ContributionSelector, person: u64, key: u32) -> u64 {
        selector.choice(person, self.names.hash(key))
    }

    /// Returns totals by their keys, in the order of the keys.
    pub(in crate::dataflow) fn tallies<T>(&self, totals: Vec<Option<T>>) -> Vec<(K, T)> {
        let totals = totals.into_iter().zip(0..);
        let mut tallies: Vec<(K, T)> =
            totals.filter_map(|(total, key)| Some((self.names.key(key).clone(), total?))).collect();
        tallies.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        tallies
    }

    /// Forgets everything but its memory; hashes are this chooser's from now on.
    pub(in crate::dataflow) fn clear(&mut self, selector: &ContributionSelector) {
        match &mut self.parts[..] {
            [one] => *one = KeyPart::default(),
            parts => parts.iter_mut().for_each(KeyPart::clear),
        }
        self.names.clear(selector);
        self.names_limit = NAMES;
    }

    pub(in crate::dataflow) fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<KeyPart>()
            + self.parts.iter().map(KeyPart::bytes).sum::<usize>()
            + self.names.bytes()
    }
}

impl KeyPart {
    fn clear(&mut self) {
        self.waiting.clear();
        self.runs.clear();
        self.ends.clear();
        self.brought.clear();
    }

    fn bytes(&self) -> usize {
        let numbers = [&self.waiting, &self.runs, &self.ends, &self.brought];
        numbers.iter().map(|numbers| numbers.capacity() * size_of::<u32>()).sum()
    }
}

impl KeyWork {
    pub(in crate::dataflow) fn bytes(&self) -> usize {
        let numbers = [&self.starts, &self.keys, &self.slots, &self.moves.targets];
        numbers.iter().map(|numbers| numbers.capacity() * size_of::<u32>()).sum::<usize>()
            + self.items.capacity() * size_of::<Item>()
            + self.choices.capacity() * size_of::<(u64, u32)>()
    }
}

/// Lists the keys of a person's items once each, and the place of each item's key in the list.
#[inline]
fn number_keys(group: &mut [Item], keys: &mut Vec<u32>, slots: &mut Vec<u32>) {
    keys.clear();
    // Most groups are short. What costs there is a branch that is guessed wrong, so this looks at all keys
    // seen so far and branches once a record, where a sort would do so several times.
    let short = group.len() <= 16;
    if !short {
        group.sort_unstable_by_key(|item| item.key);
    }
    for item in group.iter() {
        let first = if short { 0 } else { keys.len().saturating_sub(1) };
        let mut slot = NONE;
        for (seen, key) in keys.iter().enumerate().skip(first) {
            slot = if *key == item.key { seen as u32 } else { slot };
        }
        if slot == NONE {
            slot = keys.len() as u32;
            keys.push(item.key);
        }
        slots.push(slot);
    }
}

/// The order in which the keys of a person are chosen.
struct KeyOrder<'a, K> {
    selector: &'a ContributionSelector,
    names: &'a KeyNumbers<K>,
}

impl<K: Identity + Ord + Clone> KeyOrder<'_, K> {
    /// Writes the choice of each key, with its place in the list, the first `most` in front.
    fn choose<P: Identity>(&self, person: &P, keys: &[u32], most: usize, choices: &mut Vec<(u64, u32)>) {
        let person = self.selector.person(person);
        choices.clear();
        choices.extend(
            keys.iter().zip(0..).map(|(key, at)| (self.selector.choice(person, self.names.hash(*key)), at)),
        );
        let compare =
            |a: (u64, u32), b: (u64, u32)| self.compare((a.0, keys[a.1 as usize]), (b.0, keys[b.1 as usize]));
        // Most often there is one key too many; then it is sooner found than a place in an order.
        if choices.len() <= most + 3 {
            for last in (most..choices.len()).rev() {
                let highest = highest(&choices[..=last], compare);
                choices.swap(highest, last);
            }
        } else {
            choices.select_nth_unstable_by(most - 1, |a, b| compare(*a, *b));
        }
    }

    fn place(&self, person: u64, key: u32) -> (u64, u32) {
        (self.selector.choice(person, self.names.hash(key)), key)
    }

    /// By the hash, and where that is equal by the keys themselves: never by their numbers, which depend on
    /// arrival.
    #[inline]
    fn compare(&self, (a, key_a): (u64, u32), (b, key_b): (u64, u32)) -> Ordering {
        a.cmp(&b).then_with(|| self.names.key(key_a).cmp(self.names.key(key_b)))
    }
}

/// Returns the index of the choice that is last in the order of selection.
#[inline]
fn highest(choices: &[(u64, u32)], compare: impl Fn((u64, u32), (u64, u32)) -> Ordering) -> usize {
    let (mut highest, mut tied) = (0, false);
    for (at, (choice, _)) in choices.iter().enumerate() {
        let best = choices[highest].0;
        tied |= at > 0 && *choice == best;
        highest = if *choice > best { at } else { highest };
    }
    if tied {
        highest = (0..choices.len()).max_by(|a, b| compare(choices[*a], choices[*b])).unwrap_or(highest);
    }
    highest
}
