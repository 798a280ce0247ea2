//! A pipeline is killed, failed or suspended at every point of the write path, started again, and judged from
//! outside.
//!
//! The subject is a program of its own (`tests/crash/subject.rs`), built with the feature `failpoints`; the
//! recorder is another, which outlives it; and what must hold afterwards stands in `tests/crash/oracle.rs`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod injected;
#[path = "../kit/mod.rs"]
mod kit;
mod matrix;
mod oracle;
mod plan;
mod scene;

use kit::size;
use kit::trial::{Chance, in_parallel};

/// One after another: each keeps both cores busy.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Refutes: there is a point at which a crash, an error or a suspended process makes a window say two things,
/// say something that was not paid for, lose its line, its state or its charge, or never come to an end.
#[test]
fn no_crash_anywhere_costs_more_than_time() {
    let _turn = turn();
    matrix::run();
}

/// Refutes: there is a system call at which a kill or an error does what no point showed, such as inside of a
/// commit or of a checkpoint of SQLite's.
#[test]
fn no_failing_system_call_costs_more_than_time() {
    let _turn = turn();
    injected::every_call();
}

/// Refutes: a release is told while its commit is in the memory of the machine only, which a power cut
/// empties.
#[test]
fn every_release_is_on_the_disk_before_it_is_told() {
    let _turn = turn();
    injected::order();
}
