//! `discreet synth`: a realistic event log of any size, from a seed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use discreet::job::SyntheticLog;
use discreet::job::config::ConfigNumber;
use discreet::time::at;

use super::{CANNOT_WRITE, Refusal, whole};

/// The parameters of the log, and its output.
#[derive(Debug, Args)]
pub(crate) struct Synth {
    /// The number of rows
    #[arg(long, allow_negative_numbers = true)]
    rows: String,
    /// The number of people in the log
    #[arg(long, allow_negative_numbers = true)]
    people: String,
    /// The approximate number of keys
    #[arg(long, allow_negative_numbers = true)]
    keys: String,
    /// The skew of keys and people, from 0 (uniform) to 10
    #[arg(long, allow_negative_numbers = true, default_value = "1.1")]
    skew: String,
    /// The seed: the same parameters and seed generate the same log
    #[arg(long, allow_negative_numbers = true, default_value = "0")]
    seed: String,
    /// The first event time, as a date or a time such as 2026-01-01T00:00:00Z; a date begins at midnight UTC
    #[arg(long, allow_hyphen_values = true, default_value = "2026-01-01")]
    from: String,
    /// The end of event time, exclusive, in the same form
    #[arg(long, allow_hyphen_values = true, default_value = "2026-01-02")]
    until: String,
    /// The format of the rows
    #[arg(long, value_enum, default_value = "csv")]
    format: SynthFormat,
    /// A file to write instead of standard output
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SynthFormat {
    /// Comma-separated fields, under a header
    Csv,
    /// One JSON object a line
    Jsonl,
}

impl Synth {
    /// Writes the log; returns an empty page.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let moment = |field: &str, text: &str| at(text).map_err(|refused| refusal(field, refused.remedy()));
        let skew = ConfigNumber::parse(&self.skew).map_err(|_| refusal("skew", "a number from 0 to 10"))?;
        let log = SyntheticLog::of(
            whole("people", &self.people)?,
            whole("rows", &self.rows)?,
            whole("keys", &self.keys)?,
            Some(skew),
            Some(whole("seed", &self.seed)?),
            Some((moment("from", &self.from)?, moment("until", &self.until)?)),
        )?;
        let written = match &self.out {
            None => self.write(&log, io::stdout().lock()),
            Some(path) => File::create(path).and_then(|file| self.write(&log, file)),
        };
        match written {
            // The reader of the pipe has closed it, as in `discreet .. | head -1`.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(String::new()),
            Err(error) => {
                let place =
                    self.out.as_ref().map_or("standard output".into(), |path| path.display().to_string());
                let message = format!("out: {place}: {}; give a place that can be written", error.kind());
                Err(Refusal { message, code: CANNOT_WRITE })
            }
            Ok(()) => Ok(String::new()),
        }
    }

    fn write(&self, log: &SyntheticLog, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 16, to);
        if let SynthFormat::Csv = self.format {
            to.write_all(SyntheticLog::header().as_bytes())?;
        }
        for number in 0..log.rows() {
            let row = log.row(number);
            match self.format {
                SynthFormat::Csv => row.write_csv(&mut to),
                SynthFormat::Jsonl => row.write_json(&mut to),
            }?;
        }
        to.flush()
    }
}

fn refusal(field: &str, remedy: &str) -> Refusal {
    Refusal::new(format!("{field}: found text that is not understood; give {remedy}"))
}
