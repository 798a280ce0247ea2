//! The resume positions of an input: from where a restart reads.
//!
//! A source that can be read again reports [`Milestone`]s: the place that it has reached in each of its
//! partitions, and the latest time of the records that it gave on the way. They travel beside the records to
//! worker 0. There, once the windows that could hold these records are settled, the place becomes the resume
//! position, which the gate writes beside the next rows. So the cost of a restart is that of the open windows,
//! and not that of the history.
//!
//! A restart broadcasts what the ledger holds to every worker, and no source is pulled before it knows it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::dataflow::engine::{CapacityContainerBuilder, Exchange, InputHandle, Operator, Scope};
use crate::gate::{InputReading, Positions, ResumePositions, ResumeUpdate, version_digest};
use crate::ledger::{Digest, Name};
use crate::time::Time;

/// A place that a source has reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Milestone {
    /// The latest time of the records given since the former milestone; `Time::MIN` if there were none. Then its
    /// positions hold as soon as the former ones of the same partitions, and new partitions at once.
    pub latest: Time,
    /// The partitions whose position has changed since, each with its position behind all records given;
    /// `None` for a partition that is gone.
    pub changed: Vec<(String, Option<Vec<u8>>)>,
    /// The number of parts of the input, on all workers, that report milestones.
    pub parts: usize,
}

/// The latest time of a milestone that holds whatever windows need, across input gaps as well: of partitions at their start,
/// and of what is known of gaps.
pub(crate) const ORIGIN: Time = Time::MIN + 1;

/// The number of milestones of one part that are kept. Of more, neighbours are joined, so that a restart reads
/// somewhat more than it must.
const KEPT: usize = 64;

/// The positions of one part, and the milestones that unsettled windows may still need.
#[derive(Default)]
struct PositionTrack {
    /// Everything that unsettled windows may need lies behind these positions.
    base: Positions,
    /// The milestones after it, in order of their latest times.
    pending: VecDeque<Pending>,
    /// The partitions of `base` that have changed since they were written.
    unwritten: BTreeSet<String>,
    /// The partitions that were written.
    written: BTreeSet<String>,
    /// True once some milestone was passed. Until then the positions of the former run hold.
    is_based: bool,
}

struct Pending {
    latest: Time,
    changed: BTreeMap<String, Option<Vec<u8>>>,
}

impl PositionTrack {
    fn add(&mut self, milestone: Milestone) {
        let Milestone { latest, changed, .. } = milestone;
        if latest <= ORIGIN {
            changed.into_iter().for_each(|(partition, position)| self.move_on(partition, position));
            return;
        }
        match self.pending.back_mut() {
            // Whatever needs the former one reads this one too.
            Some(last) if latest <= last.latest => last.changed.extend(changed),
            _ => self.pending.push_back(Pending { latest, changed: changed.into_iter().collect() }),
        }
        if self.pending.len() > KEPT {
            let mut all = std::mem::take(&mut self.pending).into_iter();
            while let Some(mut first) = all.next() {
                if let Some(second) = all.next() {
                    first.latest = second.latest;
                    first.changed.extend(second.changed);
                }
                self.pending.push_back(first);
            }
        }
    }

    /// Changes a position to one before which no other record lies: where the former one holds.
    fn move_on(&mut self, partition: String, position: Option<Vec<u8>>) {
        let newest = self.pending.iter().rposition(|pending| pending.changed.contains_key(&partition));
        // The positions of the former run hold until the first milestone is passed, which has all partitions.
        let first = (!self.is_based && !self.pending.is_empty()).then_some(0);
        match newest.or(first) {
            Some(at) => _ = self.pending[at].changed.insert(partition, position),
            None => {
                self.is_based = true;
                self.set(partition, position);
            }
        }
    }

    fn set(&mut self, partition: String, position: Option<Vec<u8>>) {
        match position {
            Some(position) => _ = self.base.insert(partition.clone(), position),
            None => _ = self.base.remove(&partition),
        }
        self.unwritten.insert(partition);
    }

    /// Moves on to the last position before which no record is needed at or after this time.
    fn advance(&mut self, needed: Time) {
        while self.pending.front().is_some_and(|first| first.latest < needed) {
            self.is_based = true;
            for (partition, position) in self.pending.pop_front().into_iter().flat_map(|first| first.changed)
            {
                self.set(partition, position);
            }
        }
    }
}

/// The resume positions of one input, on one worker. Milestones arrive on worker 0 alone.
pub(crate) struct InputPositions {
    /// The number of the input among those of the job.
    number: i64,
    /// True if the source of this worker resumes.
    resumes: bool,
    /// The positions that a former run has left, once they have arrived here.
    arrived: RefCell<Option<Vec<Positions>>>,
    state: RefCell<State>,
    /// The positions that the ledger holds since the source was last notified.
    written: Arc<Mutex<Vec<WrittenPosition>>>,
}

/// A position that the ledger holds: the part, the partition, and the position, `None` for a partition that is
/// gone.
pub type WrittenPosition = (usize, String, Option<Vec<u8>>);

#[derive(Default)]
struct State {
    /// The jobs whose releases read the input.
    jobs: BTreeSet<Name>,
    /// For each release, the time since which its unsettled windows need records; `None` while it asks for
    /// windows that a former run has settled.
    needs: Vec<Option<Time>>,
    former: Option<ResumePositions>,
    /// The way in which the source reads from now on.
    reading: InputReading,
    /// The versions of the releases that read the input.
    releases: BTreeSet<Digest>,
    tracks: BTreeMap<usize, PositionTrack>,
    parts: usize,
    is_written: bool,
}

impl State {
    /// Returns true if one job alone reads the input.
    fn is_alone(&self) -> bool {
        self.jobs.len() <= 1
    }
}

impl InputPositions {
    /// Creates the positions of an input whose source resumes and reads in this way; `None` of one that does not resume.
    pub(crate) fn new(number: i64, reading: Option<InputReading>) -> Rc<InputPositions> {
        let resumes = reading.is_some();
        let state = State { reading: reading.unwrap_or_default(), ..State::default() };
        Rc::new(InputPositions {
            number,
            resumes,
            arrived: RefCell::default(),
            state: RefCell::new(state),
            written: Arc::default(),
        })
    }

    /// Returns true if windows that a former run has settled are not requested again.
    pub(crate) fn resumes(&self) -> bool {
        self.resumes
    }

    /// Adds a version of a release of a job, on worker 0 and before any record is read; returns its number here, and the time since which
    /// it lacks no record, `None` without a former run. `former` returns the positions in the job's ledger.
    ///
    /// # Errors
    ///
    /// The error of `former`.
    pub(crate) fn join<E>(
        &self,
        job: &Name,
        (name, version): (&Name, &Digest),
        former: impl FnOnce(i64) -> Result<Option<ResumePositions>, E>,
    ) -> Result<(usize, Option<Time>), E> {
        let mut state = self.state.borrow_mut();
        if self.resumes && state.jobs.insert(job.clone()) {
            state.former = former(self.number)?;
        }
        state.releases.insert(version_digest(name, version));
        state.needs.push(None);
        let former = state.former.as_ref();
        let whole = former.map(|former| former.whole_since((name, version), &state.reading));
        Ok((state.needs.len() - 1, whole))
    }

    /// Returns the positions from which the sources begin, empty for the start; they are then erased here.
    pub(crate) fn begin(&self) -> Vec<Positions> {
        let mut state = self.state.borrow_mut();
        let former = state.former.take();
        // Without positions the input is read from its start.
        let since = former.as_ref().map_or(Time::MIN, |former| state.reading.since_after(&former.reading));
        state.reading.since = since;
        let former = former.filter(|_| state.is_alone());
        former.map_or_else(Vec::new, |former| former.parts)
    }

    /// Takes the positions from which this worker's source begins, once they have arrived.
    pub(crate) fn arrived(&self) -> Option<Vec<Positions>> {
        self.arrived.borrow_mut().take()
    }

    /// Returns the function to call once this update is in the ledger.
    pub(crate) fn written_notice(&self, update: &ResumeUpdate) -> Box<dyn FnOnce() + Send> {
        let (written, changed) = (Arc::clone(&self.written), update.changed.clone());
        Box::new(move || written.lock().unwrap_or_else(PoisonError::into_inner).extend(changed))
    }

    /// Takes the positions that the ledger holds since the last call, in their order.
    pub(crate) fn take_written(&self) -> Vec<WrittenPosition> {
        std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a milestone of a part.
    pub(crate) fn add(&self, part: usize, milestone: Milestone) {
        let mut state = self.state.borrow_mut();
        state.parts = milestone.parts;
        state.tracks.entry(part).or_default().add(milestone);
    }

    /// Records the time since which a release needs records, `None` if it is unknown. Returns the change of
    /// the resume positions that the next rows may be written with.
    pub(crate) fn settled(&self, release: usize, needed: Option<Time>) -> Option<ResumeUpdate> {
        let mut state = self.state.borrow_mut();
        if let Some(known) = state.needs.get_mut(release) {
            *known = needed;
        }
        if !self.resumes || !state.is_alone() || state.parts == 0 || state.tracks.len() < state.parts {
            return None;
        }
        let since = state.needs.iter().copied().min().flatten()?;
        let State { tracks, is_written, parts, reading, releases, .. } = &mut *state;
        tracks.values_mut().for_each(|track| track.advance(since));
        if !tracks.values().all(|track| track.is_based) {
            return None;
        }
        let (mut changed, mut is_urgent) = (Vec::new(), false);
        for (part, track) in tracks.values_mut().enumerate() {
            for partition in std::mem::take(&mut track.unwritten) {
                let position = track.base.get(&partition).cloned();
                match position {
                    Some(_) => is_urgent |= track.written.insert(partition.clone()),
                    None => _ = track.written.remove(&partition),
                }
                changed.push((part, partition, position));
            }
        }
        if changed.is_empty() && *is_written {
            return None;
        }
        let replaces = !std::mem::replace(is_written, true);
        let (input, parts) = (self.number, *parts);
        let (reading, releases) = (reading.clone(), releases.clone());
        Some(ResumeUpdate { input, replaces, since, reading, releases, parts, changed, is_urgent })
    }
}

/// The handle by which worker 0 notifies every worker of the former positions.
pub(crate) type FormerInput = InputHandle<Time, CapacityContainerBuilder<Vec<(usize, Vec<Positions>)>>>;

/// Creates the stream that carries the former positions to every worker, and the handle of this one.
pub(crate) fn former_stream(scope: Scope<'_, Time>, positions: &Rc<InputPositions>) -> FormerInput {
    let mut input = FormerInput::new();
    let here = Rc::clone(positions);
    let to = Exchange::new(|(worker, _): &(usize, Vec<Positions>)| *worker as u64);
    input.to_stream(scope).sink(to, "Former", move |(input, _)| {
        input.for_each(|_, batch| {
            for (_, former) in batch.drain(..) {
                *here.arrived.borrow_mut() = Some(former);
            }
        });
    });
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milestone(latest: Time, at: u8) -> Milestone {
        Milestone { latest, changed: vec![("a".to_owned(), Some(vec![at]))], parts: 1 }
    }

    fn at(track: &PositionTrack) -> Option<u8> {
        track.base.get("a").map(|position| position[0])
    }

    // Refutes a position beyond a record that is needed, and one that stays where nothing is.
    #[test]
    fn a_position_moves_on_once_nothing_before_it_is_needed() {
        let mut track = PositionTrack::default();
        for (latest, at) in [(10, 1), (30, 2), (20, 3), (40, 4)] {
            track.add(milestone(latest, at));
        }
        track.advance(10);
        assert_eq!(at(&track), None);
        track.advance(11);
        assert_eq!(at(&track), Some(1));
        track.advance(30);
        assert_eq!(at(&track), Some(1), "a record of 30 lies before the second");
        track.advance(31);
        assert_eq!(at(&track), Some(3), "what is needed no more takes those behind it along");
        track.add(Milestone { latest: Time::MIN, changed: vec![("a".to_owned(), None)], parts: 1 });
        assert_eq!(at(&track), Some(3), "a record of 40 lies before it");
        track.advance(Time::MAX);
        assert_eq!(at(&track), None, "the partition is gone");
        track.add(Milestone { latest: Time::MIN, ..milestone(0, 5) });
        assert_eq!(at(&track), Some(5), "no record lies before it");
    }

    // Refutes a new partition that is written without those of the first milestone, which is still needed.
    #[test]
    fn a_partition_that_is_new_before_the_first_milestone_is_passed_waits_for_it() {
        let mut track = PositionTrack::default();
        track.add(milestone(10, 1));
        track.add(Milestone { latest: Time::MIN, changed: vec![("b".to_owned(), Some(vec![0]))], parts: 1 });
        track.advance(10);
        assert!(!track.is_based, "the positions of the former run hold");
        track.advance(11);
        assert!(track.is_based);
        let base: Vec<(&str, u8)> = track.base.iter().map(|(name, at)| (name.as_str(), at[0])).collect();
        assert_eq!(base, [("a", 1), ("b", 0)]);
    }

    #[test]
    fn milestones_that_are_joined_are_needed_as_long_as_the_later_one() {
        let mut track = PositionTrack::default();
        for number in 0..=KEPT as u8 {
            track.add(milestone(Time::from(number), number));
        }
        assert!(track.pending.len() <= KEPT / 2 + 1);
        track.advance(1);
        assert_eq!(at(&track), None, "it is joined with the next");
        track.advance(2);
        assert_eq!(at(&track), Some(1));
        track.advance(Time::MAX);
        assert_eq!(at(&track), Some(KEPT as u8));
    }

    fn join(positions: &InputPositions, job: &str, former: Option<ResumePositions>) -> (usize, Option<Time>) {
        let [job, name] =
            [("job", job), ("release", "visits")].map(|(field, name)| Name::new(field, name).unwrap());
        positions.join(&job, (&name, &Digest::NONE), |_| Ok::<_, ()>(former)).unwrap()
    }

    // Refutes a release that is added later, and begins behind windows that the first run has read whole.
    #[test]
    fn a_first_run_reads_its_input_from_the_start() {
        let reading = |since| InputReading { since, ..InputReading::default() };
        let former = |since| ResumePositions {
            since: 7,
            reading: reading(since),
            releases: BTreeSet::new(),
            parts: Vec::new(),
        };
        for (former, since, whole) in
            [(None, Time::MIN, None), (Some(former(3)), 3, Some(7)), (Some(former(9)), 9, Some(9))]
        {
            let positions = InputPositions::new(0, Some(reading(50)));
            let (first, found) = join(&positions, "web", former);
            assert_eq!(found, whole);
            positions.begin();
            positions.add(0, milestone(10, 1));
            let written = positions.settled(first, Some(60)).unwrap();
            let visits = version_digest(&Name::new("release", "visits").unwrap(), &Digest::NONE);
            assert_eq!((written.reading, written.releases), (reading(since), BTreeSet::from([visits])));
        }
    }

    // Refutes positions of a part that are written before all parts have theirs, of an input that two jobs read, and of
    // a new partition that wait for a row.
    #[test]
    fn positions_are_written_once_all_parts_and_all_releases_have_some() {
        let positions = InputPositions::new(0, Some(InputReading::default()));
        let [first, second] = [0, 1].map(|_| join(&positions, "web", None).0);
        positions.add(0, Milestone { parts: 2, ..milestone(10, 1) });
        positions.settled(first, Some(50));
        assert_eq!(positions.settled(second, Some(60)), None, "a part has reported nothing");
        positions.add(3, Milestone { parts: 2, ..milestone(49, 6) });
        positions.add(3, Milestone { parts: 2, ..milestone(55, 7) });
        assert_eq!(positions.settled(second, None), None, "a release asks for settled windows");
        assert_eq!(positions.settled(second, Some(49)), None, "the positions of the former run hold");
        let update = positions.settled(second, Some(60)).unwrap();
        let changed = vec![(0, "a".to_owned(), Some(vec![1])), (1, "a".to_owned(), Some(vec![6]))];
        let expected = ResumeUpdate {
            input: 0,
            replaces: true,
            since: 50,
            reading: InputReading::default(),
            releases: update.releases.clone(),
            parts: 2,
            changed,
            is_urgent: true,
        };
        assert_eq!(update, expected);
        assert_eq!(positions.settled(first, Some(55)), None, "nothing has changed");
        let update = positions.settled(first, Some(56)).unwrap();
        assert_eq!((update.replaces, update.is_urgent), (false, false));
        assert_eq!(update.changed, [(1, "a".to_owned(), Some(vec![7]))]);
        let new =
            |position| Milestone { latest: Time::MIN, changed: vec![("b".to_owned(), position)], parts: 2 };
        for (position, is_urgent) in
            [(Some(vec![0]), true), (Some(vec![1]), false), (None, false), (Some(vec![0]), true)]
        {
            positions.add(0, new(position.clone()));
            let update = positions.settled(first, Some(56)).unwrap();
            assert_eq!((update.is_urgent, update.changed), (is_urgent, vec![(0, "b".to_owned(), position)]));
        }
        positions.add(0, Milestone { parts: 2, ..milestone(57, 2) });
        join(&positions, "shop", None);
        positions.settled(first, Some(Time::MAX));
        assert_eq!(positions.settled(2, Some(Time::MAX)), None);
    }
}
