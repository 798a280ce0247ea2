//! `discreet completions` and `discreet man`: what a shell and `man` know about the command.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{CommandLine, Refusal};

/// The name under which the command is called.
const NAME: &str = "discreet";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: CompletedShell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

impl CompletionsArgs {
    /// Returns the script that the shell reads.
    pub(crate) fn run(self) -> String {
        let shell = match self.shell {
            CompletedShell::Bash => Shell::Bash,
            CompletedShell::Zsh => Shell::Zsh,
            CompletedShell::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut CommandLine::command(), NAME, &mut script);
        String::from_utf8_lossy(&script).into_owned()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page for each subcommand into this directory, instead of the main one to standard output
    #[arg(long)]
    out: Option<PathBuf>,
}

impl ManArgs {
    /// Returns the page, or the number of pages that were written.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let Some(directory) = self.out else {
            let mut page = Vec::new();
            let rendered = Man::new(CommandLine::command()).render(&mut page);
            rendered.map_err(|error| Refusal::new(format!("man: {error}")))?;
            return Ok(String::from_utf8_lossy(&page).into_owned());
        };
        if !directory.is_dir() {
            let message = format!("--out: there is no directory {}; make it", directory.display());
            return Err(Refusal::new(message));
        }
        clap_mangen::generate_to(CommandLine::command(), &directory)
            .map_err(|error| Refusal::unwritable("--out", &directory, &error))?;
        Ok(format!("wrote the pages to {}\n", directory.display()))
    }
}
