//! The cost and the minimum number of people of a stable mean. The test, the noise and the shape share a
//! budget, and the plan takes the split with the least error.

use super::core::Levels;
use crate::accounting::{
    Adjacency, DiscreteGaussianCost, Omega, PrivacyCost, PrivacyUnit, Relation, ReleaseCost, convert,
};
use crate::invalid::{Invalid, InvalidKind};

/// The plan of a stable mean: all parameters, before any data.
#[derive(Clone, Debug)]
pub struct StableMean {
    pub(super) levels: Levels,
    pub(super) dimension: usize,
    pub(super) least: u64,
    pub(super) test: ThresholdTest,
    pub(super) counting: Option<NoisedCount>,
    rho_release: f64,
    rho_shape: f64,
    share: f64,
    cost: ReleaseCost,
}

impl StableMean {
    /// Plans the stable mean of this number of people with the least error at this price.
    ///
    /// With [`Relation::Replace`] `people` is public, and exact. With [`Relation::AddRemove`] it is the
    /// expected number: with fewer people, a release fails more often.
    ///
    /// # Errors
    /// Names `people` if there are too few for this price, and any other parameter that is out of range.
    pub fn new(
        people: u64,
        dimension: u64,
        epsilon: f64,
        delta: f64,
        relation: Relation,
    ) -> Result<StableMean, Invalid> {
        StableMean::found(people, PlanSearch::new(dimension, epsilon, delta, relation)?)
    }

    /// Plans the stable mean with the least error that costs no more than this amount of truncated zCDP, at
    /// every order below its omega. `people` is as in [`StableMean::new`].
    ///
    /// # Errors
    /// As [`StableMean::new`], and names `cost` if the amount is of another currency, without a delta, or
    /// about every order.
    pub fn within(
        people: u64,
        dimension: u64,
        amount: &PrivacyCost,
        relation: Relation,
    ) -> Result<StableMean, Invalid> {
        StableMean::found(people, PlanSearch::within(dimension, amount, relation)?)
    }

    fn found(people: u64, asked: PlanSearch) -> Result<StableMean, Invalid> {
        if people > PEOPLE {
            return Err(Invalid::new("people", InvalidKind::TooLarge, "at most 16777216"));
        }
        let tests = asked.tests()?;
        let least = people.saturating_sub(asked.missing());
        let mut best: Option<(f64, StableMean)> = None;
        for test in &tests {
            for share in SHARES {
                let Some(fixed) = asked.fixed(test, share, least) else { continue };
                let SearchPlan { levels, shape, rho, delta: spent, omega } = fixed;
                let Some(all) = asked.whole(spent, omega) else { continue };
                let rho_release = all - rho;
                if rho_release < all * LEAST_SHARE * (1.0 - 1e-6) {
                    continue;
                }
                let amount = PrivacyCost::approximate_zcdp(all, Omega::below(omega)?, Some(spent))?;
                let neighbours = Adjacency { unit: PrivacyUnit::Person, relation: asked.relation() };
                let mean = StableMean {
                    levels,
                    dimension: asked.dimension as usize,
                    least,
                    test: *test,
                    counting: asked.counting,
                    rho_release: rho_release * (1.0 - MARGIN),
                    rho_shape: shape,
                    share,
                    cost: ReleaseCost::new(neighbours, amount),
                };
                let scale = mean.scale(least);
                if best.as_ref().is_none_or(|(least, _)| scale < *least) {
                    best = Some((scale, mean));
                }
            }
        }
        let Some((_, mean)) = best else {
            let needed = asked.least(&tests)?.saturating_add(asked.missing());
            let remedy = format!("at least {needed} people, or {}", asked.limit.more());
            return Err(Invalid::new("people", InvalidKind::TooSmall, remedy));
        };
        Ok(mean)
    }

    /// Returns the least number of people with which a quarter of this price is left for the noise. With
    /// fewer there is no plan.
    ///
    /// # Errors
    /// Names the parameter that is out of range, and `epsilon` if 2^24 people are too few.
    pub fn least_people(
        dimension: u64,
        epsilon: f64,
        delta: f64,
        relation: Relation,
    ) -> Result<u64, Invalid> {
        let asked = PlanSearch::new(dimension, epsilon, delta, relation)?;
        Ok(asked.least(&asked.tests()?)?.saturating_add(asked.missing()))
    }

    /// The cost of a release, with the test and the number of people included.
    pub fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    /// The cap of the scores: levels go up to twice this.
    pub fn k(&self) -> u64 {
        self.test.k
    }

    /// The leverage that level zero allows.
    pub fn lambda(&self) -> u64 {
        self.levels.lambda
    }

    /// The threshold of the test: half the score, with its noise, passes up to it.
    pub fn tau(&self) -> i64 {
        self.test.tau
    }

    /// The parameter of the test's noise.
    pub fn sigma(&self) -> f64 {
        self.test.law.sigma()
    }

    /// The product `omega gamma`, which the [module page](super) calls `s`.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// The rho of the test, of the noise, and of an exchange's effect on the shape of the noise.
    pub fn rhos(&self) -> [f64; 3] {
        [self.test.law.rho(), self.rho_release, self.rho_shape]
    }

    /// The least number of people that a release uses.
    pub fn fewest(&self) -> u64 {
        self.least
    }

    /// Returns the standard deviation of the noise in each direction, over that of the records in it, for
    /// this number of people.
    pub fn scale(&self, people: u64) -> f64 {
        let people = people.clamp(self.least, PEOPLE);
        let wide = (2.0 * self.rho_release * (1.0 - self.share)).sqrt();
        // Each pair's draw is rounded to a multiple of 2^-30: together these roundings move the answer by at
        // most this.
        let rounding = (people as f64 / 2.0).sqrt() * libm::scalbn(1.0, -29);
        moved(&self.levels, people) / (wide - rounding) * (1.0 + MARGIN)
    }
}

/// Returns the largest distance by which one exchanged record moves the weighted mean, in the lengths of the
/// covariance.
pub(super) fn moved(levels: &Levels, people: u64) -> f64 {
    let pairs = people / 2;
    let (over, under) = levels.gamma(pairs);
    let gamma = over as f64 / under as f64;
    let diameter = (1.0 + 1.0 / (1.0 - gamma).sqrt()) * (2.0 * levels.radii(pairs).last()).sqrt();
    diameter * 2.0 / (people as f64 - f64::from(levels.k)) * (1.0 + MARGIN)
}

// The search over tests, shares and numbers of people that are possible at a price.

/// The largest number of people of a plan: sums stay in 128 bits up to it.
pub(super) const PEOPLE: u64 = 1 << 24;
/// The largest number of axes.
const DIMENSION: u64 = 64;
/// The largest `k`.
const K: u64 = 1000;
/// The least share of the whole cost that is left for the noise; if less is left, there are too few people.
pub(super) const LEAST_SHARE: f64 = 0.25;
/// A relative margin, many times the error of a cost that is computed in floats.
pub(super) const MARGIN: f64 = 1e-9;
/// The values of `omega gamma` to try: larger ones give more orders, smaller ones less noise.
pub(super) const SHARES: [f64; 6] = [0.08, 0.15, 0.25, 0.35, 0.45, 0.5];

/// The limit of the cost of a plan, beside its delta.
#[derive(Clone, Copy, Debug)]
pub(super) enum CostLimit {
    /// The epsilon to which it comes at that delta.
    Epsilon(f64),
    /// The rho of every order below omega.
    Rho { rho: f64, omega: f64 },
}

impl CostLimit {
    /// Returns the largest rho of orders that end at `omega`, with `left` of the delta.
    fn rho(self, left: f64, omega: f64) -> Result<f64, Invalid> {
        match self {
            CostLimit::Epsilon(epsilon) => convert::rho_within(epsilon, left, omega),
            CostLimit::Rho { rho, omega: needed } if omega >= needed => Ok(rho),
            CostLimit::Rho { .. } => {
                Err(Invalid::new("omega", InvalidKind::TooLarge, "an omega of fewer orders, or more people"))
            }
        }
    }

    /// Returns true if this rho of orders that end at `omega` is within the limit, with `left` of the delta.
    fn holds(self, rho: f64, omega: f64, left: f64) -> bool {
        match self {
            CostLimit::Epsilon(most) => {
                convert::epsilon_of_rho(rho, omega, left).is_ok_and(|epsilon| epsilon <= most)
            }
            CostLimit::Rho { rho: most, omega: needed } => omega >= needed && rho <= most,
        }
    }

    /// Returns the field that names it, and the remedy of a cost that is too small.
    fn more(self) -> &'static str {
        match self {
            CostLimit::Epsilon(_) => "a larger epsilon or delta",
            CostLimit::Rho { .. } => "a larger rho or delta",
        }
    }

    fn field(self) -> &'static str {
        match self {
            CostLimit::Epsilon(_) => "epsilon",
            CostLimit::Rho { .. } => "cost",
        }
    }
}

/// The parameters of a search for a plan.
pub(super) struct PlanSearch {
    pub(super) dimension: u64,
    pub(super) limit: CostLimit,
    pub(super) delta: f64,
    /// The noised count of people, if their number is not public.
    pub(super) counting: Option<NoisedCount>,
}

/// A plan without its noise.
pub(super) struct SearchPlan {
    pub(super) levels: Levels,
    /// The rho of an exchange's effect on the shape of the noise.
    pub(super) shape: f64,
    /// The rho of everything but the noise, the shape included.
    pub(super) rho: f64,
    pub(super) delta: f64,
    pub(super) omega: f64,
}

impl PlanSearch {
    pub(super) fn new(
        dimension: u64,
        epsilon: f64,
        delta: f64,
        relation: Relation,
    ) -> Result<PlanSearch, Invalid> {
        PlanSearch::at(dimension, CostLimit::Epsilon(epsilon), delta, relation)
    }

    /// Starts a search for plans that cost no more than this amount.
    pub(super) fn within(
        dimension: u64,
        amount: &PrivacyCost,
        relation: Relation,
    ) -> Result<PlanSearch, Invalid> {
        let PrivacyCost::Zcdp { rho, delta, omega } = amount else {
            return Err(Invalid::new("cost", InvalidKind::Mixed, "rho and a delta, below an omega"));
        };
        if *omega == Omega::EVERY {
            let remedy = "an omega: a stable mean has no cost at every order";
            return Err(Invalid::new("cost", InvalidKind::Missing, remedy));
        }
        let limit = CostLimit::Rho { rho: rho.to_float_down(), omega: omega.to_float() };
        PlanSearch::at(dimension, limit, delta.to_float_down(), relation)
    }

    fn at(dimension: u64, limit: CostLimit, delta: f64, relation: Relation) -> Result<PlanSearch, Invalid> {
        if dimension == 0 || dimension > DIMENSION {
            let kind = if dimension == 0 { InvalidKind::Zero } else { InvalidKind::TooLarge };
            return Err(Invalid::new("dimension", kind, "a whole number from 1 to 64"));
        }
        let most = limit.rho(delta, f64::INFINITY)?;
        let counting = match relation {
            Relation::Replace => None,
            Relation::AddRemove => Some(NoisedCount::new(most / 20.0, delta / 10.0)?),
        };
        Ok(PlanSearch { dimension, limit, delta, counting })
    }

    fn relation(&self) -> Relation {
        if self.counting.is_some() { Relation::AddRemove } else { Relation::Replace }
    }

    pub(super) fn tests(&self) -> Result<Vec<ThresholdTest>, Invalid> {
        let most = self.limit.rho(self.delta, f64::INFINITY)?;
        let mut tests = Vec::new();
        for step in 0..14 {
            let rho = most * 0.03 * libm::pow(1.25, f64::from(step));
            for part in [0.2, 0.5] {
                // A price below that of the widest noise that can be drawn has no test.
                if let Ok(test) = ThresholdTest::new(rho, self.delta * part)
                    && test.k <= K
                {
                    tests.push(test);
                }
            }
        }
        Ok(tests)
    }

    /// Returns everything but the noise, if this number of people is enough for this test and this share.
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

    /// Returns the largest rho of a release, given the delta spent already and the orders, which end at
    /// omega.
    pub(super) fn whole(&self, spent: f64, omega: f64) -> Option<f64> {
        let left = (self.delta - spent) * (1.0 - MARGIN);
        self.limit.rho(left, omega).ok().map(|rho| rho * (1.0 - MARGIN))
    }

    fn feasible(&self, tests: &[ThresholdTest], people: u64) -> bool {
        tests.iter().any(|test| {
            SHARES.iter().any(|&share| {
                self.fixed(test, share, people).is_some_and(|SearchPlan { rho, delta, omega, .. }| {
                    let all = rho / (1.0 - LEAST_SHARE);
                    let left = (self.delta - delta) * (1.0 - MARGIN);
                    self.limit.holds(all, omega, left)
                })
            })
        })
    }

    pub(super) fn least(&self, tests: &[ThresholdTest]) -> Result<u64, Invalid> {
        let unreachable = || {
            Invalid::new(
                self.limit.field(),
                InvalidKind::TooSmall,
                format!("{}: no number of people reaches it here", self.limit.more()),
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

    /// The number of people by which the count may fall short.
    pub(super) fn missing(&self) -> u64 {
        self.counting.as_ref().map_or(0, NoisedCount::missing)
    }
}

/// Returns `lambda` for this number of pairs: it bounds the largest of that many squared lengths of Gaussian
/// records nearly always.
fn leverage(dimension: f64, pairs: u64) -> u64 {
    let l = libm::log(100.0 * pairs as f64);
    libm::ceil(dimension + 2.0 * (dimension * l).sqrt() + 2.0 * l) as u64
}

/// Returns the Rényi cost of an exchange's effect on the shape of the noise, over the order, for all orders
/// up to `s / gamma`.
///
/// It is `(h(-gamma) + h(e)) / (2 a (a-1))` with `h(x) = a ln(1+x) - ln(1+ax)` and `e = gamma / (1-gamma)`.
/// `h` vanishes at the orders 0 and 1, so `h / (a (a-1))` is a divided difference of a function of `a` with
/// the second derivative `x^2 / (1+ax)^2`: for negative `x` it is largest at the last order, for positive `x`
/// at order 1. Both together bound the largest of the sum.
pub(super) fn shape_cost(gamma: f64, share: f64) -> f64 {
    let last = share / gamma;
    let falling = (last * libm::log1p(-gamma) - libm::log1p(-share)) / (last * (last - 1.0));
    let e = gamma / (1.0 - gamma);
    let rising = libm::log1p(e) - e / (1.0 + e);
    (falling + rising) / 2.0 * (1.0 + MARGIN)
}

// The two noised numbers that are compared before anything is released: the score of the records, and the
// number of people.

/// The chance that data without any outlier fail the test, and the chance that a count comes out too low.
const FALSE_ALARM: f64 = 1e-3;

/// The noised threshold of the scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThresholdTest {
    pub(super) law: DiscreteGaussianCost,
    /// The threshold: half a score passes if with its noise it is at most this.
    pub(super) tau: i64,
    pub(super) k: u64,
    pub(super) delta: f64,
}

/// The noised number of people.
///
/// # The cut
///
/// Both inputs keep as many people where the count is at most the smaller of their numbers. The two noised
/// numbers, cut off there, must be no farther apart than uncut. Both are tilts `w(x) e^(t x)` of one
/// log-concave law, and with `f(t)` the logarithm of the sum of such weights the divergence of order `a` of
/// the tilt by `t` from that by `t'` is `(f(a t + (1 - a) t') - a f(t) - (1 - a) f(t')) / (a - 1)`: a
/// divided difference, an integral of `f''` with positive weights. `f''` is the variance of the tilt, and a
/// cut lowers it:
///
/// **Lemma.** The variance of a law with log-concave weights `w` on the integers up to `n` does not fall with
/// `n`. **Proof.** Let `S(n)` be the sum of `w` up to `n`, `T(n)` that of `S`, and `U(n)` that of `T`: all
/// are log-concave. Let `v = T(n) / S(n)`, `u = U(n) / S(n)` and `r = S(n+1) / S(n)`. The mean of `n - x` is
/// `v - 1`, and that of `(n - x) (n - x + 1) / 2` is `u - v`, so the variance is `2 u - v - v^2`. The weight
/// of `n + 1` has the share `1 - 1/r` and the distance `v` from the mean, so with it the variance is no less
/// if it was at most `v^2 / r`. From `T(n-1) T(n+1) <= T(n)^2` follows `1/r >= 1 - 1/v`, and from
/// `U(n-2) U(n) <= U(n-1)^2` follows `u <= v^2`: the variance is at most
/// `v^2 - v = v^2 (1 - 1/v) <= v^2 / r`. ∎
#[derive(Clone, Copy, Debug)]
pub(super) struct NoisedCount {
    pub(super) law: DiscreteGaussianCost,
    /// The number to subtract, so that the count exceeds the number of people with probability `delta` at
    /// most.
    pub(super) shift: i64,
    pub(super) delta: f64,
}

impl ThresholdTest {
    /// Builds a test. `delta` is `P[noise <= tau - (k/2 - 1)]`, which is the tail at `k/2 - 1 - tau`.
    pub(super) fn new(rho: f64, delta: f64) -> Result<ThresholdTest, Invalid> {
        let law = DiscreteGaussianCost::for_rho(rho, 1)?;
        // The test fails without need if the noise alone is above tau.
        let tau = reach(&law, FALSE_ALARM) - 1;
        let slack = reach(&law, delta);
        let k = 2 * (slack + tau + 1);
        Ok(ThresholdTest { law, tau, k: k.unsigned_abs(), delta: law.tail(slack) })
    }

    /// Returns true if a score passes with this noise. Scores move by 2 at most, and their halves, rounded
    /// up, by 1.
    pub(super) fn lets(&self, score: u32, noise: i64) -> bool {
        let half = u64::from(score).div_ceil(2);
        2 * half < self.k && i64::try_from(half).is_ok_and(|half| half.saturating_add(noise) <= self.tau)
    }
}

impl NoisedCount {
    /// Builds a count that exceeds the number of people with probability `chance` at most, at this price.
    pub(super) fn new(rho: f64, chance: f64) -> Result<NoisedCount, Invalid> {
        let law = DiscreteGaussianCost::for_rho(rho, 1)?;
        let shift = reach(&law, chance);
        Ok(NoisedCount { law, shift, delta: law.tail(shift) })
    }

    /// Returns the number of people to keep, or `None` if it is above the number of people.
    ///
    /// With one person more, the same count comes from noise that is 1 less. Both inputs then keep the same
    /// number, unless the count is the larger number of people itself: one input has that many, and the other
    /// has not. This takes noise at the shift or above: `delta` is `P[noise >= shift]`.
    pub(super) fn keeps(&self, people: u64, noise: i64) -> Option<u64> {
        let kept = i64::try_from(people).ok()?.saturating_add(noise).saturating_sub(self.shift);
        u64::try_from(kept).ok().filter(|kept| *kept <= people)
    }

    /// The number of people by which the count may fall short: by its noise, and by the shift.
    pub(super) fn missing(&self) -> u64 {
        (self.shift + reach(&self.law, FALSE_ALARM) - 1).unsigned_abs()
    }
}

/// Returns the least whole number whose tail is at most this.
fn reach(law: &DiscreteGaussianCost, chance: f64) -> i64 {
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
