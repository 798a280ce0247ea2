//! The least noise of a workload of marginals: tables of counts over combinations of public categories.
//!
//! A table of several attributes holds what the tables of fewer of them say, and something of its own: its *residual*,
//! which is zero in all sums over one of its attributes. Where each residual is measured once, with noise of its own, and each
//! table is put together from the residuals of its attributes, the total error is as small as that of any Gaussian
//! noise that is centred at the counts. The part of the price of each residual has a closed form.
//!
//! ```
//! use discreet::accounting::shape::Marginals;
//!
//! // age x country, and device.
//! let workload = Marginals::new(&[10, 20, 5], &[&[0, 1], &[2]])?;
//! let design = workload.design();
//! assert!((design.error(0.1) - 2.548).abs() < 1e-3);                     // of a cell, at rho = 0.1
//! assert!((design.error(0.1) / design.least_error(0.1) - 1.0).abs() < 1e-12);
//! # Ok::<(), discreet::Invalid>(())
//! ```
//!
//! # Argument
//!
//! Let attribute `i` have `n_i` categories, and `P_A` be the projection of the table of the attributes `A` to its residual.
//! One record moves the residual of `A` by a vector of squared length `p_A = prod (n_i - 1) / n_i` over `A`, so noise of
//! variance `s_A` on it costs `p_A / 2 s_A`, and costs add up. A cell of table `q` has the variance
//! `sum s_A p_A / prod n_i^2`, over the parts `A` of `q` and the attributes `i` of `q` outside of `A`. The sum of these
//! variances, each with the weight `w_q` of its table, is `sum s_A v_A` with
//! `v_A = p_A sum_q w_q / prod n_i^2`. By Cauchy and Schwarz the least of it at a price `rho` is
//! `(sum root(v_A p_A))^2 / 2 rho`, where each residual has the part `root(v_A p_A)` of the price.
//!
//! *It is the least of all.* The wanted tables do not change where the categories of an attribute are exchanged, and
//! neither does the set of the vectors by which one record moves all of them. The spaces that such exchanges leave as they
//! are, are those of the residuals, with the dimensions `prod (n_i - 1)`. So the nuclear norm that bounds the error of all
//! Gaussian noise from below (Nikolov and Tang 2023) is a sum over them, in closed form:
//! [`MarginalsDesign::least_error`]. It comes to the same number.
//!
//! A unit of several different combinations moves the residuals by less than as many times as much:
//! [`Marginals::design_for`], with its argument at the head of its [module](super::combinations).

use super::combinations;
use crate::invalid::{Invalid, InvalidKind};

/// A set of attributes: the number with these bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attributes(u32);

impl Attributes {
    fn of(attributes: &[usize]) -> Attributes {
        Attributes(attributes.iter().fold(0, |bits, attribute| bits | 1 << attribute))
    }

    /// Returns the set of this number of first attributes.
    pub(super) fn first(attributes: usize) -> Attributes {
        Attributes((1_u32 << attributes) - 1)
    }

    /// Returns true if the set has this attribute.
    pub fn has(self, attribute: usize) -> bool {
        self.0 >> attribute & 1 == 1
    }

    /// Returns true if all attributes of the other set are in this one.
    pub fn holds(self, other: Attributes) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the attributes, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MOST_ATTRIBUTES).filter(move |attribute| self.has(*attribute))
    }

    /// Returns the attributes of both sets.
    pub(super) fn both(self, other: Attributes) -> Attributes {
        Attributes(self.0 & other.0)
    }

    /// Returns all sets of attributes of this one, the empty one first.
    pub(super) fn parts(self) -> impl Iterator<Item = Attributes> {
        let mut next = Some(0_u32);
        std::iter::from_fn(move || {
            let part = next?;
            // The next number of which all bits are in the set.
            next = (part != self.0).then(|| (part.wrapping_sub(self.0)) & self.0);
            Some(Attributes(part))
        })
    }

    /// Returns the product of a number of each attribute.
    pub(super) fn product(self, of: impl Fn(usize) -> f64) -> f64 {
        self.iter().map(of).product()
    }
}

/// The most attributes of a workload.
const MOST_ATTRIBUTES: usize = 16;
/// The most tables.
const MOST_TABLES: usize = 1_000;
/// The most cells that are measured, of all residuals together.
const MOST_CELLS: u64 = 1 << 20;

/// Tables of counts that are wanted together.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginals {
    sizes: Vec<u64>,
    tables: Vec<Attributes>,
    /// The weight of the variance of one cell, by table.
    weights: Vec<f64>,
}

impl Marginals {
    /// States the number of categories of each attribute, and the attributes of each table. All cells of all tables have the
    /// same weight.
    ///
    /// # Errors
    /// Names `sizes` or `tables` where there are none or too many, a table is there twice, or has an attribute that
    /// is not there.
    pub fn new(sizes: &[u64], tables: &[&[usize]]) -> Result<Marginals, Invalid> {
        let refused = |field, kind, remedy: &'static str| Err(Invalid::new(field, kind, remedy));
        let of = |count: usize| if count == 0 { InvalidKind::Empty } else { InvalidKind::TooLarge };
        if !(1..=MOST_ATTRIBUTES).contains(&sizes.len()) {
            return refused("sizes", of(sizes.len()), "1 to 16 attributes");
        }
        if let Some(size) = sizes.iter().find(|size| !(2..=MOST_CELLS).contains(size)) {
            let kind = if *size < 2 { InvalidKind::TooSmall } else { InvalidKind::TooLarge };
            return refused("sizes", kind, "2 to 1,048,576 categories of each attribute");
        }
        if !(1..=MOST_TABLES).contains(&tables.len()) {
            return refused("tables", of(tables.len()), "1 to 1,000 tables");
        }
        if tables.iter().any(|table| table.iter().any(|attribute| *attribute >= sizes.len())) {
            return refused("tables", InvalidKind::TooLarge, "attributes of which there are sizes");
        }
        let sets: Vec<Attributes> = tables.iter().map(|table| Attributes::of(table)).collect();
        let (mut once, is_set) = (sets.clone(), tables.iter().zip(&sets));
        once.sort_unstable();
        once.dedup();
        if once.len() < sets.len() || is_set.into_iter().any(|(table, set)| table.len() != set.iter().count())
        {
            return refused("tables", InvalidKind::Mixed, "each table, and each of its attributes, once");
        }
        let weights = vec![1.0; sets.len()];
        let workload = Marginals { sizes: sizes.to_vec(), tables: sets, weights };
        let cells = workload.residuals().iter().try_fold(0_u64, |cells, residual| {
            let of_this = residual.iter().try_fold(1_u64, |cells, at| cells.checked_mul(sizes[at]));
            cells.checked_add(of_this?).filter(|cells| *cells <= MOST_CELLS)
        });
        match cells {
            Some(_) => Ok(workload),
            None => refused("tables", InvalidKind::TooLarge, "tables with at most 1,048,576 cells together"),
        }
    }

    /// Gives every table the same weight, so that the cells of a large one have little each.
    #[must_use]
    pub fn weighted_by_table(mut self) -> Marginals {
        self.weights = self.tables.iter().map(|table| 1.0 / self.cells(*table)).collect();
        self
    }

    /// The attributes of each table.
    pub fn tables(&self) -> &[Attributes] {
        &self.tables
    }

    /// Returns the number of cells of a table.
    fn cells(&self, table: Attributes) -> f64 {
        table.product(|attribute| self.sizes[attribute] as f64)
    }

    /// The numbers of categories of the attributes.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Returns the number of combinations of a category of each attribute.
    pub(crate) fn combinations(&self) -> u64 {
        self.sizes.iter().fold(1, |all: u64, size| all.saturating_mul(*size))
    }

    /// Returns the number of categories of an attribute.
    pub(super) fn size(&self, attribute: usize) -> f64 {
        self.sizes[attribute] as f64
    }

    /// Returns the sets of attributes that have a residual: all that are in a table, those of fewer first.
    pub(super) fn residuals(&self) -> Vec<Attributes> {
        let mut sets: Vec<Attributes> = self.tables.iter().flat_map(|table| table.parts()).collect();
        sets.sort_unstable_by_key(|set| (set.iter().count(), *set));
        sets.dedup();
        sets
    }

    /// Returns the parts of the price for which the sum of the variances of all cells is least, where a unit counts once in one
    /// combination.
    pub fn design(&self) -> MarginalsDesign {
        self.design_for(1)
    }

    /// Returns the parts of the price where a unit counts once in each of this number of combinations: the best of some, beside a
    /// bound of the least.
    pub fn design_for(&self, combinations: u64) -> MarginalsDesign {
        MarginalsDesign::of(self, combinations)
    }

    /// Returns the root of `v_A p_A`.
    pub(super) fn root_of_cost(&self, set: Attributes) -> f64 {
        let squared = |table: Attributes| {
            let outside = Attributes(table.0 & !set.0);
            outside.product(|attribute| (self.sizes[attribute] as f64).powi(-2))
        };
        let tables = self.tables.iter().zip(&self.weights).filter(|(table, _)| table.holds(set));
        let weight: f64 = tables.map(|(table, weight)| weight * self.cells(*table) * squared(*table)).sum();
        self.projected(set) * weight.sqrt()
    }

    /// Returns `p_A`, the squared length by which one record moves a residual.
    fn projected(&self, set: Attributes) -> f64 {
        set.product(|attribute| 1.0 - 1.0 / self.sizes[attribute] as f64)
    }

    /// Returns the eigenvalue of the wanted tables on the residuals of a set, times the number of all combinations.
    fn eigenvalue(&self, set: Attributes) -> f64 {
        let tables = self.tables.iter().zip(&self.weights).filter(|(table, _)| table.holds(set));
        let outside = |table: &Attributes| {
            (0..self.sizes.len()).filter(|at| !table.has(*at)).map(|at| self.size(at)).product::<f64>()
        };
        tables.map(|(table, weight)| weight * outside(table)).sum()
    }

    /// Returns the weights of all cells together.
    fn weight(&self) -> f64 {
        self.tables.iter().zip(&self.weights).map(|(table, weight)| weight * self.cells(*table)).sum()
    }
}

/// A residual with its part of the price of one combination.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResidualPart {
    /// The attributes of the residual; none for the number of all records.
    pub of: Attributes,
    /// The part; all parts together are 1.
    pub part: f64,
}

/// The parts of a price for which the tables of a workload err least.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginalsDesign {
    workload: Marginals,
    parts: Vec<ResidualPart>,
    /// The number of combinations of a unit.
    combinations: u64,
    /// The squared length by which a unit moves all residuals, in noise of these parts, over that of one combination.
    times: f64,
    /// The sum of the variances of all cells where one combination costs a rho of one half.
    of_one: f64,
    /// The least that this sum can be, for all combinations of a unit.
    least: f64,
}

impl MarginalsDesign {
    /// The residuals, those of fewer attributes first.
    pub fn parts(&self) -> &[ResidualPart] {
        &self.parts
    }

    fn of(workload: &Marginals, combinations: u64) -> MarginalsDesign {
        let sets = workload.residuals();
        let (parts, times) = combinations::parts(workload, &sets, combinations);
        let costs = sets.iter().map(|set| workload.root_of_cost(*set).powi(2));
        let of_one = costs.zip(&parts).map(|(cost, part)| cost / part).sum();
        let least = combinations::grids(workload, combinations).map(|lengths| {
            let root = |set: Attributes| {
                let categories = set.product(|attribute| workload.size(attribute) - 1.0);
                categories * (workload.eigenvalue(set) * lengths.of(workload, set)).sqrt()
            };
            let norm: f64 = workload.residuals().into_iter().map(root).sum();
            norm * norm / workload.sizes.iter().map(|size| *size as f64).product::<f64>()
        });
        let least = least.fold(0.0, f64::max);
        let part = |(of, part)| ResidualPart { of, part };
        let parts = sets.into_iter().zip(parts).map(part).collect();
        MarginalsDesign { workload: workload.clone(), parts, combinations, times, of_one, least }
    }

    /// The squared length by which a unit moves all residuals, in noise of these parts, over that of one combination.
    pub fn times(&self) -> f64 {
        self.times
    }

    /// Returns the root of the mean variance of a cell, by the weights, at a rho.
    pub fn error(&self, rho: f64) -> f64 {
        (self.times * self.of_one / (2.0 * rho * self.workload.weight())).sqrt()
    }

    /// Returns the least that the error of any Gaussian noise centred at the counts can be at this rho.
    pub fn least_error(&self, rho: f64) -> f64 {
        (self.least / (2.0 * rho * self.workload.weight())).sqrt()
    }

    /// Returns the standard deviation of a cell of a table at a rho, as real noise of the stated parts has it.
    pub fn cell_error(&self, table: Attributes, rho: f64) -> f64 {
        let workload = &self.workload;
        let inside = self.parts.iter().filter(|residual| table.holds(residual.of));
        let variance: f64 = inside
            .map(|ResidualPart { of, part }| {
                // The variance of the residual is `times p_A / (2 rho part)`.
                let projected = workload.projected(*of);
                let outside = Attributes(table.0 & !of.0);
                let spread = outside.product(|attribute| workload.size(attribute).powi(-2));
                self.times * projected * projected * spread / (2.0 * rho * part)
            })
            .sum();
        variance.sqrt()
    }

    /// Returns the error where each table is released by itself, with the parts of the price that are best for that.
    pub fn error_apart(&self, rho: f64) -> f64 {
        let Marginals { tables, weights, .. } = &self.workload;
        let root = |(table, weight): (&Attributes, &f64)| {
            let moved = combinations::in_table(&self.workload, *table, self.combinations);
            (weight * self.workload.cells(*table) * moved).sqrt()
        };
        let roots = tables.iter().zip(weights).map(root);
        roots.sum::<f64>() / (2.0 * rho * self.workload.weight()).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(attributes: usize) -> Vec<Vec<usize>> {
        (0..attributes).flat_map(|one| (one + 1..attributes).map(move |other| vec![one, other])).collect()
    }

    fn workload(sizes: &[u64], tables: &[Vec<usize>]) -> Marginals {
        let tables: Vec<&[usize]> = tables.iter().map(|table| &table[..]).collect();
        Marginals::new(sizes, &tables).unwrap()
    }

    // Refutes a factor that is left out, a total that is not measured, and weights of tables for those of cells. Values: the
    // formulas in another language.
    #[test]
    fn errors_are_those_of_the_closed_form() {
        let sizes = [10, 20, 5, 4];
        let single: Vec<Vec<usize>> = (0..4).map(|attribute| vec![attribute]).collect();
        let triples = vec![vec![0, 1, 2], vec![0, 1, 3], vec![0, 2, 3], vec![1, 2, 3]];
        for (sizes, tables, by_cell, by_table, apart) in [
            (&sizes[..3], vec![vec![0, 1], vec![2]], 2.5477, 3.1545, 2.5578),
            (&sizes[..], pairs(4), 4.6103, 4.9162, 5.1471),
            (&sizes[..], single, 3.9952, 4.1805, 4.2503),
            (&sizes[..], triples, 3.8198, 4.0385, 4.2927),
            (&[8, 8, 8][..], vec![vec![0], vec![0, 1], vec![0, 1, 2]], 2.7985, 3.5692, 3.0956),
            (&[2; 10][..], pairs(10), 6.8090, 6.8090, 15.0),
        ] {
            let workload = workload(sizes, &tables);
            let (cells, table) = (workload.design(), workload.weighted_by_table().design());
            assert!((cells.error(0.1) - by_cell).abs() < 1e-4, "{tables:?}: {}", cells.error(0.1));
            assert!((table.error(0.1) - by_table).abs() < 1e-4, "{tables:?}: {}", table.error(0.1));
            assert!((cells.error_apart(0.1) - apart).abs() < 1e-4, "{tables:?}");
        }
    }

    // Refutes a design that is not the least possible: for 300 workloads of up to 6 attributes and 6 categories.
    #[test]
    fn no_gaussian_noise_errs_less() {
        let mut word = 7_u64;
        let mut below = |most: u64| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (word >> 33) % most
        };
        for _ in 0..300 {
            let sizes: Vec<u64> = (0..1 + below(6)).map(|_| 2 + below(5)).collect();
            let all = 1_u64 << sizes.len();
            let mut sets: Vec<u64> = (0..1 + below(5)).map(|_| below(all)).collect();
            sets.sort_unstable();
            sets.dedup();
            let table = |set: &u64| (0..sizes.len()).filter(|at| set >> at & 1 == 1).collect::<Vec<_>>();
            let workload = workload(&sizes, &sets.iter().map(table).collect::<Vec<_>>());
            for workload in [workload.clone(), workload.weighted_by_table()] {
                let design = workload.design();
                let gap = design.error(0.3) / design.least_error(0.3) - 1.0;
                assert!(gap.abs() < 1e-12, "{workload:?}: {gap:e}");
                let parts: f64 = design.parts().iter().map(|residual| residual.part).sum();
                assert!((parts - 1.0).abs() < 1e-12);
                // The variances of cells add up to the objective.
                let square = |(table, weight): (&Attributes, &f64)| {
                    weight * workload.cells(*table) * design.cell_error(*table, 0.3).powi(2)
                };
                let sum: f64 = workload.tables.iter().zip(&workload.weights).map(square).sum();
                assert!((sum / (design.error(0.3).powi(2) * workload.weight()) - 1.0).abs() < 1e-12);
                assert!(design.error_apart(0.3) >= design.error(0.3) * (1.0 - 1e-12));
            }
        }
    }

    // Refutes a single table that errs more than its histogram does.
    #[test]
    fn one_table_alone_errs_as_a_histogram_at_most() {
        for sizes in [&[7][..], &[3, 4], &[2, 2, 2]] {
            let all: Vec<usize> = (0..sizes.len()).collect();
            let design = workload(sizes, &[all]).design();
            assert!(design.error(0.1) <= (1.0_f64 / 0.2).sqrt() * (1.0 + 1e-12));
            assert_eq!(design.parts().len(), 1 << sizes.len());
        }
    }

    // Refutes a workload that is too large, or of which a table is counted twice.
    #[test]
    fn a_workload_that_does_not_fit_is_refused_by_its_field() {
        let field = |sizes: &[u64], tables: &[&[usize]]| {
            Marginals::new(sizes, tables).unwrap_err().field().to_owned()
        };
        assert_eq!(field(&[], &[&[0]]), "sizes");
        assert_eq!(field(&[1], &[&[0]]), "sizes");
        assert_eq!(field(&[3; 17], &[&[0]]), "sizes");
        assert_eq!(field(&[3], &[]), "tables");
        assert_eq!(field(&[3], &[&[1]]), "tables");
        assert_eq!(field(&[3, 3], &[&[0, 0]]), "tables");
        assert_eq!(field(&[3, 3], &[&[0, 1], &[1, 0]]), "tables");
        assert_eq!(field(&[1000, 1000, 1000], &[&[0, 1, 2]]), "tables");
        assert_eq!(field(&[1 << 40], &[&[0]]), "sizes");
        assert!(Marginals::new(&[1000, 1000], &[&[0, 1], &[]]).is_ok());
    }
}
