//! Privacy filters and odometers: the check of a cost against a limit before a release, from public numbers
//! alone.
//!
//! A filter holds a limit and what was spent; a charge that fits is added, one that does not changes nothing.
//! The next release may be chosen by looking at all answers so far: what the filter promises holds for every
//! such strategy. That is a theorem for each of these currencies and not for every sum one might keep:
//!
//! | limit | theorem |
//! |---|---|
//! | pure epsilon; (epsilon, delta) by basic composition | Rogers, Roth, Ullman, Vadhan 2016 |
//! | Rényi curve: every order that has a limit, fixed in advance | Feldman, Zrnic 2021 |
//! | zCDP with delta and omega | Whitehouse, Ramdas, Rogers, Wu 2023; omega fixed in advance, like the delta |
//! | Gaussian mu | Smith, Thakurta 2022 |
//! | privacy loss distributions, or a best order chosen at the end | **none**: false in general |
//!
//! The decision is made in integers: it is the same on every machine, and takes the same time for the
//! millionth charge as for the first.

use std::f64::consts::PI;
use std::fmt;

use super::amount::PrivacyCost;
use super::cost::{Adjacency, ReleaseCost};
use super::number::MARGIN;
use super::renyi::Omega;
use super::units::BudgetUnits;
use super::{convert, number};
use crate::invalid::{Invalid, InvalidKind};

/// A limit, and how much of it is spent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrivacyFilter {
    neighbours: Adjacency,
    limit: PrivacyCost,
    spent: PrivacyCost,
}

/// The reason for which a charge was not made. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetExceeded {
    /// It does not fit.
    Budget {
        /// The amount that was spent before.
        spent: Box<PrivacyCost>,
        /// The requested amount, in the limit's currency.
        asked: Box<PrivacyCost>,
        /// The largest amount that may be spent in all.
        limit: Box<PrivacyCost>,
    },
    /// It is a cost that this filter cannot count: of other neighbours, of a currency that no theorem turns
    /// into the limit's, or for fewer Rényi orders.
    Uncountable(Invalid),
}

impl PrivacyFilter {
    /// Nothing spent of `limit`, which says by its currency what is counted and how. A limit should be
    /// rounded down, as [`limit`](super::limit) does.
    pub fn new(neighbours: Adjacency, limit: PrivacyCost) -> PrivacyFilter {
        let spent = limit.nothing();
        PrivacyFilter { neighbours, limit, spent }
    }

    /// A filter of (epsilon, delta)-private costs that promises (epsilon, delta) by better than basic
    /// composition: `slack` of delta pays for it, what is left of delta is for the charges' own deltas.
    ///
    /// It counts in zCDP, each charge as `e_i tanh(e_i / 2)`, and stops where that many rho are no longer
    /// epsilon at `slack`. The published filter stops earlier, at `sqrt(2 ln(1/slack) sum e_i^2) + sum e_i^2
    /// / 2 > epsilon`: the same argument with a coarser conversion on both sides.
    ///
    /// # Errors
    /// Names `epsilon`, `delta` or `slack` when it is out of range.
    pub fn approximate(
        neighbours: Adjacency,
        epsilon: f64,
        delta: f64,
        slack: f64,
    ) -> Result<PrivacyFilter, Invalid> {
        let delta = BudgetUnits::at_most_float("delta", number::probability("delta", delta)?)?;
        number::probability("slack", slack)?;
        let rho = convert::rho_within(epsilon, slack, f64::INFINITY)?;
        let left = delta.to_bits().checked_sub(BudgetUnits::at_least_float("slack", slack)?.to_bits());
        let left = left.ok_or_else(|| Invalid::new("slack", InvalidKind::TooLarge, "a part of delta"))?;
        let limit = PrivacyCost::Zcdp {
            rho: BudgetUnits::at_most_float("rho", rho)?,
            delta: BudgetUnits::from_bits(left),
            omega: Omega::EVERY,
        };
        Ok(PrivacyFilter::new(neighbours, limit))
    }

    /// Adds `cost` if it fits.
    ///
    /// # Errors
    /// [`BudgetExceeded`], with nothing changed.
    pub fn charge(&mut self, cost: &ReleaseCost) -> Result<(), BudgetExceeded> {
        self.spent = self.after(cost)?;
        Ok(())
    }

    /// Returns the amount that would be spent after `cost`, if it fits.
    ///
    /// # Errors
    /// [`BudgetExceeded`], if it does not.
    pub fn after(&self, cost: &ReleaseCost) -> Result<PrivacyCost, BudgetExceeded> {
        let asked = self.asked(cost).map_err(BudgetExceeded::Uncountable)?;
        match self.spent.plus(&asked) {
            Ok(total) if total.within(&self.limit) => Ok(total),
            // An overflow is above every limit.
            Ok(_) | Err(_) => Err(BudgetExceeded::Budget {
                spent: Box::new(self.spent.clone()),
                asked: Box::new(asked),
                limit: Box::new(self.limit.clone()),
            }),
        }
    }

    /// The same limit beside another sum.
    pub(crate) fn having_spent(&self, spent: PrivacyCost) -> PrivacyFilter {
        PrivacyFilter { spent, limit: self.limit.clone(), ..*self }
    }

    /// Returns the largest amount that may be spent in all.
    pub fn limit(&self) -> &PrivacyCost {
        &self.limit
    }

    /// Returns the spent amount: a running sum. It is no promise of its own, for when to look was chosen by
    /// who looks; the promise is the limit.
    pub fn spent(&self) -> &PrivacyCost {
        &self.spent
    }

    /// The cost in the limit's currency.
    ///
    /// # Errors
    /// Names what keeps it from being counted here.
    pub(crate) fn asked(&self, cost: &ReleaseCost) -> Result<PrivacyCost, Invalid> {
        self.neighbours.same(cost.neighbours())?;
        let asked = cost.amount().in_currency_of(&self.limit)?;
        match (&asked, &self.limit) {
            (PrivacyCost::Zcdp { omega, .. }, PrivacyCost::Zcdp { omega: wanted, .. }) if omega < wanted => {
                Err(Invalid::new(
                    "omega",
                    InvalidKind::TooSmall,
                    format!("a cost for all orders below {}", wanted.to_float()),
                ))
            }
            _ => Ok(asked),
        }
    }
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetExceeded::Budget { spent, asked, limit } => {
                write!(f, "the budget is too small: {spent} is spent, {asked} is asked, {limit} is the limit")
            }
            BudgetExceeded::Uncountable(invalid) => invalid.fmt(f),
        }
    }
}

impl std::error::Error for BudgetExceeded {}

// How much privacy is lost so far, in words that stay true whenever one chooses to look.
//
// Without a limit, the sum of the charges is not a promise: an analyst who stops at the most telling moment
// has chosen it by the answers. This odometer keeps a ladder of limits `rho_j = 2^j rho_0`, gives the j-th
// the failure probability `delta_j = 6 delta / (pi^2 (j+1)^2)`, and reports the first that holds the sum.
// Each rung is a filter, the deltas add up to delta, so that for every strategy and at every moment at once:
//
// > the privacy loss is at most `epsilon_j = rho_j + 2 sqrt(rho_j ln(1 / delta_j))`, except with probability delta.
//
// That is a bound of the loss as a random variable (Ville's inequality), not the smaller epsilon of the
// (epsilon, delta) conversion, whose event depends on the rung. The deltas of the charges themselves come on
// top; their sum is held below a limit that is fixed at the start, because a failure probability must not
// depend on what happened. With rho known in advance a [`PrivacyFilter`] promises more: the ladder costs up
// to a factor 2 in rho.

/// A running account without a limit on rho.
#[derive(Clone, Debug, PartialEq)]
pub struct Odometer {
    filter: PrivacyFilter,
    first: BudgetUnits,
    delta: f64,
}

/// The guarantee that holds at this moment, and at every other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdometerReading {
    /// The bound of the privacy loss.
    pub epsilon: f64,
    /// The probability with which the bound may fail, at any time at all.
    pub delta: f64,
}

impl Odometer {
    /// Nothing spent. `first` is the lowest rung: the least rho worth distinguishing. `delta` is for the
    /// ladder, `charged` bounds the sum of the charges' own deltas.
    ///
    /// # Errors
    /// Names `first` when it is zero or unbounded, `delta` when it is no probability.
    pub fn new(
        neighbours: Adjacency,
        first: BudgetUnits,
        delta: f64,
        charged: BudgetUnits,
    ) -> Result<Odometer, Invalid> {
        if first == BudgetUnits::ZERO {
            return Err(Invalid::new("first", InvalidKind::Zero, "the rho of the lowest rung, such as 0.01"));
        }
        let delta = number::probability("delta", delta)?;
        let limit = PrivacyCost::Zcdp { rho: BudgetUnits::UNBOUNDED, delta: charged, omega: Omega::EVERY };
        Ok(Odometer { filter: PrivacyFilter::new(neighbours, limit), first, delta })
    }

    /// Adds a cost.
    ///
    /// # Errors
    /// [`BudgetExceeded`] for costs that are not about every order, and where the charges' deltas pass their
    /// limit.
    pub fn charge(&mut self, cost: &ReleaseCost) -> Result<(), BudgetExceeded> {
        self.filter.charge(cost)
    }

    /// The raw running sum of rho: spend, not a promise.
    pub fn spend(&self) -> BudgetUnits {
        match self.filter.spent() {
            PrivacyCost::Zcdp { rho, .. } => *rho,
            // The filter was made in this currency.
            _ => BudgetUnits::UNBOUNDED,
        }
    }

    /// The promise at this moment.
    pub fn reading(&self) -> OdometerReading {
        let spend = self.spend();
        let (mut rung, mut rho) = (0u32, self.first.to_bits());
        while rho < spend.to_bits() {
            rung += 1;
            rho = rho.saturating_mul(2);
        }
        let place = f64::from(rung) + 1.0;
        let failure = 6.0 * self.delta / (PI * PI * place * place);
        let rho = BudgetUnits::from_bits(rho).to_float_up();
        let epsilon = (rho + 2.0 * (-rho * failure.ln()).sqrt()) * (1.0 + MARGIN);
        let charged = match self.filter.limit() {
            PrivacyCost::Zcdp { delta, .. } => delta.to_float_up(),
            _ => 1.0,
        };
        OdometerReading { epsilon, delta: ((self.delta + charged) * (1.0 + MARGIN)).min(1.0) }
    }
}

impl fmt::Display for OdometerReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OdometerReading { epsilon, delta } = self;
        write!(
            f,
            "at any time the privacy loss so far is at most {epsilon:.6}, except with probability {delta:e}"
        )
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod odometer_tests {
    use super::*;

    fn rho(rho: f64) -> ReleaseCost {
        ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(rho).unwrap())
    }

    fn odometer() -> Odometer {
        let first = BudgetUnits::at_least_float("rho", 0.125).unwrap();
        Odometer::new(Adjacency::PERSON, first, 1e-6, BudgetUnits::ZERO).unwrap()
    }

    // By hand: delta_0 = 6e-6 / pi^2 = 6.0793e-7; epsilon_0 = .125 + 2 sqrt(.125 * 14.31317) = 2.80019;
    // delta_3 = delta_0 / 16; epsilon_3 = 1 + 2 sqrt(17.08576) = 9.26698.
    #[test]
    fn rungs_are_those_of_the_ladder() {
        let mut odometer = odometer();
        let close = |odometer: &Odometer, epsilon: f64| {
            let found = odometer.reading().epsilon;
            assert!((found - epsilon).abs() < 1e-4, "{found} {epsilon}");
        };
        close(&odometer, 2.80019);
        odometer.charge(&rho(0.125)).unwrap();
        close(&odometer, 2.80019);
        odometer.charge(&rho(0.5)).unwrap();
        close(&odometer, 9.26698);
        assert_eq!(odometer.spend().to_float_up(), 0.625);
        odometer.charge(&rho(0.375)).unwrap();
        close(&odometer, 9.26698);
    }

    // Refutes a reading that takes the conversion's epsilon (whose event depends on the rung), or no ladder:
    // it must be above the loss bound of the true sum at the whole delta.
    #[test]
    fn readings_rise_and_stay_above_the_loss_bound() {
        let mut odometer = odometer();
        let mut last = 0.0;
        for _ in 0..400 {
            odometer.charge(&rho(0.01)).unwrap();
            let spend = odometer.spend().to_float_up();
            let reading = odometer.reading().epsilon;
            assert!(reading >= last && reading > spend + 2.0 * (spend * 1e6f64.ln()).sqrt());
            last = reading;
        }
    }

    // A Gaussian adversary who watches the loss and stops at its best moment: of 20,000 runs of 64 steps, the
    // share that ever passes the reading must stay below delta = 0.05 (with this seed it is .0046; alpha <
    // 1e-9). Refutes a reading with half the spread, which one run in five passes.
    #[test]
    fn stopping_at_the_best_moment_does_not_beat_the_reading() {
        use chacha20::rand_core::{Rng, SeedableRng};
        let mut source = chacha20::ChaCha8Rng::seed_from_u64(7);
        let mut normal = || {
            let mut uniform = || (source.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let (radius, angle): (f64, f64) = (1.0 - uniform(), uniform());
            (-2.0 * radius.ln()).sqrt() * (2.0 * PI * angle).cos()
        };
        let step = 0.03125;
        let mut readings = Vec::new();
        let first = BudgetUnits::at_least_float("rho", step).unwrap();
        let mut odometer = Odometer::new(Adjacency::PERSON, first, 0.05, BudgetUnits::ZERO).unwrap();
        for _ in 0..64 {
            odometer.charge(&rho(step)).unwrap();
            readings.push(odometer.reading().epsilon);
        }
        let (mut beaten, runs) = (0, 20_000);
        for _ in 0..runs {
            let mut loss = 0.0;
            // The loss of a Gaussian of this rho has mean rho and variance 2 rho.
            beaten += usize::from(readings.iter().any(|reading| {
                loss += step + (2.0 * step).sqrt() * normal();
                loss > *reading
            }));
        }
        assert!((beaten as f64) < 0.05 * f64::from(runs), "{beaten}");
    }

    #[test]
    fn charged_deltas_have_a_limit_of_their_own() {
        let half = BudgetUnits::at_least_float("delta", 0.5e-6).unwrap();
        let first = BudgetUnits::at_least_float("rho", 0.01).unwrap();
        let mut odometer = Odometer::new(Adjacency::PERSON, first, 1e-6, half).unwrap();
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::approximate(0.1, 0.3e-6).unwrap());
        odometer.charge(&cost).unwrap();
        assert!(matches!(odometer.charge(&cost), Err(BudgetExceeded::Budget { .. })));
        assert!((odometer.reading().delta - 1.5e-6).abs() < 1e-12);
        assert_eq!(
            Odometer::new(Adjacency::PERSON, BudgetUnits::ZERO, 1e-6, half).unwrap_err().field(),
            "first"
        );
    }
}
