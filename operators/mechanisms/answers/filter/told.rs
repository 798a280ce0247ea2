//! Steps become a filter's text again.

use super::{FilterStep, ValueTest};
use crate::mechanisms::answers::Schema;
use crate::mechanisms::answers::schema::{Field, FieldKind, moment, printable, told};

/// How tightly a text holds together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tight {
    Or,
    And,
    /// A comparison, or what is denied.
    One,
}

/// The one text of these steps; none where they are no filter of this schema, or a moment has no text.
pub(super) fn tell(schema: &Schema, steps: &[FilterStep]) -> Option<String> {
    let mut texts: Vec<(String, Tight)> = Vec::new();
    for step in steps {
        let text = match step {
            FilterStep::All => ("all".to_owned(), Tight::One),
            FilterStep::Field(place, test) => {
                let field = schema.fields().get(*place as usize)?;
                (format!("{} {}", told(field.name()), comparison(field, test)?), Tight::One)
            }
            FilterStep::Not => (format!("not {}", held(texts.pop()?, Tight::One)), Tight::One),
            FilterStep::And => joined(&mut texts, " and ", Tight::And)?,
            FilterStep::Or => joined(&mut texts, " or ", Tight::Or)?,
        };
        texts.push(text);
    }
    texts.pop().map(|(text, _)| text)
}

fn joined(texts: &mut Vec<(String, Tight)>, word: &str, tight: Tight) -> Option<(String, Tight)> {
    let right = held(texts.pop()?, tight);
    let left = held(texts.pop()?, tight);
    Some((left + word + &right, tight))
}

/// The text, between parentheses where it would fall apart.
fn held((text, tight): (String, Tight), needed: Tight) -> String {
    if tight < needed { format!("({text})") } else { text }
}

fn comparison(field: &Field, test: &ValueTest) -> Option<String> {
    let shown = |number: i64| match field.kind() {
        FieldKind::Time => moment(number).map(|text| format!("\"{text}\"")),
        _ => Some(field.point().shown(number.into())),
    };
    Some(match test {
        ValueTest::Within(low, high) if low == high => format!("= {}", shown(*low)?),
        ValueTest::Within(low, i64::MAX) => format!(">= {}", shown(*low)?),
        // Below the largest, for that was the arm before.
        ValueTest::Within(i64::MIN, high) => format!("< {}", shown(high + 1)?),
        ValueTest::Within(low, high) => format!("in {}..{}", shown(*low)?, shown(high + 1)?),
        ValueTest::Among(numbers) => set(numbers.iter().map(|number| shown(*number)))?,
        ValueTest::NotNumber(number) => format!("!= {}", shown(*number)?),
        ValueTest::Words(words) => match &**words {
            [word] => format!("= {}", quoted(word)),
            words => set(words.iter().map(|word| Some(quoted(word))))?,
        },
        ValueTest::NotWord(word) => format!("!= {}", quoted(word)),
    })
}

fn set(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    Some(format!("in {{{}}}", values.collect::<Option<Vec<_>>>()?.join(", ")))
}

/// As a text of JSON, in which everything that cannot be seen is escaped.
fn quoted(text: &str) -> String {
    let plain = serde_json::Value::from(text).to_string();
    let mut quoted = String::with_capacity(plain.len());
    for character in plain.chars() {
        let letter = character.encode_utf8(&mut [0; 4]).to_owned();
        match printable(&letter) {
            true => quoted.push(character),
            false => letter.encode_utf16().for_each(|unit| quoted.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    quoted
}
