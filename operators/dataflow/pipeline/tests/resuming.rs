//! Restarts that go on where the former run was, against a run without one. The source is a log with any
//! number of partitions: it is cut off at any record, gives some records twice, falls behind, and may have
//! lost a stretch for ever.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::accounting::PrivacyUnit;
use crate::dataflow::driver::ORIGIN;
use crate::gate::Positions;
use crate::noise::goodness::size;

/// An entry of a partition: a record, or the time that is complete there. With the moment it was written.
#[derive(Clone, Debug)]
enum Entry {
    Record(Event),
    Progress(Time),
}

#[derive(Clone, Debug, Default)]
struct Log {
    partitions: Vec<Vec<(Time, Entry)>>,
    /// The stretches that cannot be read again, by partition.
    lost: Vec<Option<std::ops::Range<usize>>>,
}

/// Records come at most this long after their time.
const BACK: Time = 7;

impl Log {
    fn new(random: &mut Random, partitions: usize, ahead: Time) -> Log {
        let mut log = Log { partitions: vec![Vec::new(); partitions], lost: vec![None; partitions] };
        let mut id = 0;
        for now in 0..HORIZON + 2 * BACK {
            for entries in &mut log.partitions {
                for _ in 0..random.below(4) {
                    let time = now - BACK + random.below((BACK + ahead) as usize + 1) as Time;
                    id += 1;
                    let event =
                        (random.below(5) as u64, random.below(4) as u32, random.pick(&VALUES), time, id);
                    entries.push((now, Entry::Record(event)));
                }
                if random.below(3) == 0 {
                    entries.push((now, Entry::Progress(now - BACK)));
                }
            }
        }
        let end = HORIZON + 2 * BACK;
        log.partitions.iter_mut().for_each(|entries| entries.push((end, Entry::Progress(end))));
        log
    }
}

/// The parts of a log that one worker reads.
struct Reader {
    log: Log,
    random: Random,
    /// The partitions of this worker: the position, and the time declared there.
    at: BTreeMap<usize, (usize, Time)>,
    declared: Time,
    /// The number of pulls after which the connection breaks.
    left: usize,
    latest: Time,
    moved: BTreeSet<usize>,
    parts: usize,
}

impl Reader {
    fn new(log: Log, (worker, workers): (usize, usize), left: usize, random: Random) -> Reader {
        let own = (0..log.partitions.len()).filter(|partition| partition % workers == worker);
        let at = own.map(|partition| (partition, (0, Time::MIN))).collect();
        let (declared, latest, moved) = (Time::MIN, Time::MIN, BTreeSet::new());
        Reader { log, random, at, declared, left, latest, moved, parts: workers }
    }

    fn complete(&mut self) -> Option<Pulled> {
        let complete = self.at.values().map(|(_, declared)| *declared).min().unwrap_or(HORIZON + 2 * BACK);
        (complete > self.declared).then(|| {
            self.declared = complete;
            Pulled::Complete(complete)
        })
    }
}

impl Source for Reader {
    type Record = Event;

    fn pull(&mut self, batch: &mut Vec<Event>) -> Result<Pulled, SourceError> {
        if self.left == 0 {
            return Err(SourceError::lost("the log"));
        }
        self.left -= 1;
        let open: Vec<usize> = self
            .at
            .iter()
            .filter(|(at, (next, _))| *next < self.log.partitions[**at].len())
            .map(|(at, _)| *at)
            .collect();
        if open.is_empty() {
            return Ok(self.complete().unwrap_or(Pulled::End));
        }
        let partition = self.random.pick(&open);
        let (next, declared) = self.at[&partition];
        self.moved.insert(partition);
        if let Some(lost) = self.log.lost[partition].clone().filter(|lost| lost.contains(&next)) {
            let end = self.log.partitions[partition][lost.end - 1].0 + 1;
            self.at.insert(partition, (lost.end, declared));
            return Ok(Pulled::Gap(declared.max(-BACK), end));
        }
        let entries = &self.log.partitions[partition];
        match entries[next].1 {
            Entry::Progress(time) => {
                self.at.insert(partition, (next + 1, time));
                Ok(self.complete().unwrap_or(Pulled::More))
            }
            Entry::Record(event) => {
                self.at.insert(partition, (next + 1, declared));
                self.latest = self.latest.max(event.3);
                batch.push(event);
                // A record that was given before comes again.
                if let Some((_, Entry::Record(before))) =
                    entries.get(next.saturating_sub(self.random.below(4)))
                    && self.log.lost[partition].is_none()
                {
                    self.latest = self.latest.max(before.3);
                    batch.push(*before);
                }
                Ok(Pulled::More)
            }
        }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn resume(&mut self, former: Vec<Positions>) -> Result<(), SourceError> {
        self.moved.extend(self.at.keys());
        for (name, position) in former.into_iter().flatten() {
            let partition: usize = name.parse().unwrap();
            let (index, declared) = position.split_first_chunk::<8>().unwrap();
            let declared = Time::from_le_bytes(declared.try_into().unwrap());
            if let Some(at) = self.at.get_mut(&partition) {
                *at = (u64::from_le_bytes(*index) as usize, declared);
            }
        }
        Ok(())
    }

    fn milestone(&mut self) -> Option<Milestone> {
        if self.random.below(3) > 0 {
            return None;
        }
        let moved = std::mem::take(&mut self.moved);
        let changed = moved.into_iter().map(|partition| {
            let (next, declared) = self.at[&partition];
            let position = [(next as u64).to_le_bytes(), declared.to_le_bytes()].concat();
            (partition.to_string(), Some(position))
        });
        let changed = changed.collect();
        Some(Milestone { latest: std::mem::replace(&mut self.latest, Time::MIN), changed, parts: self.parts })
    }
}

/// Runs to the end, or to the break after `left` pulls of some worker.
fn life(recorder: &Recorder, log: &Log, workers: usize, left: usize, random: &mut Random) -> bool {
    let (gate, log, seed) = (recorder.clone(), log.clone(), random.below(1 << 30) as u64);
    let ended = execute(configured(workers, seed as usize), move |worker, feeds| {
        let own = (worker.index(), workers);
        let random = Random::new(seed + worker.index() as u64);
        let breaks = if left == usize::MAX { left } else { left + 3 * worker.index() };
        let reader = Reader::new(log.clone(), own, breaks, random);
        worker.dataflow(|scope| {
            let records = feeds.stream(scope, reader);
            let schedules = [
                ("tens", Schedule::tumbling(span(10), 0, Some(HORIZON)).unwrap()),
                ("sliding", Schedule::sliding(span(30), span(10), 0, Some(HORIZON)).unwrap()),
            ];
            for (name, schedule) in schedules {
                records
                    .clone()
                    .protect(|event: &Event| event.0)
                    .identified_by(|event: &Event| event.4)
                    .scheduled(schedule, |event: &Event| event.3)
                    .bound(Bound::keys(2).per_key(3))
                    .count_by(|event: &Event| event.1, Keys::public([0, 1, 2, 3]))
                    .release_at(&gate, name, Exactly(Gaussian::rho(0.01)));
            }
        });
        Ok(())
    });
    ended.is_ok()
}

/// The tallies of all windows that were sealed; none twice.
fn tallies(recorder: &Recorder) -> BTreeMap<(String, Time), BTreeMap<String, Vec<i128>>> {
    let mut all = BTreeMap::new();
    for sealed in recorder.sealed() {
        let place = (sealed.release.name.to_string(), sealed.release.window.start());
        assert!(all.insert(place, sealed.exact).is_none(), "a window was drawn twice");
    }
    all
}

// Refutes a resume position beyond a record that an open window needs, a window that is requested again or
// never, and one that is answered from a part of its records.
#[test]
fn a_restart_releases_what_a_run_without_one_does() {
    for seed in 0..size(12, 800) as u64 {
        let mut random = Random::new(seed);
        let (partitions, workers) = (1 + random.below(5), 1 + random.below(3));
        let lossy = seed % 3 == 2;
        let mut log = Log::new(&mut random, partitions, if lossy { 0 } else { 15 });
        let whole = Recorder::new(PrivacyUnit::Person);
        assert!(life(&whole, &log, workers, usize::MAX, &mut random));
        let expected = tallies(&whole);
        assert_eq!(expected.len(), 12 + 10);

        let broken = Recorder::new(PrivacyUnit::Person);
        let (mut lives, mut skipped) = (0, 0);
        loop {
            lives += 1;
            let left = if lives < 30 { 20 + random.below(300) } else { usize::MAX };
            let workers = 1 + random.below(3);
            if life(&broken, &log, workers, left, &mut random) {
                break;
            }
            if lossy && lives == 2 {
                let partition = random.below(partitions);
                let start = random.below(log.partitions[partition].len() / 2);
                log.lost[partition] = Some(start..start + 1 + random.below(40));
            }
        }
        let found = tallies(&broken);
        for (place, exact) in &expected {
            match found.get(place) {
                Some(found) => assert_eq!(found, exact, "seed {seed}, {place:?}"),
                None => skipped += 1,
            }
        }
        assert!(skipped == 0 || lossy, "seed {seed}: {skipped} windows are missing");
        assert!(skipped < expected.len(), "seed {seed}: nothing is released");
    }
}

/// A log that loses a stretch while the first windows are open, and breaks once two of them are released: with the
/// second one goes the position that the first allows.
struct LosesOnce {
    /// The number of entries that were given: a record, the gap, the ends of two windows, the end.
    next: u64,
    moved: bool,
    latest: Time,
    recorder: Recorder,
    breaks: bool,
}

impl Source for LosesOnce {
    type Record = Event;

    fn pull(&mut self, batch: &mut Vec<Event>) -> Result<Pulled, SourceError> {
        // Each window is released before the next one is complete.
        if self.breaks && (3..=4).contains(&self.next) {
            if (self.recorder.answered() as u64) < self.next - 2 {
                return Ok(Pulled::Idle);
            }
            if self.next == 4 {
                return Err(SourceError::lost("the log"));
            }
        }
        self.next += 1;
        self.moved = true;
        Ok(match self.next {
            1 => {
                batch.push((1, 1, 1, 5, 1));
                self.latest = 5;
                Pulled::More
            }
            2 => Pulled::Gap(22, 38),
            3 => Pulled::Complete(11),
            4 => Pulled::Complete(21),
            5 => Pulled::Complete(60),
            _ => Pulled::End,
        })
    }

    fn resumes(&self) -> bool {
        true
    }

    fn resume(&mut self, former: Vec<Positions>) -> Result<(), SourceError> {
        if let Some(position) = former.first().and_then(|part| part.get("log")) {
            self.next = u64::from_le_bytes(position.as_slice().try_into().unwrap());
        }
        Ok(())
    }

    fn milestone(&mut self) -> Option<Milestone> {
        let changed = vec![("log".to_owned(), Some(self.next.to_le_bytes().to_vec()))];
        let latest = std::mem::replace(&mut self.latest, Time::MIN);
        std::mem::take(&mut self.moved).then_some(Milestone { latest, changed, parts: 1 })
    }
}

// Refutes a resume position behind a gap whose windows are open: the next run would answer them.
#[test]
fn a_gap_is_found_again_while_its_windows_are_open() {
    let recorder = Recorder::new(PrivacyUnit::Person);
    for breaks in [true, false] {
        let gate = recorder.clone();
        let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
            let (moved, latest) = (false, Time::MIN);
            let log = LosesOnce { next: 0, moved, latest, recorder: gate.clone(), breaks };
            worker.dataflow(|scope| {
                let schedule = Schedule::tumbling(span(10), 0, Some(50)).unwrap();
                feeds
                    .stream(scope, log)
                    .protect(|event: &Event| event.0)
                    .identified_by(|event: &Event| event.4)
                    .scheduled(schedule, |event: &Event| event.3)
                    .bound(Bound::keys(2).per_key(3))
                    .count_by(|event: &Event| event.1, Keys::public([1]))
                    .release_at(&gate, "tens", Exactly(Gaussian::rho(0.01)));
            });
            Ok(())
        });
        assert_eq!(ended.is_ok(), !breaks);
    }
    let starts = tallies(&recorder).into_keys().map(|(_, start)| start);
    assert_eq!(starts.collect::<Vec<_>>(), [0, 10, 40], "two windows overlap the gap");
}

/// A backlog that is given, without a time that is complete, until the positions of its start are kept; it breaks if they
/// never are.
struct Backlog {
    given: u64,
    began: std::time::Instant,
    parts: usize,
    recorder: Recorder,
}

impl Source for Backlog {
    type Record = Event;

    fn pull(&mut self, batch: &mut Vec<Event>) -> Result<Pulled, SourceError> {
        self.given += 1;
        if self.recorder.has_positions() {
            return Ok(Pulled::End);
        }
        if self.began.elapsed() > std::time::Duration::from_secs(10) {
            return Err(SourceError::lost("the log"));
        }
        batch.push((self.given % 100, 1, 1, 5, self.given));
        Ok(Pulled::More)
    }

    fn resumes(&self) -> bool {
        true
    }

    fn resume(&mut self, _former: Vec<Positions>) -> Result<(), SourceError> {
        Ok(())
    }

    fn milestone(&mut self) -> Option<Milestone> {
        let changed = vec![("log".to_owned(), Some(vec![0]))];
        (self.given == 1).then_some(Milestone { latest: ORIGIN, changed, parts: self.parts })
    }
}

// Refutes a start that is kept only once a time is complete: a run that is killed within its backlog leaves no trace of the
// files that it has listed.
#[test]
fn the_start_of_an_input_is_kept_before_its_backlog_is_read() {
    for workers in [1, 2] {
        let recorder = Recorder::new(PrivacyUnit::Person);
        let ended = execute(Config::threads(workers).unwrap(), move |worker, feeds| {
            let (began, recorder) = (std::time::Instant::now(), recorder.clone());
            let log = Backlog { given: 0, began, parts: workers, recorder: recorder.clone() };
            worker.dataflow(|scope| {
                let records = feeds.stream(scope, log);
                for name in ["tens", "twenties"] {
                    records
                        .clone()
                        .protect(|event: &Event| event.0)
                        .identified_by(|event: &Event| event.4)
                        .scheduled(Schedule::tumbling(span(10), 0, Some(50)).unwrap(), |event: &Event| {
                            event.3
                        })
                        .bound(Bound::keys(2).per_key(3))
                        .count_by(|event: &Event| event.1, Keys::public([1]))
                        .release_at(&recorder, name, Exactly(Gaussian::rho(0.01)));
                }
            });
            Ok(())
        });
        assert!(ended.is_ok(), "{workers}: {:?}", ended.err());
    }
}
