//! Parsing of lines into cells, for each line format.

mod combined;
mod csv;
mod json;

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memchr;

use super::wanted::LineCells;
pub(super) use combined::Combined;
#[cfg(test)]
pub(super) use csv::kit;
pub(crate) use csv::split_fields;
pub(super) use csv::{CsvColumns, CsvFormat};
pub(super) use json::{NO_LIST, WantedNames};

/// The format of the lines.
#[derive(Clone)]
pub(super) enum LineFormat {
    /// Separated columns, with the wanted ones of the file that is being read.
    Csv(Arc<CsvColumns>),
    /// JSON objects.
    Jsonl(WantedNames),
    /// The combined log of a web server.
    Combined(Combined),
    /// The rows of columnar files, which are not split.
    #[cfg(feature = "arrow")]
    Rows,
}

/// The error for a line that cannot be read.
#[derive(Debug)]
pub(super) struct Bad;

/// The reason for which a line cannot be read, in words that have nothing of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineFault {
    /// The field, where one is at fault.
    pub(super) field: Option<String>,
    /// The kind of what was found.
    pub(super) found: Cow<'static, str>,
    /// The kind of what is read there.
    pub(super) wanted: Cow<'static, str>,
}

impl LineFault {
    fn of(field: &str, found: &'static str, wanted: impl Into<Cow<'static, str>>) -> LineFault {
        LineFault { field: Some(field.to_owned()), found: found.into(), wanted: wanted.into() }
    }
}

/// The words for a line that is longer than any that is read.
pub(super) const TOO_LONG: &str = "more than 1 MiB";

/// The words for the end of a line in the place of a field.
const LINE_END: &str = "the end of the line";

/// The words for a field whose mark of quotation is not closed.
const OPEN_QUOTE: &str = "a quotation mark that its own line does not close";

impl LineFormat {
    /// Returns the end of the first of some whole lines, and true where it has quotation marks of columns.
    #[inline]
    pub(super) fn end(&self, lines: &[u8], quotes: bool) -> (usize, bool) {
        let end = memchr(b'\n', lines).map_or(lines.len(), |at| at + 1);
        (end, quotes && lines.get(..end).is_some_and(|line| self.has_quote(line)))
    }

    #[inline]
    fn has_quote(&self, line: &[u8]) -> bool {
        match self {
            LineFormat::Csv(columns) => columns.quote().is_some_and(|quote| memchr(quote, line).is_some()),
            _ => false,
        }
    }

    /// Returns true for a line that is no record: it is empty, or a comment.
    #[inline]
    pub(super) fn passes(&self, line: &[u8]) -> bool {
        line.is_empty() || matches!(self, LineFormat::Csv(columns) if columns.is_comment(line))
    }

    /// Returns the fault of a line that is longer than any that is read.
    pub(super) fn too_long(&self) -> LineFault {
        let wanted = match self {
            LineFormat::Jsonl(_) => "one JSON object of at most 1 MiB on each line",
            _ => "a line of at most 1 MiB",
        };
        LineFault { field: None, found: TOO_LONG.into(), wanted: wanted.into() }
    }

    /// Returns the fault of a line, without its end, that cannot be split into the cells of these names.
    pub(super) fn fault(&self, line: &[u8], names: &[String], cells: &mut LineCells) -> LineFault {
        match self {
            LineFormat::Csv(columns) => columns.fault(line, names),
            LineFormat::Combined(fields) => fields.fault(line, cells),
            LineFormat::Jsonl(names) => {
                let (field, found) = names.fault(line, cells);
                let wanted = match field {
                    Some(_) if found == NO_LIST => "one list or null",
                    Some(_) => "one text, number, truth value or null",
                    None => "one JSON object of at most 1 MiB on each line",
                };
                LineFault { field, found: found.into(), wanted: wanted.into() }
            }
            // A row names its column by itself.
            #[cfg(feature = "arrow")]
            LineFormat::Rows => {
                LineFault { field: None, found: "another value".into(), wanted: "a row".into() }
            }
        }
    }

    /// Finds the wanted cells of a line, which is the first `length` of these bytes, without its line end.
    #[inline]
    pub(super) fn read(
        &self,
        lines: &[u8],
        length: usize,
        quotes: bool,
        cells: &mut LineCells,
    ) -> Result<(), Bad> {
        if let LineFormat::Csv(columns) = self
            && !quotes
        {
            return columns.plain(lines, length, cells);
        }
        let line = lines.get(..length).unwrap_or_default();
        match self {
            LineFormat::Csv(columns) => columns.quoted(line, cells),
            LineFormat::Jsonl(names) => names.read(line, cells),
            LineFormat::Combined(fields) => fields.read(line, cells),
            #[cfg(feature = "arrow")]
            LineFormat::Rows => Err(Bad),
        }
    }
}
