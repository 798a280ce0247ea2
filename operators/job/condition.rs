//! The condition of a source, `where`: a record counts if it holds, and is left out otherwise, as if it were not there.
//!
//! It is in the [language of filters](crate::mechanisms::queries#the-language). A field is of the type that it is compared
//! with: a number, or a text; the field of the time of a source is a time. It is a function of the record alone, and it never
//! fails: a value that is no number is absent where a number is compared, and passes no comparison.

use std::collections::BTreeSet;
use std::fmt;

use super::expression::{KnownFields, compared_kind};
use super::sources::steps;
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::queries::{ComparedField, Field, FieldKind, Filter, Schema, Token, Tokens};
use crate::time::Time;

/// A condition on the fields of a record.
#[derive(Clone, Debug)]
pub struct Condition {
    stated: String,
    filter: Filter,
    schema: Schema,
    /// The number of fields that it names; a schema has at least one.
    named: usize,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Condition) -> bool {
        self.stated == other.stated && self.filter == other.filter
    }
}

/// Formats the condition as it is stated.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stated)
    }
}

/// The digits behind the point that a number is compared with, unless the condition states more of them. Further digits of a
/// record are cut off.
const DIGITS: u8 = 6;

impl Condition {
    /// Parses a condition over these fields.
    ///
    /// # Errors
    ///
    /// Unless it is in the language of filters, and compares each field with values of one type.
    pub(crate) fn parse(text: &str, known: &dyn KnownFields) -> Result<Condition, Invalid> {
        Condition::parse_part(text, 0, known)
    }

    /// Parses the condition that a text has from this byte offset on.
    pub(crate) fn parse_part(
        text: &str,
        begin: usize,
        known: &dyn KnownFields,
    ) -> Result<Condition, Invalid> {
        let mut fields = fields(Tokens::of_filter(text, begin)?, known)?;
        let named = fields.len();
        if fields.is_empty() {
            // `all`, or a text that is no condition.
            fields.push(Field::text("all"));
        }
        let schema = Schema::new(fields)?;
        let filter = Filter::parse_part(&schema, text, begin)?;
        let stated = text.get(begin..).unwrap_or_default().trim().to_owned();
        Ok(Condition { stated, filter, schema, named })
    }

    /// Returns the condition in its normal text.
    pub(crate) fn normal(&self) -> String {
        self.filter.to_string()
    }

    /// Returns the names of its fields, in their order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().take(self.named).map(Field::name)
    }

    /// Returns true if it compares the time of the record.
    pub(crate) fn has_time(&self) -> bool {
        self.schema.fields().iter().any(|field| field.kind() == FieldKind::Time)
    }

    /// Returns true if it holds for a record with this time and these cells, `None` for an absent one.
    pub(crate) fn holds<'a>(&self, time: Option<Time>, cell: impl Fn(usize) -> Option<&'a [u8]>) -> bool {
        self.filter.matches_by(|place| {
            let Some(field) = self.schema.fields().get(place) else { return ComparedField::Absent };
            let number = |number: Option<i64>| number.map_or(ComparedField::Absent, ComparedField::Number);
            let text = || std::str::from_utf8(cell(place)?).ok();
            match field.kind() {
                FieldKind::Time => number(time),
                FieldKind::Number => number(cell(place).and_then(|cell| steps(cell, 0))),
                FieldKind::Decimal(digits) => {
                    number(cell(place).and_then(|cell| steps(cell, i32::from(digits))))
                }
                FieldKind::Text => text().map_or(ComparedField::Absent, ComparedField::Text),
            }
        })
    }
}

/// Returns the fields of a condition, each of the type of the values that it is compared with.
fn fields(mut tokens: Tokens<'_>, known: &dyn KnownFields) -> Result<Vec<Field>, Invalid> {
    let mut fields: Vec<(String, Option<FieldKind>)> = Vec::new();
    let (mut compared, mut is_due, mut ordered) = (None, true, BTreeSet::new());
    loop {
        let at = tokens.at();
        let kind = match tokens.take()? {
            Token::End => break,
            Token::Sign("(") | Token::Word("and" | "or" | "not") => {
                is_due = true;
                continue;
            }
            Token::Word(name) | Token::Name(name) if is_due && name != "all" => {
                is_due = false;
                compared = fields.iter().position(|(other, _)| other == name);
                if compared.is_none() {
                    compared = Some(fields.len());
                    fields.push((name.to_owned(), compared_kind(name, known)));
                }
                continue;
            }
            // A text has no order; where the value is missing, the error is that of a number.
            Token::Sign("<" | "<=" | ">" | ">=") => {
                ordered.extend(compared);
                continue;
            }
            Token::Number(number) => FieldKind::Decimal(digits(number)),
            Token::Text(_) => FieldKind::Text,
            _ => continue,
        };
        let Some((_, known)) = compared.and_then(|place| fields.get_mut(place)) else { continue };
        match (*known, kind) {
            (None, kind) => *known = Some(kind),
            (Some(FieldKind::Decimal(most)), FieldKind::Decimal(digits)) => {
                *known = Some(FieldKind::Decimal(most.max(digits)));
            }
            (Some(FieldKind::Decimal(_)), FieldKind::Text)
            | (Some(FieldKind::Text), FieldKind::Decimal(_)) => {
                let due = "values of one type for a field, which is a number or a text,";
                return Err(tokens.refuse_at(at, InvalidKind::Mixed, due, ""));
            }
            _ => {}
        }
    }
    let field = |(place, (name, kind)): (usize, (String, Option<FieldKind>))| match kind {
        Some(FieldKind::Time) => Field::time(name),
        Some(FieldKind::Decimal(digits)) => Field::decimal(name, digits),
        None if ordered.contains(&place) => Field::decimal(name, DIGITS),
        _ => Field::text(name),
    };
    Ok(fields.into_iter().enumerate().map(field).collect())
}

/// Returns the digits behind the point that a number is compared with.
fn digits(number: &str) -> u8 {
    let stated =
        Decimal::parse("filter", number.trim_start_matches('-')).map_or(0, |number| -number.parts().1);
    u8::try_from(stated).unwrap_or(0).max(DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::expression::tests::Records;

    fn holds(text: &str, cells: &[(&str, &str)]) -> bool {
        let condition = Condition::parse(text, &Records).unwrap();
        let names: Vec<&str> = condition.fields().collect();
        let time = cells.iter().find(|(name, _)| *name == "time").map(|(_, time)| time.parse().unwrap());
        condition.holds(time, |place| {
            cells.iter().find(|(name, _)| *name == names[place]).map(|(_, cell)| cell.as_bytes())
        })
    }

    // Refutes numbers that are compared as texts or rounded, and absent values that pass.
    #[test]
    fn a_field_is_compared_as_its_values_are() {
        let record =
            [("status", "500"), ("path", "/api/x"), ("took", " 0.29 "), ("agent", "-"), ("time", "7")];
        for (text, expected) in [
            ("all", true),
            ("status >= 500 and path starts with \"/api/\"", true),
            ("status = \"500\"", true),
            ("status = \"500.0\"", false),
            ("status = 500.0", true),
            ("status > 499.9999999", true),
            ("status < 5000 and not status < 50", true),
            ("took = 0.29", true),
            ("took > 0.29", false),
            ("took >= 0.2900001", false),
            ("agent = 0", false),
            ("agent != 0", false),
            ("not agent = 0", true),
            ("missing = 0 or missing = 1", false),
            ("missing != 7", false),
            ("path contains \"i/\" and path ends with \"x\"", true),
            ("path in {\"/\", \"/api/x\"}", true),
            ("status in {404, 500} or path = \"/\"", true),
            ("time >= \"1970-01-01T00:00:00.000007Z\"", true),
            ("time > \"1970-01-01T00:00:00.000007Z\"", false),
            ("`status` in 500..600", true),
        ] {
            assert_eq!(holds(text, &record), expected, "{text}");
        }
        assert!(!holds("took < 0.299999", &[("took", "0.3")]));
        assert!(holds("n > 499", &[("n", "499.9")]), "no digit is rounded away before it is compared");
        assert!(holds("n > 1", &[("n", "1e300")]) && holds("n < -1", &[("n", "-1e300")]));
    }

    // Refutes an error without its place, and a text that is taken for something else.
    #[test]
    fn what_is_no_condition_is_refused_at_its_column() {
        for (text, kind, place) in [
            ("", InvalidKind::Missing, "a condition such as"),
            ("status >= ", InvalidKind::Malformed, "column 11"),
            (
                "status = 5 or status = \"x\"",
                InvalidKind::Mixed,
                "values of one type for a field, which is a number or a text, at column 24",
            ),
            ("path < \"x\"", InvalidKind::Mixed, "column 6"),
            ("path starts \"x\"", InvalidKind::Malformed, "\"with\" at column 13"),
            ("path starts with \"\"", InvalidKind::Empty, "column 18"),
            ("status starts with 5", InvalidKind::Mixed, "column 8"),
            ("time > 7", InvalidKind::Mixed, "a moment in double quotes"),
            ("time > \"soon\"", InvalidKind::Malformed, "a date or a moment"),
            ("status = 500 path = 5", InvalidKind::Malformed, "column 14"),
            ("status = 1e15", InvalidKind::TooLarge, "column 10"),
            ("price = \"x\"", InvalidKind::Mixed, "values of one type for a field"),
            ("host > 5", InvalidKind::Mixed, "values of one type for a field"),
            ("host > \"x\"", InvalidKind::Mixed, "column 6"),
        ] {
            let refused = Condition::parse(text, &Records).unwrap_err();
            assert_eq!(refused.kind(), kind, "{text}: {refused}");
            assert!(refused.remedy().contains(place), "{text}: {refused}");
        }
    }

    #[test]
    fn a_condition_of_no_field_needs_none() {
        for (text, fields) in
            [("all", 0), ("not all or all", 0), ("all and a = 1 and a < 2 or `b c` = \"\"", 2)]
        {
            assert_eq!(Condition::parse(text, &Records).unwrap().fields().count(), fields, "{text}");
        }
    }

    #[test]
    fn its_normal_text_is_of_the_same_condition() {
        for (text, normal) in [
            ("status>499.5 and(path=\"/\")", "status >= 499.500001 and path = \"/\""),
            ("not not status in 500..600", "status in 500..600"),
        ] {
            let condition = Condition::parse(text, &Records).unwrap();
            assert_eq!(condition.normal(), normal);
            assert_eq!(condition.to_string(), text);
            assert_eq!(Condition::parse(normal, &Records).unwrap().normal(), normal);
        }
    }
}
