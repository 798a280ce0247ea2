//! A count every day, for months, under a promise about any thirty days: which account pays, which windows
//! are refused, and when budget becomes free again.
//!
//! The lesson: a charge is indexed by the time of the data, decided before the release, and never given back;
//! and a list that is fixed beforehand is cheaper than the same list charged piece by piece.
//!
//! ```text
//! cargo run --release --example a_months_budget
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use discreet::accounting::pld::{Bundle, Pair};
use discreet::accounting::{
    Account, Adjacency, Budget, BudgetExceeded, DeltaForKeys, DiscreteGaussianCost, Interval, Omega,
    PrivacyCost, Promise, ReleaseCost, limit,
};
use discreet::{Decimal, Invalid};

fn main() -> Result<(), Box<dyn Error>> {
    let decimal = |text| Decimal::parse("budget", text);
    let cap = limit(Some(&decimal("1")?), Some(&decimal("1e-6")?), None, DeltaForKeys::None, Omega::EVERY)?;
    println!("epsilon = 1 at delta = 1e-6 is kept as {cap}");

    let promise = Promise::Any(30);
    let mut account = Account::new(promise, Adjacency::PERSON, cap)?;
    println!("{}\n", promise.sentence(Adjacency::PERSON, |days| format!("{days} days")));

    let noise = DiscreteGaussianCost::calibrate(&Budget::zcdp(0.001)?, 1)?;
    let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(noise.rho())?);
    println!("Every day a count of people, sigma {:.2}: {cost}", noise.sigma());
    let mut refused = Vec::new();
    for day in 0..60 {
        match account.charge(Interval::new(day, day + 1)?, &cost) {
            Ok(()) => {}
            Err(BudgetExceeded::Budget { .. }) => refused.push(day),
            Err(BudgetExceeded::Uncountable(why)) => return Err(why.into()),
        }
    }
    println!("refused on days {refused:?}: the thirty days before were full\n");

    let together = together(&noise, 24)?;
    println!(
        "24 such days, charged one after another:    epsilon = {:.4}",
        cost.amount().times(24)?.epsilon(1e-6)?
    );
    println!("the same 24, fixed before the first answer: epsilon = {together:.4}");
    Ok(())
}

/// The exact privacy cost of `count` uses, which holds only if all of them are decided beforehand.
fn together(noise: &DiscreteGaussianCost, count: u64) -> Result<f64, Invalid> {
    let use_once = Pair::discrete_gaussian(noise.sigma(), 1)?;
    Bundle::new(Adjacency::PERSON).add(&use_once, count)?.epsilon(1e-6)
}
