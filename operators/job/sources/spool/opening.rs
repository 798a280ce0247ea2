//! The opening of a spool: what a crash has torn is cut off, and what a hand took away is noticed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Mutex;

use super::end::{self, EndFile, SpoolEnd};
use super::segment::{IDS, SpoolSegment, StoredSegment, numbers, private};
use super::{ClosedSegment, KnownBatch, LOCK, OpenSpool, Spool, SpoolBounds, lock_of};

impl Spool {
    /// Opens a spool, or creates one; returns it once everything in it is durable.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or another run has the spool; that one is of the kind
    /// [`WouldBlock`](io::ErrorKind::WouldBlock).
    pub(in crate::job::sources) fn open(directory: &Path, bounds: SpoolBounds) -> io::Result<Spool> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory.join(IDS))?;
        let lock = private().read(true).write(true).create(true).open(directory.join(IDS).join(LOCK))?;
        lock.try_lock().map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        let mut numbers_there: BTreeSet<u64> = numbers(directory, ".jsonl")?.into_iter().collect();
        numbers_there.extend(numbers(&directory.join(IDS), "")?);
        let (file, end) = EndFile::open(directory)?;
        let (mut known, mut closed) = (HashMap::new(), BTreeMap::new());
        let mut remember = |stored: &StoredSegment, segment, batches: usize| {
            for record in stored.records.iter().take(batches) {
                known.insert(record.id, KnownBatch { bytes: record.bytes, number: 0, segment });
            }
        };
        let last = numbers_there.pop_last();
        for number in numbers_there {
            let stored = StoredSegment::read(directory, number)?;
            remember(&stored, number, stored.batches_there());
            closed.insert(number, stored.closed());
        }
        // The last one is gone on with, if everything is there that was acknowledged.
        let mut segment = None;
        if let Some(last) = last {
            let stored = StoredSegment::read(directory, last)?;
            let whole = stored.whole_batches(directory, last)?;
            remember(&stored, last, whole);
            let previous = last.checked_sub(1).and_then(|number| closed.get(&number));
            segment = match (end, stored.link, previous) {
                (Some(end), Some(_), _) if end.segment < last || stored.holds(&end, whole) => {
                    Some(SpoolSegment::open(directory, last, &stored, whole)?)
                }
                // A crash has torn it before it was begun.
                (Some(end), None, Some(previous))
                    if end.segment < last && stored.length.unwrap_or(0) == 0 =>
                {
                    Some(SpoolSegment::create(directory, last, previous.chain)?)
                }
                // A crash has torn the first one before the spool had an end, so nothing was acknowledged.
                (None, _, None) if last == 1 && stored.is_empty() => {
                    Some(SpoolSegment::create(directory, last, end::unlinked())?)
                }
                _ => None,
            };
            if segment.is_none() {
                closed.insert(last, stored.closed());
            }
        }
        let segment = match segment {
            Some(segment) => segment,
            None => {
                let behind = last.max(end.map(|end| end.segment)).unwrap_or(0);
                SpoolSegment::create(directory, behind.saturating_add(1), end::unlinked())?
            }
        };
        let end = segment.end();
        file.begin(&end)?;
        for place in [directory, &directory.join(IDS)] {
            File::open(place)?.sync_all()?;
        }
        let open = OpenSpool { segment, closed, known, written: 0, end, is_broken: false };
        let spool = Spool {
            directory: directory.to_owned(),
            bounds,
            open: Mutex::new(open),
            synced: Mutex::new(0),
            end: file,
            _lock: lock,
        };
        spool.forget(&mut lock_of(&spool.open))?;
        Ok(spool)
    }

    /// Returns true if nothing is missing that was acknowledged, from a segment on: each later one is there, and
    /// follows the one before it. With the end that a former run has seen, that lies in it, too.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub(in crate::job::sources) fn is_whole(&self, from: u64, seen: Option<&SpoolEnd>) -> io::Result<bool> {
        let open = lock_of(&self.open);
        let last = open.segment.number;
        let mut before = None;
        for number in from..=last {
            let (link, chain) = match open.closed.get(&number) {
                _ if number == last => (open.segment.link, open.segment.chain),
                Some(ClosedSegment { length: Some(_), link: Some(link), chain, is_whole: true, .. }) => {
                    (*link, *chain)
                }
                _ => return Ok(false),
            };
            if before.is_some_and(|before| before != link) {
                return Ok(false);
            }
            before = Some(chain);
        }
        drop(open);
        Ok(match seen {
            Some(end) if end.segment > last => false,
            Some(end) => StoredSegment::read(&self.directory, end.segment)?.holds(end, usize::MAX),
            None => true,
        } && from <= last)
    }
}
