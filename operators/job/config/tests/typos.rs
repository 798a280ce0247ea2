//! Tests of a typing error anywhere in a job file: its reported place, and the suggested word.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::super::*;
use crate::noise::goodness::{full, size};

/// The tables and fields of a job file, but for `q`: a slip of one letter says nothing of what was meant.
static FIELDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    JOB_FIELDS.iter().flat_map(|field| field.path.split('.')).filter(|name| name.len() > 1).collect()
});

/// The words that a field may hold, by themselves or in a text of several.
const WORDS: &[&str] = &[
    "csv",
    "jsonl",
    "combined",
    "synthetic",
    "any",
    "sorted",
    "drop",
    "reject",
    "shared",
    "record",
    "lifetime",
    "each",
    "gaussian",
    "laplace",
    "exponential",
    "log",
    "sum",
    "discover",
    "buffered",
    "square-root",
    "tree",
    "fresh",
    "all",
    "unix",
    "unix-ms",
    "rfc3339",
    "clf",
    "day",
    "days",
    "hour",
    "hours",
    "month",
    "minutes",
    "UTC",
    "Europe/London",
    "GB",
    "B",
    "UCT",
    "client",
    "status",
    "method",
    "user",
    "value",
];

/// The fields with free text: a name, a path, a field of a table that is not read.
const FREE: &[&str] =
    &["name", "account", "ledger", "key", "anchor", "path", "file", "fields", "questions", "header"];

/// Returns the word with a letter left out, doubled, or swapped with the next: at the start, within and at
/// the end.
fn slips(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let text = |letters: Vec<char>| letters.into_iter().collect::<String>();
    let mut slips = Vec::new();
    for at in 0..letters.len() {
        let mut less = letters.clone();
        less.remove(at);
        let mut more = letters.clone();
        more.insert(at, letters[at]);
        let mut swapped = letters.clone();
        if at + 1 < letters.len() {
            swapped.swap(at, at + 1);
        }
        slips.extend([text(less), text(more), text(swapped)]);
    }
    slips.retain(|slip| {
        slip != word && !slip.is_empty() && !FIELDS.contains(&**slip) && !WORDS.contains(&&**slip)
    });
    slips.sort();
    slips.dedup();
    slips
}

/// Returns the words of a line outside of its comment: the position of each, and the start of the text that
/// contains it.
fn words(line: &str) -> Vec<(usize, usize, &str)> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, character) in line.char_indices().chain([(line.len(), ' ')]) {
        let part = character.is_alphanumeric() || "_-/".contains(character);
        match start {
            None if part => start = Some(at),
            Some(from) if !part => {
                words.push((from, quote.unwrap_or(from), &line[from..at]));
                start = None;
            }
            _ => {}
        }
        match character {
            '"' if quote.is_none() => quote = Some(at),
            '"' => quote = None,
            '#' if quote.is_none() => break,
            _ => {}
        }
    }
    words
}

// Refutes a field that takes any word, a mistake that is reported elsewhere, and one without a suggestion. An
// ordinary run tries a word once for each field, and `bash .ci/run --full` wherever a file has it.
#[test]
fn every_slip_is_answered_at_its_place_with_the_right_word() {
    let mut tried = 0;
    let mut known_places = std::collections::HashSet::new();
    let mut seen: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    let entries = std::fs::read_dir("config").unwrap().map(|entry| entry.unwrap());
    let mut paths: Vec<_> = entries.map(|entry| (entry.metadata().unwrap().len(), entry.path())).collect();
    // A word is tried in the smallest file that has it, which is read fastest.
    paths.sort();
    for (_, path) in paths {
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // A file's fields may have any names; those of other sources are known.
        let is_free = ["\"csv\"", "\"jsonl\""].iter().any(|kind| text.contains(kind));
        for (number, line) in text.lines().enumerate() {
            let first = line.split([' ', '=']).next().unwrap_or("");
            for (at, place, word) in words(line) {
                let quoted = place != at;
                let before = line[..place].trim_end();
                let field =
                    before.trim_end_matches(['=', ' ', '[', ',']).rsplit([' ', '{']).next().unwrap_or("");
                let is_known = if quoted { WORDS.contains(&word) } else { FIELDS.contains(word) };
                let free = FREE.contains(&first)
                    || (is_free && ["field", "by", "of"].contains(&field))
                    || field == "keys" && word != "discover"
                    || field.is_empty() && quoted;
                // The fields that can be asked about, and those that a condition compares, are named as the records are.
                let is_name = ["fields", "where"].contains(&first) && !quoted && at > 0;
                // A text between apostrophes is an expression.
                let is_expression = line[..at].matches('\'').count() % 2 == 1;
                if !is_known || is_name || is_expression || (quoted && (free || line[place..].contains('%')))
                {
                    continue;
                }
                let is_new = known_places.insert(format!("{first} {field} {word}"));
                if !is_new && !full() {
                    continue;
                }
                for slip in slips(word) {
                    let changed: Vec<String> = text
                        .lines()
                        .enumerate()
                        .map(|(index, own)| match index == number {
                            true => format!("{}{slip}{}", &line[..at], &line[at + word.len()..]),
                            false => own.to_owned(),
                        })
                        .collect();
                    tried += 1;
                    let refused = Job::parse(&path, &changed.join("\n"));
                    let (line, column) = (number + 1, line[..place].chars().count() + 1);
                    let answered = refused.as_ref().err().is_some_and(|mistakes| {
                        mistakes.iter().any(|mistake| {
                            (mistake.line(), mistake.column()) == (line, column)
                                && mistake.to_string().contains(&format!("did you mean {word}?"))
                        })
                    });
                    if !answered {
                        let printed = match refused {
                            Ok(_) => "accepted".to_owned(),
                            Err(mistakes) => mistakes.to_string(),
                        };
                        seen.entry(format!("{word} in {first}"))
                            .or_default()
                            .push(format!("{}:{line}:{column} {slip}: {printed}", path.display()));
                    }
                }
            }
        }
    }
    assert!(tried > size(1_000, 2_000), "{tried}");
    for (word, failures) in &seen {
        println!("{word}: {} such as\n{}\n", failures.len(), failures[0]);
    }
    assert!(seen.is_empty(), "{} words of {tried} slips", seen.len());
}
