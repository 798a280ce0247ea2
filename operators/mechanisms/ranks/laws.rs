//! The mechanisms that choose an answer by its rank: what is asked for, before it is known of what.

use super::largest::Largest;
use super::monotone::Monotone;
use super::search::{Searched, searched};
use crate::accounting::Amount;
use crate::invalid::Invalid;
use crate::mechanisms::Mechanism;
use crate::mechanisms::additive::Family;
use crate::mechanisms::keys::Key;
use crate::mechanisms::laws::{Asked, asks, rho_of};
use crate::mechanisms::spend::Spend;

/// Noisy binary search: halves a grid by noised numbers of people, and so finds a largest value, or any
/// [`Monotone`] function, where nothing bounds it.
///
/// Private for one unit more or less: each of its comparisons asks for a number that moves by 1. All that there may be are
/// charged, whatever the data.
///
/// ```
/// use discreet::mechanisms::{BinarySearch, Bound, Grid, Keys, Largest, Maximum, Mechanism, PerPerson, Ready, Tally};
/// use discreet::noise::Noise;
///
/// let limits = Bound::keys(1).checked()?;
/// let largest = Largest::new(Maximum, PerPerson::Greatest, Grid::log_from_zero(), limits, Keys::whole())?;
/// let search = BinarySearch::rho(0.1).ready(&largest)?;
///
/// let mut exact = search.tally();
/// for person in 1..=10_000 {
///     exact.absorb(((), largest.of_one(person)));
/// }
/// let drawn = search.draw(exact, None, &mut Noise::from_os()?);
/// let (_, answer) = &drawn.answer.cells()[0];
/// println!("nearly everybody has less than {}", answer.value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BinarySearch(Asked);

impl BinarySearch {
    /// Gaussian comparisons that cost `rho` (zCDP) a window together.
    pub fn rho(rho: f64) -> BinarySearch {
        BinarySearch(Asked::new(Family::Gaussian, rho_of(rho)))
    }

    /// Laplace comparisons that cost pure `epsilon` a window together.
    pub fn epsilon(epsilon: f64) -> BinarySearch {
        BinarySearch(Asked::new(Family::Laplace, Amount::pure(epsilon).and_then(|amount| Spend::of(&amount))))
    }

    /// Gaussian comparisons that cost this amount a window together: rho.
    pub fn gaussian(amount: &Amount) -> BinarySearch {
        BinarySearch(Asked::new(Family::Gaussian, Spend::of(amount)))
    }

    /// Laplace comparisons that cost this amount a window together: pure epsilon or rho.
    pub fn laplace(amount: &Amount) -> BinarySearch {
        BinarySearch(Asked::new(Family::Laplace, Spend::of(amount)))
    }
}

asks!(BinarySearch);

/// As many draws for each public key as there may be comparisons.
impl<K: Key, F: Monotone> Mechanism<Largest<K, F>> for BinarySearch {
    type Ready = Searched<K, F>;

    fn ready(&self, largest: &Largest<K, F>) -> Result<Searched<K, F>, Invalid> {
        searched(&self.0, largest)
    }
}
