//! A pipeline that reacts to its budget: hourly releases end, and daily ones begin, when less than thirty days are left.
//!
//! The lesson: [`Feeds::budget`] is a stream of what each account has spent, with a forecast, after each commit. Here the first
//! status whose forecast ends within thirty days stops the run; the job goes on in a new version, which releases less often.
//!
//! It is allowed since costs and forecasts depend on no record: the next mechanism may be chosen by everything that was released
//! and charged before, which is what the filter of an account is proved for (fully adaptive composition). It would not be
//! allowed to choose by anything exact, such as the number of records, a time that somebody's record has, or whether records
//! came at all: then the choice itself would be a release that nobody has paid for.
//!
//! ```text
//! cargo run --release --example hourly_then_daily
//! ```
#![allow(clippy::print_stdout)]

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use discreet::prelude::*;
use timely::dataflow::operators::Inspect;

const HOUR: Time = 3_600_000_000;
const DAY: Time = 24 * HOUR;
/// The end of the stream of this example.
const END: Time = 60 * DAY;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-daily-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("site.ledger");
    // Hourly releases at 0.001 spend it within 40 days.
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("visitors", Budget::zcdp(0.96))?)?;

    let finished = run(&ledger, (1, hours(1)?, 0.001))?;
    println!("version 1, by the hour: {finished}");
    assert!(finished.released() > 24, "it lives for some days");
    let finished = run(&ledger, (2, days(1)?, 0.006))?;
    println!("version 2, by the day: {finished}");
    assert_eq!(finished.refused(), 0);
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// Runs one version until the stream ends; the first one until its forecast ends within thirty days.
fn run(
    ledger: &Path,
    (version, size, rho): (u32, Span, f64),
) -> Result<Finished, Box<dyn std::error::Error>> {
    let gate = Opening::new(ledger, "site")?.version(version).open()?;
    // The first midnight after the last window that is settled, in any version.
    let from = gate.settled().map_or(0, |settled| (settled + DAY - 1) / DAY * DAY);
    let stop = Stop::new();
    let config = Config::threads(1)?.stopped_by(&stop);
    Ok(discreet::execute(config, move |worker, feeds| {
        let (stop, left) = (stop.clone(), Rc::new(Cell::new(from)));
        worker.dataflow(|scope| {
            feeds.budget(scope, &gate, seconds(10))?.stream().inspect(move |status| {
                let lasts =
                    status.refuses_from().zip(status.newest).map(|(from, newest)| from - newest.end());
                if version == 1 && lasts.is_some_and(|lasts| lasts < 30 * DAY) && !stop.is_stopped() {
                    println!(
                        "{} of {} are spent, and the rest lasts for less than thirty days",
                        status.spent, status.cap
                    );
                    stop.stop();
                }
            });
            feeds
                .stream(scope, Visits { next: from, size: size.as_microseconds(), left: Rc::clone(&left) })
                .protect(|(visitor, _)| *visitor)
                .tumbling(size, |(_, time)| *time)
                .between(from, END)
                .bound(Bound::keys(1))
                .people()
                .release(&gate, "visitors", Gaussian::rho(rho))
                .deliver(move |release| {
                    left.set(release.window().end());
                    Ok(())
                });
            Ok(())
        })
    })?)
}

/// Visits from one hour on, each hour by others of 5,000 people. As time would do, they wait until the window before has left.
struct Visits {
    next: Time,
    size: Time,
    left: Rc<Cell<Time>>,
}

impl Source for Visits {
    type Record = (u64, Time);

    fn pull(&mut self, batch: &mut Vec<(u64, Time)>) -> Result<Pulled, SourceError> {
        if self.next >= self.left.get() + self.size {
            return Ok(Pulled::Idle);
        }
        let hour = (self.next / HOUR) as u64;
        batch.extend((0..200).map(|visit| ((hour * 137 + visit * 11) % 5_000, self.next)));
        self.next += HOUR;
        Ok(if self.next < END { Pulled::Complete(self.next) } else { Pulled::End })
    }
}
