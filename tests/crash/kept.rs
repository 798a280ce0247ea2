//! `discreet ledger archive` and `discreet ledger rekey`, killed at each of their points and run again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use discreet::ledger::failpoint::MARKER;
use discreet::ledger::{
    AccountSpec, Archive, Charge, Digest, Ledger, LedgerKey, Name, ReleaseId, ReleaseStatus, Sealing,
};
use discreet::time::days;

const DAY: i64 = 86_400_000_000;
const WINDOWS: i64 = 12;

fn scene(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("discreet-kept-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn name(text: &str) -> Name {
    Name::new("name", text).unwrap()
}

/// A ledger with delivered windows of a day each.
fn ledger(path: &Path) {
    let mut ledger = Ledger::create(path).unwrap();
    ledger.register(&AccountSpec::any("visits", days(3), PrivacyCost::zcdp(9.0)).unwrap()).unwrap();
    let claim = ledger.claim(&name("web")).unwrap();
    let sealing = |k: i64| Sealing {
        release: ReleaseId {
            account: name("visits"),
            job: name("web"),
            version: Digest::of(b"version 1"),
            name: name("by_path"),
            window: Interval::new(k * DAY, (k + 1) * DAY).unwrap(),
            part: None,
        },
        charge: Some(Charge::Cost(
            ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.1).unwrap())
                .with_partial(PrivacyCost::zcdp(0.1).unwrap())
                .unwrap(),
        )),
        status: ReleaseStatus::Sealed,
        line: format!("line {k}"),
        state: None,
    };
    let rows = ledger.seal(&claim, &(0..WINDOWS).map(sealing).collect::<Vec<_>>()).unwrap();
    ledger.mark(&rows).unwrap();
}

fn discreet(arguments: &[&str], failpoint: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
    command.args(arguments);
    if let Some(failpoint) = failpoint {
        command.env("DISCREET_FAILPOINT", failpoint);
    }
    command.output().unwrap()
}

/// Runs the command until its failpoint acts, by a kill or an error.
fn cut_off(arguments: &[&str], point: &str, act: &str) {
    let output = discreet(arguments, Some(&format!("{point}:1:{act}")));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(MARKER), "{point} was not reached: {said}");
}

/// The lines that the ledger and its archives hold together, in their order.
fn lines(ledger: &Path, archive: Option<&Path>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(archive) = archive {
        let each = &mut |row: &discreet::ledger::Row| {
            lines.push(row.line().to_owned());
            Ok(())
        };
        Archive::releases(archive, each).unwrap();
    }
    let mut ledger = Ledger::open(ledger).unwrap();
    for row in ledger.rows_of(&name("web")).unwrap() {
        if !lines.contains(&row.line().to_owned()) {
            lines.push(row.line().to_owned());
        }
    }
    lines
}

pub(crate) fn archiving() {
    let expected: Vec<String> = (0..WINDOWS).map(|k| format!("line {k}")).collect();
    for point in ["archive-written", "archive-renamed", "archive-removing", "ack-lost", "archive-removed"] {
        for act in ["abort", "error"] {
            let directory = scene(&format!("{point}-{act}"));
            let path = directory.join("visits.ledger");
            ledger(&path);
            let (at, out) = (path.to_str().unwrap(), directory.join("one.archive"));
            let before = ["--before", "1970-01-07T00:00:00Z"];
            let arguments =
                [&["ledger", "archive", at, "--out", out.to_str().unwrap()], &before[..]].concat();
            cut_off(&arguments, point, act);
            let (held, is_whole) = {
                let mut ledger = Ledger::open(&path).unwrap();
                (ledger.rows_of(&name("web")).unwrap().len() as i64, ledger.archived().unwrap().is_none())
            };
            assert_eq!(is_whole, held == WINDOWS, "{point} {act}: rows went without an archive");
            let archive = (!is_whole).then_some(&*out);
            assert_eq!(lines(&path, archive), expected, "{point} {act}");
            let again = discreet(&arguments, None);
            assert!(again.status.success(), "{point} {act}: {}", String::from_utf8_lossy(&again.stderr));
            assert_eq!(lines(&path, Some(&out)), expected, "{point} {act}");
            let verified = discreet(&["ledger", "verify", at, "--archive", out.to_str().unwrap()], None);
            assert!(verified.status.success(), "{point} {act}");
            assert_eq!(Ledger::open(&path).unwrap().rows_of(&name("web")).unwrap().len() as i64, WINDOWS - 6);
            fs::remove_dir_all(&directory).unwrap();
        }
    }
}

pub(crate) fn changing_the_key() {
    let points =
        ["rekey-key-written", "rekey-resealed", "rekey-committed", "rekey-former-kept", "rekey-replaced"];
    for point in points {
        let directory = scene(point);
        let path = directory.join("visits.ledger");
        ledger(&path);
        let at = path.to_str().unwrap();
        let key = LedgerKey::beside(&path);
        let first = LedgerKey::open(&key).unwrap();
        cut_off(&["ledger", "rekey", at], point, "abort");
        let opens = |path: &Path| {
            LedgerKey::open(path).is_ok_and(|key| Ledger::open(at).unwrap().is_bound(&key).unwrap_or(false))
        };
        let new = directory.join("visits.ledger.key.new");
        assert!(opens(&key) != opens(&new), "{point}: not exactly one of the two keys opens the ledger");
        // Where the key was in its place, this is another change.
        assert!(discreet(&["ledger", "rekey", at], None).status.success(), "{point}");
        assert!(opens(&key) && !new.exists(), "{point}");
        let mut ledger = Ledger::open(&path).unwrap();
        assert!(ledger.is_bound(&first).is_err(), "{point}: the former key opens the ledger");
        ledger.verify().unwrap();
        let former = format!("visits.ledger.key.former-{:.16}", first.fingerprint().to_string());
        let former = LedgerKey::open(directory.join(former)).unwrap();
        assert_eq!(former.fingerprint(), first.fingerprint());
        fs::remove_dir_all(&directory).unwrap();
    }
}
