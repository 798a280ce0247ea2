//! The columns of a bundle: what its statistics keep of the people that they share.
//!
//! Statistics by the same keys share what is kept of each person's keys; each has a measure of its own. A column holds
//! its part of every open pane, by the place of the pane in the bundle.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::bounder::RecordFilter;
use super::panes::SPARE;
use super::protect::RecordIdentity;
use super::unit::Person;
use crate::dataflow::bounding::{
    Cap, ContributionSelector, KeptKeys, KeptValues, KeyWork, Measure, Merged, MergedKeys, Moves, NONE,
    PARTS, People, ValueWork,
};
use crate::time::Time;

/// The open panes of a bundle's people, by their places.
pub(super) type OpenPeople<P> = [Option<Box<People<P>>>];

/// The place of a record of a batch.
#[derive(Clone, Copy)]
pub(super) struct PlacedRecord {
    /// The place of its pane; [`NONE`] if it is in none that is open.
    pub(super) pane: u32,
    pub(super) time: Time,
    /// The part of its person, and the number of records that waited there with it; set once some column keeps it.
    pub(super) part: usize,
    pub(super) waiting: usize,
    pub(super) is_kept: bool,
}

impl PlacedRecord {
    /// A record that nothing keeps yet.
    pub(super) fn new(pane: u32, time: Time) -> PlacedRecord {
        PlacedRecord { pane, time, part: 0, waiting: 0, is_kept: false }
    }
}

/// Things of one kind by pane, with the memory of former ones.
struct ByPane<T> {
    open: Vec<Option<Box<T>>>,
    spare: Vec<Box<T>>,
}

impl<T> ByPane<T> {
    fn new() -> ByPane<T> {
        ByPane { open: Vec::new(), spare: Vec::new() }
    }

    fn open(&mut self, place: usize, new: impl FnOnce() -> T, again: impl FnOnce(&mut T)) {
        if self.open.len() <= place {
            self.open.resize_with(place + 1, || None);
        }
        let spare = self.spare.pop().map(|mut spare| {
            again(&mut spare);
            spare
        });
        self.open[place] = Some(spare.unwrap_or_else(|| Box::new(new())));
    }

    fn get(&self, place: usize) -> Option<&T> {
        self.open.get(place).and_then(Option::as_deref)
    }

    fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.open.get_mut(place).and_then(Option::as_deref_mut)
    }

    fn discard(&mut self, place: usize, clear: impl FnOnce(&mut T)) {
        if let Some(mut gone) = self.open.get_mut(place).and_then(Option::take)
            && self.spare.len() < SPARE
        {
            clear(&mut gone);
            self.spare.push(gone);
        }
    }
}

/// The function that reads a key: two that are equal read alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyFunction {
    of: TypeId,
    tag: u64,
}

impl KeyFunction {
    /// A closure that captures nothing is any other of its type; of those that do, `tag` says which are alike.
    pub(crate) fn of<G: 'static>(tag: Option<u64>) -> Option<KeyFunction> {
        let tag = tag.or_else(|| (size_of::<G>() == 0).then_some(0))?;
        Some(KeyFunction { of: TypeId::of::<G>(), tag })
    }
}

/// The keys of a bundle's people, for statistics by the same keys, with the measures of these.
pub(super) trait KeyColumn<D, P, N: RecordIdentity<D>> {
    /// Makes room for a pane.
    fn open(&mut self, place: usize, selector: &ContributionSelector);

    /// Numbers the key of each record of a batch, and marks the records that have one here.
    fn number(&mut self, items: &[N::Item], placed: &mut [PlacedRecord], people: &OpenPeople<P>);

    /// Keeps the numbered records, whose persons wait now.
    fn push(
        &mut self,
        naming: &N,
        selector: &ContributionSelector,
        items: &[N::Item],
        placed: &[PlacedRecord],
    );

    /// The number of things that are held in a part of a pane.
    fn held(&self, place: usize, part: usize) -> usize;

    /// The most keys of a person that count.
    fn most(&self) -> usize;

    /// The [only key](KeptKeys::only_key) of a row of a pane that was gathered.
    fn only_key(&self, place: usize, part: usize, row: usize) -> u32;

    /// Takes in another pane's things, whose persons were [merged](People::merge).
    fn merge(&mut self, into: usize, from: usize, people: &People<P>, merged: &[Merged]);

    /// Divides the one part of a pane, whose persons were [merged](People::merge) into a divided one.
    fn divide(&mut self, place: usize, people: &People<P>, merged: &[Merged]);

    /// Gathers a part of a pane, whose persons were [numbered](People::number).
    fn gather(&mut self, place: usize, people: &People<P>, part: usize);

    /// Returns true if a pane has named enough keys for some to be forgotten.
    fn has_many_names(&self, place: usize) -> bool;

    /// Forgets the names of keys that nobody has in a pane that was gathered.
    fn forget_names(&mut self, place: usize, selector: &ContributionSelector);

    /// Gives up a pane.
    fn discard(&mut self, place: usize, selector: &ContributionSelector);

    /// Returns the memory of a pane, in bytes.
    fn bytes(&self, place: usize) -> usize;

    /// Gives up the memory of former panes.
    fn discard_spare(&mut self);

    /// Writes the names of the keys of a pane.
    fn write_names(&self, place: usize, bytes: &mut Vec<u8>);

    /// Writes a part of a pane that was gathered.
    fn write(&self, place: usize, part: usize, bytes: &mut Vec<u8>);

    /// Reads the names of the keys of a pane that was opened, and makes room for this number of parts.
    fn read_names(
        &mut self,
        place: usize,
        selector: &ContributionSelector,
        parts: usize,
        bytes: &mut &[u8],
    ) -> Option<()>;

    /// Reads a part, whose people were [read](People::read).
    fn read(&mut self, place: usize, people: &People<P>, part: usize, bytes: &mut &[u8]) -> Option<()>;
}

/// A measure of the records that are kept by the keys of a column.
trait MeasureColumn<D, P, K, N: RecordIdentity<D>> {
    fn open(&mut self, place: usize);
    fn push(&mut self, batch: &NumberedBatch<'_, D, N>);
    fn held(&self, place: usize, part: usize) -> usize;
    fn merge(&mut self, into: usize, from: usize, merged: &[MergedKeys]);
    fn divide(&mut self, place: usize, parts: usize, merged: &[MergedKeys]);
    fn gather(&mut self, place: usize, people: &People<P>, keys: &KeptKeys<K>, part: usize, moves: &Moves);
    fn discard(&mut self, place: usize);
    fn bytes(&self, place: usize) -> usize;
    fn discard_spare(&mut self);
    fn write(&self, place: usize, part: usize, bytes: &mut Vec<u8>);
    fn clear_into(&mut self, place: usize, parts: usize) -> Option<()>;
    fn read(&mut self, place: usize, part: usize, runs: usize, bytes: &mut &[u8]) -> Option<()>;
}

/// Records whose keys have numbers.
struct NumberedBatch<'a, D, N: RecordIdentity<D>> {
    naming: &'a N,
    selector: &'a ContributionSelector,
    items: &'a [N::Item],
    placed: &'a [PlacedRecord],
    numbers: &'a [u32],
}

/// The keys of statistics that read them alike.
pub(super) struct SharedKeys<D, P, K, N: RecordIdentity<D>, G> {
    key: Rc<G>,
    listed: Option<Arc<[K]>>,
    most: u32,
    holds_all: bool,
    panes: ByPane<KeptKeys<K>>,
    /// The number of each record's key, of the batch that is taken.
    numbers: Vec<u32>,
    work: KeyWork,
    measures: Vec<Rc<RefCell<dyn MeasureColumn<D, P, K, N>>>>,
    /// For each measure, true for the records that count; without it, all do.
    counts: Vec<Option<RecordFilter<D>>>,
}

impl<D, P, K, N, G> SharedKeys<D, P, K, N, G>
where
    D: 'static,
    P: Person,
    K: super::aggregation::GroupingKey,
    N: RecordIdentity<D>,
    G: Fn(&D) -> K + 'static,
{
    pub(super) fn new(key: Rc<G>, listed: Option<Arc<[K]>>, most: u32, holds_all: bool) -> Self {
        SharedKeys {
            key,
            listed,
            most,
            holds_all,
            panes: ByPane::new(),
            numbers: Vec::new(),
            work: KeyWork::default(),
            measures: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Adds a measure; the column that holds it.
    pub(super) fn measure<M: Measure + 'static, V>(
        &mut self,
        (value, counts): (Rc<V>, Option<RecordFilter<D>>),
        measure: &M,
        cap: Cap,
    ) -> Rc<RefCell<HeldMeasure<D, N, M, V>>>
    where
        V: Fn(&D) -> M::Value + 'static,
    {
        self.counts.push(counts.clone());
        let held = HeldMeasure {
            value,
            counts,
            rule: N::rule(measure),
            cap,
            panes: ByPane::new(),
            work: ValueWork::default(),
        };
        let held = Rc::new(RefCell::new(held));
        self.measures.push(Rc::clone(&held) as Rc<RefCell<dyn MeasureColumn<D, P, K, N>>>);
        held
    }

    /// Returns true if another statistic by the same keys may share them.
    pub(super) fn fits(&self, listed: Option<&Arc<[K]>>, most: u32) -> bool {
        self.most == most && self.listed.as_deref() == listed.map(|listed| &**listed)
    }

    /// The keys of a pane.
    pub(super) fn of(&self, place: usize) -> Option<&KeptKeys<K>> {
        self.panes.get(place)
    }
}

impl<D, P, K, N, G> KeyColumn<D, P, N> for SharedKeys<D, P, K, N, G>
where
    D: 'static,
    P: Person,
    K: super::aggregation::GroupingKey,
    N: RecordIdentity<D>,
    G: Fn(&D) -> K + 'static,
{
    fn open(&mut self, place: usize, selector: &ContributionSelector) {
        let SharedKeys { listed, most, holds_all, .. } = self;
        let new = || KeptKeys::new(selector, listed.clone(), *most, *holds_all);
        self.panes.open(place, new, |keys| keys.clear(selector));
        self.measures.iter().for_each(|measure| measure.borrow_mut().open(place));
    }

    fn number(&mut self, items: &[N::Item], placed: &mut [PlacedRecord], people: &OpenPeople<P>) {
        self.numbers.clear();
        // A record that no measure counts takes no place from its person's others.
        let filters: Option<Vec<&RecordFilter<D>>> = self.counts.iter().map(Option::as_ref).collect();
        let mut at = NONE;
        let mut of: Option<(&mut KeptKeys<K>, &ContributionSelector)> = None;
        for (item, record) in items.iter().zip(placed) {
            let mut number = NONE;
            let counts =
                |record: &D| filters.iter().all(|filters| filters.iter().any(|counts| counts(record)));
            if record.pane != NONE && counts(N::record(item)) {
                if record.pane != at {
                    at = record.pane;
                    let people = people.get(at as usize).and_then(Option::as_deref);
                    of = self.panes.get_mut(at as usize).zip(people.map(People::selector));
                }
                let key = (self.key)(N::record(item));
                if let Some((keys, selector)) = &mut of
                    && !key.is_absent()
                    && let Some(known) = keys.number(selector, &key)
                {
                    (number, record.is_kept) = (known, true);
                }
            }
            self.numbers.push(number);
        }
    }

    fn push(
        &mut self,
        naming: &N,
        selector: &ContributionSelector,
        items: &[N::Item],
        placed: &[PlacedRecord],
    ) {
        for (record, &number) in placed.iter().zip(&self.numbers) {
            if number != NONE
                && let Some(keys) = self.panes.get_mut(record.pane as usize)
            {
                keys.push(record.part, record.waiting, number);
            }
        }
        let batch = NumberedBatch { naming, selector, items, placed, numbers: &self.numbers };
        self.measures.iter().for_each(|measure| measure.borrow_mut().push(&batch));
    }

    fn held(&self, place: usize, part: usize) -> usize {
        let of_measures = self.measures.iter().map(|measure| measure.borrow().held(place, part));
        let of_keys = self.panes.get(place).map_or(0, |keys| keys.held(part));
        of_measures.fold(of_keys, usize::max)
    }

    fn most(&self) -> usize {
        self.most as usize
    }

    fn only_key(&self, place: usize, part: usize, row: usize) -> u32 {
        self.panes.get(place).map_or(NONE, |keys| keys.only_key(part, row))
    }

    fn merge(&mut self, into: usize, from: usize, people: &People<P>, merged: &[Merged]) {
        let Ok([Some(ours), Some(theirs)]) = self.panes.open.get_disjoint_mut([into, from]) else { return };
        let merged = ours.merge(people, theirs, merged);
        self.measures.iter().for_each(|measure| measure.borrow_mut().merge(into, from, &merged));
    }

    fn divide(&mut self, place: usize, people: &People<P>, merged: &[Merged]) {
        let Some(one) = self.panes.get_mut(place) else { return };
        let mut divided = one.divided(PARTS);
        let merged = divided.merge(people, one, merged);
        *one = divided;
        self.measures.iter().for_each(|measure| measure.borrow_mut().divide(place, PARTS, &merged));
    }

    fn gather(&mut self, place: usize, people: &People<P>, part: usize) {
        let SharedKeys { panes, work, measures, .. } = self;
        let Some(keys) = panes.get_mut(place) else { return };
        keys.gather(people, part, work);
        measures
            .iter()
            .for_each(|measure| measure.borrow_mut().gather(place, people, keys, part, &work.moves));
    }

    fn has_many_names(&self, place: usize) -> bool {
        self.panes.get(place).is_some_and(KeptKeys::has_many_names)
    }

    fn forget_names(&mut self, place: usize, selector: &ContributionSelector) {
        if let Some(keys) = self.panes.get_mut(place) {
            keys.forget_names(selector);
        }
    }

    fn discard(&mut self, place: usize, selector: &ContributionSelector) {
        self.panes.discard(place, |keys| keys.clear(selector));
        self.measures.iter().for_each(|measure| measure.borrow_mut().discard(place));
    }

    fn bytes(&self, place: usize) -> usize {
        let of_measures = self.measures.iter().map(|measure| measure.borrow().bytes(place));
        self.panes.get(place).map_or(0, KeptKeys::bytes) + of_measures.sum::<usize>()
    }

    fn discard_spare(&mut self) {
        self.panes.spare.clear();
        self.measures.iter().for_each(|measure| measure.borrow_mut().discard_spare());
    }

    fn write_names(&self, place: usize, bytes: &mut Vec<u8>) {
        self.panes.get(place).into_iter().for_each(|keys| keys.write_names(bytes));
    }

    fn write(&self, place: usize, part: usize, bytes: &mut Vec<u8>) {
        self.panes.get(place).into_iter().for_each(|keys| keys.write(part, bytes));
        self.measures.iter().for_each(|measure| measure.borrow().write(place, part, bytes));
    }

    fn read_names(
        &mut self,
        place: usize,
        selector: &ContributionSelector,
        parts: usize,
        bytes: &mut &[u8],
    ) -> Option<()> {
        self.panes.get_mut(place)?.read_names(selector, parts, bytes)?;
        self.measures.iter().try_for_each(|measure| measure.borrow_mut().clear_into(place, parts))
    }

    fn read(&mut self, place: usize, people: &People<P>, part: usize, bytes: &mut &[u8]) -> Option<()> {
        let keys = self.panes.get_mut(place)?;
        keys.read(part, people.rows(part), bytes)?;
        let runs = keys.held(part);
        self.measures.iter().try_for_each(|measure| measure.borrow_mut().read(place, part, runs, bytes))
    }
}

/// The held part of a measure, in every open pane.
pub(super) struct HeldMeasure<D, N: RecordIdentity<D>, M: Measure, V> {
    value: Rc<V>,
    counts: Option<RecordFilter<D>>,
    rule: N::Rule<M>,
    cap: Cap,
    panes: ByPane<KeptValues<N::Rule<M>>>,
    work: ValueWork<N::Rule<M>>,
}

impl<D, P, K, N, M, V> MeasureColumn<D, P, K, N> for HeldMeasure<D, N, M, V>
where
    P: Person,
    K: super::aggregation::GroupingKey,
    N: RecordIdentity<D>,
    M: Measure,
    V: Fn(&D) -> M::Value + 'static,
{
    fn open(&mut self, place: usize) {
        let HeldMeasure { rule, cap, .. } = self;
        self.panes.open(place, || KeptValues::new(*cap, rule.clone()), KeptValues::clear);
    }

    fn push(&mut self, batch: &NumberedBatch<'_, D, N>) {
        let NumberedBatch { naming, selector, items, placed, numbers } = batch;
        for ((item, record), &number) in items.iter().zip(*placed).zip(*numbers) {
            if number != NONE
                && let Some(values) = self.panes.get_mut(record.pane as usize)
            {
                let read = N::record(item);
                let value = self
                    .counts
                    .as_ref()
                    .is_none_or(|counts| counts(read))
                    .then(|| naming.bring::<M>(selector, item, record.time, (self.value)(read)));
                values.push(record.part, value);
            }
        }
    }

    fn held(&self, place: usize, part: usize) -> usize {
        self.panes.get(place).map_or(0, |values| values.held(part))
    }

    fn merge(&mut self, into: usize, from: usize, merged: &[MergedKeys]) {
        if let Ok([Some(ours), Some(theirs)]) = self.panes.open.get_disjoint_mut([into, from]) {
            ours.merge(theirs, merged);
        }
    }

    fn divide(&mut self, place: usize, parts: usize, merged: &[MergedKeys]) {
        if let Some(one) = self.panes.get_mut(place) {
            let mut divided = one.divided(parts);
            divided.merge(one, merged);
            *one = divided;
        }
    }

    fn gather(&mut self, place: usize, people: &People<P>, keys: &KeptKeys<K>, part: usize, moves: &Moves) {
        let HeldMeasure { panes, work, .. } = self;
        if let Some(values) = panes.get_mut(place) {
            values.gather(people, keys, part, moves, work);
        }
    }

    fn discard(&mut self, place: usize) {
        self.panes.discard(place, KeptValues::clear);
    }

    fn bytes(&self, place: usize) -> usize {
        self.panes.get(place).map_or(0, KeptValues::bytes)
    }

    fn discard_spare(&mut self) {
        self.panes.spare.clear();
    }

    fn write(&self, place: usize, part: usize, bytes: &mut Vec<u8>) {
        self.panes.get(place).into_iter().for_each(|values| values.write(part, bytes));
    }

    fn clear_into(&mut self, place: usize, parts: usize) -> Option<()> {
        self.panes.get_mut(place)?.clear_into(parts);
        Some(())
    }

    fn read(&mut self, place: usize, part: usize, runs: usize, bytes: &mut &[u8]) -> Option<()> {
        self.panes.get_mut(place)?.read(part, runs, bytes)
    }
}

impl<D, N: RecordIdentity<D>, M: Measure, V> HeldMeasure<D, N, M, V> {
    /// Ends a window that was gathered: the totals by key, of those whom `begin` admits.
    pub(super) fn close<P: Person, K: super::aggregation::GroupingKey, T>(
        &mut self,
        place: usize,
        people: &People<P>,
        keys: &KeptKeys<K>,
        is_ordered: bool,
        mut begin: impl FnMut(&P) -> bool,
        mut add: impl FnMut(&P, &K, M::Share, &mut Option<T>),
    ) -> Vec<(K, T)> {
        let HeldMeasure { panes, work, .. } = self;
        let Some(values) = panes.get_mut(place) else { return Vec::new() };
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(keys.names().len(), || None);
        for part in 0..people.parts() {
            values.close((people, keys, part), work, is_ordered, &mut begin, |person, key, share| {
                add(person, keys.names().key(key), share, &mut totals[key as usize]);
            });
        }
        keys.tallies(totals)
    }

    /// Ends a window that was gathered, as [`close`](Self::close) does, where the shares of a person in all keys are
    /// weighed together: `share` makes a total of each, and `join` adds one to that of its key.
    pub(super) fn close_weighed<P: Person, K: super::aggregation::GroupingKey, T>(
        &mut self,
        place: usize,
        (people, keys): (&People<P>, &KeptKeys<K>),
        mut begin: impl FnMut(&P) -> bool,
        share: impl Fn(M::Share) -> T,
        weigh: impl Fn(&mut [T]),
        join: impl Fn(&mut Option<T>, T),
    ) -> Vec<(K, T)> {
        let HeldMeasure { panes, work, .. } = self;
        let Some(values) = panes.get_mut(place) else { return Vec::new() };
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(keys.names().len(), || None);
        let (mut of, mut shares): (Vec<u32>, Vec<T>) = (Vec::new(), Vec::new());
        for part in 0..people.parts() {
            for row in 0..people.rows(part) {
                let mut add = |_: &P, key: u32, found: M::Share| {
                    of.push(key);
                    shares.push(share(found));
                };
                values.close_row((people, keys, part), row, work, false, &mut begin, &mut add);
                weigh(&mut shares);
                of.drain(..)
                    .zip(shares.drain(..))
                    .for_each(|(key, share)| join(&mut totals[key as usize], share));
            }
        }
        keys.tallies(totals)
    }

    /// The totals by key of these rows of a pane that was gathered, each a part and a row there.
    pub(super) fn close_rows<P: Person, K: super::aggregation::GroupingKey, T>(
        &mut self,
        place: usize,
        people: &People<P>,
        keys: &KeptKeys<K>,
        rows: impl Iterator<Item = (usize, usize)>,
        mut add: impl FnMut(M::Share, &mut Option<T>),
    ) -> Vec<(K, T)> {
        let HeldMeasure { panes, work, .. } = self;
        let Some(values) = panes.get_mut(place) else { return Vec::new() };
        let mut totals: Vec<Option<T>> = Vec::new();
        totals.resize_with(keys.names().len(), || None);
        for (part, row) in rows {
            let begin = &mut |_: &P| true;
            values.close_row((people, keys, part), row, work, false, begin, &mut |_: &P, key, share| {
                add(share, &mut totals[key as usize]);
            });
        }
        keys.tallies(totals)
    }
}
