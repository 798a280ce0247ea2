//! The accuracy of each statistic at one promise, beside OpenDP 0.16, Tumult Core and Analytics, another published algorithm
//! where there is one, and the least error that is known to be possible. Nothing is timed.
//!
//! The promise is (epsilon 1, delta 1e-6) for one person more or less. Each row is one release that has all of it, of one
//! window, unless the row says otherwise; contribution bounds, ranges and answers to choose from are the same for all. Each
//! library has the better of what it offers at this promise: Laplace noise or a choice at pure epsilon, or the same and Gaussian
//! noise at the rho that epsilon and delta come to, or here at the mu. Errors are those of the noise: the truth is that of the
//! records that the contribution bound keeps, which are chosen once, by a seed, and are the same for all.
//!
//! Our figures are measured on draws of the library's own mechanisms, from the randomness of the operating system, for the
//! library takes no seed: they move in the third digit. Those of others are formulas and simulations, with a seed, of what their
//! pages and sources say (`peers.rs`), checked against published figures before anything is printed. Tumult is not run. OpenDP is,
//! where its crate builds, for quantiles among few points, and its own conversion of zCDP is asked.
//!
//! `cargo bench --bench utility` reads the three logs in `../shared/data` or in the directory that is given, and leaves out the
//! rows of a log that is not there. It ends with two tables in Markdown, for README.md and BENCHMARKS.md, and takes two minutes.
#![allow(clippy::print_stdout)]

mod answers;
mod counts;
mod data;
mod keys;
mod largest;
mod means;
mod opendp;
mod peers;
mod quantiles;
mod ranks;
mod report;
mod running;

use std::error::Error;
use std::path::PathBuf;

use data::Logs;
use opendp::Opendp;
use report::Report;

/// The promise of every row.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

fn main() -> Result<(), Box<dyn Error>> {
    peers::check();
    let directory = std::env::args_os().skip(1).find(|argument| !argument.to_string_lossy().starts_with('-'));
    let directory = directory.map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let logs = Logs::read(&directory)?;
    let mut report = Report::default();
    counts::measure(&logs, &mut report)?;
    keys::measure(&logs, &mut report)?;
    means::measure(&logs, &mut report)?;
    quantiles::measure(&logs, Opendp::build(), &mut report)?;
    largest::measure(&logs, &mut report)?;
    running::measure(&mut report)?;
    answers::measure(&mut report)?;
    report.print();
    Ok(())
}
