//! Noise that is added to each cell of a vector: found for a cost and a sensitivity, proved again in
//! integers.

use dashu_int::UBig;

use super::bound::Sensitivity;
use super::keys::{Key, Keys};
use super::means::{NoisyMeans, means};
use super::mechanism::Mechanism;
use super::noisy::{NoisyTotals, totals};
use super::spend::Spend;
use super::statistic::{Mean, Total};
use crate::accounting::gaussian::{chi_of_epsilon, chi_of_rho};
use crate::accounting::{BudgetUnits, PrivacyCost, convert, gdp};
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::{NoiseDistribution, NoiseSource, Ratio};
use crate::{accounting, noise};

/// The noise distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Gaussian, discrete where the price is in zCDP and rounded where it is in mu; its scale is sigma.
    Gaussian,
    /// Discrete Laplace; its scale is `b`, the standard deviation over the root of 2.
    Laplace,
}

impl Family {
    /// The name, as it is published: that all noise here is of whole numbers goes without saying.
    pub fn name(self) -> &'static str {
        match self {
            Family::Gaussian => "gaussian",
            Family::Laplace => "laplace",
        }
    }
}

/// Independent noise on every cell of a vector, within a cost.
#[derive(Clone, Debug)]
pub(super) struct Additive(Priced);

#[derive(Clone, Debug)]
enum Priced {
    Gaussian(accounting::DiscreteGaussianCost, noise::DiscreteGaussian),
    Rounded(accounting::RoundedGaussianCost, noise::RoundedGaussian),
    Laplace(accounting::DiscreteLaplaceCost, noise::DiscreteLaplace),
}

impl Additive {
    /// The smallest noise, rounded up to 12 digits, for which a vector of this sensitivity costs no more than
    /// `spend`.
    ///
    /// Gaussian: `rho = L2^2 / 2 sigma^2`, in zCDP and in mu. Laplace: pure `epsilon = L1 / b`, and in both of
    /// these `L1 / Linf` times the cost of a cell that moves by `Linf`. The cost of a cell is convex in its
    /// move, and 0 without one, so that of a smaller move is at most a proportionate part.
    ///
    /// Gaussian noise, and Laplace noise in pure epsilon, are proved again in integers. The cost of Laplace
    /// noise in zCDP and in mu is no rational number, and has no such second check. There the part of a cell
    /// is rounded down (`a_cell`), the cost that is compared with it is rounded up
    /// ([`rho`](accounting::DiscreteLaplaceCost::rho), [`mu_of_pure`](gdp::mu_of_pure)), and what is drawn has
    /// exactly the scale that was compared.
    pub(super) fn within(family: Family, spend: Spend, moved: &Sensitivity) -> Result<Additive, Invalid> {
        let most = |value: u128| {
            let remedy = "a bound by which one person moves the answer by at most 2^40";
            u64::try_from(value).map_err(|_| Invalid::new("sensitivity", InvalidKind::TooLarge, remedy))
        };
        match (family, spend) {
            (Family::Gaussian, Spend::Pure(_)) => {
                let remedy =
                    "rho, or epsilon with a delta: Gaussian noise has no pure epsilon; Laplace noise has";
                Err(Invalid::new("delta", InvalidKind::Missing, remedy))
            }
            (Family::Gaussian, Spend::Rho(rho) | Spend::Mu(rho)) => {
                // Costs add up, and are as the squares of moves.
                let largest = moved.linf().checked_mul(moved.linf()).ok_or_else(|| unproved("rho"))?;
                let cell = a_cell(rho, (moved.l2_squared(), largest));
                let price = accounting::DiscreteGaussianCost::for_rho(cell, most(moved.linf())?)?;
                let law = noise::DiscreteGaussian::with_sigma(price.sigma())?;
                if !gaussian_holds(rho, moved.l2_squared(), law.variance()) {
                    return Err(unproved("rho"));
                }
                if matches!(spend, Spend::Rho(_)) {
                    return Ok(Additive(Priced::Gaussian(price, law)));
                }
                let price = accounting::RoundedGaussianCost::new(price.sigma(), most(moved.linf())?)?;
                Ok(Additive(Priced::Rounded(price, noise::RoundedGaussian::new(law.variance())?)))
            }
            (Family::Laplace, Spend::Mu(rho)) => {
                // Of a smaller move a proportionate part of the square of mu, too: it is convex in epsilon.
                let cell = a_cell(rho, (moved.l1(), moved.linf()));
                let mu = gdp::mu_within_rho(BudgetUnits::at_most_float("rho", cell)?);
                let price = accounting::DiscreteLaplaceCost::for_epsilon(
                    gdp::epsilon_within(mu)?,
                    most(moved.linf())?,
                )?;
                let law = noise::DiscreteLaplace::new(price.scale())?;
                Ok(Additive(Priced::Laplace(price, law)))
            }
            (Family::Laplace, Spend::Pure(epsilon)) => {
                let price =
                    accounting::DiscreteLaplaceCost::for_epsilon(epsilon.to_float_down(), most(moved.l1())?)?;
                let law = noise::DiscreteLaplace::new(price.scale())?;
                if !laplace_holds(epsilon, moved.l1(), law.scale()) {
                    return Err(unproved("epsilon"));
                }
                Ok(Additive(Priced::Laplace(price, law)))
            }
            (Family::Laplace, Spend::Rho(rho)) => {
                let cell = a_cell(rho, (moved.l1(), moved.linf()));
                let price = accounting::DiscreteLaplaceCost::for_rho(cell, most(moved.linf())?)?;
                let law = noise::DiscreteLaplace::new(price.scale())?;
                Ok(Additive(Priced::Laplace(price, law)))
            }
        }
    }

    /// Returns the variance of Gaussian noise as its law states it, exactly; `None` of other noise.
    pub(super) fn variance(&self) -> Option<Ratio> {
        match &self.0 {
            Priced::Gaussian(_, law) => Some(law.variance()),
            Priced::Rounded(_, law) => Some(law.variance()),
            Priced::Laplace(..) => None,
        }
    }

    /// `count` draws, in order.
    pub(super) fn draws(&self, count: usize, noise: &mut NoiseSource) -> Vec<i64> {
        let mut values = vec![0; count];
        match &self.0 {
            Priced::Gaussian(_, law) => law.fill(noise, &mut values),
            Priced::Rounded(_, law) => law.fill(noise, &mut values),
            Priced::Laplace(_, law) => law.fill(noise, &mut values),
        }
        values
    }

    /// The least `w` with `P[|noise| <= w] >= confidence`.
    pub(super) fn half_width(&self, confidence: f64) -> Result<u64, Invalid> {
        match &self.0 {
            Priced::Gaussian(price, _) => price.interval(confidence),
            Priced::Rounded(price, _) => price.interval(confidence),
            Priced::Laplace(price, _) => price.interval(confidence),
        }
    }

    /// `P[noise >= at]`, rounded up.
    pub(super) fn tail(&self, at: i64) -> f64 {
        match &self.0 {
            Priced::Gaussian(price, _) => price.tail(at),
            Priced::Rounded(price, _) => price.tail(at),
            Priced::Laplace(price, _) => price.tail(at),
        }
    }

    /// The standard deviation of a draw, or a little more.
    pub(super) fn deviation(&self) -> f64 {
        match &self.0 {
            Priced::Gaussian(price, _) => price.sigma(),
            Priced::Rounded(price, _) => price.deviation(),
            // That of a whole-numbered draw is below that of a real one.
            Priced::Laplace(price, _) => price.scale() * std::f64::consts::SQRT_2,
        }
    }

    pub(super) fn is_discrete_gaussian(&self) -> bool {
        matches!(&self.0, Priced::Gaussian(..))
    }

    pub(super) fn family(&self) -> Family {
        match &self.0 {
            Priced::Gaussian(..) | Priced::Rounded(..) => Family::Gaussian,
            Priced::Laplace(..) => Family::Laplace,
        }
    }

    /// Sigma or `b`.
    pub(super) fn scale(&self) -> f64 {
        match &self.0 {
            Priced::Gaussian(price, _) => price.sigma(),
            Priced::Rounded(price, _) => price.sigma(),
            Priced::Laplace(price, _) => price.scale(),
        }
    }
}

/// Returns the most that the cell with the largest move may cost, rounded down, where all moves together cost `all / largest`
/// times as much.
fn a_cell(rho: BudgetUnits, (all, largest): (u128, u128)) -> f64 {
    let spend = rho.to_float_down();
    if !all.is_multiple_of(largest.max(1)) {
        // Four roundings, each of at most 1.2e-16 of the quotient.
        return (spend * largest as f64 / all as f64) * (1.0 - 1e-15);
    }
    let cells = (all / largest.max(1)) as f64;
    let cell = spend / cells;
    // Far fewer than 2^53 cells, exact in a float; a fused product has the sign of the exact one.
    if cell.mul_add(cells, -spend) <= 0.0 { cell } else { cell.next_down() }
}

/// `l2^2 / 2 variance <= rho`, exactly.
pub(super) fn gaussian_holds(rho: BudgetUnits, l2_squared: u128, variance: Ratio) -> bool {
    let cost = (UBig::from(l2_squared) * UBig::from(variance.denominator())) << 63;
    cost <= UBig::from(rho.to_bits()) * UBig::from(variance.numerator())
}

/// `l1 / scale <= epsilon`, exactly.
fn laplace_holds(epsilon: BudgetUnits, l1: u128, scale: Ratio) -> bool {
    let cost = (UBig::from(l1) * UBig::from(scale.denominator())) << 64;
    cost <= UBig::from(epsilon.to_bits()) * UBig::from(scale.numerator())
}

pub(super) fn unproved(field: &'static str) -> Invalid {
    Invalid::new(
        field,
        InvalidKind::TooSmall,
        "more budget: no noise of 12 digits was found to keep within it",
    )
}

// The two mechanisms that add noise to each cell: what is asked for, before it is known of what.

/// Gaussian noise on each cell: the default. With several keys a person it needs least.
///
/// Private for one unit more or less. Its cost is `L2^2 / 2 sigma^2`, for any number of cells: in zCDP, where
/// the noise is discrete, or in mu ([`gdp`]), where it is rounded. What is charged is what was asked for; the
/// noise is the least, to 12 digits, that costs no more.
///
/// ```
/// use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Prepared, Tally, Total};
/// use discreet::noise::NoiseSource;
///
/// let limits = Bound::keys(2).checked()?;
/// let paths = Keys::public(["/", "/about"].map(str::to_owned))?;
/// let visits = Total::count(limits, paths)?;
/// let gaussian = Gaussian::rho(0.05).prepare(&visits)?;
///
/// let mut exact = gaussian.tally();
/// for person in 0..1000 {
///     exact.absorb(("/".to_owned(), visits.contribution(1, 0)));
/// }
/// let drawn = gaussian.draw(exact, None, &mut NoiseSource::from_os()?);
/// assert_eq!(drawn.answer.cells().len(), 2);   // "/about" too
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gaussian(pub(super) UncheckedNoise);

/// Discrete Laplace noise on each cell: for pure epsilon, where no delta is wanted.
///
/// Private for one unit more or less. Its cost is pure `epsilon = L1 / b`; in zCDP, what its cells cost
/// together, which is less than what that epsilon comes to.
#[derive(Clone, Debug)]
pub struct Laplace(pub(super) UncheckedNoise);

impl Gaussian {
    /// Noise that costs `rho` (zCDP) a window.
    pub fn rho(rho: f64) -> Gaussian {
        Gaussian(UncheckedNoise::new(Family::Gaussian, rho_of(rho)))
    }

    /// Noise by which one window, alone, is (epsilon, delta)-private. It is charged as the rho that proves
    /// it.
    pub fn epsilon(epsilon: f64, delta: f64) -> Gaussian {
        let rho = convert::rho_within(epsilon, delta, f64::INFINITY);
        let rho = rho.and_then(|rho| BudgetUnits::at_most_float("rho", rho));
        Gaussian(UncheckedNoise::new(Family::Gaussian, rho.map(Spend::Rho)))
    }

    /// Rounded noise of this `mu` a window, for an account in Gaussian differential privacy ([`gdp`]).
    pub fn mu(mu: f64) -> Gaussian {
        let spend = PrivacyCost::gaussian(mu).and_then(|amount| Spend::of(&amount));
        Gaussian(UncheckedNoise::new(Family::Gaussian, spend))
    }

    /// Noise that costs this amount a window: rho, in zCDP or in Gaussian differential privacy.
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

    /// Noise that costs this amount a window: pure epsilon, or rho in zCDP or in Gaussian differential privacy.
    pub fn cost(amount: &PrivacyCost) -> Laplace {
        Laplace(UncheckedNoise::new(Family::Laplace, Spend::of(amount)))
    }
}

pub(super) fn rho_of(rho: f64) -> Result<Spend, Invalid> {
    PrivacyCost::zcdp(rho).and_then(|amount| Spend::of(&amount))
}

/// The methods that all mechanisms share.
macro_rules! asks {
    ($($law:ident),*) => {$(
        impl $law {
            /// Sets the probability that the truth is in an interval, 0.9 by default; or that a rank is
            /// within its promised error, 0.99.
            #[must_use]
            pub fn confidence(mut self, confidence: f64) -> Self {
                self.0.confidence = confidence;
                self
            }

            /// The percentage of the cost of a key that finds it, in the windows before it is public: 50
            /// unless said, and of running totals 30. The rest is for the key's number in the window in which
            /// it is found, and from the next one on the number has all of it. Where the number of people is
            /// itself released, by counts of people and of records where a person leaves one, it finds the key
            /// with all of the cost.
            #[must_use]
            pub fn selecting(mut self, percent: u8) -> Self {
                self.0.selecting = Some(percent);
                self
            }
        }
    )*};
}

pub(super) use asks;

asks!(Gaussian, Laplace);

/// The methods that both noise distributions share.
macro_rules! adds_noise {
    ($($law:ident),*) => {$(
        impl $law {
            /// The percentage that goes into the count of a mean, of what is left for the mean; 30 unless
            /// said. Means of numbers under Laplace noise have a count where this is said: see
            /// [`NoisyMeans`].
            #[must_use]
            pub fn counting(mut self, percent: u8) -> Self {
                self.0.counting = Some(percent);
                self
            }
        }

        impl crate::mechanisms::mechanism::Sealed for $law {}

        /// One draw for each public key, in their order, whether anybody has it or not; for keys to discover,
        /// see [`Keys::discover`](super::Keys::discover).
        impl<K: Key> Mechanism<Total<K>> for $law {
            type Prepared = NoisyTotals<K>;

            fn prepare(&self, statistic: &Total<K>) -> Result<NoisyTotals<K>, Invalid> {
                totals(&self.0, statistic)
            }
        }

        /// Two draws for each key: of the sum and the count, or of both sums of distances from the ends of the range.
        impl<K: Key> Mechanism<Mean<K>> for $law {
            type Prepared = NoisyMeans<K>;

            fn prepare(&self, statistic: &Mean<K>) -> Result<NoisyMeans<K>, Invalid> {
                means(&self.0, statistic)
            }
        }
    )*};
}

adds_noise!(Gaussian, Laplace);

/// The percentage of a mean's price that its count has, unless said.
pub(crate) const COUNTING: u8 = 30;

/// The percentage of the price of a running total with which keys are found, unless said: its numbers have the rest in all
/// windows.
const SELECTING: u8 = 30;

/// The percentage of the price of a key that finds it, unless said: see [`selection`](super::selection).
pub(super) const FINDING: u8 = 50;

/// The requested noise, not yet checked.
#[derive(Clone, Debug)]
pub(super) struct UncheckedNoise {
    pub(super) family: Family,
    spend: Result<Spend, Invalid>,
    pub(super) confidence: f64,
    pub(super) selecting: Option<u8>,
    /// Stated, or left to each statistic.
    pub(super) counting: Option<u8>,
}

impl UncheckedNoise {
    pub(super) fn new(family: Family, spend: Result<Spend, Invalid>) -> UncheckedNoise {
        UncheckedNoise { family, spend, confidence: 0.9, selecting: None, counting: None }
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

    /// Returns the percentage of the price of all windows that finds keys, where totals are running.
    pub(super) fn selecting(&self) -> Result<u8, Invalid> {
        percent("selecting", self.stated_selecting())
    }

    /// Returns the percentage of the price of a key in a window that finds it.
    pub(super) fn finding(&self) -> Result<u8, Invalid> {
        percent("selecting", self.selecting.unwrap_or(FINDING))
    }

    /// Returns the percentage for selecting keys as the form of parameters states it, whether or not it matters.
    pub(super) fn stated_selecting(&self) -> u8 {
        self.selecting.unwrap_or(SELECTING)
    }

    pub(super) fn counting(&self) -> Result<u8, Invalid> {
        percent("counting", self.counting.unwrap_or(COUNTING))
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

// How far the noise of a number is above the least of an unbiased one
// ([`accounting::unbiased`](crate::accounting::gaussian)).

/// A number's standard deviation over the least one, where each cell of a key is moved by `moved.linf()`; not
/// known where keys are discovered, which takes a delta.
///
/// A person is in some of the keys only, in whichever: by symmetry noise that is the same for all keys is the
/// best, and it must hold a vector that is as long as this number of cells.
pub(super) fn over_bound<K: Key>(
    deviation: f64,
    moved: &Sensitivity,
    keys: &Keys<K>,
    spend: Spend,
) -> Option<f64> {
    let listed = keys.listed()?.len() as f64;
    // Of people who count in part, as many cells as whole shares come to.
    let cells = (moved.l2_squared() as f64 / (moved.linf() as f64).powi(2)).min(listed);
    let chi = match spend {
        Spend::Pure(epsilon) => chi_of_epsilon(epsilon.to_float_up()),
        // The divergence of order 2 of Gaussians that are mu apart is the square of mu, too.
        Spend::Rho(rho) | Spend::Mu(rho) => chi_of_rho(rho.to_float_up()),
    };
    let over = deviation * chi / (moved.linf() as f64 * cells.sqrt());
    is_near(over).then_some(over)
}

/// The factor above which a bound says nothing about noise: at a price at which hardly anything is hidden, there
/// is hardly a bound.
const FAR: f64 = 1e6;

/// Returns true if noise that is this many times above a bound is near enough to it to say so.
pub(crate) fn is_near(over: f64) -> bool {
    // Not a number is not near.
    over <= FAR
}

#[cfg(test)]
mod tests;
