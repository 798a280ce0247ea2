//! The words of a filter's text, each with its place.

use crate::invalid::{self, Invalid};
use crate::mechanisms::answers::schema::is_plain;
use crate::words::quoted;

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word of the language, or a field.
    Word(&'a str),
    /// A field, between backquotes.
    Name(&'a str),
    /// What begins like a number and may be one.
    Number(&'a str),
    /// A text, without its quotes and escapes.
    Text(String),
    /// A comparison, a parenthesis, a brace, a comma, or the two points of a range.
    Sign(&'static str),
    /// Nothing more.
    End,
}

/// Longer signs before those that they begin with.
const SIGNS: [&str; 12] = ["!=", "<=", ">=", "..", "=", "<", ">", "(", ")", "{", "}", ","];

/// The text, and how much of it has been read.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// Where the next word begins.
    at: usize,
    next: Token<'a>,
    /// Where what follows it begins.
    behind: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Result<Tokens<'a>, Invalid> {
        let mut tokens = Tokens { text, at: 0, next: Token::End, behind: 0 };
        tokens.read()?;
        Ok(tokens)
    }

    /// The next word.
    pub(super) fn next(&self) -> &Token<'a> {
        &self.next
    }

    /// Where it begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Takes the next word.
    pub(super) fn take(&mut self) -> Result<Token<'a>, Invalid> {
        let taken = std::mem::replace(&mut self.next, Token::End);
        self.read()?;
        Ok(taken)
    }

    /// Takes the next word if it is this sign.
    pub(super) fn takes(&mut self, sign: &str) -> Result<bool, Invalid> {
        let is = matches!(self.next, Token::Sign(next) if next == sign);
        if is {
            self.read()?;
        }
        Ok(is)
    }

    /// Says that something else is due in place of the next word.
    pub(super) fn refuse(&self, kind: invalid::InvalidKind, due: &str) -> Invalid {
        let found = match &self.next {
            Token::Word(word) | Token::Name(word) => quoted(word),
            Token::Number(_) => "a number".to_owned(),
            Token::Text(_) => "a text".to_owned(),
            Token::Sign(sign) => quoted(sign),
            Token::End => "the end".to_owned(),
        };
        self.refuse_at(self.at, kind, due, &format!(" in place of {found}"))
    }

    /// Says what is due at a place.
    pub(super) fn refuse_at(&self, at: usize, kind: invalid::InvalidKind, due: &str, found: &str) -> Invalid {
        let before = self.text.get(..at).unwrap_or(self.text);
        let column = before.chars().count() + 1;
        Invalid::new("filter", kind, format!("{due} at column {column}{found}"))
    }

    /// Reads one word more.
    fn read(&mut self) -> Result<(), Invalid> {
        let rest = self.text.get(self.behind..).unwrap_or("");
        let word = rest.trim_ascii_start();
        self.at = self.text.len() - word.len();
        let (next, length) = self.word(word)?;
        (self.next, self.behind) = (next, self.at + length);
        Ok(())
    }

    /// The word that a text begins with, and its length.
    fn word(&self, text: &'a str) -> Result<(Token<'a>, usize), Invalid> {
        let Some(first) = text.chars().next() else { return Ok((Token::End, 0)) };
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
                Err(self.refuse_at(self.at, invalid::InvalidKind::Malformed, "a word of a filter", &found))
            }
        }
    }

    /// A text in quotes, which are those of JSON.
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
        self.refuse_at(self.at, invalid::InvalidKind::Malformed, due, "")
    }
}

fn word(text: &str) -> (Token<'_>, usize) {
    let word = until(text, |rest, next| !is_plain(next) || rest.starts_with(".."));
    (Token::Word(word), word.len())
}

/// As far as it may belong to a number: letters too, so that what is none is refused as a whole. Two points end it.
fn number(text: &str) -> &str {
    let mut before = '\0';
    until(text, |rest, next| {
        let sign = "+-".contains(next) && ("eE".contains(before) || (next == '-' && before == '\0'));
        let point = next == '.' && !rest.starts_with("..");
        before = next;
        !(sign || point || next.is_alphanumeric() || next == '_')
    })
}

/// The text before the first place at which it ends.
fn until(text: &str, mut ends: impl FnMut(&str, char) -> bool) -> &str {
    let end = text.char_indices().find(|(at, next)| text.get(*at..).is_some_and(|rest| ends(rest, *next)));
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
