//! Statistics by rank, against an oracle that sorts.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::*;

/// A record: its person, its key, and its value in cents.
struct Row {
    person: u64,
    key: u64,
    cents: i64,
}

/// Every person has the same three keys, with one to four records in each.
fn rows(people: u64) -> Vec<Row> {
    let mut next = draws(7);
    let mut rows = Vec::new();
    for person in 0..people {
        for key in 0..3 {
            for _ in 0..=next(4) {
                // Nearly all values are small.
                let cents = (next(2_000) * (1 + next(3)) / (1 + next(9))) as i64;
                rows.push(Row { person, key, cents });
            }
        }
    }
    rows
}

fn csv(rows: &[Row]) -> String {
    let mut text = "who,key,price,time\n".to_owned();
    for (at, Row { person, key, cents }) in rows.iter().enumerate() {
        let price = format!("{}.{:02}", cents / 100, cents % 100);
        writeln!(text, "p{person},k{key},{price},2026-01-0{}T00:00:00Z", 1 + at % 9).unwrap();
    }
    text
}

fn job(keys: u64, per_key: u64) -> String {
    let by = "by = \"key\", keys = [\"k0\", \"k1\", \"k2\"]";
    format!(
        r#"
        [job]
        name = "prices"
        version = 1
        [source]
        type = "csv"
        path = "log.csv"
        [privacy]
        person = {{ field = "who", missing = "drop" }}
        promise = "lifetime"
        budget = {{ epsilon = 60, delta = 1e-6 }}
        ledger = "prices.ledger"
        account = "prices"
        [[release]]
        name = "spent"
        every = "all"
        max = {{ of = "price", each = "sum", grid = {{ log = 0.01 }}, {by} }}
        bound = {{ keys = {keys} }}
        noise = "gaussian"
        share = 0.2
        [[release]]
        name = "dearest"
        every = "all"
        max = {{ of = "price", grid = {{ from = 0, to = 40, step = 0.5 }}, by = "key", keys = "discover" }}
        bound = {{ keys = {keys} }}
        noise = "laplace"
        share = 0.2
        [[release]]
        name = "most"
        every = "all"
        max = {{ each = "count", grid = "log", {by} }}
        bound = {{ keys = {keys} }}
        noise = "exponential"
        share = 0.2
        [[release]]
        name = "prices"
        every = "all"
        quantile = {{ of = "price", q = [0.05, 0.5, 0.95], range = [0, 40], step = 0.25, {by} }}
        bound = {{ keys = {keys}, per_key = {per_key} }}
        noise = "exponential"
        share = 0.2
        [[release]]
        name = "median"
        every = "all"
        quantile = {{ of = "price", q = 0.5, range = [0, 40] }}
        bound = {{ per_key = {per_key} }}
        noise = "exponential"
        share = 0.1
        [[release]]
        name = "lines"
        every = "all"
        quantile = {{ each = "count", q = [0.25, 0.9], range = [0, 20], {by} }}
        bound = {{ keys = {keys} }}
        noise = "exponential"
        share = 0.05
        [[release]]
        name = "baskets"
        every = "all"
        quantile = {{ of = "price", each = "sum", q = 0.5, range = [0, 90], step = 0.25, {by} }}
        bound = {{ keys = {keys} }}
        noise = "exponential"
        share = 0.05
        "#
    )
}

/// The same job under pure epsilon, with the noise distributions that have no delta.
fn pure(job: &str) -> String {
    let job = job.replace("gaussian", "laplace").replace(", delta = 1e-6", "");
    let job = job.replace("\"discover\"", "[\"k0\", \"k1\", \"k2\"]");
    let (before, prices) = job.split_once("quantile").unwrap();
    format!("{before}quantile{}", prices.replacen("exponential", "permute-and-flip", 1))
}

/// Lines by release, key and quantile.
type Lines = BTreeMap<[String; 3], Value>;

fn demo(place: &Place, workers: usize, out: &str) -> Lines {
    let job = Job::open(place.0.join("job.toml")).unwrap();
    let replay = Replay { workers, demo: true, out: Some(place.0.join(out)), ..Replay::default() };
    job.replay(replay).unwrap();
    let text = place.read(out);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let printed = lines.filter(|line| line.get("value").is_some());
    let name = |line: &Value, field: &str| line.get(field).map_or(String::new(), ToString::to_string);
    printed
        .map(|line| (["release", "key", "q"].map(|field| name(&line, field).replace('"', "")), line))
        .collect()
}

/// A number in millionths: answers may be finer than cents.
fn fine(number: &Value) -> i64 {
    (number.as_f64().unwrap() * 1e6).round() as i64
}

/// One value for each person with a record of the key.
fn own(rows: &[Row], key: &str, each: impl Fn(&mut i64, i64)) -> Vec<i64> {
    let mut people: BTreeMap<u64, i64> = BTreeMap::new();
    let mine = rows.iter().filter(|row| format!("k{}", row.key) == key);
    mine.for_each(|row| each(people.entry(row.person).or_default(), row.cents * 10_000));
    people.into_values().collect()
}

/// The exact quantile, and the rank error of the answer in values.
/// `points` are the distance of two answers and the last of them.
fn quantile(mut values: Vec<i64>, q: f64, (step, last): (i64, i64), answer: i64) -> (i64, i64) {
    values.sort_unstable();
    // Each at its answer, or at the one above.
    let at: Vec<i64> = values.iter().map(|value| ((value + step - 1) / step * step).min(last)).collect();
    let (count, parts) = (values.len() as i128, (q * 1e6).round() as i128);
    let rank = (count * parts + 999_999) / 1_000_000;
    let below = at.iter().filter(|value| **value < answer).count() as i128;
    let up_to = at.iter().filter(|value| **value <= answer).count() as i128;
    let (low, high) = (below * 1_000_000 - count * parts, count * parts - up_to * 1_000_000);
    ((values[rank as usize - 1]), ((low.max(high).max(0) + 999_999) / 1_000_000) as i64)
}

// Refutes a tally, an exact value or a rank error that differs from the sorted list, one that depends on the
// number of workers, a line with the wrong kind of bound, and a bound that is not kept.
#[test]
fn a_demo_says_what_is_so_and_by_how_many_people_it_is_off() {
    let place = Place::new("ranks");
    let rows = rows(400);
    fs::write(place.0.join("log.csv"), csv(&rows)).unwrap();
    let mixed = job(3, 12);
    for (text, workers) in [(&mixed, 1), (&mixed, 2), (&mixed, 4), (&pure(&mixed), 2)] {
        fs::write(place.0.join("job.toml"), text).unwrap();
        let lines = demo(&place, workers, &format!("{workers}.jsonl"));
        assert_eq!(lines.len(), 3 + 3 + 3 + 9 + 1 + 6 + 3);
        let mut kept = 0;
        for ([release, key, q], line) in &lines {
            let answer = fine(&line["value"]);
            let (exact, off) = match release.as_str() {
                "spent" => largest(own(&rows, key, |sum, cents| *sum += cents), answer, i64::MAX),
                "dearest" => {
                    largest(own(&rows, key, |most, cents| *most = cents.max(*most)), answer, 40_000_000)
                }
                "most" => largest(own(&rows, key, |count, _| *count += 1_000_000), answer, i64::MAX),
                "lines" => {
                    let counts = own(&rows, key, |count, _| *count += 1_000_000);
                    quantile(counts, q.parse().unwrap(), (1_000_000, 20_000_000), answer)
                }
                "baskets" => {
                    let sums = own(&rows, key, |sum, cents| *sum += cents);
                    quantile(sums, q.parse().unwrap(), (250_000, 90_000_000), answer)
                }
                _ => {
                    let mine = rows.iter().filter(|row| key.is_empty() || format!("k{}", row.key) == *key);
                    // Of the median alone a million answers or more.
                    let points = if release == "prices" { (250_000, 40_000_000) } else { (1, 40_000_000) };
                    quantile(mine.map(|row| row.cents * 10_000).collect(), q.parse().unwrap(), points, answer)
                }
            };
            assert_eq!((fine(&line["tally"]), fine(&line["truth"])), (exact, exact), "{line}");
            assert_eq!(line["off"].as_i64(), Some(off), "{line}");
            let noise = &line["noise"];
            let allowed = match noise["tau"].as_i64() {
                Some(tau) => 2 * tau,
                None => noise["rank_error"].as_i64().unwrap(),
            };
            let is_quantile = matches!(release.as_str(), "prices" | "median" | "lines" | "baskets");
            assert_eq!(noise["tau"].is_null(), is_quantile, "{line}");
            assert!(allowed > 0 && allowed < 300, "{line}");
            // An answer above everybody's value has no rank error.
            let within = !q.is_empty() || fine(&line["interval"][0]) <= exact;
            kept += u64::from(within && off <= allowed);
        }
        // Each answer keeps its bound with probability 0.99: fewer than 23 of 28 do so less than once in ten
        // million times.
        assert!(kept >= 23, "{kept} of {}", lines.len());
    }
}

/// The exact maximum and the rank error of an answer; an answer at the end of the grid stands for all values
/// beyond it.
fn largest(people: Vec<i64>, answer: i64, last: i64) -> (i64, i64) {
    let above = people.iter().filter(|value| **value > answer && answer < last).count();
    (*people.iter().max().unwrap(), above as i64)
}

// Refutes a contribution selection that differs between one and two workers.
#[test]
fn who_is_bounded_is_bounded_the_same_on_all_workers() {
    let place = Place::new("ranks-bounded");
    let rows = rows(300);
    fs::write(place.0.join("log.csv"), csv(&rows)).unwrap();
    fs::write(place.0.join("job.toml"), job(1, 2)).unwrap();
    let exact = |workers: usize| -> BTreeMap<[String; 3], [Value; 2]> {
        let lines = demo(&place, workers, &format!("{workers}.jsonl"));
        lines
            .into_iter()
            .map(|(name, line)| (name, ["tally", "truth"].map(|field| line[field].clone())))
            .collect()
    };
    let first = exact(1);
    assert!(first.values().any(|[tally, truth]| tally != truth), "nobody is bounded");
    assert!(exact(2) == first && exact(4) == first);
}
