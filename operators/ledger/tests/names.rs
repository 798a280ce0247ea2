//! Tests of a ledger file that gets a second name, or loses its own, while it is in use.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A ledger with a claim and one row.
fn used(scratch: &Scratch) -> (Ledger, Claim) {
    let mut ledger = ledger(scratch, Promise::Lifetime, 10);
    let claim = ledger.claim(&name("web")).unwrap();
    ledger.seal(&claim, &[sealing("web", (0, 1), 1, "first")]).unwrap();
    (ledger, claim)
}

fn beside(scratch: &Scratch, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", scratch.ledger().display()))
}

/// Asserts that a second seal fails, with this message.
fn trouble(ledger: &mut Ledger, claim: &Claim, about: &str) {
    let trouble = ledger.seal(claim, &[sealing("web", (1, 2), 1, "second")]).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
    assert!(trouble.to_string().contains(about), "{trouble}");
}

// Refutes a check that is made only when the ledger is opened.
#[test]
fn a_link_that_is_made_while_a_job_runs_stops_it() {
    let scratch = ScratchPlace::File.scratch();
    let (mut ledger, claim) = used(&scratch);
    let twin = beside(&scratch, ".twin");
    fs::hard_link(scratch.ledger(), &twin).unwrap();
    trouble(&mut ledger, &claim, "2 hard links");
    for path in [scratch.ledger(), twin.clone()] {
        let refused = Ledger::open(path).unwrap_err();
        assert_eq!(refused.kind(), LedgerErrorKind::Refused, "{refused}");
        assert!(refused.to_string().contains("share its directory"), "{refused}");
    }
    assert_eq!(ledger.claim(&name("app")).unwrap_err().kind(), LedgerErrorKind::Doubt);
    // Rows sealed under the single name remain, and the job goes on once there is one name again.
    fs::remove_file(twin).unwrap();
    ledger.seal(&claim, &[sealing("web", (1, 2), 1, "second")]).unwrap();
}

// Refutes a lock on the path: the file is then locked under one name and free under the other.
#[test]
fn a_file_that_is_renamed_keeps_its_lock_and_stops_the_job() {
    let scratch = ScratchPlace::File.scratch();
    let (mut ledger, claim) = used(&scratch);
    let moved = beside(&scratch, ".moved");
    fs::rename(scratch.ledger(), &moved).unwrap();
    trouble(&mut ledger, &claim, "moved");
    // The ledger does not take another file at the same path for its own, either.
    fs::write(scratch.ledger(), fs::read(&moved).unwrap()).unwrap();
    trouble(&mut ledger, &claim, "another was put in its place");
    // SQLite shares its state of an inode within one process, so the ledger must be closed first; the claim
    // is still held.
    drop(ledger);
    fs::rename(beside(&scratch, "-wal"), beside(&scratch, ".moved-wal")).unwrap();
    let rival = Ledger::open(&moved).unwrap().claim(&name("web")).unwrap_err();
    assert_eq!(rival.kind(), LedgerErrorKind::Fenced, "{rival}");
    drop(claim);
    Ledger::open(&moved).unwrap().claim(&name("web")).unwrap();
}

// Refutes a ledger that goes on committing to a log that the next process will not find.
#[test]
fn a_log_that_is_removed_or_replaced_while_a_job_runs_stops_it() {
    for replaced in [false, true] {
        let scratch = ScratchPlace::File.scratch();
        let (mut ledger, claim) = used(&scratch);
        let log = beside(&scratch, "-wal");
        let bytes = fs::read(&log).unwrap();
        fs::remove_file(&log).unwrap();
        if replaced {
            fs::write(&log, bytes).unwrap();
        }
        trouble(&mut ledger, &claim, "write-ahead log");
    }
    let scratch = ScratchPlace::File.scratch();
    let (mut ledger, claim) = used(&scratch);
    fs::hard_link(beside(&scratch, "-wal"), beside(&scratch, ".twin-wal")).unwrap();
    trouble(&mut ledger, &claim, "linked");
}

// Refutes a ledger into which SQLite replays a foreign file that is named as its rollback journal.
#[test]
fn a_rollback_journal_beside_a_ledger_is_refused() {
    let scratch = ScratchPlace::File.scratch();
    drop(used(&scratch));
    fs::write(beside(&scratch, "-journal"), [0xd9; 512]).unwrap();
    let refused = Ledger::open(scratch.ledger()).unwrap_err();
    assert_eq!(refused.kind(), LedgerErrorKind::Doubt, "{refused}");
    assert!(refused.to_string().contains("rollback journal"), "{refused}");
    // An empty journal has no effect.
    fs::write(beside(&scratch, "-journal"), []).unwrap();
    Ledger::open(scratch.ledger()).unwrap();
}

// Refutes a log beside the link, where processes that open the file itself would not find it.
#[test]
fn a_symbolic_link_leads_to_the_log_and_the_locks_of_the_file() {
    let scratch = ScratchPlace::File.scratch();
    let (mut ledger, claim) = used(&scratch);
    let away = scratch.directory().join("away");
    fs::create_dir(&away).unwrap();
    let link = away.join("link.ledger");
    std::os::unix::fs::symlink(scratch.ledger(), &link).unwrap();
    let mut other = Ledger::open(&link).unwrap();
    assert_eq!(other.claim(&name("web")).unwrap_err().kind(), LedgerErrorKind::Fenced);
    let app = other.claim(&name("app")).unwrap();
    other.seal(&app, &[sealing("app", (0, 1), 1, "by the link")]).unwrap();
    ledger.seal(&claim, &[sealing("web", (1, 2), 1, "by the file")]).unwrap();
    assert_eq!((spent(&mut ledger), spent(&mut other)), (rho(3), rho(3)));
    let beside_link: Vec<_> = fs::read_dir(away).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside_link, ["link.ledger"]);
}

// Refutes a job that goes on while another one opens the same path after its symbolic link was changed.
#[test]
fn a_symbolic_link_that_is_changed_while_a_job_runs_stops_it() {
    let scratch = ScratchPlace::File.scratch();
    drop(used(&scratch));
    let directory = scratch.directory();
    let (link, copy) = (directory.join("link"), directory.join("copy"));
    std::os::unix::fs::symlink(directory, &link).unwrap();
    let mut ledger = Ledger::open(link.join(scratch.ledger().file_name().unwrap())).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    fs::create_dir(&copy).unwrap();
    for path in [scratch.ledger(), beside(&scratch, "-wal")] {
        fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
    }
    for leads_to in [Some(&copy), None] {
        fs::remove_file(&link).unwrap();
        if let Some(copy) = leads_to {
            std::os::unix::fs::symlink(copy, &link).unwrap();
        } else {
            fs::create_dir(&link).unwrap();
        }
        trouble(&mut ledger, &claim, "a symbolic link on this path was changed");
    }
    fs::remove_dir(&link).unwrap();
    std::os::unix::fs::symlink(directory, &link).unwrap();
    ledger.seal(&claim, &[sealing("web", (1, 2), 1, "second")]).unwrap();
}

// Refutes rows of another ledger that a log beside the file brings in under this ledger's name.
#[test]
fn a_log_of_another_ledger_is_not_taken_for_its_rows() {
    let [own, other] = [ScratchPlace::File, ScratchPlace::File].map(|at| at.scratch());
    let sealed = |scratch: &Scratch, line: &str| {
        let mut ledger = Ledger::open(scratch.ledger()).unwrap();
        let claim = ledger.claim(&name("web")).unwrap();
        ledger.seal(&claim, &[sealing("web", (0, 10), 3, line)]).unwrap();
        (ledger, claim)
    };
    for scratch in [&own, &other] {
        drop(ledger(scratch, Promise::Lifetime, 100));
    }
    drop(sealed(&own, "own"));
    let running = sealed(&other, "another");
    fs::copy(beside(&other, "-wal"), beside(&own, "-wal")).unwrap();
    let trouble = Ledger::open(own.ledger()).unwrap_err();
    assert_eq!(trouble.kind(), LedgerErrorKind::Doubt, "{trouble}");
    assert!(trouble.to_string().contains("is missing or was edited"), "{trouble}");
    drop(running);
}
