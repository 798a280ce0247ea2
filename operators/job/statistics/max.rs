//! `max`, `min` and `altogether`: the largest and the smallest value among people, and the sum of all of them, as one
//! of the answers of a grid.
//!
//! None needs a range of values: all are monotone, and are found by the number of people who must leave so that they fall to an
//! answer, which one person moves by one. The smallest value is the largest in reverse order.

use std::marker::PhantomData;
use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::grid::GridSpec;
use super::prepared::NumberSensitivity;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, NoiseKind,
    PreparedStatistic, StatedField, StatisticCheck, StatisticFlow, StatisticTerms, ValueField, grouping,
    steps,
};
use crate::accounting::ReleaseCost;
use crate::canonical::Digest;
use crate::dataflow::{ProtectedUnit, RunError, Searching};
use crate::invalid::Invalid;
use crate::job::MistakeKind;
use crate::job::config::{ConfigNode, MistakeDetail, TableNode, text};
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{
    Altogether, Answer, BinarySearch, Cells, ContributionBound, Cut, DecimalPoint, Drawn, Exponential, Grid,
    Inverted, KeyFinding, Keys, Largest, Maximum, Mechanism, Minimum, Monotone, Noised, PerPerson, Prepared,
    Searched, Statistic, Tops,
};
use crate::noise::NoiseSource;

/// The largest value among people.
pub type MaxSpec = MonotoneSpec<Maximum>;

/// The smallest value among people.
pub type MinSpec = MonotoneSpec<Minimum>;

/// The sum over all people, of values that are not below zero and have no stated range.
pub type AltogetherSpec = MonotoneSpec<Altogether>;

/// A monotone function of one value of each person.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MonotoneSpec<F> {
    /// The value of each person.
    pub each: MaximumOf,
    /// The grid of possible answers.
    pub grid: GridSpec,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
    function: PhantomData<fn() -> F>,
}

/// A monotone function that job files have.
pub trait JobFunction: Monotone {
    /// The function.
    const FUNCTION: Self;

    /// The words for the value of a person, the first without one.
    const EACH: &'static [&'static str];

    /// Describes the function of what each person has.
    fn describe(each: &MaximumOf, unit: &str) -> String;

    /// Returns the exact value, and the number of people by which an answer is off.
    #[doc(hidden)]
    fn shown_in_a_demo(tops: &Tops, grid: &Grid, answer: i64) -> (Option<i64>, u64);
}

impl JobFunction for Maximum {
    const FUNCTION: Maximum = Maximum;
    const EACH: &'static [&'static str] = &["greatest", "sum", "count"];

    fn describe(each: &MaximumOf, unit: &str) -> String {
        match each {
            MaximumOf::Greatest(of) | MaximumOf::Least(of) => format!("the largest {of}"),
            MaximumOf::Sum(of) => format!("the largest sum of {of} of one {unit}"),
            MaximumOf::Count => format!("the most records of one {unit}"),
        }
    }

    fn shown_in_a_demo(tops: &Tops, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        tops.shown_in_a_demo(grid, answer)
    }
}

impl JobFunction for Minimum {
    const FUNCTION: Minimum = Minimum;
    const EACH: &'static [&'static str] = &["least", "sum", "count"];

    fn describe(each: &MaximumOf, unit: &str) -> String {
        match each {
            MaximumOf::Greatest(of) | MaximumOf::Least(of) => format!("the smallest {of}"),
            MaximumOf::Sum(of) => format!("the smallest sum of {of} of one {unit}"),
            MaximumOf::Count => format!("the fewest records of one {unit}"),
        }
    }

    fn shown_in_a_demo(tops: &Tops, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        tops.reversed_in_a_demo(grid, answer)
    }
}

impl JobFunction for Altogether {
    const FUNCTION: Altogether = Altogether;
    const EACH: &'static [&'static str] = &["sum", "count"];

    fn describe(each: &MaximumOf, unit: &str) -> String {
        match each.of() {
            Some(of) => format!("the sum of {of} over all, each {unit}'s where it is above 0"),
            None => "the number of records".to_owned(),
        }
    }

    fn shown_in_a_demo(tops: &Tops, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        tops.total_in_a_demo(grid, answer)
    }
}

/// The one value of a person among which the largest or the smallest is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaximumOf {
    /// The greatest value of this field in the person's records.
    Greatest(String),
    /// The least value of this field in the person's records.
    Least(String),
    /// The sum of this field over the person's records.
    Sum(String),
    /// The number of the person's records.
    Count,
}

impl MaximumOf {
    /// Returns the word of the job file.
    pub fn word(&self) -> &'static str {
        match self {
            MaximumOf::Greatest(_) => "greatest",
            MaximumOf::Least(_) => "least",
            MaximumOf::Sum(_) => "sum",
            MaximumOf::Count => "count",
        }
    }

    /// Returns the value as the mechanism has it.
    pub(super) fn per_person(&self) -> PerPerson {
        match self {
            MaximumOf::Greatest(_) => PerPerson::Greatest,
            MaximumOf::Least(_) => PerPerson::Least,
            MaximumOf::Sum(_) => PerPerson::Sum,
            MaximumOf::Count => PerPerson::Records,
        }
    }

    /// Returns the field that is read.
    pub fn of(&self) -> Option<&str> {
        match self {
            MaximumOf::Greatest(of) | MaximumOf::Least(of) | MaximumOf::Sum(of) => Some(of),
            MaximumOf::Count => None,
        }
    }
}

impl<F: JobFunction> MonotoneSpec<F> {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<MonotoneSpec<F>> {
        let fields = node.fields(&["grid"], &["of", "each", "by", "keys"])?;
        let (each, grid) = (each(&fields, F::EACH), fields.read("grid", |node| GridSpec::read(&node)));
        let grouping = grouping::read(&fields, beside)?;
        Some(MonotoneSpec::new(each?, grid?, grouping))
    }

    pub(in crate::job) fn new(
        each: MaximumOf,
        grid: GridSpec,
        grouping: Option<GroupingSpec>,
    ) -> MonotoneSpec<F> {
        MonotoneSpec { each, grid, grouping, function: PhantomData }
    }

    /// Returns the answers in steps, and the decimal point of a step.
    pub(in crate::job) fn grid(&self) -> Result<(Grid, DecimalPoint), Invalid> {
        // The answers are counts of records, which are whole numbers.
        let finest = if self.each == MaximumOf::Count { 0 } else { steps::DIGITS };
        self.grid.grid(finest)
    }

    fn largest(&self, terms: &StatisticTerms<'_>) -> Result<Largest<CellKey, F>, Invalid> {
        let (grid, _) = self.grid()?;
        Ok(Largest::new(F::FUNCTION, self.each.per_person(), grid, terms.limits, terms.keys.clone())?
            .with_point(terms.point))
    }
}

/// Reads the one value of a person, of one of these words.
pub(super) fn each(fields: &TableNode<'_>, words: &'static [&'static str]) -> Option<MaximumOf> {
    let word = match fields.node("each") {
        Some(node) => node.one_of(&words.iter().map(|word| (*word, *word)).collect::<Vec<_>>()),
        None => words.first().copied(),
    };
    let of = fields.node("of");
    match (word?, of) {
        ("count", None) => Some(MaximumOf::Count),
        ("count", Some(of)) => {
            let others = words.iter().filter(|word| **word != "count").map(|word| format!("\"{word}\""));
            let remedy = format!("no field, or each = {}", others.collect::<Vec<_>>().join(" or "));
            of.conflict("a field beside a count of records", remedy)
        }
        // The unknown field was probably meant to be this one.
        (_, None) if !fields.known => None,
        (_, None) => {
            let remedy = "the field of, or each = \"count\" for a person's records";
            fields.refuse("of", MistakeDetail::new(MistakeKind::Missing, "nothing", remedy))
        }
        ("sum", Some(of)) => of.non_empty_text().map(MaximumOf::Sum),
        ("least", Some(of)) => of.non_empty_text().map(MaximumOf::Least),
        (_, Some(of)) => of.non_empty_text().map(MaximumOf::Greatest),
    }
}

impl<F: JobFunction> JobStatistic for MonotoneSpec<F> {
    fn fields(&self) -> Vec<StatedField> {
        let each = Some(format!("\"{}\"", self.each.word()));
        let own = [("of", self.each.of().map(text)), ("each", each), ("grid", Some(self.grid.stated()))];
        own.into_iter().chain(grouping::fields(self.grouping())).collect()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn noise_kinds(&self) -> &'static [NoiseKind] {
        &[NoiseKind::Gaussian, NoiseKind::Laplace, NoiseKind::Exponential]
    }

    fn contribution(&self) -> ContributionKind {
        ContributionKind::OneValue
    }

    /// Refuses a grid of more digits than are released, and parts of a record.
    fn check(&self, check: &StatisticCheck<'_>) -> Option<()> {
        if self.each == MaximumOf::Count && check.by_record {
            let remedy = format!("each = \"{}\": a record is one record", F::EACH[0]);
            check.table.descendant(&["each"]).conflict::<()>("records of a record", remedy);
        }
        let (numbers, nodes) = match &self.grid {
            GridSpec::Log(digits) if *digits != 0 && self.each == MaximumOf::Count => {
                let remedy = "\"log\": records are counted one by one";
                return check.table.descendant(&["grid"]).conflict("steps for a count of records", remedy);
            }
            GridSpec::Log(_) | GridSpec::SignedLog => return Some(()),
            GridSpec::List(answers) => (answers.clone(), check.table.descendant(&["grid"]).list()?),
            GridSpec::Steps { from, to, step } => {
                let nodes = ["from", "to", "step"].map(|name| check.table.descendant(&["grid", name]));
                (vec![*from, *to, *step], nodes.to_vec())
            }
        };
        steps::check_exact(&numbers, &nodes)?;
        let part = numbers.iter().position(|number| !number.is_whole());
        match part.filter(|_| self.each == MaximumOf::Count).and_then(|index| nodes.get(index)) {
            Some(node) => node.conflict("a part of a record", "whole numbers: records are counted"),
            None => Some(()),
        }
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        let (_, point) = self.grid().map_err(|invalid| UnfitJob::at("grid", &invalid))?;
        Ok(self.each.of().map(|of| (of.to_owned(), point)).into_iter().collect())
    }

    fn cut(&self, limits: ContributionBound, _: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Cut::two_steps(&limits))
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let largest = self.largest(terms)?;
        let ready = terms.noise.prepare(&largest)?;
        Ok(PreparedStatistic {
            sensitivities: vec![NumberSensitivity::of_ranks(largest.sensitivity())],
            finding: ready.finding(),
            threshold: ready.threshold(),
            intervals: ready.reaches().to_vec(),
            ..PreparedStatistic::of(&ready, ready.noise())
        })
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        matches!(parameter, "grid" | "step").then_some("grid")
    }

    fn describe(&self, unit: &str) -> String {
        let what = F::describe(&self.each, unit) + &grouping::describe(self.grouping());
        format!("{what}, among {}", self.grid.describe(self.each.of()))
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Summed
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let (value, (grid, _)) = (released.steps()?, self.grid().ok()?);
        let cells = exact.tops.cells(released);
        Some(released.ranked(cells.map(|tops| F::shown_in_a_demo(&tops, &grid, value))))
    }
}

impl<F: JobFunction> StatisticFlow for MonotoneSpec<F> {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let search = self.largest(&flow.terms).map(Searching::new);
        // The exact numbers before contribution bounding have the same stages.
        flow.release(flow.bounded.clone().ask(flow.key(None), flow.value(), search), false, |exact| {
            (exact.tops.tally.clone(), Some(exact.tops.truth.clone()))
        })
    }
}

impl<F: JobFunction> Mechanism<Largest<CellKey, F>> for ConfiguredNoise {
    type Prepared = PreparedMaximum<F>;

    fn prepare(&self, largest: &Largest<CellKey, F>) -> Result<PreparedMaximum<F>, Invalid> {
        match self.kind() {
            NoiseKind::Gaussian => {
                BinarySearch::gaussian(self.cost()).prepare(largest).map(PreparedMaximum::Searched)
            }
            NoiseKind::Laplace => {
                BinarySearch::laplace(self.cost()).prepare(largest).map(PreparedMaximum::Searched)
            }
            NoiseKind::Exponential => {
                Exponential::cost(self.cost()).prepare(largest).map(PreparedMaximum::Inverted)
            }
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }
}

// The two mechanisms by which a job finds a monotone function, as one type: its pipeline is then built once.

/// A monotone function, prepared to be released.
#[derive(Clone, Debug)]
pub(crate) enum PreparedMaximum<F> {
    /// Search by noised comparisons.
    Searched(Searched<CellKey, F>),
    /// A single draw of the exponential mechanism.
    Inverted(Inverted<CellKey, F>),
}

macro_rules! either {
    ($found:expr, $ready:pat => $what:expr) => {
        match $found {
            PreparedMaximum::Searched($ready) => $what,
            PreparedMaximum::Inverted($ready) => $what,
        }
    };
}

impl<F: Monotone> PreparedMaximum<F> {
    /// Returns the noise, and the promised ranks.
    pub(crate) fn noise(&self) -> &[Noised] {
        either!(self, ready => ready.noise())
    }

    /// Returns the half-widths of the intervals, in people.
    pub(crate) fn reaches(&self) -> &[f64] {
        either!(self, ready => ready.reaches())
    }

    /// Returns the number of people from which a key is released, with partition selection.
    pub(crate) fn threshold(&self) -> Option<i64> {
        either!(self, ready => ready.threshold())
    }

    /// Returns the figures of keys that are to be discovered.
    pub(crate) fn finding(&self) -> Option<KeyFinding> {
        either!(self, ready => ready.finding())
    }
}

impl<F> Sealed for PreparedMaximum<F> {}

impl<F: Monotone> Prepared for PreparedMaximum<F> {
    type Tally = Cells<CellKey, Tops>;
    type Answer = Answer<CellKey, i128>;
    type Value = i128;

    fn tally(&self) -> Cells<CellKey, Tops> {
        either!(self, ready => ready.tally())
    }

    fn cost(&self) -> &ReleaseCost {
        either!(self, ready => ready.cost())
    }

    fn parameters(&self) -> Digest {
        either!(self, ready => ready.parameters())
    }

    fn remembers(&self) -> bool {
        either!(self, ready => ready.remembers())
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        either!(self, ready => ready.accepts(state))
    }

    fn largest_needed(&self) -> Option<usize> {
        either!(self, ready => ready.largest_needed())
    }

    fn draw(
        &self,
        exact: Cells<CellKey, Tops>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<CellKey, i128>> {
        either!(self, ready => ready.draw(exact, state, noise))
    }
}
