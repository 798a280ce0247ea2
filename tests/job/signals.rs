//! Signals to a running job: requests to end, and to report its vitals.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::jobs::{HEADER, SECOND, exact, line, log, tallies};
use crate::scene::{Printed, Scene, now, until};

// Refutes a clean end that seals incomplete windows: the next run would release less than one that was never
// ended.
#[test]
fn who_is_asked_to_end_seals_nothing_incomplete() {
    for signal in [Signal::TERM, Signal::INT] {
        let scene = Scene::new("signals");
        let from = now() / SECOND * SECOND - SECOND;
        let (text, truth) = log(from, 4, 300);
        scene.write("job.toml", exact(from, Some(from + 4 * SECOND)));
        scene.write("visits.csv", &text);
        scene.init();
        let arguments = ["run", "job.toml", "--out", "releases.jsonl", "--json"];
        let life = scene.start(&arguments);
        until("a window is released", || scene.read("releases.jsonl").contains("\"closed\":true"));
        life.signal(signal);
        let said = life.end();
        assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
        assert!(said.err.contains("\"stopped\":true"), "{said:?}");
        let before = Printed::of(&scene.read("releases.jsonl"));
        assert!(!before.0.is_empty() && before.0.len() < 4, "{before:?}");
        let said = scene.done(&arguments);
        assert_eq!(said.out, "");
        let printed = Printed::of(&scene.read("releases.jsonl"));
        assert!(before.0.iter().all(|(about, cells)| printed.0.get(about) == Some(cells)));
        assert_eq!(tallies(&printed.values()), truth);
        scene.verify("job.ledger");
    }
}

// Refutes a job that is asked to end while its input ends, and reports a failed source; and a job whose input
// ends without such a request, and that does not report it.
#[test]
fn an_input_that_ends_with_the_job_has_not_failed_it() {
    for (asked, code) in [(true, 0), (false, 69)] {
        let scene = Scene::new("signals");
        scene.write("job.toml", exact(now(), None).replace("path = \"visits.csv\"", "path = \"-\""));
        scene.init();
        let mut life = scene.start_reading(&["run", "job.toml"], Stdio::piped());
        let mut input = life.child.stdin.take().unwrap();
        input.write_all((HEADER.to_owned() + &line(1, now(), "a")).as_bytes()).unwrap();
        until("a window is released", || life.said().0.contains("\"closed\":true"));
        drop(input);
        if asked {
            std::thread::sleep(Duration::from_millis(50));
            life.signal(Signal::TERM);
        }
        let said = life.end();
        assert_eq!(said.code, Some(code), "{said:?}");
    }
}

// Refutes a log in a file whose lines cannot be dated, and lines with two times in the journal of systemd.
#[test]
fn a_line_of_a_log_in_a_file_begins_with_its_time() {
    let cases = [(None, &[][..], true), (None, &["--json"][..], true), (Some("8:1"), &[][..], false)];
    for (stream, in_json, is_stamped) in cases {
        let scene = Scene::new("stamped");
        scene.write("job.toml", exact(now() / SECOND * SECOND, None));
        scene.write("visits.csv", HEADER.to_owned() + &line("someone", now(), "a"));
        scene.init();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_discreet"));
        match stream {
            Some(stream) => command.env("JOURNAL_STREAM", stream),
            None => command.env_remove("JOURNAL_STREAM"),
        };
        let log = scene.at("log");
        let mut child = command
            .args(["run", "job.toml", "--out", "releases.jsonl"])
            .args(in_json)
            .current_dir(scene.at("."))
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let written = || std::fs::read_to_string(&log).unwrap();
        until("it has started", || written().contains("started: "));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, Signal::USR1).unwrap();
        until("it answers", || written().contains("operator only: lag "));
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        assert!(child.wait().unwrap().success());
        let written = written();
        let outcome = written.lines().next_back().unwrap();
        assert!(outcome.contains("released"), "{written}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(outcome).is_ok(),
            !in_json.is_empty(),
            "{written}"
        );
        let sentences = written.lines().filter(|line| !line.starts_with('{'));
        for line in sentences {
            let time = line.split(' ').next().unwrap();
            let is_time = time.ends_with('Z') && discreet::time::at(time).is_ok();
            assert_eq!(is_time, is_stamped, "{line}");
        }
    }
}

// Refutes vitals that get among the released lines, or that disclose records.
#[test]
fn an_operator_is_informed_of_progress() {
    let scene = Scene::new("signals");
    scene.write("job.toml", exact(now() / SECOND * SECOND, None));
    let records: String = (0..7).map(|at| line(format!("s3cr3t-{at}"), now(), "s3cr3t-page")).collect();
    scene.write("visits.csv", HEADER.to_owned() + &records);
    scene.init();
    let life = scene.start(&["run", "job.toml"]);
    until("a window is released", || life.said().0.contains("\"closed\":true"));
    for asked in 1..=2 {
        life.signal(Signal::USR1);
        until("it answers", || life.said().1.matches("operator only: lag ").count() == asked);
    }
    let (out, err) = life.said();
    let began = |line: &&str| line.starts_with("started: job ") || line.starts_with("alert: ");
    for line in err.lines().filter(|line| !began(line)) {
        assert!(line.starts_with("operator only: lag "), "{err}");
        assert!(line.contains("MB read") && line.contains("spent") && line.contains("windows open"), "{err}");
    }
    assert!(out.lines().all(|line| line.starts_with("{\"release\":")), "{out}");
    assert!(!out.contains("s3cr3t") && !err.contains("s3cr3t"));
    // The job goes on.
    until("another window is released", || {
        life.said().0.matches("\"closed\":true").count() > out.matches("\"closed\":true").count()
    });
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
}
