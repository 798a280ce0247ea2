//! Connections between the processes of a job: within a deadline, and only among processes of equal
//! configuration.
//!
//! Timely's own way retries for ever, and accepts any peer. Here each connection begins with a hello of fixed
//! length that must be right in every byte; a stranger's is closed and forgotten. It is no protection against
//! an attacker, who may read and write everything that follows.
//!
//! Each pair of processes has two connections: one for the records, which timely owns, and one for [`Peers`],
//! on which each process reports that it still runs and why it ended. A process that fails before it can
//! connect [announces it](announce_end) to the others, so that they need not wait for their deadline.
//!
//! [`Peers`]: super::peers::Peers

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};

use super::config::Cluster;
use super::failure::{FailureKind, RunError};
use super::shared::Stop;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// The time limit for the hello of a stranger that connects and sends nothing.
const HELLO: Duration = Duration::from_millis(500);
/// The time after which a missing process is named to the operator of the job.
const SILENCE: Duration = Duration::from_secs(5);

/// The time by which the starts of a job's processes may differ.
const TOGETHER: Duration = Duration::from_secs(2);

/// One connection of each kind to every other process, in their order; `None` at this process's own index.
pub(super) struct Sockets {
    pub(super) records: Vec<Option<TcpStream>>,
    pub(super) control: Vec<Option<TcpStream>>,
}

impl Sockets {
    fn slot(&mut self, peer: usize, kind: u64) -> Option<&mut Option<TcpStream>> {
        if kind == CONTROL { self.control.get_mut(peer) } else { self.records.get_mut(peer) }
    }

    /// Returns the first process to which a connection is missing.
    fn missing(&self, own: usize) -> Option<usize> {
        let lacks = |peer: &usize| self.records[*peer].is_none() || self.control[*peer].is_none();
        (0..self.records.len()).filter(|peer| *peer != own).find(lacks)
    }
}

/// Connects to every other process; `None` if the run was stopped before all were connected.
pub(super) fn connect(
    cluster: &Arc<Cluster>,
    threads: usize,
    stop: &Stop,
) -> Result<Option<Sockets>, RunError> {
    let (began, deadline) = (Instant::now(), Instant::now() + cluster.within);
    let own = &cluster.addresses[cluster.process];
    // Bound before anything waits, so that processes that start early can connect.
    let listener = TcpListener::bind(own.as_str())
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| RunError::configuration(format!("hosts: cannot listen on {own}: {error}")))?;

    let none = || cluster.addresses.iter().map(|_| None).collect::<Vec<Option<TcpStream>>>();
    let mut sockets = Sockets { records: none(), control: none() };
    let over = ConnectGuard(Arc::default());
    let called = call_all(cluster, threads, deadline, &over.0)?;
    let (mut others, mut noticed) = (0u64, false);
    while let Some(missing) = sockets.missing(cluster.process) {
        let name = cluster.name(missing);
        if stop.is_stopped() {
            for peer in (0..cluster.addresses.len()).filter(|peer| *peer != cluster.process) {
                // A process that does not listen yet waits until its deadline, or is stopped as well.
                let _ = announce(&cluster.addresses, cluster.process, peer, STOPPED);
            }
            return Ok(None);
        }
        if Instant::now() > deadline {
            let unlike = if others > 0 { format!("; one has come that {UNLIKE}") } else { String::new() };
            return Err(RunError::configuration(format!("hosts: {name} has not come in time{unlike}")));
        }
        if !noticed && began.elapsed() > SILENCE {
            let left = deadline.saturating_duration_since(Instant::now()).as_secs();
            to_operator!(DEBUG, "process missing", process = missing as u64, "a process has not come yet");
            (cluster.notice)(&format!("{name} has not come yet; waiting for it for {left} s more"));
            noticed = true;
        }
        for call in called.try_iter() {
            let (peer, kind, stream) = call?;
            if let Some(slot) = sockets.slot(peer, kind) {
                *slot = Some(stream);
            }
        }
        match listener.accept() {
            Ok((stream, _)) => match answer(cluster, threads, &stream, &sockets) {
                Some(Caller::Peer(peer, kind)) => {
                    if let Some(slot) = sockets.slot(peer, kind) {
                        *slot = Some(stream);
                    }
                }
                Some(Caller::Unlike) => others += 1,
                Some(Caller::Ended(peer)) => return Err(gone_before(cluster, peer)),
                Some(Caller::Stopped) => return Ok(None),
                None => {}
            },
            Err(_) => thread::sleep(PAUSE),
        }
    }
    let processes = cluster.addresses.len() as u64;
    to_operator!(DEBUG, "processes connected", processes, "all processes are connected");
    Ok(Some(sockets))
}

fn gone_before(cluster: &Cluster, peer: usize) -> RunError {
    let message = format!("{} has ended before it could join; see what it said", cluster.name(peer));
    RunError::new(FailureKind::Peer, message)
}

/// A guard that ends the connection attempts when it is dropped.
struct ConnectGuard(Arc<AtomicBool>);

impl Drop for ConnectGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type Called = Result<(usize, u64, TcpStream), RunError>;

/// Connects to every process before this one, each on a thread, so that the end of one is not missed while
/// another is waited for.
fn call_all(
    cluster: &Arc<Cluster>,
    threads: usize,
    deadline: Instant,
    over: &Arc<AtomicBool>,
) -> Result<Receiver<Called>, RunError> {
    let (sender, called) = unbounded();
    for peer in 0..cluster.process {
        let (cluster, over, sender) = (Arc::clone(cluster), Arc::clone(over), sender.clone());
        let calling = move || {
            for kind in [RECORDS, CONTROL] {
                let stream = call(&cluster, threads, (peer, kind), deadline, &over);
                let failed = stream.is_err();
                // The receiver is gone if nobody waits any more.
                let _ = sender.send(stream.map(|stream| (peer, kind, stream)));
                if failed {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("discreet-call".into())
            .spawn(calling)
            .map_err(|error| RunError::configuration(format!("threads: {error}")))?;
    }
    Ok(called)
}

/// Connects to a process before this one, until it answers.
fn call(
    cluster: &Cluster,
    threads: usize,
    (peer, kind): (usize, u64),
    deadline: Instant,
    over: &AtomicBool,
) -> Result<TcpStream, RunError> {
    let name = cluster.name(peer);
    loop {
        match greet(cluster, threads, (peer, kind), deadline) {
            Ok(stream) => return Ok(stream),
            // A further attempt would get the same answer.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(RunError::configuration(format!("hosts: {name} {UNLIKE}")));
            }
            Err(error) if Instant::now() > deadline || over.load(Ordering::SeqCst) => {
                return Err(RunError::configuration(format!("hosts: no answer from {name}: {error}")));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn greet(
    cluster: &Cluster,
    threads: usize,
    (peer, kind): (usize, u64),
    deadline: Instant,
) -> io::Result<TcpStream> {
    let mut stream = reach(&cluster.addresses[peer])?;
    stream.write_all(&hello(cluster, threads, cluster.process, kind))?;
    // The other side sends its own hello once it accepts this one. To give up and connect again would leave
    // it with a dead connection.
    let wait = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
    stream.set_read_timeout(Some(wait))?;
    let mut said = [0; LENGTH];
    stream.read_exact(&mut said)?;
    stream.set_read_timeout(None)?;
    match said {
        _ if said == hello(cluster, threads, peer, kind) => Ok(stream),
        _ if said.starts_with(WORD) => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::ErrorKind::ConnectionRefused.into()),
    }
}

fn reach(address: &str) -> io::Result<TcpStream> {
    let address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let stream = TcpStream::connect_timeout(&address, HELLO)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The sender of a hello.
enum Caller {
    /// A process after this one, with the kind of its connection.
    Peer(usize, u64),
    /// A process of another job or of another configuration.
    Unlike,
    /// A process of this job that has failed before it could connect.
    Ended(usize),
    /// A process of this job that was stopped before all were connected, which stops all of them.
    Stopped,
}

/// The message about a process of another configuration.
const UNLIKE: &str =
    "runs another job file, or with another key, -n, -p or -w; give all processes the same files and counts";

/// Returns the sender of a hello; `None` if it is no process of the cluster, or is connected already.
fn answer(cluster: &Cluster, threads: usize, stream: &TcpStream, sockets: &Sockets) -> Option<Caller> {
    let heard = || -> io::Result<[u8; LENGTH]> {
        let mut stream = stream;
        let mut said = [0; LENGTH];
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HELLO))?;
        stream.read_exact(&mut said)?;
        stream.set_read_timeout(None)?;
        Ok(said)
    };
    let said = heard().ok()?;
    let count = cluster.addresses.len();
    let waited_for = (0..count).filter(|peer| *peer != cluster.process && sockets.control[*peer].is_none());
    for peer in waited_for {
        match said {
            _ if said == last_words(count, peer, ENDED) => return Some(Caller::Ended(peer)),
            _ if said == last_words(count, peer, STOPPED) => return Some(Caller::Stopped),
            _ => {}
        }
    }
    let later = cluster.process + 1..count;
    let caller = [RECORDS, CONTROL].into_iter().find_map(|kind| {
        later.clone().find(|peer| said == hello(cluster, threads, *peer, kind)).map(|peer| (peer, kind))
    });
    if caller.is_none() && !said.starts_with(WORD) {
        return None;
    }
    let slots = |kind| if kind == CONTROL { &sockets.control } else { &sockets.records };
    if caller.is_some_and(|(peer, kind)| slots(kind)[peer].is_some()) {
        return None;
    }
    // A process of another configuration learns of the difference by this hello.
    let mut stream = stream;
    let kind = caller.map_or(RECORDS, |(_, kind)| kind);
    stream.write_all(&hello(cluster, threads, cluster.process, kind)).ok()?;
    Some(caller.map_or(Caller::Unlike, |(peer, kind)| Caller::Peer(peer, kind)))
}

/// Announces to the processes of a job that wait for this one that it has failed before it could connect.
/// Processes of a job are started together: those that do not listen yet are waited for, for a moment. One
/// that starts later waits until its deadline.
pub fn announce_end(addresses: &[String], process: usize) {
    let began = Instant::now();
    let mut unreached: Vec<usize> = (0..addresses.len()).filter(|peer| *peer != process).collect();
    loop {
        unreached.retain(|peer| announce(addresses, process, *peer, ENDED).is_err());
        if unreached.is_empty() || began.elapsed() > TOGETHER {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn announce(addresses: &[String], process: usize, peer: usize, kind: u64) -> io::Result<()> {
    let address = addresses.get(peer).ok_or(io::ErrorKind::AddrNotAvailable)?;
    reach(address)?.write_all(&last_words(addresses.len(), process, kind))
}

/// The first bytes of every hello.
const WORD: &[u8; 8] = b"discreet";

const LENGTH: usize = 8 + 4 * 8 + 32;

/// The kinds of connections.
const RECORDS: u64 = 0;
const CONTROL: u64 = 1;
/// The kind of a process that has failed, and connects no more.
const ENDED: u64 = 2;
/// The kind of a process that was stopped.
const STOPPED: u64 = 3;

fn hello(cluster: &Cluster, threads: usize, process: usize, kind: u64) -> [u8; LENGTH] {
    greeting([cluster.addresses.len(), threads, process], kind, cluster.agreement.bytes())
}

/// Builds the last hello of a process. It carries no agreement: the failure may be in the configuration that
/// the agreement would be computed from.
fn last_words(processes: usize, process: usize, kind: u64) -> [u8; LENGTH] {
    greeting([processes, 0, process], kind, &[0; 32])
}

fn greeting(numbers: [usize; 3], kind: u64, agreement: &[u8; 32]) -> [u8; LENGTH] {
    let mut hello = [0; LENGTH];
    let (word, rest) = hello.split_at_mut(8);
    let (places, agreed) = rest.split_at_mut(32);
    word.copy_from_slice(WORD);
    let numbers = numbers.map(|number| number as u64);
    for (place, number) in places.chunks_exact_mut(8).zip(numbers.into_iter().chain([kind])) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    agreed.copy_from_slice(agreement);
    hello
}
