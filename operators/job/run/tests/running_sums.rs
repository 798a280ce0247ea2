//! Means, variances and ratios over several windows, against an oracle that visits the windows in their order.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;

const DAYS: u32 = 10;
const LAST: u32 = 4;
const PEOPLE: u64 = 400;

/// A record of a person on a day, in cents and tenths.
struct Visit {
    person: u64,
    day: u32,
    cents: i64,
    tenths: i64,
}

/// At most one visit of a person on a day, so that the order of the days decides which count. A person's key is the person's own.
fn visits() -> Vec<Visit> {
    let mut below = draws(21);
    let mut visits = Vec::new();
    for day in 0..DAYS {
        for person in 0..PEOPLE {
            // A day without anybody is released like any other.
            if day != 5 && below(3) == 0 {
                let (cents, tenths) = (below(6_000) as i64 - 500, below(260) as i64 - 20);
                visits.push(Visit { person, day, cents, tenths });
            }
        }
    }
    visits
}

fn key(person: u64) -> u64 {
    person % 2
}

fn csv(visits: &[Visit]) -> String {
    let mut text = "who,key,price,weight,time\n".to_owned();
    // Not in the order of time.
    for Visit { person, day, cents, tenths } in visits.iter().rev() {
        let (key, price, weight) = (key(*person), in_cents(*cents), in_cents(tenths * 10));
        writeln!(text, "p{person},k{key},{price},{weight},2026-01-{:02}T06:00:00Z", day + 1).unwrap();
    }
    text
}

/// A job in which at most this number of records of a person count, over all days.
fn job(per_key: u64) -> String {
    let by = "by = \"key\", keys = [\"k0\", \"k1\"]";
    let release = |name: &str, over: &str, statistic: &str, by: &str| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\nrunning = true\n{over}\n\
             {statistic}{by} }}\nbound = {{ {}per_key = {per_key} }}\nnoise = \"gaussian\"\nshare = 0.2\n",
            if by.is_empty() { "" } else { "keys = 1, " }
        )
    };
    let mean = "mean = { of = \"price\", range = [0, 40]";
    let variance = "variance = { of = \"price\", range = [0, 40]";
    let ratio = "ratio = { of = \"price\", range = [0, 40], per = \"weight\", per_range = [0.5, 20]";
    let last = format!("over = \"{LAST} days\"");
    let releases = [
        release("mean", "", mean, &format!(", {by}")),
        release("variance", "strategy = \"tree\"", variance, &format!(", {by}")),
        release("ratio", "", ratio, ", by = \"key\", keys = \"discover\""),
        release("last_mean", &last, mean, ""),
        release("last_ratio", &last, ratio, &format!(", {by}")),
    ];
    csv_job("prices", DAYS, "epsilon = 450, delta = 1e-6", &releases.concat())
}

/// Lines by release, day and key.
type Lines = BTreeMap<([String; 2], u32), Value>;

fn named(line: Value) -> (([String; 2], u32), Value) {
    let day: u32 = line["window"]["start"].as_str().unwrap()[8..10].parse().unwrap();
    ((texts_of(&line, ["release", "key"]), day - 1), line)
}

fn demo(place: &Place, workers: usize) -> Lines {
    demo_lines(place, workers).into_iter().map(named).collect()
}

/// The number of a release that plain code makes of these values of records.
fn number(release: &str, values: &[[f64; 2]]) -> f64 {
    let sum = |at: usize| values.iter().map(|values| values[at]).sum::<f64>();
    let mean = sum(0) / values.len() as f64;
    match release {
        "variance" => {
            values.iter().map(|[of, _]| (of - mean) * (of - mean)).sum::<f64>() / values.len() as f64
        }
        "ratio" | "last_ratio" => sum(0) / sum(1),
        _ => mean,
    }
}

/// The numbers of a released line: of the records that count, and of all.
fn oracle(visits: &[Visit], per_key: u64, ([release, of], day): &([String; 2], u32)) -> [f64; 2] {
    let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut bounded, mut all) = (Vec::new(), Vec::new());
    let since = if release.starts_with("last") { (day + 1).saturating_sub(LAST) } else { 0 };
    for Visit { person, day: on, cents, tenths } in visits {
        let number = counted.entry(*person).or_default();
        *number += 1;
        let is_there = (since..=*day).contains(on) && (of.is_empty() || format!("k{}", key(*person)) == *of);
        let values = [*cents as f64 / 100.0, *tenths as f64 / 10.0];
        if is_there {
            all.push(values);
            if *number <= per_key {
                bounded.push([values[0].clamp(0.0, 40.0), values[1].clamp(0.5, 20.0)]);
            }
        }
    }
    [number(release, &bounded), number(release, &all)]
}

// Refutes a tally or a truth that differs from plain code or depends on the number of workers, a bound of each window in place of all
// of them, windows that are added twice or stay, and an interval that is not about the tally.
#[test]
fn running_numbers_are_what_plain_code_makes_of_the_days() {
    let place = Place::new("running-sums");
    let visits = visits();
    fs::write(place.0.join("log.csv"), csv(&visits)).unwrap();
    for (per_key, workers) in [(2, 1), (2, 3), (100, 2)] {
        fs::write(place.0.join("job.toml"), job(per_key)).unwrap();
        let lines = demo(&place, workers);
        let count = |release: &str| lines.keys().filter(|([name, _], _)| name == release).count();
        let days = DAYS as usize;
        let all = ["mean", "variance", "ratio", "last_mean", "last_ratio"].map(count);
        assert_eq!(all, [2 * days, 2 * days, 2 * days, days, 2 * days]);
        let mut held = 0;
        let mut compared = 0;
        for (name, line) in &lines {
            assert_eq!(line["total"], if name.0[0].starts_with("last") { "last 4" } else { "so far" });
            for (field, expected) in ["tally", "truth"].into_iter().zip(oracle(&visits, per_key, name)) {
                match line[field].as_f64() {
                    Some(said) => {
                        let is_near = (said - expected).abs() < 1e-3;
                        assert!(is_near, "{field} {expected} of {name:?} on {workers} workers: {line}");
                    }
                    // The records of all people were used up before the last days.
                    None => assert!(expected.is_nan(), "{field} {expected} of {name:?}: {line}"),
                }
            }
            let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64());
            if let (Some(tally), Some(low), Some(high)) = (line["tally"].as_f64(), low, high) {
                compared += 1;
                held += usize::from(low <= tally && tally <= high);
            }
        }
        assert!(compared > 60 && held * 3 >= compared * 2, "{held} of {compared}");
    }
}

// Refutes a state that is lost or drawn anew: a job that has stopped releases the same lines from then on, whose noise has gone on.
#[test]
fn a_second_run_goes_on_with_the_totals_of_the_first() {
    let place = Place::new("running-sums-twice");
    fs::write(place.0.join("log.csv"), csv(&visits())).unwrap();
    let job = place.job(&job(2));
    place.replay(&job, 2, "first.jsonl");
    let place_of = |name: &str| place.read(name);
    let first = place_of("first.jsonl");
    place.replay(&job, 1, "second.jsonl");
    assert_eq!(sorted(&first), sorted(&place_of("second.jsonl")));
    let lines = first.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let means: Vec<f64> = lines
        .filter(|line| line["release"] == "mean" && line["key"] == "k0")
        .map(|line| line["value"].as_f64().unwrap())
        .collect();
    // Totals so far move less from day to day as they grow.
    assert_eq!(means.len(), DAYS as usize);
    assert!((means[9] - means[8]).abs() < 4.0, "{means:?}");
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

// Refutes a plan that states the noise of one window, or the price of each.
#[test]
fn a_plan_states_the_totals_of_each_number() {
    let place = Place::new("running-sums-plan");
    let plan = place.job(&job(2)).plan().unwrap();
    let variance = &plan.releases[1];
    let moves: Vec<(&str, f64)> =
        variance.moves.iter().map(|moves| (&*moves.number, moves.linf.round())).collect();
    // Two records over all days, each by half of the width, and by half of the largest square.
    assert_eq!(moves, [("sum", 40.0), ("squares", 400.0), ("records", 2.0)]);
    let running = variance.running.as_ref().unwrap();
    assert_eq!((running.strategy, running.horizon, &*running.total), ("tree", Some(DAYS.into()), "so far"));
    let one = plan.releases[0].running.as_ref().unwrap();
    assert!(running.numbers.is_multiple_of(3), "{}", running.numbers);
    assert!(one.numbers.is_multiple_of(2), "{}", one.numbers);
    let page = plan.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["paid once, with the first of 10", "gaussian on squares, sigma", "29 of 30 within"] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}
