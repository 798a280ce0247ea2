//! Tests of `discreet price`: a list of mechanisms, by five accountants.

use serde_json::Value;

use crate::discreet;

/// Prices a list that is written to a file of its own.
fn price(name: &str, list: &str, delta: &str) -> (i32, String, String) {
    let path = std::env::temp_dir().join(format!("discreet-{}-{name}.json", std::process::id()));
    std::fs::write(&path, list).unwrap();
    let answer = discreet(&["price", path.to_str().unwrap(), "--delta", delta, "--json"]);
    std::fs::remove_file(path).unwrap();
    answer
}

// The mixed row of the reference table, 1000 Laplace of scale 100 and 1000 Gaussian of 200 at 1e-6:
// 1.53979044488.
#[test]
fn a_list_is_priced_in_five_ways() {
    let list = r#"[{"mechanism":"laplace","scale":100,"sensitivity":1,"count":1000},
        {"mechanism":"gaussian","sigma":200,"count":1000}]"#;
    let (code, output, error) = price("mixed", list, "1e-6");
    assert_eq!((code, error.as_str()), (0, ""));
    let answer: Value = serde_json::from_str(&output).unwrap();
    let epsilon = |way: &str| answer[way]["epsilon"].as_f64().unwrap();
    assert!((epsilon("pld") - 1.53979044488).abs() < 2e-6 && epsilon("pld") >= 1.5397904);
    assert!(
        epsilon("pld") < epsilon("renyi")
            && epsilon("renyi") <= epsilon("zcdp")
            && epsilon("zcdp") < epsilon("basic")
    );
    // mu of epsilon .01 is .01253314, a thousand times, and 1000 / 200^2.
    let mu = (1000.0 * 0.012_533_14f64.powi(2) + 1000.0 / 40_000.0).sqrt();
    assert!((answer["gdp"]["mu"].as_f64().unwrap() / mu - 1.0).abs() < 1e-5, "{output}");
    assert!(epsilon("gdp") > epsilon("pld") && epsilon("gdp") < epsilon("basic"), "{output}");
    assert_eq!(answer["best"]["by"], "pld");
    assert_eq!(answer["best"]["epsilon"], answer["pld"]["epsilon"]);
    // 1000 (1/100 - 1 + e^-0.01) + 1000 / (2 * 200^2) = .04983375 + .0125.
    assert!((answer["zcdp"]["rho"].as_f64().unwrap() - 0.06233375).abs() < 1e-8);
}

#[test]
fn every_mechanism_can_be_listed() {
    let list = r#"[{"mechanism":"discrete_laplace","scale":50,"sensitivity":2},
        {"mechanism":"discrete_gaussian","sigma":20,"sensitivity":3,"count":2},
        {"mechanism":"randomized_response","epsilon":0.01,"count":100},{"mechanism":"pure","epsilon":0.1},
        {"mechanism":"zcdp","rho":0.001,"count":5},{"mechanism":"approximate","epsilon":0.1,"delta":1e-9}]"#;
    let (code, output, error) = price("every", list, "1e-6");
    assert_eq!((code, error.as_str()), (0, ""), "{output}");
    assert!(output.contains("\"gdp\":null"), "{output}");
    // Of Gaussian noise alone the two are one: 4.224679... / sqrt(1) is (1, 1e-6).
    let alone = r#"[{"mechanism":"rounded_gaussian","sigma":8.449358,"sensitivity":1,"count":4}]"#;
    let (_, output, _) = price("alone", alone, "1e-6");
    let answer: Value = serde_json::from_str(&output).unwrap();
    let [pld, gdp] = ["pld", "gdp"].map(|way| answer[way]["epsilon"].as_f64().unwrap());
    assert!((gdp - 1.0).abs() < 1e-5 && (pld / gdp - 1.0).abs() < 1e-5, "{output}");
}

// Refutes a parser that skips unknown input: each of these was a real misspelt budget.
#[test]
fn a_bad_list_is_refused_by_entry_and_field() {
    for (index, (list, message)) in [
        (r#"[{"mechanism":"laplace","scal":50}]"#, "entry 1: unknown field `scal`"),
        (
            r#"[{"mechanism":"pure","epsilon":1},{"mechanism":"laplace","scale":-1}]"#,
            "entry 2: scale: found a negative",
        ),
        (r#"[{"mechanism":"laplace","scale":1,"scale":2}]"#, "entry 1: duplicate field `scale`"),
        (r#"[{"mechanism":"pure","epsilon":1,"sigma":3}]"#, "entry 1: sigma: "),
        (r#"[{"mechanism":"pure","epsilon":1,"sensitivity":3}]"#, "entry 1: sensitivity: "),
        (r#"[{"mechanism":"gaussian"}]"#, "entry 1: sigma: found nothing"),
        (r#"[{"mechanism":"gauss","sigma":1}]"#, "entry 1: mechanism: found another name; give "),
        (r#"[{"mechanism":"pure","epsilon":1,"count":0}]"#, "entry 1: count: found zero"),
        (r#"[{"mechanism":"pure","epsilon":1,"count":1.5}]"#, "entry 1: count: "),
        (r#"[{"mechanism":"discrete_gaussian","sigma":1,"sensitivity":0.5}]"#, "entry 1: sensitivity: "),
        (
            r#"[{"mechanism":"approximate","epsilon":1,"delta":1e-5}]"#,
            "error: delta: found a number that is too small",
        ),
        ("[]", "error: mechanisms: found an empty list"),
        ("{}", "a list of mechanisms"),
        ("", ":1:0: found an end that is too early (EOF while parsing a value); give a list such as ["),
        (r#"[{"mechanism":"laplace","scale":NaN}]"#, "entry 1: expected value; give a list such as ["),
        (
            r#"[{"mechanism":"laplace","scale":1e400}]"#,
            "entry 1: scale: found a number that is too large; give ",
        ),
        (
            r#"[{"mechanism":"laplace","scale":"1"}]"#,
            "entry 1: scale: found text that is not understood; give ",
        ),
        (
            r#"[{"mechanism":"laplace","scale":[]}]"#,
            "entry 1: scale: found text that is not understood; give ",
        ),
        (r#"[{"mechanism":"laplace","scale":null}]"#, "entry 1: scale: found nothing; give "),
        (r#"[{"mechanism":7,"scale":1}]"#, "entry 1: mechanism: found another name; give "),
        (
            r#"[{"mechanism":"laplace","scale":1,"count":-1}]"#,
            "entry 1: count: found a negative number; give ",
        ),
        (
            r#"[{"mechanism":"laplace","scale":1,"count":1e300}]"#,
            "entry 1: count: found a number that is not whole",
        ),
        (
            "[7]",
            "entry 1: invalid type: integer `7`, expected a mechanism with its fields; give a list such as [",
        ),
        (
            r#"[{"mechanism":"gaussian","sigma":1},{"mechanism":"discrete_gaussian","sigma":0.1}]"#,
            "error: entry 2: sigma: found a number that is too small; give a number from 1/4 to ",
        ),
        ("null", "invalid type: null, expected a list of mechanisms; give a list such as ["),
        (
            r#"[{"mechanism":"pure","epsilon":1}] more"#,
            "found text that is no JSON (trailing characters); give ",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (code, output, error) = price(&format!("bad-{index}"), list, "1e-6");
        assert_eq!((code, output.as_str()), (78, ""), "{list}: {error}");
        assert!(error.starts_with("error: ") && error.contains(message), "{list}: {error}");
    }
    let place = std::env::temp_dir().join(format!("discreet-{}-binary.json", std::process::id()));
    std::fs::write(&place, [0xff, 0xfe, 0]).unwrap();
    let binary = place.to_str().unwrap();
    for (path, found) in [
        ("/does/not/exist", "found no such file"),
        ("/", "found a directory"),
        (binary, "found bytes that are no UTF-8 text"),
    ] {
        let (code, output, error) = discreet(&["price", path, "--delta", "1e-6"]);
        assert_eq!((code, output.as_str()), (78, ""));
        assert_eq!(error, format!("error: file: {path}: {found}; give a readable text file\n"));
    }
    std::fs::remove_file(&place).unwrap();
    assert_eq!(discreet(&["price", "/does/not/exist"]).0, 2);
}

// Refutes a decimal that is accepted elsewhere and not here: the point may come first or last.
#[test]
fn a_decimal_needs_no_digit_before_its_point_or_behind_it() {
    let calibrated =
        |epsilon: &str| discreet(&["calibrate", "gaussian", "--epsilon", epsilon, "--delta", ".000001"]);
    for (one, other) in [(".1", "0.1"), ("1.", "1"), (".5e1", "5"), ("2.e0", "2")] {
        assert_eq!(calibrated(one).0, 0, "{one}: {}", calibrated(one).2);
        assert_eq!(calibrated(one), calibrated(other));
    }
    assert_eq!(calibrated(".").0, 78);
    let list = r#"[{"mechanism":"gaussian","sigma":20}]"#;
    assert_eq!(price("point", list, ".001"), price("point", list, "0.001"));
}

// One loss of 1/100 a hundred times adds up to exactly 1, where the search for epsilon begins. By 77-digit
// arithmetic.
#[test]
fn losses_that_add_up_to_a_whole_number_are_priced_as_they_are() {
    for (size, epsilon) in [(20, 0.8722819), (50, 0.5568738), (64, 0.4934528), (100, 0.3922640)] {
        let list = format!(r#"[{{"mechanism":"discrete_laplace","scale":{size},"count":{size}}}]"#);
        let (code, output, error) = price(&format!("whole-{size}"), &list, "1e-6");
        assert_eq!((code, error.as_str()), (0, ""));
        let answer: Value = serde_json::from_str(&output).unwrap();
        let found = answer["pld"]["epsilon"].as_f64().unwrap();
        assert!((found / epsilon - 1.0).abs() < 2e-6, "{size}: {found}");
    }
}
