//! The pipeline: how many people saw each page of a site, hour by hour, released so that nobody can tell
//! whether any one person came.
//!
//! The lesson: say whom you protect, over which spans, and how much one person can matter. Sensitivity,
//! noise, charge and the file in which all of it is durable follow from that; and what leaves is a line that
//! carries its own error bar.
//!
//! ```text
//! cargo run --release --example visitors_by_path
//! ```
#![allow(clippy::print_stdout)]

use std::io::Write;

use discreet::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Visit {
    client: u64,
    path: String,
    time: Time,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-visitors-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("visits.ledger");
    // Once, by hand: whoever was there on a day is hidden by epsilon = 1, whatever is asked about that day.
    let visits = AccountSpec::each("visits", days(1), Budget::approximate(1.0, 1e-6))?;
    Ledger::create(&ledger)?.register(&visits)?;

    let gate = Gate::open(&ledger, "web")?;
    let finished = discreet::execute(Config::threads(2)?, move |worker, feeds| {
        let (own, all) = (worker.index(), worker.peers());
        let own_part = (0..20_000).map(visit).skip(own).step_by(all);
        worker.dataflow(|scope| {
            feeds
                .stream(scope, All::of(own_part))
                .protect(|visit| visit.client)
                .tumbling(hours(1), |visit| visit.time)
                .between("2026-11-01T09:00:00Z", "2026-11-01T12:00:00Z")
                .bound(Bound::keys(3))
                .people_by(|visit| visit.path.clone(), Keys::discover(2e-8))
                .release(&gate, "visitors_by_path", Gaussian::rho(0.0009))
                .deliver(|release| writeln!(std::io::stdout(), "{release}\n"));
        });
        Ok(())
    })?;
    println!("{finished}");
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// The secret: 6,000 people, who see one page or another in three hours.
fn visit(number: u64) -> Visit {
    let path = ["/", "/", "/", "/prices", "/prices", "/jobs"][(number / 7 % 6) as usize];
    let time = 1_793_523_600_000_000 + (number * 7_919 % 10_800) as Time * 1_000_000;
    Visit { client: number * 6_151 % 6_000, path: path.to_owned(), time }
}
