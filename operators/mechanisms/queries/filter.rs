//! Filters: a condition on the fields of a record, parsed once and checked against the schema.

use std::fmt;

use serde::{Deserialize, Serialize};
use text::{Token, Tokens};

use super::schema::Schema;
use super::schema::{QueryRow, Value};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::queries::schema;
use crate::mechanisms::queries::schema::{Field, moment};
use crate::time;

mod text;

/// The longest text of a filter in bytes, as it is asked and as it is released.
const LONGEST: usize = 1 << 16;

/// A condition on the fields of a record. [What can be said](super#the-language) is on the first page.
///
/// It is kept as a flat list of steps: to copy one, to send it and to ask it of a record takes no recursion,
/// however it was written. Displayed, it is text that is read as the same filter; filters that are equal are
/// displayed alike.
///
/// ```
/// use discreet::mechanisms::queries::{Field, Filter, QueryRow, Schema};
///
/// let schema = Schema::new([Field::number("age"), Field::text("country")])?;
/// let filter = Filter::parse(&schema, "not(age<18) and (country in {\"DE\",\"AT\",\"DE\"})")?;
/// assert_eq!(filter.to_string(), "not age < 18 and country in {\"AT\", \"DE\"}");
/// assert!(filter.matches(&QueryRow::from([34.into(), "DE".into()])));
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

/// A test of one value. Nothing passes that is not there.
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
        let program = text::read(schema, text)?;
        let Some(text) = text::tell(schema, &program) else {
            return Err(Invalid::new("filter", InvalidKind::TooLarge, "moments of the years 0 to 9999"));
        };
        match text.len() {
            0..=LONGEST => Ok(Filter { program: program.into(), text: text.into() }),
            _ => Err(text::too_long()),
        }
    }

    /// Returns true if the record matches.
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

    /// Returns the number of values that it compares with.
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

// One field compared with what a filter's text says.
//
// ```text
// comparison := field ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//             | field "in" [value] ".." [value]
//             | field "in" "{" value { "," value } "}"
// ```

/// Reads the comparison behind the name of a field. At most this number of values.
fn read_comparison(tokens: &mut Tokens<'_>, field: &Field, most: usize) -> Result<ValueTest, Invalid> {
    let text = field.kind() == schema::FieldKind::Text;
    match tokens.next() {
        Token::Word("in") => {
            tokens.take()?;
            if tokens.takes("{")? {
                return set(tokens, field, most);
            }
            match text {
                true => Err(tokens.refuse(InvalidKind::Mixed, "a set such as {\"DE\", \"AT\"}")),
                false => range(tokens, field),
            }
        }
        Token::Sign(sign @ ("=" | "!=")) => {
            let equal = *sign == "=";
            tokens.take()?;
            Ok(match (value(tokens, field)?, equal) {
                (ComparedValue::Number(number), true) => ValueTest::Within(number, number),
                (ComparedValue::Number(number), false) => ValueTest::NotNumber(number),
                (ComparedValue::Text(text), true) => ValueTest::Words([text].into()),
                (ComparedValue::Text(text), false) => ValueTest::NotWord(text),
            })
        }
        Token::Sign("<" | "<=" | ">" | ">=") if text => {
            let due = "=, != or in, for which of two texts is first depends on a language,";
            Err(tokens.refuse(InvalidKind::Mixed, due))
        }
        Token::Sign(sign @ ("<" | "<=" | ">" | ">=")) => {
            let sign = *sign;
            tokens.take()?;
            let at = tokens.at();
            let number = number(tokens, field)?;
            let (low, high) = match sign {
                "<" => (Some(i64::MIN), number.checked_sub(1)),
                "<=" => (Some(i64::MIN), Some(number)),
                ">" => (number.checked_add(1), Some(i64::MAX)),
                _ => (Some(number), Some(i64::MAX)),
            };
            let test = low.zip(high).map(|(low, high)| ValueTest::Within(low, high));
            test.ok_or_else(|| {
                tokens.refuse_at(at, InvalidKind::TooLarge, "a number beyond which there are others", "")
            })
        }
        _ if text => Err(tokens.refuse(InvalidKind::Malformed, "=, != or in")),
        _ => Err(tokens.refuse(InvalidKind::Malformed, "=, !=, <, <=, >, >= or in")),
    }
}

fn too_many(tokens: &Tokens<'_>) -> Invalid {
    let due = "at most 4096 values to compare with, of which one more is";
    tokens.refuse_at(tokens.at(), InvalidKind::TooLarge, due, "")
}

enum ComparedValue {
    Number(i64),
    Text(Box<str>),
}

fn value(tokens: &mut Tokens<'_>, field: &Field) -> Result<ComparedValue, Invalid> {
    match (field.kind(), tokens.next()) {
        (schema::FieldKind::Text, Token::Text(text)) => {
            let text = text.as_str().into();
            tokens.take()?;
            Ok(ComparedValue::Text(text))
        }
        (schema::FieldKind::Text, Token::Number(_)) => {
            Err(tokens.refuse(InvalidKind::Mixed, "a text in double quotes"))
        }
        (schema::FieldKind::Text, _) => Err(tokens.refuse(InvalidKind::Malformed, "a text in double quotes")),
        _ => number(tokens, field).map(ComparedValue::Number),
    }
}

/// A value of a field that has an order.
fn number(tokens: &mut Tokens<'_>, field: &Field) -> Result<i64, Invalid> {
    let refuse = |kind, due: &str| Err(tokens.refuse_at(tokens.at(), kind, due, ""));
    let number = match (field.kind(), tokens.next()) {
        (schema::FieldKind::Time, Token::Text(text)) => match time::at(text) {
            // It is released again, and by the clock of UTC it may be in another year.
            Ok(time) if moment(time).is_some() => time,
            Ok(_) => return refuse(InvalidKind::TooLarge, "a moment of the years 0 to 9999"),
            Err(refused) => return refuse(refused.kind(), refused.remedy()),
        },
        (schema::FieldKind::Number | schema::FieldKind::Decimal(_), Token::Number(text)) => {
            match field.steps(text) {
                Ok(number) => number,
                Err((kind, due)) => return refuse(kind, &due),
            }
        }
        (kind, next) => {
            let wrong = match next {
                Token::Text(_) | Token::Number(_) => InvalidKind::Mixed,
                _ => InvalidKind::Malformed,
            };
            let due = match kind {
                schema::FieldKind::Time => {
                    "a moment in double quotes, such as \"2026-11-01\" or \"2026-11-01T00:00:00Z\","
                }
                _ => "a number",
            };
            return Err(tokens.refuse(wrong, due));
        }
    };
    tokens.take()?;
    Ok(number)
}

/// A range without one of its ends goes on for ever there.
fn range(tokens: &mut Tokens<'_>, field: &Field) -> Result<ValueTest, Invalid> {
    let low = match tokens.next() {
        Token::Sign("..") => None,
        Token::Number(_) | Token::Text(_) => Some(number(tokens, field)?),
        _ => {
            return Err(
                tokens.refuse(InvalidKind::Malformed, "a range such as 10..20 or a set such as {10, 20}")
            );
        }
    };
    if !tokens.takes("..")? {
        return Err(tokens.refuse(InvalidKind::Malformed, "the two points of a range"));
    }
    let at = tokens.at();
    let high = match tokens.next() {
        Token::Number(_) | Token::Text(_) => Some(number(tokens, field)?),
        _ if low.is_none() => {
            return Err(tokens.refuse(InvalidKind::Malformed, "the end of a range that has no beginning"));
        }
        _ => None,
    };
    let last = match high {
        Some(high) => high.checked_sub(1),
        None => Some(i64::MAX),
    };
    let first = low.unwrap_or(i64::MIN);
    let empty = || {
        let due = "an end above its beginning, for a range holds the one and not the other,";
        tokens.refuse_at(at, InvalidKind::TooSmall, due, "")
    };
    last.filter(|last| first <= *last).map(|last| ValueTest::Within(first, last)).ok_or_else(empty)
}

/// A set without its first brace.
fn set(tokens: &mut Tokens<'_>, field: &Field, most: usize) -> Result<ValueTest, Invalid> {
    if matches!(tokens.next(), Token::Sign("}")) {
        return Err(tokens.refuse(InvalidKind::Empty, "at least one value"));
    }
    let (mut numbers, mut words) = (Vec::new(), Vec::new());
    loop {
        if numbers.len() + words.len() == most {
            return Err(too_many(tokens));
        }
        match value(tokens, field)? {
            ComparedValue::Number(number) => numbers.push(number),
            ComparedValue::Text(text) => words.push(text),
        }
        if tokens.takes("}")? {
            break;
        }
        if !tokens.takes(",")? {
            return Err(tokens.refuse(InvalidKind::Malformed, "a comma or the brace that ends the set"));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    words.sort_unstable();
    words.dedup();
    Ok(match numbers[..] {
        [] => ValueTest::Words(words.into()),
        [only] => ValueTest::Within(only, only),
        _ => ValueTest::Among(numbers.into()),
    })
}

// The order of a filter's steps: one for each meaning that parentheses do not change.

/// The operator that joins two conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// Steps in postfix order, as conditions are read.
///
/// A condition that is joined to others by one word is a chain: the first, then each of the others with its
/// join behind it. `a and (b and c)` is the chain of `a and b and c`, and what is denied twice is not denied.
#[derive(Debug, Default)]
pub(super) struct PostfixOrder {
    steps: Vec<FilterStep>,
    /// The conditions that are not joined yet.
    conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug)]
struct Condition {
    /// The operator of the chain, if it is one, denied or not.
    join: Option<Join>,
    /// The place where it begins.
    begins: usize,
    /// The end of its first part, if it is a chain.
    first: usize,
    denied: bool,
}

impl PostfixOrder {
    /// A condition by itself.
    pub(super) fn add(&mut self, step: FilterStep) {
        let begins = self.steps.len();
        self.conditions.push(Condition { join: None, begins, first: begins, denied: false });
        self.steps.push(step);
    }

    /// Denies the last condition.
    pub(super) fn deny(&mut self) {
        let Some(last) = self.conditions.last_mut() else { return };
        last.denied = !last.denied;
        match last.denied {
            true => self.steps.push(FilterStep::Not),
            false => drop(self.steps.pop()),
        }
    }

    /// Joins the last two conditions.
    pub(super) fn join(&mut self, join: Join) {
        let Some(right) = self.conditions.pop() else { return };
        let Some(left) = self.conditions.last_mut() else { return };
        let chain = |condition: &Condition| condition.join == Some(join) && !condition.denied;
        let step = match join {
            Join::And => FilterStep::And,
            Join::Or => FilterStep::Or,
        };
        // The right one's own joins stay behind its other parts.
        let place = if chain(&right) { right.first } else { self.steps.len() };
        if !chain(left) {
            // It is the first part as a whole.
            *left = Condition { join: Some(join), begins: left.begins, first: right.begins, denied: false };
        }
        self.steps.insert(place, step);
    }

    /// All steps.
    pub(super) fn finish(self) -> Vec<FilterStep> {
        self.steps
    }
}

#[cfg(test)]
mod tests;
