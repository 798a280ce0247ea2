//! The list of all fields of a job file, for `discreet fields`, for the reference of `discreet help config`, and
//! for tests of every option.
//!
//! Each reader of the directory above decides itself which fields are required and which values are valid. In
//! tests, a table that reads a field without a row here, or a choice between other words than those of its
//! row, panics: so a field without a row fails the first test that reads its table. The rows stand in the
//! order of the reference: the fields of a table before the tables within it that have a page of their own.

mod ask;
mod job;
mod means;
mod privacy;
mod release;
mod source;
mod statistics;

use std::fmt;

use serde::Serialize;
use toml::de::{DeTable, DeValue};

use super::display::text as quoted;

/// One field of a job file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct JobField {
    /// The path of the field, such as `release.bound.keys`; an entry of a list has no number.
    pub path: &'static str,
    /// The kind of value that the field takes.
    pub value: &'static str,
    /// The words that the field takes, if they can be listed.
    pub words: &'static [&'static str],
    /// The value of a job that leaves the field out.
    pub default: FieldDefault,
    /// The field with a value in TOML, as it stands in its table of the file.
    pub example: &'static str,
    /// The sentence that says what the field does.
    pub meaning: &'static str,
    /// The sentence that says what the field costs in privacy or accuracy, if it does.
    pub cost: Option<&'static str>,
}

/// The value of a job that leaves a field out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldDefault {
    /// None: the table needs the field.
    Required,
    /// This value, in TOML.
    Value(&'static str),
    /// No value of the field itself; what holds in its place, in words.
    Without(&'static str),
}

/// Prints `required`, the value, or the words.
impl fmt::Display for FieldDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FieldDefault::Required => "required",
            FieldDefault::Value(text) | FieldDefault::Without(text) => text,
        })
    }
}

impl JobField {
    /// Returns the kind of value together with the words, as in `a word: drop, reject, shared`.
    pub fn takes(&self) -> String {
        match self.words {
            [] => self.value.to_owned(),
            words => format!("{}: {}", self.value, words.join(", ")),
        }
    }

    const fn of(path: &'static str, value: &'static str) -> JobField {
        let default = FieldDefault::Required;
        JobField { path, value, words: &[], default, example: "", meaning: "", cost: None }
    }

    const fn words(self, words: &'static [&'static str]) -> JobField {
        JobField { words, ..self }
    }

    const fn or(self, value: &'static str) -> JobField {
        JobField { default: FieldDefault::Value(value), ..self }
    }

    const fn without(self, words: &'static str) -> JobField {
        JobField { default: FieldDefault::Without(words), ..self }
    }

    const fn example(self, example: &'static str) -> JobField {
        JobField { example, ..self }
    }

    const fn means(self, meaning: &'static str) -> JobField {
        JobField { meaning, ..self }
    }

    const fn costs(self, cost: &'static str) -> JobField {
        JobField { cost: Some(cost), ..self }
    }
}

const fn field(path: &'static str, value: &'static str) -> JobField {
    JobField::of(path, value)
}

const fn words(path: &'static str, words: &'static [&'static str]) -> JobField {
    JobField::of(path, "a word").words(words)
}

const fn text(path: &'static str) -> JobField {
    JobField::of(path, "a text")
}

const fn whole(path: &'static str) -> JobField {
    JobField::of(path, "a whole number")
}

const fn number(path: &'static str) -> JobField {
    JobField::of(path, "a number")
}

const fn table(path: &'static str) -> JobField {
    JobField::of(path, "a table")
}

const RANGE: &str = "a list of two numbers";
const MOMENT: &str = "a date, or a time with its zone";
const SPAN: &str = "a length of time";
const MARK: &str = "an ASCII character";
const SIZE: &str = "a size such as \"2 GB\"";

/// The rows of each file, in the order of the reference.
const PARTS: [&[JobField]; 10] = [
    job::JOB,
    source::SOURCE,
    source::MADE,
    privacy::PRIVACY,
    job::LIMITS,
    job::SIGHT,
    release::RELEASE,
    statistics::STATISTICS,
    means::MEANS,
    ask::ASK,
];

const COUNT: usize = {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

/// The rows of all parts in one array.
static JOINED: [JobField; COUNT] = {
    let mut all = [job::JOB[0]; COUNT];
    let (mut next, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[next] = PARTS[part][row];
            next += 1;
            row += 1;
        }
        part += 1;
    }
    all
};

/// Every field of a job file, table by table.
pub const JOB_FIELDS: &[JobField] = &JOINED;

/// Returns the row of a field, given its path in a mistake: `release[2].bound.keys`.
pub(super) fn row(named: &str) -> Option<&'static JobField> {
    let path = without_numbers(named);
    JOB_FIELDS.iter().find(|field| field.path == path)
}

/// Returns a path without the numbers of entries: `release.bound` for `release[2].bound`.
pub(super) fn without_numbers(named: &str) -> String {
    let mut path = String::with_capacity(named.len());
    let mut inside = false;
    for character in named.chars() {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            _ if inside => {}
            plain => path.push(plain),
        }
    }
    path
}

// Edits of a job file: declaring the fields of its source.

/// The longest line of a list, in bytes.
const WIDTH: usize = 110;

/// Returns the text of a job file with these fields declared in its `[source]`, and nothing else changed;
/// `None` if the table is not written with one field a line.
pub fn declare_fields(text: &str, fields: &[String]) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let DeValue::Table(source) = table.get_ref().get("source")?.get_ref() else { return None };
    let list = list(fields);
    if let Some((_, value)) = source.get_key_value("fields") {
        let place = value.span();
        return Some(format!("{}{list}{}", text.get(..place.start)?, text.get(place.end..)?));
    }
    let (key, _) = source.get_key_value("type")?;
    let start = key.span().start;
    let line = text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
    if !text.get(line..start)?.trim().is_empty() {
        return None;
    }
    let end = text.get(start..)?.find('\n').map_or(text.len(), |newline| start + newline);
    Some(format!("{}\nfields = {list}{}", text.get(..end)?, text.get(end..)?))
}

/// Formats a list over as many lines as it needs.
fn list(fields: &[String]) -> String {
    let mut list = "[".to_owned();
    let mut width = list.len() + "fields = ".len();
    for (at, field) in fields.iter().enumerate() {
        let field = quoted(field);
        let separator = if at == 0 { "" } else { ", " };
        if at > 0 && width + separator.len() + field.len() >= WIDTH {
            list += ",\n    ";
            width = 4;
        } else {
            list += separator;
            width += separator.len();
        }
        width += field.len();
        list += &field;
    }
    list + "]"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::span::TimeFormat;
    use super::super::{Job, every};
    use super::*;
    use crate::job::statistics::{NoiseKind, StatisticSpec};

    // Refutes a row whose words differ from those of its reader.
    #[test]
    fn rows_have_the_words_of_their_readers() {
        let of = |path| row(path).unwrap().words;
        assert_eq!(of("release[1].noise"), NoiseKind::WORDS.map(|(word, _)| word));
        assert_eq!(of("release[1].strategy"), every::STRATEGIES.map(|strategy| strategy.name()));
        assert_eq!(of("source.time.format"), TimeFormat::WORDS);
        for word in StatisticSpec::WORDS {
            assert!(row(&format!("release[12].{word}")).is_some(), "{word}");
        }
    }

    #[test]
    fn a_field_has_one_row() {
        let paths: BTreeSet<&str> = JOB_FIELDS.iter().map(|field| field.path).collect();
        assert_eq!(paths.len(), JOB_FIELDS.len());
        assert_eq!(row("release[1].bound.key"), None);
    }

    // Refutes a table that reads a field without a row: the reader of each table must find every one of its
    // fields here.
    #[test]
    #[should_panic(expected = "without a row")]
    fn a_field_without_a_row_is_found() {
        let table = DeTable::parse("name = 1").unwrap();
        let page = super::super::mistake::ConfigPage::new("job.toml", "name = 1");
        super::super::node::TableNode::root(&page, table.get_ref(), &["name"], &[]);
    }

    // Refutes a row that no reader uses: a table with that field alone is refused for another reason than the
    // field.
    #[test]
    fn every_row_is_known_to_a_reader() {
        for field in JOB_FIELDS.iter().filter(|field| field.path.contains('.')) {
            let parts: Vec<&str> = field.path.split('.').collect();
            let inner = parts[1..].join(".");
            let is_list = ["release", "ask"].contains(&parts[0]);
            let head = if is_list { format!("[[{}]]", parts[0]) } else { format!("[{}]", parts[0]) };
            // A grid and a source have other fields under another word.
            let made_up = ["people", "rows", "keys", "skew", "seed"].contains(&inner.as_str());
            let kind = if made_up { "\ntype = \"synthetic\"" } else { "" };
            let text = format!("{head}{kind}\n{inner} = {{}}\n");
            let mistakes = Job::parse("job.toml", &text).unwrap_err();
            let unknown = mistakes.iter().find(|mistake| {
                mistake.kind() == crate::job::MistakeKind::Unknown && mistake.field().ends_with(&inner)
            });
            assert!(unknown.is_none(), "{unknown:?}");
        }
    }
}

#[cfg(test)]
mod declare_tests {
    use super::*;

    fn fields(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    // Refutes a list that is inserted elsewhere, and a change of anything else.
    #[test]
    fn fields_are_declared_behind_the_type_or_in_the_place_of_those_before() {
        let before = "[job]\nname = \"x\" # type = 1\n\n[source]\ntype = \"jsonl\"   # a log\npath = \"a\"\n";
        let after = before.replace("# a log\n", "# a log\nfields = [\"a\", \"b.c\\\"\"]\n");
        assert_eq!(declare_fields(before, &fields(&["a", "b.c\""])).as_deref(), Some(after.as_str()));
        let again = after.replace("[\"a\", \"b.c\\\"\"]", "[\"d\"]");
        assert_eq!(declare_fields(&after, &fields(&["d"])).as_deref(), Some(again.as_str()));
        for inline in ["source = { type = \"jsonl\" }\n", "source.type = \"jsonl\"\n", "[job]\n", "[source"] {
            assert_eq!(declare_fields(inline, &fields(&["a"])), None, "{inline}");
        }
        let many: Vec<String> = (0..200).map(|number| format!("field-{number}")).collect();
        let long = declare_fields(before, &many).unwrap();
        assert!(long.lines().all(|line| line.len() <= WIDTH + 1), "{long}");
        assert!(DeTable::parse(&long).is_ok() && long.matches("\"field-").count() == 200);
    }
}
