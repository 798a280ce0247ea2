//! Two statistics on two workers share one budget, until it is spent.
//!
//! The lesson: the cap holds for every statistic, from however many workers, and a release that does not fit
//! is refused before anything is drawn, for good and at no cost. A refusal is a line like any other, and the
//! process reports it in its exit code.
//!
//! ```text
//! cargo run --release --example until_it_is_spent
//! ```
#![allow(clippy::print_stdout)]

use discreet::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-spent-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("visits.ledger");
    // Two statistics of six hours ask for 6 * (0.02 + 0.01) = 0.18.
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("visits", Budget::zcdp(0.1))?)?;

    let gate = Gate::open(&ledger, "web")?;
    let finished = discreet::execute(Config::threads(2)?, move |worker, feeds| {
        let half = Hours(worker.index() as u64, 0);
        worker.dataflow(|scope| {
            let people = feeds
                .stream(scope, half)
                .protect(|(person, _)| *person)
                .tumbling(hours(1), |(_, time)| *time)
                .between(0, 6 * HOUR)
                .bound(Bound::keys(1).per_key(3));
            // Both statistics share the same bounded records; each pays its own privacy cost.
            people.clone().count().release(&gate, "visits", Gaussian::rho(0.02)).deliver(print);
            people.people().release(&gate, "visitors", Gaussian::rho(0.01)).deliver(print);
        });
        Ok(())
    })?;
    println!("{finished}: exit code {}", finished.exit_code());
    Ok(std::fs::remove_dir_all(&directory)?)
}

fn print(release: &Release<(), i128>) -> std::io::Result<()> {
    println!(
        "{:.112}..  {} of {}",
        release.line(),
        release.budget_status().spent,
        release.budget_status().cap
    );
    Ok(())
}

const HOUR: Time = 3_600_000_000;

/// One worker's half of 1,000 visits an hour, by 400 people; and which hour comes next.
struct Hours(u64, Time);

impl Source for Hours {
    type Record = (u64, Time);

    fn pull(&mut self, batch: &mut Vec<(u64, Time)>) -> Result<Pulled, SourceError> {
        let Hours(own, hour) = *self;
        batch.extend((0..500).map(|visit| (visit % 200 * 2 + own, hour * HOUR)));
        self.1 += 1;
        Ok(if self.1 < 6 { Pulled::Complete(self.1 * HOUR) } else { Pulled::End })
    }
}
