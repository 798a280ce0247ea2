//! Parsing of lines into cells, for each line format.

mod combined;
mod csv;
mod json;

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

    /// The name of the format that a bad line does not have, for messages.
    pub(super) fn bad(&self) -> &'static str {
        match self {
            LineFormat::Csv(_) => {
                "fewer columns than are named, a quotation mark that its own line does not close, or more than 1 MB"
            }
            LineFormat::Jsonl(_) => {
                "no JSON object, a field twice, a list or an object where a plain value is read, no list where one is exploded, or more than 1 MB"
            }
            LineFormat::Combined(_) => "no line of the combined log format, or more than 1 MB",
            #[cfg(feature = "arrow")]
            LineFormat::Rows => {
                "a number that is NaN or infinite, a time before the year 0 or after 9999, or a value of more than 1 MB"
            }
        }
    }

    /// The field for which a line cannot be split, if it is one, and the kind of what stands there.
    pub(super) fn fault(&self, line: &[u8], cells: &mut LineCells) -> (Option<String>, &'static str) {
        match self {
            LineFormat::Jsonl(names) => names.fault(line, cells),
            _ => (None, self.bad()),
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
