//! The identity of a person: a field's bytes, in three words that can be copied.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::dataflow::bounding::{Identity, IdentitySink, StableHasher};
use crate::job::text::Text;
use crate::job::text::{MAX_INLINE_BYTES, pack_words, read_le_prefix, unpack_words};

/// The identity of a person, or of a record.
pub(crate) trait PersonIdentity:
    Clone + Ord + Identity + Serialize + DeserializeOwned + Send + 'static
{
    /// The identity for these bytes, without normalisation.
    fn of(bytes: &[u8], secret: &[u8; 32]) -> Self;

    /// The one identity of all records without an id.
    fn shared() -> Self;
}

impl PersonIdentity for Id {
    fn of(bytes: &[u8], secret: &[u8; 32]) -> Id {
        Id::new(bytes, secret)
    }

    fn shared() -> Id {
        Id::SHARED
    }
}

/// The identity where no release uses one.
impl PersonIdentity for () {
    fn of(_: &[u8], _: &[u8; 32]) {}

    fn shared() {}
}

/// The longest id that is read. It is a public rule: a line with a longer one is bad.
pub(super) const LONGEST_ID: usize = 64 << 10;

/// An id: its bytes where they are at most 23, and otherwise 23 bytes of their keyed hash. Of a million
/// million people with longer ids, two have one hash with a chance of 2^-105; and nobody who does not hold
/// the key finds two. Nothing is normalised: ids that differ in a byte are different people. Prints as
/// `<private>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Id([u64; 3]);

impl Id {
    const HELD: usize = MAX_INLINE_BYTES;
    /// The first byte of a hash, and of the shared id: above every length.
    const HASHED: u8 = 24;
    const NOBODY: u8 = 25;

    /// The id of all records without one; no id that is read equals it.
    pub(crate) const SHARED: Id = Id([Self::NOBODY as u64, 0, 0]);

    #[inline]
    fn new(bytes: &[u8], secret: &[u8; 32]) -> Id {
        if bytes.len() <= Self::HELD {
            return Id::tagged(bytes.len() as u8, bytes);
        }
        let hash = blake3::keyed_hash(secret, bytes);
        Id::tagged(Self::HASHED, hash.as_bytes().split_at(Self::HELD).0)
    }

    #[inline]
    fn tagged(tag: u8, bytes: &[u8]) -> Id {
        Id(pack_words(tag, bytes))
    }

    fn from_bytes(bytes: [u8; MAX_INLINE_BYTES + 1]) -> Id {
        Id::tagged(bytes[0], bytes.split_at(1).1)
    }

    fn bytes(&self) -> [u8; MAX_INLINE_BYTES + 1] {
        unpack_words(&self.0)
    }

    /// The number of bytes that follow the first.
    fn held(tag: u8) -> usize {
        match tag {
            Self::NOBODY => 0,
            tag => usize::from(tag).min(Self::HELD),
        }
    }
}

redacted!(Id);

/// The first byte gives the number of bytes that follow.
impl Identity for Id {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        let bytes = self.bytes();
        sink.bytes(bytes.split_at(1 + Self::held(bytes[0])).0);
    }

    /// The first word holds the number of bytes.
    #[inline]
    fn mix(&self, hasher: &StableHasher) -> u64 {
        hasher.words(&self.0)
    }

    fn read(bytes: &mut &[u8]) -> Option<Id> {
        let tag = *bytes.first().filter(|tag| **tag <= Self::NOBODY)?;
        let (head, tail) = bytes.split_at_checked(1 + Self::held(tag))?;
        let mut held = [0; MAX_INLINE_BYTES + 1];
        held.split_at_mut(head.len()).0.copy_from_slice(head);
        *bytes = tail;
        Some(Id::from_bytes(held))
    }
}

// The conversion of a cell into a key.

/// The longest key, in bytes as they were read. It is a public rule: a longer one is no key.
pub(super) const LONGEST: usize = 4_096;

/// Makes keys of bytes, and caches some, so that one that comes again is copied, and not looked up.
#[derive(Clone)]
pub(super) struct Texts {
    slots: Vec<CachedText>,
}

/// A key, and its words where it is short: comparing those needs no look at the dictionary.
#[derive(Clone, Default)]
struct CachedText {
    words: [u64; 3],
    text: Text,
}

impl Texts {
    /// The number of cached keys: 160 KB, which the second-level cache of a core holds.
    const SLOTS: usize = 1 << Self::SLOT_BITS;
    const SLOT_BITS: u32 = 12;

    pub(super) fn new() -> Texts {
        Texts { slots: vec![CachedText::default(); Self::SLOTS] }
    }

    /// The key of these bytes; `None` where they are too many.
    #[inline]
    pub(super) fn of(&mut self, bytes: &[u8]) -> Option<Text> {
        // The slot affects the cache alone, never the key.
        let end = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or_default();
        let mixed = (read_le_prefix(bytes) ^ read_le_prefix(end).rotate_left(29) ^ bytes.len() as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = self.slots.get_mut((mixed >> (u64::BITS - Self::SLOT_BITS)) as usize)?;
        let is_cached = match u8::try_from(bytes.len()) {
            Ok(length) if bytes.len() <= MAX_INLINE_BYTES => slot.words == pack_words(length, bytes),
            _ => slot.text.equals_bytes(bytes),
        };
        if is_cached { Some(slot.text.clone()) } else { slot.anew(bytes) }
    }
}

/// The most memory of a cached key without a code, in bytes: a cache holds a megabyte of these.
const LONGEST_CACHED: usize = 256;

impl CachedText {
    #[cold]
    fn anew(&mut self, bytes: &[u8]) -> Option<Text> {
        if bytes.len() > LONGEST {
            return None;
        }
        let text = String::from_utf8_lossy(bytes);
        if self.text.text() != text {
            let new = Text::new(&text);
            if new.heap() > LONGEST_CACHED {
                return Some(new);
            }
            self.text = new;
        }
        // Bytes that are no text are never found by their words, nor are long ones.
        let is_short = text.len() <= MAX_INLINE_BYTES && text.as_bytes() == bytes;
        self.words = if is_short { pack_words(bytes.len() as u8, bytes) } else { [u64::MAX; 3] };
        Some(self.text.clone())
    }
}

#[cfg(test)]
mod message_tests {
    use std::collections::BTreeSet;

    use super::*;

    fn id(bytes: &[u8]) -> Id {
        Id::new(bytes, &[7; 32])
    }

    // Refutes any normalisation, padding that could be taken for a byte, and a hash that could be taken for
    // an id.
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
        ids.extend([id(&long[..23]), id(&long[..24]), id(&long[..25])]);
        long[40_000] = b'y';
        ids.push(id(&long));
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        assert_ne!(Id::new(&long, &[7; 32]), Id::new(&long, &[8; 32]), "the hash is keyed");
        assert_eq!(size_of::<Id>(), 24);
    }

    #[test]
    fn what_is_written_is_read_and_begins_nothing_else() {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for one in (0..40).map(|length| id(&vec![0; length])).chain([Id::SHARED, id(b"\x01"), id(b"\x18")]) {
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
        assert!(Id::read(&mut &[26u8; 40][..]).is_none());
    }

    // The bytes are a format: people who are counted in a sealed state must be found again.
    #[test]
    fn the_bytes_never_change() {
        let mut bytes = Vec::new();
        for one in [id(b"ada"), Id::SHARED, id(&[b'x'; 40])] {
            one.write(&mut bytes);
        }
        assert_eq!(&bytes[..6], b"\x03ada\x19\x18");
        assert_eq!(bytes[6..], blake3::keyed_hash(&[7; 32], &[b'x'; 40]).as_bytes()[..23]);
    }

    #[test]
    fn ids_travel() {
        let one = id(b"somebody");
        let json = serde_json::to_string(&one).unwrap();
        assert!(serde_json::from_str::<Id>(&json).unwrap() == one);
        assert_eq!(format!("{one:?}"), "<private>");
    }
}

#[cfg(test)]
mod text_tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown_where_it_is_not_and_what_is_too_long_is_left_out() {
        let mut texts = Texts::new();
        assert_eq!(texts.of(b"a\xffb").unwrap().text(), "a\u{fffd}b");
        assert_eq!(texts.of(&[b'k'; LONGEST]).unwrap().text().len(), LONGEST);
        assert!(texts.of(&[b'k'; LONGEST + 1]).is_none());
        // Bytes that become longer as text are still within the rule.
        assert!(texts.of(&[0xff; LONGEST]).is_some());
    }

    // Refutes an allocation for each record: the second of two equal long keys is the first.
    #[test]
    fn a_long_key_that_comes_again_is_shared() {
        let mut texts = Texts::new();
        let long = [b'k'; 100];
        let (first, second) = (texts.of(&long).unwrap(), texts.of(&long).unwrap());
        assert_eq!(first.text().as_ptr(), second.text().as_ptr());
        for other in 0..10_000u32 {
            let text = format!("a key of more than 23 bytes, {other}");
            assert_eq!(texts.of(text.as_bytes()).unwrap().text(), text);
        }
        assert_eq!(texts.slots.len(), Texts::SLOTS);
    }
}
