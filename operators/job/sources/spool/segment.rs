//! A segment of a spool: a file of lines, and one of the records of its batches.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{ClosedSegment, SpoolEnd};

/// The directory of the records of batches, in that of the segments.
pub(super) const IDS: &str = "ids";

/// The length of a record: two hashes and a place.
pub(super) const RECORD: usize = 40;

/// The first half of a hash.
pub(super) type Hash = [u8; 16];

/// The first bytes of the records of a segment; a hash of the chain before it and a check follow.
const TITLE: &[u8; 8] = b"spool 1\n";

/// The length of what the records follow.
const HEAD: usize = TITLE.len() + 2 * size_of::<Hash>();

/// The record of a batch.
#[derive(Clone, Copy)]
pub(super) struct BatchRecord {
    pub(super) id: Hash,
    pub(super) bytes: Hash,
    /// The place where the batch ends.
    end: u64,
}

impl BatchRecord {
    fn read(record: &[u8]) -> Option<BatchRecord> {
        let (id, rest) = record.split_first_chunk()?;
        let (bytes, end) = rest.split_first_chunk()?;
        Some(BatchRecord { id: *id, bytes: *bytes, end: u64::from_le_bytes(*end.first_chunk()?) })
    }

    fn write(&self) -> Vec<u8> {
        [&self.id[..], &self.bytes, &self.end.to_le_bytes()].concat()
    }

    /// The hash of a chain up to this record.
    fn chain(&self, before: &Hash) -> Hash {
        hash(&[before, &self.write()])
    }
}

/// A segment as it lies on the disk.
pub(super) struct StoredSegment {
    /// The hash of the chain before it; `None` where its records have no whole head.
    pub(super) link: Option<Hash>,
    pub(super) records: Vec<BatchRecord>,
    /// The length of its lines; `None` where these are not there.
    pub(super) length: Option<u64>,
    /// True if its records end with a whole one.
    is_even: bool,
    /// The length up to the last line end, of lines without records.
    lines: u64,
}

impl StoredSegment {
    /// Returns true if it has neither lines nor batches.
    pub(super) fn is_empty(&self) -> bool {
        self.length.unwrap_or(0) == 0 && self.records.is_empty()
    }

    pub(super) fn read(directory: &Path, number: u64) -> io::Result<StoredSegment> {
        let found = |path: &Path| match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        };
        let path = lines_path(directory, number);
        let length = match fs::metadata(&path) {
            Ok(facts) => Some(facts.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let bytes = found(&records_path(directory, number))?;
        let (head, rest) = bytes.split_at(HEAD.min(bytes.len()));
        let link = head.get(TITLE.len()..).and_then(|rest| rest.first_chunk().copied());
        let link = link.filter(|link| head == head_of(number, link));
        if link.is_none() {
            let lines = memchr::memrchr(b'\n', &found(&path)?).map_or(0, |at| at as u64 + 1);
            return Ok(StoredSegment { link, records: Vec::new(), length, is_even: false, lines });
        }
        let records = rest.chunks_exact(RECORD).filter_map(BatchRecord::read).collect();
        let is_even = rest.len().is_multiple_of(RECORD);
        Ok(StoredSegment { link, records, length, is_even, lines: 0 })
    }

    /// The hash of the chain behind the first batches, if there are as many.
    fn chain(&self, batches: u64) -> Option<Hash> {
        let records = self.records.get(..usize::try_from(batches).ok()?)?;
        Some(records.iter().fold(self.link?, |chain, record| record.chain(&chain)))
    }

    /// Returns true if an end lies in it, and before the end of the first `whole` batches.
    pub(super) fn holds(&self, end: &SpoolEnd, whole: usize) -> bool {
        end.batches <= whole as u64 && self.chain(end.batches) == Some(end.chain)
    }

    /// The number of its first batches whose bytes are there.
    pub(super) fn whole_batches(&self, directory: &Path, number: u64) -> io::Result<usize> {
        if self.length.is_none() {
            return Ok(0);
        }
        let mut reader = io::BufReader::new(File::open(lines_path(directory, number))?);
        let mut length = 0;
        for (at, record) in self.records.iter().enumerate() {
            let Some(size) = record.end.checked_sub(length) else { return Ok(at) };
            let mut body = Vec::new();
            (&mut reader).take(size).read_to_end(&mut body)?;
            if body.len() as u64 != size || hash(&[&body]) != record.bytes {
                return Ok(at);
            }
            length = record.end;
        }
        Ok(self.records.len())
    }

    /// The number of its first batches that end within its lines; all of them once the lines were removed.
    pub(super) fn batches_there(&self) -> usize {
        let is_there = |record: &&BatchRecord| self.length.is_none_or(|length| record.end <= length);
        self.records.iter().take_while(is_there).count()
    }

    /// The facts about it as a segment to which nothing is added.
    pub(super) fn closed(&self) -> ClosedSegment {
        let StoredSegment { link, records, length, is_even, lines } = self;
        let batches = records.len() as u64;
        let end = records.last().map_or(0, |record| record.end);
        let is_whole = link.is_some() && *is_even && *length == Some(end);
        let last = self.batches_there().checked_sub(1).and_then(|last| records.get(last));
        let there = if link.is_some() { last.map_or(0, |record| record.end) } else { *lines };
        let chain = self.chain(batches).unwrap_or_default();
        ClosedSegment { length: length.map(|_| there), batches, link: *link, chain, is_whole }
    }
}

/// The last segment, to which batches are added.
pub(super) struct SpoolSegment {
    pub(super) number: u64,
    pub(super) lines: File,
    pub(super) records: File,
    pub(super) length: u64,
    pub(super) batches: u64,
    /// The hash of the chain before it, and behind its last batch.
    pub(super) link: Hash,
    pub(super) chain: Hash,
    pub(super) since: Instant,
}

impl SpoolSegment {
    /// Creates an empty segment, durably, behind a chain.
    pub(super) fn create(directory: &Path, number: u64, link: Hash) -> io::Result<SpoolSegment> {
        let created = SpoolSegment::begin(directory, number, link);
        if created.is_err() {
            // Batches may be added to the former one, and then it would follow another chain.
            let _ = fs::remove_file(records_path(directory, number));
            let _ = fs::remove_file(lines_path(directory, number));
        }
        created
    }

    fn begin(directory: &Path, number: u64, link: Hash) -> io::Result<SpoolSegment> {
        let (lines, mut records) = files(directory, number)?;
        lines.set_len(0)?;
        records.set_len(0)?;
        records.write_all(&head_of(number, &link))?;
        let (length, batches, chain, since) = (0, 0, link, Instant::now());
        let segment = SpoolSegment { number, lines, records, length, batches, link, chain, since };
        segment.sync()?;
        for place in [directory, &directory.join(IDS)] {
            File::open(place)?.sync_all()?;
        }
        Ok(segment)
    }

    /// Opens a segment, and cuts off what lies behind its first batches.
    pub(super) fn open(
        directory: &Path,
        number: u64,
        stored: &StoredSegment,
        whole: usize,
    ) -> io::Result<SpoolSegment> {
        let (lines, records) = files(directory, number)?;
        let batches = whole as u64;
        let length =
            whole.checked_sub(1).and_then(|last| stored.records.get(last)).map_or(0, |record| record.end);
        let (link, chain) = (stored.link.unwrap_or_default(), stored.chain(batches).unwrap_or_default());
        let since = Instant::now();
        let segment = SpoolSegment { number, lines, records, length, batches, link, chain, since };
        segment.cut(length, batches)?;
        segment.sync()?;
        Ok(segment)
    }

    /// The place behind its last batch.
    pub(super) fn end(&self) -> SpoolEnd {
        let SpoolSegment { number, length, batches, chain, .. } = *self;
        SpoolEnd { segment: number, length, batches, chain }
    }

    pub(super) fn append(&mut self, (id, bytes): (Hash, Hash), body: &[u8], end: &[u8]) -> io::Result<()> {
        self.lines.write_all(body)?;
        self.lines.write_all(end)?;
        let length = self.length + (body.len() + end.len()) as u64;
        let record = BatchRecord { id, bytes, end: length };
        self.records.write_all(&record.write())?;
        if self.batches == 0 {
            self.since = Instant::now();
        }
        (self.length, self.batches, self.chain) = (length, self.batches + 1, record.chain(&self.chain));
        Ok(())
    }

    /// Cuts the files to their first batches.
    pub(super) fn cut(&self, length: u64, batches: u64) -> io::Result<()> {
        self.lines.set_len(length)?;
        self.records.set_len(HEAD as u64 + batches * RECORD as u64)
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

fn head_of(number: u64, link: &Hash) -> Vec<u8> {
    let check = hash(&[TITLE, &number.to_le_bytes(), link]);
    [&TITLE[..], link, &check].concat()
}

/// The files of a segment: its lines, and its records.
fn files(directory: &Path, number: u64) -> io::Result<(File, File)> {
    let open = |path: &Path| private().read(true).append(true).create(true).open(path);
    Ok((open(&lines_path(directory, number))?, open(&records_path(directory, number))?))
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
