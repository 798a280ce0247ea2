//! The reading of a spool: segment after segment, and in each one as far as it is durable.
//!
//! A sender that hears no acknowledgement keeps its batch, and sends it again. So nothing is lost while no
//! run receives, and no input gap arises from that. One arises where something is missing that was acknowledged:
//! behind the resume position, before the end that the ledger has from a former run, or before that which the
//! spool itself has. It lasts from ever to the start of this run, since nobody knows what was there; and every
//! start comes upon it again, until the ledger has a position behind it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use super::watch::Watch;
use super::{POLL_INTERVAL, deal};
use crate::canonical::Digest;
use crate::dataflow::{Clock, SourceError};
use crate::job::sources::dealer::{Dealer, DealerMessage, Progress, first_turn};
use crate::job::sources::milestones::{ChangedPositions, Milestones, joined};
use crate::job::sources::reader::{ReadStop, ReaderText, TextFormat, unreadable};
use crate::job::sources::spool::{AGE, Spool, SpoolEnd};
use crate::time::Span;

/// The name of the one partition of a spool.
const PARTITION: &str = "spool";

/// The name of the partition whose position is the end of what was acknowledged. Nothing is read from there, so
/// the ledger has it with the next row, whatever windows are open.
const END: &str = "end";

/// The first byte of a position, and of an end.
const FORMAT: u8 = 1;

/// The most bytes before a position by which its content is known again.
const TAIL: u64 = 256;

/// The position in a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpoolPosition {
    segment: u64,
    offset: u64,
    /// The hash of the last bytes before it.
    tail: Digest,
}

impl SpoolPosition {
    fn write(&self) -> Vec<u8> {
        let numbers = [self.segment.to_le_bytes(), self.offset.to_le_bytes()].concat();
        [&[FORMAT][..], &numbers, self.tail.bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Option<SpoolPosition> {
        let ([FORMAT], rest) = bytes.split_first_chunk()? else { return None };
        let (segment, rest) = rest.split_first_chunk()?;
        let (offset, tail) = rest.split_first_chunk()?;
        let tail = Digest(tail.try_into().ok()?);
        Some(SpoolPosition {
            segment: u64::from_le_bytes(*segment),
            offset: u64::from_le_bytes(*offset),
            tail,
        })
    }

    /// The position at an offset of a segment.
    fn at(spool: &Spool, segment: u64, offset: u64) -> Result<SpoolPosition, SourceError> {
        let length = offset.min(TAIL);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        if length > 0 {
            let path = spool.path(segment);
            File::open(&path)
                .and_then(|file| file.read_exact_at(&mut bytes, offset - length))
                .map_err(|error| unreadable(&path.display().to_string(), &error))?;
        }
        Ok(SpoolPosition { segment, offset, tail: Digest::of(&bytes) })
    }

    /// Returns true if the spool has it.
    fn is_in(self, spool: &Spool) -> Result<bool, SourceError> {
        match spool.extent(self.segment) {
            Some(extent) if extent.length >= self.offset => {
                Ok(SpoolPosition::at(spool, self.segment, self.offset)? == self)
            }
            _ => Ok(false),
        }
    }
}

/// A spool, with the position that was reached in it.
struct SpoolReader<'a> {
    spool: &'a Spool,
    format: &'a TextFormat,
    segment: u64,
    offset: u64,
    open: Option<(File, ReaderText)>,
    reported: Option<SpoolPosition>,
    /// The end that was last reported.
    end: Option<SpoolEnd>,
}

fn write_end(end: &SpoolEnd) -> Vec<u8> {
    [&[FORMAT][..], &end.write()].concat()
}

fn read_end(bytes: &[u8]) -> Option<SpoolEnd> {
    bytes.strip_prefix(&[FORMAT]).and_then(SpoolEnd::read)
}

/// Reads what a spool holds, and then the batches that are added, until no worker wants more.
pub(in crate::job::sources) fn follow_spool(
    spool: &Spool,
    format: &TextFormat,
    dealer: &mut Dealer,
    (clock, milestones, ahead): (Arc<dyn Clock>, &Milestones, Span),
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let former = milestones.former(dealer)?;
    let seen = joined(former, read_end, |end| end.segment).into_iter().find(|(name, _)| name == END);
    let seen = seen.map(|(_, end)| end);
    let former = joined(former, SpoolPosition::read, |position| position.offset);
    let former = former.into_iter().find(|(name, _)| name == PARTITION).map(|(_, position)| position);
    let mut watch = Watch::new(clock);
    dealer.latest = watch.now().saturating_add(ahead.as_microseconds());
    let (segment, offset, is_known) = match former {
        Some(position) if position.is_in(spool)? => (position.segment, position.offset, true),
        Some(_) => (spool.first(), 0, false),
        // What was removed was read by a run that this ledger knows nothing of.
        None => (1, 0, true),
    };
    let lost = |error: io::Error| unreadable(dealer.fault.place(), &error);
    let is_whole = is_known && spool.is_whole(segment, seen.as_ref()).map_err(lost)?;
    let mut reader = SpoolReader { spool, format, segment, offset, open: None, reported: None, end: None };
    if is_whole {
        // With them a restart finds the spool, or misses what is gone, before any line was read.
        let start = reader.position()?;
        reader.end = Some(spool.end());
        let changed = [reader.changed(start), vec![(END.to_owned(), reader.end.as_ref().map(write_end))]];
        let number = milestones.register(changed.concat());
        dealer.broadcast(|| DealerMessage::Origin(number))?;
    } else {
        while watch.connected(dealer)?.is_none() {
            dealer.wait()?;
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    // The position itself is in the ledger.
    let mut needed = former.filter(|_| is_whole).map(|position| position.segment);
    loop {
        dealer.wait()?;
        let round = Instant::now();
        // The clock is read first: what is acknowledged by then is read now.
        let now = watch.now();
        dealer.latest = now.saturating_add(ahead.as_microseconds());
        reader.read(dealer, milestones, progress)?;
        reader.report_end(dealer, milestones)?;
        let position = reader.position()?;
        watch.mark(now, dealer, progress, (milestones, || reader.changed(position)))?;
        let written = milestones.take_written(PARTITION);
        needed = needed.max(written.and_then(|bytes| SpoolPosition::read(&bytes)).map(|at| at.segment));
        // A disk that is full or fails is met again at the next batch, and its sender is notified.
        let _ = spool.close_older(AGE);
        if let Some(needed) = needed {
            let _ = spool.remove_before(needed);
        }
        std::thread::sleep(POLL_INTERVAL.saturating_sub(round.elapsed()));
    }
}

impl SpoolReader<'_> {
    /// Reads everything that is durable, and reports the position behind each closed segment.
    fn read(
        &mut self,
        dealer: &mut Dealer,
        milestones: &Milestones,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        loop {
            let path = self.spool.path(self.segment);
            let place = path.display().to_string();
            let Some(extent) = self.spool.extent(self.segment) else {
                // It was gone at the start, which is an input gap.
                let Some(next) = self.spool.next(self.segment) else { return Ok(()) };
                (self.segment, self.offset, self.open) = (next, 0, None);
                continue;
            };
            if self.offset < extent.length {
                self.read_to(extent.length, &place, dealer, progress)?;
            }
            if !extent.is_closed {
                return Ok(());
            }
            (self.segment, self.offset, self.open) = (self.segment + 1, 0, None);
            let position = self.position()?;
            let number = milestones.register(self.changed(position));
            dealer.broadcast(|| DealerMessage::Position(number))?;
        }
    }

    /// Reads the open segment up to a place at which a batch ends.
    fn read_to(
        &mut self,
        end: u64,
        place: &str,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let lost = |error: io::Error| unreadable(place, &error);
        let (file, text) = match &mut self.open {
            Some(open) => open,
            none => {
                let file = File::open(place).map_err(lost)?;
                dealer.begin(place, 0);
                none.insert((file, ReaderText::resumed(self.format, None, self.offset)))
            }
        };
        let turn = first_turn(&self.segment.to_string());
        while self.offset < end {
            dealer.wait()?;
            let left = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let read = text.cutter.fill(|room| {
                let most = left.min(room.len());
                super::content::read_at(file, room.get_mut(..most).unwrap_or_default(), self.offset)
            });
            let read = read.map_err(lost)?;
            if read == 0 {
                let why = "it was cut while it was being read; leave the directory of the spool alone";
                return Err(SourceError::lost(place).because(why).into());
            }
            progress.add(read as u64);
            self.offset += read as u64;
            // A segment may begin with a byte order mark.
            if text.begin(place, self.offset >= end)? {
                deal(text, turn, self.offset >= end, dealer)?;
            }
        }
        Ok(())
    }

    /// The position behind everything that was dealt. A batch ends with a line, and so does what was read.
    fn position(&self) -> Result<SpoolPosition, SourceError> {
        match self.reported {
            Some(reported) if (reported.segment, reported.offset) == (self.segment, self.offset) => {
                Ok(reported)
            }
            _ => SpoolPosition::at(self.spool, self.segment, self.offset),
        }
    }

    /// The changed positions. Behind an input gap, the first ones are with the end, so that the ledger keeps what
    /// shows the gap for as long as a window over it is open.
    fn changed(&mut self, position: SpoolPosition) -> ChangedPositions {
        let mut changed = Vec::new();
        if self.reported.replace(position) != Some(position) {
            changed.push((PARTITION.to_owned(), Some(position.write())));
        }
        if self.end.is_none() {
            let end = self.spool.end();
            self.end = Some(end);
            changed.push((END.to_owned(), Some(write_end(&end))));
        }
        changed
    }

    /// Reports the end of what was acknowledged, if there is more of it than before.
    fn report_end(&mut self, dealer: &Dealer, milestones: &Milestones) -> Result<(), ReadStop> {
        let end = self.spool.end();
        if self.end.is_some_and(|reported| reported != end) {
            self.end = Some(end);
            let number = milestones.register(vec![(END.to_owned(), Some(write_end(&end)))]);
            dealer.broadcast(|| DealerMessage::Origin(number))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dataflow::SystemClock;
    use crate::job::sources::cutter::Sizes;
    use crate::job::sources::dealer::SourceFault;
    use crate::job::sources::spool::{REMEMBERED, SpoolBatch, SpoolBounds};
    use crate::job::sources::tests::Place;

    fn add(spool: &Spool, number: u64, body: String) {
        spool.add(&SpoolBatch::new(&number.to_string(), body.as_bytes())).unwrap();
    }

    // Refutes a position that is taken for that of another spool, of an older copy, or of a removed segment.
    #[test]
    fn a_position_is_known_by_what_lies_before_it() {
        let bounds = SpoolBounds { segment: 500, hold: 1 << 20, remembered: REMEMBERED };
        let fill = |name: &str, batches: u64| {
            let place = Place::new(&format!("spooled-{name}-{batches}"));
            let spool = Spool::open(&place.path("spool"), bounds).unwrap();
            for number in 0..batches {
                add(&spool, number, format!("{number:0300} {name}\n"));
            }
            (place, spool)
        };
        let (_place, spool) = fill("a", 3);
        let length = spool.extent(1).unwrap().length;
        let position = SpoolPosition::at(&spool, 1, length).unwrap();
        assert_eq!(SpoolPosition::read(&position.write()), Some(position));
        assert!(position.is_in(&spool).unwrap());
        let later = SpoolPosition::at(&spool, 2, spool.extent(2).unwrap().length).unwrap();
        let (_older, copy) = fill("a", 2);
        assert!(position.is_in(&copy).unwrap() && !later.is_in(&copy).unwrap(), "an older copy");
        let (_other, other) = fill("b", 2);
        assert!(!position.is_in(&other).unwrap(), "another spool");
        spool.remove_before(2).unwrap();
        assert!(!position.is_in(&spool).unwrap() && later.is_in(&spool).unwrap(), "it was removed");
        assert_eq!(SpoolPosition::read(b"\x02"), None);
    }

    /// What is given before the first mark, from a position.
    #[derive(Default)]
    struct Given {
        lines: usize,
        /// Each position on the way, with the number of lines before it.
        positions: Vec<(usize, ChangedPositions)>,
        /// The positions that are sure before any line, and those with the mark.
        origins: Vec<ChangedPositions>,
        marked: Option<ChangedPositions>,
        gaps: usize,
    }

    fn read(spool: &Spool, former: Vec<(String, Vec<u8>)>) -> Given {
        let (fault, taken) = (SourceFault::new("spool".into(), (0, false), false), Arc::new(()));
        let (sender, messages) = crossbeam_channel::unbounded();
        let mut dealer = Dealer::to_one(sender, fault, &taken);
        let milestones = Milestones::new(1, 1);
        milestones.begin(vec![former.into_iter().collect()]);
        let format = TextFormat { sizes: Sizes::USUAL, columns: None };
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let clock: Arc<dyn Clock> = Arc::new(SystemClock);
                let by = (clock, &milestones, Span::microseconds(1).unwrap());
                follow_spool(spool, &format, &mut dealer, by, &Progress::of(None))
            });
            let mut given = Given::default();
            let reached = |number| {
                milestones.reach(number, 0);
                milestones.take().unwrap().changed
            };
            for message in &messages {
                match message {
                    DealerMessage::Chunk(chunk) => {
                        given.lines += chunk.lines.iter().filter(|byte| **byte == b'\n').count();
                    }
                    DealerMessage::Position(number) => given.positions.push((given.lines, reached(number))),
                    DealerMessage::Origin(number) => given.origins.push(reached(number)),
                    DealerMessage::Gap(..) => given.gaps += 1,
                    DealerMessage::Mark(_, number) => {
                        given.marked = number.map(reached);
                        break;
                    }
                    _ => panic!("a spool has lines, and no end"),
                }
            }
            drop((messages, taken));
            assert!(reading.join().unwrap().is_err(), "no worker wants more");
            given
        })
    }

    /// The names of changed positions.
    fn names(changed: &ChangedPositions) -> Vec<&str> {
        let mut names: Vec<&str> = changed.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    // Refutes a run that goes on from its position without a gap where something behind it is missing, or where
    // the ledger has seen more; positions that hide the gap from the next start before its windows are settled;
    // and a gap in a whole spool.
    #[test]
    fn what_is_missing_behind_a_position_is_a_gap() {
        let bounds = SpoolBounds { segment: 500, hold: 1 << 20, remembered: REMEMBERED };
        let [place, other] = ["a", "b"].map(|name| Place::new(&format!("spooled-missing-{name}")));
        let [spool, further] = [(&place, 6), (&other, 8)].map(|(place, batches)| {
            let spool = Spool::open(&place.path("spool"), bounds).unwrap();
            (0..batches).for_each(|number| add(&spool, number, format!("{number:0300}\n").repeat(2)));
            spool
        });
        let here = (PARTITION.to_owned(), start(&spool));
        let end = |spool: &Spool| (END.to_owned(), write_end(&spool.end()));
        for former in [vec![], vec![here.clone()], vec![here.clone(), end(&spool)]] {
            let given = read(&spool, former);
            assert_eq!((given.lines, given.gaps), (12, 0));
            assert_eq!(given.origins.iter().map(names).collect::<Vec<_>>(), [["end", "spool"]]);
        }
        let is_gap = |spool: &Spool, former: Vec<(String, Vec<u8>)>, lines: usize| {
            let given = read(spool, former);
            assert_eq!((given.lines, given.gaps, given.origins.len()), (lines, 1, 0));
            let first =
                given.positions.first().map(|(_, changed)| changed).or(given.marked.as_ref()).unwrap();
            assert_eq!(names(first), ["end", "spool"], "both wait for the windows over the gap");
        };
        is_gap(&spool, vec![here.clone(), end(&further)], 12);
        drop(spool);
        std::fs::remove_file(place.path("spool").join("00000003.jsonl")).unwrap();
        let spool = Spool::open(&place.path("spool"), bounds).unwrap();
        is_gap(&spool, vec![here.clone()], 10);
        is_gap(&spool, vec![], 10);
        let behind = SpoolPosition::at(&spool, 4, 0).unwrap();
        let given = read(&spool, vec![(PARTITION.to_owned(), behind.write()), end(&spool)]);
        assert_eq!((given.lines, given.gaps), (6, 0), "nothing before it is needed");
        let alone = Place::new("spooled-missing-alone");
        let alone = Spool::open(&alone.path("spool"), bounds).unwrap();
        add(&alone, 0, "x\n".to_owned());
        is_gap(&alone, vec![(PARTITION.to_owned(), behind.write())], 1);
    }

    // Refutes a spool that a restart reads from its start, and a position between segments that is off by a line.
    #[test]
    fn a_backlog_has_a_position_behind_each_segment() {
        let place = Place::new("spooled-backlog");
        let bounds = SpoolBounds { segment: 500, hold: 1 << 20, remembered: REMEMBERED };
        let spool = Spool::open(&place.path("spool"), bounds).unwrap();
        for number in 0..20 {
            add(&spool, number, format!("{number:0300}\n").repeat(2));
        }
        let Given { lines, positions, gaps, .. } = read(&spool, vec![(PARTITION.to_owned(), start(&spool))]);
        assert_eq!((lines, gaps), (40, 0));
        assert!(positions.len() >= 19, "{}", positions.len());
        for (before, changed) in positions {
            let [(name, Some(position))] = &changed[..] else { panic!("{changed:?}") };
            assert_eq!(read(&spool, vec![(name.clone(), position.clone())]).lines, 40 - before);
        }
    }

    fn start(spool: &Spool) -> Vec<u8> {
        SpoolPosition::at(spool, spool.first(), 0).unwrap().write()
    }
}
