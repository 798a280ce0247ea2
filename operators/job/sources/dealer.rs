//! Chunks on their way from the reading thread to the workers.

use std::sync::Arc;
use std::sync::Weak;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use memchr::memchr_iter;

use super::brake::Brake;
use super::cutter::Piece;
use super::fate::SourceFault;
use super::input::Crew;
use super::lines::CsvColumns;
use crate::time::Time;

/// How many messages wait for a worker before the reading does.
pub(super) const WAITING: usize = 4;

/// What a worker is given.
pub(super) enum DealerMessage {
    Chunk(LineChunk),
    /// All that was there at this time has been given.
    Mark(Time),
    End,
}

/// Whole lines.
pub(super) struct LineChunk {
    pub(super) lines: Vec<u8>,
    pub(super) quotes: bool,
    /// Of the file that they are of; `None` where lines name their own.
    pub(super) columns: Option<Arc<CsvColumns>>,
    /// Which of the chunks that this thread has given.
    pub(super) number: u64,
    /// Of which file, and the number of its first line, where places are told.
    pub(super) place: Option<(Arc<str>, u64)>,
}

/// Nobody takes chunks any more.
#[derive(Debug)]
pub(super) struct DealerGone;

/// The reading thread's side.
pub(super) struct Dealer {
    pub(super) workers: Vec<Sender<DealerMessage>>,
    /// Buffers that come back.
    pub(super) spare: Receiver<Vec<u8>>,
    pub(super) fate: Arc<SourceFault>,
    pub(super) brake: Arc<Brake>,
    /// Held by everybody who might still take something.
    pub(super) taken: Weak<()>,
    /// Whether each process deals what it reads among its own workers alone.
    pub(super) alone: bool,
    pub(super) crew: Crew,
    /// Whether chunks say where they begin.
    tells_places: bool,
    /// The file, and the number of the next line.
    place: Option<(Arc<str>, u64)>,
    given: u64,
    /// Buffers of pieces that are other processes'.
    kept: Vec<Vec<u8>>,
}

impl Dealer {
    pub(super) fn new(
        workers: Vec<Sender<DealerMessage>>,
        spare: Receiver<Vec<u8>>,
        fate: Arc<SourceFault>,
        brake: Arc<Brake>,
        taken: Weak<()>,
        (alone, tells_places): (bool, bool),
        crew: Crew,
    ) -> Dealer {
        let (place, given, kept) = (None, 0, Vec::new());
        Dealer { workers, spare, fate, brake, taken, alone, crew, tells_places, place, given, kept }
    }

    /// Takes note of a new text and of how many of its lines are no records.
    pub(super) fn begin(&mut self, place: &str, header: u64) {
        self.place = self.tells_places.then(|| (place.into(), 1 + header));
    }

    /// Gives a piece to the worker whose it is, if that is one of this process. The worker follows from the turn at which
    /// its file begins and from the place in it, so that all processes agree, whatever else each has read.
    pub(super) fn deal(
        &mut self,
        piece: Piece,
        begins: u64,
        columns: Option<&Arc<CsvColumns>>,
    ) -> Result<(), DealerGone> {
        let place = self.place.clone();
        if let Some((_, line)) = &mut self.place {
            *line += memchr_iter(b'\n', &piece.lines).count() as u64 + piece.too_long;
        }
        let turn = begins.wrapping_add(piece.chunk);
        let threads = self.workers.len().max(1) as u64;
        let own = if self.alone {
            Some(turn % threads)
        } else {
            let first = self.crew.process as u64 * threads;
            (turn % (threads * self.crew.processes.max(1) as u64))
                .checked_sub(first)
                .filter(|own| *own < threads)
        };
        let Some(worker) = own.and_then(|own| self.workers.get(own as usize)) else {
            self.kept.push(piece.lines);
            return Ok(());
        };
        if piece.too_long > 0 {
            self.fate.bad(piece.too_long);
        }
        if piece.lines.is_empty() {
            return Ok(());
        }
        let (columns, number) = (columns.cloned(), self.given);
        let chunk = LineChunk { lines: piece.lines, quotes: piece.quotes, columns, number, place };
        self.given += 1;
        worker.send(DealerMessage::Chunk(chunk)).map_err(|_| DealerGone)
    }

    /// Tells every worker.
    pub(super) fn tell(&self, message: impl Fn() -> DealerMessage) -> Result<(), DealerGone> {
        self.workers.iter().try_for_each(|worker| worker.send(message()).map_err(|_| DealerGone))
    }

    /// Waits until the brake is released, and says whether anybody still wants anything.
    pub(super) fn wait(&self) -> Result<(), DealerGone> {
        while self.brake.is_pulled() {
            self.wanted()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        self.wanted()
    }

    fn wanted(&self) -> Result<(), DealerGone> {
        if self.taken.strong_count() == 0 || self.fate.has_failed() { Err(DealerGone) } else { Ok(()) }
    }

    /// Room for what is read next.
    pub(super) fn room(&mut self) -> Vec<u8> {
        self.kept.pop().or_else(|| self.spare.try_recv().ok()).unwrap_or_default()
    }
}

/// At whose turn a file of this name begins: files of one chunk are to be many workers' work.
pub(super) fn begins(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight) >> 1)
}
