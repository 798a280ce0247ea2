//! One question: who asks, under which id, when, and what of which records.

use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::schema::{FieldKind, Schema, printable, told};
use crate::canonical::{Canonical, Digest};
use crate::invalid::{self, Invalid};
use crate::mechanisms::Range;
use crate::time::Time;

/// The most characters of an id, and of an analyst's name.
const NAME: usize = 128;

/// A question that has been read: every field of it exists, and every value is one of its field's.
///
/// It is public. Whoever asks two questions under one id asks the first one twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    analyst: String,
    id: String,
    at: Time,
    asks: Asks,
    filter: Filter,
    schema: Digest,
    text: String,
}

/// What is asked of the records that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Asks {
    /// How many they are.
    Count,
    /// The mean of a field, over those that have it.
    Mean {
        /// The field, by its place in the schema.
        field: usize,
        /// What its values are clipped to, in its steps.
        range: Range,
    },
}

impl Query {
    /// Who asks.
    pub fn analyst(&self) -> &str {
        &self.analyst
    }

    /// Under which id, of those of this analyst.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When.
    pub fn at(&self) -> Time {
        self.at
    }

    /// What.
    pub fn asks(&self) -> &Asks {
        &self.asks
    }

    /// Of which records.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The hash of the schema by which it was read.
    pub fn schema(&self) -> Digest {
        self.schema
    }

    /// How many answers it takes: a mean is a sum and a count.
    pub fn takes(&self) -> u64 {
        match self.asks {
            Asks::Count => 1,
            Asks::Mean { .. } => 2,
        }
    }

    /// Which question it is: a hash of the analyst and the id alone.
    pub fn part(&self) -> Digest {
        Canonical::new("discreet question 1").text(&self.analyst).text(&self.id).finish()
    }

    /// What is asked, in words that are the same for questions that are.
    pub fn text(&self) -> String {
        self.text.clone()
    }
}

/// A question of which is known who asks it. What it asks is said last.
#[derive(Clone, Copy, Debug)]
pub struct QueryBy<'a> {
    schema: &'a Schema,
    analyst: &'a str,
    id: &'a str,
    at: Time,
}

impl<'a> QueryBy<'a> {
    pub(super) fn new(schema: &'a Schema, analyst: &'a str, id: &'a str, at: Time) -> QueryBy<'a> {
        QueryBy { schema, analyst, id, at }
    }

    /// How many records match the filter.
    ///
    /// # Errors
    /// Names `analyst`, `id` or `filter`.
    pub fn count(self, filter: &str) -> Result<Query, Invalid> {
        self.asked(Asks::Count, "count".to_owned(), filter)
    }

    /// The mean of a field's values from `low` to `high`, over the records that match the filter and have the field. Values
    /// beyond are clipped. Both ends are decimals, read exactly.
    ///
    /// # Errors
    /// Names `analyst`, `id`, `mean` where the field is none or has no numbers, `of` where the ends are not two of its
    /// numbers that rise, or `filter`.
    pub fn mean(self, field: &str, low: &str, high: &str, filter: &str) -> Result<Query, Invalid> {
        let refuse = |kind, remedy: String| Invalid::new("mean", kind, remedy);
        let place = self.schema.place(field);
        let found = place.and_then(|place| Some((place, self.schema.fields().get(place)?)));
        let Some((place, found)) = found else {
            return Err(refuse(
                invalid::InvalidKind::Malformed,
                format!("a field {}", self.schema.unknown(field)),
            ));
        };
        if let FieldKind::Text | FieldKind::Time = found.kind() {
            return Err(refuse(
                invalid::InvalidKind::Mixed,
                "a field of numbers: only they have a mean".into(),
            ));
        }
        let end = |text| found.steps(text).map_err(|(kind, remedy)| Invalid::new("of", kind, remedy));
        let range = Range::new(end(low)?, end(high)?);
        let range = range.map_err(|refused| {
            Invalid::new(
                "of",
                refused.kind(),
                "the least and the largest value that count, the first below the second",
            )
        })?;
        let shown = |end: i64| found.point().shown(end.into());
        let (low, high) = (shown(range.low()), shown(range.high()));
        self.asked(
            Asks::Mean { field: place, range },
            format!("mean of {} in {low}..{high}", told(field)),
            filter,
        )
    }

    fn asked(self, asks: Asks, words: String, filter: &str) -> Result<Query, Invalid> {
        let named = |field: &'static str, name: &str| {
            let kind = match name.chars().count() {
                0 => invalid::InvalidKind::Missing,
                1..=NAME if printable(name) => return Ok(name.to_owned()),
                1..=NAME => invalid::InvalidKind::Malformed,
                _ => invalid::InvalidKind::TooLarge,
            };
            Err(Invalid::new(field, kind, format!("1 to {NAME} printable characters")))
        };
        let (analyst, id) = (named("analyst", self.analyst)?, named("id", self.id)?);
        let filter = Filter::parse(self.schema, filter)?;
        let text = format!("{words} where {filter}");
        Ok(Query { analyst, id, at: self.at, asks, filter, schema: self.schema.digest(), text })
    }
}
