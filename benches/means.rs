//! What it takes to find the shape of noise for a mean, and what the shape saves.
//!
//! Domains are lists of normal points, coordinates of growing deviation; the gap is what the certificate says of squares.
#![allow(clippy::print_stdout)]

#[path = "means/shape.rs"]
mod shape;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    shape::measure()
}
