//! The distribution of chunks from the reading thread to the workers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use memchr::memchr_iter;

#[cfg(feature = "arrow")]
use super::columnar::Rows;
use super::cutter::Piece;
use super::input::Crew;
use super::lines::CsvColumns;
use super::receiver::{ReceivedCounts, ReceiverSigns};
use crate::dataflow::{Schedule, SourceError};
use crate::time::{Time, Zone};

/// The number of messages that may wait for a worker before the reading waits.
pub(super) const WAITING: usize = 4;

/// A message to a worker.
pub(super) enum DealerMessage {
    Chunk(LineChunk),
    #[cfg(feature = "arrow")]
    Rows(RowChunk),
    /// All data that was present at this time has been dealt; with the number of the positions behind it,
    /// where they are others than before.
    Mark(Time, Option<u64>),
    /// The number of the positions behind all data that has been dealt.
    Position(u64),
    /// The number of positions behind data that was dealt before the former ones.
    Origin(u64),
    /// The number of such positions that hold across input gaps as well: those of files at their start, and of gaps.
    Start(u64),
    /// The source was not connected between these times, and cannot be read again.
    Gap(Time, Time),
    End,
}

/// Whole lines of one chunk.
pub(super) struct LineChunk {
    pub(super) lines: Vec<u8>,
    /// The number of lines that were too long; they are not in it.
    pub(super) too_long: u64,
    pub(super) quotes: bool,
    /// The columns of their file; `None` where each line names its fields.
    pub(super) columns: Option<Arc<CsvColumns>>,
    /// The number of the chunk among those that this thread has dealt.
    pub(super) number: u64,
    /// The file, and the number of its first line, which is counted where places are reported.
    pub(super) place: Option<(Arc<str>, u64)>,
    /// The latest time of a record that counts.
    pub(super) latest: Time,
}

/// Rows of one file.
#[cfg(feature = "arrow")]
pub(super) struct RowChunk {
    pub(super) rows: Rows,
    /// The number of the chunk among those that this thread has dealt.
    pub(super) number: u64,
    /// The file, and the number of its first row, which is counted where places are reported.
    pub(super) place: Option<(Arc<str>, u64)>,
}

/// The error of the reading thread once no worker takes chunks any more.
#[derive(Debug)]
pub(super) struct DealerGone;

/// The reading thread's side.
pub(super) struct Dealer {
    pub(super) workers: Vec<Sender<DealerMessage>>,
    /// Buffers that the workers return for reuse.
    pub(super) spare: Receiver<Vec<u8>>,
    pub(super) fault: Arc<SourceFault>,
    pub(super) brake: Arc<Brake>,
    /// Alive as long as a worker can still take something.
    pub(super) consumers: Weak<()>,
    /// True where each process deals the lines that it reads among its own workers alone.
    pub(super) is_local: bool,
    pub(super) crew: Crew,
    /// True where lines are counted, so that chunks have the place at which they begin.
    with_places: bool,
    /// The file, and the number of the next line.
    place: Option<(Arc<str>, u64)>,
    given: u64,
    /// The latest time of a record that counts: the end of time, but for an input that is followed.
    pub(super) latest: Time,
    /// Buffers of pieces that belong to other processes.
    kept: Vec<Vec<u8>>,
}

impl Dealer {
    pub(super) fn new(
        workers: Vec<Sender<DealerMessage>>,
        spare: Receiver<Vec<u8>>,
        fault: Arc<SourceFault>,
        brake: Arc<Brake>,
        taken: Weak<()>,
        (alone, with_places): (bool, bool),
        crew: Crew,
    ) -> Dealer {
        let (place, given, latest, kept) = (None, 0, Time::MAX, Vec::new());
        Dealer {
            workers,
            spare,
            fault,
            brake,
            consumers: taken,
            is_local: alone,
            crew,
            with_places,
            place,
            given,
            latest,
            kept,
        }
    }

    /// Deals to one worker, which has the channel of its messages and the token of those that want more.
    #[cfg(test)]
    pub(super) fn to_one(sender: Sender<DealerMessage>, fault: Arc<SourceFault>, wanted: &Arc<()>) -> Dealer {
        let (_, spare) = crossbeam_channel::bounded(4);
        let crew = Crew { process: 0, processes: 1, threads: 1 };
        Dealer::new(vec![sender], spare, fault, Brake::new(), Arc::downgrade(wanted), (true, false), crew)
    }

    /// Begins a new text, whose first `header` lines are not records.
    pub(super) fn begin(&mut self, place: &str, header: u64) {
        self.place = Some((place.into(), 1 + header));
    }

    /// Sends a piece to its worker, if that is one of this process. The worker follows from the turn at which
    /// its file begins and from the place in it, so that all processes agree, whatever else each has read.
    pub(super) fn deal(
        &mut self,
        piece: Piece,
        begins: u64,
        columns: Option<&Arc<CsvColumns>>,
    ) -> Result<(), DealerGone> {
        let place = self.place.clone();
        if let Some((_, line)) = self.place.as_mut().filter(|_| self.with_places) {
            *line += memchr_iter(b'\n', &piece.lines).count() as u64 + piece.too_long;
        }
        let Some(worker) = self.worker(begins.wrapping_add(piece.chunk)) else {
            self.kept.push(piece.lines);
            return Ok(());
        };
        if piece.too_long > 0 {
            self.fault.bad(piece.too_long, place.as_ref().map(|(file, _)| &**file));
        }
        if piece.lines.is_empty() && piece.too_long == 0 {
            return Ok(());
        }
        let (columns, number, latest) = (columns.cloned(), self.given, self.latest);
        let Piece { lines, quotes, too_long, .. } = piece;
        let chunk = LineChunk { lines, too_long, quotes, columns, number, place, latest };
        worker.send(DealerMessage::Chunk(chunk)).map_err(|_| DealerGone)?;
        self.given += 1;
        Ok(())
    }

    /// Sends rows to their worker, if that is one of this process. The worker follows from the turn of their
    /// file and from their chunk in it, as that of a piece does.
    #[cfg(feature = "arrow")]
    pub(super) fn deal_rows(&mut self, rows: Rows, turn: u64) -> Result<(), DealerGone> {
        let place = self.place.clone();
        if let Some((_, row)) = self.place.as_mut().filter(|_| self.with_places) {
            *row += rows.remaining() as u64;
        }
        let Some(worker) = self.worker(turn) else { return Ok(()) };
        let chunk = RowChunk { rows, number: self.given, place };
        worker.send(DealerMessage::Rows(chunk)).map_err(|_| DealerGone)?;
        self.given += 1;
        Ok(())
    }

    /// The worker whose turn it is; `None` where it belongs to another process.
    fn worker(&self, turn: u64) -> Option<&Sender<DealerMessage>> {
        let threads = self.workers.len().max(1) as u64;
        let own = if self.is_local {
            Some(turn % threads)
        } else {
            let first = self.crew.process as u64 * threads;
            (turn % (threads * self.crew.processes.max(1) as u64))
                .checked_sub(first)
                .filter(|own| *own < threads)
        };
        self.workers.get(own? as usize)
    }

    /// Sends a message to every worker.
    pub(super) fn broadcast(&self, message: impl Fn() -> DealerMessage) -> Result<(), DealerGone> {
        self.workers.iter().try_for_each(|worker| worker.send(message()).map_err(|_| DealerGone))
    }

    /// Waits until the brake is released; an `Err` once no worker wants more.
    pub(super) fn wait(&self) -> Result<(), DealerGone> {
        while self.brake.is_pulled() {
            self.wanted()?;
            std::thread::sleep(Duration::from_millis(5));
        }
        self.wanted()
    }

    fn wanted(&self) -> Result<(), DealerGone> {
        if self.consumers.strong_count() == 0 || self.fault.has_failed() { Err(DealerGone) } else { Ok(()) }
    }

    /// A buffer for the next bytes.
    pub(super) fn room(&mut self) -> Vec<u8> {
        self.kept.pop().or_else(|| self.spare.try_recv().ok()).unwrap_or_default()
    }
}

/// The turn at which a file of this name begins: files of one chunk each are to be spread over many workers.
pub(super) fn first_turn(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight) >> 1)
}

// The signals between a job and its reading threads: back-pressure and progress.

/// Stops the reading threads while it is pulled.
#[derive(Debug, Default)]
pub(crate) struct Brake(AtomicBool);

impl Brake {
    pub(crate) fn new() -> Arc<Brake> {
        Arc::default()
    }

    pub(crate) fn pull(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn release(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The progress of the reading: in bytes of the files as they lie on the disk, and in rows of a synthetic
/// log. It is for observers of the job, outside the promise.
#[derive(Debug, Default)]
pub struct Progress {
    total: Option<u64>,
    read: AtomicU64,
    ended: AtomicBool,
    /// The moment at which all data that was present had been dealt; unset before that.
    caught_up: OnceLock<AtomicI64>,
    /// The count of lines that cannot be read.
    fault: OnceLock<Arc<SourceFault>>,
    records: AtomicU64,
    late: AtomicU64,
    ahead: AtomicU64,
    before: AtomicU64,
    files: Mutex<FilesRead>,
    /// The windows of the releases, and the time that they stay open after their end.
    windows: OnceLock<(Vec<Schedule>, Time)>,
    /// The numbers of its receiver.
    received: OnceLock<Arc<ReceivedCounts>>,
}

/// Counts of records that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// The records that were read and are not too far ahead.
    pub records: u64,
    /// Of these, the records that came after each window that could hold them was closed.
    pub late: u64,
    /// The records that were dropped, since they lie further ahead of the clock than `ahead`.
    pub ahead: u64,
    /// Of the records that were read, those before the start of the first window.
    pub before: u64,
}

/// The files of which records were read, as far as they are named to the operator.
#[derive(Debug, Default)]
struct FilesRead(BTreeMap<Arc<str>, FileRead>);

#[derive(Debug)]
struct FileRead {
    /// True while every record that was read of it lies before the first window.
    is_before: bool,
    /// The moment at which a record of it was read last.
    last: Instant,
    is_named: bool,
}

/// The most files that are known at once; of further ones none is named.
const MOST_FILES: usize = 10_000;

impl Progress {
    pub(super) fn of(total: Option<u64>) -> Arc<Progress> {
        Arc::new(Progress { total, ..Progress::default() })
    }

    /// The total number of bytes or rows; `None` where it is unknown.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// The number of bytes read so far, as they lie on the disk.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns true once everything has been read.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The number of lines that could not be read.
    pub fn bad(&self) -> u64 {
        self.fault.get().map_or(0, |fault| fault.bad.load(Ordering::Relaxed))
    }

    /// Sets the count of lines that cannot be read; the first one stays.
    pub(super) fn counts_bad_lines(&self, fault: &Arc<SourceFault>) {
        let _ = self.fault.set(Arc::clone(fault));
    }

    /// Returns the counts of records so far.
    pub fn counts(&self) -> RecordCounts {
        let [records, late, ahead, before] =
            [&self.records, &self.late, &self.ahead, &self.before].map(|count| count.load(Ordering::Relaxed));
        RecordCounts { records, late, ahead, before }
    }

    pub(super) fn count(&self, counts: RecordCounts) {
        let RecordCounts { records, late, ahead, before } = counts;
        let counters =
            [(&self.records, records), (&self.late, late), (&self.ahead, ahead), (&self.before, before)];
        for (count, more) in counters.into_iter().filter(|(_, more)| *more > 0) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Counts records of a file.
    pub(super) fn count_of_file(&self, file: &Arc<str>, counts: RecordCounts) {
        let (read, is_before) =
            (counts.records + counts.ahead, counts.before == counts.records + counts.ahead);
        if read == 0 {
            return;
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = files.0.len() < MOST_FILES;
        match files.0.get_mut(file) {
            Some(known) => {
                known.is_before &= is_before;
                known.last = Instant::now();
            }
            None if has_room => {
                let known = FileRead { is_before, last: Instant::now(), is_named: false };
                files.0.insert(Arc::clone(file), known);
            }
            None => {}
        }
    }

    /// Takes the names of the files of which every record that was read lies before the first window, once nothing has been read
    /// of them for this time.
    pub fn take_files_before(&self, settled: Duration) -> Vec<Arc<str>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |known: &FileRead| known.is_before && !known.is_named && known.last.elapsed() >= settled;
        let new = files.0.iter_mut().filter(|(_, known)| is_new(known));
        let named = new.map(|(file, known)| {
            known.is_named = true;
            Arc::clone(file)
        });
        named.collect()
    }

    /// Sets the windows after whose end a record is late; the first ones stay.
    pub(crate) fn counts_late_records(&self, schedules: Vec<Schedule>, late: Time) {
        let _ = self.windows.set((schedules, late));
    }

    /// Returns the times at which a record is late, once the input is complete up to `declared`: those before
    /// every open window, and since the first one.
    pub(super) fn late_times(&self, declared: Time) -> Range<Time> {
        let Some((schedules, late)) = self.windows.get() else { return 0..0 };
        let of = |schedule: &Schedule| -> Option<Range<Time>> {
            let open = schedule.first_ending_after(declared.saturating_sub(*late));
            let first = schedule.window(0)?.start();
            let end = match schedule.window(open) {
                Some(window) if !schedule.is_bounded() || open < schedule.count() => window.start(),
                _ => schedule.window(open.checked_sub(1)?)?.end(),
            };
            Some(first..end)
        };
        let times = schedules.iter().map(|schedule| of(schedule).unwrap_or(0..0));
        times.reduce(|one, other| one.start.min(other.start)..one.end.min(other.end)).unwrap_or(0..0)
    }

    /// Begins the numbers of a receiver.
    pub(super) fn receives(&self) -> Arc<ReceivedCounts> {
        Arc::clone(self.received.get_or_init(Arc::default))
    }

    /// The numbers of the receiver, if the input has one.
    pub(crate) fn received(&self) -> Option<ReceiverSigns> {
        self.received.get().map(|counts| counts.read())
    }

    pub(super) fn add(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The moment at which all data that was present had been read, while an input is followed.
    pub fn caught_up(&self) -> Option<Time> {
        self.caught_up.get().map(|moment| moment.load(Ordering::Relaxed))
    }

    pub(super) fn catch_up(&self, moment: Time) {
        self.caught_up.get_or_init(AtomicI64::default).store(moment, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

// The shared state of a source's parts: the number of bad lines, and the reason why it ended.

/// The first error of a source, shared by all of its parts.
#[derive(Debug)]
pub(super) struct SourceFault {
    /// The source's name.
    place: String,
    bad: AtomicU64,
    /// The number of them of the present hour, and its start; of all, where the input ends.
    recent: Mutex<(u64, Instant)>,
    limit: u64,
    is_live: bool,
    /// True where other processes read the rest of the input, and count their own lines.
    shared: bool,
    gone: OnceLock<SourceError>,
}

/// The time for which the limit of a live input holds: in a year, single lines add up.
const HOUR: Duration = Duration::from_secs(3_600);

impl SourceFault {
    /// `limit` is of an hour where the input has no end.
    pub(super) fn new(place: String, (limit, is_live): (u64, bool), shared: bool) -> Arc<SourceFault> {
        let (bad, recent) = (AtomicU64::new(0), Mutex::new((0, Instant::now())));
        Arc::new(SourceFault { place, bad, recent, limit, is_live, shared, gone: OnceLock::new() })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Counts lines of a file that cannot be read.
    pub(super) fn bad(&self, lines: u64, file: Option<&str>) {
        self.bad.fetch_add(lines, Ordering::Relaxed);
        let of_hour = {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if self.is_live && recent.1.elapsed() >= HOUR {
                *recent = (0, Instant::now());
            }
            recent.0 = recent.0.saturating_add(lines);
            recent.0
        };
        if of_hour > self.limit {
            let limit = match self.limit {
                1 => "1 line".to_owned(),
                lines => format!("{lines} lines"),
            };
            let of = if self.shared { " of this process's part" } else { "" };
            let within = if self.is_live { " within an hour" } else { "" };
            let file = file.filter(|file| *file != self.place);
            let last = file.map_or(String::new(), |file| format!(", and the last of them is in {file}"));
            let why = format!(
                "more than {limit}{of} cannot be read{within}, which is its limit{last}; see why with `discreet check JOB --sample all`, mend \
                 what writes them, or raise bad.lines"
            );
            self.fail(SourceError::refused(&self.place).because(why));
        }
    }

    /// Reports a line that breaks the declared order, in a source whose local times are of this zone.
    pub(super) fn unsorted(&self, local: Option<Zone>) {
        let repeated = local.map_or(String::new(), |zone| {
            let zone = zone.name();
            format!(" (times without their offset are in no order where the clocks of {zone} are set back)")
        });
        let why = format!(
            "a line is earlier than one before it{repeated}; sort them by time, or say order = \"any\""
        );
        self.fail(SourceError::refused(&self.place).because(why));
    }

    pub(super) fn fail(&self, gone: SourceError) {
        // The first reason is the one that is reported.
        let _ = self.gone.set(gone);
    }

    pub(super) fn check(&self) -> Result<(), SourceError> {
        self.gone.get().map_or(Ok(()), |gone| Err(gone.clone()))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.gone.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    // Refutes a record of an open window that counts as late, and one of a closed window that does not.
    #[test]
    fn a_record_is_late_once_every_window_that_could_hold_it_is_closed() {
        let progress = Progress::default();
        assert!(progress.late_times(1_000).is_empty());
        let tumbling = Schedule::tumbling(Span::microseconds(10), 0, Some(100)).unwrap();
        progress.counts_late_records(vec![tumbling.clone()], 5);
        assert!(progress.late_times(14).is_empty(), "the first window is open for its lateness");
        assert_eq!(progress.late_times(15), 0..10);
        assert_eq!(progress.late_times(34), 0..20);
        assert_eq!(progress.late_times(1_000), 0..100, "and no record behind the last window");
        let both = Progress::default();
        both.counts_late_records(
            vec![tumbling, Schedule::tumbling(Span::microseconds(50), 0, Some(100)).unwrap()],
            0,
        );
        assert!(both.late_times(49).is_empty());
        assert_eq!(both.late_times(60), 0..50, "the longer window is open");
    }

    // Refutes a file that is named though a record of it lies in a window, one that is named twice or while it is read, and one that is
    // not named.
    #[test]
    fn a_file_before_every_window_is_named_once() {
        let progress = Progress::default();
        let [old, new, mixed, empty]: [Arc<str>; 4] = ["old", "new", "mixed", "empty"].map(Arc::from);
        let counts =
            |records, before, ahead| RecordCounts { records, before, ahead, ..RecordCounts::default() };
        for (file, counts) in [
            (&old, counts(3, 3, 0)),
            (&new, counts(3, 0, 0)),
            (&mixed, counts(3, 3, 0)),
            (&empty, counts(0, 0, 0)),
            (&mixed, counts(0, 0, 1)),
            (&old, counts(1, 1, 0)),
        ] {
            progress.count(counts);
            progress.count_of_file(file, counts);
        }
        assert_eq!(progress.counts().before, 7);
        assert!(progress.take_files_before(HOUR).is_empty(), "its records were read just now");
        assert_eq!(progress.take_files_before(Duration::ZERO), [Arc::clone(&old)]);
        progress.count_of_file(&old, counts(1, 1, 0));
        assert!(progress.take_files_before(Duration::ZERO).is_empty());
    }

    // Refutes a limit that is one line off, on either side.
    #[test]
    fn a_limit_is_reached_before_it_is_passed() {
        let fault = SourceFault::new("visits.csv".into(), (2, false), false);
        fault.bad(2, Some("visits.csv"));
        assert!(fault.check().is_ok());
        fault.bad(1, Some("visits.csv"));
        let gone = fault.check().unwrap_err();
        assert!(gone.is_refused());
        let message = gone.to_string();
        assert!(
            message.starts_with("visits.csv: the input was refused: more than 2 lines cannot be read"),
            "{message}"
        );
        assert!(message.ends_with(", mend what writes them, or raise bad.lines"), "{message}");
        assert!(!message.contains("the last of them"), "{message}");
        let of_many = SourceFault::new("logs/*.csv".into(), (2, true), false);
        of_many.bad(3, Some("logs/b.csv"));
        let message = of_many.check().unwrap_err().to_string();
        let words = "more than 2 lines cannot be read within an hour, which is its limit, and the last of them is in logs/b.csv;";
        assert!(message.contains(words), "{message}");
        fault.unsorted(None);
        assert_eq!(fault.check().unwrap_err(), gone, "the first reason stays");
    }
}
