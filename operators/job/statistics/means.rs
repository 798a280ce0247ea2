//! `means`: the means of several fields of a record, which share one count.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ExactCollectors, ReleaseFlow};
use super::prepared::NumberSensitivity;
use super::vector_bound::{self, VectorBound};
use super::{
    AnswerRange, CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, KeysSpec,
    NoiseKind, NoiseOptimality, NumberErrors, PreparedStatistic, StatedField, StatisticCheck, StatisticFlow,
    StatisticTerms, ValueField, grouping, optimality,
};
use crate::accounting::PrivacyCost;
use crate::dataflow::{Averaged, ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::config::{ConfigNode, ConfigNumber, list, text};
use crate::job::plan::short;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{
    ContributionBound, Coordinate, Cut, DecimalPoint, FollowedMeans, FoundMean, Keys, Mechanism, Moments,
    NoisyVectors, Ranges, Sensitivity, StableVectors, VectorMean, VectorRows,
};

/// The most fields of which one release has the means.
const MOST: usize = 32;

/// The means of several fields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeansSpec {
    /// The fields, in the order of the numbers of a line.
    pub of: Vec<String>,
    /// The bound of the values of a record.
    pub bound: VectorBound,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

/// The statistic of the library that a bound leads to.
enum VectorStatistic {
    Bounded(VectorMean<CellKey>),
    Found(FoundMean<CellKey>),
    Stable(StableVectors<CellKey>, u64),
}

impl MeansSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<MeansSpec> {
        let fields =
            node.fields(&["of"], &["within", "over", "found_within", "stable", "people", "by", "keys"])?;
        let of = fields.read("of", |node| names(&node));
        let bound = vector_bound::read(node, &fields, of.as_ref().map(Vec::len));
        let grouping = grouping::read(&fields, beside)?;
        Some(MeansSpec { of: of?, bound: bound?, grouping })
    }

    fn statistic(&self, limits: ContributionBound, keys: Keys<CellKey>) -> Result<VectorStatistic, Invalid> {
        let points = self.bound.points()?;
        let coordinates: Vec<Coordinate> = (self.of.iter().zip(points.iter().map(|(_, point)| *point)))
            .map(|(name, point)| Coordinate::named(name, point))
            .collect();
        let ranges = || Ranges::new(points.iter().map(|(range, _)| *range));
        Ok(match &self.bound {
            VectorBound::Within(_) => VectorStatistic::Bounded(
                VectorMean::clipped(&ranges()?, limits, keys)?.with_coordinates(coordinates)?,
            ),
            VectorBound::Over(_) => {
                let (domain, norm) = vector_bound::ellipsoid(&points)?;
                VectorStatistic::Bounded(
                    VectorMean::over(&domain, norm, limits, keys)?.with_coordinates(coordinates)?,
                )
            }
            VectorBound::FoundWithin { people, .. } => VectorStatistic::Found(
                FoundMean::new(&ranges()?, limits, keys)?.people(*people).with_coordinates(coordinates)?,
            ),
            VectorBound::Stable { people, .. } => {
                let vectors = StableVectors::new(ranges()?, limits, keys)?.with_coordinates(coordinates)?;
                VectorStatistic::Stable(vectors, *people)
            }
        })
    }

    fn stated_statistic(&self, terms: &StatisticTerms<'_>) -> Result<VectorStatistic, Invalid> {
        self.statistic(terms.limits, terms.keys.clone())
    }
}

/// Reads the names of the fields, each once.
fn names(node: &ConfigNode<'_>) -> Option<Vec<String>> {
    let nodes = node.list()?;
    if nodes.is_empty() || nodes.len() > MOST {
        return node.refuse("a list of another length", "1 to 32 fields");
    }
    let names: Vec<Option<String>> = nodes.iter().map(ConfigNode::non_empty_text).collect();
    let names: Vec<String> = names.into_iter().collect::<Option<_>>()?;
    for (at, node) in nodes.iter().enumerate() {
        if let Some(first) = names.iter().take(at).position(|other| *other == names[at]) {
            return node.conflict(format!("field {} again", first + 1), "each field once");
        }
    }
    Some(names)
}

impl Mechanism<VectorMean<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyVectors<CellKey>;

    fn prepare(&self, mean: &VectorMean<CellKey>) -> Result<NoisyVectors<CellKey>, Invalid> {
        self.additive(mean)
    }
}

impl Mechanism<FoundMean<CellKey>> for ConfiguredNoise {
    type Prepared = FollowedMeans<CellKey>;

    fn prepare(&self, mean: &FoundMean<CellKey>) -> Result<FollowedMeans<CellKey>, Invalid> {
        self.gaussian(mean)
    }
}

impl JobStatistic for MeansSpec {
    fn fields(&self) -> Vec<StatedField> {
        let of: Vec<String> = self.of.iter().map(|name| text(name)).collect();
        let own = std::iter::once(("of", Some(list(&of))));
        own.chain(self.bound.fields()).chain(grouping::fields(self.grouping())).collect()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn noise_kinds(&self) -> &'static [NoiseKind] {
        match self.bound {
            VectorBound::Within(_) => &[NoiseKind::Gaussian, NoiseKind::Laplace],
            // Their noise has the shape of an ellipsoid, which Gaussian noise alone can have.
            VectorBound::Over(_) | VectorBound::FoundWithin { .. } | VectorBound::Stable { .. } => {
                &[NoiseKind::Gaussian]
            }
        }
    }

    fn contribution(&self) -> ContributionKind {
        ContributionKind::Records
    }

    /// Returns true of a stable mean, whose test fails with a probability that is charged.
    fn has_delta(&self) -> bool {
        matches!(self.bound, VectorBound::Stable { .. })
    }

    /// Refuses keys that are still to be discovered where ranges or shapes are found for each of them.
    fn check(&self, check: &StatisticCheck<'_>) -> Option<()> {
        let discovers = self.grouping().is_some_and(|grouping| grouping.keys == KeysSpec::Discover);
        if discovers && matches!(self.bound, VectorBound::FoundWithin { .. } | VectorBound::Stable { .. }) {
            let found = format!("discovered keys beside {}", self.bound.word());
            let remedy = match self.bound {
                VectorBound::Stable { .. } => {
                    "a list of keys, or `within`: a stable mean is of keys that are known"
                }
                _ => "a list of keys, or `within`: ranges are found for keys that are known",
            };
            return check.table.descendant(&["keys"]).conflict(found, remedy);
        }
        Some(())
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        let points = self.bound.points().map_err(|invalid| UnfitJob::at(self.bound.word(), &invalid))?;
        Ok(self.of.iter().cloned().zip(points.iter().map(|(_, point)| *point)).collect())
    }

    fn cut(&self, limits: ContributionBound, _: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Cut::two_steps(&limits))
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let records = u128::from(terms.limits.per_key());
        let moved = |number: String, each: u128, point, parts| {
            let sensitivity = Sensitivity::each(&terms.limits, each)?;
            Ok(NumberSensitivity { number: number.into(), sensitivity, point, parts })
        };
        let counts = moved("records".to_owned(), records, DecimalPoint::WHOLE, 1.0)?;
        let mut numbers: Vec<String> = self.of.iter().map(|name| format!("sum of {name}")).collect();
        let mut sensitivities = match &self.bound {
            // The sums are in half units.
            VectorBound::Within(_) => (self.bound.points()?.into_iter().zip(&numbers))
                .map(|((range, point), name)| {
                    moved(name.clone(), records * u128::from(range.high().abs_diff(range.low())), point, 2.0)
                })
                .collect::<Result<Vec<_>, Invalid>>()?,
            _ => vec![moved("vectors".to_owned(), records, DecimalPoint::WHOLE, 1.0)?],
        };
        sensitivities.push(counts);
        let mut prepared = match self.stated_statistic(terms)? {
            VectorStatistic::Stable(vectors, people) => {
                let ready = terms.noise.for_people(people).prepare(&vectors)?;
                let (interval, fewest) = ready.in_deviations();
                let noise = ready.noise().first().copied();
                // A person is one record; of the shape of the noise nothing else is public.
                return Ok(PreparedStatistic {
                    numbers: vec![format!(
                        "each mean of {fewest} people, in standard deviations of the values"
                    )],
                    sensitivities: vec![moved("vectors".to_owned(), 1, DecimalPoint::WHOLE, 1.0)?],
                    intervals: vec![interval],
                    ..PreparedStatistic::of(&ready, noise.as_slice())
                });
            }
            VectorStatistic::Bounded(mean) => {
                let ready = terms.noise.prepare(&mean)?;
                PreparedStatistic {
                    finding: ready.finding(),
                    threshold: ready.threshold(),
                    intervals: ready.reaches().to_vec(),
                    ..PreparedStatistic::of(&ready, ready.noise())
                }
            }
            VectorStatistic::Found(mean) => {
                let ready = terms.noise.prepare(&mean)?;
                let [(sums, reach), (counts, counted)] = ready.in_deviations();
                numbers = vec!["each sum, in standard deviations of the values".to_owned()];
                PreparedStatistic {
                    intervals: vec![reach, counted],
                    ..PreparedStatistic::of(&ready, &[sums, counts])
                }
            }
        };
        numbers.push("records".to_owned());
        (prepared.sensitivities, prepared.numbers) = (sensitivities, numbers);
        Ok(prepared)
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        match parameter {
            "range" | "ranges" | "domain" | "ellipsoid" | "extent" => Some(self.bound.word()),
            "people" => Some("people"),
            _ => None,
        }
    }

    fn describe(&self, _: &str) -> String {
        let by = grouping::describe(self.grouping());
        let of = match &self.of[..] {
            [one] => format!("the mean of {one}"),
            several => format!("the means of {}", in_a_sentence(several)),
        };
        format!("{of}{by}, {}", self.bound.describe())
    }

    fn people_for_a_tenth(&self, errors: &NumberErrors) -> f64 {
        // A tenth of the width of each range; the count contributes its own noise times a mean's distance from the
        // middle, which is taken for half of that of an end. Of found ranges, a tenth of a standard deviation around their
        // centre.
        let needed = |(number, width): (usize, f64)| {
            10.0 * errors.of_sum(&[(number, width.recip()), (errors.last(), 0.25)])
        };
        match self.bound.widths() {
            Some(widths) => widths.into_iter().enumerate().map(needed).fold(0.0, f64::max),
            None => {
                let needed = 10.0 * errors.nth(0);
                match self.bound {
                    // The error of a mean falls with the number of people; with fewer than expected nothing is released.
                    VectorBound::Stable { people, .. } => needed.max(1.0) * people as f64,
                    _ => needed,
                }
            }
        }
    }

    fn error_is_of(&self) -> Option<String> {
        let Some(widths) = self.bound.widths() else {
            return Some("the standard deviation of the values".to_owned());
        };
        let widths: Vec<String> = widths.into_iter().map(short).collect();
        let of = if widths.len() == 1 { "the width of its range" } else { "the widths of their ranges" };
        Some(format!("{}, {of}", in_a_sentence(&widths)))
    }

    fn answer_ranges(&self) -> Vec<AnswerRange> {
        let ends = |[low, high]: &[ConfigNumber; 2]| (low.to_f64(), high.to_f64());
        let ranges: Vec<(f64, f64)> = match &self.bound {
            VectorBound::Within(ranges) | VectorBound::FoundWithin { outer: ranges, .. } => {
                ranges.iter().map(ends).collect()
            }
            VectorBound::Over(axes) => axes.iter().map(|axis| (-axis.to_f64(), axis.to_f64())).collect(),
            // Its lines have no interval.
            VectorBound::Stable { .. } => Vec::new(),
        };
        let range =
            |(of, (low, high)): (&String, (f64, f64))| AnswerRange { of: Some(of.clone()), low, high };
        self.of.iter().zip(ranges).map(range).collect()
    }

    fn optimality(&self, prepared: &PreparedStatistic, _: &PrivacyCost) -> Option<NoiseOptimality> {
        optimality::mean(prepared.noise.first()?)
    }

    fn finds_ranges(&self) -> bool {
        matches!(self.bound, VectorBound::FoundWithin { .. })
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Vectors { fields: self.of.len() as u64 }
    }

    fn unclamped(&self, field: usize) -> Option<(i64, i64)> {
        let points = self.bound.points().ok()?;
        points.get(field).map(|(range, _)| (range.low(), range.high()))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let place = self.of.iter().position(|name| Some(&**name) == released.of)?;
        let (_, point) = *self.bound.points().ok()?.get(place)?;
        let shown = |mean: Option<f64>| mean.map_or("null".to_owned(), |mean| point.float(mean).to_string());
        let [tally, truth] = exact.means_of(released, place);
        Some(format!(",\"tally\":{},\"truth\":{}", shown(tally), shown(truth)))
    }
}

/// Joins names as in "a, b and c".
fn in_a_sentence(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl StatisticFlow for MeansSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let bounded = flow.bounded.clone();
        match self.stated_statistic(&flow.terms)? {
            VectorStatistic::Bounded(mean) => {
                flow.show_means(&mean, |mean, numbers, window, key| {
                    mean.shown_in_a_demo(&numbers.moments.cell(window, key))
                });
                let collected =
                    |numbers: &ExactNumbers| -> ExactCollectors<Moments> { (numbers.moments.clone(), None) };
                flow.release(
                    bounded.ask(flow.key(None), flow.vector(), Ok(Averaged::new(mean))),
                    false,
                    collected,
                )?;
            }
            VectorStatistic::Found(mean) => {
                flow.show_means(&mean, |mean, numbers, window, key| {
                    mean.shown_in_a_demo(&numbers.rows.cell(window, key))
                });
                let collected =
                    |numbers: &ExactNumbers| -> ExactCollectors<VectorRows> { (numbers.rows.clone(), None) };
                flow.release(
                    bounded.ask(flow.key(None), flow.vector(), Ok(Averaged::new(mean))),
                    false,
                    collected,
                )?;
            }
            VectorStatistic::Stable(mean, people) => {
                flow.show_means(&mean, |mean, numbers, window, key| {
                    mean.shown_in_a_demo(&numbers.rows.cell(window, key))
                });
                let collected =
                    |numbers: &ExactNumbers| -> ExactCollectors<VectorRows> { (numbers.rows.clone(), None) };
                let noise = flow.terms.noise.for_people(people);
                let averaged = bounded.ask(flow.key(None), flow.vector(), Ok(Averaged::new(mean)));
                flow.release_with(&noise, averaged, false, collected)?;
            }
        }
        flow.show_everything_of_each()
    }
}
