//! The time of a restart beside the size of the log that the job follows.
//!
//! The built command follows a log of old records until it releases windows of new ones, is stopped with TERM,
//! and started again. A start is timed from the new process to its first window in the output. The first start
//! has read the whole log; the second begins at the resume positions.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const JOB: &str = r#"
[job]
name = "restart"
version = 1
slack = "50ms"
[source]
type = "jsonl"
path = "visits.log"
time = { field = "at", format = "unix-ms" }
late = "100ms"
fields = ["who", "at"]
[privacy]
person = { field = "who", missing = "drop" }
promise = "lifetime"
budget = { rho = 100 }
ledger = "job.ledger"
account = "visits"
[[release]]
name = "people"
every = "1s"
people = {}
noise = "gaussian"
cost = { rho = 0.001 }
"#;

/// Prints the figures of a log of each size, in megabytes.
pub(crate) fn measure(directory: &Path, sizes: &[u64]) -> Result<(), Box<dyn Error>> {
    for megabytes in sizes {
        let place = directory.join(format!("{megabytes}mb"));
        fs::create_dir_all(&place)?;
        let now = milliseconds();
        let from = now / 1_000 * 1_000;
        let job = JOB.replace("slack =", &format!("from = \"{}\"\nslack =", moment(from)));
        fs::write(place.join("job.toml"), job)?;
        log(&place.join("visits.log"), megabytes << 20, from)?;
        let made = Command::new(env!("CARGO_BIN_EXE_discreet"))
            .args(["ledger", "init", "job.ledger", "--config", "job.toml"])
            .current_dir(&place)
            .output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into());
        }
        for (number, name) in ["first", "restart"].into_iter().enumerate() {
            let (took, read) = life(&place)?;
            println!("figure restart.{name}_of_{megabytes}_mb {:.0} ms", took.as_secs_f64() * 1e3);
            println!("figure restart.{name}_reads_of_{megabytes}_mb {:.1} MB", read as f64 / 1e6);
            if number == 0 {
                // Windows pass that the next run has to release.
                thread::sleep(Duration::from_secs(3));
            }
        }
        fs::remove_dir_all(&place)?;
    }
    Ok(())
}

/// Runs the job until it has released three windows more. Returns the time to the first, and the bytes that it
/// had read by then.
fn life(place: &Path) -> Result<(Duration, u64), Box<dyn Error>> {
    let before = released(place);
    let start = Instant::now();
    let mut run = Command::new(env!("CARGO_BIN_EXE_discreet"))
        .args(["run", "job.toml", "--out", "releases.jsonl"])
        .current_dir(place)
        .stdout(Stdio::null())
        .stderr(File::create(place.join("errors"))?)
        .spawn()?;
    let outcome = watch(place, &mut run, before, start);
    let stopped = Command::new("kill").args(["-TERM", &run.id().to_string()]).status()?;
    let ended = run.wait()?;
    if !stopped.success() || !ended.success() {
        return Err(fs::read_to_string(place.join("errors"))?.into());
    }
    outcome
}

fn watch(
    place: &Path,
    run: &mut Child,
    before: usize,
    start: Instant,
) -> Result<(Duration, u64), Box<dyn Error>> {
    let mut writer = OpenOptions::new().append(true).open(place.join("visits.log"))?;
    let mut first = None;
    loop {
        let windows = released(place) - before;
        if first.is_none() && windows > 0 {
            first = Some((start.elapsed(), bytes_read(run.id())));
        }
        if let Some(first) = first.filter(|_| windows >= 3) {
            return Ok(first);
        }
        if run.try_wait()?.is_some() || start.elapsed() > Duration::from_secs(600) {
            let said = fs::read_to_string(place.join("errors"))?;
            return Err(format!("the run released no window: {said}").into());
        }
        writeln!(writer, "{{\"who\":\"new\",\"at\":{}}}", milliseconds())?;
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the number of windows in the output.
fn released(place: &Path) -> usize {
    fs::read_to_string(place.join("releases.jsonl")).unwrap_or_default().matches("\"closed\":true").count()
}

/// Returns the bytes that a process has read by system calls; 0 where the system does not say.
fn bytes_read(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let bytes = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Writes a log of records from the day before a time.
fn log(path: &Path, bytes: u64, until: i64) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(path)?;
    let (mut written, mut person) = (0, 0u64);
    while written < bytes {
        let mut text = String::new();
        for _ in 0..10_000 {
            person += 1;
            writeln!(text, "{{\"who\":\"p{}\",\"at\":{}}}", person % 100_000, until - 86_400_000)?;
        }
        file.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    Ok(())
}

fn milliseconds() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64)
}

/// Returns a whole second as a moment of RFC 3339.
fn moment(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds);
    time.map_or_else(|_| "1970-01-01T00:00:00Z".to_owned(), |time| time.to_string())
}
