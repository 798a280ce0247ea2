//! Totals over windows, of a job that is killed at random moments: the people and the noise that they
//! remember are restored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::cluster::{hosts, start};
use crate::jobs::{HEADER, PAGES, SECOND, exact, line};
use crate::killed::{FROM, Seen, killed};
use crate::scene::{Life, Printed, Scene, moment, until};
use crate::{Chance, in_parallel, size};

const WINDOWS: i64 = 24;
const PEOPLE: i64 = 600;
/// The number of windows in a total over the last windows.
const LAST: i64 = 4;

/// A job whose noise rounds to zero: its deviation is below 0.09, and only 0.5 would show.
fn job() -> String {
    let job = exact(FROM, Some(FROM + WINDOWS * SECOND)).replace("epsilon = 480", "rho = 490");
    let (head, _) = job.split_once("[[release]]").unwrap();
    let release = |name: &str, words: &str, rho: u32| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1s\"\n{words}\ncount = {{ by = \"page\", keys = [\"a\", \"b\", \"c\"] }}\n\
             bound = {{ keys = 1, per_key = 1 }}\nrunning = true\nnoise = \"gaussian\"\ncost = {{ rho = {rho} }}\n"
        )
    };
    let last = format!("over = \"{LAST}s\"");
    format!("{head}{}{}", release("so_far", "", 300), release("recent", &last, 190))
}

/// The same job with the people of the last windows alone, of whom each enters a page once: a deviation of 0.094.
fn present_job() -> String {
    let job = exact(FROM, Some(FROM + WINDOWS * SECOND)).replace("epsilon = 480", "rho = 490");
    let (head, _) = job.split_once("[[release]]").unwrap();
    format!(
        "{head}[[release]]\nname = \"present\"\nevery = \"1s\"\nover = \"{LAST}s\"\nrunning = true\n\
         people = {{ by = \"page\", keys = [\"a\", \"b\", \"c\"] }}\nbound = {{ keys = 1, entries = 1 }}\nnoise = \"gaussian\"\n\
         cost = {{ rho = 490 }}\n"
    )
}

type Totals = BTreeMap<(String, String, String), i64>;

/// Records, by window.
type Log = Vec<String>;

/// People who come again and again, always to one page, and the expected totals: each person counts once.
fn log() -> (Log, Totals) {
    let mut log = vec![String::new(); WINDOWS as usize];
    let mut first = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (window, text) in (0..).zip(&mut log) {
        for person in 0..PEOPLE {
            if (person * person + window * 7) % 5 != 0 || person % WINDOWS > window {
                continue;
            }
            let page = PAGES[(person % 3) as usize];
            let time = FROM + window * SECOND + (person * 7_919 + window) % SECOND;
            *text += &line(person, time, page);
            if seen.insert(person) {
                *first.entry((window, page)).or_default() += 1;
            }
        }
    }
    let mut totals = Totals::new();
    for window in 0..WINDOWS {
        for (name, since) in [("so_far", 0), ("recent", (window - LAST + 1).max(0))] {
            for page in PAGES {
                let new = (since..=window).filter_map(|window| first.get(&(window, page)));
                let place = (name.to_owned(), moment(FROM + window * SECOND), page.to_owned());
                totals.insert(place, new.sum());
            }
        }
    }
    (log, totals)
}

/// People who come again after three windows, and some of them after six: who stays, who leaves, and who may not come
/// back. The expected people of the last windows, of whom each enters once.
fn present_log() -> (Log, Totals) {
    let mut log = vec![String::new(); WINDOWS as usize];
    // The last window in which each person counted.
    let mut kept: BTreeMap<i64, i64> = BTreeMap::new();
    let mut people = Totals::new();
    for (window, text) in (0..).zip(&mut log) {
        for person in 0..PEOPLE {
            let pause = if person % 4 == 0 { 6 } else { 3 };
            let stays = window - person % 11;
            if stays < 0 || stays % pause != 0 || stays > 3 * (person % 7) {
                continue;
            }
            let page = PAGES[(person % 3) as usize];
            *text += &line(person, FROM + window * SECOND + (person * 7_919 + window) % SECOND, page);
            let last = kept.entry(person).or_insert(window);
            if window <= *last + LAST {
                *last = window;
            }
        }
        for (at, page) in (0..).zip(PAGES) {
            let there =
                kept.iter().filter(|(person, last)| *person % 3 == at && window < *last + LAST).count();
            let place = ("present".to_owned(), moment(FROM + window * SECOND), page.to_owned());
            people.insert(place, there as i64);
        }
    }
    (log, people)
}

/// The log without sealed windows: all but the records of windows that every release has released.
fn rotated(log: &Log, printed: &str) -> String {
    let windows = |name: &str| {
        let closed = printed.lines().filter(|line| line.contains("\"closed\":true") && line.ends_with('}'));
        closed.filter(|line| line.contains(&format!("\"release\":\"{name}\""))).count()
    };
    let released = match printed.contains("\"release\":\"present\"") {
        true => windows("present"),
        false => windows("so_far").min(windows("recent")),
    };
    HEADER.to_owned() + &log[released..].concat()
}

// Refutes a life that counts a person again whom the life before had counted, though the log no longer has
// the record; one that starts a total anew; a line that changes when it is written again; and totals that are
// charged twice.
#[test]
fn totals_of_a_replay_that_is_killed_go_on_where_they_were() {
    go_on_where_they_were(&job(), log());
}

// Refutes a life in which somebody enters again whom the life before had let go, or leaves who was there, or never
// leaves.
#[test]
fn people_of_a_replay_that_is_killed_stay_and_leave_as_if_it_were_not() {
    go_on_where_they_were(&present_job(), present_log());
}

fn go_on_where_they_were(job: &str, (log, truth): (Log, Totals)) {
    const LIVES: usize = 6;
    let arguments = |workers| ["replay", "job.toml", "--out", "releases.jsonl", "-w", ["1", "2"][workers]];
    let set = || {
        let scene = Scene::new("totals");
        scene.write("job.toml", job);
        scene.write("visits.csv", rotated(&log, ""));
        scene.init();
        scene
    };
    let hit = AtomicUsize::new(0);
    in_parallel((0..size(24, 300).div_ceil(LIVES)).collect(), |number| {
        let (scene, mut seen, mut chance) = (set(), Seen::default(), Chance::of(&[3, number]));
        for _ in 0..LIVES {
            // Some windows later, for most lives.
            let before = scene.read("releases.jsonl").matches("closed").count();
            let further = before + 1 + chance.below(8);
            let mut life = scene.start(&arguments(number % 2));
            until("a life releases something, or ends", || {
                scene.read("releases.jsonl").matches("closed").count() >= further || life.has_ended()
            });
            hit.fetch_add(killed(life, Duration::ZERO).into(), Ordering::Relaxed);
            seen.look(&scene);
            scene.write("visits.csv", rotated(&log, &scene.read("releases.jsonl")));
        }
        scene.done(&arguments(number % 2));
        let printed = scene.read("releases.jsonl");
        seen.judge(&printed);
        let windows = Printed::of(&printed);
        assert_eq!(totals(&windows), truth);
        scene.verify("job.ledger");
        assert_eq!(scene.charged("job.ledger").1["rho"], 490.0, "all totals are paid for once");
        // A new file gets the same lines, by any number of workers.
        scene.done(&["replay", "job.toml", "--out", "again.jsonl", "-w", ["2", "1"][number % 2]]);
        assert_eq!(Printed::of(&scene.read("again.jsonl")), windows);
    });
    let hit = hit.into_inner();
    assert!(hit > 0, "every life was over before it was killed");
    println!("killed: {hit} replays in the middle");
}

// Refutes people who are counted in one process and lost in another, while both live and after both start
// again.
#[test]
fn two_processes_release_the_totals_that_an_oracle_counts() {
    release_in_two_processes(&job(), log());
}

#[test]
fn two_processes_release_the_people_that_an_oracle_counts() {
    release_in_two_processes(&present_job(), present_log());
}

fn release_in_two_processes(job: &str, (log, truth): (Log, Totals)) {
    let scene = Scene::new("totals");
    scene.write("job.toml", job);
    scene.write("visits.csv", rotated(&log, ""));
    scene.init();
    hosts(&scene);
    let mut lives = [0, 1].map(|process| start(&scene, process, "2"));
    until("some windows are released", || {
        scene.read("releases.jsonl").matches("closed").count() >= 6 || lives.iter_mut().any(Life::has_ended)
    });
    let [first, second] = lives;
    first.kill();
    second.kill();
    hosts(&scene);
    for life in [1, 0].map(|process| start(&scene, process, "1")) {
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    assert_eq!(totals(&Printed::of(&scene.read("releases.jsonl"))), truth);
    scene.verify("job.ledger");
    assert_eq!(scene.charged("job.ledger").1["rho"], 490.0, "all totals are paid for once");
}

fn totals(printed: &Printed) -> Totals {
    printed.values().into_iter().map(|(place, value)| (place, value.as_i64().unwrap())).collect()
}
