//! Resume positions: for each partition of an input, the place from which a restart reads, as the ledger keeps
//! them beside the rows of a job.
//!
//! A position says where in its input an unsettled window may begin, and a mark of the content there. So it
//! is encrypted like the state of mechanisms.

use std::collections::{BTreeMap, BTreeSet};
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

/// The way in which a source reads its input. Records that a former run left out, or could not read, may count when they are
/// read in another way; they lie before the resume positions, and are not read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputReading {
    /// The settings by which the input becomes records.
    pub settings: Digest,
    /// The fields of which a record needs a readable value.
    pub fields: BTreeSet<Digest>,
    /// The time since which the input is read in this way, or was in one that leaves out no more; of a source, the present.
    pub since: Time,
}

impl Default for InputReading {
    /// The way of a source that has a single one.
    fn default() -> InputReading {
        InputReading { settings: Digest::NONE, fields: BTreeSet::new(), since: Time::MIN }
    }
}

impl InputReading {
    /// Returns the time since which the input is read in this way, or was in one that leaves out no more, after a former run.
    pub(crate) fn since_after(&self, former: &InputReading) -> Time {
        let leaves_out_no_more = former.settings == self.settings && former.fields.is_subset(&self.fields);
        if leaves_out_no_more { former.since } else { former.since.max(self.since) }
    }
}

/// The resume positions that a former run has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePositions {
    /// The time since which all records are read again from there.
    pub since: Time,
    /// The way in which the records before them were read.
    pub reading: InputReading,
    /// The hashes of the versions of releases that read the input.
    pub releases: BTreeSet<Digest>,
    /// The positions of each part of the former run.
    pub parts: Vec<Positions>,
}

/// Returns the digest by which resume positions know a version of a release.
pub(crate) fn version_digest(name: &Name, version: &Digest) -> Digest {
    Canonical::new("discreet reader 1").text(name.as_str()).digest(version).finish()
}

impl ResumePositions {
    /// Returns the time since which this version of a release lacks no record, if the input is read in this way from now on.
    ///
    /// One that goes on takes its windows as the former run has read them: what could not be read was lost to it then. One that is
    /// new, or was left out, begins with the present where the former run read in another way, or where windows of
    /// others are still to come: those decide the position, and nothing before them is lacking since now.
    pub(crate) fn whole_since(&self, (name, version): (&Name, &Digest), reading: &InputReading) -> Time {
        if self.releases.contains(&version_digest(name, version)) {
            return self.since;
        }
        let now = Some(reading.since).filter(|now| *now > Time::MIN);
        let since = self.since.min(now.unwrap_or(Time::MAX));
        since.max(reading.since_after(&self.reading))
    }
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
    /// The way in which the records before them were read.
    pub reading: InputReading,
    /// The hashes of the versions of releases that read the input.
    pub releases: BTreeSet<Digest>,
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

/// Returns the resume positions from which the next live run of a job reads its input; `None` if no run has left any.
///
/// # Errors
///
/// If the ledger cannot be read, or the key does not decrypt them.
#[cfg(feature = "cli")]
pub(crate) fn resume_positions(
    ledger: &mut Ledger,
    key: &LedgerKey,
    job: &Name,
) -> Result<Option<ResumePositions>, LedgerError> {
    // A job has one input.
    let (cipher, held) = (StateCipher::new(key, *ledger.name()), ledger.positions(job, 0)?);
    cipher.decrypt_positions(job, 0, &held)
}

/// The first byte of what is encrypted: the time, the number of parts, the way of reading and the releases, or the position of one
/// partition.
const HEAD: u8 = 0;
const PARTITION: u8 = 1;

/// The largest number of parts of an input: more than any machine has workers.
const PARTS: u64 = 1 << 20;

impl StateCipher {
    /// Encrypts an update; `None` if there is no randomness.
    pub(super) fn encrypt_positions(&self, job: &Name, update: &ResumeUpdate) -> Option<PositionUpdate> {
        let input = update.input;
        let InputReading { settings, fields, since } = &update.reading;
        let (times, parts) = ([update.since, *since].map(Time::to_le_bytes), update.parts as u64);
        let count = (fields.len() as u64).to_le_bytes();
        let mut head =
            [&[HEAD][..], &times[0], &parts.to_le_bytes(), &times[1], &count, settings.bytes()].concat();
        let digests = fields.iter().chain(&update.releases);
        digests.for_each(|digest| head.extend_from_slice(digest.bytes()));
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
                Some(Entry::Head(since, parts, readers)) if *place == place_of_head() => {
                    head = Some((since, parts, readers));
                }
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
        let Some((since, parts, (reading, releases))) = head else { return Ok(None) };
        let mut by_part = vec![Positions::new(); usize::try_from(parts).unwrap_or(0)];
        for (part, name, position) in partitions {
            if let Some(positions) = usize::try_from(part).ok().and_then(|part| by_part.get_mut(part)) {
                positions.insert(name, position);
            }
        }
        Ok(Some(ResumePositions { since, reading, releases, parts: by_part }))
    }
}

/// The way of reading, and the releases.
type Readers = (InputReading, BTreeSet<Digest>);

enum Entry {
    Head(Time, u64, Readers),
    Partition(u64, String, Vec<u8>),
}

fn parsed(clear: &[u8]) -> Option<Entry> {
    let (&kind, rest) = clear.split_first()?;
    let (first, rest) = rest.split_first_chunk()?;
    let (second, rest) = rest.split_first_chunk()?;
    match kind {
        HEAD => {
            let parts = u64::from_le_bytes(*second);
            let readers = if rest.is_empty() { Readers::default() } else { readers(rest)? };
            (parts <= PARTS).then_some(Entry::Head(Time::from_le_bytes(*first), parts, readers))
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

fn readers(bytes: &[u8]) -> Option<Readers> {
    let (since, rest) = bytes.split_first_chunk()?;
    let (count, digests) = rest.split_first_chunk()?;
    let (digests, []) = digests.as_chunks() else { return None };
    let (settings, digests) = digests.split_first()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let (fields, releases) = digests.split_at_checked(count)?;
    let [fields, releases] = [fields, releases].map(|of| of.iter().map(|digest| Digest(*digest)).collect());
    let reading = InputReading { settings: Digest(*settings), fields, since: Time::from_le_bytes(*since) };
    Some((reading, releases))
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
        let reading = way("csv", &["user", "price"], 3);
        let releases = BTreeSet::from([b"visits", b"people"].map(|name| Digest::of(name)));
        ResumeUpdate {
            input: 0,
            replaces: true,
            since: -5,
            reading,
            releases,
            parts: 2,
            changed,
            is_urgent: false,
        }
    }

    fn way(settings: &str, fields: &[&str], since: Time) -> InputReading {
        let of = |text: &&str| Digest::of(text.as_bytes());
        InputReading { settings: of(&settings), fields: fields.iter().map(of).collect(), since }
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
        assert_eq!((known.since, &known.reading), (-5, &update().reading));
        assert_eq!(known.releases, update().releases);
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

    // Refutes a release that begins with records which a former run has read in another way, and one that waits though it
    // lacks none.
    #[test]
    fn a_new_release_begins_behind_what_a_former_run_left_out() {
        let former = way("csv", &["price"], 10);
        let (old, new) = (Name::new("release", "old").unwrap(), Name::new("release", "new").unwrap());
        let version = Digest::of(b"version");
        for (present, since) in [
            (way("csv", &["price"], 50), 10),
            (way("csv", &["price", "age"], 50), 10),
            (way("csv", &[], 50), 50),
            (way("csv", &["age"], 50), 50),
            (way("json", &["price"], 50), 50),
            // The clock was set back.
            (way("json", &["price"], 5), 10),
            // The clock is not known.
            (way("csv", &["price"], Time::MIN), 10),
        ] {
            assert_eq!(present.since_after(&former), since, "{present:?}");
            let positions = |since| ResumePositions {
                since,
                reading: former.clone(),
                releases: BTreeSet::from([version_digest(&old, &version)]),
                parts: Vec::new(),
            };
            let whole = |at, name| positions(at).whole_since((name, &version), &present);
            assert_eq!([0, 30, 70].map(|at| whole(at, &old)), [0, 30, 70], "it goes on");
            assert_eq!(whole(0, &new), since);
            // What the others need next may be still to come.
            let now = if present.since == Time::MIN { 70 } else { present.since };
            assert_eq!(whole(70, &new), since.max(now.min(70)), "{present:?}");
            let other = positions(0).whole_since((&old, &Digest::of(b"other")), &present);
            assert_eq!(other, since, "another version is new");
        }
    }

    #[test]
    fn positions_of_a_former_format_have_the_single_way_of_reading() {
        let head = [&[HEAD][..], &7i64.to_le_bytes(), &2u64.to_le_bytes()].concat();
        let found = parsed(&head);
        assert!(matches!(found, Some(Entry::Head(7, 2, readers)) if readers == Readers::default()));
        for more in [1, 8, 16, 47, 49, 81] {
            assert!(parsed(&[&head[..], &vec![0; more]].concat()).is_none(), "{more}");
        }
        let counted = |count: u64, digests: usize| {
            [&head[..], &[0; 8], &count.to_le_bytes(), &vec![0; 32 * digests]].concat()
        };
        for (count, digests, is_read) in
            [(0, 1, true), (1, 1, false), (1, 2, true), (0, 3, true), (u64::MAX, 3, false)]
        {
            assert_eq!(parsed(&counted(count, digests)).is_some(), is_read, "{count} of {digests}");
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
