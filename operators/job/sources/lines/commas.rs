//! Where the fields of a plain line end.

/// Where the commas of a line are, and then its end. They are looked for in 32 bytes at once: the lengths of fields are
/// what no processor foresees.
pub(super) struct Commas<'l> {
    lines: &'l [u8],
    length: usize,
    base: usize,
    mask: u32,
}

impl<'l> Commas<'l> {
    /// Of the first `length` bytes of some lines.
    #[inline]
    pub(super) fn new(lines: &'l [u8], length: usize) -> Commas<'l> {
        Commas { lines, length, base: 0, mask: mask(lines) }
    }

    #[inline]
    pub(super) fn next(&mut self) -> usize {
        while self.mask == 0 {
            self.base += 32;
            if self.base >= self.length {
                return self.length;
            }
            self.mask = mask(self.lines.get(self.base..).unwrap_or_default());
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        at.min(self.length)
    }
}

/// A bit for each of the first 32 bytes that is a comma.
#[inline]
fn mask(bytes: &[u8]) -> u32 {
    const COMMAS: u64 = u64::from_ne_bytes([b','; 8]);
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    let Some(block) = bytes.first_chunk::<32>() else {
        return bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u32::from(*byte == b',') << at);
    };
    let mut mask = 0;
    for (at, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let other = u64::from_le_bytes(*eight) ^ COMMAS;
        // The high bit of each byte that is zero; then these bits side by side.
        let commas = !(((other & LOW) + LOW) | other | LOW);
        let bits = (commas >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= (bits as u32) << (8 * at);
    }
    mask
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn commas_are_where_they_are(
            lines in proptest::collection::vec(prop_oneof![Just(b','), any::<u8>()], 0..100),
            length in 0usize..100,
        ) {
            let length = length.min(lines.len());
            let mut commas = Commas::new(&lines, length);
            for (at, _) in lines.iter().take(length).enumerate().filter(|(_, byte)| **byte == b',') {
                prop_assert_eq!(commas.next(), at);
            }
            prop_assert_eq!((commas.next(), commas.next()), (length, length));
        }
    }
}
