//! The schema: the fields that can be queried.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::query::QueryBy;
use crate::canonical::{Canonical, Digest};
use crate::decimal::Decimal;
use crate::invalid::Invalid;
use crate::mechanisms::DecimalPoint;
use crate::time::{Time, Zone};
use crate::words::{listed, meant, quoted};
use crate::{invalid, time};

/// The largest number of fields.
const FIELDS: usize = 1_024;

/// The largest number of characters of a name.
const NAME: usize = 128;

/// The fields of the stored rows, in order, and the names of the fields that identify the person of a record.
/// Both are public.
///
/// ```
/// use discreet::mechanisms::queries::{Field, Schema};
///
/// let schema = Schema::new([Field::number("age"), Field::decimal("price", 2), Field::text("country")])?
///     .of_person("client")?;
/// let question = schema.question("ann", "q1", 0).mean("price", "0", "99.50", "age >= 18 and country = \"DE\"")?;
/// assert_eq!(question.text(), "mean of price in 0..99.5 where age >= 18 and country = \"DE\"");
/// assert!(schema.question("ann", "q2", 0).count("client = \"me\"").is_err());
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    fields: Arc<[Field]>,
    persons: Arc<[Box<str>]>,
    zone: Zone,
}

/// One field of the rows: its name and the kind of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    name: Box<str>,
    kind: FieldKind,
}

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldKind {
    /// Integers.
    Number,
    /// Decimals with this number of digits after the point, stored as integers in steps of the last digit.
    Decimal(u8),
    /// Points in time, in microseconds.
    Time,
    /// Strings.
    Text,
}

impl Schema {
    /// Creates the schema of these fields.
    ///
    /// # Errors
    /// Names `fields` if there is none or there are more than 1,024; if two have the same name; if a name is
    /// empty, is longer than 128 characters, or has a character that cannot be written between backquotes; or
    /// if a decimal has more than 18 digits.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Result<Schema, Invalid> {
        let fields: Arc<[Field]> = fields.into_iter().take(FIELDS + 1).collect();
        let refuse = |kind, remedy: String| Err(Invalid::new("fields", kind, remedy));
        match fields.len() {
            0 => return refuse(invalid::InvalidKind::Empty, "at least one field".into()),
            1..=FIELDS => {}
            _ => return refuse(invalid::InvalidKind::TooLarge, format!("at most {FIELDS} fields")),
        }
        for (place, field) in fields.iter().enumerate() {
            nameable("fields", &field.name)?;
            if matches!(field.kind, FieldKind::Decimal(19..)) {
                let remedy = format!("the field {} at most 18 digits behind the point", quoted(&field.name));
                return refuse(invalid::InvalidKind::TooLarge, remedy);
            }
            if fields.iter().take(place).any(|before| before.name == field.name) {
                return refuse(
                    invalid::InvalidKind::Mixed,
                    format!("the field {} once", quoted(&field.name)),
                );
            }
        }
        Ok(Schema { fields, persons: Arc::default(), zone: Zone::utc() })
    }

    /// Adds the name of a field that identifies the person of a record. No row holds it, and a query that
    /// names it is refused with the reason that nobody may query it.
    ///
    /// # Errors
    /// Names `person` if the name is not valid, or is that of a field.
    pub fn of_person(self, name: &str) -> Result<Schema, Invalid> {
        nameable("person", name)?;
        if self.place(name).is_some() {
            let remedy = "rows without the field that says whose a record is: nobody may ask about it";
            return Err(Invalid::new("person", invalid::InvalidKind::Mixed, remedy));
        }
        let persons = self.persons.iter().cloned().chain([name.into()]).collect();
        Ok(Schema { persons, ..self })
    }

    /// States the zone of dates alone in the `at` of a line; without it, UTC. A date in a filter is its midnight in UTC in any
    /// zone: an answer repeats the text of its query, which means the same by itself.
    pub fn dated_in(self, zone: Zone) -> Schema {
        Schema { zone, ..self }
    }

    /// Returns the zone of dates alone in the `at` of a line.
    pub(super) fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the fields that can be queried.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns a hash of the fields and the persons: every difference of them gives another hash.
    pub fn digest(&self) -> Digest {
        let count = |count: usize| count as i64;
        let mut canonical = Canonical::new("discreet schema 1").number(count(self.fields.len()));
        for Field { name, kind } in &*self.fields {
            let (word, digits) = match kind {
                FieldKind::Number => ("number", 0),
                FieldKind::Decimal(digits) => ("decimal", *digits),
                FieldKind::Time => ("time", 0),
                FieldKind::Text => ("text", 0),
            };
            canonical = canonical.text(name).text(word).number(digits.into());
        }
        canonical = canonical.number(count(self.persons.len()));
        self.persons.iter().fold(canonical, |canonical, name| canonical.text(name)).finish()
    }

    /// Begins a query of this analyst, under this id and for this time; [`QueryBy`] completes it.
    pub fn question<'a>(&'a self, analyst: &'a str, id: &'a str, at: Time) -> QueryBy<'a> {
        QueryBy::new(self, analyst, id, at)
    }

    /// Returns the index of the field of this name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| &*field.name == name)
    }

    /// Returns the end of an error message for an unknown name: the list of the fields.
    pub(super) fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.fields.iter().map(|field| &*field.name).collect();
        let shown: Vec<String> = known.iter().take(20).map(|name| as_written(name)).collect();
        let more = known.len().saturating_sub(shown.len());
        let mut fields =
            if more == 0 { listed(&shown) } else { format!("{} or {more} more", shown.join(", ")) };
        let why = match self.persons.iter().any(|person| **person == *name) {
            true => "of which nobody may ask, for it says whose a record is",
            false => {
                if let Some(meant) = meant(name, &known) {
                    fields.push_str(&format!(" (did you mean {}?)", as_written(meant)));
                }
                "which is no field"
            }
        };
        format!("in place of {}, {why}: {fields}", quoted(name))
    }
}

impl Field {
    /// Creates a field of integers.
    pub fn number(name: impl Into<String>) -> Field {
        Field::of(name, FieldKind::Number)
    }

    /// Creates a field of decimals with at most this number of digits after the point.
    pub fn decimal(name: impl Into<String>, digits: u8) -> Field {
        Field::of(name, FieldKind::Decimal(digits))
    }

    /// Creates a field of points in time.
    pub fn time(name: impl Into<String>) -> Field {
        Field::of(name, FieldKind::Time)
    }

    /// Creates a field of strings.
    pub fn text(name: impl Into<String>) -> Field {
        Field::of(name, FieldKind::Text)
    }

    fn of(name: impl Into<String>, kind: FieldKind) -> Field {
        Field { name: name.into().into(), kind }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kind of the values.
    pub fn kind(&self) -> FieldKind {
        self.kind
    }

    /// Returns the decimal point of the values; that of an integer for times and texts.
    pub fn point(&self) -> DecimalPoint {
        match self.kind {
            FieldKind::Decimal(digits) => DecimalPoint::digits(digits.into()).unwrap_or(DecimalPoint::WHOLE),
            FieldKind::Number | FieldKind::Time | FieldKind::Text => DecimalPoint::WHOLE,
        }
    }

    /// Parses a number exactly, in steps of the field. The error is its kind and the text of the remedy.
    pub(super) fn steps(&self, text: &str) -> Result<i64, (invalid::InvalidKind, String)> {
        let digits = self.point().count();
        let due = || match digits {
            0 => "a whole number".to_owned(),
            1 => "a number of at most 1 digit behind the point".to_owned(),
            _ => format!("a number of at most {digits} digits behind the point"),
        };
        let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
        let size = Decimal::parse("number", size).map_err(|refused| match refused.kind() {
            // Two signs, or a sign alone.
            invalid::InvalidKind::Negative | invalid::InvalidKind::Missing if sign < 0 => {
                (invalid::InvalidKind::Malformed, due())
            }
            kind => (kind, due()),
        })?;
        let (written, power) = size.parts();
        let kept = written.trim_end_matches('0');
        if kept.is_empty() {
            return Ok(0);
        }
        let zeros = power + (written.len() - kept.len()) as i32 + digits;
        let Ok(zeros) = u32::try_from(zeros) else { return Err((invalid::InvalidKind::TooSmall, due())) };
        let steps = kept.parse::<i128>().ok().zip(10i128.checked_pow(zeros));
        let steps = steps.and_then(|(kept, unit)| i64::try_from((sign * kept).checked_mul(unit)?).ok());
        steps.ok_or_else(|| (invalid::InvalidKind::TooLarge, format!("{}, below 2^63 of its steps", due())))
    }
}

/// Returns the name as the filter language writes it: between backquotes, unless it is a plain word and no
/// keyword.
pub(super) fn as_written(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(is_plain)
        && !name.contains("..")
        && !RESERVED.contains(&name);
    if plain { name.to_owned() } else { format!("`{name}`") }
}

/// Returns true if a name may contain the character without backquotes.
pub(super) fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "_-.".contains(character)
}

/// The keywords of the filter language.
pub(super) const RESERVED: [&str; 5] = ["all", "and", "in", "not", "or"];

fn nameable(field: &'static str, name: &str) -> Result<(), Invalid> {
    let kind = match name.chars().count() {
        0 => invalid::InvalidKind::Missing,
        1..=NAME if printable(name) && !name.contains('`') => return Ok(()),
        1..=NAME => invalid::InvalidKind::Malformed,
        _ => invalid::InvalidKind::TooLarge,
    };
    Err(Invalid::new(
        field,
        kind,
        format!("a name of 1 to {NAME} printable characters, none of them a backquote"),
    ))
}

/// Returns true if every character is visible or a plain space: none is a control character, has no width, or
/// changes the direction of its neighbours.
pub(super) fn printable(text: &str) -> bool {
    text.chars().all(|character| match character {
        ' ' => true,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => false,
        _ => !character.is_control() && !character.is_whitespace(),
    })
}

/// Returns the text of a time that parses to the same time; `None` if it has none.
pub(super) fn moment(time: Time) -> Option<String> {
    let text = jiff::Timestamp::from_microsecond(time).ok()?.to_string();
    (time::at(&text) == Ok(time)).then_some(text)
}

// The stored values of one record, one for each field of a [`Schema`](super::Schema).

/// One value of a record. A time is a number of microseconds; a decimal is a number of steps of its field.
///
/// It prints as `<private>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Value {
    /// No value. A value of another type than its field's counts as this one.
    None,
    /// A number, in the steps of its field.
    Number(i64),
    /// A string.
    Text(Box<str>),
}

redacted!(Value);

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

/// The values of one record, in the order of the schema's fields. Missing values at the end are absent, and
/// values beyond the last field are ignored.
///
/// ```
/// use discreet::mechanisms::queries::{QueryRow, Value};
///
/// let row = QueryRow::from([Value::from(34), "DE".into(), Value::None]);
/// assert_eq!(row.values().len(), 3);
/// assert_eq!(format!("{row:?}"), "<private>");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueryRow(Box<[Value]>);

impl QueryRow {
    /// Creates a row of these values.
    pub fn new(values: impl IntoIterator<Item = Value>) -> QueryRow {
        QueryRow(values.into_iter().collect())
    }

    /// Returns the values, in the order of the fields.
    pub fn values(&self) -> &[Value] {
        &self.0
    }
}

redacted!(QueryRow);

impl<const N: usize> From<[Value; N]> for QueryRow {
    fn from(values: [Value; N]) -> QueryRow {
        QueryRow(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_names_that_can_be_said() {
        let refused = |fields: Vec<Field>| {
            let refused = Schema::new(fields).unwrap_err();
            (refused.field().to_owned(), refused.kind())
        };
        let field = |name: &str| vec![Field::number(name)];
        for (fields, kind) in [
            (vec![], invalid::InvalidKind::Empty),
            (field(""), invalid::InvalidKind::Missing),
            (field("a`b"), invalid::InvalidKind::Malformed),
            (field("a\nb"), invalid::InvalidKind::Malformed),
            (field(&"a".repeat(129)), invalid::InvalidKind::TooLarge),
            ([field("a"), vec![Field::text("a")]].concat(), invalid::InvalidKind::Mixed),
            (vec![Field::decimal("a", 19)], invalid::InvalidKind::TooLarge),
            (
                (0..1_025).flat_map(|place| field(&place.to_string())).collect(),
                invalid::InvalidKind::TooLarge,
            ),
        ] {
            assert_eq!(refused(fields), ("fields".to_owned(), kind));
        }
        let schema =
            Schema::new([Field::decimal("a b", 18), Field::text("größe"), Field::time("x")]).unwrap();
        for (name, kind) in [("x", invalid::InvalidKind::Mixed), ("", invalid::InvalidKind::Missing)] {
            let refused = schema.clone().of_person(name).unwrap_err();
            assert_eq!((refused.field(), refused.kind()), ("person", kind));
        }
    }

    // Refutes a hash that omits a name, a kind, the position of a decimal point, the order, or the name of a
    // person's field.
    #[test]
    fn another_schema_has_another_digest() {
        let of = |fields: &[Field]| Schema::new(fields.iter().cloned()).unwrap();
        let one = |field: &Field| of(std::slice::from_ref(field));
        let (a, b) = (Field::number("a"), Field::number("b"));
        let all = [
            one(&a),
            of(&[a.clone(), b.clone()]),
            of(&[b.clone(), a.clone()]),
            of(&[Field::time("a")]),
            of(&[Field::text("a")]),
            of(&[Field::decimal("a", 0)]),
            of(&[Field::decimal("a", 2)]),
            one(&a).of_person("b").unwrap(),
            one(&a).of_person("c").unwrap(),
            one(&a).of_person("b").unwrap().of_person("c").unwrap(),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other.digest() != one.digest()), "{one:?}");
        }
        assert_eq!(of(&[a.clone(), b.clone()]).digest(), of(&[a, b]).digest());
    }

    // Refutes a name whose printed form parses as another name.
    #[test]
    fn every_name_can_be_asked_about() {
        for name in
            ["a", "all", "in", "not", "1a", "a b", "a..b", "a.b", "a-b", "größe", "日", "\"", "-", "(", "\\"]
        {
            let schema = Schema::new([Field::number(name)]).unwrap();
            let asked =
                schema.question("ann", "q", 0).mean(name, "0", "1", &format!("`{name}` = 1")).unwrap();
            let shown = as_written(name);
            assert_eq!(asked.text(), format!("mean of {shown} in 0..1 where {shown} = 1"));
            let again = schema.question("ann", "q", 0).mean(name, "0", "1", &asked.filter().to_string());
            assert_eq!(again, Ok(asked));
        }
    }
}
