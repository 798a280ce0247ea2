//! The grouping of a statistic by key (partition), and the selection of its keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::key_part::{self, BETWEEN_PARTS, KeyPart};
use super::keys;
use super::{CellKey, StatedField};
use crate::accounting::BudgetUnits;
use crate::job::MistakeKind;
use crate::job::config::{ConfigNode, MistakeDetail, TableNode, list, path, text};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::Keys;

/// The grouping of a statistic by key (partition).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupingSpec {
    /// The parts of the key; at least one.
    pub by: Vec<KeyPart>,
    /// The selection of keys.
    pub keys: KeysSpec,
    /// True if the totals of the level above are published too: of all keys that differ in their last part alone.
    pub rollup: bool,
}

impl GroupingSpec {
    /// Returns the names of the keys and of their parents, where a roll-up releases both: `method and status` and `method`.
    pub fn level_names(&self) -> Option<[String; 2]> {
        let (_, above) = self.by.split_last().filter(|_| self.rollup)?;
        Some([&self.by, above].map(key_part::described))
    }
}

/// The selection of the keys of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeysSpec {
    /// The listed keys, each of one text for each part, in every window, in the order of their bytes.
    Listed(Vec<Vec<String>>),
    /// Every combination of the intervals of the parts, in every window.
    Every,
    /// The keys in the lines of this file.
    File(PathBuf),
    /// Partition selection: the keys that enough people have.
    Discover,
}

/// The most listed keys: a longer list belongs into a file.
const MOST_KEYS: usize = 100_000;
/// The longest key, in bytes.
const LONGEST_KEY: usize = 1_024;

/// The most keys of a file, and of intervals.
const MOST_COMBINED: usize = 1_000_000;

/// Returns the fields that state a grouping.
pub(super) fn fields(grouping: Option<&GroupingSpec>) -> Vec<StatedField> {
    match grouping {
        None => vec![("by", None), ("keys", None)],
        Some(GroupingSpec { by, keys, rollup }) => {
            let rollup = rollup.then(|| ("rollup", Some("true".to_owned())));
            [("by", Some(key_part::stated(by))), ("keys", stated(keys))].into_iter().chain(rollup).collect()
        }
    }
}

/// The fields of a grouping in a table of a statistic that is a sum over records.
pub(super) const OF_SUMS: &[&str] = &["by", "keys", "rollup"];

/// Refuses `rollup` in the table of a statistic that is no sum over records and keys.
pub(super) fn check_rollup(word: &str, node: &ConfigNode<'_>) -> Option<()> {
    if !node.has("rollup") || ["count", "sum", "mean", "variance", "ratio"].contains(&word) {
        return Some(());
    }
    let remedy = match word {
        "people" => {
            "another release of people, by the fields above: a person may have several keys of a parent"
                .to_owned()
        }
        "histogram" => "count, by fields of which the last one has edges".to_owned(),
        _ => format!("another release, by the fields above: the {word} of a parent is no sum over its keys"),
    };
    node.descendant(&["rollup"]).conflict(format!("a roll-up of {word}"), remedy)
}

/// Returns a grouping in words, to be appended to a statistic.
pub(super) fn describe(grouping: Option<&GroupingSpec>) -> String {
    grouping.map_or(String::new(), |GroupingSpec { by, rollup, .. }| {
        let above = match by.split_last() {
            Some((_, above)) if *rollup => format!(", and of each {}", key_part::described(above)),
            _ => String::new(),
        };
        format!(" of each {}{above}", key_part::described(by))
    })
}

/// Returns keys as a job file states them.
pub(super) fn stated(keys: &KeysSpec) -> Option<String> {
    let key = |key: &Vec<String>| match &key[..] {
        [one] => text(one),
        parts => list(&parts.iter().map(|part| text(part)).collect::<Vec<_>>()),
    };
    match keys {
        KeysSpec::Discover => Some("\"discover\"".to_owned()),
        KeysSpec::File(file) => Some(format!("{{ file = {} }}", path(file))),
        KeysSpec::Listed(keys) => Some(list(&keys.iter().map(key).collect::<Vec<_>>())),
        KeysSpec::Every => None,
    }
}

/// Returns the keys of a grouping, of which `delta` pays for partition selection; without a grouping, the one
/// cell of everything.
pub(super) fn keys(grouping: Option<&GroupingSpec>, delta: BudgetUnits) -> Result<Keys<CellKey>, UnfitJob> {
    let Some(GroupingSpec { by, keys, .. }) = grouping else {
        return Keys::public([CellKey::Whole]).map_err(|invalid| UnfitJob::at("keys", &invalid));
    };
    let cell = |key: &Vec<String>| CellKey::of_parts(key.iter().map(String::as_str));
    let listed = match keys {
        KeysSpec::Discover => return Ok(Keys::discover_within(delta)),
        KeysSpec::Listed(keys) => Keys::public(keys.iter().map(cell)),
        KeysSpec::File(path) => {
            let keys = keys::read(path, by.len()).map_err(|wrong| UnfitJob::new("keys", wrong))?;
            Keys::public(keys)
        }
        KeysSpec::Every => Keys::public(combined(by).iter().map(cell)),
    };
    listed.map_err(|invalid| UnfitJob::at("keys", &invalid))
}

/// Returns listed keys of one part; those of a file in the order of its lines. A message names the line of a file.
pub(super) fn texts(keys: &KeysSpec) -> Result<Vec<String>, String> {
    match keys {
        KeysSpec::Listed(keys) => Ok(keys.iter().flatten().cloned().collect()),
        KeysSpec::File(path) => Ok(keys::read(path, 1)?.iter().map(ToString::to_string).collect()),
        KeysSpec::Every | KeysSpec::Discover => Ok(Vec::new()),
    }
}

/// Returns every combination of the intervals of the parts.
fn combined(by: &[KeyPart]) -> Vec<Vec<String>> {
    by.iter().fold(vec![Vec::new()], |keys, part| {
        let texts = part.texts().unwrap_or_default();
        let longer = |key: &Vec<String>| -> Vec<Vec<String>> {
            texts.iter().map(|text| key.iter().cloned().chain([text.clone()]).collect()).collect()
        };
        keys.iter().flat_map(longer).collect()
    })
}

/// Reads the fields of a grouping; the inner `None` means that there is none.
#[expect(clippy::option_option, reason = "a mistake, and a statistic of the whole window, are two things")]
pub(super) fn read(fields: &TableNode<'_>, beside: &Path) -> Option<Option<GroupingSpec>> {
    let rollup = fields.node("rollup");
    let (grouping, is_rolled_up) =
        (read_keys(fields, beside), rollup.as_ref().map_or(Some(false), ConfigNode::boolean));
    let (grouping, is_rolled_up) = (grouping?, is_rolled_up?);
    let parts = grouping.as_ref().map_or(0, |grouping| grouping.by.len());
    match rollup {
        Some(node) if is_rolled_up && parts < 2 => {
            let found = if parts == 0 { "a roll-up without keys" } else { "a roll-up of keys of one part" };
            node.conflict(found, "by with several fields, of which the level above leaves out the last one")
        }
        _ => Some(grouping.map(|grouping| GroupingSpec { rollup: is_rolled_up, ..grouping })),
    }
}

/// Reads `by` and `keys`.
#[expect(clippy::option_option, reason = "a mistake, and a statistic of the whole window, are two things")]
fn read_keys(fields: &TableNode<'_>, beside: &Path) -> Option<Option<GroupingSpec>> {
    let by = fields.node("by");
    let keys = fields.node("keys");
    match (by, keys) {
        (None, None) => Some(None),
        (Some(by), Some(keys)) => {
            let parts = key_part::read(&by);
            let keys = key_words(&keys, parts.as_ref().map_or(1, Vec::len), beside);
            Some(Some(GroupingSpec { by: parts?, keys: keys?, rollup: false }))
        }
        (Some(node), None) => {
            let by = key_part::read(&node)?;
            let counts = by.iter().map(|part| part.texts().map(|texts| texts.len()));
            match counts.collect::<Option<Vec<usize>>>() {
                Some(counts)
                    if counts.iter().fold(1, |all: usize, one| all.saturating_mul(*one)) <= MOST_COMBINED =>
                {
                    Some(Some(GroupingSpec { by, keys: KeysSpec::Every, rollup: false }))
                }
                Some(_) => {
                    node.conflict("more than 1,000,000 combinations of intervals", "fewer edges, or keys")
                }
                None => node.record_mistake(MistakeDetail::new(
                    MistakeKind::Missing,
                    "a field without its keys",
                    "keys beside it: a list, { file = .. } or \"discover\"",
                )),
            }
        }
        (None, Some(keys)) => keys.conflict("keys of no field", "by, the field that holds the key"),
    }
}

/// Reads a list of keys of this number of parts, or what is in its place.
fn key_words(node: &ConfigNode<'_>, parts: usize, beside: &Path) -> Option<KeysSpec> {
    if node.is_table() {
        let fields = node.fields(&["file"], &[])?;
        return key_file(&fields.node("file")?, beside);
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
    key_list(node, parts)
}

/// Reads a file of public keys.
pub(super) fn key_file(node: &ConfigNode<'_>, beside: &Path) -> Option<KeysSpec> {
    let path = node.non_empty_text()?;
    match path.contains(['*', '?', '[']) {
        true => node.refuse("a pattern", "one file, of keys that are public"),
        false => Some(KeysSpec::File(beside.join(path))),
    }
}

/// Reads a list of keys of this number of parts.
pub(super) fn key_list(node: &ConfigNode<'_>, parts: usize) -> Option<KeysSpec> {
    let entries = node.list()?;
    if entries.is_empty() {
        return node.refuse("an empty list", "at least one key");
    }
    if entries.len() > MOST_KEYS {
        return node.refuse("more than 100,000 keys", "{ file = .. }");
    }
    let mut first: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut sound = true;
    for (index, entry) in entries.iter().enumerate() {
        let Some(key) = listed_key(entry, parts) else {
            sound = false;
            continue;
        };
        if let Some(first) = first.insert(key, index + 1) {
            sound = false;
            entry.conflict::<()>(format!("the key of entry {first} again"), "each key once");
        }
    }
    sound.then(|| KeysSpec::Listed(first.into_keys().collect()))
}

/// Reads a listed key: a text, or a list of one text for each part.
fn listed_key(node: &ConfigNode<'_>, parts: usize) -> Option<Vec<String>> {
    let nodes = match parts {
        1 => vec![node.clone()],
        _ => node.list()?,
    };
    if nodes.len() != parts {
        return node.conflict(
            "a key of another length",
            format!("a list of {parts} texts, one for each field in by"),
        );
    }
    let read = |node: &ConfigNode<'_>| {
        let key = node.text()?;
        if key.is_empty() || key.len() > LONGEST_KEY {
            let found = if key.is_empty() { "an empty key" } else { "a long key" };
            return node.refuse(found, "a key of 1 to 1,024 bytes");
        }
        if parts > 1 && key.contains(BETWEEN_PARTS) {
            return node.refuse("the character U+001F", "a key without it");
        }
        Some(key.to_owned())
    };
    let read: Vec<Option<String>> = nodes.iter().map(read).collect();
    read.into_iter().collect()
}
