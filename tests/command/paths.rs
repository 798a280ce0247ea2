//! Tests of paths that do not exist, or are directories in place of files: the error has the path, the
//! finding and the remedy.

use std::fs;

use crate::discreet;
use crate::jobs::Jobs;

// Refutes the system's own message, which has no remedy, and a path that is left out.
#[test]
fn a_path_that_cannot_be_read_or_written_is_named_with_the_remedy() {
    let jobs = Jobs::new("paths", "events.toml");
    events(&jobs, 200);
    let job = jobs.path("job.toml");
    let (directory, missing) = (jobs.path("state"), jobs.path("missing"));
    fs::write(jobs.path("file"), "x").unwrap();
    let within = format!("{}/below", jobs.path("file"));
    let (a_directory, nothing) = ("found a directory; give ", "found no such file; give ");
    let below = "found a file where its path has a directory; give ";
    let mut commands: Vec<(Vec<&str>, &str, &str, i32)> = Vec::new();
    for (path, found) in [(&directory, a_directory), (&missing, nothing), (&within, below)] {
        for command in [
            &["plan", path][..],
            &["check", path],
            &["check", path, "--connect", "--sample", "5"],
            &["replay", path, "--demo"],
            &["run", path],
            &["ledger", "init", &missing, "--config", path],
        ] {
            commands.push((command.to_vec(), path, found, 78));
        }
    }
    for (path, found) in [(&directory, a_directory), (&missing, nothing)] {
        for command in [
            &["price", path, "--delta", "1e-6"][..],
            &["calibrate", "shape", "--points", path, "--rho", "1", "--people", "10"],
            &["replay", &job, "--demo", "-n", "2", "--hosts", path],
        ] {
            commands.push((command.to_vec(), path, found, 78));
        }
        for command in ["show", "verify", "forecast"] {
            let found =
                if *path == directory { "not a regular file; give" } else { "there is none; make it" };
            commands.push((vec!["ledger", command, path], path, found, 78));
        }
    }
    let (nowhere, no_directory) =
        (format!("{missing}/releases.jsonl"), format!("there is no directory {missing}; make it"));
    commands.push((vec!["replay", &job, "--demo", "--out", &directory], &directory, a_directory, 78));
    commands.push((vec!["replay", &job, "--demo", "--out", &nowhere], &nowhere, &no_directory, 78));
    commands.push((vec!["replay", &job, "--demo", "--out", &within], &within, below, 78));
    commands.push((
        vec!["replay", &job, "--demo", "--out", "/dev/full"],
        "/dev/full",
        "it cannot be written (",
        74,
    ));
    for (command, path, found, ends) in commands {
        let (code, output, error) = discreet(&command);
        assert_eq!((code, output.as_str()), (ends, ""), "{command:?}: {error}");
        let printed = error.lines().last().unwrap();
        assert!(printed.contains(path) && printed.contains(found), "{command:?}: {error}");
        assert!(!error.contains("os error"), "{command:?}: {error}");
    }
}

/// Generates the events that the job reads.
pub(crate) fn events(jobs: &Jobs, rows: u32) {
    let (rows, out) = (rows.to_string(), jobs.path("events.jsonl"));
    let made =
        ["synth", "--rows", &rows, "--people", "50", "--keys", "3", "--format", "jsonl", "--out", &out];
    assert_eq!(discreet(&made).0, 0);
}
