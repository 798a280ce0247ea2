//! The spool: batches of lines that were received, durable before they are acknowledged.
//!
//! A spool is a directory. Its segments, `00000001.jsonl` and so on, hold the lines and nothing else, so that
//! they are read as any log is. Beside them `ids` holds, for each segment, one record for each batch: the
//! hash of its id, the hash of its bytes, and the place where it ends.
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
//! * **A write that fails** is cut off at once, and the batch refused. After a sync that fails, or a cut, the
//!   run ends: what was lost cannot be known.

mod segment;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use segment::{Hash, IDS, RECORD, SpoolSegment, hash, lines_path, numbers, private, records, records_path};

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
    /// The bytes of the open segment that are durable.
    durable: u64,
    is_broken: bool,
}

#[derive(Clone, Copy)]
struct ClosedSegment {
    /// The number of bytes; `None` once the lines were removed.
    length: Option<u64>,
    batches: u64,
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
    /// Opens a spool, or creates one; returns it once everything in it is durable.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or another run has the spool; that one is of the kind
    /// [`WouldBlock`](io::ErrorKind::WouldBlock).
    pub(super) fn open(directory: &Path, bounds: SpoolBounds) -> io::Result<Spool> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory.join(IDS))?;
        let lock = private().read(true).write(true).create(true).open(directory.join(IDS).join(LOCK))?;
        lock.try_lock().map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        let lines = numbers(directory, ".jsonl")?;
        let ids = numbers(&directory.join(IDS), "")?;
        let last = lines.iter().chain(&ids).copied().max().unwrap_or(1).max(1);
        let (mut known, mut closed) = (HashMap::new(), BTreeMap::new());
        for number in lines.iter().chain(&ids).copied().filter(|number| *number != last) {
            closed.insert(number, ClosedSegment { length: None, batches: 0 });
        }
        for (number, segment) in &mut closed {
            if lines.contains(number) {
                segment.length = Some(fs::metadata(lines_path(directory, *number))?.len());
            }
            if ids.contains(number) {
                for (id, bytes, _) in records(&fs::read(records_path(directory, *number))?) {
                    known.insert(id, KnownBatch { bytes, number: 0, segment: *number });
                    segment.batches += 1;
                }
            }
        }
        let segment = SpoolSegment::open(directory, last, |id, bytes| {
            known.insert(id, KnownBatch { bytes, number: 0, segment: last });
        })?;
        let durable = segment.length;
        let open = OpenSpool { segment, closed, known, written: 0, durable, is_broken: false };
        let spool = Spool {
            directory: directory.to_owned(),
            bounds,
            open: Mutex::new(open),
            synced: Mutex::new(0),
            _lock: lock,
        };
        spool.forget(&mut lock_of(&spool.open))?;
        Ok(spool)
    }

    /// Adds a batch, and returns once it is durable.
    ///
    /// # Errors
    ///
    /// The reason for which it is not taken; nothing of it was acknowledged then.
    pub(super) fn add(&self, id: &str, body: &[u8]) -> Result<SpooledBatch, SpoolRefusal> {
        let (number, status) = self.write(id, body)?;
        self.sync(number)?;
        Ok(status)
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
            return Some(SegmentExtent { length: open.durable, is_closed: false });
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

    fn write(&self, id: &str, body: &[u8]) -> Result<(u64, SpooledBatch), SpoolRefusal> {
        let ended = !body.is_empty() && !body.ends_with(b"\n");
        let end: &[u8] = if ended { b"\n" } else { b"" };
        let (id, bytes) = (hash(&[id.as_bytes()]), hash(&[body, end]));
        let mut open = lock_of(&self.open);
        if open.is_broken {
            return Err(SpoolRefusal::Broken);
        }
        if let Some(known) = open.known.get(&id) {
            let is_it = known.bytes == bytes;
            return if is_it {
                Ok((known.number, SpooledBatch::Repeated))
            } else {
                Err(SpoolRefusal::OtherBatch)
            };
        }
        let failed = |error: &io::Error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                SpoolRefusal::NoRoom
            }
            _ => SpoolRefusal::Unwritten,
        };
        let added = (body.len() + end.len() + RECORD) as u64;
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
        if open.is_broken || open.known.contains_key(&id) {
            return Err(SpoolRefusal::Unwritten);
        }
        let segment = &mut open.segment;
        if let Err(error) = segment.append((id, bytes), body, end) {
            let is_cut = segment.cut(segment.length, segment.batches).is_ok();
            open.is_broken = !is_cut;
            return Err(if is_cut { failed(&error) } else { SpoolRefusal::Broken });
        }
        open.written += 1;
        let (number, segment) = (open.written, open.segment.number);
        open.known.insert(id, KnownBatch { bytes, number, segment });
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
        open.durable = open.segment.length;
        let next = SpoolSegment::open(&self.directory, open.segment.number + 1, |_, _| {})?;
        let former = std::mem::replace(&mut open.segment, next);
        let closed = ClosedSegment { length: Some(former.length), batches: former.batches };
        open.closed.insert(former.number, closed);
        open.durable = 0;
        Ok(())
    }

    /// Ends the writing after a sync that has failed. What it has lost cannot be known, and the next one
    /// would not report it; so what was not acknowledged is cut off.
    fn fail(&self, open: &mut OpenSpool) {
        open.is_broken = true;
        let _ = open.segment.lines.set_len(open.durable);
    }

    /// Waits until the batch with this number, and all before it, are durable.
    fn sync(&self, number: u64) -> Result<(), SpoolRefusal> {
        let mut synced = lock_of(&self.synced);
        if *synced >= number {
            return Ok(());
        }
        // All that was written while another sync ran is synced by this one.
        let (covered, segment, length, lines, records) = {
            let open = lock_of(&self.open);
            if open.is_broken {
                return Err(SpoolRefusal::Broken);
            }
            let segment = &open.segment;
            let files = (segment.lines.try_clone(), segment.records.try_clone());
            (open.written, segment.number, segment.length, files.0, files.1)
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
        if open.segment.number == segment {
            open.durable = open.durable.max(length);
        }
        *synced = covered;
        Ok(())
    }
}

impl OpenSpool {
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::job::sources::tests::Place;

    const BOUNDS: SpoolBounds = SpoolBounds { segment: 1 << 20, hold: 1 << 30, remembered: REMEMBERED };

    fn open(place: &Place, bounds: SpoolBounds) -> Spool {
        Spool::open(&place.path("spool"), bounds).unwrap()
    }

    fn text(place: &Place) -> String {
        let mut all = numbers(&place.path("spool"), ".jsonl").unwrap();
        all.sort_unstable();
        all.iter()
            .map(|number| fs::read_to_string(lines_path(&place.path("spool"), *number)).unwrap())
            .collect()
    }

    // Refutes a batch that is written twice, an id that is forgotten with its process, one that stands for
    // other bytes, a last line that runs into the next batch, and a spool that two runs fill.
    #[test]
    fn a_repeated_batch_is_written_once() {
        let place = Place::new("spool-repeated");
        for life in 0..3 {
            let spool = open(&place, BOUNDS);
            let is_new = if life == 0 { SpooledBatch::New } else { SpooledBatch::Repeated };
            assert_eq!(spool.add("one", b"a\nb\n").unwrap(), is_new);
            assert_eq!(spool.add("two", b"c").unwrap(), is_new);
            assert_eq!(spool.add("two", b"c").unwrap(), SpooledBatch::Repeated);
            assert_eq!(spool.add("three", b"").unwrap(), is_new);
            assert_eq!(spool.add("two", b"d"), Err(SpoolRefusal::OtherBatch));
            assert_eq!(text(&place), "a\nb\nc\n");
            let other = Spool::open(&place.path("spool"), BOUNDS).err().unwrap();
            assert_eq!(other.kind(), io::ErrorKind::WouldBlock);
        }
    }

    // Refutes an acknowledged batch that a crash loses, and bytes of one that was not acknowledged and stay,
    // at every byte of either file at which a crash may cut it.
    #[test]
    fn what_a_crash_leaves_is_cut_to_whole_batches() {
        let place = Place::new("spool-crash");
        let spool = open(&place, BOUNDS);
        for (id, body) in [("one", "a\nbb\n"), ("two", "ccc"), ("three", "d\n")] {
            spool.add(id, body.as_bytes()).unwrap();
        }
        drop(spool);
        let paths = [lines_path(&place.path("spool"), 1), records_path(&place.path("spool"), 1)];
        let [lines, records] = paths.clone().map(|path| fs::read(path).unwrap());
        assert_eq!((lines.len(), records.len()), (11, 3 * RECORD));
        for cut_lines in 0..=lines.len() {
            for cut_records in (0..=records.len()).step_by(4) {
                fs::write(&paths[0], &lines[..cut_lines]).unwrap();
                fs::write(&paths[1], &records[..cut_records]).unwrap();
                let whole =
                    [5, 9, 11].iter().filter(|end| **end <= cut_lines).count().min(cut_records / RECORD);
                let spool = open(&place, BOUNDS);
                let kept = [0, 5, 9, 11][whole];
                assert_eq!(text(&place).as_bytes(), &lines[..kept], "{cut_lines} {cut_records}");
                assert_eq!(spool.extent(1), Some(SegmentExtent { length: kept as u64, is_closed: false }));
                let again = if whole >= 2 { SpooledBatch::Repeated } else { SpooledBatch::New };
                assert_eq!(spool.add("two", b"ccc").unwrap(), again, "{cut_lines} {cut_records}");
            }
        }
    }

    // Refutes a batch that is read though a crash may still lose it.
    #[test]
    fn nothing_is_read_before_it_is_durable() {
        let place = Place::new("spool-durable");
        let spool = open(&place, BOUNDS);
        let (number, status) = spool.write("one", b"x").unwrap();
        assert_eq!((spool.extent(1).unwrap().length, status), (0, SpooledBatch::New));
        spool.sync(number).unwrap();
        assert_eq!(spool.extent(1).unwrap().length, 2);
    }

    // Refutes a bound that is passed, a spool that stays full, a segment that is removed while it is needed,
    // and an id that is forgotten with its lines.
    #[test]
    fn a_full_spool_takes_batches_again_once_segments_are_removed() {
        let place = Place::new("spool-full");
        let bounds = SpoolBounds { segment: 100, hold: 1_000, ..BOUNDS };
        let body = [b'x'; 59];
        {
            let spool = open(&place, bounds);
            for number in 0..10 {
                assert_eq!(spool.add(&format!("{number}"), &body), Ok(SpooledBatch::New));
            }
            assert_eq!(spool.held(), 1_000);
            assert_eq!(spool.add("10", &body), Err(SpoolRefusal::Full));
            assert_eq!(spool.add("3", &body), Ok(SpooledBatch::Repeated));
        }
        let spool = open(&place, bounds);
        assert_eq!((spool.add("10", &body), spool.first()), (Err(SpoolRefusal::Full), 1));
        spool.remove_before(3).unwrap();
        assert_eq!((spool.extent(2), spool.first(), spool.held()), (None, 3, 600));
        assert_eq!(spool.add("0", &body), Ok(SpooledBatch::Repeated), "its lines are gone");
        assert_eq!(spool.add("10", &body), Ok(SpooledBatch::New));
        drop(spool);
        assert_eq!(open(&place, bounds).add("0", &body), Ok(SpooledBatch::Repeated), "in another run, too");
        // A single batch may fill it.
        let spool = open(&place, bounds);
        spool.remove_before(u64::MAX).unwrap();
        let most = vec![b'y'; 1_000 - RECORD - 1 - spool.held() as usize];
        assert_eq!(spool.add("most", &most), Ok(SpooledBatch::New));
        assert_eq!(spool.add("more", b""), Err(SpoolRefusal::Full));
        spool.remove_before(u64::MAX).unwrap();
        assert_eq!((spool.held(), spool.add("more", b"")), (0, Ok(SpooledBatch::New)));
    }

    // Refutes ids that are forgotten too early, ones that are never forgotten, and batches beyond what may be
    // remembered.
    #[test]
    fn the_newest_ids_are_remembered() {
        let place = Place::new("spool-ids");
        let bounds = SpoolBounds { remembered: 20, ..BOUNDS };
        let spool = open(&place, bounds);
        let add = |spool: &Spool, number: u64| spool.add(&format!("{number}"), b"x");
        for number in 0..20 {
            assert_eq!(add(&spool, number), Ok(SpooledBatch::New), "{number}");
        }
        assert_eq!(add(&spool, 20), Err(SpoolRefusal::Full));
        for number in 20..200 {
            spool.remove_before(u64::MAX).unwrap();
            assert_eq!(add(&spool, number), Ok(SpooledBatch::New), "{number}");
            let oldest = (number - 19).max(1);
            assert_eq!(add(&spool, oldest), Ok(SpooledBatch::Repeated), "{oldest} at {number}");
        }
        assert!(lock_of(&spool.open).known.len() <= 24);
        drop(spool);
        let spool = open(&place, bounds);
        assert!(lock_of(&spool.open).known.len() <= 24);
        assert_eq!(add(&spool, 181), Ok(SpooledBatch::Repeated));
    }

    // Refutes a segment that holds lines for ever where few arrive, and empty ones that follow one another.
    #[test]
    fn a_segment_is_closed_by_its_age() {
        let place = Place::new("spool-age");
        let spool = open(&place, BOUNDS);
        spool.close_older(Duration::ZERO).unwrap();
        spool.add("one", b"x").unwrap();
        spool.close_older(AGE).unwrap();
        assert_eq!(spool.extent(2), None);
        spool.close_older(Duration::ZERO).unwrap();
        spool.close_older(Duration::ZERO).unwrap();
        assert_eq!(spool.extent(1), Some(SegmentExtent { length: 2, is_closed: true }));
        assert_eq!(spool.extent(2), Some(SegmentExtent { length: 0, is_closed: false }));
        assert_eq!(spool.extent(3), None);
    }

    // Refutes an acknowledgement of another batch's sync, and a batch that is torn by one that comes at once.
    #[test]
    fn batches_of_many_senders_are_whole() {
        let place = Place::new("spool-many");
        let spool = open(&place, SpoolBounds { segment: 500, ..BOUNDS });
        std::thread::scope(|scope| {
            for sender in 0..4 {
                let spool = &spool;
                scope.spawn(move || {
                    for number in 0..20 {
                        let body = format!("{sender} {number}\n").repeat(3);
                        assert_eq!(
                            spool.add(&format!("{sender}-{number}"), body.as_bytes()),
                            Ok(SpooledBatch::New)
                        );
                    }
                });
            }
        });
        let text = text(&place);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4 * 20 * 3);
        assert!(lines.chunks(3).all(|batch| batch[0] == batch[1] && batch[1] == batch[2]));
    }
}
