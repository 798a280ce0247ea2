//! Messages between the processes of a cluster beside the records: that they run, that they stop, why they
//! ended, and which inputs they have read.
//!
//! Timely notices that a connection broke, but neither which process is at fault nor that a peer hangs. So
//! each pair of processes has a second connection, for frames of a kind, a length and a few bytes. A process
//! that ends reports how; one that is asked to stop asks all others to stop; one that is silent for a while
//! is named to the operator of the job, and waited for.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::config::Cluster;
use super::failure;
use super::failure::{FailureKind, RunError};
use super::shared::ProcessShared;

/// The interval at which a process sends a sign of life.
const PULSE: Duration = Duration::from_secs(1);
/// The interval for a process that has not answered, which may be suspended for days: the unread frames must
/// fit in the buffers.
const FAINT_PULSE: Duration = Duration::from_secs(60);
/// The interval at which silence and the request to stop are checked.
const GLANCE: Duration = Duration::from_millis(50);
/// The silence after which a process is named to the operator of the job.
const SILENCE: Duration = Duration::from_secs(5);
/// The time for which a process that does not read may hold up the others with one frame.
const STUCK: Duration = Duration::from_secs(5);
/// The longest frame: a report of 200,000 files, at some 300 bytes each.
const LONGEST: usize = 64 << 20;
/// The longest reason that is passed on, in bytes.
const LONGEST_REASON: usize = 4 << 10;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    /// The process runs.
    Alive = 0,
    /// A note from the sources of the process.
    Note = 1,
    /// The process was asked to stop, and with it all others.
    Stop = 2,
    /// The process has failed: its exit code, then the reason.
    Failed = 3,
    /// The process has done all its work.
    Done = 4,
}

impl FrameKind {
    fn of(byte: u8) -> Option<FrameKind> {
        [FrameKind::Alive, FrameKind::Note, FrameKind::Stop, FrameKind::Failed, FrameKind::Done]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The other processes of a job.
pub(crate) struct Peers {
    cluster: Arc<Cluster>,
    shared: Arc<ProcessShared>,
    links: Vec<Option<Link>>,
    began: Instant,
    /// True once this process has reported how it ends.
    left: AtomicBool,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command's own sources send notes"))]
    notes: Receiver<(usize, Vec<u8>)>,
}

/// The connection to one process.
struct Link {
    writer: Mutex<TcpStream>,
    /// The time at which the process was last heard, in milliseconds since this one began.
    heard: AtomicU64,
    /// True if nothing can be written to it any more.
    broken: AtomicBool,
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").field("addresses", &self.cluster.addresses).finish_non_exhaustive()
    }
}

impl Peers {
    /// Starts listening to all other processes, on one connection each.
    pub(super) fn start(
        cluster: Arc<Cluster>,
        shared: Arc<ProcessShared>,
        sockets: Vec<Option<TcpStream>>,
    ) -> Result<Arc<Peers>, RunError> {
        let broken = |error: io::Error| RunError::configuration(format!("hosts: {error}"));
        let (sender, notes) = unbounded();
        let (mut links, mut readers) = (Vec::new(), Vec::new());
        for (peer, socket) in sockets.into_iter().enumerate() {
            let Some(writer) = socket else {
                links.push(None);
                continue;
            };
            writer.set_nonblocking(false).map_err(broken)?;
            writer.set_write_timeout(Some(STUCK)).map_err(broken)?;
            readers.push((peer, writer.try_clone().map_err(broken)?));
            let (heard, broken) = (AtomicU64::new(0), AtomicBool::new(false));
            links.push(Some(Link { writer: Mutex::new(writer), heard, broken }));
        }
        let (began, left) = (Instant::now(), AtomicBool::new(false));
        let peers = Arc::new(Peers { cluster, shared, links, began, left, notes });
        for (peer, reader) in readers {
            let (weak, sender) = (Arc::downgrade(&peers), sender.clone());
            spawn("discreet-peer", move || listen(&weak, peer, reader, &sender))?;
        }
        let weak = Arc::downgrade(&peers);
        spawn("discreet-pulse", move || pulse(&weak))?;
        Ok(peers)
    }

    /// Returns the name of a process for messages to the operator of the job.
    pub(crate) fn name(&self, process: usize) -> String {
        self.cluster.name(process)
    }

    /// Sends a message to the operator of the job.
    pub(crate) fn notice(&self, text: &str) {
        (self.cluster.notice)(text);
    }

    /// Sends a note to all others.
    #[cfg(feature = "cli")]
    pub(crate) fn send(&self, note: &[u8]) {
        self.say(FrameKind::Note, note);
    }

    /// Returns the notes of the others, each with its process. Each note reaches one receiver only.
    #[cfg(feature = "cli")]
    pub(crate) fn notes(&self) -> &Receiver<(usize, Vec<u8>)> {
        &self.notes
    }

    /// Reports to all others how this process ends: once, and nothing after it.
    pub(crate) fn leave(&self, failure: Option<&RunError>) {
        if self.left.swap(true, Ordering::SeqCst) {
            return;
        }
        match failure {
            Some(failure) => {
                let mut reason = vec![failure.exit_code(), u8::from(failure.is_of_all())];
                reason.extend(failure.to_string().bytes().take(LONGEST_REASON));
                self.say(FrameKind::Failed, &reason);
            }
            None if self.shared.is_stopped() => self.say(FrameKind::Stop, &[]),
            None => self.say(FrameKind::Done, &[]),
        }
        for link in self.links.iter().flatten() {
            let writer = link.writer.lock().unwrap_or_else(PoisonError::into_inner);
            // A connection that is broken already needs no shutdown.
            let _ = writer.shutdown(Shutdown::Write);
        }
    }

    fn say(&self, kind: FrameKind, bytes: &[u8]) {
        for link in self.links.iter().flatten() {
            link.say(kind, bytes);
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Handles a frame of another process; returns false if no frame follows.
    fn hear(&self, peer: usize, kind: FrameKind, bytes: Vec<u8>, notes: &Sender<(usize, Vec<u8>)>) -> bool {
        match kind {
            FrameKind::Alive => true,
            FrameKind::Note => notes.send((peer, bytes)).is_ok(),
            FrameKind::Done => false,
            FrameKind::Stop => {
                failure::expect_connections_to_break();
                self.shared.stop_with_the_others();
                false
            }
            FrameKind::Failed => {
                self.fail(ended(&self.name(peer), &bytes));
                false
            }
        }
    }

    /// Ends this run with the error of another process.
    fn fail(&self, failure: RunError) {
        // A run that is over has its outcome.
        if !self.left.load(Ordering::SeqCst) && !self.shared.is_over() {
            failure::expect_connections_to_break();
            self.shared.fail(failure);
        }
    }
}

impl Link {
    fn say(&self, kind: FrameKind, bytes: &[u8]) {
        let mut frame = vec![kind as u8];
        frame.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        frame.extend(bytes);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.broken.load(Ordering::SeqCst) && writer.write_all(&frame).is_err() {
            self.broken.store(true, Ordering::SeqCst);
            // A frame that was written in part makes the rest unreadable: the shutdown ends the connection
            // for both sides.
            let _ = writer.shutdown(Shutdown::Both);
        }
    }
}

/// Returns the error for a process that has ended, from the bytes that it sent.
fn ended(name: &str, bytes: &[u8]) -> RunError {
    let (code, of_all, reason) = match bytes {
        [code, of_all, reason @ ..] => (*code, *of_all == 1, String::from_utf8_lossy(reason)),
        _ => (70, false, "".into()),
    };
    // A failure that all processes found out together has the same message in each.
    if of_all {
        return RunError::of_all(reason.into_owned());
    }
    RunError::new(FailureKind::Peer, format!("{name} has ended with exit code {code}: {reason}"))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), RunError> {
    let spawned = thread::Builder::new().name(name.into()).spawn(work);
    spawned.map(drop).map_err(|error| RunError::configuration(format!("threads: {error}")))
}

/// Listens to one process until it has reported how it ends, or its connection is gone.
fn listen(peers: &Weak<Peers>, peer: usize, mut reader: TcpStream, notes: &Sender<(usize, Vec<u8>)>) {
    loop {
        let frame = read_frame(&mut reader);
        let Some(peers) = peers.upgrade() else { return };
        match frame {
            Ok((kind, bytes)) => {
                if let Some(Some(link)) = peers.links.get(peer) {
                    link.heard.store(peers.now(), Ordering::SeqCst);
                }
                if !peers.hear(peer, kind, bytes, notes) {
                    return;
                }
            }
            Err(_) => {
                let message = format!("{} is gone; start all processes again", peers.name(peer));
                return peers.fail(RunError::new(FailureKind::Peer, message));
            }
        }
    }
}

fn read_frame(reader: &mut impl Read) -> io::Result<(FrameKind, Vec<u8>)> {
    let mut head = [0; 5];
    reader.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u32::from_be_bytes(length) as usize;
    let kind = FrameKind::of(kind).filter(|_| length <= LONGEST).ok_or(io::ErrorKind::InvalidData)?;
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok((kind, bytes))
}

/// Sends signs of life, and checks which processes are silent.
fn pulse(peers: &Weak<Peers>) {
    let mut silences = Vec::new();
    loop {
        {
            let Some(peers) = peers.upgrade() else { return };
            if peers.left.load(Ordering::SeqCst) {
                return;
            }
            silences.resize_with(peers.links.len(), Silence::default);
            let now = peers.now();
            for ((peer, link), silence) in peers.links.iter().enumerate().zip(&mut silences) {
                let Some(link) = link else { continue };
                let quiet = Duration::from_millis(now.saturating_sub(link.heard.load(Ordering::SeqCst)));
                if silence.is_time_to_speak(quiet) {
                    link.say(FrameKind::Alive, &[]);
                }
                if let Some(text) = silence.notice(quiet) {
                    let silent_ms = quiet.as_millis() as u64;
                    to_operator!(
                        DEBUG,
                        "process silent",
                        process = peer as u64,
                        silent_ms,
                        "a process {text}"
                    );
                    peers.notice(&format!("{} {text}", peers.name(peer)));
                }
            }
        }
        thread::sleep(GLANCE);
    }
}

/// The silence of one process.
#[derive(Default)]
struct Silence {
    spoke: Option<Instant>,
    /// The reported length of the silence, if it was reported.
    longest: Option<Duration>,
}

impl Silence {
    fn is_time_to_speak(&mut self, quiet: Duration) -> bool {
        let between = if quiet > SILENCE { FAINT_PULSE } else { PULSE };
        let due = self.spoke.is_none_or(|spoke| spoke.elapsed() >= between);
        if due {
            self.spoke = Some(Instant::now());
        }
        due
    }

    /// Returns the message about a process that has been quiet for this long, if there is one.
    fn notice(&mut self, quiet: Duration) -> Option<String> {
        match self.longest {
            None if quiet > SILENCE => {
                self.longest = Some(quiet);
                Some(format!("has not answered for {} s; waiting for it", quiet.as_secs()))
            }
            Some(longest) if quiet <= SILENCE => {
                self.longest = None;
                Some(format!("answers again, after {} s", longest.as_secs()))
            }
            Some(longest) => {
                self.longest = Some(longest.max(quiet));
                None
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn silence_is_reported_once_and_so_is_its_end() {
        let (mut silence, seconds) = (Silence::default(), Duration::from_secs);
        assert_eq!(silence.notice(seconds(5)), None);
        assert_eq!(silence.notice(seconds(6)).unwrap(), "has not answered for 6 s; waiting for it");
        assert_eq!(silence.notice(seconds(7)), None);
        assert_eq!(silence.notice(seconds(0)).unwrap(), "answers again, after 7 s");
        assert_eq!(silence.notice(seconds(1)), None);
    }

    // Refutes a stranger's bytes that are taken for a frame, and a length that would take all memory.
    #[test]
    fn a_frame_is_of_a_known_kind_and_length() {
        let frame = |bytes: &[u8]| read_frame(&mut &bytes[..]).map_err(|error| error.kind());
        assert_eq!(frame(&[1, 0, 0, 0, 2, 7, 8]), Ok((FrameKind::Note, vec![7, 8])));
        assert_eq!(frame(&[9, 0, 0, 0, 0]), Err(io::ErrorKind::InvalidData));
        assert_eq!(frame(&[1, 255, 255, 255, 255]), Err(io::ErrorKind::InvalidData));
        assert_eq!(frame(&[1, 0, 0, 0, 2, 7]), Err(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn the_end_of_a_process_is_reported_with_its_name() {
        let failure = ended("process 1 (a:1)", b"\x45\x00visits.csv: the source is gone");
        assert_eq!(failure.exit_code(), 70);
        let said = "process 1 (a:1) has ended with exit code 69: visits.csv: the source is gone";
        assert_eq!(failure.to_string(), said);
        let failure = ended("process 1 (a:1)", b"\x41\x01visits.csv differs");
        assert_eq!((failure.exit_code(), failure.to_string().as_str()), (65, "visits.csv differs"));
        assert_eq!(ended("process 1 (a:1)", b"").exit_code(), 70);
    }
}
