//! What a stable mean costs and needs: the test, the noise and the shape share a budget, and the cheapest split is searched.

use super::good::Levels;
use crate::accounting::{Amount, Cost, DiscreteGaussian, Neighbours, Omega, Relation, Unit, convert};
use crate::invalid::{Invalid, Kind};

/// How likely data without any outlier may fail the test, and a count to come out too low.
const FALSE_ALARM: f64 = 1e-3;
/// More people than this are not planned for: sums stay in 128 bits.
pub(super) const PEOPLE: u64 = 1 << 24;
/// Nor more axes.
const DIMENSION: u64 = 64;
/// Nor more levels.
const K: u64 = 1000;
/// The noise gets at least this share of what all costs, or there are too few people.
const LEAST_SHARE: f64 = 0.25;
/// What float computation of a cost may be off by, taken many times over.
const MARGIN: f64 = 1e-9;

/// A stable mean of which everything but the data is settled.
#[derive(Clone, Debug)]
pub struct StableMean {
    pub(super) levels: Levels,
    pub(super) dimension: usize,
    pub(super) least: u64,
    pub(super) test: Test,
    pub(super) counting: Option<Counting>,
    rho_release: f64,
    rho_shape: f64,
    share: f64,
    cost: Cost,
}

/// The noised threshold of the scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) law: DiscreteGaussian,
    /// A half score passes where it is no more than this with its noise.
    pub(super) tau: i64,
    pub(super) k: u64,
    delta: f64,
}

/// The noised number of people.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting {
    pub(super) law: DiscreteGaussian,
    /// What is taken off, so that there are fewer than it says with probability `delta` at most.
    pub(super) shift: i64,
    delta: f64,
}

/// The least whole number whose tail is no more than this.
fn reach(law: &DiscreteGaussian, chance: f64) -> i64 {
    let (mut low, mut high) = (0, 1);
    while law.tail(high) > chance {
        (low, high) = (high, high.saturating_mul(2));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if law.tail(middle) > chance { low = middle } else { high = middle }
    }
    high
}

impl Test {
    /// `delta` is `P[noise <= tau - (k/2 - 1)]`, which is the tail at `k/2 - 1 - tau`.
    pub(super) fn new(rho: f64, delta: f64) -> Result<Test, Invalid> {
        let law = DiscreteGaussian::for_rho(rho, 1)?;
        // It fails without need where the noise alone is above tau.
        let tau = reach(&law, FALSE_ALARM) - 1;
        let slack = reach(&law, delta);
        let k = 2 * (slack + tau + 1);
        Ok(Test { law, tau, k: k.unsigned_abs(), delta: law.tail(slack) })
    }

    /// `P[PASS]` where half the score is `half`: what the scores are told through.
    #[cfg(test)]
    pub(super) fn passes(&self, half: u64) -> f64 {
        if 2 * half >= self.k { 0.0 } else { 1.0 - self.law.tail(self.tau - half as i64 + 1) }
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

/// How far one exchanged record moves the weighted mean, as the covariance measures lengths.
pub(super) fn moved(levels: &Levels, people: u64) -> f64 {
    let pairs = people / 2;
    let (over, under) = levels.gamma(pairs);
    let gamma = over as f64 / under as f64;
    let diameter = (1.0 + 1.0 / (1.0 - gamma).sqrt()) * (2.0 * levels.radii(pairs).last()).sqrt();
    diameter * 2.0 / (people as f64 - f64::from(levels.k)) * (1.0 + MARGIN)
}

/// What is asked.
struct Asked {
    dimension: u64,
    epsilon: f64,
    delta: f64,
    /// What the number of people costs.
    counting: Option<Counting>,
}

impl Asked {
    fn new(dimension: u64, epsilon: f64, delta: f64, relation: Relation) -> Result<Asked, Invalid> {
        if dimension == 0 || dimension > DIMENSION {
            let kind = if dimension == 0 { Kind::Zero } else { Kind::TooLarge };
            return Err(Invalid::new("dimension", kind, "a whole number from 1 to 64"));
        }
        let most = convert::rho_within(epsilon, delta, f64::INFINITY)?;
        let counting = match relation {
            Relation::Replace => None,
            Relation::AddRemove => {
                let law = DiscreteGaussian::for_rho(most / 20.0, 1)?;
                let shift = reach(&law, delta / 10.0);
                Some(Counting { law, shift, delta: law.tail(shift) })
            }
        };
        Ok(Asked { dimension, epsilon, delta, counting })
    }

    fn tests(&self) -> Result<Vec<Test>, Invalid> {
        let most = convert::rho_within(self.epsilon, self.delta, f64::INFINITY)?;
        let mut tests = Vec::new();
        for step in 0..14 {
            let rho = most * 0.03 * libm::pow(1.25, f64::from(step));
            for part in [0.2, 0.5] {
                // A test that is cheaper than noise can be wide is none.
                if let Ok(test) = Test::new(rho, self.delta * part)
                    && test.k <= K
                {
                    tests.push(test);
                }
            }
        }
        Ok(tests)
    }

    /// The rho and delta that are settled before the noise, and omega.
    fn fixed(&self, test: &Test, share: f64, people: u64) -> Option<(Levels, f64, f64, f64, f64)> {
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
        (omega > 1.0 && delta < self.delta).then_some((levels, shape, rho, delta, omega))
    }

    fn feasible(&self, tests: &[Test], people: u64) -> bool {
        tests.iter().any(|test| {
            SHARES.iter().any(|&share| {
                self.fixed(test, share, people).is_some_and(|(_, _, rho, delta, omega)| {
                    let all = rho / (1.0 - LEAST_SHARE);
                    let left = (self.delta - delta) * (1.0 - MARGIN);
                    convert::epsilon_of_rho(all, omega, left).is_ok_and(|epsilon| epsilon <= self.epsilon)
                })
            })
        })
    }

    fn least(&self, tests: &[Test]) -> Result<u64, Invalid> {
        let unreachable = || {
            Invalid::new(
                "epsilon",
                Kind::TooSmall,
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

    /// How many people may be missing from the count, by its noise and by what is taken off.
    fn missing(&self) -> u64 {
        self.counting
            .map_or(0, |counting| (counting.shift + reach(&counting.law, FALSE_ALARM) - 1).unsigned_abs())
    }
}

/// What of `omega gamma` is tried: more orders, or less noise.
const SHARES: [f64; 6] = [0.08, 0.15, 0.25, 0.35, 0.45, 0.5];

impl StableMean {
    /// The stable mean of so many people that errs least at this price.
    ///
    /// Under [`Relation::Replace`] `people` is public, and exact. Under [`Relation::AddRemove`] it is how many are expected:
    /// where there are fewer, it fails more often.
    ///
    /// # Errors
    /// Names `people` where there are too few for this price, and any other parameter that is out of range.
    pub fn new(
        people: u64,
        dimension: u64,
        epsilon: f64,
        delta: f64,
        relation: Relation,
    ) -> Result<StableMean, Invalid> {
        let asked = Asked::new(dimension, epsilon, delta, relation)?;
        if people > PEOPLE {
            return Err(Invalid::new("people", Kind::TooLarge, "at most 16777216"));
        }
        let tests = asked.tests()?;
        let least = people.saturating_sub(asked.missing());
        let mut best: Option<(f64, StableMean)> = None;
        for test in &tests {
            for share in SHARES {
                let found = asked.fixed(test, share, least);
                let Some((levels, rho_shape, fixed, spent, omega)) = found else { continue };
                let left = (delta - spent) * (1.0 - MARGIN);
                let Ok(all) = convert::rho_within(epsilon, left, omega) else { continue };
                let all = all * (1.0 - MARGIN);
                let rho_release = all - fixed;
                if rho_release < all * LEAST_SHARE * (1.0 - 1e-6) {
                    continue;
                }
                let amount = Amount::approximate_zcdp(all, Omega::below(omega)?, Some(spent))?;
                let neighbours = Neighbours { unit: Unit::Person, relation };
                let mean = StableMean {
                    levels,
                    dimension: dimension as usize,
                    least,
                    test: *test,
                    counting: asked.counting,
                    rho_release: rho_release * (1.0 - MARGIN),
                    rho_shape,
                    share,
                    cost: Cost::new(neighbours, amount),
                };
                let scale = mean.scale(least);
                if best.as_ref().is_none_or(|(least, _)| scale < *least) {
                    best = Some((scale, mean));
                }
            }
        }
        let Some((_, mean)) = best else {
            let needed = asked.least(&tests)?.saturating_add(asked.missing());
            let remedy = format!("at least {needed} people, or a larger epsilon or delta");
            return Err(Invalid::new("people", Kind::TooSmall, remedy));
        };
        Ok(mean)
    }

    /// The least number of people with which this price leaves a quarter of it to the noise: with fewer there is no plan.
    ///
    /// # Errors
    /// Names the parameter that is out of range, and `epsilon` where 2^24 people are too few.
    pub fn least_people(
        dimension: u64,
        epsilon: f64,
        delta: f64,
        relation: Relation,
    ) -> Result<u64, Invalid> {
        let asked = Asked::new(dimension, epsilon, delta, relation)?;
        Ok(asked.least(&asked.tests()?)?.saturating_add(asked.missing()))
    }

    /// All that a release costs, the test and the number of people included.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// The cap of the scores: levels go up to twice this.
    pub fn k(&self) -> u64 {
        self.test.k
    }

    /// The leverage of level zero.
    pub fn lambda(&self) -> u64 {
        self.levels.lambda
    }

    /// Half the score passes up to here, with its noise.
    pub fn tau(&self) -> i64 {
        self.test.tau
    }

    /// The parameter of the test's noise.
    pub fn sigma(&self) -> f64 {
        self.test.law.sigma()
    }

    /// What of `omega gamma` there is.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// What the test, the noise and the exchange of its shape cost, as rho.
    pub fn rhos(&self) -> [f64; 3] {
        [self.test.law.rho(), self.rho_release, self.rho_shape]
    }

    /// The fewest people that a release is made of.
    pub fn fewest(&self) -> u64 {
        self.least
    }

    /// The standard deviation of the noise in each direction, over that of the records in it, for so many people.
    pub fn scale(&self, people: u64) -> f64 {
        let people = people.clamp(self.least, PEOPLE);
        let wide = (2.0 * self.rho_release * (1.0 - self.share)).sqrt();
        // Each pair's draw is rounded to a multiple of 2^-30: all of them move the answer by no more than this.
        let rounding = (people as f64 / 2.0).sqrt() * libm::scalbn(1.0, -29);
        moved(&self.levels, people) / (wide - rounding) * (1.0 + MARGIN)
    }
}
