//! The `discreet` command: parse, call, print.

mod command;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    command::Command::parse().run()
}
