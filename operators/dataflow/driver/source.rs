//! Sources of records, which declare their completeness.

use std::cell::RefCell;
use std::fmt;

use super::positions::{Milestone, WrittenPosition};
use crate::gate::{InputReading, Positions};
use crate::ledger::Name;
use crate::time::{Time, Zone};

/// The number of records in a batch, about. Larger batches are accepted; smaller ones make more turns.
pub const BATCH: usize = 1_024;

/// One worker's part of an input. The driver pulls; the source never pushes.
///
/// This source alone declares completeness, by [`Pulled::Complete`] and [`Pulled::End`]: never by an error,
/// by being dropped, or by having nothing at the moment.
pub trait Source: 'static {
    /// The type of its records.
    type Record: Clone + 'static;

    /// Appends the available records, about [`BATCH`] of them, and returns the state of the source after
    /// them. It must return soon: while it waits, so does everything else on this worker.
    ///
    /// # Errors
    ///
    /// If the input is gone or cannot be accepted. Nothing is completed by that, and the job ends.
    fn pull(&mut self, batch: &mut Vec<Self::Record>) -> Result<Pulled, SourceError>;

    /// Returns true if a restart goes on where the former run was: windows that are settled are not requested
    /// again, and the source is resumed from the positions that its [milestones](Source::milestone) left in
    /// the ledger. The parts of all workers answer alike, but for a part that ends at once.
    ///
    /// Without it, which is the default, a restart reads the whole input and requests every window again:
    /// right for an input that ends.
    fn resumes(&self) -> bool {
        false
    }

    /// Returns the way in which this source reads, which the ledger keeps with its positions. Where that of a former run may have
    /// left out more, a release that is new begins with the first window after [`InputReading::since`]. The parts of all workers
    /// answer alike.
    fn reading(&self) -> InputReading {
        InputReading::default()
    }

    /// Goes to the positions that a former run has left, one entry for each of its parts, which may have been
    /// more or fewer; empty where there is none. A partition that several parts name is read from the least
    /// of its positions. Called once, before the first pull, of a source that [resumes](Source::resumes).
    ///
    /// A source that cannot go there, since what lay there is gone, reports an input [gap](Pulled::Gap).
    ///
    /// # Errors
    ///
    /// If the input is gone.
    fn resume(&mut self, former: Vec<Positions>) -> Result<(), SourceError> {
        drop(former);
        Ok(())
    }

    /// Returns the place reached behind all records given so far, if it is another than before. The first one
    /// after a [resume](Source::resume) names every partition of this part. Called after each pull.
    fn milestone(&mut self) -> Option<Milestone> {
        None
    }

    /// Returns the zone in whose local time, without an offset, this source reads the times of its records. Of a time that the
    /// clocks of the zone repeat nobody can say which of the two was meant: a window that begins or ends within such hours
    /// is skipped, at no cost. The parts of all workers answer alike.
    fn local_zone(&self) -> Option<Zone> {
        None
    }

    /// Receives positions that the ledger holds from now on, of any part: what lies before them is needed by no
    /// restart. Called for the part of the first worker, before a pull.
    fn written(&mut self, positions: Vec<WrittenPosition>) {
        drop(positions);
    }
}

/// The state of a source after a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// More records may be available at once.
    More,
    /// Every record of this part that is in time for a window which closes at or before this time has been
    /// given. The time never goes back.
    Complete(Time),
    /// The source was not connected from the first of these times to the second, and cannot give what came in
    /// between. Windows that overlap this input gap are skipped, at no cost. It is reported before a time in
    /// it is declared complete. It may begin earlier by the time for which windows take late records: those that
    /// have ended and are not closed are skipped as well.
    Gap(Time, Time),
    /// No record is available at the moment.
    Idle,
    /// All records have been given.
    End,
}

/// The reason for which a source gives nothing more, though it has not ended.
///
/// The text is for the person who runs the job. It names a place (a file, a line, a host), and never the data
/// that was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    refused: bool,
    of_all: bool,
    place: String,
    why: Option<String>,
}

impl SourceError {
    /// Creates the error of a source that cannot be read any more.
    pub fn lost(place: impl Into<String>) -> SourceError {
        SourceError { refused: false, of_all: false, place: place.into(), why: None }
    }

    /// Creates the error of an input that cannot be accepted: it is out of its declared order, or not
    /// decodable past its declared limit.
    pub fn refused(place: impl Into<String>) -> SourceError {
        SourceError { refused: true, of_all: false, place: place.into(), why: None }
    }

    /// Creates the error of processes that share the work and read different inputs there. Each of them finds
    /// it out, and ends with it.
    #[cfg(feature = "cli")]
    pub(crate) fn differs(place: impl Into<String>) -> SourceError {
        SourceError { of_all: true, ..SourceError::refused(place) }
    }

    /// Adds the cause and the remedy: "cause; remedy".
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> SourceError {
        SourceError { why: Some(why.into()), ..self }
    }

    pub(crate) fn is_of_all(&self) -> bool {
        self.of_all
    }

    /// Returns true if the input was there and could not be accepted.
    pub fn is_refused(&self) -> bool {
        self.refused
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.refused { "the input was refused" } else { "the source is gone" };
        match &self.why {
            Some(why) => write!(f, "{}: {what}: {why}", self.place),
            None => write!(f, "{}: {what}", self.place),
        }
    }
}

impl std::error::Error for SourceError {}

/// A bounded input: the records of an iterator, and then the declaration that these were all.
#[derive(Clone)]
pub struct All<I> {
    records: I,
}

impl<I> All<I> {
    /// Creates the source of these records, which ends with them.
    pub fn of(records: impl IntoIterator<IntoIter = I>) -> All<I> {
        All { records: records.into_iter() }
    }
}

impl<I> fmt::Debug for All<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("All(<private>)")
    }
}

impl<I: Iterator<Item: Clone + 'static> + 'static> Source for All<I> {
    type Record = I::Item;

    fn pull(&mut self, batch: &mut Vec<I::Item>) -> Result<Pulled, SourceError> {
        let before = batch.len();
        batch.extend(self.records.by_ref().take(BATCH));
        Ok(if batch.len() - before < BATCH { Pulled::End } else { Pulled::More })
    }
}

// The order in which the releases of one input submit their windows to the gate.
//
// Each release learns that a window is complete when its worker schedules it. Which of several releases
// learns it first depends on threads and on the time that their records took: without an order, the numbers
// of a ledger's rows would depend on data. So windows are submitted by the time at which they close (their
// end and their lateness), and at one time by the names of the releases: a release waits until each other one
// has submitted the windows that come before its own next one. All see the same progress of the input, so
// each comes to its turn by that progress alone, and the first of them waits for none.
//
// A release that waits for the end of all inputs comes after all that do not: otherwise they would wait for
// the end, and the end for them. Releases of different jobs, and of different inputs, have no order among
// them: an input that stands still does not hold up another one.

/// The turns of the releases of one input.
#[derive(Default)]
pub(crate) struct SubmissionOrder(RefCell<Vec<OrderEntry>>);

struct OrderEntry {
    job: Name,
    name: Name,
    at_end: bool,
    /// The close of the next window to submit; `None` once all were.
    next: Option<Time>,
    waits: bool,
    wake: Box<dyn Fn()>,
}

impl OrderEntry {
    fn comes_before(&self, other: &OrderEntry) -> bool {
        let key = |entry: &OrderEntry| entry.next.map(|next| (entry.at_end, next, entry.name.clone()));
        match (key(self), key(other)) {
            (Some(own), Some(others)) => own < others,
            (own, _) => own.is_some(),
        }
    }
}

impl SubmissionOrder {
    /// Adds a release before any window is submitted, with the close of its first window. `wake` is called
    /// when it waited and its turn has come. Returns its position in the order.
    pub(crate) fn join(
        &self,
        (job, name): (Name, Name),
        at_end: bool,
        next: Option<Time>,
        wake: Box<dyn Fn()>,
    ) -> usize {
        let mut entries = self.0.borrow_mut();
        entries.push(OrderEntry { job, name, at_end, next, waits: false, wake });
        entries.len() - 1
    }

    /// Returns true if a release may submit its next window, which closes at `close`. One that may not is
    /// woken when it may.
    pub(crate) fn is_turn(&self, place: usize, close: Time) -> bool {
        self.advance(place, Some(close));
        let mut entries = self.0.borrow_mut();
        let first = is_first(&entries, place);
        entries[place].waits = !first;
        first
    }

    /// Records the close of the next window of a release, `None` if there is none, and wakes the release
    /// whose turn has come.
    pub(crate) fn advance(&self, place: usize, next: Option<Time>) {
        let mut entries = self.0.borrow_mut();
        if entries[place].next == next {
            return;
        }
        entries[place].next = next;
        for other in 0..entries.len() {
            if entries[other].waits && is_first(&entries, other) {
                entries[other].waits = false;
                (entries[other].wake)();
            }
        }
    }
}

fn is_first(entries: &[OrderEntry], place: usize) -> bool {
    let own = &entries[place];
    entries.iter().filter(|other| other.job == own.job).all(|other| !other.comes_before(own))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    // Refutes an order by readiness, a release that is not woken, and one that waits for a release that has
    // ended, for another job, or for the end of all inputs while that waits for it.
    #[test]
    fn windows_are_handed_in_by_close_and_name() {
        let order = SubmissionOrder::default();
        let name = |text: &str| Name::new("release", text).unwrap();
        let woken: [Rc<Cell<u32>>; 4] = Default::default();
        let join = |job: &str, text: &str, at_end, next, woken: &Rc<Cell<u32>>| {
            let woken = Rc::clone(woken);
            let wake = Box::new(move || woken.set(woken.get() + 1));
            order.join((name(job), name(text)), at_end, Some(next), wake)
        };
        let b = join("web", "b", false, 10, &woken[0]);
        let a = join("web", "a", false, 10, &woken[1]);
        let other = join("shop", "a", false, 30, &woken[2]);
        let last = join("web", "a_last", true, 5, &woken[3]);
        assert!(order.is_turn(other, 30), "of another job");
        assert!(!order.is_turn(b, 10) && !order.is_turn(last, 5));
        assert!(order.is_turn(a, 10));
        order.advance(a, Some(20));
        assert_eq!(woken[0].get(), 1);
        assert!(order.is_turn(b, 10));
        assert!(!order.is_turn(b, 20), "`a` closes a window at 20, too");
        assert!(order.is_turn(a, 20));
        order.advance(a, None);
        assert_eq!((woken[0].get(), woken[3].get()), (2, 0));
        assert!(order.is_turn(b, 20));
        order.advance(b, None);
        assert_eq!(woken[3].get(), 1);
        assert!(order.is_turn(last, 5));
    }
}
