//! How much of its tables a process spills, and when: by the memory that it holds, beside the limit.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::file::{SpillFile, is_in_memory};

/// The part of the limit, in percent, from which on panes are spilled: below the one at which reading stops.
const SPILL: u64 = 60;
/// The part of the limit by which memory must grow until less is held in tables.
const STEP: u64 = 2;
/// The part of the limit below which tables may grow again.
const RELAX: u64 = 50;
/// The part of the limit that the largest pane may take on all workers: one that is larger is not spilled, for when its
/// window closes it has to be in memory as a whole.
const LARGEST: u64 = 30;
/// The memory of a pane that is too small to be spilled: what remembers it would be as large.
const SMALLEST: usize = if cfg!(test) { 1 } else { 1 << 10 };
/// The memory of tables of which a worker is left.
const LEAST: usize = 1 << 20;
/// The number of records between two measurements of the tables, while there is a cap on them.
const MEASURED: usize = 1 << 14;

/// The memory of a process, as its guard measures it, and the directory for what it has no room for. Shared by all
/// workers.
pub(crate) struct SpillSpace {
    directory: PathBuf,
    limit: u64,
    workers: u64,
    /// The memory of the process.
    resident: AtomicU64,
    /// The memory of the tables of all workers, as far as it was measured.
    tables: AtomicI64,
    highest: Mutex<Highest>,
    /// True once a pane could not be written.
    is_full: AtomicBool,
    /// True once it was said that the directory lies in memory.
    is_in_memory: AtomicBool,
    warn: Box<dyn Fn(&str) + Send + Sync>,
    /// True if everything is spilled after each batch, for tests.
    is_forced: bool,
    /// The number of panes that were read back.
    #[cfg(test)]
    pub(super) read: AtomicU64,
    /// The number of panes that can be read back.
    #[cfg(test)]
    pub(super) readable: u64,
}

/// The highest memory of the process so far, and that of its tables then.
#[derive(Clone, Copy, Default)]
struct Highest {
    resident: u64,
    tables: i64,
}

redacted!(SpillSpace);

#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the guard of memory is a part of the command"))]
impl SpillSpace {
    /// Creates the space of a process with this number of workers and this limit of memory.
    pub(crate) fn new(
        directory: PathBuf,
        (limit, workers): (u64, usize),
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> SpillSpace {
        SpillSpace {
            directory,
            limit,
            workers: workers.max(1) as u64,
            resident: AtomicU64::new(0),
            tables: AtomicI64::new(0),
            highest: Mutex::default(),
            is_full: AtomicBool::new(false),
            is_in_memory: AtomicBool::new(false),
            warn: Box::new(warn),
            is_forced: false,
            #[cfg(test)]
            read: AtomicU64::new(0),
            #[cfg(test)]
            readable: u64::MAX,
        }
    }

    /// Spills everything after each batch, or half of it in turns.
    #[cfg(test)]
    pub(in crate::dataflow) fn forced(self) -> SpillSpace {
        SpillSpace { is_forced: true, ..self }
    }

    /// Fails to read panes back after this number of them.
    #[cfg(test)]
    pub(in crate::dataflow) fn readable(self, panes: u64) -> SpillSpace {
        SpillSpace { readable: panes, ..self }
    }

    /// The number of panes that were read back.
    #[cfg(test)]
    pub(in crate::dataflow) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Takes note of the memory of the process; returns how much of it is in use.
    ///
    /// An allocator keeps what is given back to it for what comes next, so the memory of the process does not become
    /// less with its tables. So what they held when it was at its highest, and do not hold now, is not in use.
    pub(crate) fn note_memory(&self, resident: u64) -> u64 {
        self.resident.store(resident, Ordering::Relaxed);
        if self.is_full.load(Ordering::Relaxed) {
            return resident;
        }
        let tables = self.tables.load(Ordering::Relaxed);
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        if resident > highest.resident {
            *highest = Highest { resident, tables };
        }
        let free = highest.tables.saturating_sub(tables).max(0) as u64;
        resident.min(highest.resident.saturating_sub(free))
    }

    /// Takes note of the memory of the tables of all workers, as they were measured. A process may have been at its highest
    /// before they were: what they hold now they held then.
    fn note_tables(&self, tables: i64) {
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        if self.resident().saturating_add(self.part(STEP)) >= highest.resident {
            highest.tables = highest.tables.max(tables);
        }
    }

    fn resident(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    /// Returns a part of the limit, in percent.
    fn part(&self, percent: u64) -> u64 {
        // Without overflow: a limit may be any number.
        (u128::from(self.limit) * u128::from(percent) / 100) as u64
    }

    /// The memory of the largest pane that is spilled.
    pub(in crate::dataflow) fn largest(&self) -> usize {
        usize::try_from(self.part(LARGEST) / self.workers).unwrap_or(usize::MAX)
    }

    /// Makes a file, and warns once where it lies in memory.
    pub(super) fn file(&self) -> io::Result<SpillFile> {
        let made = SpillFile::create(&self.directory)?;
        if is_in_memory(&made.file) && !self.is_in_memory.swap(true, Ordering::Relaxed) {
            (self.warn)(&format!(
                "limits.spill: {} is a file system in memory, so open windows that are written there leave the process and \
                 stay in the memory of the machine; name a directory on a disk",
                self.directory.display()
            ));
        }
        Ok(made)
    }

    /// Goes on without spilling, and warns once.
    pub(super) fn give_up(&self, error: &io::Error) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            (self.warn)(&format!(
                "limits.spill: open windows cannot be written to {}: {error}; they stay in memory, and reading stops at four \
                 fifths of limits.memory",
                self.directory.display()
            ));
        }
    }
}

/// The decision of one worker how much of its tables is spilled, and when.
///
/// Once the process holds [60 percent](SPILL) of its limit, tables are capped at what they hold then, and at three quarters
/// of that each time it still grows by [2 percent](STEP). Where they reach the cap, they are spilled down to half of it.
pub(in crate::dataflow) struct SpillBudget {
    pub(super) space: Arc<SpillSpace>,
    /// The memory of the process at which the cap becomes less.
    mark: u64,
    cap: Option<usize>,
    /// The records since the last measurement.
    records: usize,
    /// The memory of the tables at the last measurement.
    measured: usize,
}

impl SpillBudget {
    pub(in crate::dataflow) fn new(space: Arc<SpillSpace>) -> SpillBudget {
        let mark = space.part(SPILL);
        SpillBudget { space, mark, cap: None, records: 0, measured: 0 }
    }

    pub(in crate::dataflow) fn space(&self) -> &SpillSpace {
        &self.space
    }

    /// Returns true if the tables should be measured, after this number of records more.
    pub(in crate::dataflow) fn is_due(&mut self, records: usize) -> bool {
        let space = Arc::clone(&self.space);
        if space.is_forced || space.is_full.load(Ordering::Relaxed) {
            return space.is_forced;
        }
        self.records += records;
        if self.cap.is_some() && space.resident() < space.part(RELAX) {
            (self.cap, self.mark) = (None, space.part(SPILL));
            self.note(0);
        }
        space.resident() >= self.mark || (self.cap.is_some() && self.records >= MEASURED)
    }

    /// Returns the memory that tables which hold this much should hold at most; `None` if they may hold more.
    pub(in crate::dataflow) fn target(&mut self, held: usize) -> Option<usize> {
        self.records = 0;
        self.note(held);
        let space = &*self.space;
        if space.is_forced {
            // All of it, or half.
            self.mark ^= 1;
            return Some(held / 2 * (self.mark & 1) as usize);
        }
        let resident = space.resident();
        let is_over = resident >= self.mark;
        if is_over {
            let less = |cap: usize| cap.min(held) / 4 * 3;
            self.cap = Some(self.cap.map_or(held, less).max(LEAST));
            self.mark = resident.saturating_add(space.part(STEP));
        }
        self.cap.filter(|cap| is_over || held > *cap).map(|cap| cap / 2)
    }

    /// Takes note of what the tables hold.
    pub(in crate::dataflow) fn note(&mut self, held: usize) {
        let change = held as i64 - self.measured as i64;
        self.space.note_tables(self.space.tables.fetch_add(change, Ordering::Relaxed) + change);
        self.measured = held;
    }

    /// Returns true while tables are capped.
    pub(in crate::dataflow) fn is_tight(&self) -> bool {
        self.cap.is_some()
    }

    /// Returns true if a pane of this memory is worth being spilled.
    pub(in crate::dataflow) fn is_worth(&self, bytes: usize) -> bool {
        bytes >= SMALLEST
    }
}

impl Drop for SpillBudget {
    fn drop(&mut self) {
        self.note(0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn space(limit: u64) -> Arc<SpillSpace> {
        Arc::new(SpillSpace::new(std::env::temp_dir(), (limit, 1), |_| {}))
    }

    // Refutes tables that are spilled while there is room, or again and again because the memory of the process does not
    // become less with them.
    #[test]
    fn tables_are_capped_once_the_process_holds_three_fifths() {
        const MB: usize = 1 << 20;
        let space = space(1_000 * MB as u64);
        let mut budget = SpillBudget::new(Arc::clone(&space));
        assert!(!budget.is_due(usize::MAX / 2));
        space.note_memory(599 * MB as u64);
        assert!(!budget.is_due(1));
        space.note_memory(600 * MB as u64);
        assert!(budget.is_due(1));
        assert_eq!(budget.target(300 * MB), Some(150 * MB));
        // They grow again up to the cap, while the process holds what it did.
        assert!(!budget.is_due(MEASURED - 1));
        assert!(budget.is_due(1));
        assert_eq!(budget.target(300 * MB), None);
        assert!(budget.is_due(MEASURED));
        assert_eq!(budget.target(301 * MB), Some(150 * MB));
        // It still grows.
        space.note_memory(620 * MB as u64);
        assert!(budget.is_due(1));
        assert_eq!(budget.target(200 * MB), Some(75 * MB), "half of three quarters of what they held");
        space.note_memory(499 * MB as u64);
        assert!(!budget.is_due(MEASURED));
        space.note_memory(500 * MB as u64);
        assert!(!budget.is_due(MEASURED));
    }

    // Refutes a guard that takes memory for used which tables gave back, and one that takes memory for free which
    // something else has.
    #[test]
    fn memory_that_tables_gave_back_is_free() {
        let space = space(1_000);
        let mut budget = SpillBudget::new(Arc::clone(&space));
        budget.note(300);
        assert_eq!(space.note_memory(800), 800);
        budget.note(100);
        assert_eq!(space.note_memory(800), 600);
        assert_eq!(space.note_memory(550), 550, "the allocator gave it back");
        assert_eq!(space.note_memory(900), 900, "more than ever");
        budget.note(300);
        assert_eq!(space.note_memory(900), 900);
        drop(budget);
        assert_eq!(space.note_memory(900), 600);
    }

    // Refutes a process that waits for ever because its tables were first measured when it was at its highest.
    #[test]
    fn tables_that_are_measured_late_were_held_before() {
        let space = space(1_000);
        let mut budget = SpillBudget::new(Arc::clone(&space));
        assert_eq!(space.note_memory(800), 800);
        budget.note(500);
        budget.note(100);
        assert_eq!(space.note_memory(800), 400);
        // Memory that the allocator gave back since is not that of tables.
        space.note_memory(600);
        budget.note(700);
        budget.note(0);
        assert_eq!(space.note_memory(600), 300);
    }
}
