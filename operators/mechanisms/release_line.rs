//! The parser of released lines: each is a cell of a window, the end of a window, or the only line of a
//! window.
//!
//! Numbers remain the text that they are, so that a copy has every digit. Unknown fields are ignored: a later
//! version may add some.

#[cfg(feature = "cli")]
mod damage;
#[cfg(feature = "cli")]
mod digits;

use std::borrow::Cow;

#[cfg(feature = "cli")]
pub use damage::LineError;
#[cfg(feature = "cli")]
pub(crate) use digits::ShownNumbers;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A released line, with its release and its window.
#[derive(Debug)]
pub(crate) struct ReleaseLine<'a> {
    pub(crate) release: Cow<'a, str>,
    pub(crate) window: LineWindow<'a>,
    pub(crate) says: Says<'a>,
    /// True if the line comes from a demonstration, where nothing is private.
    pub(crate) demo: bool,
}

/// The window of a line; an end beyond the year 9999 has no text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct LineWindow<'a> {
    pub(crate) start: Option<&'a str>,
    pub(crate) end: Option<&'a str>,
}

/// The content of a line about its window.
#[derive(Debug)]
pub(crate) enum Says<'a> {
    Cell(Box<CellLine<'a>>),
    /// The answer of a query.
    Answer(Box<AnswerLine<'a>>),
    /// The end of a window, after all of its cells.
    Closed {
        cells: u64,
        sequence: i64,
        chain: Cow<'a, str>,
        /// The name of the ledger, in a file.
        ledger: Option<Cow<'a, str>>,
    },
    Refused(RefusedLine<'a>),
    /// A window that was skipped or lost: its status, with the reason if the line has one.
    Never(&'static str, Option<Cow<'a, str>>),
}

/// The answer of a query.
#[derive(Debug)]
pub(crate) struct AnswerLine<'a> {
    /// The id of the query.
    pub(crate) question: Cow<'a, str>,
    pub(crate) analyst: Cow<'a, str>,
    /// The time of the query.
    pub(crate) at: Cow<'a, str>,
    /// The query in words.
    pub(crate) asked: Cow<'a, str>,
    /// The window whose records were counted.
    pub(crate) version: LineWindow<'a>,
    /// The number; `None` if the bundle had no answer left for the analyst.
    pub(crate) cell: Option<CellLine<'a>>,
    /// The id of the release.
    pub(crate) id: Cow<'a, str>,
    pub(crate) promise: Cow<'a, str>,
    /// The number of answers of the analyst's share that were left after it.
    pub(crate) left: Option<u64>,
    /// The exact number with the contribution bound, in a demonstration.
    pub(crate) tally: Option<&'a str>,
}

/// One number of an answer.
#[derive(Debug)]
pub(crate) struct CellLine<'a> {
    pub(crate) key: Option<LineKey<'a>>,
    /// True if the key is a parent of others, and the number the total of all of them.
    pub(crate) rollup: bool,
    /// The fraction of the quantile, if it is one.
    pub(crate) q: Option<&'a str>,
    /// The name of the coordinate of a vector, or its place from 0.
    pub(crate) of: Option<LineKey<'a>>,
    /// The released number; `None` if the cell has none.
    pub(crate) value: Option<&'a str>,
    pub(crate) low: Option<&'a str>,
    pub(crate) high: Option<&'a str>,
    /// True if there were too few people for an answer.
    pub(crate) insufficient: bool,
    /// The fitted value and the name of its fit, which are made of released lines and stand in none that a run writes.
    pub(crate) fitted: Option<(&'a str, Cow<'a, str>)>,
    /// The number that the interval holds, unless it is the exact one: `bounded`.
    pub(crate) interval_of: Option<Cow<'a, str>>,
    /// The windows that the cell covers, unless it is the line's own: `so far`, `last 7`.
    pub(crate) total: Option<Cow<'a, str>>,
    /// The spans of windows that a total leaves out.
    pub(crate) gaps: Vec<LineWindow<'a>>,
    pub(crate) confidence: &'a str,
    pub(crate) noise: Vec<CellNoise<'a>>,
    /// The covariances with the coordinates of a vector, where they are released.
    pub(crate) covariance: Vec<LineCovariance<'a>>,
    /// The noise as it is written.
    pub(crate) noise_text: &'a str,
    pub(crate) id: Cow<'a, str>,
    pub(crate) promise: Cow<'a, str>,
    /// The exact number with the contribution bound, in a demonstration.
    pub(crate) tally: Option<&'a str>,
    /// The exact number without the contribution bound, in a demonstration.
    pub(crate) truth: Option<&'a str>,
    /// The number of people by which the value is off, in a demonstration of a guarantee about ranks.
    pub(crate) off: Option<&'a str>,
}

/// The covariance of the coordinate of a line with one of its key.
#[derive(Debug)]
pub(crate) struct LineCovariance<'a> {
    /// The name of the other coordinate, or its place from 0.
    pub(crate) with: LineKey<'a>,
    pub(crate) value: &'a RawValue,
    /// The standard deviation of the noise.
    pub(crate) scale: &'a RawValue,
}

impl<'a> LineCovariance<'a> {
    fn read(line: CovarianceFields<'a>) -> Option<LineCovariance<'a>> {
        Some(LineCovariance { with: LineKey::read(line.with).ok()?, value: line.value, scale: line.scale })
    }
}

#[derive(Deserialize)]
struct CovarianceFields<'a> {
    #[serde(borrow)]
    with: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(borrow)]
    scale: &'a RawValue,
}

/// The guarantee about a value's rank among people, for values whose interval says nothing of their distance
/// from the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankInterval {
    /// The maximum number of people at or above the value.
    Largest(u64),
    /// The maximum number of people at or below the value.
    Smallest(u64),
    /// The maximum number of people between the value and the requested quantile.
    Near(u64),
}

impl RankInterval {
    /// Returns the number of people by which the value may be off.
    pub(crate) fn allowed(self) -> u64 {
        match self {
            RankInterval::Largest(people) | RankInterval::Smallest(people) | RankInterval::Near(people) => {
                people
            }
        }
    }
}

/// Says among how many values a quantile whose rank may be off by `error` says next to nothing: among them, nothing bounds it from
/// either side. `unit` is the noun of what is ranked.
pub(crate) fn silent_among(
    q: &str,
    error: u64,
    unit: &str,
    number: impl Fn(u64) -> String,
) -> Option<String> {
    const MILLION: u64 = 1_000_000;
    let q: f64 = q.parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
    // Fractions have six digits. The cast is of a number from 0 to a million.
    let below = (q * MILLION as f64).round() as u64;
    // With as many values or fewer, no more than `error` of them are on that side of the quantile.
    let up_to = |part: u64| error.saturating_mul(MILLION).checked_div(part);
    let (from_above, from_below) = (up_to(MILLION - below), up_to(below));
    let both = number(from_above.into_iter().chain(from_below).min()?);
    let side = if from_below.is_some_and(|below| from_above.is_none_or(|above| above > below)) {
        "from above"
    } else {
        "from below"
    };
    Some(match (from_above, from_below) {
        (Some(above), Some(below)) if above == below => {
            format!("among {both} {unit} or fewer it says next to nothing")
        }
        (Some(above), Some(below)) => format!(
            "among {} {unit} or fewer nothing bounds it {side}, and among {both} or fewer it says next to nothing",
            number(above.max(below))
        ),
        _ => format!("nothing bounds it {side}, and among {both} {unit} or fewer it says next to nothing"),
    })
}

/// Returns true if an interval has nine tenths of the range that a number lies in whatever the records are.
pub(crate) fn spans_nearly((low, high): (f64, f64), (least, most): (f64, f64)) -> bool {
    high.min(most) - low.max(least) >= 0.9 * (most - least)
}

impl CellLine<'_> {
    /// Returns the key as one text. That of a parent is its list in JSON, in which no comma has a space behind it, so that it is
    /// the text of no key of several parts.
    pub(crate) fn key_text(&self) -> Option<Cow<'_, str>> {
        Some(match self.key.as_ref()? {
            LineKey::Texts { parts, .. } if self.rollup => {
                let list = serde_json::to_string(parts).unwrap_or_default();
                list.replace(", ", ",\\u0020").into()
            }
            key => key.text().into(),
        })
    }

    pub(crate) fn ranked(&self) -> Option<RankInterval> {
        match self.noise.iter().find_map(CellNoise::ranked) {
            // The open end says on which side of the value the exact one is.
            Some(RankInterval::Largest(people)) if self.low.is_none() && self.high.is_some() => {
                Some(RankInterval::Smallest(people))
            }
            ranked => ranked,
        }
    }
}

/// The key of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineKey<'a> {
    /// A number, as its digits.
    Number(&'a str),
    Text(Cow<'a, str>),
    /// Several texts, and all of them as one for people.
    Texts {
        parts: Vec<String>,
        joined: String,
    },
}

impl<'a> LineKey<'a> {
    fn read(value: &'a RawValue) -> serde_json::Result<LineKey<'a>> {
        match value.get() {
            text if text.starts_with('"') => Ok(LineKey::Text(Cow::Owned(serde_json::from_str(text)?))),
            list if list.starts_with('[') => {
                let parts: Vec<String> = serde_json::from_str(list)?;
                Ok(LineKey::Texts { joined: parts.join(", "), parts })
            }
            number => Ok(LineKey::Number(number)),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            LineKey::Number(text) => text,
            LineKey::Text(text) => text,
            LineKey::Texts { joined, .. } => joined,
        }
    }
}

/// The noise of a cell.
#[derive(Debug, Deserialize)]
pub(crate) struct CellNoise<'a> {
    /// The name of the number that the noise is added to, if the cell has several.
    #[serde(borrow)]
    pub(crate) number: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    scale: &'a RawValue,
    /// The number of comparisons that carry the noise, in a search for an answer.
    pub(crate) comparisons: Option<u64>,
    /// The parameter tau of a search for the largest value: at most twice this number of people are above the
    /// answer; below it, if the smallest is searched for.
    pub(crate) tau: Option<u64>,
    /// The strategy that correlates the noise of running totals.
    #[serde(borrow)]
    pub(crate) strategy: Option<Cow<'a, str>>,
    #[serde(borrow)]
    rank_error: Option<&'a RawValue>,
    #[serde(borrow)]
    over_bound: Option<&'a RawValue>,
    #[serde(borrow)]
    grid: Option<&'a RawValue>,
    /// The assumption that is made and not proved.
    #[serde(borrow)]
    pub(crate) assumes: Option<Cow<'a, str>>,
}

impl CellNoise<'_> {
    pub(crate) fn scale(&self) -> &str {
        self.scale.get()
    }

    /// Returns the number of people by which a rank may be off.
    pub(crate) fn rank_error(&self) -> Option<&str> {
        number(self.rank_error)
    }

    /// Returns the standard deviation over the least that is possible at the same price.
    pub(crate) fn over_bound(&self) -> Option<&str> {
        number(self.over_bound)
    }

    /// Returns the step of the public grid of a stable mean.
    pub(crate) fn grid(&self) -> Option<&str> {
        number(self.grid)
    }

    fn ranked(&self) -> Option<RankInterval> {
        if let Some(tau) = self.tau {
            return Some(RankInterval::Largest(tau.saturating_mul(2)));
        }
        // The cast yields 2^64 - 1 at most.
        let error: f64 = self.rank_error()?.parse().ok()?;
        Some(RankInterval::Near(error.ceil() as u64))
    }
}

/// The refusal of a window, in the amounts of its budget.
#[derive(Debug)]
pub(crate) struct RefusedLine<'a> {
    pub(crate) by: Cow<'a, str>,
    pub(crate) account: Cow<'a, str>,
    pub(crate) spent: String,
    pub(crate) asked: String,
    pub(crate) limit: String,
}

impl<'a> ReleaseLine<'a> {
    /// Parses a line; `None` if it is none of these.
    pub(crate) fn read(text: &'a str) -> Option<ReleaseLine<'a>> {
        let fields: LineFields<'a> = serde_json::from_str(text).ok()?;
        let (release, window, demo) = (fields.release.clone(), fields.window, fields.demo.unwrap_or(false));
        Some(ReleaseLine { release, window, says: fields.says()?, demo })
    }

    /// Parses the release, the window and the promise of any line, such as the answer of a query.
    #[cfg(feature = "cli")]
    pub(crate) fn head(text: &'a str) -> Option<(Cow<'a, str>, LineWindow<'a>, Option<Cow<'a, str>>)> {
        let fields: LineFields<'a> = serde_json::from_str(text).ok()?;
        Some((fields.release, fields.window, fields.promise))
    }
}

/// The fields that any line may have.
#[derive(Deserialize)]
struct LineFields<'a> {
    #[serde(borrow)]
    release: Cow<'a, str>,
    #[serde(borrow)]
    window: LineWindow<'a>,
    #[serde(borrow)]
    question: Option<Cow<'a, str>>,
    #[serde(borrow)]
    analyst: Option<Cow<'a, str>>,
    #[serde(borrow)]
    version: Option<LineWindow<'a>>,
    left: Option<u64>,
    #[serde(borrow)]
    key: Option<&'a RawValue>,
    rollup: Option<bool>,
    #[serde(borrow)]
    q: Option<&'a RawValue>,
    #[serde(borrow)]
    of: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    interval: Option<[Option<&'a RawValue>; 2]>,
    insufficient: Option<bool>,
    #[serde(borrow)]
    fitted: Option<&'a RawValue>,
    #[serde(borrow)]
    fitted_by: Option<Cow<'a, str>>,
    #[serde(borrow)]
    interval_of: Option<Cow<'a, str>>,
    #[serde(borrow)]
    total: Option<Cow<'a, str>>,
    #[serde(borrow)]
    gaps: Option<Vec<LineWindow<'a>>>,
    #[serde(borrow)]
    confidence: Option<&'a RawValue>,
    #[serde(borrow)]
    noise: Option<&'a RawValue>,
    #[serde(borrow)]
    covariance: Option<Vec<CovarianceFields<'a>>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    promise: Option<Cow<'a, str>>,
    demo: Option<bool>,
    #[serde(borrow)]
    tally: Option<&'a RawValue>,
    #[serde(borrow)]
    truth: Option<&'a RawValue>,
    #[serde(borrow)]
    off: Option<&'a RawValue>,
    closed: Option<bool>,
    cells: Option<u64>,
    seq: Option<i64>,
    #[serde(borrow)]
    chain: Option<Cow<'a, str>>,
    #[serde(borrow)]
    ledger: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refused: Option<Cow<'a, str>>,
    #[serde(borrow)]
    account: Option<Cow<'a, str>>,
    #[serde(borrow)]
    spent: Option<&'a RawValue>,
    #[serde(borrow)]
    asked: Option<&'a RawValue>,
    #[serde(borrow)]
    at: Option<Cow<'a, str>>,
    #[serde(borrow)]
    limit: Option<&'a RawValue>,
    skipped: Option<bool>,
    lost: Option<bool>,
    #[serde(borrow)]
    why: Option<Cow<'a, str>>,
}

impl<'a> LineFields<'a> {
    fn says(self) -> Option<Says<'a>> {
        if self.closed == Some(true) {
            let (cells, sequence, chain) = (self.cells?, self.seq?, self.chain?);
            return Some(Says::Closed { cells, sequence, chain, ledger: self.ledger });
        }
        // The refusal of a budget names an account, and that of a bundle a query.
        if self.question.is_some() && self.account.is_none() {
            return self.answer().map(|answer| Says::Answer(Box::new(answer)));
        }
        if let Some(by) = self.refused {
            let (spent, asked, limit) = (amount(self.spent?), amount(self.asked?), amount(self.limit?));
            return Some(Says::Refused(RefusedLine { by, account: self.account?, spent, asked, limit }));
        }
        if let (Some(true), _) | (_, Some(true)) = (self.skipped, self.lost) {
            let word = if self.skipped == Some(true) { "skipped" } else { "lost" };
            return Some(Says::Never(word, self.why));
        }
        self.cell().map(|cell| Says::Cell(Box::new(cell)))
    }

    fn answer(mut self) -> Option<AnswerLine<'a>> {
        let (question, analyst) = (self.question.take()?, self.analyst.take()?);
        let (id, promise, tally) = (self.id.clone()?, self.promise.clone()?, number(self.tally));
        let left = self.left;
        Some(AnswerLine {
            question,
            analyst,
            at: self.at.clone()?,
            asked: Cow::Owned(serde_json::from_str(self.asked?.get()).ok()?),
            version: self.version?,
            cell: if self.refused.is_some() { None } else { Some(self.cell()?) },
            id,
            promise,
            left,
            tally,
        })
    }

    fn cell(self) -> Option<CellLine<'a>> {
        let [low, high] = self.interval?;
        let noise_text = self.noise?.get();
        let noise = if noise_text.starts_with('[') {
            serde_json::from_str(noise_text).ok()?
        } else {
            vec![serde_json::from_str(noise_text).ok()?]
        };
        Some(CellLine {
            key: self.key.map(LineKey::read).transpose().ok()?,
            rollup: self.rollup.unwrap_or(false),
            q: number(self.q),
            of: self.of.map(LineKey::read).transpose().ok()?,
            value: number(self.value),
            low: number(low),
            high: number(high),
            insufficient: self.insufficient.unwrap_or(false),
            fitted: number(self.fitted).zip(self.fitted_by),
            interval_of: self.interval_of,
            total: self.total,
            gaps: self.gaps.unwrap_or_default(),
            confidence: self.confidence?.get(),
            noise,
            covariance: (self.covariance.into_iter().flatten())
                .map(LineCovariance::read)
                .collect::<Option<_>>()?,
            noise_text,
            id: self.id?,
            promise: self.promise?,
            tally: number(self.tally),
            truth: number(self.truth),
            off: number(self.off),
        })
    }
}

fn number(value: Option<&RawValue>) -> Option<&str> {
    let starts = |text: &&str| text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    value.map(RawValue::get).filter(starts)
}

/// Formats `{"rho":0.5,"delta":1e-9}` in words: `rho 0.5, delta 1e-9`. A part that is zero is left out beside
/// others.
fn amount(value: &RawValue) -> String {
    let text = value.get();
    if let Ok(words) = serde_json::from_str::<String>(text) {
        return words;
    }
    let bare = text.trim_start_matches('{').trim_end_matches('}');
    let parts = bare.split(',').filter_map(|part| part.split_once(':'));
    let said = |(name, number): (&str, &str)| format!("{} {}", name.trim().trim_matches('"'), number.trim());
    let zero = |number: &str| number.trim().parse() == Ok(0.0);
    let some: Vec<String> = parts
        .enumerate()
        .filter(|(at, part)| *at == 0 || !zero(part.1))
        .map(|(_, part)| said(part))
        .collect();
    some.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#""release":"visits","window":{"start":"2026-11-01T00:00:00Z","end":null}"#;

    // Refutes digits that a float would lose, a key that is read as its JSON, and a noise distribution that
    // is ignored.
    #[test]
    fn a_cell_is_read_to_the_digit() {
        let text = format!(
            r#"{{{HEAD},"key":"a\"\n","value":170141183460469231731687303715884105727,"interval":[-1.50,1e3],"confidence":0.9,"noise":[{{"number":"sum","kind":"laplace","scale":7.0}},{{"number":"records","kind":"laplace","scale":35.50}}],"id":"5f","promise":"lifetime","demo":true,"tally":-3,"truth":null}}"#
        );
        let line = ReleaseLine::read(&text).unwrap();
        let Says::Cell(cell) = &line.says else { panic!("{line:?}") };
        assert_eq!((&*line.release, line.window.end, line.demo), ("visits", None, true));
        assert_eq!(cell.key.as_ref().map(LineKey::text), Some("a\"\n"));
        assert_eq!(cell.value, Some("170141183460469231731687303715884105727"));
        assert_eq!((cell.low, cell.high), (Some("-1.50"), Some("1e3")));
        assert_eq!((cell.tally, cell.truth), (Some("-3"), None));
        assert_eq!(cell.noise.iter().map(CellNoise::scale).collect::<Vec<_>>(), ["7.0", "35.50"]);
        let whole =
            text.replace(r#""key":"a\"\n","#, "").replace("170141183460469231731687303715884105727", "null");
        let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&whole) else {
            panic!("{whole}")
        };
        assert_eq!((cell.key, cell.value), (None, None));
    }

    // Refutes a parent whose text is that of a key of several parts, which a table would add to it.
    #[test]
    fn the_text_of_a_parent_is_that_of_no_key() {
        let text = |fields: &str| {
            let line = format!(
                r#"{{{HEAD},{fields},"value":3,"interval":[1,5],"confidence":0.9,"noise":{{"kind":"gaussian","scale":4.0}},"id":"5f","promise":"lifetime"}}"#
            );
            let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&line) else {
                panic!("{line}")
            };
            (cell.rollup, cell.key_text().unwrap_or_default().into_owned())
        };
        assert_eq!(text(r#""key":["a","b"]"#), (false, "a, b".to_owned()));
        assert_eq!(text(r#""key":["a"],"rollup":true"#), (true, r#"["a"]"#.to_owned()));
        for parts in [r#"["a, b"]"#, r#"["a","b, c"]"#, r#"[", "]"#] {
            let (_, text) = text(&format!(r#""key":{parts},"rollup":true"#));
            assert!(!text.contains(", "), "{text}");
            let [written, read] =
                [parts, &text].map(|list| serde_json::from_str::<Vec<String>>(list).unwrap());
            assert_eq!(written, read);
        }
        assert_eq!(text(r#""key":"a, b""#), (false, "a, b".to_owned()));
    }

    // Refutes a guarantee about ranks that is ignored, and a quantile that is confused with another one of
    // its key.
    #[test]
    fn what_is_promised_of_ranks_is_read() {
        let max = format!(
            r#"{{{HEAD},"value":181,"interval":[174,null],"insufficient":true,"confidence":0.9,"noise":{{"kind":"gaussian","scale":10.0,"comparisons":10,"tau":33}},"id":"5f","promise":"lifetime","demo":true,"tally":190,"truth":195,"off":4}}"#
        );
        let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&max) else {
            panic!("{max}")
        };
        assert_eq!(
            (cell.ranked(), cell.off, cell.insufficient),
            (Some(RankInterval::Largest(66)), Some("4"), true)
        );
        assert_eq!((cell.noise[0].comparisons, cell.noise[0].tau, cell.q), (Some(10), Some(33), None));
        let min = max.replace("[174,null]", "[null,186]");
        let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&min) else {
            panic!("{min}")
        };
        assert_eq!((cell.ranked(), cell.low), (Some(RankInterval::Smallest(66)), None));
        let quantile = format!(
            r#"{{{HEAD},"key":"a","q":0.50,"value":3.5,"interval":[0,5],"confidence":0.9,"noise":{{"kind":"exponential","scale":4.0,"rank_error":37.2}},"id":"5f","promise":"lifetime"}}"#
        );
        let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&quantile) else {
            panic!("{quantile}")
        };
        assert_eq!(
            (cell.q, cell.ranked(), cell.insufficient),
            (Some("0.50"), Some(RankInterval::Near(38)), false)
        );
        assert_eq!((cell.noise[0].rank_error(), cell.off), (Some("37.2"), None));
        assert_eq!((cell.total.as_deref(), cell.noise[0].strategy.as_deref()), (None, None));
        let plain = quantile.replace(r#","rank_error":37.2"#, "");
        let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&plain) else {
            panic!("{plain}")
        };
        assert_eq!(cell.ranked(), None);
    }

    // Refutes a number of values among which a rank is bounded, from either side.
    #[test]
    fn a_rank_says_next_to_nothing_among_few() {
        let said =
            |q: &str, error: u64| silent_among(q, error, "values", |number| number.to_string()).unwrap();
        assert_eq!(said("0.5", 38), "among 76 values or fewer it says next to nothing");
        let above = "among 3800 values or fewer nothing bounds it from above, and among 38 or fewer it says next to nothing";
        assert_eq!(said("0.99", 38), above);
        assert_eq!(said("0.01", 38), above.replace("above", "below"));
        assert_eq!(said("0.95", 38).split(' ').nth(1), Some("760"));
        let all = "nothing bounds it from above, and among 38 values or fewer it says next to nothing";
        assert_eq!(said("1", 38), all);
        assert_eq!(said("0", 38), all.replace("above", "below"));
        assert_eq!(said("0.5", u64::MAX).split(' ').nth(1), Some((u64::MAX / 500_000).to_string().as_str()));
        // By counting: of this number of values, all may be on one side, and of one more they may not.
        for (q, error) in [(0.5, 38_u64), (0.9, 12), (0.25, 7)] {
            let text = said(&q.to_string(), error);
            let most: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
            let part = f64::min(q, 1.0 - q);
            assert!(
                most as f64 * part <= error as f64 + 1e-9 && (most + 1) as f64 * part > error as f64,
                "{text}"
            );
        }
    }

    #[test]
    fn an_interval_of_a_whole_range_is_one() {
        for (interval, spans) in [
            ((0.0, 100.0), true),
            ((5.0, 95.0), true),
            ((-1e9, 1e9), true),
            ((11.0, 100.0), false),
            ((-50.0, 89.0), false),
        ] {
            assert_eq!(spans_nearly(interval, (0.0, 100.0)), spans, "{interval:?}");
        }
    }

    // Refutes a total that is read as the value of one window.
    #[test]
    fn of_which_windows_a_total_is_and_how_it_is_noised_is_read() {
        let total = format!(
            r#"{{{HEAD},"key":"a","value":1200,"interval":[1100,1300],"total":"last 7","confidence":0.9,"noise":{{"kind":"gaussian","scale":60.8,"over_bound":1.0007,"strategy":"square-root"}},"id":"5f","promise":"lifetime","demo":true,"tally":1180,"truth":1301}}"#
        );
        let Some(ReleaseLine { says: Says::Cell(cell), .. }) = ReleaseLine::read(&total) else {
            panic!("{total}")
        };
        assert_eq!(cell.total.as_deref(), Some("last 7"));
        assert_eq!((cell.noise[0].strategy.as_deref(), cell.ranked()), (Some("square-root"), None));
        assert_eq!((cell.tally, cell.truth), (Some("1180"), Some("1301")));
    }

    #[test]
    fn the_last_lines_are_distinguished() {
        let read = |rest: &str| {
            ReleaseLine::read(&format!("{{{HEAD},{rest}}}")).map(|line| format!("{:?}", line.says))
        };
        assert!(read(r#""closed":true,"cells":3,"seq":7,"chain":"ab""#).unwrap().starts_with("Closed"));
        assert_eq!(read(r#""lost":true"#).unwrap(), r#"Never("lost", None)"#);
        assert_eq!(read(r#""lost":true,"why":"a repair""#).unwrap(), r#"Never("lost", Some("a repair"))"#);
        assert_eq!(read(r#""skipped":true"#).unwrap(), r#"Never("skipped", None)"#);
        let refused = r#""refused":"budget","account":"visits","spent":{"rho":0.5,"delta":0.0},"asked":{"rho":0.25,"delta":1e-9},"limit":{"epsilon":0.6}"#;
        let refused = read(refused).unwrap();
        for words in ["\"rho 0.5\"", "\"rho 0.25, delta 1e-9\"", "\"epsilon 0.6\""] {
            assert!(refused.contains(words), "{refused}");
        }
        for foreign in ["\"closed\":true", "\"value\":3", "\"refused\":\"budget\"", "\"lost\":false"] {
            assert!(read(foreign).is_none(), "{foreign}");
        }
        assert!(
            ReleaseLine::read("{}").is_none()
                && ReleaseLine::read("").is_none()
                && ReleaseLine::read("[1]").is_none()
        );
    }
}
