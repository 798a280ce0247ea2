//! `discreet synth`: a realistic event log of any size, from a seed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use discreet::job::SyntheticLog;
use discreet::job::config::ConfigNumber;
use discreet::time::Time;

use super::values::{skew, time, whole};
use super::{CANNOT_WRITE, Refusal};

/// The parameters of the log, and its output.
#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// The number of rows
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    rows: u64,
    /// The number of people in the log
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    people: u64,
    /// The approximate number of keys
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    keys: u64,
    /// The skew of keys and people, from 0 (uniform) to 10
    #[arg(long, allow_negative_numbers = true, default_value = "1.1", value_parser = skew())]
    skew: ConfigNumber,
    /// The seed: the same parameters and seed generate the same log
    #[arg(long, allow_negative_numbers = true, default_value = "0", value_parser = whole())]
    seed: u64,
    /// The first event time, as a date or a time such as 2026-01-01T00:00:00Z; a date begins at midnight UTC
    #[arg(long, allow_hyphen_values = true, default_value = "2026-01-01", value_parser = time())]
    from: Time,
    /// The end of event time, exclusive, in the same form
    #[arg(long, allow_hyphen_values = true, default_value = "2026-01-02", value_parser = time())]
    until: Time,
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

impl SynthArgs {
    /// Writes the log; returns an empty page.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let (skew, seed, span) = (Some(self.skew), Some(self.seed), Some((self.from, self.until)));
        let log = SyntheticLog::of(self.people, self.rows, self.keys, skew, seed, span)?;
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
