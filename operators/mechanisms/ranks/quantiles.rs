//! Quantiles: what is asked of the values of a key, and the answers that are chosen for it.

use std::sync::Arc;

use super::grid::Grid;
use super::quantile::Quantile;
use super::share::ChoiceRule;
use super::split::{self, Splitting};
use super::values::RankedValues;
use crate::canonical::Canonical;
use crate::invalid::Invalid;
use crate::mechanisms::answer::{Estimate, EstimatesPerKey, Noised, Ranks};
use crate::mechanisms::bound::ContributionBound;
use crate::mechanisms::cut::Cut;
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::laws::UncheckedNoise;
use crate::mechanisms::noisy::{Noisy, Numbers, Tells, settled};
use crate::mechanisms::point::DecimalPoint;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::selection::SelectedRow;
use crate::mechanisms::sensitivity::Sensitivity;
use crate::mechanisms::statistic::{KeyedStatistic, Statistic};
use crate::mechanisms::tally::Cells;
use crate::mechanisms::threshold::Threshold;
use crate::noise::NoiseSource;

/// One or several quantiles of the values of each key, told as points of a grid.
///
/// Values are not bounded. An answer is chosen by its rank: by how many values too many are below it, or above.
#[derive(Clone, Debug)]
pub struct Quantiles<K> {
    quantiles: Arc<[Quantile]>,
    grid: Grid,
    limits: ContributionBound,
    keys: Keys<K>,
    sensitivity: Sensitivity,
    point: DecimalPoint,
}

impl<K: Key> Quantiles<K> {
    /// These quantiles, ascending, of at most `per_key` values of each person in each key.
    ///
    /// One person moves the rank of every point by `per_key` in `keys` keys.
    ///
    /// # Errors
    /// Names `q` where one is no quantile, and `bound` where the sensitivity leaves 128 bits. Whether they ascend is asked
    /// when a mechanism is made ready.
    pub fn new<Q: TryInto<Quantile, Error: Into<Invalid>>>(
        quantiles: impl IntoIterator<Item = Q>,
        grid: Grid,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<Quantiles<K>, Invalid> {
        let quantiles = quantiles.into_iter().map(|quantile| quantile.try_into().map_err(Into::into));
        let sensitivity = Sensitivity::each(&limits, limits.per_key().into())?;
        let quantiles = quantiles.collect::<Result<_, Invalid>>()?;
        Ok(Quantiles { quantiles, grid, limits, keys, sensitivity, point: DecimalPoint::WHOLE })
    }

    /// Tells the answers with their decimal point there. Values and the grid are in the steps that it leaves.
    #[must_use]
    pub fn told_in(self, point: DecimalPoint) -> Quantiles<K> {
        Quantiles { point, ..self }
    }

    /// What is known of a key that one person alone has, with these values, of which the first `per_key` count.
    pub fn of_one(&self, values: &[i64]) -> RankedValues {
        let mut known = RankedValues::default();
        if !values.is_empty() {
            known.add(self.limits.first(values));
        }
        known
    }

    /// The only keys that it is told for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    /// The quantiles.
    pub fn asked(&self) -> &[Quantile] {
        &self.quantiles
    }

    fn stated(&self, rule: ChoiceRule) -> KeyedStatistic<'_, K> {
        let form = Canonical::new("discreet quantiles 1").text(rule.name());
        let form = self.quantiles.iter().fold(form, |form, quantile| {
            form.bytes(&quantile.numerator().to_be_bytes()).bytes(&quantile.denominator().to_be_bytes())
        });
        KeyedStatistic {
            measure: "quantiles",
            range: None,
            limits: &self.limits,
            keys: &self.keys,
            point: self.point,
            counts_people: false,
            cut: Cut::two_steps(&self.limits),
            also: Some(self.grid.canonical(form).finish()),
        }
    }
}

impl<K> Sealed for Quantiles<K> {}

impl<K: Key> Statistic for Quantiles<K> {
    type Tally = Cells<K, RankedValues>;

    /// Of the rank of any one point of the grid, over all keys.
    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// Quantiles, ready to be chosen.
pub type PreparedQuantiles<K> = Noisy<K, Chosen>;

#[derive(Clone, Debug)]
pub struct Chosen {
    splitting: Splitting,
    grid: Grid,
    noise: Vec<Noised>,
}

pub(in crate::mechanisms) fn ranked<K: Key>(
    asked: &UncheckedNoise,
    rule: ChoiceRule,
    quantiles: &Quantiles<K>,
) -> Result<PreparedQuantiles<K>, Invalid> {
    settled(asked, &quantiles.stated(rule), |spend, _| {
        let Quantiles { quantiles, grid, limits, .. } = quantiles;
        let splitting = Splitting::new(&split::KeyQuantiles {
            quantiles,
            grid,
            per_key: limits.per_key(),
            rule,
            spend: spend.part_of(limits.keys()),
        })?;
        let accuracies = splitting.accuracies(asked.confidence()?)?;
        let noised = |(quantile, accuracy): (&Quantile, &split::Accuracy)| Noised {
            ranks: Some(Ranks::Within { quantile: *quantile, rank_error: accuracy.rank_error }),
            ..Noised::of("quantile", rule.name(), accuracy.scale)
        };
        let noise = quantiles.iter().zip(&accuracies).map(noised).collect();
        Ok(Chosen { splitting, grid: grid.clone(), noise })
    })
}

impl Tells for Chosen {
    type Cell = RankedValues;
    type Told = i128;
}

impl Numbers for Chosen {
    /// One for each quantile.
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        self.noise.clone()
    }

    fn each(&self) -> EstimatesPerKey {
        EstimatesPerKey::Quantiles
    }

    /// In people.
    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        let error = |noised: &Noised| match noised.ranks {
            Some(Ranks::Within { rank_error, .. }) => rank_error as f64,
            _ => 0.0,
        };
        self.noise.iter().map(error).collect()
    }

    /// As many a row as there are quantiles.
    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, RankedValues>],
        _: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<i128>> {
        let at = |index: u64| self.grid.at(index).map_or(0, i128::from);
        let (low, high) = (at(1), at(self.grid.top()));
        let mut estimates = Vec::with_capacity(rows.len() * self.noise.len());
        for row in rows {
            let sorted = std::mem::take(&mut row.cell).sorted();
            let chosen = self.splitting.draw(&sorted, noise);
            estimates.extend(chosen.into_iter().map(|index| Estimate::between(low, at(index), high)));
        }
        estimates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::ranks::{Exponential, PermuteAndFlip};
    use crate::mechanisms::{Bound, Mechanism, Ready, Tally};

    fn quantiles(bound: Bound, asked: &[f64]) -> Quantiles<()> {
        let grid = Grid::linear(0, 100, 1).unwrap();
        Quantiles::new(asked.iter().copied(), grid, bound.checked().unwrap(), Keys::whole()).unwrap()
    }

    // Refutes a person who is in three keys, or has three values in one, for the price of one.
    #[test]
    fn each_key_and_each_value_of_a_person_is_paid_for() {
        let one = Bound::keys(1);
        let scale = |mechanism: &Exponential, bound: Bound| {
            mechanism.ready(&quantiles(bound, &[0.5])).unwrap().noise()[0].scale()
        };
        let ratio = |mechanism: &Exponential, bound: Bound| scale(mechanism, bound) / scale(mechanism, one);
        let (pure, rho) = (Exponential::epsilon(1.0), Exponential::rho(0.1));
        assert!((scale(&pure, one) - 1.0).abs() < 1e-6, "2 / 2 epsilon");
        assert!((ratio(&pure, Bound::keys(3)) - 3.0).abs() < 1e-6);
        assert!((ratio(&rho, Bound::keys(3)) - 3f64.sqrt()).abs() < 1e-6);
        assert!((ratio(&pure, one.per_key(3)) - 3.0).abs() < 1e-6);
        assert!((ratio(&rho, one.per_key(3)) - 3.0).abs() < 1e-6);
        let flip = PermuteAndFlip::epsilon(1.0);
        let scale = |bound| flip.ready(&quantiles(bound, &[0.5])).unwrap().noise()[0].scale();
        assert!((scale(Bound::keys(3).per_key(2)) / scale(one) - 6.0).abs() < 1e-6);
    }

    // Refutes an answer in another order, without its own promise, or of a key that nobody has told nothing of.
    #[test]
    fn each_quantile_of_each_key_has_a_line() {
        let asked = quantiles(Bound::keys(1), &[0.1, 0.5, 0.9, 0.99]);
        let ready = Exponential::epsilon(5.0).ready(&asked).unwrap();
        let mut exact = ready.tally();
        (0..10_000).for_each(|person| exact.absorb(((), asked.of_one(&[person % 100, 7]))));
        let answer = ready.draw(exact, None, &mut NoiseSource::seeded(5)).answer;
        let values: Vec<i128> = answer.cells().iter().map(|(_, estimate)| estimate.value()).collect();
        for (value, near) in values.iter().zip([10, 50, 90, 99]) {
            assert!((value - near).abs() <= 2, "{values:?}");
        }
        let promised: Vec<Option<Ranks>> = answer.noise().iter().map(Noised::ranks).collect();
        assert!(promised.iter().all(|ranks| matches!(ranks, Some(Ranks::Within { rank_error: 1.., .. }))));
        let head = crate::mechanisms::Head { release: "r", window: "null", id: "5f", promise: "p" };
        let told = crate::mechanisms::Tellable::tell(&answer, &head);
        let firsts: Vec<&str> = told.lines().map(|line| line.split("\"value\"").next().unwrap()).collect();
        let expected =
            ["0.1", "0.5", "0.9", "0.99"].map(|q| format!("{{\"release\":\"r\",\"window\":null,\"q\":{q},"));
        assert_eq!(firsts, expected);
        // Nobody: as many answers, of the same grid.
        let nobody = ready.draw(ready.tally(), None, &mut NoiseSource::seeded(5)).answer;
        assert_eq!(nobody.cells().len(), 4);
    }
}
