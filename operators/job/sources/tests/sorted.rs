//! Logs in order of time: whatever rotates, and however short the lives are, no line is read before an earlier one.

use super::following::{Followed, Settable};
use super::log::PATHS;
use super::*;
use crate::gate::Positions;

/// A log of which each line has the time of its number.
struct SortedLog {
    place: Place,
    written: usize,
    /// The number of bytes by which each line is longer.
    padding: usize,
}

impl SortedLog {
    fn new(name: &str, padding: usize) -> SortedLog {
        SortedLog { place: Place::new(name), written: 0, padding }
    }

    fn line(&self, at: usize) -> String {
        format!("{{\"user\":\"u\",\"at\":{at},\"pad\":\"{:1$}\"}}\n", "", self.padding)
    }

    /// Writes lines to a file; returns the number of all that were written.
    fn write(&mut self, name: &str, lines: usize) -> usize {
        for _ in 0..lines {
            self.written += 1;
            self.place.append(name, self.line(self.written));
        }
        self.written
    }

    /// Renames the log to `a.log.1`, and the older files before that.
    fn rename(&self) {
        for number in (0..40).rev() {
            let name = |number| if number == 0 { "a.log".into() } else { format!("a.log.{number}") };
            let [from, to] = [number, number + 1].map(|number| self.place.path(&name(number)));
            if from.exists() {
                fs::rename(from, to).unwrap();
            }
        }
    }

    /// Copies the log and cuts it: the file itself stays.
    fn copy_and_cut(&self) {
        let text = fs::read(self.place.path("a.log")).unwrap();
        self.rename();
        fs::rename(self.place.path("a.log.1"), self.place.path("a.log")).unwrap();
        self.place.write("a.log.1", text);
        self.place.write("a.log", "");
    }

    fn source(&self, path: &str) -> (SourceSpec, Protected) {
        let path = self.place.path(path);
        let source = format!(
            "type = \"jsonl\"\npath = {:?}\norder = \"sorted\"\ntime = {{ field = \"at\", format = \"unix\" }}",
            path.to_str().unwrap()
        );
        stated(&source, USER)
    }

    fn follow(&self, path: &str, positions: Positions) -> Followed {
        Followed::resumed(&self.source(path), &Arc::<Settable>::default(), 2, positions)
    }
}

// Refutes lines of a sorted log that come before earlier ones: those of the new file before the last ones of the renamed
// file, those of its tenth file before its second, and rotated files behind their log.
#[test]
fn a_sorted_log_is_in_order_through_every_rotation() {
    for path in PATHS {
        let mut log = SortedLog::new("sorted-rotated", 0);
        if path != "a.log" {
            log.write("a.log.2", 3);
            log.write("a.log.1", 3);
        }
        let lines = log.write("a.log", 3);
        let mut followed = log.follow(path, Positions::new());
        assert_eq!(followed.settle().unwrap(), lines, "{path}");
        for round in 0..12 {
            log.write("a.log", 2);
            log.rename();
            // The last line comes when the next file is there, which is empty.
            log.place.write("a.log", "");
            followed.settle_for(Duration::from_millis(130)).unwrap();
            log.write("a.log.1", 1);
            let lines = log.write("a.log", 1);
            assert_eq!(followed.settle().map_err(|error| (round, error)), Ok(lines), "{path}");
        }
        let all = log.written;
        let read = read(&log.source(path), &wanted(&[], &[], true), 2).unwrap();
        assert_eq!(read.len(), if path == "a.log" { 1 } else { all });

        // A restart, of which some files are packed by then.
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        for number in 3..8 {
            let name = format!("a.log.{number}");
            let packed = packed(Packing::Gzip, &fs::read(log.place.path(&name)).unwrap());
            log.place.write(&format!("{name}.gz"), packed);
            fs::remove_file(log.place.path(&name)).unwrap();
        }
        log.write("a.log", 1);
        let mut resumed = log.follow(path, positions);
        assert_eq!(resumed.settle().map_err(|error| (path, error)), Ok(all + 1));
    }
}

// Refutes lines of a sorted log that come before earlier ones after short lives that need all lines again: a file that came and
// was rotated while no run read is first seen by a name that an earlier one had.
#[test]
fn short_lives_read_a_sorted_log_in_order() {
    // The number of files that were rotated before the first start, and whether the log is there by then.
    let all = [(0, true), (2, true), (1, false)];
    for (path, (before, is_there)) in PATHS.into_iter().flat_map(|path| all.map(|case| (path, case))) {
        if path == "a.log" && !is_there {
            continue;
        }
        let mut log = SortedLog::new("sorted-lives", 0);
        for _ in 0..before {
            log.write("a.log", 2);
            log.rename();
        }
        if is_there {
            log.write("a.log", 3);
        }
        let mut positions = Positions::new();
        for (life, rotations) in [2, 0, 3, 0, 0].into_iter().enumerate() {
            let case = format!("{path:?}, {before}, {is_there}, life {life}");
            let mut followed = log.follow(path, positions);
            followed.begin().unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(followed.gaps.len() <= usize::from(life == 0), "{case}");
            positions = followed.positions.clone();
            drop(followed);
            // All but the last leave a file that no run has seen as the log.
            for _ in 0..rotations {
                log.write("a.log", 2);
                log.rename();
            }
            log.write("a.log", 2);
        }
    }
}

// Refutes lines of a sorted log that was empty at the last look, or when its run was stopped, that come before those of a copy:
// the log was cut once more since, and written again.
#[test]
fn a_sorted_log_that_was_empty_comes_after_its_copies() {
    // Whether the run goes on meanwhile, and whether the log is renamed as well.
    let all = [(true, false), (false, false), (false, true)];
    let cases = PATHS.into_iter().flat_map(|path| all.map(|case| (path, case)));
    for ((path, (is_up, is_renamed)), own) in cases.flat_map(|case| [0, 1, 3].map(|own| (case, own))) {
        let case = format!("{path:?}, {is_up}, {is_renamed}, {own}");
        let mut log = SortedLog::new("sorted-empty", 1_500);
        log.write("a.log", 20);
        let mut followed = log.follow(path, Positions::new());
        followed.settle().unwrap();
        log.copy_and_cut();
        followed.settle().unwrap();
        let mut change = || {
            log.write("a.log", 1);
            log.copy_and_cut();
            log.write("a.log", own);
            if is_renamed {
                log.rename();
                log.write("a.log", 2);
            }
        };
        if is_up {
            change();
        } else {
            followed.begin().unwrap();
            let positions = followed.positions.clone();
            drop(followed);
            change();
            // Long before the start, as the file system counts time.
            std::thread::sleep(Duration::from_millis(40));
            followed = log.follow(path, positions);
        }
        assert_eq!(followed.settle(), Ok(log.written), "{case}");
        for life in 0..3 {
            let all = log.write("a.log", 2);
            followed.begin().unwrap_or_else(|error| panic!("{case}, life {life}: {error}"));
            assert_eq!((followed.found.len(), &followed.gaps[..]), (all, &[][..]), "{case}, life {life}");
            followed = log.follow(path, followed.positions.clone());
        }
    }
}

/// A file that grows beside a log with later lines, and the log is read after it; false if it stood still meanwhile, as a copy
/// that is complete.
fn an_undecided_file_is_waited_for(path: &str) -> bool {
    let log = SortedLog::new("sorted-undecided", 0);
    log.place.write("a.log", log.line(1).repeat(40));
    let mut followed = log.follow(path, Positions::new());
    assert_eq!(followed.settle(), Ok(40), "{path:?}");
    fs::rename(log.place.path("a.log"), log.place.path("a.log.2")).unwrap();
    log.place.write("a.log.1", log.line(1));
    log.place.write("a.log", log.line(9));
    let mut grown = Instant::now();
    // Through more than one look; it is undecided while it grows.
    for round in 0..21 {
        log.place.append("a.log.1", log.line(if round < 20 { 1 } else { 5 }));
        if std::mem::replace(&mut grown, Instant::now()).elapsed() > sizes(64).patience / 60 {
            return false;
        }
        followed.settle_for(Duration::from_millis(10)).unwrap();
    }
    assert_eq!(followed.settle(), Ok(40 + 21 + 2), "{path:?}");
    assert_eq!(followed.gaps, [], "{path:?}");
    true
}

// Refutes lines of a sorted log that are read before those of a file that may be a copy in the making, and is none.
#[test]
fn a_sorted_log_waits_for_an_undecided_file_of_it() {
    for path in ["a.log*", ""] {
        assert!((0..50).any(|_| an_undecided_file_is_waited_for(path)), "{path:?}: the machine stood still");
    }
}
