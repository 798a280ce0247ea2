//! Tests of `discreet ledger archive`, `lines` and `rekey`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::ledger::{charge, ledger};
use crate::{discreet, json};

const DAY: i64 = 86_400_000_000;

/// A ledger with three days, of which the first two are archived.
#[test]
fn what_is_archived_is_verified_printed_and_counted() {
    let path = ledger("archived");
    for day in 2..5 {
        charge(&path, "visits", day * DAY, 0.03125);
    }
    let mut rows = discreet::ledger::Ledger::open(&path).unwrap();
    let all = rows.rows_of(&discreet::ledger::Name::new("job", "web").unwrap()).unwrap();
    rows.mark(&all).unwrap();
    drop(rows);
    let (at, out) = (path.to_str().unwrap(), path.with_extension("archive"));
    let out = out.to_str().unwrap();
    let archive = |before| discreet(&["ledger", "archive", at, "--out", out, "--before", before]);
    let (code, _, error) = archive("in spring");
    assert!(code == 78 && error.contains("before: found text that is not understood"), "{error}");
    let (code, _, error) = archive("9999-12-31T00:00:00Z");
    assert!(code == 78 && error.contains("to 9999-12-30T22:00:00Z; give a past time"), "{error}");
    let (code, _, error) = archive("9999-12-30T00:00:00Z");
    assert!(code == 78 && error.contains("which is to come; give a past time"), "{error}");
    let (code, _, error) = archive("1970-02-01T00:00:00Z");
    assert!(code == 78 && error.contains("--retired web"), "{error}");
    let (code, page, error) = archive("1970-01-04T00:00:00Z");
    assert!(code == 0 && page.contains("3 rows removed"), "{page}{error}");
    let shown = json(&["ledger", "show", at, "--json"]);
    assert_eq!((&shown["rows"], &shown["accounts"]["visits"]["releases"]), (&6.into(), &4.into()));
    assert_eq!(shown["accounts"]["visits"]["spent"]["rho"], 0.21875);
    let (code, page, _) = discreet(&["ledger", "verify", at]);
    assert!(code == 0 && page.contains("rows up to 5 are in archives"), "{page}");
    let (code, page, _) = discreet(&["ledger", "verify", at, "--archive", out]);
    assert!(code == 0 && page.contains("archives: sound, 5 rows"), "{page}");
    let (code, page, _) = discreet(&["ledger", "verify", out]);
    assert!(code == 0 && page.starts_with("sound: 5 rows of ledger "), "{page}");
    let (code, page, _) = discreet(&["ledger", "lines", out, "--job", "web"]);
    assert!(code == 0 && page.matches("\"closed\":true").count() == 3, "{page}");
    let (code, page, error) = discreet(&["ledger", "lines", out, "--job", "other"]);
    assert!(code == 78 && page.is_empty() && error.contains("there are windows of web"), "{error}");
    // Windows whose rows the first archive holds, and which left the ledger with the second one.
    charge(&path, "visits", 5 * DAY, 0.03125);
    let mut rows = discreet::ledger::Ledger::open(&path).unwrap();
    let all = rows.rows_of(&discreet::ledger::Name::new("job", "web").unwrap()).unwrap();
    rows.mark(&all).unwrap();
    drop(rows);
    let second = path.with_extension("second");
    let second = second.to_str().unwrap();
    let before = ["ledger", "archive", at, "--out", second, "--before", "1970-01-06T00:00:00Z"];
    assert_eq!(discreet(&before).0, 0);
    let windows = |archives: &[&str]| {
        let (code, page, error) = discreet(&[&["ledger", "lines"], archives, &["--job", "web"]].concat());
        assert_eq!(code, 0, "{error}");
        page.matches("\"closed\":true").count()
    };
    let of_each = (windows(&[out]), windows(&[out, second]), windows(&[second, out]));
    assert_eq!(of_each, (3, 5, 5), "in any order");
    // A copy, with its key and its archives, is a backup: it is brought back to an empty directory.
    let fresh = path.parent().unwrap().join("fresh");
    std::fs::create_dir(&fresh).unwrap();
    let back = fresh.join("visits.ledger");
    assert_eq!(discreet(&["ledger", "export", at, back.to_str().unwrap()]).0, 0);
    std::fs::copy(format!("{at}.key"), fresh.join("visits.ledger.key")).unwrap();
    let verified =
        discreet(&["ledger", "verify", back.to_str().unwrap(), "--archive", out, "--archive", second]);
    assert_eq!(verified.0, 0, "{}", verified.2);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn a_key_is_changed_and_the_former_one_refused() {
    let path = ledger("rekeyed");
    let at = path.to_str().unwrap();
    let changed = json(&["ledger", "rekey", at, "--json"]);
    assert_eq!(changed["key"], format!("{at}.key"));
    let former = changed["former"].as_str().unwrap().to_owned();
    let (code, _, error) = discreet(&["ledger", "rekey", at, "--key", &former]);
    assert!(code == 78 && error.contains("`ledger rekey` has replaced"), "{error}");
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// Refutes a credential of systemd that is refused for its mode, or replaced where the service cannot write.
#[test]
fn a_credential_is_read_and_changed_to_another_path_alone() {
    let path = ledger("credential");
    let (at, directory) = (path.to_str().unwrap(), path.parent().unwrap());
    let credentials = directory.join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let credential = credentials.join("visits.key");
    std::fs::rename(format!("{at}.key"), &credential).unwrap();
    if std::fs::metadata(&credential).unwrap().uid() != 0 {
        println!("skipped: the credential of a service belongs to root, and this is another user");
        return;
    }
    let run = |credentials: Option<&std::path::Path>, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_discreet"));
        command.args(["ledger", "rekey", at, "--key", credential.to_str().unwrap()]).args(more);
        command.env_remove("CREDENTIALS_DIRECTORY");
        command.envs(credentials.map(|place| ("CREDENTIALS_DIRECTORY", place)));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let new = directory.join("new.key");
    let to = ["--to", new.to_str().unwrap()];
    let mode = |mode| std::fs::set_permissions(&credential, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o440);
    let (code, error) = run(None, &to);
    assert!(code == Some(78) && error.contains("chmod 600"), "{error}");
    let (code, error) = run(Some(directory.join("elsewhere").as_path()), &to);
    assert!(code == Some(78) && error.contains("chmod 600"), "{error}");
    for other in [0o444, 0o460, 0o640] {
        mode(other);
        assert_eq!(run(Some(&credentials), &to).0, Some(78), "{other:o}");
    }
    mode(0o440);
    let (code, error) = run(Some(&credentials), &[]);
    assert!(code == Some(78) && error.contains("give a path with --to"), "{error}");
    assert_eq!(run(Some(&credentials), &to).0, Some(0));
    assert_eq!(std::fs::metadata(&new).unwrap().mode() & 0o7777, 0o400);
    assert_eq!(std::fs::metadata(&credential).unwrap().len(), 32, "the credential itself was changed");
    std::fs::remove_dir_all(directory).unwrap();
}
