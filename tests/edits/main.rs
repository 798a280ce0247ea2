//! Each field of a job file is changed between two runs of one version, through the built command, and the
//! outcome is compared with the table of `docs/VERSIONS.md`: a version is refused with other parameters, or
//! releases the same lines.
//!
//! The fields are those of `discreet fields`, so that a new field without a row in the table fails here.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod beside;
mod edit;
mod jobs;
mod reservation;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use discreet::job::config::{JOB_FIELDS, JobField};
use edit::{EDITS, Edit};
use jobs::Job;
use table::{Outcome, Table};

/// A directory that is removed when this is dropped.
struct Scene(PathBuf);

impl Scene {
    fn new() -> Scene {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("discreet-edits-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scene(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// Runs the command: exit code, output, and the error message.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let done = Command::new(env!("CARGO_BIN_EXE_discreet"))
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
    }

    fn spent(&self) -> String {
        let (code, page, error) = self.run(&["ledger", "show", "job.ledger", "--json"]);
        assert_eq!(code, 0, "{error}");
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let accounts = page["accounts"].as_object().unwrap();
        accounts.iter().map(|(name, account)| format!("{name} {}\n", account["spent"])).collect()
    }

    fn release(&self, job: &str) -> (i32, BTreeMap<String, Vec<String>>, String) {
        let (code, lines, error) = self.run(&["replay", job, "--out", "lines.jsonl"]);
        let printed = fs::read_to_string(self.0.join("lines.jsonl")).unwrap_or_default();
        let _ = fs::remove_file(self.0.join("lines.jsonl"));
        (code, by_window(&printed), format!("{lines}{error}"))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The lines of each release and window.
fn by_window(lines: &str) -> BTreeMap<String, Vec<String>> {
    let mut windows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines.lines() {
        let printed: serde_json::Value = serde_json::from_str(line).unwrap();
        windows
            .entry(format!("{} {}", printed["release"], printed["window"]))
            .or_default()
            .push(line.to_owned());
    }
    windows
}

/// The files that a run leaves, and the places where they are kept.
const KEPT: [(&str, &str); 3] =
    [("job.ledger", "kept"), ("job.ledger.key", "kept.key"), ("job.anchor", "kept.anchor")];

/// A job that has released once; every edit begins with its ledger.
struct Released {
    scene: Scene,
    job: Job,
    windows: BTreeMap<String, Vec<String>>,
    spent: String,
}

impl Released {
    fn new(job: Job) -> Released {
        let scene = Scene::new();
        jobs::data().iter().for_each(|(name, text)| scene.write(name, text));
        scene.write("job.toml", &job.text());
        let (code, _, error) = scene.run(&["ledger", "init", "job.ledger", "--config", "job.toml"]);
        assert_eq!(code, 0, "{}: {error}", job.name);
        let (code, windows, error) = scene.release("job.toml");
        assert_eq!(code, 0, "{}: {error}", job.name);
        let one = ["whole", "questions"].contains(&job.name);
        assert!(windows.len() > usize::from(!one), "{}: {windows:?}", job.name);
        let spent = scene.spent();
        for (name, kept) in KEPT {
            fs::copy(scene.0.join(name), scene.0.join(kept)).unwrap();
        }
        Released { scene, job, windows, spent }
    }

    /// Restores the ledger of the first run.
    fn again(&self) {
        for name in ["job.ledger-wal", "job.ledger-shm", "other.anchor"] {
            let _ = fs::remove_file(self.scene.0.join(name));
        }
        for (name, kept) in KEPT {
            let _ = fs::remove_file(self.scene.0.join(name));
            fs::copy(self.scene.0.join(kept), self.scene.0.join(name)).unwrap();
        }
    }

    /// The fault in the outcome of an edit, if there is one.
    fn differs(&self, edit: &Edit, due: Outcome) -> Option<String> {
        self.again();
        self.scene.write("edited.toml", &self.job.edited(edit).text());
        let (code, _, said) = self.scene.run(&["check", "edited.toml", "--connect"]);
        let (ran, windows, error) = self.scene.release("edited.toml");
        let spent = self.scene.spent();
        let wrong = |what: &str| Some(format!("{what}: check {code} {said}run {ran} {error}"));
        let refused = |word: &str| {
            let named = edit.named.unwrap_or(edit.field.trim_start_matches("release."));
            (code, ran) == (78, 78)
                && [&said, &error].iter().all(|text| text.contains(word) && text.contains(named))
                && windows.is_empty()
                && spent == self.spent
        };
        match due {
            Outcome::Version if refused("in version 1 with other parameters") => None,
            Outcome::Version => wrong("a new version is not demanded, or the field is not named"),
            Outcome::Account if refused("account") => None,
            Outcome::Account => wrong("a new account is not demanded, or the field is not named"),
            Outcome::Refused if refused("") => None,
            Outcome::Refused => wrong("it is not refused"),
            Outcome::Anew
                if ran == 0 && windows.keys().len() >= self.windows.len() && spent != self.spent =>
            {
                None
            }
            Outcome::Anew => wrong("it does not release and pay anew"),
            Outcome::Harmless => {
                let same = |(window, lines): (&String, &Vec<String>)| {
                    windows.get(window).is_none_or(|printed| printed == lines)
                };
                let some = windows.keys().any(|window| self.windows.contains_key(window));
                match (code, ran) == (0, 0) && some && self.windows.iter().all(same) {
                    true if edit.more || (windows.len() <= self.windows.len() && spent == self.spent) => None,
                    true => wrong("it releases more, or pays more"),
                    false => wrong("it does not release the same lines"),
                }
            }
        }
    }
}

#[test]
fn every_edit_of_a_job_file_ends_as_the_table_says() {
    let table = Table::read();
    let tried: Vec<(&Edit, Option<String>)> = thread::scope(|scope| {
        let all: Vec<_> = jobs::all().into_iter().map(|job| scope.spawn(|| edited(job, &table))).collect();
        all.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    let against: Vec<&str> = tried.iter().filter_map(|(_, why)| why.as_deref()).collect();
    println!("edits: {} tried, {} against the table", tried.len(), against.len());
    assert!(against.is_empty(), "{}", against.join("\n"));
    let rows: BTreeSet<_> = tried.iter().map(|(edit, _)| (edit.field, edit.change)).collect();
    let untried: Vec<_> = table.rows().filter(|row| !rows.contains(row)).collect();
    assert!(untried.is_empty(), "rows of the table that no edit tries: {untried:?}");
}

/// The disagreement with the table, if any, of each edit that a job has.
fn edited(job: Job, table: &Table) -> Vec<(&'static Edit, Option<String>)> {
    let released = Released::new(job);
    let edits = EDITS.iter().filter(|edit| edit.is_of(&released.job));
    let against = |edit: &Edit| {
        let why = released.differs(edit, table.due(edit))?;
        Some(format!("{}: {} {}: {why}", released.job.name, edit.field, edit.change))
    };
    edits.map(|edit| (edit, against(edit))).collect()
}

// Refutes a field without a row in the table.
#[test]
fn every_field_of_a_job_file_has_a_row() {
    let holds_a_value = |field: &&JobField| !["a table", "a list of tables"].contains(&field.value);
    let fields: BTreeSet<&str> = JOB_FIELDS.iter().filter(holds_a_value).map(|field| field.path).collect();
    let table = Table::read();
    let decided: BTreeSet<&str> = table.rows().map(|(field, _)| field).collect();
    let missing: Vec<_> = fields.iter().filter(|field| !decided.contains(**field)).collect();
    assert!(missing.is_empty(), "fields without a row in docs/VERSIONS.md: {missing:?}");
    let unknown: Vec<_> = decided.iter().filter(|field| !fields.contains(**field)).collect();
    assert!(unknown.is_empty(), "rows of docs/VERSIONS.md of no field: {unknown:?}");
}

impl Released {
    /// Runs the job under another version, with this statistic or another under its name.
    fn in_version(&self, job: &Job, version: &'static str) -> (i32, BTreeMap<String, Vec<String>>, String) {
        self.scene.write("version.toml", &job.clone().in_version(version).text());
        self.scene.release("version.toml")
    }
}

// Versions 1, 2, 1 and 1, 2, 3, 1. Refutes an old version whose reservation pays for the state of another
// version, or for a state that starts anew; and one that is refused although each of its windows was charged
// separately.
#[test]
fn a_version_that_was_replaced_is_refused_where_it_kept_anything() {
    let of_windows = ["people", "sum", "mean", "histogram"];
    let plain = |job: &Job| !["made up", "lines", "records", "whole"].contains(&job.name);
    let windowed =
        jobs::all().into_iter().filter(|job| of_windows.contains(&job.name)).map(Job::with_windows);
    thread::scope(|scope| {
        for job in jobs::all().into_iter().filter(plain).chain(windowed) {
            scope.spawn(move || {
                let stateful = job.keeps_state();
                let job = job.with_room();
                let released = Released::new(job);
                for version in ["2", "3"] {
                    let (code, windows, said) = released.in_version(&released.job, version);
                    assert_eq!(
                        (code, windows.len()),
                        (0, released.windows.len()),
                        "{}: {said}",
                        released.job.name
                    );
                    let spent = released.scene.spent();
                    let (code, windows, said) = released.in_version(&released.job, "1");
                    assert_eq!(released.scene.spent(), spent, "{}: it paid", released.job.name);
                    if stateful {
                        let replaced = format!("was replaced by version {version}");
                        assert!(
                            code == 78 && said.contains(&replaced),
                            "{}: {code} {said}",
                            released.job.name
                        );
                        let (code, _, said) = released.scene.run(&["check", "version.toml", "--connect"]);
                        assert!(
                            code == 78 && said.contains(&replaced),
                            "{}: {code} {said}",
                            released.job.name
                        );
                    } else {
                        assert_eq!((code, &windows), (0, &released.windows), "{}: {said}", released.job.name);
                    }
                }
            });
        }
    });
}

// Refutes a name that one statistic has used and another cannot use again, in either order.
#[test]
fn a_name_takes_another_statistic_in_another_version() {
    let kinds = ["running", "discovered", "last", "people", "sum", "running"];
    let all = jobs::all();
    let find = |name: &str| all.iter().find(|job| job.name == name).unwrap().clone().with_room();
    let released = Released::new(find("discovered"));
    for (kind, version) in kinds.into_iter().zip(["2", "3", "4", "5", "6", "7"]) {
        let mut job = find(kind);
        // The account is that of the first statistic.
        if kind == "sum" {
            job = job.over_the_same_account();
        }
        let (code, windows, said) = released.in_version(&job, version);
        assert!(code == 0 && windows.len() >= released.windows.len(), "{kind}: {code} {said}");
    }
}
