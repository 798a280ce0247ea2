//! The state of a running total between windows: its public keys, the state of each, and the keys that
//! emerge.
//!
//! As bytes: a version, the parameters, the number of ticks; the public keys, if they were discovered, in the
//! form that every statistic stores them in; the numbers of each; of people who enter and leave, the exact number of
//! people of each; then the keys that emerge.

use std::collections::BTreeMap;

use super::prepared::PreparedRunning;
use super::state;
use super::state::{TotalState, UnreadBytes};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::keys::Key;
use crate::mechanisms::selection::Threshold;
use crate::mechanisms::selection::known::{KnownKeys, LONGEST};
use crate::mechanisms::statistic::Summary;
use crate::noise::NoiseSource;

/// The first byte. The states of other statistics begin with 1.
const VERSION: u8 = 2;

/// Each key has a state for each of the `N` numbers that its total is made of.
pub(super) struct KeyState<K, const N: usize> {
    /// The number of windows so far, released or passed by.
    pub(super) ticks: u64,
    /// The public keys with their states, ascending.
    pub(super) keys: Vec<(K, [TotalState; N])>,
    pub(super) emerging: CandidateKeys<K, N>,
}

impl<K: Key, const N: usize> KeyState<K, N> {
    /// Returns the state before the first window, with these keys public.
    pub(super) fn new(running: &[PreparedRunning; N], public: impl IntoIterator<Item = K>) -> KeyState<K, N> {
        let begin = || running.each_ref().map(PreparedRunning::begin);
        let keys = public.into_iter().map(|key| (key, begin())).collect();
        KeyState { ticks: 0, keys, emerging: CandidateKeys::new() }
    }

    /// Writes the state. With `listed` the keys were public from the start, and are not written.
    pub(super) fn write(&self, running: &[PreparedRunning; N], listed: bool) -> Vec<u8> {
        let mut written = vec![VERSION];
        written.extend(parameters(running).bytes());
        written.extend(self.ticks.to_be_bytes());
        let keys = if listed { Vec::new() } else { known(self.keys.iter().map(|(key, _)| key.clone())) };
        written.extend((keys.len() as u64).to_be_bytes());
        written.extend(keys);
        for state in self.keys.iter().flat_map(|(_, states)| states) {
            written.extend(state.ticks().to_be_bytes());
            state::numbers(state, &mut written);
        }
        if has_levels(running) {
            let levels = self.keys.iter().flat_map(|(_, states)| states);
            levels.for_each(|state| written.extend(state.level.to_be_bytes()));
        }
        self.emerging.write(&mut written);
        written
    }

    /// Reads a state that was written with these parameters.
    pub(super) fn read(
        running: &[PreparedRunning; N],
        listed: Option<&[K]>,
        bytes: &[u8],
    ) -> Result<KeyState<K, N>, Invalid> {
        let refused =
            |kind| Invalid::new("state", kind, "what this release has kept, or another name for it");
        let (own, ticks, keys, mut left) = head(bytes).ok_or_else(|| refused(InvalidKind::Malformed))?;
        if own != *parameters(running).bytes() {
            return Err(refused(InvalidKind::Mixed));
        }
        let keys = match listed {
            Some(keys) => keys.to_vec(),
            None => KnownKeys::from_bytes(keys)?.iter().cloned().collect(),
        };
        let parsed = move || {
            let mut states = || -> Option<[TotalState; N]> {
                let states: Option<Vec<TotalState>> = running.iter().map(|one| left.state(one)).collect();
                states?.try_into().ok()
            };
            let keys: Option<Vec<(K, [TotalState; N])>> =
                keys.into_iter().map(|key| Some((key, states()?))).collect();
            let mut keys = keys?;
            if has_levels(running) {
                for state in keys.iter_mut().flat_map(|(_, states)| states) {
                    state.level = i64::from_be_bytes(left.array()?);
                }
            }
            let emerging = CandidateKeys::read(&mut left, ticks)?;
            left.is_empty().then_some(KeyState { ticks, keys, emerging })
        };
        parsed().ok_or_else(|| refused(InvalidKind::Malformed))
    }

    /// The place of the first key's numbers in a written state.
    pub(super) fn place_of_numbers(bytes: &[u8]) -> Option<usize> {
        let (_, _, _, left) = head(bytes)?;
        bytes.len().checked_sub(left.0.len())
    }

    /// Reads the keys that another version of a job made public, which are still public.
    pub(super) fn inherited(bytes: &[u8]) -> Result<Vec<K>, Invalid> {
        let keys = head(bytes).map_or(bytes, |(_, _, keys, _)| keys);
        Ok(KnownKeys::from_bytes(keys)?.iter().cloned().collect())
    }
}

/// Returns a hash of everything that the totals of a key depend on except the data.
fn parameters<const N: usize>(running: &[PreparedRunning; N]) -> Digest {
    match &running[..] {
        [one] => one.parameters(),
        _ => {
            let form = Canonical::new("discreet running numbers 1");
            running.iter().fold(form, |form, one| form.digest(&one.parameters())).finish()
        }
    }
}

/// Returns true if ticks are changes, each from the exact number of the tick before.
fn has_levels<const N: usize>(running: &[PreparedRunning; N]) -> bool {
    running.iter().any(PreparedRunning::is_of_entries)
}

fn known<K: Key>(keys: impl IntoIterator<Item = K>) -> Vec<u8> {
    KnownKeys::none().with(keys).to_bytes()
}

/// Reads the parameters, the ticks and the public keys, and returns them with the rest of the bytes.
fn head(bytes: &[u8]) -> Option<([u8; 32], u64, &[u8], UnreadBytes<'_>)> {
    let mut left = UnreadBytes(bytes);
    if left.array()? != [VERSION] {
        return None;
    }
    let (parameters, ticks, length) = (left.array()?, left.count()?, left.count()?);
    let keys = left.bytes(usize::try_from(length).ok()?)?;
    Some((parameters, ticks, keys, left))
}

// Keys that are not public yet: the contributions to them, and the search for those with enough people.
//
// The search runs over spans of `1, 2, 4, ..` ticks, each of which begins at the end of the one before it
// (the nodes of a binary tree). At the end of a span, for each key with people who came to it for the first
// time in the span, the number of these people is noised and compared with a threshold, by a draw of its own.
// So a long span finds a key that emerges slowly, and a short one finds a key that emerges at once.
//
// A person comes to a key for the first time once, and so is in one span of each length, for each of at most
// `keys` keys. All noised numbers together are a histogram in which one person is in `keys` times the number
// of lengths cells, by 1 each, and the proof of a single window's threshold (`mechanisms::selection`) is that
// of all spans: a nonempty cell is drawn or not depending on cells that were released before. Totals have
// noise of their own.

/// The contribution of all people to a key at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickContribution<const N: usize> {
    pub(super) tick: u64,
    pub(super) people: u64,
    pub(super) values: [i128; N],
}

/// All keys with a contribution that are not public, with their contributions, the oldest first. Secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct CandidateKeys<K, const N: usize>(BTreeMap<K, Vec<TickContribution<N>>>);

impl<K: Key, const N: usize> CandidateKeys<K, N> {
    pub(super) fn new() -> CandidateKeys<K, N> {
        CandidateKeys(BTreeMap::new())
    }

    /// Adds the contributions of a tick to keys that are not public.
    pub(super) fn absorb<C: Summary>(
        &mut self,
        tick: u64,
        cells: BTreeMap<K, C>,
        values: impl Fn(&C) -> [i128; N],
    ) {
        for (key, cell) in cells {
            let (people, values) = (cell.people(), values(&cell));
            if (people > 0 || values != [0; N]) && key.to_bytes().len() <= LONGEST {
                self.0.entry(key).or_default().push(TickContribution { tick, people, values });
            }
        }
    }

    /// Removes the keys that have enough people in a span that ends with this tick, and returns them with
    /// their noised numbers and all contributions to them.
    pub(super) fn found(
        &mut self,
        tick: u64,
        lengths: u32,
        threshold: &Threshold,
        noise: &mut NoiseSource,
    ) -> Vec<(i128, K, Vec<TickContribution<N>>)> {
        let mut found = Vec::new();
        for length in 0..lengths.min(tick.trailing_zeros() + 1) {
            let since = tick - (1 << length);
            let people = |brought: &Vec<TickContribution<N>>| -> u64 {
                let in_span = brought.iter().rev().take_while(|brought| brought.tick > since);
                in_span.map(|brought| brought.people).sum()
            };
            let cells = self.0.iter().map(|(key, brought)| (key, people(brought)));
            let cells: Vec<(&K, u64)> = cells.filter(|(_, people)| *people > 0).collect();
            let draws = threshold.noise().draws(cells.len(), noise);
            let passed = cells.iter().zip(draws).filter_map(|((key, people), draw)| {
                let noised = i128::from(*people) + i128::from(draw);
                threshold.passes(*people, noised).then(|| (noised, (*key).clone()))
            });
            let passed: Vec<(i128, K)> = passed.collect();
            for (noised, key) in passed {
                let brought = self.0.remove(&key).unwrap_or_default();
                found.push((noised, key, brought));
            }
        }
        found
    }

    /// Drops the contributions from before a tick.
    pub(super) fn forget(&mut self, before: u64) {
        self.0.retain(|_, brought| {
            brought.retain(|brought| brought.tick >= before);
            !brought.is_empty()
        });
    }

    /// Drops everything: no further key will become public.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend((self.0.len() as u64).to_be_bytes());
        for (key, brought) in &self.0 {
            let key = key.to_bytes();
            // The length of a key is at most LONGEST bytes, and the number of contributions at most the
            // number of ticks.
            bytes.extend((key.len() as u32).to_be_bytes());
            bytes.extend(&key);
            bytes.extend((brought.len() as u64).to_be_bytes());
            for TickContribution { tick, people, values } in brought {
                bytes.extend(tick.to_be_bytes());
                bytes.extend(people.to_be_bytes());
                values.iter().for_each(|value| bytes.extend(value.to_be_bytes()));
            }
        }
    }

    /// Reads what `write` wrote, and refuses a contribution after `ticks`.
    pub(super) fn read(left: &mut UnreadBytes<'_>, ticks: u64) -> Option<CandidateKeys<K, N>> {
        let mut keys = BTreeMap::new();
        for _ in 0..left.count()? {
            let length = u32::from_be_bytes(left.array()?) as usize;
            let key = K::from_bytes(left.bytes(length)?)?;
            let mut brought: Vec<TickContribution<N>> = Vec::new();
            for _ in 0..left.count()? {
                let tick = left.count()?;
                let (people, mut values) = (left.count()?, [0; N]);
                for value in &mut values {
                    *value = i128::from_be_bytes(left.array()?);
                }
                if tick > ticks || brought.last().is_some_and(|last| last.tick >= tick) {
                    return None;
                }
                brought.push(TickContribution { tick, people, values });
            }
            if keys.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return None;
            }
            keys.insert(key, brought);
        }
        Some(CandidateKeys(keys))
    }
}
