//! Tests of restarts that end before they have read everything: the positions that they have reported until then.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::between::tests::text;
use super::files::FollowedPath;
use crate::gate::Positions;
use crate::job::config::CsvSpec;
use crate::job::sources::bytes::Packing;
use crate::job::sources::cutter::Sizes;
use crate::job::sources::dealer::{Dealer, DealerMessage, Progress, SourceFault};
use crate::job::sources::lines::CsvFormat;
use crate::job::sources::milestones::{ChangedPositions, Milestones};
use crate::job::sources::reader::TextFormat;
use crate::job::sources::survey::Survey;
use crate::job::sources::tests::{Place, packed};

/// Positions that a run has reported, behind this number of lines, and those that hold at once.
struct PositionReport {
    lines: usize,
    is_start: bool,
    changed: ChangedPositions,
}

/// The reading of a path by one run.
struct Life {
    lines: Vec<String>,
    /// The reports of the restart, and those of the first look after it.
    reports: [Vec<PositionReport>; 2],
    /// True if the restart has found an input gap.
    has_gap: bool,
}

/// Goes on at positions, and then looks once. A file is reported after each 1,024 bytes.
fn life(path: &Path, former: &Positions) -> Life {
    life_of(path, former, None)
}

/// The same with files that name columns in their first lines.
fn life_of(path: &Path, former: &Positions, columns: Option<Vec<String>>) -> Life {
    let (sender, messages) = crossbeam_channel::unbounded();
    let (fault, wanted) = (SourceFault::new("a.log".into(), (0, false), false), Arc::new(()));
    let mut dealer = Dealer::to_one(sender, fault, &wanted);
    let (progress, milestones) = (Progress::of(None), Milestones::new(1, 1));
    let columns = columns.map(|fields| CsvFormat::new(&CsvSpec::default(), &fields).unwrap());
    let format = TextFormat { sizes: Sizes { chunk: 16, ..Sizes::USUAL }, columns: columns.map(Arc::new) };
    let survey = Arc::new(Survey::for_run(Vec::new(), (None, None), None));
    let mut files = FollowedPath::new(path, &format, None, &milestones, survey);
    let (mut lines, mut reports) = (Vec::new(), Vec::new());
    let mut take = || {
        let mut taken = Vec::new();
        for message in messages.try_iter() {
            let (number, is_start) = match message {
                DealerMessage::Chunk(chunk) => {
                    let text = String::from_utf8(chunk.lines).unwrap();
                    lines.extend(text.lines().map(str::to_owned));
                    continue;
                }
                DealerMessage::Position(number) => (number, false),
                DealerMessage::Start(number) => (number, true),
                _ => continue,
            };
            milestones.reach(number, 0);
            let changed = milestones.take().unwrap().changed;
            taken.push(PositionReport { lines: lines.len(), is_start, changed });
        }
        reports.push(taken);
    };
    let former = if former.is_empty() { Vec::new() } else { vec![former.clone()] };
    assert!(files.resume(&former, &mut dealer, &progress).is_ok());
    let has_gap = files.take_gap();
    take();
    assert!(files.read(Duration::ZERO, &mut dealer, &progress).is_ok());
    // A file that no order has is in doubt for the look as well.
    assert!(!files.take_gap() || has_gap);
    assert!(files.report_positions(&dealer).is_ok());
    take();
    Life { lines, reports: reports.try_into().ok().unwrap(), has_gap }
}

/// The positions in the ledger after some reports of a run: the first one replaces those of the run before.
fn after<'a>(former: &Positions, reports: impl IntoIterator<Item = &'a PositionReport>) -> Positions {
    let mut reports = reports.into_iter().peekable();
    let mut positions = if reports.peek().is_some() { Positions::new() } else { former.clone() };
    for (name, position) in reports.flat_map(|report| report.changed.clone()) {
        match position {
            Some(position) => _ = positions.insert(name, position),
            None => _ = positions.remove(&name),
        }
    }
    positions
}

/// The positions that a run leaves which reads a path to its end.
fn read(path: &Path, former: &Positions) -> Positions {
    let life = life(path, former);
    assert!(!life.has_gap);
    after(former, life.reports.iter().flatten())
}

/// A change of the files while no run is there.
type Change = fn(&Place);

/// The files of a log, with what came while no run was there: the positions, and the number of lines since.
type History = fn(&Place) -> (Positions, usize);

/// A log that was rotated twice.
fn rotated(place: &Place) -> (Positions, usize) {
    place.write("a.log", text("one", 0..100));
    let positions = read(&place.path("a.log"), &Positions::new());
    place.append("a.log", text("one", 100..400));
    fs::rename(place.path("a.log"), place.path("a.log.2")).unwrap();
    place.write("a.log.1", text("two", 0..400));
    place.write("a.log", text("three", 0..400));
    (positions, 300 + 400 + 400)
}

/// A log without a line, which was cut twice.
fn cut_empty(place: &Place) -> (Positions, usize) {
    let positions = emptied(place);
    place.write("a.log.2", text("two", 0..400));
    place.write("a.log.1", text("three", 0..400));
    place.append("a.log", text("four", 0..400));
    (positions, 400 + 400 + 400)
}

/// A log without a line, which was cut once, and copied again.
fn copied_empty(place: &Place) -> (Positions, usize) {
    let positions = emptied(place);
    place.write("a.log.2", text("two", 0..400));
    place.append("a.log", text("three", 0..400));
    place.write("a.log.1", text("three", 0..400));
    (positions, 400 + 400)
}

/// The positions of a log that was rotated, and has no line.
fn emptied(place: &Place) -> Positions {
    place.write("a.log", text("one", 0..100));
    let positions = read(&place.path("a.log"), &Positions::new());
    fs::rename(place.path("a.log"), place.path("a.log.1")).unwrap();
    place.write("a.log", "");
    let positions = read(&place.path("a.log"), &positions);
    fs::rename(place.path("a.log.1"), place.path("a.log.3")).unwrap();
    positions
}

/// Two files, both of which grew.
fn grown(place: &Place) -> (Positions, usize) {
    place.write("a.log.1", text("one", 0..400));
    place.write("a.log", text("two", 0..100));
    let positions = read(&place.path("a.log*"), &Positions::new());
    place.append("a.log.1", text("one", 400..800));
    place.append("a.log", text("two", 100..500));
    (positions, 400 + 400)
}

/// A file that grew, and one that came and was packed out of the pattern.
fn departed(place: &Place) -> (Positions, usize) {
    place.write("a-1.log", text("one", 0..100));
    let positions = read(&place.path("a-*.log"), &Positions::new());
    place.append("a-1.log", text("one", 100..500));
    place.write("a-2.log.gz", packed(Packing::Gzip, text("two", 0..400).as_bytes()));
    (positions, 400 + 400)
}

// Refutes a position, of a restart that has not found all files, from which the next one reads other lines than those behind
// it: the positions of the files that were still to be found are left out of it.
#[test]
fn each_position_of_a_restart_leads_to_the_lines_behind_it() {
    let histories: [(&str, History, &[&str]); 5] = [
        ("rotated", rotated, &["a.log", "a.log*"]),
        ("empty", cut_empty, &["a.log", "a.log*"]),
        ("copied", copied_empty, &["a.log"]),
        ("grown", grown, &["a.log*"]),
        ("departed", departed, &["a-*.log"]),
    ];
    let cases = histories
        .iter()
        .flat_map(|(what, history, paths)| paths.iter().map(move |path| (what, history, path)));
    for (what, history, path) in cases {
        let place = Place::new("interrupted");
        let (positions, since) = history(&place);
        let path = place.path(path);
        let second = life(&path, &positions);
        assert_eq!((second.lines.len(), second.has_gap), (since, false), "{what}");
        let reports: Vec<&PositionReport> = second.reports.iter().flatten().collect();
        assert!(reports.len() > 10, "{what}");
        for number in 0..=reports.len() {
            let known = &reports[..number];
            let read = known.iter().rfind(|report| !report.is_start).map_or(0, |report| report.lines);
            let third = life(&path, &after(&positions, known.iter().copied()));
            assert!(!third.has_gap, "{what}: {number}");
            assert_eq!(third.lines, second.lines[read..], "{what}: {number}");
        }
    }
}

// Refutes a run that is shorter than its windows and moves no position, however many files it has read to their ends.
#[test]
fn each_file_that_a_restart_has_read_has_a_position_at_its_end() {
    let place = Place::new("interrupted-ends");
    let (positions, _) = rotated(&place);
    for path in ["a.log", "a.log*"] {
        let reports = life(&place.path(path), &positions).reports;
        for end in [300, 700, 1_100] {
            let is_at = |report: &PositionReport| !report.is_start && report.lines == end;
            assert!(reports.iter().flatten().any(is_at), "{path}: {end}");
        }
    }
}

// Refutes an input gap that a run has found and not reported, and that the next one does not find, since the positions have
// moved on.
#[test]
fn no_position_moves_beyond_a_gap_that_is_not_reported() {
    let cases: [(&str, Change); 4] = [
        ("gone", |place| fs::remove_file(place.path("a.log.2")).unwrap()),
        ("cut", |place| place.write("a.log.2", text("one", 0..50))),
        ("in no order", |place| place.write("a.log.old", text("other", 0..300))),
        ("like another", |place| {
            fs::rename(place.path("a.log.2"), place.path("a.log.3")).unwrap();
            place.write("a.log.2", text("one", 0..5));
            // It is the older one by its time as well as by its name.
            let file = fs::OpenOptions::new().append(true).open(place.path("a.log.2")).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000)).unwrap();
        }),
    ];
    for (what, change) in cases {
        let place = Place::new("interrupted-gap");
        let (positions, _) = rotated(&place);
        change(&place);
        assert_found_again(&place.path("a.log"), &positions, what);
    }
    // No window has left: the lines behind the first position are read again, and some of them are gone.
    let place = Place::new("interrupted-short");
    place.write("a.log", text("one", 0..400));
    let path = place.path("a.log");
    let positions = origins(&path, &Positions::new());
    fs::rename(&path, place.path("a.log.1")).unwrap();
    place.write("a.log.1", text("one", 0..300));
    place.write("a.log", text("two", 0..400));
    assert_found_again(&path, &positions, "short");
}

/// The positions that a run leaves of which no window has left.
fn origins(path: &Path, former: &Positions) -> Positions {
    after(former, life(path, former).reports.iter().flatten().filter(|report| report.is_start))
}

/// Requires that a restart finds an input gap whatever the one before it has reported, until that has reported the gap.
fn assert_found_again(path: &Path, positions: &Positions, what: &str) {
    let second = life(path, positions);
    assert!(second.has_gap, "{what}");
    let [restart, look] = &second.reports;
    for number in 0..=restart.len() {
        let third = life(path, &after(positions, &restart[..number]));
        assert!(third.has_gap, "{what}: {number} of {}", restart.len());
    }
    let third = life(path, &after(positions, restart.iter().chain(look)));
    assert!(!third.has_gap, "{what}");
}

// Refutes lines that were read and are gone, and are not missed: a run that ended before it came to their file has left out up
// to where that was read.
#[test]
fn a_restart_keeps_the_marks_of_files_that_it_has_not_come_to() {
    let place = Place::new("interrupted-marks");
    place.write("a.log.1", text("one", 0..400));
    place.write("a.log", text("two", 0..400));
    let path = place.path("a.log*");
    let positions = origins(&path, &Positions::new());
    let second = life(&path, &positions);
    let report = &second.reports[0][0];
    assert!(report.is_start && report.lines < 400);
    let positions = after(&positions, [report]);
    assert_eq!(life(&path, &positions).lines.len(), 800);
    place.write("a.log", text("two", 0..300));
    assert!(life(&path, &positions).has_gap);
}

/// Three files of a log, of 400 lines each.
fn three_files(place: &Place) {
    for (name, of, age) in [("a.log.2", "one", 20), ("a.log.1", "two", 10), ("a.log", "three", 0)] {
        place.write(name, text(of, 0..400));
        set_age(&place.path(name), Duration::from_secs(age));
    }
}

/// Sets the time of the last change that long before what it is.
fn set_age(path: &Path, age: Duration) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    fs::OpenOptions::new().append(true).open(path).unwrap().set_modified(modified - age).unwrap();
}

fn rotate(place: &Place) {
    for (from, to) in [("a.log.2", "a.log.3"), ("a.log.1", "a.log.2"), ("a.log", "a.log.1")] {
        fs::rename(place.path(from), place.path(to)).unwrap();
    }
    place.write("a.log", text("four", 0..400));
}

fn rotate_twice(place: &Place) {
    rotate(place);
    fs::rename(place.path("a.log.3"), place.path("a.log.4")).unwrap();
    rotate(place);
    place.write("a.log", text("five", 0..400));
}

fn pack(place: &Place) {
    rotate(place);
    for (name, of) in [("a.log.2", "two"), ("a.log.1", "three")] {
        let packed_name = format!("{name}.gz");
        place.write(&packed_name, packed(Packing::Gzip, text(of, 0..400).as_bytes()));
        // It has the time of the plain one, which is a step of the clock earlier.
        let age = fs::metadata(place.path(name)).unwrap().modified().unwrap().elapsed().unwrap();
        set_age(&place.path(&packed_name), age + Duration::from_millis(10));
        fs::remove_file(place.path(name)).unwrap();
    }
}

fn cut(place: &Place) {
    for (from, to) in [("a.log.2", "a.log.3"), ("a.log.1", "a.log.2")] {
        fs::rename(place.path(from), place.path(to)).unwrap();
    }
    place.write("a.log.1", text("three", 0..400));
    place.write("a.log", text("four", 0..400));
}

/// Starts a first run, which reports its positions a number of times, and another one after a change of the files; returns
/// what both have read, and true if there is an input gap. `None` if there are fewer reports.
fn first_start(path: &str, known: usize, change: Change) -> Option<(Vec<String>, bool)> {
    let place = Place::new("interrupted-first");
    three_files(&place);
    let path = place.path(path);
    let first = life(&path, &Positions::new());
    let reports: Vec<&PositionReport> = first.reports.iter().flatten().collect();
    assert!(reports[0].is_start && reports[0].lines == 0);
    let known = reports.get(..known)?;
    change(&place);
    let second = life(&path, &after(&Positions::new(), known.iter().copied()));
    let read = known.iter().rfind(|report| !report.is_start).map_or(0, |report| report.lines);
    Some(([&first.lines[..read], &second.lines[..]].concat(), second.has_gap))
}

// Refutes a run that has listed files, and leaves no trace of those that it has not read.
#[test]
fn a_first_start_leaves_a_trace_of_each_file_before_it_reads_one() {
    let all = |of: &[&str]| -> Vec<String> {
        of.iter().flat_map(|of| text(of, 0..400).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let changes: [(&str, Change, &[&str]); 5] = [
        ("nothing", |_| {}, &[]),
        ("rotated", rotate, &["four"]),
        ("rotated twice", rotate_twice, &["four", "five"]),
        ("packed", pack, &["four"]),
        ("cut", cut, &["four"]),
    ];
    for (path, files) in [("a.log*", &["one", "two", "three"][..]), ("a.log", &["three"])] {
        for (what, change, since) in changes {
            let lines = all(&[files, since].concat());
            let mut known = 1;
            while let Some((read, has_gap)) = first_start(path, known, change) {
                assert!(!has_gap, "{path}, {what}: {known}");
                assert!(read == lines, "{path}, {what}: {known}: {} lines, {:?}", read.len(), read.first());
                known += 1;
            }
            assert!(known > 5, "{path}, {what}");
        }
        // Where the removed file was read to its end, nothing is lost.
        for (removed, at) in [("a.log.2", 0), ("a.log.1", 400), ("a.log", 800)] {
            let change: Change = match removed {
                "a.log.2" => |place| fs::remove_file(place.path("a.log.2")).unwrap(),
                "a.log.1" => |place| fs::remove_file(place.path("a.log.1")).unwrap(),
                _ => |place| fs::remove_file(place.path("a.log")).unwrap(),
            };
            if path == "a.log" && removed != "a.log" {
                continue;
            }
            let lines = all(files);
            let (mut known, mut gaps) = (1, 0);
            while let Some((read, has_gap)) = first_start(path, known, change) {
                assert!(
                    has_gap || read == lines,
                    "{path} without {removed}: {known}: {} of {at}",
                    read.len()
                );
                gaps += usize::from(has_gap);
                known += 1;
            }
            assert!(gaps > 0 && known > 5, "{path} without {removed}");
        }
    }
}

// Refutes a file that is taken for one that was listed since it begins with its few lines, and one without a record that is
// missed.
#[test]
fn few_lines_tell_no_file_from_another() {
    let place = Place::new("interrupted-few");
    let path = place.path("a.log*");
    let begun = |life: &Life| after(&Positions::new(), life.reports.iter().flatten().next());
    place.write("a.log.1", text("one", 0..5));
    place.write("a.log", "");
    let positions = begun(&life(&path, &Positions::new()));
    fs::remove_file(place.path("a.log.1")).unwrap();
    place.write("a.log", text("one", 0..10));
    assert!(life(&path, &positions).has_gap);
    // Its own copy has the name that a rotation gives it; of two nobody can say.
    for copies in [1, 2] {
        fs::remove_file(place.path("a.log")).unwrap();
        place.write("a.log", text("one", 0..5));
        let positions = begun(&life(&path, &Positions::new()));
        (0..copies).for_each(|copy| place.write(&format!("a.log.{}", copy + 1), text("one", 0..5 + copy)));
        place.write("a.log", text("two", 0..5));
        let second = life(&path, &positions);
        assert_eq!((second.has_gap, copies == 2 || second.lines.len() == 10), (copies == 2, true));
        (0..copies).for_each(|copy| fs::remove_file(place.path(&format!("a.log.{}", copy + 1))).unwrap());
    }
    // The file itself may grow and be renamed, and one without a record may go.
    let columns = Some(vec!["word".to_owned()]);
    place.write("a.log.1", "word\n");
    place.write("a.log", "word\n".to_owned() + &text("two", 0..5));
    let first = life_of(&path, &Positions::new(), columns.clone());
    let positions = begun(&first);
    fs::remove_file(place.path("a.log.1")).unwrap();
    place.append("a.log", text("two", 5..10));
    fs::rename(place.path("a.log"), place.path("a.log.2")).unwrap();
    let second = life_of(&path, &positions, columns);
    assert_eq!((second.has_gap, second.lines.len()), (false, 10));
}

// Refutes a file that is taken for one that was listed since it begins with the same lines, many as they are.
#[test]
fn many_equal_lines_tell_no_file_from_another() {
    let banner = "# a banner\n".repeat(800);
    for (removed, packed_too) in [("a.log.1", false), ("a.log", false), ("a.log.1", true)] {
        let place = Place::new("interrupted-banner");
        let path = place.path("a.log*");
        for (name, of) in [("a.log.2", "one"), ("a.log.1", "two"), ("a.log", "two")] {
            place.write(name, banner.clone() + &text(of, 0..50) + &text(name, 50..100));
        }
        let first = life(&path, &Positions::new());
        let positions = after(&Positions::new(), first.reports.iter().flatten().next());
        if packed_too {
            // One of them is there, under another number.
            let bytes = packed(Packing::Gzip, &fs::read(place.path("a.log.2")).unwrap());
            place.write("a.log.3.gz", bytes);
            set_age(&place.path("a.log.3.gz"), Duration::from_secs(20));
            fs::remove_file(place.path("a.log.2")).unwrap();
        }
        fs::remove_file(place.path(removed)).unwrap();
        assert!(life(&path, &positions).has_gap, "{removed}, {packed_too}");
    }
    // Equal files: each of them was listed, and one is left. And a new one that begins like the one that is gone.
    for (removed, is_replaced) in [("a.log.2", false), ("a.log.1", false), ("a.log.1", true)] {
        let place = Place::new("interrupted-equal");
        let path = place.path("a.log*");
        for name in if is_replaced { &["a.log.1"][..] } else { &["a.log.2", "a.log.1"] } {
            place.write(name, banner.clone() + &text("one", 0..100));
        }
        let first = life(&path, &Positions::new());
        let positions = after(&Positions::new(), first.reports.iter().flatten().next());
        fs::remove_file(place.path(removed)).unwrap();
        if is_replaced {
            place.write("a.log", banner.clone() + &text("two", 0..200));
        }
        assert!(life(&path, &positions).has_gap, "{removed}, {is_replaced}");
    }
}

// Refutes files that came after a first look and left the pattern, and are not looked for, since no file was read.
#[test]
fn what_came_after_the_first_look_is_read() {
    let place = Place::new("interrupted-since");
    let path = place.path("a-*.log");
    place.write("a-1.log", text("one", 0..100));
    let reports = life(&path, &Positions::new()).reports;
    let positions = after(&Positions::new(), reports.iter().flatten().next());
    place.write("a-2.log.gz", packed(Packing::Gzip, text("two", 0..100).as_bytes()));
    let second = life(&path, &positions);
    assert_eq!((second.has_gap, second.lines.len()), (false, 200));
}
