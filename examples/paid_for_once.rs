//! A year of hourly totals, of the year so far and of the last seven days, which are paid for once: with
//! noise that is fresh at every hour, with the binary tree, and with the strategy that is taken where none is
//! named. All three spend the same.
//!
//! The lesson: a person who came once is in every later total. Noise that is drawn anew each hour adds up in
//! them; noise that is correlated between hours nearly cancels, and the promise is no weaker. A total of the
//! last days is not the difference of two totals so far: it has a strategy of its own.
//!
//! ```text
//! cargo run --release --example paid_for_once [-- DIRECTORY [PICTURE.svg]]
//! ```
//!
//! Without arguments it is four weeks of a made up log. With a directory it is a whole year of that, and of
//! `reviews.csv.bz2` where that lies there: five statements with a row in the ledger for each hour take some
//! minutes. The picture is `examples/paid_for_once.svg`. It is a demonstration, charged to ledgers that are
//! thrown away: the exact totals that it compares with are nobody's to see.
#![allow(clippy::print_stdout)]

#[path = "paid_for_once/log.rs"]
mod log;
#[path = "picture/panels.rs"]
mod panels;
#[path = "paid_for_once/picture.rs"]
mod picture;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc;

use discreet::prelude::*;
use log::Review;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The privacy cost of each of the statements below, for all of its totals together.
const RHO: f64 = 0.0625;
/// The number of reviews of a person that count, in the whole year.
const EACH: u64 = 4;
const FROM: &str = "2007-01-01";
const HOURS: usize = 8760;
const FEW: usize = 672;
const HOUR: Time = 3_600_000_000;
/// Seven days.
const WIDTH: usize = 168;

fn main() -> Outcome<()> {
    let Some(data) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Year::of("made up", log::made_up(FEW)?, FEW).map(drop);
    };
    let mut year = Year::of("made up", log::made_up(HOURS)?, HOURS)?;
    match log::reviews(&data)? {
        Some(log) => year = Year::of("reviews.csv.bz2", log, HOURS)?,
        None => println!("reviews.csv.bz2 is not in {}", data.display()),
    }
    if let Some(path) = std::env::args_os().nth(2) {
        std::fs::write(path, year.picture())?;
    }
    Ok(())
}

/// The released totals of a year, hour by hour, and the true ones.
struct Year {
    so_far: Totals,
    last: Totals,
}

struct Totals {
    exact: Vec<f64>,
    fresh: Released,
    tree: Released,
    best: Released,
}

/// All totals of a statement, and the stated error of each: the distance from the truth that it keeps, nine
/// times in ten.
struct Released {
    totals: Vec<f64>,
    within: Option<f64>,
}

impl Year {
    fn of(name: &str, log: Vec<Review>, hours: usize) -> Outcome<Year> {
        let counted = log::counted(&log, hours)?;
        println!(
            "{name}: {hours} hours, {} reviews of which {:.0} count",
            log.len(),
            counted.iter().sum::<f64>()
        );
        let mut released = released(log, hours)?;
        let mut take = |name: &str| {
            released
                .remove(name)
                .filter(|released| released.totals.len() == hours)
                .ok_or("a total is missing")
        };
        let [fresh, tree, best] = [take("fresh")?, take("tree")?, take("so_far")?];
        let so_far = Totals { exact: log::summed(&counted, hours), fresh, tree, best };
        // The tree has no windowed totals of its own: the difference of two totals so far.
        let totals = &so_far.tree.totals;
        let before = |at: usize| at.checked_sub(WIDTH).map_or(0.0, |at| totals[at]);
        let tree = totals.iter().enumerate().map(|(at, released)| released - before(at)).collect();
        let tree = Released { totals: tree, within: None };
        let last = Totals {
            exact: log::summed(&counted, WIDTH),
            fresh: take("fresh_week")?,
            tree,
            best: take("week")?,
        };
        let year = Year { so_far, last };
        year.say()?;
        Ok(year)
    }

    fn say(&self) -> Outcome<()> {
        println!("  {:36} {:>8} {:>8} {:>22}", "off by", "usually", "at most", "said, 9 times in 10");
        for (what, totals) in [("so far", &self.so_far), ("last seven days", &self.last)] {
            for (how, released) in totals.each() {
                let (off, name) = (totals.off(released), format!("{what}, {}", how.name));
                let within = released.within.map_or(String::from("-"), |within| format!("{within:.0}"));
                println!("  {name:36} {:8.0} {:8.0} {within:>22}", off.usual, off.most);
                // Once in more than a million runs.
                assert!(
                    released.within.is_none_or(|within| off.most < 4.5 * within),
                    "{name}: off by {}",
                    off.most
                );
            }
            let within = |released: &Released| released.within.ok_or("nothing is said");
            assert!(within(&totals.best)? < within(&totals.fresh)? / 3.0);
        }
        Ok(())
    }
}

/// A strategy, with its name and its style in the picture.
#[derive(Clone, Copy)]
struct How {
    class: &'static str,
    name: &'static str,
    head: &'static str,
}

const HOW: [How; 3] = [
    How { class: "fresh", name: "fresh noise", head: "fresh noise at every hour" },
    How { class: "tree", name: "a tree", head: "a binary tree" },
    How { class: "best", name: "by itself", head: "this: .running() and .over_last(168)" },
];

/// The errors of totals: the root of the mean square, and the largest.
struct Off {
    usual: f64,
    most: f64,
}

impl Totals {
    fn each(&self) -> [(How, &Released); 3] {
        let [fresh, tree, best] = HOW;
        [(fresh, &self.fresh), (tree, &self.tree), (best, &self.best)]
    }

    fn off(&self, released: &Released) -> Off {
        let off: Vec<f64> = released
            .totals
            .iter()
            .zip(&self.exact)
            .map(|(released, exact)| (released - exact).abs())
            .collect();
        let squares: f64 = off.iter().map(|off| off * off).sum();
        Off { usual: (squares / off.len() as f64).sqrt(), most: off.into_iter().fold(0.0, f64::max) }
    }
}

/// Every total of each statement, by its name, in order of hours.
fn released(log: Vec<Review>, count: usize) -> Outcome<HashMap<String, Released>> {
    let (from, until) = (at(FROM)?, at(FROM)? + count as Time * HOUR);
    let directory = std::env::temp_dir().join(format!("discreet-paid-for-once-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("reviews.ledger");
    // Five statements, of which one would do.
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("reviewers", Budget::zcdp(5.0 * RHO)?)?)?;
    let gate = Gate::open(&ledger, "reviews")?;
    let (totals, released) = mpsc::channel();
    discreet::execute(Config::threads(1)?, move |worker, feeds| {
        let (log, totals) = (log.clone(), totals.clone());
        worker.dataflow(|scope| {
            let reviews = feeds
                .stream(scope, All::of(log))
                .protect(|(person, _)| *person)
                .tumbling(hours(1), |(_, time)| *time)
                .between(from, until)
                .bound(Bound::keys(1).per_key(EACH))
                .count();
            let (so_far, week) = (reviews.clone().running(), reviews.over_last(WIDTH as u64));
            let noise = || Gaussian::rho(RHO);
            for releases in [
                so_far.clone().release(&gate, "so_far", noise()),
                week.clone().release(&gate, "week", noise()),
                so_far.clone().by(Strategy::Tree).release(&gate, "tree", noise()),
                so_far.by(Strategy::Fresh).release(&gate, "fresh", noise()),
                week.by(Strategy::Fresh).release(&gate, "fresh_week", noise()),
            ] {
                let totals = totals.clone();
                releases.deliver(move |release| {
                    for cell in release.cells().map_err(std::io::Error::other)? {
                        let total = (release.name().to_string(), release.window().start(), cell);
                        totals.send(total).map_err(std::io::Error::other)?;
                    }
                    Ok(())
                });
            }
        });
        Ok(())
    })?;
    std::fs::remove_dir_all(&directory)?;
    let mut all: HashMap<String, BTreeMap<Time, (f64, f64)>> = HashMap::new();
    for (name, start, cell) in released {
        let (low, high) = cell.low.zip(cell.high).ok_or("a total without an interval")?;
        let total = (cell.value as f64, (high - low) as f64 / 2.0);
        all.entry(name).or_default().insert(start, total);
    }
    let released = |totals: BTreeMap<Time, (f64, f64)>| {
        let within = totals.values().map(|(_, within)| *within).reduce(f64::max);
        Released { totals: totals.into_values().map(|(total, _)| total).collect(), within }
    };
    Ok(all.into_iter().map(|(name, totals)| (name, released(totals))).collect())
}
