//! What a release publishes: one of seven statistics, for all or by key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::located::Wrong;
use super::node::{Fields, Node};
use super::number::Number;
use super::ranks::{self, Each, Grid, Quantiles};
use crate::job::MistakeKind;

/// What is published about a window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statistic {
    /// How many records.
    Count(Option<Grouping>),
    /// How many people.
    People(Option<Grouping>),
    /// The sum of a field, each person's within a range.
    Sum(Measure, Option<Grouping>),
    /// The mean of a field, each record's within a range.
    Mean(Measure, Option<Grouping>),
    /// How many records between each two edges of a field.
    Histogram {
        /// The field.
        of: String,
        /// Two or more, rising.
        edges: Vec<Number>,
    },
    /// The largest of what people have.
    Max {
        /// What a person has.
        each: Each,
        /// The possible answers.
        grid: Grid,
        /// By what it is told apart.
        grouping: Option<Grouping>,
    },
    /// Quantiles of a field.
    Quantile(Quantiles, Option<Grouping>),
}

/// By what a statistic is told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grouping {
    /// The field that holds the key.
    pub by: String,
    /// Which keys there are.
    pub keys: Keys,
}

/// Which keys a release has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// These, in every window, in the order of their bytes.
    Listed(Vec<String>),
    /// The lines of this file.
    File(PathBuf),
    /// Those that enough people have.
    Discover,
}

/// A field and the range within which it counts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measure {
    /// The field.
    pub of: String,
    /// The least that counts.
    pub low: Number,
    /// The most that counts.
    pub high: Number,
}

/// The words for them.
pub(super) const WORDS: [&str; 7] = ["count", "people", "sum", "mean", "histogram", "max", "quantile"];

/// A longer list of keys belongs into a file.
const MOST_KEYS: usize = 100_000;
/// A longer key is no name of anything.
const LONGEST_KEY: usize = 1_024;
const MOST_LISTED: usize = 10_000;

impl Statistic {
    /// By what it is told apart, if it is.
    pub fn grouping(&self) -> Option<&Grouping> {
        match self {
            Statistic::Count(by)
            | Statistic::People(by)
            | Statistic::Sum(_, by)
            | Statistic::Mean(_, by)
            | Statistic::Max { grouping: by, .. }
            | Statistic::Quantile(_, by) => by.as_ref(),
            Statistic::Histogram { .. } => None,
        }
    }

    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            Statistic::Count(_) => "count",
            Statistic::People(_) => "people",
            Statistic::Sum(..) => "sum",
            Statistic::Mean(..) => "mean",
            Statistic::Histogram { .. } => "histogram",
            Statistic::Max { .. } => "max",
            Statistic::Quantile(..) => "quantile",
        }
    }
}

/// The statistic of this word, which is one of [`WORDS`].
pub(super) fn read(word: &str, node: &Node<'_>, beside: &Path) -> Option<Statistic> {
    match word {
        "histogram" => {
            let fields = node.fields(&["of", "edges"], &[])?;
            let of = fields.read("of", |node| node.some_text());
            let edges = fields.read("edges", |node| rising(&node, "edges"));
            Some(Statistic::Histogram { of: of?, edges: edges? })
        }
        "sum" | "mean" => {
            let fields = node.fields(&["of", "range"], &["by", "keys"])?;
            let (measure, by) = (measure(&fields), grouping(&fields, beside)?);
            let statistic = if word == "sum" { Statistic::Sum } else { Statistic::Mean };
            Some(statistic(measure?, by))
        }
        "max" => {
            let fields = node.fields(&["grid"], &["of", "each", "by", "keys"])?;
            let (max, grouping) = (ranks::max(&fields), grouping(&fields, beside)?);
            let (each, grid) = max?;
            Some(Statistic::Max { each, grid, grouping })
        }
        "quantile" => {
            let fields = node.fields(&["of", "q", "range"], &["step", "by", "keys"])?;
            let (quantiles, by) = (ranks::quantiles(&fields), grouping(&fields, beside)?);
            Some(Statistic::Quantile(quantiles?, by))
        }
        _ => {
            let by = grouping(&node.fields(&[], &["by", "keys"])?, beside)?;
            Some(if word == "people" { Statistic::People(by) } else { Statistic::Count(by) })
        }
    }
}

fn grouping(fields: &Fields<'_>, beside: &Path) -> Option<Option<Grouping>> {
    let by = fields.node("by");
    let keys = fields.node("keys");
    match (by, keys) {
        (None, None) => Some(None),
        (Some(by), Some(keys)) => {
            let (by, keys) = (by.some_text(), key_words(&keys, beside));
            Some(Some(Grouping { by: by?, keys: keys? }))
        }
        (Some(by), None) => by.wrong(Wrong::new(
            MistakeKind::Missing,
            "a field without its keys",
            "keys beside it: a list, { file = .. } or \"discover\"",
        )),
        (None, Some(keys)) => keys.conflict("keys of no field", "by, the field that holds the key"),
    }
}

fn key_words(node: &Node<'_>, beside: &Path) -> Option<Keys> {
    if node.is_table() {
        let fields = node.fields(&["file"], &[])?;
        let file = fields.node("file")?;
        let path = file.some_text()?;
        return match path.contains(['*', '?', '[']) {
            true => file.refuse("a pattern", "one file, of keys that are public"),
            false => Some(Keys::File(beside.join(path))),
        };
    }
    if !node.is_list() {
        return match node.text()? {
            "discover" => Some(Keys::Discover),
            word => node.wrong(Wrong {
                remedy: "a list of keys, { file = .. } or \"discover\"".into(),
                ..Wrong::word(word, &["discover"])
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
    sound.then(|| Keys::Listed(first.into_keys().map(str::to_owned).collect()))
}

pub(super) fn measure(fields: &Fields<'_>) -> Option<Measure> {
    let of = fields.read("of", |node| node.some_text());
    let range = fields.read("range", |node| match numbers(&node)?[..] {
        [low, high] if low < high => Some((low, high)),
        [low, high] if low == high => {
            node.refuse("a range of one number", "two numbers, the lower one first")
        }
        [_, _] => node.refuse("a range that ends before it starts", "two numbers, the lower one first"),
        _ => node.refuse("a list of another length", "two numbers, as in [0, 100]"),
    });
    let (low, high) = range?;
    Some(Measure { of: of?, low, high })
}

/// A list of numbers, each above the one before.
pub(super) fn rising(node: &Node<'_>, what: &str) -> Option<Vec<Number>> {
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

fn numbers(node: &Node<'_>) -> Option<Vec<Number>> {
    let read = |entry: &Node<'_>| entry.parsed(Number::parse(entry.number("a number, without quotes")?));
    // All are read before any is missed, so that each mistake is told.
    let read: Vec<Option<Number>> = node.list()?.iter().map(read).collect();
    read.into_iter().collect()
}
