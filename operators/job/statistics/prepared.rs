//! A statistic with its mechanism, prepared before any data is read.

use std::borrow::Cow;

use super::{CellKey, ConfiguredNoise, RunningTotalSpec};
use crate::accounting::ReleaseCost;
use crate::ledger::Digest;
use crate::mechanisms::running::PreparedRunning;
use crate::mechanisms::{
    ContributionBound, DecimalPoint, KeyFinding, Keys, Noised, Noisy, Paid, Prepared, RunningNumbers,
    Sensitivity,
};

/// The terms on which a release plan prepares its statistic.
#[derive(Clone, Copy)]
pub(crate) struct StatisticTerms<'t> {
    /// The contribution bound of one privacy unit.
    pub(crate) limits: ContributionBound,
    /// The keys.
    pub(crate) keys: &'t Keys<CellKey>,
    /// The decimal point of the values.
    pub(crate) point: DecimalPoint,
    /// The running total over windows, if the release has one.
    pub(crate) running: Option<RunningTotalSpec>,
    /// The number of windows, if there is a last one.
    pub(crate) windows: Option<u64>,
    /// True if the totals of the level above are released too.
    pub(crate) rollup: bool,
    /// The noise distribution, made from the cost.
    pub(crate) noise: &'t ConfiguredNoise,
}

/// The figures of a statistic with its mechanism.
#[derive(Clone, Debug)]
pub(crate) struct PreparedStatistic {
    /// The sensitivity of each number.
    pub(crate) sensitivities: Vec<NumberSensitivity>,
    /// The least noised number of people at which a key is released, with partition selection.
    pub(crate) threshold: Option<i64>,
    /// The people and the noise with which keys are found, with partition selection.
    pub(crate) finding: Option<KeyFinding>,
    /// The noise of each released number.
    pub(crate) noise: Vec<Noised>,
    /// The name of each released number, where they are not those of its noise.
    pub(crate) numbers: Vec<String>,
    /// The half-width of each number's interval; in people, if a rank is promised.
    pub(crate) intervals: Vec<f64>,
    /// The half-widths from which the error of a cell follows, if they are not those intervals.
    pub(crate) errors: Option<Vec<f64>>,
    /// The number of people with the largest values of a key that are kept, if no more are.
    pub(crate) largest: Option<usize>,
    /// A hash of every parameter that an answer depends on.
    pub(crate) parameters: Digest,
    /// The scope that the cost pays for: a window, or all windows.
    pub(crate) paid: Paid,
    /// The cost of a window, or of all windows together.
    pub(crate) cost: ReleaseCost,
    /// The figures of the level above, if it is released too.
    pub(crate) above: Option<FiguresAbove>,
    /// The totals of one key, if windows are added up; of several that make a number, the first.
    pub(crate) running: Option<PreparedRunning>,
}

/// The figures of the numbers of the level above.
#[derive(Clone, Debug)]
pub(crate) struct FiguresAbove {
    /// The sensitivity of each number.
    pub(crate) sensitivities: Vec<NumberSensitivity>,
    /// The noise of each number.
    pub(crate) noise: Vec<Noised>,
    /// The half-width of each number's interval.
    pub(crate) intervals: Vec<f64>,
}

/// The sensitivity of a number: the distance by which one privacy unit moves its values in a window.
#[derive(Clone, Debug)]
pub(crate) struct NumberSensitivity {
    /// The name of the number.
    pub(crate) number: Cow<'static, str>,
    /// The sensitivity, in parts of a step.
    pub(crate) sensitivity: Sensitivity,
    /// The decimal point of a step.
    pub(crate) point: DecimalPoint,
    /// The number of parts of a step.
    pub(crate) parts: f64,
}

impl NumberSensitivity {
    /// Creates the sensitivity of a number that is counted in this number of parts of a step.
    pub(super) fn new(
        number: &'static str,
        sensitivity: &Sensitivity,
        point: DecimalPoint,
        parts: f64,
    ) -> NumberSensitivity {
        NumberSensitivity { number: number.into(), sensitivity: *sensitivity, point, parts }
    }

    /// Returns the sensitivity of the same number of parents.
    fn above<N>(&self, prepared: &Noisy<CellKey, N>) -> NumberSensitivity {
        let sensitivity = prepared.sensitivity_above(&self.sensitivity).unwrap_or(self.sensitivity);
        NumberSensitivity { sensitivity, ..self.clone() }
    }

    /// Creates the sensitivity of the ranks of a statistic that is found by them.
    pub(super) fn of_ranks(sensitivity: Sensitivity) -> NumberSensitivity {
        NumberSensitivity { number: "ranks".into(), sensitivity, point: DecimalPoint::WHOLE, parts: 1.0 }
    }
}

impl PreparedStatistic {
    /// Returns the figures that all mechanisms share; the others are empty.
    pub(super) fn of(prepared: &impl Prepared, noise: &[Noised]) -> PreparedStatistic {
        PreparedStatistic {
            sensitivities: Vec::new(),
            threshold: None,
            finding: None,
            noise: noise.to_vec(),
            numbers: Vec::new(),
            intervals: Vec::new(),
            errors: None,
            largest: prepared.largest_needed(),
            parameters: prepared.parameters(),
            paid: prepared.paid(),
            cost: prepared.cost().clone(),
            above: None,
            running: None,
        }
    }

    /// Returns the figures of the only window: its keys are found in it, and it has no later ones.
    pub(crate) fn of_one_window(mut self) -> PreparedStatistic {
        if let Some(KeyFinding { apart: Some(found), .. }) = &self.finding {
            (self.noise, self.intervals) = (found.noise.clone(), found.intervals.clone());
            self.errors = found.errors.clone();
            let is_released =
                |of: &NumberSensitivity| found.noise.iter().any(|noised| noised.number() == of.number);
            if self.sensitivities.iter().any(is_released) {
                self.sensitivities.retain(is_released);
            }
        }
        self
    }

    /// Returns the figures of numbers that are made of running totals, which have these sensitivities by themselves.
    pub(super) fn running<F, const N: usize>(
        prepared: &RunningNumbers<CellKey, F, N>,
        sensitivities: Vec<NumberSensitivity>,
    ) -> PreparedStatistic
    where
        RunningNumbers<CellKey, F, N>: Prepared,
    {
        PreparedStatistic {
            sensitivities,
            threshold: prepared.threshold(),
            finding: prepared.finding(),
            intervals: prepared.reaches().to_vec(),
            running: prepared.engines().first().cloned(),
            ..PreparedStatistic::of(prepared, prepared.noise())
        }
    }

    /// Returns the figures of numbers with additive noise, of which the keys' have these sensitivities.
    pub(super) fn noisy<N>(
        prepared: &Noisy<CellKey, N>,
        sensitivities: Vec<NumberSensitivity>,
    ) -> PreparedStatistic
    where
        Noisy<CellKey, N>: Prepared,
    {
        let noise = prepared.noise_above();
        let above = (!noise.is_empty()).then(|| FiguresAbove {
            sensitivities: sensitivities.iter().map(|own| own.above(prepared)).collect(),
            noise: noise.to_vec(),
            intervals: prepared.reaches_above().to_vec(),
        });
        PreparedStatistic {
            above,
            sensitivities,
            threshold: prepared.threshold(),
            finding: prepared.finding(),
            intervals: prepared.reaches().to_vec(),
            errors: prepared.errors().map(<[f64]>::to_vec),
            ..PreparedStatistic::of(prepared, prepared.noise())
        }
    }
}
