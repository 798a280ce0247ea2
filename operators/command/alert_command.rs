//! The command of alerts: a program of the operator, run once for each alert.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use discreet::alert::{Alert, Audience};
use discreet::job::Job;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Refusal, log};

/// The time that the command of an alert may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two looks at the command.
const GLANCE: Duration = Duration::from_millis(50);
/// The most alerts that wait for their command.
const WAITING: usize = 16;

/// The command for the alerts of a job, which a thread runs for one after another.
pub(super) struct AlertCommand {
    program: String,
    arguments: Vec<String>,
    job: String,
    patience: Duration,
}

impl AlertCommand {
    /// Returns the command that the job states, if any.
    pub(super) fn of(job: &Job) -> Option<AlertCommand> {
        let (program, arguments) = job.watch.exec.split_first()?;
        let (program, arguments) = (program.clone(), arguments.to_vec());
        Some(AlertCommand { program, arguments, job: job.name.to_string(), patience: PATIENCE })
    }

    /// Returns a warning if there is no such program now.
    pub(super) fn warning(&self) -> Option<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places: Vec<PathBuf> = match self.program.contains('/') {
            true => vec![PathBuf::from(&self.program)],
            false => std::env::split_paths(&path).map(|directory| directory.join(&self.program)).collect(),
        };
        let is_there = places.iter().any(|place| is_program(place));
        (!is_there).then(|| {
            let within = if self.program.contains('/') { "" } else { " in PATH" };
            format!(
                "watch.exec: found no program {}{within} that this user may run; until there is one, alerts are in the log \
                 and in the metrics alone",
                self.program
            )
        })
    }

    /// Begins to wait for alerts.
    pub(super) fn start(self) -> Result<Sender<Alert>, Refusal> {
        let (sender, inbox) = bounded(WAITING);
        let thread = std::thread::Builder::new().name("alerts".into()).spawn(move || self.serve(&inbox));
        thread.map_err(|error| Refusal::new(format!("threads: {error}")))?;
        Ok(sender)
    }

    fn serve(&self, inbox: &Receiver<Alert>) {
        for alert in inbox {
            if let Err(why) = self.run(&alert) {
                log::operator(&format!("watch.exec: {why}"));
            }
        }
    }

    /// Runs the command for an alert, without a shell. Where it takes too long, it is ended with all processes
    /// that it has started.
    fn run(&self, alert: &Alert) -> Result<(), String> {
        let AlertCommand { program, arguments, job, patience } = self;
        let audience = if alert.audience() == Audience::Operator { "operator" } else { "public" };
        // Standard output is reserved for the lines of releases.
        let child = Program::new(program)
            .args(arguments)
            .env("DISCREET_ALERT", alert.kind())
            .env("DISCREET_ALERT_TEXT", alert.to_string())
            .env("DISCREET_ALERT_AUDIENCE", audience)
            .env("DISCREET_JOB", job)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn();
        let mut child = child.map_err(|error| format!("{program} cannot be run ({error})"))?;
        let until = Instant::now() + *patience;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("{program} has failed ({status})")),
                Ok(None) if Instant::now() < until => std::thread::sleep(GLANCE),
                _ => {
                    // Before it is waited for: its number is its group's until then.
                    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                        let _ = kill_process_group(group, Signal::KILL);
                    }
                    let _ = child.wait();
                    return Err(format!("{program} took more than {} s, and was ended", patience.as_secs()));
                }
            }
        }
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str], patience: Duration) -> AlertCommand {
        let (program, arguments) = words.split_first().unwrap();
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        AlertCommand { program: (*program).to_owned(), arguments, job: "visits".to_owned(), patience }
    }

    /// A file in a directory that is gone when the test is.
    struct Said(PathBuf);

    impl Said {
        fn new(name: &str) -> Said {
            let directory =
                std::env::temp_dir().join(format!("discreet-alert-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&directory).unwrap();
            Said(directory.join("said"))
        }

        fn path(&self) -> &str {
            self.0.to_str().unwrap()
        }

        fn text(&self) -> String {
            std::fs::read_to_string(&self.0).unwrap_or_default()
        }
    }

    impl Drop for Said {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
        }
    }

    // Refutes a shell, and a command that is not told what happened.
    #[test]
    fn a_command_gets_the_alert_in_its_environment() {
        let said = Said::new("env");
        let script = r#"printf '%s|%s|%s|%s' "$DISCREET_ALERT" "$DISCREET_JOB" "$DISCREET_ALERT_AUDIENCE" "$1" > "$2""#;
        let words = ["/bin/sh", "-c", script, "x", "$(boom)", said.path()];
        command(&words, PATIENCE).run(&Alert::Behind).unwrap();
        assert_eq!(said.text(), "behind|visits|operator|$(boom)");
        let refused = |program| command(&[program], PATIENCE).run(&Alert::Behind).unwrap_err();
        assert!(refused("/no/such/program").contains("cannot be run"));
        assert!(refused("/bin/false").contains("has failed"));
    }

    // Refutes a process that goes on after the command that has started it was ended.
    #[test]
    fn a_command_that_takes_too_long_ends_with_what_it_has_started() {
        let said = Said::new("late");
        let script = r#"(sleep 1; printf late > "$1") & sleep 60"#;
        let words = ["/bin/sh", "-c", script, "x", said.path()];
        let why = command(&words, Duration::from_millis(100)).run(&Alert::Behind).unwrap_err();
        assert!(why.contains("and was ended"), "{why}");
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(said.text(), "");
    }

    #[test]
    fn a_program_that_is_missing_is_reported() {
        let warning = |program| command(&[program], PATIENCE).warning();
        assert_eq!((warning("sh"), warning("/bin/sh")), (None, None));
        assert!(
            warning("no-such-program")
                .unwrap()
                .contains("watch.exec: found no program no-such-program in PATH")
        );
        assert!(warning("/no/such/program").unwrap().contains("found no program /no/such/program that"));
        let text = Said::new("text");
        std::fs::write(&text.0, "no program").unwrap();
        assert!(warning(text.path()).is_some() && warning("/bin").is_some());
    }
}
