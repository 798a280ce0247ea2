//! Public tables, `[tables]`: files of separated text whose columns are joined to each record by a key.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::config::CsvMarks;
use super::sources::split_fields;
use crate::canonical::{Canonical, Digest};
use crate::invalid::found_by;

/// The largest file of a table, in bytes.
const LARGEST: u64 = 64 << 20;
/// The most rows of a table.
const ROWS: usize = 1_000_000;
/// The most columns of a table.
const COLUMNS: usize = 256;
/// The longest cell, in bytes.
const LONGEST: usize = 4_096;

/// A public table: rows by their keys.
#[derive(PartialEq, Eq)]
pub(crate) struct PublicTable {
    /// The names of the columns beside the key.
    columns: Vec<String>,
    /// The cells of each row beside its key, by the key.
    rows: HashMap<Box<str>, Box<[Box<str>]>>,
    /// The name of the column of the key.
    key: String,
}

/// A column of a public table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableColumn {
    table: Arc<PublicTable>,
    column: usize,
}

impl TableColumn {
    /// Returns the cell of the row with this key; `None` if there is no such row, or its cell is empty.
    #[inline]
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let cell = self.table.rows.get(key)?.get(self.column)?;
        (!cell.is_empty()).then_some(cell)
    }

    /// Returns a hash of its cells and their keys.
    pub(crate) fn digest(&self) -> Digest {
        self.table.digest(self.column)
    }
}

/// Prints the names and the hashes of the columns, which are the same for equal tables: a demonstration's noise depends on them.
impl fmt::Debug for PublicTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns.iter().enumerate().map(|(column, name)| (name, self.digest(column)));
        f.debug_map().entry(&"key", &self.key).entries(columns).finish()
    }
}

impl PublicTable {
    /// Returns the columns, each with its name.
    pub(crate) fn columns(self: &Arc<PublicTable>) -> impl Iterator<Item = (&str, TableColumn)> {
        let column = |(column, name)| (String::as_str(name), TableColumn { table: Arc::clone(self), column });
        self.columns.iter().enumerate().map(column)
    }

    /// Returns true if there is a row with this key.
    pub(crate) fn has_row(&self, key: &[u8]) -> bool {
        str::from_utf8(key).is_ok_and(|key| self.rows.contains_key(key))
    }

    fn digest(&self, column: usize) -> Digest {
        let mut rows: Vec<(&str, &str)> =
            self.rows.iter().filter_map(|(key, cells)| Some((&**key, &**cells.get(column)?))).collect();
        rows.sort_unstable();
        let canonical = Canonical::new("discreet table column 1").number(rows.len() as i64);
        rows.into_iter().fold(canonical, |canonical, (key, cell)| canonical.text(key).text(cell)).finish()
    }

    /// Returns the name of the column of the key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Reads a table whose key is in this column, or in the first; or returns a message that names the line.
    pub(crate) fn read(path: &Path, key: Option<&str>) -> Result<PublicTable, String> {
        let unreadable =
            |error: std::io::Error| format!("{}; give a table with one row a line", found_by(&error));
        // Anything else, such as a pipe, might never end.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err("no plain file; give a table with one row a line".to_owned());
        }
        let mut text = String::new();
        let mut file = File::open(path).map_err(unreadable)?.take(LARGEST + 1);
        match file.read_to_string(&mut text) {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err("no text in UTF-8; give a table with one row a line".to_owned());
            }
            Err(error) => return Err(unreadable(error)),
            Ok(length) if length as u64 > LARGEST => {
                return Err("a file larger than 64 MiB; give a smaller table".to_owned());
            }
            Ok(_) => {}
        }
        let is_tabbed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
        let marks = if is_tabbed { CsvMarks::between(b'\t') } else { CsvMarks::default() };
        PublicTable::parse(&text, marks, key)
    }

    fn parse(text: &str, marks: CsvMarks, key: Option<&str>) -> Result<PublicTable, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
        let Some((_, names)) = lines.next() else {
            return Err("an empty file; give a first line with the names of the columns".to_owned());
        };
        let mut columns = split(names, marks);
        if columns.len() < 2 || columns.len() > COLUMNS {
            return Err(format!(
                "{} columns in its first line; give a key and 1 to 255 columns beside it",
                columns.len()
            ));
        }
        for (at, name) in columns.iter().enumerate() {
            if name.is_empty() {
                return Err(format!(
                    "column {} without a name; give each column a name in the first line",
                    at + 1
                ));
            }
            if columns[..at].contains(name) {
                // The first line of a file that is no table may be a record.
                return Err(format!(
                    "column {} of the name of an earlier one; give each column its own",
                    at + 1
                ));
            }
        }
        let place = match key {
            None => 0,
            Some(key) => columns
                .iter()
                .position(|name| name == key)
                .ok_or_else(|| format!("no column {key} in its first line; give the column of the key"))?,
        };
        let width = columns.len();
        let key = columns.remove(place);
        let mut rows: HashMap<Box<str>, Box<[Box<str>]>> = HashMap::new();
        for (index, line) in lines {
            let mut cells: Vec<Box<str>> =
                split(line, marks).into_iter().map(String::into_boxed_str).collect();
            let wrong = if cells.len() != width {
                format!("{} fields where there are {width} columns", cells.len())
            } else if cells.iter().any(|cell| cell.len() > LONGEST) {
                "a field of more than 4,096 bytes".to_owned()
            } else if rows.len() == ROWS {
                "more rows than 1,000,000".to_owned()
            } else {
                let key = cells.remove(place);
                if key.is_empty() {
                    "an empty key".to_owned()
                } else if rows.insert(key, cells.into_boxed_slice()).is_some() {
                    "the key of an earlier line again".to_owned()
                } else {
                    continue;
                }
            };
            return Err(format!(
                "{wrong} in line {}; give each key one row, with a field for each column",
                index + 1
            ));
        }
        Ok(PublicTable { columns, rows, key })
    }
}

fn split(line: &str, marks: CsvMarks) -> Vec<String> {
    let fields = split_fields(line.as_bytes(), marks).into_iter();
    fields.map(|field| String::from_utf8_lossy(&field).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, key: Option<&str>) -> Result<Arc<PublicTable>, String> {
        PublicTable::parse(text, CsvMarks::default(), key).map(Arc::new)
    }

    #[test]
    fn a_row_is_found_by_its_key() {
        let pages = table("\u{feff}url,topic,price\r\n/a,\"news, local\",7\n\n/b,,8\n", None).unwrap();
        let columns: Vec<(&str, TableColumn)> = pages.columns().collect();
        assert_eq!(columns.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["topic", "price"]);
        let get = |column: usize, key: &str| columns[column].1.get(key);
        assert_eq!((get(0, "/a"), get(1, "/a")), (Some("news, local"), Some("7")));
        assert_eq!((get(0, "/b"), get(1, "/b"), get(1, "/c")), (None, Some("8"), None));
        assert_eq!(
            [&b"/b"[..], b"/c", b"", b"\xff"].map(|key| pages.has_row(key)),
            [true, false, false, false]
        );
        let by_topic = table("url,topic\n/a,x\n/b,y\n", Some("topic")).unwrap();
        assert_eq!(by_topic.columns().next().unwrap().1.get("y"), Some("/b"));
    }

    // Refutes a hash that depends on the order of rows, or on other columns, and one that does not depend on each cell.
    #[test]
    fn a_column_is_hashed_by_its_cells_alone() {
        let digest = |text: &str| table(text, None).unwrap().columns().next().unwrap().1.digest();
        let one = digest("k,a\n1,x\n2,y\n");
        assert_eq!(one, digest("k,a,b\n2,y,9\n1,x,8\n"));
        let rows: String = (0..100).map(|row| format!("{row},x\n")).collect();
        let printed = || format!("{:?}", table(&format!("k,a\n{rows}"), None).unwrap());
        assert_eq!(printed(), printed());
        for other in ["k,a\n1,x\n2,z\n", "k,a\n1,x\n3,y\n", "k,a\n1,x\n", "k,a\n1,x\n2,y\n3,\n"] {
            assert_ne!(one, digest(other), "{other}");
        }
    }

    #[test]
    fn a_table_that_is_none_is_refused_by_its_line() {
        for (text, key, found) in [
            ("", None, "an empty file"),
            ("k\n1\n", None, "1 columns"),
            ("k,\n", None, "column 2 without a name"),
            ("k,a,k\n", None, "column 3 of the name of an earlier one"),
            ("k,a\n1,x\n", Some("b"), "no column b in its first line"),
            ("k,a\n1,x\n2\n", None, "1 fields where there are 2 columns in line 3"),
            ("k,a\n1,x\n\n1,y\n", None, "the key of an earlier line again in line 4"),
            ("k,a\n,x\n", None, "an empty key in line 2"),
            ("k,a\n1,\"x\n", None, "1 fields"),
        ] {
            let refused = table(text, key).unwrap_err();
            assert!(refused.contains(found), "{text}: {refused}");
        }
    }
}
