//! Files of releases as evidence of published rows: for the start of a run, and for the repair of a ledger that
//! is behind such a file.

use std::fs::OpenOptions;
use std::io;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::existing_rows::{HeldRows, LineKind, ReleaseReader, Unclosed, id_in};
use super::rotated_rows::{RotatedRows, opened};
use super::table::TableColumns;
use super::{OutputKind, SinkFormat, unopened};
use crate::accounting::Interval;
use crate::canonical::Digest;
use crate::job::paths::resolve_symlinks;
use crate::ledger::place::could_be_made;
use crate::ledger::{LedgerError, Name, Published};
use crate::time::moment;

/// Reads the rows that a file of releases holds, as lines of JSON or, if its name ends in `.csv`, as a table; one
/// that was rotated since may be packed. A window that is torn at the end is identified by its first cell.
///
/// # Errors
///
/// If the file cannot be read, or is no file of releases.
pub fn published(path: &Path) -> Result<Vec<Published>, LedgerError> {
    let format = SinkFormat::of_rotated(path);
    let open = || opened(path).map_err(|error| LedgerError::refused(format!("{}: {error}", path.display())));
    // A file that is no file of releases is refused there, with the number of the line.
    let HeldRows { sound, unclosed, columns, .. } =
        HeldRows::read(BufReader::new(open()?), format, false, path)?;
    let columns = columns.unwrap_or(TableColumns::narrow(false));
    let mut reader = ReleaseReader::new(BufReader::new(open()?), format, columns);
    let (mut rows, mut id) = (Vec::new(), None);
    while reader.at() < sound {
        reader.next().map_err(|error| LedgerError::refused(format!("{}: {error}", path.display())))?;
        // The header of a table is no row.
        let Some(heard) = reader.heard() else { continue };
        match heard.word {
            LineKind::Cell => id = id.or_else(|| id_in(reader.line(), format)),
            LineKind::Closed(_, sequence, chain, ledger) => {
                let [release, start, end] = &heard.about;
                rows.push(Published {
                    row: Some((sequence, chain)),
                    release: Name::new("release", release)?,
                    window: window(start, end)?,
                    id: id.take(),
                    ledger,
                });
            }
            LineKind::Alone(_) => {}
        }
    }
    rows.extend(unclosed.as_ref().map(Unclosed::published).transpose()?);
    Ok(rows)
}

/// Returns true if a file, packed or not, begins as releases do, as lines of JSON or as a table, and not as an anchor.
pub fn is_of_releases(path: &Path) -> bool {
    // Opening a named pipe would wait for its writer.
    if !path.is_file() {
        return false;
    }
    let mut start = [0; 8];
    let read = opened(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start[0] == b'{' || start == *b"release,")
}

/// The contents of an output that its ledger must hold: the newest row, and the last window if its closing
/// line is torn.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    pub(crate) newest: Option<(i64, Digest)>,
    pub(crate) unclosed: Option<Published>,
    /// The files that hold them, which a repair reads: the output, and one that a rotation made of it.
    pub(crate) files: Vec<PathBuf>,
}

impl Witness {
    /// The witness that an output is, with its newest row and its torn window, and the files that a rotation made of it.
    pub(super) fn of(
        path: &Path,
        (newest, unclosed): (Option<(i64, Digest)>, Option<&Unclosed>),
        rotated: Option<&RotatedRows>,
    ) -> Result<Witness, LedgerError> {
        let mut files = Vec::new();
        if newest.is_some() || unclosed.is_some() {
            files.push(path.to_owned());
        }
        let before = rotated.and_then(|rotated| rotated.unclosed.as_ref());
        // Of an output that was restored with its ledger, the rotated files are the newer ones.
        if let Some(rotated) = rotated.filter(|rotated| newest < Some(rotated.newest) || before.is_some()) {
            files.push(rotated.path.clone());
        }
        let unclosed = unclosed.or(before).map(Unclosed::published).transpose()?;
        Ok(Witness { newest: newest.max(rotated.map(|rotated| rotated.newest)), unclosed, files })
    }
}

/// Reads what a file of releases shows of the ledger of this name.
///
/// # Errors
///
/// If the file cannot be read, is no file of releases, or is one of another ledger.
pub(crate) fn witness_in(path: &Path, ledger: &Digest) -> Result<Witness, LedgerError> {
    let refuse = |error: io::Error| unopened(path, &error);
    let file = match OutputKind::at(path)? {
        OutputKind::Nothing => {
            could_be_made(&resolve_symlinks(path)).map_err(refuse)?;
            None
        }
        OutputKind::Stream => return Ok(Witness::default()),
        OutputKind::File => Some(OpenOptions::new().read(true).append(true).open(path).map_err(refuse)?),
    };
    let format = SinkFormat::of(path);
    let held =
        file.map(|file| HeldRows::read_end(&file, format, false, path)).transpose()?.unwrap_or_default();
    of_another(path, held.ledger.as_ref(), ledger)?;
    let rotated = RotatedRows::read(path, format, ledger);
    Witness::of(path, (held.newest, held.unclosed.as_ref()), rotated.as_ref())
}

/// Refuses a file whose rows are of another ledger.
pub(super) fn of_another(path: &Path, held: Option<&Digest>, ledger: &Digest) -> Result<(), LedgerError> {
    if held.is_none_or(|held| held == ledger) {
        return Ok(());
    }
    Err(LedgerError::refused(format!(
        "{}: it holds releases of another ledger than the job's, and is left as it is; give the path of a new file, or the \
         ledger that it was written from",
        path.display()
    )))
}

/// Reads a window as lines state it; an empty start or end is the end of time on that side.
fn window(start: &str, end: &str) -> Result<Interval, LedgerError> {
    let at = |text: &str, none| if text.is_empty() { Some(none) } else { moment(text) };
    let ends = at(start, i64::MIN).zip(at(end, i64::MAX));
    let (start, end) =
        ends.ok_or_else(|| LedgerError::refused("window: found no moment; give a file of releases"))?;
    Ok(Interval::new(start, end)?)
}

impl Unclosed {
    /// Returns the window, with the id in its first cell.
    pub(super) fn published(&self) -> Result<Published, LedgerError> {
        let [release, start, end] = &self.about;
        Ok(Published {
            row: None,
            release: Name::new("release", release)?,
            window: window(start, end)?,
            id: id_in(&self.line, self.format),
            ledger: None,
        })
    }
}
