//! Processes of the built command, each with a time limit.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Directory;

/// The time after which a process is killed, and reported as hanging.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A process, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    arguments: String,
    out: PathBuf,
    err: PathBuf,
    since: Instant,
    input: Option<ChildStdin>,
}

/// The end of a process, with everything that it printed.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) arguments: String,
    /// The exit code; `None` if a signal ended it, or it hung.
    pub(crate) code: Option<i32>,
    pub(crate) hung: bool,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Directory {
    /// Starts `discreet` in this directory.
    pub(crate) fn start(&self, arguments: &[&str], input: Stdio) -> Process {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Files: a process never waits for a reader of a pipe.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let (out, err) = (self.at(&format!(".out-{count}")), self.at(&format!(".err-{count}")));
        let child = Command::new(env!("CARGO_BIN_EXE_discreet"))
            .args(arguments)
            // The lines of a run have no times then, as under systemd.
            .env("JOURNAL_STREAM", "0:0")
            .env_remove("DISCREET_LOG")
            .current_dir(self.path())
            .stdin(input)
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Process { child, arguments: arguments.join(" "), out, err, since: Instant::now(), input: None }
    }

    /// Runs `discreet` in this directory to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments, Stdio::null()).end()
    }
}

impl Process {
    /// Waits for the end, or kills the process at the limit.
    pub(crate) fn end(mut self) -> Ended {
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if self.since.elapsed() > LIMIT => break None,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        self.ended(status)
    }

    fn ended(&self, status: Option<std::process::ExitStatus>) -> Ended {
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Ended {
            arguments: self.arguments.clone(),
            code: status.and_then(|status| status.code()),
            hung: status.is_none(),
            out: read(&self.out),
            err: read(&self.err),
            took: self.since.elapsed(),
        }
    }

    /// Kills the process with SIGKILL; returns its output, and true if the kill came before its end.
    pub(crate) fn kill(mut self) -> (Ended, bool) {
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        (self.ended(Some(status)), status.code().is_none())
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.out).unwrap()).into_owned()
    }

    /// Writes to its standard input, which stays open until its end.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut input = self.child.stdin.take().or(self.input.take()).unwrap();
        // A process that has ended accepts no input.
        let _ = input.write_all(bytes);
        self.input = Some(input);
    }

    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
