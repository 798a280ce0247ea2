//! What a stable mean errs and takes, beside a clipped one.
#![allow(clippy::print_stdout)]

#[path = "means/stable.rs"]
mod stable;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    stable::stable()
}
