//! The names of a log's columns, and which of them are known.

use std::io;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::path::Path;

use serde_json::Value;

use super::LogKind;
use super::first_lines::{FirstLineIs, first_lines, split};
use super::person::LikelyPerson;
use crate::job::sources::bytes::unpacked;

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

/// The form of a log whose columns have no names in it: nothing but kinds of values, and places.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnnamedColumns {
    /// True where a field begins with a mark of quotation.
    pub(super) has_quotes: bool,
    /// The place of the time, and its format, where one fits all lines that were read.
    pub(super) time: Option<(usize, &'static str)>,
    /// The format with day and month exchanged, where it fits all these lines as well.
    pub(super) other_format: Option<&'static str>,
    /// The places of the other columns, and of those among them that have numbers.
    pub(super) others: Vec<usize>,
    pub(super) numbers: Vec<usize>,
}

/// The longest line of names, in bytes.
const LONGEST: u64 = 1 << 20;

/// The longest name that is written though it is not usual, in characters.
const LONGEST_NAME: usize = 40;

/// The most columns that the header of a job file is written for: it stays far below the 1 MiB that a job file may have.
const MOST_IN_HEADER: usize = 20_000;

/// The most lines before the names of a log of Zeek, and of comments and nothing before the first record of another log.
pub(super) const MOST_LINES: usize = 100;

impl LogNames {
    /// Reads the names of a log, packed or plain, from its first lines.
    pub(super) fn read(kind: LogKind, log: &Path) -> io::Result<LogNames> {
        let names = LogNames::read_all(kind, log)?;
        let has_header = names.unnamed.is_some() || kind == LogKind::Zeek;
        match names.columns.len() {
            columns if has_header && columns > MOST_IN_HEADER => {
                let found = format!(
                    "it has {columns} columns without a line that names them, and a job file names at most {MOST_IN_HEADER}"
                );
                Err(unlike(&found))
            }
            _ => Ok(names),
        }
    }

    fn read_all(kind: LogKind, log: &Path) -> io::Result<LogNames> {
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

    pub(super) fn of_columns(columns: Vec<String>, delimiter: char) -> LogNames {
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
    pub(super) fn with_person(self, rows: &[Vec<String>], shows_person: bool) -> LogNames {
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

pub(super) fn unlike(found: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, found)
}

/// Returns the next line without its end; `None` at the end of the file.
pub(super) fn next_line(source: &mut impl BufRead) -> io::Result<Option<String>> {
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
pub(super) fn leaves(value: &Value, path: &str, depth: usize, fields: &mut Vec<(String, String)>) {
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

/// Returns a name in small letters and without marks; `None` if it has other characters than a name of the
/// lists may have.
pub(super) fn plain(name: &str) -> Option<String> {
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
