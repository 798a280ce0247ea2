//! The list of all fields of a job file, for `discreet fields` and for tests of every option.
//!
//! Each reader in this directory decides itself which fields are required and which values are valid. With
//! debug assertions on, a table that reads a field without a row here, or a choice between other words than
//! those of its row, panics: so a field without a row fails the first test that reads its table.

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
}

impl JobField {
    /// Returns the kind of value together with the words, as in `a word: drop, reject, shared`.
    pub fn takes(&self) -> String {
        match self.words {
            [] => self.value.to_owned(),
            words => format!("{}: {}", self.value, words.join(", ")),
        }
    }
}

const fn field(path: &'static str, value: &'static str) -> JobField {
    JobField { path, value, words: &[] }
}

const fn words(path: &'static str, words: &'static [&'static str]) -> JobField {
    JobField { path, value: "a word", words }
}

const fn text(path: &'static str) -> JobField {
    field(path, "a text")
}

const fn whole(path: &'static str) -> JobField {
    field(path, "a whole number")
}

const fn number(path: &'static str) -> JobField {
    field(path, "a number")
}

const fn table(path: &'static str) -> JobField {
    field(path, "a table")
}

/// The keys of a statistic: a list, a table with a file, or a word.
const fn keys(path: &'static str) -> JobField {
    JobField { path, value: "a list of texts, a table, or a word", words: &["discover"] }
}

/// The parts of the key of a statistic.
const fn by(path: &'static str) -> JobField {
    field(path, "a text, a table, or a list of them")
}

const RANGE: &str = "a list of two numbers";
const MOMENT: &str = "a time with its zone";
const SPAN: &str = "a length of time";
const MARK: &str = "an ASCII character";
const SIZE: &str = "a size such as \"2 GB\"";

/// Every field of a job file, table by table.
pub const JOB_FIELDS: &[JobField] = &[
    table("job"),
    text("job.name"),
    whole("job.version"),
    field("job.from", MOMENT),
    field("job.until", MOMENT),
    field("job.slack", SPAN),
    field("job.clock_hold", SPAN),
    table("source"),
    words("source.type", &["csv", "jsonl", "combined", "synthetic", "parquet", "arrow"]),
    field("source.path", "a path, or \"-\""),
    field("source.delimiter", MARK),
    field("source.quote", "an ASCII character, or \"\" for none"),
    field("source.comment", MARK),
    field("source.header", "a list of texts"),
    field("source.where", "a condition such as \"status >= 500\""),
    whole("source.people"),
    whole("source.rows"),
    whole("source.keys"),
    number("source.skew"),
    whole("source.seed"),
    table("source.time"),
    text("source.time.field"),
    JobField {
        path: "source.time.format",
        value: "a word, or a pattern such as \"%Y-%m-%d\"",
        words: &["unix", "unix-ms", "rfc3339", "clf"],
    },
    field("source.time.zone", "the name of a time zone"),
    field("source.zone", "the name of a time zone"),
    words("source.order", &["any", "sorted"]),
    field("source.late", SPAN),
    field("source.ahead", SPAN),
    table("source.bad"),
    whole("source.bad.lines"),
    table("source.id"),
    text("source.id.field"),
    field("source.fields", "a list of texts"),
    table("source.http"),
    field("source.http.listen", "an address and a port"),
    table("source.http.token"),
    field("source.http.token.file", "a path"),
    field("source.http.batch", SIZE),
    field("source.http.hold", SIZE),
    field("tables", "a table of names with their public files, or tables of file, key and by"),
    field("fields", "a table of names with their expressions, such as \"domain of referer\""),
    table("privacy"),
    table("privacy.person"),
    text("privacy.person.field"),
    words("privacy.person.missing", &["drop", "reject", "shared"]),
    words("privacy.unit", &["record"]),
    JobField {
        path: "privacy.promise",
        value: "a word, the last two with a length of time",
        words: &["lifetime", "any", "each"],
    },
    table("privacy.budget"),
    number("privacy.budget.epsilon"),
    number("privacy.budget.delta"),
    number("privacy.budget.rho"),
    number("privacy.budget.omega"),
    field("privacy.ledger", "a path, or an address of postgres://"),
    text("privacy.account"),
    field("privacy.key", "a path"),
    field("privacy.anchor", "a path"),
    table("limits"),
    field("limits.memory", SIZE),
    field("limits.spill", "a path"),
    table("watch"),
    field("watch.listen", "an address and a port"),
    field("watch.operator", "true or false"),
    table("watch.token"),
    field("watch.token.file", "a path"),
    field("watch.exec", "a list of texts"),
    field("watch.budget", "a list of numbers"),
    table("log"),
    words("log.format", &["text", "json"]),
    words("log.level", &["error", "warn", "info", "debug", "trace"]),
    field("release", "a list of tables"),
    text("release.name"),
    whole("release.version"),
    JobField { path: "release.every", value: "a length of time, or a word", words: &["all"] },
    field("release.over", SPAN),
    field("release.running", "true or false"),
    field("release.where", "a condition such as \"status >= 500\""),
    words("release.strategy", &["buffered", "square-root", "tree", "fresh"]),
    table("release.count"),
    by("release.count.by"),
    text("release.count.by.of"),
    field("release.count.by.edges", "a list of numbers"),
    whole("release.count.by.depth"),
    keys("release.count.keys"),
    field("release.count.keys.file", "a path"),
    table("release.people"),
    by("release.people.by"),
    text("release.people.by.of"),
    field("release.people.by.edges", "a list of numbers"),
    whole("release.people.by.depth"),
    keys("release.people.keys"),
    field("release.people.keys.file", "a path"),
    table("release.sum"),
    text("release.sum.of"),
    field("release.sum.range", RANGE),
    by("release.sum.by"),
    text("release.sum.by.of"),
    field("release.sum.by.edges", "a list of numbers"),
    whole("release.sum.by.depth"),
    keys("release.sum.keys"),
    field("release.sum.keys.file", "a path"),
    table("release.mean"),
    text("release.mean.of"),
    field("release.mean.range", RANGE),
    by("release.mean.by"),
    text("release.mean.by.of"),
    field("release.mean.by.edges", "a list of numbers"),
    whole("release.mean.by.depth"),
    keys("release.mean.keys"),
    field("release.mean.keys.file", "a path"),
    table("release.histogram"),
    text("release.histogram.of"),
    field("release.histogram.edges", "a list of numbers"),
    table("release.max"),
    text("release.max.of"),
    words("release.max.each", &["greatest", "sum", "count"]),
    JobField {
        path: "release.max.grid",
        value: "a list of numbers, a table, or a word",
        words: &["log", "signed log"],
    },
    number("release.max.grid.log"),
    number("release.max.grid.from"),
    number("release.max.grid.to"),
    number("release.max.grid.step"),
    by("release.max.by"),
    text("release.max.by.of"),
    field("release.max.by.edges", "a list of numbers"),
    whole("release.max.by.depth"),
    keys("release.max.keys"),
    field("release.max.keys.file", "a path"),
    table("release.altogether"),
    text("release.altogether.of"),
    words("release.altogether.each", &["sum", "count"]),
    JobField {
        path: "release.altogether.grid",
        value: "a list of numbers, a table, or a word",
        words: &["log", "signed log"],
    },
    number("release.altogether.grid.log"),
    number("release.altogether.grid.from"),
    number("release.altogether.grid.to"),
    number("release.altogether.grid.step"),
    by("release.altogether.by"),
    text("release.altogether.by.of"),
    field("release.altogether.by.edges", "a list of numbers"),
    whole("release.altogether.by.depth"),
    keys("release.altogether.keys"),
    field("release.altogether.keys.file", "a path"),
    table("release.quantile"),
    text("release.quantile.of"),
    field("release.quantile.q", "a number, or a list of numbers"),
    field("release.quantile.range", RANGE),
    number("release.quantile.step"),
    by("release.quantile.by"),
    text("release.quantile.by.of"),
    field("release.quantile.by.edges", "a list of numbers"),
    whole("release.quantile.by.depth"),
    keys("release.quantile.keys"),
    field("release.quantile.keys.file", "a path"),
    table("release.bound"),
    whole("release.bound.keys"),
    whole("release.bound.per_key"),
    whole("release.bound.windows"),
    words("release.noise", &["gaussian", "laplace", "exponential", "permute-and-flip"]),
    field("release.share", "a number above 0 and at most 1"),
    table("release.cost"),
    number("release.cost.epsilon"),
    number("release.cost.rho"),
    number("release.cost.delta"),
];

/// Returns the row of a field, given its path in a mistake: `release[2].bound.keys`.
pub(super) fn row(named: &str) -> Option<&'static JobField> {
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
    JOB_FIELDS.iter().find(|field| field.path == path)
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
            let head = if parts[0] == "release" { "[[release]]" } else { &format!("[{}]", parts[0]) };
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
