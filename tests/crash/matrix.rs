//! Every point with every fault, at varied moments; and a second crash during the recovery from the first.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::oracle::{Ends, Past, judge};
use crate::scene::{Life, Scene, Stage, was_killed};
use crate::{Chance, in_parallel, size};

/// The expectation at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The process boots, over the files of an earlier one.
    Boot,
    /// The process holds the ledger's write lock: a successor waits for it.
    Locked,
    Free,
}

use Place::{Boot, Free, Locked};

const POINTS: [(&str, Place); 31] = [
    ("boot-before-fence", Boot),
    ("after-fence", Boot),
    ("mid-chain-verify", Boot),
    ("after-anchor", Boot),
    ("republish-mid", Boot),
    ("first-record", Free),
    ("mid-window", Free),
    ("complete-received", Free),
    ("before-lookup", Free),
    ("after-seed", Free),
    ("after-draw", Free),
    ("after-encode", Free),
    ("after-begin", Locked),
    ("after-fence-check", Locked),
    ("after-insert", Locked),
    ("after-spent", Locked),
    ("after-states-deleted", Locked),
    ("after-mech-state", Locked),
    ("before-commit", Locked),
    ("after-commit-before-ack", Free),
    ("ack-lost", Free),
    ("before-put", Free),
    ("mid-put", Free),
    ("after-put-before-mark", Free),
    ("after-mark", Free),
    ("wal-checkpoint", Locked),
    ("during-amendment", Locked),
    ("during-tombstone", Locked),
    ("shutdown", Free),
    ("before-checkpoint", Free),
    ("after-checkpoint", Free),
];

const ACTS: [&str; 3] = ["abort", "error", "stop"];
const DELIVERIES: [&str; 2] = ["least", "most"];
const STARTS: [&str; 2] = ["resume", "replay"];

/// The point at which a process leaves rows without a known delivery.
const PRELUDE: &str = "after-commit-before-ack:3:abort";

/// The number of faults after which a transaction that was refused three times loses its line; the fourth
/// time not even the loss can be written.
const BUSY: usize = 4;

#[derive(Clone, Debug)]
struct Run {
    point: &'static str,
    place: Place,
    act: &'static str,
    delivery: &'static str,
    start: &'static str,
    hit: usize,
    chance: [usize; 3],
    /// A second point, at which the next life is killed.
    then: Option<&'static str>,
}

/// The outcomes of the runs of one point.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: usize,
    fired: [usize; 3],
    ends: Ends,
}

pub(crate) fn run() {
    let stage = Stage::new("crash");
    let hits = count_hits(&stage);
    let only = std::env::var("DISCREET_CRASH_POINT").ok();
    let mut runs = Vec::new();
    for (index, (point, place)) in POINTS.into_iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != point) {
            continue;
        }
        for (kind, act) in ACTS.into_iter().enumerate() {
            for round in 0..size(3, 200) {
                let mut chance = Chance::of(&[index, kind, round]);
                let (delivery, start) = (DELIVERIES[(round + index) % 2], STARTS[(round / 2 + index) % 2]);
                let most = hits[&(delivery, place == Boot)].get(point).copied().unwrap_or(1);
                let hit = 1 + chance.below(most);
                let chance = [index, kind, round];
                runs.push(Run { point, place, act, delivery, start, hit, chance, then: None });
            }
        }
        // A crash of any kind, and another while the next life boots.
        if place == Boot {
            for round in 0..size(3, 200) {
                let mut chance = Chance::of(&[index, 3, round]);
                let (first, place) = POINTS[5 + chance.below(20)];
                let (delivery, start) = (DELIVERIES[round % 2], STARTS[round / 2 % 2]);
                // Late enough that the boot finds rows.
                let most = hits[&(delivery, false)].get(first).copied().unwrap_or(1);
                let hit = most / 2 + 1 + chance.below(most.div_ceil(2));
                let hit = hit.min(most);
                let (then, chance) = (Some(point), [index, 3, round]);
                runs.push(Run { point: first, place, act: "abort", delivery, start, hit, chance, then });
            }
        }
    }
    let results = in_parallel(runs, |run| {
        let outcome = tried(&stage, &run);
        (run, outcome)
    });
    report(&results);
}

/// The number of times that a life without faults reaches each point, after nothing and after a crash.
fn count_hits(stage: &Stage) -> BTreeMap<(&'static str, bool), BTreeMap<String, usize>> {
    let mut all = BTreeMap::new();
    for delivery in DELIVERIES {
        for after_a_crash in [false, true] {
            let scene = stage.scene(delivery, "replay");
            if after_a_crash {
                scene.start(Some(PRELUDE)).end().unwrap();
            }
            let mut life = scene.start(None);
            assert!(life.end().unwrap().success(), "without faults: {}", life.complaint());
            let past = Past { bad_ends: usize::from(after_a_crash), overlapped: false };
            judge(&scene, past).unwrap_or_else(|violation| panic!("without faults: {violation}"));
            let said = life.said();
            let hits = said.lines().filter_map(|line| {
                let (point, hits) = line.strip_prefix("hits ")?.split_once(' ')?;
                Some((point.to_owned(), hits.parse().ok()?))
            });
            all.insert((delivery, after_a_crash), hits.collect());
            scene.remove();
        }
    }
    all
}

/// Runs it, and again at earlier moments if a point was not reached as often as in the trial: the number of
/// rows sealed at once depends on the load of the machine. The latest moment comes first, since a boot that
/// is to be killed has to find rows.
fn tried(stage: &Stage, run: &Run) -> Result<Ends, String> {
    let mut run = run.clone();
    loop {
        let scene = stage.scene(run.delivery, run.start);
        match one(&scene, &run)
            .map_err(|violation| format!("{violation}\n  in {}", scene.directory().display()))?
        {
            Some(ends) => {
                scene.remove();
                return Ok(ends);
            }
            None if run.hit == 1 => return Err("the point was never reached".to_owned()),
            None => run.hit /= 2,
        }
    }
}

/// One run; `None` if its point was not reached.
fn one(scene: &Scene, run: &Run) -> Result<Option<Ends>, String> {
    let mut past = Past::default();
    let mut chance = Chance::of(&run.chance);
    if run.place == Boot {
        let prelude = scene.start(Some(PRELUDE)).end()?;
        if !was_killed(prelude) {
            return Err("the life before was not killed".to_owned());
        }
        past.bad_ends += 1;
    }
    let many = if run.act == "error" && run.point == "after-begin" { run.chance[2] % BUSY } else { 0 };
    let mut life = scene.start(Some(&format!("{}:{}-{}:{}", run.point, run.hit, run.hit + many, run.act)));
    past.bad_ends += 1;
    if run.act == "stop" {
        if !life.stopped()? {
            return Ok(None);
        }
        past.overlapped = true;
        past.bad_ends += 2;
        succeed(scene, run, &mut chance, &mut life)?;
    } else {
        let status = life.end()?;
        if !life.fired() {
            return Ok(None);
        }
        if (run.act == "abort") != was_killed(status) {
            return Err(format!("ended with {status}: {}", life.complaint()));
        }
    }
    if let Some(then) = run.then {
        let mut life = scene.start(Some(&format!("{then}:1:abort")));
        life.end()?;
        // If everything was delivered before the first crash, nothing is republished.
        if !life.fired() && then != "republish-mid" {
            return Ok(None);
        }
        past.bad_ends += 1;
    }
    scene.recover()?;
    judge(scene, past).map(Some)
}

/// A successor takes over from a process that is only suspended, and that resumes afterwards.
fn succeed(scene: &Scene, run: &Run, chance: &mut Chance, zombie: &mut Life) -> Result<(), String> {
    // The lock file keeps a second process out while it exists.
    if run.point != "mid-chain-verify" && chance.below(3) == 0 {
        let mut early = scene.start(None);
        // While the last row is delivered, and no acknowledgement is awaited, the gate may have ended and
        // released its claim.
        if early.end()?.success() && (run.delivery == "least" || scene.drew(&early)) {
            return Err("two processes ran one job".to_owned());
        }
    }
    scene.break_lock();
    // A successor that dies on its way leaves windows that the zombie could write.
    let dies = format!("before-put:{}:abort", 1 + chance.below(8));
    let dies = (chance.below(2) == 0).then_some(dies);
    let mut successor = scene.start(dies.as_deref());
    // A successor waits for the write lock, which the zombie holds at some points, and may hold on another
    // thread at any point.
    let patience = if run.place == Locked { 15 } else { 500 };
    match successor.end_within(Duration::from_millis(patience))? {
        Some(status) if dies.is_none() && !status.success() => {
            return Err(format!("the successor ended with {status}: {}", successor.complaint()));
        }
        Some(_) => zombie.wake(),
        None => {
            zombie.wake();
            successor.end()?;
        }
    }
    zombie.end()?;
    Ok(())
}

fn report(results: &[(Run, Result<Ends, String>)]) {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for (run, outcome) in results {
        let tally = tallies.entry(run.then.unwrap_or(run.point)).or_default();
        tally.runs += 1;
        let Ok(ends) = outcome else { continue };
        tally.fired[ACTS.iter().position(|act| *act == run.act).unwrap()] += 1;
        tally.ends.add(*ends);
    }
    println!(
        "{:<24} {:>5} {:>7} {:>7} {:>7}   windows: sealed refused skipped lost; repeated unheard",
        "point", "runs", "killed", "failed", "zombies"
    );
    for (point, _) in POINTS {
        let Some(Tally { runs, fired, ends }) = tallies.get(point) else { continue };
        println!(
            "{point:<24} {runs:>5} {:>7} {:>7} {:>7}            {:>6} {:>7} {:>7} {:>4} {:>9} {:>7}",
            fired[0],
            fired[1],
            fired[2],
            ends.sealed,
            ends.refused,
            ends.skipped,
            ends.lost,
            ends.repeated,
            ends.unheard
        );
    }
    let violations: Vec<String> = results
        .iter()
        .filter_map(|(run, outcome)| Some(format!("{run:?}\n  {}", outcome.as_ref().err()?)))
        .collect();
    violations.iter().take(20).for_each(|violation| println!("{violation}"));
    println!(
        "crash matrix: {} points, {} runs, {} violations",
        tallies.len(),
        results.len(),
        violations.len()
    );
    assert!(violations.is_empty());
}
