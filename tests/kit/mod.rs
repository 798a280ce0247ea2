//! Parts of test programs: a directory, job files, logs, processes with a time limit, their lines, servers
//! and trials.

#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "each test target uses a part of it")]

pub(crate) mod children;
pub(crate) mod job;
pub(crate) mod lines;
pub(crate) mod log;
#[cfg(feature = "cli")]
pub(crate) mod process;
#[cfg(feature = "postgres")]
pub(crate) mod server;
pub(crate) mod trial;

use std::fs;
use std::net::TcpListener;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The full size of a test, which `bash .ci/run --full` asks for.
pub(crate) fn full() -> bool {
    std::env::var_os("DISCREET_FULL").is_some()
}

/// The command that tests run: the one in `DISCREET_COMMAND`, such as one with optimizations, or the one that is built beside
/// them.
pub(crate) fn command(built: &str) -> PathBuf {
    std::env::var_os("DISCREET_COMMAND")
        .map_or_else(|| built.into(), |command| fs::canonicalize(command).unwrap())
}

/// The size of a test: `small` in an ordinary run, `whole` in a full one.
pub(crate) fn size(small: usize, whole: usize) -> usize {
    if full() { whole } else { small }
}

/// A port that nothing listens on, below those that the system gives to connections (from 32,768 on), so that none takes it
/// before it is used.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id().wrapping_mul(37).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + (next % 22_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A temporary directory, removed when it is dropped unless a test has failed.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("discreet-{name}-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.at(name), bytes).unwrap();
    }

    /// Returns the text of a file; empty if there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read(self.at(name)).map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default()
    }
}

impl Deref for Directory {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A generator of numbers from a seed: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
