//! Streams that the driver does not feed.

use timely::dataflow::operators::generic::operator::source;

use super::*;

/// An action of a foreign source on one worker, after which it drops its handles.
#[derive(Clone, Copy, Debug)]
enum Act {
    Send(Time, i64),
    Complete(usize, Time),
    Finish,
}
use Act::{Complete, Finish, Send};

/// Runs an external stream of `partitions` partitions, with these actions on each worker: one each time it is
/// scheduled.
fn run(driver: Driver, partitions: usize, acts: Vec<Vec<Act>>) -> (Result<Finished, RunError>, Vec<String>) {
    let ears = Ears::default();
    let listening = ears.clone();
    let ended = driver.execute(Config::threads(acts.len()).unwrap(), move |worker, feeds| {
        let mut acts = VecDeque::from(acts[worker.index()].clone());
        let (word, external) = feeds.external(partitions)?;
        worker.dataflow(|scope| {
            let foreign = source(scope, "Foreign", move |capability, info| {
                let activator = scope.activator_for(info.address);
                let mut held = Some((capability, Some(word)));
                move |output| {
                    let Some((capability, word)) = &mut held else { return };
                    match acts.pop_front() {
                        Some(Send(time, count)) => output.session(capability).give((time, count)),
                        // The run learns of a refused declaration.
                        Some(Complete(partition, time)) => {
                            _ = word.as_ref().map(|word| word.complete(partition, time));
                        }
                        Some(Finish) => word.take().into_iter().for_each(WorkerDeclaration::finish),
                        None => return held = None,
                    }
                    activator.activate();
                }
            });
            let records = external.adopt::<(Time, i64)>(foreign);
            let plan = StatisticSchedule::new(title("visits"), tens(Some(30)), Counts);
            listening.listen(records, &tens(Some(30)), plan, Vec::new(), usize::MAX);
        });
        Ok(())
    });
    (ended, ears.lines())
}

#[test]
fn what_every_partition_declares_is_released_once() {
    for driver in DRIVERS {
        let first = vec![
            Send(5, 1),
            Complete(0, 10),
            Complete(0, 10),
            Send(15, 1),
            Complete(0, 20),
            Complete(2, 20),
            Finish,
        ];
        let second = vec![Complete(1, Time::MIN), Send(6, 1), Complete(1, 20), Finish];
        let (ended, lines) = run(driver, 3, vec![first.clone(), second.clone()]);
        assert_eq!(
            (lines, ended.unwrap().released()),
            (vec!["0: 2".into(), "10: 1".into(), "20: 0".into()], 3)
        );
        let alone = [first, second]
            .concat()
            .into_iter()
            .filter(|act| !matches!(act, Finish))
            .chain([Finish])
            .collect();
        let (ended, lines) = run(driver, 3, vec![alone]);
        assert_eq!(
            (lines, ended.unwrap().released()),
            (vec!["0: 2".into(), "10: 1".into(), "20: 0".into()], 3)
        );
    }
}

#[test]
fn a_partition_that_nobody_declares_keeps_every_window_shut() {
    for driver in DRIVERS {
        let (ended, lines) = run(driver, 2, vec![vec![Send(5, 1), Complete(0, 30), Finish], vec![Finish]]);
        assert_eq!((lines, ended.unwrap_err().kind()), (vec![], FailureKind::Abandoned));
    }
}

#[test]
fn a_word_that_is_dropped_abandons_the_input() {
    for driver in DRIVERS {
        // Its stream has ended, and everything was declared but the end.
        let (ended, lines) =
            run(driver, 2, vec![vec![Complete(0, 9), Finish], vec![Complete(1, 9), Send(5, 1)]]);
        assert_eq!((lines, ended.unwrap_err().kind()), (vec![], FailureKind::Abandoned));
    }
}

#[test]
fn a_partition_goes_forward_and_has_one_owner() {
    for driver in DRIVERS {
        for (first, second) in [
            (vec![Complete(0, 9), Complete(0, 8), Finish], vec![Complete(1, 9), Finish]),
            (vec![Complete(0, 9), Finish], vec![Complete(0, 9), Complete(1, 9), Finish]),
        ] {
            let (ended, lines) = run(driver, 2, vec![first, second]);
            assert_eq!((lines, ended.unwrap_err().kind()), (vec![], FailureKind::Abandoned));
        }
    }
}

#[test]
fn an_unknown_partition_is_refused() {
    for driver in DRIVERS {
        let refused = Arc::new(Mutex::new(None));
        let saying = Arc::clone(&refused);
        let ended = driver.execute(Config::threads(1).unwrap(), move |_, feeds| {
            let (word, _external) = feeds.external(2)?;
            *saying.lock().unwrap() = word.complete(2, 10).err();
            Err(feeds.external(0).unwrap_err().into())
        });
        assert_eq!(refused.lock().unwrap().as_ref().unwrap().field(), "partition");
        assert!(ended.is_err());
    }
}
