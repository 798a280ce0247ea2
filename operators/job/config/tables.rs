//! `[tables]`: public tables that are joined to each record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::display::{path, text};
use super::node::ConfigNode;
use crate::job::table::PublicTable;

/// A public table, and the field of a record by whose value its row is found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableSpec {
    /// The name of the table: its columns are the fields `NAME.COLUMN`.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The column of the key, if it is stated; the first without it.
    pub key: Option<String>,
    /// The field of a record that holds the key, if it is stated; that of the name of the key's column without it.
    pub by: Option<String>,
    pub(in crate::job) table: Arc<PublicTable>,
}

impl TableSpec {
    /// Returns the field of a record that holds the key.
    pub(in crate::job) fn by(&self) -> &str {
        self.by.as_deref().unwrap_or(self.table.key())
    }

    /// Returns true if a field is a column of the table.
    pub(in crate::job) fn has(&self, field: &str) -> bool {
        let column = field.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        column.is_some_and(|column| self.table.columns().any(|(name, _)| name == column))
    }

    /// Returns the table as a job file states it.
    pub(super) fn stated(&self) -> String {
        let named = |name: &str, value: &Option<String>| match value {
            Some(value) => format!(", {name} = {}", text(value)),
            None => String::new(),
        };
        let (key, by) = (named("key", &self.key), named("by", &self.by));
        format!("{} = {{ file = {}{key}{by} }}", text(&self.name), path(&self.file))
    }
}

/// Reads the tables, with their files.
pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<Vec<TableSpec>> {
    // All are read before any is missed, so that each mistake is reported.
    let tables: Vec<Option<TableSpec>> = node
        .entries("a table of names with their files")?
        .into_iter()
        .map(|(name, node)| table(name, &node, beside))
        .collect();
    tables.into_iter().collect()
}

fn table(name: &str, node: &ConfigNode<'_>, beside: &Path) -> Option<TableSpec> {
    if name.is_empty() || name.contains('.') {
        return node.refuse("a name that is empty or has a point", "a name of a table without a point");
    }
    let (file, key, by) = match node.is_table() {
        false => (node.clone(), None, None),
        true => {
            let [file, key, by] = node.entries_named(["file", "key", "by"])?;
            let Some(file) = file else { return node.refuse("no file", "the file of the table") };
            let word = |node: Option<ConfigNode<'_>>| match node {
                Some(node) => node.non_empty_text().map(Some),
                None => Some(None),
            };
            (file, word(key)?, word(by)?)
        }
    };
    let place = beside.join(file.non_empty_text()?);
    match PublicTable::read(&place, key.as_deref()) {
        Ok(table) => Some(TableSpec { name: name.to_owned(), file: place, key, by, table: Arc::new(table) }),
        Err(wrong) => {
            let (found, remedy) = wrong.split_once("; give ").unwrap_or((&wrong, "a public table"));
            file.refuse(found, remedy)
        }
    }
}
