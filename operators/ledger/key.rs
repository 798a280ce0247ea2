//! The secret key of a ledger: it selects the records that are kept in contribution bounding, and encrypts
//! the state of mechanisms.
//!
//! Thirty-two random bytes in a file of their own, which its owner alone may read. These bytes themselves
//! never encrypt or select anything: each use has a key of its own, derived under a context of its own.
//!
//! A key that has taken the place of another is followed by the first key of its ledger. Keyed hashes of ids
//! stand in the state of mechanisms, and must stay what they are: with others, each person would be counted
//! anew. They alone are made with that first key.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::error::LedgerError;
use super::place::{beside, remove, sync_name};
use crate::canonical::Digest;

/// The secret key of a ledger. Erased from memory when it is dropped, and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct LedgerKey {
    own: [u8; LENGTH],
    /// The first key of the ledger, from which keyed hashes of ids are derived.
    first: [u8; LENGTH],
}

const LENGTH: usize = 32;

impl LedgerKey {
    /// The default path of a ledger's key: the ledger's own path with `.key` appended.
    pub fn beside(ledger: &Path) -> PathBuf {
        beside(ledger, ".key")
    }

    /// Draws a key and writes it to a new file, durably, with mode 0600.
    ///
    /// # Errors
    ///
    /// If the file exists already, it cannot be created, or the system has no randomness.
    pub fn create(path: impl AsRef<Path>) -> Result<LedgerKey, LedgerError> {
        let path = path.as_ref();
        let refuse = |error| LedgerError::refused(format!("key {}: {error}", path.display()));
        let own = drawn()?;
        let key = LedgerKey { own: *own, first: *own };
        write(path, &key.own, 0o600).map_err(refuse)?;
        Ok(key)
    }

    /// Draws the key that takes the place of this one, and writes it to a new file, durably, with this mode.
    ///
    /// # Errors
    ///
    /// As for [`create`](LedgerKey::create).
    pub(crate) fn succeed(&self, path: &Path, mode: u32) -> Result<LedgerKey, LedgerError> {
        let key = LedgerKey { own: *drawn()?, first: self.first };
        let bytes = Zeroizing::new([key.own, key.first].concat());
        let refuse = |error| LedgerError::refused(format!("key {}: {error}", path.display()));
        // A crash must not leave a part of a key under this name.
        let part = beside(path, ".part");
        remove(&part).and_then(|()| write(&part, &bytes, mode)).map_err(refuse)?;
        fs::rename(&part, path).and_then(|()| sync_name(path)).map_err(refuse)?;
        Ok(key)
    }

    /// Returns true if this key can take the place of the other: it has the same first key, and is another.
    pub(crate) fn succeeds(&self, former: &LedgerKey) -> bool {
        self.first == former.first && self.own != former.own && self.own != self.first
    }

    /// Writes the key to a new file, durably, for its owner alone.
    pub(crate) fn keep(&self, path: &Path) -> std::io::Result<()> {
        let bytes = if self.own == self.first { self.own.to_vec() } else { [self.own, self.first].concat() };
        write(path, &Zeroizing::new(bytes), 0o600)
    }

    /// Reads a key that only its owner may access.
    ///
    /// # Errors
    ///
    /// If the file does not exist, is no regular file of 32 bytes, or grants others than its owner any
    /// access.
    pub fn open(path: impl AsRef<Path>) -> Result<LedgerKey, LedgerError> {
        let path = path.as_ref();
        let refuse = |what: &str| LedgerError::refused(format!("key {}: {what}", path.display()));
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => refuse(
                "there is none; bring back the copy that was made with the ledger: another one cannot stand in for it",
            ),
            _ => refuse(&error.to_string()).caused_by(error),
        };
        // The type is read before the file is opened, for opening a pipe waits; and again once it is open,
        // for it may have changed.
        if !fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(refuse("not a regular file; give the path of one"));
        }
        let mut file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.mode() & 0o077 != 0 && !is_credential(path, &metadata) {
            return Err(refuse("others than its owner may use it; take that away with `chmod 600`"));
        }
        if !metadata.is_file() || ![LENGTH as u64, 2 * LENGTH as u64].contains(&metadata.len()) {
            return Err(refuse(
                "not 32 bytes, or 64 after `ledger rekey`; if its ledger was never made, remove it and make both again",
            ));
        }
        let mut key = LedgerKey { own: [0; LENGTH], first: [0; LENGTH] };
        file.read_exact(&mut key.own).map_err(unreadable)?;
        key.first = key.own;
        if metadata.len() > LENGTH as u64 {
            file.read_exact(&mut key.first).map_err(unreadable)?;
        }
        Ok(key)
    }

    /// A public hash by which two processes check that they hold the same key. It reveals nothing else about
    /// the key.
    pub fn fingerprint(&self) -> Digest {
        Digest(*self.derive("discreet-dataflow 2026-11 fingerprint of a ledger's key"))
    }

    /// The public value that a ledger of this name stores to recognise its key. It is of no other use.
    pub(super) fn check_value(&self, ledger: &Digest) -> Digest {
        let own = self.derive("discreet-dataflow 2026-11 check of a ledger's key");
        let first = if self.first == self.own { &[][..] } else { &self.first };
        Digest(*blake3::keyed_hash(&own, &Zeroizing::new([ledger.bytes(), first].concat())).as_bytes())
    }

    /// Derives the key for one use, which is named by `context`: different contexts give unrelated keys.
    pub fn derive(&self, context: &'static str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(blake3::derive_key(context, &self.own))
    }

    /// Derives the key for one use as [`derive`](LedgerKey::derive) does, and the same one after a change of
    /// the key: for hashes of ids, which are compared with those of former runs.
    pub fn derive_for_ids(&self, context: &'static str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(blake3::derive_key(context, &self.first))
    }
}

fn drawn() -> Result<Zeroizing<[u8; LENGTH]>, LedgerError> {
    let mut drawn = Zeroizing::new([0; LENGTH]);
    getrandom::fill(&mut *drawn).map_err(|error| LedgerError::refused(format!("no randomness: {error}")))?;
    Ok(drawn)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    // Created with its mode: between creating and narrowing, anyone could open it.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all())?;
    sync_name(path)
}

/// Returns true if the path lies among the credentials that systemd gives to a service, which it may not
/// write to.
pub(crate) fn is_given_by_service(path: &Path) -> bool {
    std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|place| path.starts_with(place))
}

/// Returns true for a credential of systemd, which may show as readable for root's group: an access list names
/// the service's user, and what it allows shows there.
fn is_credential(path: &Path, metadata: &fs::Metadata) -> bool {
    is_given_by_service(path)
        && metadata.mode() & 0o777 == 0o440
        && (metadata.uid(), metadata.gid()) == (0, 0)
}

impl fmt::Debug for LedgerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::ledger::scratch::ScratchPlace;

    #[test]
    fn a_key_is_written_once_for_its_owner_alone_and_read_back() {
        let scratch = ScratchPlace::File.scratch();
        let path = LedgerKey::beside(&scratch.directory().join("visits.ledger"));
        assert!(path.ends_with("visits.ledger.key"));
        let key = LedgerKey::create(&path).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.mode() & 0o7777, metadata.len()), (0o600, 32));
        assert_eq!(LedgerKey::open(&path).unwrap().own, key.own);
        let before = fs::read(&path).unwrap();
        assert!(LedgerKey::create(&path).is_err(), "a key was written over");
        assert_eq!(fs::read(&path).unwrap(), before);
        // Two draws of 32 bytes are never alike, and never all zero.
        let other = LedgerKey::create(scratch.directory().join("other.key")).unwrap();
        assert!(other.own != key.own && key.own != [0; 32]);
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_torn_is_refused() {
        let scratch = ScratchPlace::File.scratch();
        let path = scratch.directory().join("a.key");
        LedgerKey::create(&path).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(LedgerKey::open(&path).unwrap_err().to_string().contains("chmod 600"), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(LedgerKey::open(&path).is_ok());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for length in [0, 31, 33] {
            fs::write(&path, vec![1; length]).unwrap();
            assert!(LedgerKey::open(&path).unwrap_err().to_string().contains("not 32 bytes"), "{length}");
        }
        assert!(LedgerKey::open(scratch.directory()).unwrap_err().to_string().contains("not a regular file"));
        assert!(
            LedgerKey::open(scratch.directory().join("none"))
                .unwrap_err()
                .to_string()
                .contains("there is none")
        );
    }

    fn seven() -> LedgerKey {
        LedgerKey { own: [7; 32], first: [7; 32] }
    }

    // Refutes a change of the key by which each person would be counted anew, or that leaves an old key valid.
    #[test]
    fn a_key_that_took_the_place_of_another_keeps_its_hashes_of_ids_alone() {
        let scratch = ScratchPlace::File.scratch();
        let (first, second, third) = (
            LedgerKey::create(scratch.directory().join("1")).unwrap(),
            scratch.directory().join("2"),
            scratch.directory().join("3"),
        );
        let next = first.succeed(&second, 0o400).unwrap();
        assert_eq!(fs::metadata(&second).unwrap().mode() & 0o7777, 0o400);
        let last = next.succeed(&third, 0o600).unwrap();
        let (next, last) = (LedgerKey::open(second).map(|read| (next, read)), (LedgerKey::open(third), last));
        let (next, read) = next.unwrap();
        assert!(next.own == read.own && next.succeeds(&first) && !first.succeeds(&next));
        let (last, written) = (last.0.unwrap(), last.1);
        assert!(last.own == written.own && last.succeeds(&next));
        let ledger = Digest::of(b"a ledger");
        for (one, other) in [(&first, &next), (&next, &last), (&first, &last)] {
            assert_eq!(one.derive_for_ids("ids"), other.derive_for_ids("ids"));
            assert_ne!(one.derive("state"), other.derive("state"));
            assert_ne!(one.check_value(&ledger), other.check_value(&ledger));
            assert_ne!(one.fingerprint(), other.fingerprint());
        }
        // Another first key is another key.
        let other = LedgerKey { own: next.own, first: [9; 32] };
        assert_ne!(other.check_value(&ledger), next.check_value(&ledger));
        assert!(!other.succeeds(&first));
    }

    #[test]
    fn a_key_is_never_printed_and_each_use_has_its_own() {
        let key = seven();
        assert_eq!(format!("{key:?}"), "<secret>");
        let uses = [*key.derive("one use"), *key.derive("another use"), key.fingerprint().0, key.own];
        for (index, one) in uses.iter().enumerate() {
            assert!(!uses[..index].contains(one), "use {index} is another's");
        }
        assert_eq!(key.derive("one use"), seven().derive("one use"));
        assert_ne!(key.fingerprint(), LedgerKey { own: [8; 32], first: [8; 32] }.fingerprint());
        let (one, other) = (Digest::of(b"one ledger"), Digest::of(b"another"));
        assert_ne!(key.check_value(&one), key.check_value(&other));
        assert_ne!(key.check_value(&one), LedgerKey { own: [8; 32], first: [8; 32] }.check_value(&one));
        assert_ne!(key.check_value(&one), key.fingerprint());
    }
}
