//! A filter's text becomes steps.
//!
//! ```text
//! either    := both { "or" both }
//! both      := condition { "and" condition }
//! condition := "not" condition | "(" either ")" | "all" | comparison
//! ```
//!
//! What is open is kept in a list, not on the stack, so that no text is nested too deep to be refused.

use super::comparison;
use super::order::{Join, PostfixOrder};
use super::tokens::{Token, Tokens};
use super::{FilterStep, LONGEST};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answers::Schema;
use crate::words::meant;

/// The most parentheses and denials within each other.
const DEEPEST: usize = 64;

/// The most values that are compared with, those of sets too.
const VALUES: usize = 4_096;

/// What has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Parenthesis,
    Not,
    Joined(Join),
}

pub(super) fn read(schema: &Schema, text: &str) -> Result<Vec<FilterStep>, Invalid> {
    if text.len() > LONGEST {
        return Err(too_long());
    }
    let mut reader = FilterReader {
        schema,
        tokens: Tokens::of(text)?,
        open: Vec::new(),
        depth: 0,
        order: PostfixOrder::default(),
        values: 0,
    };
    if *reader.tokens.next() == Token::End {
        let remedy = "a condition such as \"age >= 18\", or \"all\" for every record";
        return Err(Invalid::new("filter", InvalidKind::Missing, remedy));
    }
    loop {
        reader.begin()?;
        if reader.end()? {
            return Ok(reader.order.finish());
        }
    }
}

pub(super) fn too_long() -> Invalid {
    Invalid::new("filter", InvalidKind::TooLarge, format!("a text of at most {LONGEST} bytes"))
}

struct FilterReader<'a> {
    schema: &'a Schema,
    tokens: Tokens<'a>,
    open: Vec<Open>,
    depth: usize,
    order: PostfixOrder,
    values: usize,
}

impl FilterReader<'_> {
    /// Reads a condition, with what stands before it.
    fn begin(&mut self) -> Result<(), Invalid> {
        loop {
            let opens = match self.tokens.next() {
                Token::Sign("(") => Open::Parenthesis,
                Token::Word("not") => Open::Not,
                Token::Word("all") => {
                    self.tokens.take()?;
                    self.order.add(FilterStep::All);
                    return self.count(1);
                }
                Token::Word("and" | "or" | "in") => {
                    return Err(self.tokens.refuse(InvalidKind::Malformed, "a condition"));
                }
                Token::Word(name) | Token::Name(name) => {
                    let Some(place) = self.schema.place(name) else {
                        let due = format!(" {}", self.schema.unknown(name));
                        return Err(self.tokens.refuse_at(
                            self.tokens.at(),
                            InvalidKind::Malformed,
                            "a field",
                            &due,
                        ));
                    };
                    return self.comparison(place);
                }
                _ => return Err(self.tokens.refuse(InvalidKind::Malformed, "a condition")),
            };
            if self.depth == DEEPEST {
                let due = format!(
                    "at most {DEEPEST} parentheses and \"not\"s within each other, of which one more is"
                );
                return Err(self.tokens.refuse_at(self.tokens.at(), InvalidKind::Malformed, &due, ""));
            }
            self.depth += 1;
            self.open.push(opens);
            self.tokens.take()?;
        }
    }

    fn comparison(&mut self, place: usize) -> Result<(), Invalid> {
        let Some(field) = self.schema.fields().get(place) else { return Ok(()) };
        self.tokens.take()?;
        let test = comparison::read_comparison(&mut self.tokens, field, VALUES - self.values)?;
        self.count(test.values())?;
        self.order.add(FilterStep::Field(place as u32, test));
        Ok(())
    }

    /// Counts values; those of a set are refused before they are too many.
    fn count(&mut self, values: usize) -> Result<(), Invalid> {
        self.values += values;
        match self.values {
            0..=VALUES => Ok(()),
            _ => Err(comparison::too_many(&self.tokens)),
        }
    }

    /// Reads what ends a condition, up to where another is due; whether none is.
    fn end(&mut self) -> Result<bool, Invalid> {
        loop {
            while self.open.last() == Some(&Open::Not) {
                self.close();
                self.order.deny();
            }
            match self.tokens.next() {
                Token::Word("and") => {
                    self.join(&[Join::And]);
                    self.open.push(Open::Joined(Join::And));
                }
                Token::Word("or") => {
                    self.join(&[Join::And, Join::Or]);
                    self.open.push(Open::Joined(Join::Or));
                }
                Token::Sign(")") => {
                    self.join(&[Join::And, Join::Or]);
                    if self.open.last() != Some(&Open::Parenthesis) {
                        return Err(self
                            .tokens
                            .refuse(InvalidKind::Malformed, "no parenthesis that ends and did not begin"));
                    }
                    self.close();
                    self.tokens.take()?;
                    continue;
                }
                Token::End => {
                    self.join(&[Join::And, Join::Or]);
                    if self.open.is_empty() {
                        return Ok(true);
                    }
                    return Err(self
                        .tokens
                        .refuse(InvalidKind::Malformed, "the parenthesis that ends what one began,"));
                }
                next => {
                    let meant = match next {
                        Token::Word(word) => meant(word, &["and", "or"]),
                        _ => None,
                    };
                    let due = meant.unwrap_or("\"and\", \"or\", or the end");
                    return Err(self.tokens.refuse(InvalidKind::Malformed, due));
                }
            }
            self.tokens.take()?;
            return Ok(false);
        }
    }

    fn close(&mut self) {
        self.open.pop();
        self.depth -= 1;
    }

    /// Joins what these words have joined.
    fn join(&mut self, joins: &[Join]) {
        while let Some(Open::Joined(join)) = self.open.last().copied() {
            if !joins.contains(&join) {
                return;
            }
            self.open.pop();
            self.order.join(join);
        }
    }
}
