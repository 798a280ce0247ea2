//! The grouping of a statistic by key (partition), and the selection of its keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// The most listed keys: a longer list belongs into a file.
const MOST_KEYS: usize = 100_000;
/// The longest key, in bytes.
const LONGEST_KEY: usize = 1_024;

/// Returns the fields that state a grouping.
pub(super) fn fields(grouping: Option<&GroupingSpec>) -> [StatedField; 2] {
    match grouping {
        None => [("by", None), ("keys", None)],
        Some(GroupingSpec { by, keys }) => [("by", Some(text(by))), ("keys", Some(stated(keys)))],
    }
}

/// Returns a grouping in words, to be appended to a statistic.
pub(super) fn describe(grouping: Option<&GroupingSpec>) -> String {
    grouping.map_or(String::new(), |grouping| format!(" of each {}", grouping.by))
}

fn stated(keys: &KeysSpec) -> String {
    match keys {
        KeysSpec::Discover => "\"discover\"".to_owned(),
        KeysSpec::File(file) => format!("{{ file = {} }}", path(file)),
        KeysSpec::Listed(keys) => list(&keys.iter().map(|key| text(key)).collect::<Vec<_>>()),
    }
}

/// Returns the keys of a grouping, of which `delta` pays for partition selection; without a grouping, the one
/// cell of everything.
pub(super) fn keys(grouping: Option<&GroupingSpec>, delta: BudgetUnits) -> Result<Keys<CellKey>, UnfitJob> {
    let listed = match grouping.map(|grouping| &grouping.keys) {
        None => Keys::public([CellKey::Whole]),
        Some(KeysSpec::Listed(keys)) => {
            Keys::public(keys.iter().map(|key| CellKey::Text(key.as_str().into())))
        }
        Some(KeysSpec::File(path)) => {
            let keys = keys::read(path).map_err(|wrong| UnfitJob::new("keys", wrong))?;
            Keys::public(keys.into_iter().map(CellKey::Text))
        }
        Some(KeysSpec::Discover) => return Ok(Keys::discover_within(delta)),
    };
    listed.map_err(|invalid| UnfitJob::at("keys", &invalid))
}

/// Reads the fields of a grouping; the inner `None` means that there is none.
#[expect(clippy::option_option, reason = "a mistake, and a statistic of the whole window, are two things")]
pub(super) fn read(fields: &TableNode<'_>, beside: &Path) -> Option<Option<GroupingSpec>> {
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
