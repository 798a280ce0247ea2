//! The reading thread of a replay: file after file to its end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::accord::{FileReport, InputAgreement, ProcessReport, UNKNOWN};
use super::bytes::{self, Packing};
use super::cutter::{Cutter, Sizes};
use super::dealer::Progress;
use super::dealer::{Dealer, DealerGone, DealerMessage};
use super::lines::{CsvColumns, CsvFormat};
use crate::dataflow::SourceError;

/// The sizes by which a text is cut, and the format of its columns.
#[derive(Clone)]
pub(super) struct TextFormat {
    pub(super) sizes: Sizes,
    /// The marks and the wanted fields, where lines are of separated fields.
    pub(super) columns: Option<Arc<CsvFormat>>,
}

impl TextFormat {
    fn quote(&self) -> Option<u8> {
        self.columns.as_ref().and_then(|columns| columns.marks().quote())
    }

    /// The first character of comments, if lines may be some.
    pub(super) fn comment(&self) -> Option<u8> {
        self.columns.as_ref().and_then(|columns| columns.marks().comment())
    }
}

/// The reason why the reading ended before the text did.
pub(super) enum ReadStop {
    Over,
    Gone(SourceError),
}

impl From<DealerGone> for ReadStop {
    fn from(_: DealerGone) -> ReadStop {
        ReadStop::Over
    }
}

impl From<SourceError> for ReadStop {
    fn from(gone: SourceError) -> ReadStop {
        ReadStop::Gone(gone)
    }
}

/// Reads everything with `read_one`, which reads the file of a turn and hashes what it reads where there is a
/// hash, and then notifies the workers of the end.
pub(super) fn read_all(
    files: &[PathBuf],
    dealer: &mut Dealer,
    progress: &Arc<Progress>,
    mut accord: Option<InputAgreement>,
    mut read_one: impl FnMut(&Path, u64, Option<Hash>, &mut Dealer) -> Result<Option<Hash>, ReadStop>,
) -> Result<(), ReadStop> {
    if let Some(accord) = &mut accord {
        agree(accord, file_reports(files)?, files, dealer)?;
    }
    let mut read = Vec::new();
    for (turn, file) in (0u64..).zip(files) {
        let hash = read_one(file, turn, accord.is_some().then(Hash::new), dealer)?;
        read.extend(hash.map(|hash| hash.read(turn.to_string(), true)));
    }
    progress.end();
    if let Some(accord) = &mut accord {
        agree(accord, read, files, dealer)?;
    }
    Ok(dealer.broadcast(|| DealerMessage::End)?)
}

/// Reads the text of a file.
pub(super) fn read_text_file(
    file: &Path,
    turn: u64,
    hash: Option<Hash>,
    texture: &TextFormat,
    dealer: &mut Dealer,
    progress: &Arc<Progress>,
) -> Result<Option<Hash>, ReadStop> {
    let place = file.display().to_string();
    let inner = bytes::of_file(file, progress).map_err(|error| unreadable(&place, &error))?;
    let mut source = Hashed { inner, hash };
    read_text(&mut source, turn, &place, texture, dealer)?;
    Ok(source.hash)
}

/// The reports on files before they are read.
fn file_reports(files: &[PathBuf]) -> Result<Vec<FileReport>, SourceError> {
    let facts = |(turn, file): (u64, &PathBuf)| {
        let length = match Packing::of(file) {
            Packing::Plain => fs::metadata(file).map(|facts| facts.len()),
            _ => Ok(UNKNOWN),
        };
        let length = length.map_err(|error| unreadable(&file.display().to_string(), &error))?;
        Ok(FileReport { file: turn.to_string(), length, digest: None, whole: false })
    };
    (0u64..).zip(files).map(facts).collect()
}

/// Compares this process's report on its files with the report of each other process.
fn agree(
    accord: &mut InputAgreement,
    files: Vec<FileReport>,
    paths: &[PathBuf],
    dealer: &Dealer,
) -> Result<(), ReadStop> {
    let own = ProcessReport { time: 0, files };
    for (process, other) in accord.exchange(&own, dealer)? {
        let place = |at: usize| match paths.get(at) {
            Some(path) if own.files.len() == other.files.len() => path.display().to_string(),
            _ => dealer.fault.place().to_owned(),
        };
        accord.compare(&own.files, (process, &other.files), place)?;
    }
    Ok(())
}

/// The hash of the bytes of a file so far.
pub(super) struct Hash {
    hasher: blake3::Hasher,
    length: u64,
}

impl Hash {
    pub(super) fn new() -> Hash {
        Hash { hasher: blake3::Hasher::new(), length: 0 }
    }

    /// Creates the hash of the bytes behind a position; its length counts those before, too.
    pub(super) fn resumed(position: u64) -> Hash {
        let mut hash = Hash { length: position, ..Hash::new() };
        hash.hasher.update(&position.to_le_bytes());
        hash
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// The report on the file, from the bytes hashed so far.
    pub(super) fn read(&self, file: String, whole: bool) -> FileReport {
        FileReport { file, length: self.length, digest: Some(*self.hasher.finalize().as_bytes()), whole }
    }
}

/// A reader that hashes its bytes, where the processes compare them.
struct Hashed<R> {
    inner: R,
    hash: Option<Hash>,
}

impl<R: io::Read> io::Read for Hashed<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(room)?;
        if let Some(hash) = &mut self.hash {
            hash.add(room.get(..read).unwrap_or_default());
        }
        Ok(read)
    }
}

/// Reads standard input to its end.
pub(super) fn read_input(
    texture: &TextFormat,
    dealer: &mut Dealer,
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let place = dealer.fault.place().to_owned();
    let source = bytes::of_input(progress).map_err(|error| unreadable(&place, &error))?;
    read_text(source, 0, &place, texture, dealer)?;
    progress.end();
    Ok(dealer.broadcast(|| DealerMessage::End)?)
}

fn read_text(
    mut source: impl io::Read,
    turn: u64,
    place: &str,
    texture: &TextFormat,
    dealer: &mut Dealer,
) -> Result<(), ReadStop> {
    let mut text = ReaderText::new(texture);
    dealer.begin(place, 0);
    loop {
        dealer.wait()?;
        let read = text
            .cutter
            .fill(|room| read_some(&mut source, room))
            .map_err(|error| unreadable(place, &error))?;
        let passed = text.passed;
        if !text.begin(place, read == 0)? {
            continue;
        }
        if text.passed > passed {
            dealer.begin(place, text.passed);
        }
        while let Some(piece) = text.cutter.cut(|| dealer.room()) {
            dealer.deal(piece, turn, text.columns.as_ref())?;
        }
        if read == 0 {
            if let Some(piece) = text.cutter.finish(|| dealer.room()) {
                dealer.deal(piece, turn, text.columns.as_ref())?;
            }
            return Ok(());
        }
    }
}

/// Reads some bytes, and retries where a signal interrupts.
pub(super) fn read_some(source: &mut impl io::Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The error of the system, or of a decoder. A decoder's message about its input is left out.
pub(super) fn unreadable(place: &str, error: &io::Error) -> SourceError {
    use io::ErrorKind;
    let what = match error.kind() {
        _ if is_out_of_files(error) => {
            "the process or the system has as many files open as it may; raise `ulimit -n`, or LimitNOFILE of a service"
        }
        ErrorKind::OutOfMemory => {
            "it would take more memory to unpack than it may; pack it with a smaller window"
        }
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
            "it cannot be unpacked, or ends too soon; write it again"
        }
        ErrorKind::NotFound => "there is no such file; put it back, or give its path in source.path",
        ErrorKind::PermissionDenied => "it may not be read; give this user the right to",
        _ => "the system cannot read it; look at the disk",
    };
    SourceError::lost(place).because(what)
}

/// Returns true if the limit of open files is reached, of the process or of the system.
pub(super) fn is_out_of_files(error: &io::Error) -> bool {
    let limits = [Errno::MFILE, Errno::NFILE];
    limits.iter().any(|limit| error.raw_os_error() == Some(limit.raw_os_error()))
}

/// One text that is being read.
pub(super) struct ReaderText {
    pub(super) cutter: Cutter,
    pub(super) columns: Option<Arc<CsvColumns>>,
    /// The fields to find in the line that names the columns; `None` once they are found, and where no line does.
    header: Option<Arc<CsvFormat>>,
    /// The number of lines up to the one that names the columns.
    passed: u64,
    marked: bool,
}

impl ReaderText {
    pub(super) fn new(texture: &TextFormat) -> ReaderText {
        let columns = texture.columns.as_ref().and_then(|columns| columns.named().cloned());
        ReaderText {
            cutter: Cutter::new(texture.sizes, texture.quote()),
            header: texture.columns.clone().filter(|_| columns.is_none()),
            columns,
            passed: 0,
            marked: false,
        }
    }

    /// Creates a text that goes on from a position in it; columns that are not known are still to be named there.
    pub(super) fn resumed(format: &TextFormat, columns: Option<Arc<CsvColumns>>, offset: u64) -> ReaderText {
        let new = ReaderText::new(format);
        if offset == 0 {
            return new;
        }
        let cutter = Cutter::resumed(format.sizes, format.quote(), offset);
        let columns = columns.or(new.columns);
        let header = new.header.filter(|_| columns.is_none());
        ReaderText { cutter, columns, header, passed: 0, marked: true }
    }

    /// Returns true if a line is to name the columns, and none has yet.
    pub(super) fn is_unnamed(&self) -> bool {
        self.header.is_some()
    }

    /// Reads the part before the lines; false while it is incomplete.
    pub(super) fn begin(&mut self, place: &str, ended: bool) -> Result<bool, SourceError> {
        if !self.marked {
            self.marked = self.cutter.skip_mark(ended);
            if !self.marked {
                return Ok(false);
            }
        }
        let Some(format) = &self.header else { return Ok(true) };
        loop {
            if ended && self.cutter.is_empty() {
                return Err(SourceError::refused(place).because(
                    "no line of column names; write one, name them in source.header, or leave the file away",
                ));
            }
            let line = match self.cutter.next_line(ended) {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(false),
                Err(_) => {
                    return Err(SourceError::refused(place)
                        .because("a first line of more than 1 MB; name the columns there"));
                }
            };
            self.passed += 1;
            if !format.passes(&line) {
                self.columns = Some(Arc::new(format.find(&line, place)?));
                self.header = None;
                return Ok(true);
            }
        }
    }
}
