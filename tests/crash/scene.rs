//! One ledger, its recorder's log, and the lives of the subject over them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use discreet::accounting::{Adjacency, Promise};
use discreet::ledger::failpoint::MARKER;
use discreet::ledger::{AccountSpec, Ledger};
use rustix::process::{Pid, Signal, kill_process};

use crate::plan;

const SUBJECT: &str = env!("CARGO_BIN_EXE_crash-subject");

/// The time after which a life counts as hanging: an order of magnitude above the longest wait inside one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The recorder, a ledger to copy, and a directory for all scenes.
pub(crate) struct Stage {
    directory: PathBuf,
    recorder: Child,
    scenes: AtomicU32,
}

impl Stage {
    pub(crate) fn new(name: &str) -> Stage {
        let directory = std::env::temp_dir().join(format!("discreet-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut ledger = Ledger::create(directory.join("ledger")).unwrap();
        let cap = plan::units(plan::CAPS[0]);
        let account = AccountSpec::new(plan::name(plan::ACCOUNT), Adjacency::PERSON, Promise::Lifetime, cap);
        ledger.register(&account.unwrap()).unwrap();
        drop(ledger);
        let mut recorder = Command::new(SUBJECT)
            .arg("recorder")
            .arg(directory.join("socket"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut prepared = String::new();
        BufReader::new(recorder.stdout.take().unwrap()).read_line(&mut prepared).unwrap();
        assert_eq!(prepared, "ready\n");
        Stage { directory, recorder, scenes: AtomicU32::new(0) }
    }

    pub(crate) fn scene(&self, delivery: &'static str, start: &'static str) -> Scene {
        let number = self.scenes.fetch_add(1, Ordering::Relaxed);
        let directory = self.directory.join(number.to_string());
        fs::create_dir(&directory).unwrap();
        for name in ["ledger", "ledger.key"] {
            fs::copy(self.directory.join(name), directory.join(name)).unwrap();
        }

        Scene { directory, socket: self.directory.join("socket"), delivery, start, lives: AtomicU32::new(0) }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

pub(crate) struct Scene {
    directory: PathBuf,
    socket: PathBuf,
    /// `least` or `most`.
    pub(crate) delivery: &'static str,
    /// `replay`, where every life reads the source from its start, or `resume`, where it goes on after the
    /// delivered releases.
    start: &'static str,
    lives: AtomicU32,
}

impl Scene {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Starts a life of the subject, with a failpoint or without.
    pub(crate) fn start(&self, failpoint: Option<&str>) -> Life {
        let mut command = Command::new(SUBJECT);
        command.envs(failpoint.map(|failpoint| ("DISCREET_FAILPOINT", failpoint)));
        self.live(command)
    }

    /// Starts a life of the subject under another program, which gets the command as its last arguments.
    pub(crate) fn start_under(&self, program: &str, arguments: &[&str]) -> Life {
        let mut command = Command::new(program);
        command.args(arguments).arg(SUBJECT);
        self.live(command)
    }

    fn live(&self, mut command: Command) -> Life {
        let number = self.lives.fetch_add(1, Ordering::Relaxed);
        let (said, complained) =
            (self.path(&format!("said-{number}")), self.path(&format!("complained-{number}")));
        let child = command
            .arg("work")
            .args([&self.directory, &self.socket])
            .args([self.delivery, self.start])
            .stdin(Stdio::null())
            .stdout(File::create(&said).unwrap())
            .stderr(File::create(&complained).unwrap())
            // Of its own: where the shell that has started the tests ends, the kernel continues suspended processes of its group.
            .process_group(0)
            .spawn()
            .unwrap();
        Life { child, said, complained }
    }

    /// Breaks the lock, as an operator does who believes that the job is dead.
    pub(crate) fn break_lock(&self) {
        let inode = fs::metadata(self.path("ledger")).map_or(0, |file| file.ino());
        let _ = fs::remove_file(self.path(&format!("ledger-{inode}.{}.lock", plan::JOB)));
    }

    /// Runs a life without a failpoint, which must succeed.
    pub(crate) fn recover(&self) -> Result<(), String> {
        let mut life = self.start(None);
        let status = life.end()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("does not come back: {status}, {}", life.complaint()))
        }
    }

    /// Returns true if the life drew any noise.
    pub(crate) fn drew(&self, life: &Life) -> bool {
        let own = format!("{} ", life.child.id());
        fs::read_to_string(self.path("draws"))
            .is_ok_and(|draws| draws.lines().any(|line| line.starts_with(&own)))
    }

    pub(crate) fn remove(self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

pub(crate) struct Life {
    child: Child,
    said: PathBuf,
    complained: PathBuf,
}

impl Life {
    /// Waits for the end, with a time limit.
    pub(crate) fn end(&mut self) -> Result<ExitStatus, String> {
        self.end_or(|_| None::<()>).map(|end| end.unwrap_or_else(|()| unreachable!()))
    }

    /// Waits for the end; `None` after this time.
    pub(crate) fn end_within(&mut self, time: Duration) -> Result<Option<ExitStatus>, String> {
        let start = Instant::now();
        Ok(self.end_or(|_| (start.elapsed() > time).then_some(()))?.ok())
    }

    /// Waits until the life has ended or is suspended; returns true if it is suspended.
    pub(crate) fn stopped(&mut self) -> Result<bool, String> {
        let stat = format!("/proc/{}/stat", self.child.id());
        let stopped = |_: &Life| {
            // The state follows the name, which is in brackets.
            let stat = fs::read_to_string(&stat).ok()?;
            stat.rsplit_once(") ")?.1.starts_with('T').then_some(())
        };
        Ok(self.end_or(stopped)?.is_err())
    }

    fn end_or<T>(&mut self, other: impl Fn(&Life) -> Option<T>) -> Result<Result<ExitStatus, T>, String> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ok(Ok(status));
            }
            if let Some(other) = other(self) {
                return Ok(Err(other));
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("hangs: {}", self.complaint()));
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Resumes the life.
    pub(crate) fn wake(&self) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, Signal::CONT).unwrap();
    }

    /// Returns true if the life reached its failpoint.
    pub(crate) fn fired(&self) -> bool {
        self.complaint().contains(MARKER)
    }

    pub(crate) fn complaint(&self) -> String {
        fs::read_to_string(&self.complained).unwrap()
    }

    /// Its output.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // A suspended process would never end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}
