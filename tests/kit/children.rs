//! Child processes of a test: this program again, with a task in the environment.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a child, with what it prepares first: more than 3 seconds by itself, without
/// optimization, and many times that beside other tests.
pub(crate) const SOON: Duration = Duration::from_secs(90);

/// This program again, at its test `the_child`.
pub(crate) fn child(task: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "the_child", "--nocapture"])
        .env("TASK", task)
        .env("DIRECTORY", directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A child as one of two processes.
pub(crate) fn process(task: &str, directory: &Path, hosts: &str, process: usize) -> Command {
    let mut command = child(task, directory);
    command.env("HOSTS", hosts).env("PROCESS", process.to_string());
    command
}

/// Two addresses that nothing listens on.
pub(crate) fn hosts() -> String {
    [(); 2].map(|()| format!("127.0.0.1:{}", super::free_port())).join(" ")
}

/// Waits for the end of a child, with a time limit; returns its status and its output.
pub(crate) fn end(mut child: Child) -> (ExitStatus, String) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > SOON {
            child.kill().unwrap();
            panic!("it did not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}
