//! The ten most read of a thousand pages, in order and without a number of any.
//!
//! The lesson: a small question costs little. A visitor may be in all of the pages, at the same price as in one, so nothing is
//! left out of anybody's visits; the numbers of all pages would cost each page of a visitor.
//!
//! ```text
//! cargo run --release --example most_read
//! ```
#![allow(clippy::print_stdout)]

use discreet::mechanisms::{Exponential, Keys};
use discreet::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-most-read-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("visits.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("visits", Budget::pure(3.0))?)?;

    let gate = Gate::open(&ledger, "web")?;
    let finished = discreet::execute(Config::threads(1)?, move |worker, feeds| {
        let visits = All::of(visits());
        worker.dataflow(|scope| {
            feeds
                .stream(scope, visits)
                .protect(|(person, _, _)| *person)
                .tumbling(days(1), |(_, _, time)| *time)
                .between(0, 3 * DAY)
                // As many keys as there are pages: nobody's visits are left out.
                .bound(Bound::keys(PAGES.into()))
                .people_by(|(_, page, _)| *page, Keys::public(0..PAGES))
                .top(10)
                .release(&gate, "most_read", Exponential::epsilon(1.0))
                .deliver(print);
        });
        Ok(())
    })?;
    println!("{finished}: exit code {}", finished.exit_code());
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// Prints the pages of a day, in order, and how far behind the best that was left one may be.
fn print(release: &Release<u32, i128>) -> std::io::Result<()> {
    let cells = release.cells().map_err(std::io::Error::other)?;
    let pages: Vec<String> = cells.iter().map(|cell| cell.key.to_string()).collect();
    let within = cells.first().and_then(|cell| cell.noise.first()?.within).unwrap_or(0);
    println!(
        "day {}: pages {}; each within {within} people  {} of {}",
        release.window().end() / DAY,
        pages.join(", "),
        release.budget_status().spent,
        release.budget_status().cap
    );
    Ok(())
}

const DAY: Time = 86_400_000_000;
const PAGES: u32 = 1_000;

/// The visits of three days: page `p` is read by 4,000 / (p + 1) people a day.
fn visits() -> Vec<(u64, u32, Time)> {
    let readers = |day: Time, page: u32| {
        (0..4_000 / (u64::from(page) + 1)).map(move |reader| (reader, page, day * DAY))
    };
    let day = |day: Time| (0..PAGES).flat_map(move |page| readers(day, page));
    (0..3).flat_map(day).collect()
}
