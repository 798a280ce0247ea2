//! Audits: attempts to refute that released numbers are as private as their ledger says.
//!
//! *Canaries* are made-up people who use all of their contribution bound. Each is in the data or not, by a fair coin. An
//! audit reads what was released, and tests what would nearly never come out if the claim were true:
//!
//! | test | what it assumes | what it finds |
//! |---|---|---|
//! | [`too_little_noise`] | independent noise of the stated law | noise of .965 of the stated deviation, with 10,000 canaries |
//! | [`too_much_shift`] | the same | a person who counts for more than the bound |
//! | [`another_law`] | the same | any other law; not by itself a loss of privacy |
//! | [`repeated_noise`] | the same | noise that is drawn once for two windows |
//! | [`Guesses::refute`] | a trade-off curve | a mechanism that is easier to tell than the curve |
//! | [`refuting_count`] | nothing of the mechanism; independent people | keys of one person that are found more often than by delta |
//! | [`Guesses::p_value`] | nothing | a mechanism that is not (epsilon, delta)-private |
//!
//! A test that refutes nothing proves nothing: what it would have found is stated beside it. A bound that it gives is below
//! the true loss, and no estimate of it.
//!
//! ```
//! use discreet::audit::Guesses;
//!
//! // 1,000 canaries, of whom the coins of 100 were guessed, and 95 of these right.
//! let guesses = Guesses::new(1_000, 100, 95);
//! assert!(guesses.p_value(2.0, 1e-5) < 0.05);                            // not (2, 1e-5)-private
//! assert!(guesses.least_mu(0.05) > 0.78);                                // and no Gaussian of mu 0.78
//! ```

mod law;
mod many_runs;
mod noise;
mod one_run;
mod tails;
mod trade_off;

pub use law::{LawTest, another_law, repeated_noise, too_little_noise, too_much_shift};
pub use many_runs::{Chance, refuting_count};
pub use noise::StatedNoise;
pub use one_run::{Guesses, canaries_for, epsilon_of_mu};
pub use trade_off::TradeOff;
