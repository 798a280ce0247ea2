//! Tests of `discreet calibrate shape`: its answers, and refused parameters.

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

/// A file with this text, removed after the test.
struct File(std::path::PathBuf);

impl File {
    fn of(name: &str, text: &str) -> File {
        let path = std::env::temp_dir().join(format!("discreet-{name}-{}.csv", std::process::id()));
        fs::write(&path, text).unwrap();
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

// By hand: an ellipsoid is its own shape, generators along the axes make a box, k of d bits have d over k
// coordinates of as much variance, and the square of a point on the unit circle has length 1.
#[test]
fn every_kind_of_domain_can_be_given() {
    let rest = ["--rho", "0.5", "--people", "1"];
    let of = |given: &[&str]| shape(&[given, &rest].concat());
    let ellipsoid = File::of("ellipsoid", "2,0\n1,0.5\n");
    let answer = of(&["--ellipsoid", ellipsoid.path()]);
    near(&answer["gamma"], 5.25f64.sqrt());
    near(&answer["covariance"][0][1], 2.0);
    near(&of(&["--ellipsoid", ellipsoid.path(), "--norm", "inf"])["gamma"], 2.0);
    let zonotope = File::of("zonotope", "1,0,0\n0,2,0\n0,0,3\n");
    near(&of(&["--zonotope", zonotope.path()])["gamma"], 6.0);
    near(&of(&["--marginals", "6,1"])["gamma"], 6.0);
    let pairs = of(&["--marginals", "6, 2", "--relation", "replace"]);
    near(&pairs["gamma"], 135f64.sqrt());
    near(&pairs["isotropic_error"], 2.0 * 135f64.sqrt());
    let points = File::of("moments", "1,0\n0,1\n0.6,0.8\n0.8,-0.6\n");
    let moments = of(&["--points", points.path(), "--moments", "2"]);
    assert_eq!(moments["covariance"].as_array().unwrap().len(), 3);
    assert!(moments["gap"].as_f64().unwrap() <= 1e-4);
    // Squares do not depend on signs: no point is farther out than 1 in a shape of trace 3, and less
    // suffices.
    assert!((1.0..=3f64.sqrt()).contains(&moments["gamma"].as_f64().unwrap()), "{moments}");
    assert!(moments["error"].as_f64() <= moments["isotropic_error"].as_f64());
    for answer in [answer, pairs, moments] {
        let mut keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["covariance", "error", "gamma", "gap", "isotropic_error", "lower_bound"]);
    }
}

#[test]
fn bad_files_and_bad_numbers_of_other_domains_are_named() {
    let run = |arguments: &[&str]| {
        let (code, output, error) =
            discreet(&[&["calibrate", "shape", "--rho", "1", "--people", "9"], arguments].concat());
        assert_eq!((code, output.as_str()), (78, ""), "{arguments:?}: {error}");
        error
    };
    for (text, message) in [
        ("", "found an empty file; give "),
        ("1,2\n3\n", "line 2, column 2: found a line of 1 numbers; give 2"),
        ("1,nan\n", "line 1, column 2: found NaN"),
        ("1,2\ninfinity,2\n", "line 2, column 1: found an infinite number"),
        ("0,0\n0,0\n", "found zero; give at least one number that is not zero"),
        (
            "1,1e-200\n",
            "found a number that is too small; give 0, or a size from 1e-100 to 1e100, in row 1, column 2",
        ),
    ] {
        let file = File::of("bad", text);
        for kind in ["ellipsoid", "zonotope"] {
            let error = run(&[&format!("--{kind}"), file.path()]);
            assert!(
                error.starts_with(&format!("error: {kind}: ")) && error.contains(message),
                "{text:?}: {error}"
            );
        }
    }
    let directory = std::env::temp_dir();
    for kind in ["points", "ellipsoid", "zonotope"] {
        let error = run(&[&format!("--{kind}"), directory.to_str().unwrap()]);
        assert!(
            error.starts_with(&format!("error: {kind}: ")) && error.contains("give a readable text file"),
            "{error}"
        );
    }
    for (given, message) in [
        ("3", "marginals: found other than two numbers; give "),
        ("3,4", "marginals: ways: found a number that is too large; give "),
        ("0,1", "marginals: bits: found zero; give "),
        ("3,0", "marginals: ways: found zero; give "),
        ("24,12", "marginals: points: found a number that is too large; give "),
        ("99999999999,1", "marginals: bits: found a number that is too large; give "),
        ("2.5,1", "marginals: found a number that is not whole or too large; give "),
        ("", "marginals: found other than two numbers; give "),
    ] {
        let error = run(&["--marginals", given]);
        assert!(error.starts_with(&format!("error: {message}")), "{given}: {error}");
    }
    let file = File::of("tensors", "1,2\n3,4\n");
    for (order, message) in [
        ("0", "moments: order: found zero; give "),
        ("9", "moments: order: found a number that is too large; give "),
        ("-1", "moments: found "),
        ("1.5", "moments: found a number that is not whole or too large; give "),
    ] {
        let error = run(&["--points", file.path(), "--moments", order]);
        assert!(error.starts_with(&format!("error: {message}")), "{order}: {error}");
    }
    // The tensors of all points are equal: there is nothing to release.
    let same = File::of("same", "1,-1\n-1,1\n");
    assert!(run(&["--points", same.path(), "--moments", "2"]).starts_with("error: moments: points: "));
    let (code, _, _) =
        discreet(&["calibrate", "shape", "--rho", "1", "--people", "9", "--box", "1", "--moments", "2"]);
    assert_eq!(code, 2);
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
