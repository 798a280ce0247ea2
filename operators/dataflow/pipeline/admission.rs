//! Admission of people by former windows: their first windows, in order of their end, or the rest of their
//! contribution over all windows.
//!
//! Each worker counts for its own persons as it closes windows. What it counted travels with the window's
//! parts, and is sealed with the window: the next process begins with what the last sealed window knew. A
//! window that was refused has been counted like any other, so that what counts is a matter of records and of
//! the calendar, and of nothing that the gate had to say.

use serde::{Deserialize, Serialize};

use super::aggregation::{Aggregation, GroupingKey};
use super::unit::{Person, ProtectedUnit};
use crate::accounting::Interval;
use crate::dataflow::bounding::{Identity, LifetimeContribution, RemainingContribution, WindowAdmission};
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
            // A record has no other windows.
            Some(_) if U::IS_A_RECORD => Ok(None),
            Some(each) => Ok(Some(ContributionTable::Life(LifetimeContribution::new(limits.keys(), each)?))),
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
        }
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
        }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        match self {
            ContributionTable::Windows(used) => used.write(),
            ContributionTable::Life(lifetime) => lifetime.write(),
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
        }
    }
}

pub(super) fn odd() -> Invalid {
    Invalid::new("state", InvalidKind::Malformed, "what was counted of people, as this version writes it")
}

/// One worker's count.
pub(super) struct Admission<P, K> {
    contributions: ContributionTable<P, K>,
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
        Admission { contributions, through: Time::MIN, admitted: Admitted::default() }
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

    /// Returns the contributions that count in a window.
    pub(super) fn of(&mut self, window: Interval) -> Closing<'_, P, K> {
        let Admission { contributions, through, admitted } = self;
        // It was counted before this process began, or comes too late to be: its row is released again or it
        // is skipped, and what is tallied now is released to nobody.
        Closing(if window.end() <= *through {
            AdmissionItem::Nobody
        } else {
            AdmissionItem::Left(contributions, admitted)
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

    /// Returns true if the person counts in this window.
    pub(super) fn admits(&mut self, person: &P) -> bool {
        let (used, admitted) = match &mut self.0 {
            AdmissionItem::Left(ContributionTable::Windows(used), admitted) => (used, admitted),
            AdmissionItem::Everybody | AdmissionItem::Left(ContributionTable::Life(_), _) => return true,
            AdmissionItem::Nobody => return false,
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
            assert!(!admission.of(window(start)).admits(&1), "{start}");
        }
        assert!(admission.of(window(30)).admits(&1));
        assert!(!admission.of(window(40)).admits(&1));

        let mut admission =
            Admission::new(ContributionTable::<u64, u32>::Life(LifetimeContribution::new(1, 5).unwrap()));
        admission.restore(Restored::Through(0, 30));
        let mut closing = admission.of(window(20));
        // Then who counts is asked as if windows did not depend on each other.
        assert!(!closing.is_over_life() && !closing.admits(&1));
        closing.count(&1, &1, |_| panic!("it counts"));
        assert!(admission.of(window(30)).is_over_life());
    }
}
