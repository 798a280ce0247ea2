#![allow(clippy::unwrap_used)]

mod configs;
mod memory;
mod noise;
mod warnings;

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::job::test_jobs::csv_job;

/// A job of a hundred days with one release.
pub(super) static GOOD: LazyLock<String> =
    LazyLock::new(|| csv_job("shop", 100, "epsilon = 1.0, delta = 1e-6", VISITS));

const VISITS: &str = r#"
[[release]]
name = "visits"
every = "1 day"
people = {}
bound = {}
noise = "gaussian"
share = 1
"#;

#[test]
fn the_line_of_a_plan_has_the_names_that_are_documented() {
    let plan = Job::parse("a.toml", &GOOD).unwrap().plan().unwrap();
    let line: serde_json::Value = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    let names =
        |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        names(&line),
        "account accounting asks cap delta from job ledger left promise releases restart together unit until version warnings"
    );
    assert_eq!(
        names(&line["releases"][0]),
        "accounting bound cost keys memory moves name near noise paid paid_together partial people_for_a_tenth running shares_keys shares_people statistic version windows"
    );
    assert_eq!(line["releases"][0]["keys"]["kind"], "none");
    assert_eq!(line["releases"][0]["windows"]["count"], 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    // Refutes a panic, a plan with parts that are no numbers, and a refusal without a field.
    #[test]
    fn any_job_is_planned_or_refused_by_a_field(
        every in prop::sample::select(&["1s", "10m", "7h", "1 day", "1 week", "1 month", "10 years", "all"][..]),
        over in prop::sample::select(&[1u32, 1, 2, 30][..]),
        until in prop::sample::select(&["", "until = \"2026-01-01T00:00:01Z\"", "until = \"2027-01-01T00:00:00Z\"", "until = \"9999-01-01T00:00:00Z\""][..]),
        promise in prop::sample::select(&["lifetime", "any 1 us", "any 30 days", "each 90 minutes", "each 40000 days"][..]),
        budget in prop::sample::select(&["epsilon = 1, delta = 1e-6", "epsilon = 1e-9", "rho = 1e-15", "rho = 500", "epsilon = 500, delta = 0.9"][..]),
        statistic in prop::sample::select(&[
            "count = {}", "people = {}", "count = { by = \"page\", keys = \"discover\" }", "sum = { of = \"x\", range = [-9007199254740992, 1e-9] }",
            "sum = { of = \"x\", range = [0, 1e-30], by = \"page\", keys = [\"a\"] }", "mean = { of = \"x\", range = [1e-15, 9007199254740992] }",
            "histogram = { of = \"x\", edges = [-1e-18, 0, 4] }",
            "max = { of = \"x\", grid = \"signed log\", by = \"page\", keys = \"discover\" }",
            "max = { of = \"x\", each = \"sum\", grid = { log = 1e-9 } }", "max = { each = \"count\", grid = [1, 2, 1e12] }",
            "max = { of = \"x\", grid = { from = -9007199254740992, to = 9007199254740992, step = 65536 } }",
            "min = { of = \"x\", grid = \"signed log\", by = \"page\", keys = \"discover\" }", "min = { each = \"count\", grid = [1, 2, 1e12] }",
            "ratio = { of = \"x\", range = [-1e-9, 1e12], per = \"y\", per_range = [0, 1e-30] }",
            "ratio = { of = \"x\", range = [0, 5], per = \"y\", per_range = [-9007199254740992, 1], by = \"page\", keys = \"discover\" }",
            "variance = { of = \"x\", range = [1e-15, 9007199254740992] }", "variance = { of = \"x\", range = [0, 1e-30], by = \"page\", keys = \"discover\" }",
            "quantile = { of = \"x\", q = [0.000001, 0.5, 0.999999], range = [0, 5] }",
            "quantile = { of = \"x\", q = 0.5, range = [-1e-9, 1e12], by = \"page\", keys = [\"a\"] }",
            "quantile = { of = \"x\", q = 0.123456, range = [0, 1], step = 1e-9 }",
            "alert = { above = 0 }", "alert = { above = 1099511627776, alarms = 1000, wrong = 1e-9, windows = 1099511627776 }",
            "alert = { count = \"records\", above = 7, by = \"page\", keys = [\"a\", \"b\"] }",
        ][..]),
        keys in prop::sample::select(&[1u32, 3, 1 << 20, 1 << 31][..]),
        per_key in prop::sample::select(&[1u32, 5, 1 << 20][..]),
        price in prop::sample::select(&["share = 1", "share = 1e-18", "cost = { rho = 1e-9 }", "cost = { epsilon = 1e-6 }", "cost = { rho = 1e-6, delta = 1e-12 }"][..]),
        running in prop::sample::select(&["", "", "running = true\n", "running = true\nstrategy = \"fresh\"\n", "running = true\nstrategy = \"tree\"\n"][..]),
        so_far: bool,
        laplace: bool,
    ) {
        let is_extreme = statistic.starts_with("max") || statistic.starts_with("min");
        let is_alert = statistic.starts_with("alert");
        let noise = match laplace {
            _ if statistic.starts_with("quantile") => "exponential",
            _ if is_alert => "geometric",
            true if is_extreme => "exponential",
            true => "laplace",
            false => "gaussian",
        };
        let (count, unit) = every.split_at(every.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
        let over = count.parse::<u32>().map_or(String::new(), |count| format!("over = \"{}{unit}\"\n", count * over));
        let over = if so_far && !running.is_empty() { String::new() } else { over } + running;
        let keys = if statistic.contains("by") || statistic.contains("edges") { keys } else { 1 };
        let per_key = if statistic.contains("people") || is_alert && !statistic.contains("records") { 1 } else { per_key };
        let keys = if is_alert { String::new() } else { format!("keys = {keys}, ") };
        let per_key = if is_extreme { String::new() } else { format!("per_key = {per_key}") };
        let text = GOOD
            .replace("until = 2026-04-11T00:00:00Z", until)
            .replace("lifetime", promise)
            .replace("epsilon = 1.0, delta = 1e-6", budget)
            .replace("every = \"1 day\"\n", &format!("every = \"{every}\"\n{over}"))
            .replace("people = {}\nbound = {}", &format!("{statistic}\nbound = {{ {keys}{per_key} }}"))
            .replace("gaussian", noise)
            .replace("share = 1", price);
        let Ok(job) = Job::parse("a.toml", &text) else { return Ok(()) };
        match job.plan() {
            Ok(plan) => {
                let line = serde_json::to_string(&plan).unwrap();
                prop_assert!(plan.releases[0].noise.iter().all(|noise| noise.scale.is_finite() && noise.interval.is_finite()), "{}", line);
                prop_assert!(!plan.to_string().contains("NaN") && !plan.to_string().contains("inf"), "{}", plan);
            }
            Err(refused) => prop_assert!(refused.field().starts_with("release[1].") || refused.field().starts_with("job."), "{}", refused),
        }
    }
}

// Refutes a plan that holds the names of all releases once for each of them.
#[test]
fn releases_that_share_people_share_one_list_of_their_names() {
    let names: Arc<[String]> = ["a", "b", "c"].map(str::to_owned).into();
    let beside = |own| OtherReleases::beside(own, &names);
    assert_eq!((beside(1).to_string().as_str(), beside(1).is_empty()), ("a, c", false));
    assert_eq!(serde_json::to_string(&beside(0)).unwrap(), r#"["b","c"]"#);
    assert_eq!(Arc::strong_count(&names), 1);
    let _all: Vec<OtherReleases> = (0..3).map(beside).collect();
    assert_eq!(Arc::strong_count(&names), 4);
    assert!(OtherReleases::default().is_empty() && beside(0) != beside(1));
}
