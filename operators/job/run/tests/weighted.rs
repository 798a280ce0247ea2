//! `bound.weight`: lines of people who count in part, against plain code over the same records.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;

/// A record: its person, its day, its key and its price in cents.
struct Visit {
    person: u64,
    day: u64,
    key: u64,
    cents: i64,
}

const DAYS: u64 = 2;
const KEYS: u64 = 12;

/// Visits of people with one record each, of some with many in a few keys, and of some with many keys.
fn visits() -> Vec<Visit> {
    let mut below = draws(11);
    let mut visits = Vec::new();
    for person in 0..900 {
        let records = [1, 1, 1, 9, 40][below(5) as usize];
        let (first, keys) = (below(KEYS), 1 + below(KEYS));
        for _ in 0..records {
            let key = (first + below(keys)) % KEYS;
            visits.push(Visit { person, day: below(DAYS), key, cents: below(3_000) as i64 });
        }
    }
    visits
}

fn csv(visits: &[Visit]) -> String {
    let mut text = "who,page,price,time\n".to_owned();
    for Visit { person, day, key, cents } in visits {
        writeln!(text, "p{person},k{key:02},{},2026-01-0{}T00:00:00Z", in_cents(*cents), day + 1).unwrap();
    }
    text
}

/// A job with the same bound of keys and records, wholly or in part, under both laws of noise.
fn job(weight: &str) -> String {
    let listed = (0..KEYS).map(|key| format!("\"k{key:02}\"")).collect::<Vec<_>>().join(", ");
    let release = |(name, word, of): (&str, &str, &str), keys: &str, bound: &str| {
        let (of, noise) = (of, if name.contains("laplace") { "laplace" } else { "gaussian" });
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"1 day\"\n{word} = {{ {of} by = \"page\", keys = {keys} }}\n\
             bound = {{ {bound}{weight} }}\nnoise = \"{noise}\"\nshare = 0.1\n"
        )
    };
    let (listed, found) = (format!("[{listed}]"), "\"discover\"");
    let price = "of = \"price\", range = [0, 30],";
    let all = if weight.is_empty() { "keys = 12, " } else { "" };
    let releases = [
        release(("count", "count", ""), &listed, &format!("{all}per_key = 6")),
        release(("count_laplace", "count", ""), &listed, &format!("{all}per_key = 6")),
        release(("people", "people", ""), &listed, all.trim_end_matches(", ")),
        release(("found", "count", ""), found, "keys = 12, per_key = 6"),
        release(("sum", "sum", price), &listed, all.trim_end_matches(", ")),
        release(("mean", "mean", price), &listed, &format!("{all}per_key = 40")),
        "[[release]]\nname = \"buckets\"\nevery = \"1 day\"\nhistogram = { of = \"price\", edges = [0, 5, 10, 20, 30] }\n"
            .to_owned()
            + &format!("bound = {{ {}per_key = 6{weight} }}\n", if weight.is_empty() { "keys = 6, " } else { "" })
            + "noise = \"gaussian\"\nshare = 0.1\n",
    ];
    csv_job("visits", DAYS as u32, "epsilon = 450, delta = 1e-6", &releases.concat())
        .replace("bound = { , weight", "bound = { weight")
}

/// Returns the number that plain code makes of the records of each key of a day, with this weight.
fn expected(release: &str, visits: &[Visit], day: u64, weight: f64) -> BTreeMap<String, f64> {
    let bucket = |cents: i64| match cents {
        ..500 => "0",
        500..1_000 => "5",
        1_000..2_000 => "10",
        _ => "20",
    };
    let mut people: BTreeMap<u64, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for visit in visits.iter().filter(|visit| visit.day == day) {
        let key = match release {
            "buckets" => bucket(visit.cents).to_owned(),
            _ => format!("k{:02}", visit.key),
        };
        people.entry(visit.person).or_default().entry(key).or_default().push(visit.cents as f64 / 100.0);
    }
    let mut numbers: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for keys in people.values() {
        let most: f64 = match release {
            "people" => 1.0,
            "sum" => 30.0,
            "mean" => 40.0,
            _ => 6.0,
        };
        let share = |prices: &Vec<f64>| match release {
            "people" => 1.0,
            "sum" => prices.iter().sum::<f64>().clamp(0.0, 30.0),
            _ => (prices.len() as f64).min(most),
        };
        let sizes = keys.values().map(|prices| share(prices) / most);
        let part = match release {
            "count_laplace" => weight / sizes.sum::<f64>(),
            _ => (weight / sizes.map(|size| size * size).sum::<f64>()).sqrt(),
        };
        for (key, prices) in keys {
            let number = numbers.entry(key.clone()).or_default();
            number[0] += part.min(1.0) * share(prices);
            number[1] += part.min(1.0) * prices.iter().sum::<f64>();
        }
    }
    let number = |[count, sum]: [f64; 2]| if release == "mean" { sum / count } else { count };
    numbers.into_iter().map(|(key, sums)| (key, number(sums))).collect()
}

// Refutes a share that is weighed in another norm than the noise has, one that is weighed in one key alone, a number that is
// released in parts, a key that is found by parts of people, and a number of workers on which a number depends.
#[test]
fn every_number_is_what_plain_code_makes_of_parts_of_people() {
    let place = Place::new("weighted");
    let visits = visits();
    fs::write(place.0.join("log.csv"), csv(&visits)).unwrap();
    fs::write(place.0.join("job.toml"), job(", weight = 2")).unwrap();
    for workers in [1, 2, 4] {
        let lines = demo_lines(&place, workers);
        assert_eq!(lines.len() as u64, DAYS * (6 * KEYS + 6), "{workers}");
        let (mut held, mut counted) = (0, 0);
        for line in lines {
            let (release, key) = (line["release"].as_str().unwrap(), line["key"].as_str().unwrap());
            let day = line["window"]["start"].as_str().unwrap()[8..10].parse::<u64>().unwrap() - 1;
            let expected = expected(release, &visits, day, 2.0);
            let of = match release {
                "buckets" => expected.iter().find(|(low, _)| key.starts_with(&format!("[{low},"))),
                _ => expected.get_key_value(key),
            };
            let number = of.map_or(0.0, |(_, number)| *number);
            let tally = line["tally"].as_f64().unwrap_or(0.0);
            // Rounded to a whole number, or a factor that is rounded down.
            let near = if release == "mean" { 0.01 } else { 1.0 + number * 2e-3 };
            assert!((tally - number).abs() < near, "{number} on {workers} workers: {line}");
            let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
            counted += 1;
            held += usize::from(low <= tally && tally <= high);
        }
        // Nine of ten hold: of 156 fewer than 126 do so less than once in a hundred thousand times.
        assert!(held >= 126, "{held} of {counted}");
    }
}

// Refutes noise of other sensitivity than that of as many whole keys, a plan that states it in parts, and a weight that is no
// part of what an answer depends on.
#[test]
fn the_noise_of_a_weight_is_that_of_as_many_keys() {
    let place = Place::new("weighted-plan");
    let plan = place.job(&job(", weight = 2")).plan().unwrap();
    let whole = job("")
        .replace("keys = 12, per_key", "keys = 2, per_key")
        .replace("bound = { keys = 12 }", "bound = { keys = 2 }");
    let whole = place.job(&whole.replace("keys = 6, per_key", "keys = 2, per_key")).plan().unwrap();
    let parameters = |weight: &str| {
        let job = place.job(&job(weight));
        let plans = job.release_plans(job.horizon()).unwrap();
        plans.iter().map(|offer| offer.prepare(&job).unwrap().parameters).collect::<Vec<_>>()
    };
    assert!(
        parameters(", weight = 2").iter().zip(&parameters(", weight = 3")).all(|(one, other)| one != other)
    );
    for (weighed, whole) in plan.releases.iter().zip(&whole.releases) {
        for (one, two) in weighed.noise.iter().zip(&whole.noise) {
            let is_found = weighed.name == "found";
            let ratio = one.scale / two.scale;
            assert!(is_found || (ratio - 1.0).abs() < 1e-6, "{}: {ratio}", weighed.name);
        }
        for (one, two) in weighed.moves.iter().zip(&whole.moves) {
            assert_eq!(one.number, two.number);
            let near = |one: f64, two: f64| (one - two).abs() < 1e-9 * two;
            assert!(near(one.linf, two.linf) && near(one.l2, two.l2), "{}", weighed.name);
        }
    }
}
