//! `quantile`: quantiles of a field, or of one value of each person, as answers of a grid.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::grid::{GridSpec, check_step, number, stepped};
use super::max::{self, MaximumOf};
use super::prepared::NumberSensitivity;
use super::steps::StepSize;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, NoiseKind,
    PreparedStatistic, StatedField, StatisticCheck, StatisticFlow, StatisticTerms, ValueField, grouping,
    measure, steps,
};
use crate::dataflow::{ProtectedUnit, Ranking, RankingPeople, RunError};
use crate::invalid::Invalid;
use crate::job::MistakeKind;
use crate::job::config::{ConfigNode, ConfigNumber, MistakeDetail, QuantileFraction, TableNode, list, text};
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{
    ContributionBound, Cut, DecimalPoint, Exponential, Grid, Keys, Mechanism, PermuteAndFlip,
    PreparedQuantiles, Quantile, Quantiles, Statistic,
};

/// The quantiles that a release publishes, and their possible answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QuantileSpec {
    /// The values.
    pub each: RankedOf,
    /// The fractions of the quantiles; at least one, in ascending order.
    pub q: Vec<QuantileFraction>,
    /// The lower end of the range in which values count.
    pub low: ConfigNumber,
    /// The upper end of the range in which values count.
    pub high: ConfigNumber,
    /// The distance between two answers; as fine as the range allows if it is left out.
    pub step: Option<ConfigNumber>,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

/// The values among which a quantile is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankedOf {
    /// Those of this field, in the records that the bound keeps of each person.
    Values(String),
    /// One value of each person.
    Person(MaximumOf),
}

impl RankedOf {
    /// The word for the values themselves.
    const VALUES: &'static str = "value";

    /// The words of the job file, the first without one.
    const EACH: &'static [&'static str] = &[RankedOf::VALUES, "greatest", "least", "sum", "count"];

    fn read(fields: &TableNode<'_>) -> Option<RankedOf> {
        let is_stated = fields.node("each").is_some_and(|node| node.as_text() != Some(RankedOf::VALUES));
        if is_stated {
            return max::each(fields, RankedOf::EACH).map(RankedOf::Person);
        }
        match fields.node("of") {
            Some(of) => of.non_empty_text().map(RankedOf::Values),
            // The unknown field was probably meant to be this one.
            None if !fields.known => None,
            None => {
                let remedy = "the field of, or each = \"count\" for a person's records";
                fields.refuse("of", MistakeDetail::new(MistakeKind::Missing, "nothing", remedy))
            }
        }
    }

    /// Returns the word of the job file.
    pub fn word(&self) -> &'static str {
        match self {
            RankedOf::Values(_) => RankedOf::VALUES,
            RankedOf::Person(each) => each.word(),
        }
    }

    /// Returns the field that is read.
    pub fn of(&self) -> Option<&str> {
        match self {
            RankedOf::Values(of) => Some(of),
            RankedOf::Person(each) => each.of(),
        }
    }

    /// Returns the value of a person, if it is one.
    fn of_person(&self) -> Option<&MaximumOf> {
        match self {
            RankedOf::Values(_) => None,
            RankedOf::Person(each) => Some(each),
        }
    }

    fn describe(&self, unit: &str) -> String {
        match self {
            RankedOf::Values(of) => of.clone(),
            RankedOf::Person(MaximumOf::Greatest(of)) => format!("the greatest {of} of a {unit}"),
            RankedOf::Person(MaximumOf::Least(of)) => format!("the least {of} of a {unit}"),
            RankedOf::Person(MaximumOf::Sum(of)) => format!("the sum of {of} of a {unit}"),
            RankedOf::Person(MaximumOf::Count) => format!("the number of records of a {unit}"),
        }
    }
}

/// The most answers for permute-and-flip, which evaluates every one.
const MOST_FLIPPED: u64 = 1 << 16;
/// The most quantiles of one field: more are a histogram.
const MOST_QUANTILES: usize = 100;

impl QuantileSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<QuantileSpec> {
        let fields = node.fields(&["q", "range"], &["of", "each", "step", "by", "keys"])?;
        let q = fields.read("q", |node| fractions(&node));
        let each = RankedOf::read(&fields);
        let range = fields.read("range", |node| measure::range(&node));
        let step = fields.node("step").map(|node| number(&node).map(|step| (node, step)));
        let grouping = grouping::read(&fields, beside)?;
        let (q, each, [low, high]) = (q?, each?, range?);
        let step = match step {
            None => None,
            Some(read) => {
                let (node, step) = read?;
                check_step(&node, low, high, step)?;
                Some(step)
            }
        };
        Some(QuantileSpec { each, q, low, high, step, grouping })
    }

    /// Returns the answers in steps, and the decimal point of a step: without a stated step, a million
    /// answers or more.
    pub(in crate::job) fn grid(&self) -> Result<(Grid, DecimalPoint), Invalid> {
        if self.each == RankedOf::Person(MaximumOf::Count) {
            // Records are counted one by one.
            return stepped(&[self.low, self.high, self.step.unwrap_or(ConfigNumber::power(0))], 0);
        }
        let Some(step) = self.step else {
            let (range, point) = steps::of_range(self.low, self.high, StepSize::Width)?;
            return Ok((Grid::linear(range.low(), range.high(), 1)?, point));
        };
        stepped(&[self.low, self.high, step], steps::DIGITS)
    }

    fn fractions(&self) -> Result<Vec<Quantile>, Invalid> {
        self.q.iter().map(|q| Quantile::of(q.millionths().into(), 1_000_000)).collect()
    }

    fn quantiles(&self, terms: &StatisticTerms<'_>) -> Result<Quantiles<CellKey>, Invalid> {
        let (grid, _) = self.grid()?;
        let (fractions, limits, keys) = (self.fractions()?, terms.limits, terms.keys.clone());
        let quantiles = match self.each.of_person() {
            Some(each) => Quantiles::of_people(fractions, each.per_person(), grid, limits, keys)?,
            None => Quantiles::new(fractions, grid, limits, keys)?,
        };
        Ok(quantiles.with_point(terms.point))
    }

    /// Refuses permute-and-flip where it has no price, and on a grid of too many answers, since it evaluates every one.
    fn check_permute_and_flip(&self, check: &StatisticCheck<'_>) {
        if check.noise != NoiseKind::PermuteAndFlip {
            return;
        }
        check.permute_and_flip();
        let Some(step) = self.step else {
            let remedy = "a step, of which the range has at most 65,536; or the noise exponential";
            check.table.record_mistake::<()>(MistakeDetail::new(
                MistakeKind::Missing,
                "permute-and-flip without a step",
                remedy,
            ));
            return;
        };
        if GridSpec::answer_count(self.low, self.high, step).is_none_or(|points| points > MOST_FLIPPED) {
            let remedy = "a larger step, or the noise exponential";
            check
                .table
                .descendant(&["step"])
                .conflict::<()>("more than 65,536 answers for permute-and-flip", remedy);
        }
    }
}

fn fractions(node: &ConfigNode<'_>) -> Option<Vec<QuantileFraction>> {
    let read = |node: &ConfigNode<'_>| node.accept(QuantileFraction::of(&node.decimal()?));
    if !node.is_list() {
        return read(node).map(|fraction| vec![fraction]);
    }
    let entries = node.list()?;
    if entries.is_empty() || entries.len() > MOST_QUANTILES {
        return node.refuse("a list of another length", "1 to 100 quantiles");
    }
    // All entries are read before any is missed, so that each mistake is reported.
    let read: Vec<Option<QuantileFraction>> = entries.iter().map(read).collect();
    let fractions: Vec<QuantileFraction> = read.into_iter().collect::<Option<_>>()?;
    let falls = fractions.windows(2).position(|pair| pair[0] >= pair[1]);
    match falls.and_then(|before| entries.get(before + 1)) {
        None => Some(fractions),
        Some(entry) => {
            entry.refuse("a quantile that is not above the one before", "each quantile once, rising")
        }
    }
}

impl JobStatistic for QuantileSpec {
    fn fields(&self) -> Vec<StatedField> {
        let QuantileSpec { each, q, low, high, step, grouping } = self;
        let step = step.map(|step| step.to_string());
        let range = format!("[{low}, {high}]");
        let own = [
            ("of", each.of().map(text)),
            // It is left out where it is the usual one, so that versions from before it hold.
            ("each", each.of_person().map(|each| format!("\"{}\"", each.word()))),
            ("q", Some(list(q))),
            ("range", Some(range)),
            ("step", step),
        ];
        own.into_iter().chain(grouping::fields(grouping.as_ref())).collect()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn noise_kinds(&self) -> &'static [NoiseKind] {
        &[NoiseKind::Exponential, NoiseKind::PermuteAndFlip]
    }

    fn contribution(&self) -> ContributionKind {
        match self.each {
            RankedOf::Values(_) => ContributionKind::Records,
            RankedOf::Person(_) => ContributionKind::OneValue,
        }
    }

    /// Refuses ends and steps of more digits than are released, and permute-and-flip where it is not private.
    fn check(&self, check: &StatisticCheck<'_>) -> Option<()> {
        self.check_permute_and_flip(check);
        let mut nodes = check.table.descendant(&["range"]).list()?;
        if self.each == RankedOf::Person(MaximumOf::Count) {
            if check.by_record {
                let remedy = "each = \"value\": a record is one record";
                check.table.descendant(&["each"]).conflict::<()>("records of a record", remedy);
            }
            let step = self.step.map(|step| (step, check.table.descendant(&["step"])));
            let numbers = [self.low, self.high].into_iter().zip(nodes).chain(step);
            for (number, node) in numbers {
                if !number.is_whole() {
                    return node.conflict("a part of a record", "whole numbers: records are counted");
                }
            }
            return Some(());
        }
        let step = self.step?;
        nodes.push(check.table.descendant(&["step"]));
        steps::check_exact(&[self.low, self.high, step], &nodes)
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        self.fractions().map_err(|invalid| UnfitJob::at("q", &invalid))?;
        let (_, point) = self.grid().map_err(|invalid| UnfitJob::at("range", &invalid))?;
        Ok(self.each.of().map(|of| (of.to_owned(), point)).into_iter().collect())
    }

    fn cut(&self, limits: ContributionBound, _: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Cut::two_steps(&limits))
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let quantiles = self.quantiles(terms)?;
        let ready = terms.noise.prepare(&quantiles)?;
        Ok(PreparedStatistic {
            sensitivities: vec![NumberSensitivity::of_ranks(quantiles.sensitivity())],
            finding: ready.finding(),
            threshold: ready.threshold(),
            intervals: ready.reaches().to_vec(),
            ..PreparedStatistic::of(&ready, ready.noise())
        })
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        match parameter {
            "grid" | "step" | "range" => Some("range"),
            "q" => Some("q"),
            _ => None,
        }
    }

    fn describe(&self, unit: &str) -> String {
        let QuantileSpec { each, q, low, high, step, grouping } = self;
        let of = each.describe(unit);
        let (s, q) = (if q.len() == 1 { "" } else { "s" }, in_words(q));
        let steps = step.map_or(String::new(), |step| format!(" in steps of {step}"));
        let by = grouping::describe(grouping.as_ref());
        format!("the quantile{s} {q} of {of}{by}, from {low} to {high}{steps}")
    }

    fn memory(&self) -> KeyMemory {
        match self.each {
            RankedOf::Values(_) => KeyMemory::Records,
            RankedOf::Person(_) => KeyMemory::Summed,
        }
    }

    fn unclamped(&self, _: usize) -> Option<(i64, i64)> {
        // The range is one of values.
        if matches!(self.each, RankedOf::Person(MaximumOf::Sum(_) | MaximumOf::Count)) {
            return None;
        }
        let (grid, _) = self.grid().ok()?;
        grid.at(1).zip(grid.at(grid.top()))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let (quantile, value): (Quantile, i64) = (released.q?.parse().ok()?, released.steps()?);
        let cells = exact.values.cells(released);
        let (grid, _) = self.grid().ok()?;
        Some(released.ranked(cells.map(|values| values.shown_in_a_demo(quantile, &grid, value))))
    }
}

/// Joins fractions as `a`, `a and b`, `a, b and c`.
fn in_words(fractions: &[QuantileFraction]) -> String {
    let words: Vec<String> = fractions.iter().map(ToString::to_string).collect();
    match &words[..] {
        [first @ .., before, last] if !first.is_empty() => {
            format!("{}, {before} and {last}", first.join(", "))
        }
        _ => words.join(" and "),
    }
}

impl StatisticFlow for QuantileSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let (quantiles, asked) = (self.quantiles(&flow.terms), flow.bounded.clone());
        // The exact numbers before contribution bounding have the same stages.
        let exact = |exact: &ExactNumbers| (exact.values.tally.clone(), Some(exact.values.truth.clone()));
        match self.each.of_person() {
            Some(each) => {
                let ranking = quantiles.map(|quantiles| RankingPeople::new(quantiles, each.per_person()));
                flow.release(asked.ask(flow.key(None), flow.value(), ranking), false, exact)
            }
            None => flow.release(
                asked.ask(flow.key(None), flow.value(), quantiles.map(Ranking::new)),
                false,
                exact,
            ),
        }
    }
}

impl Mechanism<Quantiles<CellKey>> for ConfiguredNoise {
    type Prepared = PreparedQuantiles<CellKey>;

    fn prepare(&self, quantiles: &Quantiles<CellKey>) -> Result<PreparedQuantiles<CellKey>, Invalid> {
        match self.kind() {
            NoiseKind::Exponential => Exponential::cost(self.cost()).prepare(quantiles),
            NoiseKind::PermuteAndFlip => PermuteAndFlip::cost(self.cost()).prepare(quantiles),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }
}
