//! A directory with a job in it, and processes that run the job.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kit::Directory;

/// The time limit of any action of a process, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

/// The command of the scenes.
fn command() -> PathBuf {
    crate::kit::command(env!("CARGO_BIN_EXE_discreet"))
}

/// A directory that is removed when this is dropped.
pub(crate) struct Scene(Directory);

impl Scene {
    pub(crate) fn new(name: &str) -> Scene {
        Scene(Directory::new(&format!("job-{name}")))
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.at(name), text).unwrap();
    }

    /// The content of a file; empty where there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read(self.at(name)).map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Life {
        self.start_reading(arguments, Stdio::null())
    }

    pub(crate) fn start_reading(&self, arguments: &[&str], input: Stdio) -> Life {
        self.start_under::<&str>(&[], arguments, input)
    }

    /// Starts a process with these variables in its environment.
    pub(crate) fn start_in(&self, environment: &[(&str, OsString)], arguments: &[&str]) -> Life {
        self.start_under(environment, arguments, Stdio::null())
    }

    /// Starts a process with these variables in its environment, and this input.
    pub(crate) fn start_under<V: AsRef<std::ffi::OsStr>>(
        &self,
        environment: &[(&str, V)],
        arguments: &[&str],
        input: Stdio,
    ) -> Life {
        let mut command = Command::new(command());
        command.env_remove("DISCREET_LOG");
        self.spawn(command.envs(environment.iter().map(|(name, value)| (name, value))), arguments, input)
    }

    /// Starts a process that another program runs, in its own place.
    pub(crate) fn start_through(&self, program: &str, options: &[&str], arguments: &[&str]) -> Life {
        self.spawn(Command::new(program).args(options).arg(command()), arguments, Stdio::null())
    }

    fn spawn(&self, command: &mut Command, arguments: &[&str], input: Stdio) -> Life {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Files, so that a process never waits for a reader of its output.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let (out, err) = (self.at(&format!(".out-{count}")), self.at(&format!(".err-{count}")));
        let child = command
            .args(arguments)
            // Its lines have no times then, as under systemd.
            .env("JOURNAL_STREAM", "0:0")
            .current_dir(&*self.0)
            .stdin(input)
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Life { child, out, err, since: Instant::now() }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.start(arguments).end()
    }

    /// Runs a command that must succeed.
    pub(crate) fn done(&self, arguments: &[&str]) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
        said
    }

    /// Creates the ledger of `job.toml`.
    pub(crate) fn init(&self) {
        self.done(&["ledger", "init", "job.ledger", "--config", "job.toml"]);
    }

    /// The state of a ledger's one account: the number of sealed windows, and the amount spent in each
    /// currency.
    pub(crate) fn charged(&self, ledger: &str) -> (u64, BTreeMap<String, f64>) {
        let said = self.done(&["ledger", "show", ledger, "--json"]);
        let page: Value = serde_json::from_str(&said.out).unwrap();
        let account = page["accounts"].as_object().unwrap().values().next().unwrap().clone();
        let spent = account["spent"].as_object().unwrap().iter();
        let spent = spent.map(|(name, amount)| (name.clone(), amount.as_f64().unwrap())).collect();
        (account["releases"].as_u64().unwrap(), spent)
    }

    /// Verifies a ledger from the first row on.
    pub(crate) fn verify(&self, ledger: &str) {
        assert!(self.done(&["ledger", "verify", ledger]).out.starts_with("sound: "));
    }
}

/// A process, killed when this is dropped.
pub(crate) struct Life {
    pub(crate) child: Child,
    out: PathBuf,
    err: PathBuf,
    since: Instant,
}

/// The end of a process, with its whole output.
#[derive(Debug)]
pub(crate) struct Said {
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Life {
    /// Waits for the end.
    pub(crate) fn end(self) -> Said {
        // A run of half a million rows takes 93 s of CPU time with the checks of a full run, and more beside other tests.
        self.end_within(6 * PATIENCE)
    }

    pub(crate) fn end_within(mut self, patience: Duration) -> Said {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if start.elapsed() > patience => {
                    panic!("it did not end within {patience:?}; it said {:?}", self.said());
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let (out, err) = self.said();
        Said { code: status.code(), out, err, took: self.since.elapsed() }
    }

    /// Its output so far.
    pub(crate) fn said(&self) -> (String, String) {
        let read = |path: &Path| String::from_utf8(fs::read(path).unwrap()).unwrap();
        (read(&self.out), read(&self.err))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(mut self) -> Said {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.end()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The standard error of a run without the line that says that it has started.
pub(crate) fn after_start(err: &str) -> String {
    err.split_inclusive('\n').filter(|line| !line.starts_with("started: ")).collect()
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The present, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

/// A time in the format of job files and lines.
pub(crate) fn moment(microseconds: i64) -> String {
    jiff::Timestamp::from_microsecond(microseconds).unwrap().to_string()
}

/// The content of a file of releases, strictly checked: each window once, whole, with as many cells as its
/// closing line states. A window that was skipped has none.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Printed(pub(crate) BTreeMap<(String, String), BTreeMap<String, Value>>);

impl Printed {
    /// Parses the lines strictly: a torn line, or a window with no end or two, is a failure.
    pub(crate) fn of(text: &str) -> Printed {
        assert!(text.is_empty() || text.ends_with('\n'), "a torn line at the end");
        let mut printed = Printed::default();
        let mut open: Option<(String, String)> = None;
        let mut cells = BTreeMap::new();
        for line in text.lines() {
            let line: Value =
                serde_json::from_str(line).unwrap_or_else(|_| panic!("no line of JSON: {line}"));
            let about = (
                line["release"].as_str().unwrap().to_owned(),
                line["window"]["start"].as_str().unwrap_or_default().to_owned(),
            );
            assert!(open.as_ref().is_none_or(|open| *open == about), "a window among the lines of another");
            if line["closed"] == true {
                assert_eq!(line["cells"].as_u64(), Some(cells.len() as u64), "{line}");
                let before = printed.0.insert(about, std::mem::take(&mut cells));
                assert!(before.is_none(), "released twice: {line}");
                open = None;
                continue;
            }
            assert!(line.get("refused").is_none(), "{line}");
            if line["skipped"] == true {
                assert!(cells.is_empty(), "cells of a skipped window: {line}");
                assert!(printed.0.insert(about, BTreeMap::new()).is_none(), "skipped and released: {line}");
                continue;
            }
            let key = line["key"].as_str().unwrap_or_default().to_owned();
            assert!(cells.insert(key, line).is_none(), "a key twice in one window");
            open = Some(about);
        }
        assert!(open.is_none(), "a window without its end");
        printed
    }

    /// The values alone, by release, start of the window, and key.
    pub(crate) fn values(&self) -> BTreeMap<(String, String, String), Value> {
        self.field("value")
    }

    pub(crate) fn field(&self, field: &str) -> BTreeMap<(String, String, String), Value> {
        let cells = self.0.iter().flat_map(|((release, start), cells)| {
            cells
                .iter()
                .map(|(key, cell)| ((release.clone(), start.clone(), key.clone()), cell[field].clone()))
        });
        cells.collect()
    }
}
