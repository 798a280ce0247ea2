//! The spool: batches of lines that were received, durable before they are acknowledged.
//!
//! A spool is a directory. Its segments, `00000001.jsonl` and so on, hold the lines and nothing else, so that
//! they are read as any log is. Beside them `ids` holds, for each segment, one record for each batch: the
//! hash of its id, the hash of its bytes, and the place where it ends. The records of all segments are one
//! chain of hashes, and `ids/end` has its end as far as batches were acknowledged ([`end`]).
//!
//! * **A batch is acknowledged once both files are synced.** Batches that arrive while a sync runs share the
//!   next one. Nothing is read before it is synced: what is read and what is acknowledged are the same.
//! * **A batch that is repeated is acknowledged again and not written again.** The same id with other bytes
//!   is refused. Ids outlive the lines: the newest [`REMEMBERED`] ones are known, or those of the newest
//!   [`SEGMENTS`] segments if these are fewer.
//! * **A segment is removed** once the ledger holds a resume position behind it. Until then it counts towards
//!   the bound of the spool, at which batches are refused.
//! * **A crash** may leave bytes without their record, or a record without its bytes, at the end of the last
//!   segment alone: a segment is synced before the next one begins. What was not acknowledged is cut off when
//!   the spool is opened, and its sender sends it again.
//! * **A hand** that removes or cuts a segment, or puts an older copy of the directory in its place, breaks the
//!   chain, or leaves less than its end. Then a new segment begins, whose place in the chain nothing leads to,
//!   so that every start finds it ([`Spool::is_whole`]) until no position before it is left.
//! * **A write that fails** is cut off at once, and the batch refused. After a sync that fails, or a cut, the
//!   run ends: what was lost cannot be known.

mod end;
mod opening;
mod segment;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use end::EndFile;
pub(super) use end::SpoolEnd;
use segment::{Hash, RECORD, SpoolSegment, hash, lines_path, records_path};

/// The bounds of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpoolBounds {
    /// The size from which a segment is closed, in bytes.
    pub(super) segment: u64,
    /// The most bytes of lines and records that are not removed; a batch that would pass it is not taken.
    pub(super) hold: u64,
    /// The number of newest batches whose ids are known.
    pub(super) remembered: u64,
}

/// The number of newest batches whose ids are known.
pub(super) const REMEMBERED: u64 = 250_000;

/// The number of newest segments whose ids are known, at most.
pub(super) const SEGMENTS: usize = 1_000;

/// The share of the remembered batches after which a segment is closed.
const BATCHES: u64 = 10;

/// The age at which a segment that has lines is closed, so that none holds lines for long that nobody needs.
pub(super) const AGE: Duration = Duration::from_secs(15 * 60);

/// The outcome of a batch that was not refused: it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpooledBatch {
    /// It was written.
    New,
    /// It had been written before.
    Repeated,
}

/// The reason for which a batch is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SpoolRefusal {
    /// The spool holds as much as it may.
    Full,
    /// Another batch with other bytes has this id.
    OtherBatch,
    /// The disk has no room.
    NoRoom,
    /// The spool cannot be written at the moment.
    Unwritten,
    /// The spool cannot be written any more.
    Broken,
}

/// The file that the run which receives has locked, in the directory of the records.
const LOCK: &str = "lock";

/// A spool that is open for batches.
pub(super) struct Spool {
    directory: PathBuf,
    bounds: SpoolBounds,
    open: Mutex<OpenSpool>,
    /// The number of batches that are durable. It is locked before the spool.
    synced: Mutex<u64>,
    end: EndFile,
    /// Held for as long as the spool is open.
    _lock: File,
}

struct OpenSpool {
    segment: SpoolSegment,
    /// The segments that are closed, by their numbers.
    closed: BTreeMap<u64, ClosedSegment>,
    /// The batches by the hashes of their ids.
    known: HashMap<Hash, KnownBatch>,
    /// The number of batches that this run has written.
    written: u64,
    /// The end of the open segment, as far as it is durable.
    end: SpoolEnd,
    is_broken: bool,
}

#[derive(Clone, Copy)]
struct ClosedSegment {
    /// The number of bytes that may be read; `None` once the lines were removed.
    length: Option<u64>,
    batches: u64,
    /// The hash of the chain before it; `None` where its records are gone.
    link: Option<Hash>,
    /// The hash of the chain behind it.
    chain: Hash,
    /// True if its lines are those of its records.
    is_whole: bool,
}

/// A batch with its hashes.
pub(super) struct SpoolBatch<'b> {
    id: Hash,
    bytes: Hash,
    body: &'b [u8],
    /// The line end that its last line lacks.
    end: &'static [u8],
}

impl SpoolBatch<'_> {
    pub(super) fn new<'b>(id: &str, body: &'b [u8]) -> SpoolBatch<'b> {
        let is_ended = body.is_empty() || body.ends_with(b"\n");
        let end: &[u8] = if is_ended { b"" } else { b"\n" };
        SpoolBatch { id: hash(&[id.as_bytes()]), bytes: hash(&[body, end]), body, end }
    }
}

#[derive(Clone, Copy)]
struct KnownBatch {
    bytes: Hash,
    /// The number among those that this run has written; 0 for one of a former run.
    number: u64,
    segment: u64,
}

/// The extent of a segment that may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentExtent {
    /// The number of durable bytes.
    pub(super) length: u64,
    /// True if nothing will be added.
    pub(super) is_closed: bool,
}

impl Spool {
    /// The end of what is durable.
    pub(super) fn end(&self) -> SpoolEnd {
        lock_of(&self.open).end
    }

    /// The number of the first segment behind this one that has its lines.
    pub(super) fn next(&self, number: u64) -> Option<u64> {
        let open = lock_of(&self.open);
        let mut later = open.closed.range(number.saturating_add(1)..);
        let closed = later.find(|(_, segment)| segment.length.is_some()).map(|(number, _)| *number);
        closed.or(Some(open.segment.number)).filter(|next| *next > number)
    }

    /// Adds a batch, and returns once it is durable.
    ///
    /// # Errors
    ///
    /// The reason for which it is not taken; nothing of it was acknowledged then.
    pub(super) fn add(&self, batch: &SpoolBatch<'_>) -> Result<SpooledBatch, SpoolRefusal> {
        let (number, status) = self.write(batch)?;
        self.sync(number)?;
        Ok(status)
    }

    /// Returns true if this batch was added before, once it is durable.
    ///
    /// # Errors
    ///
    /// As [`Spool::add`].
    pub(super) fn has(&self, batch: &SpoolBatch<'_>) -> Result<bool, SpoolRefusal> {
        let known = lock_of(&self.open).known(batch)?;
        known.map_or(Ok(false), |number| self.sync(number).map(|()| true))
    }

    /// Returns true once nothing can be written any more.
    pub(super) fn is_broken(&self) -> bool {
        lock_of(&self.open).is_broken
    }

    /// The bytes of lines and records that are not removed.
    pub(super) fn held(&self) -> u64 {
        lock_of(&self.open).held().0
    }

    /// The number of the first segment that has its lines.
    pub(super) fn first(&self) -> u64 {
        let open = lock_of(&self.open);
        let first = open.closed.iter().find(|(_, segment)| segment.length.is_some());
        first.map_or(open.segment.number, |(number, _)| *number)
    }

    /// The extent of a segment; `None` if its lines are not there.
    pub(super) fn extent(&self, number: u64) -> Option<SegmentExtent> {
        let open = lock_of(&self.open);
        if number == open.segment.number {
            return Some(SegmentExtent { length: open.end.length, is_closed: false });
        }
        let length = open.closed.get(&number)?.length?;
        Some(SegmentExtent { length, is_closed: true })
    }

    /// The path of a segment.
    pub(super) fn path(&self, number: u64) -> PathBuf {
        lines_path(&self.directory, number)
    }

    /// Closes the open segment if it has batches and is as old as this.
    ///
    /// # Errors
    ///
    /// If the next one cannot be opened; the spool is as it was.
    pub(super) fn close_older(&self, age: Duration) -> io::Result<()> {
        let is_due = |open: &OpenSpool| open.segment.batches > 0 && open.segment.since.elapsed() >= age;
        // Without waiting for a sync, as long as there is nothing to do.
        if is_due(&lock_of(&self.open)) { self.close_if(is_due) } else { Ok(()) }
    }

    /// Removes the closed segments before this one, which no restart needs.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub(super) fn remove_before(&self, number: u64) -> io::Result<()> {
        let mut open = lock_of(&self.open);
        let mut is_any = false;
        for (closed, segment) in open.closed.range_mut(..number) {
            if segment.length.is_some() {
                match fs::remove_file(lines_path(&self.directory, *closed)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => (segment.length, is_any) = (None, true),
                }
            }
        }
        if is_any { self.forget(&mut open) } else { Ok(()) }
    }

    /// Forgets the ids of the oldest segments, as far as newer ones are enough and their lines are gone.
    fn forget(&self, open: &mut OpenSpool) -> io::Result<()> {
        let mut batches: u64 = open.batches();
        let mut gone = Vec::new();
        for (number, segment) in &open.closed {
            let is_much = batches - segment.batches >= self.bounds.remembered
                || open.closed.len() - gone.len() > SEGMENTS;
            if segment.length.is_some() || !is_much {
                break;
            }
            batches -= segment.batches;
            gone.push(*number);
        }
        if gone.is_empty() {
            return Ok(());
        }
        for number in &gone {
            match fs::remove_file(records_path(&self.directory, *number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => _ = open.closed.remove(number),
            }
        }
        open.known.retain(|_, known| !gone.contains(&known.segment));
        Ok(())
    }

    fn write(&self, batch: &SpoolBatch<'_>) -> Result<(u64, SpooledBatch), SpoolRefusal> {
        let mut open = lock_of(&self.open);
        if let Some(number) = open.known(batch)? {
            return Ok((number, SpooledBatch::Repeated));
        }
        let failed = |error: &io::Error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                SpoolRefusal::NoRoom
            }
            _ => SpoolRefusal::Unwritten,
        };
        let added = (batch.body.len() + batch.end.len() + RECORD) as u64;
        let is_full = self.is_full(&open, added);
        // A segment that fills the spool can be removed once it is closed.
        if is_full || self.is_long(&open) {
            drop(open);
            if let Err(error) = self.close_if(|open| self.is_full(open, added) || self.is_long(open)) {
                return Err(if self.is_broken() { SpoolRefusal::Broken } else { failed(&error) });
            }
            open = lock_of(&self.open);
        }
        if self.is_full(&open, added) {
            return Err(SpoolRefusal::Full);
        }
        // Another request may have brought it in between, or broken the spool.
        if open.is_broken || open.known.contains_key(&batch.id) {
            return Err(SpoolRefusal::Unwritten);
        }
        let segment = &mut open.segment;
        if let Err(error) = segment.append((batch.id, batch.bytes), batch.body, batch.end) {
            let is_cut = segment.cut(segment.length, segment.batches).is_ok();
            open.is_broken = !is_cut;
            return Err(if is_cut { failed(&error) } else { SpoolRefusal::Broken });
        }
        open.written += 1;
        let (number, segment) = (open.written, open.segment.number);
        open.known.insert(batch.id, KnownBatch { bytes: batch.bytes, number, segment });
        Ok((number, SpooledBatch::New))
    }

    fn is_full(&self, open: &OpenSpool, added: u64) -> bool {
        let (bytes, batches) = open.held();
        bytes.saturating_add(added) > self.bounds.hold || batches >= self.bounds.remembered
    }

    fn is_long(&self, open: &OpenSpool) -> bool {
        let OpenSpool { segment, .. } = open;
        segment.length >= self.bounds.segment || segment.batches >= (self.bounds.remembered / BATCHES).max(1)
    }

    /// Closes the open segment if it has batches and is due, and opens the next one. The former segment is
    /// durable before there is a next one: a crash leaves nothing to cut in it.
    fn close_if(&self, is_due: impl Fn(&OpenSpool) -> bool) -> io::Result<()> {
        // No sync of the segment is under way: the system reports an error to one of two.
        let _synced = lock_of(&self.synced);
        let mut open = lock_of(&self.open);
        if open.is_broken || open.segment.batches == 0 || !is_due(&open) {
            return Ok(());
        }
        if let Err(error) = open.segment.sync() {
            self.fail(&mut open);
            return Err(error);
        }
        open.end = open.segment.end();
        let SpoolSegment { number, chain, .. } = open.segment;
        let next = SpoolSegment::create(&self.directory, number + 1, chain)?;
        let SpoolSegment { length, batches, link, .. } = std::mem::replace(&mut open.segment, next);
        let length = Some(length);
        let closed = ClosedSegment { length, batches, link: Some(link), chain, is_whole: true };
        open.closed.insert(number, closed);
        open.end = open.segment.end();
        Ok(())
    }

    /// Ends the writing after a sync that has failed. What it has lost cannot be known, and the next one
    /// would not report it; so what was not acknowledged is cut off.
    fn fail(&self, open: &mut OpenSpool) {
        open.is_broken = true;
        let _ = open.segment.lines.set_len(open.end.length);
    }

    /// Waits until the batch with this number, and all before it, are durable.
    fn sync(&self, number: u64) -> Result<(), SpoolRefusal> {
        let mut synced = lock_of(&self.synced);
        if *synced >= number {
            return Ok(());
        }
        // All that was written while another sync ran is synced by this one.
        let (covered, end, lines, records) = {
            let open = lock_of(&self.open);
            if open.is_broken {
                return Err(SpoolRefusal::Broken);
            }
            let segment = &open.segment;
            let files = (segment.lines.try_clone(), segment.records.try_clone());
            (open.written, segment.end(), files.0, files.1)
        };
        let done = lines
            .map_err(|_| SpoolRefusal::Unwritten)
            .and_then(|lines| lines.sync_data().map_err(|_| SpoolRefusal::Broken))
            .and_then(|()| records.map_err(|_| SpoolRefusal::Unwritten))
            .and_then(|records| records.sync_data().map_err(|_| SpoolRefusal::Broken));
        let mut open = lock_of(&self.open);
        if open.is_broken {
            return Err(SpoolRefusal::Broken);
        }
        match done {
            Ok(()) => {}
            Err(SpoolRefusal::Broken) => {
                self.fail(&mut open);
                return Err(SpoolRefusal::Broken);
            }
            Err(refusal) => return Err(refusal),
        }
        // No segment is closed while a sync runs.
        open.end = end;
        // Without a sync: it is there after the process is killed, and behind what is there after a crash of the
        // machine.
        if self.end.write(&end).is_err() {
            self.fail(&mut open);
            return Err(SpoolRefusal::Broken);
        }
        *synced = covered;
        Ok(())
    }
}

impl OpenSpool {
    /// The number of a batch that was written before; `None` for a new one.
    fn known(&self, batch: &SpoolBatch<'_>) -> Result<Option<u64>, SpoolRefusal> {
        match self.known.get(&batch.id) {
            _ if self.is_broken => Err(SpoolRefusal::Broken),
            Some(known) if known.bytes != batch.bytes => Err(SpoolRefusal::OtherBatch),
            known => Ok(known.map(|known| known.number)),
        }
    }

    /// The number of batches whose ids are known.
    fn batches(&self) -> u64 {
        self.closed.values().map(|segment| segment.batches).sum::<u64>() + self.segment.batches
    }

    /// The bytes and the number of batches that are not removed.
    fn held(&self) -> (u64, u64) {
        let closed = self.closed.values().filter_map(|segment| Some((segment.length?, segment.batches)));
        let all = closed.chain([(self.segment.length, self.segment.batches)]);
        let (bytes, batches) = all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (bytes + batches * RECORD as u64, batches)
    }
}

fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Plain values, consistent between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
