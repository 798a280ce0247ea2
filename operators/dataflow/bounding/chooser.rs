//! Who chooses what is kept of a person: a keyed hash, and nothing that happened before.

use std::fmt;

use super::identity::Identity;
use super::mixer::Mixer;

/// Chooses keys and records, and sends persons to workers.
///
/// Everything it says is a function of its key and of the identities that it is given: the same on every worker, in
/// every order, for every duplicate, in every process and build. The key comes from the ledger's
/// ([`LedgerKey::derive`](crate::ledger::LedgerKey::derive)) and must not change while a window is open, or a person could be given
/// two choices.
#[derive(Clone)]
pub struct ContributionSelector {
    secret: [u8; 32],
    persons: Mixer,
    keys: Mixer,
    choices: Mixer,
    records: Mixer,
    routes: Mixer,
}

impl ContributionSelector {
    /// From 32 secret bytes.
    pub fn new(secret: [u8; 32]) -> ContributionSelector {
        let [persons, keys, choices, records] = mixers(CHOICES, &secret);
        let [routes] = mixers(ROUTES, &secret);
        ContributionSelector { secret, persons, keys, choices, records, routes }
    }

    /// One that chooses otherwise in this window, so that it is not the same of a person's keys that are always left
    /// out. Persons are still sent to the same workers.
    ///
    /// Not where windows overlap and share their panes: those need one choice.
    pub fn within(&self, window: i64) -> ContributionSelector {
        let secret = *blake3::keyed_hash(&self.secret, &window.to_le_bytes()).as_bytes();
        let [persons, keys, choices, records] = mixers(CHOICES, &secret);
        ContributionSelector { secret, persons, keys, choices, records, routes: self.routes.clone() }
    }

    /// Which worker a person belongs to, modulo the number of workers.
    ///
    /// It is another function than the one that tables find persons by: all persons of a worker share what chose it, and
    /// a table that used the same bits would leave most of its slots empty.
    #[inline]
    pub fn route<P: Identity>(&self, person: &P) -> u64 {
        person.mix(&self.routes)
    }

    /// A hash of a record's identity, which is what [`KeptRecords`](super::KeptRecords) chooses by: of its id, of its partition and
    /// offset, or of its value where it has neither.
    #[inline]
    pub fn record<I: Identity>(&self, identity: &I) -> u64 {
        identity.mix(&self.records)
    }

    #[inline]
    pub(super) fn person<P: Identity>(&self, person: &P) -> u64 {
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

    /// The place of a record among those that a person has in a key. With the person in it, nobody's records have an
    /// advantage everywhere.
    #[inline]
    pub(super) fn rank(&self, choice: u64, record: u64) -> u64 {
        self.records.pair(choice, record)
    }
}

const CHOICES: &str = "discreet-dataflow 2026 which keys and records of a person are kept";
const ROUTES: &str = "discreet-dataflow 2026 which worker a person belongs to";

fn mixers<const N: usize>(context: &str, secret: &[u8; 32]) -> [Mixer; N] {
    let mut words = blake3::Hasher::new_derive_key(context).update(secret).finalize_xof();
    let mut word = || {
        let mut bytes = [0; 8];
        words.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    };
    std::array::from_fn(|_| Mixer::new(std::array::from_fn(|_| word())))
}

impl fmt::Debug for ContributionSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::{PARTS, part_of};
    use super::*;

    // Choices are a format too: a restart in an open window must choose as before.
    #[test]
    fn what_is_chosen_never_changes() {
        let chooser = ContributionSelector::new([7; 32]);
        let person = chooser.person(&42u64);
        let choice = chooser.choice(person, chooser.key(&"a key".to_owned()));
        let window = chooser.within(600).choice(person, 1);
        let seen = [
            person,
            choice,
            chooser.rank(choice, chooser.record(&(3u16, 9u64))),
            window,
            chooser.route(&42u64),
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
        let chooser = ContributionSelector::new([7; 32]);
        let [one, other] = [chooser.within(0), chooser.within(600)];
        assert_ne!(one.choice(1, 2), other.choice(1, 2));
        assert_ne!(one.choice(1, 2), chooser.choice(1, 2));
        assert_eq!(one.route(&5u64), other.route(&5u64));
        assert_ne!(chooser.route(&5u64), chooser.person(&5u64));
    }

    // Refutes a choice that ignores the person, or the key: 8 keys, 4 kept, 20,000 persons.
    #[test]
    fn every_key_has_the_same_chance_with_everybody() {
        let chooser = ContributionSelector::new([1; 32]);
        let mut kept = [0u32; 8];
        for person in 0..20_000u64 {
            let hash = chooser.person(&person);
            let mut keys: Vec<u32> = (0..8).collect();
            keys.sort_by_key(|key| chooser.choice(hash, chooser.key(key)));
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
        let chooser = ContributionSelector::new([1; 32]);
        let mut parts = [0u32; PARTS];
        for person in (0..100_000u64).filter(|person| chooser.route(person).is_multiple_of(4)) {
            parts[part_of(chooser.person(&person))] += 1;
        }
        assert!(parts.iter().all(|&count| count.abs_diff(781) < 168), "{parts:?}");
    }
}
