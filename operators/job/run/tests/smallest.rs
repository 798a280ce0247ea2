//! `min`, by window and key, against plain code over the same lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::*;

/// A record: its person, its day, its key, and its price in cents.
struct Sale {
    person: u64,
    day: u64,
    key: u64,
    cents: i64,
}

const DAYS: u64 = 3;

/// Sales at prices on both sides of zero, of people who return on other days and under other keys.
fn sales(people: u64) -> Vec<Sale> {
    let mut below = draws(5);
    let mut sales = Vec::new();
    for person in 0..people {
        for _ in 0..=below(9) {
            let cents = (below(4_000) * (1 + below(3))) as i64 - 3_000;
            sales.push(Sale { person, day: below(DAYS), key: below(3), cents });
        }
    }
    sales
}

fn csv(sales: &[Sale]) -> String {
    let mut text = "who,key,price,time\n".to_owned();
    for Sale { person, day, key, cents } in sales {
        let price = in_cents(*cents);
        writeln!(text, "p{person},k{key},{price},2026-01-0{}T00:00:00Z", day + 1).unwrap();
    }
    text
}

/// A job with a bound of this number of keys of a person.
fn job(keys: u64) -> String {
    let by = "by = \"key\", keys = [\"k0\", \"k1\", \"k2\"]";
    let release = |name: &str, statistic: &str, noise: &str| {
        let bound = if statistic.contains("by = ") { format!("keys = {keys}") } else { String::new() };
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\n{statistic}\nbound = {{ {bound} }}\n\
             noise = \"{noise}\"\nshare = 0.2\n"
        )
    };
    let releases = [
        release(
            "cheapest",
            &format!("min = {{ of = \"price\", grid = {{ from = -40, to = 40, step = 0.5 }}, {by} }}"),
            "gaussian",
        ),
        release(
            "spent",
            "min = { of = \"price\", each = \"sum\", grid = [-50, -20.5, 0, 7, 100], by = \"key\", keys = \"discover\" }",
            "laplace",
        ),
        release("fewest", "min = { each = \"count\", grid = \"log\" }", "exponential"),
        release("signed", &format!("min = {{ of = \"price\", grid = \"signed log\", {by} }}"), "gaussian"),
        // Beside the same values in the other order, of the same people.
        release("dearest", &format!("max = {{ of = \"price\", grid = \"signed log\", {by} }}"), "gaussian"),
    ];
    csv_job("prices", 3, "epsilon = 60, delta = 1e-6", &releases.concat())
}

/// Lines by release, day and key.
type Lines = BTreeMap<[String; 3], Value>;

fn demo(place: &Place, workers: usize) -> Lines {
    (demo_lines(place, workers).into_iter())
        .map(|line| {
            let day = line["window"]["start"].as_str().unwrap()[8..10].to_owned();
            let [release, key] = texts_of(&line, ["release", "key"]);
            ([release, day, key], line)
        })
        .collect()
}

/// The value of each person in a window and a key.
fn own(sales: &[Sale], [release, day, key]: &[String; 3]) -> Vec<f64> {
    let mut people: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let is_there = |sale: &&Sale| {
        format!("{:02}", sale.day + 1) == *day && (key.is_empty() || format!("k{}", sale.key) == *key)
    };
    for sale in sales.iter().filter(is_there) {
        let price = sale.cents as f64 / 100.0;
        // A signed logarithmic grid is of whole numbers, and values are rounded down to them.
        let read = if ["signed", "dearest"].contains(&&release[..]) { price.floor() } else { price };
        people.entry(sale.person).or_default().push(read);
    }
    let value = |values: Vec<f64>| match &release[..] {
        "spent" => values.iter().sum(),
        "fewest" => values.len() as f64,
        "dearest" => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        _ => values.into_iter().fold(f64::INFINITY, f64::min),
    };
    people.into_values().map(value).collect()
}

// Refutes an exact value or a rank error that differs from plain code, a value that is turned around, an answer that is
// none of the grid, an interval that is open on the wrong side, and a table that `max` and `min` share.
#[test]
fn every_smallest_value_is_what_plain_code_makes_of_the_lines() {
    let place = Place::new("smallest");
    let sales = sales(700);
    fs::write(place.0.join("log.csv"), csv(&sales)).unwrap();
    fs::write(place.0.join("job.toml"), job(3)).unwrap();
    for workers in [1, 2, 4] {
        let lines = demo(&place, workers);
        assert_eq!(lines.len(), DAYS as usize * (3 + 3 + 1 + 3 + 3));
        let mut kept = 0;
        for (name, line) in &lines {
            let is_largest = name[0] == "dearest";
            let people = own(&sales, name);
            let exact = match is_largest {
                true => people.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                false => people.iter().copied().fold(f64::INFINITY, f64::min),
            };
            for field in ["tally", "truth"] {
                let said = line[field].as_f64().unwrap();
                assert!((said - exact).abs() < 1e-3, "{exact} on {workers} workers: {line}");
            }
            let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64());
            assert_eq!((low.is_none(), high.is_none()), (!is_largest, is_largest), "{line}");
            if is_largest {
                continue;
            }
            let value = line["value"].as_f64().unwrap();
            let (least, in_grid) = match &name[0][..] {
                "cheapest" => (-40.0, (value * 2.0).fract() == 0.0 && value.abs() <= 40.0),
                "spent" => (-50.0, [-50.0, -20.5, 0.0, 7.0, 100.0].contains(&value)),
                _ => (f64::NEG_INFINITY, value.fract() == 0.0),
            };
            assert!(in_grid, "{line}");
            // Whoever is below the first answer counts as it.
            let off = people.iter().filter(|own| **own < value && value > least).count() as u64;
            assert_eq!(line["off"].as_u64(), Some(off), "{line}");
            let allowed = 2 * line["noise"]["tau"].as_u64().unwrap();
            kept += u32::from(off <= allowed && exact <= high.unwrap());
        }
        // Each answer keeps its bound with probability 0.99: fewer than 24 of 30 do so less than once in ten million times.
        assert!(kept >= 24, "{kept} of {}", lines.len());
    }
}

// Refutes a contribution selection that differs between numbers of workers, and one that keeps everything.
#[test]
fn the_smallest_values_of_those_who_are_bounded_are_the_same_on_all_workers() {
    let place = Place::new("smallest-bounded");
    fs::write(place.0.join("log.csv"), csv(&sales(60))).unwrap();
    fs::write(place.0.join("job.toml"), job(1)).unwrap();
    let exact = |workers: usize| -> BTreeMap<[String; 3], [Value; 2]> {
        let lines = demo(&place, workers).into_iter().filter(|(name, _)| name[0] != "spent");
        lines.map(|(name, line)| (name, ["tally", "truth"].map(|field| line[field].clone()))).collect()
    };
    let first = exact(1);
    assert!(first.values().any(|[tally, truth]| tally != truth), "nobody is bounded");
    assert!(exact(2) == first && exact(4) == first);
}

// Refutes a plan whose words are those of a largest value.
#[test]
fn a_plan_says_on_which_side_a_smallest_value_errs() {
    let place = Place::new("smallest-plan");
    let plan = place.job(&job(2)).plan().unwrap();
    let page = plan.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "cheapest: the smallest price of each key, among numbers from -40 to 40 in steps of 0.5",
        "spent: the smallest sum of price of one person of each key, among 5 numbers that are listed",
        "fewest: the fewest records of one person, among whole numbers from 0 on",
        "people below",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    let moved: BTreeSet<_> =
        plan.releases[0].moves.iter().map(|moves| (moves.l0 as u64, moves.linf as u64)).collect();
    assert_eq!(moved, BTreeSet::from([(2, 1)]));
}
