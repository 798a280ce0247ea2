//! The reading thread of a replay: file after file to its end.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::brake::Progress;
use super::bytes;
use super::cutter::{Cutter, Sizes};
use super::dealer::{Dealer, Message, Over};
use super::lines::Columns;
use crate::dataflow::Gone;

/// How a text is cut, and what is wanted of it.
#[derive(Clone)]
pub(super) struct Texture {
    pub(super) sizes: Sizes,
    /// The wanted fields, where a text begins with the names of its columns.
    pub(super) columns: Option<Vec<String>>,
}

/// Why the reading ended before the text did.
pub(super) enum Stop {
    Over,
    Gone(Gone),
}

impl From<Over> for Stop {
    fn from(_: Over) -> Stop {
        Stop::Over
    }
}

impl From<Gone> for Stop {
    fn from(gone: Gone) -> Stop {
        Stop::Gone(gone)
    }
}

/// Reads everything there is and says that it was everything.
pub(super) fn read_all(
    files: &[PathBuf],
    texture: &Texture,
    dealer: &mut Dealer,
    progress: &Arc<Progress>,
) -> Result<(), Stop> {
    for file in files {
        let place = file.display().to_string();
        let source = bytes::of_file(file, progress).map_err(|error| unreadable(&place, &error))?;
        read_text(source, Some(file), &place, texture, dealer)?;
    }
    progress.end();
    Ok(dealer.tell(|| Message::End)?)
}

/// Reads standard input to its end.
pub(super) fn read_input(
    texture: &Texture,
    dealer: &mut Dealer,
    progress: &Arc<Progress>,
) -> Result<(), Stop> {
    let place = dealer.fate.place().to_owned();
    let source = bytes::of_input(progress).map_err(|error| unreadable(&place, &error))?;
    read_text(source, None, &place, texture, dealer)?;
    progress.end();
    Ok(dealer.tell(|| Message::End)?)
}

fn read_text(
    mut source: impl Read,
    file: Option<&Path>,
    place: &str,
    texture: &Texture,
    dealer: &mut Dealer,
) -> Result<(), Stop> {
    let mut text = Text::new(texture);
    loop {
        dealer.wait()?;
        let read =
            text.cutter.fill(|room| some(&mut source, room)).map_err(|error| unreadable(place, &error))?;
        if !text.begin(place, read == 0)? {
            continue;
        }
        while let Some(piece) = text.cutter.cut(|| dealer.room()) {
            dealer.deal(piece, file, text.columns.as_ref())?;
        }
        if read == 0 {
            if let Some(piece) = text.cutter.finish(|| dealer.room()) {
                dealer.deal(piece, file, text.columns.as_ref())?;
            }
            return Ok(());
        }
    }
}

/// Reads something, though a signal comes.
pub(super) fn some(source: &mut impl Read, room: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match source.read(room) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// An error of the system, or of a decoder. What a decoder says of its input is left out.
pub(super) fn unreadable(place: &str, error: &std::io::Error) -> Gone {
    use std::io::ErrorKind;
    let what = match error.kind() {
        ErrorKind::OutOfMemory => {
            "it would take more memory to unpack than it may; pack it with a smaller window"
        }
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
            "it cannot be unpacked, or ends too soon; write it again"
        }
        ErrorKind::NotFound => "there is no such file; put it back",
        ErrorKind::PermissionDenied => "it may not be read; give this user the right to",
        _ => "the system cannot read it; look at the disk",
    };
    Gone::lost(place).because(what)
}

/// One text on its way.
pub(super) struct Text {
    pub(super) cutter: Cutter,
    pub(super) columns: Option<Arc<Columns>>,
    /// The fields to find in its first line; `None` once they are, and where there are none.
    header: Option<Vec<String>>,
    marked: bool,
}

impl Text {
    pub(super) fn new(texture: &Texture) -> Text {
        Text {
            cutter: Cutter::new(texture.sizes, texture.columns.is_some()),
            columns: None,
            header: texture.columns.clone(),
            marked: false,
        }
    }

    /// Reads what stands before the lines; false while it is not all there.
    pub(super) fn begin(&mut self, place: &str, ended: bool) -> Result<bool, Gone> {
        if !self.marked {
            self.marked = self.cutter.skip_mark(ended);
            if !self.marked {
                return Ok(false);
            }
        }
        let Some(fields) = &self.header else { return Ok(true) };
        let line = match self.cutter.first_line(ended) {
            Ok(Some(line)) if line.is_empty() && ended && self.cutter.is_empty() => {
                return Err(Gone::refused(place)
                    .because("no line of column names; write one, or leave the file away"));
            }
            Ok(Some(line)) => line,
            Ok(None) => return Ok(false),
            Err(_) => {
                return Err(
                    Gone::refused(place).because("a first line of more than 1 MB; name the columns there")
                );
            }
        };
        self.columns = Some(Arc::new(Columns::find(&line, fields, place)?));
        self.header = None;
        Ok(true)
    }
}
