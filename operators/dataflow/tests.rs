//! Whole dataflows, on one to four workers, against sequential references. The gate is a stand-in that answers late and
//! out of order; the real one is in `tests/dataflow.rs`.
//!
//! Nothing is asserted on a worker: a panic there would end this process, as it should.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use proptest::prelude::*;
use timely::dataflow::operators::Inspect;

use super::desk::Desk;
use super::release::{Waker, release};
use super::*;
use crate::accounting::{Amount, Cost, Interval, Neighbours};
use crate::gate::Sealable;
use crate::ledger::{Charge, Digest, Fate, Name, Row};
use crate::noise::Noise;
use crate::time::{Span, Time};

mod external;
pub(super) mod stand_in;

use stand_in::{Delivered, StandIn, row};

/// How much there is, told without noise.
pub(super) struct Counts;

impl Statistic for Counts {
    type Part = i64;
    type Tally = i64;

    fn tally(&self, _: Interval) -> i64 {
        0
    }

    fn absorb(&self, tally: &mut i64, part: i64) {
        *tally += part;
    }

    fn charge(&self, _: Interval) -> Charge {
        Charge::Cost(Cost::new(Neighbours::PERSON, Amount::zcdp(1.0 / 1024.0).unwrap()))
    }

    fn seal(&self, window: Interval, tally: i64) -> Box<dyn Sealable> {
        Box::new(move |_: &mut Noise| format!("{}: {tally}", window.start()))
    }
}

pub(super) fn title(name: &str) -> Title {
    let word = |word| Name::new("name", word).unwrap();
    Title { domain: word("visits"), job: word("web"), version: Digest::of(b"1"), name: word(name) }
}

/// Gives what is written down, a step at a time. A record is a moment and how much it counts.
#[derive(Clone, Debug, Default)]
struct Script(VecDeque<(Vec<(Time, i64)>, Pulled)>);

impl Script {
    fn of(steps: impl IntoIterator<Item = (Vec<(Time, i64)>, Pulled)>) -> Script {
        Script(steps.into_iter().collect())
    }
}

impl Source for Script {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, Gone> {
        let Some((records, pulled)) = self.0.pop_front() else { return Ok(Pulled::End) };
        batch.extend(records);
        Ok(pulled)
    }
}

/// What a test hears of a run.
#[derive(Clone, Default)]
struct Ears {
    lines: Arc<Mutex<Vec<String>>>,
    delivered: Delivered,
    standings: Arc<AtomicUsize>,
}

impl Ears {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn delivered(&self) -> Vec<Time> {
        self.delivered.lock().unwrap().clone()
    }

    /// Releases how much there is in each window of the plan, and writes down what comes out.
    fn listen<'scope>(
        &self,
        records: Fed<'scope, (Time, i64)>,
        schedule: &Schedule,
        plan: Plan<Counts>,
        before: Vec<Row>,
        answers: usize,
    ) {
        let windows = schedule.clone();
        let parts =
            records.flat_map(move |(time, count)| windows.holding(time).map(move |window| (window, count)));
        let delivered = Arc::clone(&self.delivered);
        let at_desk = at_desk(&parts, plan, before, answers, delivered);
        let (lines, standings) = (Arc::clone(&self.lines), Arc::clone(&self.standings));
        release(parts, at_desk).deliver(move |release| {
            let standing = release.standing();
            standings.fetch_add(usize::from(standing.spent.within(&standing.cap)), Ordering::SeqCst);
            lines.lock().unwrap().push(release.line().to_owned());
            Ok(())
        });
    }
}

/// A stand-in on worker 0.
fn at_desk<S: Statistic>(
    parts: &Fed<'_, (u64, S::Part)>,
    plan: Plan<S>,
    before: Vec<Row>,
    answers: usize,
    delivered: Delivered,
) -> Option<(Plan<S>, Box<dyn Desk>, Waker)> {
    (parts.stream.scope().index() == 0).then(|| {
        let waker = Waker::default();
        let desk = StandIn::new(waker.wake(), before, answers, delivered);
        (plan, Box::new(desk) as Box<dyn Desk>, waker)
    })
}

/// A run of one script a worker, all of them counted.
fn run(
    scripts: Vec<Script>,
    schedule: Schedule,
    late: Option<i64>,
    config: impl FnOnce(Config) -> Config,
) -> (Result<Finished, Failure>, Ears) {
    let ears = Ears::default();
    let listening = ears.clone();
    let workers = scripts.len();
    let ended = execute(config(Config::threads(workers).unwrap()), move |worker, feeds| {
        let script = scripts[worker.index()].clone();
        let mut plan = Plan::new(title("visits"), schedule.clone(), Counts);
        if let Some(late) = late {
            plan = plan.late(Span::microseconds(late))?;
        }
        worker.dataflow(|scope| {
            // Records change workers on their way, as they will.
            let records = feeds.stream(scope, script).through(|records| {
                use timely::dataflow::operators::Exchange;
                records.exchange(|(time, _)| *time as u64)
            });
            listening.listen(records, &schedule, plan, Vec::new(), usize::MAX);
        });
        Ok(())
    });
    (ended, ears)
}

/// What should come out: each record counts in each of its windows that had not been declared complete by its own source
/// when it was given.
fn counted(scripts: &[Script], schedule: &Schedule, late: i64) -> Vec<String> {
    let mut tallies: Vec<i64> = (0..).map_while(|number| schedule.window(number)).map(|_| 0).collect();
    for script in scripts {
        let mut declared = Time::MIN;
        for (records, pulled) in &script.0 {
            for (time, count) in records {
                for (number, tally) in tallies.iter_mut().enumerate() {
                    let window = schedule.window(number as u64).unwrap();
                    let holds = window.start() <= *time && *time < window.end();
                    *tally += if holds && window.end() + late > declared { *count } else { 0 };
                }
            }
            match pulled {
                Pulled::Complete(time) => declared = *time,
                Pulled::End => break,
                Pulled::More | Pulled::Idle => {}
            }
        }
    }
    let start = |number: usize| schedule.window(number as u64).unwrap().start();
    tallies.iter().enumerate().map(|(number, tally)| format!("{}: {tally}", start(number))).collect()
}

fn record() -> impl Strategy<Value = (Time, i64)> {
    let far = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(253_402_300_799_000_000), -1_000..1_000i64];
    (prop_oneof![9 => -20..120i64, 1 => far], 1..4i64)
}

/// Batches of odd sizes, empty ones among them; declarations that only go forward, and repeat.
fn script() -> impl Strategy<Value = Script> {
    let step = (prop::collection::vec(record(), 0..40), 0..5u8, 0..30i64);
    prop::collection::vec(step, 0..12).prop_map(|steps| {
        let mut declared = -10;
        Script::of(steps.into_iter().map(|(mut records, kind, forward)| {
            // Every third record twice: equal records are different records.
            let again: Vec<_> = records.iter().step_by(3).copied().collect();
            records.extend(again);
            let pulled = match kind {
                0 => Pulled::More,
                1 => Pulled::Idle,
                _ => {
                    declared += if kind == 2 { 0 } else { forward };
                    Pulled::Complete(declared)
                }
            };
            (records, pulled)
        }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn windows_and_tallies_are_those_of_the_reference_for_every_number_of_workers(
        scripts in prop::collection::vec(script(), 4), size in 1..40i64, step in 1..40i64, late in 0..20i64,
    ) {
        let span = |length| Span::microseconds(length);
        let schedule = Schedule::sliding(span(size), span(step.min(size)), 0, Some(100)).unwrap();
        for workers in [1, 2, 4] {
            let scripts = scripts[..workers].to_vec();
            let expected = counted(&scripts, &schedule, late);
            let (ended, ears) = run(scripts, schedule.clone(), (late > 0).then_some(late), |config| config);
            prop_assert_eq!(ears.lines(), expected.clone(), "on {} workers", workers);
            prop_assert_eq!(ended.unwrap().released(), expected.len() as u64);
            prop_assert_eq!(ears.standings.load(Ordering::SeqCst), expected.len());
            prop_assert_eq!(ears.delivered().len(), expected.len());
        }
    }
}

fn tens(until: Option<Time>) -> Schedule {
    Schedule::tumbling(Span::microseconds(10), 0, until).unwrap()
}

#[test]
fn an_empty_window_is_released_like_a_full_one() {
    let scripts = vec![Script::of([(vec![(15, 7)], Pulled::Complete(20))]), Script::default()];
    let (ended, ears) = run(scripts, tens(Some(40)), None, |config| config);
    assert_eq!(ears.lines(), ["0: 0", "10: 7", "20: 0", "30: 0"]);
    assert_eq!((ended.unwrap().exit_code(), ears.delivered()), (0, vec![0, 10, 20, 30]));
}

#[test]
fn a_record_from_the_year_9999_moves_nobody_elses_window() {
    let year_9999 = 253_370_764_800_000_000;
    let far = vec![(year_9999, 1), (year_9999 + 1, 1), (5, 1)];
    let scripts = vec![
        Script::of([
            (far, Pulled::Complete(10)),
            (vec![(15, 1)], Pulled::Complete(20)),
            (vec![], Pulled::Idle),
        ]),
        Script::of([(vec![(5, 1), (16, 1)], Pulled::Complete(20))]),
    ];
    // A day is a window far enough to hold it, and none holds it in the others.
    let (_, ears) = run(scripts, tens(Some(30)), None, |config| config);
    assert_eq!(ears.lines(), ["0: 2", "10: 2", "20: 0"]);
}

#[test]
fn without_a_last_window_only_what_was_declared_is_released() {
    let scripts = vec![
        Script::of([(vec![(5, 1), (25, 1)], Pulled::Complete(21))]),
        Script::of([(vec![(6, 1), (35, 1)], Pulled::Complete(39))]),
    ];
    let (ended, ears) = run(scripts, tens(None), None, |config| config);
    // The first has given all that there is, so the second has the last word; both end in the same breath.
    assert_eq!(
        (ears.lines(), ended.unwrap().released()),
        (vec!["0: 2".into(), "10: 0".into(), "20: 1".into()], 3)
    );
}

#[test]
fn a_source_that_goes_back_ends_the_run_and_completes_nothing_more() {
    let back = Script::of([(vec![(5, 1)], Pulled::Complete(15)), (vec![], Pulled::Complete(14))]);
    let (ended, ears) = run(vec![back, Script::default()], tens(Some(40)), None, |config| config);
    let failure = ended.unwrap_err();
    assert_eq!((failure.kind(), failure.exit_code()), (FailureKind::Abandoned, 70));
    assert!(ears.lines().len() <= 1, "{:?}", ears.lines());
}

/// Gives a little, and then goes.
struct Fails(u8, Gone);

impl Source for Fails {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, Gone> {
        batch.push((5, 1));
        self.0 = self.0.checked_sub(1).ok_or_else(|| self.1.clone())?;
        Ok(Pulled::More)
    }
}

#[test]
fn a_source_that_errs_completes_nothing() {
    for (gone, code) in [(Gone::lost("a.csv"), 69), (Gone::refused("a.csv:7:1"), 65)] {
        let ears = Ears::default();
        let listening = ears.clone();
        let ended = execute(Config::threads(2).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                let plan = Plan::new(title("visits"), tens(Some(40)), Counts);
                let turns = if worker_is_first(scope) { 3 } else { 200 };
                let records = feeds.stream(scope, Fails(turns, gone.clone()));
                listening.listen(records, &tens(Some(40)), plan, Vec::new(), usize::MAX);
            });
            Ok(())
        });
        assert_eq!(ended.unwrap_err().exit_code(), code);
        assert_eq!(ears.lines(), Vec::<String>::new());
    }
}

fn worker_is_first(scope: Scope<'_, Time>) -> bool {
    scope.index() == 0
}

#[test]
fn a_ledger_in_doubt_ends_the_run_and_nothing_more_leaves() {
    let ears = Ears::default();
    let listening = ears.clone();
    let ended = execute(Config::threads(2).unwrap(), move |worker, feeds| {
        worker.dataflow(|scope| {
            let plan = Plan::new(title("visits"), tens(Some(100_000)), Counts);
            let records = feeds.stream(scope, Script::default());
            listening.listen(records, &tens(Some(100_000)), plan, Vec::new(), 2_000);
        });
        Ok(())
    });
    assert_eq!(ended.unwrap_err().exit_code(), 74);
    assert!(ears.lines().len() <= 2_000);
}

#[test]
fn what_a_former_process_did_not_deliver_comes_first_and_once() {
    let of = |name: &str, number| title(name).of(tens(None).window(number).unwrap());
    let before = vec![
        row(of("earlier", 7), Fate::Sealed, "of another version".into()),
        row(of("visits", 1), Fate::Refused, "refused before".into()),
    ];
    let ears = Ears::default();
    let listening = ears.clone();
    let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        worker.dataflow(|scope| {
            let plan = Plan::new(title("visits"), tens(Some(30)), Counts);
            let records = feeds.stream(scope, All::of([(5, 1), (15, 1), (25, 1)]));
            listening.listen(records, &tens(Some(30)), plan, before.clone(), usize::MAX);
        });
        Ok(())
    });
    assert_eq!(ears.lines(), ["of another version", "refused before", "0: 1", "20: 1"]);
    let finished = ended.unwrap();
    assert_eq!((finished.refused(), finished.exit_code()), (1, 75));
}

struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Time {
        self.0.load(Ordering::SeqCst)
    }
}

/// Declares what it is told to.
struct Told(Receiver<Pulled>);

impl Source for Told {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, Gone> {
        batch.push((21, 1));
        Ok(self.0.try_recv().unwrap_or(Pulled::Idle))
    }
}

fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(10), "it never came about");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_window_that_is_not_complete_by_its_deadline_is_skipped_and_never_released_late() {
    let clock = Arc::new(Hands(AtomicI64::new(0)));
    let hands = Arc::clone(&clock);
    let (say, told) = unbounded();
    let ears = Ears::default();
    let listening = ears.clone();
    let running = thread::spawn(move || {
        execute(Config::threads(1).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                let plan = Plan::new(title("visits"), tens(Some(30)), Counts);
                let plan = plan.skipping(Arc::clone(&hands) as Arc<dyn Clock>, Span::microseconds(5))?;
                let records = feeds.stream(scope, Told(told.clone()));
                listening.listen(records, &tens(Some(30)), plan, Vec::new(), usize::MAX);
                Ok(())
            })
        })
        .map_err(|failure| failure.exit_code())
    });
    clock.0.store(14, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(150));
    assert_eq!(ears.lines(), Vec::<String>::new(), "its time has not passed");
    clock.0.store(15, Ordering::SeqCst);
    until(|| ears.lines() == ["skipped"]);
    // Complete now, and too late.
    say.send(Pulled::Complete(10)).unwrap();
    say.send(Pulled::Complete(20)).unwrap();
    until(|| ears.lines() == ["skipped", "10: 0"]);
    clock.0.store(i64::MAX / 4, Ordering::SeqCst);
    until(|| ears.lines() == ["skipped", "10: 0", "skipped"]);
    say.send(Pulled::End).unwrap();
    let finished = running.join().unwrap().unwrap();
    assert_eq!((finished.released(), finished.skipped()), (1, 2));
}

#[test]
fn a_run_that_is_stopped_tells_what_was_complete_and_seals_nothing_else() {
    let stop = Stop::new();
    let (switch, ears) = (stop.clone(), Ears::default());
    let listening = ears.clone();
    let (say, told) = unbounded();
    let running = thread::spawn(move || {
        let config = Config::threads(2).unwrap().stopped_by(&stop);
        execute(config, move |worker, feeds| {
            worker.dataflow(|scope| {
                let plan = Plan::new(title("visits"), tens(Some(100)), Counts);
                let records = if worker_is_first(scope) {
                    feeds.stream(scope, Told(told.clone()))
                } else {
                    feeds.stream(scope, Script::default())
                };
                listening.listen(records, &tens(Some(100)), plan, Vec::new(), usize::MAX);
            });
            Ok(())
        })
        .map_err(|failure| failure.exit_code())
    });
    say.send(Pulled::Complete(25)).unwrap();
    until(|| ears.lines().len() == 2);
    switch.stop();
    let finished = running.join().unwrap().unwrap();
    assert!(finished.is_stopped());
    assert_eq!((finished.released(), ears.delivered()), (2, vec![0, 10]));
}

#[test]
fn a_sink_that_errs_ends_the_run_and_gets_nothing_more() {
    let taken = Arc::new(AtomicUsize::new(0));
    let taking = Arc::clone(&taken);
    let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        let taking = Arc::clone(&taking);
        worker.dataflow(|scope| {
            let parts = feeds.stream(scope, All::of(Vec::<(u64, i64)>::new()));
            let plan = Plan::new(title("visits"), tens(Some(100)), Counts);
            let at_desk = at_desk(&parts, plan, Vec::new(), usize::MAX, Arc::default());
            release(parts, at_desk).deliver(move |_| match taking.fetch_add(1, Ordering::SeqCst) {
                2 => Err(io::ErrorKind::StorageFull.into()),
                _ => Ok(()),
            });
        });
        Ok(())
    });
    let failure = ended.unwrap_err();
    assert_eq!((failure.kind(), failure.exit_code()), (FailureKind::Sink, 70));
    assert_eq!(taken.load(Ordering::SeqCst), 3);
}

#[test]
fn an_operator_that_drops_its_stream_completes_nothing() {
    // Two windows are declared complete and eight are not; what `through` gives back claims that there is no more.
    let (stop, ears) = (Stop::new(), Ears::default());
    let (switch, listening) = (stop.clone(), ears.clone());
    let (say, told) = unbounded();
    let running = thread::spawn(move || {
        execute(Config::threads(1).unwrap().stopped_by(&stop), move |worker, feeds| {
            worker.dataflow(|scope| {
                let plan = Plan::new(title("visits"), tens(Some(100)), Counts);
                let records = feeds.stream(scope, Told(told.clone())).through(|_| {
                    use timely::dataflow::operators::ToStream;
                    [(5, 1), (15, 1)].to_stream(scope).container::<Vec<_>>()
                });
                listening.listen(records, &tens(Some(100)), plan, Vec::new(), usize::MAX);
            });
            Ok(())
        })
        .map_err(|failure| failure.exit_code())
    });
    thread::sleep(Duration::from_millis(100));
    assert_eq!(ears.lines(), Vec::<String>::new());
    say.send(Pulled::Complete(20)).unwrap();
    until(|| ears.lines() == ["0: 1", "10: 1"]);
    switch.stop();
    assert_eq!(running.join().unwrap().unwrap().released(), 2);
}

#[test]
fn a_worker_that_is_behind_is_not_sent_more_than_it_can_take() {
    const RECORDS: i64 = 1_500 * BATCH as i64;
    let (given, taken, most) =
        (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let ended = {
        let (given, taken, most) = (Arc::clone(&given), Arc::clone(&taken), Arc::clone(&most));
        execute(Config::threads(2).unwrap(), move |worker, feeds| {
            let (given, taken, most) = (Arc::clone(&given), Arc::clone(&taken), Arc::clone(&most));
            worker.dataflow(|scope| {
                let last = if worker_is_first(scope) { RECORDS } else { 0 };
                let giving = Arc::clone(&given);
                let count = move |_: &i64| _ = giving.fetch_add(1, Ordering::SeqCst);
                let records = feeds.stream(scope, All::of((0..last).inspect(count)));
                records.through(|records| {
                    use timely::dataflow::operators::Exchange;
                    records.exchange(|_| 1).inspect_batch(move |_, batch| {
                        thread::sleep(Duration::from_micros(300));
                        let taken = taken.fetch_add(batch.len() as i64, Ordering::SeqCst);
                        most.fetch_max(given.load(Ordering::SeqCst) - taken, Ordering::SeqCst);
                    })
                });
            });
            Ok(())
        })
    };
    assert!(ended.is_ok());
    assert_eq!(taken.load(Ordering::SeqCst), RECORDS);
    // 80 batches may be unanswered, and what each operator on the way has taken in its last step comes on top. Without a
    // brake it is nearly all of them.
    let most = most.load(Ordering::SeqCst) / BATCH as i64;
    assert!(most <= 400, "{most} batches were waiting");
}

#[test]
fn only_one_file_names_the_engine() {
    fn check(directory: &std::path::Path) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let tests = path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() && !tests {
                check(&path);
            } else if !tests && path.file_name().is_none_or(|name| name != "engine.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let named = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                assert!(!named.into_iter().any(|line| line.contains("timely::")), "{}", path.display());
            }
        }
    }
    check(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("operators"));
}
