//! The mechanisms that choose an answer by its rank: what is asked for, before it is known of what.

use super::inverse::{Inverted, inverted};
use super::largest::Largest;
use super::monotone::Monotone;
use super::quantiles::{PreparedQuantiles, Quantiles, ranked};
use super::search::{Searched, searched};
use super::share::ChoiceRule;
use crate::accounting::PrivacyCost;
use crate::invalid::Invalid;
use crate::mechanisms::Mechanism;
use crate::mechanisms::additive::Family;
use crate::mechanisms::keys::Key;
use crate::mechanisms::laws::{UncheckedNoise, asks, rho_of};
use crate::mechanisms::sealed::Sealed;
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
pub struct BinarySearch(UncheckedNoise);

impl BinarySearch {
    /// Gaussian comparisons that cost `rho` (zCDP) a window together.
    pub fn rho(rho: f64) -> BinarySearch {
        BinarySearch(UncheckedNoise::of_ranks(Family::Gaussian, rho_of(rho)))
    }

    /// Laplace comparisons that cost pure `epsilon` a window together.
    pub fn epsilon(epsilon: f64) -> BinarySearch {
        BinarySearch(UncheckedNoise::of_ranks(
            Family::Laplace,
            PrivacyCost::pure(epsilon).and_then(|amount| Spend::of(&amount)),
        ))
    }

    /// Gaussian comparisons that cost this amount a window together: rho.
    pub fn gaussian(amount: &PrivacyCost) -> BinarySearch {
        BinarySearch(UncheckedNoise::of_ranks(Family::Gaussian, Spend::of(amount)))
    }

    /// Laplace comparisons that cost this amount a window together: pure epsilon or rho.
    pub fn laplace(amount: &PrivacyCost) -> BinarySearch {
        BinarySearch(UncheckedNoise::of_ranks(Family::Laplace, Spend::of(amount)))
    }
}

asks!(BinarySearch);

impl Sealed for BinarySearch {}

/// As many draws for each public key as there may be comparisons.
impl<K: Key, F: Monotone> Mechanism<Largest<K, F>> for BinarySearch {
    type Prepared = Searched<K, F>;

    fn ready(&self, largest: &Largest<K, F>) -> Result<Searched<K, F>, Invalid> {
        searched(&self.0, largest)
    }
}

/// A choice among the points of a grid, each the less likely the worse its rank is: the exponential mechanism, drawn from
/// integer weights exactly. It finds quantiles, and, as the shifted inverse, largest values; the best known where a pure
/// epsilon is asked for.
///
/// Private for one unit more or less. Of bounded range: pure `epsilon`, or `epsilon^2 / 8` of rho.
#[derive(Clone, Debug)]
pub struct Exponential(UncheckedNoise);

impl Exponential {
    /// A choice that costs pure `epsilon` a window.
    pub fn epsilon(epsilon: f64) -> Exponential {
        Exponential::asked(PrivacyCost::pure(epsilon).and_then(|amount| Spend::of(&amount)))
    }

    /// A choice that costs `rho` (zCDP) a window.
    pub fn rho(rho: f64) -> Exponential {
        Exponential::asked(rho_of(rho))
    }

    /// A choice that costs this amount a window: pure epsilon or rho.
    pub fn cost(amount: &PrivacyCost) -> Exponential {
        Exponential::asked(Spend::of(amount))
    }

    /// Keys are discovered by the noise that suits the currency.
    fn asked(spend: Result<Spend, Invalid>) -> Exponential {
        let family = if matches!(spend, Ok(Spend::Pure(_))) { Family::Laplace } else { Family::Gaussian };
        Exponential(UncheckedNoise::of_ranks(family, spend))
    }
}

/// Permute-and-flip: a choice like [`Exponential`]'s, which errs no more than that and by down to a half of it, among at most
/// 65,536 points. Its range is not bounded, so it is for pure epsilon alone.
///
/// Private for one unit more or less: pure `epsilon`. How many coins it asks for depends on what it finds.
#[derive(Clone, Debug)]
pub struct PermuteAndFlip(UncheckedNoise);

impl PermuteAndFlip {
    /// A choice that costs pure `epsilon` a window.
    pub fn epsilon(epsilon: f64) -> PermuteAndFlip {
        let spend = PrivacyCost::pure(epsilon).and_then(|amount| Spend::of(&amount));
        PermuteAndFlip(UncheckedNoise::of_ranks(Family::Laplace, spend))
    }

    /// A choice that costs this amount a window: pure epsilon.
    pub fn cost(amount: &PrivacyCost) -> PermuteAndFlip {
        PermuteAndFlip(UncheckedNoise::of_ranks(Family::Laplace, Spend::of(amount)))
    }
}

asks!(Exponential, PermuteAndFlip);

impl Sealed for Exponential {}

impl<K: Key, F: Monotone> Mechanism<Largest<K, F>> for Exponential {
    type Prepared = Inverted<K, F>;

    fn ready(&self, largest: &Largest<K, F>) -> Result<Inverted<K, F>, Invalid> {
        inverted(&self.0, largest)
    }
}

impl<K: Key> Mechanism<Quantiles<K>> for Exponential {
    type Prepared = PreparedQuantiles<K>;

    fn ready(&self, quantiles: &Quantiles<K>) -> Result<PreparedQuantiles<K>, Invalid> {
        ranked(&self.0, ChoiceRule::Exponential, quantiles)
    }
}

impl Sealed for PermuteAndFlip {}

impl<K: Key> Mechanism<Quantiles<K>> for PermuteAndFlip {
    type Prepared = PreparedQuantiles<K>;

    fn ready(&self, quantiles: &Quantiles<K>) -> Result<PreparedQuantiles<K>, Invalid> {
        ranked(&self.0, ChoiceRule::PermuteAndFlip, quantiles)
    }
}
