//! The writer of the log, and the exact numbers of what it wrote.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::kit::Random;
use crate::{LATE, SECOND, Settings, now};

/// The mode of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// The log is renamed, and a new one begins.
    Rename,
    /// The log is copied, and cut. Between the two nothing is written here, so that no line is lost.
    CopyAndCut,
}

/// The number of rotated files that are kept.
const KEPT: usize = 3;

/// The exact numbers of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) lines: i64,
    /// Lines of each page, at most two of a person.
    pub(crate) pages: [i64; 4],
    pub(crate) people: i64,
    /// The sums of all people, each at most 10.
    pub(crate) cents: i64,
    /// True if a line may have come too late.
    pub(crate) is_unsure: bool,
}

/// The page of a person, and the cents of each of their visits.
fn habits(person: u64) -> (usize, i64) {
    ((person % 4) as usize, (person % 7) as i64)
}

/// The directory of the log, which one of writer and soak renames files in at a time.
type Place = Arc<Mutex<PathBuf>>;

pub(crate) struct Writer {
    place: Place,
    home: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Truth>>>,
}

fn held(place: &Place) -> MutexGuard<'_, PathBuf> {
    place.lock().unwrap()
}

impl Writer {
    pub(crate) fn start(settings: &Settings, home: PathBuf, from: i64) -> Writer {
        let (place, stop) = (Arc::new(Mutex::new(home.clone())), Arc::new(AtomicBool::new(false)));
        let log =
            Log { place: Arc::clone(&place), file: open(&home.join("visits.log")), rotated: Vec::new() };
        let (settings, stopping) = (settings.clone(), Arc::clone(&stop));
        let thread = thread::spawn(move || write(&settings, log, from, &stopping));
        Writer { place, home, stop, thread: Some(thread) }
    }

    /// Moves all files of the log to another directory, where they are written on; returns what brings them
    /// back.
    pub(crate) fn take_away(&self, away: PathBuf) -> impl FnOnce() + use<> {
        let (place, home) = (Arc::clone(&self.place), self.home.clone());
        moved(&place, &home, &away);
        move || moved(&place, &away, &home)
    }

    /// Waits for the last line; returns the exact numbers of each window.
    pub(crate) fn end(mut self) -> Vec<Truth> {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn moved(place: &Place, from: &Path, to: &Path) {
    let mut place = held(place);
    // The newest first, so that no look sees the old files without it.
    let mut names: Vec<_> = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in names {
        fs::rename(from.join(&name), to.join(&name)).unwrap();
    }
    *place = to.to_owned();
}

fn open(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

/// The log with its rotated files.
struct Log {
    place: Place,
    file: File,
    rotated: Vec<String>,
}

impl Log {
    fn rotate(&mut self, rotation: Rotation, number: usize) {
        let place = held(&self.place);
        let (log, name) = (place.join("visits.log"), format!("visits.log-{number:05}"));
        match rotation {
            Rotation::Rename => {
                fs::rename(&log, place.join(&name)).unwrap();
                self.file = open(&log);
            }
            Rotation::CopyAndCut => {
                fs::copy(&log, place.join(&name)).unwrap();
                self.file.set_len(0).unwrap();
            }
        }
        self.rotated.push(name);
        while self.rotated.len() > KEPT {
            fs::remove_file(place.join(self.rotated.remove(0))).unwrap();
        }
    }
}

/// The visits of one window, by person.
struct Counter {
    visits: Vec<u8>,
    came: Vec<u32>,
    truth: Truth,
}

impl Counter {
    fn add(&mut self, person: u64) {
        let visits = &mut self.visits[person as usize];
        if *visits == 0 {
            self.came.push(person as u32);
        }
        *visits = visits.saturating_add(1);
        self.truth.lines += 1;
    }

    fn close(&mut self) -> Truth {
        let mut truth = std::mem::take(&mut self.truth);
        for person in self.came.drain(..) {
            let visits = i64::from(std::mem::take(&mut self.visits[person as usize]));
            let (page, cents) = habits(person.into());
            truth.pages[page] += visits.min(2);
            truth.cents += (visits * cents).min(10);
            truth.people += 1;
        }
        truth
    }
}

/// Writes until the last window is over, in steps of a few milliseconds.
fn write(settings: &Settings, mut log: Log, from: i64, stop: &AtomicBool) -> Vec<Truth> {
    let mut random = Random(2026);
    let people = usize::try_from(settings.people).unwrap();
    let mut counter = Counter { visits: vec![0; people], came: Vec::new(), truth: Truth::default() };
    let (mut windows, mut text) = (Vec::new(), Vec::new());
    let (mut written, began) = (0, now());
    let (mut rotation, until) = (0, from + settings.seconds);
    while !stop.load(Ordering::Relaxed) {
        let time = now();
        let window = time.div_euclid(SECOND);
        while windows.len() as i64 + from < window.min(until) {
            windows.push(counter.close());
        }
        if window >= until {
            return windows;
        }
        // As many lines as are due, all of them at this time.
        let due = (time - began) * settings.rate / SECOND - written;
        text.clear();
        for _ in 0..due {
            let person = random.below(settings.people as u64);
            let (page, cents) = habits(person);
            let page = ["a", "b", "c", "d"][page];
            writeln!(
                text,
                "{{\"who\":{person},\"at\":{},\"page\":\"{page}\",\"cents\":{cents}}}",
                time / 1_000
            )
            .unwrap();
            counter.add(person);
        }
        written += due;
        if window < from {
            // Before the first window.
            counter.close();
        }
        log.file.write_all(&text).unwrap();
        // The job has looked at the end of the file, at the earliest, when the window took no more lines.
        counter.truth.is_unsure |= now() > (window + 1) * SECOND + LATE - 100_000;
        let turns = usize::try_from((window - from).max(0) / settings.rotate).unwrap();
        if turns > rotation {
            rotation = turns;
            log.rotate(settings.rotation, rotation);
        }
        thread::sleep(Duration::from_millis(4));
    }
    windows
}
