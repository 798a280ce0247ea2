//! `discreet help`: the help of a command, and the reference of the job file.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use discreet::job::config::JobReference;

use super::{CommandLine, Refusal, finish, finish_usage};

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct HelpArgs {
    #[command(subcommand)]
    topic: Option<HelpTopic>,
}

#[derive(Debug, Subcommand)]
enum HelpTopic {
    /// Print the reference of the job file: of each field its default, an example, and what it does and costs
    Config(ConfigHelpArgs),
    // The help of the command of this name.
    #[command(external_subcommand)]
    OfCommand(Vec<String>),
}

#[derive(Debug, Args)]
struct ConfigHelpArgs {
    /// A field such as source.late, or a table such as release.bound; all fields without it
    field: Option<String>,
    /// Print Markdown, as in docs/CONFIG.md
    #[arg(long)]
    markdown: bool,
}

impl HelpArgs {
    /// Prints the help, and returns the exit code.
    pub(crate) fn run(self) -> ExitCode {
        let words = match self.topic {
            Some(HelpTopic::Config(config)) => {
                return match config.page() {
                    Ok(page) => finish(super::print(&page), 0),
                    Err(refusal) => refusal.finish(),
                };
            }
            Some(HelpTopic::OfCommand(words)) => words,
            None => Vec::new(),
        };
        let arguments = ["discreet".to_owned()].into_iter().chain(words).chain(["--help".to_owned()]);
        match CommandLine::try_parse_from(arguments) {
            // `--help` ends the parser, unless it stands behind `--`.
            Ok(_) => Refusal::with(super::WRONG_USAGE, "help: found no command; give its name").finish(),
            Err(error) => finish_usage(&error),
        }
    }
}

impl ConfigHelpArgs {
    fn page(&self) -> Result<String, Refusal> {
        let reference = match &self.field {
            None => JobReference::whole(),
            Some(field) => JobReference::part(field).ok_or_else(|| unknown(field))?,
        };
        Ok(if self.markdown { reference.markdown() } else { reference.text() })
    }
}

/// Refuses a path that no field has, with the nearest ones.
fn unknown(field: &str) -> Refusal {
    let near = JobReference::near(field);
    let near = match &near[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        near => near.concat(),
    };
    Refusal::new(format!("field: found {field:?}, which no job file has; give {near}"))
}
