//! `rollup`: the lines of parents, against plain code over the same records.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;

/// A record: its person, its day, both parts of its key, and its price in cents.
struct Visit {
    person: u64,
    day: u64,
    key: [String; 2],
    cents: i64,
}

const DAYS: u64 = 3;
const METHODS: [&str; 3] = ["GET", "POST, PUT", "PUT"];
const STATUSES: [&str; 4] = ["200", "304", "404", "500"];

/// Visits of people with up to seven records each, and a key of one person a day.
fn visits(people: u64) -> Vec<Visit> {
    let mut below = draws(7);
    let mut visits = Vec::new();
    for person in 0..people {
        for _ in 0..=below(6) {
            let (day, cents) = (below(DAYS), below(3_000) as i64);
            let key = [METHODS[below(3) as usize], STATUSES[below(4) as usize]].map(str::to_owned);
            visits.push(Visit { person, day, key, cents });
        }
    }
    visits.extend((0..DAYS).map(|day| {
        let key = ["GET".to_owned(), "418".to_owned()];
        Visit { person: day, day, key, cents: 700 }
    }));
    visits
}

fn csv(visits: &[Visit]) -> String {
    let mut text = "who,method,status,price,time\n".to_owned();
    for Visit { person, day, key: [method, status], cents } in visits {
        let price = in_cents(*cents);
        writeln!(text, "p{person},\"{method}\",{status},{price},2026-01-0{}T00:00:00Z", day + 1).unwrap();
    }
    text
}

/// A job with a bound of these keys and records of a person.
fn job(keys: u64, per_key: u64) -> String {
    let pairs =
        METHODS.iter().flat_map(|method| STATUSES.map(|status| format!("[\"{method}\", \"{status}\"]")));
    let listed = format!("keys = [{}]", pairs.collect::<Vec<_>>().join(", "));
    let discovered = "keys = \"discover\"".to_owned();
    let by = "by = [\"method\", \"status\"]";
    let release = |name: &str, fields: &str, keys_of: &str, noise: &str| {
        let (word, own) = fields.split_once('|').unwrap();
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\n{word} = {{ {own} {by}, {keys_of} }}\n\
             bound = {{ keys = {keys}, per_key = {per_key} }}\nnoise = \"{noise}\"\nshare = 0.12\n"
        )
    };
    let rolled = |keys: &str| format!("{keys}, rollup = true");
    let of = "of = \"price\", range = [0, 30],";
    let sum = "of = \"price\", range = [0, 1000],";
    let ratio = "of = \"price\", range = [0, 30], per = \"price\", per_range = [1, 30],";
    let releases = [
        release("count", "count|", &rolled(&listed), "gaussian"),
        release("found", "count|", &rolled(&discovered), "laplace"),
        release("alone", "count|", &listed, "gaussian"),
        release("sum", &format!("sum|{sum}"), &rolled(&discovered), "gaussian"),
        release("mean", &format!("mean|{of}"), &rolled(&listed), "laplace"),
        release("variance", &format!("variance|{of}"), &rolled(&listed), "gaussian"),
        release("ratio", &format!("ratio|{ratio}"), &rolled(&discovered), "gaussian"),
    ];
    csv_job("visits", DAYS as u32, "epsilon = 450, delta = 1e-6", &releases.concat())
}

/// Lines by release, day and key.
type Lines = BTreeMap<(String, u64, Vec<String>), Value>;

fn demo(place: &Place, workers: usize) -> Lines {
    (demo_lines(place, workers).into_iter())
        .map(|line| {
            let day = line["window"]["start"].as_str().unwrap()[8..10].parse::<u64>().unwrap() - 1;
            let key = line["key"].as_array().unwrap().iter().map(|part| part.as_str().unwrap().to_owned());
            ((line["release"].as_str().unwrap().to_owned(), day, key.collect()), line)
        })
        .collect()
}

/// The number that plain code makes of the prices of a key.
fn expected(release: &str, prices: &[f64]) -> f64 {
    let (count, sum) = (prices.len() as f64, prices.iter().sum::<f64>());
    match release {
        "count" | "found" | "alone" => count,
        "sum" => sum,
        "mean" => sum / count,
        "variance" => prices.iter().map(|price| (price - sum / count).powi(2)).sum::<f64>() / count,
        "ratio" => sum / prices.iter().map(|price| price.max(1.0)).sum::<f64>(),
        other => panic!("{other}"),
    }
}

// Refutes a parent that lacks a key, an undiscovered one or one of the list, or has a key that is not listed; a number of workers on which
// a number depends; a parent that is missing, or that is there twice; and an interval of a parent that is not about the tally.
#[test]
fn every_parent_is_what_plain_code_makes_of_the_records() {
    let place = Place::new("rollup");
    let visits = visits(1_500);
    fs::write(place.0.join("log.csv"), csv(&visits)).unwrap();
    fs::write(place.0.join("job.toml"), job(13, 9)).unwrap();
    for workers in [1, 2, 4] {
        let lines = demo(&place, workers);
        let parents = lines.values().filter(|line| line.get("rollup").is_some()).count();
        // Three methods a day of six of seven releases.
        assert_eq!(parents as u64, 3 * DAYS * 6);
        let mut held = 0;
        for ((release, day, key), line) in &lines {
            assert_eq!(line.get("rollup").is_some(), key.len() == 1, "{line}");
            let is_listed = !["found", "sum", "ratio"].contains(&release.as_str());
            let of = |visit: &&Visit| {
                visit.day == *day && visit.key.starts_with(key) && !(is_listed && visit.key[1] == "418")
            };
            let prices: Vec<f64> = visits.iter().filter(of).map(|visit| visit.cents as f64 / 100.0).collect();
            let number = expected(release, &prices);
            let tally = line["tally"].as_f64().unwrap();
            assert!((tally - number).abs() < 1e-3, "{number} on {workers} workers: {line}");
            if release != "ratio" {
                let truth = line["truth"].as_f64().unwrap();
                assert!((truth - number).abs() < 1e-3, "{number} on {workers} workers: {line}");
            }
            assert!(key[1..] != ["418"], "one person's key is published: {line}");
            let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
            held += usize::from(key.len() == 1 && low <= tally && tally <= high);
        }
        // Nine of ten hold: of 54 fewer than 39 do so less than once in ten thousand times.
        assert!(held >= 39, "{held} of {parents}");
    }
}

// Refutes a contribution bound that a roll-up changes, one that differs between numbers of workers, and parents of other records than
// those that are kept.
#[test]
fn a_rollup_keeps_the_records_that_are_kept_without_it() {
    let place = Place::new("rollup-bounded");
    fs::write(place.0.join("log.csv"), csv(&visits(400))).unwrap();
    fs::write(place.0.join("job.toml"), job(2, 1)).unwrap();
    let exact = |workers: usize| -> BTreeMap<(String, u64, Vec<String>), i64> {
        let counts = ["count", "found", "alone"];
        let lines =
            demo(&place, workers).into_iter().filter(|((name, ..), _)| counts.contains(&name.as_str()));
        lines.map(|(name, line)| (name, line["tally"].as_i64().unwrap())).collect()
    };
    let first = exact(1);
    for ((release, day, key), tally) in &first {
        let of = |other: &str| first.get(&(other.to_owned(), *day, key.clone()));
        match &key[..] {
            [_, _] if release == "count" => assert_eq!(of("alone"), Some(tally), "{day} {key:?}"),
            [method] if release == "count" => {
                let below = |((name, on, own), _): &(&(String, u64, Vec<String>), &i64)| {
                    (name.as_str(), on) == ("alone", day) && own[0] == *method
                };
                let sum: i64 = first.iter().filter(below).map(|(_, tally)| tally).sum();
                assert_eq!(sum, *tally, "{day} {key:?}");
            }
            _ => {}
        }
    }
    assert!(exact(2) == first && exact(4) == first);
}

// Refutes a plan that states other moves, noise or prices than are had, and a charge that differs from that of the keys alone.
#[test]
fn a_plan_states_both_levels() {
    let place = Place::new("rollup-plan");
    let plan = place.job(&job(5, 2)).plan().unwrap();
    let moved = |release: usize| -> Vec<(String, f64, f64, f64)> {
        let moves = plan.releases[release].moves.iter();
        moves.map(|moves| (moves.number.to_string(), moves.l0, moves.linf, moves.l2)).collect()
    };
    // Of a method four statuses are listed: a person is in all of them, and in one of another.
    let squares = 2.0 * 17f64.sqrt();
    let own = ("records".to_owned(), 5.0, 2.0, 20f64.sqrt());
    assert_eq!(moved(0), [own.clone(), ("records one level up".to_owned(), 3.0, 8.0, squares)]);
    assert_eq!(moved(1), [own.clone(), ("records one level up".to_owned(), 5.0, 10.0, 10.0)]);
    assert_eq!(moved(2), [own]);
    let [rolled, alone] = [0, 2].map(|release| &plan.releases[release]);
    assert_eq!(rolled.cost.rho, alone.cost.rho);
    let ratio = rolled.noise[0].scale / alone.noise[0].scale;
    assert!((ratio - 2f64.sqrt()).abs() < 1e-6, "{ratio}");
    let above = rolled.noise[1].scale / alone.noise[0].scale;
    assert!((above - (2.0 * 17.0 * 4.0 / 20f64).sqrt()).abs() < 1e-6, "{above}");
    assert!(rolled.noise.iter().all(|noise| noise.one_outside_of == 10));
    assert_eq!(rolled.people_for_a_tenth, (10.0 * rolled.noise[0].interval).ceil() as u64);
    let page = plan.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "count: how many records of each method and status, and of each method",
        "records one level up in 3 cells by up to 8: L1 10",
        "gaussian on records one level up, sigma",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}
