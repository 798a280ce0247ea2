//! A pipeline is killed, failed or suspended at every point of the write path, started again, and checked
//! from outside.
//!
//! The subject is a program of its own (`tests/crash/subject.rs`), built with the feature `failpoints`; the
//! recorder is another, which outlives it; the conditions afterwards are in `tests/crash/oracle.rs`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod injected;
mod kept;
#[path = "../kit/mod.rs"]
mod kit;
mod matrix;
mod oracle;
mod plan;
mod scene;

use kit::size;
use kit::trial::{Chance, in_parallel};

/// Tests run one after another: each keeps both cores busy.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Refutes: at some point a crash, an error or a suspended process makes a window release two values, release
/// one that was not charged, lose its line, its state or its charge, or never end.
#[test]
fn no_crash_anywhere_costs_more_than_time() {
    let _turn = turn();
    matrix::run();
}

/// Refutes: a kill or an error at some system call does what no point showed, such as inside of a commit or
/// of a checkpoint of SQLite.
#[test]
fn no_failing_system_call_costs_more_than_time() {
    let _turn = turn();
    injected::every_call();
}

/// Refutes: a kill while rows are archived loses one, or one while the key is changed leaves a ledger that no
/// key opens.
#[test]
fn no_crash_while_archiving_or_changing_the_key_loses_a_row_or_the_key() {
    let _turn = turn();
    kept::archiving();
    kept::changing_the_key();
}

/// Refutes: a line is released while its commit is only in the memory of the machine, which a power cut
/// empties.
#[test]
fn every_release_is_on_the_disk_before_it_is_delivered() {
    let _turn = turn();
    injected::order();
}
