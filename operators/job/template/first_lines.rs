//! The first lines of a log: the mark between its columns, and what the first of them is.

use std::collections::{HashMap, HashSet};
use std::io;
use std::io::BufRead;
use std::net::IpAddr;

use serde_json::Value;

use super::names::{
    GOODS, KINDS, LogNames, MOST_LINES, PERSON, TIME, UnnamedColumns, VALUE, leaves, next_line, plain, unlike,
};
use super::person::LikelyPerson;
use crate::job::sources::{USUAL_FORMATS, exchanged, is_number, is_time_of};

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

/// The records at the start of a log by whose values the kinds of its columns are found.
const KINDS_OF: usize = 20;

/// The most records that are read, in which the words of the first line may come again; and the most bytes of them.
const MOST_RECORDS: usize = 1_000;
const MOST_BYTES: usize = 4 << 20;

/// The marks that may stand between columns, the likeliest first.
const MARKS: [char; 4] = ['\t', ',', ';', '|'];

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

/// The first lines of a log that are not empty.
pub(super) struct FirstLines {
    pub(super) has_comments: bool,
    pub(super) records: Vec<String>,
}

pub(super) fn first_lines(source: &mut impl BufRead) -> io::Result<FirstLines> {
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
    pub(super) fn delimiter(&self) -> char {
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
    pub(super) fn first_line(&self) -> FirstLineIs {
        let Some(found) = self.words() else { return FirstLineIs::RecordByValue };
        match (found.of_names, found.of_record) {
            (names, record) if record > names => FirstLineIs::RecordByWords,
            (0, _) => FirstLineIs::NamesByDefault,
            _ => FirstLineIs::Names,
        }
    }

    /// Returns true where the first line has names for sure: nothing speaks for a record, and a word above numbers or times, or
    /// several reasons, for names.
    pub(super) fn has_sure_names(&self) -> bool {
        self.words().is_some_and(|found| {
            let is_above = found.above_values > 0 && self.records.len() > SURE_RECORDS;
            found.of_record == 0 && (is_above || found.usual + found.above_values > 1)
        })
    }

    /// Returns the records below the first line, without those that are the same. A file that was put together of several has its
    /// line of names several times.
    pub(super) fn rows_below(&self, delimiter: char) -> Vec<Vec<String>> {
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
        let (mut found, mut seen) = (FirstWords::default(), HashSet::new());
        for (column, cell) in first.iter().enumerate() {
            let word = cell.trim();
            let is_twice = !seen.insert(word);
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
    pub(super) fn objects(&self, first: &Value) -> LogNames {
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
    pub(super) fn unnamed(&self) -> Option<LogNames> {
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
        let other_format = time.and_then(|(column, format)| {
            exchanged(format).filter(|other| all(column, &|cell| is_time_of(other, cell.as_bytes())))
        });
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
                other_format,
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

/// Splits a line of names, which may stand in double quotes.
pub(super) fn split(line: &str, delimiter: char) -> Vec<String> {
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
