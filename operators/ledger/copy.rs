//! One ledger into another, row by row, as one commit left it.

use super::store::{Columns, Store, Transaction, Value};
use super::trouble::Trouble;

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Text,
    Bytes,
}

use Kind::{Bytes, Number, Text};

/// A table: how it is read, how it is written, and what its columns hold.
type Table = (&'static str, &'static str, &'static [Kind]);

/// In an order in which no row comes before one that it names.
const TABLES: [Table; 12] = [
    ("SELECT * FROM meta", "INSERT INTO meta VALUES (?1, ?2, ?3)", &[Number, Number, Bytes]),
    ("SELECT * FROM head", "INSERT INTO head VALUES (?1, ?2, ?3)", &[Number, Number, Bytes]),
    ("SELECT * FROM key_check", "INSERT INTO key_check VALUES (?1, ?2)", &[Number, Bytes]),
    ("SELECT * FROM fence", "INSERT INTO fence VALUES (?1, ?2)", &[Text, Number]),
    (
        "SELECT * FROM domain",
        "INSERT INTO domain VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
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
    ("SELECT * FROM state", "INSERT INTO state VALUES (?1, ?2, ?3, ?4)", &[Text, Text, Number, Bytes]),
    ("SELECT * FROM noted", "INSERT INTO noted VALUES (?1, ?2, ?3, ?4)", &[Text, Text, Number, Bytes]),
    (
        "SELECT * FROM agreed",
        "INSERT INTO agreed VALUES (?1, ?2, ?3, ?4, ?5)",
        &[Text, Number, Text, Bytes, Bytes],
    ),
    (
        "SELECT * FROM account",
        "INSERT INTO account VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        &[Text, Number, Number, Number, Bytes, Bytes],
    ),
];

/// Copies every row to a store with empty tables.
pub(super) fn copy(from: &mut dyn Store, to: &mut dyn Store) -> Result<(), Trouble> {
    let mut from = Transaction::snapshot(from)?;
    let mut to = Transaction::begin(to)?;
    for (read, write, kinds) in TABLES {
        from.store().read(read, &[], &mut |row| {
            let held: Vec<Held> = kinds
                .iter()
                .enumerate()
                .map(|(column, kind)| kind.held(row, column))
                .collect::<Result<_, _>>()?;
            let values: Vec<Value<'_>> = held.iter().map(Held::value).collect();
            to.store().execute(write, &values)?;
            Ok(())
        })?;
    }
    to.commit()
}

/// A value between two stores.
enum Held {
    Number(Option<i64>),
    Text(String),
    Bytes(Option<Vec<u8>>),
}

impl Kind {
    fn held(self, row: &dyn Columns, column: usize) -> Result<Held, Trouble> {
        Ok(match self {
            Number => Held::Number(row.number(column)?),
            Text => Held::Text(row.text(column)?),
            Bytes => Held::Bytes(row.bytes(column)?),
        })
    }
}

impl Held {
    fn value(&self) -> Value<'_> {
        match self {
            Held::Number(number) => Value::number(*number),
            Held::Text(text) => Value::Text(text),
            Held::Bytes(bytes) => Value::bytes(bytes.as_deref()),
        }
    }
}
