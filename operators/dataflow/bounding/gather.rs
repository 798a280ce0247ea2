//! Gathering of a part of a table: the records of each person are put together and cut down to the bound.

use std::cmp::Ordering;

use super::identity::Identity;
use super::key_numbers::Index;
use super::key_numbers::KeyNumbers;
use super::rule::Cap;
use super::rule::{Keyed, Rule, keep};
use super::selector::ContributionSelector;
use super::table::{Fresh, PanePart, PersonRow};

/// The work space of one table: nothing in it outlives a call but memory.
pub(super) struct Gather<P, R: Rule> {
    index: Index,
    rows: Vec<PersonRow<P>>,
    held: Vec<Keyed<R::Held>>,
    /// The items, each with the number of its row.
    items: Vec<Keyed<R::Held>>,
    rows_of: Vec<u32>,
    /// The same row by row, and where each row ends.
    sorted: Vec<Keyed<R::Held>>,
    ends: Vec<u32>,
    choices: Vec<(u64, u32)>,
}

/// The rules by which a group is cut.
struct GroupRules<'a, K, R> {
    selector: &'a ContributionSelector,
    cap: Cap,
    rule: &'a R,
    names: &'a KeyNumbers<K>,
}

impl<P, R: Rule> Default for Gather<P, R> {
    fn default() -> Gather<P, R> {
        Gather {
            index: Index::default(),
            rows: Vec::new(),
            held: Vec::new(),
            items: Vec::new(),
            rows_of: Vec::new(),
            sorted: Vec::new(),
            ends: Vec::new(),
            choices: Vec::new(),
        }
    }
}

impl<P: Identity + Eq, R: Rule> Gather<P, R> {
    /// Cuts every person of a part down to what may still count.
    pub(super) fn settle<K: Identity + Ord + Clone>(
        &mut self,
        part: &mut PanePart<P, R>,
        selector: &ContributionSelector,
        cap: Cap,
        rule: &R,
        names: &KeyNumbers<K>,
    ) {
        let rules = GroupRules { selector, cap, rule, names };
        // The old rows go to the work space, and new ones take the place of what was left there.
        self.take(part, &rules);
        part.heap = 0;
        self.each_person(&rules, |mut row, group, choices| {
            let left = if R::HOLDS_ALL { group.len() } else { rules.choose(&row.person, group, choices) };
            if left == 0 {
                return;
            }
            let group = &group[..left];
            part.heap +=
                row.person.heap() + group.iter().map(|keyed| rule.held_heap(&keyed.held)).sum::<usize>();
            part.held.extend_from_slice(group);
            row.end = part.held.len() as u32;
            part.rows.push(row);
        });
    }

    /// Calls `count` with every person of whom something is left, and leaves the part empty.
    pub(super) fn close<K: Identity + Ord + Clone>(
        &mut self,
        part: &mut PanePart<P, R>,
        selector: &ContributionSelector,
        cap: Cap,
        rule: &R,
        names: &KeyNumbers<K>,
        mut count: impl FnMut(&P, &[Keyed<R::Held>]),
    ) {
        let rules = GroupRules { selector, cap, rule, names };
        self.take(part, &rules);
        self.each_person(&rules, |row, group, choices| {
            let left = rule.cancel(group);
            let left = rules.choose(&row.person, &mut group[..left], choices);
            let before = |a, b| rules.order(&row.person, a, b) == Ordering::Less;
            let left = rule.disentangle(&mut group[..left], before);
            if left > 0 {
                count(&row.person, &group[..left]);
            }
        });
    }

    /// Numbers the persons of a part and takes everything out of it.
    fn take<K: Identity + Ord + Clone>(&mut self, part: &mut PanePart<P, R>, rules: &GroupRules<'_, K, R>) {
        std::mem::swap(&mut self.rows, &mut part.rows);
        std::mem::swap(&mut self.held, &mut part.held);
        let Gather { index, rows, held, items, rows_of, .. } = self;
        index.reset(rows.len() + part.fresh.len() + part.brought.len());
        for (number, row) in rows.iter().enumerate() {
            index.find_or_insert(row.slot, number as u32, |_| false);
            rows_of.resize(row.end as usize, number as u32);
        }
        items.append(held);
        let mut row_of = |person: P, slot: u32| {
            // A part of 2^32 persons would need 100 GB; a worker's memory ends first.
            let next = rows.len() as u32;
            let found = index.find_or_insert(slot, next, |at| rows[at as usize].person == person);
            found.unwrap_or_else(|| {
                rows.push(PersonRow { person, slot, end: 0 });
                next
            })
        };
        for (person, slot, keyed) in part.brought.drain(..) {
            rows_of.push(row_of(person, slot));
            items.push(keyed);
        }
        let GroupRules { selector, rule, names, .. } = rules;
        for Fresh { person, slot, key, value } in part.fresh.drain(..) {
            let choice = || selector.choice(selector.person(&person), names.hash(key));
            items.push(Keyed { key, held: rule.hold(selector, choice, value) });
            rows_of.push(row_of(person, slot));
        }
    }

    /// Calls `finish` with each row and all that is held of the person, settled.
    fn each_person<K: Identity + Ord + Clone>(
        &mut self,
        rules: &GroupRules<'_, K, R>,
        mut finish: impl FnMut(PersonRow<P>, &mut [Keyed<R::Held>], &mut Vec<(u64, u32)>),
    ) {
        let Gather { rows, items, rows_of, sorted, ends, choices, .. } = self;
        ends.clear();
        ends.resize(rows.len() + 1, 0);
        for &row in rows_of.iter() {
            ends[row as usize + 1] += 1;
        }
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += *end;
            *end = sum;
        }
        if let Some(item) = items.first() {
            // Any item will do: all are overwritten.
            let filler = item.clone();
            sorted.resize(items.len(), filler);
        }
        // Each row's entry starts where it begins, and is where it ends when all items have their place.
        for (item, &row) in items.drain(..).zip(rows_of.iter()) {
            let place = &mut ends[row as usize];
            sorted[*place as usize] = item;
            *place += 1;
        }
        let mut start = 0;
        for (row, &end) in rows.drain(..).zip(ends.iter()) {
            let group = &mut sorted[start as usize..end as usize];
            start = end;
            let left = rules.rule.settle(rules.cap, group);
            finish(row, &mut group[..left], choices);
        }
        rows_of.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        let things = self.held.capacity() + self.items.capacity() + self.sorted.capacity();
        self.index.bytes()
            + self.rows.capacity() * size_of::<PersonRow<P>>()
            + things * size_of::<Keyed<R::Held>>()
            + (self.rows_of.capacity() + self.ends.capacity()) * size_of::<u32>()
            + self.choices.capacity() * size_of::<(u64, u32)>()
    }
}

impl<K: Identity + Ord + Clone, R: Rule> GroupRules<'_, K, R> {
    /// Moves the keys of a person that come first in the order of choice to the front, at most the cap, of a
    /// group in which the things of one key are neighbours. How many things those are.
    #[inline]
    fn choose<P: Identity>(
        &self,
        person: &P,
        group: &mut [Keyed<R::Held>],
        choices: &mut Vec<(u64, u32)>,
    ) -> usize {
        if group.len() <= self.cap.keys() as usize {
            return group.len();
        }
        self.choose_among(person, group, choices)
    }

    fn choose_among<P: Identity>(
        &self,
        person: &P,
        group: &mut [Keyed<R::Held>],
        choices: &mut Vec<(u64, u32)>,
    ) -> usize {
        let most = self.cap.keys() as usize;
        let person = self.selector.person(person);
        let choice = |key: u32| self.selector.choice(person, self.names.hash(key));
        choices.clear();
        choices.reserve(group.len());
        for keyed in group.iter() {
            if choices.last().is_none_or(|&(_, key)| key != keyed.key) {
                choices.push((choice(keyed.key), keyed.key));
            }
        }
        let above = choices.len().saturating_sub(most);
        if above == 0 {
            return group.len();
        }
        // Most often there is one thing a key and one key too many; then it is sooner found than a place in
        // an order.
        if choices.len() == group.len() && above <= 3 {
            for last in (most..choices.len()).rev() {
                let highest = self.highest(&choices[..=last]);
                choices.swap(highest, last);
                group.swap(highest, last);
            }
            return most;
        }
        let (_, &mut last, _) = choices.select_nth_unstable_by(most - 1, |&a, &b| self.compare(a, b));
        keep(group, |keyed| self.compare((choice(keyed.key), keyed.key), last) != Ordering::Greater)
    }

    /// Returns the index of the choice that is last in the order of selection.
    fn highest(&self, choices: &[(u64, u32)]) -> usize {
        let (mut highest, mut tied) = (0, false);
        for (at, (choice, _)) in choices.iter().enumerate() {
            let best = choices[highest].0;
            tied |= at > 0 && *choice == best;
            highest = if *choice > best { at } else { highest };
        }
        if tied {
            let last = |a: &usize, b: &usize| self.compare(choices[*a], choices[*b]);
            highest = (0..choices.len()).max_by(last).unwrap_or(highest);
        }
        highest
    }

    /// The order in which the keys of a person are chosen.
    fn order<P: Identity>(&self, person: &P, a: u32, b: u32) -> Ordering {
        let person = self.selector.person(person);
        let place = |key: u32| (self.selector.choice(person, self.names.hash(key)), key);
        self.compare(place(a), place(b))
    }

    /// By the hash, and where that is equal by the keys themselves: never by their numbers, which depend on
    /// arrival.
    #[inline]
    fn compare(&self, (a, key_a): (u64, u32), (b, key_b): (u64, u32)) -> Ordering {
        a.cmp(&b).then_with(|| self.names.key(key_a).cmp(self.names.key(key_b)))
    }
}
