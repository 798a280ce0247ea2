//! The stages of an alert: which windows have a count above a threshold.

use super::aggregation::{GroupingKey, KeyedAggregation, SummedMeasure};
use super::tallied::Tallied;
use super::unit::ProtectedUnit;
use crate::mechanisms::{ThresholdAlert, Total};

/// Alerts on counts, by key.
pub type Alerting<K, M> = KeyedAggregation<ThresholdAlert<K>, M>;

/// A count of which every window says whether it is above a threshold, and nothing else.
impl<'scope, D, U: ProtectedUnit<D>, T, K: GroupingKey, M: SummedMeasure + 'static, G, V>
    Tallied<'scope, D, U, T, KeyedAggregation<Total<K>, M>, G, V>
{
    /// At every window, whether the count of each listed key is above this number.
    ///
    /// All alarms together cost what the mechanism says, and silent windows cost nothing: not how many there are, nor in how many
    /// of them or in how many keys a person is. Windows may overlap at the same price. An alert is silent where the count is at
    /// most `above` and fires where it is [surely](crate::mechanisms::Crossing::surely) above, with the stated probability over
    /// all windows up to the last that there is, or [those that it is planned for](Self::planned_for).
    ///
    /// The run is refused where no last window is known and none is planned for, for sums, and where keys are discovered.
    ///
    /// ```no_run
    /// # use discreet::mechanisms::AboveThreshold;
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: discreet::dataflow::Fed<'_, (u64, i64)>, gate: &Gate) {
    /// visits
    ///     .protect(|visit| visit.0)
    ///     .tumbling(minutes(10), |visit| visit.1)
    ///     .from("2026-01-01")
    ///     .bound(Bound::keys(1))
    ///     .people()
    ///     .alert(500)
    ///     .alarms(5)
    ///     .planned_for(4320)
    ///     .release(gate, "crowds", AboveThreshold::rho(0.1));
    /// # }
    /// ```
    pub fn alert(self, above: u64) -> Tallied<'scope, D, U, T, Alerting<K, M>, G, V> {
        // None is no number of windows, which is refused.
        let windows = self.last_window("").unwrap_or(0);
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation {
                statistic: ThresholdAlert::new(statistic, above)?.windows(windows),
                measure,
            })
        })
    }
}

impl<'scope, D, U: ProtectedUnit<D>, T, K: GroupingKey, M: SummedMeasure + 'static, G, V>
    Tallied<'scope, D, U, T, Alerting<K, M>, G, V>
{
    /// Sets the number of alarms that share the price; 1 unless said. Behind the last one there are no lines.
    #[must_use]
    pub fn alarms(self, alarms: u32) -> Self {
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation { statistic: statistic.alarms(alarms), measure })
        })
    }

    /// Sets the number of windows behind an alarm in which its key is not asked for; 0 unless said.
    #[must_use]
    pub fn pause(self, windows: u64) -> Self {
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation { statistic: statistic.pause(windows), measure })
        })
    }

    /// Sets the number of windows over which the probability of a mistake is stated.
    #[must_use]
    pub fn planned_for(self, windows: u64) -> Self {
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation { statistic: statistic.windows(windows), measure })
        })
    }

    /// Sets the probability of any mistake in those windows: of an alarm at a count that is not above the threshold, or of
    /// silence at one that is surely above; .05 unless said.
    #[must_use]
    pub fn wrong(self, wrong: f64) -> Self {
        self.asked(|KeyedAggregation { statistic, measure }| {
            Ok(KeyedAggregation { statistic: statistic.wrong(wrong), measure })
        })
    }
}
