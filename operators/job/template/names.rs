//! The names of a log's columns, and which of them are known.

use std::io;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::net::IpAddr;
use std::path::Path;

use serde_json::Value;

use super::LogKind;
use crate::job::sources::bytes::unpacked;
use crate::job::sources::{USUAL_FORMATS, is_number, is_time_of};

/// Names that a column may have, the likeliest first, in small letters and without marks between words.
pub(super) type Candidates = &'static [&'static str];

pub(super) const PERSON: Candidates = &[
    "userid",
    "user",
    "customerid",
    "customer",
    "clientid",
    "client",
    "memberid",
    "member",
    "accountid",
    "account",
    "buyerid",
    "buyer",
    "reviewerid",
    "reviewer",
    "visitorid",
    "visitor",
    "personid",
    "person",
    "patientid",
    "patient",
    "subscriberid",
    "subscriber",
    "username",
    "email",
    "useremail",
    "customeremail",
];

pub(super) const TIME: Candidates = &[
    "time",
    "timestamp",
    "ts",
    "datetime",
    "eventtime",
    "ordertime",
    "orderdate",
    "invoicedate",
    "purchasedate",
    "createdat",
    "occurredat",
    "date",
    "created",
    "at",
];

/// The keys of events.
pub(super) const KINDS: Candidates =
    &["kind", "eventtype", "eventname", "event", "type", "action", "page", "path", "category", "key"];

/// The keys of orders.
pub(super) const GOODS: Candidates = &[
    "country",
    "category",
    "vendorid",
    "vendor",
    "store",
    "region",
    "city",
    "productid",
    "product",
    "item",
    "sku",
    "stockcode",
    "key",
];

pub(super) const VALUE: Candidates =
    &["amount", "total", "price", "unitprice", "value", "rating", "revenue", "quantity", "duration", "score"];

/// The columns of `conn.log`, as Zeek writes them without further packages.
const ZEEK: [&str; 22] = [
    "ts",
    "uid",
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "proto",
    "service",
    "duration",
    "orig_bytes",
    "resp_bytes",
    "conn_state",
    "local_orig",
    "local_resp",
    "missed_bytes",
    "history",
    "orig_pkts",
    "orig_ip_bytes",
    "resp_pkts",
    "resp_ip_bytes",
    "tunnel_parents",
    "ip_proto",
];

/// The columns that older versions of Zeek have, too: all but the last.
pub(super) fn zeek_columns() -> Vec<String> {
    ZEEK[..21].iter().map(|name| (*name).to_owned()).collect()
}

/// The names of a log's columns.
pub(super) struct LogNames {
    /// The names as the log has them; of Zeek, those that are not its own by their place.
    pub(super) columns: Vec<String>,
    /// The character between them.
    pub(super) delimiter: char,
    /// True where lines that begin with `#` come before the first of these columns.
    pub(super) has_comments: bool,
    /// The form of the records, where no line names the columns and their names are made up.
    pub(super) unnamed: Option<UnnamedColumns>,
    /// The reading of the first line of separated text; `None` of other logs.
    pub(super) first_line: Option<FirstLineIs>,
}

/// A reading of the first line of separated text, with the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstLineIs {
    /// Names: one of them is usual, or is no value of the kind that its column has.
    Names,
    /// Names, for nothing speaks for a record.
    NamesByDefault,
    /// A record: a number, a time, an address or nothing stands in the place of a name.
    RecordByValue,
    /// A record: more of its words come again in their columns, or twice in it, than speak for names.
    RecordByWords,
}

impl FirstLineIs {
    pub(super) fn is_names(self) -> bool {
        matches!(self, FirstLineIs::Names | FirstLineIs::NamesByDefault)
    }

    /// Says what the line was taken for and why.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            FirstLineIs::Names => {
                "the first line was taken for the names of the columns, since it has a usual name, or a word above numbers or times"
            }
            FirstLineIs::NamesByDefault => {
                "the first line was taken for the names of the columns, but nothing in the log speaks for that or against it"
            }
            FirstLineIs::RecordByValue => {
                "the first line was taken for a record, since it has a number, a time, an address or nothing in the place of a name"
            }
            FirstLineIs::RecordByWords => {
                "the first line was taken for a record, since it has values that come again, or are formed like those below it"
            }
        }
    }
}

/// The form of a log whose columns have no names in it: nothing but kinds of values, and places.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnnamedColumns {
    /// True where a field begins with a mark of quotation.
    pub(super) has_quotes: bool,
    /// The place of the time, and its format, where one fits all lines that were read.
    pub(super) time: Option<(usize, &'static str)>,
    /// The places of the other columns, and of those among them that have numbers.
    pub(super) others: Vec<usize>,
    pub(super) numbers: Vec<usize>,
}

/// The records at the start of a log by whose values the kinds of its columns are found.
const KINDS_OF: usize = 20;

/// The most records that are read, in which the words of the first line may come again; and the most bytes of them.
const MOST_RECORDS: usize = 1_000;
const MOST_BYTES: usize = 4 << 20;

/// The marks that may stand between columns, the likeliest first.
const MARKS: [char; 4] = ['\t', ',', ';', '|'];

/// The longest line of names, in bytes.
const LONGEST: u64 = 1 << 20;

/// The most lines before the names of a log of Zeek, and of comments and nothing before the first record of another log.
const MOST_LINES: usize = 100;

impl LogNames {
    /// Reads the names of a log, packed or plain, from its first lines.
    pub(super) fn read(kind: LogKind, log: &Path) -> io::Result<LogNames> {
        let mut source = BufReader::new(unpacked(log)?);
        match kind {
            // Its fields have no names in the file.
            LogKind::AccessLog => {
                source.fill_buf()?;
                let (columns, delimiter) = (Vec::new(), ' ');
                Ok(LogNames { columns, delimiter, has_comments: false, unnamed: None, first_line: None })
            }
            LogKind::Events => {
                let lines = first_lines(&mut source)?;
                let line = lines.records.first().map(String::as_str).unwrap_or_default();
                let Some(object) = serde_json::from_str(line).ok().filter(Value::is_object) else {
                    return lines.unnamed().ok_or_else(|| match split(line, lines.delimiter()).len() {
                        ..2 => unlike("its first line is no object of JSON"),
                        _ => unlike(
                            "its first line is no object of JSON, and names columns, as of --from orders",
                        ),
                    });
                };
                let mut columns = Vec::new();
                leaves(&object, "", 0, &mut columns);
                let delimiter = ',';
                Ok(LogNames { columns, delimiter, has_comments: false, unnamed: None, first_line: None })
            }
            LogKind::Orders => {
                let lines = first_lines(&mut source)?;
                let line = lines.records.first().map(String::as_str).unwrap_or_default();
                if serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object()) {
                    return Err(unlike("its first line is an object of JSON, as of --from events"));
                }
                if let Some(unnamed) = lines.unnamed() {
                    return Ok(unnamed);
                }
                let splits = [',', ';', '\t', '|'].map(|mark| (split(line, mark), mark));
                let widest = splits.into_iter().rev().max_by_key(|(names, _)| names.len());
                let (columns, delimiter) = widest.unwrap_or_default();
                let first_line = Some(lines.first_line()).filter(|is| is.is_names());
                let has_comments = lines.has_comments;
                Ok(LogNames { columns, delimiter, has_comments, unnamed: None, first_line })
            }
            LogKind::Zeek => zeek(&mut source),
        }
    }

    /// Returns the columns that have one of these names, the likeliest first.
    pub(super) fn all(&self, candidates: Candidates) -> Vec<&str> {
        let named = |wanted: &'static str| {
            self.columns.iter().filter(move |name| plain(name).as_deref() == Some(wanted))
        };
        candidates.iter().flat_map(|wanted| named(wanted)).map(String::as_str).collect()
    }

    /// Returns the likeliest column.
    pub(super) fn first(&self, candidates: Candidates) -> Option<&str> {
        self.all(candidates).first().copied()
    }
}

fn unlike(found: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, found)
}

/// The first lines of a log that are not empty.
struct FirstLines {
    has_comments: bool,
    records: Vec<String>,
}

fn first_lines(source: &mut impl BufRead) -> io::Result<FirstLines> {
    let mut lines = FirstLines { has_comments: false, records: Vec::new() };
    let (mut passed, mut bytes) = (0, 0);
    while lines.records.len() < MOST_RECORDS && passed < MOST_LINES && bytes < MOST_BYTES {
        let line = match next_line(source) {
            // A later line is for the run to read.
            Err(error) if lines.records.is_empty() => return Err(error),
            Err(_) | Ok(None) => break,
            Ok(Some(line)) => line,
        };
        let line = line.trim_start_matches('\u{feff}');
        match line.as_bytes() {
            [] => passed += 1,
            [b'#', ..] if lines.records.is_empty() => {
                passed += 1;
                lines.has_comments = true;
            }
            _ => {
                bytes += line.len();
                lines.records.push(line.to_owned());
            }
        }
    }
    if lines.records.is_empty() {
        return Err(unlike("it is empty"));
    }
    Ok(lines)
}

impl FirstLines {
    /// Returns the mark between columns: the first one that cuts all lines into equally many, and otherwise the one that
    /// cuts the first line into the most.
    fn delimiter(&self) -> char {
        let counts =
            |mark: char| self.records.iter().take(KINDS_OF).map(move |line| cells_of(line, mark).len());
        let is_even = |mark: &char| {
            let first = counts(*mark).next().unwrap_or_default();
            first > 1 && counts(*mark).all(|count| count == first)
        };
        let widest = || MARKS.into_iter().rev().max_by_key(|mark| counts(*mark).next());
        MARKS.into_iter().find(is_even).or_else(widest).unwrap_or(',')
    }

    /// Returns what the first line is.
    fn first_line(&self) -> FirstLineIs {
        let delimiter = self.delimiter();
        let mut lines = self.records.iter();
        let Some(line) = lines.next() else { return FirstLineIs::NamesByDefault };
        let first = cells_of(line, delimiter);
        if first.iter().any(|cell| is_value(cell)) {
            return FirstLineIs::RecordByValue;
        }
        // A file that was put together of several has its line of names several times.
        let rows: Vec<Vec<String>> =
            lines.filter(|other| *other != line).map(|line| cells_of(line, delimiter)).collect();
        let below = |column: usize| {
            rows.iter()
                .filter_map(move |row| row.get(column))
                .map(|cell| cell.trim())
                .filter(|cell| !cell.is_empty())
        };
        let (mut of_names, mut of_record) = (0, 0);
        for (column, cell) in first.iter().enumerate() {
            let word = cell.trim();
            let is_twice = first.iter().take(column).any(|other| other.trim() == word);
            let is_numbered = word.bytes().any(|byte| byte.is_ascii_digit());
            let form = form_of(word);
            let has_its_form =
                || below(column).count() > 1 && below(column).all(|cell| form_of(cell) == form);
            if is_twice || below(column).any(|cell| cell == word) || (is_numbered && has_its_form()) {
                of_record += 1;
            }
            let mut kinds = below(column).take(KINDS_OF).map(is_value).peekable();
            let is_above_values = kinds.peek().is_some() && kinds.all(|is_value| is_value);
            let is_usual = [PERSON, TIME, KINDS, GOODS, VALUE]
                .iter()
                .any(|usual| plain(word).is_some_and(|plain| usual.contains(&plain.as_str())));
            of_names += usize::from(is_above_values || is_usual);
        }
        match (of_names, of_record) {
            (names, record) if record > names => FirstLineIs::RecordByWords,
            (0, _) => FirstLineIs::NamesByDefault,
            _ => FirstLineIs::Names,
        }
    }

    /// Returns the columns of a log whose first line is a record. `None` for a line of names, and for one without columns.
    fn unnamed(&self) -> Option<LogNames> {
        let delimiter = self.delimiter();
        let records = self.records.iter().take(KINDS_OF);
        let rows: Vec<Vec<String>> = records.map(|line| cells_of(line, delimiter)).collect();
        let (width, first_line) = (rows.first()?.len(), self.first_line());
        if width < 2 || first_line.is_names() {
            return None;
        }
        let cells = |column: usize| {
            rows.iter().filter_map(move |row| row.get(column)).filter(|cell| !cell.is_empty())
        };
        let all = |column: usize, holds: &dyn Fn(&String) -> bool| {
            cells(column).next().is_some() && cells(column).all(holds)
        };
        let times = USUAL_FORMATS.iter().flat_map(|format| (0..width).map(move |column| (column, *format)));
        let time = times
            .into_iter()
            .find(|(column, format)| all(*column, &|cell| is_time_of(format, cell.as_bytes())));
        let others: Vec<usize> =
            (0..width).filter(|column| time.is_none_or(|(time, _)| time != *column)).collect();
        let is_numeric = |column: &usize| all(*column, &|cell| is_number(cell.as_bytes()));
        Some(LogNames {
            columns: (1..=width).map(|place| format!("column_{place}")).collect(),
            delimiter,
            has_comments: self.has_comments,
            first_line: Some(first_line),
            unnamed: Some(UnnamedColumns {
                has_quotes: self.records.iter().any(|line| is_quoted(line, delimiter)),
                time,
                numbers: others.iter().copied().filter(is_numeric).collect(),
                others,
            }),
        })
    }
}

/// Returns true for what no column is named: nothing, a number, a time, or an address.
fn is_value(cell: &str) -> bool {
    cell.trim().is_empty()
        || cell.contains('@')
        || cell.parse::<IpAddr>().is_ok()
        || is_number(cell.replace(',', ".").trim_start_matches(['$', '€', '£']).as_bytes())
        || USUAL_FORMATS.iter().any(|format| is_time_of(format, cell.as_bytes()))
}

/// Returns the form of a word: a letter for each run of letters, a zero for each run of digits, and other characters as
/// they are.
fn form_of(word: &str) -> String {
    let mut form = String::new();
    for letter in word.chars() {
        let of = match letter {
            letter if letter.is_alphabetic() => 'a',
            letter if letter.is_ascii_digit() => '0',
            letter => letter,
        };
        if !(form.ends_with(of) && matches!(of, 'a' | '0')) {
            form.push(of);
        }
    }
    form
}

/// Returns true if a field of the line begins with a mark of quotation.
fn is_quoted(line: &str, delimiter: char) -> bool {
    line.starts_with('"') || line.contains(&format!("{delimiter}\""))
}

/// Splits a record. Between tabs a mark of quotation is a character like others, unless a field begins with one.
fn cells_of(line: &str, delimiter: char) -> Vec<String> {
    match delimiter == '\t' && !is_quoted(line, delimiter) {
        true => line.split(delimiter).map(str::to_owned).collect(),
        false => split(line, delimiter),
    }
}

/// Returns the next line without its end; `None` at the end of the file.
fn next_line(source: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    match source.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64 {
        0 => return Ok(None),
        LONGEST => return Err(unlike("its first line is longer than 1 MiB")),
        _ => {}
    }
    let line = String::from_utf8(line).map_err(|_| unlike("its first line is no text in UTF-8"))?;
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

/// The deepest name, in objects within objects.
const DEEPEST: usize = 4;

/// Collects the names of values that are no objects: the path to each, with dots.
fn leaves(value: &Value, path: &str, depth: usize, names: &mut Vec<String>) {
    match value {
        Value::Object(members) if depth < DEEPEST => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(value, &path, depth + 1, names);
            }
        }
        Value::Object(_) | Value::Array(_) => {}
        _ => names.push(path.to_owned()),
    }
}

/// Splits a line of names, which may stand in double quotes.
fn split(line: &str, delimiter: char) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match (letter, names.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (mark, _) if mark == delimiter && !is_quoted => names.push(String::new()),
            (letter, Some(name)) => name.push(letter),
            _ => {}
        }
    }
    names
}

/// Returns a name in small letters and without marks; `None` if it has other characters than a name of the
/// lists may have.
fn plain(name: &str) -> Option<String> {
    let is_mark = |letter: char| matches!(letter, '_' | '-' | '.' | ' ');
    let known = |letter: char| letter.is_ascii_alphabetic() || is_mark(letter);
    name.chars().all(known).then(|| {
        name.chars().filter(|letter| !is_mark(*letter)).map(|letter| letter.to_ascii_lowercase()).collect()
    })
}

/// Reads the line of names of a log of Zeek. A name that is not Zeek's own is left out, and its place kept.
fn zeek(source: &mut impl BufRead) -> io::Result<LogNames> {
    for _ in 0..MOST_LINES {
        let Some(line) = next_line(source)?.filter(|line| line.starts_with('#')) else { break };
        let Some(names) = line.strip_prefix("#fields\t") else { continue };
        let own = |(place, name): (usize, &str)| match ZEEK.contains(&name) {
            true => name.to_owned(),
            false => format!("column_{}", place + 1),
        };
        let columns: Vec<String> = names.split('\t').enumerate().map(own).collect();
        let lacks = ["ts", "id.orig_h", "id.resp_p", "service"]
            .into_iter()
            .any(|name| !columns.iter().any(|own| own == name));
        if lacks {
            return Err(unlike("its line #fields is not that of a conn.log"));
        }
        let delimiter = '\t';
        return Ok(LogNames { columns, delimiter, has_comments: true, unnamed: None, first_line: None });
    }
    Err(unlike("no line #fields comes before its first record"))
}
