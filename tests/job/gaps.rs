//! Input gaps: a window of which a part was never read is skipped, and no number is released of it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use crate::jobs::{HEADER, PAGES, SECOND, exact, line, tallies};
use crate::scene::{Life, Printed, Scene, moment, now, until};

/// The lines that were written, by the start of their second and page.
type Written = BTreeMap<(String, String), i64>;

/// Writes lines for some time.
fn write(input: &mut impl Write, lasting: Duration, written: &mut Written, person: &mut u64) {
    write_late(input, lasting, 0, (written, person));
}

/// Writes lines for some time, whose events came this number of microseconds before.
fn write_late(
    input: &mut impl Write,
    lasting: Duration,
    late: i64,
    (written, person): (&mut Written, &mut u64),
) {
    let since = Instant::now();
    while since.elapsed() < lasting {
        let (time, page) = (now() - late, PAGES[(*person % 3) as usize]);
        input.write_all(line(*person, time, page).as_bytes()).unwrap();
        *written.entry((moment(time / SECOND * SECOND), page.to_owned())).or_default() += 1;
        *person += 1;
        thread::sleep(Duration::from_millis(5));
    }
}

/// Compares the released windows with what was written; returns the starts of the windows that were skipped,
/// and of those that were released.
fn compared(scene: &Scene, written: &Written) -> (Vec<String>, Vec<String>) {
    let text = scene.read("releases.jsonl");
    let printed = Printed::of(&text);
    for ((start, page), value) in tallies(&printed.values()) {
        let count = written.get(&(start.clone(), page.clone())).copied().unwrap_or_default();
        assert_eq!(value, count, "{start} {page}");
    }
    let skipped: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let skipped = skipped.iter().filter(|line| line["skipped"] == true);
    let skipped: Vec<String> = skipped
        .map(|line| {
            assert_eq!(line["why"], "input gap", "{line}");
            line["window"]["start"].as_str().unwrap().to_owned()
        })
        .collect();
    let released = printed.0.keys().map(|(_, start)| start.clone());
    let released = released.filter(|start| !skipped.contains(start)).collect();
    (skipped, released)
}

fn released(scene: &Scene) -> usize {
    scene.read("releases.jsonl").matches("\"closed\":true").count()
}

/// A job whose windows begin three seconds ago.
fn scene(path: &str) -> (Scene, i64) {
    let scene = Scene::new("gaps");
    let from = now() / SECOND * SECOND - 3 * SECOND;
    scene.write("job.toml", exact(from, None).replace("\"visits.csv\"", &format!("{path:?}")));
    scene.init();
    (scene, from)
}

// Refutes a number of a window that began before the job was connected, or that a kill left open; a charge for
// one; and a window that is skipped although all of it was read.
#[test]
fn windows_that_standard_input_cannot_give_again_are_skipped() {
    let (scene, from) = scene("-");
    let (mut written, mut person, mut connected) = (Written::new(), 0, Vec::new());
    // The last one is not killed: what a kill leaves sealed is printed by the next life.
    for end in [Signal::TERM, Signal::KILL, Signal::TERM] {
        let mut life: Life =
            scene.start_reading(&["run", "job.toml", "--out", "releases.jsonl"], Stdio::piped());
        let mut input = life.child.stdin.take().unwrap();
        input.write_all(HEADER.as_bytes()).unwrap();
        // It has opened its ledger once it has released or skipped something.
        let before = scene.read("releases.jsonl").len();
        until("it is connected", || scene.read("releases.jsonl").len() > before);
        let since = now();
        write(&mut input, Duration::from_millis(3_300), &mut written, &mut person);
        // The first window that lies in the connection is released, however busy the machine is.
        let first = moment((since / SECOND + 1) * SECOND);
        let closed = |line: &str| line.contains(&first) && line.contains("\"closed\":true");
        until("a window is released", || scene.read("releases.jsonl").lines().any(closed));
        connected.push(now());
        life.signal(end);
        drop(input);
        life.end();
        thread::sleep(Duration::from_millis(700));
    }
    let (skipped, released) = compared(&scene, &written);
    assert!(skipped.contains(&moment(from)), "before the job was connected: {skipped:?}");
    for pair in connected.windows(2) {
        let down = pair[0] / SECOND * SECOND;
        assert!(skipped.contains(&moment(down)), "{} of {skipped:?}", moment(down));
    }
    // Nothing is paid for a window that was skipped.
    assert_eq!(scene.charged("job.ledger").0, released.len() as u64);
    scene.verify("job.ledger");
}

// Refutes a run that ends with the writer of a named pipe, and a number of a window in which there was none.
#[test]
fn windows_in_which_a_pipe_has_no_writer_are_skipped() {
    let (scene, _) = scene("visits.pipe");
    assert!(Command::new("mkfifo").arg(scene.at("visits.pipe")).status().unwrap().success());
    let mut life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let (mut written, mut person, mut without) = (Written::new(), 0, Vec::new());
    for _ in 0..3 {
        let mut pipe = OpenOptions::new().write(true).open(scene.at("visits.pipe")).unwrap();
        pipe.write_all(HEADER.as_bytes()).unwrap();
        // From the next whole second on.
        thread::sleep(Duration::from_micros((SECOND - now() % SECOND) as u64));
        let before = released(&scene);
        write(&mut pipe, Duration::from_millis(2_600), &mut written, &mut person);
        until("a window is released", || released(&scene) > before);
        drop(pipe);
        without.push(moment(now() / SECOND * SECOND));
        thread::sleep(Duration::from_millis(1_300));
        assert!(!life.has_ended(), "{:?}", life.said());
    }
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    let (skipped, released) = compared(&scene, &written);
    // The last gap has not ended, so its windows are open.
    for start in without.iter().take(2) {
        assert!(skipped.contains(start), "{start} of {skipped:?}");
    }
    assert!(released.len() >= 4, "{released:?}");
    assert_eq!(scene.charged("job.ledger").0, released.len() as u64);
}

// Refutes a total over windows that were skipped, as if they had been empty.
#[test]
fn totals_state_the_gaps_that_they_cover() {
    let (scene, from) = scene("visits.pipe");
    let job = scene.read("job.toml").replace("epsilon = 480", "rho = 490");
    let (head, _) = job.split_once("[[release]]").unwrap();
    let release = |name: &str, over: &str, rho: u32| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1s\"\n{over}\ncount = {{}}\nbound = {{ per_key = 1 }}\n\
             running = true\nnoise = \"gaussian\"\ncost = {{ rho = {rho} }}\n"
        )
    };
    let until_then = format!("until = \"{}\"\nslack", moment(from + 3_600 * SECOND));
    let head = head.replacen("slack", &until_then, 1);
    let releases = release("so_far", "", 300) + &release("recent", "over = \"3s\"", 190);
    scene.write("job.toml", format!("{head}{releases}"));
    fs::remove_file(scene.at("job.ledger")).unwrap();
    fs::remove_file(scene.at("job.ledger.key")).unwrap();
    scene.init();
    assert!(Command::new("mkfifo").arg(scene.at("visits.pipe")).status().unwrap().success());
    let (mut written, mut person) = (Written::new(), 0);
    // In two lives, each with a writer: before, between and after them there was none.
    for _ in 0..2 {
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        let mut pipe = OpenOptions::new().write(true).open(scene.at("visits.pipe")).unwrap();
        pipe.write_all(HEADER.as_bytes()).unwrap();
        let before = released(&scene);
        write(&mut pipe, Duration::from_millis(5_300), &mut written, &mut person);
        until("some windows are released", || released(&scene) >= before + 8);
        life.signal(Signal::TERM);
        drop(pipe);
        assert_eq!(life.end().code, Some(0));
    }
    let lines: Vec<Value> =
        scene.read("releases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let start = |line: &Value| line["window"]["start"].as_str().unwrap().to_owned();
    for name in ["so_far", "recent"] {
        let of: Vec<&Value> = lines.iter().filter(|line| line["release"] == name).collect();
        let skipped: Vec<String> =
            of.iter().filter(|line| line["skipped"] == true).map(|line| start(line)).collect();
        assert!(skipped.len() >= 3, "{skipped:?}");
        for line in of.iter().filter(|line| !line["value"].is_null()) {
            let own = start(line);
            let at: jiff::Timestamp = own.parse().unwrap();
            let first = match name {
                "so_far" => from,
                _ => from.max(at.as_microsecond() - 2 * SECOND),
            };
            let covered = skipped.iter().filter(|start| **start < own && **start >= moment(first)).count();
            let spans = line["gaps"].as_array().map_or(&[][..], Vec::as_slice);
            let time = |span: &Value, of: &str| span[of].as_str().unwrap().to_owned();
            let is_within = |skipped: &&String| {
                spans.iter().any(|span| **skipped >= time(span, "start") && **skipped < time(span, "end"))
            };
            let stated = skipped.iter().filter(|start| **start >= moment(first)).filter(is_within).count();
            assert_eq!(stated, covered, "{line}");
            assert_eq!(spans.is_empty(), covered == 0, "{line}");
        }
        let without = of.iter().filter(|line| !line["value"].is_null() && line["gaps"].is_null()).count();
        assert_eq!(
            without > 0,
            name == "recent",
            "a total of the last windows passes the gap, one so far never"
        );
    }
    scene.verify("job.ledger");
}

/// A log that begins with a header.
fn begun(scene: &Scene) -> File {
    let mut log = OpenOptions::new().create(true).append(true).open(scene.at("visits.csv")).unwrap();
    log.write_all(HEADER.as_bytes()).unwrap();
    log
}

// Refutes a number of a window of which a file had lines that was rotated before the first start, and that the path does not
// name; and a gap where the path names it, where it has no such lines, or where it is a copy.
#[test]
fn a_file_that_was_rotated_before_the_first_start_is_a_gap_where_nobody_reads_it() {
    for (path, beside, is_gap) in [
        ("visits.csv", "visits.csv.1", true),
        ("visits.csv", "visits.csv.old", false),
        ("visits.csv*", "visits.csv.1", false),
        ("visits.csv", "before", false),
        ("visits.csv", "copy", false),
    ] {
        let (scene, from) = scene(path);
        let (mut written, mut person) = (Written::new(), 0);
        let mut log = begun(&scene);
        write(&mut log, Duration::from_millis(700), &mut written, &mut person);
        match beside {
            "before" => {
                fs::copy(scene.at("visits.csv"), scene.at("visits.csv.1")).unwrap();
                let mut rotated = OpenOptions::new().append(true).open(scene.at("visits.csv.1")).unwrap();
                rotated.write_all(line(person, from - 9 * SECOND, PAGES[0]).as_bytes()).unwrap();
                rotated.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
            }
            "copy" => _ = fs::copy(scene.at("visits.csv"), scene.at("visits.csv.1")).unwrap(),
            name => {
                fs::rename(scene.at("visits.csv"), scene.at(name)).unwrap();
                if name.ends_with("old") {
                    written.clear();
                }
                log = begun(&scene);
            }
        }
        let rotated = moment(now() / SECOND * SECOND);
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        write(&mut log, Duration::from_millis(3_000), &mut written, &mut person);
        let last = written.keys().next_back().unwrap().0.clone();
        until("the last window has left", || {
            scene.read("releases.jsonl").contains(&format!("\"start\":\"{last}\""))
        });
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
        let (skipped, released) = compared(&scene, &written);
        assert_eq!(!skipped.is_empty(), is_gap, "{path}, {beside}: {skipped:?}, {said:?}");
        assert_eq!(said.err.contains("rotated before the first start"), is_gap, "{path}, {beside}: {said:?}");
        assert!(skipped.iter().all(|start| *start <= rotated), "{skipped:?}");
        assert!(released.contains(&last), "{path}, {beside}: {released:?}");
    }
}

// Refutes a number of a window that has ended and takes late records, of which a file had some that came and went while the
// process was stopped; and a gap where the log was packed meanwhile, and lines came to it after that.
#[test]
fn a_file_that_came_and_went_unseen_is_a_gap_of_all_windows_that_are_open() {
    for is_lost in [true, false] {
        let (scene, _) = scene("visits.csv");
        scene.write("job.toml", scene.read("job.toml").replace("late = \"500ms\"", "late = \"5s\""));
        let (mut written, mut person) = (Written::new(), 0);
        let mut write = |log: &mut File, milliseconds| {
            let lasting = Duration::from_millis(milliseconds);
            write_late(log, lasting, 3 * SECOND, (&mut written, &mut person));
        };
        let mut log = begun(&scene);
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        until("it runs", || life.said().1.contains("started: "));
        write(&mut log, 2_000);
        // What it has found is read.
        thread::sleep(Duration::from_millis(600));
        life.signal(Signal::STOP);
        if is_lost {
            fs::remove_file(scene.at("visits.csv")).unwrap();
            write(&mut begun(&scene), 1_500);
            fs::remove_file(scene.at("visits.csv")).unwrap();
        } else {
            write(&mut log, 800);
            fs::rename(scene.at("visits.csv"), scene.at("visits.csv.1")).unwrap();
            let packed = Command::new("gzip").arg(scene.at("visits.csv.1")).status().unwrap();
            assert!(packed.success());
            write(&mut log, 800);
        }
        log = begun(&scene);
        life.signal(Signal::CONT);
        write(&mut log, 3_000);
        let last = written.keys().next_back().unwrap().0.clone();
        until("the last window has left", || scene.read("releases.jsonl").contains(&format!("\"{last}\"")));
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
        let (skipped, _) = compared(&scene, &written);
        assert_eq!(skipped.is_empty(), !is_lost, "{skipped:?}: {said:?}");
        assert_eq!(said.err.contains("nobody looked"), is_lost, "{said:?}");
    }
}

// Refutes a count of released windows that has the skipped ones.
#[test]
fn the_operator_reads_the_counts_of_the_outcome() {
    let (scene, _) = scene("-");
    let mut life = scene.start_reading(&["run", "job.toml", "--out", "releases.jsonl"], Stdio::piped());
    let mut input = life.child.stdin.take().unwrap();
    input.write_all(HEADER.as_bytes()).unwrap();
    until("a window is released", || released(&scene) > 0);
    let before = released(&scene);
    life.signal(Signal::USR1);
    let answer = |text: &str| {
        text.lines().find_map(|line| line.strip_prefix("operator only: lag ").map(str::to_owned))
    };
    until("it answers", || answer(&life.said().1).is_some());
    life.signal(Signal::TERM);
    let said = life.end();
    drop(input);
    let count = |text: &str, what: &str| -> usize {
        let part = text.split(", ").find_map(|part| part.strip_suffix(what)).unwrap();
        part.parse().unwrap()
    };
    let (answer, outcome) = (answer(&said.err).unwrap(), said.err.lines().last().unwrap());
    let skipped = scene.read("releases.jsonl").matches("\"skipped\":true").count();
    assert!(skipped > 2, "{outcome}");
    assert_eq!((count(&answer, " skipped"), count(outcome, " skipped")), (skipped, skipped));
    let (then, all) = (count(&answer, " released"), count(outcome, " released"));
    // A window is counted a moment after its lines are written.
    assert!(before <= then + 1 && then <= all, "{before} windows: {answer}; {outcome}");
}

// Refutes windows that are answered though their records are told from others by local times that occur twice, and a longer
// window that is skipped for them.
#[test]
fn windows_within_an_hour_that_the_clocks_repeat_are_skipped() {
    const HOUR: i64 = 3_600 * SECOND;
    // 2026-11-01, a day of 25 hours in New York, from 04:00 in UTC; the clocks are set back at 06:00 in UTC.
    let (from, until, back) = (1_793_505_600 * SECOND, 1_793_595_600 * SECOND, 1_793_512_800 * SECOND);
    let job = exact(from, Some(until)).replace("cost = { epsilon = 20 }", "cost = { epsilon = 18 }");
    let job = job.replace("every = \"1s\"", "every = \"1 hour\"");
    let (head, release) = job.split_once("[[release]]").unwrap();
    let day = release.replace("visits_by_page", "day").replace("1 hour", "1 day");
    let job = format!("{head}[[release]]{release}\n[[release]]{day}");
    for (format, offsets) in [("%Y-%m-%d %H:%M:%S", ["", ""]), ("%Y-%m-%d %H:%M:%S %z", [" -0400", " -0500"])]
    {
        let scene = Scene::new("repeated");
        let time = format!("format = \"{format}\", zone = \"America/New_York\"");
        scene.write("job.toml", job.replace("format = \"unix\"", &time));
        let mut text = HEADER.to_owned();
        for (person, time) in (from..until).step_by(HOUR as usize / 6).enumerate() {
            let (hours, offset) = if time < back { (4, offsets[0]) } else { (5, offsets[1]) };
            let local = moment(time - hours * HOUR).replace('T', " ").replace('Z', "");
            text += &format!("{person},{local}{offset},a\n");
        }
        scene.write("visits.csv", &text);
        scene.init();
        let planned = scene.done(&["plan", "job.toml"]).out;
        let planned = planned.split_whitespace().collect::<Vec<_>>().join(" ");
        let warning = "each window of visits_by_page that begins or ends in between, next from 2026-11-01T05:00:00Z to \
                       2026-11-01T07:00:00Z, is skipped";
        let is_local = offsets[0].is_empty();
        assert_eq!(planned.contains(warning), is_local, "{format}");
        scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
        let lines: Vec<Value> =
            scene.read("releases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let skipped: Vec<_> = lines.iter().filter(|line| line["skipped"] == true).collect();
        let starts: Vec<&str> =
            skipped.iter().map(|line| line["window"]["start"].as_str().unwrap()).collect();
        assert!(skipped.iter().all(|line| line["why"] == "input gap" && line["release"] == "visits_by_page"));
        let repeated = ["2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"];
        assert_eq!(starts, if is_local { &repeated[..] } else { &[] }, "{format}");
        let values = lines.iter().filter(|line| line["key"] == "a");
        let (days, hours): (Vec<_>, Vec<_>) = values.partition(|line| line["release"] == "day");
        assert_eq!(days.iter().map(|line| &line["value"]).collect::<Vec<_>>(), [150], "{format}");
        assert_eq!(hours.len(), 25 - starts.len(), "{format}");
        assert!(hours.iter().all(|line| line["value"] == 6), "{format}: {hours:?}");
        // What is in order of time is in no order of its local times.
        scene.write("job.toml", scene.read("job.toml").replace("late = \"500ms\"", "order = \"sorted\""));
        let planned = scene.done(&["plan", "job.toml"]).out;
        let planned = planned.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            planned.contains("New_York are set back, next from 2026-11-01T05:00:00Z"),
            is_local,
            "{planned}"
        );
        let ordered = scene.run(&["replay", "job.toml", "--demo", "--out", "demo.jsonl"]);
        assert_eq!(ordered.code, Some(if is_local { 65 } else { 0 }), "{}", ordered.err);
        assert_eq!(
            ordered.err.contains("clocks of America/New_York are set back"),
            is_local,
            "{}",
            ordered.err
        );
    }
}
