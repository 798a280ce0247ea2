//! Programs fail, and publish nothing, when the operating system has no randomness left.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

/// The path of an example, which `cargo test` builds beside the tests.
fn example(name: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let example = test.ancestors().nth(2)?.join("examples").join(name);
    example.exists().then_some(example)
}

/// Refutes: a failing `getrandom` is hidden by a fallback, and noise that can be reproduced is published.
#[test]
fn without_randomness_nothing_is_published() {
    let Some(program) = example("noisy_counts") else {
        eprintln!("skipped: the example is not built; `cargo test` without `--test` builds it");
        return;
    };
    let inject = ["-f", "-o", "/dev/null", "-e", "trace=getrandom", "-e", "inject=getrandom:error=EIO"];
    let Ok(output) = Command::new("strace").args(inject).arg(&program).output() else {
        eprintln!("skipped: strace is not installed, so no failing getrandom can be shown");
        return;
    };
    let (printed, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if complaint.contains("PTRACE") || complaint.contains("ptrace") {
        eprintln!("skipped: strace may not trace here");
        return;
    }
    assert!(!output.status.success(), "{printed}");
    assert!(complaint.contains("NoRandomness"), "{complaint}");
    assert!(!printed.contains("published"), "{printed}");

    let untouched = Command::new(&program).output().unwrap();
    assert!(untouched.status.success());
}
