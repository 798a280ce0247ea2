//! The statistic of a release: one of seven, for the whole window or by key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::mistake::MistakeDetail;
use super::node::{ConfigNode, TableNode};
use super::number::ConfigNumber;
use super::ranks::{self, GridSpec, MaximumOf, QuantilesSpec};
use crate::job::MistakeKind;

/// The statistic that is published about a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StatisticSpec {
    /// The number of records.
    Count(Option<GroupingSpec>),
    /// The number of people.
    People(Option<GroupingSpec>),
    /// The sum of a field, each person's sum clamped to a range.
    Sum(MeasureSpec, Option<GroupingSpec>),
    /// The mean of a field, each record's value clamped to a range.
    Mean(MeasureSpec, Option<GroupingSpec>),
    /// The number of records between each two edges of a field.
    Histogram {
        /// The field.
        of: String,
        /// Two or more edges, in ascending order.
        edges: Vec<ConfigNumber>,
    },
    /// The largest value among people.
    Max {
        /// The value of each person.
        each: MaximumOf,
        /// The grid of possible answers.
        grid: GridSpec,
        /// The grouping by key, if there is one.
        grouping: Option<GroupingSpec>,
    },
    /// Quantiles of a field.
    Quantile(QuantilesSpec, Option<GroupingSpec>),
}

/// The grouping of a statistic by key (partition).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupingSpec {
    /// The field that holds the key.
    pub by: String,
    /// The selection of keys.
    pub keys: KeysSpec,
}

/// The selection of the keys of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeysSpec {
    /// The listed keys, in every window, in the order of their bytes.
    Listed(Vec<String>),
    /// The keys in the lines of this file.
    File(PathBuf),
    /// Partition selection: the keys that enough people have.
    Discover,
}

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

/// The words of the statistics.
pub(super) const WORDS: [&str; 7] = ["count", "people", "sum", "mean", "histogram", "max", "quantile"];

/// The most listed keys: a longer list belongs into a file.
const MOST_KEYS: usize = 100_000;
/// The longest key, in bytes.
const LONGEST_KEY: usize = 1_024;
const MOST_LISTED: usize = 10_000;

impl StatisticSpec {
    /// Returns the grouping by key, if there is one.
    pub fn grouping(&self) -> Option<&GroupingSpec> {
        match self {
            StatisticSpec::Count(by)
            | StatisticSpec::People(by)
            | StatisticSpec::Sum(_, by)
            | StatisticSpec::Mean(_, by)
            | StatisticSpec::Max { grouping: by, .. }
            | StatisticSpec::Quantile(_, by) => by.as_ref(),
            StatisticSpec::Histogram { .. } => None,
        }
    }

    /// Returns the word of the job file.
    pub fn word(&self) -> &'static str {
        match self {
            StatisticSpec::Count(_) => "count",
            StatisticSpec::People(_) => "people",
            StatisticSpec::Sum(..) => "sum",
            StatisticSpec::Mean(..) => "mean",
            StatisticSpec::Histogram { .. } => "histogram",
            StatisticSpec::Max { .. } => "max",
            StatisticSpec::Quantile(..) => "quantile",
        }
    }
}

/// Reads the statistic of this word, which is one of [`WORDS`].
pub(super) fn read(word: &str, node: &ConfigNode<'_>, beside: &Path) -> Option<StatisticSpec> {
    match word {
        "histogram" => {
            let fields = node.fields(&["of", "edges"], &[])?;
            let of = fields.read("of", |node| node.non_empty_text());
            let edges = fields.read("edges", |node| ascending_numbers(&node, "edges"));
            Some(StatisticSpec::Histogram { of: of?, edges: edges? })
        }
        "sum" | "mean" => {
            let fields = node.fields(&["of", "range"], &["by", "keys"])?;
            let (measure, by) = (measure(&fields), grouping(&fields, beside)?);
            let statistic = if word == "sum" { StatisticSpec::Sum } else { StatisticSpec::Mean };
            Some(statistic(measure?, by))
        }
        "max" => {
            let fields = node.fields(&["grid"], &["of", "each", "by", "keys"])?;
            let (max, grouping) = (ranks::max(&fields), grouping(&fields, beside)?);
            let (each, grid) = max?;
            Some(StatisticSpec::Max { each, grid, grouping })
        }
        "quantile" => {
            let fields = node.fields(&["of", "q", "range"], &["step", "by", "keys"])?;
            let (quantiles, by) = (ranks::quantiles(&fields), grouping(&fields, beside)?);
            Some(StatisticSpec::Quantile(quantiles?, by))
        }
        _ => {
            let by = grouping(&node.fields(&[], &["by", "keys"])?, beside)?;
            Some(if word == "people" { StatisticSpec::People(by) } else { StatisticSpec::Count(by) })
        }
    }
}

fn grouping(fields: &TableNode<'_>, beside: &Path) -> Option<Option<GroupingSpec>> {
    let by = fields.node("by");
    let keys = fields.node("keys");
    match (by, keys) {
        (None, None) => Some(None),
        (Some(by), Some(keys)) => {
            let (by, keys) = (by.non_empty_text(), key_words(&keys, beside));
            Some(Some(GroupingSpec { by: by?, keys: keys? }))
        }
        (Some(by), None) => by.record_mistake(MistakeDetail::new(
            MistakeKind::Missing,
            "a field without its keys",
            "keys beside it: a list, { file = .. } or \"discover\"",
        )),
        (None, Some(keys)) => keys.conflict("keys of no field", "by, the field that holds the key"),
    }
}

fn key_words(node: &ConfigNode<'_>, beside: &Path) -> Option<KeysSpec> {
    if node.is_table() {
        let fields = node.fields(&["file"], &[])?;
        let file = fields.node("file")?;
        let path = file.non_empty_text()?;
        return match path.contains(['*', '?', '[']) {
            true => file.refuse("a pattern", "one file, of keys that are public"),
            false => Some(KeysSpec::File(beside.join(path))),
        };
    }
    if !node.is_list() {
        return match node.text()? {
            "discover" => Some(KeysSpec::Discover),
            word => node.record_mistake(MistakeDetail {
                remedy: "a list of keys, { file = .. } or \"discover\"".into(),
                ..MistakeDetail::unknown_word(word, &["discover"])
            }),
        };
    }
    let entries = node.list()?;
    if entries.is_empty() {
        return node.refuse("an empty list", "at least one key");
    }
    if entries.len() > MOST_KEYS {
        return node.refuse("more than 100,000 keys", "{ file = .. }");
    }
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sound = true;
    for (index, entry) in entries.iter().enumerate() {
        let Some(key) = entry.text() else {
            sound = false;
            continue;
        };
        if key.is_empty() || key.len() > LONGEST_KEY {
            sound = false;
            entry.refuse::<()>(
                if key.is_empty() { "an empty key" } else { "a long key" },
                "a key of 1 to 1,024 bytes",
            );
        }
        if let Some(first) = first.insert(key, index + 1) {
            sound = false;
            entry.conflict::<()>(format!("the key of entry {first} again"), "each key once");
        }
    }
    sound.then(|| KeysSpec::Listed(first.into_keys().map(str::to_owned).collect()))
}

pub(super) fn measure(fields: &TableNode<'_>) -> Option<MeasureSpec> {
    let of = fields.read("of", |node| node.non_empty_text());
    let range = fields.read("range", |node| match numbers(&node)?[..] {
        [low, high] if low < high => Some((low, high)),
        [low, high] if low == high => {
            node.refuse("a range of one number", "two numbers, the lower one first")
        }
        [_, _] => node.refuse("a range that ends before it starts", "two numbers, the lower one first"),
        _ => node.refuse("a list of another length", "two numbers, as in [0, 100]"),
    });
    let (low, high) = range?;
    Some(MeasureSpec { of: of?, low, high })
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
