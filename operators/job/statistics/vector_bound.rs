//! The bound of the values of which `means` are released: ranges, an ellipsoid, or ranges that are found.

use super::StatedField;
use super::grid::number;
use super::measure::range;
use super::steps::{self, StepSize};
use crate::accounting::shape::{DataDomain, Norm};
use crate::invalid::Invalid;
use crate::job::config::{ConfigNode, ConfigNumber, TableNode, list};
use crate::mechanisms::stable::ASSUMED;
use crate::mechanisms::{DecimalPoint, Range};

/// The number of records of a key in a window for which ranges are found, if none is stated.
const PEOPLE: u64 = 1000;

/// The largest stated number of records.
const MOST_PEOPLE: u64 = 1 << 40;

/// The bound of the values of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum VectorBound {
    /// A range for each field, to which its values are clipped.
    Within(Vec<[ConfigNumber; 2]>),
    /// The half-axes of an ellipsoid around zero, to whose border vectors outside are brought.
    Over(Vec<ConfigNumber>),
    /// Ranges that may be far too wide, within which the library finds closer ones.
    FoundWithin {
        /// The range of each field.
        outer: Vec<[ConfigNumber; 2]>,
        /// The expected number of records of a key in a window.
        people: u64,
    },
    /// A box that holds every value that can come: the noise takes its shape from the records.
    Stable {
        /// The sides of the box, a range for each field.
        sides: Vec<[ConfigNumber; 2]>,
        /// The expected number of people of a key in a window.
        people: u64,
    },
}

/// The words of the bounds in a job file.
const WORDS: [&str; 4] = ["within", "over", "found_within", "stable"];

/// Reads the one bound of a table, with as many entries as it has fields.
pub(super) fn read(
    node: &ConfigNode<'_>,
    fields: &TableNode<'_>,
    count: Option<usize>,
) -> Option<VectorBound> {
    let word = match fields.present(&WORDS)[..] {
        [word] => word,
        // The unknown field was probably meant to be one of them.
        [] if !fields.known => return None,
        [] => return node.conflict("no bound of the values", "within, over, found_within, or stable"),
        [first, second, ..] => {
            let found = format!("{second} beside {first}");
            return fields.node(second)?.conflict(found, "one of within, over, found_within, and stable");
        }
    };
    let people = fields.node("people").map(|node| node.whole(1, MOST_PEOPLE));
    if let (Some(node), true) = (fields.node("people"), word == "within" || word == "over") {
        return node.conflict("a number of people beside a stated bound", "no people, or found_within");
    }
    if people.is_none() && word == "stable" {
        let remedy = "people = .. beside it: how many people a key is expected to have in a window";
        return node.conflict("stable without a number of people", remedy);
    }
    fields.read(word, |node| match word {
        "over" => entries(&node, count, |entry| match number(entry)? {
            axis if axis > ConfigNumber::ZERO => Some(axis),
            _ => entry.refuse("a number that is not above 0", "the largest distance from zero"),
        })
        .map(VectorBound::Over),
        "within" => entries(&node, count, range).map(VectorBound::Within),
        "stable" => {
            let sides = entries(&node, count, range)?;
            Some(VectorBound::Stable { sides, people: people.flatten()? })
        }
        _ => {
            let outer = entries(&node, count, range)?;
            Some(VectorBound::FoundWithin { outer, people: people.unwrap_or(Some(PEOPLE))? })
        }
    })
}

/// Reads one entry for each field.
fn entries<T>(
    node: &ConfigNode<'_>,
    count: Option<usize>,
    entry: impl Fn(&ConfigNode<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    // All entries are read before any is missed, so that each mistake is reported.
    let read: Vec<Option<T>> = node.list()?.iter().map(entry).collect();
    let read: Vec<T> = read.into_iter().collect::<Option<_>>()?;
    match count {
        Some(count) if count != read.len() => {
            node.refuse("a list of another length", "one entry for each field of `of`, in its order")
        }
        _ => Some(read),
    }
}

impl VectorBound {
    /// Returns the word of the job file.
    pub fn word(&self) -> &'static str {
        let [within, over, found, stable] = WORDS;
        match self {
            VectorBound::Within(_) => within,
            VectorBound::Over(_) => over,
            VectorBound::FoundWithin { .. } => found,
            VectorBound::Stable { .. } => stable,
        }
    }

    /// Returns the fields that state it.
    pub(super) fn fields(&self) -> Vec<StatedField> {
        let ranges =
            |ranges: &[[ConfigNumber; 2]]| list(&ranges.iter().map(|ends| list(ends)).collect::<Vec<_>>());
        match self {
            VectorBound::Within(ends) => vec![(self.word(), Some(ranges(ends)))],
            VectorBound::Over(axes) => vec![(self.word(), Some(list(axes)))],
            VectorBound::FoundWithin { outer: ends, people }
            | VectorBound::Stable { sides: ends, people } => {
                vec![(self.word(), Some(ranges(ends))), ("people", Some(people.to_string()))]
            }
        }
    }

    /// Returns the range of each field in its steps, and the decimal point of a step.
    pub(super) fn points(&self) -> Result<Vec<(Range, DecimalPoint)>, Invalid> {
        let each = |ends: &[[ConfigNumber; 2]], size: StepSize| {
            ends.iter().map(|[low, high]| steps::of_range(*low, *high, size)).collect()
        };
        match self {
            VectorBound::Within(ends) => each(ends, StepSize::Width),
            VectorBound::FoundWithin { outer, .. } => each(outer, StepSize::Fine),
            VectorBound::Stable { sides, .. } => each(sides, StepSize::Box),
            VectorBound::Over(axes) => steps::of_axes(axes),
        }
    }

    /// Returns the width of each range; `None` where the values decide the noise.
    pub(super) fn widths(&self) -> Option<Vec<f64>> {
        match self {
            VectorBound::Within(ends) => {
                Some(ends.iter().map(|[low, high]| high.to_f64() - low.to_f64()).collect())
            }
            VectorBound::Over(axes) => Some(axes.iter().map(|axis| 2.0 * axis.to_f64()).collect()),
            VectorBound::FoundWithin { .. } | VectorBound::Stable { .. } => None,
        }
    }

    /// Describes it.
    pub(super) fn describe(&self) -> String {
        let ranges = |ends: &[[ConfigNumber; 2]]| -> String {
            let each: Vec<String> = ends.iter().map(|[low, high]| format!("{low} to {high}")).collect();
            each.join(", ")
        };
        match self {
            VectorBound::Within(ends) => format!("each value kept within its range: {}", ranges(ends)),
            VectorBound::Over(axes) => {
                let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
                format!("kept in the ellipsoid around zero with the half-axes {}", axes.join(", "))
            }
            VectorBound::FoundWithin { outer, people } => format!(
                "kept in a region that is found for about {people} records, and followed from window to window, within {}",
                ranges(outer)
            ),
            VectorBound::Stable { sides, people } => format!(
                "with noise of the shape of the records, one of each person, for about {people} people in the box {} \
                 ({ASSUMED})",
                ranges(sides)
            ),
        }
    }
}

/// Returns the domain of these half-axes, and the norm of the error that the noise makes least.
pub(super) fn ellipsoid(points: &[(Range, DecimalPoint)]) -> Result<(DataDomain, Norm), Invalid> {
    let row = |at: usize| -> Vec<f64> {
        let axis = |(place, (range, _)): (usize, &(Range, DecimalPoint))| {
            if place == at { range.high() as f64 } else { 0.0 }
        };
        points.iter().enumerate().map(axis).collect()
    };
    let rows: Vec<Vec<f64>> = (0..points.len()).map(row).collect();
    Ok((DataDomain::ellipsoid(rows)?, Norm::EUCLIDEAN))
}
