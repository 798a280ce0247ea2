//! Who is protected, and against what change: every cost is a statement about one such pair of words.

use std::fmt;

use crate::invalid::{Invalid, InvalidKind};

/// Whose presence is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrivacyUnit {
    /// Everything that one person did.
    Person,
    /// One record.
    Record,
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PrivacyUnit::Person => "person",
            PrivacyUnit::Record => "record",
        })
    }
}

/// Which two data sets must look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// One unit is there or is not.
    AddRemove,
    /// One unit is exchanged for another; their number is public.
    Replace,
}

/// The neighbours that a cost speaks about. Costs about different neighbours are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adjacency {
    /// Whose presence is hidden.
    pub unit: PrivacyUnit,
    /// Which two data sets must look alike.
    pub relation: Relation,
}

impl Adjacency {
    /// One person more or less: the default of this library.
    pub const PERSON: Adjacency = Adjacency { unit: PrivacyUnit::Person, relation: Relation::AddRemove };
    /// One record more or less. Who has many is hidden less, by as many times.
    pub const RECORD: Adjacency = Adjacency { unit: PrivacyUnit::Record, relation: Relation::AddRemove };

    /// Refuses costs about other neighbours.
    pub(crate) fn same(self, other: Adjacency) -> Result<(), Invalid> {
        if self == other {
            return Ok(());
        }
        let field = if self.unit == other.unit { "relation" } else { "unit" };
        Err(Invalid::new(field, InvalidKind::Mixed, format!("costs about the same neighbours, here {self}")))
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        match self.relation {
            Relation::AddRemove => write!(f, "one {unit} more or less"),
            Relation::Replace => write!(f, "one {unit} replaced by another"),
        }
    }
}
