//! The files that a rotation has made of an output: the newest rows of a ledger in them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::SinkFormat;
use super::existing_rows::{HeldRows, Unclosed};
use crate::canonical::Digest;
use crate::job::paths::resolve_symlinks;
use crate::job::rotation::RotationName;
use crate::job::siblings::siblings_of;
use crate::job::sources::bytes::{Packing, unpacked};

/// The newest rows of a ledger in a file that a rotation has made of an output.
#[derive(Debug)]
pub(super) struct RotatedRows {
    pub(super) path: PathBuf,
    /// The position and the chain of the newest row.
    pub(super) newest: (i64, Digest),
    /// The names of the rows.
    pub(super) known: HashSet<Digest>,
    /// The last window, if the line that closes it is torn.
    pub(super) unclosed: Option<Unclosed>,
}

impl RotatedRows {
    /// Reads the newest rows of this ledger in the files that a rotation has made of an output, or of the file that it links to.
    ///
    /// Of each order of these files the last one is read that has some: of that of their times, which a copy does not keep, and for
    /// each kind of rotated names of theirs, in both directions: some rotations count upwards.
    pub(super) fn read(path: &Path, format: SinkFormat, ledger: &Digest) -> Option<RotatedRows> {
        let end = resolve_symlinks(path);
        let (mut by_time, mut by_name) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for output in BTreeSet::from([path, &end]) {
            for path in siblings_of(output) {
                if let Some(name) = RotationName::of(output, &path) {
                    by_name.entry(name.shape().to_owned()).or_default().push((name.place(), path.clone()));
                }
                by_time.push((fs::metadata(&path).and_then(|facts| facts.modified()).ok(), path));
            }
        }
        by_time.sort();
        let mut orders: Vec<Vec<PathBuf>> = vec![by_time.into_iter().map(|(_, path)| path).collect()];
        for mut files in by_name.into_values() {
            files.sort();
            let names: Vec<PathBuf> = files.into_iter().map(|(_, path)| path).collect();
            orders.push(names.iter().rev().cloned().collect());
            orders.push(names);
        }
        let mut read: BTreeMap<PathBuf, Option<RotatedRows>> = BTreeMap::new();
        for files in orders {
            for path in files.into_iter().rev() {
                let rows = read.entry(path).or_insert_with_key(|path| RotatedRows::of(path, format, ledger));
                if rows.is_some() {
                    break;
                }
            }
        }
        read.into_values().flatten().max_by_key(|rows| rows.newest)
    }

    /// The rows of one file; `None` if it holds none of this ledger.
    fn of(path: &Path, format: SinkFormat, ledger: &Digest) -> Option<RotatedRows> {
        let held = if Packing::of(path) == Packing::Plain {
            HeldRows::read_end(&File::open(path).ok()?, format, false, path)
        } else {
            HeldRows::read(BufReader::new(opened(path).ok()?), format, false, path)
        };
        let held = held.ok().filter(|held| held.ledger == Some(*ledger))?;
        let HeldRows { newest, known, unclosed, .. } = held;
        Some(RotatedRows { path: path.to_owned(), newest: newest?, known, unclosed })
    }
}

/// Opens a file of releases, packed or not. A packed file that is cut short is read as far as it goes.
pub(super) fn opened(path: &Path) -> io::Result<Box<dyn Read>> {
    if Packing::of(path) == Packing::Plain {
        return Ok(Box::new(File::open(path)?));
    }
    Ok(Box::new(UpToFault(unpacked(path)?)))
}

/// A reader that ends where the one within it fails.
struct UpToFault<R>(R);

impl<R: Read> Read for UpToFault<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.0.read(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Ok(0),
            read => read,
        }
    }
}
