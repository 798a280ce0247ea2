//! How the processes of a job find together: within a deadline, and only with their like.
//!
//! Timely's own way retries for ever, and takes whoever connects at its word. Here each connection begins with a hello
//! of fixed length that must be right in every byte; a stranger's is closed and forgotten. It is no protection against
//! an attacker, who may read and write everything that follows.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use super::config::Cluster;
use super::failure::Failure;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);
/// For a stranger that connects and says nothing.
const HELLO: Duration = Duration::from_millis(500);

/// One connection to every other process, in their order; `None` in this one's place.
pub(crate) fn connect(cluster: &Cluster, threads: usize) -> Result<Vec<Option<TcpStream>>, Failure> {
    let deadline = Instant::now() + cluster.within;
    let own = &cluster.addresses[cluster.process];
    // Bound before anything waits, so that those who come early find the door.
    let listener = TcpListener::bind(own.as_str())
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| Failure::configuration(format!("hosts: cannot listen on {own}: {error}")))?;

    let mut sockets: Vec<Option<TcpStream>> = cluster.addresses.iter().map(|_| None).collect();
    for (peer, address) in cluster.addresses.iter().enumerate().take(cluster.process) {
        sockets[peer] = Some(call(cluster, threads, address, deadline)?);
    }
    let mut others = 0u64;
    while let Some(missing) = (cluster.process + 1..sockets.len()).find(|peer| sockets[*peer].is_none()) {
        if Instant::now() > deadline {
            let address = &cluster.addresses[missing];
            let unlike = if others > 0 { format!("; one has come that {UNLIKE}") } else { String::new() };
            return Err(Failure::configuration(format!(
                "hosts: process {missing} ({address}) has not come in time{unlike}"
            )));
        }
        match listener.accept() {
            Ok((stream, _)) => match answer(cluster, threads, &stream) {
                Some(Caller::Peer(peer)) if peer > cluster.process && sockets[peer].is_none() => {
                    sockets[peer] = Some(stream);
                }
                Some(Caller::Unlike) => others += 1,
                _ => {}
            },
            Err(_) => thread::sleep(PAUSE),
        }
    }
    Ok(sockets)
}

/// Calls a process that comes before this one, until it answers.
fn call(cluster: &Cluster, threads: usize, address: &str, deadline: Instant) -> Result<TcpStream, Failure> {
    loop {
        match greet(cluster, threads, address, deadline) {
            Ok(stream) => return Ok(stream),
            // It will say nothing else next time.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(Failure::configuration(format!("hosts: the process at {address} {UNLIKE}")));
            }
            Err(error) if Instant::now() > deadline => {
                return Err(Failure::configuration(format!("hosts: no answer from {address}: {error}")));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn greet(cluster: &Cluster, threads: usize, address: &str, deadline: Instant) -> io::Result<TcpStream> {
    let address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mut stream = TcpStream::connect_timeout(&address, HELLO)?;
    stream.set_nodelay(true)?;
    stream.write_all(&hello(cluster, threads, cluster.process))?;
    // The other side says the same for itself once it lets this one in, which may wait for others. To give up and call
    // again would leave it with a connection that is dead.
    let wait = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
    stream.set_read_timeout(Some(wait))?;
    let mut said = [0; LENGTH];
    stream.read_exact(&mut said)?;
    stream.set_read_timeout(None)?;
    let known = (0..cluster.process).any(|peer| said == hello(cluster, threads, peer));
    match said {
        _ if known => Ok(stream),
        _ if said.starts_with(WORD) => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::ErrorKind::ConnectionRefused.into()),
    }
}

/// Who has called.
enum Caller {
    Peer(usize),
    /// A process of some job, which is not this one.
    Unlike,
}

/// What is wrong with such a process.
const UNLIKE: &str =
    "runs another job file, or with another key, -n, -p or -w; give all processes the same files and counts";

/// Which process has called; `None` for whoever is none.
fn answer(cluster: &Cluster, threads: usize, stream: &TcpStream) -> Option<Caller> {
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
    let peer = (0..cluster.addresses.len()).find(|peer| said == hello(cluster, threads, *peer));
    if peer.is_none() && !said.starts_with(WORD) {
        return None;
    }
    // Who is unlike this one sees it by this.
    let mut stream = stream;
    stream.write_all(&hello(cluster, threads, cluster.process)).ok()?;
    Some(peer.map_or(Caller::Unlike, Caller::Peer))
}

/// With which every process begins.
const WORD: &[u8; 8] = b"discreet";

const LENGTH: usize = 8 + 3 * 8 + 32;

fn hello(cluster: &Cluster, threads: usize, process: usize) -> [u8; LENGTH] {
    let mut hello = [0; LENGTH];
    let (word, rest) = hello.split_at_mut(8);
    let (numbers, agreement) = rest.split_at_mut(24);
    word.copy_from_slice(WORD);
    for (place, number) in numbers.chunks_exact_mut(8).zip([cluster.addresses.len(), threads, process]) {
        place.copy_from_slice(&(number as u64).to_be_bytes());
    }
    agreement.copy_from_slice(cluster.agreement.bytes());
    hello
}
