//! Totals of a stream, released at every tick: exact integers in, noised totals out, one charge for all of
//! them.
//!
//! ```text
//!           secret                        charged                         post-processing
//! exact ──▶ integers in the state ──▶ measurements + integer noise ──▶ noised numbers in the state ─▶ total
//! ```
//!
//! Measurements are integers, computed in integers from integer coefficients, and each has a draw of exact
//! integer noise; a total is computed from noised measurements alone, in floats. So the guarantee is that of
//! the list of noised measurements: neighbouring inputs whose contributions differ by at most a
//! [`StreamContribution`] move it by a length that is computed in integers from the very coefficients in use,
//! and [`PreparedRunning::charge`] is that length squared, over twice the variance, rounded up. The next tick
//! may depend on everything released before: a draw is moved by an integer that is fixed when it is drawn,
//! and the squares of all moves add up to no more.
//!
//! ```
//! use discreet::accounting::BudgetUnits;
//! use discreet::accounting::running::Strategy;
//! use discreet::mechanisms::running::{PreparedRunning, StreamContribution};
//! use discreet::noise::NoiseSource;
//!
//! // A year of hours, in which a person counts once.
//! let rho = BudgetUnits::at_most_float("rho", 0.1)?;
//! let visits = PreparedRunning::so_far(Strategy::Buffered, 8760, StreamContribution::new(1, 1)?, rho)?;
//! assert!(visits.charge() <= rho);
//! let mut state = visits.begin();
//! for people in [120, 98, 143] {
//!     let total = visits.tick(&mut state, people, &mut NoiseSource::from_os()?)?;
//!     println!("{total:.0}, give or take {:.1}", visits.deviation());
//! }
//! // What is kept is bytes, and goes on where it was.
//! let state = visits.resumed(&state.to_bytes())?;
//! assert_eq!(state.ticks(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # As a mechanism
//!
//! A [`RunningTotal`] is a statistic, which [`Gaussian`](super::Gaussian) noise prepares for releases: totals
//! of many keys (partitions), listed or discovered, with all of their states in one. The total of a key that
//! becomes public late begins then, with the sum of all earlier contributions to the key as its first number.
//! A total over the last windows begins with those of its windows that matter, one by one, each with noise of
//! its own.
//!
//! # Means, variances and ratios
//!
//! [`RunningSums`] is a statistic of records that is made of two or three such totals, each with a part of the price and noise of its
//! own. The bound of a person is a number of records over all windows, so no part moves farther than its total is charged for.
//!
//! # The caller's duties
//!
//! * The caller makes a [`TotalState`] and the total that was computed with it durable together, and
//!   publishes the total after that. A tick that is drawn again from an older state, after its total was
//!   published, is another draw of the same node, which no charge covers. State that is lost ends the
//!   release; to [begin](PreparedRunning::begin) anew is a new charge.
//! * The bytes of a state hold exact numbers: they are secret, and are stored as such.
//! * A person's contributions are bounded over *all* ticks ([`StreamContribution`]), not for each.

mod keys;
mod prepared;
mod state;
mod step;
mod sums;
#[cfg(test)]
mod tests;
mod total;
mod totals;

use std::fmt;

use crate::invalid::{Invalid, InvalidKind};

pub use prepared::{PreparedRunning, StreamContribution};
pub use state::TotalState;
pub use step::StateStep;
pub use sums::{RunningMean, RunningRatio, RunningSums, RunningVariance};
pub use total::{RunningTotal, TotalSpan};
pub use totals::{OneTotal, RunningNumbers, RunningTotals};

/// Refuses totals of parents, whose noise is for one window.
fn not_rolled_up(is_rolled_up: bool) -> Result<(), Invalid> {
    if !is_rolled_up {
        return Ok(());
    }
    let remedy = "no roll-up: the parents have a running total of their own, in another release";
    Err(Invalid::new("rollup", InvalidKind::Mixed, remedy))
}

/// The reason that a tick has no total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TickError {
    /// The horizon has ended: the guarantee does not reach beyond it.
    Ended,
    /// The state has other parameters.
    Foreign,
}

impl fmt::Display for TickError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TickError::Ended => {
                "the horizon of this release has ended; further totals are another release, which is charged anew"
            }
            TickError::Foreign => "the state is that of other parameters; give that which began with these",
        })
    }
}

impl std::error::Error for TickError {}
