//! Files that rotate while they are followed: every line is given exactly once.

use std::fs::File;

use proptest::prelude::*;

use super::following::{Followed, Settable};
use super::log::{Beginning, Log, PATHS, line};
use super::processes::{turns, two};
use super::*;
use crate::dataflow::{Clock as _, SystemClock};

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

// Refutes a file that is read under its packed name and through its open handle: within one look it was cut, renamed
// and packed.
#[test]
fn a_file_that_was_cut_renamed_and_packed_within_a_look_counts_once() {
    for path in PATHS {
        let mut log = Log::new("cut-and-packed");
        log.write(40);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        log.copy_and_cut();
        log.write(20);
        log.rename();
        log.reopen();
        log.write(20);
        log.copy_and_cut();
        log.copy_and_cut();
        log.pack("a.log.3");
        followed.settle().unwrap();
        log.write(20);
        followed.settle().unwrap();
        log.check(std::slice::from_ref(&followed)).unwrap_or_else(|wrong| panic!("{path}: {wrong}"));
    }
}

// Refutes lines that are lost because nothing was in the log at the last look, by which a cut or a rename is known.
#[test]
fn what_comes_to_an_empty_log_is_read_wherever_a_rotation_puts_it() {
    for path in PATHS {
        for begins in [Beginning::Nothing, Beginning::Header] {
            for cuts in [[true, true], [false, true], [true, false], [false, false]] {
                let mut log = Log::beginning("empty-log", begins);
                let mut followed = log.follow(path);
                followed.settle().unwrap();
                for cut in cuts {
                    log.write(10);
                    if cut {
                        log.copy_and_cut();
                    } else {
                        log.rename();
                        log.reopen();
                    }
                }
                log.write(3);
                followed.settle().unwrap();
                followed.settle().unwrap();
                log.check(std::slice::from_ref(&followed))
                    .unwrap_or_else(|wrong| panic!("{path}, {begins:?}, {cuts:?}: {wrong}"));
            }
        }
    }
}

// Refutes a log without a line that nothing is declared of, for a packed one beside it that may be its copy.
#[test]
fn empty_logs_hold_nothing_up() {
    let log = Log::new("all-empty");
    log.place.write("a.log-20261113.gz", packed(Packing::Gzip, b""));
    log.place.write("a.log-20261114", "");
    let mut followed = log.follow("a.log*");
    assert_eq!(followed.settle().unwrap(), 0);
}

// Refutes a packed file that is another one while its log has no name: a rotation is between two steps.
#[test]
fn a_packed_file_is_known_while_its_log_is_away() {
    // The one that is packed is seen first under its rotated name, or under that of the log.
    for packed in ["a.log.3", "a.log.2"] {
        let mut log = Log::new("log-away");
        log.write(30);
        log.rename();
        log.reopen();
        log.write(20);
        let mut followed = log.follow("a.log*");
        followed.settle().unwrap();
        log.rename();
        log.reopen();
        log.write(10);
        followed.settle().unwrap();
        log.rename();
        log.reopen();
        followed.settle().unwrap();
        log.pack(packed);
        log.rename();
        followed.settle_for(Duration::from_millis(400)).unwrap();
        log.reopen();
        log.write(5);
        followed.settle().unwrap();
        log.check(std::slice::from_ref(&followed)).unwrap_or_else(|wrong| panic!("{packed}: {wrong}"));
    }
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

// Refutes a rotated file that is read again where it was rotated once more and packed between two looks, as by
// `delaycompress`: by its name it is no copy of what it was called before.
#[test]
fn a_file_that_was_rotated_before_the_start_is_read_once_when_it_is_packed() {
    let both = [Beginning::Nothing, Beginning::Header];
    for (path, begins) in ["a.log*", ""].into_iter().flat_map(|path| both.map(|begins| (path, begins))) {
        let mut log = Log::beginning("packed-later", begins);
        log.write(100);
        log.rename();
        log.reopen();
        log.write(100);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for _ in 0..3 {
            log.rename();
            log.pack("a.log.2");
            log.reopen();
            log.write(100);
            followed.settle().unwrap();
            log.check(std::slice::from_ref(&followed)).unwrap();
        }
    }
}

// Refutes a rotated file that is taken for a copy of the log since both begin with the same kilobytes: the header of a
// table, or comments before it, whichever has more lines.
#[test]
fn rotated_files_with_one_long_header_are_no_copies() {
    let paths = [("a.log*", false), ("", false), ("a.log*", true), ("", true)];
    let begins = [Beginning::Header, Beginning::Comments];
    for (begins, (path, packed)) in begins.into_iter().flat_map(|begins| paths.map(|path| (begins, path))) {
        for (older, newer) in [(5, 100), (99, 100), (100, 100), (150, 100), (1, 0), (0, 1)] {
            let mut log = Log::beginning("long-header", begins);
            log.write(older);
            log.rename();
            log.reopen();
            log.write(newer);
            if packed {
                log.pack("a.log.1");
            }
            let mut followed = log.follow(path);
            followed.settle().unwrap();
            assert_eq!(log.check(&[followed]), Ok(()), "{begins:?}, {path:?}, {older} and {newer}");
        }
    }
}

// Refutes a rotated file that is passed over though it has more lines than the log that begins like it: all of its lines
// are equal.
#[test]
fn a_rotated_file_of_equal_lines_that_is_longer_is_no_copy() {
    let log = Log::new("equal-lines");
    log.place.write("a.log", line(0).repeat(5));
    let mut followed = log.follow("a.log*");
    followed.settle().unwrap();
    log.place.write("a.log.1", line(0).repeat(100));
    followed.settle().unwrap();
    assert_eq!(followed.found.len(), 105);
    // Of many equal lines, and others behind them.
    let log = Log::new("equal-at-first");
    let equal = line(0).repeat(100);
    log.place.write("a.log", format!("{equal}{}", line(2).repeat(5)));
    let mut followed = log.follow("a.log*");
    followed.settle().unwrap();
    log.place.write("a.log.1", format!("{equal}{}", line(1)));
    followed.settle_for(Duration::from_millis(300)).unwrap();
    followed.settle().unwrap();
    assert_eq!(followed.found.len(), 206);
}

// Refutes a packed file that is read again from its start, since it took the place of another one in the file system: as a
// file that was cut. It holds what was read of the log.
#[test]
fn a_packed_file_in_the_place_of_another_is_compared() {
    for path in ["a.log*", ""] {
        for resumes in [false, true] {
            let mut log = Log::new("place-of-another");
            log.write(100);
            log.rename();
            log.reopen();
            log.pack("a.log.1");
            log.write(100);
            let mut followed = log.follow(path);
            followed.checkpoint().unwrap();
            let given = std::mem::take(&mut followed.found);
            if resumes {
                let positions = followed.positions.clone();
                drop(followed);
                followed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
                followed.settle().unwrap();
            }
            followed.found.splice(0..0, given);
            log.rename();
            log.reopen();
            log.write(50);
            let text = fs::read(log.place.path("a.log.1")).unwrap();
            fs::write(log.place.path("a.log.2.gz"), packed(Packing::Gzip, &text)).unwrap();
            log.remove("a.log.1");
            followed.settle().unwrap();
            let checked = log.check(std::slice::from_ref(&followed));
            assert_eq!(checked, Ok(()), "{path:?}, a restart: {resumes}");
        }
    }
}

// Refutes a file that came and was rotated between two looks, and that is read by nobody.
#[test]
fn a_log_that_is_rotated_twice_between_two_looks_is_read() {
    let both = [Beginning::Nothing, Beginning::Header];
    for (path, begins) in PATHS.into_iter().flat_map(|path| both.map(|begins| (path, begins))) {
        let mut log = Log::beginning("twice", begins);
        log.write(100);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for (rotations, way) in [(2, ""), (3, ""), (2, "packed"), (3, "packed"), (2, "cut"), (3, "cut")] {
            for _ in 0..rotations {
                log.write(50);
                match way {
                    "cut" => log.copy_and_cut(),
                    _ => log.rename(),
                }
                if way == "packed" {
                    log.pack("a.log.2");
                }
                log.reopen();
            }
            log.write(50);
            followed.settle().unwrap();
            let checked = log.check(std::slice::from_ref(&followed));
            assert_eq!(checked, Ok(()), "{path:?}, {rotations} times {way}");
        }
        // Short files that are packed while they are compared may be a gap.
    }
}

// Refutes a copy that is not found since the log that was cut was renamed before anybody looked.
#[test]
fn a_log_that_was_cut_and_then_renamed_is_read() {
    for path in PATHS {
        let mut log = Log::new("cut-and-renamed");
        log.write(100);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        log.write(50);
        log.copy_and_cut();
        log.write(1);
        log.rename();
        log.pack("a.log.2");
        log.reopen();
        log.write(1);
        log.rename();
        log.reopen();
        log.write(50);
        followed.settle().unwrap();
        assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{path:?}");
    }
}

// Refutes a log that is read again after it was away for longer than a file without a name is waited for.
#[test]
fn a_log_that_was_away_is_read_on() {
    for path in PATHS {
        let mut log = Log::new("away");
        log.write(100);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        fs::create_dir(log.place.path("elsewhere")).unwrap();
        fs::rename(log.place.path("a.log"), log.place.path("elsewhere/a.log")).unwrap();
        followed.settle_for(Duration::from_millis(2_600)).unwrap();
        fs::rename(log.place.path("elsewhere/a.log"), log.place.path("a.log")).unwrap();
        log.write(30);
        followed.settle().unwrap();
        assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{path:?}");
    }
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
    for round in 0..12 {
        if round % 2 == 0 {
            log.rename();
            log.write(300);
            // One of the two may see the new file first.
            assert_eq!(turns(&mut both, Duration::from_millis(150 * (round % 4))), None);
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
pub(super) enum Step {
    Write(u64),
    /// After this number of lines that nobody has read.
    Rename(u64),
    Reopen,
    CopyAndCut(u64),
    Pack(u32),
    Remove(u32),
    Settle,
    Look,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u64..400).prop_map(Step::Write),
        1 => (0u64..3).prop_map(Step::Rename),
        2 => Just(Step::Reopen),
        1 => (0u64..3).prop_map(Step::CopyAndCut),
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
        begins in 0..Beginning::ALL.len(),
        first in prop_oneof![Just(0u64), Just(50)],
    ) {
        let mut log = Log::beginning("any-rotation", Beginning::ALL[begins]);
        log.write(first);
        let mut followed = log.follow(PATHS[path]);
        followed.settle().unwrap();
        for step in &steps {
            match step {
                Step::Write(lines) => log.write(*lines),
                Step::Rename(lines) => {
                    // A program that rotates twice before it is looked at writes to a file without a name.
                    log.reopen();
                    followed.settle().unwrap();
                    log.write(*lines);
                    log.rename();
                }
                Step::Reopen => log.reopen(),
                Step::CopyAndCut(lines) => {
                    log.reopen();
                    followed.settle().unwrap();
                    log.write(*lines);
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
