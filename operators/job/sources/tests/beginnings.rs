//! Logs each of whose files begins with the same lines: what is read of one that has nothing else may be the beginning of the
//! next.

use super::following::Followed;
use super::log::{Beginning, Log, PATHS};
use super::*;

/// The ways in which a log comes to its next file.
const WAYS: [&str; 4] = ["renamed", "renamed and packed", "cut", "cut and packed"];

fn rotate(log: &mut Log, way: &str) {
    match way {
        "renamed" | "renamed and packed" => log.rename(),
        _ => log.copy_and_cut(),
    }
    if way.ends_with("packed") {
        log.pack("a.log.1");
    }
    log.reopen();
}

// Refutes a next file that is taken for the one before it, of which nothing but its beginning had been read: the last lines
// of that one are then read by nobody.
#[test]
fn the_last_lines_of_a_file_that_had_only_its_beginning_are_read() {
    let cases = PATHS.into_iter().flat_map(|path| WAYS.map(|way| (path, way)));
    for ((path, way), begins) in cases.flat_map(|case| Beginning::ALL.map(|begins| (case, begins))) {
        let mut log = Log::beginning("beginnings", begins);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for lines in [2, 1, 0, 3] {
            log.write(lines);
            rotate(&mut log, way);
            // At first the file has its beginning alone.
            if lines % 2 == 1 {
                log.write(1);
            }
            followed.settle().unwrap();
        }
        let case = format!("{path:?}, {way}, {begins:?}: {:?}", followed.warnings.lock().unwrap());
        // A short file that is packed while it is compared may be a gap.
        if followed.gaps.is_empty() || !way.ends_with("packed") {
            assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{case}");
            assert_eq!(followed.gaps, [], "{case}");
        }
    }
}

// Refutes the same of a log that is rotated while no run is there. Where nothing tells what was read, it is a gap.
#[test]
fn a_restart_reads_the_last_lines_of_a_file_that_had_only_its_beginning() {
    let mut gaps = Vec::new();
    let cases = PATHS.into_iter().flat_map(|path| WAYS.map(|way| (path, way)));
    for ((path, way), begins) in cases.flat_map(|case| Beginning::ALL.map(|begins| (case, begins))) {
        let mut log = Log::beginning("beginnings-restart", begins);
        // A file with lines comes before it.
        log.write(5);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        log.rename();
        log.reopen();
        followed.checkpoint().unwrap();
        let (positions, mut found) = (followed.positions.clone(), std::mem::take(&mut followed.found));
        drop(followed);
        log.write(2);
        rotate(&mut log, way);
        log.write(1);
        let mut resumed = Followed::resumed(&log.source(path), &Arc::default(), 2, positions);
        resumed.settle().unwrap();
        if !resumed.gaps.is_empty() {
            gaps.push((way, begins));
            continue;
        }
        resumed.found.append(&mut found);
        assert_eq!(log.check(&[resumed]), Ok(()), "{path:?}, {way}, {begins:?}");
    }
    let is_expected = |(way, _): &(&str, Beginning)| *way != "renamed";
    assert!(gaps.iter().all(is_expected), "{gaps:?}");
}

// Refutes a line that is given twice: once through the open file, and once from the packed one, where the new file was empty
// at first and the old one got its only line after that.
#[test]
fn a_line_that_comes_after_the_next_file_counts_once() {
    for (begins, path) in Beginning::ALL.into_iter().flat_map(|begins| PATHS.map(|path| (begins, path))) {
        let mut log = Log::beginning("late-line", begins);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for _ in 0..3 {
            log.rename();
            log.place.write("a.log", "");
            followed.settle_for(Duration::from_millis(130)).unwrap();
            log.write(1);
            log.reopen();
            log.pack("a.log.1");
            followed.settle().unwrap();
        }
        if followed.gaps.is_empty() {
            assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{path:?}, {begins:?}");
        }
    }
}

// Refutes a next file that is taken for the one before it, to which its writer adds a line once the next one has its beginning.
#[test]
fn a_file_that_begins_like_the_next_one_is_read_on() {
    let short = Beginning::ALL.into_iter().filter(|begins| !matches!(begins, Beginning::Records(100)));
    for (begins, path) in short.flat_map(|begins| PATHS.map(|path| (begins, path))) {
        let mut log = Log::beginning("late-writer", begins);
        let mut followed = log.follow(path);
        followed.settle().unwrap();
        for _ in 0..3 {
            log.rename();
            let beginning = fs::read(log.place.path("a.log.1")).unwrap();
            log.place.write("a.log", beginning);
            followed.settle_for(Duration::from_millis(130)).unwrap();
            log.write(1);
            followed.settle().unwrap();
            log.reopen();
        }
        assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{path:?}, {begins:?}");
    }
}

// Refutes a file that is read by nobody, which came and was rotated between two looks while the one before it was removed,
// and that got its lines later.
#[test]
fn a_file_that_came_between_two_looks_is_read_though_the_one_before_is_gone() {
    for (begins, is_removed) in
        Beginning::ALL.into_iter().flat_map(|begins| [(begins, true), (begins, false)])
    {
        let mut log = Log::beginning("between-removed", begins);
        log.write(5);
        let mut followed = log.follow("a.log");
        followed.settle().unwrap();
        for _ in 0..3 {
            log.rename();
            followed.settle_for(Duration::from_millis(130)).unwrap();
            if is_removed {
                log.remove("a.log.1");
            }
            log.reopen();
            log.rename();
            followed.settle_for(Duration::from_millis(130)).unwrap();
            log.write(3);
            followed.settle_for(Duration::from_millis(130)).unwrap();
            log.reopen();
            log.write(2);
            followed.settle().unwrap();
        }
        // One that begins with the records of another may be its copy.
        if followed.gaps.is_empty() || !matches!(begins, Beginning::Records(_)) {
            assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{begins:?}, {is_removed}");
            assert_eq!(followed.gaps, [], "{begins:?}, {is_removed}");
        }
    }
}

// Refutes the same where nothing had been read of the one before, or it was read by a former run: the last file of a log
// tells where the next ones begin for as long as the log is away.
#[test]
fn a_file_that_came_between_two_looks_is_read_behind_an_empty_one_and_after_a_restart() {
    let ways = ["empty", "renamed", "renamed and packed"];
    for (begins, way) in Beginning::ALL.into_iter().flat_map(|begins| ways.map(|way| (begins, way))) {
        let mut log = Log::beginning("between-away", begins);
        log.write(5);
        let mut followed = log.follow("a.log");
        followed.settle().unwrap();
        followed.checkpoint().unwrap();
        let (positions, mut found) = (followed.positions.clone(), Vec::new());
        log.rename();
        if way == "empty" {
            log.reopen();
            // The one before is no longer the last then.
            followed.settle_for(Duration::from_millis(400)).unwrap();
            log.rename();
        } else {
            found.append(&mut followed.found);
            drop(followed);
            if way.ends_with("packed") {
                log.pack("a.log.1");
            }
            followed = Followed::resumed(&log.source("a.log"), &Arc::default(), 2, positions);
        }
        // Several looks find no log.
        followed.settle_for(Duration::from_millis(400)).unwrap();
        log.reopen();
        log.rename();
        followed.settle_for(Duration::from_millis(130)).unwrap();
        log.write(3);
        followed.settle_for(Duration::from_millis(130)).unwrap();
        log.reopen();
        log.write(2);
        followed.settle().unwrap();
        followed.found.append(&mut found);
        let case = format!("{begins:?}, {way}: {:?}", followed.warnings.lock().unwrap());
        if followed.gaps.is_empty() || !matches!(begins, Beginning::Records(_)) {
            assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{case}");
            assert_eq!(followed.gaps, [], "{case}");
        }
    }
}
