//! What a running total keeps from window to window: keys that are public, where each of them is, and keys that emerge.
//!
//! As bytes: a version, the parameters, how many ticks were told; the public keys, where they were discovered, as any
//! statistic keeps them; the numbers of each; then the keys that emerge.

use super::bytes::{self, UnreadBytes};
use super::emerging::Emerging;
use super::ready::PreparedRunning;
use super::state::TotalState;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::keys::Key;
use crate::mechanisms::known::KnownKeys;

/// The first byte. What other statistics keep begins with 1.
const VERSION: u8 = 2;

pub(super) struct KeyState<K> {
    /// How many windows there were, told or passed by.
    pub(super) ticks: u64,
    /// Public keys and where they are, ascending.
    pub(super) keys: Vec<(K, TotalState)>,
    pub(super) emerging: Emerging<K>,
}

impl<K: Key> KeyState<K> {
    /// Before the first window, where these keys are public.
    pub(super) fn new(running: &PreparedRunning, public: impl IntoIterator<Item = K>) -> KeyState<K> {
        let keys = public.into_iter().map(|key| (key, running.begin())).collect();
        KeyState { ticks: 0, keys, emerging: Emerging::new() }
    }

    /// `listed` says that the keys were public from the start: then they are not written.
    pub(super) fn write(&self, running: &PreparedRunning, listed: bool) -> Vec<u8> {
        let mut written = vec![VERSION];
        written.extend(running.parameters().bytes());
        written.extend(self.ticks.to_be_bytes());
        let keys = if listed { Vec::new() } else { known(self.keys.iter().map(|(key, _)| key.clone())) };
        written.extend((keys.len() as u64).to_be_bytes());
        written.extend(keys);
        for (_, state) in &self.keys {
            written.extend(state.ticks().to_be_bytes());
            bytes::numbers(state, &mut written);
        }
        self.emerging.write(&mut written);
        written
    }

    /// What was written with these parameters.
    pub(super) fn read(
        running: &PreparedRunning,
        listed: Option<&[K]>,
        bytes: &[u8],
    ) -> Result<KeyState<K>, Invalid> {
        let refused =
            |kind| Invalid::new("state", kind, "what this release has kept, or another name for it");
        let (parameters, ticks, keys, mut left) =
            head(bytes).ok_or_else(|| refused(InvalidKind::Malformed))?;
        if parameters != *running.parameters().bytes() {
            return Err(refused(InvalidKind::Mixed));
        }
        let keys = match listed {
            Some(keys) => keys.to_vec(),
            None => KnownKeys::from_bytes(keys)?.iter().cloned().collect(),
        };
        let parsed = move || {
            let keys: Option<Vec<(K, TotalState)>> =
                keys.into_iter().map(|key| Some((key, left.state(running)?))).collect();
            let emerging = Emerging::read(&mut left, ticks)?;
            left.is_empty().then_some(KeyState { ticks, keys: keys?, emerging })
        };
        parsed().ok_or_else(|| refused(InvalidKind::Malformed))
    }

    /// The keys that another version of a job made public, which are public still.
    pub(super) fn inherited(bytes: &[u8]) -> Result<Vec<K>, Invalid> {
        let keys = head(bytes).map_or(bytes, |(_, _, keys, _)| keys);
        Ok(KnownKeys::from_bytes(keys)?.iter().cloned().collect())
    }
}

fn known<K: Key>(keys: impl IntoIterator<Item = K>) -> Vec<u8> {
    KnownKeys::none().with(keys).to_bytes()
}

/// The parameters, the ticks, the public keys, and what comes behind.
fn head(bytes: &[u8]) -> Option<([u8; 32], u64, &[u8], UnreadBytes<'_>)> {
    let mut left = UnreadBytes(bytes);
    if left.array()? != [VERSION] {
        return None;
    }
    let (parameters, ticks, length) = (left.array()?, left.count()?, left.count()?);
    let keys = left.bytes(usize::try_from(length).ok()?)?;
    Some((parameters, ticks, keys, left))
}
