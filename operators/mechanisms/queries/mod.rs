//! Queries of analysts over the kept records.
//!
//! An analyst asks, sees, and asks again. A [`Schema`] says which fields there are to ask about; a [`Query`]
//! is read by it, once, and is right or refused before any record is looked at. What a question finds is
//! exact and stays where it is: [`ColumnStore`], [`QueryRow`] and [`MatchedTotals`] print as `<private>`.
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
//! A [`Filter`] says which records are meant.
//!
//! | what is said | which records |
//! |---|---|
//! | `all` | every one |
//! | `age = 18`, `age != 18` | those that have this number, or another one |
//! | `age < 18`, `<=`, `>`, `>=` | those whose number is below, above, ... |
//! | `price in 10..20`, `..20`, `10..` | from 10 on and below 20; without an end on a side, all of them there |
//! | `age in {18, 21}` | those that have one of these |
//! | `country = "DE"`, `!=`, `in {"DE", "AT"}` | the same of texts, which have no order here: it would be that of some language |
//! | `when >= "2026-11-01"` | times are a date, which is its midnight in UTC, or a moment such as `"2026-11-01T00:00:00Z"` |
//! | `not c`, `c and d`, `c or d`, `(c)` | `not` holds closest, then `and`, then `or` |
//! | `` `order total` = 7 `` | a name that is no plain word, or one of the words above, stands between backquotes |
//!
//! * **Numbers are exact.** A number is a plain decimal, `12.50` or `1e3`, in the steps of its field; one
//!   with more digits behind the point is refused and not rounded. Texts have the escapes of JSON.
//! * **What is absent passes no comparison**, so whoever has no age is neither `age = 1` nor `age != 1`, but
//!   is `not (age = 1)`. A condition holds or does not; there is no third answer. A value of another sort
//!   than its field's is absent.
//! * **Whose a record is cannot be asked**: the field has no column, and its name is refused as such.
//! * **Every text is read in bounded memory and stack**: at most 64 KiB, 64 parentheses and `not`s within
//!   each other, and 4,096 values to compare with.
//! * **Equal filters have equal texts**, as far as order and parentheses go: `(age>17)` is `age >=
//!   18`, `a and (b and c)` is `a and b and c`, sets ascend and hold each value once, and what is denied
//!   twice is not denied. [`Query::text`] is of this form, and is read as the same question.
//!
//! A question is public, and so is all that depends on it alone: an error says what was found in its text,
//! and where. None depends on a record.
//!
//! # What is asked
//!
//! * A *count*: how many records match. Each brings one unit, of [`Steps`] steps.
//! * A *mean* of a field of numbers in a range, over the records that match and have the field. It is a sum
//!   and a count: each record brings its value's distance from the middle of the range, between -1 and 1
//!   units, and takes two answers.
//!
//! [`Schema::question_line`] reads either from a line of JSON.
//!
//! What questions can do that are built from the answers before, and what bounded noise makes of it, is shown
//! by `examples/a_pattern_that_is_not_there.rs`.
//!
//! # What is kept
//!
//! Rows lie by columns, and a question is asked of a thousand at once, one step of its filter after another.
//! To each step a block's values are one loop of comparisons into bits, which the compiler makes of several
//! values at a time; texts are numbers, looked up once a question. A filter is so kept that nothing in it is
//! nested: [`Filter::matches`] is the plain way to ask it of one row.
//!
//! # A bundle of answers
//!
//! [`BoundedNoise`] answers so many questions, each of which may be chosen by whoever has seen the answers
//! before it. All of them together cost (epsilon, delta), once. No answer errs by more than a stated bound,
//! with probability one, so the interval of each line holds the truth for certain. [`ReadyBundle::draw`]
//! counts what is used by the *opening* of a bundle, a hash that an analyst for the draw gives. It must say
//! what the bundle was paid for by, neither more nor less: were it finer, a new count would begin without a
//! new charge. Counts of other openings are kept and never begun again, so to go back to an older version of
//! a job is to go on where that one was.
//!
//! Two attacks that have broken such systems find nothing here:
//!
//! * **A refusal that tells** (Haeberlen and others 2011). Where a price depends on data, so does whether it
//!   can be paid. Here the price is paid before the first answer; whether a question is answered depends on
//!   who asks and how many answers were given before, and noise is drawn or not by that alone. A question
//!   about nobody takes as much as one about everybody, and a refusal draws nothing.
//! * **Noise that sticks** (Gadotti and others 2019). Where noise is made from a question's words or from the
//!   records that it finds, so that asking again gives the same, questions that should not matter agree or
//!   differ in their noise, and tell by that who is in. Here noise is drawn anew, from the operating system's
//!   randomness, for each id. An id that is asked again gets the line that the ledger holds. One question
//!   under two ids has two independent answers, of which each is one of the bundle: that they can be averaged
//!   is in the price.

pub use bundle::{BoundedNoise, ReadyBundle, Steps};
pub use columns::ColumnStore;
pub use filter::Filter;
pub use line::Answered;
pub use query::{Answers, Asks, MatchedTotals, Query, QueryBy, ReadyAnswers};
pub use schema::{Field, FieldKind, QueryRow, Schema, Value};

mod bundle;
mod certain;
mod columns;
mod filter;
mod line;
mod query;

mod answers;
mod schema;

#[cfg(test)]
mod sample;
