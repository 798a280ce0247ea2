//! Programs that run timely themselves: with inputs that they push into, other dataflows, and workers that leave.

use differential_dataflow::input::InputSession;
use timely::dataflow::InputHandle;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::probe::Handle;
use timely::dataflow::operators::vec::Map;
use timely::logging::{TimelyEventBuilder, TimelyProgressEventBuilder};
use timely::worker::Worker as Engine;

use super::*;

/// A program: what a worker does with its part of the pipeline.
type Body = dyn Fn(&mut Engine, Attached, &Ears) -> Result<(), RunError> + Send + Sync;

/// The end of each worker.
type Ends = Vec<Result<(), FailureKind>>;

/// Runs a program on these workers; returns the outcome, how each worker ended, and the released lines.
fn program(
    workers: usize,
    stop: &Stop,
    body: impl Fn(&mut Engine, Attached, &Ears) -> Result<(), RunError> + Send + Sync + 'static,
) -> (Result<Finished, RunError>, Ends, Vec<String>) {
    let (attachment, ears) = (Attachment::stopped_by(stop), Ears::default());
    let ends = run_program(vec![attachment.clone(); workers], &ears, body);
    (attachment.finished(), ends, ears.lines())
}

/// Runs a program on a worker for each attachment. Workers of different processes have different ones.
fn run_program(
    attachments: Vec<Attachment>,
    ears: &Ears,
    body: impl Fn(&mut Engine, Attached, &Ears) -> Result<(), RunError> + Send + Sync + 'static,
) -> Ends {
    let listening = ears.clone();
    let body: Box<Body> = Box::new(body);
    let ended = timely::execute(timely::Config::process(attachments.len()), move |worker| {
        let attached = attachments[worker.index()].attach(worker)?;
        body(worker, attached, &listening)
    });
    let ends = ended.unwrap().join().into_iter().map(|end| end.unwrap().map_err(|failure| failure.kind()));
    ends.collect()
}

/// Builds the pipeline of tens, with an input to push into.
fn pushed(worker: &mut Engine, attached: &mut Attached, ears: &Ears) -> PushedInput<(Time, i64)> {
    worker.dataflow(|scope| {
        let (input, records) = attached.feeds().input(scope);
        count(records, ears);
        input
    })
}

/// Counts in three windows of ten.
fn count(records: Fed<'_, (Time, i64)>, ears: &Ears) {
    let plan = StatisticSchedule::new(title("visits"), tens(Some(30)), Counts);
    ears.listen(records, &tens(Some(30)), plan, Vec::new(), usize::MAX);
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

const ABANDONED: Result<(), FailureKind> = Err(FailureKind::Abandoned);

/// An error for what should not be: a panic on a worker would end this process.
fn ensure(holds: bool, what: &str) -> Result<(), RunError> {
    if holds { Ok(()) } else { Err(RunError::configuration(what)) }
}

#[test]
fn what_a_program_pushes_is_released_as_it_declares_it() {
    for workers in [1, 3] {
        let (ended, ends, released) = program(workers, &Stop::new(), move |worker, mut attached, ears| {
            ensure(attached.turn(Duration::ZERO)?, "a turn before anything is built is not the end")?;
            let mut input = pushed(worker, &mut attached, ears);
            input.send_all([(5, 1), (25, 1)]);
            input.complete(10)?;
            ensure(attached.step_while(|| ears.lines().is_empty())?, "stopped")?;
            // One comes too late for the first window.
            input.send_all([(5, 1), (15, 2)]);
            input.finish();
            while attached.turn(Duration::from_millis(1))? {}
            attached.finish().map(drop)
        });
        let expected =
            [(0, 1), (10, 2), (20, 1)].map(|(start, count)| format!("{start}: {}", count * workers));
        assert_eq!((released, ends), (expected.to_vec(), vec![Ok(()); workers]));
        assert_eq!(ended.unwrap().released(), 3);
    }
}

/// The act of the last worker, once it has declared the time before 20 complete and the others have ended their inputs.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    ReturnsEarly,
    DropsItsInput,
    DropsItsPart,
    GoesBack,
    Fails,
    /// Before it has built anything.
    BuildsNothing,
    /// When its input has ended as well.
    AfterItsInput,
}

// Refutes windows that are completed by an input that is dropped, a worker that hangs when another one has left, and a
// program whose other dataflows end with the pipeline.
#[test]
fn a_worker_that_leaves_completes_nothing_and_ends_all() {
    use Leaves::{AfterItsInput, BuildsNothing, DropsItsInput, DropsItsPart, Fails, GoesBack, ReturnsEarly};
    let ways = [ReturnsEarly, DropsItsInput, DropsItsPart, GoesBack, Fails, BuildsNothing, AfterItsInput];
    for (leaves, are_apart) in ways.repeat(4).into_iter().zip([true, false, true].into_iter().cycle()) {
        let attachments: Vec<Attachment> = match are_apart {
            true => (0..3).map(|_| Attachment::new()).collect(),
            false => vec![Attachment::new(); 3],
        };
        let ears = Ears::default();
        let ends = run_program(attachments.clone(), &ears, move |worker, attached, ears| {
            leave(worker, attached, ears, leaves)
        });
        let complete: &[&str] = match leaves {
            BuildsNothing => &[],
            // The inputs have ended, so the last window is complete too.
            AfterItsInput => &["0: 3", "10: 0", "20: 0"],
            _ => &["0: 3", "10: 0"],
        };
        let (case, released) = (format!("{leaves:?}, apart: {are_apart}"), ears.lines());
        assert!(lines(complete).starts_with(&released), "{case}: {released:?}");
        assert!(released.len() >= complete.len().min(2), "{case}: {released:?}");
        let submitted = ears.delivered.submitted.lock().unwrap().len();
        assert!(submitted <= complete.len(), "{case}: {submitted} windows were submitted");
        let own = if let Fails = leaves { FailureKind::Sink } else { FailureKind::Abandoned };
        let others = if are_apart { FailureKind::Peer } else { own };
        assert_eq!(ends[..2], [Err(others), Err(others)], "{case}");
        let outcomes = [0, 2].map(|at| attachments[at].finished().unwrap_err().kind());
        assert_eq!(outcomes, [others, own], "{case}");
    }
}

/// The last worker leaves, and the others end their inputs and finish.
fn leave(worker: &mut Engine, mut attached: Attached, ears: &Ears, leaves: Leaves) -> Result<(), RunError> {
    let is_last = worker.index() + 1 == worker.peers();
    if is_last && matches!(leaves, Leaves::BuildsNothing) {
        return Err(RunError::configuration("left"));
    }
    let mut input = pushed(worker, &mut attached, ears);
    if matches!(leaves, Leaves::BuildsNothing) {
        input.finish();
        return attached.finish().map(drop);
    }
    let (mut others, probe) = worker.dataflow(|scope| {
        let mut others = InputHandle::<u64, _>::new();
        let (probe, _) = others.to_stream(scope).container::<Vec<u32>>().probe();
        (others, probe)
    });
    input.send((5, 1));
    if !is_last {
        input.finish();
        let failure = attached.finish().map(drop);
        // Another dataflow of this program goes on.
        others.send(1);
        others.advance_to(1);
        while probe.less_than(&1) {
            worker.step_or_park(Some(Duration::from_millis(1)));
        }
        return failure;
    }
    input.complete(20)?;
    attached.step_while(|| ears.lines().len() < 2)?;
    others.advance_to(1);
    match leaves {
        Leaves::ReturnsEarly | Leaves::BuildsNothing => return Err(RunError::configuration("left")),
        Leaves::DropsItsInput => drop(input),
        Leaves::DropsItsPart => {
            drop(attached);
            input.send((25, 1));
            return Ok(());
        }
        Leaves::GoesBack => input.complete(19)?,
        Leaves::Fails => return Err(attached.fail(RunError::sink(&io::ErrorKind::StorageFull.into()))),
        Leaves::AfterItsInput => {
            input.finish();
            while attached.turn(Duration::from_millis(1))? {}
            return Ok(());
        }
    }
    attached.finish().map(drop)
}

// Refutes a sink that fails after every window has its outcome, and takes the other workers with it.
#[test]
fn a_sink_that_errs_at_the_end_fails_the_pipeline_and_hangs_nobody() {
    for fails_at in [1, 3] {
        let (ended, _, _) = program(3, &Stop::new(), move |worker, mut attached, ears| {
            let taken = AtomicUsize::new(0);
            worker.dataflow(|scope| {
                let parts = attached.feeds().stream(scope, All::of([(0, 1_i64)]));
                let plan = StatisticSchedule::new(title("visits"), tens(Some(30)), Counts);
                let at_gate = at_gate(&parts, plan, Vec::new(), usize::MAX, Arc::clone(&ears.delivered));
                release(parts, false, at_gate).deliver(move |_| {
                    match taken.fetch_add(1, Ordering::SeqCst) + 1 {
                        at if at == fails_at => Err(io::ErrorKind::StorageFull.into()),
                        _ => Ok(()),
                    }
                });
            });
            attached.finish().map(drop)
        });
        assert_eq!(ended.unwrap_err().kind(), FailureKind::Sink);
    }
}

#[test]
fn a_stopped_program_releases_what_was_complete_on_every_worker() {
    let stop = Stop::new();
    let switch = stop.clone();
    let (ended, ends, released) = program(2, &stop, move |worker, mut attached, ears| {
        let mut input = pushed(worker, &mut attached, ears);
        input.send((5, 1));
        input.complete(10)?;
        attached.step_while(|| ears.lines().is_empty())?;
        if worker.index() == 1 {
            switch.stop();
        }
        // Until the stop comes.
        while attached.turn(Duration::from_millis(1))? {}
        drop(input);
        attached.finish().map(drop)
    });
    assert_eq!((released, ends), (lines(&["0: 2"]), vec![Ok(()); 2]));
    assert!(ended.unwrap().is_stopped());
}

#[test]
fn a_declared_gap_skips_the_windows_over_it() {
    for is_adopted in [false, true] {
        let (ended, _, released) = program(2, &Stop::new(), move |worker, mut attached, ears| {
            let own = worker.index();
            if !is_adopted {
                let mut input = pushed(worker, &mut attached, ears);
                if own == 1 {
                    input.gap(12, 13)?;
                }
                input.finish();
                return attached.finish().map(drop);
            }
            let (word, external) = attached.feeds().external(2)?;
            let mut input = InputHandle::new();
            worker.dataflow(|scope| count(external.adopt(input.to_stream(scope)), ears));
            input.send((5, 1));
            if own == 1 {
                word.gap(12, 13)?;
            }
            word.complete(own, 30)?;
            word.finish();
            input.close();
            attached.finish().map(drop)
        });
        let first = if is_adopted { "0: 2" } else { "0: 0" };
        assert_eq!(released, lines(&[first, "10: skipped, InputGap", "20: 0"]));
        assert_eq!(ended.unwrap().skipped(), 1);
    }
}

// Refutes a stream that is carried without its frontier, and one that completes windows by it.
#[test]
fn streams_of_other_timestamps_are_carried_in_and_out() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = Arc::clone(&seen);
    let (ended, ends, released) = program(2, &Stop::new(), move |worker, mut attached, ears| {
        let own = worker.index();
        // Epochs of five, in a dataflow of the program.
        let mut epochs = InputHandle::<u32, _>::new();
        let (word, external) = attached.feeds().external(2)?;
        let carried = worker.dataflow(|scope| {
            let visits = epochs.to_stream(scope).container::<Vec<(Time, i64)>>();
            attached.feeds().carry(visits, |epoch| Time::from(*epoch) * 5)
        });
        let out = worker.dataflow(|scope| {
            let records = carried.enter(scope);
            let probed = records.clone();
            count(external.adopt(records), ears);
            attached.feeds().carry(probed.map(|(time, _)| time), |time| time.div_euclid(5).max(0) as u64)
        });
        let probe = Handle::new();
        let seeing = Arc::clone(&seeing);
        worker.dataflow(|scope| {
            out.enter(scope)
                .inspect_core(move |event| {
                    let Ok((epoch, times)) = event else { return };
                    seeing.lock().unwrap().extend(times.iter().map(|time| (epoch.least().copied(), *time)));
                })
                .probe_with(&probe);
        });
        for epoch in 0..6 {
            epochs.advance_to(epoch);
            epochs.send((Time::from(epoch) * 5, 1));
        }
        epochs.advance_to(6);
        ensure(attached.step_while(|| probe.less_than(&6))?, "stopped")?;
        ensure(ears.lines().is_empty(), "its frontier alone completes nothing")?;
        word.complete(own, 20)?;
        ensure(attached.step_while(|| ears.lines().len() < 2)?, "stopped")?;
        word.complete(own, 30)?;
        word.finish();
        epochs.close();
        attached.finish().map(drop)
    });
    assert_eq!((released, ends), (lines(&["0: 4", "10: 4", "20: 4"]), vec![Ok(()); 2]));
    assert_eq!(ended.unwrap().released(), 3);
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    let expected = (0..6_u64).flat_map(|epoch| [(Some(epoch), epoch as Time * 5); 2]);
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

// Refutes changes of a collection that are lost or counted twice.
#[test]
fn a_collection_of_the_program_is_adopted_with_what_it_takes_back() {
    let (ended, _, released) = program(2, &Stop::new(), move |worker, mut attached, ears| {
        let own = worker.index();
        let (word, external) = attached.feeds().external(2)?;
        let mut session = InputSession::<Time, u64, isize>::new();
        worker.dataflow(|scope| {
            let changes = external.adopt_collection(session.to_collection(scope));
            count(changes.map(|(_, time, change)| (time, change as i64)), ears);
        });
        session.update_at(own as u64, 3, 1);
        session.update_at(own as u64, 13, -1);
        session.advance_to(30);
        session.flush();
        word.complete(own, 30)?;
        word.finish();
        drop(session);
        attached.finish().map(drop)
    });
    assert_eq!(released, lines(&["0: 2", "10: -2", "20: 0"]));
    assert!(ended.is_ok());
}

#[test]
fn a_pipeline_refuses_to_run_beside_a_logger_of_the_engine() {
    for (name, is_late) in [
        ("timely", false),
        ("timely", true),
        ("timely/progress/i64", true),
        ("differential/arrange", false),
        ("of the program", false),
    ] {
        let attachment = Attachment::new();
        let inside = attachment.clone();
        let ended = timely::execute_directly(move |worker| {
            let register = |worker: &mut Engine| {
                let mut register = worker.log_register().unwrap();
                match name.contains("progress") {
                    true => register.insert::<TimelyProgressEventBuilder<i64>, _>(name, |_, _| {}),
                    false => register.insert::<TimelyEventBuilder, _>(name, |_, _| {}),
                };
            };
            if !is_late {
                register(worker);
            }
            let mut attached = inside.attach(worker)?;
            let input = pushed(worker, &mut attached, &Ears::default());
            if is_late {
                register(worker);
            }
            input.finish();
            attached.finish()
        });
        if name == "of the program" {
            assert!(ended.is_ok() && attachment.finished().is_ok());
            continue;
        }
        let failure = ended.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Configuration);
        assert!(failure.to_string().contains(name), "{failure}");
        assert_eq!(attachment.finished().unwrap_err().kind(), FailureKind::Configuration);
    }
}

#[test]
fn an_attachment_is_for_each_worker_once_and_says_who_has_not_ended() {
    let attachment = Attachment::new();
    let refused = attachment.finished().unwrap_err().to_string();
    assert!(refused.contains("no worker"), "{refused}");
    let inside = attachment.clone();
    let (twice, early) = timely::execute_directly(move |worker| {
        let attached = inside.attach(worker).unwrap();
        let twice = inside.attach(worker).unwrap_err();
        let early = inside.finished().unwrap_err().to_string();
        attached.finish().unwrap();
        (twice, early)
    });
    assert_eq!(twice.kind(), FailureKind::Configuration);
    assert!(early.contains("worker 0 has not finished"), "{early}");
    assert_eq!(attachment.finished().unwrap().released(), 0);
}

// Refutes an end that waits for an input that the program holds in a dataflow of the pipeline, once all windows are settled.
#[test]
fn an_input_of_the_program_that_is_held_does_not_hold_up_the_end() {
    let (ended, _, released) = program(2, &Stop::new(), move |worker, mut attached, ears| {
        let mut held = InputHandle::<Time, _>::new();
        let input = worker.dataflow(|scope| {
            let (input, records) = attached.feeds().input(scope);
            count(records, ears);
            held.to_stream(scope).container::<Vec<u32>>().probe();
            input
        });
        input.finish();
        attached.finish().map(drop)
    });
    assert_eq!((released.len(), ended.unwrap().released()), (3, 3));
}

/// A source that panics at its second pull, without the hook that would end this process.
struct Panics(bool);

impl Source for Panics {
    type Record = (Time, i64);

    fn pull(&mut self, batch: &mut Vec<(Time, i64)>) -> Result<Pulled, SourceError> {
        if std::mem::replace(&mut self.0, true) {
            std::panic::resume_unwind(Box::new("of a record"));
        }
        batch.push((5, 1));
        Ok(Pulled::More)
    }
}

// Refutes a program that catches a panic, goes on, and releases windows without what was being fed.
#[test]
fn a_panic_that_the_program_catches_ends_the_pipeline() {
    let (ended, ends, released) = program(1, &Stop::new(), |worker, mut attached, ears| {
        worker.dataflow(|scope| count(attached.feeds().stream(scope, Panics(false)), ears));
        let turns = std::panic::AssertUnwindSafe(|| while attached.turn(Duration::ZERO).is_ok() {});
        ensure(std::panic::catch_unwind(turns).is_err(), "it panics")?;
        attached.finish().map(drop)
    });
    assert_eq!((released, ends), (vec![], vec![ABANDONED]));
    assert_eq!(ended.unwrap_err().kind(), FailureKind::Abandoned);
}

// Refutes a worker that waits for ever for what it holds itself.
#[test]
fn a_worker_that_finishes_before_its_input_is_an_error() {
    let (ended, ends, released) = program(2, &Stop::new(), |worker, mut attached, ears| {
        let mut input = pushed(worker, &mut attached, ears);
        // The iterator turns the driver, as one that waits for room does.
        let records = (0..3).map(|_| attached.turn(Duration::ZERO).map(|_| (5, 1)).unwrap_or((0, 0)));
        input.send_all(records);
        if worker.index() == 0 {
            input.finish();
            return attached.finish().map(drop);
        }
        let unfinished = attached.finish().map(drop);
        drop(input);
        unfinished
    });
    assert_eq!((released, ends), (vec![], vec![ABANDONED; 2]));
    assert!(ended.unwrap_err().to_string().contains("finish it before its worker"));
}
