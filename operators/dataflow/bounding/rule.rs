//! What a table holds of a person in a key, and what of it counts in the end.

use std::fmt;

use super::cap::Cap;
use super::chooser::ContributionSelector;

/// Something held of a person, with the number of its key. Prints as `<private>`, as all that is held does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyed<H> {
    pub(super) key: u32,
    pub(super) held: H,
}

impl<H> fmt::Debug for Keyed<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// What is held of a person in a key.
///
/// The methods see one person's things at a time. Together they must be a function of the set of records that came,
/// whatever their order and however often [`settle`](Rule::settle) ran in between.
pub trait Rule: Clone {
    /// What a record brings beside its person and its key.
    type Value: Clone;
    /// What is held of it.
    type Held: Clone;
    /// What counts of a person in a kept key.
    type Share;
    /// Is everything held until the window closes? Else keys that are not among the lowest are given up on the way, which
    /// is right only where nothing that comes later can take a record back.
    const HOLDS_ALL: bool = false;

    /// What is held of one record; `choice` gives the place of its key.
    fn hold(
        &self,
        chooser: &ContributionSelector,
        choice: impl FnOnce() -> u64,
        value: Self::Value,
    ) -> Self::Held;

    /// Brings the things of one key together, combines them, and gives up what cannot count any more. What is left is moved
    /// to the front; how much that is.
    fn settle(&self, cap: Cap, group: &mut [Keyed<Self::Held>]) -> usize;

    /// At the close, before keys are chosen: leaves out what does not count.
    fn cancel(&self, group: &mut [Keyed<Self::Held>]) -> usize {
        group.len()
    }

    /// At the close, after keys were chosen: takes back what two kept keys both have. `before` is the order of choice.
    fn disentangle(&self, group: &mut [Keyed<Self::Held>], _before: impl Fn(u32, u32) -> bool) -> usize {
        group.len()
    }

    /// What counts of a run of one key.
    fn share(&self, cap: Cap, run: &[Keyed<Self::Held>]) -> Self::Share;

    /// Memory that a value holds beside its own size, in bytes.
    fn heap(&self, _: &Self::Value) -> usize {
        0
    }

    /// The same of what is held.
    fn held_heap(&self, _: &Self::Held) -> usize {
        0
    }
}

/// Moves what is to be kept to the front, in its order. How much that is.
#[inline]
pub(super) fn keep<H>(group: &mut [Keyed<H>], mut keep: impl FnMut(&Keyed<H>) -> bool) -> usize {
    let mut left = 0;
    for at in 0..group.len() {
        if keep(&group[at]) {
            group.swap(left, at);
            left += 1;
        }
    }
    left
}

/// Combines what is of one key, so that every key is there once. How many that are.
#[inline]
pub(super) fn combine<H: Copy>(group: &mut [Keyed<H>], together: impl Fn(H, H) -> H) -> usize {
    // Most groups are short. What costs there is a branch that is guessed wrong, so this looks at all keys seen so far
    // and branches once a record, where a sort would do so several times.
    let short = group.len() <= 16;
    if !short {
        group.sort_unstable_by_key(|keyed| keyed.key);
    }
    let mut left: usize = 0;
    for at in 0..group.len() {
        let next = group[at];
        let first = if short { 0 } else { left.saturating_sub(1) };
        let mut same = usize::MAX;
        for (seen, keyed) in group[first..left].iter().enumerate() {
            same = if keyed.key == next.key { first + seen } else { same };
        }
        if same == usize::MAX {
            group[left] = next;
            left += 1;
        } else {
            group[same].held = together(group[same].held, next.held);
        }
    }
    left
}

/// Keeps the first `most` of every key in a sorted group.
pub(super) fn shorten<H>(group: &mut [Keyed<H>], most: u32) -> usize {
    let (mut key, mut seen) = (None, 0u32);
    keep(group, |keyed| {
        if key != Some(keyed.key) {
            (key, seen) = (Some(keyed.key), 0);
        }
        seen = seen.saturating_add(1);
        seen <= most
    })
}
