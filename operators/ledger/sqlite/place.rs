//! Where a ledger may lie: in a regular file of a local file system that nobody else may write to.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::super::trouble::Trouble;

/// File systems whose locks or syncs cannot be relied on from here.
const REMOTE: [&str; 9] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse.sshfs", "fuse.glusterfs"];
/// File systems that are gone with their container or their machine.
const PASSING: [&str; 3] = ["overlay", "tmpfs", "ramfs"];

/// Refuses a path at which no ledger can be trusted to lie.
///
/// # Errors
///
/// [`Refused`](super::super::TroubleKind::Refused), saying what the path is.
pub(crate) fn check(path: &Path) -> Result<(), Trouble> {
    let refuse = |what: &str| Err(Trouble::refused(format!("ledger {}: {what}", path.display())));
    if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
        return refuse("not a file; give the path of one");
    }
    let Ok(metadata) = fs::metadata(path) else {
        return refuse("there is none; make it with `discreet ledger init`, or mount the volume it is on");
    };
    if !metadata.is_file() {
        return refuse("not a regular file; give the path of one");
    }
    if metadata.mode() & 0o002 != 0 {
        return refuse("anyone may write to it; take that away with `chmod o-w`");
    }
    match file_system(path) {
        Some(kind) if REMOTE.contains(&kind.as_str()) => {
            refuse(&format!("it is on {kind}, where locks are not safe; put it on a local disk"))
        }
        _ => Ok(()),
    }
}

/// A word of warning about a place that may vanish with everything that was spent.
pub(crate) fn warning(path: &Path) -> Option<String> {
    let kind = file_system(path).filter(|kind| PASSING.contains(&kind.as_str()))?;
    Some(format!("ledger {} is on {kind}, which is lost with its container or machine", path.display()))
}

/// The kind of file system that holds a path, as the kernel names it; `None` where it does not say.
fn file_system(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_among(&mounts, &path)
}

/// Fields of `mountinfo`: the fifth is the mount point, with spaces as `\040`; the one after ` - ` is the kind.
fn kind_among(mounts: &str, path: &Path) -> Option<String> {
    let mount = |line: &str| {
        let (fields, rest) = line.split_once(" - ")?;
        let point = fields.split(' ').nth(4)?.replace("\\040", " ");
        let kind = rest.split(' ').next()?.to_owned();
        path.starts_with(&point).then_some((point.len(), kind))
    };
    // Of two mounts at one point the later one is seen.
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      30 22 0:40 / /srv rw shared:3 - nfs4 host:/srv rw\n\
                      31 30 8:2 / /srv/local\\040disk rw - xfs /dev/sdb rw\n";
        let kind = |path: &str| kind_among(mounts, Path::new(path)).unwrap();
        assert_eq!(kind("/home/ledger"), "ext4");
        assert_eq!(kind("/srv/ledger"), "nfs4");
        assert_eq!(kind("/srv/local disk/ledger"), "xfs");
        assert_eq!(kind("/srvx/ledger"), "ext4");
    }

    #[test]
    fn what_is_no_ledger_is_refused_by_name() {
        let message = |path: &str| check(Path::new(path)).unwrap_err().to_string();
        assert!(message(":memory:").contains("not a file"));
        assert!(message("").contains("not a file"));
        assert!(message("/").contains("not a regular file"));
        assert!(message("/no/such/ledger").contains("there is none"));
    }
}
