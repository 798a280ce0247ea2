//! Tables that agree: visits by country and device, by country and hour, and of each, every day, for one price.
//!
//! The lesson: tables of the same visits hold much of the same. Put together from what each of them has of its own, they err less than
//! tables that are released side by side, and the sums over a country are the same in all of them.
//!
//! ```text
//! cargo run --release --example marginals
//! ```
#![allow(clippy::print_stdout)]

use discreet::mechanisms::{Attribute, Gaussian, MarginalCell, MarginalTables};
use discreet::prelude::*;

const DAY: Time = 86_400_000_000;

/// A visit: who, the places of the country and of the device, and when.
type Visit = (u64, usize, usize, Time);

const COUNTRIES: [&str; 5] = ["DE", "FR", "IT", "PL", "PT"];
const DEVICES: [&str; 2] = ["phone", "desk"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-marginals-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("visits.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("visits", Budget::approximate(1.0, 1e-6))?)?;

    // Whoever comes from elsewhere is of the category "other".
    let country = Attribute::new("country", ["DE", "FR", "IT", "other"])?;
    let device = Attribute::new("device", DEVICES)?;
    let hour = Attribute::new("hour", (0..24).map(|hour| hour.to_string()))?;
    let tables: [&[&str]; 5] = [&["country", "device"], &["country", "hour"], &["country"], &["device"], &[]];
    let tables = MarginalTables::new([country, device, hour], &tables)?;
    let design = tables.workload().design();
    println!("{:.2} times the error side by side", design.error(1.0) / design.error_apart(1.0));

    let gate = Gate::open(&ledger, "web")?;
    let finished = discreet::execute(Config::threads(2)?, move |worker, feeds| {
        let (own, workers, tables) = (worker.index(), worker.peers(), tables.clone());
        let visits = (0..40_000).map(visit).skip(own).step_by(workers);
        worker.dataflow(|scope| {
            feeds
                .stream(scope, All::of(visits))
                .protect(|visit: &Visit| visit.0)
                .tumbling(days(1), |visit| visit.3)
                .between(0, 2 * DAY)
                .bound(Bound::keys(1))
                .marginals(
                    |visit| {
                        let hour = visit.3 / (DAY / 24) % 24;
                        vec![COUNTRIES[visit.1].to_owned(), DEVICES[visit.2].to_owned(), hour.to_string()]
                    },
                    tables,
                )
                .release(&gate, "who", Gaussian::rho(0.01))
                .deliver(print);
        });
        Ok(())
    })?;
    println!("{finished}: exit code {}", finished.exit_code());
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// Prints the countries of a day, from their own table and as sums of another.
fn print(release: &Release<Vec<String>, f64>) -> std::io::Result<()> {
    let cells = release.cells().map_err(std::io::Error::other)?;
    for country in ["DE", "other"] {
        let mut sums = [0.0; 2];
        for cell in &cells {
            let key = MarginalCell::from(cell.key.clone());
            let of: Vec<(&str, &str)> = key.categories().collect();
            match of[..] {
                [("country", name)] if name == country => sums[0] += cell.value,
                [("country", name), ("hour", _)] if name == country => sums[1] += cell.value,
                _ => {}
            }
        }
        println!(
            "day {}: {country} {:.1}, by its hours {:.1}",
            release.window().end() / DAY,
            sums[0],
            sums[1]
        );
    }
    Ok(())
}

/// A visit of the two days.
fn visit(number: u64) -> Visit {
    let country = [0, 0, 0, 0, 1, 1, 2, 3, 4][number as usize % 9];
    let device = usize::from(number % 5 < 2);
    (number % 15_000, country, device, (number as Time * 4_320_000) % (2 * DAY))
}
