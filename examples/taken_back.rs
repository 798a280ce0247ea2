//! Orders that may be cancelled, as a differential collection: how many people ordered something, hour by
//! hour.
//!
//! The lesson: an order that was taken back while its window was open never counted, and a window that is
//! released is final. The stages before `protect` must keep each person's records their own; the bound holds
//! for the records that remain.
//!
//! ```text
//! cargo run --release --example taken_back
//! ```
#![allow(clippy::print_stdout)]

use std::io::Write;

use discreet::prelude::*;

/// An order, by its person and time; added once, or removed once.
type Change = ((u64, Time), isize);

/// Batches of changes, and what is complete after each.
struct Changes(std::vec::IntoIter<(Vec<Change>, Pulled)>);

impl Source for Changes {
    type Record = Change;

    fn pull(&mut self, batch: &mut Vec<Change>) -> Result<Pulled, SourceError> {
        let Some((changes, pulled)) = self.0.next() else { return Ok(Pulled::End) };
        batch.extend(changes);
        Ok(pulled)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-orders-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("orders.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("orders", Budget::zcdp(0.1))?)?;
    let gate = Gate::open(&ledger, "shop")?;
    discreet::execute(Config::threads(1)?, move |worker, feeds| {
        let (nine, ten) = (at("2026-11-01T09:00:00Z")?, at("2026-11-01T10:00:00Z")?);
        let orders = |from, to, hour, by| (from..to).map(move |person| ((person, hour), by));
        let in_time = orders(0, 900, nine, 1).chain(orders(0, 300, nine, -1)).collect();
        let too_late = orders(300, 500, nine, -1).chain(orders(0, 100, ten, 1)).collect();
        let changes = vec![(in_time, Pulled::Complete(ten)), (too_late, Pulled::End)];
        worker.dataflow(|scope| {
            feeds
                .stream(scope, Changes(changes.into_iter()))
                .collection(|orders| orders.distinct())
                .protect_collection(|(person, _)| *person)
                .tumbling(hours(1), |(_, hour)| *hour)
                .between(nine, "2026-11-01T11:00:00Z")
                .bound(Bound::keys(1))
                .people()
                .release(&gate, "people_with_an_order", Gaussian::rho(0.05))
                .deliver(|release| writeln!(std::io::stdout(), "{}", release.line()));
        });
        Ok(())
    })?;
    println!("secret: 600 in the first hour, 100 in the second; 200 cancelled too late to matter");
    Ok(std::fs::remove_dir_all(&directory)?)
}
