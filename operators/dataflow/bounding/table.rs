//! One pane of one worker: what is held of every person, and the way from there to tallies.

use std::fmt;
use std::sync::Arc;

use super::cap::Cap;
use super::chooser::ContributionSelector;
use super::gather::Gather;
use super::identity::Identity;
use super::names::KeyNumbers;
use super::part::{Fresh, PARTS, PanePart, part_of, slot_of};
use super::partial::{AdditiveRule, Partial};
use super::rule::{Keyed, Rule};

/// What is held of the persons of one pane, or of one window, on one worker. Prints as `<private>`.
///
/// ```
/// use discreet::dataflow::bounding::{Cap, Chooser, Count, Table};
///
/// let mut table = Table::new(Chooser::new([7; 32]), Cap::new(1, 2)?, Count);
/// for (person, key) in [("ada", "/"), ("ada", "/"), ("ada", "/"), ("bob", "/")] {
///     table.add(person.to_owned(), &key.to_owned(), ());
/// }
/// let counts = table.close(|_| true, |total: &mut u64, records| *total += u64::from(records));
/// assert_eq!(counts, [("/".to_owned(), 3)]);
/// # Ok::<(), discreet::Invalid>(())
/// ```
pub struct PersonTable<P, K, R: Rule> {
    chooser: ContributionSelector,
    cap: Cap,
    rule: R,
    names: KeyNumbers<K>,
    /// When so many keys have names, those that nobody has any more are forgotten.
    names_limit: usize,
    parts: Box<[PanePart<P, R>; PARTS]>,
    gather: Gather<P, R>,
}

/// Below so many names nobody looks which of them are still needed. In tests few, so that it happens there.
const NAMES: usize = if cfg!(test) { 12 } else { 1 << 16 };

impl<P, K, R> PersonTable<P, K, R>
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
    R: Rule,
{
    /// An empty table.
    pub fn new(chooser: ContributionSelector, cap: Cap, rule: R) -> PersonTable<P, K, R> {
        PersonTable {
            cap,
            rule,
            names: KeyNumbers::new(&chooser, None),
            chooser,
            names_limit: NAMES,
            parts: Box::new(std::array::from_fn(|_| PanePart::new())),
            gather: Gather::new(),
        }
    }

    /// Lets nothing in but these keys: what is listed is public, so a record of another key takes no place from its
    /// person's others.
    pub fn only(mut self, keys: Arc<[K]>) -> PersonTable<P, K, R> {
        self.names = KeyNumbers::new(&self.chooser, Some(keys));
        self
    }

    /// Takes a record in.
    #[inline]
    pub fn add(&mut self, person: P, key: &K, value: R::Value) {
        let Some(key) = self.names.number(&self.chooser, key) else { return };
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
        let hash = self.chooser.person(&person);
        let at = part_of(hash);
        let part = &mut self.parts[at];
        part.heap += person.heap() + self.rule.heap(&value);
        part.fresh.push(Fresh { person, slot: slot_of(hash), key, value });
        if part.is_full() {
            self.settle(at);
        }
    }

    /// Takes in all that another table of the same window holds: another pane, or another worker's.
    ///
    /// Both must have been made with one chooser, cap, rule and list of keys. The other one stays as it is.
    pub fn merge(&mut self, other: &PersonTable<P, K, R>) {
        let mut numbers = vec![u32::MAX; other.names.len()];
        let mut number = |names: &mut KeyNumbers<K>, theirs: u32| {
            let ours = &mut numbers[theirs as usize];
            if *ours == u32::MAX {
                *ours = names.number(&self.chooser, other.names.key(theirs)).unwrap_or(theirs);
            }
            *ours
        };
        for (at, theirs) in other.parts.iter().enumerate() {
            let part = &mut self.parts[at];
            part.heap += theirs.heap;
            for (row, held) in theirs.rows() {
                for Keyed { key, held } in held {
                    let key = number(&mut self.names, *key);
                    part.brought.push((row.person.clone(), row.slot, Keyed { key, held: held.clone() }));
                }
            }
            for (person, slot, Keyed { key, held }) in &theirs.brought {
                let key = number(&mut self.names, *key);
                part.brought.push((person.clone(), *slot, Keyed { key, held: held.clone() }));
            }
            for fresh in &theirs.fresh {
                let key = number(&mut self.names, fresh.key);
                part.fresh.push(Fresh {
                    person: fresh.person.clone(),
                    value: fresh.value.clone(),
                    key,
                    ..*fresh
                });
            }
        }
        for at in 0..PARTS {
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
    /// `admit` is asked once for every person of whom something is left, in no particular order, and who is not admitted
    /// does not count. `add` is called once for each of an admitted person's keys, which are at most `keys`, with what
    /// counts there. The totals are in the order of the keys; a key of which nothing counts is not among them. The table
    /// is empty afterwards, and keeps its memory.
    pub fn close<T: Default>(
        &mut self,
        mut admit: impl FnMut(&P) -> bool,
        mut add: impl FnMut(&mut T, R::Share),
    ) -> Vec<(K, T)> {
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(self.names.len(), || None);
        let PersonTable { chooser, cap, rule, names, parts, gather, .. } = self;
        for part in parts.iter_mut() {
            gather.close(part, chooser, *cap, rule, names, |person, group| {
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

    /// Ends the window as [`close`](PersonTable::close) does, with the keys of each person in the order in which they are chosen:
    /// for what counts only as far as former windows have left something. `add` is given what would count, and the total of
    /// its key, if that has one.
    pub fn close_in_order<T>(
        &mut self,
        mut add: impl FnMut(&P, &K, R::Share, &mut Option<T>),
    ) -> Vec<(K, T)> {
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(self.names.len(), || None);
        let PersonTable { chooser, cap, rule, names, parts, gather, .. } = self;
        for part in parts.iter_mut() {
            gather.close(part, chooser, *cap, rule, names, |person, group| {
                let place = chooser.person(person);
                let mut runs: Vec<_> = group
                    .chunk_by(|a, b| a.key == b.key)
                    .map(|run| (chooser.choice(place, names.hash(run[0].key)), run))
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
        for part in self.parts.iter_mut() {
            part.clear();
        }
        self.names.clear(&self.chooser);
        self.names_limit = NAMES;
    }

    /// Chooses by another chooser from now on: a table that is used again, in another window.
    ///
    /// # Panics
    ///
    /// Unless it is empty: what it holds was chosen.
    pub fn choose_by(&mut self, chooser: ContributionSelector) {
        assert!(self.parts.iter().all(PanePart::is_empty), "a table in use keeps its chooser");
        self.chooser = chooser;
        self.names.clear(&self.chooser);
    }

    /// How much memory it holds, in bytes: exact for what it allocates; what persons and values hold themselves is
    /// counted as it comes in, and again when it is given up.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.parts)
            + self.parts.iter().map(PanePart::bytes).sum::<usize>()
            + self.gather.bytes()
            + self.names.bytes()
    }

    fn settle(&mut self, at: usize) {
        let PersonTable { chooser, cap, rule, names, parts, gather, .. } = self;
        gather.settle(&mut parts[at], chooser, *cap, rule, names);
    }

    /// Somebody's many keys were named; those that were given up since lose their names.
    #[cold]
    fn forget_names(&mut self) {
        for at in 0..PARTS {
            self.settle(at);
        }
        if self.names.listed().is_some() {
            self.names_limit = usize::MAX;
            return;
        }
        let old = std::mem::replace(&mut self.names, KeyNumbers::new(&self.chooser, None));
        let mut numbers = vec![u32::MAX; old.len()];
        for part in self.parts.iter_mut() {
            for keyed in &mut part.held {
                let ours = &mut numbers[keyed.key as usize];
                if *ours == u32::MAX {
                    *ours = self.names.number(&self.chooser, old.key(keyed.key)).unwrap_or(keyed.key);
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

impl<P, K, R: Rule> fmt::Debug for PersonTable<P, K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
