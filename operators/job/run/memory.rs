//! The limit `[limits] memory`: kept by spilling open windows, and by pausing the reading; never by forgetting somebody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::dataflow::{RunError, SpillSpace};
use crate::job::sources::Brake;

/// The interval at which memory is measured: reading fills less than a fifth of any sensible limit in that
/// time.
const GLANCE: Duration = Duration::from_millis(10);
/// From here on nothing is read, as a part of the limit in percent; and up to here it is again.
const HIGH: u64 = 80;
const LOW: u64 = 75;
/// The time for which the held memory may fail to shrink while nothing is read.
const STALL_LIMIT: Duration = Duration::from_secs(30);

/// The memory that this process holds, in bytes.
///
/// The pages of its program and of other files are not counted where the system tells them apart: it takes them back when
/// it needs them, and of a program with debug symbols they are 50 MB.
fn held_memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    if let Some(pages) =
        std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| pages_of_its_own(&text))
    {
        return pages.checked_mul(rustix::param::page_size() as u64);
    }
    Some(memory_stats::memory_stats()?.physical_mem as u64)
}

/// The resident pages of a process that belong to no file, by its line of `statm` (proc(5)).
#[cfg(target_os = "linux")]
fn pages_of_its_own(statm: &str) -> Option<u64> {
    let mut fields = statm.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    let (resident, of_files) = (fields.next()?, fields.next()?);
    resident.checked_sub(of_files)
}

/// Watches the memory of this process until it is dropped.
pub(crate) struct Guard {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// Pulls the brake where little memory is left, and calls `exceeded` with the reason where there is none,
    /// or where the held memory does not become less though nothing more is read.
    pub(crate) fn watch(
        limit: u64,
        (brake, spill): (Arc<Brake>, Arc<SpillSpace>),
        exceeded: impl FnOnce(String) + Send + 'static,
    ) -> Result<Guard, RunError> {
        if held_memory().is_none() {
            let message = "limits.memory: this system does not say how much memory a process holds; leave the limit out";
            return Err(RunError::configuration(message));
        }
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let thread = std::thread::Builder::new().name("memory".into()).spawn(move || {
            let mut judge = MemoryMonitor::new(limit);
            while !ended.load(Ordering::Relaxed) {
                let held = held_memory().unwrap_or(0);
                let used = spill.note_memory(held);
                match judge.looks((held, used), Instant::now()) {
                    Verdict::Read => brake.release(),
                    Verdict::Wait => brake.pull(),
                    Verdict::End(why) => {
                        brake.pull();
                        return exceeded(format!("limits.memory: {why}"));
                    }
                }
                std::thread::sleep(GLANCE);
            }
        });
        let thread = thread.map_err(|error| RunError::configuration(format!("threads: {error}")))?;
        Ok(Guard { over, thread: Some(thread) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Read,
    Wait,
    End(&'static str),
}

/// The decision that follows from the memory held, and its history.
struct MemoryMonitor {
    limit: u64,
    /// The time since which nothing is read, and the least that was held since.
    waiting: Option<(Instant, u64)>,
}

impl MemoryMonitor {
    fn new(limit: u64) -> MemoryMonitor {
        MemoryMonitor { limit, waiting: None }
    }

    /// Decides by the memory of the process, and by what of it is in use.
    fn looks(&mut self, (held, used): (u64, u64), now: Instant) -> Verdict {
        // Without overflow: a limit may be any number.
        let part = |percent: u64| (u128::from(self.limit) * u128::from(percent) / 100) as u64;
        if held > self.limit {
            return Verdict::End(
                "the process holds more than it may, and has ended with nothing incomplete released; give it more, or \
                 narrower windows, or a smaller bound",
            );
        }
        match &mut self.waiting {
            None if used < part(HIGH) => Verdict::Read,
            None => {
                self.waiting = Some((now, used));
                Verdict::Wait
            }
            Some(_) if used < part(LOW) => {
                self.waiting = None;
                Verdict::Read
            }
            Some((since, least)) => {
                if used < *least {
                    (*since, *least) = (now, used);
                }
                if now.duration_since(*since) < STALL_LIMIT {
                    return Verdict::Wait;
                }
                Verdict::End(
                    "what is on its way and in open windows holds four fifths of it, so nothing more can be read; give it \
                     more, or narrower windows, or a smaller bound",
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_at_four_fifths_and_goes_on_below_three_quarters() {
        let (mut judge, now) = (MemoryMonitor::new(1000), Instant::now());
        for (held, verdict) in [
            (0, Verdict::Read),
            (799, Verdict::Read),
            (800, Verdict::Wait),
            (790, Verdict::Wait),
            (750, Verdict::Wait),
            (749, Verdict::Read),
            (799, Verdict::Read),
            (1000, Verdict::Wait),
        ] {
            assert_eq!(judge.looks((held, held), now), verdict, "{held}");
        }
        assert_eq!(judge.looks((900, 749), now), Verdict::Read, "some of it is free again");
        assert_eq!(judge.looks((900, 800), now), Verdict::Wait);
        assert!(matches!(judge.looks((1001, 0), now), Verdict::End(_)));
    }

    // Refutes a limit that the pages of a program are counted to.
    #[cfg(target_os = "linux")]
    #[test]
    fn pages_of_files_are_not_held() {
        assert_eq!(pages_of_its_own("8132 2500 1900 120 0 600 0\n"), Some(600));
        for text in ["", "1 2", "1 2 x", "1 2 3"] {
            assert_eq!(pages_of_its_own(text), None, "{text}");
        }
        let held = held_memory().unwrap();
        let block = vec![1u8; 64 << 20];
        let more = held_memory().unwrap();
        assert!(more > held + (60 << 20), "{held} and {more} with {}", block[held as usize % block.len()]);
    }

    // Refutes a job that waits for ever for windows which only reading could close.
    #[test]
    fn what_never_becomes_less_ends_the_run() {
        let (mut judge, start) = (MemoryMonitor::new(1000), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(judge.looks((900, 900), start), Verdict::Wait);
        assert_eq!(judge.looks((900, 900), after(29)), Verdict::Wait);
        assert_eq!(judge.looks((899, 899), after(29)), Verdict::Wait, "it becomes less");
        assert_eq!(judge.looks((899, 899), after(58)), Verdict::Wait);
        assert!(matches!(judge.looks((899, 899), after(59)), Verdict::End(_)));
        assert!(matches!(MemoryMonitor::new(u64::MAX).looks((u64::MAX, u64::MAX), start), Verdict::Wait));
    }
}
