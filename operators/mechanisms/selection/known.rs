//! The keys that are public already: all that a release with discovered keys remembers from one window to the
//! next.

use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::keys::Key;

/// The format: this byte, then each key as its length in four bytes, the most significant first, and its
/// bytes; in ascending order.
const VERSION: u8 = 1;

/// The longest key that discovery makes public, in bytes. Longer ones are left out by their own length alone,
/// as if nobody had brought them. With [`Keys::at_most`](crate::mechanisms::Keys::at_most) this bounds the state.
pub(in crate::mechanisms) const LONGEST: usize = 4096;

/// Keys that were released before, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mechanisms) struct KnownKeys<K>(Vec<K>);

impl<K: Key> KnownKeys<K> {
    pub(in crate::mechanisms) fn none() -> KnownKeys<K> {
        KnownKeys(Vec::new())
    }

    /// Reads what [`KnownKeys::to_bytes`] wrote.
    pub(in crate::mechanisms) fn from_bytes(bytes: &[u8]) -> Result<KnownKeys<K>, Invalid> {
        let Some((&VERSION, mut rest)) = bytes.split_first() else {
            return Err(Invalid::new(
                "state",
                InvalidKind::Malformed,
                "state that this version of the library wrote",
            ));
        };
        let malformed = || Invalid::new("state", InvalidKind::Malformed, "the state as it was sealed");
        let mut keys: Vec<K> = Vec::new();
        while !rest.is_empty() {
            let (length, after) = rest.split_first_chunk().ok_or_else(malformed)?;
            let (key, after) =
                after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(malformed)?;
            let key = K::from_bytes(key).ok_or_else(malformed)?;
            if keys.last().is_some_and(|last| *last >= key) {
                return Err(malformed());
            }
            keys.push(key);
            rest = after;
        }
        Ok(KnownKeys(keys))
    }

    pub(in crate::mechanisms) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for key in &self.0 {
            let key = key.to_bytes();
            // At most LONGEST bytes: nothing longer is ever added.
            bytes.extend_from_slice(&(key.len() as u32).to_be_bytes());
            bytes.extend_from_slice(&key);
        }
        bytes
    }

    /// These and `found`, which are none of them.
    pub(in crate::mechanisms) fn with(mut self, found: impl IntoIterator<Item = K>) -> KnownKeys<K> {
        self.0.extend(found);
        self.0.sort();
        self
    }

    pub(in crate::mechanisms) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::mechanisms) fn iter(&self) -> impl Iterator<Item = &K> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<KnownKeys<String>, InvalidKind> {
        KnownKeys::from_bytes(bytes).map_err(|refused| refused.kind())
    }

    #[test]
    fn the_format_is_written_down() {
        let known = KnownKeys::none().with(["b".to_owned(), "ab".to_owned(), String::new()]);
        assert_eq!(known.to_bytes(), b"\x01\0\0\0\0\0\0\0\x02ab\0\0\0\x01b");
        assert_eq!(KnownKeys::<String>::none().to_bytes(), [1]);
    }

    #[test]
    fn bytes_that_nobody_wrote_are_refused() {
        assert_eq!(read(b""), Err(InvalidKind::Malformed));
        assert_eq!(read(b"\x02"), Err(InvalidKind::Malformed), "another version");
        assert_eq!(read(b"\x01\0\0\0"), Err(InvalidKind::Malformed), "a torn length");
        assert_eq!(read(b"\x01\0\0\0\x02a"), Err(InvalidKind::Malformed), "a torn key");
        assert_eq!(read(b"\x01\xff\xff\xff\xffa"), Err(InvalidKind::Malformed), "a length beyond the end");
        assert_eq!(read(b"\x01\0\0\0\x01\xff"), Err(InvalidKind::Malformed), "no text");
        assert_eq!(read(b"\x01\0\0\0\x01b\0\0\0\x01a"), Err(InvalidKind::Malformed), "out of order");
        assert_eq!(read(b"\x01\0\0\0\x01a\0\0\0\x01a"), Err(InvalidKind::Malformed), "twice");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(keys: std::collections::BTreeSet<String>) {
            let known = KnownKeys::none().with(keys);
            prop_assert_eq!(read(&known.to_bytes()), Ok(known));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut versioned = vec![VERSION];
            versioned.extend_from_slice(&bytes);
            if let Ok(known) = read(&versioned) {
                prop_assert_eq!(known.to_bytes(), versioned);
            }
            let _ = read(&bytes);
        }
    }
}
