//! A keyed hash for tables and choices: fast on integers, SipHash-1-3 on everything else.
//!
//! Privacy does not rest on it: any function of a person's own records may choose what is kept. Two things do. It is the
//! same function everywhere, so it is written here and pinned by its test. And whoever sends records does not know the
//! key, so that they can neither crowd one slot of a table nor choose what is kept of themselves.

use std::fmt;

use super::identity::{Identity, IdentitySink};

/// One keyed hash function. Prints as `<secret>`.
#[derive(Clone)]
pub struct Mixer {
    number: [u64; 4],
    text: [u64; 2],
}

impl Mixer {
    /// How many words of key it takes.
    pub(super) const WORDS: usize = 6;

    pub(super) fn new(words: [u64; Self::WORDS]) -> Mixer {
        let [a, b, c, d, e, f] = words;
        // Odd factors, so that none is zero.
        Mixer { number: [a, b | 1, c, d | 1], text: [e, f] }
    }

    /// Hashes a number: two folded multiplications, some 2 ns apart but pipelined to less than one.
    #[inline]
    pub fn number(&self, number: u64) -> u64 {
        let [a, b, c, d] = self.number;
        fold(fold(number ^ a, b) ^ c ^ number, d)
    }

    /// Hashes a pair of hashes.
    #[inline]
    pub fn pair(&self, first: u64, second: u64) -> u64 {
        let [a, b, c, d] = self.number;
        fold(fold(first ^ a, second ^ b) ^ c ^ first, d ^ second)
    }

    /// Hashes some words; as a number where all but the first are zero. Whoever gives bytes in words says in the first of
    /// them how many there are.
    #[inline]
    pub fn words<const N: usize>(&self, words: &[u64; N]) -> u64 {
        let Some((first, rest)) = words.split_first() else { return 0 };
        let hash = self.number(*first);
        if rest.iter().fold(0, |all, word| all | word) == 0 {
            return hash;
        }
        rest.iter().fold(hash, |hash, word| self.pair(hash, *word))
    }

    /// Hashes what an identity writes.
    pub fn written<T: Identity>(&self, identity: &T) -> u64 {
        let mut sip = Sip::new(self.text);
        identity.write(&mut sip);
        sip.finish()
    }
}

impl fmt::Debug for Mixer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// The two halves of a product of 128 bits, added without carry.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// SipHash-1-3 (Aumasson, Bernstein 2012; one round a word, three at the end).
struct Sip {
    state: [u64; 4],
    tail: u64,
    length: u64,
}

impl Sip {
    fn new([first, second]: [u64; 2]) -> Sip {
        let state = [
            first ^ 0x736f_6d65_7073_6575,
            second ^ 0x646f_7261_6e64_6f6d,
            first ^ 0x6c79_6765_6e65_7261,
            second ^ 0x7465_6462_7974_6573,
        ];
        Sip { state, tail: 0, length: 0 }
    }

    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.state;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32).wrapping_add(d);
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        self.state = [a, b, c.rotate_left(32), d];
    }

    #[inline]
    fn word(&mut self, word: u64) {
        self.state[3] ^= word;
        self.round();
        self.state[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.word(self.length << 56 | self.tail);
        self.state[2] ^= 0xff;
        for _ in 0..3 {
            self.round();
        }
        self.state.iter().fold(0, |hash, word| hash ^ word)
    }
}

impl IdentitySink for Sip {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        let held = self.length % 8;
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let mut rest = bytes;
        if held != 0 {
            let taken = rest.len().min(8 - held as usize);
            let (head, tail) = rest.split_at(taken);
            self.tail |= little(head) << (8 * held);
            rest = tail;
            if held as usize + taken < 8 {
                return;
            }
            self.word(self.tail);
        }
        let mut words = rest.chunks_exact(8);
        for word in &mut words {
            self.word(little(word));
        }
        self.tail = little(words.remainder());
    }
}

/// At most eight bytes, the first the lowest.
#[inline]
fn little(bytes: &[u8]) -> u64 {
    if let Ok(word) = bytes.try_into() {
        return u64::from_le_bytes(word);
    }
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{DefaultHasher, Hasher};

    use super::*;

    // The standard library's hasher is SipHash-1-3 under the key zero.
    #[test]
    fn bytes_are_hashed_by_siphash_1_3_however_they_are_split() {
        let bytes: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(37)).collect();
        for length in 0..bytes.len() {
            let mut standard = DefaultHasher::new();
            standard.write(&bytes[..length]);
            for split in 0..=length {
                let mut ours = Sip::new([0, 0]);
                ours.bytes(&bytes[..split]);
                ours.bytes(&bytes[split..length]);
                assert_eq!(ours.finish(), standard.finish(), "{split} of {length}");
            }
        }
    }

    #[test]
    fn the_key_counts() {
        let mixer = |last| Mixer::new([1, 2, 3, 4, 5, last]);
        assert_ne!(mixer(6).written(&"a".to_owned()), mixer(7).written(&"a".to_owned()));
        let other = Mixer::new([1, 2, 9, 4, 5, 6]);
        assert_ne!(mixer(6).number(1), other.number(1));
    }

    // Refutes a hash of 32 bits, and one in which low or high bits of dense numbers collide.
    #[test]
    fn dense_numbers_spread_over_all_bits() {
        let words =
            [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
        let mixer = Mixer::new([words[0], words[1], words[2], words[3], 1, 2]);
        let mut whole = HashSet::new();
        let mut buckets = [[0u32; 256]; 8];
        for number in 0..1u64 << 18 {
            let hash = mixer.number(number);
            assert!(whole.insert(hash), "{number}");
            for (byte, buckets) in buckets.iter_mut().enumerate() {
                buckets[(hash >> (8 * byte) & 255) as usize] += 1;
            }
        }
        // 1,024 expected in each of 2,048; six standard deviations are 192.
        assert!(buckets.iter().flatten().all(|&count| count.abs_diff(1024) < 192));
    }
}
