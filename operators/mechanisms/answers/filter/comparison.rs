//! One field compared with what a filter's text says.
//!
//! ```text
//! comparison := field ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//!             | field "in" [value] ".." [value]
//!             | field "in" "{" value { "," value } "}"
//! ```

use super::ValueTest;
use super::tokens::{Token, Tokens};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answers::schema::{self, Field, moment};
use crate::time;

/// What stands behind the name of a field. At most so many values.
pub(super) fn read_comparison(
    tokens: &mut Tokens<'_>,
    field: &Field,
    most: usize,
) -> Result<ValueTest, Invalid> {
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

pub(super) fn too_many(tokens: &Tokens<'_>) -> Invalid {
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
            // It is told again, and by the clock of UTC it may be in another year.
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
