//! Mounts for a test, removed after it. They need root, and a machine that allows them.

use std::path::PathBuf;
use std::process::Command;

use crate::scene::Scene;

/// A mount, removed when this is dropped.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Makes the file system read-only, as a kernel does with a disk that fails.
    pub(crate) fn stop_writes(&self) -> bool {
        Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.0)
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Mounts a file or a directory at another path; `None` if this machine does not allow it, with the reason
/// printed.
pub(crate) fn bound(scene: &Scene, from: &str, to: &str) -> Option<Mount> {
    let from = scene.at(from);
    mount(&["--bind", from.to_str().unwrap()], scene.at(to))
}

/// Mounts a small disk in memory at a new directory; `None` likewise.
pub(crate) fn disk(scene: &Scene, at: &str, size: &str) -> Option<Mount> {
    std::fs::create_dir(scene.at(at)).unwrap();
    mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "none"], scene.at(at))
}

/// Mounts an overlay at a new directory, of two other new ones, of which a disk in memory holds the changes;
/// `None` likewise. The overlay comes first, so that it is removed first.
pub(crate) fn overlay(scene: &Scene, at: &str) -> Option<(Mount, Mount)> {
    let changes = disk(scene, "changes", "20m")?;
    for name in [at, "below", "changes/upper", "changes/work"] {
        std::fs::create_dir(scene.at(name)).unwrap();
    }
    let path = |name: &str| scene.at(name).display().to_string();
    let (below, upper, work) = (path("below"), path("changes/upper"), path("changes/work"));
    let options = format!("lowerdir={below},upperdir={upper},workdir={work}");
    Some((mount(&["-t", "overlay", "-o", &options, "none"], scene.at(at))?, changes))
}

fn mount(what: &[&str], at: PathBuf) -> Option<Mount> {
    match Command::new("mount").args(what).arg(&at).output() {
        Ok(output) if output.status.success() => Some(Mount(at)),
        Ok(output) => {
            println!("skipped: no mounts here: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            println!("skipped: no mount on this machine: {error}");
            None
        }
    }
}
