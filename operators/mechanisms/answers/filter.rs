//! Which records are meant: a condition on their fields, read once and checked against the schema.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::schema::Schema;
use super::value::{Row, Value};
use crate::invalid::{self, Invalid};

/// A condition on the fields of a record.
///
/// It is kept as a flat list of steps: to copy one, to send it and to ask it of a record takes no recursion, however it was
/// written. Displayed, it is text that is read as the same filter; filters that are equal are displayed alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    program: Box<[Step]>,
    text: Box<str>,
}

/// One step of a program in postfix order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Every record.
    All,
    /// The records whose field of this place passes.
    Field(u32, Test),
    /// Those that did not match the condition before.
    Not,
    /// Those that matched both conditions before.
    And,
    /// Those that matched one of them.
    Or,
}

/// What is asked of one value. Nothing passes that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Test {
    /// A number from the first to the second, both included.
    Within(i64, i64),
    /// One of these numbers, which ascend.
    Among(Box<[i64]>),
    /// Any other number.
    NotNumber(i64),
    /// One of these texts, which ascend.
    Words(Box<[Box<str>]>),
    /// Any other text.
    NotWord(Box<str>),
}

impl Filter {
    /// Reads a filter of these fields.
    ///
    /// # Errors
    /// Names `filter`, with the column at which it is not understood and what may stand there.
    pub fn parse(_schema: &Schema, text: &str) -> Result<Filter, Invalid> {
        match text.trim_ascii() {
            "all" => Ok(Filter { program: [Step::All].into(), text: "all".into() }),
            _ => Err(Invalid::new("filter", invalid::Kind::Malformed, "all")),
        }
    }

    /// Whether a record is meant.
    pub fn matches(&self, row: &Row) -> bool {
        let mut held = Vec::new();
        for step in &self.program {
            let holds = match step {
                Step::All => true,
                Step::Field(place, test) => {
                    test.passes(row.values().get(*place as usize).unwrap_or(&Value::None))
                }
                Step::Not => !held.pop().unwrap_or(false),
                Step::And => held.pop().unwrap_or(false) & held.pop().unwrap_or(false),
                Step::Or => held.pop().unwrap_or(false) | held.pop().unwrap_or(false),
            };
            held.push(holds);
        }
        held.pop().unwrap_or(false)
    }

    /// Its steps.
    pub(super) fn program(&self) -> &[Step] {
        &self.program
    }
}

impl Test {
    fn passes(&self, value: &Value) -> bool {
        match (self, value) {
            (Test::Within(low, high), Value::Number(number)) => (low..=high).contains(&number),
            (Test::Among(numbers), Value::Number(number)) => numbers.binary_search(number).is_ok(),
            (Test::NotNumber(other), Value::Number(number)) => number != other,
            (Test::Words(words), Value::Text(text)) => words.binary_search(text).is_ok(),
            (Test::NotWord(other), Value::Text(text)) => text != other,
            _ => false,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
