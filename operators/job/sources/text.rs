//! Keys: short texts that cost little to copy.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::told::little;
use crate::dataflow::bounding::{Identity, Sink};
use crate::mechanisms::{Key, Label};

/// A key. Up to 23 bytes lie in place, longer ones are shared. Prints as `<private>`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Text(SmolStr);

impl Text {
    /// The longest key, in bytes as they were read. It is a public rule: a record with a longer one is left out.
    pub(super) const LONGEST: usize = 4_096;

    pub(crate) fn new(text: &str) -> Text {
        Text(SmolStr::new(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// As a `String` does, so that a key is told, kept and chosen alike whichever of the two holds it.
impl Identity for Text {
    fn write<S: Sink>(&self, sink: &mut S) {
        (self.0.len() as u64).write(sink);
        sink.bytes(self.0.as_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Text> {
        let length = usize::try_from(u64::read(bytes)?).ok()?;
        let (text, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(Text::new(str::from_utf8(text).ok()?))
    }

    fn heap(&self) -> usize {
        // Two counts stand before what is shared.
        if self.0.is_heap_allocated() { self.0.len() + 16 } else { 0 }
    }
}

impl Key for Text {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.as_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Text> {
        Some(Text::new(str::from_utf8(bytes).ok()?))
    }

    fn label(&self) -> Label<'_> {
        Label::Text(Cow::Borrowed(&self.0))
    }
}

/// Makes keys of bytes, and remembers some, so that one that comes again is copied, or shared where it is long, and not
/// made anew.
pub(super) struct Texts {
    slots: Vec<Text>,
}

impl Texts {
    /// With keys of 4,096 bytes, a megabyte.
    const SLOTS: usize = 256;

    pub(super) fn new() -> Texts {
        Texts { slots: vec![Text::default(); Self::SLOTS] }
    }

    /// The key of these bytes; `None` where they are too many.
    #[inline]
    pub(super) fn of(&mut self, bytes: &[u8]) -> Option<Text> {
        // Which slot decides what is made anew, and nothing else.
        let end = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or_default();
        let mixed = (little(bytes) ^ little(end).rotate_left(29) ^ bytes.len() as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = self.slots.get_mut((mixed >> 56) as usize)?;
        if slot.0.as_bytes() == bytes { Some(slot.clone()) } else { Self::anew(slot, bytes) }
    }

    fn anew(slot: &mut Text, bytes: &[u8]) -> Option<Text> {
        if bytes.len() > Text::LONGEST {
            return None;
        }
        let text = String::from_utf8_lossy(bytes);
        if slot.as_str() != text {
            *slot = Text::new(&text);
        }
        Some(slot.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_strings_are() {
        for text in ["", "a", "a key that is longer than what lies in place", "日本"] {
            let (key, string) = (Text::new(text), text.to_owned());
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            key.write(&mut ours);
            string.write(&mut theirs);
            assert_eq!(ours, theirs);
            assert!(<Text as Identity>::read(&mut &ours[..]) == Some(key.clone()));
            assert_eq!(Key::to_bytes(&key), Key::to_bytes(&string));
            assert!(Text::from_bytes(text.as_bytes()).unwrap() == key);
            assert_eq!(key.label(), string.label());
            assert_eq!(format!("{key:?}"), "<private>");
        }
        assert!(Text::new("a\u{fffd}") > Text::new("a\u{7f}"));
    }

    #[test]
    fn what_is_no_text_is_shown_where_it_is_not_and_what_is_too_long_is_left_out() {
        let mut texts = Texts::new();
        assert_eq!(texts.of(b"a\xffb").unwrap().as_str(), "a\u{fffd}b");
        assert_eq!(texts.of(&[b'k'; Text::LONGEST]).unwrap().as_str().len(), Text::LONGEST);
        assert!(texts.of(&[b'k'; Text::LONGEST + 1]).is_none());
        // Bytes that become longer as text are still within the rule.
        assert!(texts.of(&[0xff; Text::LONGEST]).is_some());
    }

    // Refutes an allocation for each record: the second of two equal long keys is the first.
    #[test]
    fn a_long_key_that_comes_again_is_shared() {
        let mut texts = Texts::new();
        let long = [b'k'; 100];
        let (first, second) = (texts.of(&long).unwrap(), texts.of(&long).unwrap());
        assert_eq!(first.as_str().as_ptr(), second.as_str().as_ptr());
        for other in 0..10_000u32 {
            let text = format!("a key of more than 23 bytes, {other}");
            assert_eq!(texts.of(text.as_bytes()).unwrap().as_str(), text);
        }
        assert_eq!(texts.slots.len(), Texts::SLOTS);
    }
}
