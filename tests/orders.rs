//! Steps of a pipeline in a wrong order: the compiler names the step that is missing, and says nothing else.
//!
//! Each order is a program of a project of its own, which is checked against the library. It takes a build of the library and all
//! that it stands on, so that an ordinary run skips it: `DISCREET_FULL=1 cargo test --test orders`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The steps before and after the place of a missing one, and the message.
const ORDERS: [(&str, &str, &str); 8] = [
    (
        "windows",
        "visits.tumbling(minutes(10), |v| v.1).from(0).bound(Bound::keys(1)).count().release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "`protect` is missing",
    ),
    (
        "sliding",
        "visits.sliding(minutes(10), minutes(5), |v| v.1).from(0).bound(Bound::keys(1)).people().release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "`protect` is missing",
    ),
    (
        "bound",
        "visits.protect(|v| v.0).bound(Bound::keys(1)).count().release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "windows are missing",
    ),
    (
        "period",
        "visits.protect(|v| v.0).tumbling(minutes(10), |v| v.1).bound(Bound::keys(1)).count().release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "`from` or `between` is missing",
    ),
    (
        "statistic",
        "visits.protect(|v| v.0).tumbling(minutes(10), |v| v.1).from(0).count_by(|v| v.0, Keys::public(0..3)).release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "`bound` is missing",
    ),
    (
        "release",
        "visits.protect(|v| v.0).tumbling(minutes(10), |v| v.1).from(0).bound(Bound::keys(1)).release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "a statistic is missing",
    ),
    (
        "mean",
        "visits.protect(|v| v.0).tumbling(minutes(10), |v| v.1).from(0).bound(Bound::keys(1)).mean_of(|v| [v.1]).release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))",
        "`within` is missing",
    ),
    (
        "sink",
        "visits.protect(|v| v.0).tumbling(minutes(10), |v| v.1).from(0).bound(Bound::keys(1)).count().deliver(|_| Ok(()))",
        "`release` is missing",
    ),
];

/// An order in which nothing is missing.
const RIGHT: &str = "visits.protect(|v| v.0).tumbling(minutes(10), |v| v.1).from(0).bound(Bound::keys(1)).count().release(gate, \"n\", Gaussian::rho(0.1)).deliver(|_| Ok(()))";

fn program(steps: &str) -> String {
    format!(
        "#![allow(unused)]\nuse discreet::prelude::*;\nfn pipeline(visits: Fed<'_, (u64, i64)>, gate: &Gate) {{\n    {steps};\n}}\nfn main() {{}}\n"
    )
}

/// Makes the project, with the versions of the library's own lock file.
fn project() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders");
    // A directory that is not there needs no removal.
    let _ = fs::remove_dir_all(place.join("src"));
    fs::create_dir_all(place.join("src/bin")).unwrap();
    let library =
        format!("discreet-dataflow = {{ path = {:?}, default-features = false }}", root.to_str().unwrap());
    let manifest = format!(
        "[package]\nname = \"orders\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n{library}\n[workspace]\n"
    );
    fs::write(place.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), place.join("Cargo.lock")).unwrap();
    fs::write(place.join("src/bin/right.rs"), program(RIGHT)).unwrap();
    for (name, steps, _) in ORDERS {
        fs::write(place.join(format!("src/bin/{name}.rs")), program(steps)).unwrap();
    }
    place
}

/// The errors of one program, each a line.
fn errors(place: &Path, name: &str) -> Vec<String> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["check", "--quiet", "--message-format", "short", "--bin", name])
        .env("CARGO_TARGET_DIR", place.join("target"))
        .current_dir(place)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let of_program = |line: &&str| line.contains(": error") && line.starts_with("src/bin");
    let errors: Vec<String> = printed.lines().filter(of_program).map(str::to_owned).collect();
    assert_eq!(output.status.success(), errors.is_empty(), "{name}: {printed}");
    errors
}

// Refutes a wrong order that compiles, whose message names nothing, or hides what it names among others.
#[test]
fn a_wrong_order_names_the_step_that_is_missing() {
    if std::env::var_os("DISCREET_FULL").is_none() {
        println!("skipped: messages of the compiler take a build of their own (DISCREET_FULL=1)");
        return;
    }
    let place = project();
    assert_eq!(errors(&place, "right"), Vec::<String>::new());
    for (name, _, message) in ORDERS {
        let errors = errors(&place, name);
        assert!(matches!(&errors[..], [one] if one.contains(message)), "{name}: {errors:#?}");
    }
}
