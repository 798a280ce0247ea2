//! A hash for undefended maps: as fast as that of the tables, and without a key.

use std::hash::Hasher;

/// Two folded multiplications for a number, and as much for every eight bytes of a text.
#[derive(Default)]
pub(crate) struct Fast(u64);

impl Hasher for Fast {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            self.write_u64(u64::from_le_bytes(padded) ^ self.0);
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        self.0 =
            fold(fold(number ^ 0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345) ^ number, 0xa409_3822_299f_31d1);
    }
}
