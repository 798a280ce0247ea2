//! A mechanism as accountants see it: its noise distribution, or its claimed cost, with its bound in each
//! currency.

use super::cost::Adjacency;
use super::discrete_gaussian::DiscreteGaussianCost;
use super::gaussian::GaussianCost;
use super::laplace::DiscreteLaplaceCost;
use super::number::{EPSILON_LIMIT, MARGIN};
use super::pld::{Bundle, Pair};
use super::{convert, gdp, number, renyi};
use crate::invalid::{Invalid, InvalidKind};

/// One mechanism, with parameters in range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccountedMechanism(MechanismKind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum MechanismKind {
    Laplace { scale: f64, sensitivity: f64 },
    Gaussian { sigma: f64, sensitivity: f64, noise: GaussianCost },
    DiscreteLaplace(DiscreteLaplaceCost, u64),
    DiscreteGaussian(DiscreteGaussianCost, u64),
    Pure { epsilon: f64 },
    Approximate { epsilon: f64, delta: f64 },
    Zcdp { rho: f64 },
}

impl AccountedMechanism {
    /// Continuous Laplace noise.
    ///
    /// # Errors
    /// Names `scale` or `sensitivity` unless it is positive, and `scale` where epsilon would pass 500.
    pub fn laplace(scale: f64, sensitivity: f64) -> Result<AccountedMechanism, Invalid> {
        crate::invalid::positive("scale", scale)?;
        crate::invalid::positive("sensitivity", sensitivity)?;
        let remedy = "a scale from a 500th of the sensitivity to 2^40 times it";
        number::between("scale", sensitivity / scale, 1.0 / number::SCALE_LIMIT, EPSILON_LIMIT, remedy)?;
        Ok(AccountedMechanism(MechanismKind::Laplace { scale, sensitivity }))
    }

    /// Continuous Gaussian noise.
    ///
    /// # Errors
    /// Names `sigma` or `sensitivity` when it is out of range.
    pub fn gaussian(sigma: f64, sensitivity: f64) -> Result<AccountedMechanism, Invalid> {
        let noise = GaussianCost::new(sigma, sensitivity)?;
        Ok(AccountedMechanism(MechanismKind::Gaussian { sigma, sensitivity, noise }))
    }

    /// The library's own Laplace noise.
    ///
    /// # Errors
    /// As [`DiscreteLaplaceCost::new`].
    pub fn discrete_laplace(scale: f64, sensitivity: u64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::DiscreteLaplace(
            DiscreteLaplaceCost::new(scale, sensitivity)?,
            sensitivity,
        )))
    }

    /// The library's own Gaussian noise.
    ///
    /// # Errors
    /// As [`DiscreteGaussianCost::new`].
    pub fn discrete_gaussian(sigma: f64, sensitivity: u64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::DiscreteGaussian(
            DiscreteGaussianCost::new(sigma, sensitivity)?,
            sensitivity,
        )))
    }

    /// Any purely epsilon-private mechanism; randomised response is the worst of them.
    ///
    /// # Errors
    /// Names `epsilon` unless it is above 0 and at most 500.
    pub fn pure(epsilon: f64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::Pure { epsilon: number::epsilon("epsilon", epsilon)? }))
    }

    /// Any (epsilon, delta)-private mechanism.
    ///
    /// # Errors
    /// Names `epsilon` or `delta` when it is out of range.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<AccountedMechanism, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        Ok(AccountedMechanism(MechanismKind::Approximate {
            epsilon,
            delta: number::probability("delta", delta)?,
        }))
    }

    /// Any rho-zCDP mechanism.
    ///
    /// # Errors
    /// Names `rho` unless it is above 0 and at most 500.
    pub fn zcdp(rho: f64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::Zcdp { rho: number::rho("rho", rho)? }))
    }

    /// The probability that it sets aside for itself.
    pub(crate) fn delta(&self) -> f64 {
        if let MechanismKind::Approximate { delta, .. } = self.0 { delta } else { 0.0 }
    }

    /// Its epsilon, where it is known without any further delta.
    pub(crate) fn epsilon(&self) -> Option<f64> {
        match self.0 {
            MechanismKind::Laplace { scale, sensitivity } => Some((sensitivity / scale).next_up()),
            MechanismKind::DiscreteLaplace(noise, _) => Some(noise.epsilon_pure()),
            MechanismKind::Pure { epsilon } | MechanismKind::Approximate { epsilon, .. } => Some(epsilon),
            MechanismKind::Gaussian { .. }
            | MechanismKind::DiscreteGaussian(..)
            | MechanismKind::Zcdp { .. } => None,
        }
    }

    /// Its epsilon at a delta of its own; infinite past 500.
    pub(crate) fn epsilon_at(&self, delta: f64) -> f64 {
        let found = match self.0 {
            MechanismKind::Gaussian { noise, .. } => noise.epsilon(delta),
            MechanismKind::DiscreteGaussian(noise, _) => noise.epsilon(delta),
            MechanismKind::Zcdp { rho } => convert::epsilon_of_rho(rho, f64::INFINITY, delta),
            _ => return self.epsilon().unwrap_or(f64::INFINITY),
        };
        found.unwrap_or(f64::INFINITY)
    }

    /// Its zCDP cost, beside its delta.
    pub(crate) fn rho(&self) -> f64 {
        match self.0 {
            // The limit of the discrete law's, whose proof is with it: epsilon - 1 + e^-epsilon.
            MechanismKind::Laplace { scale, sensitivity } => {
                renyi::excess(-(sensitivity / scale)) * (1.0 + MARGIN)
            }
            MechanismKind::Gaussian { sigma, sensitivity, .. } => {
                (sensitivity / sigma).powi(2) / 2.0 * (1.0 + MARGIN)
            }
            MechanismKind::DiscreteLaplace(noise, _) => noise.rho(),
            MechanismKind::DiscreteGaussian(noise, _) => noise.rho(),
            MechanismKind::Pure { epsilon } | MechanismKind::Approximate { epsilon, .. } => {
                convert::rho_of_pure(epsilon)
            }
            MechanismKind::Zcdp { rho } => rho,
        }
    }

    /// The square of its mu in Gaussian differential privacy, beside its delta; `None` where it has no mu.
    pub(crate) fn mu_squared(&self) -> Option<f64> {
        let mu = match self.0 {
            MechanismKind::Gaussian { sigma, sensitivity, .. } => sensitivity / sigma,
            MechanismKind::DiscreteGaussian(..) | MechanismKind::Zcdp { .. } => return None,
            _ => gdp::mu_of_pure(self.epsilon()?).ok()?,
        };
        Some(mu * mu * (1.0 + MARGIN))
    }

    /// Its divergence of one order, beside its delta.
    pub(crate) fn renyi(&self, order: f64) -> f64 {
        match self.0 {
            MechanismKind::Laplace { scale, sensitivity } => renyi::laplace(sensitivity / scale, order),
            MechanismKind::DiscreteLaplace(noise, _) => renyi::discrete_laplace(&noise, order),
            MechanismKind::Pure { epsilon } | MechanismKind::Approximate { epsilon, .. } => {
                renyi::pure(epsilon, order)
            }
            MechanismKind::Gaussian { .. }
            | MechanismKind::DiscreteGaussian(..)
            | MechanismKind::Zcdp { .. } => renyi::zcdp(self.rho(), order),
        }
    }

    /// A bundle with `count` uses of it more.
    ///
    /// # Errors
    /// Where the bundle has no room for them.
    pub(crate) fn join(&self, bundle: Bundle, count: u64) -> Result<Bundle, Invalid> {
        let pair = match self.0 {
            MechanismKind::Laplace { scale, sensitivity } => Pair::laplace(scale, sensitivity)?,
            MechanismKind::Gaussian { sigma, sensitivity, .. } => Pair::gaussian(sigma, sensitivity)?,
            MechanismKind::DiscreteLaplace(noise, sensitivity) => {
                Pair::discrete_laplace(noise.scale(), sensitivity)?
            }
            MechanismKind::DiscreteGaussian(noise, sensitivity) => {
                Pair::discrete_gaussian(noise.sigma(), sensitivity)?
            }
            MechanismKind::Pure { epsilon } => Pair::randomized_response(epsilon)?,
            MechanismKind::Approximate { epsilon, delta } => Pair::approximate(epsilon, delta)?,
            MechanismKind::Zcdp { rho } => return bundle.add_zcdp(rho * count as f64 * (1.0 + MARGIN)),
        };
        bundle.add(&pair, count)
    }
}

// A list of mechanisms, priced in five ways side by side: what `discreet price` prints.
//
// The list is fixed before any of its mechanisms answers. All of them are upper bounds; the least is the best.
// Privacy loss distributions are exact where the law of every mechanism is known, so they win unless the list
// holds a `zcdp` entry of which nothing else is known.

/// Mechanisms and how often each is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    entries: Vec<(AccountedMechanism, u64)>,
}

impl Listing {
    /// Adds `count` uses of a mechanism.
    ///
    /// # Errors
    /// Names `count` outside 1..=2^40.
    pub fn add(&mut self, mechanism: AccountedMechanism, count: u64) -> Result<(), Invalid> {
        number::shift("count", count)?;
        self.entries.push((mechanism, count));
        Ok(())
    }

    /// By basic composition: the epsilons' sum. What `delta` leaves beside the mechanisms' own deltas is
    /// divided evenly among those that have no epsilon without one. Infinite where one of them has no epsilon
    /// up to 500.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or leaves nothing.
    pub fn basic(&self, delta: f64) -> Result<f64, Invalid> {
        let left = self.left(delta)?;
        let sharing = |(mechanism, _): &&(AccountedMechanism, u64)| mechanism.epsilon().is_none();
        let count: f64 = self.entries.iter().filter(sharing).map(|(_, count)| *count as f64).sum();
        let share = left / count.max(1.0) * (1.0 - MARGIN);
        Ok(self.total(|mechanism| mechanism.epsilon_at(share)))
    }

    /// The zCDP cost of the list, beside the mechanisms' own deltas.
    pub fn rho(&self) -> f64 {
        self.total(AccountedMechanism::rho)
    }

    /// By zCDP.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or leaves nothing.
    pub fn zcdp(&self, delta: f64) -> Result<f64, Invalid> {
        let (left, rho) = (self.left(delta)?, self.rho());
        convert::epsilon_of_renyi(|order| rho * order, f64::INFINITY, left)
    }

    /// By Gaussian differential privacy: the epsilon of the sum of squares, with its mu; `None` where a mechanism has no
    /// mu, such as discrete Gaussian noise.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or leaves nothing.
    pub fn gdp(&self, delta: f64) -> Result<Option<(f64, f64)>, Invalid> {
        let left = self.left(delta)?;
        if self.entries.iter().any(|(mechanism, _)| mechanism.mu_squared().is_none()) {
            return Ok(None);
        }
        let mu =
            self.total(|mechanism| mechanism.mu_squared().unwrap_or(f64::INFINITY)).sqrt() * (1.0 + MARGIN);
        let epsilon = GaussianCost::new(1.0, mu).and_then(|noise| noise.epsilon(left));
        Ok(Some((mu, epsilon.unwrap_or(f64::INFINITY))))
    }

    /// By Rényi divergences of every order.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or leaves nothing.
    pub fn renyi(&self, delta: f64) -> Result<f64, Invalid> {
        let left = self.left(delta)?;
        convert::epsilon_of_renyi(|order| self.total(|mechanism| mechanism.renyi(order)), f64::INFINITY, left)
    }

    /// By privacy loss distributions.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or leaves nothing; and an entry, counted from 1, with its
    /// parameter, as in `entry 2: sigma`, where the noise is less than this accountant can compute.
    pub fn pld(&self, delta: f64) -> Result<f64, Invalid> {
        self.left(delta)?;
        let empty = Bundle::new(Adjacency::PERSON);
        let bundle =
            self.entries.iter().enumerate().try_fold(empty, |bundle, (index, (mechanism, count))| {
                mechanism.join(bundle, *count).map_err(|refused| of_entry(index + 1, &refused))
            })?;
        bundle.epsilon(delta)
    }

    /// Returns the part of `delta` that the mechanisms' own deltas leave.
    fn left(&self, delta: f64) -> Result<f64, Invalid> {
        if self.entries.is_empty() {
            return Err(Invalid::new("mechanisms", InvalidKind::Empty, "at least one"));
        }
        let left = number::probability("delta", delta)? - self.total(AccountedMechanism::delta);
        if left > 0.0 {
            return Ok(left);
        }
        Err(Invalid::new(
            "delta",
            InvalidKind::TooSmall,
            "more than the listed mechanisms' own deltas together",
        ))
    }

    /// The sum over all uses, rounded up; added in rising order, so that the order of the list does not
    /// matter.
    fn total(&self, of: impl Fn(&AccountedMechanism) -> f64) -> f64 {
        let mut parts: Vec<f64> =
            self.entries.iter().map(|(mechanism, count)| of(mechanism) * *count as f64).collect();
        parts.sort_by(f64::total_cmp);
        parts.iter().sum::<f64>() * (1.0 + MARGIN)
    }
}

/// The same refusal, with the number of the entry, from 1 on.
fn of_entry(number: usize, refused: &Invalid) -> Invalid {
    Invalid::new(format!("entry {number}: {}", refused.field()), refused.kind(), refused.remedy().to_owned())
}

#[cfg(test)]
#[path = "listing_oracle.rs"]
mod oracle;

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(entries: &[(AccountedMechanism, u64)]) -> Listing {
        let mut listing = Listing::default();
        for (mechanism, count) in entries {
            listing.add(*mechanism, *count).unwrap();
        }
        listing
    }

    // Rows of the reference table at delta = 1e-6: the exact epsilon, and what Rényi divergences of few
    // orders make of it.
    #[test]
    fn tables_are_met_from_above() {
        for (entries, exact, by_renyi) in [
            (vec![(AccountedMechanism::laplace(50.0, 1.0), 1000)], 2.90539956634, 3.1120323),
            (vec![(AccountedMechanism::gaussian(200.0, 1.0), 10_000)], 2.25408465022, 2.4191025),
            (vec![(AccountedMechanism::pure(0.01), 10_000)], 4.885515601007384, 5.220094762978242),
            (
                vec![
                    (AccountedMechanism::laplace(10.0, 1.0), 10),
                    (AccountedMechanism::gaussian(10.0, 1.0), 10),
                ],
                1.90115815428,
                2.0234298,
            ),
        ] {
            let entries: Vec<_> =
                entries.into_iter().map(|(mechanism, count)| (mechanism.unwrap(), count)).collect();
            let listing = listing(&entries);
            let (pld, renyi) = (listing.pld(1e-6).unwrap(), listing.renyi(1e-6).unwrap());
            assert!(pld >= exact * (1.0 - 4e-7) && pld <= exact * (1.0 + 2e-6), "{pld} {exact}");
            assert!(renyi > exact && renyi <= by_renyi * (1.0 + 1e-6), "{renyi} {by_renyi}");
            let (zcdp, basic) = (listing.zcdp(1e-6).unwrap(), listing.basic(1e-6).unwrap());
            assert!(renyi <= zcdp * (1.0 + 1e-9) && zcdp < basic, "{renyi} {zcdp} {basic}");
        }
    }

    // By hand: 3 / 50 + 2 * .1 + .5 = .76, no delta needed; with one Gaussian, its own epsilon at what is
    // left.
    #[test]
    fn basic_composition_adds_up() {
        let pure = [
            (AccountedMechanism::laplace(50.0, 1.0).unwrap(), 3),
            (AccountedMechanism::pure(0.1).unwrap(), 2),
            (AccountedMechanism::approximate(0.5, 1e-7).unwrap(), 1),
        ];
        assert!((listing(&pure).basic(1e-6).unwrap() - 0.76).abs() < 1e-9);
        let gaussian = [
            (AccountedMechanism::gaussian(1.0, 1.0).unwrap(), 1),
            (AccountedMechanism::pure(0.1).unwrap(), 1),
        ];
        assert!((listing(&gaussian).basic(1e-6).unwrap() - 4.98655411746).abs() < 1e-8);
        // Two share the delta: each has the epsilon of 5e-7, by 40-digit arithmetic 5.03020075946.
        let two = [(AccountedMechanism::gaussian(1.0, 1.0).unwrap(), 2)];
        assert!((listing(&two).basic(1e-6).unwrap() - 2.0 * 5.03020075946).abs() < 1e-7);
        assert_eq!(listing(&pure).basic(1e-7).unwrap_err().field(), "delta");
        assert_eq!(Listing::default().pld(1e-7).unwrap_err().field(), "mechanisms");
    }

    // Costs rise with the count and fall with the noise, by every way of adding them up.
    #[test]
    fn more_uses_and_less_noise_never_cost_less() {
        let ways = |scale: f64, count| {
            let listing = listing(&[
                (AccountedMechanism::discrete_laplace(scale, 3).unwrap(), count),
                (AccountedMechanism::discrete_gaussian(2.0 * scale, 1).unwrap(), count),
                (AccountedMechanism::approximate(0.01, 1e-12).unwrap(), count),
            ]);
            [listing.pld(1e-6), listing.renyi(1e-6), listing.zcdp(1e-6), listing.basic(1e-6)]
                .map(Result::unwrap)
        };
        let mut last = [0.0; 4];
        for count in [1, 2, 3, 10, 100] {
            let (found, less) = (ways(40.0, count), ways(42.0, count));
            for way in 0..4 {
                assert!(
                    found[way] > last[way] && found[way] > less[way],
                    "{count} {way}: {found:?} {less:?}"
                );
            }
            last = found;
        }
    }
}
