//! What a stable mean costs and needs: the test, the noise and the shape share a budget, and the cheapest split is taken.

use super::good::Levels;
use super::search::{LEAST_SHARE, MARGIN, PEOPLE, SHARES, SearchPlan, SearchQuestion};
use super::threshold::{NoisedCount, ThresholdTest};
use crate::accounting::{Adjacency, Omega, PrivacyCost, PrivacyUnit, Relation, ReleaseCost};
use crate::invalid::{Invalid, InvalidKind};

/// A stable mean of which everything but the data is settled.
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
        let asked = SearchQuestion::new(dimension, epsilon, delta, relation)?;
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
                let neighbours = Adjacency { unit: PrivacyUnit::Person, relation };
                let mean = StableMean {
                    levels,
                    dimension: dimension as usize,
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
            let remedy = format!("at least {needed} people, or a larger epsilon or delta");
            return Err(Invalid::new("people", InvalidKind::TooSmall, remedy));
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
        let asked = SearchQuestion::new(dimension, epsilon, delta, relation)?;
        Ok(asked.least(&asked.tests()?)?.saturating_add(asked.missing()))
    }

    /// All that a release costs, the test and the number of people included.
    pub fn cost(&self) -> &ReleaseCost {
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

/// How far one exchanged record moves the weighted mean, as the covariance measures lengths.
pub(super) fn moved(levels: &Levels, people: u64) -> f64 {
    let pairs = people / 2;
    let (over, under) = levels.gamma(pairs);
    let gamma = over as f64 / under as f64;
    let diameter = (1.0 + 1.0 / (1.0 - gamma).sqrt()) * (2.0 * levels.radii(pairs).last()).sqrt();
    diameter * 2.0 / (people as f64 - f64::from(levels.k)) * (1.0 + MARGIN)
}
