//! Files that rotate between two lives of a run: every line is given exactly once, or there is an input gap.

use proptest::prelude::*;

use super::following::Followed;
use super::log::{Beginning, Log, PATHS};
use super::rotation::{Step, step};
use super::*;
use crate::dataflow::{Clock as _, SystemClock};
use crate::gate::Positions;

/// The number of files among positions.
fn files(positions: &Positions) -> usize {
    positions.keys().filter(|name| !name.starts_with("///")).count()
}

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

    /// Writes the positions that hold while every line since the last checkpoint is needed.
    fn begin(&mut self, log: &Log) {
        self.up(log).begin().unwrap();
        let Restarted { running, positions, .. } = self;
        running.iter().for_each(|running| positions.clone_from(&running.positions));
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
    Begin,
    Kill,
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        4 => step().prop_map(Life::Step),
        1 => Just(Life::Checkpoint),
        1 => Just(Life::Begin),
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
        begins in 0..Beginning::ALL.len(),
        first in prop_oneof![Just(0u64), Just(50)],
    ) {
        let mut log = Log::beginning("any-restart", Beginning::ALL[begins]);
        log.write(first);
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
                Life::Begin => reader.begin(&log),
                Life::Kill => reader.kill(),
                Life::Step(Step::Write(lines)) => log.write(*lines),
                Life::Step(Step::Reopen) => log.reopen(),
                Life::Step(Step::Rename(lines)) => {
                    log.reopen();
                    settled(&mut reader);
                    log.write(*lines);
                    log.rename();
                    log.reopen();
                }
                Life::Step(Step::CopyAndCut(lines)) => {
                    log.reopen();
                    settled(&mut reader);
                    log.write(*lines);
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
        // Files that begin with equal records may be taken for each other, and nothing in a log that was empty tells when it
        // was cut, or while a short one is packed: a restart says so.
        let packs = lives.iter().any(|life| matches!(life, Life::Step(Step::Pack(_))));
        let is_doubtful = first == 0 || packs || matches!(Beginning::ALL[begins], Beginning::Records(_));
        if reader.gaps == 0 || !is_doubtful {
            prop_assert_eq!(log.check(&[all]), Ok(()));
            prop_assert_eq!(reader.gaps, 0);
        }
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
        // A life that ends before any window has left does not come upon it again.
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        let mut early = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!(early.settle().unwrap(), 5);
        assert_eq!(early.gaps, [(start, end); 2], "each of two workers receives it");
        // The next life knows nothing of the file any more, and of the gap for the windows that are still open.
        followed.checkpoint().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        let mut followed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!(followed.settle().unwrap(), 0);
        assert_eq!(followed.gaps, [(start, end); 2]);
        // So does the life after that: the first positions of a life replace all others.
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        let mut followed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!(followed.settle().unwrap(), 0);
        assert_eq!(followed.gaps, [(start, end); 2]);
    }
}

// Refutes a packed file that is read again where a pattern names it: lines that count twice, and a header that is taken
// for a line.
#[test]
fn a_packed_file_that_was_read_is_passed_over_where_a_pattern_names_it() {
    for (begins, cuts) in [(Beginning::Nothing, true), (Beginning::Header, true), (Beginning::Nothing, false)]
    {
        let mut log = Log::beginning("packed-by-pattern", begins);
        log.write(100);
        let mut followed = log.follow("a.log*");
        followed.settle().unwrap();
        if cuts {
            log.copy_and_cut();
        } else {
            log.rename();
            log.reopen();
        }
        log.write(20);
        followed.checkpoint().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        log.shift();
        log.pack("a.log.2");
        log.write(5);
        let source = log.source("a.log*");
        let mut followed = Followed::resumed(&source, &Arc::default(), 2, positions);
        assert_eq!(followed.settle().unwrap(), 5, "{begins:?} {cuts}");
        // It is away, and comes back.
        let (here, away) = (log.place.path("a.log.2.gz"), log.place.path("away.gz"));
        fs::rename(&here, &away).unwrap();
        assert_eq!(followed.settle().unwrap(), 5);
        fs::rename(&away, &here).unwrap();
        log.write(3);
        followed.settle().unwrap();
        assert_eq!(followed.settle().unwrap(), 8, "{begins:?} {cuts}");
        assert!(followed.gaps.iter().all(|(_, end)| *end < 0), "{:?}", followed.gaps);
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
        assert_eq!(files(&positions), 2);
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
        assert_eq!(files(&resumed.positions), 3, "those of the former run, and a new one");
        log.remove(if packs { "a.log.2.gz" } else { "a.log.2" });
        let mut resumed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!((resumed.settle().unwrap(), resumed.gaps.is_empty()), (50, false), "{path}, {packs}");
    }
}

// Refutes a log that was empty at first and is forgotten: the file before it and the one after it are known, and what
// came between them is taken for read.
#[test]
fn a_log_that_was_empty_at_first_is_read_again() {
    for path in PATHS {
        let mut log = Log::new("empty-at-first");
        log.write(50);
        let mut followed = log.follow(path);
        followed.begin().unwrap();
        log.rename();
        log.reopen();
        followed.begin().unwrap();
        log.write(30);
        followed.begin().unwrap();
        log.rename();
        log.reopen();
        log.write(20);
        followed.begin().unwrap();
        assert_eq!(files(&followed.positions), 3, "{path}");
        for packs in [false, true] {
            if packs {
                log.pack("a.log.1");
            }
            let positions = followed.positions.clone();
            let mut resumed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
            assert_eq!((resumed.settle().unwrap(), resumed.gaps.len()), (100, 0), "{path}, {packs}");
        }
    }
}

// Refutes a file that is passed over because the ones before and after it are known.
#[test]
fn a_file_that_was_read_and_has_no_position_is_read_again() {
    let mut log = Log::new("no-position");
    let mut followed = log.follow("a.log");
    for lines in [50, 30, 20] {
        log.rename();
        log.reopen();
        log.write(lines);
        followed.begin().unwrap();
    }
    let mut positions = followed.positions.clone();
    assert!(positions.remove("//1").is_some(), "{:?}", positions.keys());
    let mut resumed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
    assert_eq!((resumed.settle().unwrap(), resumed.gaps.len()), (100, 0));
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

// Refutes a gap where a rotated file is removed whose writer has gone on: to a second file since, or to the first one,
// and it had no name any more when it was read.
#[test]
fn a_rotated_file_may_go_once_its_writer_has_gone_on() {
    let gaps = |younger: usize, is_removed_before: bool| {
        let mut log = Log::new("gone-on");
        log.write(50);
        let mut followed = log.follow("a.log");
        followed.settle().unwrap();
        for _ in 0..younger {
            log.rename();
            log.reopen();
            log.write(20);
            followed.settle().unwrap();
        }
        let oldest = format!("a.log.{younger}");
        if is_removed_before {
            log.remove(&oldest);
            log.write(1);
        }
        followed.checkpoint().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        log.remove(&oldest);
        let mut resumed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
        assert_eq!(resumed.settle().unwrap(), 0);
        resumed.gaps.len()
    };
    assert!(gaps(1, false) > 0, "it may have grown before it was removed");
    assert_eq!(gaps(1, true), 0);
    assert_eq!(gaps(2, false), 0);
}

// Refutes a gap where windows need nothing of a file that was removed though they hold the positions of others back, and
// none where they need some of it.
#[test]
fn a_rotated_file_of_which_windows_need_nothing_may_go() {
    for (late, gaps) in [(0, 0), (1, 1)] {
        let mut log = Log::new("needs-nothing");
        log.write(50);
        let mut followed = log.follow("a.log");
        followed.checkpoint().unwrap();
        log.write(late);
        for _ in 0..2 {
            log.rename();
            log.reopen();
            log.write(20);
            followed.settle().unwrap();
        }
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        log.remove("a.log.2");
        let mut resumed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
        assert_eq!((resumed.settle().unwrap(), resumed.gaps.len().min(1)), (40, gaps));
    }
}

// Refutes a file that was empty at one start, got lines, and was packed before the next, of which only the empty beginning
// is known: its lines are in no other file.
#[test]
fn a_log_that_was_empty_at_one_start_is_read_at_the_next_wherever_it_is() {
    // What becomes of the file, whether its empty beginning is all that is known, the lines that are found, and gaps.
    let lives = [
        ("stays", false, 12, 0),
        ("packed", false, 12, 0),
        ("packed", true, 12, 0),
        ("stays", true, 12, 0),
        ("removed", true, 7, 1),
        ("removed", false, 7, 1),
    ];
    for (fate, is_held_back, lines, gaps) in lives {
        let mut log = Log::new("empty-between");
        log.write(50);
        let mut followed = log.follow("a.log");
        followed.checkpoint().unwrap();
        log.rename();
        // The writer goes on in the renamed file, beside the new one.
        log.place.write("a.log", "");
        followed.begin().unwrap();
        let early = followed.positions.clone();
        drop(followed);
        log.write(3);
        let mut followed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, early.clone());
        followed.begin().unwrap();
        log.reopen();
        log.write(5);
        followed.begin().unwrap();
        log.rename();
        log.reopen();
        log.write(4);
        followed.begin().unwrap();
        let mut positions = followed.positions.clone();
        drop(followed);
        assert_ne!(positions["//1"], early["//1"], "its lines move its own position");
        if is_held_back {
            positions.insert("//1".to_owned(), early["//1"].clone());
        }
        match fate {
            "packed" => log.pack("a.log.1"),
            "removed" => log.remove("a.log.1"),
            _ => {}
        }
        let mut followed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
        assert_eq!(followed.settle().unwrap(), lines, "{fate} {is_held_back}");
        assert_eq!(followed.gaps.len().min(1), gaps, "{fate} {is_held_back}");
    }
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
