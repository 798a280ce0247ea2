//! From a cell to a key.

use crate::job::packed::read_le_prefix;
use crate::job::text::Text;

/// The longest key, in bytes as they were read. It is a public rule: a longer one is none.
pub(super) const LONGEST: usize = 4_096;

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
        let mixed = (read_le_prefix(bytes) ^ read_le_prefix(end).rotate_left(29) ^ bytes.len() as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = self.slots.get_mut((mixed >> 56) as usize)?;
        if slot.equals_bytes(bytes) { Some(slot.clone()) } else { Self::anew(slot, bytes) }
    }

    fn anew(slot: &mut Text, bytes: &[u8]) -> Option<Text> {
        if bytes.len() > LONGEST {
            return None;
        }
        let text = String::from_utf8_lossy(bytes);
        if slot.text() != text {
            *slot = Text::new(&text);
        }
        Some(slot.clone())
    }
}

#[cfg(test)]
mod tests {
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
