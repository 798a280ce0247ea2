//! Queries of analysts over stored records.
//!
//! Queries are adaptive: an analyst may choose each one after the answers to the earlier ones. A [`Schema`]
//! lists the fields that can be queried and parses the text of a [`Query`], once: the query is valid, or it
//! is refused before any record is read. The totals that a query finds are exact and stay inside the library:
//! [`ColumnStore`], [`QueryRow`] and [`MatchedTotals`] print as `<private>`.
//!
//! ```
//! use discreet::mechanisms::queries::{ColumnStore, Field, QueryRow, Schema, Steps};
//!
//! let schema = Schema::new([Field::number("age"), Field::decimal("price", 2), Field::text("country")])?
//!     .of_person("client")?;
//! let mut kept = ColumnStore::new(&schema);
//! kept.push(&QueryRow::from([34.into(), 1250.into(), "DE".into()]));              // 12.50 is 1250 steps of a hundredth
//!
//! let question = schema.question("ann", "q1", 0).mean("price", "0", "100", "age >= 18 and country = \"DE\"")?;
//! let found = kept.found(&question, &Steps::new(10_000));
//! assert_eq!((found.matched, found.terms), (1, -7500));                      // three quarters below the middle
//!
//! let refused = schema.question("ann", "q2", 0).count("aeg >= 18").unwrap_err();
//! assert_eq!(
//!     refused.to_string(),
//!     "filter: found text that is not understood; give a field at column 1 in place of \"aeg\", which is no field: \
//!      age, price or country (did you mean age?)"
//! );
//! # Ok::<(), discreet::Invalid>(())
//! ```
//!
//! # The language
//!
//! A [`Filter`] selects records.
//!
//! | text | records that match |
//! |---|---|
//! | `all` | every record |
//! | `age = 18`, `age != 18` | those with this number; those with any other number |
//! | `age < 18`, `<=`, `>`, `>=` | those with a number below, at most, above, at least this one |
//! | `price in 10..20`, `..20`, `10..` | those from 10 on and below 20; a missing end leaves that side unbounded |
//! | `age in {18, 21}` | those with one of these numbers |
//! | `country = "DE"`, `!=`, `in {"DE", "AT"}` | the same for texts, which have no order: any order would be that of one language |
//! | `path starts with "/api/"`, `ends with`, `contains` | those whose text has this one at its start, at its end, anywhere |
//! | `when >= "2026-11-01"` | a time is a date, which stands for its midnight in UTC, or a moment such as `"2026-11-01T00:00:00Z"` |
//! | `not c`, `c and d`, `c or d`, `(c)` | `not` binds closest, then `and`, then `or` |
//! | `` `order total` = 7 `` | a field name that is not a plain word, or is a keyword, stands between backquotes |
//!
//! * **Numbers are exact.** A number is a plain decimal, `12.50` or `1e3`, in the steps of its field; a
//!   number with more digits after the point is refused, not rounded. Texts have the escapes of JSON.
//! * **An absent value passes no comparison**: a record without an age matches neither `age = 1` nor
//!   `age != 1`, but it matches `not (age = 1)`. A condition is true or false; there is no third value. A
//!   value of another type than its field's counts as absent.
//! * **The person of a record cannot be queried**: the field that identifies the person has no column, and a
//!   query that names it is refused with that reason.
//! * **Parsing takes bounded memory and stack**: at most 64 KiB of text, 64 nested parentheses and `not`s,
//!   and 4,096 values to compare with.
//! * **Filters have a normal text**: `(age>17)` becomes `age >= 18`, `a and (b and c)` becomes
//!   `a and b and c`, sets are sorted and hold each value once, and a double negation is dropped; the order
//!   of conditions stays. [`Query::text`] is in this form, and parses to the same query.
//!
//! A query is public, and so is everything that depends on it alone: an error states the text that was found,
//! and its column. No error depends on a record.
//!
//! # The aggregates
//!
//! * A *count* is the number of records that match. Each record contributes one unit, of [`Steps`] steps.
//! * A *mean* is that of a numeric field within a range, over the records that match and have the field. It
//!   is released as a sum and a count: each record contributes the distance of its value from the middle of
//!   the range, between -1 and 1 units, and the query takes two answers.
//!
//! [`Schema::question_line`] parses either from a line of JSON.
//!
//! The example `examples/a_pattern_that_is_not_there.rs` shows an attack by queries that are built from
//! earlier answers, and its outcome under bounded noise.
//!
//! # The column store
//!
//! Rows are stored by column, and a query is evaluated on about a thousand rows at a time, one step of its
//! filter after another. Each step is one loop of comparisons that yields a bit for each row, which the
//! compiler vectorizes; texts are dictionary codes, looked up once a query. The steps of a filter are a flat
//! list, without nesting; [`Filter::matches`] evaluates them on one row.
//!
//! # A bundle of answers
//!
//! [`BoundedNoise`] answers a fixed number of queries, each of which may be chosen by an analyst who knows
//! the answers before it. All of them together cost (epsilon, delta), once. No answer errs by more than a
//! stated bound, with probability one, so the interval of each line contains the true value with certainty.
//! [`ReadyBundle::draw`] counts the used answers by the *opening* of a bundle, a hash that the caller of the
//! draw passes. The opening must cover exactly what the bundle was paid for: a finer one would begin a new
//! count without a new charge. The counts of other openings are kept and never restarted, so a return to an
//! older version of a job continues the count of that version.
//!
//! Two attacks that have broken such systems fail here:
//!
//! * **Refusals that leak** (Haeberlen and others 2011). Where a price depends on data, so does the answer to
//!   whether it can be paid. Here the price is paid before the first answer; whether a query is answered
//!   depends on the analyst and on the number of earlier answers, and noise is drawn or not by that alone. A
//!   query that matches nobody takes as many answers as one that matches everybody, and a refusal draws
//!   nothing.
//! * **Sticky noise** (Gadotti and others 2019). Where noise is a function of a query's text or of the
//!   records that it matches, so that repeating a query repeats its answer, queries that should be unrelated
//!   agree or differ in their noise, and so reveal who is in the data. Here noise is drawn anew, from the
//!   operating system's randomness, for each id. A repeated id gets the line that the ledger holds. One query
//!   under two ids has two independent answers, and each is one of the bundle's: the price covers that they
//!   can be averaged.

pub use bundle::{BoundedNoise, ReadyBundle, Steps};
pub use columns::ColumnStore;
pub use filter::Filter;
#[cfg(feature = "cli")]
pub(crate) use filter::{ComparedField, Token, Tokens};
pub use line::Answered;
#[cfg(feature = "cli")]
pub(in crate::mechanisms) use line::LineObject;
pub use query::{Answers, Asks, MatchedTotals, Query, QueryBy, ReadyAnswers};
pub use released::{CertainEstimate, ReleasedAnswer};
pub use schema::{Field, FieldKind, QueryRow, Schema, Value};

mod bundle;
mod certain;
mod columns;
mod filter;
mod line;
mod query;
mod query_text;
mod released;

mod answers;
mod schema;

#[cfg(test)]
mod sample;
