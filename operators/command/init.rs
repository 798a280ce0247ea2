//! `discreet init`: a job file for a log of a known kind, to begin with.

use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use discreet::job::{JobTemplate, LogKind};

use super::{Refusal, counted};

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The kind of the log
    #[arg(long, value_name = "KIND")]
    from: LogWord,
    /// The log, of which the names of the columns are read, and the first lines compared where no usual name
    /// says whose a record is; no value is written. Give one that is public or your own
    #[arg(value_name = "LOG")]
    file: Option<PathBuf>,
    /// The job file to write, which must not exist; access_log.toml, events.toml, orders.toml or zeek.toml
    /// without it
    #[arg(long, value_name = "JOB")]
    out: Option<PathBuf>,
}

/// A kind of log, by its word.
#[derive(Clone, Copy, Debug)]
struct LogWord(LogKind);

impl ValueEnum for LogWord {
    fn value_variants<'a>() -> &'a [LogWord] {
        &[
            LogWord(LogKind::AccessLog),
            LogWord(LogKind::Events),
            LogWord(LogKind::Orders),
            LogWord(LogKind::Zeek),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (word, _) = LogKind::WORDS.into_iter().find(|(_, kind)| *kind == self.0)?;
        Some(PossibleValue::new(word).help(match self.0 {
            LogKind::AccessLog => "The combined log of a web server",
            LogKind::Events => "JSON lines, or separated text without a line of names",
            LogKind::Orders => "Separated text, with a line of names or without",
            LogKind::Zeek => "conn.log of Zeek",
        }))
    }
}

impl InitArgs {
    /// Writes the job file, and returns the page that says what is left to do.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let InitArgs { from: LogWord(kind), file: log, out } = self;
        let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.toml", kind.job_name())));
        // A named pipe would be waited for.
        if let Some(log) = log.as_deref().filter(|log| log.metadata().is_ok_and(|found| !found.is_file())) {
            return Err(Refusal::new(format!(
                "{}: found no plain file; give the path of one",
                log.display()
            )));
        }
        let path = log.as_deref().map(|log| seen_from(&out, log)).transpose()?;
        let template = JobTemplate::new(kind, &out, path.as_deref(), log.as_deref());
        let template = template.map_err(|error| unread(log.as_deref().unwrap_or(Path::new("")), &error))?;
        let file = OpenOptions::new().write(true).create_new(true).open(&out);
        let written = file.and_then(|mut file| file.write_all(template.text().as_bytes()));
        match written {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let message = format!(
                    "--out: {}: found a file, which is left as it is; give another name",
                    out.display()
                );
                return Err(Refusal::new(message));
            }
            written => written.map_err(|error| Refusal::unwritable("--out", &out, &error))?,
        }
        Ok(page(&template, &out, log.as_deref()))
    }
}

/// Returns the path of the log as the job file states it: relative to the directory of the job file if both
/// are in the working directory, and otherwise absolute.
fn seen_from(out: &Path, log: &Path) -> Result<String, Refusal> {
    let is_beside = out.parent().is_some_and(|directory| directory.as_os_str().is_empty());
    let path = if is_beside && log.is_relative() { Ok(log.to_owned()) } else { absolute(log) };
    let path = path.map_err(|error| Refusal::unreadable("log", log, &error))?;
    match path.to_str() {
        Some(path) if !path.contains(['*', '?', '[']) => Ok(path.to_owned()),
        _ => {
            let found = "found a name that a job file cannot state";
            Err(Refusal::new(format!("log: {}: {found}; give another name", log.display())))
        }
    }
}

/// Refuses a log whose names cannot be read.
fn unread(log: &Path, error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            Refusal::new(format!("log: {}: {error}; give a log of this kind, or leave it out", log.display()))
        }
        _ => Refusal::unreadable("log", log, error),
    }
}

fn page(template: &JobTemplate, out: &Path, log: Option<&Path>) -> String {
    let shown = out.display();
    let mut page = format!("wrote {shown}");
    if let Some(log) = log {
        let read = match template.has_names() {
            true => "the names of the columns were read",
            false => "no line names the columns: the kinds of the first values were read",
        };
        let compared =
            if template.compares_values() { ", and the values of the first lines compared" } else { "" };
        page += &format!("; of {} {read}{compared}, and no value was written", log.display());
    }
    page.push('\n');
    page.extend(template.first_line().map(|first_line| format!("{first_line}\n")));
    let edits = template.edits();
    if !edits.is_empty() {
        page += &format!("look at {}:\n", counted(edits.len() as u64, "line"));
    }
    for (line, what) in edits {
        page += &format!("  {shown}:{line}: {what}\n");
    }
    page + &format!("then run\n  discreet plan {shown}\n  discreet replay {shown} --demo\n")
}
