//! The time of one charge against a filter, early and late in a stream.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use discreet::accounting::{Account, Adjacency, Interval, PrivacyCost, PrivacyFilter, Promise, ReleaseCost};

/// The charges of a batch: enough for the clock, and few enough to be early.
const BATCH: u32 = 10;

/// Charges before the late batch.
const LATE: u32 = 10_000_000;

/// Prints the time of one charge, worst over currencies and promises and over both ends of the stream, and
/// how much longer the ten-millionth charge takes than the tenth.
pub(crate) fn filters() {
    let cost =
        |amount: Result<PrivacyCost, discreet::Invalid>| ReleaseCost::new(Adjacency::PERSON, amount.unwrap());
    let filter = |amount: Result<PrivacyCost, discreet::Invalid>| {
        PrivacyFilter::new(Adjacency::PERSON, amount.unwrap())
    };
    let every = |rho: f64| PrivacyCost::renyi(move |order| rho * order);

    let mut worst = Worst::default();
    for (name, mut filter, cost) in [
        ("zcdp", filter(PrivacyCost::zcdp(400.0)), cost(PrivacyCost::zcdp(1e-6))),
        ("pure into zcdp", filter(PrivacyCost::zcdp(400.0)), cost(PrivacyCost::pure(1e-3))),
        ("pure", filter(PrivacyCost::pure(400.0)), cost(PrivacyCost::pure(1e-6))),
        ("Rényi", filter(every(400.0)), cost(every(1e-6))),
    ] {
        worst.time(name, |_| filter.charge(black_box(&cost)).unwrap());
    }
    println!("ratio accounting.filter_late_over_early {:.2}", worst.ratio);
    worst.ratio = 0.0;
    let cost = cost(PrivacyCost::zcdp(1e-6));
    for (name, promise) in
        [("lifetime", Promise::Lifetime), ("any span", Promise::Any(30)), ("each span", Promise::Each(10))]
    {
        let mut account =
            Account::new(promise, Adjacency::PERSON, PrivacyCost::zcdp(400.0).unwrap()).unwrap();
        worst.time(name, |index| {
            let start = i64::from(index) * 10;
            account.charge(Interval::new(start, start + 10).unwrap(), black_box(&cost)).unwrap();
        });
    }
    println!("ratio accounting.account_late_over_early {:.2}", worst.ratio);
    println!("figure accounting.filter_charge {:.0} ns", worst.charge);
}

#[derive(Default)]
struct Worst {
    charge: f64,
    ratio: f64,
}

impl Worst {
    fn time(&mut self, name: &str, mut charge: impl FnMut(u32)) {
        let early = median(0, &mut charge);
        (10 * BATCH..LATE).for_each(&mut charge);
        let late = median(LATE, &mut charge);
        println!("{name}: {early:.0} ns a charge at first, {late:.0} ns after {LATE}");
        self.charge = self.charge.max(early).max(late);
        self.ratio = self.ratio.max(late / early);
    }
}

/// The median of nine batches, after one to warm up: a single interrupt is longer than a batch.
fn median(from: u32, charge: &mut impl FnMut(u32)) -> f64 {
    let mut times = [0.0; 10];
    for (index, time) in (0..).zip(&mut times) {
        let first = from + index * BATCH;
        let start = Instant::now();
        (first..first + BATCH).for_each(&mut *charge);
        *time = start.elapsed().as_nanos() as f64 / f64::from(BATCH);
    }
    times[1..].sort_by(f64::total_cmp);
    times[5]
}
