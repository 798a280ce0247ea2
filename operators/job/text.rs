//! Keys of records: strings that are cheap to copy, to hash and to compare.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::dictionary::{self, EMPTY_CODE, StoredText};
use crate::dataflow::bounding::{Identity, IdentitySink, StableHasher};

/// A string: its code in the [dictionary](super::dictionary) of the process, or, where that is full, the bytes, which are
/// shared. The order is that of the bytes. Prints as `<private>`.
#[derive(Clone)]
pub(crate) struct Text(TextStorage);

#[derive(Clone)]
enum TextStorage {
    Coded(u32),
    // Behind one more pointer, so that a text has two words.
    Own(Arc<StoredText>),
}

impl Text {
    pub(crate) fn new(text: &str) -> Text {
        let stored = StoredText::new(text);
        Text(
            dictionary::code_of(&stored)
                .map_or_else(|| TextStorage::Own(Arc::new(stored)), TextStorage::Coded),
        )
    }

    /// Returns the text of a code.
    #[inline]
    pub(crate) fn of_code(code: u32) -> Text {
        Text(TextStorage::Coded(code))
    }

    /// Returns the code of the text, if it has one.
    #[inline]
    pub(crate) fn code(&self) -> Option<u32> {
        match self.0 {
            TextStorage::Coded(code) => Some(code),
            TextStorage::Own(_) => None,
        }
    }

    #[inline]
    fn stored(&self) -> &StoredText {
        match &self.0 {
            TextStorage::Coded(code) => dictionary::text_of(*code),
            TextStorage::Own(stored) => stored,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // The empty text was the first to get a code.
        matches!(self.0, TextStorage::Coded(EMPTY_CODE))
    }

    /// Returns true if the text consists of these bytes.
    #[inline]
    pub(crate) fn equals_bytes(&self, bytes: &[u8]) -> bool {
        match self.stored() {
            StoredText::Short(words) => {
                bytes.len() <= MAX_INLINE_BYTES && *words == pack_words(bytes.len() as u8, bytes)
            }
            StoredText::Long(text) => text.as_bytes() == bytes,
        }
    }

    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self.stored() {
            StoredText::Short(words) => {
                let bytes = unpack_words(words);
                let (length, rest) = bytes.split_at(1);
                let held = rest.get(..length[0].into()).unwrap_or_default();
                // The bytes come from a whole string, so they are valid UTF-8.
                Cow::Owned(String::from_utf8_lossy(held).into_owned())
            }
            StoredText::Long(text) => Cow::Borrowed(text),
        }
    }
}

impl PartialEq for Text {
    #[inline]
    fn eq(&self, other: &Text) -> bool {
        match (&self.0, &other.0) {
            (TextStorage::Coded(one), TextStorage::Coded(other)) => one == other,
            _ => self.stored() == other.stored(),
        }
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.stored().hash(state);
    }
}

impl Default for Text {
    fn default() -> Text {
        Text::of_code(EMPTY_CODE)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(text)
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> Ordering {
        match (self.stored(), other.stored()) {
            (StoredText::Short(one), StoredText::Short(other)) => {
                let (one, other) = (unpack_words(one), unpack_words(other));
                // The padding is zero, which sorts before every byte; so the lengths decide only between
                // equals.
                (&one[1..], one[0]).cmp(&(&other[1..], other[0]))
            }
            _ => self.text().cmp(&other.text()),
        }
    }
}

redacted!(Text);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        // Some formats lend their string, and others do not.
        String::deserialize(deserializer).map(|text| Text::new(&text))
    }
}

/// Writes the text as a `String` is written.
impl Identity for Text {
    fn write<S: IdentitySink>(&self, sink: &mut S) {
        let text = self.text();
        (text.len() as u64).write(sink);
        sink.bytes(text.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Text> {
        let length = usize::try_from(u64::read(bytes)?).ok()?;
        let (text, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(Text::new(str::from_utf8(text).ok()?))
    }

    #[inline]
    fn mix(&self, hasher: &StableHasher) -> u64 {
        match self.stored() {
            StoredText::Short(words) => hasher.words(words),
            StoredText::Long(_) => hasher.written(self),
        }
    }

    /// A text with a code holds nothing beside it: the dictionary is bounded by itself.
    fn heap(&self) -> usize {
        // Two reference counts stand before what is shared.
        match &self.0 {
            TextStorage::Coded(_) => 0,
            TextStorage::Own(stored) => match &**stored {
                StoredText::Short(_) => size_of::<StoredText>() + 16,
                StoredText::Long(text) => size_of::<StoredText>() + text.len() + 32,
            },
        }
    }

    #[inline]
    fn code(&self) -> Option<u32> {
        Text::code(self)
    }
}

// Short byte strings packed into whole words: bytes that are written one by one and then read as words stall
// the processor.

/// The number of bytes that three words hold after the first byte.
pub(super) const MAX_INLINE_BYTES: usize = 23;

/// Packs a first byte and at most [`MAX_INLINE_BYTES`] more bytes; the rest of the words is zero.
#[inline]
pub(super) fn pack_words(first: u8, bytes: &[u8]) -> [u64; 3] {
    let mut words = [u64::from(first), 0, 0];
    let mut carried = 0;
    for (at, word) in words.iter_mut().enumerate() {
        let Some(rest) = bytes.get(at * 8..) else { break };
        let eight = read_le_prefix(rest);
        *word |= eight << 8 | carried;
        carried = eight >> 56;
    }
    words
}

/// Unpacks all bytes of the words, the first byte first.
pub(super) fn unpack_words(words: &[u64; 3]) -> [u8; MAX_INLINE_BYTES + 1] {
    let mut bytes = [0; MAX_INLINE_BYTES + 1];
    for (eight, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *eight = word.to_le_bytes();
    }
    bytes
}

/// Reads the first eight bytes, or all of a shorter slice, as a little-endian integer.
#[inline]
pub(super) fn read_le_prefix(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    // Two halves that may overlap, or three bytes that may coincide.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::dataflow::bounding::ContributionSelector;

    // Refutes texts that are copied with each record, with a code and without.
    #[test]
    fn texts_are_two_words_and_long_ones_are_shared() {
        assert_eq!(size_of::<Text>(), 16);
        let long = Text::new("a key that is longer than what lies in place");
        assert_eq!(long.clone().text().as_ptr(), long.text().as_ptr());
        assert_eq!(format!("{long:?}"), "<private>");
        let without_code = |text| Text(TextStorage::Own(Arc::new(StoredText::new(text))));
        let own = without_code("a key that is longer than what lies in place");
        assert_eq!(
            (own.clone().text().as_ptr(), own.heap()),
            (own.text().as_ptr(), size_of::<StoredText>() + 44 + 32)
        );
        assert_eq!(
            (without_code("a key of 23 bytes here.").heap(), Text::of_code(1).heap()),
            (size_of::<StoredText>() + 16, 0)
        );
        assert!(own == long && own.cmp(&long) == Ordering::Equal, "whether there was room is no difference");
    }

    #[test]
    fn one_text_has_one_hash_with_a_code_and_without() {
        let hasher = ContributionSelector::new([7; 32]);
        for text in ["", "a", "a key of 23 bytes here.", "a key that is longer than what lies in place"] {
            let own = Text(TextStorage::Own(Arc::new(StoredText::new(text))));
            assert_eq!(hasher.record(&own), hasher.record(&Text::new(text)));
            assert_eq!(HashSet::from([own]), HashSet::from([Text::new(text)]));
        }
    }

    // Refutes a hash that padding could make alike, or that reads one text as another.
    #[test]
    fn what_differs_in_a_byte_or_in_length_has_another_hash() {
        let selector = ContributionSelector::new([7; 32]);
        let mut hashes = HashSet::new();
        for length in 0..30 {
            for text in ["\0".repeat(length), "a".repeat(length), "\0".repeat(length) + "a"] {
                hashes.insert((selector.record(&Text::new(&text)), text));
            }
        }
        let texts: HashSet<&String> = hashes.iter().map(|(_, text)| text).collect();
        let different: HashSet<u64> = hashes.iter().map(|(hash, _)| *hash).collect();
        assert_eq!(different.len(), texts.len());
    }

    proptest! {
        #[test]
        fn a_text_is_as_its_string_is(one in "\\PC{0,40}", other in "\\PC{0,40}") {
            let (a, b) = (Text::new(&one), Text::new(&other));
            prop_assert_eq!(a.text(), one.as_str());
            prop_assert_eq!((a.equals_bytes(one.as_bytes()), a.equals_bytes(other.as_bytes())), (true, one == other));
            prop_assert_eq!((a.cmp(&b), a == b), (one.cmp(&other), one == other));
            prop_assert_eq!(a.is_empty(), one.is_empty());
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            a.write(&mut ours);
            one.write(&mut theirs);
            prop_assert_eq!(&ours, &theirs);
            prop_assert!(Text::read(&mut &ours[..]) == Some(a.clone()));
            let json = serde_json::to_string(&a).unwrap();
            prop_assert!(serde_json::from_str::<Text>(&json).unwrap() == a);
        }
    }
}

#[cfg(test)]
mod packed_tests {
    use super::*;

    #[test]
    fn words_are_their_bytes() {
        let bytes: Vec<u8> =
            (0..MAX_INLINE_BYTES as u8).map(|byte| byte.wrapping_mul(7).wrapping_add(129)).collect();
        for length in 0..=MAX_INLINE_BYTES {
            let held = &bytes[..length];
            let all = unpack_words(&pack_words(length as u8, held));
            assert_eq!((all[0], &all[1..=length]), (length as u8, held));
            assert!(all[length + 1..].iter().all(|byte| *byte == 0));
            let expected = held.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            assert_eq!(read_le_prefix(held), expected, "{length}");
        }
    }
}
