//! An alert for crowds: a year of hours, of which two have many visitors.
//!
//! The lesson: most hours of a stream say nothing new, and what says nothing costs nothing. An alert is paid for by the alarm,
//! once for a year in which a visitor may be in every hour; the number of each hour, with errors that would tell as much, would
//! cost hundreds of times the budget. It says that there is a crowd, and not how large it is.
//!
//! ```text
//! cargo run --release --example crowds
//! ```
#![allow(clippy::print_stdout)]

use discreet::mechanisms::AboveThreshold;
use discreet::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-crowds-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("visits.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("visits", Budget::pure(1.0))?)?;

    let gate = Gate::open(&ledger, "web")?;
    let finished = discreet::execute(Config::threads(1)?, move |worker, feeds| {
        let visits = All::of(visits());
        worker.dataflow(|scope| {
            feeds
                .stream(scope, visits)
                .protect(|(person, _)| *person)
                .tumbling(hours(1), |(_, time)| *time)
                .between(0, HOURS * HOUR)
                .bound(Bound::keys(1))
                .people()
                // Three alarms at most, and at most one of a day.
                .alert(150)
                .alarms(3)
                .pause(24)
                .release(&gate, "crowds", AboveThreshold::epsilon(1.0))
                .deliver(print);
        });
        Ok(())
    })?;
    println!("{finished}: exit code {}", finished.exit_code());
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// Prints the hours in which there was a crowd, and the last one.
fn print(release: &Release<(), i128>) -> std::io::Result<()> {
    let line = release.line();
    if line.contains("\"value\":1") || release.window().end() == HOURS * HOUR {
        println!("{line:.210}..  {} of {}", release.budget_status().spent, release.budget_status().cap);
    }
    Ok(())
}

const HOUR: Time = 3_600_000_000;
const HOURS: Time = 365 * 24;

/// The visits of a year: ten people an hour, some of whom come again and again, and 400 in two of the hours.
fn visits() -> Vec<(u64, Time)> {
    let people = |hour: Time| if [2_000, 7_007].contains(&hour) { 400 } else { 10 };
    let visit =
        |hour: Time, person: u64| ((hour as u64 * 7 + person * person) % 5_000, hour * HOUR + person as Time);
    (0..HOURS).flat_map(|hour| (0..people(hour)).map(move |person| visit(hour, person))).collect()
}
