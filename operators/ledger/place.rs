//! Where a ledger is: in a file, or on a server.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::{fs, io};

#[cfg(feature = "postgres")]
use super::postgres::Postgres;

use super::error::LedgerError;
use super::sqlite::Sqlite;
use super::store::Store;

/// The store of a new ledger, with empty tables.
pub(super) fn create(place: &Path) -> Result<Box<dyn Store>, LedgerError> {
    match address(place) {
        #[cfg(feature = "postgres")]
        Some(address) => Ok(Box::new(Postgres::create(address)?)),
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(no_servers()),
        None => Ok(Box::new(Sqlite::create(place)?)),
    }
}

/// The store of a ledger that is there.
pub(super) fn open(place: &Path) -> Result<Box<dyn Store>, LedgerError> {
    match address(place) {
        #[cfg(feature = "postgres")]
        Some(address) => Ok(Box::new(Postgres::open(address)?)),
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(no_servers()),
        None => Ok(Box::new(Sqlite::open(place)?)),
    }
}

/// Whether it is on a server.
pub(super) fn is_address(place: &Path) -> bool {
    address(place).is_some()
}

/// The address, where the place is one; a file may have any other name.
fn address(place: &Path) -> Option<&str> {
    let text = place.to_str()?;
    (text.starts_with("postgres://") || text.starts_with("postgresql://")).then_some(text)
}

/// The address is not repeated: it may hold a password that nobody has refused yet.
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

// When a file's name is durable: with its directory, and not before.

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
