//! One number of a released line: its key, its noise and its covariances.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::number;
use super::{LineWindow, RankInterval};
use crate::mechanisms::Crossing;

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
    pub(super) fn read(line: CovarianceFields<'a>) -> Option<LineCovariance<'a>> {
        Some(LineCovariance { with: LineKey::read(line.with).ok()?, value: line.value, scale: line.scale })
    }
}

#[derive(Deserialize)]
pub(super) struct CovarianceFields<'a> {
    #[serde(borrow)]
    with: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(borrow)]
    pub(super) scale: &'a RawValue,
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
    pub(super) fn read(value: &'a RawValue) -> serde_json::Result<LineKey<'a>> {
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
    pub(super) scale: &'a RawValue,
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
    above: Option<u64>,
    surely: Option<u64>,
    alarms: Option<u32>,
    alarms_left: Option<u32>,
    /// The distance by which the number of a picked key may be below the largest that was left.
    pub(crate) within: Option<u64>,
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

    /// Returns what an alert says of the number, if it is one.
    pub(crate) fn crossing(&self) -> Option<Crossing> {
        let (above, surely) = self.above.zip(self.surely)?;
        let (alarms, left) = self.alarms.zip(self.alarms_left)?;
        Some(Crossing { above, surely, alarms, left })
    }

    fn ranked(&self) -> Option<RankInterval> {
        if let Some(tau) = self.tau {
            return Some(RankInterval::Largest(tau.saturating_mul(2)));
        }
        if let Some(within) = self.within {
            return Some(RankInterval::Behind(within));
        }
        // The cast yields 2^64 - 1 at most.
        let error: f64 = self.rank_error()?.parse().ok()?;
        Some(RankInterval::Near(error.ceil() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::release_line::{ReleaseLine, Says};

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
}
