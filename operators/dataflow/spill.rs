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

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

use super::driver::RunError;

/// The part of the limit, in percent, from which on panes are spilled: below the one at which reading stops.
const SPILL: u64 = 60;
/// The part of the limit by which memory must grow until less is held in tables.
const STEP: u64 = 2;
/// The part of the limit below which tables may grow again.
const RELAX: u64 = 50;
/// The part of the limit that the largest pane may take on all workers: one that is larger is not spilled, for when its
/// window closes it has to be in memory as a whole.
const LARGEST: u64 = 30;
/// The memory of a pane that is too small to be spilled: what remembers it would be as large.
const SMALLEST: usize = if cfg!(test) { 1 } else { 1 << 10 };
/// The memory of tables of which a worker is left.
const LEAST: usize = 1 << 20;
/// The number of records between two measurements of the tables, while there is a cap on them.
const MEASURED: usize = 1 << 14;

/// The memory of a process, as its guard measures it, and the directory for what it has no room for. Shared by all
/// workers.
pub(crate) struct SpillSpace {
    directory: PathBuf,
    limit: u64,
    workers: u64,
    /// The memory of the process.
    resident: AtomicU64,
    /// The memory of the tables of all workers, as far as it was measured.
    tables: AtomicI64,
    highest: Mutex<Highest>,
    /// True once a pane could not be written.
    is_full: AtomicBool,
    /// True once it was said that the directory lies in memory.
    is_in_memory: AtomicBool,
    warn: Box<dyn Fn(&str) + Send + Sync>,
    /// True if everything is spilled after each batch, for tests.
    is_forced: bool,
    /// The number of panes that were read back.
    #[cfg(test)]
    read: AtomicU64,
    /// The number of panes that can be read back.
    #[cfg(test)]
    readable: u64,
}

/// The highest memory of the process so far, and that of its tables then.
#[derive(Clone, Copy, Default)]
struct Highest {
    resident: u64,
    tables: i64,
}

redacted!(SpillSpace);

#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "the guard of memory is a part of the command"))]
impl SpillSpace {
    /// Keeps a process of so many workers below a limit of memory.
    pub(crate) fn new(
        directory: PathBuf,
        (limit, workers): (u64, usize),
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> SpillSpace {
        SpillSpace {
            directory,
            limit,
            workers: workers.max(1) as u64,
            resident: AtomicU64::new(0),
            tables: AtomicI64::new(0),
            highest: Mutex::default(),
            is_full: AtomicBool::new(false),
            is_in_memory: AtomicBool::new(false),
            warn: Box::new(warn),
            is_forced: false,
            #[cfg(test)]
            read: AtomicU64::new(0),
            #[cfg(test)]
            readable: u64::MAX,
        }
    }

    /// Spills everything after each batch, or half of it in turns.
    #[cfg(test)]
    pub(super) fn forced(self) -> SpillSpace {
        SpillSpace { is_forced: true, ..self }
    }

    /// Fails to read a pane back after so many.
    #[cfg(test)]
    pub(super) fn readable(self, panes: u64) -> SpillSpace {
        SpillSpace { readable: panes, ..self }
    }

    /// The number of panes that were read back.
    #[cfg(test)]
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Takes note of the memory of the process; returns how much of it is in use.
    ///
    /// An allocator keeps what is given back to it for what comes next, so the memory of the process does not become
    /// less with its tables. So what they held when it was at its highest, and do not hold now, is not in use.
    pub(crate) fn note_memory(&self, resident: u64) -> u64 {
        self.resident.store(resident, Ordering::Relaxed);
        if self.is_full.load(Ordering::Relaxed) {
            return resident;
        }
        let tables = self.tables.load(Ordering::Relaxed);
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        if resident > highest.resident {
            *highest = Highest { resident, tables };
        }
        let free = highest.tables.saturating_sub(tables).max(0) as u64;
        resident.min(highest.resident.saturating_sub(free))
    }

    fn resident(&self) -> u64 {
        self.resident.load(Ordering::Relaxed)
    }

    /// Returns a part of the limit, in percent.
    fn part(&self, percent: u64) -> u64 {
        // Without overflow: a limit may be any number.
        (u128::from(self.limit) * u128::from(percent) / 100) as u64
    }

    /// The memory of the largest pane that is spilled.
    pub(super) fn largest(&self) -> usize {
        usize::try_from(self.part(LARGEST) / self.workers).unwrap_or(usize::MAX)
    }

    /// Makes a file, and warns once where it lies in memory.
    fn file(&self) -> io::Result<SpillFile> {
        let made = SpillFile::create(&self.directory)?;
        if is_in_memory(&made.file) && !self.is_in_memory.swap(true, Ordering::Relaxed) {
            (self.warn)(&format!(
                "limits.spill: {} is a file system in memory, so open windows that are written there leave the process and \
                 stay in the memory of the machine; name a directory on a disk",
                self.directory.display()
            ));
        }
        Ok(made)
    }

    /// Goes on without spilling, and warns once.
    fn give_up(&self, error: &io::Error) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            (self.warn)(&format!(
                "limits.spill: open windows cannot be written to {}: {error}; they stay in memory, and reading stops at four \
                 fifths of limits.memory",
                self.directory.display()
            ));
        }
    }
}

/// The decision of one worker how much of its tables is spilled, and when.
///
/// Once the process holds [60 percent](SPILL) of its limit, tables are capped at what they hold then, and at three quarters
/// of that each time it still grows by [2 percent](STEP). Where they reach the cap, they are spilled down to half of it.
pub(super) struct SpillBudget {
    space: Arc<SpillSpace>,
    /// The memory of the process at which the cap becomes less.
    mark: u64,
    cap: Option<usize>,
    /// The records since the last measurement.
    records: usize,
    /// The memory of the tables at the last measurement.
    measured: usize,
}

impl SpillBudget {
    pub(super) fn new(space: Arc<SpillSpace>) -> SpillBudget {
        let mark = space.part(SPILL);
        SpillBudget { space, mark, cap: None, records: 0, measured: 0 }
    }

    pub(super) fn space(&self) -> &SpillSpace {
        &self.space
    }

    /// Returns true if the tables should be measured, after this number of records more.
    pub(super) fn is_due(&mut self, records: usize) -> bool {
        let space = Arc::clone(&self.space);
        if space.is_forced || space.is_full.load(Ordering::Relaxed) {
            return space.is_forced;
        }
        self.records += records;
        if self.cap.is_some() && space.resident() < space.part(RELAX) {
            (self.cap, self.mark) = (None, space.part(SPILL));
            self.note(0);
        }
        space.resident() >= self.mark || (self.cap.is_some() && self.records >= MEASURED)
    }

    /// Returns the memory that tables which hold this much should hold at most; `None` if they may hold more.
    pub(super) fn target(&mut self, held: usize) -> Option<usize> {
        self.records = 0;
        self.note(held);
        let space = &*self.space;
        if space.is_forced {
            // All of it, or half.
            self.mark ^= 1;
            return Some(held / 2 * (self.mark & 1) as usize);
        }
        let resident = space.resident();
        let is_over = resident >= self.mark;
        if is_over {
            let less = |cap: usize| cap.min(held) / 4 * 3;
            self.cap = Some(self.cap.map_or(held, less).max(LEAST));
            self.mark = resident.saturating_add(space.part(STEP));
        }
        self.cap.filter(|cap| is_over || held > *cap).map(|cap| cap / 2)
    }

    /// Takes note of what the tables hold.
    pub(super) fn note(&mut self, held: usize) {
        self.space.tables.fetch_add(held as i64 - self.measured as i64, Ordering::Relaxed);
        self.measured = held;
    }

    /// Returns true while tables are capped.
    pub(super) fn is_tight(&self) -> bool {
        self.cap.is_some()
    }

    /// Returns true if a pane of this memory is worth being spilled.
    pub(super) fn is_worth(&self, bytes: usize) -> bool {
        bytes >= SMALLEST
    }
}

impl Drop for SpillBudget {
    fn drop(&mut self) {
        self.note(0);
    }
}

/// The length of a block in the file.
const BLOCK: usize = if cfg!(test) { 128 } else { 1 << 16 };
/// The length of the tag of a block.
const TAG: usize = 16;
/// The length of what is in a block.
const CONTENT: usize = BLOCK - TAG;

/// A temporary file of one worker.
pub(super) struct SpillFile {
    file: File,
    cipher: XChaCha20Poly1305,
    /// The number of the next block that is written: its nonce.
    next: u64,
    /// The number of blocks in the file.
    blocks: u32,
    /// The blocks that nothing needs any more.
    free: Vec<u32>,
}

redacted!(SpillFile);

/// A pane in the file.
pub(super) struct SpilledPane {
    /// The places of its blocks.
    blocks: Vec<u32>,
    /// The number of the first one; those of the others follow.
    first: u64,
    /// The number of bytes in the last block.
    last: usize,
    /// The memory that it held.
    pub(super) bytes: usize,
}

redacted!(SpilledPane);

/// The reason why a pane cannot be read back.
#[derive(Clone, Debug)]
pub(super) enum SpillError {
    /// The file could not be read.
    Unreadable(io::ErrorKind),
    /// It has another content than was written.
    Changed,
}

impl From<SpillError> for RunError {
    fn from(error: SpillError) -> RunError {
        let why = match error {
            SpillError::Unreadable(kind) => format!("cannot be read back: {kind}"),
            SpillError::Changed => "has another content than was written to it".to_owned(),
        };
        RunError::abandoned(format!(
            "limits.spill: the temporary file of open windows {why}; nothing incomplete was released; start again, with \
             another directory or more memory"
        ))
    }
}

impl SpillFile {
    /// Makes a file in a directory, and removes its name.
    fn create(directory: &Path) -> io::Result<SpillFile> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(io::Error::other)?;
        let (file, cipher) = (nameless(directory)?, XChaCha20Poly1305::new((&*key).into()));
        Ok(SpillFile { file, cipher, next: 0, blocks: 0, free: Vec::new() })
    }

    /// Writes a pane; `pieces` gives the pieces that it is [read](SpillFile::reader) in.
    fn write(
        &mut self,
        bytes: usize,
        pieces: impl FnOnce(&mut SpillWriter<'_>) -> io::Result<()>,
    ) -> io::Result<SpilledPane> {
        let pane = SpilledPane { blocks: Vec::new(), first: self.next, last: 0, bytes };
        let mut writer = SpillWriter { file: self, content: Vec::with_capacity(BLOCK), pane };
        let written = pieces(&mut writer).and_then(|()| writer.block());
        let SpillWriter { mut pane, .. } = writer;
        pane.blocks.shrink_to_fit();
        match written {
            Ok(()) => Ok(pane),
            Err(error) => {
                self.give_back(pane);
                Err(error)
            }
        }
    }

    /// Reads a pane, from its first piece on.
    pub(super) fn reader<'a>(&'a self, pane: &'a SpilledPane) -> SpillReader<'a> {
        SpillReader { file: self, pane, next: 0, content: Vec::new(), at: 0 }
    }

    /// Gives up a pane.
    pub(super) fn give_back(&mut self, pane: SpilledPane) {
        self.free.extend(pane.blocks);
        if self.free.len() as u64 == u64::from(self.blocks) {
            (self.blocks, self.free) = (0, Vec::new());
            // The file is reused if it cannot be shortened.
            let _ = self.file.set_len(0);
        }
    }

    /// Encrypts a block and writes it; returns its place.
    fn write_block(&mut self, content: &mut Vec<u8>) -> io::Result<u32> {
        let number = self.next;
        self.next = number.checked_add(1).ok_or_else(|| io::Error::other("no number is left"))?;
        let sealed = self.cipher.encrypt_in_place(&nonce(number), &[], content);
        sealed.map_err(|_| io::Error::other("a block cannot be encrypted"))?;
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = self.blocks;
                self.blocks = place.checked_add(1).ok_or_else(|| io::Error::other("the file is full"))?;
                place
            }
        };
        if let Err(error) = self.file.write_all_at(content, offset(place)) {
            self.free.push(place);
            return Err(error);
        }
        Ok(place)
    }

    /// Reads a block and decrypts it.
    fn read_block(&self, place: u32, number: u64, content: &mut Vec<u8>) -> Result<(), SpillError> {
        self.file
            .read_exact_at(content, offset(place))
            .map_err(|error| SpillError::Unreadable(error.kind()))?;
        self.cipher.decrypt_in_place(&nonce(number), &[], content).map_err(|_| SpillError::Changed)
    }
}

/// The place of a block in the file, in bytes.
fn offset(place: u32) -> u64 {
    u64::from(place) * BLOCK as u64
}

/// The nonce of the block with this number. The key is of one file, so numbers that differ are enough.
fn nonce(number: u64) -> XNonce {
    let mut nonce = [0; 24];
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    XNonce::from(nonce)
}

/// Returns true if a file lies in memory.
#[cfg(target_os = "linux")]
fn is_in_memory(file: &File) -> bool {
    // The number of tmpfs: `TMPFS_MAGIC` of `statfs(2)`.
    rustix::fs::fstatfs(file).is_ok_and(|of| of.f_type == 0x0102_1994)
}

/// Elsewhere it is not known.
#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &File) -> bool {
    false
}

/// Makes a file that has no name.
fn nameless(directory: &Path) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::open(directory, flags | OFlags::TMPFILE | OFlags::EXCL, mode) {
        return Ok(file.into());
    }
    // Some file systems have none without a name.
    named_once(directory, flags, mode)
}

/// Makes a file, and removes its name.
fn named_once(directory: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(io::Error::other)?;
    let path = directory.join(format!(".discreet-{:032x}", u128::from_le_bytes(name)));
    let file = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)?;
    rustix::fs::unlink(&path)?;
    Ok(file.into())
}

/// The writer of a pane.
pub(super) struct SpillWriter<'a> {
    file: &'a mut SpillFile,
    /// The content of the next block.
    content: Vec<u8>,
    pane: SpilledPane,
}

impl SpillWriter<'_> {
    /// Writes a piece: its length, and the bytes.
    pub(super) fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes(&(bytes.len() as u64).to_le_bytes())?;
        self.bytes(bytes)
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.content.len() == CONTENT {
                self.block()?;
            }
            let (head, rest) = bytes.split_at(bytes.len().min(CONTENT - self.content.len()));
            self.content.extend_from_slice(head);
            bytes = rest;
        }
        Ok(())
    }

    fn block(&mut self) -> io::Result<()> {
        self.pane.last = self.content.len();
        let place = self.file.write_block(&mut self.content)?;
        self.pane.blocks.push(place);
        self.content.clear();
        Ok(())
    }
}

/// The reader of a pane.
pub(super) struct SpillReader<'a> {
    file: &'a SpillFile,
    pane: &'a SpilledPane,
    /// The number of the next block of the pane.
    next: usize,
    content: Vec<u8>,
    at: usize,
}

impl SpillReader<'_> {
    /// Reads the next piece into a buffer.
    pub(super) fn piece(&mut self, bytes: &mut Vec<u8>) -> Result<(), SpillError> {
        bytes.clear();
        self.bytes(8, bytes)?;
        let length = bytes[..].try_into().map(u64::from_le_bytes).map_err(|_| SpillError::Changed)?;
        bytes.clear();
        self.bytes(length, bytes)
    }

    fn bytes(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<(), SpillError> {
        let mut missing = usize::try_from(length).map_err(|_| SpillError::Changed)?;
        while missing > 0 {
            if self.at == self.content.len() {
                self.block()?;
            }
            let rest = self.content.get(self.at..).unwrap_or_default();
            let piece = rest.get(..missing).unwrap_or(rest);
            bytes.extend_from_slice(piece);
            self.at += piece.len();
            missing -= piece.len();
        }
        Ok(())
    }

    fn block(&mut self) -> Result<(), SpillError> {
        let SpillReader { file, pane, next, content, at } = self;
        let place = *pane.blocks.get(*next).ok_or(SpillError::Changed)?;
        let length = if *next + 1 == pane.blocks.len() { pane.last } else { CONTENT };
        content.clear();
        content.resize(length + TAG, 0);
        file.read_block(place, pane.first + *next as u64, content)?;
        (*next, *at) = (*next + 1, 0);
        if content.is_empty() { Err(SpillError::Changed) } else { Ok(()) }
    }
}

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    fn file() -> SpillFile {
        SpillFile::create(&std::env::temp_dir()).unwrap()
    }

    fn write(file: &mut SpillFile, pieces: &[&[u8]]) -> SpilledPane {
        file.write(7, |writer| pieces.iter().try_for_each(|piece| writer.piece(piece))).unwrap()
    }

    fn read(file: &SpillFile, pane: &SpilledPane, pieces: usize) -> Result<Vec<Vec<u8>>, SpillError> {
        let mut reader = file.reader(pane);
        let piece = |_| {
            let mut bytes = Vec::new();
            reader.piece(&mut bytes).map(|()| bytes)
        };
        (0..pieces).map(piece).collect()
    }

    fn content(file: &SpillFile) -> Vec<u8> {
        let mut content = vec![0; file.file.metadata().unwrap().len() as usize];
        file.file.read_exact_at(&mut content, 0).unwrap();
        content
    }

    // Refutes a piece that is cut where a block ends, and a block that is taken for another pane's.
    #[test]
    fn panes_come_back_as_they_were() {
        let mut file = file();
        let long: Vec<u8> = (0..1_000u32).map(|number| number as u8).collect();
        let mut panes = Vec::new();
        for round in 0..50 {
            let pieces: Vec<&[u8]> = vec![&[], &long[..round * 7], &long[round..CONTENT - 8], &long[round..]];
            let pane = write(&mut file, &pieces);
            panes.push((pane, pieces));
            if round % 3 == 2 {
                let (pane, pieces) = panes.swap_remove(round / 4 % panes.len());
                assert_eq!(read(&file, &pane, 4).unwrap(), pieces);
                file.give_back(pane);
            }
        }
        for (pane, pieces) in panes.drain(..) {
            assert_eq!(read(&file, &pane, 4).unwrap(), pieces);
            assert!(matches!(read(&file, &pane, 5), Err(SpillError::Changed)), "there is no fifth piece");
            file.give_back(pane);
        }
        assert_eq!(content(&file).len(), 0, "nothing is left of what nobody needs");
    }

    // Refutes a name that stays, and a file that others can read.
    #[test]
    fn a_file_has_no_name_and_one_reader() {
        use std::os::unix::fs::MetadataExt;
        let directory = std::env::temp_dir().join(format!("discreet-spill-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        for made in [nameless(&directory), named_once(&directory, flags, Mode::RUSR | Mode::WUSR)] {
            let metadata = made.unwrap().metadata().unwrap();
            assert_eq!((metadata.nlink(), metadata.mode() & 0o777), (0, 0o600));
            assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    // Refutes text in the clear, a nonce that is used twice, and a key that is used for two files: equal blocks are
    // equal then.
    #[test]
    fn no_two_blocks_are_alike_and_none_is_readable() {
        let (mut one, mut other) = (file(), file());
        let text = [b'a'; 4 * CONTENT];
        let mut blocks = Vec::new();
        for file in [&mut one, &mut other] {
            for _ in 0..3 {
                // The places of the former pane are used again.
                let pane = write(file, &[&text]);
                blocks.extend(content(file).chunks(BLOCK).map(<[u8]>::to_vec));
                let kept = write(file, &[b"kept"]);
                file.give_back(pane);
                std::mem::forget(kept);
            }
        }
        assert!(blocks.iter().all(|block| !block.windows(3).any(|bytes| bytes == b"aaa")));
        // Those that are full are of the text, and each was written once.
        let full = blocks.iter().filter(|block| block.len() == BLOCK);
        let starts: BTreeSet<&[u8]> = full.clone().map(|block| &block[16..40]).collect();
        assert!(starts.len() >= 2 * 3 * 4 && starts.len() == full.count());
    }

    // Refutes a change that is read as something else, a block in another's place, a former block in its own place, and
    // a panic where the file is shorter than it was.
    #[test]
    fn what_was_changed_in_the_file_is_not_read() {
        let mut file = file();
        let long = [7; 5 * CONTENT];
        let pane = write(&mut file, &[&long]);
        let whole = content(&file);
        for at in [0, 1, 8, CONTENT, BLOCK - 1, BLOCK, whole.len() - 1] {
            file.file.write_all_at(&[whole[at] ^ 1], at as u64).unwrap();
            assert!(matches!(read(&file, &pane, 1), Err(SpillError::Changed)), "at {at}");
            file.file.write_all_at(&[whole[at]], at as u64).unwrap();
        }
        assert!(read(&file, &pane, 1).is_ok());
        // Two blocks change places.
        file.file.write_all_at(&whole[BLOCK..2 * BLOCK], 0).unwrap();
        file.file.write_all_at(&whole[..BLOCK], BLOCK as u64).unwrap();
        assert!(matches!(read(&file, &pane, 1), Err(SpillError::Changed)));
        file.file.write_all_at(&whole, 0).unwrap();
        file.give_back(pane);
        // A former content of the same place.
        let pane = write(&mut file, &[&long]);
        file.file.write_all_at(&whole, 0).unwrap();
        assert!(matches!(read(&file, &pane, 1), Err(SpillError::Changed)));
        file.file.set_len(BLOCK as u64).unwrap();
        file.give_back(pane);
        let pane = write(&mut file, &[&long]);
        file.file.set_len(BLOCK as u64 + 5).unwrap();
        let error = read(&file, &pane, 1).unwrap_err();
        assert!(matches!(error, SpillError::Unreadable(io::ErrorKind::UnexpectedEof)), "{error:?}");
        assert_eq!(RunError::from(error).exit_code(), 70);
    }

    fn space(limit: u64) -> Arc<SpillSpace> {
        Arc::new(SpillSpace::new(std::env::temp_dir(), (limit, 1), |_| {}))
    }

    // Refutes tables that are spilled while there is room, or again and again because the memory of the process does not
    // become less with them.
    #[test]
    fn tables_are_capped_once_the_process_holds_three_fifths() {
        const MB: usize = 1 << 20;
        let space = space(1_000 * MB as u64);
        let mut budget = SpillBudget::new(Arc::clone(&space));
        assert!(!budget.is_due(usize::MAX / 2));
        space.note_memory(599 * MB as u64);
        assert!(!budget.is_due(1));
        space.note_memory(600 * MB as u64);
        assert!(budget.is_due(1));
        assert_eq!(budget.target(300 * MB), Some(150 * MB));
        // They grow again up to the cap, while the process holds what it did.
        assert!(!budget.is_due(MEASURED - 1));
        assert!(budget.is_due(1));
        assert_eq!(budget.target(300 * MB), None);
        assert!(budget.is_due(MEASURED));
        assert_eq!(budget.target(301 * MB), Some(150 * MB));
        // It still grows.
        space.note_memory(620 * MB as u64);
        assert!(budget.is_due(1));
        assert_eq!(budget.target(200 * MB), Some(75 * MB), "half of three quarters of what they held");
        space.note_memory(499 * MB as u64);
        assert!(!budget.is_due(MEASURED));
        space.note_memory(500 * MB as u64);
        assert!(!budget.is_due(MEASURED));
    }

    // Refutes a guard that takes memory for used which tables gave back, and one that takes memory for free which
    // something else has.
    #[test]
    fn memory_that_tables_gave_back_is_free() {
        let space = space(1_000);
        let mut budget = SpillBudget::new(Arc::clone(&space));
        budget.note(300);
        assert_eq!(space.note_memory(800), 800);
        budget.note(100);
        assert_eq!(space.note_memory(800), 600);
        assert_eq!(space.note_memory(550), 550, "the allocator gave it back");
        assert_eq!(space.note_memory(900), 900, "more than ever");
        budget.note(300);
        assert_eq!(space.note_memory(900), 900);
        drop(budget);
        assert_eq!(space.note_memory(900), 800);
    }
}
