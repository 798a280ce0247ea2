//! Values on their way into statements, and out of rows.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use postgres::Row;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::super::store::{SqlRow, SqlValue, odd};
use super::super::trouble::LedgerError;

/// A value on its way into a statement. It prints as nothing: the crate writes parameters to the log, at level debug.
pub(super) struct Parameter<'a>(pub(super) SqlValue<'a>);

impl fmt::Debug for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<value>")
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            SqlValue::Nothing => Ok(IsNull::Yes),
            SqlValue::Number(number) => number.to_sql(kind, out),
            SqlValue::Text(text) => text.to_sql(kind, out),
            SqlValue::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What a place holds, where a value says so.
pub(super) fn kind(value: &SqlValue<'_>) -> Type {
    match value {
        // For the server to work out.
        SqlValue::Nothing => Type::UNKNOWN,
        SqlValue::Number(_) => Type::INT8,
        SqlValue::Text(_) => Type::TEXT,
        SqlValue::Bytes(_) => Type::BYTEA,
    }
}

impl SqlRow for Row {
    fn number(&self, column: usize) -> Result<Option<i64>, LedgerError> {
        self.try_get(column).map_err(|_| odd(column))
    }

    fn text(&self, column: usize) -> Result<String, LedgerError> {
        self.try_get(column).map_err(|_| odd(column))
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, LedgerError> {
        self.try_get(column).map_err(|_| odd(column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_as_nothing() {
        assert_eq!(format!("{:?}", Parameter(SqlValue::Text("forty-two"))), "<value>");
    }
}
