//! What is kept of one record: a value for each field of a [`Schema`](super::Schema).

use std::fmt;

use serde::{Deserialize, Serialize};

/// One value. A moment is a number of microseconds; a decimal is a number of its field's steps.
///
/// It prints as `<private>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Value {
    /// There is none. Nor is there one where another sort of value is kept than the field has.
    None,
    /// A number.
    Number(i64),
    /// A text.
    Text(Box<str>),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Value {
        value.map_or(Value::None, Into::into)
    }
}

/// The values of one record, in the order of the schema's fields. Where it is shorter, the rest are absent; what is beyond
/// the last field is left out.
///
/// ```
/// use discreet::mechanisms::answers::{Row, Value};
///
/// let row = Row::from([Value::from(34), "DE".into(), Value::None]);
/// assert_eq!(row.values().len(), 3);
/// assert_eq!(format!("{row:?}"), "<private>");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueryRow(Box<[Value]>);

impl QueryRow {
    /// These values.
    pub fn new(values: impl IntoIterator<Item = Value>) -> QueryRow {
        QueryRow(values.into_iter().collect())
    }

    /// The values, in the order of the fields.
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

impl fmt::Debug for QueryRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

impl<const N: usize> From<[Value; N]> for QueryRow {
    fn from(values: [Value; N]) -> QueryRow {
        QueryRow(values.into())
    }
}
