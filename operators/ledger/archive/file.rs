//! The file of an archive: what followed from the rows before it, every row up to its end, and what follows
//! there. It is packed with gzip, and verified without its ledger.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::fields::{
    END, HEAD, RELEASE, SEAL, read_account, read_release, read_statement, write_account, write_release,
    write_statement,
};
use super::floor::restrict;
use crate::canonical::Digest;
use crate::ledger::account::AccountSpec;
use crate::ledger::checkpoint::{Reader, Writer, read_back, written};
use crate::ledger::error::LedgerError;
use crate::ledger::key::LedgerKey;
use crate::ledger::rows::Row;
use crate::ledger::verify::{Chain, Link};
use crate::time::Time;

const TITLE: &[u8] = b"discreet archive 1";

/// The largest record: more than any line, and than what follows from any rows.
const LARGEST: u64 = 1 << 32;

/// The number of rows after which entries of accounts that no later window reads are dropped.
const DROPPED_AFTER: u64 = 4_096;

/// An archive that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The name of its ledger.
    pub ledger: Digest,
    /// The hash of the former archive of the ledger; all zero for the first one.
    pub former: Digest,
    /// The number of the last row before it.
    pub from: i64,
    /// The number of its last row.
    pub until: i64,
    /// The hash of the chain up to its last row.
    pub chain: Digest,
    /// The floor: the windows that end at or before it are in archives alone.
    pub floor: Time,
    /// The number of its rows.
    pub rows: u64,
    /// The fingerprint of the key under which it is authenticated.
    pub key: Digest,
    /// The hash of the file.
    pub hash: Digest,
}

impl Archive {
    /// Verifies an archive by itself: each link of its chain, and that the accounts at its end are those at its
    /// beginning and the sum of its rows.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`](super::super::LedgerErrorKind::Doubt) if it does not add up;
    /// [`LedgerErrorKind::Refused`](super::super::LedgerErrorKind::Refused) if there is none.
    pub fn verify(path: &Path) -> Result<Archive, LedgerError> {
        Archive::read(path, None, &mut |_| Ok(()))
    }

    /// Verifies an archive as [`verify`](Archive::verify) does, and that it was written with this key.
    ///
    /// # Errors
    ///
    /// As [`verify`](Archive::verify), and if the key is another.
    pub fn verify_with_key(path: &Path, key: &LedgerKey) -> Result<Archive, LedgerError> {
        Archive::read(path, Some(key), &mut |_| Ok(()))
    }

    /// Verifies an archive as [`verify`](Archive::verify) does, and gives each release in it to `each`, in
    /// their order.
    ///
    /// # Errors
    ///
    /// As [`verify`](Archive::verify), and any error of `each`. Releases given before an error are not proven.
    pub fn releases(
        path: &Path,
        each: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<Archive, LedgerError> {
        Archive::read(path, None, each)
    }

    fn read(
        path: &Path,
        key: Option<&LedgerKey>,
        each: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<Archive, LedgerError> {
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                LedgerError::refused(format!("archive {}: there is none", path.display()))
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                torn(path)
            }
            _ => trouble(path, &error.to_string()).caused_by(error),
        };
        if !path.metadata().map_err(refuse)?.is_file() {
            return Err(LedgerError::refused(format!("archive {}: not a regular file", path.display())));
        }
        let mut hasher = blake3::Hasher::new();
        let file = Hashing { file: File::open(path).map_err(refuse)?, hasher: &mut hasher };
        let mut from =
            RecordReader { from: GzDecoder::new(BufReader::new(file)), hasher: blake3::Hasher::new() };
        let (kind, head) = from.next().map_err(refuse)?;
        let begun = (kind == HEAD).then(|| begin(&head)).flatten();
        let Begun { former, floor, mut chain } = begun.ok_or_else(|| {
            trouble(path, "it is no archive of a ledger, or one of another version of discreet")
        })?;
        let (ledger, first) = (chain.ledger, chain.sequence);
        let (mut rows, mut next) = (0, DROPPED_AFTER);
        loop {
            let (kind, body) = from.next().map_err(refuse)?;
            match kind {
                END => {
                    restrict(&mut chain, floor);
                    if written(&chain) != body {
                        return Err(trouble(path, "what it says at its end does not follow from its rows"));
                    }
                    break;
                }
                RELEASE => {
                    let row = read_release(&body).ok_or_else(|| torn(path))?;
                    each(&row)?;
                    chain.release(row).map_err(|found| about(path, &found))?;
                }
                kind => {
                    let statement = read_statement(kind, &body).ok_or_else(|| torn(path))?;
                    chain.state(statement).map_err(|found| about(path, &found))?;
                }
            }
            rows += 1;
            if rows >= next {
                // As many rows as there are entries: to drop some costs as much as all of them.
                next = rows + DROPPED_AFTER.max(restrict(&mut chain, floor) as u64);
            }
        }
        let content = from.hasher.finalize();
        let (kind, seal) = from.next().map_err(refuse)?;
        let seal = (kind == SEAL).then(|| read_seal(&seal)).flatten();
        let (fingerprint, mac) = seal.ok_or_else(|| torn(path))?;
        if let Some(key) = key.filter(|key| key.fingerprint() == fingerprint)
            && *authenticated(key, &content).as_bytes() != mac
        {
            return Err(trouble(path, "it was not written with the key of its ledger"));
        }
        let other = key.is_some_and(|key| key.fingerprint() != fingerprint);
        // What follows the last record belongs to no archive; the end of the packed stream has its checksum.
        let more = from.from.read(&mut [0]).map_err(refuse)?;
        let mut rest = from.from.into_inner();
        if more > 0 || io::copy(&mut rest, &mut io::sink()).map_err(refuse)? > 0 {
            return Err(torn(path));
        }
        drop(rest);
        if other {
            return Err(LedgerError::refused(format!(
                "archive {}: it was written with another key, with fingerprint {fingerprint}",
                path.display()
            )));
        }
        let hash = Digest(*hasher.finalize().as_bytes());
        let (until, chain) = (chain.sequence, chain.last);
        Ok(Archive { ledger, former, from: first, until, chain, floor, rows, key: fingerprint, hash })
    }
}

/// An error of an archive.
pub(super) fn trouble(path: &Path, what: &str) -> LedgerError {
    LedgerError::doubt(format!("archive {}: {what}", path.display()))
}

fn torn(path: &Path) -> LedgerError {
    trouble(path, "it is torn or was edited; bring back a copy")
}

fn about(path: &Path, found: &LedgerError) -> LedgerError {
    let found = found.to_string();
    trouble(path, found.strip_prefix("ledger: ").unwrap_or(&found))
}

fn authenticated(key: &LedgerKey, content: &blake3::Hash) -> blake3::Hash {
    blake3::keyed_hash(&key.derive("discreet-dataflow 2026-11 archive of a ledger"), content.as_bytes())
}

/// Writes an archive.
pub(super) struct ArchiveWriter {
    to: GzEncoder<Written>,
    hasher: blake3::Hasher,
    path: std::path::PathBuf,
    former: Digest,
    floor: Time,
    from: i64,
    rows: u64,
}

/// The file, and the hash of what was written to it.
struct Written {
    file: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ArchiveWriter {
    /// Begins an archive of the rows after this chain, in the place of a file that a crash has left.
    pub(super) fn create(
        path: &Path,
        chain: &Chain,
        former: Digest,
        floor: Time,
        stated: &[(i64, AccountSpec, Digest)],
    ) -> Result<ArchiveWriter, LedgerError> {
        let mut open = OpenOptions::new();
        let file = open.write(true).create(true).truncate(true).mode(0o640).open(path);
        let file =
            file.map_err(|error| LedgerError::refused(format!("archive {}: {error}", path.display())))?;
        let file = Written { file: BufWriter::new(file), hasher: blake3::Hasher::new() };
        let to = GzEncoder::new(file, Compression::default());
        let (path, hasher) = (path.to_owned(), blake3::Hasher::new());
        let mut writer = ArchiveWriter { to, hasher, path, former, floor, from: chain.sequence, rows: 0 };
        let mut head = Writer(Vec::new());
        head.bytes(TITLE);
        head.bytes(former.bytes());
        head.number(floor);
        let known = stated.iter().filter(|(sequence, ..)| *sequence <= chain.sequence);
        let known: Vec<&AccountSpec> = known.map(|(_, account, _)| account).collect();
        head.list(known.into_iter(), write_account);
        head.bytes(&written(chain));
        writer.record(HEAD, &head.0)?;
        Ok(writer)
    }

    /// Writes a row of the chain.
    pub(super) fn link(&mut self, link: &Link<'_>) -> Result<(), LedgerError> {
        self.rows += 1;
        match link {
            Link::Release(row) => self.record(RELEASE, &write_release(row)),
            Link::Statement(sequence, statement, held) => {
                let (kind, body) = write_statement(*sequence, statement, held);
                self.record(kind, &body)
            }
        }
    }

    /// Ends the archive, and syncs it.
    pub(super) fn finish(
        mut self,
        chain: &Chain,
        content: &[u8],
        key: &LedgerKey,
    ) -> Result<Archive, LedgerError> {
        self.record(END, content)?;
        let mut seal = Writer(Vec::new());
        seal.bytes(key.fingerprint().bytes());
        seal.bytes(authenticated(key, &self.hasher.finalize()).as_bytes());
        self.record(SEAL, &seal.0)?;
        let ArchiveWriter { to, path, former, floor, from, rows, .. } = self;
        let refuse = |error: io::Error| trouble(&path, &error.to_string()).caused_by(error);
        let Written { mut file, hasher } = to.finish().map_err(refuse)?;
        file.flush().and_then(|()| file.get_ref().sync_all()).map_err(refuse)?;
        Ok(Archive {
            ledger: chain.ledger,
            former,
            from,
            until: chain.sequence,
            chain: chain.last,
            floor,
            rows,
            key: key.fingerprint(),
            hash: Digest(*hasher.finalize().as_bytes()),
        })
    }

    fn record(&mut self, kind: u8, body: &[u8]) -> Result<(), LedgerError> {
        let head = [&[kind][..], &(body.len() as u64).to_be_bytes()].concat();
        self.hasher.update(&head).update(body);
        let wrote = self.to.write_all(&head).and_then(|()| self.to.write_all(body));
        wrote.map_err(|error| trouble(&self.path, &error.to_string()).caused_by(error))
    }
}

/// Hashes a file while it is read.
struct Hashing<'a> {
    file: File,
    hasher: &'a mut blake3::Hasher,
}

impl Read for Hashing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.hasher.update(&into[..count]);
        Ok(count)
    }
}

/// Reads records, and hashes them.
struct RecordReader<R> {
    from: R,
    hasher: blake3::Hasher,
}

impl<R: Read> RecordReader<R> {
    fn next(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 9];
        self.from.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = u64::from_be_bytes(length);
        if length > LARGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Not allocated before it was read: a torn length may be large.
        let mut body = Vec::new();
        (&mut self.from).take(length).read_to_end(&mut body)?;
        if body.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.hasher.update(&head).update(&body);
        Ok((kind, body))
    }
}

struct Begun {
    former: Digest,
    floor: Time,
    chain: Chain,
}

fn begin(head: &[u8]) -> Option<Begun> {
    let mut from = Reader(head);
    if from.bytes()? != TITLE {
        return None;
    }
    let (former, floor) = (from.digest()?, from.number()?);
    let stated = from.list(read_account)?;
    let chain = read_back(from.bytes()?, &stated)?;
    from.0.is_empty().then_some(Begun { former, floor, chain })
}

fn read_seal(body: &[u8]) -> Option<(Digest, [u8; 32])> {
    let mut from = Reader(body);
    let seal = (from.digest()?, from.digest()?.0);
    from.0.is_empty().then_some(seal)
}
