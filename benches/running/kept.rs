//! The state of a key, in memory and as written, and the time to write and to read it.

use std::error::Error;
use std::fs;
use std::hint::black_box;

use discreet::mechanisms::running::{PreparedRunning, TotalState};
use discreet::noise::NoiseSource;

use super::subject::cpu;

const ROUNDS: usize = 9;

/// The state of one strategy, for one key.
pub(crate) struct Kept {
    /// The bytes of memory, where the system reports them.
    pub(crate) held: Option<f64>,
    /// Bytes of a written state.
    pub(crate) written: usize,
    /// Nanoseconds to write and to read one.
    pub(crate) write: f64,
    pub(crate) read: f64,
}

/// The states of many keys after many ticks.
pub(crate) struct Keys {
    running: PreparedRunning,
    states: Vec<TotalState>,
    held: Option<f64>,
}

impl Keys {
    /// All states are allocated before any is freed, so that one strategy reuses no memory of another.
    pub(crate) fn new(running: PreparedRunning, keys: usize, ticks: u64) -> Result<Keys, Box<dyn Error>> {
        let mut noise = NoiseSource::from_os()?;
        let before = resident();
        let mut states: Vec<TotalState> = (0..keys).map(|_| running.begin()).collect();
        for tick in 0..ticks {
            for state in &mut states {
                running.tick(state, tick as i64 & 255, &mut noise)?;
            }
        }
        let held = resident().zip(before).map(|(after, before)| (after - before) / keys as f64);
        Ok(Keys { running, states, held })
    }

    pub(crate) fn kept(&self) -> Result<Kept, Box<dyn Error>> {
        let written: Vec<Vec<u8>> = self.states.iter().map(TotalState::to_bytes).collect();
        let (mut write, mut read) = (u64::MAX, u64::MAX);
        for _ in 0..ROUNDS {
            let start = cpu();
            self.states.iter().for_each(|state| drop(black_box(state.to_bytes())));
            let between = cpu();
            for written in &written {
                drop(black_box(self.running.resumed(written)?));
            }
            (write, read) = (write.min(between - start), read.min(cpu() - between));
        }
        let each = |spent: u64| spent as f64 / self.states.len() as f64;
        let written = written.first().map_or(0, Vec::len);
        Ok(Kept { held: self.held, written, write: each(write), read: each(read) })
    }
}

/// Bytes of memory that this process has.
fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024.0 * line.trim().strip_suffix(" kB")?.parse::<f64>().ok()?)
}
