//! The form of a CSV source: its marks, and the names of its columns where the file has no line of them.
//!
//! Each mark is one byte, so that lines and fields are found by comparing bytes.

use super::display::{list, text};
use super::mistake::quoted;
use super::node::{ConfigNode, TableNode};

/// The form of a CSV source, as the job file states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CsvSpec {
    /// The marks of the text.
    pub marks: CsvMarks,
    /// The names of the columns, if the job file states them: then the files have no line of names.
    pub header: Option<Vec<String>>,
}

impl CsvSpec {
    /// Returns the fields of the job file with their values in TOML; an absent one has no value.
    pub(in crate::job) fn fields(&self) -> [(&'static str, Option<String>); 4] {
        let CsvSpec { marks: CsvMarks { delimiter, quote, comment }, header } = self;
        let mark = |mark: u8| text(char::from(mark).encode_utf8(&mut [0; 4]));
        let [for_delimiter, for_quote, for_comment, for_header] = FIELDS;
        let header =
            header.as_ref().map(|names| list(&names.iter().map(|name| text(name)).collect::<Vec<_>>()));
        [
            (for_delimiter, Some(mark(*delimiter))),
            (for_quote, Some(quote.map_or_else(|| text(""), mark))),
            (for_comment, comment.map(mark)),
            (for_header, header),
        ]
    }
}

/// The marks of separated text: three different ASCII characters, of which two may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CsvMarks {
    delimiter: u8,
    quote: Option<u8>,
    comment: Option<u8>,
}

impl Default for CsvMarks {
    fn default() -> CsvMarks {
        CsvMarks { delimiter: b',', quote: Some(b'"'), comment: None }
    }
}

impl CsvMarks {
    /// Returns the usual marks with this one between two fields.
    pub(in crate::job) fn between(delimiter: u8) -> CsvMarks {
        CsvMarks { delimiter, ..CsvMarks::default() }
    }

    /// Returns the character between two fields.
    pub fn delimiter(self) -> u8 {
        self.delimiter
    }

    /// Returns the character around a field that holds other marks; `None` if no character is one.
    pub fn quote(self) -> Option<u8> {
        self.quote
    }

    /// Returns the character at the beginning of a line that is no record; `None` if every line may be one.
    pub fn comment(self) -> Option<u8> {
        self.comment
    }
}

/// The fields of `[source]` that only a CSV source has.
pub(super) const FIELDS: [&str; 4] = ["delimiter", "quote", "comment", "header"];

/// The remedy of a mark that is none.
const ONE_CHARACTER: &str = "one ASCII character that ends no line, such as \"\\t\" or \";\"";

/// Reads the form of a CSV source from the table of the source.
pub(super) fn read(fields: &TableNode<'_>) -> Option<CsvSpec> {
    let usual = CsvMarks::default();
    let stated = |name, of: fn(&ConfigNode<'_>) -> Option<Option<u8>>, usual| match fields.node(name) {
        Some(node) => of(&node),
        None => Some(usual),
    };
    // All are read before any is missed, so that each mistake is reported.
    let delimiter = stated("delimiter", |node| mark(node).map(Some), Some(usual.delimiter));
    let quote = stated("quote", quote, usual.quote);
    let comment = stated("comment", |node| mark(node).map(Some), usual.comment);
    let header = match fields.node("header") {
        Some(node) => names(&node).map(Some),
        None => Some(None),
    };
    let marks = CsvMarks { delimiter: delimiter??, quote: quote?, comment: comment? };
    different(fields, marks)?;
    Some(CsvSpec { marks, header: header? })
}

/// Refuses the fields of a CSV source in a source of another type.
pub(super) fn refuse(fields: &TableNode<'_>, kind: &str) {
    for name in fields.present(&FIELDS) {
        fields.read(name, |node| {
            node.conflict::<()>(
                format!("a field of csv in a source of type {kind}"),
                format!("no {name}, or type = \"csv\""),
            )
        });
    }
}

fn quote(node: &ConfigNode<'_>) -> Option<Option<u8>> {
    if node.text()?.is_empty() { Some(None) } else { mark(node).map(Some) }
}

fn mark(node: &ConfigNode<'_>) -> Option<u8> {
    let stated = node.text()?;
    let found = match stated.as_bytes() {
        [] => "an empty text".to_owned(),
        // A log that is cut may begin with null bytes, which are left out.
        [b'\r' | b'\n' | b'\0'] => "a character that ends a line, or a null".to_owned(),
        [byte] if byte.is_ascii() => return Some(*byte),
        _ if stated.chars().nth(1).is_none() => format!("{}, which is no ASCII character", quoted(stated)),
        _ => format!("{}, which is more than one character", quoted(stated)),
    };
    node.refuse(found, ONE_CHARACTER)
}

/// Refuses two marks that are equal, at the last of the two that is stated.
fn different(fields: &TableNode<'_>, marks: CsvMarks) -> Option<()> {
    let CsvMarks { delimiter, quote, comment } = marks;
    let all = [("delimiter", Some(delimiter)), ("quote", quote), ("comment", comment)];
    for (index, (name, mark)) in all.iter().enumerate() {
        if let Some((other, _)) = all[..index].iter().find(|(_, other)| mark.is_some() && other == mark) {
            let (at, first) = if fields.node(name).is_some() { (name, other) } else { (other, name) };
            return fields
                .node(at)?
                .conflict(format!("the character of {first} too"), "three different characters");
        }
    }
    Some(())
}

fn names(node: &ConfigNode<'_>) -> Option<Vec<String>> {
    let nodes = node.list()?;
    if nodes.is_empty() {
        return node.refuse("no name", "the names of the columns, in their order");
    }
    let mut names: Vec<String> = Vec::new();
    for node in &nodes {
        let name = node.non_empty_text()?;
        if let Some(first) = names.iter().position(|other| *other == name) {
            return node.conflict(format!("the name of column {} again", first + 1), "each name once");
        }
        names.push(name);
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GOOD, parse};
    use super::*;
    use crate::job::config::{Job, RecordFormat};

    fn with(fields: &str) -> String {
        GOOD.replace("[source]\n", &format!("[source]\n{fields}\n"))
    }

    fn spec(fields: &str) -> CsvSpec {
        match parse(&with(fields)).unwrap().source.records {
            RecordFormat::Csv(_, spec) => spec,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn marks_and_names_are_read_as_they_are_stated() {
        assert_eq!(spec(""), CsvSpec::default());
        assert_eq!(spec("delimiter = \",\"\nquote = '\"'"), CsvSpec::default());
        let marks = spec("delimiter = \"\\t\"\nquote = \"'\"\ncomment = \"#\"").marks;
        assert_eq!((marks.delimiter(), marks.quote(), marks.comment()), (b'\t', Some(b'\''), Some(b'#')));
        assert_eq!(spec("quote = \"\"").marks.quote(), None);
        // A mark is free once another one has its place.
        assert_eq!(spec("quote = ''\ndelimiter = '\"'").marks.delimiter(), b'"');
        assert_eq!(spec("delimiter = \"\\u0001\"\ncomment = ','").marks.comment(), Some(b','));
        let header = spec("header = [\"who\", \"vendor\", \"date\"]").header;
        assert_eq!(header, Some(vec!["who".to_owned(), "vendor".to_owned(), "date".to_owned()]));
    }

    // Refutes a mark that is taken though no byte, or no different one, is it; and one that is refused elsewhere.
    #[test]
    fn what_is_no_mark_is_refused_by_its_field() {
        for (fields, field, found) in [
            ("delimiter = \"\"", "source.delimiter", "an empty text"),
            ("delimiter = \"tab\"", "source.delimiter", "\"tab\", which is more than one character"),
            ("delimiter = \"\\r\\n\"", "source.delimiter", "more than one character"),
            ("delimiter = \"\\n\"", "source.delimiter", "ends a line"),
            ("delimiter = \"\\r\"", "source.delimiter", "ends a line"),
            ("delimiter = \"\\u0000\"", "source.delimiter", "a null"),
            ("delimiter = \"é\"", "source.delimiter", "\"é\", which is no ASCII character"),
            ("delimiter = 9", "source.delimiter", "a whole number"),
            ("delimiter = '\"'", "source.delimiter", "the character of quote too"),
            ("quote = ','", "source.quote", "the character of delimiter too"),
            ("quote = false", "source.quote", "true or false"),
            ("quote = \"''\"", "source.quote", "more than one character"),
            ("comment = \"\"", "source.comment", "an empty text"),
            ("comment = \"//\"", "source.comment", "more than one character"),
            ("comment = ','", "source.comment", "the character of delimiter too"),
            ("comment = '\"'", "source.comment", "the character of quote too"),
            ("quote = '#'\ncomment = '#'", "source.comment", "the character of quote too"),
            ("header = []", "source.header", "no name"),
            ("header = \"who\"", "source.header", "a text"),
            ("header = [\"who\", \"\"]", "source.header[2]", "an empty text"),
            ("header = [\"who\", \"date\", \"who\"]", "source.header[3]", "the name of column 1 again"),
            ("header = [\"vendor\", \"date\"]", "privacy.person.field", "\"who\""),
            ("header = [\"who\", \"date\"]", "release[1].count.by", "\"vendor\""),
        ] {
            let mistakes = Job::parse("job.toml", &with(fields)).unwrap_err();
            let [mistake] = mistakes.iter().collect::<Vec<_>>()[..] else { panic!("{fields}: {mistakes}") };
            assert_eq!(mistake.field(), field, "{fields}: {mistakes}");
            assert!(mistake.to_string().contains(found), "{fields}: {mistakes}");
        }
        let both = Job::parse("job.toml", &with("delimiter = ''\ncomment = ''\nheader = []")).unwrap_err();
        assert_eq!(both.iter().count(), 3, "{both}");
    }

    // Refutes a form that is silently left aside where no text is separated.
    #[test]
    fn a_source_of_another_type_has_no_form_of_csv() {
        for kind in ["jsonl", "combined", "synthetic", "parquet", "arrow"] {
            for (name, value) in FIELDS.iter().zip(["';'", "\"'\"", "'#'", "['who']"]) {
                let text = with(&format!("{name} = {value}")).replace("\"csv\"", &format!("\"{kind}\""));
                let mistakes = Job::parse("job.toml", &text).unwrap_err();
                let wanted = format!("source.{name}: found a field of csv in a source of type {kind}");
                let found = mistakes.iter().filter(|mistake| mistake.field() == format!("source.{name}"));
                assert!(found.count() == 1 && mistakes.to_string().contains(&wanted), "{kind}: {mistakes}");
            }
        }
    }
}
