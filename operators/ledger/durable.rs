//! When a file's name is durable: with its directory, and not before.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The directory that holds a file.
pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path of a file beside another one, under its name and a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

/// Returns true where nothing has this name: a symbolic link that leads nowhere is there, and a disk may be missing.
pub(crate) fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Makes a file of another name where a file of this path would be, and removes it.
pub(crate) fn could_be_made(path: &Path) -> io::Result<()> {
    let other = directory(path).join(format!(".discreet-check-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&other) {
        // Left by a process of this number that was killed, or made by another thread at the same time.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => remove(&other),
    }
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes what was created, renamed or removed at this path last.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    File::open(directory(path)).and_then(|directory| directory.sync_all())
}
