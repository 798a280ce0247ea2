//! The ends of a run, and the work that each leaves undone.

use super::*;

#[test]
fn a_source_that_goes_back_ends_the_run_and_completes_nothing_more() {
    for driver in DRIVERS {
        let back = Script::of([(vec![(5, 1)], Pulled::Complete(15)), (vec![], Pulled::Complete(14))]);
        let (ended, ears) = run(driver, vec![back, Script::default()], tens(Some(40)), None, |config| config);
        let failure = ended.unwrap_err();
        assert_eq!((failure.kind(), failure.exit_code()), (FailureKind::Abandoned, 70));
        assert!(ears.lines().len() <= 1, "{:?}", ears.lines());
    }
}

/// A source that gives a few records, and then fails.
struct Fails(u8, SourceError);

impl Source for Fails {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, SourceError> {
        batch.push((5, 1));
        self.0 = self.0.checked_sub(1).ok_or_else(|| self.1.clone())?;
        Ok(Pulled::More)
    }
}

/// A source that does not return for a while.
struct Hangs(Arc<AtomicBool>);

impl Source for Hangs {
    type Record = (Time, i64);

    fn pull(&mut self, _: &mut Vec<(Time, i64)>) -> Result<Pulled, SourceError> {
        while self.0.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Pulled::Idle)
    }
}

// Refutes turns that are counted for a worker that hangs, and a worker that waits for records and looks as if it
// hung.
#[test]
fn a_worker_that_hangs_has_no_turns() {
    for driver in DRIVERS {
        let (stop, hangs) = (Stop::new(), Arc::new(AtomicBool::new(true)));
        let (seen, held) = (stop.clone(), Arc::clone(&hangs));
        let watching = thread::spawn(move || {
            let moved = |seen: &Stop| {
                let before = seen.turns();
                thread::sleep(Duration::from_millis(300));
                let after = seen.turns();
                after.iter().filter(|worker| !before.contains(worker)).count()
            };
            while seen.turns().len() < 2 || seen.turns().iter().any(|(_, turns)| *turns == 0) {
                thread::sleep(Duration::from_millis(1));
            }
            // The first turns come before the source is pulled.
            moved(&seen);
            let one = moved(&seen);
            held.store(false, Ordering::SeqCst);
            let both = (0..100).any(|_| moved(&seen) == 2);
            seen.stop();
            (one, both)
        });
        let config = Config::threads(2).unwrap().stopped_by(&stop);
        let ended = driver.execute(config, move |worker, feeds| {
            let hangs = if worker.index() == 1 { Arc::clone(&hangs) } else { Arc::default() };
            worker.dataflow(|scope| {
                let records = feeds.stream(scope, Hangs(hangs));
                let ears = Ears::default();
                let plan = StatisticSchedule::new(title("visits"), tens(Some(40)), Counts);
                ears.listen(records, &tens(Some(40)), plan, Vec::new(), usize::MAX);
            });
            Ok(())
        });
        let (one, both) = watching.join().unwrap();
        assert!(ended.is_ok());
        assert_eq!((one, both), (1, true));
    }
}

#[test]
fn a_source_that_errs_completes_nothing() {
    for driver in DRIVERS {
        for (gone, code) in [(SourceError::lost("a.csv"), 69), (SourceError::refused("a.csv:7:1"), 65)] {
            let ears = Ears::default();
            let listening = ears.clone();
            let ended = driver.execute(Config::threads(2).unwrap(), move |worker, feeds| {
                worker.dataflow(|scope| {
                    let plan = StatisticSchedule::new(title("visits"), tens(Some(40)), Counts);
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
}

fn worker_is_first(scope: Scope<'_, Time>) -> bool {
    scope.index() == 0
}

#[test]
fn a_ledger_in_doubt_ends_the_run_and_nothing_more_leaves() {
    for driver in DRIVERS {
        let ears = Ears::default();
        let listening = ears.clone();
        let ended = driver.execute(Config::threads(2).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                let plan = StatisticSchedule::new(title("visits"), tens(Some(100_000)), Counts);
                let records = feeds.stream(scope, Script::default());
                listening.listen(records, &tens(Some(100_000)), plan, Vec::new(), 2_000);
            });
            Ok(())
        });
        assert_eq!(ended.unwrap_err().exit_code(), 74);
        assert!(ears.lines().len() <= 2_000);
    }
}

#[test]
fn what_a_former_process_did_not_deliver_comes_first_and_once() {
    for driver in DRIVERS {
        let of = |name: &str, number| title(name).of(tens(None).window(number).unwrap());
        let before = vec![
            row(of("earlier", 7), ReleaseStatus::Sealed, "of another version".into()),
            row(of("visits", 1), ReleaseStatus::Refused, "refused before".into()),
        ];
        let ears = Ears::default();
        let listening = ears.clone();
        let ended = driver.execute(Config::threads(1).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                let plan = StatisticSchedule::new(title("visits"), tens(Some(30)), Counts);
                let records = feeds.stream(scope, All::of([(5, 1), (15, 1), (25, 1)]));
                listening.listen(records, &tens(Some(30)), plan, before.clone(), usize::MAX);
            });
            Ok(())
        });
        assert_eq!(ears.lines(), ["of another version", "refused before", "0: 1", "20: 1"]);
        let finished = ended.unwrap();
        assert_eq!((finished.refused(), finished.exit_code()), (1, 75));
    }
}

struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Time {
        self.0.load(Ordering::SeqCst)
    }
}

/// A source that declares what the test sends it.
struct Scripted(Receiver<Pulled>);

impl Source for Scripted {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, SourceError> {
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
    for driver in DRIVERS {
        let clock = Arc::new(Hands(AtomicI64::new(0)));
        let hands = Arc::clone(&clock);
        let (say, pulled) = unbounded();
        let ears = Ears::default();
        let listening = ears.clone();
        let running = thread::spawn(move || {
            driver
                .execute(Config::threads(1).unwrap(), move |worker, feeds| {
                    worker.dataflow(|scope| {
                        let plan = StatisticSchedule::new(title("visits"), tens(Some(30)), Counts);
                        let plan =
                            plan.skipping(Arc::clone(&hands) as Arc<dyn Clock>, Span::microseconds(5))?;
                        let records = feeds.stream(scope, Scripted(pulled.clone()));
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
        until(|| ears.lines() == ["0: skipped, Late"]);
        // Complete now, and too late.
        say.send(Pulled::Complete(10)).unwrap();
        say.send(Pulled::Complete(20)).unwrap();
        until(|| ears.lines() == ["0: skipped, Late", "10: 0"]);
        clock.0.store(i64::MAX / 4, Ordering::SeqCst);
        until(|| ears.lines() == ["0: skipped, Late", "10: 0", "20: skipped, Late"]);
        say.send(Pulled::End).unwrap();
        let finished = running.join().unwrap().unwrap();
        assert_eq!((finished.released(), finished.skipped()), (1, 2));
    }
}

#[test]
fn a_stopped_run_releases_what_was_complete_and_seals_nothing_else() {
    for driver in DRIVERS {
        let stop = Stop::new();
        let (switch, ears) = (stop.clone(), Ears::default());
        let listening = ears.clone();
        let (say, pulled) = unbounded();
        let running = thread::spawn(move || {
            let config = Config::threads(2).unwrap().stopped_by(&stop);
            driver
                .execute(config, move |worker, feeds| {
                    worker.dataflow(|scope| {
                        let plan = StatisticSchedule::new(title("visits"), tens(Some(100)), Counts);
                        let records = if worker_is_first(scope) {
                            feeds.stream(scope, Scripted(pulled.clone()))
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
}

#[test]
fn a_sink_that_errs_ends_the_run_and_gets_nothing_more() {
    for driver in DRIVERS {
        let taken = Arc::new(AtomicUsize::new(0));
        let taking = Arc::clone(&taken);
        let ended = driver.execute(Config::threads(1).unwrap(), move |worker, feeds| {
            let taking = Arc::clone(&taking);
            worker.dataflow(|scope| {
                let parts = feeds.stream(scope, All::of(Vec::<(u64, i64)>::new()));
                let plan = StatisticSchedule::new(title("visits"), tens(Some(100)), Counts);
                let at_gate = at_gate(&parts, plan, Vec::new(), usize::MAX, Arc::default());
                release(parts, false, at_gate).deliver(move |_| {
                    match taking.fetch_add(1, Ordering::SeqCst) {
                        2 => Err(io::ErrorKind::StorageFull.into()),
                        _ => Ok(()),
                    }
                });
            });
            Ok(())
        });
        let failure = ended.unwrap_err();
        assert_eq!((failure.kind(), failure.exit_code()), (FailureKind::Sink, 74));
        assert_eq!(taken.load(Ordering::SeqCst), 3);
    }
}

#[test]
fn an_operator_that_drops_its_stream_completes_nothing() {
    for driver in DRIVERS {
        // Two windows are declared complete and eight are not; the output of `through` claims that there is no
        // more.
        let (stop, ears) = (Stop::new(), Ears::default());
        let (switch, listening) = (stop.clone(), ears.clone());
        let (say, pulled) = unbounded();
        let running = thread::spawn(move || {
            driver
                .execute(Config::threads(1).unwrap().stopped_by(&stop), move |worker, feeds| {
                    worker.dataflow(|scope| {
                        let plan = StatisticSchedule::new(title("visits"), tens(Some(100)), Counts);
                        let records = feeds.stream(scope, Scripted(pulled.clone())).through(|_| {
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
}

#[test]
fn a_worker_that_is_behind_is_not_sent_more_than_it_can_take() {
    for driver in DRIVERS {
        const RECORDS: i64 = 1_500 * BATCH as i64;
        let (given, taken, most) =
            (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
        let ended = {
            let (given, taken, most) = (Arc::clone(&given), Arc::clone(&taken), Arc::clone(&most));
            driver.execute(Config::threads(2).unwrap(), move |worker, feeds| {
                let (given, taken, most) = (Arc::clone(&given), Arc::clone(&taken), Arc::clone(&most));
                worker.dataflow(|scope| {
                    let last = if worker_is_first(scope) { RECORDS } else { 0 };
                    let giving = Arc::clone(&given);
                    let count = move |_: &i64| _ = giving.fetch_add(1, Ordering::SeqCst);
                    let records = feeds.stream(scope, All::of((0..last).inspect(count)));
                    records.through(|records| {
                        use timely::dataflow::operators::Exchange;
                        records.exchange(|_| 1).inspect_core(move |event| {
                            let Ok((_, batch)) = event else { return };
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
        // 80 batches may be unanswered, and the records that each operator on the way has taken in its last step
        // come on top. Without back-pressure it is nearly all of them.
        let most = most.load(Ordering::SeqCst) / BATCH as i64;
        assert!(most <= 400, "{most} batches were waiting");
    }
}
