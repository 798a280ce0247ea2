//! The table of one pane on one worker: the held records of every person, and the tallies made of them.

use std::sync::Arc;

use super::identity::Identity;
use super::kept_keys::{KeptKeys, KeyWork};
use super::kept_values::{KeptValues, ValueWork};
use super::measure::{AdditiveRule, Partial};
use super::people::{PARTS, People};
use super::rule::{Cap, Rule};
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
    people: People<P>,
    keys: KeptKeys<K>,
    values: KeptValues<R>,
    /// The work space, once something was gathered.
    work: Option<Box<(KeyWork, ValueWork<R>)>>,
}

redacted!([P, K, R: Rule] PersonTable<P, K, R>);

impl<P, K, R> PersonTable<P, K, R>
where
    P: Identity + Eq + Clone,
    K: Identity + Ord + Clone,
    R: Rule,
{
    /// An empty table.
    pub fn new(selector: ContributionSelector, cap: Cap, rule: R) -> PersonTable<P, K, R> {
        PersonTable::of(selector, cap, rule, None)
    }

    fn of(
        selector: ContributionSelector,
        cap: Cap,
        rule: R,
        listed: Option<Arc<[K]>>,
    ) -> PersonTable<P, K, R> {
        let keys = KeptKeys::new(&selector, listed, cap.keys(), R::HOLDS_ALL);
        PersonTable { people: People::new(selector), keys, values: KeptValues::new(cap, rule), work: None }
    }

    /// Lets nothing in but these keys: what is listed is public, so a record of another key takes no place
    /// from its person's others.
    pub fn only(mut self, keys: Arc<[K]>) -> PersonTable<P, K, R> {
        let most = self.keys.most();
        self.keys = KeptKeys::new(self.people.selector(), Some(keys), most, R::HOLDS_ALL);
        self
    }

    /// Takes a record in.
    #[inline]
    pub fn add(&mut self, person: P, key: &K, value: R::Value) {
        let Some(key) = self.keys.number(self.people.selector(), key) else { return };
        let part = self.people.push(person);
        self.keys.push(part, self.people.waiting(part), key);
        self.values.push(part, Some(value));
        if self.people.outgrows_one_part() {
            self.divide();
        } else if self.people.is_full(part, || self.values.held(part).max(self.keys.held(part))) {
            self.settle(part);
        }
        if self.keys.has_many_names() {
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

    /// Gives each person of the one part a part by its hash.
    #[cold]
    fn divide(&mut self) {
        let mut people = self.people.divided();
        let (mut keys, mut values) = (self.keys.divided(PARTS), self.values.divided(PARTS));
        let merged = people.merge(&self.people);
        let merged = keys.merge(&people, &self.keys, &merged);
        values.merge(&self.values, &merged);
        (self.people, self.keys, self.values) = (people, keys, values);
    }

    /// Takes in all that another table of the same window holds: another pane, or another worker's.
    ///
    /// Both must have been made with one chooser, cap, rule and list of keys. The other one stays as it is.
    pub fn merge(&mut self, other: &PersonTable<P, K, R>) {
        if self.people.parts() == 1 && !(self.people.is_little() && other.people.is_little()) {
            self.divide();
        }
        let merged = self.people.merge(&other.people);
        let merged = self.keys.merge(&self.people, &other.keys, &merged);
        self.values.merge(&other.values, &merged);
        for part in 0..self.people.parts() {
            if self.people.is_full(part, || self.values.held(part).max(self.keys.held(part))) {
                self.settle(part);
            }
        }
        if self.keys.has_many_names() {
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
        admit: impl FnMut(&P) -> bool,
        mut add: impl FnMut(&mut T, R::Share),
    ) -> Vec<(K, T)> {
        self.closed(false, admit, |_, _, share, total| add(total.get_or_insert_default(), share))
    }

    /// Ends the window as [`close`](PersonTable::close) does, with the keys of each person in the order in
    /// which they are chosen: for what counts only as far as former windows have left something. `add` is
    /// given what would count, and the total of its key, if that has one.
    pub fn close_in_order<T>(&mut self, add: impl FnMut(&P, &K, R::Share, &mut Option<T>)) -> Vec<(K, T)> {
        self.closed(true, |_| true, add)
    }

    fn closed<T>(
        &mut self,
        is_ordered: bool,
        mut admit: impl FnMut(&P) -> bool,
        mut add: impl FnMut(&P, &K, R::Share, &mut Option<T>),
    ) -> Vec<(K, T)> {
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(self.keys.names().len(), || None);
        for part in 0..self.people.parts() {
            self.settle(part);
            let PersonTable { people, keys, values, work } = self;
            let (_, work) = &mut **work.get_or_insert_default();
            let names = keys.names();
            values.close((&*people, &*keys, part), work, is_ordered, &mut admit, |person, key, share| {
                add(person, names.key(key), share, &mut totals[key as usize]);
            });
        }
        let tallies = self.keys.tallies(totals);
        self.clear();
        tallies
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        if self.people.parts() == 1 {
            // Of little the next window makes new.
            self.work = None;
        }
        self.people.clear();
        self.keys.clear(self.people.selector());
        self.values.clear();
    }

    /// Chooses by another chooser from now on: a table that is used again, in another window.
    ///
    /// # Panics
    ///
    /// Unless it is empty: what it holds was chosen.
    pub fn choose_by(&mut self, selector: ContributionSelector) {
        assert!(self.people.is_empty(), "a table in use keeps its chooser");
        self.keys.clear(&selector);
        self.people.choose_by(selector);
    }

    /// Returns the memory that it holds, in bytes: exact for its own allocations; the heap of persons and
    /// values is counted as they come in, and again when they are given up.
    pub fn bytes(&self) -> usize {
        let work = self
            .work
            .as_ref()
            .map_or(0, |work| size_of::<(KeyWork, ValueWork<R>)>() + work.0.bytes() + work.1.bytes());
        size_of::<Self>() + self.people.bytes() + self.keys.bytes() + self.values.bytes() + work
    }

    fn settle(&mut self, part: usize) {
        let PersonTable { people, keys, values, work } = self;
        let (key_work, work) = &mut **work.get_or_insert_default();
        people.number(part);
        keys.gather(people, part, key_work);
        values.gather(people, keys, part, &key_work.moves, work);
    }

    /// Somebody's many keys were named; those that were given up since lose their names.
    #[cold]
    fn forget_names(&mut self) {
        for part in 0..self.people.parts() {
            self.settle(part);
        }
        self.keys.forget_names(self.people.selector());
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

// What a [`PersonTable`](super::PersonTable) would count of one person in the key that there is but one of,
// without a table: for operators that hold each person's records themselves.

/// Returns the held form of a record, with its place in the order of selection.
pub(in crate::dataflow) fn held<P: Identity, R: Rule>(
    rule: &R,
    selector: &ContributionSelector,
    person: &P,
    value: R::Value,
) -> R::Held {
    let choice = || selector.choice(selector.person(person), selector.key(&()));
    rule.ranked(rule.hold(selector, value), |hash| selector.rank(choice(), hash))
}

/// Returns the share of all such records of a person, in any order; nothing if nothing is left.
pub(in crate::dataflow) fn share<R: Rule>(
    rule: &R,
    cap: Cap,
    held: impl IntoIterator<Item = R::Held>,
) -> Option<R::Share> {
    let rank = |place| place;
    let mut run: Vec<R::Held> = held.into_iter().collect();
    if run.is_empty() {
        return None;
    }
    let left = rule.settle(cap, &mut run, rank);
    let left = rule.cancel(&mut run[..left]);
    (left > 0).then(|| rule.share(cap, &mut run[..left], rank))
}
