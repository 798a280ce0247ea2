//! Tests of `discreet calibrate`: the noise for a budget, and refused parameters.

use serde_json::Value;

use crate::{discreet, json};

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

// Refutes a lenient parser and a wrong exit code: 78 for a refused value, 2 for a wrong command line.
#[test]
fn bad_parameters_are_named_with_a_remedy() {
    for (arguments, message) in [
        (["laplace", "--epsilon", "-1"].as_slice(), "error: epsilon: found a negative number; give "),
        (&["laplace", "--epsilon", "0"], "error: epsilon: found zero; give "),
        (&["laplace", "--epsilon", "nan"], "error: epsilon: found NaN; give "),
        (&["laplace", "--epsilon", "0,5"], "error: epsilon: found text that is not understood; give "),
        (&["laplace", "--epsilon", "1e400"], "error: epsilon: found a number that is too large; give "),
        (&["laplace", "--epsilon", "1e6"], "error: epsilon: found a number that is too large; give "),
        (&["laplace", "--epsilon", "1e-20"], "error: epsilon: found a number that is too small; give "),
        (&["laplace", "--epsilon", "1", "--sensitivity", "0"], "error: sensitivity: found zero; give "),
        (&["laplace", "--epsilon", "1", "--sensitivity", "1.5"], "error: sensitivity: "),
        (&["gaussian", "--epsilon", "1", "--delta", "0"], "error: delta: found zero; give "),
        (
            &["gaussian", "--epsilon", "1", "--delta", "1"],
            "error: delta: found a number that is too large; give ",
        ),
        (&["gaussian", "--epsilon", "1"], "error: delta: found nothing; give a delta such as 1e-6, or rho"),
        (&["gaussian", "--rho", "inf"], "error: rho: found an infinite number; give "),
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
    let (_, _, error) = discreet(&["calibrate", "gaussian"]);
    assert!(error.contains("<--epsilon <EPSILON>|--rho <RHO>>"), "{error}");
}

// The published grids; tau of Laplace noise is published as 153.
#[test]
fn a_largest_value_is_calibrated_to_a_budget() {
    let max = |arguments: &[&str]| json(&[&["calibrate", "max", "--json"], arguments].concat());
    let answer = max(&["--grid", "1048576", "--rho", "0.1", "--confidence", "0.99"]);
    assert_eq!(
        (&answer["comparisons"], &answer["tau"], &answer["rank_error"]),
        (&20.into(), &33.into(), &66.into())
    );
    assert!((answer["scale"].as_f64().unwrap() - 10.0).abs() < 1e-6, "{answer}");
    assert_eq!(answer["rho"], 0.1);
    let answer = max(&["--grid", "1048576", "--epsilon", "1", "--confidence", "0.99"]);
    assert_eq!((&answer["comparisons"], &answer["tau"]), (&20.into(), &138.into()));
    assert!((answer["scale"].as_f64().unwrap() - 20.0).abs() < 1e-6, "{answer}");
    assert_eq!((&answer["shifted_inverse"]["tau"], &answer["epsilon"]), (&37.into(), &1.0.into()));
    // Three comparisons for six points: a published count is two.
    assert_eq!(max(&["--grid", "6", "--rho", "0.1"])["comparisons"], 3);
    assert_eq!(max(&["--grid", "log", "--rho", "0.1"])["comparisons"], 10);
    // Two keys cost as much as two searches.
    let two = max(&["--grid", "1024", "--rho", "0.1", "--keys", "2"])["scale"].as_f64().unwrap();
    let one = max(&["--grid", "1024", "--rho", "0.05"])["scale"].as_f64().unwrap();
    assert!((two / one - 1.0).abs() < 1e-9);
    let (code, page, _) = discreet(&["calibrate", "max", "--grid", "1024", "--rho", "0.1"]);
    assert_eq!(code, 0);
    assert!(page.contains("too small by design"), "{page}");
    let (code, _, error) = discreet(&["calibrate", "max", "--grid", "2", "--rho", "0.1"]);
    assert!(code == 78 && error.contains("grid: found too few"), "{error}");
    assert_eq!(discreet(&["calibrate", "max", "--grid", "1024"]).0, 2);
}

#[test]
fn a_quantile_is_calibrated_to_a_budget() {
    let quantile = |arguments: &[&str]| json(&[&["calibrate", "quantile", "--json"], arguments].concat());
    let answer = quantile(&["--grid", "1024", "--epsilon", "1", "--confidence", "0.99"]);
    // One person moves twice the rank of the median by 1: scale 2 / 2 epsilon.
    assert!((answer["scale"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{answer}");
    // At most (2 / 2 epsilon) ln(1024 / 0.01) = 11.5.
    let error = answer["rank_error"].as_u64().unwrap();
    assert!((8..=12).contains(&error), "{answer}");
    // ln 2 and ln 10 of a scale of 1, whole ranks.
    assert_eq!(answer["quantiles"][0]["typical"], serde_json::json!({"half": 1, "nine_tenths": 3}));
    let answer = quantile(&["--grid", "1024", "--rho", "0.1", "--q", "0.5,0.9,0.99", "--per-key", "3"]);
    assert_eq!(answer["quantiles"].as_array().unwrap().len(), 3);
    assert_eq!(answer["rho"], 0.1);
    let flip = ["--grid", "1024", "--epsilon", "1", "--flip"];
    assert_eq!(quantile(&flip)["mechanism"], "permute-and-flip");
    let refused = |arguments: &[&str]| discreet(&[&["calibrate", "quantile"], arguments].concat());
    let (code, _, error) = refused(&["--grid", "1024", "--rho", "1", "--flip"]);
    assert!(code == 78 && error.contains("rho: found it beside flip"), "{error}");
    let (code, _, error) = refused(&["--grid", "1024", "--rho", "1", "--q", "1.5"]);
    assert!(code == 78 && error.contains("q: found"), "{error}");
    let (code, page, _) = refused(&["--grid", "1024", "--rho", "1", "--q", "0.5,0.95"]);
    assert!(code == 0 && page.contains("q 0.95"), "{page}");
    assert!(page.contains("typically half within") && page.contains("typical is no promise"), "{page}");
    // The finest grid that is accepted.
    let seven = "0.05,0.1,0.25,0.5,0.75,0.9,0.95";
    let answer = quantile(&["--grid", "1099511627776", "--rho", "0.001", "--q", seven]);
    for own in answer["quantiles"].as_array().unwrap() {
        let (promised, typical) =
            (own["rank_error"].as_u64().unwrap(), own["typical"]["nine_tenths"].as_u64().unwrap());
        assert!(promised > 5 * typical && typical > 40, "{answer}");
    }
}

// The widths of a search over 481 divisions of the price, at .05: .306 and .294 for 24 windows, and so on.
#[test]
fn an_alert_is_calibrated_to_a_budget() {
    let alert =
        |arguments: &[&str]| json(&[&["calibrate", "alert", "--json", "--above", "500"], arguments].concat());
    for (rho, windows, epsilons, width) in [
        ("0.1", "24", [0.306, 0.294], 35.4),
        ("0.1", "720", [0.267, 0.314], 46.5),
        ("0.02", "8760", [0.110, 0.145], 121.6),
        ("0.005", "100000", [0.052, 0.074], 276.4),
    ] {
        let answer = alert(&["--rho", rho, "--windows", windows]);
        let scales = ["scale_of_threshold", "scale_of_number"].map(|scale| answer[scale].as_f64().unwrap());
        // The optimum is flat.
        for (scale, epsilon) in scales.iter().zip(epsilons) {
            assert!((1.0 / scale / epsilon - 1.0).abs() < 0.03, "{answer}");
        }
        let band = answer["surely"].as_u64().unwrap() - 500;
        assert!((width - 1.0..width + 1.5).contains(&(band as f64)), "{answer}");
    }
    let band = |arguments: &[&str]| alert(arguments)["surely"].as_f64().unwrap() - 500.0;
    let one = band(&["--epsilon", "1", "--windows", "720"]);
    let records = band(&["--epsilon", "1", "--windows", "720", "--per-key", "10"]);
    assert!((records / one - 10.0).abs() < 0.5, "{one} {records}");
    assert_eq!(band(&["--epsilon", "1", "--windows", "72", "--keys", "10"]), one);
    let four = band(&["--rho", "0.1", "--windows", "720", "--alarms", "4"]);
    assert!(four > 2.0 * band(&["--rho", "0.1", "--windows", "720"]), "{four}");
    let (code, page, _) =
        discreet(&["calibrate", "alert", "--above", "500", "--rho", "0.1", "--windows", "720"]);
    assert!(code == 0 && page.contains("silent up to   500\n") && page.contains("for 1 alarm,"), "{page}");
    for (arguments, words) in [
        (&["--rho", "0.1", "--windows", "0"][..], "windows: found zero"),
        (&["--rho", "0.1", "--windows", "5", "--alarms", "0"], "alarms: found zero"),
        (&["--rho", "0.1", "--windows", "5", "--wrong", "1"], "wrong: found"),
        (&["--epsilon", "1e-12", "--windows", "5"], "epsilon: found"),
        (
            &["--epsilon", "1", "--windows", "5", "--keys", "18446744073709551615"],
            "keys: found more than 2^40",
        ),
        (&["--epsilon", "1", "--windows", "5", "--keys", "0"], "keys: found zero"),
    ] {
        let (code, _, error) = discreet(&[&["calibrate", "alert", "--above", "500"], arguments].concat());
        assert!(code == 78 && error.contains(words), "{arguments:?}: {error}");
    }
}

// The published errors at a rho of .1, of age x country and device, and of all pairs of ten bits.
#[test]
fn marginals_are_calibrated_to_a_budget() {
    let of = |arguments: &[&str]| {
        json(&[&["calibrate", "marginals", "--json", "--rho", "0.1"], arguments].concat())
    };
    let near = |value: &Value, truth: f64| {
        assert!((value.as_f64().unwrap() / truth - 1.0).abs() < 1e-3, "{value} {truth}")
    };
    let answer = of(&["--sizes", "10,20,5", "--tables", "0+1,2"]);
    near(&answer["error"], 2.548);
    near(&answer["apart"], 2.558);
    assert!((answer["error"].as_f64().unwrap() / answer["least"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    near(&of(&["--sizes", "10,20,5", "--tables", "0+1,2", "--per-key", "3"])["error"], 3.0 * 2.5477);
    // A table by itself, of people with four of its cells: the histogram of its keys would err by the root of 4 / .2.
    let one = of(&["--sizes", "10", "--tables", "0", "--keys", "4"]);
    near(&one["apart"], 20.0_f64.sqrt());
    near(&one["error"], 0.9348 * 20.0_f64.sqrt());
    assert_eq!(of(&["--sizes", "10", "--tables", "0,"])["tables"][1]["table"], "");
    let pairs: Vec<String> =
        (0..10).flat_map(|one| (one + 1..10).map(move |other| format!("{one}+{other}"))).collect();
    let bits = of(&["--sizes", "2,2,2,2,2,2,2,2,2,2", "--tables", &pairs.join(",")]);
    near(&bits["error"], 6.809);
    near(&bits["apart"], 15.0);
    let arguments = ["calibrate", "marginals", "--rho", "0.1", "--sizes", "3,4", "--tables", "0+1,1"];
    let (code, page, _) = discreet(&arguments);
    assert!(code == 0 && page.contains("at most 1.000000 times that of any Gaussian noise"), "{page}");
    for (sizes, tables, words) in [
        ("3,x", "0", "sizes: found other than a whole number"),
        ("3,4", "0+7", "tables: found"),
        ("3,4", "0+0", "tables: found"),
        ("1", "0", "sizes: found"),
        ("1000000", "0,", "rho: found 0; give a number from 1e-12 on"),
    ] {
        let rho = if words.starts_with("rho") { "0" } else { "1" };
        let arguments = ["calibrate", "marginals", "--rho", rho, "--sizes", sizes, "--tables", tables];
        let (code, _, error) = discreet(&arguments);
        assert!(code == 78 && error.contains(words), "{sizes} {tables}: {error}");
    }
}

// Of a thousand keys and ten picks at a rho of .1 each is within 43 people at .95, by the published figure.
#[test]
fn the_most_frequent_keys_are_calibrated_to_a_budget() {
    let top = |arguments: &[&str]| json(&[&["calibrate", "top", "--json"], arguments].concat());
    let within = |arguments: &[&str]| top(arguments)["within"].as_u64().unwrap();
    let published = ["--rho", "0.1", "--k", "10", "--keys", "1000", "--confidence", "0.95"];
    assert_eq!(within(&published), 43);
    let pure = top(&["--epsilon", "1", "--k", "5", "--keys", "100"]);
    assert!(pure["within_by_permute_and_flip"].as_u64() <= pure["within"].as_u64(), "{pure}");
    let records = within(&["--epsilon", "1", "--k", "5", "--keys", "100", "--per-key", "10"]);
    assert!((records as f64 / pure["within"].as_f64().unwrap() - 10.0).abs() < 0.3, "{pure} {records}");
    let (code, page, _) = discreet(&["calibrate", "top", "--rho", "0.1", "--k", "3", "--keys", "10"]);
    assert!(code == 0 && page.contains("exponential       within ") && !page.contains("flip"), "{page}");
    for (arguments, words) in [
        (&["--rho", "0.1", "--k", "0", "--keys", "5"][..], "k: found zero"),
        (&["--rho", "0.1", "--k", "6", "--keys", "5"], "k: found"),
        (&["--rho", "0.1", "--k", "1", "--keys", "0"], "keys: found 0"),
        (&["--rho", "0.1", "--k", "1", "--keys", "5", "--confidence", "1"], "confidence: found"),
        (&["--epsilon", "1e-12", "--k", "1", "--keys", "5"], "epsilon: found"),
    ] {
        let (code, _, error) = discreet(&[&["calibrate", "top"], arguments].concat());
        assert!(code == 78 && error.contains(words), "{arguments:?}: {error}");
    }
}

// 10,000 people at a local epsilon of 1 and delta 1e-6: .0530 by clones, .214 by the closed form; .0432 for
// binary response.
#[test]
fn shuffled_reports_are_priced_and_calibrated() {
    let shuffle = |arguments: &[&str]| {
        json(
            &[&["calibrate", "shuffle", "--people", "10000", "--delta", "1e-6", "--json"], arguments]
                .concat(),
        )
    };
    let answer = shuffle(&["--local-epsilon", "1"]);
    let near = |value: &Value, truth: f64| {
        assert!((value.as_f64().unwrap() - truth).abs() < 6e-4, "{value} {truth}")
    };
    near(&answer["exact"]["epsilon"], 0.0530);
    assert_eq!((answer["exact"]["by"].as_str(), answer.get("attained")), (Some("clones"), None));
    near(&answer["closed"]["epsilon"], 0.214);
    near(&shuffle(&["--local-epsilon", "1", "--choices", "2"])["cost"]["epsilon"], 0.0432);
    let many = shuffle(&["--local-epsilon", "1", "--choices", "16"]);
    near(&many["cost"]["epsilon"], 0.01859);
    near(&many["attained"]["epsilon"], 0.01859);
    assert_eq!(many["exact"]["by"], "blanket");
    near(&shuffle(&["--local-epsilon", "1", "--unary"])["cost"]["epsilon"], 0.03521);
    let back = shuffle(&["--epsilon", "0.0530053174"]);
    assert!((back["local_epsilon"].as_f64().unwrap() - 1.0).abs() < 1e-4);
    assert!(back["cost"]["epsilon"].as_f64().unwrap() <= 0.0530053174);
    assert_eq!(
        discreet(&["calibrate", "shuffle", "--people", "1", "--local-epsilon", "1", "--delta", "1e-6"]).0,
        78
    );
    assert_eq!(discreet(&["calibrate", "shuffle", "--people", "10", "--delta", "1e-6"]).0, 2);
}

#[test]
fn adaptive_questions_are_counted() {
    let adaptive = ["calibrate", "adaptive", "--people", "1000000", "--error", "0.05", "--failure", "0.05"];
    let answer = json(&[adaptive.as_slice(), &["--json"]].concat());
    let number = |field: &str| answer[field].as_f64().unwrap();
    assert!(number("questions") > 1000.0 && number("sigma") > 1000.0);
    // Hoeffding, by hand: 10^6 / 504 = 1984 people a question, 1008 e^(-2 * 1984 * .0025) = .0496.
    assert_eq!(answer["fresh"]["questions"], 504);
    // Bounded noise: at least twice as many, within the same error, and never beyond its bound.
    let bounded = &answer["bounded"];
    let of = |value: &Value| value.as_f64().unwrap();
    assert!(
        of(&bounded["ratio"]) >= 2.0 && of(&bounded["questions"]) >= 2.0 * number("questions"),
        "{answer}"
    );
    assert_eq!(bounded["sample"]["failure"], 0.0);
    assert_eq!(bounded["sample"]["error"], bounded["bound"]);
    assert!(of(&bounded["bound"]) < 50_000.0 && of(&bounded["cost"]["delta"]) < 0.05);
    let (code, page, _) = discreet(&adaptive);
    assert!(code == 0 && page.contains("transfer theorem") && page.contains("times as many"), "{page}");
}

// The reference table: at k = 1,000, epsilon 1, delta 1e-6 a bound of 470.1 beside the Gaussian's 541.0,
// 601.1 published; one answer alone, 13.67 beside 155.2.
#[test]
fn bounded_noise_is_calibrated() {
    let bounded = |arguments: &[&str]| json(&[&["calibrate", "bounded", "--json"], arguments].concat());
    let near = |value: &Value, truth: f64, part: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / truth - 1.0).abs() < part, "{value} {truth}");
    };
    let answer = bounded(&["--queries", "1000", "--epsilon", "1", "--delta", "1e-6"]);
    near(&answer["bound"], 470.13, 0.002);
    near(&answer["published_bound"], 601.1, 0.01);
    near(&answer["gaussian_sigma"], 133.596, 1e-4);
    near(&answer["gaussian_max95"], 541.019, 1e-4);
    near(&answer["sd"], 141.75, 0.01);
    assert_eq!((&answer["shape"], &answer["certified"]), (&"polynomial:4".into(), &true.into()));
    assert_eq!(answer["epsilon"], 1.0);
    let delta = answer["delta"].as_f64().unwrap();
    assert!(delta <= 1e-6 && delta > 0.98e-6, "{delta}");
    let one = ["--queries", "1", "--epsilon", "1", "--delta", "1e-6"];
    near(&bounded(&one)["bound"], 13.664, 0.002);
    // A given shape, and a given goal.
    let shaped = bounded(&[one.as_slice(), &["--shape", "published:1"]].concat());
    // A width of 135.75, of which the table follows the density to 0.9886, where it has fallen to 2^-62.
    near(&shaped["bound"], 134.2, 0.01);
    near(&shaped["published_bound"], 311.7, 0.01);
    let hundred = ["--queries", "100", "--epsilon", "1", "--delta", "1e-3"];
    let rms = bounded(&[hundred.as_slice(), &["--goal", "rms"]].concat());
    let bound = bounded(&hundred);
    let of = |answer: &Value, field: &str| answer[field].as_f64().unwrap();
    assert!(of(&rms, "sd") <= of(&bound, "sd") && of(&rms, "bound") >= of(&bound, "bound"), "{rms} {bound}");
    let (code, page, _) = discreet(&[["calibrate", "bounded"].as_slice(), &one].concat());
    assert!(code == 0 && page.contains("no answer errs by more") && page.contains("laplace:"), "{page}");
}

#[test]
fn bounded_noise_that_cannot_be_is_refused_by_name() {
    let valid = ["--queries", "10", "--epsilon", "1", "--delta", "1e-6"];
    for (option, value, field) in [
        (1, "0", "queries"),
        (1, "1.5", "queries"),
        (1, "4294967297", "queries"),
        (3, "0", "epsilon"),
        (3, "-1", "epsilon"),
        (5, "1", "delta"),
        (5, "1e-20", "delta"),
    ] {
        let mut arguments = valid;
        arguments[option] = value;
        let (code, _, error) = discreet(&[["calibrate", "bounded"].as_slice(), &arguments].concat());
        assert!(code == 78 && error.starts_with(&format!("error: {field}: ")), "{value}: {error}");
    }
    for (option, value, field) in [
        ("--shape", "gauss:1", "shape"),
        ("--shape", "polynomial:0", "shape"),
        ("--goal", "2", "goal"),
        ("--goal", "small", "goal"),
    ] {
        let (code, _, error) =
            discreet(&[["calibrate", "bounded"].as_slice(), &valid, &[option, value]].concat());
        assert!(code == 78 && error.starts_with(&format!("error: {field}: ")), "{value}: {error}");
    }
    // Wider than any table.
    let wide = ["calibrate", "bounded", "--queries", "4294967296", "--epsilon", "0.001", "--delta", "1e-12"];
    let (code, _, error) = discreet(&wide);
    assert!(code == 78 && error.starts_with("error: queries: "), "{error}");
    assert_eq!(discreet(&["calibrate", "bounded", "--queries", "10", "--epsilon", "1"]).0, 2);
}

// Refutes a file that differs from the certified distribution: its delta is summed again, in floats, which is
// enough to detect a missing weight.
#[test]
fn the_weights_of_bounded_noise_are_written_to_a_file() {
    let path = std::env::temp_dir().join(format!("discreet-weights-{}.json", std::process::id()));
    let asked = [
        "calibrate",
        "bounded",
        "--queries",
        "1",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--json",
        "--weights",
    ];
    let answer = json(&[asked.as_slice(), &[path.to_str().unwrap()]].concat());
    let law: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((&law["delta"], &law["queries"]), (&answer["delta"], &answer["queries"]));
    let weights: Vec<f64> = law["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
    let (reach, shift) = (weights.len() as i64 - 1, law["shift"].as_i64().unwrap());
    let weight = |x: i64| weights.get(x.unsigned_abs() as usize).copied().unwrap_or(0.0);
    let over = |x: i64| (weight(x) - 1f64.exp() * weight(x - shift)).max(0.0);
    let total: f64 = (-reach..=reach).map(weight).sum();
    let delta = (-reach..=reach).map(over).sum::<f64>() / total;
    assert!((delta / law["delta"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{delta:e}");
    let (code, output, error) = discreet(&[asked.as_slice(), &["/nowhere/weights.json"]].concat());
    assert_eq!((code, output.as_str()), (74, ""));
    assert!(error.starts_with("error: weights: /nowhere/weights.json: "), "{error}");
}
