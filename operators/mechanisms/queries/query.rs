//! One query: the analyst, the id, the time, the aggregate and the filter.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use super::bundle::Steps;
use super::filter::Filter;
use super::schema::{FieldKind, Schema, printable, told};
use crate::accounting::{Interval, ReleaseCost};
use crate::canonical::{Canonical, Digest};
use crate::invalid;
use crate::invalid::Invalid;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{ContributionBound, Drawn, Range, Tellable};
use crate::noise::NoiseSource;
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

/// The aggregate that is asked of the records that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Asks {
    /// The number of records.
    Count,
    /// The mean of a field, over those that have it.
    Mean {
        /// The field, by its place in the schema.
        field: usize,
        /// The range to which values are clamped, in their steps.
        range: Range,
    },
}

impl Query {
    /// Returns the analyst.
    pub fn analyst(&self) -> &str {
        &self.analyst
    }

    /// Under which id, of those of this analyst.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the time for which the query asks.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Returns the aggregate.
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

    /// Returns the number of answers that it uses: a mean is a sum and a count.
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

    /// Returns the query in a normal form: equal queries have equal texts.
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

    /// Creates a query for the number of records that match the filter.
    ///
    /// # Errors
    /// Names `analyst`, `id` or `filter`.
    pub fn count(self, filter: &str) -> Result<Query, Invalid> {
        self.asked(Asks::Count, "count".to_owned(), filter)
    }

    /// The mean of a field's values from `low` to `high`, over the records that match the filter and have the
    /// field. Values beyond are clipped. Both ends are decimals, read exactly.
    ///
    /// # Errors
    /// Names `analyst`, `id`, `mean` where the field is none or has no numbers, `of` where the ends are not
    /// two of its numbers that rise, or `filter`.
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

// What a question finds: integers, which add up.

/// The totals of the records that match. It is exact, and so it is secret: it prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MatchedTotals {
    /// The number of records that match; of a mean, of those that match and have its field.
    pub matched: u64,
    /// The sum of their [`term`](super::Steps::term)s; zero of a count.
    pub terms: i128,
}

redacted!(MatchedTotals);

/// Of two lots of records. A term is within 2^62 of zero, so 2^64 of them fit.
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

// The seam between questions and the mechanism that answers them: as
// [`Mechanism`](crate::mechanisms::Mechanism) is for windows.

/// A way to noise answers, with a price for all of them together.
pub trait Answers: Sealed + Send + Sync + 'static {
    /// The same with every parameter settled.
    type Prepared: ReadyAnswers;

    /// Settles every parameter. All that can be refused is refused here, before there is data.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    fn prepare(&self, limits: &ContributionBound, schema: &Schema) -> Result<Self::Prepared, Invalid>;
}

/// Answers that are ready to be drawn, question after question.
pub trait ReadyAnswers: Sealed + Send + Sync + 'static {
    /// The answer that is released.
    type Answer: Tellable + Send + 'static;

    /// Returns the cost of all answers together. It is paid once, before the first.
    fn cost(&self) -> &ReleaseCost;

    /// A hash of every parameter that an answer depends on, as
    /// [`Prepared::parameters`](crate::mechanisms::Prepared::parameters).
    fn parameters(&self) -> Digest;

    /// In which steps answers are counted.
    fn steps(&self) -> Steps;

    /// Returns true if the analyst may ask. It is public.
    fn serves(&self, analyst: &str) -> bool;

    /// Checks that the state of a former answer can be read: called once, before the first draw of a process.
    ///
    /// # Errors
    /// Names `state` where it was not written by this mechanism, or by a later version of it.
    fn accepts(&self, state: &[u8]) -> Result<(), Invalid>;

    /// Draws, or refuses because of what was answered before. Total, as
    /// [`Prepared::draw`](crate::mechanisms::Prepared::draw) is: whether and how often noise is drawn depends on
    /// the question and on the state, which are public.
    ///
    /// `version` is the window that was counted, and `opened` says which opening of the bundle this is: what
    /// counts is how many answers that one has given.
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
