//! The largest basket and the dearest prices of a shop month by month, and the usual rating of a site of
//! reviews: the results that a budget buys on two real logs, beside the truth.
//!
//! The lesson: a largest value and a quantile are as good as the people are many. Of a thousand customers a
//! month the released largest basket is about the sixtieth; of a hundred thousand reviewers the median is
//! exact.
//!
//! ```text
//! cargo run --release --example ranks_of_two_logs -- DIRECTORY
//! ```
//!
//! where `retail.csv.gz` and `reviews.csv.bz2` lie in the directory, `../shared/data` unless it is given. It
//! is a demonstration, charged to a ledger that is thrown away.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use discreet::job::{Job, Replay};
use serde_json::Value;

const RETAIL: &str = r#"
[job]
name = "ranks"
version = 1
from = "2010-12-01T00:00:00Z"
until = "2012-01-01T00:00:00Z"
[source]
type = "csv"
path = "retail.csv.gz"
time = { field = "InvoiceDate", format = "%Y-%m-%d %H:%M:%S", zone = "UTC" }
bad = { lines = 100 }
[privacy]
person = { field = "CustomerID", missing = "drop" }
promise = "lifetime"
budget = { epsilon = 2.0, delta = 1e-6 }
ledger = "ranks.ledger"
account = "retail"
[[release]]
name = "largest_basket"
every = "1 month"
max = { of = "Quantity", each = "sum", grid = "log" }
bound = { windows = 4 }
noise = "gaussian"
share = 0.6
[[release]]
name = "unit_prices"
every = "1 month"
quantile = { of = "UnitPrice", q = 0.95, range = [0, 50], step = 0.05 }
bound = { per_key = 5, windows = 4 }
noise = "exponential"
share = 0.4
"#;

const REVIEWS: &str = r#"
[job]
name = "ranks"
version = 1
from = "2003-05-01T00:00:00Z"
until = "2008-05-01T00:00:00Z"
[source]
type = "csv"
path = "reviews.csv.bz2"
time = { field = "date", format = "%Y-%m-%d %H:%M", zone = "UTC" }
bad = { lines = 100 }
[privacy]
person = { field = "reviewerId", missing = "drop" }
promise = "lifetime"
budget = { epsilon = 1.0, delta = 1e-6 }
ledger = "ranks.ledger"
account = "reviews"
[[release]]
name = "ratings"
every = "6 months"
quantile = { of = "rating", q = [0.05, 0.5], range = [0, 5], step = 1 }
bound = { per_key = 1, windows = 2 }
noise = "exponential"
share = 1
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let data = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    for (log, text) in [("retail.csv.gz", RETAIL), ("reviews.csv.bz2", REVIEWS)] {
        println!("{log}");
        if data.join(log).is_file() {
            replay(&data, text)?;
        } else {
            println!("  is not in {}: nothing to replay", data.display());
        }
    }
    Ok(())
}

/// Runs a job beside its data, and prints its releases.
fn replay(data: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-two-logs-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let mut replay = Replay::default();
    replay.demo = true;
    replay.workers = 2;
    replay.out = Some(directory.join("lines.jsonl"));
    Job::parse(data.join("ranks.toml"), text)?.replay(replay)?;
    let lines = fs::read_to_string(directory.join("lines.jsonl"))?;
    fs::remove_dir_all(&directory)?;
    // By release and window.
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines.into_iter().try_for_each(say)
}

/// Prints the value of a line, its promise, and the truth.
fn say(line: &str) -> Result<(), Box<dyn Error>> {
    let released: Value = serde_json::from_str(line)?;
    let Some(value) = released["value"].as_f64() else { return Ok(()) };
    let month = released["window"]["start"].as_str().and_then(|start| start.get(..7)).unwrap_or_default();
    let (name, off, truth) =
        (released["release"].as_str().unwrap_or_default(), &released["off"], &released["tally"]);
    print!("  {month} {name}: {value}");
    match (released["noise"]["tau"].as_u64(), released["noise"]["rank_error"].as_u64()) {
        (Some(tau), _) if released["insufficient"] == true => {
            print!(", for there are too few people; tau is {tau}, and {off} have more, up to {truth}");
        }
        (Some(_), _) if released["interval"][0].as_f64() > truth.as_f64() => {
            print!(", more than anybody has, as the tenth time may be; the largest is {truth}");
        }
        (Some(tau), _) => print!(
            ", too small by up to {} people by design; in truth {off} have more, up to {truth}",
            2 * tau
        ),
        (_, Some(error)) => print!(
            " at {}, its rank off by up to {error}; in truth by {off}, and exactly it is {truth}",
            released["q"]
        ),
        _ => {}
    }
    let most =
        released["noise"]["tau"].as_u64().map(|tau| 2 * tau).or(released["noise"]["rank_error"].as_u64());
    println!("{}", if off.as_u64() > most { ": the tenth time" } else { "" });
    Ok(())
}
