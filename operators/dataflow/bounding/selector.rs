//! Contribution selection: a keyed hash selects the records of a person that count, independently of their
//! order.

use std::fmt;

use super::identity::{Identity, IdentitySink};

/// Chooses keys and records, and sends persons to workers.
///
/// Everything it says is a function of its key and of the identities that it is given: the same on every
/// worker, in every order, for every duplicate, in every process and build. The key comes from the ledger's
/// ([`LedgerKey::derive`](crate::ledger::LedgerKey::derive)) and must not change while a window is open, or a
/// person could be given two choices.
#[derive(Clone)]
pub struct ContributionSelector {
    secret: [u8; 32],
    persons: StableHasher,
    keys: StableHasher,
    choices: StableHasher,
    records: StableHasher,
    routes: StableHasher,
}

impl ContributionSelector {
    /// From 32 secret bytes.
    pub fn new(secret: [u8; 32]) -> ContributionSelector {
        let [persons, keys, choices, records] = mixers(CHOICES, &secret);
        let [routes] = mixers(ROUTES, &secret);
        ContributionSelector { secret, persons, keys, choices, records, routes }
    }

    /// Returns true if both choose alike.
    pub(in crate::dataflow) fn is_like(&self, other: &ContributionSelector) -> bool {
        self.secret == other.secret
    }

    /// One that chooses otherwise in this window, so that it is not the same of a person's keys that are
    /// always left out. Persons are still sent to the same workers.
    ///
    /// Not where windows overlap and share their panes: those need one choice.
    pub fn within(&self, window: i64) -> ContributionSelector {
        let secret = *blake3::keyed_hash(&self.secret, &window.to_le_bytes()).as_bytes();
        let [persons, keys, choices, records] = mixers(CHOICES, &secret);
        ContributionSelector { secret, persons, keys, choices, records, routes: self.routes.clone() }
    }

    /// Returns the worker of a person, modulo the number of workers.
    ///
    /// It is another function than the one that tables find persons by: all persons of a worker share what
    /// chose it, and a table that used the same bits would leave most of its slots empty.
    #[inline]
    pub fn route<P: Identity>(&self, person: &P) -> u64 {
        person.mix(&self.routes)
    }

    /// A hash of a record's identity, which is what [`KeptRecords`](super::KeptRecords) chooses by: of its
    /// id, of its partition and offset, or of its value where it has neither.
    #[inline]
    pub fn record<I: Identity>(&self, identity: &I) -> u64 {
        identity.mix(&self.records)
    }

    #[inline]
    pub(in crate::dataflow) fn person<P: Identity>(&self, person: &P) -> u64 {
        person.mix(&self.persons)
    }

    #[inline]
    pub(super) fn key<K: Identity>(&self, key: &K) -> u64 {
        key.mix(&self.keys)
    }

    /// The place of a key among the keys of a person: the lowest are kept.
    #[inline]
    pub(super) fn choice(&self, person: u64, key: u64) -> u64 {
        self.choices.pair(person, key)
    }

    /// The place of a key among those of a person, for who chooses by hand.
    #[cfg(test)]
    pub(in crate::dataflow) fn place<P: Identity, K: Identity>(&self, person: &P, key: &K) -> u64 {
        self.choice(self.person(person), self.key(key))
    }

    /// The place of a record among those that a person has in a key. With the person in it, nobody's records
    /// have an advantage everywhere.
    #[inline]
    pub(super) fn rank(&self, choice: u64, record: u64) -> u64 {
        self.records.pair(choice, record)
    }
}

const CHOICES: &str = "discreet-dataflow 2026 which keys and records of a person are kept";
const ROUTES: &str = "discreet-dataflow 2026 which worker a person belongs to";

fn mixers<const N: usize>(context: &str, secret: &[u8; 32]) -> [StableHasher; N] {
    let mut words = blake3::Hasher::new_derive_key(context).update(secret).finalize_xof();
    let mut word = || {
        let mut bytes = [0; 8];
        words.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    };
    std::array::from_fn(|_| StableHasher::new(std::array::from_fn(|_| word())))
}

impl fmt::Debug for ContributionSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

// A keyed hash for tables and choices: fast on integers, SipHash-1-3 on everything else.
//
// Privacy does not rest on it: any function of a person's own records may choose what is kept. Two things do.
// It is the same function everywhere, so it is written here and pinned by its test. And whoever sends records
// does not know the key, so that they can neither crowd one slot of a table nor choose what is kept of
// themselves.

/// One keyed hash function. Prints as `<secret>`.
#[derive(Clone)]
pub struct StableHasher {
    number: [u64; 4],
    text: [u64; 2],
}

impl StableHasher {
    /// The number of words of the key.
    pub(super) const WORDS: usize = 6;

    pub(super) fn new(words: [u64; Self::WORDS]) -> StableHasher {
        let [a, b, c, d, e, f] = words;
        // Odd factors, so that none is zero.
        StableHasher { number: [a, b | 1, c, d | 1], text: [e, f] }
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

    /// Hashes some words; as a number where all but the first are zero. Whoever gives bytes in words says in
    /// the first of them how many there are.
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

impl fmt::Debug for StableHasher {
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
mod chooser_tests {
    use super::super::people::{PARTS, part_of};
    use super::*;

    // Choices are a format too: a restart in an open window must choose as before.
    #[test]
    fn what_is_chosen_never_changes() {
        let selector = ContributionSelector::new([7; 32]);
        let person = selector.person(&42u64);
        let choice = selector.choice(person, selector.key(&"a key".to_owned()));
        let window = selector.within(600).choice(person, 1);
        let seen = [
            person,
            choice,
            selector.rank(choice, selector.record(&(3u16, 9u64))),
            window,
            selector.route(&42u64),
        ];
        assert_eq!(seen, PINNED);
    }

    const PINNED: [u64; 5] = [
        13_249_850_937_531_486_173,
        5_061_048_678_575_740_314,
        5_196_901_332_506_944_394,
        12_211_938_482_946_910_429,
        4_778_461_629_110_672_776,
    ];

    #[test]
    fn a_window_chooses_anew_but_sends_nobody_elsewhere() {
        let selector = ContributionSelector::new([7; 32]);
        let [one, other] = [selector.within(0), selector.within(600)];
        assert_ne!(one.choice(1, 2), other.choice(1, 2));
        assert_ne!(one.choice(1, 2), selector.choice(1, 2));
        assert_eq!(one.route(&5u64), other.route(&5u64));
        assert_ne!(selector.route(&5u64), selector.person(&5u64));
    }

    // Refutes a choice that ignores the person, or the key: 8 keys, 4 kept, 20,000 persons.
    #[test]
    fn every_key_has_the_same_chance_with_everybody() {
        let selector = ContributionSelector::new([1; 32]);
        let mut kept = [0u32; 8];
        for person in 0..20_000u64 {
            let hash = selector.person(&person);
            let mut keys: Vec<u32> = (0..8).collect();
            keys.sort_by_key(|key| selector.choice(hash, selector.key(key)));
            for key in &keys[..4] {
                kept[*key as usize] += 1;
            }
        }
        // 10,000 each; six standard deviations are 424.
        assert!(kept.iter().all(|count| count.abs_diff(10_000) < 424), "{kept:?}");
    }

    // Refutes routes that share their low bits with what tables use.
    #[test]
    fn persons_of_one_worker_fill_every_part_of_a_table() {
        let selector = ContributionSelector::new([1; 32]);
        let mut parts = [0u32; PARTS];
        for person in (0..100_000u64).filter(|person| selector.route(person).is_multiple_of(4)) {
            parts[part_of(selector.person(&person))] += 1;
        }
        assert!(parts.iter().all(|&count| count.abs_diff(781) < 168), "{parts:?}");
    }
}

#[cfg(test)]
mod mixer_tests {
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
        let hasher = |last| StableHasher::new([1, 2, 3, 4, 5, last]);
        assert_ne!(hasher(6).written(&"a".to_owned()), hasher(7).written(&"a".to_owned()));
        let other = StableHasher::new([1, 2, 9, 4, 5, 6]);
        assert_ne!(hasher(6).number(1), other.number(1));
    }

    // Refutes a hash of 32 bits, and one in which low or high bits of dense numbers collide.
    #[test]
    fn dense_numbers_spread_over_all_bits() {
        let words =
            [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
        let hasher = StableHasher::new([words[0], words[1], words[2], words[3], 1, 2]);
        let mut whole = HashSet::new();
        let mut buckets = [[0u32; 256]; 8];
        for number in 0..1u64 << 18 {
            let hash = hasher.number(number);
            assert!(whole.insert(hash), "{number}");
            for (byte, buckets) in buckets.iter_mut().enumerate() {
                buckets[(hash >> (8 * byte) & 255) as usize] += 1;
            }
        }
        // 1,024 expected in each of 2,048; six standard deviations are 192.
        assert!(buckets.iter().flatten().all(|&count| count.abs_diff(1024) < 192));
    }
}
