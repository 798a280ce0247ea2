//! Tests of `discreet calibrate stable-mean`: the people it needs, its cost, and refused parameters.

use crate::{discreet, json};

const NAMES: [&str; 4] = ["--people", "--dimension", "--epsilon", "--delta"];

fn asked<'a>(values: [&'a str; 4], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["calibrate", "stable-mean"];
    NAMES.iter().zip(values).for_each(|(name, value)| arguments.extend([*name, value]));
    arguments.extend(more);
    arguments
}

#[test]
fn a_price_is_printed_with_all_of_its_parts() {
    for (relation, more) in
        [("add-remove", ["--json"].as_slice()), ("replace", &["--relation", "replace", "--json"])]
    {
        let answer = json(&asked(["100000", "5", "2", "1e-6"], more));
        let number = |group: &str, name: &str| answer[group][name].as_f64().unwrap();
        assert_eq!(
            (answer["mechanism"].as_str(), answer["relation"].as_str()),
            (Some("stable mean"), Some(relation))
        );
        assert_eq!(answer["assumes"], "floating-point assumed");
        assert!(number("cost", "epsilon") <= 2.0 && number("cost", "epsilon") > 1.99);
        assert!(number("cost", "delta") < 1e-6 && number("cost", "omega") > 1.0);
        let count = answer["cost"]["count"].as_f64();
        assert_eq!(count.is_some(), relation == "add-remove");
        let parts = ["test", "noise", "shape"].map(|part| number("cost", part)).iter().sum::<f64>()
            + count.unwrap_or(0.0);
        assert!(parts <= number("cost", "rho") * (1.0 + 1e-9) && parts > number("cost", "rho") * 0.999);
        let (needed, kept) = (number("needs", "people"), number("needs", "kept"));
        assert!(needed <= 100_000.0 && kept <= 100_000.0);
        assert_eq!(kept == 100_000.0, relation == "replace");
        // Pairs are at least ten times k lambda.
        assert!(kept >= 20.0 * number("needs", "k") * number("needs", "lambda"));
        // sqrt(d / n), and the noise beside it.
        assert!((number("error", "sampling") - (5.0 / kept).sqrt()).abs() < 1e-12);
        assert!((number("error", "noise") / number("error", "noise_each") - 5f64.sqrt()).abs() < 1e-12);
        assert!(number("error", "noise") > 0.0 && number("error", "noise") < number("error", "sampling"));
    }
}

// Refutes a least number of people that is not enough, or is not the least.
#[test]
fn too_few_people_are_refused_with_the_number_that_is_needed() {
    let (code, output, error) = discreet(&asked(["1000", "5", "2", "1e-6"], &[]));
    assert_eq!((code, output.as_str()), (78, ""));
    let words = "error: people: found a number that is too small; give at least ";
    let needed = error.strip_prefix(words).unwrap().split(' ').next().unwrap();
    let (code, page, error) = discreet(&asked([needed, "5", "2", "1e-6"], &[]));
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(
        page.starts_with(&format!(
            "needs    at least {needed} people at this price; {needed} are expected, "
        ))
    );
    assert!(page.contains("cost     epsilon = 2.000000 at delta = 0.000001\n"));
    assert!(page.ends_with("needs no bounds but those of the integers: floating-point assumed.\n"));
    let fewer = (needed.parse::<u64>().unwrap() - 100).to_string();
    assert_eq!(discreet(&asked([&fewer, "5", "2", "1e-6"], &[])).0, 78);
}

#[test]
fn bad_input_is_refused_by_name() {
    for (values, message) in [
        (["100000", "0", "2", "1e-6"], "dimension: found zero"),
        (["100000", "65", "2", "1e-6"], "dimension: found a number that is too large"),
        (["100000", "2.5", "2", "1e-6"], "dimension: "),
        (["0", "2", "2", "1e-6"], "people: found a number that is too small"),
        (["-5", "2", "2", "1e-6"], "people: found a negative number"),
        (["33554432", "2", "2", "1e-6"], "people: found a number that is too large"),
        (["100000", "2", "NaN", "1e-6"], "epsilon: found NaN"),
        (["100000", "2", "inf", "1e-6"], "epsilon: found an infinite number"),
        (["100000", "2", "0", "1e-6"], "epsilon: "),
        (["100000", "2", "0.0001", "1e-6"], "epsilon: found a number that is too small"),
        (["100000", "2", "1e9", "1e-6"], "epsilon: found a number that is too large"),
        (["100000", "2", "2", "0"], "delta: found zero"),
        (["100000", "2", "2", "1"], "delta: found a number that is too large"),
        (["100000", "2", "2", "nan"], "delta: found NaN"),
    ] {
        let (code, output, error) = discreet(&asked(values, &["--json"]));
        assert_eq!((code, output.as_str()), (78, ""), "{values:?}");
        assert!(error.starts_with(&format!("error: {message}")), "{values:?}: {error}");
    }
    let (code, _, error) = discreet(&asked(["100000", "2", "1", "1e-6"], &["--relation", "replaced"]));
    assert_eq!(code, 78);
    assert_eq!(error, "error: relation: found text that is not understood; give add-remove or replace\n");
    assert_ne!(discreet(&["calibrate", "stable-mean", "--people", "100000"]).0, 0);
}

// A box of 2^41 steps has a grid of 4, and the noise is some thousandth: the grid was the larger part of the
// error, and was not reported.
#[test]
fn the_grid_stands_beside_the_noise_and_a_wide_box_is_refused() {
    let replace = |width| ["--relation", "replace", "--json", "--width", width];
    let answer = json(&asked(["100000", "2", "2", "1e-6"], &replace("2000000")));
    let (grid, noise) =
        (answer["error"]["grid"].as_f64().unwrap(), answer["error"]["noise_each"].as_f64().unwrap());
    // From 2^-30 to 2^-29 of the largest noise in the box.
    assert!(grid > noise * 2e6 / 2f64.powi(30) && grid <= noise * 2e6 / 2f64.powi(29), "{grid} {noise}");
    let (code, output, error) = discreet(&asked(["100000", "2", "2", "1e-6"], &replace("2199023255552")));
    assert_eq!((code, output.as_str()), (78, ""));
    assert!(
        error.starts_with("error: width: found a box that is too wide; give sides less than 2^29 apart"),
        "{error}"
    );
}

// With 200 records each window was charged, and erred by thousands of deviations.
#[test]
fn a_found_mean_of_too_few_is_refused() {
    let asked = |people: &str, more: &[&str]| {
        let named = [
            "calibrate",
            "found-mean",
            "--dimension",
            "2",
            "--reach",
            "1000000000",
            "--rho",
            "0.1",
            "--people",
            people,
        ];
        discreet(&[named.as_slice(), more].concat())
    };
    let (code, output, error) = asked("200", &[]);
    assert_eq!((code, output.as_str()), (78, ""));
    let words = "error: people: found a number that is too small; give at least ";
    let needed = error.strip_prefix(words).unwrap().split(' ').next().unwrap();
    let (code, page, error) = asked(needed, &[]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(page.starts_with("needs    at least "), "{page}");
    let fewer = (needed.parse::<u64>().unwrap() - 1).to_string();
    assert_eq!(asked(&fewer, &["--json"]).0, 78);
}
