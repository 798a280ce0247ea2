//! Logs that another program writes anew: copies of a log that is elsewhere, and logs that somebody has trimmed. Every line is
//! given once, or there is an input gap.

use std::fs::OpenOptions;
use std::time::SystemTime;

use super::following::Followed;
use super::log::{BEGINNING, Log, PATHS, line};
use super::*;

/// What somebody does to a log.
type Trim<'a> = &'a dyn Fn(&Log);

const LOOK: Duration = Duration::from_millis(150);

fn lines(numbers: std::ops::Range<u64>) -> String {
    numbers.map(line).collect()
}

/// Equal lines, with which each file of a log begins.
fn lines_of_program(number: usize) -> String {
    format!("{{\"user\":\"{BEGINNING}\"}}\n").repeat(number)
}

/// Puts a file in the place of another one, as `rsync` and `mv` do.
fn put(log: &Log, name: &str, text: &str) {
    log.place.write(".temporary", text);
    fs::rename(log.place.path(".temporary"), log.place.path(name)).unwrap();
}

/// Puts a packed file there with the time of what it copies, so that it is compared at once.
fn put_packed(log: &Log, name: &str, text: &str) {
    log.place.write(".temporary", packed(Packing::Gzip, text.as_bytes()));
    let copy = OpenOptions::new().append(true).open(log.place.path(".temporary")).unwrap();
    copy.set_modified(SystemTime::now() - Duration::from_secs(1)).unwrap();
    fs::rename(log.place.path(".temporary"), log.place.path(name)).unwrap();
}

fn assert_once(log: &mut Log, written: u64, followed: &Followed, case: &str) {
    log.written = written;
    assert_eq!(log.check(std::slice::from_ref(followed)), Ok(()), "{case}: {:?}", followed.warnings);
    assert_eq!(followed.gaps, [], "{case}: {:?}", followed.warnings);
}

fn assert_gap(followed: &Followed, warning: &str, case: &str) {
    let warnings = followed.warnings.lock().unwrap();
    assert!(!followed.gaps.is_empty(), "{case}: {warnings:?}");
    assert!(warnings.iter().any(|given| given.contains(warning)), "{case}: {warnings:?}");
}

// Refutes lines that count again, or that nobody reads, where `rsync` follows a rotation: the renamed file has more lines than
// its copy had.
#[test]
fn a_copy_of_a_log_that_rotates_elsewhere_is_read_on() {
    let orders = [["a.log", "a.log.1"], ["a.log.1", "a.log"]];
    let cases = PATHS.into_iter().flat_map(|path| orders.map(|order| (path, order)));
    for ((path, order), is_apart) in cases.flat_map(|case| [(case, false), (case, true)]) {
        let mut log = Log::new("rsync-rotated");
        put(&log, "a.log", &lines(0..100));
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        put(&log, "a.log", &lines(0..150));
        followed.settle().unwrap();
        for name in order {
            let text = if name == "a.log" { lines(200..230) } else { lines(0..200) };
            put(&log, name, &text);
            // By one name, and the rotated one first, nothing tells what this is.
            if is_apart && (order[0] == "a.log" || path == "a.log") {
                followed.settle_for(LOOK).unwrap();
            }
        }
        followed.settle().unwrap();
        put(&log, "a.log", &lines(200..250));
        followed.settle().unwrap();
        assert_once(&mut log, 250, &followed, &format!("{path:?}, {order:?}, {is_apart}"));
    }
}

// Refutes a rotated file whose last lines nobody reads since it begins like a longer one that is gone: the logs begin with many
// equal lines.
#[test]
fn a_packed_copy_of_a_log_that_begins_like_its_former_files_is_read_on() {
    for path in ["a.log*", ""] {
        let mut log = Log::new("rsync-banner");
        let text = |numbers| lines_of_program(100) + &lines(numbers);
        let mut ends = Vec::new();
        put(&log, "a.log", &text(0..1));
        let mut followed = log.follow(path);
        for (first, seen, last) in [(0, 150, 200), (200, 280, 300), (300, 350, 360), (360, 400, 410)] {
            followed.settle().unwrap();
            put(&log, "a.log", &text(first..seen));
            followed.settle().unwrap();
            put(&log, "a.log", &text(last..last + 5));
            ends.insert(0, text(first..last));
            for (number, text) in ends.iter().enumerate() {
                let name = format!("a.log.{}.gz", number + 1);
                put_packed(&log, &name, text);
            }
        }
        followed.settle().unwrap();
        assert_once(&mut log, 415, &followed, path);
    }
}

// Refutes the middle one of three files that nobody reads, and no input gap, since it begins with as many equal lines as a longer
// one that is gone.
#[test]
fn a_packed_file_that_nobody_has_seen_is_no_copy_for_its_first_lines() {
    let mut log = Log::new("rsync-banner-twice");
    let text = |numbers| lines_of_program(100) + &lines(numbers);
    put(&log, "a.log", &text(0..0));
    let mut followed = log.follow("a.log*");
    for (first, seen, last, next) in [(0, 150, 200, 230), (230, 380, 430, 460)] {
        followed.settle().unwrap();
        put(&log, "a.log", &text(first..seen));
        followed.settle().unwrap();
        put(&log, "a.log", &text(next..next));
        for (name, numbers) in [("a.log.1.gz", last..next), ("a.log.2.gz", first..last)] {
            put_packed(&log, name, &text(numbers));
        }
    }
    followed.settle().unwrap();
    log.written = 460;
    let is_whole = log.check(std::slice::from_ref(&followed)).is_ok();
    assert!(is_whole || !followed.gaps.is_empty(), "{:?}", followed.warnings);
}

// Refutes the middle one of three files that nobody reads, where the log was rotated twice between two copies; and a gap at
// each look, where the log has few lines.
#[test]
fn a_copy_of_a_log_that_was_rotated_twice_elsewhere_is_read_on() {
    for (path, few) in PATHS.into_iter().flat_map(|path| [(path, 0), (path, 95)]) {
        let mut log = Log::new("rsync-rotated-twice");
        put(&log, "a.log", &lines(few..100));
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        put(&log, "a.log", &lines(300..330));
        put(&log, "a.log.1", &lines(200..300));
        put(&log, "a.log.2", &lines(few..200));
        followed.settle().unwrap();
        let gaps = followed.gaps.len();
        followed.settle_for(Duration::from_millis(500)).unwrap();
        assert_eq!(followed.gaps.len(), gaps, "{path:?}");
        match few {
            0 => assert_once(&mut log, 330, &followed, path),
            _ => assert_gap(&followed, "few lines", path),
        }
    }
}

// Refutes an input gap that leaves out windows that have ended and still take late records: lines of them count twice.
#[test]
fn a_gap_is_one_of_all_windows_that_are_open() {
    let log = Log::new("gap-of-late");
    log.place.write("a.log", lines(0..100));
    let (mut source, person) = log.source("a.log");
    source.late = crate::time::minutes(10).ok();
    let mut followed = Followed::new(&(source, person), &Arc::default(), 1);
    followed.settle().unwrap();
    let marked = followed.complete[0];
    put(&log, "a.log", &lines(60..100));
    followed.settle().unwrap();
    assert_gap(&followed, "it was written anew", "late");
    assert!(followed.gaps.iter().any(|(start, _)| *start <= marked - 590_000_000), "{:?}", followed.gaps);
}

// Refutes a log that is given again where `cp` writes a longer copy over it, of which a look sees a part.
#[test]
fn a_log_that_is_written_over_with_more_is_read_on() {
    for path in PATHS {
        let mut log = Log::new("written-over");
        log.place.write("a.log", lines(0..100));
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for (part, all) in [(80, 130), (100, 160), (0, 190)] {
            log.place.write("a.log", lines(0..part));
            followed.settle_for(if part == 0 { Duration::from_millis(10) } else { LOOK }).unwrap();
            log.place.append("a.log", lines(part..all));
            followed.settle().unwrap();
        }
        assert_once(&mut log, 190, &followed, path);
    }
}

// Refutes lines that count again where a log is trimmed or edited, by `tail`, `cat` and `sed -i`.
#[test]
fn a_log_that_is_trimmed_is_a_gap() {
    let ways: [(&str, Trim<'_>); 4] = [
        ("mv", &|log| put(log, "a.log", &lines(60..100))),
        ("cat", &|log| log.place.write("a.log", lines(60..100))),
        ("sed", &|log| put(log, "a.log", &lines(0..100).replace("somebody 99", "somebody"))),
        ("all of it", &|log| put(log, "a.log", &lines(0..100).replace("somebody", "nobody"))),
    ];
    for (path, (way, trim)) in PATHS.into_iter().flat_map(|path| ways.map(|way| (path, way))) {
        let log = Log::new("trimmed");
        log.place.write("a.log", lines(0..100));
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        let before = followed.gaps.len();
        trim(&log);
        followed.settle().unwrap();
        assert_eq!(before, 0);
        assert_gap(&followed, "it was written anew", &format!("{path:?}, {way}"));
    }
}

// Refutes a gap at a log that is removed and begun again.
#[test]
fn a_log_that_is_begun_again_is_read_from_its_start() {
    for path in PATHS {
        let mut log = Log::new("begun-again");
        log.place.write("a.log", lines(0..100));
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        put(&log, "a.log", &lines(100..103));
        followed.settle().unwrap();
        log.place.append("a.log", lines(103..190));
        followed.settle().unwrap();
        assert_once(&mut log, 190, &followed, path);
    }
}

// Refutes the first record behind the hole that a program leaves which does not append, where its log is cut.
#[test]
fn null_bytes_before_a_line_are_left_out() {
    let mut log = Log::new("hole");
    log.place.write("a.log", lines(0..50));
    let mut followed = log.follow("a.log");
    followed.settle().unwrap();
    let hole = lines(0..50).len();
    fs::copy(log.place.path("a.log"), log.place.path("a.log.1")).unwrap();
    log.place.write("a.log", [vec![0; hole], lines(50..60).into_bytes()].concat());
    followed.settle().unwrap();
    assert_once(&mut log, 60, &followed, "followed");
    let long = [vec![0; 300_000], lines(0..3).into_bytes()].concat();
    log.place.write("b.log", long);
    assert_eq!(read(&log.source("b.log"), &wanted(&[], &[], false), 2).unwrap().len(), 3, "a replay");
}
