//! Stable means of several fields, and the covariance of found ones, against plain code over the same lines.

use std::fmt::Write;

use super::*;

const OF: &str = "of = [\"price\", \"weight\"]";
const BUDGET: &str = "epsilon = 12, delta = 1e-5, omega = 4";

fn demo(place: &Place, workers: usize) -> Vec<([String; 1], Value)> {
    demo_lines(place, workers).into_iter().map(|line| (texts_of(&line, ["of"]), line)).collect()
}

/// Returns nearly normal numbers: the sum of twelve uniform ones.
fn normal(below: &mut impl FnMut(u64) -> u64) -> f64 {
    (0..12).map(|_| below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
}

/// Writes the log and the job of a release over everything of two correlated fields of many people, each of whom has a
/// record.
fn correlated(place: &Place, people: u64, release: &str) -> Vec<[f64; 2]> {
    let mut below = draws(17);
    let mut text = "who,price,weight,time\n".to_owned();
    let mut records = Vec::new();
    for person in 0..people {
        let (a, b) = (normal(&mut below), normal(&mut below));
        let record = [200.0 + 20.0 * a, 3.0 + 0.4 * a + 0.3 * b].map(|value| (value * 1e3).round() / 1e3);
        let [price, weight] = record;
        writeln!(text, "p{person},{price},{weight},2026-01-01T00:00:00Z").unwrap();
        records.push(record);
    }
    fs::write(place.0.join("log.csv"), text).unwrap();
    let release = format!(
        "[[release]]\nname = \"m\"\nevery = \"all\"\nmeans = {{ {OF}, {release} }}\nbound = {{ per_key = 1 }}\nnoise = \"gaussian\"\nshare = 1\n"
    );
    fs::write(place.0.join("job.toml"), csv_job("stable", 2, BUDGET, &release)).unwrap();
    records
}

fn mean(records: &[[f64; 2]], at: usize) -> f64 {
    records.iter().map(|record| record[at]).sum::<f64>() / records.len() as f64
}

// Refutes a stable mean that counts two records of a person or none, in the steps of another field, without its label, and
// one that is off by more than its noise. The chance of a mistake is that of a normal number beyond six deviations.
#[test]
fn a_stable_mean_has_the_shape_of_the_records() {
    let place = Place::new("means-stable");
    let stable = "stable = [[-100000, 100000], [0, 1000]], people = 20000";
    let records = correlated(&place, 20_000, stable);
    for workers in [1, 2] {
        let lines = demo(&place, workers);
        assert_eq!(lines.len(), 2);
        for (at, ([.., field], line)) in lines.iter().enumerate() {
            assert_eq!(field, ["price", "weight"][at]);
            let truth = mean(&records, at);
            for name in ["tally", "truth"] {
                assert!((line[name].as_f64().unwrap() - truth).abs() < 1e-4, "{name} {truth}: {line}");
            }
            let spread = [20.0, 0.5][at];
            let scale = line["noise"]["scale"].as_f64().unwrap();
            assert!(scale < 0.1, "{line}");
            let off = (line["value"].as_f64().unwrap() - truth).abs();
            assert!(off < 6.0 * scale * spread, "{off}: {line}");
            assert_eq!(line["noise"]["assumes"], "floating-point assumed");
            assert_eq!(line["interval"], serde_json::json!([null, null]));
        }
    }
}

// Refutes a covariance in other units, of another field, or without its noise.
#[test]
fn found_ranges_have_the_covariance() {
    let place = Place::new("means-covariance");
    let records = correlated(&place, 20_000, "found_within = [[-100000, 100000], [0, 1000]], people = 20000");
    let means = [0, 1].map(|at| mean(&records, at));
    for ([.., field], line) in demo(&place, 2) {
        let at = ["price", "weight"].iter().position(|name| *name == field).unwrap();
        let covariance = line["covariance"].as_array().unwrap_or_else(|| panic!("{line}"));
        for (other, entry) in covariance.iter().enumerate() {
            assert_eq!(entry["with"], ["price", "weight"][other]);
            let product = |record: &[f64; 2]| (record[at] - means[at]) * (record[other] - means[other]);
            let truth = records.iter().map(product).sum::<f64>() / records.len() as f64;
            let (value, scale) = (entry["value"].as_f64().unwrap(), entry["scale"].as_f64().unwrap());
            // Values are rounded to steps, and a few records are shortened.
            let off = (value - truth).abs();
            assert!(
                off < 6.0 * scale + 0.02 * [20.0, 0.5][at] * [20.0, 0.5][other],
                "{off} of {scale}: {entry} {truth}"
            );
            assert!(scale < 0.05 * [20.0, 0.5][at] * [20.0, 0.5][other], "{entry}");
        }
    }
}

// Refutes a stable mean without a price: at every order, without a delta, for a part of a person, and for too few.
#[test]
fn a_stable_mean_that_cannot_be_paid_is_refused() {
    let place = Place::new("means-unpaid");
    let job = |budget: &str, promise: &str, every: &str, stable: &str, price: &str| {
        let text = csv_job(
            "stable",
            30,
            budget,
            &format!(
                "[[release]]\nname = \"m\"\nevery = \"{every}\"\nmeans = {{ of = [\"price\"], {stable} }}\nbound = {{ per_key = 1 }}\nnoise = \"gaussian\"\n{price}\n"
            ),
        );
        text.replace("promise = \"lifetime\"", &format!("promise = \"{promise}\""))
    };
    const STABLE: &str = "stable = [[0, 1000]], people = 50000";
    for (job, field, found) in [
        (
            job("epsilon = 12, delta = 1e-5", "lifetime", "all", STABLE, "share = 1"),
            "release[1].means",
            "an omega",
        ),
        (job("rho = 2, omega = 4", "lifetime", "all", STABLE, "share = 1"), "release[1].means", "a delta"),
        (job(BUDGET, "any 30 days", "1 day", STABLE, "share = 1"), "privacy.promise", "release[1]"),
        (job(BUDGET, "each 36 hours", "1 day", STABLE, "share = 1"), "privacy.promise", "release[1]"),
        (job(BUDGET, "lifetime", "all", "stable = [[0, 1000]]", "share = 1"), "release[1].means", "people"),
        (
            job(BUDGET, "lifetime", "all", "stable = [[0, 1000]], people = 900", "share = 1"),
            "release[1].means.people",
            "at least",
        ),
        (job(BUDGET, "lifetime", "all", STABLE, "cost = { rho = 1 }"), "release[1].cost", "delta"),
        (
            job(BUDGET, "lifetime", "all", STABLE, "cost = { rho = 0.001, delta = 1e-6 }"),
            "release[1].",
            "people",
        ),
        (
            job(
                BUDGET,
                "lifetime",
                "all",
                &format!("{STABLE}, by = \"key\", keys = \"discover\""),
                "share = 1",
            ),
            "release[1].means.keys",
            "stable",
        ),
    ] {
        fs::write(place.0.join("job.toml"), &job).unwrap();
        let refused = match Job::open(place.0.join("job.toml")) {
            Err(mistakes) => mistakes.to_string(),
            Ok(job) => job.plan().map(|_| ()).unwrap_err().to_string(),
        };
        assert!(refused.contains(field) && refused.contains(found), "{field} {found}: {refused}");
    }
    // A day that is a span, and a record that has no parts, have a price.
    for (promise, every) in [("each day", "1 day"), ("lifetime", "all")] {
        fs::write(place.0.join("job.toml"), job(BUDGET, promise, every, STABLE, "share = 1")).unwrap();
        let plan = Job::open(place.0.join("job.toml")).unwrap().plan().unwrap();
        assert!(plan.to_string().contains("floating-point assumed"), "{plan}");
        assert!(plan.releases[0].cost.delta > 0.0);
    }
}
