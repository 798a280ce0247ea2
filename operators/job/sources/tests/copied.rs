//! Logs that are copied, read further, and cut: the copy has the beginning of what was read, under whatever name and packing.

use std::fs::OpenOptions;

use super::following::Followed;
use super::log::{Beginning, Log, PATHS, line};
use super::*;

/// The time at which a run first sees the copy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    BeforeMoreLines,
    BeforeTheCut,
    AfterTheCut,
}

/// The steps between which a run is stopped and begun again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Copied,
    Cut,
    Packed,
    Never,
    Always,
}

struct Life {
    log: Log,
    path: &'static str,
    followed: Followed,
    kept: Vec<Given>,
    restart: Step,
}

impl Life {
    fn pass(&mut self, step: Step) {
        if ![step, Step::Always].contains(&self.restart) {
            self.followed.settle().unwrap();
            return;
        }
        self.followed.checkpoint().unwrap();
        self.kept.append(&mut self.followed.found);
        // A copy of the log that ends before them is an input gap: no later place of this life is in it.
        if step != Step::Copied {
            self.log.write(3);
        }
        let resumed = |followed: &Followed| {
            let positions = followed.positions.clone();
            Followed::resumed(&self.log.source(self.path), &Arc::default(), 2, positions)
        };
        // A life that ends before any window has left: the next one reads all of its lines again.
        let mut short = resumed(&self.followed);
        short.begin().unwrap();
        self.followed = resumed(&short);
        self.followed.settle().unwrap();
    }
}

// Refutes a copy that counts again once its log was cut, as it is or packed, in the same run or the next: lines came between the
// copy and the cut, and were read.
#[test]
fn a_copy_of_the_beginning_is_passed_over_after_the_cut() {
    let steps = [Step::Never, Step::Copied, Step::Cut, Step::Packed, Step::Always];
    let cases = ["a.log*", ""].into_iter().flat_map(|path| steps.map(|step| (path, step)));
    let all = [Seen::BeforeMoreLines, Seen::BeforeTheCut, Seen::AfterTheCut];
    for ((path, restart), seen) in cases.flat_map(|case| all.map(|seen| (case, seen))) {
        let mut log = Log::new("copied");
        log.write(200);
        let followed = log.follow(path);
        let mut life = Life { log, path, followed, kept: Vec::new(), restart };
        life.followed.settle().unwrap();
        life.log.write(50);
        life.followed.settle().unwrap();
        life.log.write(10);
        let copied = fs::read_to_string(life.log.place.path("a.log")).unwrap();
        if seen == Seen::BeforeMoreLines {
            life.log.place.write("a.log.1", &copied);
            life.pass(Step::Copied);
        }
        // In the middle of a line.
        let copied = copied + &line(life.log.written)[..9];
        if seen == Seen::BeforeTheCut {
            life.log.place.write("a.log.1", &copied);
        }
        life.log.write(15);
        life.followed.settle().unwrap();
        life.log.place.write("a.log.1", &copied);
        OpenOptions::new().write(true).open(life.log.place.path("a.log")).unwrap().set_len(0).unwrap();
        life.pass(Step::Cut);
        life.log.write(20);
        life.followed.settle().unwrap();
        life.log.pack("a.log.1");
        life.pass(Step::Packed);
        life.log.shift();
        life.log.write(5);
        life.followed.settle().unwrap();
        let case = format!("{path:?}, {restart:?}, {seen:?}");
        assert_eq!(life.followed.gaps, [], "{case}: {:?}", life.followed.warnings);
        life.followed.found.append(&mut life.kept);
        assert_eq!(life.log.check(&[life.followed]), Ok(()), "{case}");
    }
}

// Refutes lines that came between two cuts of a log and are read by nobody: the first cut was noticed, and the log was cut again
// before the next look.
#[test]
fn a_log_that_is_cut_twice_is_read_whatever_the_time_between() {
    for path in PATHS {
        let mut log = Log::new("cut-twice");
        let mut followed = log.follow(path);
        for time in (10..250).step_by(20) {
            log.write(200);
            followed.settle().unwrap();
            log.copy_and_cut();
            followed.settle_for(Duration::from_millis(time)).unwrap();
            log.write(100);
            log.copy_and_cut();
        }
        followed.settle().unwrap();
        assert_eq!(followed.gaps, [], "{path:?}: {:?}", followed.warnings);
        assert_eq!(log.check(std::slice::from_ref(&followed)), Ok(()), "{path:?}");
    }
}

// Refutes lines that nobody reads, without an input gap, of a rotated file that begins like a longer one which another run has
// read: nothing tells whether it is its copy.
#[test]
fn a_shorter_file_that_begins_like_one_of_a_former_run_is_a_gap() {
    let mut log = Log::beginning("copied-doubt", Beginning::Records(100));
    log.write(200);
    let mut followed = log.follow("a.log*");
    followed.settle().unwrap();
    log.rename();
    log.reopen();
    log.write(5);
    followed.checkpoint().unwrap();
    let mut resumed =
        Followed::resumed(&log.source("a.log*"), &Arc::default(), 2, followed.positions.clone());
    resumed.settle().unwrap();
    log.remove("a.log.1");
    // Until its handle is closed.
    resumed.settle_for(Duration::from_millis(2_500)).unwrap();
    assert_eq!(resumed.gaps, []);
    let text = fs::read_to_string(log.place.path("a.log")).unwrap().replace("somebody", "nobody");
    log.place.write("a.log.3.gz", packed(Packing::Gzip, text.as_bytes()));
    resumed.settle().unwrap();
    assert!(!resumed.gaps.is_empty(), "{:?}", resumed.warnings);
}
