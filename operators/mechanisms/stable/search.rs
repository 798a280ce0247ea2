//! Which tests, shares and numbers of people are possible at a price.

use super::good::Levels;
use super::threshold::{NoisedCount, ThresholdTest};
use crate::accounting::{Relation, convert};
use crate::invalid::{Invalid, InvalidKind};

/// More people than this are not planned for: sums stay in 128 bits.
pub(super) const PEOPLE: u64 = 1 << 24;
/// Nor more axes.
const DIMENSION: u64 = 64;
/// Nor more levels.
const K: u64 = 1000;
/// The noise gets at least this share of what all costs, or there are too few people.
pub(super) const LEAST_SHARE: f64 = 0.25;
/// What float computation of a cost may be off by, taken many times over.
pub(super) const MARGIN: f64 = 1e-9;
/// What of `omega gamma` is tried: more orders, or less noise.
pub(super) const SHARES: [f64; 6] = [0.08, 0.15, 0.25, 0.35, 0.45, 0.5];

/// What is asked.
pub(super) struct SearchQuestion {
    pub(super) dimension: u64,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    /// What the number of people costs.
    pub(super) counting: Option<NoisedCount>,
}

/// All that is settled before the noise.
pub(super) struct SearchPlan {
    pub(super) levels: Levels,
    /// What an exchange does to the noise's shape costs this.
    pub(super) shape: f64,
    /// All that it costs so far, the shape included.
    pub(super) rho: f64,
    pub(super) delta: f64,
    pub(super) omega: f64,
}

impl SearchQuestion {
    pub(super) fn new(
        dimension: u64,
        epsilon: f64,
        delta: f64,
        relation: Relation,
    ) -> Result<SearchQuestion, Invalid> {
        if dimension == 0 || dimension > DIMENSION {
            let kind = if dimension == 0 { InvalidKind::Zero } else { InvalidKind::TooLarge };
            return Err(Invalid::new("dimension", kind, "a whole number from 1 to 64"));
        }
        let most = convert::rho_within(epsilon, delta, f64::INFINITY)?;
        let counting = match relation {
            Relation::Replace => None,
            Relation::AddRemove => Some(NoisedCount::new(most / 20.0, delta / 10.0)?),
        };
        Ok(SearchQuestion { dimension, epsilon, delta, counting })
    }

    pub(super) fn tests(&self) -> Result<Vec<ThresholdTest>, Invalid> {
        let most = convert::rho_within(self.epsilon, self.delta, f64::INFINITY)?;
        let mut tests = Vec::new();
        for step in 0..14 {
            let rho = most * 0.03 * libm::pow(1.25, f64::from(step));
            for part in [0.2, 0.5] {
                // A test that is cheaper than noise can be wide is none.
                if let Ok(test) = ThresholdTest::new(rho, self.delta * part)
                    && test.k <= K
                {
                    tests.push(test);
                }
            }
        }
        Ok(tests)
    }

    /// All but the noise, where so many people are enough for this test and this share.
    pub(super) fn fixed(&self, test: &ThresholdTest, share: f64, people: u64) -> Option<SearchPlan> {
        let pairs = people / 2;
        let levels =
            Levels { k: u32::try_from(test.k).ok()?, lambda: leverage(self.dimension as f64, pairs) };
        let enough = pairs >= 10 * test.k * levels.lambda && people >= levels.references() as u64;
        if !enough {
            return None;
        }
        let (over, under) = levels.gamma(pairs);
        let gamma = over as f64 / under as f64;
        let omega = share / gamma * (1.0 - MARGIN);
        let shape = shape_cost(gamma, share);
        let counting = self.counting.map_or((0.0, 0.0), |counting| (counting.law.rho(), counting.delta));
        let rho = (test.law.rho() + shape + counting.0) * (1.0 + MARGIN);
        let delta = (test.delta + counting.1) * (1.0 + MARGIN);
        (omega > 1.0 && delta < self.delta).then_some(SearchPlan { levels, shape, rho, delta, omega })
    }

    /// All that may be spent, as rho, where so much of delta is spent already and orders end at omega.
    pub(super) fn whole(&self, spent: f64, omega: f64) -> Option<f64> {
        let left = (self.delta - spent) * (1.0 - MARGIN);
        convert::rho_within(self.epsilon, left, omega).ok().map(|rho| rho * (1.0 - MARGIN))
    }

    fn feasible(&self, tests: &[ThresholdTest], people: u64) -> bool {
        tests.iter().any(|test| {
            SHARES.iter().any(|&share| {
                self.fixed(test, share, people).is_some_and(|SearchPlan { rho, delta, omega, .. }| {
                    let all = rho / (1.0 - LEAST_SHARE);
                    let left = (self.delta - delta) * (1.0 - MARGIN);
                    convert::epsilon_of_rho(all, omega, left).is_ok_and(|epsilon| epsilon <= self.epsilon)
                })
            })
        })
    }

    pub(super) fn least(&self, tests: &[ThresholdTest]) -> Result<u64, Invalid> {
        let unreachable = || {
            Invalid::new(
                "epsilon",
                InvalidKind::TooSmall,
                "a larger epsilon or delta: no number of people reaches it here",
            )
        };
        let (mut low, mut high) = (1, PEOPLE);
        if !self.feasible(tests, high) {
            return Err(unreachable());
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.feasible(tests, middle) { high = middle } else { low = middle }
        }
        Ok(high)
    }

    /// How many people may be missing from the count.
    pub(super) fn missing(&self) -> u64 {
        self.counting.as_ref().map_or(0, NoisedCount::missing)
    }
}

/// `lambda`, for so many pairs: the largest of that many squared lengths of Gaussian records is below it nearly always.
fn leverage(dimension: f64, pairs: u64) -> u64 {
    let l = libm::log(100.0 * pairs as f64);
    libm::ceil(dimension + 2.0 * (dimension * l).sqrt() + 2.0 * l) as u64
}

/// What an exchange does to the shape of the noise, over the order, for all orders up to `s / gamma`.
///
/// It is `(h(-gamma) + h(e)) / (2 a (a-1))` with `h(x) = a ln(1+x) - ln(1+ax)` and `e = gamma / (1-gamma)`. `h` vanishes at the orders 0
/// and 1, so `h / (a (a-1))` is a divided difference of a function of `a` with the second derivative `x^2 / (1+ax)^2`: for negative `x`
/// it is largest at the last order, for positive `x` at order 1. Both together bound the largest of the sum.
pub(super) fn shape_cost(gamma: f64, share: f64) -> f64 {
    let last = share / gamma;
    let falling = (last * libm::log1p(-gamma) - libm::log1p(-share)) / (last * (last - 1.0));
    let e = gamma / (1.0 - gamma);
    let rising = libm::log1p(e) - e / (1.0 + e);
    (falling + rising) / 2.0 * (1.0 + MARGIN)
}
