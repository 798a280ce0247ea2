//! Short byte strings packed into whole words: bytes that are written one by one and then read as words stall
//! the processor.

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
