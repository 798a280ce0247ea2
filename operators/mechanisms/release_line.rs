//! The parser of released lines: each is a cell of a window, the end of a window, or the only line of a
//! window.
//!
//! Numbers remain the text that they are, so that a copy has every digit. Unknown fields are ignored: a later
//! version may add some.

mod cell;
#[cfg(feature = "cli")]
mod damage;
#[cfg(feature = "cli")]
mod digits;
mod fields;
mod ranks;

use std::borrow::Cow;

pub(crate) use cell::{CellLine, CellNoise, LineCovariance, LineKey};
#[cfg(feature = "cli")]
pub use damage::LineError;
#[cfg(feature = "cli")]
pub(crate) use digits::ShownNumbers;
use fields::LineFields;
pub(crate) use ranks::RankInterval;
#[cfg(feature = "cli")]
pub(crate) use ranks::{silent_among, spans_nearly};
use serde::Deserialize;

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

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#""release":"visits","window":{"start":"2026-11-01T00:00:00Z","end":null}"#;

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
