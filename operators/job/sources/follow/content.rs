//! The identity of a file's content: its first bytes, and the bytes before the position that was reached.
//!
//! A log that rotates changes its name, its inode or its length, and only its content says where reading goes
//! on: a copy of what was read is passed over, a cut file begins anew, a packed sibling holds nothing new.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem};

use super::position::{FileNode, FilePosition, ReachedMark};
use crate::canonical::Digest;
use crate::job::sources::bytes::{self, Packing};
use crate::job::sources::cutter::BYTE_ORDER_MARK;
use crate::job::sources::dealer::Progress;
use crate::job::sources::reader::read_some;

/// The number of bytes behind the first line that are compared. All logs of a table begin with the same line, its header, and
/// with the same comments before it, which tell none of them from another.
const HEAD: usize = 1_024;

/// The longest first line, with the comments before it, that is not counted among them.
const FIRST_LINE: usize = 64 << 10;

/// The number of bytes before the position that are compared.
const TAIL: usize = 256;

/// The number of bytes of a new file in which the last ones of the one before are searched for.
const SEARCHED: usize = 16 << 20;

/// The number of bytes that are read at once of a beginning: more than a first line of usual length and what follows it.
const BEGINNING: usize = 4_096;

/// The number of bytes of two files that are compared at once.
const BLOCK: usize = 64 << 10;

/// The content of a file, as far as it was read.
#[derive(Clone, Default)]
pub(super) struct Content {
    head: Vec<u8>,
    tail: Vec<u8>,
    read: u64,
    /// The first character of comments, if lines may be some: those before the first line count as a part of it.
    comment: Option<u8>,
}

/// The comparison of a file with content that was read.
pub(super) enum Comparison {
    /// It begins with other bytes.
    Other,
    /// It ends before the position, and is equal so far.
    Shorter,
    /// It begins with what was read; the reader goes on behind it.
    Continues(Box<dyn Read + Send>),
}

impl Content {
    /// The largest numbers of first and last bytes that are compared.
    pub(super) const LIMITS: (usize, usize) = (FIRST_LINE + HEAD, TAIL);

    /// Creates the content of a text of which nothing was read, with this first character of comments.
    pub(super) fn new(comment: Option<u8>) -> Content {
        Content { comment, ..Content::default() }
    }

    /// Reads the content of a file of any packing, as far as it decides whether it [is strong](Content::is_strong).
    pub(super) fn beginning(path: &Path, comment: Option<u8>) -> io::Result<Content> {
        let (mut text, mut content) = (bytes::of_file(path, &Progress::of(None))?, Content::new(comment));
        while !content.is_strong() && content.length() < (FIRST_LINE + HEAD + TAIL) as u64 {
            match prefix(&mut text, BEGINNING)? {
                part if part.is_empty() => break,
                part => content.add(&part),
            }
        }
        Ok(content)
    }

    /// Reads the first bytes of a file, and of a plain one the last ones before this length.
    pub(super) fn up_to(length: u64, path: &Path, comment: Option<u8>) -> io::Result<Content> {
        let mut content = Content::beginning(path, comment)?;
        if Packing::of(path) == Packing::Plain && content.length() < length {
            let start = length.saturating_sub(TAIL as u64);
            let tail = prefix(&mut Positioned::at(&File::open(path)?, start), TAIL)?;
            content = Content { tail, read: length, ..content };
        }
        Ok(content)
    }

    /// Reads the content of a whole file, of any packing.
    pub(super) fn of_whole(path: &Path, comment: Option<u8>) -> io::Result<Content> {
        let (mut text, mut content) = (bytes::of_file(path, &Progress::of(None))?, Content::new(comment));
        content.add_until(u64::MAX, &mut text)?;
        Ok(content)
    }

    /// Adds the next bytes up to a position; returns false if there are fewer, as in a packed file in the making.
    pub(super) fn add_until(&mut self, position: u64, text: &mut impl Read) -> io::Result<bool> {
        while self.length() < position {
            let left = usize::try_from(position - self.length()).unwrap_or(BLOCK);
            match prefix(text, left.min(BLOCK)) {
                Err(error) if is_torn(&error) => return Ok(false),
                part => match part? {
                    part if part.is_empty() => return Ok(false),
                    part => self.add(&part),
                },
            }
        }
        Ok(true)
    }

    /// The length from which on first and last bytes tell it from the content of any other file: a shorter beginning may
    /// be that of several. `u64::MAX` while its first bytes are not all known.
    pub(super) fn strong_length(&self) -> u64 {
        let head = self.head.len() as u64;
        if head < self.read { head + TAIL as u64 } else { u64::MAX }
    }

    /// The whole of it, where its first bytes are all that was read.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (self.head.len() as u64 == self.read).then_some(&self.head)
    }

    /// Returns true if it has that length.
    pub(super) fn is_strong(&self) -> bool {
        self.read >= self.strong_length()
    }

    /// Creates the content of a file whose first bytes, and last bytes before the position, are known.
    pub(super) fn known(head: Vec<u8>, tail: Vec<u8>, read: u64) -> Content {
        Content { head, tail, read, comment: None }
    }

    /// The first character of comments, if lines may be some.
    pub(super) fn comment(&self) -> Option<u8> {
        self.comment
    }

    /// Returns content that is known, with the first character of comments that this one has.
    pub(super) fn going_on(&self, known: Content) -> Content {
        Content { comment: self.comment, ..known }
    }

    /// The end of the first line, and of the comments before it, if it is among the first bytes.
    fn first_line(&self) -> Option<usize> {
        let mut from = if self.head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        loop {
            let rest = self.head.get(from..FIRST_LINE.min(self.head.len()))?;
            let end = from + memchr(b'\n', rest)? + 1;
            let is_comment =
                rest.first() == self.comment.as_ref() || rest.starts_with(b"\n") || rest.starts_with(b"\r\n");
            if self.comment.is_none() || !is_comment {
                return Some(end);
            }
            from = end;
        }
    }

    /// Returns the first bytes and the last ones before an earlier position, `ahead` bytes before this one.
    fn marks(&self, ahead: u64) -> (&[u8], &[u8]) {
        let position = self.read - ahead.min(self.read);
        let head = usize::try_from(position).unwrap_or(usize::MAX).min(self.head.len());
        let tail = self.tail.len().saturating_sub(usize::try_from(ahead).unwrap_or(usize::MAX));
        (self.head.get(..head).unwrap_or_default(), self.tail.get(..tail).unwrap_or_default())
    }

    /// Returns the position `ahead` bytes before the end of a file with this content.
    pub(super) fn position(&self, ahead: u64, path: PathBuf, node: FileNode) -> FilePosition {
        let (head, tail) = self.marks(ahead);
        FilePosition {
            path,
            offset: self.read - ahead.min(self.read),
            is_from_start: false,
            head: (head.len() as u64, Digest::of(head)),
            tail: (tail.len() as u64, Digest::of(tail)),
            has_lines: true,
            is_done: true,
            is_settled: true,
            packed: None,
            node,
        }
    }

    /// Returns the place up to which it was read.
    pub(super) fn reached(&self, is_settled: bool) -> ReachedMark {
        ReachedMark { offset: self.read, tail: (self.tail.len() as u64, Digest::of(&self.tail)), is_settled }
    }

    /// Returns true if a file, of any packing, has the bytes before a place that was reached.
    pub(super) fn has_reached(path: &Path, mark: &ReachedMark) -> io::Result<bool> {
        let (length, hash) = mark.tail;
        let Some(start) = mark.offset.checked_sub(length).filter(|_| length <= TAIL as u64) else {
            return Ok(false);
        };
        let mut file: Box<dyn Read + Send> = if Packing::of(path) == Packing::Plain {
            let mut plain = File::open(path)?;
            plain.seek(SeekFrom::Start(start))?;
            Box::new(plain)
        } else {
            let mut packed = bytes::of_file(path, &Progress::of(None))?;
            io::copy(&mut (&mut packed).take(start), &mut io::sink())?;
            packed
        };
        let last = prefix(&mut file, usize::try_from(length).unwrap_or(TAIL))?;
        Ok(last.len() as u64 == length && Digest::of(&last) == hash)
    }

    /// Returns true if the whole text of one file, of any packing, is the beginning of another's.
    pub(super) fn begins(short: &Path, long: &Path) -> io::Result<bool> {
        Content::is_prefix(short, &mut bytes::of_file(long, &Progress::of(None))?)
    }

    /// Returns true if the whole text of a file is the beginning of what a reader has.
    pub(super) fn is_prefix(short: &Path, long: &mut impl Read) -> io::Result<bool> {
        let mut short = bytes::of_file(short, &Progress::of(None))?;
        loop {
            let part = match prefix(&mut short, BLOCK) {
                // It may be in the making.
                Err(error) if is_torn(&error) => return Ok(true),
                part => part?,
            };
            if part.is_empty() {
                return Ok(true);
            }
            if prefix(long, part.len())? != part {
                return Ok(false);
            }
        }
    }

    /// Returns true if two contents have equal first bytes, as far as both were read.
    pub(super) fn begins_like(&self, other: &Content) -> bool {
        let length = self.head.len().min(other.head.len());
        length > 0 && self.head.get(..length) == other.head.get(..length)
    }

    /// Returns true if two contents have other first bytes, as far as both were read: neither is the beginning of the other.
    pub(super) fn differs_from(&self, other: &Content) -> bool {
        let length = self.head.len().min(other.head.len());
        self.head.get(..length) != other.head.get(..length)
    }

    /// The number of bytes that were read.
    pub(super) fn length(&self) -> u64 {
        self.read
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        // One that ends before the position is complete.
        if self.head.len() as u64 == self.read {
            let missing = (FIRST_LINE + HEAD).saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(bytes.get(..missing).unwrap_or_default());
            self.head.truncate(self.first_line().unwrap_or(FIRST_LINE) + HEAD);
        }
        let kept = TAIL.saturating_sub(bytes.len()).min(self.tail.len());
        self.tail.drain(..self.tail.len() - kept);
        self.tail.extend_from_slice(bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default());
        self.read += bytes.len() as u64;
    }

    /// Compares the first bytes of an open file with those that were read: `None` if they differ, false while there are too
    /// few to tell that it is the same text.
    pub(super) fn begins_again(&self, file: &File) -> io::Result<Option<bool>> {
        let found = prefix(&mut Positioned::at(file, 0), self.head.len())?;
        // A hole of null bytes begins like any other.
        let is_equal = found.first() != Some(&0) && self.head.starts_with(&found);
        Ok(is_equal.then_some(found.len() == self.head.len()))
    }

    /// Returns true if a file that takes the place of another one has lines of it: its first ones, or its last ones
    /// anywhere, as where it was trimmed; or if it is at once at least half as long.
    pub(super) fn is_taken_over_by(&self, file: &File) -> io::Result<bool> {
        let length = file.metadata()?.len();
        let searched = usize::try_from(length).unwrap_or(SEARCHED).min(SEARCHED);
        let text = prefix(&mut Positioned::at(file, 0), searched)?;
        // Behind a hole of null bytes a program goes on that does not append.
        Ok(text.first() != Some(&0)
            && (length >= self.read / 2
                || self.begins_again(file)? == Some(true)
                || memmem::find(&text, &self.tail).is_some()))
    }

    /// Returns true if an open file still begins with this content.
    pub(super) fn is_of(&self, file: &File) -> io::Result<bool> {
        Ok(holds(file, 0, &self.head)? && holds(file, self.before_tail(), &self.tail)?)
    }

    fn before_tail(&self) -> u64 {
        self.read - self.tail.len() as u64
    }

    /// Compares a file, of any packing, with this content.
    pub(super) fn compare(&self, path: &Path) -> io::Result<Comparison> {
        if Packing::of(path) == Packing::Plain {
            let mut file = File::open(path)?;
            if self.is_of(&file)? {
                file.seek(SeekFrom::Start(self.read))?;
                return Ok(Comparison::Continues(Box::new(file)));
            }
            let is_shorter = file.metadata()?.len() < self.read;
            let begins = is_shorter && self.head.starts_with(&prefix(&mut file, self.head.len())?);
            return Ok(if begins { Comparison::Shorter } else { Comparison::Other });
        }
        let mut file = bytes::of_file(path, &Progress::of(None))?;
        match self.compare_bytes(&mut file) {
            Ok(Some(true)) => Ok(Comparison::Continues(file)),
            Ok(Some(false)) => Ok(Comparison::Other),
            Ok(None) => Ok(Comparison::Shorter),
            Err(error) if is_torn(&error) => Ok(Comparison::Shorter),
            Err(error) => Err(error),
        }
    }

    /// Reads up to the position; returns true if the bytes are equal, and `None` if there are fewer.
    fn compare_bytes(&self, file: &mut impl Read) -> io::Result<Option<bool>> {
        let found = prefix(file, self.head.len())?;
        if !self.head.starts_with(&found) {
            return Ok(Some(false));
        }
        let between = self.before_tail().saturating_sub(found.len() as u64);
        let passed = found.len() as u64 + io::copy(&mut file.take(between), &mut io::sink())?;
        // Where head and tail overlap, the part of the tail behind the head.
        let last = prefix(file, usize::try_from(self.read.saturating_sub(passed)).unwrap_or(TAIL).min(TAIL))?;
        if passed + (last.len() as u64) < self.read {
            return Ok(None);
        }
        Ok(Some(self.tail.ends_with(&last)))
    }
}

/// Returns true for the error of a packed file that ends too soon: it may still be in the making.
pub(super) fn is_torn(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other
    )
}

/// Returns true if a file has these bytes at a position.
fn holds(file: &File, at: u64, bytes: &[u8]) -> io::Result<bool> {
    Ok(prefix(&mut Positioned::at(file, at), bytes.len())? == bytes)
}

/// A reader with a place of its own in a file that others read, too.
pub(super) struct Positioned<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> Positioned<'a> {
    pub(super) fn at(file: &'a File, at: u64) -> Self {
        Positioned { file, at }
    }
}

impl Read for Positioned<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = read_at(self.file, room, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

pub(super) fn read_at(file: &File, room: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(room, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The next bytes of a reader, fewer at its end.
pub(super) fn prefix(file: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut found = vec![0; length];
    let mut read = 0;
    while let Some(room) = found.get_mut(read..).filter(|room| !room.is_empty()) {
        match read_some(file, room)? {
            0 => break,
            some => read += some,
        }
    }
    found.truncate(read);
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::sources::tests::{Place, packed};

    /// The rest of a file behind what was read; `None` where it is another file.
    fn rest(read: &[u8], file: &Path) -> Result<Vec<u8>, &'static str> {
        let mut content = Content::default();
        // In pieces, as a log grows.
        read.chunks(97).for_each(|bytes| content.add(bytes));
        assert_eq!(content.length(), read.len() as u64);
        match content.compare(file).unwrap() {
            Comparison::Other => Err("another"),
            Comparison::Shorter => Err("shorter"),
            Comparison::Continues(mut reader) => {
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest).unwrap();
                Ok(rest)
            }
        }
    }

    // Refutes a position that is off by one, a comparison of the first bytes alone, and one of the last bytes
    // alone, at every length around the limits of what is compared.
    #[test]
    fn a_file_goes_on_behind_what_was_read_and_nothing_else_does() {
        let place = Place::new("content");
        // Its first line has five bytes.
        let text: Vec<u8> = (0..3_000u32).map(|at| b"abcdefghijklmnop\n"[(at * at % 17) as usize]).collect();
        for packing in [Packing::Plain, Packing::Gzip] {
            let name = if packing == Packing::Plain { "a.log.1" } else { "a.log.1.gz" };
            let path = place.path(name);
            for read in [0, 1, 5, 6, 255, 256, 257, 1_028, 1_029, 1_030, 1_284, 1_285, 1_286, 2_999] {
                let read = &text[..read];
                place.write(name, packed(packing, &text));
                assert_eq!(rest(read, &path), Ok(text[read.len()..].to_vec()), "{}", read.len());
                place.write(name, packed(packing, read));
                assert_eq!(rest(read, &path), Ok(Vec::new()));
                let Some((_, before)) = read.split_last() else { continue };
                place.write(name, packed(packing, before));
                assert_eq!(rest(read, &path), Err("shorter"), "{}", read.len());
                for at in [0, read.len().min(HEAD) - 1, read.len() - 1, read.len().saturating_sub(TAIL)] {
                    let mut other = text.clone();
                    other[at] ^= 0x80;
                    place.write(name, packed(packing, &other));
                    assert_eq!(rest(read, &path), Err("another"), "{} at {at}", read.len());
                    if packing == Packing::Plain {
                        let mut content = Content::default();
                        content.add(read);
                        let file = File::open(&path).unwrap();
                        assert!(!content.is_of(&file).unwrap(), "{} at {at}", read.len());
                        place.write(name, &text);
                        assert!(content.is_of(&File::open(&path).unwrap()).unwrap());
                        place.write(name, before);
                        assert!(!content.is_of(&File::open(&path).unwrap()).unwrap(), "cut");
                    }
                }
            }
        }
    }

    // Refutes a header, which all files of a table have, that tells one of them from another.
    #[test]
    fn what_follows_the_first_line_tells_files_apart() {
        let place = Place::new("content-header");
        for length in [10, 1_023, 1_024, 2_000, FIRST_LINE - 1] {
            let header = format!("{}\n", "h".repeat(length));
            let text = |first: &str| format!("{header}{first}{}", "the same line\n".repeat(200)).into_bytes();
            place.write("a.log", text("another line\n"));
            let mut content = Content::default();
            content.add(&text("one line 123\n"));
            assert_eq!(content.head.len(), header.len() + HEAD, "{length}");
            assert!(matches!(content.compare(&place.path("a.log")).unwrap(), Comparison::Other), "{length}");
            assert!(content.is_strong() && content.whole().is_none());
            let mut short = Content::default();
            short.add(&text("")[..header.len() + HEAD + TAIL - 1]);
            assert!(!short.is_strong(), "{length}");
            short.add(b"t");
            assert!(short.is_strong(), "{length}");
            let mut only = Content::default();
            only.add(header.as_bytes());
            assert!(only.whole() == Some(header.as_bytes()) && !only.is_strong(), "{length}");
        }
    }

    // Refutes comments before the header that tell a file from another one as they do not, and lines that are taken for some.
    #[test]
    fn comments_before_the_first_line_belong_to_it() {
        let comments = format!("\u{feff}{}", "# a line on what this log has\n\n#\r\n\r\n".repeat(50));
        let text = format!("{comments}user\n{}", "ada\n".repeat(1_000));
        let head = |comment: Option<u8>, piece: usize| {
            let mut content = Content::new(comment);
            text.as_bytes().chunks(piece).for_each(|bytes| content.add(bytes));
            assert_eq!((content.length(), content.is_strong()), (text.len() as u64, true));
            content.head.len()
        };
        for piece in [1, 97, text.len()] {
            assert_eq!(head(Some(b'#'), piece), comments.len() + "user\n".len() + HEAD, "{piece}");
            let first = comments.find('\n').unwrap() + 1;
            assert_eq!([head(None, piece), head(Some(b';'), piece)], [first + HEAD; 2], "{piece}");
        }
        // Comments without an end are as long as a first line may be.
        let mut content = Content::new(Some(b'#'));
        content.add(&b"# a comment\n".repeat(10_000));
        assert_eq!((content.head.len(), content.whole()), (FIRST_LINE + HEAD, None));
    }

    // Refutes a packed file that is taken for another one while it is being written.
    #[test]
    fn a_packed_file_in_the_making_is_shorter() {
        let place = Place::new("content-torn");
        let text = b"a line of a log\n".repeat(5_000);
        let whole = packed(Packing::Gzip, &text);
        for length in [1, 5, 9, 40, whole.len() / 2] {
            place.write("a.log.1.gz", &whole[..length]);
            assert_eq!(rest(&text, &place.path("a.log.1.gz")), Err("shorter"), "{length}");
        }
    }
}
