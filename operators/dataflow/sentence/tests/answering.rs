//! Questions against a table that sees every record at once, however the versions are kept.

use super::recorder::Recorder;
use super::*;
use crate::accounting::{Amount, Cost, Neighbours, Unit};
use crate::canonical::Digest;
use crate::dataflow::bounding::{Identified, Kept, Net, Values};
use crate::invalid::Invalid;
use crate::mechanisms::answers::{Answers, Field, Found, Question, ReadyAnswers, Row, Schema, Steps, Value};
use crate::mechanisms::{Drawn, Head, Limits, Range, Tellable};
use crate::noise::Noise;

/// Tells what was counted, and where.
#[derive(Clone)]
struct Exactly(Cost);

impl Exactly {
    fn new() -> Exactly {
        Exactly(Cost::new(Neighbours::PERSON, Amount::zcdp(0.5).unwrap()))
    }
}

struct Told(String);

impl Tellable for Told {
    fn tell(&self, _: &Head<'_>) -> String {
        format!("{}\u{1}", self.0)
    }
}

impl Answers for Exactly {
    type Ready = Exactly;

    fn ready(&self, limits: &Limits, _: &Schema) -> Result<Exactly, Invalid> {
        let neighbours = Neighbours { unit: limits.unit(), ..Neighbours::PERSON };
        Ok(Exactly(Cost::new(neighbours, self.0.amount().clone())))
    }
}

impl ReadyAnswers for Exactly {
    type Answer = Told;

    fn cost(&self) -> &Cost {
        &self.0
    }

    fn parameters(&self) -> Digest {
        Digest::of(b"exactly")
    }

    fn steps(&self) -> Steps {
        Steps::new(1 << 20)
    }

    fn serves(&self, analyst: &str) -> bool {
        analyst != "nobody"
    }

    fn accepts(&self, _: &[u8]) -> Result<(), Invalid> {
        Ok(())
    }

    fn draw(
        &self,
        asked: &Question,
        found: Found,
        version: Interval,
        _: Digest,
        _: Option<&[u8]>,
        _: &mut Noise,
    ) -> Drawn<Told> {
        let Found { matched, terms } = found;
        Drawn { answer: Told(format!("{},{matched},{terms} {}\n", version.start(), asked.id())), state: None }
    }
}

fn schema() -> Schema {
    let fields = [Field::number("value"), Field::text("path"), Field::time("when")];
    Schema::new(fields).unwrap().of_person("client").unwrap()
}

/// Some events lack a value, and some a path.
fn row(event: &Event) -> Row {
    let value = if event.2 == 7 { Value::None } else { Value::Number(event.2) };
    let path = if event.1 == 8 { Value::None } else { Value::Text(format!("/{}", event.1).into()) };
    Row::new([value, path, Value::Number(event.3)])
}

/// What may be asked, and which records match: a filter that is read, beside one that is not.
type Sample = (&'static str, fn(&Event) -> bool);

const SAMPLES: [Sample; 6] = [
    ("all", |_| true),
    ("value > 0", |event| event.2 > 0 && event.2 != 7),
    ("not value > 0", |event| event.2 <= 0 || event.2 == 7),
    ("path in {\"/0\", \"/3\"} or value in -5..2", |event| {
        event.1 == 0 || event.1 == 3 || (-5..2).contains(&event.2)
    }),
    ("path != \"/1\" and value <= 20", |event| event.1 != 1 && event.1 != 8 && event.2 <= 20 && event.2 != 7),
    ("path = \"/nowhere\"", |_| false),
];

/// A question of a test: its number, which sample, whether a mean, and when.
type Asked = (usize, usize, bool, Time);

fn question((number, sample, mean, at): &Asked) -> Question {
    let (schema, id) = (schema(), number.to_string());
    let asking = schema.question("ann", &id, *at);
    let filter = SAMPLES[*sample].0;
    if *mean { asking.mean("value", "-40", "41", filter) } else { asking.count(filter) }.unwrap()
}

/// The question's number, the start of the version, how many matched, and the sum of their terms.
fn expected(found: &mut Vec<(String, Vec<i128>)>, asked: &Asked, version: Interval, rows: &[Event]) {
    let (number, sample, mean, _) = asked;
    let range = Range::new(-40, 41).unwrap();
    let counts = |event: &&Event| SAMPLES[*sample].1(event) && (!mean || event.2 != 7);
    let matched: Vec<&Event> = rows.iter().filter(counts).collect();
    let terms: i128 = match mean {
        true => matched.iter().map(|event| i128::from(Steps::new(1 << 20).term(&range, event.2))).sum(),
        false => 0,
    };
    found.push((number.to_string(), vec![version.start().into(), matched.len() as i128, terms]));
}

/// Runs a job with questions, each worker with its own part of both, and gives what was told and what was not.
fn asked<R: Clone + Send + Sync + 'static>(
    records: &[Script<R>],
    questions: &[Script<Asked>],
    answer: impl for<'s> Fn(Fed<'s, R>, Fed<'s, Question>) -> Answered<'s> + Send + Sync + 'static,
) -> (Result<Finished, Failure>, Vec<String>) {
    let (records, questions) = (records.to_vec(), questions.to_vec());
    let unanswered = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&unanswered);
    let finished = execute(Config::threads(records.len()).unwrap(), move |worker, feeds| {
        let (own, asks) = (&records[worker.index()], &questions[worker.index()]);
        let asks = Script(
            asks.0.iter().map(|(asked, word)| (asked.iter().map(question).collect(), *word)).collect(),
        );
        let seen = Arc::clone(&seen);
        worker.dataflow(|scope| {
            let records = feeds.stream(scope, own.clone().source());
            let questions = feeds.stream(scope, asks.source());
            let answered = answer(records, questions);
            use crate::dataflow::engine::{Operator, Pipeline};
            answered.unanswered.sink(Pipeline, "Seen", move |(input, _)| {
                input.for_each(|_, batch| {
                    seen.lock()
                        .unwrap()
                        .extend(batch.drain(..).map(|unanswered| unanswered.question().id().to_owned()));
                });
            });
        });
        Ok(())
    });
    let mut unanswered = std::mem::take(&mut *unanswered.lock().unwrap());
    unanswered.sort();
    (finished, unanswered)
}

fn told(recorder: &Recorder) -> Vec<(String, Vec<i128>)> {
    let mut told: Vec<_> = recorder.sealed().into_iter().flat_map(|sealed| sealed.exact).collect();
    told.sort();
    told
}

/// What a case comes to, worked out at once: what is told, and whose questions are not answered.
fn reference(
    schedule: &Schedule,
    late: i64,
    questions: &[Script<Asked>],
    rows: impl Fn(Interval) -> Vec<Event>,
) -> (Vec<(String, Vec<i128>)>, Vec<String>) {
    let (mut found, mut unanswered) = (Vec::new(), Vec::new());
    for (declared, asked) in given(questions) {
        let closed = (0..)
            .map_while(|number| schedule.window(number))
            .take_while(|window| window.end() + late <= asked.3);
        match closed.last().filter(|_| asked.3 >= declared) {
            Some(version) => expected(&mut found, &asked, version, &rows(version)),
            None => unanswered.push(asked.0.to_string()),
        }
    }
    found.sort();
    unanswered.sort();
    (found, unanswered)
}

fn questions(random: &mut Random, workers: usize) -> Vec<Script<Asked>> {
    let ask = |(number, random): (usize, &mut Random)| {
        (
            number,
            random.below(SAMPLES.len()),
            random.below(3) == 0,
            random.below(HORIZON as usize + 60) as Time - 10,
        )
    };
    let asked: Vec<Asked> = (0..30).map(|number| ask((number, random))).collect();
    divided(random, &asked, workers)
}

/// A job of one seed: its windows, and in which order questions come.
struct Case {
    schedule: Schedule,
    late: i64,
    per_key: u64,
    workers: usize,
    asks: Vec<Script<Asked>>,
}

fn case(seed: u64, random: &mut Random) -> Case {
    let schedule = match random.below(3) {
        0 => Schedule::tumbling(span(10), 0, Some(HORIZON)),
        1 => Schedule::sliding(span(30), span(10), 0, Some(HORIZON)),
        _ => Schedule::sliding(span(25), span(15), -20, Some(HORIZON)),
    };
    let workers = [1, 2, 4][seed as usize % 3];
    Case {
        schedule: schedule.unwrap(),
        late: random.pick(&[0, 0, 1, 7, 40]),
        per_key: random.pick(&[1, 2, 5]),
        workers,
        asks: questions(random, workers),
    }
}

impl Case {
    /// What one table would keep of each window, of what came in time for it.
    fn rows<R, P, K>(
        &self,
        given: &[(Time, R)],
        event: impl Fn(&R) -> &Event,
        rule: K,
        bring: impl Fn(&Chooser, &R, Row) -> (P, K::Value),
    ) -> impl Fn(Interval) -> Vec<Event>
    where
        P: bounding::Identity + Eq + Clone,
        K: Rule<Share = Vec<Row>>,
    {
        move |window| {
            let base = Chooser::new(recorder::SECRET);
            let own = if self.schedule.overlaps() { base.clone() } else { base.within(window.start()) };
            let mut table = Table::<P, (), K>::new(own, Cap::new(1, self.per_key).unwrap(), rule.clone());
            for (declared, record) in given {
                let event = event(record);
                if (window.start()..window.end()).contains(&event.3)
                    && declared.saturating_sub(self.late) < window.end()
                {
                    let (person, value) = bring(&base, record, row(event));
                    table.add(person, &(), value);
                }
            }
            let totals = table.close(|_| true, |total: &mut Vec<Row>, rows| total.extend(rows));
            totals.into_iter().flat_map(|(_, rows)| rows).map(|row| event_of(&row)).collect()
        }
    }

    /// Compares, however versions are kept.
    fn check<R: Clone + Send + Sync + 'static>(
        &self,
        (seed, unit): (u64, Unit),
        scripts: &[Script<R>],
        rows: impl Fn(Interval) -> Vec<Event>,
        answer: impl for<'s> Fn(
            Fed<'s, R>,
            Fed<'s, Question>,
            (&Schedule, i64, Bound),
            bool,
            &Recorder,
        ) -> Answered<'s>
        + Clone
        + Send
        + Sync
        + 'static,
    ) {
        let expected = reference(&self.schedule, self.late, &self.asks, rows);
        for together in [false, true] {
            let recorder = Recorder::new(unit);
            let (sealing, answer) = (recorder.clone(), answer.clone());
            let (schedule, late, bound) =
                (self.schedule.clone(), self.late, Bound::keys(1).per_key(self.per_key));
            let (finished, unanswered) = asked(scripts, &self.asks, move |records, questions| {
                answer(records, questions, (&schedule, late, bound), together, &sealing)
            });
            assert!(finished.is_ok(), "seed {seed}: {finished:?}");
            assert_eq!((told(&recorder), unanswered), expected, "seed {seed}, together {together}");
        }
    }
}

// Refutes an answer about another version than the newest that is complete at the question's time; a record that counts in
// a version in which it does not, or that stays in one; a person with too many records; a filter that is read otherwise;
// and whatever depends on workers, batches, order, or on how versions are kept.
#[test]
fn every_question_finds_what_one_table_would() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let mut records = events(&mut random);
        // Some come twice.
        for _ in 0..random.below(30) {
            if !records.is_empty() {
                records.push(records[random.below(records.len())]);
            }
        }
        let scripts = divided(&mut random, &records, case.workers);
        let given = given(&scripts);
        let rule = Kept::new(Values::new());
        let bring =
            |base: &Chooser, event: &Event, row: Row| (event.0, (base.record(&(event.3, row.clone())), row));
        let rows = case.rows(&given, |event| event, rule, bring);
        case.check(
            (seed, Unit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, office| {
                visits
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound)
                    .answer(schema(), row, questions)
                    .kept_for_tests_of_the_library_itself(together)
                    .release_at(office, "questions", Exactly::new())
            },
        );
    }
}

// Refutes a duplicate that counts, and an id that is one for all persons.
#[test]
fn questions_find_one_record_of_an_id() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let scripts = divided(&mut random, &events(&mut Random::new(seed)), case.workers);
        let given = given(&scripts);
        let bring = |_: &Chooser, event: &Event, row: Row| (event.0, (event.4 % 40, row));
        let rows = case.rows(&given, |event| event, Identified::new(Values::new()), bring);
        case.check(
            (seed, Unit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, office| {
                visits
                    .protect(|visit: &Event| visit.0)
                    .identified_by(|visit| visit.4 % 40)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound)
                    .answer(schema(), row, questions)
                    .kept_for_tests_of_the_library_itself(together)
                    .release_at(office, "questions", Exactly::new())
            },
        );
    }
}

// Refutes a retraction that is ignored while its window is open, or obeyed once it has closed; a net below zero; a change of
// a later time that is taken for one of now; and a bound before the net.
#[test]
fn questions_find_nothing_that_was_taken_back_in_time() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = case(seed, &mut random);
        let mut changes: Vec<(Event, Time, isize)> = Vec::new();
        for event in events(&mut random) {
            for _ in 0..1 + random.below(3) {
                changes.push((event, random.below(HORIZON as usize) as Time, random.pick(&[1, 1, -1, 2])));
            }
        }
        let scripts = divided(&mut random, &changes, case.workers);
        let given: Vec<_> =
            given(&scripts).into_iter().map(|(declared, change)| (declared.max(change.1), change)).collect();
        let bring = |_: &Chooser, (event, _, change): &(Event, Time, isize), row: Row| {
            (event.0, (*event, row, *change as i64))
        };
        let rows = case.rows(&given, |(event, _, _)| event, Net::new(Values::new()), bring);
        case.check(
            (seed, Unit::Person),
            &scripts,
            rows,
            |visits, questions, (schedule, late, bound), together, office| {
                visits
                    .protect_collection(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(bound)
                    .answer(schema(), row, questions)
                    .kept_for_tests_of_the_library_itself(together)
                    .release_at(office, "questions", Exactly::new())
            },
        );
    }
}

// Refutes a record that is bounded with others, or that is counted by two workers.
#[test]
fn questions_find_each_record_by_itself() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let case = Case { per_key: 1, ..case(seed, &mut random) };
        let numbered: Vec<Event> = events(&mut random);
        let scripts = divided(&mut random, &numbered, case.workers);
        let given: Vec<_> =
            given(&scripts).into_iter().zip(0u64..).map(|((at, event), n)| (at, (n, event))).collect();
        // Everybody has one.
        let bring =
            |base: &Chooser, (number, _): &(u64, Event), row: Row| (*number, (base.record(number), row));
        let rows = case.rows(&given, |(_, event)| event, Kept::new(Values::new()), bring);
        case.check(
            (seed, Unit::Record),
            &scripts,
            rows,
            |visits, questions, (schedule, late, _), together, office| {
                visits
                    .protect_each()
                    .scheduled(schedule.clone(), |visit: &Event| visit.3)
                    .late_by(late)
                    .one_by_one()
                    .answer(schema(), row, questions)
                    .kept_for_tests_of_the_library_itself(together)
                    .release_at(office, "questions", Exactly::new())
            },
        );
    }
}

/// An event that a row came from, as far as questions can tell.
fn event_of(row: &Row) -> Event {
    let [value, path, when] = row.values() else { panic!() };
    let number = |value: &Value| match value {
        Value::Number(number) => *number,
        _ => 7,
    };
    let path = match path {
        Value::Text(path) => path[1..].parse().unwrap(),
        _ => 8,
    };
    (0, path, number(value), number(when), 0)
}

// Refutes a question that is counted anew, or about other data, because it is asked again: in one run, in the next, with
// other words under the same id, and by somebody else under another's id.
#[test]
fn what_was_answered_is_answered_so_again() {
    let recorder = Recorder::new(Unit::Person);
    let schedule = Schedule::tumbling(span(10), 0, Some(HORIZON)).unwrap();
    let lines = |records: Vec<Event>, questions: Vec<Question>| {
        let (sealing, schedule) = (recorder.clone(), schedule.clone());
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = Arc::clone(&told);
        let finished = execute(Config::threads(2).unwrap(), move |worker, feeds| {
            let mine = worker.index() == 0;
            let records = if mine { records.clone() } else { Vec::new() };
            let questions = if mine { questions.clone() } else { Vec::new() };
            let telling = Arc::clone(&telling);
            worker.dataflow(|scope| {
                let (records, questions) =
                    (feeds.stream(scope, All::of(records)), feeds.stream(scope, All::of(questions)));
                records
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .bound(Bound::keys(1))
                    .answer(schema(), row, questions)
                    .release_at(&sealing, "questions", Exactly::new())
                    .releases
                    .deliver(move |release| {
                        telling
                            .lock()
                            .unwrap()
                            .push(release.line().trim_end_matches('\u{1}').trim().to_owned());
                        Ok(())
                    });
            });
            Ok(())
        });
        assert!(finished.is_ok(), "{finished:?}");
        let mut told = told.lock().unwrap().clone();
        told.sort();
        told
    };
    let people = |people: u64| (0..people).map(|person| (person, 0, 1, 3, person)).collect::<Vec<Event>>();
    let (schema, all) = (schema(), "all");
    let ask = |analyst: &str, id: &str, filter: &str| schema.question(analyst, id, 20).count(filter).unwrap();
    let first = lines(people(5), vec![ask("ann", "a", all), ask("ben", "a", all), ask("ann", "a", all)]);
    // Of the second version, in which nobody is; asked twice while it is on its way, it is told once or twice, alike.
    assert!(first.iter().all(|line| line == "10,0,0 a") && first.len() >= 2, "{first:?}");
    assert_eq!(recorder.sealed().len(), 2);
    let early = schema.question("ann", "b", 10).count(all).unwrap();
    assert_eq!(lines(people(5), vec![early.clone()]), ["0,5,0 b"]);
    // Other people came since, and other words are asked.
    let other = schema.question("ann", "b", 10).count("value > 5").unwrap();
    assert_eq!(lines(people(9), vec![other, ask("ann", "a", all)]), ["0,5,0 b", "10,0,0 a"]);
    assert_eq!(recorder.sealed().len(), 1, "something was sealed twice");
}

// Refutes a question that is counted, or ends the run, although it cannot be answered: its people are told why, and the
// others are answered.
#[test]
fn what_cannot_be_answered_is_said_and_costs_nothing() {
    let other = Schema::new([Field::number("value")]).unwrap();
    let good = schema();
    let asks = [
        (good.question("ann", "good", 50).count("all"), None),
        (good.question("nobody", "1", 50).count("all"), Some("analyst")),
        (other.question("ann", "2", 50).count("all"), Some("question")),
        (good.question("ann", "3", 9).count("all"), Some("at")),
        (good.question("ann", "4", Time::MIN).count("all"), Some("at")),
    ];
    let recorder = Recorder::new(Unit::Person);
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
                        said.insert(
                            unanswered.question().id().to_owned(),
                            unanswered.why().field().to_owned(),
                        );
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
    assert_eq!(*said.lock().unwrap(), expected);
    assert_eq!(recorder.sealed().len(), 1);
}

// Refutes a sentence that promises what a bundle cannot keep: each is refused before a record is read.
#[test]
fn a_bundle_needs_an_end_and_one_key() {
    let refused = |bound: Bound, end: bool, skips: bool| {
        let recorder = Recorder::new(Unit::Person);
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

// Refutes an answer that one person moves by more than was said, in any version, and a question that is answered or not
// because of who is there.
#[test]
fn one_person_moves_every_answer_by_no_more_than_was_said() {
    let mut reached = [0i128; 2];
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let case = Case { per_key: 2, ..case(seed, &mut random) };
        let records = events(&mut random);
        let target = random.below(4) as u64;
        let scripts = divided(&mut random, &records, case.workers);
        let without: Vec<Script<Event>> = scripts
            .iter()
            .map(|script| {
                let others = |(records, word): &(Vec<Event>, Pulled)| {
                    (records.iter().filter(|event| event.0 != target).copied().collect(), *word)
                };
                Script(script.0.iter().map(others).collect())
            })
            .collect();
        let together = random.below(2) == 0;
        let [(one, unanswered), (other, same)] = [scripts, without].map(|scripts| {
            let (recorder, schedule, late) = (Recorder::new(Unit::Person), case.schedule.clone(), case.late);
            let sealing = recorder.clone();
            let (finished, unanswered) = asked(&scripts, &case.asks, move |visits, questions| {
                visits
                    .protect(|visit: &Event| visit.0)
                    .scheduled(schedule.clone(), |visit| visit.3)
                    .late_by(late)
                    .bound(Bound::keys(1).per_key(2))
                    .answer(schema(), row, questions)
                    .kept_for_tests_of_the_library_itself(together)
                    .release_at(&sealing, "questions", Exactly::new())
            });
            assert!(finished.is_ok(), "seed {seed}: {finished:?}");
            (told(&recorder), unanswered)
        });
        assert_eq!(unanswered, same);
        assert_eq!(one.len(), other.len());
        for ((id, one), (same, other)) in one.iter().zip(&other) {
            assert_eq!((id, one[0]), (same, other[0]), "another version was asked");
            let moved = [(one[1] - other[1]).abs(), (one[2] - other[2]).abs()];
            assert!(moved[0] <= 2 && moved[1] <= 2 << 20, "seed {seed}: {moved:?}");
            reached = [reached[0].max(moved[0]), reached[1].max(moved[1])];
        }
    }
    assert!(reached[0] == 2 && reached[1] > 2 * (99 << 20) / 100, "{reached:?}: too weak a test");
}
