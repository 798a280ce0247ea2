//! A disk that is full, read-only or torn, and a limit on the size of files: each is reported with the path
//! and the remedy, and the job goes on once it is fixed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;

use crate::mounts::disk;
use crate::scene::{Printed, Scene};
use crate::{WINDOWS, fresh};

/// Moves the ledger and its key to a disk, and the job with them.
fn move_ledger(scene: &Scene, to: &str) {
    for name in ["job.ledger", "job.ledger.key"] {
        fs::copy(scene.at(name), scene.at(to).join(name)).unwrap();
        fs::remove_file(scene.at(name)).unwrap();
    }
    let job = scene.read("job.toml");
    scene.write("job.toml", job.replace("\"job.ledger\"", &format!("\"{to}/job.ledger\"")));
}

/// Collects whole lines; each must stay as it was.
fn keep(scene: &Scene, seen: &mut BTreeSet<String>) {
    let printed = scene.read("releases.jsonl");
    let whole = printed.rfind('\n').map_or("", |end| &printed[..=end]);
    let now: BTreeSet<String> = whole.lines().map(str::to_owned).collect();
    assert!(seen.is_subset(&now), "a line changed");
    *seen = now;
}

fn all_released(scene: &Scene, ledger: &str) {
    assert_eq!(Printed::of(&scene.read("releases.jsonl")).0.len(), WINDOWS as usize);
    let (releases, spent) = scene.charged(ledger);
    assert_eq!((releases, spent["epsilon"]), (WINDOWS as u64, 20.0 * WINDOWS as f64));
    scene.verify(ledger);
}

// Refutes an error that does not name the full disk, and a window that is lost or released twice because of
// it.
#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let scene = fresh("full");
    let Some(_disk) = disk(&scene, "disk", "1m") else { return };
    move_ledger(&scene, "disk");
    let (mut seen, mut refused) = (BTreeSet::new(), 0);
    for room in (0..).map(|step| step * 12_288) {
        assert!(room < 900_000, "it never succeeds");
        let mut filler = fs::File::create(scene.at("disk/filler")).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
        let full = filler.metadata().unwrap().len();
        filler.set_len(full.saturating_sub(room)).unwrap();
        let said = scene.run(&["replay", "job.toml", "--out", "releases.jsonl"]);
        keep(&scene, &mut seen);
        if said.code == Some(0) {
            break;
        }
        refused += 1;
        assert_eq!(said.code, Some(74), "with room for {room}: {said:?}");
        assert!(said.err.contains("disk/job.ledger: its disk is full"), "with room for {room}: {said:?}");
        assert!(said.err.contains("start again"), "{said:?}");
    }
    assert!(refused >= 3, "the disk was hardly full: {refused}");
    // What verifies the ledger writes to it, too.
    fs::remove_file(scene.at("disk/filler")).unwrap();
    all_released(&scene, "disk/job.ledger");
}

// Refutes a process that is ended by a signal, without a message.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_no_signal() {
    let scene = fresh("limit");
    let (mut seen, mut refused) = (BTreeSet::new(), 0);
    for blocks in (0..).map(|step| step * 24) {
        assert!(blocks < 4000, "it never succeeds");
        let limited =
            format!("ulimit -f {blocks}; exec \"$0\" replay job.toml --out releases.jsonl 2>&1 | cat");
        let status = format!("({limited}); exit 0");
        let output = Command::new("bash")
            .args(["-c", &format!("set -o pipefail; {}", status.trim_end_matches("; exit 0"))])
            .arg(env!("CARGO_BIN_EXE_discreet"))
            .current_dir(scene.at(""))
            .output();
        let Ok(output) = output else {
            println!("skipped: no bash on this machine");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        keep(&scene, &mut seen);
        if output.status.code() == Some(0) {
            break;
        }
        refused += 1;
        assert_eq!(output.status.code(), Some(74), "at {blocks}: {said}");
        assert!(said.contains("job.ledger: ") && said.contains("ulimit -f"), "at {blocks}: {said}");
    }
    assert!(refused >= 2, "nothing was limited: {refused}");
    all_released(&scene, "job.ledger");
}

// Refutes a message without a path, if the directory and not the file is at fault.
#[test]
fn a_disk_that_cannot_be_written_is_named() {
    let scene = fresh("read-only");
    let Some(disk) = disk(&scene, "disk", "1m") else { return };
    move_ledger(&scene, "disk");
    if !disk.stop_writes() {
        println!("skipped: a disk cannot be made read-only here");
        return;
    }
    for arguments in
        [&["replay", "job.toml", "--out", "releases.jsonl"][..], &["ledger", "verify", "disk/job.ledger"]]
    {
        let said = scene.run(arguments);
        assert_eq!(said.code, Some(78), "{said:?}");
        assert!(said.err.contains("disk/job.ledger: it cannot be written"), "{said:?}");
        assert!(said.err.contains("directory"), "{said:?}");
    }
}

// Refutes the message of the database alone, which has neither the file nor a remedy.
#[test]
fn every_torn_page_is_harmless_or_named_with_the_path_and_the_remedy() {
    let scene = fresh("torn");
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    let printed = scene.read("releases.jsonl");
    let sound = fs::read(scene.at("job.ledger")).unwrap();
    let mut doubted = 0;
    for page in 0..sound.len() / 4096 {
        let mut file = OpenOptions::new().write(true).open(scene.at("job.ledger")).unwrap();
        let mut torn = sound.clone();
        torn[page * 4096..(page + 1) * 4096].fill(0xa5);
        file.write_all(&torn).unwrap();
        drop(file);
        let said = scene.run(&["replay", "job.toml", "--out", "releases.jsonl"]);
        assert_eq!(scene.read("releases.jsonl"), printed, "page {page}");
        if said.code != Some(0) {
            doubted += 1;
            assert_eq!(said.code, Some(74), "page {page}: {said:?}");
            assert!(
                said.err.contains("job.ledger: ") && said.err.contains("ledger repair"),
                "page {page}: {said:?}"
            );
        }
    }
    assert!(doubted > 5, "{doubted}");
    scene.write("job.ledger", "something else, of some length, which is no database");
    let said = scene.run(&["ledger", "verify", "job.ledger"]);
    assert_eq!(said.code, Some(74), "{said:?}");
    assert!(said.err.contains("job.ledger: it is torn, or no ledger"), "{said:?}");
}
