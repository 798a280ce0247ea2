//! The two mechanisms that add noise to each cell: what is asked for, before it is known of what.

use super::additive::Family;
use super::keys::Key;
use super::means::{NoisyMeans, means};
use super::mechanism::Mechanism;
use super::spend::Spend;
use super::statistic::{Mean, Total};
use super::totals::{NoisyTotals, totals};
use crate::accounting::{BudgetUnits, PrivacyCost, convert};
use crate::invalid::{Invalid, InvalidKind};

/// Discrete Gaussian noise on each cell: the default. With several keys a person it needs least.
///
/// Private for one unit more or less. In zCDP its cost is `L2^2 / 2 sigma^2`, for any number of cells. What is charged is
/// what was asked for; the noise is the least, to 12 digits, that costs no more.
///
/// ```
/// use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Ready, Tally, Total};
/// use discreet::noise::Noise;
///
/// let limits = Bound::keys(2).checked()?;
/// let paths = Keys::public(["/", "/about"].map(str::to_owned))?;
/// let visits = Total::count(limits, paths)?;
/// let gaussian = Gaussian::rho(0.05).ready(&visits)?;
///
/// let mut exact = gaussian.tally();
/// for person in 0..1000 {
///     exact.absorb(("/".to_owned(), visits.contribution(1, 0)));
/// }
/// let drawn = gaussian.draw(exact, None, &mut Noise::from_os()?);
/// assert_eq!(drawn.answer.cells().len(), 2);   // "/about" too
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gaussian(pub(super) UncheckedNoise);

/// Discrete Laplace noise on each cell: for pure epsilon, where no delta is wanted.
///
/// Private for one unit more or less. Its cost is pure `epsilon = L1 / b`; in zCDP, what its cells cost together, which
/// is less than what that epsilon comes to.
#[derive(Clone, Debug)]
pub struct Laplace(pub(super) UncheckedNoise);

impl Gaussian {
    /// Noise that costs `rho` (zCDP) a window.
    pub fn rho(rho: f64) -> Gaussian {
        Gaussian(UncheckedNoise::new(Family::Gaussian, rho_of(rho)))
    }

    /// Noise by which one window, alone, is (epsilon, delta)-private. It is charged as the rho that proves it.
    pub fn epsilon(epsilon: f64, delta: f64) -> Gaussian {
        let rho = convert::rho_within(epsilon, delta, f64::INFINITY);
        let rho = rho.and_then(|rho| BudgetUnits::at_most_float("rho", rho));
        Gaussian(UncheckedNoise::new(Family::Gaussian, rho.map(Spend::Rho)))
    }

    /// Noise that costs this amount a window: rho.
    pub fn cost(amount: &PrivacyCost) -> Gaussian {
        Gaussian(UncheckedNoise::new(Family::Gaussian, Spend::of(amount)))
    }
}

impl Laplace {
    /// Noise that costs pure `epsilon` a window.
    pub fn epsilon(epsilon: f64) -> Laplace {
        let spend = PrivacyCost::pure(epsilon).and_then(|amount| Spend::of(&amount));
        Laplace(UncheckedNoise::new(Family::Laplace, spend))
    }

    /// Noise that costs `rho` (zCDP) a window.
    pub fn rho(rho: f64) -> Laplace {
        Laplace(UncheckedNoise::new(Family::Laplace, rho_of(rho)))
    }

    /// Noise that costs this amount a window: pure epsilon or rho.
    pub fn cost(amount: &PrivacyCost) -> Laplace {
        Laplace(UncheckedNoise::new(Family::Laplace, Spend::of(amount)))
    }
}

pub(super) fn rho_of(rho: f64) -> Result<Spend, Invalid> {
    PrivacyCost::zcdp(rho).and_then(|amount| Spend::of(&amount))
}

/// What all mechanisms say alike.
macro_rules! asks {
    ($($law:ident),*) => {$(
        impl $law {
            /// How likely the truth is to be in an interval, 0.9 unless said; or a rank to be as near as is promised, 0.99.
            #[must_use]
            pub fn confidence(mut self, confidence: f64) -> Self {
                self.0.confidence = confidence;
                self
            }

            /// The percentage of the cost that goes into discovering keys, where that takes a draw of its own: for all but
            /// counts of people, and of records where a person leaves one. 30 unless said.
            #[must_use]
            pub fn selecting(mut self, percent: u8) -> Self {
                self.0.selecting = percent;
                self
            }
        }
    )*};
}

pub(super) use asks;

asks!(Gaussian, Laplace);

/// What both say alike.
macro_rules! adds_noise {
    ($($law:ident),*) => {$(
        impl $law {
            /// The percentage that goes into the count of a mean, of what is left for the mean; 30 unless said.
            #[must_use]
            pub fn counting(mut self, percent: u8) -> Self {
                self.0.counting = percent;
                self
            }
        }

        /// A draw for each public key, in their order, whether anybody has it or not; for keys to discover, see
        /// [`Keys::discover`](super::Keys::discover).
        impl crate::mechanisms::sealed::Sealed for $law {}

        impl<K: Key> Mechanism<Total<K>> for $law {
            type Prepared = NoisyTotals<K>;

            fn ready(&self, statistic: &Total<K>) -> Result<NoisyTotals<K>, Invalid> {
                totals(&self.0, statistic)
            }
        }

        /// Two draws for each key, the sums' and the counts'.
        impl<K: Key> Mechanism<Mean<K>> for $law {
            type Prepared = NoisyMeans<K>;

            fn ready(&self, statistic: &Mean<K>) -> Result<NoisyMeans<K>, Invalid> {
                means(&self.0, statistic)
            }
        }
    )*};
}

adds_noise!(Gaussian, Laplace);

/// The percentage of a mean's price that its count has, unless said.
pub(crate) const COUNTING: u8 = 30;

/// What was asked for, not yet read.
#[derive(Clone, Debug)]
pub(super) struct UncheckedNoise {
    pub(super) family: Family,
    spend: Result<Spend, Invalid>,
    pub(super) confidence: f64,
    pub(super) selecting: u8,
    pub(super) counting: u8,
}

impl UncheckedNoise {
    pub(super) fn new(family: Family, spend: Result<Spend, Invalid>) -> UncheckedNoise {
        UncheckedNoise { family, spend, confidence: 0.9, selecting: 30, counting: COUNTING }
    }

    /// Of what is found by its rank: an answer that misses may miss by any distance, so few should.
    pub(super) fn of_ranks(family: Family, spend: Result<Spend, Invalid>) -> UncheckedNoise {
        UncheckedNoise { confidence: 0.99, ..UncheckedNoise::new(family, spend) }
    }

    pub(super) fn spend(&self) -> Result<Spend, Invalid> {
        self.spend.clone()
    }

    pub(super) fn confidence(&self) -> Result<f64, Invalid> {
        if self.confidence > 0.0 && self.confidence < 1.0 {
            return Ok(self.confidence);
        }
        let kind = if self.confidence.is_nan() { InvalidKind::Nan } else { InvalidKind::Malformed };
        Err(Invalid::new("confidence", kind, "a number above 0 and below 1, such as 0.9"))
    }

    pub(super) fn selecting(&self) -> Result<u8, Invalid> {
        percent("selecting", self.selecting)
    }

    pub(super) fn counting(&self) -> Result<u8, Invalid> {
        percent("counting", self.counting)
    }
}

pub(super) fn percent(field: &'static str, value: u8) -> Result<u8, Invalid> {
    let kind = match value {
        0 => InvalidKind::Zero,
        1..=99 => return Ok(value),
        _ => InvalidKind::TooLarge,
    };
    Err(Invalid::new(field, kind, "a whole number of percent from 1 to 99"))
}
