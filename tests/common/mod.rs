//! What programs of tests have in common: how large a run is, and where its files are.

#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Small in an ordinary run, full in `bash .ci/run --full`.
pub(crate) fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("DISCREET_FULL").is_some() { full } else { small }
}

/// A directory of its own, which is gone when this is.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("discreet-{name}-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }
}

impl Deref for Place {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What a test that failed leaves behind says why.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
