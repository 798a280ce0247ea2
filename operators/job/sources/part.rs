//! One worker's part of an input: lines are parsed here.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crossbeam_channel::{Receiver, Sender, TryRecvError};
use memchr::memchr_iter;

#[cfg(feature = "arrow")]
use super::columnar::Rows;
#[cfg(feature = "arrow")]
use super::dealer::RowChunk;
use super::dealer::{Brake, DealerMessage, LineChunk, Progress, RecordCounts, SourceFault};
use super::identity::PersonIdentity;
use super::line_reader::LineReader;
use super::lines::LineFormat;
use super::maker::{Made, Maker, SourceRecord};
use super::milestones::Milestones;
use super::survey::Survey;
use super::wanted::{CellLayout, LineCells};
use crate::dataflow::{BATCH, Milestone, ORIGIN, Pulled, Source, SourceError, WrittenPosition};
use crate::gate::Positions;
use crate::time::{Time, Zone};

/// The part of a source that one worker reads.
pub(crate) struct SourcePart<P, I> {
    from: PartSource,
    record: PhantomData<fn() -> SourceRecord<P, I>>,
}

enum PartSource {
    Nothing,
    Lines(Box<Lines>),
    Made(Box<Made>),
}

impl<P, I> SourcePart<P, I> {
    pub(super) fn nothing() -> SourcePart<P, I> {
        SourcePart { from: PartSource::Nothing, record: PhantomData }
    }

    pub(super) fn of_lines(lines: Lines) -> SourcePart<P, I> {
        SourcePart { from: PartSource::Lines(Box::new(lines)), record: PhantomData }
    }

    pub(super) fn of_made(made: Made) -> SourcePart<P, I> {
        SourcePart { from: PartSource::Made(Box::new(made)), record: PhantomData }
    }
}

impl<P: PersonIdentity, I: PersonIdentity> Source for SourcePart<P, I> {
    type Record = SourceRecord<P, I>;

    fn pull(&mut self, batch: &mut Vec<SourceRecord<P, I>>) -> Result<Pulled, SourceError> {
        match &mut self.from {
            PartSource::Nothing => Ok(Pulled::End),
            PartSource::Lines(lines) => lines.pull(batch),
            PartSource::Made(made) => made.pull(batch),
        }
    }

    fn resumes(&self) -> bool {
        match &self.from {
            PartSource::Nothing => false,
            PartSource::Lines(lines) => lines.live,
            PartSource::Made(made) => made.is_live(),
        }
    }

    fn resume(&mut self, former: Vec<Positions>) -> Result<(), SourceError> {
        match &mut self.from {
            PartSource::Nothing => {}
            PartSource::Lines(lines) => lines.handle.milestones.begin(former),
            PartSource::Made(made) => made.resume(&former),
        }
        Ok(())
    }

    fn milestone(&mut self) -> Option<Milestone> {
        match &mut self.from {
            PartSource::Nothing => None,
            PartSource::Lines(lines) => lines.milestone(),
            PartSource::Made(made) => made.milestone(),
        }
    }

    fn local_zone(&self) -> Option<Zone> {
        match &self.from {
            PartSource::Lines(lines) => lines.handle.maker.local_zone(),
            PartSource::Nothing | PartSource::Made(_) => None,
        }
    }

    fn written(&mut self, positions: Vec<WrittenPosition>) {
        if let PartSource::Lines(lines) = &mut self.from {
            lines.handle.milestones.set_written(positions);
        }
    }
}

/// The common state of every part: the conversion into records, and the state shared by a source's parts.
pub(super) struct PartContext {
    pub(super) plan: CellLayout,
    pub(super) maker: Maker,
    pub(super) fault: Arc<SourceFault>,
    pub(super) brake: Arc<Brake>,
    pub(super) order: Arc<Chunks>,
    pub(super) progress: Arc<Progress>,
    pub(super) survey: Arc<Survey>,
    pub(super) milestones: Arc<Milestones>,
    /// True for the first worker of a process, which reports the milestones of all.
    pub(super) reports: bool,
    /// A token that keeps the reading thread running while it is held.
    pub(super) _taken: Arc<()>,
}

/// Lines from a reading thread.
pub(super) struct Lines {
    handle: PartContext,
    chunks: Receiver<DealerMessage>,
    spare: Sender<Vec<u8>>,
    format: LineFormat,
    cells: LineCells,
    current: Option<Current>,
    /// The time of the last line.
    latest: Option<Time>,
    /// True for a live source, which is complete by its clock, and never by the content of a line.
    live: bool,
    longest: usize,
    ended: bool,
    /// The latest time of a line since the last milestone.
    since_milestone: Time,
    /// The number of the last milestone that was reached.
    reached: Option<u64>,
    /// The time that is complete, with its milestone, until those before it are reported.
    mark: Option<(Time, Option<u64>)>,
    /// The times at which a record is late.
    late: Range<Time>,
    /// True where the files are counted of which every record lies before the first window.
    names_files: bool,
}

/// The chunk that is being read.
struct Current {
    content: ChunkContent,
    number: u64,
    /// The file, and the number of the next line or row, which is counted where places are reported.
    place: Option<(Arc<str>, u64)>,
    /// The latest time of a record that counts.
    latest: Time,
    /// The time of the line before, which may be in an earlier chunk.
    before: Option<Time>,
    last: Option<Time>,
}

/// The content of a chunk.
enum ChunkContent {
    Lines {
        lines: Vec<u8>,
        at: usize,
        quotes: bool,
    },
    #[cfg(feature = "arrow")]
    Rows(Rows),
}

impl ChunkContent {
    fn is_read(&self) -> bool {
        match self {
            ChunkContent::Lines { lines, at, .. } => *at >= lines.len(),
            #[cfg(feature = "arrow")]
            ChunkContent::Rows(rows) => rows.remaining() == 0,
        }
    }
}

impl Lines {
    pub(super) fn new(
        handle: PartContext,
        chunks: Receiver<DealerMessage>,
        spare: Sender<Vec<u8>>,
        format: LineFormat,
        live: bool,
        longest: usize,
    ) -> Lines {
        let cells = LineCells::new(handle.plan.names.len());
        let names_files = live && handle.survey.has_start();
        Lines {
            handle,
            chunks,
            spare,
            format,
            cells,
            current: None,
            latest: None,
            live,
            longest,
            ended: false,
            since_milestone: Time::MIN,
            reached: None,
            mark: None,
            late: 0..0,
            names_files,
        }
    }

    fn milestone(&mut self) -> Option<Milestone> {
        if self.handle.reports { self.handle.milestones.take() } else { None }
    }

    fn pull<P: PersonIdentity, I: PersonIdentity>(
        &mut self,
        batch: &mut Vec<SourceRecord<P, I>>,
    ) -> Result<Pulled, SourceError> {
        self.handle.fault.check()?;
        // A part that is not resumed begins at the start.
        self.handle.milestones.begin(Vec::new());
        let enough = batch.len() + BATCH;
        // Lines without a record are some work too.
        let mut lines = 4 * BATCH;
        loop {
            if let Some(current) = &mut self.current {
                let (fault, order) =
                    (&*self.handle.fault, self.handle.plan.sorted.then_some(&*self.handle.order));
                let mut counts = RecordCounts::default();
                let reading = ChunkReader {
                    reader: LineReader {
                        format: &self.format,
                        maker: &mut self.handle.maker,
                        cells: &mut self.cells,
                        longest: self.longest,
                    },
                    fault,
                    order,
                    survey: &self.handle.survey,
                    fields: &self.handle.plan.names,
                    latest: &mut self.since_milestone,
                    late: &self.late,
                    counts: &mut counts,
                };
                let whole = reading.read(current, batch, enough, &mut lines);
                self.handle.progress.count(counts);
                if let Some((file, _)) = current.place.as_ref().filter(|_| self.names_files) {
                    self.handle.progress.count_of_file(file, counts);
                }
                self.handle.fault.check()?;
                if !whole {
                    return Ok(self.pulled());
                }
                if let Some(done) = self.current.take() {
                    if self.handle.plan.sorted && !self.handle.order.ends(done.number, done.last) {
                        self.handle.fault.unsorted(self.handle.maker.local_zone());
                        self.handle.fault.check()?;
                    }
                    self.latest = done.last.or(self.latest);
                    match done.content {
                        // With enough spare buffers, this one is dropped.
                        ChunkContent::Lines { lines, .. } => _ = self.spare.try_send(lines),
                        #[cfg(feature = "arrow")]
                        ChunkContent::Rows(_) => {}
                    }
                }
            }
            if let Some((time, milestone)) = self.mark {
                // Other workers may be behind: no window is released from a place that is not reported.
                if self.handle.reports && self.handle.milestones.has_pending(self.reached) {
                    return Ok(Pulled::Idle);
                }
                self.mark = None;
                self.late = self.handle.progress.late_times(time);
                milestone.into_iter().for_each(|number| self.reach(number));
                return Ok(Pulled::Complete(time));
            }
            match self.chunks.try_recv() {
                _ if self.ended => return Ok(Pulled::End),
                Ok(DealerMessage::Chunk(chunk)) => self.begin(chunk),
                #[cfg(feature = "arrow")]
                Ok(DealerMessage::Rows(RowChunk { rows, number, place })) => {
                    self.begin_content(ChunkContent::Rows(rows), number, place, Time::MAX);
                }
                Ok(DealerMessage::Mark(time, milestone)) => self.mark = Some((time, milestone)),
                Ok(DealerMessage::Position(number)) => self.reach(number),
                Ok(DealerMessage::Origin(number)) => self.reach_at(number, Time::MIN),
                Ok(DealerMessage::Start(number)) => self.reach_at(number, ORIGIN),
                Ok(DealerMessage::Gap(start, end)) => return Ok(Pulled::Gap(start, end)),
                Ok(DealerMessage::End) => self.ended = true,
                Err(TryRecvError::Empty) if batch.len() + BATCH > enough => return Ok(self.pulled()),
                Err(TryRecvError::Empty) => return Ok(Pulled::Idle),
                Err(TryRecvError::Disconnected) => {
                    self.handle.fault.check()?;
                    let why = "its reading thread has ended before the source did; start again";
                    return Err(SourceError::lost(self.handle.fault.place()).because(why));
                }
            }
        }
    }

    /// Reports that all lines before these positions were given.
    fn reach(&mut self, number: u64) {
        let latest = std::mem::replace(&mut self.since_milestone, Time::MIN);
        self.reach_at(number, latest);
    }

    fn reach_at(&mut self, number: u64, latest: Time) {
        self.handle.milestones.reach(number, latest);
        self.reached = Some(number);
    }

    fn begin(&mut self, chunk: LineChunk) {
        let LineChunk { lines, too_long, quotes, columns, number, place, latest } = chunk;
        (0..too_long).for_each(|_| self.handle.survey.unsplit(place.clone(), || self.format.too_long()));
        if let Some(columns) = columns {
            self.format = LineFormat::Csv(columns);
        }
        self.begin_content(ChunkContent::Lines { lines, at: 0, quotes }, number, place, latest);
    }

    fn begin_content(
        &mut self,
        content: ChunkContent,
        number: u64,
        place: Option<(Arc<str>, u64)>,
        latest: Time,
    ) {
        let (before, last) = (self.latest, None);
        self.current = Some(Current { content, number, place, latest, before, last });
    }

    /// The state of the part while there is more.
    fn pulled(&self) -> Pulled {
        let latest = self.current.as_ref().and_then(|current| current.last).or(self.latest);
        match latest {
            Some(time) if self.handle.plan.sorted && self.handle.plan.timed && !self.live => {
                Pulled::Complete(time)
            }
            _ => Pulled::More,
        }
    }
}

/// The parser of a chunk's lines.
struct ChunkReader<'a> {
    reader: LineReader<'a>,
    fault: &'a SourceFault,
    order: Option<&'a Chunks>,
    survey: &'a Survey,
    fields: &'a [String],
    /// The latest time of all lines; the end of time, where they have none.
    latest: &'a mut Time,
    late: &'a Range<Time>,
    counts: &'a mut RecordCounts,
}

impl ChunkReader<'_> {
    /// Reads until there is enough; returns true at the end of the chunk.
    fn read<P: PersonIdentity, I: PersonIdentity>(
        mut self,
        current: &mut Current,
        batch: &mut Vec<SourceRecord<P, I>>,
        enough: usize,
        lines: &mut usize,
    ) -> bool {
        while !current.content.is_read() {
            if batch.len() >= enough || *lines == 0 {
                return false;
            }
            *lines -= 1;
            let number = current.place.as_ref().map_or(0, |(_, number)| *number);
            let (line, split) = match &mut current.content {
                ChunkContent::Lines { lines, at, quotes } => {
                    let rest = lines.get(*at..).unwrap_or_default();
                    let (end, line, quotes) = self.reader.next(rest, *quotes);
                    *at += end;
                    if let Some((_, number)) = current.place.as_mut().filter(|_| self.survey.reports_places())
                    {
                        *number += memchr_iter(b'\n', rest.get(..end).unwrap_or_default()).count() as u64;
                    }
                    if self.reader.format.passes(line) {
                        continue;
                    }
                    (line, self.reader.split(rest, line.len(), quotes).map_err(|_| None))
                }
                #[cfg(feature = "arrow")]
                ChunkContent::Rows(rows) => {
                    if let Some((_, number)) = &mut current.place {
                        *number += 1;
                    }
                    // The cells of a row all stand beside a line that is empty.
                    (&[][..], rows.read(self.reader.cells, self.fields, self.reader.longest).map_err(Some))
                }
            };
            let file = current.place.as_ref().map(|(file, _)| file);
            let at = || file.map(|file| (Arc::clone(file), number));
            if let Err(row) = split {
                self.survey.unsplit(at(), || row.unwrap_or_else(|| self.reader.unsplit(line)));
                self.fault.bad(1, file.map(|file| &**file));
                continue;
            }
            let time = self.reader.maker.time(line, self.reader.cells);
            let said = time.as_ref().ok().copied().flatten();
            let is_untimed = time.is_err();
            if self.survey.wants_names()
                && self.survey.counts()
                && matches!(self.reader.format, LineFormat::Jsonl(_))
            {
                self.survey.name_fields(line);
            }
            // By a public rule: one record from the year 9999 would pin the resume position.
            let is_ahead = said.is_some_and(|time| time > current.latest);
            let before = batch.len();
            let LineReader { maker, cells, .. } = &mut self.reader;
            let mut made = time.map(|_| ());
            let is_counted = self.survey.counts();
            for record in 0..cells.records() {
                cells.turn_to(record);
                maker.derive(line, cells, said);
                if self.survey.counts() {
                    self.survey.line(line, cells, self.fields, (said, at));
                }
                if !is_ahead {
                    made = made.and_then(|()| maker.record(line, cells, said, batch));
                }
                if made.is_err() {
                    break;
                }
            }
            if is_ahead {
                self.counts.ahead += 1;
                continue;
            }
            if let Err(cell) = made {
                batch.truncate(before);
                self.survey.unreadable(at(), is_counted, || match is_untimed {
                    true => self.reader.untimed_as(line, &cell),
                    false => self.reader.unmade(line, &cell),
                });
                self.fault.bad(1, file.map(|file| &**file));
                continue;
            }
            let time = said;
            self.counts.records += 1;
            let is_late = |time: Time| self.late.contains(&time) && !self.reader.maker.is_repeated(time);
            self.counts.late += u64::from(time.is_some_and(is_late));
            self.counts.before += u64::from(time.is_some_and(|time| self.survey.is_before(time)));
            *self.latest = time.unwrap_or(Time::MAX).max(*self.latest);
            if let Some(time) = time {
                self.survey.record_time(time);
            }
            if let (Some(order), Some(time)) = (self.order, time) {
                let begins = current.last.is_none();
                let sorted = current.before.is_none_or(|before| before <= time)
                    && (!begins || order.begins(current.number, time));
                (current.before, current.last) = (Some(time), Some(time));
                if !sorted {
                    batch.truncate(before);
                    self.fault.unsorted(self.reader.maker.local_zone());
                    return false;
                }
            }
        }
        true
    }
}

// The check that lines are in order of time, though many workers read them at once.

/// The order of a source's chunks. Each is compared with the ones before it as soon as these are known.
#[derive(Debug, Default)]
pub(super) struct Chunks(Mutex<KnownOrder>);

#[derive(Debug, Default)]
struct KnownOrder {
    /// The first chunk that is not done.
    next: u64,
    /// The latest time before it.
    latest: Option<Time>,
    /// The next chunk and later ones, as far as they are known.
    later: BTreeMap<u64, OrderedChunk>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OrderedChunk {
    first: Option<Time>,
    last: Option<Time>,
    done: bool,
}

impl Chunks {
    /// Records the first time of a chunk. Returns true while everything known is in order.
    pub(super) fn begins(&self, chunk: u64, first: Time) -> bool {
        self.update(chunk, |chunk| chunk.first = Some(first))
    }

    /// Records the end of a chunk, whose own times are in order. Returns true while everything known is in
    /// order.
    pub(super) fn ends(&self, chunk: u64, last: Option<Time>) -> bool {
        self.update(chunk, |chunk| (chunk.last, chunk.done) = (last, true))
    }

    fn update(&self, chunk: u64, change: impl FnOnce(&mut OrderedChunk)) -> bool {
        // A worker that panicked with the lock has ended the process.
        let Ok(mut known) = self.0.lock() else { return false };
        let KnownOrder { next, latest, later } = &mut *known;
        let update = later.entry(chunk).or_default();
        change(update);
        // Any chunk between comes after the ones that are done.
        if update.first.is_some_and(|first| latest.is_some_and(|latest| first < latest)) {
            return false;
        }
        while let Some(chunk) = later.get(next) {
            if chunk.first.is_some_and(|first| latest.is_some_and(|latest| first < latest)) {
                return false;
            }
            if !chunk.done {
                break;
            }
            *latest = chunk.last.or(*latest);
            later.remove(next);
            *next += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_compared_in_their_order_and_not_in_that_of_their_ends() {
        let chunks = Chunks::default();
        assert!(chunks.begins(2, 30) && chunks.ends(2, Some(40)));
        assert!(chunks.ends(1, None), "a chunk may have no times");
        assert!(chunks.begins(0, 10));
        assert!(chunks.ends(0, Some(30)), "equal times are in order");
        assert!(chunks.begins(3, 40));
        assert!(chunks.0.lock().unwrap().later.len() <= 1, "what is compared is forgotten");

        let chunks = Chunks::default();
        assert!(chunks.begins(1, 10) && chunks.ends(1, Some(20)) && chunks.begins(0, 5));
        assert!(!chunks.ends(0, Some(11)), "the second chunk began before the first had ended");

        let chunks = Chunks::default();
        assert!(chunks.ends(0, Some(11)) && !chunks.begins(2, 10), "whatever the chunk between them says");

        let chunks = Chunks::default();
        assert!(chunks.ends(0, Some(11)) && chunks.ends(1, None));
        assert!(!chunks.begins(2, 10), "it is known when a chunk begins");
    }
}
