//! The requests for mechanisms that choose an answer by its rank.

use super::choose::AnswerChoice;
use super::cuts::CutChoice;
use super::largest::{Largest, Monotone};
use super::quantiles::{PreparedQuantiles, Quantiles, ranked};
use super::search::{Inverted, Searched, inverted, searched};
use crate::accounting::PrivacyCost;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::Mechanism;
use crate::mechanisms::additive::{Family, UncheckedNoise, asks, rho_of};
use crate::mechanisms::keys::Key;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::spend::Spend;
use crate::noise::{Decay, Ratio};

/// Noisy binary search: halves a grid by noised numbers of people, and so finds a largest value, or any
/// [`Monotone`] function, where nothing bounds it.
///
/// Private for one unit more or less: each of its comparisons asks for a number that moves by 1. All that
/// there may be are charged, whatever the data.
///
/// ```
/// use discreet::mechanisms::{BinarySearch, Bound, Grid, Keys, Largest, Maximum, Mechanism, PerPerson, Prepared, Tally};
/// use discreet::noise::NoiseSource;
///
/// let limits = Bound::keys(1).checked()?;
/// let largest = Largest::new(Maximum, PerPerson::Greatest, Grid::log_from_zero(), limits, Keys::whole())?;
/// let search = BinarySearch::rho(0.1).prepare(&largest)?;
///
/// let mut exact = search.tally();
/// for person in 1..=10_000 {
///     exact.absorb(((), largest.of_one(person)));
/// }
/// let drawn = search.draw(exact, None, &mut NoiseSource::from_os()?);
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

    fn prepare(&self, largest: &Largest<K, F>) -> Result<Searched<K, F>, Invalid> {
        searched(&self.0, largest)
    }
}

/// A choice among the points of a grid, each the less likely the worse its rank is: the exponential
/// mechanism, drawn from integer weights exactly. It finds quantiles, and, as the shifted inverse, largest
/// values; the best known where a pure epsilon is asked for.
///
/// Private for one unit more or less. Of bounded range: pure `epsilon`, or `epsilon^2 / 8` of rho, or the mu of pure
/// `epsilon / 2`.
#[derive(Clone, Debug)]
pub struct Exponential(pub(in crate::mechanisms) UncheckedNoise);

impl Exponential {
    /// A choice that costs pure `epsilon` a window.
    pub fn epsilon(epsilon: f64) -> Exponential {
        Exponential::spending(PrivacyCost::pure(epsilon).and_then(|amount| Spend::of(&amount)))
    }

    /// A choice that costs `rho` (zCDP) a window.
    pub fn rho(rho: f64) -> Exponential {
        Exponential::spending(rho_of(rho))
    }

    /// A choice that costs this amount a window: pure epsilon, or rho in zCDP or in Gaussian differential privacy.
    pub fn cost(amount: &PrivacyCost) -> Exponential {
        Exponential::spending(Spend::of(amount))
    }

    /// Keys are discovered by the noise that suits the currency.
    fn spending(spend: Result<Spend, Invalid>) -> Exponential {
        let family = if matches!(spend, Ok(Spend::Pure(_))) { Family::Laplace } else { Family::Gaussian };
        Exponential(UncheckedNoise::of_ranks(family, spend))
    }
}

/// Permute-and-flip: a choice like [`Exponential`]'s, which errs no more than that and by down to a half of
/// it, among at most 65,536 points. Its range is not bounded, so it is for pure epsilon alone.
///
/// Private for one unit more or less: pure `epsilon`. How many coins it asks for depends on what it finds.
#[derive(Clone, Debug)]
pub struct PermuteAndFlip(pub(in crate::mechanisms) UncheckedNoise);

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

    fn prepare(&self, largest: &Largest<K, F>) -> Result<Inverted<K, F>, Invalid> {
        inverted(&self.0, largest)
    }
}

impl<K: Key> Mechanism<Quantiles<K>> for Exponential {
    type Prepared = PreparedQuantiles<K>;

    fn prepare(&self, quantiles: &Quantiles<K>) -> Result<PreparedQuantiles<K>, Invalid> {
        ranked(&self.0, ChoiceRule::Exponential, quantiles)
    }
}

impl Sealed for PermuteAndFlip {}

impl<K: Key> Mechanism<Quantiles<K>> for PermuteAndFlip {
    type Prepared = PreparedQuantiles<K>;

    fn prepare(&self, quantiles: &Quantiles<K>) -> Result<PreparedQuantiles<K>, Invalid> {
        ranked(&self.0, ChoiceRule::PermuteAndFlip, quantiles)
    }
}

// What one of several choices may spend, and how it is made of it.

/// By which rule an answer is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mechanisms) enum ChoiceRule {
    /// The exponential mechanism.
    Exponential,
    /// Permute-and-flip: for pure epsilon, and a grid of at most [`ChoiceRule::FLIPPED`] points.
    PermuteAndFlip,
}

impl ChoiceRule {
    /// The most points that permute-and-flip is asked to hold.
    pub(in crate::mechanisms) const FLIPPED: u64 = 1 << 16;

    /// As it is released.
    pub(in crate::mechanisms) fn name(self) -> &'static str {
        match self {
            ChoiceRule::Exponential => "exponential",
            ChoiceRule::PermuteAndFlip => "permute-and-flip",
        }
    }
}

/// The epsilon of one choice, in units of 2^-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EpsilonShare(u128);

impl EpsilonShare {
    /// One of `parts` equal parts.
    pub(super) fn of(spend: Spend, parts: u64) -> EpsilonShare {
        EpsilonShare(spend.range_of_each(parts))
    }

    /// A choice in which one person moves losses by at most `step`, or by parts of it that `beside` choices
    /// side by side share.
    ///
    /// # Errors
    /// Names `epsilon` where it is too small or too large for a table of weights.
    pub(super) fn choice(self, rule: ChoiceRule, step: u64, beside: u64) -> Result<AnswerChoice, Invalid> {
        let half = self.half(beside)?;
        match rule {
            ChoiceRule::Exponential => {
                Ok(AnswerChoice::Exponential(Decay::new(Ratio::new(half, 1 << 65)?, step)?))
            }
            ChoiceRule::PermuteAndFlip => {
                let unit = u128::from(step).checked_mul(1 << 65);
                let unit =
                    unit.ok_or_else(|| Invalid::new("bound", InvalidKind::Overflow, "fewer records a key"))?;
                Ok(AnswerChoice::Flip(Ratio::new(half, unit)?))
            }
        }
    }

    /// A choice of a cut, in which one person moves losses by at most `step` with at most this number of values, or by parts
    /// of both that `beside` choices side by side share.
    ///
    /// # Errors
    /// Names `epsilon` as [`choice`](EpsilonShare::choice) does, and `bound` where a person has too many values.
    pub(super) fn cut(self, step: u64, values: u64, beside: u64) -> Result<CutChoice, Invalid> {
        let half = self.half(beside)?;
        let ties = half / CutChoice::TIES;
        // The least `M` with `values / M <= 2 ties`, in units of 2^-65.
        let spread = (u128::from(values) << 64).div_ceil(ties.max(1));
        let many = |_| Invalid::new("bound", InvalidKind::Overflow, "fewer records a key");
        Ok(CutChoice {
            decay: Decay::new(Ratio::new(half - ties, 1 << 65)?, step)?,
            spread: u64::try_from(spread).map_err(many)?.max(1),
        })
    }

    /// Half of it in units of 2^-65, less what each further choice may cost by its rounding.
    fn half(self, beside: u64) -> Result<u128, Invalid> {
        let small = || Invalid::new("epsilon", InvalidKind::TooSmall, "more than 2^-19 for each choice");
        let rounding = u128::from(beside.saturating_sub(1)) << (65 - Decay::ASIDE);
        self.0.checked_sub(rounding).filter(|half| *half > 0).ok_or_else(small)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use dashu_int::UBig;
    use proptest::prelude::*;

    use super::*;
    use crate::accounting::{BudgetUnits, gdp};

    proptest! {
        // Refutes a share that costs more than its part, and one that leaves some: `bits^2 <= 2^67 rho /
        // parts`.
        #[test]
        fn shares_cost_all_of_what_is_spent_and_no_more(bits in 1u128..u128::MAX, shift in 0u32..120, parts in 1u64..1000) {
            let bits = bits >> shift;
            let units = BudgetUnits::from_bits(bits);
            let EpsilonShare(epsilon) = EpsilonShare::of(Spend::Pure(units), parts);
            prop_assert!(epsilon * u128::from(parts) <= bits && bits - epsilon * u128::from(parts) < u128::from(parts));
            let EpsilonShare(epsilon) = EpsilonShare::of(Spend::Rho(units), parts);
            let cost = |epsilon: u128| UBig::from(epsilon).sqr() * UBig::from(parts);
            let most = UBig::from(bits) << 67usize;
            prop_assert!(cost(epsilon) <= most);
            let parted = UBig::from(bits / u128::from(parts)) * UBig::from(parts);
            prop_assert!(cost(epsilon + 1) > parted << 67usize);
        }
    }

    // Refutes mu taken for epsilon, and half of the range for all of it.
    #[test]
    fn choices_that_are_paid_in_mu_cost_all_of_it_and_no_more() {
        for (mu, parts) in [(0.001, 1u64), (0.1, 1), (0.3, 4), (2.0, 7), (20.0, 2)] {
            let spend = PrivacyCost::gaussian(mu).and_then(|amount| Spend::of(&amount)).unwrap();
            let EpsilonShare(epsilon) = EpsilonShare::of(spend, parts);
            let each = gdp::mu_of_bounded_range(BudgetUnits::from_bits(epsilon).to_float_up()).unwrap();
            let all = each * (parts as f64).sqrt() / mu;
            assert!(all <= 1.0 + 1e-12 && all > 1.0 - 1e-6, "{mu} {parts}: {all}");
        }
        assert_eq!(EpsilonShare::of(Spend::Mu(BudgetUnits::ZERO), 1), EpsilonShare(0));
    }

    #[test]
    fn a_rho_of_an_eighth_is_an_epsilon_of_one() {
        let units = |amount| BudgetUnits::at_most_float("rho", amount).unwrap();
        assert_eq!(EpsilonShare::of(Spend::Rho(units(0.125)), 1), EpsilonShare(1 << 64));
        assert_eq!(EpsilonShare::of(Spend::Rho(units(0.5)), 4), EpsilonShare(1 << 64));
        let half = |rule| match EpsilonShare(1 << 64).choice(rule, 9, 1).unwrap() {
            AnswerChoice::Exponential(decay) => (decay.half(), decay.step()),
            AnswerChoice::Flip(rate) => (rate, 0),
        };
        assert_eq!(half(ChoiceRule::Exponential), (Ratio::new(1, 2).unwrap(), 9));
        assert_eq!(half(ChoiceRule::PermuteAndFlip), (Ratio::new(1, 18).unwrap(), 0));
    }

    // Refutes a cut that pays for ties beside its epsilon, or for one of several values: `2 half + values / M` is all.
    #[test]
    fn a_cut_pays_for_ties_out_of_its_epsilon() {
        for (bits, values) in [(1u128 << 64, 1u64), (1 << 64, 7), (3 << 50, 2), (9 << 66, 1)] {
            let CutChoice { decay, spread } = EpsilonShare(bits).cut(5, values, 1).unwrap();
            let epsilon = bits as f64 / 2f64.powi(64);
            let paid = |spread: u64| 2.0 * decay.half().to_f64() + values as f64 / spread as f64;
            assert!(paid(spread) <= epsilon, "{bits} {values}: {}", paid(spread));
            assert!(spread == 1 || paid(spread - 1) > epsilon, "{bits} {values}");
            assert!((decay.half().to_f64() / epsilon - 31.0 / 64.0).abs() < 1e-9 && decay.step() == 5);
        }
        assert_eq!(EpsilonShare(1 << 50).cut(1, 1 << 62, 1).unwrap_err().field(), "bound");
    }

    #[test]
    fn what_is_set_aside_for_choices_side_by_side_is_not_spent() {
        let AnswerChoice::Exponential(decay) =
            EpsilonShare(1 << 64).choice(ChoiceRule::Exponential, 1, 3).unwrap()
        else {
            panic!()
        };
        assert_eq!(decay.half(), Ratio::new((1 << 24) - 2, 1 << 25).unwrap());
        let kind = |share: u128, beside| {
            EpsilonShare(share).choice(ChoiceRule::Exponential, 1, beside).unwrap_err().kind()
        };
        assert_eq!(
            (kind(0, 1), kind(1 << 64, 1 << 31), kind(1 << 44, 1)),
            (InvalidKind::TooSmall, InvalidKind::TooSmall, InvalidKind::TooSmall)
        );
        assert_eq!(kind(u128::MAX, 1), InvalidKind::TooLarge);
        assert!(EpsilonShare(1).choice(ChoiceRule::PermuteAndFlip, u64::MAX, 1).is_err());
        assert!(EpsilonShare(1).choice(ChoiceRule::PermuteAndFlip, 1_000_000 << 31, 1).is_ok());
    }
}
