//! The reading of a followed file: what is behind the position that was reached.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::{FileId, FollowedFile};
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::follow::content::{self, Comparison, read_at};
use crate::job::sources::follow::{SETTLED, deal, position};
use crate::job::sources::reader::{ReadStop, read_some, unreadable};

/// The state of a file after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::job::sources::follow) enum Caught {
    /// Everything in it was read.
    Up,
    /// A packed file is not complete.
    Torn,
    /// It was renamed or removed since it was listed, and not read to its end.
    Elsewhere,
    /// It holds other content than was read: it was cut, or written anew.
    Replaced,
}

/// A packed file may end too soon for this part of the patience.
pub(super) const TORN: u32 = 6;

impl FollowedFile {
    /// Reads as far as it goes now, or up to a position in it.
    pub(in crate::job::sources::follow) fn catch_up(
        &mut self,
        until: u64,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<Caught, ReadStop> {
        let caught = match self.packing {
            Packing::Plain => self.read_plain(until, dealer, progress),
            _ => self.read_packed(dealer, progress),
        };
        self.trail.note(&self.content);
        // Of many files few are written.
        self.text.cutter.shrink();
        match caught {
            Err(PlainError::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(self.moved()),
            Err(PlainError::System(error)) => {
                Err(unreadable(&self.path.display().to_string(), &error).into())
            }
            Err(PlainError::Stop(stop)) => Err(stop),
            Ok(caught) => Ok(caught),
        }
    }

    /// The state of a file that is not where it was: what it had more when it was listed is read by the next look.
    fn moved(&self) -> Caught {
        let read = match self.packing {
            Packing::Plain => self.content.length(),
            _ => self.packed.map_or(0, |(length, _)| length),
        };
        if self.is_listed && self.listed_length != read { Caught::Elsewhere } else { Caught::Up }
    }

    fn read_plain(
        &mut self,
        until: u64,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<Caught, PlainError> {
        if self.open.is_none() {
            let facts = fs::metadata(&self.path)?;
            let is_as_it_was = facts.len() == self.content.length() && facts.modified().ok() == self.written;
            if FileId::of(&facts) != self.id {
                return Ok(self.moved());
            }
            if is_as_it_was && !self.is_cut {
                return Ok(Caught::Up);
            }
            let file = File::open(&self.path)?;
            if FileId::of(&file.metadata()?) != self.id {
                return Ok(self.moved());
            }
            self.open = Some(file);
        }
        let Some(file) = &self.open else { return Ok(Caught::Up) };
        self.checked_at = SystemTime::now();
        let facts = file.metadata()?;
        // A file that was cut may be as long again as it was.
        self.is_removed = facts.nlink() == 0;
        let written = facts.modified().ok();
        let is_touched = std::mem::replace(&mut self.written, written) != written || self.rewritten.is_some();
        let is_cut = std::mem::take(&mut self.is_cut) || facts.len() < self.content.length();
        if is_cut || is_touched && !self.content.is_of(file)? {
            return Ok(Caught::Replaced);
        }
        self.rewritten = None;
        let end = facts.len().min(until);
        let place = self.path.display().to_string();
        while self.content.length() < end {
            dealer.wait().map_err(ReadStop::from)?;
            let (content, hash) = (&mut self.content, &mut self.hash);
            let mut is_same = true;
            let left = usize::try_from(end - content.length()).unwrap_or(usize::MAX);
            let read = self.text.cutter.fill(|room| {
                let most = left.min(room.len());
                let room = room.get_mut(..most).unwrap_or_default();
                let read = read_at(file, room, content.length())?;
                self.checked_at = SystemTime::now();
                // Only now it is certain that these bytes follow the ones that were read.
                is_same = content.is_of(file)?;
                if !is_same {
                    return Ok(0);
                }
                let new = room.get(..read).unwrap_or_default();
                content.add(new);
                if let Some(hash) = hash {
                    hash.add(new);
                }
                Ok::<_, io::Error>(read)
            })?;
            if !is_same {
                return Ok(Caught::Replaced);
            }
            progress.add(read as u64);
            self.grown = Instant::now();
            let is_last = read == 0 || self.content.length() >= end;
            dealer.begin(&place, 0);
            if self.text.begin(&place, false).map_err(ReadStop::from)? {
                let is_first = !self.has_lines;
                self.has_lines |= deal(&mut self.text, self.turn, is_last, dealer)?;
                if is_first && self.has_lines {
                    self.first_read = Some(self.checked_at);
                }
            }
            if read == 0 {
                break;
            }
        }
        Ok(Caught::Up)
    }

    fn read_packed(&mut self, dealer: &mut Dealer, progress: &Arc<Progress>) -> Result<Caught, PlainError> {
        let facts = fs::metadata(&self.path)?;
        if FileId::of(&facts) != self.id {
            return Ok(self.moved());
        }
        let rest = match self.packed {
            Some((length, since)) if length == facts.len() => match self.is_torn {
                true if since.elapsed() > self.patience / TORN => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                true => return Ok(Caught::Torn),
                false => return Ok(Caught::Up),
            },
            // It is longer: more of it was packed, or something was appended.
            Some((_, since)) if since.elapsed() < self.patience / SETTLED => return Ok(Caught::Torn),
            None if self.content.length() == 0 => bytes::of_file(&self.path, progress)?,
            // It was away, or another file had what was read.
            None | Some(_) => match self.content.compare(&self.path)? {
                Comparison::Continues(rest) => rest,
                Comparison::Shorter => {
                    (self.packed, self.is_torn) = (Some((facts.len(), Instant::now())), true);
                    return Ok(Caught::Torn);
                }
                Comparison::Other => return Ok(Caught::Replaced),
            },
        };
        self.packed = Some((facts.len(), Instant::now()));
        self.packed_at = position::changed(&facts);
        self.is_torn = false;
        match self.read_rest(rest, true, dealer) {
            Err(PlainError::System(error)) if content::is_torn(&error) => {
                self.is_torn = true;
                Ok(Caught::Torn)
            }
            Err(stop) => Err(stop),
            Ok(()) => Ok(Caught::Up),
        }
    }

    /// Reads what a copy of this file has behind the position, which was cut from the file itself.
    pub(in crate::job::sources::follow) fn read_copy(
        &mut self,
        rest: impl Read,
        dealer: &mut Dealer,
    ) -> Result<(), ReadStop> {
        match self.read_rest(rest, false, dealer) {
            Err(PlainError::System(error)) => {
                Err(unreadable(&self.path.display().to_string(), &error).into())
            }
            Err(PlainError::Stop(stop)) => Err(stop),
            Ok(()) => Ok(()),
        }
    }

    /// Reads these bytes to their end, which is that of the text where it is `whole`.
    fn read_rest(&mut self, mut rest: impl Read, whole: bool, dealer: &mut Dealer) -> Result<(), PlainError> {
        let place = self.path.display().to_string();
        loop {
            dealer.wait().map_err(ReadStop::from)?;
            let (content, hash) = (&mut self.content, &mut self.hash);
            let read = self.text.cutter.fill(|room| {
                let read = read_some(&mut rest, room)?;
                let new = room.get(..read).unwrap_or_default();
                content.add(new);
                if let Some(hash) = hash {
                    hash.add(new);
                }
                Ok::<_, io::Error>(read)
            })?;
            dealer.begin(&place, 0);
            if self.text.begin(&place, whole && read == 0).map_err(ReadStop::from)? {
                self.has_lines |= deal(&mut self.text, self.turn, read == 0, dealer)?;
            }
            if read == 0 {
                if whole && let Some(piece) = self.text.cutter.finish(|| dealer.room()) {
                    dealer.deal(piece, self.turn, self.text.columns.as_ref()).map_err(ReadStop::from)?;
                    self.has_lines = true;
                }
                return Ok(());
            }
        }
    }
}

/// An error of the system, or the end of the reading.
enum PlainError {
    System(io::Error),
    Stop(ReadStop),
}

impl From<io::Error> for PlainError {
    fn from(error: io::Error) -> PlainError {
        PlainError::System(error)
    }
}

impl From<io::ErrorKind> for PlainError {
    fn from(kind: io::ErrorKind) -> PlainError {
        PlainError::System(kind.into())
    }
}

impl From<ReadStop> for PlainError {
    fn from(stop: ReadStop) -> PlainError {
        PlainError::Stop(stop)
    }
}
