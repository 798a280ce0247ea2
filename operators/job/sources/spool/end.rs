//! The end of a spool: the place up to which batches were acknowledged, with the hash of everything before it.
//!
//! A batch that is there no more, though it was acknowledged, must be missed. Each record of a batch is a link of
//! a chain of hashes, which goes on from segment to segment, so that a piece from the middle is missed by what
//! follows it. Of a piece at the end only its place can tell: `ids/end` has it from each sync on, and the ledger
//! from the next row on. The file is written without a sync of its own: a crash of the machine may take it back
//! to an earlier place, and then nobody can tell a batch that was cut off by hand, after the last sync of that
//! file, from one that the crash has torn.
//!
//! A copy of the directory is another one. So the file has its own number in the file system, and the time at which it
//! came there, by which a copy of it is known: what was received after the copy was made is not in it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

use super::segment::{Hash, IDS, hash, private};

/// A place in a spool, behind a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::job::sources) struct SpoolEnd {
    pub(in crate::job::sources) segment: u64,
    /// The bytes of the segment before it.
    pub(super) length: u64,
    /// The batches of the segment before it.
    pub(super) batches: u64,
    /// The hash of the chain up to it.
    pub(super) chain: Hash,
}

impl SpoolEnd {
    pub(in crate::job::sources) fn write(&self) -> Vec<u8> {
        let numbers = [self.segment, self.length, self.batches].map(u64::to_le_bytes).concat();
        [&numbers[..], &self.chain].concat()
    }

    pub(in crate::job::sources) fn read(bytes: &[u8]) -> Option<SpoolEnd> {
        let (segment, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (batches, chain) = rest.split_first_chunk()?;
        let [segment, length, batches] = [segment, length, batches].map(|bytes| u64::from_le_bytes(*bytes));
        Some(SpoolEnd { segment, length, batches, chain: chain.try_into().ok()? })
    }
}

/// The file of the end, in the directory of the records.
const END: &str = "end";

/// The bytes of an end.
const END_LENGTH: usize = 24 + size_of::<Hash>();

/// The bytes of an end in its file, before the check of all of it.
const WRITTEN: usize = END_LENGTH + 16;

/// The file that has the end of a spool.
pub(super) struct EndFile {
    file: File,
    /// Its number in the file system, and the time at which it came there, in nanoseconds; 0 where no one says.
    node: [u64; 2],
}

impl EndFile {
    /// Opens the file, or creates it; returns the end in it, if it is one, and no copy of another spool's.
    pub(super) fn open(directory: &Path) -> io::Result<(EndFile, Option<SpoolEnd>)> {
        let path = directory.join(IDS).join(END);
        let file = private().read(true).write(true).create(true).open(path)?;
        let facts = file.metadata()?;
        let born = facts.created().ok().and_then(|born| born.duration_since(SystemTime::UNIX_EPOCH).ok());
        let born = born.map_or(0, |born| u64::try_from(born.as_nanos()).unwrap_or(u64::MAX));
        let this = EndFile { file, node: [facts.ino(), born] };
        let mut bytes = [0; WRITTEN + size_of::<Hash>()];
        let end = match this.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => bytes.get(..END_LENGTH).and_then(SpoolEnd::read),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        let end = end.filter(|end| this.bytes(end) == bytes);
        Ok((this, end))
    }

    fn bytes(&self, end: &SpoolEnd) -> Vec<u8> {
        let node = self.node.map(u64::to_le_bytes).concat();
        let written = [&end.write()[..], &node].concat();
        [&written[..], &hash(&[&written])].concat()
    }

    /// Writes the end; after a crash of the machine the former one may be there.
    pub(super) fn write(&self, end: &SpoolEnd) -> io::Result<()> {
        self.file.write_all_at(&self.bytes(end), 0)
    }

    /// Writes the end of a spool that was opened, durably.
    pub(super) fn begin(&self, end: &SpoolEnd) -> io::Result<()> {
        self.write(end)?;
        self.file.sync_all()
    }
}

/// A hash that no chain ends with, for a segment that follows none: of this moment and process.
pub(super) fn unlinked() -> Hash {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    hash(&[b"unlinked", &now.as_nanos().to_le_bytes(), &std::process::id().to_le_bytes()])
}
