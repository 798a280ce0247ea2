//! Tests of the command line as people and scripts use it: its output, its refusals and its exit codes.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod archive;
mod audit;
mod budget;
mod calibrate;
mod check;
mod estimate;
mod events;
mod explain;
mod fit;
mod init;
mod jobs;
#[path = "../kit/mod.rs"]
mod kit;
mod ledger;
mod paths;
mod plan;
mod price;
mod proofs;
mod reference;
mod reports;
mod running;
mod shape;
mod stable;
mod synth;
mod tune;
mod wrong;

use std::process::Command;

use serde_json::Value;

/// Runs the command: exit code, standard output, standard error.
fn discreet(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
    // The lines of a run have no times then, as under systemd.
    let output = command.env("JOURNAL_STREAM", "0:0").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str]) -> Value {
    let (code, output, error) = discreet(arguments);
    assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
    assert_eq!(output.lines().count(), 1);
    serde_json::from_str(&output).unwrap()
}
