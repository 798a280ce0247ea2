//! The command line as a person or a script meets it: what it prints, what it refuses, and how it exits.

#![allow(clippy::unwrap_used)]

#[path = "command/budget.rs"]
mod budget;
#[path = "command/calibrate.rs"]
mod calibrate;
#[path = "command/check.rs"]
mod check;
mod common;
#[path = "command/events.rs"]
mod events;
#[path = "command/jobs.rs"]
mod jobs;
#[path = "command/ledger.rs"]
mod ledger;
#[path = "command/paths.rs"]
mod paths;
#[path = "command/price.rs"]
mod price;
#[path = "command/running.rs"]
mod running;
#[cfg(feature = "postgres")]
mod server;
#[path = "command/shape.rs"]
mod shape;
#[path = "command/stable.rs"]
mod stable;
#[path = "command/synth.rs"]
mod synth;
#[path = "command/wrong.rs"]
mod wrong;

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
