//! What a line becomes, one for each group of releases that it concerns.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::text::Text;
use crate::time::Time;

/// The value of a line that has none.
pub(crate) const MISSING: i64 = i64::MIN;

/// One record of one group. Prints as `<private>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SourceRecord<P, I> {
    /// For which group of releases.
    pub(crate) group: u32,
    /// When it happened; 0 where no release asks.
    pub(crate) time: Time,
    /// Whose it is; `()` where nothing asks.
    pub(crate) person: P,
    /// What tells it from its duplicates; `()` where nothing does.
    pub(crate) id: I,
    /// Its key; empty where the group has none.
    pub(crate) key: Text,
    /// Its value in the group's steps; 0 where the group has none.
    pub(crate) value: i64,
}

impl<P, I> fmt::Debug for SourceRecord<P, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
