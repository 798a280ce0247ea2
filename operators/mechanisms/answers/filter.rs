//! Which records are meant: a condition on their fields, read once and checked against the schema.

mod comparison;
mod order;
mod read;
#[cfg(test)]
mod tests;
mod tokens;
mod told;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::schema::Schema;
use super::value::{QueryRow, Value};
use crate::invalid::{Invalid, InvalidKind};

/// The longest text of a filter in bytes, as it is asked and as it is told.
const LONGEST: usize = 1 << 16;

/// A condition on the fields of a record. [What can be said](super#the-language) is on the first page.
///
/// It is kept as a flat list of steps: to copy one, to send it and to ask it of a record takes no recursion, however it was
/// written. Displayed, it is text that is read as the same filter; filters that are equal are displayed alike.
///
/// ```
/// use discreet::mechanisms::answers::{Field, Filter, Row, Schema};
///
/// let schema = Schema::new([Field::number("age"), Field::text("country")])?;
/// let filter = Filter::parse(&schema, "not(age<18) and (country in {\"DE\",\"AT\",\"DE\"})")?;
/// assert_eq!(filter.to_string(), "not age < 18 and country in {\"AT\", \"DE\"}");
/// assert!(filter.matches(&Row::from([34.into(), "DE".into()])));
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unread", into = "Unread")]
pub struct Filter {
    program: Box<[FilterStep]>,
    text: Box<str>,
}

/// One step of a program in postfix order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FilterStep {
    /// Every record.
    All,
    /// The records whose field of this place passes.
    Field(u32, ValueTest),
    /// Those that did not match the condition before.
    Not,
    /// Those that matched both conditions before.
    And,
    /// Those that matched one of them.
    Or,
}

/// What is asked of one value. Nothing passes that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ValueTest {
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
    pub fn parse(schema: &Schema, text: &str) -> Result<Filter, Invalid> {
        let program = read::read(schema, text)?;
        let Some(text) = told::tell(schema, &program) else {
            return Err(Invalid::new("filter", InvalidKind::TooLarge, "moments of the years 0 to 9999"));
        };
        match text.len() {
            0..=LONGEST => Ok(Filter { program: program.into(), text: text.into() }),
            _ => Err(read::too_long()),
        }
    }

    /// Whether a record is meant.
    pub fn matches(&self, row: &QueryRow) -> bool {
        let mut held = Vec::new();
        for step in &self.program {
            let mut last = || held.pop().unwrap_or(false);
            let holds = match step {
                FilterStep::All => true,
                FilterStep::Field(place, test) => {
                    row.values().get(*place as usize).is_some_and(|value| test.passes(value))
                }
                FilterStep::Not => !last(),
                FilterStep::And => last() & last(),
                FilterStep::Or => last() | last(),
            };
            held.push(holds);
        }
        held.pop().unwrap_or(false)
    }

    /// Its steps: each finds the conditions that it joins before it, and one is left at the end.
    pub(super) fn program(&self) -> &[FilterStep] {
        &self.program
    }
}

impl ValueTest {
    fn passes(&self, value: &Value) -> bool {
        match (self, value) {
            (ValueTest::Within(low, high), Value::Number(number)) => (low..=high).contains(&number),
            (ValueTest::Among(numbers), Value::Number(number)) => numbers.binary_search(number).is_ok(),
            (ValueTest::NotNumber(other), Value::Number(number)) => number != other,
            (ValueTest::Words(words), Value::Text(text)) => words.binary_search(text).is_ok(),
            (ValueTest::NotWord(other), Value::Text(text)) => text != other,
            _ => false,
        }
    }

    /// How many values it compares with.
    fn values(&self) -> usize {
        match self {
            ValueTest::Within(..) | ValueTest::NotNumber(_) | ValueTest::NotWord(_) => 1,
            ValueTest::Among(numbers) => numbers.len(),
            ValueTest::Words(words) => words.len(),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A filter as it travels, before its steps are known to be a program.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Filter")]
struct Unread {
    program: Box<[FilterStep]>,
    text: Box<str>,
}

impl From<Filter> for Unread {
    fn from(Filter { program, text }: Filter) -> Unread {
        Unread { program, text }
    }
}

impl TryFrom<Unread> for Filter {
    type Error = &'static str;

    fn try_from(Unread { program, text }: Unread) -> Result<Filter, &'static str> {
        let held = program.iter().try_fold(0_usize, |held, step| match step {
            FilterStep::All => Some(held + 1),
            FilterStep::Field(_, ValueTest::Among(numbers)) if !numbers.is_sorted() => None,
            FilterStep::Field(_, ValueTest::Words(words)) if !words.is_sorted() => None,
            FilterStep::Field(..) => Some(held + 1),
            FilterStep::Not => (held >= 1).then_some(held),
            FilterStep::And | FilterStep::Or => (held >= 2).then(|| held - 1),
        });
        match held {
            Some(1) => Ok(Filter { program, text }),
            _ => Err("steps of a filter"),
        }
    }
}
