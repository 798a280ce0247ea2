//! Draws from a finite table of integer weights: the law *is* the table, so nothing about it is approximate.

use super::coins::Natural;
use super::source::NoiseSource;
use crate::invalid::{Invalid, InvalidKind};

/// A finite law: index `i` has probability `weights[i] / total`.
///
/// ```
/// use discreet::noise::{Noise, Weights};
///
/// let die = Weights::new([1, 1, 1, 1, 1, 5])?;
/// assert!(die.draw(&mut Noise::from_os()?) < 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    /// The weight of all indices up to each one.
    sums: Vec<u128>,
    total: u128,
}

impl Weights {
    /// The law of these weights.
    ///
    /// # Errors
    ///
    /// If there is none, if all are zero, or if they add up to 2^128 or more.
    pub fn new(weights: impl IntoIterator<Item = u128>) -> Result<Weights, Invalid> {
        let mut total = 0u128;
        let mut sums = Vec::new();
        for weight in weights {
            total = total.checked_add(weight).ok_or_else(|| {
                Invalid::new("weights", InvalidKind::Overflow, "weights that add up to less than 2^128")
            })?;
            sums.push(total);
        }
        match (sums.is_empty(), total) {
            (true, _) => Err(Invalid::new("weights", InvalidKind::Empty, "at least one weight")),
            (_, 0) => Err(Invalid::new("weights", InvalidKind::Zero, "at least one weight above 0")),
            _ => Ok(Weights { sums, total }),
        }
    }

    /// One draw: an index into the weights, never one whose weight is zero.
    pub fn draw(&self, noise: &mut NoiseSource) -> usize {
        noise.asked_for("weights", &self.sums.len(), 1);
        let place = self.total.draw_below(noise);
        self.sums.partition_point(|&sum| sum <= place)
    }
}
