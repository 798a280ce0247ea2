//! The memory that a replay holds, for a number of records and people.
//!
//! Records that come in no order of time may be of any window, so every window is held to the end of the input; of a
//! sorted input, those that are open. The sizes are those of the plan, and `cargo bench --bench growth` measures them.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::parts::{self, PERSON, PLACE, PlannedMemory};
use crate::accounting::PrivacyUnit;
use crate::dataflow::bounding::LITTLE;
use crate::job::config::{Job, RecordOrder};
use crate::job::release_group::group_releases;
use crate::job::sources::{Id, SourceRecord};
use crate::job::unfit::UnfitJob;

/// The size of what is kept of a window for each release, beside its people: totals that wait for the end of the input.
/// Measured 1,100 to 1,400 bytes: the growth bench, 86,400 windows of one release and 200,000 of four.
const WINDOW: u64 = 1_500;

/// The size of a record in the table of a person: the key, the value, and the hash that decides whether it is kept.
const RECORD: u64 = 48;

/// The memory that a replay holds at most for people and windows, and of the people of running totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplayMemory {
    /// The number of records.
    pub rows: u64,
    /// The number of people who have them.
    pub people: u64,
    /// The number of bytes that are held; while records wait to be sorted by person, up to twice as many.
    pub bytes: u64,
    /// True if the input is sorted, so that only open windows are held.
    pub is_sorted: bool,
    /// The limit of the job, from three fifths of which on windows wait in a temporary file.
    pub limit: Option<u64>,
}

impl Job {
    /// Computes the memory that a replay of this number of records and people holds.
    ///
    /// # Errors
    ///
    /// If the job has no last window, or cannot be planned.
    pub fn replay_memory(&self, rows: u64, people: u64) -> Result<ReplayMemory, UnfitJob> {
        let offers = self.release_plans(self.horizon())?;
        let is_sorted = self.source.order == RecordOrder::Sorted;
        let mut bytes = 0u64;
        for group in group_releases(&offers) {
            if !group.schedule.is_bounded() {
                return Err(UnfitJob::new(
                    "job.until",
                    "found nothing; give the time at which the replay ends",
                ));
            }
            let held = group.plans.iter().map(|&at| {
                let place = format!("release[{}]", at + 1);
                let terms = offers[at].prepare(self).map_err(|invalid| UnfitJob::at(place, &invalid))?;
                let memory = parts::planned_memory(
                    self,
                    (&offers[at], &self.releases[at]),
                    (&group.schedule, terms.largest),
                );
                Ok(memory)
            });
            let held: Vec<PlannedMemory> = held.collect::<Result<_, UnfitJob>>()?;
            let panes = group.schedule.pane_count().max(1);
            let open = held.iter().filter_map(|memory| memory.windows_open).max();
            let held_panes = open.filter(|_| is_sorted).unwrap_or(panes).min(panes);
            let pane = self.pane(rows.div_ceil(panes), people, held.iter().map(|memory| memory.a_person));
            let for_ever: u64 = held.iter().filter_map(|memory| memory.for_ever).sum();
            let windows = if is_sorted { 0 } else { group.schedule.count() };
            let totals = windows.saturating_mul(WINDOW).saturating_mul(group.plans.len() as u64);
            bytes = bytes.saturating_add(pane.saturating_mul(held_panes)).saturating_add(totals);
            bytes = bytes.saturating_add(for_ever.saturating_mul(people));
        }
        Ok(ReplayMemory { rows, people, bytes, is_sorted, limit: self.limits.memory })
    }

    /// Returns the memory of a pane with this number of records, for releases with these bytes of a person.
    fn pane(&self, rows: u64, people: u64, persons: impl Iterator<Item = u64>) -> u64 {
        if self.account().neighbours().unit == PrivacyUnit::Record && self.source.id.is_none() {
            return 0;
        }
        if rows <= LITTLE as u64 {
            return rows * size_of::<SourceRecord<Id, ()>>() as u64;
        }
        let people = people.min(rows);
        let kept: u64 = persons.map(|person| person.saturating_sub(PERSON + PLACE)).sum();
        let kept = people.saturating_mul(kept).min(rows.saturating_mul(RECORD));
        people.saturating_mul(PERSON + PLACE).saturating_add(kept)
    }
}

impl Display for ReplayMemory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ReplayMemory { rows, people, bytes, is_sorted, limit } = self;
        let most = bytes.saturating_mul(2).div_ceil(1_000_000);
        let which = if *is_sorted { "its open windows" } else { "all its windows, to the end of the input" };
        write!(
            f,
            "of {rows} records of {people} people holds up to {most} MB for {which}, beside some 20 MB for \
             reading; an input that is sorted by time (order = \"sorted\") holds its open windows alone"
        )?;
        let Some(limit) = limit else { return Ok(()) };
        let limit = limit / 1_000_000;
        write!(
            f,
            "; what is more than limits.memory ({limit} MB) leaves room for waits in a temporary file, and each window has to \
             fit as it closes"
        )
    }
}
