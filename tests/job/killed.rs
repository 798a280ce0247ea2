//! Jobs that are killed at random moments, and started again until they are done.
//!
//! `DISCREET_FULL=1 cargo test --test job killed -- --nocapture` kills a thousand lives, and prints the
//! number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::jobs::{COST, HEADER, PAGES, SECOND, exact, line, log, tallies};
use crate::scene::{Life, PATIENCE, Printed, Scene, moment, now, until};
use crate::{Chance, in_parallel, size};

/// The start of a replay's windows.
pub(crate) const FROM: i64 = 1_500_000_000 * SECOND;

/// The number of windows that the budget pays for.
const WINDOWS: i64 = 24;

/// The lines seen in a file of releases at the end of each life: whole lines only, for the last may be torn.
#[derive(Default)]
pub(crate) struct Seen(BTreeSet<String>);

impl Seen {
    pub(crate) fn look(&mut self, scene: &Scene) {
        let text = scene.read("releases.jsonl");
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        self.0.extend(whole.lines().map(str::to_owned));
    }

    /// Checks that every line seen before is still there, unchanged.
    pub(crate) fn judge(&self, printed: &str) {
        let printed: BTreeSet<&str> = printed.lines().collect();
        for line in &self.0 {
            assert!(printed.contains(line.as_str()), "it was released, and is not any more: {line}");
        }
    }
}

/// Kills a life; returns true if it had not ended yet.
pub(crate) fn killed(mut life: Life, after: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < after {
        if life.has_ended() {
            let said = life.end();
            assert_eq!(said.code, Some(0), "{said:?}");
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    life.kill().code.is_none()
}

/// The number of sealed windows, each of which was paid for once.
fn sealed(scene: &Scene) -> usize {
    scene.verify("job.ledger");
    let (windows, spent) = scene.charged("job.ledger");
    assert_eq!(spent["epsilon"], windows as f64 * COST, "each window is paid for once");
    windows as usize
}

// Refutes a kill of a replay that makes a window release two values, loses or repeats a line, or charges
// twice.
#[test]
fn a_replay_that_is_killed_says_once_what_it_says() {
    const LIVES: usize = 6;
    let (text, truth) = log(FROM, WINDOWS, 400);
    let job = exact(FROM, Some(FROM + WINDOWS * SECOND));
    let arguments = |workers| ["replay", "job.toml", "--out", "releases.jsonl", "-w", ["1", "2"][workers]];
    let set = || {
        let scene = Scene::new("killed");
        scene.write("job.toml", &job);
        scene.write("visits.csv", &text);
        scene.init();
        scene
    };
    // The time of a whole life on this machine.
    let whole = set().done(&arguments(0)).took;
    let hit = AtomicUsize::new(0);
    in_parallel((0..size(25, 500).div_ceil(LIVES)).collect(), |number| {
        let (scene, mut seen, mut chance) = (set(), Seen::default(), Chance::of(&[1, number]));
        for _ in 0..LIVES {
            // From its start to a little after its expected end.
            let after = whole.mul_f64(chance.below(1_200) as f64 / 1_000.0);
            hit.fetch_add(killed(scene.start(&arguments(number % 2)), after).into(), Ordering::Relaxed);
            seen.look(&scene);
        }
        scene.done(&arguments(number % 2));
        let printed = scene.read("releases.jsonl");
        seen.judge(&printed);
        let windows = Printed::of(&printed);
        assert_eq!(windows.0.len(), WINDOWS as usize);
        assert_eq!(tallies(&windows.values()), truth);
        assert_eq!(sealed(&scene), WINDOWS as usize);
        // A new file gets the same lines.
        scene.done(&["replay", "job.toml", "--out", "again.jsonl"]);
        assert_eq!(Printed::of(&scene.read("again.jsonl")), windows);
    });
    println!("killed: {} replays in the middle", hit.into_inner());
}

/// The lines written of each window, and the windows for which it is unknown if a line came in time.
#[derive(Default)]
struct Written {
    tallies: BTreeMap<(String, String), i64>,
    unsure: BTreeSet<String>,
}

/// Appends people to a file, by the clock, until it is stopped. Each comes once, so the contribution bound
/// leaves out nobody.
fn append(scene: &Scene, stop: &AtomicBool) -> Written {
    let mut file = OpenOptions::new().append(true).open(scene.at("visits.csv")).unwrap();
    let mut written = Written::default();
    let mut person = 0;
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) && began.elapsed() < PATIENCE {
        let (time, page) = (now(), PAGES[person % 2]);
        file.write_all(line(person, time, page).as_bytes()).unwrap();
        let start = time - time.rem_euclid(SECOND);
        *written.tallies.entry((moment(start), page.to_owned())).or_default() += 1;
        // A window takes records for half a second after its end: see `exact`.
        if now() > start + SECOND + 400_000 {
            written.unsure.insert(moment(start));
        }
        person += 1;
        thread::sleep(Duration::from_millis(3));
    }
    written
}

// Refutes a kill of a live run that loses a window or a record that came in time, or makes a window release
// two values or cost twice; and a run that is asked to end and fails.
#[test]
fn a_run_that_is_killed_says_once_what_it_says() {
    const LIVES: usize = 13;
    let hit = AtomicUsize::new(0);
    in_parallel((0..size(25, 500).div_ceil(LIVES)).collect(), |number| {
        let (scene, mut seen, mut chance) = (Scene::new("killed"), Seen::default(), Chance::of(&[2, number]));
        let from = now();
        let from = from - from.rem_euclid(SECOND);
        scene.write("job.toml", exact(from, None));
        scene.write("visits.csv", HEADER);
        scene.init();
        let workers = ["1", "2"][number % 2];
        let live = || scene.start(&["run", "job.toml", "--out", "releases.jsonl", "-w", workers]);
        let stop = AtomicBool::new(false);
        let (written, last, said) = thread::scope(|scope| {
            let writer = scope.spawn(|| append(&scene, &stop));
            for _ in 0..LIVES {
                let after = Duration::from_millis(chance.below(1_000) as u64);
                hit.fetch_add(killed(live(), after).into(), Ordering::Relaxed);
                seen.look(&scene);
            }
            let life = live();
            // A window that no earlier life can have released.
            let last = moment(now() / SECOND * SECOND);
            until("the last life releases a window", || {
                let printed = scene.read("releases.jsonl");
                printed.contains(&format!("\"start\":\"{last}\"")) && printed.ends_with('\n')
            });
            stop.store(true, Ordering::Relaxed);
            let written = writer.join().unwrap();
            life.signal(Signal::TERM);
            (written, last, life.end())
        });
        assert_eq!(said.code, Some(0), "{said:?}");
        let printed = scene.read("releases.jsonl");
        seen.judge(&printed);
        let windows = Printed::of(&printed);
        // Every window from the first to the last, and perhaps some empty ones after it.
        for (at, (_, start)) in windows.0.keys().enumerate() {
            assert_eq!(*start, moment(from + at as i64 * SECOND));
        }
        assert!(windows.0.len() > 2, "lives that are over before they say anything");
        for ((start, page), value) in tallies(&windows.values()) {
            let written_down =
                written.tallies.get(&(start.clone(), page.clone())).copied().unwrap_or_default();
            let late = written.unsure.contains(&start);
            assert!(
                value == written_down || late && value < written_down,
                "{start} {page}: {value}, and {written_down} came"
            );
        }
        assert!(windows.0.keys().any(|(_, start)| *start == last));
        // Sealed windows that were not due at the request to end stay in the ledger.
        assert!((windows.0.len()..=windows.0.len() + 2).contains(&sealed(&scene)));
    });
    println!("killed: {} live runs in the middle", hit.into_inner());
}
