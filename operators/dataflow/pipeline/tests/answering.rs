//! Questions against a table that sees every record at once, however the versions are kept.

mod again;
mod found;
mod neighbours;
mod said;

use super::recorder::Recorder;
use super::*;
use crate::accounting::{Adjacency, PrivacyCost, PrivacyUnit, ReleaseCost};
use crate::canonical::Digest;
use crate::dataflow::bounding::{Identified, KeptRecords, Net, Values};
use crate::invalid::Invalid;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::queries::{
    Answers, Field, MatchedTotals, Query, QueryRow, ReadyAnswers, Schema, Steps, Value,
};
use crate::mechanisms::{ContributionBound, Drawn, Head, Range, ReleaseLines};
use crate::noise::NoiseSource;

/// Counts what it receives.
#[derive(Clone)]
pub(super) struct Exactly(ReleaseCost);

impl Exactly {
    pub(super) fn new() -> Exactly {
        Exactly(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.5).unwrap()))
    }
}

pub(super) struct Released(String);

impl ReleaseLines for Released {
    fn lines(&self, _: &Head<'_>) -> String {
        format!("{}\u{1}", self.0)
    }
}

impl Sealed for Exactly {}

impl Answers for Exactly {
    type Prepared = Exactly;

    fn prepare(&self, limits: &ContributionBound, _: &Schema) -> Result<Exactly, Invalid> {
        let neighbours = Adjacency { unit: limits.unit(), ..Adjacency::PERSON };
        Ok(Exactly(ReleaseCost::new(neighbours, self.0.amount().clone())))
    }
}

impl ReadyAnswers for Exactly {
    type Answer = Released;

    fn cost(&self) -> &ReleaseCost {
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
        asked: &Query,
        found: MatchedTotals,
        version: Interval,
        _: Digest,
        _: Option<&[u8]>,
        _: &mut NoiseSource,
    ) -> Drawn<Released> {
        let MatchedTotals { matched, terms } = found;
        Drawn {
            answer: Released(format!("{},{matched},{terms} {}\n", version.start(), asked.id())),
            state: None,
            step: None,
        }
    }
}

pub(super) fn schema() -> Schema {
    let fields = [Field::number("value"), Field::text("path"), Field::time("when")];
    Schema::new(fields).unwrap().of_person("client").unwrap()
}

/// Some events lack a value, and some a path.
pub(super) fn row(event: &Event) -> QueryRow {
    let value = if event.2 == 7 { Value::None } else { Value::Number(event.2) };
    let path = if event.1 == 8 { Value::None } else { Value::Text(format!("/{}", event.1).into()) };
    QueryRow::new([value, path, Value::Number(event.3)])
}

/// A filter, with the function that decides which records match it.
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
pub(super) type Asked = (usize, usize, bool, Time);

fn question((number, sample, mean, at): &Asked) -> Query {
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

/// Runs a job with questions, each worker with its own part of both, and gives what was released and what was
/// not.
pub(super) fn asked<R: Clone + Send + Sync + 'static>(
    records: &[Script<R>],
    questions: &[Script<Asked>],
    answer: impl for<'s> Fn(Fed<'s, R>, Fed<'s, Query>) -> Replies<'s> + Send + Sync + 'static,
) -> (Result<Finished, RunError>, Vec<String>) {
    let (records, questions) = (records.to_vec(), questions.to_vec());
    let unanswered = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&unanswered);
    let count = records.iter().flat_map(|script| &script.0).map(|(records, _)| records.len()).sum();
    let finished = execute(configured(records.len(), count), move |worker, feeds| {
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

fn released(recorder: &Recorder) -> Vec<(String, Vec<i128>)> {
    let mut released: Vec<_> = recorder.sealed().into_iter().flat_map(|sealed| sealed.exact).collect();
    released.sort();
    released
}

/// Returns the answers of a case, computed at once, and the analysts whose queries are refused.
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
    /// The time in which one of the sources was not connected.
    gap: Option<(Time, Time)>,
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
        gap: None,
    }
}

/// An event that a row came from, as far as queries can distinguish.
fn event_of(row: &QueryRow) -> Event {
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
