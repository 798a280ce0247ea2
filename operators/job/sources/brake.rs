//! What a job and its reading threads tell each other: to wait, and how far they are.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::time::Time;

/// While it is pulled, nothing more is read.
#[derive(Debug, Default)]
pub(crate) struct Brake(AtomicBool);

impl Brake {
    pub(crate) fn new() -> Arc<Brake> {
        Arc::default()
    }

    pub(crate) fn pull(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn release(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How far the reading is: in bytes of the files as they lie on the disk, and in rows of what is made up. It is for
/// whoever watches the job, outside the promise.
#[derive(Debug, Default)]
pub struct Progress {
    total: Option<u64>,
    read: AtomicU64,
    ended: AtomicBool,
    /// When all that was there had been dealt; nothing before that.
    caught_up: OnceLock<AtomicI64>,
}

impl Progress {
    pub(super) fn of(total: Option<u64>) -> Arc<Progress> {
        Arc::new(Progress { total, ..Progress::default() })
    }

    /// How many there are; `None` where nobody knows.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Bytes read so far, as they lie on the disk.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether everything has been read.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The moment at which all that was there had been read, while an input is followed.
    pub fn caught_up(&self) -> Option<Time> {
        self.caught_up.get().map(|moment| moment.load(Ordering::Relaxed))
    }

    pub(super) fn catch_up(&self, moment: Time) {
        self.caught_up.get_or_init(AtomicI64::default).store(moment, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
