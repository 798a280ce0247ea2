//! The time of means of vectors, and the error that the shape of their noise saves.
//!
//! **Windows.** People with one record each, of several numbers, in three windows on two workers; CPU time of
//! all threads, the gate's among them, the best of rounds in which the settings take turns. The floor,
//! `plain`, has the same source and the same driver, and adds up where it reads; `plain, by person` moves
//! every record to the worker of its person first, as any contribution bounding must.
//!
//! What limits it: a record that is added up where it is read is read once. A person's record is copied to
//! the person's worker, held until the window closes, copied again where persons are gathered, and hashed
//! with all of its numbers, since a person with many records needs a choice among them: with 50 numbers that
//! is 400 bytes six times. Event-level records change workers as sums, and cost about as much as moving them
//! would. Found means hold all numbers once more and multiply each with each, on one thread.
//!
//! **The stable mean**, on Gaussian records whose covariance has a condition number of 10^6, beside a clipped
//! mean and beside one without privacy.
//!
//! **The search for a shape.** Domains are lists of normal points, with coordinates of growing deviation; the
//! gap is the one that the certificate states, in squares.
#![allow(clippy::print_stdout)]

mod events;
mod shape;
mod stable;
mod stream;

use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    // One part by its name, or all.
    let parts = ["shape", "stable", "stream"];
    let named: Vec<String> = std::env::args().filter(|name| parts.contains(&name.as_str())).collect();
    let wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    if wanted("shape") {
        shape::measure()?;
    }
    if wanted("stable") {
        stable::stable()?;
    }
    if !wanted("stream") {
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("discreet-bench-means-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = [100_000, 1_000_000].into_iter().try_for_each(|people| {
        stream::measure::<1>(&directory, people)?;
        stream::measure::<10>(&directory, people)?;
        stream::measure::<50>(&directory, people)
    });
    fs::remove_dir_all(&directory)?;
    outcome
}
