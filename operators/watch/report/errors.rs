//! How far what was told is from what is so, where that is known: in a demo. Otherwise, how far it may be.

use super::draw::{grouped, percent, said};
use super::ranks::Off;
use crate::told::CellLine;

/// In a demo, how far what was told is from what is so; otherwise how wide intervals are.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    /// Between truth and tally: what the bound left out.
    pub(super) bound: ErrorMean,
    /// Between tally and value: what the noise added.
    pub(super) noise: ErrorMean,
    /// So many intervals hold their tally.
    pub(super) held: u64,
    /// Where ranks are promised instead.
    pub(super) off: Off,
    /// Half of each interval over its value, of those that were looked at.
    pub(super) relative: Vec<f32>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorMean {
    sum: f64,
    pub(super) count: u64,
}

impl ErrorMean {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn value(&self) -> Option<f64> {
        Some(self.sum / self.count as f64).filter(|mean| mean.is_finite())
    }
}

/// A median of so many is exact enough.
const LOOKED_AT: usize = 100_000;

/// Beyond it, differences of numbers are no longer numbers.
const FINITE: f64 = 1e300;

impl Errors {
    pub(super) fn take(&mut self, cell: &CellLine<'_>) {
        let Some(value) = finite(cell.value) else { return };
        // A value that is found by its rank is off by people, and by nothing else that is promised.
        if cell.ranked().is_some() {
            return self.off.take(cell);
        }
        if let (Some(low), Some(high)) = (finite(cell.low), finite(cell.high))
            && self.relative.len() < LOOKED_AT
            && value != 0.0
        {
            self.relative.push(((high - low) / 2.0 / value.abs()) as f32);
        }
        let Some(tally) = finite(cell.tally) else { return };
        self.noise.add((value - tally).abs());
        if let Some(truth) = finite(cell.truth) {
            self.bound.add((truth - tally).abs());
        }
        self.held += u64::from(holds(cell.low, cell.tally, cell.high));
    }

    /// Whether the bound or the noise takes more, and what to do about it.
    pub(super) fn advice(&self) -> Option<String> {
        let (bound, noise) = (self.bound.value()?, self.noise.value()?);
        let (bound_said, noise_said) = (said(bound), said(noise));
        Some(if bound > 2.0 * noise {
            format!(
                "The bound leaves out more than the noise adds, {bound_said} against {noise_said}: a larger bound lets \
                 each person count for more, and asks for more noise."
            )
        } else if noise > 2.0 * bound {
            format!(
                "The noise adds more than the bound leaves out, {noise_said} against {bound_said}: try a smaller bound, \
                 longer windows or a larger budget."
            )
        } else {
            "Bound and noise take about as much, so the bound suits this budget.".to_owned()
        })
    }

    /// How many intervals hold what they are about, beside how many should.
    pub(super) fn share(&self, confidence: Option<&str>) -> Option<String> {
        if self.noise.count == 0 {
            return None;
        }
        let promised = confidence.and_then(|part| part.parse::<f64>().ok());
        let promised = promised.map_or(String::new(), |part| format!("; {} are promised to", percent(part)));
        Some(format!(
            "{} of {} intervals hold what they are about, the exact number after the bound: {}{promised}.",
            grouped(&self.held.to_string()),
            grouped(&self.noise.count.to_string()),
            percent(self.held as f64 / self.noise.count as f64)
        ))
    }

    /// How wide intervals are, over their values: the middle one.
    pub(super) fn reach(&self) -> Option<String> {
        let mut all = self.relative.clone();
        all.sort_by(f32::total_cmp);
        let typical =
            all.get(all.len() / 2).map(|middle| f64::from(*middle)).filter(|middle| middle.is_finite())?;
        let most = if typical < 0.001 { "" } else { "at most " };
        let part = percent(typical);
        Some(format!(
            "Half of the intervals reach {most}{part} of their value to either side. What the bound left out is \
             private, and known to nobody."
        ))
    }
}

/// Whether an interval holds a number: in whole numbers where all three are. An end that is missing is open.
pub(super) fn holds(low: Option<&str>, tally: Option<&str>, high: Option<&str>) -> bool {
    let (low, high) = (low.or(tally), high.or(tally));
    let whole = |text: Option<&str>| text?.parse::<i128>().ok();
    match (whole(low), whole(tally), whole(high)) {
        (Some(low), Some(tally), Some(high)) => low <= tally && tally <= high,
        _ => match (finite(low), finite(tally), finite(high)) {
            (Some(low), Some(tally), Some(high)) => low <= tally && tally <= high,
            _ => false,
        },
    }
}

/// As a place on a picture.
pub(super) fn finite(text: Option<&str>) -> Option<f64> {
    text?.parse::<f64>().ok().filter(|value| value.abs() < FINITE)
}
