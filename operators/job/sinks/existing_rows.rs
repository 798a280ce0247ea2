//! The rows that a file of releases holds, the end of its last whole row, and the check that it is a file of
//! releases at all.
//!
//! Rows are appended whole: the cells of a window and the line that closes it, or the one line of a window
//! that was not released. So the text after the last whole row is one torn row, or empty. Every line before
//! it must be valid; a file with an invalid line is not cut, since its origin is unknown.
//!
//! Of a large file only the [end](HeldRows::read_end) is read, and its first row: a year of releases is not
//! read again for each start. A line end of a table may lie between quotes: its end is read as if the place
//! where it begins lay between quotes, and as if it did not, and counts if one of the two gives whole rows.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::table::TableColumns;
use super::{SinkFormat, table, unopened};
use crate::canonical::{Canonical, Digest};
use crate::ledger::LedgerError;
use crate::mechanisms::release_line::{ReleaseLine, Says};

/// The rows that a file holds.
#[derive(Debug, Default)]
pub(super) struct HeldRows {
    /// The length of the whole rows; any text after it is torn.
    pub(super) sound: u64,
    pub(super) rows: u64,
    /// The names of the rows, as by [`name`].
    pub(super) known: HashSet<Digest>,
    /// The position and the chain of the newest row.
    pub(super) newest: Option<(i64, Digest)>,
    /// The least position of the rows.
    pub(super) first: Option<i64>,
    /// The name of the ledger of the rows.
    pub(super) ledger: Option<Digest>,
    /// The position of the newest row, if rows before the end were not read.
    pub(super) unread: Option<i64>,
    /// The last window, if the line that closes it is torn.
    pub(super) unclosed: Option<Unclosed>,
    /// The columns of a table.
    pub(super) columns: Option<TableColumns>,
}

/// A window whose cells are whole, and whose closing line is not.
#[derive(Debug)]
pub(super) struct Unclosed {
    /// The release, and the start and end of the window.
    pub(super) about: [String; 3],
    cells: u64,
    /// The first cell.
    pub(super) line: Vec<u8>,
    pub(super) format: SinkFormat,
}

/// The content of a line or of a record.
pub(super) struct ParsedLine {
    /// The release, and the start and end of the window.
    pub(super) about: [String; 3],
    pub(super) word: LineKind,
    demo: bool,
}

pub(super) enum LineKind {
    Cell,
    /// The number of cells, the row's position and chain, and its ledger.
    Closed(u64, i64, Digest, Option<Digest>),
    /// The hash of the line itself, the only one of its row.
    Alone(Digest),
}

impl ParsedLine {
    /// Returns the name of the row that ends with this line; `None` for a cell.
    fn name(&self) -> Option<Digest> {
        let canonical =
            self.about.iter().fold(Canonical::new("discreet releases 1"), |name, part| name.text(part));
        match &self.word {
            LineKind::Cell => None,
            LineKind::Closed(_, sequence, chain, _) => {
                Some(canonical.number(*sequence).digest(chain).finish())
            }
            LineKind::Alone(line) => Some(canonical.digest(line).finish()),
        }
    }
}

/// Returns the name of the row that ends with this line: made of its position and chain, in either format;
/// and of the line itself, if it is the only one. `None` if the line ends no row.
pub(super) fn name(line: &str, format: SinkFormat, columns: TableColumns) -> Option<Digest> {
    heard(line, format, columns)?.name()
}

fn heard(line: &str, format: SinkFormat, columns: TableColumns) -> Option<ParsedLine> {
    let line = line.trim_ascii_end();
    match format {
        SinkFormat::Json => heard_line(line),
        SinkFormat::Csv => heard_record(line, columns),
    }
}

impl HeldRows {
    /// Reads a file of releases, or of a demonstration.
    pub(super) fn read(
        file: impl BufRead,
        format: SinkFormat,
        demo: bool,
        path: &Path,
    ) -> Result<HeldRows, LedgerError> {
        HeldRows::read_from(file, (format, format == SinkFormat::Csv), TableColumns::narrow(demo), path)
    }

    /// Reads a file of releases from the beginning of a row on, or from its header on, which says its columns.
    fn read_from(
        file: impl BufRead,
        (format, headed): (SinkFormat, bool),
        columns: TableColumns,
        path: &Path,
    ) -> Result<HeldRows, LedgerError> {
        let demo = columns.demo;
        let mut reader = ReleaseReader::new(file, format, columns);
        let mut held = HeldRows::default();
        let mut open: Option<Unclosed> = None;
        let refuse = |number: u64, what: &str| {
            let remedy = "give the path of a new file, or of one that was written here";
            Err(LedgerError::refused(format!("{}:{number}: {what}; {remedy}", path.display())))
        };
        loop {
            let number = reader.number + 1;
            let whole = reader.next();
            if !whole.map_err(|error| LedgerError::refused(format!("{}: {error}", path.display())))? {
                break;
            }
            if headed && number == 1 {
                match TableColumns::of_header(&reader.line) {
                    Some(columns) if columns.demo == demo => {
                        (reader.columns, held.columns, held.sound) = (columns, Some(columns), reader.at);
                    }
                    Some(_) => return refuse(1, other(demo)),
                    None => return refuse(1, "found no header of releases"),
                }
                continue;
            }
            let Some(heard) = reader.heard() else { return refuse(number, "found no line of a release") };
            if heard.demo != demo {
                return refuse(number, other(demo));
            }
            let cells = match &open {
                Some(open) if open.about != heard.about => {
                    return refuse(number, "found another window before the end of the last");
                }
                Some(open) => open.cells,
                None => 0,
            };
            let name = heard.name();
            match heard.word {
                LineKind::Cell => {
                    let (about, format) = (heard.about, format);
                    let new = || Unclosed { about, cells: 0, line: reader.line.clone(), format };
                    open.get_or_insert_with(new).cells += 1;
                    continue;
                }
                LineKind::Closed(stated, ..) if stated != cells => {
                    return refuse(number, "found the end of a window that lacks some of its lines");
                }
                LineKind::Alone(_) if cells > 0 => {
                    return refuse(number, "found a refusal among the lines of a window");
                }
                LineKind::Closed(_, sequence, chain, ledger) => {
                    if held.ledger.is_some() && ledger.is_some() && ledger != held.ledger {
                        return refuse(number, "found a row of another ledger than the rows before it");
                    }
                    held.ledger = held.ledger.or(ledger);
                    held.newest = held.newest.max(Some((sequence, chain)));
                    held.first = Some(held.first.map_or(sequence, |first| first.min(sequence)));
                }
                LineKind::Alone(_) => {}
            }
            held.known.extend(name);
            (held.sound, held.rows, open) = (reader.at, held.rows + 1, None);
        }
        if !reader.is_torn(headed) {
            return refuse(reader.number + 1, "found no line of a release");
        }
        // A line that lacks its line end alone has been read by others.
        let is_cell = |heard: &ParsedLine| matches!(heard.word, LineKind::Cell) && heard.demo == demo;
        if open.is_none()
            && let Some(heard) = reader.heard().filter(is_cell)
            && id_in(&reader.line, format).is_some()
        {
            open = Some(Unclosed { about: heard.about, cells: 1, line: reader.line.clone(), format });
        }
        held.unclosed = open;
        Ok(held)
    }
}

/// The length of the end of a file that is read.
#[cfg(not(test))]
const END: u64 = 8 << 20;
#[cfg(test)]
pub(super) const END: u64 = 16 << 10;

impl HeldRows {
    /// Reads the first row and the last ones of a file of releases; a small file, and one whose end is no
    /// sequence of whole rows, is read whole.
    ///
    /// # Errors
    ///
    /// As [`HeldRows::read`].
    pub(super) fn read_end(
        file: &File,
        format: SinkFormat,
        demo: bool,
        path: &Path,
    ) -> Result<HeldRows, LedgerError> {
        let refuse = |error: io::Error| unopened(path, &error);
        let length = file.metadata().map_err(refuse)?.len();
        if !demo && length > END {
            let first = HeldRows::first_row(file, format).map_err(refuse)?;
            let columns = first.as_ref().map_or(TableColumns::narrow(false), |first| first.columns);
            let last = |quoted| {
                HeldRows::last_rows(file, (length - END, quoted), (format, columns), path).map_err(refuse)
            };
            let end = match format {
                SinkFormat::Json => last(false)?,
                SinkFormat::Csv => match (last(false)?, last(true)?) {
                    (Some(held), None) | (None, Some(held)) => Some(held),
                    _ => None,
                },
            };
            if let (Some(FirstRow { position: first, ledger, .. }), Some(mut held)) = (first, end)
                && (held.ledger.is_none() || ledger.is_none() || held.ledger == ledger)
            {
                held.first = held.first.map(|held| held.min(first));
                held.ledger = held.ledger.or(ledger);
                held.unread = held.newest.map(|(newest, _)| newest);
                held.columns = (format == SinkFormat::Csv).then_some(columns);
                return Ok(held);
            }
        }
        let mut file = file;
        file.seek(SeekFrom::Start(0)).map_err(refuse)?;
        HeldRows::read(BufReader::new(file), format, demo, path)
    }

    /// The first row of a file that was sealed.
    fn first_row(mut file: &File, format: SinkFormat) -> io::Result<Option<FirstRow>> {
        file.seek(SeekFrom::Start(0))?;
        let mut columns = TableColumns::narrow(false);
        let mut reader = ReleaseReader::new(BufReader::new(file.take(END)), format, columns);
        if format == SinkFormat::Csv {
            let header = if reader.next()? { TableColumns::of_header(reader.line()) } else { None };
            let Some(found) = header.filter(|columns| !columns.demo) else { return Ok(None) };
            (columns, reader.columns) = (found, found);
        }
        while reader.next()? {
            match reader.heard().filter(|heard| !heard.demo).map(|heard| heard.word) {
                Some(LineKind::Closed(_, position, _, ledger)) => {
                    return Ok(Some(FirstRow { position, ledger, columns }));
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The rows after the first one that ends after this place, which lies between quotes or not; `None` if
    /// there is none that was sealed.
    fn last_rows(
        mut file: &File,
        (from, quoted): (u64, bool),
        (format, columns): (SinkFormat, TableColumns),
        path: &Path,
    ) -> io::Result<Option<HeldRows>> {
        file.seek(SeekFrom::Start(from))?;
        let mut reader = ReleaseReader::new(BufReader::new(file), format, columns);
        // The place may lie in the middle of a line, and that line in the middle of a row.
        reader.next_from(quoted)?;
        loop {
            if !reader.next()? {
                return Ok(None);
            }
            match reader.heard().map(|heard| heard.word) {
                Some(LineKind::Cell) => {}
                Some(_) => break,
                None => return Ok(None),
            }
        }
        let from = from + reader.at();
        file.seek(SeekFrom::Start(from))?;
        let held = HeldRows::read_from(BufReader::new(file), (format, false), columns, path);
        // What is wrong is said by a reading of the whole, with the number of the line.
        let held = held.ok().filter(|held| held.newest.is_some());
        Ok(held.map(|held| HeldRows { sound: from + held.sound, ..held }))
    }
}

/// The first row of a file that was sealed.
struct FirstRow {
    position: i64,
    ledger: Option<Digest>,
    /// The columns of a table.
    columns: TableColumns,
}

/// Returns the id of the release in a cell.
pub(super) fn id_in(line: &[u8], format: SinkFormat) -> Option<Digest> {
    let text = std::str::from_utf8(line).ok()?.trim_ascii_end();
    match format {
        SinkFormat::Json => match ReleaseLine::read(text)?.says {
            Says::Cell(cell) => Digest::parse(&cell.id),
            Says::Answer(answer) => Digest::parse(&answer.id),
            _ => None,
        },
        SinkFormat::Csv => Digest::parse(table::fields(text)?.get(table::ID)?),
    }
}

fn other(demo: bool) -> &'static str {
    if demo {
        "found releases, and a demo is never mixed with them"
    } else {
        "found a demo, and releases are never mixed with one"
    }
}

/// The text of a line of JSON before the release's name.
const BEFORE: &[u8] = b"{\"release\":\"";
const AFTER: &[u8] = b"\",\"window\":{\"start\":";

/// A reader of lines, or of records, which may contain line ends between quotes.
pub(super) struct ReleaseReader<R> {
    file: R,
    format: SinkFormat,
    /// The columns of a table.
    columns: TableColumns,
    /// The number of lines that were read.
    number: u64,
    at: u64,
    /// The current line with its line end, unless the file ended first.
    line: Vec<u8>,
}

impl<R: BufRead> ReleaseReader<R> {
    pub(super) fn new(file: R, format: SinkFormat, columns: TableColumns) -> ReleaseReader<R> {
        ReleaseReader { file, format, columns, number: 0, at: 0, line: Vec::new() }
    }

    /// Returns the number of bytes in the whole lines that were read.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the line that was read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line; returns false if the file ends before the line does.
    pub(super) fn next(&mut self) -> io::Result<bool> {
        self.next_from(false)
    }

    /// Reads the rest of a line from a place between quotes, or outside of them.
    fn next_from(&mut self, quoted: bool) -> io::Result<bool> {
        self.line.clear();
        let mut quotes = usize::from(quoted);
        loop {
            let from = self.line.len();
            self.file.read_until(b'\n', &mut self.line)?;
            let new = &self.line[from..];
            if new.last() != Some(&b'\n') {
                return Ok(false);
            }
            self.number += 1;
            quotes += new.iter().filter(|byte| **byte == b'"').count();
            if self.format == SinkFormat::Json || quotes % 2 == 0 {
                break;
            }
        }
        self.at += self.line.len() as u64;
        Ok(true)
    }

    pub(super) fn heard(&self) -> Option<ParsedLine> {
        heard(std::str::from_utf8(&self.line).ok()?, self.format, self.columns)
    }

    /// Returns true if the rest at the end may be the beginning of a line. A machine that lost power may
    /// leave zeros.
    fn is_torn(&self, headed: bool) -> bool {
        let zeros = self.line.iter().rev().take_while(|byte| **byte == 0).count();
        let line = &self.line[..self.line.len() - zeros];
        match self.format {
            SinkFormat::Csv if headed && self.at == 0 => TableColumns::begin_with(line, self.columns.demo),
            // The header identifies the file.
            SinkFormat::Csv => true,
            SinkFormat::Json => {
                let Some(rest) = line.strip_prefix(BEFORE) else { return BEFORE.starts_with(line) };
                let name = rest.iter().take_while(|byte| **byte != b'"').count();
                let (name, after) = rest.split_at(name);
                let plain =
                    |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(byte);
                name.len() <= 64
                    && name.iter().all(plain)
                    && (after.starts_with(AFTER) || AFTER.starts_with(after))
            }
        }
    }
}

fn heard_line(text: &str) -> Option<ParsedLine> {
    let ReleaseLine { release, window, says, demo } = ReleaseLine::read(text)?;
    let end = |end: Option<&str>| end.unwrap_or_default().to_owned();
    let about = [release.into_owned(), end(window.start), end(window.end)];
    let word = match says {
        Says::Cell(_) | Says::Answer(_) => LineKind::Cell,
        Says::Closed { cells, sequence, chain, ledger } => {
            let ledger = ledger.map_or(Some(None), |ledger| Digest::parse(&ledger).map(Some))?;
            LineKind::Closed(cells, sequence, Digest::parse(&chain)?, ledger)
        }
        Says::Refused(_) | Says::Never(..) => LineKind::Alone(Digest::of(text.as_bytes())),
    };
    Some(ParsedLine { about, word, demo })
}

fn heard_record(record: &str, columns: TableColumns) -> Option<ParsedLine> {
    let fields = table::fields(record)?;
    if fields.len() != columns.width() {
        return None;
    }
    let about = [&fields[0], &fields[1], &fields[2]].map(|field| field.to_string());
    let word = match &*fields[table::STATUS] {
        "value" | table::UNANSWERED => LineKind::Cell,
        "refused" | "skipped" | "lost" => {
            LineKind::Alone(Digest::of(columns.without_wide(record).as_bytes()))
        }
        "closed" => {
            let [cells, sequence, chain] = [0, 1, 2].map(|next| &fields[table::CELLS + next]);
            let ledger = match &*fields[table::LEDGER] {
                "" => None,
                ledger => Some(Digest::parse(ledger)?),
            };
            LineKind::Closed(cells.parse().ok()?, sequence.parse().ok()?, Digest::parse(chain)?, ledger)
        }
        _ => return None,
    };
    Some(ParsedLine { about, word, demo: columns.demo })
}
