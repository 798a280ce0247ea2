//! Sources without an end.

use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::dataflow::{Clock, ClockReading, GuardedClock, InputPositions, Milestone, ORIGIN, SystemClock};
use crate::gate::{InputReading, Positions};
use crate::ledger::{Digest, Name};
use crate::time::Span;

/// The system's clock, which somebody may set.
#[derive(Default)]
pub(super) struct Settable(pub(super) AtomicI64);

impl Clock for Settable {
    fn now(&self) -> i64 {
        SystemClock.now() + self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct Followed {
    pub(super) parts: Vec<SourcePart<Id, Id>>,
    pub(super) found: Vec<Given>,
    pub(super) complete: Vec<i64>,
    pub(super) gaps: Vec<(i64, i64)>,
    /// The resume positions that were written last.
    pub(super) positions: Positions,
    /// Those that wait for windows that need the lines before them.
    waiting: Rc<InputPositions>,
    pub(super) progress: Arc<Progress>,
    /// What the operator was warned of.
    pub(super) warnings: Arc<Mutex<Vec<String>>>,
}

impl Followed {
    pub(super) fn new(source: &(SourceSpec, Protected), clock: &Arc<Settable>, workers: usize) -> Followed {
        Followed::resumed(source, clock, workers, Positions::new())
    }

    /// Goes on at positions, from the start where there are none.
    pub(super) fn resumed(
        source: &(SourceSpec, Protected),
        clock: &Arc<Settable>,
        workers: usize,
        positions: Positions,
    ) -> Followed {
        Followed::by(Arc::clone(clock) as Arc<dyn Clock>, source, workers, positions)
    }

    fn by(
        clock: Arc<dyn Clock>,
        source: &(SourceSpec, Protected),
        workers: usize,
        positions: Positions,
    ) -> Followed {
        let pace = InputPace::Follow(clock);
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let warned = Arc::clone(&warnings);
        let warn = move |warning: &str| warned.lock().unwrap().push(warning.to_owned());
        let survey = Arc::new(Survey::for_run(Vec::new(), (None, None), Some(Box::new(warn))));
        let wanted = wanted(&[], &[], source.0.time.is_some());
        let input = open_in(
            sizes(64),
            &source.0,
            &source.1,
            FieldRequirements { survey, ..wanted },
            pace,
            threads(workers),
            Brake::new(),
        )
        .unwrap();
        let mut parts = of(&input, workers);
        let former = if positions.is_empty() { Vec::new() } else { vec![positions.clone()] };
        parts.iter_mut().for_each(|part| part.resume(former.clone()).unwrap());
        Followed { positions, warnings, ..Followed::of(parts, input.progress()) }
    }

    pub(super) fn of(parts: Vec<SourcePart<Id, Id>>, progress: Arc<Progress>) -> Followed {
        let waiting = InputPositions::new(0, Some(InputReading::default()));
        let [job, release] = ["a", "b"].map(|name| Name::new("name", name).unwrap());
        waiting.join(&job, (&release, &Digest::of(b"")), |_| Ok::<_, ()>(None)).unwrap();
        Followed {
            complete: vec![i64::MIN; parts.len()],
            parts,
            found: Vec::new(),
            gaps: Vec::new(),
            positions: Positions::new(),
            waiting,
            progress,
            warnings: Arc::default(),
        }
    }

    /// Settles, and takes the resume positions behind everything found.
    pub(super) fn checkpoint(&mut self) -> Result<(), SourceError> {
        self.take_positions(1)
    }

    /// Settles, and takes the resume positions that hold while every line since the last checkpoint is needed.
    pub(super) fn begin(&mut self) -> Result<(), SourceError> {
        self.take_positions(0)
    }

    /// Takes the positions that hold while lines of this time are needed: all lines are of time 0.
    fn take_positions(&mut self, needed: i64) -> Result<(), SourceError> {
        // The last lines may be found between two marks.
        self.settle()?;
        self.settle()?;
        for milestone in self.parts.iter_mut().flat_map(|part| std::iter::from_fn(|| part.milestone())) {
            assert_eq!(milestone.parts, 1);
            let latest = milestone.latest.min(0);
            self.waiting.add(0, Milestone { latest, ..milestone });
        }
        let Some(update) = self.waiting.settled(0, Some(needed)) else { return Ok(()) };
        if update.replaces {
            self.positions.clear();
        }
        for (_, name, position) in update.changed {
            match position {
                Some(position) => _ = self.positions.insert(name, position),
                None => _ = self.positions.remove(&name),
            }
        }
        Ok(())
    }

    /// Pulls until all that was there by now has been given, or the source is gone.
    pub(super) fn settle(&mut self) -> Result<usize, SourceError> {
        let now = SystemClock.now();
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.complete.iter().any(|time| *time <= now) {
            assert!(Instant::now() < deadline, "nothing is declared");
            for (part, complete) in self.parts.iter_mut().zip(&mut self.complete) {
                match part.pull(&mut self.found)? {
                    Pulled::Complete(time) => {
                        assert!(*complete < time, "what is declared goes on");
                        *complete = time;
                    }
                    Pulled::End => panic!("a live source has ended"),
                    Pulled::Gap(start, end) => self.gaps.push((start, end)),
                    Pulled::More | Pulled::Idle => {}
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(self.found.len())
    }

    /// Pulls for some time.
    pub(super) fn settle_for(&mut self, time: Duration) -> Result<(), SourceError> {
        let began = Instant::now();
        while began.elapsed() < time {
            for (part, complete) in self.parts.iter_mut().zip(&mut self.complete) {
                match part.pull(&mut self.found)? {
                    Pulled::Complete(time) => *complete = time,
                    Pulled::Gap(start, end) => self.gaps.push((start, end)),
                    _ => {}
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn gone(&mut self) -> SourceError {
        loop {
            if let Err(gone) = self.settle() {
                return gone;
            }
        }
    }
}

// Refutes a mark that overtakes lines, a torn line that is read, and a new file that is not.
#[test]
fn what_is_appended_is_given_before_its_time_is_declared() {
    let place = Place::new("follow");
    place.write("a.csv", "user\n");
    let clock = Arc::new(Settable::default());
    let mut followed = Followed::new(&csv(&place.path("*.csv"), ""), &clock, 3);
    assert_eq!(followed.settle(), Ok(0));
    for round in 1..=5 {
        place.append("a.csv", "ada\nbob\n".repeat(100));
        assert_eq!(followed.settle(), Ok(round * 200));
    }
    place.append("a.csv", "a line in t");
    assert_eq!(followed.settle(), Ok(1_000));
    place.append("a.csv", "wo parts");
    assert_eq!(followed.settle(), Ok(1_000));
    place.append("a.csv", "\nada");
    assert_eq!(followed.settle(), Ok(1_001));
    assert!(followed.found.iter().any(|record| record.person == id(b"a line in two parts")));
    place.write("b.csv", "us");
    assert_eq!(followed.settle(), Ok(1_001), "a header may be torn too");
    place.append("b.csv", "er\ncid\n");
    assert_eq!(followed.settle(), Ok(1_002));
    // The other process would have read the rest: each line is one worker's, though each reads at other
    // moments.
    place.write("c.csv", "user,x\nada,\"1 2\"\nada,\"3");
    assert_eq!(followed.settle(), Ok(1_003));
    place.append("c.csv", "\"\n");
    assert_eq!(followed.settle(), Ok(1_004));
}

// Refutes a record from far ahead that is counted, and holds a resume position for ever.
#[test]
fn records_far_ahead_are_dropped() {
    let place = Place::new("ahead");
    let now = SystemClock.now() / 1_000_000;
    place.write("a.csv", format!("user,time\nada,{now}\nbob,{}\ncid,{}\n", now + 80_000, now + 90_000));
    let source = csv(&place.path("a.csv"), "time = { field = \"time\", format = \"unix\" }");
    let mut followed = Followed::new(&source, &Arc::default(), 2);
    followed.settle().unwrap();
    followed.found.sort();
    let mut expected = [id(b"ada"), id(b"bob")];
    expected.sort();
    let mut people: Vec<Id> = followed.found.iter().map(|given| given.person).collect();
    people.sort();
    assert_eq!(people, expected);
}

// Refutes a backlog that a restart reads from its start, and a position in its middle that is off by a line or
// states too early a time.
#[test]
fn a_backlog_has_positions_in_its_middle() {
    let place = Place::new("backlog");
    let first = SystemClock.now() / 1_000_000 - 5_000;
    let lines: String = (0..2_000).map(|number| format!("p{number},{}\n", first + number)).collect();
    place.write("a.csv", format!("user,time\n{lines}"));
    let source = csv(&place.path("a.csv"), "time = { field = \"time\", format = \"unix\" }");
    let mut followed = Followed::new(&source, &Arc::default(), 2);
    let mut milestones = Vec::new();
    while followed.complete.contains(&i64::MIN) {
        for (part, complete) in followed.parts.iter_mut().zip(&mut followed.complete) {
            if let Pulled::Complete(time) = part.pull(&mut followed.found).unwrap() {
                *complete = time;
            }
            milestones.extend(part.milestone());
        }
    }
    // A step is of 64 chunks of 64 bytes.
    assert!(milestones.len() >= lines.len() / 4_096, "{}", milestones.len());
    let (mut positions, mut latest) = (Positions::new(), i64::MIN);
    for milestone in milestones {
        latest = latest.max(milestone.latest);
        positions.extend(milestone.changed.into_iter().filter_map(|(name, at)| Some((name, at?))));
        let mut resumed = Followed::resumed(&source, &Arc::default(), 1, positions.clone());
        let before = if latest <= ORIGIN { 0 } else { (latest / 1_000_000 - first + 1) as usize };
        assert_eq!(resumed.settle(), Ok(2_000 - before));
        let mut people: Vec<Id> = resumed.found.iter().map(|given| given.person).collect();
        let mut expected: Vec<Id> =
            (before..2_000).map(|number| id(format!("p{number}").as_bytes())).collect();
        people.sort();
        expected.sort();
        assert_eq!(people, expected);
    }
}

// Refutes processes that give a line twice, or not at all, because they looked at different moments.
#[test]
fn processes_share_what_is_appended() {
    let place = Place::new("follow-two");
    place.write("a.csv", "user\n");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (source, person) = csv(&place.path("a.csv"), "");
    let inputs: Vec<SourceInput> = (0..2)
        .map(|process| {
            std::thread::sleep(Duration::from_millis(30));
            let crew = Crew { process, processes: 2, threads: 2 };
            open_in(
                sizes(64),
                &source,
                &person,
                wanted(&[], &[], false),
                InputPace::Follow(Arc::clone(&clock)),
                crew,
                Brake::new(),
            )
            .unwrap()
        })
        .collect();
    let parts = (0..4).map(|worker| inputs[worker / 2].part(worker)).collect();
    let mut followed = Followed::of(parts, inputs[0].progress());
    let mut expected = Vec::new();
    for round in 0..40 {
        let lines: Vec<String> = (0..7).map(|line| format!("u{round}-{line}\n")).collect();
        place.append("a.csv", lines.concat());
        expected.extend(lines.iter().map(|line| id(line.trim().as_bytes())));
        std::thread::sleep(Duration::from_millis(7));
    }
    followed.settle().unwrap();
    let mut found: Vec<Id> = followed.found.iter().map(|record| record.person).collect();
    found.sort();
    expected.sort();
    assert!(found == expected);
}

// Refutes a packed file that is torn and never reported.
#[test]
fn a_packed_file_that_stays_torn_ends_the_source() {
    let place = Place::new("torn");
    place.write("a.csv", "user\nada\nada\n");
    let mut followed = Followed::new(&csv(&place.path("*.csv*"), ""), &Arc::default(), 1);
    assert_eq!(followed.settle(), Ok(2));
    place.write("b.csv.gz", "\x1f");
    let gone = followed.gone();
    assert!(
        !gone.is_refused() && gone.to_string().contains("it cannot be unpacked, or ends too soon; "),
        "{gone}"
    );
}

// Refutes a packed file that is refused, read in part, or read again; and one that changes and is not
// noticed.
#[test]
fn a_packed_file_is_read_to_its_end_once() {
    for (name, packing) in
        [("b.csv.gz", Packing::Gzip), ("b.csv.bz2", Packing::Bzip2), ("b.csv.zst", Packing::Zstandard)]
    {
        let place = Place::new("follow-packed");
        place.write("a.csv", "user\nada\n");
        let mut followed = Followed::new(&csv(&place.path("*.csv*"), ""), &Arc::default(), 3);
        assert_eq!(followed.settle(), Ok(1), "{name}");
        let text = "user\n".to_owned() + &"bob\n".repeat(1_000) + "the last has no end";
        // As a whole, under its name.
        place.write("new", packed(packing, text.as_bytes()));
        fs::rename(place.path("new"), place.path(name)).unwrap();
        assert_eq!(followed.settle(), Ok(1_002), "{name}");
        place.append("a.csv", "cid\n");
        assert_eq!(followed.settle(), Ok(1_003), "{name}");
        place.append(name, "more");
        assert!(followed.gone().to_string().contains("b.csv"), "{name}");
    }
}

/// A clock that may be set, and its guard, which holds for a second.
fn guarded() -> (Arc<Settable>, Arc<GuardedClock>) {
    let clock = Arc::new(Settable::default());
    let wall = Arc::clone(&clock);
    let read = move || {
        let boot = SystemClock.now();
        ClockReading { wall: boot + wall.0.load(Ordering::Relaxed), boot }
    };
    (clock, Arc::new(GuardedClock::over(read, Span::microseconds(HOLD).unwrap(), None, |_| {})))
}

const HOLD: i64 = 1_000_000;

// Refutes windows that are closed by setting the clock (B72, B73), a source that ends by it, and one that
// declares nothing from then on.
#[test]
fn a_clock_that_is_set_declares_nothing_while_it_is_in_doubt() {
    let place = Place::new("clock");
    place.write("a.csv", "user\nada\n");
    for set in [3_600_000_000i64, -3_600_000_000, 10 * 365 * 86_400_000_000] {
        let (clock, guard) = guarded();
        let mut followed = Followed::by(guard, &csv(&place.path("a.csv"), ""), 2, Positions::new());
        followed.settle().unwrap();
        // A leap second, or a nudge, is no reason for doubt.
        clock.0.store(set.signum() * 1_500_000, Ordering::Relaxed);
        let before = followed.complete[0];
        std::thread::sleep(Duration::from_millis(250));
        followed.settle().unwrap();
        assert!(followed.complete[0] > before);
        clock.0.store(set, Ordering::Relaxed);
        let stepped = SystemClock.now();
        // What was declared a moment ago.
        followed.settle_for(Duration::from_millis(200)).unwrap();
        let held = followed.complete.clone();
        assert!(held.iter().all(|time| (time - stepped).abs() < 60_000_000));
        while SystemClock.now() - stepped < HOLD {
            followed.settle_for(Duration::from_millis(10)).unwrap();
            assert!(followed.complete == held || SystemClock.now() - stepped >= HOLD);
        }
        followed.settle_for(Duration::from_millis(400)).unwrap();
        match set > 0 {
            true => assert!(followed.complete.iter().all(|time| *time >= stepped + set)),
            false => assert_eq!(followed.complete, held, "the clock has not passed what was declared"),
        }
        assert!(followed.gaps.is_empty(), "files are read again");
        place.append("a.csv", "ada\n");
        followed.settle_for(Duration::from_millis(300)).unwrap();
        assert_eq!(followed.found.len(), 2, "it reads on");
        place.write("a.csv", "user\nada\n");
    }
}

// Refutes windows of a pipe that are complete although nobody can say at which times it was connected; and a
// gap that is none.
#[test]
fn a_hold_of_the_clock_is_a_gap_of_a_pipe() {
    for (set, back) in [(3_600_000_000i64, false), (3_600_000_000, true), (-3_600_000_000, false)] {
        let place = Place::new("clock-pipe");
        let pipe = place.path("pipe.csv");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let source = csv(&pipe, "");
        let writer = std::thread::spawn(move || fs::OpenOptions::new().write(true).open(pipe).unwrap());
        let (clock, guard) = guarded();
        let mut followed = Followed::by(guard, &source, 1, Positions::new());
        let mut writer = writer.join().unwrap();
        writer.write_all(b"user\nada\n").unwrap();
        assert_eq!(followed.settle(), Ok(1));
        assert_eq!(followed.gaps.len(), 1, "before it was connected");
        clock.0.store(set, Ordering::Relaxed);
        followed.settle_for(Duration::from_millis(300)).unwrap();
        let (before, began) = (followed.complete[0], SystemClock.now());
        if back {
            clock.0.store(0, Ordering::Relaxed);
        }
        followed.settle_for(Duration::from_millis(1_500)).unwrap();
        let gaps = &followed.gaps[1..];
        match (set > 0, back) {
            (true, false) => {
                let [(start, end)] = *gaps else { panic!("{gaps:?}") };
                assert!(start == before && end >= began + set && end <= followed.complete[0], "{gaps:?}");
            }
            (true, true) => {
                let [(start, end)] = *gaps else { panic!("{gaps:?}") };
                assert!(start == before && (HOLD..2 * HOLD).contains(&(end - began)), "{gaps:?}");
            }
            // The time stands where it was.
            _ => assert!(gaps.iter().all(|(start, end)| *start == before && end - start < HOLD), "{gaps:?}"),
        }
        writer.write_all(b"bob\n").unwrap();
        followed.settle_for(Duration::from_millis(300)).unwrap();
        assert_eq!(followed.found.len(), 2);
    }
}

// Refutes a thread that goes on reading after all of its parts have ended.
#[test]
fn the_reading_ends_with_the_last_part() {
    let place = Place::new("alone");
    place.write("a.csv", "user\nada\n");
    let mut followed = Followed::new(&csv(&place.path("a.csv"), ""), &Arc::default(), 1);
    followed.settle().unwrap();
    let progress = Arc::clone(&followed.progress);
    assert!(Arc::strong_count(&progress) > 2, "the thread has one");
    drop(followed);
    let deadline = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&progress) > 1 {
        assert!(Instant::now() < deadline, "the thread goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

// Refutes a pipe that is taken for an empty file, and one that two processes would tear.
#[test]
fn a_pipe_with_a_name_is_read_as_it_comes() {
    let place = Place::new("pipe");
    let pipe = place.path("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let source = csv(&pipe, "");
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::OpenOptions::new().write(true).open(pipe).unwrap()
    });
    let mut followed = Followed::new(&source, &Arc::default(), 2);
    let mut writer = writer.join().unwrap();
    writer.write_all(b"user\nada\nbo").unwrap();
    assert_eq!(followed.settle(), Ok(1));
    writer.write_all(b"b\n").unwrap();
    assert_eq!(followed.settle(), Ok(2));
    let first = followed.gaps.clone();
    assert!(first.iter().all(|(start, end)| *start < 0 && *end <= followed.complete[0]), "{first:?}");
    // Without a writer nothing is declared; what a new one brings is read, and the time between is a gap.
    writer.write_all(b"torn").unwrap();
    drop(writer);
    followed.settle_for(Duration::from_millis(250)).unwrap();
    let before = followed.complete.clone();
    followed.settle_for(Duration::from_millis(400)).unwrap();
    assert_eq!(followed.complete, before);
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    writer.write_all(b"user\ncid\n").unwrap();
    assert_eq!(followed.settle(), Ok(3));
    assert!(
        followed.found.iter().any(|record| record.person == id(b"cid")),
        "a torn line is no part of the next"
    );
    let second: Vec<_> = followed.gaps.iter().skip(first.len()).collect();
    assert!(!second.is_empty());
    for (start, end) in second {
        assert!(*start <= before[0] && end - start >= 400_000, "{start} to {end}, after {}", before[0]);
    }
    let crew = Crew { process: 0, processes: 2, threads: 1 };
    let refused = open(&source.0, &source.1, wanted(&[], &[], false), InputPace::Bounded, crew, Brake::new());
    assert!(refused.unwrap_err().is_refused());
}
