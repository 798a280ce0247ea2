//! One job in two processes.

use std::fs;
use std::time::Duration;

use crate::jobs::{HEADER, PAGES, SECOND, exact, line, log, tallies};
use crate::kit::free_port;
use crate::scene::{Life, Printed, Said, Scene, after_start, now, until};

/// The start of these jobs' windows, which are all over.
const FROM: i64 = 1_500_000_000 * SECOND;
pub(crate) const WINDOWS: i64 = 6;

/// Writes a file with two addresses that nothing listens on.
pub(crate) fn hosts(scene: &Scene) {
    scene.write("hosts", [(); 2].map(|()| format!("127.0.0.1:{}\n", free_port())).concat());
}

pub(crate) fn start(scene: &Scene, process: usize, workers: &str) -> Life {
    start_as(scene, process, &["run", "job.toml", "-w", workers])
}

/// Starts one of two processes of the same command.
pub(crate) fn start_as(scene: &Scene, process: usize, arguments: &[&str]) -> Life {
    let (process, out) = (["0", "1"][process], ["releases.jsonl", "other.jsonl"][process]);
    let own = ["-n", "2", "-p", process, "--hosts", "hosts", "--out", out];
    scene.start(&[arguments, &own].concat())
}

/// A job in which the key decides who counts where: people on three pages, of whom two pages count, with two
/// of three visits each.
pub(crate) fn chosen() -> String {
    let text = exact(FROM, Some(FROM + WINDOWS * SECOND));
    text.replace("bound = { keys = 1, per_key = 1 }", "bound = { keys = 2, per_key = 2 }")
        // Four times the contribution of a person at four times the cost: the noise stays the same.
        .replace("epsilon = 20 }", "epsilon = 80 }")
}

/// More than one chunk of 256 KiB, so that both processes read some.
pub(crate) fn crowd() -> String {
    let mut text = HEADER.to_owned();
    for person in 0..3_000 {
        for visit in 0..9 {
            let time = FROM + person % WINDOWS * SECOND + person * 100 + visit;
            text += &line(format!("somebody-{person}"), time, PAGES[(visit / 3) as usize]);
        }
    }
    text
}

/// The same job and log in another directory, with another ledger under the same key.
pub(crate) fn beside(scene: &Scene) -> Scene {
    let other = Scene::new("beside");
    for name in ["job.toml", "visits.csv"] {
        other.write(name, scene.read(name));
    }
    fs::copy(scene.at("job.ledger.key"), other.at("job.ledger.key")).unwrap();
    other.init();
    hosts(&other);
    other
}

pub(crate) fn set(job: &str, log: &str) -> Scene {
    let scene = Scene::new("cluster");
    scene.write("job.toml", job);
    scene.write("visits.csv", log);
    scene.init();
    hosts(&scene);
    scene
}

// Refutes a contribution selection or a sum that depends on the number of processes or threads, on their
// progress, or on the clock or the end of the input as the cause that closed the window.
#[test]
fn two_processes_release_what_one_does_and_what_a_replay_does() {
    let scene = set(&chosen(), &crowd());
    let (one, replay) = (beside(&scene), beside(&scene));
    let lives = [1, 0].map(|process| start(&scene, process, "2"));
    let [second, first] = lives.map(Life::end);
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{first:?} {second:?}");
    assert_eq!(scene.read("other.jsonl"), "", "the first process alone releases");
    one.done(&["run", "job.toml", "--out", "releases.jsonl"]);
    replay.done(&["replay", "job.toml", "--out", "releases.jsonl", "-w", "3"]);
    let [printed, one, replay] = [&scene, &one, &replay].map(|scene| {
        scene.verify("job.ledger");
        assert_eq!(scene.charged("job.ledger").0, WINDOWS as u64);
        Printed::of(&scene.read("releases.jsonl"))
    });
    assert_eq!(printed.0.len(), WINDOWS as usize);
    assert_eq!(printed.values(), one.values());
    assert_eq!(printed.values(), replay.values());
    assert_eq!(printed.field("id"), one.field("id"));
    assert_eq!(printed.field("id"), replay.field("id"));
    // Everybody visits three pages three times, and counts on two of them twice.
    assert_eq!(tallies(&printed.values()).values().sum::<i64>(), 3_000 * 4);
}

// Refutes a process that goes on alone, seals what the dead one had not read, or does not end.
#[test]
fn whoever_is_left_ends_and_both_begin_again() {
    for victim in [0, 1] {
        let from = now() / SECOND * SECOND - 3 * SECOND;
        // The last windows are still open when one of the two is killed.
        let (text, truth) = log(from, 7, 3_000);
        let scene = set(&exact(from, Some(from + 7 * SECOND)), &text);
        let mut lives = [0, 1].map(|process| Some(start(&scene, process, "1")));
        until("something is released", || scene.read("releases.jsonl").contains("\"closed\":true"));
        lives[victim].take().unwrap().kill();
        let left = lives[1 - victim].take().unwrap().end_within(Duration::from_secs(10));
        assert!(left.code.is_some_and(|code| code != 0), "{left:?}");
        assert!(!left.err.contains("panicked"), "{left:?}");
        let before = scene.read("releases.jsonl");
        scene.verify("job.ledger");
        hosts(&scene);
        let lives = [0, 1].map(|process| start(&scene, process, "1"));
        let [first, second] = lives.map(Life::end);
        assert_eq!((first.code, second.code), (Some(0), Some(0)), "{first:?} {second:?}");
        let printed = scene.read("releases.jsonl");
        let whole = before.rfind('\n').map_or("", |end| &before[..=end]);
        assert!(whole.lines().all(|line| printed.lines().any(|other| other == line)));
        assert_eq!(tallies(&Printed::of(&printed).values()), truth);
        scene.verify("job.ledger");
        assert_eq!(scene.charged("job.ledger").0, 7);
    }
}

// Refutes a cluster that starts although it is invalid, one that waits without end, and one that connects to
// other machines without the option for that.
#[test]
fn what_is_no_cluster_is_refused() {
    let (text, _) = log(FROM, WINDOWS, 10);
    let job = exact(FROM, Some(FROM + WINDOWS * SECOND));
    let scene = set(&job, &text);
    let run = |more: &[&str], job: &str| {
        let said = scene.start(&[&["run", job], more].concat()).end_within(Duration::from_secs(20));
        let err = after_start(&said.err);
        assert!(err.starts_with("error: ") && said.out.is_empty(), "{err}");
        (said.code, err)
    };
    let two = ["-n", "2", "-p", "0", "--hosts"];
    let refused = |hosts: Option<&str>, more: &[&str], word: &str| {
        if let Some(hosts) = hosts {
            scene.write("wrong", hosts);
        }
        let (code, err) = run(more, "job.toml");
        assert!(code == Some(78) && err.contains(word), "{code:?} {err}");
    };
    let wrong = [&two[..], &["wrong"]].concat();
    refused(None, &["-n", "2", "-p", "0"], "--hosts");
    refused(None, &[&two[..], &["nowhere"]].concat(), "nowhere");
    refused(Some("127.0.0.1:2101\n"), &wrong, "1 addresses for 2 processes");
    refused(Some("127.0.0.1:2101\nno address\n"), &wrong, "no address");
    refused(Some("127.0.0.1:2101\n192.0.2.1:2101\n"), &wrong, "--insecure-cluster");
    refused(Some("127.0.0.1:2101\nexample.org:2101\n"), &wrong, "--insecure-cluster");
    refused(Some("127.0.0.1:2101\n127.0.0.1:2102\n"), &["-n", "2", "-p", "2", "--hosts", "wrong"], "process");
    assert_eq!(scene.charged("job.ledger").0, 0);

    // Another job in the second process, and the first process twice: the first of these waits for its own
    // peer, which comes.
    scene.write("other.toml", job.replace("late = \"500ms\"", "late = \"400ms\""));
    let first = start(&scene, 0, "1");
    std::thread::sleep(Duration::from_millis(300));
    // Another key would select other records of the same people, and so count them twice.
    discreet::ledger::LedgerKey::create(scene.at("other.key")).unwrap();
    let line = "ledger = \"job.ledger\"";
    assert!(job.contains(line));
    scene.write("other-key.toml", job.replace(line, "ledger = \"job.ledger\"\nkey = \"other.key\""));
    for unlike in [
        &["run", "other.toml", "-p", "1"][..],
        &["run", "other-key.toml", "-p", "1"],
        &["run", "job.toml", "-p", "1", "-w", "2"],
    ] {
        let (code, err) = run(&[&unlike[2..], &["-n", "2", "--hosts", "hosts"]].concat(), unlike[1]);
        assert!(code == Some(78) && err.contains("another job file"), "{code:?} {err}");
    }
    let (code, err) = run(&[&two[..], &["hosts"]].concat(), "job.toml");
    assert!(code == Some(74) && err.contains("is running already"), "{code:?} {err}");
    assert_eq!(scene.charged("job.ledger").0, 0);
    let second = start(&scene, 1, "1").end();
    let first = first.end();
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{first:?} {second:?}");
    assert_eq!(Printed::of(&scene.read("releases.jsonl")).0.len(), WINDOWS as usize);
}

// Refutes windows that each process infers from the files that it sees, and a refusal that blames the job
// files for it.
#[test]
fn a_demonstration_of_several_processes_needs_its_ends_stated() {
    for missing in ["from", "until"] {
        let text = chosen();
        let line = text.lines().find(|line| line.starts_with(missing)).unwrap();
        let scene = set(&chosen(), &crowd());
        scene.write("job.toml", text.replace(line, ""));
        let lives = [1, 0].map(|process| start_as(&scene, process, &["replay", "job.toml", "--demo"]));
        for said in lives.map(Life::end) {
            assert_eq!((said.code, said.out.as_str()), (Some(78), ""), "{said:?}");
            let printed = format!("error: job.{missing}: found nothing; give from and until in [job]: ");
            assert!(said.err.contains(&printed), "{said:?}");
        }
    }
}

// Refutes a message with the limit of the whole input, where each process counts its own part.
#[test]
fn bad_lines_are_of_the_part_of_a_process() {
    let scene = set(&chosen(), &format!("{}no line of it\n", crowd()));
    let lives = [1, 0].map(|process| start_as(&scene, process, &["replay", "job.toml"]));
    let ended = lives.map(Life::end);
    let own = "more than 0 lines of this process's part cannot be read, which is its limit";
    assert!(ended.iter().any(|said| said.code == Some(65) && said.err.contains(own)), "{ended:?}");
    assert_eq!(scene.charged("job.ledger").0, 0);
    let said = scene.run(&["replay", "job.toml"]);
    assert!(said.code == Some(65) && said.err.contains("more than 0 lines cannot be read"), "{said:?}");

    scene.write("job.toml", chosen().replace("[privacy]", "bad = { lines = 1 }\n\n[privacy]"));
    let lives = [1, 0].map(|process| start_as(&scene, process, &["replay", "job.toml", "--demo"]));
    let ended = lives.map(Life::end);
    let counted = |said: &Said| {
        assert!(said.code == Some(0) && said.err.contains(" of this process's part (for"), "{said:?}");
        said.err.contains("1 line of this process's part cannot be read")
    };
    assert_eq!(ended.iter().filter(|said| counted(said)).count(), 1, "{ended:?}");
}
