//! Admission of people by former windows: their first windows, in order of their end, or the rest of their
//! contribution over all windows.
//!
//! Each worker counts for its own persons as it closes windows. What it counted travels with the window's
//! parts, and is sealed with the window: the next process begins with what the last sealed window knew. A
//! window that was refused or skipped has been counted like any other, so that what counts is a matter of records and of
//! the calendar, and of nothing that the gate had to say: whom it counted is sealed with the next window.

use serde::{Deserialize, Serialize};

use super::aggregation::{Aggregation, GroupingKey, LifetimeBound};
use super::unit::{Person, ProtectedUnit};
use crate::accounting::Interval;
use crate::dataflow::bounding::{
    Identity, KeyLevel, KeyPresence, LifetimeContribution, PresenceLevels, RemainingContribution,
    RollingPresence, WindowAdmission,
};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::ContributionBound;
use crate::time::Time;

/// The contributions of people to former windows. Prints as `<private>`.
#[derive(Clone)]
pub(super) enum ContributionTable<P, K> {
    /// In how many windows.
    Windows(WindowAdmission<P>),
    /// The amounts that each person has contributed to each key.
    Life(LifetimeContribution<P, K>),
    /// The windows in which each person was last seen in each key.
    Presence(RollingPresence<P, K>),
}

redacted!([P, K] ContributionTable<P, K>);

impl<P: Person, K: GroupingKey> ContributionTable<P, K> {
    /// Before the first window: nothing, where windows do not depend on each other.
    pub(super) fn new<D, U: ProtectedUnit<D, Person = P>, Q: Aggregation<Key = K>>(
        _: &U,
        question: &Q,
        limits: &ContributionBound,
    ) -> Result<Option<ContributionTable<P, K>>, Invalid> {
        match question.over_life() {
            Some(LifetimeBound::Entries { .. }) if U::IS_A_RECORD => {
                Err(Invalid::new("over", InvalidKind::Mixed, "a count: a record does not enter and leave"))
            }
            // A record has no other windows.
            Some(_) if U::IS_A_RECORD => Ok(None),
            Some(LifetimeBound::Total(each)) => {
                Ok(Some(ContributionTable::Life(LifetimeContribution::new(limits.keys(), each)?)))
            }
            Some(LifetimeBound::Entries { entries, last }) => {
                let presence = RollingPresence::new(limits.keys(), entries, last)?;
                Ok(Some(ContributionTable::Presence(presence)))
            }
            None => {
                Ok(limits.windows().map(WindowAdmission::new).transpose()?.map(ContributionTable::Windows))
            }
        }
    }

    /// Takes note of something that was counted, as it was written.
    pub(super) fn note(&mut self, bytes: &mut &[u8]) -> Option<()> {
        match self {
            ContributionTable::Windows(used) => _ = used.admit(&P::read(bytes)?),
            ContributionTable::Life(lifetime) => {
                let (person, (key, amount)) = <(P, (K, u64))>::read(bytes)?;
                lifetime.note(&person, &key, amount);
            }
            ContributionTable::Presence(presence) => {
                let (person, (key, window)) = <(P, (K, u64))>::read(bytes)?;
                presence.see(&person, &key, window);
            }
        }
        Some(())
    }

    /// The same, of all that was counted of somebody.
    fn restore(&mut self, bytes: &mut &[u8]) -> Option<()> {
        match self {
            ContributionTable::Windows(used) => {
                let (person, windows) = <(P, u32)>::read(bytes)?;
                used.set(person, windows);
                Some(())
            }
            ContributionTable::Life(_) => self.note(bytes),
            ContributionTable::Presence(presence) => {
                let (person, (key, (seen, entries))) = <(P, (K, (u64, u32)))>::read(bytes)?;
                presence.set(person, key, KeyPresence { seen, entries });
                Some(())
            }
        }
    }

    /// Returns the levels that follow from it; nothing but where people enter and leave.
    fn levels(&self) -> PresenceLevels<K> {
        let ContributionTable::Presence(presence) = self else { return PresenceLevels::new(1) };
        let mut levels = PresenceLevels::new(presence.last());
        presence.iter().for_each(|(_, key, known)| levels.restore(key, known.seen));
        levels
    }

    /// Calls `write` with the entry of every person, which [`restore`](ContributionTable::restore) reads.
    pub(super) fn each(&self, mut write: impl FnMut(&P, Vec<u8>)) {
        let mut entry = |person: &P, rest: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            person.write(&mut bytes);
            rest(&mut bytes);
            write(person, bytes);
        };
        match self {
            ContributionTable::Windows(used) => {
                used.iter().for_each(|(person, windows)| entry(person, &|bytes| windows.write(bytes)));
            }
            ContributionTable::Life(lifetime) => lifetime.iter().for_each(|(person, key, amount)| {
                entry(person, &|bytes| {
                    key.write(bytes);
                    amount.write(bytes);
                });
            }),
            ContributionTable::Presence(presence) => presence.iter().for_each(|(person, key, known)| {
                entry(person, &|bytes| {
                    key.write(bytes);
                    (known.seen, known.entries).write(bytes);
                });
            }),
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        match self {
            ContributionTable::Windows(used) => used.write(),
            ContributionTable::Life(lifetime) => lifetime.write(),
            ContributionTable::Presence(presence) => presence.write(),
        }
    }

    /// Reads the entries that a table of the same bounds has written.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<ContributionTable<P, K>, Invalid> {
        match self {
            ContributionTable::Windows(used) => {
                let read = WindowAdmission::read(bytes)?;
                (read.windows() == used.windows()).then_some(ContributionTable::Windows(read)).ok_or_else(odd)
            }
            ContributionTable::Life(lifetime) => Ok(ContributionTable::Life(lifetime.read(bytes)?)),
            ContributionTable::Presence(presence) => Ok(ContributionTable::Presence(presence.read(bytes)?)),
        }
    }
}

pub(super) fn odd() -> Invalid {
    Invalid::new("state", InvalidKind::Malformed, "what was counted of people, as this version writes it")
}

/// One worker's count.
pub(super) struct Admission<P, K> {
    contributions: ContributionTable<P, K>,
    /// The people of each key, where these enter and leave; made of the table when the first window closes.
    levels: Option<PresenceLevels<K>>,
    /// Windows that end by then were counted before this process began.
    through: Time,
    admitted: Admitted,
}

/// The contributions that a window has counted on one worker: the number of entries, and each as bytes.
/// Prints as `<private>`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Admitted {
    pub(super) entries: u64,
    pub(super) bytes: Vec<u8>,
}

redacted!(Admitted);

/// The contributions to former windows, as a worker is sent them at a restart. Prints as `<private>`.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Restored {
    /// For a worker: all windows that end by then were counted.
    Through(u64, Time),
    /// For the worker of this route: a person, and what was counted.
    Used(u64, Vec<u8>),
}

impl Restored {
    pub(super) fn route(&self) -> u64 {
        match self {
            Restored::Through(route, _) | Restored::Used(route, _) => *route,
        }
    }
}

redacted!(Restored);

impl<P: Person, K: GroupingKey> Admission<P, K> {
    pub(super) fn new(contributions: ContributionTable<P, K>) -> Admission<P, K> {
        Admission { contributions, levels: None, through: Time::MIN, admitted: Admitted::default() }
    }

    pub(super) fn restore(&mut self, known: Restored) {
        match known {
            Restored::Through(_, time) => self.through = time,
            // This process wrote it a moment ago.
            Restored::Used(_, bytes) => _ = self.contributions.restore(&mut &bytes[..]),
        }
    }

    /// Returns the time up to which windows were counted before this process began.
    pub(super) fn through(&self) -> Time {
        self.through
    }

    /// Returns the contributions that count in a window, the `number`th.
    pub(super) fn of(&mut self, window: Interval, number: u64) -> Closing<'_, P, K> {
        let Admission { contributions, levels, through, admitted } = self;
        // It was counted before this process began, or comes too late to be: its row is released again or it
        // is skipped, and what is tallied now is released to nobody.
        if window.end() <= *through {
            return Closing(AdmissionItem::Nobody);
        }
        let levels = levels.get_or_insert_with(|| contributions.levels());
        Closing(match contributions {
            ContributionTable::Presence(presence) => {
                AdmissionItem::Present { presence, levels, admitted, number }
            }
            contributions => AdmissionItem::Left(contributions, admitted),
        })
    }

    /// Returns the contributions that the last closed window has counted.
    pub(super) fn admitted(&mut self) -> Admitted {
        std::mem::take(&mut self.admitted)
    }
}

/// A window that is being closed, and who counts in it.
#[expect(missing_debug_implementations, reason = "it is private")]
pub struct Closing<'a, P, K>(AdmissionItem<'a, P, K>);

enum AdmissionItem<'a, P, K> {
    /// Everybody: windows do not depend on each other.
    Everybody,
    /// Those to whom former windows have left something.
    Left(&'a mut ContributionTable<P, K>, &'a mut Admitted),
    /// Those who are in one of the last windows.
    Present {
        presence: &'a mut RollingPresence<P, K>,
        levels: &'a mut PresenceLevels<K>,
        admitted: &'a mut Admitted,
        number: u64,
    },
    /// Nobody: the window was counted before, and is not released.
    Nobody,
}

impl<P: Person, K: GroupingKey> Closing<'_, P, K> {
    pub(super) fn of_everybody() -> Self {
        Closing(AdmissionItem::Everybody)
    }

    /// Returns true if a person is bounded over all windows together.
    pub(super) fn is_over_life(&self) -> bool {
        matches!(self.0, AdmissionItem::Left(ContributionTable::Life(_), _))
    }

    /// Returns true if people enter and leave.
    pub(super) fn is_of_presence(&self) -> bool {
        matches!(self.0, AdmissionItem::Present { .. })
    }

    /// Sees a person in a key in this window.
    pub(super) fn see(&mut self, person: &P, key: &K) {
        let AdmissionItem::Present { presence, levels, admitted, number } = &mut self.0 else { return };
        let Some(before) = presence.see(person, key, *number) else { return };
        levels.count(before, key, *number);
        admitted.entries += 1;
        person.write(&mut admitted.bytes);
        key.write(&mut admitted.bytes);
        number.write(&mut admitted.bytes);
    }

    /// Returns the people of each key, once all who are in this window were seen.
    pub(super) fn levels(&mut self) -> Vec<(K, KeyLevel)> {
        match &mut self.0 {
            AdmissionItem::Present { levels, number, .. } => levels.take(*number),
            _ => Vec::new(),
        }
    }

    /// Returns true if the person counts in this window.
    pub(super) fn admits(&mut self, person: &P) -> bool {
        let (used, admitted) = match &mut self.0 {
            AdmissionItem::Left(ContributionTable::Windows(used), admitted) => (used, admitted),
            AdmissionItem::Everybody | AdmissionItem::Left(..) => return true,
            AdmissionItem::Nobody | AdmissionItem::Present { .. } => return false,
        };
        let admits = used.admit(person);
        if admits {
            admitted.entries += 1;
            person.write(&mut admitted.bytes);
        }
        admits
    }

    /// Lets something of a person count in a key, if anything is left to the person there: `add` says how
    /// much it was.
    pub(super) fn count(&mut self, person: &P, key: &K, add: impl FnOnce(RemainingContribution) -> u64) {
        let AdmissionItem::Left(ContributionTable::Life(lifetime), admitted) = &mut self.0 else { return };
        let Some(left) = lifetime.left(person, key) else { return };
        let amount = add(left);
        lifetime.note(person, key, amount);
        admitted.entries += 1;
        person.write(&mut admitted.bytes);
        key.write(&mut admitted.bytes);
        amount.write(&mut admitted.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: Time) -> Interval {
        Interval::new(start, start + 10).unwrap()
    }

    // Refutes a window that was counted before and in which everybody counts, however often each has: it is
    // one that begins before those that were settled, too.
    #[test]
    fn nobody_counts_in_a_window_that_was_counted_before() {
        let contributions = ContributionTable::<u64, u32>::Windows(WindowAdmission::new(1).unwrap());
        let mut admission = Admission::new(contributions);
        admission.restore(Restored::Through(0, 30));
        for start in [0, 10, 20] {
            assert!(!admission.of(window(start), 0).admits(&1), "{start}");
        }
        assert!(admission.of(window(30), 3).admits(&1));
        assert!(!admission.of(window(40), 4).admits(&1));

        let mut admission =
            Admission::new(ContributionTable::<u64, u32>::Life(LifetimeContribution::new(1, 5).unwrap()));
        admission.restore(Restored::Through(0, 30));
        let mut closing = admission.of(window(20), 2);
        // Then who counts is asked as if windows did not depend on each other.
        assert!(!closing.is_over_life() && !closing.admits(&1));
        closing.count(&1, &1, |_| panic!("it counts"));
        assert!(admission.of(window(30), 3).is_over_life());

        let presence = RollingPresence::new(1, 5, 2).unwrap();
        let mut admission = Admission::new(ContributionTable::<u64, u32>::Presence(presence));
        admission.restore(Restored::Through(0, 30));
        let mut closing = admission.of(window(20), 2);
        closing.see(&1, &1);
        assert!(!closing.is_of_presence() && !closing.admits(&1) && closing.levels().is_empty());
        let mut closing = admission.of(window(30), 3);
        closing.see(&1, &1);
        assert!(closing.is_of_presence());
        assert_eq!(closing.levels().iter().map(|(_, level)| level.people).collect::<Vec<_>>(), [1]);
    }
}
