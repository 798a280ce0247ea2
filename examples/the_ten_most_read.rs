//! Collections out: the ten most read pages of a site with their titles, kept up to date from private counts.
//!
//! The lesson: what was released is public, so a job may join it with other public data and reduce it as far as it likes, at
//! no cost. [`Releases::latest`] is a differential collection: each window takes back the counts of the one before, and
//! whatever was computed from them follows.
//!
//! ```text
//! cargo run --release --example the_ten_most_read
//! ```
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use differential_dataflow::input::Input;
use discreet::prelude::*;

const PAGES: u32 = 40;
const HOUR: Time = 3_600_000_000;

/// The pages that came to the list, or left it: 1 or -1, the readers, and the title.
type Changes = Vec<(isize, i128, String)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-ten-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("site.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("readers", Budget::approximate(1.0, 1e-6))?)?;
    let gate = Gate::open(&ledger, "site")?;
    // By the hour in which they came.
    let changes: Arc<Mutex<BTreeMap<Time, Changes>>> = Arc::default();
    let noted = Arc::clone(&changes);
    discreet::execute(Config::threads(2)?, move |worker, feeds| {
        let (own, workers, noted) = (worker.index(), worker.peers(), Arc::clone(&noted));
        let visits = (0..60_000).map(visit).skip(own).step_by(workers);
        worker.dataflow(|scope| {
            let readers = feeds
                .stream(scope, All::of(visits))
                .protect(|(reader, _, _)| *reader)
                .tumbling(hours(1), |(_, _, time)| *time)
                .between(0, 3 * HOUR)
                .bound(Bound::keys(3))
                .people_by(|(_, page, _)| *page, Keys::public(0..PAGES))
                .release(&gate, "readers", Gaussian::rho(0.01));
            readers.clone().deliver(|_| Ok(()));

            // The public table, which one worker has.
            let titles = (0..PAGES).filter(move |_| own == 0).map(|page| (page, format!("Page {page}")));
            let (_, titles) = scope.new_collection_from(titles);
            readers
                .latest()
                .join(titles)
                .map(|(_, titled)| ((), titled))
                .reduce(|(), pages, most| {
                    most.extend(pages.iter().rev().take(10).map(|(page, _)| ((*page).clone(), 1)))
                })
                .inspect(move |((_, (readers, title)), time, change)| {
                    let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                    noted.entry(time / HOUR).or_default().push((*change, *readers, title.clone()));
                });
        });
        Ok(())
    })?;
    let mut list = BTreeMap::new();
    for (hour, changes) in &*changes.lock().unwrap_or_else(PoisonError::into_inner) {
        for (change, readers, title) in changes {
            *list.entry((-readers, title)).or_insert(0) += change;
        }
        list.retain(|_, number| *number != 0);
        println!("hour {hour}: {} changes", changes.len());
        for ((readers, title), number) in &list {
            assert_eq!(*number, 1);
            println!("  {title:8} {:5} readers, give or take some", -readers);
        }
        assert_eq!(list.len(), 10);
    }
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// The secret: 9,000 readers, of whom most read the first pages, and in each hour others.
fn visit(number: u64) -> (u64, u32, Time) {
    let (mixed, hour) = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33, number % 3);
    let page = (mixed % u64::from(PAGES)).min((mixed >> 7) % u64::from(PAGES)) + 3 * hour;
    (mixed % 9_000, (page % u64::from(PAGES)) as u32, hour as Time * HOUR)
}
