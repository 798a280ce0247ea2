//! Mistakes in a job file, each with its line and column.
//!
//! A job file is public, so a mistake shows its line. The one secret that a line may hold is an address with
//! a password; such a line is not shown.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use crate::words::meant;
pub(super) use crate::words::{listed, quoted};

/// The most characters of a line that are shown.
const SHOWN: usize = 110;

/// All mistakes in one job file, in the order of the file. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

/// One mistake in a job file: its place, the text found there, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    path: String,
    line: usize,
    column: usize,
    field: String,
    kind: MistakeKind,
    found: String,
    remedy: String,
    suggestion: Option<String>,
    excerpt: Option<Excerpt>,
}

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MistakeKind {
    /// The file cannot be read, or is no text.
    Unreadable,
    /// The file is not TOML.
    Syntax,
    /// An unknown field or word.
    Unknown,
    /// A required field is missing.
    Missing,
    /// A value of another type than the field's.
    Type,
    /// A value that is out of range or does not follow its grammar.
    Value,
    /// Two parts of the file that contradict each other.
    Conflict,
}

impl Mistakes {
    /// Returns the mistakes one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }

    /// Returns the mistake of a file that cannot be read at all.
    pub(super) fn unreadable(
        path: &str,
        found: impl Into<String>,
        (line, column): (usize, usize),
    ) -> Mistakes {
        Mistakes(vec![Mistake {
            path: path.to_owned(),
            line,
            column,
            field: "config".into(),
            kind: MistakeKind::Unreadable,
            found: found.into(),
            remedy: "the path of a job file: text in UTF-8 that this user may read".into(),
            suggestion: None,
            excerpt: None,
        }])
    }
}

impl Mistake {
    /// Returns the path of the file, as the caller gave it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the field, such as `release[1].bound.keys`; releases and entries of lists are counted from 1.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the kind of the mistake.
    pub fn kind(&self) -> MistakeKind {
        self.kind
    }

    /// Returns the remedy: the value or field to give instead.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// Returns the word that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { path, line, column, field, found, remedy, .. } = self;
        write!(f, "{path}:{line}:{column}: {field}: found {found}; give {remedy}")?;
        if let Some(meant) = &self.suggestion {
            write!(f, " (did you mean {meant}?)")?;
        }
        if let Some(Excerpt { text, margin, width }) = &self.excerpt {
            let blank = " ".repeat(line.to_string().len());
            write!(f, "\n  {line} | {text}\n  {blank} | {margin}{}", "^".repeat(*width))?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.iter().enumerate() {
            write!(f, "{}{mistake}", if index == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// The text of one file, and the mistakes found in it so far.
#[derive(Debug)]
pub(in crate::job) struct ConfigPage<'a> {
    path: &'a str,
    pub(super) text: &'a str,
    mistakes: RefCell<Vec<Mistake>>,
}

/// A mistake without its place.
#[derive(Debug)]
pub(in crate::job) struct MistakeDetail {
    pub(in crate::job) kind: MistakeKind,
    pub(in crate::job) found: String,
    pub(in crate::job) remedy: String,
    pub(in crate::job) meant: Option<String>,
}

impl MistakeDetail {
    pub(in crate::job) fn new(
        kind: MistakeKind,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> MistakeDetail {
        MistakeDetail { kind, found: found.into(), remedy: remedy.into(), meant: None }
    }

    /// Creates the mistake of an unknown word, given the known ones.
    pub(in crate::job) fn unknown_word(found: &str, known: &[&str]) -> MistakeDetail {
        let meant = meant(found, known).map(str::to_owned);
        MistakeDetail { meant, ..MistakeDetail::new(MistakeKind::Unknown, quoted(found), listed(known)) }
    }
}

impl<'a> ConfigPage<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> ConfigPage<'a> {
        ConfigPage { path, text, mistakes: RefCell::default() }
    }

    pub(super) fn refuse(&self, place: Range<usize>, field: &str, wrong: MistakeDetail) {
        let (line, column, excerpt) = locate(self.text, place);
        let MistakeDetail { kind, found, remedy, meant } = wrong;
        let (path, field) = (self.path.to_owned(), field.to_owned());
        let mistake = Mistake { path, line, column, field, kind, found, remedy, suggestion: meant, excerpt };
        self.mistakes.borrow_mut().push(mistake);
    }

    pub(super) fn is_clean(&self) -> bool {
        self.mistakes.borrow().is_empty()
    }

    /// Returns the value if the page has no mistakes, and otherwise the mistakes in the order of the file.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, Mistakes> {
        let mut mistakes = self.mistakes.into_inner();
        match value {
            Some(value) if mistakes.is_empty() => Ok(value),
            _ => {
                mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
                Err(Mistakes(mistakes))
            }
        }
    }
}

/// The line of a mistake, cut to fit, and the position and width of the mark under it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    margin: String,
    width: usize,
}

/// Returns the line and column of a place, and the excerpt to show.
fn locate(text: &str, place: Range<usize>) -> (usize, usize, Option<Excerpt>) {
    let start = (0..=place.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..start];
    let opening = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[opening..].chars().count() + 1;
    let content = text[opening..].lines().next().unwrap_or("");
    // A line with a password or an empty line is not shown.
    if content.is_empty() || (content.contains("://") && content.contains('@')) {
        return (line, column, None);
    }
    let marked = text.get(start..place.end).unwrap_or("").lines().next().unwrap_or("").chars().count();
    // Of a long line, show the part around the mistake, with a third of the width before it.
    let first = if content.chars().count() > SHOWN { column.saturating_sub(1 + SHOWN / 3) } else { 0 };
    let shown: String = content.chars().skip(first).take(SHOWN).map(plain).collect();
    let margin: String = shown.chars().take(column - 1 - first).map(|_| ' ').collect();
    let left = shown.chars().count().saturating_sub(margin.len());
    let width = marked.min(left).max(1);
    (line, column, Some(Excerpt { text: shown, margin, width }))
}

/// Returns a character of one column that no terminal acts on.
fn plain(character: char) -> char {
    match character {
        '\t' => ' ',
        character if character.is_control() => '\u{fffd}',
        character => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, place: Range<usize>) -> String {
        let page = ConfigPage::new("a.toml", text);
        page.refuse(place, "field", MistakeDetail::new(MistakeKind::Value, "this", "that"));
        page.finish(Some(())).unwrap_err().to_string()
    }

    #[test]
    fn a_mark_stands_under_what_is_wrong() {
        assert_eq!(
            shown("a = 1\nbé = 22\n", 12..14),
            "a.toml:2:6: field: found this; give that\n  2 | bé = 22\n    |      ^^"
        );
        // A place at the end, beyond it, over several lines, on a tab, within a character.
        assert!(shown("a = \"", 5..5).starts_with("a.toml:1:6: "));
        assert!(shown("a", 9..12).starts_with("a.toml:1:2: "));
        assert!(shown("a = [\n1]\n", 4..8).ends_with("| a = [\n    |     ^"));
        assert!(shown("\t\tx = 1", 2..3).ends_with("  1 |   x = 1\n    |   ^"));
        assert!(shown("é", 1..2).starts_with("a.toml:1:1: "));
        assert!(shown("a\r\nb = 1\r\n", 3..4).ends_with("  2 | b = 1\n    | ^"));
    }

    #[test]
    fn long_lines_are_cut_around_the_mistake() {
        let text = format!("keys = [{}\"slip\", {}]", "\"key\", ".repeat(1000), "\"key\", ".repeat(1000));
        let at = text.find("\"slip\"").unwrap();
        let shown = shown(&text, at..at + 6);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].len() < 130 && lines[1].contains("\"slip\""), "{shown}");
        assert_eq!(lines[1].find("\"slip\""), lines[2].find('^'));
        assert_eq!(lines[2].matches('^').count(), 6);
    }

    #[test]
    fn passwords_and_terminal_codes_are_not_shown() {
        let text = "ledger = \"postgres://me:hunter2@host/db\"";
        assert!(!shown(text, 0..6).contains("hunter2"));
        assert!(!shown("a = \"\u{1b}[2J\"", 0..1).contains('\u{1b}'));
        assert!(!quoted("\u{1b}[2J").contains('\u{1b}'));
    }
}
