#![allow(clippy::unwrap_used)]

mod samples;

use std::fs;

use samples::*;

/// `cargo test --lib samples_are_written -- --ignored`
#[test]
#[ignore = "for whoever changes how a report looks"]
fn samples_are_written_to_be_looked_at() {
    let place = std::env::temp_dir().join("discreet-reports");
    fs::create_dir_all(&place).unwrap();
    let all = [
        ("year-demo", a_year(true)),
        ("year", a_year(false)),
        ("window-demo", a_window(true)),
        ("window", a_window(false)),
        ("day", a_day()),
    ];
    for (name, report) in all {
        fs::write(place.join(format!("{name}.html")), report.html()).unwrap();
        fs::write(place.join(format!("{name}.svg")), report.svg()).unwrap();
    }
    println!("written to {}", place.display());
}
