//! A field of numbers with its range, and lists of numbers.

use super::{StatedField, ValueField, steps};
use crate::job::config::{ConfigNode, ConfigNumber, TableNode, text};
use crate::job::statistics::steps::StepSize;
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{DecimalPoint, Range};

/// A field and the range to which its values are clamped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasureSpec {
    /// The field.
    pub of: String,
    /// The lower end of the range.
    pub low: ConfigNumber,
    /// The upper end of the range.
    pub high: ConfigNumber,
}

/// The most numbers in a list.
const MOST_LISTED: usize = 10_000;

impl MeasureSpec {
    /// Returns the fields that state it.
    pub(super) fn fields(&self) -> [StatedField; 2] {
        let MeasureSpec { of, low, high } = self;
        [("of", Some(text(of))), ("range", Some(format!("[{low}, {high}]")))]
    }

    /// Returns the range in steps, and the decimal point of a step.
    pub(super) fn range(&self, size: StepSize) -> Result<(Range, DecimalPoint), crate::Invalid> {
        steps::of_range(self.low, self.high, size)
    }

    /// Returns the field with the decimal point of its steps.
    pub(super) fn values(&self, size: StepSize) -> Result<Vec<ValueField>, UnfitJob> {
        let (_, point) = self.range(size).map_err(|invalid| UnfitJob::at("range", &invalid))?;
        Ok(vec![(self.of.clone(), point)])
    }

    /// Returns the range in words.
    pub(super) fn ends(&self) -> String {
        format!("{} and {}", self.low, self.high)
    }
}

/// Reads a field with its range.
pub(super) fn read(fields: &TableNode<'_>) -> Option<MeasureSpec> {
    read_as(fields, ["of", "range"])
}

/// Reads a field with its range, which have these names.
pub(super) fn read_as(fields: &TableNode<'_>, [of, ends]: [&'static str; 2]) -> Option<MeasureSpec> {
    let of = fields.read(of, |node| node.non_empty_text());
    let [low, high] = fields.read(ends, |node| range(&node))?;
    Some(MeasureSpec { of: of?, low, high })
}

/// Reads a range.
pub(super) fn range(node: &ConfigNode<'_>) -> Option<[ConfigNumber; 2]> {
    match numbers(node)?[..] {
        [low, high] if low < high => Some([low, high]),
        [low, high] if low == high => {
            node.refuse("a range of one number", "two numbers, the lower one first")
        }
        [_, _] => node.refuse("a range that ends before it starts", "two numbers, the lower one first"),
        _ => node.refuse("a list of another length", "two numbers, as in [0, 100]"),
    }
}

/// Reads a list of numbers in ascending order.
pub(super) fn ascending_numbers(node: &ConfigNode<'_>, what: &str) -> Option<Vec<ConfigNumber>> {
    let numbers = numbers(node)?;
    if numbers.len() < 2 || numbers.len() > MOST_LISTED {
        return node.refuse("a list of another length", format!("2 to 10,000 {what}"));
    }
    match numbers.windows(2).all(|pair| pair[0] < pair[1]) {
        true => Some(numbers),
        false => {
            node.refuse(format!("{what} that do not rise"), format!("{what}, each above the one before"))
        }
    }
}

fn numbers(node: &ConfigNode<'_>) -> Option<Vec<ConfigNumber>> {
    let read =
        |entry: &ConfigNode<'_>| entry.accept(ConfigNumber::parse(entry.number("a number, without quotes")?));
    // All entries are read before any is missed, so that each mistake is reported.
    let read: Vec<Option<ConfigNumber>> = node.list()?.iter().map(read).collect();
    read.into_iter().collect()
}
