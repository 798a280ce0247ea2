//! `discreet explain`: a released line in sentences.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use discreet::job::{Explanation, Job};

use super::{Refusal, counted};

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A line of JSON that was released; or a file of such lines, not of CSV, or - for standard input
    line: String,
    /// The number of the line in the file, from 1
    #[arg(long = "line", value_name = "NUMBER", default_value_t = 1)]
    number: u64,
    /// The job file of the line: what a line does not say is added from it
    #[arg(long, value_name = "JOB")]
    job: Option<PathBuf>,
}

/// The longest line, in bytes: a key has at most a few thousand.
const LONGEST: u64 = 1 << 20;

impl ExplainArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        if self.number == 0 {
            return Err(Refusal::new("--line: found zero; give the number of a line, from 1"));
        }
        let job = self.job.as_ref().map(Job::open).transpose()?;
        let (place, line) = self.read()?;
        let explained = Explanation::of(&line, job.as_ref());
        Ok(explained.map_err(|error| Refusal::new(format!("{place}{error}")))?.to_string())
    }

    /// Returns the line, and its place in a file for messages.
    fn read(&self) -> Result<(String, String), Refusal> {
        // No file that people name begins so, and a damaged line is said to be one.
        if self.line.trim_start().starts_with('{') {
            return match self.number {
                1 => Ok((String::new(), self.line.clone())),
                _ => Err(Refusal::new(
                    "--line: found the number of a line beside a line; give a file, or leave it out",
                )),
            };
        }
        let path = Path::new(&self.line);
        let (name, found) = match &*self.line {
            "-" => ("standard input".to_owned(), numbered(io::stdin().lock(), self.number)),
            _ => {
                let file = File::open(path).and_then(|file| numbered(BufReader::new(file), self.number));
                (self.line.clone(), file)
            }
        };
        match found.map_err(|error| Refusal::unreadable("line", path, &error))? {
            Ok(line) => Ok((format!("{name}:{}: ", self.number), line)),
            Err(lines) => {
                let lines = counted(lines, "line");
                Err(Refusal::new(format!("--line: {name} has {lines}; give a number of one of them")))
            }
        }
    }
}

/// Returns the line of this number, or the number of lines if there are fewer.
fn numbered(mut source: impl BufRead, number: u64) -> io::Result<Result<String, u64>> {
    for passed in 0..number {
        let mut line = Vec::new();
        let read = source.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        match read as u64 {
            0 => return Ok(Err(passed)),
            LONGEST if !line.ends_with(b"\n") => return Err(io::ErrorKind::FileTooLarge.into()),
            _ if passed + 1 < number => {}
            _ => {
                let text =
                    String::from_utf8(line).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
                return Ok(Ok(text.trim_end_matches(['\n', '\r']).to_owned()));
            }
        }
    }
    Ok(Err(0))
}
