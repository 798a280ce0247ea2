//! The time of adaptive answers with a hard bound: to calibrate their noise, to scan for a query, and to
//! answer it through the whole of a stream.
//!
//! Calibration prints a line for each setting beside the published algorithm's bound; a scan is beside a loop
//! that was written for its one query. A new query's time is divided between its count on each worker and its
//! row: the gate draws, seals and syncs one after another, since the rest of a bundle is sealed with each. A
//! repeated query is looked up and released again. A moving window is kept in two ways: each version
//! separately, in columns, or all in one arrangement.
#![allow(clippy::print_stdout)]

mod calibration;
mod live;
mod scan;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    calibration::calibration()?;
    scan::scan();
    live::measure()
}
