//! The command line as a person or a script meets it: what it prints, what it refuses, and how it exits.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use serde_json::Value;

/// Exit code, standard output, standard error.
fn discreet(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_discreet"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(arguments: &[&str]) -> Value {
    let (code, output, error) = discreet(arguments);
    assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
    assert_eq!(output.lines().count(), 1);
    serde_json::from_str(&output).unwrap()
}

#[test]
fn laplace_is_calibrated_to_a_pure_epsilon() {
    let answer = json(&["calibrate", "laplace", "--epsilon", "0.1", "--json"]);
    assert_eq!(answer["mechanism"], "laplace");
    assert_eq!(answer["sensitivity"], 1);
    assert_eq!(answer["scale"], 10.0);
    assert_eq!(answer["budget"]["epsilon"], 0.1);
    assert_eq!(answer["cost"]["epsilon"], 0.1);
    // sqrt(2q) / (1 - q) at q = e^-0.1, and 1 / sinh(0.1).
    assert!((answer["deviation"].as_f64().unwrap() - 14.136247).abs() < 1e-5);
    assert!((answer["error"].as_f64().unwrap() - 9.983353).abs() < 1e-5);
    // 2 q^(w+1) / (1 + q) <= 0.1 from w = 23 on.
    assert_eq!(answer["interval90"], 23);
}

#[test]
fn gaussian_is_calibrated_to_epsilon_and_delta() {
    let answer = json(&[
        "calibrate",
        "gaussian",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--sensitivity",
        "10",
        "--json",
    ]);
    let sigma = answer["sigma"].as_f64().unwrap();
    // The analytic Gaussian: 4.2247 a unit of sensitivity.
    assert!((sigma - 42.247).abs() < 0.01, "{sigma}");
    let delta = answer["cost"]["delta"].as_f64().unwrap();
    assert!(delta <= 1e-6 && delta > 0.999e-6);
    assert_eq!(answer["budget"]["delta"], 1e-6);
}

#[test]
fn gaussian_is_calibrated_to_rho() {
    let answer = json(&["calibrate", "gaussian", "--rho", "0.5", "--json"]);
    assert_eq!(answer["sigma"], 1.0);
    assert_eq!(answer["cost"]["rho"], 0.5);
}

#[test]
fn a_page_says_what_the_line_says() {
    let (code, page, _) = discreet(&["calibrate", "laplace", "--epsilon", "0.5", "--sensitivity", "3"]);
    assert_eq!(code, 0);
    assert!(
        page.contains("scale = 6") && page.contains("epsilon = 0.5") && page.contains("at most 3,"),
        "{page}"
    );
}

// Refutes a lenient reader and a wrong exit code: 78 for a value that makes no sense, 2 for a wrong command line.
#[test]
fn bad_parameters_are_named_with_a_remedy() {
    for (arguments, message) in [
        (
            ["laplace", "--epsilon", "-1"].as_slice(),
            "error: epsilon: found a negative number; give ",
        ),
        (
            &["laplace", "--epsilon", "0"],
            "error: epsilon: found zero; give ",
        ),
        (
            &["laplace", "--epsilon", "nan"],
            "error: epsilon: found NaN; give ",
        ),
        (
            &["laplace", "--epsilon", "0,5"],
            "error: epsilon: found text that is not understood; give ",
        ),
        (
            &["laplace", "--epsilon", "1e400"],
            "error: epsilon: found a number that is too large; give ",
        ),
        (
            &["laplace", "--epsilon", "1e6"],
            "error: epsilon: found a number that is too large; give ",
        ),
        (
            &["laplace", "--epsilon", "1e-20"],
            "error: epsilon: found a number that is too small; give ",
        ),
        (
            &["laplace", "--epsilon", "1", "--sensitivity", "0"],
            "error: sensitivity: found zero; give ",
        ),
        (
            &["laplace", "--epsilon", "1", "--sensitivity", "1.5"],
            "error: sensitivity: ",
        ),
        (
            &["gaussian", "--epsilon", "1", "--delta", "0"],
            "error: delta: found zero; give ",
        ),
        (
            &["gaussian", "--epsilon", "1", "--delta", "1"],
            "error: delta: found a number that is too large; give ",
        ),
        (
            &["gaussian", "--epsilon", "1"],
            "error: delta: found nothing; give a delta such as 1e-6, or rho",
        ),
        (
            &["gaussian", "--rho", "inf"],
            "error: rho: found an infinite number; give ",
        ),
    ] {
        let (code, output, error) = discreet(&[&["calibrate"], arguments].concat());
        assert_eq!((code, output.as_str()), (78, ""), "{arguments:?}: {error}");
        assert!(error.starts_with(message), "{arguments:?}: {error}");
    }
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for arguments in [
        ["calibrate"].as_slice(),
        &["calibrate", "laplace"],
        &["calibrate", "laplace", "--epsilon", "1", "--rho", "1"],
        &["calibrate", "laplace", "--rho", "1", "--delta", "1e-6"],
        &["calibrate", "laplace", "--epsilom", "1"],
    ] {
        assert_eq!(discreet(arguments).0, 2, "{arguments:?}");
    }
}
