//! What adaptive answers with a hard bound cost: to calibrate their noise, and where questions meet a stream.
//!
//! Prints one line for each setting, then `figure` lines with the worst of them.
#![allow(clippy::print_stdout)]

#[path = "answers/calibration.rs"]
mod calibration;
#[path = "answers/live.rs"]
mod live;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    calibration::calibration()?;
    live::measure()
}
