//! The contributions of all people to sealed windows, as notes beside a statistic's state, one for each
//! window.
//!
//! The state that is sealed with a window says which notes there must be, and holds a hash of all of them.
//! When what was added is as much as the whole, the next note is the whole, and those before it are given up.
//!
//! A window that counts nobody has a note too, and sizes are those of the padded notes: an observer of the
//! ledger learns no more than these ([`framed_size`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::admission::{Admitted, ContributionTable, Restored, odd};
use super::aggregation::GroupingKey;
use super::unit::Person;
use crate::accounting::Interval;
use crate::canonical::Canonical;
use crate::dataflow::bounding::ContributionSelector;
use crate::gate::change::framed_size;
use crate::gate::{Memory, Noted};
use crate::invalid::Invalid;
use crate::ledger::Digest;
use crate::time::Time;

/// The range of places of the notes: from one place on and before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pages {
    since: i64,
    next: i64,
    chain: Digest,
}

impl Pages {
    /// None; the first will be there.
    fn none_before(next: i64) -> Pages {
        Pages { since: next, next, chain: Digest::NONE }
    }

    /// With one more.
    fn with(self, text: &[u8]) -> Pages {
        let chain =
            Canonical::new("discreet note 1").digest(&self.chain).number(self.next).bytes(text).finish();
        Pages { since: self.since, next: self.next + 1, chain }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        [&self.since.to_le_bytes()[..], &self.next.to_le_bytes(), self.chain.bytes()].concat()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Pages> {
        let (since, rest) = bytes.split_first_chunk()?;
        let (next, chain) = rest.split_first_chunk()?;
        let chain = Digest(chain.try_into().ok()?);
        Some(Pages { since: i64::from_le_bytes(*since), next: i64::from_le_bytes(*next), chain })
    }
}

/// The contributions of all persons to sealed windows. Windows come in the order of their end.
pub(super) struct Ledgered<P, K>(Arc<Mutex<KnownWindow<P, K>>>);

struct KnownWindow<P, K> {
    contributions: ContributionTable<P, K>,
    through: Time,
    /// The contributions of windows that are not in the table yet.
    waiting: BTreeMap<Time, Vec<Admitted>>,
    pages: Pages,
    /// The padded size of the newest full copy in bytes, and of the notes since.
    whole: usize,
    added: usize,
    /// The contributions that are in the table and in no note that was surely sealed.
    unsealed: Vec<u8>,
    /// The state after the note that was handed out last is sealed.
    handed: Option<HandedWindow>,
}

#[derive(Clone, Copy)]
struct HandedWindow {
    pages: Pages,
    whole: usize,
    added: usize,
}

impl<P, K> Clone for Ledgered<P, K> {
    fn clone(&self) -> Self {
        Ledgered(Arc::clone(&self.0))
    }
}

/// The first byte of a note: of what a window adds, or of everything.
const ADDS: u8 = 0;
const WHOLE: u8 = 1;

/// So much is added before anybody thinks of writing the whole. In tests little, so that it happens there.
const ENOUGH: usize = if cfg!(test) { 1 << 12 } else { 1 << 16 };

impl<P: Person, K: GroupingKey> Ledgered<P, K> {
    /// From nothing: of a statistic that has kept nothing, or in another version. Its notes come after all
    /// that there are.
    pub(super) fn new(
        empty: ContributionTable<P, K>,
        former: Option<Pages>,
        memory: Option<&Memory>,
    ) -> Ledgered<P, K> {
        let noted = memory.and_then(|memory| memory.notes.last()).map_or(0, |(place, _)| place + 1);
        let next = former.map_or(0, |pages| pages.next).max(noted);
        Ledgered::of(empty, Time::MIN, Pages::none_before(next), [0, 0])
    }

    /// From what was sealed with the window that ended then.
    pub(super) fn read(
        empty: ContributionTable<P, K>,
        pages: Pages,
        memory: &Memory,
        through: Time,
    ) -> Result<Ledgered<P, K>, Invalid> {
        let mut contributions = empty;
        let mut seen = Pages::none_before(pages.since);
        let (mut whole, mut added) = (0, 0);
        // Earlier ones were another version's, which nobody has written over yet.
        for (place, text) in memory.notes.iter().filter(|(place, _)| *place >= pages.since) {
            if *place != seen.next {
                return Err(odd());
            }
            seen = seen.with(text);
            match text.split_first() {
                Some((&ADDS, entries)) => {
                    added += framed_size(text.len());
                    let mut entries = entries;
                    while !entries.is_empty() {
                        contributions.note(&mut entries).ok_or_else(odd)?;
                    }
                }
                Some((&WHOLE, all)) => {
                    (whole, added) = (framed_size(text.len()), 0);
                    contributions = contributions.read(all)?;
                }
                _ => return Err(odd()),
            }
        }
        if seen != pages {
            return Err(odd());
        }
        Ok(Ledgered::of(contributions, through, pages, [whole, added]))
    }

    fn of(
        contributions: ContributionTable<P, K>,
        through: Time,
        pages: Pages,
        [whole, added]: [usize; 2],
    ) -> Ledgered<P, K> {
        let (waiting, unsealed) = (BTreeMap::new(), Vec::new());
        let known =
            KnownWindow { contributions, through, waiting, pages, whole, added, unsealed, handed: None };
        Ledgered(Arc::new(Mutex::new(known)))
    }

    /// Returns the contributions that the workers are sent at the start.
    pub(super) fn restored(&self, selector: &ContributionSelector, peers: usize) -> Vec<Restored> {
        let known = self.lock();
        let mut restored: Vec<Restored> =
            (0..peers as u64).map(|worker| Restored::Through(worker, known.through)).collect();
        known
            .contributions
            .each(|person, bytes| restored.push(Restored::Used(selector.route(person), bytes)));
        restored
    }

    /// Takes note of what a window has counted. That of a window which is skipped is sealed with the next one that is
    /// not: whom it counted may be in its numbers.
    pub(super) fn admitted(&self, window: Interval, admitted: Vec<Admitted>) {
        let mut known = self.lock();
        if window.end() > known.through {
            known.waiting.entry(window.end()).or_default().extend(admitted);
        }
    }

    /// Returns the notes to be sealed with a window: the range of their places, and the note that it adds.
    /// `kept` is what was sealed last.
    pub(super) fn sealed(&self, window: Interval, kept: Option<Pages>) -> (Pages, Noted) {
        self.lock().sealed(window, kept)
    }

    /// Every call leaves it whole.
    fn lock(&self) -> MutexGuard<'_, KnownWindow<P, K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Person, K: GroupingKey> KnownWindow<P, K> {
    fn sealed(&mut self, window: Interval, kept: Option<Pages>) -> (Pages, Noted) {
        // A window that was refused or lost has sealed nothing: what it counted is noted again.
        if let Some(handed) = self.handed.take().filter(|handed| kept == Some(handed.pages)) {
            (self.pages, self.whole, self.added) = (handed.pages, handed.whole, handed.added);
            self.unsealed.clear();
        }
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() <= window.end()) {
            for Admitted { entries, bytes } in entry.remove() {
                let mut rest = &bytes[..];
                // A worker of this job wrote it.
                (0..entries).map_while(|_| self.contributions.note(&mut rest)).for_each(|()| ());
                self.unsealed.extend(bytes);
            }
        }
        self.through = window.end().max(self.through);
        let text = [&[ADDS], &self.unsealed[..]].concat();
        let added = self.added + framed_size(text.len());
        let (text, before, whole, added) = if added > self.whole.max(ENOUGH) {
            let all = [&[WHOLE], &self.contributions.write()[..]].concat();
            let whole = framed_size(all.len());
            (all, Pages::none_before(self.pages.next), whole, 0)
        } else {
            (text, self.pages, self.whole, added)
        };
        let pages = before.with(&text);
        self.handed = Some(HandedWindow { pages, whole, added });
        (pages, Noted { place: self.pages.next, since: pages.since, text })
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::dataflow::bounding::tests::Random;
    use crate::dataflow::bounding::{Identity, LifetimeContribution};

    type Notes = Vec<(i64, Zeroizing<Vec<u8>>)>;

    fn empty() -> ContributionTable<u64, u32> {
        ContributionTable::Life(LifetimeContribution::new(3, 1 << 40).unwrap())
    }

    fn counted(random: &mut Random) -> Admitted {
        let entries = random.below(6) as u64;
        let mut bytes = Vec::new();
        for _ in 0..entries {
            let person = random.below(60) as u64;
            (person, ((person % 3) as u32, random.below(9) as u64)).write(&mut bytes);
        }
        Admitted { entries, bytes }
    }

    // Some windows are refused, and seal nothing. Refutes what they counted being lost or noted twice, a
    // whole that lacks something, a whole at every window or never, and notes that are taken though one is
    // missing, is another's or has moved.
    #[test]
    fn what_is_noted_is_all_that_was_counted_and_nothing_else() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let ledgered = Ledgered::new(empty(), None, None);
            let (mut memory, mut kept, mut wholes, mut given_up) = (Memory::default(), None, 0, 0);
            for window in 0..120 {
                let window = Interval::new(10 * window, 10 * window + 10).unwrap();
                ledgered.admitted(window, vec![counted(&mut random), counted(&mut random)]);
                let (pages, note) = ledgered.sealed(window, kept);
                if random.below(4) == 0 {
                    continue;
                }
                kept = Some(pages);
                let Noted { place, since, text } = note;
                wholes += usize::from(text[0] == WHOLE);
                let before = memory.notes.len();
                memory.notes.retain(|(place, _)| *place >= since);
                given_up += before - memory.notes.len();
                memory.notes.push((place, Zeroizing::new(text)));
                let read = Ledgered::read(empty(), pages, &memory, window.end()).unwrap();
                assert_eq!(
                    read.lock().contributions.write(),
                    ledgered.lock().contributions.write(),
                    "seed {seed}"
                );
            }
            let size: usize = memory.notes.iter().map(|(_, text)| text.len()).sum();
            let whole = ledgered.lock().contributions.write().len();
            assert!(size <= 2 * whole.max(ENOUGH) + 400, "{size} bytes for {whole}");
            assert!((1..40).contains(&wholes) && given_up > 20, "{wholes} wholes, {given_up} given up");
            let pages = kept.unwrap();
            let refused = |memory: &Memory| Ledgered::read(empty(), pages, memory, 0).is_err();
            let notes = |change: &dyn Fn(&mut Notes)| {
                let mut notes = memory.notes.clone();
                change(&mut notes);
                Memory { notes, ..Memory::default() }
            };
            assert!(refused(&notes(&|notes| _ = notes.pop())), "the last is missing");
            assert!(refused(&notes(&|notes| _ = notes.remove(0))), "the first is missing");
            assert!(refused(&notes(&|notes| notes[0].1.push(0))), "one is another");
            assert!(refused(&notes(&|notes| notes[0].0 += 1)), "one has moved");
            let former = |notes: &mut Vec<_>| notes.insert(0, (pages.since - 1, Zeroizing::new(vec![7])));
            assert!(!refused(&notes(&former)), "one that was given up is no matter");
        }
    }

    // Refutes a note that is missing where nobody came, and a whole that is due sooner where few came than
    // where nobody did: below a kilobyte, an observer of the ledger learns nothing.
    #[test]
    fn what_is_seen_of_the_notes_does_not_depend_on_a_few_people() {
        let seen = [0, 1, 3].map(|people| {
            let ledgered = Ledgered::new(empty(), None, None);
            let mut kept = None;
            let notes = (0..20).map(|number| {
                let window = Interval::new(10 * number, 10 * number + 10).unwrap();
                let mut bytes = Vec::new();
                (0..people).for_each(|person: u64| (person, (1u32, 1u64)).write(&mut bytes));
                ledgered.admitted(window, vec![Admitted { entries: people, bytes }]);
                let (pages, Noted { place, since, text }) = ledgered.sealed(window, kept);
                kept = Some(pages);
                (place, since, framed_size(text.len()))
            });
            notes.collect::<Vec<_>>()
        });
        assert!(seen[0] == seen[1] && seen[1] == seen[2], "{seen:?}");
        assert!(seen[0].last().unwrap().1 > 10, "{seen:?}");
    }

    // Refutes another version that goes on with what it has not paid for, and one that writes in the place of
    // a former note.
    #[test]
    fn another_version_gives_up_what_was_noted() {
        let mut random = Random::new(1);
        let first = Ledgered::new(empty(), None, None);
        let window = |start| Interval::new(start, start + 10).unwrap();
        let some = |random: &mut Random| vec![counted(random), counted(random), counted(random)];
        first.admitted(window(0), some(&mut random));
        let (pages, note) = first.sealed(window(0), None);
        assert_eq!((note.place, note.since), (0, 0));
        let second = Ledgered::new(empty(), Some(pages), None);
        second.admitted(window(10), some(&mut random));
        let (_, note) = second.sealed(window(10), None);
        assert_eq!((note.place, note.since), (1, 1));
        assert_ne!(first.lock().contributions.write(), second.lock().contributions.write());
    }
}
