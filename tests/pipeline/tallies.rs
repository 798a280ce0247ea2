//! The released tallies against a reference that sees every visit at once, on one to four workers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use discreet::dataflow::{Config, Finished, Pulled, RunError, Schedule, execute};
use discreet::gate::Gate;
use discreet::mechanisms::{Bound, Keys, Laplace};
use discreet::time::Time;

use crate::kit::children::{end, hosts, process};
use crate::kit::size;
use crate::scene::{Random, Row, Scratch, Script, Visit, cast, pure, span, write_down};

const HORIZON: Time = 120;
const LATE: Time = 5;
const LISTED: [u32; 4] = [0, 1, 2, 77];
/// A contribution bound that leaves nothing out of a window: see [`History::new`].
const WIDE: Bound = Bound::keys(2).per_key(2);
const TIGHT: Bound = Bound::keys(1);
/// One person changes a window by 4 at most: noise of scale 4 / 500, which is not zero with probability 2
/// exp(-125).
const COST: f64 = 500.0;

/// The history of visits, in the order in which the source gives it: all visits of a phase, and the time that
/// is complete then. Workers share a phase in any way, so that the set of late visits is the same for any
/// number of them.
struct History {
    phases: Vec<(Vec<Visit>, Time)>,
    schedule: Schedule,
}

impl History {
    /// A person comes once in every 10, and so twice in every window; some visits come twice, some late, and
    /// some belong to no window. Values are -1, 0 and 1.
    fn new(seed: u64) -> History {
        let mut random = Random::new(seed);
        let schedule = match seed % 2 {
            0 => Schedule::tumbling(span(20), 0, Some(HORIZON)),
            _ => Schedule::sliding(span(20), span(10), 0, Some(HORIZON)),
        };
        let mut visits = Vec::new();
        for person in 0..60 {
            for id in 0..13 {
                let time = 10 * (id as Time - 1) + random.below(10) as Time;
                let key = random.pick(&[0, 1, 2, 5]);
                visits.push((person, key, random.below(3) as i64 - 1, time, id));
            }
            let beyond = random.pick(&[i64::MIN, i64::MAX, -1, HORIZON, 253_370_764_800_000_000]);
            visits.push((person, 1, 1, beyond, 13));
        }
        let duplicates: Vec<Visit> = visits.iter().copied().filter(|_| random.below(4) == 0).collect();
        visits.extend(duplicates);
        let mut phases: Vec<(Vec<Visit>, Time)> =
            (1..=13).map(|phase| (Vec::new(), phase * 10 + random.below(8) as Time)).collect();
        for visit in visits {
            // In the phase of its time, or in another one.
            let due = (visit.3.clamp(0, HORIZON) / 10) as usize;
            let phase = if random.below(6) == 0 { random.below(13) } else { due };
            phases[phase].0.push(visit);
        }
        phases.iter_mut().for_each(|(visits, _)| random.shuffle(visits));
        History { phases, schedule: schedule.unwrap() }
    }

    /// One worker's part, in uneven batches.
    fn part(&self, worker: usize, workers: usize) -> Script {
        let mut random = Random::new(worker as u64);
        let mut steps = Vec::new();
        for (visits, complete) in &self.phases {
            let own: Vec<Visit> = visits.iter().copied().skip(worker).step_by(workers).collect();
            let mut rest = &own[..];
            while !rest.is_empty() {
                let (batch, after) = rest.split_at((1 + random.below(40)).min(rest.len()));
                steps.push((batch.to_vec(), Pulled::More));
                rest = after;
            }
            steps.push((Vec::new(), Pulled::Complete(*complete)));
        }
        Script::of(steps)
    }

    /// The reference: visits, people and values by window and listed key, without contribution bounding.
    fn tallies(&self) -> BTreeMap<(&'static str, Time), Vec<(u64, i64)>> {
        let mut tallies = BTreeMap::new();
        for window in (0..).map_while(|number| self.schedule.window(number)) {
            let mut kept: BTreeSet<&Visit> = BTreeSet::new();
            let mut declared = Time::MIN;
            for (visits, complete) in &self.phases {
                let in_time = declared.saturating_sub(LATE) < window.end();
                let inside = |visit: &&Visit| (window.start()..window.end()).contains(&visit.3);
                kept.extend(visits.iter().filter(inside).filter(|_| in_time));
                declared = *complete;
            }
            let printed = |tally: &dyn Fn(Vec<&Visit>) -> i64| {
                let with = |key: &u32| kept.iter().copied().filter(|visit| visit.1 == *key).collect();
                LISTED.iter().map(|key| (u64::from(*key), tally(with(key)))).collect()
            };
            let people = |visits: Vec<&Visit>| {
                visits.iter().map(|visit| visit.0).collect::<BTreeSet<_>>().len() as i64
            };
            tallies.insert(("visits", window.start()), printed(&|visits| visits.len() as i64));
            tallies.insert(("people", window.start()), printed(&people));
            tallies.insert(("values", window.start()), printed(&|visits| visits.iter().map(|v| v.2).sum()));
        }
        tallies
    }
}

fn job(
    config: Config,
    gate: Gate,
    seed: u64,
    bound: Bound,
    directory: PathBuf,
) -> Result<Finished, RunError> {
    let history = History::new(seed);
    execute(config, move |worker, feeds| {
        let part = history.part(worker.index(), worker.peers());
        worker.dataflow(|scope| {
            let visits = feeds
                .stream(scope, part)
                .protect(|visit| visit.0)
                .identified_by(|visit| visit.4)
                .scheduled(history.schedule.clone(), |visit| visit.3)
                .late(span(LATE))
                .bound(bound);
            let noise = || Laplace::epsilon(COST);
            let printed = [
                visits.clone().count_by(|v| v.1, Keys::public(LISTED)).release(&gate, "visits", noise()),
                visits.clone().people_by(|v| v.1, Keys::public(LISTED)).release(&gate, "people", noise()),
                visits.sum_by(|v| v.1, Keys::public(LISTED), |v| v.2, -2..=2).release(
                    &gate,
                    "values",
                    noise(),
                ),
            ];
            printed.into_iter().for_each(|printed| write_down(printed.stream(), &directory));
        });
        Ok(())
    })
}

/// The detail is `seed workers wide`, or another word for a narrow bound.
pub(crate) fn child(detail: &str, directory: PathBuf) -> Result<Finished, RunError> {
    let [seed, workers, bound] = detail.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let (config, gate) = cast(&directory, workers.parse().unwrap());
    job(config, gate, seed.parse().unwrap(), if bound == "wide" { WIDE } else { TIGHT }, directory)
}

/// The rows as they are in the ledger and have left, in order of name and window.
fn printed(scratch: &Scratch) -> Vec<Row> {
    let mut rows = scratch.rows();
    rows.sort_by(|a, b| (&a.name, a.window).cmp(&(&b.name, b.window)));
    let lines = scratch.lines();
    let left: BTreeSet<&str> = lines.iter().map(String::as_str).collect();
    assert!(rows.iter().flat_map(|row| row.text.lines()).all(|line| left.contains(line)));
    assert_eq!(lines.len(), rows.len() * (LISTED.len() + 1), "a line for each key, and one that closes");
    rows
}

fn alone(seed: u64, workers: usize, bound: Bound, like: Option<&Scratch>) -> Scratch {
    let scratch = match like {
        Some(other) => Scratch::like("alone", &pure(), other),
        None => Scratch::new("alone", &pure()),
    };
    let (config, gate) = (Config::threads(workers).unwrap(), Gate::open(scratch.ledger(), "web").unwrap());
    let finished = job(config, gate, seed, bound, scratch.0.to_path_buf()).unwrap();
    assert_eq!(finished.exit_code(), 0);
    scratch
}

/// Runs two processes with this number of workers each.
fn together(seed: u64, workers: usize, bound: &str, scratch: &Scratch) {
    let (hosts, task) = (hosts(), format!("tallies {seed} {workers} {bound}"));
    let both = [0, 1].map(|index| process(&task, &scratch.0, &hosts, index).spawn().unwrap());
    for (status, said) in both.map(end) {
        assert_eq!(status.code(), Some(0), "seed {seed}: {said}");
    }
}

fn compare(seed: u64, scratch: &Scratch) {
    let expected = History::new(seed).tallies();
    let rows = printed(scratch);
    assert!(rows.iter().all(|row| row.status == "sealed"));
    let printed: BTreeMap<_, _> =
        rows.iter().map(|row| ((row.name.as_str(), row.window.0), row.values())).collect();
    assert_eq!(printed.len(), rows.len(), "seed {seed}: a window twice");
    assert_eq!(printed, expected, "seed {seed}");
}

// Refutes a record that is lost or counted twice on its way between processes, a duplicate or a late record
// that counts, a window that is missing or wrong, and released values with other noise than requested.
#[test]
fn two_processes_print_what_happened() {
    for seed in 0..size(4, 100) as u64 {
        let workers = 1 + seed as usize / 2 % 2;
        let scratch = Scratch::new("together", &pure());
        together(seed, workers, "wide", &scratch);
        compare(seed, &scratch);
    }
}

// Refutes a contribution selection that depends on the worker, on batches, order or duplicates.
#[test]
fn releases_do_not_depend_on_the_number_of_workers() {
    for seed in [4, 5] {
        let first = alone(seed, 1, TIGHT, None);
        let expected = printed(&first);
        assert_ne!(
            expected.iter().map(Row::values).collect::<Vec<_>>(),
            printed(&alone(seed, 1, WIDE, None)).iter().map(Row::values).collect::<Vec<_>>(),
            "nothing was left out"
        );
        for workers in [2, 4] {
            assert_eq!(printed(&alone(seed, workers, TIGHT, Some(&first))), expected, "{workers} workers");
        }
        for workers in [1, 2] {
            let scratch = Scratch::like("together", &pure(), &first);
            together(seed, workers, "tight", &scratch);
            assert_eq!(printed(&scratch), expected, "two processes of {workers}");
        }
    }
}
