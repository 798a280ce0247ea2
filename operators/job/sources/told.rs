//! Who it was: a field's bytes, in 32 bytes that can be copied.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::dataflow::bounding::{Identity, Mixer, Sink};

/// What a person, or a record, is told by.
pub(crate) trait Told: Clone + Ord + Identity + Serialize + DeserializeOwned + Send + 'static {
    /// Of these bytes, as they stand.
    fn of(bytes: &[u8], secret: &[u8; 32]) -> Self;

    /// For all records in which nobody is named.
    fn shared() -> Self;
}

impl Told for Id {
    fn of(bytes: &[u8], secret: &[u8; 32]) -> Id {
        Id::new(bytes, secret)
    }

    fn shared() -> Id {
        Id::SHARED
    }
}

/// Nothing asks.
impl Told for () {
    fn of(_: &[u8], _: &[u8; 32]) {}

    fn shared() {}
}

/// The longest id that is read. It is a public rule: a line with a longer one is bad.
pub(super) const LONGEST_ID: usize = 64 << 10;

/// Bytes by which somebody is known: themselves where they are at most 31, and otherwise 31 bytes of their keyed hash,
/// in which nobody finds two ids alike. Nothing is normalised: what differs in a byte is somebody else. Prints as
/// `<private>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Id([u64; 4]);

impl Id {
    const HELD: usize = 31;
    /// Above every length: the first byte of a hash, and of those who are not named.
    const HASHED: u8 = 32;
    const NOBODY: u8 = 33;

    /// For all records in which nobody is named; no id that is read equals it.
    pub(crate) const SHARED: Id = Id([Self::NOBODY as u64, 0, 0, 0]);

    #[inline]
    fn new(bytes: &[u8], secret: &[u8; 32]) -> Id {
        if bytes.len() <= Self::HELD {
            return Id::tagged(bytes.len() as u8, bytes);
        }
        let hash = blake3::keyed_hash(secret, bytes);
        Id::tagged(Self::HASHED, hash.as_bytes().split_at(Self::HELD).0)
    }

    /// A first byte, and at most 31 more. In whole words: bytes that are written one by one and then read as words make
    /// the processor wait.
    #[inline]
    fn tagged(tag: u8, bytes: &[u8]) -> Id {
        let mut words = [u64::from(tag), 0, 0, 0];
        let mut carried = 0;
        for (at, word) in words.iter_mut().enumerate() {
            let Some(rest) = bytes.get(at * 8..) else { break };
            let eight = little(rest);
            *word |= eight << 8 | carried;
            carried = eight >> 56;
        }
        Id(words)
    }

    fn from_bytes(bytes: [u8; 32]) -> Id {
        Id::tagged(bytes[0], bytes.split_at(1).1)
    }

    fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (eight, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *eight = word.to_le_bytes();
        }
        bytes
    }

    /// How many bytes follow the first.
    fn held(tag: u8) -> usize {
        match tag {
            Self::NOBODY => 0,
            tag => usize::from(tag).min(Self::HELD),
        }
    }
}

/// The first eight bytes, or as many as there are, the first the lowest.
#[inline]
pub(super) fn little(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    // Two halves that may overlap, or three bytes that may be the same.
    let length = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (length - 4));
    }
    match bytes {
        [] => 0,
        [first, .., last] => {
            let middle = bytes.get(length / 2).copied().unwrap_or_default();
            u64::from(*first)
                | u64::from(middle) << (8 * (length / 2))
                | u64::from(*last) << (8 * (length - 1))
        }
        [only] => u64::from(*only),
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// The first byte says how many follow.
impl Identity for Id {
    fn write<S: Sink>(&self, sink: &mut S) {
        let bytes = self.bytes();
        sink.bytes(bytes.split_at(1 + Self::held(bytes[0])).0);
    }

    /// The first word holds how many bytes there are.
    #[inline]
    fn mix(&self, mixer: &Mixer) -> u64 {
        mixer.words(&self.0)
    }

    fn read(bytes: &mut &[u8]) -> Option<Id> {
        let tag = *bytes.first().filter(|tag| **tag <= Self::NOBODY)?;
        let (head, tail) = bytes.split_at_checked(1 + Self::held(tag))?;
        let mut held = [0; 32];
        held.split_at_mut(head.len()).0.copy_from_slice(head);
        *bytes = tail;
        Some(Id::from_bytes(held))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn id(bytes: &[u8]) -> Id {
        Id::new(bytes, &[7; 32])
    }

    // Refutes any normalisation, padding that could be taken for a byte, and a hash that could be taken for an id.
    #[test]
    fn ids_that_differ_in_a_byte_are_different_people() {
        let mut long = vec![b'x'; LONGEST_ID];
        let mut ids =
            vec![id(b""), id(b"\0"), id(b"\0\0"), id(b"7"), id(b"07"), id(b" 7"), id(b"\xff"), id(b"\xfe")];
        ids.extend([
            id("é".as_bytes()),
            id("e\u{301}".as_bytes()),
            id(b"a"),
            id(b"A"),
            Id::SHARED,
            id(&long),
        ]);
        ids.extend([id(&long[..31]), id(&long[..32]), id(&long[..33])]);
        long[40_000] = b'y';
        ids.push(id(&long));
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert_ne!(Id::new(&long, &[7; 32]), Id::new(&long, &[8; 32]), "the hash is keyed");
        assert_eq!(size_of::<Id>(), 32);
    }

    #[test]
    fn what_is_written_is_read_and_begins_nothing_else() {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for one in (0..40).map(|length| id(&vec![0; length])).chain([Id::SHARED, id(b"\x01"), id(b"\x20")]) {
            let mut written = Vec::new();
            one.write(&mut written);
            assert!(Id::read(&mut &written[..written.len() - 1]).is_none(), "a torn one is nobody");
            let whole = [&written[..], b"z"].concat();
            let mut rest = &whole[..];
            assert!(Id::read(&mut rest) == Some(one) && rest == b"z");
            assert!(all.iter().all(|other| !other.starts_with(&written) && !written.starts_with(other)));
            all.push(written);
        }
        assert_eq!(all[3].len(), 4, "only what it holds");
        assert!(Id::read(&mut &[34u8; 40][..]).is_none());
    }

    // The bytes are a format: people who are counted in a sealed state must be found again.
    #[test]
    fn the_bytes_never_change() {
        let mut bytes = Vec::new();
        for one in [id(b"ada"), Id::SHARED, id(&[b'x'; 40])] {
            one.write(&mut bytes);
        }
        assert_eq!(&bytes[..6], b"\x03ada\x21\x20");
        assert_eq!(bytes[6..], blake3::keyed_hash(&[7; 32], &[b'x'; 40]).as_bytes()[..31]);
    }

    #[test]
    fn words_are_their_bytes() {
        let bytes: Vec<u8> = (0..31u8).map(|byte| byte.wrapping_mul(7).wrapping_add(129)).collect();
        for length in 0..=31 {
            let held = &bytes[..length];
            let one = id(held).bytes();
            assert_eq!((one[0], &one[1..=length]), (length as u8, held));
            assert!(one[length + 1..].iter().all(|byte| *byte == 0));
            let expected = held.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            assert_eq!(little(held), expected, "{length}");
        }
    }

    #[test]
    fn ids_travel() {
        let one = id(b"somebody");
        let json = serde_json::to_string(&one).unwrap();
        assert!(serde_json::from_str::<Id>(&json).unwrap() == one);
        assert_eq!(format!("{one:?}"), "<private>");
    }
}
