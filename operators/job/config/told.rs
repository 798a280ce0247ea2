//! A job as a job file, with what it leaves out said: it is read as the same job.
//!
//! Paths are told as they were found, so the text means the same in the working directory, whatever directory the job file
//! is in.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use super::privacy::{Missing, Protected};
use super::ranks::{Each, Grid, Quantiles};
use super::release::{Price, Release};
use super::source::{Order, Place, Records, Source, Synthetic};
use super::statistic::{Grouping, Keys, Measure, Statistic};
use super::{Job, Number, Privacy};
use crate::accounting::{Omega, Promise};
use crate::time::{Time, in_words};

impl Display for Job {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "[job]\nname = {}\nversion = {}", text(self.name.as_str()), self.version)?;
        for (name, time) in [("from", self.from), ("until", self.until)] {
            optional(f, name, time.map(moment))?;
        }
        writeln!(f, "slack = {}\n", text(&in_words(self.slack.as_microseconds().unsigned_abs())))?;
        source(f, &self.source)?;
        privacy(f, &self.privacy)?;
        if let Some(memory) = self.limits.memory {
            writeln!(f, "[limits]\nmemory = \"{memory} B\"\n")?;
        }
        for (index, each) in self.releases.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            release(f, each)?;
        }
        Ok(())
    }
}

fn source(f: &mut Formatter<'_>, source: &Source) -> fmt::Result {
    let kind = match &source.records {
        Records::Csv(_) => "csv",
        Records::Jsonl(_) => "jsonl",
        Records::Combined(_) => "combined",
        Records::Synthetic(_) => "synthetic",
    };
    writeln!(f, "[source]\ntype = \"{kind}\"")?;
    match &source.records {
        Records::Csv(place) | Records::Jsonl(place) | Records::Combined(place) => match place {
            Place::Stdin => writeln!(f, "path = \"-\""),
            Place::Files(files) => writeln!(f, "path = {}", path(files)),
        },
        Records::Synthetic(Synthetic { people, rows, keys, skew, seed }) => {
            writeln!(f, "people = {people}\nrows = {rows}\nkeys = {keys}")?;
            optional(f, "skew", skew.map(|skew| skew.to_string()))?;
            optional(f, "seed", seed.map(|seed| seed.to_string()))
        }
    }?;
    if let Some(time) = &source.time {
        let format = text(&time.format.to_string());
        writeln!(f, "time = {{ field = {}, format = {format} }}", text(&time.field))?;
    }
    writeln!(f, "zone = {}", text(source.zone.name()))?;
    writeln!(f, "order = \"{}\"", if source.order == Order::Any { "any" } else { "sorted" })?;
    let late = source.late.map_or("0s".to_owned(), |late| in_words(late.as_microseconds().unsigned_abs()));
    writeln!(f, "late = \"{late}\"\nbad = {{ lines = {} }}", source.bad_lines)?;
    optional(f, "id", source.id.as_ref().map(|id| format!("{{ field = {} }}", text(id))))?;
    writeln!(f)
}

fn privacy(f: &mut Formatter<'_>, privacy: &Privacy) -> fmt::Result {
    writeln!(f, "[privacy]")?;
    match &privacy.protected {
        Protected::Record => writeln!(f, "unit = \"record\""),
        Protected::Person { field, missing } => {
            let missing = match missing {
                Missing::Drop => "drop",
                Missing::Reject => "reject",
                Missing::Shared => "shared",
            };
            writeln!(f, "person = {{ field = {}, missing = \"{missing}\" }}", text(field))
        }
    }?;
    let promise = match privacy.promise {
        Promise::Any(span) => format!("any {}", in_words(span)),
        Promise::Each(span) => format!("each {}", in_words(span)),
        Promise::Lifetime | Promise::Windows(_) => "lifetime".to_owned(),
    };
    writeln!(f, "promise = \"{promise}\"")?;
    let budget = &privacy.budget;
    let omega = (budget.omega != Omega::EVERY).then(|| budget.omega.to_float().to_string());
    let parts = [
        ("epsilon", budget.epsilon.as_ref().map(ToString::to_string)),
        ("delta", budget.delta.as_ref().map(ToString::to_string)),
        ("rho", budget.rho.as_ref().map(ToString::to_string)),
        ("omega", omega),
    ];
    writeln!(f, "budget = {}", table(parts))?;
    writeln!(f, "ledger = {}\ndomain = {}", path(&privacy.ledger), text(privacy.domain.as_str()))?;
    writeln!(f, "key = {}", path(&privacy.key))?;
    optional(f, "anchor", privacy.anchor.as_deref().map(path))?;
    writeln!(f)
}

fn release(f: &mut Formatter<'_>, release: &Release) -> fmt::Result {
    writeln!(f, "[[release]]\nname = {}\nevery = \"{}\"", text(release.name.as_str()), release.every)?;
    optional(f, "over", release.over.map(|over| format!("\"{over}\"")))?;
    let statistic = &release.statistic;
    let grouped = |grouping: &Option<Grouping>| match grouping {
        None => [("by", None), ("keys", None)],
        Some(grouping) => [("by", Some(text(&grouping.by))), ("keys", Some(keys(&grouping.keys)))],
    };
    let measured = |measure: &Measure, grouping: &Option<Grouping>| {
        let Measure { of, low, high } = measure;
        let [by, keys] = grouped(grouping);
        table([("of", Some(text(of))), ("range", Some(format!("[{low}, {high}]"))), by, keys])
    };
    let fields = match statistic {
        Statistic::Count(grouping) | Statistic::People(grouping) => table(grouped(grouping)),
        Statistic::Sum(measure, grouping) | Statistic::Mean(measure, grouping) => measured(measure, grouping),
        Statistic::Histogram { of, edges } => table([("of", Some(text(of))), ("edges", Some(list(edges)))]),
        Statistic::Max { each, grid, grouping } => max(each, grid, grouped(grouping)),
        Statistic::Quantile(quantiles, grouping) => quantile(quantiles, grouped(grouping)),
    };
    writeln!(f, "{} = {fields}", statistic.word())?;
    let bound = &release.bound;
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let parts = [
        ("keys", number(bound.keys)),
        ("per_key", number(bound.per_key)),
        ("windows", number(bound.windows)),
    ];
    writeln!(f, "bound = {}", table(parts))?;
    writeln!(f, "noise = \"{}\"", release.noise.word())?;
    match &release.price {
        Price::Share(share) => writeln!(f, "share = {}", share.to_decimal()),
        Price::Cost(cost) => {
            let word = |decimal: &Option<crate::Decimal>| decimal.as_ref().map(ToString::to_string);
            let parts =
                [("epsilon", word(&cost.epsilon)), ("rho", word(&cost.rho)), ("delta", word(&cost.delta))];
            writeln!(f, "cost = {}", table(parts))
        }
    }
}

/// What says by what a statistic is told apart.
type Grouped = [(&'static str, Option<String>); 2];

fn max(each: &Each, answers: &Grid, [by, keys]: Grouped) -> String {
    let of = each.of().map(text);
    let each = Some(format!("\"{}\"", each.word()));
    table([("of", of), ("each", each), ("grid", Some(grid(answers))), by, keys])
}

fn grid(grid: &Grid) -> String {
    match grid {
        Grid::Log(0) => "\"log\"".to_owned(),
        Grid::Log(digits) => format!("{{ log = {} }}", Number::power(-digits)),
        Grid::SignedLog => "\"signed log\"".to_owned(),
        Grid::Steps { from, to, step } => format!("{{ from = {from}, to = {to}, step = {step} }}"),
        Grid::List(answers) => list(answers),
    }
}

fn quantile(quantiles: &Quantiles, [by, keys]: Grouped) -> String {
    let Quantiles { of, q, low, high, step } = quantiles;
    let range = format!("[{low}, {high}]");
    let step = step.map(|step| step.to_string());
    table([("of", Some(text(of))), ("q", Some(list(q))), ("range", Some(range)), ("step", step), by, keys])
}

fn list(entries: &[impl Display]) -> String {
    let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
    format!("[{}]", entries.join(", "))
}

fn keys(keys: &Keys) -> String {
    match keys {
        Keys::Discover => "\"discover\"".to_owned(),
        Keys::File(file) => format!("{{ file = {} }}", path(file)),
        Keys::Listed(keys) => list(&keys.iter().map(|key| text(key)).collect::<Vec<String>>()),
    }
}

fn table<const N: usize>(parts: [(&str, Option<String>); N]) -> String {
    let said: Vec<String> =
        parts.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", value?))).collect();
    if said.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", said.join(", ")) }
}

fn optional(f: &mut Formatter<'_>, name: &str, value: Option<String>) -> fmt::Result {
    value.map_or(Ok(()), |value| writeln!(f, "{name} = {value}"))
}

fn moment(time: Time) -> String {
    // What was read from RFC 3339 can be written in it.
    jiff::Timestamp::from_microsecond(time).map_or(String::new(), |moment| format!("\"{moment}\""))
}

/// A path that was read from a text is one.
fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// A text in quotes, by the rules of TOML.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\r' => quoted += "\\r",
            control if control.is_control() => quoted += &format!("\\U{:08X}", u32::from(control)),
            plain => quoted.push(plain),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back(job: &Job) {
        let told = job.to_string();
        assert_eq!(
            &Job::parse("told.toml", &told).unwrap_or_else(|wrong| panic!("{wrong}\n{told}")),
            job,
            "{told}"
        );
    }

    #[test]
    fn every_config_is_read_as_the_same_job() {
        for entry in std::fs::read_dir("config").unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                comes_back(&Job::open(&path).unwrap());
            }
        }
    }

    // Refutes a field that is left out, or told as another one: a job of everything that may be said, varied.
    #[test]
    fn every_field_is_told() {
        const ALL: &str = r#"
            [job]
            name = "shop"
            version = 7
            from = "2026-01-01T00:00:00.25Z"
            until = "2026-02-01T00:00:00Z"
            slack = "90s"
            [source]
            type = "jsonl"
            path = "in/*.jsonl"
            time = { field = "a \"quoted\\ field", format = "unix-ms", zone = "Europe/Berlin" }
            order = "sorted"
            late = "5m"
            bad = { lines = 3 }
            id = { field = "é\u0007\u007f" }
            [privacy]
            person = { field = "who", missing = "reject" }
            promise = "lifetime"
            budget = { epsilon = 1.50, delta = 1e-7, omega = 40 }
            ledger = "shop.ledger"
            domain = "shop"
            key = "keys/shop"
            anchor = "out.jsonl"
            [limits]
            memory = "3 MiB"
            [[release]]
            name = "visits"
            every = "6h"
            over = "48h"
            sum = { of = "price", range = [-0.05, 1e-3], by = "page", keys = ["b", "a\tb"] }
            bound = { keys = 3, windows = 5 }
            noise = "gaussian"
            share = 0.123456789012345678
            [[release]]
            name = "second"
            every = "1 week"
            over = "2 weeks"
            count = { by = "page", keys = "discover" }
            bound = { keys = 3, per_key = 2, windows = 5 }
            noise = "laplace"
            cost = { rho = 1.5e-6, delta = 1e-12 }
        "#;
        let job = |text: &str| Job::parse("shop.toml", text).unwrap_or_else(|wrong| panic!("{wrong}"));
        comes_back(&job(ALL));
        let person = "person = { field = \"who\", missing = \"reject\" }";
        for changes in [
            &[("[\"b\", \"a\\tb\"]", "{ file = \"keys.txt\" }")][..],
            &[("\"reject\"", "\"shared\""), ("\"unix-ms\"", "\"%Y-%m-%d %H:%M:%S\"")],
            &[("type = \"jsonl\"", "type = \"csv\""), ("in/*.jsonl", "-"), ("\"unix-ms\"", "\"unix\"")],
            &[("\"lifetime\"", "\"any 30 days\""), (", windows = 5", "")],
            &[("\"lifetime\"", "\"each 90 minutes\""), (", windows = 5", "")],
            &[
                (person, "unit = \"record\""),
                ("keys = 3, windows = 5", ""),
                ("keys = 3, per_key = 2, windows = 5", ""),
            ],
            &[("key = \"keys/shop\"\n", ""), ("anchor = \"out.jsonl\"\n", ""), ("late = \"5m\"\n", "")],
            &[("\"shop.ledger\"", "\"postgres://shop@localhost/money?ledger=shop\"")],
            &[("cost = { rho = 1.5e-6, delta", "cost = { epsilon = 0.001, delta")],
            &[
                (
                    "sum = { of = \"price\", range = [-0.05, 1e-3], by = \"page\", keys = [\"b\", \"a\\tb\"] }",
                    "histogram = { of = \"price\", edges = [-1, 0.5, 12345678] }",
                ),
                ("keys = 3, windows", "keys = 1, per_key = 4, windows"),
            ],
            &[("sum = {", "mean = {"), ("keys = 3, windows", "keys = 1, per_key = 4, windows")],
            &[("sum = { of = \"price\", range = [-0.05, 1e-3]", "max = { of = \"price\", grid = \"log\"")],
            &[
                (
                    "sum = { of = \"price\", range = [-0.05, 1e-3]",
                    "max = { each = \"count\", grid = [-1, 2.5, 10]",
                ),
                ("noise = \"gaussian\"", "noise = \"laplace\""),
            ],
            &[
                (
                    "sum = { of = \"price\", range = [-0.05, 1e-3]",
                    "max = { of = \"price\", each = \"sum\", grid = { log = 0.01 }",
                ),
                ("noise = \"gaussian\"", "noise = \"exponential\""),
            ],
            &[(
                "sum = { of = \"price\", range = [-0.05, 1e-3]",
                "max = { of = \"price\", each = \"greatest\", grid = { from = -1, to = 9.5, step = 0.25 }",
            )],
            &[(
                "sum = { of = \"price\", range = [-0.05, 1e-3]",
                "max = { of = \"price\", grid = \"signed log\"",
            )],
            &[
                (
                    "sum = { of = \"price\", range = [-0.05, 1e-3]",
                    "quantile = { of = \"price\", q = [0.05, 0.5, 0.999999], range = [-0.05, 1e-3], step = 1e-3",
                ),
                ("noise = \"gaussian\"", "noise = \"exponential\""),
                ("keys = 3, windows", "keys = 3, per_key = 4, windows"),
            ],
            &[
                (
                    "sum = { of = \"price\", range = [-0.05, 1e-3], by = \"page\", keys = [\"b\", \"a\\tb\"] }",
                    "quantile = { of = \"price\", q = 0.5, range = [0, 12] }",
                ),
                ("noise = \"gaussian\"", "noise = \"exponential\""),
                (
                    "keys = 3, windows = 5 }\n            noise = \"exponential\"",
                    "per_key = 4, windows = 5 }\n            noise = \"exponential\"",
                ),
            ],
            &[
                (
                    "sum = { of = \"price\", range = [-0.05, 1e-3], by = \"page\", keys = [\"b\", \"a\\tb\"] }",
                    "quantile = { of = \"price\", q = 0.5, range = [0, 12], step = 0.001 }",
                ),
                ("budget = { epsilon = 1.50, delta = 1e-7, omega = 40 }", "budget = { epsilon = 1.50 }"),
                ("noise = \"gaussian\"", "noise = \"permute-and-flip\""),
                (
                    "keys = 3, windows = 5 }\n            noise = \"permute",
                    "per_key = 4, windows = 5 }\n            noise = \"permute",
                ),
                ("keys = \"discover\"", "keys = [\"a\"]"),
                ("cost = { rho = 1.5e-6, delta = 1e-12 }", "cost = { epsilon = 1.5e-6 }"),
            ],
        ] {
            let mut text = ALL.to_owned();
            for (from, to) in changes {
                assert!(text.contains(from), "{from}");
                text = text.replace(from, to);
            }
            comes_back(&job(&text));
        }
        let made_up = job(ALL).to_string().replace(
            "type = \"jsonl\"\npath = \"in/*.jsonl\"\n",
            "type = \"synthetic\"\npeople = 5\nrows = 10\nkeys = 2\nskew = 1.25\nseed = 9\n",
        );
        let fields = made_up
            .replace("a \\\"quoted\\\\ field", "time")
            .replace("\"page\"", "\"key\"")
            .replace("\"price\"", "\"value\"")
            .replace("\"who\"", "\"user\"");
        let fields = fields.lines().filter(|line| !line.starts_with("id = ")).collect::<Vec<_>>().join("\n");
        comes_back(&job(&fields));
        let combined = job(ALL)
            .to_string()
            .replace("jsonl\"\npath", "combined\"\npath")
            .replace("a \\\"quoted\\\\ field", "time")
            .replace("\"page\"", "\"path\"")
            .replace("\"price\"", "\"bytes\"")
            .replace("\"who\"", "\"client\"");
        let combined =
            combined.lines().filter(|line| !line.starts_with("id = ")).collect::<Vec<_>>().join("\n");
        comes_back(&job(&combined));
    }
}
