//! What shoppers spend, month by month, in cents: the dearest purchase, the largest basket, the median and
//! the 95th percentile. Half of all purchases cost less than 18.00, and a few more than 10,000.00.
//!
//! The lesson: nothing bounds these numbers, so the promise is about a rank and not a value. A private
//! maximum is too small by design, by a number of people, whatever their values; too few people give none; a
//! quantile is off by ranks.
//!
//! ```text
//! cargo run --release --example what_a_maximum_hides
//! ```
#![allow(clippy::print_stdout)]

use std::collections::HashMap;

use discreet::prelude::*;
use ndarray::Array1;

/// The number of people in each month. In March there are hardly any.
const MONTHS: [(&str, u64); 3] = [("2026-01", 20_000), ("2026-02", 15_000), ("2026-03", 12)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-maximum-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("shop.ledger");
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("shop", Budget::approximate(3.0, 1e-6))?)?;
    let gate = Gate::open(&ledger, "shop")?;
    discreet::execute(Config::threads(1)?, move |worker, feeds| {
        worker.dataflow(|scope| {
            let shoppers = feeds
                .stream(scope, All::of(MONTHS.into_iter().flat_map(purchases)))
                .protect(|(person, _, _)| *person)
                .windows(Calendar::months(1), |(_, _, time)| *time)
                .between("2026-01-01", "2026-04-01")
                .bound(Bound::keys(1).per_key(3));
            let spent = |(_, amount, _): &(u64, i64, Time)| *amount;
            let (each, sum) = (Grid::log_from_zero(), (PerPerson::Sum, spent));
            let dearest = shoppers.clone().max(spent, each.clone());
            dearest.release(&gate, "dearest_purchase", BinarySearch::rho(0.02)).deliver(print_largest);
            let basket = shoppers.clone().monotone(sum, Maximum, each);
            basket.release(&gate, "largest_basket", BinarySearch::rho(0.02)).deliver(print_largest);
            let usual = shoppers.quantiles(spent, [0.5, 0.95], Grid::linear(0, 100_000, 1));
            usual.release(&gate, "purchases", Exponential::rho(0.01)).deliver(print_quantiles);
        });
        Ok(())
    })?;
    println!("{HONEST}");
    Ok(std::fs::remove_dir_all(&directory)?)
}

const HONEST: &str = "
What to say beside such numbers:
- A maximum is too small by design, or it would reveal one person. Say by up to how many people, 2 tau; by how much money
  nobody can say. It never means that nobody has more.
- Where fewer than tau people came it is the first point of its grid, or noise: nothing is known, not that nothing was spent.
- A quantile is off by ranks, not by values: by little money where many purchases cost about the same, by much where few do.
- All of it holds 99 times in 100. What is wrong the hundredth time may be so by any amount; more confidence costs more people.";

/// Prints a released maximum, its promise, and the truth, which a real release never shows.
fn print_largest(release: &Release<(), i128>) -> std::io::Result<()> {
    for cell in release.cells().map_err(std::io::Error::other)? {
        let (month, name, value) = (month(release.window()), release.name().as_str(), cell.value);
        let mut own: HashMap<u64, i64> = HashMap::new();
        for (person, amount, _) in purchases(month) {
            let own = own.entry(person).or_default();
            *own = if name == "dearest_purchase" { amount.max(*own) } else { amount + *own };
        }
        let above = own.values().filter(|own| i128::from(**own) > value).count();
        let most = *own.values().max().unwrap_or(&0);
        let tau = cell.noise[0].tau.unwrap_or(0);
        print!("{} {name}: ", month.0);
        if cell.insufficient {
            println!(
                "released {value}: too few people, for tau is {tau}; in truth {above} have more, up to {most}"
            );
        } else if cell.low > Some(most.into()) {
            println!(
                "released {value}: more than anybody has, as one time in a hundred may be; in truth up to {most}"
            );
        } else {
            println!(
                "released {value}: between the {0}th largest and the largest, so it may be too small by {0} people \
                 by design; in truth {above} people have more, up to {most}",
                2 * tau
            );
        }
    }
    Ok(())
}

/// Prints released quantiles, their promise, and the truth.
fn print_quantiles(release: &Release<(), Array1<i128>>) -> std::io::Result<()> {
    for cell in release.cells().map_err(std::io::Error::other)? {
        let month = month(release.window());
        let mut all: Vec<i128> = purchases(month).map(|(_, amount, _)| amount.into()).collect();
        all.sort_unstable();
        for (&value, noise) in cell.value.iter().zip(&*cell.noise) {
            let q = noise.quantile.unwrap_or(0.0);
            let rank = (q * all.len() as f64).ceil() as usize;
            let (low, high) = (all.partition_point(|a| *a < value), all.partition_point(|a| *a <= value));
            let off = low.saturating_sub(rank).max(rank.saturating_sub(high));
            println!(
                "{} {}: released {value} at {q}: its rank may be off by {} of {} purchases; in truth by {off}, and the \
                 value by {}",
                month.0,
                release.name(),
                noise.rank_error.unwrap_or(0),
                all.len(),
                value.abs_diff(all[rank.max(1) - 1])
            );
        }
    }
    Ok(())
}

fn month(window: Interval) -> (&'static str, u64) {
    let begins = |(month, _): &(&str, u64)| at(&format!("{month}-01")) == Ok(window.start());
    MONTHS.into_iter().find(begins).unwrap_or_default()
}

/// The secret: the purchases, with person, amount and time; up to three a person and month, of which one in
/// `n` costs 9.00 `n`.
fn purchases((month, people): (&'static str, u64)) -> impl Iterator<Item = (u64, i64, Time)> {
    let time = at(&format!("{month}-15T12:00:00Z")).unwrap_or(0);
    (0..people).flat_map(move |person| {
        (0..=person % 3).map(move |which| {
            let chance = (person * 3 + which + time as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
            (person, (900 << 20) / (chance as i64 + 1), time)
        })
    })
}
