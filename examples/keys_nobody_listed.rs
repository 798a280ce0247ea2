//! Partition selection: the terms that people search for, of which nobody has a list.
//!
//! The lesson: a key is released once enough people have it that none of them is given away. A person who is
//! alone with a key stays unseen, on every day. A key that was released once is public, and is released on
//! every later day, also on a day without searches for it.
//!
//! ```text
//! cargo run --release --example keys_nobody_listed
//! ```
#![allow(clippy::print_stdout)]

use discreet::prelude::*;

/// The secret: the number of people who searched for each term, on each of three days.
const SEARCHES: [(&str, [u64; 3]); 4] =
    [("weather", [900, 870, 910]), ("flood", [12, 640, 0]), ("parrot", [9, 14, 11]), ("my illness", [1; 3])];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-keys-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("searches.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("searches", Budget::approximate(2.0, 1e-5))?)?;

    let gate = Gate::open(&ledger, "trends")?;
    discreet::execute(Config::threads(1)?, move |worker, feeds| {
        worker.dataflow(|scope| {
            feeds
                .stream(scope, All::of((0..3).flat_map(searches_of)))
                .protect(|(person, _, _)| *person)
                .tumbling(days(1), |(_, _, day)| day * DAY)
                .between(0, 3 * DAY)
                .bound(Bound::keys(2))
                // A term of one person alone is released with a probability of at most 1e-6 a day.
                .people_by(|(_, term, _)| term.clone(), Keys::discover(1e-6))
                .release(&gate, "searches", Gaussian::rho(0.01))
                .deliver(|release| {
                    println!("day {}, released:", release.window().end() / DAY);
                    for cell in release.cells().map_err(std::io::Error::other)? {
                        let (low, high) = (cell.low.unwrap_or(i128::MIN), cell.high.unwrap_or(i128::MAX));
                        println!("  {:?} {}, within [{low}, {high}]", cell.key, cell.value);
                    }
                    Ok(())
                });
        });
        Ok(())
    })?;
    println!("secret: {SEARCHES:?}");
    Ok(std::fs::remove_dir_all(&directory)?)
}

const DAY: Time = 86_400_000_000;

/// The searches of a day: a person, a term, and the time.
fn searches_of(day: Time) -> impl Iterator<Item = (u64, String, Time)> {
    let people = move |(term, people): &(&str, [u64; 3])| {
        let term = (*term).to_owned();
        (0..people[day as usize]).map(move |person| (person, term.clone(), day))
    };
    SEARCHES.iter().flat_map(people)
}
