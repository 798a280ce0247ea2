//! The unpacked bytes of a file, in any compression.

use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::dealer::Progress;

/// The number of bytes read from a file at once.
const BLOCK: usize = 64 << 10;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::job) enum Packing {
    Plain,
    Gzip,
    Bzip2,
    Zstandard,
}

impl Packing {
    /// The compression by a file's name.
    pub(in crate::job) fn of(path: &Path) -> Packing {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Packing::Gzip,
            Some("bz2") => Packing::Bzip2,
            Some("zst") => Packing::Zstandard,
            _ => Packing::Plain,
        }
    }

    /// The compression by the first bytes, where there is no name.
    fn sniffed(head: &[u8]) -> Packing {
        match head {
            [0x1f, 0x8b, 0x08, ..] => Packing::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstandard,
            _ => Packing::Plain,
        }
    }

    /// Unpacks these bytes. All of it streams: a decoder holds a window, of 32 MB at the most.
    fn open(self, packed: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
        match self {
            Packing::Plain => Box::new(packed),
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Packing::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
            Packing::Zstandard => Box::new(Frames::new(packed)),
        }
    }
}

/// The bytes of a file, unpacked.
pub(in crate::job) fn unpacked(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    of_file(path, &Progress::of(None))
}

/// The unpacked bytes of a file.
pub(super) fn of_file(path: &Path, progress: &Arc<Progress>) -> io::Result<Box<dyn Read + Send>> {
    let counted = CountedReader { inner: File::open(path)?, progress: Arc::clone(progress) };
    Ok(match Packing::of(path) {
        // Blocks are read directly into the caller's buffer.
        Packing::Plain => Box::new(counted),
        packing => packing.open(BufReader::with_capacity(BLOCK, counted)),
    })
}

/// The unpacked bytes of standard input.
pub(super) fn of_input(progress: &Arc<Progress>) -> io::Result<Box<dyn Read + Send>> {
    of_stream(io::stdin(), progress)
}

fn of_stream(
    stream: impl Read + Send + 'static,
    progress: &Arc<Progress>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut counted = CountedReader { inner: stream, progress: Arc::clone(progress) };
    // A pipe may give a byte at a time.
    let mut head = Vec::new();
    counted.by_ref().take(4).read_to_end(&mut head)?;
    let packing = Packing::sniffed(&head);
    let whole = io::Cursor::new(head).chain(counted);
    Ok(match packing {
        Packing::Plain => Box::new(whole),
        packing => packing.open(BufReader::with_capacity(BLOCK, whole)),
    })
}

/// A reader that adds the bytes read to the progress.
struct CountedReader<R> {
    inner: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.progress.add(read as u64);
        Ok(read)
    }
}

// Zstandard: the frames of a stream, one after the other (RFC 8878 §3).

/// The largest window that is decoded, in bytes. The decoder allocates the size that a frame's header
/// declares, so the header is read first.
const LARGEST: u64 = 32 << 20;

/// The content of all frames of a stream, as one reader.
pub(super) struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(packed: R) -> Frames<R> {
        Frames { packed, decoder: FrameDecoder::new(), inside: false }
    }

    /// Goes on to the next frame; false at the end of the stream.
    fn enter(&mut self) -> io::Result<bool> {
        loop {
            if self.packed.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut head = [0; 14];
            let magic = self.take(&mut head, 0, 4)?;
            match magic {
                0xfd2f_b528 => break self.enter_frame(&mut head),
                // A skippable frame: its length, and that many bytes for other programs.
                0x184d_2a50..=0x184d_2a5f => {
                    let length = self.take(&mut head, 4, 4)?;
                    let skipped = io::copy(&mut self.packed.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                _ => return Err(ErrorKind::InvalidData.into()),
            }
        }
    }

    fn enter_frame(&mut self, head: &mut [u8; 14]) -> io::Result<bool> {
        let descriptor = self.take(head, 4, 1)?;
        let single = descriptor & 0x20 != 0;
        let mut length = 5;
        let mut window = 0;
        if !single {
            let byte = self.take(head, length, 1)?;
            let base = 1 << (10 + (byte >> 3));
            window = base + base / 8 * (byte & 7);
            length += 1;
        }
        let dictionary = [0, 1, 2, 4][(descriptor & 3) as usize];
        self.take(head, length, dictionary)?;
        length += dictionary;
        if single {
            // The window is the content, whose length stands here.
            let size = [1, 2, 4, 8][(descriptor >> 6) as usize];
            window = self.take(head, length, size)?.saturating_add(if size == 2 { 256 } else { 0 });
            length += size;
        }
        if window > LARGEST {
            return Err(Error::new(ErrorKind::OutOfMemory, "a window of more than 32 MB"));
        }
        let head = head.split_at(length).0;
        self.decoder.init(head.chain(&mut self.packed)).map_err(Error::other)?;
        self.inside = true;
        Ok(true)
    }

    /// Reads bytes into their place in the head of a frame; as a number, the lowest first.
    fn take(&mut self, head: &mut [u8; 14], from: usize, length: usize) -> io::Result<u64> {
        let place = head.get_mut(from..from + length).ok_or(ErrorKind::InvalidData)?;
        self.packed.read_exact(place)?;
        Ok(place.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.enter()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(buffer.len().max(1));
                self.decoder.decode_blocks(&mut self.packed, some).map_err(Error::other)?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.inside = false;
            let (stated, found) =
                (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if stated.is_some() && stated != found {
                return Err(Error::new(ErrorKind::InvalidData, "a wrong checksum"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::sources::tests::packed;

    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let few = buffer.len().min(1);
            self.0.read(&mut buffer[..few])
        }
    }

    #[test]
    fn a_stream_is_known_by_how_it_begins_and_however_slowly() {
        let text = "user,value\nada,1\n".repeat(100);
        for packing in [Packing::Plain, Packing::Gzip, Packing::Bzip2, Packing::Zstandard] {
            let bytes = packed(packing, text.as_bytes());
            let bytes: &'static [u8] = Box::leak(bytes.into_boxed_slice());
            let progress = Progress::of(None);
            let mut read = String::new();
            of_stream(Slow(bytes), &progress).unwrap().read_to_string(&mut read).unwrap();
            assert_eq!(read, text, "{packing:?}");
            assert_eq!(progress.read(), bytes.len() as u64);
        }
        let mut read = Vec::new();
        of_stream(&b"BZ"[..], &Progress::of(None)).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, b"BZ");
    }
}

#[cfg(test)]
mod frames_tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::sources::bytes::Packing;
    use crate::job::sources::tests::packed;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Frames::new(bytes).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let text = b"line after line\n".repeat(20_000);
        let frame = packed(Packing::Zstandard, &text);
        let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let all = [&frame[..], &skipped, &frame, &packed(Packing::Zstandard, b"")].concat();
        assert!(read(&all).unwrap() == text.repeat(2));
        assert_eq!(read(b"").unwrap(), b"");
        // Refutes a torn frame that looks like the end.
        for cut in [1, 4, 6, 20, frame.len() - 5, frame.len() - 1, frame.len() + 1, frame.len() + 9] {
            assert!(read(&all[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_frame_that_asks_for_much_memory_is_refused_before_any_is_given() {
        // A window of 2^41, one of 64 MB, and a single segment of 2^40 bytes.
        for head in [&[0, 31 << 3][..], &[0, 16 << 3], &[0xe0, 0, 0, 0, 0, 0, 1, 0, 0]] {
            let bytes = [&[0x28, 0xb5, 0x2f, 0xfd][..], head, &[1, 0, 0]].concat();
            assert_eq!(read(&bytes).unwrap_err().kind(), ErrorKind::OutOfMemory);
        }
        assert!(read(b"no frame at all").is_err());
    }
}
