//! The sinks of released lines: standard output or a file, as lines of JSON, or as CSV if the file's name
//! ends in `.csv`.
//!
//! A file receives each row once. It is opened by reading its rows; a torn row at its end is cut, and written
//! again. A file that is no file of releases is refused, and left unchanged. A demonstration has files of its
//! own: a new demonstration truncates its file, since the ledger of the last one is gone.
//!
//! A file that was moved away while a run writes to it is [left](Sink::reopen) on request for the file that
//! has its name now, which receives the rows from then on; so it does after a restart, by the position of its
//! first row. At a start an empty file receives everything, as a new one does. A file that the sink created
//! and wrote nothing to is removed.
//!
//! A sink that cannot be written ends the run (74), and nothing is lost: every sealed row is in the ledger.
//! So does a sink whose reader closes it, and a standard output that was closed from the beginning.
//!
//! A pipe or a device, such as `/dev/null`, keeps nothing that could be read back, and receives every row.

mod evidence;
mod existing_rows;
mod known_rows;
mod rotated_rows;
mod table;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::mem::take;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use evidence::of_another;
pub(crate) use evidence::{Witness, witness_in};
pub use evidence::{is_of_releases, published};
use existing_rows::{HeldRows, Unclosed};
use known_rows::KnownRows;
use rotated_rows::RotatedRows;
use rustix::fs::{OFlags, fcntl_getfl};
use table::TableColumns;

use crate::canonical::Digest;
use crate::invalid::found_by;
use crate::job::paths::resolve_symlinks;
use crate::job::rotation::rotated_logs;
use crate::ledger::place::{directory, sync_name};
use crate::ledger::{LedgerError, Row};

/// A sink of released lines.
#[derive(Debug)]
pub(crate) struct Sink {
    to: To,
    format: SinkFormat,
    demo: bool,
    /// The columns of a table.
    columns: TableColumns,
    /// True if a new table is to have columns for roll-ups and covariances.
    wide: bool,
    /// The whole rows that were put and are not written yet.
    pending: Vec<u8>,
    /// True after a write that failed: the content of the file is unknown from then on.
    failed: bool,
    known: KnownRows,
    newest: Option<(i64, Digest)>,
    unclosed: Option<Unclosed>,
    /// The position of the first row that the file held when it was opened.
    first: Option<i64>,
    /// The name of the ledger of all rows: those in the file, and those to come.
    ledger: Option<Digest>,
    /// The newest rows of the ledger in the files that a rotation has made of this one.
    rotated: Option<RotatedRows>,
    /// True once a row was left out because its position is before the first row's.
    begins_late: bool,
    new: bool,
    /// The length to which the file is cut at the first write: before a row that was torn, or before
    /// everything that an earlier demonstration left.
    sound: Option<u64>,
    /// True if this sink created the file.
    made: bool,
    /// The path of the file; `None` for standard output.
    path: Option<PathBuf>,
}

#[derive(Debug)]
enum To {
    Stdout,
    /// A pipe or a device.
    Stream(File),
    File(File),
}

/// The format of a released line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SinkFormat {
    Json,
    Csv,
}

impl SinkFormat {
    /// Returns the format for a file of this name.
    fn of(path: &Path) -> SinkFormat {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("csv") => SinkFormat::Csv,
            _ => SinkFormat::Json,
        }
    }

    /// Returns the format of a file of this name, which a rotation may have given to it.
    fn of_rotated(path: &Path) -> SinkFormat {
        let mut formats = rotated_logs(path).map(|output| SinkFormat::of(&output));
        formats.find(|format| *format == SinkFormat::Csv).unwrap_or_else(|| SinkFormat::of(path))
    }
}

/// The kind of file at the path of an output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputKind {
    Nothing,
    File,
    /// A pipe or a device, which keeps nothing.
    Stream,
}

impl OutputKind {
    /// Returns the kind of file at a path; a symbolic link is followed.
    fn at(path: &Path) -> Result<OutputKind, LedgerError> {
        match fs::metadata(path) {
            Ok(found) if found.is_file() => Ok(OutputKind::File),
            Ok(found) if !found.is_dir() => Ok(OutputKind::Stream),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_of_directory(path) => {
                Ok(OutputKind::Nothing)
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unopened(path, &error)),
            _ => Err(unopened(path, &io::ErrorKind::IsADirectory.into())),
        }
    }
}

/// Returns true if a path names a directory, whether it exists or not.
fn is_of_directory(path: &Path) -> bool {
    resolve_symlinks(path).as_os_str().as_bytes().ends_with(b"/")
}

/// The number of pending bytes from which rows are written.
const PENDING: usize = 256 << 10;

impl Sink {
    /// Opens standard output, in lines of JSON; it receives every row.
    ///
    /// # Errors
    ///
    /// If it was closed before the process began, so that every line would vanish.
    pub(crate) fn stdout(demo: bool) -> io::Result<Sink> {
        if is_closed(&io::stdout()) {
            let message = "standard output is closed, so every line would vanish; give --out FILE, or --out /dev/null where \
                           nobody is to read the lines";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, message));
        }
        Ok(Sink::to(To::Stdout, SinkFormat::Json, demo))
    }

    /// Opens a file of releases or of a demonstration, or creates one; a symbolic link is followed.
    ///
    /// # Errors
    ///
    /// If it cannot be read and written, another process writes to it, or it holds something else: then it is
    /// unchanged.
    pub(crate) fn file(path: &Path, demo: bool) -> Result<Sink, LedgerError> {
        let format = SinkFormat::of(path);
        let refuse = |error: io::Error| unopened(path, &error);
        let found = OutputKind::at(path)?;
        if found == OutputKind::Stream {
            let stream = OpenOptions::new().write(true).open(path).map_err(refuse)?;
            let mut sink = Sink::to(To::Stream(stream), format, demo);
            sink.path = Some(path.to_owned());
            return Ok(sink);
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refuse)?;
        // A file system without locks is no reason to refuse: the ledger keeps the processes of one job
        // apart.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let message = "another process writes to it; give the path of another file";
            return Err(LedgerError::refused(format!("{}: {message}", path.display())));
        }
        let held = HeldRows::read_end(&file, format, demo, path)?;
        let sound = if demo { 0 } else { held.sound };
        let torn = file.metadata().map_err(refuse)?.len() > sound;
        if found == OutputKind::Nothing {
            sync_name(path).map_err(refuse)?;
        }
        let mut sink = Sink::to(To::File(file), format, demo);
        sink.path = Some(path.to_owned());
        sink.made = found == OutputKind::Nothing;
        sink.sound = torn.then_some(sound);
        sink.unclosed = held.unclosed;
        if sound > 0 {
            sink.pending.clear();
            sink.known = KnownRows::read(held.known, held.unread);
            (sink.newest, sink.new) = (held.newest, held.rows == 0);
            (sink.first, sink.ledger) = (held.first, held.ledger);
            sink.columns = held.columns.unwrap_or(sink.columns);
        }
        Ok(sink)
    }

    fn to(to: To, format: SinkFormat, demo: bool) -> Sink {
        let columns = TableColumns::narrow(demo);
        let pending = match format {
            SinkFormat::Json => Vec::new(),
            SinkFormat::Csv => columns.header().into_bytes(),
        };
        let new = matches!(to, To::File(_));
        Sink {
            to,
            format,
            demo,
            columns,
            wide: false,
            pending,
            failed: false,
            known: KnownRows::default(),
            newest: None,
            unclosed: None,
            first: None,
            ledger: None,
            rotated: None,
            begins_late: false,
            new,
            sound: None,
            made: false,
            path: None,
        }
    }

    /// Gives a table without a header columns for roll-ups and covariances, and so the tables that it
    /// [switches](Sink::reopen) to. One with a header keeps its columns.
    pub(crate) fn widen(&mut self) {
        self.wide = true;
        // The header is to be written.
        if self.format == SinkFormat::Csv && !self.pending.is_empty() {
            self.columns.wide = true;
            self.pending = self.columns.header().into_bytes();
        }
    }

    /// Returns the path of a table of which an earlier run has written the header, without the columns that this one has
    /// fields for.
    pub(crate) fn lacks_columns(&self) -> Option<&Path> {
        let lacks = self.format == SinkFormat::Csv && self.wide && !self.columns.wide;
        self.path().filter(|_| lacks)
    }

    /// Returns what the file, or one that a rotation made of it, shows of its [ledger](Sink::of_ledger): one without these
    /// rows is behind what was published.
    ///
    /// # Errors
    ///
    /// If the last window is torn, and its line names no window.
    pub(crate) fn witness(&self) -> Result<Witness, LedgerError> {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        Witness::of(path, (self.newest, self.unclosed.as_ref()), self.rotated.as_ref())
    }

    /// Sets the ledger of the rows to come: the line that closes a window names it.
    ///
    /// # Errors
    ///
    /// If the file holds rows of another ledger: then it is left unchanged.
    pub(crate) fn of_ledger(&mut self, ledger: &Digest) -> Result<(), LedgerError> {
        let held = self.ledger.replace(*ledger);
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        of_another(path, held.as_ref(), ledger)?;
        if self.is_file() && !self.demo {
            self.rotated = RotatedRows::read(path, self.format, ledger);
        }
        // A file may hold nothing yet but windows without a position, such as skipped ones.
        if let Some(rotated) = self.rotated.as_mut().filter(|_| self.newest.is_none()) {
            self.known.take_over(KnownRows::read(take(&mut rotated.known), Some(rotated.newest.0)));
        }
        Ok(())
    }

    /// Returns the path of the file, if the sink is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.is_file())
    }

    /// Returns the path of the file, once a row was left out that was delivered before the first row of the
    /// file.
    pub(crate) fn begins_late(&self) -> Option<&Path> {
        self.path().filter(|_| self.begins_late)
    }

    /// Returns true if the sink is a file, which keeps its rows and so receives none twice.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.to, To::File(_))
    }

    /// Returns true if the sink is a file that held no release when it was opened.
    pub(crate) fn is_new(&self) -> bool {
        self.new
    }

    /// Returns the position after which the file lacks rows that left: that of its newest row; for a new file that of the
    /// newest row of those that a rotation made of it, or 0. `None` if its own rows do not tell, and for a sink that
    /// keeps none.
    pub(crate) fn newest_position(&self) -> Option<i64> {
        let newest = self.newest.map(|(sequence, _)| sequence);
        let rotated = self.rotated.as_ref().map(|rotated| rotated.newest.0);
        newest.or(rotated).or(self.new.then_some(0)).filter(|_| self.is_file())
    }

    /// Switches to the file that has this path now, if it is another one: an operator who moves a file of
    /// releases away makes room for the next. The rows of the old file are not written again. Returns true if
    /// it switched.
    ///
    /// # Errors
    ///
    /// If there is another one and it cannot be opened, as by [`Sink::file`]: then the sink goes on in the
    /// old file.
    pub(crate) fn reopen(&mut self, path: &Path) -> Result<bool, LedgerError> {
        let To::File(file) = &self.to else { return Ok(false) };
        let facts = |facts: fs::Metadata| (facts.dev(), facts.ino());
        let refuse = |error: io::Error| unopened(path, &error);
        let own = file.metadata().map(facts).map_err(refuse)?;
        if fs::metadata(path).map(facts).is_ok_and(|found| found == own) {
            return Ok(false);
        }
        let mut next = Sink::file(path, self.demo)?;
        if self.wide {
            next.widen();
        }
        if let Some(ledger) = &self.ledger {
            next.of_ledger(ledger)?;
        }
        self.settle().map_err(refuse)?;
        next.known.take_over(take(&mut self.known));
        *self = next;
        Ok(true)
    }

    /// Returns true if the file has no name any more.
    pub(crate) fn is_removed(&self) -> bool {
        let To::File(file) = &self.to else { return false };
        file.metadata().is_ok_and(|facts| facts.nlink() == 0)
    }

    /// Writes a row, unless the sink holds the row already.
    ///
    /// # Errors
    ///
    /// If it cannot be written: then nothing more is.
    pub(crate) fn put(&mut self, row: &Row) -> io::Result<()> {
        // A file that begins with a later row was begun after another one had been moved away, which holds
        // this row.
        if row.is_delivered() && self.first.is_some_and(|first| row.sequence() < first) {
            self.begins_late = true;
            return Ok(());
        }
        if self.known.forgets(row.sequence()) && self.is_file() {
            // What was delivered before the rows that are in mind is in the file, or in one before it.
            if row.is_delivered() {
                return Ok(());
            }
            self.remember()?;
        }
        let closing = self.ledger.as_ref().map_or_else(|| row.closing(), |ledger| row.closing_of(ledger));
        let cells = if closing.is_some() { row.line() } else { "" };
        let last = self.written(closing.as_deref().unwrap_or(row.line()))?;
        let name = existing_rows::name(&last, self.format, self.columns).ok_or_else(no_release)?;
        if matches!(self.to, To::File(_)) && !self.known.insert(name, row.sequence()) {
            return Ok(());
        }
        let mut text = String::new();
        for line in cells.split('\n').filter(|_| !cells.is_empty()) {
            text += &self.written(line)?;
        }
        self.append(&(text + &last))
    }

    /// Reads all rows of the file, where one comes whose delivery is not confirmed and that may be in a part
    /// that is not in mind.
    fn remember(&mut self) -> io::Result<()> {
        self.settle()?;
        let To::File(file) = &self.to else { return Ok(()) };
        let mut whole = file;
        whole.seek(SeekFrom::Start(0))?;
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        let held = HeldRows::read(BufReader::new(whole), self.format, self.demo, path);
        let held = held.map_err(|trouble| io::Error::new(io::ErrorKind::InvalidData, trouble.to_string()))?;
        // Rows that went to a file before this one stay in mind.
        let mut before = std::mem::replace(&mut self.known, KnownRows::read(held.known, None));
        before.unread = None;
        self.known.take_over(before);
        Ok(())
    }

    /// Writes the lines of a window of a demonstration, each marked as one.
    ///
    /// # Errors
    ///
    /// If it cannot be written: then nothing more is.
    pub(crate) fn put_lines(&mut self, lines: &str) -> io::Result<()> {
        let mut text = String::new();
        for line in lines.lines() {
            text += &self.written(line)?;
        }
        self.append(&text)
    }

    /// Writes all pending rows, and syncs them if the sink is a file.
    ///
    /// # Errors
    ///
    /// If it cannot be written: then nothing more is.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        self.write()?;
        let settled = match &mut self.to {
            To::Stdout => io::stdout().flush(),
            To::Stream(stream) => stream.flush(),
            To::File(file) => file.sync_data(),
        };
        self.check_write(settled)
    }

    /// Formats a line for the file, with its line end.
    fn written(&self, line: &str) -> io::Result<String> {
        match self.format {
            SinkFormat::Csv => table::record(line, self.columns).ok_or_else(no_release),
            SinkFormat::Json if self.demo => Ok(marked(line)),
            SinkFormat::Json => Ok(format!("{line}\n")),
        }
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        self.check_write(Ok(()))?;
        self.pending.extend_from_slice(text.as_bytes());
        if self.pending.len() > PENDING { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.check_write(Ok(()))?;
        let written = match &mut self.to {
            To::Stdout => io::stdout().lock().write_all(&self.pending),
            To::Stream(file) => file.write_all(&self.pending),
            // A run that is refused writes nothing, and leaves a torn row.
            To::File(file) => self
                .sound
                .take()
                .map_or(Ok(()), |sound| file.set_len(sound))
                .and_then(|()| file.write_all(&self.pending)),
        };
        self.pending.clear();
        self.check_write(written)
    }

    fn check_write(&mut self, written: io::Result<()>) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("a write before this one has failed"));
        }
        self.failed = written.is_err();
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                let rest = if self.demo {
                    "the rest of the demonstration is not shown; give --out FILE for all of it"
                } else {
                    "nothing is lost: the ledger holds every window that was sealed; run the job again with --out FILE, which \
                     receives all of them"
                };
                let name = if matches!(self.to, To::Stdout) { "standard output" } else { "the pipe" };
                let message = format!("{name} was closed by its reader before all lines had left; {rest}");
                Err(io::Error::new(error.kind(), message))
            }
            Err(error) => {
                let path = self.path.as_ref().map(|path| path.display().to_string());
                let name = path.unwrap_or_else(|| "standard output".to_owned());
                let rest = if self.demo { "" } else { ": the ledger holds every window that was sealed" };
                let message = format!(
                    "{name}: it cannot be written ({}); look at the disk and at the limit on the size of files (`ulimit -f`), \
                     and start the same command again{rest}",
                    error.kind()
                );
                Err(io::Error::new(error.kind(), message))
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Removes a file that this sink created and wrote nothing to, so that a run that is refused leaves none.
impl Drop for Sink {
    fn drop(&mut self) {
        let (To::File(file), Some(path), true) = (&self.to, &self.path, self.made) else { return };
        let facts = |facts: fs::Metadata| (facts.dev(), facts.ino(), facts.len());
        if let Ok(own @ (_, _, 0)) = file.metadata().map(facts)
            && fs::metadata(path).map(facts).is_ok_and(|found| found == own)
        {
            // A file that cannot be removed is empty, and does no harm.
            let _ = fs::remove_file(resolve_symlinks(path));
        }
    }
}

/// Returns the error of an output that cannot be opened.
fn unopened(path: &Path, error: &io::Error) -> LedgerError {
    let end = resolve_symlinks(path);
    let link = if end == path { "" } else { " is a symbolic link, and" };
    let (shown, directory) = (path.display(), directory(&end));
    LedgerError::refused(if directory.exists() {
        format!("{shown}: found {}; give the path of a file that can be written", found_by(error))
    } else {
        format!("{shown}:{link} there is no directory {}; make it", directory.display())
    })
}

/// Returns true if a stream was closed when the process began. Then the runtime has put /dev/null in its
/// place, open for reading and writing; a shell that discards output on purpose opens it for writing alone.
fn is_closed(stream: &impl AsFd) -> bool {
    let is_null = || {
        let null = fs::metadata("/dev/null").ok()?;
        let own = File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        Some(own.rdev() == null.rdev() && own.file_type().is_char_device())
    };
    fcntl_getfl(stream).is_ok_and(|flags| flags.contains(OFlags::RDWR)) && is_null() == Some(true)
}

/// Returns the error of a row that is no line of a release: a ledger keeps any text that was sealed, but a
/// job seals only lines of a release.
fn no_release() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a line of the ledger is no release")
}

/// Returns a line marked as one of a demonstration, with its line end.
fn marked(line: &str) -> String {
    let is_marked = line.contains("\"demo\":true");
    if is_marked { format!("{line}\n") } else { with_field(line, "\"demo\":true") + "\n" }
}

/// Returns a line of JSON with one more field at its end.
fn with_field(line: &str, field: &str) -> String {
    line.strip_suffix('}').map_or(line.to_owned(), |open| format!("{open},{field}}}"))
}

#[cfg(test)]
mod tests;
