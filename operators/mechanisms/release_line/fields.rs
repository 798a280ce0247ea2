//! The parser of the fields that any line may have, and what they say together.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cell::CovarianceFields;
use super::{AnswerLine, CellLine, LineCovariance, LineKey, LineWindow, RefusedLine, Says};

/// The fields that any line may have.
#[derive(Deserialize)]
pub(super) struct LineFields<'a> {
    #[serde(borrow)]
    pub(super) release: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) window: LineWindow<'a>,
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
    pub(super) promise: Option<Cow<'a, str>>,
    pub(super) demo: Option<bool>,
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
    pub(super) fn says(self) -> Option<Says<'a>> {
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

pub(super) fn number(value: Option<&RawValue>) -> Option<&str> {
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
