//! Questions of analysts about the records of a job, against plain code over the same lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::*;

/// A visit: its person, country, age and price in cents, and the hour at which it happens.
struct Visit {
    person: u64,
    country: &'static str,
    age: Option<i64>,
    cents: i64,
    hour: i64,
}

fn visits(people: u64) -> Vec<Visit> {
    let mut below = draws(5);
    let mut visits = Vec::new();
    for person in 0..people {
        for _ in 0..=below(3) {
            visits.push(Visit {
                person,
                country: ["DE", "AT", ""][below(3) as usize],
                age: (below(4) > 0).then(|| 10 + below(80) as i64),
                cents: below(9_999) as i64,
                hour: below(48) as i64,
            });
        }
    }
    visits
}

fn csv(visits: &[Visit]) -> String {
    let mut text = "who,time,country,age,price,id\n".to_owned();
    for (at, Visit { person, country, age, cents, hour }) in visits.iter().enumerate() {
        let age = age.map_or(String::new(), |age| age.to_string());
        let (day, hour) = (1 + hour / 24, hour % 24);
        let price = format!("{}.{:02}", cents / 100, cents % 100);
        writeln!(text, "p{person},2026-01-0{day}T{hour:02}:00:00Z,{country},{age},{price},{at}").unwrap();
    }
    text
}

/// A job with questions; the protected unit, and the most records of one that count.
fn job(unit: &str, bound: &str) -> String {
    format!(
        r#"
        [job]
        name = "shop"
        version = 1
        from = 2026-01-01T00:00:00Z
        until = 2026-01-03T00:00:00Z
        [source]
        type = "csv"
        path = "log.csv"
        time = {{ field = "time", format = "rfc3339" }}
        where = 'price < 90'
        [fields]
        decade = "floor of (age / 10)"
        [privacy]
        {unit}
        promise = "lifetime"
        budget = {{ epsilon = 20, delta = 1e-5 }}
        ledger = "shop.ledger"
        account = "shop"
        [[ask]]
        name = "study"
        every = "1 day"
        fields = {{ country = "text", age = "whole", decade = "whole", price = "2 digits", time = "time" }}
        {bound}
        answers = 1000
        analysts = {{ ann = 8, ben = 3 }}
        questions = "questions.jsonl"
        cost = {{ epsilon = 2, delta = 1e-6 }}
        "#
    )
}

const BY_PERSON: &str = "person = { field = \"who\", missing = \"drop\" }";

/// Questions with the plain code of each: the day that it is about, and the values that it is the mean of, if it is one.
type Plain = fn(&Visit) -> Option<Option<f64>>;

const QUESTIONS: [(&str, &str, i64, Plain); 6] = [
    ("a", r#""analyst":"ann","count":"all""#, 1, |_| Some(None)),
    ("b", r#""analyst":"ann","count":"age >= 18 and country != \"DE\"""#, 1, |visit| {
        (visit.age? >= 18 && visit.country == "AT").then_some(None)
    }),
    ("c", r#""analyst":"ann","mean":"price","of":[0,90],"where":"country in {\"AT\"}""#, 1, |visit| {
        (visit.country == "AT").then_some(Some(visit.cents as f64 / 100.0))
    }),
    (
        "d",
        r#""analyst":"ann","at":"2026-01-02T07:00:00Z","count":"time >= \"2026-01-01T12:00:00Z\"""#,
        0,
        |visit| (visit.hour >= 12).then_some(None),
    ),
    ("e", r#""analyst":"ben","mean":"age","of":[20,60],"where":"all""#, 1, |visit| {
        Some(Some(visit.age?.clamp(20, 60) as f64))
    }),
    ("f", r#""analyst":"ben","count":"decade = 4""#, 1, |visit| (visit.age? / 10 == 4).then_some(None)),
];

fn questions() -> String {
    let line = |(id, rest, ..): &(&str, &str, i64, Plain)| format!("{{\"id\":\"{id}\",{rest}}}\n");
    QUESTIONS.iter().map(line).collect()
}

fn plain(visits: &[Visit], day: i64, of: Plain) -> f64 {
    let there = visits.iter().filter(|visit| visit.hour / 24 == day && visit.cents < 9_000);
    let found: Vec<Option<f64>> = there.filter_map(of).collect();
    match found.iter().flatten().count() {
        0 => found.len() as f64,
        many => found.iter().flatten().sum::<f64>() / many as f64,
    }
}

/// The lines of a file by the id of their question.
fn answers(text: &str) -> BTreeMap<String, Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some((line["question"].as_str()?.to_owned(), line.clone()))).collect()
}

fn written(name: &str, visits: &[Visit]) -> Place {
    let place = Place::new(name);
    fs::write(place.0.join("log.csv"), csv(visits)).unwrap();
    fs::write(place.0.join("questions.jsonl"), questions()).unwrap();
    place
}

fn demo(place: &Place, job: &str, workers: usize) -> BTreeMap<String, Value> {
    let job = Job::parse(place.0.join("job.toml"), job).unwrap();
    let replay = Replay { workers, demo: true, out: Some(place.0.join("demo.jsonl")), ..Replay::default() };
    job.replay(replay).unwrap();
    answers(&place.read("demo.jsonl"))
}

// Refutes a question that is about other records than those of its window, a value that is read as another one, and an answer
// that depends on the number of workers.
#[test]
fn every_answer_is_of_what_plain_code_counts() {
    let visits = visits(300);
    let place = written("questions", &visits);
    let with_id = job(BY_PERSON, "bound = { per_key = 3 }")
        .replace("where = 'price < 90'", "where = 'price < 90'\nid = { field = \"id\" }");
    let jobs = [
        (job(BY_PERSON, "bound = { per_key = 3 }"), [1, 4]),
        (job("unit = \"record\"", ""), [2, 2]),
        (with_id, [2, 2]),
    ];
    for (text, workers) in jobs {
        for workers in &workers[..if workers[0] == workers[1] { 1 } else { 2 }] {
            let answers = demo(&place, &text, *workers);
            assert_eq!(answers.len(), QUESTIONS.len());
            for (id, _, day, of) in QUESTIONS {
                let line = &answers[id];
                let (expected, tally) = (plain(&visits, day, of), line["tally"].as_f64().unwrap());
                // A value of a mean is rounded to a step, of which half a range has some hundreds.
                let rounded = if expected.fract() == 0.0 { 0.0 } else { 0.2 };
                assert!((tally - expected).abs() <= rounded, "{id} on {workers}: {tally}, {expected}");
                let (low, high) = (line["interval"][0].as_f64(), line["interval"][1].as_f64());
                assert!(low.unwrap() - 1e-3 <= expected && expected <= high.unwrap() + 1e-3, "{line}");
            }
        }
    }
}

// Refutes a bound that is not kept, a second replay that draws again or pays again, an analyst who takes the answers of
// another, and an edit under which answers would go on as if nothing had changed.
#[test]
fn answers_are_bounded_paid_once_and_given_again() {
    let visits = visits(200);
    let place = written("asked", &visits);
    let text = job(BY_PERSON, "bound = { per_key = 1 }");
    let job = place.job(&text);
    let finished = place.replay(&job, 2, "out.jsonl");
    assert_eq!((finished.released(), finished.refused(), finished.exit_code()), (6, 0, 0));
    let first = place.read("out.jsonl");
    let people: std::collections::BTreeSet<u64> = (visits.iter())
        .filter(|visit| visit.hour / 24 == 1 && visit.cents < 9_000)
        .map(|visit| visit.person)
        .collect();
    let bound = job.plan().unwrap().asks[0].largest_error;
    let all = answers(&first)["a"]["value"].as_f64().unwrap();
    assert!((all - people.len() as f64).abs() <= bound, "{all}, {}", people.len());
    // Asked again, with one question more than ben has answers for, and one of somebody else.
    let more = r#"{"id":"g","analyst":"ben","count":"all"}
{"id":"h","analyst":"cat","count":"all"}
"#;
    fs::write(place.0.join("questions.jsonl"), questions() + more).unwrap();
    let finished = place.replay(&job, 1, "out.jsonl");
    let numbers =
        (finished.released(), finished.released_before(), finished.unanswered(), finished.exit_code());
    assert_eq!(numbers, (6, 6, 1, 0));
    let second = place.read("out.jsonl");
    let added = second.strip_prefix(&first).unwrap();
    let lines: Vec<&str> = added.lines().collect();
    assert_eq!(lines.len(), 2, "{added}");
    assert!(
        lines[0].contains("\"question\":\"g\"") && lines[0].contains("\"refused\":\"bundle\""),
        "{added}"
    );
    assert!(lines[1].contains("\"closed\":true"), "{added}");
    // A new file of either format receives all of them.
    place.replay(&job, 1, "other.jsonl");
    assert_eq!(place.read("other.jsonl"), second);
    place.replay(&job, 1, "other.csv");
    place.replay(&job, 1, "other.csv");
    let table = place.read("other.csv");
    assert_eq!(table.lines().count(), 1 + 2 * 7, "{table}");
    assert!(
        table.contains(",ben g,,") && table.contains(",unanswered,") && table.contains("count where all")
    );
    assert!(table.contains(",2026-01-01T00:00:00Z/2026-01-02T00:00:00Z,"), "{table}");
    // An edit that changes what is promised or counted needs another version.
    for (from, to) in
        [("per_key = 1", "per_key = 2"), ("\"2 digits\"", "\"3 digits\""), ("age / 10", "age / 5")]
    {
        let edited = Job::parse(place.0.join("job.toml"), &text.replace(from, to)).unwrap();
        let refused = edited.connect(None).unwrap_err().to_string();
        assert!(refused.contains("version"), "{to}: {refused}");
    }
    // The pipeline states the same terms as the check.
    let edited = Job::parse(place.0.join("job.toml"), &text.replace("price < 90", "price < 80")).unwrap();
    let refused = edited.replay(Replay { out: Some(place.0.join("out.jsonl")), ..Replay::default() });
    assert!(refused.unwrap_err().to_string().contains("where"));
    let connected = job.connect(None).unwrap();
    assert_eq!(connected.warnings(), connected.unanswerable);
    let [refused, unserved] = &connected.unanswerable[..] else { panic!("{connected:?}") };
    assert!(
        refused.contains(":7: question g of ben: id: found that of a question that was refused"),
        "{refused}"
    );
    assert!(
        unserved.contains(":8: question h of cat: analyst: found an analyst without a share"),
        "{unserved}"
    );
}
