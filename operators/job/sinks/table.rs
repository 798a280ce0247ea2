//! Releases as a CSV table: one header, a record for each line, fields quoted as in RFC 4180, lines ended by
//! `\n`.
//!
//! A spreadsheet evaluates a text that begins with `=`, `+`, `-` or `@` as a formula, and a key from the data
//! may be such a text. It gets a `'` before it, as OWASP recommends, unless it is a number; and so does a
//! text that begins with `'`, so that removing one `'` restores the released text. Numbers are the digits
//! that were released.
//!
//! A cell has the status `value`, and a window ends with `closed`, its number of cells, its position in the
//! ledger, and the name of the ledger. A window that was not released has the status `refused`, `skipped` or
//! `lost`, and its reason under `why`; a value has `insufficient` there if too few people contributed for a
//! full answer. A quantile has its `q`. The promise about ranks is under `tau` or `rank_error`, in people;
//! the `high` of a largest value is empty, since its interval has an open end, and so is the `low` of a smallest one. A total over windows has its
//! windows under `total`, and the strategy of its noise under `strategy`. An interval that holds the number after
//! the contribution bound has `bounded` under `interval_of`. One of several means has its field under `of`. The answer of a
//! query has the analyst and the id under `key`, the query under `of`, and the window of its records under `total`, for its
//! `start` and `end` are those of all that was paid for; one that the bundle has refused has the status `unanswered`.
//!
//! The table of a job with roll-ups or covariances has four columns more, behind all others. The total of a roll-up has
//! `true` under `rollup`. A mean has under `covariance_with` the fields of its covariances, under `covariance` these, and
//! under `covariance_scale` the standard deviations of their noise, in one order and joined by `; `, as several noises are.
//! A file keeps the columns of its header.

use std::borrow::Cow;

use crate::mechanisms::release_line::{CellLine, LineCovariance, ReleaseLine, Says};

const COLUMNS: &str = "release,start,end,key,value,low,high,confidence,noise,scale,id,promise,status,why,cells,seq,chain,\
    q,tau,rank_error,total,strategy,ledger,interval_of,of";

/// The number of columns.
const WIDTH: usize = 25;

const DEMO: &str = ",demo,tally,truth,off";

const WIDE: &str = ",rollup,covariance_with,covariance,covariance_scale";

/// The columns of [`WIDE`] of a record that has nothing in them.
const NOTHING_WIDE: &str = ",,,,";

/// The columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableColumns {
    /// True for a demonstration, which has exact values.
    pub(super) demo: bool,
    /// True if there are columns for roll-ups and covariances.
    pub(super) wide: bool,
}

impl TableColumns {
    /// The columns of a job without roll-ups and covariances.
    pub(super) fn narrow(demo: bool) -> TableColumns {
        TableColumns { demo, wide: false }
    }

    fn all() -> [TableColumns; 4] {
        let both = |demo| [false, true].map(|wide| TableColumns { demo, wide });
        let ([narrow, wide], [narrow_demo, wide_demo]) = (both(false), both(true));
        [narrow, wide, narrow_demo, wide_demo]
    }

    /// Returns the columns with this header line; `None` if it is none.
    pub(super) fn of_header(line: &[u8]) -> Option<TableColumns> {
        TableColumns::all().into_iter().find(|columns| columns.header().as_bytes() == line)
    }

    /// Returns true if a header of releases, or of a demonstration, begins so.
    pub(super) fn begin_with(line: &[u8], demo: bool) -> bool {
        let of_kind = TableColumns::all().into_iter().filter(|columns| columns.demo == demo);
        of_kind.into_iter().any(|columns| columns.header().as_bytes().starts_with(line))
    }

    /// Returns the header line.
    pub(super) fn header(self) -> String {
        let [demo, wide] =
            [(self.demo, DEMO), (self.wide, WIDE)].map(|(has, columns)| if has { columns } else { "" });
        format!("{COLUMNS}{demo}{wide}\n")
    }

    /// Returns the number of fields of a record.
    pub(super) fn width(self) -> usize {
        WIDTH + 4 * (usize::from(self.demo) + usize::from(self.wide))
    }

    /// Returns the record of a line that is no value as a table without the columns for roll-ups has it: the same row is
    /// known in either.
    pub(super) fn without_wide(self, record: &str) -> &str {
        let narrow = record.strip_suffix(NOTHING_WIDE).filter(|_| self.wide);
        narrow.unwrap_or(record)
    }
}

/// The columns of the fields that a reader of the table looks up.
pub(super) const ID: usize = 10;
pub(super) const STATUS: usize = 12;
pub(super) const CELLS: usize = 14;
const RANKS: usize = 17;

/// The status of a query that the bundle has refused.
pub(super) const UNANSWERED: &str = "unanswered";

/// The column of the key.
const KEY: usize = 3;
const PROMISE: usize = 11;
const TOTAL: usize = 20;
pub(super) const LEDGER: usize = 22;
const INTERVAL_OF: usize = 23;
const OF: usize = 24;

/// Returns a line as a record with its line end; `None` if it is no line of a release.
pub(super) fn record(line: &str, columns: TableColumns) -> Option<String> {
    let ReleaseLine { release, window, says, .. } = ReleaseLine::read(line)?;
    let mut fields: [Cow<'_, str>; WIDTH] = std::array::from_fn(|_| "".into());
    let mut exact: [&str; 3] = [""; 3];
    let mut wide = NOTHING_WIDE.to_owned();
    let mut fill = |values: &mut dyn Iterator<Item = (usize, Cow<'_, str>)>| {
        values.for_each(|(at, value)| fields[at] = Cow::Owned(value.into_owned()));
    };
    let place = [release, window.start.unwrap_or_default().into(), window.end.unwrap_or_default().into()];
    fill(&mut (0..).zip(place));
    match says {
        Says::Cell(cell) => {
            exact = [cell.tally, cell.truth, cell.off].map(Option::unwrap_or_default);
            fill(&mut (3..).zip(numbers(&cell)));
            let why = if cell.insufficient { "insufficient" } else { "" };
            fill(&mut (STATUS..).zip(["value".into(), why.into()]));
            fill(&mut (RANKS..).zip(ranks(&cell)));
            fill(&mut cell.of.iter().map(|of| (OF, of.text().into())));
            wide = wide_fields(&cell);
            fill(&mut cell.interval_of.into_iter().map(|of| (INTERVAL_OF, of)));
        }
        Says::Answer(answer) => {
            exact[0] = answer.tally.unwrap_or_default();
            fill(&mut answer.cell.iter().flat_map(|cell| (3..).zip(numbers(cell))));
            let by = format!("{} {}", answer.analyst, answer.question);
            let status = if answer.cell.is_some() { "value" } else { UNANSWERED };
            let fields =
                [(KEY, by.into()), (ID, answer.id), (PROMISE, answer.promise), (STATUS, status.into())];
            let window = [answer.version.start, answer.version.end].map(Option::unwrap_or_default).join("/");
            fill(&mut fields.into_iter().chain([(OF, answer.asked), (TOTAL, window.into())]));
        }
        Says::Closed { cells, sequence, chain, ledger } => {
            let last =
                ["closed".into(), "".into(), cells.to_string().into(), sequence.to_string().into(), chain];
            fill(&mut (STATUS..).zip(last));
            fill(&mut ledger.into_iter().map(|ledger| (LEDGER, ledger)));
        }
        Says::Refused(refused) => {
            let why = format!(
                "{} of {}: spent {}; asked {}; limit {}",
                refused.by, refused.account, refused.spent, refused.asked, refused.limit
            );
            fill(&mut (STATUS..).zip(["refused".into(), why.into()]));
        }
        Says::Never(word, why) => {
            fill(&mut (STATUS..).zip([word.into(), why.unwrap_or_default()]));
        }
    }
    let mut text = fields.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",");
    if columns.demo {
        text += &format!(",true,{}", exact.join(","));
    }
    if columns.wide {
        text += &wide;
    }
    Some(text + "\n")
}

/// Returns the fields from the key to the promise. Several noises are joined by `;`.
fn numbers<'a>(cell: &'a CellLine<'_>) -> [Cow<'a, str>; 9] {
    let joined = |parts: Vec<String>| Cow::Owned(parts.join("; "));
    let kinds = cell.noise.iter().map(|law| match &law.number {
        Some(number) => format!("{number} {}", law.kind),
        None => law.kind.to_string(),
    });
    [
        cell.key_text().unwrap_or_default(),
        cell.value.unwrap_or_default().into(),
        cell.low.unwrap_or_default().into(),
        cell.high.unwrap_or_default().into(),
        cell.confidence.into(),
        joined(kinds.collect()),
        joined(cell.noise.iter().map(|law| law.scale().to_owned()).collect()),
        (*cell.id).into(),
        (*cell.promise).into(),
    ]
}

/// Returns the fraction of a quantile, the promise about its rank, the windows of a total, and the strategy
/// of its noise.
fn ranks<'a>(cell: &'a CellLine<'_>) -> [Cow<'a, str>; 5] {
    let tau = cell.noise.iter().find_map(|law| law.tau).map(|tau| tau.to_string());
    let error = cell.noise.iter().find_map(|law| Some(law.rank_error()?.into()));
    let within = cell.noise.iter().find_map(|law| law.within).map(|within| within.to_string().into());
    let strategy = cell.noise.iter().find_map(|law| law.strategy.as_deref());
    [
        cell.q.unwrap_or_default().into(),
        tau.unwrap_or_default().into(),
        error.or(within).unwrap_or_default(),
        cell.total.as_deref().unwrap_or_default().into(),
        strategy.unwrap_or_default().into(),
    ]
}

/// Returns the columns for roll-ups and covariances, each with a comma before it.
fn wide_fields(cell: &CellLine<'_>) -> String {
    let joined = |field: fn(&LineCovariance<'_>) -> String| {
        cell.covariance.iter().map(field).collect::<Vec<_>>().join("; ")
    };
    let rollup = if cell.rollup { "true" } else { "" };
    let with = joined(|covariance| covariance.with.text().to_owned());
    // Digits, signs and separators alone are no formula.
    let value = joined(|covariance| covariance.value.get().to_owned());
    let scale = joined(|covariance| covariance.scale.get().to_owned());
    format!(",{rollup},{},{value},{scale}", quoted(&with))
}

/// Quotes a field for a record.
fn quoted(text: &str) -> Cow<'_, str> {
    let risky = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\'']) && !is_number(text);
    let text: Cow<'_, str> = if risky { format!("'{text}").into() } else { text.into() };
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text
    }
}

/// Returns true if the text is a number of JSON.
fn is_number(text: &str) -> bool {
    // A parser of JSON skips spaces around a number.
    let starts =
        text.trim() == text && text.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit());
    starts && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// Returns the fields of a record without its line end; `None` if quotes are not as [`record`] writes them.
pub(super) fn fields(record: &str) -> Option<Vec<Cow<'_, str>>> {
    let (mut fields, mut rest) = (Vec::new(), record);
    loop {
        let (field, after): (Cow<'_, str>, &str) = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].into(), &rest[end..])
            }
            Some(inner) => {
                let ends = |at: &usize| inner.as_bytes().get(at + 1) != Some(&b'"');
                let end = closing_quote(inner).filter(ends)?;
                (inner[..end].replace("\"\"", "\"").into(), &inner[end + 1..])
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return after.is_empty().then_some(fields),
        }
    }
}

/// Returns the position of the first quote that is not one of two.
fn closing_quote(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('"')?;
        if text.as_bytes().get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}
