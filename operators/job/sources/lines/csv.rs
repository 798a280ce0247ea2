//! Lines of separated fields, as RFC 4180 and common programs define them: a field that begins with a
//! quotation mark ends at the next one that is not doubled, in its own line. The marks are those of the job.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memchr;

use super::{Bad, LINE_END, LineFault, OPEN_QUOTE};
use crate::dataflow::SourceError;
use crate::job::config::{CsvMarks, CsvSpec};
use crate::job::sources::cutter::{BYTE_ORDER_MARK, without_end};
use crate::job::sources::wanted::LineCells;
use crate::words::listed;

/// The wanted fields of separated text, and the marks by which it is read.
#[derive(Clone, Debug)]
pub(in crate::job::sources) struct CsvFormat {
    marks: CsvMarks,
    fields: Vec<String>,
    /// The columns, where the job file names them and no line does.
    named: Option<Arc<CsvColumns>>,
}

impl CsvFormat {
    /// Creates the format of a source that has the wanted fields.
    pub(in crate::job::sources) fn new(form: &CsvSpec, fields: &[String]) -> Result<CsvFormat, SourceError> {
        let CsvSpec { marks, header } = form;
        let named = header.as_ref().map(|names| {
            let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
            CsvColumns::find(names, *marks, fields, "source.header", |_| None).map(Arc::new)
        });
        Ok(CsvFormat { marks: *marks, fields: fields.to_vec(), named: named.transpose()? })
    }

    pub(in crate::job::sources) fn marks(&self) -> CsvMarks {
        self.marks
    }

    /// The columns that the job file names; `None` where the first line of each file does.
    pub(in crate::job::sources) fn named(&self) -> Option<&Arc<CsvColumns>> {
        self.named.as_ref()
    }

    /// The columns before a line has named them: none where one is to.
    pub(in crate::job::sources) fn columns(&self) -> Arc<CsvColumns> {
        let none = || Arc::new(CsvColumns { wanted: Vec::new(), marks: self.marks });
        self.named.clone().unwrap_or_else(none)
    }

    /// Finds the wanted fields in the line that names a file's columns.
    pub(in crate::job::sources) fn find(&self, line: &[u8], place: &str) -> Result<CsvColumns, SourceError> {
        // A file whose lines end with it alone is one line, all of its records.
        if line.contains(&b'\r') {
            let why =
                "a carriage return within the line that names the columns; end lines with \\n or \\r\\n";
            return Err(SourceError::refused(place).because(why));
        }
        let other_mark = |missing: &[&str]| {
            [(b',', "commas", ","), (b';', "semicolons", ";"), (b'\t', "tabs", "\\t"), (b'|', "bars", "|")]
                .into_iter()
                .filter(|(mark, ..)| *mark != self.marks.delimiter())
                .find(|(mark, ..)| {
                    let names = split_fields(line, CsvMarks::between(*mark));
                    missing.iter().all(|field| names.iter().any(|name| name == field.as_bytes()))
                })
                .map(|(_, word, mark)| format!(", which it has between {word} (delimiter = \"{mark}\")"))
        };
        CsvColumns::find(split_fields(line, self.marks), self.marks, &self.fields, place, other_mark)
    }

    /// Returns true if a text, from its start, has a line that may be a record.
    pub(in crate::job::sources) fn has_record(&self, text: &[u8]) -> bool {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let lines = text.split_inclusive(|byte| *byte == b'\n').map(without_end);
        let first = usize::from(self.named.is_none());
        lines.filter(|line| !self.passes(line)).nth(first).is_some()
    }

    /// Returns true for a line that is neither a record nor names columns.
    pub(in crate::job::sources) fn passes(&self, line: &[u8]) -> bool {
        line.is_empty() || is_comment(line, self.marks)
    }
}

/// Returns true for a line that begins with the mark of comments.
#[inline]
pub(in crate::job::sources) fn is_comment(line: &[u8], marks: CsvMarks) -> bool {
    marks.comment().is_some_and(|comment| line.first() == Some(&comment))
}

/// Returns the columns that were meant, in words: those whose names differ from the missing ones in case and marks alone. So no word
/// is shown that the job file does not have, whatever the first line is.
fn meant(missing: &[&str], names: &[Vec<u8>]) -> String {
    let plain = |name: &[u8]| -> Vec<u8> {
        name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    let alike = |field: &&str| {
        let wanted = plain(field.as_bytes());
        names.iter().find(|name| !wanted.is_empty() && name.is_ascii() && plain(name) == wanted)
    };
    let meant: Vec<Cow<'_, str>> =
        missing.iter().filter_map(alike).map(|name| String::from_utf8_lossy(name)).collect();
    match meant.is_empty() {
        true => String::new(),
        false => format!(" (did you mean {}?)", listed(&meant)),
    }
}

/// The wanted columns of a file, and the marks between them.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::job::sources) struct CsvColumns {
    /// The columns, ascending, each with its cell.
    wanted: Vec<(usize, usize)>,
    marks: CsvMarks,
}

impl CsvColumns {
    fn find(
        names: Vec<Vec<u8>>,
        marks: CsvMarks,
        fields: &[String],
        place: &str,
        other_mark: impl FnOnce(&[&str]) -> Option<String>,
    ) -> Result<CsvColumns, SourceError> {
        let refused = |why: String| Err(SourceError::refused(place).because(why));
        let (mut wanted, mut missing) = (Vec::new(), Vec::new());
        for (cell, field) in fields.iter().enumerate() {
            let mut places = names.iter().enumerate().filter(|(_, name)| name.as_slice() == field.as_bytes());
            match (places.next(), places.next()) {
                (Some((column, _)), None) => wanted.push((column, cell)),
                (Some(_), Some(_)) => {
                    return refused(format!("two columns named {field}; name each column once"));
                }
                (None, _) => missing.push(field.as_str()),
            }
        }
        if !missing.is_empty() {
            // A file without names begins with the record of a person: the line is shown only where it has at least
            // two of the names, and more of them than it lacks.
            let others = match wanted.len() >= 2 && wanted.len() > missing.len() {
                true => format!(" among {}", shown(&names)),
                false => String::new(),
            };
            let is_comment =
                marks.comment().is_none() && names.first().is_some_and(|name| name.starts_with(b"#"));
            let others = match is_comment {
                true => ": the first line begins with #; give comment = \"#\" in [source] if it names none"
                    .to_owned(),
                false => other_mark(&missing).unwrap_or(others) + &meant(&missing, &names),
            };
            return refused(format!(
                "no column named {}{others}; name columns of its first line in the job file, or all of its columns in source.header",
                listed(&missing)
            ));
        }
        wanted.sort_unstable();
        Ok(CsvColumns { wanted, marks })
    }

    /// The mark of quotation, if there is one.
    #[inline]
    pub(super) fn quote(&self) -> Option<u8> {
        self.marks.quote()
    }

    /// Returns true for a line that is a comment.
    #[inline]
    pub(super) fn is_comment(&self, line: &[u8]) -> bool {
        is_comment(line, self.marks)
    }

    /// Reads the cells of a line without quotation marks: the first `length` bytes.
    #[inline]
    pub(super) fn plain(&self, lines: &[u8], length: usize, cells: &mut LineCells) -> Result<(), Bad> {
        let mut delimiters = Delimiters::new(self.marks.delimiter(), lines, length);
        let (mut column, mut from) = (0, 0);
        let mut end = delimiters.next();
        for (wanted, cell) in &self.wanted {
            while column < *wanted {
                if end >= length {
                    return Err(Bad);
                }
                from = end + 1;
                end = delimiters.next();
                column += 1;
            }
            cells.put(*cell, from, end);
        }
        Ok(())
    }

    /// Reads the cells of any line.
    pub(super) fn quoted(&self, line: &[u8], cells: &mut LineCells) -> Result<(), Bad> {
        let mut fields = CsvFields { line, at: Some(0), marks: self.marks };
        let mut column = 0;
        for (wanted, cell) in &self.wanted {
            while column < *wanted {
                fields.next()?;
                column += 1;
            }
            let field = fields.next()?;
            column += 1;
            match field {
                CsvField::Plain { from, to } => cells.put(*cell, from, to),
                CsvField::Mixed { from, to } => {
                    let bytes = line.get(from..to).ok_or(Bad)?;
                    // Such a field begins with the mark.
                    let quote = self.marks.quote().ok_or(Bad)?;
                    cells.write(*cell, |beside| unquote(bytes, quote, beside));
                }
            }
        }
        // An open mark in a column that is not wanted has swallowed other fields.
        while fields.at.is_some() {
            fields.next()?;
        }
        Ok(())
    }
}

impl CsvColumns {
    /// Returns the fault of a line that cannot be split into the cells of these names.
    pub(super) fn fault(&self, line: &[u8], names: &[String]) -> LineFault {
        let mut fields = CsvFields { line, at: Some(0), marks: self.marks };
        let mut column = 0;
        // The names are of cells, so a column that no cell is of has its number alone.
        let name = |column: usize| {
            let wanted = self.wanted.iter().find(|(wanted, _)| *wanted == column);
            let name = wanted.and_then(|(_, cell)| names.get(*cell));
            name.map_or_else(|| format!("column {}", column + 1), Clone::clone)
        };
        while fields.at.is_some() {
            if fields.next().is_err() {
                return LineFault::of(&name(column), OPEN_QUOTE, "a field that ends with its line");
            }
            column += 1;
        }
        let missing = self.wanted.iter().map(|(wanted, _)| *wanted).find(|wanted| *wanted >= column);
        let missing = missing.unwrap_or(column);
        LineFault::of(&name(missing), LINE_END, format!("column {} of the line", missing + 1))
    }
}

/// The fields of one line, in order.
struct CsvFields<'l> {
    line: &'l [u8],
    /// The beginning of the next field, if there is one.
    at: Option<usize>,
    marks: CsvMarks,
}

enum CsvField {
    /// A field without marks, read in place.
    Plain { from: usize, to: usize },
    /// A field with quotation marks, some of which are part of its text or follow its end.
    Mixed { from: usize, to: usize },
}

impl CsvFields<'_> {
    fn next(&mut self) -> Result<CsvField, Bad> {
        let from = self.at.ok_or(Bad)?;
        let rest = self.line.get(from..).ok_or(Bad)?;
        let after = |at: usize| (from + at < self.line.len()).then_some(from + at + 1);
        let delimiter = self.marks.delimiter();
        let Some(quote) = self.marks.quote().filter(|quote| rest.first() == Some(quote)) else {
            let length = memchr(delimiter, rest).unwrap_or(rest.len());
            self.at = after(length);
            return Ok(CsvField::Plain { from, to: from + length });
        };
        let mut at = 1;
        let mut doubled = false;
        loop {
            at += memchr(quote, rest.get(at..).ok_or(Bad)?).ok_or(Bad)? + 1;
            if rest.get(at) != Some(&quote) {
                break;
            }
            doubled = true;
            at += 1;
        }
        // Bytes after the closing mark belong to the field too.
        let length = at + memchr(delimiter, rest.get(at..).ok_or(Bad)?).unwrap_or(rest.len() - at);
        self.at = after(length);
        Ok(if doubled || length > at {
            CsvField::Mixed { from, to: from + length }
        } else {
            CsvField::Plain { from: from + 1, to: from + at - 1 }
        })
    }
}

/// Writes the text of a field that begins with a quotation mark.
fn unquote(field: &[u8], quote: u8, beside: &mut Vec<u8>) {
    let mut quoted = false;
    let mut closed = false;
    let mut rest = field;
    while let Some(at) = memchr(quote, rest) {
        let (before, after) = rest.split_at(at);
        beside.extend_from_slice(before);
        match (quoted, closed && before.is_empty()) {
            // In quotation marks: the end, or the first of two.
            (true, _) => (quoted, closed) = (false, true),
            // The second of two, which belongs to the text.
            (false, true) => {
                beside.push(quote);
                (quoted, closed) = (true, false);
            }
            // The first byte of the field; any other mark is a byte like others.
            (false, false) if rest.len() == field.len() => quoted = true,
            (false, false) => {
                beside.push(quote);
                closed = false;
            }
        }
        rest = after.get(1..).unwrap_or_default();
    }
    beside.extend_from_slice(rest);
}

/// Splits a line into the texts of its fields; one whose mark is never closed is left out.
pub(crate) fn split_fields(header: &[u8], marks: CsvMarks) -> Vec<Vec<u8>> {
    let mut fields = CsvFields { line: header, at: Some(0), marks };
    let mut names = Vec::new();
    while let Ok(field) = fields.next() {
        let mut name = Vec::new();
        match (field, marks.quote()) {
            (CsvField::Mixed { from, to }, Some(quote)) => {
                unquote(header.get(from..to).unwrap_or_default(), quote, &mut name);
            }
            (CsvField::Plain { from, to } | CsvField::Mixed { from, to }, _) => {
                name.extend_from_slice(header.get(from..to).unwrap_or_default());
            }
        }
        names.push(name);
    }
    names
}

/// The most names that a message lists, and the most characters of each.
const SHOWN: (usize, usize) = (30, 60);

/// Formats names as `a, b and c`: shortened if they are long or many, and without characters that a terminal acts on.
fn shown(names: &[Vec<u8>]) -> String {
    let (most, longest) = SHOWN;
    let word = |name: &Vec<u8>| {
        let name = String::from_utf8_lossy(name);
        let cut: String = name.chars().take(longest).collect();
        let more = if cut.len() < name.len() { ".." } else { "" };
        format!("{}{more}", cut.escape_debug())
    };
    let mut words: Vec<String> = names.iter().take(most).map(word).collect();
    if names.len() > most {
        words.push(format!("{} more", names.len() - most));
    }
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) }
}

// The ends of the fields of a plain line.

/// The positions of a line's delimiters, and then of its end. They are searched for in 32 bytes at once: the
/// lengths of fields are what no processor foresees.
pub(super) struct Delimiters<'l> {
    delimiter: u8,
    lines: &'l [u8],
    length: usize,
    base: usize,
    mask: u32,
}

impl<'l> Delimiters<'l> {
    /// Searches the first `length` bytes of some lines.
    #[inline]
    pub(super) fn new(delimiter: u8, lines: &'l [u8], length: usize) -> Delimiters<'l> {
        Delimiters { delimiter, lines, length, base: 0, mask: mask(delimiter, lines) }
    }

    #[inline]
    pub(super) fn next(&mut self) -> usize {
        while self.mask == 0 {
            self.base += 32;
            if self.base >= self.length {
                return self.length;
            }
            self.mask = mask(self.delimiter, self.lines.get(self.base..).unwrap_or_default());
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        at.min(self.length)
    }
}

/// A bit for each of the first 32 bytes, set where it is the delimiter.
#[inline]
fn mask(delimiter: u8, bytes: &[u8]) -> u32 {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let Some(block) = bytes.first_chunk::<32>() else {
        return bytes
            .iter()
            .enumerate()
            .fold(0, |mask, (at, byte)| mask | u32::from(*byte == delimiter) << at);
    };
    let delimiters = u64::from_ne_bytes([delimiter; 8]);
    let mut mask = 0;
    for (at, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let other = u64::from_le_bytes(*eight) ^ delimiters;
        // The high bit of each byte that is zero; then these bits side by side.
        let found = !(((other & LOW) + LOW) | other | LOW);
        let bits = (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= (bits as u32) << (8 * at);
    }
    mask
}

#[cfg(test)]
#[path = "csv/tests.rs"]
mod tests;

/// Helpers that tests of other files share.
#[cfg(test)]
pub(in crate::job::sources) mod kit {
    use proptest::prelude::*;

    use super::*;
    use crate::job::config::tests::{changed, parse};
    use crate::job::config::{RecordFormat, text};

    /// A few marks, of each kind with and without.
    pub(in crate::job::sources) fn marks() -> impl Strategy<Value = CsvMarks> {
        let of = |(delimiter, quote, comment): (&str, &str, &str)| {
            let comment =
                if comment.is_empty() { String::new() } else { format!("\ncomment = {}", text(comment)) };
            let fields = format!("delimiter = {}\nquote = {}{comment}", text(delimiter), text(quote));
            let job = parse(&changed("[source]", &format!("type = \"csv\"\n{fields}"))).unwrap();
            let RecordFormat::Csv(_, CsvSpec { marks, .. }) = job.source.records else { panic!("{fields}") };
            marks
        };
        let all = [
            (",", "\"", ""),
            (",", "\"", "#"),
            ("\t", "'", "#"),
            (";", "", "#"),
            ("|", "\"", "'"),
            ("\t", "", ""),
            ("\"", "'", ";"),
        ];
        proptest::sample::select(all.map(of).to_vec())
    }

    /// The reader of the crate `csv` with these marks.
    pub(in crate::job::sources) fn reader(marks: CsvMarks) -> ::csv::ReaderBuilder {
        let mut reader = ::csv::ReaderBuilder::new();
        reader.flexible(true).delimiter(marks.delimiter()).comment(marks.comment());
        reader.quoting(marks.quote().is_some()).quote(marks.quote().unwrap_or(0));
        reader
    }
}
