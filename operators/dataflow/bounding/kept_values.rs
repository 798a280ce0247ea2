//! One measure of each person's records in the kept keys.

use std::cell::LazyCell;
use std::ops::Range;

use super::identity::Identity;
use super::kept_keys::{KeptKeys, MergedKeys, Moves, NONE};
use super::people::People;
use super::rule::{Cap, Rule};
use super::spillable::{Spillable, restore_ends, store_ends};

/// The things that are held for one measure in the runs of a pane's people.
pub(in crate::dataflow) struct KeptValues<R: Rule> {
    cap: Cap,
    rule: R,
    parts: Vec<ValuePart<R>>,
}

struct ValuePart<R: Rule> {
    /// The values of the records that wait and have a key, in their order.
    waiting: Vec<R::Value>,
    /// For each such record, true if it has a value; empty while all have.
    has_value: Vec<bool>,
    held: Vec<R::Held>,
    /// The end of each run's things; empty while each has one.
    ends: Vec<u32>,
    /// The heap of values, beside their own size.
    heap: usize,
}

/// The work space: nothing in it outlives a call but memory.
pub(in crate::dataflow) struct ValueWork<R: Rule> {
    one: Vec<Option<R::Held>>,
    several: Vec<R::Held>,
    starts: Vec<u32>,
    spans: Vec<Span>,
}

/// The things of a person in a key.
#[derive(Clone, Copy)]
struct Span {
    key: u32,
    start: usize,
    end: usize,
}

impl<R: Rule> Default for ValueWork<R> {
    fn default() -> ValueWork<R> {
        ValueWork { one: Vec::new(), several: Vec::new(), starts: Vec::new(), spans: Vec::new() }
    }
}

impl<R: Rule> KeptValues<R> {
    pub(in crate::dataflow) fn new(cap: Cap, rule: R) -> KeptValues<R> {
        KeptValues { cap, rule, parts: vec![ValuePart::new()] }
    }

    /// Adds the value of the last record that has a key in a part; `None` if it has no value.
    #[inline]
    pub(in crate::dataflow) fn push(&mut self, part: usize, value: Option<R::Value>) {
        let ValuePart { waiting, has_value, heap, .. } = &mut self.parts[part];
        if value.is_none() && has_value.is_empty() {
            has_value.resize(waiting.len(), true);
        }
        if value.is_none() || !has_value.is_empty() {
            has_value.push(value.is_some());
        }
        if let Some(value) = value {
            *heap += self.rule.heap(&value);
            waiting.push(value);
        }
    }

    /// The number of things that are held in a part.
    pub(in crate::dataflow) fn held(&self, part: usize) -> usize {
        self.parts[part].held.len()
    }

    /// Holds everything of a part in its run from now on, and gives up what cannot count any more.
    pub(in crate::dataflow) fn gather<P: Identity + Eq + Clone, K: Identity + Ord + Clone>(
        &mut self,
        people: &People<P>,
        keys: &KeptKeys<K>,
        part: usize,
        moves: &Moves,
        work: &mut ValueWork<R>,
    ) {
        if R::IS_ONE {
            self.gather_one(people.selector(), part, moves, &mut work.one);
        } else {
            self.gather_several(people, keys, part, moves, work);
        }
        let ValuePart { held, heap, .. } = &mut self.parts[part];
        *heap = held.iter().map(|held| self.rule.held_heap(held)).sum();
    }

    /// Puts together all that a person has in a key.
    fn gather_one(
        &mut self,
        selector: &super::ContributionSelector,
        part: usize,
        moves: &Moves,
        one: &mut Vec<Option<R::Held>>,
    ) {
        let KeptValues { cap, rule, parts } = self;
        let ValuePart { waiting, has_value, held, ends, .. } = &mut parts[part];
        let (former, records) = moves.targets.split_at(moves.former);
        one.clear();
        one.resize(moves.runs, None);
        let mut put = |run: u32, theirs: R::Held| {
            if run != NONE {
                let ours = &mut one[run as usize];
                *ours = Some(rule.together(*cap, ours.take(), theirs));
            }
        };
        let mut things = held.drain(..);
        if ends.is_empty() {
            former.iter().zip(things).for_each(|(run, held)| put(*run, held));
        } else {
            let mut start = 0;
            for (run, end) in former.iter().zip(ends.iter()) {
                things.by_ref().take((*end - start) as usize).for_each(|held| put(*run, held));
                start = *end;
            }
            drop(things);
        }
        let values = waiting.drain(..);
        if has_value.is_empty() {
            records.iter().zip(values).for_each(|(run, value)| put(*run, rule.hold(selector, value)));
        } else {
            let with = records.iter().zip(has_value.drain(..)).filter(|(_, has)| *has);
            with.zip(values).for_each(|((run, _), value)| put(*run, rule.hold(selector, value)));
        }
        ends.clear();
        if one.iter().any(Option::is_none) {
            let mut end = 0;
            ends.extend(one.iter().map(|held| {
                end += u32::from(held.is_some());
                end
            }));
        }
        held.extend(one.drain(..).flatten());
    }

    /// Brings together the things of each run, and settles them.
    fn gather_several<P: Identity + Eq + Clone, K: Identity + Ord + Clone>(
        &mut self,
        people: &People<P>,
        keys: &KeptKeys<K>,
        part: usize,
        moves: &Moves,
        work: &mut ValueWork<R>,
    ) {
        let KeptValues { cap, rule, parts } = self;
        let ValuePart { waiting, has_value, held, ends, .. } = &mut parts[part];
        let ValueWork { several, starts, .. } = work;
        let (former, records) = moves.targets.split_at(moves.former);
        let length = |run: usize| things(ends, run).len();
        let has = |record: usize| has_value.is_empty() || has_value[record];
        starts.clear();
        starts.resize(moves.runs + 1, 0);
        for (at, run) in former.iter().enumerate().filter(|(_, run)| **run != NONE) {
            starts[*run as usize + 1] += length(at) as u32;
        }
        for (at, run) in records.iter().enumerate().filter(|(_, run)| **run != NONE) {
            starts[*run as usize + 1] += u32::from(has(at));
        }
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        several.clear();
        // Any thing will do: all are overwritten.
        let selector = people.selector();
        let filler = held.first().cloned().or_else(|| Some(rule.hold(selector, waiting.first()?.clone())));
        if let Some(filler) = filler {
            several.resize(sum as usize, filler);
        }
        // Each run's entry starts where it begins, and is where it ends when all things have their place.
        let mut put = |run: u32, thing: R::Held| {
            if run != NONE {
                let place = &mut starts[run as usize];
                several[*place as usize] = thing;
                *place += 1;
            }
        };
        let of_runs = former.iter().enumerate().flat_map(|(at, run)| std::iter::repeat_n(*run, length(at)));
        of_runs.zip(held.drain(..)).for_each(|(run, thing)| put(run, thing));
        let with = records.iter().enumerate().filter(|(at, _)| has(*at));
        with.zip(waiting.drain(..)).for_each(|((_, run), value)| put(*run, rule.hold(selector, value)));
        has_value.clear();
        ends.clear();
        let mut start = 0;
        for row in 0..people.rows(part) {
            for run in keys.runs(part, row) {
                let things = &mut several[start as usize..starts[run] as usize];
                start = starts[run];
                let choice = LazyCell::new(|| {
                    let person = selector.person(people.person(part, row));
                    keys.choice(selector, person, keys.keys(part)[run])
                });
                let left = rule.settle(*cap, things, |hash| selector.rank(*choice, hash));
                held.extend_from_slice(&things[..left]);
                ends.push(held.len() as u32);
            }
        }
    }

    /// Ends the window: calls `begin` once with every person of whom something is left, and, unless it says no, `add`
    /// with the share of each of the person's keys; in the order of choice, if that is asked for.
    pub(in crate::dataflow) fn close<P: Identity + Eq + Clone, K: Identity + Ord + Clone>(
        &mut self,
        (people, keys, part): (&People<P>, &KeptKeys<K>, usize),
        work: &mut ValueWork<R>,
        is_ordered: bool,
        mut begin: impl FnMut(&P) -> bool,
        mut add: impl FnMut(&P, u32, R::Share),
    ) {
        for row in 0..people.rows(part) {
            self.close_row((people, keys, part), row, work, is_ordered, &mut begin, &mut add);
        }
    }

    /// Ends the window of one person, as [`close`](Self::close) does; what is held of the person stays.
    #[inline]
    pub(in crate::dataflow) fn close_row<P: Identity + Eq + Clone, K: Identity + Ord + Clone>(
        &mut self,
        (people, keys, part): (&People<P>, &KeptKeys<K>, usize),
        row: usize,
        work: &mut ValueWork<R>,
        is_ordered: bool,
        begin: &mut impl FnMut(&P) -> bool,
        add: &mut impl FnMut(&P, u32, R::Share),
    ) {
        let KeptValues { cap, rule, parts } = self;
        let ValuePart { held, ends, .. } = &mut parts[part];
        let (selector, spans) = (people.selector(), &mut work.spans);
        spans.clear();
        for run in keys.runs(part, row) {
            let Range { start, mut end } = things(ends, run);
            if R::HOLDS_ALL {
                end = start + rule.cancel(&mut held[start..end]);
            }
            if start < end {
                spans.push(Span { key: keys.keys(part)[run], start, end });
            }
        }
        if spans.is_empty() {
            return;
        }
        let person = people.person(part, row);
        if is_ordered || spans.len() > keys.most() as usize || R::HAS_IDS && spans.len() > 1 {
            keys.in_order(selector, person, spans, |span| span.key);
        }
        if R::HAS_IDS && spans.len() > 1 {
            disentangle(rule, held, spans);
        }
        if !begin(person) {
            return;
        }
        for span in spans.iter() {
            let choice = LazyCell::new(|| keys.choice(selector, selector.person(person), span.key));
            let rank = |hash| selector.rank(*choice, hash);
            add(person, span.key, rule.share(*cap, &mut held[span.start..span.end], rank));
        }
    }

    /// Takes in what another pane holds, whose keys were [merged](KeptKeys::merge).
    pub(in crate::dataflow) fn merge(&mut self, other: &KeptValues<R>, merged: &[MergedKeys]) {
        for MergedKeys { part, runs, records: of_records } in merged {
            let theirs = &other.parts[*part];
            for &(run, at) in runs {
                let Range { start, end } = things(&theirs.ends, run as usize);
                let ours = &mut self.parts[at];
                // Until now each run had one thing.
                if ours.ends.is_empty() && (end - start != 1 || !R::IS_ONE) {
                    ours.ends.extend((1..=ours.held.len() as u32).take(ours.held.len()));
                }
                let is_counted = !R::IS_ONE || end - start != 1 || !ours.ends.is_empty();
                ours.heap +=
                    theirs.held[start..end].iter().map(|held| self.rule.held_heap(held)).sum::<usize>();
                ours.held.extend_from_slice(&theirs.held[start..end]);
                if is_counted {
                    ours.ends.push(ours.held.len() as u32);
                }
            }
            let mut values = theirs.waiting.iter();
            for (record, &at) in of_records.iter().enumerate() {
                let has = theirs.has_value.is_empty() || theirs.has_value[record];
                let value = if has { values.next().cloned() } else { None };
                self.push(at, value);
            }
        }
    }

    /// Writes what is held in a part that was gathered.
    pub(in crate::dataflow) fn write(&self, part: usize, bytes: &mut Vec<u8>) {
        let ValuePart { held, ends, .. } = &self.parts[part];
        u32::from(!ends.is_empty()).store(bytes);
        store_ends(ends, bytes);
        held.iter().for_each(|held| held.store(bytes));
    }

    /// Drops everything, and makes room for this number of parts.
    pub(in crate::dataflow) fn clear_into(&mut self, parts: usize) {
        self.parts = std::iter::repeat_with(ValuePart::new).take(parts).collect();
    }

    /// Reads the values of this number of runs into an empty part.
    pub(in crate::dataflow) fn read(&mut self, part: usize, runs: usize, bytes: &mut &[u8]) -> Option<()> {
        let KeptValues { rule, parts, .. } = self;
        let ValuePart { held, ends, heap, .. } = parts.get_mut(part)?;
        let has_ends = u32::restore(bytes)? != 0;
        if has_ends {
            *ends = restore_ends(bytes, runs)?;
        }
        let length = if has_ends { ends.last().map_or(0, |end| *end as usize) } else { runs };
        if length > bytes.len() {
            return None;
        }
        held.reserve_exact(length);
        for _ in 0..length {
            let thing = R::Held::restore(bytes)?;
            *heap += rule.held_heap(&thing);
            held.push(thing);
        }
        Some(())
    }

    /// The same of nothing, in this number of parts.
    pub(in crate::dataflow) fn divided(&self, parts: usize) -> KeptValues<R> {
        let parts = std::iter::repeat_with(ValuePart::new).take(parts).collect();
        KeptValues { cap: self.cap, rule: self.rule.clone(), parts }
    }

    pub(in crate::dataflow) fn clear(&mut self) {
        match &mut self.parts[..] {
            [one] => *one = ValuePart::new(),
            parts => parts.iter_mut().for_each(ValuePart::clear),
        }
    }

    pub(in crate::dataflow) fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<ValuePart<R>>()
            + self.parts.iter().map(ValuePart::bytes).sum::<usize>()
    }
}

impl<R: Rule> ValuePart<R> {
    fn new() -> ValuePart<R> {
        ValuePart { waiting: Vec::new(), has_value: Vec::new(), held: Vec::new(), ends: Vec::new(), heap: 0 }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.has_value.clear();
        self.held.clear();
        self.ends.clear();
        self.heap = 0;
    }

    fn bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<R::Value>()
            + self.has_value.capacity()
            + self.held.capacity() * size_of::<R::Held>()
            + self.ends.capacity() * size_of::<u32>()
            + self.heap
    }
}

impl<R: Rule> ValueWork<R> {
    pub(in crate::dataflow) fn bytes(&self) -> usize {
        self.one.capacity() * size_of::<Option<R::Held>>()
            + self.several.capacity() * size_of::<R::Held>()
            + self.starts.capacity() * size_of::<u32>()
            + self.spans.capacity() * size_of::<Span>()
    }
}

/// The things of a run, where these are the ends of runs; each run has one where there are none.
#[inline]
fn things(ends: &[u32], run: usize) -> Range<usize> {
    match ends.get(run) {
        Some(end) => run.checked_sub(1).map_or(0, |before| ends[before] as usize)..*end as usize,
        None => run..run + 1,
    }
}

/// Takes back what two keys of a person both have; `spans` are in the order of choice.
#[expect(clippy::type_complexity, reason = "each run beside its number and its length")]
fn disentangle<R: Rule>(rule: &R, held: &mut [R::Held], spans: &mut Vec<Span>) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_unstable_by_key(|at| spans[*at].start);
    let mut runs: Vec<(usize, (&mut [R::Held], usize))> = Vec::with_capacity(spans.len());
    let (mut rest, mut passed) = (held, 0);
    for at in order {
        let Span { start, end, .. } = spans[at];
        let (before, behind) = rest.split_at_mut(end - passed);
        let (_, run) = before.split_at_mut(start - passed);
        runs.push((at, (run, end - start)));
        (rest, passed) = (behind, end);
    }
    runs.sort_unstable_by_key(|(at, _)| *at);
    let mut runs: Vec<(&mut [R::Held], usize)> = runs.into_iter().map(|(_, run)| run).collect();
    rule.disentangle(&mut runs);
    let left: Vec<usize> = runs.into_iter().map(|(_, left)| left).collect();
    spans.iter_mut().zip(left).for_each(|(span, left)| span.end = span.start + left);
    spans.retain(|span| span.start < span.end);
}
