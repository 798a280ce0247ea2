//! The number of used answers of each bundle: the only state between two answers.

use std::collections::BTreeMap;

use crate::canonical::Digest;
use crate::invalid::{Invalid, InvalidKind};

/// The version of the format: this byte, then for each opening, in ascending order, its hash, its number of
/// shares in four bytes, and the number of used answers of each share in eight bytes. Integers are
/// big-endian.
const VERSION: u8 = 1;

/// The longest state, in bytes: some 20,000 openings of bundles without shares. A bundle that no longer fits
/// has been paid for and answers nothing, since making room would forget answers that were given.
const LONGEST: usize = 1 << 20;

/// The number of used answers of each share of each opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsedAnswers(BTreeMap<Digest, Vec<u64>>);

/// One share of the answers of an opened bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct BundleShare {
    /// The opening of the bundle.
    pub(super) opened: Digest,
    /// The index of the share in the bundle.
    pub(super) place: usize,
    /// The number of shares of the bundle.
    pub(super) shares: usize,
    /// The number of answers of the share.
    pub(super) answers: u64,
}

impl UsedAnswers {
    pub(super) fn none() -> UsedAnswers {
        UsedAnswers(BTreeMap::new())
    }

    /// Parses the bytes that [`UsedAnswers::to_bytes`] wrote.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<UsedAnswers, Invalid> {
        let refuse = |kind, remedy| Err(Invalid::new("state", kind, remedy));
        if bytes.len() > LONGEST {
            return refuse(InvalidKind::TooLarge, "the state as it was sealed, of at most 2^20 bytes");
        }
        let Some((&VERSION, rest)) = bytes.split_first() else {
            return refuse(InvalidKind::Malformed, "state that this version of the library wrote");
        };
        match openings(rest) {
            Some(openings) => Ok(UsedAnswers(openings)),
            None => refuse(InvalidKind::Malformed, "the state as it was sealed"),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for (opened, used) in &self.0 {
            bytes.extend_from_slice(opened.bytes());
            // The cast is exact: all of it fits into the longest state.
            bytes.extend_from_slice(&(used.len() as u32).to_be_bytes());
            used.iter().for_each(|used| bytes.extend_from_slice(&used.to_be_bytes()));
        }
        bytes
    }

    /// Returns the number of answers that the share has used; `None` if the opening has another number of
    /// shares.
    pub(super) fn of(&self, share: &BundleShare) -> Option<u64> {
        let Some(used) = self.0.get(&share.opened) else { return Some(0) };
        used.get(share.place).copied().filter(|_| used.len() == share.shares)
    }

    /// Adds `answers` to the used answers of the share; `None` if the share has fewer left, or its count
    /// would not fit into the state.
    pub(super) fn after(mut self, share: &BundleShare, answers: u64) -> Option<UsedAnswers> {
        let used = self.of(share)?.checked_add(answers).filter(|used| *used <= share.answers)?;
        // The size is checked before the vector is allocated: a caller may state any number of shares.
        let more = if self.0.contains_key(&share.opened) { 0 } else { length(share.shares) };
        let kept: usize = self.0.values().map(|used| length(used.len())).sum();
        if more.saturating_add(1 + kept) > LONGEST {
            return None;
        }
        let counts = self.0.entry(share.opened).or_insert_with(|| vec![0; share.shares]);
        *counts.get_mut(share.place)? = used;
        Some(self)
    }
}

/// Returns the size of an opening with this number of shares, in bytes.
fn length(shares: usize) -> usize {
    shares.saturating_mul(8).saturating_add(36)
}

fn openings(mut rest: &[u8]) -> Option<BTreeMap<Digest, Vec<u64>>> {
    let mut openings = BTreeMap::new();
    while !rest.is_empty() {
        let (opened, after) = rest.split_first_chunk()?;
        let (shares, after) = after.split_first_chunk()?;
        let size = usize::try_from(u32::from_be_bytes(*shares)).ok()?.checked_mul(8)?;
        let (used, after) = after.split_at_checked(size)?;
        let (used, []) = used.as_chunks() else { return None };
        let opened = Digest(*opened);
        let ascends = openings.last_key_value().is_none_or(|(last, _)| *last < opened);
        if used.is_empty() || !ascends {
            return None;
        }
        openings.insert(opened, used.iter().map(|used| u64::from_be_bytes(*used)).collect());
        rest = after;
    }
    Some(openings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<UsedAnswers, InvalidKind> {
        UsedAnswers::from_bytes(bytes).map_err(|refused| refused.kind())
    }

    fn share(opened: u8, place: usize, shares: usize, answers: u64) -> BundleShare {
        BundleShare { opened: Digest([opened; 32]), place, shares, answers }
    }

    #[test]
    fn the_format_is_written_down() {
        let used = UsedAnswers::none()
            .after(&share(2, 0, 1, 9), 3)
            .unwrap()
            .after(&share(1, 1, 2, 300), 258)
            .unwrap();
        let opened = |byte: u8| [byte; 32];
        let expected = [
            &b"\x01"[..],
            &opened(1),
            b"\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02",
            &opened(2),
            b"\0\0\0\x01\0\0\0\0\0\0\0\x03",
        ];
        assert_eq!(used.to_bytes(), expected.concat());
        assert_eq!(UsedAnswers::none().to_bytes(), [1]);
    }

    #[test]
    fn bytes_that_nobody_wrote_are_refused() {
        let whole = UsedAnswers::none().after(&share(1, 0, 2, 9), 3).unwrap().to_bytes();
        for cut in (2..whole.len()).chain([0]) {
            assert_eq!(read(&whole[..cut]), Err(InvalidKind::Malformed), "cut to {cut}");
        }
        let mut later = whole.clone();
        later[0] = 2;
        assert_eq!(read(&later), Err(InvalidKind::Malformed), "another version");
        assert_eq!(read(&[&whole[..], &whole[1..]].concat()), Err(InvalidKind::Malformed), "twice");
        let higher = UsedAnswers::none().after(&share(2, 0, 2, 9), 3).unwrap().to_bytes();
        assert!(read(&[&whole[..], &higher[1..]].concat()).is_ok());
        assert_eq!(read(&[&higher[..], &whole[1..]].concat()), Err(InvalidKind::Malformed), "out of order");
        let empty = [&b"\x01"[..], &[7; 32], &[0; 4]].concat();
        assert_eq!(read(&empty), Err(InvalidKind::Malformed), "an opening without a share");
        let endless = [&b"\x01"[..], &[7; 32], &[0xff; 4]].concat();
        assert_eq!(read(&endless), Err(InvalidKind::Malformed), "more shares than bytes");
        assert_eq!(read(&vec![1; LONGEST + 1]), Err(InvalidKind::TooLarge));
    }

    // Refutes a share that is overdrawn, one that is used for another, and a count that is lost.
    #[test]
    fn a_share_is_used_to_its_end_and_no_further() {
        let (ann, bob) = (share(1, 0, 2, 3), share(1, 1, 2, 1));
        let used = UsedAnswers::none().after(&ann, 2).unwrap();
        assert_eq!((used.of(&ann), used.of(&bob)), (Some(2), Some(0)));
        assert_eq!(used.clone().after(&ann, 2), None);
        let used = used.after(&ann, 1).unwrap();
        assert_eq!(used.clone().after(&ann, 1), None);
        let used = used.after(&bob, 1).unwrap();
        assert_eq!(used.clone().after(&bob, 1), None);
        // Another opening begins at zero, and the counts of this one stay.
        let other = share(2, 0, 1, 5);
        let used = used.after(&other, 5).unwrap();
        assert_eq!((used.of(&ann), used.of(&bob), used.of(&other)), (Some(3), Some(1), Some(5)));
        assert_eq!(used.clone().after(&ann, u64::MAX), None);
        // A bundle with other shares is another bundle, and must have another opening.
        let strange = share(1, 0, 3, 9);
        assert_eq!((used.of(&strange), used.after(&strange, 1)), (None, None));
    }

    // Refutes a state that grows without bound, and one that makes room by forgetting.
    #[test]
    fn what_does_not_fit_is_not_opened() {
        let wide = LONGEST / 8 - 12;
        let used = UsedAnswers::none().after(&share(1, 0, wide, 2), 1).unwrap();
        assert!(used.to_bytes().len() <= LONGEST);
        assert_eq!(used.clone().after(&share(2, 0, 10, 2), 1), None);
        assert!(used.clone().after(&share(1, 0, wide, 2), 1).is_some());
        let used = used.after(&share(2, 0, 1, 2), 1).unwrap();
        assert_eq!(read(&used.to_bytes()), Ok(used));
        assert_eq!(UsedAnswers::none().after(&share(1, 0, usize::MAX, 2), 1), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(openings: BTreeMap<[u8; 32], (u64, u8)>) {
            let mut used = UsedAnswers::none();
            for (opened, (answers, shares)) in openings {
                let share = BundleShare { opened: Digest(opened), place: 0, shares: 1 + usize::from(shares), answers };
                used = used.after(&share, answers).unwrap();
            }
            prop_assert_eq!(read(&used.to_bytes()), Ok(used));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut versioned = vec![VERSION];
            versioned.extend_from_slice(&bytes);
            if let Ok(used) = read(&versioned) {
                prop_assert_eq!(used.to_bytes(), versioned);
            }
            let _ = read(&bytes);
        }
    }
}
