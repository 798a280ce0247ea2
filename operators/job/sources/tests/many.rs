//! Logs of many files: more than are held open or remembered, and files of several names.

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use super::following::Followed;
use super::log::{Log, PATHS, line};
use super::*;
use crate::gate::Positions;

// Refutes a log that is closed since many of its renamed files are still open, and of which the lines before its own
// renaming are then read by nobody. In tests three files are held open.
#[test]
fn a_log_with_many_open_files_is_read_to_the_end_of_each() {
    for path in PATHS {
        let mut log = Log::new("many-open");
        log.write(20);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for round in 0..8 {
            log.write(3);
            log.rename();
            if round % 3 == 2 {
                log.pack("a.log.1");
            }
            log.reopen();
            log.write(2);
            followed.settle().unwrap();
        }
        log.check(std::slice::from_ref(&followed)).unwrap();
    }
}

// Refutes a run that forgets the newest of the files that former runs have read instead of the oldest: its lines are given
// again, or are a gap. In tests eight files are remembered.
#[test]
fn a_run_after_many_rotations_goes_on_where_the_last_one_was() {
    let mut log = Log::new("many-lives");
    log.write(500);
    let (mut positions, mut kept) = (Positions::new(), Vec::new());
    for round in 0..16 {
        let source = log.source("a.log");
        let mut followed = Followed::resumed(&source, &Arc::default(), 2, positions.clone());
        followed.checkpoint().unwrap();
        assert!(followed.gaps.is_empty(), "life {round}: {:?}", followed.warnings.lock().unwrap());
        positions.clone_from(&followed.positions);
        kept.append(&mut followed.found);
        drop(followed);
        // The newest file is neither the longest nor the shortest.
        log.write(1 + (round * 37) % 90);
        log.rename();
        log.pack("a.log.1");
        log.reopen();
        log.write(5);
    }
    let mut last = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
    last.checkpoint().unwrap();
    assert!(last.gaps.is_empty());
    last.found.append(&mut kept);
    log.check(&[last]).unwrap();
}

// Refutes a file that counts once for each of its links, one that is given up since it has two names, and a link that
// holds all windows open.
#[test]
fn a_file_of_several_links_is_read_once() {
    for path in ["a.log*", ""] {
        let mut log = Log::new("links");
        log.write(1);
        symlink(log.place.path("a.log"), log.place.path("a.log.symbolic")).unwrap();
        fs::hard_link(log.place.path("a.log"), log.place.path("a.log.hard")).unwrap();
        let mut followed = log.follow(path);
        for _ in 0..3 {
            followed.settle().unwrap();
            log.write(20);
        }
        followed.settle().unwrap();
        log.check(std::slice::from_ref(&followed)).unwrap();
        let read = read(&log.source(path), &wanted(&[], &[], false), 2).unwrap();
        assert_eq!(read.len() as u64, log.written, "a replay");
    }
}

// Refutes hidden files that are read without being named, as those that another program has not finished.
#[test]
fn hidden_files_are_read_where_they_are_named() {
    let mut log = Log::new("hidden");
    log.write(7);
    fs::copy(log.place.path("a.log"), log.place.path(".a.log.Xy12")).unwrap();
    for (path, lines) in [("", 7), ("*", 7), (".a.log.Xy12", 7), (".a*", 7), ("a*", 7)] {
        assert_eq!(read(&log.source(path), &wanted(&[], &[], false), 1).unwrap().len(), lines, "{path}");
        let mut followed = log.follow(path);
        assert_eq!(followed.settle().unwrap(), lines, "{path}");
    }
}

// Refutes a gap where the oldest of the files that the first run found rotated is removed, though two newer ones are there.
#[test]
fn a_file_that_was_rotated_before_the_first_start_may_go() {
    for path in ["a.log*", ""] {
        let mut log = Log::new("rotated-before");
        for _ in 0..3 {
            log.write(30);
            log.rename();
            log.reopen();
        }
        log.write(30);
        let mut followed = log.follow(path);
        followed.checkpoint().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        log.remove("a.log.3");
        let mut resumed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        assert_eq!((resumed.settle().unwrap(), &resumed.gaps[..]), (0, &[][..]), "{path}");
    }
}

// Refutes a gap where an old file is removed of a log that is named by date, of which none has the name without a date.
#[test]
fn an_old_file_of_a_log_that_is_named_by_date_may_go() {
    let (old, new) = ("a-2026-11-20.log", "a-2026-11-21.log");
    for is_up in [true, false] {
        let log = Log::new("by-date");
        for (name, user) in [(old, 1), (new, 2)] {
            log.place.write(name, line(user));
        }
        let file = OpenOptions::new().append(true).open(log.place.path(old)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(86_400)).unwrap();
        let mut followed = log.follow("a-*.log");
        followed.checkpoint().unwrap();
        let positions = followed.positions.clone();
        if is_up {
            log.remove(old);
            followed.settle().unwrap();
        } else {
            drop(followed);
            log.remove(old);
            followed = Followed::resumed(&log.source("a-*.log"), &Arc::default(), 2, positions);
        }
        log.place.append(new, line(3));
        followed.settle().unwrap();
        assert_eq!(followed.gaps, [], "{is_up}: {:?}", followed.warnings);
    }
}

// Refutes a run that ends where a file that it has read is packed in a way that it does not read.
#[test]
fn a_rotated_file_that_is_packed_in_another_way_is_left_out() {
    for path in ["a.log*", ""] {
        let mut log = Log::new("other-packing");
        log.write(20);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for round in 1..3 {
            log.rename();
            followed.settle().unwrap();
            fs::rename(log.place.path("a.log.1"), log.place.path(&format!("a.log.{round}.xz"))).unwrap();
            log.reopen();
            log.write(20);
            followed.settle().unwrap();
        }
        assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{path:?}");
        let warnings = followed.warnings.lock().unwrap();
        assert_eq!(warnings.iter().filter(|warning| warning.contains("left out")).count(), 1, "{warnings:?}");
    }
}
