//! One ledger under two names.

use std::fs;

use crate::fresh;
use crate::mounts::{bound, overlay};
use crate::scene::Scene;

/// Writes the same job again, with the ledger and the key under other names.
fn other_job(scene: &Scene, ledger: &str) {
    let other = format!("ledger = \"{ledger}\"\nkey = \"job.ledger.key\"");
    scene.write("other.toml", scene.read("job.toml").replace("ledger = \"job.ledger\"", &other));
}

// Refutes a cap that is spent once under each name.
#[test]
fn a_ledger_with_two_hard_links_is_refused_under_both() {
    let scene = fresh("hard-link");
    other_job(&scene, "twin.ledger");
    fs::hard_link(scene.at("job.ledger"), scene.at("twin.ledger")).unwrap();
    for job in ["job.toml", "other.toml"] {
        let said = scene.run(&["replay", job, "--out", "releases.jsonl"]);
        assert_eq!(said.code, Some(78), "{said:?}");
        assert!(said.err.contains("2 hard links") && said.err.contains("share its directory"), "{said:?}");
    }
    assert!(!scene.at("releases.jsonl").exists());
    fs::remove_file(scene.at("twin.ledger")).unwrap();
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
}

// Refutes the same for a bind-mounted file, as containers use it; a mount of the directory is the remedy.
#[test]
fn a_ledger_that_is_a_mount_point_is_refused_and_a_mounted_directory_is_not() {
    let scene = fresh("bind-mount");
    other_job(&scene, "mounted.ledger");
    scene.write("mounted.ledger", "");
    let Some(mount) = bound(&scene, "job.ledger", "mounted.ledger") else { return };
    let said = scene.run(&["replay", "other.toml", "--out", "other.jsonl"]);
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(said.err.contains("mount point") && said.err.contains("mount the directory"), "{said:?}");
    assert!(!scene.at("other.jsonl").exists());
    let said = scene.run(&["ledger", "verify", "mounted.ledger"]);
    assert_eq!(said.code, Some(78), "{said:?}");
    drop(mount);

    fs::create_dir_all(scene.at("state")).unwrap();
    fs::create_dir(scene.at("volume")).unwrap();
    for name in ["job.ledger", "job.ledger.key"] {
        fs::rename(scene.at(name), scene.at("state").join(name)).unwrap();
    }
    let job = scene.read("job.toml");
    scene.write("job.toml", job.replace("\"job.ledger\"", "\"state/job.ledger\""));
    scene.write("other.toml", job.replace("\"job.ledger\"", "\"volume/job.ledger\""));
    let Some(_mount) = bound(&scene, "state", "volume") else { return };
    scene.done(&["replay", "other.toml", "--out", "releases.jsonl"]);
    let printed = scene.read("releases.jsonl");
    scene.done(&["replay", "job.toml", "--out", "again.jsonl"]);
    assert_eq!(scene.read("again.jsonl"), printed);
    scene.verify("state/job.ledger");
}

// Refutes a wrong remedy: a symbolic link is another path to the same name.
#[test]
fn a_symbolic_link_to_a_ledger_is_the_ledger() {
    let scene = fresh("symbolic-link");
    fs::create_dir(scene.at("away")).unwrap();
    std::os::unix::fs::symlink("../job.ledger", scene.at("away/link.ledger")).unwrap();
    other_job(&scene, "away/link.ledger");
    scene.done(&["replay", "other.toml", "--out", "releases.jsonl"]);
    let spent = scene.charged("job.ledger");
    scene.done(&["replay", "job.toml", "--out", "again.jsonl"]);
    assert_eq!(scene.read("again.jsonl"), scene.read("releases.jsonl"));
    assert_eq!(scene.charged("away/link.ledger"), spent);
}

// Refutes an overlay of two file systems, as containers and live systems have, that is taken for a mount of
// the file.
#[test]
fn a_ledger_in_an_overlay_is_no_mount_point() {
    let scene = fresh("overlay");
    let Some(_mounts) = overlay(&scene, "merged") else { return };
    for name in ["job.ledger", "job.ledger.key"] {
        fs::copy(scene.at(name), scene.at("merged").join(name)).unwrap();
    }
    let job = scene.read("job.toml");
    scene.write("job.toml", job.replace("\"job.ledger\"", "\"merged/job.ledger\""));
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    scene.verify("merged/job.ledger");
}
