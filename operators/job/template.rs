//! Job files for four kinds of logs, to begin with: written for a log whose columns are read by their names.
//!
//! Of the log only names are read, and of those only names from the lists below are written, however they are
//! spelt: the first line of a file without a line of names is somebody's record, and must not reach the job
//! file. So times have no format, which only a value shows, unless the kind of log says it. Of a file without a
//! line of names the kinds of the first values are read: the columns have numbers for names, and the time a format.
//! Which of both a first line of separated text is taken for is said, with the way to state the other.
//!
//! Where no usual name says whose a record is, the values of the first lines are compared, and the column is chosen in which
//! the most come again. Its name is written only where it cannot be a value: it is one that was made up, or one of a line that
//! has names for sure.

mod columns;
mod first_lines;
mod names;
mod person;

use std::fmt::Write;
use std::io;
use std::path::Path;

use super::config::text as quoted;
use columns::{NamedColumn, NamedColumns, column};
use first_lines::FirstLineIs;
use names::{LogNames, UnnamedColumns};
use person::LikelyPerson;

/// The most columns that a comment names.
const MOST_COMMENTED: usize = 300;

/// The kind of log that a job file is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// The combined log of a web server.
    AccessLog,
    /// JSON lines, one event a line, or separated text without a line of names.
    Events,
    /// Separated text, with a line of names or without.
    Orders,
    /// The connections of Zeek, `conn.log`.
    Zeek,
}

impl LogKind {
    /// Every kind, by its word.
    pub const WORDS: [(&'static str, LogKind); 4] = [
        ("access-log", LogKind::AccessLog),
        ("events", LogKind::Events),
        ("orders", LogKind::Orders),
        ("zeek", LogKind::Zeek),
    ];

    /// Returns the name of the job, of its file and of its ledger.
    pub fn job_name(self) -> &'static str {
        match self {
            LogKind::AccessLog => "access_log",
            LogKind::Events => "events",
            LogKind::Orders => "orders",
            LogKind::Zeek => "zeek",
        }
    }

    /// Returns the path of the log if none is stated.
    fn usual_path(self) -> &'static str {
        match self {
            LogKind::AccessLog => "access.log",
            LogKind::Events => "events.jsonl",
            LogKind::Orders => "orders.csv",
            LogKind::Zeek => "conn.log",
        }
    }
}

/// A job file to begin with, and the lines of it that somebody has to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTemplate {
    text: String,
    edits: Vec<(usize, String)>,
    has_names: bool,
    first_line: Option<String>,
    compares_values: bool,
}

impl JobTemplate {
    /// Writes a job file, to be at `file`, for a log of this kind, at the path as it is to stand in the job file. The names of
    /// its columns are read from `log`, if it is given.
    ///
    /// # Errors
    ///
    /// If the log cannot be read, has no line of names where its kind has one, or has more columns than a job file can name.
    pub fn new(
        kind: LogKind,
        file: &Path,
        path: Option<&str>,
        log: Option<&Path>,
    ) -> io::Result<JobTemplate> {
        let found = log.map(|log| LogNames::read(kind, log)).transpose()?;
        let mut page = JobTemplate::empty();
        page.has_names = found.as_ref().is_none_or(|found| found.unnamed.is_none());
        page.first_line = found.as_ref().and_then(|found| {
            let is = found.first_line?;
            Some(match is.is_names() {
                true => format!(
                    "{}; if it is a record, give its {} columns names in the header of [source], as the comment there has it",
                    is.sentence(),
                    found.columns.len()
                ),
                false => format!("{}; if it has the names of the columns, leave the header of [source] out, and use its names", is.sentence()),
            })
        });
        page.head(kind, file);
        page.source(kind, path, found.as_ref());
        let columns = NamedColumns::of(kind, found.as_ref());
        page.compares_values = columns.person.likely.is_some();
        page.privacy(kind, &columns, found.is_some());
        page.releases(kind, &columns);
        Ok(page)
    }

    /// Returns the text of the job file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true unless the log has no line that names its columns.
    pub fn has_names(&self) -> bool {
        self.has_names
    }

    /// Says what the first line of separated text was taken for, and how to state the other; `None` of other logs.
    pub fn first_line(&self) -> Option<&str> {
        self.first_line.as_deref()
    }

    /// Returns true if the column of the person was chosen by the values of the first lines.
    pub fn compares_values(&self) -> bool {
        self.compares_values
    }

    fn empty() -> JobTemplate {
        let (text, edits) = (String::new(), Vec::new());
        JobTemplate { text, edits, has_names: true, first_line: None, compares_values: false }
    }

    /// Returns the lines to edit, each with what it decides.
    pub fn edits(&self) -> &[(usize, String)] {
        &self.edits
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    /// Adds a comment, in lines of at most 110 characters.
    fn comment(&mut self, text: &str) {
        let mut line = "#".to_owned();
        for word in text.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > 110 {
                self.line(&line);
                line = "#".to_owned();
            }
            line.push(' ');
            line += word;
        }
        self.line(&line);
    }

    /// Adds a line that somebody has to decide.
    fn edit(&mut self, what: &str, line: &str) {
        self.line(line);
        self.edits.push((self.text.lines().count(), what.to_owned()));
    }

    fn head(&mut self, kind: LogKind, file: &Path) {
        let (job, file) = (kind.job_name(), file.display());
        let _ = write!(
            self.text,
            "# {}, with a guarantee for each of them.\n#\n\
             #   discreet plan {file}             what will be released, and at what cost; reads no data\n\
             #   discreet replay {file} --demo    releases it beside the truth: for data that may be shown\n#\n\
             #   discreet ledger init {job}.ledger --config {file}    states the budget, once\n\
             #   discreet replay {file}           releases it\n#\n\
             # `discreet help config` explains each field.\n\n",
            match kind {
                LogKind::AccessLog => "How many clients asked a web server for what",
                LogKind::Events => "How many users did what",
                LogKind::Orders => "How many customers ordered what, and for how much",
                LogKind::Zeek => "How many hosts used which service",
            }
        );
        self.line(&format!("[job]\nname    = \"{job}\"\nversion = 1"));
        self.line(
            "# For windows of time, every = \"1 day\" below: the first one and the end of the last. Data \
             never decides them.",
        );
        self.line(
            "# A log that goes on needs until with every = \"all\", too: a replay releases its one window for good.",
        );
        self.line("# from  = \"2026-01-01T00:00:00Z\"\n# until = \"2026-02-01T00:00:00Z\"\n");
    }

    fn source(&mut self, kind: LogKind, path: Option<&str>, found: Option<&LogNames>) {
        let unnamed = found.and_then(|found| found.unnamed.as_ref());
        let word = match kind {
            LogKind::AccessLog => "combined",
            LogKind::Events if unnamed.is_none() => "jsonl",
            LogKind::Events => "csv",
            LogKind::Orders | LogKind::Zeek => "csv",
        };
        self.line(&format!("[source]\ntype = \"{word}\""));
        match path {
            Some(path) => self.line(&format!("path = {}", quoted(path))),
            None => self.edit("the path of the log", &format!("path = \"{}\"", kind.usual_path())),
        }
        match kind {
            LogKind::AccessLog => {}
            LogKind::Zeek => {
                let columns = found.map_or_else(names::zeek_columns, |found| found.columns.clone());
                let columns: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
                self.line("delimiter = \"\\t\"\nquote = \"\"\ncomment = \"#\"");
                let lines: Vec<String> = columns.chunks(6).map(|names| names.join(", ")).collect();
                self.line(&format!("header = [\n    {},\n]", lines.join(",\n    ")));
                self.line("time = { field = \"ts\", format = \"unix\" }");
            }
            LogKind::Events | LogKind::Orders => {
                if let Some(mark) = found.map(|found| found.delimiter).filter(|mark| *mark != ',') {
                    self.line(&format!("delimiter = {}", quoted(&mark.to_string())));
                }
                if found.is_some_and(|found| found.has_comments) {
                    self.line("comment = \"#\"                            # a line that begins with it is no record");
                }
                match (found, unnamed) {
                    (Some(found), Some(unnamed)) => self.unnamed(found, unnamed),
                    (Some(found), None) => self.named(found),
                    (None, _) => {}
                }
                let time = found.map_or(Some("time"), |found| found.first(names::TIME));
                let format = if kind == LogKind::Events { "rfc3339" } else { "%Y-%m-%d %H:%M:%S" };
                let what =
                    "the time and its format, for windows of time: unix, unix-ms, rfc3339, or a pattern";
                let other = unnamed.and_then(|unnamed| unnamed.other_format);
                match (unnamed.map(|unnamed| unnamed.time), other) {
                    (Some(Some((place, format))), Some(other)) => {
                        let what = format!(
                            "the order of day and month: the first records do not say whether the format is {format} or {other}"
                        );
                        let (field, format) = (quoted(&column(place)), quoted(format));
                        self.edit(
                            &what,
                            &format!("# time = {{ field = {field}, format = {format} }}   # or {other}"),
                        );
                    }
                    (Some(Some((place, format))), None) => self.line(&format!(
                        "time = {{ field = {}, format = {} }}   # as the first records have it",
                        quoted(&column(place)),
                        quoted(format)
                    )),
                    (Some(None), _) => {
                        self.edit(
                            what,
                            &format!("# time = {{ field = \"column_1\", format = \"{format}\" }}"),
                        );
                    }
                    (None, _) => {
                        let time = quoted(time.unwrap_or("time"));
                        self.edit(what, &format!("# time = {{ field = {time}, format = \"{format}\" }}"));
                    }
                }
            }
        }
        self.line(
            "bad = { lines = 100 }                    # the unreadable lines that are left out; the next \
             one ends the job\n",
        );
    }

    /// Writes how to name the columns of a log whose first line was taken for names and is none.
    fn named(&mut self, found: &LogNames) {
        let Some(is) = found.first_line else { return };
        let comment = "# The first line was taken for the names of the columns. If it is a record, name them in their order:";
        match is {
            FirstLineIs::NamesByDefault => {
                self.edit(
                    "the names of the columns: whether the first line has them, or is a record",
                    comment,
                );
            }
            _ => self.line(comment),
        }
        let shown = found.columns.len().min(MOST_COMMENTED);
        let names: Vec<String> = (0..shown).map(|place| quoted(&column(place))).collect();
        let further = found.columns.len() - shown;
        let end = if further == 0 { "]" } else { "," };
        for (at, names) in names.chunks(6).enumerate() {
            let (open, is_last) = (if at == 0 { "header = [" } else { "    " }, (at + 1) * 6 >= shown);
            self.line(&format!("# {open}{}{}", names.join(", "), if is_last { end } else { "," }));
        }
        if further > 0 {
            self.line(&format!(
                "#     .. and {further} further columns, up to {}]",
                quoted(&column(found.columns.len() - 1))
            ));
        }
    }

    /// Writes the marks and the columns of a log that has no line of names.
    fn unnamed(&mut self, found: &LogNames, unnamed: &UnnamedColumns) {
        if found.delimiter == '\t' && !unnamed.has_quotes {
            self.line(
                "quote = \"\"                               # a mark of quotation is a character like others",
            );
        }
        self.line("# The first line was taken for a record: name the columns here, in their order, and below. If it has their");
        self.line("# names, leave the header out, and use them below.");
        let names: Vec<String> = found.columns.iter().map(|name| quoted(name)).collect();
        let lines: Vec<String> = names.chunks(6).map(|names| names.join(", ")).collect();
        let list = match &lines[..] {
            [line] => format!("header = [{line}]"),
            lines => format!("header = [\n    {},\n]", lines.join(",\n    ")),
        };
        self.edits
            .push((self.text.lines().count() + 1, "the names of the columns, in their order".to_owned()));
        self.line(&list);
    }

    /// Writes whose a record is, and the budget. Where no column can be named, the person of a log is a comment: a name that the log
    /// does not have would leave every record out.
    fn privacy(&mut self, kind: LogKind, columns: &NamedColumns, has_log: bool) {
        self.line("[privacy]");
        let person = quoted(&columns.person.name);
        let stated = format!(
            "person  = {{ field = {person}, missing = \"drop\" }}   # records without one are left out"
        );
        let unnamed = "# person  = { field = \"..\", missing = \"drop\" }   # give the name of the field, without the mark of a comment";
        let unsure = if has_log { unnamed } else { &*stated };
        let NamedColumn { is_sure, others, likely, .. } = &columns.person;
        match (is_sure, others.is_empty(), likely) {
            (true, true, None) => self.line(&stated),
            (true, false, None) => self.edit("whose a record is: another field may be meant", &stated),
            (true, _, Some(LikelyPerson { by, .. })) => {
                let reason = by.reason();
                self.comment(&format!(
                    "No usual name says whose a record is. This column was chosen: {reason}. Look whether it is the person's: it \
                     decides who is protected."
                ));
                let what =
                    format!("whose a record is: no usual name says so, and this column is a guess: {reason}");
                self.edit(&what, &stated);
            }
            (false, _, None) => self.edit("whose a record is: the name of the field", unsure),
            (false, _, Some(LikelyPerson { place, by })) => {
                let (number, reason) = (place + 1, by.reason());
                self.comment(&format!(
                    "No usual name says whose a record is, and another one may be somebody's value, which is never written. Write \
                     the name of the person's field: likely number {number} of the first line: {reason}."
                ));
                let what = format!(
                    "whose a record is: the name of the field, likely number {number} of the first line, which is a guess: {reason}"
                );
                self.edit(&what, unsure);
            }
        }
        for other in others {
            self.line(&format!("# person  = {{ field = {}, missing = \"drop\" }}", quoted(other)));
        }
        self.line(
            "promise = \"lifetime\"                     # or \"each day\", \"any 30 days\": then the budget \
             holds for that time",
        );
        self.line(
            "budget  = { epsilon = 1.0, delta = 1e-6 } # a delta far below one over the number of people",
        );
        let job = kind.job_name();
        self.line(&format!("ledger  = \"{job}.ledger\"\naccount = \"{job}\"\n"));
    }

    fn releases(&mut self, kind: LogKind, columns: &NamedColumns) {
        match kind {
            LogKind::AccessLog => {
                self.release("clients", "people = {}", None, "0.2");
                let by_path = "people = { by = \"path\", keys = \"discover\" }   # a path is released once \
                     enough clients asked for it";
                self.release(
                    "clients_by_path",
                    by_path,
                    Some("bound  = { keys = 10 }                   # of a client 10 paths"),
                    "0.5",
                );
                let by_status =
                    "count  = { by = \"status\", keys = [\"200\", \"301\", \"304\", \"404\", \"500\"] }";
                self.release(
                    "requests_by_status",
                    by_status,
                    Some("bound  = { keys = 3, per_key = 20 }"),
                    "0.3",
                );
            }
            LogKind::Zeek => {
                self.release("hosts", "people = {}", None, "0.2");
                let by_service = "people = { by = \"service\", keys = \"discover\" }   # a service is \
                     released once enough hosts used it";
                self.release(
                    "hosts_by_service",
                    by_service,
                    Some("bound  = { keys = 5 }                    # of a host 5 services"),
                    "0.4",
                );
                let by_port =
                    "people = { by = \"id.resp_p\", keys = [\"22\", \"53\", \"80\", \"123\", \"443\"] }";
                self.release("hosts_by_port", by_port, Some("bound  = { keys = 5 }"), "0.2");
                self.release(
                    "connections",
                    "count  = {}",
                    Some("bound  = { per_key = 100 }               # of a host 100 connections"),
                    "0.2",
                );
            }
            LogKind::Events | LogKind::Orders => self.of_columns(kind, columns),
        }
    }

    /// Writes the releases by the key and of the value that were found.
    fn of_columns(&mut self, kind: LogKind, columns: &NamedColumns) {
        let people = if kind == LogKind::Events { "users" } else { "customers" };
        self.release(people, "people = {}", None, "0.3");
        let NamedColumns { key, value, .. } = columns;
        let by = format!("people = {{ by = {}, keys = \"discover\" }}", quoted(&key.name));
        self.optional(
            key,
            "the field by which people are counted",
            (&format!("{people}_by_key"), &by, "bound  = { keys = 3 }", "0.4"),
        );
        let of = format!("mean   = {{ of = {}, range = [0, 100] }}", quoted(&value.name));
        self.optional(
            value,
            "the range of the mean: values outside are clipped",
            ("mean_value", &of, "bound  = { per_key = 10 }", "0.3"),
        );
    }

    /// Writes a release whose field was found, and otherwise the same as a comment.
    fn optional(
        &mut self,
        column: &NamedColumn,
        what: &str,
        (name, statistic, bound, share): (&str, &str, &str, &str),
    ) {
        let mut inner = JobTemplate::empty();
        inner.release(name, statistic, Some(bound), share);
        let from = self.text.lines().count();
        let place = inner.text.lines().position(|line| line == statistic).unwrap_or_default();
        for line in inner.text.lines() {
            let comment = if column.is_sure || line.is_empty() { "" } else { "# " };
            self.line(&format!("{comment}{line}"));
        }
        let mut what = what.to_owned();
        if !column.is_sure {
            what = format!("a release that is left out, since no field is known for it: {what}");
        } else if !column.others.is_empty() {
            let others: Vec<String> = column.others.iter().map(|other| quoted(other)).collect();
            let _ = write!(what, " (or another field: {})", others.join(", "));
        } else if !statistic.contains("range") {
            return;
        }
        self.edits.push((from + place + 1, what));
    }

    fn release(&mut self, name: &str, statistic: &str, bound: Option<&str>, share: &str) {
        let bound = bound.map_or(String::new(), |bound| format!("{bound}\n"));
        let statistic = format!("{statistic}\n{bound}");
        self.line(&format!(
            "[[release]]\nname   = \"{name}\"\nevery  = \"all\"                           # one window over \
             everything\n\
             {statistic}noise  = \"gaussian\"\nshare  = {share}\n"
        ));
    }
}

#[cfg(test)]
mod tests;
