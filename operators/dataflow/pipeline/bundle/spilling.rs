//! The panes of a bundle that memory has no room for: they move to a file, and come back when their window closes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Bundle;
use crate::dataflow::bounding::{PARTS, People, Spillable};
use crate::dataflow::pipeline::columns::KeyColumn;
use crate::dataflow::pipeline::overlap::PaneKey;
use crate::dataflow::pipeline::protect::RecordIdentity;
use crate::dataflow::pipeline::unit::Person;
use crate::dataflow::spill::{Spill, SpillError, SpilledPane};
use crate::dataflow::windows::Schedule;
use crate::time::Time;

/// The panes of a bundle that are in a file, and not in memory.
pub(super) struct BundleSpill {
    spill: Spill,
    /// By pane: a pane may have been spilled several times.
    panes: BTreeMap<PaneKey, Vec<SpilledPane>>,
    /// The number of the last batch with a record of the pane at a place.
    written: Vec<u64>,
    /// The reason why a pane could not be read: no window closes any more.
    lost: Option<SpillError>,
}

impl<D, P, F, N, T> Bundle<D, P, F, N, T>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D>,
    T: Fn(&D) -> Time + 'static,
{
    /// Spills the panes that were least recently written, if the process is short of memory, after this number of further records;
    /// those of `window` stay, which is being closed.
    pub(super) fn relieve(&mut self, window: Option<u64>, records: usize) {
        let Some(BundleSpill { spill, .. }) = &mut self.spill else { return };
        if !spill.budget.is_due(records) {
            return;
        }
        let mut held = self.bytes();
        let Some(BundleSpill { spill, .. }) = &mut self.spill else { return };
        let Some(target) = spill.budget.target(held) else { return };
        self.discard_spare();
        self.discard_wholes(window);
        let Some(BundleSpill { written, .. }) = &self.spill else { return };
        let closing = window.map(|window| self.panes.panes_of(window)).unwrap_or_default();
        let indexed: BTreeSet<usize> = self.index.places().collect();
        let written = |at: usize| written.get(at).copied().unwrap_or(0);
        let mut panes: Vec<(u64, PaneKey, usize)> = self
            .panes
            .open()
            .filter(|(key, at)| !closing.contains_key(key) && !indexed.contains(at))
            .map(|(key, at)| (written(at), key, at))
            .collect();
        panes.sort_unstable();
        for (_, key, at) in panes {
            if held <= target {
                break;
            }
            held = held.saturating_sub(self.spill_pane(key, at));
        }
        self.discard_spare();
        if let Some(BundleSpill { spill, .. }) = &mut self.spill {
            spill.budget.note(held);
        }
    }

    /// Spills a pane, unless it has to stay in memory; returns the memory that is free then.
    fn spill_pane(&mut self, key: PaneKey, at: usize) -> usize {
        let Some(BundleSpill { spill, panes, .. }) = &self.spill else { return 0 };
        let (mut bytes, largest) = (self.bytes_of(at), spill.budget.space().largest());
        if !spill.budget.is_worth(bytes) {
            return 0;
        }
        let spilled: usize = panes.get(&key).into_iter().flatten().map(|pane| pane.bytes).sum();
        let mut read = 0;
        if spilled.saturating_add(bytes) > largest && spilled > 0 {
            // A person who came again is held once.
            if self.read_pane(key).is_err() {
                return 0;
            }
            read = self.bytes_of(at).saturating_sub(bytes);
            bytes += read;
        }
        if bytes > largest {
            return 0;
        }
        // What waits is put where it belongs: that is less to write.
        self.grow(at);
        self.gather_all(at);
        let Bundle { people, columns, spill, .. } = self;
        let (Some(Some(people)), Some(of_bundle)) = (people.get(at), spill) else { return 0 };
        let written = of_bundle.spill.write(bytes, |writer, buffer| {
            buffer.clear();
            (people.parts() as u32).store(buffer);
            columns.iter().for_each(|column| column.borrow().write_names(at, buffer));
            writer.piece(buffer)?;
            (0..people.parts()).try_for_each(|part| {
                buffer.clear();
                people.write(part, buffer);
                columns.iter().for_each(|column| column.borrow().write(at, part, buffer));
                writer.piece(buffer)
            })
        });
        let Some(written) = written else { return 0 };
        of_bundle.panes.entry(key).or_default().push(written);
        self.panes.move_to(key, None);
        self.discard(at);
        bytes - read
    }

    /// Reads the panes of a window back that were spilled.
    pub(super) fn read_back(&mut self, window: u64) -> Result<(), SpillError> {
        let Some(BundleSpill { panes, lost, .. }) = &self.spill else { return Ok(()) };
        if let Some(lost) = lost {
            return Err(lost.clone());
        }
        let of_window = self.panes.schedule.panes(window);
        let range = (of_window.start, 0)..(of_window.end, 0);
        let of_window = panes.range(range).map(|(key, _)| *key).filter(|(_, first)| *first <= window);
        let of_window: Vec<PaneKey> = of_window.collect();
        if of_window.is_empty() {
            return Ok(());
        }
        self.relieve(Some(window), 0);
        of_window.into_iter().try_for_each(|key| self.read_pane(key))
    }

    /// Reads a pane back, as often as it was spilled, and merges it with what came since.
    fn read_pane(&mut self, key: PaneKey) -> Result<(), SpillError> {
        let spilled = self.spill.as_mut().and_then(|spill| spill.panes.remove(&key)).unwrap_or_default();
        let open = self.panes.place_of(key);
        let mut into = open.inspect(|at| self.grow(*at));
        for pane in spilled {
            let at = self.panes.take_place();
            let read = self.read_one(&pane, at, key.1);
            let Some(of_bundle) = &mut self.spill else { return Ok(()) };
            of_bundle.spill.give_back(pane);
            if let Err(error) = read {
                of_bundle.lost = Some(error.clone());
                return Err(error);
            }
            match into {
                Some(into) => {
                    self.merge(into, at);
                    self.discard(at);
                }
                None => {
                    self.panes.move_to(key, Some(at));
                    into = Some(at);
                }
            }
        }
        Ok(())
    }

    /// Reads what was written of a pane whose first window this is.
    fn read_one(&mut self, pane: &SpilledPane, at: usize, window: u64) -> Result<(), SpillError> {
        self.open(at, window);
        let Bundle { people, columns, spill, .. } = self;
        let (Some(Some(people)), Some(BundleSpill { spill, .. })) = (people.get_mut(at), spill) else {
            return Err(SpillError::Changed);
        };
        spill.read(pane, |reader, buffer| {
            reader.piece(buffer)?;
            let mut bytes = &buffer[..];
            let selector = people.selector().clone();
            let parts = u32::restore(&mut bytes).map(|parts| parts as usize);
            let parts = parts.filter(|parts| [1, PARTS].contains(parts));
            let parts = parts.ok_or(SpillError::Changed)?;
            **people = People::of_parts(selector, parts);
            let selector = people.selector();
            let names = |column: &Rc<RefCell<dyn KeyColumn<D, P, N>>>| {
                column.borrow_mut().read_names(at, selector, parts, &mut bytes)
            };
            columns.iter().try_for_each(names).ok_or(SpillError::Changed)?;
            (0..parts).try_for_each(|part| {
                reader.piece(buffer)?;
                let mut bytes = &buffer[..];
                let mut read = || {
                    people.read(part, &mut bytes)?;
                    columns
                        .iter()
                        .try_for_each(|column| column.borrow_mut().read(at, people, part, &mut bytes))
                };
                read().filter(|()| bytes.is_empty()).ok_or(SpillError::Changed)
            })
        })
    }

    /// The memory of all panes, in bytes.
    fn bytes(&self) -> usize {
        (0..self.people.len().max(self.little.len())).map(|at| self.bytes_of(at)).sum()
    }

    /// The memory of a pane.
    fn bytes_of(&self, at: usize) -> usize {
        let few = self.little.get(at).and_then(Option::as_ref);
        let few = few.map_or(0, |little| little.items.capacity() * size_of::<N::Item>());
        let Some(people) = self.people(at) else { return few };
        few + people.bytes() + self.columns.iter().map(|column| column.borrow().bytes(at)).sum::<usize>()
    }

    /// Gives up the memory of former panes.
    pub(super) fn discard_spare(&mut self) {
        self.spare = Vec::new();
        self.columns.iter().for_each(|column| column.borrow_mut().discard_spare());
    }

    /// Gives up what was made for windows alone, but for one: it is made again where it is needed.
    fn discard_wholes(&mut self, window: Option<u64>) {
        let others: Vec<u64> = self.whole.keys().copied().filter(|other| Some(*other) != window).collect();
        for other in others {
            if let Some(Some((at, true))) = self.whole.remove(&other) {
                self.discard(at);
            }
        }
    }
}

impl BundleSpill {
    pub(super) fn new(spill: Spill) -> BundleSpill {
        BundleSpill { spill, panes: BTreeMap::new(), written: Vec::new(), lost: None }
    }

    /// Returns true while the tables of the worker are capped.
    pub(super) fn is_tight(&self) -> bool {
        self.spill.budget.is_tight()
    }

    /// The first pane that is in the file.
    pub(super) fn first_pane(&self) -> Option<PaneKey> {
        Some(*self.panes.first_key_value()?.0)
    }

    /// Records that a batch has a record of the pane at a place.
    pub(super) fn note_written(&mut self, at: usize, batch: u64) {
        if self.written.len() <= at {
            self.written.resize(at + 1, 0);
        }
        self.written[at] = batch;
    }

    /// Gives up the panes that no window from `next` on has.
    pub(super) fn discard_passed(&mut self, schedule: &Schedule, next: u64) {
        while let Some(entry) = self.panes.first_entry() {
            if schedule.windows_of(entry.key().0).end > next {
                break;
            }
            entry.remove().into_iter().for_each(|pane| self.spill.give_back(pane));
        }
    }
}
