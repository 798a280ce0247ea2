//! The file of a ledger, and the conditions on it: a regular file of a local file system that only its owner
//! and group may write to, and that has one name.
//!
//! # One name
//!
//! SQLite finds the write-ahead log of a file by the file's name. Under a second name, by a hard link or a
//! bind mount of the file itself, there is a second log, and neither process reads the commits of the other.
//! So such a file is refused, by its count of links and by the table of mounts. A symbolic link is followed
//! first, so that all processes that use it find the log beside the file; one that is changed later leads the
//! next process to another ledger, and is refused. These conditions are checked again at each claim, and
//! before each transaction that writes: a link may be made, or a file replaced, while a job runs.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::super::error::LedgerError;
use super::super::place::{beside, directory};

/// File systems whose locks or syncs are not reliable from here.
const REMOTE: [&str; 9] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse.sshfs", "fuse.glusterfs"];
/// File systems that vanish with their container or their machine.
const PASSING: [&str; 3] = ["overlay", "tmpfs", "ramfs"];

/// The file of a ledger, under its one name.
#[derive(Clone, Debug)]
pub(super) struct LedgerFile {
    /// The path as given, by which the next process will find the file.
    given: PathBuf,
    /// The path without symbolic links: the write-ahead log lies beside it.
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl LedgerFile {
    /// Finds the file, and refuses a path at which a ledger is not safe.
    ///
    /// # Errors
    ///
    /// [`Refused`](super::super::LedgerErrorKind::Refused), with the condition that fails;
    /// [`Doubt`](super::super::LedgerErrorKind::Doubt) if a rollback journal lies beside the file.
    pub(super) fn find(path: &Path) -> Result<LedgerFile, LedgerError> {
        let refuse = |what: &str| Err(LedgerError::refused(format!("ledger {}: {what}", path.display())));
        if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
            return refuse("not a file; give the path of one");
        }
        let canonical = match fs::canonicalize(path) {
            Ok(canonical) => canonical,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return refuse(
                    "there is none; make it with `discreet ledger init`, or mount the volume it is on",
                );
            }
            // A second ledger would be a second budget.
            Err(error) => {
                return refuse(&format!("{error}; give this user the right to enter its directory"));
            }
        };
        let metadata = match fs::symlink_metadata(&canonical) {
            Ok(metadata) if metadata.is_file() => metadata,
            _ => return refuse("not a regular file; give the path of one"),
        };
        if metadata.mode() & 0o002 != 0 {
            return refuse("anyone may write to it; take that away with `chmod o-w`");
        }
        let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let file = LedgerFile { given, path: canonical, device: metadata.dev(), inode: metadata.ino() };
        file.has_one_name(&metadata).map_err(LedgerError::refused)?;
        // SQLite applies a rollback journal to the file when it opens it, and a ledger never writes one.
        let journal = file.beside("-journal");
        if fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0) {
            return Err(LedgerError::doubt(format!(
                "ledger {}: a rollback journal lies beside it, which no ledger writes, and which would change it; move \
                 {} away",
                path.display(),
                journal.display()
            )));
        }
        match file_system(&file.path) {
            Some(kind) if REMOTE.contains(&kind.as_str()) => {
                refuse(&format!("it is on {kind}, where locks are not safe; put it on a local disk"))
            }
            _ => Ok(file),
        }
    }

    /// Returns true if the file is empty, and its log too.
    pub(super) fn is_empty(&self) -> bool {
        let is_empty = |path: &Path| fs::metadata(path).is_ok_and(|found| found.len() == 0);
        is_empty(&self.path) && (!self.beside("-wal").exists() || is_empty(&self.beside("-wal")))
    }

    /// The path without symbolic links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file that lies beside this one, under its name and a suffix.
    fn beside(&self, suffix: &str) -> PathBuf {
        beside(&self.path, suffix)
    }

    /// The prefix of the names of this ledger's lock files. They lie in its directory, and contain the inode
    /// and not the path, so that a renamed file keeps its locks. Within one directory an inode is one file:
    /// [`find`](LedgerFile::find) refuses a mount point.
    pub(super) fn lock_prefix(&self) -> String {
        format!("ledger-{}.", self.inode)
    }

    /// The directory that holds the file.
    pub(super) fn directory(&self) -> &Path {
        directory(&self.path)
    }

    /// Returns the write-ahead log that SQLite has open, once a connection has read.
    ///
    /// # Errors
    ///
    /// [`Doubt`](super::super::LedgerErrorKind::Doubt) if there is none, or it has a second name.
    pub(super) fn log(&self) -> Result<WriteAheadLog, LedgerError> {
        let path = self.beside("-wal");
        match fs::symlink_metadata(&path) {
            Ok(log) if log.is_file() && log.nlink() == 1 => {
                Ok(WriteAheadLog { path, device: log.dev(), inode: log.ino() })
            }
            // A first read creates a missing log.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LedgerError::doubt(format!(
                "ledger {}: its write-ahead log {} could not be made: the disk is full, or a limit on the size of files \
                 (`ulimit -f`) is reached; see to that, and start again",
                self.path.display(),
                path.display()
            ))),
            _ => Err(self.lost_log(&path)),
        }
    }

    /// Checks that the path, with and without its symbolic links, still leads to this file and its log, and
    /// that neither has a second name.
    ///
    /// # Errors
    ///
    /// [`Doubt`](super::super::LedgerErrorKind::Doubt): the next process might not find commits made from
    /// here.
    pub(super) fn is_in_place(&self, log: &WriteAheadLog) -> Result<(), LedgerError> {
        let file = fs::symlink_metadata(&self.path).ok();
        let Some(file) = file.filter(|file| (file.dev(), file.ino()) == (self.device, self.inode)) else {
            return Err(LedgerError::doubt(format!(
                "ledger {}: the file was moved, or another was put in its place, while it was in use; bring it back with \
                 its -wal",
                self.path.display()
            )));
        };
        let given = fs::metadata(&self.given).map(|found| (found.dev(), found.ino()));
        if given.ok() != Some((self.device, self.inode)) {
            return Err(LedgerError::doubt(format!(
                "ledger {}: a symbolic link on this path was changed while the ledger was in use, and it no longer leads to \
                 {}; point it there again",
                self.given.display(),
                self.path.display()
            )));
        }
        self.has_one_link(&file).map_err(LedgerError::doubt)?;
        let held = fs::symlink_metadata(&log.path).ok();
        let same = |held: &Metadata| (held.dev(), held.ino(), held.nlink()) == (log.device, log.inode, 1);
        if held.is_some_and(|held| same(&held)) { Ok(()) } else { Err(self.lost_log(&log.path)) }
    }

    /// Checks that the file has no second name, by hard link or by mount.
    fn has_one_name(&self, metadata: &Metadata) -> Result<(), String> {
        self.has_one_link(metadata)?;
        // Within one overlay of two file systems a file and its directory have two devices.
        let other_mount = match (mount_of(&self.path), mount_of(self.directory())) {
            (Some(own), Some(around)) => own != around,
            _ => fs::metadata(self.directory()).is_ok_and(|around| around.dev() != self.device),
        };
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        if other_mount || is_mount_point(&mounts, &self.path) {
            return Err(format!(
                "ledger {}: it is a mount point itself, so its -wal and its locks would lie outside of the mount; mount \
                 the directory that holds it",
                self.path.display()
            ));
        }
        Ok(())
    }

    fn has_one_link(&self, metadata: &Metadata) -> Result<(), String> {
        match metadata.nlink() {
            1 => Ok(()),
            links => Err(format!(
                "ledger {}: the file has {links} hard links, and each name has a -wal of its own; keep one name (`find \
                 -samefile` lists them), and share its directory instead",
                self.path.display()
            )),
        }
    }

    fn lost_log(&self, log: &Path) -> LedgerError {
        LedgerError::doubt(format!(
            "ledger {}: its write-ahead log {} was removed, replaced or linked while the ledger was in use; what was \
             committed last may be lost: compare it with its anchors",
            self.path.display(),
            log.display()
        ))
    }
}

/// The identity of a write-ahead log that is open.
#[derive(Debug)]
pub(super) struct WriteAheadLog {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// A warning about a place that may vanish with the record of all that was spent.
pub(crate) fn warning(path: &Path) -> Option<String> {
    let kind = file_system(path).filter(|kind| PASSING.contains(&kind.as_str()))?;
    Some(format!("ledger {} is on {kind}, which is lost with its container or machine", path.display()))
}

/// The type of the file system that contains a path, as the kernel names it; `None` if it is unknown.
fn file_system(path: &Path) -> Option<String> {
    let path = fs::canonicalize(path).ok()?;
    let mounts = fs::read("/proc/self/mountinfo").ok()?;
    kind_among(&mounts, &path)
}

/// Returns the kernel's number of the mount that a path is on, from Linux 5.8 on.
#[cfg(target_os = "linux")]
fn mount_of(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

#[cfg(not(target_os = "linux"))]
fn mount_of(_: &Path) -> Option<u64> {
    None
}

/// The lines of `mountinfo`, each as its mount point and its type: the fifth field, and the field after ` -
/// `.
fn mounts(text: &[u8]) -> impl Iterator<Item = (Vec<u8>, String)> + '_ {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = unescaped(line.split(|byte| *byte == b' ').nth(4)?);
        let dash = line.windows(3).position(|part| part == b" - ")?;
        let kind = line[dash + 3..].split(|byte| *byte == b' ').next()?;
        Some((point, String::from_utf8_lossy(kind).into_owned()))
    })
}

fn kind_among(text: &[u8], path: &Path) -> Option<String> {
    let holds = |point: &[u8]| path.starts_with(Path::new(std::ffi::OsStr::from_bytes(point)));
    let holding = mounts(text).filter(|(point, _)| holds(point));
    // Of two mounts at one point the later one is visible.
    holding.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind)
}

fn is_mount_point(text: &[u8], path: &Path) -> bool {
    mounts(text).any(|(point, _)| point == path.as_os_str().as_bytes())
}

/// Decodes a field of `mountinfo`, in which the kernel writes space, tab, newline and backslash as `\ooo`, in
/// octal.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let (mut text, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((first, after)) = rest.split_first() {
        let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match after.get(..3).filter(|_| *first == b'\\').and_then(octal) {
            Some(byte) => (text.push(byte), rest = &after[3..]),
            None => (text.push(*first), rest = after),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        30 22 0:40 / /srv rw shared:3 - nfs4 host:/srv rw\n\
        31 30 8:2 / /srv/local\\040disk rw - xfs /dev/sdb rw\n\
        32 22 8:1 /x /var/a\\134b\\011.ledger rw - ext4 /dev/sda1 rw\n";

    #[test]
    fn the_innermost_mount_counts() {
        let kind = |path: &str| kind_among(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(kind("/home/ledger"), "ext4");
        assert_eq!(kind("/srv/ledger"), "nfs4");
        assert_eq!(kind("/srv/local disk/ledger"), "xfs");
        assert_eq!(kind("/srvx/ledger"), "ext4");
    }

    // Refutes a mount of the file itself that is missed because of a character that the kernel escapes.
    #[test]
    fn a_mount_point_is_found_whatever_its_name() {
        let is = |path: &str| is_mount_point(MOUNTS, Path::new(path));
        assert!(is("/srv/local disk") && is("/var/a\\b\t.ledger") && is("/srv"));
        assert!(!is("/srv/local") && !is("/var/a") && !is("/srv/local disk/ledger"));
    }

    #[test]
    fn what_is_no_ledger_is_refused_by_name() {
        let message = |path: &str| LedgerFile::find(Path::new(path)).unwrap_err().to_string();
        assert!(message(":memory:").contains("not a file"));
        assert!(message("").contains("not a file"));
        assert!(message("/").contains("not a regular file"));
        assert!(message("/no/such/ledger").contains("there is none"));
    }
}
