//! Values on their way into statements, and out of rows.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use postgres::Row;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::super::store::{Columns, Value, odd};
use super::super::trouble::Trouble;

/// A value on its way into a statement. It prints as nothing: the crate writes parameters to the log, at level debug.
pub(super) struct Parameter<'a>(pub(super) Value<'a>);

impl fmt::Debug for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<value>")
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Nothing => Ok(IsNull::Yes),
            Value::Number(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What a place holds, where a value says so.
pub(super) fn kind(value: &Value<'_>) -> Type {
    match value {
        // For the server to work out.
        Value::Nothing => Type::UNKNOWN,
        Value::Number(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
        Value::Bytes(_) => Type::BYTEA,
    }
}

impl Columns for Row {
    fn number(&self, column: usize) -> Result<Option<i64>, Trouble> {
        self.try_get(column).map_err(|_| odd(column))
    }

    fn text(&self, column: usize) -> Result<String, Trouble> {
        self.try_get(column).map_err(|_| odd(column))
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Trouble> {
        self.try_get(column).map_err(|_| odd(column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_as_nothing() {
        assert_eq!(format!("{:?}", Parameter(Value::Text("forty-two"))), "<value>");
    }
}
