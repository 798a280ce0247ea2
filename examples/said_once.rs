//! A gate over a ledger: what was said about a window is said again, to the byte, and paid for once.
//!
//! The lesson: noise is drawn after the ledger has been asked and before the commit that charges for it; only what is
//! read back from that commit leaves. Run it twice, or kill it in between: the second run repeats the first.
//!
//! ```text
//! cargo run --release --example said_once
//! cargo run --release --example said_once
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use discreet::accounting::{Amount, Cost, Interval, Neighbours, Promise};
use discreet::gate::{Gate, Request, Told};
use discreet::ledger::{Charge, Digest, Domain, Ledger, Name, Release};
use discreet::noise::{DiscreteGaussian, Law, Noise};

/// The secret: visitors by the hour. Nobody is counted in more than one hour.
const VISITORS: [i64; 8] = [12, 48, 131, 296, 402, 377, 188, 64];
const HOUR: i64 = 3_600_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let path =
        std::env::temp_dir().join(concat!("discreet-said-once-", env!("CARGO_PKG_VERSION"), ".ledger"));
    let visits = Name::new("domain", "visits")?;
    let cost = Cost::new(Neighbours::PERSON, Amount::zcdp(0.01)?);
    if !path.exists() {
        // Made once, on purpose; opening a ledger never makes one. The budget holds six of the eight hours.
        let cap = cost.amount().times(6)?;
        let domain = Domain::new(visits.clone(), Neighbours::PERSON, Promise::Lifetime, cap)?;
        Ledger::create(&path)?.register(&domain)?;
    }

    let gate = Gate::open(&path, "hourly")?;
    let visitors = Name::new("release", "visitors")?;
    let parameters = Digest::of(b"variance 50, one count a person");
    let desk = gate.desk(&visitors, &parameters, || ())?;
    for (hour, secret) in (9..).zip(VISITORS) {
        let release = Release {
            domain: visits.clone(),
            job: gate.job().clone(),
            version: Digest::of_version(gate.version(), &parameters),
            name: visitors.clone(),
            window: Interval::new(hour * HOUR, (hour + 1) * HOUR)?,
        };
        let law = DiscreteGaussian::new(50.0)?;
        let line =
            move |noise: &mut Noise| format!("{hour:>2}:00  about {} visitors", secret + law.draw(noise));
        let charge = Charge::Cost(cost.clone());
        desk.submit(Request { release, charge, sealable: Box::new(line) })?;
    }
    for _ in VISITORS {
        let Some(Told::Row(row, _)) = desk.wait() else { return Err("the ledger is in doubt".into()) };
        println!("{:?}  {}", row.fate(), row.line());
        desk.delivered(&row);
    }
    drop(gate);
    println!("\nThe ledger is {}; run this again, and nothing changes.", path.display());
    Ok(())
}
