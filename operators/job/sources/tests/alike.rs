//! Files that may be mistaken for each other at a restart: names in any order, logs that begin alike, logs that were
//! cut, and copies. Every line is given once, or there is an input gap with its reason.

use std::fs::{File, OpenOptions};
use std::time::SystemTime;

use super::following::Followed;
use super::log::{Beginning, Log, line};
use super::*;
use crate::gate::Positions;

/// The positions of a run that was killed after it had read everything.
fn read_all(log: &Log, path: &str) -> Positions {
    let mut followed = log.follow(path);
    followed.checkpoint().unwrap();
    followed.positions.clone()
}

/// A run that has gone on at positions and read everything.
fn resumed(log: &Log, path: &str, positions: &Positions) -> Followed {
    let mut followed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions.clone());
    followed.settle().unwrap();
    followed
}

/// Requires that these lines were given once each, and nothing else, without a gap.
fn assert_given(followed: &Followed, lines: std::ops::Range<u64>, what: &str) {
    let mut found: Vec<Id> = followed.found.iter().map(|given| given.person).collect();
    let mut expected: Vec<Id> = lines.map(|number| id(format!("somebody {number}").as_bytes())).collect();
    found.sort();
    expected.sort();
    assert_eq!((found.len(), followed.gaps.len()), (expected.len(), 0), "{what}: {:?}", followed.warnings);
    assert!(found == expected, "{what}");
}

/// Requires an input gap, and a warning with this text.
fn assert_gap(followed: &Followed, warning: &str, what: &str) {
    let warnings = followed.warnings.lock().unwrap();
    assert!(!followed.gaps.is_empty(), "{what}: {warnings:?}");
    assert!(warnings.iter().any(|given| given.contains(warning)), "{what}: {warnings:?}");
}

fn set_changed(log: &Log, name: &str, seconds: u64) {
    let file = OpenOptions::new().append(true).open(log.place.path(name)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

/// Copies a file over itself, with another number in its file system.
fn replace(log: &Log, name: &str) {
    fs::copy(log.place.path(name), log.place.path("temporary")).unwrap();
    fs::rename(log.place.path("temporary"), log.place.path(name)).unwrap();
}

// Refutes an order of rotated files that is that of their last changes alone.
#[test]
fn rotated_files_are_read_whatever_their_times_of_change() {
    for (times, what) in
        [([3, 2, 1], "rising"), ([1, 2, 3], "falling"), ([5, 5, 5], "equal"), ([2, 3, 1], "mixed")]
    {
        let mut log = Log::new("times-of-change");
        log.write(60);
        let positions = read_all(&log, "a.log");
        log.write(10);
        for _ in 0..3 {
            log.rename();
            log.reopen();
            log.write(7);
        }
        for (number, time) in (1..).zip(times) {
            let name = format!("a.log.{number}");
            replace(&log, &name);
            set_changed(&log, &name, time);
        }
        assert_given(&resumed(&log, "a.log", &positions), 60..91, what);

        // The same files, named by date.
        for (number, day) in [(3, 24), (2, 25), (1, 26)] {
            let [from, to] =
                [format!("a.log.{number}"), format!("a.log-202611{day}")].map(|name| log.place.path(&name));
            fs::rename(from, to).unwrap();
        }
        log.pack("a.log-20261125");
        assert_given(&resumed(&log, "a.log", &positions), 60..91, what);
    }
}

// Refutes older files that each restart reads again, and a log of another name that is read as a rotated one.
#[test]
fn what_was_rotated_before_is_not_read() {
    let mut log = Log::new("older");
    log.place.write("a.log.1", "{\"user\":\"older\"}\n");
    log.place.write("a-mobile.log", "{\"user\":\"mobile\"}\n");
    set_changed(&log, "a.log.1", 1_000);
    log.write(60);
    let positions = read_all(&log, "a.log");
    log.rename();
    log.reopen();
    log.write(7);
    log.place.append("a-mobile.log", "{\"user\":\"mobile\"}\n");
    assert_given(&resumed(&log, "a.log", &positions), 60..67, "named by number");
}

// Refutes a gap where a table was rotated that had a header and no line.
#[test]
fn a_rotated_header_without_lines_is_no_doubt() {
    let mut log = Log::beginning("header-rotated", Beginning::Header);
    log.write(50);
    let positions = read_all(&log, "a.log");
    log.rename();
    log.reopen();
    log.rename();
    log.reopen();
    log.write(7);
    assert_given(&resumed(&log, "a.log", &positions), 50..57, "a header alone");
}

// Refutes a gap where a log was cut while it was empty, and packed.
#[test]
fn an_empty_rotated_file_is_no_doubt() {
    let mut log = Log::new("empty-rotated");
    log.write(50);
    let positions = read_all(&log, "a.log");
    log.copy_and_cut();
    log.copy_and_cut();
    log.rename();
    log.reopen();
    log.pack("a.log.1");
    log.write(10);
    assert_given(&resumed(&log, "a.log", &positions), 50..60, "empty");
}

// Refutes an input gap for the copy of an empty log, which begins as any file does that is gone.
#[test]
fn the_copy_of_an_empty_log_is_no_doubt() {
    let mut log = Log::new("empty-copy");
    log.write(14);
    let mut followed = log.follow("a.log*");
    followed.settle().unwrap();
    log.copy_and_cut();
    followed.settle().unwrap();
    log.copy_and_cut();
    for lines in [2, 9, 3, 6] {
        log.write(lines);
        followed.settle_for(Duration::from_millis(130)).unwrap();
        log.copy_and_cut();
    }
    log.write(4);
    followed.settle_for(Duration::from_millis(1_500)).unwrap();
    assert_given(&followed, 0..38, "cut when it was empty");
}

// Refutes a file that is read, or passed over, though its name and its time do not say what it is.
#[test]
fn a_rotated_file_in_no_order_is_a_gap() {
    let mut log = Log::new("no-order");
    log.write(60);
    let positions = read_all(&log, "a.log");
    log.rename();
    log.reopen();
    log.write(7);
    log.place.write("a.log.old", "{\"user\":\"somebody else\"}\n");
    assert_gap(
        &resumed(&log, "a.log", &positions),
        "a.log.old: whether it was rotated before or after",
        "a word",
    );
    // A copy of what was read says by itself what it is.
    fs::copy(log.place.path("a.log.1"), log.place.path("a.log.old")).unwrap();
    assert_given(&resumed(&log, "a.log", &positions), 60..67, "a copy");
    // And so does one that has not changed since the former run looked.
    log.place.write("a.log.old", "{\"user\":\"somebody else\"}\n");
    set_changed(&log, "a.log.old", 1_000);
    assert_given(&resumed(&log, "a.log", &positions), 60..67, "older");
}

// Refutes a copy of the present file under a rotated name that counts twice, or as a file of its own.
#[test]
fn a_copy_of_the_present_file_is_passed_over_where_it_is_long_enough() {
    for (lines, is_copy) in [(100, true), (5, false)] {
        let mut log = Log::new("copy-of-present");
        log.write(60);
        let positions = read_all(&log, "a.log");
        log.rename();
        log.rename();
        log.reopen();
        log.write(lines);
        fs::copy(log.place.path("a.log"), log.place.path("a.log.1")).unwrap();
        log.write(3);
        let followed = resumed(&log, "a.log", &positions);
        match is_copy {
            true => assert_given(&followed, 60..60 + lines + 3, "long"),
            false => assert_gap(&followed, "a.log.1: it begins with the same lines as another file", "short"),
        }
    }
}

/// A log whose first lines are those of every log of the program, and that was read no further.
fn beginning_alike(name: &str) -> (Log, Positions) {
    let log = Log::new(name);
    begin_alike(&log);
    let positions = read_all(&log, "a.log");
    (log, positions)
}

fn begin_alike(log: &Log) {
    log.place.append("a.log", "{\"user\":\"start\"}\n{\"user\":\"start\"}\n");
}

fn without_starts(followed: &mut Followed) -> usize {
    let before = followed.found.len();
    followed.found.retain(|given| given.person != id(b"start"));
    before - followed.found.len()
}

// Refutes a new log that is taken for the old one, and the reverse, because both begin with the same lines.
#[test]
fn logs_that_begin_alike_are_told_apart_or_are_a_gap() {
    for path in ["a.log", "a.log*"] {
        let (mut log, positions) = beginning_alike("begins-alike");
        log.write(9);
        for round in 1..3 {
            log.rename();
            log.reopen();
            begin_alike(&log);
            log.write(4);
            let mut followed = resumed(&log, "a.log", &positions);
            assert_eq!(without_starts(&mut followed), 2 * round, "{path}");
            assert_given(&followed, 0..9 + 4 * round as u64, "renamed");
        }
    }

    let (mut log, positions) = beginning_alike("begins-alike-cut");
    log.write(9);
    log.copy_and_cut();
    begin_alike(&log);
    log.write(4);
    // The copy came after the last look, and goes on otherwise.
    let mut followed = resumed(&log, "a.log", &positions);
    assert_eq!(without_starts(&mut followed), 2);
    assert_given(&followed, 0..13, "cut");

    let (mut log, positions) = beginning_alike("begins-alike-gone");
    log.write(9);
    log.rename();
    // It keeps its number in the file system for as long as it is open.
    let _held = File::open(log.place.path("a.log.1")).unwrap();
    log.remove("a.log.1");
    log.reopen();
    begin_alike(&log);
    log.write(4);
    assert_gap(&resumed(&log, "a.log", &positions), "a new one that begins with the same lines", "removed");

    // Both are copies, with other numbers in the file system.
    let (mut log, positions) = beginning_alike("begins-alike-copied");
    log.write(9);
    log.rename();
    replace(&log, "a.log.1");
    log.reopen();
    begin_alike(&log);
    log.write(4);
    replace(&log, "a.log");
    assert_gap(&resumed(&log, "a.log", &positions), "several files may be the one", "copied");

    // What was read further is the file of which more was read.
    let (mut log, _) = beginning_alike("begins-alike-reached");
    let mut followed = log.follow("a.log");
    followed.begin().unwrap();
    log.write(9);
    followed.begin().unwrap();
    let positions = followed.positions.clone();
    drop(followed);
    log.copy_and_cut();
    begin_alike(&log);
    log.write(4);
    let mut followed = resumed(&log, "a.log", &positions);
    assert_eq!(without_starts(&mut followed), 4);
    assert_given(&followed, 0..13, "read further");
}

// Refutes a log that changes nothing and is a gap at each restart, because an older one begins alike.
#[test]
fn an_older_file_that_begins_alike_is_no_doubt() {
    let log = Log::new("older-alike");
    log.place.write("a.log.1", "{\"user\":\"start\"}\n{\"user\":\"start\"}\n{\"user\":\"older\"}\n");
    set_changed(&log, "a.log.1", 1_000);
    begin_alike(&log);
    // Both may be made within one step of the clock of the file system: the older one is not the earlier one then.
    set_changed(&log, "a.log", 2_000);
    let positions = read_all(&log, "a.log");
    assert_given(&resumed(&log, "a.log", &positions), 0..0, "at rest");
    // A copy that is made while nobody reads is the same text.
    fs::copy(log.place.path("a.log"), log.place.path("a.log.2")).unwrap();
    assert_given(&resumed(&log, "a.log", &positions), 0..0, "copied");
}

// Refutes lines behind a position that the former run has read, that are gone, and whose windows are answered.
#[test]
fn lines_that_were_read_and_are_gone_are_a_gap() {
    for packs in [false, true] {
        let mut log = Log::new("cut-behind");
        log.write(50);
        let mut followed = log.follow("a.log");
        followed.begin().unwrap();
        log.write(50);
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        let text = fs::read(log.place.path("a.log")).unwrap();
        let check = |text: &[u8], is_whole: bool, what: &str| {
            log.place.write("a.log", text);
            log.remove("a.log.1.gz");
            if packs {
                fs::rename(log.place.path("a.log"), log.place.path("a.log.1")).unwrap();
                log.pack("a.log.1");
                log.place.write("a.log", "");
            }
            let followed = resumed(&log, "a.log", &positions);
            match is_whole {
                true => assert_given(&followed, 0..100, what),
                false => assert_gap(&followed, "lines are gone that the last run has read", what),
            }
        };
        check(&text, true, "as it was");
        check(&text[..text.len() - 60], false, "its end was cut");
        let mut other = text.clone();
        other[text.len() - 9] ^= 1;
        check(&other, false, "another byte");
        check(&text, true, "as it was");
    }
    // Before what is known of it, nothing is found.
    let mut log = Log::new("cut-before");
    log.write(100);
    let positions = read_all(&log, "a.log");
    let text = fs::read(log.place.path("a.log")).unwrap();
    log.place.write("a.log", &text[..text.len() - 60]);
    assert_gap(&resumed(&log, "a.log", &positions), "no file holds what was read of it", "shorter");
    log.place.write("a.log", &text[line(0).len()..]);
    assert_gap(&resumed(&log, "a.log", &positions), "no file holds what was read of it", "its first line");
}

// Refutes lines behind an input gap that nobody reads: their file was renamed before the start, and is written until the
// log comes back.
#[test]
fn what_comes_to_a_renamed_file_behind_a_gap_is_read() {
    let mut log = Log::new("behind-a-gap");
    log.write(50);
    let positions = read_all(&log, "a.log");
    log.rename();
    log.remove("a.log.1");
    log.reopen();
    log.write(3);
    log.rename();
    let mut followed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
    followed.settle_for(Duration::from_millis(300)).unwrap();
    log.write(5);
    followed.settle_for(Duration::from_millis(300)).unwrap();
    log.reopen();
    log.write(2);
    followed.settle().unwrap();
    assert_gap(&followed, "no file holds what was read of it", "removed");
    let times = |number: u64| {
        followed
            .found
            .iter()
            .filter(|given| given.person == id(format!("somebody {number}").as_bytes()))
            .count()
    };
    assert_eq!((53..60).map(times).collect::<Vec<_>>(), [1; 7]);
}

// Refutes a log of a pattern that came and left it while nobody read, and one that left it long ago and is read
// again.
#[test]
fn a_log_that_came_and_left_the_pattern_is_read() {
    let mut log = Log::new("came-and-left");
    log.place.write("a-0.log.gz", packed(Packing::Gzip, b"{\"user\":\"older\"}\n"));
    set_changed(&log, "a-0.log.gz", 1_000);
    let mut all = 0;
    let mut write = |log: &mut Log, name: &str, lines: u64| {
        let text: String = (all..all + lines).map(line).collect();
        log.place.append(name, text);
        all += lines;
    };
    write(&mut log, "a-1.log", 60);
    let positions = read_all(&log, "a-*.log");
    write(&mut log, "a-1.log", 3);
    write(&mut log, "a-2.log", 5);
    log.pack("a-2.log");
    write(&mut log, "a-3.log.2", 4);
    write(&mut log, "a-3.log.1", 6);
    write(&mut log, "a-3.log", 7);
    log.pack("a-1.log");
    write(&mut log, "a-4.log", 2);
    // It is no log of the pattern.
    write(&mut log, "b-1.log.1", 0);
    log.place.write("b-2.log.1", "{\"user\":\"other\"}\n");
    assert_given(&resumed(&log, "a-*.log", &positions), 60..87, "a pattern");
    log.place.write("a-5.log.bak", "{\"user\":\"somebody else\"}\n");
    assert_gap(&resumed(&log, "a-*.log", &positions), "a-5.log.bak: it may hold lines", "a word");
}

// Refutes a copy that counts twice without a word, and a word about rotated copies or other logs.
#[test]
fn a_copy_under_a_name_of_its_own_is_noticed() {
    let mut log = Log::new("noticed");
    log.write(60);
    log.place.write("other.log", "{\"user\":\"another\"}\n");
    fs::copy(log.place.path("a.log"), log.place.path("a.log.1")).unwrap();
    let mut followed = log.follow("");
    followed.settle().unwrap();
    assert!(followed.warnings.lock().unwrap().is_empty(), "{:?}", followed.warnings);
    fs::copy(log.place.path("a.log"), log.place.path("backup.log")).unwrap();
    log.write(1);
    followed.settle().unwrap();
    followed.settle().unwrap();
    let warnings = followed.warnings.lock().unwrap().clone();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    for part in ["/a.log", "/backup.log", "its lines count twice"] {
        assert!(warning.contains(part), "{warning}");
    }
}
