//! What is said of questions: the same again, and why not.

use super::*;

// Refutes a question that is counted anew, or about other data, because it is asked again: in one run, in the
// next, with other words under the same id, and by somebody else under another's id.
#[test]
fn what_was_answered_is_answered_so_again() {
    let recorder = Recorder::new(PrivacyUnit::Person);
    let schedule = Schedule::tumbling(span(10), 0, Some(HORIZON)).unwrap();
    let lines_in = |version: Option<u32>, records: Vec<Event>, questions: Vec<Query>| {
        let (sealing, schedule) = (recorder.clone(), schedule.clone());
        let released = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&released);
        let finished = execute(Config::threads(2).unwrap(), move |worker, feeds| {
            let mine = worker.index() == 0;
            let records = if mine { records.clone() } else { Vec::new() };
            let questions = if mine { questions.clone() } else { Vec::new() };
            let shared = Arc::clone(&shared);
            worker.dataflow(|scope| {
                let (records, questions) =
                    (feeds.stream(scope, All::of(records)), feeds.stream(scope, All::of(questions)));
                let answering = records
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .bound(Bound::keys(1))
                    .answer(schema(), row, questions);
                let answering = match version {
                    Some(version) => answering.version(version),
                    None => answering,
                };
                answering.release_at(&sealing, "questions", Exactly::new()).releases.deliver(
                    move |release| {
                        shared
                            .lock()
                            .unwrap()
                            .push(release.line().trim_end_matches('\u{1}').trim().to_owned());
                        Ok(())
                    },
                );
            });
            Ok(())
        });
        assert!(finished.is_ok(), "{finished:?}");
        let mut released = released.lock().unwrap().clone();
        released.sort();
        released
    };
    let lines = |records, questions| lines_in(None, records, questions);
    let people = |people: u64| (0..people).map(|person| (person, 0, 1, 3, person)).collect::<Vec<Event>>();
    let (schema, all) = (schema(), "all");
    let ask = |analyst: &str, id: &str, filter: &str| schema.question(analyst, id, 20).count(filter).unwrap();
    let first = lines(people(5), vec![ask("ann", "a", all), ask("ben", "a", all), ask("ann", "a", all)]);
    // Of the second version, in which nobody is; asked twice while it is on its way, it is released once or
    // twice, alike.
    assert!(first.iter().all(|line| line == "10,0,0 a") && first.len() >= 2, "{first:?}");
    assert_eq!(recorder.sealed().len(), 2);
    let early = schema.question("ann", "b", 10).count(all).unwrap();
    assert_eq!(lines(people(5), vec![early.clone()]), ["0,5,0 b"]);
    // Other people came since, and other words are asked.
    let other = schema.question("ann", "b", 10).count("value > 5").unwrap();
    assert_eq!(lines(people(9), vec![other, ask("ann", "a", all)]), ["0,5,0 b", "10,0,0 a"]);
    assert_eq!(recorder.sealed().len(), 1, "something was sealed twice");
    // The job's version, stated; and a version of its own, which is another bundle.
    assert_eq!(lines_in(Some(1), people(9), vec![early.clone()]), ["0,5,0 b"]);
    assert_eq!(recorder.sealed(), []);
    assert_eq!(lines_in(Some(2), people(9), vec![early]), ["0,9,0 b"]);
}

// Refutes a question that is counted, or ends the run, although it cannot be answered: its people are released
// why, and the others are answered.
#[test]
fn what_cannot_be_answered_is_said_and_costs_nothing() {
    let other = Schema::new([Field::number("value")]).unwrap();
    let good = schema();
    let asks = [
        (good.question("ann", "good", 50).count("all"), None),
        (
            good.question("nobody", "1", 50).count("all"),
            Some("analyst: found an analyst without a share of the bundle; give an analyst who has one"),
        ),
        (other.question("ann", "2", 50).count("all"), Some("question: ")),
        (
            good.question("ann", "3", 9).count("all"),
            Some(
                "at: found a time before the first window is over; give 1970-01-01T00:00:00.00001Z or later",
            ),
        ),
        (good.question("ann", "4", Time::MIN).count("all"), Some("at: found a time ")),
    ];
    let recorder = Recorder::new(PrivacyUnit::Person);
    let sealing = recorder.clone();
    let (questions, fields): (Vec<_>, Vec<_>) =
        asks.into_iter().map(|(asked, field)| (asked.unwrap(), field)).unzip();
    let said = Arc::new(Mutex::new(BTreeMap::new()));
    let saying = Arc::clone(&said);
    let finished = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        let (questions, saying) = (questions.clone(), Arc::clone(&saying));
        worker.dataflow(|scope| {
            let records = feeds.stream(scope, All::of(events(&mut Random::new(1))));
            let questions = feeds.stream(scope, All::of(questions));
            let answered = records
                .protect(|visit: &Event| visit.0)
                .tumbling(span(10), |visit| visit.3)
                .between(0, HORIZON)
                .bound(Bound::keys(1))
                .answer(schema(), row, questions)
                .release_at(&sealing, "questions", Exactly::new());
            use crate::dataflow::engine::{Operator, Pipeline};
            answered.unanswered.sink(Pipeline, "Said", move |(input, _)| {
                input.for_each(|_, batch| {
                    let mut said = saying.lock().unwrap();
                    for unanswered in batch.drain(..) {
                        said.insert(unanswered.question().id().to_owned(), unanswered.why().to_string());
                    }
                });
            });
        });
        Ok(())
    });
    assert!(finished.is_ok(), "{finished:?}");
    let expected: BTreeMap<String, String> = fields
        .into_iter()
        .zip(["good", "1", "2", "3", "4"])
        .filter_map(|(field, id)| Some((id.to_owned(), field?.to_owned())))
        .collect();
    let said = said.lock().unwrap();
    assert!(said.keys().eq(expected.keys()), "{said:?}");
    assert!(expected.iter().all(|(id, words)| said[id].starts_with(words)), "{said:?}");
    assert_eq!(recorder.sealed().len(), 1);
}

// Refutes a sentence that promises what a bundle cannot keep: each is refused before a record is read.
#[test]
fn a_bundle_needs_an_end_and_one_key() {
    let refused = |bound: Bound, end: bool, skips: bool| {
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished = execute(Config::threads(1).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                let records = feeds.stream(scope, All::of(Vec::<Event>::new()));
                let questions = feeds.stream(scope, All::of(Vec::new()));
                let windows = records.protect(|visit: &Event| visit.0).tumbling(span(10), |visit| visit.3);
                let windows = if end { windows.between(0, HORIZON) } else { windows.from(0) };
                let windows = match skips {
                    true => windows.skipping(Arc::new(SystemClock), span(1)),
                    false => windows,
                };
                windows.bound(bound).answer(schema(), row, questions).release_at(
                    &recorder,
                    "q",
                    Exactly::new(),
                );
            });
            Ok(())
        });
        finished.unwrap_err().to_string()
    };
    for (bound, end, skips, field) in [
        (Bound::keys(2), true, false, "keys"),
        (Bound::keys(1).windows(3), true, false, "windows"),
        (Bound::keys(1), false, false, "until"),
        (Bound::keys(1), true, true, "skipping"),
    ] {
        let said = refused(bound, end, skips);
        assert!(said.contains(field), "{said}");
    }
}
