//! The protocol of a service manager (`sd_notify`): datagrams to the socket that `NOTIFY_SOCKET` names.
//!
//! The watchdog's message says that the workers make progress, so it is sent by what counts their turns, and
//! only where each worker has had one since the message before. What a message says is public: any user of
//! the machine can read a unit's status.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use discreet::dataflow::Stop;
use discreet::job::Vitals;

use super::Refusal;

/// The interval at which the run is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// The time without a turn after which a worker hangs: half of `WatchdogSec=` in `config/discreet@.service`.
const HANG: Duration = Duration::from_secs(60);

/// The interval of status messages.
const STATUS: Duration = Duration::from_secs(10);

/// A service manager that waits for messages.
pub(crate) struct ServiceManager {
    socket: UnixDatagram,
    address: SocketAddr,
    /// The time within which a sign of life is expected.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The service manager that started this process; `None` where none did.
    pub(crate) fn find() -> Result<Option<ServiceManager>, Refusal> {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let refuse = |error: io::Error| Refusal::new(format!("NOTIFY_SOCKET: {error}; unset it"));
        let address = address(&name).map_err(refuse)?;
        let socket = UnixDatagram::unbound().map_err(refuse)?;
        // A manager that does not read must not hold up a run.
        socket.set_nonblocking(true).map_err(refuse)?;
        let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
        let watched = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|time| watched && *time > 0).map(Duration::from_micros);
        Ok(Some(ServiceManager { socket, address, watchdog }))
    }

    /// Sends a message. A manager that is gone or does not read does not concern the run.
    pub(crate) fn say(&self, message: &str) {
        let _ = self.socket.send_to_addr(message.as_bytes(), &self.address);
    }

    /// Reports a run from its start on, until the process ends: `READY=1` once its input is connected, its
    /// status, and the signs of life of its workers.
    pub(crate) fn report(&self, vitals: &Vitals, stop: &Stop) {
        let (mut ready, mut turns, mut told) = (false, WorkerTurns::new(), None);
        loop {
            std::thread::sleep(self.watchdog.map_or(GLANCE, |watchdog| GLANCE.min(watchdog / 4)));
            if !ready && vitals.is_connected() {
                ready = true;
                self.say("READY=1");
            }
            if ready && told.is_none_or(|told: Instant| told.elapsed() >= STATUS) {
                told = Some(Instant::now());
                self.say(&format!("STATUS={}", vitals.public()));
            }
            if let Some(watchdog) = self.watchdog
                && turns.begun.elapsed() >= watchdog / 2
                && turns.have_all(stop.turns(), Instant::now())
            {
                self.say("WATCHDOG=1");
            }
        }
    }
}

/// The turns that workers have had, by which a worker that hangs is noticed.
pub(crate) struct WorkerTurns {
    turns: Vec<(usize, u64)>,
    /// The time of the last look by which all had had one.
    begun: Instant,
}

impl WorkerTurns {
    pub(crate) fn new() -> WorkerTurns {
        WorkerTurns { turns: Vec::new(), begun: Instant::now() }
    }

    /// Returns true if each worker has had a turn since the last look that returned true.
    fn have_all(&mut self, turns: Vec<(usize, u64)>, now: Instant) -> bool {
        let all = all_turned(&self.turns, &turns);
        if all {
            (self.turns, self.begun) = (turns, now);
        }
        all
    }

    /// Returns true unless some worker has had no turn for [`HANG`].
    pub(crate) fn are_alive(&mut self, turns: Vec<(usize, u64)>, now: Instant) -> bool {
        self.have_all(turns, now) || now.duration_since(self.begun) < HANG
    }
}

/// Returns true if each worker that runs has had a turn since; one that has begun or ended since has.
fn all_turned(before: &[(usize, u64)], now: &[(usize, u64)]) -> bool {
    now.iter().all(|worker| !before.contains(worker))
}

/// The address of a path, or of an abstract name, which begins with `@`.
fn address(name: &OsString) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::ffi::OsStrExt;
        if let Some(name) = name.as_bytes().strip_prefix(b"@") {
            return SocketAddr::from_abstract_name(name);
        }
    }
    SocketAddr::from_pathname(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a sign of life for a process in which one worker of two hangs.
    #[test]
    fn every_worker_gives_the_sign_of_life() {
        assert!(all_turned(&[], &[(0, 1), (1, 1)]));
        assert!(all_turned(&[(0, 1), (1, 1)], &[(0, 2), (1, 7)]));
        assert!(!all_turned(&[(0, 1), (1, 1)], &[(0, 2), (1, 1)]));
        assert!(all_turned(&[(0, 1), (1, 1)], &[(0, 2)]));
        assert!(all_turned(&[(0, 1)], &[]));
    }

    // Refutes a run that is healthy for ever, and one that is not before its workers have begun.
    #[test]
    fn a_worker_without_a_turn_for_a_minute_is_not_alive() {
        let mut turns = WorkerTurns::new();
        let begun = turns.begun;
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert!(turns.are_alive(Vec::new(), after(100)), "none has begun");
        assert!(turns.are_alive(vec![(0, 1), (1, 1)], after(200)));
        assert!(turns.are_alive(vec![(0, 9), (1, 1)], after(259)));
        assert!(!turns.are_alive(vec![(0, 99), (1, 1)], after(260)), "one of two hangs");
        assert!(turns.are_alive(vec![(0, 100), (1, 2)], after(900)), "it goes on");
        assert!(turns.are_alive(vec![(0, 101)], after(1000)), "one has ended");
    }
}
