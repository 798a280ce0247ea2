//! Statistics by rank: the largest value of a field, and its quantiles.
//!
//! Both are answered on a grid, a public list of possible answers. The grid is written exactly: a step that
//! does not lead from one end to the other is refused, and no end is moved.

use dashu_int::{IBig, UBig};

use super::mistake::MistakeDetail;
use super::node::{ConfigNode, TableNode};
use super::number::{ConfigNumber, QuantileFraction};
use super::privacy::{Privacy, Protected};
use super::release::{NoiseKind, ReleaseSpec};
use super::statistic::{StatisticSpec, ascending_numbers, measure};
use crate::job::MistakeKind;
use crate::job::release_plan::misfit;

/// The one value of a person among which the largest is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaximumOf {
    /// The greatest value of this field in the person's records.
    Greatest(String),
    /// The sum of this field over the person's records.
    Sum(String),
    /// The number of the person's records.
    Count,
}

/// The grid of possible answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GridSpec {
    /// Zero, and from one step on sixteen answers in every doubling. The step is 10^-n for the given number
    /// n.
    Log(i32),
    /// A logarithmic grid of whole numbers, on both sides of zero.
    SignedLog,
    /// Answers at an even step from one end to the other.
    Steps {
        /// The first answer.
        from: ConfigNumber,
        /// The last answer.
        to: ConfigNumber,
        /// The distance between two answers.
        step: ConfigNumber,
    },
    /// The listed answers, in ascending order.
    List(Vec<ConfigNumber>),
}

/// The quantiles of a field that a release publishes, and their possible answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuantilesSpec {
    /// The field.
    pub of: String,
    /// The fractions of the quantiles; at least one, in ascending order.
    pub q: Vec<QuantileFraction>,
    /// The lower end of the range in which values count.
    pub low: ConfigNumber,
    /// The upper end of the range in which values count.
    pub high: ConfigNumber,
    /// The distance between two answers; as fine as the range allows if it is left out.
    pub step: Option<ConfigNumber>,
}

/// The most answers in a range, so that their number times any weight fits 128 bits.
const MOST_POINTS: u64 = 1 << 40;
/// The most answers for permute-and-flip, which evaluates every one.
const MOST_FLIPPED: u64 = 1 << 16;
/// The most quantiles of one field: more are a histogram.
const MOST_QUANTILES: usize = 100;
/// The most digits of a step after its decimal point, or zeros before it.
const DIGITS: i32 = 18;

impl MaximumOf {
    /// Returns the word of the job file.
    pub fn word(&self) -> &'static str {
        match self {
            MaximumOf::Greatest(_) => "greatest",
            MaximumOf::Sum(_) => "sum",
            MaximumOf::Count => "count",
        }
    }

    /// Returns the field that is read.
    pub fn of(&self) -> Option<&str> {
        match self {
            MaximumOf::Greatest(of) | MaximumOf::Sum(of) => Some(of),
            MaximumOf::Count => None,
        }
    }
}

impl GridSpec {
    /// Returns the number of answers from one number to another, both included; `None` if the step does not
    /// divide the distance.
    pub(in crate::job) fn answer_count(
        from: ConfigNumber,
        to: ConfigNumber,
        step: ConfigNumber,
    ) -> Option<u64> {
        let power = [from, to, step].iter().map(|number| number.parts().1).min()?;
        let whole = |number: ConfigNumber| {
            let (digits, own) = number.parts();
            IBig::from(digits) * IBig::from(10u8).pow((own - power).unsigned_abs() as usize)
        };
        let (_, length) = (whole(to) - whole(from)).into_parts();
        let (_, step) = whole(step).into_parts();
        let divides = step != UBig::ZERO && (&length % &step) == UBig::ZERO;
        divides.then(|| u64::try_from(length / step).ok()?.checked_add(1))?
    }
}

/// Reads the fields of `max`, except its keys.
pub(super) fn max(fields: &TableNode<'_>) -> Option<(MaximumOf, GridSpec)> {
    let each = each(fields);
    let grid = fields.read("grid", |node| grid(&node));
    Some((each?, grid?))
}

fn each(fields: &TableNode<'_>) -> Option<MaximumOf> {
    let words = [("greatest", "greatest"), ("sum", "sum"), ("count", "count")];
    let word = match fields.node("each") {
        Some(node) => node.one_of(&words),
        None => Some("greatest"),
    };
    let of = fields.node("of");
    match (word?, of) {
        ("count", None) => Some(MaximumOf::Count),
        ("count", Some(of)) => {
            of.conflict("a field beside a count of records", "no field, or each = \"sum\" or \"greatest\"")
        }
        // The unknown field was probably meant to be this one.
        (_, None) if !fields.known => None,
        (_, None) => {
            let remedy = "the field of, or each = \"count\" for a person's records";
            fields.refuse("of", MistakeDetail::new(MistakeKind::Missing, "nothing", remedy))
        }
        ("sum", Some(of)) => of.non_empty_text().map(MaximumOf::Sum),
        (_, Some(of)) => of.non_empty_text().map(MaximumOf::Greatest),
    }
}

fn grid(node: &ConfigNode<'_>) -> Option<GridSpec> {
    if node.is_list() {
        return ascending_numbers(node, "answers").map(GridSpec::List);
    }
    if !node.is_table() {
        return node.one_of(&[("log", GridSpec::Log(0)), ("signed log", GridSpec::SignedLog)]);
    }
    if node.has("log") {
        let fields = node.fields(&["log"], &[])?;
        return fields.read("log", |node| match number(&node)?.parts() {
            (1, power) if power.abs() <= DIGITS => Some(GridSpec::Log(-power)),
            _ => node.refuse("a step that is no power of ten", "a power of ten, such as 0.01 for cents"),
        });
    }
    let fields = node.fields(&["from", "to", "step"], &[])?;
    let read = |name| fields.read(name, |node| number(&node));
    let (from, to, step) = (read("from"), read("to"), read("step"));
    let (from, to, step) = (from?, to?, step?);
    if from >= to {
        return node.descendant(&["to"]).refuse("an end that is not after from", "a number above from");
    }
    check_step(&node.descendant(&["step"]), from, to, step)?;
    Some(GridSpec::Steps { from, to, step })
}

/// Reads the fields of `quantile`, except its keys.
pub(super) fn quantiles(fields: &TableNode<'_>) -> Option<QuantilesSpec> {
    let q = fields.read("q", |node| fractions(&node));
    let measure = measure(fields);
    let step = fields.node("step").map(|node| number(&node).map(|step| (node, step)));
    let (q, measure) = (q?, measure?);
    let step = match step {
        None => None,
        Some(read) => {
            let (node, step) = read?;
            check_step(&node, measure.low, measure.high, step)?;
            Some(step)
        }
    };
    Some(QuantilesSpec { of: measure.of, q, low: measure.low, high: measure.high, step })
}

/// Refuses a step that does not lead from the first answer to the last, and a range of too many answers.
fn check_step(node: &ConfigNode<'_>, from: ConfigNumber, to: ConfigNumber, step: ConfigNumber) -> Option<()> {
    if step <= ConfigNumber::ZERO {
        return node.refuse("a step that is not above 0", "the distance between two answers");
    }
    match GridSpec::answer_count(from, to, step) {
        Some(2..=MOST_POINTS) => Some(()),
        Some(_) => node.refuse("a step of more than 2^40 answers", "a larger step"),
        None => node.conflict(
            "a step that does not lead from the first answer to the last",
            "a step of which the range is a whole multiple",
        ),
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

fn number(node: &ConfigNode<'_>) -> Option<ConfigNumber> {
    node.accept(ConfigNumber::parse(node.number("a number, without quotes")?))
}

/// Checks a statistic by rank against the rest of the file. Answers are released as they are written, so no
/// digit of them is rounded.
pub(super) fn agree(node: &ConfigNode<'_>, release: &ReleaseSpec, privacy: &Privacy) -> Option<()> {
    match &release.statistic {
        StatisticSpec::Max { each, grid, .. } => {
            let place = node.descendant(&["max"]);
            if *each == MaximumOf::Count && privacy.privacy_unit == Protected::Record {
                let remedy = "each = \"greatest\": a record is one record";
                place.descendant(&["each"]).conflict::<()>("records of a record", remedy);
            }
            let (numbers, nodes) = match grid {
                GridSpec::Log(0) | GridSpec::SignedLog => return Some(()),
                GridSpec::Log(_) if *each == MaximumOf::Count => {
                    let remedy = "\"log\": records are counted one by one";
                    return place.descendant(&["grid"]).conflict("steps for a count of records", remedy);
                }
                GridSpec::Log(_) => return Some(()),
                GridSpec::List(answers) => (answers.clone(), place.descendant(&["grid"]).list()?),
                GridSpec::Steps { from, to, step } => {
                    let nodes = ["from", "to", "step"].map(|name| place.descendant(&["grid", name]));
                    (vec![*from, *to, *step], nodes.to_vec())
                }
            };
            exact(&numbers, &nodes)?;
            let part = numbers.iter().position(|number| !number.is_whole());
            match part.filter(|_| *each == MaximumOf::Count).and_then(|index| nodes.get(index)) {
                Some(node) => node.conflict("a part of a record", "whole numbers: records are counted"),
                None => Some(()),
            }
        }
        StatisticSpec::Quantile(quantiles, _) => {
            let place = node.descendant(&["quantile"]);
            check_permute_and_flip(node, release, privacy, quantiles);
            let step = quantiles.step?;
            let mut nodes = place.descendant(&["range"]).list()?;
            nodes.push(place.descendant(&["step"]));
            exact(&[quantiles.low, quantiles.high, step], &nodes)
        }
        _ => Some(()),
    }
}

fn exact(numbers: &[ConfigNumber], nodes: &[ConfigNode<'_>]) -> Option<()> {
    match misfit(numbers) {
        None => Some(()),
        Some((index, remedy)) => nodes.get(index)?.conflict("more digits than are told apart", remedy),
    }
}

/// Refuses permute-and-flip under a budget that is not pure epsilon, in which alone it is private, and on a
/// grid of too many answers, since it evaluates every one.
fn check_permute_and_flip(
    node: &ConfigNode<'_>,
    release: &ReleaseSpec,
    privacy: &Privacy,
    quantiles: &QuantilesSpec,
) {
    if release.noise != NoiseKind::PermuteAndFlip {
        return;
    }
    if !privacy.budget.is_pure() {
        let remedy = "exponential, or a budget of epsilon alone: only there is it nearer";
        node.descendant(&["noise"])
            .conflict::<()>("permute-and-flip under a budget that is not pure", remedy);
    }
    let place = node.descendant(&["quantile"]);
    let Some(step) = quantiles.step else {
        let remedy = "a step, of which the range has at most 65,536; or the noise exponential";
        place.record_mistake::<()>(MistakeDetail::new(
            MistakeKind::Missing,
            "permute-and-flip without a step",
            remedy,
        ));
        return;
    };
    if GridSpec::answer_count(quantiles.low, quantiles.high, step).is_none_or(|points| points > MOST_FLIPPED)
    {
        let remedy = "a larger step, or the noise exponential";
        place.descendant(&["step"]).conflict::<()>("more than 65,536 answers for permute-and-flip", remedy);
    }
}

#[cfg(test)]
mod tests;
