//! `discreet calibrate shape`: what it finds, and what it refuses.

use std::fs;

use crate::{discreet, json};

fn shape(arguments: &[&str]) -> serde_json::Value {
    json(&[&["calibrate", "shape", "--json"], arguments].concat())
}

fn near(found: &serde_json::Value, truth: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / truth - 1.0).abs() < 1e-4, "{found} is not {truth}");
}

#[test]
fn a_box_has_the_sum_of_its_sides() {
    let answer = shape(&["--box", "1,2,3", "--norm", "2", "--rho", "0.5", "--people", "100"]);
    near(&answer["gamma"], 6.0);
    near(&answer["covariance"][2][2], 18.0);
    near(&answer["error"], 0.06);
    near(&answer["isotropic_error"], 0.01 * 42f64.sqrt());
    near(&answer["lower_bound"], 0.06 / 1f64.exp_m1().sqrt());
    assert!(answer["gap"].as_f64().unwrap() < 1e-9);
    let largest = shape(&["--box", "1,2,3", "--norm", "inf", "--rho", "0.5", "--people", "100"]);
    near(&largest["gamma"], 14f64.sqrt());
    let replaced = shape(&["--box", "1,2,3", "--rho", "0.5", "--people", "100", "--relation", "replace"]);
    near(&replaced["error"], 0.12);
    let ball = shape(&["--ball", "inf,2,4", "--rho", "0.5", "--people", "1"]);
    near(&ball["gamma"], 8.0);
}

#[test]
fn points_are_read_from_a_file() {
    let path = std::env::temp_dir().join(format!("discreet-shape-{}.csv", std::process::id()));
    let file = path.to_str().unwrap();
    let refusal = |text: &str| {
        fs::write(&path, text).unwrap();
        let (code, output, error) =
            discreet(&["calibrate", "shape", "--points", file, "--rho", "1", "--people", "9"]);
        assert_eq!((code, output.as_str()), (78, ""), "{text:?}: {error}");
        error
    };
    for (text, message) in [
        ("", "found an empty file"),
        ("\n\n", "found an empty file"),
        ("x,y\n1,2\n", "line 1, column 1: found text that is not understood"),
        ("1,2\n3,nan\n", "line 2, column 2: found NaN"),
        ("1,2\n-inf,3\n", "line 2, column 1: found an infinite number"),
        ("1,2\n3,1e400\n", "line 2, column 2: found an infinite number"),
        ("1,2\n3\n", "line 2, column 2: found a line of 1 numbers; give 2"),
        ("1,2\n3,4,5\n", "line 2, column 3: found a line of 3 numbers; give 2"),
        ("1,2\n\n3,4\n", "line 2, column 1: found nothing"),
        ("1,\n", "line 1, column 2: found nothing"),
        ("1,2\n1,2\n", "points: found a number that is too small; give at least two that differ"),
        ("1,2\n1,1e300\n", "points: found a number that is too large"),
    ] {
        let error = refusal(text);
        assert!(error.starts_with("error: points: ") && error.contains(message), "{text:?}: {error}");
    }
    fs::write(&path, "1,0\n-0.5,0.8660254037844386\r\n-5e-1, -0.8660254037844386\n").unwrap();
    let arguments = ["--points", file, "--rho", "1", "--people", "9"];
    near(&shape(&arguments)["gamma"], 2f64.sqrt());
    near(&shape(&[&arguments[..], &["--relation", "replace"]].concat())["gamma"], 1.5f64.sqrt());
    let (code, page, _) = discreet(&[&["calibrate", "shape"], &arguments[..]].concat());
    assert_eq!(code, 0);
    assert!(page.contains("gamma 1.414") && page.contains("a biased mean"), "{page}");
    fs::remove_file(&path).unwrap();
    let (code, _, error) = discreet(&[&["calibrate", "shape"], &arguments[..]].concat());
    assert!(code == 78 && error.starts_with("error: points: "), "{error}");
}

#[test]
fn bad_domains_are_named_with_a_remedy() {
    for (arguments, message) in [
        (["--box", "1,-2"].as_slice(), "error: box: found a negative number; give "),
        (&["--box", "1,nan"], "error: box: found NaN; give "),
        (&["--box", "1,inf"], "error: box: found an infinite number; give "),
        (&["--box", "0,0"], "error: box: found zero; give "),
        (&["--box", ""], "error: box: found nothing; give "),
        (&["--ball", "2,1"], "error: ball: found other than three numbers; give "),
        (&["--ball", "2,1,0"], "error: ball: dimension: found zero; give "),
        (&["--ball", "2,inf,3"], "error: ball: found an infinite number; give "),
        (&["--ball", "0.5,1,3"], "error: ball: power: found a number that is too small; give "),
        (&["--box", "1", "--norm", "1"], "error: norm: found a number that is too small; give "),
        (&["--box", "1", "--relation", "swap"], "error: relation: found text that is not understood; give "),
        (&["--box", "1", "--rho", "0"], "error: rho: found zero; give "),
        (&["--box", "1", "--people", "0"], "error: people: found zero; give "),
    ] {
        let mut line = vec!["calibrate", "shape"];
        line.extend(arguments);
        if !arguments.contains(&"--rho") {
            line.extend(["--rho", "1"]);
        }
        if !arguments.contains(&"--people") {
            line.extend(["--people", "9"]);
        }
        let (code, output, error) = discreet(&line);
        assert_eq!((code, output.as_str()), (78, ""), "{arguments:?}: {error}");
        assert!(error.starts_with(message), "{arguments:?}: {error}");
    }
    for wrong in [["--rho", "1"].as_slice(), &["--box", "1", "--ball", "2,1,2", "--rho", "1"]] {
        let line = [&["calibrate", "shape", "--people", "9"], wrong].concat();
        assert_eq!(discreet(&line).0, 2, "{wrong:?}");
    }
}
