//! The reference of the job file, made of its [grammar](JOB_FIELDS): a page of text, and a page in Markdown.

use super::grammar::{FieldDefault, JOB_FIELDS, JobField, without_numbers};
use crate::job::statistics::StatisticSpec;
use crate::words;
use crate::words::meant;

/// The width of the page of text, in characters.
const WIDTH: usize = 100;

/// Fields of a job file with their defaults, examples and meanings.
#[derive(Clone, Debug)]
pub struct JobReference {
    fields: Vec<&'static JobField>,
}

impl JobReference {
    /// Returns the reference of every field.
    pub fn whole() -> JobReference {
        JobReference { fields: JOB_FIELDS.iter().collect() }
    }

    /// Returns the reference of one field, and of those within it if it is a table; `None` if no field has
    /// this path. The path may have the numbers of a mistake, as in `release[2].bound.keys`.
    pub fn part(path: &str) -> Option<JobReference> {
        let named = without_numbers(path);
        let is_within = |rest: &str| rest.is_empty() || rest.starts_with('.');
        let is_part = |field: &&JobField| field.path.strip_prefix(&*named).is_some_and(is_within);
        let fields: Vec<_> = JOB_FIELDS.iter().filter(is_part).collect();
        (!fields.is_empty()).then_some(JobReference { fields })
    }

    /// Returns the paths of fields that are nearest to one that no field has.
    ///
    /// ```
    /// use discreet::job::config::JobReference;
    ///
    /// assert!(JobReference::part("release.bound.key").is_none());
    /// assert_eq!(JobReference::near("release.bound.key"), ["release.bound.keys"]);
    /// ```
    pub fn near(path: &str) -> Vec<&'static str> {
        nearest(&without_numbers(path))
    }

    /// Formats a page of plain text, 100 characters wide.
    pub fn text(&self) -> String {
        let mut page = String::new();
        if self.fields.len() == JOB_FIELDS.len() {
            page += &wrapped(INTRODUCTION, 0);
        }
        for (index, field) in self.fields.iter().enumerate() {
            if index > 0 || !page.is_empty() {
                page.push('\n');
            }
            if opens_section(field) && self.fields.len() > 1 {
                let rule = "-".repeat(WIDTH.saturating_sub(heading(field).len() + 1));
                page += &format!("{} {rule}\n\n", heading(field));
            }
            page += &entry(field);
        }
        page
    }

    /// Formats a page in Markdown: a table for each table of the file.
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        if self.fields.len() == JOB_FIELDS.len() {
            page += &format!("# Configuration\n\n{}", wrapped(INTRODUCTION, 0));
        }
        let sections = self.fields.chunk_by(|_, next| !opens_section(next));
        for (index, section) in sections.enumerate() {
            if index > 0 || !page.is_empty() {
                page.push('\n');
            }
            let rows = match section {
                [first, rest @ ..] if opens_section(first) => {
                    page += &section_head(first);
                    rest
                }
                rows => rows,
            };
            if rows.is_empty() {
                continue;
            }
            if !page.is_empty() {
                page.push('\n');
            }
            page += "| field | takes | without it | example | meaning |\n|---|---|---|---|---|\n";
            page.extend(rows.iter().map(|field| row(field)));
        }
        page
    }
}

/// The lines before the first table.
const INTRODUCTION: &str = "Every field of a job file, table by table. A job file is TOML; a field that is not \
    here is refused at its place, and so are fields that do not fit together. A path is taken from the \
    directory of the job file. `discreet check JOB --print` prints a job file with its defaults filled in.";

/// Returns true if the field has a section of its own: a table of the file, or a statistic.
fn opens_section(field: &JobField) -> bool {
    match field.path.strip_prefix("release.") {
        None => !field.path.contains('.'),
        Some(name) => StatisticSpec::WORDS.contains(&name),
    }
}

/// Returns the name of a section as it stands in the file: `[source]`, `[[release]]`, `release.count`.
fn heading(field: &JobField) -> String {
    match field.path {
        list @ ("release" | "ask") => format!("[[{list}]]"),
        path if path.contains('.') => path.to_owned(),
        path => format!("[{path}]"),
    }
}

fn entry(field: &JobField) -> String {
    let default = match field.default {
        FieldDefault::Required => "required".to_owned(),
        FieldDefault::Value(value) => format!("default {value}"),
        FieldDefault::Without(words) => format!("without it: {words}"),
    };
    let mut text = format!("{}\n{}", field.path, wrapped(&format!("{} ({default})", field.takes()), 4));
    // An example is not wrapped: it is to be pasted.
    text.extend(field.example.lines().map(|line| format!("        {line}\n")));
    text += &wrapped(field.meaning, 4);
    text.extend(field.cost.map(|cost| wrapped(&format!("Cost: {cost}"), 4)));
    text
}

fn section_head(field: &JobField) -> String {
    let JobField { meaning, example, default, .. } = field;
    let default = match default {
        FieldDefault::Required => "Required.".to_owned(),
        FieldDefault::Value(words) | FieldDefault::Without(words) => format!("Without it: {words}."),
    };
    let cost = field.cost.map(|cost| format!(" {cost}")).unwrap_or_default();
    let text = wrapped(&format!("{meaning}{cost} {default}"), 0);
    format!("## `{}`\n\n{text}\n```toml\n{example}\n```\n", heading(field))
}

fn row(field: &JobField) -> String {
    let default = match field.default {
        FieldDefault::Required => "**required**".to_owned(),
        FieldDefault::Value(value) => format!("`{value}`"),
        FieldDefault::Without(words) => words.to_owned(),
    };
    let cost = field.cost.map(|cost| format!(" *{cost}*")).unwrap_or_default();
    let JobField { path, example, meaning, .. } = field;
    format!("| `{path}` | {} | {default} | `{example}` | {meaning}{cost} |\n", field.takes())
}

fn wrapped(text: &str, indent: usize) -> String {
    words::wrapped(text, WIDTH, indent)
}

/// Returns the known paths that are nearest to an unknown one: those with its last name, else the one that is
/// spelt alike, else the fields of the table that it names, else all tables.
fn nearest(unknown: &str) -> Vec<&'static str> {
    let paths = || JOB_FIELDS.iter().map(|field| field.path);
    let name_of = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let (table, name) = unknown.rsplit_once('.').unwrap_or(("", unknown));
    let of_name = |name: &str| paths().filter(|path| name_of(path) == name).collect::<Vec<_>>();
    // A name that is in the table comes first: it is what was meant there.
    let siblings: Vec<&str> =
        paths().filter(|path| path.rsplit_once('.').is_some_and(|(t, _)| t == table)).collect();
    let names: Vec<&str> = siblings.iter().map(|path| name_of(path)).collect();
    if let Some(meant) = meant(name, &names) {
        return siblings.into_iter().filter(|path| name_of(path) == meant).collect();
    }
    let same = of_name(name);
    if !same.is_empty() {
        return same;
    }
    if let Some(meant) = meant(unknown, &paths().collect::<Vec<_>>()) {
        return vec![meant];
    }
    if let Some(meant) = meant(name, &paths().map(name_of).collect::<Vec<_>>()) {
        return of_name(meant);
    }
    match siblings.is_empty() {
        true => paths().filter(|path| !path.contains('.')).collect(),
        false => siblings,
    }
}

#[cfg(test)]
mod tests;
