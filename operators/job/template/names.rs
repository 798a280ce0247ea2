//! The names of a log's columns, and which of them are known.

use std::io;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::path::Path;

use serde_json::Value;

use super::LogKind;
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
}

/// The longest line of names, in bytes.
const LONGEST: u64 = 1 << 20;

/// The most lines before the names of a log of Zeek.
const MOST_LINES: usize = 100;

impl LogNames {
    /// Reads the names of a log, packed or plain, from its first lines.
    pub(super) fn read(kind: LogKind, log: &Path) -> io::Result<LogNames> {
        let mut source = BufReader::new(unpacked(log)?);
        match kind {
            // Its fields have no names in the file.
            LogKind::AccessLog => {
                source.fill_buf()?;
                Ok(LogNames { columns: Vec::new(), delimiter: ' ' })
            }
            LogKind::Events => {
                let line = first_line(&mut source)?;
                let object = serde_json::from_str(&line).ok().filter(Value::is_object);
                let object = object.ok_or_else(|| unlike("its first line is no object of JSON"))?;
                let mut columns = Vec::new();
                leaves(&object, "", 0, &mut columns);
                Ok(LogNames { columns, delimiter: ',' })
            }
            LogKind::Orders => {
                let line = first_line(&mut source)?;
                let line = line.trim_start_matches('\u{feff}');
                if serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object()) {
                    return Err(unlike("its first line is an object of JSON, as of --from events"));
                }
                let splits = [',', ';', '\t', '|'].map(|mark| (split(line, mark), mark));
                let widest = splits.into_iter().rev().max_by_key(|(names, _)| names.len());
                let (columns, delimiter) = widest.unwrap_or_default();
                Ok(LogNames { columns, delimiter })
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

/// Returns the first line that is not empty.
fn first_line(source: &mut impl BufRead) -> io::Result<String> {
    loop {
        let line = next_line(source)?.ok_or_else(|| unlike("it is empty"))?;
        if !line.is_empty() {
            return Ok(line);
        }
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
        return Ok(LogNames { columns, delimiter: '\t' });
    }
    Err(unlike("no line #fields comes before its first record"))
}
