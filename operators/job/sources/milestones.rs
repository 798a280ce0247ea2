//! The milestones of an input that is followed: the positions of its reading thread, once every worker has
//! parsed what lies before them.
//!
//! The reading thread registers the positions that it has reached, and sends their number to every worker
//! behind the lines. A worker that comes to the number reports the latest time of the lines before it. When
//! all of them have, the milestone is complete.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::dealer::{Dealer, DealerGone};
use crate::dataflow::{Milestone, WrittenPosition};
use crate::gate::Positions;
use crate::time::Time;

/// The changed positions of partitions; `None` for one that is gone.
pub(super) type ChangedPositions = Vec<(String, Option<Vec<u8>>)>;

/// The milestones of the input, in one process.
#[derive(Default)]
pub(super) struct Milestones {
    /// The number of workers of this process.
    threads: usize,
    /// The number of processes that report milestones of the input.
    parts: usize,
    /// The positions that a former run has left.
    former: OnceLock<Vec<Positions>>,
    state: Mutex<MilestoneState>,
}

#[derive(Default)]
struct MilestoneState {
    next: u64,
    /// The milestones that not every worker has come to, in order, with the number of those that have.
    pending: VecDeque<(u64, usize, Milestone)>,
    complete: VecDeque<Milestone>,
    /// The newest positions that the ledger holds, of partitions that are there.
    written: Positions,
}

impl Milestones {
    pub(super) fn new(threads: usize, parts: usize) -> Milestones {
        Milestones { threads, parts, ..Milestones::default() }
    }

    /// Sets the positions from which the reading thread begins, once.
    pub(super) fn begin(&self, former: Vec<Positions>) {
        // Every worker of the process has received the same.
        let _ = self.former.set(former);
    }

    /// Waits for the positions from which to begin.
    pub(super) fn former(&self, dealer: &Dealer) -> Result<&[Positions], DealerGone> {
        loop {
            if let Some(former) = self.former.get() {
                return Ok(former);
            }
            dealer.wait()?;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Registers positions behind everything dealt so far; returns their number.
    pub(super) fn register(&self, changed: ChangedPositions) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let milestone = Milestone { latest: Time::MIN, changed, parts: self.parts };
        state.pending.push_back((number, 0, milestone));
        number
    }

    /// Reports that a worker has come to a milestone, with the latest time of its lines since the one before.
    pub(super) fn reach(&self, number: u64, latest: Time) {
        let mut state = self.lock();
        for (known, reached, milestone) in &mut state.pending {
            if *known == number {
                *reached += 1;
                milestone.latest = milestone.latest.max(latest);
            }
        }
        while state.pending.front().is_some_and(|(_, reached, _)| *reached >= self.threads) {
            let complete = state.pending.pop_front().map(|(_, _, milestone)| milestone);
            state.complete.extend(complete);
        }
    }

    /// Returns true if milestones up to this one are not complete.
    pub(super) fn has_pending(&self, reached: Option<u64>) -> bool {
        let state = self.lock();
        let is_before = |number: u64| reached.is_some_and(|reached| number <= reached);
        state.pending.front().is_some_and(|(number, ..)| is_before(*number))
    }

    /// Takes the next complete milestone.
    pub(super) fn take(&self) -> Option<Milestone> {
        self.lock().complete.pop_front()
    }

    /// Records positions that the ledger holds.
    pub(super) fn set_written(&self, positions: Vec<WrittenPosition>) {
        let mut state = self.lock();
        for (_, partition, position) in positions {
            match position {
                Some(position) => _ = state.written.insert(partition, position),
                None => _ = state.written.remove(&partition),
            }
        }
    }

    /// Takes the newest position of a partition that the ledger holds, if it is another than before.
    pub(super) fn take_written(&self, partition: &str) -> Option<Vec<u8>> {
        self.lock().written.remove(partition)
    }

    fn lock(&self) -> MutexGuard<'_, MilestoneState> {
        // Plain values, consistent between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Joins the positions that the parts of a former run have left: of each partition, the one of the part that
/// had come least far by `offset`. A partition that some part does not know has been read by none from its
/// start, as far as is known, and is left out.
pub(super) fn joined<M>(
    former: &[Positions],
    read: impl Fn(&[u8]) -> Option<M>,
    offset: impl Fn(&M) -> u64,
) -> Vec<(String, M)> {
    let Some((first, others)) = former.split_first() else { return Vec::new() };
    let mut all = Vec::new();
    for (name, position) in first {
        let known = others.iter().map(|part| part.get(name));
        let positions: Option<Vec<M>> =
            std::iter::once(Some(position)).chain(known).map(|position| read(position?)).collect();
        let least = positions.into_iter().flatten().min_by_key(|mark| offset(mark));
        all.extend(least.map(|mark| (name.clone(), mark)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a milestone that does not wait for every worker, and a latest time that is not that of all.
    #[test]
    fn a_milestone_is_complete_once_every_worker_has_come_to_it() {
        let milestones = Milestones::new(2, 3);
        let position = |text: &str| vec![("a.log".to_owned(), Some(text.as_bytes().to_vec()))];
        let (first, second) = (milestones.register(position("1")), milestones.register(position("2")));
        milestones.reach(first, 10);
        milestones.reach(second, 5);
        assert_eq!(milestones.take(), None);
        milestones.reach(first, 30);
        let complete = |latest, text| Some(Milestone { latest, changed: position(text), parts: 3 });
        assert_eq!(milestones.take(), complete(30, "1"));
        assert_eq!(milestones.take(), None);
        milestones.reach(second, 7);
        assert_eq!(milestones.take(), complete(7, "2"));
    }

    // Refutes a time that is declared complete before the places that lie before it are reported: the other worker is behind.
    #[test]
    fn milestones_that_another_worker_has_not_come_to_are_pending() {
        let milestones = Milestones::new(2, 1);
        let numbers = ["1", "2", "3"].map(|text| milestones.register(vec![(text.to_owned(), None)]));
        assert!(!milestones.has_pending(None));
        milestones.reach(numbers[0], 0);
        milestones.reach(numbers[1], 0);
        assert!(milestones.has_pending(Some(numbers[1])), "the other worker is behind");
        milestones.reach(numbers[0], 0);
        assert!(milestones.has_pending(Some(numbers[1])), "it has come to the first one");
        milestones.reach(numbers[1], 0);
        assert!(!milestones.has_pending(Some(numbers[1])), "the third one lies behind");
    }

    #[test]
    fn the_least_position_of_all_parts_counts() {
        let part = |entries: &[(&str, u64)]| -> Positions {
            entries.iter().map(|(name, at)| ((*name).to_owned(), at.to_le_bytes().to_vec())).collect()
        };
        let read = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let former = [part(&[("a", 7), ("b", 3), ("c", 1)]), part(&[("a", 5), ("b", 4)])];
        assert_eq!(joined(&former, read, |at| *at), [("a".to_owned(), 5), ("b".to_owned(), 3)]);
        assert!(joined(&[], read, |at| *at).is_empty());
    }
}
