//! Coefficients over a history of ticks.

use std::collections::VecDeque;

use dashu_int::UBig;

use crate::accounting::running::toeplitz::Coefficients;

/// A measurement is the last ticks, each times its coefficient.
#[derive(Clone, Debug)]
pub(super) struct History {
    coefficients: Coefficients,
    /// The coefficients after the first over the first.
    ratios: Vec<f64>,
    work: Work,
}

/// What a total is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    SoFar,
    Last(u64),
}

/// What is kept: the ticks before, the last one first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HistoryState {
    pub(super) exact: VecDeque<i64>,
    pub(super) told: VecDeque<f64>,
    pub(super) total: f64,
}

impl History {
    pub(super) fn new(coefficients: Coefficients, work: Work) -> History {
        let first = coefficients.values.first().copied().unwrap_or(1) as f64;
        let ratios = coefficients.values.iter().skip(1).map(|value| *value as f64 / first).collect();
        History { coefficients, ratios, work }
    }

    pub(super) fn bits(&self) -> u32 {
        self.coefficients.bits
    }

    pub(super) fn width(&self) -> u64 {
        match self.work {
            Work::SoFar => 0,
            Work::Last(width) => width,
        }
    }

    /// Each tick is in as many measurements as there are coefficients; where several ticks change, lengths add up.
    pub(super) fn squared(&self, each: u64) -> UBig {
        UBig::from(self.coefficients.squared()) * UBig::from(each).pow(2)
    }

    /// How many exact and how many told ticks are kept after so many.
    pub(super) fn kept(&self, ticks: u64) -> (usize, usize) {
        let lags = self.coefficients.values.len() - 1;
        let summed = self.width().saturating_sub(1) as usize;
        let ticks = usize::try_from(ticks).unwrap_or(usize::MAX);
        (ticks.min(lags), ticks.min(lags.max(summed)))
    }

    /// Exact: 2^17 products of 63 by 21 bits are 101 bits.
    pub(super) fn measure(&self, kept: &mut HistoryState, exact: i64) -> i128 {
        kept.exact.push_front(exact);
        let products = each(&self.coefficients.values, &kept.exact);
        let measured = products.map(|(by, value)| i128::from(*by) * i128::from(*value)).sum();
        kept.exact.truncate(self.coefficients.values.len() - 1);
        measured
    }

    /// The tick that the noised measurement speaks of, by the told ones before it; and the total.
    pub(super) fn tell(&self, kept: &mut HistoryState, noised: i128) -> f64 {
        let known: f64 = each(&self.ratios, &kept.told).map(|(by, value)| by * value).sum();
        let told = noised as f64 / self.coefficients.unit() - known;
        kept.told.push_front(told);
        let total = match self.work {
            Work::SoFar => kept.total + told,
            Work::Last(width) => kept.told.iter().take(width as usize).sum(),
        };
        kept.total = total;
        kept.told.truncate(self.ratios.len().max(self.width().saturating_sub(1) as usize));
        total
    }
}

/// Each value with its coefficient, in order. A deque is two pieces of memory: over either a loop is twice as fast as over the ring.
fn each<'k, C, V>(coefficients: &'k [C], values: &'k VecDeque<V>) -> impl Iterator<Item = (&'k C, &'k V)> {
    let (recent, before) = values.as_slices();
    let rest = coefficients.get(recent.len()..).unwrap_or_default();
    coefficients.iter().zip(recent).chain(rest.iter().zip(before))
}
