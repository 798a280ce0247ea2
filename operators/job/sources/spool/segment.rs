//! A segment of a spool: a file of lines, and one of the records of its batches.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The directory of the records of batches, in that of the segments.
pub(super) const IDS: &str = "ids";

/// The length of a record: two hashes and a place.
pub(super) const RECORD: usize = 40;

/// The first half of a hash.
pub(super) type Hash = [u8; 16];

/// The last segment, to which batches are added.
pub(super) struct SpoolSegment {
    pub(super) number: u64,
    pub(super) lines: File,
    pub(super) records: File,
    pub(super) length: u64,
    pub(super) batches: u64,
    pub(super) since: Instant,
}

impl SpoolSegment {
    /// Opens a segment, and cuts off what was not acknowledged; `batch` is called with the id and the hash of
    /// each batch in it.
    pub(super) fn open(
        directory: &Path,
        number: u64,
        mut batch: impl FnMut(Hash, Hash),
    ) -> io::Result<SpoolSegment> {
        let open = |path: &Path| private().read(true).append(true).create(true).open(path);
        let (lines, mut records_file) =
            (open(&lines_path(directory, number))?, open(&records_path(directory, number))?);
        let mut found = Vec::new();
        records_file.read_to_end(&mut found)?;
        let (mut batches, mut length) = (0u64, 0u64);
        let mut reader = io::BufReader::new(&lines);
        for (id, bytes, end) in records(&found) {
            let Some(size) = end.checked_sub(length) else { break };
            let mut body = Vec::new();
            (&mut reader).take(size).read_to_end(&mut body)?;
            if body.len() as u64 != size || hash(&[&body]) != bytes {
                break;
            }
            batch(id, bytes);
            (batches, length) = (batches + 1, end);
        }
        let segment =
            SpoolSegment { number, lines, records: records_file, length, batches, since: Instant::now() };
        segment.cut(length, batches)?;
        segment.sync()?;
        for place in [directory, &directory.join(IDS)] {
            File::open(place)?.sync_all()?;
        }
        Ok(segment)
    }

    pub(super) fn append(&mut self, (id, bytes): (Hash, Hash), body: &[u8], end: &[u8]) -> io::Result<()> {
        self.lines.write_all(body)?;
        self.lines.write_all(end)?;
        let length = self.length + (body.len() + end.len()) as u64;
        let record = [&id[..], &bytes, &length.to_le_bytes()].concat();
        self.records.write_all(&record)?;
        if self.batches == 0 {
            self.since = Instant::now();
        }
        (self.length, self.batches) = (length, self.batches + 1);
        Ok(())
    }

    /// Cuts the files to their first batches.
    pub(super) fn cut(&self, length: u64, batches: u64) -> io::Result<()> {
        self.lines.set_len(length)?;
        self.records.set_len(batches * RECORD as u64)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.lines.sync_all()?;
        self.records.sync_all()
    }
}

/// The options of a file that no other user may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

pub(super) fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| _ = hasher.update(part));
    hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default()
}

pub(super) fn lines_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}.jsonl"))
}

pub(super) fn records_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(IDS).join(format!("{number:08}"))
}

/// The whole records of a file: the hash of the id, the hash of the batch, and the place where it ends.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = (Hash, Hash, u64)> {
    bytes.chunks_exact(RECORD).filter_map(|record| {
        let (id, rest) = record.split_first_chunk()?;
        let (bytes, end) = rest.split_first_chunk()?;
        Some((*id, *bytes, u64::from_le_bytes(*end.first_chunk()?)))
    })
}

/// The numbers of the files with this ending.
pub(super) fn numbers(directory: &Path, ending: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.strip_suffix(ending)?.parse::<u64>().ok()));
    }
    Ok(numbers)
}
