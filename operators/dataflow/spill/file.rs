//! The temporary file of one worker: encrypted blocks, each of which holds a piece of a pane.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

use crate::dataflow::driver::RunError;

/// The length of a block in the file.
const BLOCK: usize = if cfg!(test) { 128 } else { 1 << 16 };
/// The length of the tag of a block.
const TAG: usize = 16;
/// The length of what is in a block.
const CONTENT: usize = BLOCK - TAG;

/// A temporary file of one worker.
pub(in crate::dataflow) struct SpillFile {
    pub(super) file: File,
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
pub(in crate::dataflow) struct SpilledPane {
    /// The places of its blocks.
    blocks: Vec<u32>,
    /// The number of the first one; those of the others follow.
    first: u64,
    /// The number of bytes in the last block.
    last: usize,
    /// The memory that it held.
    pub(in crate::dataflow) bytes: usize,
}

redacted!(SpilledPane);

/// The reason why a pane cannot be read back.
#[derive(Clone, Debug)]
pub(in crate::dataflow) enum SpillError {
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
    pub(super) fn create(directory: &Path) -> io::Result<SpillFile> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(io::Error::other)?;
        let (file, cipher) = (nameless(directory)?, XChaCha20Poly1305::new((&*key).into()));
        Ok(SpillFile { file, cipher, next: 0, blocks: 0, free: Vec::new() })
    }

    /// Writes a pane; `pieces` gives the pieces that it is [read](SpillFile::reader) in.
    pub(super) fn write(
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
    pub(in crate::dataflow) fn reader<'a>(&'a self, pane: &'a SpilledPane) -> SpillReader<'a> {
        SpillReader { file: self, pane, next: 0, content: Vec::new(), at: 0 }
    }

    /// Gives up a pane.
    pub(in crate::dataflow) fn give_back(&mut self, pane: SpilledPane) {
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
pub(super) fn is_in_memory(file: &File) -> bool {
    // The number of tmpfs: `TMPFS_MAGIC` of `statfs(2)`.
    rustix::fs::fstatfs(file).is_ok_and(|of| of.f_type == 0x0102_1994)
}

/// Elsewhere it is not known.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_in_memory(_: &File) -> bool {
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
pub(in crate::dataflow) struct SpillWriter<'a> {
    file: &'a mut SpillFile,
    /// The content of the next block.
    content: Vec<u8>,
    pane: SpilledPane,
}

impl SpillWriter<'_> {
    /// Writes a piece: its length, and the bytes.
    pub(in crate::dataflow) fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
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
pub(in crate::dataflow) struct SpillReader<'a> {
    file: &'a SpillFile,
    pane: &'a SpilledPane,
    /// The number of the next block of the pane.
    next: usize,
    content: Vec<u8>,
    at: usize,
}

impl SpillReader<'_> {
    /// Reads the next piece into a buffer.
    pub(in crate::dataflow) fn piece(&mut self, bytes: &mut Vec<u8>) -> Result<(), SpillError> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    fn file() -> SpillFile {
        SpillFile::create(&std::env::temp_dir()).unwrap()
    }

    pub(super) fn write(file: &mut SpillFile, pieces: &[&[u8]]) -> SpilledPane {
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
}
