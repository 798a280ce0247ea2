//! Marginals with Gaussian noise, prepared for release: the noise of each residual, and the tables that they are put together to.

use std::sync::Arc;

use super::MarginalCounts;
use super::combinations;
use super::residuals::{contrasts, project, spread, sums};
use super::tables::{MarginalCell, MarginalTables};
use crate::accounting::shape::{Attributes, ResidualPart};
use crate::accounting::{BudgetUnits, GaussianCost, PrivacyUnit, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid::Invalid;
use crate::mechanisms::Gaussian;
use crate::mechanisms::additive::{Additive, Family, UncheckedNoise, unproved};
use crate::mechanisms::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::mechanism::{Drawn, Mechanism, Prepared, Sealed, parameters};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::Cells;
use crate::noise::NoiseSource;

/// One draw for each cell of each residual.
impl<K: Key> Mechanism<MarginalCounts<K>> for Gaussian {
    type Prepared = NoisyMarginals<K>;

    fn prepare(&self, counts: &MarginalCounts<K>) -> Result<NoisyMarginals<K>, Invalid> {
        NoisyMarginals::new(&self.0, counts)
    }
}

/// A residual, with the noise of its cells.
#[derive(Clone, Debug)]
pub(super) struct Residual {
    pub(super) of: Attributes,
    pub(super) sizes: Vec<usize>,
    pub(super) noise: Additive,
    /// The squared length by which one combination of a unit moves it.
    pub(super) length: u128,
    /// The first table that has all of its attributes.
    table: usize,
}

impl Residual {
    /// Returns the product of the numbers of categories.
    fn cells(&self) -> usize {
        self.sizes.iter().product()
    }
}

/// Tables of counts with Gaussian noise, ready to be drawn, window after window.
///
/// Tables are unbiased and agree in all of their sums, so that cells may be below zero. The intervals are of the normal
/// law, for each cell by itself.
#[derive(Clone, Debug)]
pub struct NoisyMarginals<K> {
    counts: MarginalCounts<K>,
    pub(super) residuals: Vec<Residual>,
    cells: Arc<[MarginalCell]>,
    /// The half-width of each table's intervals.
    widths: Vec<f64>,
    format: EstimateFormat,
    cost: ReleaseCost,
    parameters: Digest,
}

/// The number of times that noise is enlarged, by 2^-24 and twice as much each time, where it does not suffice.
const ROUNDS: u32 = 24;

/// The deviation from which on draws have the law of a normal one to 1e-8, at the middle between two of its steps; the intervals
/// reach half a step farther. Below, their tail is bounded as that of any law is that has no heavier one than the normal law.
const FEW: f64 = 1.0;

impl<K: Key> NoisyMarginals<K> {
    fn new(asked: &UncheckedNoise, counts: &MarginalCounts<K>) -> Result<NoisyMarginals<K>, Invalid> {
        let (spend, confidence) = (asked.spend()?, asked.confidence()?);
        let (tables, moved) = (&counts.tables, counts.moved);
        let residuals = residuals(counts, spend)?;
        let deviations: Vec<f64> =
            tables.workload().tables().iter().map(|table| deviation(tables, &residuals, *table)).collect();
        let is_normal = residuals.iter().all(|residual| residual.noise.deviation() >= FEW);
        let times = match is_normal {
            true => GaussianCost::largest(1.0, 1, confidence)?,
            false => (2.0 * libm::log(2.0 / (1.0 - confidence))).sqrt(),
        };
        let width = |(table, deviation): (&Attributes, &f64)| {
            let cells: f64 = tables.categories(*table).iter().map(|size| *size as f64).product();
            deviation * times * (1.0 + 1e-9) + 0.5 / cells
        };
        let widths = tables.workload().tables().iter().zip(&deviations).map(width).collect();
        let noun = counts.noun();
        let noise = deviations.iter().map(|deviation| Noised::of(noun, Family::Gaussian.name(), *deviation));
        let cells: Arc<[MarginalCell]> = tables.cells().into();
        let ends = tables.sizes().into_iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let no_keys = Keys::ascending(Vec::new());
        let also = tables.canonical(Canonical::new("discreet marginals 1")).finish();
        let stated = counts.stated(&no_keys, also);
        Ok(NoisyMarginals {
            residuals,
            widths,
            format: EstimateFormat {
                noise: noise.collect(),
                point: stated.point,
                confidence,
                each: EstimatesPerKey::Tables { ends: ends.collect() },
                of: None,
                // A person may have more combinations, or texts of no category.
                bounded: counts.limits.unit() == PrivacyUnit::Person,
                found: None,
            },
            cost: spend.cost_with(moved.neighbours(), BudgetUnits::ZERO, (counts.cut(), true))?,
            parameters: parameters(asked, spend, BudgetUnits::ZERO, &stated),
            cells,
            counts: counts.clone(),
        })
    }

    /// The standard deviation of a cell of each table.
    pub fn deviations(&self) -> Vec<f64> {
        self.format.noise.iter().map(Noised::scale).collect()
    }

    /// The noise of a cell of each table.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise
    }

    /// The half-width of the interval of a cell of each table.
    pub fn widths(&self) -> &[f64] {
        &self.widths
    }

    /// Returns the counts of each table.
    fn exact(&self, exact: &Cells<K>) -> Vec<Vec<i128>> {
        let tables = &self.counts.tables;
        let sets = tables.workload().tables();
        let sizes: Vec<Vec<usize>> = sets.iter().map(|table| tables.categories(*table)).collect();
        let mut counts: Vec<Vec<i128>> = sizes.iter().map(|sizes| vec![0; sizes.iter().product()]).collect();
        for (key, cell) in exact.iter() {
            let Some(places) = tables.places_of_combination(key) else { continue };
            let number = self.counts.number(cell);
            for ((table, sizes), counts) in sets.iter().zip(&sizes).zip(&mut counts) {
                let place = table.iter().zip(sizes).fold(0, |place, (at, size)| place * size + places[at]);
                counts[place] += number;
            }
        }
        counts
    }

    /// Returns the attributes of a table that a set has, in order.
    fn kept(table: Attributes, set: Attributes) -> Vec<bool> {
        table.iter().map(|attribute| set.has(attribute)).collect()
    }
}

/// Returns the residuals with their noise, by which a person of any combinations costs no more than what is spent.
fn residuals<K>(counts: &MarginalCounts<K>, spend: Spend) -> Result<Vec<Residual>, Invalid> {
    let (tables, combinations) = (&counts.tables, counts.limits.keys());
    let design = tables.workload().design_for(combinations);
    let parts: Vec<f64> = design.parts().iter().map(|residual| residual.part).collect();
    let mut times = design.times();
    // Floats and rounded parts may fall short, by little: at most twice as much is tried.
    for round in 0..ROUNDS {
        let of_one: Vec<f64> = parts.iter().map(|part| part / times).collect();
        let residual = |(residual, spend): (&ResidualPart, Spend)| {
            let sizes = tables.categories(residual.of);
            let one = counts.moved.of_residual(&sizes)?;
            let noise = Additive::within(Family::Gaussian, spend, &one)?;
            // Each is of a table.
            let table = tables.workload().tables().iter().position(|table| table.holds(residual.of));
            Ok(Residual {
                of: residual.of,
                length: one.l2_squared(),
                sizes,
                noise,
                table: table.unwrap_or(0),
            })
        };
        let residuals: Vec<Residual> =
            design.parts().iter().zip(spend.parts(&of_one)).map(residual).collect::<Result<_, Invalid>>()?;
        if combinations::cost_within(spend.units(), &residuals, combinations, tables) {
            return Ok(residuals);
        }
        times *= 1.0 + f64::from(1 << round) / f64::from(1 << ROUNDS);
    }
    Err(unproved("rho"))
}

/// Returns the standard deviation of a cell of a table: of each residual in it the noise of a cell, less what the projection takes
/// away, over the categories of the whole table.
fn deviation(tables: &MarginalTables, residuals: &[Residual], table: Attributes) -> f64 {
    let size = |sizes: &[usize]| sizes.iter().map(|size| *size as f64).product::<f64>();
    let all = size(&tables.categories(table));
    let inside = residuals.iter().filter(|residual| table.holds(residual.of));
    let variance: f64 = inside
        .map(|residual| {
            let projected: f64 = residual.sizes.iter().map(|size| 1.0 - 1.0 / *size as f64).product();
            (residual.noise.deviation() / all).powi(2) * projected
        })
        .sum();
    variance.sqrt()
}

impl<K> Sealed for NoisyMarginals<K> {}

impl<K: Key> Prepared for NoisyMarginals<K> {
    type Tally = Cells<K>;
    type Answer = Answer<MarginalCell, f64>;
    type Value = f64;

    fn tally(&self) -> Cells<K> {
        Cells::open()
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        false
    }

    fn accepts(&self, _: &[u8]) -> Result<(), Invalid> {
        Ok(())
    }

    fn draw(
        &self,
        exact: Cells<K>,
        _: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<MarginalCell, f64>> {
        let (tables, counts) = (&self.counts.tables, self.exact(&exact));
        let sets = tables.workload().tables();
        let mut numbers: Vec<Vec<f64>> = counts.iter().map(|counts| vec![0.0; counts.len()]).collect();
        for residual in &self.residuals {
            let own = sets[residual.table];
            let kept = NoisyMarginals::<K>::kept(own, residual.of);
            let mut measured = sums(&counts[residual.table], &tables.categories(own), &kept);
            contrasts(&mut measured, &residual.sizes);
            // From here on nothing is secret.
            let draws = residual.noise.draws(residual.cells(), noise);
            let mut released: Vec<f64> =
                measured.iter().zip(draws).map(|(number, draw)| (number + i128::from(draw)) as f64).collect();
            project(&mut released, &residual.sizes);
            for (table, numbers) in
                sets.iter().zip(&mut numbers).filter(|(table, _)| table.holds(residual.of))
            {
                let kept = NoisyMarginals::<K>::kept(*table, residual.of);
                let sizes = tables.categories(*table);
                // All categories of the residual, and those of the attributes that it is spread over.
                let factor = 1.0 / sizes.iter().map(|size| *size as f64).product::<f64>();
                spread(numbers, &sizes, (&released, &kept, factor));
            }
        }
        let estimates = numbers.iter().zip(&self.widths).flat_map(|(numbers, width)| {
            numbers.iter().map(move |number| Estimate::between(number - width, *number, number + width))
        });
        let cells = self.cells.iter().cloned().zip(estimates).collect();
        Drawn { answer: Answer { cells, format: self.format.clone(), room: None }, state: None, step: None }
    }
}
