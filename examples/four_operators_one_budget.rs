//! Noisy counts, stable means, a maximum by noisy binary search and bounded answers to adaptive questions: four operators in one
//! timely graph, with the operator that tracks their budget.
//!
//! The lesson: all of them share one stream, one ledger and one account. Each window is paid for in the commit that seals it, and
//! the budget is a stream like any other.
//!
//! ```text
//! cargo run --release --example four_operators_one_budget [-- PICTURE.svg]
//! ```
//!
//! The picture of the graph is `examples/four_operators_one_budget.svg`; the program makes it.
#![allow(clippy::print_stdout)]

use discreet::accounting::Omega;
use discreet::mechanisms::queries::{Field, QueryRow, Schema};
use discreet::prelude::*;
use timely::dataflow::operators::Inspect;

const RIDERS: u64 = 100_000;
const HOUR: Time = 3_600_000_000;
const HOURS: Time = 2;

/// A ride: rider, city, minutes, metres, start.
type Ride = (u64, u32, i64, i64, Time);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-four-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let ledger = directory.join("rides.ledger");
    // A stable mean has a cost at the Rényi orders below some order alone, and so has an account that pays for it.
    let cap = PrivacyCost::approximate_zcdp(1.0, Omega::below(20.0)?, Some(1e-5))?;
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("riders", cap)?)?;

    let gate = Gate::open(&ledger, "rides")?;
    let drawing = Drawing::new();
    let schema = Schema::new([Field::number("city"), Field::number("minutes")])?.of_person("rider")?;
    let finished = discreet::execute(Config::threads(1)?.drawn(&drawing), move |worker, feeds| {
        let questions = ["minutes > 30", "minutes > 30 and city = 0"].into_iter().enumerate();
        let questions: Result<Vec<_>, _> = questions
            .map(|(id, filter)| schema.question("ann", &id.to_string(), HOURS * HOUR).count(filter))
            .collect();
        let (questions, schema) = (All::of(questions?), schema.clone());
        worker.dataflow(|scope| {
            let budget = feeds.budget(scope, &gate, seconds(10))?;
            budget.stream().inspect(|status| {
                let part = 100.0 * status.spent_part().unwrap_or(0.0);
                println!("budget of {}: {part:.1}% spent, {} releases", status.account, status.releases);
            });
            let questions = feeds.stream(scope, questions);
            let rides = feeds
                .stream(scope, Rides { next: 0 })
                .protect(|ride| ride.0)
                .tumbling(hours(1), |ride| ride.4)
                .between(0, HOURS * HOUR)
                .bound(Bound::keys(1));
            rides
                .clone()
                .count_by(|ride| ride.1, Keys::public(0..3))
                .release(&gate, "rides_by_city", Gaussian::rho(0.02))
                .deliver(|release| print(release, "rides"));
            rides
                .clone()
                .mean_of(|ride| [ride.2, ride.3])
                .stable([(0, 1_000_000), (0, 1_000_000)])
                .release(&gate, "usual_ride", Stable::epsilon(1.0, 1e-6).people(RIDERS))
                .deliver(|release| print(release, "minutes and metres"));
            rides
                .clone()
                .max(|ride| ride.2, Grid::linear(0, 600, 5))
                .release(&gate, "longest_ride", BinarySearch::rho(0.02))
                .deliver(|release| print(release, "minutes"));
            rides
                .answer(schema, |ride| QueryRow::from([i64::from(ride.1).into(), ride.2.into()]), questions)
                .release(&gate, "questions", BoundedNoise::bundle(20).epsilon(1.0, 1e-6))
                .releases
                .deliver(|release| {
                    println!("{:?}", release.answer().and_then(|answer| answer.estimate));
                    Ok(())
                });
            Ok(())
        })
    })?;
    println!("{finished}");
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, drawing.graph().svg())?;
    }
    Ok(std::fs::remove_dir_all(&directory)?)
}

/// Prints the typed cells of a release.
fn print<K, V>(release: &Release<K, V>, unit: &str) -> std::io::Result<()>
where
    K: discreet::mechanisms::Key + std::fmt::Debug,
    V: discreet::mechanisms::ReleasedValue + std::fmt::Display,
{
    for cell in release.cells().map_err(std::io::Error::other)? {
        println!("{} {:?}: {:.0} {unit}", release.name(), cell.key, cell.value);
    }
    Ok(())
}

/// The secret: a ride of each rider in each hour.
struct Rides {
    next: Time,
}

impl Source for Rides {
    type Record = Ride;

    fn pull(&mut self, batch: &mut Vec<Ride>) -> Result<Pulled, SourceError> {
        let hour = self.next;
        batch.extend((0..RIDERS).map(|rider| {
            let mixed = rider.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let minutes = (5 + mixed % 40 + mixed / 7 % 20) as i64;
            (rider, (mixed % 3) as u32, minutes, 250 * minutes + (mixed / 11 % 900) as i64, hour * HOUR)
        }));
        self.next += 1;
        Ok(if self.next < HOURS { Pulled::Complete(self.next * HOUR) } else { Pulled::End })
    }
}
