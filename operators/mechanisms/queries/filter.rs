//! Filters: a condition on the fields of a record, parsed once and checked against the schema.

use std::fmt;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
pub(crate) use text::{Token, Tokens};

use super::schema::Schema;
use super::schema::{QueryRow, Value};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::queries::schema;
use crate::mechanisms::queries::schema::{Field, moment};
use crate::time;

mod text;

/// The longest text of a filter in bytes, as it is written and in normal form.
const LONGEST: usize = 1 << 16;

/// A condition on the fields of a record, in [this language](super#the-language).
///
/// It is stored as a flat list of steps, so that to clone, to serialize and to evaluate it takes no
/// recursion, however deeply its text was nested. `Display` writes text that parses to an equal filter; equal
/// filters have equal texts.
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

/// One step of a filter in postfix order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FilterStep {
    /// Matches every record.
    All,
    /// Matches the records whose field of this index passes the test.
    Field(u32, ValueTest),
    /// Negates the condition before it.
    Not,
    /// Matches the records that match both conditions before it.
    And,
    /// Matches the records that match at least one of the two conditions before it.
    Or,
}

/// A test of one value. An absent value passes none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ValueTest {
    /// A number from the first to the second, both included.
    Within(i64, i64),
    /// One of these numbers, which are sorted.
    Among(Box<[i64]>),
    /// Any number but this one.
    NotNumber(i64),
    /// One of these texts, which are sorted.
    Words(Box<[Box<str>]>),
    /// Any text but this one.
    NotWord(Box<str>),
    /// A text with this one in it.
    Part(TextPart, Box<str>),
}

/// The place of a text within another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TextPart {
    Start,
    End,
    Anywhere,
}

impl TextPart {
    pub(super) fn is_in(self, text: &str, part: &str) -> bool {
        match self {
            TextPart::Start => text.starts_with(part),
            TextPart::End => text.ends_with(part),
            TextPart::Anywhere => text.contains(part),
        }
    }
}

/// The value of a record's field, as a filter compares it.
#[derive(Clone, Copy)]
pub(crate) enum ComparedField<'a> {
    Absent,
    /// A number in the steps of its field, or a moment in microseconds.
    Number(i64),
    Text(&'a str),
}

impl Filter {
    /// Parses a filter over the fields of the schema.
    ///
    /// # Errors
    /// Names `filter`, with the column of the error and the text that is expected there.
    pub fn parse(schema: &Schema, text: &str) -> Result<Filter, Invalid> {
        Filter::parse_part(schema, text, 0)
    }

    /// Parses the filter that a text has from this byte offset on.
    pub(crate) fn parse_part(schema: &Schema, text: &str, begin: usize) -> Result<Filter, Invalid> {
        let program = text::read(schema, text, begin)?;
        let Some(text) = text::describe(schema, &program) else {
            return Err(Invalid::new("filter", InvalidKind::TooLarge, "moments of the years 0 to 9999"));
        };
        match text.len() {
            0..=LONGEST => Ok(Filter { program: program.into(), text: text.into() }),
            _ => Err(text::too_long()),
        }
    }

    /// Returns true if the record matches.
    pub fn matches(&self, row: &QueryRow) -> bool {
        self.matches_by(|place| match row.values().get(place) {
            Some(Value::Number(number)) => ComparedField::Number(*number),
            Some(Value::Text(text)) => ComparedField::Text(text),
            Some(Value::None) | None => ComparedField::Absent,
        })
    }

    /// Returns true if the record matches whose fields have these values, by their places in the schema.
    pub(crate) fn matches_by<'a>(&self, field: impl Fn(usize) -> ComparedField<'a>) -> bool {
        let mut held: SmallVec<[bool; 16]> = SmallVec::new();
        for step in &self.program {
            let mut last = || held.pop().unwrap_or(false);
            let holds = match step {
                FilterStep::All => true,
                FilterStep::Field(place, test) => test.passes(field(*place as usize)),
                FilterStep::Not => !last(),
                FilterStep::And => last() & last(),
                FilterStep::Or => last() | last(),
            };
            held.push(holds);
        }
        held.pop().unwrap_or(false)
    }

    /// Returns the steps, in postfix order: each operator follows its conditions, and one result is left at
    /// the end.
    pub(super) fn program(&self) -> &[FilterStep] {
        &self.program
    }
}

impl ValueTest {
    fn passes(&self, field: ComparedField<'_>) -> bool {
        match (self, field) {
            (ValueTest::Within(low, high), ComparedField::Number(number)) => (*low..=*high).contains(&number),
            (ValueTest::Among(numbers), ComparedField::Number(number)) => {
                numbers.binary_search(&number).is_ok()
            }
            (ValueTest::NotNumber(other), ComparedField::Number(number)) => number != *other,
            (ValueTest::Words(words), ComparedField::Text(text)) => {
                words.binary_search_by(|word| (**word).cmp(text)).is_ok()
            }
            (ValueTest::NotWord(other), ComparedField::Text(text)) => text != &**other,
            (ValueTest::Part(place, part), ComparedField::Text(text)) => place.is_in(text, part),
            _ => false,
        }
    }

    /// Returns the number of values that the test compares with.
    fn values(&self) -> usize {
        match self {
            ValueTest::Within(..) | ValueTest::NotNumber(_) | ValueTest::NotWord(_) | ValueTest::Part(..) => {
                1
            }
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

/// A filter as it is deserialized, before its steps are checked.
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

// The parser of one comparison: a field and a value, a range or a set.
//
// ```text
// comparison := field ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//             | field "in" [value] ".." [value]
//             | field "in" "{" value { "," value } "}"
//             | field ("starts" "with" | "ends" "with" | "contains") value
// ```

/// Parses the comparison after the name of a field, with at most `most` values.
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
        Token::Word("starts") if text => part(tokens, field, TextPart::Start),
        Token::Word("ends") if text => part(tokens, field, TextPart::End),
        Token::Word("contains") if text => part(tokens, field, TextPart::Anywhere),
        Token::Word("starts" | "ends" | "contains") => {
            Err(tokens.refuse(InvalidKind::Mixed, "=, !=, <, <=, >, >= or in, for the field is no text,"))
        }
        _ if text => {
            Err(tokens.refuse(InvalidKind::Malformed, "=, !=, in, starts with, ends with or contains"))
        }
        _ => Err(tokens.refuse(InvalidKind::Malformed, "=, !=, <, <=, >, >= or in")),
    }
}

/// Parses the test for a part of a text, from its first word on.
fn part(tokens: &mut Tokens<'_>, field: &Field, place: TextPart) -> Result<ValueTest, Invalid> {
    tokens.take()?;
    if place != TextPart::Anywhere {
        if *tokens.next() != Token::Word("with") {
            return Err(tokens.refuse(InvalidKind::Malformed, "\"with\""));
        }
        tokens.take()?;
    }
    let at = tokens.at();
    match value(tokens, field)? {
        ComparedValue::Text(part) if !part.is_empty() => Ok(ValueTest::Part(place, part)),
        _ => Err(tokens.refuse_at(at, InvalidKind::Empty, "a text that is not empty", "")),
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

/// Parses a number, or a time of a field of times.
fn number(tokens: &mut Tokens<'_>, field: &Field) -> Result<i64, Invalid> {
    let refuse = |kind, due: &str| Err(tokens.refuse_at(tokens.at(), kind, due, ""));
    let number = match (field.kind(), tokens.next()) {
        (schema::FieldKind::Time, Token::Text(text)) => match time::at(text) {
            // The normal text writes the time in UTC, where it may fall in another year.
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

/// Parses a range. A missing end leaves that side unbounded.
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

/// Parses a set after its first brace.
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

// The order of a filter's steps: the same for texts that differ only in parentheses that change nothing.

/// An operator that joins two conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// A builder of steps in postfix order, from conditions as they are parsed.
///
/// Conditions that are joined by one operator are a chain: the first, then each of the others with its join
/// after it. `a and (b and c)` is the chain of `a and b and c`, and a double negation is dropped.
#[derive(Debug, Default)]
pub(super) struct PostfixOrder {
    steps: Vec<FilterStep>,
    /// The conditions that are not joined yet.
    conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug)]
struct Condition {
    /// The operator of the chain, if the condition is one, negated or not.
    join: Option<Join>,
    /// The index of its first step.
    begins: usize,
    /// The end of its first part, if it is a chain.
    first: usize,
    denied: bool,
}

impl PostfixOrder {
    /// Adds a condition of one step.
    pub(super) fn add(&mut self, step: FilterStep) {
        let begins = self.steps.len();
        self.conditions.push(Condition { join: None, begins, first: begins, denied: false });
        self.steps.push(step);
    }

    /// Negates the last condition; a second negation takes back the first.
    pub(super) fn deny(&mut self) {
        let Some(last) = self.conditions.last_mut() else { return };
        last.denied = !last.denied;
        match last.denied {
            true => self.steps.push(FilterStep::Not),
            false => drop(self.steps.pop()),
        }
    }

    /// Joins the last two conditions with an operator.
    pub(super) fn join(&mut self, join: Join) {
        let Some(right) = self.conditions.pop() else { return };
        let Some(left) = self.conditions.last_mut() else { return };
        let chain = |condition: &Condition| condition.join == Some(join) && !condition.denied;
        let step = match join {
            Join::And => FilterStep::And,
            Join::Or => FilterStep::Or,
        };
        // The joins of the right chain stay after its other parts, so the new one goes after its first part.
        let place = if chain(&right) { right.first } else { self.steps.len() };
        if !chain(left) {
            // The left condition as a whole is the first part of the new chain.
            *left = Condition { join: Some(join), begins: left.begins, first: right.begins, denied: false };
        }
        self.steps.insert(place, step);
    }

    /// Returns all steps.
    pub(super) fn finish(self) -> Vec<FilterStep> {
        self.steps
    }
}

#[cfg(test)]
mod tests;
