//! Lines of separated fields, as RFC 4180 and common programs define them: a field that begins with a
//! quotation mark ends at the next one that is not doubled, in its own line.

use memchr::memchr;

use super::Bad;
use crate::dataflow::SourceError;
use crate::job::sources::wanted::LineCells;
use crate::words::listed;

/// The wanted columns of a file, ascending, each with its cell.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::job::sources) struct CsvColumns(Vec<(usize, usize)>);

impl CsvColumns {
    /// The columns of a file whose first line has not been read.
    pub(in crate::job::sources) fn none() -> CsvColumns {
        CsvColumns(Vec::new())
    }

    /// Finds the wanted fields in the line that names a file's columns.
    pub(in crate::job::sources) fn find(
        header: &[u8],
        fields: &[String],
        place: &str,
    ) -> Result<CsvColumns, SourceError> {
        let names = names(header);
        let refused = |why: String| Err(SourceError::refused(place).because(why));
        let (mut columns, mut missing) = (Vec::new(), Vec::new());
        for (cell, field) in fields.iter().enumerate() {
            let mut places = names.iter().enumerate().filter(|(_, name)| name.as_slice() == field.as_bytes());
            match (places.next(), places.next()) {
                (Some((column, _)), None) => columns.push((column, cell)),
                (Some(_), Some(_)) => {
                    return refused(format!("two columns named {field}; name each column once"));
                }
                // The message does not list the columns: a file without names begins with a record.
                (None, _) => missing.push(field.as_str()),
            }
        }
        if !missing.is_empty() {
            return refused(format!(
                "no column named {}; name columns of its first line in the job file",
                listed(&missing)
            ));
        }
        columns.sort_unstable();
        Ok(CsvColumns(columns))
    }

    /// Reads the cells of a line without quotation marks: the first `length` bytes.
    #[inline]
    pub(super) fn plain(&self, lines: &[u8], length: usize, cells: &mut LineCells) -> Result<(), Bad> {
        let mut commas = Commas::new(lines, length);
        let (mut column, mut from) = (0, 0);
        let mut end = commas.next();
        for (wanted, cell) in &self.0 {
            while column < *wanted {
                if end >= length {
                    return Err(Bad);
                }
                from = end + 1;
                end = commas.next();
                column += 1;
            }
            cells.put(*cell, from, end);
        }
        Ok(())
    }

    /// Reads the cells of any line.
    pub(super) fn quoted(&self, line: &[u8], cells: &mut LineCells) -> Result<(), Bad> {
        let mut fields = CsvFields { line, at: Some(0) };
        let mut column = 0;
        for (wanted, cell) in &self.0 {
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
                    cells.write(*cell, |beside| unquote(bytes, beside));
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

/// The fields of one line, in order.
struct CsvFields<'l> {
    line: &'l [u8],
    /// The beginning of the next field, if there is one.
    at: Option<usize>,
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
        if rest.first() != Some(&b'"') {
            let length = memchr(b',', rest).unwrap_or(rest.len());
            self.at = after(length);
            return Ok(CsvField::Plain { from, to: from + length });
        }
        let mut at = 1;
        let mut doubled = false;
        loop {
            at += memchr(b'"', rest.get(at..).ok_or(Bad)?).ok_or(Bad)? + 1;
            if rest.get(at) != Some(&b'"') {
                break;
            }
            doubled = true;
            at += 1;
        }
        // Bytes after the closing mark belong to the field too.
        let length = at + memchr(b',', rest.get(at..).ok_or(Bad)?).unwrap_or(rest.len() - at);
        self.at = after(length);
        Ok(if doubled || length > at {
            CsvField::Mixed { from, to: from + length }
        } else {
            CsvField::Plain { from: from + 1, to: from + at - 1 }
        })
    }
}

/// Writes the text of a field that begins with a quotation mark.
fn unquote(field: &[u8], beside: &mut Vec<u8>) {
    let mut quoted = false;
    let mut closed = false;
    let mut rest = field;
    while let Some(at) = memchr(b'"', rest) {
        let (before, after) = rest.split_at(at);
        beside.extend_from_slice(before);
        match (quoted, closed && before.is_empty()) {
            // In quotation marks: the end, or the first of two.
            (true, _) => (quoted, closed) = (false, true),
            // The second of two, which belongs to the text.
            (false, true) => {
                beside.push(b'"');
                (quoted, closed) = (true, false);
            }
            // The first byte of the field; any other mark is a byte like others.
            (false, false) if rest.len() == field.len() => quoted = true,
            (false, false) => {
                beside.push(b'"');
                closed = false;
            }
        }
        rest = after.get(1..).unwrap_or_default();
    }
    beside.extend_from_slice(rest);
}

/// The names in a line of column names; a name whose mark is never closed is left out.
fn names(header: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = CsvFields { line: header, at: Some(0) };
    let mut names = Vec::new();
    while let Ok(field) = fields.next() {
        let mut name = Vec::new();
        match field {
            CsvField::Plain { from, to } => name.extend_from_slice(header.get(from..to).unwrap_or_default()),
            CsvField::Mixed { from, to } => unquote(header.get(from..to).unwrap_or_default(), &mut name),
        }
        names.push(name);
    }
    names
}

// The ends of the fields of a plain line.

/// The positions of a line's commas, and then of its end. They are searched for in 32 bytes at once: the
/// lengths of fields are what no processor foresees.
pub(super) struct Commas<'l> {
    lines: &'l [u8],
    length: usize,
    base: usize,
    mask: u32,
}

impl<'l> Commas<'l> {
    /// Searches the first `length` bytes of some lines.
    #[inline]
    pub(super) fn new(lines: &'l [u8], length: usize) -> Commas<'l> {
        Commas { lines, length, base: 0, mask: mask(lines) }
    }

    #[inline]
    pub(super) fn next(&mut self) -> usize {
        while self.mask == 0 {
            self.base += 32;
            if self.base >= self.length {
                return self.length;
            }
            self.mask = mask(self.lines.get(self.base..).unwrap_or_default());
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        at.min(self.length)
    }
}

/// A bit for each of the first 32 bytes, set where it is a comma.
#[inline]
fn mask(bytes: &[u8]) -> u32 {
    const COMMAS: u64 = u64::from_ne_bytes([b','; 8]);
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let Some(block) = bytes.first_chunk::<32>() else {
        return bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u32::from(*byte == b',') << at);
    };
    let mut mask = 0;
    for (at, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let other = u64::from_le_bytes(*eight) ^ COMMAS;
        // The high bit of each byte that is zero; then these bits side by side.
        let commas = !(((other & LOW) + LOW) | other | LOW);
        let bits = (commas >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= (bits as u32) << (8 * at);
    }
    mask
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    type Row = Vec<Vec<u8>>;

    /// Returns what the crate `csv` reads of one line, and what is read here.
    fn both(line: &[u8]) -> (Row, Result<Row, ()>) {
        let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line);
        let record = reader.byte_records().next().map(|record| record.unwrap());
        let theirs: Row = record.map_or(vec![vec![]], |record| record.iter().map(<[u8]>::to_vec).collect());
        let columns = CsvColumns((0..theirs.len()).map(|column| (column, column)).collect());
        let mut cells = LineCells::new(theirs.len());
        let read = columns.quoted(line, &mut cells).map_err(|_| ());
        let ours = read.map(|()| (0..theirs.len()).map(|cell| cells.get(line, cell).to_vec()).collect());
        (theirs, ours)
    }

    proptest! {
        // Covers every way of writing marks, well-formed or not.
        #[test]
        fn any_line_is_read_as_the_crate_csv_reads_it(line in "[a\",]{0,12}") {
            let (theirs, ours) = both(line.as_bytes());
            // It takes what is torn within quotation marks for whole; that line is bad here. A line feed
            // behind it tells.
            let (longer, _) = both(format!("{line}\n,").as_bytes());
            let whole = line.is_empty() || longer == theirs;
            prop_assert_eq!(ours, if whole { Ok(theirs) } else { Err(()) }, "{}", line);
        }

        #[test]
        fn a_line_without_marks_is_read_alike_by_both_readers(
            line in "[ab,]{0,90}",
            after in "[a,\\n]{0,40}",
            wanted in proptest::collection::btree_set(0usize..30, 1..4),
        ) {
            let columns = CsvColumns(wanted.iter().enumerate().map(|(cell, column)| (*column, cell)).collect());
            let (mut plain, mut quoted) = (LineCells::new(4), LineCells::new(4));
            // What follows the line is no part of it.
            let lines = format!("{line}\n{after}");
            let ended = columns.plain(lines.as_bytes(), line.len(), &mut plain).is_ok();
            prop_assert_eq!(ended, columns.quoted(line.as_bytes(), &mut quoted).is_ok());
            let split: Vec<&str> = line.split(',').collect();
            prop_assert_eq!(ended, wanted.iter().all(|column| *column < split.len()));
            for (cell, column) in wanted.iter().enumerate().filter(|_| ended) {
                prop_assert_eq!(plain.get(line.as_bytes(), cell), split[*column].as_bytes());
                prop_assert_eq!(quoted.get(line.as_bytes(), cell), split[*column].as_bytes());
            }
        }
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let find = |header: &str, fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            CsvColumns::find(header.as_bytes(), &fields, "a.csv")
        };
        assert_eq!(find("a,\"b\",\"c\"\"d\"", &["c\"d", "a"]).unwrap().0, [(0, 1), (2, 0)]);
        assert_eq!(find("a,b", &[]).unwrap().0, []);
        let gone = find("a,secret", &["b"]).unwrap_err().to_string();
        assert_eq!(
            gone,
            "a.csv: the input was refused: no column named b; name columns of its first line in the job file"
        );
        assert!(find("a,secret", &["b", "a", "c"]).unwrap_err().to_string().contains("named b or c;"));
        assert!(find("a,a", &["a"]).unwrap_err().to_string().contains("two columns named a"));
        assert!(find("A, a", &["a"]).is_err(), "names are what they are");
    }
}

#[cfg(test)]
mod commas_tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn commas_are_where_they_are(
            lines in proptest::collection::vec(prop_oneof![Just(b','), any::<u8>()], 0..100),
            length in 0usize..100,
        ) {
            let length = length.min(lines.len());
            let mut commas = Commas::new(&lines, length);
            for (at, _) in lines.iter().take(length).enumerate().filter(|(_, byte)| **byte == b',') {
                prop_assert_eq!(commas.next(), at);
            }
            prop_assert_eq!((commas.next(), commas.next()), (length, length));
        }
    }
}
