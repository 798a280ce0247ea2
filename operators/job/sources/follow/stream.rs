//! The reading thread of a live run: the data that is appended, and the time at which all of it had been
//! read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::accord::{Behind, FileReport, InputAgreement, ProcessReport};
use super::bytes::{self, Packing};
use super::dealer::Progress;
use super::dealer::{Dealer, DealerMessage, first_turn};
use super::input::files;
use super::reader::{Hash, ReadStop, ReaderText, TextFormat, read_some, unreadable};
use crate::dataflow::{Clock, SourceError};
use crate::time::Time;

/// The interval at which files are checked for more data.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The time for which an input that has ended waits for the signal that the job is to end as well. Ending a
/// pipeline ends all of its processes, and the order in which they notice is chance.
const END_GRACE: Duration = Duration::from_millis(500);

/// The largest difference, in microseconds, between the clock and the time that has passed since the start.
const MAX_CLOCK_DRIFT: Time = 600_000_000;

/// The clock, and a monotonic check of it.
struct Watch {
    clock: Arc<dyn Clock>,
    began: Time,
    since: Instant,
    marked: Option<Time>,
    marked_at: Instant,
}

impl Watch {
    fn new(clock: Arc<dyn Clock>) -> Watch {
        let (began, now) = (clock.now(), Instant::now());
        Watch { clock, began, since: now, marked: None, marked_at: now }
    }

    /// Returns the time. It is believed if as much of it has passed as has passed otherwise: a clock that is
    /// set by hand would close windows that are still open.
    fn now(&self, place: &str) -> Result<Time, SourceError> {
        let now = self.clock.now();
        let passed = Time::try_from(self.since.elapsed().as_micros()).unwrap_or(Time::MAX);
        let expected = self.began.saturating_add(passed);
        if now.saturating_sub(expected).saturating_abs() > MAX_CLOCK_DRIFT {
            let why = "the clock was set by more than 10 minutes, or the machine slept; \
                       start again when the clock is right";
            return Err(SourceError::lost(place).because(why));
        }
        Ok(now)
    }

    /// Notifies every worker that all data present at this time has been read, unless they were notified a
    /// moment ago.
    fn mark(&mut self, time: Time, dealer: &Dealer, progress: &Progress) -> Result<(), ReadStop> {
        let early = self.marked.is_some() && self.marked_at.elapsed() < POLL_INTERVAL / 2;
        if early || self.marked.is_some_and(|marked| time <= marked) {
            return Ok(());
        }
        dealer.broadcast(|| DealerMessage::Mark(time))?;
        progress.catch_up(time);
        (self.marked, self.marked_at) = (Some(time), Instant::now());
        Ok(())
    }
}

/// A file that grows, or one that is packed, all of which is present.
struct Growing {
    path: PathBuf,
    device: u64,
    node: u64,
    /// The turn of the worker that reads its first chunk.
    turn: u64,
    read: u64,
    text: ReaderText,
    /// The hash of the bytes read, where several processes compare it.
    hash: Option<Hash>,
    packing: Packing,
    /// The length of the packed file when it was read.
    packed: Option<u64>,
    /// The length that was last reported to the other processes.
    reported: Option<u64>,
}

/// The files of a path, with the position reached in each.
struct Files<'a> {
    path: &'a Path,
    texture: &'a TextFormat,
    /// The files by the name that is the same for all processes.
    known: BTreeMap<String, Growing>,
    accord: Option<InputAgreement>,
}

/// Reads the content of a path's files, and then the data that is appended, until no worker wants more.
pub(super) fn follow_files(
    path: &Path,
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
    accord: Option<InputAgreement>,
) -> Result<(), ReadStop> {
    let mut watch = Watch::new(clock);
    let mut files = Files { path, texture, known: BTreeMap::new(), accord };
    loop {
        dealer.wait()?;
        let round = Instant::now();
        let now = watch.now(dealer.fault.place())?;
        files.list()?;
        for growing in files.known.values_mut() {
            growing.catch_up(u64::MAX, dealer, progress)?;
        }
        let now = files.agree(now, dealer, progress)?;
        watch.mark(now, dealer, progress)?;
        std::thread::sleep(POLL_INTERVAL.saturating_sub(round.elapsed()));
    }
}

impl Files<'_> {
    /// Lists the files.
    fn list(&mut self) -> Result<(), SourceError> {
        let there = files(self.path)?;
        let gone = self.known.values().find(|known| there.binary_search(&known.path).is_err());
        if let Some(Growing { path, .. }) = gone {
            let why = "the file is not there any more; start again, with a path that old files leave";
            return Err(SourceError::lost(path.display().to_string()).because(why));
        }
        for path in there {
            let name = name_within(self.path, &path);
            if self.known.contains_key(&name) {
                continue;
            }
            let facts =
                fs::metadata(&path).map_err(|error| unreadable(&path.display().to_string(), &error))?;
            let growing = Growing {
                device: facts.dev(),
                node: facts.ino(),
                turn: first_turn(&name),
                read: 0,
                text: ReaderText::new(self.texture),
                hash: self.accord.is_some().then(Hash::new),
                packing: Packing::of(&path),
                packed: None,
                reported: None,
                path,
            };
            self.known.insert(name, growing);
        }
        Ok(())
    }

    /// Waits until all processes have read the same; returns the moment up to which they all have.
    fn agree(&mut self, now: Time, dealer: &mut Dealer, progress: &Arc<Progress>) -> Result<Time, ReadStop> {
        let Some(mut accord) = self.accord.take() else { return Ok(now) };
        let report = ProcessReport { time: now, files: self.unreported() };
        let (mut earliest, mut places) = (now, Vec::new());
        for (process, other) in accord.exchange(&report, dealer)? {
            earliest = earliest.min(other.time);
            places.extend(other.files.into_iter().map(|read| (process, read)));
        }
        // Each reported position as this process reaches it.
        places.sort_by_key(|(_, read)| read.length);
        for (process, read) in &places {
            self.catch_up(&accord, (*process, read), dealer, progress)?;
        }
        self.accord = Some(accord);
        Ok(earliest)
    }

    /// The files that were read further since the last report to the others.
    fn unreported(&mut self) -> Vec<FileReport> {
        let news = self.known.iter_mut().filter_map(|(name, growing)| {
            let is_new = growing.reported.replace(growing.read) != Some(growing.read);
            let hash = growing.hash.as_ref().filter(|_| is_new)?;
            Some(hash.read(name.clone(), growing.packing != Packing::Plain))
        });
        news.collect()
    }

    /// Reads a file as far as another process has read it, and compares it there.
    fn catch_up(
        &mut self,
        accord: &InputAgreement,
        (process, other): (usize, &FileReport),
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let mut behind = Behind::new(0);
        loop {
            let known = self.known.get_mut(&other.file);
            let place = known.as_ref().map_or(self.path, |known| &known.path).display().to_string();
            let own = match known {
                Some(growing) => {
                    if growing.read < other.length {
                        growing.catch_up(other.length, dealer, progress)?;
                    }
                    let whole = growing.packing != Packing::Plain;
                    growing.hash.as_ref().map(|hash| hash.read(other.file.clone(), whole))
                }
                None => None,
            };
            let length = own.as_ref().map_or(0, |own| own.length);
            if let Some(own) = &own {
                let grows = !own.whole && !other.whole;
                // The other process is behind, and compares what it has at the place where this one is.
                if length > other.length && grows {
                    return Ok(());
                }
                if length == other.length || !grows {
                    return Ok(accord.compare_file(own, (process, other), || place)?);
                }
            }
            if behind.is_too_late(length) {
                let own = if own.is_some() { format!("{length} bytes") } else { "nothing".to_owned() };
                let place = if own == "nothing" { format!("{place}: {}", other.file) } else { place };
                return Err(accord.mismatch(place, own, (process, format!("{} bytes", other.length))).into());
            }
            dealer.wait()?;
            std::thread::sleep(POLL_INTERVAL / 5);
            self.list()?;
        }
    }
}

/// The name of a file by which all processes know it, wherever it lies for each: what follows the part of the
/// path that has no pattern in it.
fn name_within(path: &Path, file: &Path) -> String {
    if path == file {
        return String::new();
    }
    let parts = |path| Path::components(path).filter(|part| *part != Component::CurDir);
    let is_fixed = |part: &Component<'_>| {
        path.is_dir() || !part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
    };
    let fixed = parts(path).take_while(is_fixed).count();
    parts(file).skip(fixed).collect::<PathBuf>().to_string_lossy().into_owned()
}

impl Growing {
    /// Reads as far as the file goes now, or up to a place in it.
    fn catch_up(
        &mut self,
        until: u64,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), ReadStop> {
        let place = self.path.display().to_string();
        let lost = |error: io::Error| unreadable(&place, &error);
        let facts = fs::metadata(&self.path).map_err(lost)?;
        let shorter = self.packed.map_or(facts.len() < self.read, |packed| facts.len() != packed);
        if (facts.dev(), facts.ino()) != (self.device, self.node) || shorter {
            let why = "another file has its name, or it has become shorter; start again";
            return Err(SourceError::lost(place).because(why).into());
        }
        if self.packed.is_some() {
            return Ok(());
        }
        if self.packing != Packing::Plain {
            self.packed = Some(facts.len());
            let packed = bytes::of_file(&self.path, progress).map_err(lost)?;
            return self.read_from(packed, true, &place, dealer, None);
        }
        let end = facts.len().min(until);
        if end <= self.read {
            return Ok(());
        }
        let mut open = File::open(&self.path).map_err(lost)?;
        open.seek(SeekFrom::Start(self.read)).map_err(lost)?;
        let rest = open.take(end - self.read);
        self.read_from(rest, false, &place, dealer, Some(progress))
    }

    /// Reads these bytes to their end, which is that of the text where it is `whole`.
    fn read_from(
        &mut self,
        mut rest: impl io::Read,
        whole: bool,
        place: &str,
        dealer: &mut Dealer,
        progress: Option<&Arc<Progress>>,
    ) -> Result<(), ReadStop> {
        loop {
            dealer.wait()?;
            let hash = &mut self.hash;
            let read = self.text.cutter.fill(|room| {
                let read = read_some(&mut rest, room)?;
                if let Some(hash) = hash {
                    hash.add(room.get(..read).unwrap_or_default());
                }
                Ok(read)
            });
            let read = read.map_err(|error| unreadable(place, &error))?;
            self.read += read as u64;
            if let Some(progress) = progress {
                progress.add(read as u64);
            }
            if self.text.begin(place, whole && read == 0)? {
                deal(&mut self.text, self.turn, read == 0, dealer)?;
            }
            if read == 0 {
                if whole && let Some(piece) = self.text.cutter.finish(|| dealer.room()) {
                    dealer.deal(piece, self.turn, self.text.columns.as_ref())?;
                }
                return Ok(());
            }
        }
    }
}

/// Deals the whole lines; the last lines of the text only where nothing follows at the moment.
fn deal(text: &mut ReaderText, turn: u64, all: bool, dealer: &mut Dealer) -> Result<(), ReadStop> {
    while let Some(piece) = text.cutter.cut(|| dealer.room()) {
        dealer.deal(piece, turn, text.columns.as_ref())?;
    }
    if all && let Some(piece) = text.cutter.cut_lines(|| dealer.room()) {
        dealer.deal(piece, turn, text.columns.as_ref())?;
    }
    Ok(())
}

/// Reads standard input as it comes.
pub(super) fn follow_input(
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let input =
        rustix::io::dup(io::stdin()).map_err(|error| unreadable(dealer.fault.place(), &error.into()))?;
    follow_stream(File::from(input), texture, dealer, clock, progress)
}

/// Reads a pipe that has a name.
pub(super) fn follow_pipe(
    path: &Path,
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let pipe = File::open(path).map_err(|error| unreadable(dealer.fault.place(), &error))?;
    follow_stream(pipe, texture, dealer, clock, progress)
}

fn follow_stream(
    mut stream: File,
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let place = dealer.fault.place().to_owned();
    let lost = |error: io::Error| unreadable(&place, &error);
    let mut watch = Watch::new(clock);
    let mut text = ReaderText::new(texture);
    loop {
        dealer.wait()?;
        // The clock is read first: data that is found after it may have come later.
        let now = watch.now(&place)?;
        let there = rustix::io::ioctl_fionread(&stream).map_err(|error| lost(error.into()))?;
        let ended = there == 0 && is_ready(&stream, Duration::ZERO).map_err(lost)?;
        let mut rest = (&mut stream).take(if ended { 1 } else { there });
        loop {
            let read = if rest.limit() > 0 {
                text.cutter.fill(|room| read_some(&mut rest, room)).map_err(lost)?
            } else {
                0
            };
            progress.add(read as u64);
            // With no room left it was not the end: the data that came between the two reads was read.
            if ended && read == 0 && rest.limit() > 0 {
                let end = Instant::now();
                while end.elapsed() < END_GRACE {
                    dealer.wait()?;
                    std::thread::sleep(POLL_INTERVAL / 20);
                }
                let why =
                    "it has ended, which a live source never does; start what writes it again, or replay";
                return Err(SourceError::lost(place).because(why).into());
            }
            if text.begin(&place, false)? {
                deal(&mut text, 0, read == 0, dealer)?;
            }
            if read == 0 {
                break;
            }
        }
        watch.mark(now, dealer, progress)?;
        if there == 0 {
            is_ready(&stream, POLL_INTERVAL).map_err(lost)?;
        }
    }
}

/// Returns true if the stream has data, or its end, within some time.
fn is_ready(stream: &File, within: Duration) -> io::Result<bool> {
    let within = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
    match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&within)) {
        Ok(prepared) => Ok(prepared > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::os::fd::OwnedFd;

    use crossbeam_channel::bounded;

    use super::*;
    use crate::dataflow::SystemClock;
    use crate::job::sources::cutter::Sizes;
    use crate::job::sources::dealer::Brake;
    use crate::job::sources::dealer::SourceFault;
    use crate::job::sources::input::Crew;

    // Refutes a mark that overtakes data written before it, in a pipe that is never empty; and an end that is
    // not reported.
    #[test]
    fn a_stream_is_complete_as_far_as_it_was_there() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (fault, progress, taken) =
            (SourceFault::new("standard input".into(), 0, false), Progress::of(None), Arc::new(()));
        let (sender, messages) = bounded(4);
        let (_spare, back) = bounded(4);
        let crew = Crew { process: 0, processes: 1, threads: 1 };
        let mut dealer = Dealer::new(
            vec![sender],
            back,
            Arc::clone(&fault),
            Brake::new(),
            Arc::downgrade(&taken),
            (true, false),
            crew,
        );
        let texture = TextFormat { sizes: Sizes { chunk: 50, line: 100, block: 30 }, columns: None };
        let thread = std::thread::spawn(move || {
            let stream = File::from(OwnedFd::from(reader));
            match follow_stream(stream, &texture, &mut dealer, Arc::new(SystemClock), &progress) {
                Err(ReadStop::Gone(gone)) => dealer.fault.fail(gone),
                _ => panic!(),
            }
        });
        let writing = std::thread::spawn(move || {
            let mut written = Vec::new();
            for line in 0..3_000 {
                writer.write_all(format!("{line}\n").as_bytes()).unwrap();
                written.push(SystemClock.now());
                std::thread::sleep(Duration::from_micros(100));
            }
            writer.write_all(b"a torn line").unwrap();
            written
        });
        let (mut last, mut marks, mut given) = (0, 0, Vec::new());
        for message in messages {
            match message {
                DealerMessage::Chunk(chunk) => {
                    given.extend(
                        str::from_utf8(&chunk.lines).unwrap().lines().map(|line| (line.to_owned(), last)),
                    );
                }
                DealerMessage::Mark(time) => (last, marks) = (time, marks + 1),
                DealerMessage::End => panic!("a live source has ended"),
            }
        }
        let written = writing.join().unwrap();
        thread.join().unwrap();
        assert_eq!(given.len(), 3_000);
        for ((line, mark), written) in given.into_iter().zip(written) {
            assert!(written >= mark, "line {line} was there {} before the mark", mark - written);
        }
        assert!(marks >= 3, "{marks}");
        let gone = fault.check().unwrap_err();
        assert!(!gone.is_refused() && gone.to_string().contains("it has ended"), "{gone}");
    }
}
