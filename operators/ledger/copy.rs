//! Copies one ledger into another, row by row, as of one commit.

use super::error::LedgerError;
use super::store::{SqlRow, SqlValue, Store, Transaction};

/// The type of a column.
#[derive(Clone, Copy)]
enum ColumnKind {
    Number,
    Text,
    Bytes,
}

use ColumnKind::{Bytes, Number, Text};

/// A table: the query that reads it, the statement that writes a row, and the types of its columns.
type CopiedTable = (&'static str, &'static str, &'static [ColumnKind]);

/// All tables, in an order in which no row comes before one that it references.
const TABLES: [CopiedTable; 17] = [
    ("SELECT * FROM meta", "INSERT INTO meta VALUES (?1, ?2, ?3)", &[Number, Number, Bytes]),
    ("SELECT * FROM head", "INSERT INTO head VALUES (?1, ?2, ?3)", &[Number, Number, Bytes]),
    ("SELECT * FROM key_check", "INSERT INTO key_check VALUES (?1, ?2, ?3)", &[Number, Bytes, Number]),
    ("SELECT * FROM fence", "INSERT INTO fence VALUES (?1, ?2)", &[Text, Number]),
    (
        "SELECT * FROM account",
        "INSERT INTO account VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        &[Text, Number, Text, Text, Text, Number, Bytes, Text, Bytes],
    ),
    (
        "SELECT * FROM release ORDER BY sequence",
        "INSERT INTO release VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        &[
            Bytes, Number, Text, Text, Bytes, Text, Number, Number, Bytes, Number, Text, Bytes, Bytes,
            Number, Number, Bytes, Bytes, Text, Number, Bytes,
        ],
    ),
    (
        "SELECT * FROM amendment",
        "INSERT INTO amendment VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[Number, Text, Bytes, Text, Text, Bytes],
    ),
    (
        "SELECT * FROM repair",
        "INSERT INTO repair VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[Number, Number, Number, Text, Bytes, Bytes],
    ),
    (
        "SELECT * FROM archive",
        "INSERT INTO archive VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        &[Number, Number, Number, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes],
    ),
    ("SELECT * FROM rekey", "INSERT INTO rekey VALUES (?1, ?2, ?3, ?4)", &[Number, Bytes, Bytes, Bytes]),
    (
        "SELECT * FROM state ORDER BY job, name, version",
        "INSERT INTO state VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[Text, Text, Number, Bytes, Bytes, Bytes],
    ),
    ("SELECT * FROM noted", "INSERT INTO noted VALUES (?1, ?2, ?3, ?4)", &[Text, Text, Number, Bytes]),
    ("SELECT * FROM position", "INSERT INTO position VALUES (?1, ?2, ?3, ?4)", &[Text, Number, Bytes, Bytes]),
    (
        "SELECT * FROM agreed",
        "INSERT INTO agreed VALUES (?1, ?2, ?3, ?4, ?5)",
        &[Text, Number, Text, Bytes, Bytes],
    ),
    (
        "SELECT * FROM balance",
        "INSERT INTO balance VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[Text, Number, Number, Number, Bytes, Bytes],
    ),
    ("SELECT * FROM settled", "INSERT INTO settled VALUES (?1, ?2, ?3, ?4)", &[Text, Text, Bytes, Number]),
    (
        "SELECT * FROM checkpoint",
        "INSERT INTO checkpoint VALUES (?1, ?2, ?3, ?4)",
        &[Number, Number, Bytes, Bytes],
    ),
];

/// Copies every row to a store with empty tables.
pub(super) fn copy(from: &mut dyn Store, to: &mut dyn Store) -> Result<(), LedgerError> {
    let mut from = Transaction::snapshot(from)?;
    let mut to = Transaction::begin(to)?;
    for (read, write, kinds) in TABLES {
        from.store().read(read, &[], &mut |row| {
            let held: Vec<HeldValue> = kinds
                .iter()
                .enumerate()
                .map(|(column, kind)| kind.held(row, column))
                .collect::<Result<_, _>>()?;
            let values: Vec<SqlValue<'_>> = held.iter().map(HeldValue::value).collect();
            to.store().execute(write, &values)?;
            Ok(())
        })?;
    }
    to.commit()
}

/// An owned value on its way between two stores.
enum HeldValue {
    Number(Option<i64>),
    Text(String),
    Bytes(Option<Vec<u8>>),
}

impl ColumnKind {
    fn held(self, row: &dyn SqlRow, column: usize) -> Result<HeldValue, LedgerError> {
        Ok(match self {
            Number => HeldValue::Number(row.number(column)?),
            Text => HeldValue::Text(row.text(column)?),
            Bytes => HeldValue::Bytes(row.bytes(column)?),
        })
    }
}

impl HeldValue {
    fn value(&self) -> SqlValue<'_> {
        match self {
            HeldValue::Number(number) => SqlValue::number(*number),
            HeldValue::Text(text) => SqlValue::Text(text),
            HeldValue::Bytes(bytes) => SqlValue::bytes(bytes.as_deref()),
        }
    }
}
