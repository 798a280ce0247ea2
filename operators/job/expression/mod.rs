//! The language of derived fields: a value of each record, made of its other fields.
//!
//! ```text
//! expression := alternative { "otherwise" alternative }
//! alternative := sum [ "if" condition ]
//! sum        := product { ( "+" | "-" ) product }
//! product    := factor { ( "*" | "/" ) factor }
//! factor     := "-" factor | "(" expression ")" | NUMBER | TEXT | FIELD | function "of" factor
//! function   := "lower" | "trimmed" | "domain" | "path" | "depth" COUNT | "start" COUNT | "part" COUNT "by" TEXT
//!             | "length" | "number"
//!             | "floor" | "absolute" | "text" | "bin" "{" NUMBER { "," NUMBER } "}"
//!             | "year" | "month" | "day" | "weekday" | "hour" | "minute"
//! ```
//!
//! A condition is in the [language of filters](crate::mechanisms::queries#the-language), and ends at `otherwise`, at the
//! parenthesis that it is in, or at the end. A text is in double quotes, a name that is no plain word between backquotes.
//!
//! * **Total.** An expression is a function of the record alone, and never fails: where there is no value it is *missing*, and a
//!   record whose key or value is missing does not count, as where a field of the source is empty. Missing are a field that the
//!   record does not have, or that is empty; a text that is no number where a number is read; a quotient by zero; a number beyond
//!   10^15; and an alternative whose condition does not hold. An operation on what is missing is missing. `a otherwise b` is `b`
//!   where `a` is missing.
//! * **Exact.** A number is a multiple of 10^-9; further digits are cut off towards the lower number. There are no floats.
//! * **Typed.** A field is read as what is made of it: a number, a text, or, for the field of the time, a time.
//! * **Bounded.** At most 4,096 bytes, 256 steps, and 32 parentheses, signs and functions within each other. It is evaluated
//!   without recursion.

mod calendar;
mod number;
mod parser;
#[cfg(test)]
pub(in crate::job) mod tests;
mod texts;

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

use self::calendar::CalendarPart;
use self::number::ExactNumber;
use super::condition::Condition;
use super::table::TableColumn;
use crate::invalid::Invalid;
use crate::mechanisms::queries::FieldKind;
use crate::time::{Time, ZoneRules};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Number,
    Text,
    Time,
}

impl ValueKind {
    /// Returns the name of the type in an error.
    fn name(self) -> &'static str {
        match self {
            ValueKind::Number => "a number",
            ValueKind::Text => "a text",
            ValueKind::Time => "a time",
        }
    }
}

/// The fields that an expression or a condition may name, with what is known of their types.
pub(crate) trait KnownFields {
    /// Returns the type of a field; `None` if it is read as the expression needs it.
    fn kind(&self, name: &str) -> Option<ValueKind>;

    /// Returns true for the field of the record's time.
    fn is_time(&self, name: &str) -> bool;
}

/// An expression over the fields of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    stated: String,
    normal: String,
    steps: Vec<Step>,
    /// The names of its fields, each once.
    fields: Vec<String>,
    kind: ValueKind,
}

/// Formats the expression as it is stated.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stated)
    }
}

/// A step of an expression in postfix order.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A value of the expression itself.
    Number(ExactNumber),
    Text(String),
    /// The field with this place, read as a value of this type.
    Field(usize, ValueKind),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Call(Function),
    /// The cell of a public table in the row whose key is the text before.
    Lookup(TableColumn),
    /// The value before, if the condition holds of the fields with these places.
    If(Box<Condition>, Vec<usize>),
    Otherwise,
}

/// A function of one value.
#[derive(Clone, Debug, PartialEq)]
enum Function {
    Lower,
    Trimmed,
    Domain,
    Path,
    Depth(u32),
    Start(u32),
    Part(u32, String),
    Length,
    Number,
    Floor,
    Absolute,
    Text,
    /// The edges, in their order.
    Bin(Vec<ExactNumber>),
    Calendar(CalendarPart),
}

/// The value of an expression for one record.
#[derive(Clone, Debug, PartialEq)]
enum Value<'a> {
    Missing,
    Number(ExactNumber),
    Text(Cow<'a, str>),
    Time(Time),
}

impl Expression {
    /// Parses an expression over these fields.
    ///
    /// # Errors
    ///
    /// Names `expression`, with the column of the error and what is due there.
    pub(crate) fn parse(text: &str, known: &dyn KnownFields) -> Result<Expression, Invalid> {
        parser::read(text, known)
    }

    /// Returns the text that a column of a public table has in the row of the key in this field.
    pub(crate) fn of_column(column: TableColumn, by: &str) -> Expression {
        let normal = format!("table {} by {by:?}", column.digest());
        let steps = vec![Step::Field(0, ValueKind::Text), Step::Lookup(column)];
        Expression {
            stated: String::new(),
            normal,
            steps,
            fields: vec![by.to_owned()],
            kind: ValueKind::Text,
        }
    }

    /// Returns true if it was parsed: a column of a table has no text.
    pub(crate) fn is_stated(&self) -> bool {
        !self.stated.is_empty()
    }

    /// Returns the names that a text of this language mentions, of fields or not. It is for ordering expressions that name each
    /// other before their types are known.
    pub(crate) fn mentioned(text: &str) -> Vec<String> {
        parser::mentioned(text)
    }

    /// Returns the text with one space between its tokens.
    pub(crate) fn normal(&self) -> &str {
        &self.normal
    }

    /// Returns the names of its fields, in their order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(String::as_str)
    }

    /// Returns the type of its values: a number or a text.
    pub(crate) fn kind(&self) -> ValueKind {
        self.kind
    }

    /// Returns true if it reads the record's time as a time.
    pub(crate) fn has_time(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Field(_, kind) => *kind == ValueKind::Time,
            Step::If(condition, _) => condition.has_time(),
            _ => false,
        })
    }

    /// Appends the text of its value for a record with this time and these cells, `None` for an absent one; returns false where
    /// it is missing.
    pub(crate) fn write<'a>(
        &self,
        time: Option<Time>,
        zone: &ZoneRules,
        cell: impl Fn(usize) -> Option<&'a [u8]>,
        into: &mut Vec<u8>,
    ) -> bool {
        use std::io::Write;
        match self.value(time, zone, &cell) {
            // Writing to a vector does not fail.
            Value::Number(number) => write!(into, "{number}").is_ok(),
            Value::Text(text) => {
                into.extend_from_slice(text.as_bytes());
                !text.is_empty()
            }
            Value::Missing | Value::Time(_) => false,
        }
    }

    fn value<'a, 'b: 'a>(
        &'a self,
        time: Option<Time>,
        zone: &ZoneRules,
        cell: &impl Fn(usize) -> Option<&'b [u8]>,
    ) -> Value<'a> {
        let mut held: SmallVec<[Value<'a>; 8]> = SmallVec::new();
        for step in &self.steps {
            let value = match step {
                Step::Number(number) => Value::Number(*number),
                Step::Text(text) => Value::Text(Cow::Borrowed(text)),
                Step::Field(place, kind) => field(*kind, time, cell(*place)),
                Step::Negate => number(|[number]| Some(number.negative()), [last(&mut held)]),
                Step::Add => number(|[one, other]| one.plus(other), two(&mut held)),
                Step::Subtract => number(|[one, other]| one.minus(other), two(&mut held)),
                Step::Multiply => number(|[one, other]| one.times(other), two(&mut held)),
                Step::Divide => number(|[one, other]| one.by(other), two(&mut held)),
                Step::Call(function) => function.of(last(&mut held), zone),
                Step::Lookup(column) => match last(&mut held) {
                    Value::Text(key) => {
                        column.get(&key).map_or(Value::Missing, |cell| Value::Text(Cow::Borrowed(cell)))
                    }
                    _ => Value::Missing,
                },
                Step::If(condition, places) => {
                    let value = last(&mut held);
                    let holds = condition.holds(time, |at| cell(*places.get(at)?));
                    if holds { value } else { Value::Missing }
                }
                Step::Otherwise => match two(&mut held) {
                    [Value::Missing, other] => other,
                    [one, _] => one,
                },
            };
            held.push(value);
        }
        last(&mut held)
    }
}

/// Takes the last value that is held.
fn last<'a>(held: &mut SmallVec<[Value<'a>; 8]>) -> Value<'a> {
    held.pop().unwrap_or(Value::Missing)
}

/// Takes the last two values, in the order in which they were computed.
fn two<'a>(held: &mut SmallVec<[Value<'a>; 8]>) -> [Value<'a>; 2] {
    let other = last(held);
    [last(held), other]
}

/// Computes a number from numbers.
fn number<'a, const N: usize>(
    compute: impl FnOnce([ExactNumber; N]) -> Option<ExactNumber>,
    values: [Value<'a>; N],
) -> Value<'a> {
    let mut numbers = SmallVec::<[ExactNumber; 2]>::new();
    for value in values {
        let Value::Number(number) = value else { return Value::Missing };
        numbers.push(number);
    }
    let Ok(numbers) = <[ExactNumber; N]>::try_from(numbers.as_slice()) else { return Value::Missing };
    compute(numbers).map_or(Value::Missing, Value::Number)
}

fn field(kind: ValueKind, time: Option<Time>, cell: Option<&[u8]>) -> Value<'_> {
    let cell = cell.filter(|cell| !cell.is_empty());
    match kind {
        ValueKind::Time => time.map_or(Value::Missing, Value::Time),
        ValueKind::Number => cell.and_then(ExactNumber::read).map_or(Value::Missing, Value::Number),
        ValueKind::Text => match cell.map(std::str::from_utf8) {
            Some(Ok(text)) => Value::Text(Cow::Borrowed(text)),
            _ => Value::Missing,
        },
    }
}

impl Function {
    /// Returns the type that it reads.
    fn reads(&self) -> ValueKind {
        match self {
            Function::Lower
            | Function::Trimmed
            | Function::Domain
            | Function::Path
            | Function::Depth(_)
            | Function::Start(_)
            | Function::Part(..)
            | Function::Length
            | Function::Number => ValueKind::Text,
            Function::Floor | Function::Absolute | Function::Text | Function::Bin(_) => ValueKind::Number,
            Function::Calendar(_) => ValueKind::Time,
        }
    }

    /// Returns the type of its values.
    fn gives(&self) -> ValueKind {
        match self {
            Function::Length | Function::Number | Function::Floor | Function::Absolute => ValueKind::Number,
            Function::Calendar(part) => part.kind(),
            _ => ValueKind::Text,
        }
    }

    fn of<'a>(&'a self, value: Value<'a>, zone: &ZoneRules) -> Value<'a> {
        let number = |number: Option<ExactNumber>| number.map_or(Value::Missing, Value::Number);
        match (self, value) {
            (Function::Length, Value::Text(text)) => {
                number(i64::try_from(text.chars().count()).ok().and_then(ExactNumber::whole))
            }
            (Function::Number, Value::Text(text)) => number(ExactNumber::read(text.as_bytes())),
            (Function::Floor, Value::Number(value)) => number(Some(value.floor())),
            (Function::Absolute, Value::Number(value)) => Value::Number(value.absolute()),
            (Function::Text, Value::Number(value)) => Value::Text(value.to_string().into()),
            (Function::Bin(edges), Value::Number(value)) => Value::Text(bin(edges, value).into()),
            (Function::Calendar(part), Value::Time(time)) => part.of(time, zone),
            (function, Value::Text(Cow::Borrowed(text))) => function.part(text),
            (function, Value::Text(Cow::Owned(text))) => match function.part(&text) {
                Value::Text(part) => Value::Text(part.into_owned().into()),
                _ => Value::Missing,
            },
            _ => Value::Missing,
        }
    }

    /// Returns a text made of a text.
    fn part<'t>(&self, text: &'t str) -> Value<'t> {
        let part = match self {
            Function::Lower => Some(texts::lower(text)),
            Function::Trimmed => Some(text.trim().into()),
            Function::Domain => texts::domain(text),
            Function::Path => texts::path(text),
            Function::Depth(depth) => texts::prefix(text, *depth),
            Function::Start(characters) => texts::start(text, *characters),
            Function::Part(number, separator) => texts::part(text, *number, separator),
            _ => None,
        };
        part.filter(|part| !part.is_empty()).map_or(Value::Missing, Value::Text)
    }
}

/// Returns the name of the interval between two of these edges that holds a number. The lower edge belongs to it.
fn bin(edges: &[ExactNumber], number: ExactNumber) -> String {
    let above = edges.partition_point(|edge| *edge <= number);
    bin_name(above.checked_sub(1).and_then(|low| edges.get(low)), edges.get(above))
}

/// Returns the names of all intervals between these edges, in their order; `None` if an edge is no number of an expression.
pub(crate) fn bin_names(edges: &[String]) -> Option<Vec<String>> {
    let edges: Vec<ExactNumber> =
        edges.iter().map(|edge| ExactNumber::read(edge.as_bytes())).collect::<Option<_>>()?;
    let name = |above: usize| bin_name(above.checked_sub(1).and_then(|low| edges.get(low)), edges.get(above));
    Some((0..=edges.len()).map(name).collect())
}

fn bin_name(low: Option<&ExactNumber>, high: Option<&ExactNumber>) -> String {
    let low = low.map_or("(-inf".to_owned(), |low| format!("[{low}"));
    let high = high.map_or("inf".to_owned(), ToString::to_string);
    format!("{low}, {high})")
}

/// Returns the type by which a condition compares a field of known type.
pub(crate) fn compared_kind(name: &str, known: &dyn KnownFields) -> Option<FieldKind> {
    match known.kind(name) {
        Some(ValueKind::Number) => Some(FieldKind::Decimal(0)),
        Some(ValueKind::Text) => Some(FieldKind::Text),
        Some(ValueKind::Time) => Some(FieldKind::Time),
        None => known.is_time(name).then_some(FieldKind::Time),
    }
}
