//! Whole dataflows, on one to four workers, against sequential references. The gate is a stand-in that
//! answers late and out of order; the tests of the real one are in `tests/dataflow/main.rs`.
//!
//! Nothing is asserted on a worker: a panic there would end this process, as it should.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use proptest::prelude::*;
use timely::dataflow::operators::Inspect;

use super::release::{ReleaseBackend, Waker, release};
use super::*;
use crate::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use crate::gate::Sealable;
use crate::ledger::{Charge, Digest, Name, ReleaseStatus, Row};
use crate::noise::NoiseSource;
use crate::time::{Span, Time};

mod ends;
mod external;
mod hosts;
pub(super) mod stand_in;

use stand_in::{Delivered, StandIn, row};

/// A driver of a job: the library's own, or a program that runs timely itself.
#[derive(Clone, Copy, Debug)]
enum Driver {
    Own,
    Host,
}

const DRIVERS: [Driver; 2] = [Driver::Own, Driver::Host];

impl Driver {
    fn execute(
        self,
        config: Config,
        build: impl Fn(&mut Worker, &mut Feeds) -> Result<(), RunError> + Send + Sync + 'static,
    ) -> Result<Finished, RunError> {
        if let Driver::Own = self {
            return execute(config, build);
        }
        let attachment = Attachment::stopped_by(&config.stop);
        let inside = attachment.clone();
        let workers = timely::execute(timely::Config::process(config.threads), move |engine| {
            let mut attached = inside.attach(engine)?;
            match build(&mut Worker::of(engine), attached.feeds()) {
                Ok(()) => attached.finish(),
                Err(failure) => Err(attached.fail(failure)),
            }
        });
        let ends = workers.unwrap().join();
        let outcome = attachment.finished();
        for end in ends {
            let end = end.unwrap();
            assert_eq!(end.is_ok(), outcome.is_ok(), "all workers of a process end alike");
        }
        outcome
    }
}

/// A statistic that counts without noise.
pub(super) struct Counts;

impl WindowStatistic for Counts {
    type Part = i64;
    type Tally = i64;

    fn tally(&self, _: Interval) -> i64 {
        0
    }

    fn absorb(&self, tally: &mut i64, part: i64) {
        *tally += part;
    }

    fn charge(&self, _: Interval) -> Charge {
        Charge::Cost(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1.0 / 1024.0).unwrap()))
    }

    fn sealable(&self, window: Interval, tally: i64) -> Box<dyn Sealable> {
        Box::new(move |_: &mut NoiseSource| format!("{}: {tally}", window.start()))
    }
}

pub(super) fn title(name: &str) -> Title {
    let word = |word| Name::new("name", word).unwrap();
    Title { account: word("visits"), job: word("web"), version: Digest::of(b"1"), name: word(name) }
}

/// A source that follows a script, one step at a time. A record is a moment and the amount that it counts.
#[derive(Clone, Debug, Default)]
struct Script(VecDeque<(Vec<(Time, i64)>, Pulled)>);

impl Script {
    fn of(steps: impl IntoIterator<Item = (Vec<(Time, i64)>, Pulled)>) -> Script {
        Script(steps.into_iter().collect())
    }
}

impl Source for Script {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, SourceError> {
        let Some((records, pulled)) = self.0.pop_front() else { return Ok(Pulled::End) };
        batch.extend(records);
        Ok(pulled)
    }
}

/// The events that a test receives of a run.
#[derive(Clone, Default)]
struct Ears {
    lines: Arc<Mutex<Vec<String>>>,
    delivered: Delivered,
    budget_statuses: Arc<AtomicUsize>,
}

impl Ears {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn delivered(&self) -> Vec<Time> {
        self.delivered.delivered.lock().unwrap().clone()
    }

    /// Releases the count of each window of the plan, and writes down the released lines.
    fn listen<'scope>(
        &self,
        records: Fed<'scope, (Time, i64)>,
        schedule: &Schedule,
        plan: StatisticSchedule<Counts>,
        before: Vec<Row>,
        answers: usize,
    ) {
        let windows = schedule.clone();
        let parts =
            records.flat_map(move |(time, count)| windows.holding(time).map(move |window| (window, count)));
        let delivered = Arc::clone(&self.delivered);
        let at_gate = at_gate(&parts, plan, before, answers, delivered);
        let (lines, budget_statuses) = (Arc::clone(&self.lines), Arc::clone(&self.budget_statuses));
        release(parts, false, at_gate).deliver(move |release| {
            let budget_status = release.budget_status();
            budget_statuses
                .fetch_add(usize::from(budget_status.spent.within(&budget_status.cap)), Ordering::SeqCst);
            lines.lock().unwrap().push(release.line().to_owned());
            Ok(())
        });
    }
}

/// A stand-in gate on worker 0.
fn at_gate<S: WindowStatistic>(
    parts: &Fed<'_, (u64, S::Part)>,
    plan: StatisticSchedule<S>,
    before: Vec<Row>,
    answers: usize,
    delivered: Delivered,
) -> Option<(StatisticSchedule<S>, Box<dyn ReleaseBackend>, Waker)> {
    (parts.stream.scope().index() == 0).then(|| {
        let waker = Waker::default();
        let handle = StandIn::new(waker.wake(), before, answers, delivered);
        (plan, Box::new(handle) as Box<dyn ReleaseBackend>, waker)
    })
}

/// Runs one script a worker, and counts all of their records.
fn run(
    driver: Driver,
    scripts: Vec<Script>,
    schedule: Schedule,
    late: Option<i64>,
    config: impl FnOnce(Config) -> Config,
) -> (Result<Finished, RunError>, Ears) {
    let ears = Ears::default();
    let listening = ears.clone();
    let workers = scripts.len();
    let ended = driver.execute(config(Config::threads(workers).unwrap()), move |worker, feeds| {
        let script = scripts[worker.index()].clone();
        let mut plan = StatisticSchedule::new(title("visits"), schedule.clone(), Counts);
        if let Some(late) = late {
            plan = plan.late(Span::microseconds(late))?;
        }
        worker.dataflow(|scope| {
            // Records change workers on their way, as they may in a job.
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

/// Returns the expected lines: each record counts in each of its windows that its own source had not declared
/// complete when it was given. A window that overlaps an input gap of any source is skipped.
fn counted(scripts: &[Script], schedule: &Schedule, late: i64) -> Vec<String> {
    let mut tallies: Vec<i64> = (0..).map_while(|number| schedule.window(number)).map(|_| 0).collect();
    let mut gaps = Vec::new();
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
                Pulled::Gap(start, end) => gaps.push(*start..*end),
                Pulled::More | Pulled::Idle => {}
            }
        }
    }
    let line = |(number, tally): (usize, &i64)| {
        let window = schedule.window(number as u64).unwrap();
        match gaps.iter().any(|gap| gap.start < window.end() && window.start() < gap.end) {
            true => format!("{}: skipped, InputGap", window.start()),
            false => format!("{}: {tally}", window.start()),
        }
    };
    tallies.iter().enumerate().map(line).collect()
}

fn record() -> impl Strategy<Value = (Time, i64)> {
    let far = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(253_402_300_799_000_000), -1_000..1_000i64];
    (prop_oneof![9 => -20..120i64, 1 => far], 1..4i64)
}

/// Generates batches of odd sizes, empty ones among them; declarations that only go forward, and repeat.
fn script() -> impl Strategy<Value = Script> {
    let step = (prop::collection::vec(record(), 0..40), 0..25u8, 0..30i64);
    prop::collection::vec(step, 0..12).prop_map(|steps| {
        let mut declared = -10;
        Script::of(steps.into_iter().map(|(mut records, kind, forward)| {
            // Every third record twice: equal records are different records.
            let again: Vec<_> = records.iter().step_by(3).copied().collect();
            records.extend(again);
            let pulled = match kind {
                0..5 => Pulled::More,
                5..10 => Pulled::Idle,
                // Few: a gap that touches every window would show nothing else.
                10 => Pulled::Gap(declared + forward / 3, declared + forward / 3 + 1 + forward / 9),
                _ => {
                    declared += if kind < 15 { 0 } else { forward };
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
        is_early in any::<bool>(), driver in prop::sample::select(&DRIVERS),
    ) {
        let span = |length| Span::microseconds(length);
        let schedule = Schedule::sliding(span(size), span(step.min(size)), 0, Some(100)).unwrap();
        for workers in [1, 2, 4] {
            let mut scripts = scripts[..workers].to_vec();
            // A gap may begin before what was declared, by the time for which windows take late records.
            for (_, pulled) in scripts.iter_mut().flat_map(|script| script.0.iter_mut()) {
                if let Pulled::Gap(start, _) = pulled {
                    *start -= if is_early { late } else { 0 };
                }
            }
            let expected = counted(&scripts, &schedule, late);
            let (ended, ears) = run(driver, scripts, schedule.clone(), (late > 0).then_some(late), |config| config);
            prop_assert_eq!(ears.lines(), expected.clone(), "on {} workers", workers);
            let finished = ended.unwrap();
            let skipped = expected.iter().filter(|line| line.ends_with("InputGap")).count() as u64;
            prop_assert_eq!((finished.released(), finished.skipped()), (expected.len() as u64 - skipped, skipped));
            prop_assert_eq!(ears.budget_statuses.load(Ordering::SeqCst), expected.len());
            prop_assert_eq!(ears.delivered().len(), expected.len());
        }
    }
}

fn tens(until: Option<Time>) -> Schedule {
    Schedule::tumbling(Span::microseconds(10), 0, until).unwrap()
}

#[test]
fn an_empty_window_is_released_like_a_full_one() {
    for driver in DRIVERS {
        let scripts = vec![Script::of([(vec![(15, 7)], Pulled::Complete(20))]), Script::default()];
        let (ended, ears) = run(driver, scripts.clone(), tens(Some(40)), None, |config| config);
        assert_eq!(ears.lines(), ["0: 0", "10: 7", "20: 0", "30: 0"]);
        assert_eq!((ended.unwrap().exit_code(), ears.delivered()), (0, vec![0, 10, 20, 30]));
    }
}

#[test]
fn a_record_from_the_year_9999_moves_nobody_elses_window() {
    for driver in DRIVERS {
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
        // One window of a day contains it, and no window of the others does.
        let (_, ears) = run(driver, scripts.clone(), tens(Some(30)), None, |config| config);
        assert_eq!(ears.lines(), ["0: 2", "10: 2", "20: 0"]);
    }
}

#[test]
fn without_a_last_window_only_what_was_declared_is_released() {
    for driver in DRIVERS {
        let scripts = vec![
            Script::of([(vec![(5, 1), (25, 1)], Pulled::Complete(21))]),
            Script::of([(vec![(6, 1), (35, 1)], Pulled::Complete(39))]),
        ];
        let (ended, ears) = run(driver, scripts.clone(), tens(None), None, |config| config);
        // The first has given all of its records, so the second is the last to declare; both end in the same
        // step.
        assert_eq!(
            (ears.lines(), ended.unwrap().released()),
            (vec!["0: 2".into(), "10: 0".into(), "20: 1".into()], 3)
        );
    }
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
