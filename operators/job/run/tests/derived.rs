//! Derived fields, conditions of releases, and keys of several parts, against plain code over the same lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::*;

/// One line of the log.
#[derive(Clone)]
struct Request {
    who: u64,
    referer: String,
    path: String,
    status: u64,
    cents: i64,
    /// Seconds since the beginning of 2026.
    at: i64,
}

/// Requests in which each field has several forms, and some have none.
fn log(seed: u64, people: u64) -> Vec<Request> {
    let mut below = draws(seed.wrapping_mul(2).wrapping_add(1));
    (0..people * 30)
        .map(|_| Request {
            who: below(people),
            referer: ["https://News.example/a", "http://b.example:80", "-", ""][below(4) as usize].to_owned(),
            path: ["/api/v1/x?y", "/api/v2/x", "/", "*"][below(4) as usize].to_owned(),
            status: [200, 301, 404, 500, 503][below(5) as usize],
            cents: below(2_000) as i64 - 200,
            at: below(86_400) as i64,
        })
        .collect()
}

fn csv(log: &[Request]) -> String {
    let mut text = "who,referer,path,status,cents,time\n".to_owned();
    for Request { who, referer, path, status, cents, at } in log {
        writeln!(text, "u{who},{referer},{path},{status},{cents},{}", 1_767_225_600 + at).unwrap();
    }
    text
}

/// The job; with `keys` and `per_key` of its bounds.
fn job(keys: u64, per_key: u64) -> String {
    let both = format!("bound = {{ keys = {keys}, per_key = {per_key} }}");
    let keyed = format!("bound = {{ keys = {keys} }}");
    let alone = format!("bound = {{ per_key = {per_key} }}");
    let releases = [
        ("errors", "where = 'is_error = 1'\ncount = {}", &alone),
        (
            "people_of_errors",
            "where = 'not status < 500 and host != \"b.example\"'\npeople = {}",
            &String::new(),
        ),
        (
            "by_host_and_class",
            "count = { by = [\"host\", { of = \"status\", edges = [300, 400.5] }], keys = \"discover\" }",
            &both,
        ),
        (
            "listed",
            "count = { by = [\"host\", \"class\"], keys = [[\"b.example\", \"error\"], [\"none\", \"fine\"], [\"x\", \"y\"]] }",
            &both,
        ),
        ("by_prefix", "people = { by = { of = \"path\", depth = 2 }, keys = \"discover\" }", &keyed),
        ("by_price", "count = { by = { of = \"euros\", edges = [0, 5] } }", &both),
        ("by_country", "count = { by = \"hosts.country\", keys = [\"DE\", \"US\"] }", &both),
        (
            "euros_by_hour",
            "where = 'hour in 6..9'\nsum = { of = \"euros\", range = [0, 1000], by = \"hour\", keys = [\"6\", \"7\", \"9\"] }",
            &both,
        ),
    ];
    let mut text = r#"
        [job]
        name = "shop"
        version = 1
        from = "2026-01-01T00:00:00+01:00"
        until = "2026-01-03T00:00:00+01:00"
        [source]
        type = "csv"
        path = "log.csv"
        time = { field = "time", format = "unix" }
        zone = "Europe/Berlin"
        [tables]
        hosts = "hosts.csv"
        [fields]
        euros = "cents / 100 if cents >= 0"
        host = 'domain of referer otherwise "none"'
        class = '"error" if is_error = 1 otherwise "fine"'
        is_error = '1 if status >= 500 otherwise 0'
        hour = "hour of time"
        [privacy]
        person = { field = "who", missing = "drop" }
        promise = "lifetime"
        budget = { epsilon = 60, delta = 1e-6 }
        ledger = "shop.ledger"
        account = "shop"
        "#
    .to_owned();
    for (name, statistic, bound) in releases {
        let rest = "every = \"1 day\"\nnoise = \"gaussian\"\nshare = 0.1";
        writeln!(text, "[[release]]\nname = \"{name}\"\n{statistic}\n{bound}\n{rest}").unwrap();
    }
    text
}

/// The cells that plain code finds: release, day and key, with the records, the people and the cents.
fn expected(log: &[Request]) -> BTreeMap<[String; 3], (u64, BTreeSet<u64>, i64)> {
    let mut cells: BTreeMap<[String; 3], (u64, BTreeSet<u64>, i64)> = BTreeMap::new();
    for request in log {
        let host = match request.referer.as_str() {
            "https://News.example/a" => "news.example",
            "http://b.example:80" => "b.example",
            _ => "none",
        };
        // Berlin is an hour ahead.
        let (day, hour) = ((request.at + 3_600) / 86_400, (request.at + 3_600) / 3_600 % 24);
        let mut add = |release: &str, key: String| {
            let cell = cells.entry([release.to_owned(), day.to_string(), key]).or_default();
            cell.0 += 1;
            cell.1.insert(request.who);
            cell.2 += request.cents;
        };
        let class = match request.status {
            200 => "(-inf, 300)",
            301 => "[300, 400.5)",
            _ => "[400.5, inf)",
        };
        if host != "none" {
            add("by_country", if host == "b.example" { "\"US\"" } else { "\"DE\"" }.to_owned());
        }
        add("by_host_and_class", format!("[\"{host}\",\"{class}\"]"));
        let error = if request.status >= 500 { "error" } else { "fine" };
        if (host, error) == ("b.example", "error") || (host, error) == ("none", "fine") {
            add("listed", format!("[\"{host}\",\"{error}\"]"));
        }
        if request.status >= 500 {
            add("errors", "null".to_owned());
            if host != "b.example" {
                add("people_of_errors", "null".to_owned());
            }
        }
        match request.path.as_str() {
            "/api/v1/x?y" => add("by_prefix", "\"/api/v1\"".to_owned()),
            "/api/v2/x" => add("by_prefix", "\"/api/v2\"".to_owned()),
            "/" => add("by_prefix", "\"/\"".to_owned()),
            _ => {}
        }
        if request.cents >= 0 {
            add("by_price", if request.cents < 500 { "\"[0, 5)\"" } else { "\"[5, inf)\"" }.to_owned());
            if [6, 7].contains(&hour) {
                add("euros_by_hour", format!("\"{hour}\""));
            }
        }
    }
    cells
}

/// The tallies of a demonstration, by release, day and key.
fn tallied(lines: &str) -> BTreeMap<[String; 3], [f64; 2]> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line.get("tally")?;
        let start = crate::time::at(line["window"]["start"].as_str().unwrap()).unwrap() / 1_000_000;
        let day = (start - (1_767_225_600 - 3_600)) / 86_400;
        let key = [line["release"].as_str().unwrap().to_owned(), day.to_string(), line["key"].to_string()];
        Some((key, ["tally", "truth"].map(|name| line[name].as_f64().unwrap())))
    };
    lines.lines().filter_map(line).collect()
}

const HOSTS: &str = "host,country,note\nb.example,US,x\nnews.example,DE,\"y, z\"\nelse.example,FR,\n";

fn demo(place: &Place, text: &str, workers: usize) -> BTreeMap<[String; 3], [f64; 2]> {
    fs::write(place.0.join("hosts.csv"), HOSTS).unwrap();
    let out = Some(place.0.join("demo.jsonl"));
    place.job(text).replay(Replay { workers, demo: true, out, ..Replay::default() }).unwrap();
    tallied(&place.read("demo.jsonl"))
}

// Refutes a record in the key of another, one that a condition leaves out of another release, a missing value that counts,
// a time in another zone, and a bound that is spent on records that do not count.
#[test]
fn derived_values_are_what_plain_code_makes_of_the_lines() {
    let place = Place::new("derived");
    let log = log(1, 40);
    fs::write(place.0.join("log.csv"), csv(&log)).unwrap();
    let expected = expected(&log);
    for workers in [1, 2, 4] {
        let found = demo(&place, &job(12, 1_000), workers);
        for (place, [tally, truth]) in &found {
            let (records, people, cents) = expected.get(place).cloned().unwrap_or_default();
            let value = match place[0].as_str() {
                "people_of_errors" | "by_prefix" => people.len() as f64,
                "euros_by_hour" => cents as f64 / 100.0,
                _ => records as f64,
            };
            assert_eq!((*tally, *truth), (value, value), "{place:?} on {workers} workers");
        }
        // Discovered keys need more people than the others.
        let due = |(place, (_, people, _)): &(&[String; 3], &(u64, BTreeSet<u64>, i64))| {
            place[0] != "by_host_and_class" && people.len() > 30 && !found.contains_key(*place)
        };
        assert_eq!(expected.iter().filter(due).map(|(place, _)| place).next(), None);
        assert!(found.keys().filter(|place| place[0] == "by_host_and_class").count() > 3);
        // The listed keys are there where nobody has them, and the third interval is one.
        assert!(found.contains_key(&["listed", "0", "[\"x\",\"y\"]"].map(str::to_owned)));
        assert_eq!(found[&["by_price", "0", "\"(-inf, 0)\""].map(str::to_owned)], [0.0; 2]);
    }
}

// Refutes a condition, a derived field or a part of a key by which a person moves more than the bound: the person's own
// fields are among those that they are made of.
#[test]
fn one_person_moves_every_release_by_no_more_than_its_bound() {
    let (keys, per_key) = (2, 3);
    let text =
        job(keys, per_key).replace("status >= 500 otherwise", "status >= 500 or who = \"u0\" otherwise");
    let place = Place::new("derived-neighbours");
    let mut moved = 0;
    for seed in 0..6 {
        let log = log(seed, 8);
        let without: Vec<Request> = log.iter().filter(|request| request.who != 0).cloned().collect();
        let [with, without] = [log, without].map(|log| {
            fs::write(place.0.join("log.csv"), csv(&log)).unwrap();
            demo(&place, &text, 2)
        });
        let mut by_window: BTreeMap<[&String; 2], Vec<f64>> = BTreeMap::new();
        for place in with.keys().chain(without.keys()).collect::<BTreeSet<_>>() {
            let of =
                |cells: &BTreeMap<[String; 3], [f64; 2]>| cells.get(place).map_or(0.0, |[tally, _]| *tally);
            let by = (of(&with) - of(&without)).abs();
            if by > 0.0 && with.contains_key(place) && without.contains_key(place) {
                by_window.entry([&place[0], &place[1]]).or_default().push(by);
            }
        }
        for ([release, day], moves) in by_window {
            let most = match release.as_str() {
                "people_of_errors" | "by_prefix" => 1.0,
                "euros_by_hour" => 1_000.0,
                _ => per_key as f64,
            };
            assert!(moves.len() as u64 <= keys, "{release} of day {day}: {moves:?}");
            assert!(moves.iter().all(|by| *by <= most), "{release} of day {day}: {moves:?}");
            moved += moves.len();
        }
    }
    assert!(moved > 30, "{moved}");
}

// Refutes a table that changes under a version, and one that is bound by what nothing reads.
#[test]
fn a_version_holds_the_cells_of_the_columns_that_it_reads() {
    let place = Place::new("derived-tables");
    fs::write(place.0.join("log.csv"), csv(&log(3, 10))).unwrap();
    let replayed = |hosts: &str| {
        fs::write(place.0.join("hosts.csv"), hosts).unwrap();
        let out = Some(place.0.join("releases.jsonl"));
        place
            .job(&job(2, 3))
            .replay(Replay { workers: 1, out, ..Replay::default() })
            .map(|_| place.read("releases.jsonl"))
    };
    let first = replayed(HOSTS).unwrap();
    let reordered = "host,note,country\nnews.example,another,DE\nelse.example,,FR\nb.example,x,US\n";
    assert_eq!(replayed(reordered).unwrap(), first);
    let refused = replayed(&HOSTS.replace("FR", "DE")).unwrap_err().to_string();
    assert!(refused.contains("by_country") && refused.contains("tables.hosts.country"), "{refused}");
}
