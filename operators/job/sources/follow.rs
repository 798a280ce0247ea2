//! The reading thread of a live run: what is appended, and what time it was when all of that had been read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::brake::Progress;
use super::bytes::Packing;
use super::dealer::{Dealer, Message};
use super::places::files;
use super::reader::{Stop, Text, Texture, some, unreadable};
use crate::dataflow::{Clock, Gone};
use crate::time::Time;

/// How often is looked for more.
const OFTEN: Duration = Duration::from_millis(100);

/// Who ends a pipeline ends all of it, and which part hears of it first is chance: for so long an input that has ended waits for the
/// word that the job is to end as well.
const TOGETHER: Duration = Duration::from_millis(500);

/// How far the clock may be from what has passed since the start.
const DRIFT: Time = 600_000_000;

/// The clock, and what it should say.
struct Watch {
    clock: Arc<dyn Clock>,
    began: Time,
    since: Instant,
    marked: Option<Time>,
    told: Instant,
}

impl Watch {
    fn new(clock: Arc<dyn Clock>) -> Watch {
        let (began, now) = (clock.now(), Instant::now());
        Watch { clock, began, since: now, marked: None, told: now }
    }

    /// The time. It is believed if as much of it has passed as has passed otherwise: a clock that somebody sets would
    /// close windows that are still open.
    fn now(&self, place: &str) -> Result<Time, Gone> {
        let now = self.clock.now();
        let passed = Time::try_from(self.since.elapsed().as_micros()).unwrap_or(Time::MAX);
        let expected = self.began.saturating_add(passed);
        if now.saturating_sub(expected).saturating_abs() > DRIFT {
            let why = "the clock was set by more than 10 minutes, or the machine slept; \
                       start again when the clock is right";
            return Err(Gone::lost(place).because(why));
        }
        Ok(now)
    }

    /// Tells everybody that all has been read that was there at this time, unless they were told a moment ago.
    fn mark(&mut self, time: Time, dealer: &Dealer, progress: &Progress) -> Result<(), Stop> {
        let early = self.marked.is_some() && self.told.elapsed() < OFTEN / 2;
        if early || self.marked.is_some_and(|marked| time <= marked) {
            return Ok(());
        }
        dealer.tell(|| Message::Mark(time))?;
        progress.catch_up(time);
        (self.marked, self.told) = (Some(time), Instant::now());
        Ok(())
    }
}

/// A file that grows.
struct Growing {
    device: u64,
    node: u64,
    read: u64,
    text: Text,
}

/// Reads what is in the files of a path, and then what comes to be there, until nobody wants it any more.
pub(super) fn follow_files(
    path: &Path,
    texture: &Texture,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), Stop> {
    let mut watch = Watch::new(clock);
    let mut known: BTreeMap<PathBuf, Growing> = BTreeMap::new();
    loop {
        dealer.wait()?;
        let round = Instant::now();
        let now = watch.now(dealer.fate.place())?;
        let there = files(path)?;
        if let Some(gone) = known.keys().find(|file| there.binary_search(file).is_err()) {
            let why = "the file is not there any more; start again, with a path that old files leave";
            return Err(Gone::lost(gone.display().to_string()).because(why).into());
        }
        for file in there {
            let place = file.display().to_string();
            let facts = fs::metadata(&file).map_err(|error| unreadable(&place, &error))?;
            if Packing::of(&file) != Packing::Plain {
                let why = "a packed file cannot be followed; name files that are not packed";
                return Err(Gone::refused(place).because(why).into());
            }
            let growing = known.entry(file.clone()).or_insert_with(|| Growing {
                device: facts.dev(),
                node: facts.ino(),
                read: 0,
                text: Text::new(texture),
            });
            growing.catch_up(&file, &place, dealer, progress)?;
        }
        watch.mark(now, dealer, progress)?;
        std::thread::sleep(OFTEN.saturating_sub(round.elapsed()));
    }
}

impl Growing {
    /// Reads as far as the file goes now.
    fn catch_up(
        &mut self,
        file: &Path,
        place: &str,
        dealer: &mut Dealer,
        progress: &Arc<Progress>,
    ) -> Result<(), Stop> {
        let lost = |error: io::Error| unreadable(place, &error);
        let facts = fs::metadata(file).map_err(lost)?;
        if (facts.dev(), facts.ino()) != (self.device, self.node) || facts.len() < self.read {
            let why = "another file has its name, or it has become shorter; start again";
            return Err(Gone::lost(place).because(why).into());
        }
        if facts.len() == self.read {
            return Ok(());
        }
        let mut open = File::open(file).map_err(lost)?;
        open.seek(SeekFrom::Start(self.read)).map_err(lost)?;
        let there = facts.len() - self.read;
        let mut rest = open.take(there);
        loop {
            dealer.wait()?;
            let read = self.text.cutter.fill(|room| some(&mut rest, room)).map_err(lost)?;
            self.read += read as u64;
            progress.add(read as u64);
            if self.text.begin(place, false)? {
                deal(&mut self.text, Some(file), read == 0, dealer)?;
            }
            if read == 0 {
                return Ok(());
            }
        }
    }
}

/// Deals what is whole; the last lines of what there is only where nothing follows at the moment.
fn deal(text: &mut Text, file: Option<&Path>, all: bool, dealer: &mut Dealer) -> Result<(), Stop> {
    while let Some(piece) = text.cutter.cut(|| dealer.room()) {
        dealer.deal(piece, file, text.columns.as_ref())?;
    }
    if all && let Some(piece) = text.cutter.cut_lines(|| dealer.room()) {
        dealer.deal(piece, file, text.columns.as_ref())?;
    }
    Ok(())
}

/// Reads standard input as it comes.
pub(super) fn follow_input(
    texture: &Texture,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), Stop> {
    let input =
        rustix::io::dup(io::stdin()).map_err(|error| unreadable(dealer.fate.place(), &error.into()))?;
    follow_stream(File::from(input), texture, dealer, clock, progress)
}

/// Reads a pipe that has a name.
pub(super) fn follow_pipe(
    path: &Path,
    texture: &Texture,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), Stop> {
    let pipe = File::open(path).map_err(|error| unreadable(dealer.fate.place(), &error))?;
    follow_stream(pipe, texture, dealer, clock, progress)
}

fn follow_stream(
    mut stream: File,
    texture: &Texture,
    dealer: &mut Dealer,
    clock: Arc<dyn Clock>,
    progress: &Arc<Progress>,
) -> Result<(), Stop> {
    let place = dealer.fate.place().to_owned();
    let lost = |error: io::Error| unreadable(&place, &error);
    let mut watch = Watch::new(clock);
    let mut text = Text::new(texture);
    loop {
        dealer.wait()?;
        // The time is asked first: what is there after it may have come later.
        let now = watch.now(&place)?;
        let there = rustix::io::ioctl_fionread(&stream).map_err(|error| lost(error.into()))?;
        let ended = there == 0 && is_ready(&stream, Duration::ZERO).map_err(lost)?;
        let mut rest = (&mut stream).take(if ended { 1 } else { there });
        loop {
            let read = if rest.limit() > 0 {
                text.cutter.fill(|room| some(&mut rest, room)).map_err(lost)?
            } else {
                0
            };
            progress.add(read as u64);
            // With no room left it was not the end: what came between the two questions was read.
            if ended && read == 0 && rest.limit() > 0 {
                let end = Instant::now();
                while end.elapsed() < TOGETHER {
                    dealer.wait()?;
                    std::thread::sleep(OFTEN / 20);
                }
                let why =
                    "it has ended, which a live source never does; start what writes it again, or replay";
                return Err(Gone::lost(place).because(why).into());
            }
            if text.begin(&place, false)? {
                deal(&mut text, None, read == 0, dealer)?;
            }
            if read == 0 {
                break;
            }
        }
        watch.mark(now, dealer, progress)?;
        if there == 0 {
            is_ready(&stream, OFTEN).map_err(lost)?;
        }
    }
}

/// Whether there is something to read, or its end, within some time.
fn is_ready(stream: &File, within: Duration) -> io::Result<bool> {
    let within = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
    match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&within)) {
        Ok(ready) => Ok(ready > 0),
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
    use crate::job::sources::brake::Brake;
    use crate::job::sources::cutter::Sizes;
    use crate::job::sources::fate::Fate;
    use crate::job::sources::input::Crew;

    // Refutes a mark that overtakes what was written before it, in a pipe that is never empty; and an end that is not
    // told.
    #[test]
    fn a_stream_is_complete_as_far_as_it_was_there() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (fate, progress, taken) =
            (Fate::new("standard input".into(), 0), Progress::of(None), Arc::new(()));
        let (sender, messages) = bounded(4);
        let (_spare, back) = bounded(4);
        let crew = Crew { process: 0, processes: 1, threads: 1 };
        let mut dealer = Dealer::new(
            vec![sender],
            back,
            Arc::clone(&fate),
            Brake::new(),
            Arc::downgrade(&taken),
            true,
            crew,
        );
        let texture = Texture { sizes: Sizes { chunk: 50, line: 100, block: 30 }, columns: None };
        let thread = std::thread::spawn(move || {
            let stream = File::from(OwnedFd::from(reader));
            match follow_stream(stream, &texture, &mut dealer, Arc::new(SystemClock), &progress) {
                Err(Stop::Gone(gone)) => dealer.fate.fail(gone),
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
                Message::Chunk(chunk) => {
                    given.extend(
                        str::from_utf8(&chunk.lines).unwrap().lines().map(|line| (line.to_owned(), last)),
                    );
                }
                Message::Mark(time) => (last, marks) = (time, marks + 1),
                Message::End => panic!("a live source has ended"),
            }
        }
        let written = writing.join().unwrap();
        thread.join().unwrap();
        assert_eq!(given.len(), 3_000);
        for ((line, mark), written) in given.into_iter().zip(written) {
            assert!(written >= mark, "line {line} was there {} before the mark", mark - written);
        }
        assert!(marks >= 3, "{marks}");
        let gone = fate.check().unwrap_err();
        assert!(!gone.is_refused() && gone.to_string().contains("it has ended"), "{gone}");
    }
}
