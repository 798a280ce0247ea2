//! The noun of a count whose number is not released: people, or records.

use super::{CellKey, ContributionKind};
use crate::invalid::Invalid;
use crate::job::config::TableNode;
use crate::mechanisms::{ContributionBound, Keys, Total};

/// The noun of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedNoun {
    /// People.
    People,
    /// Records.
    Records,
}

impl CountedNoun {
    /// Reads the field `count`, which is this noun where it is absent.
    pub(super) fn read(fields: &TableNode<'_>, absent: CountedNoun) -> Option<CountedNoun> {
        let Some(node) = fields.node("count") else { return Some(absent) };
        node.one_of(&[CountedNoun::People, CountedNoun::Records].map(|noun| (noun.word(), noun)))
    }

    /// Returns the word of the job file.
    pub fn word(self) -> &'static str {
        match self {
            CountedNoun::People => "people",
            CountedNoun::Records => "records",
        }
    }

    /// Returns the noun of what is counted where this is the privacy unit, person or record: a record is its own person.
    pub(in crate::job) fn noun(self, unit: &str) -> &'static str {
        if unit == "record" { "records" } else { self.word() }
    }

    /// Returns the contribution of one person to a key.
    pub(super) fn contribution(self) -> ContributionKind {
        match self {
            CountedNoun::People => ContributionKind::Presence,
            CountedNoun::Records => ContributionKind::Records,
        }
    }

    /// Returns the count of each key.
    pub(super) fn total(
        self,
        limits: ContributionBound,
        keys: &Keys<CellKey>,
    ) -> Result<Total<CellKey>, Invalid> {
        match self {
            CountedNoun::People => Total::people(limits, keys.clone()),
            CountedNoun::Records => Total::count(limits, keys.clone()),
        }
    }

    /// Returns the number out of people, records and a sum.
    pub(super) fn of(self, [people, records, _]: [i128; 3]) -> i128 {
        match self {
            CountedNoun::People => people,
            CountedNoun::Records => records,
        }
    }
}
