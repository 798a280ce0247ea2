//! The bytes of a gathered pane, for a temporary file: what is held of its people, in the fewest bytes.
//!
//! They are read by the process that wrote them, and by no other, so they carry no version. The file has checked
//! by then that they are unchanged; a reader that finds anything else returns `None`.

/// A held form that can be written to a temporary file and read back.
pub trait Spillable: Sized {
    /// Appends the bytes.
    fn store(&self, bytes: &mut Vec<u8>);

    /// Reads what was stored and moves `bytes` on behind it, or finds something else there.
    fn restore(bytes: &mut &[u8]) -> Option<Self>;
}

/// Appends a number, seven bits a byte, the lowest first: most are small.
pub(super) fn store_number(mut number: u128, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number that was [stored](store_number).
pub(super) fn restore_number(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0u128;
    for shift in (0..128).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u128::from(byte & 0x7f);
        // The last byte has room for two bits.
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Reads a number of different identities: all but one take at least a byte.
pub(super) fn restore_length(bytes: &mut &[u8]) -> Option<usize> {
    let length = usize::try_from(restore_number(bytes)?).ok()?;
    // No memory is laid out for a length that the bytes do not have.
    (length <= bytes.len().max(1)).then_some(length)
}

/// Appends the differences of numbers that never fall.
pub(super) fn store_ends(ends: &[u32], bytes: &mut Vec<u8>) {
    let mut before = 0;
    for end in ends {
        store_number((end - before).into(), bytes);
        before = *end;
    }
}

/// Reads this number of [ends](store_ends).
pub(super) fn restore_ends(bytes: &mut &[u8], length: usize) -> Option<Vec<u32>> {
    let mut end = 0u32;
    let mut next = || {
        end = end.checked_add(u32::restore(bytes)?)?;
        Some(end)
    };
    (0..length).map(|_| next()).collect()
}

impl Spillable for u32 {
    #[inline]
    fn store(&self, bytes: &mut Vec<u8>) {
        store_number((*self).into(), bytes);
    }

    #[inline]
    fn restore(bytes: &mut &[u8]) -> Option<u32> {
        restore_number(bytes)?.try_into().ok()
    }
}

impl Spillable for i128 {
    fn store(&self, bytes: &mut Vec<u8>) {
        // The sign is the lowest bit, so that a small number of either sign is short.
        store_number(((self << 1) ^ (self >> 127)) as u128, bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<i128> {
        let number = restore_number(bytes)?;
        Some((number >> 1) as i128 ^ -((number & 1) as i128))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<T: Spillable + PartialEq + std::fmt::Debug>(value: T) -> usize {
        let mut bytes = Vec::new();
        value.store(&mut bytes);
        let mut rest = &bytes[..];
        assert_eq!((T::restore(&mut rest), rest.len()), (Some(value), 0));
        for cut in 0..bytes.len() {
            assert_eq!(T::restore(&mut &bytes[..cut]), None, "torn at {cut}");
        }
        bytes.len()
    }

    #[test]
    fn numbers_come_back_and_small_ones_are_short() {
        let lengths = [0, 1, 127, 128, u32::MAX].map(comes_back);
        assert_eq!(lengths, [1, 1, 1, 2, 5]);
        let lengths = [0, -1, 63, -64, 64, i128::MAX, i128::MIN].map(comes_back);
        assert_eq!(lengths, [1, 1, 1, 1, 2, 19, 19]);
    }

    // Refutes a reader that wraps, or lays out memory for a length that is not there.
    #[test]
    fn bytes_that_nobody_stored_are_nothing() {
        assert_eq!(restore_number(&mut &[0xff; 19][..]), None);
        let mut most = [0xff; 19];
        most[18] = 0x03;
        assert_eq!(restore_number(&mut &most[..]), Some(u128::MAX));
        most[18] = 0x04;
        assert_eq!(restore_number(&mut &most[..]), None);
        assert_eq!(u32::restore(&mut &[0x80, 0x80, 0x80, 0x80, 0x10][..]), None);
        assert_eq!(restore_length(&mut &[3, 0, 0][..]), None);
        assert_eq!(restore_length(&mut &[2, 0, 0][..]), Some(2));
        assert_eq!(restore_length(&mut &[1][..]), Some(1), "one may take no bytes");
        let mut bytes = Vec::new();
        store_ends(&[0, 3, 3, 900], &mut bytes);
        assert_eq!(restore_ends(&mut &bytes[..], 4), Some(vec![0, 3, 3, 900]));
        let mut bytes = Vec::new();
        [u32::MAX, 1].iter().for_each(|end| end.store(&mut bytes));
        assert_eq!(restore_ends(&mut &bytes[..], 2), None);
    }
}
