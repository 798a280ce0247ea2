//! The reading of a line: its cells, its time, and its records. A worker reads the lines of its chunks, and the
//! receiver checks those of a batch before it takes it: both by this code, so that a batch which was acknowledged
//! is one that a worker can read.

use std::borrow::Cow;

use super::cutter::without_end;
use super::identity::LONGEST_ID;
use super::lines::{Bad, LineFault, LineFormat};
use super::maker::{BadCell, Maker, SourceRecord};
use super::number::steps;
use super::times::usual_format;
use super::wanted::{CellLayout, LineCells};

/// Reads lines into one set of cells.
pub(super) struct LineReader<'a> {
    pub(super) format: &'a LineFormat,
    pub(super) maker: &'a mut Maker,
    pub(super) cells: &'a mut LineCells,
    /// The longest line, in bytes.
    pub(super) longest: usize,
}

impl LineReader<'_> {
    /// Returns the end of the first of some whole lines, that line without its end, and true where it has
    /// quotation marks of columns.
    #[inline]
    pub(super) fn next<'l>(&self, lines: &'l [u8], quotes: bool) -> (usize, &'l [u8], bool) {
        let (end, quotes) = self.format.end(lines, quotes);
        (end, without_end(lines.get(..end).unwrap_or_default()), quotes)
    }

    /// Finds the wanted cells of a line, which is the first `length` of these bytes, without its line end.
    #[inline]
    pub(super) fn split(&mut self, lines: &[u8], length: usize, quotes: bool) -> Result<(), Bad> {
        self.cells.clear();
        if length > self.longest {
            return Err(Bad);
        }
        self.format.read(lines, length, quotes, self.cells)
    }

    /// Returns the fault of a line that cannot be split.
    pub(super) fn unsplit(&mut self, line: &[u8]) -> LineFault {
        self.cells.clear();
        match line.len() > self.longest {
            true => self.format.too_long(),
            false => self.format.fault(line, self.maker.names(), self.cells),
        }
    }

    /// Returns the fault of a line whose time cannot be read, in the words of the job file, and with the usual format that reads it.
    pub(super) fn untimed_as(&self, line: &[u8], cell: &BadCell) -> LineFault {
        let wanted = format!("a time in the format {} of source.time", self.maker.time_format());
        let fault = self.untimed(line, cell, wanted.into());
        match usual_format(self.cells.get(line, cell.0)) {
            Some(format) => LineFault { found: format!("a time in the format {format}").into(), ..fault },
            None => fault,
        }
    }

    /// Returns the fault of a line whose time cannot be read.
    pub(super) fn untimed(
        &self,
        line: &[u8],
        BadCell(cell): &BadCell,
        wanted: Cow<'static, str>,
    ) -> LineFault {
        self.unfit(line, *cell, wanted)
    }

    /// Returns the fault of a line of whose cell no record can be made.
    pub(super) fn unmade(&self, line: &[u8], BadCell(cell): &BadCell) -> LineFault {
        let fits_as_id = (1..=LONGEST_ID).contains(&self.cells.get(line, *cell).len());
        let is_id = self.maker.is_id(*cell) && !fits_as_id;
        let wanted = if is_id { "a text or a number of 1 to 65,536 bytes" } else { "a number" };
        self.unfit(line, *cell, wanted.into())
    }

    fn unfit(&self, line: &[u8], cell: usize, wanted: Cow<'static, str>) -> LineFault {
        let is_json = matches!(self.format, LineFormat::Jsonl(_));
        let found = match (self.cells.get(line, cell), self.cells.before(line, cell)) {
            ([], _) if !self.cells.has(cell) || !is_json => "nothing",
            ([], _) => "an empty text",
            (bytes, _) if self.maker.is_id(cell) && bytes.len() > LONGEST_ID => LONG_ID,
            // Only JSON says which values are texts.
            (bytes, _) if !is_json => {
                if steps(bytes, 0).is_some() {
                    "a number"
                } else {
                    "a text"
                }
            }
            // A text with escapes is not read in place.
            (_, None | Some([.., b'"'])) => "a text",
            ([b't' | b'f', ..], _) => "true or false",
            _ => "a number",
        };
        LineFault { field: self.maker.names().get(cell).cloned(), found: found.into(), wanted }
    }
}

/// Checks lines as the workers of a job read them.
#[derive(Clone)]
pub(super) struct LineCheck {
    format: LineFormat,
    maker: Maker,
    cells: LineCells,
    longest: usize,
    /// The records of a line, for nobody.
    records: Vec<SourceRecord<(), ()>>,
}

/// The first line of a text that no worker could read. Its words are those of a fault, and nothing of the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnreadableLine {
    /// The number of the line, from 1 on.
    pub(super) number: u64,
    pub(super) fault: LineFault,
}

/// The words for a person or an id that is longer than any that is read.
const LONG_ID: &str = "more than 64 KiB";

impl LineCheck {
    pub(super) fn new(plan: &CellLayout, format: LineFormat, maker: Maker, longest: usize) -> LineCheck {
        let cells = LineCells::new(plan.names.len());
        LineCheck { format, maker, cells, longest, records: Vec::new() }
    }

    /// Checks every line of a text; returns the number of those that are not empty.
    ///
    /// # Errors
    ///
    /// The first line that cannot be read. One that the job file drops, such as one without a person, can.
    pub(super) fn check(&mut self, text: &[u8]) -> Result<u64, UnreadableLine> {
        let (mut at, mut number, mut lines) = (0, 0, 0);
        while at < text.len() {
            let rest = text.get(at..).unwrap_or_default();
            let LineCheck { format, maker, cells, longest, .. } = self;
            let mut reader = LineReader { format, maker, cells, longest: *longest };
            let (end, line, quotes) = reader.next(rest, true);
            (at, number) = (at + end, number + 1);
            if reader.format.passes(line) {
                continue;
            }
            lines += 1;
            if reader.split(rest, line.len(), quotes).is_err() {
                return Err(UnreadableLine { number, fault: reader.unsplit(line) });
            }
            let time = match reader.maker.time(line, reader.cells) {
                Ok(time) => time,
                Err(cell) => {
                    let fault = reader.untimed(line, &cell, "a time in the format of the job".into());
                    return Err(UnreadableLine { number, fault });
                }
            };
            let mut made = Ok(());
            for record in 0..reader.cells.records() {
                reader.cells.turn_to(record);
                reader.maker.derive(line, reader.cells, time);
                made = made.and_then(|()| reader.maker.record(line, reader.cells, time, &mut self.records));
                self.records.clear();
                if made.is_err() {
                    break;
                }
            }
            if let Err(cell) = made {
                return Err(UnreadableLine { number, fault: reader.unmade(line, &cell) });
            }
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::sources::cutter::Sizes;
    use crate::job::sources::lines::WantedNames;
    use crate::job::sources::tests::{stated, wanted};

    /// A check of lines with a person, an id, a time, a key and a number.
    fn check(missing: &str) -> LineCheck {
        let source = "type = \"jsonl\"\npath = \"spool\"\nid = { field = \"id\" }\n\
                      time = { field = \"time\", format = \"unix\" }";
        let person = format!("person = {{ field = \"user\", missing = \"{missing}\" }}");
        let (source, person) = stated(source, &person);
        let wanted = wanted(&["page"], &[("size", 2)], true);
        let plan = CellLayout::new(&source, &person, &wanted).unwrap();
        let format = LineFormat::Jsonl(WantedNames::new(&plan.fields, None));
        let maker = Maker::new(plan.clone(), &source).unwrap();
        LineCheck::new(&plan, format, maker, Sizes::USUAL.line)
    }

    const GOOD: &str = r#"{"user":"u","id":1,"time":1.5,"page":"p","size":"1.25"}"#;

    // Refutes a line that is taken and that no worker could read, one that is refused though a worker could, a
    // fault of another line or field, and words with anything of the line in them.
    #[test]
    fn the_first_line_that_no_worker_could_read_is_named() {
        let long = "9".repeat(LONGEST_ID + 1);
        let huge = format!(r#"{{"x":"{}"}}"#, "s".repeat(Sizes::USUAL.line));
        let with = |field: &str, value: &str| -> Vec<u8> {
            let line: serde_json::Value = serde_json::from_str(GOOD).unwrap();
            let mut parts: Vec<String> = Vec::new();
            for (name, old) in line.as_object().unwrap() {
                let value = if name == field { value.to_owned() } else { old.to_string() };
                parts.push(format!("\"{name}\":{value}"));
            }
            format!("{{{}}}", parts.join(",")).into_bytes()
        };
        let mut check = check("reject");
        for (line, field, found) in [
            (with("user", "[\"s3cr3t\"]"), Some("user"), "a list"),
            (with("user", "null"), Some("user"), "nothing"),
            (with("user", "\"\""), Some("user"), "an empty text"),
            (with("user", &long), Some("user"), "more than 64 KiB"),
            (with("user", "\"\\ud800\""), Some("user"), "half of a surrogate pair"),
            (with("user", "\"s3cr3t\",\"user\":1"), Some("user"), "a second value"),
            (with("id", "{\"s3cr3t\":1}"), Some("id"), "an object"),
            (with("id", "null"), Some("id"), "nothing"),
            (with("time", "\"s3cr3t\""), Some("time"), "a text"),
            (with("time", "\"s\\u0033cr3t\""), Some("time"), "a text"),
            (with("time", "true"), Some("time"), "true or false"),
            (with("time", "null"), Some("time"), "nothing"),
            (with("time", "9e99"), Some("time"), "a number"),
            (with("size", "\"s3cr3t\""), Some("size"), "a text"),
            (with("size", "false"), Some("size"), "true or false"),
            (with("page", "[1]"), Some("page"), "a list"),
            (b"{\"page\":\"s3cr3t\xff\"}".to_vec(), Some("page"), "bytes that are no UTF-8"),
            (b"{\"user\":\"s3cr3t\"".to_vec(), None, "no JSON object"),
            (b" ".to_vec(), None, "no JSON object"),
            (b"\xef\xbb\xbf{}".to_vec(), None, "no JSON object"),
            (b"[\"s3cr3t\"]".to_vec(), None, "no JSON object"),
            (huge.into_bytes(), None, "more than 1 MiB"),
        ] {
            let text = [GOOD.as_bytes(), b"\r\n\n", &line, b"\n", b"[]\n"].concat();
            let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
            let fault = check.check(&text).unwrap_err();
            let UnreadableLine { number, fault } = fault;
            assert_eq!((number, fault.field.as_deref(), &*fault.found), (3, field, found), "{shown}");
            assert!(!format!("{fault:?}").contains("s3cr3t"));
        }
        for line in [
            with("size", "null"),
            with("size", "\" -1.5e3 \""),
            with("page", "null"),
            with("page", &format!("\"{}\"", "k".repeat(10_000))),
            with("user", "1.5"),
            with("user", "true"),
            with("x", "1"),
        ] {
            let text = [&line[..], b"\n\n", GOOD.as_bytes(), b"\n", &line].concat();
            assert_eq!(check.check(&text), Ok(3), "{}", String::from_utf8_lossy(&line));
        }
        assert_eq!(check.check(b""), Ok(0));
        assert_eq!(check.check(b"\n\r\n"), Ok(0));
    }

    // Refutes a record that the job file leaves out without complaint and that is refused.
    #[test]
    fn a_record_that_the_job_leaves_out_is_taken() {
        let line = br#"{"user":null,"id":1,"time":1.5}"#;
        for (missing, is_taken) in [("drop", true), ("shared", true), ("reject", false)] {
            assert_eq!(check(missing).check(line).is_ok(), is_taken, "{missing}");
        }
        // Its time is read all the same.
        assert!(check("drop").check(br#"{"id":1,"time":"soon"}"#).is_err());
    }
}
