//! Tests of `discreet calibrate running` and `sliding`: the strategies, their errors, and refused parameters.

use serde_json::Value;

use crate::{discreet, json};

fn named<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let strategies = answer["strategies"].as_array().unwrap();
    strategies.iter().find(|strategy| strategy["name"] == name).unwrap()
}

fn near(found: &Value, truth: f64, part: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / truth - 1.0).abs() < part, "{found} is not {truth}");
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

// The reference table, at rho = 1/2, where errors are in units of 1 / sqrt(2 rho).
#[test]
fn totals_so_far_are_compared_by_strategy() {
    let answer = json(&["calibrate", "running", "--horizon", "1048576", "--rho", "0.5", "--json"]);
    assert_eq!(keys(&answer), ["best", "lower_bound", "strategies"]);
    near(&answer["lower_bound"], 5.114611, 1e-6);
    near(&named(&answer, "square-root")["max_sd"], 5.478988, 1e-6);
    near(&named(&answer, "square-root")["rms_sd"], 5.317452, 1e-6);
    near(&named(&answer, "tree")["max_sd"], 15.062214, 1e-6);
    near(&named(&answer, "fresh")["max_sd"], 1024.0, 1e-9);
    let best = named(&answer, answer["best"].as_str().unwrap());
    assert_eq!(keys(best), ["max_sd", "memory_numbers", "name", "ratio", "rms_sd"]);
    assert!(
        best["ratio"].as_f64().unwrap() <= 1.08 && best["memory_numbers"].as_u64().unwrap() <= 64,
        "{best}"
    );
    // At a fifth of the cost, the noise is larger by the square root of 5.
    let dear = json(&["calibrate", "running", "--horizon", "1048576", "--rho", "0.1", "--json"]);
    near(&dear["lower_bound"], 5.114611 * 5f64.sqrt(), 1e-6);
    near(&named(&dear, "buffered")["ratio"], named(&answer, "buffered")["ratio"].as_f64().unwrap(), 1e-12);
}

#[test]
fn totals_over_the_last_ticks_are_compared_by_strategy() {
    let answer = json(&["calibrate", "sliding", "--width", "60", "--rho", "0.5", "--json"]);
    near(&answer["lower_bound"], 2.6488, 1e-4);
    near(&named(&answer, "fresh")["max_sd"], 60f64.sqrt(), 1e-9);
    assert_eq!(answer["best"], "square-root");
    let best = named(&answer, "square-root");
    assert!(best["ratio"].as_f64().unwrap() < 1.0085 && best["max_sd"] == best["rms_sd"], "{best}");
    assert_eq!(best["memory_numbers"], 239);
}

#[test]
fn a_page_says_which_is_best() {
    let (code, page, _) = discreet(&["calibrate", "running", "--horizon", "8760", "--rho", "0.1"]);
    assert!(code == 0 && page.contains("best      buffered") && page.contains("too many"), "{page}");
    let (code, page, _) = discreet(&["calibrate", "sliding", "--width", "24", "--rho", "0.1"]);
    assert!(code == 0 && page.contains("best      square-root") && page.contains("no last tick"), "{page}");
}

// Refutes a charge that is not that of two changes an entry.
#[test]
fn people_of_the_last_windows_change_a_number_twice_for_each_entry() {
    let once = json(&["calibrate", "running", "--horizon", "365", "--rho", "0.05", "--json"]);
    for entries in [1, 4] {
        let asked =
            ["calibrate", "running", "--horizon", "365", "--rho", "0.05", "--entries", &entries.to_string()];
        let answer = json(&[&asked[..], &["--json"]].concat());
        assert_eq!(keys(&answer), ["best", "entries", "strategies"]);
        assert_eq!(answer["best"], once["best"]);
        for strategy in ["buffered", "tree", "fresh"] {
            let (of, own) = (named(&answer, strategy), named(&once, strategy));
            near(&of["max_sd"], own["max_sd"].as_f64().unwrap() * f64::from(2 * entries).sqrt(), 1e-9);
            // At this price a number by itself has the variance 10 for each window that is paid for.
            near(&of["as_windows"], of["max_sd"].as_f64().unwrap().powi(2) / 10.0, 0.1);
        }
        let (code, page, _) = discreet(&asked);
        assert!(
            code == 0 && page.contains(if entries == 1 { "at most once" } else { "at most 4 times" }),
            "{page}"
        );
    }
    let (code, _, error) =
        discreet(&["calibrate", "running", "--horizon", "9", "--rho", "1", "--entries", "0"]);
    assert!(code == 78 && error.starts_with("error: entries: "), "{error}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (command, option, value, field) in [
        ("running", "--horizon", "0", "horizon"),
        ("running", "--horizon", "1.5", "horizon"),
        ("running", "--horizon", "-1", "horizon"),
        ("running", "--horizon", "4294967297", "horizon"),
        ("sliding", "--width", "0", "width"),
        ("sliding", "--width", "16385", "width"),
    ] {
        let (code, output, error) = discreet(&["calibrate", command, option, value, "--rho", "1"]);
        assert_eq!((code, output.as_str()), (78, ""), "{value}: {error}");
        assert!(error.starts_with(&format!("error: {field}: ")), "{value}: {error}");
    }
    for value in ["0", "-1", "nan", "1e9", "x"] {
        for asked in [["running", "--horizon"], ["sliding", "--width"]] {
            let (code, _, error) = discreet(&["calibrate", asked[0], asked[1], "10", "--rho", value]);
            assert!(code == 78 && error.starts_with("error: rho: "), "{value}: {error}");
        }
    }
    assert_eq!(discreet(&["calibrate", "running", "--rho", "1"]).0, 2);
    assert_eq!(discreet(&["calibrate", "sliding", "--width", "10"]).0, 2);
}
