//! The state of a mechanism as a change against the former one, and the sizes in which states are encrypted.
//!
//! # Changes
//!
//! A running total over a thousand keys has hundreds of kilobytes of state, of which a window changes little,
//! or changes much by little: so a state is sealed as what [`changed`] returns, and a full copy is sealed now
//! and then. [`apply`] is public knowledge, total, and the inverse: of the former state and the change it
//! makes the state, byte for byte. The gate applies each change before it seals it, and seals a full copy
//! instead of one that does not return the state; so a restart has the very state that the process had in
//! memory.
//!
//! A change has two parts. A [step](StateStep), if the mechanism gave one, advances the numbers of the former
//! state in their places. Then the state is put together from pieces of that and from bytes of its own. With
//! a step goes a hash of the state: a version of the library whose step computes other numbers refuses the
//! change, and does not go on from another state.
//!
//! # Sizes
//!
//! The length of a change tells how many people were active, and that of a state how many keys are known that
//! are not public yet. So each plaintext is padded to the next of the sizes [`padded`]: at least [`LEAST`]
//! bytes, and each size at most a quarter above the one before. [`CopySchedule`] decides by padded sizes and
//! by the number of changes alone when a full copy is due.

use zeroize::Zeroizing;

use crate::ledger::Digest;
use crate::mechanisms::running::StateStep;

/// The smallest size of a plaintext in bytes.
pub(crate) const LEAST: usize = 1 << 10;

/// The largest number of changes that follow a full copy.
pub(crate) const MOST: usize = if cfg!(test) { 20 } else { 256 };

/// The size that a plaintext of this length is padded to: the next one of a geometric series.
pub(crate) fn padded(length: usize) -> usize {
    let mut size = LEAST;
    while size < length {
        size = size.saturating_add(size / 4);
    }
    size
}

/// The number of bytes in front of a plaintext, which hold its length.
pub(super) const LENGTH: usize = 8;

/// The size of the padded plaintext that holds this number of bytes.
pub(crate) fn framed_size(length: usize) -> usize {
    padded(length.saturating_add(LENGTH))
}

/// Pads bytes, with their length in front.
pub(super) fn framed(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut frame = Zeroizing::new(Vec::with_capacity(framed_size(bytes.len())));
    frame.extend((bytes.len() as u64).to_le_bytes());
    frame.extend(bytes);
    frame.resize(framed_size(bytes.len()), 0);
    frame
}

/// The bytes that were padded.
pub(super) fn unframed(frame: &[u8]) -> Option<&[u8]> {
    let (length, rest) = frame.split_first_chunk()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

/// The sizes of what is kept of a state: the newest full copy, and the changes since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CopySchedule {
    whole: usize,
    changed: usize,
    changes: usize,
}

impl CopySchedule {
    /// Returns the sizes of a full copy without a change.
    pub(super) fn whole(size: usize) -> CopySchedule {
        CopySchedule { whole: size, changed: 0, changes: 0 }
    }

    /// Returns the sizes with one more change, of this padded size.
    pub(super) fn with_change(self, size: usize) -> CopySchedule {
        CopySchedule { changed: self.changed.saturating_add(size), changes: self.changes + 1, ..self }
    }

    /// Returns true if a change of this padded size is sealed as one: changes since the full copy stay few,
    /// and together no larger than it.
    pub(super) fn takes_change(self, size: usize) -> bool {
        self.changes < MOST && self.changed.saturating_add(size) <= self.whole
    }
}

/// The first byte of a change.
const FORMAT: u8 = 1;

/// The length of the pieces by which equal bytes are found, and of the shortest piece that is worth its
/// reference.
const BLOCK: usize = 16;

/// Returns the change from a former state to the next one.
pub(super) fn changed(former: &[u8], step: Option<&StateStep>, next: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut change = Zeroizing::new(vec![FORMAT, u8::from(step.is_some())]);
    let mut base = Zeroizing::new(former.to_vec());
    if let Some(step) = step {
        step.write(&mut change);
        change.extend(Digest::of(next).bytes());
        // Whatever it makes of the state is completed by pieces, or leaves a change that does not apply.
        let _ = step.apply(&mut base);
    }
    number(&mut change, next.len());
    pieces(&base, next, &mut change);
    change
}

/// Returns the state that a change makes of the former one; `None` for bytes that are no change of it.
pub(super) fn apply(former: &[u8], change: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (&[FORMAT, has_step], mut rest) = change.split_first_chunk()? else { return None };
    let (mut base, mut expected) = (Zeroizing::new(former.to_vec()), None);
    match has_step {
        0 => {}
        1 => {
            let (step, after) = StateStep::read(rest)?;
            step.apply(&mut base)?;
            let (hash, after) = after.split_first_chunk()?;
            (expected, rest) = (Some(*hash), after);
        }
        _ => return None,
    }
    let length = read_number(&mut rest)?;
    let mut next = Zeroizing::new(Vec::with_capacity(length.min(base.len() + change.len())));
    let mut from = 0usize;
    while !rest.is_empty() {
        let (skipped, copied) = (read_number(&mut rest)?, read_number(&mut rest)?);
        from = from.wrapping_add(unfolded(skipped));
        let end = from.checked_add(copied)?;
        next.extend_from_slice(base.get(from..end)?);
        from = end;
        let own = read_number(&mut rest)?;
        let (own, after) = rest.split_at_checked(own)?;
        next.extend_from_slice(own);
        from = from.wrapping_add(own.len());
        rest = after;
        if next.len() > length {
            return None;
        }
    }
    let is_expected = expected.is_none_or(|hash| Digest::of(&next).bytes() == &hash);
    (next.len() == length && is_expected).then_some(next)
}

/// Writes the pieces: of each, the place in the base against the expected one, the length of what is copied
/// from there, and the bytes of its own that follow. After these the same number of bytes of the base is
/// passed over.
fn pieces(base: &[u8], next: &[u8], to: &mut Vec<u8>) {
    let index = BlockIndex::of(base);
    let (mut at, mut expected) = (0, 0usize);
    // The piece that is not written yet: its place, its length, and the place of its own bytes.
    let (mut from, mut copied, mut own) = (0usize, 0, 0);
    while at < next.len() {
        let aligned = expected.wrapping_add(at - own);
        let known = index.find(base, &next[at..]);
        let found = [Some(aligned), known].into_iter().flatten();
        let found = found.map(|place| (equal(base, place, &next[at..]), place));
        let Some((length, mut place)) =
            found.max_by_key(|(length, _)| *length).filter(|(length, _)| *length >= BLOCK)
        else {
            at += 1;
            continue;
        };
        // A block is found at its end too, if the bytes before it are equal.
        let mut start = at;
        while start > own && place > 0 && base[place - 1] == next[start - 1] {
            (start, place) = (start - 1, place - 1);
        }
        piece(to, from, copied, &next[own..start]);
        expected = expected.wrapping_add(start - own);
        from = place.wrapping_sub(expected);
        copied = length + at - start;
        at += length;
        (own, expected) = (at, place + copied);
    }
    piece(to, from, copied, &next[own..]);
}

fn piece(to: &mut Vec<u8>, from: usize, copied: usize, own: &[u8]) {
    if copied == 0 && own.is_empty() {
        return;
    }
    number(to, folded(from));
    number(to, copied);
    number(to, own.len());
    to.extend(own);
}

/// The number of bytes that are equal from a place of the base on.
fn equal(base: &[u8], place: usize, next: &[u8]) -> usize {
    let base = base.get(place..).unwrap_or_default();
    base.iter().zip(next).take_while(|(base, next)| base == next).count()
}

/// The places of the blocks of a base, by their hash: the first block of each hash.
struct BlockIndex {
    places: Vec<u32>,
    shift: u32,
}

impl BlockIndex {
    fn of(base: &[u8]) -> BlockIndex {
        let bits = (base.len() / BLOCK).max(1).ilog2() + 2;
        let mut blocks = BlockIndex { places: vec![0; 1 << bits], shift: 64 - bits };
        for (number, block) in (1..).zip(base.as_chunks::<BLOCK>().0) {
            let slot = blocks.slot(block);
            if let Some(place @ 0) = blocks.places.get_mut(slot) {
                *place = number;
            }
        }
        blocks
    }

    fn slot(&self, block: &[u8; BLOCK]) -> usize {
        let hash = u128::from_le_bytes(*block).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        ((hash >> 64) as u64 >> self.shift) as usize
    }

    /// Returns a place of the base that begins as `next` does.
    fn find(&self, base: &[u8], next: &[u8]) -> Option<usize> {
        let number = *self.places.get(self.slot(next.first_chunk()?))?;
        let place = (number as usize).checked_sub(1)? * BLOCK;
        base.get(place..).filter(|base| base.first_chunk::<BLOCK>() == next.first_chunk())?;
        Some(place)
    }
}

/// Writes a number in groups of seven bits, the lowest first.
fn number(to: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn read_number(from: &mut &[u8]) -> Option<usize> {
    let mut number = 0usize;
    for shift in (0..usize::BITS).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// A difference of two places as a number that is small if the difference is, of either sign.
fn folded(difference: usize) -> usize {
    let sign = difference.cast_signed() >> (usize::BITS - 1);
    (difference << 1) ^ sign.cast_unsigned()
}

fn unfolded(number: usize) -> usize {
    (number >> 1) ^ 0usize.wrapping_sub(number & 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::running::Strategy;
    use crate::mechanisms::{
        Bound, Gaussian, Keys, Mechanism, Prepared, RunningTotal, Tally, Total, TotalSpan,
    };
    use crate::noise::NoiseSource;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    /// An edit of a state: at a place, the number of bytes that go, and the bytes that come.
    type Edit = (prop::sample::Index, usize, Vec<u8>);

    fn edited(state: &[u8], edits: &[Edit]) -> Vec<u8> {
        let mut state = state.to_vec();
        for (place, gone, come) in edits {
            let place = place.index(state.len() + 1);
            let end = state.len().min(place + gone);
            state.splice(place..end, come.iter().copied());
        }
        state
    }

    proptest! {
        // Refutes pieces of the wrong bytes, wherever states are alike: bytes few of which differ have many
        // places that look the same.
        #[test]
        fn a_change_makes_the_state_that_it_was_made_of(
            former in prop::collection::vec(prop::sample::select(vec![0u8, 0, 0, 1, 200]), 0..600),
            other in prop::collection::vec(any::<u8>(), 0..100),
            edits in prop::collection::vec(
                (any::<prop::sample::Index>(), 0usize..40, prop::collection::vec(any::<u8>(), 0..40)), 0..8,
            ),
        ) {
            for next in [edited(&former, &edits), other, former.repeat(2), former.clone(), Vec::new()] {
                let change = changed(&former, None, &next);
                let found = apply(&former, &change);
                prop_assert_eq!(found.as_ref().map(|found| &found[..]), Some(&next[..]));
                prop_assert!(change.len() <= next.len() + 16, "{} for {}", change.len(), next.len());
            }
        }

        // Refutes a change that is applied though it is none, by a panic or by more bytes than it states.
        #[test]
        fn any_bytes_are_a_change_or_none(
            former: Vec<u8>,
            bytes: Vec<u8>,
            step: bool,
            cut in any::<prop::sample::Index>(),
        ) {
            let _ = apply(&former, &bytes);
            let _ = apply(&former, &[&[FORMAT, u8::from(step)], &bytes[..]].concat());
            let change = changed(&former, None, &bytes);
            let cut = cut.index(change.len());
            prop_assert!(apply(&former, &change[..cut]).is_none_or(|state| state[..] == bytes[..]));
        }

        // Refutes a length that shows through its size, and sizes that are further apart than stated.
        #[test]
        fn sizes_are_those_of_a_public_series(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
            let frame = framed(&bytes);
            prop_assert_eq!(unframed(&frame), Some(&bytes[..]));
            let size = frame.len();
            prop_assert_eq!(size, padded(size));
            prop_assert_eq!(size, framed_size(bytes.len()));
            prop_assert!(size == LEAST || size * 4 <= (bytes.len() + LENGTH) * 5);
            prop_assert_eq!(unframed(&frame[..LENGTH + bytes.len()]), Some(&bytes[..]));
            prop_assert!(bytes.is_empty() || unframed(&frame[..LENGTH + bytes.len() - 1]).is_none());
        }
    }

    // Refutes changes that together are larger than the full copy, and a copy that is never made.
    #[test]
    fn a_full_copy_is_due_by_sizes_and_numbers_alone() {
        let mut schedule = CopySchedule::whole(10 * LEAST);
        for _ in 0..10 {
            assert!(schedule.takes_change(LEAST) && !schedule.takes_change(11 * LEAST));
            schedule = schedule.with_change(LEAST);
        }
        assert!(!schedule.takes_change(LEAST));
        let mut schedule = CopySchedule::whole(1 << 30);
        for _ in 0..MOST {
            assert!(schedule.takes_change(LEAST));
            schedule = schedule.with_change(LEAST);
        }
        assert!(!schedule.takes_change(LEAST) && !schedule.takes_change(0));
    }

    type Windows = Vec<Vec<(u32, u64)>>;

    /// The states of a running total over discovered keys, each with the change from the one before.
    fn states(span: TotalSpan, strategy: Strategy, windows: &Windows) -> Vec<(Vec<u8>, usize)> {
        let limits = Bound::keys(3).per_key(5).checked().unwrap();
        let count = Total::count(limits, Keys::discover(1e-2)).unwrap();
        let total = RunningTotal::new(count, span).unwrap().by(strategy);
        let prepared = Gaussian::rho(50.0).prepare(&total).unwrap();
        let mut noise = NoiseSource::recording(11);
        let mut all: Vec<(Vec<u8>, usize)> = Vec::new();
        for window in windows {
            let mut tally = prepared.tally();
            for (key, people) in window {
                (0..*people).for_each(|_| tally.absorb((*key, total.contribution(1, 0, 5, true).0)));
            }
            let former = all.last().map(|(state, _)| state.clone());
            let drawn = prepared.draw(tally, former.as_deref(), &mut noise);
            let next = drawn.state.unwrap();
            let former = former.unwrap_or_default();
            let step = drawn.step.filter(|_| !former.is_empty());
            let change = changed(&former, step.as_ref(), &next);
            let found = apply(&former, &change).expect("a change of this state");
            assert!(found[..] == next[..], "{strategy:?}: another state");
            all.push((next, change.len()));
        }
        all
    }

    fn spans() -> [(TotalSpan, Strategy); 5] {
        let so_far = TotalSpan::SoFar { windows: 2_000 };
        [
            (so_far, Strategy::Buffered),
            (so_far, Strategy::SquareRoot),
            (so_far, Strategy::Tree),
            (so_far, Strategy::Fresh),
            (TotalSpan::Last { windows: 20 }, Strategy::SquareRoot),
        ]
    }

    // Refutes a step that leads elsewhere, with keys that become public between others, keys that emerge, and
    // windows without people; and changes that are no smaller than states.
    #[test]
    fn the_changes_of_running_totals_are_small_and_lead_to_their_states() {
        let windows: Windows = (0..60u64)
            .map(|window| {
                let keys = (0..100u32)
                    .filter(|key| u64::from(*key) % 7 != window % 7 && u64::from(*key) < 3 * window);
                keys.map(|key| (key * 37 % 100, 30 + u64::from(key) % 5))
                    .chain([(1_000 + window as u32, 1)])
                    .collect()
            })
            .collect();
        for (span, strategy) in spans() {
            let states = states(span, strategy, &windows);
            let (state, change) = states.last().unwrap();
            // The last total alone is what fresh noise keeps, and it is another in every window.
            let at_most = if strategy == Strategy::Fresh { state.len() * 4 / 5 } else { state.len() / 3 };
            assert!(*change < at_most, "{strategy:?}: {change} of {} bytes", state.len());
        }
    }

    // Refutes a change that is applied though its step computes another state than was sealed.
    #[test]
    fn a_step_that_leads_to_another_state_is_refused() {
        let windows: Windows = vec![(0..20).map(|key| (key, 90)).collect(); 3];
        let states = states(TotalSpan::SoFar { windows: 2_000 }, Strategy::Buffered, &windows);
        let [former, next] = [1, 2].map(|at: usize| states[at].0.clone());
        // Zero keys from the front on: a step that changes nothing.
        let step = [[0u8; 8].as_slice(), &[0; 5], &[0; 8], &[1]].concat();
        let (step, _) = StateStep::read(&step).unwrap();
        let change = changed(&former, Some(&step), &next);
        assert_eq!(apply(&former, &change).as_deref(), Some(&next));
        let mut refused = 0;
        for at in 0..former.len() {
            let mut other = former.clone();
            other[at] ^= 1;
            match apply(&other, &change) {
                Some(state) => assert_eq!(*state, next),
                None => refused += 1,
            }
        }
        assert!(refused > 30, "{refused} of {} bytes are copied", former.len());
    }

    // Refutes a step whose length tells how many people were counted.
    #[test]
    fn a_step_over_public_keys_is_as_long_whatever_is_counted() {
        let common: Windows = vec![(0..50).map(|key| (key, 90)).collect(); 3];
        let lengths = [0, 1, 5].map(|most| {
            let last = (0..50).filter(|key| key % 5 < most).map(|key| (key, 200)).collect();
            let windows = [common.clone(), vec![last]].concat();
            let states = states(TotalSpan::SoFar { windows: 2_000 }, Strategy::Buffered, &windows);
            states.last().unwrap().1
        });
        assert!(lengths[0] == lengths[1] && lengths[1] == lengths[2], "{lengths:?}");
    }
}
