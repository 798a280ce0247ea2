//! The output of a run: a file that is none of the job's own, a pipe, or standard output.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::*;
use crate::job::paths::same_file;
use crate::ledger::durable::{beside, directory};

/// The time between two looks for a reader of a pipe.
const INTERVAL: Duration = Duration::from_millis(20);

/// The time after which the operator is notified that a pipe has no reader.
const NOTICE_AFTER: Duration = Duration::from_secs(1);

/// Opens the sink of a run: a file, or standard output.
pub(super) fn sink(job: &Job, out: Option<&Path>, demo: bool, wait: Wait<'_>) -> Result<Sink, RunError> {
    let Some(path) = named(out) else { return Sink::stdout(demo).map_err(|error| RunError::sink(&error)) };
    job.keeps_apart("--out", path, None)?;
    if !demo && is_pipe(path) {
        // What is wrong with the ledger is said before a reader is waited for.
        job.ledger()?;
    }
    // Open until the sink is: a pipe whose last writer has left is at its end.
    let _pipe = wait.for_a_reader(path)?;
    Sink::file(path, demo).map_err(of_out)
}

fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

/// The file that an output is to go to; none where it is standard output, by the name `-` too.
pub(super) fn named(out: Option<&Path>) -> Option<&Path> {
    out.filter(|path| *path != Path::new("-"))
}

/// A wait for the reader of a pipe: the switch that ends it, and the notice to the operator.
pub(super) struct Wait<'w> {
    pub(super) stop: &'w Stop,
    pub(super) notice: Option<&'w OperatorNotice>,
}

impl Wait<'_> {
    /// Opens a named pipe once it has a reader: opening it otherwise would wait for one, and hear no signal.
    fn for_a_reader(&self, path: &Path) -> Result<Option<File>, RunError> {
        if !is_pipe(path) {
            return Ok(None);
        }
        let at_once = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let (began, mut notified) = (Instant::now(), false);
        loop {
            match OpenOptions::new().write(true).custom_flags(at_once).open(path) {
                Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {}
                // What else is wrong with it, the sink says.
                opened => return Ok(opened.ok()),
            }
            if self.stop.is_stopped() {
                let message =
                    format!("--out: {} is a pipe that nobody reads; start its reader", path.display());
                return Err(RunError::configuration(message));
            }
            if !notified && began.elapsed() > NOTICE_AFTER {
                notified = true;
                if let Some(notice) = self.notice {
                    notice(&format!(
                        "--out: {} is a pipe that nobody reads; it is waited for",
                        path.display()
                    ));
                }
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Job {
    /// Refuses a path that is one of the job's own files (its job file, source, ledger, key or anchor) or its output.
    ///
    /// # Errors
    ///
    /// Names the field whose file it is.
    pub fn keeps_apart(&self, option: &str, path: &Path, out: Option<&Path>) -> Result<(), RunError> {
        // A pipe or a device keeps nothing, and may be the source too.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok(());
        }
        let mut files = self.own_files(path).into_iter().chain(out.map(|out| ("--out", out.to_owned())));
        let Some((field, _)) = files.find(|(_, own)| same_file(own, path)) else {
            return Ok(());
        };
        Err(RunError::configuration(format!(
            "{option}: {} is the file of {field}; give the path of another file",
            path.display()
        )))
    }

    /// The job's own files, with the fields that name them; of its locks, the one of this name.
    fn own_files(&self, name: &Path) -> Vec<(&'static str, PathBuf)> {
        let privacy = &self.privacy;
        let mut own = vec![("the job", self.file.path().to_owned()), ("privacy.key", privacy.key.clone())];
        if let RecordFormat::Csv(place) | RecordFormat::Jsonl(place) | RecordFormat::Combined(place) =
            &self.source.records
            && let SourcePlace::Files(source) = place
        {
            own.push(("source.path", source.clone()));
        }
        own.extend(privacy.anchor.iter().map(|anchor| ("privacy.anchor", anchor.clone())));
        if !privacy.ledger.to_string_lossy().contains("://") {
            // SQLite puts its files beside the one that a symbolic link leads to.
            let ledger = privacy.ledger.canonicalize().unwrap_or_else(|_| privacy.ledger.clone());
            let suffixes = ["", "-wal", "-shm", "-journal", ".repaired"];
            own.extend(suffixes.map(|suffix| ("privacy.ledger", beside(&ledger, suffix))));
            let lock = name.file_name().and_then(|name| name.to_str());
            let lock = lock.filter(|name| name.starts_with("ledger-") && name.ends_with(".lock"));
            own.extend(lock.map(|lock| ("privacy.ledger", directory(&ledger).join(lock))));
        }
        own
    }
}

/// Names the option that a refusal of an output is about.
pub(super) fn of_out(trouble: LedgerError) -> RunError {
    LedgerError::refused(format!("--out {trouble}")).into()
}
