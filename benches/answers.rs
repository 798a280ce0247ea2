//! Questions that meet a stream.
#![allow(clippy::print_stdout)]

#[path = "answers/live.rs"]
mod live;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    live::measure()
}
