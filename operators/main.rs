//! The `discreet` command: parse, call, print.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::CommandLine::main()
}
