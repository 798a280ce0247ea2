use super::*;
use crate::job::config::{Job, Mistakes};

/// A job file in which each table is stated by its fields, so that a field can be put beside others.
#[derive(Clone)]
struct Draft(Vec<(String, Vec<String>)>);

const BASE: &str = r#"[job]
name = "visits"
version = 1
from = "2026-01-01T00:00:00Z"
until = "2026-01-02T00:00:00Z"
[source]
type = "csv"
path = "visits.csv"
time.field = "time"
time.format = "rfc3339"
[privacy]
person.field = "user"
person.missing = "drop"
promise = "each day"
budget.epsilon = 1.0
budget.delta = 1e-6
ledger = "visits.ledger"
account = "visits"
[[release]]
name = "visitors"
every = "1 hour"
people.by = "page"
people.keys = "discover"
bound.keys = 3
noise = "gaussian"
share = 0.5
"#;

impl Draft {
    fn base() -> Draft {
        let mut draft = Draft(Vec::new());
        for line in BASE.lines() {
            match line.starts_with('[') {
                true => draft.0.push((line.to_owned(), Vec::new())),
                false => draft.0.last_mut().unwrap().1.push(line.to_owned()),
            }
        }
        draft
    }

    fn section(&mut self, table: &str) -> &mut Vec<String> {
        let is_list = ["release", "ask"].contains(&table);
        let head = if is_list { format!("[[{table}]]") } else { format!("[{table}]") };
        let place = self.0.iter().position(|(name, _)| *name == head).unwrap_or_else(|| {
            self.0.push((head, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    /// Removes a field, with those within it.
    fn without(mut self, table: &str, name: &str) -> Draft {
        self.section(table).retain(|line| {
            let rest = line.strip_prefix(name);
            !rest.is_some_and(|rest| rest.starts_with([' ', '.']))
        });
        self
    }

    /// Adds lines in the place of those of the same fields.
    fn with(mut self, table: &str, lines: &[&str]) -> Draft {
        for line in lines.iter().filter(|line| !line.is_empty()) {
            let name = line.split(" =").next().unwrap();
            self = self.without(table, name);
            self.section(table).push((*line).to_owned());
        }
        self
    }

    fn parse(&self) -> Result<Job, Mistakes> {
        let sections = self.0.iter().map(|(head, lines)| format!("{head}\n{}\n", lines.join("\n")));
        Job::parse(concat!(env!("CARGO_MANIFEST_DIR"), "/config/a.toml"), &sections.collect::<String>())
    }

    fn job(&self, path: &str) -> Job {
        self.parse().unwrap_or_else(|mistakes| panic!("{path}: {mistakes}\n{:#?}", self.0))
    }
}

/// Returns a job in which the field of this path may be stated.
fn draft_for(path: &str) -> Draft {
    let draft = Draft::base();
    let parts: Vec<&str> = path.split('.').collect();
    match parts[..] {
        ["source", "people" | "rows" | "keys" | "skew" | "seed"] => {
            let made_up = ["type = \"synthetic\"", "people = 10", "rows = 20", "keys = 2"];
            let draft = draft.without("source", "path").without("source", "time").with("source", &made_up);
            draft.with("release", &["people.by = \"key\""])
        }
        ["source", "fields"] => draft.with("source", &["type = \"jsonl\""]),
        ["source", "explode", ..] => {
            draft.with("source", &["type = \"jsonl\"", "explode.array = \"items\"", "explode.most = 20"])
        }
        ["source", "http", ..] => draft
            .with("source", &["type = \"jsonl\"", "path = \"spool\"", "http.listen = \"127.0.0.1:8080\""]),
        ["privacy", "unit"] => draft.without("privacy", "person").without("release", "bound"),
        ["privacy", "budget", "rho"] => draft.with("release", &["people.keys = [\"home\"]"]),
        ["limits", "spill"] => draft.with("limits", &["memory = \"2 GB\""]),
        ["watch", _, ..] => draft.with("watch", &["listen = \"127.0.0.1:9464\""]),
        ["release", "strategy"] => draft.with("release", &["running = true"]),
        ["release", "bound", "entries"] => draft.without("release", "bound").with(
            "release",
            &["over = \"6 hours\"", "running = true", "people.by = \"page\"", "people.keys = \"discover\""],
        ),
        ["release", "bound", ..] => {
            let draft = draft.without("release", "people").with("privacy", &["promise = \"lifetime\""]);
            let counted =
                ["count.by = \"page\"", "count.keys = \"discover\"", "bound.keys = 3", "bound.per_key = 2"];
            draft.with("release", &counted)
        }
        ["release", "cost", "epsilon"] => {
            draft.without("release", "share").with("release", &["noise = \"laplace\""])
        }
        ["release", "cost", ..] => draft.without("release", "share"),
        ["ask", ref field @ ..] => {
            let price = if field.first() == Some(&"cost") { "" } else { "share = 0.2" };
            let lines = [
                "name = \"study\"",
                "every = \"1 day\"",
                "fields.age = \"whole\"",
                "bound.per_key = 2",
                "answers = 1000",
                "questions = \"questions.jsonl\"",
                price,
            ];
            let draft = match field.first() {
                Some(&"tokens") => draft.with("watch", &["listen = \"127.0.0.1:9464\""]),
                _ => draft,
            };
            draft.with("ask", &lines)
        }
        ["release", word, ..] if StatisticSpec::WORDS.contains(&word) => {
            let draft = draft.without("release", "people").without("release", "bound");
            let example = JobReference::part(path).unwrap().fields[0].example;
            let draft = match path {
                "release.means.stable" => draft.with("privacy", &["budget.omega = 20"]),
                _ => draft,
            };
            if let Some(noise) = match word {
                "alert" => Some("noise = \"geometric\""),
                "top" => Some("noise = \"exponential\""),
                _ => None,
            } {
                let counts_records = example.contains("\"records\"");
                let draft = draft.with("release", &[noise]);
                return if counts_records { draft.with("release", &["bound.per_key = 2"]) } else { draft };
            }
            if word == "marginals" {
                let bound = if example.contains("\"people\"") {
                    "bound.keys = 3"
                } else {
                    "bound = { keys = 3, per_key = 2 }"
                };
                return draft.with("release", &[bound]);
            }
            let is_keyed = ["by = ", "by="].iter().any(|by| example.contains(by)) || word == "histogram";
            let bound = if is_keyed { draft.with("release", &["bound.keys = 3"]) } else { draft };
            let is_of_people = path == "release.quantile.each";
            let draft = match word {
                _ if is_of_people => bound,
                "count" | "mean" | "means" | "variance" | "ratio" | "histogram" | "quantile" => {
                    bound.with("release", &["bound.per_key = 2"])
                }
                _ => bound,
            };
            if word == "quantile" { draft.with("release", &["noise = \"exponential\""]) } else { draft }
        }
        _ => draft,
    }
}

/// Returns the job with the example of a field.
fn with_example(field: &JobField) -> Draft {
    let mut draft = draft_for(field.path);
    let table = field.path.split('.').next().unwrap();
    if field.path.contains('.') {
        return draft.with(table, &field.example.lines().collect::<Vec<_>>());
    }
    // The example of a table is the whole of it.
    let mut lines = field.example.lines();
    let head = lines.next().unwrap();
    assert_eq!(head, heading(field));
    *draft.section(table) = lines.map(str::to_owned).collect();
    draft
}

#[test]
fn every_field_has_a_default_an_example_and_a_sentence() {
    for field in JOB_FIELDS {
        let JobField { path, default, example, meaning, cost, .. } = field;
        assert!(!default.to_string().is_empty() && !example.is_empty(), "{path}");
        for sentence in [Some(*meaning), *cost].into_iter().flatten() {
            assert!(sentence.ends_with('.') && sentence.len() > 10, "{path}: {sentence}");
            assert!(!sentence.contains(['|', '\n', '\\']), "{path}: no cell of a table");
        }
        let name = path.rsplit('.').next().unwrap();
        assert!(example.contains(name), "{path}: an example of something else");
        assert!(path.split('.').count() == 1 || !example.contains(['|', '\n', '`']), "{path}");
    }
}

// Refutes an example that is no part of a job file.
#[test]
fn each_example_is_accepted_in_a_job() {
    Draft::base().job("the base");
    for field in JOB_FIELDS {
        with_example(field).job(field.path);
    }
}

// Refutes a default that is stated and is another one; the example shows that the field decides something.
#[test]
fn a_job_that_states_a_default_is_the_job_without_it() {
    let mut values = 0;
    for field in JOB_FIELDS {
        let FieldDefault::Value(value) = field.default else { continue };
        let (table, name) = field.path.split_once('.').unwrap();
        let draft = draft_for(field.path).without(table, name);
        // Values are counted by records, and one value of a person is not.
        let draft = match name {
            "quantile.each" => draft.with("release", &["bound.per_key = 2"]),
            "alert.count" | "top.count" => draft.without("release", "bound"),
            "marginals.count" => draft.with("release", &["bound = { keys = 3, per_key = 2 }"]),
            _ => draft,
        };
        // A statistic with a default is an inline table.
        let (without, stated) = if let Some(word) = name.strip_suffix(".each") {
            let rest = if word == "quantile" { "q = 0.5, range = [0, 50]" } else { "grid = \"log\"" };
            let found = |each: &str| format!("{word} = {{ of = \"price\", {each}{rest} }}");
            (found(""), found(&format!("each = {value}, ")))
        } else if let Some(field) = name.strip_prefix("marginals.") {
            let tables = |stated: &str| {
                let rest = "by = \"a\", tables = [[\"a\"]], categories = { a = [\"x\", \"y\"] }";
                format!("marginals = {{ {rest}{stated} }}")
            };
            (tables(""), tables(&format!(", {field} = {value}")))
        } else if let Some(field) = name.strip_prefix("top.") {
            let top = |stated: &str| {
                format!("top = {{ k = 1, by = \"page\", keys = [\"home\", \"cart\"]{stated} }}")
            };
            (top(""), top(&format!(", {field} = {value}")))
        } else if let Some(field) = name.strip_prefix("alert.") {
            let alert = |stated: &str| format!("alert = {{ above = 500{stated} }}");
            (alert(""), alert(&format!(", {field} = {value}")))
        } else if let Some(word) = name.strip_suffix(".people") {
            let found = |people: &str| {
                format!("{word} = {{ of = [\"price\"], found_within = [[0, 1000000]]{people} }}")
            };
            (found(""), found(&format!(", people = {value}")))
        } else {
            (String::new(), format!("{name} = {value}"))
        };
        let job = draft.clone().with(table, &[&without]).job(field.path);
        assert_eq!(draft.clone().with(table, &[&stated]).job(field.path), job, "{}", field.path);
        assert_ne!(with_example(field).job(field.path), job, "{}: the example is the default", field.path);
        values += 1;
    }
    assert!(values >= 17, "{values}");
}

// Refutes a page with a line that a terminal breaks, a field that is left out or doubled, and a table in
// Markdown with another number of cells.
#[test]
fn a_page_has_each_field_once() {
    let (text, markdown) = (JobReference::whole().text(), JobReference::whole().markdown());
    let wide = text.lines().find(|line| line.chars().count() > WIDTH);
    assert_eq!(wide, None);
    for field in JOB_FIELDS {
        assert_eq!(text.lines().filter(|line| *line == field.path).count(), 1, "{}", field.path);
        let row = format!("| `{}` | ", field.path);
        let head = format!("## `{}`", heading(field));
        let count = markdown.lines().filter(|line| line.starts_with(&row) || *line == head).count();
        assert_eq!(count, 1, "{}", field.path);
    }
    let cells = |line: &str| line.matches('|').count();
    assert!(markdown.lines().filter(|line| line.starts_with('|')).all(|line| cells(line) == 6));
    assert!(text.contains("\n[source] ----") && text.contains("\n[[release]] ----"));
}

#[test]
fn a_part_is_a_field_or_a_table() {
    let paths = |path: &str| -> Vec<&str> {
        JobReference::part(path)
            .map_or(Vec::new(), |part| part.fields.iter().map(|field| field.path).collect())
    };
    assert_eq!(paths("source.late"), ["source.late"]);
    assert_eq!(paths("limits"), ["limits", "limits.memory", "limits.spill"]);
    assert_eq!(
        paths("release[12].cost"),
        ["release.cost", "release.cost.epsilon", "release.cost.rho", "release.cost.delta"]
    );
    let release = paths("release");
    assert!(release.contains(&"release.max.grid.step") && !release.contains(&"privacy"), "{release:?}");
    for unknown in ["", "sourc", "source.", "source.lat", "release.bound.key"] {
        assert_eq!(paths(unknown), Vec::<&str>::new(), "{unknown}");
    }
    let part = JobReference::part("source.late").unwrap();
    assert!(
        part.text()
            .starts_with("source.late\n    a length of time (default \"0s\")\n        late = \"5m\"\n")
    );
    assert!(part.markdown().starts_with("| field | "));
}

const TABLES: [&str; 10] =
    ["job", "source", "tables", "fields", "privacy", "limits", "watch", "log", "release", "ask"];

#[test]
fn the_nearest_paths_to_an_unknown_one_are_listed() {
    for (unknown, near) in [
        ("source.lat", &["source.late"][..]),
        ("late", &["source.late"]),
        ("release[2].bound.key", &["release.bound.keys"]),
        ("epsilon", &["privacy.budget.epsilon", "release.cost.epsilon", "ask.cost.epsilon"]),
        ("privicy", &["privacy"]),
        ("lates", &["source.late"]),
        ("limits.xyzzy", &["limits.memory", "limits.spill"]),
        ("xyzzy", &TABLES),
        ("", &TABLES),
    ] {
        assert_eq!(JobReference::near(unknown), near, "{unknown}");
    }
}
