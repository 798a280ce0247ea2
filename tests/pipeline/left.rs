//! Incomplete windows are not released: a pipeline whose builder gives up, whose source is lost, whose
//! sibling panics, whose peer is killed, whose handle is dropped or never used.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use discreet::dataflow::{
    All, Deliver, Fed, Finished, Pulled, Release, RunError, Source, SourceError, StreamVec, execute,
};
use discreet::gate::Gate;
use discreet::mechanisms::{Bound, Keys, Laplace};
use discreet::time::Time;
use timely::dataflow::operators::{Inspect, ToStream};

use crate::kit::children::{child as alone, end, hosts, process};
use crate::scene::{Scratch, Visit, cast, pure, span, write_down};

/// The time before which all workers declare their input complete, of six windows of ten; faults happen once
/// the windows up to it are released.
const COMPLETE: Time = 30;
const WINDOWS: Time = 6;
/// The visits of each worker, in every window.
const VISITS: u64 = 10;

/// The visits of one of the two workers.
fn visits(worker: usize) -> impl Iterator<Item = Visit> + Clone {
    (0..60).map(move |time| (100 * worker as u64 + time, 0, 0, time as Time, time))
}

/// The source of the second worker: yields everything, declares what is complete, and acts out its task once
/// that was released.
struct Acting {
    said: bool,
    out: PathBuf,
    then: fn() -> Result<Pulled, SourceError>,
}

impl Source for Acting {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        if !std::mem::replace(&mut self.said, true) {
            batch.extend(visits(1));
            return Ok(Pulled::Complete(COMPLETE));
        }
        if printed(&self.out) < 3 { Ok(Pulled::Idle) } else { (self.then)() }
    }
}

/// The number of windows that have left.
fn printed(out: &Path) -> usize {
    let out = fs::read_to_string(out).unwrap_or_default();
    out.lines().filter(|line| line.contains("\"closed\"")).count()
}

fn released<'scope>(visits: Fed<'scope, Visit>, gate: &Gate) -> StreamVec<'scope, Time, Release<u32, i128>> {
    visits
        .protect(|visit| visit.0)
        .tumbling(span(10), |visit| visit.3)
        .between(0, 10 * WINDOWS)
        .bound(Bound::keys(1))
        .count_by(|visit| visit.1, Keys::public([0]))
        .release(gate, "visits", Laplace::epsilon(80.0))
        .stream()
}

pub(crate) fn child(task: String, directory: PathBuf) -> Result<Finished, RunError> {
    let threads = if std::env::var_os("HOSTS").is_some() { 1 } else { 2 };
    let (config, gate) = cast(&directory, threads);
    execute(config, move |worker, feeds| {
        let (first, last) = (worker.index() == 0, worker.index() + 1 == worker.peers());
        if task.starts_with("word") {
            let (word, external) = feeds.external(2)?;
            if first {
                // A second declaration of the same time changes nothing.
                word.complete(0, 60)?;
                word.complete(0, 60)?;
                if task != "word missing" {
                    word.complete(1, COMPLETE)?;
                }
            }
            // The handle of the first worker, to be dropped by its sink.
            let mut held = None;
            match (task.as_str(), first) {
                ("word dropped", true) => drop(word),
                ("word dropped later", true) => held = Some(word),
                _ => word.finish(),
            }
            let held = RefCell::new(held);
            let own: Vec<Visit> = if first { (0..2).flat_map(visits).collect() } else { Vec::new() };
            worker.dataflow(|scope| {
                let foreign = own.into_iter().to_stream(scope).container::<Vec<_>>();
                let printed = released(external.adopt(foreign), &gate);
                write_down(printed.clone(), &directory);
                printed
                    .inspect(move |release| {
                        if release.window().end() == COMPLETE {
                            held.take();
                        }
                    })
                    .deliver(|_| Ok(()));
            });
            return Ok(());
        }
        worker.dataflow(|scope| {
            if !last {
                return write_down(released(feeds.stream(scope, All::of(visits(0))), &gate), &directory);
            }
            let then: fn() -> Result<Pulled, SourceError> = match task.as_str() {
                "gone" => || Err(SourceError::lost("part 2")),
                "panics" => || panic!("the visit was 47"),
                _ => || Ok(Pulled::Idle),
            };
            let source = Acting { said: false, out: directory.join("out"), then };
            write_down(released(feeds.stream(scope, source), &gate), &directory);
        });
        if last && task == "returns early" {
            Err::<(), _>(Box::<dyn std::error::Error + Send + Sync>::from("a file is missing"))?;
        }
        Ok(())
    })
}

/// Checks that every window with a row has all visits of both workers, or none.
fn whole(scratch: &Scratch, windows: Time, what: &str) {
    let rows = scratch.rows();
    let found: Vec<(Time, Time)> = rows.iter().map(|row| row.window).collect();
    let expected: Vec<(Time, Time)> = (0..windows).map(|window| (10 * window, 10 * window + 10)).collect();
    assert_eq!(found, expected, "{what}");
    assert!(rows.iter().all(|row| row.values() == [(0, 2 * VISITS as i64)]), "{what}: {rows:?}");
}

// Refutes frontiers, ends and errors as evidence of completeness, in one process.
#[test]
fn an_interrupted_sentence_leaves_nothing_partial() {
    for (task, code, windows) in [
        ("returns early", 70, 0),
        ("gone", 69, 3),
        ("panics", 70, 3),
        ("word missing", 70, 0),
        ("word dropped", 70, 0),
        ("word dropped later", 70, 3),
    ] {
        let scratch = Scratch::new("left", &pure());
        let (status, said) = end(alone(&format!("left {task}"), &scratch.0).spawn().unwrap());
        assert_eq!(status.code(), Some(code), "{task}: {said}");
        assert!(!said.contains("47"), "{task}: a panic quotes a record: {said}");
        whole(&scratch, windows, task);
    }
}

// The same if the lost source, and the builder that gives up, are in another process.
#[test]
fn releases_of_another_process_are_not_delivered() {
    for (task, code, windows) in [("returns early", 70, 0), ("gone", 69, 3), ("panics", 70, 3)] {
        let (scratch, hosts) = (Scratch::new("left", &pure()), hosts());
        let both = [0, 1].map(|index| process(&format!("left {task}"), &scratch.0, &hosts, index).spawn());
        let [healthy, failing] = both.map(|child| end(child.unwrap()));
        assert_eq!(failing.0.code(), Some(code), "{task}: {}", failing.1);
        assert_eq!(healthy.0.code(), Some(70), "{task}: {}", healthy.1);
        whole(&scratch, windows, task);
    }
}

#[test]
fn a_killed_peer_ends_the_other_and_completes_nothing() {
    for killed in [0, 1] {
        let (scratch, hosts) = (Scratch::new("killed", &pure()), hosts());
        let both = [0, 1].map(|index| process("left waits", &scratch.0, &hosts, index).spawn().unwrap());
        let start = Instant::now();
        while printed(&scratch.0.join("out")) < 3 && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let [first, second] = both;
        let (mut victim, other) = if killed == 0 { (first, second) } else { (second, first) };
        victim.kill().unwrap();
        let (status, said) = end(other);
        assert_eq!(status.code(), Some(70), "{said}");
        end(victim);
        whole(&scratch, 3, "killed");
    }
}
