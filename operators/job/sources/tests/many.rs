//! Logs of many files: more than are held open or remembered, files of several names, and files in order of time.

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use super::following::{Followed, Settable};
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

// Refutes lines of a sorted log that come before earlier ones: those of the new file before the last ones of the renamed
// file, those of its tenth file before its second, and rotated files behind their log.
#[test]
fn a_sorted_log_is_in_order_through_every_rotation() {
    for path in ["a.log", "a.log*", ""] {
        let place = Place::new("sorted-rotated");
        let mut written = 0u64;
        let mut write = |name: &str, lines: u64| {
            for _ in 0..lines {
                written += 1;
                place.append(name, format!("{{\"user\":\"u\",\"at\":{written}}}\n"));
            }
            written as usize
        };
        let before = match path {
            "a.log" => 0,
            _ => {
                write("a.log.2", 3);
                write("a.log.1", 3)
            }
        };
        write("a.log", 3);
        let at = place.path(path);
        let source = format!(
            "type = \"jsonl\"\npath = {:?}\norder = \"sorted\"\ntime = {{ field = \"at\", format = \"unix\" }}",
            at.to_str().unwrap()
        );
        let source = stated(&source, USER);
        let mut followed = Followed::new(&source, &Arc::<Settable>::default(), 2);
        assert_eq!(followed.settle().unwrap(), before + 3, "{path}");
        for round in 0..12 {
            write("a.log", 2);
            for number in (0..40).rev() {
                let name = |number| {
                    place.path(&if number == 0 { "a.log".into() } else { format!("a.log.{number}") })
                };
                if name(number).exists() {
                    fs::rename(name(number), name(number + 1)).unwrap();
                }
            }
            // The last line comes when the next file is there, which is empty.
            place.write("a.log", "");
            followed.settle_for(Duration::from_millis(130)).unwrap();
            write("a.log.1", 1);
            let lines = write("a.log", 1);
            assert_eq!(followed.settle().map_err(|error| (round, error)), Ok(lines), "{path}");
        }
        let all = write("a.log", 0);
        let read = read(&source, &wanted(&[], &[], true), 2).unwrap();
        assert_eq!(read.len(), if path == "a.log" { 1 } else { all });

        // A restart, of which some files are packed by then.
        followed.begin().unwrap();
        let positions = followed.positions.clone();
        drop(followed);
        for number in 3..8 {
            let name = format!("a.log.{number}");
            let packed = packed(Packing::Gzip, &fs::read(place.path(&name)).unwrap());
            place.write(&format!("{name}.gz"), packed);
            fs::remove_file(place.path(&name)).unwrap();
        }
        write("a.log", 1);
        let mut resumed = Followed::resumed(&source, &Arc::<Settable>::default(), 2, positions);
        assert_eq!(resumed.settle().map_err(|error| (path, error)), Ok(all + 1));
    }
}

// Refutes lines of a sorted log that come before earlier ones after short lives that need all lines again: the files that came
// and were rotated while no run read have the names that earlier ones had, and those of a longer rotation are the older ones.
#[test]
fn short_lives_read_a_sorted_log_in_order() {
    let cases = ["a.log", "a.log*", ""].into_iter();
    // The number of files that were rotated before the first start, and whether the log is there by then.
    let all = [(0, true), (2, true), (1, false)];
    for (path, (before, is_there)) in cases.flat_map(|path| all.map(|case| (path, case))) {
        if path == "a.log" && !is_there {
            continue;
        }
        let place = Place::new("sorted-lives");
        let mut written = 0u64;
        let mut write = |lines: u64| {
            for _ in 0..lines {
                written += 1;
                place.append("a.log", format!("{{\"user\":\"u\",\"at\":{written}}}\n"));
            }
            written as usize
        };
        let rotate = |files: u32| {
            for number in (0..files).rev() {
                let name = |number| if number == 0 { "a.log".into() } else { format!("a.log.{number}") };
                let [from, to] = [number, number + 1].map(|number| place.path(&name(number)));
                if from.exists() {
                    fs::rename(from, to).unwrap();
                }
            }
        };
        for _ in 0..before {
            write(2);
            rotate(9);
        }
        if is_there {
            write(3);
        }
        let source = format!(
            "type = \"jsonl\"\npath = {:?}\norder = \"sorted\"\ntime = {{ field = \"at\", format = \"unix\" }}",
            place.path(path).to_str().unwrap()
        );
        let source = stated(&source, USER);
        let mut positions = Positions::new();
        for life in 0..5 {
            let mut followed = Followed::resumed(&source, &Arc::<Settable>::default(), 2, positions.clone());
            followed
                .begin()
                .unwrap_or_else(|error| panic!("{path:?}, {before}, {is_there}, life {life}: {error}"));
            assert!(
                followed.gaps.len() <= usize::from(life == 0),
                "{path:?}, {before}, {is_there}, life {life}"
            );
            positions.clone_from(&followed.positions);
            drop(followed);
            // Two rotations at first; each of them leaves a file that no run has seen as the log.
            for _ in 0..[2, 0, 3, 0, 0][life] {
                write(2);
                rotate(9);
            }
            write(2);
        }
    }
}

// Refutes lines of a sorted log that was empty at the last look, or when its run was stopped, that come before those of a copy:
// the log was cut once more since, and written again.
#[test]
fn a_sorted_log_that_was_empty_comes_after_its_copies() {
    let all = [(true, false), (false, false), (false, true)];
    let cases = PATHS.into_iter().flat_map(|path| all.map(|case| (path, case)));
    // Up or down, and whether it is renamed as well while it is down.
    for ((path, (is_up, is_renamed)), own) in cases.flat_map(|case| [0, 1, 3].map(|own| (case, own))) {
        let place = Place::new("sorted-empty");
        let mut written = 0;
        let mut write = |lines: u64| {
            for _ in 0..lines {
                written += 1;
                place.append(
                    "a.log",
                    format!("{{\"user\":\"u\",\"at\":{written},\"pad\":\"{:1500}\"}}\n", ""),
                );
            }
            written as usize
        };
        let copy_and_cut = || {
            for number in [2, 1] {
                let of = |number: u32| place.path(&format!("a.log.{number}"));
                if of(number).exists() {
                    fs::rename(of(number), of(number + 1)).unwrap();
                }
            }
            fs::copy(place.path("a.log"), place.path("a.log.1")).unwrap();
            place.write("a.log", "");
        };
        let source = format!(
            "type = \"jsonl\"\npath = {:?}\norder = \"sorted\"\ntime = {{ field = \"at\", format = \"unix\" }}",
            place.path(path).to_str().unwrap()
        );
        let source = stated(&source, USER);
        let case = format!("{path:?}, {is_up}, {is_renamed}, {own}");
        write(20);
        let resumed = |positions| Followed::resumed(&source, &Arc::default(), 2, positions);
        let mut followed = resumed(Positions::new());
        followed.settle().unwrap();
        copy_and_cut();
        followed.settle().unwrap();
        if !is_up {
            followed.begin().unwrap();
            let positions = followed.positions.clone();
            drop(followed);
            write(1);
            copy_and_cut();
            let mut all = write(own);
            if is_renamed {
                for number in (0..4).rev() {
                    let of = |number: u32| place.path(&format!("a.log.{number}"));
                    let from = if number == 0 { place.path("a.log") } else { of(number) };
                    if from.exists() {
                        fs::rename(from, of(number + 1)).unwrap();
                    }
                }
                all = write(2);
            }
            followed = resumed(positions);
            assert_eq!(followed.settle(), Ok(all), "{case}");
        } else {
            write(1);
            copy_and_cut();
            let all = write(own);
            assert_eq!(followed.settle(), Ok(all), "{case}");
        }
        for life in 0..3 {
            let all = write(2);
            followed.begin().unwrap_or_else(|error| panic!("{case}, life {life}: {error}"));
            assert_eq!((followed.found.len(), &followed.gaps[..]), (all, &[][..]), "{case}, life {life}");
            followed = resumed(followed.positions.clone());
        }
    }
}

// Refutes lines of a sorted log that are read before those of a file that may be a copy in the making, and is none.
#[test]
fn a_sorted_log_waits_for_an_undecided_file_of_it() {
    for path in ["a.log*", ""] {
        let place = Place::new("sorted-undecided");
        let line = |at: u64| format!("{{\"user\":\"u\",\"at\":{at}}}\n");
        place.write("a.log", line(1).repeat(40));
        let source = format!(
            "type = \"jsonl\"\npath = {:?}\norder = \"sorted\"\ntime = {{ field = \"at\", format = \"unix\" }}",
            place.path(path).to_str().unwrap()
        );
        let mut followed = Followed::new(&stated(&source, USER), &Arc::<Settable>::default(), 2);
        assert_eq!(followed.settle(), Ok(40), "{path:?}");
        fs::rename(place.path("a.log"), place.path("a.log.2")).unwrap();
        place.write("a.log.1", line(1));
        place.write("a.log", line(9));
        // Through more than one look; it is undecided while it grows.
        for _ in 0..20 {
            place.append("a.log.1", line(1));
            followed.settle_for(Duration::from_millis(10)).unwrap();
        }
        place.append("a.log.1", line(5));
        assert_eq!(followed.settle(), Ok(40 + 21 + 2), "{path:?}");
        assert_eq!(followed.gaps, [], "{path:?}");
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
