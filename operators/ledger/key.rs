//! The secret beside a ledger: it chooses which of a person's records are kept, and seals what mechanisms keep.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::canonical::Digest;
use super::trouble::Trouble;

/// 32 random bytes, in a file that only its owner may read. Losing it costs availability, never privacy.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; 32]>);

impl Key {
    /// Where the key of a ledger in a file lies: beside it.
    pub fn beside(ledger: &Path) -> PathBuf {
        let mut path = ledger.as_os_str().to_owned();
        path.push(".key");
        PathBuf::from(path)
    }

    /// Makes a new key, durable before this returns.
    ///
    /// # Errors
    ///
    /// If there is a file already, none can be made, or the operating system gives no randomness.
    pub fn create(path: impl AsRef<Path>) -> Result<Key, Trouble> {
        let path = path.as_ref();
        let refuse = |error| Trouble::refused(format!("key {}: {error}", path.display()));
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|error| Trouble::refused(format!("no randomness: {error}")))?;
        if fs::exists(path).unwrap_or(true) {
            let message = format!(
                "key {}: there is one already, so there was a ledger: bring that back, or take the key away if nothing \
                 was ever released",
                path.display()
            );
            return Err(Trouble::refused(message));
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(refuse)?;
        file.write_all(&*key).and_then(|()| file.sync_all()).map_err(refuse)?;
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(refuse)?;
        Ok(Key(key))
    }

    /// Reads a key.
    ///
    /// # Errors
    ///
    /// If there is none, it is not 32 bytes, or others may read it.
    pub fn open(path: impl AsRef<Path>) -> Result<Key, Trouble> {
        let path = path.as_ref();
        let refuse = |what: &str| Trouble::refused(format!("key {}: {what}", path.display()));
        let io = |error: std::io::Error| refuse(&error.to_string());
        let mut file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.mode() & 0o077 != 0 {
            return Err(refuse("others may read it; take that away with `chmod 600`"));
        }
        let mut key = Zeroizing::new([0; 32]);
        if metadata.len() != 32 {
            return Err(refuse("it is not 32 bytes long; bring back the one that was made with the ledger"));
        }
        file.read_exact(&mut *key).map_err(io)?;
        Ok(Key(key))
    }

    /// A hash by which two keys can be told apart, and nothing else learnt.
    pub fn fingerprint(&self) -> Digest {
        Digest(blake3::derive_key("discreet-dataflow 2026 key fingerprint", &*self.0))
    }

    /// A key for one use, from which neither this key nor that of another use can be found.
    pub fn derive(&self, context: &'static str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(blake3::derive_key(context, &*self.0))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_its_owners_alone_and_is_never_made_twice() {
        let path = std::env::temp_dir().join(format!("discreet-key-{}", std::process::id()));
        let made = Key::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(Key::open(&path).unwrap().fingerprint(), made.fingerprint());
        assert!(Key::create(&path).unwrap_err().to_string().contains("already"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Key::open(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, [1; 31]).unwrap();
        assert!(Key::open(&path).unwrap_err().to_string().contains("32 bytes"));
        fs::remove_file(&path).unwrap();
        assert!(Key::open(&path).is_err());
        assert_eq!(format!("{made:?}"), "<secret>");
        assert_ne!(made.derive("one")[..], made.derive("another")[..]);
    }
}
