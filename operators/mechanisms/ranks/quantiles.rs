//! Quantiles: what is asked of the values of a key, and the answers that are chosen for it.

use std::sync::Arc;

use super::grid::Grid;
use super::quantile::Quantile;
use super::share::Rule;
use super::split::{self, Splitting};
use super::values::Values;
use crate::canonical::Canonical;
use crate::invalid::Invalid;
use crate::mechanisms::additive::Additive;
use crate::mechanisms::answer::{Estimate, Noised, Ranks};
use crate::mechanisms::bound::Limits;
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::laws::Asked;
use crate::mechanisms::noisy::{Noisy, Numbers, Tells, settled};
use crate::mechanisms::point::Point;
use crate::mechanisms::selection::Row;
use crate::mechanisms::sensitivity::Sensitivity;
use crate::mechanisms::statistic::{Stated, Statistic};
use crate::mechanisms::tally::Cells;
use crate::mechanisms::threshold::Threshold;
use crate::noise::Noise;

/// One or several quantiles of the values of each key, told as points of a grid.
///
/// Values are not bounded. An answer is chosen by its rank: by how many values too many are below it, or above.
#[derive(Clone, Debug)]
pub struct Quantiles<K> {
    quantiles: Arc<[Quantile]>,
    grid: Grid,
    limits: Limits,
    keys: Keys<K>,
    sensitivity: Sensitivity,
    point: Point,
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
        limits: Limits,
        keys: Keys<K>,
    ) -> Result<Quantiles<K>, Invalid> {
        let quantiles = quantiles.into_iter().map(|quantile| quantile.try_into().map_err(Into::into));
        let sensitivity = Sensitivity::each(&limits, limits.per_key().into())?;
        let quantiles = quantiles.collect::<Result<_, Invalid>>()?;
        Ok(Quantiles { quantiles, grid, limits, keys, sensitivity, point: Point::WHOLE })
    }

    /// Tells the answers with their decimal point there. Values and the grid are in the steps that it leaves.
    #[must_use]
    pub fn told_in(self, point: Point) -> Quantiles<K> {
        Quantiles { point, ..self }
    }

    /// What is known of a key that one person alone has, with these values, of which the first `per_key` count.
    pub fn of_one(&self, values: &[i64]) -> Values {
        let mut known = Values::default();
        if !values.is_empty() {
            let most = usize::try_from(self.limits.per_key()).unwrap_or(usize::MAX);
            known.add(&values[..most.min(values.len())]);
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

    fn stated(&self, rule: Rule) -> Stated<'_, K> {
        let form = Canonical::new("discreet quantiles 1").text(rule.name());
        let form = self.quantiles.iter().fold(form, |form, quantile| {
            form.bytes(&quantile.numerator().to_be_bytes()).bytes(&quantile.denominator().to_be_bytes())
        });
        Stated {
            measure: "quantiles",
            range: None,
            limits: &self.limits,
            keys: &self.keys,
            point: self.point,
            counts_people: false,
            also: Some(self.grid.canonical(form).finish()),
        }
    }
}

impl<K: Key> Statistic for Quantiles<K> {
    type Tally = Cells<K, Values>;

    /// Of the rank of any one point of the grid, over all keys.
    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// Quantiles, ready to be chosen.
pub type Ranked<K> = Noisy<K, Chosen>;

#[derive(Clone, Debug)]
pub struct Chosen {
    splitting: Splitting,
    grid: Grid,
    noise: Vec<Noised>,
}

pub(in crate::mechanisms) fn ranked<K: Key>(
    asked: &Asked,
    rule: Rule,
    quantiles: &Quantiles<K>,
) -> Result<Ranked<K>, Invalid> {
    settled(asked, &quantiles.stated(rule), |spend, _| {
        let Quantiles { quantiles, grid, limits, .. } = quantiles;
        let splitting = Splitting::new(&split::Asked {
            quantiles,
            grid,
            per_key: limits.per_key(),
            rule,
            spend: spend.part_of(limits.keys()),
        })?;
        let accuracies = splitting.accuracies(asked.confidence()?)?;
        let noised = |(quantile, accuracy): (&Quantile, &split::Accuracy)| Noised {
            number: "quantile",
            kind: rule.name(),
            scale: accuracy.scale,
            ranks: Some(Ranks::Within { quantile: *quantile, rank_error: accuracy.rank_error }),
        };
        let noise = quantiles.iter().zip(&accuracies).map(noised).collect();
        Ok(Chosen { splitting, grid: grid.clone(), noise })
    })
}

impl Tells for Chosen {
    type Cell = Values;
    type Told = i128;
}

impl Numbers for Chosen {
    /// One for each quantile.
    fn noise(&self, _: Point) -> Vec<Noised> {
        self.noise.clone()
    }

    /// In people.
    fn reaches(&self, _: Point) -> Vec<f64> {
        let error = |noised: &Noised| match noised.ranks {
            Some(Ranks::Within { rank_error, .. }) => rank_error as f64,
            _ => 0.0,
        };
        self.noise.iter().map(error).collect()
    }

    fn people(&self) -> Option<&Additive> {
        None
    }

    /// As many a row as there are quantiles.
    fn estimates<K: Key>(
        &self,
        rows: &mut [Row<K, Values>],
        _: Option<&Threshold>,
        noise: &mut Noise,
    ) -> Vec<Estimate<i128>> {
        let at = |index: u64| self.grid.at(index).map_or(0, i128::from);
        let (low, high) = (at(1), at(self.grid.top()));
        let mut estimates = Vec::with_capacity(rows.len() * self.noise.len());
        for row in rows {
            let sorted = std::mem::take(&mut row.cell).sorted();
            let chosen = self.splitting.draw(&sorted, noise);
            estimates.extend(chosen.into_iter().map(|index| Estimate { value: at(index), low, high }));
        }
        estimates
    }
}
