//! The pipeline end to end, through the public interface and a real ledger: its releases, on one worker and
//! on two processes; its releases after a failure; and their probabilities.
//!
//! If noise would hide the answer, it is so small that it is zero but for one run in 10^30.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../kit/mod.rs"]
mod kit;

mod budgets;
mod calendar;
mod chances;
mod collections;
mod left;
mod questions;
mod restart;
mod running;
mod scene;
mod tallies;
mod took;
mod versions;

use std::path::PathBuf;

/// The task of the children, not a test of its own. Without a task it does nothing.
#[test]
fn the_child() {
    let Ok(task) = std::env::var("TASK") else { return };
    let directory = PathBuf::from(std::env::var("DIRECTORY").unwrap());
    let (task, detail) = task.split_once(' ').unwrap_or((&task, ""));
    let ended = match task {
        "tallies" => tallies::child(detail, directory),
        "questions" => questions::child(detail, directory),
        "left" => left::child(detail.to_owned(), directory),
        "restart" => restart::child(detail, directory),
        "running" => running::child(detail, directory),
        other => panic!("nobody knows how to {other}"),
    };
    let code = match &ended {
        Ok(finished) => finished.exit_code(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    };
    std::process::exit(code.into());
}
