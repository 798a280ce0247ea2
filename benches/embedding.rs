//! The cost of embedding: a pipeline inside a program's own timely beside the driver, released lines read as typed cells,
//! the budget as a stream, and collections that a restart reads from the ledger.
//!
//! Each figure stands beside its floor and its peer of the same run, and is the best of five. What limits them: pushed
//! records are copied once more, into the batch of a turn; a cell is a line of JSON, whose fields are all looked at; a
//! subscriber reads the accounts after each commit; a collection reads each row of the ledger and its cells.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use discreet::dataflow::Attachment;
use discreet::prelude::*;

const ROUNDS: usize = 5;
const RECORDS: u64 = 1_000_000;
const KEYS: u32 = 100;
const MINUTE: Time = 60_000_000;

type Record = (u64, u32, Time);

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-embedding-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let measured = hosts(&directory)
        .and_then(|()| cells(&directory))
        .and_then(|()| subscribers(&directory))
        .and_then(|()| collections(&directory));
    std::fs::remove_dir_all(&directory)?;
    measured
}

/// Returns the shortest time of a work, each time with a ledger of its own.
fn best(
    directory: &Path,
    mut work: impl FnMut(PathBuf) -> Result<Duration, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for round in 0..ROUNDS {
        let ledger = directory.join(format!("{round}.ledger"));
        for file in std::fs::read_dir(directory)? {
            std::fs::remove_file(file?.path())?;
        }
        Ledger::create(&ledger)?.register(&AccountSpec::lifetime("visits", Budget::zcdp(500.0)?)?)?;
        best = best.min(work(ledger)?);
    }
    Ok(best)
}

fn records(part: usize, parts: usize) -> impl Iterator<Item = Record> + Clone {
    let record =
        |number: u64| (number / 10, (number % u64::from(KEYS)) as u32, number as Time % (10 * MINUTE));
    (0..RECORDS).skip(part).step_by(parts).map(record)
}

fn counted<'scope>(visits: Fed<'scope, Record>, gate: &Gate) -> Releases<'scope, u32, i128> {
    visits
        .protect(|visit| visit.0)
        .tumbling(minutes(10), |visit| visit.2)
        .between(0, 10 * MINUTE)
        .bound(Bound::keys(10))
        .count_by(|visit| visit.1, Keys::public(0..KEYS))
        .release(gate, "visits", Gaussian::rho(0.01))
}

/// Compares one pipeline under the driver and inside a program, on two workers.
fn hosts(directory: &Path) -> Result<(), Box<dyn Error>> {
    let floor = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let mut counts: HashMap<u32, u64> = HashMap::new();
        records(0, 1).for_each(|(_, key, _)| *counts.entry(key).or_default() += 1);
        assert_eq!(std::hint::black_box(counts).len(), KEYS as usize);
        start.elapsed()
    });
    let floor = floor.min().unwrap_or_default();
    let driver = best(directory, |ledger| {
        let gate = Gate::open(ledger, "web")?;
        let start = Instant::now();
        discreet::execute(Config::threads(2)?, move |worker, feeds| {
            let own = All::of(records(worker.index(), worker.peers()));
            worker.dataflow(|scope| counted(feeds.stream(scope, own), &gate).deliver(|_| Ok(())));
            Ok(())
        })?;
        Ok(start.elapsed())
    })?;
    let host = |is_pushed: bool| {
        best(directory, move |ledger| {
            let gate = Gate::open(ledger, "web")?;
            let (attachment, start) = (Attachment::new(), Instant::now());
            let inside = attachment.clone();
            let workers = timely::execute(timely::Config::process(2), move |worker| {
                let mut attached = inside.attach(worker)?;
                let own = records(worker.index(), worker.peers());
                if !is_pushed {
                    worker.dataflow(|scope| {
                        counted(attached.feeds().stream(scope, All::of(own)), &gate).deliver(|_| Ok(()));
                    });
                    return attached.finish();
                }
                let mut input = worker.dataflow(|scope| {
                    let (input, visits) = attached.feeds().input(scope);
                    counted(visits, &gate).deliver(|_| Ok(()));
                    input
                });
                for record in own {
                    input.send(record);
                    while input.waiting() > 10_000 {
                        attached.turn(Duration::from_millis(1))?;
                    }
                }
                input.finish();
                attached.finish()
            })?;
            workers.join().into_iter().try_for_each(|worker| worker.map(drop))?;
            assert_eq!(attachment.finished()?.released(), 1);
            Ok(start.elapsed())
        })
    };
    println!("a count by key of a million records, on two workers, ns a record:");
    let line = |name: &str, time: Duration| {
        let (each, ratio) = (time.as_nanos() as u64 / RECORDS, time.as_secs_f64() / driver.as_secs_f64());
        println!("  {name:<44} {each:>6}   {ratio:.2} of the driver");
    };
    line("a hash map on one thread, unprotected (floor)", floor);
    line("the driver", driver);
    line("a program, with a source", host(false)?);
    line("a program that pushes", host(true)?);
    Ok(())
}

/// Reads the cells of one release of many keys.
fn cells(directory: &Path) -> Result<(), Box<dyn Error>> {
    println!(
        "cells of a released window, ns a cell: typed; serde_json's Value (peer); the ends of lines (floor)"
    );
    for keys in [10_u32, 1_000, 100_000] {
        let kept: Arc<Mutex<Option<String>>> = Arc::default();
        let times: Arc<Mutex<[Duration; 3]>> = Arc::new(Mutex::new([Duration::MAX; 3]));
        let (keeping, timing) = (Arc::clone(&kept), Arc::clone(&times));
        best(directory, move |ledger| {
            let gate = Gate::open(ledger, "web")?;
            let (keeping, timing) = (Arc::clone(&keeping), Arc::clone(&timing));
            discreet::execute(Config::threads(1)?, move |worker, feeds| {
                let (keeping, timing) = (Arc::clone(&keeping), Arc::clone(&timing));
                worker.dataflow(|scope| {
                    feeds
                        .stream(scope, All::of([(1_u64, 0_u32, 0)]))
                        .protect(|visit: &Record| visit.0)
                        .tumbling(minutes(10), |visit| visit.2)
                        .between(0, 10 * MINUTE)
                        .bound(Bound::keys(1))
                        .count_by(|visit| visit.1, Keys::public(0..keys))
                        .release(&gate, "visits", Gaussian::rho(0.01))
                        .deliver(move |release| {
                            let text = release.line();
                            let typed = timed(|| release.cells().map_or(0, |cells| cells.len()));
                            let peer = timed(|| {
                                let read = |line| serde_json::from_str::<serde_json::Value>(line).is_ok();
                                text.lines().filter(|line| read(line)).count()
                            });
                            let floor = timed(|| text.lines().count());
                            let mut best = timing.lock().unwrap_or_else(|broken| broken.into_inner());
                            for (best, time) in best.iter_mut().zip([typed, peer, floor]) {
                                *best = time.min(*best);
                            }
                            *keeping.lock().unwrap_or_else(|broken| broken.into_inner()) =
                                Some(text.to_owned());
                            Ok(())
                        });
                });
                Ok(())
            })?;
            Ok(Duration::ZERO)
        })?;
        let best = times.lock().unwrap_or_else(|broken| broken.into_inner());
        let [typed, peer, floor] = best.map(|time| time.as_nanos() as f64 / f64::from(keys));
        println!(
            "  {keys:>7} cells: {typed:>6.0}; {peer:>6.0}; {floor:>4.0}   {:.2} of the peer",
            typed / peer
        );
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    assert!(std::hint::black_box(work()) > 0);
    start.elapsed()
}

/// The windows of a run without records.
const WINDOWS: i64 = 20_000;

/// The additions of a run to its releases.
type Make = fn(&mut Feeds, &Gate, Releases<'_, u32, i128>) -> Result<(), RunError>;

/// Releases empty windows, with what `make` adds to them; returns the time.
fn windows(ledger: PathBuf, make: Make) -> Result<Duration, Box<dyn Error>> {
    let gate = Gate::open(ledger, "web")?;
    let start = Instant::now();
    discreet::execute(Config::threads(1)?, move |worker, feeds| {
        worker.dataflow(|scope| {
            let released = feeds
                .stream(scope, All::of(Vec::<Record>::new()))
                .protect(|visit| visit.0)
                .tumbling(minutes(1), |visit| visit.2)
                .between(0, WINDOWS * MINUTE)
                .bound(Bound::keys(1))
                .count_by(|visit| visit.1, Keys::public(0..10_u32))
                .release(&gate, "visits", Gaussian::rho(1e-5));
            make(feeds, &gate, released)
        })
    })?;
    Ok(start.elapsed())
}

/// Compares a run whose budget nobody receives with one in which a stream has it.
fn subscribers(directory: &Path) -> Result<(), Box<dyn Error>> {
    let alone = best(directory, |ledger| {
        windows(ledger, |_, _, released| {
            released.deliver(|_| Ok(()));
            Ok(())
        })
    })?;
    let with = best(directory, |ledger| {
        windows(ledger, |feeds, gate, released| {
            let scope = released.clone().stream().scope();
            feeds.budget(scope, gate, seconds(1))?;
            released.deliver(|_| Ok(()));
            Ok(())
        })
    })?;
    let each = |time: Duration| time.as_micros() as f64 / WINDOWS as f64;
    println!(
        "a window of ten keys without records, us: {:.1}; with the budget as a stream {:.1}",
        each(alone),
        each(with)
    );
    Ok(())
}

/// Compares second runs of a job, which deliver the former windows again, with and without collections.
fn collections(directory: &Path) -> Result<(), Box<dyn Error>> {
    println!("a second run over {WINDOWS} sealed windows of ten keys, s:");
    let second = |make| {
        best(directory, move |ledger| {
            windows(ledger.clone(), |_, _, released| {
                released.deliver(|_| Ok(()));
                Ok(())
            })?;
            windows(ledger, make)
        })
    };
    let floor = second(|_, _, released| {
        released.deliver(|_| Ok(()));
        Ok(())
    })?;
    let latest = second(|_, _, released| {
        released.clone().latest();
        released.deliver(|_| Ok(()));
        Ok(())
    })?;
    let history = second(|_, _, released| {
        released.clone().history().consolidate();
        released.deliver(|_| Ok(()));
        Ok(())
    })?;
    let [floor, latest, history] = [floor, latest, history].map(|time| time.as_secs_f64());
    println!("  without (floor) {floor:.2}; latest {latest:.2}; history, arranged {history:.2}");
    Ok(())
}
