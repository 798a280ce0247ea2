//! Where a ledger is: in a file, or on a server.

use std::path::Path;

#[cfg(feature = "postgres")]
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::store::Store;
use super::trouble::LedgerError;

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
