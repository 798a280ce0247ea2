//! The names of a log's columns, and which of them are known.

use std::collections::HashMap;
use std::io;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::net::IpAddr;
use std::path::Path;

use serde_json::Value;

use super::LogKind;
use super::person::LikelyPerson;
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
    /// The column that is likely to be the person's, of logs whose columns may have any names.
    pub(super) person: Option<LikelyPerson>,
    /// True where the name of that column cannot be somebody's value, so that it may be written though it is not usual.
    pub(super) shows_person: bool,
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

/// The longest name that is written though it is not usual, in characters.
const LONGEST_NAME: usize = 40;

/// The number of records below a single word above numbers or times that make sure that it is a name.
const SURE_RECORDS: usize = 5;

/// Words that stand in the place of a number or a time that is missing.
const MISSING: [&str; 12] = [
    "none",
    "null",
    "nil",
    "nan",
    "na",
    "n/a",
    "missing",
    "unknown",
    "undefined",
    "empty",
    "inf",
    "infinity",
];

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
                Ok(LogNames::of_columns(Vec::new(), ' '))
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
                Ok(lines.objects(&object))
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
                let rows = lines.rows_below(delimiter);
                let shows_person = lines.has_sure_names();
                let named = LogNames {
                    has_comments: lines.has_comments,
                    first_line,
                    ..LogNames::of_columns(columns, delimiter)
                };
                Ok(named.with_person(&rows, shows_person))
            }
            LogKind::Zeek => zeek(&mut source),
        }
    }

    fn of_columns(columns: Vec<String>, delimiter: char) -> LogNames {
        LogNames {
            columns,
            delimiter,
            has_comments: false,
            unnamed: None,
            first_line: None,
            person: None,
            shows_person: false,
        }
    }

    /// Finds the column that is likely to be the person's: one whose name does not say that it is something else, if there is one.
    fn with_person(self, rows: &[Vec<String>], shows_person: bool) -> LogNames {
        let is_other = |place: &usize| {
            let name = self.columns.get(*place).and_then(|name| plain(name));
            name.is_some_and(|name| {
                [TIME, KINDS, GOODS, VALUE].iter().any(|usual| usual.contains(&name.as_str()))
            })
        };
        let all = 0..self.columns.len();
        let person = LikelyPerson::among(rows, all.clone().filter(|place| !is_other(place)))
            .or_else(|| LikelyPerson::among(rows, all));
        let name = person.and_then(|person| self.columns.get(person.place));
        let is_readable = name.is_some_and(|name| {
            let may_have = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ' ');
            !name.trim().is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(may_have)
        });
        LogNames { person, shows_person: shows_person && is_readable, ..self }
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
        let Some(found) = self.words() else { return FirstLineIs::RecordByValue };
        match (found.of_names, found.of_record) {
            (names, record) if record > names => FirstLineIs::RecordByWords,
            (0, _) => FirstLineIs::NamesByDefault,
            _ => FirstLineIs::Names,
        }
    }

    /// Returns true where the first line has names for sure: nothing speaks for a record, and a word above numbers or times, or
    /// several reasons, for names.
    fn has_sure_names(&self) -> bool {
        self.words().is_some_and(|found| {
            let is_above = found.above_values > 0 && self.records.len() > SURE_RECORDS;
            found.of_record == 0 && (is_above || found.usual + found.above_values > 1)
        })
    }

    /// Returns the records below the first line, without those that are the same. A file that was put together of several has its
    /// line of names several times.
    fn rows_below(&self, delimiter: char) -> Vec<Vec<String>> {
        let Some((line, rest)) = self.records.split_first() else { return Vec::new() };
        rest.iter().filter(|other| *other != line).map(|line| cells_of(line, delimiter)).collect()
    }

    /// Returns what the words of the first line speak for; `None` if one of them is a value.
    fn words(&self) -> Option<FirstWords> {
        let delimiter = self.delimiter();
        let first = self.records.first().map_or(Vec::new(), |line| cells_of(line, delimiter));
        if first.iter().any(|cell| is_value(cell)) {
            return None;
        }
        let rows = self.rows_below(delimiter);
        let below = |column: usize| {
            rows.iter()
                .filter_map(move |row| row.get(column))
                .map(|cell| cell.trim())
                .filter(|cell| !cell.is_empty())
        };
        let mut found = FirstWords::default();
        for (column, cell) in first.iter().enumerate() {
            let word = cell.trim();
            let is_twice = first.iter().take(column).any(|other| other.trim() == word);
            let is_numbered = word.bytes().any(|byte| byte.is_ascii_digit());
            let form = form_of(word);
            let has_its_form =
                || below(column).count() > 1 && below(column).all(|cell| form_of(cell) == form);
            if is_twice || below(column).any(|cell| cell == word) || (is_numbered && has_its_form()) {
                found.of_record += 1;
            }
            let mut kinds = below(column).take(KINDS_OF).map(is_value).peekable();
            let is_missing = MISSING.contains(&word.to_lowercase().as_str());
            let is_above_values = !is_missing && kinds.peek().is_some() && kinds.all(|is_value| is_value);
            let is_usual = [PERSON, TIME, KINDS, GOODS, VALUE]
                .iter()
                .any(|usual| plain(word).is_some_and(|plain| usual.contains(&plain.as_str())));
            found.above_values += usize::from(is_above_values);
            found.usual += usize::from(is_usual);
            found.of_names += usize::from(is_above_values || is_usual);
        }
        Some(found)
    }

    /// Returns the fields of lines of JSON, named as those of the first.
    fn objects(&self, first: &Value) -> LogNames {
        let mut fields = Vec::new();
        leaves(first, "", 0, &mut fields);
        let columns: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
        let rows: Vec<Vec<String>> = self
            .records
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(|object: Value| {
                let mut fields = Vec::new();
                leaves(&object, "", 0, &mut fields);
                let mut fields: HashMap<String, String> = fields.into_iter().collect();
                columns.iter().map(|name| fields.remove(name).unwrap_or_default()).collect()
            })
            .collect();
        let named = LogNames::of_columns(columns, ',').with_person(&rows, true);
        // A key of one object alone may be a value; one of most is none.
        let has_it = |row: &&Vec<String>| {
            named.person.and_then(|person| row.get(person.place)).is_some_and(|cell| !cell.is_empty())
        };
        let is_common = rows.len() > 1 && rows.iter().filter(has_it).count() * 2 > rows.len();
        LogNames { shows_person: named.shows_person && is_common, ..named }
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
        let all_rows: Vec<Vec<String>> = self.records.iter().map(|line| cells_of(line, delimiter)).collect();
        let is_numeric = |column: &usize| all(*column, &|cell| is_number(cell.as_bytes()));
        Some(LogNames {
            columns: (1..=width).map(|place| format!("column_{place}")).collect(),
            delimiter,
            has_comments: self.has_comments,
            first_line: Some(first_line),
            person: LikelyPerson::among(&all_rows, others.iter().copied()),
            shows_person: true,
            unnamed: Some(UnnamedColumns {
                has_quotes: self.records.iter().any(|line| is_quoted(line, delimiter)),
                time,
                numbers: others.iter().copied().filter(is_numeric).collect(),
                others,
            }),
        })
    }
}

/// The numbers of the words of a first line by what they speak for.
#[derive(Debug, Default)]
struct FirstWords {
    usual: usize,
    /// The words above nothing but numbers, times and addresses.
    above_values: usize,
    /// Those of either kind.
    of_names: usize,
    /// The words that come again, or have the form of all values below.
    of_record: usize,
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

/// Collects the values that are no objects, by their names: the path to each, with dots.
fn leaves(value: &Value, path: &str, depth: usize, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if depth < DEEPEST => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(value, &path, depth + 1, fields);
            }
        }
        Value::Object(_) | Value::Array(_) => {}
        Value::Null => fields.push((path.to_owned(), String::new())),
        Value::String(text) => fields.push((path.to_owned(), text.clone())),
        _ => fields.push((path.to_owned(), value.to_string())),
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
        return Ok(LogNames { has_comments: true, ..LogNames::of_columns(columns, '\t') });
    }
    Err(unlike("no line #fields comes before its first record"))
}
