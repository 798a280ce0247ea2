//! What adaptive answers with a hard bound cost: to calibrate their noise, to count for a question, and to answer it through
//! the whole of a stream.
//!
//! Calibration prints a line for each setting beside the published algorithm's bound; a scan is beside a loop that was written
//! for its one question. A new question's time is shared by its count on each worker, and by its row: the gate draws, seals
//! and syncs one after another, since what a bundle has left is sealed with each. One that was asked before is looked up and
//! told again. A window that moves is kept in two ways: each version by itself, in columns, or all in one arrangement.
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
