//! `ratio`, by window and key, against plain code over the same lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;

/// A record: its person, its day, its key, its price in cents and its weight in tenths, if it has them.
struct Sale {
    person: u64,
    day: u64,
    key: u64,
    cents: Option<i64>,
    tenths: Option<i64>,
}

const DAYS: u32 = 3;

fn sales(people: u64) -> Vec<Sale> {
    let mut below = draws(9);
    let mut sales = Vec::new();
    for person in 0..people {
        for _ in 0..=below(6) {
            let cents = (below(8) > 0).then(|| below(6_000) as i64 - 500);
            let tenths = (below(8) > 0).then(|| below(260) as i64 - 20);
            sales.push(Sale { person, day: below(DAYS.into()), key: below(3), cents, tenths });
        }
    }
    sales
}

fn csv(sales: &[Sale]) -> String {
    let mut text = "who,key,price,weight,time\n".to_owned();
    for Sale { person, day, key, cents, tenths } in sales {
        let price = cents.map_or(String::new(), in_cents);
        let weight = tenths.map_or(String::new(), |tenths| in_cents(tenths * 10));
        writeln!(text, "p{person},k{key},{price},{weight},2026-01-0{}T00:00:00Z", day + 1).unwrap();
    }
    text
}

/// A job with a bound of these keys and records of a person.
fn job(keys: u64, per_key: u64) -> String {
    let by = "by = \"key\", keys = [\"k0\", \"k1\", \"k2\"]";
    let release = |name: &str, by: &str, bound: &str, noise: &str| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\n\
             ratio = {{ of = \"price\", range = [0, 40], per = \"weight\", per_range = [0.5, 20]{by} }}\n\
             bound = {{ {bound} }}\nnoise = \"{noise}\"\nshare = 0.2\n"
        )
    };
    let records = format!("keys = {keys}, per_key = {per_key}");
    let releases = [
        release("prices", &format!(", {by}"), &records, "gaussian"),
        release("found", ", by = \"key\", keys = \"discover\"", &records, "laplace"),
        release("all", "", &format!("per_key = {per_key}"), "laplace"),
    ];
    csv_job("prices", DAYS, "epsilon = 450, delta = 1e-6", &releases.concat())
}

/// Lines by release, day and key.
type Lines = BTreeMap<[String; 3], Value>;

fn demo(place: &Place, workers: usize) -> Lines {
    let named = |line: Value| {
        let day = line["window"]["start"].as_str().unwrap()[8..10].to_owned();
        let [release, key] = texts_of(&line, ["release", "key"]);
        ([release, day, key], line)
    };
    demo_lines(place, workers).into_iter().map(named).collect()
}

/// The ratio of the sales of a day and a key that have both values, as `bounded` leaves them.
fn ratio(sales: &[Sale], [_, day, key]: &[String; 3], bounded: fn([f64; 2]) -> [f64; 2]) -> f64 {
    let is_there = |sale: &&Sale| {
        format!("{:02}", sale.day + 1) == *day && (key.is_empty() || format!("k{}", sale.key) == *key)
    };
    let values = |sale: &Sale| Some(bounded([sale.cents? as f64 / 100.0, sale.tenths? as f64 / 10.0]));
    let add = |[of, per]: [f64; 2], values: [f64; 2]| [of + values[0], per + values[1]];
    let [of, per] = sales.iter().filter(is_there).filter_map(values).fold([0.0; 2], add);
    of / per
}

// Refutes a tally or a truth that differs from plain code or depends on the number of workers, a record that counts though it lacks
// one of both values, fields or steps that are exchanged, and an interval that is not about the tally.
#[test]
fn every_ratio_is_what_plain_code_makes_of_the_lines() {
    let place = Place::new("ratio");
    let sales = sales(2_000);
    fs::write(place.0.join("log.csv"), csv(&sales)).unwrap();
    fs::write(place.0.join("job.toml"), job(3, 8)).unwrap();
    for workers in [1, 2, 4] {
        let lines = demo(&place, workers);
        assert_eq!(lines.len(), DAYS as usize * (3 + 3 + 1));
        let mut held = 0;
        for (name, line) in &lines {
            let truth = ratio(&sales, name, |values| values);
            let tally = ratio(&sales, name, |[of, per]| [of.clamp(0.0, 40.0), per.clamp(0.5, 20.0)]);
            for (name, expected) in [("tally", tally), ("truth", truth)] {
                let said = line[name].as_f64().unwrap();
                assert!((said - expected).abs() < 1e-6, "{name} {expected} on {workers} workers: {line}");
            }
            let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
            held += usize::from(low <= tally && tally <= high);
        }
        // Nine of ten hold: of 21 fewer than 14 do so less than once in ten thousand times.
        assert!(held * 3 >= lines.len() * 2, "{held} of {}", lines.len());
    }
}

// Refutes a contribution selection that differs between numbers of workers, and one that keeps everything.
#[test]
fn the_ratios_of_those_who_are_bounded_are_the_same_on_all_workers() {
    let place = Place::new("ratio-bounded");
    fs::write(place.0.join("log.csv"), csv(&sales(300))).unwrap();
    fs::write(place.0.join("job.toml"), job(1, 1)).unwrap();
    let exact = |workers: usize| -> BTreeMap<_, [Value; 2]> {
        let lines = demo(&place, workers).into_iter().filter(|([name, ..], _)| name != "found");
        lines.map(|(name, line)| (name, ["tally", "truth"].map(|field| line[field].clone()))).collect()
    };
    let first = exact(1);
    assert!(first.values().filter(|[tally, truth]| tally != truth).count() > 10, "nobody is bounded");
    assert!(exact(2) == first && exact(4) == first);
}

// Refutes a line of a ratio to next to nothing that has an interval, and one that is not written as a number.
#[test]
fn a_line_of_too_few_people_has_no_interval() {
    let place = Place::new("ratio-few");
    fs::write(place.0.join("log.csv"), csv(&sales(1))).unwrap();
    let text = job(3, 8).replace("[0.5, 20]", "[0, 20]").replace("epsilon = 450", "epsilon = 1");
    fs::write(place.0.join("job.toml"), text).unwrap();
    let lines = demo(&place, 1);
    let open = lines.values().filter(|line| line["interval"][0].is_null() && line["interval"][1].is_null());
    assert!(open.count() * 2 > lines.len(), "{lines:?}");
    assert!(lines.values().all(|line| line["value"].is_number() && line["interval"].is_array()));
}

// Refutes a sensitivity of another number of records, of the width of a range, or of fewer keys than a person has.
#[test]
fn a_plan_states_by_how_much_a_person_moves_each_sum() {
    let place = Place::new("ratio-plan");
    let plan = place.job(&job(3, 8)).plan().unwrap();
    let moves = plan.releases[0].moves.iter();
    let moved: Vec<(String, f64, f64)> =
        moves.map(|moves| (moves.number.to_string(), moves.l0, (moves.linf * 1e6).round() / 1e6)).collect();
    // Eight records, each by the farther end of a range.
    assert_eq!(moved, [("sum".to_owned(), 3.0, 320.0), ("per".to_owned(), 3.0, 160.0)]);
    let page = plan.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "prices: the sum of price over that of weight of each key, values of price kept within 0 and 40, and of weight within 0.5 and 20",
        "gaussian on per, sigma",
        "19 of 20 within",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}
