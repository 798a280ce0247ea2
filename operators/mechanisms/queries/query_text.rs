//! Queries as text, in the words of [`Query::text`]:
//!
//! ```text
//! count where age >= 18 and country = "DE"
//! mean of price in 0..99.50 where all
//! ```
//!
//! Without `where` and a filter, a query is about all records.

use super::query::{Query, QueryBy};
use crate::invalid::{Invalid, InvalidKind};

/// A text that is read from its start.
struct Words<'t> {
    text: &'t str,
    /// The place in bytes up to which it was read.
    at: usize,
}

impl<'t> Words<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the next word, which ends before a space; a name between backquotes may have spaces.
    fn next(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let rest = self.rest();
        let end = match rest.strip_prefix('`') {
            Some(name) => name.find('`').map_or(rest.len(), |end| end + 2),
            None => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        self.at += end;
        rest.get(..end).filter(|word| !word.is_empty())
    }

    fn expect(&mut self, word: &str) -> Result<(), Invalid> {
        if self.next() == Some(word) { Ok(()) } else { Err(malformed()) }
    }
}

fn malformed() -> Invalid {
    let remedy =
        "a question such as: count where age >= 18, or: mean of price in 0..100 where country = \"DE\"";
    Invalid::new("ask", InvalidKind::Malformed, remedy)
}

impl QueryBy<'_> {
    /// Completes it as what a text asks: `count where age >= 18`, or `mean of price in 0..100 where all`.
    ///
    /// # Errors
    /// Names `ask` if the text has another form; otherwise as [`count`](QueryBy::count) and [`mean`](QueryBy::mean) do. The
    /// column of a mistake in the filter is that of the text.
    pub fn text(self, text: &str) -> Result<Query, Invalid> {
        let mut words = Words { text, at: 0 };
        match words.next() {
            Some("count") => self.count_from(filter(&mut words)?),
            Some("mean") => {
                words.expect("of")?;
                let field = words.next().ok_or_else(malformed)?;
                words.expect("in")?;
                let (low, high) =
                    words.next().and_then(|range| range.split_once("..")).ok_or_else(malformed)?;
                self.mean_from(field.trim_matches('`'), (low, high), filter(&mut words)?)
            }
            _ => Err(malformed()),
        }
    }
}

/// Returns the rest of the text with the place of its filter, if it has one.
fn filter<'t>(words: &mut Words<'t>) -> Result<(&'t str, usize), Invalid> {
    match words.next() {
        None => Ok(("all", 0)),
        Some("where") => Ok((words.text, words.at)),
        Some(_) => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{Field, Schema};
    use super::*;

    fn schema() -> Schema {
        let fields = [Field::number("age"), Field::decimal("unit price", 2), Field::text("country")];
        Schema::new(fields).unwrap()
    }

    // Refutes a text in normal form that is another question than it came from.
    #[test]
    fn a_normal_form_is_read_as_its_question() {
        let schema = schema();
        let asking = || schema.question("ann", "q", 7);
        for question in [
            asking().count("all").unwrap(),
            asking().count("country = \"where count\" and age in 1..9").unwrap(),
            asking().mean("unit price", "-1.5", "100", "`unit price` > 2").unwrap(),
            asking().mean("age", "-5", "-1", "all").unwrap(),
        ] {
            assert_eq!(asking().text(&question.text()).unwrap(), question);
        }
        assert_eq!(asking().text("  count ").unwrap(), asking().count("all").unwrap());
        let mean = asking().mean("age", "0", "9", "all").unwrap();
        assert_eq!(asking().text("mean of `age` in 0..9").unwrap(), mean);
    }

    // Refutes a text of another form that is taken for a question, and a mistake at the wrong column.
    #[test]
    fn another_form_is_refused() {
        let schema = schema();
        let refused = |text: &str| schema.question("ann", "q", 7).text(text).unwrap_err();
        for text in [
            "",
            "sum of age",
            "count age",
            "count all",
            "mean age in 0..9",
            "mean of age 0..9",
            "mean of age in 9",
        ] {
            let wrong = refused(text);
            assert_eq!((wrong.field(), wrong.kind()), ("ask", InvalidKind::Malformed), "{text}");
        }
        assert_eq!(refused("count where").field(), "filter");
        assert_eq!(refused("mean of agee in 0..9").field(), "mean");
        assert_eq!(refused("mean of age in 9..0").field(), "of");
        let wrong = refused("count where agee > 1").to_string();
        assert!(wrong.contains("column 13") && wrong.contains("did you mean age?"), "{wrong}");
    }
}
