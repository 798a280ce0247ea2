//! A file that is read at its places.

use std::fs::File;
use std::io;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use super::super::dealer::Progress;
use super::super::reader::Hash;
use super::Damaged;

/// A file whose bytes are read by their positions, with the progress of the reading and the hash of
/// everything that was read, in the order in which it was. The same columns of the same bytes are read in the
/// same order.
pub(super) struct PlacedFile {
    file: File,
    length: u64,
    progress: Arc<Progress>,
    /// The bytes that the progress has of this file, which are never more than its length.
    counted: AtomicU64,
    hash: Mutex<Option<Hash>>,
}

impl PlacedFile {
    pub(super) fn open(path: &Path, progress: &Arc<Progress>, hash: Option<Hash>) -> io::Result<PlacedFile> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let (progress, counted, hash) = (Arc::clone(progress), AtomicU64::new(0), Mutex::new(hash));
        Ok(PlacedFile { file, length, progress, counted, hash })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads as many bytes as there are in `room`.
    fn read_into(&self, at: u64, room: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(room, at)?;
        self.count(room.len() as u64);
        if let Some(hash) = &mut *self.hash.lock().unwrap_or_else(PoisonError::into_inner) {
            hash.add(room);
        }
        Ok(())
    }

    /// Reads a range of the file, in memory that arrays can use. A range beyond the end is not allocated.
    pub(super) fn range(&self, at: u64, length: u64) -> Result<Buffer, Damaged> {
        if at.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(Damaged);
        }
        let mut room = MutableBuffer::from_len_zeroed(usize::try_from(length)?);
        self.read_into(at, &mut room)?;
        Ok(room.into())
    }

    /// Adds to the progress.
    fn count(&self, bytes: u64) {
        let counted = self.counted.load(Ordering::Relaxed);
        let more = bytes.min(self.length.saturating_sub(counted));
        self.counted.store(counted + more, Ordering::Relaxed);
        self.progress.add(more);
    }

    /// Ends the reading: the columns that nobody wants count as read. Returns the hash.
    pub(super) fn finish(&self) -> Option<Hash> {
        self.count(self.length);
        self.hash.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A reader of a file from one position on.
pub(super) struct ReadFrom {
    file: Arc<PlacedFile>,
    at: u64,
}

impl Read for ReadFrom {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.file.length.saturating_sub(self.at);
        let room = room.split_at_mut(room.len().min(usize::try_from(left).unwrap_or(usize::MAX))).0;
        self.file.read_into(self.at, room)?;
        self.at += room.len() as u64;
        Ok(room.len())
    }
}

/// The file as the Parquet reader takes it.
pub(super) struct ParquetFile(pub(super) Arc<PlacedFile>);

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        self.0.length
    }
}

impl ChunkReader for ParquetFile {
    type T = BufReader<ReadFrom>;

    fn get_read(&self, start: u64) -> ParquetResult<BufReader<ReadFrom>> {
        Ok(BufReader::new(ReadFrom { file: Arc::clone(&self.0), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.length);
        if end.is_none() {
            return Err(ParquetError::EOF("a range beyond the end".into()));
        }
        let mut room = vec![0; length];
        self.0.read_into(start, &mut room)?;
        Ok(room.into())
    }
}
