//! The text of a filter: its tokens, its parser and its normal form.

use super::super::filter;
use super::{FilterStep, Join, LONGEST, PostfixOrder, TextPart, ValueTest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::queries::Schema;
use crate::mechanisms::queries::schema::{Field, FieldKind, as_written, is_plain, moment, printable};
use crate::words::meant;

/// One token of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A keyword, or the name of a field.
    Word(&'a str),
    /// The name of a field, between backquotes.
    Name(&'a str),
    /// Characters that begin like a number and may be one.
    Number(&'a str),
    /// A text, without its quotes and escapes.
    Text(String),
    /// A comparison, a parenthesis, a brace, a comma, or the two points of a range.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// The signs, each before the signs that are a prefix of it.
const SIGNS: [&str; 12] = ["!=", "<=", ">=", "..", "=", "<", ">", "(", ")", "{", "}", ","];

/// The signs of arithmetic, which a filter does not have.
const ARITHMETIC: [&str; 4] = ["+", "-", "*", "/"];

/// The text of a filter or an expression, read token by token with one token of lookahead.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    /// The name of the text in an error.
    subject: &'static str,
    /// The byte offset at which the next token begins.
    at: usize,
    next: Token<'a>,
    /// The byte offset after the next token.
    behind: usize,
}

impl<'a> Tokens<'a> {
    /// Returns the tokens of the filter that a text has from this byte offset on. The columns of errors are those of the text.
    pub(crate) fn of_filter(text: &'a str, begin: usize) -> Result<Tokens<'a>, Invalid> {
        Tokens::begin("filter", text, begin)
    }

    /// Returns the tokens of an expression, in which `+`, `-`, `*` and `/` are signs.
    #[cfg(feature = "cli")]
    pub(crate) fn of_expression(text: &'a str) -> Result<Tokens<'a>, Invalid> {
        Tokens::begin("expression", text, 0)
    }

    fn begin(subject: &'static str, text: &'a str, begin: usize) -> Result<Tokens<'a>, Invalid> {
        let mut tokens = Tokens { text, subject, at: begin, next: Token::End, behind: begin };
        tokens.read()?;
        Ok(tokens)
    }

    /// Returns the next token.
    pub(crate) fn next(&self) -> &Token<'a> {
        &self.next
    }

    /// Returns the byte offset at which the next token begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> Result<Token<'a>, Invalid> {
        let taken = std::mem::replace(&mut self.next, Token::End);
        self.read()?;
        Ok(taken)
    }

    /// Takes the next token if it is this sign; returns true if it did.
    pub(crate) fn takes(&mut self, sign: &str) -> Result<bool, Invalid> {
        let is = matches!(self.next, Token::Sign(next) if next == sign);
        if is {
            self.read()?;
        }
        Ok(is)
    }

    /// Creates the error that `due` is expected in place of the next token.
    pub(crate) fn refuse(&self, kind: InvalidKind, due: &str) -> Invalid {
        let found = match &self.next {
            Token::Word(word) | Token::Name(word) => quoted(word),
            Token::Number(_) => "a number".to_owned(),
            Token::Text(_) => "a text".to_owned(),
            Token::Sign(sign) => quoted(sign),
            Token::End => "the end".to_owned(),
        };
        self.refuse_at(self.at, kind, due, &format!(" in place of {found}"))
    }

    /// Creates the error that `due` is expected at this byte offset.
    pub(crate) fn refuse_at(&self, at: usize, kind: InvalidKind, due: &str, found: &str) -> Invalid {
        let before = self.text.get(..at).unwrap_or(self.text);
        let column = before.chars().count() + 1;
        Invalid::new(self.subject, kind, format!("{due} at column {column}{found}"))
    }

    /// Reads the next token.
    fn read(&mut self) -> Result<(), Invalid> {
        let rest = self.text.get(self.behind..).unwrap_or("");
        let word = rest.trim_ascii_start();
        self.at = self.text.len() - word.len();
        let (next, length) = self.word(word)?;
        (self.next, self.behind) = (next, self.at + length);
        Ok(())
    }

    /// Returns the token that the text begins with, and its length.
    fn word(&self, text: &'a str) -> Result<(Token<'a>, usize), Invalid> {
        let Some(first) = text.chars().next() else { return Ok((Token::End, 0)) };
        let is_expression = self.subject == "expression";
        if let Some(sign) = ARITHMETIC.into_iter().find(|sign| is_expression && text.starts_with(sign)) {
            return Ok((Token::Sign(sign), sign.len()));
        }
        if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
            return Ok((Token::Sign(sign), sign.len()));
        }
        match first {
            '"' => self.text(text),
            '`' => match text.split('`').nth(1) {
                Some(name) if text.len() > name.len() + 1 => Ok((Token::Name(name), name.len() + 2)),
                _ => Err(self.malformed("a name that ends with the backquote with which it begins,")),
            },
            '-' | '0'..='9' => {
                let number = number(text);
                Ok((Token::Number(number), number.len()))
            }
            '_' => Ok(word(text)),
            _ if first.is_alphabetic() => Ok(word(text)),
            '\'' => Err(self.malformed("a text in double quotes")),
            _ => {
                let found = format!(" in place of {}", quoted(first.encode_utf8(&mut [0; 4])));
                let due = if is_expression { "a word of an expression" } else { "a word of a filter" };
                Err(self.refuse_at(self.at, InvalidKind::Malformed, due, &found))
            }
        }
    }

    /// Reads a text in double quotes, with the escapes of JSON.
    fn text(&self, text: &'a str) -> Result<(Token<'a>, usize), Invalid> {
        let mut escaped = false;
        let inner = text.get(1..).unwrap_or("");
        let end = inner.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            return Err(self.malformed("a text that ends with the double quote with which it begins,"));
        };
        let length = end + 2;
        match text.get(..length).map(serde_json::from_str) {
            Some(Ok(inner)) => Ok((Token::Text(inner), length)),
            _ => Err(self.malformed("a text with the escapes of JSON, and no line break,")),
        }
    }

    fn malformed(&self, due: &str) -> Invalid {
        self.refuse_at(self.at, InvalidKind::Malformed, due, "")
    }
}

fn word(text: &str) -> (Token<'_>, usize) {
    let word = until(text, |rest, next| !is_plain(next) || rest.starts_with(".."));
    (Token::Word(word), word.len())
}

/// Returns the prefix that may belong to a number. Letters belong to it, so that a malformed number is
/// refused as a whole. Two points end it.
fn number(text: &str) -> &str {
    let mut before = '\0';
    until(text, |rest, next| {
        let sign = "+-".contains(next) && ("eE".contains(before) || (next == '-' && before == '\0'));
        let point = next == '.' && !rest.starts_with("..");
        before = next;
        !(sign || point || next.is_alphanumeric() || next == '_')
    })
}

/// Returns the text before the first character for which `ends` is true.
fn until(text: &str, mut ends: impl FnMut(&str, char) -> bool) -> &str {
    let end = text.char_indices().find(|(at, next)| text.get(*at..).is_some_and(|rest| ends(rest, *next)));
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

// The parser of a filter, from its text to its steps.
//
// ```text
// either    := both { "or" both }
// both      := condition { "and" condition }
// condition := "not" condition | "(" either ")" | "all" | comparison
// ```
//
// Open constructs are kept in a list, not on the call stack, so that a deeply nested text is refused without
// recursion.

/// The largest depth of nested parentheses and negations.
const DEEPEST: usize = 64;

/// The largest number of values to compare with, those of sets included.
const VALUES: usize = 4_096;

/// A construct that is not closed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Parenthesis,
    Not,
    Joined(Join),
}

pub(super) fn read(schema: &Schema, text: &str, begin: usize) -> Result<Vec<FilterStep>, Invalid> {
    if text.len() - begin.min(text.len()) > LONGEST {
        return Err(too_long());
    }
    let mut reader = FilterReader {
        schema,
        tokens: Tokens::of_filter(text, begin)?,
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
    /// Parses a condition, with the parentheses and negations before it.
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
        let test = filter::read_comparison(&mut self.tokens, field, VALUES - self.values)?;
        self.count(test.values())?;
        self.order.add(FilterStep::Field(place as u32, test));
        Ok(())
    }

    /// Counts the values of a comparison. A set with too many is refused by its own parser, at the first one
    /// too many.
    fn count(&mut self, values: usize) -> Result<(), Invalid> {
        self.values += values;
        match self.values {
            0..=VALUES => Ok(()),
            _ => Err(filter::too_many(&self.tokens)),
        }
    }

    /// Parses what follows a condition, up to the next one. Returns true at the end of the text.
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

    /// Closes the pending joins by these operators.
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

// The printer of a filter, from its steps to its normal text.

/// The binding strength of a printed condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tight {
    Or,
    And,
    /// A comparison or a negation.
    One,
}

/// Returns the normal text of these steps; `None` if they are no filter of this schema, or a time has no
/// text.
pub(super) fn describe(schema: &Schema, steps: &[FilterStep]) -> Option<String> {
    let mut texts: Vec<(String, Tight)> = Vec::new();
    for step in steps {
        let text = match step {
            FilterStep::All => ("all".to_owned(), Tight::One),
            FilterStep::Field(place, test) => {
                let field = schema.fields().get(*place as usize)?;
                (format!("{} {}", as_written(field.name()), comparison(field, test)?), Tight::One)
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

/// Returns the text, in parentheses if it binds less tightly than `needed`.
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
        // `high` is below the largest number, which the arm before has matched.
        ValueTest::Within(i64::MIN, high) => format!("< {}", shown(high + 1)?),
        ValueTest::Within(low, high) => format!("in {}..{}", shown(*low)?, shown(high + 1)?),
        ValueTest::Among(numbers) => set(numbers.iter().map(|number| shown(*number)))?,
        ValueTest::NotNumber(number) => format!("!= {}", shown(*number)?),
        ValueTest::Words(words) => match &**words {
            [word] => format!("= {}", quoted(word)),
            words => set(words.iter().map(|word| Some(quoted(word))))?,
        },
        ValueTest::NotWord(word) => format!("!= {}", quoted(word)),
        ValueTest::Part(TextPart::Start, part) => format!("starts with {}", quoted(part)),
        ValueTest::Part(TextPart::End, part) => format!("ends with {}", quoted(part)),
        ValueTest::Part(TextPart::Anywhere, part) => format!("contains {}", quoted(part)),
    })
}

fn set(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    Some(format!("in {{{}}}", values.collect::<Option<Vec<_>>>()?.join(", ")))
}

/// Returns the text as JSON, with every invisible character escaped.
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
