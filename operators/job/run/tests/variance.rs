//! `variance`, by window and key, against plain code over the same lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;

/// A record: its person, its day, its key, and its price in cents, if it has one.
struct Sale {
    person: u64,
    day: u64,
    key: u64,
    cents: Option<i64>,
}

const DAYS: u64 = 4;

fn sales(people: u64) -> Vec<Sale> {
    let mut below = draws(3);
    let mut sales = Vec::new();
    for person in 0..people {
        for _ in 0..=below(6) {
            let cents = (below(8) > 0).then(|| below(6_000) as i64 - 500);
            let (day, key) = (below(DAYS), below(3));
            sales.push(Sale { person, day, key, cents });
        }
    }
    sales
}

fn csv(sales: &[Sale]) -> String {
    let mut text = "who,key,price,time\n".to_owned();
    for Sale { person, day, key, cents } in sales {
        let price = cents.map_or(String::new(), in_cents);
        writeln!(text, "p{person},k{key},{price},2026-01-0{}T00:00:00Z", day + 1).unwrap();
    }
    text
}

/// A job with a bound of these keys and records of a person.
fn job(keys: u64, per_key: u64) -> String {
    let by = "by = \"key\", keys = [\"k0\", \"k1\", \"k2\"]";
    let release = |name: &str, statistic: &str, bound: &str, noise: &str| {
        let over = if name == "sliding" { "over = \"2 days\"" } else { "" };
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\n{over}\n{statistic}\nbound = {{ {bound} }}\n\
             noise = \"{noise}\"\nshare = 0.1\n"
        )
    };
    let records = format!("keys = {keys}, per_key = {per_key}");
    let spread = |by: &str| format!("variance = {{ of = \"price\", range = [0, 40], {by} }}");
    let releases = [
        release("prices", &spread(by), &records, "gaussian"),
        release("found", &spread("by = \"key\", keys = \"discover\""), &records, "laplace"),
        release("all", &spread(""), &format!("per_key = {per_key}"), "laplace"),
        release("sliding", &spread(by), &records, "gaussian"),
    ];
    csv_job("prices", 4, "epsilon = 450, delta = 1e-6", &releases.concat())
}

/// Lines by release, the days from the first on, and key.
type Lines = BTreeMap<([String; 2], [u64; 2]), Value>;

fn demo(place: &Place, workers: usize) -> Lines {
    // Of the days of January; a window may begin before them.
    let day = |line: &Value, end: &str| match &line["window"][end].as_str().unwrap()[..10] {
        "2025-12-31" => 0,
        date => date[8..].parse().unwrap(),
    };
    (demo_lines(place, workers).into_iter())
        .map(|line| {
            let days = ["start", "end"].map(|end| day(&line, end));
            ((texts_of(&line, ["release", "key"]), days), line)
        })
        .collect()
}

/// The prices of the sales of a window and a key.
fn prices(sales: &[Sale], key: &str, [start, end]: [u64; 2]) -> Vec<f64> {
    let is_there = |sale: &&Sale| {
        (start..end).contains(&(sale.day + 1)) && (key.is_empty() || format!("k{}", sale.key) == key)
    };
    sales.iter().filter(is_there).filter_map(|sale| Some(sale.cents? as f64 / 100.0)).collect()
}

fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count
}

// Refutes a tally or a truth that differs from plain code or depends on the number of workers, a record without a price that counts,
// a window that keeps what has left it, and an interval that is not about the tally.
#[test]
fn every_number_is_what_plain_code_makes_of_the_lines() {
    let place = Place::new("variance");
    let sales = sales(2_000);
    fs::write(place.0.join("log.csv"), csv(&sales)).unwrap();
    fs::write(place.0.join("job.toml"), job(3, 8)).unwrap();
    for workers in [1, 2, 4] {
        let lines = demo(&place, workers);
        let count = |release: &str| lines.keys().filter(|([name, _], _)| name == release).count();
        assert_eq!(["prices", "found", "all"].map(count), [12, 12, 4]);
        assert!(count("sliding") >= 9, "{}", count("sliding"));
        let mut held = 0;
        for (([_, key], days), line) in &lines {
            let all = prices(&sales, key, *days);
            let truth = variance(all.iter().copied());
            let tally = variance(all.iter().map(|price| price.clamp(0.0, 40.0)));
            for (name, expected) in [("tally", tally), ("truth", truth)] {
                let said = line[name].as_f64().unwrap();
                assert!((said - expected).abs() < 1e-3, "{name} {expected} on {workers} workers: {line}");
            }
            let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
            assert!(0.0 <= low && high <= 400.0, "{line}");
            held += usize::from(low <= tally && tally <= high);
        }
        // Nine of ten hold: of 37 fewer than 25 do so less than once in ten thousand times.
        assert!(held * 3 >= lines.len() * 2, "{held} of {}", lines.len());
    }
}

// Refutes a contribution selection that differs between numbers of workers, and one that keeps everything.
#[test]
fn the_numbers_of_those_who_are_bounded_are_the_same_on_all_workers() {
    let place = Place::new("variance-bounded");
    fs::write(place.0.join("log.csv"), csv(&sales(300))).unwrap();
    fs::write(place.0.join("job.toml"), job(1, 1)).unwrap();
    let exact = |workers: usize| -> BTreeMap<_, [Value; 2]> {
        let lines = demo(&place, workers).into_iter().filter(|(([name, _], _), _)| name != "found");
        lines.map(|(name, line)| (name, ["tally", "truth"].map(|field| line[field].clone()))).collect()
    };
    let first = exact(1);
    assert!(first.values().filter(|[tally, truth]| tally != truth).count() > 10, "nobody is bounded");
    assert!(exact(2) == first && exact(4) == first);
}

// Refutes a sensitivity of another number of records, of another width, or of fewer keys than a person has; and an error of
// another share of what may be outside.
#[test]
fn a_plan_states_by_how_much_a_person_moves_each_sum() {
    let place = Place::new("variance-plan");
    let plan = place.job(&job(3, 8)).plan().unwrap();
    let moved = |release: usize| -> Vec<(String, f64, f64)> {
        let moves = plan.releases[release].moves.iter();
        moves.map(|moves| (moves.number.to_string(), moves.l0, (moves.linf * 1e6).round() / 1e6)).collect()
    };
    // Eight records, each by half of the width, and by half of the largest square, 400.
    let spread = [
        ("sum".to_owned(), 3.0, 160.0),
        ("squares".to_owned(), 3.0, 1600.0),
        ("records".to_owned(), 3.0, 8.0),
    ];
    assert_eq!(moved(0), spread);
    let page = plan.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "prices: the variance of price of each key, each value kept within 0 and 40",
        "gaussian on squares, sigma",
        "29 of 30 within",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}
