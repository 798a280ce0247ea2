//! Resume positions: for each partition of an input, the place from which a restart reads, as the ledger keeps
//! them beside the rows of a job.
//!
//! A position says where in its input an unsettled window may begin, and a mark of the content there. So it
//! is encrypted like the state of mechanisms.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::state::StateCipher;
use crate::canonical::{Canonical, Digest};
#[cfg(feature = "cli")]
use crate::ledger::{Ledger, LedgerKey};
use crate::ledger::{LedgerError, Name, PositionUpdate};
use crate::time::Time;

/// The positions of the partitions that one part of an input has read, by their names. What the bytes mean is
/// the source's own matter.
pub type Positions = BTreeMap<String, Vec<u8>>;

/// The resume positions that a former run has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePositions {
    /// The time since which all records are read again from there.
    pub since: Time,
    /// The positions of each part of the former run.
    pub parts: Vec<Positions>,
}

/// A change of the resume positions of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumeUpdate {
    /// The number of the input among those of the job.
    pub input: i64,
    /// True for the first update of a run, which contains every position.
    pub replaces: bool,
    /// The time since which all records are read again from these positions.
    pub since: Time,
    /// The number of parts whose positions belong together.
    pub parts: usize,
    /// The changed positions by part and partition; `None` where a partition is gone.
    pub changed: Vec<(usize, String, Option<Vec<u8>>)>,
    /// True if it contains a partition that no update before did. It is written at once: before the next window leaves,
    /// the partition may be gone, and then a restart must notice that.
    pub is_urgent: bool,
}

/// The time since which a restart reads again, by the resume positions that were written last. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenSince(Arc<Mutex<Option<Time>>>);

impl WrittenSince {
    /// Returns the time; `None` until positions have been written.
    #[cfg(feature = "cli")]
    pub(crate) fn get(&self) -> Option<Time> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, since: Time) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(since);
    }
}

/// Returns the time since which the next live run of a job reads its input again; `None` if no run has left a
/// resume position of it.
///
/// # Errors
///
/// If the ledger cannot be read, or the key does not decrypt them.
#[cfg(feature = "cli")]
pub(crate) fn resumed_since(
    ledger: &mut Ledger,
    key: &LedgerKey,
    job: &Name,
) -> Result<Option<Time>, LedgerError> {
    // A job has one input.
    let (cipher, held) = (StateCipher::new(key, *ledger.name()), ledger.positions(job, 0)?);
    Ok(cipher.decrypt_positions(job, 0, &held)?.map(|positions| positions.since))
}

/// The first byte of what is encrypted: the time and the number of parts, or the position of one partition.
const HEAD: u8 = 0;
const PARTITION: u8 = 1;

/// The largest number of parts of an input: more than any machine has workers.
const PARTS: u64 = 1 << 20;

impl StateCipher {
    /// Encrypts an update; `None` if there is no randomness.
    pub(super) fn encrypt_positions(&self, job: &Name, update: &ResumeUpdate) -> Option<PositionUpdate> {
        let input = update.input;
        let head = [&[HEAD][..], &update.since.to_le_bytes(), &(update.parts as u64).to_le_bytes()].concat();
        let place = place_of_head();
        let mut changed = vec![(place, Some(self.encrypt_at((job, input), &place, &head)?))];
        for (part, partition, position) in &update.changed {
            let part = *part as u64;
            let place = place_of(part, partition);
            let held = match position {
                None => None,
                Some(position) => {
                    let name = partition.as_bytes();
                    let clear = [
                        &[PARTITION][..],
                        &part.to_le_bytes(),
                        &(name.len() as u64).to_le_bytes(),
                        name,
                        position,
                    ];
                    Some(self.encrypt_at((job, input), &place, &clear.concat())?)
                }
            };
            changed.push((place, held));
        }
        Some(PositionUpdate { input, replaces: update.replaces, changed })
    }

    /// Decrypts the positions that the ledger holds of an input; `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`](crate::ledger::LedgerErrorKind::Doubt) if they were encrypted with another
    /// key or for another place, or were changed since.
    pub(super) fn decrypt_positions(
        &self,
        job: &Name,
        input: i64,
        held: &[(Digest, Vec<u8>)],
    ) -> Result<Option<ResumePositions>, LedgerError> {
        let (mut head, mut partitions) = (None, Vec::new());
        for (place, held) in held {
            let clear = self.decrypt_at((job, input), place, held).and_then(|clear| parsed(&clear));
            match clear {
                Some(Entry::Head(since, parts)) if *place == place_of_head() => head = Some((since, parts)),
                Some(Entry::Partition(part, name, position)) if *place == place_of(part, &name) => {
                    partitions.push((part, name, position));
                }
                _ => {
                    return Err(LedgerError::doubt(format!(
                        "key: it does not open the resume positions of job {job}; give the key that they were sealed with"
                    )));
                }
            }
        }
        let Some((since, parts)) = head else { return Ok(None) };
        let mut by_part = vec![Positions::new(); usize::try_from(parts).unwrap_or(0)];
        for (part, name, position) in partitions {
            if let Some(positions) = usize::try_from(part).ok().and_then(|part| by_part.get_mut(part)) {
                positions.insert(name, position);
            }
        }
        Ok(Some(ResumePositions { since, parts: by_part }))
    }
}

enum Entry {
    Head(Time, u64),
    Partition(u64, String, Vec<u8>),
}

fn parsed(clear: &[u8]) -> Option<Entry> {
    let (&kind, rest) = clear.split_first()?;
    let (first, rest) = rest.split_first_chunk()?;
    let (second, rest) = rest.split_first_chunk()?;
    match kind {
        HEAD if rest.is_empty() => {
            let parts = u64::from_le_bytes(*second);
            (parts <= PARTS).then_some(Entry::Head(Time::from_le_bytes(*first), parts))
        }
        PARTITION => {
            let length = usize::try_from(u64::from_le_bytes(*second)).ok()?;
            let (name, position) = rest.split_at_checked(length)?;
            let name = String::from_utf8(name.to_vec()).ok()?;
            Some(Entry::Partition(u64::from_le_bytes(*first), name, position.to_vec()))
        }
        _ => None,
    }
}

fn place_of_head() -> Digest {
    Canonical::new("discreet resume 1").finish()
}

/// The place of a partition. The name of a file may name a person, and is not written in the clear.
fn place_of(part: u64, partition: &str) -> Digest {
    Canonical::new("discreet position 1").bytes(&part.to_le_bytes()).text(partition).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::state::tests::cipher;

    fn update() -> ResumeUpdate {
        let changed = vec![
            (0, "a.log".to_owned(), Some(b"at 7".to_vec())),
            (0, "b.log".to_owned(), Some(Vec::new())),
            (1, "a.log".to_owned(), Some(b"at 9".to_vec())),
        ];
        ResumeUpdate { input: 0, replaces: true, since: -5, parts: 2, changed, is_urgent: false }
    }

    fn held(update: &PositionUpdate) -> Vec<(Digest, Vec<u8>)> {
        update.changed.iter().filter_map(|(place, held)| Some((*place, held.clone()?))).collect()
    }

    // Refutes positions that are opened in another's place, under another key or after a change, and a name
    // of a file in the clear.
    #[test]
    fn positions_open_in_their_own_place_alone() {
        let ((cipher, other), web) = (cipher("positions"), Name::new("job", "web").unwrap());
        let sealed = cipher.encrypt_positions(&web, &update()).unwrap();
        let known = cipher.decrypt_positions(&web, 0, &held(&sealed)).unwrap().unwrap();
        let map = |entries: &[(&str, &[u8])]| -> Positions {
            entries.iter().map(|(name, at)| ((*name).to_owned(), at.to_vec())).collect()
        };
        assert_eq!(known.since, -5);
        assert_eq!(known.parts, [map(&[("a.log", b"at 7"), ("b.log", b"")]), map(&[("a.log", b"at 9")])]);
        assert!(!held(&sealed).iter().any(|(_, held)| held.windows(5).any(|bytes| bytes == b"a.log")));
        assert_eq!(cipher.decrypt_positions(&web, 0, &[]).unwrap(), None);

        let shop = Name::new("job", "shop").unwrap();
        assert!(cipher.decrypt_positions(&shop, 0, &held(&sealed)).is_err(), "another job");
        assert!(cipher.decrypt_positions(&web, 1, &held(&sealed)).is_err(), "another input");
        assert!(other.decrypt_positions(&web, 0, &held(&sealed)).is_err(), "another key");
        let mut moved = held(&sealed);
        (moved[1].0, moved[2].0) = (moved[2].0, moved[1].0);
        assert!(cipher.decrypt_positions(&web, 0, &moved).is_err(), "another partition");
        for at in 0..moved[0].1.len() {
            let mut changed = held(&sealed);
            changed[0].1[at] ^= 1;
            assert!(cipher.decrypt_positions(&web, 0, &changed).is_err(), "byte {at} was changed unnoticed");
        }
    }

    #[test]
    fn a_partition_that_is_gone_is_removed() {
        let ((cipher, _), web) = (cipher("gone"), Name::new("job", "web").unwrap());
        let gone = ResumeUpdate { replaces: false, changed: vec![(1, "a.log".to_owned(), None)], ..update() };
        let mut sealed = cipher.encrypt_positions(&web, &update()).unwrap();
        sealed.add(cipher.encrypt_positions(&web, &gone).unwrap());
        let known = cipher.decrypt_positions(&web, 0, &held(&sealed)).unwrap().unwrap();
        assert_eq!((known.parts[0].len(), known.parts[1].len()), (2, 0));
        assert!(sealed.replaces);
    }
}
