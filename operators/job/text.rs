//! Keys of records: texts that cost little to copy, to hash and to compare.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dataflow::bounding::{Identity, Mixer, Sink};

/// A text. Up to 22 bytes lie in place, where three words of them are hashed and compared at once; longer ones are
/// shared. Its order is that of its bytes. Prints as `<private>`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Text(Held);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Held {
    /// A length, and so many bytes; the others are zero.
    Short(u8, [u8; SHORT]),
    Long(Arc<str>),
}

const SHORT: usize = 22;

impl Text {
    pub(crate) fn new(text: &str) -> Text {
        let bytes = text.as_bytes();
        let mut held = [0; SHORT];
        match held.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Text(Held::Short(bytes.len() as u8, held))
            }
            None => Text(Held::Long(text.into())),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.0, Held::Short(0, _))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Held::Short(length, held) => held.split_at(SHORT.min((*length).into())).0,
            Held::Long(text) => text.as_bytes(),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match &self.0 {
            // It was made of a whole text.
            Held::Short(..) => str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Held::Long(text) => text,
        }
    }
}

impl Default for Text {
    fn default() -> Text {
        Text(Held::Short(0, [0; SHORT]))
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
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        // Some formats lend their text, and others do not.
        String::deserialize(deserializer).map(|text| Text::new(&text))
    }
}

/// As a `String` is written.
impl Identity for Text {
    fn write<S: Sink>(&self, sink: &mut S) {
        let bytes = self.as_bytes();
        (bytes.len() as u64).write(sink);
        sink.bytes(bytes);
    }

    fn read(bytes: &mut &[u8]) -> Option<Text> {
        let length = usize::try_from(u64::read(bytes)?).ok()?;
        let (text, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(Text::new(str::from_utf8(text).ok()?))
    }

    #[inline]
    fn mix(&self, mixer: &Mixer) -> u64 {
        let Held::Short(length, held) = &self.0 else { return mixer.written(self) };
        let (first, last) = held.split_at(16);
        let mut words = [0, 0, u64::from(*length) << 56];
        for (word, eight) in words.iter_mut().zip(first.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*eight);
        }
        // The length is in a word of its own, so that it counts whatever the bytes are.
        let mut tail = [0; 8];
        tail.split_at_mut(last.len()).0.copy_from_slice(last);
        words[2] |= u64::from_le_bytes(tail);
        mixer.words(&words)
    }

    fn heap(&self) -> usize {
        match &self.0 {
            Held::Short(..) => 0,
            // Two counts stand before what is shared.
            Held::Long(text) => text.len() + 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::dataflow::bounding::Chooser;

    #[test]
    fn short_ones_take_no_more_room_than_a_string() {
        assert_eq!(size_of::<Text>(), 24);
        let long = Text::new("a key that is longer than what lies in place");
        assert_eq!((Text::new("a key of 22 bytes here").heap(), long.heap()), (0, 60));
        assert_eq!(long.clone().as_str().as_ptr(), long.as_str().as_ptr());
        assert_eq!(format!("{long:?}"), "<private>");
    }

    // Refutes a hash that padding could make alike, or that takes a text for the beginning of another.
    #[test]
    fn what_differs_in_a_byte_or_in_length_has_another_hash() {
        let chooser = Chooser::new([7; 32]);
        let mut hashes = HashSet::new();
        for length in 0..30 {
            for text in ["\0".repeat(length), "a".repeat(length), "\0".repeat(length) + "a"] {
                hashes.insert((chooser.record(&Text::new(&text)), text));
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
            prop_assert_eq!(a.as_str(), &one);
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
