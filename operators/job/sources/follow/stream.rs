//! Standard input, and a pipe that has a name, as they come.
//!
//! Neither can be read again. What came before the job was connected is an input gap, and so are the time in
//! which a pipe with a name has no writer and the time in which the clock is in doubt.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::watch::Watch;
use super::{POLL_INTERVAL, deal};
use crate::dataflow::{Clock, SourceError};
use crate::job::sources::dealer::{Dealer, Progress};
use crate::job::sources::milestones::Milestones;
use crate::job::sources::reader::{ReadStop, ReaderText, TextFormat, read_some, unreadable};
use crate::time::Span;

/// The time for which an input that has ended waits for the signal that the job is to end as well. Ending a
/// pipeline ends all of its processes, and the order in which they notice is chance.
const END_GRACE: Duration = Duration::from_millis(500);

/// Reads standard input as it comes.
pub(in crate::job::sources) fn follow_input(
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: (Arc<dyn Clock>, &Milestones, Span),
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let input =
        rustix::io::dup(io::stdin()).map_err(|error| unreadable(dealer.fault.place(), &error.into()))?;
    follow_stream(File::from(input), false, texture, dealer, clock, progress)
}

/// Reads a pipe that has a name.
pub(in crate::job::sources) fn follow_pipe(
    path: &Path,
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: (Arc<dyn Clock>, &Milestones, Span),
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let pipe = File::open(path).map_err(|error| unreadable(dealer.fault.place(), &error))?;
    follow_stream(pipe, true, texture, dealer, clock, progress)
}

/// Reads a stream; one that is opened again by its next writer goes on.
fn follow_stream(
    mut stream: File,
    reopens: bool,
    texture: &TextFormat,
    dealer: &mut Dealer,
    clock: (Arc<dyn Clock>, &Milestones, Span),
    progress: &Arc<Progress>,
) -> Result<(), ReadStop> {
    let place = dealer.fault.place().to_owned();
    let lost = |error: io::Error| unreadable(&place, &error);
    let (clock, milestones, ahead) = clock;
    // Where it was cannot be gone to again, so what came before this moment is a gap.
    milestones.former(dealer)?;
    let mut watch = Watch::new(clock);
    let mut text = ReaderText::new(texture);
    loop {
        dealer.wait()?;
        // The clock is read first: data that is found after it may have come later.
        let now = watch.connected(dealer)?;
        dealer.latest = watch.now().saturating_add(ahead.as_microseconds());
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
            if ended && read == 0 && rest.limit() > 0 && reopens {
                wait_for_writer(&stream, dealer)
                    .map_err(|stop| stop.map_or(ReadStop::Over, |error| lost(error).into()))?;
                watch.disconnect();
                // The next writer begins a text of its own.
                text = ReaderText::new(texture);
                break;
            }
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
                if let Some(now) = now {
                    // It has no position: the milestone says when everything was given.
                    let here = || vec![(String::new(), Some(Vec::new()))];
                    watch.mark(now, dealer, progress, (milestones, here))?;
                }
                break;
            }
        }
        if there == 0 {
            is_ready(&stream, POLL_INTERVAL).map_err(lost)?;
        }
    }
}

/// Waits until a pipe has a writer again. The watermark stands still.
fn wait_for_writer(stream: &File, dealer: &Dealer) -> Result<(), Option<io::Error>> {
    loop {
        dealer.wait().map_err(|_| None)?;
        let is_ready = is_ready(stream, Duration::ZERO).map_err(Some)?;
        // Without a writer it is ready, to be read to its end.
        if !is_ready || rustix::io::ioctl_fionread(stream).map_err(|error| Some(error.into()))? > 0 {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
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
    use crate::job::sources::dealer::{DealerMessage, SourceFault};

    // Refutes a mark that overtakes data written before it, in a pipe that is never empty; and an end that is
    // not reported.
    #[test]
    fn a_stream_is_complete_as_far_as_it_was_there() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (fault, progress, taken) =
            (SourceFault::new("standard input".into(), (0, false), false), Progress::of(None), Arc::new(()));
        let (sender, messages) = bounded(4);
        let mut dealer = Dealer::to_one(sender, Arc::clone(&fault), &taken);
        let texture =
            TextFormat { sizes: Sizes { chunk: 50, line: 100, block: 30, ..Sizes::USUAL }, columns: None };
        let thread = std::thread::spawn(move || {
            let milestones = Milestones::new(1, 1);
            milestones.begin(Vec::new());
            let stream = File::from(OwnedFd::from(reader));
            match follow_stream(
                stream,
                false,
                &texture,
                &mut dealer,
                (Arc::new(SystemClock), &milestones, Span::microseconds(1_000_000).unwrap()),
                &progress,
            ) {
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
                DealerMessage::Mark(time, _) => (last, marks) = (time, marks + 1),
                DealerMessage::Gap(start, end) => {
                    assert!(
                        start < -1_000_000_000_000_000 && end <= SystemClock.now() && last == 0,
                        "{start}"
                    );
                }
                DealerMessage::Position(_) | DealerMessage::Origin(_) | DealerMessage::Start(_) => {
                    panic!("a pipe has no position")
                }
                _ => panic!("a live source of lines has ended"),
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
