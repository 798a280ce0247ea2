//! Cutting of a text into chunks of whole lines. The cuts depend on nothing but a file's text: every process
//! that reads the file finds the same chunks, and no two of them the same line.
//!
//! A line end between quotation marks ends the line too: otherwise one person's open mark would hide the
//! lines of others.

use std::time::Duration;

use memchr::{memchr, memrchr};

/// The limits of chunks, lines and blocks, in bytes, and of patience.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The size of a chunk: it holds the lines that begin within this many bytes.
    pub(super) chunk: usize,
    /// The longest line; a longer one is bad, and is not held.
    pub(super) line: usize,
    /// The number of bytes read at once.
    pub(super) block: usize,
    /// The time for which a followed file that lost its name, or ends too soon, is waited for.
    pub(super) patience: Duration,
}

impl Sizes {
    pub(super) const USUAL: Sizes =
        Sizes { chunk: 256 << 10, line: 1 << 20, block: 64 << 10, patience: Duration::from_secs(60) };
}

/// The byte order mark with which some programs begin a text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Some whole lines of one chunk.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) lines: Vec<u8>,
    /// The number of the chunk in its file.
    pub(super) chunk: u64,
    /// True where a quotation mark is among the bytes.
    pub(super) quotes: bool,
    /// The number of lines of this chunk that were too long; they are not in it.
    pub(super) too_long: u64,
}

/// Cuts the text of one file.
pub(super) struct Cutter {
    sizes: Sizes,
    /// The quotation mark that pieces are searched for, if there is one.
    quote: Option<u8>,
    /// The bytes read, from the beginning of a line on; or, in a line that is too long, from anywhere in it.
    held: Vec<u8>,
    /// The position in the text at which the held bytes begin.
    offset: u64,
    in_long_line: bool,
    scan: Scan,
}

/// The progress of the search for line ends in the held text: the end of the searched part, and the beginning
/// of the last known line.
#[derive(Clone, Copy, Default)]
struct Scan {
    to: usize,
    line: usize,
}

impl Cutter {
    pub(super) fn new(sizes: Sizes, quote: Option<u8>) -> Cutter {
        Cutter { sizes, quote, held: Vec::new(), offset: 0, in_long_line: false, scan: Scan::default() }
    }

    /// Appends the bytes that `read` puts into the given buffer; returns their number. The null bytes before a line are
    /// left out: where a log is cut, a program that does not append leaves a hole before its next line.
    pub(super) fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        let before = self.held.len();
        self.held.resize(before + self.sizes.block, 0);
        let read = read(self.held.split_at_mut(before).1);
        self.held.truncate(before + *read.as_ref().unwrap_or(&0));
        if before == 0 && !self.in_long_line && self.held.starts_with(&[0]) {
            self.drop_front(self.held.iter().take_while(|byte| **byte == 0).count());
        }
        read
    }

    /// Removes the next line of the text, once all of it is held, and returns it without its end; at the end of the text,
    /// the remaining bytes. An `Err` where it is too long.
    pub(super) fn next_line(&mut self, ended: bool) -> Result<Option<Vec<u8>>, TooLong> {
        let end = match self.find(0) {
            Some(end) => end,
            None if self.held.len() > self.sizes.line => return Err(TooLong),
            None if ended => self.held.len(),
            None => return Ok(None),
        };
        let line = self.held.get(..end).map(|line| without_end(line).to_vec());
        self.drop_front(end);
        Ok(line)
    }

    /// Skips the byte order mark with which some programs begin a text.
    pub(super) fn skip_mark(&mut self, ended: bool) -> bool {
        if self.held.starts_with(BYTE_ORDER_MARK) {
            self.drop_front(BYTE_ORDER_MARK.len());
        }
        ended || self.held.len() >= BYTE_ORDER_MARK.len() || !BYTE_ORDER_MARK.starts_with(&self.held)
    }

    /// Creates the cutter of a text from a position in it, at which a line begins.
    pub(super) fn resumed(sizes: Sizes, quote: Option<u8>, offset: u64) -> Cutter {
        Cutter { offset, ..Cutter::new(sizes, quote) }
    }

    /// Returns the number of bytes that were read and not cut; `None` in the middle of a line that is too long.
    pub(super) fn pending(&self) -> Option<u64> {
        (!self.in_long_line).then_some(self.held.len() as u64)
    }

    /// Frees the room beyond the held bytes, which a text that waits for more does not need.
    pub(super) fn shrink(&mut self) {
        self.held.shrink_to_fit();
    }

    /// Returns true if nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns the rest of a chunk, if all of it has been read; `spare` becomes the buffer of the text that
    /// follows.
    pub(super) fn cut(&mut self, spare: impl FnOnce() -> Vec<u8>) -> Option<Piece> {
        if self.in_long_line {
            let end = self.find(0);
            self.in_long_line = end.is_none();
            match end {
                Some(end) => self.drop_front(end),
                None => self.forget_all(),
            }
            if self.in_long_line {
                return None;
            }
        }
        let size = self.sizes.chunk as u64;
        let (chunk, within) = (self.offset / size, self.offset % size);
        // The line end at or after the last byte of the chunk's span.
        let from = usize::try_from(size - 1 - within).unwrap_or(usize::MAX);
        if let Some(end) = self.find(from) {
            return Some(self.split(end, chunk, 0, spare));
        }
        // One more byte than a line may have, and two that might be its end at the end of the text.
        if self.held.len() - self.scan.line > self.sizes.line + 2 {
            let piece = self.split(self.scan.line, chunk, 1, spare);
            self.forget_all();
            self.in_long_line = true;
            return Some(piece);
        }
        None
    }

    /// Returns the whole lines that are held, of which more may come in the same chunk.
    pub(super) fn cut_lines(&mut self, spare: impl FnOnce() -> Vec<u8>) -> Option<Piece> {
        if self.in_long_line || self.scan.line == 0 {
            return None;
        }
        let chunk = self.offset / self.sizes.chunk as u64;
        Some(self.split(self.scan.line, chunk, 0, spare))
    }

    /// Returns the rest at the end of the text: lines, and a last one without an end.
    pub(super) fn finish(&mut self, spare: impl FnOnce() -> Vec<u8>) -> Option<Piece> {
        if self.in_long_line || self.held.is_empty() {
            return None;
        }
        let chunk = self.offset / self.sizes.chunk as u64;
        Some(self.split(self.held.len(), chunk, 0, spare))
    }

    fn split(&mut self, end: usize, chunk: u64, too_long: u64, spare: impl FnOnce() -> Vec<u8>) -> Piece {
        let mut rest = spare();
        rest.clear();
        rest.extend_from_slice(self.held.get(end..).unwrap_or_default());
        let mut lines = std::mem::replace(&mut self.held, rest);
        lines.truncate(end);
        let quotes = self.quote.is_some_and(|quote| memchr(quote, &lines).is_some());
        self.offset += end as u64;
        self.scan = Scan::default();
        Piece { lines, chunk, quotes, too_long }
    }

    fn drop_front(&mut self, end: usize) {
        self.held.drain(..end.min(self.held.len()));
        self.offset += end as u64;
        self.scan = Scan::default();
    }

    /// Drops all held bytes, in the middle of a line.
    fn forget_all(&mut self) {
        self.offset += self.held.len() as u64;
        self.held.clear();
        self.scan = Scan::default();
    }

    /// The position of the first line end at or after `from`.
    fn find(&mut self, from: usize) -> Option<usize> {
        let held = &self.held[..];
        let start = self.scan.to.max(from);
        let end = held.get(start..).and_then(|rest| memchr(b'\n', rest)).map(|at| start + at + 1);
        let before = held.get(self.scan.line..from.min(held.len())).unwrap_or_default();
        if let (None, Some(at)) = (end, memrchr(b'\n', before)) {
            self.scan.line += at + 1;
        }
        self.scan.to = held.len().max(self.scan.to);
        end
    }
}

/// The error for a line that is longer than allowed.
#[derive(Debug)]
pub(super) struct TooLong;

/// Returns a line without its end: a line feed, and the carriage return that may stand before it.
#[inline]
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
#[path = "cutter/tests.rs"]
mod tests;
