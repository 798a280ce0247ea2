//! Totals over windows, of a job that is killed at random moments: what they remember of people and of noise comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::jobs::{HEADER, PAGES, SECOND, exact, line};
use crate::killed::{FROM, Seen, killed};
use crate::scene::{Scene, Told, moment};
use crate::{Chance, in_parallel, size};

const WINDOWS: i64 = 24;
const PEOPLE: i64 = 600;
/// Of how many windows the last ones are.
const LAST: i64 = 4;

/// Noise that is rounded away: its deviation is below 0.09, and 0.5 would be seen.
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

type Totals = BTreeMap<(String, String, String), i64>;

/// People who come again and again, always to one page, and what must be told: of each the first time alone.
fn log() -> (String, Totals) {
    let mut text = HEADER.to_owned();
    let mut first = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for window in 0..WINDOWS {
        for person in 0..PEOPLE {
            if (person * person + window * 7) % 5 != 0 || person % WINDOWS > window {
                continue;
            }
            let page = PAGES[(person % 3) as usize];
            let time = FROM + window * SECOND + (person * 7_919 + window) % SECOND;
            text += &line(person, time, page);
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
    (text, totals)
}

// Refutes a life that counts somebody again, or that begins a total anew, because of what the one before it knew; a line that is told
// otherwise than it was; and totals that are paid for twice.
#[test]
fn totals_of_a_replay_that_is_killed_go_on_where_they_were() {
    const LIVES: usize = 6;
    let (text, truth) = log();
    let job = job();
    let arguments = |workers| ["replay", "job.toml", "--out", "told.jsonl", "-w", ["1", "2"][workers]];
    let set = || {
        let scene = Scene::new("totals");
        scene.write("job.toml", &job);
        scene.write("visits.csv", &text);
        scene.init();
        scene
    };
    // How long a whole life is here and now.
    let whole = set().done(&arguments(0)).took;
    let hit = AtomicUsize::new(0);
    in_parallel((0..size(24, 300).div_ceil(LIVES)).collect(), |number| {
        let (scene, mut seen, mut chance) = (set(), Seen::default(), Chance::of(&[3, number]));
        for _ in 0..LIVES {
            let after = whole.mul_f64(chance.below(1_200) as f64 / 1_000.0);
            hit.fetch_add(killed(scene.start(&arguments(number % 2)), after).into(), Ordering::Relaxed);
            seen.look(&scene);
        }
        scene.done(&arguments(number % 2));
        let told = scene.read("told.jsonl");
        seen.judge(&told);
        let windows = Told::of(&told);
        let values: Totals =
            windows.values().into_iter().map(|(place, value)| (place, value.as_i64().unwrap())).collect();
        assert_eq!(values, truth);
        scene.verify("job.ledger");
        assert_eq!(scene.standing("job.ledger").1["rho"], 490.0, "all totals are paid for once");
        // And a file that is new is told the very same, by any number of workers.
        scene.done(&["replay", "job.toml", "--out", "again.jsonl", "-w", ["2", "1"][number % 2]]);
        assert_eq!(Told::of(&scene.read("again.jsonl")), windows);
    });
    println!("killed: {} replays in the middle", hit.into_inner());
}
