//! The place of a ledger: a file, or an address of a server.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::{fs, io};

#[cfg(feature = "postgres")]
use super::postgres::Postgres;

use super::error::LedgerError;
use super::sqlite::Sqlite;
use super::store::Store;

/// Creates the store of a new ledger, with empty tables.
pub(super) fn create(place: &Path) -> Result<Box<dyn Store>, LedgerError> {
    match address(place) {
        #[cfg(feature = "postgres")]
        Some(address) => Ok(Box::new(Postgres::create(address)?)),
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(no_servers()),
        None => Ok(Box::new(Sqlite::create(place)?)),
    }
}

/// Removes what was created at a place, and holds no ledger yet; a schema on a server is created as a whole.
pub(super) fn discard(place: &Path) {
    if address(place).is_none() {
        Sqlite::discard(place);
    }
}

/// Opens the store of an existing ledger.
pub(super) fn open(place: &Path) -> Result<Box<dyn Store>, LedgerError> {
    match address(place) {
        #[cfg(feature = "postgres")]
        Some(address) => Ok(Box::new(Postgres::open(address)?)),
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(no_servers()),
        None => Ok(Box::new(Sqlite::open(place)?)),
    }
}

/// Returns true if the place is an address of a server.
pub(crate) fn is_address(place: &Path) -> bool {
    address(place).is_some()
}

/// The place as text if it is an address; a file may have any other name.
fn address(place: &Path) -> Option<&str> {
    let text = place.to_str()?;
    (text.starts_with("postgres://") || text.starts_with("postgresql://")).then_some(text)
}

/// The error for an address without the feature. It does not repeat the address, which may contain a
/// password.
#[cfg(not(feature = "postgres"))]
fn no_servers() -> LedgerError {
    LedgerError::refused(
        "ledger: an address of Postgres, and this build keeps ledgers in files alone; build with --features postgres",
    )
}

#[cfg(all(test, not(feature = "postgres")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_an_address_is_refused_with_the_remedy_and_never_becomes_a_file() {
        for scheme in ["postgres", "postgresql"] {
            let place = format!("{scheme}://me:secret@localhost/discreet?ledger=visits");
            for trouble in [open(Path::new(&place)).unwrap_err(), create(Path::new(&place)).unwrap_err()] {
                assert!(trouble.to_string().contains("--features postgres"), "{trouble}");
                assert!(!trouble.to_string().contains("secret"), "{trouble}");
            }
        }
    }
}

// Helpers for durable files. The name of a file is durable only once its directory is synced.

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

/// Returns true if no file has this name. A symbolic link that leads nowhere counts as a file, for its disk
/// may be missing.
pub(crate) fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Checks that a file could be created at this path: creates and removes one of another name in its
/// directory.
pub(crate) fn could_be_made(path: &Path) -> io::Result<()> {
    let other = directory(path).join(format!(".discreet-check-{}", std::process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&other) {
        // Left by a killed process with the same process id, or just created by another thread.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => remove(&other),
    }
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Syncs the directory of a path, so that a file created, renamed or removed there stays so after a power
/// failure.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    File::open(directory(path)).and_then(|directory| directory.sync_all())
}
