//! Files that rotate while they are followed: every line is given exactly once.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};

use proptest::prelude::*;

use super::following::{Followed, Settable, turns, two};
use super::*;
use crate::dataflow::{Clock as _, SystemClock};
use crate::gate::Positions;

/// A program that writes a log, and what rotates it.
struct Log {
    place: Place,
    /// The open file of the writer, which goes on in a file that was renamed until it opens the new one.
    open: File,
    written: u64,
}

fn line(number: u64) -> String {
    format!("{{\"user\":\"somebody {number}\"}}\n")
}

impl Log {
    fn new(name: &str) -> Log {
        let place = Place::new(name);
        let open = Log::opened(&place);
        Log { place, open, written: 0 }
    }

    fn opened(place: &Place) -> File {
        OpenOptions::new().append(true).create(true).open(place.path("a.log")).unwrap()
    }

    fn write(&mut self, lines: u64) {
        let text: String = (self.written..self.written + lines).map(line).collect();
        self.open.write_all(text.as_bytes()).unwrap();
        self.written += lines;
    }

    fn reopen(&mut self) {
        self.open = Log::opened(&self.place);
    }

    fn exists(&self, name: &str) -> bool {
        self.place.path(name).exists()
    }

    /// Renames the older files: `a.log.1` to `a.log.2`, and so on.
    fn shift(&self) {
        for number in (1..9).rev() {
            for packed in ["", ".gz"] {
                let of = |number: u32| self.place.path(&format!("a.log.{number}{packed}"));
                if of(number).exists() {
                    fs::rename(of(number), of(number + 1)).unwrap();
                }
            }
        }
    }

    fn rename(&self) {
        self.shift();
        if self.exists("a.log") {
            fs::rename(self.place.path("a.log"), self.place.path("a.log.1")).unwrap();
        }
    }

    /// Copies the file and cuts it, as `copytruncate` does.
    fn copy_and_cut(&self) {
        self.shift();
        if self.exists("a.log") {
            fs::copy(self.place.path("a.log"), self.place.path("a.log.1")).unwrap();
            OpenOptions::new().write(true).open(self.place.path("a.log")).unwrap().set_len(0).unwrap();
        }
    }

    /// Packs a file and removes it, as `gzip` does.
    fn pack(&self, name: &str) {
        if self.exists(name) {
            let bytes = fs::read(self.place.path(name)).unwrap();
            let packed = packed(Packing::Gzip, &bytes);
            let (first, rest) = packed.split_at(packed.len() / 2);
            self.place.write(&format!("{name}.gz"), first);
            self.place.append(&format!("{name}.gz"), rest);
            let written = fs::metadata(self.place.path(name)).unwrap().modified().unwrap();
            let file = OpenOptions::new().append(true).open(self.place.path(&format!("{name}.gz"))).unwrap();
            file.set_modified(written).unwrap();
            fs::remove_file(self.place.path(name)).unwrap();
        }
    }

    fn remove(&self, name: &str) {
        if self.exists(name) {
            fs::remove_file(self.place.path(name)).unwrap();
        }
    }

    fn source(&self, path: &str) -> (SourceSpec, Protected) {
        let path = self.place.path(path);
        stated(&format!("type = \"jsonl\"\npath = {:?}", path.to_str().unwrap()), USER)
    }

    /// Follows it by a pattern or a name, on two workers.
    fn follow(&self, path: &str) -> Followed {
        Followed::new(&self.source(path), &Arc::<Settable>::default(), 2)
    }

    /// Compares what was given with the lines from one number on that were written.
    fn check(&self, followed: &[Followed]) -> Result<(), String> {
        let mut given: BTreeMap<Id, u32> = BTreeMap::new();
        for record in followed.iter().flat_map(|followed| &followed.found) {
            *given.entry(record.person).or_default() += 1;
        }
        for number in 0..self.written {
            match given.remove(&id(format!("somebody {number}").as_bytes())) {
                Some(1) => {}
                times => return Err(format!("line {number} of {} was given {times:?} times", self.written)),
            }
        }
        if given.is_empty() { Ok(()) } else { Err("lines that nobody wrote".to_owned()) }
    }
}

const PATHS: [&str; 3] = ["a.log", "a.log*", ""];

// Refutes a reader that leaves a renamed file at once, that reads the new one from the old position, that
// takes a name that is gone for the end, and that goes on declaring while there is no file.
#[test]
fn a_renamed_file_is_read_to_its_end_and_the_new_one_from_its_start() {
    for path in PATHS {
        let mut log = Log::new("renamed");
        log.write(1_000);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for round in 0..3 {
            log.rename();
            log.write(500);
            if round > 0 {
                followed.settle_for(Duration::from_millis(250)).unwrap();
                log.write(500);
            }
            if path == "a.log" && round == 2 {
                let before = followed.complete.clone();
                followed.settle_for(Duration::from_millis(300)).unwrap();
                let (now, then) = (followed.complete[0], before[0]);
                assert!(now - then < 200_000, "declared while there was no file: {}", now - then);
            }
            log.reopen();
            log.write(700);
            followed.settle().unwrap();
            log.check(std::slice::from_ref(&followed)).unwrap();
        }
    }
}

// Refutes a reader that goes on at the old position of a cut file, that reads its copy again, and that loses
// the lines between its last look and the copy.
#[test]
fn a_cut_file_is_read_from_its_start_and_the_rest_from_its_copy() {
    for path in PATHS {
        let mut log = Log::new("cut");
        log.write(1_000);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for round in 0..4 {
            log.write(600);
            log.copy_and_cut();
            // Longer than before at once, and shorter.
            log.write(if round % 2 == 0 { 5_000 } else { 10 });
            followed.settle().unwrap();
            log.check(std::slice::from_ref(&followed)).unwrap();
        }
    }
}

// Refutes a reader that looks at the length alone: the cut file is as long again as it was.
#[test]
fn a_cut_file_that_is_as_long_again_is_read() {
    let mut log = Log::new("as-long");
    log.write(1_000);
    let mut followed = log.follow("a.log");
    followed.settle().unwrap();
    log.rename();
    log.reopen();
    for _ in 0..4 {
        // Numbers of four digits each.
        log.write(500);
        followed.settle().unwrap();
        log.copy_and_cut();
    }
    log.write(500);
    followed.settle().unwrap();
    log.check(std::slice::from_ref(&followed)).unwrap();
    assert_eq!(fs::metadata(log.place.path("a.log")).unwrap().len(), 500 * line(1_000).len() as u64);
}

// Refutes a packed sibling that is read again, that ends the source while it is being written, or that hides
// a file of other content.
#[test]
fn packed_siblings_of_what_was_read_are_passed_over() {
    let mut log = Log::new("packed-siblings");
    log.write(3_000);
    let mut followed = log.follow("a.log*");
    followed.settle().unwrap();
    log.rename();
    log.reopen();
    log.write(10);
    followed.settle().unwrap();
    // As it is written by a slow program.
    let whole = packed(Packing::Gzip, &fs::read(log.place.path("a.log.1")).unwrap());
    for piece in whole.chunks(whole.len() / 6 + 1) {
        log.place.append("a.log.1.gz", piece);
        followed.settle_for(Duration::from_millis(150)).unwrap();
    }
    log.remove("a.log.1");
    followed.settle().unwrap();
    log.check(std::slice::from_ref(&followed)).unwrap();
    // One that nobody has read yet.
    let more: String = (log.written..log.written + 40).map(line).collect();
    log.written += 40;
    log.place.write("a.log.7.gz", packed(Packing::Gzip, more.as_bytes()));
    followed.settle().unwrap();
    log.check(std::slice::from_ref(&followed)).unwrap();
}

// Refutes a reader that leaves a file that was packed and removed while its writer still had it open.
#[test]
fn a_file_that_is_packed_at_once_is_read_to_its_end() {
    for path in PATHS {
        let mut log = Log::new("packed-at-once");
        log.write(3_000);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for _ in 0..3 {
            log.rename();
            File::create(log.place.path("a.log")).unwrap();
            log.write(100);
            log.pack("a.log.1");
            log.write(100);
            followed.settle_for(Duration::from_millis(250)).unwrap();
            log.write(100);
            log.reopen();
            log.write(100);
            followed.settle().unwrap();
            log.check(std::slice::from_ref(&followed)).unwrap();
        }
    }
}

// Refutes a file that is written anew with more lines, and read twice.
#[test]
fn a_file_that_is_written_anew_with_more_is_read_on() {
    let mut log = Log::new("anew");
    log.write(100);
    let mut followed = log.follow("a.log");
    followed.settle().unwrap();
    for lines in [1, 50, 2_000] {
        fs::copy(log.place.path("a.log"), log.place.path("temporary")).unwrap();
        fs::rename(log.place.path("temporary"), log.place.path("a.log")).unwrap();
        log.reopen();
        log.write(lines);
        followed.settle().unwrap();
        log.check(std::slice::from_ref(&followed)).unwrap();
    }
}

// Refutes a log that is taken for a copy because its first lines are those of another one.
#[test]
fn another_log_that_begins_alike_is_no_copy() {
    let mut log = Log::new("alike");
    log.write(2_000);
    let mut followed = log.follow("");
    followed.settle().unwrap();
    // Empty, then with the first lines of the other, then with lines of its own.
    log.place.write("a.log.other", "");
    followed.settle().unwrap();
    let first: String = (0..3).map(line).collect();
    log.place.append("a.log.other", &first);
    std::thread::sleep(Duration::from_millis(300));
    followed.settle().unwrap();
    log.check(std::slice::from_ref(&followed)).unwrap();
    log.place.append("a.log.other", "{\"user\":\"another\"}\n");
    followed.settle().unwrap();
    let times =
        |name: &str| followed.found.iter().filter(|record| record.person == id(name.as_bytes())).count();
    assert_eq!((times("another"), times("somebody 0"), times("somebody 3")), (1, 2, 1));
}

// Refutes two processes that disagree after a rotation.
#[test]
fn processes_share_a_log_that_rotates() {
    let mut log = Log::new("rotating-two");
    log.write(500);
    let clock = Arc::<Settable>::default();
    let source = log.source("a.log");
    let mut both = two([&source, &source], [&clock, &clock]);
    assert_eq!(turns(&mut both, Duration::from_millis(500)), None);
    for round in 0..6 {
        if round % 2 == 0 {
            log.rename();
            log.write(300);
            assert_eq!(turns(&mut both, Duration::from_millis(150)), None);
            log.reopen();
        } else {
            log.write(300);
            log.copy_and_cut();
        }
        log.write(200);
        let (now, deadline) = (SystemClock.now(), Instant::now() + Duration::from_secs(20));
        while both.iter().any(|process| process.complete[0] <= now) {
            assert!(Instant::now() < deadline);
            assert_eq!(turns(&mut both, Duration::from_millis(20)), None);
        }
        log.check(&both).unwrap();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64),
    Rename,
    Reopen,
    CopyAndCut,
    Pack(u32),
    Remove(u32),
    Settle,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u64..400).prop_map(Step::Write),
        1 => Just(Step::Rename),
        2 => Just(Step::Reopen),
        1 => Just(Step::CopyAndCut),
        1 => (1u32..4).prop_map(Step::Pack),
        1 => (2u32..5).prop_map(Step::Remove),
        2 => Just(Step::Settle),
        2 => Just(Step::Look),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::noise::goodness::size(10, 400) as u32))]

    // Refutes a line that is lost or given twice by any order of rotations.
    #[test]
    fn every_line_is_given_once_whatever_rotates(
        steps in prop::collection::vec(step(), 4..16),
        path in 0..PATHS.len(),
    ) {
        let mut log = Log::new("any-rotation");
        log.write(50);
        let mut followed = log.follow(PATHS[path]);
        followed.settle().unwrap();
        for step in &steps {
            match step {
                Step::Write(lines) => log.write(*lines),
                Step::Rename => {
                    // A program that rotates twice before it is looked at writes to a file without a name.
                    log.reopen();
                    followed.settle().unwrap();
                    log.rename();
                }
                Step::Reopen => log.reopen(),
                Step::CopyAndCut => {
                    log.reopen();
                    followed.settle().unwrap();
                    log.copy_and_cut();
                }
                Step::Pack(number) => {
                    log.reopen();
                    followed.settle().unwrap();
                    log.pack(&format!("a.log.{number}"));
                }
                Step::Remove(number) => {
                    log.reopen();
                    followed.settle().unwrap();
                    for packed in ["", ".gz"] {
                        log.remove(&format!("a.log.{number}{packed}"));
                    }
                }
                Step::Settle => {
                    log.reopen();
                    followed.settle().unwrap();
                }
                Step::Look => followed.settle_for(Duration::from_millis(120)).unwrap(),
            }
        }
        log.reopen();
        followed.settle().unwrap();
        let checked = log.check(std::slice::from_ref(&followed));
        prop_assert!(checked.is_ok(), "{checked:?}");
    }
}

// Restarts.

/// A reader that is killed and started again, with the records that it has found for good.
struct Restarted<'a> {
    path: &'a str,
    running: Option<Followed>,
    kept: Vec<Given>,
    positions: Positions,
    /// The number of records found before the last checkpoint.
    sure: usize,
    gaps: usize,
}

impl Restarted<'_> {
    /// The running reader, which begins where the last one left its positions.
    fn up(&mut self, log: &Log) -> &mut Followed {
        let Restarted { path, running, positions, .. } = self;
        running.get_or_insert_with(|| {
            Followed::resumed(&log.source(path), &Arc::default(), 2, positions.clone())
        })
    }

    fn checkpoint(&mut self, log: &Log) {
        self.up(log).checkpoint().unwrap();
        let Restarted { running, positions, sure, .. } = self;
        if let Some(running) = running {
            positions.clone_from(&running.positions);
            *sure = running.found.len();
        }
    }

    fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            self.kept.extend(running.found.into_iter().take(self.sure));
            self.gaps += running.gaps.len();
            self.sure = 0;
        }
    }
}

#[derive(Clone, Debug)]
enum Life {
    Step(Step),
    Checkpoint,
    Kill,
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        4 => step().prop_map(Life::Step),
        1 => Just(Life::Checkpoint),
        1 => Just(Life::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::noise::goodness::size(16, 600) as u32))]

    // Refutes a position that is off by a line, a file that a restart does not find again under its new name,
    // packed or in its copy, and one that came and was renamed while nobody read.
    #[test]
    fn every_line_is_given_once_whatever_rotates_between_two_lives(
        lives in prop::collection::vec(life(), 4..20),
        path in 0..PATHS.len(),
    ) {
        let mut log = Log::new("any-restart");
        log.write(50);
        let mut reader = Restarted {
            path: PATHS[path],
            running: None,
            kept: Vec::new(),
            positions: Positions::new(),
            sure: 0,
            gaps: 0,
        };
        reader.checkpoint(&log);
        for life in &lives {
            // While it runs, the reader sees each file before the next rotation.
            let settled = |reader: &mut Restarted<'_>| {
                if let Some(running) = &mut reader.running {
                    running.settle().unwrap();
                }
            };
            match life {
                Life::Checkpoint => reader.checkpoint(&log),
                Life::Kill => reader.kill(),
                Life::Step(Step::Write(lines)) => log.write(*lines),
                Life::Step(Step::Reopen) => log.reopen(),
                Life::Step(Step::Rename) => {
                    log.reopen();
                    settled(&mut reader);
                    log.rename();
                    log.reopen();
                }
                Life::Step(Step::CopyAndCut) => {
                    log.reopen();
                    settled(&mut reader);
                    log.copy_and_cut();
                }
                Life::Step(Step::Pack(number)) => {
                    log.reopen();
                    settled(&mut reader);
                    log.pack(&format!("a.log.{number}"));
                }
                // A file that is removed before it was read for good is lost.
                Life::Step(Step::Remove(_)) => {}
                Life::Step(Step::Settle) => _ = reader.up(&log).settle().unwrap(),
                Life::Step(Step::Look) => reader.up(&log).settle_for(Duration::from_millis(120)).unwrap(),
            }
        }
        log.reopen();
        reader.checkpoint(&log);
        reader.kill();
        let mut all = log.follow(PATHS[path]);
        all.found = reader.kept;
        prop_assert_eq!(log.check(&[all]), Ok(()));
        prop_assert_eq!(reader.gaps, 0);
    }
}

// Refutes a file that is gone with lines that nobody has read, and whose windows are then answered.
#[test]
fn a_file_that_is_gone_at_a_restart_is_a_gap() {
    for path in PATHS {
        let mut log = Log::new("gone-at-restart");
        log.write(100);
        let mut followed = log.follow(path);
        followed.checkpoint().unwrap();
        assert!(followed.gaps.is_empty());
        let positions = followed.positions.clone();
        drop(followed);
        log.write(10);
        log.remove("a.log");
        log.reopen();
        log.write(5);
        let before = SystemClock.now();
        let mut followed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!(followed.settle().unwrap(), 5);
        let [(start, end), _] = followed.gaps[..] else { panic!("{:?}", followed.gaps) };
        assert!(start < 0 && end >= before);
        // The next life knows nothing of the file any more.
        followed.checkpoint().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        let mut followed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!((followed.settle().unwrap(), followed.gaps.len()), (0, 0));
    }
}

// Refutes a restart before any position has moved that reads the present files alone, and one that takes a log
// that appeared since for read.
#[test]
fn a_file_of_which_all_is_needed_is_found_under_any_name() {
    for (path, packs) in [("a.log", false), ("a.log", true), ("a.log*", false), ("a.log*", true)] {
        let mut log = Log::new("origins");
        log.write(50);
        let mut followed = log.follow(path);
        followed.begin().unwrap();
        log.rename();
        log.reopen();
        log.write(30);
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        assert_eq!(positions.len(), 2);
        drop(followed);
        log.rename();
        log.reopen();
        log.write(20);
        if packs {
            log.pack("a.log.1");
            log.pack("a.log.2");
        }
        let mut resumed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions.clone());
        resumed.begin().unwrap();
        assert_eq!((resumed.settle().unwrap(), resumed.gaps.len()), (100, 0), "{path}, {packs}");
        assert_eq!(resumed.positions.len(), 3, "those of the former run, and a new one");
        log.remove(if packs { "a.log.2.gz" } else { "a.log.2" });
        let mut resumed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!((resumed.settle().unwrap(), resumed.gaps.is_empty()), (50, false), "{path}, {packs}");
    }
}

// Refutes a gap where the oldest of a log's files is removed, as each rotation does, and none where a log is
// removed that may have grown.
#[test]
fn a_rotated_file_that_was_read_to_its_end_may_go() {
    let rotated = |name: &str| {
        let mut log = Log::new(name);
        log.write(50);
        log.rename();
        log.reopen();
        log.write(20);
        log
    };
    let gaps = |log: &Log, mut followed: Followed| {
        followed.checkpoint().unwrap();
        ["a.log.1", "a.log.1.gz"].iter().for_each(|name| log.remove(name));
        let positions = followed.positions.clone();
        let mut resumed = Followed::resumed(&log.source("a.log*"), &Arc::default(), 2, positions);
        assert_eq!(resumed.settle().unwrap(), 0);
        resumed.gaps.len()
    };
    let log = rotated("settled-packed");
    log.pack("a.log.1");
    assert_eq!(gaps(&log, log.follow("a.log*")), 0, "packed, and read to its end");
    let log = rotated("settled-plain");
    let mut followed = log.follow("a.log*");
    followed.settle_for(Duration::from_millis(2_500)).unwrap();
    assert_eq!(gaps(&log, followed), 0, "it has not grown for the patience of 2 s");
    let log = rotated("not-settled");
    assert!(gaps(&log, log.follow("a.log*")) > 0, "it may have grown before it was removed");
}

// Refutes the position of a file without a line that takes another file, which then begins anew.
#[test]
fn a_file_without_a_line_holds_no_place_of_another() {
    let mut log = Log::new("empty-at-restart");
    log.write(50);
    let mut followed = log.follow("a.log");
    followed.settle().unwrap();
    for _ in 0..2 {
        log.rename();
        log.reopen();
        followed.settle().unwrap();
    }
    log.remove("a.log.1");
    log.write(1);
    followed.checkpoint().unwrap();
    let positions = followed.positions.clone();
    drop(followed);
    log.write(1);
    let mut followed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
    assert_eq!((followed.settle().unwrap(), followed.gaps.len()), (1, 0));

    // It gets lines, and another name, while nobody reads.
    log.rename();
    log.reopen();
    followed.checkpoint().unwrap();
    let positions = followed.positions.clone();
    drop(followed);
    log.write(3);
    log.rename();
    log.reopen();
    log.write(2);
    let mut followed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
    assert_eq!((followed.settle().unwrap(), followed.gaps.len()), (5, 0));
}

// Refutes columns that are looked for at the position, where no line names them.
#[test]
fn the_columns_of_a_file_are_known_at_a_position() {
    let place = Place::new("columns-at-restart");
    place.write("a.csv", "x,user\n1,ada\n");
    let source = csv(&place.path("a.csv"), "");
    let mut followed = Followed::new(&source, &Arc::default(), 2);
    followed.checkpoint().unwrap();
    let positions = followed.positions.clone();
    drop(followed);
    place.append("a.csv", "2,bob\n");
    let mut followed = Followed::resumed(&source, &Arc::default(), 2, positions);
    followed.settle().unwrap();
    assert_eq!(followed.found.iter().map(|given| given.person).collect::<Vec<_>>(), [id(b"bob")]);
}
