//! Questions after a restart that reads a part of the records again.

use super::*;
use crate::dataflow::engine::{Operator, Pipeline};
use crate::gate::Positions;

/// The windows, of ten each, before the end.
const OVER: usize = 5;

/// The people of a window.
fn people(window: usize) -> usize {
    window + 2
}

/// A log of one record a pull, complete up to the time before each, which goes on where the former run was.
struct Log {
    records: Vec<Event>,
    next: usize,
    reported: Option<usize>,
    /// The number of windows that were declared complete behind the records.
    complete: usize,
    /// Ends the run once this number of answers and windows is sealed; the last but one completes an empty window, whose row
    /// keeps positions that no window before it needs.
    until: (Recorder, usize),
    since: std::time::Instant,
}

impl Log {
    fn new(recorder: &Recorder, sealed: usize) -> Log {
        let mut records = Vec::new();
        for window in 0..OVER {
            for person in 0..people(window) {
                let (person, time) = (records.len() as u64 + person as u64, 10 * window as Time + 3);
                records.push((person, 0, 1, time, records.len() as u64));
            }
        }
        let until = (recorder.clone(), sealed);
        Log { records, next: 0, reported: None, complete: 0, until, since: std::time::Instant::now() }
    }
}

impl Source for Log {
    type Record = Event;

    fn pull(&mut self, batch: &mut Vec<Event>) -> Result<Pulled, SourceError> {
        if let Some(record) = self.records.get(self.next) {
            batch.push(*record);
            self.next += 1;
            return Ok(Pulled::Complete(record.3));
        }
        let (recorder, sealed) = &self.until;
        let sealed = recorder.answered() + 1 >= *sealed;
        if self.complete == 0 || self.complete == 1 && sealed {
            self.complete += 1;
            return Ok(Pulled::Complete(10 * (OVER + self.complete - 1) as Time));
        }
        match recorder.answered() >= self.until.1 || self.since.elapsed() > std::time::Duration::from_secs(60)
        {
            true => Err(SourceError::lost("the log")),
            false => Ok(Pulled::Idle),
        }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn resume(&mut self, former: Vec<Positions>) -> Result<(), SourceError> {
        self.next =
            former.iter().filter_map(|part| part.get("log")).map(|at| usize::from(at[0])).min().unwrap_or(0);
        Ok(())
    }

    fn milestone(&mut self) -> Option<Milestone> {
        if self.reported.replace(self.next) == Some(self.next) {
            return None;
        }
        let latest = self.next.checked_sub(1).map_or(Time::MIN, |last| self.records[last].3);
        Some(Milestone { latest, changed: vec![("log".to_owned(), Some(vec![self.next as u8]))], parts: 1 })
    }
}

/// Questions, and then nothing more up to this time.
struct Asking(Vec<Query>, Time);

impl Source for Asking {
    type Record = Query;

    fn pull(&mut self, batch: &mut Vec<Query>) -> Result<Pulled, SourceError> {
        match self.0.is_empty() {
            false => {
                batch.append(&mut self.0);
                Ok(Pulled::Complete(self.1))
            }
            true => Ok(Pulled::Idle),
        }
    }
}

/// Runs until so much is sealed; returns the lines of answers, and the fields for which others have none.
fn life(
    recorder: &Recorder,
    asked: &[(&str, Time)],
    sealed: usize,
) -> (Vec<String>, BTreeMap<String, String>) {
    let (lines, refused) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(BTreeMap::new())));
    let (saying, refusing, gate) = (Arc::clone(&lines), Arc::clone(&refused), recorder.clone());
    let questions: Vec<Query> =
        asked.iter().map(|(id, at)| schema().question("ann", id, *at).count("all").unwrap()).collect();
    let ended = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        let (log, asking) = (Log::new(&gate, sealed), Asking(questions.clone(), 10 * OVER as Time));
        let (saying, refusing) = (Arc::clone(&saying), Arc::clone(&refusing));
        worker.dataflow(|scope| {
            let (records, questions) = (feeds.stream(scope, log), feeds.stream(scope, asking));
            let schedule = Schedule::tumbling(span(10), 0, Some(HORIZON)).unwrap();
            let bounded = records
                .protect(|event: &Event| event.0)
                .identified_by(|event: &Event| event.4)
                .scheduled(schedule, |event: &Event| event.3)
                .bound(Bound::keys(1));
            bounded.clone().count_by(|event: &Event| event.1, Keys::public([0])).release_at(
                &gate,
                "tens",
                recorder::Exactly(Gaussian::rho(0.01)),
            );
            let replies =
                bounded.answer(schema(), row, questions).release_at(&gate, "questions", Exactly::new());
            replies.releases.deliver(move |reply| {
                let line = reply.line().trim_end_matches('\u{1}').trim().to_owned();
                saying.lock().unwrap().push(line);
                Ok(())
            });
            replies.unanswered.sink(Pipeline, "Said", move |(input, _)| {
                input.for_each(|_, batch| {
                    for unanswered in batch.drain(..) {
                        let (id, field) = (unanswered.question().id(), unanswered.why().field());
                        refusing.lock().unwrap().insert(id.to_owned(), field.to_owned());
                    }
                });
            });
        });
        Ok(())
    });
    assert!(ended.is_err(), "the log is lost in the end");
    let mut lines = lines.lock().unwrap().clone();
    lines.sort();
    let refused = refused.lock().unwrap().clone();
    (lines, refused)
}

// Refutes an answer from a part of the records, one that is lost with them, and a restart that reads all of them again.
#[test]
fn a_window_of_which_records_are_not_read_again_answers_no_new_question() {
    let recorder = Recorder::new(PrivacyUnit::Person);
    let at = |window: usize| 10 * window as Time + 10;
    let (lines, refused) = life(&recorder, &[("a", at(0)), ("b", at(4))], OVER + 3);
    let of = |answers: &[(usize, &str)]| -> Vec<String> {
        answers.iter().map(|(window, id)| format!("{},{},0 {id}", 10 * window, people(*window))).collect()
    };
    assert_eq!((lines, refused), (of(&[(0, "a"), (4, "b")]), BTreeMap::new()));
    recorder.sealed();
    // Of the last window that was over every record is read again, and of the others none.
    let asked = [("a", at(0)), ("c", at(0)), ("d", at(3)), ("e", at(4)), ("b", at(4))];
    let (lines, refused) = life(&recorder, &asked, OVER + 6);
    assert_eq!(lines, of(&[(0, "a"), (4, "b"), (4, "e")]));
    let none = [("c", "at"), ("d", "at")].map(|(id, field)| (id.to_owned(), field.to_owned()));
    assert_eq!(refused, BTreeMap::from(none));
}
