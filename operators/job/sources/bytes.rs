//! The bytes of a file, whatever they are packed in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

use super::brake::Progress;
use super::frames::Frames;

/// How much is read from a file at once.
const BLOCK: usize = 64 << 10;

/// What bytes are packed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Bzip2,
    Zstandard,
}

impl Packing {
    /// By a file's name.
    pub(super) fn of(path: &Path) -> Packing {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Packing::Gzip,
            Some("bz2") => Packing::Bzip2,
            Some("zst") => Packing::Zstandard,
            _ => Packing::Plain,
        }
    }

    /// By how it begins, where there is no name.
    fn sniffed(head: &[u8]) -> Packing {
        match head {
            [0x1f, 0x8b, 0x08, ..] => Packing::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstandard,
            _ => Packing::Plain,
        }
    }

    /// What is packed in these bytes. All of it streams: a decoder holds a window, of 32 MB at the most.
    fn open(self, packed: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
        match self {
            Packing::Plain => Box::new(packed),
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Packing::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
            Packing::Zstandard => Box::new(Frames::new(packed)),
        }
    }
}

/// The unpacked bytes of a file.
pub(super) fn of_file(path: &Path, progress: &Arc<Progress>) -> io::Result<Box<dyn Read + Send>> {
    let counted = CountedReader { inner: File::open(path)?, progress: Arc::clone(progress) };
    Ok(match Packing::of(path) {
        // Blocks are read into their place.
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

/// Tells how much was read.
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
