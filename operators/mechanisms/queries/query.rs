//! One query: the analyst, the id, the time, the aggregate and the filter.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use super::bundle::Steps;
use super::filter::Filter;
use super::schema::{FieldKind, Schema, as_written, printable};
use crate::accounting::{Interval, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid;
use crate::invalid::Invalid;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{ContributionBound, Drawn, Range, ReleaseLines};
use crate::noise::NoiseSource;
use crate::time::Time;

/// The largest number of characters of an id, and of an analyst's name.
const NAME: usize = 128;

/// A query that has been parsed and checked: each of its fields exists, and each value is of its field's
/// type.
///
/// It is public. A second query of an analyst under the same id is the first one again.
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

/// The aggregate over the records that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Asks {
    /// The number of records.
    Count,
    /// The mean of a field, over the records that have it.
    Mean {
        /// The index of the field in the schema.
        field: usize,
        /// The range to which values are clipped, in steps of the field.
        range: Range,
    },
}

impl Query {
    /// Returns the name of the analyst who asks.
    pub fn analyst(&self) -> &str {
        &self.analyst
    }

    /// Returns the id, which is unique among the queries of this analyst.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the time of the query, which selects the version of the data.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Returns the aggregate.
    pub fn asks(&self) -> &Asks {
        &self.asks
    }

    /// Returns the filter that selects the records.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns the hash of the schema that the query was parsed with.
    pub fn schema(&self) -> Digest {
        self.schema
    }

    /// Returns the number of answers that it uses: a mean takes two, a sum and a count.
    pub fn takes(&self) -> u64 {
        match self.asks {
            Asks::Count => 1,
            Asks::Mean { .. } => 2,
        }
    }

    /// Returns the identity of the query: a hash of the analyst and the id alone.
    pub fn part(&self) -> Digest {
        Canonical::new("discreet question 1").text(&self.analyst).text(&self.id).finish()
    }

    /// Returns the text of the query in normal form: equal queries have equal texts.
    pub fn text(&self) -> String {
        self.text.clone()
    }
}

/// A query in the making: its analyst, its id and its time. The aggregate completes it.
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

    /// Completes it as the number of records that match the filter.
    ///
    /// # Errors
    /// Names `analyst`, `id` or `filter`.
    pub fn count(self, filter: &str) -> Result<Query, Invalid> {
        self.count_from((filter, 0))
    }

    /// Completes it as a count, with the filter that a text has from a place on.
    pub(super) fn count_from(self, filter: (&str, usize)) -> Result<Query, Invalid> {
        self.asked(Asks::Count, "count".to_owned(), filter)
    }

    /// Completes it as the mean of a field, over the records that match the filter and have the field. Values
    /// are clipped to the range from `low` to `high`; both ends are decimals, read exactly.
    ///
    /// # Errors
    /// Names `analyst` or `id`; `mean` if the field does not exist or is not numeric; `of` unless the ends
    /// are two values of the field, the first below the second; or `filter`.
    pub fn mean(self, field: &str, low: &str, high: &str, filter: &str) -> Result<Query, Invalid> {
        self.mean_from(field, (low, high), (filter, 0))
    }

    /// Completes it as a mean, with the filter that a text has from a place on.
    pub(super) fn mean_from(
        self,
        field: &str,
        (low, high): (&str, &str),
        filter: (&str, usize),
    ) -> Result<Query, Invalid> {
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
            format!("mean of {} in {low}..{high}", as_written(field)),
            filter,
        )
    }

    fn asked(self, asks: Asks, words: String, (filter, begin): (&str, usize)) -> Result<Query, Invalid> {
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
        let filter = Filter::parse_part(self.schema, filter, begin)?;
        let text = format!("{words} where {filter}");
        Ok(Query { analyst, id, at: self.at, asks, filter, schema: self.schema.digest(), text })
    }
}

// The exact result of a query: integers, which add up over blocks and workers.

/// The totals of the records that match. They are exact, and so they are secret: they print as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MatchedTotals {
    /// The number of records that match; for a mean, of those that match and have its field.
    pub matched: u64,
    /// The sum of their [`term`](super::Steps::term)s; zero for a count.
    pub terms: i128,
}

redacted!(MatchedTotals);

/// Adds the totals of two sets of records. A term is within 2^62 of zero, so 2^64 of them fit.
impl Add for MatchedTotals {
    type Output = MatchedTotals;

    fn add(self, other: MatchedTotals) -> MatchedTotals {
        MatchedTotals { matched: self.matched + other.matched, terms: self.terms + other.terms }
    }
}

impl AddAssign for MatchedTotals {
    fn add_assign(&mut self, other: MatchedTotals) {
        *self = *self + other;
    }
}

impl Sum for MatchedTotals {
    fn sum<I: Iterator<Item = MatchedTotals>>(lots: I) -> MatchedTotals {
        lots.fold(MatchedTotals::default(), Add::add)
    }
}

// The interface between queries and the mechanism that answers them, the counterpart of
// [`Mechanism`](crate::mechanisms::Mechanism) for windows.

/// A mechanism that adds noise to the answers of queries, with one price for all of them together.
pub trait Answers: Sealed + Send + Sync + 'static {
    /// The prepared mechanism, with every parameter checked and fixed.
    type Prepared: ReadyAnswers;

    /// Checks and fixes every parameter. Whatever can be refused is refused here, before there is data.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    fn prepare(&self, limits: &ContributionBound, schema: &Schema) -> Result<Self::Prepared, Invalid>;
}

/// A prepared mechanism, which draws the answer of one query after another.
pub trait ReadyAnswers: Sealed + Send + Sync + 'static {
    /// The type of the released answer.
    type Answer: ReleaseLines + Send + 'static;

    /// Returns the cost of all answers together, which is paid once, before the first.
    fn cost(&self) -> &ReleaseCost;

    /// Returns a hash of every parameter that an answer depends on, like
    /// [`Prepared::parameters`](crate::mechanisms::Prepared::parameters).
    fn parameters(&self) -> Digest;

    /// Returns the number of steps in one unit of an answer.
    fn steps(&self) -> Steps;

    /// Returns true if the analyst may ask. The result is public.
    fn serves(&self, analyst: &str) -> bool;

    /// Checks that the state of an earlier answer can be read. The gate calls it once, before the first draw
    /// of a process.
    ///
    /// # Errors
    /// Names `state` if another mechanism wrote it, or a later version of this one.
    fn accepts(&self, state: &[u8]) -> Result<(), Invalid>;

    /// Draws the answer, or refuses because of the answers before it. It is total, like
    /// [`Prepared::draw`](crate::mechanisms::Prepared::draw): whether and how often noise is drawn depends on
    /// the query and on the state, which are public.
    ///
    /// `version` is the window whose records were counted, and `opened` identifies the opening of the bundle:
    /// the used answers are counted for each opening.
    fn draw(
        &self,
        asked: &Query,
        found: MatchedTotals,
        version: Interval,
        opened: Digest,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Self::Answer>;
}
