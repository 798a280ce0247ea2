//! A job printed as a job file with every default written out: the text is read as the same job.
//!
//! Paths are printed after they were resolved against the job file's directory, so the text means the same in
//! the working directory, independently of the job file's own directory.

use std::fmt;
use std::fmt::{Display, Formatter};
use std::path::Path;

use super::log::{LogFormat, LogLevel, LogSpec};
use super::privacy::{Missing, Protected};
use super::release::{CostSpec, PriceSpec, ReleaseSpec};
use super::source::{ExplodeSpec, HttpSpec, RecordFormat, RecordOrder, SourcePlace, SourceSpec, Synthetic};
use super::{Job, Privacy, TimeFormat, WatchSpec};
use crate::accounting::{Omega, Promise};
use crate::time::{Span, Time, in_words};

impl Display for Job {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "[job]\nname = {}\nversion = {}", text(self.name.as_str()), self.version)?;
        for (name, time) in [("from", self.from), ("until", self.until)] {
            optional(f, name, time.map(moment))?;
        }
        let length = |span: Span| text(&in_words(span.as_microseconds().unsigned_abs()));
        writeln!(f, "slack = {}\nclock_hold = {}\n", length(self.slack), length(self.clock_hold))?;
        source(f, &self.source)?;
        if !self.tables.is_empty() {
            writeln!(f, "[tables]")?;
            self.tables.iter().try_for_each(|table| writeln!(f, "{}", table.stated()))?;
            writeln!(f)?;
        }
        let stated = || self.fields.iter().filter(|field| field.expression.is_stated());
        if stated().next().is_some() {
            writeln!(f, "[fields]")?;
            for field in stated() {
                optional(f, &text(&field.name), Some(text(&field.expression.to_string())))?;
            }
            writeln!(f)?;
        }
        privacy(f, &self.privacy)?;
        if let Some(memory) = self.limits.memory {
            writeln!(f, "[limits]\nmemory = \"{memory} B\"")?;
            optional(f, "spill", self.limits.spill.as_deref().map(path))?;
            writeln!(f)?;
        }
        watch(f, &self.watch)?;
        log(f, self.log)?;
        for (index, each) in self.releases.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            release(f, each)?;
        }
        for (index, ask) in self.asks.iter().enumerate() {
            if index > 0 || !self.releases.is_empty() {
                writeln!(f)?;
            }
            writeln!(f, "[[ask]]")?;
            ask.fields().into_iter().try_for_each(|(name, value)| optional(f, name, value))?;
        }
        Ok(())
    }
}

fn watch(f: &mut Formatter<'_>, watch: &WatchSpec) -> fmt::Result {
    let WatchSpec { listen, operator, token, exec, budget } = watch;
    let budget: Vec<String> = budget.iter().map(|part| part.to_decimal().to_string()).collect();
    writeln!(f, "[watch]\nbudget = [{}]", budget.join(", "))?;
    optional(f, "listen", listen.map(|address| text(&address.to_string())))?;
    if listen.is_some() {
        writeln!(f, "operator = {operator}")?;
    }
    optional(f, "token", token.as_ref().map(|file| format!("{{ file = {} }}", path(file))))?;
    let words: Vec<String> = exec.iter().map(|word| text(word)).collect();
    optional(f, "exec", (!words.is_empty()).then(|| format!("[{}]", words.join(", "))))?;
    writeln!(f)
}

fn log(f: &mut Formatter<'_>, log: LogSpec) -> fmt::Result {
    let LogSpec { format, level } = log;
    let format = LogFormat::ALL.iter().find(|(_, other)| *other == format).map_or("text", |(word, _)| word);
    let level = LogLevel::ALL.iter().find(|(_, other)| *other == level).map_or("info", |(word, _)| word);
    writeln!(f, "[log]\nformat = \"{format}\"\nlevel = \"{level}\"\n")
}

fn source(f: &mut Formatter<'_>, source: &SourceSpec) -> fmt::Result {
    writeln!(f, "[source]\ntype = \"{}\"", source.records.word())?;
    match &source.records {
        RecordFormat::Csv(at, form) => {
            place(f, at)?;
            form.fields().into_iter().try_for_each(|(name, value)| optional(f, name, value))
        }
        RecordFormat::Jsonl(at)
        | RecordFormat::Combined(at)
        | RecordFormat::Parquet(at)
        | RecordFormat::Arrow(at) => place(f, at),
        RecordFormat::Synthetic(Synthetic { people, rows, keys, skew, seed }) => {
            writeln!(f, "people = {people}\nrows = {rows}\nkeys = {keys}")?;
            optional(f, "skew", skew.map(|skew| skew.to_string()))?;
            optional(f, "seed", seed.map(|seed| seed.to_string()))
        }
    }?;
    if let Some(time) = &source.time {
        let format = match &time.format {
            TimeFormat::Column => String::new(),
            format => format!(", format = {}", text(&format.to_string())),
        };
        writeln!(f, "time = {{ field = {}{format} }}", text(&time.field))?;
    }
    writeln!(f, "zone = {}", text(source.zone.name()))?;
    writeln!(f, "order = \"{}\"", if source.order == RecordOrder::Any { "any" } else { "sorted" })?;
    let late = source.late.map_or("0s".to_owned(), |late| in_words(late.as_microseconds().unsigned_abs()));
    let ahead = in_words(source.ahead.as_microseconds().unsigned_abs());
    writeln!(f, "late = \"{late}\"\nahead = \"{ahead}\"\nbad = {{ lines = {} }}", source.bad_lines)?;
    optional(
        f,
        "fields",
        source
            .fields
            .as_ref()
            .map(|fields| list(&fields.iter().map(|field| text(field)).collect::<Vec<_>>())),
    )?;
    if let Some(ExplodeSpec { array, most }) = &source.explode {
        writeln!(f, "explode = {{ array = {}, most = {most} }}", text(array))?;
    }
    if let Some(HttpSpec { listen, token, batch, hold }) = &source.http {
        let token =
            token.as_ref().map(|token| format!(", token = {{ file = {} }}", path(token))).unwrap_or_default();
        writeln!(f, "http = {{ listen = \"{listen}\"{token}, batch = \"{batch} B\", hold = \"{hold} B\" }}")?;
    }
    optional(f, "where", source.condition.as_ref().map(|condition| text(&condition.to_string())))?;
    optional(f, "id", source.id.as_ref().map(|id| format!("{{ field = {} }}", text(id))))?;
    writeln!(f)
}

fn place(f: &mut Formatter<'_>, place: &SourcePlace) -> fmt::Result {
    match place {
        SourcePlace::Stdin => writeln!(f, "path = \"-\""),
        SourcePlace::Files(files) => writeln!(f, "path = {}", path(files)),
    }
}

fn privacy(f: &mut Formatter<'_>, privacy: &Privacy) -> fmt::Result {
    writeln!(f, "[privacy]")?;
    match &privacy.privacy_unit {
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
        ("delta_for_keys", budget.delta_for_keys.as_ref().map(ToString::to_string)),
        ("rho", budget.rho.as_ref().map(ToString::to_string)),
        ("omega", omega),
    ];
    writeln!(f, "budget = {}", table(parts))?;
    optional(f, "accounting", privacy.accounting.map(|accounting| text(accounting.word())))?;
    writeln!(f, "ledger = {}\naccount = {}", path(&privacy.ledger), text(privacy.account.as_str()))?;
    writeln!(f, "key = {}", path(&privacy.key))?;
    optional(f, "anchor", privacy.anchor.as_deref().map(path))?;
    writeln!(f)
}

fn release(f: &mut Formatter<'_>, release: &ReleaseSpec) -> fmt::Result {
    writeln!(f, "[[release]]\nname = {}", text(release.name.as_str()))?;
    optional(f, "version", release.version.map(|version| version.to_string()))?;
    writeln!(f, "every = \"{}\"", release.every)?;
    optional(f, "over", release.over.map(|over| format!("\"{over}\"")))?;
    if let Some(running) = release.running {
        writeln!(f, "running = true")?;
        optional(f, "strategy", running.strategy.map(|strategy| format!("\"{strategy}\"")))?;
    }
    optional(f, "where", release.condition.as_ref().map(|condition| text(&condition.to_string())))?;
    let statistic = &release.statistic;
    let fields = table(statistic.as_statistic().fields());
    writeln!(f, "{} = {fields}", statistic.word())?;
    optional(f, "least_people", release.least_people.map(|people| people.to_string()))?;
    let bound = &release.bound;
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let parts = [
        ("keys", number(bound.keys)),
        ("per_key", number(bound.per_key)),
        ("windows", number(bound.windows)),
        ("entries", number(bound.entries)),
        ("weight", number(bound.weight)),
    ];
    writeln!(f, "bound = {}", table(parts))?;
    writeln!(f, "noise = \"{}\"", release.noise.word())?;
    match &release.price {
        PriceSpec::Share(share) => writeln!(f, "share = {}", share.to_decimal()),
        PriceSpec::Cost(cost) => writeln!(f, "cost = {}", table(cost_fields(cost))),
    }
}

/// Returns the parts of a cost as they were written.
pub(in crate::job) fn cost_fields(cost: &CostSpec) -> [(&'static str, Option<String>); 3] {
    let word = |decimal: &Option<crate::Decimal>| decimal.as_ref().map(ToString::to_string);
    [("epsilon", word(&cost.epsilon)), ("rho", word(&cost.rho)), ("delta", word(&cost.delta))]
}

pub(in crate::job) fn list(entries: &[impl Display]) -> String {
    let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
    format!("[{}]", entries.join(", "))
}

fn table(parts: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let said: Vec<String> =
        parts.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", value?))).collect();
    if said.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", said.join(", ")) }
}

fn optional(f: &mut Formatter<'_>, name: &str, value: Option<String>) -> fmt::Result {
    value.map_or(Ok(()), |value| writeln!(f, "{name} = {value}"))
}

fn moment(time: Time) -> String {
    // A moment that was read from RFC 3339 can be written in it.
    jiff::Timestamp::from_microsecond(time).map_or(String::new(), |moment| format!("\"{moment}\""))
}

/// Formats a path, which was read from a text and so is valid UTF-8.
pub(in crate::job) fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// Quotes a text by the rules of TOML.
pub(in crate::job) fn text(text: &str) -> String {
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
mod tests;
