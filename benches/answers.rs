//! Questions that meet a stream.
#![allow(clippy::print_stdout)]

#[path = "answers/live.rs"]
mod live;
#[path = "answers/scan.rs"]
mod scan;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    scan::scan();
    live::measure()
}
