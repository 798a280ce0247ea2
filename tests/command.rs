//! The command line as a person or a script meets it: what it prints, what it refuses, and how it exits.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "postgres")]
mod server;

use std::process::Command;

use serde_json::Value;

/// Exit code, standard output, standard error.
fn discreet(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_discreet")).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
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
}

/// Prices a list that is written to a file of its own.
fn price(name: &str, list: &str, delta: &str) -> (i32, String, String) {
    let path = std::env::temp_dir().join(format!("discreet-{}-{name}.json", std::process::id()));
    std::fs::write(&path, list).unwrap();
    let answer = discreet(&["price", path.to_str().unwrap(), "--delta", delta, "--json"]);
    std::fs::remove_file(path).unwrap();
    answer
}

// The mixed row of the reference table, 1000 Laplace of scale 100 and 1000 Gaussian of 200 at 1e-6: 1.53979044488.
#[test]
fn a_list_is_priced_in_four_ways() {
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
}

// Refutes a reader that skips what it does not know: each of these was once somebody's misspelt budget.
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
        (r#"[{"mechanism":"gauss","sigma":1}]"#, "entry 1: unknown variant `gauss`"),
        (r#"[{"mechanism":"pure","epsilon":1,"count":0}]"#, "entry 1: count: found zero"),
        (r#"[{"mechanism":"pure","epsilon":1,"count":1.5}]"#, "entry 1: count: "),
        (r#"[{"mechanism":"discrete_gaussian","sigma":1,"sensitivity":0.5}]"#, "entry 1: sensitivity: "),
        (
            r#"[{"mechanism":"approximate","epsilon":1,"delta":1e-5}]"#,
            "error: delta: found a number that is too small",
        ),
        ("[]", "error: mechanisms: found an empty list"),
        ("{}", "a list of mechanisms"),
        ("", "EOF"),
    ]
    .into_iter()
    .enumerate()
    {
        let (code, output, error) = price(&format!("bad-{index}"), list, "1e-6");
        assert_eq!((code, output.as_str()), (78, ""), "{list}: {error}");
        assert!(error.starts_with("error: ") && error.contains(message), "{list}: {error}");
    }
    assert_eq!(discreet(&["price", "/does/not/exist", "--delta", "1e-6"]).0, 78);
    assert_eq!(discreet(&["price", "/does/not/exist"]).0, 2);
}

// 10,000 people at a local epsilon of 1 and delta 1e-6: .0530 by clones, .214 by the closed form; .0432 for binary response.
// The figures that are published for these grids.
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
    assert_eq!((&answer["comparisons"], &answer["tau"]), (&20.into(), &153.into()));
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
    // Of the median one person moves twice the rank by 1: scale 2 / 2 epsilon.
    assert!((answer["scale"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{answer}");
    // At most (2 / 2 epsilon) ln(1024 / 0.01) = 11.5.
    let error = answer["rank_error"].as_u64().unwrap();
    assert!((8..=12).contains(&error), "{answer}");
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
}

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
    near(&answer["clones"]["epsilon"], 0.0530);
    near(&answer["closed"]["epsilon"], 0.214);
    near(&shuffle(&["--local-epsilon", "1", "--choices", "2"])["cost"]["epsilon"], 0.0432);
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
    let (code, page, _) = discreet(&adaptive);
    assert!(code == 0 && page.contains("transfer theorem"));
}

/// A ledger of one domain, with one window charged.
fn ledger(name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("discreet-command-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("visits.ledger");
    make(&path);
    path
}

/// The same, at a path or an address.
fn make(path: &std::path::Path) {
    use discreet::accounting::{Amount, Neighbours, Promise};
    use discreet::ledger::{Domain, Ledger, Name};

    let mut ledger = Ledger::create(path).unwrap();
    let (domain, cap) = (Name::new("domain", "visits").unwrap(), Amount::zcdp(0.5).unwrap());
    ledger.register(&Domain::new(domain, Neighbours::PERSON, Promise::Lifetime, cap).unwrap()).unwrap();
    drop(ledger);
    charge(path, "visits", 10, 0.125);
}

/// Charges rho for a window that ends then: the first 10 microseconds, or a day.
fn charge(ledger: &std::path::Path, domain: &str, end: i64, rho: f64) {
    use discreet::accounting::{Amount, Cost, Interval, Neighbours};
    use discreet::ledger::{Charge, Digest, Fate, Ledger, Name, Release, Sealing};

    let mut ledger = Ledger::open(ledger).unwrap();
    let job = Name::new("job", "web").unwrap();
    let claim = ledger.claim(&job).unwrap();
    let release = Release {
        domain: Name::new("domain", domain).unwrap(),
        job,
        version: Digest::of(b"version 1"),
        name: Name::new("release", "by_path").unwrap(),
        window: Interval::new((end - 86_400_000_000).max(0), end).unwrap(),
    };
    let charge = Some(Charge::Cost(Cost::new(Neighbours::PERSON, Amount::zcdp(rho).unwrap())));
    ledger
        .seal(&claim, &[Sealing { release, charge, fate: Fate::Sealed, line: "line".into(), state: None }])
        .unwrap();
}

#[test]
fn a_ledger_is_shown_amended_copied_and_verified() {
    let path = ledger("shown");
    looked_after(path.to_str().unwrap(), path.with_extension("copy").to_str().unwrap());
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

fn looked_after(path: &str, copy: &str) {
    let shown = json(&["ledger", "show", path, "--json"]);
    let visits = &shown["domains"]["visits"];
    assert_eq!((&visits["spent"]["rho"], &visits["cap"]["rho"]), (&0.125.into(), &0.5.into()));
    assert_eq!(visits["releases"], 1);
    assert!(visits["promise"].as_str().unwrap().contains("one person more or less"));
    let (code, page, _) = discreet(&["ledger", "show", path]);
    assert!(code == 0 && page.contains("visits") && page.contains("rho 0.125"), "{page}");

    let who = ["--who", "an operator", "--why", "the review of March"];
    let amend =
        |rho| discreet(&[&["ledger", "amend", path, "--domain", "visits", "--rho", rho], &who[..]].concat());
    assert_eq!(amend("0.25").0, 78);
    assert_eq!(amend("0.75").0, 0);
    assert_eq!(json(&["ledger", "show", path, "--json"])["domains"]["visits"]["cap"]["rho"], 0.75);

    assert_eq!(discreet(&["ledger", "export", path, copy]).0, 0);
    assert_eq!(discreet(&["ledger", "export", path, copy]).0, 78);
    let (code, page, _) = discreet(&["ledger", "verify", copy]);
    assert!(code == 0 && page.contains("3 rows"), "{page}");
    let (of, copied) = (json(&["ledger", "show", path, "--json"]), json(&["ledger", "show", copy, "--json"]));
    assert_eq!(of, copied);
}

#[cfg(feature = "postgres")]
#[test]
fn a_ledger_on_a_server_is_looked_after_like_one_in_a_file() {
    let Some(server) = server::shared() else { return };
    let (address, scratch) = (server.address(&server.unused()), ledger("on-a-server"));
    make(&address);
    looked_after(address.to_str().unwrap(), scratch.with_extension("copy").to_str().unwrap());
    std::fs::remove_dir_all(scratch.parent().unwrap()).unwrap();
    let (code, _, error) = discreet(&["ledger", "show", server.address("missing").to_str().unwrap()]);
    assert!(code == 78 && error.contains("none of that name"), "{error}");
    assert!(server.sql("public", "SELECT 'missing'::regnamespace").is_err(), "showing a ledger made one");
    let (code, _, error) = discreet(&["ledger", "show", "postgres://me@127.0.0.1:1/books?ledger=visits"]);
    assert!(code == 74 && error.contains("no connection"), "{error}");
}

/// By the port the server asks for a password, which the command finds where others do.
#[cfg(feature = "postgres")]
#[test]
fn a_password_comes_from_its_file_or_the_environment_and_is_never_said() {
    use std::os::unix::fs::PermissionsExt;

    let Some(server) = server::shared() else { return };
    let name = server.unused();
    make(&server.address(&name));
    server.sql("public", "CREATE ROLE reader LOGIN SUPERUSER PASSWORD 'hunter2'").unwrap();
    let address = server.address_by_port("reader", &name);
    let file = std::env::temp_dir().join(format!("discreet-pgpass-{}", std::process::id()));
    let show = |variable: &str, value: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
        command.env_remove("PGPASSWORD").env("PGPASSFILE", "/no/such/file").env(variable, value);
        let output = command.args(["ledger", "verify"]).arg(&address).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("hunter"), "{error}");
        (output.status.code().unwrap(), error)
    };
    assert_eq!(show("PGPASSWORD", "hunter2"), (0, String::new()));
    let (code, error) = show("PGPASSWORD", "hunter3");
    assert!(code == 78 && error.contains("authentication failed"), "{error}");
    let (code, error) = show("PGPASSFILE", "/no/such/file");
    assert!(code == 78 && error.contains("asks for a password"), "{error}");
    std::fs::write(&file, "127.0.0.1:*:postgres:reader:hunter2\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(show("PGPASSFILE", file.to_str().unwrap()), (0, String::new()));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, error) = show("PGPASSFILE", file.to_str().unwrap());
    assert!(code == 78 && error.contains("chmod 600"), "{error}");
    std::fs::remove_file(&file).unwrap();
    let open = address.to_str().unwrap().replace("reader@", "reader:hunter2@");
    let (code, _, error) = discreet(&["ledger", "show", &open]);
    assert!(code == 78 && error.contains("PGPASSFILE") && !error.contains("hunter"), "{error}");
}

#[test]
fn a_ledger_in_doubt_exits_with_74_and_a_wrong_path_with_78() {
    let path = ledger("doubted");
    let torn = path.with_extension("torn");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&torn, bytes).unwrap();
    let (code, output, error) = discreet(&["ledger", "verify", torn.to_str().unwrap()]);
    assert_eq!((code, output.as_str()), (74, ""), "{error}");
    assert!(error.starts_with("error: ledger"), "{error}");

    let missing = path.with_extension("missing");
    let (code, _, error) = discreet(&["ledger", "show", missing.to_str().unwrap()]);
    assert_eq!(code, 78);
    assert!(error.contains("there is none"), "{error}");
    assert!(!missing.exists(), "showing a ledger made one");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn a_ledger_in_doubt_is_repaired_on_purpose_only() {
    let path = ledger("repaired");
    let text = path.to_str().unwrap();
    let repair = |more: &[&str]| discreet(&[&["ledger", "repair", text], more].concat());
    assert_eq!(repair(&["--reason", "why not"]).0, 2);
    assert_eq!(repair(&["--accept-loss"]).0, 2);
    let (code, _, error) = repair(&["--accept-loss", "--reason", "why not"]);
    assert!(code == 78 && error.contains("nothing is in doubt"), "{error}");

    // A byte of the line that was published, in every copy of it in the file.
    let mut bytes = std::fs::read(&path).unwrap();
    for place in 0..bytes.len() - 4 {
        if bytes[place..].starts_with(b"line") && bytes[place - 1] != b' ' {
            bytes[place] = b'm';
        }
    }
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(discreet(&["ledger", "verify", text]).0, 74);
    let (code, _, error) =
        repair(&["--accept-loss", "--reason", "edited by hand", "--anchor", "/no/such/anchor"]);
    assert!(code == 74 && error.contains("anchor /no/such/anchor"), "{error}");
    let (code, page, error) = repair(&["--accept-loss", "--reason", "edited by hand"]);
    assert!(
        code == 0 && page.contains("rows up to 1 are proven") && page.contains("torn-1"),
        "{page}{error}"
    );
    let shown = json(&["ledger", "show", text, "--json"]);
    assert_eq!(shown["domains"]["visits"]["spent"]["rho"], 0.125);
    assert_eq!(discreet(&["ledger", "verify", text]).0, 0);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// A directory with the job file that teaches, and the paths of a ledger in it.
struct Jobs(std::path::PathBuf);

impl Jobs {
    fn new(name: &str) -> Jobs {
        let path = std::env::temp_dir().join(format!("discreet-command-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("state")).unwrap();
        let config =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config/reviews.toml")).unwrap();
        std::fs::write(path.join("reviews.toml"), config).unwrap();
        Jobs(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// The job file with a change, under another name.
    fn changed(&self, name: &str, old: &str, new: &str) -> String {
        let config = std::fs::read_to_string(self.path("reviews.toml")).unwrap();
        assert!(config.contains(old), "{old}");
        std::fs::write(self.path(name), config.replace(old, new)).unwrap();
        self.path(name)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_budget_is_stated_once_with_its_key() {
    use std::os::unix::fs::PermissionsExt;

    let jobs = Jobs::new("init");
    let (ledger, config) = (jobs.path("state/reviews.ledger"), jobs.path("reviews.toml"));
    let made = json(&["ledger", "init", &ledger, "--config", &config, "--json"]);
    assert_eq!((&made["made"], &made["stated"]), (&true.into(), &true.into()));
    assert_eq!(made["budget"]["epsilon"], 1.0);
    // (1, 5e-7): half of delta is for discovering keys.
    let (rho, delta) = (made["cap"]["rho"].as_f64().unwrap(), made["cap"]["delta"].as_f64().unwrap());
    assert!(rho > 0.02 && rho < 0.0243559 && delta <= 5e-7 && delta > 4.999e-7, "{made}");
    assert_eq!(made["cap"]["omega"], Value::Null);
    assert!(made["promise"].as_str().unwrap().contains("at most 3 of the windows"));

    let key = jobs.path("state/reviews.ledger.key");
    let metadata = std::fs::metadata(&key).unwrap();
    assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (0o600, 32));
    let secret = std::fs::read(&key).unwrap();

    // The same words again change nothing.
    let again = json(&["ledger", "init", &ledger, "--config", &config, "--json"]);
    assert_eq!((&again["made"], &again["stated"]), (&false.into(), &false.into()));
    assert_eq!((&again["ledger"], &again["fingerprint"]), (&made["ledger"], &made["fingerprint"]));
    assert_eq!(std::fs::read(&key).unwrap(), secret);
    let rows = || json(&["ledger", "show", &ledger, "--json"])["rows"].clone();
    assert_eq!(rows(), 1);

    assert!(!again["warnings"].to_string().contains("its key was there already"), "{again}");

    // Other words are refused; another domain is another budget in the same ledger.
    let other = jobs.changed("other.toml", "delta = 1e-6", "delta = 2e-6");
    let (code, _, error) = discreet(&["ledger", "init", &ledger, "--config", &other]);
    assert!(code == 78 && error.contains("stated already, in other words"), "{error}");
    assert_eq!(rows(), 1);
    let second = jobs.changed("second.toml", "domain  = \"reviews\"", "domain  = \"more\"");
    let (code, page, _) = discreet(&["ledger", "init", &ledger, "--config", &second]);
    assert!(
        code == 0 && page.contains("domain more, stated now") && page.contains("there already"),
        "{page}"
    );
    assert_eq!(rows(), 2);
    assert_eq!(std::fs::read(&key).unwrap(), secret);

    let (code, page, _) =
        discreet(&["ledger", "init", &jobs.path("state/other.ledger"), "--config", &config]);
    assert!(code == 0 && page.contains("epsilon 1.0, delta 1e-6") && page.contains("rho 0.02"), "{page}");
    assert!(page.contains("warning: the job file names another ledger"), "{page}");

    // A ledger that is gone took what was spent with it: the next one says so.
    std::fs::remove_file(&ledger).unwrap();
    let anew = json(&["ledger", "init", &ledger, "--config", &config, "--json"]);
    assert!(anew["warnings"].to_string().contains("its key was there already"), "{anew}");
    assert_eq!((&anew["made"], &anew["fingerprint"]), (&true.into(), &made["fingerprint"]));
}

#[test]
fn nothing_is_made_of_a_wrong_job_file_or_path() {
    use std::os::unix::fs::PermissionsExt;

    let jobs = Jobs::new("refused");
    let (ledger, config) = (jobs.path("state/reviews.ledger"), jobs.path("reviews.toml"));
    let init = |ledger: &str, config: &str| {
        let (code, output, error) = discreet(&["ledger", "init", ledger, "--config", config]);
        assert_eq!(output, "");
        (code, error)
    };
    let slip = jobs.changed("slip.toml", "epsilon = 1.0", "epsilonn = 1.0");
    let text = std::fs::read_to_string(&slip).unwrap();
    let line = text.lines().position(|line| line.contains("epsilonn")).unwrap() + 1;
    let (code, error) = init(&ledger, &slip);
    assert!(
        code == 78 && error.starts_with(&format!("error: {slip}:{line}:13: privacy.budget.epsilonn: ")),
        "{error}"
    );
    assert!(error.contains("did you mean epsilon?"), "{error}");
    let two = std::fs::read_to_string(&slip).unwrap().replace("gaussian", "gausian");
    std::fs::write(&slip, two).unwrap();
    let (_, error) = init(&ledger, &slip);
    // Four releases with noise, one budget.
    assert_eq!(error.lines().filter(|line| line.starts_with("error: ")).count(), 5, "{error}");
    assert!(init(&ledger, &jobs.path("none.toml")).0 == 78);
    assert_eq!(discreet(&["ledger", "init", &ledger]).0, 2);
    let (code, error) = init(&jobs.path("typo/reviews.ledger"), &config);
    assert!(code == 78 && error.contains("there is no directory"), "{error}");
    assert_eq!(init(":memory:", &config).0, 78);
    assert_eq!(init(&jobs.path("state"), &config).0, 78);
    let files = std::fs::read_dir(jobs.path("state")).unwrap().count();
    assert_eq!(files, 0, "something was made");

    // A ledger without its key, one that others can read, and one that is torn.
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &config]).0, 0);
    let key = jobs.path("state/reviews.ledger.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, error) = init(&ledger, &config);
    assert!(code == 78 && error.contains("chmod 600"), "{error}");
    std::fs::remove_file(&key).unwrap();
    let (code, error) = init(&ledger, &config);
    assert!(code == 78 && error.contains("bring back the copy"), "{error}");
    assert!(!std::path::Path::new(&key).exists(), "a second key was made for one ledger");
    std::fs::write(&ledger, vec![7; 5000]).unwrap();
    assert_eq!(init(&ledger, &config).0, 74);
}

// By hand: .125 of .5 is spent on the first 10 microseconds, so three more windows of 10 fit, and end at 40.
#[test]
fn what_is_left_is_told_in_windows() {
    let path = ledger("forecast");
    let (ledger, torn) = (path.to_str().unwrap(), path.with_extension("torn"));
    let told = json(&["ledger", "forecast", ledger, "--json"]);
    let visits = &told["domains"]["visits"];
    assert_eq!((&visits["ends"], &visits["windows"]), (&"refused".into(), &3.into()));
    assert_eq!(visits["last_closes"], "1970-01-01T00:00:00.00004Z");
    assert_eq!(visits["refused"]["release"], "by_path");
    assert_eq!(visits["refused"]["window"]["start"], "1970-01-01T00:00:00.00004Z");
    assert_eq!(
        (&visits["pace"][0]["every"], &visits["pace"][0]["price"]["rho"]),
        (&"10 microseconds".into(), &0.125.into())
    );
    let (code, page, _) = discreet(&["ledger", "forecast", ledger, "--domain", "visits"]);
    assert!(
        code == 0
            && page.contains("after 3 more windows; the last of them closes 1970-01-01T00:00:00.00004Z"),
        "{page}"
    );
    assert!(
        page.contains("every 10 microseconds, rho 0.125 a window") && page.contains("assumed: "),
        "{page}"
    );

    let (code, output, error) = discreet(&["ledger", "forecast", ledger, "--domain", "visit"]);
    assert!(code == 78 && output.is_empty() && error.contains("none named visit"), "{error}");
    let missing = path.with_extension("missing");
    assert_eq!(discreet(&["ledger", "forecast", missing.to_str().unwrap()]).0, 78);
    assert!(!missing.exists(), "a forecast made a ledger");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&torn, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(discreet(&["ledger", "forecast", torn.to_str().unwrap()]).0, 74);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn a_promise_about_a_span_is_never_spent_at_a_pace_that_fits_it() {
    let jobs = Jobs::new("never");
    let text = std::fs::read_to_string(jobs.changed("day.toml", "\"lifetime\"", "\"any 30 days\"")).unwrap();
    let config = jobs.path("day.toml");
    std::fs::write(&config, text.replace(", windows = 3", "").replace("bound = { windows = 3 }", ""))
        .unwrap();
    let path = jobs.path("state/reviews.ledger");
    assert_eq!(discreet(&["ledger", "init", &path, "--config", &config]).0, 0);
    let (_, page, _) = discreet(&["ledger", "forecast", &path]);
    assert!(page.contains("nothing was charged yet"), "{page}");
    charge(std::path::Path::new(&path), "reviews", 86_400_000_000, 0.0001);
    let (_, page, _) = discreet(&["ledger", "forecast", &path]);
    assert!(page.contains("every 1 day") && page.contains("refuses   never, at this pace"), "{page}");
    // 31 days count together: at .001 a day, .0229 holds 22, of which one is charged.
    charge(std::path::Path::new(&path), "reviews", 172_800_000_000, 0.001);
    let told = json(&["ledger", "forecast", &path, "--json"]);
    assert_eq!(told["domains"]["reviews"]["ends"], "refused");
    assert_eq!(told["domains"]["reviews"]["windows"], 21);
    assert_eq!(told["domains"]["reviews"]["last_closes"], "1970-01-24T00:00:00Z");
}

// Refutes a log that changes from one call to the next, in its order, or with its format.
#[test]
fn a_log_is_made_up_from_a_seed() {
    let made = |more: &[&str]| {
        let arguments = [&["synth", "--rows", "1000", "--people", "50", "--keys", "9"], more].concat();
        let (code, output, error) = discreet(&arguments);
        assert_eq!((code, error.as_str()), (0, ""), "{more:?}");
        output
    };
    let log = made(&[]);
    assert_eq!(log.lines().count(), 1_001);
    assert!(
        log.starts_with("user,key,value,time\nu") && log.lines().all(|line| line.split(',').count() == 4)
    );
    assert!(log.lines().last().unwrap().contains(",2026-01-01T23:"), "{log}");
    assert_eq!(
        made(&["--seed", "0", "--skew", "1.1", "--from", "2026-01-01T00:00:00Z", "--format", "csv"]),
        log
    );
    assert_ne!(made(&["--seed", "1"]), log);
    for (line, row) in made(&["--format", "jsonl"]).lines().zip(log.lines().skip(1)) {
        let object: Value = serde_json::from_str(line).unwrap();
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(object["user"], fields[0]);
        assert_eq!(object["value"].to_string().parse::<f64>().unwrap(), fields[2].parse::<f64>().unwrap());
        assert_eq!(object["time"], fields[3]);
    }
    let place = std::env::temp_dir().join(format!("discreet-synth-{}.csv", std::process::id()));
    assert_eq!(made(&["--out", place.to_str().unwrap()]), "");
    assert_eq!(std::fs::read_to_string(&place).unwrap(), log);
    std::fs::remove_file(place).unwrap();
}

#[test]
fn a_log_that_cannot_be_made_is_refused() {
    for (changed, value, told) in [
        ("--rows", "0", "rows: found zero; give a number from 1 to 2^40"),
        ("--rows", "-1", "rows: found a negative number"),
        ("--people", "2e15", "people: found a number that is too large"),
        ("--skew", "11", "skew: found a number that is too large; give a number from 0 to 10"),
        ("--skew", "much", "skew: found text that is not understood"),
        ("--until", "2025-12-31", "until: found a number that is too small; give a time after from"),
        ("--from", "yesterday", "from: found text that is not understood; give a date"),
    ] {
        let mut arguments = vec!["synth", "--rows", "5", "--people", "5", "--keys", "5"];
        match arguments.iter().position(|argument| *argument == changed) {
            Some(at) => arguments[at + 1] = value,
            None => arguments.extend([changed, value]),
        }
        let (code, output, error) = discreet(&arguments);
        assert!(code == 78 && output.is_empty() && error.contains(told), "{changed} {value}: {error}");
    }
    let arguments = ["synth", "--rows", "5", "--people", "5", "--keys", "5", "--out", "/nowhere/a.csv"];
    let (code, _, error) = discreet(&arguments);
    assert!(code == 70 && error.contains("out: /nowhere/a.csv: entity not found"), "{error}");
}
