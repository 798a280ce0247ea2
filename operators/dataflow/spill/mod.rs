//! The temporary file for panes that memory has no room for.
//!
//! A window that is open holds its people until it closes, and a replay of an input in no order of time holds all of
//! its windows to the end. Where a limit of memory is given, the panes that were least recently written are moved to a
//! temporary file (*spilled*) before the limit is near, and read back when their window closes. A record that comes for
//! such a pane opens a new one beside it, so that writing never waits for reading, and both are merged then.
//!
//! # What it may change: nothing
//!
//! A pane is written as it is and read back as it was. Merging the parts of a pane is exact
//! ([`bounding`](super::bounding#the-records-that-count)), so what is released does not depend on which panes were
//! spilled, when, or how often. What was changed in the file since is not read: the run fails, and nothing that is
//! incomplete is sealed.
//!
//! # What it may tell: nothing
//!
//! * The file is readable for its owner alone, and its name is removed as soon as it is made; it ends with the process.
//! * What is written is encrypted (XChaCha20-Poly1305). The key is random, of this file, never written, and erased when
//!   the file is closed. Every block has a number of its own, which is its nonce: none is used twice, even where a block
//!   takes the place of a former one.
//! * When a pane is spilled depends on how much memory the process holds, as reading more slowly does.

mod file;
mod space;

use std::io;
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::Ordering;

pub(super) use file::{SpillError, SpilledPane};
use file::{SpillFile, SpillReader, SpillWriter};
use space::SpillBudget;
pub(crate) use space::SpillSpace;

/// The file of one worker's panes, made when the first one is spilled.
pub(super) struct Spill {
    pub(super) budget: SpillBudget,
    file: Option<SpillFile>,
    /// A buffer for pieces.
    pub(super) buffer: Vec<u8>,
}

redacted!(Spill);

impl Spill {
    pub(super) fn new(space: Arc<SpillSpace>) -> Spill {
        Spill { budget: SpillBudget::new(space), file: None, buffer: Vec::new() }
    }

    /// Writes a pane that holds this much memory; `None` if it has to stay in memory.
    pub(super) fn write(
        &mut self,
        bytes: usize,
        pieces: impl FnOnce(&mut SpillWriter<'_>, &mut Vec<u8>) -> io::Result<()>,
    ) -> Option<SpilledPane> {
        let Spill { budget, file, buffer } = self;
        let space = &*budget.space;
        let made = match file {
            Some(_) => Ok(()),
            None => space.file().map(|made| *file = Some(made)),
        };
        let written = made.and_then(|()| match file {
            Some(file) => file.write(bytes, |writer| pieces(writer, buffer)),
            None => Err(io::ErrorKind::NotFound.into()),
        });
        written.inspect_err(|error| space.give_up(error)).ok()
    }

    /// Reads a pane back, in the pieces in which it was written.
    pub(super) fn read(
        &mut self,
        pane: &SpilledPane,
        pieces: impl FnOnce(&mut SpillReader<'_>, &mut Vec<u8>) -> Result<(), SpillError>,
    ) -> Result<(), SpillError> {
        let Spill { file, buffer, .. } = self;
        let file = file.as_ref().ok_or(SpillError::Changed)?;
        #[cfg(test)]
        if self.budget.space.read.fetch_add(1, Ordering::Relaxed) >= self.budget.space.readable {
            return Err(SpillError::Changed);
        }
        pieces(&mut file.reader(pane), buffer)
    }

    /// Gives up a pane.
    pub(super) fn give_back(&mut self, pane: SpilledPane) {
        if let Some(file) = &mut self.file {
            file.give_back(pane);
        }
    }
}
