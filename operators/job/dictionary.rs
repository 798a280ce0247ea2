//! The dictionary of a process: a small code for each of the texts that come first, so that a record has its keys in
//! four bytes each, and a table knows a key again by one look at its code.
//!
//! A code is never taken back, and a text has at most one. So the dictionary is bounded: once it is full, texts that
//! come anew have no code, and are shared as they are. Which texts have codes changes nothing but time and memory.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, RwLock, RwLockReadGuard};

use super::text::{MAX_INLINE_BYTES, pack_words};

/// The most texts that have codes: with their entries some 27 MB. In tests few, so that there are texts without codes.
const MOST_CODES: usize = if cfg!(test) { 512 } else { 1 << 18 };

/// The most bytes of long texts that have codes.
const MOST_BYTES: usize = 16 << 20;

/// The number of codes in the first block; each further block has as many as all before it.
const FIRST_BLOCK: usize = 64;

const BLOCKS: usize = (MOST_CODES / FIRST_BLOCK).trailing_zeros() as usize + 1;

/// The bytes of a text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum StoredText {
    /// The length in the lowest byte, then that many bytes of text.
    Short([u64; 3]),
    Long(Arc<str>),
}

impl StoredText {
    #[inline]
    pub(super) fn new(text: &str) -> StoredText {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= MAX_INLINE_BYTES => {
                StoredText::Short(pack_words(length, text.as_bytes()))
            }
            _ => StoredText::Long(text.into()),
        }
    }
}

/// The code of the empty text.
pub(super) const EMPTY_CODE: u32 = 0;

const EMPTY: StoredText = StoredText::Short([0; 3]);

/// Texts by their codes, which are read without a lock, and codes by their texts.
struct Dictionary {
    blocks: [OnceLock<Box<[OnceLock<StoredText>]>>; BLOCKS],
    codes: RwLock<Codes>,
}

#[derive(Default)]
struct Codes {
    codes: HashMap<StoredText, u32>,
    /// The bytes of the long texts.
    bytes: usize,
}

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| {
    let dictionary = Dictionary { blocks: [const { OnceLock::new() }; BLOCKS], codes: RwLock::default() };
    dictionary.code(&EMPTY);
    dictionary
});

/// Returns the code of a text, which it gets where there is room.
pub(super) fn code_of(text: &StoredText) -> Option<u32> {
    DICTIONARY.code(text)
}

/// Returns the text of a code.
#[inline]
pub(super) fn text_of(code: u32) -> &'static StoredText {
    DICTIONARY.text(code)
}

impl Dictionary {
    fn code(&self, text: &StoredText) -> Option<u32> {
        let codes = self.read();
        let known = codes.codes.get(text).copied();
        if known.is_some() || codes.is_full() {
            return known;
        }
        drop(codes);
        // What a thread that panicked left behind is whole: an entry is made before its code is known.
        let mut codes = self.codes.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bytes = match text {
            StoredText::Short(_) => 0,
            StoredText::Long(text) => text.len(),
        };
        if let Some(known) = codes.codes.get(text) {
            return Some(*known);
        }
        if codes.is_full() || codes.bytes + bytes > MOST_BYTES {
            return None;
        }
        let code = codes.codes.len();
        let (block, place) = place_of(code);
        let new = || std::iter::repeat_with(OnceLock::new).take(block_length(block)).collect();
        self.blocks[block].get_or_init(new)[place].get_or_init(|| text.clone());
        codes.bytes += bytes;
        codes.codes.insert(text.clone(), code as u32);
        Some(code as u32)
    }

    /// Only codes that were given are asked for; any other would be the empty text.
    #[inline]
    fn text(&self, code: u32) -> &StoredText {
        let (block, place) = place_of(code as usize);
        let entry = self.blocks.get(block).and_then(OnceLock::get).and_then(|block| block.get(place)?.get());
        entry.unwrap_or(const { &EMPTY })
    }

    fn read(&self) -> RwLockReadGuard<'_, Codes> {
        self.codes.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Codes {
    fn is_full(&self) -> bool {
        self.codes.len() >= MOST_CODES
    }
}

/// Returns the block of a code, and its place there.
#[inline]
fn place_of(code: usize) -> (usize, usize) {
    let block = (usize::BITS - (code / FIRST_BLOCK).leading_zeros()) as usize;
    (block, if block == 0 { code } else { code - block_length(block) })
}

/// Returns the number of codes in a block.
#[inline]
fn block_length(block: usize) -> usize {
    if block == 0 { FIRST_BLOCK } else { FIRST_BLOCK << (block - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes two codes for a text, two texts for a code, and a text that gets a code once there is no room.
    #[test]
    fn a_text_has_one_code_on_all_threads_until_the_dictionary_is_full() {
        let dictionary = Dictionary { blocks: [const { OnceLock::new() }; BLOCKS], codes: RwLock::default() };
        let texts: Vec<StoredText> =
            (0..MOST_CODES + 40).map(|number| StoredText::new(&"k".repeat(number))).collect();
        let codes = || texts.iter().map(|text| dictionary.code(text)).collect::<Vec<_>>();
        let found: Vec<Vec<Option<u32>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(codes)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(found[0].iter().flatten().count(), MOST_CODES);
        for (at, text) in texts.iter().enumerate() {
            let codes: Vec<_> = found.iter().map(|codes| codes[at]).collect();
            assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
            if let Some(code) = codes[0] {
                assert!(dictionary.text(code) == text);
            }
        }
        let mut given: Vec<u32> = found[0].iter().flatten().copied().collect();
        given.sort_unstable();
        assert!(given.into_iter().eq(0..MOST_CODES as u32));
    }

    #[test]
    fn every_code_has_a_place_of_its_own() {
        let mut next = (0, 0);
        for code in 0..10 * FIRST_BLOCK {
            assert_eq!(place_of(code), next);
            next.1 += 1;
            if next.1 == block_length(next.0) {
                next = (next.0 + 1, 0);
            }
        }
        let last = (1 << 18) - 1;
        assert_eq!(place_of(last), (12, block_length(12) - 1));
    }

    #[test]
    fn the_empty_text_has_the_first_code() {
        assert_eq!(code_of(&EMPTY), Some(EMPTY_CODE));
        assert!(*text_of(EMPTY_CODE) == EMPTY && *text_of(u32::MAX) == EMPTY);
    }
}
